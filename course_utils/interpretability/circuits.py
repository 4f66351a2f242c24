"""Predict from weights alone which heads copy and which feed each other.

Source: Elhage et al. 2021, A Mathematical Framework for Transformer Circuits,
    https://transformer-circuits.pub/2021/framework
Differs: positions and norms are left out of the composition score; fold gains into the matrices
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.validation import check_same_dtype


@torch.no_grad()
def copying_score(
    source: Float[Tensor, "N d"],
    W_V: Float[Tensor, "d d_v"],
    W_O: Float[Tensor, "d_v d"],
    unembed: Float[Tensor, "N d"],
) -> float:
    """Return how far a head raises the tokens that it reads: Σ Re λ / Σ |λ|, from -1 to 1.

    λ are the eigenvalues of source · W_V · W_O · unembedᵀ, both centred over the tokens. 0.0 where
    all are 0. No table of tokens × tokens is made.

    Args:
        source: The tokens as the head sees them.
        W_V: The head's matrix to values.
        W_O: Its output matrix, for row vectors.
        unembed: The same tokens as the output counts them.
    """
    check_same_dtype("first second", source=source, W_V=W_V, W_O=W_O, unembed=unembed)
    (num_tokens, d), d_v = source.shape, W_V.shape[1]
    wanted = {"W_V": (W_V, (d, d_v)), "W_O": (W_O, (d_v, d)), "unembed": (unembed, (num_tokens, d))}
    _check_shapes(wanted)
    if not num_tokens:
        raise ValueError(f"source must hold a token, got shape {tuple(source.shape)}")
    wide = torch.promote_types(source.dtype, torch.float32)  # eigenvalues need 32 bits
    source, W_V, W_O, unembed = (part.to(wide) for part in (source, W_V, W_O, unembed))
    read = (source - source.mean(dim=0)) @ W_V
    # Centred once is centred twice: it is a projection, and A·B has the eigenvalues of B·A.
    written = W_O @ unembed.mT
    values = torch.linalg.eigvals(written @ read)  # those of read @ written that are not 0
    size = values.abs().sum().item()
    return values.real.sum().item() / size if size else 0.0


@torch.no_grad()
def composition_score(
    W_V: Float[Tensor, "d d_v"],
    W_O: Float[Tensor, "d_v d"],
    W_in: Float[Tensor, "d d_k"],
    W_other: Float[Tensor, "d d_k"],
) -> float:
    """Return how much of an earlier head's output a later head's circuit can read.

    ‖W_V W_O W_in W_otherᵀ‖ / (‖W_V W_O‖ · ‖W_in W_otherᵀ‖), in Frobenius norms; 0.0 where either
    circuit is 0. Random matrices give about 1/√d.

    Args:
        W_V: The earlier head's matrix to values.
        W_O: Its output matrix, for row vectors.
        W_in: The later head's matrix on the side that is fed: W_K for composition with its keys.
        W_other: Its matrix on the other side: W_Q for composition with its keys.
    """
    check_same_dtype("first second", W_V=W_V, W_O=W_O, W_in=W_in, W_other=W_other)
    (d, d_v), d_k = W_V.shape, W_in.shape[1]
    wanted = {"W_O": (W_O, (d_v, d)), "W_in": (W_in, (d, d_k)), "W_other": (W_other, (d, d_k))}
    _check_shapes(wanted)
    size = ((W_V @ W_O).norm() * (W_in @ W_other.mT).norm()).item()
    both = W_V @ (W_O @ W_in) @ W_other.mT  # without a product of two d × d matrices
    return both.norm().item() / size if size else 0.0


def _check_shapes(wanted: dict[str, tuple[Tensor, tuple[int, int]]]) -> None:
    for name, (matrix, shape) in wanted.items():
        if matrix.shape != shape:
            raise ValueError(f"{name} must have shape {shape}, got {tuple(matrix.shape)}")
