"""Multi-head attention beside that of Hugging Face's BERT and GPT-2, with their weights."""

import pytest
import torch
from torch import Tensor, nn
from transformers import BertConfig, DynamicCache, GPT2Config
from transformers.masking_utils import create_bidirectional_mask, create_causal_mask
from transformers.models.bert.modeling_bert import BertAttention
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

from course_utils.attention import (
    MultiHeadAttention,
    causal_mask,
    merge_heads,
    multi_head_attention_fused,
    padding_mask,
    scaled_dot_product_attention,
    split_fused_qkv,
)
from tests.peers.peer_support import BATCH, HEADS, WIDTH, draw_lengths, results
from tests.support import as_tuple, draw

ATTENTION = pytest.mark.peer(
    "05", "`MultiHeadAttention`, `padding_mask`, `causal_mask`",
    "attention of BERT, across two streams too, and of GPT-2", "float64 1e-7", "outputs, gradients",
)  # fmt: skip

KINDS = ["eager", "sdpa"]
SHAPES = {"hidden_size": WIDTH, "num_attention_heads": HEADS}
Named = dict[str, Tensor]


def new(kind: str, layer: type[nn.Module], config_type: type, **options) -> nn.Module:
    """Return one attention layer of a model, in float64, all its parameters random."""
    config = config_type(**SHAPES, attn_implementation=kind)
    torch.manual_seed(0)
    module = layer(config, layer_idx=0, **options).double().eval()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    return module


def from_bert(named: Named) -> Named:
    """Return BERT's weights, or their gradients, under our names."""
    roles = [f"self.{role}" for role in ("query", "key", "value")]
    return {
        "in_proj_weight": torch.cat([named[f"{role}.weight"] for role in roles]),
        "in_proj_bias": torch.cat([named[f"{role}.bias"] for role in roles]),
        "out_proj.weight": named["output.dense.weight"],
        "out_proj.bias": named["output.dense.bias"],
    }


def from_gpt2(named: Named) -> Named:
    """Return GPT-2's weights, or their gradients, which it keeps transposed, under our names."""
    return {
        "in_proj_weight": named["c_attn.weight"].T,
        "in_proj_bias": named["c_attn.bias"],
        "out_proj.weight": named["c_proj.weight"].T,
        "out_proj.bias": named["c_proj.bias"],
    }


def ours_with(weights: Named) -> MultiHeadAttention:
    ours = MultiHeadAttention(WIDTH, HEADS).double()
    ours.load_state_dict(weights)
    return ours


def compare(theirs, call_theirs, rename, ours, call_ours, given: tuple[Tensor, ...]) -> None:
    """Compare outputs, and the gradients of the inputs and of all weights of the attention."""
    count = len(as_tuple(call_ours(*given))) + len(given)
    want = results(call_theirs, given, (*given, *theirs.parameters()))
    got = results(call_ours, given, (*given, *ours.parameters()))
    torch.testing.assert_close(got[:count], want[:count])
    names = (name for name, _ in theirs.named_parameters())
    want_weights = rename(dict(zip(names, want[count:], strict=True)))
    got_weights = {name: got[count + i] for i, (name, _) in enumerate(ours.named_parameters())}
    torch.testing.assert_close(got_weights, want_weights)


@pytest.mark.parametrize("length", [1, 5, 7])
@pytest.mark.parametrize("kind", KINDS)
@ATTENTION
def test_agrees_with_bert_on_padded_sequences(kind, length) -> None:
    theirs = new(kind, BertAttention, BertConfig)
    ours, norm = ours_with(from_bert(theirs.state_dict())), theirs.output.LayerNorm
    lengths, x = draw_lengths(length), draw(BATCH, length, WIDTH).requires_grad_()
    own = padding_mask(lengths, length)
    mask = create_bidirectional_mask(theirs.self.config, x, own.flatten(1))

    def call_ours(x: Tensor) -> tuple[Tensor, ...]:
        out = norm(x + ours(x, attn_mask=own))
        return (out, ours.weights(x, attn_mask=own)) if kind == "eager" else (out,)

    def call_theirs(x: Tensor) -> tuple[Tensor, ...]:
        return tuple(out for out in theirs(x, mask) if out is not None)  # sdpa has no weights

    compare(theirs, call_theirs, from_bert, ours, call_ours, (x,))


@pytest.mark.parametrize(("num_queries", "num_keys"), [(3, 5), (7, 3), (1, 6), (6, 1)])
@pytest.mark.parametrize("kind", KINDS)
@ATTENTION
def test_agrees_with_bert_s_cross_attention(kind, num_queries, num_keys) -> None:
    theirs = new(kind, BertAttention, BertConfig, is_cross_attention=True)
    ours, norm = ours_with(from_bert(theirs.state_dict())), theirs.output.LayerNorm
    given = (draw(BATCH, num_queries, WIDTH), draw(BATCH, num_keys, WIDTH, seed=1))
    given = tuple(stream.requires_grad_() for stream in given)
    own = padding_mask(draw_lengths(num_keys), num_keys)
    x, context = given
    mask = create_bidirectional_mask(theirs.self.config, x, own.flatten(1), context)

    def call_theirs(x: Tensor, context: Tensor) -> Tensor:
        return theirs(x, encoder_hidden_states=context, encoder_attention_mask=mask)[0]

    def call_ours(x: Tensor, context: Tensor) -> Tensor:
        return norm(x + ours(x, context, attn_mask=own))

    compare(theirs, call_theirs, from_bert, ours, call_ours, given)


def gpt2_mask(theirs: GPT2Attention, x: Tensor, **options) -> Tensor | None:
    """Return what GPT-2 gives its layers: numbers to add, or nothing where SDPA is told enough."""
    return create_causal_mask(theirs.config, x, **{"past_key_values": None, **options})


@pytest.mark.parametrize("padded", [False, True], ids=["full", "padded"])
@pytest.mark.parametrize("length", [1, 5, 7])
@pytest.mark.parametrize("kind", KINDS)
@ATTENTION
def test_agrees_with_gpt2(kind, length, padded) -> None:
    theirs = new(kind, GPT2Attention, GPT2Config)
    ours = ours_with(from_gpt2(theirs.state_dict()))
    x, real = draw(BATCH, length, WIDTH).requires_grad_(), None
    how: dict = {"is_causal": True}
    if padded:
        real = padding_mask(draw_lengths(length), length)
        how = {"attn_mask": real & causal_mask(length, length)}
    mask = gpt2_mask(theirs, x, attention_mask=None if real is None else real.flatten(1))
    compare(
        theirs, lambda x: theirs(x, attention_mask=mask)[0], from_gpt2,
        ours, lambda x: ours(x, **how), (x,),
    )  # fmt: skip


@pytest.mark.parametrize("length", [1, 5, 7])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.peer(
    "05", "`split_fused_qkv`, `merge_heads`, `multi_head_attention_fused`",
    "GPT-2's fused projection", "float64 1e-7", "outputs, gradients",
)  # fmt: skip
def test_the_fused_projection_is_gpt2_s(kind, length) -> None:
    theirs = new(kind, GPT2Attention, GPT2Config)
    x, see = draw(BATCH, length, WIDTH).requires_grad_(), causal_mask(length, length)
    mask = gpt2_mask(theirs, x, attention_mask=None)

    def call_ours(x: Tensor) -> Tensor:
        heads = split_fused_qkv(theirs.c_attn(x), HEADS)
        return theirs.c_proj(merge_heads(scaled_dot_product_attention(*heads, see)))

    compare(theirs, lambda x: theirs(x, attention_mask=mask)[0], dict, theirs, call_ours, (x,))
    nn.init.zeros_(theirs.c_attn.bias)
    nn.init.zeros_(theirs.c_proj.bias)
    out = multi_head_attention_fused(x, theirs.c_attn.weight, theirs.c_proj.weight, HEADS, see)
    torch.testing.assert_close(out, theirs(x, attention_mask=mask)[0])


@pytest.mark.parametrize(("num_queries", "num_keys"), [(3, 5), (1, 6), (5, 6)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.peer(
    "06", "`causal_mask` with an offset", "GPT-2's attention after a cache", "float64 1e-7",
    "outputs",
)  # fmt: skip
def test_a_causal_mask_with_an_offset_is_gpt2_after_a_cache(kind, num_queries, num_keys) -> None:
    theirs = new(kind, GPT2Attention, GPT2Config)
    ours = ours_with(from_gpt2(theirs.state_dict()))
    x, offset = draw(BATCH, num_keys, WIDTH), num_keys - num_queries
    cache = DynamicCache(config=theirs.config)
    for part in (x[:, :offset].contiguous(), x[:, offset:].contiguous()):
        mask = gpt2_mask(theirs, part, attention_mask=None, past_key_values=cache)
        out = theirs(part, past_key_values=cache, attention_mask=mask)[0]
    see = causal_mask(num_queries, num_keys, offset)
    torch.testing.assert_close(ours(x[:, offset:], x, attn_mask=see), out)
