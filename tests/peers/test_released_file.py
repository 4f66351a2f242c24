"""The released model's own file, where it is: read, tokenised and scored as others do it."""

import gguf
import jinja2
import pytest
import torch
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from transformers import LlamaForCausalLM

from benchmarks.peers.transformers_llama import transformers_model
from course_utils import model_file
from course_utils.conversation.dialogue import SYSTEM
from course_utils.data import ByteLevelTokenizer, installed_texts
from course_utils.models import chat_prompt, generate
from course_utils.models.released.gguf import gguf_model
from course_utils.models.released.gguf.gguf_file import read_gguf
from course_utils.models.released.gguf.gguf_model import from_gguf
from course_utils.models.released.whole_pass import whole_pass

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not model_file.model_path().exists(), reason=model_file.MISSING),
]


@pytest.fixture(scope="module")
def file():
    return read_gguf(model_file.required_model())


@pytest.mark.peer("19", "`read_gguf`", "`gguf.dequantize`", "equal", "all 272 tensors")
def test_all_tensors_are_those_of_ggufs_own_reader_to_the_last_bit(file) -> None:
    theirs = gguf.GGUFReader(model_file.required_model()).tensors
    assert len(theirs) == 272
    for one in theirs:
        want = torch.from_numpy(gguf.dequantize(one.data, one.tensor_type).copy())
        assert torch.equal(file.tensors[one.name].weights(), want), one.name


@pytest.mark.peer("19", "`ByteLevelTokenizer`", "`tokenizers`", "equal", "three whole texts")
def test_three_texts_have_the_tokens_of_the_tokenizers_library(file) -> None:
    names = file.fields["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in file.fields["tokenizer.ggml.merges"]]
    theirs = Tokenizer(models.BPE(vocab={one: n for n, one in enumerate(names)}, merges=merges))
    digits = pre_tokenizers.Digits(individual_digits=True)
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs.pre_tokenizer = pre_tokenizers.Sequence([digits, bytes_])
    kinds = file.fields["tokenizer.ggml.token_type"]
    special = [name for name, kind in zip(names, kinds, strict=True) if kind == gguf_model.CONTROL]
    theirs.add_special_tokens([AddedToken(one, special=True, normalized=False) for one in special])
    ours = gguf_model.tokenizer(file)
    assert isinstance(ours, ByteLevelTokenizer)
    for text in installed_texts().values():
        assert ours.encode(text).tolist() == theirs.encode(text).ids


@pytest.mark.peer("19", "`chat_prompt`", "`jinja2` on the file's own template", "equal", "text")
@pytest.mark.parametrize("opened", [True, False])
def test_a_conversation_is_what_the_files_own_template_makes_of_it(file, opened) -> None:
    template = jinja2.Environment().from_string(file.fields["tokenizer.chat_template"])
    messages = [{"role": role, "content": role} for role in ("user", "assistant", "user")]
    want = template.render(messages=messages, add_generation_prompt=opened)
    assert chat_prompt(messages, SYSTEM, opened) == want


@pytest.mark.peer("19", "`from_gguf`", "`LlamaForCausalLM`", "float32 2e-4", "logits, text")
def test_scores_and_greedy_text_are_those_of_hugging_faces_llama(file) -> None:
    ours, tokenizer = from_gguf(file)
    theirs = transformers_model(file, ours)
    assert isinstance(theirs, LlamaForCausalLM)
    prompt = tokenizer.encode("The capital of France is")[None]
    with torch.inference_mode():
        torch.testing.assert_close(ours.logits(prompt), theirs(prompt).logits, atol=2e-4, rtol=0)
        written = theirs.generate(
            prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=12, do_sample=False
        )
    assert tokenizer.decode(written[0]).startswith("The capital of France is Paris")
    ours_written = generate(ours, prompt, 12, temperature=0.0)
    assert torch.equal(ours_written, written[:, prompt.shape[1] :])


@pytest.fixture(scope="module")
def passes(file):
    """One text's pass in our model and in theirs, and our model."""
    ours, tokenizer = from_gguf(file)
    theirs = transformers_model(file, ours)
    theirs.set_attn_implementation("eager")
    prompt = tokenizer.encode("When Mary and John went to the store, John gave a drink to")
    with torch.inference_mode():
        want = theirs(prompt[None], output_attentions=True, output_hidden_states=True)
    return whole_pass(ours, prompt), want, ours


@pytest.mark.peer("20", "`whole_pass`", "`LlamaForCausalLM`, eager", "float32 5e-6", "weights")
def test_all_weights_are_those_of_hugging_faces_llama(passes) -> None:
    seen, want, _ = passes
    torch.testing.assert_close(seen.weights, torch.cat(want.attentions), atol=5e-6, rtol=0)


@pytest.mark.peer("20", "`whole_pass`", "`LlamaForCausalLM`", "float32 2e-4", "streams, scores")
def test_the_streams_are_those_of_hugging_faces_llama_under_the_last_norm(passes) -> None:
    seen, want, ours = passes
    states = torch.cat(want.hidden_states)
    theirs = torch.cat([ours.last_norm(states[:-1]), states[-1:]])  # their last one is normed
    torch.testing.assert_close(ours.last_norm(seen.states), theirs, atol=2e-4, rtol=0)
    torch.testing.assert_close(seen.logits, want.logits[0], atol=2e-4, rtol=0)
