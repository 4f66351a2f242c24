import pytest
import torch

from course_utils.attention import (
    causal_mask,
    combine_masks,
    document_mask,
    padding_mask,
    query_lengths_mask,
    same_document_mask,
)

IDS = [[[0, 0, 1, 1, 2]], [[7, 7, -1, 7, -1, 3], [5, 5, 5, 5, 5, 5]], [[4], [4], [9]], [[]]]


@pytest.mark.parametrize("ids", IDS, ids=str)
def test_a_query_sees_all_of_its_own_document(ids) -> None:
    given = torch.tensor(ids, dtype=torch.long)
    keys = given.roll(1, -1)[:, 1:] if given.shape[-1] else given
    mask = same_document_mask(given, keys)
    assert mask.shape == (len(ids), 1, given.shape[1], keys.shape[1])
    for b, row in enumerate(ids):
        for i, own in enumerate(row):
            assert mask[b, 0, i].tolist() == [own == other for other in keys[b].tolist()]


@pytest.mark.parametrize("ids", IDS, ids=str)
def test_with_a_causal_mask_it_is_the_document_mask(ids) -> None:
    given = torch.tensor(ids, dtype=torch.long)
    causal = causal_mask(given.shape[1], given.shape[1])
    assert torch.equal(
        combine_masks(same_document_mask(given, given), causal), document_mask(given)
    )


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_each_query_sees_as_many_keys_as_its_length(dtype) -> None:
    lengths = torch.tensor([[4, 0, 2], [5, 1, 5]], dtype=dtype)
    mask = query_lengths_mask(lengths, 5)
    assert mask.shape == (2, 1, 3, 5)
    for b, row in enumerate(lengths.tolist()):
        for i, length in enumerate(row):
            assert mask[b, 0, i].tolist() == [j < length for j in range(5)]


def test_equal_lengths_are_padding_and_rising_ones_are_causal() -> None:
    lengths = torch.tensor([3, 0, 5])
    same = lengths.unsqueeze(-1).expand(-1, 4)
    assert torch.equal(query_lengths_mask(same, 5), padding_mask(lengths, 5).expand(3, 1, 4, 5))
    assert torch.equal(query_lengths_mask(torch.arange(1, 5)[None], 4)[0, 0], causal_mask(4, 4))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: same_document_mask(torch.ones(2, 3).long(), torch.ones(1, 3).long()),
            ValueError,
            "same number of sequences, got 2 and 1",
        ),
        (lambda: query_lengths_mask(torch.tensor([[6]]), 5), ValueError, "num_keys = 5, got 6"),
        (lambda: query_lengths_mask(torch.tensor([[-1]]), 5), ValueError, "between 0 .* got -1"),
    ],
)
def test_bad_input_is_named(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
