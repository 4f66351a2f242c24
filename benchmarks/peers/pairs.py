"""Pairs that `make bench` compares: ours and a peer, the same work, and what we aim at.

Each pair is made by a function that returns the calls, ours first; the first peer is the one that
the aim speaks of, the others stand beside it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.timing import Call

Calls = dict[str, Call]


@dataclass(frozen=True)
class Pair:
    """One comparison.

    Attributes:
        name: What it is called on the command line and in the record.
        chapter: The chapter that builds ours.
        says: What is compared, as a reader of the table sees it.
        calls: Makes the calls, ours first.
        aim: What peer's time / our time should be at least.
    """

    name: str
    chapter: int
    says: str
    calls: Callable[[], Calls]
    aim: float


def softmax_attention() -> Calls:
    """Attention that returns its weights, beside torch's own that does."""
    from course_utils.attention import attention_weights

    q, k, v = torch.randn(3, 1, 8, 1024, 64, generator=torch.Generator().manual_seed(0))
    # The operator behind F.scaled_dot_product_attention that forms the weights and returns them.
    theirs = torch.ops.aten._scaled_dot_product_attention_math

    def ours() -> object:
        weights = attention_weights(q, k)
        return weights @ v, weights

    return {"ours": ours, "torch's SDPA, weights returned": partial(theirs, q, k, v)}


def one_query() -> Calls:
    """One query over 16 keys: microseconds, so what counts is each check and each small step."""
    from course_utils.attention import scaled_dot_product_attention

    q = torch.randn(1, 8, 1, 64, generator=torch.Generator().manual_seed(0))
    k, v = torch.randn(2, 1, 8, 16, 64, generator=torch.Generator().manual_seed(1))
    return {
        "ours": partial(scaled_dot_product_attention, q, k, v),
        "softmax(q @ k.mT / √d_k) @ v": lambda: torch.softmax(q @ k.mT / 64**0.5, -1) @ v,
        "torch's SDPA": partial(F.scaled_dot_product_attention, q, k, v),
    }


def multi_head(length: int, weights: bool) -> Calls:
    """Multi-head attention, beside nn.MultiheadAttention with the same weights."""
    from course_utils.attention import MultiHeadAttention, attention_weights, split_heads

    torch.manual_seed(0)
    ours = MultiHeadAttention(512, 8).eval()
    theirs = nn.MultiheadAttention(512, 8, batch_first=True).eval()
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(1, length, 512)
    if not weights:
        peer = partial(theirs, x, x, x, need_weights=False)
        return {"ours": partial(ours, x), "nn.MultiheadAttention": peer}

    def with_weights() -> object:
        fused = F.linear(x, ours.in_proj_weight, ours.in_proj_bias)
        q, k, v = (split_heads(part, 8) for part in fused.chunk(3, dim=-1))
        kept = attention_weights(q, k)
        return ours.out_proj((kept @ v).transpose(1, 2).flatten(2)), kept

    peer = partial(theirs, x, x, x, need_weights=True, average_attn_weights=False)

    def step_by_step() -> object:
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            return peer()
        finally:
            torch.backends.mha.set_fastpath_enabled(True)

    return {
        "ours": with_weights,
        "nn.MultiheadAttention, as in training": step_by_step,
        "nn.MultiheadAttention, one fused operator": peer,
    }


def hugging_face(kind: str) -> Calls:
    """Causal multi-head attention, beside that of Hugging Face's GPT-2 on the same weights."""
    from benchmarks.peers.multi_head_peers import candidates

    length = 1024
    x = torch.randn(1, length, 512, generator=torch.Generator().manual_seed(1))
    found = candidates(True, length)
    picked = {"ours": found["ours"], kind: found[kind]}
    for module, _ in picked.values():
        module.eval()
    return {name: partial(call, x) for name, (_, call) in picked.items()}


def window() -> Calls:
    """A window of 128 keys over 16,384 tokens."""
    import shutil

    from benchmarks.chapters.ch08.chapter_08_cheaper import flex_call
    from benchmarks.peers.cheaper_variants import inputs
    from course_utils.attention import sliding_window_attention, window_mask

    length = 16384
    q, k, v = inputs(length)
    sdpa = partial(F.scaled_dot_product_attention, q, k, v)
    calls: Calls = {
        "ours": partial(sliding_window_attention, q, k, v, 128),
        "torch's SDPA, causal": partial(sdpa, is_causal=True),
        "torch's SDPA, window as a mask": partial(sdpa, attn_mask=window_mask(length, length, 128)),
    }
    if shutil.which("g++"):
        calls["FlexAttention, compiled"] = flex_call(length, 128)
    return calls


def linear() -> Calls:
    """Causal linear attention over 8,192 tokens."""
    from benchmarks.peers.cheaper_variants import variants

    found = variants(8192)
    names = {
        "ours": "causal linear, chunks",
        "torch's SDPA, causal": "SDPA, causal",
        "a running sum of states": "causal linear, all states",
    }
    return {name: found[one] for name, one in names.items()}


def grouped_decode() -> Calls:
    """One new token over 2,048 cached ones, 16 query heads, 4 of keys and values."""
    from benchmarks.chapters.ch08.chapter_08_cheaper import repeated
    from benchmarks.peers.cheaper_variants import inputs
    from course_utils.attention import grouped_query_attention

    query, key, value = inputs(2048, 16)
    q, k, v = query[:, :, -1:], key[:, :4].clone(), value[:, :4].clone()
    return {
        "ours": partial(grouped_query_attention, q, k, v),
        "all 16 heads, torch's SDPA": partial(F.scaled_dot_product_attention, q, key, value),
        "torch's enable_gqa": partial(F.scaled_dot_product_attention, q, k, v, enable_gqa=True),
        "repeat_interleave": partial(repeated, q, k, v),
    }


def tiled(ours: str, is_causal: bool, training: bool = False) -> Calls:
    """Tiled attention over 4,096 tokens, beside torch's own."""
    from benchmarks.chapters.ch09.chapter_09_tiled import inputs, trained, ways

    length = 4096
    given, found = inputs(length), ways(length, is_causal)

    def call(name: str) -> Call:
        return trained(found[name], given) if training else partial(found[name], *given[:3])

    return {"ours": call(ours), "SDPA": call("SDPA")}


def tiled_beside_whole() -> Calls:
    """Tiled attention over 4,096 tokens, beside ways that form the whole table of scores."""
    from benchmarks.chapters.ch09.chapter_09_tiled import inputs, ways

    q, k, v, _ = inputs(4096)
    found = ways(4096, is_causal=False)
    return {
        "ours": partial(found["tiled"], q, k, v),
        "softmax(q @ k.mT / √d_k) @ v": lambda: (
            torch.softmax(q @ k.mT / k.shape[-1] ** 0.5, -1) @ v
        ),
        "chapter 03's, in place": partial(found["written out"], q, k, v),
    }


def generation(*size: int) -> Calls:
    """A whole greedy text, beside transformers' generate with either of its caches."""
    from benchmarks.chapters.ch10.chapter_10_decode import generations

    calls = generations(*size)
    return {"ours": calls["ours"], "transformers, dynamic cache": calls["dynamic"],
            "transformers, static cache": calls["static"]}  # fmt: skip


def encoder_layer(training: bool) -> Calls:
    """A post-norm encoder layer with GELU, beside torch's and BERT's of the same sizes."""
    from transformers import BertConfig
    from transformers.models.bert.modeling_bert import BertLayer

    from course_utils.models import EncoderLayer

    torch.manual_seed(0)
    width, heads, d_ff = 256, 4, 1024
    theirs = nn.TransformerEncoderLayer(width, heads, d_ff, 0.0, "gelu", batch_first=True)
    ours = EncoderLayer(width, heads, d_ff, pre_norm=False, activation="gelu")
    ours.load_state_dict(theirs.state_dict())
    bert = BertLayer(BertConfig(
        hidden_size=width, num_attention_heads=heads, intermediate_size=d_ff,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="sdpa",
    ), layer_idx=0)  # fmt: skip
    x = torch.randn(1, 1024, width)
    layers = {"ours": ours, "nn.TransformerEncoderLayer": theirs, "Hugging Face's BertLayer": bert}
    if not training:
        return {name: partial(layer.eval(), x) for name, layer in layers.items()}

    def step(layer: nn.Module) -> Call:
        leaves = [x.clone().requires_grad_(), *layer.parameters()]
        return lambda: torch.autograd.grad(layer(leaves[0]).sum(), leaves)

    return {name: step(layer) for name, layer in layers.items()}


PAIRS = (
    Pair("one-query", 3, "one query, 16 keys", one_query, 1 / 5),
    Pair("sdpa-weights", 3, "attention with its weights, 1,024 tokens", softmax_attention, 1 / 1.1),
    Pair("mha-weights", 5, "multi-head attention with its weights, 1,024 tokens",
         partial(multi_head, 1024, True), 1 / 1.1),
    Pair("mha", 5, "multi-head attention, 1,024 tokens", partial(multi_head, 1024, False), 1.5),
    Pair("mha-long", 5, "multi-head attention, 4,096 tokens",
         partial(multi_head, 4096, False), 1.5),
    Pair("gpt2-attention", 5, "causal multi-head attention, 1,024 tokens",
         partial(hugging_face, "Hugging Face's GPT-2, sdpa"), 1 / 1.05),
    Pair("window", 8, "a window of 128 keys, 16,384 tokens", window, 15),
    Pair("linear", 8, "causal linear attention, 8,192 tokens", linear, 7),
    Pair("grouped-decode", 8, "one new token, 4 of 16 heads, 2,048 cached",
         grouped_decode, 1 / 0.35),
    Pair("tiled", 9, "tiled, read like the algorithm, 4,096 tokens",
         partial(tiled, "tiled", False), 1 / 2.0),
    Pair("tiled-naive", 9, "the same beside the whole table of scores", tiled_beside_whole, 2),
    Pair("recomputed", 9, "tiled in place, 4,096 tokens",
         partial(tiled, "recomputed", False), 1 / 1.25),
    Pair("recomputed-causal", 9, "the same, causal",
         partial(tiled, "recomputed", True), 1 / 1.4),
    Pair("recomputed-training", 9, "forward and backward, 4,096 tokens",
         partial(tiled, "recomputed", False, True), 1 / 1.7),
    Pair("generate-128", 10, "256 tokens from a GPT of width 128",
         partial(generation, 128, 2, 4, 1000, 1, 256), 1.8),
    Pair("generate-256", 10, "256 tokens from a GPT of width 256",
         partial(generation, 256, 4, 8, 1000, 1, 256), 1.8),
    Pair("generate-768", 10, "48 tokens from a GPT as large as GPT-2 small",
         partial(generation, 768, 12, 12, 50257, 1, 48), 1.0),
    Pair("encoder-layer", 11, "an encoder layer, width 256, 1,024 tokens",
         partial(encoder_layer, False), 1 / 1.05),
    Pair("encoder-layer-training", 11, "the same, forward and backward",
         partial(encoder_layer, True), 1 / 1.05),
)  # fmt: skip
