"""The weights of Hugging Face's Llama, and of its descendants, under our names, and back.

Source: modeling_llama.py and its siblings of https://github.com/huggingface/transformers
Ours / theirs: in_proj = q_proj, k_proj and v_proj as rows of one matrix;  gate, up, down =
    gate_proj, up_proj, down_proj, of which Phi-3 has the first two as rows of one matrix
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from course_utils.models.released import split_weights
from course_utils.models.released._weight_names import renamed, turned_round
from course_utils.models.released.families.settings import Config
from course_utils.validation import check_instance

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
HEAD_NORMS = {"attention.query_norm": "self_attn.q_norm", "attention.key_norm": "self_attn.k_norm"}
SANDWICH = {
    "attention_norm_after": "post_attention_layernorm",
    "feed_forward_norm": "pre_feedforward_layernorm",
    "feed_forward_norm_after": "post_feedforward_layernorm",
}
AFTER = IN_LAYER | {
    "attention_norm": "post_attention_layernorm",
    "feed_forward_norm": "post_feedforward_layernorm",
}
JOINED = IN_LAYER | {
    "attention.in_proj": "self_attn.qkv_proj",
    "feed_forward.gate_up": "mlp.gate_up_proj",
}
EXPERTS = {
    "attention.attend": "self_attn",  # its sinks
    "feed_forward.router": "mlp.router",
    "feed_forward.experts": "mlp.experts",
}
FAMILY_NAMES = {
    "llama": IN_LAYER,
    "mistral": IN_LAYER,
    "qwen2": IN_LAYER,
    "qwen3": IN_LAYER | HEAD_NORMS,
    "gemma2": IN_LAYER | SANDWICH,
    "gemma3_text": IN_LAYER | SANDWICH | HEAD_NORMS,
    "gpt_oss": IN_LAYER | EXPERTS,
    "olmo2": AFTER | HEAD_NORMS,
    "olmo3": AFTER | HEAD_NORMS,
    "smollm3": IN_LAYER,
    "phi3": JOINED,
    "gemma4_text": IN_LAYER | SANDWICH | HEAD_NORMS | {"": ""},  # the layer's scalar
    "deepseek_v3": IN_LAYER | split_weights.LATENT | split_weights.EXPERTS,
    "deepseek_v32": IN_LAYER | split_weights.INDEXED | split_weights.EXPERTS,
    "kimi_linear": IN_LAYER | split_weights.KIMI | split_weights.EXPERTS,
    "qwen3_next": IN_LAYER | HEAD_NORMS | split_weights.DELTA | split_weights.QWEN_EXPERTS,
    "qwen3_5_text": IN_LAYER | HEAD_NORMS | split_weights.DELTA,
}
"""Names of each layer's weights, by `model_type`."""
SPLITS: dict[str, tuple[split_weights.Split, ...]] = {
    "deepseek_v3": (split_weights.split_latent, split_weights.split_experts),
    "deepseek_v32": (split_weights.split_latent, split_weights.split_experts),
    "kimi_linear": (
        split_weights.name_kimi, split_weights.split_latent, split_weights.split_experts,
    ),
    "qwen3_next": (
        split_weights.split_gate, split_weights.split_delta, split_weights.split_experts,
    ),
    "qwen3_5_text": (split_weights.split_gate,),
}  # fmt: skip
"""Functions that take a family's weights apart before they get their names, by `model_type`."""


def from_llama(theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return what `Llama(...).load_state_dict` takes.

    Args:
        theirs: The state_dict of a LlamaForCausalLM.

    Raises:
        ValueError: A weight is not one of such a model.
    """
    check_instance(Mapping, theirs=theirs)
    biases = [name for name in theirs if name.endswith(".bias")]
    if biases:
        raise ValueError(f"weights must be those of a Llama, without biases, got {biases[0]!r}")
    return from_family(theirs, {"model_type": "llama"})


def from_family(theirs: Mapping[str, Tensor], config: Config) -> dict[str, Tensor]:
    """Return what `Llama(..., design=...).load_state_dict` takes.

    Args:
        theirs: The state_dict of a model of transformers.
        config: Its configuration: `model_type`, and the widths by which some are taken apart.

    Raises:
        ValueError: A weight is not one of such a model.
    """
    family = config["model_type"]
    for split in SPLITS.get(family, ()):
        theirs = split(theirs, config)
    names = turned_round(FAMILY_NAMES[family])
    found = renamed(theirs, turned_round(AROUND), ("model.layers", "layers"), names)
    for query in [name for name in found if ".attention.q." in name]:
        names_of_all = [query.replace(".q.", f".{role}.") for role in "qkv"]
        roles = [found.pop(name) for name in names_of_all if name in found]  # keys may be values
        found[query.replace(".q.", ".in_proj.")] = torch.cat(roles)
    for both in [name for name in found if ".feed_forward.gate_up." in name]:
        gate, up = found.pop(both).chunk(2)
        found |= {both.replace("gate_up", "gate"): gate, both.replace("gate_up", "up"): up}
    return found


def to_llama(ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return what `LlamaForCausalLM(config).load_state_dict` takes.

    Args:
        ours: The state_dict of a Llama, without a design.

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
