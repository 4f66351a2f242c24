"""Cut a table of scores into tiles, and find what the causal mask hides in each."""

import torch
from torch import Tensor

from course_utils.validation import check_at_least, check_grouped, check_instance


def tiles(length: int, size: int) -> list[slice]:
    """Return the slices that cut a length into equal pieces; the last may be shorter."""
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]


def num_visible(num_keys: int, rows: slice, is_causal: bool) -> int:
    """Return how many of the first keys some query of these rows sees."""
    return min(num_keys, rows.stop) if is_causal else num_keys


def mask_future(scores: Tensor, rows: slice, keys: slice) -> Tensor:
    """Set the scores of one tile to -inf, in place, where the key comes after the query.

    The same rows of several heads may be stacked one after another.
    """
    if keys.stop - 1 > rows.start:  # else the whole tile lies in the past
        row, column = (torch.arange(x.start, x.stop, device=scores.device) for x in (rows, keys))
        copies = scores.shape[-2] // len(row)
        row = row.repeat(copies) if copies > 1 else row
        scores.masked_fill_(column > row.unsqueeze(-1), -torch.inf)
    return scores


def check_tiled(
    query: Tensor, key: Tensor, value: Tensor, block_q: int, block_k: int, is_causal: bool
) -> None:
    """Raise unless the three are (B, H, length, width), fit together, and blocks hold a row."""
    check_grouped(query, key, value)
    check_at_least(1, block_q=block_q, block_k=block_k)
    check_instance(bool, is_causal=is_causal)
