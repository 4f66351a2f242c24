"""Checks of the claims of chapter 08 about orders of cost, kernels, hashes and projected keys."""

from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import (
    attention_weights,
    causal_linear_attention,
    linear_attention,
    linformer_attention,
    lsh_buckets,
    performer_attention,
    scaled_dot_product_attention,
)
from course_utils.claims._inputs import draw, draws, growth, largest, leak, refused
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import attention_flops, count_flops, largest_tensor

WIDTH = 768


def share(n: int, d: int = WIDTH) -> float:
    """Return the share of a layer's FLOPs that the products are: 4 n^2 d beside 24 n d^2."""
    products = attention_flops(1, 12, n, n, d // 12, d // 12)
    return products / (products + 24 * n * d * d)


@recomputes("08-32")
def attention_takes_n_squared_d() -> Finding:
    """O(n^2 d) time and O(n^2) space; the projections' O(n d^2), and h heads."""
    products = growth(lambda n: attention_flops(1, 8, n, n, 64, 64), 256, 1024)
    layer = growth(lambda n: attention_flops(1, 8, n, n, 64, 64) + 8 * n * 512**2, 256, 1024)
    return weigh(
        f"products n^{products:.1f}, with projections n^{layer:.1f} up to 1,024 tokens; 8 heads "
        f"keep {8 * 1024**2:,} weights at n=1024",
        holds=layer > 1.9,
        amended=abs(products - 2) < 1e-6,
    )


@recomputes("08-36")
def quadratic_cost_is_the_main_bottleneck() -> Finding:
    """Its share of a layer of width 768, by length: half at n = 6d, a third of attention at 2d."""
    shares = {n: share(n) for n in (512, 2 * WIDTH, 6 * WIDTH, 8 * 6 * WIDTH)}
    return weigh(
        "share of a layer: " + ", ".join(f"{part:.0%} at n={n:,}" for n, part in shares.items()),
        holds=shares[512] > 0.5,
        amended=abs(shares[6 * WIDTH] - 0.5) < 1e-6,
    )


@recomputes("08-39", "08-49", "08-51")
def cost_is_quadratic_in_length() -> Finding:
    """FLOPs counted at three lengths; the share of a layer below and above n = 6d."""

    def cost(n: int) -> int:
        return count_flops(lambda x: (x @ x.mT).softmax(-1) @ x, draw(1, 2, n, 8))

    power = growth(cost, 64, 128, 256)
    return weigh(
        f"n^{power:.2f}; of a layer of width 768 {share(128):.0%} at n=128, "
        f"{share(2 * WIDTH):.0%} at 2d, {share(6 * WIDTH):.0%} at 6d, {share(8192):.0%} at 8,192",
        holds=abs(power - 2) < 0.01 and share(8192) > 0.5,
    )


@recomputes("08-11")
def linear_attention_costs_n_d_squared() -> Finding:
    """FLOPs against n and d; from which n they are fewer than softmax attention's."""

    def cost(n: int, d: int) -> int:
        return count_flops(linear_attention, *draws(*[(1, 1, n, d)] * 3))

    in_n, in_d = growth(lambda n: cost(n, 16), 64, 256), growth(lambda d: cost(64, d), 16, 64)
    equal = 4 * 64 * 64 * 64  # n = d = 64
    return weigh(
        f"n^{in_n:.2f} d^{in_d:.2f}; at n = d_k = 64 {cost(64, 64):,} against {equal:,}",
        holds=abs(in_n - 1) < 0.05 and abs(in_d - 2) < 0.1 and cost(64, 64) < 1.05 * equal,
    )


@recomputes("08-37")
def linear_attention_takes_n_d_space() -> Finding:
    """The largest tensor by length; the state of d_k x d_v numbers."""

    def cost(n: int) -> int:
        return largest_tensor(linear_attention, *[draw(1, 1, n, 16)] * 3)

    power = growth(cost, 256, 1024, 4096)
    return weigh(
        f"largest tensor n^{power:.2f}; a state of {16 * 16} numbers a head",
        holds=abs(power - 1) < 0.05,
    )


@recomputes("08-44")
def linformer_costs_n_k() -> Finding:
    """FLOPs against the length n and the number of mixtures k."""

    def cost(n: int, k: int) -> int:
        x, E = draw(n, 16), draw(n, k, seed=1)
        return count_flops(linformer_attention, x, x, x, E, E)

    in_n, in_k = growth(lambda n: cost(n, 8), 128, 512), growth(lambda k: cost(128, k), 8, 32)
    return weigh(
        f"n^{in_n:.2f} k^{in_k:.2f}, times d", holds=max(abs(in_n - 1), abs(in_k - 1)) < 0.05
    )


@recomputes("08-42")
def table_of_complexities() -> Finding:
    """The orders of the table: full n^2 d, window n w d, linear n d^2, Linformer n k d."""
    orders = {
        "full": cost_is_quadratic_in_length(),
        "linear": linear_attention_costs_n_d_squared(),
        "Linformer": linformer_costs_n_k(),
    }
    return weigh(
        "; ".join(f"{name}: {found.measured}" for name, found in orders.items()),
        holds=all(found.verdict == "confirmed" for found in orders.values()),
    )


def explicit(query: Tensor, key: Tensor) -> Tensor:
    """Return linear attention's weights, n x n: phi = elu + 1."""
    kernel = (F.elu(query) + 1) @ (F.elu(key) + 1).mT
    return kernel / kernel.sum(-1, keepdim=True)


@recomputes("08-01", "08-02", "08-10", "08-29")
def linear_attention_approximates_softmax() -> Finding:
    """elu+1 against its own kernel and softmax, on peaked rows; then random features."""
    query, key, value = draws((64, 16), (64, 16), (64, 16))
    query = 4 * query
    weights, soft = explicit(query, key), attention_weights(query, key)
    own = largest(linear_attention(query, key, value), weights @ value)
    apart = float((weights - soft).abs().sum(-1).mean() / 2)
    calm = query / 16
    exact = scaled_dot_product_attention(calm, key, value)
    gap = [
        float((performer_attention(calm, key, value, draw(m, 16, seed=9)) - exact).norm())
        for m in (256, 4096)
    ]
    return weigh(
        f"its own kernel within {own:.0e}; {apart:.2f} from softmax in total variation, top weight "
        f"{weights.amax(-1).mean():.2f} against {soft.amax(-1).mean():.2f}; 16 times the random "
        f"features come {gap[0] / gap[1]:.1f} times as near",
        holds=apart < 0.1,
        amended=own < 1e-9 and gap[0] > 1.5 * gap[1],
    )


@recomputes("08-09", "08-46")
def linear_attention_formula() -> Finding:
    """phi(Q)(phi(K)^T V) / (phi(Q) phi(K)^T 1), with phi=elu+1, row by row."""
    query, key, value = draws((2, 5, 4), (2, 7, 4), (2, 7, 6))
    phi_q, phi_k = F.elu(query) + 1, F.elu(key) + 1
    formula = phi_q @ (phi_k.mT @ value) / (phi_q @ phi_k.sum(-2)[..., None])
    off = max(
        largest(linear_attention(query, key, value), formula),
        largest(formula, explicit(query, key) @ value),
    )
    return weigh(f"{off:.0e} from the n x n form; no mask", holds=off < 1e-12)


@recomputes("08-28")
def sum_over_all_keys_suits_language_models() -> Finding:
    """Does the sum over all keys see the future? And the prefix sums?"""
    query, key, value = draws((1, 6, 4), (1, 6, 4), (1, 6, 4))
    ways = (linear_attention, causal_linear_attention)
    leaks = [leak(partial(attend, query, key), value) for attend in ways]
    return weigh(
        f"later values move earlier outputs by {leaks[0]:.2f}; with prefix sums by {leaks[1]:g}",
        holds=leaks[0] == 0,
        amended=leaks[1] == 0,
    )


@recomputes("08-19")
def hash_of_reformer() -> Finding:
    """argmax(x;-x).R as printed, against h(x)=argmax([xR; -xR]): near vectors and random ones."""
    x, rotations = draw(400, 16), draw(16, 8, seed=1)
    near = x + 0.05 * draw(400, 16, seed=2)
    met = [
        float((lsh_buckets(x, rotations) == lsh_buckets(other, rotations)).double().mean())
        for other in (near, draw(400, 16, seed=3))
    ]
    hashed = torch.cat([x @ rotations, -(x @ rotations)], -1).argmax(-1)
    ours = torch.equal(hashed, lsh_buckets(x, rotations))
    printed = refused(lambda: torch.cat([x, -x], -1).argmax(-1) @ rotations)
    return weigh(
        f"as printed: {printed or 'runs'}; argmax([xR; -xR]) is ours: {ours}; near vectors meet "
        f"{met[0]:.0%} of the time, random ones {met[1]:.0%}",
        holds=not printed,
    )


@recomputes("08-20")
def linformer_projects_the_features() -> Finding:
    """K' = K E_k with E of shape (n, k), against E^T K."""
    key, E = draw(64, 8), draw(64, 16)
    printed = refused(lambda: key @ E)
    query, value = draw(5, 8, seed=2), draw(64, 6, seed=3)
    right = (query @ (E.mT @ key).mT / 8**0.5).softmax(-1) @ (E.mT @ value)
    off = largest(linformer_attention(query, key, value, E, E), right)
    return weigh(
        f"(64 x 8)(64 x 16): {printed}; E^T K is {tuple((E.mT @ key).shape)}, {off:.0e} from ours",
        holds=not printed,
    )
