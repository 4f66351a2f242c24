"""What goes wrong in attention's backward pass: each mistake as something to run."""

import math
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Function, Misconception

Three = tuple[Tensor, Tensor, Tensor]


def _through_softmax(weights: Tensor, grad: Tensor) -> Tensor:
    return weights * (grad - (weights * grad).sum(-1, keepdim=True))


def build(
    forward: Any = lambda d_k: 1 / math.sqrt(d_k),
    backward: Any = lambda d_k: 1 / math.sqrt(d_k),
    softmax: Any = stable_softmax,
    through: Any = _through_softmax,
    value_weights: Any = lambda weights, grad_scores: weights,
    finish: Any = lambda dq, dk, dv: (dq, dk, dv),
) -> Function:
    """Return the backward pass with some of its steps exchanged."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, grad_out: Tensor) -> Any:
        d_k = query.shape[-1]
        weights = softmax(query @ key.mT * forward(d_k))
        grad_scores = through(weights, grad_out @ value.mT)
        scaled = grad_scores * backward(d_k)
        grad_value = value_weights(weights, grad_scores).mT @ grad_out
        return finish(scaled @ key, scaled.mT @ query, grad_value)

    return wrong


def _autograd(query: Tensor, key: Tensor, value: Tensor, grad_out: Tensor) -> Any:
    with torch.enable_grad():
        given = [x.detach().requires_grad_() for x in (query, key, value)]
        out = torch.softmax(given[0] @ given[1].mT / math.sqrt(query.shape[-1]), -1) @ given[2]
        return torch.autograd.grad(out, given, grad_out)


def _forward_instead(query: Tensor, key: Tensor, value: Tensor, grad_out: Tensor) -> Tensor:
    return stable_softmax(query @ key.mT / math.sqrt(query.shape[-1])) @ value


def _scale_one_side(index: int) -> Function:
    def finish(dq: Tensor, dk: Tensor, dv: Tensor) -> Three:
        root = math.sqrt(dq.shape[-1])
        return (dq * root, dk, dv) if index == 0 else (dq, dk * root, dv)

    return build(finish=finish)


def _one(d_k: int) -> float:
    return 1.0


_SAYS_AXIS = "The sum that the softmax subtracts runs over the wrong axis. Over what does a row "

MISCONCEPTIONS = (
    Misconception(
        "autograd inside",
        _autograd,
        "Autograd did the work. The point is to write it: start from grad_out and walk the "
        "forward pass backwards.",
        sign=lambda trace: trace.used_autograd,
    ),
    Misconception(
        "half the Jacobian",
        build(through=lambda w, g: g * w * (1 - w)),
        "Only the diagonal of the softmax's Jacobian was used. A score also changes the other "
        "weights of its row: which term is missing?",
        also=(build(through=lambda w, g: g * w * (1 - w).square()),),
    ),
    Misconception(
        "the softmax forgotten",
        build(through=lambda w, g: g),
        "The gradient of the weights was used as that of the scores. What stands between scores "
        "and weights?",
        also=(
            build(through=lambda w, g: w * g),
            build(through=lambda w, g: g - (w * g).sum(-1, True)),
        ),
    ),
    Misconception(
        "no scale on the way back",
        build(backward=_one),
        "The gradients of query and key are √d_k times too large. The scores were scaled on the "
        "way there; what does the chain rule do with a factor?",
    ),
    Misconception(
        "no scale on the way there",
        build(forward=_one),
        "The weights that the backward pass uses are not those of the forward pass: they are "
        "those of unscaled scores.",
    ),
    Misconception(
        "no scale at all",
        build(forward=_one, backward=_one),
        "This is the backward pass of attention without a scale. Where does 1/√d_k enter, there "
        "and back?",
    ),
    Misconception(
        "divided by d_k",
        build(forward=lambda d: 1 / d, backward=lambda d: 1 / d),
        "The scale is 1/d_k where it should be its root's inverse.",
        also=(build(backward=lambda d: 1 / d), build(forward=lambda d: 1 / d)),
    ),
    Misconception(
        "multiplied by the root of d_k on the way back",
        build(backward=math.sqrt),
        "The scale was undone instead of applied: a factor stays the same factor in the chain "
        "rule.",
    ),
    Misconception(
        "scale on one of the two only",
        _scale_one_side(0),
        "One of the gradients of query and key is √d_k times too large, the other right. Both "
        "come from the same scaled scores.",
        also=(_scale_one_side(1),),
    ),
    Misconception(
        "row sum over the wrong axis",
        build(through=lambda w, g: w * (g - (w * g).sum(-2, keepdim=True))),
        _SAYS_AXIS + "of weights share 1 out?",
    ),
    Misconception(
        "row sum without the weights",
        build(through=lambda w, g: w * (g - g.sum(-1, keepdim=True))),
        "What is subtracted from a row's gradient must be its average under the weights. Which "
        "factor is missing in the sum?",
        also=(build(through=lambda w, g: w * (g - g.mean(-1, keepdim=True))),),
    ),
    Misconception(
        "row sum with the wrong sign",
        build(through=lambda w, g: w * (g + (w * g).sum(-1, keepdim=True))),
        "The average of the row's gradient was added. If one score rises, do the other weights "
        "rise or fall?",
        also=(build(through=lambda w, g: -_through_softmax(w, g)),),
    ),
    Misconception(
        "softmax over the queries",
        build(softmax=lambda s: torch.softmax(s, -2)),
        "The weights were computed over the wrong axis: the columns sum to 1 instead of the rows.",
        also=(
            build(
                softmax=lambda s: torch.softmax(s, -2),
                through=lambda w, g: w * (g - (w * g).sum(-2, keepdim=True)),
            ),
        ),
    ),
    Misconception(
        "gradients in another order",
        build(finish=lambda dq, dk, dv: (dk, dq, dv)),
        "The gradients come back in another order than query, key, value.",
        also=(
            build(finish=lambda dq, dk, dv: (dv, dk, dq)),
            build(finish=lambda dq, dk, dv: (dq, dv, dk)),
            build(finish=lambda dq, dk, dv: (dk, dv, dq)),
            build(finish=lambda dq, dk, dv: (dv, dq, dk)),
        ),
    ),
    Misconception(
        "value's gradient from the wrong table",
        build(value_weights=lambda weights, grad_scores: grad_scores),
        "The gradient of the values was taken through the gradient of the scores. The output is "
        "weights times values: what multiplies the values?",
        also=(
            build(value_weights=lambda w, g: torch.ones_like(w)),
            build(value_weights=lambda w, g: torch.ones_like(w) / w.shape[-1]),
        ),
    ),
    Misconception(
        "the output instead of the gradients",
        _forward_instead,
        "This is the forward pass. Its output's gradient is given: three gradients are asked for.",
    ),
)
