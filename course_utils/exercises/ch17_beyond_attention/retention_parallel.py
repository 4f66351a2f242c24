"""Exercise: retention from one table of scores."""

import torch
from course_utils.attention import retention_parallel
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import batch_mixed, cut_off, other_kinds, overwritten, squeezed, writing
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.states import COMPARED, FADING, SCALED
from torch import Tensor

RIGHT = """
def retention_parallel(query, key, value, decay):
    default = 1 / math.sqrt(query.shape[-1])
    place = torch.arange(query.shape[-2])
    rate = decay[:, None, None]
    ages = place.unsqueeze(-1) - place
    powers = rate ** ages.clamp(min=0)
    faded = powers.tril()
    products = query @ key.mT
    weights = products * default * faded
    out = weights @ value
    return out
"""


def decays(g: torch.Generator, heads: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Draw what each head keeps, from 0.4 to 1."""
    return (0.4 + 0.6 * torch.rand(heads, generator=g, dtype=torch.float64)).to(dtype)


def one_head(length: int, decay: float, dtype: torch.dtype = torch.float64) -> Make:
    """Return a maker of a long sequence for one head of this decay."""
    return lambda g: (*(normal(g, 1, 1, length, width, dtype=dtype) for width in (2, 2, 3)),
                      torch.tensor([decay], dtype=dtype))


_STEP_BY_STEP = """
def retention_parallel(query, key, value, decay):
    rows, state = [], query.new_zeros(*query.shape[:2], query.shape[3], value.shape[3])
    for t in range(query.shape[2]):
        state = decay[:, None, None] * state.detach() + key[:, :, t, :, None] * value[:, :, t, None]
        rows.append((query[:, :, t, None] @ state).squeeze(-2) / math.sqrt(query.shape[-1]))
    return torch.stack(rows, 2)
"""

EXERCISE = exercise(
    retention_parallel,
    right=RIGHT,
    asks="Weigh each past value by its score and by how far it has faded.",
    minutes=8,
    difficulty=2,
    importance=4,
    cases=(
        case("a batch of 5 tokens, three heads", B=2, H=3, L=5, d_k=4, d_v=6, decay=lambda g: decays(g, 3),
             gradient="equal"),
        case("every size 3", B=3, H=3, L=3, d_k=3, d_v=3, decay=lambda g: decays(g, 3), gradient="equal"),
        case("one token: nothing has faded", B=2, H=3, L=1, d_k=4, d_v=5, decay=lambda g: decays(g, 3)),
        case("width 1", B=2, H=1, L=4, d_k=1, d_v=1, decay=lambda g: decays(g, 1)),
        case("a decay of 1", B=2, H=2, L=6, d_k=3, d_v=4,
             decay=lambda g: torch.tensor([1.0, 0.5], dtype=torch.float64)),
        case("non-contiguous inputs", B=2, H=4, L=6, d_k=3, d_v=5, decay=lambda g: decays(g, 4), strided=True),
        case("large scores", B=2, H=2, L=5, d_k=3, d_v=4, decay=lambda g: decays(g, 2), size=30.0),
        case("60 tokens in float32, decay 0.1", one_head(60, 0.1, torch.float32), tolerance=1e-4, gradient="finite"),
        case("60 tokens, decay 0.000001", one_head(60, 1e-6), gradient="equal"),
        case("bfloat16", B=2, H=3, L=4, d_k=5, d_v=3, dtype="bfloat16", tolerance=1.0,
             decay=lambda g: decays(g, 3, torch.bfloat16)),
    ),
    mistakes=(
        *FADING,
        *SCALED,
        *COMPARED,
        mistake("the values not used", "These are the weights. What do they weigh?", "out = weights",
                "out = weights @ key"),
        mistake("weights transposed", "The values were added up along the wrong axis of the weights. Which axis of "
                "the weights meets the keys of the values?", "out = weights.mT @ value"),
        mistake("a norm on the output", "The output was normalised, as RetNet does behind its heads. That is a layer "
                "of its own: what did the exercise ask for?", "out = F.layer_norm(weights @ value, value.shape[-1:])",
                "out = F.rms_norm(weights @ value, value.shape[-1:])", "out = F.normalize(weights @ value, dim=-1)",
                "joined = (weights @ value).transpose(1, 2).flatten(2)\n"
                "out = F.group_norm(joined.flatten(0, 1), len(decay)).view(*joined.shape[:2], len(decay), -1)"
                ".transpose(1, 2)"),
        mistake("heads and positions exchanged", "The result has the positions before the heads. Which of them comes "
                "first in (B, H, L, d_v)?", "return out.transpose(1, 2)", "return out.transpose(1, 2).flatten(2)"),
        batch_mixed("products = query[:1] @ key.mT", "products = query @ key[:1].mT"),
        cut_off("rate = decay.detach()[:, None, None]", "products = query.detach() @ key.mT",
                "products = query @ key.detach().mT", "out = weights @ value.detach()",
                "out = (weights @ value).detach()"),
        mistake("the past cut off from the gradient", "The values are right, but each token learns from its own step "
                "alone: the state that it starts from counts as a constant. Which line detaches it?", _STEP_BY_STEP),
        squeezed("return out{}"),
        overwritten(*writing(retention_parallel, 0, 1, 2, 3)),
        *other_kinds("out", "weights"),
        lower_precision(retention_parallel, "out = (weights.float() @ value.float()).to(value.dtype)"),
    ),
    hints=(
        "Start from causal attention without its softmax: a table of scaled scores, zeros above the diagonal, times "
        "the values. What does each entry lack?",
        "Entry (n, m) is multiplied by decay to the power n - m. The table of exponents is a column of positions less "
        "a row of them.",
        "Each head has its own decay: give it two more axes after it, so that it meets (L, L).",
        "Above the diagonal the exponent is negative and the power can overflow. Let the exponent be 0 there before "
        "the power is taken, and strike the entries out afterwards.",
    ),
)
