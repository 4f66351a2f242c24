"""Read an endless text through a cache of sinks and a window, rotated by place or by position.

Source: Xiao et al. 2024, Efficient Streaming Language Models with Attention Sinks, section 3.2,
    https://arxiv.org/abs/2309.17453
Ours / theirs: by_place = "positions within the cache rather than those in the original text"
Differs: all keys stay in memory, unrotated, and each step reads those that a cache would hold
"""

from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import merge_heads, rolling_cache_positions
from course_utils.models.gpt.positioned_transformer import PositionedBlock, PositionedTransformer
from course_utils.models.tokens import check_some, embedded
from course_utils.positions import PositionScheme
from course_utils.validation import check_at_least, check_instance


@torch.no_grad()
def stream_text(
    model: PositionedTransformer,
    tokens: Int[Tensor, "N L"],
    *,
    window: int,
    num_sinks: int = 0,
    by_place: bool = True,
) -> Float[Tensor, "N L num_tokens"]:
    """Return the scores after each token, read one at a time through a cache of fixed size.

    Args:
        model: Its scheme of positions acts on queries and keys alone, as RoPE does.
        tokens: The texts.
        window: How many of the newest keys a query sees, its own among them.
        num_sinks: How many of the first keys it also sees.
        by_place: Whether keys and queries are rotated by their place in the cache, as the paper
            does; otherwise by their position in the text.
    """
    check_instance(PositionedTransformer, model=model)
    check_instance(bool, by_place=by_place)
    check_some(tokens)
    check_at_least(1, window=window)
    stream = embedded(model.token, tokens)
    heads = cast(PositionedBlock, model.blocks[0]).attention.num_heads
    shape = (2, *tokens.shape[:1], heads, tokens.shape[1], stream.shape[-1] // heads)
    kept = [stream.new_empty(shape) for _ in model.blocks]
    scores = []
    for i, x in enumerate(stream.split(1, dim=1)):
        held = torch.tensor(rolling_cache_positions(i + 1, window, num_sinks))
        places = torch.arange(len(held)) if by_place else held
        for block, cache in zip(model.blocks, kept, strict=True):
            x = _read_one(cast(PositionedBlock, block), x, cache, held, places, model.positions)
        scores.append(model.out(model.norm(x)))
    return torch.cat(scores, dim=1)


def _read_one(
    block: PositionedBlock,
    x: Tensor,
    cache: Tensor,
    held: Tensor,
    places: Tensor,
    scheme: PositionScheme,
) -> Tensor:
    """Return the newest token after a block that reads what is held; its key and value are kept."""
    y = block.attention_norm(x)
    query, key, value = block.attention.project(y, y, y)
    cache[:, :, :, held[-1:]] = torch.stack((key, value))
    keys, values = cache[:, :, :, held]
    query, keys = scheme.rotate(query, keys, places[-1:], places)
    found = F.scaled_dot_product_attention(query, keys, values)
    x = x + block.attention.out_proj(merge_heads(found))
    return x + block.feed_forward(x)
