"""Handwritten digits of 8 × 8 pixels, which ship with scikit-learn: no download.

Source: Alpaydin and Kaynak 1998, Optical Recognition of Handwritten Digits, UCI Machine Learning
    Repository, https://doi.org/10.24432/C50P49, in scikit-learn's `load_digits`
Differs: pixels from 0 to 1 instead of 16, in one fixed random order; 1347 images for training,
    450 for testing
"""

import functools
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.validation import check_float, check_instance

SIDE = 8
_TEST = 450


@dataclass(frozen=True)
class Digits:
    """Images of single digits, and which digit each one is.

    Attributes:
        images: To learn from.
        labels: Which digit each shows.
        test_images: To test with.
        test_labels: Which digit each of those shows.
    """

    images: Float[Tensor, "N 1 8 8"]
    labels: Int[Tensor, " N"]
    test_images: Float[Tensor, "M 1 8 8"]
    test_labels: Int[Tensor, " M"]


@functools.cache
def load_digits() -> Digits:
    """Return the digits; the tensors are shared, so do not change them."""
    from sklearn import datasets  # imported here: it takes a second

    found = datasets.load_digits()
    with torch.device("cpu"), torch.inference_mode(False):  # whatever holds at the first call
        order = torch.randperm(len(found.target), generator=torch.Generator().manual_seed(0))
        images = torch.tensor(found.images / 16, dtype=torch.float32).unsqueeze(1)[order]
        labels = torch.tensor(found.target, dtype=torch.long)[order]
    return Digits(images[:-_TEST], labels[:-_TEST], images[-_TEST:], labels[-_TEST:])


def shifted(
    images: Float[Tensor, "N C h w"], generator: torch.Generator
) -> Float[Tensor, "N C h w"]:
    """Return each image moved by -1, 0 or 1 pixels along each axis, with zeros shifted in.

    Args:
        images: Any number of them.
        generator: The only source of randomness.
    """
    check_float("N C h w", images=images)
    check_instance(torch.Generator, generator=generator)
    number, _, height, width = images.shape
    down, right = torch.randint(3, (2, number, 1, 1), generator=generator)
    rows, columns = down + torch.arange(height).view(-1, 1), right + torch.arange(width)
    padded = F.pad(images, (1, 1, 1, 1)).movedim(1, -1)
    return padded[torch.arange(number).view(-1, 1, 1), rows, columns].movedim(-1, 1)
