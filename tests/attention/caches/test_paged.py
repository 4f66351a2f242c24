import pytest
import torch

from course_utils.attention import BlockPool, PagedCache, paged_gather
from tests.attention.caches.support import H_KV, D, new_cache, qkv, read, same, state, without_cache

POOL = (7, 4, 3, 5)


def pool_of(num_blocks: int = 12, block_size: int = 4) -> BlockPool:
    return BlockPool(num_blocks, block_size, H_KV, D, dtype=torch.float64)


def test_gradients_reach_the_blocks_that_are_read() -> None:
    pool = torch.randn(POOL, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(paged_gather(pool, torch.tensor([2, 5, 2]), 10).sum(), pool)
    assert slope.sum((1, 2, 3)).tolist() == [0, 0, 6 * 15, 0, 0, 4 * 15, 0]


@pytest.mark.parametrize(
    ("table", "length", "error", "message"),
    [
        ([1, 2], 9, ValueError, "block_table must reach 9 tokens, got 2 blocks of 4"),
        ([1, -1], 5, ValueError, "must name blocks from 0 to 6, got -1"),
        ([1, 7], 5, ValueError, "must name blocks from 0 to 6, got 7"),
    ],
)
def test_tables_that_do_not_fit_are_refused(table, length, error, message) -> None:
    with pytest.raises(error, match=message):
        paged_gather(torch.zeros(POOL), torch.tensor(table), length)


def test_blocks_are_taken_when_they_are_needed_and_not_before() -> None:
    cache, (_, key, value) = PagedCache(pool_of(), 2), qkv()
    held = []
    for i in range(9):
        cache.append(key[:, :, i : i + 1], value[:, :, i : i + 1])
        held.append(12 - cache.pool.num_free)
    assert held == [2, 2, 2, 2, 4, 4, 4, 4, 6]
    assert cache.num_bytes == 6 * 2 * 4 * H_KV * D * 8


def test_a_fork_shares_every_block_of_the_prompt_and_copies_none() -> None:
    _, key, value = qkv()
    prompt = PagedCache(pool_of(), 1)
    prompt.append(key[:1, :, :10], value[:1, :, :10])
    free, blocks = prompt.pool.num_free, list(prompt.tables[0])
    fork = prompt.fork(copies=4)
    assert prompt.pool.num_free == free
    assert fork.tables == [blocks] * 4
    assert [prompt.pool.num_users[block] for block in blocks] == [5, 5, 5]
    assert fork.num_bytes == prompt.num_bytes
    assert fork.length == 10


def test_a_sharer_that_writes_copies_the_last_block_and_only_that() -> None:
    _, key, value = qkv()
    prompt = PagedCache(pool_of(), 1)
    prompt.append(key[:1, :, :10], value[:1, :, :10])
    fork = prompt.fork(copies=2)
    fork.append(key[:, :, 10:11], value[:, :, 10:11])
    first, second = fork.tables
    assert first[:2] == second[:2] == prompt.tables[0][:2]
    assert len({first[2], second[2], prompt.tables[0][2]}) == 3
    assert 12 - prompt.pool.num_free == 5
    prompt.append(key[:1, :, 11:12], value[:1, :, 11:12])  # nobody shares its last block now
    assert 12 - prompt.pool.num_free == 5


def test_the_last_of_all_sharers_keeps_the_block() -> None:
    _, key, value = qkv()
    prompt = PagedCache(pool_of(), 1)
    prompt.append(key[:1, :, :6], value[:1, :, :6])
    fork = prompt.fork(copies=2)
    prompt.release()
    fork.append(key[:, :, 6:7], value[:, :, 6:7])
    assert 12 - fork.pool.num_free == 3  # one of two shared blocks, and two of their own


def test_forks_go_on_as_if_each_had_read_the_prompt_by_itself() -> None:
    query, key, value = qkv()
    prompt = PagedCache(pool_of(20), 1)
    start = slice(0, 10)
    prompt.append(key[:1, :, start], value[:1, :, start])
    fork = prompt.fork(copies=2)
    own_key, own_value = key.clone(), value.clone()
    own_key[1, :, start], own_value[1, :, start] = key[0, :, start], value[0, :, start]
    want = without_cache("paged", query, own_key, own_value)
    rest = [x[:, :, 10:] for x in (query, own_key, own_value)]
    torch.testing.assert_close(read(fork, (1, 5, 1, 6), *rest), want[:, :, 10:])
    prompt.append(key[:1, :, 10:], value[:1, :, 10:])  # the prompt itself is not disturbed
    got = prompt.attend(query[:1])
    torch.testing.assert_close(got, without_cache("paged", query, key, value)[:1])


def test_a_write_that_needs_more_copies_than_there_are_blocks_changes_nothing() -> None:
    _, key, value = qkv()
    prompt = PagedCache(pool_of(4), 1)
    prompt.append(key[:1, :, :6], value[:1, :, :6])
    fork = prompt.fork(copies=3)
    before = state(fork)
    many = [x[:1, :, 6:7].expand(3, -1, -1, -1) for x in (key, value)]
    with pytest.raises(ValueError, match="the pool must have 3 free blocks, got 2"):
        fork.append(*many)
    assert same(state(fork), before)


def test_released_blocks_serve_the_next_text() -> None:
    query, key, value = qkv(length=16)
    cache = PagedCache(pool_of(8), 2)
    cache.append(key, value)
    assert cache.pool.num_free == 0
    cache.release()
    assert (cache.length, cache.pool.num_free, cache.num_bytes) == (0, 8, 0)
    got = read(cache, (3, 13), query, key, value)
    torch.testing.assert_close(got, without_cache("paged", query, key, value))


def test_a_block_is_free_only_when_its_last_user_left() -> None:
    pool = pool_of(3)
    blocks = pool.take(2)
    pool.share(blocks[:1])
    pool.release(blocks)
    assert pool.num_free == 2
    pool.release(blocks[:1])
    assert pool.num_free == 3


def test_more_blocks_than_there_are_cannot_be_taken() -> None:
    pool = pool_of(3)
    with pytest.raises(ValueError, match="the pool must have 4 free blocks, got 3"):
        pool.take(4)
    with pytest.raises(ValueError, match="count must be at least 0"):
        pool.take(-1)
    assert pool.num_free == 3


@pytest.mark.parametrize("copies", [0, -1])
def test_a_fork_has_at_least_one_copy(copies) -> None:
    cache = new_cache("paged")
    with pytest.raises(ValueError, match="copies must be at least 1"):
        cache.fork(copies)
