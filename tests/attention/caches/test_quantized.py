import pytest
import torch

from course_utils.attention import KVCache, QuantizedCache, quantize_kv
from tests.attention.caches.support import LENGTH, B, new_cache, qkv, read


def test_agrees_with_torch_s_own_quantisation_row_by_row() -> None:
    x = qkv()[1].float()
    q, scale = quantize_kv(x)
    for row, steps, step in zip(x.flatten(0, 2), q.flatten(0, 2), scale.flatten(), strict=True):
        peer = torch.fake_quantize_per_tensor_affine(row, float(step), 0, -127, 127)
        torch.testing.assert_close(steps * step, peer)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_nothing_is_off_by_more_than_half_a_step(dtype) -> None:
    x = (qkv()[1] * 30).to(dtype)
    q, scale = quantize_kv(x)
    assert q.dtype == torch.int8
    assert scale.dtype == dtype
    assert int(q.abs().max()) == 127
    step = scale.double()
    torch.testing.assert_close(q.double(), (x.double() / step).round().clamp(-127, 127))
    assert ((q.double() * step - x.double()).abs() <= 0.5 * step + 1e-6 * step).all()
    restored = (q * scale).double()  # rounded once more, to its dtype
    assert ((restored - x.double()).abs() <= step * (0.5001 + 64 * torch.finfo(dtype).eps)).all()


def test_a_row_of_zeros_has_the_scale_one() -> None:
    q, scale = quantize_kv(torch.zeros(1, 2, 3, 4))
    assert not q.any()
    assert (scale == 1).all()


def test_gradients_of_the_scale_are_finite() -> None:
    x = qkv()[1]
    x[0, 0] = 0.0
    x.requires_grad_()
    (slope,) = torch.autograd.grad(quantize_kv(x)[1].sum(), x)
    assert slope.isfinite().all()
    assert slope.any()


def test_a_token_is_rounded_the_same_whatever_comes_after_it() -> None:
    _, key, value = qkv()
    one, other = new_cache("quantized"), new_cache("quantized")
    one.append(key, value)
    other.append(key[:, :, :5], value[:, :, :5])
    other.append(100 * key[:, :, 5:], 100 * value[:, :, 5:])
    assert torch.equal(one.key[:, :, :5], other.key[:, :, :5])
    assert torch.equal(one.key_scale[:, :, :5], other.key_scale[:, :, :5])


def test_the_output_is_near_that_of_the_cache_that_rounds_nothing() -> None:
    given = qkv()
    rounded = read(new_cache("quantized"), (LENGTH,), *given)
    exact = read(new_cache("plain"), (LENGTH,), *given)
    error = (rounded - exact).abs().max()
    assert 0 < error < 0.02 * exact.abs().max()


def test_a_number_takes_one_byte_and_a_row_one_scale() -> None:
    sizes = (B, 3, 10, 64)
    assert QuantizedCache(*sizes).num_bytes == 2 * B * 3 * 10 * (64 + 4)
    assert KVCache(*sizes).num_bytes == 2 * B * 3 * 10 * 64 * 4
    half = QuantizedCache(*sizes, dtype=torch.bfloat16).num_bytes
    assert half / KVCache(*sizes, dtype=torch.bfloat16).num_bytes == (64 + 2) / 128
