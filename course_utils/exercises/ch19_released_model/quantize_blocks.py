"""Exercise: TODO, in a few words."""

from course_utils.models import quantize_blocks
from course_utils.checking.exercise import case, exercise

RIGHT = """
def quantize_blocks(x, bits, block):
    if bits > 8:
        raise ValueError(f'bits must be at most 8, got {bits}')
    if not x.ndim or x.shape[-1] % block:
        raise ValueError(f'block must divide the last axis, got {block} and {tuple(x.shape)}')
    parts = x.unflatten(-1, (-1, block))
    low, high = (parts.amin(-1), parts.amax(-1))
    scale = (high - low) / (2 ** bits - 1)
    scale = torch.where(high > low, scale, 1.0)
    levels = ((parts - low.unsqueeze(-1)) / scale.unsqueeze(-1)).round()
    return (levels.clamp(0, 2 ** bits - 1).to(torch.uint8).flatten(-2), scale, low)
"""

EXERCISE = exercise(
    quantize_blocks,
    right=RIGHT,
    asks="TODO: the task, in one sentence.",
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        case("small", d=2),
        case("other sizes", d=3),
        case("float32", d=2, dtype="float32"),
    ),
    mistakes=(),
    hints=(
        "TODO: a nudge.",
    ),
)
