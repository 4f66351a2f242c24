"""transformers' Llama with the weights of a GGUF file, as `from_gguf` has read them."""

from typing import Any

import torch

from course_utils.models.released.gguf.gguf_file import GGUFFile
from course_utils.models.released.llama import Llama
from course_utils.models.released.llama_weights import to_llama

THEIRS = {  # their names of the settings
    "vocab_size": "tokenizer.ggml.tokens", "hidden_size": "llama.embedding_length",
    "intermediate_size": "llama.feed_forward_length", "num_hidden_layers": "llama.block_count",
    "num_attention_heads": "llama.attention.head_count",
    "num_key_value_heads": "llama.attention.head_count_kv",
    "max_position_embeddings": "llama.context_length",
    "rms_norm_eps": "llama.attention.layer_norm_rms_epsilon",
    "rope_theta": "llama.rope.freq_base",
}  # fmt: skip


def transformers_model(file: GGUFFile, ours: Llama) -> Any:
    """Return theirs with our weights, each matrix by rows."""
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    given = {name: file.fields[field] for name, field in THEIRS.items()}
    given["vocab_size"] = len(given["vocab_size"])
    config = LlamaConfig(**given, tie_word_embeddings=True)
    found = to_llama(ours.state_dict())
    with torch.device("meta"):
        theirs = LlamaForCausalLM(config)
    theirs.load_state_dict({name: one.contiguous() for name, one in found.items()}, assign=True)
    theirs.tie_weights()
    theirs.model.rotary_emb = LlamaRotaryEmbedding(config)
    return theirs.requires_grad_(False).eval()


def written_by_theirs(theirs: Any, prompt: torch.Tensor, count: int) -> torch.Tensor:
    """Return the tokens that theirs writes, none of which ends the text."""
    out: torch.Tensor = theirs.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=count,
        min_new_tokens=count, do_sample=False, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    return out[:, prompt.shape[1] :]
