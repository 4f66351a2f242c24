"""Gradient attention: weights counted only where they favour a class, accumulated over layers.

Source: Chefer, Gur and Wolf 2021, Generic Attention-model Explainability for Interpreting Bi-Modal
    and Encoder-Decoder Transformers, Eq. 5 and 6, https://arxiv.org/abs/2103.15679
Ours / theirs: layers, gradients, relevance = A, ∇A, R
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.interpretability._layers import check_layers


def gradient_attention(
    layers: Sequence[Float[Tensor, "B H L L"]], gradients: Sequence[Float[Tensor, "B H L L"]]
) -> Float[Tensor, "B L L"]:
    """Return how relevant each input token is for each position above the last layer.

    Per layer, the heads' mean of gradient times weight, negative products cut to 0. The identity,
    each position's relevance for itself, is left in.

    Args:
        layers: The weights of each layer, the first layer first.
        gradients: The slope, in each of these weights, of the score that is to be explained.
    """
    check_layers("B H L L", layers=layers, gradients=gradients)
    if len(layers) != len(gradients):
        raise ValueError(
            f"there must be gradients for each layer, got {len(gradients)} for {len(layers)} layers"
        )
    batch, _, length, _ = layers[0].shape
    relevance = torch.eye(length, dtype=layers[0].dtype, device=layers[0].device)
    relevance = relevance.expand(batch, -1, -1)
    for weights, gradient in zip(layers, gradients, strict=True):
        speaking = (gradient * weights).clamp(min=0).mean(dim=1)
        relevance = relevance + speaking @ relevance
    return relevance
