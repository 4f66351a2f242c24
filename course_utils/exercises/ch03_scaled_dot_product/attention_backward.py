"""Exercise: the backward pass of attention, by hand."""

from dataclasses import replace

import torch
from course_utils.attention import attention_backward
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import normal
from course_utils.checking.mistakes import adding, mistake, only, saying, without
from course_utils.exercises.shared.gradients import THROUGH_SOFTMAX, autograd_inside
from course_utils.exercises.shared.kinds import cut_off, other_parts, overwritten, writing
from course_utils.exercises.shared.masking import ALWAYS_CAUSAL
from course_utils.exercises.shared.scale import DEFAULT
from course_utils.exercises.shared.softmax import SOFTMAX
from course_utils.exercises.shared.values import VALUES
from torch import Tensor

RIGHT = """
def attention_backward(query, key, value, grad_out):
    default = 1 / math.sqrt(query.shape[-1])
    there = default
    back = default
    products = query @ key.mT
    scores = products * there
    weights = stable_softmax(scores)
    grad_weights = grad_out @ value.mT
    average = (weights * grad_weights).sum(-1, keepdim=True)
    grad_scores = weights * (grad_weights - average)
    grad_products = grad_scores * back
    grad_query = grad_products @ key
    grad_key = grad_products.mT @ query
    grad_value = weights.mT @ grad_out
    return grad_query, grad_key, grad_value
"""
_THREE = "grad_query, grad_key, grad_value"
# A wrong scale on both ways; any but a missing one also on one of the two.
_SCALE = tuple(
    one
    if one.name == "no scale"
    else replace(
        one,
        versions=tuple(str(v).replace("default", way) for way in ("default", "there", "back") for v in one.versions),
    )
    for one in (*without(DEFAULT, "scale after softmax"), *only(VALUES, "the root of the width of the values"))
)


def _saturated(g: torch.Generator) -> tuple[Tensor, ...]:
    query, key = normal(g, 2, 3, 6, size=20.0), normal(g, 2, 4, 6, size=20.0)
    return query, key, normal(g, 2, 4, 3), normal(g, 2, 3, 3)


EXERCISE = exercise(
    attention_backward,
    right=RIGHT,
    asks="Given the gradient of the output, give those of query, key and value.",
    minutes=20,
    difficulty=4,
    importance=4,
    parts=("grad_query", "grad_key", "grad_value"),
    cases=(
        case("2 queries, 3 keys, widths 4 and 5", L=2, S=3, d_k=4, d_v=5, gradient="equal"),
        case("a batch of shape (2, 3): 5 queries, 7 keys", batch=(2, 3), L=5, S=7, d_k=6, d_v=4, gradient="equal"),
        case("more queries than keys", batch=(2,), L=8, S=3, d_k=5, d_v=6),
        case("saturated weights", _saturated),
        case("one query and one key", L=1, S=1, d_k=3, d_v=2),
        case("non-contiguous inputs", batch=(2,), L=3, S=6, d_k=4, d_v=5, strided=True),
        case("three leading axes", batch=(2, 1, 2), L=3, S=5, d_k=2, d_v=4),
        case("float32", batch=(2,), L=4, S=6, d_k=8, d_v=3, dtype="float32"),
        case("every size is 4: a transpose keeps the shape", batch=(4,), L=4, S=4, d_k=4, d_v=4),
    ),
    mistakes=(
        autograd_inside(
            "Autograd did the work. The point is to write it: start from grad_out and walk the forward pass backwards.",
            "given = [x.detach().requires_grad_() for x in (query, key, value)]\n"
            "out = torch.softmax(given[0] @ given[1].mT * default, -1) @ given[2]\n"
            "return torch.autograd.grad(out, given, grad_out)",
        ),
        mistake("every sign flipped", "All gradients point the other way. Is a gradient asked for, or a step down "
                "along it?", "return -grad_query, -grad_key, -grad_value"),
        mistake("grad_out ignored", "Another grad_out gives the same answer: ones were put in its place. What does the "
                "chain rule start from?", "grad_out = torch.ones_like(grad_out)\ngrad_weights = grad_out @ value.mT"),
        replace(ALWAYS_CAUSAL, says="The backward pass is that of causal attention. This exercise has no mask."),
        mistake("the batch summed", "The gradients of all sequences or heads were added together. Each has its own "
                "inputs: over which axes may you sum?",
                f"return tuple(g.sum(0, keepdim=True).expand_as(g) if g.dim() > 2 else g for g in ({_THREE}))"),
        mistake("gradients in another order", "The gradients come back in another order. In which order were their "
                "tensors given?", "return grad_key, grad_query, grad_value", "return grad_value, grad_key, grad_query",
                "return grad_query, grad_value, grad_key", "return grad_key, grad_value, grad_query",
                "return grad_value, grad_query, grad_key"),
        mistake("the value's gradient wrong", "The gradients of query and key are right, that of the value is not. The "
                "output is weights times values and nothing else: what multiplies grad_out on the way back to the "
                "values?", "grad_value = grad_scores.mT @ grad_out",
                "grad_value = torch.ones_like(weights).mT @ grad_out", "grad_value = weights.mT @ (weights @ value)",
                "grad_value = scores.mT @ grad_out", "grad_value = weights.mT @ grad_out * default",
                "grad_value = torch.ones_like(weights).mT @ grad_out / key.shape[-2]"),
        mistake("the output instead of the gradients", "This is the forward pass. Its output's gradient is given: "
                "three gradients are asked for.", "return weights @ value"),
        mistake("no scale on the way back", "The gradients of query and key are √d_k times too large. The scores were "
                "scaled on the way there; what does the chain rule do with a factor?", "back = 1.0"),
        mistake("no scale on the way there", "The weights that the backward pass uses are those of unscaled scores. "
                "Which weights did the forward pass use?", "there = 1.0"),
        *saying(_SCALE, {
            "no scale": "This is the backward pass of attention without a scale. Where does 1/√d_k enter, there and "
                "back?",
            "divided by d_k": "The scale is 1/d_k somewhere. d_k is the variance of q·k: what should a score be "
                "divided by, there and back?",
            "multiplied by the root of d_k": "The scale was undone instead of applied: a factor stays the same factor "
                "in the chain rule.",
        }),
        mistake("another scale than 1/√d_k", "The scale is a number that fits one width only. From which size should "
                "it be computed?", "default = 1 / 8", "back = 1 / 8"),
        mistake("scale on one of the two only", "One of the gradients of query and key is √d_k times too large, the "
                "other right. Do not both come from the same scaled scores?",
                "grad_query = grad_scores @ key", "grad_key = grad_scores.mT @ query"),
        mistake("a transpose forgotten", "A product fits only where sizes happen to agree: one of its two factors has "
                "to be turned. Write the shapes beside each other: what is summed "
                "away?", "grad_weights = grad_out @ value",
                "grad_value = weights @ grad_out", "grad_key = grad_products @ query", "grad_query = grad_products @ "
                "key.mT",
                "grad_query = grad_products.mT @ key", "grad_value = weights.mT @ grad_out.mT"),
        mistake("axes swapped that are not the last two", "`.T` and `transpose(0, 1)` turn the leading axes along with "
                "the others. Which two axes should swap, counted from the end?",
                *(way for swap in ("{}.T", "{}.transpose(0, 1)") for way in (
                    "products = query @ " + swap.replace("{}", "key"),
                    "grad_weights = grad_out @ " + swap.replace("{}", "value"),
                    "grad_key = " + swap.replace("{}", "grad_products") + " @ query",
                    "grad_value = " + swap.replace("{}", "weights") + " @ grad_out"))),
        mistake("one gradient made from another", "A gradient was multiplied into another one, where the tensor itself "
                "belongs. What did the forward pass multiply there?", "grad_key = grad_products.mT @ grad_query",
                "return grad_products @ grad_key, grad_key, grad_value"),
        mistake("a step cut off", "The values are right, but not their own derivatives: a step on the way was cut off "
                "from the inputs, though it depends on them. Which?", "weights = stable_softmax(scores).detach()",
                "grad_weights = (grad_out @ value.mT).detach()", "average = (weights * grad_weights).sum(-1, "
                "keepdim=True).detach()",
                "grad_products = grad_scores.detach() * back"),
        cut_off("return grad_query.detach(), grad_key.detach(), grad_value.detach()"),
        overwritten(*writing(attention_backward, 0, 1, 2, 3)),
        mistake("one of the three missing", "Two gradients came back, or one. Which three tensors took part in the "
                "forward pass?",
                "return grad_query, grad_key", "return grad_query, grad_value", "return grad_key, grad_value",
                "return grad_query"),
        *other_parts("grad_query", "grad_key", "grad_value"),
        *adding(THROUGH_SOFTMAX, {
            "row sum without the weights": ("average = (weights @ value).sum(-1, keepdim=True)",)}),
        *saying(SOFTMAX, {
            "softmax over the queries": "The weights were computed over the wrong axis: the columns sum to 1 instead "
                "of the rows. Who shares its attention out among whom?",
            "no shift before exp": "Large scores give NaN: their exponentials overflow. What does a stable softmax "
                "subtract first?",
        }),
    ),
    hints=(
        "Compute the forward pass once more: scores, weights. Then go back one step at a time.",
        "out = weights @ value is a matrix product. Its two gradients are weightsᵀ @ grad_out and grad_out @ valueᵀ: "
        "which belongs to what?",
        "Through the softmax, a row g of gradients becomes w * (g - Σ w g): the Jacobian applied, without building it.",
        "scores = scale · query @ keyᵀ is a matrix product again, with a factor that stays.",
        "In order: grad_weights, row average, grad_scores times the scale; then grad_scores @ key and grad_scoresᵀ @ "
        "query.",
    ),
)
