"""A deep and narrow language model, to see what warm-up and the place of the norm are for.

Source: Xiong et al. 2020, On Layer Normalization in the Transformer Architecture, section 3,
    https://arxiv.org/abs/2002.04745
Differs: a decoder on characters, with learned positions; no dropout
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_utils.attention import causal_mask
from course_utils.models._tokens import embedded
from course_utils.models.layer_modules import EncoderLayer
from course_utils.validation import check_at_least


class DeepStack(nn.Module):
    """Tokens in; layers of `EncoderLayer` under a causal mask; a score for each token out.

    Args:
        num_tokens: Size of the vocabulary.
        d_model: Width of the stream.
        num_heads: Heads of each layer.
        num_layers: Number of layers.
        max_length: The longest sequence.
        pre_norm: Whether each part reads the normed stream; else each sum is normed.
    """

    def __init__(
        self,
        num_tokens: int,
        *,
        d_model: int,
        num_heads: int,
        num_layers: int,
        max_length: int,
        pre_norm: bool,
    ) -> None:
        super().__init__()
        check_at_least(1, num_tokens=num_tokens, d_model=d_model, num_layers=num_layers)
        check_at_least(1, max_length=max_length)
        self.token = nn.Embedding(num_tokens, d_model)
        self.position = nn.Embedding(max_length, d_model)
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, num_heads, 2 * d_model, pre_norm=pre_norm)
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model) if pre_norm else nn.Identity()
        self.out = nn.Linear(d_model, num_tokens)

    def forward(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B L num_tokens"]:
        """Return the scores for the token after each of these."""
        length = tokens.shape[1]
        x = embedded(self.token, tokens) + self.position(torch.arange(length))
        mask = causal_mask(length, length)
        for layer in self.layers:
            x = layer(x, mask)
        scores: Tensor = self.out(self.norm(x))
        return scores
