"""Composed scores, dropout and packed documents beside transformers, torch and published rules."""

from functools import partial
from itertools import product
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import flex_attention
from transformers.masking_utils import chunked_overlay, find_packed_sequence_indices
from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward

from course_utils.attention import (
    add_bias,
    additive_mask,
    attention_dropout,
    band_mask,
    causal_mask,
    chunk_mask,
    composed_attention,
    composed_scores,
    cumulative_lengths,
    document_mask,
    packed_attention,
    packed_ids,
    query_lengths_mask,
    same_document_mask,
    soft_cap,
    stable_softmax,
)
from course_utils.positions import alibi_bias, alibi_slopes
from tests.peers.peer_support import flash_attn, in_its_own_precision, sdpa
from tests.support import LENGTHS, assert_same_function, draw

B, H, H_KV, D_K, D_V = 2, 6, 3, 4, 8
DOCUMENTS = [[3, 1, 4], [5], [2, 0, 3, 0], [1, 1, 1, 6]]
each_length = pytest.mark.parametrize(("num_queries", "num_keys"), LENGTHS)
each_packing = pytest.mark.parametrize("lengths", DOCUMENTS, ids=str)


def inputs(num_queries: int, num_keys: int, heads: int = H_KV) -> tuple[Tensor, Tensor, Tensor]:
    shapes = ((H, num_queries, D_K), (heads, num_keys, D_K), (heads, num_keys, D_V))
    query, key, value = (draw(B, *shape, seed=n) for n, shape in enumerate(shapes))
    return query, key, value


def packed_inputs(lengths: list[int]) -> tuple[Tensor, Tensor, Tensor]:
    tokens = sum(lengths)
    query, key = (draw(tokens, H, D_K, seed=seed) for seed in (0, 1))
    return query, key, draw(tokens, H, D_V, seed=2)


def in_heads(*tokens: Tensor) -> tuple[Tensor, ...]:
    return tuple(x.transpose(0, 1).unsqueeze(0) for x in tokens)


@each_length
@pytest.mark.parametrize("cap", [0.5, 50.0])
@pytest.mark.peer(
    "06", "`soft_cap` in `composed_attention`, grouped heads",
    "transformers' eager_attention_forward of Gemma 2", "float64 1e-7", "outputs, gradients",
)  # fmt: skip
def test_soft_cap_is_gemma_2_s(cap, num_queries, num_keys, monkeypatch) -> None:
    in_its_own_precision(monkeypatch)
    mask = causal_mask(num_queries, num_keys, num_keys - 1)  # no query of theirs may see nothing
    module = SimpleNamespace(num_key_value_groups=H // H_KV, training=False)
    numbers = additive_mask(mask, torch.float64)

    def theirs(*given: Tensor) -> Tensor:
        out = eager_attention_forward(module, *given, numbers, scaling=0.3, softcap=cap)
        return out[0].transpose(1, 2)

    def ours(*given: Tensor) -> Tensor:
        return composed_attention(*given, partial(soft_cap, cap=cap), mask, scale=0.3)

    assert_same_function(ours, theirs, inputs(num_queries, num_keys))


@each_length
@pytest.mark.peer(
    "06", "`composed_attention` with a cap, a bias and a mask",
    "FlexAttention with the same score_mod and mask_mod, which has no backward pass on a CPU",
    "float64 1e-7", "outputs",
)  # fmt: skip
def test_scores_compose_as_in_flex_attention(num_queries, num_keys) -> None:
    slopes, offset = alibi_slopes(H).double(), num_keys - num_queries

    def theirs(score, b, h, q, k):
        return 2 * torch.tanh((score - slopes[h] * (q + offset - k).abs()) / 2)

    def ours(scores: Tensor) -> Tensor:
        return soft_cap(add_bias(scores, alibi_bias(H, num_queries, num_keys).double()), 2.0)

    sizes = (1, 1, num_queries, num_keys)
    blocks = flex_attention.create_block_mask(
        lambda b, h, q, k: k <= q + offset, *sizes, device="cpu"
    )
    given = inputs(num_queries, num_keys)
    want = flex_attention.flex_attention(*given, theirs, blocks, enable_gqa=True)
    got = composed_attention(*given, ours, causal_mask(num_queries, num_keys, offset))
    torch.testing.assert_close(got, want)


@each_length
@pytest.mark.peer(
    "06", "`add_bias` in `composed_attention`", "SDPA with a floating-point attn_mask",
    "float64 1e-7", "outputs, gradients",
)  # fmt: skip
def test_a_bias_is_sdpa_s_floating_mask(num_queries, num_keys) -> None:
    bias = draw(H, num_queries, num_keys, seed=7)

    assert_same_function(
        lambda q, k, v, bias: composed_attention(q, k, v, partial(add_bias, bias=bias)),
        lambda q, k, v, bias: sdpa(q, k, v, bias.expand(B, -1, -1, -1)),
        (*inputs(num_queries, num_keys, H), bias),
    )


@pytest.mark.parametrize("p", [0.0, 0.25, 0.9])
@pytest.mark.peer(
    "06", "`attention_dropout` behind `composed_scores`",
    "SDPA with dropout_p, from the same state of the generator", "float64 1e-7",
    "outputs, gradients",
)  # fmt: skip
def test_dropout_is_sdpa_s_draw_for_draw(p) -> None:
    mask = causal_mask(5, 7, 1)

    def ours(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        weights = stable_softmax(composed_scores(q, k, attn_mask=mask))
        return attention_dropout(weights, p, torch.Generator().manual_seed(3)) @ v

    def theirs(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        with torch.random.fork_rng():
            torch.manual_seed(3)
            return sdpa(q, k, v, mask, dropout_p=p)

    assert_same_function(ours, theirs, inputs(5, 7, H))


@each_packing
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.peer(
    "06", "`packed_attention`, `cumulative_lengths`",
    "SDPA on nested tensors of layout torch.jagged", "float64 1e-7", "outputs, gradients",
)  # fmt: skip
def test_packed_documents_are_a_jagged_tensor(lengths) -> None:
    offsets = cumulative_lengths(torch.tensor(lengths)).long()

    def theirs(*given: Tensor) -> Tensor:
        nested = (torch.nested.nested_tensor_from_jagged(x, offsets).transpose(1, 2) for x in given)
        return F.scaled_dot_product_attention(*nested).transpose(1, 2).values()

    assert_same_function(
        lambda *x: packed_attention(*x, torch.tensor(lengths)), theirs, packed_inputs(lengths)
    )


@each_packing
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.peer(
    "06", "`packed_attention`, `packed_ids`, `same_document_mask`, `document_mask`",
    "FlexAttention under a document rule", "float64 1e-7", "outputs",
)  # fmt: skip
def test_packed_documents_are_flex_attention_s_document_mask(causal, lengths) -> None:
    given = torch.tensor(lengths)
    ids, tokens = packed_ids(given), sum(lengths)

    def rule(b, h, q, k):
        return (ids[q] == ids[k]) & (k <= q if causal else k >= 0)

    table = flex_attention.create_mask(rule, 1, 1, tokens, tokens, device="cpu")
    row = ids.unsqueeze(0)
    assert torch.equal(document_mask(row) if causal else same_document_mask(row, row), table)
    blocks = flex_attention.create_block_mask(rule, 1, 1, tokens, tokens, device="cpu")
    query, key, value = packed_inputs(lengths)
    want = flex_attention.flex_attention(*in_heads(query, key, value), block_mask=blocks)
    got = packed_attention(query, key, value, given, causal)
    torch.testing.assert_close(in_heads(got)[0], want)


@each_packing
@pytest.mark.peer(
    "06", "`packed_ids`",
    "transformers' find_packed_sequence_indices, from positions that start again", "equal",
    "numbers",
)  # fmt: skip
def test_packed_ids_are_those_that_transformers_finds(lengths) -> None:
    kept = torch.tensor([length for length in lengths if length])  # theirs cannot see an empty one
    positions = torch.cat([torch.arange(int(length)) for length in kept]).unsqueeze(0)
    theirs = find_packed_sequence_indices(positions)
    ours = packed_ids(kept).unsqueeze(0)
    assert torch.equal(ours, torch.zeros_like(ours) if theirs is None else theirs)


@each_length
@pytest.mark.parametrize("chunk", [1, 2, 3, 9])
@pytest.mark.peer(
    "06", "`chunk_mask`", "transformers' chunked_overlay on a causal mask", "equal", "masks"
)
def test_chunks_are_llama_4_s(chunk, num_queries, num_keys) -> None:
    offset = num_keys - num_queries
    rule = chunked_overlay(chunk, torch.zeros(1, dtype=torch.long))
    own, place = torch.arange(num_queries).unsqueeze(-1) + offset, torch.arange(num_keys)
    theirs = rule(0, 0, own, place) & causal_mask(num_queries, num_keys, offset)
    assert torch.equal(chunk_mask(num_queries, num_keys, chunk, offset), theirs)


@each_length
@pytest.mark.peer(
    "06", "`band_mask`, bottom-right by its offset",
    "xformers' LocalAttentionFromBottomRightMask, written afresh: triu and tril", "equal", "masks",
)  # fmt: skip
def test_a_band_is_xformers_local_mask(num_queries, num_keys) -> None:
    shift = num_keys - num_queries
    for left, right in product(range(4), repeat=2):
        seen = torch.ones(num_queries, num_keys)
        theirs = seen.triu(shift - left).tril(shift + right) == 1
        assert torch.equal(band_mask(num_queries, num_keys, left, right, shift), theirs)


@pytest.mark.parametrize(
    ("queries", "keys"),
    [([2, 3], [3, 5]), ([1, 1, 4], [2, 1, 6]), ([0, 3], [4, 1]), ([3, 2], [0, 4])],
    ids=str,
)
@pytest.mark.peer(
    "06", "`same_document_mask`, `packed_ids`",
    "xformers' BlockDiagonalMask, written afresh: blocks of unequal sides", "equal", "masks",
)  # fmt: skip
def test_documents_are_xformers_diagonal_blocks(queries, keys) -> None:
    blocks = [torch.ones(q, k) for q, k in zip(queries, keys, strict=True)]
    theirs = torch.block_diag(*blocks) == 1
    ids = [packed_ids(torch.tensor(one)).unsqueeze(0) for one in (queries, keys)]
    assert torch.equal(same_document_mask(*ids)[0, 0], theirs)


@each_length
@pytest.mark.parametrize("window", [(-1, -1), (1, 2), (2, 0), (0, -1), (-1, 1)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("options", ["plain", "cap", "alibi", "cap and alibi"])
@pytest.mark.peer(
    "06", "`composed_attention` with `band_mask`, `soft_cap`, `add_bias`",
    "flash-attn's rule for window_size, causal, softcap and alibi_slopes, written afresh",
    "float64 1e-7", "outputs",
)  # fmt: skip
def test_composes_to_flash_attn_s_rule(options, causal, window, num_queries, num_keys) -> None:
    cap = 0.7 if "cap" in options else 0.0
    slopes = alibi_slopes(H).double() if "alibi" in options else None
    given = inputs(num_queries, num_keys)

    def score_mod(scores: Tensor) -> Tensor:
        scores = soft_cap(scores, cap) if cap else scores
        if slopes is None:
            return scores
        return add_bias(scores, alibi_bias(H, num_queries, num_keys).double())

    left, right = (None if side < 0 else side for side in window)
    mask = band_mask(num_queries, num_keys, left, 0 if causal else right, num_keys - num_queries)
    got = composed_attention(*given, score_mod, mask)
    torch.testing.assert_close(got, flash_attn(*given, causal, window, cap, slopes))


@pytest.mark.peer(
    "06", "`attention_dropout`", "flash-attn's rule for dropout_p, written afresh", "float64 1e-7",
    "outputs",
)  # fmt: skip
def test_dropout_is_flash_attn_s_rule() -> None:
    query, key, value = inputs(5, 7, H)
    weights = stable_softmax(composed_scores(query, key, attn_mask=causal_mask(5, 7, 2)))
    dropped = attention_dropout(weights, 0.3, torch.Generator().manual_seed(0))
    want = flash_attn(query, key, value, True, kept=(dropped != 0) / 0.7)
    torch.testing.assert_close(dropped @ value, want)


@pytest.mark.peer(
    "06", "`query_lengths_mask`",
    "D2L's masked softmax with valid_lens of two axes, written afresh; its empty rows are uniform",
    "equal", "masks",
)  # fmt: skip
def test_lengths_of_each_query_are_d2l_s() -> None:
    lengths = torch.tensor([[1, 3, 2], [4, 1, 3]])
    flat = torch.arange(4).expand(6, -1) < lengths.reshape(-1).unsqueeze(-1)
    assert torch.equal(query_lengths_mask(lengths, 4), flat.view(2, 1, 3, 4))
