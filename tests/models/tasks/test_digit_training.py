"""Models of digits learn a little in a few steps, and say what they are judged by."""

import pytest
import torch

from course_utils.data.digits import load_digits
from course_utils.models.tasks.digit_training import (
    MeanPooled,
    SmallCNN,
    digit_vit,
    judge_on_digits,
    share_right,
    train_on_digits,
    xca_vit,
)


@pytest.mark.thorough
def test_models_of_one_size_learn_the_same_in_every_run() -> None:
    sizes = [sum(p.numel() for p in make().parameters()) for make in (digit_vit, SmallCNN)]
    assert abs(sizes[0] - sizes[1]) < 1000
    losses = []
    for _ in range(2):
        torch.manual_seed(0)
        losses.append(train_on_digits(SmallCNN(), seed=0, steps=60))
    assert losses[0] == losses[1]
    assert losses[0][-1] < losses[0][0] / 2


def test_every_kind_of_transformer_reads_digits() -> None:
    images = load_digits().test_images[:3]
    for model in (digit_vit(), xca_vit(), MeanPooled(digit_vit())):
        assert model(images).shape == (3, 10)
    assert digit_vit(0.0).positions.abs().max() == 0


def test_a_share_is_what_is_right() -> None:
    known = load_digits()
    right = torch.nn.functional.one_hot(known.test_labels[:4], 10).float()
    right[0] = right[0].roll(1)
    assert share_right(lambda _: right, known.test_images[:4], known.test_labels[:4]) == 0.75  # type: ignore[arg-type]
    assert set(judge_on_digits(SmallCNN())) == {"test", "shifted"}
