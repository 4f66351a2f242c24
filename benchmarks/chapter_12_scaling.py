"""Train chapter 12's sweep of five widths and read the losses off at five numbers of tokens.

Method: one thread; `train_at_width` on the characters of Python's help. `cpu_seconds` are those of
a width's whole run, its judgements included.

    .venv/bin/python benchmarks/chapter_12_scaling.py
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path

import torch
from recording import RESULTS, write_record
from timing import processor
from tqdm import tqdm

from course_utils.data import character_text
from course_utils.models import train_at_width

WIDTHS, READ_AT = (4, 8, 16, 32, 64), (64, 128, 256, 512, 1024)


def main() -> None:
    """Train all widths and write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="how many of each (default 1)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder to write to")
    options = parser.parse_args()
    torch.set_num_threads(1)
    text, runs = character_text(), []
    for seed in range(options.seeds):
        for width in WIDTHS:
            bar = partial(tqdm, desc=f"width {width}, seed {seed}", ncols=80, mininterval=20)
            start = time.process_time()
            points = train_at_width(text, width, READ_AT, seed=seed, progress=bar)
            seconds = round(time.process_time() - start, 1)
            runs += [
                {
                    **asdict(point),
                    "loss": round(point.loss, 5),
                    "seed": seed,
                    "cpu_seconds": seconds,
                }
                for point in points
            ]
    write_record(
        options.out / "chapter_12_scaling.json",
        what="a sweep of five widths and five numbers of tokens on characters",
        command=f"python benchmarks/chapter_12_scaling.py --seeds {options.seeds}",
        settings={"widths": WIDTHS, "read_at_steps": READ_AT, "processor": processor()},
        runs=runs,
    )


if __name__ == "__main__":
    main()
