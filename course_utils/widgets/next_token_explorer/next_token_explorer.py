"""The picture of chapter 19: what a released model says comes next, and how wide a nucleus is."""

from collections.abc import Mapping
from typing import Any

import traitlets

from course_utils.widgets.traits import CourseWidget, Flag, Index, Items, Number, Whole

MOST_DRAWS = 20_000
START = 2
"""The place shown first: neither of the two that the task asks for."""

KEPT = ("text", "token", "rank", "log_prob", "tokens", "far")


class NextTokenExplorer(CourseWidget, page="next_token_explorer"):
    """The widget that ``next_token_explorer`` makes; its traits follow the controls."""

    texts = Items(help="For each text its name, and what stands before each of its places.")
    places = Items(help="For each place its true token, its likeliest tokens, and sizes of nuclei.")
    vocabulary = Whole(0, help="How many tokens the model knows.")
    temperatures = Items(help="The temperatures for which sizes are recorded.")
    shares = Items(help="The values of top-p for which they are; the last is 1, all tokens.")
    place = Index(0, 0, lambda self: len(self.places) - 1, help="The place on show, from 0.")
    temperature = Number(1.0, help="What the logits are divided by.")
    top_p = Number(0.9, help="The share that the nucleus holds.")
    seed = Whole(0, 0, 2**31 - 1, help="What the random numbers follow from.")
    draws = Whole(0, 0, MOST_DRAWS, help="How many tokens are drawn.")
    nucleus_only = Flag(False, help="Whether they are drawn from the nucleus alone.")
    met = Items(help="Places that fulfilled the two parts of the task; -1 for none yet.")

    @traitlets.validate("temperature", "top_p")
    def _recorded(self, proposal: dict[str, Any]) -> float:
        name, value = proposal["trait"].name, float(proposal["value"])
        known = {"temperature": self.temperatures, "top_p": self.shares}[name]
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(str, known))}, got {value}")
        return value

    def __repr__(self) -> str:
        return (
            f"NextTokenExplorer({len(self.places)} places, place={self.place}, "
            f"temperature={self.temperature}, top_p={self.top_p})"
        )


def next_token_explorer(
    record: Mapping[str, Any],
    *,
    place: int = START,
    temperature: float = 1.0,
    top_p: float = 0.9,
    nucleus_only: bool = False,
    seed: int = 0,
) -> NextTokenExplorer:
    """Show the next token's distribution at places of a text, and the nucleus of each.

    Args:
        record: As ``course_utils.measure.read_record("chapter_19_next_token")`` returns it.
        place: Which of the record's places is shown at first, from 0.
        temperature: One of the record's temperatures.
        top_p: One of the record's shares, or 1.
        nucleus_only: Whether tokens are drawn from the nucleus alone.
        seed: What the random numbers follow from.

    Raises:
        ValueError: Nothing is recorded for such a setting.
    """
    settings = record["settings"]
    vocabulary = settings["vocabulary"]
    return NextTokenExplorer(
        texts=[{name: text[name] for name in ("name", "between")} for text in record["texts"]],
        places=[_packed(run, vocabulary) for run in record["runs"]],
        vocabulary=vocabulary,
        temperatures=settings["temperatures"],
        shares=[*settings["shares"], 1.0],
        place=place,
        temperature=temperature,
        top_p=top_p,
        seed=seed,
        draws=0,
        nucleus_only=nucleus_only,
        met=[-1, -1],
    )


def _packed(run: Mapping[str, Any], vocabulary: int) -> dict[str, Any]:
    """Return one place with its numbers as text: a notebook gives each number a line."""
    rows = [[*sizes, vocabulary] for sizes in run["sizes"]]
    lists = {"log_probs": run["log_probs"], "log_norms": run["log_norms"]}
    return (
        {name: run[name] for name in KEPT}
        | {name: _written(numbers) for name, numbers in lists.items()}
        | {"sizes": [_written(row) for row in rows]}
    )


def _written(numbers: list[float]) -> str:
    return " ".join(map(str, numbers))
