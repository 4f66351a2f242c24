"""Greedy decoding with a cache: always the likeliest token, with every token read once.

Source: Vaswani et al. 2017, Attention Is All You Need, section 3.1 (each step reads the symbols
    generated before), https://arxiv.org/abs/1706.03762; keys and values of those steps are kept as
    in Shazeer 2019, Fast Transformer Decoding, section 2.4, https://arxiv.org/abs/1911.02150
Ours / theirs: model = one forward pass that reads new tokens, takes a cache and returns one;  a
    cache of None is the beginning of a text
Same contract as: Hugging Face's generate(do_sample=False), without its prompt in front
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from course_utils.validation import check_at_least, check_callable, check_integers

Model = Callable[[Tensor, Any], tuple[Tensor, Any]]


@torch.no_grad()
def greedy_decode(
    model: Model, prompt: Int[Tensor, "B P"], num_tokens: int
) -> Int[Tensor, "B num_tokens"]:
    """Return the tokens that follow the prompt if each is the likeliest one.

    Args:
        model: Maps tokens (B, T) and a cache or None to logits (B, T, V) and the cache with
            these tokens; V words.
        prompt: What is read first, at least one token; all of one length.
        num_tokens: How many tokens to write.
    """
    check_callable(model=model)
    check_integers("B P", prompt=prompt)
    check_at_least(0, num_tokens=num_tokens)
    if not prompt.shape[1]:
        raise ValueError("prompt needs at least one token, got none")
    new, cache, written = prompt, None, [prompt[:, :0]]
    for _ in range(num_tokens):
        logits, cache = model(new, cache)
        new = logits[:, -1:].argmax(dim=-1)
        written.append(new)
    return torch.cat(written, dim=1)
