"""Train and judge the small detector on canvases of digits."""

from typing import Unpack

import torch
from torch import Tensor

from course_utils.data.digit_scenes import CANVAS, Scenes, scenes
from course_utils.data.digits import load_digits
from course_utils.models.training import Training, train
from course_utils.models.vision.detection import NOTHING, Detector, detection_loss

BATCH, RATE, NEAR = 32, 1e-3, 2.0


def judged_scenes(number: int = 300) -> Scenes:
    """Return canvases with digits that are not in the training set."""
    digits = load_digits()
    generator = torch.Generator().manual_seed(1_000)
    return scenes(digits.test_images, digits.test_labels, number, generator)


def train_detector(
    model: Detector, *, how: str = "optimal", **training: Unpack[Training]
) -> list[float]:
    """Train in place; return the loss of each step.

    Args:
        model: What to train.
        how: As in `matched`.
        **training: steps, seed, progress and watch; see `Training`.
    """
    digits = load_digits()

    def draw_loss(generator: torch.Generator) -> Tensor:
        drawn = scenes(digits.images, digits.labels, BATCH, generator)
        scores, centres = model(drawn.images)
        return detection_loss(scores, centres, drawn, how)

    return train(model, draw_loss, RATE, **training)


@torch.no_grad()
def judge_detector(model: Detector, seen: Scenes) -> dict[str, float]:
    """Return the share of digits that a query of their own locates, and the share also classified.

    A query says that it found something where "nothing" is not its likeliest answer. Each digit, in
    order, takes the nearest such query that no other has; it is located within 2 pixels.

    Args:
        model: What finds them.
        seen: Canvases to judge by.
    """
    scores, centres = model(seen.images)
    says = scores.argmax(dim=-1)
    free = says != NOTHING
    claims = free.double().sum().item()
    located = named = 0
    for t in range(seen.labels.shape[1]):
        far = CANVAS * (centres - seen.centres[:, t, None]).norm(dim=-1)
        distance, query = far.masked_fill(~free, torch.inf).min(dim=1)
        hit = (distance <= NEAR) & seen.present[:, t]
        row = hit.nonzero()[:, 0]
        free[row, query[row]] = False
        located += int(hit.sum())
        named += int((says[row, query[row]] == seen.labels[row, t]).sum())
    there = int(seen.present.sum())
    return {"located": located / there, "named": named / there, "claims": claims / there}
