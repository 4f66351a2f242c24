import math

import pytest
import torch

from course_utils.attention import (
    local_monotonic_weights,
    local_predictive_weights,
    predicted_centre,
)
from tests.support import draw


@pytest.mark.parametrize(("num_queries", "num_keys"), [(3, 7), (5, 5), (8, 4), (1, 6), (4, 1)])
@pytest.mark.parametrize("half_width", [0, 1, 3])
def test_local_m_is_a_softmax_over_the_window_alone(num_queries, num_keys, half_width) -> None:
    scores = draw(2, num_queries, num_keys)
    weights = local_monotonic_weights(scores, half_width, offset=1)
    for b in range(2):
        for i in range(num_queries):
            window = [s for s in range(num_keys) if abs(s - (i + 1)) <= half_width]
            want = torch.zeros(num_keys, dtype=torch.float64)
            if window:
                want[window] = scores[b, i, window].softmax(-1)
            torch.testing.assert_close(weights[b, i], want)


def test_local_m_step_by_step_is_local_m_at_once() -> None:
    scores = draw(2, 5, 6)
    steps = [local_monotonic_weights(scores[:, i : i + 1], 2, offset=i) for i in range(5)]
    torch.testing.assert_close(torch.cat(steps, 1), local_monotonic_weights(scores, 2))


@pytest.mark.parametrize(("num_queries", "num_keys"), [(3, 7), (5, 5), (8, 4), (1, 6), (4, 1)])
@pytest.mark.parametrize("sigma", [0.6, 2])
def test_local_p_agrees_with_luong_s_equation_10(num_queries, num_keys, sigma) -> None:
    scores, centre = draw(2, num_queries, num_keys), 3 * draw(2, num_queries, seed=1)
    weights = local_predictive_weights(scores, centre, sigma)
    align = scores.softmax(-1)
    for b in range(2):
        for i in range(num_queries):
            for s in range(num_keys):
                fade = math.exp(-((s - centre[b, i].item()) ** 2) / (2 * sigma**2))
                want = align[b, i, s].item() * fade
                assert weights[b, i, s].item() == pytest.approx(want, rel=1e-9, abs=1e-300)


def test_local_p_lets_the_gradient_reach_scores_and_centre() -> None:
    scores, centre = draw(2, 3, 5).requires_grad_(), draw(2, 3, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda s, c: local_predictive_weights(s, c, 1.5), (scores, centre)
    )


def test_local_p_gives_padding_nothing() -> None:
    scores = draw(1, 2, 4)
    scores[..., 3] = -torch.inf
    weights = local_predictive_weights(scores, torch.full((1, 2), 3.0).double(), 1.0)
    assert not weights[..., 3].any()
    assert weights[..., :3].all()


def test_the_predicted_centre_agrees_with_luong_s_equation_9() -> None:
    query, W_p, v_p = draw(2, 3, 4), draw(4, 5), draw(5)
    lengths = torch.tensor([6, 9])
    centre = predicted_centre(query, W_p, v_p, lengths)
    for b in range(2):
        for i in range(3):
            share = torch.sigmoid(v_p.dot(torch.tanh(W_p.T @ query[b, i])))
            torch.testing.assert_close(centre[b, i], lengths[b] * share)
    assert ((centre > 0) & (centre < lengths.unsqueeze(-1))).all()


SCORES, CENTRE = torch.zeros(2, 3, 5), torch.zeros(2, 3)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: local_monotonic_weights(SCORES[0, 0], 1), ValueError, "at least two axes"),
        (lambda: local_predictive_weights(SCORES, CENTRE, 0.0), ValueError, "above 0, got 0.0"),
    ],
)
def test_bad_input_is_named(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
