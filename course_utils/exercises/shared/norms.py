"""Mistakes in a norm over the features of each row.

The lines speak of `x`, `gain` and `eps`, the arguments, of `out`, which is returned, and of the steps

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
from course_utils.exercises.shared.kinds import cut_off, other_kinds

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
            "the root of 1e-6 is 1e-3. What is eps added to?", "spread = variance.sqrt() + room",
            "normed = centred / (variance.sqrt() + room)", "spread = (variance + room).sqrt() + room",
            "normed = centred / variance.sqrt() + room"),
    mistake("eps left out", "A row that has no spread is divided by 0. What keeps the divisor away from it?",
            "room = 0.0"),
    mistake("the root taken twice", "The spread is the root of a root: a standard deviation is a root already. "
            "Of what is the root taken, and to what is eps added?", "spread = (variance.sqrt() + room).sqrt()",
            "spread = (centred.std(-1, keepdim=True) + room).sqrt()", "spread = (variance + room).sqrt().sqrt()"),
    mistake("the eps that was given is ignored", "With another eps the result stays what it was. Where is the argument "
            "used?", "room = {default}"),
    mistake("another eps than the one asked for", "Rows of small numbers come out slightly too large or too small: "
            "libraries use 1e-5, 1e-6, 1e-8 and 1e-12. Which one does the signature say?",
            *(f"room = {eps} if eps == {{default}} else eps" for eps in ("1e-5", "1e-6", "1e-8", "1e-12", "1e-3"))),
    mistake("eps as a lower limit", "A lower limit keeps the divisor away from 0, where the formula changes every "
            "row's a little: these are different numbers. What does the formula do with eps?",
            "spread = variance.clamp_min(room).sqrt()", "spread = variance.sqrt().clamp_min(room)"),
    mistake("eps squared", "eps stands under the root as it is, not its square.",
            "spread = (variance + room**2).sqrt()"),
    mistake("eps subtracted", "eps was subtracted, so a row without spread has no root. Which way should it push the "
            "divisor?", "spread = (variance - room).sqrt()"),
    mistake("eps in the sum", "eps was added before the division by the number of features, so its share shrinks with "
            "the width. What is eps added to, a sum or a mean?",
            "spread = (variance + room / x.shape[-1]).sqrt()",
            "spread = (variance * x.shape[-1] / (x.shape[-1] + room)).sqrt()"),
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
            "before the mean is taken?", "variance = centred.abs().mean(-1, keepdim=True).square()",
            "spread = centred.abs().mean(-1, keepdim=True) + room", "spread = centred.abs().mean(-1, keepdim=True)"),
    mistake("a feature left out", "Not all features count in the row's size. Where do your loop, or your slice, begin "
            "and end?", "variance = centred[..., :-1].square().sum(-1, keepdim=True) / x.shape[-1]",
            "variance = centred[..., 1:].square().sum(-1, keepdim=True) / x.shape[-1]",
            "variance = centred[..., :-1].square().sum(-1, keepdim=True) / max(x.shape[-1] - 1, 1)",
            "variance = centred[..., 1:].square().sum(-1, keepdim=True) / max(x.shape[-1] - 1, 1)",
            "half = centred[..., : (x.shape[-1] + 1) // 2]\nvariance = half.square().mean(-1, keepdim=True)"),
    mistake("the square of the mean", "The mean was taken first and squared then. Numbers of both signs cancel that "
            "way: which comes first?", "variance = centred.mean(-1, keepdim=True).square()",
            "variance = x.mean(-1, keepdim=True).square()"),
    mistake("not divided", "The rows keep their own size. What are they divided by?", "normed = centred"),
    mistake("multiplied by the spread", "Large rows become larger still. Which way should the spread push them?",
            "normed = centred * spread"),
    mistake("divided by the largest number", "Each row was divided by its largest number, or by the distance between "
            "its largest and its smallest. Whose size counts in a norm of this kind?",
            "spread = centred.abs().amax(-1, keepdim=True) + room", "spread = centred.abs().amax(-1, keepdim=True)",
            "spread = centred.amax(-1, keepdim=True) - centred.amin(-1, keepdim=True) + room"),
    mistake("a softmax", "The rows were made positive and to sum to 1. What does a norm do to a row's size?",
            "normed = centred.softmax(-1)"),
    mistake("the input added", "The input was added to the output. The residual belongs to the layer around the norm. "
            "What is asked for here?", "return out + x"),
    *other_kinds("out"),
    cut_off("return out.detach()"),
)


def one_for_all(*lines: str) -> Mistake:
    """Return the mistake of one token's statistics used for all, or one sequence's; `{}` stands for the rows."""
    rows = ("x.reshape(-1, x.shape[-1])[:1]", "x[:1]", "x[..., :1, :]", "x.reshape(-1, x.shape[-1])[-1:]", "x[-1:]")
    return mistake("one token's statistics for all", "The size of one token, or of one sequence, was used for all "
                   "others. Whose numbers does a token's vector have?",
                   *("\n".join(line.replace("{}", row) for line in lines) for row in rows))


def in_float32(reference: Callable[..., Tensor], *versions: str) -> Mistake:
    """Return the mistake of taking 64 bits to 32: of whatever steps, it is known by its rounding."""

    def is_so(args: tuple[Any, ...], got: Tensor) -> bool:
        want = reference(*args)
        if got.dtype != torch.float64 or want.dtype != torch.float64 or equal(got, want) or not equal(got, want, 1e-5):
            return False
        larger = (got.abs() > want.abs())[got != want]
        return bool(larger.any()) and not bool(larger.all())  # rounding goes both ways

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
