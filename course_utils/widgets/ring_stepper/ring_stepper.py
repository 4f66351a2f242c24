"""The picture of chapter 16: attention over a ring of ranks, and an all-to-all of heads."""

from typing import Any

import traitlets

from course_utils.widgets.traits import Choice, CourseWidget, Flag, Whole

MOST = 8
"""The most ranks, and the most tokens of a rank, that the picture shows."""
LAYOUTS = ("contiguous", "striped", "zigzag")
VIEWS = ("ring", "ulysses")


class RingStepper(CourseWidget, page="ring_stepper"):
    """The widget that ``ring_stepper`` makes; its traits follow the controls."""

    world_size = Whole(0, 1, MOST, help="How many ranks there are.")
    tokens_per_rank = Whole(0, 2, MOST, help="How many tokens each rank has.")
    # Not "layout", which is every widget's own: its size on the page.
    token_layout = Choice(LAYOUTS, help="Which tokens a rank has.")
    is_causal = Flag(False, help="Whether a query sees no later key.")
    step = Whole(0, 0, lambda self: max(self.world_size - 1, 0), help="Rotations made so far.")
    view = Choice(VIEWS, "ring", help="Which tab is open.")
    num_heads = Whole(0, 1, 16, help="Heads of queries, keys and values.")
    d_k = Whole(0, 1, help="Numbers in a head's key or value.")
    bytes_per_element = Whole(0, 1, help="Bytes of a number.")

    @traitlets.validate("tokens_per_rank")
    def _even(self, proposal: dict[str, Any]) -> int:
        share = int(proposal["value"])
        if share % 2:
            raise ValueError(f"tokens_per_rank must be even, got {share}")
        return share

    def __repr__(self) -> str:
        causal = ", causal" if self.is_causal else ""
        return (
            f"RingStepper({self.world_size} ranks of {self.tokens_per_rank} tokens, "
            f"{self.token_layout}{causal}, step {self.step})"
        )


def ring_stepper(
    world_size: int = 4,
    tokens_per_rank: int = 4,
    *,
    token_layout: str = "contiguous",
    is_causal: bool = True,
    step: int | None = None,
    view: str = "ring",
    num_heads: int = 8,
    d_k: int = 64,
    bytes_per_element: int = 2,
) -> RingStepper:
    """Turn a ring: who holds which block, what each rank multiplies, and what it sends.

    Args:
        world_size: From one to eight ranks.
        tokens_per_rank: 2, 4, 6 or 8.
        token_layout: "contiguous", "striped" or "zigzag".
        is_causal: Whether a query sees only keys up to its own.
        step: How many rotations are made at first; one where it is left out.
        view: The tab that is open at first, "ring" or "ulysses".
        num_heads: Heads of queries, keys and values, at most 16, for the bytes and for Ulysses.
        d_k: Numbers in a head's key or value, for the bytes.
        bytes_per_element: Bytes of a number.
    """
    opening = min(1, world_size - 1) if step is None else step
    return RingStepper(
        world_size=world_size, tokens_per_rank=tokens_per_rank, token_layout=token_layout,
        is_causal=is_causal, step=opening, view=view, num_heads=num_heads, d_k=d_k,
        bytes_per_element=bytes_per_element,
    )  # fmt: skip
