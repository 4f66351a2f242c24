"""A request to a server: a prompt, how many tokens may follow, and how each is drawn.

Source: Yu et al. 2022, Orca: A Distributed Serving System for Transformer-Based Generative Models,
    section 3, https://www.usenix.org/conference/osdi22/presentation/yu
Differs: a request has no phase. It has tokens that are in the cache and tokens that are not;
    one that has caught up draws the next. So a prompt read in pieces, a step of decoding and a
    request that lost its pages are one case.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.attention.caches.paged import PagedCache
from course_utils.validation import check_at_least, check_callable, check_int, check_ints


def likeliest(logits: Float[Tensor, "1 num_tokens"]) -> Int[Tensor, " 1"]:
    """Return the likeliest token, the first of equal ones."""
    return logits.argmax(dim=-1)


@dataclass(eq=False)
class Request:
    """A request, and how far it has come.

    Attributes:
        prompt: The tokens to follow.
        num_tokens: How many to write at most.
        draw: Chooses a token from a row of logits, with its own generator if it is random.
        stop: A token that ends the answer, and belongs to it, or None.
        written: The answer so far.
        sequence: The cache of each layer; None while the request waits.
        num_shared: How many tokens of the prompt it did not have to read on admission.
        error: What ended it early, or None.
    """

    prompt: Sequence[int]
    num_tokens: int
    draw: Callable[[Tensor], Tensor] = likeliest
    stop: int | None = None
    written: list[int] = field(default_factory=list, init=False)
    sequence: list[PagedCache] | None = field(default=None, init=False, repr=False)
    num_shared: int = field(default=0, init=False)
    error: Exception | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        check_ints(prompt=self.prompt)
        if not len(self.prompt):
            raise ValueError("prompt must hold at least one token, got none")
        check_at_least(1, num_tokens=self.num_tokens)
        check_callable(draw=self.draw)
        if self.stop is not None:
            check_int(stop=self.stop)

    @property
    def tokens(self) -> list[int]:
        """The prompt and the answer so far."""
        return [*self.prompt, *self.written]

    @property
    def length(self) -> int:
        """The number of its tokens that are in the cache."""
        return 0 if self.sequence is None else self.sequence[0].length

    @property
    def num_left(self) -> int:
        """The number of its tokens that are not in the cache; one, while it writes."""
        return len(self.prompt) + len(self.written) - self.length

    @property
    def ended(self) -> bool:
        """True if nothing more will be written."""
        stopped = bool(self.written) and self.written[-1] == self.stop
        return stopped or len(self.written) >= self.num_tokens or self.error is not None

    def write(self, logits: Float[Tensor, "1 num_tokens"]) -> None:
        """Draw the next token; what `draw` raises ends this request, and is kept."""
        try:
            self.written.append(int(torch.as_tensor(self.draw(logits)).item()))
        except Exception as error:  # one user's own function must not end the others
            self.error = error

    def release(self) -> None:
        """Free all pages; what was written stays."""
        for layer in self.sequence or []:
            layer.release()
        self.sequence = None
