import pytest
import torch
from torch import Tensor

from course_utils.interpretability import induction_score, previous_token_score, role_share
from tests.support import draw, table


def causal(*shape: int) -> Tensor:
    length = shape[-1]
    hidden = torch.ones(length, length).triu(1) > 0
    return draw(*shape, length).masked_fill(hidden, -torch.inf).softmax(-1)


def by_loops(weights: Tensor, chosen: Tensor) -> tuple[Tensor, float]:
    shares, rates = [], []
    for i in range(len(chosen)):
        keys = [j for j in range(i + 1) if chosen[i, j]]
        if keys:
            shares.append(torch.stack([weights[..., i, j] for j in keys]).sum(0))
            rates.append(len(keys) / (i + 1))
    if not shares:
        return torch.zeros(weights.shape[:-2], dtype=weights.dtype), 0.0
    return torch.stack(shares).mean(0), sum(rates) / len(rates)


@pytest.mark.parametrize("leading", [(), (3,), (2, 3), (2, 1, 4)])
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.6, 1.0])
def test_the_shares_are_those_of_a_loop(leading: tuple[int, ...], rate: float) -> None:
    weights = causal(*leading, 6) * draw(6, 1).abs()
    chosen = torch.rand(6, 6, generator=torch.Generator().manual_seed(3)) < rate
    share, base = role_share(weights, chosen)
    want, expected = by_loops(weights, chosen)
    torch.testing.assert_close(share, want)
    assert base == pytest.approx(expected, abs=1e-6)


def test_the_previous_token_and_induction_are_two_roles() -> None:
    weights = causal(2, 3, 9)
    share, base = role_share(weights, table(9, 9, lambda i, j: j == i - 1))
    torch.testing.assert_close(share, previous_token_score(weights))
    assert base == pytest.approx(sum(1 / (i + 1) for i in range(1, 9)) / 8)
    share, base = role_share(weights, table(9, 9, lambda i, j: i >= 4 and j == i - 4 + 1))
    torch.testing.assert_close(share, induction_score(weights, 4))
    assert base == pytest.approx(sum(1 / (i + 1) for i in range(4, 9)) / 5)


def test_equal_weights_have_the_base_rate() -> None:
    equal = torch.ones(7, 7, dtype=torch.float64).tril()
    equal /= equal.sum(-1, keepdim=True)
    share, base = role_share(equal, table(7, 7, lambda i, j: (i + j) % 3 == 0))
    assert share.item() == pytest.approx(base, abs=1e-6)


def test_keys_behind_the_query_play_no_part() -> None:
    weights = causal(2, 5)
    chosen = table(5, 5, lambda i, j: j == 0 and i > 1)
    wanted = role_share(weights, chosen)
    share, base = role_share(weights, chosen | table(5, 5, lambda i, j: j > i))
    torch.testing.assert_close(share, wanted[0])
    assert base == wanted[1]


def test_tables_that_do_not_fit_are_refused() -> None:
    chosen = torch.ones(3, 3, dtype=torch.bool)
    says = r"weights must be square .* got \(2, 4, 3\) and \(3, 3\)"
    with pytest.raises(ValueError, match=says):
        role_share(draw(2, 4, 3), chosen)
    with pytest.raises(ValueError, match=r"chosen of their size, got \(4, 4\) and \(3, 3\)"):
        role_share(draw(4, 4), chosen)
    with pytest.raises(TypeError, match=r"chosen must be boolean \(True = chosen\)"):
        role_share(draw(3, 3), chosen.double())
