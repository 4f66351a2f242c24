"""The implementations on which tests are tried: right ways, and one fault at a time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from course_utils.clinic import attention_panel, cache_panel, rotation_panel, tiling_panel


@dataclass(frozen=True)
class Implementation:
    """One implementation.

    Attributes:
        name: What is special about it.
        make: Makes it afresh: some keep a state.
        is_right: Whether it keeps the contract.
    """

    name: str
    make: Callable[[], Callable[..., object]]
    is_right: bool


def _panel(
    right: Mapping[str, Callable[[], Callable[..., object]]],
    faults: Mapping[str, Callable[[], Callable[..., object]]],
) -> tuple[Implementation, ...]:
    kinds = ((right, True), (faults, False))
    return tuple(
        Implementation(name, make, is_right)
        for kind, is_right in kinds
        for name, make in kind.items()
    )


# By the exercise whose answer is a test of such implementations.
PANELS: Mapping[str, tuple[Implementation, ...]] = {
    "accepts_attention": _panel(attention_panel.RIGHT, attention_panel.FAULTS),
    "accepts_tiling": _panel(tiling_panel.RIGHT, tiling_panel.FAULTS),
    "accepts_cache": _panel(cache_panel.RIGHT, cache_panel.FAULTS),
    "accepts_rotation": _panel(rotation_panel.RIGHT, rotation_panel.FAULTS),
}
