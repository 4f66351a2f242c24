"""Exercise: hide tokens as BERT does.

Nobody's draws are those of the reference, so most cases count what comes out, and a count that is
within 4.5 standard deviations of what it should be is given as what it should be. What is wrong is
told in a form that does not depend on the draws either, so that it can be named.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from course_utils.checking.compare import kind_problem
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.inputs import strided
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.models import mask_tokens
from torch import Tensor

RIGHT = """
def mask_tokens(tokens, mask_id, vocab_size, special, generator):
    chance = torch.rand(tokens.shape, generator=generator)
    share = 0.15
    is_special = torch.isin(tokens, torch.tensor(special, dtype=torch.long))
    allowed = ~is_special
    selected = (chance < share) & allowed
    fate = torch.rand(tokens.shape, generator=generator)
    to_mask = 0.8
    to_other = 0.9
    hidden = selected & (fate < to_mask)
    replaced = selected & (fate >= to_mask) & (fate < to_other)
    drawn = torch.randint(vocab_size, tokens.shape, generator=generator)
    covered = torch.where(hidden, mask_id, tokens)
    inputs = torch.where(replaced, drawn, covered)
    labels = tokens.masked_fill(~selected, -100)
    return inputs, labels
"""
_ROWS, _LENGTH = 300, 20
_MASK, _VOCAB = 999, 1000


def _tokens(low: int = 5, high: int = 900, rows: int = _ROWS, length: int = _LENGTH) -> Callable[..., Tensor]:
    return lambda g: torch.randint(low, high, (rows, length), generator=g)


def _case(name: str, run: Function, says: str, *, special: tuple[int, ...] = (), mask_id: int = _MASK,
          vocab_size: int = _VOCAB, tokens: Callable[..., Tensor] | None = None, room: float = 0.0,
          tolerance: float | None = None) -> Case:
    """Return a case that looks at `run(inputs, labels, tokens)`; shares have some `room`."""

    def made(g: torch.Generator) -> tuple[Any, ...]:
        return (tokens or _tokens())(g), mask_id, vocab_size, list(special), g

    def looked(fn: Function, tokens: Tensor, *rest: Any) -> Any:
        before = tokens.clone()
        inputs, labels = fn(tokens, *rest)
        return run(inputs, labels, before)

    rounding = 1e-9 if room and tolerance is None else tolerance
    return case(name, made, run=looked, says=says, absolute=room or 1e-9, tolerance=rounding)


def _near(found: float, expected: float, error: float) -> float:
    """Return what is expected if that is what was found, as far as chance lets one tell."""
    return expected if abs(found - expected) <= 4.5 * error else found


def _share(hits: Tensor, among: Tensor, expected: float) -> float:
    count = max(int(among.sum()), 1)
    return _near(float((hits & among).sum()) / count, expected, math.sqrt(expected * (1 - expected) / count))


def _selected(inputs: Tensor, labels: Tensor, tokens: Tensor) -> list[Any]:
    return ["selected", _share(labels != -100, torch.ones_like(tokens, dtype=torch.bool), 0.15)]


def _selected_of_others(inputs: Tensor, labels: Tensor, tokens: Tensor) -> tuple[str, float]:
    """Say how many of the special ids were touched; return the share of others that were selected."""
    special = tokens < 4
    labelled, changed = (len(tokens[special & where].unique()) for where in (labels != -100, inputs != tokens))
    return f"{labelled} labelled, {changed} changed", _share(labels != -100, ~special, 0.15)


def _fates(inputs: Tensor, labels: Tensor, tokens: Tensor) -> list[Any]:
    """Return the shares of [MASK], and of what stays, among the selected; and whether ids above all tokens come up."""
    selected = labels != -100
    high = "any" if bool(((inputs > 900) & (inputs != _MASK)).any()) else "not all"
    return [high, _share(inputs == _MASK, selected, 0.8), _share(inputs == tokens, selected, 0.1001)]


def _kinds(inputs: Tensor, labels: Tensor, tokens: Tensor) -> str:
    """Say what becomes of selected tokens, more often than an id happens to be drawn that is [MASK]."""
    few = int((labels != -100).sum()) / 50
    return ", ".join(name for name, where in _ends(inputs, labels, tokens).items() if int(where.sum()) > few)


def _one_end(fn: Function, tokens: Tensor, *rest: Any) -> bool:
    """Return whether all tokens of a call meet one end, and not always the same."""
    drawn = [fn(tokens.clone(), *rest) for _ in range(30)]
    found = [_kinds(inputs, labels, tokens) for inputs, labels in drawn]
    return len(set(found)) > 1 and not any("," in one for one in found)


def _of_three(inputs: Tensor, labels: Tensor, tokens: Tensor) -> tuple[bool, ...]:
    """Return whether each other id comes up: a sixth of what is selected and not hidden; all tokens are 1."""
    shown = inputs[(labels != -100) & (inputs != 3)]
    return tuple(int((shown == one).sum()) > len(shown) / 12 for one in (0, 2))


def _beyond(inputs: Tensor, labels: Tensor, tokens: Tensor) -> bool:
    return bool(((inputs == 3) | (inputs > 4)).any())


def _drawn_special(inputs: Tensor, labels: Tensor, tokens: Tensor) -> float:
    return _share(inputs < 8, labels != -100, 0.08)


def _itself(inputs: Tensor, labels: Tensor, tokens: Tensor) -> float:
    """Return the share of the token itself among what is not hidden, of two ids."""
    return _share(inputs == tokens, (labels != -100) & (inputs != 2), 0.75)


def _consistent(inputs: Tensor, labels: Tensor, tokens: Tensor) -> tuple[float, ...]:
    """Return the shares of wrong labels, and of tokens that changed though they were not selected."""
    selected = labels != -100
    wrong, changed = (labels != tokens)[selected], (inputs != tokens)[~selected]
    return tuple(float(one.sum()) / max(len(one), 1) for one in (wrong, changed))


def _scatter(labels: Tensor, axis: int) -> int:
    """Return the variance of how many are selected along an axis, relative to draws one by one."""
    selected = (labels != -100).double()
    share = float(selected.mean())
    if share in (0.0, 1.0):
        return -1
    counts = selected.sum(axis)
    found = float(counts.var()) / (labels.shape[axis] * share * (1 - share))
    return round(_near(found, 1.0, math.sqrt(2.3 / (len(counts) - 1))))


def _along_rows(inputs: Tensor, labels: Tensor, tokens: Tensor) -> int:
    return _scatter(labels, 1)


def _along_columns(inputs: Tensor, labels: Tensor, tokens: Tensor) -> int:
    return _scatter(labels, 0)


def _ends(inputs: Tensor, labels: Tensor, tokens: Tensor) -> dict[str, Tensor]:
    """Return where tokens were selected, by what became of them."""
    hidden, kept = inputs == _MASK, inputs == tokens
    selected = labels != -100
    return {"hidden": selected & hidden, "replaced": selected & ~hidden & ~kept, "kept": selected & kept}


def _shared_fate(inputs: Tensor, labels: Tensor, tokens: Tensor) -> float:
    """Return by how much more pairs of a row or column share their fate than all pairs: 0 by chance, at most 1."""
    ends = _ends(inputs, labels, tokens).values()
    count = sum(int(one.sum()) for one in ends)
    expected = sum((int(one.sum()) / max(count, 1)) ** 2 for one in ends)
    if expected in (0.0, 1.0):
        return 0.0
    same = (sum(_pairs(one, axis) for one in ends) / max(_pairs(labels != -100, axis), 1.0) for axis in (1, 0))
    return max(_near((one - expected) / (1 - expected), 0.0, 0.08) for one in same)


def _pairs(marked: Tensor, axis: int) -> float:
    counts = marked.sum(axis).double()
    return float((counts * (counts - 1) / 2).sum())


def _one_for_all(inputs: Tensor, labels: Tensor, tokens: Tensor) -> bool:
    """Return whether all replacements are the same id."""
    drawn = inputs[(labels != -100) & (inputs != _MASK) & (inputs != tokens)]
    return len(drawn) > 1 and len(drawn.unique()) == 1


def _repeated(fn: Function, tokens: Tensor, mask_id: int, vocab_size: int, special: list[int], g: Any) -> Any:
    """Return whether the same seed gives the same, and the next draw something else."""
    one, other = (torch.Generator().manual_seed(7) for _ in range(2))
    first = fn(tokens.clone(), mask_id, vocab_size, special, one)
    again = fn(tokens.clone(), mask_id, vocab_size, special, other)
    later = fn(tokens.clone(), mask_id, vocab_size, special, one)
    return torch.equal(first[1], again[1]) and torch.equal(first[0], again[0]), torch.equal(first[1], later[1])


def _totals(fn: Function, tokens: Tensor, *rest: Any) -> int:
    """Return how much the number of selected tokens varies from call to call: 1 is by chance."""
    labels = [fn(tokens.clone(), *rest)[1].flatten() for _ in range(150)]
    return _scatter(torch.stack(labels), 1)


def _untouched(fn: Function, tokens: Tensor, *rest: Any) -> Any:
    """Return both results; what is drawn though nothing may be becomes -1 everywhere."""
    before = tokens.clone()
    got = fn(tokens, *rest)
    if kind_problem(got, (before, before)):
        return got
    inputs, labels = got
    plain = labels.unique().numel() == 1 or torch.equal(labels, before)
    return (
        inputs if torch.equal(inputs, before) else torch.full_like(inputs, -1),
        labels if plain else torch.full_like(labels, -1),
    )


def _plain(tokens: Callable[[torch.Generator], Tensor], special: list[int]) -> Callable[..., tuple[Any, ...]]:
    return lambda g: (tokens(g), 7, 9, special, g)


_SHARES = "Of the selected tokens, 8 in 10 should become [MASK], 1 in 10 another token, and 1 in 10 stay as they are."
_ALONE = "Each token is selected by a draw of its own, whatever happens to the others. What was drawn once for many?"

EXERCISE = exercise(
    mask_tokens,
    right=RIGHT,
    asks="Select 15% of the tokens; hide 8 in 10 of them, replace 1 in 10, keep 1 in 10.",
    minutes=15,
    difficulty=3,
    importance=4,
    parts=("inputs", "labels"),
    cases=(
        case("nothing but special tokens", _plain(_tokens(0, 4, 20, 15), [0, 1, 2, 3]), run=_untouched),
        _case("each token of a row by itself", _along_rows, _ALONE, tokens=_tokens(length=2 * _LENGTH)),
        _case("each token of a column by itself", _along_columns, _ALONE,
              tokens=_tokens(rows=30, length=200)),
        _case("15% are selected", _selected, "The share of selected tokens is not 15%. What is it drawn from, and "
              "which tokens have a label?", tokens=_tokens(length=3 * _LENGTH), tolerance=0.07),
        _case("labels and the rest", _consistent, "A label is not the token that was there, or a token changed that "
              "was not selected.", tolerance=0.1),
        _case("what becomes of each by itself", _shared_fate, "Tokens of one sequence, or of one place, share their "
              "fate: all hidden, or all replaced. What was drawn once for many?", room=0.3),
        case("what becomes of each in 30 calls", lambda g: (_tokens(rows=10)(g), _MASK, _VOCAB, [], g), run=_one_end,
             says="All selected tokens of a call share their fate. What was drawn once for many?"),
        _case("three ends", _kinds, _SHARES),
        _case("8 in 10, 1 in 10, 1 in 10", _fates, _SHARES, tokens=_tokens(length=3 * _LENGTH), room=0.03),
        _case("special tokens 0 to 3", _selected_of_others, "A special token was selected, or fewer of the others "
              "were than 15%.", special=(3, 0, 2, 950, 1), tokens=_tokens(0, 6), room=0.03),
        _case("each replacement by itself", _one_for_all, "All replaced tokens became the same one.",
              tokens=_tokens(rows=20)),
        _case("draws from three ids", _of_three, "The ids that replace a token are not drawn from 0 to vocab_size - 1, "
              "each as often as any other. Which are too rare?", vocab_size=3, mask_id=3,
              tokens=lambda g: torch.ones(_ROWS, 2 * _LENGTH, dtype=torch.long)),
        _case("draws beyond the vocabulary", _beyond, "An id came up that does not exist: ids go from 0 to vocab_size "
            "- 1.",
              vocab_size=3, mask_id=4, tokens=_tokens(0, 3)),
        _case("draws of special ids", _drawn_special, "Special ids should be drawn like any other to replace a token.",
              special=tuple(range(8)), vocab_size=10, mask_id=8,
              tokens=lambda g: torch.full((_ROWS, _LENGTH), 9), room=0.03),
        _case("draws of the token itself", _itself, "A token may be replaced by itself: the draw is from all ids.",
              vocab_size=2, mask_id=2, tokens=lambda g: torch.zeros(_ROWS, 2 * _LENGTH, dtype=torch.long), room=0.08),
        case("the same seed, and the next draw", _plain(_tokens(0, 7, 12, 11), [0]), run=_repeated,
             says="The generator alone should decide: the same seed gives the same result, and the next call a "
                  "different one."),
        case("the number selected in 150 calls", _plain(_tokens(0, 6, 2, 10), []), run=_totals,
             says="The number of selected tokens varies less, or more, than it would if each were drawn "
                  "independently."),
        case("no tokens", lambda g: (torch.zeros(2, 0, dtype=torch.long), 7, 9, [0], g)),
        case("one token that is special", lambda g: (torch.tensor([[4]]), 7, 9, [4], g)),
        case("special tokens, non-contiguous", _plain(lambda g: strided(_tokens(0, 4, 3, 5)(g)), [0, 1, 2, 3])),
        _case("tokens that are [MASK] already", _selected, "A token that is [MASK] already is one like any other, "
              "unless it is among the special ones.", tokens=lambda g: torch.full((_ROWS, _LENGTH), _MASK)),
    ),
    mistakes=(
        mistake("global randomness", "The draws do not come from the generator that was given: the same seed gives "
                "another result each time. Which argument do torch's random functions take for that?",
                "chance = torch.rand(tokens.shape)", "fate = torch.rand(tokens.shape)",
                "drawn = torch.randint(vocab_size, tokens.shape)",
                detects=lambda trace: trace.used_global_random),
        mistake("a generator of one's own", "Every call gives the same result whatever generator it is given, or "
                "restarts that generator. Who should decide what is drawn?",
                "generator = torch.Generator().manual_seed(generator.initial_seed())\n"
                "chance = torch.rand(tokens.shape, generator=generator)",
                "generator = torch.Generator().manual_seed(0)\nchance = torch.rand(tokens.shape, generator=generator)",
                "generator = generator.manual_seed(0)\nchance = torch.rand(tokens.shape, generator=generator)",
                "generator.seed()\nchance = torch.rand(tokens.shape, generator=generator)"),
        mistake("special tokens selected", "Special tokens were selected, so that the model has to guess padding and "
                "marks. Which list says what they are?", "allowed = torch.ones_like(is_special)"),
        mistake("only one special token", "Some of the special tokens were selected. How many ids does the list hold, "
                "and in which order?", "is_special = tokens == (special[0] if special else -1)",
                "is_special = tokens == (special[-1] if special else -1)",
                "is_special = tokens == 0", "is_special = tokens < len(special)",
                "is_special = tokens >= (min(special) if special else vocab_size)",
                "is_special = tokens <= (max(special) if special else -1)"),
        mistake("an empty list forgotten", "Where the list of special ids is empty, the call fails. Which of your "
                "lines needs at least one?", "is_special = tokens == special[0]\nfor one in special[1:]:\n"
                "    is_special |= tokens == one\nallowed = ~is_special",
                "is_special = torch.stack([tokens == one for one in special]).any(0)"),
        mistake("[MASK] never selected", "Tokens that are [MASK] already are never selected. Is their id in the list?",
                "allowed = ~is_special & (tokens != mask_id)"),
        mistake("special tokens asked for", "Special tokens have labels, though none was selected. What has the model "
                "to guess there?", "labels = tokens.masked_fill(~selected & ~is_special, -100)"),
        mistake("15% of all, taken from the others alone", "More than 15% of the tokens that may be selected are: the "
                "special ones count in the 15%. Whose probability is 0.15?",
                "selected = (chance < 0.15 * allowed.numel() / max(int(allowed.sum()), 1)) & allowed"),
        mistake("special tokens alone", "The special tokens are the only ones that may be selected. Which of `&` and "
                "`& ~` leaves them out?", "allowed = is_special"),
        mistake("hidden though special", "Special tokens have no label, and still were hidden or replaced.",
                "hidden = (chance < share) & (fate < to_mask)",
                "replaced = (chance < share) & (fate >= to_mask) & (fate < to_other)",
                "hidden = (chance < share) & (fate < to_mask)\n"
                "replaced = (chance < share) & (fate >= to_mask) & (fate < to_other)"),
        mistake("another share selected", "The share of selected tokens is not 15%. Is it drawn once for each token?",
                "share = 0.1", "share = 0.2", "share = 0.85", "share = 0.12", "share = 0.3", "share = 0.8",
                "chance = torch.randn(tokens.shape, generator=generator)",
                matches=lambda args, got: isinstance(got, list) and got[0] == "selected" and 0 < got[1] < 1),
        mistake("labels everywhere", "Every token has a label, so the model is mostly asked for what it can read. "
                "Which tokens does it have to guess?", "labels = tokens.clone()",
                "labels = tokens.masked_fill(is_special, -100)"),
        mistake("labels under [MASK] alone", "Only hidden tokens have a label. The model must also say which tokens "
                "were replaced, and which were left: which were selected?",
                "labels = tokens.masked_fill(~hidden, -100)", "labels = tokens.masked_fill(inputs != mask_id, -100)"),
        mistake("labels where something changed", "Selected tokens that stayed as they are have no label. Why were "
                "they left as they are?", "labels = tokens.masked_fill(inputs == tokens, -100)",
                "labels = tokens.masked_fill(~(hidden | replaced), -100)"),
        mistake("labels where nothing was selected", "The labels are where nothing was selected. Which of the two does "
                "`masked_fill` fill?", "labels = tokens.masked_fill(selected, -100)"),
        mistake("inputs for labels", "A label is the token in the input, not the one that was there before.",
                "labels = inputs.masked_fill(~selected, -100)"),
        mistake("another label where nothing is asked", "Where nothing was selected, the label must be -100: that is "
                "what torch's loss leaves out.", "labels = tokens.masked_fill(~selected, 0)",
                "labels = tokens.masked_fill(~selected, -1)", "labels = tokens.masked_fill(~selected, mask_id)",
                "labels = tokens * selected"),
        mistake("a tenth of the rest", "Two draws follow each other: a second draw is made for what was not hidden, so "
                "a tenth is a tenth of what was left. How large a part of the rest is a tenth of all?",
                "again = torch.rand(tokens.shape, generator=generator)\n"
                "replaced = selected & ~hidden & (again < 0.1)"),
        mistake("everything hidden", "All selected tokens became [MASK]. At test time there is none: what do the other "
                "two tenths teach?", "to_mask = 1.0", "fate = chance", "to_mask = 1.0\nto_other = 1.0"),
        mistake("nothing replaced", "No selected token was replaced by a random one, or none was hidden. What should "
                "happen to ten of them?", "to_other = 0.8", "to_mask = 0.0\nto_other = 0.1", "inputs = covered"),
        mistake("nothing left as it is", "No selected token stays as it is. What should happen to ten of them?",
                "to_other = 1.0", "to_mask = 0.9\nto_other = 1.0",
                "hidden = selected\ninputs = torch.where(selected & (fate > 0.9), drawn, covered)"),
        mistake("other shares of the selected", "The three shares among the selected are not 8, 1 and 1 tenths. Which "
                "part of a number from 0 to 1 belongs to each?", "to_other = 0.85",
                "to_mask = 0.5", "to_mask = 0.1\nto_other = 0.2", "to_mask = 0.7", "to_mask = 0.1\nto_other = 0.9",
                "to_mask = 0.15\nto_other = 0.25", "again = torch.rand(tokens.shape, generator=generator)\n"
                "replaced = selected & (again < 0.1)",
                matches=lambda args, got: isinstance(got, list) and got[0] == "any" and len(got) == 3),
        mistake("hidden tokens replaced again", "What was hidden, or a part of it, was replaced by random ids "
                "afterwards. Which `if` should be an `elif`, and which interval belongs to each fate?",
                "replaced = selected & (fate < to_other)", "again = torch.rand(tokens.shape, generator=generator)\n"
                "replaced = selected & (again < 0.5)"),
        mistake("fate by place", "The first of the selected tokens are hidden, those after them replaced, and the last "
                "ones stay: what becomes of a token depends on where it stands. What should decide?",
                "rank = selected.flatten().cumsum(0).view(tokens.shape)\n"
                "fate = (rank - 1) / selected.sum().clamp(min=1)",
                "fate = torch.arange(tokens.shape[1]).expand(tokens.shape) / tokens.shape[1]",
                "fate = torch.rand(tokens.numel(), generator=generator).sort().values.view(tokens.shape)"),
        mistake("shares of all tokens", "8 in 10 of all tokens were hidden, or changed, even tokens that were not "
                "selected. Which tokens are the shares taken of?", "hidden = fate < to_mask",
                "replaced = (fate >= to_mask) & (fate < to_other)", "hidden = fate < to_mask\n"
                "replaced = (fate >= to_mask) & (fate < to_other)"),
        mistake("one draw a row", "All tokens of a sequence are selected together, or all those of a position. How "
                "many draws does a batch of (B, L) tokens take?",
                "chance = torch.rand(tokens.shape[0], 1, generator=generator).expand(tokens.shape)",
                "chance = torch.rand(tokens.shape[1], generator=generator).expand(tokens.shape)",
                "chance = torch.rand(1, generator=generator).expand(tokens.shape)"),
        mistake("neighbours selected together", "Selected tokens come in groups: whether one is selected depends on "
                "its neighbours, or on its row. Spans came later than BERT; here, what does each token's fate hang on?",
                *(f"own = torch.rand(tokens.shape, generator=generator)\nchance = {line}" for line in (
                    "2 * torch.minimum(own, own.roll(1, 1))", "own[:, ::2].repeat_interleave(2, 1)[:, : own.shape[1]]",
                    "2 * torch.minimum(own, own.roll(1, 0))",
                    "3 * torch.minimum(torch.minimum(own, own.roll(1, 1)), own.roll(2, 1))")),
                matches=lambda args, got: isinstance(got, int) and not isinstance(got, bool) and got > 1),
        mistake("one fate a row", "All selected tokens of a sequence, or of the batch, meet the same fate.",
                "fate = torch.rand(tokens.shape[0], 1, generator=generator).expand(tokens.shape)",
                "fate = torch.rand(1, generator=generator).expand(tokens.shape)"),
        mistake("a fixed number a row", "Every row has the same number of selected tokens, or every batch. Each token "
                "has a draw of its own: how many are selected then?",
                "order = torch.rand(tokens.shape, generator=generator).argsort(1).argsort(1)\n"
                "chance = order / tokens.shape[1]",
                "order = torch.randperm(tokens.numel(), generator=generator).view(tokens.shape)\n"
                "chance = order / max(tokens.numel(), 1)"),
        mistake("one replacement for all", "All replaced tokens became the same one. How many ids must be drawn?",
                "drawn = torch.randint(vocab_size, (1,), generator=generator).expand(tokens.shape)"),
        mistake("drawn from some ids only",
                "Some ids are never drawn. A replacement may be any of 0 to vocab_size - 1.",
                "drawn = torch.randint(1, vocab_size, tokens.shape, generator=generator)",
                "drawn = torch.randint(vocab_size - 1, tokens.shape, generator=generator)",
                "drawn = torch.randint(min(vocab_size, 3), tokens.shape, generator=generator)",
                "drawn = torch.randint(min(vocab_size, 100), tokens.shape, generator=generator)"),
        mistake("an id beyond the vocabulary", "An id was drawn that does not exist. Does the upper end of what is "
                "drawn belong to it?", "drawn = torch.randint(vocab_size + 1, tokens.shape, generator=generator)",
                "drawn = torch.randint(1, vocab_size + 1, tokens.shape, generator=generator)"),
        mistake("replaced by a token of the batch", "A replacement comes from the text itself, not from the "
                "vocabulary.", "order = torch.randperm(tokens.numel(), generator=generator)\n"
                "drawn = tokens.flatten()[order].view(tokens.shape)", "drawn = tokens.roll(1, 1)"),
        mistake("never replaced by a special id", "Special ids are never drawn. The draw is from all ids, as in the "
                "paper: it happens so rarely that nobody minds.",
                "usual = torch.tensor([i for i in range(vocab_size) if i not in special] or [0])\n"
                "drawn = usual[torch.randint(len(usual), tokens.shape, generator=generator)]"),
        mistake("never replaced by itself", "A replacement is never the token itself. The draw is from all ids, and "
                "one of them is the token's own.",
                "step = torch.randint(1, max(vocab_size, 2), tokens.shape, generator=generator)\n"
                "drawn = (tokens + step) % vocab_size"),
        mistake("the tokens changed in place", "The call wrote into the tokens that it was given, and the labels, or "
                "the next epoch, read what is left. Which line makes a copy?",
                "inputs = tokens.copy_(torch.where(replaced, drawn, covered))",
                "before = tokens.clone()\ninputs = tokens.copy_(torch.where(replaced, drawn, covered))\n"
                "labels = before.masked_fill(~selected, -100)"),
        mistake("inputs and labels exchanged", "The two results are in the wrong order: the inputs come first.",
                "return labels, inputs"),
        mistake("the selection for labels", "The second result says which tokens were selected. A label is the token "
                "itself there.", "return inputs, selected", "labels = selected.long()"),
        mistake("only the inputs", "One result came back. What is the model compared with?", "return inputs",
                "return labels"),
        mistake("not long", "Ids have the dtype long, in the inputs and in the labels.",
                "return inputs.int(), labels.int()",
                "return inputs.double(), labels.double()", "return inputs, labels.float()",
                "return inputs.float(), labels.float()"),
    ),
    hints=(
        "Two questions, two draws for each token: is it selected, and if it is, what happens to it?",
        "A random number between 0 and 1 is below 0.15 in 15 of 100 "
        "cases. `torch.rand` takes a shape and a `generator`. "
        "`torch.isin` says which tokens are in a list.",
        "The labels need only the first draw: the token where it is selected, -100 elsewhere.",
        "Cut the second draw at 0.8 and at 0.9. Draw an id for every token, and use it only where the second draw says "
        "so: `torch.where` chooses.",
    ),
)
