"""Each sentence about tensors, and what passes; that a caller checks at all is for the laws."""

from collections.abc import Callable

import pytest
import torch
from torch import Size, Tensor

from course_utils import validation as v


def x(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.zeros(shape, dtype=dtype)


LONG, BOOL, DOUBLE, COMPLEX = torch.int64, torch.bool, torch.float64, torch.complex64
Q, K, V = x(2, 3, 4), x(2, 5, 4), x(2, 5, 6)
LIKE = x(2, 3, 8, 4)  # a cache of 3 heads
REFUSED: list[tuple[Callable[[], None], type[Exception], str]] = [
    (lambda: v.check_storage("float32", None), TypeError, "floating torch.dtype, got float32"),
    (lambda: v.check_storage(LONG, None), TypeError,
     "must be a floating torch.dtype, got torch.int"),
    (lambda: v.check_storage(DOUBLE, "gpu"), ValueError,
     "device must be one that torch knows, got"),
    (lambda: v.check_storage(DOUBLE, 1.5), ValueError, "must be one that torch knows, got 1.5"),
    (lambda: v.check_tensor(q=Q, k=[1.0]), TypeError, "k must be a torch.Tensor, got list"),
    (lambda: v.check_axes("L d", q=Q), ValueError, "q must have the axes (L, d), got (2, 3, 4)"),
    (lambda: v.check_axes("L", q=x()), ValueError, "q must have the axes (L,), got ()"),
    (lambda: v.check_axes("... L d", q=x(3)), ValueError, "have the axes (..., L, d), got (3,)"),
    (lambda: v.check_float(q=x(2, dtype=LONG)), TypeError,
     "q must have a floating dtype, got torch.int64"),
    (lambda: v.check_float("L", q=Q), ValueError, "q must have the axes (L,), got (2, 3, 4)"),
    (lambda: v.check_float(q=None), TypeError, "q must be a torch.Tensor, got NoneType"),
    (lambda: v.check_integers(q=Q), TypeError, "q must hold integers, got dtype torch.float32"),
    (lambda: v.check_integers(q=x(2, dtype=BOOL)), TypeError,
     "hold integers, got dtype torch.bool"),
    (lambda: v.check_integers(q=x(2, dtype=COMPLEX)), TypeError,
     "hold integers, got dtype torch.com"),
    (lambda: v.check_integers("L", q=x(2, 3, dtype=LONG)), ValueError, "q must have the axes (L,)"),
    (lambda: v.check_shape((2, 3), q=Q), ValueError, "q must have the shape (2, 3), got (2, 3, 4)"),
    (lambda: v.check_real(q=x(2, dtype=BOOL)), TypeError, "q must hold real numbers, got dtype"),
    (lambda: v.check_real(q=x(2, dtype=COMPLEX)), TypeError, "q must hold real numbers, got dtype"),
    (lambda: v.check_boolean(m=Q), TypeError,
     "m must be boolean (True = may attend), got dtype torch.float32"),
    (lambda: v.check_boolean("real", m=Q), TypeError, "m must be boolean (True = real), got dtype"),
    (lambda: v.check_boolean(m=True), TypeError, "m must be a torch.Tensor, got bool"),
    (lambda: v.check_same_dtype(q=Q, k=K.double()), TypeError,
     "all must have the same dtype, got q torch.float32, k torch.float64"),
    (lambda: v.check_same_dtype("L", q=Q), ValueError, "q must have the axes (L,)"),
    (lambda: v.check_leading(q=Q, k=x(3, 5, 4)), ValueError,
     "leading axes must broadcast against each other, got q (2, 3, 4), k (3, 5, 4)"),
    (lambda: v.check_matrix("W", x(4), rows=4, of="x"), ValueError,
     "W must have the shape (4, any), a row for each feature of x, got (4,)"),
    (lambda: v.check_matrix("W", x(3, 2), rows=4, of="x"), ValueError,
     "W must have the shape (4, any)"),
    (lambda: v.check_matrix("W", x(4, 2), rows=4, columns=3, of="x"), ValueError,
     "W must have the shape (4, 3), a row for each feature of x, got (4, 2)"),
    (lambda: v.check_matrix("W", x(4, 2, dtype=LONG), rows=4, of="x"), TypeError,
     "W must have a floating dtype"),
    (lambda: v.check_fed(x(6, 4), s=x(2, 3, 5)), ValueError,
     "s must be 4 wide, got shape (2, 3, 5)"),
    (lambda: v.check_fed(x(6, 4), s=Q.double()), TypeError,
     "s must have the module's dtype torch.float32, got torch.float64"),
    (lambda: v.check_fed(x(6, 4), s=Q[0]), ValueError, "s must have the axes (B, length, width)"),
    (lambda: v.check_positions(Q, p=x(4)), ValueError,
     "p must have the shape (3,) or (2, 3), got (4,)"),
    (lambda: v.check_positions(Q[0], p=x(2, 3)), ValueError,
     "p must have the shape (3,), got (2, 3)"),
    (lambda: v.check_positions(Q, p=x(3, dtype=BOOL)), TypeError, "p must hold real numbers"),
    (lambda: v.check_query_key(Q, K[..., :3]), ValueError,
     "query and key must have the same width in their last axis, at least 1, got 4 and 3"),
    (lambda: v.check_query_key(Q[..., :0], K[..., :0]), ValueError, "at least 1, got 0 and 0"),
    (lambda: v.check_query_key(Q, x(3, 5, 4)), ValueError, "got query (2, 3, 4), key (3, 5, 4)"),
    (lambda: v.check_query_key(Q, K[0, 0]), ValueError,
     "key must have the axes (..., length, width), got (4,)"),
    (lambda: v.check_query_key(Q, K.double()), TypeError,
     "got query torch.float32, key torch.float64"),
    (lambda: v.check_query_key_value(Q, K, V[:, :3]), ValueError,
     "key and value must have the same number of keys, got 5 and 3"),
    (lambda: v.check_query_key_value(Q, K, x(3, 5, 6)), ValueError, "leading axes must broadcast"),
    (lambda: v.check_query_key_value(Q, K[..., :3], V), ValueError, "got 4 and 3"),
    (lambda: v.check_query_key_value(Q, K, V.long()), TypeError,
     "value must have a floating dtype"),
    (lambda: v.check_same_length(Q, K, V), ValueError,
     "query and key must have the same length, each query stands at its own key, got 3 and 5"),
    (lambda: v.check_same_length(Q, K, V[:, :3]), ValueError,
     "the same number of keys, got 5 and 3"),
    (lambda: v.check_grouped(x(2, 6, 3, 4), x(1, 3, 5, 4), x(2, 3, 5, 4)), ValueError,
     "the same number of sequences, got 2, 1 and 2"),
    (lambda: v.check_grouped(x(2, 6, 3, 4), x(2, 3, 5, 4), x(2, 2, 5, 4)), ValueError,
     "same number of heads and of keys, got (3, 5) and (2, 5)"),
    (lambda: v.check_grouped(x(2, 6, 3, 4), x(2, 3, 5, 4), x(2, 3, 4, 4)), ValueError,
     "got (3, 5) and (3, 4)"),
    (lambda: v.check_grouped(x(2, 6, 3, 4), x(2, 4, 5, 4), x(2, 4, 5, 4)), ValueError,
     "must divide the query heads, got 4 for 6"),
    (lambda: v.check_grouped(x(2, 6, 3, 4), x(2, 3, 5, 3), x(2, 3, 5, 4)), ValueError,
     "got 4 and 3"),
    (lambda: v.check_grouped(Q, K, V), ValueError,
     "query must have the axes (B, heads, length, width)"),
    (lambda: v.check_head_groups(0, 1), ValueError, "must divide the query heads, got 1 for 0"),
    (lambda: v.check_head_groups(4, 0), ValueError, "must divide the query heads, got 0 for 4"),
    (lambda: v.check_mask(x(3, 5), Size((2, 3, 5))), TypeError, "attn_mask must be boolean"),
    (lambda: v.check_mask(x(4, 5, dtype=BOOL), Size((2, 3, 5))), ValueError,
     "attn_mask must broadcast to the scores' shape (2, 3, 5), got (4, 5)"),
    (lambda: v.check_mask(x(7, 2, 3, 5, dtype=BOOL), Size((2, 3, 5))), ValueError,
     "got (7, 2, 3, 5)"),
    (lambda: v.check_new(LIKE, x(2, 3, 2, 4), x(2, 3, 1, 4)), ValueError,
     "key and value must have the same number of tokens, at least one, got 2 and 1"),
    (lambda: v.check_new(LIKE, x(2, 3, 0, 4), x(2, 3, 0, 4)), ValueError,
     "at least one, got 0 and 0"),
    (lambda: v.check_new(LIKE, x(2, 6, 2, 4), x(2, 3, 2, 4)), ValueError,
     "key must have the shape (2, 3, T, 4) of the cache, got (2, 6, 2, 4)"),
    (lambda: v.check_new(LIKE, x(2, 3, 2, 4), x(1, 3, 2, 4)), ValueError,
     "value must have the shape (2, 3, T, 4)"),
    (lambda: v.check_new(LIKE, LIKE.double(), LIKE), TypeError,
     "key must have the cache's dtype torch.float32, got torch.float64"),
    (lambda: v.check_new(LIKE, LIKE, 3), TypeError, "value must be a torch.Tensor, got int"),
    (lambda: v.check_room(6, 3, 8), ValueError,
     "the cache has room for 8 tokens, got 3 more after 6"),
    (lambda: v.check_query(x(2, 6, 4, 4), LIKE, 3), ValueError,
     "query must have from 1 to 3 tokens, got 4"),
    (lambda: v.check_query(x(2, 6, 0, 4), LIKE, 3), ValueError,
     "query must have from 1 to 3 tokens, got 0"),
    (lambda: v.check_query(x(2, 4, 1, 4), LIKE, 3), ValueError, "query heads, got 3 for 4"),
    (lambda: v.check_query(x(2, 6, 1, 5), LIKE, 3), ValueError,
     "query must have the shape (2, H, T, 4) of the cache, got (2, 6, 1, 5)"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "says"), REFUSED, ids=[says for *_, says in REFUSED])
def test_what_must_hold_is_said(call, error, says) -> None:
    with pytest.raises(error) as raised:
        call()
    assert says in str(raised.value)


def test_what_holds_passes() -> None:
    v.check_storage(torch.float16, "cpu")
    v.check_axes("... L d", q=Q, k=Q[0])
    v.check_integers("L", q=x(3, dtype=torch.int32))
    v.check_real(q=x(3, dtype=LONG), k=Q)
    v.check_leading(q=Q, k=x(5, 4), v=x(7, 1, 5, 6))
    v.check_matrix("W", x(4, 2), rows=4, of="x")
    v.check_positions(Q, p=x(3), other=x(2, 3, dtype=LONG))
    v.check_query_key_value(Q, K, V)
    v.check_grouped(x(2, 6, 3, 4), x(2, 3, 5, 4), x(2, 3, 5, 7))
    for shape in ((3, 5), (1, 5), (5,), (2, 1, 1), (2, 3, 5)):
        v.check_mask(x(*shape, dtype=BOOL), Size((2, 3, 5)))
    v.check_new(LIKE, x(2, 3, 2, 4), x(2, 3, 2, 4))
    v.check_room(6, 2, 8)
    v.check_query(x(2, 6, 3, 4), LIKE, 3)


def test_autocast_mixes_dtypes_on_purpose() -> None:
    with torch.autocast("cpu"):
        v.check_same_dtype(q=Q, k=K.bfloat16())
        v.check_fed(x(6, 4), s=Q.bfloat16())


@pytest.mark.parametrize("shapes", [[(2, 3), (3,)], [(2, 1), (1, 3), ()], [(0, 1), (1,)]])
def test_shapes_broadcast_as_torch_s_do(shapes) -> None:
    assert v.broadcast_shape(*map(Size, shapes)) == torch.broadcast_shapes(*shapes)


def test_shapes_that_do_not_broadcast_give_none() -> None:
    assert v.broadcast_shape(Size((2, 3)), Size((4, 3))) is None
