"""What goes wrong when new queries meet a cache: which head and which sequence they read."""

import torch
from torch import Tensor

from course_utils.attention import scaled_dot_product_attention
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch10_kv_cache._decode_wrong import build


def _averaged(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    out = scaled_dot_product_attention(query, key, value, mask)
    return out.mean(1, keepdim=True).expand_as(out)


def _head_of_all(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Attend with one head as wide as all of them."""
    q, k, v = (x.transpose(1, 2).flatten(2) for x in (query, key, value))
    out = scaled_dot_product_attention(q, k, v, mask).unflatten(-1, (query.shape[1], -1))
    return torch.transpose(out, 1, 2)


def _batch_together(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    return scaled_dot_product_attention(query, key[:1], value[:1], mask)


HEADS = (
    Misconception(
        "heads averaged",
        build(_averaged),
        "All heads give the same output. Each head reads its own keys and values, and keeps its "
        "own answer.",
        also=(
            build(lambda q, k, v, m: scaled_dot_product_attention(q, k[:, :1], v[:, :1], m)),
            build(
                lambda q, k, v, m: scaled_dot_product_attention(
                    q, k.mean(1, keepdim=True), v.mean(1, keepdim=True), m
                )
            ),
        ),
    ),
    Misconception(
        "a cache without heads",
        build(_head_of_all),
        "All heads share one softmax, as if they were a single wide one. Heads were split so that "
        "each can look elsewhere: over which axes is a score a sum?",
    ),
    Misconception(
        "one sequence's cache for all",
        build(_batch_together),
        "Every sequence reads the cache of the first. What does the first axis of the cache count?",
    ),
)
