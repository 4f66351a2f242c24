"""The picture of chapter 10: a draft proposes tokens, a target accepts them or draws another."""

from collections.abc import Sequence
from typing import Any

import traitlets

from course_utils.plain_validation import check_ints
from course_utils.widgets.traits import CourseWidget, Flag, Items, Whole

COUNT, MOST_GAMMA, MOST_ROUNDS = 8, 6, 20_000
TARGET = (4, 26, 8, 30, 6, 14, 10, 2)
DRAFT = (16, 30, 3, 8, 20, 5, 14, 4)


class SpeculationExplorer(CourseWidget, page="speculation_explorer"):
    """The widget that ``speculation_explorer`` makes; its traits follow bars and buttons."""

    target = Items(help="The target's probabilities of eight tokens, in percent.")
    draft = Items(help="The draft's probabilities, in percent.")
    gamma = Whole(0, 1, MOST_GAMMA, help="Tokens drafted for each call of the target.")
    seed = Whole(0, 0, 2**31 - 1, help="What the random numbers follow from.")
    rounds = Whole(0, 0, MOST_ROUNDS - 1, help="How many calls came before the one on show.")
    stage = Whole(0, 0, MOST_GAMMA + 1, help="How many events of that call are shown; 7 is all.")
    from_target = Flag(False, help="Whether refused tokens are drawn again from p.")

    @traitlets.validate("target", "draft")
    def _percents(self, proposal: dict[str, Any]) -> list[int]:
        name, percents = proposal["trait"].name, proposal["value"]
        check_ints(**{name: percents})
        if len(percents) != COUNT or min(percents) < 0 or sum(percents) != 100:
            raise ValueError(
                f"{name} must be {COUNT} percents from 0 on that sum to 100, got {percents}"
            )
        return list(percents)

    def __repr__(self) -> str:
        source = ", drawn from p" if self.from_target else ""
        return f"SpeculationExplorer(gamma={self.gamma}, {self.rounds} calls{source})"


def speculation_explorer(
    target: Sequence[int] = TARGET,
    draft: Sequence[int] = DRAFT,
    *,
    gamma: int = 4,
    seed: int = 9,
    rounds: int = 0,
    from_target: bool = False,
) -> SpeculationExplorer:
    """Let a draft propose tokens and a target judge them, call by call.

    Args:
        target: The target's probabilities of eight tokens, in percent; the same at every place.
        draft: The draft's.
        gamma: From 1 to 6 tokens drafted for each call of the target.
        seed: What the random numbers follow from; in the default's first call the third token is
            refused.
        rounds: How many calls come before the one that is shown, whole, at first; below 20 000.
        from_target: Whether what replaces a refused token is drawn from p, which is wrong, and not
            from the residual, what p has above the draft.

    Raises:
        ValueError: Percents do not sum to 100.
    """
    return SpeculationExplorer(
        target=target, draft=draft, gamma=gamma, seed=seed, rounds=rounds, stage=MOST_GAMMA + 1,
        from_target=from_target,
    )  # fmt: skip
