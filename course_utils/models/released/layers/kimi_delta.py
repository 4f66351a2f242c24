"""Kimi's delta attention: the gated delta rule in which each row of a state fades by itself.

Source: Kimi Team 2025, Kimi Linear: An Expressive, Efficient Attention Architecture,
    https://arxiv.org/abs/2510.26692
Ours / theirs: fade = f_a_proj, f_b_proj;  gate = g_a_proj, g_b_proj;  write = b_proj
Differs: tokens are read one after the other, where theirs reads a prompt in chunks
Same contract as: KimiLinearDeltaAttention of transformers
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.models.gpt.layer import linear
from course_utils.models.released.layers.delta_layer import GatedDeltaNet, in_steps


class KimiDeltaNet(GatedDeltaNet):
    """A gated delta net whose gates, of what is kept and of what is read, are one for each channel.

    Both are computed through a vector as narrow as one head.

    Args:
        d_model: Width of the stream.
        num_heads: How many heads there are, each with a state.
        d_k: Width of a head's queries, keys and values.
        taps: How many tokens the convolution sees, the token itself among them.
        eps: What the norm adds under its root.
    """

    def __init__(self, d_model: int, *, num_heads: int, d_k: int, taps: int, eps: float) -> None:
        super().__init__(
            d_model,
            key_heads=num_heads,
            value_heads=num_heads,
            d_k=d_k,
            d_v=d_k,
            taps=taps,
            eps=eps,
        )
        self.fade, self.gate = (
            nn.Sequential(
                linear(d_model, d_k, bias=False), linear(d_k, num_heads * d_k, bias=False)
            )
            for _ in range(2)
        )
        self.A_log = nn.Parameter(torch.zeros(1, 1, num_heads, 1))
        self.dt_bias = nn.Parameter(torch.ones(num_heads * d_k))

    def _kept(self, x: Tensor) -> Tensor:
        speed = F.softplus(self.fade(x) + self.dt_bias).unflatten(-1, (self.value_heads, self.d_k))
        return (-self.A_log.exp() * speed).exp().transpose(1, 2)

    def _opened(self, gate: Tensor) -> Tensor:
        return gate.sigmoid()

    def _read(
        self, query: Tensor, key: Tensor, value: Tensor, alpha: Tensor, beta: Tensor,
        state: Tensor | None,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        start = key.new_zeros(*key.shape[:2], self.d_k, self.d_v) if state is None else state
        read, left = in_steps(query, key, value, alpha, beta, start)
        return read, None if state is None else left
