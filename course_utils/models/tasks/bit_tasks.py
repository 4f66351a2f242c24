"""Parity and majority of a string of bits: one more 1 always flips one, hardly ever the other.

Parity is also asked for in steps: after the mark the model writes the parity of the first bit, of
the first two, and so on, and reads what it has written.

Source: Hahn 2020, Theoretical Limitations of Self-Attention in Neural Sequence Models,
    https://arxiv.org/abs/1906.06755
Differs: seconds of training at a few lengths, where the theorem is about all lengths at once
"""

from typing import Literal, Unpack

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import causal_mask
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


def bit_model(n: int, seed: int, written: int = 0) -> SmallTransformer:
    """Return an untrained model for strings of n bits.

    Args:
        n: Bits of a string.
        seed: Draws its weights.
        written: How many answers it reads that it has written itself.
    """
    torch.manual_seed(seed)
    return SmallTransformer(
        3, d_model=D_MODEL, num_heads=HEADS, num_layers=LAYERS, max_length=n + 1 + written
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


def draw_running(
    n: int, strings: int, generator: torch.Generator
) -> tuple[Int[Tensor, "N 1+n"], Int[Tensor, "N n"]]:
    """Return the strings of `draw_bits`, and the parity of the first bit, the first two, …, all.

    Args:
        n: Bits of a string.
        strings: How many to draw.
        generator: The only source of randomness.
    """
    tokens, _ = draw_bits(n, strings, generator)
    return tokens, tokens[:, :-1].cumsum(dim=-1) % 2


def train_running(
    model: SmallTransformer, n: int, *, written: bool, **how: Unpack[Training]
) -> list[float]:
    """Train in place, with a causal mask, to give the parity of every beginning of the string.

    Args:
        model: What to train.
        n: Bits of a string.
        written: Whether the answers are written after the mark, one after another, and read. If
            not, each is asked for at the bit where its beginning ends, and none is read.
        **how: steps, seed, progress and watch; see `Training`.
    """

    def draw_loss(generator: torch.Generator) -> Tensor:
        tokens, parities = draw_running(n, BATCH, generator)
        read = torch.cat([tokens, parities[:, :-1]], dim=-1) if written else tokens[:, :-1]
        scores = model(read, causal_mask(read.shape[1], read.shape[1]))[:, -n:, :2]
        return F.cross_entropy(scores.flatten(0, 1), parities.flatten())

    return train(model, draw_loss, RATE, **how)


@torch.no_grad()
def judge_running(model: SmallTransformer, n: int, *, written: bool, strings: int = 1000) -> float:
    """Return the share of fresh strings whose last answer, their parity, is right.

    Args:
        model: The model that answers; what it has written is its own.
        n: Bits of a string.
        written: As in `train_running`.
        strings: How many to judge by.
    """
    tokens, parities = draw_running(n, strings, torch.Generator().manual_seed(1_000))
    read = tokens if written else tokens[:, :-1]
    for _ in range(n if written else 1):
        scores = model(read, causal_mask(read.shape[1], read.shape[1]))[:, -1:, :2]
        read = torch.cat([read, scores.argmax(dim=-1)], dim=-1)
    return float((read[:, -1] == parities[:, -1]).double().mean())
