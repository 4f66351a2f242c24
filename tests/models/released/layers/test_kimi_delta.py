"""Kimi's delta attention: each row of a state fades by itself."""

import torch
from torch import nn

from course_utils.models.released.layers.delta_layer import GatedDeltaNet
from course_utils.models.released.layers.kimi_delta import KimiDeltaNet

X = torch.randn(2, 7, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def made() -> KimiDeltaNet:
    torch.manual_seed(0)
    part = KimiDeltaNet(6, num_heads=2, d_k=5, taps=3, eps=1e-3).double()
    for parameter in part.parameters():
        nn.init.normal_(parameter, std=0.7)
    return part


def test_a_sequence_is_read_at_once_as_in_any_pieces() -> None:
    part, found = made(), []
    past = part.empty(2, dtype=torch.float64)
    for piece in X.split((1, 4, 2), dim=1):
        read, past = part(piece, past)
        found.append(read)
    torch.testing.assert_close(torch.cat(found, dim=1), part(X)[0])


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
