"""Pictures and captions: two towers that never meet before the cosine, and a model that fuses them.

Source: two towers: Radford et al. 2021, Learning Transferable Visual Models From Natural Language
    Supervision (CLIP), https://arxiv.org/abs/2103.00020; a fusion that judges pairs: Li et al.
    2021, Align before Fuse (ALBEF), https://arxiv.org/abs/2107.07651
Differs: strips of three digits, captions of characters, means for class tokens, widths of 64
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_utils.attention import MultiHeadAttention
from course_utils.models.gpt.small_transformer import Block
from course_utils.models.tokens import embedded
from course_utils.models.vision.contrastive import contrastive_loss
from course_utils.models.vision.vit import patchify

D_MODEL, HEADS, PATCH, PATCHES = 64, 4, 4, 12
LETTERS = " efghinorstuvwxz"
LONGEST = len("three three three")


def caption_tokens(captions: list[str]) -> Int[Tensor, "N L"]:
    """Return each caption's characters as numbers from 1 on, 0 after its end.

    Args:
        captions: Digit names with blanks between them.
    """
    rows = [[1 + LETTERS.index(letter) for letter in one.ljust(LONGEST)] for one in captions]
    tokens = torch.tensor(rows)
    ends = torch.tensor([[len(one)] for one in captions])
    return tokens.masked_fill(torch.arange(LONGEST) >= ends, 0)


class ImageTower(nn.Module):
    """Patches with positions, and two blocks of attention among them: one vector for each patch."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(PATCH * PATCH, D_MODEL)
        self.positions = nn.Parameter(0.3 * torch.randn(PATCHES, D_MODEL))
        self.blocks = nn.Sequential(*(Block(D_MODEL, HEADS, 2 * D_MODEL) for _ in range(2)))
        self.norm = nn.LayerNorm(D_MODEL)

    def forward(self, images: Float[Tensor, "B 1 h w"]) -> Float[Tensor, "B N d"]:
        """Return a vector for each patch."""
        x = self.blocks(self.embed(patchify(images, PATCH)) + self.positions)
        return self.norm(x)


class TextTower(nn.Module):
    """Characters with positions, and blocks of attention among them: one vector for each.

    Args:
        num_layers: Number of blocks.
    """

    def __init__(self, num_layers: int = 2) -> None:
        super().__init__()
        self.token = nn.Embedding(1 + len(LETTERS), D_MODEL)
        self.positions = nn.Parameter(0.3 * torch.randn(LONGEST, D_MODEL))
        self.blocks = nn.ModuleList(Block(D_MODEL, HEADS, 2 * D_MODEL) for _ in range(num_layers))
        self.norm = nn.LayerNorm(D_MODEL)

    def forward(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B L d"]:
        """Return a vector for each character; nothing reads what comes after the end."""
        x = embedded(self.token, tokens) + self.positions
        for block in self.blocks:
            x = block(x, (tokens > 0)[:, None, None])
        return self.norm(x)


def mean_of(vectors: Float[Tensor, "B L d"], tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B d"]:
    """Return the mean over the real characters."""
    there = (tokens > 0).to(vectors.dtype)[..., None]
    return (vectors * there).sum(dim=1) / there.sum(dim=1)


class TwoTowers(nn.Module):
    """One vector for a picture, one for a caption, and a learned temperature."""

    def __init__(self) -> None:
        super().__init__()
        self.image, self.text = ImageTower(), TextTower()
        self.from_image, self.from_text = (nn.Linear(D_MODEL, D_MODEL) for _ in range(2))
        self.log_temperature = nn.Parameter(torch.tensor(0.1).log())

    def encode_image(self, images: Float[Tensor, "B 1 h w"]) -> Float[Tensor, "B d"]:
        """Return the vector of each picture: what can be stored."""
        return self.from_image(self.image(images).mean(dim=1))

    def encode_text(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B d"]:
        """Return the vector of each caption."""
        return self.from_text(mean_of(self.text(tokens), tokens))

    def loss(
        self, images: Float[Tensor, "B 1 h w"], tokens: Int[Tensor, "B L"]
    ) -> Float[Tensor, ""]:
        """Return the contrastive loss of pairs that belong together."""
        pair = self.encode_image(images), self.encode_text(tokens)
        return contrastive_loss(*pair, self.log_temperature.exp())


class Fusion(nn.Module):
    """Characters that look at patches by cross-attention: one score for one pair."""

    def __init__(self) -> None:
        super().__init__()
        self.image, self.text = ImageTower(), TextTower(1)
        self.read_norm = nn.LayerNorm(D_MODEL)
        self.read = MultiHeadAttention(D_MODEL, HEADS)
        self.last = Block(D_MODEL, HEADS, 2 * D_MODEL)
        self.out = nn.Linear(D_MODEL, 1)

    def forward(
        self, images: Float[Tensor, "B 1 h w"], tokens: Int[Tensor, "B L"]
    ) -> Float[Tensor, " B"]:
        """Return how well each caption fits its picture."""
        x, patches = self.text(tokens), self.image(images)
        x = x + self.read(self.read_norm(x), patches, patches)
        x = self.last(x, (tokens > 0)[:, None, None])
        scores: Tensor = self.out(mean_of(x, tokens))
        return scores[:, 0]
