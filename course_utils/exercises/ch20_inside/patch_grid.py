"""Exercise: TODO, in a few words."""

from course_utils.checking.exercise import case, exercise
from course_utils.interpretability import patch_grid

RIGHT = """
def patch_grid(run, clean, corrupt):
    if clean.shape != corrupt.shape:
        raise ValueError(f'clean and corrupt must be equally long, got {len(clean)} and {len(corrupt)} tokens')
    (best, states), (worst, _) = (_ran(run, clean), _ran(run, corrupt))
    grid = states.new_zeros(states.shape[:2])
    if best == worst:
        return grid
    for layer in range(states.shape[0]):
        for position in range(states.shape[1]):
            value, _ = run(corrupt, layer=layer, position=position, state=states[layer, position])
            grid[layer, position] = (value - worst) / (best - worst)
    return grid
"""

EXERCISE = exercise(
    patch_grid,
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
