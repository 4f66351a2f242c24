import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention.tiled.flash.flash import flash_attention
from course_utils.attention.tiled.flash.launch import Tiling, Tilings, flash_backward, flash_forward

pytest.importorskip("triton", reason="the kernels need triton, which exists for Linux")

# Queries, keys; tiles have 64 rows, so that there is less than a tile, one, and a ragged rest.
LENGTHS = (
    (1, 1), (1, 70), (5, 130), (33, 17), (64, 64), (65, 64), (64, 65), (70, 5), (99, 70), (130, 65),
)  # fmt: skip
# Relative to the largest entry, as the chapter promises.
ROOM = {torch.float32: (1e-6, 1e-5), torch.float16: (1e-3, 2e-3)}


def made(
    num_queries: int, num_keys: int, width: int, dtype: torch.dtype, *, size: float = 1.0,
    heads: int = 2, kv_heads: int = 1, batch: int = 1,
) -> list[Tensor]:  # fmt: skip
    g = torch.Generator().manual_seed(num_queries * 1000 + num_keys + width)
    shapes = ((heads, num_queries), (kv_heads, num_keys), (kv_heads, num_keys))
    made = [torch.randn(batch, *shape, width, generator=g) for shape in shapes]
    return [x.mul(s).to(dtype) for x, s in zip(made, (size, size, 1.0), strict=True)]


def through(attend: Callable[..., Tensor], given: list[Tensor], grad_out: Tensor) -> list[Tensor]:
    """Return the output and the three gradients."""
    leaves = [x.detach().clone().requires_grad_() for x in given]
    out = attend(*leaves)
    out.backward(grad_out)
    return [out.detach(), *(x.grad for x in leaves if x.grad is not None)]


def exact(given: list[Tensor], grad_out: Tensor, is_causal: bool) -> list[Tensor]:
    def attend(*qkv: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(*qkv, is_causal=is_causal, enable_gqa=True)

    return through(attend, [x.double() for x in given], grad_out.double())


def errors(given: list[Tensor], is_causal: bool) -> list[float]:
    """Return how far output and gradients are from float64, relative to their largest entries."""
    grad_out = torch.randn(given[0].shape, generator=torch.Generator().manual_seed(1))
    grad_out = grad_out.to(given[0])
    got = through(lambda *qkv: flash_attention(*qkv, is_causal), given, grad_out)
    want = exact(given, grad_out, is_causal)
    return [
        ((a.double() - b).abs().max() / b.abs().max().clamp(min=0.1)).item()
        for a, b in zip(got, want, strict=True)
    ]


def error_of_sdpa(given: list[Tensor], is_causal: bool) -> float:
    """Return the error of torch's own output in the inputs' dtype, measured likewise."""
    got = F.scaled_dot_product_attention(*given, is_causal=is_causal, enable_gqa=True)
    want = exact(given, torch.ones_like(given[0]), is_causal)[0]
    return ((got.double() - want).abs().max() / want.abs().max().clamp(min=0.1)).item()


@pytest.mark.thorough
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("width", [16, 32, 64])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize(("num_queries", "num_keys"), LENGTHS)
def test_output_and_gradients_equal_float64_sdpa(
    num_queries: int, num_keys: int, dtype: torch.dtype, width: int, is_causal: bool
) -> None:
    room, room_of_gradients = ROOM[dtype]
    out, *gradients = errors(made(num_queries, num_keys, width, dtype), is_causal)
    assert out <= room
    assert max(gradients) <= room_of_gradients


@pytest.mark.thorough
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("width", [8, 20, 80, 128])
def test_widths_that_are_no_power_of_two_are_filled_up(width: int, is_causal: bool) -> None:
    given = made(66, 70, width, torch.float32)
    out, *gradients = errors(given, is_causal)
    assert out <= 2 * error_of_sdpa(given, is_causal)
    assert max(gradients) <= 1e-5


@pytest.mark.parametrize("kv_heads", [1, 2, 6])
def test_query_heads_share_the_heads_of_keys(kv_heads: int) -> None:
    given = made(20, 30, 16, torch.float32, heads=6, kv_heads=kv_heads, batch=2)
    assert max(errors(given, True)) <= 1e-5


@pytest.mark.parametrize("is_causal", [False, True])
def test_large_scores_stay_exact(is_causal: bool) -> None:
    given = made(70, 90, 32, torch.float32, size=30.0)
    out, *gradients = errors(given, is_causal)
    assert out <= 2 * error_of_sdpa(given, is_causal)  # scores near 5000 are rounded to 5e-4
    assert all(math.isfinite(g) for g in gradients)


def test_scores_far_below_zero_beside_a_ragged_tail_give_no_nan() -> None:
    query, key, value = made(5, 70, 16, torch.float32)
    query[..., 0], key[..., 0] = 40.0, -40.0  # every score near -400, and exp2(400) is inf
    assert max(errors([query, key, value], False)) <= 1e-4


def test_bfloat16_goes_through_float32_on_a_cpu() -> None:
    given = made(33, 70, 16, torch.bfloat16)
    grad_out = torch.ones_like(given[0])
    got = through(flash_attention, given, grad_out)
    assert {x.dtype for x in got} == {torch.bfloat16}
    for one, other in zip(got, exact(given, grad_out, False), strict=True):
        rounded = (other.bfloat16().double() - other).abs().max()
        assert (one.double() - other).abs().max() <= 2 * rounded


def test_inputs_may_lie_in_memory_in_any_way() -> None:
    given = made(20, 30, 16, torch.float32, heads=3, kv_heads=3, batch=2)
    want = exact(given, torch.ones_like(given[0]), True)
    by_position = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in given]
    by_column = [x.mT.contiguous().mT for x in given]
    shifted = [torch.empty(x.numel() + 1)[1:].view(x.shape).copy_(x) for x in given]
    for given in (by_position, by_column, shifted):
        got = through(lambda *qkv: flash_attention(*qkv, True), given, torch.ones(2, 3, 20, 16))
        torch.testing.assert_close([x.double() for x in got], want, rtol=1e-5, atol=1e-6)


def test_an_expanded_gradient_is_understood() -> None:
    query = made(20, 30, 16, torch.float32)[0].requires_grad_()
    flash_attention(query, query, query).sum().backward()
    assert query.grad is not None
    other = query.detach().double().requires_grad_()
    F.scaled_dot_product_attention(other, other, other).sum().backward()
    torch.testing.assert_close(query.grad.double(), other.grad, rtol=1e-5, atol=1e-6)


def test_without_a_key_the_output_is_zero_and_so_are_the_gradients() -> None:
    got = through(flash_attention, made(5, 0, 16, torch.float32), torch.ones(1, 2, 5, 16))
    assert [x.count_nonzero().item() for x in got] == [0, 0, 0, 0]
    assert flash_attention(*made(0, 5, 16, torch.float32)).shape == (1, 2, 0, 16)


def test_lse_is_the_logsumexp_of_the_scaled_scores_to_base_2() -> None:
    query, key, value = made(20, 70, 16, torch.float32, kv_heads=2)
    lse = flash_forward(query, key, value, 0.25)[1]
    scores = query.double() @ key.double().mT * 0.25
    torch.testing.assert_close(lse.double() * math.log(2), scores.logsumexp(-1), rtol=0, atol=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize(("block_q", "block_k"), [(16, 16), (16, 64), (64, 16), (32, 128)])
@pytest.mark.parametrize("is_causal", [False, True])
def test_the_result_does_not_depend_on_the_tiles(
    block_q: int, block_k: int, is_causal: bool
) -> None:
    query, key, value = made(50, 70, 16, torch.float32)
    cut = Tilings(*[Tiling(block_q, block_k, 1, 1)] * 3)
    grad_out = torch.ones_like(query)
    out, lse = flash_forward(query, key, value, 0.25, is_causal, cut)
    grads = flash_backward(query, key, value, out, lse, grad_out, 0.25, is_causal, cut)
    want = exact([query, key, value], grad_out, is_causal)
    got = [x.double() for x in (out, *grads)]
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)


def test_inputs_are_left_as_they_are() -> None:
    given = made(20, 30, 16, torch.float32)
    before = [x.clone() for x in given]
    through(flash_attention, given, torch.ones(1, 2, 20, 16))
    assert all(map(torch.equal, given, before))


def test_a_second_derivative_is_refused() -> None:
    query = made(5, 5, 16, torch.float32)[0].requires_grad_()
    out = flash_attention(query, query, query)
    (first,) = torch.autograd.grad(out.square().sum(), query, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="the compiled kernels need a GPU")
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("width", [16, 40, 64, 128])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_the_compiled_kernels_equal_float64_too(
    dtype: torch.dtype, width: int, is_causal: bool
) -> None:
    given = [x.cuda() for x in made(300, 333, width, dtype, heads=4, kv_heads=2, batch=2)]
    room = {torch.float32: 1e-5, torch.float16: 3e-3, torch.bfloat16: 2e-2}[dtype]
    assert max(errors(given, is_causal)) <= room
