"""Train image models on 8 × 8 digits: Vision Transformers with and without positions, and others.

Method: one thread. "ViT" has patches of 2 × 2, width 64, 2 layers of 4 heads, and positions drawn
with a standard deviation of 0.3; "none" keeps its positions at 0, "narrow" draws them with 0.02 as
ViT does, "mean" classifies the mean of the patches in place of the class token, "XCA" has
cross-covariance attention in its first layer; "CNN" has two convolutions. One-pixel shifts, AdamW
3e-3, batch 64, 840 steps. Logistic regression and the SVM are scikit-learn's, on the images as they
are; "shifts" fits them on all nine shifts of each image instead, as the networks see them. These
fits draw nothing: their seed is that of the shifted test images alone.

The record is written after each model, and a second start goes on where the first ended. It takes
about ten minutes.

    python -m benchmarks.chapters.ch14.chapter_14_digits
"""

import json
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from typing import Any

import sklearn
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm import tqdm

from benchmarks.recording import Row, Script
from benchmarks.timing import clocked
from course_utils.data.digits import load_digits, shifted
from course_utils.models.tasks.digit_training import (
    BATCH,
    RATE,
    STEPS,
    MeanPooled,
    SmallCNN,
    digit_vit,
    judge_on_digits,
    train_on_digits,
    xca_vit,
)

MODELS: dict[str, Callable[[], nn.Module]] = {
    "ViT": digit_vit,
    "none": partial(digit_vit, position_std=0.0),
    "CNN": SmallCNN,
    "narrow": partial(digit_vit, position_std=0.02),
    "mean": lambda: MeanPooled(digit_vit()),
    "XCA": xca_vit,
}
ONCE = ["XCA"]  # takes one seed
CLASSICAL: dict[str, Callable[[], Any]] = {
    "logistic regression": partial(LogisticRegression, max_iter=1000),
    "SVM": SVC,
}


def run(kind: str, seed: int) -> Row:
    """Train one model, and return how often it is right."""
    torch.manual_seed(seed)
    model: nn.Module = MODELS[kind]()
    if kind == "none":
        model.get_parameter("positions").requires_grad_(False)
    _, seconds = clocked(train_on_digits, model, seed=seed, steps=STEPS)
    return {
        "model": kind, "seed": seed, "steps": STEPS, "cpu_seconds": seconds,
        "parameters": sum(p.numel() for p in model.parameters()),
        **{name: round(value, 3) for name, value in judge_on_digits(model).items()},
    }  # fmt: skip


def flat(images: Tensor) -> Any:
    """Return a row of pixels for each image."""
    return images.flatten(1).numpy()


def nine_shifts(images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return every image moved by -1, 0 or 1 pixels along each axis, and the labels to that."""
    padded, side = F.pad(images, (1, 1, 1, 1)), images.shape[-1]
    moved = [padded[..., i : i + side, j : j + side] for i in range(3) for j in range(3)]
    return torch.cat(moved), labels.repeat(9)


def classical(kind: str, shifts: bool, seeds: Iterable[int]) -> list[Row]:
    """Fit a model of scikit-learn, and judge it on the images and on each seed's shifts."""
    known = load_digits()
    images, labels = known.images, known.labels
    if shifts:
        images, labels = nine_shifts(images, labels)
    model, seconds = clocked(CLASSICAL[kind]().fit, flat(images), labels.numpy())

    def right(images: Tensor) -> float:
        return round(float(model.score(flat(images), known.test_labels.numpy())), 3)

    moved = [shifted(known.test_images, torch.Generator().manual_seed(1_000 + n)) for n in seeds]
    return [
        {
            "model": f"{kind}, shifts" if shifts else kind, "seed": seed, "cpu_seconds": seconds,
            "test": right(known.test_images), "shifted": right(one),
        }
        for seed, one in enumerate(moved)
    ]  # fmt: skip


def main() -> None:
    """Run every model that the record lacks."""
    script = Script(__file__, __doc__, seeds=3)
    runs = json.loads(script.path.read_text())["runs"] if script.path.exists() else []
    seeds = range(script.options.seeds)
    done = {(one["model"], one["seed"]) for one in runs}
    for kind, shifts in product(CLASSICAL, (False, True)):
        name = f"{kind}, shifts" if shifts else kind
        if (name, seeds[-1]) not in done:
            runs = [one for one in runs if one["model"] != name]
            runs += classical(kind, shifts, seeds)
            save(script, runs)
    cases = [(kind, seed) for kind in MODELS for seed in (seeds[:1] if kind in ONCE else seeds)]
    for case in tqdm([case for case in cases if case not in done], ncols=80):
        runs.append(run(*case))
        save(script, runs)


def save(script: Script, runs: list[Row]) -> None:
    """Write the record."""
    order = [*(f"{kind}{end}" for kind in CLASSICAL for end in ("", ", shifts")), *MODELS]
    script.record(
        what="image models on scikit-learn's digits, and on the same shifted by a pixel",
        versions={"scikit-learn": sklearn.__version__},
        settings={"batch": BATCH, "learning_rate": RATE},
        runs=sorted(runs, key=lambda one: (order.index(one["model"]), one["seed"])),
    )


if __name__ == "__main__":
    main()
