"""Folders that transformers writes, read by the course."""

import pytest
import torch
from test_gpt_peers import exact_norm
from torch import Tensor
from transformers.models.llama import modeling_llama

from course_utils.models import generate
from course_utils.models.released.local_weights import from_folder
from tests.models.local_folders import FOLDERS, TOKENS, saved


def exact_rotation(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
    pair = torch.arange(0, 2 * len(self.inv_freq), 2, dtype=torch.float64)
    base = self.config.rope_parameters["rope_theta"]
    turned = position_ids[..., None] * base ** (-pair / (2 * len(self.inv_freq)))
    turned = torch.cat((turned, turned), dim=-1)
    return turned.cos(), turned.sin()


@pytest.mark.parametrize("how", [{}, {"max_shard_size": "20KB"}], ids=["one file", "several"])
@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.peer(
    "11", "`from_folder`",
    "folders that transformers writes: GPT-2 and Llama", "float64 1e-7", "logits",
)  # fmt: skip
def test_a_folder_gives_their_model(name, how, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(modeling_llama.LlamaRMSNorm, "forward", exact_norm)
    monkeypatch.setattr(modeling_llama.LlamaRotaryEmbedding, "forward", exact_rotation)
    theirs = saved(name, tmp_path, **how)
    assert (tmp_path / "model.safetensors.index.json").exists() == bool(how)
    ours = from_folder(tmp_path)
    with torch.no_grad():
        torch.testing.assert_close(ours.logits(TOKENS), theirs(TOKENS).logits)
    written = theirs.generate(
        TOKENS[:, :4], attention_mask=torch.ones(3, 4), max_new_tokens=9, do_sample=False,
        pad_token_id=0,
    )  # fmt: skip
    assert torch.equal(generate(ours, TOKENS[:, :4], 9, temperature=0.0), written[:, 4:])
