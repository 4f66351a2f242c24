"""Kernel smoothing: an average of values, weighted by how near their keys are.

Source: Nadaraya 1964, On Estimating Regression, https://doi.org/10.1137/1109020, and
    Watson 1964, Smooth Regression Analysis, with a Gaussian kernel;
    as attention: Tsai et al. 2019, Transformer Dissection, https://arxiv.org/abs/1908.11775
Ours / theirs: query = x, key = X_i, value = Y_i, bandwidth = h
Same contract as: SDPA with scale 1/h² and the bias -|k|²/(2h²) on its scores; without the bias
    where all keys have one norm, since |q - k|² = |q|² - 2 q·k + |k|², and |q|² cancels
"""

from jaxtyping import Float
from torch import Tensor

from course_utils.attention.core.softmax import stable_softmax
from course_utils.validation import check_positive, check_query_key_value


def nadaraya_watson(
    query: Float[Tensor, "*batch L d"],
    key: Float[Tensor, "*batch S d"],
    value: Float[Tensor, "*batch S d_v"],
    bandwidth: float,
) -> Float[Tensor, "*batch L d_v"]:
    """Return, for each query, the average of the values with weights ∝ exp(-|q - k|²/(2h²)).

    A small bandwidth gives the value of the nearest key, a large one the plain mean.

    Args:
        query: Where the curve is evaluated.
        key: Where it was measured.
        value: What was measured there.
        bandwidth: The distance h over which a measurement counts.
    """
    check_query_key_value(query, key, value)
    check_positive(bandwidth=bandwidth)
    # Differences first: far from 0, the squares of the formula above would cancel to noise.
    apart = (query.unsqueeze(-2) - key.unsqueeze(-3)) / bandwidth
    return stable_softmax(-apart.square().sum(-1) / 2) @ value
