"""Checks of the claims of chapter 10."""

import math
from functools import partial

import torch
from torch import Tensor

from course_utils.attention import (
    causal_mask,
    grouped_query_attention,
    merge_heads,
    multi_head_attention,
    scaled_dot_product_attention,
    split_heads,
)
from course_utils.claims._inputs import draw, draws, growth, largest, leak, refused
from course_utils.claims.figures import arithmetic, said
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import attention_flops, kv_cache_bytes, largest_tensor

TOKEN = {heads: kv_cache_bytes(1, heads, 128, 1, 1, 1) / 128 for heads in (64, 1, 4)}
PAIRS, AGAIN = sum(range(1, 1001)), sum(n * n for n in range(1, 1001))
# fmt: off
arithmetic("10-06", "1B parameters: {:g GB} and {:g GB}, decimal",
    said("4 GB", 10**9 * 32 // 8), said("2 GB", 10**9 * 16 // 8))
arithmetic("10-07", "one head {:.0f MiB}; 16 heads {:.0f MiB}, 32 heads {:.0f MiB} per layer and "
    "sequence, 0 if fused",
    2048**2 * 4, said("16 MB", 16 * 2048**2 * 4), said("16 MB", 32 * 2048**2 * 4))
arithmetic("10-11", "numbers over d_k by heads {{64: {:g}, 1: {:g}, 4: {:g}}}; LLaMA-2-70B {:.2f "
    "MB} a token in 16 bits with 64 heads, {:.0f KiB} with 8",
    said(f"{2 * 64}", TOKEN[64]), said("2", TOKEN[1]), said("8", TOKEN[4]),
    *(kv_cache_bytes(80, heads, 128, 1, 1, 2) for heads in (64, 8)))
arithmetic("10-13", "a token costs n^{:.2f} with the cache, n^{:.2f} without; all 1000 {:,} pairs "
    "for {:,}, {:.0f}x less",
    said("1.00", growth(lambda n: attention_flops(1, 1, 1, n, 64, 64), 250, 500, 1000)),
    said("2.00", growth(lambda n: attention_flops(1, 1, n, n, 64, 64), 250, 500, 1000)),
    *(PAIRS, AGAIN, AGAIN / PAIRS))
# fmt: on


def weights(width: int = 12) -> tuple[Tensor, Tensor, Tensor]:
    """Return three projections."""
    W_q, W_k, W_v = draws(*[(width, width)] * 3, seed=5)
    return W_q / 3, W_k / 3, W_v


class Cached:
    """A published module with a cache: one head, kept on the module, no mask in the first pass."""

    def __init__(self, last_only: bool = False) -> None:
        self.last_only = last_only
        self.key = self.value = torch.empty(0).double()

    def __call__(self, x: Tensor, masked: bool = False) -> Tensor:
        """Return the outputs of new tokens, and keep their keys and values."""
        W_q, W_k, W_v = weights(x.shape[-1])
        if self.last_only and self.key.numel():
            x = x[:, -1:]
        self.key = torch.cat([self.key, x @ W_k], 1)
        self.value = torch.cat([self.value, x @ W_v], 1)
        num_new, num_keys = x.shape[1], self.key.shape[1]
        mask = causal_mask(num_new, num_keys, num_keys - num_new) if masked else None
        return scaled_dot_product_attention(x @ W_q, self.key, self.value, mask)


def _first_pass(x: Tensor, masked: bool = True) -> Tensor:
    return Cached()(x, masked)


@recomputes("10-01")
def caching_avoids_computing_again() -> Finding:
    """Pieces of 3, 2 and 1 tokens with a cache against one causal pass."""
    x, cached = draw(1, 6, 12), Cached()
    whole = _first_pass(x)
    parts = torch.cat([cached(part, masked=True) for part in x.split([3, 2, 1], dim=1)], 1)
    return weigh(f"{largest(parts, whole):.0e} from one pass", holds=largest(parts, whole) < 1e-12)


@recomputes("10-02")
def concatenating_makes_it_multi_head() -> Finding:
    """Compare with multi-head attention of the same projections, and with one head."""
    x = draw(1, 6, 12)
    query, key, value = (x @ W for W in weights())
    mask = causal_mask(6, 6)
    split = split_heads(query, 3), split_heads(key, 3), split_heads(value, 3)
    heads = merge_heads(scaled_dot_product_attention(*split, mask))
    one = scaled_dot_product_attention(query, key, value, mask)
    out = _first_pass(x)
    return weigh(
        f"{largest(out, heads):.2f} from three heads, {largest(out, one):.0e} from one",
        holds=largest(out, heads) < 1e-9,
    )


@recomputes("10-03")
def first_pass_needs_no_mask() -> Finding:
    """The weight that tokens of a prompt give to later ones without a mask."""
    x = draw(1, 6, 12)
    W_q, W_k, _ = weights()
    given = (x @ W_q @ (x @ W_k).mT / math.sqrt(12)).softmax(-1)
    future = float(given.triu(1).sum(-1).mean())
    moved = [leak(partial(_first_pass, masked=masked), x) for masked in (False, True)]
    return weigh(
        f"{future:.2f} of the weight on the future; later tokens move earlier states by "
        f"{moved[0]:.2f}, with the mask by {moved[1]:g}",
        holds=moved[0] == 0,
    )


@recomputes("10-04")
def last_position_is_enough() -> Finding:
    """3 new tokens after a prompt of 3, through x[:, -1:]."""
    cached, x = Cached(last_only=True), draw(1, 6, 12)
    cached(x[:, :3])
    outputs, keys = cached(x[:, 3:]).shape[1], cached.key.shape[1]
    return weigh(f"{outputs} output of 3, {keys} keys kept of 6", holds=(outputs, keys) == (3, 6))


@recomputes("10-05")
def cache_can_stay_on_the_module() -> Finding:
    """A second prompt of 4 tokens after one of 3; then a batch of 2."""
    cached, second = Cached(), draw(1, 4, 12, seed=3)
    cached(draw(1, 3, 12))
    off = largest(cached(second), Cached()(second))
    length, batch = cached.key.shape[1], refused(cached, draw(2, 1, 12))
    return weigh(
        f"the second prompt of 4 sees {length} keys and is {off:.2f} off; a batch of 2: {batch}",
        holds=off < 1e-9,
    )


@recomputes("10-10")
def groups_are_repeated() -> Finding:
    """repeat_interleave against grouping the queries: values and the largest tensor made."""
    query, key, value = draws((1, 8, 1, 16), (1, 2, 256, 16), (1, 2, 256, 16))
    repeated, grouped = _repeated(query, key, value), grouped_query_attention(query, key, value)
    made = [largest_tensor(way, query, key, value) for way in (_repeated, grouped_query_attention)]
    return weigh(
        f"{largest(repeated, grouped):.0e} apart; the largest new tensor has {made[0]:,} numbers "
        f"repeated, {made[1]:,} grouped",
        holds=made[0] <= made[1],
        amended=largest(repeated, grouped) < 1e-12,
    )


def _repeated(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    heads = query.size(1) // key.size(1)
    key, value = (x.repeat_interleave(heads, 1) for x in (key, value))
    return scaled_dot_product_attention(query, key, value)


@recomputes("10-15")
def forward_returns_the_output() -> Finding:
    """Run the published forward; it returns: the context before W_O, and the weights beside it."""
    x, W_o = draw(1, 6, 12), draw(12, 12, seed=9)
    context = _first_pass(x)
    output = multi_head_attention(x, x, x, *weights(), W_o, 1, causal_mask(6, 6))
    off = largest(context, output)
    return weigh(
        f"the context differs from the output by {off:.2f}; projected it is the output, and a "
        "tuple with the weights comes back",
        holds=off < 1e-9,
        amended=largest(context @ W_o, output) < 1e-9,
    )


@recomputes("10-09")
def cache_of_a_billion_parameters() -> Finding:
    """About 500 MB for a 1B model at 2048: L=24, d=2048 (GPT-3 1.3B), in 16 and 32 bits."""
    half, full = (kv_cache_bytes(24, 16, 128, 2048, 1, width) / 2**20 for width in (2, 4))
    double = kv_cache_bytes(24, 16, 128, 2048, 2, 2) / 2**20 / half
    shared = half / (kv_cache_bytes(24, 2, 128, 2048, 1, 2) / 2**20)
    return weigh(
        f"{half:.0f} MiB fp16, {full:.0f} MiB fp32; batch 2 {double:.0f}x, 8x fewer KV heads "
        f"{shared:.0f}x less",
        holds=abs(half / 500 - 1) < 0.1,
        amended=half < 500 < full,
    )
