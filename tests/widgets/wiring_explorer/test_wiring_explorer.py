"""Arguments that `wiring_explorer` accepts and refuses."""

from typing import Any

import pytest
import torch
from torch import Tensor

from course_utils.models import DecoderLayer, EncoderLayer
from course_utils.widgets import wiring_explorer
from tests.widgets.wiring_explorer import wiring_explorer_cases as shared


def test_it_opens_as_an_encoder_and_a_decoder() -> None:
    assert repr(wiring_explorer()) == "WiringExplorer(t5, pre-norm, 2 layers)"
    assert repr(wiring_explorer(wiring="gpt", pre_norm=False, num_layers=3)) == (
        "WiringExplorer(gpt, post-norm, 3 layers)"
    )


def outputs(view: dict[str, Any], x: Tensor) -> Tensor:
    """Run the course's own layers under the masks of a wiring."""
    S, pre_norm = view["num_source"], view["pre_norm"]
    encoder, *rest = shared.masks(view)
    numbers = range(view["num_layers"])
    readers = [EncoderLayer(8, 2, 16, pre_norm=pre_norm).double() for _ in numbers]
    writers = [DecoderLayer(8, 2, 16, pre_norm=pre_norm).double() for _ in numbers]
    memory, stream = (x, None) if not rest else (x[:, :S], x[:, S:])
    for layer in readers:
        memory = layer(memory, encoder)
    if stream is None:
        return memory
    for layer in writers:
        stream = layer(stream, memory, *rest)
    return torch.cat([memory, stream], dim=1)


@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize(
    "changes", [one for one in shared.CHANGES if one.get("wiring") != "stub"], ids=str
)
def test_what_lights_up_is_what_has_a_gradient_in_the_layers(
    changes: dict[str, Any], pre_norm: bool
) -> None:
    view = shared.USUAL | changes | {"pre_norm": pre_norm}
    size = view["num_source"] + view["num_target"]
    torch.manual_seed(0)
    x = torch.randn(1, size, 8, dtype=torch.float64, requires_grad=True)
    out = outputs(view, x)
    toward = torch.randn(8, dtype=torch.float64)
    rows = [torch.autograd.grad(row @ toward, x, retain_graph=True)[0] for row in out[0]]
    reached = torch.stack([row[0].abs().amax(dim=-1) > 0 for row in rows])
    assert torch.equal(reached, shared.counts(view) > 0)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"source": "le chat"}, TypeError, "source must be a sequence of strings, got 'le chat'"),
        ({"target": []}, ValueError, "target must be 1 to 6 words, got 0"),
        ({"source": ["a"] * 7}, ValueError, "source must be 1 to 6 words, got 7"),
        ({"heads": 2}, TypeError, "sizes must be among num_layers, .*, got 'heads'"),
    ],
)
def test_wrong_arguments_are_said(
    arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        wiring_explorer(**arguments)
