"""Exercise: TODO, in a few words."""

from course_utils.checking.exercise import case, exercise
from course_utils.interpretability import without_key

RIGHT = """
def without_key(weights, key):
    if not 0 <= key < weights.shape[-1]:
        raise ValueError(f'key must be in 0 … {weights.shape[-1] - 1}, got {key}')
    others = torch.arange(weights.shape[-1], device=weights.device) != key
    kept = weights * others
    left = kept.sum(dim=-1, keepdim=True)
    return kept / torch.where(left > 0, left, 1.0)
"""

EXERCISE = exercise(
    without_key,
    right=RIGHT,
    asks="TODO: the task, in one sentence.",
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        case("small", L=2, S=3),
        case("other sizes", L=3, S=4),
        case("float32", L=2, S=3, dtype="float32"),
    ),
    mistakes=(),
    hints=(
        "TODO: a nudge.",
    ),
)
