"""The model in four bits scores as the one in float32, to bfloat16's rounding, or says why not."""

import pytest
import torch

from course_utils.models.released.gguf import four_bits
from course_utils.models.released.gguf.four_bits import FourBits, TwiceFourBits, four_bit_model
from course_utils.models.released.gguf.gguf_file import FileTensor, read_gguf
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


def test_eight_bits_are_read_as_twice_four() -> None:
    seeded = torch.Generator().manual_seed(0)
    rows, width = 48, 96
    scale = (torch.rand(rows * 3, 1, generator=seeded) / 64).half().view(torch.uint8)
    whole = torch.randint(0, 256, (rows * 3, 32), generator=seeded, dtype=torch.uint8)
    blocks = torch.cat((scale, whole), dim=1)
    x = torch.randn(2, 5, width, generator=seeded)
    got = TwiceFourBits(blocks.view(rows, 3, 34))
    want = x @ FileTensor("Q8_0", (rows, width), blocks).weights().T
    torch.testing.assert_close(got(x), want, rtol=0.02, atol=0.05)
    assert got.num_bytes * 4 == 5 * rows * width


def test_another_kind_and_a_torch_without_the_operator_are_said(tmp_path, monkeypatch) -> None:
    name = "blk.1.attn_q.weight"
    file = read_gguf(write_gguf(tmp_path / "small.gguf", kinds={name: "F32"}))
    with pytest.raises(ValueError, match=rf"{name} must be of kind Q4_1, got F32"):
        four_bit_model(file)
    monkeypatch.setattr(four_bits, "MULTIPLY", "_no_such_operator")
    with pytest.raises(RuntimeError, match="must have the operator _no_such_operator, got"):
        four_bit_model(file)
