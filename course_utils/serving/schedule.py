"""Decide which request reads how many tokens in the next step, and on which pages.

Source: a budget of tokens that pieces of prompts and single tokens share is Agrawal et al. 2024,
    Sarathi-Serve, section 4, https://arxiv.org/abs/2403.02310; pages that are taken back, and
    filled again by reading, are Kwon et al. 2023, PagedAttention, section 4.5,
    https://arxiv.org/abs/2309.06180
Differs: the last to come loses its pages first; nothing is swapped to other memory.
"""

from collections import deque
from collections.abc import Sequence

from course_utils.attention.caches.block_pool import BlockPool
from course_utils.attention.caches.paged import PagedCache
from course_utils.serving.prefixes import Prefixes, common_pages
from course_utils.serving.request import Request


class Schedule:
    """The queue, the running requests, and the pages.

    First come, first served. A request that finds no page makes room: kept prefixes go, then the
    pages of the request admitted last, which goes back to the head of the queue.

    Args:
        pools: The pages of each layer; all layers use equally many.
        prefixes: Keeps prompts for later ones with the same prefix; None keeps none.
    """

    def __init__(self, pools: Sequence[BlockPool], prefixes: Prefixes | None) -> None:
        self.pools, self.prefixes = list(pools), prefixes
        self.waiting: deque[Request] = deque()
        self.running: list[Request] = []  # in order of admission
        self.num_preempted = 0

    def __contains__(self, request: Request) -> bool:
        return request in self.waiting or request in self.running

    @property
    def num_pages(self) -> int:
        """The number of pages of a layer."""
        return len(self.pools[0].num_users)

    def pages_of(self, length: int) -> int:
        """Return how many pages a number of tokens takes."""
        return -(-length // self.pools[0].block_size)

    def plan(self, budget: int) -> dict[Request, int]:
        """Return how many tokens each request reads: first the writing ones, one token each.

        What is left of the budget goes to prompts that are being read, then to new requests, in
        order; the last of them may get a part of what it needs. All have the pages for it.
        """
        plan: dict[Request, int] = {}
        for request in sorted(self.running, key=lambda one: one.num_left > 1):
            count = min(request.num_left, budget - sum(plan.values()))
            if count and request.sequence is not None:  # it may just have lost its pages
                self._make_room(request, count, plan)
        while sum(plan.values()) < budget and self._admit():
            request = self.running[-1]
            count = min(request.num_left, budget - sum(plan.values()))
            self._make_room(request, count, plan)
        return plan

    def keep(self, request: Request) -> None:
        """Remember what was read of its prompt for others with the same prefix."""
        if self.prefixes is not None and request.sequence is not None:
            self.prefixes.keep(request.prompt[: request.length], request.sequence)

    def leave(self, request: Request) -> None:
        """Remove a request, with its pages.

        Raises:
            ValueError: It is neither waiting nor running.
        """
        for place in (self.running, self.waiting):
            if request in place:
                place.remove(request)
                request.release()
                return
        raise ValueError("request must be waiting or running, got one that is neither")

    def _make_room(self, request: Request, count: int, plan: dict[Request, int]) -> None:
        """Plan some tokens of the request, once their pages are free."""
        plan[request] = count
        while sum(map(self._new_pages, plan, plan.values())) > self.pools[0].num_free:
            if self.prefixes is not None and self.prefixes.drop():
                continue
            last = self.running[-1]
            plan.pop(last, None)
            self.leave(last)
            self.waiting.appendleft(last)
            self.num_preempted += 1

    def _new_pages(self, request: Request, count: int) -> int:
        return self.pages_of(request.length + count) - self.pages_of(request.length)

    def _admit(self) -> bool:
        """Admit the head of the queue, if the pages suffice for everything it would read."""
        if not self.waiting:
            return False
        request = self.waiting[0]
        found = self._shared(request)
        if found is None:
            return False
        held = {page for one in self.running for page in _table(one.sequence)} | {*_table(found)}
        owed = sum(self._new_pages(one, one.num_left) for one in self.running)
        owed += self.pages_of(len(request.tokens)) - len(_table(found))
        if len(held) + owed > self.num_pages:
            for layer in found:
                layer.release()
            return False
        request.sequence, request.num_shared = found, found[0].length
        self.running.append(self.waiting.popleft())
        return True

    def _shared(self, request: Request) -> list[PagedCache] | None:
        """Return the caches with which the request begins; None if it is worth waiting for more.

        More is coming while a prompt with the same prefix is being read.
        """
        new = [PagedCache(pool, 1) for pool in self.pools]
        if self.prefixes is None:
            return new
        tokens, size = request.tokens, self.prefixes.page_size
        reading = [one.prompt for one in self.running if one.length < len(one.prompt)]
        soon = max((common_pages(one, tokens[:-1], size) for one in reading), default=0)
        if soon > self.prefixes.num_kept(tokens):
            return None
        return self.prefixes.find(tokens) or new


def _table(sequence: Sequence[PagedCache] | None) -> list[int]:
    """Return a sequence's pages in the first layer."""
    return sequence[0].tables[0] if sequence else []
