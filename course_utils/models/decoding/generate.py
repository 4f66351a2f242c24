"""Generating text: read the prompt, then write one token at a time, reading each once.

Source: Pope et al. 2022, Efficiently Scaling Transformer Inference, section 2,
    https://arxiv.org/abs/2211.05102
Ours / theirs: reading the prompt = prefill;  each further token = decode
Differs: a stream yields every token as soon as it is drawn, and an interrupt ends it; what was
    written until then is kept.
Same contract as: Hugging Face's generate with a cache, where the temperature is 0
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from course_utils.models.decoding.sampling import draw_tokens, token_probabilities
from course_utils.models.gpt.gpt import GPT
from course_utils.models.model_cache import ModelCache
from course_utils.validation import (
    check_at_least,
    check_callable,
    check_instance,
    check_int,
    check_integers,
    check_ints,
)


def stream_tokens(
    model: GPT,
    prompt: Int[Tensor, "B P"],
    num_tokens: int,
    *,
    generator: torch.Generator | None = None,
    stop: int | None = None,
    first: Int[Tensor, " B"] | None = None,
    cache: ModelCache | None = None,
    progress: Callable[[Iterable[int]], Iterable[int]] = iter,
    **choice: Any,
) -> Iterator[Int[Tensor, " B"]]:
    """Yield the next token of each sequence as soon as it is drawn.

    An interrupt (a notebook's stop button) ends the stream as its last token would.

    Args:
        model: What scores the tokens.
        prompt: What the tokens follow.
        num_tokens: How many to write at most.
        generator: The only source of randomness.
        stop: A token that ends its sequence, and is repeated there while others go on.
        first: How many tokens at the left of each prompt are padding; None means none.
        cache: Holds what was read before the prompt; None is nothing. It may be empty, and of
            a different kind from the model's own.
        progress: Wraps the numbers of the tokens, for example in a tqdm bar.
        **choice: How a token is drawn: temperature (0 is always the likeliest), top_k, top_p.

    Raises:
        ValueError: The prompt is empty, a choice is impossible, or there is no room.
    """
    check_instance(GPT, model=model)
    check_integers("B P", prompt=prompt)
    if not prompt.shape[1]:
        raise ValueError(f"prompt must have the axes (B, P) with P > 0, got {tuple(prompt.shape)}")
    check_at_least(0, num_tokens=num_tokens)
    check_callable(progress=progress)
    for kind, name, given in (
        (int, "stop", stop),
        (ModelCache, "cache", cache),
        (torch.Generator, "generator", generator),
    ):
        if given is not None:
            check_instance(kind, **{name: given})
    token_probabilities(torch.zeros(1, 1), **choice)  # raises before anything is read
    if cache is not None and first is not None:
        raise ValueError("first belongs to a new cache, got it with one: give it to ModelCache")
    read = prompt.shape[1] + max(num_tokens, 1) - 1  # nothing follows the last token
    longest = read + (0 if cache is None else cache.length)
    if model.longest is not None and longest > model.longest:
        raise ValueError(
            f"prompt and new tokens must fit in {model.longest} learned positions, got {longest}"
        )
    cache = model.new_cache(len(prompt), read, first) if cache is None else cache
    places = progress(range(num_tokens))
    return _stream(
        model, prompt, cache, places, stop, partial(draw_tokens, generator=generator, **choice)
    )


def generate(
    model: GPT, prompt: Int[Tensor, "B P"], num_tokens: int, **options: Any
) -> Int[Tensor, "B num_written"]:
    """Return the tokens that follow; fewer than requested if all stopped or it was interrupted.

    Args:
        model: What scores the tokens.
        prompt: What the tokens follow.
        num_tokens: How many to write at most.
        **options: All others of `stream_tokens`.

    Raises:
        ValueError: As `stream_tokens`.
    """
    check_integers("B P", prompt=prompt)
    written = [prompt[:, :0]]
    with suppress(KeyboardInterrupt):
        for tokens in stream_tokens(model, prompt, num_tokens, **options):
            written.append(tokens.unsqueeze(-1))
    return torch.cat(written, dim=1)


def left_pad(
    prompts: Sequence[Sequence[int]], padding: int = 0
) -> tuple[Int[Tensor, "B longest"], Int[Tensor, " B"]]:
    """Return prompts as the rows of one tensor, all ending at its right, and where each begins.

    Args:
        prompts: Prompts of any lengths.
        padding: The token that fills up the left; no sequence reads it.
    """
    check_instance(Sequence, prompts=prompts)
    check_int(padding=padding)
    for number, prompt in enumerate(prompts):
        check_ints(**{f"prompt {number}": prompt})
    longest = max(map(len, prompts), default=0)
    first = torch.tensor([longest - len(prompt) for prompt in prompts], dtype=torch.long)
    tokens = torch.full((len(prompts), longest), padding)
    for row, prompt in enumerate(prompts):
        tokens[row, longest - len(prompt) :] = torch.tensor(prompt)
    return tokens, first


def _stream(
    model: GPT,
    fed: Tensor,
    cache: ModelCache,
    places: Iterable[int],
    stop: int | None,
    draw: Callable[[Tensor], Tensor],
) -> Iterator[Tensor]:
    stopped = torch.zeros(len(fed), dtype=torch.bool, device=fed.device)
    with suppress(KeyboardInterrupt):
        for _ in places:
            with torch.inference_mode():
                logits, _ = model(fed, cache, only_last=True)
            tokens = draw(logits[:, -1])
            if stop is not None:
                tokens = tokens.masked_fill(stopped, stop)
                stopped |= tokens == stop
            yield tokens
            if stop is not None and bool(stopped.all()):
                return
            fed = tokens.unsqueeze(-1)
