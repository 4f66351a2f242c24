"""Exercise: TODO, in a few words."""

from course_utils.measure import windowed_loss
from course_utils.checking.exercise import case, exercise

RIGHT = """
def windowed_loss(model, tokens, window, stride):
    if len(tokens) < 2:
        raise ValueError(f'tokens must hold two tokens at least, got {len(tokens)}')
    total, judged = (0.0, 1)
    for start in range(0, len(tokens), stride):
        part = tokens[start:start + window]
        new = start + len(part) - judged
        logits = model(part.unsqueeze(0))[0, -1 - new:-1]
        total += cross_entropy(logits.double(), part[-new:], reduction='sum').item()
        judged = start + len(part)
        if judged == len(tokens):
            break
    return total / (len(tokens) - 1)
"""

EXERCISE = exercise(
    windowed_loss,
    right=RIGHT,
    asks="TODO: the task, in one sentence.",
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        case("small", T=2, V=3, N=4),
        case("other sizes", T=3, V=4, N=5),
        case("float32", T=2, V=3, N=4, dtype="float32"),
    ),
    mistakes=(),
    hints=(
        "TODO: a nudge.",
    ),
)
