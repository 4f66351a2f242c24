"""The released model, made from its file: weights under our names, and the tokenizer beside them.

Source: SmolLM2-135M-Instruct, Allal et al. 2025, SmolLM2: When Smol Goes Big,
    https://arxiv.org/abs/2502.02737; names of fields and tensors: docs/gguf.md of
    https://github.com/ggml-org/ggml
Ours / theirs: num_heads, num_kv_heads, num_layers, d_ff = attention.head_count,
    attention.head_count_kv, block_count, feed_forward_length
Differs: rows of queries and keys are in halves, as in transformers; the file has them in pairs
Same contract as: LlamaForCausalLM with the file's weights
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from course_utils.data.byte_level import ByteLevelTokenizer, merge_by_rank
from course_utils.model_file import required_model
from course_utils.models.gpt.layer import laid_out
from course_utils.models.released.gguf.gguf_file import GGUFFile, read_gguf
from course_utils.models.released.given_parts import Functions, given_design
from course_utils.models.released.llama import Llama
from course_utils.positions import RotaryPositions, to_split_halves

CONTROL = 3  # the type of a token that stands for itself
TRANSPOSED = ".T"  # behind the name of a weight that the converted file holds by columns
AROUND = {"token_embd": "token", "output_norm": "last_norm", "output": "out"}
IN_LAYER = {
    "attn_norm": "attention_norm", "attn_output": "attention.out_proj",
    "ffn_norm": "feed_forward_norm", "ffn_gate": "feed_forward.gate",
    "ffn_up": "feed_forward.up", "ffn_down": "feed_forward.down",
}  # fmt: skip


class Released(NamedTuple):
    """A released model and its tokenizer.

    Attributes:
        model: Reads and scores tokens.
        tokenizer: Turns text into its tokens and back.
    """

    model: Llama
    tokenizer: ByteLevelTokenizer


def model(functions: Functions | None = None) -> Released:
    """Return the released model that the course fetches, and its tokenizer.

    Where `python -m course_utils model --convert` has written its weights in float32 beside the
    file, they are mapped: then several processes share one copy of them.

    Args:
        functions: Functions to be used instead of the course's, by their names: merge_by_rank, and
            those of `given_design`.

    Raises:
        ModelFileError: The file is not there, or it is damaged; the message says what to do.
    """
    path = required_model()
    return from_gguf(read_gguf(path), converted_path(path), functions)


def from_gguf(
    file: GGUFFile, converted: Path | None = None, functions: Functions | None = None
) -> Released:
    """Return the model and the tokenizer that a file of Llama's kind describes.

    Args:
        file: What `read_gguf` returns.
        converted: Its weights as `convert` writes them; they are mapped where it exists.
        functions: As `model` takes them.

    Raises:
        ValueError: The file is one of another architecture, or a tensor is missing.
    """
    mapped = converted is not None and converted.exists()
    weights = _mapped(converted) if mapped and converted else _laid_out(named_weights(file))
    weights.setdefault("out.weight", weights["token.weight"])
    made = _empty(file.fields, functions or {})
    made.load_state_dict(weights, assign=True)
    if "output.weight" not in file.tensors:  # one matrix for both
        made.out.weight = made.token.weight
    return Released(made.requires_grad_(False).eval(), tokenizer(file, functions))


def tokenizer(file: GGUFFile, functions: Functions | None = None) -> ByteLevelTokenizer:
    """Return the tokenizer that a file's fields describe; it may merge with a given function."""
    read = file.fields.__getitem__
    tokens, types = read("tokenizer.ggml.tokens"), read("tokenizer.ggml.token_type")
    merges = (tuple(pair.split(" ")) for pair in read("tokenizer.ggml.merges"))
    special = (token for token, kind in zip(tokens, types, strict=True) if kind == CONTROL)
    merge = (functions or {}).get("merge_by_rank", merge_by_rank)
    return ByteLevelTokenizer(tokens, merges, special, merge)


def named_weights(file: GGUFFile) -> Iterator[tuple[str, Tensor]]:
    """Yield the weights in float32 under the names that `Llama` has for them."""
    settings = _settings(file.fields)
    heads = {"q": settings["num_heads"], "k": settings["num_kv_heads"]}
    for theirs, ours in AROUND.items():
        if f"{theirs}.weight" in file.tensors:
            yield f"{ours}.weight", _read(file, f"{theirs}.weight")
    for number in range(settings["num_layers"]):
        roles = {role: _read(file, f"blk.{number}.attn_{role}.weight") for role in "qkv"}
        halves = [to_split_halves(roles[role], heads[role], dim=0) for role in "qk"]
        yield f"layers.{number}.attention.in_proj.weight", torch.cat([*halves, roles["v"]])
        for theirs, ours in IN_LAYER.items():
            yield f"layers.{number}.{ours}.weight", _read(file, f"blk.{number}.{theirs}.weight")


def converted_path(path: Path) -> Path:
    """Return where the weights in float32 lie beside a file, or would."""
    return path.with_suffix(".float32.safetensors")


def convert() -> Path:
    """Write the released model's weights in float32, to be mapped by many processes at once.

    Returns:
        Where they lie; 538 MB.

    Raises:
        ModelFileError: The model's file is not there, or it is damaged.
    """
    path = required_model()
    target = converted_path(path)
    new = target.with_suffix(".new")
    weights = _laid_out(named_weights(read_gguf(path)))
    save_file(dict(_as_rows(name, one) for name, one in weights.items()), new)
    new.chmod(path.stat().st_mode)  # for all who can read the file
    return new.replace(target)


def _settings(fields: Mapping[str, Any]) -> dict[str, Any]:
    if fields.get("general.architecture") != "llama":
        raise ValueError(
            f"the architecture must be 'llama', got {fields.get('general.architecture')!r}"
        )
    names = {
        "d_model": "embedding_length", "num_heads": "attention.head_count",
        "num_kv_heads": "attention.head_count_kv", "num_layers": "block_count",
        "d_ff": "feed_forward_length", "max_length": "context_length",
    }  # fmt: skip
    return {ours: fields[f"llama.{theirs}"] for ours, theirs in names.items()}


def _empty(fields: Mapping[str, Any], functions: Functions) -> Llama:
    """Return the model without memory for weights, which are assigned to it."""
    base, eps = fields["llama.rope.freq_base"], fields["llama.attention.layer_norm_rms_epsilon"]
    rope = RotaryPositions(fields["llama.rope.dimension_count"], base)
    given = given_design(functions, lambda d_k: rope, eps=eps, base=base)
    with torch.device("meta"):
        return Llama(len(fields["tokenizer.ggml.tokens"]), **given, **_settings(fields))


def _read(file: GGUFFile, name: str) -> Tensor:
    if name not in file.tensors:
        raise ValueError(f"the file must hold the tensor {name}, got {len(file.tensors)} others")
    return file.tensors[name].weights()


def _laid_out(weights: Iterable[tuple[str, Tensor]]) -> dict[str, Tensor]:
    return {name: laid_out(one) if one.dim() == 2 else one for name, one in weights}


def _as_rows(name: str, weight: Tensor) -> tuple[str, Tensor]:
    """Return a weight as the file of converted ones takes it: contiguous, perhaps transposed."""
    return (name, weight) if weight.is_contiguous() else (name + TRANSPOSED, weight.T)


def _mapped(path: Path) -> dict[str, Tensor]:
    weights = {}
    with safe_open(path, framework="pt") as file:
        for name in file.keys():  # noqa: SIM118
            one = file.get_tensor(name)
            transposed = name.endswith(TRANSPOSED)
            weights[name.removesuffix(TRANSPOSED)] = one.T if transposed else one
    return weights
