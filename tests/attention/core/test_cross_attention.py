import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_utils.attention import cross_attention, scaled_dot_product_attention
from tests.support import LEADING, LENGTHS, assert_same_function, draw

PROJECTED = pytest.mark.peer(
    "04",
    "`cross_attention`",
    "SDPA on projected inputs; `nn.MultiheadAttention` with one head",
    "float64 1e-7",
    "outputs, gradients",
)


def inputs(leading: tuple[int, ...], length: int, context_length: int) -> tuple[Tensor, ...]:
    sequences = ((*leading, length, 4), (*leading, context_length, 6))
    shapes = (*sequences, (4, 3), (6, 3), (6, 7))
    return tuple(draw(*shape, seed=i).requires_grad_() for i, shape in enumerate(shapes))


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize(("length", "context_length"), LENGTHS)
@PROJECTED
def test_agrees_with_torch_on_projected_inputs(leading, length, context_length) -> None:
    def torch_s(x, context, W_q, W_k, W_v):
        projected = F.linear(x, W_q.T), F.linear(context, W_k.T), F.linear(context, W_v.T)
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(*projected)

    assert_same_function(cross_attention, torch_s, inputs(leading, length, context_length))


@PROJECTED
def test_agrees_with_torch_s_module_of_one_head() -> None:
    d, d_c = 4, 6
    mha = torch.nn.MultiheadAttention(
        d, 1, bias=False, kdim=d_c, vdim=d_c, batch_first=True, dtype=torch.float64
    )
    with torch.no_grad():
        mha.out_proj.weight.copy_(torch.eye(d))
    matrices = [w.T for w in (mha.q_proj_weight, mha.k_proj_weight, mha.v_proj_weight)]
    x, context = draw(2, 3, d).requires_grad_(), draw(2, 5, d_c).requires_grad_()
    assert_same_function(
        lambda x, context: cross_attention(x, context, *matrices),
        lambda x, context: mha(x, context, context)[0],
        (x, context),
    )


def test_with_itself_as_context_it_is_self_attention() -> None:
    x, W_q, W_k, W_v = draw(2, 5, 4), draw(4, 3), draw(4, 3, seed=1), draw(4, 7, seed=2)
    want = scaled_dot_product_attention(x @ W_q, x @ W_k, x @ W_v)
    torch.testing.assert_close(cross_attention(x, x, W_q, W_k, W_v), want)


def test_the_order_of_the_context_does_not_matter() -> None:
    x, context, *matrices = inputs((2,), 3, 5)
    shuffled = context[:, torch.tensor([3, 0, 4, 1, 2])]
    torch.testing.assert_close(
        cross_attention(x, context, *matrices), cross_attention(x, shuffled, *matrices)
    )
