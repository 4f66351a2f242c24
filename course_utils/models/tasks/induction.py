"""Training a small model on segments that repeat, and watching its heads develop.

Source: Olsson et al. 2022, In-context Learning and Induction Heads, https://arxiv.org/abs/2209.11895
Differs: two layers of attention and nothing else, and less than ten seconds of training
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import causal_mask
from course_utils.data.repeated import SYMBOLS, repeated_segments
from course_utils.interpretability import induction_score, previous_token_score
from course_utils.models.gpt.small_transformer import SmallTransformer
from course_utils.models.training import Progress, train

LENGTH, PERIODS, TESTED_PERIOD = 48, (8, 24), 20
RATE, BATCH = 3e-3, 32
MASK = causal_mask(LENGTH, LENGTH)


def induction_model(seed: int, num_layers: int = 2, num_heads: int = 1) -> SmallTransformer:
    """Return an untrained model of attention alone: no feed-forward layers.

    Args:
        seed: Draws its weights.
        num_layers: Layers.
        num_heads: Heads of each layer.
    """
    torch.manual_seed(seed)
    return SmallTransformer(
        SYMBOLS + 1, d_model=64, num_heads=num_heads, num_layers=num_layers,
        max_length=LENGTH + 1, d_ff=0,
    )  # fmt: skip


def train_induction(
    model: SmallTransformer,
    *,
    steps: int,
    seed: int,
    distinct: bool = False,
    watch: Callable[[int], None] = lambda step: None,
    progress: Progress = iter,
) -> list[float]:
    """Train in place to predict every next symbol; return the loss of each step.

    Args:
        model: What to train.
        steps: Number of updates.
        seed: Decides which segments are seen.
        distinct: Whether no symbol occurs twice in a segment.
        watch: Called before each step with its number, and once after the last.
        progress: Wraps the step numbers, for example in a tqdm bar.
    """
    step = 0

    def draw_loss(generator: torch.Generator) -> Tensor:
        nonlocal step
        watch(step)
        step += 1
        period = int(torch.randint(PERIODS[0], PERIODS[1] + 1, (), generator=generator))
        tokens = repeated_segments(period, LENGTH, BATCH, generator, distinct=distinct)
        scores = model(tokens[:, :-1], MASK)
        return F.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())

    losses = train(model, draw_loss, RATE, steps=steps, seed=seed, progress=progress)
    watch(step)
    return losses


@torch.no_grad()
def later_copies_right(
    model: SmallTransformer, keep: Bool[Tensor, "num_layers H"] | None = None, sequences: int = 128
) -> float:
    """Return the share of right predictions where the previous symbol has been seen before.

    The test segments have 20 symbols, none of them twice, and are the same in every call.

    Args:
        model: What predicts.
        keep: True for each head of each layer that is kept; None keeps all.
        sequences: How many to judge by.
    """
    tokens = judged_segments(sequences)
    guesses = model(tokens[:, :-1], MASK, keep).argmax(dim=-1)
    right = guesses[:, TESTED_PERIOD + 1 :] == tokens[:, TESTED_PERIOD + 2 :]
    return float(right.float().mean())


def judged_segments(sequences: int = 128) -> Tensor:
    """Return the segments that the models are judged by, a start token before each."""
    generator = torch.Generator().manual_seed(1_000)
    return repeated_segments(TESTED_PERIOD, LENGTH, sequences, generator, distinct=True)


@torch.no_grad()
def circuit_scores(model: SmallTransformer, sequences: int = 64) -> dict[str, Tensor]:
    """Return, for each layer and head, what Olsson et al. measure on the tested segments.

    Args:
        model: What reads them.
        sequences: How many to average over.

    Returns:
        (num_layers, H) tensors: "induction" and "previous", and the weight on the start token in
        the first copy, "start, first copy", and in the later ones, "start, later".
    """
    tokens = judged_segments(sequences)[:, :-1]
    weights = torch.stack(model.weights(tokens, MASK)).mean(dim=1)
    symbols = weights[..., 1:, 1:]  # without the start token the segment begins at 0
    later = TESTED_PERIOD + 1
    return {
        "induction": induction_score(symbols, TESTED_PERIOD),
        "previous": previous_token_score(symbols),
        "start, first copy": weights[..., 2:later, 0].mean(dim=-1),
        "start, later": weights[..., later:, 0].mean(dim=-1),
    }
