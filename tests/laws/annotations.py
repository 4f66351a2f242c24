"""Arguments that a function's annotations forbid: another kind or dtype, or axes that disagree."""

import re
from collections.abc import Mapping
from typing import Any

from beartype.door import is_bearable
from jaxtyping import AnnotationError, jaxtyped
from torch import Tensor

from tests.laws.annotated import Entry, array_of, kinds_of

OPERATOR = re.compile(r"\w[-+*/]|min\(|max\(")  # a size that is computed from those of others


def fits_alone(entry: Entry, name: str, value: Any) -> bool:
    """Return whether an argument may be of this kind, whatever its axes."""
    if name not in entry.parameters:
        return True
    annotation = entry.parameters[name].annotation
    kinds = kinds_of(annotation)
    if array_of(annotation) is not None and isinstance(value, Tensor):
        return True
    if isinstance(value, bool) and bool not in kinds and {int, float} & set(kinds):
        return False  # Python takes True for 1
    if type(value) is int and float in kinds:
        return True
    return any(is_bearable(value, kind) for kind in kinds)


def fits_together(entry: Entry, given: Mapping[str, Any]) -> bool:
    """Return whether the annotations allow all of the arguments, their axes and dtypes too."""
    asked = [name for name in entry.parameters if name in given and name != "self"]
    if not all(fits_alone(entry, name, given[name]) for name in asked):
        return False
    shapes = [(array_of(entry.parameters[name].annotation), given[name]) for name in asked]
    arrays = [(array, value) for array, value in shapes if array and isinstance(value, Tensor)]
    arrays.sort(key=lambda pair: bool(OPERATOR.search(pair[0].dim_str)))
    with jaxtyped("context"):
        return all(_agrees(array, value) for array, value in arrays)


def _agrees(array: Any, value: Tensor) -> bool:
    """Compare with an annotation; leading axes may broadcast, as `check_leading` lets them."""
    shape = re.sub(r"#?\*batch", "*#batch", array.dim_str)
    try:
        return isinstance(value, array.dtype[array.array_type, shape])
    except AnnotationError:  # the size is computed from one that is no axis
        return True
