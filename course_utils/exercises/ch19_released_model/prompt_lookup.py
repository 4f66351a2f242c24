"""Exercise: TODO, in a few words."""

from course_utils.models import prompt_lookup
from course_utils.checking.exercise import case, exercise

RIGHT = """
def prompt_lookup(tokens, shortest, longest, num_draft):
    if not len(tokens):
        raise ValueError('tokens must hold one token at least, got none')
    for length in range(min(longest, len(tokens) - 1), shortest - 1, -1):
        places = tokens.unfold(0, length, 1)[:-1]
        found = (places == tokens[-length:]).all(-1).nonzero()
        if len(found):
            after = int(found[0]) + length
            return tokens[after:after + num_draft].tolist()
    return []
"""

EXERCISE = exercise(
    prompt_lookup,
    right=RIGHT,
    asks="TODO: the task, in one sentence.",
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        case("small", L=2),
        case("other sizes", L=3),
        case("float32", L=2, dtype="float32"),
    ),
    mistakes=(),
    hints=(
        "TODO: a nudge.",
    ),
)
