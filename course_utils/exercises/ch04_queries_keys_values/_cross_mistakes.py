"""What goes wrong in cross-attention with who asks and who answers."""

import itertools
import math
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.compare import equal
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch04_queries_keys_values._cross_steps import build, picked


def _made_from(query: str, key: str, value: str) -> Function:
    """Return a version that makes each of the three from "x" or from "c", the context."""

    def project(x: Tensor, context: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Any:
        source = {"x": x, "c": context}
        return source[query] @ W_q, source[key] @ W_k, source[value] @ W_v

    return build(project)


def _unprojected(*which: int) -> Function:
    def project(x: Tensor, context: Tensor, *matrices: Tensor) -> Any:
        given = zip((x, context, context), matrices, strict=True)
        return tuple(a if i in which else a @ W for i, (a, W) in enumerate(given))

    return build(project)


def _value_from_key(x: Tensor, context: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Any:
    return x @ W_q, context @ W_k, context @ W_k @ W_v


def _both_read(x: Tensor, context: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Any:
    both = torch.cat([x, context], dim=1)
    return x @ W_q, both @ W_k, both @ W_v


def _any_roles(args: tuple[Any, ...], got: Tensor) -> bool:
    """Say whether some other choice of sources and matrices explains the result."""
    x, context, *matrices = args
    made = [a @ W for a in (x, context) for W in matrices if a.shape[-1] == W.shape[0]]
    made += [a @ W.mT for a in (x, context) for W in matrices if a.shape[-1] == W.shape[1]]
    made += [x, context]
    pairs = [(q, k) for q, k in itertools.product(made, made) if q.shape[-1] == k.shape[-1]]
    for query, key in pairs:
        weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), -1)
        fitting = (v for v in made if v.shape[-2] == weights.shape[-1])
        if any(equal(weights @ value, got.detach()) for value in fitting):
            return True
    return False


ROLES = (
    Misconception(
        "query from context",
        picked(lambda x, c, W_q, W_k, W_v: (c, x, W_q, W_k, W_v)),
        "The two sequences changed roles: the context asks. Whose positions does the output "
        "have, and so who asks?",
    ),
    Misconception(
        "keys and values from x",
        _made_from("x", "x", "x"),
        "The context plays no part: this is self-attention on `x`. Which of the three come from "
        "what is read?",
    ),
    Misconception(
        "everything from the context",
        _made_from("c", "c", "c"),
        "`x` plays no part: this is self-attention on the context. Who asks?",
    ),
    Misconception(
        "keys from one sequence, values from the other",
        _made_from("x", "c", "x"),
        "Keys and values come from two sequences. A weight found with a key is used on "
        "the value at the same place: which sequence must give both?",
        also=(_made_from("x", "x", "c"), _made_from("c", "x", "c"), _made_from("c", "c", "x")),
    ),
    Misconception(
        "x and context read together",
        build(_both_read),
        "The queries read `x` as well as the context: both were joined. Cross-attention reads the "
        "context alone.",
        also=(
            build(lambda x, c, W_q, W_k, W_v: (x @ W_q, (x + c) @ W_k, (x + c) @ W_v)),
            build(lambda x, c, W_q, W_k, W_v: ((x + c) @ W_q, c @ W_k, c @ W_v)),
        ),
    ),
    Misconception(
        "matrices exchanged",
        picked(lambda x, c, W_q, W_k, W_v: (x, c, W_k, W_q, W_v)),
        "A matrix stands in another's place. Which of them meets which sequence, and to make what?",
        also=tuple(
            picked(lambda x, c, *W, order=order: (x, c, *(W[i] for i in order)))
            for order in itertools.product(range(3), repeat=3)
            if order not in ((0, 1, 2), (1, 0, 2), (0, 1, 1))
        ),
    ),
    Misconception(
        "matrices transposed",
        picked(lambda x, c, *W: (x, c, *(w.mT for w in W))),
        "A matrix was turned before it was used, as for the weight of an `nn.Linear`. Its rows "
        "already belong to the features of its sequence.",
        also=(
            picked(lambda x, c, W_q, W_k, W_v: (x, c, W_q.mT, W_k, W_v)),
            picked(lambda x, c, W_q, W_k, W_v: (x, c, W_q, W_k.mT, W_v)),
            picked(lambda x, c, W_q, W_k, W_v: (x, c, W_q, W_k, W_v.mT)),
            picked(lambda x, c, W_q, W_k, W_v: (x, c, W_q.mT, W_k.mT, W_v)),
        ),
    ),
    Misconception(
        "values not projected",
        _unprojected(2),
        "The values are the context itself. What turns a position of the context into what it "
        "hands over?",
    ),
    Misconception(
        "query or key not projected",
        _unprojected(0, 1),
        "A query or key is the sequence itself. What does each of the two have to meet before "
        "they are compared?",
        also=(_unprojected(0), _unprojected(1), _unprojected(0, 1, 2)),
    ),
    Misconception(
        "values made from the keys",
        build(_value_from_key),
        "The values are projected keys. Key and value are two views of the context, each made "
        "from it directly.",
        also=(build(lambda x, c, W_q, W_k, W_v: (x @ W_q, c @ W_k, x @ W_q @ W_v)),),
    ),
    Misconception(
        "another sequence or matrix than meant",
        picked(lambda x, c, W_q, W_k, W_v: (c, x, W_k, W_q, W_v)),
        "Of the three products, at least one joins the wrong sequence and matrix. Write down for "
        "query, key and value: made from what, by what?",
        fits=_any_roles,
    ),
)
