"""Train chapter 12's sweep of five widths and read the losses off at five numbers of tokens.

Method: one thread; `train_at_width` on the characters of Python's help. `cpu_seconds` are those of
a width's whole run, its judgements included.

    python -m benchmarks.chapters.ch12.chapter_12_scaling
"""

from dataclasses import asdict
from itertools import product

from benchmarks.recording import Script, bar
from benchmarks.timing import clocked
from course_utils.data import character_text
from course_utils.models import train_at_width

WIDTHS, READ_AT = (4, 8, 16, 32, 64), (64, 128, 256, 512, 1024)


def main() -> None:
    """Train all widths and write one JSON file."""
    script = Script(__file__, __doc__, seeds=1)
    text, runs = character_text(), []
    for seed, width in product(range(script.options.seeds), WIDTHS):
        progress = bar(f"width {width}, seed {seed}")
        points, seconds = clocked(
            train_at_width, text, width, READ_AT, seed=seed, progress=progress
        )
        about = {"seed": seed, "cpu_seconds": seconds}
        runs += [{**asdict(one), "loss": round(one.loss, 5), **about} for one in points]
    script.record(
        what="a sweep of five widths and five numbers of tokens on characters",
        settings={"widths": WIDTHS, "read_at_steps": READ_AT},
        runs=runs,
    )


if __name__ == "__main__":
    main()
