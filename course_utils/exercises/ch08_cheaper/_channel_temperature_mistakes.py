"""What goes wrong with the temperature of cross-covariance attention."""

import math
from typing import Any

from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch08_cheaper._channels import build


def _by_sequence(temperature: Any) -> Any:
    """Lay a temperature of each head along the batch."""
    return temperature.unsqueeze(-1) if isinstance(temperature, Tensor) else temperature


TEMPERATURE = (
    Misconception(
        "divided by the temperature",
        build(sharpen=lambda s, t, q: s / t),
        "The temperature divides the scores, as in the paper's formula. Here it multiplies, as in "
        "its code: should 2 make the weights sharper or flatter?",
    ),
    Misconception(
        "no temperature",
        build(sharpen=lambda s, t, q: s),
        "The temperature changes nothing. Is it used, or is it added to a whole row, and cancels?",
        also=(build(sharpen=lambda s, t, q: s + t),),
    ),
    Misconception(
        "another scale besides",
        build(sharpen=lambda s, t, q: s * t / math.sqrt(q.shape[-1])),
        "The scores are scaled by something besides the temperature. Both vectors have length 1 "
        "already: what is left for a root to do?",
        also=(
            build(sharpen=lambda s, t, q: s * t / math.sqrt(q.shape[-2])),
            build(sharpen=lambda s, t, q: s / math.sqrt(q.shape[-1])),
            build(sharpen=lambda s, t, q: s * t * math.sqrt(q.shape[-1])),
            build(sharpen=lambda s, t, q: s * t**2),
            build(sharpen=lambda s, t, q: s * t**0.5),
            build(sharpen=lambda s, t, q: s * math.e**t),
        ),
    ),
    Misconception(
        "temperature after the softmax",
        build(sharpen=lambda s, t, q: s, take=lambda w, v, t: v @ (w * t).mT),
        "The weights were multiplied by the temperature, so a row no longer sums to 1. Which "
        "numbers does it make sharper?",
    ),
    Misconception(
        "a temperature for each sequence",
        build(sharpen=lambda s, t, q: s * _by_sequence(t)),
        "The temperatures run along the batch. There is one for each head: (H, 1, 1) broadcasts to "
        "that by itself.",
    ),
    Misconception(
        "temperature of the first head",
        build(sharpen=lambda s, t, q: s * (t.flatten()[0] if isinstance(t, Tensor) else t)),
        "All heads got one temperature. It may hold one for each: which axis do they lie on?",
        also=(build(sharpen=lambda s, t, q: s * (t.mean() if isinstance(t, Tensor) else t)),),
    ),
    Misconception(
        "temperature cut off",
        build(sharpen=lambda s, t, q: s * (t.detach() if isinstance(t, Tensor) else t)),
        "The values are right, but the temperature gets no gradient. It is learned: what cuts it "
        "off?",
    ),
)
