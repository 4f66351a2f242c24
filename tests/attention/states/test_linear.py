import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import (
    causal_linear_attention,
    linear_attention,
    recurrent_linear_attention,
)
from course_utils.measure import largest_tensor
from tests.support import LEADING, assert_same_function, draw, qkv

CAUSAL = (causal_linear_attention, recurrent_linear_attention)


def in_parallel(query: Tensor, key: Tensor, value: Tensor, causal: bool) -> Tensor:
    """Divide the whole table of weights by its row sums."""
    weights = (F.elu(query) + 1) @ (F.elu(key) + 1).mT
    weights = weights.tril() if causal else weights
    return weights / weights.sum(-1, keepdim=True) @ value


@pytest.mark.thorough
@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("lengths", [(3, 5), (1500, 1030), (1024, 7), (2, 2048)])
def test_pieces_add_up_to_the_table_at_once(leading, lengths) -> None:
    given = qkv(leading, *lengths, 3, 2)
    assert_same_function(linear_attention, lambda *x: in_parallel(*x, False), given)


@pytest.mark.parametrize("attend", CAUSAL)
@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("length", [1, 63, 64, 65, 128, 150])
def test_chunks_recurrence_and_table_agree(attend, leading, length) -> None:
    given = qkv(leading, length, length)
    assert_same_function(attend, lambda *x: in_parallel(*x, True), given)


@pytest.mark.parametrize("attend", [linear_attention, *CAUSAL])
def test_leading_axes_broadcast(attend) -> None:
    query, key, value = draw(2, 1, 70, 4), draw(3, 70, 4), draw(1, 1, 70, 6)
    whole = (x.expand(2, 3, -1, -1) for x in (query, key, value))
    torch.testing.assert_close(attend(query, key, value), attend(*whole))


def test_it_is_exact_for_its_own_kernel_and_far_from_softmax() -> None:
    """A published text calls it an approximation of softmax: it cannot make a sharp row."""
    query, key, _ = qkv((), 40, 64, 16)
    query, key = 4 * query, 4 * key
    own = linear_attention(query, key, torch.eye(64, dtype=torch.float64))
    softmax = (query @ key.T / 4).softmax(-1)
    assert (own - softmax).abs().sum(-1).mean() / 2 > 0.5
    assert own.max(-1).values.mean() < softmax.max(-1).values.mean() / 3


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("attend", [linear_attention, causal_linear_attention])
def test_a_long_sum_keeps_its_digits(attend, dtype) -> None:
    """The mean of 5000 ones is 1, though the dtype cannot count so far."""
    ones = torch.ones(5000, 4, dtype=dtype)
    torch.testing.assert_close(attend(ones, ones, ones), ones)


def test_no_tensor_beside_the_output_grows_with_the_sequence() -> None:
    for attend in (linear_attention, causal_linear_attention):
        query = key = torch.ones(1, 1, 8192, 16)
        value = torch.ones(1, 1, 8192, 1)
        assert largest_tensor(attend, query, key, value) <= max(8192, 1024 * 16)


def test_the_causal_chunks_hold_no_more_than_64_by_64_weights() -> None:
    x = torch.ones(2, 3, 100, 4)
    assert largest_tensor(causal_linear_attention, x, x, x) == 2 * 3 * 64 * 64
