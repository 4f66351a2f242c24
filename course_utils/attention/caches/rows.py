"""Moving the sequences of a cache: each beam continues from the past of the beam it came from.

Source: the beams of a search keep their states by copying those of the hypotheses that survived, as
    in Sutskever et al. 2014, Sequence to Sequence Learning with Neural Networks, section 3.2,
    https://arxiv.org/abs/1409.3215
Ours / theirs: beams = the `beam_idx` of Hugging Face
Differs: the memory stays where it is, and only the slots that are filled are written.
Same contract as: `DynamicCache.reorder_cache` of Hugging Face
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.attention.caches.movable_rows import check_rows
from course_utils.validation import check_int, check_same_dtype, check_shape


@torch.no_grad()
def reorder_cache(
    cache_key: Float[Tensor, "N H S_max d"],
    cache_value: Float[Tensor, "N H S_max d"],
    length: int,
    beams: Int[Tensor, " N"],
) -> None:
    """Copy into the first `length` slots of each row n what row beams[n] held, in place.

    Args:
        cache_key: The slots for keys; those from `length` on are not written.
        cache_value: The slots for values.
        length: How many slots are filled.
        beams: The row that each row continues from; some may be named often, and others never.

    Raises:
        ValueError: The length is outside the cache, or a beam names a row that does not exist.
            Nothing is written then.
    """
    check_slots(cache_key, cache_value, length, "N H S_max d")
    check_rows(len(cache_key), beams=beams)
    check_shape((len(cache_key),), beams=beams)
    beams = beams.long()
    for cache in (cache_key, cache_value):
        # Indexing copies all rows before the first of them is overwritten.
        cache[:, :, :length] = cache[beams, :, :length]


def check_slots(
    cache_key: Tensor, cache_value: Tensor, length: int, axes: str = "B H S_max d"
) -> None:
    """Raise unless the two are slots of one shape and dtype, of which `length` may be filled."""
    check_same_dtype(axes, cache_key=cache_key, cache_value=cache_value)
    check_shape(tuple(cache_key.shape), cache_value=cache_value)
    check_int(length=length)
    if not 0 <= length <= cache_key.shape[2]:
        raise ValueError(
            f"length must lie between 0 and the {cache_key.shape[2]} slots, got {length}"
        )
