"""Experts: routing, mixing and balance against loops, and what each expert is given."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from course_utils.attention import load_balance_loss, mix_experts, route_top_k
from tests.support import draw

N, D, E = 11, 5, 4


def experts() -> list[Callable[[Tensor], Tensor]]:
    def layer(seed: int) -> Callable[[Tensor], Tensor]:
        return lambda rows: (rows @ draw(D, D, seed=seed)).tanh()

    return [layer(seed) for seed in range(E)]


@pytest.mark.parametrize("k", [1, 2, E])
def test_gates_are_the_renormalised_softmax_over_all(k) -> None:
    logits = draw(N, E)
    index, gates = route_top_k(logits, k)
    chosen = logits.softmax(-1).gather(-1, index)
    torch.testing.assert_close(gates, chosen / chosen.sum(-1, keepdim=True))
    assert torch.equal(index, logits.argsort(-1, descending=True)[:, :k])


@pytest.mark.parametrize("k", [1, 3])
def test_a_mixture_is_the_sum_over_all_experts_with_gates_of_0(k) -> None:
    x, logits = draw(N, D).requires_grad_(), draw(N, E, seed=1).requires_grad_()
    index, gates = route_top_k(logits, k)
    dense = torch.zeros_like(logits).scatter(-1, index, gates)
    want = sum(dense[:, e : e + 1] * expert(x) for e, expert in enumerate(experts()))
    out = mix_experts(x, experts(), index, gates)
    torch.testing.assert_close(out, want)
    slope = draw(N, D, seed=9)
    pulled = (
        torch.autograd.grad(one, (x, logits), slope, retain_graph=True) for one in (out, want)
    )
    torch.testing.assert_close(*pulled)


def test_an_expert_is_given_its_own_rows_once_and_is_not_called_without_any() -> None:
    x, seen = draw(N, D), {}

    def counting(number: int) -> Callable[[Tensor], Tensor]:
        def expert(rows: Tensor) -> Tensor:
            assert number not in seen
            seen[number] = rows
            return rows

        return expert

    index = torch.tensor([[0, 2], [2, 3]]).repeat(N, 1)[:N]
    mix_experts(x, [counting(number) for number in range(E)], index, torch.ones(N, 2).double())
    assert sorted(seen) == [0, 2, 3]
    assert torch.equal(seen[0], x[::2])
    assert torch.equal(seen[2], x)


def test_even_use_costs_1_and_collapse_costs_the_number_of_experts() -> None:
    even = torch.arange(2 * E).remainder(E).unsqueeze(-1)
    assert load_balance_loss(torch.zeros(2 * E, E), even) == 1
    logits = torch.zeros(N, E)
    logits[:, 1] = 100.0
    assert load_balance_loss(logits, torch.ones(N, 1, dtype=torch.long)) == E


def test_the_balance_loss_is_its_formula() -> None:
    logits = draw(N, E)
    index, _ = route_top_k(logits, 2)
    loss = sum(
        float((index == e).double().mean()) * float(logits.softmax(-1)[:, e].mean())
        for e in range(E)
    )
    assert float(load_balance_loss(logits, index)) == pytest.approx(E * loss)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: route_top_k(draw(N, E), 5), "k must be from 1 to 4 experts, got 5"),
        (
            lambda: mix_experts(draw(N, D), experts(), torch.full((N, 1), E), draw(N, 1)),
            "index must name one of 4 experts, got from 4 to 4",
        ),
        (
            lambda: load_balance_loss(draw(N, E), torch.full((N, 1), -1)),
            "index must name one of 4 experts, got from -1 to -1",
        ),
        (
            lambda: load_balance_loss(draw(0, E), torch.zeros(0, 1).long()),
            "at least one token and one choice, got none",
        ),
    ],
)
def test_what_does_not_fit_is_said(call, says) -> None:
    with pytest.raises(ValueError, match=says):
        call()
