"""The cheaper attentions inside Hugging Face's models: Mistral, Longformer and Reformer."""

import pytest
import torch
from peer_support import BATCH, assert_same_function, draw, in_its_own_precision, seeded
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import LongformerConfig, MistralConfig, ReformerConfig
from transformers.masking_utils import create_sliding_window_causal_mask
from transformers.models.longformer.modeling_longformer import LongformerSelfAttention
from transformers.models.mistral import modeling_mistral as mistral
from transformers.models.reformer.modeling_reformer import LSHSelfAttention

from course_utils.attention import (
    global_window_attention,
    grouped_query_attention,
    lsh_buckets,
    merge_heads,
    sliding_window_attention,
    split_heads,
    window_mask,
)
from course_utils.positions import rope_frequencies, rope_split_halves

HEADS, WIDTH, D_K = 4, 32, 8


def turns(places: Tensor) -> tuple[Tensor, Tensor]:
    """Return cosines and sines as their models hand them over, but not rounded to float32."""
    angles = places.double().unsqueeze(-1) * rope_frequencies(D_K)
    angles = torch.cat((angles, angles), dim=-1).unsqueeze(0)
    return angles.cos(), angles.sin()


@pytest.mark.parametrize("window", [1, 3, 9, 100])
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("length", [1, 7, 70])
@pytest.mark.peer(
    "08",
    "`sliding_window_attention`, `grouped_query_attention`, `split_heads`, `merge_heads`",
    "a whole Mistral attention",
    "float64 1e-7",
    "outputs, gradients",
)
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
