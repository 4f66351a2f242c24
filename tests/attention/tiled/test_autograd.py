import pytest
import torch
from torch import Tensor

from course_utils.attention import (
    causal_mask,
    recomputed_attention,
    scaled_dot_product_attention,
    tiled_attention,
)
from course_utils.measure import count_flops, peak_memory
from tests.support import growth, outcome, qkv

# Shorter than a tile, several tiles, ragged ones, and one that ends with a tile.
LENGTHS = [(1, 1), (5, 7), (1, 600), (600, 1), (300, 700), (1100, 300), (512, 1024)]


def written_out(is_causal: bool):
    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        mask = causal_mask(query.shape[-2], key.shape[-2]) if is_causal else None
        return scaled_dot_product_attention(query, key, value, mask)

    return attend


@pytest.mark.thorough
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_output_and_gradients_are_those_of_attention(lengths, is_causal) -> None:
    given = qkv((2, 3), *lengths)
    ours = outcome(lambda *x: recomputed_attention(*x, is_causal), given)
    torch.testing.assert_close(ours, outcome(written_out(is_causal), given))


@pytest.mark.parametrize("is_causal", [False, True])
def test_query_heads_share_the_heads_of_keys(is_causal) -> None:
    given = qkv((2, 6), 20, 600)[0], *qkv((2, 2), 20, 600)[1:]

    def repeated(query: Tensor, *shared: Tensor) -> Tensor:
        return written_out(is_causal)(query, *(x.repeat_interleave(3, dim=1) for x in shared))

    ours = outcome(lambda *x: recomputed_attention(*x, is_causal), given)
    torch.testing.assert_close(ours, outcome(repeated, given))


@pytest.mark.parametrize("is_causal", [False, True])
def test_large_scores_stay_finite(is_causal) -> None:
    given = tuple(100 * x for x in qkv((1, 2), 300, 700))
    ours = outcome(lambda *x: recomputed_attention(*x, is_causal), given)
    torch.testing.assert_close(ours, outcome(written_out(is_causal), given))


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_errs_at_most_twice_as_much_as_written_out(dtype, is_causal) -> None:
    given = tuple(x.to(dtype) for x in qkv((1, 2), 300, 600, 16, 16))
    exact = outcome(written_out(is_causal), tuple(x.double() for x in given))
    plain = outcome(written_out(is_causal), given)
    ours = outcome(lambda *x: recomputed_attention(*x, is_causal), given)
    for one, other, want in zip(ours, plain, exact, strict=True):
        assert one.dtype == dtype
        assert (one - want).abs().max() <= 2 * (other - want).abs().max()


@pytest.mark.parametrize("num_queries", [0, 3])
def test_no_key_gives_zeros_and_no_query_nothing(num_queries) -> None:
    given = qkv((2, 3), num_queries, 0)
    ours = outcome(recomputed_attention, given)
    assert ours[0].shape == (2, 3, num_queries, 6)
    assert not any(x.any() for x in ours)


def test_inputs_need_not_be_contiguous_and_stay_as_they_are() -> None:
    given = tuple(x.mT.contiguous().mT for x in qkv((2, 3), 300, 600))
    before = [x.clone() for x in given]
    torch.testing.assert_close(
        outcome(recomputed_attention, given), outcome(written_out(False), given)
    )
    assert all(map(torch.equal, given, before))


def test_a_second_derivative_is_refused_and_never_wrong() -> None:
    given = tuple(x.requires_grad_() for x in qkv((1, 1), 3, 5))
    loss = recomputed_attention(*given).square().sum()
    (slope,) = torch.autograd.grad(loss, given[:1], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_the_forward_pass_saves_its_inputs_the_output_and_a_number_a_query() -> None:
    saved: list[Tensor] = []
    given = tuple(x.requires_grad_() for x in qkv((2, 3), 70, 50))

    def save(x: Tensor) -> Tensor:
        saved.append(x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(save, lambda x: x):
        out = recomputed_attention(*given)
    assert [x.numel() for x in saved] == [x.numel() for x in (*given, out, out[..., 0])]


def trained(attend):
    def call(*given: Tensor) -> None:
        attend(*(x.detach().requires_grad_() for x in given)).sum().backward()

    return call


def square(length: int) -> tuple[Tensor, ...]:
    return (torch.zeros(1, 1, length, 8),) * 3


@pytest.mark.thorough
def test_autograd_keeps_every_tile_and_recomputing_none() -> None:
    tiled = trained(lambda *x: tiled_attention(*x, 256, 512)[0])
    assert growth(peak_memory, tiled, square) == pytest.approx(2, abs=0.1)
    assert growth(peak_memory, trained(recomputed_attention), square) < 1


def test_tiles_in_the_future_are_never_computed() -> None:
    before = sum(512 * first for first in range(0, 2048, 512))
    diagonal = 4 * 128 * (512 + 384 + 256 + 128)  # the narrower the tiles, the closer to a half
    computed = before + diagonal
    call = trained(lambda *x: recomputed_attention(*x, True))
    assert count_flops(call, *square(2048)) == (2 + 5) * 2 * 8 * computed


@pytest.mark.thorough
@pytest.mark.parametrize("is_causal", [False, True])
def test_training_holds_at_most_a_tenth_more_than_sdpa(is_causal) -> None:
    given = tuple(torch.zeros(1, 2, 4096, 64) for _ in range(3))
    sdpa = torch.nn.functional.scaled_dot_product_attention
    ours, theirs = (
        peak_memory(trained(call), *given)
        for call in (
            lambda *x: recomputed_attention(*x, is_causal),
            lambda *x: sdpa(*x, is_causal=is_causal),
        )
    )
    assert ours <= 1.1 * theirs
    peak = peak_memory(lambda *x: recomputed_attention(*x, is_causal), *given)
    assert peak - given[0].nbytes <= 10 * 2**20
