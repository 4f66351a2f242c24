"""Checks of the claims of chapter 12."""

import math
import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from course_utils.attention import MultiHeadAttention, attention_weights, merge_heads
from course_utils.claims._inputs import draw, draws, recorded, refused
from course_utils.claims.ch08_linear import share
from course_utils.claims.figures import arithmetic, meant, said
from course_utils.claims.finding import Finding, by_machine, recomputes, undecided, weigh
from course_utils.measure import (
    compute_optimal,
    count_flops,
    fit_scaling_law,
    peak_memory,
    training_memory_bytes,
    transformer_parameters,
)
from course_utils.models import mask_tokens

FITS = {
    "rounded": (406.4, 410.7, 0.34, 0.28, 1.69),
    "unrounded": (406.4, 410.7, 0.3392, 0.2849, 1.69),
    "refitted": (482.01, 2085.43, 0.3478, 0.3658, 1.8172),
}
EACH = [training_memory_bytes(1000, 1000, 0, "adam", mixed) / 1000 for mixed in (False, True)]
ACTS = [training_memory_bytes(0, 0, 1000, "adam", mixed) / 1000 for mixed in (False, True)]
GPT_1 = transformer_parameters(40_478, 768, 12, 3072, 12, 12, 512, False, True, True)
GPT_2 = transformer_parameters(50_257, 1600, 48, 6400, 25, 25, 1024, False, True, True)
GPT_3 = transformer_parameters(50_257, 12_288, 96, 4 * 12_288, 96, 96, 2048, False, True, True)
# fmt: off
arithmetic("12-06", "{:.1%} of GPT-3's forward operations at 2,048 tokens: 19 times as costly "
    "scores cost {:.1f} times the whole ({:.1f} times at 32,768)",
    share(2048, 12_288), said("19", 1 + (19 - 1) * share(2048, 12_288)),
    1 + (19 - 1) * share(32_768, 12_288))
arithmetic("12-11", "weights, gradients, states and float32 copies {:g} and {:g} bytes per "
    "parameter; activations {:g} and {:g} bytes each: about {:.0%} at most",
    *EACH, *ACTS, meant("50%", 1 - ACTS[1] / ACTS[0]), said("50%", 1 - EACH[1] / EACH[0]))
arithmetic("12-16", "{:,}", said("117 M", GPT_1 - 2 * 768))  # post-norm: no last norm
arithmetic("12-18", "{:,}", said("1.5 G", GPT_2))
arithmetic("12-20", "{:.1f} B; {:.1f} tokens a parameter", said("175", GPT_3 / 1e9), 300e9 / GPT_3)
# fmt: on


@recomputes("12-09")
def checkpointing_reduces_memory_by_root_n() -> Finding:
    """S + L/s inputs are kept for s segments of L layers, times the n tokens."""
    best = {n: min(range(1, 65), key=lambda s: n * (s + 64 / s)) for n in (128, 4096)}
    kept = {layers: min(s + layers / s for s in range(1, layers + 1)) for layers in (16, 64, 256)}
    roots = [kept[layers] / math.sqrt(layers) for layers in kept]
    return weigh(
        f"64 layers: best with {best[128]} segments at 128 tokens and at 4,096 ({best[4096]}); "
        f"kept inputs of 16, 64, 256 layers {list(kept.values())}, 2 sqrt(L)",
        holds=best[128] != best[4096],
        amended=roots == [2, 2, 2],
    )


@recomputes("12-12")
def mixed_precision_is_faster() -> Finding:
    """1.5 to 2 times faster: processor time of one training, recorded."""
    runs = recorded("chapter_12_dates", what="precision")
    seconds = {run["way"]: run["cpu_seconds"] for run in runs}
    return by_machine(
        f"autocast in 16 bits took {seconds['autocast'] / seconds['float32']:.1f} times as long",
        "chapter_12_dates",
    )


@recomputes("12-22")
def both_grow_as_the_root_of_compute() -> Finding:
    """Exponents of N and D in C by three fits, and tokens per parameter at Chinchilla's budget."""
    powers, tokens = [], []
    for fit in FITS.values():
        (small, fewer, _), (large, more, _) = (compute_optimal(c, *fit) for c in (5.76e21, 5.76e23))
        powers += [math.log(large / small, 100), math.log(more / fewer, 100)]
        tokens += [more / large]
    return weigh(
        f"powers {min(powers):.2f} to {max(powers):.2f} in three fits; {min(tokens):.0f} to "
        f"{max(tokens):.0f} tokens per parameter at one budget",
        holds=all(abs(exponent - 0.5) < 0.07 for exponent in powers),
    )


@recomputes("12-25")
def abilities_emerge() -> Finding:
    """One recorded run by two measures: characters, and whole dates of ten characters."""
    (run,) = recorded("chapter_12_dates", what="smoothing", smoothing=0)
    curve = [(point["accuracy"], point["exact"]) for point in run["curve"]]
    (start, nothing), off = curve[0], max(abs(a**10 - exact) for a, exact in curve)
    return undecided(
        f"at {start:.0%} of the characters {nothing:.1%} of the dates are right, in the end "
        f"{curve[-1][1]:.0%}: a jump; characters to the tenth follow it within {off:.2f}: none",
        for_it=start > 0.5 and nothing < 0.05,
        against=off < 0.1,
    )


@recomputes("12-30")
def scaling_laws_predict() -> Finding:
    """Recorded losses of widths up to 32 predict those of width 64: within how many percent?"""
    runs = recorded("chapter_12_scaling")
    small = [run for run in runs if run["d_model"] < 64]
    law = fit_scaling_law(
        *([float(run[name]) for run in small] for name in ("num_parameters", "num_tokens", "loss"))
    )
    errors = [
        abs(law(run["num_parameters"], run["num_tokens"]) / run["loss"] - 1)
        for run in runs
        if run["d_model"] == 64
    ]
    return weigh(
        f"off by {min(errors):.1%} to {max(errors):.1%} on {len(errors)} runs that were held out",
        holds=max(errors) < 0.1,
    )


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


class _Attention(nn.Module):
    """The attention of text D's layers, without masks: it drops weights, and what it gives."""

    def __init__(self, d_model: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = MultiHeadAttention(d_model, num_heads)
        self.drop_weights, self.drop_output = nn.Dropout(dropout), nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.heads.project(x, x, x)
        weights = self.drop_weights(attention_weights(query, key))
        out: Tensor = self.drop_output(self.heads.out_proj(merge_heads(weights @ value)))
        return out


class _Layer(nn.Module):
    """Text D's encoder layer, without masks."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.self_attn = _Attention(d_model, num_heads, dropout)
        wide, narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.feed_forward = nn.Sequential(
            wide, nn.ReLU(), nn.Dropout(dropout), narrow, nn.Dropout(dropout)
        )
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.self_attn(x))
        out: Tensor = self.norm2(x + self.feed_forward(x))
        return out


def _moved(layer: nn.Module, x: Tensor) -> dict[str, bool]:
    """Say for each dropout whether the output moves when it alone drops everything."""
    drops = {name: one for name, one in layer.named_modules() if isinstance(one, nn.Dropout)}
    expected = layer.eval()(x)
    layer.train()
    moved = {}
    for name in drops:
        for other, one in drops.items():
            one.p = float(other == name)
        moved[name] = not torch.allclose(layer(x), expected)
    return moved


@recomputes("12-07")
def dropout_is_applied() -> Finding:
    """Text D's layer: which of its five dropouts moves the output, each alone with p = 1."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layer, x = _Layer(16, 2, 64), draw(1, 5, 16).float()
        same = torch.equal(layer(x), layer(x))
        moved = _moved(layer, x)
    working = [name for name, moves in moved.items() if moves]
    return weigh(
        f"self.dropout moves the output: {moved['dropout']}; {len(working)} others do, so two "
        f"passes in training mode are equal: {same}",
        holds=moved["dropout"],
        amended=len(working) == 4 and not same,
    )


@recomputes("12-13")
def bert_masks_15_percent() -> Finding:
    """Count what becomes of 200,000 tokens: [MASK], another, unchanged but selected."""
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
