"""Checks of the claims of chapter 12 that need code to run."""

import math
import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from course_utils.claims._inputs import draw, draws, refused
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import count_flops, peak_memory
from course_utils.models import mask_tokens


@recomputes("12-01")
def checkpoint_is_ready_to_use() -> Finding:
    """checkpoint(fn, q, k, v) without use_reentrant, and with its old default."""
    weight = draw(4, 4).requires_grad_()
    x = draw(3, 4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = checkpoint(lambda t: t @ weight, x)
        warned = any("use_reentrant" in str(one.message) for one in caught)
        old = checkpoint(lambda t: t @ weight, x, use_reentrant=True)
    new = checkpoint(lambda t: t @ weight, x, use_reentrant=False)
    return weigh(
        f"warns: {warned}; inputs without a gradient: trains with the old default "
        f"{old.requires_grad}, with use_reentrant=False {new.requires_grad}",
        holds=not warned and bool(out.requires_grad),
        amended=bool(new.requires_grad),
    )


@recomputes("12-02")
def cuda_autocast_gives_mixed_precision() -> Finding:
    """torch.cuda.amp.autocast() here, and torch.amp.autocast with a device and a dtype."""
    x = draw(3, 3).float()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.cuda.amp.autocast():
            old = (x @ x).dtype
    deprecated = any(one.category is FutureWarning for one in caught)
    with torch.amp.autocast("cpu", dtype=torch.bfloat16):
        new = (x @ x).dtype
    return weigh(
        f"deprecated: {deprecated}; a product on a processor is {str(old)[6:]} under it, "
        f"{str(new)[6:]} under torch.amp.autocast",
        holds=not deprecated and old != torch.float32,
        amended=new == torch.bfloat16,
    )


@recomputes("12-03")
def large_mask_goes_with_float16() -> Finding:
    """-1e9 under float16 autocast, whose largest number is 65504."""
    x = draw(3, 3).float()
    with torch.amp.autocast("cpu", dtype=torch.float16):
        scores = x @ x
        raised = refused(scores.masked_fill, scores > 0, -1e9)
    return weigh(
        f"raises {raised or 'nothing'}; the largest is {torch.finfo(torch.float16).max:.0f}",
        holds=not raised,
    )


@recomputes("12-04")
def xavier_or_he() -> Finding:
    """Deviation after 20 layers of width 256: Xavier through linear maps, He through ReLU."""
    spread = {}
    for name, gain in (("Xavier, linear", 1), ("He, ReLU", 2), ("Xavier, ReLU", 1)):
        x = draw(200, 256)
        for depth in range(20):
            x = x @ draw(256, 256, seed=depth + 1) * math.sqrt(gain / 256)
            x = x.relu() if "ReLU" in name else x
        spread[name] = float(x.square().mean().sqrt())
    return weigh(
        ", ".join(f"{name}: {size:.2g}" for name, size in spread.items()),
        holds=min(spread["Xavier, linear"], spread["He, ReLU"]) > 0.3
        and spread["Xavier, ReLU"] < 0.05,
    )


LAYERS = 16


def _step(stack: list[list[Tensor]], x: Tensor, segments: int) -> None:
    """Do one forward and backward pass that keeps each segment's input only."""

    def part(x: Tensor, layers: list[list[Tensor]]) -> Tensor:
        for first, second in layers:
            x = x + F.gelu(x @ first) @ second
        return x

    size = LAYERS // segments if segments else LAYERS
    for start in range(0, LAYERS, size):
        own = stack[start : start + size]
        x = checkpoint(part, x, own, use_reentrant=False) if segments else part(x, own)
    x.square().mean().backward()


def _counted(way: Callable[..., float], *segments: int) -> dict[int, float]:
    stack = [
        [w.requires_grad_() for w in draws((32, 128), (128, 32), seed=s)] for s in range(LAYERS)
    ]
    x = draw(64, 32)
    return {s: way(_step, stack, x, s) for s in (0, *segments)}


@recomputes("12-05")
def checkpointing_trades_memory_for_computation() -> Finding:
    """Peak and operations of a step with 16 layers, by the number of segments."""
    peaks, flops = _counted(peak_memory, 4), _counted(count_flops, 4)
    less, more = peaks[4] / peaks[0], flops[4] / flops[0] - 1
    return weigh(
        f"16 layers in 4 segments: peak {less:.0%}, operations +{more:.0%}",
        holds=less < 1 < 1 + more,
    )


@recomputes("12-10")
def checkpointing_costs_a_third() -> Finding:
    """Operations of a step with 16 layers; one more forward pass of three is 33%."""
    flops = _counted(count_flops, 1, 16)
    more = [100 * (flops[s] / flops[0] - 1) for s in (1, 16)]
    return weigh(
        f"{min(more):.0f} to {max(more):.0f}% more", holds=25 < max(more) <= 100 / 3 + 1e-9
    )


@recomputes("12-07")
def dropout_is_applied() -> Finding:
    """A layer with self.dropout that forward never calls: two passes in training mode."""

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dropout = nn.Dropout(0.5)

        def forward(self, x: Tensor) -> Tensor:
            return x + torch.tanh(x)

    layer = Layer().train()
    same = torch.equal(layer(draw(3, 4)), layer(draw(3, 4)))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        called = torch.equal(layer.dropout(layer(draw(3, 4))), layer.dropout(layer(draw(3, 4))))
    return weigh(
        f"two passes in training mode are equal: {same}; with the call: {called}",
        holds=not same,
        amended=not called,
    )


@recomputes("12-13")
def bert_masks_15_percent() -> Finding:
    """What becomes of 200,000 tokens: [MASK], another, unchanged but selected."""
    tokens = torch.randint(5, 1000, (200, 1000), generator=torch.Generator().manual_seed(0))
    inputs, labels = mask_tokens(tokens, 4, 1000, [0], torch.Generator().manual_seed(1))
    chosen = labels >= 0
    hidden = inputs == 4
    other = (inputs != tokens) & ~hidden
    kept = chosen & (inputs == tokens)
    parts = [100 * float(part.double().mean()) for part in (chosen, hidden, other, kept)]
    return weigh(
        f"{parts[0]:.0f}% selected; {parts[1]:.0f}% become [MASK], {parts[2]:.1f}% another, "
        f"{parts[3]:.1f}% stay",
        holds=abs(parts[1] - 15) < 0.5,
        amended=abs(parts[0] - 15) < 0.5,
    )


@recomputes("12-14")
def next_sentence_loss() -> Finding:
    """-log P(IsNext) for all pairs, against -log(1 - P) for those that do not follow."""
    follows = torch.tensor([1.0, 0.0] * 50)
    told = {}
    for name in ("printed", "both"):
        logit = torch.zeros((), requires_grad=True)
        for _ in range(400):
            loss = F.softplus(-logit)
            if name == "both":
                loss = (follows * loss + (1 - follows) * F.softplus(logit)).mean()
            (slope,) = torch.autograd.grad(loss, logit)
            logit = (logit - slope).detach().requires_grad_()
        told[name] = float(logit.sigmoid().detach())
    return weigh(
        f"trained as printed, P(IsNext) goes to {told['printed']:.3f} for every pair; with both "
        f"terms to {told['both']:.3f}",
        holds=abs(told["printed"] - 0.5) < 0.1,
        amended=abs(told["both"] - 0.5) < 0.01,
    )
