"""The norm with few steps is torch's."""

import torch
from torch import nn

from course_utils.models.released.layers.row_norm import RowNorm
from tests.support import assert_same_function


def test_it_is_torchs_norm_values_and_gradients() -> None:
    ours, theirs = RowNorm(6, 1e-3).double(), nn.RMSNorm(6, 1e-3).double()
    g = torch.Generator().manual_seed(0)
    with torch.no_grad():
        ours.weight.copy_(torch.randn(6, generator=g))
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 5, 6, generator=g, dtype=torch.float64, requires_grad=True)
    assert_same_function(ours, theirs, [x])
