"""The law that an average of values never leaves their range."""

from typing import Any

from torch import Tensor

from course_utils.checking.exercise import Property


def _outside(args: tuple[Any, ...], out: Tensor) -> str | None:
    value = args[2].detach().double()
    if value.shape[:-2] != out.shape[:-2]:  # shared by a group of heads
        value = value.repeat_interleave(out.shape[1] // value.shape[1], dim=1)
    # A query that may see nothing gives zeros.
    low, high = value.amin(-2, keepdim=True).clamp(max=0), value.amax(-2, keepdim=True).clamp(min=0)
    room = 0.05 * (high - low) + 1e-6
    got = out.detach().double()
    wrong = ((got < low - room) | (got > high + room) | got.isnan()).nonzero()
    if not len(wrong):
        return None
    where = tuple(int(index) for index in wrong[0])
    return (
        f"The output at index {list(where)} is {out[where].item():.4g}, outside the range of the "
        "values that it should average."
    )


IS_AVERAGE = Property("the output is an average of values", _outside)
