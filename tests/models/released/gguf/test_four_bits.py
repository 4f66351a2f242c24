"""The model in four bits scores as the one in float32, to bfloat16's rounding, or says why not."""

import pytest
import torch

from course_utils.models.released.gguf import four_bits
from course_utils.models.released.gguf.four_bits import FourBits, four_bit_model
from course_utils.models.released.gguf.gguf_file import read_gguf
from course_utils.models.released.gguf.gguf_model import from_gguf
from tests.models.released.gguf.gguf_files import NUM_LAYERS, tokens, write_gguf


def test_it_scores_as_in_float32_to_the_rounding_of_bfloat16(tmp_path) -> None:
    file = read_gguf(write_gguf(tmp_path / "small.gguf"))
    want, got = from_gguf(file).model, four_bit_model(file).model
    packed = [one for one in got.modules() if isinstance(one, FourBits)]
    assert len(packed) == 5 * NUM_LAYERS
    weights = sum(
        one.weight.numel() for one in want.layers.modules() if hasattr(one, "in_features")
    )
    assert sum(one.num_bytes for one in packed) * 8 == 5 * weights
    torch.testing.assert_close(got.logits(tokens()), want.logits(tokens()), rtol=0.02, atol=0.02)


def test_another_kind_and_a_torch_without_the_operator_are_said(tmp_path, monkeypatch) -> None:
    name = "blk.1.attn_q.weight"
    file = read_gguf(write_gguf(tmp_path / "small.gguf", kinds={name: "F32"}))
    with pytest.raises(ValueError, match=rf"{name} must be of kind Q4_1, got F32"):
        four_bit_model(file)
    monkeypatch.setattr(four_bits, "MULTIPLY", "_no_such_operator")
    with pytest.raises(RuntimeError, match="must have the operator _no_such_operator, got"):
        four_bit_model(file)
