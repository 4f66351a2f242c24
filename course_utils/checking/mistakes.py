"""A mistake that can be run, and how an exercise adapts a shared set of mistakes.

A mistake is the lines that learners really write instead of right ones, with what to say when an
answer behaves as they do.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from course_utils.checking.recipe import Function


@dataclass(frozen=True)
class Trace:
    """Observations of a call besides its value.

    Attributes:
        calls: Names of the torch functions that were called, e.g. "scaled_dot_product_attention".
        used_autograd: Whether derivatives were taken inside the call.
        used_global_random: Whether a global random state moved: torch's, numpy's or Python's.
    """

    calls: frozenset[str] = frozenset()
    used_autograd: bool = False
    used_global_random: bool = False


@dataclass(frozen=True)
class Mistake:
    """A mistake that can be run.

    Attributes:
        name: What the mistake is called, in plain words.
        says: What was observed, and a leading question; never the answer.
        versions: The lines that somebody who believes it would write instead of the right ones, or
            a whole function where lines cannot say it; several if their results differ.
        detects: For a right value reached the wrong way: whether a trace reveals it.
        even_if_right: Whether what is detected counts even where the value is right.
        matches: For a family of mistakes: whether one of them turns the arguments into the value.
    """

    name: str
    says: str
    versions: tuple[str | Function, ...]
    detects: Callable[[Trace], bool] | None = None
    even_if_right: bool = True
    matches: Callable[[tuple[Any, ...], Any], bool] | None = None


def mistake(name: str, says: str, *versions: str | Function, **more: Any) -> Mistake:
    """Return a mistake from the lines that make it; the other arguments are Mistake's."""
    return Mistake(name, says, versions, **more)


def _named(mistakes: Iterable[Mistake], names: Iterable[str]) -> tuple[Mistake, ...]:
    """Return the mistakes as a tuple, after checking that each of the names is among them."""
    found = tuple(mistakes)
    unknown = set(names) - {one.name for one in found}
    if unknown:
        raise ValueError(f"the mistakes hold none called {', '.join(sorted(map(repr, unknown)))}")
    return found


def without(mistakes: Iterable[Mistake], *names: str) -> tuple[Mistake, ...]:
    """Return the mistakes without those of these names, and without the versions with these lines.

    Raises:
        ValueError: No mistake has that name, and no version those lines.
    """
    left, kept = set(names), []
    for one in mistakes:
        versions = tuple(version for version in one.versions if version not in names)
        left -= {one.name, *one.versions}
        if one.name not in names and versions:
            kept.append(one if versions == one.versions else replace(one, versions=versions))
    if left:
        raise ValueError(f"the mistakes hold none called {', '.join(sorted(map(repr, left)))}")
    return tuple(kept)


def only(mistakes: Iterable[Mistake], *names: str) -> tuple[Mistake, ...]:
    """Return the mistakes of these names, in the order of the names.

    Raises:
        KeyError: No mistake has one of the names.
    """
    named = {one.name: one for one in mistakes}
    return tuple(named[name] for name in names)


def saying(mistakes: Iterable[Mistake], words: Mapping[str, str]) -> tuple[Mistake, ...]:
    """Return the mistakes with different words for some names; the names stay.

    Raises:
        ValueError: No mistake has one of the names.
    """
    found = _named(mistakes, words)
    return tuple(replace(one, says=words.get(one.name, one.says)) for one in found)


def adding(
    mistakes: Iterable[Mistake], versions: Mapping[str, tuple[str | Function, ...]]
) -> tuple[Mistake, ...]:
    """Return the mistakes with further versions for some names.

    Raises:
        ValueError: No mistake has one of the names.
    """
    found = _named(mistakes, versions)
    return tuple(
        replace(one, versions=(*one.versions, *versions.get(one.name, ()))) for one in found
    )
