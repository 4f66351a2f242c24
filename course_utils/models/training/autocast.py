"""A model whose forward pass runs in bfloat16 where that is safe.

Source: Micikevicius et al. 2018, Mixed Precision Training, https://arxiv.org/abs/1710.03740;
    `torch.amp.autocast` with device "cpu"
Differs: bfloat16 has float32's range, so no loss scaling is needed
"""

import torch
from torch import Tensor, nn


class Autocast(nn.Module):
    """Runs `model` under autocast and returns float32.

    Autocast keeps the 16-bit copies of the weights until its block ends. So the block is one
    forward pass: around a whole training loop it would keep reading the first copies.

    Args:
        model: Its weights stay in float32.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: Tensor) -> Tensor:
        """Return the model's output in float32."""
        with torch.amp.autocast("cpu", dtype=torch.bfloat16):
            out: Tensor = self.model(*inputs)
        return out.float()
