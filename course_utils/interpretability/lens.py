"""Read the stream of a model at any layer as if it were the last.

Source: nostalgebraist 2020, interpreting GPT: the logit lens,
    https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru; what it misses: Belrose et al. 2023,
    Eliciting Latent Predictions from Transformers with the Tuned Lens,
    https://arxiv.org/abs/2303.08112
"""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from course_utils.validation import check_int, check_positive, check_same_dtype


def logit_lens(
    states: Float[Tensor, "*batch d"],
    gain: Float[Tensor, " d"],
    unembed: Float[Tensor, "V d"],
    token: int,
    eps: float,
) -> tuple[Int[Tensor, "*batch"], Float[Tensor, "*batch"]]:
    """Return where a token ranks in the model's last layer applied to these states.

    Args:
        states: The stream before the last norm, of any layers and positions.
        gain: The weight of the last RMSNorm.
        unembed: A row for each token of the vocabulary.
        token: The token, 0 … V - 1.
        eps: What the norm adds under its root.

    Returns:
        How many tokens have a strictly larger score, and the token's log-probability in nats.
    """
    check_same_dtype("... d", states=states, gain=gain, unembed=unembed)
    check_int(token=token)
    check_positive(eps=eps)
    d = states.shape[-1]
    if gain.shape != (d,) or unembed.dim() != 2 or unembed.shape[1] != d:
        raise ValueError(
            f"gain and unembed must have shapes ({d},) and (V, {d}), "
            f"got {tuple(gain.shape)} and {tuple(unembed.shape)}"
        )
    if not 0 <= token < len(unembed):
        raise ValueError(f"token must be in 0 … {len(unembed) - 1}, got {token}")
    logits = F.rms_norm(states, (d,), gain, eps) @ unembed.mT
    rank = (logits > logits[..., token, None]).sum(dim=-1)
    return rank, logits.log_softmax(dim=-1)[..., token]
