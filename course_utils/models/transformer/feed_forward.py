"""The feed-forward layer: two matrix products with an activation between them, token by token.

Source: Vaswani et al. 2017, Attention Is All You Need, Eq. 2, https://arxiv.org/abs/1706.03762;
    GELU and its form with tanh: Hendrycks and Gimpel 2016, section 2, https://arxiv.org/abs/1606.08415;
    gated: Shazeer 2020, GLU Variants Improve Transformer, Eq. 6, https://arxiv.org/abs/2002.05202
Ours / theirs: W_gate, W_up, W_down = W, V, W_2 (Shazeer);  silu = Swish with β = 1
Same contract as: torch.nn.functional.linear with the matrices transposed, and Llama's MLP
"""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from course_utils.validation import check_matrix, check_same_dtype, check_shape

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,  # z·Φ(z), Φ the normal distribution function
    "gelu_tanh": lambda z: F.gelu(z, approximate="tanh"),  # GPT-2's
}


def feed_forward(
    x: Float[Tensor, "*batch d_model"],
    W_1: Float[Tensor, "d_model d_ff"],
    b_1: Float[Tensor, " d_ff"],
    W_2: Float[Tensor, "d_ff d_model"],
    b_2: Float[Tensor, " d_model"],
    activation: str = "relu",
) -> Float[Tensor, "*batch d_model"]:
    """Widen each token's vector, apply the activation, and project back to the stream's width.

    Args:
        x: The stream.
        W_1: The matrix into the hidden layer.
        b_1: Added there, before the activation.
        W_2: The matrix out of it.
        b_2: Added at the end.
        activation: "relu", "gelu" or "gelu_tanh".
    """
    check_same_dtype(x=x, W_1=W_1, b_1=b_1, W_2=W_2, b_2=b_2)
    _check_matrices(x, W_1=W_1, W_2=W_2)
    check_shape((W_1.shape[1],), b_1=b_1)
    check_shape((W_2.shape[1],), b_2=b_2)
    hidden = activation_named(activation)(x @ W_1 + b_1)
    return hidden @ W_2 + b_2


def gated_feed_forward(
    x: Float[Tensor, "*batch d_model"],
    W_gate: Float[Tensor, "d_model d_ff"],
    W_up: Float[Tensor, "d_model d_ff"],
    W_down: Float[Tensor, "d_ff d_model"],
) -> Float[Tensor, "*batch d_model"]:
    """Widen each token's vector twice, let one gate the other, and project back: SwiGLU.

    Args:
        x: The stream.
        W_gate: Makes the gate, which passes through silu(z) = z·σ(z).
        W_up: Makes what is gated.
        W_down: Back to the width of the stream.
    """
    check_same_dtype(x=x, W_gate=W_gate, W_up=W_up, W_down=W_down)
    _check_matrices(x, W_gate=W_gate, W_down=W_down)
    check_matrix("W_up", W_up, rows=x.shape[-1], columns=W_gate.shape[1], of="x")
    return (F.silu(x @ W_gate) * (x @ W_up)) @ W_down


def activation_named(name: str) -> Callable[[Tensor], Tensor]:
    """Return the function of that name."""
    if not isinstance(name, str) or name not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {name!r:.60}")
    return ACTIVATIONS[name]


def _check_matrices(x: Tensor, **matrices: Tensor) -> None:
    """Raise unless the first matrix leads from the width of x, and the second back to it."""
    if not x.dim():
        raise ValueError("x needs at least one axis, got a scalar")
    (into, first), (back, second) = matrices.items()
    check_matrix(into, first, rows=x.shape[-1], of="x")
    check_matrix(back, second, rows=first.shape[1], columns=x.shape[-1], of=into)
