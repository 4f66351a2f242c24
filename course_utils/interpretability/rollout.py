"""Attention rollout: the layers' weights multiplied, each mixed with what the residual carries.

Source: Abnar and Zuidema 2020, Quantifying Attention Flow in Transformers, section 3,
    https://arxiv.org/abs/2005.00928
Ours / theirs: layers, residual, rollout = raw attentions, 0.5, Ã
Differs: the residual's share is an argument
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.interpretability._layers import check_layers
from course_utils.validation import check_number


def attention_rollout(
    layers: Sequence[Float[Tensor, "B H L L"]], residual: float = 0.5
) -> Float[Tensor, "B L L"]:
    """Return how much of each input token is in each position above the last layer.

    It is exact for a stack of layers that only average: whose values are their inputs, whose heads
    contribute equally, and which add `residual` times the stream.

    Args:
        layers: The weights of each layer, the first layer first.
        residual: The stream's own share in the output of a layer, from 0 to 1.

    Raises:
        ValueError: There is no layer, or residual is not a share.
    """
    check_layers("B H L L", layers=layers)
    check_number(residual=residual)
    if not 0 <= residual <= 1:
        raise ValueError(f"residual must be from 0 to 1, got {residual}")
    rollout = own = torch.eye(layers[0].shape[-1], dtype=layers[0].dtype, device=layers[0].device)
    for weights in layers:
        mixed = residual * own + (1 - residual) * weights.mean(dim=1)
        total = mixed.sum(dim=-1, keepdim=True)
        rollout = mixed / torch.where(total == 0, 1.0, total) @ rollout
    return rollout
