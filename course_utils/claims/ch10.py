"""Checks of the claims of chapter 10."""

import math
from functools import partial

import torch
from torch import Tensor

from course_utils.attention import (
    causal_mask,
    grouped_query_attention,
    merge_heads,
    scaled_dot_product_attention,
    split_heads,
)
from course_utils.claims._inputs import draw, draws, largest, leak, refused
from course_utils.claims.finding import Finding, recomputes, weigh
from course_utils.measure import largest_tensor

Weights = tuple[Tensor, Tensor, Tensor]


def weights(width: int = 12) -> Weights:
    """Return three projections."""
    W_q, W_k, W_v = draws(*[(width, width)] * 3, seed=5)
    return W_q / 3, W_k / 3, W_v


class Cached:
    """A published module with a cache: one head, kept on the module, no mask in the first pass."""

    def __init__(self, last_only: bool = False) -> None:
        self.last_only = last_only
        self.key: Tensor | None = None
        self.value: Tensor | None = None

    def __call__(self, x: Tensor, masked: bool = False) -> Tensor:
        """Return the outputs of new tokens, and keep their keys and values."""
        W_q, W_k, W_v = weights(x.shape[-1])
        if self.key is not None and self.last_only:
            x = x[:, -1:]
        key, value = x @ W_k, x @ W_v
        if self.key is not None and self.value is not None:
            key, value = torch.cat([self.key, key], 1), torch.cat([self.value, value], 1)
        self.key, self.value = key, value
        num_new, num_keys = x.shape[1], key.shape[1]
        mask = causal_mask(num_new, num_keys, num_keys - num_new) if masked else None
        return scaled_dot_product_attention(x @ W_q, key, value, mask)


def _first_pass(x: Tensor, masked: bool = True) -> Tensor:
    return Cached()(x, masked)


@recomputes("10-01")
def caching_avoids_computing_again() -> Finding:
    """Pieces of 3, 2 and 1 tokens with a cache against one causal pass."""
    x, cached = draw(1, 6, 12), Cached()
    whole = _first_pass(x)
    parts = torch.cat([cached(part, masked=True) for part in x.split([3, 2, 1], dim=1)], 1)
    return weigh(f"{largest(parts, whole):.0e} from one pass", holds=largest(parts, whole) < 1e-12)


@recomputes("10-02")
def concatenating_makes_it_multi_head() -> Finding:
    """What comes out against multi-head attention with the same projections, and one head."""
    x = draw(1, 6, 12)
    query, key, value = (x @ W for W in weights())
    mask = causal_mask(6, 6)
    split = split_heads(query, 3), split_heads(key, 3), split_heads(value, 3)
    heads = merge_heads(scaled_dot_product_attention(*split, mask))
    one = scaled_dot_product_attention(query, key, value, mask)
    out = _first_pass(x)
    return weigh(
        f"{largest(out, heads):.2f} from three heads, {largest(out, one):.0e} from one",
        holds=largest(out, heads) < 1e-9,
    )


@recomputes("10-03")
def first_pass_needs_no_mask() -> Finding:
    """The weight that tokens of a prompt give to later ones without a mask."""
    x = draw(1, 6, 12)
    W_q, W_k, _ = weights()
    given = (x @ W_q @ (x @ W_k).mT / math.sqrt(12)).softmax(-1)
    future = float(given.triu(1).sum(-1).mean())
    moved = [leak(partial(_first_pass, masked=masked), x) for masked in (False, True)]
    return weigh(
        f"{future:.2f} of the weight on the future; later tokens move earlier states by "
        f"{moved[0]:.2f}, with the mask by {moved[1]:g}",
        holds=moved[0] == 0,
    )


@recomputes("10-04")
def last_position_is_enough() -> Finding:
    """3 new tokens after a prompt of 3, through x[:, -1:]."""
    cached, x = Cached(last_only=True), draw(1, 6, 12)
    cached(x[:, :3])
    out = cached(x[:, 3:])
    length = cached.key.shape[1] if cached.key is not None else 0
    return weigh(
        f"{out.shape[1]} output of 3, {length} keys kept of 6",
        holds=(out.shape[1], length) == (3, 6),
    )


@recomputes("10-05")
def cache_can_stay_on_the_module() -> Finding:
    """A second prompt of 4 tokens after one of 3; then a batch of 2."""
    cached, second = Cached(), draw(1, 4, 12, seed=3)
    cached(draw(1, 3, 12))
    off = largest(cached(second), Cached()(second))
    length = cached.key.shape[1] if cached.key is not None else 0
    batch = refused(cached, draw(2, 1, 12))
    return weigh(
        f"the second prompt of 4 sees {length} keys and is {off:.2f} off; a batch of 2: {batch}",
        holds=off < 1e-9,
    )


@recomputes("10-10")
def groups_are_repeated() -> Finding:
    """repeat_interleave against grouping the queries: values and the largest tensor made."""
    query, key, value = draws((1, 8, 1, 16), (1, 2, 256, 16), (1, 2, 256, 16))
    repeated, grouped = _repeated(query, key, value), grouped_query_attention(query, key, value)
    made = [largest_tensor(way, query, key, value) for way in (_repeated, grouped_query_attention)]
    return weigh(
        f"{largest(repeated, grouped):.0e} apart; the largest new tensor has {made[0]:,} numbers "
        f"repeated, {made[1]:,} grouped",
        holds=made[0] <= made[1],
        amended=largest(repeated, grouped) < 1e-12,
    )


def _repeated(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    heads = query.size(1) // key.size(1)
    key, value = (x.repeat_interleave(heads, 1) for x in (key, value))
    return scaled_dot_product_attention(query, key, value)


@recomputes("10-15")
def forward_returns_the_output() -> Finding:
    """What the published forward returns: the context before W_O, and the weights beside it."""
    x, W_o = draw(1, 6, 12), draw(12, 12, seed=9)
    context = _first_pass(x)
    full = context @ W_o
    return weigh(
        f"the context differs from the output by {largest(context, full):.2f}; projected it is the "
        "output, and a tuple with the weights comes back",
        holds=largest(context, full) < 1e-9,
        amended=largest(context @ W_o, full) == 0,
    )
