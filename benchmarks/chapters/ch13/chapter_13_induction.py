"""Train the induction models of chapter 13 with several seeds, and ablate their layers and heads.

Method: one thread. Every model reads a start token and 48 of 32 symbols, drawn with repetition,
whose segment repeats with a period of 8 to 24 drawn anew for each batch; AdamW 3e-3, batch 32. It
is judged on segments of period 20 without repetition, where the symbol before was seen once
already. `above_half_from` is the first of the steps 0, 25, 50 … with more than half right. The
scores are those of each layer's heads. It takes four minutes on one core.

    python -m benchmarks.chapters.ch13.chapter_13_induction
"""

from itertools import product

import torch

from benchmarks.recording import Row, Script, each, rounded
from benchmarks.timing import clocked
from course_utils.attention import causal_mask, split_heads
from course_utils.models.gpt.small_transformer import SmallTransformer
from course_utils.models.tasks.induction import (
    LENGTH,
    PERIODS,
    TESTED_PERIOD,
    circuit_scores,
    induction_model,
    judged_segments,
    later_copies_right,
    train_induction,
)

# layers, heads, steps, whether the segments of training are without repetition, seeds
MODELS = [
    [2, 1, 400, False, 3], [2, 1, 800, False, 1], [2, 4, 500, False, 3], [1, 4, 500, False, 3],
    [2, 1, 600, True, 3],
]  # fmt: skip
EVERY = 25


@torch.no_grad()
def value_lengths(model: SmallTransformer) -> list[float]:
    """Return how long the last layer's values are: the start token's, and the others' mean."""
    x = model._embed(judged_segments(64)[:, :-1])
    mask = causal_mask(LENGTH, LENGTH)
    for block in model.blocks[:-1]:
        x = block(x, mask)
    last = model.blocks[-1]
    weight, bias = (
        part.chunk(3)[2] for part in (last.attention.in_proj_weight, last.attention.in_proj_bias)
    )
    values = split_heads(last.attention_norm(x) @ weight.T + bias, model.num_heads).norm(dim=-1)
    return [round(part.mean().item(), 2) for part in (values[..., 0], values[..., 1:])]


def trained(layers: int, heads: int, steps: int, distinct: bool, seed: int) -> Row:
    """Train one model, and return what it learnt and what each part of it is worth."""
    model = induction_model(seed, layers, heads)
    curve: list[Row] = []

    def watch(step: int) -> None:
        if step % EVERY == 0:
            scores = circuit_scores(model)
            curve.append({"step": step, "right": round(later_copies_right(model, sequences=64), 3)})
            curve[-1] |= {name: rounded(scores[name]) for name in ("induction", "previous")}

    _, seconds = clocked(train_induction, model, steps=steps, seed=seed, distinct=distinct)
    model = induction_model(seed, layers, heads)  # again, watched: watching is not timed
    train_induction(model, steps=steps, seed=seed, distinct=distinct, watch=watch)

    def right_without(*off: int) -> float:
        rest = torch.ones(layers, heads, dtype=torch.bool)
        rest[off] = False
        return round(later_copies_right(model, rest), 3)

    places = product(range(layers), range(heads))
    return {
        "layers": layers, "heads": heads, "steps": steps, "distinct": distinct, "seed": seed,
        "cpu_seconds": seconds, "right": round(later_copies_right(model), 3),
        "above_half_from": next((row["step"] for row in curve if row["right"] > 0.5), None),
        **{name.replace(", ", "_").replace(" ", "_"): rounded(scores)
           for name, scores in circuit_scores(model, 128).items()},
        "without_layer": [right_without(layer) for layer in range(layers)],
        "without_head": [right_without(*place) for place in places],
        "value_lengths": value_lengths(model), "curve": curve,
    }  # fmt: skip


def main() -> None:
    """Train all models and write one JSON file."""
    script = Script(__file__, __doc__, seeds=3)
    cases = [
        (*model, seed) for *model, most in MODELS for seed in range(min(most, script.options.seeds))
    ]
    script.record(
        what="induction heads: how they appear, and what is lost without them",
        settings={"length": LENGTH, "periods": PERIODS, "tested_period": TESTED_PERIOD},
        runs=each(trained, cases),
    )  # fmt: skip


if __name__ == "__main__":
    main()
