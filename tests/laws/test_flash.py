"""The flash kernels in Triton's interpreter, at sizes that no tile fits."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention.tiled.flash.flash import flash_attention
from tests.laws.test_public_functions import few, spread_out

pytest.importorskip("triton")
small = st.integers(1, 4)
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
NAMES = ("query", "key", "value")


def drawn(
    batch: int, kv_heads: int, group: int, queries: int, keys: int, width: int, dtype: torch.dtype
) -> dict[str, Tensor]:
    g = torch.Generator().manual_seed(1)
    shapes = [(batch, kv_heads * group, queries, width)] + 2 * [(batch, kv_heads, keys, width)]
    made = [torch.randn(shape, generator=g).to(dtype) for shape in shapes]
    return dict(zip(NAMES, made, strict=True))


@pytest.mark.thorough
@few
@given(small, small, small, small, small, st.integers(1, 9), st.sampled_from(DTYPES), st.booleans())
def test_output_and_gradients_are_those_of_torch_in_any_layout(
    batch: int, kv_heads: int, group: int, queries: int, keys: int, width: int,
    dtype: torch.dtype, is_causal: bool,
) -> None:  # fmt: skip
    given = drawn(batch, kv_heads, group, queries, keys, width, dtype)
    kept = {name: x.clone() for name, x in given.items()}
    spread = [spread_out(x).requires_grad_() for x in given.values()]
    exact = [x.double().requires_grad_() for x in given.values()]
    out = flash_attention(*spread, is_causal=is_causal)
    right = F.scaled_dot_product_attention(*exact, is_causal=is_causal, enable_gqa=True)
    out.sum().backward()
    right.sum().backward()
    assert out.dtype == dtype
    room = {torch.float32: 1e-4, torch.float16: 0.02, torch.bfloat16: 0.1}[dtype]
    torch.testing.assert_close(out.double(), right, rtol=room, atol=room)
    for one, other in zip(spread, exact, strict=True):
        torch.testing.assert_close(one.grad.double(), other.grad, rtol=room, atol=10 * room)
    assert all(torch.equal(given[name], kept[name]) for name in NAMES)


@pytest.mark.parametrize("sizes", [(0, 1, 2, 2, 3, 4), (2, 1, 2, 0, 3, 4), (2, 1, 2, 2, 0, 4)])
def test_without_sequences_queries_or_keys_the_output_is_empty_or_zeros(
    sizes: tuple[int, ...],
) -> None:
    given = drawn(*sizes, torch.float32)
    out = flash_attention(**given)
    assert torch.equal(out, torch.zeros_like(given["query"]))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_what_is_no_number_stays_in_its_sequence(name: str, bad: float) -> None:
    clean, given = (drawn(2, 1, 2, 3, 4, 8, torch.float32) for _ in range(2))
    given[name][0, 0, 0, 0] = bad
    spoilt, right = flash_attention(**given), flash_attention(**clean)
    torch.testing.assert_close(spoilt[1], right[1])
    assert not bool(spoilt[0].isfinite().all())
