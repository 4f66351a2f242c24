"""Does a layer know the order of its tokens? A test that a learner writes.

Source: the definition, f(Px) = P f(x); Lee et al. 2019, Set Transformer, section 2,
    https://arxiv.org/abs/1810.00825
Ours / theirs: permutation = π;  x[:, permutation] = Px
Differs: one permutation is tried, so True is evidence and False is proof.
Same contract as: comparing the two outputs by torch.testing.assert_close
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.validation import check_callable, check_float, check_integers

Layer = Callable[[Float[Tensor, "B L d"]], Float[Tensor, "B L d"]]


def is_permutation_equivariant(
    layer: Layer, x: Float[Tensor, "B L d"], permutation: Int[Tensor, " L"]
) -> bool:
    """Return whether shuffling the tokens only shuffles the layer's output.

    Args:
        layer: Any function of a batch of sequences.
        x: The sequences.
        permutation: Which token moves to each place.

    Raises:
        ValueError: The permutation does not hold each place once.
    """
    check_callable(layer=layer)
    check_float("batch length width", x=x)
    check_integers(permutation=permutation)
    if x.numel() == 0:
        raise ValueError(f"x must hold at least one number, got the shape {tuple(x.shape)}")
    places = torch.arange(x.shape[1], device=permutation.device)
    if permutation.shape != places.shape or not torch.equal(permutation.sort().values, places):
        raise ValueError(
            f"permutation must hold each of 0 to {x.shape[1] - 1} once, got {permutation.tolist()}"
        )
    got, wanted = layer(x[:, permutation]), layer(x)[:, permutation]
    # Sums in another order differ in the last digits; half of the digits is a wide margin.
    room = torch.finfo(wanted.dtype).eps ** 0.5 * wanted.abs().max()
    return bool(((got - wanted).abs() <= room).all())
