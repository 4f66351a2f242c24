"""Measure the course's flash kernels on a GPU, beside torch's own attention.

Method: bfloat16; batch · tokens = 16384 and heads · width = 2048, as in the FlashAttention papers.
Every way is timed in rounds, in a new order each, by CUDA events around as many calls as fill
20 ms; each round is recorded. FLOPs are 4 · B · H · n² · d forward, half of it causal, and 2.5
times as many backward. Errors are those of output and gradients against float64, relative to the
largest entry, at lengths that tiles divide and at one that they do not. Up to 2048 tokens the
forward pass is also replayed from a CUDA graph, which leaves out what Python takes to launch it.
The peak is the memory that one forward and backward pass held beyond its inputs. The kernels'
options (a window, documents, a cap, slopes) are timed beside FlexAttention's at two lengths; their
FLOPs are those of the pairs that are seen.

    python -m benchmarks.flash.flash_gpu            # every size
    python -m benchmarks.flash.flash_gpu --quick    # two lengths, two rounds
    python -m benchmarks.flash.flash_gpu --dry-run  # tiny and on the CPU: writes nothing
"""

import json
import random
import statistics
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from itertools import chain

import torch
from torch import Tensor
from tqdm import tqdm

from benchmarks import timing
from benchmarks.flash.flash_ways import (
    STREAM,
    TOKENS,
    Attend,
    Case,
    cases,
    inputs,
    naive,
    optional,
    ways,
)
from benchmarks.recording import Row, Script

LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
REPLAYED = 2048  # tokens; beyond, a launch takes no part of the time that matters


def timed(run: Callable[[], object], calls: int, device: str) -> float:
    """Return the milliseconds of one call."""
    if device == "cpu":
        return 1e3 * timing.timed(run, calls)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(calls):
        run()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / calls


def passes(attend: Attend, given: list[Tensor], device: str) -> dict[str, Callable[[], object]]:
    """Return the forward pass, the backward pass on its own, and the forward pass replayed."""
    *leaves, grad_out = given
    out = attend(*leaves)
    forward = torch.no_grad()(partial(attend, *leaves))
    backward = partial(torch.autograd.grad, out, leaves, grad_out, retain_graph=True)
    runs: dict[str, Callable[[], object]] = {"forward": forward, "backward": backward}
    if device == "cuda" and out.shape[2] <= REPLAYED:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            forward()
        runs["replayed"] = graph.replay
    return runs


def measure(case: Case, found: dict[str, Attend], said: Row, rounds: int, device: str) -> list[Row]:
    """Time every way at one size; one that cannot do it says why in place of its times."""
    given = inputs(case.shape, torch.bfloat16, device)
    rows, runs = [], {}
    for name, attend in found.items():
        batch, heads = case.shape[:2]
        row: Row = {"what": name, **said, **case._asdict(), "batch": batch, "heads": heads}
        rows.append(row)
        try:
            row["peak_bytes"] = peak(attend, given, device)
            for kind, run in passes(attend, given, device).items():
                run()  # what is compiled or searched for at first is no part of a call
                first = max(timed(run, 2, device), 1e-3)
                calls = 1 if device == "cpu" else max(1, round(20 / first))
                runs[name, kind], row[f"{kind}_ms"] = (run, calls), []
        except (RuntimeError, NotImplementedError) as error:
            row["cannot"] = str(error).strip().split("\n")[0]
    by_name = {row["what"]: row for row in rows}
    for number in range(rounds):
        for name, kind in random.Random(number).sample(list(runs), len(runs)):
            run, calls = runs[name, kind]
            by_name[name][f"{kind}_ms"].append(round(timed(run, calls, device), 4))
    flops = case.flops * said.get("seen", 1.0)
    for row in rows:
        for kind, factor in (("forward", 1.0), ("backward", 2.5), ("replayed", 1.0)):
            if row.get(f"{kind}_ms"):
                seconds = 1e-3 * statistics.median(row[f"{kind}_ms"])
                row[f"{kind}_tflops"] = round(factor * flops / seconds / 1e12, 2)
    return rows


def peak(attend: Attend, given: list[Tensor], device: str) -> int | None:
    """Return the bytes that a forward and backward pass held beyond its inputs."""
    *leaves, grad_out = given
    torch.autograd.grad(attend(*leaves), leaves, grad_out)  # what is compiled at first is no need
    if device == "cpu":
        return None
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    torch.autograd.grad(attend(*leaves), leaves, grad_out)
    return torch.cuda.max_memory_allocated() - before


def errors(lengths: tuple[int, ...], device: str) -> list[Row]:
    """Compare ours, and SDPA's flash backend, with float64: the output and each gradient."""
    rows = []
    dtypes = (torch.bfloat16, torch.float16, torch.float32)
    for dtype, case in [(d, c) for d in dtypes for c in cases(lengths, tokens=0)]:
        given = inputs((1, 2, case.length, case.width), dtype, device)
        want = gradients(partial(naive, case.is_causal), [x.detach().double() for x in given])
        for name in ("ours", "sdpa_flash"):
            row = {"what": name, "dtype": str(dtype), "width": case.width, "length": case.length}
            rows.append({**row, "is_causal": case.is_causal})
            try:
                got = gradients(ways(case, "cpu")[name], given)
            except RuntimeError as error:
                rows[-1]["cannot"] = str(error).strip().split("\n")[0]
                continue
            for part, one, other in zip(("out", "dq", "dk", "dv"), got, want, strict=True):
                error = (one.double() - other).abs().max() / other.abs().max()
                rows[-1][part] = float(f"{error.item():.3g}")
    return rows


def gradients(attend: Attend, given: list[Tensor]) -> list[Tensor]:
    """Return the output and the gradients of query, key and value."""
    leaves = [x.detach().requires_grad_() for x in given[:3]]
    out = attend(*leaves)
    return [out.detach(), *torch.autograd.grad(out, leaves, given[3])]


def main() -> None:
    """Measure everything and write one JSON file."""
    script = Script(__file__, __doc__, quick=False, dry_run=False, rounds=5)
    options = script.options
    if options.dry_run:
        tiny = Case(64, 70, True, 70, 64)
        timed_once = measure(tiny, ways(tiny, "cpu"), {}, 1, "cpu")
        more = [measure(*one, 1, "cpu") for one in optional((24,), "cpu", tokens=24, stream=128)]
        for row in [*errors((40,), "cpu"), *timed_once, *chain(*more)]:
            print(json.dumps(row))
        return
    if not torch.cuda.is_available():
        sys.exit("This needs a CUDA device, and torch sees none: nothing was measured.")
    rounds, lengths = (2, (1024, 8192)) if options.quick else (options.rounds, LENGTHS)
    checked = errors((512, 1000, 2048), "cuda")
    every = tqdm(cases(lengths), desc="sizes", ncols=80)
    runs = [row for case in every for row in measure(case, ways(case, "cuda"), {}, rounds, "cuda")]
    script.record(
        what="the course's flash kernels on a GPU, beside torch's own attention",
        settings={"dtype": "bfloat16", "rounds": rounds, "tokens": TOKENS, "stream": STREAM},
        machine=torch.cuda.get_device_name(),
        versions={"triton": version("triton"), "cuda": str(torch.version.cuda),
                  "cudnn": str(torch.backends.cudnn.version())},
        errors=checked,
        runs=runs,
        options=[
            row for one in optional((2048, 8192), "cuda") for row in measure(*one, rounds, "cuda")
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main()
