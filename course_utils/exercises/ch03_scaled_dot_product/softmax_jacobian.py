"""Exercise: how every weight answers to every score."""

from typing import Any

import torch
from course_utils.attention import softmax_jacobian
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.gradients import autograd_inside
from course_utils.exercises.shared.kinds import (
    cut_off,
    fixed_axes,
    left_in,
    other_kinds,
    overwritten,
    through_numpy,
    writing,
)
from course_utils.exercises.shared.scale import multiple
from torch import Tensor

RIGHT = """
def softmax_jacobian(weights):
    diagonal = torch.diag_embed(weights)
    products = weights.unsqueeze(-1) * weights.unsqueeze(-2)
    slopes = diagonal - products
    return slopes
"""
_EYE = "eye = torch.eye(weights.shape[-1], dtype=weights.dtype)\n"
_ANEW = "diagonal = torch.diag_embed(weights)"


def _weights(*shape: int, sharpness: float = 1.0, dtype: torch.dtype = torch.float64) -> Any:
    return lambda g: (torch.softmax(normal(g, *shape, size=sharpness), -1).to(dtype),)


def _with_zeros(g: torch.Generator) -> tuple[Tensor]:
    weights = torch.softmax(normal(g, 2, 4, 3), -1)
    weights[0, 1] = 0.0
    weights[1, 2] = torch.tensor([0.0, 1.0, 0.0])
    return (weights,)


def _through_softmax(fn: Function, scores: Tensor) -> Any:
    """Use the function as it is used: on weights that come from scores."""
    return fn(torch.softmax(scores, -1))


def _multiple(args: tuple[Any, ...], got: Tensor) -> bool:
    return multiple(softmax_jacobian(args[0]), got)


def _rows_sum_to_zero(args: tuple[Any, ...], out: Tensor) -> str | None:
    sums = out.detach().double().sum(-1)
    wrong = (sums.abs() > 1e-3).nonzero()
    if not len(wrong):
        return None
    where = tuple(int(i) for i in wrong[0])
    return f"Row {list(where)} sums to {sums[where].item():.4g}, not to 0."


EXERCISE = exercise(
    softmax_jacobian,
    right=RIGHT,
    asks="From the weights alone, give the slope of weight i with respect to score j, for all i and j.",
    minutes=12,
    difficulty=3,
    importance=4,
    cases=(
        case("one row of 3 weights", _weights(3), gradient="finite"),
        case("a batch of shape (2, 5), 4 weights", _weights(2, 5, 4)),
        case("a saturated row", _weights(2, 6, sharpness=20.0)),
        case("a row of zeros and a row with a single 1", _with_zeros, gradient="finite"),
        case("one weight only", _weights(3, 1)),
        case("non-contiguous inputs", lambda g: (strided(torch.softmax(normal(g, 4, 6), -1)),)),
        case("three leading axes", _weights(2, 1, 3, 4)),
        case("weights that come from scores", lambda g: (normal(g, 2, 5),), run=_through_softmax, gradient="equal"),
        case("float32", _weights(3, 7, dtype=torch.float32)),
        case("bfloat16", _weights(3, 4, dtype=torch.bfloat16)),
    ),
    mistakes=(
        autograd_inside(
            "Autograd did the work. The point is the formula: what does one weight do when another one's score rises?",
            "logs = weights.detach().reshape(-1, weights.shape[-1]).clamp(min=1e-300).log()\n"
            "rows = [torch.autograd.functional.jacobian(lambda s: torch.softmax(s, -1), row) for row in logs]\n"
            "slopes = torch.stack(rows).reshape(*weights.shape, weights.shape[-1])",
        ),
        mistake("the diagonal only", "Only the diagonal is filled. The weights sum to 1: when one score rises, what "
                "happens to the other weights?", "slopes = torch.diag_embed(weights * (1 - weights))",
                "slopes = weights * (1 - weights)", "slopes = diagonal"),
        mistake("the diagonal missing", "A weight's answer to its own score is not positive here, though a rising "
                "score raises its weight. What comes on top where i = j?",
                "slopes = -products", "slopes = torch.diag_embed(weights.square()) - products"),
        mistake("sign of the rest flipped", "A rising score raises every weight here, but together they must stay at "
                "1. Which sign do the entries off the diagonal have?", "slopes = diagonal + products",
                "slopes = torch.diag_embed(weights - 2 * weights.square()) + products", "slopes = products",
                "slopes = torch.diag_embed(weights * (1 - weights)) + products"),
        mistake("every sign flipped", "All signs are flipped: here a rising score lowers its own weight. Which way "
                "does it go?", "slopes = products - diagonal"),
        mistake("the square subtracted twice", "The rows do not sum to 0: on the diagonal the square of the weight was "
                "taken away twice. Which of the two terms holds it already?",
                "diagonal = torch.diag_embed(weights * (1 - weights))"),
        mistake("the same weight twice", "Off the diagonal only one of the two weights plays a part. The slope of "
                "weight i in score j depends on both: which axis of the table belongs to which?",
                _EYE + "slopes = weights.unsqueeze(-1) * (eye - weights.unsqueeze(-1))",
                _EYE + "slopes = weights.unsqueeze(-2) * (eye - weights.unsqueeze(-2))",
                _EYE + "slopes = diagonal - eye * products - (1 - eye) * weights.unsqueeze(-1)",
                _EYE + "slopes = diagonal - eye * products - (1 - eye) * weights.unsqueeze(-2)"),
        mistake("half of the table", "Only one half of the table is right: above or below the diagonal the products "
                "are missing. Does every weight feel every score?", "slopes = (diagonal - products).tril()",
                "slopes = (diagonal - products).triu()", "slopes = diagonal - products.tril()",
                "slopes = diagonal - products.triu()", "slopes = diagonal - products.tril(-1)",
                "slopes = diagonal - products.triu(1)"),
        mistake("the products added up", "The products of the weights were added up, and one number was subtracted "
                "everywhere. Each pair has a product of its own: what makes a column times a row?",
                "slopes = diagonal - weights.T @ weights", "slopes = diagonal - weights.mT @ weights",
                "slopes = diagonal - weights @ weights",
                "slopes = diagonal - weights.square().sum(-1)[..., None, None]"),
        mistake("one table for the whole batch", "The products of all rows were added together, or those of one row "
                "used for all. Each row of weights has a table of its own.",
                'products = torch.einsum("...i,...j->ij", weights, weights)',
                "first = weights.reshape(-1, weights.shape[-1])[0]\nproducts = weights.unsqueeze(-1) * first",
                "first = weights.reshape(-1, weights.shape[-1])[0]\nproducts = torch.outer(first, first)"),
        mistake("weights made to sum to 1 once more", "A row of zeros gives NaN: it was divided by its sum. The "
                "weights are used as given.", f"weights = weights / weights.sum(-1, keepdim=True)\n{_ANEW}"),
        mistake("scaled", "All slopes are off by one factor. No scale enters here: it belongs to the scores.",
                "slopes = (diagonal - products) / math.sqrt(weights.shape[-1])", matches=_multiple),
        mistake("the order of the scores lost", "The columns are in another order than the scores.",
                "slopes = (diagonal - products).flip(-1)", "slopes = (diagonal - products).flip(-2)"),
        mistake("one in place of the weight", "A factor is missing: with all weight on one key the table should be "
                "zero, and here it is not. What makes the slope of a weight of 0 vanish?",
                _EYE + "slopes = eye - products", _EYE + "slopes = eye - weights.unsqueeze(-2)",
                _EYE + "slopes = eye - weights.unsqueeze(-1)"),
        mistake("one minus the other weight everywhere", "Off the diagonal the slopes are positive, so a rising score "
                "raises all weights. One rule was used for all pairs: is it the same for a weight's own score and for "
                "another's?", "slopes = weights.unsqueeze(-1) * (1 - weights.unsqueeze(-2))"),
        mistake("softmax applied twice", "This is the slope at other weights: a softmax was applied to what had been "
                "through one. What is given, scores or weights?", f"weights = torch.softmax(weights, -1)\n{_ANEW}"),
        mistake("rows of the batch mixed", "The table is as large as the whole batch. Each row of weights has a table "
                "of its own: which axes may an outer product touch?",
                "flat = weights.flatten()\nslopes = torch.diag(flat) - torch.outer(flat, flat)",
                "slopes = torch.diag(weights) - torch.outer(weights, weights)"),
        fixed_axes("products = torch.bmm(weights.unsqueeze(2), weights.unsqueeze(1))",
                   'products = torch.einsum("bi,bj->bij", weights, weights)', "products = torch.outer(weights, "
                   "weights)"),
        mistake("the slopes added up", "The slopes of a weight were added up over all scores, or those of all weights "
                "in one score. Each pair has a slope of its own: which shape is asked for?",
                "return slopes.sum(-1)", "return slopes.sum(-2)"),
        left_in("return slopes{}"),
        cut_off("return slopes.detach()", "diagonal = torch.diag_embed(weights.detach())",
                "products = weights.detach().unsqueeze(-1) * weights.detach().unsqueeze(-2)",
                "products = weights.unsqueeze(-1) * weights.detach().unsqueeze(-2)"),
        overwritten(*writing(softmax_jacobian, 0)),
        through_numpy("return torch.from_numpy(slopes.detach().numpy())"),
        *other_kinds("slopes"),
    ),
    laws=(Law("the weights stay at a sum of 1, so each row sums to 0", _rows_sum_to_zero),),
    hints=(
        "Take w_i = exp(s_i)/Σ exp(s_k) and differentiate by s_j. Do i = j and i ≠ j apart.",
        "For i = j the score is in both numerator and denominator, for i ≠ j only in the latter. What does the "
        "quotient rule give for each? Write both results with weights alone.",
        "Check yours by a sum: the weights together stay at 1, so their slopes in one score sum to 0. If a weight's "
        "slope in its own score is w_i (1 - w_i), what is left for all the others?",
        "As a table: a diagonal with the weights on it, minus all products w_i w_j.",
        "`torch.diag_embed` makes the diagonal for any leading axes; `unsqueeze(-1)` and `unsqueeze(-2)` make a column "
        "and a row whose product is the table of all pairs.",
    ),
)
