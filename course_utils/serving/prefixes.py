"""Prompts with a common prefix share its pages.

Source: Zheng et al. 2024, SGLang: Efficient Execution of Structured Language Model Programs,
    section 3 (RadixAttention), https://arxiv.org/abs/2312.07104; pages are shared as in Kwon et al.
    2023, PagedAttention, section 4.4, https://arxiv.org/abs/2309.06180
Differs: whole pages only, as vLLM does it; a list of prompts, where SGLang has a tree of them.
"""

from collections.abc import Sequence
from itertools import takewhile

from course_utils.attention.caches.paged import PagedCache
from course_utils.validation import check_at_least


class Prefixes:
    """Whole pages of prompts that were read, looked up by their tokens.

    Args:
        page_size: How many tokens a page holds.
    """

    def __init__(self, page_size: int) -> None:
        check_at_least(1, page_size=page_size)
        self.page_size = page_size
        self._kept: dict[tuple[int, ...], list[PagedCache]] = {}  # the last used at the end

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, tokens: Sequence[int], sequence: Sequence[PagedCache]) -> None:
        """Keep the whole pages of these tokens, which are the first of the sequence."""
        whole = len(tokens) - len(tokens) % self.page_size
        name = tuple(tokens[:whole])
        if self._common(name)[1] == whole:
            return
        for shorter in [one for one in self._kept if one == name[: len(one)]]:
            _release(self._kept.pop(shorter))
        self._kept[name] = _cut(sequence, whole)

    def find(self, tokens: Sequence[int]) -> list[PagedCache] | None:
        """Return caches that hold as many whole pages of these tokens as are kept, or None.

        The last token is never among them: it must be read for the scores of the next one.
        """
        name, length = self._common(tuple(tokens[:-1]))
        if not length:
            return None
        self._kept[name] = self._kept.pop(name)
        return _cut(self._kept[name], length)

    def num_kept(self, tokens: Sequence[int]) -> int:
        """Return how many tokens `find` would find."""
        return self._common(tuple(tokens[:-1]))[1]

    def drop(self) -> bool:
        """Evict the least recently used of the prompts whose eviction frees a page, if any."""
        for name, (first, *_) in self._kept.items():
            if any(first.pool.num_users[page] == 1 for page in first.tables[0]):
                _release(self._kept.pop(name))
                return True
        return False

    def clear(self) -> None:
        """Evict all prompts."""
        while self._kept:
            _release(self._kept.popitem()[1])

    def _common(self, tokens: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
        """Return the kept prompt with the longest common prefix, and the prefix's length."""
        lengths = {name: common_pages(name, tokens, self.page_size) for name in self._kept}
        best = max(lengths, key=lengths.__getitem__, default=())
        return best, lengths.get(best, 0)


def common_pages(one: Sequence[int], other: Sequence[int], page_size: int) -> int:
    """Return how many tokens are in the whole pages that both begin with."""
    pairs = zip(one, other, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return same - same % page_size


def _cut(sequence: Sequence[PagedCache], length: int) -> list[PagedCache]:
    """Return caches on the same pages that end earlier."""
    made = [layer.fork() for layer in sequence]
    for layer in made:
        layer.crop(length)
    return made


def _release(sequence: Sequence[PagedCache]) -> None:
    for layer in sequence:
        layer.release()
