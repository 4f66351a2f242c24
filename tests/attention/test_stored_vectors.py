import math

import pytest
import torch
from torch import Tensor

from course_utils.attention import causal_mask, memory_attention, scaled_dot_product_attention

B, H, L, M, D_K, D_V = 2, 3, 4, 7, 5, 6


def given() -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = [(L, D_K), (L, D_K), (L, D_V), (M, D_K), (M, D_V)]
    made = [torch.randn(B, H, *s, generator=generator, dtype=torch.float64) for s in shapes]
    return [*made, torch.randn(H, generator=generator, dtype=torch.float64)]


def naive(query, key, value, memory_key, memory_value, gate, top_k: int) -> Tensor:
    """One query at a time, every memory sorted by its score."""
    out = torch.empty(B, H, L, D_V, dtype=torch.float64)
    for b in range(B):
        for h in range(H):
            g = 1 / (1 + math.exp(-gate[h]))
            for i in range(L):
                q = query[b, h, i] / math.sqrt(D_K)
                near = torch.softmax(key[b, h, : i + 1] @ q, 0) @ value[b, h, : i + 1]
                order = sorted(range(M), key=lambda m: -float(memory_key[b, h, m] @ q))[:top_k]
                weights = torch.softmax(memory_key[b, h, order] @ q, 0)
                out[b, h, i] = g * (weights @ memory_value[b, h, order]) + (1 - g) * near
    return out


@pytest.mark.parametrize("top_k", [1, 3, M, M + 4])
def test_it_is_what_a_loop_over_queries_finds(top_k) -> None:
    *tensors, gate = given()
    made = memory_attention(*tensors, top_k, gate)
    torch.testing.assert_close(made, naive(*tensors, gate, top_k), rtol=0, atol=1e-14)


@pytest.mark.parametrize(("gate", "which"), [(40.0, "far"), (-40.0, "near"), (0.0, "both")])
def test_the_gate_says_how_much_comes_from_far(gate, which) -> None:
    query, key, value, memory_key, memory_value, _ = given()
    made = memory_attention(
        query, key, value, memory_key, memory_value, M, torch.full((H,), gate).double()
    )
    far = scaled_dot_product_attention(query, memory_key, memory_value)
    near = scaled_dot_product_attention(query, key, value, causal_mask(L, L, offset=0))
    want = {"far": far, "near": near, "both": (far + near) / 2}[which]
    torch.testing.assert_close(made, want, rtol=0, atol=1e-14)


def test_gradients_reach_what_is_learned() -> None:
    query, key, value, memory_key, memory_value, gate = given()
    wanted = (query, key, value, gate)

    def read(*wanted: Tensor) -> Tensor:
        return memory_attention(*wanted[:3], memory_key, memory_value, 3, wanted[3])

    assert torch.autograd.gradcheck(read, [x.requires_grad_() for x in wanted])


def test_without_a_memory_it_is_refused() -> None:
    query, key, value, memory_key, memory_value, gate = given()
    with pytest.raises(ValueError, match="the number of memories must be at least 1, got 0"):
        memory_attention(query, key, value, memory_key[:, :, :0], memory_value[:, :, :0], 2, gate)
