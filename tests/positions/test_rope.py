import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from course_utils.positions import RotaryPositions, rope_interleaved, rope_split_halves
from tests.support import draw

BOTH = pytest.mark.parametrize("rope", [rope_interleaved, rope_split_halves])
PAIRS = {
    rope_interleaved: lambda i, width: (2 * i, 2 * i + 1),
    rope_split_halves: lambda i, width: (i, i + width // 2),
}


def by_loops(rope, x: Tensor, positions: Tensor, base: float) -> Tensor:
    out = torch.empty_like(x)
    batch, heads, length, width = x.shape
    for b in range(batch):
        for t in range(length):
            place = float(positions[b, t] if positions.dim() == 2 else positions[t])
            for i in range(width // 2):
                angle = place * base ** (-2 * i / width)
                cos, sin = math.cos(angle), math.sin(angle)
                one, other = PAIRS[rope](i, width)
                for h in range(heads):
                    u, v = float(x[b, h, t, one]), float(x[b, h, t, other])
                    out[b, h, t, one] = u * cos - v * sin
                    out[b, h, t, other] = u * sin + v * cos
    return out


@BOTH
@pytest.mark.parametrize(
    "positions",
    [
        torch.tensor([3, 0, 70, 4, 4]),
        torch.tensor([[0, 1, 2, 3, 4], [9, 8, 7, 1000, -5]]),
        torch.tensor([0.25, 1.5, -3.75, 1e4, 0.0], dtype=torch.float64),
        torch.arange(5, dtype=torch.int32),
    ],
    ids=["long", "for each sequence", "real", "int32"],
)
@pytest.mark.parametrize("base", [10000.0, 500])
def test_agrees_with_a_loop_over_pairs(rope, positions, base) -> None:
    x = draw(2, 3, 5, 6)
    torch.testing.assert_close(rope(x, positions, base), by_loops(rope, x, positions, base))


@BOTH
def test_position_0_turns_nothing(rope) -> None:
    x = draw(2, 3, 4, 8)
    assert torch.equal(rope(x, torch.zeros(4).long()), x)


@BOTH
@given(
    query_at=st.integers(-1000, 1000), distance=st.integers(-500, 500), moved=st.integers(0, 10000)
)
@settings(max_examples=40, deadline=None)
def test_scores_depend_on_the_distance_only(rope, query_at, distance, moved) -> None:
    q, k = draw(1, 1, 1, 8, seed=1), draw(1, 1, 1, 8, seed=2)

    def score(query_place: int, key_place: int) -> Tensor:
        return rope(q, torch.tensor([query_place])) @ rope(k, torch.tensor([key_place])).mT

    here = score(query_at, query_at + distance)
    torch.testing.assert_close(here, score(query_at + moved, query_at + moved + distance))


@BOTH
@given(st.lists(st.floats(-1e5, 1e5), min_size=3, max_size=3))
@settings(max_examples=40, deadline=None)
def test_the_norm_of_every_pair_is_kept(rope, places) -> None:
    x = draw(2, 3, 3, 6)
    turned = rope(x, torch.tensor(places, dtype=torch.float64))
    for i in range(3):
        pair = list(PAIRS[rope](i, 6))
        torch.testing.assert_close(turned[..., pair].norm(dim=-1), x[..., pair].norm(dim=-1))


@BOTH
def test_a_decoder_that_goes_on_after_a_cache_gets_the_same_scores(rope) -> None:
    q, k = draw(2, 3, 9, 4, seed=1), draw(2, 3, 9, 4, seed=2)
    places = torch.arange(9)
    at_once = rope(q, places) @ rope(k, places).mT
    cached = rope(k[..., :6, :], places[:6])
    keys = torch.cat((cached, rope(k[..., 6:, :], places[6:])), dim=-2)
    step = rope(q[..., 6:, :], places[6:]) @ keys.mT
    torch.testing.assert_close(step, at_once[..., 6:, :])


@BOTH
def test_gradients_agree_with_finite_differences_in_x_and_in_real_positions(rope) -> None:
    x = draw(1, 2, 3, 4).requires_grad_()
    places = draw(3).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, p: rope(a, p, 100.0), (x, places))


@BOTH
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_low_precision_keeps_its_dtype_and_far_positions_apart(rope, dtype) -> None:
    x = draw(1, 2, 3, 8).to(dtype)
    places = torch.tensor([4095, 4096, 4097])
    out = rope(x, places)
    assert out.dtype == dtype
    # Two products and a sum, each rounded once, of numbers up to 3.
    error = (out.double() - rope(x.double(), places)).abs().max()
    assert error < 10 * torch.finfo(dtype).eps


@BOTH
def test_any_axes_before_the_length_are_taken(rope) -> None:
    x = draw(2, 3, 5, 4)
    places = torch.tensor([[0, 1, 2, 3, 4], [9, 8, 7, 6, 5]])
    torch.testing.assert_close(rope(x[1, 2], places[0]), rope(x, places[0])[1, 2])
    torch.testing.assert_close(rope(x[:, 2], places), rope(x, places)[:, 2])


@pytest.mark.parametrize(
    ("pairing", "rope"), [("interleaved", rope_interleaved), ("split halves", rope_split_halves)]
)
def test_the_scheme_turns_queries_and_keys_and_adds_nothing(pairing, rope) -> None:
    scheme = RotaryPositions(6, base=300.0, pairing=pairing).double()
    q, k = draw(2, 3, 4, 6, seed=1), draw(2, 3, 7, 6, seed=2)
    at, of = torch.arange(5, 9), torch.arange(7)
    turned = scheme.rotate(q, k, at, of)
    torch.testing.assert_close(turned, (rope(q, at, 300.0), rope(k, of, 300.0)))
    assert scheme.bias(q, k, at, of) is None
    assert scheme.value_term(q @ k.mT, at, of) is None
    assert list(scheme.parameters()) == []


@BOTH
def test_a_width_that_is_odd_is_refused(rope) -> None:
    with pytest.raises(ValueError, match="the width of x must be even, got 3"):
        rope(torch.zeros(2, 3), torch.arange(2), 1e4)
