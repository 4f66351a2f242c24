import math

import pytest
import torch
from torch import Tensor

from course_utils.attention import (
    online_softmax_step,
    tiled_attention,
    tiled_attention_backward,
)
from course_utils.measure import hbm_traffic, trace_torch, trace_triton

FLOAT = 4


def square(length: int, d: int = 16) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(1, 1, length, d, generator=generator) for _ in range(3))
    return query, key, value


def plain(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return torch.softmax(query @ key.mT, dim=-1) @ value


def keys_outside(query: Tensor, key: Tensor, value: Tensor, block_k: int) -> tuple[Tensor, ...]:
    """Attend in the order of the first FlashAttention: o, l and m go to and fro."""
    o, l = torch.zeros_like(query), query.new_zeros(query.shape[:-1])  # noqa: E741
    m = torch.full_like(l, -torch.inf)
    for keys in torch.arange(key.shape[-2]).split(block_k):
        k, v = (x[..., keys[0] : keys[-1] + 1, :].clone() for x in (key, value))
        for rows in (slice(i, i + 8) for i in range(0, query.shape[-2], 8)):
            old_m, old_l = m[..., rows].clone(), l[..., rows].clone()
            acc = o[..., rows, :] * old_l.unsqueeze(-1)
            scores = query[..., rows, :] @ k.mT
            m[..., rows], new_l, acc = online_softmax_step(old_m, old_l, acc, scores, v)
            l[..., rows], o[..., rows, :] = new_l, acc / new_l.unsqueeze(-1)
    return o, l, m


@pytest.mark.parametrize("length", [64, 100])
def test_plain_attention_moves_what_the_formula_says(length) -> None:
    trace = trace_torch(plain, *square(length), sram_elements=1000)
    assert trace.bytes_moved == FLOAT * hbm_traffic(length, 16, 1000)[0]
    assert (trace.loads, trace.stores) == (5, 3)


@pytest.mark.parametrize("length", [64, 100])
@pytest.mark.parametrize("sram_elements", [1000, 2000])
def test_keys_outside_move_what_the_formula_says(sram_elements, length) -> None:
    given, block_k = square(length), math.ceil(sram_elements / (4 * 16))
    torch.testing.assert_close(keys_outside(*given, block_k)[0], plain(*given))
    call = lambda *x: keys_outside(*x, block_k)  # noqa: E731
    trace = trace_torch(call, *given, sram_elements=sram_elements)
    zeros = length * 16 + 2 * length  # the first o, l and m, which the formula leaves out
    assert trace.bytes_moved == FLOAT * (hbm_traffic(length, 16, sram_elements)[1] + zeros)


@pytest.mark.parametrize("length", [64, 100])
@pytest.mark.parametrize("block_q", [8, 16, 200])
def test_queries_outside_read_all_keys_once_a_tile_of_queries(block_q, length) -> None:
    call = lambda *x: tiled_attention(*x, block_q, 16)  # noqa: E731
    trace = trace_torch(call, *square(length), sram_elements=6400)
    tiles = math.ceil(length / block_q)
    assert trace.bytes_loaded == FLOAT * (length * 16 + tiles * 2 * length * 16)
    assert trace.bytes_stored == FLOAT * (length * 16 + length)
    assert (trace.loads, trace.stores) == (tiles * (1 + 2 * math.ceil(length / 16)), 2 * tiles)


def test_skipped_tiles_are_not_loaded() -> None:
    call = lambda *x: tiled_attention(*x, 16, 16, True)  # noqa: E731
    assert trace_torch(call, *square(64), sram_elements=1000).loads == 4 + 2 * (1 + 2 + 3 + 4)


def test_a_backward_pass_is_traced_too() -> None:
    query, key, value = square(64)
    out, lse = tiled_attention(query, key, value, 16, 16)
    call = lambda *x: tiled_attention_backward(*x, 16, 16)  # noqa: E731
    trace = trace_torch(call, query, key, value, out, lse, out, sram_elements=2000)
    matrix, tiles = 64 * 16, 4
    in_the_loop = 8 * matrix + 64  # k twice, v, dO twice, dq, dk and dv; lse
    assert trace.bytes_loaded == FLOAT * (3 * matrix + tiles * in_the_loop)


def test_an_operation_in_place_loads_and_stores_and_an_overwriting_one_stores() -> None:
    x, y = torch.ones(100), torch.ones(100)
    moved = {
        "add": (lambda x, y: x.add_(y), (2, 1)),
        "copy": (lambda x, y: x.copy_(y), (1, 1)),
        "fill": (lambda x, y: x.fill_(2.0), (0, 1)),
        "out=": (lambda x, y: torch.exp(y, out=x), (1, 1)),
        "view": (lambda x, y: x[5:].view(5, 19).mT, (0, 0)),
        "shape": (lambda x, y: torch.zeros_like(x[:0]), (0, 0)),
    }
    for call, expected in moved.values():
        trace = trace_torch(call, x, y, sram_elements=10)
        assert (trace.loads, trace.stores) == expected
        assert trace.bytes_moved == 100 * FLOAT * sum(expected)


def test_what_fits_into_the_fast_memory_never_leaves_it() -> None:
    x = torch.ones(100)
    call = lambda x: x.exp().sum()  # noqa: E731
    assert trace_torch(call, x, sram_elements=100).bytes_moved == FLOAT * (100 + 1)
    assert trace_torch(call, x, sram_elements=99).bytes_moved == FLOAT * (100 + 200 + 1)


def test_what_a_function_reaches_without_an_argument_is_given_too() -> None:
    given = square(64)
    trace = trace_torch(lambda: plain(*given), sram_elements=1000)
    assert trace == trace_torch(plain, *given, sram_elements=1000)


def test_a_number_repeated_along_an_axis_is_loaded_once() -> None:
    x = torch.ones(1, 7).expand(50, 7)
    assert trace_torch(torch.sum, x, sram_elements=10).bytes_loaded == FLOAT * 7


@pytest.fixture
def flash_attention():
    pytest.importorskip("triton")
    return pytest.importorskip("course_utils.attention.tiled.flash.flash").flash_attention


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("length", [64, 150])
def test_the_triton_kernel_moves_what_the_same_tiles_in_torch_do(
    flash_attention, length, is_causal
) -> None:
    given = square(length)
    theirs = trace_triton(flash_attention, *given, is_causal)
    call = lambda *x: tiled_attention(*x, 64, 64, is_causal)  # noqa: E731
    assert theirs == trace_torch(call, *given, sram_elements=10_000)
    assert trace_triton(flash_attention, *given, is_causal) == theirs  # and once more, from zero


def test_half_as_many_bytes_move_in_half_precision(flash_attention) -> None:
    full, half = (
        trace_triton(flash_attention, *(x.to(dtype) for x in square(64)))
        for dtype in (torch.float32, torch.float16)
    )
    assert half.bytes_loaded == full.bytes_loaded / 2


def test_without_a_kernel_there_is_nothing_to_trace() -> None:
    pytest.importorskip("triton")
    with pytest.raises(ValueError, match="must run a Triton kernel in the interpreter"):
        trace_triton(plain, *square(8))
