"""Test what counts as located and as named."""

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.models.tasks.detection_training import (
    judge_detector,
    judged_scenes,
    train_detector,
)
from course_utils.models.vision.detection import NOTHING, QUERIES, Detector


class Told(Detector):
    """Answers with what it is told."""

    told: tuple[Tensor, Tensor]

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        return self.told


def test_each_answer_counts_for_one_digit() -> None:
    scenes, model = judged_scenes(30), Told()
    labels = torch.full((30, QUERIES), NOTHING)
    labels[:, :3] = torch.where(scenes.present, scenes.labels, NOTHING)
    centres = torch.zeros(30, QUERIES, 2)
    centres[:, :3] = scenes.centres
    model.told = (9.0 * F.one_hot(labels, NOTHING + 1), centres)
    assert judge_detector(model, scenes) == {"located": 1.0, "named": 1.0, "claims": 1.0}
    labels[:, 1:] = NOTHING
    model.told = (9.0 * F.one_hot(labels, NOTHING + 1), centres)
    found = judge_detector(model, scenes)
    assert found["located"] == found["claims"] == 30 / int(scenes.present.sum())


def test_a_detector_trains() -> None:
    torch.manual_seed(0)
    assert len(train_detector(Detector(), steps=2, seed=0, how="cheapest")) == 2
