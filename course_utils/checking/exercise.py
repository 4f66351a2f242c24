"""What an exercise is: frozen data, and nothing that runs by itself.

An exercise names its reference (the package's own function), the cases on which an answer is
compared with it, and the misconceptions: wrong versions that learners really write, each
executable, each with what to say when an answer behaves as it does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

Function = Callable[..., Any]


@dataclass(frozen=True)
class Trace:
    """What was seen of a call besides its value.

    Attributes:
        calls: Names of the torch functions that were called, e.g. "scaled_dot_product_attention".
        used_autograd: Whether derivatives were taken inside the call.
        used_global_random: Whether a global random state moved: torch's, numpy's or Python's.
    """

    calls: frozenset[str] = frozenset()
    used_autograd: bool = False
    used_global_random: bool = False


@dataclass(frozen=True)
class Case:
    """One set of inputs, made afresh for every call.

    Attributes:
        name: What is special about it, as a learner reads it.
        make: Makes the positional arguments from a generator of its own.
        gradient: "equal" compares the gradient here too, "finite" only asks for one.
        tolerance: Relative rounding that is forgiven; None is the dtype's own.
        absolute: Absolute rounding that is forgiven in numbers.
        run: How to use the function, if not by one plain call: takes it and the arguments.
        says: What to say where it shows, if the values compared are none that a learner returned.
    """

    name: str
    make: Callable[[torch.Generator], tuple[Any, ...]]
    gradient: str = ""
    tolerance: float | None = None
    absolute: float = 1e-9
    run: Callable[..., Any] | None = None
    says: str | None = None

    def use(self, fn: Function) -> Function:
        """Return what is really called: the function, or the case's own way to use it."""
        run = self.run
        return fn if run is None else lambda *args: run(fn, *args)

    def arguments(self, seed: int) -> tuple[Any, ...]:
        """Return fresh arguments, the same for the same seed."""
        return self.make(torch.Generator().manual_seed(seed))


@dataclass(frozen=True)
class Misconception:
    """A mistake that can be run.

    Attributes:
        name: What the mistake is called, in plain words.
        wrong: What somebody who believes it would write.
        says: What was seen, and a question that leads on; never the answer.
        sign: For a right value by the wrong way: whether a trace betrays it.
        forbidden: Whether the sign counts even where the value is right.
        also: Other ways to write the same mistake, where they come out differently.
        fits: For a family of mistakes: whether one of them turns the arguments into the value.
    """

    name: str
    wrong: Function
    says: str
    sign: Callable[[Trace], bool] | None = None
    forbidden: bool = True
    also: tuple[Function, ...] = ()
    fits: Callable[[tuple[Any, ...], Any], bool] | None = None

    @property
    def versions(self) -> tuple[Function, ...]:
        """All executable forms of the mistake."""
        return (self.wrong, *self.also)


@dataclass(frozen=True)
class Property:
    """A law that the output obeys, for mistakes that nobody foresaw.

    Attributes:
        name: The law, e.g. "each row sums to 1".
        broken: Takes the arguments and the output; says what is broken, or None.
    """

    name: str
    broken: Callable[[tuple[Any, ...], Any], str | None]


@dataclass(frozen=True)
class Cost:
    """A limit on what an answer may count, judged by how it grows between two sizes.

    Attributes:
        name: What is limited, e.g. "the largest tensor".
        count: Counts it: takes the answer and the arguments.
        sizes: The two sizes.
        make: Makes the arguments of a size.
        exponent: The largest growth exponent that is allowed.
        says: What to ask when it grows faster.
        mistake: The misconception that only a growth beyond this limit can mean, if there is one.
    """

    name: str
    count: Callable[..., int]
    sizes: tuple[int, int]
    make: Callable[[int, torch.Generator], tuple[Any, ...]]
    exponent: float
    says: str
    mistake: Misconception | None = None


@dataclass(frozen=True)
class Exercise:
    """One exercise: what it asks, what is right, and what is wrong in which way.

    Attributes:
        name: The learner's function, and the name given to `check`.
        chapter: The number of the chapter.
        signature: The contract, e.g. "attention_weights(query, key, scale=None)".
        asks: What to write, in one sentence.
        reference: The package's own function.
        cases: From easy to hard.
        misconceptions: In the order in which they are tried.
        hints: From a nudge to nearly the answer.
        properties: Laws of the output.
        costs: Limits on what the answer may count.
        difficulty: From 1 to 5.
        importance: From 1 to 5.
        minutes: How long it takes.
        parts: Names of the results, where there are several.
        inputs: Names of what the cases make, where that is not what the function takes.
        lacks: Says what a machine lacks to run any answer, or None.
        callable_apart: Whether an answer can be called like a function of Python, and so from
            another process; else it is judged where it is.
    """

    name: str
    chapter: int
    signature: str
    asks: str
    reference: Function
    cases: tuple[Case, ...]
    misconceptions: tuple[Misconception, ...]
    hints: tuple[str, ...]
    properties: tuple[Property, ...] = ()
    costs: tuple[Cost, ...] = ()
    difficulty: int = 2
    importance: int = 3
    minutes: int = 10
    parts: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    lacks: Callable[[], str | None] | None = None
    callable_apart: bool = True

    @property
    def points(self) -> int:
        """How many points it brings where it is graded: as many as it is difficult."""
        return self.difficulty

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of what the cases make, in order."""
        if self.inputs:
            return self.inputs
        inside = self.signature.partition("(")[2].rpartition(")")[0]
        return tuple(part.partition("=")[0].strip() for part in inside.split(","))
