"""Masks beside those that Hugging Face's models make for themselves."""

import pytest
import torch
from peer_support import BATCH, draw_lengths
from torch import Tensor
from transformers import DynamicCache, GPT2Config, MistralConfig
from transformers.masking_utils import (
    create_bidirectional_mask,
    create_causal_mask,
    create_sliding_window_causal_mask,
)

from course_utils.attention import (
    additive_mask,
    causal_mask,
    combine_masks,
    document_mask,
    padding_mask,
    prefix_mask,
    window_mask,
)

KINDS = ["sdpa", "eager"]
OFFSETS = [(5, 0), (1, 0), (3, 4), (1, 6)]  # queries, and the keys that a cache holds before them


def agrees(ours: Tensor, theirs: Tensor) -> bool:
    """Return whether the masks say the same: theirs is boolean, or numbers to add."""
    ours = ours.expand(theirs.shape)
    if theirs.dtype == torch.bool:
        return torch.equal(ours, theirs)
    # Theirs forbids with the lowest finite number where ours has -inf.
    return torch.equal(additive_mask(ours, theirs.dtype).clamp_min(-torch.finfo().max), theirs)


def make(
    create, num_queries: int, config: GPT2Config | MistralConfig, before: int = 0, **options
) -> Tensor:
    """Return the mask of a model that takes `num_queries` more tokens."""
    cache = DynamicCache(config=config)
    empty = torch.zeros(BATCH, 2, before, 3)
    cache.update(empty, empty, 0)
    given = {"attention_mask": None, "allow_is_causal_skip": False, **options}
    return create(config, torch.zeros(BATCH, num_queries, 6), past_key_values=cache, **given)


@pytest.mark.parametrize(("num_queries", "before"), OFFSETS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.peer(
    "06",
    "`causal_mask`, `padding_mask`, `window_mask`, `document_mask`, `prefix_mask`",
    "transformers' mask utilities",
    "equal",
    "masks",
)
def test_the_causal_mask_after_a_cache(kind, num_queries, before) -> None:
    config = GPT2Config(attn_implementation=kind)
    theirs = make(create_causal_mask, num_queries, config, before)
    assert agrees(causal_mask(num_queries, before + num_queries, before), theirs)


@pytest.mark.parametrize(("num_queries", "before"), OFFSETS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.peer(
    "06",
    "`causal_mask`, `padding_mask`, `window_mask`, `document_mask`, `prefix_mask`",
    "transformers' mask utilities",
    "equal",
    "masks",
)
def test_the_causal_mask_with_padding(kind, num_queries, before) -> None:
    config, num_keys = GPT2Config(attn_implementation=kind), before + num_queries
    real = padding_mask(draw_lengths(num_keys), num_keys)
    theirs = make(create_causal_mask, num_queries, config, before, attention_mask=real.flatten(1))
    assert agrees(combine_masks(causal_mask(num_queries, num_keys, before), real), theirs)


@pytest.mark.parametrize("window", [1, 2, 3, 9])
@pytest.mark.parametrize("length", [1, 5, 7])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.peer(
    "06",
    "`causal_mask`, `padding_mask`, `window_mask`, `document_mask`, `prefix_mask`",
    "transformers' mask utilities",
    "equal",
    "masks",
)
def test_the_sliding_window_counts_the_query_s_own_key(kind, length, window) -> None:
    config = MistralConfig(attn_implementation=kind, sliding_window=window)
    theirs = make(create_sliding_window_causal_mask, length, config)
    assert agrees(window_mask(length, length, window), theirs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.peer(
    "06",
    "`causal_mask`, `padding_mask`, `window_mask`, `document_mask`, `prefix_mask`",
    "transformers' mask utilities",
    "equal",
    "masks",
)
def test_the_sliding_window_after_a_cache(kind) -> None:
    """Their cache forgets what no query can see, so their columns are the last ones of ours."""
    config = MistralConfig(attn_implementation=kind, sliding_window=4)
    theirs = make(create_sliding_window_causal_mask, 2, config, before=5)
    ours = window_mask(2, 7, 4, offset=5)
    kept = theirs.shape[-1]
    assert agrees(ours[:, -kept:], theirs)
    assert not ours[:, :-kept].any()


@pytest.mark.parametrize("length", [1, 5, 7])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.peer(
    "06",
    "`causal_mask`, `padding_mask`, `window_mask`, `document_mask`, `prefix_mask`",
    "transformers' mask utilities",
    "equal",
    "masks",
)
def test_the_padding_mask(kind, length) -> None:
    config, real = GPT2Config(attn_implementation=kind), padding_mask(draw_lengths(length), length)
    x = torch.zeros(BATCH, length, 6)
    options = {"allow_is_bidirectional_skip": False}
    assert agrees(real, create_bidirectional_mask(config, x, real.flatten(1), **options))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.peer(
    "06",
    "`causal_mask`, `padding_mask`, `window_mask`, `document_mask`, `prefix_mask`",
    "transformers' mask utilities",
    "equal",
    "masks",
)
def test_packed_documents(kind) -> None:
    """Theirs finds them in positions that start again at 0."""
    positions = torch.tensor([[0, 1, 0, 1, 2, 0, 1], [0, 1, 2, 3, 4, 5, 6]])
    documents = torch.tensor([[0, 0, 1, 1, 1, 2, 2], [0, 0, 0, 0, 0, 0, 0]])
    x = torch.zeros(BATCH, 7, 6)
    config = GPT2Config(attn_implementation=kind)
    theirs = create_causal_mask(config, x, None, None, positions)
    assert agrees(document_mask(documents), theirs)


@pytest.mark.parametrize("prefix", [0, 1, 3, 7])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.peer(
    "06",
    "`causal_mask`, `padding_mask`, `window_mask`, `document_mask`, `prefix_mask`",
    "transformers' mask utilities",
    "equal",
    "masks",
)
def test_the_prefix_mask(kind, prefix) -> None:
    """Theirs is one block that sees itself, -1 for what is in no block."""
    blocks = torch.where(torch.arange(7) < prefix, 0, -1).expand(BATCH, -1)
    config = GPT2Config(attn_implementation=kind)
    theirs = make(create_causal_mask, 7, config, block_sequence_ids=blocks)
    assert agrees(prefix_mask(7, prefix), theirs)
