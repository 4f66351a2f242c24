"""Exercise: which tokens a rank holds so that a causal mask gives all ranks the same work."""

from typing import Any

from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import mistake
from course_utils.distributed import zigzag_split
from course_utils.exercises.shared.kinds import NOTHING
from course_utils.exercises.shared.refusals import SAYS, fitting, refusal
from torch import Tensor

RIGHT = """
def zigzag_split(num_tokens, world_size):
    parts = 2 * world_size
    length = num_tokens // parts
    fits = num_tokens % parts == 0
    complaint = ValueError("2 * world_size must divide num_tokens")
    if not fits:
        raise complaint
    tokens = torch.arange(parts * length)
    runs = tokens.reshape(parts, length)
    front = runs[:world_size]
    back = runs[world_size:].flip(0)
    positions = torch.cat([front, back], 1)
    result = positions
    return result
"""
_CUT = "tokens = torch.arange(num_tokens // world_size * world_size)\n"
_CYCLIC = "back = runs[({} - torch.arange(world_size)) % parts]"
_EACH_FITS = "fits = num_tokens % world_size == 0"


# What is refused gives the name of an error, and no table.
def _each_once(args: tuple[Any, ...], got: Any) -> bool:
    return isinstance(got, Tensor) and sorted(got.flatten().tolist()) == list(range(args[0]))


def _missing(args: tuple[Any, ...], got: Any) -> bool:
    return isinstance(got, Tensor) and not _each_once(args, got)


def _rows(got: Tensor) -> list[list[int]]:
    return sorted(sorted(row) for row in got.tolist())


def _unordered(args: tuple[Any, ...], got: Any) -> bool:
    return isinstance(got, Tensor) and [sorted(row) for row in got.tolist()] == zigzag_split(*args).tolist()


def _other_ranks(args: tuple[Any, ...], got: Any) -> bool:
    return isinstance(got, Tensor) and _rows(got) == _rows(zigzag_split(*args))


EXERCISE = exercise(
    zigzag_split,
    right=RIGHT,
    asks="Give each rank a run of tokens from the front and the mirrored one from the back.",
    minutes=8,
    difficulty=2,
    importance=4,
    cases=(
        case("18 tokens, 3 ranks", given(18, 3), run=fitting),
        case("16 tokens, 2 ranks", given(16, 2), run=fitting),
        case("24 tokens, 4 ranks", given(24, 4), run=fitting),
        case("one token a run", given(10, 5), run=fitting),
        case("one rank", given(6, 1), run=fitting),
        case("one rank, two tokens", given(2, 1), run=fitting),
        case("2 tokens a run, 8 ranks", given(32, 8), run=fitting),
        case("300 tokens, 5 ranks", given(300, 5)),
        case("30 tokens for 4 ranks", given(30, 4), run=refusal, says=SAYS),
        case("12 tokens for 4 ranks: 4 divides them, 8 does not", given(12, 4), run=refusal, says=SAYS),
        case("7 tokens for one rank", given(7, 1), run=refusal, says=SAYS),
        case("9 tokens for 2 ranks", given(9, 2), run=refusal, says=SAYS),
    ),
    mistakes=(
        NOTHING,
        mistake("contiguous runs", "Each rank has neighbouring tokens only. Under a causal mask the last rank looks "
                "back at everything, the first at almost nothing: which run evens that out?",
                "positions = tokens.reshape(world_size, -1)", "positions = torch.cat([runs[0::2], runs[1::2]], 1)"),
        mistake("striped", "Each rank has single tokens from all over the text. That is another layout, and an "
                "even one for visible pairs, but here a rank has two runs of neighbours.",
                "positions = tokens.reshape(-1, world_size).mT.contiguous()",
                "grid = tokens.reshape(-1, world_size).clone()\ngrid[1::2] = grid[1::2].flip(-1)\npositions = grid.mT",
                "turns = tokens.reshape(-1, parts).mT\n"
                "positions = torch.cat([turns[:world_size], turns[world_size:].flip(0)], 1)"),
        mistake("the second run not mirrored", "The last rank has the last run of both halves, and so the most work. "
                "Which run from the back belongs to the first rank?", "back = runs[world_size:]"),
        mistake("the mirrored run off by one", "The run from the back is the one before or after the right one. Which "
                "number has the last of 2P runs, if they are counted from 0?",
                _CYCLIC.format("parts"), _CYCLIC.format("parts - 2"), "back = runs[parts - torch.arange(world_size)]",
                "back = torch.stack([runs[parts - r] for r in range(world_size)])",
                "back = runs[world_size:].flip(0) + length",
                "back = torch.cat([runs[parts - r] for r in range(world_size)])"),
        mistake("the runs in descending order", "The right tokens, but not ascending: a row begins with its later run, "
                "or a run is read from its end.",
                "positions = torch.cat([back, front], 1)", "back = runs[world_size:].flip(0, 1)",
                matches=_unordered),
        mistake("the ranks the wrong way round", "The rows are right but for their order: which rank has the first "
                "run?", "result = positions.flip(0)", matches=_other_ranks),
        mistake("half the tokens", "Tokens of one half are missing. How many runs does a rank have?",
                "positions = front", "positions = back"),
        mistake("as many runs as ranks", "The text was cut into another number of runs than 2 · world_size.",
                "parts = 2 * world_size\nruns = tokens.reshape(world_size, -1)\nfront = runs\nback = runs.flip(0)",
                "runs = tokens.reshape(world_size, 2, length)\nfront = runs[:, 0]\nback = runs[:, 1].flip(0)"),
        mistake("an uneven share cut silently", "A number of tokens that does not fit was let through. Some would be "
                "in no row, or the rows would not be alike: with which error is it to be refused?", "fits = True",
                _EACH_FITS, "fits = num_tokens >= parts"),
        mistake("another error than ValueError", "What does not fit ends in another error. Callers wait for a "
                "ValueError.", 'complaint = AssertionError("")', 'complaint = TypeError("")',
                'complaint = RuntimeError("shape is invalid")', 'complaint = Exception("")',
                f'{_EACH_FITS}\ncomplaint = AssertionError("")',
                "fits = True\nruns = torch.arange(num_tokens).reshape(parts, length)",
                f"{_EACH_FITS}\nruns = torch.arange(num_tokens).reshape(parts, length)"),
        mistake("the product without parentheses", "An odd number of tokens is refused, and no other. In Python `a % "
                "b * c` is `(a % b) * c`: what is to be divided by what?", "fits = num_tokens % 2 * world_size == 0",
                "fits = num_tokens % 2 * world_size == 0\nruns = torch.arange(num_tokens).reshape(parts, -1)"),
        mistake("refused though it fits", "Numbers that fit are refused. What exactly must divide num_tokens?",
                "fits = num_tokens % (2 * parts) == 0", "fits = num_tokens % parts == 0 and world_size > 1",
                "fits = num_tokens % parts**2 == 0", "fits = num_tokens % parts == 0 and num_tokens > parts",
                "fits = num_tokens % world_size**2 == 0", "fits = parts % num_tokens == 0",
                "fits = num_tokens % parts == 0 and length % 2 == 0", "fits = num_tokens % parts != 0"),
        mistake("rows and columns exchanged", "There is a column for each rank. There should be a row.",
                "result = positions.mT"),
        mistake("all ranks in one row", "The positions of all ranks are in a single row. There should be a row for "
                "each.",
                "result = positions.flatten()"),
        mistake("runs instead of tokens", "The entries are the numbers of runs. Which tokens does a run hold?",
                "ranks = torch.arange(world_size)\nresult = torch.stack([ranks, parts - 1 - ranks], 1)"),
        mistake("the runs on an axis of their own", "The two runs of a rank are not in one row. A rank has one list "
                "of positions.", "positions = torch.stack([front, back], 1)", "positions = torch.cat([front, back])"),
        mistake("the row of one rank", "Only the positions of one rank came back. There should be a row for each.",
                "result = positions[0]", "result = positions[-1]"),
        mistake("positions counted from one", "Each position is one too large: what is the number of the first token?",
                "result = positions + 1"),
        mistake("not a table of long", "The positions are right, but a tensor of dtype long is asked for.",
                "result = positions.tolist()", "result = positions.float()", "result = positions.int()",
                "result = tuple(positions)", "result = positions.double()"),
        mistake("tokens missing or twice", "A token is in no row, or in two. The runs of all ranks together are the "
                "whole text: which run is whose?", matches=_missing),
        mistake("another share of the text", "Each token is in one row, but the ranks have other tokens than they "
                "should. Which two of the 2P runs are rank 0's?", matches=_each_once),
    ),
    hints=(
        "Write 16 tokens in a row and cut them into four runs. Which two together look back at as much as the other "
        "two?",
        "Cut the tokens into a table of 2 · world_size rows. Its first half belongs to the ranks in order; the second "
        "in the opposite order.",
        "`reshape` cuts, `flip(0)` turns the rows round, and `torch.cat(..., 1)` puts two tables side by side.",
    ),
)
