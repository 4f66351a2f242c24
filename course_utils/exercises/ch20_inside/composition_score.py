"""Exercise: TODO, in a few words."""

from course_utils.checking.exercise import case, exercise
from course_utils.interpretability import composition_score

RIGHT = """
def composition_score(W_V, W_O, W_in, W_other):
    (d, d_v), d_k = (W_V.shape, W_in.shape[1])
    wanted = {'W_O': (W_O, (d_v, d)), 'W_in': (W_in, (d, d_k)), 'W_other': (W_other, (d, d_k))}
    for name, (matrix, shape) in wanted.items():
        if matrix.shape != shape:
            raise ValueError(f'{name} must have shape {shape}, got {tuple(matrix.shape)}')
    writes, reads = (W_V @ W_O, W_in @ W_other.mT)
    size = (writes.norm() * reads.norm()).item()
    return (writes @ reads).norm().item() / size if size else 0.0
"""

EXERCISE = exercise(
    composition_score,
    right=RIGHT,
    asks="TODO: the task, in one sentence.",
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        case("small", d=2, d_v=3, d_k=4),
        case("other sizes", d=3, d_v=4, d_k=5),
        case("float32", d=2, d_v=3, d_k=4, dtype="float32"),
    ),
    mistakes=(),
    hints=(
        "TODO: a nudge.",
    ),
)
