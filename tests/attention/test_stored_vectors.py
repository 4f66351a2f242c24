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
