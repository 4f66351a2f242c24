"""A cache in blocks: sequences take blocks of one pool as they grow, and may share them.

Source: Kwon et al. 2023, Efficient Memory Management for Large Language Model Serving with
    PagedAttention, sections 4.1, 4.3 and 4.4, https://arxiv.org/abs/2309.06180
Ours / theirs: pool = physical KV blocks;  table = the block table of a sequence
Differs: the sequences of a cache have one length, and those of other lengths are other caches on
    the same pool. Blocks are gathered side by side before they are read; a kernel would read them
    in place.
Same contract as: KVCache
"""

from collections import Counter

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.attention.caches.block_pool import BlockPool
from course_utils.attention.caches.counted import Counted
from course_utils.attention.caches.last_queries import attend_last
from course_utils.validation import (
    check_at_least,
    check_axes,
    check_instance,
    check_integers,
    check_new,
    check_query,
    check_tensor,
)


def paged_gather(
    pool: Float[Tensor, "num_blocks block_size H d"], block_table: Int[Tensor, " n"], length: int
) -> Float[Tensor, "length H d"]:
    """Return the first `length` tokens of the sequence whose blocks the table lists.

    Args:
        pool: The blocks of all sequences.
        block_table: Which blocks hold this sequence, in its order. Entries that `length` does not
            reach are not read.
        length: How many tokens the sequence has.

    Raises:
        ValueError: The table is too short for the length, or it names a block that does not exist.
    """
    check_tensor(pool=pool)
    check_axes("num_blocks block_size H d", pool=pool)
    check_integers("n", block_table=block_table)
    check_at_least(0, length=length)
    used = block_table[: -(-length // pool.shape[1])]
    if length > len(used) * pool.shape[1]:
        raise ValueError(
            f"block_table must reach {length} tokens, got {len(used)} blocks of {pool.shape[1]}"
        )
    outside = used[(used < 0) | (used >= len(pool))]
    if len(outside):
        raise ValueError(
            f"block_table must name blocks from 0 to {len(pool) - 1}, got {outside[0].item()}"
        )
    return pool[used.long()].flatten(0, 1)[:length]


class PagedCache(Counted):
    """Keys and values of one layer, in blocks of a pool.

    Attributes:
        pool: Where the blocks are.
        tables: For each sequence, its blocks in order.
    """

    def __init__(self, pool: BlockPool, batch: int) -> None:
        """Begin `batch` empty sequences, which hold no block yet."""
        check_instance(BlockPool, pool=pool)
        check_at_least(1, batch=batch)
        self.pool = pool
        self.tables: list[list[int]] = [[] for _ in range(batch)]

    @property
    def batch(self) -> int:
        """The number of sequences."""
        return len(self.tables)

    @property
    def num_bytes(self) -> int:
        """The bytes that the blocks of these sequences take, a shared block counted once."""
        held = {block for table in self.tables for block in table}
        return len(held) * (self.pool.key[0].nbytes + self.pool.value[0].nbytes)

    def append(self, key: Float[Tensor, "B H_kv T d"], value: Float[Tensor, "B H_kv T d"]) -> None:
        """Keep the keys and values of T new tokens, in new blocks where the last one is full.

        A last block that is shared is copied before it is written to.

        Raises:
            ValueError: The pool has too few free blocks; nothing changes.
        """
        check_new(self._like(), key, value)
        end = self.length + key.shape[2]
        copies, needed = self._copies(), -(-end // self.pool.block_size) - len(self.tables[0])
        self.pool.check_free(copies + needed * len(self.tables))
        for table in self.tables:
            if self.length % self.pool.block_size:
                table[-1] = self.pool.own(table[-1])
            table += self.pool.take(needed)
        place = torch.arange(self.length, end, device=key.device)
        blocks = torch.tensor(self.tables, device=key.device)[:, place // self.pool.block_size]
        slots = place % self.pool.block_size
        self.pool.key[blocks, slots] = key.detach().transpose(1, 2)
        self.pool.value[blocks, slots] = value.detach().transpose(1, 2)
        self._length = end

    def attend(self, query: Float[Tensor, "B H T d"]) -> Float[Tensor, "B H T d"]:
        """Return causal attention of the queries of the last T tokens to all tokens so far.

        Arguments and errors are as in `KVCache.attend`.
        """
        check_query(query, self._like(), self.length)
        return attend_last(query, *self._held())

    def fork(self, copies: int = 1) -> "PagedCache":
        """Return a cache in which each sequence is repeated `copies` times, on the same blocks.

        Nothing is copied until one of the copies is written to.
        """
        check_at_least(1, copies=copies)
        other = PagedCache(self.pool, len(self.tables) * copies)
        other.tables = [list(table) for table in self.tables for _ in range(copies)]
        other._length = self.length
        for table in other.tables:
            self.pool.share(table)
        return other

    def release(self) -> None:
        """Free all blocks; the sequences are empty again."""
        self.crop(0)

    def _forget(self, length: int) -> None:
        blocks = -(-length // self.pool.block_size)
        for table in self.tables:
            self.pool.release(table[blocks:])
            del table[blocks:]

    def _select(self, rows: Tensor) -> None:
        before, self.tables = self.tables, [list(self.tables[row]) for row in rows.tolist()]
        for table in self.tables:
            self.pool.share(table)
        for table in before:
            self.pool.release(table)

    def _copies(self) -> int:
        """Count the blocks that a write must copy first: of all users, the last one need not."""
        if not self.length % self.pool.block_size:
            return 0
        writers = Counter(table[-1] for table in self.tables)
        return sum(
            count - (self.pool.num_users[block] == count) for block, count in writers.items()
        )

    def _like(self) -> Tensor:
        """A view with the axes (B, H_kv, slots, d_k) of the input."""
        return self.pool.key[:1].transpose(1, 2).expand(len(self.tables), -1, -1, -1)

    def read(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the keys and values held, side by side, and their positions."""
        return *self._held(), torch.arange(self.length, device=self.pool.key.device)

    def _held(self) -> tuple[Tensor, Tensor]:
        device = self.pool.key.device
        blocks = torch.tensor(self.tables, dtype=torch.long, device=device).flatten()
        slots = len(blocks) * self.pool.block_size // len(self.tables)
        shape = (len(self.tables), slots, *self.pool.key.shape[2:])
        key, value = (
            pool.index_select(0, blocks).view(shape)[:, : self.length].transpose(1, 2)
            for pool in (self.pool.key, self.pool.value)
        )
        return key, value
