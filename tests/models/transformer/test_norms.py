import pytest
import torch

from course_utils.models import layer_norm, rms_norm


def rows(*shape: int, mean: float = 0.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return mean + torch.randn(shape, generator=generator, dtype=torch.float64)


def test_a_row_of_equal_numbers_gives_the_bias_and_one_of_zeros_zeros() -> None:
    gain, bias = rows(4), rows(2, 4)[1]
    assert torch.equal(layer_norm(torch.full((3, 4), 7.0).double(), gain, bias), bias.expand(3, 4))
    assert torch.equal(rms_norm(torch.zeros(3, 4).double(), gain), torch.zeros(3, 4).double())


def test_far_from_zero_float32_keeps_three_digits() -> None:
    x = rows(8, 64, mean=1000.0).float()
    gain, bias = torch.ones(64), torch.zeros(64)
    wanted = layer_norm(x.double(), gain.double(), bias.double())
    torch.testing.assert_close(layer_norm(x, gain, bias).double(), wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_16_bits_are_rounded_once(dtype: torch.dtype) -> None:
    x, gain, bias = (400 * rows(3, 8)).to(dtype), rows(8).to(dtype), rows(8).to(dtype)
    wide = x.float(), gain.float(), bias.float()
    assert torch.equal(rms_norm(x, gain), rms_norm(*wide[:2]).to(dtype))
    assert torch.equal(layer_norm(x, gain, bias), layer_norm(*wide).to(dtype))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="x needs at least one axis"):
        rms_norm(torch.tensor(1.0), torch.ones(3))
