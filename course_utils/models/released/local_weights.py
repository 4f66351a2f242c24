"""GPT-2 or a kind of Llama from a local folder, as Hugging Face's `save_pretrained` makes it.

No chapter needs it. Anyone with such a folder, for example of gpt2 or a Qwen 3, can look at real
weights with the same tools; nothing is fetched.

Source: configuration_gpt2.py and configuration_llama.py of
    https://github.com/huggingface/transformers
Ours / theirs: d_model, num_heads, num_layers, max_length, d_ff = n_embd, n_head, n_layer,
    n_positions, n_inner (GPT-2); hidden_size, ..., max_position_embeddings, intermediate_size
Differs: what our models do not have is refused by name, not ignored
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from course_utils.models.gpt.gpt import GPT
from course_utils.models.released.families.llama_config import MODEL_TYPES, read_design
from course_utils.models.released.families.settings import check_settings
from course_utils.models.released.gpt2_weights import from_gpt2
from course_utils.models.released.llama import Llama
from course_utils.models.released.llama_weights import from_family

INDEX = "model.safetensors.index.json"  # if the weights are spread over several files
# Settings that would make a model unlike ours; if left out, they have these values.
GPT2_ONLY = {
    "activation_function": ("gelu_new", "gelu_pytorch_tanh"),
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "add_cross_attention": (False,),
}
LENGTH = {"kimi_linear": "model_max_length"}  # where it has another name
BUFFERS = re.compile(r"\.attn\.(bias|masked_bias)$|rotary_emb\.inv_freq$")  # of older files


def from_folder(folder: str | Path) -> GPT:
    """Return the model that a folder holds, in the dtype of its weights, ready for reading.

    Args:
        folder: Holds config.json and the weights as safetensors, in one file or in several.

    Raises:
        FileNotFoundError: A file is missing.
        ValueError: A file is damaged, or it is another kind of model, or one with settings that
            ours does not have.
    """
    config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    kind = config.get("model_type")
    if kind != "gpt2" and kind not in MODEL_TYPES:
        known = ", ".join(sorted({"gpt2", *MODEL_TYPES}))
        raise ValueError(f"model_type must be one of {known}, got {kind!r}")
    weights = {k: v for k, v in _read(Path(folder)).items() if not BUFFERS.search(k)}
    model, named = (_gpt2 if kind == "gpt2" else _llama)(config, weights)
    model = model.to(next(iter(weights.values())).dtype)
    try:
        model.load_state_dict(named)
    except RuntimeError as error:
        raise ValueError(f"weights must be those that config.json describes: {error}") from error
    return model.eval()


def _read(folder: Path) -> dict[str, Tensor]:
    names = {"model.safetensors"}
    if (folder / INDEX).exists():
        names = set(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values())
    found: dict[str, Tensor] = {}
    for name in sorted(names):
        try:
            found |= load_file(folder / name)
        except SafetensorError as error:
            raise ValueError(f"{name} must be a whole file of safetensors: {error}") from error
    return found


def _gpt2(config: Mapping[str, Any], weights: dict[str, Tensor]) -> tuple[GPT, dict[str, Tensor]]:
    check_settings(config, GPT2_ONLY)
    model = GPT(
        config["vocab_size"], d_model=config["n_embd"], num_heads=config["n_head"],
        num_layers=config["n_layer"], max_length=config["n_positions"], d_ff=config.get("n_inner"),
    )  # fmt: skip
    for part in model.modules():
        if isinstance(part, nn.LayerNorm):
            part.eps = config.get("layer_norm_epsilon", 1e-5)
    if not any(name.startswith("transformer.") for name in weights):  # as published
        head = {name: weights.pop(name) for name in ("lm_head.weight",) if name in weights}
        weights = {f"transformer.{name}": one for name, one in weights.items()} | head
    weights.setdefault("lm_head.weight", weights["transformer.wte.weight"])
    return model, from_gpt2(weights)


def _llama(config: Mapping[str, Any], weights: dict[str, Tensor]) -> tuple[GPT, dict[str, Tensor]]:
    length = config[LENGTH.get(config["model_type"], "max_position_embeddings")]
    model = Llama(
        config["vocab_size"], design=read_design(config), d_model=config["hidden_size"],
        num_heads=config["num_attention_heads"], num_layers=config["num_hidden_layers"],
        max_length=length, d_ff=config["intermediate_size"],
        num_kv_heads=config.get("num_key_value_heads"),
    )  # fmt: skip
    weights.setdefault("lm_head.weight", weights["model.embed_tokens.weight"])
    return model, from_family(weights, config)
