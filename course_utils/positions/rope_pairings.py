"""The two pairings of RoPE are one mechanism with the features in another order.

Source: the conversion of Llama's weights at Hugging Face, convert_llama_weights_to_hf.py,
    https://github.com/huggingface/transformers
Ours / theirs: to_split_halves(weight, num_heads, dim=0) = permute(weight)
Differs: reorders along any axis, so that it takes ours (x @ W), torch's (weight of a Linear), a
    bias, or queries and keys themselves.
Same contract as: rope_split_halves(to_split_halves(x)) = to_split_halves(rope_interleaved(x))
"""

from jaxtyping import Shaped
from torch import Tensor

from course_utils.validation import check_at_least, check_even, check_int, check_tensor


def to_split_halves(
    features: Shaped[Tensor, "..."], num_heads: int = 1, dim: int = -1
) -> Shaped[Tensor, "..."]:
    """Reorder the features of each head from pairs (2i, 2i+1) to pairs (i, i + d_k/2).

    Applied to the projections of queries and keys, it converts a model with one pairing into the
    same model with the other.

    Args:
        features: A projection, its bias, or queries and keys.
        num_heads: How many heads share the axis, side by side.
        dim: The axis of the features: -1 in x @ W, 0 in the weight of a torch Linear.

    Raises:
        ValueError: There is no such axis, or it does not hold an even width for each head.
    """
    return _reordered(features, num_heads, dim, (-1, 2))


def to_interleaved(
    features: Shaped[Tensor, "..."], num_heads: int = 1, dim: int = -1
) -> Shaped[Tensor, "..."]:
    """Reorder the features of each head from pairs (i, i + d_k/2) to pairs (2i, 2i+1).

    Arguments and errors are as in `to_split_halves`, which it undoes.
    """
    return _reordered(features, num_heads, dim, (2, -1))


def _reordered(features: Tensor, num_heads: int, dim: int, pairs: tuple[int, int]) -> Tensor:
    check_tensor(features=features)
    check_at_least(1, num_heads=num_heads)
    check_int(dim=dim)
    if features.dim() == 0:
        raise ValueError("features need at least one axis, got a scalar")
    if not -features.dim() <= dim < features.dim():
        raise ValueError(f"dim must be one of the {features.dim()} axes, got {dim}")
    size = features.shape[dim]
    if size % num_heads:
        raise ValueError(f"num_heads must divide the axis of {size} features, got {num_heads}")
    check_even(**{"the width of a head": size // num_heads})
    last = features.movedim(dim, -1)
    swapped = last.reshape(*last.shape[:-1], num_heads, *pairs).transpose(-1, -2)
    return swapped.flatten(-3).movedim(-1, dim)
