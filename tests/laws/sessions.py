"""Sessions in which a verdict must be the same as in a fresh one."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

import numpy as np
import torch
from torch.overrides import TorchFunctionMode


@contextmanager
def for_good(change: Callable[[], object], back: Callable[[], object]) -> Iterator[None]:
    """Change something as a notebook does, without a `with`."""
    change()
    try:
        yield
    finally:
        back()


class _Spoiling(TorchFunctionMode):
    """A mode of the session that spoils every call it sees."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise RuntimeError("the session's own mode was called")


STATES: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "gradients off for good": lambda: for_good(
        lambda: torch.set_grad_enabled(False), lambda: torch.set_grad_enabled(True)
    ),
    "no_grad around it": torch.no_grad,
    "inference_mode around it": torch.inference_mode,
    "float64 by default": lambda: for_good(
        lambda: torch.set_default_dtype(torch.float64),
        lambda: torch.set_default_dtype(torch.float32),
    ),
    "float16 by default": lambda: for_good(
        lambda: torch.set_default_dtype(torch.float16),
        lambda: torch.set_default_dtype(torch.float32),
    ),
    "another device by default": lambda: for_good(
        lambda: torch.set_default_device("meta"), lambda: torch.set_default_device(None)
    ),
    "another device around it": lambda: torch.device("meta"),
    "autocast around it": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "deterministic algorithms": lambda: for_good(
        lambda: torch.use_deterministic_algorithms(True),
        lambda: torch.use_deterministic_algorithms(False),
    ),
    "anomaly detection": lambda: for_good(
        lambda: torch.autograd.set_detect_anomaly(True),
        lambda: torch.autograd.set_detect_anomaly(False),
    ),
    "another kernel of attention": lambda: torch.nn.attention.sdpa_kernel(
        torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION
    ),
    "numpy raises": lambda: np.errstate(all="raise"),
    "a mode of its own": _Spoiling,
}


@contextmanager
def all_at_once() -> Iterator[None]:
    with ExitStack() as entered:
        for name, state in STATES.items():
            if name not in ("another device around it", "float64 by default"):  # there is another
                entered.enter_context(state())
        yield


def one_of_them(number: int) -> AbstractContextManager[object]:
    """Return the state of that number, as if they came again and again; one is a fresh session."""
    chosen = [nullcontext, *STATES.values(), all_at_once]
    return chosen[number % len(chosen)]()
