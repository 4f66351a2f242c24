import pytest
import torch
from torch import Tensor

from course_utils.attention import (
    causal_mask,
    combine_masks,
    document_mask,
    padding_mask,
    prefix_mask,
)


@pytest.mark.parametrize("length", [0, 1, 2, 6])
def test_everyone_reads_the_prefix_and_the_rest_causally(length) -> None:
    for prefix in range(length + 1):
        rows = [[j < prefix or j <= i for j in range(length)] for i in range(length)]
        want = torch.tensor(rows, dtype=torch.bool).reshape(length, length)
        assert torch.equal(prefix_mask(length, prefix), want)


def test_no_prefix_is_causal_and_nothing_but_prefix_hides_nothing() -> None:
    assert torch.equal(prefix_mask(5, 0), causal_mask(5, 5))
    assert prefix_mask(5, 5).all()


@pytest.mark.parametrize(
    "ids",
    [
        [[0, 0, 1, 1, 2]],
        [[7, 7, -1, 7, -1, 3], [5, 5, 5, 5, 5, 5]],
        [[0, 0, 2**53, 2**53 + 1]],
        [[4], [4], [9]],
    ],
)
def test_a_query_sees_its_own_document_s_past_wherever_it_stands(ids) -> None:
    mask = document_mask(torch.tensor(ids))
    assert mask.shape == (len(ids), 1, len(ids[0]), len(ids[0]))
    for b, row in enumerate(ids):
        for i, own in enumerate(row):
            seen = [own == other and j <= i for j, other in enumerate(row)]
            assert mask[b, 0, i].tolist() == seen


def test_masks_combine_by_and_and_broadcast() -> None:
    lengths = torch.tensor([2, 0, 4])
    mask = combine_masks(causal_mask(5, 4, 1), padding_mask(lengths, 4))
    assert mask.shape == (3, 1, 5, 4)
    for b, length in enumerate(lengths.tolist()):
        for i in range(5):
            assert mask[b, 0, i].tolist() == [j <= i + 1 and j < length for j in range(4)]


def test_one_mask_combines_to_itself_and_three_do_in_any_order() -> None:
    ids = torch.tensor([[1, 1, 2, 2]])
    parts: list[Tensor] = [causal_mask(4, 4), document_mask(ids), padding_mask(ids[:, 2], 4)]
    assert torch.equal(combine_masks(parts[0]), parts[0])
    assert torch.equal(combine_masks(*parts), combine_masks(*reversed(parts)))


MASK = torch.ones(3, 4, dtype=torch.bool)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: prefix_mask(3, 4), ValueError, "at most num_positions = 3, got 4"),
        (combine_masks, ValueError, "at least one mask, got none"),
        (
            lambda: combine_masks(MASK, MASK.mT),
            ValueError,
            r"masks must broadcast against each other, got \(3, 4\), \(4, 3\)",
        ),
    ],
)
def test_bad_input_is_named(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
