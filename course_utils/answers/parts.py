"""The learner's own functions instead of the course's, and an experiment run with both.

Kept answers are executed only here: they are the learner's own code, run by the learner.
"""

from collections.abc import Callable
from typing import Any

from course_utils.answers import kept
from course_utils.answers.chosen import Chosen, Functions
from course_utils.answers.trial import Run, run
from course_utils.checking.report import card
from course_utils.exercises import find, places


def yours(*names: str) -> "Parts":
    """Return these functions: the learner's own where the exercise is passed, else the course's.

    Args:
        *names: Names of exercises; without any, all that are passed.

    Raises:
        KeyError: No exercise has that name; the message lists similar ones.
    """
    return Parts(choose(*names))


def choose(*names: str) -> Chosen:
    """Return what `yours` of these names is made of."""
    chosen = names or tuple(name for name in places() if kept.kept_path(name).is_file())
    references = {name: find(name).reference for name in chosen}
    own, broken = {}, {}
    for name in chosen:
        if kept.kept_path(name).is_file():
            try:
                own[name] = kept.load(name)
            except ImportError as error:
                broken[name] = str(error)
    return Chosen(references, own, broken)


class Parts(Functions):
    """The functions that `yours` returns, as attributes, and `run`."""

    def __init__(self, chosen: Chosen) -> None:
        super().__init__(vars(chosen.functions(chosen.own)))
        self._chosen = chosen

    def run(self, experiment: Callable[[Any], Any], *, tolerance: float | None = None) -> Run:
        """Run an experiment with the course's functions, then with the learner's, and compare.

        Args:
            experiment: Takes an object with the functions as attributes; returns a tensor, number,
                string, or a dict, list or tuple of such.
            tolerance: The largest relative difference that still counts as equal; None is the
                dtype's own rounding.
        """
        return run(self._chosen, experiment, tolerance)

    def __repr__(self) -> str:
        return "\n".join([f"{self._chosen.count()}.", *self._chosen.lines()])

    def _repr_html_(self) -> str:
        return card(f"→ {self._chosen.count()}", "yours", [], below=self._chosen.table())
