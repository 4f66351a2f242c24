"""The values of a small model's heads, captured while the model runs."""

from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.attention import MultiHeadAttention, split_heads
from course_utils.models.gpt.positioned_transformer import PositionedTransformer
from course_utils.models.gpt.small_transformer import SmallTransformer


@torch.no_grad()
def head_values(
    model: SmallTransformer | PositionedTransformer, *inputs: Any
) -> list[Float[Tensor, "B H L d_v"]]:
    """Return the values of each layer's heads.

    Args:
        model: Run once.
        *inputs: The model's inputs.
    """
    found: list[Tensor] = []

    def note(attention: MultiHeadAttention, norm: nn.Module) -> Any:
        def after(module: nn.Module, given: Any, stream: Tensor) -> None:
            parts = (attention.in_proj_weight, attention.in_proj_bias)
            weight, bias = (cast(Tensor, part).chunk(3)[2] for part in parts)
            found.append(split_heads(F.linear(stream, weight, bias), attention.num_heads))

        return norm.register_forward_hook(after)

    blocks = [cast(Any, block) for block in model.blocks]
    hooks = [note(block.attention, block.attention_norm) for block in blocks]
    try:
        model(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return found
