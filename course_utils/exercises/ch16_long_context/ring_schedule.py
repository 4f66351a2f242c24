"""Exercise: whose block a rank holds at each step of the ring."""

from typing import Any

from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import mistake
from course_utils.distributed import ring_schedule
from course_utils.exercises.shared.kinds import NOTHING

RIGHT = """
def ring_schedule(world_size, rank):
    size = world_size
    steps = range(world_size)
    direction = -1
    first = rank
    held = [(first + direction * step) % size for step in steps]
    return held
"""


def _strange(args: tuple[Any, ...], got: Any) -> bool:
    return any(number not in range(args[0]) for number in got)


def _repeated(args: tuple[Any, ...], got: Any) -> bool:
    return not _strange(args, got) and len(set(got)) < len(got)


def _missing(args: tuple[Any, ...], got: Any) -> bool:
    return not _strange(args, got) and len(set(got)) == len(got) < args[0]


def _reordered(args: tuple[Any, ...], got: Any) -> bool:
    return sorted(got) == list(range(args[0]))


EXERCISE = exercise(
    ring_schedule,
    right=RIGHT,
    asks="List whose block `rank` holds at each step, its own first.",
    minutes=5,
    difficulty=1,
    importance=4,
    cases=(
        case("7 ranks, rank 3", given(7, 3)),
        case("4 ranks, rank 1", given(4, 1)),
        case("4 ranks, rank 0", given(4, 0)),
        case("5 ranks, rank 2", given(5, 2)),
        case("3 ranks, rank 0", given(3, 0)),
        case("4 ranks, rank 3", given(4, 3)),
        case("2 ranks, rank 1", given(2, 1)),
        case("2 ranks, rank 0", given(2, 0)),
        case("one rank", given(1, 0)),
        case("8 ranks, rank 5", given(8, 5)),
        case("64 ranks, rank 17", given(64, 17)),
    ),
    mistakes=(
        NOTHING,
        mistake("rank + t", "The list goes up where it should go down. A rank hands its block to the next one: from "
                "which side does it get its own new one, and whose block was that?",
                "direction = 1", "direction = 1\nsteps = range(1, world_size + 1)"),
        mistake("own block last", "Its own block comes at the end. What does a rank hold before anything was handed "
                "over?", "steps = range(1, world_size + 1)", "return held[1:] + held[:1]"),
        mistake("own block twice", "Its own block is in the list twice, and another one is missing, or the list is too "
                "long. Which step comes before the first rotation?",
                "steps = [0, *range(world_size)]", "steps = [0, *range(world_size - 1)]",
                "steps = range(world_size + 1)"),
        mistake("own block left out", "Its own block is not in the list. At step 0 nothing has been handed over yet: "
                "what is held?", "steps = range(1, world_size)"),
        mistake("a step left out", "The list is too short. How many blocks are there, and how many steps does it take "
                "to hold each of them once?", "steps = range(world_size - 1)"),
        mistake("no modulo", "After rank 0 the list goes on wrongly, or not at all. The ranks form a ring: who stands "
                "before rank 0?",
                "held = [first + direction * step for step in steps]",
                "held = [abs(first + direction * step) for step in steps]",
                "held = [max(first + direction * step, 0) for step in steps]",
                "held = [max(first + direction * step, -1) for step in steps]",
                "held = [first + direction * step for step in steps if step <= first]",
                "held = [first + direction * step for step in steps if step <= first] + [None] * (size - 1 - first)"),
        mistake("modulo the wrong number", "The numbers come round too early or too late. After how many ranks does "
                "the ring begin again?", "size = max(world_size - 1, 1)", "size = world_size + 1",
                "size = max(rank, 1)", "size = rank + 1"),
        mistake("the difference the wrong way round", "The list goes up, and begins with the block of another rank. "
                "Which of rank and step is subtracted from the other?", "held = [(step - first) % size for step in "
                "steps]"),
        mistake("ranks counted from one", "Every number is one too large, within the ring or beyond it. What is the "
                "number of the first rank?",
                "held = [(first + direction * step) % size + 1 for step in steps]", "first = rank + 1"),
        mistake("the same list for every rank", "Each rank starts with a block of its own, but the list does not. "
                "Where does `rank` come in?", "first = 0", "held = list(steps)", "held = list(steps)[::-1]"),
        mistake("own first, the others in order", "Its own block comes first, but the others stand in the order of "
                "their numbers, up or down. Each block comes from the neighbour: which one did it hold a step ago?",
                "held = [rank, *(r for r in steps if r != rank)]",
                "held = [rank, *(r for r in reversed(steps) if r != rank)]"),
        mistake("the block never changes", "The same block is held at every step. What does a rotation do?",
                "direction = 0"),
        mistake("two ranks at a time", "The list jumps by two ranks at each step. How far does a block travel in one "
                "rotation?", "direction = -2"),
        mistake("world_size and rank exchanged", "There are as many entries as the rank's number says. Which of the "
                "two arguments is the number of ranks?",
                "size = max(rank, 1)\nsteps = range(max(rank, 1))\nfirst = world_size"),
        mistake("the lists of all ranks", "There is a list for every rank. Only that of `rank` is wanted.",
                "held = [[(r + direction * step) % size for step in steps] for r in range(size)]",
                "held = {r: [(r + direction * step) % size for step in steps] for r in range(size)}"),
        mistake("another kind of list", "The numbers are right, but a list of Python ints is wanted. How do you make "
                "one?", "return torch.tensor(held)", "return [torch.tensor(r) for r in held]",
                "return [float(r) for r in held]", "return [str(r) for r in held]", "return dict(enumerate(held))",
                "return list(enumerate(held))", "return set(held)", "return str(held)",
                "return ' '.join(map(str, held))"),
        mistake("one step instead of all", "This is a single number. There should be a list with an entry for each "
                "step.",
                "return held[-1]", "return held[0]", "return held[1] if len(held) > 1 else held[0]"),
        mistake("a rank that does not exist", "There is an entry that is the number of no rank. Which numbers do the "
                "ranks have?", matches=_strange),
        mistake("a block twice", "A block comes twice. Every rank's block passes by once: when does a block come back "
                "to where it was?", matches=_repeated),
        mistake("blocks left out", "Each block comes once at most, and some never come. How many steps does it take "
                "to hold each of them?", matches=_missing),
        mistake("the blocks in another order", "Each block comes once, but in another order than a ring gives. What "
                "comes now was with the rank before a step ago: whose block did that rank hold then?",
                matches=_reordered),
    ),
    hints=(
        "Four people sit in a circle and hand what they hold to the right. What do you hold after one rotation, and "
        "after two?",
        "After t rotations a rank holds what began t places before it. Which rank stands t places before rank 1, when "
        "t is 2?",
        "Count down from the rank's own number, and let `%` bring the numbers below 0 back into the ring: in Python "
        "its result is never negative for a positive divisor.",
    ),
)
