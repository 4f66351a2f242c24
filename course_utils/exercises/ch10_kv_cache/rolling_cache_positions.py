"""Exercise: which positions a cache with a window and sinks still holds."""

from typing import Any

from course_utils.attention import rolling_cache_positions
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import NOTHING

RIGHT = """
def rolling_cache_positions(num_seen, window, num_sinks):
    num_kept = min(num_sinks, num_seen)
    first = max(num_kept, num_seen - window)
    last = num_seen
    sinks = list(range(num_kept))
    newest = list(range(first, last))
    held = sinks + newest
    return held
"""


def _accepting(fn: Function, *numbers: int) -> Any:
    """Call it with numbers that a careful answer might refuse; give all refusals the same words."""
    try:
        return fn(*numbers)
    except (ValueError, AssertionError) as error:
        raise ValueError("a window or a number of sinks larger than the text was refused") from error


def _larger(name: str, num_seen: int, window: int, num_sinks: int) -> Case:
    """Make a case in which a number exceeds the text."""
    return case(name, given(num_seen, window, num_sinks), run=_accepting)


EXERCISE = exercise(
    rolling_cache_positions,
    right=RIGHT,
    asks="List the positions that are kept: the first `num_sinks` and the last `window`.",
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        case("20 seen, a window of 6, 2 sinks", given(20, 6, 2)),
        case("20 seen, a window of 7, no sinks", given(20, 7, 0)),
        case("17 seen, a window of 3, 5 sinks", given(17, 3, 5)),
        case("a window that begins right after the sinks", given(9, 6, 3)),
        case("a window that reaches into the sinks", given(8, 6, 3)),
        case("a window that reaches over the sinks", given(7, 6, 3)),
        case("one position between sinks and window", given(10, 6, 3)),
        _larger("a window longer than the text", 4, 9, 2),
        case("a window as long as the text", given(6, 6, 2)),
        _larger("a window longer than the text, no sinks", 4, 9, 0),
        _larger("more sinks than tokens", 3, 2, 8),
        _larger("more sinks than tokens, and a longer window", 3, 7, 5),
        _larger("nothing seen yet", 0, 4, 2),
        _larger("one token", 1, 4, 2),
        case("no window", given(10, 0, 3)),
        case("neither window nor sinks", given(5, 0, 0)),
        case("a window of one", given(9, 1, 2)),
        case("a window of one, no sinks", given(9, 1, 0)),
        case("a window of one, one token, one sink", given(1, 1, 1)),
        case("300 seen, a window of 12, 4 sinks", given(300, 12, 4)),
    ),
    mistakes=(
        mistake("positions listed twice", "A position is in the list twice: it is a sink and in the window too. A key "
                "that is attended to twice gets twice the weight. Where may the window begin at the earliest?",
                "first = max(0, num_seen - window)",
                "first = num_seen - min(window, num_seen)\nsinks = [] if not first else list(range(num_kept))"),
        mistake("more sinks than tokens", "The list holds positions that were not seen yet: there are fewer tokens "
                "than sinks. What bounds the number of sinks?", "num_kept = num_sinks"),
        mistake("positions below zero", "The list holds negative positions: the window is longer than the text. Where "
                "does the text begin?", "held = sorted({*sinks, *range(num_seen - window, num_seen)})"),
        mistake("no sinks", "The first tokens are gone. They are kept permanently: much weight goes to them, whatever "
                "they contain.", "num_kept = 0"),
        mistake("only the sinks", "Only the first tokens are there. What does the newest token read of its neighbours?",
                "held = sinks", "held = list(range(min(window, num_seen)))"),
        mistake("a window of 0 keeps everything", "With a window of 0, more is held than the sinks. From where does a "
                "slice that begins at -0 go?", "newest = list(range(num_kept, num_seen))[-window:]",
                "newest = [p for p in list(range(num_seen))[-window:] if p >= num_kept]"),
        mistake("a window of at least 1", "With a window of 0, the newest position is held all the same. How many "
                "are the last 0?", "first = max(num_kept, num_seen - max(window, 1))"),
        mistake("large numbers refused", "A window or a number of sinks larger than the text ended in an error. Both "
                "may be larger. What is held then?",
                "if window > num_seen or num_sinks > num_seen:\n    raise ValueError\nlast = num_seen",
                "if window > num_seen:\n    raise ValueError\nlast = num_seen",
                "if num_sinks > num_seen:\n    raise ValueError\nlast = num_seen",
                "if window + num_sinks > num_seen and not num_sinks <= window <= num_seen:\n    raise ValueError\n"
                "last = num_seen"),
        mistake("no sinks in a short text", "Where there are no more tokens than sinks, only the window is held. The "
                "first tokens are sinks from the start.",
                "first = max(num_kept if num_sinks < num_seen else 0, num_seen - window)\n"
                "sinks = list(range(num_kept)) if num_sinks < num_seen else []"),
        mistake("position 0 lost", "Position 0 is never held. Where do positions begin?",
                "return [p for p in held if p]"),
        mistake("nothing forgotten", "Every position is still there: this cache grows with the text. What leaves it?",
                "first = num_kept"),
        mistake("sinks counted in the window", "The window is too short by the number of sinks. The sinks are kept in "
                "addition to the last `window` positions.",
                "first = max(num_kept, num_seen - max(window - num_sinks, 0))",
                "sinks = list(range(num_sinks))\nfirst = max(num_sinks, num_seen - window + num_sinks)"),
        mistake("the window one too short", "The window holds one position too few. The newest position is one of the "
                "last `window`.", "first = max(num_kept, num_seen - window + 1)",
                "num_seen = num_seen - 1\nnum_kept = min(num_sinks, num_seen)",
                "num_seen = num_seen - 1\nwindow = window - 1\nnum_kept = min(num_sinks, num_seen)"),
        mistake("the window one too long", "The window holds one position too many. How many numbers are there from n "
                "- window to n - 1?", "first = max(num_kept, num_seen - window - 1)"),
        mistake("the window longer by the sinks", "The window is too long by the number of sinks: both together hold "
                "`num_sinks + window`.", "first = max(num_kept, num_seen - window - num_sinks)"),
        mistake("both conditions at once", "Only positions that are sinks and in the window at once. Which of the two "
                "conditions is enough?",
                "held = [p for p in range(num_seen) if p < num_sinks and p >= num_seen - window]"),
        mistake("a position that is still to come", "The list holds position `num_seen`. Positions count from 0: what "
                "is the last one seen?", "num_seen = num_seen + 1\nnum_kept = min(num_sinks, num_seen)",
                "num_seen = num_seen + 1\nwindow = window + 1\nnum_kept = min(num_sinks, num_seen)"),
        mistake("positions counted from one", "Each position is one too large: what is the number of the first token?",
                "return [p + 1 for p in held]"),
        mistake("one sink too many, or too few", "The number of sinks is off by one: they are the positions 0 to "
                "num_sinks - 1.", "num_kept = min(num_sinks + 1, num_seen)",
                "num_kept = min(max(num_sinks - 1, 0), num_seen)", "num_kept = min(max(num_sinks, 1), num_seen)",
                "num_kept = min(num_sinks + 1, num_seen)\nheld = [p for p in sinks + newest if p or not num_sinks]"),
        mistake("window and sinks exchanged", "As many first positions are kept as last ones should be. Which argument "
                "is the window?", "window, num_sinks = num_sinks, window\nnum_kept = min(num_sinks, num_seen)"),
        mistake("the first of the window taken for sinks", "The oldest positions that are left are where the sinks "
                "should be. Sinks are the first of the text, and never leave.",
                "held = list(range(max(0, num_seen - window - num_sinks), num_seen))"),
        mistake("numbered anew inside the cache", "These are the first positions of the text, or the places inside the "
                "cache. Return where in the text the tokens were that are kept now.",
                "return list(range(len(held)))"),
        mistake("in the order of the slots", "The right positions in the order in which a ring of slots holds them. "
                "They must ascend.",
                "turned = (num_seen - num_sinks) % window if num_seen > num_sinks + window else 0\n"
                "held = sinks + newest[len(newest) - turned :] + newest[: len(newest) - turned]",
                "held = newest + sinks"),
        mistake("descending", "The right positions from the last to the first. They must ascend.", "return held[::-1]"),
        mistake("nothing kept until the cache is full", "A text shorter than the cache is kept whole. Which positions "
                "does it have?", "held = sinks + newest if num_seen >= window + num_sinks else []",
                "held = sinks + newest if num_seen > window else []",
                "held = sinks + newest if num_seen > window else sinks"),
        mistake("every few positions", "The positions are spread over the text. A rolling cache keeps the newest "
                "ones, side by side.", "held = [p for p in range(num_seen) if p < num_sinks or p % window == 0]"),
        mistake("positions that left", "These are the positions that are gone. Return those that are kept.",
                "return [p for p in range(num_seen) if p not in held]"),
        mistake("how many instead of which", "This is how many positions are kept. Return which ones.",
                "return len(held)"),
        mistake("another kind of list", "The positions are right, but they must be a list of Python ints. What "
                "converts them?", "return torch.tensor(held)", "return torch.tensor(held, dtype=torch.long)",
                "return [[p] for p in held]", "return str(held)", "return set(held)", "return [float(p) for p in held]",
                "return [torch.tensor(p) for p in held]",
                "return range(held[0], held[-1] + 1) if held else range(0)"),
        mistake("sinks and window apart", "Sinks and window came as two lists. Return one.",
                "return sinks, newest", "return [sinks, newest]"),
        mistake("a yes or no for each position", "This says of every position whether it is held. Return the numbers "
                "of those that are.", "return [p in held for p in range(num_seen)]",
                "return [int(p in held) for p in range(num_seen)]",
                "return torch.tensor([p in held for p in range(num_seen)])"),
        NOTHING,
    ),
    hints=(
        "Write the positions 0 to 8 in a row and mark the first 3 and the last 6. What changes with one token less?",
        "Two ranges, one after the other. The second must not begin inside the first, nor before the text.",
        "The sinks end at the smaller of `num_sinks` and `num_seen`. The window would begin at `num_seen - window`; it "
        "begins where the sinks end, if that is later.",
    ),
)
