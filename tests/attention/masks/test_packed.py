import pytest
import torch
from torch import Tensor

from course_utils.attention import (
    cumulative_lengths,
    document_mask,
    grouped_query_attention,
    packed_attention,
    packed_ids,
    same_document_mask,
)
from course_utils.measure import count_flops, largest_tensor
from tests.support import assert_same_function, draw

H, D_K, D_V = 6, 4, 7
LENGTHS = [[5], [1], [2, 3, 1], [3, 3, 3], [0, 4, 0, 0, 2, 0], [1, 1, 1, 1], [1, 9]]


def inputs(lengths: list[int], kv_heads: int = H) -> tuple[Tensor, Tensor, Tensor]:
    tokens = sum(lengths)
    shapes = ((tokens, H, D_K), (tokens, kv_heads, D_K), (tokens, kv_heads, D_V))
    query, key, value = (draw(*shape, seed=i) for i, shape in enumerate(shapes))
    return query, key, value


@pytest.mark.parametrize("kv_heads", [1, 3, 6])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_is_attention_over_all_tokens_under_a_document_mask(lengths, causal, kv_heads) -> None:
    ids = packed_ids(torch.tensor(lengths)).unsqueeze(0)
    mask = document_mask(ids) if causal else same_document_mask(ids, ids)

    def masked(*given: Tensor) -> Tensor:
        return grouped_query_attention(*(x.transpose(0, 1).unsqueeze(0) for x in given), mask)

    assert_same_function(
        lambda *x: packed_attention(*x, torch.tensor(lengths), causal),
        lambda *x: masked(*x)[0].transpose(0, 1),
        inputs(lengths, kv_heads),
    )


def test_a_document_reads_no_other() -> None:
    lengths = [3, 4, 2]
    query, key, value = inputs(lengths)
    before = packed_attention(query, key, value, torch.tensor(lengths))
    key[3:7] += 100.0
    value[3:7] = torch.nan
    after = packed_attention(query, key, value, torch.tensor(lengths))
    assert torch.equal(before[:3], after[:3])
    assert torch.equal(before[7:], after[7:])


@pytest.mark.parametrize(
    "lengths", [[16] * 8, [512, 100, 1, 0, 37], [1] * 30, [64], [3, 1, 4, 1, 5, 9]], ids=str
)
def test_multiplies_as_many_numbers_as_the_squares_of_the_lengths_sum_to(lengths) -> None:
    given = inputs(lengths)
    squares = sum(length**2 for length in lengths)
    for causal in (False, True):
        counted = count_flops(packed_attention, *given, torch.tensor(lengths), causal)
        assert counted == 2 * squares * H * (D_K + D_V)


@pytest.mark.parametrize("lengths", [[16] * 8, [100, 1, 0, 37], [1] * 30, [64]], ids=str)
def test_nothing_of_all_tokens_squared_is_made(lengths) -> None:
    made = largest_tensor(packed_attention, *inputs(lengths), torch.tensor(lengths))
    assert made <= H * sum(lengths) * max(*lengths, D_K, D_V)


def test_costs_what_padding_costs_where_all_are_equally_long() -> None:
    query, key, value = inputs([16] * 8)
    padded = [x.unflatten(0, (8, 16)).transpose(1, 2) for x in (query, key, value)]
    assert count_flops(packed_attention, query, key, value, torch.tensor([16] * 8)) == count_flops(
        grouped_query_attention, *padded
    )


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_lengths_become_starts_and_numbers(lengths, dtype) -> None:
    given = torch.tensor(lengths, dtype=dtype)
    starts = cumulative_lengths(given)
    assert starts.tolist() == [sum(lengths[:n]) for n in range(len(lengths) + 1)]
    assert starts.dtype == torch.int32
    assert starts.diff().tolist() == lengths
    want = [number for number, length in enumerate(lengths) for _ in range(length)]
    assert packed_ids(given).tolist() == want


def test_no_document_has_no_token() -> None:
    none = torch.zeros(0, dtype=torch.long)
    assert cumulative_lengths(none).tolist() == [0]
    assert packed_ids(none).tolist() == []


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_low_precision_keeps_its_dtype(dtype) -> None:
    given, lengths = inputs([5, 3, 8]), torch.tensor([5, 3, 8])
    got = packed_attention(*(x.to(dtype) for x in given), lengths)
    assert got.dtype == dtype
    error = (got.double() - packed_attention(*given, lengths)).abs().max()
    assert error < 8 * torch.finfo(dtype).eps


Q, V, N = torch.zeros(5, 6, 4), torch.zeros(5, 6, 7), torch.tensor([2, 3])


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ((Q, Q, V, torch.tensor([2, 2])), ValueError, "got 5, 5 and 5 tokens and the sum 4"),
        ((Q, Q, V, torch.tensor([2, 4])), ValueError, "tokens and the sum 6"),
        ((Q[:4], Q, V, N), ValueError, "got 4, 5 and 5 tokens and the sum 5"),
        ((Q, Q, V[:3], N), ValueError, "got 5, 5 and 3 tokens"),
        ((Q[:0], Q[:0], V[:0], N[:0]), ValueError, "at least one, got 0, 0 and 0 tokens"),
        ((Q, Q, V, torch.tensor([6, -1])), ValueError, "lengths must be at least 0, got -1"),
    ],
)
def test_bad_input_is_named(given, kind, message) -> None:
    with pytest.raises(kind, match=message):
        packed_attention(*given)


def test_bad_lengths_are_named() -> None:
    for function in (cumulative_lengths, packed_ids):
        with pytest.raises(ValueError, match="lengths must be at least 0, got -2"):
            function(torch.tensor([1, -2]))
        with pytest.raises(TypeError, match="lengths must hold integers"):
            function(torch.tensor([1.0]))
