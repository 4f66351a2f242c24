import math

import pytest
import torch
from torch import Tensor

from course_utils.attention import (
    causal_performer_attention,
    orthogonal_projection,
    performer_attention,
    positive_random_features,
    scaled_dot_product_attention,
)
from tests.support import LEADING, assert_same_function, draw, kernel_loop, qkv

EQUATIONS = pytest.mark.peer(
    "08",
    "`performer_attention`, `causal_performer_attention`, `positive_random_features`",
    "the paper's equations, in a loop",
    "float64 1e-7",
    "outputs, gradients",
)

D = 4
PROJECTION = draw(9, D, seed=7)


def weight(q: Tensor, k: Tensor) -> Tensor:
    """Follow Eq. 5 of the paper, feature by feature, for vectors divided by d^(1/4)."""
    x, y = q / D**0.25, k / D**0.25
    products = [
        torch.exp(w @ x - x @ x / 2) * torch.exp(w @ y - y @ y / 2) / len(PROJECTION)
        for w in PROJECTION
    ]
    return sum(products)


def in_parallel(query: Tensor, key: Tensor, value: Tensor, causal: bool) -> Tensor:
    features = (positive_random_features(x, PROJECTION) for x in (query, key))
    weights = next(features) @ next(features).mT
    weights = weights.tril() if causal else weights
    return weights / weights.sum(-1, keepdim=True) @ value


@pytest.mark.parametrize("leading", LEADING)
def test_features_agree_with_the_formula_number_by_number(leading) -> None:
    x = draw(*leading, 5, D)
    features = positive_random_features(x, PROJECTION)
    assert features.shape == (*leading, 5, 9)
    for row, got in zip(x.reshape(-1, D), features.reshape(-1, 9), strict=True):
        for j, w in enumerate(PROJECTION):
            scaled = row / math.sqrt(math.sqrt(D))
            want = math.exp(w @ scaled - scaled @ scaled / 2) / 3
            assert got[j].item() == pytest.approx(want)


def test_features_estimate_the_exponential_without_bias() -> None:
    q, k = draw(6, D), draw(7, D, seed=1)
    estimates = []
    for seed in range(300):
        projection = draw(64, D, seed=100 + seed)
        features = (positive_random_features(x, projection) for x in (q, k))
        estimates.append(next(features) @ next(features).mT)
    found, want = torch.stack(estimates), torch.exp(q @ k.mT / math.sqrt(D))
    error = found.std(0) / math.sqrt(len(estimates))
    assert ((found.mean(0) - want).abs() < 5 * error).all()
    assert (found > 0).all()


@pytest.mark.parametrize("lengths", [(3, 5), (5, 3), (1, 4), (4, 1), (1, 1)])
@EQUATIONS
def test_agrees_with_a_loop_over_queries_and_keys(lengths) -> None:
    given = qkv((), *lengths, D)
    assert_same_function(
        lambda *x: performer_attention(*x, PROJECTION), lambda *x: kernel_loop(*x, weight), given
    )


@pytest.mark.parametrize("length", [1, 2, 7])
@EQUATIONS
def test_causal_agrees_with_a_loop_over_queries_and_their_past(length) -> None:
    assert_same_function(
        lambda *x: causal_performer_attention(*x, PROJECTION),
        lambda *x: kernel_loop(*x, weight, sees=lambda i, j: j <= i),
        qkv((), length, length, D),
    )


@pytest.mark.thorough
@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("lengths", [(3, 5), (1100, 1030), (65, 65), (64, 64)])
def test_pieces_add_up_to_the_table_at_once(leading, lengths) -> None:
    given = qkv(leading, *lengths, D, 2)
    causal = lengths[0] == lengths[1]
    attend = causal_performer_attention if causal else performer_attention
    assert_same_function(
        lambda *x: attend(*x, PROJECTION), lambda *x: in_parallel(*x, causal), given
    )


@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("attend", [performer_attention, causal_performer_attention])
def test_large_vectors_neither_overflow_nor_vanish(attend, size) -> None:
    given = [x.float() for x in qkv((2,), 80, 80, D)]
    given[:2] = (size * x for x in given[:2])
    out = attend(*given, PROJECTION.float())
    assert out.isfinite().all()
    assert (out.abs() <= given[2].abs().amax(-2, keepdim=True) + 1e-4).all()


def test_more_features_err_less_and_orthogonal_ones_least() -> None:
    query, key, value = qkv((), 50, 60, 16)
    query, key = query / 2, key / 2  # the variance grows with the exponential of their lengths
    exact = scaled_dot_product_attention(query, key, value)

    def error(draw_rows, num_features: int) -> float:
        errors = []
        for seed in range(20):
            rows = draw_rows(num_features, 16, torch.Generator().manual_seed(seed)).double()
            out = performer_attention(query, key, value, rows)
            errors.append((out - exact).square().mean())
        return float(torch.stack(errors).mean())

    def independent(m: int, d: int, generator: torch.Generator) -> Tensor:
        return torch.randn(m, d, generator=generator)

    few, many = error(independent, 16), error(independent, 256)
    assert many < few / 3
    assert error(orthogonal_projection, 256) < many


@pytest.mark.parametrize(("num_features", "d"), [(1, 1), (3, 5), (5, 5), (13, 5)])
def test_rows_are_at_right_angles_within_a_block(num_features, d) -> None:
    rows = orthogonal_projection(num_features, d, torch.Generator().manual_seed(0))
    assert rows.shape == (num_features, d)
    for block in rows.split(d):
        angles = torch.nn.functional.normalize(block, dim=-1)
        torch.testing.assert_close(angles @ angles.mT, torch.eye(len(block)))


def test_each_row_alone_is_normal() -> None:
    generator = torch.Generator().manual_seed(0)
    rows = torch.cat([orthogonal_projection(6, 3, generator) for _ in range(4000)])
    error = 1 / math.sqrt(len(rows))
    assert (rows.mean(0).abs() < 5 * error).all()
    assert ((rows.mT @ rows / len(rows) - torch.eye(3)).abs() < 8 * error).all()
    assert abs(rows.square().sum(-1).var() - 6) < 50 * error  # χ² of three: variance 2 · 3


Q, K, V, W = torch.zeros(2, 3, 4), torch.zeros(2, 5, 4), torch.zeros(2, 5, 6), torch.zeros(7, 4)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: positive_random_features(Q, W.mT),
            ValueError,
            r"projection must have the shape \(any, 4\), .* got \(4, 7\)",
        ),
        (lambda: performer_attention(Q, K, V, W[0]), ValueError, r"got \(4,\)"),
        (lambda: causal_performer_attention(K, K, V, W.mT), ValueError, "projection must have"),
    ],
)
def test_bad_input_is_named(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
