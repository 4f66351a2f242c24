"""Mistakes with digits: an answer that is right, but only to fewer of them than it was given."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from course_utils.checking.mistakes import Mistake, mistake


def rounded_off(reference: Callable[..., Tensor], *versions: str) -> Mistake:
    """Return the mistake of a result that was rounded to some places after the point."""

    def explains(args: tuple[Any, ...], got: Tensor) -> bool:
        right = reference(*args).detach()
        if got.shape != right.shape or not bool(got.any()):
            return False
        return any(torch.allclose(got.detach(), right.round(decimals=places), 0.0, 1e-9) for places in range(1, 7))

    return mistake("rounded", "Right, but only to a few places after the point: something was rounded. Which line does "
                   "that, and who asked for it?", *versions, matches=explains)


def lower_precision(reference: Callable[..., Any], *versions: str) -> Mistake:
    """Return the mistake of computing in float32 what came in float64, as these lines do; to stand last."""

    def rounded(got: Tensor, right: Tensor) -> bool:
        off = (got.detach() - right).abs().max() if got.numel() and got.shape == right.shape else torch.inf
        if right.dtype != torch.float64 or not 0 < float(off) < 0.1 * float(right.abs().max()):
            return False
        # What went through 16 bits at the end is one of their few numbers.
        few = any(torch.equal(got.detach(), got.detach().to(kind).double()) for kind in (torch.bfloat16, torch.float16))
        return few or float(off) < 3e-6 * float(right.abs().max())

    def explains(args: tuple[Any, ...], got: Any) -> bool:
        pairs = list(zip(tree_leaves(got), tree_leaves(reference(*args)), strict=True))
        if not all(isinstance(one, Tensor) and isinstance(other, Tensor) for one, other in pairs):
            return False
        parts = [(one.detach(), other.detach()) for one, other in pairs]
        same = [torch.equal(one, other) for one, other in parts]
        return not all(same) and all(ok or rounded(*pair) for ok, pair in zip(same, parts, strict=True))

    return mistake("in lower precision", "Right, but only to its first digits: float64 came in, and something was "
                   "computed in a smaller type, such as float32. Which line changes it?", *versions, matches=explains)
