"""Train image models on 8 × 8 digits: Vision Transformers with and without positions, and others.

Method: one thread. "ViT" has patches of 2 × 2, width 64, 2 layers of 4 heads, and positions drawn
with a standard deviation of 0.3; "none" keeps its positions at 0, "narrow" draws them with 0.02 as
GPT-2 does, "mean" classifies the mean of the patches in place of the class token, "XCA" has
cross-covariance attention in its first layer; "CNN" has two convolutions. One-pixel shifts, AdamW
3e-3, batch 64, 840 steps. Logistic regression and the SVM are scikit-learn's, on the images as they
are. It takes about ten minutes.

    python -m benchmarks.chapters.ch14.chapter_14_digits
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import sklearn
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from torch import Tensor, nn

from benchmarks.recording import Row, Script, each
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
ONCE = ["narrow", "mean", "XCA"]  # these take one seed


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


def classical(kind: str, model: Any) -> Row:
    """Fit a model of scikit-learn on the images as they are, and judge it as the others."""
    known = load_digits()

    def flat(images: Tensor) -> Any:
        return images.flatten(1).numpy()

    model.fit(flat(known.images), known.labels.numpy())
    moved = shifted(known.test_images, torch.Generator().manual_seed(1_000))

    def right(images: Tensor) -> float:
        return round(float(model.score(flat(images), known.test_labels.numpy())), 3)

    return {"model": kind, "seed": 0, "test": right(known.test_images), "shifted": right(moved)}


def main() -> None:
    """Train all models and write one JSON file."""
    script = Script(__file__, __doc__, seeds=3)
    runs = [
        classical("logistic regression", LogisticRegression(max_iter=1000)),
        classical("SVM", SVC()),
    ]
    seeds = range(script.options.seeds)
    cases = [(kind, seed) for kind in MODELS for seed in (seeds[:1] if kind in ONCE else seeds)]
    script.record(
        what="image models on scikit-learn's digits, and on the same shifted by a pixel",
        versions={"scikit-learn": sklearn.__version__},
        settings={"batch": BATCH, "learning_rate": RATE},
        runs=[*runs, *each(run, cases)],
    )


if __name__ == "__main__":
    main()
