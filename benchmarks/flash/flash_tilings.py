"""Time the course's flash kernels under many tilings: `TILINGS` in `flash_launch` was chosen so.

Method: as in flash_gpu.py, at one length; Triton's `do_bench`, medians. One kernel's tiling changes
at a time; the two backward kernels run together, so that the time of a row is that of both.

    python -m benchmarks.flash.flash_tilings            # 8192 tokens
    python -m benchmarks.flash.flash_tilings --dry-run  # one tiling, on the CPU: writes nothing
"""

import functools
import json
import multiprocessing
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from itertools import product
from typing import Any, NamedTuple

import torch

from benchmarks.flash.flash_ways import STREAM, TOKENS, Case, cases, inputs
from benchmarks.recording import Row, Script
from course_utils.attention.tiled.flash.launch import (
    Tiling,
    Tilings,
    flash_backward,
    flash_forward,
    gpu_tilings,
)

CUTS = [Tiling(*cut) for cut in product((64, 128), (32, 64, 128), (4, 8), (2, 3))]


class Trial(NamedTuple):
    """One kernel with one tiling, at one size."""

    kernel: str
    cut: Tiling
    case: Case


@functools.cache
def passes(case: Case, device: str) -> tuple[Callable[[Tilings], Any], Callable[[Tilings], Any]]:
    """Return the forward and the backward pass at this size, each a function of the tilings."""
    query, key, value, grad_out = (x.detach() for x in inputs(case.shape, torch.bfloat16, device))
    if device == "cpu":  # where the interpreter has no bfloat16
        query, key, value, grad_out = (x.float() for x in (query, key, value, grad_out))
    scale = case.width**-0.5
    out, lse = flash_forward(query, key, value, scale, case.is_causal)
    given = (query, key, value, out, lse, grad_out, scale, case.is_causal)
    return (
        lambda tilings: flash_forward(query, key, value, scale, case.is_causal, tilings),
        lambda tilings: flash_backward(*given, tilings),
    )


def call(trial: Trial, device: str = "cuda") -> Callable[[], Any]:
    """Return the pass that holds the trial's kernel, with its tiling."""
    forward, backward = passes(trial.case, device)
    usual = gpu_tilings(torch.bfloat16, trial.case.width)
    run = forward if trial.kernel == "forward" else backward
    return functools.partial(run, usual._replace(**{trial.kernel: trial.cut}))


def fits(trial: Trial) -> bool:
    """Compile the trial's kernel, which stays in Triton's cache; say whether the GPU can run it."""
    from triton.runtime.errors import OutOfResources

    small = trial.case._replace(length=256, tokens=256, stream=2 * trial.case.width)
    try:
        call(trial._replace(case=small))()
    except OutOfResources:
        return False
    return True


def main() -> None:
    """Time every trial and write one JSON file."""
    script = Script(__file__, __doc__, dry_run=False, length=8192, jobs=4)
    options = script.options
    if options.dry_run:
        for kernel in Tilings._fields:
            trial = Trial(kernel, Tiling(32, 16, 1, 1), Case(64, 40, True, 40, 64))
            start = time.perf_counter()
            call(trial, "cpu")()
            print(json.dumps({**row(trial), "ms": 1e3 * (time.perf_counter() - start)}))
        return
    if not torch.cuda.is_available():
        sys.exit("This needs a CUDA device, and torch sees none: nothing was measured.")
    from triton.testing import do_bench

    sizes = cases((options.length,))
    trials = [Trial(*one) for one in product(Tilings._fields, CUTS, sizes)]
    trials.sort(key=lambda trial: trial.case)
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        possible = list(pool.map(fits, trials, chunksize=4))
    runs = []
    for trial, fitting in zip(trials, possible, strict=True):
        time_of = do_bench(call(trial), 10, 40, return_mode="median") if fitting else None
        runs.append({**row(trial), "ms": time_of and round(time_of, 4)})
    script.record(
        what="the course's flash kernels on a GPU, cut in many ways; ms null: more memory than is",
        settings={"dtype": "bfloat16", "tokens": TOKENS, "stream": STREAM},
        machine=torch.cuda.get_device_name(),
        versions={"triton": version("triton"), "cuda": str(torch.version.cuda)},
        runs=runs,
    )


def row(trial: Trial) -> Row:
    """Return what the record says of a trial beside its time."""
    case = trial.case
    return {"kernel": trial.kernel, **trial.cut._asdict(), "width": case.width,
            "length": case.length, "is_causal": case.is_causal}  # fmt: skip


if __name__ == "__main__":
    main()
