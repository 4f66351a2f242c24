"""What goes wrong in the tiled backward pass: the wrong tensor, or the rows of another block."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch09_flash._walking_back import build, row_sums


def _grad_of_weights_from_out(*args: Any) -> Any:
    out, grad = args[3], args[5]
    inner = build(delta=lambda g, o: row_sums(grad, out))(*args[:5], out, *args[6:])
    return *inner[:2], build()(*args)[2]


def _grad_of_weights_from_key(*args: Any) -> Any:
    query, key, *_ = args
    return *build()(query, key, key, *args[3:])[:2], build()(*args)[2]


def _value_from_out(*args: Any) -> Any:
    return *build()(*args)[:2], build()(*args[:5], args[3], *args[6:])[2]


def _value_from_scores(*args: Any) -> Any:
    dv = build(for_value=lambda weights, ds: ds)(*args)[2]
    return *build()(*args)[:2], dv * args[0].shape[-1] ** 0.5


def _key_from_weights(*args: Any) -> Any:
    dq, _, dv = build()(*args)
    return dq, build(through=lambda weights, grad, delta: weights)(*args)[1], dv


def _first_rows(rows: Tensor, block: int) -> Tensor:
    """Give every block the numbers of the first."""
    return torch.cat([rows[:, :, : part.shape[2]] for part in rows.split(block, dim=2)], dim=2)


def _first_lse(*args: Any) -> Any:
    return build()(*args[:4], _first_rows(args[4], args[6]), *args[5:])


def _first_delta(*args: Any) -> Any:
    return build(delta=lambda grad, out: _first_rows(row_sums(grad, out), args[6]))(*args)


TENSORS = (
    Misconception(
        "another tensor in a product",
        _grad_of_weights_from_out,
        "One of the products holds a tensor that does not belong there. For each of them, ask what "
        "was multiplied on the way there: the other factor meets the gradient on the way back.",
        also=(
            _grad_of_weights_from_key,
            _value_from_out,
            _value_from_scores,
            _key_from_weights,
        ),
    ),
    Misconception(
        "the first block's lse or D",
        _first_lse,
        "Every block of queries met the lse, or the D, of the first block. Which rows of them "
        "belong to this block?",
        also=(_first_delta,),
    ),
)
