"""Findings of the shared laws, in words: the messages, and results where nothing is to be seen."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from course_utils import attention, measure, models, positions

NEW = torch.zeros(2, 1, 1, 3)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: attention.paged_gather(NEW[0], torch.tensor([0]), 1), ValueError, "num_blocks"),
        (lambda: positions.to_interleaved(torch.tensor(1.0)), ValueError, "at least one axis"),
        (
            lambda: positions.is_permutation_equivariant(
                abs, torch.zeros(1, 0, 2), torch.arange(0)
            ),
            ValueError,
            "at least one number",
        ),
        (lambda: measure.exact_match([1], torch.zeros(1, 1).long(), 0), TypeError, "predicted"),
        (lambda: models.token_probabilities(torch.tensor(1.0)), ValueError, "at least one axis"),
        (lambda: models.draw_tokens(torch.zeros(1, 2, 3)), ValueError, r"\(B, num_tokens\)"),
        (
            lambda: models.token_accuracy(torch.zeros(1, 3).long(), torch.zeros(1, 3).long()),
            ValueError,
            "one column less",
        ),
    ],
)
def test_the_message_names_what_must_hold(
    call: Callable[[], Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        call()


def test_without_keys_the_cheap_attentions_give_zeros() -> None:
    query, nothing = torch.ones(2, 3, 4), torch.ones(2, 0, 4)
    projection = torch.ones(5, 4)
    zeros = torch.zeros(2, 3, 4)
    assert torch.equal(attention.linear_attention(query, nothing, nothing), zeros)
    assert torch.equal(attention.performer_attention(query, nothing, nothing, projection), zeros)


def test_sparse_weights_over_nothing_are_nothing_and_nan_stays_nan() -> None:
    for weights in (attention.sparsemax, lambda scores: attention.entmax(scores, 1.5)):
        assert weights(torch.zeros(2, 0)).shape == (2, 0)
        assert bool(weights(torch.tensor([1.0, torch.nan])).isnan().any())
