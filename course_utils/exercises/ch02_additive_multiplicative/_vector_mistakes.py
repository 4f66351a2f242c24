"""What goes wrong with v, which makes one score of a hidden layer. `make` exchanges a part."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception


def _none(hidden: Tensor) -> Tensor:
    return hidden


def vector_mistakes(make: Callable[..., Function]) -> tuple[Misconception, ...]:
    """Return the mistakes between the hidden layer and the scores; `make` exchanges a part."""

    def read(number: Callable[[Tensor, Tensor], Any], **more: Any) -> Function:
        return make(read=number, **more)

    return (
        Misconception(
            "v inside the tanh",
            make(squash=_none, read=lambda h, v: (h @ v).tanh()),
            "The tanh came last, so no score leaves the range from -1 to 1, and the hidden layer "
            "is not bent at all. What does tanh enclose in the formula?",
            also=(
                make(squash=_none, read=lambda h, v: (h * v).tanh().sum(-1)),
                make(squash=_none, read=lambda h, v: torch.tanh(v * h)),
                make(squash=_none, read=lambda h, v: torch.tanh(h + v).sum(-1)),
                make(
                    on_query=lambda a, m: a @ m,
                    join=lambda q, k: (q.unsqueeze(2), k.unsqueeze(1)),
                    squash=lambda parts: parts,
                    read=lambda parts, v: (parts[0] @ v).tanh() + (parts[1] @ v).tanh(),
                ),
            ),
        ),
        Misconception(
            "v left out",
            read(lambda h, v: h.sum(-1)),
            "All features of the hidden layer count the same. What says how much each of them "
            "counts?",
            also=(
                read(lambda h, v: h.mean(-1)),
                read(lambda h, v: h),
                read(lambda h, v: h.norm(dim=-1)),
            ),
        ),
        Misconception(
            "v not summed over",
            read(lambda h, v: h * v),
            "A score is one number for each pair; here every feature is still there. What follows "
            "after multiplying with `v`?",
            also=(read(lambda h, v: (h * v).amax(-1)), read(lambda h, v: (h * v).prod(-1))),
        ),
        Misconception(
            "v on the wrong axis",
            read(lambda h, v: (h * v).sum(-2)),
            "`v` was paired with queries or keys, or the sum ran over them. Which axis has the "
            "length of `v`?",
            also=(
                read(lambda h, v: (h * v).sum(1)),
                read(lambda h, v: h.mT @ v),
                read(lambda h, v: (h * v[:, None]).sum(-1)),
                read(lambda h, v: (h * v[:, None]).sum(-2)),
                read(lambda h, v: (h * v[:, None, None]).sum(1)),
                read(lambda h, v: (h * v[:, None, None]).sum(-1)),
            ),
        ),
        Misconception(
            "v changed first",
            read(lambda h, v: h @ (v / v.norm())),
            "`v` was normalised or turned into weights before it was used. It is used as given.",
            also=(
                read(lambda h, v: h @ v.softmax(-1)),
                read(lambda h, v: h @ v.tanh()),
                read(lambda h, v: h @ v.abs()),
                read(lambda h, v: h @ (v / v.sum())),
            ),
        ),
    )
