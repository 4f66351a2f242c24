"""Exercise: the place in a streaming cache of each key, for each query."""

from typing import Any

from course_utils.attention import streaming_positions
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import NOTHING
from torch import Tensor

RIGHT = """
def streaming_positions(num_tokens, window, num_sinks):
    tokens = torch.arange(num_tokens)
    j = tokens.unsqueeze(0)
    i = tokens.unsqueeze(1)
    past = j <= i
    is_sink = j < num_sinks
    is_near = j > i - window
    held = past & (is_sink | is_near)
    counted = held.long().cumsum(1)
    place = counted - 1
    absent = -1
    places = place.masked_fill(~held, absent)
    result = places
    return result
"""
_BY_PLACE = """
def streaming_positions(num_tokens, window, num_sinks):
    result = torch.full((num_tokens, num_sinks + window), -1)
    for i in range(num_tokens):
        keys = [j for j in range(i + 1) if j < num_sinks or j > i - window]
        result[i, : len(keys)] = torch.tensor(keys)
    return result
"""


def _right_keys(args: tuple[Any, ...], got: Tensor) -> bool:
    return bool(((got >= 0) == (streaming_positions(*args) >= 0)).all())


def _other_keys(args: tuple[Any, ...], got: Tensor) -> bool:
    return bool(((got >= 0) != (streaming_positions(*args) >= 0)).any())


EXERCISE = exercise(
    streaming_positions,
    right=RIGHT,
    asks="Say where in a cache of sinks and a window each key is when a query has just been appended.",
    minutes=12,
    difficulty=3,
    importance=3,
    cases=(
        case("9 tokens, a window of 3, 2 sinks", given(9, 3, 2)),
        case("8 tokens, a window of 3, no sinks", given(8, 3, 0)),
        case("10 tokens, a window of 2, 4 sinks", given(10, 2, 4)),
        case("a window of one, one sink", given(6, 1, 1)),
        case("a window of one, no sinks", given(5, 1, 0)),
        case("a window as long as the text", given(6, 6, 2)),
        case("a window longer than the text", given(5, 9, 1)),
        case("more sinks than tokens", given(4, 2, 7)),
        case("12 tokens, a window of 5, 3 sinks", given(12, 5, 3)),
        case("one token", given(1, 4, 2)),
        case("one token, no sinks", given(1, 1, 0)),
        case("60 tokens, a window of 8, 4 sinks", given(60, 8, 4)),
    ),
    mistakes=(
        NOTHING,
        mistake("the newest key keeps its position in the text",
                "The query's own key has its position in the text; the "
                "others have places in the cache. What is then the distance between this key and the one before it?",
                "place = torch.where(j == i, i, counted - 1)"),
        mistake("positions of the text kept", "The entries are positions in the text. They grow without end, and RoPE "
                "was not trained there. Where in the cache is the key, counted from 0?",
                "place = j.expand(held.shape)"),
        mistake("the window closes the gap too early", "Places in the window are numbered as if every sink were held "
                "already, or anew from the window's start. How many keys stand before this one in the cache?",
                "start = (i - window + 1).clamp(min=num_sinks) if num_sinks else i - window + 1\n"
                "place = torch.where(is_sink, j, num_sinks + j - start)",
                "place = torch.where(is_sink, j, j - (i - window + 1).clamp(min=num_sinks))",
                "place = torch.where(is_sink, j, num_sinks + j - (i - window + 1))",
                "place = torch.where(is_near, j - (i - window + 1).clamp(min=0), j)",
                "place = torch.where(is_sink, j, j - (i - window + 1).clamp(min=0))"),
        mistake("sinks inside the window counted twice", "While sinks are still among the last `window` keys, they are "
                "counted both as sinks and as keys of the window. None is held twice.",
                "start = (i - window + 1).clamp(min=0)\n"
                "place = torch.where(is_near, (i + 1).clamp(max=num_sinks) + j - start, j)",
                "counted = (past & is_sink).long().cumsum(1) + (past & is_near).long().cumsum(1)",
                "start = (i - window + 1).clamp(min=0)\n"
                "place = torch.where(is_sink, j, (i + 1).clamp(max=num_sinks) + j - start)"),
        mistake("sinks counted in the window", "Too few of the last keys are held. The sinks are held in addition to "
                "the last `window`.", "is_near = j > i - max(window - num_sinks, 1)",
                "is_near = j > i - (window - num_sinks)"),
        mistake("no sinks", "The first keys are gone. They are held for good.", "is_sink = j < 0",
                "held = past & (j > i - window - num_sinks)", "is_sink = (j < num_sinks) & (i < window + num_sinks)"),
        mistake("only the sinks", "Only the first keys are held. What does a query see of its neighbours?",
                "is_near = j == i", "is_near = j < 0"),
        mistake("nothing forgotten", "Every key is still held. Which ones leave?", "held = past", "is_near = j >= 0"),
        mistake("the window one too short", "One of the last keys is missing. The query's own key is one of the last "
                "`window`.", "is_near = j > i - window + 1", "past = j < i", "is_near = (j < i) & (j >= i - window)",
                "past = j < i\nis_near = j >= i - window"),
        mistake("the window one too long", "One key too many is held. How many keys are there from i - window to i?",
                "is_near = j >= i - window"),
        mistake("one sink too many, or too few", "The number of sinks is off by one. Which keys have a number below "
                "num_sinks?", "is_sink = j <= num_sinks", "is_sink = j < num_sinks - 1",
                "is_sink = (j < num_sinks) & (j > 0)"),
        mistake("the future held", "Keys that come after the query have places. When does a key enter the cache?",
                "past = j >= 0", "held = (past & is_near) | is_sink"),
        mistake("both conditions at once", "Only keys that are sinks and near are held. Which of the two is enough?",
                "held = past & is_sink & is_near"),
        mistake("window and sinks exchanged", "As many first keys are held as last ones should be. Which argument is "
                "the window?", "is_sink = j < window\nis_near = j > i - num_sinks"),
        mistake("0 for absent", "A key that is not held has the place 0, as the first one has. What marks it?",
                "absent = 0", "places = place * held", "places = place.clamp(min=0) * held"),
        mistake("absent keys counted", "A key that is not held has a place of its own. What marks it?",
                "places = place"),
        mistake("places counted from one", "Each place is one too large: where does the first key stand?",
                "place = counted"),
        mistake("distances instead of places", "The entries are distances, from the query or from the newest key. "
                "Places count from the first key that is held.", "place = i - j",
                "place = counted[:, -1:] - counted"),
        mistake("places in slots", "The entries are slots of a ring that is written over. Places follow the order of "
                "the text.", "place = torch.where(is_sink, j, num_sinks + (j - num_sinks) % window)",
                "place = j % (window + num_sinks)"),
        mistake("the two axes exchanged", "There is a column for each query. Entry [i, j] is about query i.",
                "result = places.mT"),
        mistake("the row of the last query alone", "One row came back. There should be one for each query.",
                "result = places[-1]"),
        mistake("not a table of long", "The places are right, but a tensor of dtype long is asked for.",
                "result = places.tolist()", "result = places.float()", "result = places.int()",
                "result = places.double()",
                "result = tuple(places)", "result = list(places)"),
        mistake("keys by place", "The columns are places, and the entries the keys that stand there. Which of the two "
                "is asked for in [i, j]?", _BY_PLACE),
        mistake("which are held instead of where", "The entries say whether a key is held, not at which place.",
                "result = held", "result = held.long()", "result = held.long() * 2 - 1"),
        mistake("other places", "The right keys are held, at other places. How many held keys stand before this one in "
                "its row?", matches=_right_keys),
        mistake("other keys", "Other keys are held than should be. Which are there after query i: the first num_sinks, "
                "and which of the last?", matches=_other_keys),
    ),
    hints=(
        "Take a window of 3 and 2 sinks, and write down what the cache holds after token 6: in which order?",
        "First a table of which key is held for which query: two conditions, one of which is enough, and never a key "
        "of the future.",
        "The place of a held key is the number of held keys before it in its row: a running sum along the keys says "
        "it.",
    ),
)
