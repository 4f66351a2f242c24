"""Test the pass that keeps all it computes, on a small file's model."""

import pytest
import torch

from course_utils.models.released.gguf.gguf_file import read_gguf
from course_utils.models.released.gguf.gguf_model import from_gguf
from course_utils.models.released.whole_pass import lens_scores, whole_pass
from tests.models.released.gguf.gguf_files import tokens, write_gguf


@pytest.fixture
def model(tmp_path):
    return from_gguf(read_gguf(write_gguf(tmp_path / "small.gguf"))).model


def test_the_scores_are_the_models_own_and_its_attention_is_as_it_was(model) -> None:
    ids = tokens()[0]
    seen = whole_pass(model, ids)
    torch.testing.assert_close(seen.logits, model.logits(ids[None])[0])
    assert [layer.attention.attend for layer in model.layers] == [None, None]
    assert not any(layer._forward_hooks or layer._forward_pre_hooks for layer in model.layers)


def test_weights_are_causal_and_the_last_state_gives_the_scores(model) -> None:
    ids = tokens()[0]
    seen = whole_pass(model, ids)
    assert seen.weights.shape == (2, 4, len(ids), len(ids))
    assert torch.equal(seen.weights, seen.weights.tril())
    torch.testing.assert_close(seen.weights.sum(-1), torch.ones(2, 4, len(ids)))
    assert torch.equal(seen.states[0], model.token.weight[ids])
    torch.testing.assert_close(lens_scores(model, seen.states[-1]), seen.logits)


def test_an_edit_changes_what_later_layers_see(model) -> None:
    ids = tokens()[0]
    plain = whole_pass(model, ids)
    edited = whole_pass(model, ids, lambda layer, out: out * (layer != 0))
    assert torch.equal(edited.weights[0], plain.weights[0])
    assert not torch.allclose(edited.weights[1], plain.weights[1])


def test_after_an_error_the_model_is_as_it_was(model) -> None:
    def fail(layer: int, out: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        whole_pass(model, tokens()[0], fail)
    assert model.layers[0].attention.attend is None
    assert not model.layers[0]._forward_hooks
