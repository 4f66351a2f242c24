"""Numbers that Python and the projection toy's JavaScript must agree on."""

from typing import Any

import torch

from course_utils.attention import (
    attention_weights,
    project_qkv,
    scaled_dot_product_attention,
)
from course_utils.widgets.projection_toy.projection_toy import week


def case(points: torch.Tensor, matrices: torch.Tensor) -> dict[str, Any]:
    query, key, value = project_qkv(points, *matrices)
    form = matrices[0] @ matrices[1].T
    return {
        "points": points.tolist(),
        **dict(zip(("query", "key", "value"), matrices.tolist(), strict=True)),
        "weights": attention_weights(query, key).tolist(),
        "outputs": scaled_dot_product_attention(query, key, value).tolist(),
        "form": form.tolist(),
        "antisymmetric": ((form - form.T) / 2).tolist(),
        "rank": int(torch.linalg.matrix_rank(form)),
    }


def cases() -> list[dict[str, Any]]:
    """The week and other points, under drawn, equal, large and flat matrices."""
    generator = torch.Generator().manual_seed(4)
    days = torch.tensor(list(week().values()), dtype=torch.float64)
    others = torch.randn(3, 2, generator=generator, dtype=torch.float64)
    drawn = torch.randn(3, 2, 2, generator=generator, dtype=torch.float64)
    shared = drawn[[0, 0, 1]]
    flat = drawn.clone()
    flat[1, 1] = -2 * flat[1, 0]
    settings = [drawn, shared, flat, 50 * drawn, torch.zeros_like(drawn)]
    return [case(points, matrices) for points in (days, others) for matrices in settings]
