"""A test that accepts any right attention by tiles of keys.

Source: Dao et al. (2022), Algorithm 1: the tiles change the order of work and no value
Ours / theirs: block = B_c, the number of keys of a tile
Differs: an implementation may take all keys at once.
Same contract as: `tiled_attention` without a mask
"""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.attention import scaled_dot_product_attention
from course_utils.clinic.agreement import agrees, attempt

_B, _H, _L, _S, _D_K, _D_V = 2, 3, 5, 7, 4, 6
_BLOCKS = (1, 2, 3, 7, 10)  # 2 and 3 do not divide 7 keys, 10 exceeds them
_SPREADS = (1.0, 20.0)  # scores near 1, and in the hundreds


def accepts_tiling(tiled: Callable[[Tensor, Tensor, Tensor, int], Tensor]) -> bool:
    """Return whether an implementation gives plain attention, whatever the size of its tiles.

    Args:
        tiled: Takes query, key, value and the number of keys of a tile.
    """
    generator = torch.Generator().manual_seed(0)
    for spread in _SPREADS:
        query = spread * torch.randn(_B, _H, _L, _D_K, generator=generator, dtype=torch.float64)
        key = spread * torch.randn(_B, _H, _S, _D_K, generator=generator, dtype=torch.float64)
        value = torch.randn(_B, _H, _S, _D_V, generator=generator, dtype=torch.float64)
        want = scaled_dot_product_attention(query, key, value)
        if not all(agrees(attempt(tiled, query, key, value, block), want) for block in _BLOCKS):
            return False
    return True
