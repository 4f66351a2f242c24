"""Train small convolutional networks to compare dots far apart, with a non-local block and without.

Method: one thread. Images of 14 × 14 pixels with twelve dots; three 3 × 3 convolutions, a receptive
field of 7 × 7; AdamW 3e-3, batch 32. It takes three minutes.

    .venv/bin/python benchmarks/chapter_14_dots.py
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path
from typing import Any

import torch
from recording import RESULTS, write_record
from timing import processor

from course_utils.models.dots import BATCH, RATE, DotNet, dots_right, train_on_dots

STEPS = [300, 600]


def run(steps: int, non_local: bool, seed: int) -> dict[str, Any]:
    """Train one network, and return how often it is right on images that no training drew."""
    torch.manual_seed(seed)
    model = DotNet(non_local=non_local)
    start = time.process_time()
    train_on_dots(model, steps=steps, seed=seed)
    return {
        "non_local": non_local, "seed": seed, "steps": steps,
        "cpu_seconds": round(time.process_time() - start, 1),
        "parameters": sum(p.numel() for p in model.parameters()),
        "right": round(dots_right(model), 3),
    }  # fmt: skip


def main() -> None:
    """Train all networks and write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="so many of each (default 3)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder to write to")
    options = parser.parse_args()
    torch.set_num_threads(1)
    todo = itertools.product(STEPS, (True, False), range(options.seeds))
    runs = [run(*one) for one in todo]
    print(*runs, sep="\n")
    write_record(
        options.out / "chapter_14_dots.json",
        what="dots that must compare themselves with a marked one far away",
        command=f"python benchmarks/chapter_14_dots.py --seeds {options.seeds}",
        settings={"batch": BATCH, "learning_rate": RATE, "processor": processor()},
        runs=runs,
    )


if __name__ == "__main__":
    main()
