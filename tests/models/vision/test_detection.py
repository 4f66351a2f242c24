"""The small detector: what its queries share, who gets whom, and what the loss is made of."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.models.tasks.detection_training import judged_scenes
from course_utils.models.vision.detection import (
    FAR,
    NOTHING,
    QUERIES,
    RARE,
    Detector,
    detection_loss,
    matched,
)


def answers(number: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(number, QUERIES, NOTHING + 1, generator=generator)
    return scores, torch.rand(number, QUERIES, 2, generator=generator)


def test_queries_that_are_alike_answer_alike() -> None:
    torch.manual_seed(0)
    images = judged_scenes(2).images
    for alike in (True, False):
        places = Detector(alike=alike)(images)[1]
        assert bool((places - places[:, :1]).abs().max() < 1e-6) is alike


def test_weights_are_where_the_last_layer_looks() -> None:
    torch.manual_seed(0)
    weights = Detector().weights(judged_scenes(2).images)
    assert weights.shape == (2, QUERIES, 6, 6)
    torch.testing.assert_close(weights.sum(dim=(-1, -2)), torch.ones(2, QUERIES))


def test_the_optimal_way_gives_no_query_twice_to_digits_that_are_there() -> None:
    scenes = judged_scenes(40)
    query = matched(*answers(40), scenes, "optimal")
    for row, there in zip(query, scenes.present, strict=True):
        assert len(set(row[there].tolist())) == int(there.sum())
    cheapest = matched(*answers(40), scenes, "cheapest")
    assert any(
        len(set(r[t].tolist())) < t.sum() for r, t in zip(cheapest, scenes.present, strict=True)
    )
    with pytest.raises(ValueError, match='how must be "optimal" or "cheapest", got \'greedy\''):
        matched(*answers(40), scenes, "greedy")


def test_the_loss_is_a_sum_over_pairs() -> None:
    scenes = judged_scenes(6)
    scores, centres = answers(6)
    query = matched(scores, centres, scenes, "optimal")
    names, weights, far = [], [], []
    for b in range(6):
        wanted = [NOTHING] * QUERIES
        for t in range(3):
            if scenes.present[b, t]:
                q = int(query[b, t])
                wanted[q] = int(scenes.labels[b, t])
                far.append((centres[b, q] - scenes.centres[b, t]).abs().sum())
        for q, name in enumerate(wanted):
            weight = RARE if name == NOTHING else 1.0
            weights.append(weight)
            names.append(-weight * F.log_softmax(scores[b, q], dim=-1)[name])
    total = torch.stack(names).sum() / sum(weights) + FAR * torch.stack(far).mean()
    torch.testing.assert_close(detection_loss(scores, centres, scenes), total)
