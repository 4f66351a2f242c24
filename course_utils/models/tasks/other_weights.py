"""Other weights for the same text: even ones, shuffled ones, and ones optimised to change nothing.

Source: Jain and Wallace 2019, Attention is not Explanation, section 4.2, https://arxiv.org/abs/1902.10186
    even weights: Wiegreffe and Pinter 2019, section 3.1, https://arxiv.org/abs/1908.04626
Ours / theirs: room = ε, total_variation = TVD, divergence = JSD
Differs: the weights of all documents are optimised together, by Adam on free scores, each document
    by itself as in the paper
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_utils.attention import masked_softmax
from course_utils.models.tasks.pooled_classifier import PooledClassifier


def divergence(p: Float[Tensor, "*batch S"], q: Float[Tensor, "*batch S"]) -> Tensor:
    """Return the Jensen–Shannon divergence of rows in nats, from 0 to ln 2.

    Args:
        p: Rows that sum to 1.
        q: Others.
    """
    middle = ((p + q) / 2).clamp(min=1e-12).log()
    each = [(one * (one.clamp(min=1e-12).log() - middle)).sum(dim=-1) for one in (p, q)]
    return torch.stack(each).mean(dim=0)


def total_variation(p: Float[Tensor, "*batch C"], q: Float[Tensor, "*batch C"]) -> Tensor:
    """Return half of the sum of the differences, from 0 to 1.

    Args:
        p: Probabilities.
        q: Others.
    """
    return (p - q).abs().sum(dim=-1) / 2


def even_weights(mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B S"]:
    """Return the same weight for every real word of a document.

    Args:
        mask: True where a word is real; there must be one in each row.
    """
    return mask / mask.sum(dim=-1, keepdim=True)


def shuffled_weights(
    weights: Float[Tensor, "B S"], mask: Bool[Tensor, "B S"], generator: torch.Generator
) -> Float[Tensor, "B S"]:
    """Return the same weights, shuffled among the real words of each document.

    Args:
        weights: What the model chose.
        mask: True where a word is real; those must be on the left.
        generator: The only source of randomness.
    """
    order = torch.rand(mask.shape, generator=generator).masked_fill(~mask, 2.0).argsort(dim=-1)
    return weights.gather(-1, order).masked_fill(~mask, 0.0)


def adversarial_weights(
    model: PooledClassifier,
    vectors: Float[Tensor, "B S d"],
    weights: Float[Tensor, "B S"],
    mask: Bool[Tensor, "B S"],
    *,
    room: float = 0.01,
    steps: int = 250,
) -> Float[Tensor, "B S"]:
    """Return weights as far as possible from the model's own, with nearly the same output.

    Args:
        model: Classifies.
        vectors: What is averaged.
        weights: What the model chose.
        mask: True where a word is real.
        room: How far the output may move, in total variation.
        steps: Steps of Adam.
    """
    own, vectors = weights.detach(), vectors.detach()
    output = model.classify(own, vectors).softmax(dim=-1).detach()
    noise = torch.randn(own.shape, generator=torch.Generator().manual_seed(0))
    free = (own.clamp(min=1e-6).log() + 0.1 * noise).requires_grad_()
    optimiser = torch.optim.Adam([free], lr=0.1)
    best, farthest = own.clone(), torch.zeros(len(own))
    for _ in range(steps):
        found = masked_softmax(free, mask)
        moved = total_variation(model.classify(found, vectors).softmax(dim=-1), output)
        far = divergence(found, own)
        better = ((moved < room) & (far > farthest)).detach()
        farthest = torch.where(better, far, farthest).detach()
        best = torch.where(better.unsqueeze(-1), found, best).detach()
        loss = (50 * (moved - room / 2).clamp(min=0) - far).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return best
