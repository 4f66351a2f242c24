"""The weights of Hugging Face's DeepSeek V3, taken apart as our parts hold them.

Source: modeling_deepseek_v3.py of https://github.com/huggingface/transformers
Ours / theirs: W_uk, W_uv = the rows of kv_b_proj, head by head;  experts.N.gate, experts.N.up,
    experts.N.down = the matrices N of gate_up_proj and down_proj, or one file entry for each
"""

from collections.abc import Mapping

from torch import Tensor

ATTENTION = {
    "attention.latent": "self_attn",  # W_uk and W_uv
    "attention.latent.q_down": "self_attn.q_a_proj",
    "attention.latent.q_norm": "self_attn.q_a_layernorm",
    "attention.latent.q_proj": "self_attn.q_b_proj",
    "attention.latent.down_proj": "self_attn.kv_a_proj_with_mqa",
    "attention.latent.latent_norm": "self_attn.kv_a_layernorm",
    "attention.latent.out_proj": "self_attn.o_proj",
}
EXPERTS = {
    "feed_forward.router": "mlp.gate",
    **{
        f"feed_forward.experts.#.{one}": f"mlp.experts.#.{one}_proj"
        for one in ("gate", "up", "down")
    },
    **{
        f"feed_forward.shared.{one}": f"mlp.shared_experts.{one}_proj"
        for one in ("gate", "up", "down")
    },
}


def split_latent(theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights with W_uk and W_uv in place of each layer's kv_b_proj.

    Args:
        theirs: The state_dict of a DeepseekV3ForCausalLM.
    """
    found = dict(theirs)
    for name in [name for name in theirs if name.endswith(".kv_b_proj.weight")]:
        stem, both = name.removesuffix("kv_b_proj.weight"), found.pop(name)
        # Of all heads together: the width of the values, then that of keys without rotation.
        values = theirs[f"{stem}o_proj.weight"].shape[1]
        keys = len(both) - values
        d_rope = len(theirs[f"{stem}kv_a_proj_with_mqa.weight"]) - both.shape[1]
        heads = (len(theirs[f"{stem}q_b_proj.weight"]) - keys) // d_rope
        per_head = both.view(heads, -1, both.shape[1]).mT
        found[f"{stem}W_uk"], found[f"{stem}W_uv"] = per_head.split(
            (keys // heads, values // heads), dim=2
        )
    return found


def split_experts(theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights with a matrix for each expert where all were in one tensor.

    Args:
        theirs: The state_dict of a model; files have one entry for each expert already.
    """
    found = dict(theirs)
    for name in [name for name in theirs if name.endswith(".experts.gate_up_proj")]:
        stem = name.removesuffix("gate_up_proj")
        both, down = found.pop(name), found.pop(f"{stem}down_proj")
        for number, (rows, last) in enumerate(zip(both, down, strict=True)):
            parts = dict(zip(("gate", "up"), rows.chunk(2), strict=True)) | {"down": last}
            found |= {f"{stem}{number}.{one}_proj.weight": part for one, part in parts.items()}
    return found
