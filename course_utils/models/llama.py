"""Llama: the same model with other parts, and the weights of Hugging Face's both ways.

Source: Touvron et al. 2023, LLaMA: Open and Efficient Foundation Language Models, section 2.2,
    https://arxiv.org/abs/2302.13971; modeling_llama.py of
    https://github.com/huggingface/transformers
Ours / theirs: in_proj = q_proj, k_proj and v_proj as rows of one matrix;  gate, up, down =
    gate_proj, up_proj, down_proj
Differs: theirs rounds angles and norms to float32, whatever the dtype of the model
Same contract as: LlamaForCausalLM with the base 10000
"""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.models._weight_names import renamed, turned_round
from course_utils.models.gpt import GPT
from course_utils.models.gpt_layer import linear
from course_utils.validation import (
    check_instance,
)

AROUND = {"token": "model.embed_tokens", "last_norm": "model.norm", "out": "lm_head"}
IN_LAYER = {
    "attention_norm": "input_layernorm",
    **{f"attention.{role}": f"self_attn.{role}_proj" for role in "qkv"},
    "attention.out_proj": "self_attn.o_proj",
    "feed_forward_norm": "post_attention_layernorm",
    "feed_forward.gate": "mlp.gate_proj",
    "feed_forward.up": "mlp.up_proj",
    "feed_forward.down": "mlp.down_proj",
}


class Llama(GPT):
    """A GPT with RoPE, RMSNorm, gated feed-forward layers and no biases.

    Args:
        num_tokens: Size of the vocabulary.
        **sizes: As GPT takes them; d_ff is about 8/3 · d_model in the source.
    """

    bias = False

    def __init__(self, num_tokens: int, **sizes: Any) -> None:
        super().__init__(num_tokens, positions="rope", **sizes)

    def _norm(self, d_model: int) -> nn.Module:
        return nn.RMSNorm(d_model, eps=1e-6)

    def _feed_forward(self, d_model: int, d_ff: int) -> nn.Module:
        return _Gated(d_model, d_ff)


def from_llama(theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return what `Llama(...).load_state_dict` takes.

    Args:
        theirs: The state_dict of a LlamaForCausalLM.

    Raises:
        ValueError: A weight is not one of such a model.
    """
    check_instance(Mapping, theirs=theirs)
    layers = ("model.layers", "layers")
    found = renamed(theirs, turned_round(AROUND), layers, turned_round(IN_LAYER))
    biases = [name for name in theirs if name.endswith(".bias")]
    if biases:
        raise ValueError(f"weights must be those of a Llama, without biases, got {biases[0]!r}")
    for query in [name for name in found if name.endswith("attention.q.weight")]:
        stem = query.removesuffix("q.weight")
        roles = [found.pop(f"{stem}{role}.weight") for role in "qkv"]
        found[f"{stem}in_proj.weight"] = torch.cat(roles)
    return found


def to_llama(ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return what `LlamaForCausalLM(config).load_state_dict` takes.

    Args:
        ours: The state_dict of a Llama.

    Raises:
        ValueError: A weight is not one of such a model.
    """
    check_instance(Mapping, ours=ours)
    parts = dict(ours)
    for name in [name for name in ours if name.endswith("attention.in_proj.weight")]:
        joined, stem = parts.pop(name), name.removesuffix("in_proj.weight")
        queries = joined.shape[1]  # as many rows as the stream is wide
        shared = (len(joined) - queries) // 2
        roles = joined.split((queries, shared, shared))
        parts |= {f"{stem}{role}.weight": part for role, part in zip("qkv", roles, strict=True)}
    return renamed(parts, AROUND, ("layers", "model.layers"), IN_LAYER)


class _Gated(nn.Module):
    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.gate, self.up = (linear(d_model, d_ff, bias=False) for _ in range(2))
        self.down = linear(d_ff, d_model, bias=False)

    def forward(self, x: Float[Tensor, "B T d_model"]) -> Float[Tensor, "B T d_model"]:
        return self.down(F.silu(self.gate(x)) * self.up(x))  # type: ignore[no-any-return]
