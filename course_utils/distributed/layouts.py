"""Layouts of the tokens on a ring's ranks: positions (P, n/P), a row for each rank, ascending.

Source: contiguous, Liu et al. 2023, Ring Attention, https://arxiv.org/abs/2310.01889; striped,
    Brandon et al. 2023, Striped Attention, https://arxiv.org/abs/2311.09431; zig-zag, as torch's
    context parallelism and Llama 3's training balance a causal mask,
    https://arxiv.org/abs/2407.21783, section 3.3.2
"""

import torch
from jaxtyping import Int64
from torch import Tensor

from course_utils.plain_validation import check_at_least

Positions = Int64[Tensor, "P n_per_rank"]


def contiguous_split(num_tokens: int, world_size: int) -> Positions:
    """Return a table in which rank r has the r-th of `world_size` equal runs of tokens.

    Raises:
        ValueError: `world_size` does not divide `num_tokens`.
    """
    return _runs(num_tokens, world_size)


def striped_split(num_tokens: int, world_size: int) -> Positions:
    """Return a table in which rank r has every `world_size`-th token, from token r on.

    Raises:
        ValueError: `world_size` does not divide `num_tokens`.
    """
    return _runs(num_tokens, world_size).reshape(-1, world_size).T.contiguous()


def zigzag_split(num_tokens: int, world_size: int) -> Positions:
    """Return a table in which rank r has run r from the front and run r from the back.

    There are 2 · `world_size` runs of neighbouring tokens, so that every rank has a light one and
    a heavy one where each token attends to all before it.

    Raises:
        ValueError: 2 · `world_size` does not divide `num_tokens`.
    """
    check_at_least(1, world_size=world_size)
    runs = _runs(num_tokens, 2 * world_size)
    return torch.cat([runs[:world_size], runs[world_size:].flip(0)], dim=1)


def _runs(num_tokens: int, parts: int) -> Tensor:
    check_at_least(1, num_tokens=num_tokens, world_size=parts)
    if num_tokens % parts:
        raise ValueError(
            f"the number of tokens must be a multiple of {parts} here, got {num_tokens}"
        )
    return torch.arange(num_tokens).reshape(parts, -1)
