"""Train the induction models of chapter 13 with several seeds, and ablate their layers and heads.

Method: one thread. Every model reads a start token and 48 of 32 symbols, drawn with repetition,
whose segment repeats with a period of 8 to 24 drawn anew for each batch; AdamW 3e-3, batch 32. It
is judged on segments of period 20 without repetition, where the symbol before was seen once
already. `above_half_from` is the first of the steps 0, 25, 50 … with more than half right. The
scores are those of each layer's heads. A layer or a head is taken away in two ways: its output
becomes zero, or its mean over the judged segments at each position (`mean_without_…`). Losses are
in nats, in the later copies and then in the first; `resting` has the last layer's weight, for the
queries 9 to 20, on the start token, on the first symbol, and on all others, and what the model does
when the start token's value in that layer is zero. `seen` is the probability that a model gives to
the symbols seen so far, for the queries 10 to 19, and their share of all symbols; `in_segment` the
same in the later copies, for the segment's. It takes three minutes on one core.

    python -m benchmarks.chapters.ch13.chapter_13_induction
"""

import time
from collections.abc import Callable
from itertools import product

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.recording import Row, Script, each, rounded
from benchmarks.timing import clocked
from course_utils.attention import causal_mask, masked_softmax, merge_heads, split_heads
from course_utils.data.repeated import SYMBOLS
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


Read = Callable[[int, Tensor, Tensor], Tensor]  # layer, weights and values to the heads' outputs


@torch.no_grad()
def read(model: SmallTransformer, tokens: Tensor, how: Read) -> Tensor:
    """Return the scores of a model whose heads average as they are told to."""
    x = model._embed(tokens)
    for layer, block in enumerate(model.blocks):
        query, key, value = block.attention.project(*[block.attention_norm(x)] * 3)
        scores = query @ key.mT / query.shape[-1] ** 0.5
        weights = masked_softmax(scores, causal_mask(LENGTH, LENGTH))
        x = x + block.attention.out_proj(merge_heads(how(layer, weights, value)))
    return model.out(model.norm(x))


def without(places: list[tuple[int, int]], mean: bool) -> Read:
    """Return a way to read in which some heads give zeros, or their mean over the texts."""

    def how(layer: int, weights: Tensor, value: Tensor) -> Tensor:
        heads = weights @ value
        for _, head in (place for place in places if place[0] == layer):
            heads[:, head] = heads[:, head].mean(dim=0) if mean else 0.0
        return heads

    return how


def judged(model: SmallTransformer, how: Read) -> list[float]:
    """Return the share of right predictions, and the losses in later copies and in the first."""
    tokens = judged_segments()
    scores, wanted = read(model, tokens[:, :-1], how), tokens[:, 1:]
    loss = F.cross_entropy(scores.flatten(0, 1), wanted.flatten(), reduction="none")
    loss, later = loss.view(wanted.shape), TESTED_PERIOD + 1
    right = (scores.argmax(dim=-1) == wanted)[:, later:].float().mean()
    return rounded(torch.stack([right, loss[:, later:].mean(), loss[:, 1:TESTED_PERIOD].mean()]))


def resting(model: SmallTransformer) -> Row:
    """Return where the last layer looks while nothing matches, and what it loses by silence."""
    last, kept = len(model.blocks) - 1, []

    def silent_start(layer: int, weights: Tensor, value: Tensor) -> Tensor:
        if layer == last:
            kept.append(weights[:, :, 9 : TESTED_PERIOD + 1].mean(dim=(0, 1, 2)))
            value[:, :, 0] = 0.0
        return weights @ value

    silent = judged(model, silent_start)
    start, first, *others = kept[0]
    return {
        "start": round(start.item(), 3), "first_symbol": round(first.item(), 3),
        "others": round(torch.stack(others).sum().item(), 3), "silent_start": silent,
    }  # fmt: skip


def on_symbols(model: SmallTransformer) -> dict[str, list[float]]:
    """Return the probability on symbols that were seen, and on the segment's, and their shares."""
    tokens = judged_segments()
    chances = read(model, tokens[:, :-1], without([], mean=False)).softmax(dim=-1)[..., :SYMBOLS]
    known = F.one_hot(tokens[:, 1:-1], SYMBOLS).cumsum(dim=1).bool()  # at query 1 and later
    found = {}
    for name, queries in (("seen", slice(9, 19)), ("in_segment", slice(TESTED_PERIOD, None))):
        there = known[:, queries]
        given = (chances[:, 1:][:, queries] * there).sum(dim=-1).mean()
        found[name] = rounded(torch.stack([given, there.float().mean(dim=-1).mean()]))
    return found


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
    watching: list[float] = []

    def look(step: int) -> None:
        scores = circuit_scores(model)
        curve.append({"step": step, "right": round(later_copies_right(model, sequences=64), 3)})
        curve[-1] |= {name: rounded(scores[name]) for name in ("induction", "previous")}

    def watch(step: int) -> None:
        start = time.process_time()
        if step % EVERY == 0:
            look(step)
        watching.append(time.process_time() - start)

    _, seconds = clocked(
        train_induction, model, steps=steps, seed=seed, distinct=distinct, watch=watch
    )

    def right_without(*off: int) -> float:
        rest = torch.ones(layers, heads, dtype=torch.bool)
        rest[off] = False
        return round(later_copies_right(model, rest), 3)

    places = list(product(range(layers), range(heads)))
    of_layer = [[place for place in places if place[0] == layer] for layer in range(layers)]
    return {
        "layers": layers, "heads": heads, "steps": steps, "distinct": distinct, "seed": seed,
        "cpu_seconds": round(seconds - sum(watching), 1),  # watching is not timed
        "right": round(later_copies_right(model), 3),
        "above_half_from": next((row["step"] for row in curve if row["right"] > 0.5), None),
        **{name.replace(", ", "_").replace(" ", "_"): rounded(scores)
           for name, scores in circuit_scores(model, 128).items()},
        "without_layer": [right_without(layer) for layer in range(layers)],
        "without_head": [right_without(*place) for place in places],
        "losses": judged(model, without([], mean=False))[1:],
        **{f"{name}_losses_without_layer": [judged(model, without(part, mean))[1:]
                                            for part in of_layer]
           for name, mean in (("zero", False), ("mean", True))},
        "mean_without_layer": [judged(model, without(part, mean=True))[0] for part in of_layer],
        "mean_without_head": [judged(model, without([place], mean=True))[0] for place in places],
        "resting": resting(model), **on_symbols(model),
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
