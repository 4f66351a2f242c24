"""The implementations that tests are tried on: right ones, and one fault at a time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType

from course_utils.clinic import attention_panel, cache_panel, rotation_panel, tiling_panel


@dataclass(frozen=True)
class Implementation:
    """One implementation.

    Attributes:
        name: What is special about it.
        make: Makes a new one: some keep a state.
        is_right: Whether it keeps the contract.
    """

    name: str
    make: Callable[[], Callable[..., object]]
    is_right: bool


def _panel(module: ModuleType) -> tuple[Implementation, ...]:
    right = (Implementation(name, make, True) for name, make in module.RIGHT.items())
    wrong = (Implementation(name, make, False) for name, make in module.FAULTS.items())
    return (*right, *wrong)


# By the exercise whose answer is a test of such implementations.
PANELS: Mapping[str, tuple[Implementation, ...]] = {
    "accepts_attention": _panel(attention_panel),
    "accepts_tiling": _panel(tiling_panel),
    "accepts_cache": _panel(cache_panel),
    "accepts_rotation": _panel(rotation_panel),
}
