"""The picture of chapter 16: attention over a ring of ranks, and an all-to-all of heads."""

from typing import Any

import anywidget
import traitlets

from course_utils.plain_validation import check_instance, check_int
from course_utils.widgets._assets import module, style

MOST = 8
"""The most ranks, and the most tokens of a rank, that the picture shows."""
LAYOUTS = ("contiguous", "striped", "zigzag")
VIEWS = ("ring", "ulysses")


class RingStepper(anywidget.AnyWidget):
    """The widget that ``ring_stepper`` makes; its traits follow the controls."""

    _esm = module("ring_stepper.js")
    _css = style("ring_stepper.css")

    world_size = traitlets.Int(help="How many ranks there are.").tag(sync=True)
    tokens_per_rank = traitlets.Int(help="How many tokens each rank has.").tag(sync=True)
    # Not "layout", which is every widget's own: its size on the page.
    token_layout = traitlets.Unicode(help="Which tokens a rank has.").tag(sync=True)
    is_causal = traitlets.Bool(help="Whether a query sees no later key.").tag(sync=True)
    step = traitlets.Int(help="How many rotations were made.").tag(sync=True)
    view = traitlets.Unicode("ring", help="Which tab is open.").tag(sync=True)
    num_heads = traitlets.Int(help="Heads of queries, keys and values.").tag(sync=True)
    d_k = traitlets.Int(help="Numbers in a head's key or value.").tag(sync=True)
    bytes_per_element = traitlets.Int(help="Bytes of a number.").tag(sync=True)

    @traitlets.validate("world_size")
    def _ranks(self, proposal: dict[str, Any]) -> int:
        return _within("world_size", int(proposal["value"]), 1, MOST)

    @traitlets.validate("tokens_per_rank")
    def _share(self, proposal: dict[str, Any]) -> int:
        share = _within("tokens_per_rank", int(proposal["value"]), 2, MOST)
        if share % 2:
            raise ValueError(f"tokens_per_rank must be even, got {share}")
        return share

    @traitlets.validate("step")
    def _forward(self, proposal: dict[str, Any]) -> int:
        return _within("step", int(proposal["value"]), 0, MOST - 1)

    @traitlets.validate("token_layout", "view")
    def _known(self, proposal: dict[str, Any]) -> str:
        name, value = proposal["trait"].name, str(proposal["value"])
        known = {"token_layout": LAYOUTS, "view": VIEWS}[name]
        if value not in known:
            raise ValueError(f"{name} must be one of {known}, got {value!r}")
        return value

    def __repr__(self) -> str:
        """Say the settings; the same in every run."""
        causal = ", causal" if self.is_causal else ""
        return (
            f"RingStepper({self.world_size} ranks of {self.tokens_per_rank} tokens, "
            f"{self.token_layout}{causal}, step {self.step})"
        )


def _within(name: str, value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise ValueError(f"{name} must be from {least} to {most}, got {value}")
    return value


def ring_stepper(
    world_size: int = 4,
    tokens_per_rank: int = 4,
    *,
    token_layout: str = "contiguous",
    is_causal: bool = True,
    step: int = 0,
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
        step: How many rotations are made at first.
        view: The tab that is open at first, "ring" or "ulysses".
        num_heads: Heads of queries, keys and values, at most 16, for the bytes and for Ulysses.
        d_k: Numbers in a head's key or value, for the bytes.
        bytes_per_element: Bytes of a number.

    Raises:
        TypeError: A number is not an int, or `is_causal` is not a bool.
        ValueError: A setting is out of its range.
    """
    check_int(world_size=world_size, tokens_per_rank=tokens_per_rank, step=step)
    check_int(num_heads=num_heads, d_k=d_k, bytes_per_element=bytes_per_element)
    check_instance(bool, is_causal=is_causal)
    _within("num_heads", num_heads, 1, 16)
    _within("step", step, 0, max(world_size - 1, 0))
    for name, size in (("d_k", d_k), ("bytes_per_element", bytes_per_element)):
        if size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")
    return RingStepper(
        world_size=world_size, tokens_per_rank=tokens_per_rank, token_layout=token_layout,
        is_causal=is_causal, step=step, view=view, num_heads=num_heads, d_k=d_k,
        bytes_per_element=bytes_per_element,
    )  # fmt: skip
