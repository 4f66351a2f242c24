"""Train the small GPT of chapter 10 longer than its notebook may, and say what an int8 cache costs.

Method: one thread. Byte pairs and weights are trained on the topics of Python's help; the loss is
that of every token of the topics held out, in windows of the trained length: without a cache, and
read through a cache of each kind, of which `bytes` are those for one window. `loss_at` has longer
windows too, for all tokens and for a rolling cache that holds the trained length; the sample is
written through that one. `cpu_seconds` are of training alone. It takes three minutes on one core.

    .venv/bin/python benchmarks/chapter_10_training.py
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from recording import RESULTS, write_record
from timing import processor
from tqdm import tqdm

from course_utils.attention import QuantizedCache, RollingCache
from course_utils.data import character_text
from course_utils.models import (
    GPT,
    ModelCache,
    TokenText,
    generate,
    next_token_loss,
    token_text,
    train_gpt,
)

SIZES = {"d_model": 96, "num_heads": 4, "num_layers": 2, "max_length": 256}
LENGTH, SHORT, LONG = 64, 500, 1300
HEADS, D_K = SIZES["num_heads"], SIZES["d_model"] // SIZES["num_heads"]
READ_AT = (LENGTH, 2 * LENGTH, 4 * LENGTH)
PROMPT = "The "


def int8_cache(batch: int) -> ModelCache:
    """Return a rounded cache for windows of the trained length."""
    return ModelCache(
        [QuantizedCache(batch, HEADS, LENGTH, D_K) for _ in range(SIZES["num_layers"])]
    )


def rolling_cache(batch: int) -> ModelCache:
    """Return a cache of the trained length for texts of any length."""
    return ModelCache(
        [RollingCache(batch, HEADS, D_K, window=LENGTH) for _ in range(SIZES["num_layers"])]
    )


def trained(text: TokenText, steps: int, seed: int) -> dict[str, Any]:
    """Train one model and return what it costs, what it lost, and what it writes."""
    torch.manual_seed(seed)
    model = GPT(len(text.tokenizer), positions="rope", **SIZES)
    bar = partial(tqdm, desc=f"{steps} steps, seed {seed}", ncols=80)
    start = time.process_time()
    train_gpt(model, text.train, steps=steps, seed=seed, progress=bar)
    seconds = time.process_time() - start
    caches: dict[str, Callable[[int], ModelCache]] = {
        "float32": partial(model.new_cache, max_length=LENGTH), "int8": int8_cache,
    }  # fmt: skip
    loss = next_token_loss(model, text.validation)
    generator = torch.Generator().manual_seed(1)
    written = generate(
        model, text.tokenizer.encode(PROMPT)[None], 160, cache=rolling_cache(1),
        temperature=0.6, top_k=20, generator=generator,
    )  # fmt: skip
    return {
        "steps": steps, "seed": seed, "cpu_seconds": round(seconds, 1),
        "parameters": sum(one.numel() for one in model.parameters()), "loss": round(loss, 4),
        "bits_a_character": round(loss / text.characters_per_token / math.log(2), 4),
        "loss_through": {
            name: round(next_token_loss(model, text.validation, caches=make), 6)
            for name, make in caches.items()
        },
        "loss_at": {
            str(length): {
                "all": round(next_token_loss(model, text.validation, length), 4),
                "rolling": round(
                    next_token_loss(model, text.validation, length, rolling_cache), 4
                ),
            }
            for length in READ_AT
        },
        "bytes": {name: make(1).num_bytes for name, make in caches.items()},
        "sample": PROMPT + text.tokenizer.decode(written[0].tolist()),
    }  # fmt: skip


def main() -> None:
    """Train all models and write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="how many short runs (default 3)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder to write to")
    options = parser.parse_args()
    torch.set_num_threads(1)
    text = token_text(character_text())
    runs = [trained(text, SHORT, seed) for seed in range(options.seeds)]
    runs.append(trained(text, LONG, seed=0))
    write_record(
        options.out / "chapter_10_training.json",
        what="a small GPT trained on Python's help, and its loss through caches",
        command=f"python benchmarks/chapter_10_training.py --seeds {options.seeds}",
        settings={
            **SIZES, "vocabulary": len(text.tokenizer), "positions": "rope", "length": LENGTH,
            "characters_a_token": round(text.characters_per_token, 3), "processor": processor(),
        },
        runs=runs,
    )  # fmt: skip


if __name__ == "__main__":
    main()
