import math

import pytest
import torch
from torch import Tensor

from course_utils.attention import causal_mask, merge_heads, streaming_positions
from course_utils.models import PositionedTransformer
from course_utils.models.gpt.streaming_model import stream_text
from course_utils.positions import RotaryPositions

TOKENS = torch.randint(10, (3, 17), generator=torch.Generator().manual_seed(0))


def model(num_layers: int = 2) -> PositionedTransformer:
    torch.manual_seed(0)
    sizes = {"d_model": 24, "num_heads": 4, "num_layers": num_layers}
    return PositionedTransformer(10, **sizes, positions=RotaryPositions(6)).double()


@pytest.mark.parametrize("by_place", [True, False])
@pytest.mark.parametrize("num_sinks", [0, 3])
def test_a_cache_that_holds_everything_reads_as_the_model_does(by_place, num_sinks) -> None:
    made = stream_text(model(), TOKENS, window=17, num_sinks=num_sinks, by_place=by_place)
    with torch.no_grad():
        whole = model()(TOKENS, causal_mask(17, 17, offset=0))
    torch.testing.assert_close(made, whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize("num_sinks", [0, 2])
@pytest.mark.parametrize("window", [1, 4])
def test_by_position_it_is_the_model_under_a_mask(window, num_sinks) -> None:
    mask = streaming_positions(17, window, num_sinks) >= 0
    made = stream_text(model(), TOKENS, window=window, num_sinks=num_sinks, by_place=False)
    with torch.no_grad():
        torch.testing.assert_close(made, model()(TOKENS, mask), rtol=0, atol=1e-12)


def by_places(model: PositionedTransformer, window: int, num_sinks: int) -> Tensor:
    """Return the same layer by layer, each query with keys turned by the table of places."""
    table, x = streaming_positions(17, window, num_sinks), model.token(TOKENS)
    for block in model.blocks:
        query, key, value = block.attention.project(*3 * (block.attention_norm(x),))
        rows = []
        for i, places in enumerate(table):
            held = places >= 0
            q, k = model.positions.rotate(
                query[:, :, i : i + 1], key[:, :, held], places[i : i + 1], places[held]
            )
            weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
            rows.append(weights @ value[:, :, held])
        x = x + block.attention.out_proj(merge_heads(torch.cat(rows, 2)))
        x = x + block.feed_forward(x)
    return model.out(model.norm(x))


@pytest.mark.parametrize("num_sinks", [0, 2])
@pytest.mark.parametrize("window", [1, 4, 30])
def test_by_place_keys_are_turned_by_the_table_of_places(window, num_sinks) -> None:
    made = stream_text(model(), TOKENS, window=window, num_sinks=num_sinks)
    with torch.no_grad():
        want = by_places(model(), window, num_sinks)
    torch.testing.assert_close(made, want, rtol=0, atol=1e-12)


def test_only_behind_sinks_do_places_differ_from_positions() -> None:
    for num_sinks, differ in ((0, False), (2, True)):
        place, position = (
            stream_text(model(), TOKENS, window=4, num_sinks=num_sinks, by_place=by_place)
            for by_place in (True, False)
        )
        torch.testing.assert_close(place[:, : 4 + num_sinks], position[:, : 4 + num_sinks])
        assert bool((place - position)[:, 4 + num_sinks + 1 :].abs().max() > 1e-3) == differ


def test_no_gradient_is_kept() -> None:
    assert not stream_text(model(), TOKENS, window=4).requires_grad
