"""The picture of chapter 01: one vector, overwritten with every symbol that is read."""

from typing import Any

import traitlets

from course_utils.plain_validation import check_instance
from course_utils.widgets.traits import CourseWidget, Index, Items, Whole


class OverwritingStepper(CourseWidget, page="overwriting_stepper"):
    """The widget that ``overwriting_stepper`` makes; its traits follow the controls."""

    sources = Items(help="Sources: for each its symbols.")
    states = Items(help="For each source the state after each symbol, in hundredths.")
    named = Items(help="For each source and step, the symbols that are read out of the state.")
    shares = Items(help="For each step, the share of new sources in which each is named right.")
    tested = traitlets.Int(help="How many new sources these are.")
    symbols = traitlets.Int(help="Symbols to choose from.")
    example = Index(0, 0, lambda self: len(self.sources) - 1, help="The source shown.")
    step = Whole(0, 0, lambda self: len(self.shares), help="Symbols read so far.")

    def __repr__(self) -> str:
        return f"OverwritingStepper({len(self.sources)} sources, {self.step} symbols read)"


def overwriting_stepper(
    record: dict[str, Any], *, example: int = 0, step: int = 5
) -> OverwritingStepper:
    """Read a source symbol by symbol, and see what can still be read out of one fixed vector.

    Args:
        record: What ``read_record("chapter_01_overwriting")`` returns: states of a trained
            encoder, and what a linear readout of them names.
        example: Which of the record's sources is shown first.
        step: How many of its symbols are read at first.
    """
    check_instance(dict, record=record)
    if missing := {"examples", "runs", "settings"} - record.keys():
        raise ValueError(f"record must hold examples, runs and settings, got no {min(missing)}")
    settings, examples = record["settings"], record["examples"]
    return OverwritingStepper(
        sources=[one["source"] for one in examples], states=[one["states"] for one in examples],
        named=[one["named"] for one in examples], shares=record["runs"][0]["shares"],
        tested=settings["tested"], symbols=settings["symbols"], example=example, step=step,
    )  # fmt: skip
