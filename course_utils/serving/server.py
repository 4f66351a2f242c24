"""A server: requests join and leave between two steps, and share one call of the model in each.

Source: Yu et al. 2022, Orca: A Distributed Serving System for Transformer-Based Generative Models,
    section 3 (iteration-level scheduling),
    https://www.usenix.org/conference/osdi22/presentation/yu
Same contract as: `generate` with each request alone
"""

from dataclasses import dataclass
from typing import cast

from course_utils.attention.caches.block_pool import BlockPool
from course_utils.models import GPT
from course_utils.models.gpt.layer import GPTLayer
from course_utils.serving.prefixes import Prefixes
from course_utils.serving.ragged import feed
from course_utils.serving.request import Request
from course_utils.serving.schedule import Schedule
from course_utils.validation import check_at_least, check_instance


@dataclass(frozen=True)
class Step:
    """A record of one call of the model.

    Attributes:
        fed: Tokens that were read.
        drawn: Tokens that were written.
        pages: Pages of each layer that were held during it, those of kept prefixes among them.
        running: Requests that took part.
        waiting: Requests that had no pages.
        preempted: Requests that lost theirs to others.
    """

    fed: int
    drawn: int
    pages: int
    running: int
    waiting: int
    preempted: int


class Server:
    """Answers many requests, each as if it were alone.

    Args:
        model: The model that answers.
        num_pages: How many pages each layer has.
        page_size: How many tokens a page holds.
        budget: How many tokens a step may read.
        prefixes: Keeps prompts for later ones with the same prefix; None keeps none.

    Raises:
        ValueError: The model has a window, or the prefixes have other pages.
    """

    def __init__(
        self,
        model: GPT,
        *,
        num_pages: int,
        page_size: int,
        budget: int,
        prefixes: Prefixes | None = None,
    ) -> None:
        check_instance(GPT, model=model)
        check_at_least(1, num_pages=num_pages, page_size=page_size, budget=budget)
        if model.window is not None:
            raise ValueError(f"model must have no window, got one of {model.window}")
        if prefixes is not None:
            check_instance(Prefixes, prefixes=prefixes)
            if prefixes.page_size != page_size:
                raise ValueError(
                    f"prefixes must have pages of {page_size} tokens, got {prefixes.page_size}"
                )
        self.model, self.budget = model, budget
        self.schedule = Schedule(_pools(model, num_pages, page_size), prefixes)

    def submit(self, request: Request) -> None:
        """Put a request at the end of the queue.

        Raises:
            ValueError: It has begun, names a token that the model does not have, or would not fit
                if it were alone.
        """
        check_instance(Request, request=request)
        if request.ended or request.written or request in self.schedule:
            raise ValueError("request must be new, got one that was submitted before")
        known = self.model.token.num_embeddings
        for token in request.prompt:
            if not 0 <= token < known:
                raise ValueError(f"prompt must hold tokens from 0 to {known - 1}, got {token}")
        length = len(request.prompt) + request.num_tokens - 1  # nothing follows the last token
        longest, pages = self.model.longest, self.schedule.pages_of(length)
        if longest is not None and length > longest:
            raise ValueError(f"request must fit in {longest} learned positions, got {length}")
        if pages > self.schedule.num_pages:
            raise ValueError(f"request must fit in {self.schedule.num_pages} pages, got {pages}")
        self.schedule.waiting.append(request)

    def cancel(self, request: Request) -> None:
        """End a request between two steps; it keeps what was written.

        Raises:
            ValueError: It is neither waiting nor running.
        """
        self.schedule.leave(request)

    def run(self) -> list[Step]:
        """Run steps until every request has ended, and return what each step did."""
        steps = []
        while self.schedule.waiting or self.schedule.running:
            steps.append(self.step())
        return steps

    def step(self) -> Step:
        """Call the model once, let those that caught up write, and let those that ended leave.

        Raises:
            ValueError: There is nothing to do.
        """
        before = self.schedule.num_preempted
        plan = self.schedule.plan(self.budget)
        if not plan:
            raise ValueError("a step needs a request that waits or runs, got none")
        pieces = [one.tokens[one.length : one.length + count] for one, count in plan.items()]
        scores = feed(self.model, [one.sequence or [] for one in plan], pieces)
        did = Step(
            fed=sum(plan.values()), drawn=sum(not one.num_left for one in plan),
            pages=self.schedule.num_pages - self.schedule.pools[0].num_free,
            running=len(plan), waiting=len(self.schedule.waiting),
            preempted=self.schedule.num_preempted - before,
        )  # fmt: skip
        for request, row in zip(plan, scores, strict=True):
            self.schedule.keep(request)
            if not request.num_left:
                request.write(row.unsqueeze(0))
            if request.ended:
                self.schedule.leave(request)
        return did


def _pools(model: GPT, num_pages: int, page_size: int) -> list[BlockPool]:
    """Allocate the pages of each layer."""
    parts = [cast(GPTLayer, layer).attention for layer in model.layers]
    weight = model.token.weight
    return [
        BlockPool(
            num_pages, page_size, one.num_kv_heads, one.d_k,
            dtype=weight.dtype, device=weight.device,
        )
        for one in parts
    ]  # fmt: skip
