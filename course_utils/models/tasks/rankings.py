"""Rank words by how much they mattered: by a classifier's weights, and without weights.

Source: Abnar and Zuidema 2020, https://arxiv.org/abs/2005.00928 (rollout, flow); Chefer, Gur and
    Wolf 2021, https://arxiv.org/abs/2103.15679 (gradient attention); Jain and Wallace 2019,
    https://arxiv.org/abs/1902.10186 (each compared with leave-one-out)
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_utils.data.two_languages import Documents
from course_utils.interpretability import (
    attention_flow,
    attention_rollout,
    gradient_attention,
    leave_one_out,
    rank_correlation,
)
from course_utils.models.tasks.text_classifier import TextClassifier


def slopes(
    model: TextClassifier, documents: Documents
) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """Return each layer's weights, the predicted class's gradient in them, and gradient × input.

    Args:
        model: What predicts.
        documents: What it reads.
    """
    read: list[Tensor] = []

    def mark(module: nn.Module, given: Any, words: Tensor) -> Tensor:
        read.append(words.detach().requires_grad_())
        return read[0]

    hook = model.token.register_forward_hook(mark)
    try:
        scores, layers = model.explain(documents.tokens, documents.mask)
    finally:
        hook.remove()
    predicted = scores.amax(dim=-1).sum()
    *gradients, slope = torch.autograd.grad(predicted, [*layers, read[0]])
    return [one.detach() for one in layers], gradients, (slope * read[0]).sum(dim=-1).detach()


def added_up(
    layers: Sequence[Float[Tensor, "B H L L"]], factors: Sequence[Float[Tensor, "B H L L"]]
) -> Float[Tensor, "B L L"]:
    """Return gradient attention without its cut at 0: weights × factors, added up over the layers.

    Args:
        layers: The weights of each layer, the first layer first.
        factors: What each weight is multiplied by, with its sign.
    """
    relevance = torch.eye(layers[0].shape[-1]).expand(len(layers[0]), -1, -1)
    for weights, factor in zip(layers, factors, strict=True):
        relevance = relevance + (weights * factor).mean(dim=1) @ relevance
    return relevance


def token_rankings(
    model: TextClassifier, documents: Documents, flows: int = 0
) -> dict[str, Float[Tensor, "N L"]]:
    """Return how much each token counts for the class token's state, by each method.

    Args:
        model: What predicts.
        documents: What it reads.
        flows: For how many documents the maximum flow is computed too.
    """
    layers, gradients, with_input = slopes(model, documents)
    means = [one.mean(dim=1) for one in layers]
    generator = torch.Generator().manual_seed(0)
    length = documents.tokens.shape[1]
    return {
        "leave-one-out": leave_one_out(model.predict, documents.tokens, documents.mask),
        "raw weights": means[-1][:, 0],
        "rollout": attention_rollout(layers)[:, 0],
        "flow": torch.tensor(
            [[attention_flow([one[n] for one in means], token, 0) for token in range(length)]
             for n in range(flows)]
        ),
        "weights × |gradient|": added_up(layers, [one.abs() for one in gradients])[:, 0],
        "weights × gradient": added_up(layers, gradients)[:, 0],
        "gradient attention": gradient_attention(layers, gradients)[:, 0],
        "gradient × input": with_input,
        "random": torch.rand(documents.tokens.shape, generator=generator),
    }  # fmt: skip


def mean_agreement(
    said: Float[Tensor, "n L"], left: Float[Tensor, "N L"], mask: Bool[Tensor, "N L"]
) -> float:
    """Return the mean rank correlation over the first n documents, the class token left out.

    Args:
        said: One ranking.
        left: The other.
        mask: True where a token is real.
    """
    each = [
        rank_correlation(a[real][1:], b[real][1:])
        for a, b, real in zip(said.double(), left.double(), mask, strict=False)
    ]
    return float(torch.stack(each).mean())
