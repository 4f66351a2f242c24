"""Every symptom shows with its cause planted, and is gone after the repair."""

import math
from collections.abc import Callable

import pytest
import torch

from course_utils.clinic import small_models, symptoms
from course_utils.clinic.symptoms import SYMPTOMS, Symptom

# What each measurement must be at least, or at most, with the cause and without it.
BOUNDS = {
    symptoms.loss_below_entropy: ((0.0, 0.5), (math.log(8) - 0.05, math.log(8) + 0.3)),
    symptoms.not_a_number: ((1 / 3, 1 / 3), (0.0, 0.0)),
    symptoms.padding_matters: ((0.1, 10.0), (0.0, 1e-12)),
    symptoms.ignores_the_start: ((1.0, 1.0), (0.0, 0.5)),
    symptoms.worse_in_half: ((0.2, 1.0), (0.0, 0.0)),
    symptoms.equal_weights: ((0.99, 1.0), (0.0, 0.95)),
    symptoms.one_key: ((0.7, 1.0), (0.0, 0.4)),
    symptoms.bad_beyond: ((0.01, 10.0), (0.0, 1e-9)),
    symptoms.cached_unlike: ((0.1, 10.0), (0.0, 1e-12)),
    symptoms.memory_squared: ((1.99, 2.01), (0.0, 1.1)),
    symptoms.slower_window: ((1.99, 2.01), (0.0, 1.2)),
    symptoms.no_gradient: ((0.0, 0.0), (0.1, 100.0)),
    symptoms.order_ignored: ((1.0, 1.0), (0.0, 0.0)),
    symptoms.good_and_bad: ((0.0, 0.5), (0.9, 1.0)),
}


def test_there_are_fourteen_and_all_are_bounded() -> None:
    assert len(SYMPTOMS) == 14
    assert set(BOUNDS) == set(SYMPTOMS)


@pytest.mark.thorough
@pytest.mark.parametrize("plant", SYMPTOMS, ids=lambda plant: plant.__name__)
def test_a_symptom_shows_and_is_repaired(plant: Callable[[], Symptom]) -> None:
    before = torch.get_rng_state()
    one = plant()
    assert torch.equal(torch.get_rng_state(), before)
    for value, (low, high) in zip((one.before, one.after), BOUNDS[plant], strict=True):
        assert low - 1e-9 <= value <= high + 1e-9


@pytest.mark.thorough
def test_a_model_that_reads_both_ways_does_not_learn_to_write() -> None:
    for masked, low, high in ((True, 0.95, 1.0), (False, 0.0, 0.8)):
        model = small_models.striding(masked=masked)
        right = sum(small_models.follows(model, stride, masked) for stride in (1, 3, 5, 7)) / 4
        assert low <= right <= high
