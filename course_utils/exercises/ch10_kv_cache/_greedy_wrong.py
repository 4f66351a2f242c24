"""Greedy decoding with exchangeable steps: a mistake exchanges one of them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function


def likeliest(logits: Tensor) -> Tensor:
    """Choose the next token of each sequence, as it should be done."""
    return logits[:, -1:].argmax(-1)


def build(
    choose: Callable[[Tensor], Tensor] = likeliest,
    feed: Callable[[Tensor, Tensor], Tensor] = lambda text, new: new,
    begin: Callable[[Tensor], Tensor] = lambda prompt: prompt,
    keep: Callable[[Any, Any], Any] = lambda old, new: new,
    count: Callable[[int], int] = lambda num_tokens: num_tokens,
    finish: Callable[[Tensor, Tensor], Any] = lambda prompt, new: new,
) -> Function:
    """Return greedy decoding with some of its steps exchanged.

    Args:
        choose: The next tokens (B, 1) from the logits.
        feed: What the model reads next, from all tokens so far and the new ones.
        begin: What it reads first.
        keep: Which cache it is given next, from the old and the new one.
        count: How many tokens are written.
        finish: What comes back, from the prompt and the new tokens.
    """

    def wrong(model: Any, prompt: Tensor, num_tokens: int) -> Any:
        text, fed, cache = prompt, begin(prompt), None
        for _ in range(count(num_tokens)):
            logits, made = model(fed, cache)
            new = choose(logits)
            text, cache = torch.cat([text, new], dim=1), keep(cache, made)
            fed = feed(text, new)
        return finish(prompt, text[:, prompt.shape[1] :])

    return wrong
