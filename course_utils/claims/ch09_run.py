"""Checks of the claims of chapter 09 that need code to run."""

import math

import torch
from torch import Tensor

from course_utils.attention import scaled_dot_product_attention, tiled_attention
from course_utils.claims._inputs import draw, draws, growth, largest, recorded, refused
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import largest_tensor


def published(
    query: Tensor, key: Tensor, value: Tensor, block: int = 4, scale: float = 1.0
) -> Tensor:
    """Return what a published sketch of flash attention adds up: a softmax for each tile."""
    out = torch.zeros_like(query)
    num_queries = query.shape[-2]
    for i in range(0, num_queries, block):
        for j in range(0, num_queries, block):
            scores = scale * query[..., i : i + block, :] @ key[..., j : j + block, :].mT
            out[..., i : i + block, :] += scores.softmax(-1) @ value[..., j : j + block, :]
    return out


@recomputes("09-02")
def tiles_are_normalised_alone() -> Finding:
    """With values of 1 attention gives 1: what does a softmax for each tile give?"""
    query, key = draws((1, 1, 16, 8), (1, 1, 16, 8))
    ones = torch.ones_like(query)
    found = {n: float(published(query, key, ones, 16 // n).mean()) for n in (2, 4, 8)}
    q, k, v = (x.float() for x in draws(*[(1, 1, 64, 8)] * 3))
    exact = largest(tiled_attention(q, k, v, 8, 16)[0], scaled_dot_product_attention(q, k, v))
    return weigh(
        f"the weights sum to {', '.join(f'{v:.1f} in {n} tiles' for n, v in found.items())}; with "
        f"a running maximum and sum {exact:.0e} from exact",
        holds=abs(found[4] - 1) < 1e-9,
    )


@recomputes("09-03")
def scale_may_be_left_out() -> Finding:
    """One tile, so that the tiling is right: with 1/sqrt(d_k) and without it."""
    query, key, value = draws(*[(1, 1, 8, 16)] * 3)
    right = scaled_dot_product_attention(query, key, value)
    off = [largest(published(query, key, value, 8, s), right) for s in (1.0, 1 / math.sqrt(16))]
    return weigh(f"{off[0]:.2f} off without it, {off[1]:.0e} with it", holds=off[0] < 1e-9)


@recomputes("09-04")
def output_has_the_shape_of_the_queries() -> Finding:
    """d_v=5 against d_k=8; 8 queries and 16 keys whose last 8 are changed."""
    query, key, value, wide = draws((1, 1, 8, 8), (1, 1, 16, 8), (1, 1, 16, 8), (1, 1, 16, 5))
    error = refused(lambda: published(query, key, wide))
    other = value.clone()
    other[..., 8:, :] = 100
    unread = largest(published(query, key, value), published(query, key, other)) == 0
    shape = tuple(tiled_attention(query, key, wide, 4, 4)[0].shape[-2:])
    return weigh(
        f"other widths: {error}; keys behind the 8th never read: {unread}; right: {shape}",
        holds=not error and not unread,
    )


@recomputes("09-05")
def flash_attention_requires_cuda() -> Finding:
    """The algorithm on a CPU: exact, its largest tensor by length, and its time by the record."""
    power = growth(_largest_in_tiles, 64, 128, 256)
    runs = recorded("chapter_09_tiled", what="tiled", training=False, is_causal=False)
    slower = [run["over_sdpa"] for run in runs]
    return weigh(
        f"plain tensor code: largest tensor n^{power:.1f}; {min(slower):.1f} to {max(slower):.1f} "
        "times the time of a fused kernel on a CPU",
        holds=power > 1.5,
        amended=power < 1.1 and max(slower) > 1,
    )


def _largest_in_tiles(n: int) -> int:
    return largest_tensor(lambda x: tiled_attention(x, x, x, 16, 16)[0], draw(1, 1, n, 16))


@recomputes("09-31")
def memory_is_linear_and_exact() -> Finding:
    """The largest tensor in tiles by length, and the difference from the whole table."""
    power = growth(_largest_in_tiles, 64, 128, 256)
    query, key, value = draws((2, 3, 40, 8), (2, 3, 50, 8), (2, 3, 50, 6))
    off = largest(
        tiled_attention(query, key, value, 7, 9)[0], scaled_dot_product_attention(query, key, value)
    )
    return weigh(f"n^{power:.2f}; {off:.0e} apart", holds=power < 1.1 and off < 1e-12)
