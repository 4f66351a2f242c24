"""The picture of chapter 01: what two models write at each length, and how often they are right."""

from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from course_utils.widgets.traits import CourseWidget, Items


class LengthExplorer(CourseWidget, page="length_explorer"):
    """The widget that ``length_explorer`` makes; its traits follow the slider and the button."""

    samples = Items(help="For each sample, the source and what each model wrote.")
    names = traitlets.List(traitlets.Unicode(), help="The models, two of them.")
    curves = Items(help="For each model, its rows [length, lowest, mean, highest].")
    trained = traitlets.Int(help="The longest length in training; 0 draws no mark.")
    length = traitlets.Int(help="The length that is shown.")
    example = traitlets.Int(0, help="Which sample of that length.")

    @traitlets.validate("length")
    def _known(self, proposal: dict[str, Any]) -> int:
        value, known = int(proposal["value"]), sorted({len(row[0]) for row in self.samples})
        if value not in known:
            raise ValueError(f"length must be that of a sample, one of {known}, got {value}")
        return value

    def __repr__(self) -> str:
        return (
            f"LengthExplorer({len(self.samples)} samples of {' and '.join(self.names)}, "
            f"length={self.length})"
        )


def length_explorer(
    samples: Sequence[tuple[str, Mapping[str, str]]],
    curves: Mapping[str, Mapping[int, Sequence[float]]],
    *,
    trained: int = 0,
    length: int | None = None,
) -> LengthExplorer:
    """Show what two models copied at each length, wrong symbols marked, and their accuracy.

    Args:
        samples: Sources, one character per symbol, and what each model wrote of each. What a model
            wrote beyond the source's length is not shown.
        curves: For each model, its accuracy from 0 to 1 at some lengths, one number per run.
        trained: The longest length seen in training, marked in the curve; 0 for no mark.
        length: The length shown first; the median of the samples' where it is left out.

    Raises:
        ValueError: There is no sample, a source is empty, there are not two models, the models of
            samples and curves differ, an accuracy is not a share, or no sample has that length.
    """
    names = list(curves)
    if len(names) != 2:
        raise ValueError(f"curves must be of two models, got {names}")
    if not samples or not all(source for source, _ in samples):
        raise ValueError("samples must hold at least one source, and none that is empty")
    for _, written in samples:
        if set(written) != set(names):
            raise ValueError(f"each sample must be written by {names}, got {list(written)}")
    lengths = sorted(len(source) for source, _ in samples)
    return LengthExplorer(
        samples=[[source, *(written[name] for name in names)] for source, written in samples],
        names=names,
        curves=[_summary(name, curves[name]) for name in names],
        trained=trained,
        length=lengths[len(lengths) // 2] if length is None else length,
    )


def _summary(name: str, runs: Mapping[int, Sequence[float]]) -> list[list[float]]:
    rows = []
    for length, shares in sorted(runs.items()):
        if not shares or not all(0 <= share <= 1 for share in shares):
            raise ValueError(
                f"accuracies must be shares from 0 to 1, got {list(shares)} for {name} at {length}"
            )
        rows.append([length, min(shares), sum(shares) / len(shares), max(shares)])
    if not rows:
        raise ValueError(f"each curve must have at least one length, got none for {name}")
    return rows
