"""What goes wrong in the softmax's derivative: each mistake as something to run."""

import math

import torch
from torch import Tensor

from course_utils.attention import softmax_jacobian
from course_utils.checking.exercise import Misconception


def _outer(w: Tensor) -> Tensor:
    return w.unsqueeze(-1) * w.unsqueeze(-2)


def _eye(w: Tensor) -> Tensor:
    return torch.eye(w.shape[-1], dtype=w.dtype)


def softmax_of_sums(w: Tensor) -> Tensor:
    """Renormalise first."""
    return softmax_jacobian(w / w.sum(-1, keepdim=True))


def _autograd(w: Tensor) -> Tensor:
    flat = w.detach().reshape(-1, w.shape[-1]).clamp(min=1e-300).log()
    rows = [torch.autograd.functional.jacobian(lambda s: torch.softmax(s, -1), row) for row in flat]
    return torch.stack(rows).reshape(*w.shape, w.shape[-1])


MISCONCEPTIONS = (
    Misconception(
        "autograd inside",
        _autograd,
        "Autograd did the work. The point is the formula: what does one weight do when another "
        "one's score rises?",
        sign=lambda trace: trace.used_autograd,
    ),
    Misconception(
        "the diagonal only",
        lambda w: torch.diag_embed(w * (1 - w)),
        "Only the diagonal is filled. The weights share 1 out: when one score rises, what happens "
        "to the other weights?",
        also=(
            lambda w: w * (1 - w),
            lambda w: torch.diag_embed(w),
            lambda w: torch.diag_embed(w - w.square()),
        ),
    ),
    Misconception(
        "the diagonal missing",
        lambda w: -_outer(w),
        "A weight's answer to its own score is not positive here, though a rising score raises its "
        "weight. What comes on top where i = j?",
        also=(lambda w: -_outer(w) + torch.diag_embed(w.square()),),
    ),
    Misconception(
        "sign of the rest flipped",
        lambda w: torch.diag_embed(w) + _outer(w),
        "A rising score raises every weight here, but together they must stay at 1. Which sign "
        "have the entries off the diagonal?",
        also=(
            lambda w: torch.diag_embed(w * (1 - w)) + _outer(w) - torch.diag_embed(w.square()),
            _outer,
        ),
    ),
    Misconception(
        "every sign flipped",
        lambda w: _outer(w) - torch.diag_embed(w),
        "All signs are flipped: here a rising score lowers its own weight. Which way does it go?",
    ),
    Misconception(
        "the square subtracted twice",
        lambda w: torch.diag_embed(w * (1 - w)) - _outer(w),
        "The rows do not sum to 0: on the diagonal the square of the weight was taken away twice. "
        "Which of the two terms holds it already?",
    ),
    Misconception(
        "the same weight twice",
        lambda w: w.unsqueeze(-1) * (_eye(w) - w.unsqueeze(-1)),
        "Off the diagonal only one of the two weights plays a part. The slope of weight i in score "
        "j depends on both: which axis of the table belongs to which?",
        also=(lambda w: w.unsqueeze(-2) * (_eye(w) - w.unsqueeze(-2)),),
    ),
    Misconception(
        "weights made to sum to 1 once more",
        lambda w: softmax_of_sums(w),
        "A row of zeros gives NaN: it was divided by its sum. The weights are used as given.",
    ),
    Misconception(
        "scaled",
        lambda w: (torch.diag_embed(w) - _outer(w)) / math.sqrt(w.shape[-1]),
        "All slopes are off by one factor. No scale enters here: it belongs to the scores.",
        also=(
            lambda w: (torch.diag_embed(w) - _outer(w)) / w.shape[-1],
            lambda w: (torch.diag_embed(w) - _outer(w)) * 2,
        ),
    ),
    Misconception(
        "the order of the scores lost",
        lambda w: (torch.diag_embed(w) - _outer(w)).flip(-1),
        "The columns are in another order than the scores.",
        also=(lambda w: (torch.diag_embed(w) - _outer(w)).flip(-2),),
    ),
    Misconception(
        "one in place of the weight",
        lambda w: _eye(w).expand(*w.shape, -1) - _outer(w),
        "A factor is missing: with all weight on one key the table should be zero, and here it is "
        "not. What makes the slope of a weight of 0 vanish?",
        also=(
            lambda w: torch.eye(w.shape[-1], dtype=w.dtype) - w.unsqueeze(-2).expand(*w.shape, -1),
            lambda w: torch.eye(w.shape[-1], dtype=w.dtype) - w.unsqueeze(-1).expand(*w.shape, -1),
        ),
    ),
    Misconception(
        "one minus the other weight everywhere",
        lambda w: w.unsqueeze(-1) * (1 - w.unsqueeze(-2)),
        "Off the diagonal the slopes are positive, so a rising score raises all weights. One rule "
        "was used for all pairs: is it the same for a weight's own score and for another's?",
    ),
    Misconception(
        "softmax applied once more",
        lambda w: softmax_jacobian(torch.softmax(w, -1)),
        "This is the slope at other weights: a softmax was applied to what had been through one. "
        "What is given, scores or weights?",
    ),
    Misconception(
        "rows of the batch mixed",
        lambda w: torch.diag(w.flatten()) - torch.outer(w.flatten(), w.flatten()),
        "The table is as large as the whole batch. Each row of weights has a table of its own: "
        "which axes may an outer product touch?",
        also=(lambda w: torch.diag(w) - torch.outer(w, w),),
    ),
)
