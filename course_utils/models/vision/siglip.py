"""The sigmoid loss of two encoders: each pair is judged alone, as belonging together or not.

Source: Zhai et al. 2023, Sigmoid Loss for Language Image Pre-Training (SigLIP), Algorithm 1,
    https://arxiv.org/abs/2303.15343
Ours / theirs: images, texts = img_emb, txt_emb before l2_normalize;  log_scale, bias = t_prime, b
Differs: a row of zeros stays zeros, where dividing by its norm would give NaN
Same contract as: `F.binary_cross_entropy_with_logits` of all pairs, summed, over their number N
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from course_utils.models.vision._directions import direction
from course_utils.validation import check_float, check_same_dtype, check_shape


def siglip_loss(
    images: Float[Tensor, "B d"],
    texts: Float[Tensor, "B d"],
    log_scale: Float[Tensor, ""],
    bias: Float[Tensor, ""],
) -> Float[Tensor, ""]:
    """Return how badly pairs are told from strangers, in nats: a sum over B·B pairs, over B.

    Args:
        images: One vector for each pair, of any norm.
        texts: Its partners, in the same order.
        log_scale: Its exponential multiplies the cosines.
        bias: Is added to every logit; the paper begins at -10, since most pairs are strangers.
    """
    check_same_dtype("B d", images=images, texts=texts)
    check_shape(tuple(images.shape), texts=texts)
    if not len(images):
        raise ValueError("images and texts need at least one pair, got none")
    check_float(log_scale=log_scale, bias=bias)
    check_shape((), log_scale=log_scale, bias=bias)
    logits = log_scale.exp() * (direction(images) @ direction(texts).mT) + bias
    labels = 2 * torch.eye(len(images), dtype=images.dtype, device=images.device) - 1
    return -F.logsigmoid(labels * logits).sum() / len(images)
