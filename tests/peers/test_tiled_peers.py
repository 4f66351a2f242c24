"""Tiled attention beside PyTorch's SDPA and its autograd."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import (
    merge_partials,
    recomputed_attention,
    tiled_attention,
    tiled_attention_backward,
)
from tests.peers.peer_support import BATCH, sdpa
from tests.support import LENGTHS, assert_same_function, draw

FLASH_OF_TORCH = pytest.mark.peer(
    "09", "`tiled_attention`, `tiled_attention_backward`, `merge_partials`",
    "torch's own flash operators for the CPU", "float64 1e-7", "outputs, lse, the backward pass",
)  # fmt: skip

HEADS, D_K, D_V = 3, 8, 10


def inputs(num_queries: int, num_keys: int) -> tuple[Tensor, Tensor, Tensor]:
    sizes = ((num_queries, D_K), (num_keys, D_K), (num_keys, D_V))
    query, key, value = (draw(BATCH, HEADS, *size, seed=i) for i, size in enumerate(sizes))
    return query, key, value


WAYS = {
    "tiled": lambda *x: tiled_attention(*x[:3], 2, 3, x[3])[0],
    "recomputed": recomputed_attention,
}


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("lengths", [*LENGTHS, (30, 53)])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.peer(
    "09", "`tiled_attention`, `recomputed_attention`", "SDPA", "float64 1e-7", "outputs, gradients"
)
def test_is_sdpa_with_its_gradients(way, lengths, is_causal) -> None:
    assert_same_function(
        lambda *x: way(*x, is_causal), lambda *x: sdpa(*x, is_causal=is_causal), inputs(*lengths)
    )


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.peer(
    "09", "`tiled_attention`, `recomputed_attention`", "SDPA with `enable_gqa`", "float64 1e-7",
    "outputs, gradients",
)  # fmt: skip
def test_grouped_heads_are_those_of_sdpa(way, is_causal) -> None:
    sizes = ((6, 5, D_K), (HEADS, 9, D_K), (HEADS, 9, D_V))
    given = tuple(draw(BATCH, *size, seed=i) for i, size in enumerate(sizes))

    def grouped(*qkv: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(*qkv, is_causal=is_causal, enable_gqa=True)

    assert_same_function(lambda *x: way(*x, is_causal), grouped, given)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS)
@FLASH_OF_TORCH
def test_the_backward_pass_is_torch_s_own_for_flash_attention(lengths, is_causal) -> None:
    """PyTorch's kernels for the CPU take out and the same logsumexp, and return the gradients."""
    forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
    query, key, _ = inputs(*lengths)
    value = draw(*key.shape, seed=4)  # those kernels want one width
    out, lse = forward(query, key, value, 0.0, is_causal)
    torch.testing.assert_close(tiled_attention(query, key, value, 2, 3, is_causal), (out, lse))
    slope = draw(*out.shape, seed=9)
    ours = tiled_attention_backward(query, key, value, out, lse, slope, 2, 3, is_causal)
    theirs = backward(slope, query, key, value, out, lse, 0.0, is_causal)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("cut", [1, 2, 4])
@FLASH_OF_TORCH
def test_partial_results_of_torch_merge_to_its_whole(cut) -> None:
    query, key, _ = inputs(3, 5)
    value = draw(*key.shape, seed=4)
    forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    parts = [
        part
        for keys in (slice(0, cut), slice(cut, 5))
        for part in forward(query, key[:, :, keys], value[:, :, keys])
    ]
    torch.testing.assert_close(merge_partials(*parts), forward(query, key, value))
