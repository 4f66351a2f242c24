import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_utils.attention import cross_attention, scaled_dot_product_attention

LENGTHS = [(3, 5), (5, 5), (7, 4), (1, 6), (6, 1), (1, 1)]
LEADING = [(), (2,), (2, 3)]


def draw(*shape: int, seed: int = 0) -> Tensor:
    g = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=g, dtype=torch.float64)


def inputs(leading: tuple[int, ...], length: int, context_length: int) -> tuple[Tensor, ...]:
    sequences = ((*leading, length, 4), (*leading, context_length, 6))
    shapes = (*sequences, (4, 3), (6, 3), (6, 7))
    return tuple(draw(*shape, seed=i).requires_grad_() for i, shape in enumerate(shapes))


def assert_same_function(ours, theirs, given: tuple[Tensor, ...]) -> None:
    """Compare outputs and the gradients of a random loss."""
    out, want = ours(*given), theirs(*given)
    torch.testing.assert_close(out, want)
    grad_out = draw(*out.shape, seed=9)
    got = torch.autograd.grad(out, given, grad_out)
    torch.testing.assert_close(got, torch.autograd.grad(want, given, grad_out))


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize(("length", "context_length"), LENGTHS)
@pytest.mark.peer(
    "04",
    "`cross_attention`",
    "SDPA on projected inputs; `nn.MultiheadAttention` with one head",
    "float64 1e-7",
    "outputs, gradients",
)
def test_agrees_with_torch_on_projected_inputs(leading, length, context_length) -> None:
    def torch_s(x, context, W_q, W_k, W_v):
        projected = F.linear(x, W_q.T), F.linear(context, W_k.T), F.linear(context, W_v.T)
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(*projected)

    assert_same_function(cross_attention, torch_s, inputs(leading, length, context_length))


@pytest.mark.peer(
    "04",
    "`cross_attention`",
    "SDPA on projected inputs; `nn.MultiheadAttention` with one head",
    "float64 1e-7",
    "outputs, gradients",
)
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


def test_agrees_with_a_loop_over_pairs() -> None:
    x, context, W_q, W_k, W_v = (given.detach() for given in inputs((), 3, 5))
    rows = []
    for asking in x:
        scores = [float((asking @ W_q) @ (entry @ W_k)) / math.sqrt(3) for entry in context]
        powers = [math.exp(score) for score in scores]
        weights = torch.tensor(powers, dtype=torch.float64) / sum(powers)
        rows.append(
            sum(weight * (entry @ W_v) for weight, entry in zip(weights, context, strict=True))
        )
    torch.testing.assert_close(cross_attention(x, context, W_q, W_k, W_v), torch.stack(rows))


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


X, C = torch.zeros(2, 3, 4), torch.zeros(2, 5, 6)
W_Q, W_K, W_V = torch.zeros(4, 3), torch.zeros(6, 3), torch.zeros(6, 7)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: cross_attention(X[0, 0], C, W_Q, W_K, W_V), ValueError, "x must have the axes"),
        (
            lambda: cross_attention(X, C[0, 0], W_Q, W_K, W_V),
            ValueError,
            "context must have the axes",
        ),
        (lambda: cross_attention(X, C.long(), W_Q, W_K, W_V), TypeError, "context must have a"),
        (
            lambda: cross_attention(X, C[:1].expand(3, 5, 6), W_Q, W_K, W_V),
            ValueError,
            r"leading axes must broadcast .* x \(2, 3, 4\), context \(3, 5, 6\)",
        ),
        (lambda: cross_attention(X, C, W_K, W_K, W_V), ValueError, r"W_q .* \(4, any\).* of x, "),
        (
            lambda: cross_attention(X, C, W_Q, W_Q, W_V),
            ValueError,
            r"W_k must have the shape \(6, 3\), a row for each feature of context, got \(4, 3\)",
        ),
        (lambda: cross_attention(X, C, W_Q, W_V, W_V), ValueError, r"W_k .* got \(6, 7\)"),
        (lambda: cross_attention(X, C, W_Q, W_K, W_V[:4]), ValueError, r"W_v .* got \(4, 7\)"),
    ],
)
def test_bad_input_is_named(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
