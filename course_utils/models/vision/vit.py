"""A Vision Transformer: an image cut into patches is a sequence of tokens like any other.

Source: Dosovitskiy et al. 2021, An Image is Worth 16x16 Words, section 3.1 and Eq. 1–4,
    https://arxiv.org/abs/2010.11929
Ours / theirs: patch = P, W_e = E, positions = E_pos, class_token = x_class
Differs: the kernel is written as a matrix with a row for each number of a patch: channel, row,
    column, as a flattened `nn.Conv2d` kernel has them; the spread of the first positions is an
    argument
Same contract as: transformers' ViTEmbeddings (`vit_tokens`) and ViTModel with a linear head
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_utils.models.gpt.small_transformer import Block
from course_utils.validation import (
    check_at_least,
    check_float,
    check_matrix,
    check_number,
    check_same_dtype,
    check_shape,
)


def patchify(images: Float[Tensor, "B C h w"], patch: int) -> Float[Tensor, "B N C*patch*patch"]:
    """Cut images into square patches, in reading order; N = (h / patch) · (w / patch).

    Args:
        images: Channels, rows, columns.
        patch: Side of a patch. Inside one, the order is channel, row, column.
    """
    check_float("B C h w", images=images)
    check_at_least(1, patch=patch)
    batch, channels, height, width = images.shape
    if height % patch or width % patch or not height or not width:
        raise ValueError(f"patch must divide {height} and {width}, got {patch}")
    grid = images.reshape(batch, channels, height // patch, patch, width // patch, patch)
    return grid.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


def vit_tokens(
    images: Float[Tensor, "B C h w"],
    patch: int,
    W_e: Float[Tensor, "C*patch*patch d_model"],
    b_e: Float[Tensor, " d_model"],
    class_token: Float[Tensor, " d_model"],
    positions: Float[Tensor, "N_plus_1 d_model"],
) -> Float[Tensor, "B N_plus_1 d_model"]:
    """Return the tokens of images: a class token, then the patches, each with its position added.

    Args:
        images: Channels, rows, columns.
        patch: Side of a patch.
        W_e: Embeds a flattened patch.
        b_e: Added to each embedded patch, not to the class token.
        class_token: Comes before every image's patches.
        positions: Row 0 is the class token's, row 1 the first patch's.
    """
    patches = patchify(images, patch)
    check_same_dtype(images=images, W_e=W_e, b_e=b_e, class_token=class_token, positions=positions)
    check_matrix("W_e", W_e, rows=patches.shape[-1], of="a patch")
    check_shape((W_e.shape[1],), b_e=b_e, class_token=class_token)
    check_shape((1 + patches.shape[1], W_e.shape[1]), positions=positions)
    first = class_token.expand(len(images), 1, -1)
    return torch.cat([first, patches @ W_e + b_e], dim=1) + positions


class VisionTransformer(nn.Module):
    """Square images in, a score for each class out, read from the class token.

    Args:
        image_size: Height and width of an image.
        patch: Side of a patch.
        num_classes: How many classes there are.
        d_model: Width of the stream.
        num_heads: Heads of each layer.
        num_layers: Number of blocks.
        d_ff: Width of the feed-forward layers; None is 4·d_model.
        channels: Numbers per pixel of an image.
        position_std: Standard deviation of the positions before training.
        **functions: What `GivenAttention` takes in place of its own: split, attend, merge.
    """

    def __init__(
        self,
        image_size: int,
        *,
        patch: int,
        num_classes: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int | None = None,
        channels: int = 1,
        position_std: float = 0.3,
        **functions: Callable[..., Any],
    ) -> None:
        super().__init__()
        check_at_least(1, image_size=image_size, patch=patch, num_classes=num_classes)
        check_at_least(1, d_model=d_model, num_layers=num_layers, channels=channels)
        check_number(position_std=position_std)
        if image_size % patch:
            raise ValueError(f"patch must divide the image size {image_size}, got {patch}")
        self.patch, self.image_shape = patch, (channels, image_size, image_size)
        self.embed = nn.Linear(channels * patch**2, d_model)
        self.class_token = nn.Parameter(0.02 * torch.randn(d_model))
        num_tokens = 1 + (image_size // patch) ** 2
        self.positions = nn.Parameter(position_std * torch.randn(num_tokens, d_model))
        d_ff = 4 * d_model if d_ff is None else d_ff
        self.blocks = nn.ModuleList(
            Block(d_model, num_heads, d_ff, **functions) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.out = nn.Linear(d_model, num_classes)

    def forward(self, images: Float[Tensor, "B C h w"]) -> Float[Tensor, "B num_classes"]:
        """Return a score for each class."""
        return self.out(self.states(images)[:, 0])

    def tokens(self, images: Float[Tensor, "B C h w"]) -> Float[Tensor, "B L d_model"]:
        """Return what enters the first block: the class token, then the patches."""
        check_float("B C h w", images=images)
        check_shape((len(images), *self.image_shape), images=images)
        W_e, b_e = self.embed.weight.mT, self.embed.bias
        return vit_tokens(images, self.patch, W_e, b_e, self.class_token, self.positions)

    def states(self, images: Float[Tensor, "B C h w"]) -> Float[Tensor, "B L d_model"]:
        """Return the stream after the last block and its norm, for every token."""
        x = self.tokens(images)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)

    @torch.no_grad()
    def weights(self, images: Float[Tensor, "B C h w"]) -> list[Float[Tensor, "B H L L"]]:
        """Return each layer's weights, without gradients; row 0 is what the class token reads."""
        x, found = self.tokens(images), []
        for block in self.blocks:
            found.append(cast(Block, block).weights(x))
            x = block(x)
        return found
