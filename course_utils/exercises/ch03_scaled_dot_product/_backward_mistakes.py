"""What goes wrong in attention's backward pass: the whole, and its scale."""

import math

import torch

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch03_scaled_dot_product._backward_passes import (
    autograd,
    build,
    eighth,
    forward_instead,
    lower,
    one,
    root_of,
    scale_one_side,
    summed,
    value_from_output,
    value_from_scores,
)

WHOLE = (
    Misconception(
        "autograd inside",
        autograd,
        "Autograd did the work. The point is to write it: start from grad_out and walk the "
        "forward pass backwards.",
        sign=lambda trace: trace.used_autograd or "_softmax_backward_data" in trace.calls,
    ),
    Misconception(
        "every sign flipped",
        build(finish=lambda dq, dk, dv: (-dq, -dk, -dv)),
        "All gradients point the other way. Is a gradient asked for, or a step down along it?",
    ),
    Misconception(
        "grad_out ignored",
        lambda q, k, v, g: build()(q, k, v, torch.ones_like(g)),
        "Another grad_out gives the same answer: ones were put in its place. What does the chain "
        "rule start from?",
    ),
    Misconception(
        "always causal",
        build(softmax=lambda s: stable_softmax(s.masked_fill(~lower(s), -torch.inf))),
        "The backward pass is that of causal attention. This exercise has no mask.",
    ),
    Misconception(
        "the batch summed",
        build(finish=summed),
        "The gradients of all sequences or heads were added together. Each has its own inputs: "
        "over which axes may be summed?",
    ),
    Misconception(
        "gradients in another order",
        build(finish=lambda dq, dk, dv: (dk, dq, dv)),
        "The gradients come back in another order. In which order were their tensors given?",
        also=(
            build(finish=lambda dq, dk, dv: (dv, dk, dq)),
            build(finish=lambda dq, dk, dv: (dq, dv, dk)),
            build(finish=lambda dq, dk, dv: (dk, dv, dq)),
            build(finish=lambda dq, dk, dv: (dv, dq, dk)),
        ),
    ),
    Misconception(
        "the value's gradient wrong",
        build(value_weights=lambda weights, grad_scores: grad_scores),
        "The gradients of query and key are right, that of the value is not. The output is weights "
        "times values and nothing else: what multiplies grad_out on the way back to the values?",
        also=(
            build(value_weights=lambda w, g: torch.ones_like(w)),
            value_from_output,
            value_from_scores,
            build(finish=lambda dq, dk, dv: (dq, dk, dv / math.sqrt(dq.shape[-1]))),
            build(value_weights=lambda w, g: torch.ones_like(w) / w.shape[-1]),
        ),
    ),
    Misconception(
        "the output instead of the gradients",
        forward_instead,
        "This is the forward pass. Its output's gradient is given: three gradients are asked for.",
    ),
    Misconception(
        "the root of the wrong size",
        build(forward=root_of("v", -1), backward=root_of("v", -1)),
        "The scale is a root, but not of the width of query and key. Over how many products does "
        "one score sum?",
        also=tuple(
            build(**steps)
            for root in (root_of("k", -2), root_of("q", -2), root_of("v", -1), eighth)
            for steps in ({"forward": root, "backward": root}, {"backward": root})
        ),
    ),
    Misconception(
        "no scale on the way back",
        build(backward=one),
        "The gradients of query and key are √d_k times too large. The scores were scaled on the "
        "way there; what does the chain rule do with a factor?",
    ),
    Misconception(
        "no scale on the way there",
        build(forward=one),
        "The weights that the backward pass uses are those of unscaled scores. Which weights did "
        "the forward pass use?",
    ),
    Misconception(
        "no scale at all",
        build(forward=one, backward=one),
        "This is the backward pass of attention without a scale. Where does 1/√d_k enter, there "
        "and back?",
    ),
    Misconception(
        "divided by d_k",
        build(forward=lambda q, k, v: 1 / q.shape[-1], backward=lambda q, k, v: 1 / q.shape[-1]),
        "The scale is 1/d_k somewhere. d_k is the variance of q·k: what should a score be divided "
        "by, there and back?",
        also=(
            build(backward=lambda q, k, v: 1 / q.shape[-1]),
            build(forward=lambda q, k, v: 1 / q.shape[-1]),
        ),
    ),
    Misconception(
        "multiplied by the root of d_k on the way back",
        build(backward=lambda q, k, v: math.sqrt(q.shape[-1])),
        "The scale was undone instead of applied: a factor stays the same factor in the chain "
        "rule.",
    ),
    Misconception(
        "scale on one of the two only",
        scale_one_side(0),
        "One of the gradients of query and key is √d_k times too large, the other right. Do not "
        "both come from the same scaled scores?",
        also=(scale_one_side(1),),
    ),
)
