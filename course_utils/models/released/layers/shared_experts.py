"""Feed-forward layers of many small experts, chosen for each token, beside one for all tokens.

Source: DeepSeek-AI 2024, DeepSeek-V3 Technical Report, section 2.1.2, Eq. 12 to 16 (shared experts,
    the bias of the router), https://arxiv.org/abs/2412.19437; groups are in its code only
Ours / theirs: router, experts, shared = gate, experts, shared_experts;  per_token, groups,
    kept_groups, factor = num_experts_per_tok, n_group, topk_group, routed_scaling_factor;
    e_score_correction_bias = b_i
Differs: theirs computes the router's scores in float32
Same contract as: DeepseekV3MoE and, with the softmax and the gate, Qwen3NextSparseMoeBlock of
    transformers
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.attention.experts import mix_experts, route_top_k
from course_utils.models.released.families.llama_design import SILU_GATED


class SigmoidRouter(nn.Module):
    """Chooses the experts of each token by sigmoids, to which a bias is added for the choice alone.

    The bias, which is no weight that gradients train, balances how often experts are chosen. Only
    experts of the best groups can be chosen; a group is as good as its two best experts together.

    Args:
        d_model: Width of the stream.
        num_experts: How many experts there are.
        per_token: How many of them a token goes to.
        groups: How many groups they form, of at least two each.
        kept_groups: How many groups a token's experts come from.
        factor: What the gates of a token add up to.
        shared_out: Whether they do; otherwise each is its expert's score times the factor.
    """

    e_score_correction_bias: Tensor

    def __init__(
        self, d_model: int, num_experts: int, per_token: int, *, groups: int = 1,
        kept_groups: int = 1, factor: float = 1.0, shared_out: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_experts % groups or num_experts < 2 * groups:
            raise ValueError(
                f"groups must be equal and of at least two of the {num_experts} experts, "
                f"got {groups} groups"
            )
        self.weight = nn.Parameter(torch.randn(num_experts, d_model) / d_model**0.5)
        self.register_buffer("e_score_correction_bias", torch.zeros(num_experts))
        self.per_token, self.groups, self.kept_groups = per_token, groups, kept_groups
        self.factor, self.shared_out = factor, shared_out

    def forward(
        self, x: Float[Tensor, "N d_model"]
    ) -> tuple[Int[Tensor, "N k"], Float[Tensor, "N k"]]:
        """Return the experts of each token and how much each of them counts."""
        scores = F.linear(x, self.weight).sigmoid()
        grouped = (scores + self.e_score_correction_bias).unflatten(1, (self.groups, -1))
        best = grouped.topk(2, dim=-1).values.sum(dim=-1).topk(self.kept_groups, dim=-1).indices
        left_out = torch.ones_like(grouped[..., 0], dtype=torch.bool).scatter(1, best, False)
        choice = grouped.masked_fill(left_out.unsqueeze(-1), -torch.inf).flatten(1)
        index = choice.topk(self.per_token, dim=-1).indices
        gates = scores.gather(1, index)
        if self.shared_out:
            gates = gates / (gates.sum(dim=-1, keepdim=True) + 1e-20)
        return index, self.factor * gates


class SoftmaxRouter(nn.Module):
    """Chooses the likeliest experts of each token; the gates are the softmax over the chosen.

    Args:
        d_model: Width of the stream.
        num_experts: How many experts there are.
        per_token: How many of them a token goes to.
    """

    def __init__(self, d_model: int, num_experts: int, per_token: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(num_experts, d_model) / d_model**0.5)
        self.per_token = per_token

    def forward(
        self, x: Float[Tensor, "N d_model"]
    ) -> tuple[Int[Tensor, "N k"], Float[Tensor, "N k"]]:
        """Return the experts of each token and how much each of them counts."""
        return route_top_k(F.linear(x, self.weight), self.per_token)


class SharedExperts(nn.Module):
    """Feed-forward layer: a token's own experts, weighted, plus the part that all tokens share.

    Args:
        d_model: Width of the stream.
        width: Width of an expert's gate.
        router: Returns the experts of each token and their gates; its weight has a row for each.
        shared_width: Width of the shared part's gate.
        gated: Whether the shared part, too, counts more or less, by a sigmoid of the token.
    """

    def __init__(
        self, d_model: int, width: int, router: SigmoidRouter | SoftmaxRouter, shared_width: int,
        *, gated: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.router = router
        self.experts = nn.ModuleList(SILU_GATED(d_model, width) for _ in router.weight)
        self.shared = SILU_GATED(d_model, shared_width)
        self.shared_gate = nn.Linear(d_model, 1, bias=False) if gated else None

    def forward(self, x: Float[Tensor, "B T d_model"]) -> Float[Tensor, "B T d_model"]:
        """Return what is added to the stream."""
        rows = x.flatten(0, 1)
        index, gates = self.router(rows)
        shared = self.shared(x)
        if self.shared_gate is not None:
            shared = self.shared_gate(x).sigmoid() * shared
        return shared + mix_experts(rows, list(self.experts), index, gates).view(x.shape)
