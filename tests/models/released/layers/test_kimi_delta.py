"""Kimi's delta attention: each row of a state fades by itself."""

import torch

from course_utils.models.released.layers.delta_layer import GatedDeltaNet
from course_utils.models.released.layers.kimi_delta import KimiDeltaNet
from tests.models.released.layers.delta_parts import X, assert_read_in_pieces, drawn


def made() -> KimiDeltaNet:
    return drawn(lambda: KimiDeltaNet(6, num_heads=2, d_k=5, taps=3, eps=1e-3))


def test_a_sequence_is_read_at_once_as_in_any_pieces() -> None:
    assert_read_in_pieces(made())


def test_with_one_gate_for_all_channels_it_is_the_gated_delta_net() -> None:
    part = made()
    plain = GatedDeltaNet(6, key_heads=2, value_heads=2, d_k=5, d_v=5, taps=3, eps=1e-3).double()
    for name in ("in_proj", "conv", "write", "norm", "out_proj"):
        getattr(plain, name).load_state_dict(getattr(part, name).state_dict())
    with torch.no_grad():
        down, up = (layer.weight for layer in part.fade)
        up.copy_(up[::5].repeat_interleave(5, dim=0))
        part.dt_bias.copy_(part.dt_bias[::5].repeat_interleave(5))
        plain.fade.weight.copy_(up[::5] @ down)
        plain.dt_bias.copy_(part.dt_bias[::5])
        plain.A_log.copy_(part.A_log.flatten())
        plain.gate.weight.copy_(part.gate[1].weight @ part.gate[0].weight)
    plain._opened = part._opened
    torch.testing.assert_close(part(X)[0], plain(X)[0])
