"""Mistakes with digits: an answer that is right, but only to fewer of them than it was given."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.mistakes import Mistake, mistake


def lower_precision(reference: Callable[..., Tensor], *versions: str) -> Mistake:
    """Return the mistake of computing in float32 what came in float64, as these lines do; to stand last."""

    def explains(args: tuple[Any, ...], got: Tensor) -> bool:
        right = reference(*args).detach()
        off = (got.detach() - right).abs().max() if got.numel() and got.shape == right.shape else torch.inf
        return right.dtype == torch.float64 and 0 < float(off) < 3e-6 * float(right.abs().max())

    return mistake("in lower precision", "Right, but only to about seven digits: float64 came in, and something was "
                   "computed in float32. Which line changes the type?", *versions, matches=explains)
