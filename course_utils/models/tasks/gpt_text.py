"""Training a small GPT on real text, and its loss on a text.

Source: the recipe of Radford et al. 2019, Language Models are Unsupervised Multitask Learners, cut
    down to half a minute on one core
Differs: tokens are 512 byte pairs of Python's own help; weights start as torch draws them, which
    learns faster in so short a time than GPT-2's narrow start
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Unpack

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

from course_utils.data import BytePairs, CharacterText, decode
from course_utils.models.gpt.gpt import GPT
from course_utils.models.model_cache import ModelCache
from course_utils.models.training import Training, train, window_loss


@dataclass(frozen=True)
class TokenText:
    """A text as tokens, in two parts that share no topic.

    Attributes:
        tokenizer: Turns text into tokens and back.
        train: Tokens to learn from.
        validation: Tokens to judge by.
        characters_per_token: How many characters a validation token has, on average.
    """

    tokenizer: BytePairs
    train: Int[Tensor, " num_train"]
    validation: Int[Tensor, " num_validation"]
    characters_per_token: float


def token_text(text: CharacterText, num_tokens: int = 512) -> TokenText:
    """Learn byte pairs from the training part and cut both parts into them.

    Args:
        text: The two parts as characters.
        num_tokens: Size of the vocabulary.

    Raises:
        ValueError: As `BytePairs.learn`.
    """
    learnt, judged = decode(text.train.tolist()), decode(text.validation.tolist())
    tokenizer = BytePairs.learn(learnt, num_tokens)
    validation = tokenizer.encode(judged)
    return TokenText(tokenizer, tokenizer.encode(learnt), validation, len(judged) / len(validation))


def train_gpt(
    model: GPT,
    tokens: Int[Tensor, " num_tokens"],
    *,
    length: int = 64,
    batch: int = 16,
    learning_rate: float = 8e-3,
    **how: Unpack[Training],
) -> list[float]:
    """Train in place with AdamW, a short warm-up and a cosine; return the loss of each step.

    Args:
        model: What to train.
        tokens: Where the windows are cut from.
        length: Tokens in a window.
        batch: Windows in an update.
        learning_rate: The highest rate, reached after a tenth of the steps.
        **how: steps, seed, progress and watch; see `Training`.
    """
    draw_loss = window_loss(model.logits, tokens, length, batch)
    return train(model, draw_loss, learning_rate, **how)


@torch.no_grad()
def next_token_loss(
    model: GPT,
    tokens: Int[Tensor, " num_tokens"],
    length: int = 64,
    caches: Callable[[int], ModelCache] | None = None,
) -> float:
    """Return the mean loss in nats over the text, cut into windows end to end.

    Args:
        model: The model that predicts.
        tokens: The text; a remainder shorter than a window is left out.
        length: Tokens in a window.
        caches: Makes a cache for a number of windows, which the model then reads them through;
            None reads them without one.

    Raises:
        ValueError: The text is shorter than a window plus its last target.
    """
    windows = (len(tokens) - 1) // length
    if windows < 1:
        raise ValueError(f"the text must have more than {length} tokens, got {len(tokens)}")
    inputs, targets = (tokens[start:][: windows * length].view(-1, length) for start in (0, 1))
    logits = model.logits(inputs) if caches is None else model(inputs, caches(windows))[0]
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten()).item()
