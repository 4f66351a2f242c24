"""Checks of the claims of chapter 08 about kernels, hashes and projected keys."""

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
from course_utils.claims._inputs import draw, draws, largest, leak, refused
from course_utils.claims.finding import Finding, recomputes, weigh


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
