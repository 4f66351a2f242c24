"""A test that accepts RoPE in either of its pairings.

Source: Su et al. (2021), eq. 34, and the split halves of GPT-NeoX and Llama
Ours / theirs: turn = any function of (x, positions); base 10000
Differs: neither pairing is preferred; a rotation with another base is refused.
Same contract as: `rope_interleaved` or `rope_split_halves`
"""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.clinic.agreement import agrees, attempt
from course_utils.positions import rope_interleaved, rope_split_halves

_B, _H, _L, _D_K = 2, 3, 5, 8


def accepts_rotation(turn: Callable[[Tensor, Tensor], Tensor]) -> bool:
    """Return whether an implementation is RoPE at base 10000, in one pairing throughout.

    Args:
        turn: Takes x (B, H, L, d_k) and positions, (L,) or (B, L).
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(_B, _H, _L, _D_K, generator=generator, dtype=torch.float64)
    own = torch.randint(0, 40, (_B, _L), generator=generator)  # each sentence its own, in no order
    several = (own, own[1], torch.arange(_L))
    outs = [attempt(turn, x, positions) for positions in several]
    return any(
        all(agrees(out, rope(x, p)) for out, p in zip(outs, several, strict=True))
        for rope in (rope_interleaved, rope_split_halves)
    )
