"""The parts of an exercise: frozen data, and nothing that runs by itself.

An exercise names its reference (the package's own function), the cases on which an answer is
compared with it, one right answer in named steps, and the mistakes: the lines that learners really
write instead of a right one, each with what to say when an answer behaves the same way.
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch

from course_utils.checking.inputs import Make, drawn
from course_utils.checking.mistakes import Mistake
from course_utils.checking.recipe import Function, Recipe


@dataclass(frozen=True)
class Case:
    """One set of inputs, made anew for every call.

    Attributes:
        name: What is special about it, as a learner reads it.
        make: Makes the positional arguments from a generator of its own; None draws them from the
            shapes in the reference's annotations.
        given: For drawn arguments: sizes and values, as `inputs.drawn` takes them.
        gradient: "equal" compares the gradient here too, "finite" only asks for one.
        tolerance: Relative rounding that is tolerated; None is the dtype's own.
        absolute: Absolute rounding that is tolerated in numbers.
        run: How to use the function, if not by one plain call: takes it and the arguments.
        says: What to say if it fails, where the values compared are not what a learner returned.
    """

    name: str
    make: Make | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    gradient: str = ""
    tolerance: float | None = None
    absolute: float = 1e-9
    run: Callable[..., Any] | None = None
    says: str | None = None
    _kept: dict[int, tuple[Any, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def use(self, fn: Function) -> Function:
        """Return what is actually called: the function, or the case's own use of it."""
        run = self.run
        return fn if run is None else lambda *args: run(fn, *args)

    def draw(self, generator: torch.Generator) -> tuple[Any, ...]:
        """Return fresh arguments drawn from a generator."""
        if self.make is None:
            raise ValueError(f"the case {self.name!r} belongs to no exercise yet")
        return self.make(generator)

    def arguments(self, seed: int) -> tuple[Any, ...]:
        """Return fresh arguments, the same for the same seed."""
        return self.draw(torch.Generator().manual_seed(seed))

    def kept(self, seed: int) -> tuple[Any, ...]:
        """Return shared arguments, for callers that only read them."""
        if seed not in self._kept:
            self._kept[seed] = self.arguments(seed)
        return self._kept[seed]


def case(
    name: str,
    make: Make | None = None,
    *,
    gradient: str = "",
    tolerance: float | None = None,
    absolute: float = 1e-9,
    run: Callable[..., Any] | None = None,
    says: str | None = None,
    **given: Any,
) -> Case:
    """Return a case; without `make`, its arguments are drawn from `given` (see `inputs.drawn`)."""
    return Case(name, make, given, gradient, tolerance, absolute, run, says)


@dataclass(frozen=True)
class Law:
    """A rule that every right output obeys, to catch mistakes that nobody foresaw.

    Attributes:
        name: The law, e.g. "each row sums to 1".
        broken: Takes the arguments and the output; says what is broken, or None.
    """

    name: str
    broken: Callable[[tuple[Any, ...], Any], str | None]


@dataclass(frozen=True)
class Cost:
    """A limit on an answer's cost, judged by how the cost grows between two sizes.

    Attributes:
        name: What is limited, e.g. "the largest tensor".
        count: Counts it: takes the answer and the arguments.
        sizes: The two sizes.
        make: Makes the arguments of a size.
        exponent: The largest growth exponent that is allowed.
        says: What to say when it grows faster.
        mistake: The name of the mistake that only a growth beyond this limit can mean, if any.
    """

    name: str
    count: Callable[..., int]
    sizes: tuple[int, int]
    make: Callable[[int, torch.Generator], tuple[Any, ...]]
    exponent: float
    says: str
    mistake: str | None = None


@dataclass(frozen=True)
class Exercise:
    """One exercise: what it asks, what is right, and what is wrong in which way.

    Attributes:
        reference: The package's own function; its name is the exercise's.
        asks: The task, in one sentence.
        right: One right answer in named steps (see `recipe`).
        home: The module that holds the exercise.
        cases: From easy to hard.
        mistakes: In the order in which they are tried.
        hints: From a nudge to nearly the answer.
        laws: Laws of the output.
        costs: Limits on what the answer may count.
        difficulty: From 1 to 5.
        importance: From 1 to 5.
        minutes: How long it takes.
        parts: Names of the results, where there are several.
        inputs: Names of what the cases make, where that is not what the function takes.
        lacks: Says what a machine lacks to run any answer, or None.
        callable_apart: Whether an answer can be called like a Python function, and so from
            another process; otherwise it is judged where it is.
    """

    reference: Function
    asks: str
    right: str
    home: str
    cases: tuple[Case, ...]
    mistakes: tuple[Mistake, ...]
    hints: tuple[str, ...]
    laws: tuple[Law, ...] = ()
    costs: tuple[Cost, ...] = ()
    difficulty: int = 2
    importance: int = 3
    minutes: int = 10
    parts: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    lacks: Callable[[], str | None] | None = None
    callable_apart: bool = True

    @property
    def name(self) -> str:
        """The learner's function, and the name given to `check`."""
        return self.reference.__name__

    @property
    def chapter(self) -> int:
        """The number of the chapter, from the folder that holds the exercise."""
        found = re.search(r"\.ch(\d\d)_", self.home)
        return int(found.group(1)) if found else 0

    @cached_property
    def signature(self) -> str:
        """The contract, e.g. "attention_weights(query, key, scale=None)"."""
        given = inspect.signature(self.reference)
        bare = [p.replace(annotation=p.empty) for p in given.parameters.values()]
        return f"{self.name}{given.replace(parameters=bare, return_annotation=given.empty)}"

    @property
    def points(self) -> int:
        """The points that it is worth: as many as its difficulty."""
        return self.difficulty

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of what the cases make, in order."""
        return self.inputs or tuple(inspect.signature(self.reference).parameters)

    @cached_property
    def recipe(self) -> Recipe:
        """The right answer, from which the wrong ones are made."""
        return Recipe(self.name, self.right, lambda: vars(sys.modules[self.home]))

    @cached_property
    def recipe_lines(self) -> tuple[str, ...]:
        """All versions that can be combined with others: lines of mistakes that the values show."""
        every = (text for one in self.mistakes if one.detects is None for text in one.versions)
        texts = (text for text in every if isinstance(text, str) and self.recipe.sets(text))
        return tuple(dict.fromkeys(texts))

    def versions(self, mistake: Mistake) -> tuple[Function, ...]:
        """Return all forms of a mistake as functions; the recipe makes each only once."""
        return tuple(
            self.recipe.function(one) if isinstance(one, str) else one for one in mistake.versions
        )


def exercise(
    reference: Function,
    *,
    cases: Iterable[Case],
    mistakes: Iterable[Mistake] = (),
    right: str,
    asks: str,
    hints: tuple[str, ...],
    **more: Any,
) -> Exercise:
    """Return the exercise of the module that calls this; the other arguments are Exercise's."""
    bound = tuple(
        one if one.make else replace(one, make=drawn(reference, one.name, one.given))
        for one in cases
    )
    home = sys._getframe(1).f_globals["__name__"]
    return Exercise(reference, asks, right, home, bound, tuple(mistakes), hints, **more)
