from functools import partial

import pytest
import torch
from torch import Tensor, nn

from course_utils.interpretability import patch_grid
from tests.support import draw

WORDS, MIX, OUT = draw(9, 4), draw(3, 5, 5, seed=1), draw(4, seed=2)
CLEAN, CORRUPT = torch.tensor([1, 4, 2, 8, 3]), torch.tensor([1, 7, 2, 8, 3])


def run(
    tokens: Tensor,
    layer: int | None = None,
    position: int | None = None,
    state: Tensor | None = None,
    causal: bool = False,
) -> tuple[float, Tensor]:
    """Mix the positions three times, and read the last one."""
    x, states = WORDS[tokens], []
    for number, mix in enumerate(MIX.tril() if causal else MIX):
        x = (mix @ x).tanh()
        if number == layer and position is not None and state is not None:
            x = torch.cat([x[:position], state[None], x[position + 1 :]])
        states.append(x)
    return float(x[-1] @ OUT), torch.stack(states)


class Mixer(nn.Module):
    """One layer of `run`, as a module that can be hooked."""

    def __init__(self, mix: Tensor) -> None:
        super().__init__()
        self.mix = mix

    def forward(self, x: Tensor) -> Tensor:
        return (self.mix @ x).tanh()


@pytest.mark.peer(
    "20", "`patch_grid`", "`torch.nn.Module.register_forward_hook`", "float64 1e-7", "grid"
)
def test_it_is_what_a_hook_of_pytorch_restores() -> None:
    layers = nn.Sequential(*map(Mixer, MIX))

    def value(tokens: Tensor) -> float:
        return float(layers(WORDS[tokens])[-1] @ OUT)

    best, worst, states = value(CLEAN), value(CORRUPT), run(CLEAN)[1]
    found = []
    for layer, position in torch.cartesian_prod(torch.arange(3), torch.arange(5)).tolist():

        def put_in(module: nn.Module, given: object, x: Tensor, at: tuple[int, int]) -> Tensor:
            return x.index_copy(0, torch.tensor([at[1]]), states[at[0], at[1]][None])

        hook = layers[layer].register_forward_hook(partial(put_in, at=(layer, position)))
        found.append((value(CORRUPT) - worst) / (best - worst))
        hook.remove()
    wanted = torch.tensor(found, dtype=torch.float64).view(3, 5)
    torch.testing.assert_close(patch_grid(run, CLEAN, CORRUPT), wanted)


def test_in_a_causal_network_states_before_the_change_restore_nothing() -> None:
    found = patch_grid(partial(run, causal=True), CLEAN, CORRUPT)
    assert found.shape == (3, 5)
    torch.testing.assert_close(found[:, 0], torch.zeros(3, dtype=found.dtype))  # before the change
    torch.testing.assert_close(found[-1], torch.tensor([0, 0, 0, 0, 1], dtype=found.dtype))
    assert patch_grid(run, CLEAN, CORRUPT)[0, 0] != 0  # positions that see each other


def test_shares_may_be_above_1_and_below_0() -> None:
    found = patch_grid(run, CLEAN, CORRUPT)
    assert found.min() < 0
    assert patch_grid(run, CLEAN, CORRUPT.flip(0)).abs().max() > 1


def test_where_both_runs_have_the_same_value_it_is_0() -> None:
    found = patch_grid(run, CLEAN, CLEAN)
    assert torch.equal(found, torch.zeros(3, 5, dtype=torch.float64))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="must be equally long, got 5 and 4 tokens"):
        patch_grid(run, CLEAN, CORRUPT[:4])
    short = lambda tokens, **more: (0.0, torch.zeros(2, 4, 3))  # noqa: E731
    with pytest.raises(ValueError, match=r"states at 5 positions, got shape \(2, 4, 3\)"):
        patch_grid(short, CLEAN, CORRUPT)
    with pytest.raises(TypeError, match="run must be callable"):
        patch_grid(3, CLEAN, CORRUPT)  # type: ignore[arg-type]
