"""The picture of chapter 07: which scheme of positions still works beyond the trained length."""

from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from course_utils.widgets.traits import CourseWidget, Items, Whole

Curves = Mapping[str, Mapping[int, Sequence[float]]]


class ExtrapolationExplorer(CourseWidget, page="extrapolation_explorer"):
    """The widget that ``extrapolation_explorer`` makes; its traits follow the controls."""

    tasks = Items(help="For each task its lengths, and each scheme's [lowest, mean, highest].")
    groups = Items(help="The schemes by where they act; a group has one colour.")
    chosen = traitlets.List(traitlets.Unicode(), help="The schemes that are drawn.")
    task = Whole(0, 0, lambda self: len(self.tasks) - 1, help="Which task is shown.")
    index = Whole(
        0, 0, lambda self: len(self.tasks[0]["lengths"]) - 1, help="Which of its lengths is read."
    )

    @traitlets.validate("chosen")
    def _known(self, proposal: dict[str, Any]) -> list[str]:
        known = [name for _, names in self.groups for name in names]
        unknown = [name for name in proposal["value"] if name not in known]
        if unknown:
            raise ValueError(f"chosen must be among {known}, got {unknown}")
        return list(proposal["value"])

    def __repr__(self) -> str:
        names = " and ".join(task["name"] for task in self.tasks)
        count = sum(len(names) for _, names in self.groups)
        return f"ExtrapolationExplorer({names}, {count} schemes)"


def extrapolation_explorer(
    tasks: Mapping[str, tuple[str, Curves]],
    groups: Mapping[str, Sequence[str]],
    *,
    chosen: Sequence[str] | None = None,
) -> ExtrapolationExplorer:
    """Show how each scheme of positions does at each length, and rank the chosen ones.

    Args:
        tasks: For each task what is measured, "loss" or "accuracy", and for each scheme one number
            per run at each length. The first length is the trained one. Lower loss is better, and
            higher accuracy.
        groups: Up to four titles, each with its schemes, five at most: those of a group share a
            colour and differ in line and mark.
        chosen: The schemes drawn first; all where it is left out.

    Raises:
        ValueError: There is no task, a task measures something else, its schemes are not those of
            the groups, schemes or tasks differ in their number of lengths, a scheme has no run at
            some length, or a scheme is chosen that does not exist.
    """
    if len(groups) > 4 or any(len(names) > 5 for names in groups.values()):
        raise ValueError("groups must be at most four, of at most five schemes each")
    names = [name for some in groups.values() for name in some]
    made = [_task(name, what, curves, names) for name, (what, curves) in tasks.items()]
    if len({len(task["lengths"]) for task in made}) != 1:
        raise ValueError("tasks must be at least one, all with as many lengths")
    return ExtrapolationExplorer(
        tasks=made,
        groups=[[title, list(some)] for title, some in groups.items()],
        chosen=names if chosen is None else list(chosen),
    )


def _task(name: str, what: str, curves: Curves, names: Sequence[str]) -> dict[str, Any]:
    if what not in ("loss", "accuracy"):
        raise ValueError(f'what is measured must be "loss" or "accuracy", got {what!r}')
    if set(curves) != set(names):
        raise ValueError(f"{name} must have the schemes {sorted(names)}, got {sorted(curves)}")
    lengths = sorted(curves[names[0]])
    for scheme, runs in curves.items():
        if sorted(runs) != lengths or not all(runs.values()):
            raise ValueError(f"{scheme} must have a run of {name} at each of {lengths}")
    return {
        "name": name,
        "what": "loss (nats)" if what == "loss" else what,
        "lower": what == "loss",
        "trained": lengths[0],
        "lengths": lengths,
        "curves": [[one, [_summary(curves[one][n]) for n in lengths]] for one in names],
    }


def _summary(runs: Sequence[float]) -> list[float]:
    return [min(runs), sum(runs) / len(runs), max(runs)]
