import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_utils.attention import hopfield_energy, hopfield_update
from tests.support import draw

LEADING = [(), (1,), (3,), (2, 3)]


def memory(leading: tuple[int, ...] = (3,)) -> tuple[Tensor, Tensor]:
    return draw(*leading, 4).requires_grad_(), draw(5, 4, seed=1).requires_grad_()


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("beta", [0.0, 0.4, 1, 8.0])
@pytest.mark.peer(
    "15", "`hopfield_update`", "SDPA with scale=beta", "float64 1e-7", "outputs, gradients"
)
def test_a_step_is_torch_s_attention(leading, beta) -> None:
    given = state, patterns = memory(leading)
    out = hopfield_update(state, patterns, beta)
    with sdpa_kernel(SDPBackend.MATH):
        query = state.reshape(-1, 4)
        want = F.scaled_dot_product_attention(query, patterns, patterns, scale=float(beta))
    want = want.reshape(state.shape)
    torch.testing.assert_close(out, want)
    grad_out = draw(*out.shape, seed=9)
    got = torch.autograd.grad(out, given, grad_out)
    torch.testing.assert_close(got, torch.autograd.grad(want, given, grad_out))


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("beta", [0.4, 1, 8.0])
@pytest.mark.peer(
    "15", "`hopfield_energy`", "`torch.autograd`: its slope is the state minus the update",
    "float64 1e-7", "gradients",
)  # fmt: skip
def test_a_step_goes_down_the_energy_s_slope(leading, beta) -> None:
    state, patterns = memory(leading)
    (slope,) = torch.autograd.grad(hopfield_energy(state, patterns, beta).sum(), state)
    torch.testing.assert_close(-slope, hopfield_update(state, patterns, beta) - state)


def test_both_agree_with_their_formulas_pattern_by_pattern() -> None:
    state, patterns = (x.detach() for x in memory())
    updates, energies = [], []
    for xi in state:
        powers = [math.exp(0.7 * float(x @ xi)) for x in patterns]
        updates.append(sum(p / sum(powers) * x for p, x in zip(powers, patterns, strict=True)))
        energy = -math.log(sum(powers)) / 0.7 + float(xi @ xi) / 2 + math.log(5) / 0.7
        energies.append(energy + max(float(x @ x) for x in patterns) / 2)
    torch.testing.assert_close(hopfield_update(state, patterns, 0.7), torch.stack(updates))
    wanted = torch.tensor(energies, dtype=torch.float64)
    torch.testing.assert_close(hopfield_energy(state, patterns, 0.7), wanted)


@pytest.mark.parametrize("beta", [0.05, 1.0, 30.0])
def test_no_step_raises_the_energy_and_it_never_falls_below_zero(beta) -> None:
    patterns = draw(7, 4, seed=1)
    state = 3.0 * draw(50, 4)
    energy = hopfield_energy(state, patterns, beta)
    for _ in range(5):
        state = hopfield_update(state, patterns, beta)
        lower = hopfield_energy(state, patterns, beta)
        assert (lower <= energy + 1e-12).all()
        assert (lower >= -1e-12).all()
        energy = lower


def test_scores_of_ten_thousand_overflow_nowhere() -> None:
    patterns = torch.eye(3, dtype=torch.float64) * 100.0
    state = patterns[:2] + 1.0
    torch.testing.assert_close(hopfield_update(state, patterns, 1.0), patterns[:2])
    assert hopfield_energy(-state, patterns, 1.0).isfinite().all()


def test_a_beta_of_zero_gives_the_mean() -> None:
    state, patterns = memory()
    mean = patterns.mean(0).expand(3, 4)
    torch.testing.assert_close(hopfield_update(state, patterns, 0), mean)


@pytest.mark.parametrize("function", [hopfield_update, hopfield_energy])
@pytest.mark.parametrize(
    ("state", "patterns", "says"),
    [
        (torch.zeros(3), torch.zeros(3), r"\(N, d\), N at least 1, got \(3,\)"),
        (torch.zeros(3), torch.zeros(0, 3), r"N at least 1, got \(0, 3\)"),
        (torch.zeros(2, 4), torch.zeros(5, 3), r"as wide as the patterns, 3 .* got \(2, 4\)"),
        (torch.tensor(1.0), torch.zeros(5, 3), "as wide as the patterns"),
    ],
)
def test_the_state_is_as_wide_as_the_patterns(function, state, patterns, says) -> None:
    with pytest.raises(ValueError, match=says):
        function(state, patterns, 1.0)


@pytest.mark.parametrize(
    ("function", "beta", "says"),
    [
        (hopfield_update, -0.5, "beta must be at least 0 and finite, got -0.5"),
        (hopfield_update, math.inf, "beta must be at least 0 and finite, got inf"),
    ],
)
def test_beta_is_no_less_than_it_may_be(function, beta, says) -> None:
    with pytest.raises(ValueError, match=says):
        function(*memory(), beta)
