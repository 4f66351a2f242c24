"""A deep stack of layers that predicts the next character, with the norm before or after each part.

Source: Xiong et al. 2020, On Layer Normalization in the Transformer Architecture, sections 3 and 4,
    https://arxiv.org/abs/2002.04745, who train both orders with and without warm-up
Ours / theirs: pre_norm = Pre-LN, else Post-LN
Differs: small, on characters, one rate after the warm-up, gradients not clipped: whatever keeps the
    training stable other than the order and the warm-up is left out.
"""

from __future__ import annotations

from functools import partial
from typing import Unpack

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_utils.attention import causal_mask
from course_utils.data import CharacterText
from course_utils.models.tokens import embedded
from course_utils.models.training import Training, train, window_loss
from course_utils.models.transformer.layer_modules import EncoderLayer
from course_utils.validation import check_at_least


class DeepStack(nn.Module):
    """Causal layers between a table of characters and the scores of the next one.

    Args:
        num_characters: Size of the alphabet.
        num_layers: How deep the stack is.
        pre_norm: Whether the norms come before the parts; then one more follows the last layer.
        d_model: Width of the stream.
        num_heads: Heads of each attention.
        length: The longest window.
    """

    def __init__(
        self,
        num_characters: int,
        *,
        num_layers: int,
        pre_norm: bool,
        d_model: int = 32,
        num_heads: int = 4,
        length: int = 32,
    ) -> None:
        super().__init__()
        check_at_least(1, num_characters=num_characters, num_layers=num_layers, length=length)
        self.token = nn.Embedding(num_characters, d_model)
        self.place = nn.Embedding(length, d_model)
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, num_heads, 4 * d_model, pre_norm=pre_norm)
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model) if pre_norm else nn.Identity()
        self.out = nn.Linear(d_model, num_characters)

    def streams(self, tokens: Int[Tensor, "B L"]) -> list[Float[Tensor, "B L d_model"]]:
        """Return the stream below the first layer and after each."""
        length = tokens.shape[1]
        mask = causal_mask(length, length)
        streams = [embedded(self.token, tokens) + self.place.weight[:length]]
        for layer in self.layers:
            streams.append(layer(streams[-1], mask))
        return streams

    def forward(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B L num_characters"]:
        """Return the scores of the next character at each position."""
        return self.out(self.norm(self.streams(tokens)[-1]))


def train_deep_stack(
    model: DeepStack,
    text: CharacterText,
    *,
    warm_up: int,
    learning_rate: float,
    batch: int = 8,
    **how: Unpack[Training],
) -> list[float]:
    """Train in place with Adam, the rate rising to its peak over the warm-up and staying there.

    Args:
        model: What to train.
        text: Where the windows are cut from.
        warm_up: Over how many steps the rate rises; 0 begins at the peak.
        learning_rate: The peak.
        batch: Windows in an update.
        **how: steps, seed, progress and watch; see `Training`.

    Returns:
        The loss of each step.
    """
    check_at_least(0, steps=how["steps"], warm_up=warm_up)
    return train(
        model, window_loss(model, text.train, len(model.place.weight), batch), learning_rate,
        partial(torch.optim.Adam, betas=(0.9, 0.98)), clip=None,
        rate=lambda step: min(1.0, step / max(1, warm_up)), **how,
    )  # fmt: skip
