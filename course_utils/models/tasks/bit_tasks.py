"""Parity and majority of a string of bits: one more 1 always flips one, hardly ever the other.

Source: Hahn 2020, Theoretical Limitations of Self-Attention in Neural Sequence Models,
    https://arxiv.org/abs/1906.06755
Differs: seconds of training at a few lengths, where the theorem is about all lengths at once
"""

from typing import Literal, Unpack

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional as F

from course_utils.models.gpt.small_transformer import SmallTransformer
from course_utils.models.training import Training, train
from course_utils.validation import check_at_least

D_MODEL, HEADS, LAYERS, BATCH, RATE = 32, 4, 2, 64, 3e-3
ASK = 2
Task = Literal["parity", "majority"]


def draw_bits(
    n: int, strings: int, generator: torch.Generator
) -> tuple[Int[Tensor, "N 1+n"], dict[str, Bool[Tensor, " N"]]]:
    """Return random strings of n bits, each followed by a query mark, and both tasks' answers.

    Args:
        n: Bits of a string.
        strings: How many to draw.
        generator: The only source of randomness.
    """
    check_at_least(1, n=n, strings=strings)
    bits = torch.randint(2, (strings, n), generator=generator)
    ones = bits.sum(-1)
    answers = {"parity": ones % 2 == 1, "majority": 2 * ones > n}
    return torch.cat([bits, torch.full((strings, 1), ASK)], dim=-1), answers


def bit_model(n: int, seed: int) -> SmallTransformer:
    """Return an untrained model for strings of n bits; the seed draws its weights."""
    torch.manual_seed(seed)
    return SmallTransformer(
        3, d_model=D_MODEL, num_heads=HEADS, num_layers=LAYERS, max_length=n + 1
    )


def train_bits(model: SmallTransformer, task: Task, n: int, **how: Unpack[Training]) -> list[float]:
    """Train in place to answer at the mark; return the loss of each step.

    Args:
        model: What to train.
        task: "parity" (an odd number of ones?) or "majority" (more ones than zeros?).
        n: Bits of a string.
        **how: steps, seed, progress and watch; see `Training`.
    """

    def draw_loss(generator: torch.Generator) -> Tensor:
        tokens, answers = draw_bits(n, BATCH, generator)
        return F.cross_entropy(model(tokens)[:, -1, :2], answers[task].long())

    return train(model, draw_loss, RATE, **how)


@torch.no_grad()
def judge_bits(model: SmallTransformer, task: Task, n: int, strings: int = 1000) -> float:
    """Return the share of right answers on strings not drawn in training.

    Args:
        model: The model that answers.
        task: As in `train_bits`.
        n: Bits of a string.
        strings: How many to judge by.
    """
    tokens, answers = draw_bits(n, strings, torch.Generator().manual_seed(1_000))
    scores = model(tokens)[:, -1, :2]
    right = (scores.argmax(dim=-1) == answers[task]).double().mean()
    return float(right)
