"""Time the ring: what the slowest rank takes, against one process that does all of it.

Method: processor time, one thread a process, float32, causal. Each size is run fifteen times in
every process; the first is left out, the least of the others is kept. One process calls torch's
own `scaled_dot_product_attention`. It takes about four minutes on two cores:

    .venv/bin/python benchmarks/chapter_16_speed.py
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from recording import RESULTS, write_record
from torch import Tensor
from torch.nn import functional as F
from tqdm import tqdm

from course_utils.distributed import jobs

HEADS, WIDTH, RUNS = 4, 64, 15
LENGTHS = (512, 1024, 2048, 4096, 8192)


def alone(given: list[Tensor], runs: int) -> tuple[float, float]:
    """Return the least processor time of one process, forward and backward."""
    *inputs, grad_out = (x.requires_grad_() for x in given)

    def forward() -> Tensor:
        return F.scaled_dot_product_attention(inputs[0], inputs[1], inputs[2], is_causal=True)

    times = [jobs.cpu_seconds(forward, inputs, grad_out) for _ in range(runs)][1:]
    return min(ahead for ahead, _ in times), min(back for _, back in times)


def measured(length: int, runs: int) -> list[dict[str, Any]]:
    """Return one row for one process, and one for each ring."""
    generator = torch.Generator().manual_seed(0)
    given = [torch.randn(1, HEADS, length, WIDTH, generator=generator) for _ in range(4)]
    ahead, back = alone([x.clone() for x in given], runs)
    rows: list[dict[str, Any]] = [
        {"length": length, "ranks": 1, "layout": "one process", "forward": [round(ahead, 6)],
         "backward": [round(back, 6)]}
    ]  # fmt: skip
    rings: tuple[tuple[int, jobs.Layout], ...] = (
        (2, "contiguous"), (2, "zigzag"), (4, "contiguous"), (4, "zigzag"),
    )  # fmt: skip
    for ranks, layout in rings:
        made = jobs.attend_on_ranks(
            given[0], given[1], given[2], given[3], ranks, layout, runs=runs, timeout=300.0
        )
        rows.append(
            {
                "length": length,
                "ranks": ranks,
                "layout": layout,
                "forward": [round(forward, 6) for forward, _ in made.seconds],
                "backward": [round(backward, 6) for _, backward in made.seconds],
            }
        )
    return rows


def main() -> None:
    """Measure all sizes and write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"of each (default {RUNS})")
    parser.add_argument("--longest", type=int, default=max(LENGTHS), help="the longest text")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder to write to")
    options = parser.parse_args()
    torch.set_num_threads(1)
    lengths = [length for length in LENGTHS if length <= options.longest]
    rows = [row for length in tqdm(lengths, ncols=80) for row in measured(length, options.runs)]
    write_record(
        options.out / "chapter_16_speed.json",
        what="processor seconds of each rank of a causal ring, and of one process, by length",
        command=f"python benchmarks/chapter_16_speed.py --runs {options.runs}",
        settings={"heads": HEADS, "d_k": WIDTH, "dtype": "float32", "lengths": lengths,
                  "runs": options.runs},
        runs=rows,
    )  # fmt: skip


if __name__ == "__main__":
    main()
