"""Train recall models with what published layers have around a state: convolution, norm and gate.

The frame is that of `chapter_17_recall`, whose record has the models without these parts. "norm"
is RMSNorm over each head's output, without a scale to learn; "gate" multiplies it by SiLU(x W),
"sigmoid gate" by its sigmoid, "gate, open at first" by SiLU(x W + b) with b such that the factors
begin near 1; "convolution of 4" runs over the queries, keys and values of four
neighbouring tokens, each followed by SiLU, instead of the blend with the token before; "no
neighbour" has neither. What a part needs is taken from the feed-forward layer, to half a unit.

The record is written after each model, and a second start goes on where the first ended. It takes
about half an hour on one core:

    python -m benchmarks.chapters.ch17.chapter_17_parts
"""

from itertools import product

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.chapters.ch08.chapter_08_recall import trained
from benchmarks.chapters.ch17.chapter_17_recall import STEPS, resume
from benchmarks.recording import Row, Script
from course_utils.models.tasks.recall import D_MODEL, RecallModel

HEADS, WIDTH = 4, 4
OPEN = 1.278  # where SiLU is 1
LONGER = ("gated delta, gate", "gated delta, norm and gate")  # 3,000 steps too
MODELS = {
    f"{kind}, {part}": (kind, part)
    for kind, parts in {
        "raw retention": ("norm", "gate", "norm and gate"),
        "gated delta": (
            "no neighbour", "convolution of 4", "norm", "gate", "norm and gate", "sigmoid gate",
            "norm and sigmoid gate", "gate, open at first",
        ),
    }.items()
    for part in parts
}  # fmt: skip


class Around(nn.Module):
    """A mixer, its output scaled head by head to a mean square of 1, gated, or both."""

    def __init__(self, mixer: nn.Module, part: str) -> None:
        super().__init__()
        self.mixer, self.norm = mixer, "norm" in part
        self.opens = torch.sigmoid if "sigmoid" in part else F.silu
        is_open = "open" in part
        self.gate = nn.Linear(D_MODEL, D_MODEL, bias=is_open) if "gate" in part else None
        if is_open:
            nn.init.constant_(self.gate.bias, OPEN)

    def forward(self, x: Tensor) -> Tensor:
        """Return what the mixer reads, with its parts."""
        out = self.mixer(x)
        if self.norm:
            out = F.rms_norm(out.unflatten(-1, (HEADS, -1)), (D_MODEL // HEADS,)).flatten(-2)
        return out if self.gate is None else out * self.opens(self.gate(x))


class ShortConvolution(nn.Module):
    """Each channel's weighted sum over a token and the three before it."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel = nn.Conv1d(D_MODEL, D_MODEL, WIDTH, groups=D_MODEL, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return one vector for each token."""
        out: Tensor = self.kernel(F.pad(x.mT, (WIDTH - 1, 0))).mT
        return out


def equip(layer: nn.Module, part: str) -> None:
    """Give a layer its part, and take the parameters from its feed-forward layer."""
    before = sum(one.numel() for one in layer.parameters())
    if part in ("no neighbour", "convolution of 4"):
        layer.before = nn.Parameter(torch.zeros(D_MODEL), requires_grad=False)
    if part == "convolution of 4":
        mixer = layer.mixer
        mixer.query, mixer.key = (
            nn.Sequential(one, ShortConvolution()) for one in (mixer.query, mixer.key)
        )  # the layer's own SiLU follows
        mixer.value = nn.Sequential(mixer.value, ShortConvolution(), nn.SiLU())
    elif part != "no neighbour":
        layer.mixer = Around(layer.mixer, part)
    more = sum(one.numel() for one in layer.parameters()) - before
    d_ff = layer.feed_forward[1].out_features - round(more / (2 * D_MODEL))
    layer.feed_forward[1] = nn.Linear(D_MODEL, d_ff, bias=False)
    layer.feed_forward[3] = nn.Linear(d_ff, D_MODEL, bias=False)


def run(steps: int, seed: int, name: str) -> Row:
    """Train one model, and return what it recalls."""
    kind, part = MODELS[name]
    torch.manual_seed(seed)
    model = RecallModel(kind, HEADS)
    for layer in model.layers:
        equip(layer, part)
    return {"model": name, **trained(model, seed, steps), "steps": steps}


def main() -> None:
    """Run every combination that the record lacks."""
    script = Script(__file__, __doc__, seeds=2, models=tuple(MODELS))
    seeds, names = range(script.options.seeds), script.options.models
    longer = [name for name in LONGER if name in names]
    wanted = [*product((STEPS,), seeds, names), *product((3 * STEPS,), seeds, longer)]
    what = "share of values recalled, with what published layers have around a state"
    resume(script, run, wanted, what=what, models=tuple(MODELS), heads=HEADS)


if __name__ == "__main__":
    main()
