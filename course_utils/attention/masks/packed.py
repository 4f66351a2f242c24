"""Packed attention: documents of any length, concatenated without padding between them.

Source: Krell et al. 2021, Efficient Sequence Packing without Cross-contamination,
    https://arxiv.org/abs/2107.02027; the layout is flash_attn_varlen_func's of FlashAttention,
    Dao et al. 2022, https://arxiv.org/abs/2205.14135
Ours / theirs: T = total tokens;  cumulative_lengths(lengths) = cu_seqlens
Differs: query and key have the same documents, so that one list of lengths serves both.
Same contract as: SDPA on nested tensors of layout torch.jagged, which hold the same numbers
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.attention.core.composed import composed_attention
from course_utils.attention.masks.causal import causal_mask
from course_utils.validation import check_instance, check_integers, check_same_dtype


def packed_attention(
    query: Float[Tensor, "T H d_k"],
    key: Float[Tensor, "T H_kv d_k"],
    value: Float[Tensor, "T H_kv d_v"],
    lengths: Int[Tensor, " n"],
    is_causal: bool = False,
) -> Float[Tensor, "T H d_v"]:
    """Return attention of each document over itself: Σ length² pairs, not T² and no padding.

    Args:
        query: What each token asks for, in every head.
        key: What each token offers; query head h reads head h // (H / H_kv).
        value: What each token hands over.
        lengths: How many tokens each document has, in order; a document may be empty. A nested
            tensor of layout torch.jagged is its `values()` and `offsets().diff()`.
        is_causal: Whether a token sees only the tokens of its document up to itself.

    Raises:
        ValueError: There is no token, or the lengths do not sum to T.
    """
    check_same_dtype("T heads width", query=query, key=key, value=value)
    _check_lengths(lengths)
    check_instance(bool, is_causal=is_causal)
    if not 0 < len(query) == len(key) == len(value) == lengths.sum():
        raise ValueError(
            "query, key and value must have as many tokens as the lengths sum to, at least one, "
            f"got {len(query)}, {len(key)} and {len(value)} tokens and the sum {lengths.sum()}"
        )
    by_head = (x.transpose(0, 1).unsqueeze(0) for x in (query, key, value))
    documents = zip(*(x.split(lengths.tolist(), dim=2) for x in by_head), strict=True)
    outs = [composed_attention(q, k, v, None, _past(q, is_causal)) for q, k, v in documents]
    return torch.cat(outs, dim=2).squeeze(0).transpose(0, 1)


def cumulative_lengths(lengths: Int[Tensor, " n"]) -> Int[Tensor, " n_plus_1"]:
    """Return where each document begins, and finally where the last one ends; `diff` undoes it.

    Args:
        lengths: How many tokens each document has.
    """
    _check_lengths(lengths)
    # The kernels that take it require int32.
    return torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).to(torch.int32)


def packed_ids(lengths: Int[Tensor, " n"]) -> Int[Tensor, " T"]:
    """Return each token's document number, as a document mask takes it.

    Arguments and errors are as in `cumulative_lengths`.
    """
    _check_lengths(lengths)
    return torch.arange(len(lengths), device=lengths.device).repeat_interleave(lengths.long())


def _past(document: Tensor, is_causal: bool) -> Tensor | None:
    length = document.shape[2]
    return causal_mask(length, length).to(document.device) if is_causal else None


def _check_lengths(lengths: Tensor) -> None:
    check_integers("n", lengths=lengths)
    if (lengths < 0).any():
        raise ValueError(f"lengths must be at least 0, got {lengths.min().item()}")
