import math

import pytest
import torch

from course_utils.attention import attend, context_vector
from tests.support import LENGTHS, draw


@pytest.mark.thorough
@pytest.mark.parametrize("lengths", LENGTHS)
def test_attend_is_a_softmax_over_the_real_keys_alone(lengths) -> None:
    scores, value = draw(3, *lengths), draw(3, lengths[1], 4)
    mask = draw(3, lengths[1], seed=4) > 0
    mask[0] = False
    context, weights = attend(scores, value, mask)
    for b in range(3):
        want = torch.zeros(lengths, dtype=torch.float64)
        if mask[b].any():
            want[:, mask[b]] = scores[b][:, mask[b]].softmax(-1)
        torch.testing.assert_close(weights[b], want)
        torch.testing.assert_close(context[b], want @ value[b])


def test_attend_without_a_real_key_gives_zeros_and_zero_gradient() -> None:
    scores, value = draw(1, 3, 5).requires_grad_(), draw(1, 5, 2).requires_grad_()
    context, weights = attend(scores, value, torch.zeros(1, 5, dtype=torch.bool))
    assert not context.any()
    assert not weights.any()
    for grad in torch.autograd.grad(context.sum() + weights.sum(), (scores, value)):
        assert not grad.any()


def test_the_worked_example_of_three_states() -> None:
    scores = torch.tensor([[[0.8, 2.1, 0.5]]], dtype=torch.float64)
    _, weights = attend(scores, torch.zeros(1, 3, 4).double(), torch.ones(1, 3, dtype=torch.bool))
    powers = [math.exp(score) for score in (0.8, 2.1, 0.5)]
    torch.testing.assert_close(
        weights[0, 0], torch.tensor([power / sum(powers) for power in powers]).double()
    )
    assert [round(w, 4) for w in weights[0, 0].tolist()] == [0.1848, 0.6782, 0.1369]


@pytest.mark.parametrize("leading", [(), (2,), (2, 3)])
def test_a_context_is_the_weighted_sum_of_states(leading) -> None:
    weights, states = draw(*leading, 5), draw(*leading, 5, 3)
    want = sum(weights[..., s, None] * states[..., s, :] for s in range(5))
    torch.testing.assert_close(context_vector(weights, states), want)


Q, K, V = torch.zeros(2, 3, 4), torch.zeros(2, 5, 6), torch.zeros(7)
MASK = torch.ones(2, 5, dtype=torch.bool)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: attend(Q, K, MASK), ValueError, "same number of keys, got 4 and 5"),
        (lambda: attend(Q[..., 0], K, MASK), ValueError, "same number of keys"),
        (lambda: context_vector(Q[..., 0], K), ValueError, "one number for each state"),
        (lambda: context_vector(V, V), ValueError, "one number for each state"),
    ],
)
def test_bad_input_is_named(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
