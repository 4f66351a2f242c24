"""The bit tasks ask what they say, and the record is theirs."""

import pytest
import torch

from course_utils.measure import read_record
from course_utils.models.tasks import bit_tasks
from course_utils.models.tasks.bit_tasks import ASK, bit_model, draw_bits, judge_bits, train_bits


def test_answers_are_those_of_a_count() -> None:
    tokens, answers = draw_bits(6, 50, torch.Generator().manual_seed(3))
    for row, odd, more in zip(tokens.tolist(), *answers.values(), strict=True):
        ones = row[:-1].count(1)
        assert row[-1] == ASK
        assert len(row) == 7
        assert bool(odd) == (ones % 2 == 1)
        assert bool(more) == (ones > 3)


def test_strings_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="n must be at least 1, got 0"):
        draw_bits(0, 2, torch.Generator())


def test_the_same_seed_trains_the_same_model_and_leaves_torchs_generator_of_batches_alone() -> None:
    losses = []
    for _ in range(2):
        model = bit_model(3, 1)
        before = torch.get_rng_state()
        losses.append(train_bits(model, "parity", 3, steps=3, seed=1))
        assert torch.equal(before, torch.get_rng_state())
        judge_bits(model, "parity", 3, 8)
    assert losses[0] == losses[1]


def test_a_short_training_learns_the_majority_of_three() -> None:
    model = bit_model(3, 0)
    train_bits(model, "majority", 3, steps=60, seed=0)
    assert judge_bits(model, "majority", 3, 200) == 1.0


def test_the_record_is_of_these_tasks() -> None:
    settings = read_record("chapter_15_parity")["settings"]
    sizes = (settings["d_model"], settings["heads"], settings["layers"])
    assert sizes == (bit_tasks.D_MODEL, bit_tasks.HEADS, bit_tasks.LAYERS)
