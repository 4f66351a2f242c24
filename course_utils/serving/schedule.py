"""Who reads how many tokens in the next step, and on which pages.

Source: a budget of tokens that pieces of prompts and single tokens share is Agrawal et al. 2024,
    Sarathi-Serve, section 4, https://arxiv.org/abs/2403.02310; pages that are taken back, and
    filled again by reading, are Kwon et al. 2023, PagedAttention, section 4.5,
    https://arxiv.org/abs/2309.06180
Differs: whoever came last loses its pages first; nothing is moved to other memory.
"""

from collections import deque
from collections.abc import Sequence

from course_utils.attention.block_pool import BlockPool
from course_utils.attention.paged_cache import PagedCache
from course_utils.serving.prefixes import Prefixes, common_pages
from course_utils.serving.request import Request


class Schedule:
    """The queue, those that have pages, and the pages.

    Those that came first go first. Who finds no page makes room: kept prefixes go, then the pages
    of the request that came in last, which goes back to the head of the queue.

    Args:
        pools: The pages of each layer; all layers take the same numbers of them.
        prefixes: Where prompts are kept for those that begin alike; None keeps none.
    """

    def __init__(self, pools: Sequence[BlockPool], prefixes: Prefixes | None) -> None:
        self.pools, self.prefixes = list(pools), prefixes
        self.waiting: deque[Request] = deque()
        self.running: list[Request] = []  # in the order in which they came in
        self.num_preempted = 0

    def __contains__(self, request: Request) -> bool:
        return request in self.waiting or request in self.running

    @property
    def num_pages(self) -> int:
        """How many pages a layer has."""
        return len(self.pools[0].num_users)

    def pages_of(self, length: int) -> int:
        """Return how many pages so many tokens take."""
        return -(-length // self.pools[0].block_size)

    def plan(self, budget: int) -> dict[Request, int]:
        """Return how many tokens each request reads: first those that write, one each.

        What is left of the budget goes to prompts that are being read, then to new requests, in
        order; the last of them may get a part of what it needs. All have the pages for it.
        """
        plan: dict[Request, int] = {}
        for request in sorted(self.running, key=lambda one: one.num_left > 1):
            count = min(request.num_left, budget - sum(plan.values()))
            if count and request.sequence is not None:  # it may have just lost its pages
                self._make_room(request, count, plan)
        while sum(plan.values()) < budget and self._admit():
            request = self.running[-1]
            count = min(request.num_left, budget - sum(plan.values()))
            self._make_room(request, count, plan)
        return plan

    def keep(self, request: Request) -> None:
        """Remember what was read of its prompt for others that begin alike."""
        if self.prefixes is not None and request.sequence is not None:
            self.prefixes.keep(request.prompt[: request.length], request.sequence)

    def leave(self, request: Request) -> None:
        """Take a request out, with its pages.

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
        """Plan so many tokens of the request, once their pages are free."""
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
        """Let the head of the queue in, if the pages suffice for all that it would read."""
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

        More is coming where a prompt that begins alike is being read.
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
