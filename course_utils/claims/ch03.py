"""Checks of the claims of chapter 03 that are arithmetic."""

import math

import torch

from course_utils.claims._inputs import draws, exact, largest, row
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import attention_flops, dot_product_variance

LENGTHS = (128, 256, 512, 1024, 2048, 4096)


@recomputes("03-05", "03-34")
def weights_take_memory_squared() -> Finding:
    """One head of one sequence in 4 bytes, n=128 to 4096: 0.06, 0.25, 1, 4, 16, 64."""
    column = [n * n * 4 / 2**20 for n in LENGTHS]
    return weigh(
        f"{', '.join(f'{size:.2g}' for size in column)} MiB a head and sequence: O(n^2), and "
        "B*h*n^2 for the layer",
        holds=[round(size, 2) for size in column] == [0.06, 0.25, 1, 4, 16, 64],
    )


@recomputes("03-06")
def operations_are_n_squared_d() -> Finding:
    """n=4096, d=512: QK^T and AV at 2 n^2 d each, four projections at 2 n d^2 each."""
    n, d = 4096, 512
    products, projections = 4 * n * n * d, 8 * n * d * d
    return weigh(
        f"{products / 1e9:.1f} GFLOP, and {projections / 1e9:.1f} of projections (n^2 d is "
        f"{n * n * d / 1e9:.1f}, as n=8d)",
        holds=products == n * n * d,
        amended=products == 4 * n * n * d,
    )


@recomputes("03-33")
def column_of_operations() -> Finding:
    """8,388,608 to 8,589,934,592 for n=128 to 4096, d=512: n^2 d; the scores take 2n^2 d."""
    column = [n * n * 512 for n in LENGTHS]
    return weigh(
        f"{column[0]:,} to {column[-1]:,}", holds=(column[0], column[-1]) == (8388608, 8589934592)
    )


@recomputes("03-07")
def weights_take_64_megabytes() -> Finding:
    """n^2*4 at n=4096 (width 512, 8 heads) against a batch of 2 with 8 heads."""
    head = 4096**2 * 4
    layer = 2 * 8 * head
    return weigh(
        f"one head {head / 2**20:.0f} MiB; a batch of 2 with 8 heads {layer / 2**30:.0f} GiB a "
        "layer",
        holds=layer == head,
    )


@recomputes("03-10")
def score_has_no_parameters() -> Finding:
    """The score of projected queries and keys is x W_Q W_K^T y."""
    x, y, W_q, W_k = draws((3, 512), (5, 512), (512, 64), (512, 64))
    off = largest((x @ W_q) @ (y @ W_k).mT, x @ (W_q @ W_k.mT) @ y.mT)
    count = W_q.numel() + W_k.numel()
    return weigh(
        f"the score none, its projections {count:,} (512->64); as a general score of rank 64 it is "
        f"{off:.0e} off",
        holds=count == 0,
        amended=off < 1e-8,
    )


@recomputes("03-11")
def variance_of_a_dot_product_is_its_width() -> Finding:
    """d_k=64, drawn; then q=k, and components that are all equal."""
    drawn = dot_product_variance(64, 200_000, torch.Generator().manual_seed(0))
    fourth = 3  # E[z^4] of a standard normal number
    same_mean, same = 64 * 1, 64 * (fourth - 1)
    return weigh(
        f"variance {drawn:.1f} at d_k=64; q=k gives mean {same_mean} and variance {same}; equal "
        f"components 64^2 = {64**2}",
        holds=abs(drawn / 64 - 1) < 0.02,
    )


@recomputes("03-12", "03-46", "03-47")
def deviations_of_scores() -> Finding:
    """At d_k=64 variance 64, deviation 8, roughly from -24 to 24; 22.6 at 512."""
    narrow, wide = math.sqrt(64), math.sqrt(512)
    return weigh(
        f"variance {narrow**2:.0f}, deviation {narrow:.0f}, three of them {3 * narrow:.0f}; "
        f"{wide:.1f} at 512",
        holds=(narrow, 3 * narrow, round(wide, 1)) == (8, 24, 22.6),
    )


@recomputes("03-24")
def flops_at_512() -> Finding:
    """2mn(d_k+d_v) = 67,108,864 at 512 queries, keys and width 64; 6mn for scale and softmax."""
    count = attention_flops(1, 1, 512, 512, 64, 64)
    return weigh(
        f"{count:,}: {count / 1e6:.1f} MFLOP, {(count + 6 * 512 * 512) / 1e6:.1f} with 6mn",
        holds=count == 67_108_864,
    )


@recomputes("03-40", "03-41", "03-42", "03-43")
def worked_example() -> Finding:
    """d_k=4: [1.33, 0.37, -0.24], by 2 [0.665, 0.185, -0.120], 48.2% on the first; the output."""
    key = exact([0.8, 0.2, -0.1, 0.5, 0.3, 0.7, 0.4, -0.2, -0.5, 0.1, 0.9, 0.6]).view(3, 4)
    value = exact(
        [0.5, 0.8, -0.2, 0.6, 0.3, 0.2, -0.4, 0.7, 0.1, 0.9, -0.3, 0.5, 0.4, -0.6, 0.2]
    ).view(3, 5)
    scores = key @ exact([1, 0.5, -0.3, 0.8])
    weights = (scores / 2).softmax(0)
    out = weights @ value
    printed = exact([0.235, 0.377, 0.201, 0.187, 0.457])
    off = (out - printed).abs() > 5e-4
    return weigh(
        f"{row(scores, 2)}; {row(scores / 2)}; {weights[0]:.1%}, {scores.softmax(0)[0]:.1%} "
        f"unscaled; {row(out, 4)}, {int(off.sum())} of the five printed off in the third digit",
        holds=row(scores / 2) == "[0.665, 0.185, -0.120]"
        and f"{weights[0]:.1%}" == "48.2%"
        and largest(out, printed) < 1e-3,
    )


@recomputes("03-44")
def scores_grow_without_the_scale() -> Finding:
    """In deviation against d_k=4: 4 times at d_k=64, 11.3 at 512."""
    grown = math.sqrt(64 / 4), math.sqrt(512 / 4)
    return weigh(f"{grown[0]:.0f} and {grown[1]:.1f} times", holds=round(grown[1], 1) == 11.3)


@recomputes("03-45")
def sizes_of_10_queries_and_20_keys() -> Finding:
    """d_k=64, d_v=128: output 10x128, weights 10x20, 25,600 operations for QK^T."""
    query, key, value = draws((10, 64), (20, 64), (20, 128))
    weights = (query @ key.mT).softmax(-1)
    count = 2 * 10 * 20 * 64
    return weigh(
        f"weights {tuple(weights.shape)}, output {tuple((weights @ value).shape)}, {count:,}",
        holds=count == 25_600 and (weights @ value).shape == (10, 128),
    )
