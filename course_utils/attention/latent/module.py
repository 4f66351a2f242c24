"""Multi-head latent attention as a module, with its two forms and what it keeps of a token.

Source: DeepSeek-AI 2024, DeepSeek-V2, section 2.1, https://arxiv.org/abs/2405.04434
Ours / theirs: q_proj = (W^Q, W^QR);  down_proj = (W^DKV, W^KR);  W_uk, W_uv = W^UK, W^UV;
    out_proj = W^O;  d_latent, d_rope = d_c, d_h^R
Differs: as in `latent_attention`; no biases, as theirs.
Same contract as: `latent_attention` between learned projections
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_utils.attention.core.split_heads import merge_heads, split_heads
from course_utils.attention.latent.latent import absorbed_latent_attention, latent_attention
from course_utils.validation import check_at_least, check_callable, check_fed, check_num_heads

Rotate = Callable[[Tensor], Tensor]


class LatentAttention(nn.Module):
    """Latent attention with learned projections.

    Args:
        d_model: Width of the stream.
        num_heads: How many heads share it.
        d_latent: Width of what is kept of a token, instead of 2 · d_model.
        d_rope: Width of the rotated part of queries and of the one shared key.
        d_k: Width of the other part of a head's queries and keys; None is d_model / num_heads.
        d_v: Width of a head's values; None is d_k.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        d_latent: int,
        d_rope: int = 0,
        d_k: int | None = None,
        d_v: int | None = None,
    ) -> None:
        super().__init__()
        check_at_least(1, d_model=d_model, num_heads=num_heads, d_latent=d_latent)
        check_at_least(0, d_rope=d_rope)
        if d_k is None:
            check_num_heads(num_heads, d_model)
            d_k = d_model // num_heads
        d_v = d_k if d_v is None else d_v
        check_at_least(1, d_k=d_k, d_v=d_v)
        self.num_heads, self.d_k, self.d_latent = num_heads, d_k, d_latent
        self.q_proj = nn.Linear(d_model, num_heads * (d_k + d_rope), bias=False)
        self.down_proj = nn.Linear(d_model, d_latent + d_rope, bias=False)
        self.W_uk = nn.Parameter(torch.randn(num_heads, d_latent, d_k) / math.sqrt(d_latent))
        self.W_uv = nn.Parameter(torch.randn(num_heads, d_latent, d_v) / math.sqrt(d_latent))
        self.out_proj = nn.Linear(num_heads * d_v, d_model, bias=False)

    def forward(
        self,
        x: Float[Tensor, "B L d_model"],
        attn_mask: Bool[Tensor, "#B #H #L #L"] | None = None,
        rotate: Rotate | None = None,
    ) -> Float[Tensor, "B L d_model"]:
        """Return what the heads found, with keys and values made for every head.

        Args:
            x: The stream that queries, keys and values are made of.
            attn_mask: True where a query may attend.
            rotate: Rotates vectors (..., L, d_rope) by their positions; None leaves them.
        """
        query, cache = self._query(x, rotate), self.compress(x, rotate)
        return self._out(latent_attention(query, cache, self.W_uk, self.W_uv, attn_mask))

    def decode(
        self,
        x: Float[Tensor, "B L d_model"],
        cache: Float[Tensor, "B S r+d_rope"],
        attn_mask: Bool[Tensor, "#B #H #L #S"] | None = None,
        rotate: Rotate | None = None,
    ) -> Float[Tensor, "B L d_model"]:
        """Return the same for new tokens whose past, and they themselves, are in the cache.

        The cache is what `compress` gave for all tokens so far, side by side. The other arguments
        and the errors are as in `forward`, at the new tokens' positions.
        """
        query = self._query(x, rotate)
        return self._out(absorbed_latent_attention(query, cache, self.W_uk, self.W_uv, attn_mask))

    def compress(
        self, x: Float[Tensor, "B L d_model"], rotate: Rotate | None = None
    ) -> Float[Tensor, "B L r+d_rope"]:
        """Return all that is kept of each token: its latent vector and its rotated key."""
        check_fed(self.down_proj.weight, x=x)
        return _rotated(self.down_proj(x), self.d_latent, rotate)

    def _query(self, x: Tensor, rotate: Rotate | None) -> Tensor:
        check_fed(self.q_proj.weight, x=x)
        return _rotated(split_heads(self.q_proj(x), self.num_heads), self.d_k, rotate)

    def _out(self, heads: Tensor) -> Tensor:
        return self.out_proj(merge_heads(heads))


def _rotated(x: Tensor, start: int, rotate: Rotate | None) -> Tensor:
    """Return x with the features from `start` on rotated."""
    if rotate is None:
        return x
    check_callable(rotate=rotate)
    return torch.cat((x[..., :start], rotate(x[..., start:])), dim=-1)
