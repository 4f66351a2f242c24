"""The settings on which a verdict could depend: the judge has its own, whatever the session's are.

`judging` sets them and puts the session's back. What a learner's call leaves changed is put back
too, by `isolation`, from the same table.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch._C import _len_torch_dispatch_stack, _len_torch_function_stack
from torch.overrides import _pop_mode, _push_mode
from torch.utils import _device
from torch.utils._python_dispatch import _disable_current_modes


class Setting(NamedTuple):
    """One setting: what it is called, how it is read and written, and what the judge has."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]
    own: Any


def _autocast(device: str) -> Setting:
    return Setting(
        f"torch's autocast for {device}",
        lambda: torch.is_autocast_enabled(device),
        lambda on: torch.set_autocast_enabled(device, on),
        False,
    )


def _kernels() -> tuple[bool, ...]:
    cuda = torch.backends.cuda
    return (
        cuda.flash_sdp_enabled(),
        cuda.mem_efficient_sdp_enabled(),
        cuda.math_sdp_enabled(),
        cuda.cudnn_sdp_enabled(),
    )


def _enable_kernels(on: tuple[bool, ...]) -> None:
    cuda = torch.backends.cuda
    for enable, one in zip(
        (cuda.enable_flash_sdp, cuda.enable_mem_efficient_sdp, cuda.enable_math_sdp,
         cuda.enable_cudnn_sdp), on, strict=True,
    ):  # fmt: skip
        enable(one)


_determined = torch.are_deterministic_algorithms_enabled
_warns_only = torch.is_deterministic_algorithms_warn_only_enabled
_determine = torch.use_deterministic_algorithms
_detects, _detects_nan = torch.is_anomaly_enabled, torch.is_anomaly_check_nan_enabled

# The functions are bound here, so that a call that replaces them in torch cannot hide its changes.
SETTINGS: tuple[Setting, ...] = (
    Setting(
        "torch's default dtype", torch.get_default_dtype, torch.set_default_dtype, torch.float32
    ),
    Setting("torch's gradient mode", torch.is_grad_enabled, torch._C._set_grad_enabled, True),
    _autocast("cpu"),
    _autocast("cuda"),
    Setting(
        "torch's deterministic algorithms",
        lambda: (_determined(), _warns_only()),
        lambda on: _determine(on[0], warn_only=on[1]),
        (False, False),
    ),
    Setting(
        "torch's anomaly detection",
        lambda: (_detects(), _detects_nan()),
        lambda on: torch.set_anomaly_enabled(*on),
        (False, True),
    ),
    Setting(
        "torch's precision of matrix products",
        torch.get_float32_matmul_precision,
        torch.set_float32_matmul_precision,
        "highest",
    ),
    Setting("torch's choice of attention kernels", _kernels, _enable_kernels, (True,) * 4),
    Setting(
        "numpy's handling of floating-point errors",
        np.geterr,
        lambda errors: np.seterr(**errors),
        {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"},
    ),
)


def session() -> dict[str, str]:
    """Return the session's settings in words, for a report."""
    now = {setting.name: str(setting.read()) for setting in SETTINGS}
    device, inference = _device.CURRENT_DEVICE or "cpu", torch.is_inference_mode_enabled()
    return now | {"torch's default device": str(device), "torch's inference mode": str(inference)}


@contextlib.contextmanager
def judging() -> Iterator[None]:
    """Work under the judge's own settings, and put back those of the session."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(_without_modes())
        for setting in SETTINGS:
            before = setting.read()
            if before != setting.own:
                setting.write(setting.own)
            stack.callback(_put_back, setting, before)
        yield


def _put_back(setting: Setting, before: Any) -> None:
    if setting.read() != before:
        setting.write(before)


class Modes:
    """The number of modes that watch torch's functions; the default device is one of them."""

    def __init__(self) -> None:
        self._count = _len_torch_function_stack()
        self._device = _default_device()

    def restore(self) -> list[str]:
        """Leave every mode that a call has entered; name what it changed."""
        entered = [_pop_mode() for _ in range(_len_torch_function_stack() - self._count)]
        changed = _default_device() is not self._device
        _set_default_device(self._device)
        if changed:
            return ["torch's default device"]
        return ["the modes that torch's functions run in"] if entered else []


@contextlib.contextmanager
def _without_modes() -> Iterator[None]:
    """Leave all of the session's modes, and enter them again: a default device is one of them."""
    watched = _len_torch_dispatch_stack() > 0  # by modes that watch torch's operations
    with _disable_current_modes() if watched else contextlib.nullcontext():
        held = [_pop_mode() for _ in range(_len_torch_function_stack())]
        device, current = _default_device(), _device.CURRENT_DEVICE
        _set_default_device(None)
        nothing = Modes()
        try:
            yield
        finally:
            nothing.restore()
            _set_default_device(device)
            _device.CURRENT_DEVICE = current
            for mode in reversed(held):
                _push_mode(mode)


def _default_device() -> Any:
    return getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)


def _set_default_device(context: Any) -> None:
    """Name the mode that is the default device, without entering or leaving it."""
    torch._GLOBAL_DEVICE_CONTEXT.device_context = context
    _device.CURRENT_DEVICE = None if context is None else context.device
