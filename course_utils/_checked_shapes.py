"""Hold a tensor against its annotation: its dtype, its axes, and the sizes known by their names.

Nothing here imports torch: what draws takes tensors too, and is loaded faster than that.
"""

import functools
import sys
from typing import Any

Known = dict[str, Any]  # sizes by their names in shapes, and the one floating dtype
_DTYPE, _OWNER = "the floating dtype", "the object"


def is_shaped(kind: Any) -> bool:
    """Say whether an annotation is one of jaxtyping's."""
    return hasattr(kind, "dim_str")


def sizes_of(owner: Any) -> Known:
    """Return what is known before a call: an object's own sizes, and the object itself."""
    held = getattr(owner, "__dict__", {})
    return {name: size for name, size in held.items() if isinstance(size, int)} | {_OWNER: owner}


def check_tensor(name: str, tensor: Any, kind: Any, known: Known) -> None:
    """Raise unless the tensor has the annotation's dtype and axes, and the sizes known so far.

    Sizes that are not known yet are known from here on.

    Raises:
        TypeError: Its dtype is of another kind, or floating and another one.
        ValueError: Its axes are others, or a size is not the known one.
    """
    _check_dtype(name, tensor, kind, known)
    axes, fixed, least = _axes(kind)
    shape = tuple(tensor.shape)
    most = len(shape) if len(fixed) < len(axes) else len(fixed)
    if not least <= len(shape) <= most:
        raise ValueError(f"{name} must have the axes ({', '.join(axes)}), got {shape}")
    pairs = zip(reversed(fixed), reversed(shape), strict=False)
    for axis, size in reversed(list(pairs)):
        label = axis.removeprefix("#")
        if label == "_" or (label is not axis and size == 1):
            continue
        wanted = int(label) if label.isdigit() else known.get(label, size)
        if label.isidentifier():
            known[label] = wanted
        if (label.isidentifier() or label.isdigit()) and size != wanted:
            raise ValueError(
                f"{name} must have the axes ({', '.join(axes)}) with {label} = {wanted}, "
                f"got {shape}"
            )


@functools.cache
def _axes(kind: Any) -> tuple[list[str], list[str], int]:
    """Return an annotation's axes, those of them that stand for one each, and how many must be."""
    axes = kind.dim_str.split()
    fixed = [axis for axis in axes if not axis.startswith(("*", "..."))]
    return axes, fixed, 0 if any(axis.startswith("#") for axis in axes) else len(fixed)


def _check_dtype(name: str, tensor: Any, kind: Any, known: Known) -> None:
    allowed = kind.dtypes if isinstance(kind.dtypes, tuple | list) else ()
    is_float, is_bool = tensor.is_floating_point(), str(tensor.dtype) == "torch.bool"
    wanted, fits = "", True
    if "float32" in allowed:
        wanted, fits = "have a floating dtype", is_float
    elif "bool" in allowed:
        wanted, fits = "be boolean", is_bool
    elif "int64" in allowed:
        wanted, fits = "hold integers", not (is_float or is_bool or tensor.is_complex())
    if not fits:
        raise TypeError(f"{name} must {wanted}, got dtype {tensor.dtype}")
    if "float32" not in allowed:
        return
    if _DTYPE not in known:
        known[_DTYPE] = _own_dtype(known[_OWNER], tensor)
    if known[_DTYPE] != tensor.dtype:
        raise TypeError(f"{name} must have the dtype {known[_DTYPE]}, got {tensor.dtype}")


def _own_dtype(owner: Any, tensor: Any) -> Any:
    """Return the dtype of a module's parameters, or else that of the tensor."""
    # Autocast mixes dtypes on purpose.
    if not hasattr(owner, "parameters") or sys.modules["torch"].is_autocast_enabled("cpu"):
        return tensor.dtype
    floats = (one.dtype for one in owner.parameters() if one.is_floating_point())
    return next(floats, tensor.dtype)
