"""Checks of the claims of chapter 14."""

import torch

from course_utils.attention import cross_covariance_attention
from course_utils.claims._inputs import draw, draws, growth, largest
from course_utils.claims.figures import arithmetic, said
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import count_flops

# fmt: off
# O(N^2)
arithmetic("14-02", "{} patches of {} numbers, {} tokens with [cls]; twice as fine, {} times the "
    "patches, {} times the pairs",
    said(f"{224 * 224 // 16**2}", (224 // 16) ** 2), 16 * 16 * 3, (224 // 16) ** 2 + 1,
    said("4", (224 // 8) ** 2 // (224 // 16) ** 2), said("16", (224 // 8) ** 4 // (224 // 16) ** 4))
# fmt: on


@recomputes("14-05")
def cross_covariance_without_norms() -> Finding:
    """softmax(Q^T K / tau) V^T as printed; V softmax(K^T Q / tau) with columns of length 1."""
    query, key, value = draws((50, 8), (50, 8), (50, 8))
    unit = [x / x.norm(dim=0) for x in (query, key)]
    right = (value @ (unit[0].mT @ unit[1]).softmax(-1).mT)[None, None]
    ours = cross_covariance_attention(query[None, None], key[None, None], value[None, None], 1.0)
    printed = (query.mT @ key).softmax(-1) @ value.mT
    drawn = [draws((n, 8), (n, 8)) for n in (50, 800, 12_800)]
    spread = [float((x.mT @ y).std()) for x, y in drawn]
    return weigh(
        f"printed {tuple(printed.shape)} for {tuple(value.shape)}; without the norm scores have "
        f"deviations of {', '.join(f'{s:.1f}' for s in spread)} at n=50, 800, 12,800; with it and "
        f"turned back {largest(right, ours):.0e} from ours",
        holds=printed.shape == value.shape,
        amended=largest(right, ours) < 1e-9,
    )


@recomputes("14-06")
def cross_covariance_costs_nothing_in_n() -> Finding:
    """FLOPs of cross-covariance attention against n and d."""

    def cost(n: int, d: int) -> int:
        x = draw(1, 1, n, d)
        return count_flops(cross_covariance_attention, x, x, x, torch.ones(1, 1, 1).double())

    in_n, in_d = growth(lambda n: cost(n, 8), 64, 256), growth(lambda d: cost(64, d), 8, 32)
    return weigh(
        f"n^{in_n:.1f} d^{in_d:.1f} (4 n d^2 = {4 * 64 * 8**2:,} at n=64, d=8: {cost(64, 8):,})",
        holds=in_n < 0.1,
    )
