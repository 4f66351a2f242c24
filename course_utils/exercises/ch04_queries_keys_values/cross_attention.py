"""Exercise: one sequence reads another."""

import itertools
import math
from typing import Any

import torch
from course_utils.attention import cross_attention
from course_utils.checking.compare import equal
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import normal, strided
from course_utils.checking.mistakes import adding, mistake, saying, without
from course_utils.exercises.shared.kinds import (
    batch_mixed,
    cut_off,
    left_in,
    other_kinds,
    overwritten,
    squeezed,
    writing,
)
from course_utils.exercises.shared.lookup import AVERAGES, PRODUCTS, SHARES, UNMASKED, smaller_epsilons
from course_utils.exercises.shared.projections import projections
from course_utils.exercises.shared.roles import ROLES, before_the_query
from course_utils.exercises.shared.scale import DEFAULT, another_scale, some_scale
from course_utils.exercises.shared.softmax import RANDOM, epsilon, some_epsilon
from course_utils.exercises.shared.values import COMPARED, VALUES, average_law
from torch import Tensor

RIGHT = """
def cross_attention(x, context, W_q, W_k, W_v):
    query = x @ W_q
    key = context @ W_k
    value = context @ W_v
    default = 1 / math.sqrt(query.shape[-1])
    factor = default
    products = query @ key.mT
    scaled = products * factor
    scores = scaled
    weights = stable_softmax(scores)
    out = weights @ value
    return out
"""


def _made(batch: int, length: int, keys: int, *widths: int, size: float = 1.0, dtype: str = "float64") -> Any:
    """Return a maker of the arguments; the widths are d, d_c, d_k and d_v."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        d, d_c, d_k, d_v = widths
        kind = getattr(torch, dtype)
        x = normal(g, batch, length, d, size=size, dtype=kind)
        context = normal(g, batch, keys, d_c, size=size, dtype=kind)
        # Of such sizes that scores are about 1: saturated weights hide a wrong scale.
        matrices = (normal(g, *one, size=one[0] ** -0.5, dtype=kind) for one in ((d, d_k), (d_c, d_k), (d_c, d_v)))
        return (x, context, *matrices)

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    return tuple(strided(tensor) for tensor in _made(2, 3, 5, 4, 6, 8, 7)(g))


def _own_context(g: torch.Generator) -> tuple[Any, ...]:
    x, _, *matrices = _made(2, 4, 4, 5, 5, 3, 6)(g)
    return (x, x, *matrices)


def _zeros_in_context(g: torch.Generator) -> tuple[Any, ...]:
    x, context, *matrices = _made(2, 3, 5, 4, 6, 3, 7)(g)
    context[0, 3:] = 0.0
    return (x, context, *matrices)


def _scores(x: Tensor, context: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    return (x @ W_q) @ (context @ W_k).mT


def _some_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    products, value = _scores(*args), args[1] @ args[4]
    return args[1].shape[1] > 1 and some_scale(lambda s: torch.softmax(products * s, -1) @ value, got.detach())


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    return some_epsilon(_scores(*args) / math.sqrt(args[2].shape[1]), cross_attention(*args), got)


def _is_multiple(args: tuple[Any, ...], got: Tensor) -> bool:
    want = cross_attention(*args)
    top = want.abs().argmax()
    factor = (got.detach().flatten()[top] / want.flatten()[top]).item()
    return math.isfinite(factor) and factor != 0.0 and equal(got.detach(), factor * want)


def _any_roles(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether some other choice of sources and matrices explains the result."""
    x, context, *matrices = args
    made = [a @ W for a in (x, context) for W in matrices if a.shape[-1] == W.shape[0]]
    made += [a @ W.mT for a in (x, context) for W in matrices if a.shape[-1] == W.shape[1]]
    made += [x, context]
    for query, key in itertools.product(made, made):
        if query.shape[-1] == key.shape[-1]:
            weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1)
            fitting = (v for v in made if v.shape[-2] == weights.shape[-1])
            if any(equal(weights @ value, got.detach()) for value in fitting):
                return True
    return False


BATCH = (
    *saying(
        (
            batch_mixed(
                *before_the_query(
                    *(f"context = context{other}" for other in (".flip(0)", "[:1].expand_as(context)")),
                    "x = x[:1].expand_as(x)",
                    "context = context[-1:].expand_as(context)",
                    "context = context.mean(0, keepdim=True).expand_as(context)",
                    "context = context.flatten(0, 1)",
                    "context = context.transpose(0, 1)",
                    "x = x.transpose(0, 1)",
                    "x, context = x.transpose(0, 1), context.transpose(0, 1)",
                    "x, context = x[0], context[0]",
                ),
                "x, context = x.transpose(0, 1), context.transpose(0, 1)\n"
                "query = x @ W_q\nout = (weights @ value).transpose(0, 1)",
                "products = query @ key.permute(2, 1, 0)",
                'products = torch.einsum("bld,csd->bls", query, key)',
                'out = torch.einsum("bls,csv->blv", weights, value)',
            ),
        ),
        {
            "the sequences of a batch mixed": "A sequence reads the context of another, or one context serves all. "
            "Position i of the batch reads context i alone."
        },
    ),
    mistake(
        "not the whole context read",
        "Not the whole context is read: one position is used in place of all of it, or only its beginning. That is the "
        "bottleneck of chapter 01; what does attention choose among?",
        *before_the_query(
            "context = context[:, -1:].expand_as(context)",
            "context = context[:, :1].expand_as(context)",
            "context = context[:, : x.shape[1]]",
        ),
    ),
    mistake(
        "the queries averaged",
        "Every position of `x` gets the same answer: they were averaged, or one asks for all. Each position asks for "
        "itself.",
        *before_the_query(
            "x = x.mean(1, keepdim=True).expand_as(x)",
            "x = x[:, -1:].expand_as(x)",
            "x = x[:, :1].expand_as(x)",
            "x = x.mean(1, keepdim=True)",
        ),
        "return out.mean(1)",
        "return out.mean(1, keepdim=True)",
    ),
)

RETURNED = (
    mistake("multiplied at the end", "The output is the right one times a number. The weights of a row sum to 1: what "
            "else scales their average?", "return out / 3", matches=_is_multiple),
    mistake("projected once more", "The output was multiplied by a matrix again. The values are projected already, and "
            "there is no output matrix here.", *(f"return out @ {W}" for W in ("W_v", "W_v.mT", "W_q", "W_q.mT"))),
    mistake("a residual inside", "Something was added to the output. The residual connection goes around attention, "
            "and the widths need not even agree.", "return out + x", "return out + context"),
    mistake("the weights returned too", "Output and weights came back together, as from `nn.MultiheadAttention`. Only "
            "the output is asked for here.", "return out, weights"),
    *saying((left_in("return out{}"), squeezed("return out{}")), {
        "an axis of size 1 left in": "There is an axis of size 1 too many, as if for a head. The output has the axes "
            "of `x`.",
    }),
)

SCALE = (
    mistake("scaled by the width of x", "The scale comes from a width before the projections. Which two vectors make a "
            "score, and how wide are they?",
            "default = 1 / math.sqrt(x.shape[-1])", "default = 1 / math.sqrt(context.shape[-1])",
            "default = 1 / x.shape[-1]", "default = 1 / context.shape[-1]"),
    mistake("scale rounded", "The root of d_k lost its digits, or the scores did. Which root and which division keep "
            "fractions?", "default = 1 / math.isqrt(query.shape[-1])",
            "default = 1 / round(math.sqrt(query.shape[-1]))", "scaled = products // math.sqrt(query.shape[-1])"),
)

EXERCISE = exercise(
    cross_attention,
    right=RIGHT,
    asks="Let each position of one sequence read another: queries from x, the rest from context.",
    minutes=10,
    difficulty=2,
    importance=5,
    cases=(
        # All sizes are equal: a mistake with axes or roles gives numbers here, and can be named by them.
        case("3 sequences of length 3, all widths 3", _made(3, 3, 3, 3, 3, 3, 3), gradient="equal"),
        case("4 positions read 5, all widths different", _made(2, 4, 5, 3, 6, 7, 8), gradient="equal"),
        case("equal lengths, two sequences", _made(2, 4, 4, 3, 3, 3, 3)),
        case("x longer than the context", _made(3, 6, 2, 5, 4, 3, 7), gradient="equal"),
        case("d_k far below the width of x", _made(2, 3, 5, 16, 9, 2, 4)),
        case("d_k far above the width of x", _made(2, 3, 6, 3, 4, 24, 5)),
        case("x as its own context", _own_context),
        case("one position asks", _made(2, 1, 6, 4, 5, 3, 2)),
        case("a context of one position", _made(2, 4, 1, 3, 5, 6, 4)),
        case("one sequence", _made(1, 3, 5, 4, 2, 5, 6)),
        case("every width 1", _made(2, 3, 4, 1, 1, 1, 1)),
        case("scores of thousands", _made(2, 3, 5, 4, 6, 7, 8, size=60.0), gradient="finite"),
        case("non-contiguous inputs", _strided),
        case("float32", _made(2, 3, 5, 8, 6, 16, 4, dtype="float32")),
        case("bfloat16", _made(2, 3, 4, 3, 5, 4, 6, dtype="bfloat16"), tolerance=0.2),
        case("positions of zeros in the context, which count too", _zeros_in_context),
    ),
    mistakes=(
        *without(DEFAULT, "default = 1 / math.sqrt(query.shape[1])"),
        *SCALE,
        *ROLES,
        *without(projections(), "value = context @ W_k"),  # keys averaged instead of values
        mistake("another sequence or matrix than meant", "Of the three products, at least one joins the wrong sequence "
                "and matrix. Write down for query, key and value: made from what, by what?",
                *before_the_query("x, context, W_q, W_k = context, x, W_k, W_q"), matches=_any_roles),
        *adding(epsilon(_epsilon), smaller_epsilons("1e-7")),
        *adding(another_scale(_some_scale), {"another scale than 1/√d_k": ("default = 1 / math.sqrt(W_q.numel())",)}),
        *without(
            COMPARED,
            # These do as a wrong matrix does, or a softmax over the queries.
            "products = query @ value.mT",
            "key, value = value, key\ndefault = 1 / math.sqrt(query.shape[-1])",
            "out = stable_softmax(key @ query.mT / query.shape[-1] ** 0.5).mT @ value",
        ),
        *PRODUCTS,
        *saying(
            # There are three axes, always.
            without(UNMASKED, "weights = torch.softmax(scores, 1)", "weights = torch.softmax(scores, 2)"),
            {
                "softmax over an axis counted from the front": "The weights sum to 1 over the sequences of the batch. "
                "Which axis holds the keys, counted from the end?"
            },
        ),
        *SHARES,
        *VALUES,
        *AVERAGES,
        *BATCH,
        *RETURNED,
        RANDOM,
        cut_off("weights = stable_softmax(scores).detach()", "query = x.detach() @ W_q", "key = context.detach() @ W_k",
                "value = context.detach() @ W_v", "key = context.detach() @ W_k\nvalue = context.detach() @ W_v",
                "query = x @ W_q.detach()", "key = context @ W_k.detach()", "value = context @ W_v.detach()",
                "query = x @ W_q.detach()\nkey = context @ W_k.detach()\nvalue = context @ W_v.detach()",
                "return out.detach()"),
        overwritten(*writing(cross_attention, 0, 1)),
        *without(other_kinds("out"), "return out, None"),
    ),
    laws=(average_law(lambda args: args[1] @ args[4]),),
    hints=(
        "The output has a row for each position of `x`. Which of query, key and value must then come from `x`?",
        "Keys and values belong together: a weight found with a key is used on the value at the same place. Both are "
        "made from the context.",
        "After the three products it is chapter 03's attention, without a mask. What are the shapes of the scores and "
        "of the output?",
        "The scale is that of the vectors that meet: the number of columns of `W_q`, not the width of `x`.",
    ),
)
