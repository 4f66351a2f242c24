"""Exercise: choose the few keys that each query attends to by a cheap score."""

from typing import Any

import torch
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import batch_mixed, overwritten, writing
from course_utils.exercises.shared.masks import KINDS, rows_tell
from course_utils.positions import choose_keys, index_scores
from torch import Tensor

RIGHT = """
def choose_keys(query, key, head_weights, top_k, base=10000.0):
    length = key.shape[1]
    at = torch.arange(length)
    asked = rope_split_halves(query, at, base)
    offered = rope_split_halves(key.unsqueeze(1), at, base)
    products = asked @ offered.mT
    positive = products.relu()
    counts = head_weights.unsqueeze(-1)
    weighted = counts * positive
    scores = weighted.sum(1)
    past = torch.ones(length, length, dtype=torch.bool).tril()
    fit = scores.masked_fill(~past, -torch.inf)
    most = min(top_k, length)
    best = fit.topk(most, -1).indices
    chosen = torch.zeros(scores.shape, dtype=torch.bool).scatter(-1, best, True)
    mask = chosen & past
    return mask
"""
_NONE = "asked = query\noffered = key.unsqueeze(1)"
_INTERLEAVED = "asked = rope_interleaved(query, at, base)\noffered = rope_interleaved(key.unsqueeze(1), at, base)"
_EACH = (
    "each = weighted.masked_fill(~past, -torch.inf).topk(most, -1).indices\n"
    "chosen = torch.zeros(weighted.shape, dtype=torch.bool).scatter(-1, each, True)"
)


def _unclear(scores: Tensor, top_k: int) -> Tensor:
    """Return whether the last key that a query of (B, L) chooses and the next one are nearly equal."""
    length = scores.shape[-1]
    if top_k >= length:
        return torch.zeros(scores.shape[:2], dtype=torch.bool)
    past = torch.ones(length, length, dtype=torch.bool).tril()
    ordered = scores.masked_fill(~past, -torch.inf).sort(-1, descending=True).values
    gap = ordered[..., top_k - 1] - ordered[..., top_k]
    return gap < 1e-3 * scores.abs().mean()


def _made(
    *sizes: int, top_k: int, base: float | None = None, size: float = 1.0, level: float = 0.0,
    dtype: torch.dtype = torch.float64, positive: bool = False, spread: bool = False,
) -> Make:
    """Make query, key and weights of the sizes (B, H, L, d) and the number; what is not clear is drawn again.

    Args:
        *sizes: B, H, L and d.
        top_k: How many keys are chosen.
        base: Of the frequencies, if it is given.
        size: Of the queries.
        level: Added to queries and keys.
        dtype: Of all tensors.
        positive: Whether all weights are.
        spread: Whether the tensors are not contiguous.
    """
    batch, heads, length, d = sizes

    def make(g: torch.Generator) -> tuple[Any, ...]:
        key = level + normal(g, batch, length, d, dtype=dtype)
        query, weights = key.new_zeros(batch, heads, length, d), key.new_zeros(batch, heads, length)
        again = torch.ones(batch, length, dtype=torch.bool)
        while bool(again.any()):
            asked = size * (level + normal(g, batch, heads, length, d, dtype=dtype))
            counts = normal(g, batch, heads, length, dtype=dtype)
            counts = counts.abs() + 0.1 if positive else counts
            query = torch.where(again[:, None, :, None], asked, query)
            weights = torch.where(again[:, None], counts, weights)
            scores = index_scores(query, key, weights, base or 10000.0)
            again = _unclear(scores, top_k)
        given = (strided(query), strided(key), strided(weights)) if spread else (query, key, weights)
        return (*given, top_k) if base is None else (*given, top_k, base)

    return make


EXERCISE = exercise(
    choose_keys,
    right=RIGHT,
    asks="Score each key by a weighted sum over heads of relu(q · k), rotated, and keep each query's `top_k` best.",
    minutes=15,
    difficulty=3,
    importance=4,
    cases=(
        case("length 9, 3 heads of width 4, 3 keys", _made(2, 3, 9, 4, top_k=3)),
        case("positive weights, 2 of 8 keys", _made(2, 4, 8, 6, top_k=2, positive=True)),
        case("1 head, 2 of 7 keys", _made(2, 1, 7, 8, top_k=2, positive=True, level=0.7)),
        case("length 24, 8 heads of width 8, 5 keys", _made(2, 8, 24, 8, top_k=5)),
        case("every size is 4: a transpose keeps the shape", _made(4, 4, 4, 4, top_k=2)),
        case("1 key for each query", _made(3, 5, 10, 6, top_k=1)),
        case("as many keys as tokens: the causal mask", _made(2, 3, 6, 4, top_k=6)),
        case("more keys than tokens", _made(2, 3, 5, 4, top_k=40)),
        case("length 1", _made(2, 3, 1, 4, top_k=2)),
        case("width 2, 3 of 8 keys", _made(2, 6, 8, 2, top_k=3)),
        case("base 50", _made(2, 4, 16, 8, top_k=4, base=50.0)),
        case("scores of thousands", _made(2, 4, 12, 6, top_k=3, size=3e3)),
        case("vectors around 1, length 20", _made(1, 4, 20, 6, top_k=4, level=1.0)),
        case("length 40, 16 heads, 8 keys", _made(1, 16, 40, 8, top_k=8)),
        case("non-contiguous inputs", _made(2, 3, 10, 6, top_k=3, spread=True)),
        case("float32", _made(2, 6, 14, 8, top_k=4, dtype=torch.float32)),
    ),
    mistakes=(
        mistake("positions missing", "The scores do not depend on where a token stands: nothing was rotated. What "
                "tells the indexer whether a key is near or far?", _NONE),
        mistake("only one side rotated", "Queries are rotated and keys are not, or the other way round, so that scores "
                "depend on absolute places. What must happen to both for the distance alone to count?",
                "asked = query", "offered = key.unsqueeze(1)"),
        mistake("pairs interleaved", "Neighbouring features were rotated together. The attention that follows pairs "
                "them so in the released model; the indexer does not. Which feature is the partner of feature i here?",
                _INTERLEAVED),
        mistake("two pairings mixed", "Queries and keys were rotated in different pairs. What does a product of two "
                "rotations need?", "asked = rope_interleaved(query, at, base)",
                "offered = rope_interleaved(key.unsqueeze(1), at, base)"),
        mistake("rotated the other way", "A rotation goes backwards: the positions have the wrong sign, on one side or "
                "on both.", "asked = rope_split_halves(query, -at, base)",
                "offered = rope_split_halves(key.unsqueeze(1), -at, base)",
                "asked = rope_split_halves(query, -at, base)\n"
                "offered = rope_split_halves(key.unsqueeze(1), -at, base)"),
        mistake("places counted apart", "Queries and keys are counted from different numbers, so that a token is not "
                "at distance 0 from itself. Where does each count begin?",
                "asked = rope_split_halves(query, at + 1, base)",
                "offered = rope_split_halves(key.unsqueeze(1), at + 1, base)"),
        mistake("positions scaled", "The angles are off by a factor. Token t is rotated by position t, not by a part "
                "or a multiple of it.", "at = torch.arange(length) / length",
                "at = torch.arange(length) / 2"),
        mistake("rotated twice", "Every vector was rotated twice. Which of the two rotations is one too many?",
                "asked = rope_split_halves(rope_split_halves(query, at, base), at, base)\n"
                "offered = rope_split_halves(rope_split_halves(key.unsqueeze(1), at, base), at, base)"),
        mistake("base hard-coded", "Every base gives the same result. Where is the argument used?",
                "asked = rope_split_halves(query, at)\noffered = rope_split_halves(key.unsqueeze(1), at)"),
        mistake("relu missing", "Negative products count too. In the sum over heads, one head's dislike may not cancel "
                "what another one finds: what keeps it out?", "positive = products"),
        mistake("relu after the sum", "The sum over heads was cut off at 0, instead of each head's product. Which "
                "comes first?", "positive = products\nscores = weighted.sum(1).relu()",
                "scores = weighted.sum(1).relu()"),
        mistake("relu of what is weighted", "Weight times product was cut off at 0, so that a head with a negative "
                "weight votes with its dislikes. What exactly is inside the relu?",
                "weighted = (counts * products).relu()"),
        mistake("another function instead of relu", "Each head's products went through something other than a relu. "
                "What does a relu do with 3, and with -3?", "positive = products.abs()",
                "positive = products.sigmoid()", "positive = products.exp()", "positive = F.silu(products)",
                "positive = F.gelu(products)",
                "positive = products.square()", "positive = F.softplus(products)",
                "positive = products.relu().square()", "positive = F.leaky_relu(products)",
                "positive = F.elu(products)", "positive = products.tanh()", "positive = -(-products).relu()"),
        mistake("softmax in each head", "Each head's products went through a softmax, as in attention. The indexer has "
                "none, so that it needs no second pass over the keys. What takes its place?",
                "positive = products.softmax(-1)",
                "positive = products.masked_fill(~torch.ones(length, length).tril().bool(), -torch.inf).softmax(-1)",
                "positive = (products / math.sqrt(query.shape[-1])).softmax(-1)",
                "positive = products.softmax(1)"),
        mistake("head weights left out", "All heads count alike. What does `head_weights` say of each head?",
                "weighted = positive"),
        mistake("weights of the key's token", "The weights were taken from the token of the key. Whose question is it: "
                "along which axis of the table do they vary?", "counts = head_weights.unsqueeze(-2)"),
        mistake("weights changed first", "The weights went through a softmax, a relu or their absolute value, or were "
                "averaged. They are used as they are given, negative ones too.",
                "counts = head_weights.softmax(1).unsqueeze(-1)", "counts = head_weights.abs().unsqueeze(-1)",
                "counts = head_weights.relu().unsqueeze(-1)", "counts = head_weights.sigmoid().unsqueeze(-1)",
                "counts = head_weights.mean(-1, keepdim=True).unsqueeze(-1)",
                "counts = head_weights.softmax(-1).unsqueeze(-1)",
                "counts = head_weights[:, :1].unsqueeze(-1)",
                "counts = head_weights.mean(1, keepdim=True).unsqueeze(-1)"),
        mistake("heads joined otherwise", "The heads were multiplied, or the length of their list was taken. How do "
                "the heads' scores become one?", "scores = weighted.prod(1)", "scores = weighted.norm(dim=1)",
                "scores = weighted.median(1).values", "scores = weighted.amin(1)"),
        mistake("the best head instead of the sum", "The largest of the heads decides alone. How do the heads' scores "
                "become one?", "scores = weighted.amax(1)", "scores = positive.amax(1)", "scores = products.amax(1)"),
        mistake("one head only", "One head decides for all. Over which axis is summed?", "scores = weighted[:, 0]",
                "scores = weighted[:, -1]"),
        mistake("each head chooses its own", "Each head of the indexer chose keys for itself, and a query sees them "
                "all. There is one list for each query: what comes first, the sum over heads or the choice?",
                f"{_EACH}\nmask = (chosen & past).any(1)", f"{_EACH}\nmask = chosen & past"),
        mistake("best of all pairs", "The best pairs of the whole table were taken, so that some queries see many keys "
                "and some none. Among what does each query choose?",
                "best = fit.flatten(1).topk(min(top_k * length, fit[0].numel()), -1).indices\n"
                "chosen = torch.zeros(len(fit), length * length, dtype=torch.bool).scatter(-1, best, True)"
                ".view(fit.shape)"),
        mistake("each key chooses queries", "The choice was made along the wrong axis: each key chose its queries. "
                "Which axis of the table holds the keys?",
                "best = fit.topk(most, -2).indices\n"
                "chosen = torch.zeros(scores.shape, dtype=torch.bool).scatter(-2, best, True)"),
        mistake("one choice for all queries", "All queries see the same keys, as far as they lie in their past. Whose "
                "score decides for a query?", "best = scores.mean(1, keepdim=True).expand(fit.shape).topk(most, -1)"
                ".indices", "best = scores[:, -1:].expand(fit.shape).topk(most, -1).indices"),
        mistake("keys and queries exchanged", "The table was read the other way round: a row for each key. Who asks?",
                "scores = weighted.sum(1).mT", "products = offered @ asked.mT",
                "return mask.mT"),
        mistake("future keys chosen", "A query attends to tokens that come after it. Which keys may query t choose "
                "among?", "fit = scores\nmask = chosen"),
        mistake("the future takes places", "Keys of the future took places among the chosen ones, and were hidden "
                "afterwards: some queries see too few. Between which two steps must they be ruled out?", "fit = scores",
                "fit = scores.masked_fill(~past, 0.0)", "fit = scores * past", "fit = scores.tril()"),
        mistake("the future seen where keys are too few", "The first queries have fewer than `top_k` keys in their "
                "past, and see later ones instead: `topk` fills its places with scores of -inf. What happens to those?",
                "mask = chosen"),
        mistake("none where there are too few", "Queries with fewer than `top_k` keys in their past see none. They see "
                "all that there are.", "mask = chosen & past & (at >= top_k - 1).unsqueeze(-1)"),
        mistake("more keys asked for than there are", "`topk` was asked for more keys than there are tokens, and "
                "stopped. What does a query see if `top_k` is larger than the text?",
                "best = fit.topk(top_k, -1).indices"),
        mistake("the worst instead of the best", "The keys with the smallest scores were chosen.",
                "best = scores.masked_fill(~past, torch.inf).topk(most, -1, largest=False).indices",
                "scores = -weighted.sum(1)", "best = fit.topk(most, -1, largest=False).indices"),
        mistake("one key too few or too many", "Each query sees one key more or less than `top_k`.",
                "most = min(top_k + 1, length)", "most = min(top_k, length) - 1", "most = min(top_k, length - 1)"),
        mistake("own key always seen", "A query sees its own key in addition, or in any case. It competes like the "
                "others.", "mask = (chosen & past) | torch.eye(length, dtype=torch.bool)",
                "fit = scores.masked_fill(~past, -torch.inf).masked_fill(torch.eye(length).bool(), torch.inf)"),
        mistake("own key hidden", "A query never sees its own key, and the first one sees nothing. Is a token its own "
                "future?", "past = torch.ones(length, length, dtype=torch.bool).tril(-1)"),
        mistake("one key of the future seen", "Every query may choose the next key as well, the one to be predicted. "
                "Where does its past end?", "past = torch.ones(length, length, dtype=torch.bool).tril(1)"),
        mistake("the future instead of the past", "Each query chooses among later keys. On which side of the diagonal "
                "is the past?", "past = torch.ones(length, length, dtype=torch.bool).triu()"),
        mistake("every key of the past", "The whole past is seen: this is the causal mask. What does the choice leave "
                "out?", "mask = past.expand(scores.shape)"),
        mistake("the last keys", "The nearest keys are seen, whatever they hold: this is a window. What decides?",
                "mask = (past & ~past.tril(-top_k)).expand(scores.shape)"),
        mistake("only positive scores", "Keys with a score below 0, or of 0, are hidden even where there are places "
                "left. How many keys does a query see?", "mask = chosen & past & (scores > 0)",
                "mask = chosen & past & (scores >= 0)"),
        mistake("a threshold instead of a number", "Keys above the mean score are seen, however many they are. How "
                "many may a query see?", "mask = past & (scores > scores.mean(-1, keepdim=True))"),
        mistake("indices instead of a mask", "These are the numbers of the chosen keys. The exercise asks for the "
                "mask, in which fewer keys than `top_k` can be said too: what sets True at given places?",
                "return best", "return best.to(torch.int32)"),
        mistake("scores instead of a mask", "These are the scores. What is asked for is which keys may be seen.",
                "return scores", "return fit", "return scores.masked_fill(~mask, -torch.inf)"),
        mistake("a mask for each head", "There is an axis for the heads, or one of size 1. The attention that follows "
                "has one choice for all of its heads; broadcasting gives them the axis.",
                "return mask.unsqueeze(1)", "return mask.unsqueeze(1).expand(-1, query.shape[1], -1, -1)"),
        batch_mixed("best = fit.mean(0, keepdim=True).expand(fit.shape).topk(most, -1).indices", "return mask[0]",
                    "return mask.any(0)", "return mask[:1].expand(mask.shape)"),
        *KINDS,
        overwritten(*writing(choose_keys, 0, 1, 2)),
    ),
    laws=rows_tell("query t sees the top_k best keys s <= t, or all of them", choose_keys),
    hints=(
        "Rotate queries and keys by the token's number first. `rope_split_halves` of `course_utils.positions` expects "
        "the axes (B, H, L, d): which axis do the keys lack?",
        "Each head gives a table of products, and cuts it off at 0. The weight of query t in head h multiplies row t "
        "of table h; then the tables are added.",
        "Put -inf on the keys of the future before `topk`, along the axis of the keys, and never ask for more than "
        "there are.",
        "`scatter` writes True at the chosen places of a table of False. For the first queries some of those places "
        "lie in the future: what do you join the mask with?",
    ),
)
