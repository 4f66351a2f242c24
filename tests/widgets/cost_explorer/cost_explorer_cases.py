"""Costs of models and steps, as Python counts it and the explorer must compute it."""

import itertools
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.attention import merge_heads, split_heads
from course_utils.measure import (
    training_flops,
    training_memory_bytes,
    transformer_parameters,
)
from course_utils.widgets.cost_explorer.cost_explorer import PRESETS

SMALL = {
    "vocab_size": 96, "d_model": 24, "num_layers": 3, "d_ff": 40, "num_heads": 6,
    "num_kv_heads": 2, "num_positions": 10, "form": "gpt", "num_tokens": 32,
}  # fmt: skip


def parameters(sizes: dict[str, Any]) -> int:
    """Count the parameters of what the explorer's settings describe."""
    gated = sizes["form"] == "llama"
    positions = 0 if gated else sizes["num_positions"]
    order = ("vocab_size", "d_model", "num_layers", "d_ff", "num_heads", "num_kv_heads")
    return transformer_parameters(
        *(sizes[name] for name in order), positions, gated, not gated, not gated
    )


class Layer(nn.Module):
    """A pre-norm layer with fused attention, written plainly, to see what it keeps."""

    def __init__(self, d_model: int, heads: int, kv_heads: int, d_ff: int, gated: bool) -> None:
        super().__init__()
        kv = d_model // heads * kv_heads
        self.heads, self.kv_heads = heads, kv_heads
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(2))
        self.query, self.key = nn.Linear(d_model, d_model), nn.Linear(d_model, kv)
        self.value, self.out = nn.Linear(d_model, kv), nn.Linear(d_model, d_model)
        self.into = nn.ModuleList(nn.Linear(d_model, d_ff) for _ in range(1 + gated))
        self.back = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norms[0](x)
        query = split_heads(self.query(y), self.heads)
        key, value = (split_heads(part(y), self.kv_heads) for part in (self.key, self.value))
        same = {"is_causal": True, "enable_gqa": self.kv_heads < self.heads}
        x = x + self.out(merge_heads(F.scaled_dot_product_attention(query, key, value, **same)))
        y = self.norms[1](x)
        inside = [part(y) for part in self.into]
        active = F.silu(inside[0]) * inside[1] if len(inside) == 2 else F.gelu(inside[0])
        return x + self.back(active)


def saved(layers: int, gated: bool) -> int:
    """Count the numbers that the layers keep for the backward pass, weights left out."""
    width, heads, kv_heads, d_ff, tokens, batch = 64, 4, 4, 160, 48, 2
    stack = nn.Sequential(*(Layer(width, heads, kv_heads, d_ff, gated) for _ in range(layers)))
    weights = {one.untyped_storage().data_ptr() for one in stack.parameters()}
    found: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            found[storage.data_ptr()] = storage.nbytes() // 4
        return tensor

    x = torch.randn(batch, tokens, width, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        out = stack(x)
    assert out.requires_grad
    return sum(found.values())


def cases() -> dict[str, Any]:
    models = {**PRESETS, "small": SMALL, "small gated": {**SMALL, "form": "llama"}}
    runs = itertools.product((SMALL, PRESETS["GPT-2"]), (1, 8), (False, True))
    kinds = itertools.product(("sgd", "momentum", "adam"), (False, True), (1.0, 0.01))
    return {
        "parameters": [
            {"name": name, "sizes": sizes, "parameters": parameters(sizes)}
            for name, sizes in models.items()
        ],
        "flops": [
            {
                "sizes": {**sizes, "num_kv_heads": sizes["num_heads"], "form": "gpt"},
                "batch": batch, "recompute": again,
                "flops": training_flops(
                    batch, sizes["num_tokens"], sizes["d_model"], sizes["num_layers"],
                    sizes["d_ff"], sizes["vocab_size"], again,
                ),
            }
            for sizes, batch, again in runs
        ],
        "bytes": [
            {
                "optimizer": optimizer, "mixed": mixed, "trained": share,
                "bytes": training_memory_bytes(
                    parameters(PRESETS["GPT-2"]),
                    round(share * parameters(PRESETS["GPT-2"])), 0, optimizer, mixed,
                ),
            }
            for optimizer, mixed, share in kinds
        ],
        "saved": [
            {"gated": gated, "numbers": saved(2, gated) - saved(1, gated)}
            for gated in (False, True)
        ],
    }  # fmt: skip
