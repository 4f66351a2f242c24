"""Weights of Hugging Face's DeepSeek V3, Qwen 3-Next and 3.5, Kimi Linear, cut as our parts are.

Source: modeling_deepseek_v3.py, modeling_qwen3_next.py and conversion_mapping.py of
    https://github.com/huggingface/transformers
Ours / theirs: W_uk, W_uv = the rows of kv_b_proj, head by head;  gate = every other d_k rows of
    q_proj;  in_proj_qkv, in_proj_z, in_proj_b, in_proj_a = the rows of in_proj_qkvz and in_proj_ba,
    group by group;  experts.N.gate, .up, .down = the matrices N of gate_up_proj and down_proj
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from course_utils.models.released.families.settings import Config

Weights = Mapping[str, Tensor]
Split = Callable[[Weights, Config], dict[str, Tensor]]

GATED = ("gate", "up", "down")
LATENT = {
    "attention.latent": "self_attn",  # W_uk and W_uv
    "attention.latent.q_down": "self_attn.q_a_proj",
    "attention.latent.q_norm": "self_attn.q_a_layernorm",
    "attention.latent.q_proj": "self_attn.q_b_proj",
    "attention.latent.down_proj": "self_attn.kv_a_proj_with_mqa",
    "attention.latent.latent_norm": "self_attn.kv_a_layernorm",
    "attention.latent.out_proj": "self_attn.o_proj",
}
INDEXED = LATENT | {
    "attention.indexer.query": "self_attn.indexer.wq_b",
    "attention.indexer.key": "self_attn.indexer.wk",
    "attention.indexer.key_norm": "self_attn.indexer.k_norm",
    "attention.indexer.weight": "self_attn.indexer.weights_proj",
}
EXPERTS = {
    "feed_forward.router": "mlp.gate",
    **{f"feed_forward.experts.#.{one}": f"mlp.experts.#.{one}_proj" for one in GATED},
    **{f"feed_forward.shared.{one}": f"mlp.shared_experts.{one}_proj" for one in GATED},
}
QWEN_EXPERTS = EXPERTS | {
    **{f"feed_forward.shared.{one}": f"mlp.shared_expert.{one}_proj" for one in GATED},
    "feed_forward.shared_gate": "mlp.shared_expert_gate",
}
DELTA = {
    "attention.gate": "self_attn.gate_proj",
    "attention.delta": "linear_attn",  # A_log and dt_bias
    "attention.delta.in_proj": "linear_attn.in_proj_qkv",
    "attention.delta.conv": "linear_attn.conv1d",
    "attention.delta.fade": "linear_attn.in_proj_a",
    "attention.delta.write": "linear_attn.in_proj_b",
    "attention.delta.gate": "linear_attn.in_proj_z",
    "attention.delta.norm": "linear_attn.norm",
    "attention.delta.out_proj": "linear_attn.out_proj",
}
KIMI = LATENT | {
    "attention.delta": "linear_attn",
    "attention.delta.in_proj": "linear_attn.in_proj_qkv",
    "attention.delta.conv": "linear_attn.conv1d",
    "attention.delta.fade.0": "linear_attn.f_a_proj",
    "attention.delta.fade.1": "linear_attn.f_b_proj",
    "attention.delta.write": "linear_attn.b_proj",
    "attention.delta.gate.0": "linear_attn.g_a_proj",
    "attention.delta.gate.1": "linear_attn.g_b_proj",
    "attention.delta.norm": "linear_attn.o_norm",
    "attention.delta.out_proj": "linear_attn.o_proj",
}


def split_latent(theirs: Weights, config: Config) -> dict[str, Tensor]:
    """Return the weights with W_uk and W_uv in place of each layer's kv_b_proj.

    Args:
        theirs: The state_dict of a DeepSeek V3.
        config: Its configuration.
    """
    found, widths = dict(theirs), (config["qk_nope_head_dim"], config["v_head_dim"])
    for stem in _stems(theirs, "kv_b_proj.weight"):
        both = found.pop(f"{stem}kv_b_proj.weight")
        per_head = both.unflatten(0, (-1, sum(widths))).mT
        found[f"{stem}W_uk"], found[f"{stem}W_uv"] = per_head.split(widths, dim=2)
        if f"{stem}q_proj.weight" in found:  # queries of the stream itself
            found[f"{stem}q_b_proj.weight"] = found.pop(f"{stem}q_proj.weight")
    return found


def split_experts(theirs: Weights, config: Config) -> dict[str, Tensor]:
    """Return the weights with a matrix for each expert where all were in one tensor.

    Args:
        theirs: The state_dict of a model; files have one entry for each expert already.
        config: Not looked at.
    """
    found = dict(theirs)
    for stem in _stems(theirs, "experts.gate_up_proj"):
        names = f"{stem}experts.gate_up_proj", f"{stem}experts.down_proj"
        both, down = (found.pop(name) for name in names)
        for number, (rows, last) in enumerate(zip(both, down, strict=True)):
            for one, part in zip(GATED, (*rows.chunk(2), last), strict=True):
                found[f"{stem}experts.{number}.{one}_proj.weight"] = part
    return found


def split_gate(theirs: Weights, config: Config) -> dict[str, Tensor]:
    """Return the weights with the gate's rows out of each q_proj: a head has its query, then it.

    Args:
        theirs: The state_dict of a Qwen 3-Next or 3.5.
        config: Its configuration.
    """
    found, d_k = dict(theirs), config["head_dim"]
    for stem in _stems(theirs, "self_attn.q_proj.weight"):
        name = f"{stem}self_attn.q_proj.weight"
        query, gate = found[name].unflatten(0, (-1, 2, d_k)).unbind(1)
        found[name] = query.flatten(0, 1)
        found[f"{stem}self_attn.gate_proj.weight"] = gate.flatten(0, 1)
    return found


def split_delta(theirs: Weights, config: Config) -> dict[str, Tensor]:
    """Return the weights of Qwen 3-Next's delta rule, named and ordered as in Qwen 3.5.

    Args:
        theirs: The state_dict of a Qwen 3-Next: each key head's rows are followed by those of its
            value heads.
        config: Its configuration.
    """
    found, groups = dict(theirs), config["linear_num_key_heads"]
    heads = config["linear_num_value_heads"] // groups
    d_k, d_v = config["linear_key_head_dim"], heads * config["linear_value_head_dim"]
    for stem in _stems(theirs, "in_proj_qkvz.weight"):
        rows = found.pop(f"{stem}in_proj_qkvz.weight").unflatten(0, (groups, -1))
        *mixed, gate = (part.flatten(0, 1) for part in rows.split((d_k, d_k, d_v, d_v), dim=1))
        found[f"{stem}in_proj_qkv.weight"] = torch.cat(mixed)
        found[f"{stem}in_proj_z.weight"] = gate
        both = found.pop(f"{stem}in_proj_ba.weight").unflatten(0, (groups, 2, heads))
        for number, one in enumerate("ba"):
            found[f"{stem}in_proj_{one}.weight"] = both[:, number].flatten(0, 1)
    return found


def name_kimi(theirs: Weights, config: Config) -> dict[str, Tensor]:
    """Return Kimi Linear's weights under names by which its two kinds of attention differ.

    Args:
        theirs: The state_dict of a Kimi Linear; files have some names that the model has not.
        config: Not looked at.
    """
    found = {}
    states = tuple(f"{stem}self_attn." for stem in _stems(theirs, "self_attn.b_proj.weight"))
    for name, weight in theirs.items():
        name = name.replace(".block_sparse_moe.", ".mlp.").replace(".forget_gate.", ".")
        for old, new in zip((".w1.", ".w3.", ".w2."), GATED, strict=True):
            name = name.replace(old, f".{new}_proj.")
        own = states and name.startswith(states)
        found[name.replace(".self_attn.", ".linear_attn.") if own else name] = weight
    for stem in _stems(found, "linear_attn.b_proj.weight"):
        for old, new in (("proj", "in_proj_qkv"), ("conv1d", "conv1d")):
            names = [f"{stem}linear_attn.{role}_{old}.weight" for role in "qkv"]
            if names[0] in found:  # in the model, the three convolutions are one
                joined = torch.cat([found.pop(name) for name in names])
                found[f"{stem}linear_attn.{new}.weight"] = joined
    return found


def _stems(theirs: Weights, name: str) -> list[str]:
    """Return what stands before this name, wherever it is the end of a weight's name."""
    return [one.removesuffix(name) for one in theirs if one.endswith(f".{name}")]
