"""Folders with small random models that transformers wrote, for tests of what reads them."""

from pathlib import Path

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

GPT2 = {"vocab_size": 37, "n_embd": 24, "n_head": 6, "n_layer": 2, "n_positions": 31,
        "bos_token_id": None, "eos_token_id": None}  # fmt: skip
LLAMA = {
    "vocab_size": 37, "hidden_size": 24, "num_attention_heads": 6, "num_key_value_heads": 3,
    "num_hidden_layers": 2, "intermediate_size": 40, "max_position_embeddings": 31,
    "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip
FOLDERS = {
    "GPT-2, tied": GPT2,
    "GPT-2, hidden layer and eps of its own": GPT2 | {"n_inner": 40, "layer_norm_epsilon": 1e-3},
    "Llama": LLAMA,
    "Llama, tied": LLAMA | {"tie_word_embeddings": True},
    "Llama, base and eps of its own": LLAMA | {"rope_theta": 500.0, "rms_norm_eps": 1e-2},
}
TOKENS = torch.randint(37, (3, 13), generator=torch.Generator().manual_seed(0))


def saved(name: str, folder: Path, **how) -> nn.Module:
    """Write a random model to a folder, in float64, and return it."""
    torch.manual_seed(0)
    config = FOLDERS[name]
    theirs = (
        GPT2LMHeadModel(GPT2Config(**config)) if name.startswith("GPT-2")
        else LlamaForCausalLM(LlamaConfig(**config))
    )  # fmt: skip
    for part, parameter in theirs.named_parameters():
        mean = 1.0 if parameter.dim() == 1 and part.endswith("weight") else 0.0
        nn.init.normal_(parameter, mean, std=0.6 if parameter.dim() > 1 else 0.1)
    theirs = theirs.double().eval()
    theirs.save_pretrained(folder, **how)
    return theirs
