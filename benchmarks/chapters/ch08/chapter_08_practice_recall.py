"""Train the recall model with differential and with gated attention, beside full attention.

Method: one thread. The frame of `chapter_08_recall.py`: two layers of four heads, lists of 2 to 16
pairs, 600 steps; the same lists for a seed. "differential" halves each head's queries and keys into
two tables and subtracts λ of the second, one learned λ a layer that begins at 0.8 - 0.6·exp(-0.3·i)
in layer i = 0, 1; "gated" multiplies each head's output with the sigmoid of a gate that the token
makes, and has 4,096 parameters more a layer. `loss_at` is the mean of 25 steps up to that one. It
takes four minutes on one core.

    python -m benchmarks.chapters.ch08.chapter_08_practice_recall
"""

import math
from itertools import product
from typing import Any, cast

import torch
from torch import Tensor, nn

from benchmarks.chapters.ch08.chapter_08_recall import ASKED, PAIRS, SEQUENCES
from benchmarks.recording import Row, Script, each
from benchmarks.timing import clocked
from course_utils.attention import (
    causal_mask,
    differential_attention,
    gated_attention,
    split_heads,
)
from course_utils.models.tasks.recall import (
    D_MODEL,
    LAYERS,
    RecallModel,
    judge_recall,
    train_recall,
)

STEPS, EVERY, HEADS = 600, 25, 4
KINDS = ("full", "differential", "gated")


class Differential(nn.Module):
    """The difference of two softmaxes; each head's queries and keys are halved for them."""

    def __init__(self, begun: float) -> None:
        super().__init__()
        self.balance = nn.Parameter(torch.tensor(begun))

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Return what the heads read."""
        mask = causal_mask(*2 * (query.shape[-2],))
        query, key = (x.unflatten(-1, (2, -1)).transpose(2, 3) for x in (query, key))
        return differential_attention(query, key, value, self.balance, mask)


class Gated(nn.Module):
    """Attention whose output meets a gate that the token makes of what its query was made of."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.gate = nn.Linear(D_MODEL, D_MODEL)
        cast(nn.Module, layer.query).register_forward_pre_hook(self._note)

    def _note(self, module: nn.Module, given: tuple[Tensor]) -> None:
        self._stream = given[0]

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Return what the heads read."""
        gate = split_heads(self.gate(self._stream), HEADS)
        return gated_attention(query, key, value, gate, causal_mask(*2 * (query.shape[-2],)))


def made(kind: str, seed: int) -> RecallModel:
    """Return an untrained model of a kind; the parts that all kinds have begin alike."""
    torch.manual_seed(seed)
    model = RecallModel("full", HEADS)
    for number, layer in enumerate(cast(Any, model.layers)):
        if kind == "differential":
            layer.attend = Differential(0.8 - 0.6 * math.exp(-0.3 * number))
        elif kind == "gated":
            layer.attend = Gated(layer)
    return model


def trained(kind: str, seed: int) -> Row:
    """Train one model and return what it recalls."""
    model = made(kind, seed)
    losses, seconds = clocked(train_recall, model, steps=STEPS, seed=seed, pairs=PAIRS)
    balances = [getattr(layer.attend, "balance", None) for layer in cast(Any, model.layers)]
    return {
        "kind": kind, "seed": seed, "steps": STEPS, "cpu_seconds": seconds,
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "balances": [round(one.item(), 3) for one in balances if one is not None],
        "loss_at": {
            str(at): round(sum(losses[at - EVERY : at]) / EVERY, 4)
            for at in range(EVERY, STEPS + 1, EVERY)
        },
        "recalled": {n: round(one, 4) for n, one in judge_recall(model, ASKED, SEQUENCES).items()},
    }  # fmt: skip


def main() -> None:
    """Train all models and write one JSON file."""
    script = Script(__file__, __doc__, seeds=3)
    script.record(
        what="recall with full, differential and gated attention",
        settings={"batch": 32, "learning_rate": 3e-3, "d_model": D_MODEL, "layers": LAYERS,
                  "heads": HEADS, "trained_pairs": PAIRS},
        runs=each(trained, product(KINDS, range(script.options.seeds))),
    )  # fmt: skip


if __name__ == "__main__":
    main()
