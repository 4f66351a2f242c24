"""Kernel smoothing beside scikit-learn's kernel."""

import pytest
import torch
from peer_support import LENGTHS, draw
from sklearn.metrics.pairwise import rbf_kernel

from course_utils.attention import nadaraya_watson


@pytest.mark.parametrize("bandwidth", [0.5, 1.0, 4.0])
@pytest.mark.parametrize(("num_queries", "num_keys"), LENGTHS)
@pytest.mark.peer(
    "15", "`nadaraya_watson`", "scikit-learn's `rbf_kernel`, its rows divided by their sums",
    "float64 1e-7", "outputs",
)  # fmt: skip
def test_the_weights_are_scikit_learn_s_kernel(num_queries, num_keys, bandwidth) -> None:
    query, key, value = draw(num_queries, 3), draw(num_keys, 3, seed=1), draw(num_keys, 4, seed=2)
    kernel = torch.from_numpy(rbf_kernel(query.numpy(), key.numpy(), gamma=1 / (2 * bandwidth**2)))
    want = kernel / kernel.sum(-1, keepdim=True) @ value
    torch.testing.assert_close(nadaraya_watson(query, key, value, bandwidth), want)
