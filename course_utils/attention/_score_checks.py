"""Checks that the scoring functions share: pairs of any widths, and the matrices that meet them."""

import torch
from torch import Tensor

from course_utils.attention._checks import check_float, check_leading


def check_sequence(**sequences: Tensor) -> None:
    """Raise unless every sequence (..., length, width) is floating and has both axes."""
    check_float(**sequences)
    for name, sequence in sequences.items():
        if sequence.dim() < 2:
            raise ValueError(
                f"{name} needs at least two axes (length, width), got {tuple(sequence.shape)}"
            )


def check_pair(query: Tensor, key: Tensor) -> None:
    """Raise unless query (..., L, d_q) and key (..., S, d_k) can meet; their widths may differ."""
    check_sequence(query=query, key=key)
    check_leading(query=query, key=key)


def check_matrix(
    name: str, matrix: Tensor, *, rows: int, columns: int | None = None, of: str
) -> None:
    """Raise unless the matrix has a row for each feature `of` something, and so many columns."""
    check_float(**{name: matrix})
    wanted = f"({rows}, {'any' if columns is None else columns})"
    fits = matrix.dim() == 2 and matrix.shape[0] == rows and columns in (None, matrix.shape[1])
    if not fits:
        raise ValueError(
            f"{name} must have the shape {wanted}, a row for each feature of {of}, "
            f"got {tuple(matrix.shape)}"
        )


def check_vector(name: str, vector: Tensor) -> None:
    """Raise unless the tensor has one axis."""
    check_float(**{name: vector})
    if vector.dim() != 1:
        raise ValueError(f"{name} must have one axis, got {tuple(vector.shape)}")


def check_key_mask(key_mask: Tensor, scores: Tensor) -> None:
    """Raise unless the mask is boolean and has one entry for each key of the scores (..., L, S)."""
    if not isinstance(key_mask, Tensor):
        raise TypeError(f"key_mask must be a torch.Tensor, got {type(key_mask).__name__}")
    if key_mask.dtype != torch.bool:
        raise TypeError(f"key_mask must be boolean (True = real), got dtype {key_mask.dtype}")
    wanted = scores.shape[:-2] + scores.shape[-1:]
    if key_mask.shape != wanted:
        raise ValueError(
            f"key_mask must have the shape {tuple(wanted)}, got {tuple(key_mask.shape)}"
        )
