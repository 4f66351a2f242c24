"""Train chapter 13's induction model with a learned sink in each head, and see where weight rests.

Method: one thread. The models of `chapter_13_induction.py`, two layers of one head, 400 steps, all
from the same weights for a seed; only what the heads do differs. `start` is the mean weight on the
first position and `sink` what is left to the sink, in the first copy of a segment, where nothing
matches yet, and later; one number per layer. `right` is judged as there. "no start" reads
the same symbols without the start token. It takes five minutes on one core.

    python -m benchmarks.chapters.ch08.chapter_08_practice_sinks
"""

from itertools import product
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.recording import Row, Script, each, rounded
from benchmarks.timing import clocked
from course_utils.attention import (
    causal_mask,
    gated_attention,
    merge_heads,
    scaled_dot_product_attention,
    sink_attention,
    split_heads,
)
from course_utils.models.gpt.small_transformer import SmallTransformer
from course_utils.models.tasks.induction import (
    LENGTH,
    TESTED_PERIOD,
    induction_model,
    judged_segments,
    later_copies_right,
    train_induction,
)

STEPS = 400


class Heads(nn.Module):
    """Self-attention with a sink, or a gate on its output, from the weights of a plain one."""

    def __init__(
        self, plain: nn.Module, kind: str = "plain", begun: float = 0.0, rate: float = 1.0
    ) -> None:
        super().__init__()
        self.in_proj_weight = cast(nn.Parameter, plain.in_proj_weight)
        self.in_proj_bias = cast(nn.Parameter, plain.in_proj_bias)
        self.out_proj = cast(nn.Linear, plain.out_proj)
        self.num_heads, self.rate = cast(int, plain.num_heads), rate
        if kind == "sink":
            # A parameter that counts n times learns n times as fast.
            self.sink = nn.Parameter(torch.full((self.num_heads,), begun / rate))
        if kind == "gate":
            self.gate = nn.Linear(*self.out_proj.weight.shape)

    def forward(self, x: Tensor, attn_mask: Tensor, keep: None = None) -> Tensor:
        """Return what the heads found in the normed stream."""
        out = self.out_proj(merge_heads(self.read(x, *self.split(x), attn_mask)))
        return cast(Tensor, out)

    def weights(self, x: Tensor, attn_mask: Tensor) -> Tensor:
        """Return the weights of the keys: each row of values picks out one key."""
        query, key, _ = self.split(x)
        value = torch.eye(x.shape[1]).expand(*key.shape[:2], -1, -1)
        if hasattr(self, "sink"):
            return sink_attention(query, key, value, self.rate * self.sink, attn_mask)
        return scaled_dot_product_attention(query, key, value, attn_mask)

    def split(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values in heads."""
        streams = F.linear(x, self.in_proj_weight, self.in_proj_bias).chunk(3, dim=-1)
        query, key, value = (split_heads(one, self.num_heads) for one in streams)
        return query, key, value

    def read(self, x: Tensor, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        """Return what each head reads."""
        if hasattr(self, "sink"):
            return sink_attention(query, key, value, self.rate * self.sink, mask)
        if hasattr(self, "gate"):
            gate = split_heads(self.gate(x), self.num_heads)
            return gated_attention(query, key, value, gate, mask)
        return scaled_dot_product_attention(query, key, value, mask)


class WithoutStart(nn.Module):
    """A model that is not shown the start token; what it would guess there is left even."""

    def __init__(self, model: SmallTransformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, attn_mask: Tensor, keep: None = None) -> Tensor:
        """Return the scores at every position but the first, and zeros there."""
        return F.pad(self.model(tokens[:, 1:], attn_mask[1:, 1:]), (0, 0, 1, 0))


KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "sink": {"kind": "sink"},
    "sink, ten times its rate": {"kind": "sink", "rate": 10.0},
    "sink, begun at 4": {"kind": "sink", "begun": 4.0},
    "gate": {"kind": "gate"},
    "plain, no start": {},
    "sink, no start": {"kind": "sink"},
}


@torch.no_grad()
def rests(model: SmallTransformer, first: int) -> Row:
    """Return the weight on the first position and what is left to the sink; `first` 1 hides one."""
    tokens = judged_segments()[:, first:-1]
    weights = torch.stack(model.weights(tokens, causal_mask(*2 * (LENGTH - first,)))).mean((1, 2))
    copies = {"first copy": slice(2 - first, TESTED_PERIOD + 1 - first),
              "later copies": slice(TESTED_PERIOD + 1 - first, None)}  # fmt: skip
    found: Row = {}
    for name, rows in copies.items():
        part = weights[:, rows]
        found[name] = {
            "start": rounded(part[..., 0].mean(-1)),
            "sink": rounded((1 - part.sum(-1)).mean(-1).abs()),
        }
    return found


def learnt(heads: Any) -> list[float]:
    """Return the sink of each head, where it has one."""
    sinks = getattr(heads, "sink", torch.empty(0)).tolist()
    return [round(heads.rate * one, 2) for one in sinks]


def trained(name: str, seed: int) -> Row:
    """Train one model and return what it learnt."""
    model = induction_model(seed)
    for block in cast(Any, model.blocks):
        block.attention = Heads(block.attention, **KINDS[name])
    hidden = "no start" in name
    trainee = cast(SmallTransformer, WithoutStart(model) if hidden else model)
    losses, seconds = clocked(train_induction, trainee, steps=STEPS, seed=seed)
    return {
        "kind": name, "seed": seed, "steps": STEPS, "cpu_seconds": seconds,
        "last_loss": round(sum(losses[-20:]) / 20, 3),
        "right": round(later_copies_right(trainee), 3),
        "sinks": [learnt(block.attention) for block in cast(Any, model.blocks)],
        **rests(model, int(hidden)),
    }  # fmt: skip


def main() -> None:
    """Train all models and write one JSON file."""
    script = Script(__file__, __doc__, seeds=3)
    script.record(
        what="where the heads of the induction model rest: a learned sink, a gate, a start token",
        settings={"length": LENGTH, "tested_period": TESTED_PERIOD},
        runs=each(trained, product(KINDS, range(script.options.seeds))),
    )


if __name__ == "__main__":
    main()
