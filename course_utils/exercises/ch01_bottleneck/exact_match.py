"""Exercise: the share of sequences that are right from end to end."""

from typing import Any

import torch
from course_utils.checking.exercise import Case, Law, case, exercise
from course_utils.checking.inputs import Make, strided
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import overwritten, writing
from course_utils.measure.accuracy import exact_match
from torch import Tensor

RIGHT = """
def exact_match(predicted, target, pad_id):
    same = predicted == target
    ignored = target == pad_id
    real = ~ignored
    right = same | ignored
    matched = right.all(1)
    share = float(matched.double().mean())
    return share
"""
_TOKENS = 7  # real tokens are 1 to 7
_BOTH = "predicted.masked_fill(ignored, 0)", "target.masked_fill(ignored, 0)"


def _made(
    *wrong: int, batch: int, steps: int, lengths: tuple[int, ...] = (), pad_id: int = 0, at_pads: int | None = None
) -> Make:
    """Return a maker: `wrong` tokens in each of the first sequences, the rest right.

    The target is padding past each of `lengths`; there the prediction is `at_pads`, or any token.
    """

    def make(g: torch.Generator) -> tuple[Tensor, Tensor, int]:
        target = torch.randint(1, _TOKENS + 1, (batch, steps), generator=g)
        predicted = target.clone()
        for row, length in enumerate(lengths):
            target[row, length:] = pad_id
            if at_pads is not None:
                predicted[row, length:] = at_pads
        for row, count in enumerate(wrong):
            # At either end by turns, so that neither the first nor the last token decides.
            start = (lengths[row] if lengths else steps) - count if row % 2 else 0
            part = slice(start, start + count)
            predicted[row, part] = predicted[row, part] % _TOKENS + 1
        return predicted, target, pad_id

    return make


def _rows(name: str, predicted: list[list[int]], target: list[list[int]]) -> Case:
    return case(name, lambda g: (torch.tensor(predicted), torch.tensor(target), 0))


def _strided(g: torch.Generator) -> tuple[Tensor, Tensor, int]:
    predicted, target, pad_id = _made(0, 2, 0, batch=3, steps=5, lengths=(3, 5, 4))(g)
    return strided(predicted), strided(target), pad_id


def _no_share(args: tuple[Any, ...], out: float) -> str | None:
    return None if 0.0 <= out <= 1.0 else f"The result is {out:.4g}."


EXERCISE = exercise(
    exact_match,
    right=RIGHT,
    asks="Give the share of sequences that are right wherever the target is not padding.",
    minutes=8,
    difficulty=2,
    importance=4,
    cases=(
        case("11 sequences, no padding", _made(0, 1, 3, 2, 0, 4, 1, batch=11, steps=4)),
        _rows(
            "the right tokens in another order",
            [[1, 2, 3, 4], [1, 5, 6, 7], [2, 4, 6, 3], [5, 7, 3, 2], [4, 1, 2, 7]],
            [[1, 2, 3, 4], [5, 6, 7, 1], [2, 4, 6, 3], [7, 5, 3, 2], [4, 1, 2, 7]],
        ),
        case("padding, predicted as padding",
             _made(1, 1, 2, batch=7, steps=6, lengths=(2, 3, 6, 4, 1, 5, 3), at_pads=0)),
        case("padding, other tokens predicted there",
             _made(0, 2, 1, 1, batch=13, steps=5, lengths=(2, 3, 4, 5, 1, 3, 5, 2, 4, 5, 1))),
        case("pad_id=99", _made(0, 1, 1, batch=6, steps=4, lengths=(3, 2, 4, 1, 4, 4), pad_id=99)),
        case("pad_id=-100, 0 predicted there",
             _made(0, 0, 1, batch=3, steps=5, lengths=(2, 5, 4), pad_id=-100, at_pads=0)),
        _rows(
            "padding predicted where tokens were due",
            [[1, 0, 0], [4, 5, 6], [0, 0, 0], [2, 3, 0], [3, 1, 2]],
            [[1, 2, 3], [4, 5, 6], [7, 1, 0], [2, 3, 0], [3, 1, 2]],
        ),
        _rows(  # what follows the padding counts
            "padding inside the targets",
            [[1, 2, 3, 4], [5, 9, 6, 2], [5, 0, 7, 2], [4, 5, 6, 6], [3, 2, 7, 4], [2, 1, 1, 1], [6, 5, 4, 3],
             [1, 2, 3, 4]],
            [[1, 2, 3, 4], [5, 0, 6, 1], [5, 0, 7, 3], [4, 0, 6, 6], [3, 0, 0, 4], [0, 2, 0, 2], [6, 5, 4, 3],
             [1, 0, 3, 5]],
        ),
        _rows(
            "some targets are padding alone",
            [[3, 3, 1], [0, 0, 0], [1, 2, 6], [4, 5, 6], [7, 7, 7]],
            [[0, 0, 0], [0, 0, 0], [1, 2, 6], [4, 5, 1], [7, 7, 7]],
        ),
        _rows("all targets are padding", [[1, 2], [0, 3]], [[0, 0], [0, 0]]),
        case("all right", _made(batch=3, steps=4, lengths=(2, 4, 3))),
        case("all wrong", _made(1, 1, batch=2, steps=3)),
        case("one sequence", _made(0, batch=1, steps=4, lengths=(2,))),
        case("one position", _made(1, 0, 1, batch=3, steps=1)),
        case("non-contiguous inputs", _strided),
    ),
    mistakes=(
        mistake("padding must be predicted too", "A sequence that is right at every real token was called wrong for "
                "what it has past the end. Which positions may not decide?", "right = same"),
        mistake("padding counted as wrong", "Every sequence with padding was called wrong: a padded position can never "
                "be 'right and real'. Should it count against a sequence?", "right = same & real"),
        mistake("padding looked for in the prediction", "A model that predicts padding everywhere would be called "
                "right. Which of the two knows where a sequence ends, the target or the prediction?",
                "ignored = predicted == pad_id", "right = same | ignored | (predicted == pad_id)",
                "ignored = (predicted == pad_id).cumsum(1) > 0"),
        mistake("only where the target is padding", "The real tokens are left out, and the padding is compared. Which "
                "of `==` and `!=` picks the positions that count?", "right = same | real", "right = ignored"),
        mistake("pad_id not used", "Padding is not always 0. Which argument says what it is?",
                "ignored = target == 0", "ignored = target <= 0", "ignored = target < 0", "ignored = target == -100"),
        mistake("everything after the first padding ignored", "Tokens after a padding were not compared. Padding may "
                "be anywhere: position by position, what does the target say there?",
                "ignored = (target == pad_id).cumsum(1) > 0",
                "ignored = torch.arange(target.shape[1]) >= (target != pad_id).sum(1, keepdim=True)"),
        mistake("tokens moved up over the padding", "The padding was cut out of the target, and the prediction cut to "
                "the same length: behind a padding the tokens no longer face each other. Which positions of the "
                "prediction are the real ones?", "parts = zip(predicted, target, real)\n"
                "matched = torch.tensor([bool((p[: int(r.sum())] == t[r]).all()) for p, t, r in parts])"),
        mistake("a target of padding alone counts as wrong", "A target without any real token was counted as wrong. At "
                "how many positions does the prediction differ from it where it counts?",
                "matched = right.all(1) & real.any(1)"),
        mistake("targets of padding alone left out", "Sequences whose target is only padding were not counted at all. "
                "The share is of all sequences: such a target counts as right.",
                "matched = right.all(1)[real.any(1)] if bool(real.any()) else torch.zeros(1)",
                "matched = right.all(1)[real.any(1)]"),
        mistake("accuracy of tokens, not of sequences", "Each token counts on its own. A date with one wrong digit is "
                "a wrong date: what must be true of all tokens of a sequence?",
                "share = float((same & real).sum() / real.sum().clamp(min=1))", "matched = same[real]",
                "matched = same", "matched = same & real"),
        mistake("padding counted as right tokens", "Each token counts on its own, and the padding counts among the "
                "right ones: the more padding, the better. What must be true of all tokens of a sequence?",
                "matched = right"),
        mistake("mean of each sequence's share", "A sequence that is nearly right counts nearly 1. Here it counts 0: "
                "all or nothing.", "matched = (same & real).sum(1) / real.sum(1).clamp(min=1)",
                "matched = (same & real).sum(1) / real.sum(1)"),
        mistake("one right token is enough", "A sequence with a single right token was called right. How many of its "
                "tokens must be?", "matched = (same & real).any(1)", "matched = same.any(1)", "matched = right.any(1)"),
        mistake("nearly right is enough", "A sequence with some wrong tokens was called right. How many of its tokens "
                "may be wrong?", "matched = (same & real).sum(1) / real.sum(1).clamp(min=1) >= 0.5",
                "matched = (same & real).sum(1) / real.sum(1).clamp(min=1) > 0.5",
                "matched = same.sum(1) >= real.sum(1)"),
        mistake("positions instead of sequences", "The answer is the share of positions at which every sequence is "
                "right. Which axis runs along one sequence?", "matched = right.all(0)", "matched = same.all(0)"),
        mistake("all sequences or none", "One wrong sequence makes the whole answer 0. Each sequence counts on its "
                "own. If you divide with `//`: which division keeps the digits?",
                "matched = right.all()", "matched = same.all()"),
        mistake("some sequences left out", "Not every sequence was looked at, though the number of all of them "
                "divides. Does the loop come to its end before something is returned?",
                "matched = torch.cat([right[:1].all(1), 0 * right[1:].all(1)])",
                "matched = torch.cat([0 * right[:1].all(1), right[1:].all(1)])",
                "matched = torch.cat([right[:-1].all(1), 0 * right[-1:].all(1)])"),
        mistake("one position instead of all", "One position decides for the whole sequence. Which of its tokens must "
                "be right?",
                "matched = right[:, -1]", "matched = right[:, 0]", "matched = same[:, -1]", "matched = same[:, 0]"),
        mistake("the order of the tokens ignored", "The right tokens in the wrong places were called right. Is 01-02 "
                "the same date as 02-01?", "matched = ({}.sort(1).values == {}.sort(1).values).all(1)".format(*_BOTH),
                "matched = {}.sum(1) == {}.sum(1)".format(*_BOTH)),
        mistake("a number of sequences, not a share", "This counts the right sequences. By what should the count be "
                "divided?", "share = float(matched.sum())"),
        mistake("percent", "The answer is a hundred times too large. A share of everything is 1.",
                "share = 100 * float(matched.double().mean())",
                "share = round(100 * float(matched.double().mean()), 2)"),
        mistake("the share of wrong sequences", "This is the share that is wrong. Which share is asked for?",
                "share = 1 - float(matched.double().mean())", "matched = (~same).all(1)", "matched = (~same).any(1)"),
        mistake("divided by another number", "The right sequences were divided by something other than the number of "
                "sequences. How many sequences are there?", "share = float(matched.sum()) / target.shape[1]",
                "share = float(matched.sum()) / target.numel()", "share = float(matched.sum() / real.sum())"),
        mistake("rounded", "The share lost its digits: `round` does that. Give it as it is.",
                "share = float(round(matched.double().mean().item()))",
                "share = round(matched.double().mean().item(), 4)",
                matches=lambda args, got: any(got == round(exact_match(*args), digits) for digits in range(10))),
        mistake("a tensor", "The share came as a tensor, where Python's `float` is asked for. What takes the one "
                "number out?",
                "return matched.double().mean()", "return matched.float().mean()"),
        mistake("one answer for each sequence", "A list or a table came back, with an answer for each sequence. One "
                "number is asked for: what share of them is right?",
                "return matched", "return matched.double()", "return matched.float()", "return matched.tolist()",
                "return matched.double().tolist()", "return matched.long().tolist()", "return matched.long()"),
        overwritten(*writing(exact_match, 0, 1)),
    ),
    laws=(Law("a share is between 0 and 1", _no_share),),
    hints=(
        "One wrong token spoils a sequence. Start with a table of what is right, token by token.",
        "A position where the target is padding must never spoil anything. What should your table hold there?",
        "`all` along one axis turns the table into one answer for each sequence. Along which?",
        "A mean of booleans needs numbers: which method makes them, and which makes a Python number of the result?",
    ),
)
