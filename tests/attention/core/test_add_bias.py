"""Additions to the scores or weights: an additive bias, and dropout."""

from functools import partial

import pytest
import torch
from torch.nn import functional as F

from course_utils.attention import (
    add_bias,
    additive_mask,
    attention_dropout,
    causal_mask,
    composed_attention,
    composed_scores,
    scaled_dot_product_attention,
    soft_cap,
    stable_softmax,
)
from course_utils.positions import T5Positions, alibi_bias
from tests.support import assert_same_function, draw, qkv

B, H, L, S = 2, 3, 4, 5


def inputs():
    return qkv((B, H), L, S)


@pytest.mark.parametrize(
    "shape", [(), (S,), (L, S), (H, 1, S), (B, 1, L, 1), (B, H, L, S)], ids=str
)
def test_a_bias_is_added_wherever_it_broadcasts(shape) -> None:
    scores, bias = draw(B, H, L, S), draw(*shape)
    got, full = add_bias(scores, bias), bias.expand(B, H, L, S)
    for at in [(0, 0, 0, 0), (1, 2, 3, 4), (1, 0, 2, 3)]:
        assert got[at] == scores[at] + full[at]
    assert got.shape == scores.shape


def test_sdpa_with_numbers_to_add_is_the_same_function() -> None:
    bias = draw(H, L, S, seed=3)
    assert_same_function(
        lambda *x: composed_attention(*x, partial(add_bias, bias=bias)),
        lambda *x: F.scaled_dot_product_attention(*x, attn_mask=bias.expand(B, H, L, S)),
        inputs(),
    )


def test_the_gradient_reaches_the_bias_summed_over_what_shares_it() -> None:
    scores, bias = draw(B, H, L, S).requires_grad_(), draw(H, 1, S).requires_grad_()
    assert torch.autograd.gradcheck(add_bias, (scores, bias))


def test_alibi_and_t5_compose_with_a_mask_and_a_cap() -> None:
    query, key, value = inputs()
    torch.manual_seed(0)
    t5 = T5Positions(H).double().bias(query, key, torch.arange(L), torch.arange(S))
    for bias in (alibi_bias(H, L, S).double(), t5):
        raw = query @ key.mT / 2 + bias

        def both(scores, bias=bias):
            return soft_cap(add_bias(scores, bias), 1.5)

        got = composed_attention(query, key, value, both, causal_mask(L, S, 1))
        hidden = (1.5 * torch.tanh(raw / 1.5)).masked_fill(~causal_mask(L, S, 1), -torch.inf)
        torch.testing.assert_close(got, hidden.softmax(-1) @ value)


def test_a_bias_of_minus_infinity_is_a_mask() -> None:
    mask = causal_mask(L, S, -1)  # the first query sees nothing
    bias = additive_mask(mask, torch.float64)
    assert_same_function(
        lambda *x: composed_attention(*x, partial(add_bias, bias=bias)),
        lambda *x: scaled_dot_product_attention(*x, mask),
        inputs(),
    )


@pytest.mark.parametrize(
    ("bias", "kind", "message"),
    [
        (torch.zeros(2, 4, 5), ValueError, r"scores' shape \(3, 4, 5\), got \(2, 4, 5\)"),
        (torch.zeros(2, 3, 4, 5), ValueError, r"\(3, 4, 5\), got \(2, 3, 4, 5\)"),
    ],
)
def test_a_bad_bias_is_named(bias, kind, message) -> None:
    with pytest.raises(kind, match=message):
        add_bias(torch.zeros(3, 4, 5), bias)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9])
def test_a_weight_is_zero_or_divided_by_what_is_kept(p) -> None:
    weights = draw(40, 50).softmax(-1)
    dropped = attention_dropout(weights, p, generator())
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], weights[kept] / (1 - p))
    room = 4 * (p * (1 - p) / weights.numel()) ** 0.5
    assert abs(kept.double().mean() - (1 - p)) <= room


def test_the_expectation_is_the_weights_and_their_variance_is_known() -> None:
    weights, draws, p = draw(3, 5).softmax(-1), 20_000, 0.3
    many = attention_dropout(weights.expand(draws, 3, 5), p, generator())
    spread = weights * (p / (1 - p)) ** 0.5  # of one draw
    assert ((many.mean(0) - weights).abs() < 5 * spread / draws**0.5).all()
    torch.testing.assert_close(many.var(0), spread**2, rtol=0.05, atol=0.0)
    pairs = many - weights
    together = (pairs[:, 0, 0] * pairs[:, 0, 1]).mean()  # drawn independently of each other
    assert together.abs() < 5 * spread[0, 0] * spread[0, 1] / draws**0.5


def test_the_generator_alone_decides_and_where_the_weights_lie_does_not() -> None:
    weights = draw(4, 6).softmax(-1)
    state = torch.get_rng_state()
    one = attention_dropout(weights, 0.5, generator(3))
    assert torch.equal(one, attention_dropout(weights.mT.contiguous().mT, 0.5, generator(3)))
    assert not torch.equal(one, attention_dropout(weights, 0.5, generator(4)))
    assert torch.equal(state, torch.get_rng_state())


def test_gradient_goes_only_through_what_is_kept() -> None:
    weights = draw(4, 6).softmax(-1).requires_grad_()
    dropped = attention_dropout(weights, 0.5, generator())
    (grad,) = torch.autograd.grad(dropped.sum(), weights)
    torch.testing.assert_close(grad, (dropped.detach() != 0) * 2.0 * torch.ones_like(grad))


def test_dropout_composes_behind_any_scores() -> None:
    query, key, value = inputs()
    scores = composed_scores(query, key, partial(soft_cap, cap=2.0), causal_mask(L, S, -1))
    dropped = attention_dropout(stable_softmax(scores), 0.5, generator())
    assert not (dropped @ value)[:, :, 0].any()  # an empty row stays one


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_dropout_keeps_the_dtype(dtype) -> None:
    dropped = attention_dropout(torch.ones(3, 4, dtype=dtype), 0.5, generator())
    assert dropped.dtype == dtype
    assert set(dropped.flatten().tolist()) <= {0.0, 2.0}


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ((torch.ones(2), 1.0, generator()), ValueError, "p must be at least 0 and below 1, got 1"),
        ((torch.ones(2), -0.1, generator()), ValueError, "below 1, got -0.1"),
    ],
)
def test_bad_dropout_is_named(given, kind, message) -> None:
    with pytest.raises(kind, match=message):
        attention_dropout(*given)
