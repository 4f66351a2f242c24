"""Mistakes in a norm over the features of each row.

The lines speak of `x`, `gain` and `eps`, the arguments, and of the steps

    room = eps
    centred = ...
    variance = centred.square().mean(-1, keepdim=True)
    spread = (variance + room).sqrt()
    normed = centred / spread

where `centred` is what is divided: x less its mean, or x itself.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.compare import equal
from course_utils.checking.mistakes import Mistake, Trace, mistake

_OWN = {
    "layer_norm", "rms_norm", "group_norm", "instance_norm", "batch_norm", "native_layer_norm", "_fused_rms_norm",
    "native_batch_norm", "native_group_norm",
}  # fmt: skip


def calls_norm(trace: Trace) -> bool:
    """Return whether one of PyTorch's own norms was called."""
    return bool(_OWN & trace.calls)


def norm_inside(*versions: str) -> Mistake:
    """Return the mistake of calling PyTorch's own norm, as these lines do."""
    return mistake("PyTorch's own norm inside", "PyTorch's own norm did the work. The point is to write it: which "
                   "numbers of a row does it need?", *versions, detects=calls_norm)


EPS = (
    mistake("eps outside the root", "eps was added to the root. Where a row's spread is small, that is another number: "
            "the root of 1e-6 is 1e-3. What is eps added to?", "spread = variance.sqrt() + room"),
    mistake("eps left out", "A row that has no spread is divided by 0. What keeps the divisor away from it?",
            "room = 0.0"),
    mistake("the eps that was given is ignored", "With another eps the result stays what it was. Where is the argument "
            "used?", "room = {default}"),
    mistake("another eps than the one asked for", "Rows of small numbers come out slightly too large or too small: "
            "libraries use 1e-5, 1e-6, 1e-8 and 1e-12. Which one does the signature say?",
            *(f"room = {eps} if eps == {{default}} else eps" for eps in ("1e-5", "1e-6", "1e-8", "1e-12", "1e-3"))),
    mistake("eps as a lower limit", "The variance was replaced by eps where it is smaller. Both keep the divisor away "
            "from 0, but they are different numbers. What does the formula do with eps?",
            "spread = variance.clamp_min(room).sqrt()", "spread = variance.sqrt().clamp_min(room)"),
    mistake("eps squared", "eps stands under the root as it is, not its square.",
            "spread = (variance + room**2).sqrt()"),
)


def eps(default: str) -> tuple[Mistake, ...]:
    """Return the mistakes with eps, for a function with this default."""
    return tuple(
        mistake(one.name, one.says, *(version.replace("{default}", default) for version in map(str, one.versions)
                                      if version != f"room = {default} if eps == {{default}} else eps"))
        for one in EPS
    )


SPREAD = (
    mistake("the sum of squares instead of their mean", "A row's size grows with its width: the squares were summed. "
            "Which number stays the same for twice as many features of the same kind?",
            "variance = centred.square().sum(-1, keepdim=True)"),
    mistake("divided by the variance", "A row of numbers twice as large comes out smaller, not equal. What must be "
            "taken of the mean square before it divides?", "spread = variance + room"),
    mistake("the mean absolute value", "The size is the mean of the absolute values. What happens to each number "
            "before the mean is taken?", "variance = centred.abs().mean(-1, keepdim=True).square()"),
    mistake("not divided", "The rows keep their own size. What are they divided by?", "normed = centred"),
    mistake("multiplied by the spread", "Large rows become larger still. Which way should the spread push them?",
            "normed = centred * spread"),
    mistake("divided by the largest number", "Each row was divided by its largest number. Whose size counts in a norm "
            "of this kind?", "spread = centred.abs().amax(-1, keepdim=True) + room"),
)


def in_float32(reference: Callable[..., Tensor], *versions: str) -> Mistake:
    """Return the mistake of taking 64 bits to 32: of whatever steps, it is known by its rounding."""

    def is_so(args: tuple[Any, ...], got: Tensor) -> bool:
        want = reference(*args)
        return got.dtype == want.dtype == torch.float64 and equal(got, want, 1e-5) and not equal(got, want)

    return mistake("float64 lost on the way", "64 bits were taken to 32: half of the digits are gone. Which dtypes "
                   "need more room, and which have it?", *versions, matches=is_so)


def over_another_axis(*lines: str) -> Mistake:
    """Return the mistake of statistics over other axes; `{}` stands where the axes are named."""
    axes = ("-2", "0", "(-2, -1)", "tuple(range(x.dim()))", "tuple(range(x.dim() - 1))", "1")
    flat = ".reshape(-1, x.shape[-1])"  # all tokens of all sequences, as in a batch norm
    batch = "\n".join(line.replace("{}, keepdim=True", "0").replace(".square()", f"{flat}.square()")
                      .replace("x.mean", f"x{flat}.mean") for line in lines)  # fmt: skip
    return mistake("statistics over another axis", "One token's result depends on other tokens, or on other sequences: "
                   "mean or spread were taken over another axis than the features. Whose numbers does one token's "
                   "vector have?", *("\n".join(line.replace("{}", axis) for line in lines) for axis in axes),
                   batch)
