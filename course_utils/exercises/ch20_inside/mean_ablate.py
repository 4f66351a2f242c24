"""Exercise: TODO, in a few words."""

from course_utils.checking.exercise import case, exercise
from course_utils.interpretability import mean_ablate

RIGHT = """
def mean_ablate(outputs, heads, reference):
    num_heads, d = (outputs.shape[1], outputs.shape[3])
    if (reference.shape[1], reference.shape[3]) != (num_heads, d):
        raise ValueError(f'reference must have {num_heads} heads of width {d}, got shape {tuple(reference.shape)}')
    if not reference.shape[0] * reference.shape[2]:
        raise ValueError(f'reference must hold a token, got shape {tuple(reference.shape)}')
    if (wrong := [head for head in heads if not 0 <= head < num_heads]):
        raise ValueError(f'heads must be in 0 … {num_heads - 1}, got {wrong[0]}')
    ablated = outputs.clone()
    listed = sorted(set(heads))
    ablated[:, listed] = reference.mean(dim=(0, 2))[listed].unsqueeze(1)
    return ablated
"""

EXERCISE = exercise(
    mean_ablate,
    right=RIGHT,
    asks="TODO: the task, in one sentence.",
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        case("small", B=2, H=3, L=4, d=5, N=6, M=7),
        case("other sizes", B=3, H=4, L=5, d=6, N=7, M=8),
        case("float32", B=2, H=3, L=4, d=5, N=6, M=7, dtype="float32"),
    ),
    mistakes=(),
    hints=(
        "TODO: a nudge.",
    ),
)
