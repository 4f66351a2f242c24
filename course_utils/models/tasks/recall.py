"""Associative recall: which value followed this key? A small model with any mixer of tokens.

Source: the task is multi-query associative recall, Arora et al. 2024, Zoology, section 3,
    https://arxiv.org/abs/2312.04927; the mixing of neighbours is the short convolution that they
    give every model
Differs: all pairs come first, then each key is asked for once, in a new order; no positions are
    encoded, so a model trained on short lists can be tested on long ones
"""

from collections.abc import Sequence
from typing import Unpack

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.models.tasks.recall_layers import D_MODEL, KINDS, WINDOW, make_layer
from course_utils.models.tokens import check_some, embedded
from course_utils.models.training import Training, train
from course_utils.validation import (
    check_at_least,
    check_instance,
)

__all__ = [
    "D_MODEL",
    "LAYERS",
    "SYMBOLS",
    "WINDOW",
    "RecallModel",
    "judge_recall",
    "recall_batch",
    "train_recall",
]
SYMBOLS, LAYERS = 64, 2


def recall_batch(
    num_pairs: int, sequences: int, generator: torch.Generator
) -> tuple[Int[Tensor, "N 3*num_pairs"], Int[Tensor, "N num_pairs"]]:
    """Draw lists of pairs, followed by each key as a query, and the values to recall.

    Args:
        num_pairs: How many pairs a list has; no key occurs in it twice.
        sequences: How many lists to draw.
        generator: The only source of randomness.

    Raises:
        ValueError: There are more pairs than keys.
    """
    if not 1 <= num_pairs <= SYMBOLS:
        raise ValueError(f"num_pairs must be from 1 to {SYMBOLS}, got {num_pairs}")
    keys = torch.rand(sequences, SYMBOLS, generator=generator).argsort(dim=-1)[:, :num_pairs]
    values = torch.randint(SYMBOLS, keys.shape, generator=generator)
    order = torch.rand(keys.shape, generator=generator).argsort(dim=-1)
    pairs = torch.stack((keys, values + SYMBOLS), dim=-1).flatten(1)
    return torch.cat((pairs, keys.gather(1, order)), dim=-1), values.gather(1, order)


class RecallModel(nn.Module):
    """Two layers of attention and feed-forward over the tokens of a recall task.

    What a kind saves or needs, the feed-forward layers gain or lose: all models have equally many
    parameters, to half a unit (64 numbers) per layer.

    Args:
        kind: "full", "window" (16 keys), "linear" or "latent"; or one of those that keep a state
            (see `state_mixers`): "retention", "gated linear", "delta", "gated delta", "SSM" or
            "WKV". Query and key go through SiLU and are scaled to length 1; "raw retention" takes
            them as they are, "SiLU retention" and "unit retention" do one of the two, and so do
            the same three of "gated linear".
        num_heads: Query heads; "SSM" and "WKV" have none, and take it as given.
        num_kv_heads: Heads of keys and values; fewer only where the kind is "full".
        d_latent: Width of the vector from which all heads make keys and values, where the kind is
            "latent": an even number.

    Raises:
        ValueError: The kind shares no heads, or a latent width is missing, odd or unexpected.
    """

    def __init__(
        self,
        kind: str,
        num_heads: int = 4,
        num_kv_heads: int | None = None,
        d_latent: int | None = None,
    ) -> None:
        super().__init__()
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_at_least(1, num_heads=num_heads, num_kv_heads=num_kv_heads)
        check_instance(str, kind=kind)
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
        if D_MODEL % num_heads or num_heads % num_kv_heads:
            raise ValueError(
                f"num_heads must divide {D_MODEL} and num_kv_heads divide it, "
                f"got {num_heads} and {num_kv_heads}"
            )
        if kind != "full" and num_kv_heads != num_heads:
            raise ValueError(
                f"num_kv_heads must be num_heads where the kind is {kind!r}, got {num_kv_heads}"
            )
        if kind != "latent" and d_latent is not None:
            raise ValueError(f"d_latent must be None where the kind is {kind!r}, got {d_latent}")
        if kind == "latent" and (d_latent is None or not 2 <= d_latent <= 128 or d_latent % 2):
            raise ValueError(f"d_latent must be an even number from 2 to 128, got {d_latent}")
        self.token = nn.Embedding(2 * SYMBOLS, D_MODEL)
        self.layers = nn.ModuleList(
            make_layer(kind, num_heads, num_kv_heads, d_latent) for _ in range(LAYERS)
        )
        self.norm = nn.LayerNorm(D_MODEL)
        self.out = nn.Linear(D_MODEL, SYMBOLS)

    def forward(self, tokens: Int[Tensor, "N L"]) -> Float[Tensor, "N L values"]:
        """Return a score for each value at every position."""
        check_some(tokens)
        x = embedded(self.token, tokens)
        for layer in self.layers:
            x = layer(x)
        return self.out(self.norm(x))


def train_recall(
    model: nn.Module,
    *,
    pairs: tuple[int, int] = (2, 16),
    batch: int = 32,
    learning_rate: float = 3e-3,
    **how: Unpack[Training],
) -> list[float]:
    """Train in place; return the loss of each step.

    Args:
        model: Takes tokens.
        pairs: Fewest and most pairs of a training list; every batch draws its own number.
        batch: Lists in a training batch.
        learning_rate: The highest rate, reached after a tenth of the steps.
        **how: steps, seed, progress and watch; see `Training`.
    """

    def draw_loss(generator: torch.Generator) -> Tensor:
        number = int(torch.randint(pairs[0], pairs[1] + 1, (), generator=generator))
        tokens, wanted = recall_batch(number, batch, generator)
        scores = model(tokens)[:, -number:]
        return F.cross_entropy(scores.flatten(0, 1), wanted.flatten())

    return train(model, draw_loss, learning_rate, torch.optim.Adam, **how)


@torch.no_grad()
def judge_recall(
    model: nn.Module, num_pairs: Sequence[int], sequences: int = 64
) -> dict[int, float]:
    """Return the share of values recalled, for lists of each length; the same lists every time."""
    found = {}
    for number in num_pairs:
        generator = torch.Generator().manual_seed(1000 + number)
        tokens, wanted = recall_batch(number, sequences, generator)
        right = model(tokens)[:, -number:].argmax(dim=-1) == wanted
        found[number] = right.double().mean().item()
    return found
