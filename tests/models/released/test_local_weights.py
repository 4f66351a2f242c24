"""Test what is read from a folder of weights, and what is refused."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertModel

from course_utils.models.released.local_weights import from_folder
from tests.models.released.local_folders import TOKENS, saved


def test_a_folder_as_gpt2_was_published_is_read_too(tmp_path) -> None:
    theirs = saved("GPT-2, tied", tmp_path)
    old = {
        k.removeprefix("transformer."): v
        for k, v in load_file(tmp_path / "model.safetensors").items()
    }
    old["h.0.attn.bias"] = torch.ones(1, 1, 31, 31).tril().double()
    save_file(old, tmp_path / "model.safetensors")
    with torch.no_grad():
        torch.testing.assert_close(from_folder(tmp_path).logits(TOKENS), theirs(TOKENS).logits)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_the_dtype_is_that_of_the_file(dtype, tmp_path) -> None:
    saved("Llama", tmp_path).to(dtype).save_pretrained(tmp_path)
    assert from_folder(tmp_path).token.weight.dtype == dtype


def test_damaged_files_are_refused(tmp_path) -> None:
    saved("Llama", tmp_path)
    path = tmp_path / "model.safetensors"
    for damaged in (path.read_bytes()[:-4], b"", b"PK\x03\x04 something else"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"model.safetensors must be a whole file"):
            from_folder(tmp_path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        from_folder(tmp_path)


@pytest.mark.parametrize(
    ("name", "changed", "says"),
    [
        ("Llama", {"attention_bias": True}, "attention_bias must be False for our model, got True"),
        ("Llama", {"mlp_bias": True}, "mlp_bias must be False for our model, got True"),
        ("Llama", {"hidden_act": "relu"}, "hidden_act must be 'silu' for our model, got 'relu'"),
        ("Llama", {"rope_scaling": {"factor": 2.0}}, "factor needs another rope_type than default"),
        ("Llama", {"rope_parameters": {"rope_type": "dynamic"}}, "rope_type must be one of"),
        ("Llama", {"rope_scaling": {"partial_rotary_factor": 0.5}}, "partial_rotary_factor must"),
        ("Llama", {"rope_scaling": {"mscale": 0.7}}, "mscale must be left out for our model"),
        ("Llama", {"layer_types": ["linear_attention"] * 2}, "layer_types must hold sliding"),
        ("Llama", {"quantization_config": {"bits": 4}}, "quantization_config must be None"),
        ("Llama", {"head_dim": 8}, "weights must be those that config.json describes"),
        ("GPT-2, tied", {"activation_function": "relu"}, "activation_function must be 'gelu_new'"),
        ("GPT-2, tied", {"n_layer": 3}, "weights must be those that config.json describes"),
    ],
)
def test_settings_that_ours_lacks_are_refused(name, changed, says, tmp_path) -> None:
    saved(name, tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    with pytest.raises(ValueError, match=says):
        from_folder(tmp_path)


def test_another_kind_of_model_is_refused(tmp_path) -> None:
    BertModel(BertConfig(hidden_size=8, num_attention_heads=2)).save_pretrained(tmp_path)
    with pytest.raises(
        ValueError, match=r"model_type must be one of deepseek_v3, .*, gpt2, .* got 'bert'"
    ):
        from_folder(tmp_path)
