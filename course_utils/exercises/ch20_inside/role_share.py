"""Exercise: TODO, in a few words."""

from course_utils.checking.exercise import case, exercise
from course_utils.interpretability import role_share

RIGHT = """
def role_share(weights, chosen):
    length = weights.shape[-1]
    if weights.shape[-2] != length or chosen.shape != (length, length):
        raise ValueError(f'weights must be square in the last two axes, and chosen of their size, got {tuple(weights.shape)} and {tuple(chosen.shape)}')
    seen = chosen.tril()
    counted = seen.any(dim=-1)
    if not counted.any():
        return (weights.new_zeros(weights.shape[:-2]), 0.0)
    share = (weights * seen).sum(dim=-1)[..., counted].mean(dim=-1)
    equal = seen.sum(dim=-1) / torch.arange(1, length + 1, device=seen.device)
    return (share, equal[counted].double().mean().item())
"""

EXERCISE = exercise(
    role_share,
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
