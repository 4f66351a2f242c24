"""Experts on data of eight kinds: which takes what, with and without a balancing loss.

Source: Fedus et al. 2022, Switch Transformers, section 2.2, https://arxiv.org/abs/2101.03961 (one
    expert, gate from the softmax over all); Jiang et al. 2024, Mixtral of Experts, section 2.1,
    https://arxiv.org/abs/2401.04088 (two, renormalised)
Differs: small enough for seconds on a processor; nothing is dropped, the overflow is counted
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.attention import load_balance_loss, mix_experts, route_top_k
from course_utils.models.training import Progress, train
from course_utils.plain_validation import check_at_least

KINDS, WIDTH, HIDDEN, SPREAD = 8, 16, 32, 0.2
Inputs = Float[Tensor, "N width"]


class ExpertTask:
    """Eight clusters of points; each cluster is mapped by a matrix of its own.

    Args:
        seed: Decides the clusters and their matrices.
    """

    def __init__(self, seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.centres = 2 * F.normalize(torch.randn(KINDS, WIDTH, generator=generator), dim=-1)
        self.maps = torch.randn(KINDS, WIDTH, WIDTH, generator=generator) / WIDTH**0.5

    def draw(
        self, number: int, generator: torch.Generator
    ) -> tuple[Inputs, Inputs, Int[Tensor, " points"]]:
        """Return points, what they should become, and their kinds."""
        kind = torch.randint(KINDS, (number,), generator=generator)
        x = self.centres[kind] + SPREAD * torch.randn(number, WIDTH, generator=generator)
        return x, (x.unsqueeze(1) @ self.maps[kind]).squeeze(1), kind


def feed_forward(hidden: int) -> nn.Sequential:
    """Return a feed-forward layer of the task's width."""
    return nn.Sequential(nn.Linear(WIDTH, hidden), nn.GELU(), nn.Linear(hidden, WIDTH))


class Experts(nn.Module):
    """A router and eight feed-forward layers, of which each point sees k.

    Args:
        k: How many experts a point sees. With one its gate is the softmax over all, as in Switch:
            renormalised it would be 1, and the router would learn nothing from the task.
    """

    def __init__(self, k: int) -> None:
        super().__init__()
        check_at_least(1, k=k)
        self.k = k
        self.router = nn.Linear(WIDTH, KINDS, bias=False)
        self.experts = nn.ModuleList(feed_forward(HIDDEN) for _ in range(KINDS))

    def forward(self, x: Inputs) -> tuple[Inputs, Float[Tensor, "N experts"], Int[Tensor, "N k"]]:
        """Return the mixture, the router's logits and which experts were chosen."""
        logits = self.router(x)
        index, gates = route_top_k(logits, self.k)
        if self.k == 1:
            gates = logits.softmax(dim=-1).gather(-1, index)
        return mix_experts(x, list(self.experts), index, gates), logits, index


def train_experts(
    model: nn.Module,
    task: ExpertTask,
    *,
    balance: float = 0.0,
    steps: int = 1500,
    seed: int = 0,
    progress: Progress = iter,
) -> list[float]:
    """Train in place, experts or one dense layer; return the loss of each step.

    Args:
        model: Takes points; `Experts`, or a layer that returns its output alone.
        task: Draws the points.
        balance: What the balance loss is multiplied by.
        steps: Number of updates.
        seed: Decides which points are seen.
        progress: Wraps the step numbers, for example in a tqdm bar.
    """

    def draw_loss(generator: torch.Generator) -> Tensor:
        x, wanted, _ = task.draw(256, generator)
        if not isinstance(model, Experts):
            return F.mse_loss(model(x), wanted)
        out, logits, index = model(x)
        return F.mse_loss(out, wanted) + balance * load_balance_loss(logits, index)

    return train(
        model, draw_loss, 3e-3, torch.optim.Adam, steps=steps, seed=1 + seed, progress=progress
    )


@torch.no_grad()
def judge_experts(model: nn.Module, task: ExpertTask, number: int = 4096) -> dict[str, float]:
    """Return the relative squared error, and for experts how evenly they are used.

    Returns:
        "error"; for `Experts` also "balance", the balance loss, "dropped", the share of choices
        that would overflow experts with room for 1.25 times an even share, and "idle", how many
        experts get less than 1% of the choices.
    """
    x, wanted, _ = task.draw(number, torch.Generator().manual_seed(1000))
    out = model(x)
    if not isinstance(model, Experts):
        return {"error": ((out - wanted).square().mean() / wanted.square().mean()).item()}
    mixed, logits, index = out
    counts = torch.bincount(index.flatten(), minlength=KINDS).double()
    room = 1.25 * index.numel() / KINDS
    return {
        "error": ((mixed - wanted).square().mean() / wanted.square().mean()).item(),
        "balance": load_balance_loss(logits, index).item(),
        "dropped": ((counts - room).clamp(min=0).sum() / index.numel()).item(),
        "idle": int((counts < 0.01 * index.numel()).sum()),
    }
