"""Train the small Transformer of the parity record to write the running parity, bit by bit.

Method: one thread; the model, rate, batch and number of steps of `chapter_15_parity`, with a causal
mask. `written`: after the mark the model writes the parity of the first bit, of the first two, and
so on, and reads what it has written; it is judged on 1000 fresh strings by its last answer, written
by itself from the first to the last. `asked`: the same n answers are asked for at the bits
themselves, so the model is corrected as often but reads no answer of its own. It takes three
minutes on one core.

    python -m benchmarks.chapters.ch15.chapter_15_steps
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
    judge_running,
    train_running,
)

STEPS, BITS = 600, (8, 16)


def run(how: str, n: int, seed: int) -> Row:
    """Train one model, and return how often its last answer is right."""
    written = how == "written"
    model = bit_model(n, seed, written=(n - 1) * written)
    losses, seconds = clocked(train_running, model, n, written=written, steps=STEPS, seed=seed)
    return {
        "how": how, "n": n, "steps": STEPS, "seed": seed,
        "cpu_seconds": seconds,
        "last_loss": round(sum(losses[-50:]) / len(losses[-50:]), 4),
        "right": round(judge_running(model, n, written=written), 3),
    }  # fmt: skip


def main() -> None:
    """Train all models and write one JSON file."""
    script = Script(__file__, __doc__, seeds=2)
    cases = [
        (how, n, seed)
        for how in ("written", "asked")
        for n in BITS
        for seed in range(script.options.seeds)
    ]
    script.record(
        what="parity of n bits, written in steps and asked for in steps",
        settings={"d_model": D_MODEL, "heads": HEADS, "layers": LAYERS, "batch": BATCH,
                  "learning_rate": RATE},
        runs=each(run, cases),
    )  # fmt: skip


if __name__ == "__main__":
    main()
