"""Speculative decoding: a cheap draft guesses ahead, and the target reads all guesses at once.

Source: Leviathan et al. 2023, Fast Inference from Transformers via Speculative Decoding, algorithm
    1 and section 3.1, https://arxiv.org/abs/2211.17192
Ours / theirs: target, draft = M_p, M_q;  gamma = γ;  acceptance = α
Differs: α is counted among the guesses that were judged; those after a rejected one are not.
Same contract as: `generate` of the target, token by token where it is greedy, else in distribution
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils.models.decoding.sampling import token_probabilities
from course_utils.models.decoding.speculation import speculative_accept
from course_utils.models.gpt.gpt import GPT
from course_utils.models.tokens import check_one_prompt
from course_utils.validation import (
    check_at_least,
    check_callable,
    check_instance,
)

Draft = GPT | Callable[[Int[Tensor, "1 n"]], Float[Tensor, "1 V"]]


class Speculated(NamedTuple):
    """A text, and how it was produced.

    Attributes:
        tokens: What was written, (1, num_tokens).
        num_calls: How often the target was called.
        num_accepted: How many guesses stayed.
        num_refused: How many were judged and did not stay.
    """

    tokens: Tensor
    num_calls: int
    num_accepted: int
    num_refused: int

    @property
    def acceptance(self) -> float:
        """The share of the judged guesses that stayed; NaN where none was judged."""
        judged = self.num_accepted + self.num_refused
        return self.num_accepted / judged if judged else float("nan")


class _Cached:
    """A model that reads only the unread part of a growing text."""

    def __init__(self, model: GPT, room: int) -> None:
        self._model, self._cache = model, model.new_cache(1, room)

    def __call__(self, tokens: Tensor) -> Tensor:
        """Return the scores after each token that is new, (num_new, V)."""
        return self._model(tokens[:, self._cache.length :], self._cache)[0][0]

    def crop(self, length: int) -> None:
        self._cache.crop(min(length, self._cache.length))


@torch.inference_mode()
def speculative_decode(
    target: GPT,
    draft: Draft,
    prompt: Int[Tensor, "1 P"],
    num_tokens: int,
    *,
    gamma: int,
    greedy: bool = False,
    generator: torch.Generator | None = None,
) -> Speculated:
    """Return text from the target, part of which a draft guessed.

    Args:
        target: Decides what is written.
        draft: Guesses: a GPT of the same tokens, or a function from all tokens so far to the scores
            of the next one.
        prompt: What the tokens follow.
        num_tokens: How many to write.
        gamma: How many tokens are guessed before the target is called.
        greedy: Whether both always take their likeliest token, instead of drawing one.
        generator: The only source of randomness.

    Raises:
        ValueError: The prompt is not one sequence of at least one token, or a cache has no room, or
            has lost what a refused guess gives back.
    """
    check_instance(GPT, target=target)
    check_callable(draft=draft)
    check_one_prompt(prompt)
    check_at_least(0, num_tokens=num_tokens)
    check_at_least(1, gamma=gamma)
    check_instance(bool, greedy=greedy)
    if generator is not None:
        check_instance(torch.Generator, generator=generator)
    chances = partial(token_probabilities, temperature=0.0 if greedy else 1.0)
    end = prompt.shape[1] + num_tokens
    judge = _Cached(target, end)
    guesser = _Cached(draft, end) if isinstance(draft, GPT) else None
    guess = draft if guesser is None else guesser
    tokens, calls, accepted, refused = prompt, 0, 0, 0
    while (length := tokens.shape[1]) < end:
        count = min(gamma, end - length - 1)  # the target always adds one more token
        text, drawn = _guessed(guess, tokens, count, chances, generator)
        p = chances(judge(text)[-count - 1 :])
        q = torch.cat([p[:0], *drawn]).to(p.dtype)
        uniforms = torch.rand(count + 1, generator=generator, dtype=p.dtype)
        stayed, token = speculative_accept(text[0, length:], q, p, uniforms)
        tokens = torch.cat([text[:, : length + stayed], text.new_full((1, 1), token)], dim=1)
        for model in (judge, guesser):
            if model is not None:
                model.crop(length + stayed)
        calls, accepted, refused = calls + 1, accepted + stayed, refused + (stayed < count)
    return Speculated(tokens[:, prompt.shape[1] :], calls, accepted, refused)


def _guessed(
    guess: Callable[[Tensor], Tensor],
    tokens: Tensor,
    count: int,
    chances: Callable[[Tensor], Tensor],
    generator: torch.Generator | None,
) -> tuple[Tensor, list[Tensor]]:
    """Return the tokens followed by `count` guesses, and the probabilities each was drawn from."""
    drawn = []
    for _ in range(count):
        drawn.append(chances(guess(tokens)[-1:]))
        new = torch.multinomial(drawn[-1], 1, generator=generator)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens, drawn
