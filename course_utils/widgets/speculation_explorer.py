"""The picture of chapter 10: a draft proposes tokens, a target accepts them or draws another."""

from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from course_utils.plain_validation import check_instance, check_int, check_ints
from course_utils.widgets._assets import module, style

COUNT, MOST_GAMMA, MOST_ROUNDS = 8, 6, 20_000
TARGET = (4, 26, 8, 30, 6, 14, 10, 2)
DRAFT = (16, 30, 3, 8, 20, 5, 14, 4)


class SpeculationExplorer(anywidget.AnyWidget):
    """The widget that ``speculation_explorer`` makes; its traits follow bars and buttons."""

    _esm = module("speculation_explorer.js")
    _css = style("speculation_explorer.css")

    target: "traitlets.List[int]" = traitlets.List(
        help="The target's probabilities of eight tokens, in percent."
    ).tag(sync=True)
    draft: "traitlets.List[int]" = traitlets.List(
        help="The draft's probabilities, in percent."
    ).tag(sync=True)
    gamma = traitlets.Int(help="Tokens drafted for each call of the target.").tag(sync=True)
    seed = traitlets.Int(help="What the random numbers follow from.").tag(sync=True)
    rounds = traitlets.Int(help="How many calls came before the one on show.").tag(sync=True)
    stage = traitlets.Int(help="How many events of that call are shown; 7 is all.").tag(sync=True)
    from_target = traitlets.Bool(help="Whether refused tokens are drawn again from p.").tag(
        sync=True
    )

    @traitlets.validate("target", "draft")
    def _percents(self, proposal: dict[str, Any]) -> list[int]:
        return _distribution(proposal["trait"].name, proposal["value"])

    @traitlets.validate("gamma", "seed", "rounds", "stage")
    def _within(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, int(proposal["value"])
        least, most = {
            "gamma": (1, MOST_GAMMA), "seed": (0, 2**31 - 1), "rounds": (0, MOST_ROUNDS - 1),
            "stage": (0, MOST_GAMMA + 1),
        }[name]  # fmt: skip
        if not least <= value <= most:
            raise ValueError(f"{name} must be from {least} to {most}, got {value}")
        return value

    def __repr__(self) -> str:
        """Say the settings; the same in every run."""
        source = ", drawn from p" if self.from_target else ""
        return f"SpeculationExplorer(gamma={self.gamma}, {self.rounds} calls{source})"


def _distribution(name: str, weights: Sequence[int]) -> list[int]:
    """Return the percents as a list; raise unless there are eight that sum to 100."""
    check_ints(**{name: weights})
    if len(weights) != COUNT or min(weights) < 0 or sum(weights) != 100:
        raise ValueError(
            f"{name} must be {COUNT} percents from 0 on that sum to 100, got {list(weights)}"
        )
    return list(weights)


def speculation_explorer(
    target: Sequence[int] = TARGET,
    draft: Sequence[int] = DRAFT,
    *,
    gamma: int = 4,
    seed: int = 0,
    rounds: int = 0,
    from_target: bool = False,
) -> SpeculationExplorer:
    """Let a draft propose tokens and a target judge them, call by call.

    Args:
        target: The target's probabilities of eight tokens, in percent; the same at every place.
        draft: The draft's.
        gamma: From 1 to 6 tokens drafted for each call of the target.
        seed: What the random numbers follow from.
        rounds: How many calls are made at first, below 20 000.
        from_target: Whether what replaces a refused token is drawn from p, which is wrong, and not
            from the residual, what p has above the draft.

    Raises:
        TypeError: A number is not an int, or `from_target` is not a bool.
        ValueError: A setting is out of its range, or percents do not sum to 100.
    """
    check_int(gamma=gamma, seed=seed, rounds=rounds)
    check_instance(bool, from_target=from_target)
    return SpeculationExplorer(
        target=_distribution("target", target), draft=_distribution("draft", draft),
        gamma=gamma, seed=seed, rounds=rounds, stage=0, from_target=from_target,
    )  # fmt: skip
