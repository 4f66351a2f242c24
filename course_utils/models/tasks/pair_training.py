"""Train and judge the models that match strips of digits with their captions.

Source: recall at 1 as in Radford et al. 2021, https://arxiv.org/abs/2103.00020
Differs: 800 numbers to learn from and 200 that are held out
"""

from typing import Unpack

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from course_utils.data.digit_scenes import caption, number_strips
from course_utils.data.digits import load_digits
from course_utils.models.training import Training, train
from course_utils.models.vision.two_towers import Fusion, TwoTowers, caption_tokens

BATCH, RATE, UNSEEN = 64, 2e-3, 200


def split_numbers() -> tuple[Int[Tensor, "800"], Int[Tensor, "200"]]:
    """Return the numbers to learn from, and those that are judged."""
    order = torch.randperm(1000, generator=torch.Generator().manual_seed(14))
    return order[UNSEEN:], order[:UNSEEN]


def all_captions() -> Int[Tensor, "1000 L"]:
    """Return the tokens of the caption of every number from 0 to 999."""
    return caption_tokens([caption(number) for number in range(1000)])


def gallery() -> tuple[Float[Tensor, "200 1 8 24"], Int[Tensor, "200 L"]]:
    """Return a strip of unseen digits for each unseen number, and their captions."""
    numbers = split_numbers()[1]
    digits, generator = load_digits(), torch.Generator().manual_seed(1_000)
    shown = number_strips(numbers, digits.test_images, digits.test_labels, generator)
    return shown, all_captions()[numbers]


def strips(numbers: Int[Tensor, " N"], generator: torch.Generator) -> Float[Tensor, "N 1 8 24"]:
    """Return a strip for each number, of digits to learn from."""
    digits = load_digits()
    return number_strips(numbers, digits.images, digits.labels, generator)


def train_towers(model: TwoTowers, **how: Unpack[Training]) -> list[float]:
    """Train in place with the contrastive loss on batches of different numbers.

    Args:
        model: What to train.
        **how: steps, seed, progress and watch; see `Training`.
    """
    known, captions = split_numbers()[0], all_captions()

    def draw_loss(generator: torch.Generator) -> Tensor:
        numbers = known[torch.randperm(len(known), generator=generator)[:BATCH]]
        return model.loss(strips(numbers, generator), captions[numbers])

    return train(model, draw_loss, RATE, **how)


def train_fusion(model: Fusion, **how: Unpack[Training]) -> list[float]:
    """Train in place to tell the right caption from one with a wrong digit and from a random one.

    Args:
        model: What to train.
        **how: steps, seed, progress and watch; see `Training`.
    """
    known, captions = split_numbers()[0], all_captions()

    def draw_loss(generator: torch.Generator) -> Tensor:
        chosen = torch.randint(len(known), (2, BATCH), generator=generator)
        numbers, other = known[chosen]
        power = 10 ** torch.randint(3, (BATCH,), generator=generator)
        digit = numbers // power % 10
        added = torch.randint(1, 10, (BATCH,), generator=generator)
        near = numbers + ((digit + added) % 10 - digit) * power
        shown = strips(numbers, generator).repeat(3, 1, 1, 1)
        texts = captions[torch.cat([numbers, near, other])]
        scores = model(shown, texts).unflatten(0, (3, BATCH))
        return F.cross_entropy(scores.T, torch.zeros(BATCH, dtype=torch.long))

    return train(model, draw_loss, RATE, **how)


@torch.no_grad()
def all_scores(model: TwoTowers | Fusion) -> Float[Tensor, "200 200"]:
    """Return the score of every picture (row) with every caption (column) of the gallery."""
    pictures, texts = gallery()
    if isinstance(model, TwoTowers):
        images, captions = model.encode_image(pictures), model.encode_text(texts)
        return F.normalize(images, dim=-1) @ F.normalize(captions, dim=-1).T
    return torch.stack([model(one.expand(len(texts), -1, -1, -1), texts) for one in pictures])


def recall_at_1(scores: Float[Tensor, "N N"]) -> tuple[float, float]:
    """Return how often a picture ranks its own caption first, and a caption its picture."""
    own = torch.arange(len(scores))
    found = ((scores.argmax(dim=dim) == own).double().mean().item() for dim in (1, 0))
    return next(found), next(found)
