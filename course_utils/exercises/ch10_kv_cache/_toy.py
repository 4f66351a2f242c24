"""A model for greedy decoding that keeps count: what it writes depends on all that it ever read."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

_STATES = 997


@dataclass
class Memory:
    """What the toy keeps of a text: a number for each sequence, and how many tokens it read."""

    state: Tensor
    length: int


class Toy(nn.Module):
    """Logits looked up by a number in which every token and every position left its trace.

    Attributes:
        fed: How many tokens were read so far, in all calls and sequences.
        calls: How many calls there were.
    """

    def __init__(self, generator: torch.Generator, num_words: int, keeps_one: bool) -> None:
        """Draw the logits of every state.

        Args:
            generator: For the logits.
            num_words: How many words there are.
            keeps_one: Whether a cache is written in place, as memory that was taken once, or a
                new one comes back at every call.
        """
        super().__init__()
        table = torch.randn(_STATES, num_words, generator=generator, dtype=torch.float64)
        self.table = nn.Parameter(table, requires_grad=False)
        self.keeps_one = keeps_one
        self.fed = self.calls = 0

    def forward(self, tokens: Tensor, cache: Memory | None = None) -> tuple[Tensor, Memory]:
        """Read tokens (B, T) behind what the cache knows; return logits (B, T, V) and a cache."""
        if not isinstance(tokens, Tensor) or tokens.dim() != 2 or tokens.is_floating_point():
            raise TypeError("the model reads tokens with the axes (B, T), as integers")
        if cache is not None and not isinstance(cache, Memory):
            raise TypeError("the model takes a cache that it returned, or None")
        self.fed += tokens.numel()
        self.calls += 1
        before = cache or Memory(torch.full_like(tokens[:, 0], 5), 0)
        if len(before.state) != len(tokens):
            raise ValueError("the cache and the tokens need the same number of sequences")
        states, length = [before.state], before.length
        for token in tokens.unbind(1):
            length += 1
            states.append((states[-1] * 31 + (token + 3) * (7 * length + 4)) % _STATES)
        after = Memory(states[-1], length)
        if self.keeps_one and cache is not None:
            cache.state, cache.length = after.state, after.length
            after = cache
        return self.table[torch.stack(states[1:], dim=1)], after


def make(batch: int, prompt: int, new: int, words: int = 11, keeps_one: bool = False) -> Any:
    """Make a toy, a prompt (batch, prompt) and the number of new tokens."""

    def made(g: torch.Generator) -> tuple[Any, ...]:
        return Toy(g, words, keeps_one), torch.randint(words, (batch, prompt), generator=g), new

    return made
