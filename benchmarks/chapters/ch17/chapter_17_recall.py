"""Train layers that keep a state to recall values by their keys, as chapter 08 trains attention.

Every model has two layers of width 64 and the same number of parameters, to half a unit of
a feed-forward layer. Each layer blends a token with the one before it, so that a value meets its
key, and has neither a norm nor a gate after the heads. Query and key go through SiLU and to length
1; "raw" does neither, "SiLU" and "length 1" do one of the two. Lists of 2 to 16 pairs are learnt,
lists of 4, 16, 32 and 64 pairs are asked for; softmax and linear attention stand in chapter 08's
record, learnt in the same way.

The record is written after each model, and a second start goes on where the first ended. It takes
about an hour and a half on one core:

    python -m benchmarks.chapters.ch17.chapter_17_recall
"""

import json
from collections.abc import Callable, Sequence
from itertools import product

import torch
from tqdm import tqdm

from benchmarks.chapters.ch08.chapter_08_recall import PAIRS, SEQUENCES, trained
from benchmarks.recording import Row, Script
from course_utils.models.tasks.recall import D_MODEL, LAYERS, SYMBOLS, RecallModel

STEPS = 1000
HYBRID = "gated delta, then softmax"
MODELS: dict[str, tuple[str, int]] = {
    "retention, 4 heads, raw": ("raw retention", 4),
    "retention, 4 heads": ("retention", 4),
    "delta, 4 heads": ("delta", 4),
    "delta, 1 head": ("delta", 1),
    "delta, 16 heads": ("delta", 16),
    HYBRID: ("gated delta", 4),
    "gated delta, 4 heads": ("gated delta", 4),
    "retention, 1 head": ("retention", 1),
    "retention, 16 heads": ("retention", 16),
    "gated linear, 4 heads, raw": ("raw gated linear", 4),
    "gated linear, 4 heads": ("gated linear", 4),
    "WKV": ("WKV", 1),
    "SSM, 16 per channel": ("SSM", 1),
    "retention, 4 heads, SiLU": ("SiLU retention", 4),
    "retention, 4 heads, length 1": ("unit retention", 4),
}
LONGER = {"WKV": 3, "SSM, 16 per channel": 3, "delta, 16 heads": 2}  # and how many seeds
TWICE = ("retention, 4 heads, SiLU", "retention, 4 heads, length 1")  # two seeds


def run(steps: int, seed: int, name: str) -> Row:
    """Train one model, and return what it recalls."""
    torch.manual_seed(seed)
    model = RecallModel(*MODELS[name])
    if name == HYBRID:
        model.layers[1] = RecallModel("full").layers[1]
    return {"model": name, **trained(model, seed, steps), "steps": steps}


def main() -> None:
    """Run every combination that the record lacks."""
    script = Script(__file__, __doc__, seeds=3, models=tuple(MODELS))
    seeds, names = script.options.seeds, script.options.models
    wanted = [
        (STEPS, seed, name)
        for seed, name in product(range(seeds), names)
        if seed < 2 or name not in TWICE
    ]
    wanted += [
        (3 * STEPS, seed, name)
        for name, fewer in LONGER.items()
        for seed in range(min(seeds, fewer))
        if name in names
    ]
    what = "share of values recalled, by what a layer keeps and the length of the list"
    resume(script, run, wanted, what=what, models=tuple(MODELS))


def resume(
    script: Script, run: Callable[[int, int, str], Row], wanted: Sequence[tuple[int, int, str]], *,
    what: str, models: Sequence[str], **more: object,
) -> None:  # fmt: skip
    """Run each combination that the record lacks, and write the record after each.

    Args:
        script: The script of the record.
        run: Trains one model; its arguments are steps, seed and name.
        wanted: Steps, seed and name of each run.
        what: What the record holds.
        models: All names, in the record's order.
        **more: Further settings to record.
    """
    runs = json.loads(script.path.read_text())["runs"] if script.path.exists() else []
    done = {(one["steps"], one["seed"], one["model"]) for one in runs}

    def save() -> None:
        script.record(
            what=what,
            settings={
                "steps": STEPS, "batch": 32, "learning_rate": 3e-3, "d_model": D_MODEL,
                "layers": LAYERS, **more, "keys": SYMBOLS, "values": SYMBOLS,
                "trained_pairs": PAIRS, "sequences": SEQUENCES,
            },
            runs=sorted(
                runs, key=lambda one: (one["steps"], one["seed"], models.index(one["model"]))
            ),
        )  # fmt: skip

    for one in tqdm([one for one in wanted if one not in done], ncols=80):
        runs.append(run(*one))
        save()
    save()


if __name__ == "__main__":
    main()
