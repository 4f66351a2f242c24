"""Masks beside those of SDPA, FlexAttention and Hugging Face's models, and attention under them."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import bias, flex_attention
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
    masked_softmax,
    padding_mask,
    prefix_mask,
    scaled_dot_product_attention,
    window_mask,
)
from tests.peers.peer_support import BATCH, draw_lengths, sdpa
from tests.support import LENGTHS, assert_same_function, draw

SDPA = pytest.mark.peer(
    "06", "`masked_softmax`, `additive_mask`", "SDPA under each mask, boolean and added",
    "float64 1e-7", "outputs, gradients",
)  # fmt: skip
UTILITIES = pytest.mark.peer(
    "06", "`causal_mask`, `padding_mask`, `window_mask`, `document_mask`, `prefix_mask`",
    "transformers' mask utilities", "equal", "masks",
)  # fmt: skip

REAL = torch.tensor([4, 0, 7])  # lengths of a batch, one of them empty
DOCUMENTS = torch.tensor([[0, 0, 1, 1, 1, 2, 2], [5, 5, 5, 5, 5, 5, 5], [1, 2, 2, 1, 1, 2, 3]])

# Each of our masks beside FlexAttention's way to say it: a rule of batch, head, query and key.
RULES = {
    "causal": (causal_mask(5, 7), lambda b, h, q, k: k <= q),
    "causal, more queries": (causal_mask(7, 3), lambda b, h, q, k: k <= q),
    "causal, after a cache": (causal_mask(3, 7, 4), lambda b, h, q, k: k <= q + 4),
    "causal, one query": (causal_mask(1, 7, 6), lambda b, h, q, k: k <= q + 6),
    "causal, empty rows": (causal_mask(5, 7, -2), lambda b, h, q, k: k <= q - 2),
    "window": (window_mask(7, 7, 3), lambda b, h, q, k: (k <= q) & (q - k < 3)),
    "window, of one": (window_mask(5, 7, 1), lambda b, h, q, k: k == q),
    "window, after a cache": (
        window_mask(2, 7, 4, 5),
        lambda b, h, q, k: (k <= q + 5) & (q + 5 - k < 4),
    ),
    "prefix": (prefix_mask(7, 3), lambda b, h, q, k: (k < 3) | (k <= q)),
    "prefix, none": (prefix_mask(7, 0), lambda b, h, q, k: k <= q),
    "padding": (padding_mask(REAL, 7).expand(3, 1, 5, 7), lambda b, h, q, k: k < REAL[b]),
    "documents": (
        document_mask(DOCUMENTS),
        lambda b, h, q, k: (DOCUMENTS[b, q] == DOCUMENTS[b, k]) & (k <= q),
    ),
    "documents, window and padding": (
        combine_masks(document_mask(DOCUMENTS), window_mask(7, 7, 2), padding_mask(REAL, 7)),
        lambda b, h, q, k: (
            (DOCUMENTS[b, q] == DOCUMENTS[b, k]) & (k <= q) & (q - k < 2) & (k < REAL[b])
        ),
    ),
}
EACH_RULE = pytest.mark.parametrize(("mask", "rule"), RULES.values(), ids=RULES)
EACH_MASK = pytest.mark.parametrize("mask", [mask for mask, _ in RULES.values()], ids=RULES)


def inputs(num_queries: int, num_keys: int) -> tuple[Tensor, Tensor, Tensor]:
    return draw(3, 2, num_queries, 4), draw(3, 2, num_keys, 4), draw(3, 2, num_keys, 6)


@EACH_RULE
@pytest.mark.peer(
    "06",
    "`causal_mask`, `window_mask`, `prefix_mask`, `padding_mask`, `document_mask`, `combine_masks`",
    "FlexAttention's rules", "equal", "masks",
)  # fmt: skip
def test_says_what_flex_attention_s_rule_says(mask, rule) -> None:
    batch = mask.shape[0] if mask.dim() == 4 else 1
    sizes = (batch, 1, *mask.shape[-2:])
    assert torch.equal(flex_attention.create_mask(rule, *sizes, device="cpu"), mask.view(sizes))
    blocks = flex_attention.create_block_mask(rule, *sizes, device="cpu", BLOCK_SIZE=1)
    assert torch.equal(blocks.to_dense().bool(), mask.view(sizes))


@EACH_RULE
@pytest.mark.peer(
    "06", "`scaled_dot_product_attention` under each mask",
    "FlexAttention, which has no backward pass on a CPU", "float64 1e-7", "outputs",
)  # fmt: skip
def test_attends_as_flex_attention_does(mask, rule) -> None:
    num_queries, num_keys = mask.shape[-2:]
    given = inputs(num_queries, num_keys)
    blocks = flex_attention.create_block_mask(rule, 3, 2, num_queries, num_keys, device="cpu")
    want = flex_attention.flex_attention(*given, block_mask=blocks)
    torch.testing.assert_close(scaled_dot_product_attention(*given, mask), want)


@EACH_MASK
@SDPA
def test_attends_as_sdpa_does(mask) -> None:
    for ours in (
        lambda q, k, v: scaled_dot_product_attention(q, k, v, mask),
        lambda q, k, v: masked_softmax(q @ k.mT / 2, mask) @ v,
    ):
        assert_same_function(ours, lambda *x: sdpa(*x, attn_mask=mask), inputs(*mask.shape[-2:]))


@EACH_MASK
@SDPA
def test_numbers_to_add_say_the_same_to_sdpa(mask) -> None:
    numbers = additive_mask(mask, torch.float64)
    assert_same_function(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, mask),
        lambda *x: sdpa(*x, attn_mask=numbers),
        inputs(*mask.shape[-2:]),
    )


@pytest.mark.parametrize(("num_queries", "num_keys"), LENGTHS)
@SDPA
def test_offset_zero_is_sdpa_s_is_causal(num_queries, num_keys) -> None:
    mask = causal_mask(num_queries, num_keys)
    assert_same_function(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, mask),
        lambda *x: sdpa(*x, is_causal=True),
        inputs(num_queries, num_keys),
    )


@pytest.mark.parametrize(("num_queries", "num_keys"), [(3, 5), (5, 5), (1, 6), (1, 1)])
@pytest.mark.peer(
    "06", "`causal_mask` at two offsets", "torch's two causal biases", "float64 1e-7", "outputs"
)
def test_torch_s_two_causal_biases_are_two_offsets(num_queries, num_keys) -> None:
    sizes = (num_queries, num_keys)
    upper, lower = bias.causal_upper_left(*sizes), bias.causal_lower_right(*sizes)
    given, last = inputs(*sizes), num_keys - num_queries
    for mask, theirs in ((causal_mask(*sizes), upper), (causal_mask(*sizes, last), lower)):
        want = F.scaled_dot_product_attention(*given, attn_mask=theirs)
        torch.testing.assert_close(scaled_dot_product_attention(*given, mask), want)


def agrees(ours: Tensor, theirs: Tensor) -> bool:
    """Return whether the masks say the same: theirs is boolean, or numbers to add."""
    ours = ours.expand(theirs.shape)
    if theirs.dtype == torch.bool:
        return torch.equal(ours, theirs)
    # Theirs forbids with the lowest finite number where ours has -inf.
    return torch.equal(additive_mask(ours, theirs.dtype).clamp_min(-torch.finfo().max), theirs)


def make(
    kind: str, num_queries: int, before: int = 0, window: int | None = None, **options
) -> Tensor:
    """Return the mask of GPT-2, or of Mistral with a window, that takes some more tokens."""
    config = GPT2Config(attn_implementation=kind)
    if window:
        config = MistralConfig(attn_implementation=kind, sliding_window=window)
    cache = DynamicCache(config=config)
    empty = torch.zeros(BATCH, 2, before, 3)
    cache.update(empty, empty, 0)
    given = {"attention_mask": None, "allow_is_causal_skip": False, **options}
    create = create_sliding_window_causal_mask if window else create_causal_mask
    return create(config, torch.zeros(BATCH, num_queries, 6), past_key_values=cache, **given)


def both_ways(kind: str, real: Tensor) -> Tensor:
    config, x = GPT2Config(attn_implementation=kind), torch.zeros(BATCH, real.shape[-1], 6)
    return create_bidirectional_mask(config, x, real.flatten(1), allow_is_bidirectional_skip=False)


def packed(kind: str) -> Tensor:
    """Theirs finds documents in positions that start again at 0."""
    positions = torch.tensor([[0, 1, 0, 1, 2, 0, 1], [0, 1, 2, 3, 4, 5, 6]])
    config = GPT2Config(attn_implementation=kind)
    return create_causal_mask(config, torch.zeros(BATCH, 7, 6), None, None, positions)


def utilities() -> Iterator[tuple[str, Tensor, Callable[[str], Tensor]]]:
    """Yield what is masked, by our mask and by theirs of either kind."""
    for queries, before in ((5, 0), (1, 0), (3, 4), (1, 6)):  # those before are in a cache
        mask, name = causal_mask(queries, before + queries, before), f"{queries} after {before}"
        real = padding_mask(draw_lengths(before + queries), before + queries)
        theirs = partial(make, num_queries=queries, before=before)
        yield name, mask, theirs
        padded = partial(theirs, attention_mask=real.flatten(1))
        yield f"{name}, padded", combine_masks(mask, real), padded
    for length, window in product((1, 5, 7), (1, 2, 3, 9)):  # theirs counts the query's own key too
        theirs = partial(make, num_queries=length, window=window)
        yield f"window {window} of {length}", window_mask(length, length, window), theirs
    for length in (1, 5, 7):
        real = padding_mask(draw_lengths(length), length)
        yield f"padding of {length}", real, partial(both_ways, real=real)
    for prefix in (0, 1, 3, 7):  # theirs is one block that sees itself, -1 what is in no block
        blocks = torch.where(torch.arange(7) < prefix, 0, -1).expand(BATCH, -1)
        theirs = partial(make, num_queries=7, block_sequence_ids=blocks)
        yield f"prefix {prefix}", prefix_mask(7, prefix), theirs
    documents = torch.tensor([[0, 0, 1, 1, 1, 2, 2], [0, 0, 0, 0, 0, 0, 0]])
    yield "documents", document_mask(documents), packed


@pytest.mark.parametrize("kind", ["sdpa", "eager"])
@pytest.mark.parametrize(
    ("ours", "theirs"), [pytest.param(*rest, id=name) for name, *rest in utilities()]
)
@UTILITIES
def test_says_what_transformers_mask_utilities_say(ours, theirs, kind) -> None:
    assert agrees(ours, theirs(kind))


@pytest.mark.parametrize("kind", ["sdpa", "eager"])
@UTILITIES
def test_the_sliding_window_after_a_cache(kind) -> None:
    """Their cache forgets what no query can see, so their columns are the last ones of ours."""
    theirs, ours = make(kind, 2, before=5, window=4), window_mask(2, 7, 4, offset=5)
    kept = theirs.shape[-1]
    assert agrees(ours[:, -kept:], theirs)
    assert not ours[:, :-kept].any()
