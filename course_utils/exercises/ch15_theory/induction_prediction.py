"""Exercise: what came next, the last times."""

from typing import Any

import torch
from course_utils.attention import induction_prediction
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import NOTHING, overwritten, writing
from torch import Tensor

RIGHT = """
def induction_prediction(tokens, num_symbols):
    length = tokens.shape[-1]
    kind = torch.get_default_dtype()
    asked = tokens
    offered = tokens
    alike = asked.unsqueeze(-1) == offered.unsqueeze(-2)
    earlier = torch.ones(length, length, dtype=torch.bool).tril(-1)
    matches = (alike & earlier).to(kind)
    counts = matches.sum(-1, keepdim=True)
    weights = matches / counts.clamp(min=1)
    following = tokens.roll(-1, -1)
    symbols = F.one_hot(following, num_symbols).to(kind)
    prediction = weights @ symbols
    return prediction
"""


def _told(*rows: tuple[int, ...], num_symbols: int) -> Make:
    return lambda g: (torch.tensor(rows), num_symbols)


def _drawn(batch: int, length: int, num_symbols: int) -> Make:
    return lambda g: (torch.randint(num_symbols, (batch, length), generator=g), num_symbols)


def _repeated(g: torch.Generator) -> tuple[Any, ...]:
    """Make a segment without repetition, three times."""
    return torch.stack([torch.randperm(7, generator=g).repeat(3) for _ in range(2)]), 7


def _apart(g: torch.Generator) -> tuple[Any, ...]:
    return torch.randint(3, (9, 2), generator=g).mT, 3


def _no_share(args: tuple[Any, ...], out: Tensor) -> str | None:
    sums = out.detach().double().sum(-1)
    wrong = (~((sums.abs() < 1e-3) | ((sums - 1).abs() < 1e-3))).nonzero()
    if not len(wrong):
        return None
    where = tuple(int(i) for i in wrong[0])
    return f"Row {list(where)} sums to {sums[where].item():.4g}."


def _epsilon(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether some small number, added to every count or held as the least one, explains a result."""
    tokens, num_symbols = args
    right = induction_prediction(tokens, num_symbols)
    counts = (tokens.unsqueeze(-1) == tokens.unsqueeze(-2)).tril(-1).sum(-1, keepdim=True)
    sizes = (one * 10.0**power for power in range(-6, 1) for one in (1, 2, 5))
    return any(torch.allclose(right * (counts / (counts + size)), got, rtol=1e-6, atol=1e-9) for size in sizes)


_LEAST = "weights = matches / counts.clamp(min=1)\n"
# The successors moved up without a roll: what comes after the last position is nothing, but it may still be counted.
_PADDED = "symbols = F.pad(F.one_hot(tokens, num_symbols).to(kind)[:, 1:], (0, 0, 0, 1))"
EXERCISE = exercise(
    induction_prediction,
    right=RIGHT,
    asks="Predict, at each position, what followed the earlier copies of its token: the mean of their successors.",
    minutes=12,
    difficulty=3,
    importance=4,
    cases=(
        case("a b a c a a", _told((0, 1, 0, 2, 0, 0), num_symbols=3)),
        case("two sequences of 7, four symbols", _told((2, 0, 2, 1, 2, 0, 1), (3, 3, 1, 3, 0, 3, 1), num_symbols=4)),
        case("4 sequences of 4, four symbols",
             _told((0, 1, 0, 1), (2, 2, 3, 2), (3, 0, 3, 3), (1, 1, 2, 1), num_symbols=4)),
        case("no token twice", _told((3, 1, 0, 2), num_symbols=5)),
        case("one token all along", _told((1, 1, 1, 1, 1), num_symbols=2)),
        case("a segment, three times", _repeated),
        case("3 sequences of 24, five symbols", _drawn(3, 24, 5)),
        case("2 sequences of 40, three symbols", _drawn(2, 40, 3)),
        case("more symbols than ever come", _told((4, 0, 4, 0, 4), num_symbols=9)),
        case("one position", _told((2,), (0,), num_symbols=3)),
        case("two positions, twice the same", _told((1, 1), num_symbols=3)),
        case("one symbol only", _told((0, 0, 0), num_symbols=1)),
        case("tokens that are not contiguous", _apart),
    ),
    mistakes=(
        mistake("the match predicted instead of its successor", "What is predicted is the token that stands there "
                "already. An earlier copy was found: which token beside it is wanted?", "following = tokens"),
        mistake("the predecessor predicted", "What is predicted came before the earlier copy. In which direction was "
                "the sequence moved?", "following = tokens.roll(1, -1)",
                "symbols = F.pad(F.one_hot(tokens, num_symbols).to(kind)[:, :-1], (0, 0, 1, 0))"),
        mistake("two tokens further", "What is predicted comes two places after the earlier copy. Where does its "
                "successor stand?", "following = tokens.roll(-2, -1)",
                "symbols = F.pad(F.one_hot(tokens, num_symbols).to(kind)[:, 2:], (0, 0, 0, min(2, length)))"),
        mistake("its own position matched", "A position matched itself, so what is to be predicted was looked up: the "
                "token after it. Which j may position i look at?",
                "earlier = torch.ones(length, length, dtype=torch.bool).tril()",
                f"earlier = torch.ones(length, length, dtype=torch.bool).tril()\n{_PADDED}",
                "earlier = torch.ones(length, length, dtype=torch.bool).tril() & (torch.arange(length) < length - 1)",
                "earlier = torch.eye(length, dtype=torch.bool)"),
        mistake("the future matched", "Copies that come later were looked up. Which j may position i look at?",
                "earlier = torch.ones(length, length, dtype=torch.bool)",
                "earlier = ~torch.eye(length, dtype=torch.bool)",
                "earlier = ~torch.eye(length, dtype=torch.bool) & (torch.arange(length) < length - 1)",
                "earlier = (torch.arange(length) < length - 1).expand(length, length)",
                "earlier = torch.ones(length, length, dtype=torch.bool).triu(1)",
                "earlier = torch.ones(length, length, dtype=torch.bool).triu()",
                "earlier = torch.ones(length, length, dtype=torch.bool).tril(1)",
                *(f"earlier = torch.ones(length, length, dtype=torch.bool){part}\n{_PADDED}"
                  for part in ("", ".triu()", ".triu(1)", ".tril(1)")),
                f"earlier = ~torch.eye(length, dtype=torch.bool)\n{_PADDED}"),
        mistake("the token just before left out", "A copy that stands directly before is not used, though its "
                "successor, the token itself, is known. Up to which j may position i look?",
                "earlier = torch.ones(length, length, dtype=torch.bool).tril(-2)",
                "offered = tokens.roll(1, -1)\nfollowing = tokens",
                "offered = F.pad(tokens[:, :-1], (1, 0), value=-1)\nfollowing = tokens"),
        mistake("last match only", "Only the latest copy counts. The mean is over all earlier ones: how many are "
                "there?", "latest = matches.flip(-1).cumsum(-1).flip(-1)\nweights = matches * (latest == 1)"),
        mistake("first match only", "Only the earliest copy counts. The mean is over all earlier ones: how many are "
                "there?", "weights = matches * (matches.cumsum(-1) == 1)"),
        mistake("counts not divided", "The successors were counted, and a row sums to how many copies there are. What "
                "makes a mean of a sum?", "weights = matches"),
        mistake("divided by another number", "The counts were divided by something other than the number of copies. "
                "Over how many is the mean taken?", "weights = matches / length",
                "weights = matches / (length - 1 or 1)",
                "weights = matches / torch.arange(1, length + 1).unsqueeze(-1)",
                "weights = matches / torch.arange(length).clamp(min=1).unsqueeze(-1)",
                "weights = matches / (counts + 1)", "weights = matches / num_symbols",
                "weights = matches / counts.clamp(min=1).square()", "weights = matches / counts.clamp(min=1).sqrt()",
                "weights = matches / matches.sum().clamp(min=1)", "weights = matches / counts.clamp(min=2)",
                "weights = matches / matches.sum(-2, keepdim=True).clamp(min=1)"),
        mistake("epsilon in the denominator", "A row sums to a little less than 1: something was added to every count. "
                "Which counts need help?", "weights = matches / (counts + 1e-3)",
                "weights = matches / (counts + 1e-4)", matches=_epsilon),
        mistake("a row filled where nothing matched", "A token that comes for the first time has no earlier copy, and "
                "its row was filled all the same: with equal shares, or with some token. What should it hold?",
                "prediction = torch.where(counts == 0, F.one_hot(tokens, num_symbols).to(kind), weights @ symbols)",
                "prediction = torch.where(counts == 0, symbols, weights @ symbols)",
                "prediction = torch.where(counts == 0, 1.0, weights @ symbols)",
                "prediction = torch.where(counts == 0, 1 / num_symbols, weights @ symbols)",
                "weights = torch.where(counts == 0, 1 / length, matches / counts.clamp(min=1))",
                "weights = torch.softmax(matches.masked_fill(matches == 0, -1e9), -1)",
                "seen = earlier.to(kind)\n"
                "rest = seen / seen.sum(-1, keepdim=True).clamp(min=1)\n"
                "weights = torch.where(counts == 0, rest, matches / counts.clamp(min=1))"),
        mistake("NaN where nothing matched", "A token that comes for the first time has no earlier copy, and 0/0 is "
                "NaN. What should its row hold?", "weights = matches / counts",
                "weights = torch.softmax(matches.masked_fill(matches == 0, -torch.inf), -1)"),
        mistake("a soft match", "Tokens that do not match get a share too: the softmax was taken of ones and zeros. "
                "How low must a score be for its weight to be 0?", "weights = torch.softmax(matches, -1)",
                "weights = torch.softmax(alike.to(kind).masked_fill(~earlier, -torch.inf), -1).nan_to_num()",
                "weights = torch.softmax(matches * math.sqrt(num_symbols), -1)"),
        mistake("the matching left out", "Every earlier position counts, whatever token stands there. Which of them "
                "hold the token of position i?",
                "alike = torch.ones_like(asked.unsqueeze(-1) == offered.unsqueeze(-2))",
                "shares = F.one_hot(tokens, num_symbols).to(kind).cumsum(1)\n"
                "prediction = shares / shares.sum(-1, keepdim=True)"),
        mistake("those that do not match", "The positions that hold another token were looked up. Which of them hold "
                "the token of position i?", "alike = asked.unsqueeze(-1) != offered.unsqueeze(-2)"),
        mistake("matched one place off", "The token of position i was compared with what stands beside position j. "
                "Which two tokens must be the same?", "offered = tokens.roll(-1, -1)", "offered = tokens.roll(1, -1)",
                "asked = tokens.roll(1, -1)", "asked = tokens.roll(-1, -1)",
                "offered = tokens.roll(-1, -1)\nfollowing = tokens",
                "asked = tokens.roll(1, -1)\noffered = tokens.roll(1, -1)\nfollowing = tokens"),
        mistake("rows one place off", "Row i is right for another position. Row i is what is predicted when token i "
                "has been read: of which token is it the prediction?", "return prediction.roll(1, -2)",
                "return prediction.roll(-1, -2)", "return F.pad(prediction, (0, 0, 1, 0))[:, :-1]",
                "return F.pad(prediction, (0, 0, 0, 1))[:, 1:]"),
        mistake("a row lost", "A position has no row, the first or the last. Each of them has one, if only of zeros.",
                "return prediction[:, :-1]", "return prediction[:, 1:]"),
        mistake("only the last position", "One position's row came back. Each of them has a prediction of its own.",
                "return prediction[:, -1]", "return prediction[:, -1:]"),
        mistake("as many symbols as come up", "The last axis is as long as there are different tokens here. How many "
                "symbols are there, whether they come up or not?", "symbols = F.one_hot(following).to(kind)",
                "symbols = F.one_hot(following.unique(return_inverse=True)[1]).to(kind)",
                "symbols = F.one_hot(following, num_symbols + 1).to(kind)"),
        mistake("columns taken for rows", "The table was read along the wrong axis: the copies that come later were "
                "looked up. Whose row is row i?", "prediction = weights.mT @ symbols"),
        mistake("the likeliest alone", "Only the most frequent successor was kept. The mean keeps all, each with its "
                "share.", _LEAST + "prediction = F.one_hot((weights @ symbols).argmax(-1), num_symbols).to(kind)",
                _LEAST + "likeliest = (weights @ symbols).argmax(-1)\n"
                "prediction = F.one_hot(likeliest, num_symbols).to(kind) * (counts > 0)",
                _LEAST + "shares = weights @ symbols\n"
                "prediction = (shares == shares.amax(-1, keepdim=True)).to(kind) * (counts > 0)"),
        mistake("smoothed", "Every symbol was counted once more than it came. What should the row of a token that came "
                "once before hold?", "prediction = (matches @ symbols + 1) / (counts + num_symbols)",
                "prediction = (matches @ symbols + 1e-3) / (counts + 1e-3 * num_symbols)"),
        mistake("each successor counted once", "A symbol that followed several times counts as often as one that "
                "followed once. What does the mean of one-hot vectors say of a symbol?",
                "kinds = (matches @ symbols > 0).to(kind)\n"
                "prediction = kinds / kinds.sum(-1, keepdim=True).clamp(min=1)",
                "prediction = (matches @ symbols > 0).to(kind)"),
        mistake("the last position wrapped round", "For `roll`, the token after the last one is the first again. Where "
                "did a position look at the end of the sequence?",
                "last = torch.arange(length) == length - 1\n"
                "earlier = torch.ones(length, length, dtype=torch.bool).tril(-1) | last"),
        mistake("the sequences of a batch mixed", "Sequences of the batch were mixed, or one was used for all. A "
                "position looks at its own sequence only.", "offered = tokens[:1]", "offered = tokens.flip(0)",
                "following = tokens[:1].roll(-1, -1).expand_as(tokens)", "asked = tokens[:1]",
                "following = tokens.roll(-1, 0)",
                "flat = tokens.flatten()\n"
                "last = torch.arange(len(flat)) % length == length - 1\n"
                "seen = (flat.unsqueeze(-1) == flat).tril(-1) & ~last\n"
                "shares = seen.to(kind) @ F.one_hot(flat.roll(-1), num_symbols).to(kind)\n"
                "shares = shares / shares.sum(-1, keepdim=True).clamp(min=1)\n"
                "prediction = shares.view(*tokens.shape, num_symbols)",
                "return prediction.mean(0, keepdim=True).expand_as(prediction)",
                "return prediction[:1].expand_as(prediction)", "return prediction[0]"),
        mistake("a softmax of the counts", "A softmax was taken of counts or shares over the symbols, so that symbols "
                "which never followed get a share as well. What makes shares of counts, and what do they sum to?",
                "prediction = (matches @ symbols).softmax(-1)", "prediction = (weights @ symbols).softmax(-1)",
                "prediction = (matches @ symbols).softmax(-1) * (counts > 0)",
                "prediction = (weights @ symbols).softmax(-1) * (counts > 0)"),
        mistake("tokens returned", "What comes back is a token, a logit or a count of something else. One share for "
                "each symbol is asked for.", "return prediction.argmax(-1)",
                "prediction = F.one_hot(tokens, num_symbols).to(kind)", "return prediction.log()",
                "return (prediction + 1e-9).log()",
                "return (weights * following.unsqueeze(-2)).sum(-1)", "return prediction.amax(-1)"),
        overwritten("following = tokens.copy_(tokens.roll(-1, -1))", *writing(induction_prediction, 0)),
        NOTHING,
        mistake("a list", "A list came back. What joins equal parts?", "return prediction.tolist()",
                "return list(prediction)"),
        mistake("not the default dtype", "The shares have another dtype than torch's default one. What do `one_hot` "
                "and `double` give?", "return prediction.double()", "return prediction.long()",
                "return prediction.half()"),
    ),
    laws=(Law("a row sums to 1, or to 0 where there is no earlier copy", _no_share),),
    hints=(
        "Two layers in one: which earlier positions hold the same token, and what comes after each of them?",
        "`tokens` with a new last axis, compared with `tokens` with a new axis before its last, is a table of all "
        "pairs of positions. Which half of it is the past?",
        "Position j hands over tokens[j + 1], as a one-hot vector. The last position is never an earlier one, so what "
        "comes after it does not matter.",
        "Each row of matches, divided by its sum, holds the weights of a sharp attention. Where the sum is 0, any "
        "other number may divide.",
    ),
)
