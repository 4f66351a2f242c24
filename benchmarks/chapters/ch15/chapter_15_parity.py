"""Train a small Transformer on parity and on majority of bits, for several lengths and seeds.

Method: one thread. Two layers of width 32 with four heads and feed-forward layers, learned
positions, no mask; n random bits and a mark that asks, at which the answer is read. Parity: is the
number of ones odd? Majority: are there more ones than zeros? AdamW 3e-3, batch 64. Judged on 1000
fresh strings; for n = 4 and 8 every possible string was seen many times in training. It takes
about eight minutes on one core.

    python -m benchmarks.chapters.ch15.chapter_15_parity
"""

from benchmarks.recording import Row, Script, each
from benchmarks.timing import clocked
from course_utils.models.tasks.bit_tasks import (
    BATCH,
    D_MODEL,
    HEADS,
    LAYERS,
    RATE,
    bit_model,
    judge_bits,
    train_bits,
)

# task, bits, steps
RUNS = [[task, n, 600] for task in ("parity", "majority") for n in (4, 8, 12, 16)]
RUNS += [["parity", 8, 3000]]


def run(task: str, n: int, steps: int, seed: int) -> Row:
    """Train one model, and return how often it is right on fresh strings."""
    model = bit_model(n, seed)
    losses, seconds = clocked(train_bits, model, task, n, steps=steps, seed=seed)
    return {
        "task": task, "n": n, "steps": steps, "seed": seed,
        "cpu_seconds": seconds,
        "last_loss": round(sum(losses[-50:]) / len(losses[-50:]), 4),
        "right": round(judge_bits(model, task, n), 3),
    }  # fmt: skip


def main() -> None:
    """Train all models and write one JSON file."""
    script = Script(__file__, __doc__, seeds=3)
    cases = [(*one, seed) for one in RUNS for seed in range(script.options.seeds)]
    script.record(
        what="parity and majority of n bits, learnt by a small Transformer",
        settings={"d_model": D_MODEL, "heads": HEADS, "layers": LAYERS, "batch": BATCH,
                  "learning_rate": RATE},
        runs=each(run, cases),
    )  # fmt: skip


if __name__ == "__main__":
    main()
