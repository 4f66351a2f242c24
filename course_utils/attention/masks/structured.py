"""Masks that depend on the content: a prefix, packed documents; and how masks combine.

Source: Raffel et al. 2020, Exploring the Limits of Transfer Learning with T5, section 3.2.1
    (prefix), https://arxiv.org/abs/1910.10683; packed documents that do not see each other as in
    Krell et al. 2021, Efficient Sequence Packing without Cross-contamination,
    https://arxiv.org/abs/2107.02027
Ours / theirs: True = may attend; document_ids = the number of the document at each position
Differs: no id stands for padding, and a document that returns later is still the same one.
Same contract as: and_masks and or_masks of the same rules in torch.nn.attention.flex_attention
"""

from functools import reduce

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from course_utils.attention.masks.causal import causal_mask
from course_utils.validation import broadcast_shape, check_at_least, check_boolean, check_integers


def prefix_mask(num_positions: int, prefix_length: int) -> Bool[Tensor, "L L"]:
    """Return the mask in which every query sees the whole prefix, and the rest causally.

    Args:
        num_positions: How many positions there are.
        prefix_length: How many of the first positions everyone may read.

    Raises:
        ValueError: The prefix is not from 0 to num_positions long.
    """
    check_at_least(0, num_positions=num_positions, prefix_length=prefix_length)
    if prefix_length > num_positions:
        raise ValueError(
            f"prefix_length must be at most num_positions = {num_positions}, got {prefix_length}"
        )
    in_prefix = torch.arange(num_positions) < prefix_length
    return in_prefix | causal_mask(num_positions, num_positions)


def document_mask(document_ids: Int[Tensor, "batch L"]) -> Bool[Tensor, "batch 1 L L"]:
    """Return the causal mask in which a query sees only keys of its own document.

    Args:
        document_ids: Which document each position belongs to: equal numbers, same document.
    """
    check_integers("batch L", document_ids=document_ids)
    same = document_ids.unsqueeze(-1) == document_ids.unsqueeze(-2)
    length = document_ids.shape[-1]
    return (same & causal_mask(length, length).to(same.device)).unsqueeze(1)


def combine_masks(*masks: Bool[Tensor, "..."]) -> Bool[Tensor, "..."]:
    """Return the mask that allows what all of them allow; their shapes broadcast.

    Args:
        masks: One mask or more.
    """
    if not masks:
        raise ValueError("combine_masks needs at least one mask, got none")
    check_boolean(**{f"mask {number}": mask for number, mask in enumerate(masks, 1)})
    if broadcast_shape(*(mask.shape for mask in masks)) is None:
        shapes = ", ".join(str(tuple(mask.shape)) for mask in masks)
        raise ValueError(f"masks must broadcast against each other, got {shapes}")
    return reduce(torch.logical_and, masks)
