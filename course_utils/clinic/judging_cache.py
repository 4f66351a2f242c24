"""A test that accepts any right attention with a cache.

Source: a text cut anywhere gives the outputs of one causal pass
Ours / theirs: cache = whatever an implementation keeps between two calls of one text
Differs: the cache may have any form.
Same contract as: `decode_step` of chapter 10, for several tokens at a time
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import causal_mask, scaled_dot_product_attention
from course_utils.clinic.agreement import agrees

_H, _D_K, _D_V = 3, 4, 6
_CUTS = ((1, 3, 1, 2), (3, 1, 2, 1))  # one token and several, first and later
_BATCHES = (2, 1)

Attend = Callable[[Tensor, Tensor, Tensor, Any], tuple[Tensor, Any]]


def accepts_cache(attend: Attend) -> bool:
    """Return whether an implementation gives one causal pass, however texts are cut.

    Two texts of different batch sizes are read alternately, then again with the cuts swapped.

    Args:
        attend: Takes query, key and value of the next tokens and the cache, which is None at the
            start of a text; returns the output and the cache for the text's next call.
    """
    generator = torch.Generator().manual_seed(0)
    sizes = (_D_K, _D_K, _D_V)
    for cuts in (_CUTS, _CUTS[::-1]):
        texts = [
            [
                torch.randn(batch, _H, sum(cut), size, generator=generator, dtype=torch.float64)
                for size in sizes
            ]
            for batch, cut in zip(_BATCHES, cuts, strict=True)
        ]
        try:
            outs = _in_turns(attend, texts, cuts)
        except Exception:
            return False
        for (query, key, value), out in zip(texts, outs, strict=True):
            mask = causal_mask(query.shape[-2], key.shape[-2], 0)
            if not agrees(out, scaled_dot_product_attention(query, key, value, mask)):
                return False
    return True


def _in_turns(
    attend: Attend, texts: list[list[Tensor]], cuts: tuple[tuple[int, ...], ...]
) -> list[Tensor]:
    """Read the texts piece by piece, alternately, and return the outputs of each."""
    caches: list[Any] = [None] * len(texts)
    outs: list[list[Tensor]] = [[] for _ in texts]
    for turn in range(len(cuts[0])):
        for i, (text, cut) in enumerate(zip(texts, cuts, strict=True)):
            start = sum(cut[:turn])
            piece = (part[..., start : start + cut[turn], :].clone() for part in text)
            query, key, value = piece
            out, caches[i] = attend(query, key, value, caches[i])
            outs[i].append(out.clone())
    return [torch.cat(out, dim=-2) for out in outs]
