"""Latent attention with a normalised latent vector and compressed queries, as DeepSeek-V3 has it.

Source: DeepSeek-AI 2024, DeepSeek-V3 Technical Report, section 2.1.1, Eq. 1 to 11,
    https://arxiv.org/abs/2412.19437; the norms after both compressions are DeepSeek-V2, section
    3.1.2, https://arxiv.org/abs/2405.04434
Ours / theirs: q_down, q_proj = W^DQ, (W^UQ, W^QR);  d_query = d_c', the width that configurations
    call q_lora_rank;  the others as in `LatentAttention`
Differs: no biases, and the scale is given where YaRN changes it
Same contract as: DeepseekV3Attention of transformers, with its weights under these names
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_utils.attention.latent.module import LatentAttention, Rotate
from course_utils.validation import check_at_least, check_fed, check_number

EPS = 1e-6


class CompressedLatentAttention(LatentAttention):
    """Latent attention whose queries, too, come from a short vector; both vectors are normalised.

    Compressed queries save parameters and activations in training, and nothing in the cache.

    Args:
        d_model: Width of the stream.
        num_heads: How many heads share it.
        d_latent: Width of what is kept of a token.
        d_query: Width of what queries are made of; None makes them of the stream, as Kimi Linear.
        scale: Factor on the scores; None is 1/√(d_k + d_rope).
        **widths: As in `LatentAttention`: d_rope, d_k and d_v.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        d_latent: int,
        d_query: int | None,
        scale: float | None = None,
        **widths: int,
    ) -> None:
        super().__init__(d_model, num_heads, d_latent=d_latent, **widths)
        check_at_least(1, d_query=1 if d_query is None else d_query)
        width = self.q_proj.out_features // num_heads
        scale = 1 / math.sqrt(width) if scale is None else scale
        check_number(scale=scale)
        # The factor on the scores in addition to the 1/√width of `latent_attention`.
        self.factor = scale * math.sqrt(width)
        self.q_down = self.q_norm = None
        if d_query is not None:
            self.q_down = nn.Linear(d_model, d_query, bias=False)
            self.q_norm = nn.RMSNorm(d_query, eps=EPS)
            self.q_proj = nn.Linear(d_query, num_heads * width, bias=False)
        self.latent_norm = nn.RMSNorm(d_latent, eps=EPS)

    def compress(
        self, x: Float[Tensor, "B L d_model"], rotate: Rotate | None = None
    ) -> Float[Tensor, "B L r+d_rope"]:
        """Return all that is kept of each token: its normalised latent vector and rotated key."""
        latent, rotated = super().compress(x, rotate).tensor_split((self.d_latent,), dim=-1)
        return torch.cat((self.latent_norm(latent), rotated), dim=-1)

    def _query(self, x: Tensor, rotate: Rotate | None) -> Tensor:
        if self.q_down is not None and self.q_norm is not None:
            check_fed(self.q_down.weight, x=x)
            x = self.q_norm(self.q_down(x))
        return self.factor * super()._query(x, rotate)
