"""Pairs: what is never shown, what recall counts, and that both models train."""

import torch

from course_utils.models.tasks.pair_training import (
    all_captions,
    all_scores,
    gallery,
    recall_at_1,
    split_numbers,
    strips,
    train_fusion,
    train_towers,
)
from course_utils.models.vision.two_towers import Fusion, TwoTowers


def test_no_number_is_both_learnt_and_judged() -> None:
    known, unseen = split_numbers()
    assert (len(known), len(unseen)) == (800, 200)
    assert len({*known.tolist(), *unseen.tolist()}) == 1000
    pictures, captions = gallery()
    assert pictures.shape == (200, 1, 8, 24)
    assert torch.equal(captions, all_captions()[unseen])
    assert strips(known[:3], torch.Generator().manual_seed(0)).shape == (3, 1, 8, 24)


def test_recall_counts_both_ways() -> None:
    scores = torch.tensor([[3.0, 0.0, 0.0], [4.0, 5.0, 0.0], [0.0, 6.0, 1.0]])
    assert recall_at_1(scores) == (2 / 3, 1 / 3)


def test_both_models_train_and_score_every_pair() -> None:
    torch.manual_seed(0)
    towers, fusion = TwoTowers(), Fusion()
    assert len(train_towers(towers, steps=2, seed=0)) == 2
    assert len(train_fusion(fusion, steps=2, seed=0)) == 2
    assert all_scores(towers).shape == (200, 200)
