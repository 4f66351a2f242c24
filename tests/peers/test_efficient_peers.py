"""The cheaper attentions beside SDPA and FlexAttention, and in Mistral, Longformer, Reformer."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, flex_attention, sdpa_kernel
from transformers import LongformerConfig, MistralConfig, ReformerConfig
from transformers.masking_utils import create_sliding_window_causal_mask
from transformers.models.longformer.modeling_longformer import LongformerSelfAttention
from transformers.models.mistral import modeling_mistral as mistral
from transformers.models.reformer.modeling_reformer import LSHSelfAttention

from course_utils.attention import (
    block_sparse_attention,
    blocked_window_attention,
    fixed_mask,
    global_window_attention,
    grouped_query_attention,
    lsh_buckets,
    merge_heads,
    sliding_window_attention,
    split_heads,
    strided_mask,
    window_mask,
)
from course_utils.positions import rope_frequencies, rope_split_halves
from tests.peers.peer_support import BATCH, draw_mask, in_its_own_precision, sdpa, seeded
from tests.support import LENGTHS, assert_same_function, draw

HEADS, WIDTH, D_K = 4, 32, 8


def inputs(num_queries: int, num_keys: int, kv_heads: int = HEADS) -> tuple[Tensor, ...]:
    query = draw(BATCH, HEADS, num_queries, D_K)
    return query, *(draw(BATCH, kv_heads, num_keys, D_K, seed=seed) for seed in (1, 2))


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("shape", [None, (), (HEADS,), (BATCH, 1), (BATCH, HEADS)], ids=str)
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.peer(
    "08", "`grouped_query_attention`", "SDPA with `enable_gqa`", "float64 1e-7",
    "outputs, gradients",
)  # fmt: skip
def test_grouped_queries_are_sdpa_s_enable_gqa(lengths, shape, kv_heads) -> None:
    mask = None if shape is None else draw_mask(*shape, *lengths)
    if mask is not None:
        mask[..., 0, :] = False  # a query that may see nothing
    assert_same_function(
        lambda *x: grouped_query_attention(*x, mask),
        lambda *x: sdpa(*x, mask, enable_gqa=True),
        inputs(*lengths, kv_heads),
    )


# Each pattern of ours beside FlexAttention's way to say it: a rule of batch, head, query and key.
PATTERNS = {
    "window": (
        lambda *x: sliding_window_attention(*x, 9),
        lambda b, h, q, k: (k <= q) & (q - k < 9),
    ),
    "window, in blocks": (
        lambda *x: blocked_window_attention(*x, 9),
        lambda b, h, q, k: (k <= q) & (q - k < 9),
    ),
    "window and global tokens": (
        lambda *x: global_window_attention(*x, 6, 3),
        lambda b, h, q, k: ((q - k).abs() <= 6) | (q < 3) | (k < 3),
    ),
    "strided": (
        lambda *x: block_sparse_attention(*x, strided_mask(len(x[0][0, 0]), 8), 16),
        lambda b, h, q, k: (k <= q) & ((q - k < 8) | ((q - k) % 8 == 0)),
    ),
    "fixed": (
        lambda *x: block_sparse_attention(*x, fixed_mask(len(x[0][0, 0]), 16, 3), 16),
        lambda b, h, q, k: (k <= q) & ((q // 16 == k // 16) | (k % 16 >= 13)),
    ),
}


@pytest.mark.parametrize("length", [1, 64, 100])
@pytest.mark.parametrize(("ours", "rule"), PATTERNS.values(), ids=PATTERNS)
@pytest.mark.peer(
    "08",
    "`sliding_window_attention`, `blocked_window_attention`, `global_window_attention`, "
    "`block_sparse_attention`, `strided_mask`, `fixed_mask`",
    "FlexAttention, which has no backward pass on a CPU",
    "float64 1e-7",
    "outputs",
)
def test_attends_as_flex_attention_does(ours, rule, length) -> None:
    given = inputs(length, length)
    blocks = flex_attention.create_block_mask(rule, None, None, length, length, device="cpu")
    want = flex_attention.flex_attention(*given, block_mask=blocks)
    torch.testing.assert_close(ours(*given), want)


@pytest.mark.parametrize("length", [1, 64, 100])
@pytest.mark.parametrize(("ours", "rule"), PATTERNS.values(), ids=PATTERNS)
@pytest.mark.peer(
    "08",
    "`sliding_window_attention`, `blocked_window_attention`, `global_window_attention`, "
    "`block_sparse_attention`, `strided_mask`, `fixed_mask`",
    "SDPA under FlexAttention's masks",
    "float64 1e-7",
    "outputs, gradients",
)
def test_has_the_gradients_of_sdpa_under_flex_attention_s_mask(ours, rule, length) -> None:
    mask = flex_attention.create_mask(rule, 1, 1, length, length, device="cpu")
    assert_same_function(ours, lambda *x: sdpa(*x, mask), inputs(length, length))


@pytest.mark.parametrize("length", [64, 100])
@pytest.mark.parametrize("name", ["strided", "fixed"])
@pytest.mark.peer(
    "08", "`block_sparse_attention`", "FlexAttention's block masks", "equal", "blocks that are read"
)
def test_touches_the_blocks_that_flex_attention_touches(name, length) -> None:
    masks = {"strided": strided_mask(length, 24), "fixed": fixed_mask(length, 32, 3)}
    rules = {
        "strided": lambda b, h, q, k: (k <= q) & ((q - k < 24) | ((q - k) % 24 == 0)),
        "fixed": lambda b, h, q, k: (k <= q) & ((q // 32 == k // 32) | (k % 32 >= 29)),
    }
    theirs = flex_attention.create_block_mask(
        rules[name], None, None, length, length, device="cpu", BLOCK_SIZE=16
    )
    touched = []

    def spy(query, key, value, attn_mask):
        touched.append(-(-key.shape[-2] // 16))
        return query

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(F, "scaled_dot_product_attention", spy)
        block_sparse_attention(*inputs(length, length), masks[name], 16)
    assert touched == theirs.to_dense()[0, 0].sum(-1).tolist()


def turns(places: Tensor) -> tuple[Tensor, Tensor]:
    """Return cosines and sines as their models hand them over, but not rounded to float32."""
    angles = places.double().unsqueeze(-1) * rope_frequencies(D_K)
    angles = torch.cat((angles, angles), dim=-1).unsqueeze(0)
    return angles.cos(), angles.sin()


@pytest.mark.parametrize("window", [1, 3, 9, 100])
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("length", [1, 7, 70])
@pytest.mark.peer(
    "08", "`sliding_window_attention`, `grouped_query_attention`, `split_heads`, `merge_heads`",
    "a whole Mistral attention", "float64 1e-7", "outputs, gradients",
)  # fmt: skip
def test_a_whole_mistral_attention_with_its_window(length, kv_heads, window) -> None:
    config = MistralConfig(
        hidden_size=WIDTH,
        num_attention_heads=HEADS,
        num_key_value_heads=kv_heads,
        head_dim=D_K,
        sliding_window=window,
        attn_implementation="sdpa",
    )
    theirs = seeded(mistral.MistralAttention(config, layer_idx=0))
    places = torch.arange(length)
    rotary = turns(places)
    x = draw(BATCH, length, WIDTH)
    mask = create_sliding_window_causal_mask(config, x, None, None)

    def projected(x: Tensor) -> list[Tensor]:
        layers = ((theirs.q_proj, HEADS), (theirs.k_proj, kv_heads), (theirs.v_proj, kv_heads))
        q, k, v = (split_heads(layer(x), heads) for layer, heads in layers)
        return [rope_split_halves(q, places), rope_split_halves(k, places), v]

    def in_chunks(x: Tensor) -> Tensor:
        q, *kv = projected(x)
        k, v = (shared.repeat_interleave(HEADS // kv_heads, dim=1) for shared in kv)
        return theirs.o_proj(merge_heads(sliding_window_attention(q, k, v, window)))

    def grouped(x: Tensor) -> Tensor:
        seen = window_mask(length, length, window)
        return theirs.o_proj(merge_heads(grouped_query_attention(*projected(x), seen)))

    for ours in (in_chunks, grouped):
        with sdpa_kernel(SDPBackend.MATH):
            assert_same_function(ours, lambda x: theirs(x, rotary, mask)[0], (x,))


@pytest.mark.parametrize("num_global", [0, 1, 3])
@pytest.mark.parametrize("length", [8, 32, 40])
@pytest.mark.peer(
    "08", "`global_window_attention`", "Longformer", "float64 1e-7", "outputs, gradients"
)
def test_a_window_with_global_tokens_is_longformer_s(length, num_global, monkeypatch) -> None:
    in_its_own_precision(monkeypatch)
    config = LongformerConfig(
        hidden_size=WIDTH,
        num_attention_heads=HEADS,
        attention_window=[8],  # theirs counts both sides: 4 to each
        attention_probs_dropout_prob=0.0,
    )
    theirs = seeded(LongformerSelfAttention(config, 0)).eval()
    for name in ("query", "key", "value"):  # they have matrices of their own for global tokens
        getattr(theirs, f"{name}_global").load_state_dict(getattr(theirs, name).state_dict())
    is_global = (torch.arange(length) < num_global).expand(BATCH, -1)

    def longformer(x: Tensor) -> Tensor:
        return theirs(
            x,
            attention_mask=is_global.double() * 10000.0,
            is_index_masked=torch.zeros(BATCH, length, dtype=torch.bool),
            is_index_global_attn=is_global,
            is_global_attn=num_global > 0,
        )[0]

    def ours(x: Tensor) -> Tensor:
        heads = (split_heads(layer(x), HEADS) for layer in (theirs.query, theirs.key, theirs.value))
        return merge_heads(global_window_attention(*heads, 4, num_global))

    assert_same_function(ours, longformer, (draw(BATCH, length, WIDTH),))


@pytest.mark.parametrize("buckets", [2, 8, 50])
@pytest.mark.peer("08", "`lsh_buckets`", "Reformer", "equal", "buckets")
def test_buckets_are_reformer_s(buckets) -> None:
    config = ReformerConfig(
        num_attention_heads=HEADS,
        attention_head_size=D_K,
        hidden_size=WIDTH,
        num_buckets=buckets,
        hash_seed=3,
    )
    x = draw(BATCH, HEADS, 20, D_K)
    with torch.random.fork_rng():
        theirs = LSHSelfAttention(config)._hash_vectors(x, 3, None)
        torch.manual_seed(3)
        rotations = torch.randn(HEADS, D_K, 3, buckets // 2, dtype=torch.float64)
    rounds = theirs.view(BATCH, HEADS, 3, 20) - buckets * torch.arange(3)[:, None]
    for h in range(HEADS):
        for number in range(3):
            ours = lsh_buckets(x[:, h], rotations[h, :, number])
            assert torch.equal(ours, rounds[:, h, number])
