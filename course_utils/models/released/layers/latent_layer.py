"""Latent attention as the attention of a layer: positions, a causal mask and a cache of its rows.

Source: DeepSeek-AI 2024, DeepSeek-V3 Technical Report, section 2.1.1, https://arxiv.org/abs/2412.19437
Ours / theirs: d_latent, d_query, d_rope, d_k, d_v = kv_lora_rank, q_lora_rank, qk_rope_head_dim,
    qk_nope_head_dim, v_head_dim
Differs: with a cache, keys and values are never made: the absorbed form reads the rows
Same contract as: DeepseekV3Attention of transformers
"""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from course_utils.attention import causal_mask
from course_utils.attention.latent.cache import LatentCache
from course_utils.attention.latent.compressed import CompressedLatentAttention
from course_utils.attention.latent.module import Rotate
from course_utils.models.gpt.layer import Sizes
from course_utils.positions import PositionScheme, RotaryPositions
from course_utils.validation import check_instance


def check_no_parts(kind: str, **parts: object) -> None:
    """Raise ValueError if any part was given, where a layer of this kind computes by itself."""
    for name, part in parts.items():
        if part is not None:
            raise ValueError(f"{name} must be None in a model with {kind}")


class LatentLayerAttention(nn.Module):
    """The attention of a layer of DeepSeek V3, and of some layers of Kimi Linear.

    Args:
        sizes: d_model, the heads, and a third number that latent attention has no use for.
        attend: Must be None, as must `mask`: the two forms of latent attention are its own.
        mask: See there.
        **widths: As `CompressedLatentAttention` takes them; `design` and `kind` are not looked at.
    """

    window = None

    def __init__(
        self, sizes: Sizes, *, attend: Callable[..., Tensor] | None = None,
        mask: Callable[[int], Tensor] | None = None, **widths: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        check_no_parts("latent attention", attend=attend, mask=mask)
        own = {name: width for name, width in widths.items() if name not in ("design", "kind")}
        self.latent = CompressedLatentAttention(*sizes[:2], **own)

    def forward(
        self,
        x: Float[Tensor, "B T d_model"],
        scheme: PositionScheme,
        positions: Shaped[Tensor, "*B T"],
        first: Int[Tensor, " B"] | None = None,
        cache: LatentCache | None = None,
        fresh: bool = True,
    ) -> Float[Tensor, "B T d_model"]:
        """Return what each token reads; arguments are those of `CausalAttention`.

        Raises:
            TypeError: The scheme is neither RoPE nor the one without positions.
        """
        rotate = None
        if type(scheme) is not PositionScheme:
            check_instance(RotaryPositions, scheme=scheme)
            rotate = partial(cast(RotaryPositions, scheme).table.rotate, positions=positions)
        rows, new = self._rows(x, rotate), x.shape[1]
        if cache is not None:
            check_instance(LatentCache, cache=cache)
            cache.append(rows)
        if cache is None or fresh:
            mask = causal_mask(new, new).to(x.device)
            if first is not None:
                mask = mask & (torch.arange(new, device=x.device) >= first.view(-1, 1, 1, 1))
            return self.latent(x, self._mask(x, rows, mask, rotate), rotate)
        rows = cache.read()
        mask = causal_mask(new, cache.length, cache.length - new).to(x.device)
        mask = self._mask(x, rows, mask, rotate)
        return self.latent.decode(x, rows[..., : self._width], mask, rotate)

    def new_cache(
        self, batch: int, room: int, made: Callable[..., Any] | None = None, **place: Any
    ) -> LatentCache:
        """Return an empty cache of rows; arguments are those of `CausalAttention.new_cache`.

        Raises:
            ValueError: The model was given a kind of cache, which would hold keys and values.
        """
        check_no_parts("latent attention", cache=made)
        return LatentCache(batch, room, self._row_width, **place)

    @property
    def _width(self) -> int:
        return self.latent.down_proj.out_features

    @property
    def _row_width(self) -> int:
        """Return how wide a row of the cache is."""
        return self._width

    def _rows(self, x: Tensor, rotate: Rotate | None) -> Tensor:
        """Return what is kept of each token."""
        return self.latent.compress(x, rotate)

    def _mask(self, x: Tensor, rows: Tensor, mask: Tensor, rotate: Rotate | None) -> Tensor:
        """Return which queries read which keys, of those that the mask allows."""
        return mask
