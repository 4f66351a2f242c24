"""A released model's file, read by us and by those who wrote such files' readers.

The file is a small one with two layers (`gguf_files`): no test needs the released one.
"""

import random

import gguf
import jinja2
import pytest
import torch
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.generation.candidate_generator import PromptLookupCandidateGenerator
from transformers.models.llama import modeling_llama

from course_utils.data.byte_level import ByteLevelTokenizer
from course_utils.models import chat_prompt, prompt_lookup
from course_utils.models.released.gguf.gguf_file import read_gguf
from course_utils.models.released.gguf.gguf_model import from_gguf, tokenizer
from course_utils.models.released.llama_weights import to_llama
from tests.models.released.gguf.gguf_files import (
    D_FF,
    D_MODEL,
    FIELDS,
    MERGES,
    NUM_HEADS,
    NUM_KV_HEADS,
    NUM_LAYERS,
    SPECIAL,
    TOKENS,
    tokens,
    write_gguf,
)
from tests.peers.peer_support import exact_norm, in_its_own_precision

SIGNS = (
    "aä ß½²Ⅷ٣日本 thing the\t\n\r\x1c\x85\u3000\u200b'sll_-don't "
    "नम👩\u200d👧 12 3\u0301\xad<|im_end|>"
)
# As the field tokenizer.chat_template of SmolLM2-135M-Instruct's file has it.
TEMPLATE = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
    "<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\n' }}{% endif %}"
)
DEFAULT = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"


@pytest.mark.peer("19", "`from_gguf`", "`LlamaForCausalLM`", "float64 1e-7", "logits")
def test_the_model_of_a_file_is_hugging_faces_llama(tmp_path, monkeypatch) -> None:
    in_its_own_precision(monkeypatch)
    monkeypatch.setattr(torch, "float", torch.float64)  # the dtype of their frequencies
    monkeypatch.setattr(modeling_llama.LlamaRMSNorm, "forward", exact_norm)
    ours = from_gguf(read_gguf(write_gguf(tmp_path / "small.gguf"))).model.double()
    config = LlamaConfig(
        vocab_size=len(TOKENS), hidden_size=D_MODEL, intermediate_size=D_FF,
        num_hidden_layers=NUM_LAYERS, num_attention_heads=NUM_HEADS,
        num_key_value_heads=NUM_KV_HEADS, rope_theta=FIELDS["llama.rope.freq_base"],
        rms_norm_eps=FIELDS["llama.attention.layer_norm_rms_epsilon"],
        max_position_embeddings=FIELDS["llama.context_length"], tie_word_embeddings=True,
    )  # fmt: skip
    theirs = LlamaForCausalLM(config).double().eval()
    theirs.load_state_dict(grouped(ours.state_dict()))
    with torch.no_grad():
        torch.testing.assert_close(ours.logits(tokens()), theirs(tokens()).logits)


@pytest.mark.peer("19", "`read_gguf`", "`gguf.GGUFReader`", "equal", "fields, tensors")
def test_fields_and_tensors_are_those_that_ggufs_own_reader_finds(tmp_path) -> None:
    path = write_gguf(tmp_path / "small.gguf")
    ours, theirs = read_gguf(path), gguf.GGUFReader(path)
    assert {name: theirs.fields[name].contents() for name in ours.fields} == ours.fields
    assert [one.name for one in theirs.tensors] == list(ours.tensors)
    for one in theirs.tensors:
        want = torch.from_numpy(gguf.dequantize(one.data, one.tensor_type).copy())
        assert torch.equal(
            ours.tensors[one.name].weights(), want.view(ours.tensors[one.name].shape)
        )


@pytest.mark.peer("19", "`ByteLevelTokenizer`", "`tokenizers`", "equal", "tokens")
def test_any_text_has_the_tokens_of_the_tokenizers_library(tmp_path) -> None:
    ours = tokenizer(read_gguf(write_gguf(tmp_path / "small.gguf")))
    assert isinstance(ours, ByteLevelTokenizer)
    numbers = {token: number for number, token in enumerate(TOKENS)}
    theirs = Tokenizer(models.BPE(vocab=numbers, merges=MERGES))
    digits = pre_tokenizers.Digits(individual_digits=True)
    theirs.pre_tokenizer = pre_tokenizers.Sequence(
        [digits, pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    theirs.add_special_tokens([AddedToken(one, special=True, normalized=False) for one in SPECIAL])
    draw = random.Random(0)
    for _ in range(2000):
        text = "".join(draw.choice(SIGNS) for _ in range(draw.randrange(14)))
        text += draw.choice(["", " the thing", "<|im_end|>", "  \n"])
        assert ours.encode(text).tolist() == theirs.encode(text).ids, repr(text)


@pytest.mark.peer("19", "`chat_prompt`", "`jinja2` on the file's template", "equal", "text")
@pytest.mark.parametrize("roles", ["u", "su", "uau", "suau", "us", "a"])
@pytest.mark.parametrize("opened", [True, False])
def test_a_conversation_is_what_the_files_template_makes_of_it(roles, opened) -> None:
    names = {"u": "user", "s": "system", "a": "assistant"}
    messages = [{"role": names[one], "content": f" {one}\n"} for one in roles]
    template = jinja2.Environment().from_string(TEMPLATE)
    want = template.render(messages=messages, add_generation_prompt=opened)
    # Jinja drops one line break at the end of a template, never of what it writes.
    assert chat_prompt(messages, DEFAULT, opened) == want


@pytest.mark.peer(
    "19", "`prompt_lookup`", "`PromptLookupCandidateGenerator`", "equal", "drafted tokens"
)
def test_drafts_are_those_of_hugging_faces_lookup() -> None:
    draw = random.Random(0)
    for _ in range(200):
        text = torch.tensor([[draw.randrange(4) for _ in range(draw.randrange(2, 20))]])
        theirs = PromptLookupCandidateGenerator(
            num_output_tokens=5, max_matching_ngram_size=3, max_length=100
        )
        found = theirs.get_candidates(text)[0][0, text.shape[1] :].tolist()
        assert prompt_lookup(text[0], 1, 3, 5) == found


def grouped(ours: dict) -> dict:
    """Return our weights under Hugging Face's names, with fewer heads of keys than of queries."""
    width = D_MODEL // NUM_HEADS
    sizes = [NUM_HEADS * width, NUM_KV_HEADS * width, NUM_KV_HEADS * width]
    joined = {name: one for name, one in ours.items() if "in_proj" in name}
    rest = {name: one for name, one in ours.items() if name not in joined}
    found = to_llama(rest)
    for name, one in joined.items():
        layer = name.split(".")[1]
        for role, rows in zip("qkv", one.split(sizes), strict=True):
            found[f"model.layers.{layer}.self_attn.{role}_proj.weight"] = rows
    return found
