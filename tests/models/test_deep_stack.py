"""The deep stack is a causal model, with the norm where it is asked for."""

import pytest
import torch

from course_utils.models import DeepStack

SIZES = {"d_model": 8, "num_heads": 2, "num_layers": 3, "max_length": 6}


@pytest.mark.parametrize("pre_norm", [False, True])
def test_what_comes_later_changes_nothing_before(pre_norm: bool) -> None:
    torch.manual_seed(0)
    model = DeepStack(11, **SIZES, pre_norm=pre_norm).double()
    tokens = torch.arange(6).unsqueeze(0)
    other = tokens.clone()
    other[0, 4] = 9
    before, after = model(tokens), model(other)
    assert before.shape == (1, 6, 11)
    torch.testing.assert_close(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


def test_only_a_pre_norm_stack_has_a_last_norm() -> None:
    count = [
        sum(one.numel() for one in DeepStack(11, **SIZES, pre_norm=pre).parameters())
        for pre in (False, True)
    ]
    assert count[1] - count[0] == 2 * SIZES["d_model"]


def test_sizes_are_checked() -> None:
    with pytest.raises(ValueError, match="num_layers must be at least 1, got 0"):
        DeepStack(11, **{**SIZES, "num_layers": 0}, pre_norm=True)
