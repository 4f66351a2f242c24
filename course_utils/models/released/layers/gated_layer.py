"""The gated feed-forward layer of Llama: one product decides how much of the other passes.

Source: Shazeer 2020, GLU Variants Improve Transformer, section 2, https://arxiv.org/abs/2002.05202
Ours / theirs: gate, up, down = W, V, W_2
Same contract as: LlamaMLP and Gemma2MLP of transformers
"""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from course_utils.models.gpt.layer import linear


class GatedLayer(nn.Module):
    """Feed-forward layer down(activation(gate(x)) · up(x)), without biases.

    Args:
        activation: What the gate goes through: SiLU in Llama, GELU in Gemma.
        d_model: Width of the stream.
        d_ff: Width of the gate.
    """

    def __init__(self, activation: Callable[[Tensor], Tensor], d_model: int, d_ff: int) -> None:
        super().__init__()
        self._activation = activation
        self.gate, self.up = (linear(d_model, d_ff, bias=False) for _ in range(2))
        self.down = linear(d_ff, d_model, bias=False)

    def forward(self, x: Float[Tensor, "B T d_model"]) -> Float[Tensor, "B T d_model"]:
        """Return what is added to the stream."""
        return self.down(self._activation(self.gate(x)) * self.up(x))
