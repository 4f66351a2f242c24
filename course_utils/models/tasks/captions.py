"""A frozen model that writes captions blindly, then is given eyes by gated cross-attention.

Source: Alayrac et al. 2022, Flamingo, https://arxiv.org/abs/2204.14198: gated layers between the
    layers of a frozen language model
Differs: a caption of three digits per picture; the picture's encoder is trained too, as it is
    small; no gated feed-forward layer
"""

from collections.abc import Callable, Iterable
from typing import Unpack

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.attention import causal_mask
from course_utils.attention.vision.gated_cross_attention import gated_cross_attention
from course_utils.models.gpt.small_transformer import SmallTransformer
from course_utils.models.tasks.pair_training import all_captions, gallery, split_numbers, strips
from course_utils.models.training import Training, train
from course_utils.models.vision.two_towers import D_MODEL, HEADS, LETTERS, LONGEST, ImageTower

BATCH, RATE = 64, 2e-3
START = 1 + len(LETTERS)
END, BLANK = 0, 1 + LETTERS.index(" ")


class Captioner(nn.Module):
    """A text model of two layers; before each, a gated layer reads the picture, if there is one.

    Args:
        read: What reads, with the contract of `gated_cross_attention`.
    """

    def __init__(self, read: Callable[..., Tensor] = gated_cross_attention) -> None:
        super().__init__()
        self.text = SmallTransformer(
            START + 1, d_model=D_MODEL, num_heads=HEADS, num_layers=2, max_length=LONGEST + 1,
            d_ff=2 * D_MODEL,
        )  # fmt: skip
        self.image = ImageTower()
        self.W = nn.Parameter(torch.randn(2, 4, D_MODEL, D_MODEL) / D_MODEL**0.5)
        self.gates = nn.Parameter(torch.zeros(2))
        self._read = read

    def forward(
        self, tokens: Int[Tensor, "B L"], images: Float[Tensor, "B 1 h w"] | None = None
    ) -> Float[Tensor, "B L num_tokens"]:
        """Return a score for each next character, with or without a picture."""
        x = self.text.token(tokens) + self.text.position.weight[: tokens.shape[1]]
        mask = causal_mask(tokens.shape[1], tokens.shape[1])
        patches = None if images is None else self.image(images)
        for block, W, gate in zip(self.text.blocks, self.W, self.gates, strict=True):
            if patches is not None:
                x = self._read(x, patches, *W, gate)
            x = block(x, mask)
        return self.text.out(self.text.norm(x))


def fed_and_wanted(
    captions: Int[Tensor, "N L"],
) -> tuple[Int[Tensor, "N L+1"], Int[Tensor, "N L+1"]]:
    """Return captions after a start token, and each next character; -1 after the end."""
    fed = F.pad(captions, (1, 0), value=START)
    wanted = F.pad(captions, (0, 1), value=END)
    return fed, wanted.masked_fill((fed == END), -1)


def caption_loss(
    model: Captioner, captions: Int[Tensor, "N L"], images: Float[Tensor, "N 1 h w"] | None = None
) -> Float[Tensor, ""]:
    """Return the loss in nats per character, including the end of a caption."""
    fed, wanted = fed_and_wanted(captions)
    return F.cross_entropy(model(fed, images).flatten(0, 1), wanted.flatten(), ignore_index=-1)


def train_captions(
    model: Captioner, parameters: Iterable[nn.Parameter], *, sees: bool, **how: Unpack[Training]
) -> list[float]:
    """Train some of the parameters in place on captions; return the loss of each step.

    Args:
        model: What to train.
        parameters: Those that are not frozen.
        sees: Whether it is shown the pictures.
        **how: steps, seed, progress and watch; see `Training`.
    """
    known, captions = split_numbers()[0], all_captions()

    def draw_loss(generator: torch.Generator) -> Tensor:
        numbers = known[torch.randint(len(known), (BATCH,), generator=generator)]
        return caption_loss(model, captions[numbers], strips(numbers, generator) if sees else None)

    return train(model, draw_loss, RATE, lambda _, lr: torch.optim.AdamW(parameters, lr=lr), **how)


@torch.no_grad()
def judge_captions(model: Captioner, *, sees: bool) -> dict[str, float]:
    """Return the loss on unseen numbers, and the share of digits with every letter likeliest.

    Args:
        model: The model that writes.
        sees: Whether it is shown the pictures.
    """
    images, captions = gallery()
    given = images if sees else None
    fed, wanted = fed_and_wanted(captions)
    right = model(fed, given).argmax(dim=-1) == wanted
    letters, word = wanted > BLANK, (fed == BLANK).cumsum(dim=-1)
    named = [(right | ~(letters & (word == n))).all(dim=-1) for n in range(3)]
    return {
        "loss": caption_loss(model, captions, given).item(),
        "digits": torch.stack(named).double().mean().item(),
    }
