import pytest
import torch
from torch import Tensor

from course_utils.attention import (
    additive_score,
    concat_score,
    dot_score,
    general_score,
    location_score,
)
from course_utils.measure import additive_flops, count_flops, largest_tensor
from tests.support import LEADING, LENGTHS, assert_same_function, draw

EQUATIONS = pytest.mark.peer(
    "02",
    "`concat_score`, `additive_score`",
    "the papers' equations, in a loop",
    "float64 1e-7",
    "scores, gradients",
)


def by_loop(score, query: Tensor, key: Tensor) -> Tensor:
    """Score one query against one key at a time."""
    flat_q, flat_k = query.flatten(0, -3), key.flatten(0, -3)
    tables = [
        torch.stack([torch.stack([score(q, k) for k in keys]) for q in queries])
        for queries, keys in zip(flat_q, flat_k, strict=True)
    ]
    return torch.stack(tables).reshape(*query.shape[:-1], key.shape[-2])


def inputs(leading: tuple[int, ...], lengths: tuple[int, int], *widths: tuple[int, ...]):
    shapes = [(*leading, lengths[0], widths[0][0]), (*leading, lengths[1], widths[0][1])]
    shapes += [shape for shape in widths[1:] if shape]
    return tuple(draw(*shape, seed=i).requires_grad_() for i, shape in enumerate(shapes))


each_shape = [
    pytest.mark.parametrize("leading", LEADING),
    pytest.mark.parametrize("lengths", LENGTHS),
]


def with_shapes(test):
    for mark in each_shape:
        test = mark(test)
    return test


def _batched(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    return (query, key) if query.dim() > 2 else (query.unsqueeze(0), key.unsqueeze(0))


@with_shapes
def test_dot_agrees_with_a_loop_over_pairs(leading, lengths) -> None:
    def loop(query, key):
        return by_loop(torch.dot, *_batched(query, key)).reshape(*leading, *lengths)

    assert_same_function(dot_score, loop, inputs(leading, lengths, (4, 4)))


@with_shapes
def test_general_agrees_with_a_loop_over_pairs(leading, lengths) -> None:
    def loop(query, key, W):
        pairs = _batched(query, key)
        return by_loop(lambda q, k: q @ W @ k, *pairs).reshape(*leading, *lengths)

    assert_same_function(general_score, loop, inputs(leading, lengths, (4, 3), (4, 3)))


@with_shapes
@EQUATIONS
def test_additive_agrees_with_bahdanau_s_formula_pair_by_pair(leading, lengths) -> None:
    def loop(query, key, W_q, W_k, v):
        pairs = _batched(query, key)
        # Appendix A.1.2 as printed: v_aᵀ tanh(W_a s + U_a h), the matrices on the left.
        table = by_loop(lambda s, h: v.dot(torch.tanh(W_q.T @ s + W_k.T @ h)), *pairs)
        return table.reshape(*leading, *lengths)

    given = inputs(leading, lengths, (4, 3), (4, 6), (3, 6), (6,))
    assert_same_function(additive_score, loop, given)


@with_shapes
@EQUATIONS
def test_concat_agrees_with_luong_s_formula_pair_by_pair(leading, lengths) -> None:
    def loop(query, key, W, v):
        pairs = _batched(query, key)
        table = by_loop(lambda h, s: v.dot(torch.tanh(W.T @ torch.cat([h, s]))), *pairs)
        return table.reshape(*leading, *lengths)

    assert_same_function(concat_score, loop, inputs(leading, lengths, (4, 3), (7, 5), (5,)))


def test_concat_is_additive_with_the_matrices_stacked() -> None:
    query, key, W_q, W_k, v = inputs((2,), (3, 5), (4, 6), (4, 7), (6, 7), (7,))
    stacked = concat_score(query, key, torch.cat([W_q, W_k]), v)
    torch.testing.assert_close(stacked, additive_score(query, key, W_q, W_k, v))


def test_general_with_the_unit_matrix_is_dot() -> None:
    query, key = inputs((2,), (3, 5), (4, 4))
    torch.testing.assert_close(general_score(query, key, torch.eye(4).double()), query @ key.mT)


def test_location_scores_positions_from_the_query_alone() -> None:
    query, W = draw(2, 3, 4), draw(4, 6)
    torch.testing.assert_close(location_score(query, W, 6), query @ W)
    torch.testing.assert_close(location_score(query, W, 4), (query @ W)[..., :4])
    longer = location_score(query, W, 8)
    torch.testing.assert_close(longer[..., :6], query @ W)
    assert (longer[..., 6:] == -torch.inf).all()


def test_each_key_and_query_is_projected_once() -> None:
    batch, num_queries, num_keys, d_q, d_k, d_a = 2, 4, 5, 3, 6, 7
    given = (
        draw(batch, num_queries, d_q),
        draw(batch, num_keys, d_k),
        draw(d_q, d_a),
        draw(d_k, d_a),
        draw(d_a),
    )
    # The counter sees matrix products: all but an addition and a tanh for each hidden number.
    elementwise = 2 * num_queries * num_keys * d_a
    formula = additive_flops(num_queries, num_keys, d_q, d_k, d_a, True) - elementwise
    assert count_flops(additive_score, *given) == batch * formula
    assert largest_tensor(additive_score, *given) == batch * num_queries * num_keys * d_a


def test_the_formula_without_precomputing_is_what_projecting_pairs_costs() -> None:
    num_queries, num_keys, d_q, d_k, d_a = 4, 5, 3, 6, 7

    def every_pair(query, key, W_q, W_k, v):
        shape = (num_queries, num_keys, -1)
        left = query.unsqueeze(1).expand(shape) @ W_q
        return torch.tanh(left + key.unsqueeze(0).expand(shape) @ W_k) @ v

    given = (draw(num_queries, d_q), draw(num_keys, d_k), draw(d_q, d_a), draw(d_k, d_a), draw(d_a))
    torch.testing.assert_close(every_pair(*given), additive_score(*given))
    elementwise = 2 * num_queries * num_keys * d_a
    formula = additive_flops(num_queries, num_keys, d_q, d_k, d_a, False) - elementwise
    assert count_flops(every_pair, *given) == formula
