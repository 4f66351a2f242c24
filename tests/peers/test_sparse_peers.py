"""Sparsemax and entmax beside the closed forms of their papers, row by row."""

import pytest
import torch
from peer_support import assert_same_function, draw
from torch import Tensor

from course_utils.attention import entmax, sparsemax


def threshold(kept: Tensor, alpha: float) -> Tensor:
    """Return τ where just these scores are kept.

    For 2, Martins and Astudillo 2016, Equation 4; for 1.5, Peters, Niculae and Martins 2019,
    Sparse Sequence-to-Sequence Models, Appendix C.
    """
    if alpha == 2.0:
        return (kept.sum() - 1.0) / len(kept)
    mean = kept.mean()
    return mean - ((1.0 - (kept - mean).square().sum()) / len(kept)).sqrt()


def weights(row: Tensor, alpha: float) -> Tensor:
    """Return the weights with the most scores above their own threshold."""
    descending = ((alpha - 1.0) * row).sort(descending=True).values
    for count in range(len(row), 0, -1):
        tau = threshold(descending[:count], alpha)
        if tau < descending[count - 1]:  # false where tau is NaN
            above = (alpha - 1.0) * row > tau
            root = torch.where(above, (alpha - 1.0) * row - tau, 0.0)
            return root.pow(1.0 / (alpha - 1.0))
    raise ValueError("one score is always above its own threshold")


@pytest.mark.parametrize(
    ("ours", "alpha"),
    [(sparsemax, 2.0), (lambda x: entmax(x, 2.0), 2.0), (lambda x: entmax(x, 1.5), 1.5)],
    ids=["sparsemax", "entmax 2", "entmax 1.5"],
)
@pytest.mark.parametrize("num_keys", [1, 2, 9])
@pytest.mark.peer(
    "08", "`sparsemax`, `entmax`", "the papers' thresholds in closed form, in a loop",
    "float64 1e-7", "weights, gradients",
)  # fmt: skip
def test_the_threshold_is_the_papers_closed_form(num_keys, ours, alpha) -> None:
    def theirs(scores: Tensor) -> Tensor:
        rows = scores.flatten(0, -2)
        return torch.stack([weights(row, alpha) for row in rows]).view(scores.shape)

    assert_same_function(ours, theirs, (draw(3, 4, num_keys),))
