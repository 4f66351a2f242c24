"""Exercise: the gradient of an attention layer with its residual connection, by hand."""

from dataclasses import replace
from typing import Any

import torch
from course_utils.attention import residual_attention_backward
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import mistake, saying, without
from course_utils.exercises.shared.gradients import THROUGH_SOFTMAX, autograd_inside
from course_utils.exercises.shared.kinds import other_kinds, overwritten, writing
from course_utils.exercises.shared.masking import ALWAYS_CAUSAL
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.scale import DEFAULT
from course_utils.exercises.shared.softmax import SOFTMAX
from torch import Tensor

RIGHT = """
def residual_attention_backward(x, W_q, W_k, W_v, grad_out):
    query = x @ W_q
    key = x @ W_k
    value = x @ W_v
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
    past = grad_out
    by_query = grad_query @ W_q.mT
    by_key = grad_key @ W_k.mT
    by_value = grad_value @ W_v.mT
    grad_x = past + by_query + by_key + by_value
    return grad_x
"""
# A wrong scale on both ways; any but a missing one also on one of the two.
_SCALE = tuple(
    one
    if one.name == "no scale"
    else replace(
        one,
        versions=tuple(str(v).replace("default", way) for way in ("default", "there", "back") for v in one.versions),
    )
    for one in without(DEFAULT, "scale after softmax")
)


def _saturated(size: float) -> Make:
    return lambda g: (normal(g, 2, 5, 4), normal(g, 4, 6, size=size), normal(g, 4, 6, size=size), normal(g, 4, 4),
                      normal(g, 2, 5, 4))


def _identity(g: torch.Generator) -> tuple[Tensor, ...]:
    """Make the sources' setting: W_V = I."""
    eye = torch.eye(4, dtype=torch.float64)
    return normal(g, 2, 3, 4), normal(g, 4, 2), normal(g, 4, 2), eye, normal(g, 2, 3, 4)


def _frozen(g: torch.Generator) -> tuple[Tensor, ...]:
    """Make weights that do not depend on x: no queries and no keys."""
    nothing = torch.zeros(3, 5, dtype=torch.float64)
    return normal(g, 2, 4, 3), nothing, nothing.clone(), normal(g, 3, 3), normal(g, 2, 4, 3)


def _roughly(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether an answer is right to three digits, but not to as many as float32 has."""
    right = residual_attention_backward(*args)
    size = float(right.abs().max()) if right.numel() else 0.0
    off = float((got - right).abs().max()) if got.numel() and got.shape == right.shape else torch.inf
    return right.dtype == torch.float64 and 3e-6 * size < off < 3e-3 * size


EXERCISE = exercise(
    residual_attention_backward,
    right=RIGHT,
    asks="Given the gradient of y = x + attention(x W_q, x W_k, x W_v), give that of x.",
    minutes=20,
    difficulty=4,
    importance=4,
    cases=(
        case("every size is 3: a transpose keeps the shape", B=3, L=3, d=3, d_k=3),
        case("2 sequences of 4 tokens, widths 5 and 3", B=2, L=4, d=5, d_k=3),
        case("queries wider than the stream", B=3, L=5, d=2, d_k=6),
        case("W_V is the identity", _identity),
        case("weights that do not depend on x", _frozen),
        case("saturated weights", _saturated(3.0)),
        case("scores of thousands", _saturated(30.0)),
        case("one token", B=2, L=1, d=4, d_k=3),
        case("one sequence", B=1, L=6, d=3, d_k=4),
        case("width 1", B=2, L=3, d=1, d_k=1),
        case("non-contiguous inputs", B=2, L=5, d=6, d_k=4, strided=True),
        case("float32", B=2, L=4, d=8, d_k=5, dtype="float32", tolerance=1e-4),
    ),
    mistakes=(
        autograd_inside(
            "Autograd did the work. The point is to write it: y is a sum, and x enters it in four places.",
            "given = x.detach().requires_grad_()\n"
            "out = given + torch.softmax(given @ W_q @ (given @ W_k).mT * default, -1) @ given @ W_v\n"
            "return torch.autograd.grad(out, given, grad_out)[0]",
        ),
        mistake("the sources' gradient", "This is g + αᵀg: as if the weights did not depend on x, and the values were "
                "x itself. Which matrix stands between x and the values, and what do the weights depend on?",
                "grad_x = past + grad_value"),
        mistake("the weights taken for constants", "x reaches y also through the weights, by queries and keys. Which "
                "paths did not come back?", "grad_x = past + by_value", "grad_x = by_value"),
        mistake("W_V left out", "The values were taken for x itself somewhere. Which matrix did the forward pass put "
                "between them, and where does it come back?", "grad_x = past + by_query + by_key + grad_value",
                "value = x", "value = x\nby_value = grad_value"),
        mistake("the residual path left out", "This is the gradient of the attention alone. y is x plus that: what "
                "does the plus sign do to a gradient?", "grad_x = by_query + by_key + by_value", "past = 0.0"),
        mistake("a path left out", "x became queries, keys and values. Which of the three paths did not come back?",
                "grad_x = past + by_key + by_value", "grad_x = past + by_query + by_value",
                "grad_x = past + by_query + by_key", "grad_x = by_query + by_value", "grad_x = by_key + by_value"),
        mistake("the attention left out", "grad_out came back as it was. That is the gradient of y = x: what else is y "
                "made of?", "grad_x = past", "grad_x = past.clone()"),
        mistake("a path counted twice", "One of the four paths was added twice, or with a factor. Each counts once.",
                "past = 2 * grad_out", "grad_x = past + by_query + by_key + 2 * by_value",
                "grad_x = past + 2 * by_query + by_key + by_value", "grad_x = past + by_query + 2 * by_key + by_value",
                "grad_x = (past + by_query + by_key + by_value) / 4",
                "grad_x = past + (by_query + by_key + by_value) / 3", "past = grad_out / 2",
                "by_query = 2 * grad_query @ W_q.mT\nby_key = 0.0", "by_query = 0.0\nby_key = 2 * grad_key @ W_k.mT"),
        mistake("multiplied instead of added", "Paths were multiplied. Where the gradients of several paths meet in "
                "one variable, what does the chain rule do with them?",
                "grad_x = past * (by_query + by_key + by_value)", "grad_x = past * by_value + by_query + by_key",
                "grad_x = past * (1 + by_query + by_key + by_value)"),
        mistake("x instead of its gradient", "x itself was added, as in the forward pass. Which gradient runs along "
                "the residual connection?", "past = x", "past = torch.ones_like(x)",
                "past = grad_out + torch.softmax(scores, -1) @ value"),
        mistake("a sign flipped", "A path points the other way. Is a gradient asked for, or a step down along it?",
                "grad_x = -(past + by_query + by_key + by_value)", "grad_x = past - by_query - by_key - by_value",
                "grad_x = past - by_value + by_query + by_key", "grad_x = past - by_query + by_key + by_value",
                "grad_x = past + by_query - by_key + by_value"),
        mistake("a matrix not transposed", "A projection was applied in the backward pass just as in the forward pass. "
                "With square matrices the shapes fit, and only the numbers tell: what multiplies the gradient of x @ "
                "W?",
                "by_value = grad_value @ W_v", "by_query = grad_query @ W_q", "by_key = grad_key @ W_k",
                "by_query = grad_query @ W_q\nby_key = grad_key @ W_k",
                "by_query = grad_query @ W_q\nby_key = grad_key @ W_k\nby_value = grad_value @ W_v"),
        mistake("matrices transposed", "A matrix was transposed in the forward pass, as for the weight of an "
                "`nn.Linear`. Here its rows already belong to the features of x.",
                "value = x @ W_v.mT", "query = x @ W_q.mT",
                "key = x @ W_k.mT", "value = x @ W_v.mT\nby_value = grad_value @ W_v"),
        mistake("the path through another matrix", "The gradient of the queries or of the keys went back through the "
                "matrix of the other. Which matrix made which of them?",
                "by_query = grad_query @ W_k.mT\nby_key = grad_key @ W_q.mT", "by_query = grad_query @ W_k.mT",
                "by_key = grad_key @ W_q.mT", "by_query = grad_key @ W_q.mT\nby_key = grad_query @ W_k.mT",
                "by_value = grad_value @ W_q @ W_k.mT"),
        mistake("a matrix forgotten on the way back", "The gradient of a projection was taken for that of x. Through "
                "which matrix did x go?", "by_query = grad_query", "by_key = grad_key", "by_query = grad_query\n"
                "by_key = grad_key", "by_query = grad_query\nby_key = grad_key\nby_value = grad_value"),
        mistake("the weights not transposed", "Query i takes from key j by weights[i, j]. On the way back, key j is "
                "given something by every query: which axis is summed?", "grad_value = weights @ grad_out",
                "grad_x = past + weights @ grad_out"),
        mistake("the scores' gradient not transposed", "The scores' gradient has a row for each query and a column for "
                "each key, and in one of its two products it stands the wrong way round. Over whom is the gradient of "
                "a query summed, and over whom that of a key?", "grad_key = grad_products @ query",
                "grad_query = grad_products.mT @ key", "grad_key = grad_products @ query\n"
                "grad_query = grad_products.mT @ key"),
        mistake("the weights' gradient transposed", "Values met the gradients of the outputs with queries and keys "
                "exchanged. A weight belongs to one query and one key: which of the two owns its row?",
                "grad_weights = value @ grad_out.mT"),
        mistake("the axis of the sums lost", "The row's average has lost its axis, so that it met the columns instead "
                "of the rows, or another sequence. Which argument of `sum` keeps it?",
                "average = (weights * grad_weights).sum(-1)",
                "average = (weights * grad_weights).sum(-1).unsqueeze(-2)"),
        mistake("x in the row's average", "The row's average was computed from the layer's output, with the residual "
                "in it. Which part of the output is an average by these weights?",
                "average = (grad_out * (x + weights @ value)).sum(-1, keepdim=True)"),
        mistake("query and key swapped", "The gradient of the queries is made with the queries, or that of the keys "
                "with the keys. In q·k, what is the derivative with respect to q?",
                "grad_query = grad_products @ query",
                "grad_key = grad_products.mT @ key",
                "grad_query = grad_products @ query\ngrad_key = grad_products.mT @ key"),
        mistake("grad_out ignored", "Another grad_out gives the same answer: ones were put in its place. What does the "
                "chain rule start from?", "grad_weights = value.sum(-1).unsqueeze(-2).expand_as(weights)",
                "grad_weights = value.sum(-1).unsqueeze(-2).expand_as(weights)\n"
                "grad_value = weights.mT @ torch.ones_like(grad_out)\npast = torch.ones_like(grad_out)"),
        mistake("the batch mixed", "Sequences of the batch were added together or joined to one long text, or one was "
                "taken for all. Each has its own x and its own gradient.",
                "return grad_x.sum(0, keepdim=True).expand_as(grad_x)",
                "return grad_x.mean(0, keepdim=True).expand_as(grad_x)", "return grad_x[:1].expand_as(grad_x)",
                "return grad_x[0]", "whole = x.shape\nx = x.reshape(1, -1, x.shape[-1])\n"
                "grad_out = grad_out.reshape(x.shape)\nquery = x @ W_q\nreturn grad_x.reshape(whole)"),
        mistake("the output instead of the gradient", "This is the forward pass. Its output's gradient is given, that "
                "of x is asked for.", "return x + weights @ value", "return weights @ value"),
        mistake("the gradient of a matrix instead", "This is the gradient of one of the matrices. That of x is asked "
                "for: on which side of x @ W is x?", "return x.mT @ grad_query", "return x.mT @ grad_value",
                "return x.mT @ grad_key"),
        replace(ALWAYS_CAUSAL, says="The backward pass is that of causal attention. This exercise has no mask."),
        mistake("no scale on the way back", "The gradients of queries or of keys, or both, are √d_k times too large. "
                "The scores were scaled on the way there; what does the chain rule do with a factor?", "back = 1.0",
                "grad_query = grad_scores @ key", "grad_key = grad_scores.mT @ query"),
        mistake("no scale on the way there", "The weights that the backward pass uses are those of unscaled scores. "
                "Which weights did the forward pass use?", "there = 1.0"),
        mistake("scaled by the width of the stream", "The scale comes from the width of x. A score is a product of a "
                "query and a key: how wide are they?", *(f"{way} = 1 / math.sqrt(x.shape[-1])" for way in
                                                         ("default", "there", "back"))),
        *saying(_SCALE, {
            "no scale": "This is the backward pass of attention without a scale. Where does 1/√d_k enter, there and "
                "back?",
            "divided by d_k": "The scale is 1/d_k somewhere. d_k is the variance of q·k: what should a score be "
                "divided by, there and back?",
            "multiplied by the root of d_k": "The scale was undone instead of applied: a factor stays the same factor "
                "in the chain rule.",
        }),
        *saying(THROUGH_SOFTMAX, {
            "the softmax's sign flipped": "The paths through queries and keys point the other way, the other two are "
                "right. Which two terms of the softmax's derivative were exchanged?",
        }),
        # There are three axes, always.
        *saying(without(SOFTMAX, "weights = torch.softmax(scores, 1)", "weights = torch.softmax(scores, 2)"), {
            "softmax over the queries": "The weights were computed over the wrong axis: the columns sum to 1 instead "
                "of the rows. Who shares its attention out among whom?",
            "no shift before exp": "Large scores give NaN: their exponentials overflow. What does a stable softmax "
                "subtract first?",
        }),
        overwritten(
            "grad_x = grad_out.add_(by_query + by_key + by_value)",
            "past = grad_out.add_(by_query := grad_query @ W_q.mT)\nby_query = 0.0",
            "past = grad_out.add_(grad_query @ W_q.mT).add_(grad_key @ W_k.mT)\nby_query = 0.0\nby_key = 0.0\n"
            "by_value = weights.mT @ past @ W_v.mT",
            *writing(residual_attention_backward, 0, 4),
        ),
        *other_kinds("grad_x"),
        lower_precision(residual_attention_backward,
                        "grad_weights = (grad_out.float() @ value.float().mT).to(x.dtype)"),
        mistake("right to a few digits only", "Right, but to a few digits only. Was a slope read off two values that "
                "lie close together, or something small added or rounded away? The formula itself is exact.",
                "return grad_x + 1e-4 * past", matches=_roughly),
    ),
    hints=(
        "x enters y in four places: by itself, in the queries, in the keys and in the values. Four gradients are "
        "added.",
        "By the residual connection grad_out arrives as it is. For the other three, attention's backward pass gives "
        "the gradients of queries, keys and values. You wrote it in chapter 03.",
        "Each of them went through a projection, x @ W. Its gradient goes back through the same matrix: which way "
        "round?",
        "In order: query, key, value; the weights; grad_weights, the row's average, grad_scores times the scale; the "
        "three gradients; each times its matrix transposed; and grad_out.",
    ),
)
