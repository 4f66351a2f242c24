"""Split the difference of two tokens' scores into what each head wrote.

Source: direct logit attribution: Elhage et al. 2021, A Mathematical Framework for Transformer
    Circuits, https://transformer-circuits.pub/2021/framework; with a frozen norm as in Wang et al.
    2022, https://arxiv.org/abs/2211.00593
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_positive, check_same_dtype, check_shape


@torch.no_grad()
def direct_attribution(
    head_outputs: Float[Tensor, "B n H d_k"],
    W_O: Float[Tensor, "n H d_k d"],
    final_state: Float[Tensor, "B d"],
    gain: Float[Tensor, " d"],
    direction: Float[Tensor, "B d"],
    eps: float,
) -> Float[Tensor, "B n H"]:
    """Return each head's direct part of a difference of scores.

    With the embedding and the feed-forward layers under the same norm, the parts sum to it.

    Args:
        head_outputs: Weights times values of each layer's heads, at the last position.
        W_O: Each head's output matrix, for row vectors.
        final_state: The whole stream before the last RMSNorm; all parts are divided by its length.
        gain: The weight of that norm.
        direction: Row of the unembedding of one token, minus that of the other.
        eps: What the norm adds under its root.
    """
    check_same_dtype(head_outputs=head_outputs, W_O=W_O, final_state=final_state)
    check_same_dtype(final_state=final_state, gain=gain, direction=direction)
    check_positive(eps=eps)
    if head_outputs.dim() != 4 or W_O.dim() != 4 or W_O.shape[:3] != head_outputs.shape[1:]:
        raise ValueError(
            "head_outputs and W_O must have shapes (B, n, H, d_k) and (n, H, d_k, d), "
            f"got {tuple(head_outputs.shape)} and {tuple(W_O.shape)}"
        )
    batch, d = len(head_outputs), W_O.shape[-1]
    check_shape((batch, d), final_state=final_state, direction=direction)
    check_shape((d,), gain=gain)
    written = torch.einsum("bnhk,nhkd->bnhd", head_outputs, W_O)
    size = (final_state.square().mean(dim=-1) + eps).sqrt()
    return torch.einsum("bnhd,bd->bnh", written * gain, direction) / size.view(-1, 1, 1)
