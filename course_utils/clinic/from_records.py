"""Read from the records what the field guide and chapter 18's front of choices are made of."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

import torch

from course_utils.measure import read_record

D_MODEL, TOKENS = 64, 128  # of chapter 08's recall models: 64 pairs are 128 tokens

read = cache(read_record)


def recall_models() -> list[tuple[str, int, float]]:
    """Return name, numbers kept per layer and share of 64 pairs recalled of chapter 08's models."""
    shares: dict[str, list[float]] = {}
    for run in read("chapter_08_recall")["runs"]:
        shares.setdefault(run["model"], []).append(run["recalled"]["64"])
    return [(name, kept(name), sum(own) / len(own)) for name, own in shares.items()]


def kept(model: str) -> int:
    """Return how many numbers a layer keeps of a text of 128 tokens; a mixed stack, the mean."""
    numbers = [int(n) for n in re.findall(r"\d+", model)]
    if model.startswith("window of 16, then"):
        return (kept("window of 16, 4 heads") + kept("grouped-query, 2 of 4 heads")) // 2
    if model.startswith("linear"):
        width = D_MODEL // numbers[0]
        return numbers[0] * (width * width + width)
    if model.startswith("latent"):
        return TOKENS * numbers[0]
    if model.startswith("window"):
        return 2 * numbers[0] * D_MODEL
    share = 1 if model.startswith("full") else numbers[0] / numbers[1]
    return int(2 * TOKENS * D_MODEL * share)


def depth() -> tuple[float, float]:
    """Return the last losses of twelve layers, post-norm and pre-norm: means of two seeds."""
    own = {"what": "depth", "warmup": 0}
    behind, before = (
        mean(
            one("chapter_12_stability", "losses", pre_norm=is_pre, seed=seed, **own)[-1]
            for seed in (0, 1)
        )
        for is_pre in (False, True)
    )
    return behind, before


def looked_at() -> tuple[float, float]:
    """Return the median milliseconds of multi-head attention, with weights returned and without."""
    own = {"length": 4096, "mask": "causal", "pass": "forward"}
    weighed, fused = (
        one("chapter_05_multi_head", "milliseconds", what=f"nn.MultiheadAttention, {how}", **own)
        for how in ("need_weights=True", "need_weights=False")
    )
    return float(torch.tensor(weighed).median()), float(torch.tensor(fused).median())


def busiest(ranks: int, length: int) -> float:
    """Return the processor time of a ring's busiest rank, over that of one process."""
    own = {"length": length, "layout": "zigzag", "ranks": ranks}
    (alone,) = one("chapter_16_speed", "forward", length=length, ranks=1)
    return float(max(one("chapter_16_speed", "forward", **own)) / alone)


def at_256(scheme: str) -> float:
    """Return the mean loss on text at 256 characters of models that were trained on 64."""
    runs = read("chapter_07_positions")["runs"]
    own = [run for run in runs if (run["task"], run["scheme"]) == ("text", scheme)]
    return mean(run["loss"]["256"] for run in own)


def recalled(model: str, pairs: str) -> float:
    """Return the mean share that a model of chapter 17 recalls after 1,000 steps."""
    runs = read("chapter_17_recall")["runs"]
    own = [run for run in runs if (run["model"], run["steps"]) == (model, 1000)]
    return mean(run["recalled"][pairs] for run in own)


def mean(values: Iterable[float]) -> float:
    """Return the mean of some numbers."""
    numbers = list(values)
    return sum(numbers) / len(numbers)


def one(record: str, value: str, **wanted: object) -> Any:
    """Return one value of the one run of a record that has these others."""
    return pick(read(record)["runs"], value, **wanted)


def pick(rows: Iterable[dict[str, Any]], value: str, **wanted: object) -> Any:
    """Return one value of the one row that has these others."""
    (row,) = [row for row in rows if all(row.get(k) == v for k, v in wanted.items())]
    return row[value]


def where(record: str) -> str:
    """Return the date and the machine of a record."""
    found = read(record)
    return f"{found['date']}, {found['settings'].get('processor', found['machine'])}"
