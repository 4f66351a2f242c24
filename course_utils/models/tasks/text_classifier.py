"""A small encoder that tells two languages apart, and exposes what explanations need.

Source: Devlin et al. 2019, BERT, section 3, https://arxiv.org/abs/1810.04805: a class token in
    front, whose last state is classified
Differs: two layers, words for tokens
"""

from collections.abc import Callable
from typing import Unpack

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.data.two_languages import (
    LANGUAGES,
    LONGEST,
    Documents,
    draw_documents,
    vocabulary,
)
from course_utils.models.gpt.positioned_transformer import PositionedTransformer
from course_utils.models.training import Training, train
from course_utils.positions import LearnedPositions

RATE, BATCH = 3e-3, 64


class TextClassifier(PositionedTransformer):
    """Two layers of four heads, width 32, over the words of `draw_documents`."""

    def __init__(self) -> None:
        super().__init__(
            len(vocabulary()[0]), d_model=32, num_heads=4, num_layers=2, d_ff=64,
            positions=LearnedPositions(LONGEST + 1, 32),
        )  # fmt: skip
        self.out = nn.Linear(32, len(LANGUAGES))

    def explain(
        self, tokens: Int[Tensor, "B L"], mask: Bool[Tensor, "B L"]
    ) -> tuple[Float[Tensor, "B classes"], list[Float[Tensor, "B H L L"]]]:
        """Return the score of each language, and each layer's weights in the scores' graph.

        Args:
            tokens: Documents, a class token first.
            mask: True where a token is real; one that is hidden is a key for no query.
        """
        scores, weights = self.read(tokens, mask[:, None, None])
        return scores[:, 0], weights

    @torch.no_grad()
    def predict(
        self, tokens: Int[Tensor, "B L"], mask: Bool[Tensor, "B L"]
    ) -> Float[Tensor, "B classes"]:
        """Return the probability of each language."""
        return self.explain(tokens, mask)[0].softmax(dim=-1)


def train_classifier(
    model: nn.Module,
    score: Callable[[Tensor, Tensor], Tensor],
    *,
    draw: Callable[[int, torch.Generator], Documents] = draw_documents,
    **how: Unpack[Training],
) -> list[float]:
    """Train in place to tell the languages apart; return the loss of each step.

    Args:
        model: What to train.
        score: Takes tokens and mask, returns the score of each language.
        draw: Draws that many of them.
        **how: steps, seed, progress and watch; see `Training`.
    """

    def draw_loss(generator: torch.Generator) -> Tensor:
        documents = draw(BATCH, generator)
        return F.cross_entropy(score(documents.tokens, documents.mask), documents.labels)

    return train(model, draw_loss, RATE, **how)
