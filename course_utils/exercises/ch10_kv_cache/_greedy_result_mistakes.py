"""What goes wrong when a model writes greedily: how many tokens come back, and in which shape."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch10_kv_cache._greedy_wrong import build, likeliest


def _stacked(model: Any, prompt: Tensor, num_tokens: int) -> Tensor:
    cache, fed, written = None, prompt, []
    for _ in range(num_tokens):
        logits, cache = model(fed, cache)
        fed = likeliest(logits)
        written.append(fed[:, 0])
    return torch.stack(written, dim=1)


def _joined(model: Any, prompt: Tensor, num_tokens: int) -> Tensor:
    cache, fed, written = None, prompt, []
    for _ in range(num_tokens):
        logits, cache = model(fed, cache)
        fed = likeliest(logits)
        written.append(fed)
    return torch.cat(written, dim=1)


def _at_least_one(model: Any, prompt: Tensor, num_tokens: int) -> Tensor:
    logits, cache = model(prompt, None)
    new = likeliest(logits)
    written = [new]
    for _ in range(num_tokens - 1):
        logits, cache = model(new, cache)
        new = likeliest(logits)
        written.append(new)
    return torch.cat(written, dim=1)


def _last_step_lost(model: Any, prompt: Tensor, num_tokens: int) -> Tensor:
    """Drop the token that the prompt itself predicts."""
    out: Tensor = build(count=lambda n: n + 1)(model, prompt, num_tokens)
    return out[:, 1:]


def _as_lists(prompt: Tensor, new: Tensor) -> Any:
    return new.tolist()


RESULTS = (
    Misconception(
        "the prompt returned too",
        build(finish=lambda prompt, new: torch.cat([prompt, new], dim=1)),
        "The prompt stands in front of the new tokens. Only the new ones are asked for.",
        also=(
            build(finish=lambda prompt, new: torch.cat([prompt[:, -1:], new[:, :-1]], dim=1)),
            build(finish=lambda prompt, new: torch.cat([prompt[:, -1:], new], dim=1)),
        ),
    ),
    Misconception(
        "one token too many, or too few",
        build(count=lambda n: n + 1),
        "The number of new tokens is off by one. The prompt's logits give the first of them.",
        also=(
            build(count=lambda n: max(n - 1, 0)),
            build(finish=lambda prompt, new: new[:, 1:]),
            build(finish=lambda prompt, new: new[:, :-1]),
        ),
    ),
    Misconception(
        "the first new token lost",
        _last_step_lost,
        "The text begins with its second token: the one that the prompt's own logits predict was "
        "read, but not written down.",
    ),
    Misconception(
        "a text as long as prompt and new tokens together",
        lambda model, prompt, n: build(count=lambda m: max(m - prompt.shape[1], 0))(
            model, prompt, n
        ),
        "The prompt was counted among the new tokens. `num_tokens` says how many to write.",
        also=(
            lambda model, prompt, n: build(
                count=lambda m: max(m - prompt.shape[1], 0),
                finish=lambda prompt, new: torch.cat([prompt, new], dim=1)[:, :n],
            )(model, prompt, n),
        ),
    ),
    Misconception(
        "no new token is a special case",
        _stacked,
        "With `num_tokens` = 0 there is nothing to join, and the call fails or writes a token "
        "anyhow. Which tensor of shape (B, 0) could the list begin with?",
        also=(
            _joined,
            _at_least_one,
            build(finish=lambda prompt, new: new if new.shape[1] else None),
            build(finish=lambda prompt, new: new if new.shape[1] else []),
            build(finish=lambda prompt, new: new if new.shape[1] else torch.tensor([])),
            build(finish=lambda prompt, new: new if new.shape[1] else prompt),
            build(finish=lambda prompt, new: new.float() if not new.shape[1] else new),
        ),
    ),
    Misconception(
        "output with other axes",
        build(finish=lambda prompt, new: new.mT),
        "The tokens are right, but the result must have the axes (B, num_tokens). Which axis is "
        "time, and is there one too many or too few?",
        also=(
            build(finish=lambda prompt, new: new.unsqueeze(-1)),
            build(finish=lambda prompt, new: new.flatten()),
            build(finish=lambda prompt, new: new.squeeze()),
            build(finish=lambda prompt, new: new.squeeze(0)),
            build(finish=lambda prompt, new: new[0]),
            build(finish=lambda prompt, new: new[:1]),
            build(finish=lambda prompt, new: new.mT.reshape(-1, 1) if new.shape[1] else new),
        ),
    ),
    Misconception(
        "tokens that are no integers",
        build(finish=lambda prompt, new: new.float()),
        "Tokens are numbers of words: a tensor of dtype long, which an embedding can look up.",
        also=(
            build(finish=_as_lists),
            build(finish=lambda prompt, new: new.int()),
            build(finish=lambda prompt, new: list(new.unbind(1))),
        ),
    ),
    Misconception(
        "new tokens in reverse",
        build(finish=lambda prompt, new: new.flip(1)),
        "The tokens come back from the last to the first.",
    ),
)
