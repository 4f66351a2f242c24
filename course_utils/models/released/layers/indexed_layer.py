"""Latent attention in which a small scorer chooses a few keys for each query, as DeepSeek V3.2's.

Source: DeepSeek-AI 2025, DeepSeek-V3.2, section 2.1, Eq. 1 and 2, https://arxiv.org/abs/2512.02556
Ours / theirs: query, key, key_norm, weight = wq_b, wk, k_norm, weights_proj;  num_heads, d_index,
    chosen = index_n_heads, index_head_dim, index_topk
Differs: keys that were not chosen are masked, so nothing is saved here; no Hadamard transform and
    no eight-bit scores, as in transformers
Same contract as: DeepseekV32Attention of transformers
"""

from typing import Any, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_utils.attention import split_heads
from course_utils.attention.latent.module import Rotate
from course_utils.models.gpt.layer import Sizes, linear
from course_utils.models.released.layers.latent_layer import LatentLayerAttention
from course_utils.positions import to_interleaved
from course_utils.validation import check_at_least


class Indexer(nn.Module):
    """Chooses the keys that a query may read: those with the highest cheap scores.

    A score is a sum over a few narrow heads, each a dot product that is cut off at 0, times a
    weight that the query's token computes; all heads share one key.

    Args:
        d_model: Width of the stream.
        d_query: Width of what queries are made of: the compressed query of the layer.
        num_heads: How many heads score.
        d_index: Width of a head.
        d_rope: How many of its first features are rotated.
        chosen: How many keys each query may read.
    """

    def __init__(
        self, d_model: int, d_query: int, *, num_heads: int, d_index: int, d_rope: int, chosen: int
    ) -> None:
        super().__init__()
        check_at_least(1, num_heads=num_heads, d_index=d_index, chosen=chosen)
        self.num_heads, self.d_index, self.d_rope, self.chosen = num_heads, d_index, d_rope, chosen
        self.query = linear(d_query, num_heads * d_index, bias=False)
        self.key = linear(d_model, d_index, bias=False)
        self.key_norm = nn.LayerNorm(d_index, eps=1e-6)
        self.weight = linear(d_model, num_heads, bias=False)

    @torch.no_grad()
    def keys(
        self, x: Float[Tensor, "B T d_model"], rotate: Rotate | None
    ) -> Float[Tensor, "B T d_index"]:
        """Return the key of each token.

        Args:
            x: The stream of the tokens.
            rotate: Rotates vectors by the tokens' positions, neighbours as pairs; None leaves them.
        """
        return self._turned(self.key_norm(self.key(x)), rotate)

    @torch.no_grad()
    def forward(
        self,
        x: Float[Tensor, "B T d_model"],
        compressed: Float[Tensor, "B T d_query"],
        keys: Float[Tensor, "B S d_index"],
        mask: Bool[Tensor, "*axes T S"],
        rotate: Rotate | None,
    ) -> Bool[Tensor, "B 1 T S"]:
        """Return which keys are chosen; where fewer may be read, some that may not are among them.

        No gradient passes: the scorer is trained by itself.

        Args:
            x: The stream of the new tokens.
            compressed: What their queries are made of.
            keys: The keys of all tokens so far.
            mask: True where a query may read.
            rotate: Rotates vectors as in `keys`, by the new tokens' positions.
        """
        query = self._turned(split_heads(self.query(compressed), self.num_heads), rotate)
        scores = (query @ keys.unsqueeze(1).mT * self.d_index**-0.5).relu()
        weight = self.weight(x).mT.unsqueeze(-1) * self.num_heads**-0.5
        total = (weight * scores).sum(dim=1, keepdim=True).masked_fill(~mask, -torch.inf)
        best = total.topk(min(self.chosen, total.shape[-1]), dim=-1).indices
        return torch.zeros_like(total, dtype=torch.bool).scatter(-1, best, True)

    def _turned(self, rows: Tensor, rotate: Rotate | None) -> Tensor:
        """Return rows whose pairs were halves; the features' order does not change dot products."""
        if rotate is None:
            return rows
        near, rest = rows.tensor_split((self.d_rope,), dim=-1)
        return torch.cat((rotate(to_interleaved(near)), rest), dim=-1)


class IndexedLayerAttention(LatentLayerAttention):
    """The attention of a layer of DeepSeek V3.2; its cache also holds the indexer's keys.

    Args:
        sizes: d_model, the heads, and a third number that latent attention has no use for.
        index: What `Indexer` takes: num_heads, d_index and chosen.
        **widths: As `LatentLayerAttention` takes them.
    """

    def __init__(self, sizes: Sizes, *, index: dict[str, int], **widths: Any) -> None:
        super().__init__(sizes, **widths)
        self.indexer = Indexer(sizes[0], widths["d_query"], d_rope=widths["d_rope"], **index)

    @property
    def _row_width(self) -> int:
        return self._width + self.indexer.d_index

    def _rows(self, x: Tensor, rotate: Rotate | None) -> Tensor:
        return torch.cat((super()._rows(x, rotate), self.indexer.keys(x, rotate)), dim=-1)

    def _mask(self, x: Tensor, rows: Tensor, mask: Tensor, rotate: Rotate | None) -> Tensor:
        down, norm = cast(nn.Module, self.latent.q_down), cast(nn.Module, self.latent.q_norm)
        compressed = norm(down(x))
        return mask & self.indexer(x, compressed, rows[..., self._width :], mask, rotate)
