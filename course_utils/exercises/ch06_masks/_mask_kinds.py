"""What every mask can get wrong besides its rule: the kind of numbers, their sense, the axes."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception, Property

_NUMBERS = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.int32,
    torch.int64,
    torch.uint8,
)


def then(right: Function, change: Callable[[Tensor], Any]) -> Function:
    """Return a version that changes the right mask afterwards."""
    return lambda *args: change(right(*args))


def filled(mask: Tensor, low: float, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return the numbers to add: 0 where the mask is True, a low number elsewhere."""
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, low)


def _typed(dtype: torch.dtype, inverted: bool = False) -> Callable[[Tensor], Tensor]:
    return lambda mask: (~mask if inverted else mask).to(dtype)


def _unfilled(axis: int, index: int) -> Callable[[Tensor], Tensor]:
    return lambda mask: mask.index_fill(axis, torch.tensor([index % mask.shape[axis]]), False)


def wrong_kinds(
    right: Function, looped: tuple[int, ...] = (0, -2, -1)
) -> tuple[Misconception, ...]:
    """Return the mistakes about what a mask holds, for any mask with these axes to loop over."""
    return (
        Misconception(
            "numbers instead of booleans",
            then(right, _typed(torch.float32)),
            "The mask holds numbers. Added to scores, 1 and 0 hide nothing, and `~` and `&` mean "
            "something else on them or fail. Which dtype can only say yes or no?",
            also=(
                *(then(right, _typed(kind)) for kind in _NUMBERS),
                *(then(right, _typed(kind, inverted=True)) for kind in _NUMBERS),
            ),
        ),
        Misconception(
            "numbers to add instead of booleans",
            then(right, lambda mask: filled(mask, -torch.inf)),
            "These are numbers to be added to scores. The exercise asks for the mask itself: True "
            "where a query may attend. From that, such numbers can be made for any dtype; what "
            "does `&` do with -inf?",
            also=(
                then(right, lambda mask: filled(mask, -1e9)),
                then(right, lambda mask: filled(mask, -1e4)),
                then(right, lambda mask: filled(mask, torch.finfo(torch.float32).min)),
                then(right, lambda mask: filled(mask, -torch.inf, torch.float64)),
                then(right, lambda mask: filled(~mask, -torch.inf)),
                then(right, lambda mask: filled(~mask, -1e9)),
            ),
        ),
        Misconception(
            "inverted",
            then(right, torch.logical_not),
            "True and False are exchanged: True marks what is hidden. Some libraries mean it so; "
            "here, as in torch's SDPA, what does True allow?",
        ),
        Misconception(
            "a loop that leaves one out",
            then(right, _unfilled(0, -1)),
            "One row or column of the mask was never filled, all else is right. Which numbers does "
            "your `range` give?",
            also=tuple(then(right, _unfilled(axis, index)) for axis in looped for index in (0, -1)),
        ),
    )


def wrong_axes(right: Function, says: str, *changes: Callable[[Tensor], Tensor]) -> Misconception:
    """Return the mistake that the right values stand along other axes than asked for."""
    first, *rest = (then(right, change) for change in changes)
    return Misconception("axes added or missing", first, says, also=tuple(rest))


def rows_tell(law: str, right: Function) -> Property:
    """Return the law that shows, for the first wrong query, which keys it sees."""

    def broken(args: tuple[Any, ...], got: Tensor) -> str | None:
        wrong = (got != right(*args)).any(-1).nonzero()
        if not len(wrong):
            return None
        where = tuple(int(index) for index in wrong[0])
        keys = got[where].nonzero().flatten().tolist()
        seen = "no key" if not keys else f"key{'s' * (len(keys) > 1)} {_listed(keys)}"
        row = f"Query {where[-1]}" if len(where) == 1 else f"The row at index {list(where)}"
        return f"{row} sees {seen}."

    return Property(law, broken)


def _listed(keys: list[int]) -> str:
    shown = ", ".join(map(str, keys[:12]))
    return f"{shown}, ..." if len(keys) > 12 else shown
