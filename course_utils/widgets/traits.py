"""The frame of a widget of the course: a page, and traits that say what they take.

A trait holds an argument and a control of the page to the same rule, with the same message. A
limit that follows from other traits is given as a function of the widget.
"""

import math
from collections.abc import Callable, Collection
from typing import Any, TypeVar

import anywidget
import traitlets

from course_utils.plain_validation import check_instance, check_int, check_number
from course_utils.widgets.assets import module, style

_T = TypeVar("_T", int, float)
_Limit = float | Callable[[Any], float]

Items = traitlets.List[Any]
"""A list whose entries the widget's function makes or a validator checks."""


class CourseWidget(anywidget.AnyWidget):
    """A widget with a module and a style sheet of one name; all its traits are sent."""

    def __init_subclass__(cls, *, page: str | None = None, **options: Any) -> None:
        if page is not None:
            cls._esm, cls._css = module(f"{page}/{page}.js"), style(f"{page}/{page}.css")
        for trait in vars(cls).values():
            if isinstance(trait, traitlets.TraitType):
                trait.tag(sync=True)
        super().__init_subclass__(**options)


class Flag(traitlets.TraitType[bool, bool]):
    """A bool, and nothing that only counts as one."""

    def validate(self, obj: Any, value: Any) -> bool:
        """Raise TypeError for anything else."""
        check_instance(bool, **{str(self.name): value})
        return bool(value)


class Choice(traitlets.TraitType[str, str]):
    """One of some names."""

    def __init__(
        self,
        names: Collection[str] | Callable[[Any], Collection[str]],
        default: str = "",
        **options: Any,
    ) -> None:
        super().__init__(default, **options)
        self.names = names

    def _cross_validate(self, obj: Any, value: str) -> Any:
        names = self.names(obj) if callable(self.names) else self.names
        if value not in names:
            raise ValueError(f"{self.name} must be one of {', '.join(names)}, got {value!r}")
        return super()._cross_validate(obj, value)


class _Limited(traitlets.TraitType[_T, _T]):
    """A number from `least` to `most`, both included."""

    rule = "from {least} to {most}"

    def __init__(
        self, default: _T, least: _Limit = -math.inf, most: _Limit = math.inf, **options: Any
    ) -> None:
        super().__init__(default, **options)
        self.least, self.most = least, most

    def fits(self, value: _T, least: float, most: float) -> bool:
        """Return whether the value is inside."""
        return least <= value <= most

    def _cross_validate(self, obj: Any, value: _T) -> Any:
        least, most = (end(obj) if callable(end) else end for end in (self.least, self.most))
        if not self.fits(value, least, most):
            rule = "at least {least}" if most == math.inf else self.rule
            said = rule.format(least=least, most=most)
            raise ValueError(f"{self.name} must be {said}, got {value}")
        return super()._cross_validate(obj, value)


class Number(_Limited[float]):
    """A float within limits."""

    def validate(self, obj: Any, value: Any) -> float:
        """Return an int as the float it is; raise TypeError for anything but numbers."""
        check_number(**{str(self.name): value})
        return float(value)


class Whole(_Limited[int]):
    """An int within limits."""

    def validate(self, obj: Any, value: Any) -> int:
        """Raise TypeError for anything else."""
        check_int(**{str(self.name): value})
        return int(value)


class Index(Whole):
    """An int within limits that counts places, from 0 or from -1."""

    rule = "in {least}..{most}"


class PowerOfTwo(Whole):
    """A power of two within limits."""

    rule = "a power of two from {least} to {most}"

    def fits(self, value: int, least: float, most: float) -> bool:
        """Return whether the value is inside and has one bit."""
        return super().fits(value, least, most) and value.bit_count() == 1
