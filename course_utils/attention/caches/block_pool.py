"""Memory in blocks of equal size, allocated to sequences as they grow, and freed.

Source: Kwon et al. 2023, Efficient Memory Management for Large Language Model Serving with
    PagedAttention, sections 4.2 and 4.3, https://arxiv.org/abs/2309.06180
Ours / theirs: pool = physical KV blocks;  num_users = the reference count of a block
"""

from collections import Counter

import torch

from course_utils.validation import check_at_least, check_instance, check_int, check_storage


class BlockPool:
    """Blocks of slots for keys and values, allocated and freed.

    Attributes:
        key: (num_blocks, block_size, H_kv, d_k).
        value: The same.
        num_users: How many sequences hold each block.
    """

    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        num_kv_heads: int,
        d_k: int,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> None:
        """Allocate the memory of all blocks."""
        check_at_least(1, num_blocks=num_blocks, block_size=block_size)
        check_at_least(1, num_kv_heads=num_kv_heads, d_k=d_k)
        check_storage(dtype, device)
        shape = (num_blocks, block_size, num_kv_heads, d_k)
        self.key = torch.zeros(shape, dtype=dtype, device=device)
        self.value = torch.zeros(shape, dtype=dtype, device=device)
        self.num_users = [0] * num_blocks
        self._free = list(range(num_blocks))[::-1]

    @property
    def block_size(self) -> int:
        """The number of tokens that a block holds."""
        return self.key.shape[1]

    @property
    def num_free(self) -> int:
        """The number of free blocks."""
        return len(self._free)

    def check_free(self, count: int) -> None:
        """Raise unless `count` blocks are free.

        Raises:
            ValueError: Fewer blocks are free.
        """
        check_at_least(0, count=count)
        if count > len(self._free):
            raise ValueError(f"the pool must have {count} free blocks, got {len(self._free)}")

    def own(self, block: int) -> int:
        """Return a block with the same contents that nobody else holds: itself, or a copy.

        Raises:
            ValueError: Nobody holds such a block, or no other is free for a copy.
        """
        self._check_held([block])
        if self.num_users[block] == 1:
            return block
        (copy,) = self.take(1)
        self.key[copy], self.value[copy] = self.key[block], self.value[block]
        self.release([block])
        return copy

    def take(self, count: int) -> list[int]:
        """Allocate `count` free blocks.

        Raises:
            ValueError: There are fewer; then none is allocated.
        """
        self.check_free(count)
        blocks = [self._free.pop() for _ in range(count)]
        for block in blocks:
            self.num_users[block] = 1
        return blocks

    def share(self, blocks: list[int]) -> None:
        """Count one more user for each of these blocks.

        Raises:
            ValueError: Nobody holds such a block; then none is counted.
        """
        self._check_held(blocks)
        for block in blocks:
            self.num_users[block] += 1

    def release(self, blocks: list[int]) -> None:
        """Count one user less; a block without users is free again.

        Raises:
            ValueError: Fewer users hold a block; then none is counted.
        """
        self._check_held(blocks)
        for block, count in Counter(blocks).items():
            if count > self.num_users[block]:
                raise ValueError(
                    f"block {block} must have {count} users to lose, got {self.num_users[block]}"
                )
        for block in blocks:
            self.num_users[block] -= 1
            if not self.num_users[block]:
                self._free.append(block)

    def _check_held(self, blocks: list[int]) -> None:
        check_instance(list, blocks=blocks)
        for block in blocks:
            check_int(block=block)
            if not 0 <= block < len(self.num_users) or not self.num_users[block]:
                raise ValueError(f"a block must be one that is held, got {block}")
