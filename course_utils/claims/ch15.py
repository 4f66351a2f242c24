"""Checks of the claims of chapter 15."""

import math

import torch
from torch import Tensor

from course_utils.attention import (
    attention_backward,
    attention_weights,
    hopfield_update,
    nadaraya_watson,
    residual_attention_backward,
    scaled_dot_product_attention,
    softmax_jacobian,
)
from course_utils.claims._inputs import attend, draw, draws, largest, refused
from course_utils.claims.finding import Finding, recomputes, weigh


@recomputes("15-01")
def gradient_past_attention() -> Finding:
    """dL/dx_i = dL/dy_i + sum_j alpha_ji dL/dy_j: frozen weights and W_V = I, and all alive."""
    x, W_q, W_k, slope = draws((1, 5, 4), (4, 4), (4, 4), (1, 5, 4))
    weights = attention_weights(x @ W_q, x @ W_k)
    printed = slope + weights.mT @ slope
    alive = residual_attention_backward(x, W_q, W_k, torch.eye(4).double(), slope)
    x.requires_grad_()
    (frozen,) = torch.autograd.grad(x + weights @ x, x, slope)
    off = float((printed - alive).norm() / alive.norm())
    return weigh(
        f"{largest(printed, frozen):.0e} off with frozen weights and W_V = I, {off:.0%} off with "
        "live ones",
        holds=off < 1e-6,
        amended=largest(printed, frozen) < 1e-12,
    )


@recomputes("15-02")
def attention_mitigates_vanishing_gradients() -> Finding:
    """The gradient at the input of 12 layers, with attention alone and with the residual."""
    found = {}
    for residual in (0.0, 1.0):
        x = draw(1, 8, 16).requires_grad_()
        y = x
        for _ in range(12):
            y = residual * y + 0.5 * attend(y)
        (slope,) = torch.autograd.grad((y * draw(1, 8, 16, seed=1)).sum(), x)
        found[residual] = float(slope.norm())
    reach = attention_weights(draw(8, 16), draw(8, 16, seed=2))[7, 0]
    return weigh(
        f"attention alone {found[0.0]:.0e}, with the residual connection {found[1.0]:.0e}; one "
        f"layer joins the first position to the last directly, by a weight of {float(reach):.2f}",
        holds=found[0.0] > 1,
        amended=found[1.0] > 1 and float(reach) > 0,
    )


@recomputes("15-03")
def attention_is_kernel_regression() -> Finding:
    """The exponential kernel by hand; a Gaussian one, for keys of one length and of many."""
    query, key, value = draws((3, 4), (5, 4), (5, 6))
    kernel = (query @ key.mT / 2).exp()
    by_hand = kernel @ value / kernel.sum(-1, keepdim=True)
    off = [largest(by_hand, scaled_dot_product_attention(query, key, value))]
    for keys in (key / key.norm(dim=-1, keepdim=True), key):
        gaussian = nadaraya_watson(query, keys, value, bandwidth=math.sqrt(2))
        off.append(largest(gaussian, scaled_dot_product_attention(query, keys, value)))
    return weigh(
        f"exponential kernel {off[0]:.0e}; Gaussian {off[1]:.0e} for keys of one length, "
        f"{off[2]:.2f} for others",
        holds=off[0] < 1e-12 and off[1] < 1e-12,
    )


@recomputes("15-06")
def step_of_a_hopfield_network() -> Finding:
    """softmax(β Xᵀ ξ) X as printed, for 8 features and 20 patterns in the columns of X."""
    X, state = draw(8, 20), draw(8, seed=1)
    weights = (2.0 * X.mT @ state).softmax(-1)
    printed = refused(lambda: weights @ X)
    off = largest(X @ weights, hopfield_update(state, X.mT, 2.0))
    return weigh(
        f"(20) x (8, 20): {printed}; X softmax(β Xᵀ ξ) is ours within {off:.0e}",
        holds=not printed,
        amended=off < 1e-12,
    )


@recomputes("15-09")
def derivative_of_the_softmax() -> Finding:
    """w_i(δ_ij - w_j) against automatic differentiation."""
    scores = draw(6)
    weights = scores.softmax(-1)
    formula = weights.diag() - weights[:, None] * weights
    theirs = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), scores)
    off = max(largest(formula, theirs), largest(formula, softmax_jacobian(weights)))
    return weigh(f"{off:.0e} apart", holds=off < 1e-12)


@recomputes("15-10")
def backward_pass_of_attention() -> Finding:
    """DV = AᵀdO, dA = dO Vᵀ, dS = A∘(dA - rowsum(A∘dA)), dQ = dS K/√d, dK = dSᵀQ/√d."""
    query, key, value, dO = draws((3, 4), (5, 4), (5, 6), (3, 6))
    A = attention_weights(query, key)
    dA = dO @ value.mT
    rows = (A * dA).sum(-1, keepdim=True)
    dS = A * (dA - rows)
    formulas = (dS @ key / 2, dS.mT @ query / 2, A.mT @ dO)
    inputs = [t.clone().requires_grad_() for t in (query, key, value)]
    theirs = torch.autograd.grad(scaled_dot_product_attention(*inputs), inputs, dO)
    ours = attention_backward(query, key, value, dO)
    off = max(
        largest(a, b) for found in (theirs, ours) for a, b in zip(formulas, found, strict=True)
    )
    same = largest(rows, (dO * (A @ value)).sum(-1, keepdim=True))
    return weigh(
        f"{off:.0e} from autograd; rowsum(A∘dA) = rowsum(dO∘O) within {same:.0e}",
        holds=max(off, same) < 1e-12,
    )


@recomputes("15-11")
def gradient_of_the_query_projection() -> Finding:
    """dL/dW_Q = Xᵀ dL/dQ."""
    x, W_q, key, value = draws((5, 8), (8, 4), (6, 4), (6, 4))
    W_q.requires_grad_()
    query: Tensor = x @ W_q
    loss = scaled_dot_product_attention(query, key, value).square().sum()
    to_query, to_matrix = torch.autograd.grad(loss, (query, W_q))
    off = largest(x.mT @ to_query, to_matrix)
    return weigh(f"{off:.0e} apart", holds=off < 1e-12)
