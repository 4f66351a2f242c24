"""A long-range task: does this dot have the colour of the marked one, wherever that is?

Source: the block is Wang et al. 2018, Non-local Neural Networks, https://arxiv.org/abs/1711.07971
Differs: a task of our own, on which the limits of a receptive field of 7 × 7 pixels show
"""

from collections.abc import Callable
from typing import Unpack

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.attention.vision.non_local import non_local_block
from course_utils.models.training import Training, train
from course_utils.validation import check_at_least

SIDE, DOTS, WIDTH, INNER = 14, 12, 32, 32
BATCH, RATE = 32, 3e-3


def draw_dots(
    count: int, generator: torch.Generator
) -> tuple[Float[Tensor, "N 3 h w"], Bool[Tensor, "N h w"], Bool[Tensor, "N h w"]]:
    """Draw images of twelve dots in two colours, one of them marked.

    Args:
        count: How many images.
        generator: The only source of randomness.

    Returns:
        The images (red, blue, mark), True where a dot has the marked one's colour, and True where
        there is a dot to be judged: any but the marked one.
    """
    check_at_least(1, count=count)
    places = torch.rand(count, SIDE * SIDE, generator=generator).argsort(dim=-1)[:, :DOTS]
    blue = torch.randint(2, (count, DOTS), generator=generator)
    channels = torch.zeros(count, 3, SIDE * SIDE)
    channels[:, 0].scatter_(1, places, 1.0 - blue)
    channels[:, 1].scatter_(1, places, 0.0 + blue)
    channels[:, 2].scatter_(1, places[:, :1], 1.0)
    images = channels.unflatten(-1, (SIDE, SIDE))
    marked = blue[:, 0, None, None].bool()
    same = torch.where(marked, images[:, 1], images[:, 0]) > 0
    return images, same, (images[:, :2].sum(dim=1) - images[:, 2]) > 0


class DotNet(nn.Module):
    """Three 3 × 3 convolutions, and a non-local block before the last one, or none.

    Args:
        non_local: Whether the block is there.
    """

    def __init__(self, *, non_local: bool) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, WIDTH, 3, padding=1)
        self.second = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)
        self.third = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)
        self.out = nn.Conv2d(WIDTH, 1, 1)
        self.block: Callable[..., Tensor] = non_local_block
        self.W = nn.ParameterDict()
        if non_local:
            for name in ("theta", "phi", "g", "out"):
                self.W[name] = nn.Parameter(torch.randn(WIDTH, INNER) / WIDTH**0.5)

    def forward(self, images: Float[Tensor, "B 3 h w"]) -> Float[Tensor, "B h w"]:
        """Return a score for each pixel: positive where the colour is the marked dot's."""
        x = F.relu(self.second(F.relu(self.first(images))))
        if self.W:
            x = self.block(x, *self.W.values())
        scores: Tensor = self.out(F.relu(self.third(x)))
        return scores[:, 0]


def train_on_dots(model: nn.Module, **how: Unpack[Training]) -> list[float]:
    """Train in place to compare each dot with the marked one; return the loss of each step.

    Args:
        model: What to train.
        **how: steps, seed, progress and watch; see `Training`.
    """

    def draw_loss(generator: torch.Generator) -> Tensor:
        images, same, asked = draw_dots(BATCH, generator)
        return F.binary_cross_entropy_with_logits(model(images)[asked], same[asked].float())

    return train(model, draw_loss, RATE, **how)


@torch.no_grad()
def dots_right(model: nn.Module, images: int = 500) -> float:
    """Return the share of dots judged right, in images not drawn in training."""
    drawn, same, asked = draw_dots(images, torch.Generator().manual_seed(1_000))
    return float(((model(drawn) > 0) == same)[asked].double().mean())
