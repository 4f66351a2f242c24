"""What is read from a folder of weights, and what is refused."""

import json
import struct

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertModel

from course_utils.models.local_weights import from_folder
from course_utils.models.safetensors_files import read_safetensors
from tests.models.local_folders import TOKENS, saved


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


def test_every_dtype_and_an_empty_tensor_come_back_as_they_were(tmp_path) -> None:
    kinds = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int8,
             torch.uint8, torch.bool)  # fmt: skip
    parts = {str(kind): torch.arange(6).reshape(2, 3).to(kind) for kind in kinds}
    parts |= {"none": torch.zeros(0, 4), "single": torch.tensor(3.0)}
    save_file(parts, tmp_path / "parts.safetensors", metadata={"format": "pt"})
    torch.testing.assert_close(
        read_safetensors(tmp_path / "parts.safetensors"), parts, rtol=0, atol=0
    )


def test_damaged_files_are_refused(tmp_path) -> None:
    path = tmp_path / "parts.safetensors"
    save_file({"x": torch.arange(6.0)}, path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-4])
    with pytest.raises(ValueError, match=r"x in .* must be 24 bytes, got 20"):
        read_safetensors(path)
    path.write_bytes(whole.replace(b"F32", b"F99"))
    with pytest.raises(ValueError, match=r"x in .* must have one of the dtypes .*, got F99"):
        read_safetensors(path)
    for other in (b"", b"PK\x03\x04 something else", struct.pack("<Q", 2) + b"[]"):
        path.write_bytes(other)
        with pytest.raises(ValueError, match="must begin with a header of safetensors"):
            read_safetensors(path)
    with pytest.raises(FileNotFoundError):
        from_folder(tmp_path)


@pytest.mark.parametrize(
    ("name", "changed", "says"),
    [
        ("Llama", {"attention_bias": True}, "attention_bias must be False for our model, got True"),
        ("Llama", {"rope_scaling": {"factor": 2.0}}, "rope_scaling must be None for our model"),
        ("Llama", {"rope_parameters": {"rope_type": "yarn"}}, "rope_type must be 'default'"),
        ("Llama", {"head_dim": 8}, "head_dim must be 4 for our model, got 8"),
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
    with pytest.raises(ValueError, match="model_type must be gpt2 or llama, got 'bert'"):
        from_folder(tmp_path)
