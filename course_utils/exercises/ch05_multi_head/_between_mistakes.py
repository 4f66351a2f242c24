"""What does not belong between the products of multi-head attention, or around them."""

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch03_scaled_dot_product._attention import build as attention
from course_utils.exercises.ch05_multi_head._multi_head import build


def _normed(x: Tensor) -> Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:])


BETWEEN = (
    Misconception(
        "W_o twice, or too early",
        build(mix=lambda merged, weight: merged @ weight @ weight),
        "W_o acted more than once, or on something else than the merged heads. Where in the order "
        "of steps does it stand?",
        also=(
            build(matrices=lambda q, k, v, o: (q, k, v @ o, o)),
            build(matrices=lambda q, k, v, o: (q @ o, k @ o, v @ o, o)),
            build(matrices=lambda q, k, v, o: (q, k, v @ o, torch.eye(len(o), dtype=o.dtype))),
        ),
    ),
    Misconception(
        "something between the products",
        build(project=lambda x, weight: (x @ weight).relu()),
        "A projection is a product and nothing else here: no activation, no norm. What else was "
        "put in?",
        also=(
            build(project=lambda x, weight: (x @ weight).tanh()),
            build(project=lambda x, weight: torch.nn.functional.gelu(x @ weight)),
            build(project=lambda x, weight: (x @ weight).softmax(-1)),
            build(mix=lambda merged, weight: (merged @ weight).relu()),
            build(mix=lambda merged, weight: (merged @ weight).tanh()),
            build(mix=lambda merged, weight: (merged @ weight).softmax(-1)),
            build(mix=lambda merged, weight: merged.relu() @ weight),
            build(project=lambda x, weight: _normed(x) @ weight),
            build(project=lambda x, weight: _normed(x @ weight)),
            build(
                attend=lambda q, k, v, mask: attention()(_normed(q), _normed(k), v, mask),
            ),
        ),
    ),
    Misconception(
        "a residual inside",
        build(finish=lambda out, query, mask: out + query),
        "Something was added to the output: the query's stream, or the heads as they were before "
        "W_o. A residual connection stands around attention, not inside.",
        also=(
            build(finish=lambda out, query, mask: _normed(out + query)),
            build(finish=lambda out, query, mask: _normed(out)),
            build(mix=lambda merged, weight: merged + merged @ weight),
        ),
    ),
)
