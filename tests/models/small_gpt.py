"""The small models that the tests of chapter 10 read with."""

import torch
from torch import Tensor, nn

from course_utils.models import GPT, ModelCache

B, LENGTH, TOKENS, LAYERS, D_K = 2, 19, 11, 3, 6
KINDS = {
    "learned": {},
    "rope": {"positions": "rope"},
    "shared heads": {"num_kv_heads": 2},
    "one key head, rope": {"num_kv_heads": 1, "positions": "rope"},
    "window": {"window": 5, "num_kv_heads": 2, "positions": "rope"},
}
SPLITS = [(LENGTH,), (1,) * LENGTH, (7, 1, 11), (1, 6, 12), (4, 4, 4, 4, 3)]


def small(**changes) -> GPT:
    torch.manual_seed(0)
    sizes = {"d_model": 24, "num_heads": 4, "num_layers": LAYERS, "max_length": LENGTH, **changes}
    model = GPT(TOKENS, **sizes).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.4)
    return model


def draw(*shape: int) -> Tensor:
    return torch.randint(TOKENS, shape, generator=torch.Generator().manual_seed(sum(shape)))


def read(model: GPT, tokens: Tensor, split: tuple[int, ...], cache: ModelCache | None) -> Tensor:
    out = []
    for part in tokens.split(split, dim=1):
        logits, cache = model(part, cache)
        out.append(logits)
    return torch.cat(out, dim=1)
