"""What goes wrong where attention's backward pass goes through the softmax."""

import torch

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch03_scaled_dot_product._backward_passes import (
    build,
    one,
    row_of_squares,
    through_softmax,
)

_SAYS_AXIS = "The sum that the softmax subtracts runs over the wrong axis. Over what does a row "

THROUGH_SOFTMAX = (
    Misconception(
        "half the Jacobian",
        build(through=lambda w, g: g * w * (1 - w)),
        "Only the diagonal of the softmax's Jacobian was used. A score also changes the other "
        "weights of its row: which term is missing?",
        also=(
            build(through=lambda w, g: g * w * (1 - w).square()),
            build(through=lambda w, g: g * w * (1 - w), backward=one),
            build(through=lambda w, g: g * w * (1 - w), forward=one, backward=one),
        ),
    ),
    Misconception(
        "the softmax forgotten",
        build(through=lambda w, g: g),
        "The gradient of the weights was used as that of the scores. What stands between scores "
        "and weights?",
        also=(build(through=lambda w, g: g, backward=one),),
    ),
    Misconception(
        "the row's average not subtracted",
        build(through=lambda w, g: w * g),
        "The gradients of a row's scores do not sum to 0. Raising all scores alike changes no "
        "weight: what is missing?",
        also=(build(through=lambda w, g: w * g, backward=one),),
    ),
    Misconception(
        "the weight forgotten outside the bracket",
        build(through=lambda w, g: g - (w * g).sum(-1, True)),
        "The row's average is subtracted, but the difference is not weighted. A score whose weight "
        "is 0 should move nothing: which factor sees to that?",
    ),
    Misconception(
        "the average outside the bracket",
        build(through=lambda w, g: w * g - (w * g).sum(-1, True)),
        "The weight multiplies only the first of the two terms. Which part of the formula stands "
        "inside the bracket?",
    ),
    Misconception(
        "no shift before exp",
        build(softmax=lambda s: s.exp() / s.exp().sum(-1, keepdim=True)),
        "Large scores give NaN: their exponentials overflow. What does a stable softmax subtract "
        "first?",
    ),
    Misconception(
        "row sum over the wrong axis",
        build(through=lambda w, g: w * (g - (w * g).sum(-2, keepdim=True))),
        _SAYS_AXIS + "of weights share 1 out?",
    ),
    Misconception(
        "row sum without the weights",
        build(through=lambda w, g: w * (g - g.sum(-1, keepdim=True))),
        "What is subtracted from a row's gradient must be its average under the weights: a sum of "
        "products. Of which two?",
        also=(
            build(through=lambda w, g: w * (g - g.mean(-1, keepdim=True))),
            build(through=lambda w, g: w * (g - (w * g).mean(-1, keepdim=True))),
            build(through=lambda w, g: w * (g - w.sum(-1, keepdim=True))),
            row_of_squares,
        ),
    ),
    Misconception(
        "row sum with the wrong sign",
        build(through=lambda w, g: w * (g + (w * g).sum(-1, keepdim=True))),
        "The average of the row's gradient was added. If one score rises, do the other weights "
        "rise or fall?",
        also=(build(through=lambda w, g: -w * (g + (w * g).sum(-1, keepdim=True))),),
    ),
    Misconception(
        "the softmax's sign flipped",
        build(through=lambda w, g: -through_softmax(w, g)),
        "The gradients of query and key point the other way, that of the value is right. Which two "
        "terms of the softmax's derivative were exchanged?",
    ),
    Misconception(
        "softmax over the queries",
        build(softmax=lambda s: torch.softmax(s, -2)),
        "The weights were computed over the wrong axis: the columns sum to 1 instead of the rows. "
        "Who shares its attention out among whom?",
        also=(
            build(
                softmax=lambda s: torch.softmax(s, -2),
                through=lambda w, g: w * (g - (w * g).sum(-2, keepdim=True)),
            ),
        ),
    ),
)
