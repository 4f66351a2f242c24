"""Checks of the claims of chapter 08 about shared keys and values."""

from collections.abc import Callable
from functools import partial

import torch

from course_utils.attention import grouped_query_attention, scaled_dot_product_attention
from course_utils.claims._inputs import draw, draws, growth, largest, recorded
from course_utils.claims.finding import Finding, by_machine, recomputes, weigh
from course_utils.measure import count_flops, largest_tensor


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


@recomputes("08-22", "08-23")
def shared_heads_save_parameters() -> Finding:
    """d_model=512, 8 heads: multi-query saves 43.8%, 4 groups save 25%."""
    full = 4 * (512 * 512 + 512)
    counts = {g: 2 * (512 * 512 + 512) + 2 * (512 * 64 * g + 64 * g) for g in (1, 4)}
    saved = {g: 100 * (1 - count / full) for g, count in counts.items()}
    return weigh(
        f"{counts[1]:,} ({saved[1]:.2f}% fewer) and {counts[4]:,} ({saved[4]:.0f}% fewer) of "
        f"{full:,}",
        holds=abs(saved[1] - 43.8) < 0.1 and round(saved[4]) == 25,
    )


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


@recomputes("08-41")
def mask_argument_of_a_name_that_is_nowhere() -> Finding:
    """model.attention(x, mask=local_mask), in a listing that defines neither model nor x."""
    try:
        eval("model.attention(x, mask=local_mask)", {"local_mask": draw(4, 4) > 0})
        raised = ""
    except NameError as error:
        raised = str(error)
    return weigh(f"NameError: {raised}", holds=not raised)
