"""Exercise: Shaw's scores."""

from typing import Any

import torch
from course_utils.checking.exercise import Cost, case, exercise
from course_utils.checking.inputs import normal
from course_utils.checking.mistakes import mistake, only, saying, without
from course_utils.exercises.shared.kinds import batch_mixed, cut_off, other_kinds, overwritten, writing
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.scale import DEFAULT, GIVEN, another_scale, some_scale
from course_utils.measure import largest_tensor
from course_utils.positions import shaw_scores
from torch import Tensor

RIGHT = """
def shaw_scores(query, key, relative_embedding, max_distance, scale=None):
    default = 1 / math.sqrt(query.shape[-1])
    factor = default if scale is None else scale
    rows = torch.arange(query.shape[-2]).unsqueeze(-1)
    columns = torch.arange(key.shape[-2])
    own = rows
    place = columns
    steps = place - own
    clipped = steps.clamp(-max_distance, max_distance)
    number = clipped + max_distance
    products = query @ key.mT
    met = query @ relative_embedding.mT
    relative = met[..., rows, number]
    scaled = (products + relative) * factor
    scores = scaled
    return scores
"""


def _some_scale(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key, table, reach, *given = args
    right = query.shape[-1] ** -0.5 if not given or given[0] is None else given[0]
    return some_scale(lambda scale: shaw_scores(query, key, table, reach, scale), got.detach(), right)


def _other_rows(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether every score is right but for the row of the table, which is another one for some pairs."""
    query, key, table, _, *scale = args
    factor = query.shape[-1] ** -0.5 if not scale or scale[0] is None else scale[0]
    if not factor or got.dtype != torch.float64 or len(table) < 2:
        return False
    added = got.detach() / factor - query @ key.mT
    met = query @ table.mT
    off = (added.unsqueeze(-1) - met.unsqueeze(-2)).abs().amin(-1)
    return bool((off <= 1e-7 * met.abs().max()).all())


_PICKED = "relative = met.gather(-1, number.expand(*met.shape[:-1], number.shape[-1]))"
_LOOKED_UP = "relative = torch.einsum('...ld,lsd->...ls', query, F.embedding(number, relative_embedding))"
_GATHERED = "relative = torch.einsum('...ld,lsd->...ls', query, relative_embedding[number])"

PAIRS = mistake("a vector for each pair", "The values are right, but a tensor held a vector for each pair of "
                "positions: one of d_k numbers, or a one-hot one of 2·max_distance + 1. There are only "
                "2·max_distance + 1 different vectors. What can be computed once for each query and vector, before "
                "looking at the pairs?", _GATHERED)

MEET = (
    mistake("the relative part missing", "The table makes no difference: these are plain dot products. Where does the "
            "query meet the vectors of the distances?", "scaled = products * factor"),
    mistake(
        "the content missing",
        "The keys make no difference. What does a query do with a key, besides its distance?",
        "scaled = relative * factor",
    ),
    mistake("the vector met by the key", "The vector of the distance is multiplied by the key, or added to the query, "
            "which comes to the same. Shaw adds it to the key, and the query is multiplied by the sum.",
            "met = key @ relative_embedding.mT\nrelative = met[..., columns, number]"),
    mistake("the vector met by query and key", "Besides q·k and q·a there is a third product, k·a. Transformer-XL and "
            "DeBERTa add such terms; Shaw does not.",
            "relative = met[..., rows, number] + (key @ relative_embedding.mT)[..., columns, number]"),
    mistake("the vector made into a number", "The same number is added for all queries at a distance, whatever they "
            "ask for. That is T5's bias; Shaw's vector meets the query.",
            "relative = relative_embedding.sum(-1)[number]", "relative = relative_embedding.mean(-1)[number]",
            "relative = relative_embedding[..., 0][number]", "relative = relative_embedding.norm(dim=-1)[number]"),
    mistake("the relative part taken away", "One of the two parts is subtracted from the other. Which sign should each "
            "have?",
            "scaled = (products - relative) * factor", "scaled = (relative - products) * factor"),
    mistake("both parts multiplied", "q·k and q·a are multiplied by each other. How are they combined?",
            "scaled = products * relative * factor", "scaled = products * (1 + relative) * factor"),
    mistake("the query averaged over the heads", "Every head meets the vectors with the same query. The table is "
            "shared, queries are not.", "met = query.mean(1, keepdim=True) @ relative_embedding.mT"),
    mistake("one head for all", "The vectors are met by the query of one head, in every head. The table is shared, "
            "queries are not.", "met = query[:, :1] @ relative_embedding.mT",
            "met = query[:, -1:] @ relative_embedding.mT"),
    batch_mixed("met = query[:1] @ relative_embedding.mT", "met = query[-1:] @ relative_embedding.mT"),
    mistake("the table normalised", "The vectors of the table were brought to one length, or scaled, before the query "
            "met them. They are learned as they are.", "met = query @ F.normalize(relative_embedding, dim=-1).mT",
            "met = query @ torch.softmax(relative_embedding, -1).mT",
            "met = query @ torch.tanh(relative_embedding).mT"),
    mistake(
        "a table without its query",
        "The vectors of distances are multiplied by something other than the query at its own place.",
        "met = query.flip(-2) @ relative_embedding.mT",
        "met = query.flip(-1) @ relative_embedding.mT",
    ),
)

SCALE = (
    mistake("only the content scaled", "The scale multiplies q·k, and q·a is added unscaled. Shaw scales the sum.",
            "scaled = products * factor + relative"),
    mistake("only the relative part scaled", "q·k is not scaled. What does the scale multiply, if it comes before the "
            "whole sum?", "scaled = products + relative * factor"),
    mistake("one part scaled twice", "q·k or q·a is scaled once before they are added and once more with the sum.",
            "scaled = (products + relative * factor) * factor", "scaled = (products * factor + relative) * factor"),
    mistake("no scale at all", "Neither the given scale nor 1/√d_k is used. What multiplies the sum?", "factor = 1.0"),
    *saying(without(DEFAULT, "scale after softmax"), {
        "no scale": "Right where a scale is given. What should it be where none is?",
        "divided by d_k": "Where no scale is given, the scores are divided by too much. d_k is the variance of a "
            "product; what is its standard deviation?",
    }),
    *only(
        saying(GIVEN, {"scale on top of the default": "With a scale given, 1/√d_k multiplies too. Which one should "
        "stay when the caller gives a scale?"}),
        *("scale rounded", "a given scale changed", "a scale of 0.0 taken for none", "scale divides"),
        *("scale on top of the default", "scale ignored"),
    ),
    *saying(another_scale(_some_scale), {
        "another scale than 1/√d_k": "The scores are the right sum times another number than 1/√d_k. Is the scale "
            "computed from these inputs, or does it come from some other width?",
    }),
    mistake("weights instead of scores", "The rows sum to 1: a softmax was taken already. The exercise asks for the "
            "scores.", "scores = torch.softmax(scaled, -1)"),
    mistake("scores transposed",
            "The scores are right, but they have a row for each key. Which of the two asks, and so "
            "owns a row?", "return scores.mT", "return scores.mT.reshape(scores.shape)"),
    *other_kinds("scores"),
    cut_off("met = query @ relative_embedding.detach().mT", "products = (query @ key.mT).detach()",
            "met = (query @ relative_embedding.mT).detach()", "met = query.detach() @ relative_embedding.mT",
            "products = query.detach() @ key.mT", "products = query @ key.detach().mT", "return scores.detach()"),
    overwritten("kept = scores.clone()\nquery.data.mul_(factor)\nreturn kept",
                "kept = scores.clone()\nquery.data.mul_(default)\nreturn kept",
                *writing(shaw_scores, 0, 1, 2)),
    lower_precision(shaw_scores, "scores = scaled.half().to(scaled.dtype)",
                    "scores = scaled.bfloat16().to(scaled.dtype)"),
)  # fmt: skip

ROWS = (
    mistake("query less key", "The table is read backwards: a key after its query gets the vector of one before. The "
            "distance is j - i, key minus query.", "steps = own - place"),
    mistake("no clamp", "Distances beyond max_distance fall outside the table, or come back in at its other end. What "
            "should all of them count as?",
            "number = steps + max_distance", f"number = steps + max_distance\n{_GATHERED}",
            f"number = steps + max_distance\n{_PICKED}", f"number = steps + max_distance\n{_LOOKED_UP}",
            "number = (steps + max_distance) % (2 * max_distance + 1)", "number = steps % (2 * max_distance + 1)"),
    mistake("clamped on one side only", "One direction is clamped, the other is not, or everything on one side got one "
            "vector.", "clipped = steps.clamp(max=max_distance)", "clipped = steps.clamp(0, max_distance)",
            "clipped = steps.clamp(-max_distance, 0)", f"clipped = steps.clamp(max=max_distance)\n{_GATHERED}"),
    mistake("far keys left out", "Distances beyond max_distance get no vector, or that of distance 0. Shaw counts them "
            "as max_distance: what does clamp do with them?", "clipped = steps * (steps.abs() <= max_distance)",
            "relative = met[..., rows, number] * (steps.abs() <= max_distance)"),
    mistake("max_distance not added", "Distance 0 reads row 0 of the table, and negative distances wrap to its end. "
            "Which row belongs to distance 0?", "number = clipped", "number = steps.clamp(0, 2 * max_distance)"),
    mistake("off by one in the table", "Distance 0 should read the middle row, and the ends of the table belong to "
            "±max_distance.", "number = (clipped + max_distance + 1).clamp(max=2 * max_distance)",
            "number = (clipped + max_distance - 1).clamp(min=0)",
            "number = (clipped + max_distance + 1) % (2 * max_distance + 1)", "number = clipped + max_distance - 1"),
    mistake("clamped one too near", "The first or the last row of the table is never read: the distances were clamped "
            "one too near.", "clipped = steps.clamp(-max(max_distance - 1, 0), max(max_distance - 1, 0))",
            "clipped = steps.clamp(-max_distance, max(max_distance - 1, 0))",
            "clipped = steps.clamp(-max(max_distance - 1, 0), max_distance)"),
    mistake(
        "the sign of the distance lost",
        "Keys before and after a query share a vector: the distance lost its sign.",
        "clipped = steps.abs().clamp(max=max_distance)",
        "number = steps.abs().clamp(max=max_distance)",
        "number = max_distance - steps.abs().clamp(max=max_distance)",
    ),
    mistake("the last query aligned to the last key", "Right with as many queries as keys. Here both count from 0, "
            "also when L is not S; the alignment at the end is ALiBi's exercise.",
            "own = rows + key.shape[-2] - query.shape[-2]"),
    mistake("positions of one side from 1", "Queries and keys are counted from different numbers. At which distance is "
            "a query's own key?", "own = rows + 1", "own = rows - 1"),
    mistake("max_distance written into the code", "Every `max_distance` cuts at the same distance. Where is the "
            "argument used?", "number = (steps.clamp(-2, 2) + 2).clamp(max=2 * max_distance)",
            "number = (steps.clamp(-2, 2) + max_distance).clamp(0, 2 * max_distance)"),
    mistake("one vector for all distances", "All pairs get the same vector, whatever their distance. Which row of the "
            "table belongs to which?",
            "number = torch.full_like(steps, max_distance)", "number = torch.zeros_like(steps)"),
    mistake("the vector of the key's own position", "The vector depends on where the key stands, or the query, not on "
            "how far apart they are.", "steps = place + 0 * own", "steps = own + 0 * place", "steps = own + place",
            "number = (place + 0 * own).clamp(max=2 * max_distance)",
            "number = (own + 0 * place).clamp(max=2 * max_distance)"),
    mistake("as many keys as queries", "The table of distances is a square: it has a column for each query, or a row "
            "for each key. L and S may differ: which of them belongs to which axis?",
            f"columns = torch.arange(query.shape[-2])\n{_PICKED}",
            f"columns = torch.arange(query.shape[-2])\n{_PICKED}\nscaled = (relative + products) * factor",
            "columns = torch.arange(query.shape[-2])", f"rows = torch.arange(key.shape[-2]).unsqueeze(-1)\n{_PICKED}",
            "rows = torch.arange(key.shape[-2]).unsqueeze(-1)"),
    mistake("other rows of the table", "Each score is q·k plus the query times a vector of the table, but for some "
            "pairs not the vector of their distance. Write the table of numbers down for 3 queries and 4 keys.",
            "clipped = steps.clamp(-max_distance, max_distance)\nclipped = clipped - clipped % 2",
            "number = (clipped + max_distance).flip(0)", "number = (clipped + max_distance).flip(1)",
            matches=_other_rows),
)


def _long(size: int, generator: torch.Generator) -> tuple[Any, ...]:
    """Make as many queries and keys as they are wide, and nearly as many vectors of distances."""
    reach = size // 2
    return (*(normal(generator, 1, 1, size, size) for _ in range(2)), normal(generator, 2 * reach + 1, size), reach)


def _case(name: str, batch: int, heads: int, queries: int, keys: int, width: int, reach: int, **more: Any) -> Any:
    more = {"max_distance": reach, "two_max_distance_plus_1": 2 * reach + 1, **more}
    return case(name, B=batch, H=heads, L=queries, S=keys, d_k=width, **more)


EXERCISE = exercise(
    shaw_scores,
    right=RIGHT,
    asks="Add to each score the product of the query with the vector of its clipped distance.",
    minutes=15,
    difficulty=3,
    importance=3,
    cases=(
        _case("3 queries, 3 keys, distances up to 2", 1, 1, 3, 3, 4, 2),
        _case("6 queries, 6 keys, distances up to 2", 1, 1, 6, 6, 4, 2, gradient="equal"),
        _case("4 queries, 7 keys, two sequences, three heads", 2, 3, 4, 7, 5, 3, gradient="equal"),
        _case("more queries than keys", 2, 3, 7, 4, 6, 2),
        _case("distances up to 1", 2, 3, 5, 6, 4, 1),
        _case("max_distance=0: one vector for all", 2, 3, 4, 5, 6, 0),
        _case("max_distance beyond the length", 2, 3, 4, 5, 6, 9),
        _case("scale=0.3", 2, 3, 4, 6, 5, 2, scale=0.3),
        _case("scale=0.0", 2, 3, 4, 6, 5, 2, scale=0.0),
        _case("scale=-2.0", 2, 3, 4, 6, 5, 2, scale=-2.0),
        _case("scale=2, a whole number", 1, 2, 4, 6, 5, 2, scale=2),
        _case("as many sequences as heads and queries", 3, 3, 3, 8, 5, 2),
        _case("every size is 5: a transpose keeps the shape", 5, 5, 5, 5, 5, 2),
        _case("one query, one key", 2, 3, 1, 1, 4, 2),
        _case("non-contiguous inputs", 2, 3, 4, 6, 5, 2, strided=True),
        _case("float32", 2, 3, 5, 4, 6, 2, dtype="float32"),
        _case("bfloat16", 1, 2, 3, 4, 5, 1, dtype="bfloat16"),
    ),
    mistakes=(PAIRS, *MEET, *SCALE, *ROWS),
    costs=(Cost("the largest tensor", largest_tensor, (16, 64), _long, 2.3, PAIRS.says, PAIRS.name),),
    hints=(
        "Make the table of distances first: (L, S), entry i, j is j - i. What happens to distances beyond "
        "max_distance?",
        "The table has rows for -max_distance to +max_distance. Which row is that of distance 0?",
        "Looking up the table at all pairs would give vectors (L, S, d_k), far more than there are different ones. "
        "How does a query multiply all 2·max_distance + 1 vectors at once?",
        "Those products are (B, H, L, 2·max_distance + 1). `gather`, or indexing, picks one per pair.",
        "The scale multiplies the sum of both parts, and scale=0.0 is a scale.",
    ),
)
