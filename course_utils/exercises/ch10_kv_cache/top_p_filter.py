"""Exercise: leave the fewest likeliest tokens that hold a share of the probability."""

from typing import Any

import torch
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.caches import another_dtype
from course_utils.exercises.shared.kinds import NOTHING, left_in, squeezed
from course_utils.models import top_p_filter
from torch import Tensor

RIGHT = """
def top_p_filter(logits, top_p):
    scores = logits
    chances = scores.softmax(-1)
    ranked = chances.sort(dim=-1, descending=True, stable=True)
    order = ranked.indices
    sums = ranked.values.cumsum(-1)
    before = F.pad(sums[..., :-1], (1, 0))
    share = top_p if top_p < 1 else math.inf
    enough = before >= share - 1e-6
    gone = enough.scatter(-1, order, enough)
    rows = logits
    empty = -math.inf
    out = rows.masked_fill(gone, empty)
    return out
"""


# One row, token by token.
_ONE_ROW = """
def top_p_filter(logits, top_p):
    if top_p == 1:
        return logits.clone()
    order = sorted(range(logits.shape[-1]), key=lambda i: -logits[i].item())
    chances, out, total = logits.softmax(-1), torch.full_like(logits, -math.inf), 0.0
    for i in order:
        out[i] = logits[i]
        total += chances[i].item()
        if total >= top_p - 1e-6:
            break
    return out
"""


def first_row(mask: Tensor) -> Tensor:
    """Return a mask in which every row is the first one."""
    return mask.flatten(0, -2)[0].expand(mask.shape) if mask.dim() > 1 else mask


def _chances(*weights: float, top_p: float, dtype: torch.dtype = torch.float64, shift: float = 0.0) -> Make:
    """Make the logits of tokens with these weights; `shift` is added to all of them."""
    given = torch.tensor(weights, dtype=torch.float64)
    return lambda g: (((given / given.sum()).log() + shift).to(dtype), top_p)


def _rows(
    *shape: int, top_p: float, size: float = 2.0, dtype: torch.dtype = torch.float64, gone: int = 0
) -> Make:
    """Make random logits, of which a few are -inf."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        while True:
            logits = normal(g, *shape, size=size, dtype=dtype)
            logits[..., 1 : 1 + gone] = -torch.inf
            sums = logits.double().softmax(-1).sort(dim=-1, descending=True).values.cumsum(-1)
            if top_p == 1 or (sums - top_p).abs().min() > 1e-4:  # no sum is nearly on the boundary
                return logits, top_p

    return make


def _strided(g: torch.Generator) -> tuple[Any, ...]:
    return normal(g, 9, 4, 3, size=2.0).transpose(0, 2), 0.7


def _kept_ties(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether more of equal tokens stayed, and nothing else is wrong."""
    if not isinstance(got, Tensor) or got.shape != args[0].shape:
        return False
    logits, kept = args[0].detach(), got.detach().isfinite()
    right = top_p_filter(logits, args[1]).isfinite()
    least = logits.masked_fill(~right, torch.inf).amin(-1, keepdim=True)
    return torch.equal(kept, logits >= least) and not torch.equal(kept, right)


def _others_of_equal(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether as many tokens of the same logits stayed, but not the first of equal ones."""
    if got.shape != args[0].shape:
        return False
    right, kept = top_p_filter(*args), got.isfinite()
    return torch.equal(got[kept], args[0][kept]) and torch.equal(got.sort(-1).values,
                                                                 right.sort(-1).values) and not torch.equal(got, right)


def _another_fill(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether all is right but the one score that removed tokens got."""
    if got.shape != args[0].shape:
        return False
    right = top_p_filter(*args)
    kept = right.isfinite()
    filled = ~kept & ~got.isneginf()
    rest = got[filled]
    alike = torch.equal(got[kept], right[kept]) and len(rest) > 0 and not bool((rest == args[0][filled]).any())
    return alike and bool((rest == rest[0]).all() | rest.isnan().all())


def _overflowed(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether these are scores that no exponential can take as they are."""
    return float(args[0][args[0].isfinite()].abs().max()) > 1000 and got.shape == args[0].shape


def _other_scores(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether the right tokens stayed, with other scores than theirs."""
    if got.shape != args[0].shape:
        return False
    right = top_p_filter(*args)
    kept = right.isfinite()
    return torch.equal(kept, got.isfinite()) and bool(got[~kept].isneginf().all())


def _on_the_boundary(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether nothing is wrong but what became of tokens at which the share is met exactly."""
    logits, top_p = args[0].detach(), args[1]
    if not isinstance(got, Tensor) or got.shape != logits.shape or top_p == 1:
        return False
    kept, right = got.detach().isfinite(), top_p_filter(logits, top_p).isfinite()
    if not torch.equal(got.detach()[kept], logits[kept]):
        return False
    chances, order = logits.double().softmax(-1).sort(dim=-1, descending=True, stable=True)
    before = (chances.cumsum(-1) - chances).scatter(-1, order, chances.cumsum(-1) - chances)
    wrong = kept != right
    return bool(wrong.any()) and bool(((before - top_p).abs() < 1e-5)[wrong].all())


def _met_exactly(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return the same where top_p is a binary fraction, and sums are exact."""
    return args[1] * 64 % 1 == 0 and _on_the_boundary(args, got)


EXERCISE = exercise(
    top_p_filter,
    right=RIGHT,
    asks="Keep the fewest likeliest tokens that together hold the share top_p; set all others to -inf.",
    minutes=20,
    difficulty=3,
    importance=4,
    cases=(
        case("(.05, .5, .3, .15) at .6", _chances(0.05, 0.5, 0.3, 0.15, top_p=0.6)),
        case("the same at .4", _chances(0.05, 0.5, 0.3, 0.15, top_p=0.4)),
        case("the same at .81", _chances(0.05, 0.5, 0.3, 0.15, top_p=0.81)),
        case("5 rows of 7 tokens at .7", _rows(5, 7, top_p=0.7)),
        case("4 rows of 4 tokens at .6", _rows(4, 4, top_p=0.6)),
        case("2 · 3 rows of 9 tokens at .85", _rows(2, 3, 9, top_p=0.85)),
        case("one row without a batch", _rows(11, top_p=0.55)),
        case("a single row", _rows(1, 6, top_p=0.6)),
        case("a single token", _rows(3, 1, top_p=0.2)),
        case("a tiny share", _rows(4, 6, top_p=1e-3)),
        case("a likeliest token that holds more than top_p", _chances(0.1, 0.7, 0.15, 0.05, top_p=0.3)),
        case("tokens that are -inf already", _rows(4, 8, top_p=0.8, gone=2)),
        case("logits far above 0", _chances(0.2, 0.4, 0.15, 0.25, top_p=0.5, shift=2000.0)),
        case("logits far below 0", _chances(0.2, 0.4, 0.15, 0.25, top_p=0.5, shift=-2000.0)),
        case("non-contiguous logits", _strided),
        case("64 tokens at .9", _rows(3, 64, top_p=0.9)),
        case("float32", _rows(4, 10, top_p=0.75, dtype=torch.float32)),
        case("equal tokens, of which one is needed", _chances(0.1, 0.3, 0.3, 0.3, top_p=0.25)),
        case("equal tokens, of which two are needed", _chances(0.3, 0.1, 0.3, 0.3, top_p=0.5)),
        case("two equal ones after a likelier one", _chances(0.2, 0.4, 0.2, 0.2, top_p=0.55)),
        case("all tokens equal", _chances(*[1.0] * 6, top_p=0.4)),
        case("24 tokens, of which 23 are equal", _chances(*[1.0] * 15, 2.0, *[1.0] * 8, top_p=0.49)),
        case("(.5, .25, .25) at .5: the share is met exactly", _chances(0.5, 0.25, 0.25, top_p=0.5)),
        case("a share that misses top_p by .00004", _chances(0.25, 0.49996, 0.25004, top_p=0.5)),
        case("(.5, .25, .125, .125) at .75", _chances(0.25, 0.125, 0.5, 0.125, top_p=0.75)),
        *(
            case(f"{weights} at {top_p}, {str(dtype)[6:]}", _chances(*weights, top_p=top_p, dtype=dtype, shift=shift))
            for weights, top_p in (
                ((0.3, 0.1, 0.1, 0.5), 0.8), ((0.1, 0.2, 0.7), 0.9), ((0.2, 0.1, 0.1, 0.6), 0.8),
                ((0.1, 0.1, 0.1, 0.1, 0.6), 0.7), ((0.4, 0.3, 0.2, 0.1), 0.7), ((0.1, 0.2, 0.3, 0.4), 0.9),
                (tuple([0.1] * 10), 0.3), ((0.6, 0.3, 0.1), 0.9),
            )
            for dtype, shift in ((torch.float32, 0.0), (torch.float64, 3.7))
        ),
        case("top_p = 1", _rows(3, 8, top_p=1.0)),
        case("top_p = 1, and tokens of almost no probability", _rows(3, 8, top_p=1.0, size=30.0)),
        case("top_p = 1 and tokens that are -inf", _rows(4, 8, top_p=1.0, gone=2)),
    ),
    mistakes=(
        mistake("probabilities instead of logits", "What stays are probabilities. The next step divides by a "
                "temperature, or takes a softmax: what must a kept token keep?",
                "rows = chances\nempty = 0.0", "rows = chances", "rows = scores.log_softmax(-1)",
                "return out.softmax(-1)", "return out.log_softmax(-1)",
                "rows = chances\nempty = 0.0\nreturn out / out.sum(-1, keepdim=True)"),
        mistake("another score than -inf", "A removed token got another score than minus infinity. Which one has the "
                "weight 0 after a softmax, whatever the others are?", "empty = 0.0", "empty = -1e9", "empty = -100.0",
                "empty = torch.finfo(logits.dtype).min", "return logits * ~gone", "empty = math.inf",
                "empty = math.nan", matches=_another_fill),
        mistake("other scores for the kept tokens", "The tokens that stay do not have the scores that they had. "
                "What comes next may need those: what was done to them?",
                "rows = logits - logits.amax(-1, keepdim=True)", "rows = logits / top_p", matches=_other_scores),
        mistake("a mask instead of logits", "This says which tokens stay, or go. Return the logits: how does "
                "`masked_fill` combine them with this mask?",
                "return ~gone", "return gone", "return (~gone).to(logits.dtype)"),
        mistake("kept and removed exchanged", "The likely tokens were removed and the others stay. Which side of the "
                "sum should stay?", "out = rows.masked_fill(~gone, empty)",
                "gone = (before < top_p - 1e-6).scatter(-1, order, before < top_p - 1e-6)"),
        mistake("the least likely first", "The sum begins with the least likely token. Which one is sure to stay?",
                "ranked = chances.sort(dim=-1, stable=True)",
                "ranked = chances.sort(dim=-1, stable=True)\n"
                "enough = ranked.values.cumsum(-1) > 1 - top_p"),
        mistake("not sorted", "The shares were summed in the order of the vocabulary. Which tokens come first?",
                "gone = F.pad(chances.cumsum(-1)[..., :-1], (1, 0)) >= top_p - 1e-6",
                "gone = F.pad(chances.cumsum(-1)[..., :-1], (1, 0)) >= share - 1e-6",
                "gone = chances.cumsum(-1) > top_p",
                "gone = chances.cumsum(-1) - chances >= top_p", "gone = chances.cumsum(-1) - chances > top_p",
                "gone = chances.cumsum(-1) >= top_p"),
        mistake("the sorted order returned", "The values are those of sorted tokens: token 0 is now the likeliest, and "
                "no longer token 0. What brings them back to their places?",
                "return logits.gather(-1, order).masked_fill(enough, -math.inf)"),
        mistake("the mask left in sorted order", "Entry 0 of the mask is about the likeliest token, and was applied to "
                "token 0. Whose entry does each token need?", "gone = enough"),
        mistake("the order applied the wrong way", "The mask, or the sorted scores, went through the order of the "
                "sort in the wrong direction. Entry i of that says where the token at place i came *from*: is it to be "
                "read there, or written?", "gone = enough.gather(-1, order)",
                "return logits.gather(-1, order).masked_fill(enough, -math.inf).gather(-1, order)"),
        mistake("a shift that overwrites itself", "Only the likeliest token stays, or all do: while the mask was moved "
                "by one place, each entry was overwritten before it was moved on.",
                "enough = (sums[..., :1] > share - 1e-6).expand_as(sums) & (torch.arange(sums.shape[-1]) > 0)",
                "enough = (sums[..., :1] > share).expand_as(sums) & (torch.arange(sums.shape[-1]) > 0)"),
        mistake("always two tokens", "Two tokens stay at least, though one may hold the share alone.",
                "enough = (before >= share - 1e-6) & (torch.arange(sums.shape[-1]) > 1)"),
        mistake("the crossing token dropped", "The token with which the share is reached was removed, so that what "
                "stays holds less than top_p. What is the sum *before* a token?",
                "enough = sums > share + 1e-6", "enough = sums >= share - 1e-6", "enough = sums > share - 1e-6",
                "enough = sums > share", "enough = sums >= share",
                "enough = (sums > share + 1e-6) & (torch.arange(sums.shape[-1]) > 0)",
                "enough = (sums >= share - 1e-6) & (torch.arange(sums.shape[-1]) > 0)",
                "enough = (sums > share) & (torch.arange(sums.shape[-1]) > 0)"),
        mistake("one token too many", "One token more than needed stays. When have the likelier ones reached the share "
                "without it? A sum that equals top_p has.",
                "before = F.pad(sums[..., :-2], (2, 0)) if sums.shape[-1] > 1 else sums * 0",
                "before = F.pad(sums[..., :-1], (1, 0)) - ranked.values",
                "enough = before - ranked.values.roll(1, -1) >= share", "enough = before > share + 1e-6",
                "enough = before >= share + 1e-6", "enough = before > share", matches=_met_exactly),
        mistake("rounding decides", "Where tokens reach top_p exactly, rounding decided how many stay: 0.5 + 0.3 is "
                "not always 0.8 in a computer. How far below top_p may a sum be that has reached it?",
                "enough = before >= share", "enough = sums - ranked.values >= share",
                "enough = sums - ranked.values > share",
                "tail = ranked.values.flip(-1).cumsum(-1).flip(-1)\nenough = tail <= 1 - share",
                "tail = ranked.values.flip(-1).cumsum(-1).flip(-1)\nenough = tail < 1 - share",
                matches=_on_the_boundary),
        mistake("too wide a tolerance", "A sum that misses top_p by much more than rounding was taken for one that "
                "has reached it. How large is the error of a sum of a few dozen floats?",
                *(f"enough = (before >= share - {width}){first}" for width in (0.05, 1e-2, 1e-3, 1e-4)
                  for first in ("", " & (before > 0)")),
                *(f"enough = (before * {parts}).round() / {parts} >= share - 1e-6" for parts in (100.0, 1e3, 1e4))),
        mistake("ties stay", "Of equal tokens more stay than are needed: all above a threshold were kept. Which of "
                "equal ones counts as likelier?",
                "gone = chances < ranked.values.masked_fill(enough, math.inf).amin(-1, keepdim=True)",
                matches=_kept_ties),
        mistake("of equal tokens others than the first", "Of equal tokens others than the first stay. The lower index "
                "counts as the likelier one; which option of `sort` keeps equals in order?",
                "ranked = chances.sort(dim=-1, descending=True)", "ranked = chances.topk(chances.shape[-1], -1)",
                "ranked = chances.flip(-1).sort(dim=-1, descending=True, stable=True)\n"
                "order = chances.shape[-1] - 1 - ranked.indices", matches=_others_of_equal),
        mistake("min-p for top-p", "Tokens were kept by their own probability: that is min-p, or a threshold. Here it "
                "is the sum that must reach top_p.", "gone = chances < top_p * ranked.values[..., :1]",
                "gone = chances < top_p", "gone = chances < 1 - top_p",
                "gone = chances <= (1 - top_p) * ranked.values[..., :1]"),
        mistake("top-k for top-p", "A fixed number of tokens stays, whatever they hold. Should an even "
                "row keep as many as a row with one likely token?",
                "enough = torch.arange(chances.shape[-1]).expand_as(order) >= max(1, "
                "round(top_p * chances.shape[-1]))",
                "enough = torch.arange(chances.shape[-1]).expand_as(order) >= 1",
                "enough = torch.arange(chances.shape[-1]).expand_as(order) >= max(1, int(top_p * chances.shape[-1]))",
                "enough = torch.arange(chances.shape[-1]).expand_as(order) >= max(1, "
                "math.ceil(top_p * chances.shape[-1]))"),
        mistake("1 - top_p", "The share that goes was taken for the share that stays. At top_p = .9, how much "
                "may be removed?", "share = 1 - top_p", "share = 1 - top_p if top_p < 1 else math.inf"),
        mistake("logits summed instead of probabilities", "Scores were summed, or something made of them that does not "
                "sum to 1 over a row. What turns scores into probabilities?",
                "chances = scores", "chances = scores.exp()", "chances = scores.sigmoid()",
                "chances = (scores - scores.amax(-1, keepdim=True)).exp()", "chances = scores.log_softmax(-1)",
                "chances = scores / scores.sum(-1, keepdim=True)"),
        mistake("no shift before exp", "Scores in the thousands go wrong, though their differences are small: their "
                "exponentials overflow, or are all 0. What does a stable softmax subtract first?",
                "chances = scores.exp() / scores.exp().sum(-1, keepdim=True)", matches=_overflowed),
        mistake("the softmax over another axis", "The probabilities of a row do not sum to 1, or rows were mixed. "
                "Which axis holds the tokens?", "chances = scores.softmax(0)",
                "chances = scores.flatten().softmax(0).view(scores.shape)",
                "sums = ranked.values.cumsum(0)",
                "sums = scores.sort(dim=-1, descending=True).values.softmax(0).cumsum(-1)",
                "scores, rows = logits.flatten(), logits.flatten()\nchances = scores.softmax(-1)\nrows = scores\n"
                "return out.view(logits.shape)",
                "scores = logits.movedim(0, -1)\nrows = scores\nreturn out.movedim(-1, 0)"),
        mistake("one row's choice for all", "Rows lost tokens that another row removes. Each row has its own order. "
                "Along which axis must sorting, summing and scattering run?",
                "gone = first_row(enough.scatter(-1, order, enough))",
                "removed = torch.arange(scores.shape[-1]) == order[enough][:, None]\n"
                "gone = removed.any(0).expand(enough.shape)"),
        mistake("one row expected", "A row was taken for a single number: `item` and `float` need a tensor that holds "
                "one. `logits` is (..., V): how many rows are there?", _ONE_ROW),
        mistake("softmax twice", "A softmax of probabilities is nearly flat, so too many tokens stay. What "
                "has been through a softmax already?",
                "chances = scores.softmax(-1).softmax(-1)"),
        mistake("top_p = 1 removes tokens", "At top_p = 1 nothing is to be removed, but very unlikely tokens are gone: "
                "their sum reaches 1 too early. Which case comes first?", "share = top_p",
                "share = min(top_p, 0.999)"),
        mistake("the logits changed in place", "The logits that were passed in have changed. They belong to the "
                "caller. Which line writes into a tensor instead of making a new one?",
                "return logits.masked_fill_(gone, -math.inf)",
                "logits[gone] = -math.inf\nreturn logits", "logits.masked_fill_(gone, -math.inf)\nreturn None"),
        mistake("more than the logits", "Something came back beside the logits. They alone are asked for.",
                "return out, gone", "return out, ~gone", "return out, order"),
        another_dtype("The result has another dtype than the logits. What comes next expects theirs.", "out"),
        NOTHING,
        squeezed("return out{}"),
        left_in("return out{}"),
        mistake("only the kept tokens", "Fewer tokens came back than went in. The removed ones stay in their places, "
                "as -inf. What keeps the shape, indexing with a mask or filling one?", "return logits[~gone]",
                "return [row for row in out]"),
    ),
    hints=(
        "Sort the probabilities of (.05, .5, .3, .15) and sum them up. What is the sum *before* each token, and which "
        "of these sums have reached .6?",
        "A token goes if the likelier ones have reached top_p without it: the sum before it is `cumsum` shifted by "
        "one place.",
        "`sort` returns the indices as well. `scatter` with them brings a mask in sorted order back to the order of "
        "the vocabulary.",
        "Sums round: compare with top_p - 1e-6. And at top_p = 1 return all logits, whatever the sums say.",
    ),
)
