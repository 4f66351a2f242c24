"""Digits, their shifts, numbers written with them, and scenes."""

import pytest
import torch
from sklearn import datasets

from course_utils.data import Digits, caption, load_digits, number_strips, scenes, shifted


@pytest.fixture(scope="module")
def digits() -> Digits:
    return load_digits()


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_the_digits_are_scikit_learn_s_in_another_order(digits: Digits) -> None:
    assert digits.images.shape == (1347, 1, 8, 8)
    assert digits.test_images.shape == (450, 1, 8, 8)
    both = torch.cat([digits.images, digits.test_images]).flatten(1)
    labels = torch.cat([digits.labels, digits.test_labels])
    theirs = datasets.load_digits()

    def rows(images: torch.Tensor, labels: torch.Tensor) -> list[tuple[float, ...]]:
        return sorted(tuple(row) for row in torch.cat([images, labels[:, None]], 1).tolist())

    want = rows(torch.tensor(theirs.data).float() / 16, torch.tensor(theirs.target).float())
    assert rows(both, labels.float()) == want
    assert load_digits() is digits
    assert (digits.test_labels.bincount(minlength=10) > 25).all()


def test_they_are_the_same_wherever_they_are_first_asked_for(digits: Digits) -> None:
    with torch.device("meta"), torch.inference_mode():
        again = load_digits.__wrapped__()
    assert torch.equal(again.images, digits.images)
    assert not again.images.is_inference()


def test_shifts_move_by_at_most_one_pixel(digits: Digits) -> None:
    images = digits.images[:200]
    moved = shifted(images, generator())
    padded = torch.nn.functional.pad(images, (1, 1, 1, 1))
    ways = torch.stack([padded[..., i : i + 8, j : j + 8] for i in range(3) for j in range(3)])
    fits = (ways == moved).flatten(2).all(-1)
    assert fits.any(0).all()
    assert (fits.sum(1) > 5).all()  # every way comes up
    assert torch.equal(moved, shifted(images, generator()))


def test_numbers_are_written_with_the_digits_they_name(digits: Digits) -> None:
    assert caption(470) == "four seven zero"
    assert caption(3) == "zero zero three"
    numbers = torch.tensor([470, 3, 999, 120])
    strips = number_strips(numbers, digits.images, digits.labels, generator())
    assert strips.shape == (4, 1, 8, 24)
    for number, strip in zip(numbers.tolist(), strips, strict=True):
        for digit, square in zip(f"{number:03d}", strip.split(8, dim=-1), strict=True):
            found = (digits.images == square).flatten(1).all(-1).nonzero()[0]
            assert int(digits.labels[found]) == int(digit)


def test_scenes_hold_what_they_say(digits: Digits) -> None:
    made = scenes(digits.images, digits.labels, 300, generator())
    assert made.images.shape == (300, 1, 24, 24)
    assert float(made.images.max()) <= 1.0
    counts = made.present.sum(1).bincount(minlength=4)
    assert counts[0] == 0
    assert (counts[1:] > 60).all()
    for image, present, labels, centres in zip(
        made.images[:40, 0], made.present, made.labels, made.centres, strict=False
    ):
        left = image.clone()
        for there, label, centre in zip(present, labels, centres, strict=True):
            if not there:
                assert not label
                assert not centre.any()
                continue
            row, column = (centre * 24 - 4).round().int().tolist()
            square = image[row : row + 8, column : column + 8]
            found = (digits.images[:, 0] == square).flatten(1).all(-1).nonzero()[0]
            assert int(digits.labels[found]) == int(label)
            left[row : row + 8, column : column + 8] = 0.0
        assert not left.any()


IMAGES, LABELS = torch.zeros(10, 1, 8, 8), torch.arange(10)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: caption(1000), ValueError, "number must be from 0 to 999, got 1000"),
        (
            lambda: number_strips(torch.tensor([-1]), IMAGES, LABELS, generator()),
            ValueError, r"numbers must be from 0 to 999, got \[-1\]",
        ),
        (
            lambda: number_strips(torch.tensor([1]), IMAGES[:9], LABELS[:9], generator()),
            ValueError, "each digit needs an image",
        ),
        (lambda: scenes(IMAGES, LABELS, 0, generator()), ValueError, "number must be at least 1"),
        (
            lambda: scenes(IMAGES[:0], LABELS[:0], 1, generator()),
            ValueError, "images must hold at least one digit, got none",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
