"""Time the ring: what the slowest rank takes, against one process that does all of it.

Method: processor time, one thread a process, float32, causal. Each size is run fifteen times in
every process; the first is left out, the least of the others is kept. One process calls torch's
own `scaled_dot_product_attention`. It takes about four minutes on two cores:

    python -m benchmarks.chapters.ch16.chapter_16_speed
"""

from itertools import product

import torch
from torch import Tensor
from torch.nn import functional as F
from tqdm import tqdm

from benchmarks.recording import Row, Script
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


def measured(length: int, runs: int) -> list[Row]:
    """Return one row for one process, and one for each ring."""
    generator = torch.Generator().manual_seed(0)
    given = [torch.randn(1, HEADS, length, WIDTH, generator=generator) for _ in range(4)]
    ahead, back = alone([x.clone() for x in given], runs)
    rows: list[Row] = [
        {"length": length, "ranks": 1, "layout": "one process", "forward": [round(ahead, 6)],
         "backward": [round(back, 6)]}
    ]  # fmt: skip
    for ranks, layout in product((2, 4), ("contiguous", "zigzag")):
        made = jobs.attend_on_ranks(*given, ranks, layout, runs=runs, timeout=300.0)
        rows.append({
            "length": length, "ranks": ranks, "layout": layout,
            "forward": [round(forward, 6) for forward, _ in made.seconds],
            "backward": [round(backward, 6) for _, backward in made.seconds],
        })  # fmt: skip
    return rows


def main() -> None:
    """Measure all sizes and write one JSON file."""
    script = Script(__file__, __doc__, runs=RUNS)
    runs = script.options.runs
    rows = [row for length in tqdm(LENGTHS, ncols=80) for row in measured(length, runs)]
    script.record(
        what="processor seconds of each rank of a causal ring, and of one process, by length",
        settings={"heads": HEADS, "d_k": WIDTH, "dtype": "float32", "lengths": LENGTHS,
                  "runs": runs},
        runs=rows,
    )  # fmt: skip


if __name__ == "__main__":
    main()
