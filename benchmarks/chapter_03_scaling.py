"""Train chapter 03's character model with and without the scale, several seeds, and record it.

The notebook trains one seed live and shows it beside this record. It takes about a quarter of an
hour on one core:

    python benchmarks/chapter_03_scaling.py
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from course_utils.data import CharacterText, character_text, random_windows
from course_utils.measure.record import RESULTS
from course_utils.models import (
    CharacterModel,
    next_character_loss,
    train_character_model,
    weight_on_previous,
)

RESULT = RESULTS / "chapter_03_scaling.json"
LENGTH, STEPS, WINDOWS = 16, 300, 512
WIDTHS = (16, 64, 256, 1024)
STARTS = ("unit variance", "gpt")
RATES = (0.003, 0.01)


def run(
    text: CharacterText, rate: float, d_k: int, start: str, scaled: bool, seed: int
) -> dict[str, object]:
    """Train one model; say how sharp its attention was before and after, and how well it ended."""
    torch.manual_seed(seed)
    model = CharacterModel(
        num_characters=text.num_characters,
        length=LENGTH,
        d_k=d_k,
        scale=None if scaled else 1.0,
        start=start,  # type: ignore[arg-type]
    )
    before = top_weight(model, text)
    train_character_model(model, text, steps=STEPS, seed=seed, learning_rate=rate)
    return {
        "learning_rate": rate, "d_k": d_k, "start": start, "scaled": scaled, "seed": seed,
        "top_weight_before": before, "top_weight_after": top_weight(model, text),
        "weight_on_previous_after": round(weight_on_previous(model, text.validation), 3),
        "validation_loss": round(next_character_loss(model, text.validation, WINDOWS), 4),
    }  # fmt: skip


@torch.no_grad()
def top_weight(model: CharacterModel, text: CharacterText) -> float:
    """Return the mean of the largest weight of the last query, which sees all keys."""
    inputs, _ = random_windows(text.validation, LENGTH, 64, torch.Generator().manual_seed(0))
    return round(model.weights(inputs)[:, -1].amax(dim=-1).mean().item(), 3)


def as_json(record: Mapping[str, Any]) -> str:
    """Return JSON with one run a line, so that a difference between two records can be read."""
    runs = ",\n  ".join(json.dumps(run) for run in record["runs"])
    head = json.dumps({**record, "runs": []}, indent=1, ensure_ascii=False)
    return head.replace('"runs": []', f'"runs": [\n  {runs}\n ]') + "\n"


def main() -> None:
    """Run every combination and write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds (default 5)")
    parser.add_argument("--out", type=Path, default=RESULT, help="file to write")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # unscaled wide scores underflow, and denormals crawl
    text = character_text()
    combinations = list(
        itertools.product(RATES, WIDTHS, STARTS, (True, False), range(options.seeds))
    )
    runs = [run(text, *combination) for combination in tqdm(combinations, ncols=80)]
    record = {
        "what": "validation loss (nats a character) of a one-head character model",
        "command": f"python benchmarks/chapter_03_scaling.py --seeds {options.seeds}",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "machine": f"{platform.machine()}, 1 thread",
        "settings": {"length": LENGTH, "steps": STEPS, "windows": WINDOWS, "seeds": options.seeds},
        "runs": runs,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(as_json(record), encoding="utf-8")


if __name__ == "__main__":
    main()
