"""Checks of the claims of chapter 08 about windows, patterns and shared keys and values."""

from collections.abc import Callable
from functools import partial

import torch

from course_utils.attention import (
    causal_mask,
    fixed_mask,
    grouped_query_attention,
    scaled_dot_product_attention,
    sliding_window_attention,
    strided_mask,
    window_mask,
)
from course_utils.claims._inputs import draw, draws, growth, largest, recorded
from course_utils.claims.figures import arithmetic, said
from course_utils.claims.finding import Finding, by_machine, recomputes, weigh
from course_utils.measure import count_flops, largest_tensor, mha_parameters

Count = Callable[..., int]


def local_mask(num_tokens: int, half: int) -> torch.Tensor:
    """Return which tokens lie at most `half` apart: i-w..i+w."""
    index = torch.arange(num_tokens)
    return (index - index[:, None]).abs() <= half


FULL = mha_parameters(512, 8, True)
ONE, FOUR = (2 * (512 * 512 + 512) + 2 * (512 * 64 * g + 64 * g) for g in (1, 4))
# fmt: off
arithmetic("08-22 08-23", "d_model=512, 8 heads: {:,} ({:.2%} fewer) and, with 4 groups, {:,} "
    "({:.0%} fewer) of {:,}",
    ONE, said("43.8%", 1 - ONE / FULL), FOUR, said("25%", 1 - FOUR / FULL), FULL)
# fmt: on


@recomputes("08-03")
def window_of_256_sees_256() -> Finding:
    """The usual code sees 2*(w//2)+1 for window_size=256."""
    seen = int(local_mask(1024, 256 // 2).sum(-1).max())
    return weigh(
        f"an inner row sees {seen} keys (2w+1 would be {2 * 256 + 1})",
        holds=seen == 256,
        amended=seen == 2 * (256 // 2) + 1,
    )


@recomputes("08-04", "08-27", "08-47")
def masked_scores_are_cheap() -> Finding:
    """FLOPs and the largest tensor of dense scores with a window mask: O(n w) or O(n^2)."""

    def dense(count: Count, n: int) -> int:
        x = draw(1, 1, n, 16)
        return count(scaled_dot_product_attention, x, x, x, window_mask(n, n, 16))

    flops, numbers = (
        growth(partial(dense, count), 256, 512, 1024) for count in (count_flops, largest_tensor)
    )
    narrow = growth(partial(_banded, count_flops), 256, 512, 1024)
    return weigh(
        f"dense scores with a mask: FLOPs n^{flops:.1f}, largest tensor n^{numbers:.1f}; banded "
        f"FLOPs n^{narrow:.1f}",
        holds=flops < 1.5,
    )


def _banded(count: Count, n: int, w: int = 16, d: int = 16) -> int:
    x = draw(1, 1, n, d)
    return count(sliding_window_attention, x, x, x, w)


@recomputes("08-05")
def symmetric_window_suits_decoders() -> Finding:
    """Count the entries of the future in a symmetric local mask, and after the AND."""
    mask = local_mask(4096, 128)
    future = int(mask.triu(1).sum())
    rest = int((mask & causal_mask(4096, 4096)).triu(1).sum())
    return weigh(
        f"{future:,} entries of the future at 4,096 tokens; {rest} after AND with the causal mask",
        holds=future == 0,
        amended=rest == 0,
    )


@recomputes("08-06", "08-31")
def window_costs_n_w_d() -> Finding:
    """FLOPs and the largest tensor of a banded window, by length and width: O(n^2) to O(nw)."""
    flops = partial(_banded, count_flops)
    in_n = growth(flops, 512, 2048), growth(partial(_banded, largest_tensor), 512, 2048)
    in_w = growth(lambda w: flops(1024, w), 128, 512)
    in_d = growth(lambda d: flops(512, 16, d), 16, 64)
    return weigh(
        f"banded: FLOPs n^{in_n[0]:.1f} w^{in_w:.1f} d^{in_d:.1f}, largest tensor n^{in_n[1]:.1f}",
        holds=max(*in_n, in_w, in_d) < 1.2,
    )


@recomputes("08-07")
def sparse_transformer_patterns() -> Finding:
    """Child 2019: strided and fixed patterns; the keys of a row grow with sqrt n."""

    def keys_a_row(mask: Callable[..., torch.Tensor], n: int) -> float:
        return float(mask(n, round(n**0.5)).sum() / n)

    masks: list[Callable[..., torch.Tensor]] = [strided_mask, partial(fixed_mask, summary=1)]
    told = [growth(partial(keys_a_row, mask), 64, 256, 1024) for mask in masks]
    ones = [mask(64, 8).double() for mask in masks]
    reach = [bool((one @ one > 0)[-1].all()) for one in ones]
    return weigh(
        f"keys a row n^{told[0]:.2f} and n^{told[1]:.2f}: O(n sqrt n); all of the past in two "
        f"hops: {reach}",
        holds=max(abs(e - 0.5) for e in told) < 0.2 and all(reach),
    )


@recomputes("08-16", "08-45")
def window_with_global_tokens() -> Finding:
    """i-w..i+w and two global tokens: what an inner row and row 0 see, and the future."""
    mask = local_mask(20, 3)
    inner = int(mask[10].sum())
    mask[:, :2] = mask[:2] = True
    return weigh(
        f"w=3: an inner row sees 2w+1 = {inner} keys, with two global tokens "
        f"{int(mask[10].sum())}, row 0 {int(mask[0].sum())}; looks ahead: "
        f"{bool(mask.triu(1).any())}",
        holds=inner == 7 and int(mask[0].sum()) == 20,
    )


@recomputes("08-17")
def stacked_windows_reach_far() -> Finding:
    """Measure how far a token sees through 1 to 4 layers of i-w..i+w, w=3."""
    mask, reach = local_mask(40, 3).double(), []
    seen = torch.eye(40).double()
    for _ in range(4):
        seen = ((mask @ seen) > 0).double()
        reach.append(int(seen[0].nonzero().max()))
    return weigh(f"{reach} tokens on each side: L*w", holds=reach == [3, 6, 9, 12])


@recomputes("08-12", "08-14")
def grouped_query_is_multi_query_and_multi_head() -> Finding:
    """g=1: one key and one value for all h queries (Shazeer 2019); g=h: multi-head attention."""
    query = draw(2, 6, 5, 8)
    one, many = (draws(*[(2, heads, 7, 8)] * 2) for heads in (1, 6))
    multi_query = scaled_dot_product_attention(query, *(x.expand(2, 6, 7, 8) for x in one))
    off = [
        largest(grouped_query_attention(query, *one), multi_query),
        largest(grouped_query_attention(query, *many), scaled_dot_product_attention(query, *many)),
    ]
    return weigh(f"g=1 {off[0]:.0e}, g=h {off[1]:.0e}", holds=max(off) < 1e-12)


@recomputes("08-24")
def multi_query_is_two_to_four_times_faster() -> Finding:
    """MQA: 2-4x, for a step of cached decoding with 16 heads, by length."""
    told = [
        f"{1 / run['over_own_16']:.1f} times faster at {run['length']:,}"
        for run in recorded("chapter_08_cheaper", "decoding", kv_heads=1, way="ours")
    ]
    return by_machine("1 of 16 heads: " + ", ".join(told), "chapter_08_cheaper")


@recomputes("08-26")
def expand_makes_no_copy() -> Finding:
    """The storage of keys and values expanded across 8 heads."""
    key = draw(2, 1, 16, 64)
    shared = key.expand(2, 8, 16, 64)
    return weigh(
        f"{shared.untyped_storage().nbytes() // 8:,} numbers stored for {shared.numel():,}",
        holds=shared.data_ptr() == key.data_ptr(),
    )


@recomputes("08-30")
def shared_heads_keep_the_order() -> Finding:
    """MHA, MQA and GQA: O(n^2 d) time and O(n^2) space, by length."""

    def cost(count: Callable[..., int], kv_heads: int, n: int) -> int:
        return count(_shared, draw(1, 8, n, 8), *draws(*[(1, kv_heads, n, 8)] * 2))

    powers = {
        kv_heads: [
            round(growth(partial(cost, count, kv_heads), 64, 128, 256), 2)
            for count in (count_flops, largest_tensor)
        ]
        for kv_heads in (8, 4, 1)
    }
    return weigh(
        f"powers of n of FLOPs and of the largest tensor, by key/value heads: {powers}",
        holds=all(power == [2, 2] for power in powers.values()),
    )


def _shared(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    key, value = (x.repeat_interleave(8 // x.size(1), 1) for x in (key, value))
    return (query @ key.mT).softmax(-1) @ value
