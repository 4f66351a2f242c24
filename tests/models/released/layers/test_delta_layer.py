"""The gated delta rule in a layer: its parts in their order, step by step."""

import pytest
import torch
from torch.nn import functional as F

from course_utils.models.released.layers.delta_layer import GatedDeltaNet
from tests.models.released.layers.delta_parts import X, assert_read_in_pieces, drawn

WIDTHS = {"key_heads": 2, "value_heads": 4, "d_k": 3, "d_v": 5, "taps": 3, "eps": 1e-3}


def made() -> GatedDeltaNet:
    return drawn(lambda: GatedDeltaNet(6, **WIDTHS))


def test_a_sequence_is_read_at_once_as_in_any_pieces() -> None:
    assert_read_in_pieces(made())


def test_it_is_a_loop_over_tokens_and_heads() -> None:
    part = made()
    inputs, kernel = F.linear(X, part.in_proj.weight), part.conv.weight[:, 0]
    wanted = torch.zeros(2, 7, 4, 5, dtype=torch.float64)
    for row in range(2):
        for head in range(4):
            state = torch.zeros(3, 5, dtype=torch.float64)
            for t in range(7):
                mixed = sum(
                    kernel[:, 2 - age] * inputs[row, t - age] for age in range(min(3, t + 1))
                )
                query, key, value = F.silu(mixed).split((6, 6, 20))
                query, key = (one.view(2, 3)[head // 2] for one in (query, key))
                query, key = (one / (one.square().sum() + 1e-6).sqrt() for one in (query, key))
                beta = (part.write.weight[head] @ X[row, t]).sigmoid()
                speed = F.softplus(part.fade.weight[head] @ X[row, t] + part.dt_bias[head])
                state = torch.exp(-part.A_log[head].exp() * speed) * state
                state = state + beta * torch.outer(key, value.view(4, 5)[head] - key @ state)
                wanted[row, t, head] = query / 3**0.5 @ state
    gate = F.silu(F.linear(X, part.gate.weight)).view(2, 7, 4, 5)
    wanted = F.rms_norm(wanted, (5,), part.norm.weight, 1e-3) * gate
    torch.testing.assert_close(part(X)[0], F.linear(wanted.flatten(2), part.out_proj.weight))


def test_heads_that_do_not_divide_are_refused() -> None:
    with pytest.raises(ValueError, match="key_heads must divide value_heads 4, got 3"):
        GatedDeltaNet(6, **WIDTHS | {"key_heads": 3})
