"""The picture of chapter 10: text made token by token, what is kept of it, and what it costs."""

from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from course_utils.plain_validation import (
    check_int,
    check_strings,
)
from course_utils.widgets._assets import module, style

KINDS = ("none", "mha", "gqa", "mqa", "window")
"""What can be kept: nothing, the keys and values of every head, of groups, of one, or a window."""

TEXT = (
    "the cache keeps keys and values of earlier tokens so that each new token costs one row "
    "and not the whole text again"
)

RANGES = {
    "prompt": (1, 63),
    "chunk": (1, 63),
    "window": (1, 16),
    "num_sinks": (0, 4),
    "num_layers": (1, 96),
}
POWERS = {
    "num_heads": (1, 32),
    "num_kv_heads": (1, 32),
    "d_k": (16, 256),
    "bytes_per_element": (1, 4),
}


class DecodeStepper(anywidget.AnyWidget):
    """The widget that ``decode_stepper`` makes; its traits follow the controls."""

    _esm = module("decode_stepper.js")
    _css = style("decode_stepper.css")

    tokens: "traitlets.List[str]" = traitlets.List(
        traitlets.Unicode(), help="The text: a prompt, and what the model is said to answer."
    ).tag(sync=True)
    kind = traitlets.Enum(KINDS, "mha", help="What is kept of earlier tokens.").tag(sync=True)
    step = traitlets.Int(0, min=0, help="How many steps have been taken.").tag(sync=True)
    prompt = traitlets.Int(8, help="How many tokens are known at the start.").tag(sync=True)
    chunk = traitlets.Int(8, help="How many tokens of the prompt a step feeds.").tag(sync=True)
    window = traitlets.Int(8, help="How many positions a window keeps, the own counted.").tag(
        sync=True
    )
    num_sinks = traitlets.Int(2, help="First positions that a window keeps for good.").tag(
        sync=True
    )
    num_layers = traitlets.Int(12, help="Layers of the model.").tag(sync=True)
    num_heads = traitlets.Int(8, help="Query heads; a power of two.").tag(sync=True)
    num_kv_heads = traitlets.Int(2, help="Heads of keys and values where they are shared.").tag(
        sync=True
    )
    d_k = traitlets.Int(64, help="Width of a head; a power of two.").tag(sync=True)
    bytes_per_element = traitlets.Int(2, help="4, 2 or 1: float32, half, int8.").tag(sync=True)

    @traitlets.validate(*RANGES)
    def _inside(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, int(proposal["value"])
        low, high = RANGES[name]
        if not low <= value <= high:
            raise ValueError(f"{name} must be from {low} to {high}, got {value}")
        return value

    @traitlets.validate(*POWERS)
    def _power(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, int(proposal["value"])
        low, high = POWERS[name]
        if not low <= value <= high or value.bit_count() != 1:
            raise ValueError(f"{name} must be a power of two from {low} to {high}, got {value}")
        return value

    def __repr__(self) -> str:
        """Say the settings; the same in every run."""
        return f"DecodeStepper({self.kind}, {self.prompt} of {len(self.tokens)} tokens given)"


def decode_stepper(
    tokens: Sequence[str] = tuple(TEXT.split()), *, kind: str = "mha", prompt: int = 8, **sizes: int
) -> DecodeStepper:
    """Step through the making of a text: what is fed, what is kept, what it costs.

    Args:
        tokens: The text, from 2 to 64 tokens.
        kind: One of ``KINDS``.
        prompt: How many of the tokens are given at the start; at least one is left to predict.
        **sizes: Other traits: chunk, window, num_sinks, num_layers, num_heads, num_kv_heads, d_k,
            bytes_per_element, step.

    Raises:
        TypeError: `tokens` is one string, or a size has an unknown name or is not an int.
        ValueError: The kind does not exist, or a number is out of its range.
    """
    check_strings(tokens=tokens)
    if not 2 <= len(tokens) <= 64:
        raise ValueError(f"tokens must be from 2 to 64, got {len(tokens)}")
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if not 1 <= prompt < len(tokens):
        raise ValueError(f"prompt must be from 1 to {len(tokens) - 1}, got {prompt}")
    known = {"step", *RANGES, *POWERS}
    if unknown := sorted(sizes.keys() - known):
        raise TypeError(f"sizes must be among {', '.join(sorted(known))}, got {unknown[0]!r}")
    check_int(prompt=prompt, **sizes)
    return DecodeStepper(tokens=list(tokens), kind=kind, prompt=prompt, **{"chunk": prompt} | sizes)
