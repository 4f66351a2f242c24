"""The contrastive loss of two encoders: each row has to find its partner in the whole batch.

Source: Radford et al. 2021, Learning Transferable Visual Models From Natural Language Supervision
    (CLIP), section 2.3 and figure 3, https://arxiv.org/abs/2103.00020
Ours / theirs: a, b = I_f, T_f before they are normalised;  temperature = 1 / exp(t), as it divides
Differs: a row of zeros stays zeros, where dividing by its norm would give NaN
Same contract as: the mean of `F.cross_entropy` over the rows and over the columns of the cosines
"""

from jaxtyping import Float
from torch import Tensor

from course_utils.models.vision._directions import direction
from course_utils.validation import (
    check_float,
    check_positive,
    check_same_dtype,
    check_shape,
)


def contrastive_loss(
    a: Float[Tensor, "B d"], b: Float[Tensor, "B d"], temperature: float | Float[Tensor, ""]
) -> Float[Tensor, ""]:
    """Return how badly each row finds its partner, in nats: a mean of both directions.

    Args:
        a: One vector for each pair, of any norm.
        b: Its partners, in the same order.
        temperature: Divides the cosines; smaller is sharper.
    """
    check_same_dtype("B d", a=a, b=b)
    check_shape(tuple(a.shape), b=b)
    if not len(a):
        raise ValueError("a and b need at least one pair, got none")
    if isinstance(temperature, Tensor):
        check_float(temperature=temperature)
        check_shape((), temperature=temperature)
    check_positive(temperature=_number(temperature))
    logits = direction(a) @ direction(b).mT / temperature
    forth, back = logits.log_softmax(1).diagonal(), logits.log_softmax(0).diagonal()
    return -(forth + back).mean() / 2


def _number(temperature: float | Tensor) -> float:
    return temperature.item() if isinstance(temperature, Tensor) else temperature
