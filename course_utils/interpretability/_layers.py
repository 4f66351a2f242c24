"""The check of the input to rollout, flow and gradient attention: weights, layer by layer."""

from collections.abc import Sequence

from torch import Tensor

from course_utils.validation import check_same_dtype, check_shape


def check_layers(axes: str, /, **lists: Sequence[Tensor]) -> None:
    """Raise unless each is a list of square tensors with these axes, all of one shape and dtype."""
    for name, layers in lists.items():
        if not isinstance(layers, list | tuple):
            raise TypeError(f"{name} must be a list of tensors, got {type(layers).__name__}")
        if not layers:
            raise ValueError(f"{name} must hold at least one layer, got none")
    named = {f"{name}[{i}]": one for name, layers in lists.items() for i, one in enumerate(layers)}
    check_same_dtype(axes, **named)
    first = next(iter(named.values()))
    check_shape((*first.shape[:-1], first.shape[-2]), **named)
