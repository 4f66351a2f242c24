"""Exercise: TODO, in a few words."""

from course_utils.checking.exercise import case, exercise
from course_utils.interpretability import logit_lens

RIGHT = """
def logit_lens(states, gain, unembed, token, eps):
    d = states.shape[-1]
    if gain.shape != (d,) or unembed.dim() != 2 or unembed.shape[1] != d:
        raise ValueError(f'gain and unembed must have shapes ({d},) and (V, {d}), got {tuple(gain.shape)} and {tuple(unembed.shape)}')
    if not 0 <= token < len(unembed):
        raise ValueError(f'token must be in 0 … {len(unembed) - 1}, got {token}')
    logits = F.rms_norm(states, (d,), gain, eps) @ unembed.mT
    rank = (logits > logits[..., token, None]).sum(dim=-1)
    return (rank, logits.log_softmax(dim=-1)[..., token])
"""

EXERCISE = exercise(
    logit_lens,
    right=RIGHT,
    asks="TODO: the task, in one sentence.",
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        case("small", d=2, V=3),
        case("other sizes", d=3, V=4),
        case("float32", d=2, V=3, dtype="float32"),
    ),
    mistakes=(),
    hints=(
        "TODO: a nudge.",
    ),
)
