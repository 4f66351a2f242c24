"""The picture of chapter 12: what a law of loss would buy with a budget of operations."""

import math
from collections.abc import Mapping, Sequence

import traitlets

from course_utils.plain_validation import check_instance
from course_utils.widgets.traits import Choice, CourseWidget, Number

RUNS = {
    "GPT-3": (1.75e11, 3e11),
    "Gopher": (2.8e11, 3e11),
    "Chinchilla": (7e10, 1.4e12),
    "Llama 7B": (6.7e9, 1e12),
    "Llama 3.1 405B": (4.05e11, 1.56e13),
}
"""Parameters and tokens of published runs: Brown et al. (2020), Rae et al. (2021), Hoffmann et al.
(2022), Touvron et al. (2023), Grattafiori et al. (2024)."""

LAWS = {
    "Hoffmann, as printed": (406.4, 410.7, 0.34, 0.28, 1.69),
    "Hoffmann, unrounded": (406.4, 410.7, 0.3392, 0.2849, 1.69),
    "Besiroglu's refit": (482.01, 2085.43, 0.3478, 0.3658, 1.8172),
}
"""A, B, alpha, beta and E of loss = E + A / N^alpha + B / D^beta."""


class BudgetExplorer(CourseWidget, page="budget_explorer"):
    """The widget that ``budget_explorer`` makes; its traits follow the controls."""

    runs = traitlets.Dict(RUNS, help="Parameters and tokens of published runs.")
    laws = traitlets.Dict(LAWS, help="Constants A, B, alpha, beta, E of each law.")
    run = Choice(RUNS, "GPT-3", help="The run whose size is marked.")
    budget = Number(23.5, 12, 27, help="Base-10 logarithm of the operations to spend.")
    law = Choice(lambda self: self.laws, "Besiroglu's refit", help="A key of `laws`.")

    def __repr__(self) -> str:
        return f"BudgetExplorer({self.run}, budget 10^{self.budget:g}, {self.law})"


def budget_explorer(
    run: str = "GPT-3",
    *,
    law: str = "Besiroglu's refit",
    budget: float | None = None,
    own: Mapping[str, Sequence[float]] | None = None,
) -> BudgetExplorer:
    """Show what a budget buys under a law of loss, and where a published run lies.

    Args:
        run: One of ``RUNS``; its size is marked on the curve.
        law: One of ``LAWS``, or a name in ``own``.
        budget: Base-10 logarithm of the operations to spend, from 12 to 27; the run's 6 N D where
            it is left out.
        own: Further laws: for each name its A, B, alpha, beta and E, all positive but E, which
            may be 0.
    """
    check_instance(str, run=run, law=law)
    if run not in RUNS:
        raise ValueError(f"run must be one of {', '.join(RUNS)}, got {run!r}")
    laws: dict[str, tuple[float, ...]] = {name: tuple(law) for name, law in LAWS.items()}
    for name, constants in (own or {}).items():
        if len(constants) != 5 or min(constants[:4]) <= 0 or constants[4] < 0:
            raise ValueError(
                f"a law must be A, B, alpha, beta > 0 and E >= 0, got {list(constants)}"
            )
        laws[name] = tuple(constants)
    spent = round(math.log10(6 * math.prod(RUNS[run])), 2) if budget is None else budget
    return BudgetExplorer(laws=laws, run=run, law=law, budget=spent)
