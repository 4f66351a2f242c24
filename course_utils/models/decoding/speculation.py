"""Speculative decoding, one round: which drafted tokens are kept, and the one that follows them.

Source: Leviathan et al. 2023, Fast Inference from Transformers via Speculative Decoding, section
    2.3 and algorithm 1, https://arxiv.org/abs/2211.17192; Chen et al. 2023, Accelerating Large
    Language Model Decoding with Speculative Sampling, algorithm 2, https://arxiv.org/abs/2302.01318
Ours / theirs: draft_probs = q;  target_probs = p;  uniforms = r;  num_accepted = n
Differs: a token is accepted while r < p/q, not <=, so that one of probability 0 never is.
Same contract as: drawing every token from the target, in distribution
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.models.tokens import check_known
from course_utils.validation import check_float, check_integers, check_shape


@torch.no_grad()
def speculative_accept(
    draft_tokens: Int[Tensor, " K"],
    draft_probs: Float[Tensor, "K V"],
    target_probs: Float[Tensor, "K_plus_1 V"],
    uniforms: Float[Tensor, " K_plus_1"],
) -> tuple[int, int]:
    """Return how many of the drafted tokens are kept, and the token that follows them.

    Token t stays while uniforms[t] < p_t / q_t. After the first that does not, one is drawn from
    what the target gives more than the draft, max(0, p - q); after all of them, from the target.

    Args:
        draft_tokens: What the draft proposes; none is allowed.
        draft_probs: The probabilities it drew each from.
        target_probs: Those of the target at the same positions, and at the next one.
        uniforms: Numbers from 0 up to 1, one for each decision and the last for the draw.
    """
    check_integers("K", draft_tokens=draft_tokens)
    check_float("K V", draft_probs=draft_probs)
    check_float("K+1 V", target_probs=target_probs)
    count, size = len(draft_tokens), draft_probs.shape[1]
    check_shape((count, size), draft_probs=draft_probs)
    check_shape((count + 1, size), target_probs=target_probs)
    check_float("K+1", uniforms=uniforms)
    check_shape((count + 1,), uniforms=uniforms)
    check_known(size, draft_tokens=draft_tokens)
    proposed = draft_tokens.long().unsqueeze(-1)
    p, q = (one[:count].gather(1, proposed).squeeze(1) for one in (target_probs, draft_probs))
    stays = uniforms[:count] * q < p
    accepted = int(stays.long().cumprod(0).sum())
    rest = target_probs[accepted]
    if accepted < count:
        above = (rest - draft_probs[accepted]).clamp_min(0)
        rest = above if above.any() else rest  # p and q may differ by rounding alone
    heights = rest.cumsum(0)
    return accepted, int((heights > uniforms[-1] * heights[-1]).long().argmax())
