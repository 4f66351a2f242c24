"""Pictures made of handwritten digits: numbers of three digits in a row, and digits on a canvas."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_utils.data.digits import SIDE
from course_utils.validation import (
    check_at_least,
    check_float,
    check_instance,
    check_int,
    check_integers,
    check_shape,
)

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
MOST = 3  # digits of a scene, and of a number
CANVAS = 24


def caption(number: int) -> str:
    """Return the digits of a number from 0 to 999 as words: 470 is "four seven zero".

    Args:
        number: Numbers below 100 begin with zeros.

    Raises:
        ValueError: It is above 999.
    """
    check_int(number=number)
    if not 0 <= number <= 999:
        raise ValueError(f"number must be from 0 to 999, got {number}")
    return " ".join(WORDS[int(digit)] for digit in f"{number:03d}")


def number_strips(
    numbers: Int[Tensor, " N"],
    images: Float[Tensor, "M 1 8 8"],
    labels: Int[Tensor, " M"],
    generator: torch.Generator,
) -> Float[Tensor, "N 1 8 24"]:
    """Return each number from 0 to 999 as three digits side by side, each drawn from its images.

    Args:
        numbers: The numbers to write.
        images: Single digits, each of the ten at least once.
        labels: Which digit each shows.
        generator: The only source of randomness.

    Raises:
        ValueError: A number is above 999, or a digit has no image.
    """
    check_integers("N", numbers=numbers)
    _check_digits(images, labels, generator)
    if bool(((numbers < 0) | (numbers > 999)).any()):
        raise ValueError(f"numbers must be from 0 to 999, got {numbers.tolist()!r:.60}")
    wanted = numbers.unsqueeze(-1) // torch.tensor([100, 10, 1]) % 10
    order = labels.argsort(stable=True)
    counts = labels.bincount(minlength=10)
    if bool((counts == 0).any()):
        raise ValueError(f"each digit needs an image, got {counts.tolist()} of them")
    drawn = torch.rand(wanted.shape, generator=generator)
    rank = (drawn * counts[wanted]).long() + (counts.cumsum(0) - counts)[wanted]
    return torch.cat(images[order[rank]].unbind(1), dim=-1)


@dataclass(frozen=True)
class Scenes:
    """Canvases with one to three digits each.

    Attributes:
        images: The canvases.
        present: Whether a scene has a first, a second and a third digit.
        labels: Which digit each of them is; 0 where there is none.
        centres: Row and column of its middle, as shares of the side; 0 where there is none.
    """

    images: Float[Tensor, "N 1 24 24"]
    present: Bool[Tensor, "N 3"]
    labels: Int[Tensor, "N 3"]
    centres: Float[Tensor, "N 3 2"]


def scenes(
    images: Float[Tensor, "M 1 8 8"],
    labels: Int[Tensor, " M"],
    number: int,
    generator: torch.Generator,
) -> Scenes:
    """Draw canvases of 24 × 24 pixels, each with one to three digits that do not overlap.

    Args:
        images: Single digits to choose from.
        labels: Which digit each shows.
        number: How many scenes.
        generator: The only source of randomness.
    """
    check_at_least(1, number=number)
    _check_digits(images, labels, generator)
    chosen = torch.randint(len(images), (number, MOST), generator=generator)
    present = torch.arange(MOST) <= torch.randint(MOST, (number, 1), generator=generator)
    corners = _apart(present, generator)
    inside = torch.arange(SIDE)
    rows = (corners[..., 0, None] + inside).unsqueeze(-1)
    columns = (corners[..., 1, None] + inside).unsqueeze(-2)
    canvas = images.new_zeros(number, CANVAS, CANVAS)
    drawn = images[chosen, 0] * present[..., None, None]
    canvas.index_put_((torch.arange(number).view(-1, 1, 1, 1), rows, columns), drawn, True)
    centres = (corners + SIDE / 2) / CANVAS * present.unsqueeze(-1)
    return Scenes(canvas.unsqueeze(1), present, labels[chosen] * present, centres.to(images.dtype))


def _apart(present: Tensor, generator: torch.Generator) -> Tensor:
    """Draw the upper left corners of digits, redrawing wherever two of them overlap."""
    pairs = present.unsqueeze(-1) & present.unsqueeze(-2)
    pairs = pairs & ~torch.eye(MOST, dtype=torch.bool)
    corners = torch.zeros(*present.shape, 2, dtype=torch.long)
    wrong = torch.ones(len(present), dtype=torch.bool)
    while bool(wrong.any()):
        shape = (int(wrong.sum()), MOST, 2)
        corners[wrong] = torch.randint(CANVAS - SIDE + 1, shape, generator=generator)
        distance = (corners.unsqueeze(-2) - corners.unsqueeze(-3)).abs().amax(-1)
        wrong = ((distance < SIDE) & pairs).any(-1).any(-1)
    return corners


def _check_digits(images: Tensor, labels: Tensor, generator: torch.Generator) -> None:
    check_float("M 1 8 8", images=images)
    check_shape((len(images), 1, SIDE, SIDE), images=images)
    check_integers("M", labels=labels)
    check_shape((len(images),), labels=labels)
    check_instance(torch.Generator, generator=generator)
    if not len(images):
        raise ValueError("images must hold at least one digit, got none")
