"""A step of AdamW beside torch's, and by hand."""

import pytest
import torch
from torch import Tensor, nn

from course_utils.models import adamw_step


def drawn(*shape: int, seed: int = 0) -> list[Tensor]:
    """Return a parameter, a gradient and two moments."""
    g = torch.Generator().manual_seed(seed)
    made = [torch.randn(shape, generator=g, dtype=torch.float64) for _ in range(4)]
    return [*made[:3], made[3].square()]


@pytest.mark.peer("12", "`adamw_step`", "`torch.optim.AdamW`", "float64 1e-12", "20 steps")
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("shape", [(), (7,), (3, 4)])
def test_it_is_torchs_over_20_steps(shape, weight_decay) -> None:
    g = torch.Generator().manual_seed(len(shape))
    start = torch.randn(shape, generator=g, dtype=torch.float64)
    how = {"betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": weight_decay}
    theirs = nn.Parameter(start.clone())
    optimiser = torch.optim.AdamW([theirs], lr=0.05, **how)
    ours, m, v = start, torch.zeros_like(start), torch.zeros_like(start)
    for step in range(1, 21):
        gradient = torch.randn(shape, generator=g, dtype=torch.float64)
        theirs.grad = gradient.clone()
        optimiser.step()
        ours, m, v = adamw_step(ours, gradient, m, v, step, rate=0.05, **how)
        state = optimiser.state[theirs]
        for mine, want in ((ours, theirs.data), (m, state["exp_avg"]), (v, state["exp_avg_sq"])):
            torch.testing.assert_close(mine, want, rtol=1e-12, atol=1e-12)


def test_the_first_step_has_the_length_of_the_rate() -> None:
    """Both corrections undo (1 - beta), so m / root(v) is the sign of the gradient."""
    parameter, gradient, *_ = drawn(5)
    zeros = torch.zeros_like(parameter)
    new, m, v = adamw_step(parameter, gradient, zeros, zeros, 1, 0.1, (0.9, 0.99), 0.0, 0.0)
    torch.testing.assert_close(new, parameter - 0.1 * gradient.sign())
    torch.testing.assert_close(m, 0.1 * gradient)
    torch.testing.assert_close(v, 0.01 * gradient.square())


def test_nothing_is_written_in_place_and_nothing_asks_for_a_gradient() -> None:
    given = [one.requires_grad_() for one in drawn(2, 3)]
    kept = [one.detach().clone() for one in given]
    results = adamw_step(*given, 4, 0.1, (0.9, 0.99), 1e-8, 0.1)
    assert not any(one.requires_grad for one in results)
    for one, before in zip(given, kept, strict=True):
        assert torch.equal(one, before)


@pytest.mark.parametrize(
    "betas", [(0.9,), (0.9, 0.9, 0.9), (1.0, 0.9), (0.9, 1.0), (-0.1, 0.9), (0.9, float("nan"))]
)
def test_two_betas_below_1_are_asked_for(betas) -> None:
    with pytest.raises(ValueError, match="two numbers from 0 to below 1"):
        adamw_step(*drawn(3), 1, 0.1, betas, 1e-8, 0.0)


def test_the_tensors_have_one_shape() -> None:
    parameter, gradient, m, v = drawn(3)
    with pytest.raises(ValueError, match=r"m must have the shape \(3,\)"):
        adamw_step(parameter, gradient, m[:2], v, 1, 0.1, (0.9, 0.99), 1e-8, 0.0)


def test_a_rate_must_be_finite_and_not_negative() -> None:
    for rate in (-0.1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="rate must be finite and at least 0"):
            adamw_step(*drawn(3), 1, rate, (0.9, 0.99), 1e-8, 0.0)
