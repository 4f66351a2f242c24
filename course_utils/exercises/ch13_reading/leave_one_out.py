"""Exercise: what a prediction loses when one token is hidden."""

from typing import Any

import torch
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.mistakes import mistake, without
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import left_in, other_kinds, squeezed
from course_utils.interpretability import leave_one_out
from torch import Tensor

RIGHT = """
def leave_one_out(predict, tokens, mask):
    seen = mask
    whole = predict(tokens, seen)
    chosen = whole.argmax(-1, keepdim=True)
    before = whole.gather(-1, chosen).squeeze(-1)
    importance = torch.zeros(tokens.shape, dtype=whole.dtype)
    places = range(tokens.shape[1])
    for i in places:
        hidden = seen.clone()
        hidden[:, i] = False
        read = tokens
        without = predict(read, hidden)
        asked = chosen
        after = without.gather(-1, asked).squeeze(-1)
        change = before - after
        importance[:, i] = change
    result = importance
    return result
"""
WORDS = 12


class Reader:
    """A small classifier: it reads tokens where the mask is True, each at its position, and `peeks` of the others."""

    def __init__(self, classes: int = 3, peeks: float = 0.0, longest: int = 20) -> None:
        g = torch.Generator().manual_seed(classes)
        sizes = ((WORDS, 8), (longest, 8), (8, 8), (8, classes))
        made = (torch.randn(size, generator=g, dtype=torch.float64) for size in sizes)
        self.word, self.place, self.meet, self.out = made
        self.peeks = peeks

    def __call__(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the probabilities (B, C)."""
        if tokens.dtype != torch.long or mask.dtype != torch.bool:
            raise TypeError("predict takes tokens of dtype long and a boolean mask")
        if tokens.dim() != 2 or tokens.shape != mask.shape:
            raise ValueError("predict takes tokens and mask of one shape (B, L)")
        shares = mask.double().clamp(min=self.peeks)
        x = (self.word[tokens] + 0.7 * self.place[: tokens.shape[1]]) * shares.unsqueeze(-1)
        gathered = x.sum(1) / (1 + mask.sum(1, keepdim=True)).sqrt()
        # float32 in the result alone, so that rows are the same in batches of any size
        return ((gathered @ self.meet).tanh() @ self.out + 0.3 * gathered[:, :1]).softmax(-1).float()


def _made(batch: int, length: int, hidden: str = "right") -> Any:
    """Make tokens and a mask: none hidden, some on the right, some anywhere, or a whole row."""

    def make(g: torch.Generator) -> tuple[Tensor, Tensor]:
        tokens = torch.randint(WORDS, (batch, length), generator=g)
        mask = torch.ones(batch, length, dtype=torch.bool)
        if hidden == "right":
            mask = torch.arange(length) < torch.randint(2, length + 1, (batch, 1), generator=g)
        if hidden == "left":
            mask = torch.arange(length) >= torch.randint(1, length - 1, (batch, 1), generator=g)
        if hidden in ("anywhere", "row"):
            mask = torch.rand(batch, length, generator=g) < 0.6
        if hidden == "row":
            mask[1] = False
        return tokens, mask

    return make


def _case(name: str, make: Any, classes: int = 3, peeks: float = 0.0) -> Case:
    def run(fn: Function, tokens: Tensor, mask: Tensor) -> Any:
        return fn(Reader(classes, peeks), tokens, mask)

    return case(name, make, run=run, tolerance=1e-4)


_DELETED = "rest = torch.arange(tokens.shape[1]) != i\nwithout = predict(tokens[:, rest], seen[:, rest])"


def _all_zero(args: tuple[Any, ...], got: Tensor) -> bool:
    return float(got.abs().max()) < 1e-6


_CALLED = "without = predict(read, hidden)"
_REPLACED = "hidden[:, i] = seen[:, i]\nread = tokens.clone()\n"

EXERCISE = exercise(
    leave_one_out,
    right=RIGHT,
    asks="For each token, say how much probability the class chosen with all tokens loses when that token is hidden.",
    minutes=12,
    difficulty=3,
    importance=5,
    inputs=("tokens", "mask"),
    cases=(
        _case("one sequence of 4 tokens", _made(1, 4, "none")),
        _case("3 sequences of 5 tokens", _made(3, 5, "none")),
        _case("padding on the right", _made(4, 6)),
        _case("padding on the left", _made(4, 6, "left")),
        _case("masked anywhere", _made(5, 7, "anywhere")),
        _case("a row that sees nothing", _made(3, 5, "row")),
        _case("2 classes", _made(6, 4, "anywhere"), classes=2),
        _case("7 classes", _made(6, 8, "anywhere"), classes=7),
        _case("one token", _made(3, 1, "none")),
        _case("one sequence, one token", _made(1, 1, "none")),
        _case("as many tokens as sequences and classes", _made(3, 3, "none")),
        _case("long sequences", _made(2, 16)),
        _case("non-contiguous inputs", lambda g: tuple(x.mT.contiguous().mT for x in _made(4, 6)(g))),
        _case("a model that is not quite blind to hidden tokens", _made(4, 6, "anywhere"), peeks=0.2),
    ),
    mistakes=(
        mistake("removals pile up", "From the second token on, the tokens before it are still hidden. What must every "
                "round start from?", "hidden = seen.clone() if i == 0 else hidden"),
        mistake("the caller's mask changed", "Tokens were hidden in the caller's own mask. Which line makes a mask of "
                "its own?", "hidden = seen", "hidden = seen\nmask[:, i] = True\nimportance[:, i] = change",
                "hidden = seen\nresult = importance * mask"),
        mistake("the token replaced as well", "What stands under the mask was changed, too: a model that is not quite "
                "blind to hidden tokens shows it. Which of the two arguments alone says that a token is left out?",
                *(f"read = tokens.clone()\nread[:, i] = {word}\n{_CALLED}" for word in (0, 1, WORDS - 1)),
                *(f"read = tokens.clone()\nread[:, i] = {word}\n{_CALLED}\nresult = importance * mask"
                  for word in (0, 1, WORDS - 1)), f"read = tokens * hidden\n{_CALLED}",
                f"read = tokens * hidden\n{_CALLED}\nwhole = predict(tokens * seen, seen)"),
        mistake("the caller's tokens changed", "Something was written into the caller's own tokens.",
                f"read = tokens\nread[:, i] = 0\n{_CALLED}"),
        mistake("class chosen anew", "Without the token, another class may be the most probable. The question is how "
                "the class that was chosen with all of them fares: which probability is to be compared?",
                "asked = without.argmax(-1, keepdim=True)", "after = without.amax(-1)",
                "asked = without.argmax(-1, keepdim=True)\nchange = (whole - without).gather(-1, asked).squeeze(-1)"),
        mistake("sign", "A token that helps the class has a negative importance here. Which of the two probabilities "
                "is larger when a helpful token is hidden?", "change = after - before"),
        mistake("the sign lost", "Tokens that speak against the class should have a negative importance; here they "
                "have none, or look like those that speak for it.", "change = (before - after).abs()",
                "change = (before - after).relu()", "change = (before - after).square()"),
        mistake("another token instead of none", "The token was replaced by one particular other token, which says "
                "something too. What hides a token so that the model reads nothing there?",
                *(f"{_REPLACED}read[:, i] = {word}\n{_CALLED}" for word in (0, 1, WORDS - 1))),
        mistake("a neighbour's token in its place", "The token was replaced by a copy of its neighbour, which says "
                "something too. What hides a token so that the model reads nothing there?",
                f"{_REPLACED}read[:, i] = tokens[:, i - 1]\n{_CALLED}"),
        mistake("nothing hidden", "Every importance is 0, or rounding. Is the token hidden from the second call, and "
                "is one class looked at, not their sum?", "hidden[:, i] = seen[:, i]", matches=_all_zero),
        mistake("the token cut out", "The token was taken out of the sequence, so the others moved up: they stand at "
                "other positions now. What hides a token and leaves the others where they are?", _DELETED),
        mistake("only the token left in", "All tokens but this one were hidden. Which one is left out?",
                "hidden = torch.zeros_like(seen)\nhidden[:, i] = seen[:, i]",
                "hidden = torch.zeros_like(seen)\nhidden[:, i] = seen[:, i]\nchange = after"),
        mistake("the padding read too", "Hidden tokens were shown to the model: it was given a mask of its own making. "
                "What does `mask` say about them?", "seen = torch.ones_like(mask)", "hidden = torch.ones_like(seen)",
                "hidden = torch.ones_like(seen)\nresult = importance.masked_fill(~mask, 0)",
                "seen = torch.ones_like(mask)\nresult = importance.masked_fill(~mask, 0)"),
        mistake("the mask inverted", "True and False are exchanged in the mask. What does True mean?",
                "seen = ~mask", "hidden = ~seen\nhidden[:, i] = True", "hidden[:, i] = True",
                "seen = ~mask\nhidden[:, i] = True",
                "hidden[:, i] = ~hidden[:, i]"),
        mistake("one mask for all sequences", "Every sequence got the mask of one of them. Each has padding of its "
                "own.",
                "seen = mask[:1].expand(mask.shape)",
                "seen = mask[:1].expand(mask.shape)\nresult = importance.masked_fill(~mask, 0)",
                "hidden = seen[:1].expand(seen.shape).clone()",
                "hidden = seen[:1].expand(seen.shape).clone()\nresult = importance.masked_fill(~mask, 0)"),
        mistake("tokens masked by their number", "A token counts as padding because of its number. Which argument says "
                "what is padding?", "seen = tokens != 0", "hidden = tokens != 0", "seen = mask & (tokens != 0)"),
        mistake("all occurrences hidden",
                "Every occurrence of the same token was hidden. Hide one place at a time.",
                "hidden[:] = seen & (tokens != tokens[:, i : i + 1])\nhidden[:, i] = False"),
        mistake("all from here hidden", "The tokens after this one were hidden, too. How many are hidden at a time?",
                "hidden[:, i:] = False\nhidden[:, i] = False"),
        mistake("sequences hidden instead of tokens", "The mask was set to False for a whole sequence, or for one that "
                "does not exist. Which axis of the mask holds the tokens?",
                "hidden[i] = False\nhidden[:, i] = hidden[:, i]"),
        mistake("a neighbour hidden", "The importance of a token was written to its neighbour's place.",
                "hidden[:, i - 1] = False\nhidden[:, i] = hidden[:, i]",
                "hidden[:, (i + 1) % tokens.shape[1]] = False\nhidden[:, i] = hidden[:, i]",
                "result = importance.roll(1, 1)", "result = importance.roll(-1, 1)", "result = importance.flip(1)"),
        mistake("a place left out", "One place has no importance, though it has a token: the first, such as a class "
                "token, or the last. Which numbers does your range give?", "places = range(1, tokens.shape[1])",
                "places = range(tokens.shape[1] - 1)"),
        mistake("padding only at the end", "Positions beyond the number of real tokens were not looked at. Padding may "
                "stand anywhere.", "places = range(int(seen.sum(1).max()))", "places = range(int(seen.sum(1).min()))",
                "places = range(int(seen[0].sum()))",
                "result = importance * (torch.arange(tokens.shape[1]) < seen.sum(1, keepdim=True))"),
        mistake("another class", "The importance is for a class other than the most probable one.",
                "chosen = torch.zeros_like(whole[:, :1], dtype=torch.long)", "chosen = whole.argmin(-1, keepdim=True)",
                "chosen = torch.ones_like(whole[:, :1], dtype=torch.long)",
                "chosen = torch.full_like(whole[:, :1], whole.shape[-1] - 1, dtype=torch.long)"),
        mistake("one class for all sequences", "The class of one sequence, or of the mean, was used for all. Each has "
                "its own.", "chosen = whole[:1].argmax(-1, keepdim=True).expand(len(whole), 1)",
                "chosen = whole.mean(0, keepdim=True).argmax(-1, keepdim=True).expand(len(whole), 1)",
                "chosen = whole[-1:].argmax(-1, keepdim=True).expand(len(whole), 1)",
                "before = whole.amax(0)[chosen.squeeze(-1)]", "chosen = whole.argmax().expand(len(whole), 1)"),
        mistake("all classes compared", "The change was taken over all classes. Which one is the question about?",
                "change = (whole - without).abs().sum(-1)", "change = (whole - without).abs().sum(-1) / 2",
                "change = (whole - without).abs().amax(-1)", "change = (whole - without).square().sum(-1)",
                "change = (whole * (whole / without).log()).sum(-1)", "change = (whole - without).norm(dim=-1)",
                "importance = torch.zeros(*tokens.shape, whole.shape[-1])\nchange = whole - without"),
        mistake("logarithms or ratios", "Probabilities were divided, or their logarithms subtracted. What is asked "
                "for is a difference of probabilities.", "change = before.log() - after.log()",
                "change = before / after",
                "change = (before - after) / before", "change = after / before",
                "change = before.logit() - after.logit()"),
        mistake("what is left instead of what is lost", "This is the probability without the token, not the "
                "difference. With which number is it compared?", "change = after", "change = 1 - after",
                "change = before"),
        mistake("made to sum to 1", "The importances of a sequence were divided by their sum or their largest. They "
                "are differences of probabilities, and stay so.",
                "result = importance / importance.sum(-1, keepdim=True).clamp(min=1e-9)",
                "result = importance / importance.abs().sum(-1, keepdim=True).clamp(min=1e-9)",
                "result = importance / importance.abs().amax(-1, keepdim=True).clamp(min=1e-9)",
                "result = importance.softmax(-1)", "result = importance / importance.sum(-1, keepdim=True)"),
        mistake("a softmax of the probabilities", "A softmax was taken of what `predict` returns. These are "
                "probabilities already.", "whole = predict(tokens, seen).softmax(-1)\n"
                "without = predict(read, hidden).softmax(-1)", "whole = predict(tokens, seen).softmax(-1)",
                "without = predict(read, hidden).softmax(-1)"),
        mistake("the decision instead of the probability", "Only whether the chosen class changes was noted. How much "
                "did its probability fall?", "change = (without.argmax(-1) != chosen.squeeze(-1)).to(whole.dtype)"),
        mistake("padding not 0", "Padding has an importance. Hiding what is hidden changes nothing.",
                "result = importance.masked_fill(~mask, -torch.inf)",
                "result = importance.masked_fill(~mask, torch.nan)",
                "result = importance.masked_fill(~mask, -1.0)"),
        mistake("averaged over the sequences", "All sequences have the same importances: their mean. Each document has "
                "its own.", "result = importance.mean(0, keepdim=True).expand(importance.shape)",
                "result = importance.mean(0)", "result = importance.mean(1)"),
        mistake("output with other axes", "The values are right, but the result must have the axes (B, L).",
                "return result.mT", "return result.flatten()"),
        squeezed("return result{}"), left_in("return result{}"),
        *without(other_kinds("result"), "return result.to(torch.float32)"),
    ),
    hints=(
        "Call `predict` once with everything. Which class is the most probable in each row, and how probable is it?",
        "A copy of the mask with one column set to False hides that token in every sequence at once. Why a copy?",
        "Ask the probability of the class chosen first, not of the one that is on top now: `gather` reads one column "
        "for each row.",
        "One round for each column: copy the mask, hide the column, call `predict`, and write the difference into a "
        "column of a table of zeros. Which of its entries must stay 0?",
    ),
)
