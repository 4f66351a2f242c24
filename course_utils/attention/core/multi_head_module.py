"""Multi-head attention as a module: the projections are learned, everything else is a function.

Source: Vaswani et al. 2017, Attention Is All You Need, section 3.2.2, https://arxiv.org/abs/1706.03762
Ours / theirs: the parameters have the names and layout of torch.nn.MultiheadAttention, so a
    state_dict of one loads into the other; in_proj_weight holds W_qᵀ, W_kᵀ and W_vᵀ as rows
Differs: masks are boolean and True = may attend (theirs: True = may not); batch first; no dropout;
    the weights have their own method; single heads can be left out
"""

import math
from collections.abc import Iterable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.attention.core.masked_softmax import masked_softmax
from course_utils.attention.core.softmax import stable_softmax
from course_utils.attention.core.split_heads import merge_heads, split_heads
from course_utils.validation import (
    check_at_least,
    check_boolean,
    check_fed,
    check_instance,
    check_mask,
    check_num_heads,
    check_query_key,
    check_query_key_value,
    check_shape,
)


class MultiHeadAttention(nn.Module):
    """Multi-head attention with learned projections.

    Args:
        d_model: Width of the stream that queries are made of, and of the output.
        num_heads: How many heads share it.
        bias: Whether all four projections add a bias.
        d_key: Width of the stream that keys are made of; None is `d_model`.
        d_value: Width of the stream that values are made of; None is `d_model`.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        bias: bool = True,
        d_key: int | None = None,
        d_value: int | None = None,
    ) -> None:
        super().__init__()
        check_at_least(1, d_model=d_model)
        check_num_heads(num_heads, d_model)
        d_key = d_model if d_key is None else d_key
        d_value = d_model if d_value is None else d_value
        check_at_least(1, d_key=d_key, d_value=d_value)
        check_instance(bool, bias=bias)
        self.num_heads = num_heads
        same = d_key == d_value == d_model
        self.in_proj_weight = _matrix(3 * d_model, d_model) if same else None
        self.q_proj_weight = None if same else _matrix(d_model, d_model)
        self.k_proj_weight = None if same else _matrix(d_model, d_key)
        self.v_proj_weight = None if same else _matrix(d_model, d_value)
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * d_model)) if bias else None
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        if bias:
            nn.init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Float[Tensor, "B L d_model"],
        key: Float[Tensor, "B S d_key"] | None = None,
        value: Float[Tensor, "B S d_value"] | None = None,
        attn_mask: Bool[Tensor, "#B #H #L #S"] | None = None,
        keep: Bool[Tensor, " H"] | None = None,
        is_causal: bool = False,
    ) -> Float[Tensor, "B L d_model"]:
        """Return the heads' outputs, mixed by the output projection.

        Args:
            query: The stream that asks.
            key: The stream that is asked; None is `query`.
            value: The stream that hands over; None is `key`.
            attn_mask: True where a query may attend.
            keep: True for each head that is kept; None keeps all.
            is_causal: Whether no query sees a later key: a causal `attn_mask`, without its cost.
        """
        key = query if key is None else key
        queries, keys, values = self.project(query, key, key if value is None else value)
        check_query_key_value(queries, keys, values)
        if attn_mask is not None:
            check_mask(attn_mask, torch.Size((*queries.shape[:-1], keys.shape[-2])))
        check_instance(bool, is_causal=is_causal)
        if is_causal:
            _check_causal(queries, keys, attn_mask)
        heads = F.scaled_dot_product_attention(
            queries, keys, values, attn_mask, is_causal=is_causal
        )
        if keep is not None:
            check_boolean("kept", keep=keep)
            check_shape((self.num_heads,), keep=keep)
            heads = heads.masked_fill(~keep[:, None, None], 0.0)
        return self.out_proj(merge_heads(heads))

    def weights(
        self,
        query: Float[Tensor, "B L d_model"],
        key: Float[Tensor, "B S d_key"] | None = None,
        attn_mask: Bool[Tensor, "#B #H #L #S"] | None = None,
    ) -> Float[Tensor, "B H L S"]:
        """Return each head's weights, which `forward` uses but never materialises.

        Arguments and errors are as in `forward`.
        """
        queries, keys = self.project(query, query if key is None else key)
        check_query_key(queries, keys)
        scores = queries @ keys.mT / math.sqrt(queries.shape[-1])
        return stable_softmax(scores) if attn_mask is None else masked_softmax(scores, attn_mask)

    def project(self, *streams: Tensor) -> list[Tensor]:
        """Return the heads' queries, keys and, where a third stream is given, values."""
        names = ("query", "key", "value")
        for name, stream, weight in zip(names, streams, self._weights(), strict=False):
            check_fed(weight, **{name: stream})
        parts: Iterable[Tensor]
        if self.in_proj_weight is not None and all(stream is streams[0] for stream in streams):
            # Self-attention: one product instead of one for each role.
            rows = len(streams) * self.out_proj.in_features
            bias = None if self.in_proj_bias is None else self.in_proj_bias[:rows]
            parts = F.linear(streams[0], self.in_proj_weight[:rows], bias).chunk(len(streams), -1)
        else:
            projections = zip(streams, self._weights(), self._biases(), strict=False)
            parts = (F.linear(stream, weight, bias) for stream, weight, bias in projections)
        return [split_heads(part, self.num_heads) for part in parts]

    def _weights(self) -> tuple[Tensor, ...]:
        if self.in_proj_weight is not None:
            return self.in_proj_weight.chunk(3)
        return self.q_proj_weight, self.k_proj_weight, self.v_proj_weight  # type: ignore[return-value]

    def _biases(self) -> tuple[Tensor | None, ...]:
        return (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)


def _matrix(rows: int, columns: int) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(rows, columns)))


def _check_causal(queries: Tensor, keys: Tensor, attn_mask: Tensor | None) -> None:
    if attn_mask is not None:
        raise ValueError("is_causal needs attn_mask to be None, got both: combine them in one mask")
    if queries.shape[-2] != keys.shape[-2]:
        raise ValueError(
            "is_causal needs as many queries as keys, "
            f"got {queries.shape[-2]} and {keys.shape[-2]}: pass a mask that says its offset"
        )
