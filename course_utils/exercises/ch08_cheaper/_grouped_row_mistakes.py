"""What goes wrong where the queries of a group become rows, and with what lies beside them."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Function, Misconception

Fold = Callable[[Tensor, int], Tensor]


def _in_order(query: Tensor, shared: int) -> Tensor:
    return query.reshape(query.shape[0], shared, -1, query.shape[-1])


def rows(
    fold: Fold = _in_order,
    turned: Callable[[Tensor], Tensor] = lambda key: key.mT,
    turn: Callable[[Tensor], Tensor] = stable_softmax,
    lay: Callable[[Tensor, Tensor, int], Tensor] = lambda mask, scores, shared: mask,
    unfold: Callable[[Tensor, Tensor], Tensor] = lambda out, query: out.reshape(
        *query.shape[:3], -1
    ),
) -> Function:
    """Return grouped-query attention by rows, with some of its steps exchanged.

    Args:
        fold: The rows (B, H_kv, group · L, d_k) of the queries.
        turned: The keys, with their last two axes exchanged.
        turn: What makes weights of scores (B, H, L, S).
        lay: The mask that hides scores, given those and H_kv.
        unfold: The output from that of the rows, given the queries.
    """

    def wrong(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None) -> Any:
        shared, num_keys = key.shape[1], key.shape[2]
        scores = fold(query, shared) @ turned(key) / math.sqrt(query.shape[-1])
        scores = scores.reshape(*query.shape[:3], num_keys)
        if attn_mask is not None:
            scores = scores.masked_fill(~lay(attn_mask, scores, shared), -torch.inf)
        weights = turn(scores).reshape(query.shape[0], shared, -1, num_keys)
        return unfold(weights @ value, query)

    return wrong


def _positions_first(query: Tensor, shared: int) -> Tensor:
    folded: Tensor = query.unflatten(1, (shared, -1)).transpose(2, 3).flatten(2, 3)
    return folded


def _by_modulo(query: Tensor, shared: int) -> Tensor:
    folded: Tensor = query.unflatten(1, (-1, shared)).transpose(1, 2).flatten(2, 3)
    return folded


def _one_axis_off(mask: Tensor, scores: Tensor, shared: int) -> Tensor:
    """Let the mask meet scores (B, H_kv, group, L, S): its batch then stands for the heads."""
    grouped = scores.unflatten(1, (shared, -1))
    return mask.expand(torch.broadcast_shapes(mask.shape, grouped.shape)).flatten(1, 2)


def _rows_repeated(mask: Tensor, scores: Tensor, shared: int) -> Tensor:
    """Lay the mask as if the heads of a group changed faster than the positions."""
    full, group = mask.expand(scores.shape), scores.shape[1] // shared
    return full[:, ::group].repeat_interleave(group, 2).reshape(scores.shape)


def _with(small: float) -> Callable[[Tensor], Tensor]:
    """Return a softmax with something small added below."""

    def turn(scores: Tensor) -> Tensor:
        top = scores.amax(-1, keepdim=True)
        shares = (scores - top.masked_fill(top.isinf(), 0.0)).exp()
        return shares / (shares.sum(-1, keepdim=True) + small)

    return turn


ROWS = (
    Misconception(
        "rows in another order than heads",
        rows(_positions_first),
        "Inside a group, rows were joined with positions before heads, or by modulo, and taken "
        "apart in another order. Which of the two changes faster from row to row, at the beginning "
        "and at the end?",
        also=(
            rows(_by_modulo),
            rows(
                unfold=lambda out, query: (
                    out.reshape(*query.shape[:3], -1).transpose(1, 2).reshape(*query.shape[:3], -1)
                )
            ),
        ),
    ),
    Misconception(
        "keys reshaped instead of transposed",
        rows(turned=lambda key: key.reshape(*key.shape[:2], key.shape[3], key.shape[2])),
        "The keys were cut anew to (d_k, S), which mixes the numbers of different keys. How are "
        "two axes exchanged, so that each key stays whole?",
    ),
    Misconception(
        "the mask one axis off",
        rows(lay=_one_axis_off),
        "The scores have an axis more than the mask, the group, and broadcasting counts from the "
        "end: another axis of the mask met the heads. Which axes does it have, and where is the "
        "group's?",
    ),
    Misconception(
        "mask rows in another order than the queries'",
        rows(lay=_rows_repeated),
        "A row of the mask is repeated for neighbouring rows, as if the heads of a group changed "
        "faster than the positions. In which order do the queries' rows stand?",
    ),
    Misconception(
        "an epsilon below",
        rows(turn=_with(1e-6)),
        "Something small was added to the sum of the exponentials, so the weights sum to a little "
        "less than 1. Which rows need it, and what else would serve them?",
        also=tuple(rows(turn=_with(small)) for small in (1e-3, 1e-4, 1e-5)),
    ),
)
