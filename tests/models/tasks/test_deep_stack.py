"""The deep stack: what it is made of, how its rate rises, and what it says of wrong sizes."""

import pytest
import torch
from torch import nn

from course_utils.attention import leaks_future
from course_utils.data import character_text
from course_utils.models import DeepStack, train_deep_stack
from course_utils.models.tasks import deep_stack as module


def small(pre_norm: bool = True, **sizes: int) -> DeepStack:
    torch.manual_seed(0)
    text = character_text()
    sizes = {"num_layers": 3, "d_model": 8, "num_heads": 2, "length": 6} | sizes
    return DeepStack(text.num_characters, pre_norm=pre_norm, **sizes)  # type: ignore[arg-type]


@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.peer("11", "`DeepStack`", "`torch.nn.TransformerEncoder`", "float64 1e-7", "logits")
def test_it_is_torchs_encoder_under_a_causal_mask(pre_norm: bool) -> None:
    model = small(pre_norm).double()
    layer = nn.TransformerEncoderLayer(
        8, 2, 32, dropout=0.0, batch_first=True, norm_first=pre_norm, dtype=torch.float64
    )
    norm = nn.LayerNorm(8, dtype=torch.float64) if pre_norm else None
    peer = nn.TransformerEncoder(layer, 3, norm, enable_nested_tensor=False)
    for ours, theirs in zip(model.layers, peer.layers, strict=True):
        theirs.load_state_dict(ours.state_dict())
    tokens = torch.randint(90, (2, 5), generator=torch.Generator().manual_seed(0))
    streams = model.streams(tokens)
    assert len(streams) == 4
    future = torch.ones(5, 5, dtype=torch.bool).triu(1)
    expected = model.out(peer(streams[0], mask=future))
    torch.testing.assert_close(model(tokens), expected)


def test_no_position_reads_its_future() -> None:
    model = small()

    def stack(x: torch.Tensor) -> torch.Tensor:
        mask = torch.ones(x.shape[1], x.shape[1]).tril().bool()
        for layer in model.layers:
            x = layer(x, mask)
        return x

    assert not leaks_future(stack, 5, 8)


def test_the_rate_rises_over_the_warm_up_and_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = []
    step = torch.optim.Adam.step

    def watched(self, *given):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *given)

    monkeypatch.setattr(module.torch.optim.Adam, "step", watched)
    how = {"learning_rate": 0.01, "seed": 0, "batch": 2}
    losses = train_deep_stack(small(), character_text(), steps=6, warm_up=4, **how)
    assert rates == pytest.approx([0.0025, 0.005, 0.0075, 0.01, 0.01, 0.01])
    assert len(losses) == 6
    assert train_deep_stack(small(), character_text(), steps=2, warm_up=0, **how) != losses[:2]
    assert rates[6:] == [0.01, 0.01]


def test_wrong_sizes_are_said() -> None:
    with pytest.raises(ValueError, match="num_layers must be at least 1, got 0"):
        small(num_layers=0)
    with pytest.raises(ValueError, match="warm_up must be at least 0, got -1"):
        train_deep_stack(small(), character_text(), steps=1, warm_up=-1, learning_rate=0.1, seed=0)
