"""Exercise: softmax over what a mask allows."""

from dataclasses import replace
from typing import Any

import torch
from course_utils.attention import masked_softmax
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided, unseeing, visible
from course_utils.checking.laws import row_sums_broken
from course_utils.checking.mistakes import adding, mistake, saying
from course_utils.exercises.shared.kinds import cut_off, other_kinds
from course_utils.exercises.shared.masking import ALWAYS_CAUSAL, EMPTY_ROWS, MASK, ZEROED
from course_utils.exercises.shared.masks import EMPTY
from course_utils.exercises.shared.softmax import RANDOM, SOFTMAX, epsilon, some_epsilon
from torch import Tensor

RIGHT = """
def masked_softmax(scores, attn_mask):
    scaled = scores
    allowed = attn_mask
    scores = scaled.masked_fill(~allowed, -torch.inf)
    weights = stable_softmax(scores)
    return weights
"""


def _made(*scores: int, mask: tuple[int, ...], size: float = 1.0, dtype: torch.dtype = torch.float64) -> Make:
    """Make scores, and a mask in which every row sees some keys and not others."""
    return lambda g: (normal(g, *scores, size=size, dtype=dtype), visible(g, *mask))


def _against_the_mask(low: float, high: float, dtype: torch.dtype = torch.float64) -> Make:
    """Make low scores where the mask allows and high ones where it forbids."""

    def make(g: torch.Generator) -> tuple[Tensor, Tensor]:
        scores, mask = _made(2, 4, 6, mask=(4, 6))(g)
        return torch.where(mask, scores + low, scores + high).to(dtype), mask

    return make


def _empty_rows(dtype: torch.dtype = torch.float64) -> Make:
    return unseeing(_made(2, 3, 5, 4, mask=(2, 1, 5, 4), dtype=dtype), (1, 0, 2), (0, 0, 4))


def _strided(g: torch.Generator) -> tuple[Tensor, Tensor]:
    scores, mask = _made(2, 4, 6, mask=(2, 4, 6))(g)
    return strided(scores), strided(mask)


def _rows_sum(args: tuple[Any, ...], out: Tensor) -> str | None:
    return row_sums_broken(out, args[1].expand(out.shape).any(-1).double())


def _hidden_weighs(args: tuple[Any, ...], out: Tensor) -> str | None:
    heavy = (out.detach().ne(0) & ~args[1]).nonzero()
    if not len(heavy):
        return None
    where = tuple(int(i) for i in heavy[0])
    return f"The weight at index {list(where)} is {out[where].item():.4g}, at a hidden key."


def _levels(g: torch.Generator) -> tuple[Tensor, Tensor]:
    scores, mask = _made(2, 6, 5, mask=(6, 5))(g)
    return torch.where(mask, scores - torch.logspace(1, 6, 6).unsqueeze(-1), scores), mask


def _thousand(g: torch.Generator) -> tuple[Tensor, Tensor]:
    scores, mask = _made(2, 4, 5, mask=(4, 5))(g)
    return scores + 1000.0, mask


def _hidden_lowest(g: torch.Generator) -> tuple[Tensor, Tensor]:
    """Make rows of very different sizes in which no hidden score is above a visible one."""
    scores, mask = _made(2, 4, 5, mask=(4, 5))(g)
    rows = scores - torch.tensor([0.0, 300.0, 900.0, 2500.0]).unsqueeze(-1)
    return torch.where(mask, rows, rows - 20.0), mask


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    scores, mask = args
    right = masked_softmax(scores, mask)
    return any(some_epsilon(s, right, got) for s in (scores.masked_fill(~mask, -torch.inf), right.log()))


def _some_fill(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether some number in the place of hidden scores, or added to them, explains weights."""
    scores, mask = args[0].double(), args[1].expand(args[0].shape)
    some = mask.any(-1) & ~mask.all(-1)
    got = got.detach().double()
    share = got.masked_fill(mask, 0.0).sum(-1)[some]
    for base in (torch.where(mask, scores, 0.0), scores):
        lead = (base.masked_fill(~mask, -torch.inf).logsumexp(-1) - base.masked_fill(mask, -torch.inf).logsumexp(-1))[
            some
        ]
        mixed = (share > 1e-9) & (share < 1 - 1e-9)
        low, high = lead[share >= 0.5], lead[share < 0.5]
        number = torch.cat([low.amax(0, True) if len(low) else low, high.amin(0, True) if len(high) else high]).mean()
        if mixed.any():
            number = (share.logit() + lead)[mixed].median()
        weights = torch.softmax(torch.where(mask, base, base + number), -1)
        if number < -1.0 and torch.allclose(weights[some], got[some], 1e-3, 1e-9):
            return True
    return False


def _some_low_number(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether some number for hidden scores, or added to them, and zeros afterwards explain weights."""
    scores, mask = args[0].double(), args[1].expand(args[0].shape)
    got, right = got.detach().double(), masked_softmax(scores, mask)
    share, some = got.sum(-1), mask.any(-1) & ~mask.all(-1)
    if not bool(some.any()) or not torch.allclose(got, right * share.unsqueeze(-1), 1e-4, 1e-7):
        return False
    visible = scores.masked_fill(~mask, -torch.inf).logsumexp(-1)
    for base in (torch.zeros_like(scores), scores):
        hidden = base.masked_fill(mask, -torch.inf).logsumexp(-1)
        mixed = some & (share > 1e-6) & (share < 1 - 1e-6)
        lead = visible - hidden
        low, high = lead[some & (share >= 0.5)], lead[some & (share < 0.5)]
        number = torch.cat([low.amin(0, True) if len(low) else low, high.amax(0, True) if len(high) else high]).mean()
        if mixed.any():
            number = (lead - share.logit())[mixed].median()
        if number < -1.0 and torch.allclose((number - lead).sigmoid()[some], 1 - share[some], 1e-3, 1e-9):
            return True
    return False


def _divided_again(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether the weights are a softmax over all keys, masked, over its sum and some small number."""
    scores, mask = args[0].double(), args[1].expand(args[0].shape)
    rest = torch.softmax(scores, -1) * mask
    total, got = rest.sum(-1), got.detach().double()
    share = got.sum(-1)
    lost = (total > 1e-300) & (share < 1 - 1e-6) & (share > 1e-6)
    if int(lost.sum()) < 2 or float(share.max()) > 1 + 1e-6:
        return False
    added, least = (total * (1 / share - 1))[lost].median(), (total / share)[lost].median()
    for whole in (total + added, total.clamp(min=float(least))):
        alike = torch.allclose(1 - total / whole, 1 - share, 1e-3, 1e-9)
        if alike and torch.allclose(rest / whole.unsqueeze(-1), got, 1e-3, 1e-7):
            return True
    return False


def _by_hand(shift: str) -> tuple[str, ...]:
    """Return the lines for exponentials of visible keys, after a shift, over their sum."""
    powers = f"powers = (scaled - {shift}).exp().masked_fill(~allowed, 0.0)\ntotal = powers.sum(-1, keepdim=True)\n"
    return (
        f"{powers}weights = powers / torch.where(total == 0, 1.0, total)",
        f"{powers}weights = powers / (total + 1e-9)",
    )


_FILL = "fill that is not low enough"
_MASK = {
    "scores multiplied by the mask": (
        "scores = scaled.masked_fill(~allowed, 0.0)\nweights = stable_softmax(scores) * allowed",
    ),
    "mask after the softmax, then divided again": (
        "scores = scaled\nrest = stable_softmax(scores) * allowed\n"
        "weights = rest / (rest.sum(-1, keepdim=True) + 1e-8)",
        *(f"scores = scaled\nrest = stable_softmax(scores) * allowed\nweights = rest / {total}" for total in (
            "(rest.sum(-1, keepdim=True) + 1e-12)", "rest.sum(-1, keepdim=True).clamp(min=1e-9)")),
        "scores = scaled * allowed\nrest = stable_softmax(scores) * allowed\ntotal = rest.sum(-1, keepdim=True)\n"
        "weights = rest / torch.where(total == 0, 1.0, total)",
        "scores = scaled * allowed\nrest = stable_softmax(scores) * allowed\n"
        "weights = rest / (rest.sum(-1, keepdim=True) + 1e-13)",
    ),
    "mask times infinity": (
        "scores = scaled + (1 - allowed.to(scaled.dtype)) * -torch.inf\n"
        "weights = torch.softmax(scores, -1).nan_to_num()",
    ),
}
_ADDED = "scores = scaled + (~allowed).to(scaled.dtype) * -1e4\nweights = stable_softmax(scores) * allowed"
_FAMILIES = {_FILL: _some_fill, "mask after the softmax, then divided again": _divided_again}
_EMPTY = {
    "NaN on an empty row": (
        "weights = torch.softmax(scores, -1) if allowed.any() else torch.zeros_like(scores)",
        "weights = torch.softmax(scores, -1) if allowed.any(-1).any() else stable_softmax(scores)",
    ),
}
_SOFTMAX = {
    "softmax over an axis counted from the front": tuple(
        f"weights = torch.softmax(scores, {axis}).nan_to_num()" for axis in range(3)
    ),
    "no softmax": ("scores = scaled.masked_fill(~allowed, -1e9)\nweights = scores",),
    "all weight on the best key": ("weights = F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)",),
    "no shift before exp": (
        "powers = scaled.exp() * allowed\nweights = powers / powers.sum(-1, keepdim=True)",
        "powers = scaled.exp() * allowed\nweights = powers / (powers.sum(-1, keepdim=True) + 1e-9)",
    ),
    "logarithm of the weights": (
        "weights = torch.log_softmax(scores.masked_fill(~allowed.any(-1, keepdim=True), 0.0), -1) * allowed",
    ),
}

EXERCISE = exercise(
    masked_softmax,
    right=RIGHT,
    asks="Turn each row of scores into weights over the keys that the mask allows.",
    minutes=12,
    difficulty=3,
    importance=5,
    cases=(
        case("3 queries, 3 keys", L=3, S=3, gradient="equal"),
        case("2 queries, 5 keys, no leading axis", L=2, S=5, gradient="equal"),
        case("a mask of shape (5, 7) for all", _made(2, 3, 5, 7, mask=(5, 7)), gradient="equal"),
        case("a mask for each sequence, (2, 1, 1, 7)", _made(2, 3, 5, 7, mask=(2, 1, 1, 7))),
        case("a mask for each head, (3, 4, 6)", _made(2, 3, 4, 6, mask=(3, 4, 6))),
        case("as many heads as sequences, (3, 4, 5)", _made(3, 3, 4, 5, mask=(3, 4, 5))),
        case("the same, a mask for each sequence: (3, 1, 4, 5)", _made(3, 3, 4, 5, mask=(3, 1, 4, 5))),
        case("a mask for each table, (2, 3, 5, 4)", batch=(2, 3), L=5, S=4),
        case("scores near a thousand", _thousand),
        case("rows near 0, -300, -900 and -2500", _hidden_lowest),
        case("rows whose visible scores are near -10, -100, ... -1e6, and no others", _levels),
        case("scores of ten thousand", _made(2, 4, 6, mask=(4, 6), size=1e4)),
        case("hidden keys with by far the best scores", _against_the_mask(-1e7, 1e7)),
        case("a query that may see nothing", _empty_rows(), gradient="equal"),
        case("nobody may see anything", L=2, S=3, attn_mask=lambda g: torch.zeros(2, 3) > 0),
        case("a mask of shape (5, 1): whole rows", batch=(2,), L=5, S=3,
             attn_mask=lambda g: torch.tensor([[True], [False], [True], [True], [False]]), gradient="finite"),
        case("hidden scores of 1e30", _against_the_mask(0.0, 1e30)),
        case("nothing hidden", batch=(2,), L=3, S=4, attn_mask=lambda g: torch.ones(3, 4) > 0),
        case("non-contiguous inputs", _strided),
        case("one query", _made(2, 1, 6, mask=(1, 6))),
        case("one key, hidden from some", L=3, S=1, attn_mask=lambda g: normal(g, 3, 1) > 0),
        case("float32", _made(2, 3, 5, mask=(3, 5), dtype=torch.float32)),
        case("float16", _made(2, 3, 5, mask=(3, 5), dtype=torch.float16)),
        case("float16, scores of ten thousand", _against_the_mask(-1e4, 1e4, torch.float16)),
        case("float16, a query that may see nothing", _empty_rows(torch.float16)),
        case("bfloat16, a query that may see nothing", _empty_rows(torch.bfloat16)),
    ),
    mistakes=(
        *(replace(one, matches=_FAMILIES.get(one.name)) for one in adding(MASK, _MASK)),
        replace(ZEROED, versions=(*ZEROED.versions, _ADDED), matches=_some_low_number),
        mistake("in-place fill", "The -inf was written into the caller's own scores, and whoever reads them afterwards "
                "finds them spoilt. What does the underscore at the end of a method's name mean?",
                "scores = scaled.masked_fill_(~allowed, -torch.inf)",
                "scores = scaled.masked_fill_(~allowed, -torch.inf)\nweights = torch.softmax(scores, -1)",
                "scores = scaled.masked_fill_(~allowed, -1e9)"),
        mistake("mask changed in place", "The caller's mask was inverted, so that the next layer gets the opposite. "
                "What does the underscore at the end of a method's name mean?",
                "scores = scaled.masked_fill(allowed.logical_not_(), -torch.inf)"),
        mistake("hidden scores lowered, not replaced", "A number was added to the hidden scores, so they still count: "
                "a hidden score of 1e30 wins all the same. What can stand in their place, instead of being added to "
                "them?",
                "scores = scaled + torch.where(allowed, 0.0, -1e9).to(scaled.dtype)\n"
                "weights = torch.softmax(scores, -1) * allowed.any(-1, keepdim=True)",
                "scores = scaled + torch.where(allowed, 0.0, -1e9).to(scaled.dtype)\n"
                "weights = stable_softmax(scores) * allowed",
                "scores = scaled + torch.where(allowed, 0.0, -1e12).to(scaled.dtype)\n"
                "weights = stable_softmax(scores) * allowed.any(-1, keepdim=True)"),
        mistake("-1e9 in half precision", "It works until the scores are float16: the lowest number there is -65504, "
                "and -1e9 cannot be written. Which number exists in every floating dtype and is lower than all others?",
                "scores = scaled.masked_fill(~allowed, -1e9)\n"
                "weights = stable_softmax(scores) * allowed.any(-1, keepdim=True)"),
        mistake("a mask for each head read as one for each sequence", "The mask (H, L, S) was laid along the batch. "
                "Shapes are lined up from the right, as in torch's SDPA: with which axis of (B, H, L, S) does the "
                "first of three axes meet?",
                "allowed = attn_mask.unsqueeze(1) if attn_mask.dim() == 3 and scaled.dim() == 4 else attn_mask"),
        ALWAYS_CAUSAL,
        *adding(EMPTY_ROWS, _EMPTY),
        mistake(EMPTY.name, "A query that may see nothing was given keys, so that its row is not empty: now it attends "
                "to something hidden. What should it get?",
                "first = torch.arange(scaled.shape[-1]) == 0\n"
                "allowed = attn_mask | (first & ~attn_mask.any(-1, keepdim=True))",
                "allowed = attn_mask | (torch.arange(scaled.shape[-1]) == 0)",
                "allowed = attn_mask | ~attn_mask.any(-1, keepdim=True)"),
        mistake("one hidden key empties the row", "Queries that may see some keys and not others give zeros. Which "
                "rows may see nothing at all: how many of their keys are hidden?",
                "weights = stable_softmax(scores) * allowed.all(-1, keepdim=True)"),
        mistake("low scores taken for an empty row", "A row of low scores was treated as one that may see nothing. Who "
                "says which row is empty, the scores or the mask?",
                "weights = stable_softmax(scores) * (scores.amax(-1, keepdim=True) > -1e4)"),
        mistake("one maximum for the whole tensor", "Rows far below the largest score of the tensor vanish: all their "
                "exponentials are 0. Whose maximum does a row need?", *_by_hand("scaled.amax()"),
                *_by_hand("scores.amax()")),
        *epsilon(_epsilon),
        mistake("hidden scores raised", "Hidden scores were replaced by a large number that lacks its minus sign: "
                "they win. Towards which end must a score go for its weight to be 0?",
                "scores = scaled.masked_fill(~allowed, torch.inf)\nweights = torch.softmax(scores, -1)",
                "scores = scaled.masked_fill(~allowed, 1e9)"),
        mistake("logarithm of the sum rounded", "It is right until the scores are large: next to a score of ten "
                "thousand, half precision cannot hold the logarithm of a sum. What can be taken from the scores that "
                "it holds exactly?",
                "weights = (scaled - scores.logsumexp(-1, keepdim=True)).exp().masked_fill(~allowed, 0.0)"),
        *saying(adding(SOFTMAX, _SOFTMAX), {
            "no shift before exp": "Ordinary scores come out right, extreme ones do not: their exponentials are "
                "beyond what a float holds. What may you subtract from a whole row without changing its weights?",
        }),
        mistake("scores scaled first", "The weights are those of other scores. A softmax takes its scores as they are: "
                "what was divided before exp?",
                "scaled = scores / math.sqrt(scores.shape[-1])", "scaled = scores / scores.shape[-1]"),
        *saying(adding(other_kinds("weights"), {
            "another dtype": ("weights = stable_softmax(scores.float() if scores.itemsize < 4 else scores)",
                              "weights = stable_softmax(scores.double())"),
        }), {
            "another dtype": "The weights come back in another dtype than the scores. Computing in float32 is fine, "
                "and wise in half precision. What is the last step then?",
        }),
        cut_off("scores = scaled.detach().masked_fill(~allowed, -torch.inf)",
                "weights = stable_softmax(scores).detach()"),
        RANDOM,
    ),
    laws=(
        Law("a hidden key gets no weight", _hidden_weighs),
        Law("each row sums to 1, one that may see nothing to 0", _rows_sum),
    ),
    hints=(
        "Hidden keys have to be gone before the softmax divides. Which score gives a weight of exactly 0, whatever the "
        "dtype?",
        "`masked_fill` writes where its mask is True; `attn_mask` is True where the query MAY attend. Without an "
        "underscore at its end it makes a new tensor.",
        "Now the rows that may see nothing: nothing but -inf goes in, and NaN comes out, forwards and backwards. Which "
        "rows are they, and what could stand there instead before the softmax?",
        "Let such rows hold any finite numbers when they reach the softmax, and set their weights to 0 after it. Both "
        "times the same mask of rows says where.",
    ),
)
