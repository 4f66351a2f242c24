"""Compare calls by CPU time, in rounds, so that a busy machine disturbs all of them alike.

A round times each call once, in a new order (`time.process_time`: waiting for other programs does
not count). Times and ratios in the records are medians over the rounds.
"""

import platform
import random
import re
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import torch

Call = Callable[[], object]
Seconds = dict[str, list[float]]
P, T = ParamSpec("P"), TypeVar("T")


def clocked(run: Callable[P, T], *args: P.args, **options: P.kwargs) -> tuple[T, float]:
    """Return what a call returns, and its CPU seconds to a tenth."""
    start = time.process_time()
    out = run(*args, **options)
    return out, round(time.process_time() - start, 1)


def training(
    train: Callable[..., list[float]], model: torch.nn.Module, *given: Any, **how: Any
) -> dict[str, Any]:
    """Train a model; return its size, the time taken and the mean of the last 50 losses."""
    losses, seconds = clocked(train, model, *given, **how)
    last = losses[-50:]
    return {
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "cpu_seconds": seconds,
        "last_loss": round(sum(last) / len(last), 4),
    }


def timed(run: Call, calls: int) -> float:
    """Return the CPU seconds of one call; waiting for other programs does not count."""
    start = time.process_time()
    for _ in range(calls):
        run()
    return (time.process_time() - start) / calls


def in_rounds(runs: Mapping[str, Call], rounds: int, seconds: float = 0.05) -> Seconds:
    """Time every call once per round, in a new order each time, for at least some seconds."""
    for run in runs.values():
        run()
    calls = {name: max(1, round(seconds / timed(run, 1))) for name, run in runs.items()}
    measured: Seconds = {name: [] for name in runs}
    for number in range(rounds):
        for name in random.Random(number).sample(list(runs), len(runs)):
            measured[name].append(timed(runs[name], calls[name]))
    return measured


def ratio(one: list[float], other: list[float]) -> float:
    """Return the median over the rounds of one / other."""
    return round(statistics.median(a / b for a, b in zip(one, other, strict=True)), 3)


def milliseconds(measured: list[float]) -> float:
    """Return the median in milliseconds."""
    return round(1e3 * statistics.median(measured), 4)


def processor() -> str:
    """Return the processor's name and its kind of vectors: the ratios depend on them."""
    listed = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.+)", listed.read_text()) if listed.exists() else None
    name = found[1] if found else platform.processor()
    return f"{name}, {torch.backends.cpu.get_cpu_capability()}"
