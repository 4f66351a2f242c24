"""Test the model that a file describes, on a small file: mapped or dequantised, cached or not."""

import pytest
import torch

from course_utils import model_file
from course_utils.models.released.gguf import gguf_model
from course_utils.models.released.gguf.gguf_file import read_gguf
from tests.models.released.gguf.gguf_files import FIELDS, tokens, write_gguf


@pytest.fixture
def path(tmp_path, monkeypatch):
    """Let a small file stand where the released model's would."""
    path = write_gguf(tmp_path / "small.gguf")
    monkeypatch.setenv(model_file.ELSEWHERE, str(path))
    monkeypatch.setattr(model_file, "check_model_file", lambda path: None)
    return path


def test_model_and_tokenizer_come_in_one_call(path) -> None:
    model, tokenizer = gguf_model.model()
    text = "<|im_start|>user\nthe thing<|im_end|>"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert model.out.weight is model.token.weight
    assert not model.training
    assert not any(one.requires_grad for one in model.parameters())


def test_with_a_cache_it_scores_the_same(path) -> None:
    model, _ = gguf_model.model()
    with torch.no_grad():
        want = model.logits(tokens())
        first, cache = model(tokens()[:, :7])
        rest, _ = model(tokens()[:, 7:], cache)
    torch.testing.assert_close(torch.cat([first, rest], dim=1), want)


def test_only_the_last_scores_are_returned_where_that_is_asked(path) -> None:
    model, _ = gguf_model.model()
    want, whole = model(tokens())
    got, cache = model(tokens(), only_last=True)
    torch.testing.assert_close(got, want[:, -1:])
    assert cache.length == whole.length
    assert model(tokens()[:, :3], cache, only_last=True)[0].shape[1] == 1


@pytest.mark.parametrize("mapped", [False, True])
def test_each_matrix_is_laid_out_for_a_single_row(path, mapped) -> None:
    if mapped:
        gguf_model.convert()
    for name, one in gguf_model.model().model.named_parameters():
        if one.dim() == 2:
            wide = one.shape[0] >= one.shape[1]
            assert (one.T if wide else one).is_contiguous(), name


def test_weights_that_were_converted_are_mapped_and_give_the_same(path) -> None:
    want = gguf_model.model().model.logits(tokens())
    converted = gguf_model.convert()
    assert converted == gguf_model.converted_path(path)
    assert converted.stat().st_mode == path.stat().st_mode
    path_of = {one.name for one in path.parent.iterdir()}
    assert path_of == {"small.gguf", "small.float32.safetensors"}
    torch.testing.assert_close(gguf_model.model().model.logits(tokens()), want, rtol=0, atol=0)


def test_what_is_missing_or_another_model_is_said(path, monkeypatch) -> None:
    path.unlink()
    for call in (gguf_model.model, gguf_model.convert):
        with pytest.raises(model_file.ModelFileError, match="python -m course_utils model"):
            call()
    write_gguf(path, {"general.architecture": "mamba"})
    with pytest.raises(ValueError, match="architecture must be 'llama', got 'mamba'"):
        gguf_model.model()
    write_gguf(path, {"llama.block_count": FIELDS["llama.block_count"] + 1})
    with pytest.raises(ValueError, match=r"must hold the tensor blk.2.attn_q.weight"):
        gguf_model.from_gguf(read_gguf(path))
