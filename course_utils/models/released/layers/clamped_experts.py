"""The feed-forward layer of gpt-oss: a few of many gated experts for each token, all with biases.

Source: OpenAI 2025, gpt-oss-120b & gpt-oss-20b Model Card, section 2.3,
    https://arxiv.org/abs/2508.10925; the clamps are in its code only: modeling_gpt_oss.py of
    https://github.com/huggingface/transformers
Ours / theirs: per_token = num_experts_per_tok;  gain, bound = swiglu_alpha, swiglu_limit
Differs: theirs dispatches tokens to experts itself; here `route_top_k` and `mix_experts` do
Same contract as: GptOssMLP of transformers
"""

from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_utils.attention.experts import mix_experts, route_top_k


class ClampedExperts(nn.Module):
    """Feed-forward layer: each token goes through the experts its router scores highest.

    Args:
        d_model: Width of the stream.
        d_ff: Width of an expert's gate.
        num_experts: How many experts there are.
        per_token: How many of them a token goes to.
        gain: Factor inside the gate's sigmoid.
        bound: Upper bound of the gate, and bound on both sides of what is gated.
    """

    def __init__(
        self, d_model: int, d_ff: int, *, num_experts: int, per_token: int, gain: float = 1.702,
        bound: float = 7.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.per_token, self.gain, self.bound = per_token, gain, bound
        self.router = nn.Linear(d_model, num_experts)
        self.experts = nn.ParameterDict(
            {
                "gate_up_proj": torch.randn(num_experts, d_model, 2 * d_ff) / d_model**0.5,
                "gate_up_proj_bias": torch.zeros(num_experts, 2 * d_ff),
                "down_proj": torch.randn(num_experts, d_ff, d_model) / d_ff**0.5,
                "down_proj_bias": torch.zeros(num_experts, d_model),
            }
        )

    def forward(self, x: Float[Tensor, "B T d_model"]) -> Float[Tensor, "B T d_model"]:
        """Return what is added to the stream."""
        rows = x.flatten(0, 1)
        index, gates = route_top_k(self.router(rows), self.per_token)
        experts = [partial(self._expert, number) for number in range(self.router.out_features)]
        return mix_experts(rows, experts, index, gates).view(x.shape)

    def _expert(self, number: int, rows: Tensor) -> Tensor:
        own = {name: weight[number] for name, weight in self.experts.items()}
        both = rows @ own["gate_up_proj"] + own["gate_up_proj_bias"]
        gate, up = both[..., ::2].clamp(max=self.bound), both[..., 1::2]
        opened = gate * torch.sigmoid(self.gain * gate)
        up = up.clamp(-self.bound, self.bound)
        return ((up + 1) * opened) @ own["down_proj"] + own["down_proj_bias"]
