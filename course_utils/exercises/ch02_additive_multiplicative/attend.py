"""Exercise: weights over the real keys, and the context that they make."""

from typing import Any

import torch
from course_utils.attention import attend
from course_utils.checking.compare import equal
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided, visible
from course_utils.checking.laws import row_sums_broken
from course_utils.checking.mistakes import Mistake, adding, mistake, only, saying, without
from course_utils.exercises.shared.kinds import batch_mixed, cut_off, other_parts, overwritten, squeezed, writing
from course_utils.exercises.shared.masking import EMPTY_ROWS, MASK
from course_utils.exercises.shared.softmax import RANDOM, SOFTMAX
from course_utils.exercises.shared.values import VALUES
from torch import Tensor

RIGHT = """
def attend(scores, value, key_mask):
    values = value
    scaled = scores
    allowed = key_mask.unsqueeze(-2)
    scores = scaled.masked_fill(~allowed, -torch.inf)
    weights = stable_softmax(scores)
    out = weights @ values
    return out, weights
"""


def _made(
    batch: int,
    queries: int,
    keys: int,
    d_v: int,
    lengths: tuple[int, ...] = (),
    holes: bool = False,
    size: float = 1.0,
    dtype: str = "float64",
) -> Make:
    """Return a maker of scores, value and key_mask; without lengths and holes all keys are real."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        kind = getattr(torch, dtype)
        scores = normal(g, batch, queries, keys, size=size, dtype=kind)
        value = normal(g, batch, keys, d_v, dtype=kind)
        mask = torch.ones(batch, keys, dtype=torch.bool)
        if lengths:
            mask = torch.arange(keys) < torch.tensor(lengths).unsqueeze(-1)
        return scores, value, visible(g, batch, keys) if holes else mask

    return make


def _best_is_hidden(g: torch.Generator) -> tuple[Any, ...]:
    """Make scores of about -20,000 where a key is real and +20,000 where it is padding."""
    scores, value, mask = _made(2, 3, 5, 4, holes=True)(g)
    return scores + torch.where(mask, -2e4, 2e4).unsqueeze(1), value, mask


def _overflows(g: torch.Generator) -> tuple[Any, ...]:
    """Make scores near 0 where a key is real and near 715 where it is padding.

    exp(715) is infinite and exp(-715) is not yet 0, so inf * 0 and 0 / 0 can be told apart.
    """
    scores, value, mask = _made(2, 3, 6, 4, holes=True, size=0.3)(g)
    return scores + torch.where(mask, 0.0, 715.0).unsqueeze(1), value, mask


def _empty(g: torch.Generator) -> tuple[Any, ...]:
    scores, value, mask = _made(3, 4, 6, 2, holes=True)(g)
    mask[1] = False
    return scores, value, mask


def _all_empty(g: torch.Generator) -> tuple[Any, ...]:
    return (*_made(1, 2, 3, 4)(g)[:2], torch.zeros(1, 3) > 0)


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    return tuple(strided(tensor) for tensor in _made(2, 4, 6, 5, holes=True)(g))


def _rows_sum(args: tuple[Any, ...], out: Any) -> str | None:
    real = args[2].any(-1, keepdim=True).expand(out[1].shape[:-1])
    return row_sums_broken(out[1], real.double())


def _padding_weighs(args: tuple[Any, ...], out: Any) -> str | None:
    weights: Tensor = out[1].detach()
    heavy = (weights.ne(0) & ~args[2].unsqueeze(1)).nonzero()
    if not len(heavy):
        return None
    where = tuple(int(i) for i in heavy[0])
    return f"The weight at index {list(where)} is {weights[where].item():.4g}, on a key of padding."


def _slightly_less(args: tuple[Any, ...], out: Any) -> bool:
    """Return whether all weights are the right ones times one number a little below 1."""
    right = attend(*args)[1]
    share = float((out[1].detach().sum() / right.sum()).nan_to_num())
    return 0.9 < share < 1 and equal(out[1].detach(), share * right)


def _nearly_hidden(args: tuple[Any, ...], out: Any) -> bool:
    """Return whether padding has weights, all tiny, and the rest is right."""
    right, weights = attend(*args)[1], out[1].detach()
    extra = weights[~args[2].unsqueeze(1).expand_as(weights)]
    tiny = bool((extra >= 0).all()) and 0 < float(extra.max()) < 1e-4
    return tiny and bool(((weights - right).abs() < 1e-3).all())


_CUT_OUT = """
def attend(scores, value, key_mask):
    contexts, rows = [], []
    for one, given, real in zip(scores, value, key_mask):
        picked = torch.softmax(one[:, real], -1)
        {}
        rows.append(part)
        contexts.append(picked @ given[real])
    return torch.stack(contexts), torch.stack(rows)
"""
_CUT = "\nweights = stable_softmax(scores) * allowed"
_FULL = "\nweights = stable_softmax(scores) * allowed.any(-1, keepdim=True)"
_LATE = "scores = scaled\nrest = {} * allowed\nweights = rest / "
_SUM = "rest.sum(-1, keepdim=True)"
_DIVIDED = (_SUM, _SUM + ".clamp(min=1e-12)")
_OVERFLOW = (
    "top = scaled.masked_fill(~allowed, -torch.inf).amax(-1, keepdim=True)\n"
    "scores = scaled - torch.where(top == -torch.inf, 0.0, top)\nrest = scores.exp() * allowed\n"
)
# What goes wrong here besides the lines that all exercises with a mask or a softmax share.
_MORE = {
    "mask ignored": ("scores = scaled\nvalues = value * key_mask.unsqueeze(-1)",),
    "mask inverted": (
        "allowed = ~key_mask.unsqueeze(-2)",
        "scores = scaled\nweights = stable_softmax(scores) * ~allowed",
    ),
    "scores multiplied by the mask": (
        *(f"scores = scaled.masked_fill(~allowed, {n}){end}" for n in ("0.0", "-1.0") for end in (_CUT, _FULL)),
    ),
    "mask after the softmax, then divided again": (
        *(_LATE.format("stable_softmax(scores)") + f"({_SUM} + {e})" for e in ("1e-8", "1e-7", "1e-6", "1e-5")),
        *(_LATE.format("(scores - scores.amax(-1, keepdim=True)).exp()") + total for total in _DIVIDED),
    ),
    "fill that is not low enough": (
        *(f"scores = scaled.masked_fill(~allowed, {n}){_CUT}" for n in ("-1e4", "-1e3", "-10.0")),
        f"scores = scaled.masked_fill(~allowed, -10.0){_FULL}",
        "scores = scaled.masked_fill(~allowed, scaled.detach().min().item() - 1)",
    ),
    "NaN on an empty row": tuple(
        f"weights = torch.softmax(scores, -1)\nreturn {both}"
        for both in ("out.nan_to_num(), weights", "out, weights.nan_to_num()")
    ),
    "uniform on an empty row": (
        "scores = scaled.masked_fill(~allowed, -1e9)\nvalues = value * key_mask.unsqueeze(-1)",
    ),
    "no exponential": tuple(
        _LATE.format(turned) + total
        for turned in ("scores", "scores.abs()", "scores.square()", "scores.relu()")
        for total in _DIVIDED
    ),
    "no shift before exp": tuple(_LATE.format("scores.exp()") + total for total in _DIVIDED),
    "all weight on the best key": (
        "best = F.one_hot(scores.argmax(-1), scores.shape[-1])\n"
        "weights = best.to(scores.dtype) + 0.0 * scores.masked_fill(~allowed, 0.0)",
    ),
    "sigmoid instead of softmax": (
        "weights = torch.tanh(scores)",
        *(_LATE.format("scores.sigmoid()") + total for total in _DIVIDED),
    ),
    "the weights not used": ("out = values",),
    "weights transposed": ("return out, weights.mT", "out = weights.mT @ values\nreturn out, weights.mT"),
}
_WORDS = {
    "mask ignored": "Padding gets its share like a real token. Where is `key_mask` used?",
    "mask inverted": "The padding is attended to and the real tokens are hidden. What does True mean in `key_mask`, "
    "and what does True mean to `masked_fill`?",
    "scores multiplied by the mask": "Hidden scores became 0 or another small number, and exp(0) is 1: they still get "
    "a share. Which score gets none?",
    "mask after the softmax": "The padding's weights were set to 0 after the softmax, so those of the others no longer "
    "sum to 1. When must a key be taken out so that the rest share 1?",
    "fill that is not low enough": "Padding won, because the real scores were lower still than the number that was "
    "filled in. Which number is lower than every score?",
    "NaN on an empty row": "A sequence without any real key got NaN: its maximum is -inf, and -inf - (-inf) is not a "
    "number. What should it get?",
    "uniform on an empty row": "A sequence without any real key got the mean of its padding: all its scores are "
    "equally low. What should it get?",
    "NaN repaired too late": "The values are right, but the gradient of a sequence without real keys is NaN: it was "
    "made on the way and replaced only afterwards. Can it be avoided instead?",
    "the first key decides for the row": "A sequence whose first or last key is padding gives zeros. Which sequences "
    "have no real key at all?",
    "softmax over an axis counted from the front": "The weights sum to 1 over the sequences of the batch. Which axis "
    "holds the keys?",
    "weights transposed": "The weights are used or returned with their two axes swapped. Which axis do weights and "
    "values share?",
}


def _here(mistakes: tuple[Mistake, ...]) -> tuple[Mistake, ...]:
    """Return shared mistakes with what is added to them here."""
    names = {one.name for one in mistakes}
    more = adding(mistakes, {name: lines for name, lines in _MORE.items() if name in names})
    return saying(more, {name: words for name, words in _WORDS.items() if name in names})


EXERCISE = exercise(
    attend,
    right=RIGHT,
    asks="Turn scores into weights over the real keys, and average the values with them.",
    minutes=12,
    difficulty=3,
    importance=5,
    parts=("context", "weights"),
    cases=(
        # All sizes equal: a mistake with axes gives numbers here, and can be named by them.
        case("3 queries, 3 keys, all real, values of width 3", _made(3, 3, 3, 3), gradient="equal"),
        case("the same with padding", _made(3, 3, 3, 3, (2, 3, 1)), gradient="equal"),
        case("2 queries, 5 keys, lengths 3, 5, 4", _made(3, 2, 5, 4, (3, 5, 4)), gradient="equal"),
        case("padding anywhere in the row", _made(2, 4, 7, 3, holes=True)),
        case("padding whose scores are higher by 715", _overflows),
        case("padding with by far the best scores", _best_is_hidden, gradient="equal"),
        case("scores of thousands", _made(2, 3, 4, 5, (4, 2), size=3000.0)),
        case("a sequence without any real key", _empty, gradient="equal"),
        case("nothing but such a sequence", _all_empty),
        case("one query, one sequence", _made(1, 1, 4, 3, (3,))),
        case("one key, values of width 1", _made(2, 3, 1, 1)),
        case("non-contiguous inputs", _strided),
        case("float32", _made(2, 3, 6, 5, holes=True, dtype="float32")),
        case("bfloat16", _made(2, 4, 5, 3, holes=True, dtype="bfloat16")),
    ),
    mistakes=(
        # The mask has no axis for the queries, and its own two are told apart below.
        *_here(
            without(MASK, "one mask for all queries", "mask transposed", "queries masked instead of keys",
                    "one mask for all batches")
        ),
        mistake("hidden scores overflow", "The largest real score was subtracted, and a hidden score far above it "
                "overflows in `exp`: infinity, and infinity times 0 is NaN. At which step should they drop out?",
                _OVERFLOW + "weights = rest / rest.sum(-1, keepdim=True)",
                _OVERFLOW + "total = rest.sum(-1, keepdim=True)\nweights = rest / torch.where(total == 0, 1.0, total)"),
        mistake(
            "epsilon in the denominator",
            "The rows sum to a little less than 1, since something small is added to every denominator. Which rows "
            "need help, and which are safe as they are?",
            *(
                f"shares = stable_softmax(scores)\nweights = shares / (shares.sum(-1, keepdim=True) + {epsilon})"
                for epsilon in ("1e-6", "1e-5")
            ),
            matches=_slightly_less,
        ),
        *_here(EMPTY_ROWS),
        mistake("queries masked instead of keys", "Whole rows were hidden, not single keys. The mask knows of keys: on "
                "which side does it need a new axis?", "allowed = key_mask.unsqueeze(-1)",
                "allowed = key_mask.unsqueeze(-1)\nweights = torch.softmax(scores, -1)",
                "allowed = key_mask.unsqueeze(-1)\nscores = scaled.masked_fill(~allowed, -1e9)",
                "allowed = key_mask.unsqueeze(-1) & key_mask.unsqueeze(-2)"),
        mistake("the mask's sequences taken for queries", "(B, S) was laid over (B, L, S) from the right, so the mask "
                "of sequence i met query i of every sequence. Where is an axis for the queries missing?",
                "allowed = key_mask", "allowed = key_mask\nweights = torch.softmax(scores, -1)",
                "allowed = key_mask\nscores = scaled.masked_fill(~allowed, -1e9)"),
        mistake("one mask for all batches", "Every sequence was masked like the first, or by what all masks say "
                "together. Each has padding of its own.",
                "allowed = key_mask[:1].unsqueeze(-2)", "allowed = key_mask.any(0, keepdim=True).unsqueeze(-2)",
                "allowed = key_mask.all(0, keepdim=True).unsqueeze(-2)",
                "allowed = (key_mask.mT if key_mask.shape[0] == key_mask.shape[1] else key_mask).unsqueeze(-2)"),
        mistake("the mask read as a length", "The real tokens were counted, and as many taken from the left. Padding "
                "may stand anywhere in the row.",
                "real = key_mask.sum(1, keepdim=True)\n"
                "allowed = (torch.arange(key_mask.shape[1]) < real).unsqueeze(-2)",
                "allowed = key_mask.cumprod(1).bool().unsqueeze(-2)",
                "allowed = (key_mask.flip(1).cumsum(1).flip(1) > 0).unsqueeze(-2)"),
        RANDOM,
        *_here(without(SOFTMAX, "weights = torch.softmax(scores, 1)", "weights = torch.softmax(scores, 2)")),
        mistake("scaled", "The scores were divided by something before the softmax. They are taken as given here: the "
                "scoring function has had its say.",
                "scaled = scores / math.sqrt(scores.shape[-1])", "scaled = scores / scores.shape[-1]",
                "scaled = scores / math.sqrt(value.shape[-1])", "scaled = scores / value.shape[-1]"),
        mistake("weights first", "The two results come back in the other order. Which is asked for first?",
                "return weights, out"),
        mistake("scores returned instead of weights", "The second result does not sum to 1: these are scores. What is "
                "made of them, and should come back?",
                "return out, scaled", "return out, scores", "return out, scaled.masked_fill(~allowed, -1e9)"),
        mistake("one of the two returned twice", "The same tensor came back twice. Which two are asked for?",
                "return out, out", "return weights, weights"),
        mistake("context from other weights than are returned", "The weights that come back are right, but the context "
                "was made with those before the mask. Which come into the product?",
                "out = stable_softmax(scaled) @ values"),
        mistake("the context alone", "One tensor came back. Two are asked for: the context, and the weights, which are "
                "what one looks at.", "return out", "return weights"),
        cut_off(
            "scaled = scores.detach()",
            "weights = stable_softmax(scores).detach()",
            "out = weights.detach() @ values",
            "return out, weights.detach()",
            "return out.detach(), weights.detach()",
            "values = value.detach()",
        ),
        overwritten(*writing(attend, 0, 1, 2)),
        *adding(other_parts("out", "weights"), {"another dtype": (
            "scores = scaled + allowed.float().log()", "scores = scaled + torch.where(allowed, 0.0, -torch.inf)")}),
        mistake("the scores not used", "All real keys of a sequence count the same, whatever their scores. What "
                "decides how much each of them gives?",
                "weights = (allowed / allowed.sum(-1, keepdim=True).clamp(min=1)).to(scaled.dtype).expand_as(scaled)",
                "weights = stable_softmax(torch.where(allowed, 0.0, -torch.inf).to(scaled.dtype)).expand_as(scaled)"),
        mistake("a little weight left to padding", "Padding still gets a weight, though a tiny one: its score was made "
                "low, or a small number stands in place of 0. What makes a weight exactly 0?",
                *(f"scores = scaled + (allowed.to(scaled.dtype) + {small}).log()" for small in ("1e-9", "1e-6",
                "1e-12")),
                "scores = scaled.masked_fill(~allowed, -20.0)", matches=_nearly_hidden),
        mistake("padding removed instead of hidden", "The real keys were cut out, so each row of weights is only as "
                "wide as its sequence is long, or its weights moved to the left. How wide is a row here, and where "
                "does each weight stand?",
                _CUT_OUT.format("part = picked"),
                *(_CUT_OUT.format("part = torch.zeros_like(one)\n        part[:, :picked.shape[1]] = picked" + end)
                  for end in ("", "\n        picked, real = part, slice(None)"))),
        *_here(only(VALUES, "the weights not used", "weights transposed")),
        mistake("values weighed feature by feature", "The weights multiplied the values entry by entry, or met their "
                "features. Which product sums over the keys?",
                "out = weights * values", "out = (weights.unsqueeze(-1) * values.unsqueeze(1)).sum(-1)",
                "out = weights.unsqueeze(-1) * values.unsqueeze(1)",
                "out = (weights.unsqueeze(-1) * values.unsqueeze(1)).sum(1)", "out = weights @ values.mT"),
        mistake("the context summed over the queries", "The queries were added up or averaged. Each query has a "
                "context of its own.", "out = (weights @ values).sum(1)", "out = (weights @ values).mean(1)",
                "out = (weights @ values)[:, -1]"),
        mistake("the values changed first", "Something was applied to the values. They are averaged as they are.",
                "values = value.softmax(-1)", "values = value.tanh()", "values = value.relu()"),
        mistake("the same weights for every query", "All queries have the same weights: they were averaged, or those "
                "of one were used for all.", "weights = stable_softmax(scores).mean(1, keepdim=True).expand_as(scores)",
                "weights = stable_softmax(scores)[:, :1].expand_as(scores)",
                "weights = stable_softmax(scores)[:, -1:].expand_as(scores)"),
        batch_mixed(
            "out = weights.mean(0) @ values",
            "out = weights @ values[:1]",
            "out = weights @ values.mean(0)",
            'out = torch.einsum("bls,csd->bld", weights, values)',
            "out = (weights @ values).mean(0)",
        ),
        mistake("divided by the number of keys", "The context is an average divided once more. What do the weights of "
                "a row already sum to?", "out = weights @ values / values.shape[1]",
                "out = weights @ values / weights.gt(0).sum(-1, keepdim=True).clamp(min=1)"),
        mistake("the scores used as values", "The weights average something else than the values. What does a key hand "
                "over?", "values = scores.mT"),
        squeezed("return out{}, weights{}", "return out{}, weights"),
    ),
    laws=(
        Law("padding gets no weight", _padding_weighs),
        Law("each row sums to 1, one without real keys to 0", _rows_sum),
    ),
    hints=(
        "Three steps: hide the padding, softmax, average. What score must a hidden key have so that its weight is "
        "exactly 0?",
        "The mask is (B, S), the scores are (B, L, S). Where does the mask need a new axis, so that it says the same "
        "to every query of its sequence?",
        "`masked_fill` writes where its mask is True, but True here means a real token. And a row without any: what "
        "does a softmax make of nothing but -inf?",
        "Give such a row finite scores before the softmax and zeros after it, or use the stable softmax of "
        "`course_utils.attention`. The context is the weights times the values.",
    ),
)
