"""Train two towers with CLIP's softmax, and with SigLIP's sigmoid, its bias begun at 0 and at -10.

Method: one thread. The towers and batches of 64 pairs of the chapter's section 6, 300 steps; the
scale begins at 10, as the softmax's temperature begins at 0.1. A seed draws the same weights and
the same batches for all three. It takes two minutes on one core.

    python -m benchmarks.chapters.ch14.chapter_14_siglip
"""

from itertools import product

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from benchmarks.recording import Row, Script, each
from benchmarks.timing import clocked
from course_utils.models import siglip_loss
from course_utils.models.tasks.pair_training import (
    BATCH,
    RATE,
    all_scores,
    recall_at_1,
    train_towers,
)
from course_utils.models.vision.two_towers import TwoTowers

STEPS, EVERY, SCALE = 300, 25, 10.0
BIASES = {"softmax": None, "sigmoid, bias 0": 0.0, "sigmoid, bias -10": -10.0}


class SigmoidTowers(TwoTowers):
    """Two towers whose pairs are judged one by one."""

    def __init__(self, bias: float) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(SCALE).log())
        self.bias = nn.Parameter(torch.tensor(bias))

    def loss(
        self, images: Float[Tensor, "B 1 h w"], tokens: Int[Tensor, "B L"]
    ) -> Float[Tensor, ""]:
        """Return the sigmoid loss of pairs that belong together."""
        pair = self.encode_image(images), self.encode_text(tokens)
        return siglip_loss(*pair, self.log_scale, self.bias)


def trained(loss: str, seed: int) -> Row:
    """Train one pair of towers and return what it finds."""
    torch.manual_seed(seed)
    begun = BIASES[loss]
    model = TwoTowers() if begun is None else SigmoidTowers(begun)
    losses, seconds = clocked(train_towers, model, steps=STEPS, seed=seed)
    found = [round(share, 3) for share in recall_at_1(all_scores(model))]
    row = {
        "loss": loss, "seed": seed, "steps": STEPS, "cpu_seconds": seconds,
        "first_loss": round(losses[0], 3), "last_loss": round(sum(losses[-EVERY:]) / EVERY, 3),
        "finds_caption": found[0], "finds_picture": found[1],
    }  # fmt: skip
    if isinstance(model, SigmoidTowers):
        row["scale"] = round(model.log_scale.exp().item(), 2)
        row["bias"] = round(model.bias.item(), 2)
    return row


def main() -> None:
    """Train all towers and write one JSON file."""
    script = Script(__file__, __doc__, seeds=3)
    script.record(
        what="two towers with a softmax and with a sigmoid loss",
        settings={"batch": BATCH, "learning_rate": RATE, "scale": SCALE, "unseen": 200},
        runs=each(trained, product(BIASES, range(script.options.seeds))),
    )


if __name__ == "__main__":
    main()
