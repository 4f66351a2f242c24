"""Test blocks of weights one number at a time, and what rounding to them keeps."""

import struct

import pytest
import torch

from course_utils.models.released.gguf.blocks import (
    dequantize_q4_1,
    dequantize_q8_0,
    quantize_blocks,
)
from tests.support import draw


def _bytes(shape: tuple[int, int]) -> torch.Tensor:
    g = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, shape, generator=g, dtype=torch.uint8)


def _with_halves(blocks: torch.Tensor, count: int) -> torch.Tensor:
    halves = draw(len(blocks), count).half().view(torch.uint8)
    return torch.cat([halves, blocks[:, 2 * count :]], dim=1)


def test_four_bits_are_the_format_byte_by_byte() -> None:
    blocks = _with_halves(_bytes((6, 20)), 2)
    for block, weights in zip(blocks, dequantize_q4_1(blocks), strict=True):
        raw = bytes(block.tolist())
        d, m = struct.unpack("<ee", raw[:4])
        want = [d * (byte & 15) + m for byte in raw[4:]] + [d * (byte >> 4) + m for byte in raw[4:]]
        torch.testing.assert_close(weights, torch.tensor(want))


def test_eight_bits_are_the_format_byte_by_byte() -> None:
    blocks = _with_halves(_bytes((6, 34)), 1)
    for block, weights in zip(blocks, dequantize_q8_0(blocks), strict=True):
        d, *levels = struct.unpack("<e32b", bytes(block.tolist()))
        torch.testing.assert_close(weights, torch.tensor([d * level for level in levels]))


def test_every_second_row_of_a_table_is_read_too() -> None:
    table = _with_halves(_bytes((8, 20)), 2)
    torch.testing.assert_close(dequantize_q4_1(table[::2]), dequantize_q4_1(table)[::2])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("bits", [1, 3, 8])
@pytest.mark.parametrize("block", [2, 5, 10])
def test_what_is_rounded_is_off_by_half_a_scale_at_most(bits, block, dtype) -> None:
    x = draw(2, 3, 10, dtype=dtype)
    x[0, 0] = 7.0  # a block of equal numbers
    q, scale, low = quantize_blocks(x, bits, block)
    assert q.dtype == torch.uint8
    assert scale.dtype == low.dtype == dtype
    assert int(q.max()) == 2**bits - 1
    assert (scale[0, 0] == 1).all()
    back = (q.unflatten(-1, (-1, block)) * scale.unsqueeze(-1) + low.unsqueeze(-1)).flatten(-2)
    off = (back - x).abs().unflatten(-1, (-1, block))
    assert (off <= scale.unsqueeze(-1) * (0.5 + 1e-5)).all()


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: dequantize_q4_1(torch.zeros(3, 20)), TypeError, "blocks must be bytes"),
        (lambda: dequantize_q4_1(_bytes((3, 34))), ValueError, r"axes \(n, 20\), got \(3, 34\)"),
        (lambda: dequantize_q8_0(_bytes((3, 20))), ValueError, r"axes \(n, 34\), got \(3, 20\)"),
        (lambda: quantize_blocks(draw(6), 9, 2), ValueError, "bits must be at most 8, got 9"),
        (lambda: quantize_blocks(draw(6), 4, 4), ValueError, "block must divide the last axis"),
    ],
)
def test_other_blocks_are_refused(call, error, says) -> None:
    with pytest.raises(error, match=says):
        call()
