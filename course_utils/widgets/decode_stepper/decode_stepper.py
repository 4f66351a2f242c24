"""The picture of chapter 10: text made token by token, what is kept of it, and what it costs."""

from collections.abc import Sequence

import traitlets

from course_utils.plain_validation import check_strings
from course_utils.widgets.traits import Choice, CourseWidget, PowerOfTwo, Whole

KINDS = ("none", "mha", "gqa", "mqa", "window")
"""Choices of what is kept: nothing, keys and values of all heads, groups or one, or a window."""

TEXT = (
    "the cache keeps keys and values of earlier tokens so that each new token costs one row "
    "and not the whole text again"
)

SIZES = (
    "bytes_per_element", "chunk", "d_k", "num_heads", "num_kv_heads", "num_layers", "num_sinks",
    "step", "window",
)  # fmt: skip


class DecodeStepper(CourseWidget, page="decode_stepper"):
    """The widget that ``decode_stepper`` makes; its traits follow the controls."""

    tokens = traitlets.List(
        traitlets.Unicode(), help="The text: a prompt, and what the model is said to answer."
    )
    kind = Choice(KINDS, "mha", help="What is kept of earlier tokens.")
    step = Whole(0, 0, help="How many steps have been taken.")
    prompt = Whole(8, 1, 63, help="How many tokens are known at the start.")
    chunk = Whole(8, 1, 63, help="How many tokens of the prompt a step feeds.")
    window = Whole(8, 1, 16, help="How many positions a window keeps, the query's own included.")
    num_sinks = Whole(2, 0, 4, help="First positions that a window keeps for good.")
    num_layers = Whole(12, 1, 96, help="Layers of the model.")
    num_heads = PowerOfTwo(8, 1, 32, help="Query heads.")
    num_kv_heads = PowerOfTwo(2, 1, 32, help="Heads of keys and values where they are shared.")
    d_k = PowerOfTwo(64, 16, 256, help="Width of a head.")
    bytes_per_element = PowerOfTwo(2, 1, 4, help="4, 2 or 1: float32, half, int8.")

    def __repr__(self) -> str:
        return f"DecodeStepper({self.kind}, {self.prompt} of {len(self.tokens)} tokens given)"


def decode_stepper(
    tokens: Sequence[str] = tuple(TEXT.split()), *, kind: str = "mha", prompt: int = 8, **sizes: int
) -> DecodeStepper:
    """Step through the generation of a text: what is fed, what is kept, what it costs.

    Args:
        tokens: The text, from 2 to 64 tokens.
        kind: One of ``KINDS``.
        prompt: How many of the tokens are given at the start; at least one is left to predict.
        **sizes: Other traits: chunk, window, num_sinks, num_layers, num_heads, num_kv_heads, d_k,
            bytes_per_element, step; nine steps are taken where it is left out.
    """
    check_strings(tokens=tokens)
    if not 2 <= len(tokens) <= 64:
        raise ValueError(f"tokens must be from 2 to 64, got {len(tokens)}")
    if not 1 <= prompt < len(tokens):
        raise ValueError(f"prompt must be from 1 to {len(tokens) - 1}, got {prompt}")
    if unknown := sorted(sizes.keys() - set(SIZES)):
        raise TypeError(f"sizes must be among {', '.join(SIZES)}, got {unknown[0]!r}")
    opening = {"chunk": prompt, "step": min(9, len(tokens) - prompt)}
    return DecodeStepper(tokens=list(tokens), kind=kind, prompt=prompt, **opening | sizes)
