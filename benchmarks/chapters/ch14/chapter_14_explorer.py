"""Train the two small Vision Transformers that the patch explorer carries, and store their weights.

Method: one thread. Width 32, 2 layers of 4 heads, a feed-forward layer of 64; patches of 2 × 2 and
of 4 × 4 pixels; positions drawn with a standard deviation of 0.3; one-pixel shifts; AdamW 3e-3.
Weights are kept in float16, one base64 text for each model, and judged as they are kept. It takes a
minute.

    python -m benchmarks.chapters.ch14.chapter_14_explorer
"""

import base64

import torch

from benchmarks.recording import Row, Script
from course_utils.data.digits import load_digits
from course_utils.models.tasks.digit_training import BATCH, RATE, judge_on_digits, train_on_digits
from course_utils.models.vision.vit import VisionTransformer

SIZE = {"d_model": 32, "num_heads": 4, "num_layers": 2, "d_ff": 64}
PATCHES = [2, 4]
STEPS = 1260


def run(patch: int) -> Row:
    """Train one model, and return its weights and how often it is right."""
    torch.manual_seed(0)
    model = VisionTransformer(8, patch=patch, num_classes=10, **SIZE)
    train_on_digits(model, seed=0, steps=STEPS)
    model.load_state_dict({name: kept.half() for name, kept in model.state_dict().items()})
    state = model.state_dict()
    numbers = torch.cat([state[name].flatten() for name in state])
    found = judge_on_digits(model)
    model.positions.data.zero_()
    return {
        "patch": patch, "seed": 0, "steps": STEPS,
        "right": round(found["test"], 3),
        "right_without_positions": round(judge_on_digits(model)["test"], 3),
        "layout": [[name, list(kept.shape)] for name, kept in state.items()],
        "weights": base64.b64encode(numbers.half().numpy().tobytes()).decode(),
    }  # fmt: skip


def pictures() -> list[Row]:
    """Return the first two test images of each digit; pixels count sixteenths."""
    known = load_digits()
    first = [(known.test_labels == digit).nonzero()[:2, 0].tolist() for digit in range(10)]
    return [
        {"label": digit, "pixels": (16 * known.test_images[at]).int().flatten().tolist()}
        for digit, places in enumerate(first)
        for at in places
    ]


def main() -> None:
    """Train both models and write one JSON file."""
    script = Script(__file__, __doc__)
    script.record(
        what="two small Vision Transformers on digits, with their weights",
        settings={**SIZE, "batch": BATCH, "learning_rate": RATE},
        pictures=pictures(),
        runs=[run(patch) for patch in PATCHES],
    )


if __name__ == "__main__":
    main()
