"""Checks of the claims of chapter 08 about windows, patterns and shared keys and values."""

from collections.abc import Callable
from functools import partial

import torch

from course_utils.attention import (
    causal_mask,
    fixed_mask,
    scaled_dot_product_attention,
    sliding_window_attention,
    strided_mask,
    window_mask,
)
from course_utils.claims._inputs import draw, growth
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import count_flops, largest_tensor

Count = Callable[..., int]


def local_mask(num_tokens: int, half: int) -> torch.Tensor:
    """Return which tokens lie at most `half` apart: i-w..i+w."""
    index = torch.arange(num_tokens)
    return (index - index[:, None]).abs() <= half


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
    """How many entries of the future a symmetric local mask lets through, and after the AND."""
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
    """How far a token sees through 1 to 4 layers of i-w..i+w, w=3."""
    mask, reach = local_mask(40, 3).double(), []
    seen = torch.eye(40).double()
    for _ in range(4):
        seen = ((mask @ seen) > 0).double()
        reach.append(int(seen[0].nonzero().max()))
    return weigh(f"{reach} tokens on each side: L*w", holds=reach == [3, 6, 9, 12])
