"""The forward pass of chapter 20's notebook and hooks in Hugging Face's model, on five prompts."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from benchmarks.chapters.ch20.inside import opened
from benchmarks.peers.transformers_llama import transformers_model
from course_utils import data, model_file
from course_utils.models.released.gguf_file import read_gguf

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not model_file.model_path().exists(), reason=model_file.MISSING),
]
TEXTS = ["The capital of France is", *(data.two_names(number, 1)[0].text for number in range(4))]
HEADS = [(23, 3), (20, 0), (16, 0)]
each_text = pytest.mark.parametrize("text", TEXTS)


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Any, Any]]:
    book = opened()
    theirs = transformers_model(read_gguf(model_file.required_model()), book.model)
    theirs.set_attn_implementation("eager")
    yield book, theirs
    torch.set_grad_enabled(True)


@each_text
@pytest.mark.peer("20", "`taps`", "`LlamaForCausalLM`, eager", "float32 1e-5", "weights")
def test_weights_are_those_of_hugging_faces_model(both: tuple[Any, Any], text: str) -> None:
    book, theirs = both
    tokens = book.tokenizer.encode(text)[None]
    wanted = torch.stack(theirs(tokens, output_attentions=True).attentions, dim=1)
    found = book.stacked(book.read(tokens)[1], "weights")
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)


@each_text
@pytest.mark.peer("20", "`taps`", "`LlamaForCausalLM`", "float32 2e-4", "scores")
def test_scores_are_those_of_hugging_faces_model(both: tuple[Any, Any], text: str) -> None:
    book, theirs = both
    tokens = book.tokenizer.encode(text)[None]
    torch.testing.assert_close(book.read(tokens)[0], theirs(tokens).logits, atol=2e-4, rtol=0)


@each_text
@pytest.mark.peer("20", "`taps`", "hooks on `o_proj`", "float32 1e-4", "scores without three heads")
def test_heads_set_to_values_are_as_hooks_set_them(both: tuple[Any, Any], text: str) -> None:
    book, theirs = both
    tokens = book.tokenizer.encode(text)[None]
    values = torch.randn(30, 9, 64, generator=torch.Generator().manual_seed(0)) * 0.05
    found, _ = book.read(tokens, book.heads_set_to(values, HEADS))

    def put(layer: int, head: int) -> Any:
        def edit(_: Any, given: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
            heads = given[0].clone()
            heads[..., 64 * head : 64 * (head + 1)] = values[layer, head]
            return (heads,)

        return theirs.model.layers[layer].self_attn.o_proj.register_forward_pre_hook(edit)

    hooks = [put(*one) for one in HEADS]
    wanted = theirs(tokens).logits
    for one in hooks:
        one.remove()
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=0)
