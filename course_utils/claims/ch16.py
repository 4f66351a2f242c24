"""Checks of the claims of chapter 16."""

import torch

from course_utils.attention import causal_mask, scaled_dot_product_attention, tiled_attention
from course_utils.claims._inputs import draws, growth, largest
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.distributed import ring_attention_step, ring_schedule, sequence_to_heads
from course_utils.measure import attention_flops, kv_cache_bytes, largest_tensor

RANKS = 4
SHAPE = (1, 4, 16, 8)
MASK = causal_mask(16, 16)


@recomputes("16-02")
def table_of_long_contexts() -> Finding:
    """The largest tensor, plain and tiled; FLOPs and cache; each as a power of the length."""

    def qkv(n: int) -> list[torch.Tensor]:
        return [x.float() for x in draws(*[(1, 1, n, 8)] * 3)]

    stored = growth(lambda n: largest_tensor(scaled_dot_product_attention, *qkv(n)), 512, 2048)
    tiled = growth(lambda n: largest_tensor(tiled_attention, *qkv(n), 64, 64), 512, 2048)
    flops = growth(lambda n: attention_flops(1, 1, n, n, 8, 8), 512, 2048)
    kept = growth(lambda n: kv_cache_bytes(1, 1, 8, n, 1, 2), 512, 2048)
    return weigh(
        f"the largest tensor grows as n^{stored:.1f}, tiled as n^{tiled:.1f}; operations as "
        f"n^{flops:.1f}, the cache as n^{kept:.1f}",
        holds=tiled > 1.5,
        amended=flops > 1.9 and tiled < 1.1,
    )


@recomputes("16-05")
def ring_of_blocks() -> Finding:
    """Every rank adds the block of each step to what it has; all ranks against one process."""
    query, key, value = draws(SHAPE, SHAPE, SHAPE)
    places = torch.arange(SHAPE[2]).chunk(RANKS)
    parts = []
    for rank, mine in enumerate(places):
        out = query.new_zeros(1, 4, len(mine), 8)
        lse = query.new_full((1, 4, len(mine)), -torch.inf)
        for source in ring_schedule(RANKS, rank):
            theirs = places[source]
            block = (key[:, :, theirs], value[:, :, theirs])
            out, lse = ring_attention_step(out, lse, query[:, :, mine], *block, mine, theirs)
        parts.append(out)
    off = largest(torch.cat(parts, 2), scaled_dot_product_attention(query, key, value, MASK))
    return weigh(f"{RANKS} ranks, causal: {off:.0e} from one process", holds=off < 1e-12)


@recomputes("16-06")
def text_or_heads() -> Finding:
    """The same attention with the text shared out, its weights whole, and with the heads."""
    query, key, value = draws(SHAPE, SHAPE, SHAPE)
    whole = scaled_dot_product_attention(query, key, value, MASK)
    by_text = [
        scaled_dot_product_attention(part, key, value, mask)
        for part, mask in zip(query.chunk(RANKS, dim=2), MASK.chunk(RANKS), strict=True)
    ]
    traded = [sequence_to_heads(x.chunk(RANKS, dim=2)) for x in (query, key, value)]
    by_heads = [
        scaled_dot_product_attention(q, k, v, MASK) for q, k, v in zip(*traded, strict=True)
    ]
    off = [largest(torch.cat(by_text, 2), whole), largest(torch.cat(by_heads, 1), whole)]
    return weigh(
        f"split by tokens {off[0]:.0e} off, by heads {off[1]:.0e}: two ways, and only the second "
        f"can split the weights ({by_text[0].shape[1]} and {by_heads[0].shape[1]} heads a rank)",
        holds=by_text[0].shape[1] < SHAPE[1],
        amended=max(off) < 1e-12 and by_heads[0].shape[1] < SHAPE[1],
    )
