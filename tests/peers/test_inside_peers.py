"""The forward pass of chapter 20's notebook and hooks in Hugging Face's model, on five prompts."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from benchmarks.chapters.ch20.inside import opened
from benchmarks.peers.transformers_llama import transformers_model
from course_utils import data, model_file
from course_utils.interpretability import mean_ablate
from course_utils.models import all_weights
from course_utils.models.released.gguf.gguf_file import read_gguf

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
@pytest.mark.peer("20", "`all_weights`", "`LlamaForCausalLM`, eager", "float32 1e-5", "weights")
def test_weights_are_those_of_hugging_faces_model(both: tuple[Any, Any], text: str) -> None:
    book, theirs = both
    tokens = book.tokenizer.encode(text)
    scores, kept = book.read(tokens[None])
    told = theirs(tokens[None], output_attentions=True)
    for found in (book.stacked(kept, "weights")[0], all_weights(book.model, tokens)):
        torch.testing.assert_close(found, torch.cat(told.attentions), atol=1e-5, rtol=0)
    assert (scores - told.logits).abs().max() < 2e-4


@each_text
@pytest.mark.peer("20", "`mean_ablate`", "hooks on `o_proj`", "float32 1e-4", "a model's scores")
def test_heads_set_to_means_are_as_hooks_set_them(both: tuple[Any, Any], text: str) -> None:
    book, theirs = both
    tokens = book.tokenizer.encode(text)[None]
    reference = torch.randn(30, 2, 9, 3, 64, generator=torch.Generator().manual_seed(0)) * 0.1
    values = reference.mean((1, 3))

    def ablated(part: str, layer: int, x: torch.Tensor) -> torch.Tensor:
        heads = [head for one, head in HEADS if one == layer]
        return mean_ablate(x, heads, reference[layer]) if part == "heads" else x

    found, _ = book.read(tokens, ablated)

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
