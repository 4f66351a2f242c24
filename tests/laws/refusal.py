"""Laws of unusual arguments: a function serves them, or says what must hold."""

import linecache
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import TypeCheckError
from torch import Tensor

WRONG = (None, "x", 3, -1, 1.5, True, [1.0, 2.0], np.ones((2, 3)), torch.arange(6).reshape(2, 3))
OTHERS = (
    lambda x: x[..., :-1],
    lambda x: x[..., None],
    lambda x: x[None],
    lambda x: x.flatten(),
    lambda x: x.sum(),
    lambda x: x.long(),
    lambda x: x.bool(),
    lambda x: x.to(torch.complex64),
    lambda x: x.to(torch.float32 if x.dtype == torch.float64 else torch.float64),
)


def call(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Return the result, or None where the function refuses the input with an error of ours.

    Ours is a TypeError or ValueError that a `raise` in the course's own code raises: an error of
    Python or torch in one of our lines is not. jaxtyping's is, in
    the modules that tests/conftest.py holds to their annotations.
    """
    try:
        return function(**arguments)
    except TypeCheckError:
        return None
    except (TypeError, ValueError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        line = linecache.getline(last.filename, last.lineno or 0).strip()
        if "course_utils" in last.filename and line.startswith("raise "):
            return None
        raise


def reshaped(value: Any) -> list[Any]:
    """Return a tensor with other axes, sizes and dtypes; nothing for anything else."""
    if not isinstance(value, Tensor) or value.dim() == 0:
        return []
    return [change(value) for change in OTHERS]
