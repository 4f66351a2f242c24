"""What goes wrong when a model writes greedily with a cache."""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch10_kv_cache._greedy_wrong import build, likeliest


def _kept_on_the_model(model: Any, prompt: Tensor, num_tokens: int) -> Tensor:
    """Begin each text with the cache that the last one left behind."""
    cache, fed, written = getattr(model, "kept", None), prompt, [prompt[:, :0]]
    for _ in range(num_tokens):
        logits, cache = model(fed, cache)
        fed = likeliest(logits)
        written.append(fed)
    model.kept = cache
    return torch.cat(written, dim=1)


def _prompt_then_last(model: Any, prompt: Tensor, num_tokens: int) -> Tensor:
    """Fill the cache with the whole prompt, then begin with its last token once more."""
    _, cache = model(prompt, None)
    new, written = prompt[:, -1:], [prompt[:, :0]]
    for _ in range(num_tokens):
        logits, cache = model(new, cache)
        new = likeliest(logits)
        written.append(new)
    return torch.cat(written, dim=1)


def _prompt_twice(model: Any, prompt: Tensor, num_tokens: int) -> Tensor:
    """Fill the cache with the whole prompt, then begin with the whole prompt once more."""
    _, cache = model(prompt, None)
    new, written = prompt, [prompt[:, :0]]
    for _ in range(num_tokens):
        logits, cache = model(new, cache)
        new = likeliest(logits)
        written.append(new)
    return torch.cat(written, dim=1)


def _prompt_each_time(model: Any, prompt: Tensor, num_tokens: int) -> Tensor:
    """Give the prompt to the cache at every step."""
    cache, written = None, [prompt[:, :0]]
    for _ in range(num_tokens):
        logits, cache = model(prompt, cache)
        written.append(likeliest(logits))
    return torch.cat(written, dim=1)


def _prompt_anew(model: Any, prompt: Tensor, num_tokens: int) -> Tensor:
    """Read the prompt afresh for each new token, and the new ones one by one behind it."""
    written = prompt[:, :0]
    for _ in range(num_tokens):
        logits, cache = model(prompt, None)
        for token in written.split(1, dim=1) if written.shape[1] else ():
            logits, cache = model(token, cache)
        written = torch.cat([written, likeliest(logits)], dim=1)
    return written


def _prompt_for_logits(model: Any, prompt: Tensor, num_tokens: int) -> Tensor:
    """Ask once for logits and once more for the cache."""
    if not num_tokens:
        return prompt[:, :0]
    new = likeliest(model(prompt, None)[0])
    _, cache = model(prompt, None)
    written = [new]
    for _ in range(num_tokens - 1):
        logits, cache = model(new, cache)
        new = likeliest(logits)
        written.append(new)
    return torch.cat(written, dim=1)


def _all_rows_read(model: Any, prompt: Tensor, num_tokens: int) -> Tensor:
    """Feed the likeliest token of every row, as many as were read."""
    fed, cache, written = prompt, None, [prompt[:, :0]]
    for _ in range(num_tokens):
        logits, cache = model(fed, cache)
        fed = logits.argmax(-1)
        written.append(fed[:, -1:])
    return torch.cat(written, dim=1)


WRITING = (
    Misconception(
        "the whole text read again at every step",
        build(feed=lambda text, new: text, keep=lambda old, new: None),
        "The tokens are right, and the cache is never used: the whole text is read again for every "
        "new token. Each token is to be read once: what is left to read, if the cache knows the "
        "rest?",
        also=(_prompt_anew,),
    ),
    Misconception(
        "the prompt read twice",
        _prompt_for_logits,
        "The tokens are right, but the prompt was read twice. One call gives its logits and its "
        "cache together.",
    ),
    Misconception(
        "the whole text read on top of its cache",
        build(feed=lambda text, new: text),
        "The whole text was given to a cache that holds it already: the model sees its beginning "
        "twice. What does the cache not know yet?",
        also=(_prompt_then_last, _prompt_twice, _prompt_each_time),
    ),
    Misconception(
        "the cache not passed on",
        build(keep=lambda old, new: None),
        "After the prompt the model reads each token as the first of a text: nothing it read "
        "before is known, and positions start at 0 again. What does a call return besides logits?",
    ),
    Misconception(
        "the cache of the prompt at every step",
        build(keep=lambda old, new: old if old is not None else new),
        "Every step begins from the cache as it was after the prompt. Each call returns a newer "
        "one: who keeps it?",
    ),
    Misconception(
        "a cache left over from the last text",
        _kept_on_the_model,
        "The second text depends on the first: its cache was kept between two calls. With what "
        "does a new text begin?",
    ),
    Misconception(
        "only the last token of the prompt read",
        build(begin=lambda prompt: prompt[:, -1:]),
        "The model never read the beginning of the prompt. An empty cache knows nothing: which "
        "tokens must the first call bring?",
        also=(build(begin=lambda prompt: prompt[:, :1]),),
    ),
    Misconception(
        "the prompt without its last token",
        build(begin=lambda prompt: prompt[:, :-1] if prompt.shape[1] > 1 else prompt),
        "The last token of the prompt was never read. Which logits predict the first new token?",
        also=(build(begin=lambda prompt: prompt[:, 1:] if prompt.shape[1] > 1 else prompt),),
    ),
    Misconception(
        "always the last prompt token read",
        lambda model, prompt, n: build(feed=lambda text, new: prompt[:, -1:])(model, prompt, n),
        "The model is given a token of the prompt again at every step, not the one that it wrote.",
    ),
    Misconception(
        "more than one new token read at a step",
        _all_rows_read,
        "A prediction for every position of the prompt was fed back, not only the newest token. "
        "The cache has no gap to fill: how many tokens does a later call bring?",
    ),
    Misconception(
        "the prompt backwards",
        build(begin=lambda prompt: prompt.flip(1)),
        "The prompt was read from its end to its beginning.",
    ),
)
