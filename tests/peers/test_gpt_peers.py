"""The small GPT and Llama beside Hugging Face's, with weights copied both ways."""

from itertools import permutations

import pytest
import torch
from torch import Tensor, nn
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)
from transformers.models.llama import modeling_llama

from course_utils.models import (
    GPT,
    Llama,
    generate,
    greedy_decode,
    left_pad,
    stream_tokens,
    token_probabilities,
)
from course_utils.models.released.gpt2_weights import from_gpt2, to_gpt2
from course_utils.models.released.llama import from_llama, to_llama
from tests.peers.peer_support import exact_norm, exact_rotation

IN_PIECES = pytest.mark.peer(
    "10", "`GPT`, `Llama`, `to_gpt2`, `to_llama`",
    "the same, with the prompt in pieces; weights copied back", "float64 1e-7", "logits",
)  # fmt: skip
GENERATION = pytest.mark.peer(
    "10", "`generate`, `stream_tokens`, `greedy_decode`",
    "the same, with each of their caches; padded batches", "equal", "tokens",
)  # fmt: skip

TOKENS, WIDTH, HEADS, KV_HEADS, LAYERS, LONGEST, D_FF = 37, 24, 6, 3, 2, 31, 40
SIZES = {"d_model": WIDTH, "num_heads": HEADS, "num_layers": LAYERS, "max_length": LONGEST}
NAMES = ["GPT-2", "Llama"]


def their_config(name: str):
    shared = {"vocab_size": TOKENS, "bos_token_id": None, "eos_token_id": None}
    if name == "GPT-2":
        return GPT2Config(
            n_embd=WIDTH, n_head=HEADS, n_layer=LAYERS, n_positions=LONGEST,
            tie_word_embeddings=False, **shared,
        )  # fmt: skip
    return LlamaConfig(
        hidden_size=WIDTH, num_attention_heads=HEADS, num_key_value_heads=KV_HEADS,
        num_hidden_layers=LAYERS, intermediate_size=D_FF, max_position_embeddings=LONGEST, **shared,
    )  # fmt: skip


def theirs_and_ours(name: str, monkeypatch) -> tuple[nn.Module, GPT]:
    """Return both models in float64, all parameters random, ours with a copy of theirs."""
    config = their_config(name)
    if name == "GPT-2":
        theirs, ours = GPT2LMHeadModel(config), GPT(TOKENS, **SIZES)
    else:
        # Theirs rounds these two to float32 in every model; that would hide a small mistake.
        monkeypatch.setattr(modeling_llama.LlamaRMSNorm, "forward", exact_norm)
        monkeypatch.setattr(modeling_llama.LlamaRotaryEmbedding, "forward", exact_rotation)
        theirs = LlamaForCausalLM(config)
        ours = Llama(TOKENS, num_kv_heads=KV_HEADS, d_ff=D_FF, **SIZES)
    theirs, ours = theirs.double().eval(), ours.double()
    torch.manual_seed(0)
    for part, parameter in theirs.named_parameters():
        # Small biases: otherwise the largest one says the same token again and again.
        mean = 1.0 if parameter.dim() == 1 and part.endswith("weight") else 0.0
        nn.init.normal_(parameter, mean, std=0.6 if parameter.dim() > 1 else 0.1)
    ours.load_state_dict((from_gpt2 if name == "GPT-2" else from_llama)(theirs.state_dict()))
    return theirs, ours


def draw(*shape: int) -> Tensor:
    return torch.randint(TOKENS, shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.peer(
    "10", "`GPT`, `Llama`, `from_gpt2`, `from_llama`", "Hugging Face's GPT-2 and Llama",
    "float64 1e-7", "logits, gradients",
)  # fmt: skip
def test_logits_and_gradients_are_theirs(name, monkeypatch) -> None:
    theirs, ours = theirs_and_ours(name, monkeypatch)
    tokens = draw(3, 13)
    torch.testing.assert_close(ours.logits(tokens), theirs(tokens).logits)
    slope = torch.randn(3, 13, TOKENS, dtype=torch.float64)
    (ours(tokens)[0] * slope).sum().backward()
    (theirs(tokens).logits * slope).sum().backward()
    rename = from_gpt2 if name == "GPT-2" else from_llama
    want = rename({key: value.grad for key, value in theirs.named_parameters()})
    torch.testing.assert_close({key: value.grad for key, value in ours.named_parameters()}, want)


@pytest.mark.parametrize("name", NAMES)
@IN_PIECES
def test_weights_go_back_as_they_came(name, monkeypatch) -> None:
    theirs, ours = theirs_and_ours(name, monkeypatch)
    back = (to_gpt2 if name == "GPT-2" else to_llama)(ours.state_dict())
    torch.testing.assert_close(back, dict(theirs.state_dict()), rtol=0, atol=0)
    other = type(theirs)(their_config(name)).double().eval()
    other.load_state_dict(back)
    tokens = draw(2, 9)
    torch.testing.assert_close(other(tokens).logits, ours.logits(tokens))


@pytest.mark.parametrize("split", [(13,), (1, 12), (5, 1, 7), (1,) * 13], ids=str)
@pytest.mark.parametrize("name", NAMES)
@IN_PIECES
def test_a_prompt_in_any_pieces_is_read_like_theirs(name, split, monkeypatch) -> None:
    theirs, ours = theirs_and_ours(name, monkeypatch)
    tokens, cache, their_cache = draw(2, 13), None, None
    for part in tokens.split(split, dim=1):
        logits, cache = ours(part, cache)
        out = theirs(part, past_key_values=their_cache, use_cache=True)
        their_cache = out.past_key_values
        torch.testing.assert_close(logits, out.logits)


@pytest.mark.parametrize("their_cache", ["dynamic", "static", "none"])
@pytest.mark.parametrize("name", NAMES)
@GENERATION
def test_greedy_tokens_are_theirs(name, their_cache, monkeypatch) -> None:
    theirs, ours = theirs_and_ours(name, monkeypatch)
    prompt = draw(3, 5)
    how = {"use_cache": False} if their_cache == "none" else {"cache_implementation": their_cache}
    want = generated(theirs, prompt, **how)
    assert torch.equal(generate(ours, prompt, 17, temperature=0.0), want)
    slow = prompt
    for _ in range(17):
        slow = torch.cat((slow, ours.logits(slow)[:, -1:].argmax(dim=-1)), dim=1)
    assert torch.equal(slow[:, 5:], want)
    assert torch.equal(greedy_decode(ours, prompt, 17), want)
    assert torch.equal(torch.stack([*stream_tokens(ours, prompt, 17, temperature=0.0)], 1), want)
    assert len(want.unique()) > 5  # and not one token again and again


@pytest.mark.parametrize("name", NAMES)
@GENERATION
def test_prompts_of_different_lengths_are_continued_like_theirs(name, monkeypatch) -> None:
    theirs, ours = theirs_and_ours(name, monkeypatch)
    prompts = [draw(length).tolist() for length in (7, 1, 4)]
    tokens, first = left_pad(prompts, padding=TOKENS - 1)
    got = generate(ours, tokens, 17, temperature=0.0, first=first)
    real = (torch.arange(tokens.shape[1]) >= first.unsqueeze(-1)).long()
    assert torch.equal(got, generated(theirs, tokens, attention_mask=real))
    for row, prompt in enumerate(prompts):
        alone = generate(ours, torch.tensor([prompt]), 17, temperature=0.0)
        assert torch.equal(got[row], alone[0])


@pytest.mark.parametrize("temperature", [0.5, 1.7])
@pytest.mark.parametrize("top_k", [None, 1, 5])
@pytest.mark.parametrize("top_p", [None, 0.2, 0.9])
@pytest.mark.peer(
    "10", "`token_probabilities`", "transformers' warpers of temperature, top-k and top-p",
    "float64 1e-7", "probabilities",
)  # fmt: skip
def test_what_is_drawn_from_is_what_theirs_leaves(temperature, top_k, top_p) -> None:
    logits = torch.randn(9, TOKENS, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    theirs = TemperatureLogitsWarper(temperature)(None, logits)
    if top_k is not None:
        theirs = TopKLogitsWarper(top_k)(None, theirs)
    if top_p is not None:
        theirs = TopPLogitsWarper(top_p)(None, theirs)
    got = token_probabilities(logits, temperature=temperature, top_k=top_k, top_p=top_p)
    torch.testing.assert_close(got, theirs.softmax(dim=-1))


@pytest.mark.parametrize("top_p", [0.5, 0.8, 0.9])
@pytest.mark.peer(
    "10", "`token_probabilities`",
    "transformers' warper of top-p where the share is reached exactly", "equal", "number of tokens",
)  # fmt: skip
def test_a_share_that_is_reached_exactly_leaves_as_many_tokens_as_theirs(top_p) -> None:
    chances = torch.tensor(list(permutations((0.3, 0.1, 0.1, 0.5))))
    theirs = TopPLogitsWarper(top_p)(None, chances.log())
    got = token_probabilities(chances.log(), top_p=top_p)
    assert torch.equal((got > 0).sum(-1), theirs.isfinite().sum(-1))


def generated(theirs: nn.Module, prompt: Tensor, **how) -> Tensor:
    tokens = theirs.generate(
        prompt, max_new_tokens=17, do_sample=False, pad_token_id=0,
        **{"attention_mask": torch.ones_like(prompt), **how},
    )  # fmt: skip
    return tokens[:, prompt.shape[1] :]
