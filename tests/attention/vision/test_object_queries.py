"""Object queries against SDPA, and what they are for."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_utils.attention import object_query_attention


def inputs(batch: int, queries: int, keys: int, d: int, d_k: int, d_v: int) -> tuple[Tensor, ...]:
    g = torch.Generator().manual_seed(queries + keys)
    shapes = ((batch, queries, d), (queries, d), (batch, keys, d), (keys, d))
    shapes = (*shapes, (d, d_k), (d, d_k), (d, d_v))
    return tuple(torch.randn(shape, generator=g, dtype=torch.float64) for shape in shapes)


def by_sdpa(x, query_position, memory, memory_position, W_q, W_k, W_v) -> Tensor:
    query, key = (x + query_position) @ W_q, (memory + memory_position) @ W_k
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(query, key, memory @ W_v)


@pytest.mark.parametrize(
    "sizes", [(2, 3, 5, 4, 6, 7), (1, 6, 2, 3, 1, 4), (3, 1, 4, 2, 5, 1), (2, 4, 1, 3, 2, 5)]
)
@pytest.mark.peer(
    "14", "`object_query_attention`", "SDPA on sums that are projected", "float64 1e-7",
    "outputs, gradients",
)  # fmt: skip
def test_agrees_with_torch_on_projected_sums(sizes) -> None:
    given = tuple(one.requires_grad_() for one in inputs(*sizes))
    out, want = object_query_attention(*given), by_sdpa(*given)
    torch.testing.assert_close(out, want)
    slope = torch.randn(out.shape, dtype=out.dtype, generator=torch.Generator().manual_seed(3))
    got = torch.autograd.grad(out, given, slope)
    torch.testing.assert_close(got, torch.autograd.grad(want, given, slope))


def test_queries_that_are_alike_answer_alike() -> None:
    x, asks, *rest = inputs(2, 4, 5, 3, 6, 7)
    out = object_query_attention(torch.zeros_like(x), asks[:1].expand_as(asks), *rest)
    torch.testing.assert_close(out, out[:, :1].expand_as(out))


def test_what_is_read_knows_no_position() -> None:
    x, asks, memory, places, *matrices = inputs(2, 4, 5, 3, 6, 7)
    same = memory[:, :1].expand_as(memory)
    out = object_query_attention(x, asks, same, places, *matrices)
    torch.testing.assert_close(out, (same @ matrices[2])[:, :1].expand_as(out))


def test_a_memory_of_another_batch_or_dtype_is_named() -> None:
    x, asks, memory, *rest = inputs(2, 3, 5, 4, 6, 7)
    with pytest.raises(TypeError, match="all must have the same dtype"):
        object_query_attention(x.float(), asks, memory, *rest)
    with pytest.raises(ValueError, match=r"memory must have the shape \(2, 5, 4\)"):
        object_query_attention(x, asks, memory[:1], *rest)
