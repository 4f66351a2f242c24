"""Train a model on 8 × 8 digits shifted by a pixel, and a convolutional network to compare with.

Source: Dosovitskiy et al. 2021, An Image is Worth 16x16 Words, https://arxiv.org/abs/2010.11929,
    which compares a Vision Transformer with convolutional networks
Differs: 1347 small images, no pre-training, one-pixel shifts as the only augmentation
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.attention import cross_covariance_attention
from course_utils.data.digits import load_digits, shifted
from course_utils.models.gpt.small_transformer import Block
from course_utils.models.training import Progress, descend
from course_utils.models.vision.vit import VisionTransformer

BATCH, RATE, STEPS = 64, 3e-3, 840


class SmallCNN(nn.Sequential):
    """Two 3 × 3 convolutions, a pooling layer and two linear ones: 102 thousand parameters."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(),
            nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(64 * 4 * 4, 80), nn.ReLU(), nn.Linear(80, 10),
        )  # fmt: skip


def digit_vit(position_std: float = 0.3) -> VisionTransformer:
    """Return the chapter's Vision Transformer: patches of 2 × 2, 102 thousand parameters.

    Args:
        position_std: Standard deviation of the positions before training.
    """
    return VisionTransformer(
        8, patch=2, num_classes=10, d_model=64, num_heads=4, num_layers=2,
        position_std=position_std,
    )  # fmt: skip


def xca_vit() -> VisionTransformer:
    """Return the same with cross-covariance attention in its first layer."""
    model = digit_vit()

    def attend(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None) -> Tensor:
        return cross_covariance_attention(query, key, value, 1.0)

    model.blocks[0] = Block(64, 4, 256, attend=attend)
    return model


class MeanPooled(nn.Module):
    """A Vision Transformer that classifies the mean of its patches, not the class token.

    Args:
        model: The Vision Transformer.
    """

    def __init__(self, model: VisionTransformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: Float[Tensor, "B 1 8 8"]) -> Float[Tensor, "B 10"]:
        """Return a score for each class."""
        return self.model.out(self.model.states(images)[:, 1:].mean(dim=1))


def train_on_digits(
    model: nn.Module,
    *,
    seed: int,
    steps: int = STEPS,
    progress: Progress = iter,
) -> list[float]:
    """Train in place to classify digits; return the loss of each step.

    Args:
        model: Takes images, returns a score for each of ten digits.
        seed: Decides which images are seen, and how they are shifted.
        steps: Number of updates; 840 are 40 epochs.
        progress: Wraps the step numbers, for example in a tqdm bar.
    """
    generator = torch.Generator().manual_seed(seed)
    known = load_digits()
    images, labels = known.images, known.labels
    epochs = range(math.ceil(steps * BATCH / len(labels)))
    order = torch.cat([torch.randperm(len(labels), generator=generator) for _ in epochs])
    batches = iter(order.split(BATCH))

    def draw_loss() -> Tensor:
        chosen = next(batches)
        return F.cross_entropy(model(shifted(images[chosen], generator)), labels[chosen])

    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE)
    return descend(model, draw_loss, optimiser, steps=steps, learning_rate=RATE, progress=progress)


@torch.no_grad()
def share_right(
    model: nn.Module, images: Float[Tensor, "N C h w"], labels: Int[Tensor, " N"]
) -> float:
    """Return the share of images whose digit has the highest score."""
    return float((model(images).argmax(dim=-1) == labels).double().mean())


def judge_on_digits(model: nn.Module) -> dict[str, float]:
    """Return the accuracy on test images, as they are and shifted by up to a pixel."""
    images, labels = load_digits().test_images, load_digits().test_labels
    moved = shifted(images, torch.Generator().manual_seed(1_000))
    return {
        "test": share_right(model, images, labels),
        "shifted": share_right(model, moved, labels),
    }
