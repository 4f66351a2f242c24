"""Exercise: a kernel instead of the softmax, and the products in another order."""

from typing import Any

import torch
from course_utils.attention import linear_attention
from course_utils.checking.exercise import Cost, case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import batch_mixed, fixed_axes
from course_utils.exercises.shared.linear import (
    BRANCH,
    FEATURES,
    OTHER_KINDS,
    PLACES,
    TOGETHER,
    TOTAL,
    epsilon_below,
    softmax_kept,
    work,
)
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.values import average_law
from course_utils.measure import largest_tensor
from torch import Tensor

RIGHT = """
def linear_attention(query, key, value):
    feature = lambda x: F.elu(x) + 1
    near = feature(query)
    far = feature(key)
    mixed = value
    below = far
    sums = below.sum(-2, keepdim=True)
    top = near @ (far.mT @ mixed)
    bottom = (near * sums).sum(-1, keepdim=True)
    out = top / bottom
    return out
"""
_WEIGHTS = "weights = near @ far.mT\n"


def _shifted(shift: float) -> Make:
    def make(g: torch.Generator) -> tuple[Tensor, ...]:
        return normal(g, 2, 3, 4) + shift, normal(g, 2, 5, 4) + shift, normal(g, 2, 5, 6)

    return make


def _long(length: int, g: torch.Generator) -> tuple[Any, ...]:
    return tuple(normal(g, 1, 1, length, 8, dtype=torch.float32) for _ in range(3))


_PAIRS_SAYS = (
    "The values are right, but every query meets every key, as if there were a softmax between them. Without one, the "
    "product of three can be taken in another order: which pair of them does not depend on the query?"
)

EXERCISE = exercise(
    linear_attention,
    right=RIGHT,
    asks="Average the values under the weights φ(q)·φ(k), φ = elu + 1, at a cost linear in length.",
    minutes=15,
    difficulty=3,
    importance=5,
    cases=(
        case("every size is 4: a transpose keeps the shape", batch=(4, 4), L=4, S=4, d_k=4, d_v=4),
        case("2 queries, 3 keys", L=2, S=3, d_k=4, d_v=5, gradient="equal"),
        case("small features: inputs about -14", _shifted(-14.0)),
        case("a batch: 5 queries, 7 keys", batch=(3,), L=5, S=7, d_k=4, d_v=2),
        case("leading axes (2, 3)", batch=(2, 3), L=5, S=4, d_k=6, d_v=7, gradient="equal"),
        case("more queries than keys", batch=(2,), L=9, S=3, d_k=5, d_v=4),
        case("one key: its value", batch=(2, 3), L=4, S=1, d_k=5, d_v=6),
        case("one query", batch=(2, 3), L=1, S=5, d_k=3, d_v=2),
        case("one of everything", batch=(1, 1), L=1, S=1, d_k=1, d_v=1),
        case("large features: inputs about 1000", _shifted(1000.0), gradient="equal"),
        case("70 queries, 130 keys", batch=(2,), L=70, S=130, d_k=4, d_v=3),
        case("non-contiguous inputs", batch=(2,), L=5, S=6, d_k=4, d_v=3, strided=True),
        case("float32", batch=(2,), L=5, S=7, d_k=16, d_v=4, dtype="float32", tolerance=1e-4),
        case("bfloat16", batch=(2,), L=3, S=5, d_k=4, d_v=6, dtype="bfloat16"),
    ),
    mistakes=(
        softmax_kept(),
        BRANCH,
        *FEATURES,
        *TOTAL,
        epsilon_below(lambda weights: weights, linear_attention),
        mistake("always causal", "Each query sees only keys up to its own position. Nobody asked for an order here.",
                f"{_WEIGHTS}top = weights.tril() @ mixed\nbottom = weights.tril().sum(-1, keepdim=True)",
                f"{_WEIGHTS}top = weights.tril() @ mixed", f"{_WEIGHTS}bottom = weights.tril().sum(-1, keepdim=True)"),
        mistake("normaliser over the queries", "All queries are divided by one number. Each query has its own sum of "
                "weights.", "out = top / bottom.sum(-2, keepdim=True)",
                f"{_WEIGHTS}out = weights / weights.sum(-2, keepdim=True) @ mixed"),
        mistake("keys summed over an axis counted from the front", "The keys are summed over an axis that is the right "
                "one for some numbers of axes only. Which axis holds the positions, counted from the end?",
                "sums = below.sum(0, keepdim=True)", "sums = below.sum(1, keepdim=True)",
                "sums = below.sum(-1, keepdim=True)"),
        *PLACES,
        mistake("state transposed", "The state was used with rows and columns swapped. It has a row for each "
                "feature of a key and a column for each number of a value.", "top = near @ (mixed.mT @ far)"),
        mistake("axes swapped that are not the last two", "Other axes than the last two were swapped, so heads or "
                "sequences met. Which two should swap, counted from the end?",
                *(f"top = near @ (far.{turned} @ mixed)" for turned in (
                    "transpose(0, 1)", "transpose(1, 2)", "permute(*range(far.dim() - 1, -1, -1))")),
                "top = near @ (far.transpose(1, 2) @ mixed)\nbottom = (near * below.sum(1, keepdim=True)).sum(-1, "
                "True)"),
        mistake("a key left out", "The first or the last key takes no part, above or below the fraction. Which numbers "
                "does your `range` give, and where does your slice end?",
                *(f"seen = (torch.arange(key.shape[-2]) {which}).to(key).unsqueeze(-1)\n{lines}"
                  for which in ("< key.shape[-2] - 1", "> 0")
                  for lines in ("far = feature(key) * seen", "mixed = value * seen", "below = far * seen"))),
        mistake("the weights not used", "Every query gets the same plain mean of the values. Where do the weights come "
                "in?",
                "out = value.mean(-2, keepdim=True).expand(*query.shape[:-1], -1) + 0 * (query.sum() + key.sum())",
                "out = value.sum(-2, keepdim=True).expand(*query.shape[:-1], -1)"),
        batch_mixed(*TOGETHER, "states = far.mT @ mixed\nall_keys = sums\n"
                    "top = near @ (states.sum(0) if key.dim() > 2 else states)\n"
                    "bottom = (near * (all_keys.sum(0) if key.dim() > 2 else all_keys)).sum(-1, keepdim=True)"),
        *OTHER_KINDS,
        fixed_axes("top = near @ torch.einsum('bhsd,bhse->bhde', far, mixed)",
                   "top = near @ torch.einsum('bsd,bse->bde', far, mixed)",
                   "top = near @ torch.einsum('sd,se->de', far, mixed)",
                   "top = torch.bmm(near, torch.bmm(far.transpose(1, 2), mixed))",
                   "batch, heads, length, width = query.shape\nnear = feature(query)",
                   "batch, length, width = query.shape\nnear = feature(query)",
                   "length, width = query.shape\nnear = feature(query)"),
        lower_precision(linear_attention, "top = (near.float() @ (far.float().mT @ mixed.float())).to(value.dtype)"),
        mistake("the table of pairs kept", _PAIRS_SAYS, f"{_WEIGHTS}top = weights @ mixed"),
    ),
    laws=(average_law(lambda args: args[2]),),
    costs=(
        Cost("the largest tensor", largest_tensor, (128, 1024), _long, 1.3, _PAIRS_SAYS, "the table of pairs kept"),
        Cost("the work", work, (128, 1024), _long, 1.3, _PAIRS_SAYS, "the table of pairs kept"),
    ),
    hints=(
        "Write the output of one query as a fraction: above Σ φ(q)·φ(k_s) v_s, below the same sum without the values. "
        "Which factor can be taken out of both sums?",
        "What is left in the sum above is a table of d_k × d_v numbers, and below a vector of d_k. Neither depends on "
        "the query: how often must they be computed?",
        "The table of all queries' weights has L × S entries. In (φ(Q) φ(K)ᵀ) V, which product should come first so "
        "that it never exists?",
        "Sum over the positions, the last axis but one. `keepdim` or `unsqueeze(-1)` keeps an axis for the division.",
    ),
)
