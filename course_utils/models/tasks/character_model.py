"""The smallest language model with attention: one head that reads characters.

Source: the shape of a GPT with one layer and one head, Radford et al. 2019, Language Models are
    Unsupervised Multitask Learners; its code draws matrices with standard deviation 0.02.
Differs: the scale, and the spread of the first queries and keys, are arguments, because chapter 03
    asks what they do; everything else starts the same, so that a difference has one cause.
"""

from __future__ import annotations

from typing import Literal, Unpack, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.attention import scaled_dot_product_attention
from course_utils.data import CharacterText
from course_utils.models.tokens import embedded
from course_utils.models.training import Training, train, window_loss
from course_utils.validation import (
    check_at_least,
    check_instance,
    check_number,
)

Start = Literal["unit variance", "gpt"]
GPT_STD = 0.02


class CharacterModel(nn.Module):
    """Predict the next character with one head of causal attention and one feed-forward block.

    Args:
        num_characters: Size of the alphabet.
        length: Longest window.
        d_k: Width of queries and keys.
        scale: Factor on the scores, 1/√d_k when None.
        start: How the query and key matrices are drawn. "unit variance": so that the components
            of queries and keys have variance 1; "gpt": with standard deviation 0.02.
        d_model: Width of the stream.
    """

    def __init__(
        self,
        *,
        num_characters: int,
        length: int,
        d_k: int,
        scale: float | None = None,
        start: Start = "unit variance",
        d_model: int = 64,
    ) -> None:
        super().__init__()
        check_at_least(1, num_characters=num_characters, length=length, d_k=d_k, d_model=d_model)
        check_number(scale=1.0 if scale is None else scale)
        check_instance(str, start=start)
        if start not in get_args(Start):
            raise ValueError(f"start must be one of {get_args(Start)}, got {start!r}")
        self.length, self.scale = length, scale
        self.character = nn.Embedding(num_characters, d_model)
        self.position = nn.Embedding(length, d_model)
        self.norm_in, self.norm_out = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(d_model),
            nn.Linear(d_model, 4 * d_model),
            nn.GELU(),
            nn.Linear(4 * d_model, d_model),
        )
        self.head = nn.Linear(d_model, num_characters, bias=False)
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=layer.in_features**-0.5)
        if start == "gpt":
            nn.init.normal_(self.query.weight, std=GPT_STD)
            nn.init.normal_(self.key.weight, std=GPT_STD)

    def forward(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B L num_characters"]:
        """Return the logits of the next character at each position."""
        stream, query, key = self._read(tokens)
        value = self.value(self.norm_in(stream))
        stream = stream + self._attend(query, key, value)
        stream = stream + self.feed_forward(stream)
        return self.head(self.norm_out(stream))

    def weights(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B L L"]:
        """Return how much each position takes from each earlier one."""
        _, query, key = self._read(tokens)
        # With one-hot values, the output of attention is its weights.
        one_hot = torch.eye(tokens.shape[-1], dtype=query.dtype, device=query.device)
        return self._attend(query, key, one_hot.expand(len(tokens), -1, -1))

    def _read(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        stream = embedded(self.character, tokens)
        length = stream.shape[1]
        if length > self.length:
            raise ValueError(f"tokens must be at most {self.length} a sequence, got {length}")
        stream = stream + self.position.weight[:length]
        normed = self.norm_in(stream)
        return stream, self.query(normed), self.key(normed)

    def _attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        length = query.shape[-2]
        earlier = torch.ones(length, length, dtype=torch.bool, device=query.device).tril()
        return scaled_dot_product_attention(query, key, value, earlier, self.scale)


def train_character_model(
    model: CharacterModel,
    text: CharacterText,
    *,
    batch: int = 64,
    learning_rate: float = 1e-2,
    **how: Unpack[Training],
) -> list[float]:
    """Train in place with AdamW, a short warm-up and a cosine; return the loss of each step.

    Args:
        model: What to train.
        text: Where the windows are cut from.
        batch: Windows in an update.
        learning_rate: The highest rate, reached after a tenth of the steps.
        **how: steps, seed, progress and watch; see `Training`.
    """
    draw_loss = window_loss(model, text.train, model.length, batch)
    return train(model, draw_loss, learning_rate, **how)


@torch.no_grad()
def next_character_loss(
    model: CharacterModel, tokens: Int[Tensor, " num_tokens"], windows: int = 64
) -> float:
    """Return the mean loss in nats over the first `windows` windows, end to end.

    Raises:
        ValueError: The text holds fewer windows.
    """
    inputs, targets = _windows(model, tokens, windows)
    return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).item()


@torch.no_grad()
def weight_on_previous(
    model: CharacterModel, tokens: Int[Tensor, " num_tokens"], windows: int = 64
) -> float:
    """Return the share that a position takes from the character just before it, on average.

    Raises:
        ValueError: The text holds fewer windows.
    """
    inputs, _ = _windows(model, tokens, windows)
    return model.weights(inputs).diagonal(offset=-1, dim1=-2, dim2=-1).mean().item()


def _windows(model: CharacterModel, tokens: Tensor, count: int) -> tuple[Tensor, Tensor]:
    needed = count * model.length + 1
    if len(tokens) < needed:
        raise ValueError(f"{count} windows need {needed} characters, got {len(tokens)}")
    return tokens[: needed - 1].view(count, -1), tokens[1:needed].view(count, -1)
