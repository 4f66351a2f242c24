"""Multi-head attention as other libraries write it, with the weights of the course's module.

Every peer is called the way in which it is fastest.
"""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing here comes from the network

import torch
from torch import Tensor, nn
from transformers import GPT2Config
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention
from x_transformers.x_transformers import Attention

from course_utils.attention import MultiHeadAttention

WIDTH, HEADS = 512, 8
OURS = ("ours", "ours, no bias")
Call = Callable[[Tensor], Tensor]


def ours(bias: bool) -> MultiHeadAttention:
    """Return the course's module; the biases are not zero, so that they count in the agreement."""
    torch.manual_seed(0)
    module = MultiHeadAttention(WIDTH, HEADS, bias=bias)
    for name, parameter in module.named_parameters():
        if "bias" in name:
            nn.init.normal_(parameter, std=0.1)
    return module


def torch_module(weights: Mapping[str, Tensor]) -> nn.MultiheadAttention:
    """Return PyTorch's module with our weights."""
    module = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    module.load_state_dict(weights)
    return module


def gpt2(weights: Mapping[str, Tensor], kind: str) -> GPT2Attention:
    """Return Hugging Face's GPT-2 attention with our weights, which it keeps transposed."""
    config = GPT2Config(
        n_embd=WIDTH, n_head=HEADS, attn_pdrop=0.0, resid_pdrop=0.0, attn_implementation=kind
    )
    module = GPT2Attention(config, layer_idx=0)
    module.c_attn.weight.data = weights["in_proj_weight"].T.contiguous()
    module.c_attn.bias.data = weights["in_proj_bias"].clone()
    module.c_proj.weight.data = weights["out_proj.weight"].T.contiguous()
    module.c_proj.bias.data = weights["out_proj.bias"].clone()
    return module


def x_transformers(weights: Mapping[str, Tensor], causal: bool, flash: bool) -> Attention:
    """Return the attention of x-transformers with our weights."""
    module = Attention(WIDTH, heads=HEADS, dim_head=WIDTH // HEADS, causal=causal, flash=flash)
    layers = (module.to_q, module.to_k, module.to_v)
    for layer, part in zip(layers, weights["in_proj_weight"].chunk(3), strict=True):
        layer.weight.data = part.clone()
    module.to_out.weight.data = weights["out_proj.weight"].clone()
    return module


def candidates(causal: bool, length: int) -> dict[str, tuple[nn.Module, Call]]:
    """Return each module and how it is called; ours come first."""
    own = [ours(bias) for bias in (True, False)]
    with_bias, without = (module.state_dict() for module in own)
    theirs = torch_module(with_bias)
    # In numbers to add: given a boolean mask, PyTorch's module takes a way that holds the weights.
    later = nn.Transformer.generate_square_subsequent_mask(length) if causal else None
    masked = {"attn_mask": later, "is_causal": causal}
    found: dict[str, tuple[nn.Module, Call]] = {
        name: (module, partial(module, is_causal=causal))
        for name, module in zip(OURS, own, strict=True)
    }
    for wanted in (False, True):
        name = f"nn.MultiheadAttention, need_weights={wanted}"
        found[name] = theirs, first(theirs, 3, need_weights=wanted, **masked)
    if causal:
        for kind, mask in (("sdpa", None), ("eager", later)):
            peer = gpt2(with_bias, kind)
            found[f"Hugging Face's GPT-2, {kind}"] = peer, first(peer, 1, attention_mask=mask)
    for kind in ("flash", "plain"):
        peer = x_transformers(without, causal, flash=kind == "flash")
        found[f"x-transformers, {kind}"] = peer, peer
    return found


def first(module: nn.Module, streams: int, **options: Any) -> Call:
    """Return a call that gives the stream as often as the module asks, and keeps the output."""
    return lambda x: module(*[x] * streams, **options)[0]
