"""Mistakes in how the parts of a layer are wired, and parts for trying it.

The lines speak of `x` and `pre_norm`, the arguments, and, for each part n = 1, 2, ..., of the steps

    before = pre_norm
    read_1 = first(x) if before else x
    found_1 = attend(read_1)
    kept_1 = x
    sum_1 = kept_1 + found_1
    after_1 = sum_1 if before else first(sum_1)

where the second part reads `after_1` instead of x, and its norm is `second`, the third's `third`.
`wiring` is told the calls, such as `attend({})`, and the norms, such as `norm_1`, in their order.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.checking.inputs import normal
from course_utils.checking.mistakes import Mistake, mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import NOTHING, random_inside

_NORMS = ("first", "second", "third")


def wiring(calls: Sequence[str], norms: Sequence[str], *more_results: str) -> tuple[Mistake, ...]:
    """Return the mistakes with as many parts as there are calls; `norms` are the norms as they were given.

    `more_results` are returns of more than the stream.
    """
    count = len(calls)
    each = range(1, count + 1)
    stream = {n: f"after_{n - 1}" if n > 1 else "x" for n in each}
    last = f"after_{count}"

    def every(line: str) -> str:
        """Write a line for each part, with its number, its norm, its call and the stream before it."""
        return "\n".join(one(line, n) for n in each)

    def one(line: str, n: int) -> str:
        part = calls[n - 1].format(f"read_{n}")
        return line.format(n=n, norm=_NORMS[n - 1], part=part, x=stream[n])

    def some(line: str) -> tuple[str, ...]:
        return every(line), *(one(line, n) for n in each)

    return (
        mistake("pre-norm and post-norm exchanged", "What comes out with pre_norm=True is the other order, and the "
                "other way round. Does the flag say that a part reads the normed stream, or that the sum is normed?",
                "before = not pre_norm"),
        mistake("pre_norm ignored", "One of the two orders comes out whatever the flag says.",
                "before = True", "before = False"),
        mistake("the residual from the normed stream", "What is added to the part's output is the normed stream, so "
                "the stream itself is lost. Pre-norm leaves it alone: which of the two goes round the part?",
                *some("kept_{n} = read_{n}"), *some("kept_{n} = {norm}({x})")),
        mistake("a sum divided", "Part and stream were averaged, or their sum was divided by the root of 2, or one of "
                "them counts for more. With which weights are they added?",
                *some("sum_{n} = (kept_{n} + found_{n}) / 2"),
                *some("sum_{n} = (kept_{n} + found_{n}) / math.sqrt(2)"), *some("sum_{n} = kept_{n} + 0.5 * found_{n}"),
                *some("sum_{n} = kept_{n} + 2 * found_{n}"), *some("sum_{n} = 0.5 * kept_{n} + found_{n}")),
        mistake("the part subtracted", "What a part gives was subtracted, or the stream was. Which sign does a "
                "residual have?", *some("sum_{n} = kept_{n} - found_{n}"), *some("sum_{n} = found_{n} - kept_{n}")),
        mistake("the part multiplied", "Stream and part were multiplied with each other. What does a residual do if "
                "the part gives zeros?", *some("sum_{n} = kept_{n} * found_{n}"),
                *some("sum_{n} = kept_{n} * (1 + found_{n})")),
        mistake("the norms that were given unused", "The stream was normed in another way than by the functions that "
                "were given: they have a gain and a bias of their own. Which arguments are they?",
                *("\n".join(f"{norm} = lambda x: F.layer_norm(x, x.shape[-1:])" for norm in some_norms)
                  for some_norms in (_NORMS[:count], *((norm,) for norm in _NORMS[:count])))),
        mistake("the other sequences used", "Sequences of the batch were mixed, or one was used for all. Which part "
                "may look across them?", f"return {last}[:1].expand_as(x)", f"return {last}.mean(0, True).expand_as(x)",
                *some("found_{n} = {part}[:1].expand_as({x})"), *some("found_{n} = {part}[0]"),
                *some("read_{n} = {x}.flip(0)")),
        random_inside(every("found_{n} = torch.dropout({part}, 0.1, True)"),
                      *(one("found_{n} = torch.dropout({part}, 0.1, True)", n) for n in each)),
        mistake("no residual", "A part's output replaces the stream instead of being added to it. What stays of x if "
                "the part gives zeros?", *some("sum_{n} = found_{n}")),
        mistake("the norm of the part alone", "In the post-norm order only the part's output was normed, not its sum "
                "with the stream. What does the norm stand around?",
                *some("after_{n} = sum_{n} if before else kept_{n} + {norm}(found_{n})")),
        mistake("the norm of the stream alone", "In the post-norm order the stream was normed and the part's output "
                "added afterwards, unnormed.",
                *some("after_{n} = sum_{n} if before else {norm}(kept_{n}) + found_{n}")),
        mistake("normed before and after", "A norm acts on both sides of its part, in one of the two orders. Each is "
                "used once: on which side?", *some("after_{n} = {norm}(sum_{n})"),
                *some("read_{n} = {norm}({x})"), f"return {_NORMS[count - 1]}({last})",
                f"return {_NORMS[0]}({last})",
                *some("found_{n} = {norm}({part}) if before else {part}"), every(
                    "found_{n} = {norm}({part})")),
        mistake("the norm on the part's output", "In the pre-norm order the norm acts on what the part gives, not on "
                "what it reads.", *some("read_{n} = {x}\nfound_{n} = {norm}({part}) if before else {part}")),
        mistake("one part in the other order", "The parts of one layer are in different orders. The flag holds for all "
                "of them.", *(one("read_{n} = {x} if before else {norm}({x})\n"
                                  "after_{n} = {norm}(sum_{n}) if before else sum_{n}", n) for n in each),
                *(one("read_{n} = {x}\nafter_{n} = {norm}(sum_{n})", n) for n in each),
                *(one("read_{n} = {norm}({x})\nafter_{n} = sum_{n}", n) for n in each)),
        mistake("a norm left out", "The stream reaches a part, or leaves it, without a norm.",
                *some("read_{n} = {x}\nafter_{n} = sum_{n} if before else {norm}(sum_{n})"),
                *some("after_{n} = sum_{n}"), every("read_{n} = {x}\nafter_{n} = sum_{n}")),
        mistake("one norm for all parts", "The same norm was used at two places. Each part has one of its own, with "
                "its own gain.", *(f"{_NORMS[m]} = {norms[n]}" for m in range(count) for n in range(count) if m != n),
                *(every(f"{{norm}} = {norm}") for norm in norms if count > 2)),
        mistake("the norms in another order", "The norms were given to other parts than theirs.",
                *("\n".join(f"{_NORMS[m]} = {norms[n]}" for m, n in enumerate(order))
                  for order in itertools.permutations(range(count)) if list(order) != sorted(order))),
        mistake("parts beside each other", "A part reads what the one before it read: both work on the same stream, as "
                "in GPT-J. Here each reads what its predecessor left. What does it get?",
                *(f"read_{n} = {_NORMS[n - 1]}({stream[m]}) if before else {stream[m]}" for n in each for m in each
                  if m < n),
                "\n".join(f"read_{n} = {_NORMS[n - 1]}(x) if before else x" for n in each if n > 1),
                *(f"read_{n} = {_NORMS[m - 1]}({stream[m]}) if before else {stream[m]}" for n in each for m in each
                  if m < n), *(f"read_{n} = read_{m}" for n in each for m in each if m < n)),
        mistake("an earlier stream added", "A residual leaves out what an earlier part had added. Round which part "
                "does it go?", *(f"kept_{n} = {stream[m]}" for n in each for m in each if m < n),
                "\n".join(f"kept_{n} = x" for n in each if n > 1),
                *(f"kept_{n} = found_{m}" for n in each for m in each if m < n)),
        mistake("the stream added twice", "The stream was added once more than there are parts. Each part has its own "
                "residual, and that is all.", f"return {last} + x", *some("sum_{n} = 2 * kept_{n} + found_{n}")),
        mistake("a part left out", "One of the parts has no effect on the result.",
                *some("found_{n} = torch.zeros_like(read_{n})"), *(f"return after_{n}" for n in range(1, count))),
        mistake("a part used twice", "A part was applied twice in a row. Each is used once.",
                *(f"found_{n} = {calls[n - 1].format(calls[n - 1].format(f'read_{n}'))}" for n in each)),
        mistake("a part called more than once", "The values are right, but a part was called more than once. If it is "
                "dear, or draws random numbers, that is not the same. What can be kept under a name?",
                *some("found_{n} = ({part} + {part}) / 2"),
                matches=lambda args, got: isinstance(got, list) and max(got) > 1),
        mistake("the input changed in place", "The call added into its input, so the caller's stream is lost. Which "
                "operation makes a new tensor, and which writes into the old one?", "sum_1 = x.add_(found_1)",
                f"return x.copy_({last})", *(f"kept_{n} = {stream[n]}\nsum_{n} = x.copy_(kept_{n} + found_{n})"
                                            for n in each if n > 1)),
        mistake("the stream cut off from the gradient", "The values are right, but the residual is a constant: no "
                "gradient comes back along the stream.", "kept_1 = x.detach()",
                *(f"kept_{n} = {stream[n]}.detach()" for n in each if n > 1), every("kept_{n} = {x}.detach()")),
        mistake("a part cut off from the gradient", "The values are right, but a part's output counts as a constant: "
                "nothing in it would be learned. What cuts the thread?", *some("found_{n} = {part}.detach()"),
                f"return {last}.detach()", *some("read_{n} = ({norm}({x}) if before else {x}).detach()")),
        NOTHING,
        mistake("several results", "A tuple or a list came back, where the stream alone is asked for. Which of them "
                "does the next layer read?", f"return {last}, {last}", f"return x, {last}", f"return {last}, x",
                f"return [{last}]", f"return {last}, None", f"return ({last},)", f"return {last}, found_1",
                *more_results),
    )


@dataclass
class Part:
    """A part of a layer that can be tried: it counts its calls, and does what is like no other part.

    Attributes:
        kind: "attend" looks at the past, "cross" at a memory, "norm" norms, "hidden" bends.
        weights: Its matrices.
    """

    kind: str
    weights: tuple[Tensor, ...]
    calls: list[str] = field(default_factory=list)
    name: str = ""

    def __call__(self, x: Tensor, *memory: Tensor) -> Tensor:
        """Return what the part makes of the stream."""
        if len(memory) > (self.kind == "cross"):
            raise TypeError(f"{self.name} takes {'two streams' if self.kind == 'cross' else 'one stream'}")
        self.calls.append(self.name)
        one, two = self.weights
        if self.kind == "norm":
            return F.layer_norm(x, x.shape[-1:]) * one[0] + two[0]
        if self.kind == "hidden":
            return torch.tanh(x @ one) @ two
        keys = memory[0] if memory else x
        scores = x @ one @ keys.mT
        if self.kind == "attend":
            scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
        return scores.softmax(-1) @ keys @ two


def parts(g: torch.Generator, d_model: int, dtype: torch.dtype, **kinds: str) -> list[Part]:
    """Draw a part of each kind, by name; all count their calls in one list."""
    calls: list[str] = []

    def pair() -> tuple[Tensor, ...]:
        return tuple(normal(g, d_model, d_model, dtype=dtype, size=0.7) for _ in range(2))

    return [Part(kind, pair(), calls, name) for name, kind in kinds.items()]


def counted(fn: Function, *args: Any) -> list[int]:
    """Return how many times each part was called."""
    made = [one for arg in args for one in (arg if isinstance(arg, tuple) else (arg,)) if isinstance(one, Part)]
    made[0].calls.clear()
    fn(*args)
    return [made[0].calls.count(part.name) for part in made]


ONCE = "The values are right, but a part was called another number of times than once: each is used once."
