"""A base of the Transformers that read a source and write a target: their tables."""

import torch
from torch import Tensor, nn

from course_utils.models.tokens import embedded
from course_utils.positions import LearnedPositions
from course_utils.validation import check_at_least


class TwoTables(nn.Module):
    """Embeddings and learned positions of a source and a target.

    Args:
        num_source: Size of the source's alphabet.
        num_target: Size of the target's.
        d_model: Width of a vector.
        max_length: The longest source and the longest target.
    """

    def __init__(self, num_source: int, num_target: int, d_model: int, max_length: int) -> None:
        super().__init__()
        check_at_least(1, num_source=num_source, num_target=num_target, d_model=d_model)
        self.source_token = nn.Embedding(num_source, d_model)
        self.target_token = nn.Embedding(num_target, d_model)
        # Initialised like the embeddings, with deviation 1: GPT-2's 0.02 would be drowned out.
        self.source_positions = LearnedPositions(max_length, d_model, std=1.0)
        self.target_positions = LearnedPositions(max_length, d_model, std=1.0)

    def _source(self, tokens: Tensor) -> Tensor:
        return _placed(embedded(self.source_token, tokens, "source"), self.source_positions)

    def _target(self, tokens: Tensor) -> Tensor:
        return _placed(embedded(self.target_token, tokens, "target"), self.target_positions)


def _placed(x: Tensor, positions: LearnedPositions) -> Tensor:
    return positions.embed(x, torch.arange(x.shape[1], device=x.device))
