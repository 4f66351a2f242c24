"""Exercise: TODO, in a few words."""

from course_utils.checking.exercise import case, exercise
from course_utils.interpretability import direct_attribution

RIGHT = """
def direct_attribution(head_outputs, W_O, final_state, gain, direction, eps):
    if head_outputs.dim() != 4 or W_O.dim() != 4 or W_O.shape[:3] != head_outputs.shape[1:]:
        raise ValueError(f'head_outputs and W_O must have shapes (B, n, H, d_k) and (n, H, d_k, d), got {tuple(head_outputs.shape)} and {tuple(W_O.shape)}')
    batch, d = (len(head_outputs), W_O.shape[-1])
    written = torch.einsum('bnhk,nhkd->bnhd', head_outputs, W_O)
    size = (final_state.square().mean(dim=-1) + eps).sqrt()
    return torch.einsum('bnhd,bd->bnh', written * gain, direction) / size.view(-1, 1, 1)
"""

EXERCISE = exercise(
    direct_attribution,
    right=RIGHT,
    asks="TODO: the task, in one sentence.",
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        case("small", B=2, n=3, H=4, d_k=5, d=6),
        case("other sizes", B=3, n=4, H=5, d_k=6, d=7),
        case("float32", B=2, n=3, H=4, d_k=5, d=6, dtype="float32"),
    ),
    mistakes=(),
    hints=(
        "TODO: a nudge.",
    ),
)
