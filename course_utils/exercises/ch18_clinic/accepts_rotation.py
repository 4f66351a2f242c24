"""Exercise: a test that accepts RoPE in either pairing and refuses what only looks like it."""

from collections.abc import Callable
from typing import Any

from course_utils.checking.exercise import exercise
from course_utils.checking.mistakes import adding, mistake, saying, without
from course_utils.clinic import accepts_rotation
from course_utils.exercises.shared.planted import VERDICT, global_random, planted
from course_utils.exercises.shared.planted import attempt as attempt
from course_utils.exercises.shared.planted import caught as caught
from course_utils.exercises.shared.planted import close as close
from course_utils.exercises.shared.planted import draw as draw
from course_utils.exercises.shared.planted import near as near
from course_utils.exercises.shared.planted import shape as shape
from torch import Tensor

RIGHT = """
def accepts_rotation(turn):
    implementation = turn
    generator = torch.Generator().manual_seed(0)
    B, H, L, d_k = 2, 3, 5, 8
    x = draw(generator, B, H, L, d_k)
    own = torch.randint(0, 40, (B, L), generator=generator)
    line = torch.randint(0, 40, (L,), generator=generator)
    several = (line, own)
    kinds = (rope_interleaved, rope_split_halves)
    found, given = [], []
    for rope in kinds:
        answers = []
        given.append(answers)
        for positions in several:
            want = rope(x, positions)
            handed = (x, positions)
            out = attempt(implementation, *handed)
            same = close(out, want)
            answers.append(same)
        agreed = all(answers)
        found.append(agreed)
    accepted = any(found)
    return accepted
"""


def relative(implementation: Callable[..., Any], x: Tensor, positions: Tensor) -> bool:
    """Return whether the scores stay when all positions are moved by 3: a law, and not all of RoPE."""
    before, after = (attempt(implementation, x, positions + moved) for moved in (0, 3))
    if shape(before) != x.shape or shape(after) != x.shape:
        return False
    return close(after @ after.mT, before @ before.mT)


_WORDS = {
    "every implementation refused": "This test refuses every rotation, right ones too. Does it ask for both pairings "
    "at once, or for another base? And does it leave room for rounding?",
}
EXERCISE = exercise(
    accepts_rotation,
    right=RIGHT,
    asks="Write a test that accepts RoPE in either of its two pairings and refuses every faulty rotation.",
    minutes=10,
    difficulty=3,
    importance=4,
    cases=planted("accepts_rotation"),
    mistakes=(
        *adding(saying(without(VERDICT, "one agreement is enough",
        "an assert for an answer"), _WORDS), {"errors that escape": (
            "out = caught(RuntimeError, implementation, *handed)",
            "out = caught((RuntimeError, TypeError), implementation, *handed)",
        )}),
        global_random("x = torch.randn(B, H, L, d_k, dtype=torch.float64)"),
        mistake("too much room", "Faults that change the numbers are forgiven: the tolerance is far larger than "
                "rounding.", *(f"same = near(out, want, {room})" for room in (0.01, 0.1, 0.3, 0.5, 1.0, 2.0))),
        mistake("either pairing, call by call", "A rotation was accepted that changes its pairing from call to call. "
                "One pairing throughout is asked for: what must agree with which of the two?",
                "accepted = all(map(any, zip(*given)))"),
        mistake("one shape of positions only", "An implementation was accepted that fails, or is wrong, where the "
                "positions have the shape that this test never hands in. Which two shapes does the contract allow?",
                "several = (own,)", "several = (own, own + 1)"),
        mistake("one pairing demanded", "Right rotations are refused because they pair other features. Which two "
                "pairings does the contract allow?", "kinds = (rope_interleaved,)", "kinds = (rope_split_halves,)"),
        mistake("positions from zero", "An implementation was accepted that never looks at the positions: it takes 0, "
                "1, 2 and so on. Do this test's positions, and its comparison, tell the difference?",
                "several = (torch.arange(L),)", "several = (torch.arange(L), torch.arange(L).expand(B, L))"),
        mistake("the same positions for all sentences", "A rotation was accepted that gives all sentences the "
                "positions of the first. What does the second axis of `positions` allow, and must every output agree?",
                "agreed = any(answers)", "several = (line,)", "several = (line, line.expand(B, L))",
                "several = (own[0],)"),
        mistake("positions of 0 only", "At position 0 nothing is rotated, whatever the implementation does. Which "
                "positions tell more?", "several = (torch.zeros(L, dtype=torch.long),)",
                "several = (torch.zeros(B, L, dtype=torch.long),)",
                "several = (torch.zeros(L, dtype=torch.long), torch.zeros(B, L, dtype=torch.long))"),
        mistake("one pair of features", "One pair of features was looked at, the first, or the only one: its frequency "
                "is 1 for every base and every exponent. How many pairs tell them apart?", "B, H, L, d_k = 2, 3, 5, 2",
                "same = shape(out) == shape(want) and close(out[..., :2], want[..., :2])"),
        mistake("a law instead of the numbers", "Lengths stay, and scores depend on distances alone: so they do for "
                "other bases, other directions, and if nothing is rotated. With what must the numbers agree?",
                "same = shape(out) == want.shape and close(out.norm(dim=-1), want.norm(dim=-1))",
                "same = relative(implementation, x, positions)"),
        mistake("another base expected", "The test expects another base than the contract's, so it refuses right "
                "rotations. Which base does the exercise name?",
                "want = rope(x, positions, base=500000.0)"),
        mistake("the other direction expected", "The test expects every pair to be rotated the other way round. Which "
                "sign does the sine have, and where?", "want = rope(x, -positions)"),
        mistake("positions counted from 1 expected", "The test expects the first token to be rotated already. What "
                "does chapter 07's rotation do at position 0?", "want = rope(x, positions + 1)"),
        mistake("inputs of another dtype", "The implementations are promised float64, and some of them take nothing "
                "else. Which dtype do these inputs "
                "have?", "handed = (x.float(), positions)\nsame = near(out, want, 1e-3)"),
        mistake("positions that are not long", "The contract promises long positions, and some implementations take no "
                "others.", "handed = (x, positions.int())", "handed = (x, positions.double())"),
        mistake("another number of axes", "The contract names four axes: batch, heads, tokens, width. Some "
                "implementations take no other number.",
                "several = (line,)\nhanded = (x[0], positions)\nsame = close(out, want[0])"),
    ),
    hints=(
        "Chapter 07's two functions give the two outputs that are allowed. When is an implementation right?",
        "Positions 0, 1, 2, … are what an implementation that ignores them would use. And can two sentences of a batch "
        "have different ones?",
        "How many pairs does it take to tell one frequency from another, or one base from another?",
        "Compare all numbers, to rounding, with one pairing throughout; accept if either pairing agrees everywhere. "
        "Calls go in a `try`.",
    ),
)  # fmt: skip
