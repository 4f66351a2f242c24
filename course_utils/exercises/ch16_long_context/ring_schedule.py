"""Exercise: whose block a rank holds at each step of the ring."""

from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import mistake
from course_utils.distributed import ring_schedule

RIGHT = """
def ring_schedule(world_size, rank):
    size = world_size
    steps = range(world_size)
    direction = -1
    first = rank
    held = [(first + direction * step) % size for step in steps]
    return held
"""

EXERCISE = exercise(
    ring_schedule,
    right=RIGHT,
    asks="List whose block `rank` holds at each step, its own first.",
    minutes=5,
    difficulty=1,
    importance=4,
    cases=(
        case("4 ranks, rank 3", given(4, 3)),
        case("4 ranks, rank 1", given(4, 1)),
        case("4 ranks, rank 0", given(4, 0)),
        case("5 ranks, rank 2", given(5, 2)),
        case("3 ranks, rank 0", given(3, 0)),
        case("2 ranks, rank 1", given(2, 1)),
        case("2 ranks, rank 0", given(2, 0)),
        case("one rank", given(1, 0)),
        case("8 ranks, rank 5", given(8, 5)),
        case("64 ranks, rank 17", given(64, 17)),
    ),
    mistakes=(
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
        mistake("no modulo", "There are numbers that no rank has. The ranks form a ring: who stands before rank 0?",
                "held = [first + direction * step for step in steps]",
                "held = [abs(first + direction * step) for step in steps]",
                "held = [max(first + direction * step, 0) for step in steps]"),
        mistake("modulo the wrong number", "The numbers come round too early or too late. After how many ranks does "
                "the ring begin again?", "size = max(world_size - 1, 1)", "size = world_size + 1"),
        mistake("the same list for every rank", "Each rank starts with a block of its own, but the list does not. "
                "Where does `rank` come in?", "first = 0", "held = list(steps)", "held = list(steps)[::-1]"),
        mistake("own first, the others in order", "Its own block comes first, but the others stand in the order of "
                "their numbers. Each block comes from the neighbour: which one did it hold a step ago?",
                "held = [rank, *(r for r in steps if r != rank)]"),
        mistake("the block never changes", "The same block is held at every step. What does a rotation do?",
                "direction = 0"),
        mistake("two ranks at a time", "The list jumps by two ranks at each step. How far does a block travel in one "
                "rotation?", "direction = -2"),
        mistake("another kind of list", "The numbers are right, but a list of Python ints is wanted. How do you make "
                "one?", "return torch.tensor(held)", "return [torch.tensor(r) for r in held]",
                "return [float(r) for r in held]"),
        mistake("one step instead of all", "This is a single number. There should be a list with an entry for each "
                "step.",
                "return held[-1]", "return held[0]"),
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
