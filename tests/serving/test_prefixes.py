"""Prompts are kept by whole pages, found by their tokens, and dropped only where that frees one."""

import pytest
import torch

from course_utils.attention import BlockPool, PagedCache
from course_utils.serving import Prefixes

PAGE = 4


def read(pool: BlockPool, tokens: list[int]) -> list[PagedCache]:
    """Return a cache of one layer whose keys are the tokens themselves."""
    cache = PagedCache(pool, 1)
    numbers = torch.tensor(tokens, dtype=torch.float64).view(1, 1, -1, 1)
    cache.append(numbers, numbers)
    return [cache]


def held(sequence: list[PagedCache] | None) -> list[float]:
    assert sequence is not None
    (cache,) = sequence
    rows = cache.pool.key[torch.tensor(cache.tables[0])]
    return rows.flatten()[: cache.length].tolist()


@pytest.fixture
def pool() -> BlockPool:
    return BlockPool(12, PAGE, 1, 1, dtype=torch.float64)


@pytest.mark.parametrize(
    ("asked", "length"),
    [
        (list(range(30)), 8),  # of ten tokens read, two pages are whole
        (list(range(9)), 8),
        (list(range(8)), 4),  # the last token has to be read
        ([0, 1, 2, 3, 4, 5, 6, 9, 8], 4),
        ([0, 1, 2, 9, 4], 0),
        ([5], 0),
    ],
)
def test_whole_pages_up_to_the_first_other_token_are_found(
    pool: BlockPool, asked: list[int], length: int
) -> None:
    prefixes = Prefixes(PAGE)
    prefixes.keep(list(range(10)), read(pool, list(range(10))))
    assert prefixes.num_kept(asked) == length
    found = prefixes.find(asked)
    assert (found is None) == (length == 0)
    if found:
        assert held(found) == asked[:length]


def test_a_prompt_is_kept_once_and_a_longer_one_takes_its_place(pool: BlockPool) -> None:
    prefixes, text = Prefixes(PAGE), list(range(12))
    (cache,) = sequence = read(pool, text)
    prefixes.keep(text[:3], sequence)
    assert len(prefixes) == 0
    for length in (4, 8, 8, 12, 5):
        prefixes.keep(text[:length], sequence)
        assert len(prefixes) == 1
    assert prefixes.num_kept([*text, 0]) == 12
    assert [pool.num_users[page] for page in cache.tables[0]] == [2, 2, 2]
    prefixes.clear()
    cache.release()
    assert pool.num_free == 12


def test_only_what_frees_a_page_is_dropped_and_the_longest_unused_first(pool: BlockPool) -> None:
    prefixes = Prefixes(PAGE)
    first, second = [1, 1, 1, 1, 2, 2, 2, 2], [1, 1, 1, 1, 3, 3, 3, 3]
    one, other = read(pool, first), read(pool, second)
    prefixes.keep(first, one)
    prefixes.keep(second, other)
    assert not prefixes.drop()  # both are in use
    one[0].release()
    other[0].release()
    found = prefixes.find([*first, 0])
    assert prefixes.drop()  # the second: the first is in use
    assert held(found) == first
    assert prefixes.num_kept([*second, 0]) == 4
    assert not prefixes.drop()
    assert found is not None
    found[0].release()
    assert prefixes.drop()
    assert (len(prefixes), pool.num_free) == (0, 12)
