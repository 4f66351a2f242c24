"""Folders that transformers writes, of GPT-2, Llama and current families, read by the course."""

import importlib

import pytest
import torch
from torch import Tensor, nn
from transformers.models.llama import modeling_llama

from course_utils.models import from_folder, generate
from course_utils.models.released.llama_weights import from_family
from tests.models.released import local_folders
from tests.models.released.families.family_folders import CONFIGS, NEWER, TOKENS, saved
from tests.peers.peer_support import exact_norm, exact_rotation, in_its_own_precision

TEXTS = torch.randint(TOKENS, (3, 17), generator=torch.Generator().manual_seed(0))


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let theirs keep float64 where it rounds to float32 in every model: that hides mistakes."""
    in_its_own_precision(monkeypatch)
    monkeypatch.setattr(torch, "float", torch.float64)  # the dtype of their frequencies
    monkeypatch.setattr(torch, "float32", torch.float64)
    monkeypatch.setattr(Tensor, "float", Tensor.double)
    for name, kind in (
        ("llama", "Llama"), ("mistral", "Mistral"), ("qwen2", "Qwen2"), ("qwen3", "Qwen3"),
        ("gemma2", "Gemma2"), ("gemma3", "Gemma3"), ("gpt_oss", "GptOss"), ("olmo2", "Olmo2"),
        ("olmo3", "Olmo3"), ("smollm3", "SmolLM3"), ("phi3", "Phi3"),
        ("deepseek_v3", "DeepseekV3"),
        ("deepseek_v32", "DeepseekV32"), ("kimi_linear", "KimiLinear"),
    ):  # fmt: skip
        code = importlib.import_module(f"transformers.models.{name}.modeling_{name}")
        norm = centred_norm if "Gemma" in kind else exact_norm
        monkeypatch.setattr(getattr(code, f"{kind}RMSNorm"), "forward", norm)


def centred_norm(self: nn.Module, x: Tensor) -> Tensor:
    return (1 + self.weight) * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


@pytest.mark.parametrize("name", [*CONFIGS, *NEWER])
@pytest.mark.peer(
    "10", "`from_folder`: a Llama with the family's design",
    "transformers' Llama 3, Mistral, Qwen 2 and 3, Gemma 2, 3 and 4, gpt-oss, "
    "OLMo 2 and 3, Phi-3, SmolLM 3, DeepSeek V3 and V3.2, Kimi Linear, Qwen 3-Next and 3.5",
    "float64 1e-7", "logits, gradients",
)  # fmt: skip
def test_logits_and_gradients_are_theirs(name, exact, tmp_path) -> None:
    theirs = saved(name, tmp_path)
    ours = from_folder(tmp_path)
    got, wanted = ours.logits(TEXTS), theirs(TEXTS).logits
    torch.testing.assert_close(got, wanted)
    slope = torch.randn(wanted.shape, dtype=torch.float64)
    (got * slope).sum().backward()
    (wanted * slope).sum().backward()
    theirs_named = {key: value.grad for key, value in theirs.named_parameters()}
    want = from_family(theirs_named, theirs.config.to_dict())
    own = {key: value.grad for key, value in ours.named_parameters()}
    torch.testing.assert_close({key: own[key] for key in want}, want)
    assert len(own) == len(want)


@pytest.mark.parametrize("split", [(17,), (1, 16), (5, 1, 11), (1,) * 17], ids=str)
@pytest.mark.parametrize("name", [*CONFIGS, *NEWER])
@pytest.mark.peer(
    "10", "the caches of what `from_folder` returns", "the same, with the prompt in pieces",
    "float64 1e-7", "logits",
)  # fmt: skip
def test_a_prompt_in_any_pieces_is_read_like_theirs(name, split, exact, tmp_path) -> None:
    theirs, cache = saved(name, tmp_path), None
    ours, wanted = from_folder(tmp_path), theirs(TEXTS).logits
    for part, want in zip(TEXTS.split(split, 1), wanted.split(split, 1), strict=True):
        logits, cache = ours(part, cache)
        torch.testing.assert_close(logits, want)


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("name", [*CONFIGS, *NEWER])
@pytest.mark.peer(
    "10", "`generate` with such a model", "the same, with a cache and without", "equal", "tokens"
)
def test_greedy_tokens_are_theirs(name, use_cache, exact, tmp_path) -> None:
    theirs, prompt = saved(name, tmp_path), TEXTS[:, :7]
    ours = from_folder(tmp_path)
    want = theirs.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=20, do_sample=False,
        pad_token_id=0, use_cache=use_cache,
    )[:, 7:]  # fmt: skip
    assert torch.equal(generate(ours, prompt, 20, temperature=0.0), want)
    if not use_cache:
        slow = prompt
        for _ in range(20):
            slow = torch.cat((slow, ours.logits(slow)[:, -1:].argmax(dim=-1)), dim=1)
        assert torch.equal(slow[:, 7:], want)
    assert len(want.unique()) > 5  # and not one token again and again


@pytest.mark.parametrize("trained", [16, 17, 4])
@pytest.mark.peer(
    "07", "longrope in what `from_folder` returns", "Phi-3's, in texts up to and past the border",
    "float64 1e-7", "logits, tokens",
)  # fmt: skip
def test_longrope_takes_the_list_that_theirs_takes(trained, exact, tmp_path) -> None:
    name = "Phi-3, longrope on a part of each head"
    theirs = saved(name, tmp_path, original_max_position_embeddings=trained)
    ours, cache = from_folder(tmp_path), None
    torch.testing.assert_close(ours.logits(TEXTS), theirs(TEXTS).logits)
    if trained == 4:  # the prompt is past the border, and so is all that follows
        past = None
        for part in TEXTS.split((7, 1, 9), 1):
            logits, cache = ours(part, cache)
            wanted = theirs(part, past_key_values=past, use_cache=True)
            past = wanted.past_key_values
            torch.testing.assert_close(logits, wanted.logits)
    if trained == 16:
        _, cache = ours(TEXTS[:, :16])
        with pytest.raises(ValueError, match="more than 16 tokens must be read from its first"):
            ours(TEXTS[:, 16:], cache)


@pytest.mark.parametrize("how", [{}, {"max_shard_size": "20KB"}], ids=["one file", "several"])
@pytest.mark.parametrize("name", local_folders.FOLDERS)
@pytest.mark.peer(
    "11", "`from_folder`",
    "folders that transformers writes: GPT-2 and Llama", "float64 1e-7", "logits",
)  # fmt: skip
def test_a_folder_gives_their_model(name, how, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(modeling_llama.LlamaRMSNorm, "forward", exact_norm)
    monkeypatch.setattr(modeling_llama.LlamaRotaryEmbedding, "forward", exact_rotation)
    theirs, tokens = local_folders.saved(name, tmp_path, **how), local_folders.TOKENS
    assert (tmp_path / "model.safetensors.index.json").exists() == bool(how)
    ours = from_folder(tmp_path)
    with torch.no_grad():
        torch.testing.assert_close(ours.logits(tokens), theirs(tokens).logits)
    written = theirs.generate(
        tokens[:, :4], attention_mask=torch.ones(3, 4), max_new_tokens=9, do_sample=False,
        pad_token_id=0,
    )  # fmt: skip
    assert torch.equal(generate(ours, tokens[:, :4], 9, temperature=0.0), written[:, 4:])
