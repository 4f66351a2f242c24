import pytest
import torch
from torch import Tensor

from course_utils.attention import (
    causal_linear_attention,
    linear_attention_step,
    recurrent_linear_attention,
)
from tests.support import LEADING, draw


def walk(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    *leading, length, d_k = query.shape
    state = query.new_zeros(*leading, d_k, value.shape[-1])
    normaliser, read = query.new_zeros(*leading, d_k), []
    for token in range(length):
        q, k, v = (x[..., token, :] for x in (query, key, value))
        state, normaliser, out = linear_attention_step(state, normaliser, q, k, v)
        read.append(out)
    return torch.stack(read, -2)


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("whole", [causal_linear_attention, recurrent_linear_attention])
def test_token_by_token_it_is_causal_linear_attention(leading, whole) -> None:
    given = [draw(*leading, 9, width, seed=i) for i, width in enumerate((4, 4, 6))]
    for tensor in given:
        tensor.requires_grad_()
    out, want = walk(*given), whole(*given)
    torch.testing.assert_close(out, want)
    grad_out = draw(*out.shape, seed=9)
    got = torch.autograd.grad(out, given, grad_out)
    torch.testing.assert_close(got, torch.autograd.grad(want, given, grad_out))


@pytest.mark.parametrize(("dtype", "room"), [(torch.float64, 1e-14), (torch.float32, 1e-5)])
def test_rounding_does_not_gather_over_200_tokens(dtype, room) -> None:
    given = [draw(200, 8, seed=i, dtype=dtype) for i in range(3)]
    apart = (walk(*given) - causal_linear_attention(*given)).abs().max()
    assert apart < room
