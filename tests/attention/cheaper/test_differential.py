"""Differential attention, gated outputs and selected blocks: against their formulas."""

import math

import pytest
import torch

from course_utils.attention import (
    causal_mask,
    differential_attention,
    gated_attention,
    scaled_dot_product_attention,
    select_blocks,
)
from tests.support import draw

B, H, L, D_K, D_V = 2, 3, 11, 4, 5


@pytest.mark.parametrize("mask", [None, causal_mask(L, L)])
def test_differential_attention_is_a_difference_of_two_tables(mask) -> None:
    query, key = draw(B, H, 2, L, D_K), draw(B, H, 2, L, D_K, seed=1)
    value, balance = draw(B, H, L, D_V), torch.tensor(0.7, dtype=torch.float64)
    hidden = torch.zeros(L, L).bool() if mask is None else ~mask
    tables = query @ key.mT / math.sqrt(D_K)
    first, second = tables.masked_fill(hidden, -torch.inf).softmax(-1).unbind(2)
    given = [x.requires_grad_() for x in (value, balance)]
    out = differential_attention(query, key, value, balance, mask)
    want = (first - balance * second) @ value
    torch.testing.assert_close(out, want)
    slope = draw(*out.shape, seed=9)
    pulled = (torch.autograd.grad(one, given, slope) for one in (out, want))
    torch.testing.assert_close(*pulled)


def test_two_equal_tables_cancel() -> None:
    query, key = (draw(B, 1, L, D_K, seed=at).expand(-1, 2, -1, -1) for at in range(2))
    out = differential_attention(query, key, draw(B, L, D_V), torch.tensor(1.0).double())
    assert out.abs().max() < 1e-14


def test_a_gate_closes_and_opens() -> None:
    query, key, value = (draw(B, H, L, width, seed=width) for width in (D_K, D_K, D_V))
    plain = scaled_dot_product_attention(query, key, value, causal_mask(L, L))
    gate = draw(B, H, L, D_V, seed=3)
    out = gated_attention(query, key, value, gate, causal_mask(L, L))
    torch.testing.assert_close(out, plain / (1 + (-gate).exp()))
    assert not gated_attention(query, key, value, torch.full_like(gate, -1e4)).any()


@pytest.mark.parametrize("num_selected", [1, 2, 3, 9])
def test_blocks_are_those_whose_mean_key_suits_best(num_selected) -> None:
    query, key, block = draw(B, L, D_K), draw(B, L, D_K, seed=1), 3
    mask = select_blocks(query, key, block, num_selected)
    for b in range(B):
        for n in range(L):
            own = n // block
            means = [key[b, i * block : (i + 1) * block].mean(0) for i in range(own)]
            fit = [float(query[b, n] @ mean) for mean in means]
            best = sorted(range(own), key=lambda i: -fit[i])[: num_selected - 1]
            want = [m <= n and m // block in (*best, own) for m in range(L)]
            assert mask[b, n].tolist() == want


def test_with_all_blocks_selected_it_is_the_causal_mask() -> None:
    mask = select_blocks(draw(L, D_K), draw(L, D_K, seed=1), 4, 3)
    assert torch.equal(mask, causal_mask(L, L))


def test_what_does_not_fit_is_said() -> None:
    x, y = draw(B, 2, L, D_K), draw(B, 2, L, D_V)
    with pytest.raises(ValueError, match="query and key must be two each, got 3 and 2"):
        differential_attention(draw(B, 3, L, D_K), x, y[:, 0], torch.tensor(1.0).double())
    with pytest.raises(ValueError, match="balance must be a single number"):
        differential_attention(x, x, y[:, 0], torch.ones(2).double())
    with pytest.raises(ValueError, match="gate must have the shape"):
        gated_attention(x, x, y, x)
    with pytest.raises(ValueError, match="query and key must have the same length, got 11, 4"):
        select_blocks(x, x[..., :4, :], 2, 2)
    with pytest.raises(ValueError, match="num_selected must be at least 1, got 0"):
        select_blocks(x, x, 2, 0)
