"""Exercise: TODO, in a few words."""

from course_utils.checking.exercise import case, exercise
from course_utils.interpretability import copying_score

RIGHT = """
def copying_score(source, W_V, W_O, unembed):
    (num_tokens, d), d_v = (source.shape, W_V.shape[1])
    wanted = {'W_V': (W_V, (d, d_v)), 'W_O': (W_O, (d_v, d)), 'unembed': (unembed, (num_tokens, d))}
    for name, (matrix, shape) in wanted.items():
        if matrix.shape != shape:
            raise ValueError(f'{name} must have shape {shape}, got {tuple(matrix.shape)}')
    if not num_tokens:
        raise ValueError(f'source must hold a token, got shape {tuple(source.shape)}')
    read = (source - source.mean(dim=0)) @ W_V
    written = W_O @ (unembed - unembed.mean(dim=0)).mT
    values = torch.linalg.eigvals(written @ read)
    size = values.abs().sum().item()
    return values.real.sum().item() / size if size else 0.0
"""

EXERCISE = exercise(
    copying_score,
    right=RIGHT,
    asks="TODO: the task, in one sentence.",
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        case("small", N=2, d=3, d_v=4),
        case("other sizes", N=3, d=4, d_v=5),
        case("float32", N=2, d=3, d_v=4, dtype="float32"),
    ),
    mistakes=(),
    hints=(
        "TODO: a nudge.",
    ),
)
