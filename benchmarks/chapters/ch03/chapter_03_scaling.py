"""Train chapter 03's character model with and without the scale, several seeds, and record it.

The notebook trains one seed live and shows it beside this record. It takes about a quarter of an
hour on one core:

    python -m benchmarks.chapters.ch03.chapter_03_scaling
"""

from itertools import product

import torch

from benchmarks.recording import Script, each
from course_utils.data import CharacterText, character_text, random_windows
from course_utils.models import (
    CharacterModel,
    next_character_loss,
    train_character_model,
    weight_on_previous,
)

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


def main() -> None:
    """Run every combination and write one JSON file."""
    script = Script(__file__, __doc__, seeds=5)
    torch.set_flush_denormal(True)  # unscaled wide scores underflow, and denormals crawl
    text = character_text()
    seeds = script.options.seeds
    script.record(
        what="validation loss (nats a character) of a one-head character model",
        settings={"length": LENGTH, "steps": STEPS, "windows": WINDOWS, "seeds": seeds},
        runs=each(run, product([text], RATES, WIDTHS, STARTS, (True, False), range(seeds))),
    )


if __name__ == "__main__":
    main()
