"""Exercise: how much of a head's attention goes to the token after the same one, a period earlier."""

import torch
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import adding, mistake
from course_utils.exercises.shared.kinds import left_in, other_kinds, overwritten, squeezed, writing
from course_utils.exercises.shared.precision import rounded_off
from course_utils.interpretability import induction_score
from torch import Tensor

RIGHT = """
def induction_score(weights, period):
    length = weights.shape[-1]
    query = torch.arange(min(period, length), length)
    key = query - period + 1
    entries = weights[..., query, key]
    count = max(1, len(query))
    total = entries.sum(-1)
    score = total / count
    return score
"""


def _made(*shape: int, period: int, causal: bool = False, dtype: torch.dtype = torch.float64) -> Make:
    def make(g: torch.Generator) -> tuple[Tensor, int]:
        scores, length = normal(g, *shape, shape[-1], size=1.5), shape[-1]
        hidden = torch.ones(length, length).triu(1) > 0 if causal else torch.zeros(length, length) > 0
        return scores.masked_fill(hidden, -torch.inf).softmax(-1).to(dtype), period

    return make


def _numbered(g: torch.Generator) -> tuple[Tensor, int]:
    return torch.arange(36.0, dtype=torch.float64).view(6, 6) / 36, 3


def _every_copy(weights: Tensor, query: Tensor, period: int, least: int = 0) -> Tensor:
    """Return the weight on the token after each earlier copy of a query's token, added up."""
    most = max(1, weights.shape[-1] // period)
    keys = torch.stack([query - n * period + 1 for n in range(1, most + 1)])
    return (weights[..., query, keys.clamp(min=0)] * (keys >= least)).sum(-2)


_WRAPPED = "entries = weights[..., query, key % length]"

EXERCISE = exercise(
    induction_score,
    right=RIGHT,
    asks="On a segment that repeats with a period, average the weight on the token after the one that matches.",
    minutes=10,
    difficulty=3,
    importance=4,
    cases=(
        case("6 tokens, period 3, entries 0/36, 1/36, …", _numbered),
        case("a batch of shape (2, 3): 9 tokens, period 4", _made(2, 3, 9, period=4)),
        case("a causal head: 11 tokens, period 4", _made(2, 11, period=4, causal=True)),
        case("period 1: the token itself", _made(2, 5, period=1)),
        case("period 2", _made(3, 8, period=2)),
        case("one query alone is left: 7 tokens, period 6", _made(2, 7, period=6)),
        case("as many tokens as the period", _made(2, 5, period=5)),
        case("a period longer than the text", _made(3, 4, period=9)),
        case("one token", _made(2, 2, 1, period=1)),
        case("no leading axis: 10 tokens, period 3", _made(10, period=3)),
        case("three leading axes", _made(2, 1, 3, 8, period=3)),
        case("one sequence, one head", _made(1, 1, 8, period=3)),
        case("every size is 4", _made(4, 4, 4, period=2)),
        case("non-contiguous inputs", lambda g: (strided(_made(2, 9, period=4)(g)[0]), 4)),
        case("float32", _made(2, 3, 10, period=4, dtype=torch.float32)),
    ),
    mistakes=(
        mistake("the whole diagonal", "The diagonal's first entry went into the mean. It belongs to query period - 1: "
                "which copy of the segment does that one stand in?",
                "query = torch.arange(min(period - 1, length), length)",
                "entries = weights.diagonal(1 - period, -2, -1)\ncount = max(1, entries.shape[-1])",
                "entries = weights.diagonal(1 - period, -2, -1)[..., :-1]"),
        mistake("the matched token itself", "This is the weight on the same token, a period earlier. An induction head "
                "looks for what came after it: one place further, or one place back?", "key = query - period"),
        mistake("the token before the matched one", "The key is on the other side of the token that matches. Does the "
                "next token in the text stand before or after it?", "key = (query - period - 1) % length",
                "query = torch.arange(min(period + 1, length), length)\nkey = query - period - 1"),
        mistake("one key too far", "The key is too far to the right by one. If query i stands on the same token as "
                "i - period, what follows that one?", "key = (query - period + 2) % length"),
        mistake("the previous token", "This is the weight on the token just before the query, whatever the period is. "
                "How far back is the match?", "key = query - 1", "entries = weights.diagonal(-1, -2, -1)"),
        mistake("transposed", "Query and key are exchanged: in this table, which axis asks?",
                "entries = weights[..., key, query]", "entries = weights.diagonal(period - 1, -2, -1)[..., 1:]",
                "entries = weights.diagonal(period, -2, -1)",
                "entries = weights.diagonal(period - 1, -2, -1)\ncount = max(1, entries.shape[-1])"),
        mistake("divided by L", "The sum was divided by the length of the text. How many queries stand in a later "
                "copy?", "count = length"),
        mistake("divided by another number", "The entries are right, but they were divided by a number that is not "
                "theirs. How many were added up?", "count = max(1, len(query) + 1)", "count = period",
                "count = max(1, len(query) - 1)", "count = max(1, length // period)", "count = length - 1 or 1",
                "count = max(1, length // period - 1)", "count = weights[0].numel()"),
        mistake("sum instead of mean", "The weights were added up: longer texts would have larger scores.",
                "count = 1"),
        mistake("one number for all heads", "All heads were averaged into one number. The score is there to tell heads "
                "apart: which axes stay?", "return score.mean()", "score = entries.mean()",
                "return score.mean(-1)", "return score.mean(0)", "return score.mean().expand(score.shape)",
                "return score.mean().item()"),
        mistake("one head for all", "Only one head was looked at. What becomes of the others?",
                "entries = weights.reshape(-1, length, length)[0, query, key]",
                "entries = weights[..., :1, :, :][..., query, key].expand(*weights.shape[:-2], -1)"),
        mistake("the period not used", "Another period gives the same result, as if the text had just two copies. "
                "Where does the argument come in?",
                "period = max(1, weights.shape[-1] // 2)\nlength = weights.shape[-1]",
                "period = weights.shape[-1] - weights.shape[-1] // 2\nlength = weights.shape[-1]"),
        mistake("a block instead of a diagonal", "All these queries were averaged over all these keys. Each query has "
                "one key of its own: what pairs them?",
                "score = weights[..., query, :][..., key].mean((-2, -1)) if len(query) else total",
                "score = weights[..., query, :][..., key].sum((-2, -1)) / count"),
        mistake("rows made to sum to 1", "The weights were divided by the sums of their rows. They are to be taken as "
                "they are.", "entries = (weights / weights.sum(-1, keepdim=True))[..., query, key]",
                "score = total / weights.sum(-1)[..., query].sum(-1).clamp(min=1e-12)"),
        mistake("no mean over the queries", "There is one number for each query left. Over which axis is the mean "
                "taken?", "score = entries", "score = entries.mean(0)"),
        mistake("NaN where no query is left", "With a text no longer than the period, no query is left, and the mean "
                "of nothing is NaN. What does the exercise say there?", "score = entries.mean(-1)",
                "return score if len(query) else torch.full(weights.shape[:-2], torch.nan)",
                "count = torch.tensor(float(len(query)), dtype=weights.dtype)"),
        mistake("a plain 0 where no query is left", "With a text no longer than the period the result has another kind "
                "or shape. Each head has a score, also if it is 0: which shape is asked for?",
                *(f"return score if len(query) else {zero}" for zero in (
                    "0.0", "0", "torch.tensor(0.0)", "torch.zeros(())", "torch.zeros(1)", "entries.new_zeros(())",
                    "torch.zeros(weights.shape[:-1]).to(weights.dtype)", "0.0 * weights"))),
        mistake("an error where no query is left", "A text may be no longer than the period. Then no query is left: "
                "what is the score, and which line fails?", "query = torch.arange(period, length)",
                "score = total / count if len(query) else total / (1 / len(query))"),
        mistake("the second copy alone", "Only the queries of the second copy count. The segment may repeat more than "
                "twice.", "query = torch.arange(min(period, length), min(2 * period, length))"),
        mistake("the last copy alone", "Only the queries of the last copy count. Which ones have seen their token "
                "before?",
                "query = torch.arange(max(min(period, length), length - period), length)"),
        mistake("the first copy too", "Queries of the first copy, whose tokens have not come up before, went into the "
                "mean. For which query is there a match for the first time?",
                f"query = torch.arange(length)\n{_WRAPPED}",
                f"query = torch.arange(min(1, length), length)\n{_WRAPPED}"),
        mistake("the last queries or keys left out", "Some queries at the end do not count: where does the range end?",
                "query = torch.arange(min(period, length - 1), length - 1)",
                "query = torch.arange(min(period, length), length // period * period)"),
        mistake("the first matching query left out", "Query `period` is the first that has seen its token before. "
                "Where does your range begin?", "query = torch.arange(min(period + 1, length), length)"),
        mistake("the first copy's own period", "The match was looked for at a distance other than the period.",
                "key = (query - 2 * period + 1) % length", "key = query % period", "key = (query + 1) % period",
                "key = query % period + 1"),
        mistake("every earlier copy", "The weights on all earlier copies were added up. Only the copy a period "
                "earlier counts.", "entries = _every_copy(weights, query, period)",
                "entries = _every_copy(weights, query, period, 1)"),
        mistake("how often it is the top key", "This counts how often the key is the one with the largest weight. "
                "How large is the weight itself, on average?",
                "entries = (weights[..., query, :].argmax(-1) == key).to(weights.dtype)"),
        mistake("the largest weight", "The largest of the entries was taken. A head that matches once is not an "
                "induction head: what is asked of them?", "score = entries.amax(-1) if len(query) else total",
                "entries = weights[..., query, :].amax(-1)"),
        mistake("the median", "The entry in the middle was taken, not the mean.",
                "score = entries.median(-1).values if len(query) else total"),
        mistake("axes counted from the front", "The diagonal was taken of the first two axes. With heads and sequences "
                "in front, which two are the table?", "entries = weights.diagonal(1 - period)[..., 1:]",
                "entries = weights[query, key]",
                "entries = weights.diagonal(1 - period)[..., 1:]\nscore = entries.mean(-1)"),
        squeezed("return score{}"), left_in("return score{}"),
        rounded_off(induction_score, "return score.round(decimals=3)", "return score.round(decimals=2)"),
        overwritten(*writing(induction_score, 0)),
        *adding(other_kinds("score"), {"another dtype": (
            "return score if len(query) else torch.zeros(weights.shape[:-2])",)}),
    ),
    hints=(
        "With period 3 the text reads a b c a b c. Query 3 stands on the second a: on which position does the first a "
        "stand, and what follows it?",
        "The entries lie on a diagonal below the main one. How far below, for a period of 1? For a period of 3?",
        "`diagonal(offset, dim1=-2, dim2=-1)` takes a diagonal of the last two axes. Its first entry belongs to a "
        "query of the first copy.",
        "The mean of no entries is NaN. A sum divided by a count of at least 1 is not.",
    ),
)
