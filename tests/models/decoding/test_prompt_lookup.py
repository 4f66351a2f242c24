"""Test the lookup of drafts against a search of every place."""

import pytest
import torch

from course_utils.models import prompt_lookup


def _search(tokens: list[int], shortest: int, longest: int, num_draft: int) -> list[int]:
    for n in range(longest, shortest - 1, -1):
        for start in range(len(tokens) - n):
            if tokens[start : start + n] == tokens[len(tokens) - n :]:
                return tokens[start + n : start + n + num_draft]
    return []


@pytest.mark.parametrize("shortest", [1, 2, 4])
@pytest.mark.parametrize("longest", [4, 9])
@pytest.mark.parametrize("num_draft", [0, 1, 5])
def test_it_finds_the_earliest_place_of_the_longest_match(shortest, longest, num_draft) -> None:
    g = torch.Generator().manual_seed(0)
    for _ in range(50):
        length = int(torch.randint(1, 14, (), generator=g))
        tokens = torch.randint(0, 3, (length,), generator=g)
        want = _search(tokens.tolist(), shortest, longest, num_draft)
        assert prompt_lookup(tokens, shortest, longest, num_draft) == want


def test_a_match_may_overlap_the_last_tokens() -> None:
    assert prompt_lookup(torch.tensor([7, 7, 7]), 1, 2, 9) == [7]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((torch.tensor([], dtype=torch.long), 1, 2, 3), "tokens must hold one token at least"),
        ((torch.tensor([1]), 3, 2, 1), "longest must be at least 3, got 2"),
    ],
)
def test_what_cannot_be_looked_up_is_refused(given, says) -> None:
    with pytest.raises(ValueError, match=says):
        prompt_lookup(*given)
