"""Random symbols that repeat with a period: the text on which induction heads are found.

Source: repeated random tokens are Elhage et al. 2021, A Mathematical Framework for Transformer
    Circuits, https://transformer-circuits.pub/2021/framework, and Olsson et al. 2022, In-context
    Learning and Induction Heads, https://arxiv.org/abs/2209.11895
Differs: a start token comes first, where a head can rest that finds nothing
"""

import torch
from jaxtyping import Int
from torch import Tensor

from course_utils.validation import check_at_least, check_instance

SYMBOLS = 32
START_SYMBOL = SYMBOLS


def repeated_segments(
    period: int,
    length: int,
    sequences: int,
    generator: torch.Generator,
    *,
    distinct: bool = False,
) -> Int[Tensor, "N L"]:
    """Draw segments of symbols from 0 to 31, each repeated over and over after a start token.

    Args:
        period: Symbols of a segment.
        length: Symbols of a sequence, the last copy of the segment cut where it ends.
        sequences: How many to draw.
        generator: The only source of randomness.
        distinct: Whether no symbol occurs twice in a segment.

    Raises:
        ValueError: A distinct segment has more symbols than there are.
    """
    check_at_least(1, period=period, length=length, sequences=sequences)
    check_instance(bool, distinct=distinct)
    if distinct and period > SYMBOLS:
        raise ValueError(f"a distinct period must be at most {SYMBOLS}, got {period}")
    if distinct:
        drawn = torch.rand(sequences, SYMBOLS, generator=generator).argsort(dim=-1)
    else:
        drawn = torch.randint(SYMBOLS, (sequences, period), generator=generator)
    symbols = drawn[:, torch.arange(length) % period]
    return torch.cat([torch.full((sequences, 1), START_SYMBOL), symbols], dim=-1)
