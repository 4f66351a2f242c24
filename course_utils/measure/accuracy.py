"""Accuracy of whole sequences.

Source: the "exact match" of Rajpurkar et al. 2016, SQuAD, https://arxiv.org/abs/1606.05250,
    here over tokens
Differs: positions where the target is padding do not count, whatever was predicted there.
Same contract as: a loop over sequences and positions
"""

import torch
from jaxtyping import Int
from torch import Tensor

from course_utils.validation import check_int, check_tensor


def exact_match(
    predicted: Int[Tensor, "batch T"], target: Int[Tensor, "batch T"], pad_id: int
) -> float:
    """Return the share of sequences that are right at every position that counts.

    Args:
        predicted: The tokens that a model predicted.
        target: The tokens that are right.
        pad_id: The target token at positions that do not count.
    """
    check_tensor(predicted=predicted, target=target)
    check_int(pad_id=pad_id)
    for name, tokens in (("predicted", predicted), ("target", target)):
        if tokens.is_floating_point() or tokens.is_complex() or tokens.dtype == torch.bool:
            raise TypeError(f"{name} must hold integers, got dtype {tokens.dtype}")
    if predicted.shape != target.shape or target.dim() != 2:
        raise ValueError(
            "predicted and target need the same two axes (batch, T), "
            f"got {tuple(predicted.shape)} and {tuple(target.shape)}"
        )
    if target.shape[0] == 0:
        raise ValueError("a share needs at least one sequence, got 0")
    right = (predicted == target) | (target == pad_id)
    return float(right.all(dim=1).double().mean())
