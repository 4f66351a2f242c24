"""What goes wrong in the tiled backward pass: the scale, and what comes back."""

import math
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch09_flash._back_causal_mistakes import CAUSAL
from course_utils.exercises.ch09_flash._back_place_mistakes import PLACES
from course_utils.exercises.ch09_flash._back_softmax_mistakes import SOFTMAX
from course_utils.exercises.ch09_flash._back_tensor_mistakes import TENSORS
from course_utils.exercises.ch09_flash._back_way_mistakes import WAYS
from course_utils.exercises.ch09_flash._walking_back import build


def _one(q: Tensor, k: Tensor, v: Tensor, at: Any) -> float:
    return 1.0


def _squared(q: Tensor, k: Tensor, v: Tensor, at: Any) -> float:
    return 1 / q.shape[-1]


def _times_root(q: Tensor, k: Tensor, v: Tensor, at: Any) -> float:
    return math.sqrt(q.shape[-1])


def _half_scaled(which: int) -> Function:
    """Return the backward pass whose scale is missing from dq or dk."""

    def last(dq: Tensor, dk: Tensor, dv: Tensor, query: Tensor) -> Any:
        root = math.sqrt(query.shape[-1])
        return (dq * root, dk, dv) if which == 0 else (dq, dk * root, dv)

    return build(last=last)


def _forward_instead(q: Tensor, k: Tensor, v: Tensor, out: Tensor, *rest: Any) -> Any:
    return out.clone(), k.clone(), v.clone()


def _ones(*args: Any) -> Any:
    q, k, v, out, lse, grad, *rest = args
    return build()(q, k, v, out, lse, torch.ones_like(grad), *rest)


def _in_float32(*args: Any) -> Any:
    parts = [x.float() if isinstance(x, Tensor) else x for x in args]
    return tuple(x.to(args[0].dtype) for x in build()(*parts))


FACTORS = (
    Misconception(
        "no scale on the way back",
        build(scale_back=_one),
        "dv is right; dq and dk are √d times too large. The scores were scaled on the way there: "
        "what does the chain rule do with a factor?",
    ),
    Misconception(
        "no scale on the way there",
        build(scale=_one),
        "The weights are made of unscaled scores, which lse does not fit. Which scores did the "
        "forward pass take the logsumexp of?",
        also=(build(scale=_one, scale_back=_one),),
    ),
    Misconception(
        "scaled twice",
        build(scale_back=_squared),
        "A factor 1/√d was applied once too often, there or back. How often did it multiply the "
        "scores?",
        also=(
            build(scale=_squared),
            build(scale=_squared, scale_back=_squared),
            build(last=lambda dq, dk, dv, q: (dq / q.shape[-1] ** 0.5, dk, dv)),
            build(last=lambda dq, dk, dv, q: (dq, dk / q.shape[-1] ** 0.5, dv)),
            build(last=lambda dq, dk, dv, q: (dq, dk, dv / q.shape[-1] ** 0.5)),
            build(last=lambda dq, dk, dv, q: tuple(x / q.shape[-1] ** 0.5 for x in (dq, dk, dv))),
        ),
    ),
    Misconception(
        "another scale",
        build(scale_back=_times_root),
        "The factor on the way back is not the one on the way there. Over how many products does "
        "one score sum?",
        also=(
            build(scale=_times_root, scale_back=_times_root),
            build(scale=_times_root),
            build(scale_back=lambda q, k, v, at: at.num_keys**-0.5),
            build(scale_back=lambda q, k, v, at: at.block_k**-0.5),
            build(scale_back=lambda q, k, v, at: at.block_q**-0.5),
            build(scale_back=lambda q, k, v, at: q.shape[1] ** -0.5),
            build(scale_back=lambda q, k, v, at: 1 / 8),
            build(scale=lambda q, k, v, at: at.num_keys**-0.5),
            build(scale=lambda q, k, v, at: at.block_k**-0.5),
            build(scale=lambda q, k, v, at: at.block_q**-0.5),
            build(scale=lambda q, k, v, at: q.shape[1] ** -0.5),
            build(
                scale=lambda q, k, v, at: at.num_keys**-0.5,
                scale_back=lambda q, k, v, at: at.num_keys**-0.5,
            ),
            build(
                scale=lambda q, k, v, at: q.shape[1] ** -0.5,
                scale_back=lambda q, k, v, at: q.shape[1] ** -0.5,
            ),
        ),
    ),
    Misconception(
        "the scale on one of the two only",
        _half_scaled(0),
        "One of dq and dk is √d times too large, the other right. Both come from the same scaled "
        "scores. Was the query scaled before the loop, and used so for dk too?",
        also=(_half_scaled(1),),
    ),
)
RETURNED = (
    Misconception(
        "every sign flipped",
        build(last=lambda dq, dk, dv, q: (-dq, -dk, -dv)),
        "All gradients point the other way. Is a gradient asked for, or a step down along it?",
    ),
    Misconception(
        "grad_out ignored",
        _ones,
        "Another grad_out gives the same answer: ones were put in its place. What does the chain "
        "rule start from?",
    ),
    Misconception(
        "the value's gradient wrong",
        build(for_value=lambda weights, ds: ds),
        "dq and dk are right, dv is not. The output is weights times values and nothing else: "
        "what multiplies grad_out on the way back to the values?",
        also=(
            build(for_value=lambda weights, ds: torch.ones_like(weights)),
            build(for_value=lambda weights, ds: weights.square()),
            build(last=lambda dq, dk, dv, q: (dq, dk, torch.zeros_like(dv))),
        ),
    ),
    Misconception(
        "query and key swapped",
        build(
            sides=lambda q, k: (
                q.mean(2, keepdim=True).expand_as(k),
                k.mean(2, keepdim=True).expand_as(q),
            )
        ),
        "The scores' gradient met the wrong side: for dq it is multiplied by the keys, for dk, "
        "transposed, by the queries.",
        also=(
            build(
                last=lambda dq, dk, dv, q: (
                    (dk, dq, dv) if dq.shape == dk.shape else (dq.flip(2), dk.flip(2), dv)
                )
            ),
        ),
    ),
    Misconception(
        "gradients in another order",
        build(last=lambda dq, dk, dv, q: (dk, dq, dv)),
        "The gradients come back in another order. In which order were their tensors given?",
        also=(
            build(last=lambda dq, dk, dv, q: (dq, dv, dk)),
            build(last=lambda dq, dk, dv, q: (dv, dk, dq)),
            build(last=lambda dq, dk, dv, q: (dk, dv, dq)),
            build(last=lambda dq, dk, dv, q: (dv, dq, dk)),
        ),
    ),
    Misconception(
        "the output instead of the gradients",
        _forward_instead,
        "What came in was given back. Three gradients are asked for: how does the loss change "
        "with each entry of query, key and value?",
    ),
    Misconception(
        "in lower precision",
        _in_float32,
        "The gradients were summed in float32, although float64 came in. Which line makes a tensor "
        "without saying of which type?",
    ),
)
MISCONCEPTIONS = (*WAYS, *SOFTMAX, *FACTORS, *RETURNED, *TENSORS, *PLACES, *CAUSAL)
