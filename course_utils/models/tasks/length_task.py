"""Train short, test long: tasks that judge a model at lengths it never saw.

Source: the question of Press et al. 2022, Train Short, Test Long, section 2,
    https://arxiv.org/abs/2108.12409
Differs: the last tokens of the same sequences are judged at every length, so that only the number
    of tokens before them changes; their perplexity is over all tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Unpack

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.attention import window_mask
from course_utils.data import CharacterText, random_windows
from course_utils.models.training import Training, train

IGNORED = -100  # torch's own mark of a target that does not count
BATCH, OFFSET, SYMBOLS = 16, 3, 10
Batch = tuple[Int[Tensor, "N L"], Int[Tensor, "N L"]]


@dataclass(frozen=True)
class LengthTask:
    """A task: what to predict, at which length it is learned, and what is judged.

    Attributes:
        num_tokens: Size of the vocabulary.
        trained: How many tokens a training sequence has.
        judged: How many tokens at the end of a sequence are judged.
        draw: Returns a training batch, tokens and targets, from a generator.
        test: Long sequences and their targets; a shorter test takes their last tokens.
    """

    num_tokens: int
    trained: int
    judged: int
    draw: Callable[[torch.Generator], Batch]
    test: Batch


def text_task(
    text: CharacterText, *, trained: int = 64, longest: int = 512, windows: int = 96
) -> LengthTask:
    """Predict the next character of a text.

    Args:
        text: What to learn and what to judge.
        trained: Characters in a training window.
        longest: Characters in a test window.
        windows: How many test windows, spread evenly over the validation part.

    Raises:
        ValueError: The validation part is shorter than one test window.
    """
    spare = len(text.validation) - longest - 1
    if spare < 0:
        raise ValueError(
            f"validation must hold more than {longest} characters, got {len(text.validation)}"
        )
    starts = torch.linspace(0, spare, windows, dtype=torch.float64).long()
    places = starts.unsqueeze(1) + torch.arange(longest)
    return LengthTask(
        num_tokens=text.num_characters,
        trained=trained,
        judged=trained // 2,
        draw=lambda generator: random_windows(text.train, trained, BATCH, generator),
        test=(text.validation[places], text.validation[places + 1]),
    )


def copy_task(*, trained: int = 32, longest: int = 256, sequences: int = 128) -> LengthTask:
    """Say which of ten symbols came three places ago, in sequences without any pattern.

    Args:
        trained: Symbols in a training sequence.
        longest: Symbols in a test sequence.
        sequences: How many test sequences.
    """

    def draw(count: int, length: int, generator: torch.Generator) -> Batch:
        tokens = torch.randint(SYMBOLS, (count, length), generator=generator)
        targets = tokens.roll(OFFSET, dims=1)
        targets[:, :OFFSET] = IGNORED
        return tokens, targets

    return LengthTask(
        num_tokens=SYMBOLS,
        trained=trained,
        judged=trained // 2,
        draw=lambda generator: draw(BATCH, trained, generator),
        test=draw(sequences, longest, torch.Generator().manual_seed(1)),
    )


def train_on_task(
    model: nn.Module,
    task: LengthTask,
    *,
    window: int | None = None,
    learning_rate: float = 5e-3,
    **how: Unpack[Training],
) -> list[float]:
    """Train in place on sequences of the trained length; return the loss of each step.

    Args:
        model: Takes tokens and a mask.
        task: What to learn.
        window: How many tokens a query sees, its own among them; None is all up to its own.
        learning_rate: The highest rate, reached after a tenth of the steps.
        **how: steps, seed, progress and watch; see `Training`.
    """
    mask = _mask(task.trained, window)

    def draw_loss(generator: torch.Generator) -> Tensor:
        tokens, targets = task.draw(generator)
        return F.cross_entropy(model(tokens, mask).flatten(0, 1), targets.flatten())

    return train(model, draw_loss, learning_rate, torch.optim.Adam, **how)


@torch.no_grad()
def judge_on_task(
    model: nn.Module, task: LengthTask, length: int, window: int | None = None
) -> tuple[float, float]:
    """Return the mean loss in nats and the share of right guesses on the last tokens.

    Args:
        model: Takes tokens and a mask.
        task: What it learned.
        length: How many tokens it reads; the judged ones are the same at every length.
        window: As in training.

    Raises:
        ValueError: The length is below the judged tokens or above the test's.
    """
    longest = task.test[0].shape[1]
    if not task.judged <= length <= longest:
        raise ValueError(f"length must lie between {task.judged} and {longest}, got {length}")
    mask, losses, right = _mask(length, window), [], []
    few = max(1, 1024 // length)  # the scores of that many fit into the processor's cache
    for tokens, targets in zip(*(part.split(few) for part in task.test), strict=True):
        scores = model(tokens[:, -length:], mask)[:, -task.judged :].flatten(0, 1)
        wanted = targets[:, -task.judged :].flatten()
        losses.append(F.cross_entropy(scores, wanted, reduction="none"))
        right.append(scores.argmax(dim=-1) == wanted)
    return torch.cat(losses).mean().item(), torch.cat(right).double().mean().item()


def _mask(length: int, window: int | None) -> Bool[Tensor, "L L"]:
    return window_mask(length, length, length if window is None else window)
