"""Mistakes where queries are scored against keys, and the inputs on which it shows.

The lines speak of `query` and `key`, both of three axes, and of the steps

    asked = query
    offered = key
    return scores

`PRODUCT` speaks of scores by a dot product, `HIDDEN` of those by a hidden layer with the vector `v`:

    left = asked                                    for_query = asked @ W_q
    scores = left @ offered.mT                      for_key = offered @ W_k
                                                    pairs = for_query.unsqueeze(-2) + for_key.unsqueeze(-3)
                                                    hidden = torch.tanh(pairs)
                                                    scores = hidden @ v
"""

import math
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.compare import equal
from course_utils.checking.exercise import Case, case
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.laws import is_other, monotone
from course_utils.checking.mistakes import Mistake, mistake
from course_utils.exercises.shared.kinds import batch_mixed, left_in, multiplied, other_kinds, squeezed
from course_utils.exercises.shared.precision import lower_precision

Sizes = SimpleNamespace
Shapes = Callable[[Sizes], tuple[tuple[int, ...], ...]]
_PLAN = (
    ("a batch of 2: 4 queries, 5 keys", (2, 4, 5, 3, 6, 7)),
    ("more queries than keys", (3, 6, 2, 5, 4, 3)),
    ("one query: a decoder's step", (2, 1, 6, 4, 3, 5)),
    ("one key", (2, 3, 1, 2, 5, 4)),
    ("one sequence", (1, 3, 4, 5, 2, 6)),
    ("every width 1", (2, 3, 5, 1, 1, 1)),
    ("large inputs", (2, 3, 4, 6, 5, 3)),
    ("float32", (2, 5, 3, 4, 6, 8)),
    ("bfloat16", (2, 3, 4, 2, 3, 3)),
    ("non-contiguous inputs", (2, 3, 5, 4, 6, 2)),
)


def score_inputs(sizes: tuple[int, ...], shapes: Shapes, size: float = 1.0, dtype: str = "float64") -> Make:
    """Make query, key and parameters.

    Args:
        sizes: Of batch, queries, keys, a query, a key, and the hidden layer.
        shapes: Gives the parameters' shapes from the last three: `d_q`, `d_k` and `d_a`.
        size: The standard deviation of query and key.
        dtype: The name of the dtype.
    """
    batch, queries, keys, d_q, d_k, d_a = sizes
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Any, ...]:
        query = normal(g, batch, queries, d_q, size=size, dtype=kind)
        key = normal(g, batch, keys, d_k, size=size, dtype=kind)
        parameters = (
            normal(g, *shape, size=0.7 if len(shape) > 1 else 1.0, dtype=kind)
            for shape in shapes(SimpleNamespace(d_q=d_q, d_k=d_k, d_a=d_a))
        )
        return query, key, *parameters

    return make


def score_cases(
    first: str, sizes: tuple[int, ...], shapes: Shapes = lambda s: (), same_width: bool = False
) -> Iterator[Case]:
    """Yield the cases, from easy to hard.

    Args:
        first: The name of the first case.
        sizes: Its sizes, for which a transpose keeps every shape: a mistake with axes then gives
            numbers, and can be named by them.
        shapes: The parameters' shapes from the sizes.
        same_width: Whether a key must be as wide as a query.
    """
    for index, (name, given) in enumerate(((first, sizes), *_PLAN)):
        d_q = given[3]
        wide = (*given[:3], d_q, d_q, given[5]) if same_width else given
        dtype = name if "float" in name else "float64"
        make = score_inputs(wide, shapes, 40.0 if name == "large inputs" else 1.0, dtype)
        yield case(name, _scattered(make) if name.startswith("non-") else make,
                   gradient="equal" if index in (0, 1, 3) else "", tolerance=0.3 if dtype == "bfloat16" else None)


def _scattered(make: Make) -> Make:
    return lambda g: tuple(strided(t) if t.dim() > 1 else t for t in make(g))


def _is_scaled(args: tuple[Any, ...], got: Tensor, want: Tensor) -> bool:
    """Return whether all scores are the right ones divided by a size of the inputs, or by its root."""
    if not is_other(got, want):
        return False
    sizes = {size for given in args for size in given.shape if size > 1}
    return any(equal(got, want / divisor) for size in sizes for divisor in (math.sqrt(size), size))


def _is_shifted(got: Tensor, want: Tensor) -> bool:
    """Return whether all scores are the right ones plus one number."""
    off = (got - want).detach().double()
    return off.numel() > 2 and off.abs().min().item() > 1e-6 and equal(off, off.mean().expand_as(off), 1e-6)


def _is_blanked(got: Tensor, want: Tensor) -> bool:
    """Return whether many scores are right and all others are one and the same number."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    others = got[(got - want).abs() > 1e-6 * want.abs().max()]
    return 2 < others.numel() < got.numel() // 2 and bool((others == others[0]).all())


def table(right: Callable[..., Tensor]) -> tuple[Mistake, ...]:
    """Return what goes wrong with a table of scores, whatever the score; `right` gives the right one."""
    return (
        mistake("softmax applied already", "These are weights, not scores: a softmax was applied. Who needs the scores "
                "as they are, with a mask still to come?",
                "return scores.softmax(-1)", "return scores.softmax(-2)", "return scores.softmax(0)",
                "return scores.log_softmax(-1)", "return scores.exp()", "return scores - scores.amax(-1, keepdim=True)",
                "return (scores / math.sqrt(query.shape[-1])).softmax(-1)",
                "return (scores / math.sqrt(key.shape[-1])).softmax(-1)"),
        mistake("scaled", "The scores were divided by something that grows with a size. That comes in chapter 03: "
                "neither Bahdanau nor Luong scales.", "return scores / math.sqrt(query.shape[-1])",
                "return scores / math.sqrt(key.shape[-1])", "return scores / key.shape[-1]",
                matches=lambda args, got: _is_scaled(args, got, right(*args))),
        mistake(
            "rows belong to the keys",
            "The table has a row for each key. Which of the two asks, and so owns a row?",
            "return scores.mT",
        ),
        mistake("query and key swapped", "Query and key have changed places. Which of them asks, and so owns a row of "
                "the table and comes first?", "asked = key\noffered = query"),
        mistake("the wrong two compared", "One of the two inputs plays no part. What is scored against what?",
                "offered = query", "asked = key"),
        mistake("each query meets one key only", "Query i was scored against key i and no other. How can every query "
                "meet every key: which of the two needs a new axis, and where?",
                "return scores.diagonal(dim1=-2, dim2=-1)", "return scores.diagonal(dim1=-2, dim2=-1).diag_embed()",
                "return scores.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)",
                "return scores.diagonal(dim1=-2, dim2=-1).unsqueeze(-1).expand_as(scores)"),
        mistake("the queries averaged", "The axis of the queries is gone, or all queries are the same: they were added "
                "up or averaged, or one was used for all. Each query has a row of scores of its own.",
                "return scores.mean(-2)", "return scores.sum(-2)", "return scores.mean(-2, keepdim=True)",
                "return scores.sum(-2, keepdim=True)", "return scores.sum(-1)", "return scores.mean(-1)",
                "return scores[:, -1]", "return scores[:, 0]", "return scores[:, -1:]", "return scores[:, :1]",
                "asked = query.mean(1, True).expand_as(query)",
                "asked = query[:, -1:].expand_as(query)", "asked = query[:, :1].expand_as(query)"),
        mistake("the keys averaged", "All keys of a sequence get the same score: they were averaged, or one was used "
                "for all. Each key has a column of its own.", "offered = key.mean(1, True).expand_as(key)",
                "offered = key[:, -1:].expand_as(key)", "offered = key[:, :1].expand_as(key)"),
        batch_mixed(
            "return scores.sum(0)",
            "return scores.mean(0)",
            "return scores[0]",
            "return scores[:1].expand_as(scores)",
            "asked = query[:1].expand_as(query)",
            "offered = key[:1].expand_as(key)",
            "offered = key.flip(0)",
            "offered = key.sum(0, True).expand_as(key)",
            "offered = key.mean(0, True).expand_as(key)",
            "asked = query[:, -1].expand_as(query)",
            "asked = query[:, 0].expand_as(query)",
            "asked = query.transpose(0, 1)",
            "offered = key.transpose(0, 1)",
            "asked = query.unsqueeze(1)\noffered = key.unsqueeze(0)",
            "asked = query.flatten(0, 1)\noffered = key.flatten(0, 1)",
        ),
        mistake("the sign flipped", "The best key gets the lowest score. Which sign does the formula have?",
                "return -scores"),
        mistake("the size of the score only", "A negative score became positive or 0: a key that points away now "
                "counts like one that agrees, or like one that has nothing to do with the query. Which operation lost "
                "the sign?", "return scores.abs()", "return scores.square()", "return scores.relu()"),
        mistake("something added", "Every score is off by the same amount. Which step of the formula adds a number, "
                "and what would a softmax make of it?", "return scores + 1",
                matches=lambda args, got: _is_shifted(got, right(*args))),
        mistake("rounded", "The scores lost digits: they were rounded. Which line does that?",
                "return scores.round(decimals=2)", "return scores.round(decimals=4)",
                matches=lambda args, got: any(
                    torch.equal(got.detach(), right(*args).detach().round(decimals=digits)) for digits in range(8))),
        mistake("squashed at the end", "The scores themselves were squashed. A score may be any number: what does the "
                "formula end with?", "return scores.tanh()", "return scores / scores.norm(dim=-1, keepdim=True)",
                matches=lambda args, got: is_other(got, right(*args)) and monotone(right(*args), got)),
        mistake("part of the table blanked out", "Part of the table was blanked out. The keys are a whole source "
                "sentence: none of it is in the future.",
                "return scores.tril()", "return scores.masked_fill(torch.ones_like(scores).triu(1) > 0, -torch.inf)",
                matches=lambda args, got: _is_blanked(got, right(*args))),
        left_in("return scores{}"),
        squeezed("return scores{}"),
        multiplied(right, "return scores * math.sqrt(key.shape[-1])", "return 2 * scores"),
        lower_precision(right, "return scores.bfloat16().to(scores.dtype)"),
        *other_kinds("scores"),
    )


PRODUCT = (
    mistake("cosine similarity", "The lengths of query and key play no part: these are cosines. Does a dot product "
            "divide by the lengths?", "asked = F.normalize(query, dim=-1)\noffered = F.normalize(key, dim=-1)",
            "scores = F.normalize(left, dim=-1) @ F.normalize(offered, dim=-1).mT",
            "asked = F.normalize(query, dim=-1)", "offered = F.normalize(key, dim=-1)"),
    mistake("distance instead of dot product", "These are distances. A distance is smallest for the best key; what is "
            "a dot product then?", "scores = -torch.cdist(left, offered)", "scores = torch.cdist(left, offered)",
            "scores = -(left.unsqueeze(-2) - offered.unsqueeze(-3)).square().sum(-1)",
            "scores = (left.unsqueeze(-2) - offered.unsqueeze(-3)).square().sum(-1)",
            "scores = (left.unsqueeze(-2) - offered.unsqueeze(-3)).abs().sum(-1)"),
    mistake("key not transposed", "The product ran over the keys instead of the features. Which axis do query and key "
            "share?", "scores = left @ offered"),
    mistake("key reshaped instead of transposed", "The numbers of different keys are mixed. `view` and `reshape` cut "
            "memory anew; what swaps two axes?", "scores = left @ offered.reshape(offered.mT.shape)"),
    mistake("axes swapped that are not the last two", "The batch axis was turned along with the others. Which two axes "
            "should swap, counted from the end?",
            "scores = left @ offered.permute(2, 1, 0)", "scores = left @ offered.transpose(0, 1)",
            "scores = left @ offered.permute(1, 2, 0)", "scores = left @ offered.permute(2, 0, 1)"),
    mistake("multiplied but never summed", "Every feature of every pair is still there. What does a dot product do "
            "after multiplying?", "scores = left.unsqueeze(-2) * offered.unsqueeze(-3)", "scores = left * offered",
            "scores = left.unsqueeze(-3) * offered.unsqueeze(-2)"),
    mistake("summed over the wrong axis", "The sum ran over the queries or the keys. Which axis disappears in a dot "
            "product?", "scores = (left.unsqueeze(-2) * offered.unsqueeze(-3)).sum(1)",
            "scores = (left.unsqueeze(-2) * offered.unsqueeze(-3)).sum(2)", "scores = (left * offered).sum(1)",
            "scores = left.mT @ offered", "scores = (left.mT @ offered).mT", "scores = left.mT @ offered.mT",
            "asked = query.mT\nscores = left @ offered"),
    mistake("features summed before the product", "The features were summed or averaged for each vector alone, and the "
            "two numbers multiplied. In a dot product, which comes first: multiply or add?",
            "scores = left.sum(-1, keepdim=True) @ offered.sum(-1, keepdim=True).mT",
            "scores = left.mean(-1, keepdim=True) @ offered.mean(-1, keepdim=True).mT"),
    mistake("a feature left out", "Not all features count: the first, the last, or all but one are missing from the "
            "sum. Over which of them does a dot product run?", "scores = left[..., :-1] @ offered[..., :-1].mT",
            "scores = left[..., 1:] @ offered[..., 1:].mT", "scores = left[..., -1:] @ offered[..., -1:].mT",
            "scores = left[..., :1] @ offered[..., :1].mT"),
    mistake("another end than a sum", "The products of the features were not added up. What does a dot product make of "
            "them?", "scores = (left.unsqueeze(-2) * offered.unsqueeze(-3)).prod(-1)",
            "scores = (left.unsqueeze(-2) * offered.unsqueeze(-3)).amax(-1)",
            "scores = (left.unsqueeze(-2) * offered.unsqueeze(-3)).amin(-1)",
            "scores = (left.unsqueeze(-2) * offered.unsqueeze(-3)).norm(dim=-1)"),
    mistake("added instead of multiplied", "The features of query and key were added. Then a query shifts all its "
            "scores alike, and cannot prefer a key: what lets it?",
            "scores = (left.unsqueeze(-2) + offered.unsqueeze(-3)).sum(-1)",
            "scores = (left.unsqueeze(-2) + offered.unsqueeze(-3)).tanh().sum(-1)", "scores = left + offered"),
    mistake("the keys of all sequences together", "A key of one sequence was scored by the queries of another. Which "
            "letter of an einsum must appear on both sides and in the result?",
            'scores = torch.einsum("bld,csd->blcs", left, offered)',
            'scores = torch.einsum("bld,csd->ls", left, offered)',
            'scores = torch.einsum("bld,csd->cls", left, offered)'),
)

_HIDDEN_LAYER = (
    mistake("no tanh", "Without tanh the score is a sum of a number for the query and one for the key: every query "
            "prefers the same keys. What bends the hidden layer?", "hidden = pairs"),
    mistake("another function than tanh", "The hidden layer is bent, but not by tanh. What does tanh give for a large "
            "negative number, and for zero?", "hidden = torch.relu(pairs)", "hidden = torch.sigmoid(pairs)",
            "hidden = F.leaky_relu(pairs)", "hidden = F.leaky_relu(pairs, 0.2)", "hidden = F.gelu(pairs)",
            "hidden = F.elu(pairs)", "hidden = F.hardtanh(pairs)", "hidden = F.silu(pairs)",
            "hidden = torch.exp(pairs)", "hidden = torch.softmax(pairs, -1)"),
    mistake("tanh twice", "There is one tanh too many. How many are there in the formula?",
            "hidden = pairs.tanh().tanh()"),
    mistake("tanh of each part", "Query and key were bent apart and then added, so every query prefers the same keys. "
            "Which comes first, the sum or the tanh?",
            "pairs = for_query.tanh().unsqueeze(-2) + for_key.tanh().unsqueeze(-3)\nhidden = pairs",
            "pairs = for_query.tanh().unsqueeze(-2) + for_key.tanh().unsqueeze(-3)",
            "pairs = for_query.tanh().unsqueeze(-2) + for_key.unsqueeze(-3)\nhidden = pairs",
            "pairs = for_query.unsqueeze(-2) + for_key.tanh().unsqueeze(-3)\nhidden = pairs"),
    mistake("tanh before the matrices", "Query and key were bent before they met their matrices. Which comes first, "
            "the matrices or the tanh?",
            "asked = query.tanh()\noffered = key.tanh()\nhidden = pairs", "asked = query.tanh()\noffered = key.tanh()"),
    mistake("multiplied instead of added", "The projections were multiplied. What gives this score its name?",
            "pairs = for_query.unsqueeze(-2) * for_key.unsqueeze(-3)",
            "pairs = for_query.unsqueeze(-2) * for_key.unsqueeze(-3)\nhidden = pairs",
            "pairs = for_query.tanh().unsqueeze(-2) * for_key.tanh().unsqueeze(-3)\nhidden = pairs",
            "pairs = for_query.unsqueeze(-2) * for_key.unsqueeze(-3)\nscores = hidden.sum(-1)"),
    mistake("subtracted instead of added", "One projection was subtracted from the other, or their sum was halved. "
            "What gives this score its name?", "pairs = for_query.unsqueeze(-2) - for_key.unsqueeze(-3)",
            "pairs = for_key.unsqueeze(-3) - for_query.unsqueeze(-2)",
            "pairs = (for_query.unsqueeze(-2) + for_key.unsqueeze(-3)) / 2"),
    mistake("dot product instead of a hidden layer", "The projections were compared by a dot product. Here they make a "
            "hidden layer together first: which operation joins them?",
            "scores = for_query @ for_key.mT", "scores = (for_query @ for_key.mT).tanh()",
            "scores = for_query.tanh() @ for_key.tanh().mT", "scores = (for_query @ for_key.mT).softmax(-1)",
            "scores = F.normalize(for_query, dim=-1) @ F.normalize(for_key, dim=-1).mT"),
    mistake("the key plays no part", "The scores of a query are the same for all keys. Where does the key come in?",
            "pairs = for_query.unsqueeze(-2) + 0 * for_key.unsqueeze(-3)"),
    mistake("the query plays no part", "Every query has the same scores. Where does the query come in?",
            "pairs = 0 * for_query.unsqueeze(-2) + for_key.unsqueeze(-3)"),
    mistake("pairs added without a new axis", "Query i was added to key i, and to no other. Both have three axes, and "
            "four are needed: (B, L, S, d_a). Where does each of them get its new one?",
            "pairs = for_query + for_key", "pairs = for_query.unsqueeze(1) + for_key.unsqueeze(1)",
            "pairs = for_query.unsqueeze(2) + for_key.unsqueeze(2)", "pairs = for_query.unsqueeze(1) + for_key",
            "pairs = for_query.unsqueeze(2) + for_key", "pairs = for_query + for_key.unsqueeze(1)",
            "pairs = for_query + for_key.unsqueeze(2)"),
    mistake("pairs in another order", "The wrong queries and keys were paired: `repeat` and `repeat_interleave` give "
            "other orders. Which index should change fastest after the `view`?",
            "pairs = for_query.repeat(1, key.shape[1], 1).view(*query.shape[:2], key.shape[1], -1) + "
            "for_key.unsqueeze(-3)",
            "again = for_key.repeat_interleave(query.shape[1], 1).view(*query.shape[:2], key.shape[1], -1)\n"
            "pairs = for_query.unsqueeze(-2) + again",
            "turned = for_query.unsqueeze(1) + for_key.unsqueeze(2)\n"
            "pairs = turned.reshape(*query.shape[:2], key.shape[1], -1)"),
)

_VECTOR = (
    mistake("v inside the tanh", "The tanh came last, so no score leaves the range from -1 to 1, or the sum over the "
            "features came after it, and the hidden layer is not bent at all. What does tanh enclose in the formula?",
            "hidden = pairs\nscores = (hidden @ v).tanh()", "hidden = pairs\nscores = (hidden * v).tanh().sum(-1)",
            "hidden = pairs\nscores = torch.tanh(v * hidden)",
            "hidden = pairs\nscores = torch.tanh(hidden + v).sum(-1)",
            "scores = (for_query @ v).tanh().unsqueeze(-1) + (for_key @ v).tanh().unsqueeze(-2)"),
    mistake("v left out", "All features of the hidden layer count the same. What says how much each of them counts?",
            "scores = hidden.sum(-1)", "scores = hidden.mean(-1)", "scores = hidden", "scores = hidden.norm(dim=-1)"),
    mistake("v not summed over", "A score is one number for each pair, and here its features were not added up. What "
            "follows after multiplying by `v`?",
            "scores = hidden * v", "scores = (hidden * v).amax(-1)", "scores = (hidden * v).prod(-1)"),
    mistake("v on the wrong axis", "`v` was paired with queries or keys, or the sum ran over them. Which axis has the "
            "length of `v`?", "scores = (hidden * v).sum(-2)", "scores = (hidden * v).sum(1)", "scores = hidden.mT @ v",
            "scores = (hidden * v[:, None]).sum(-1)", "scores = (hidden * v[:, None, None]).sum(1)",
            "scores = (hidden * v[:, None, None]).sum(-1)"),
    mistake("v changed first", "`v` was normalised or turned into weights before it was used. It is used as given.",
            "scores = hidden @ (v / v.norm())", "scores = hidden @ v.softmax(-1)", "scores = hidden @ v.tanh()",
            "scores = hidden @ v.abs()", "scores = hidden @ (v / v.sum())"),
)

HIDDEN = (*_HIDDEN_LAYER, *_VECTOR)
