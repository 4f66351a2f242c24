"""Mixers that keep a state: every form is one function, and no product of fades is divided by."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import (
    chunked_selective_scan,
    gated_delta_rule,
    gated_delta_step,
    gated_linear_attention,
    gated_linear_step,
    retention_chunk,
    retention_parallel,
    retention_recurrent,
    selective_scan,
    wkv,
    wkv_step,
)
from course_utils.measure import count_flops, largest_tensor
from tests.support import draw

B, H, D_K, D_V = 2, 3, 4, 5
LENGTHS = [1, 7, 64, 150]
Given = tuple[Tensor, ...]


def heads(length: int, d_k: int = D_K) -> Given:
    widths = enumerate((d_k, d_k, D_V))
    query, key, value = (draw(B, H, length, width, seed=at) for at, width in widths)
    return query, F.normalize(key, dim=-1), value


def walk(step: Callable[..., tuple[Tensor, Any]], state: Any, *given: Tensor) -> Tensor:
    """Return what each token of (B, H, L, ·) reads."""
    read = []
    for token in zip(*(x.unbind(2) for x in given), strict=True):
        out, state = step(*token, state)
        read.append(out)
    return torch.stack(read, 2)


def delta_given(length: int) -> Given:
    return *heads(length), *(draw(B, H, length, seed=at).sigmoid() for at in (3, 4))


def linear_given(length: int) -> Given:
    return *heads(length), draw(B, H, length, D_K, seed=3).sigmoid()


def scan_given(length: int) -> Given:
    d, n = 5, 3
    x, delta = draw(B, length, d), draw(B, length, d, seed=1).exp()
    rates = -draw(d, n, seed=2).exp()
    return x, delta, rates, draw(B, length, n, seed=3), draw(B, length, n, seed=4), draw(d)


def retention_given(length: int) -> Given:
    return *heads(length), draw(H, seed=3).sigmoid()


def zeros(*shape: int) -> Tensor:
    return torch.zeros(shape, dtype=torch.float64)


def in_chunks(*given: Tensor) -> Tensor:
    """Return retention chunk by chunk, of 32 tokens and a rest."""
    *tokens, decay = given
    state, parts = zeros(B, H, D_K, D_V), []
    for q, k, v in zip(*(x.split(32, -2) for x in tokens), strict=True):
        out, state = retention_chunk(q, k, v, decay, state)
        parts.append(out)
    return torch.cat(parts, -2)


def in_one_chunk(*given: Tensor) -> Tensor:
    return retention_chunk(*given, zeros(B, H, D_K, D_V))[0]


FORMS: dict[str, tuple[Callable[[int], Given], Callable[..., Tensor], Callable[..., Tensor]]] = {
    "retention, recurrent": (retention_given, retention_parallel, retention_recurrent),
    "retention, in chunks": (retention_given, retention_parallel, in_chunks),
    "retention, in one chunk": (retention_given, retention_recurrent, in_one_chunk),
    "gated linear": (
        linear_given,
        gated_linear_attention,
        lambda *given: walk(gated_linear_step, zeros(B, H, D_K, D_V), *given),
    ),
    "gated delta": (
        delta_given,
        gated_delta_rule,
        lambda *given: walk(gated_delta_step, zeros(B, H, D_K, D_V), *given),
    ),
    "scan": (scan_given, chunked_selective_scan, selective_scan),
}


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("form", FORMS)
def test_all_forms_are_one_function(form, length) -> None:
    make, one, other = FORMS[form]
    given = tuple(x.requires_grad_() for x in make(length))
    out, want = one(*given), other(*given)
    room = 1e-12 * float(want.detach().abs().max())
    torch.testing.assert_close(out, want, rtol=0, atol=room)
    slope = draw(*out.shape, seed=9)
    pulled = (torch.autograd.grad(one, given, slope, materialize_grads=True) for one in (out, want))
    for mine, theirs in zip(*pulled, strict=True):
        room = 1e-12 * float(theirs.abs().max()) + 1e-13
        torch.testing.assert_close(mine, theirs, rtol=0, atol=room)


@pytest.mark.parametrize("form", FORMS)
def test_in_float32_they_differ_by_rounding_alone(form) -> None:
    make, one, other = FORMS[form]
    if "chunk" in form:
        pytest.skip("its helper's state is of float64")
    given = tuple(x.float() for x in make(150))
    exact = one(*(x.double() for x in given))
    room = 2e-5 * float(exact.abs().max())
    assert (one(*given) - exact).abs().max() < room
    if "delta" not in form and "gated" not in form:
        assert (other(*given) - exact).abs().max() < room


def test_a_gated_linear_step_is_a_delta_step_that_removes_nothing() -> None:
    """A key that finds nothing has nothing removed: the first token of both is the same."""
    query, key, value, alpha, _ = (x[:, :, 0] for x in delta_given(1))
    state, full = zeros(B, H, D_K, D_V), torch.ones_like(alpha)
    linear = gated_linear_step(query, key, value, alpha.unsqueeze(-1).expand_as(key), state)
    torch.testing.assert_close(linear, gated_delta_step(query, key, value, alpha, full, state))


def test_what_is_written_in_full_is_found_again() -> None:
    _, key, value, alpha, _ = (x[:, :, 0] for x in delta_given(1))
    state = draw(B, H, D_K, D_V)
    out, _ = gated_delta_step(key, key, value, alpha, torch.ones_like(alpha), state)
    torch.testing.assert_close(out, value)


@pytest.mark.thorough
@pytest.mark.parametrize(("dtype", "length"), [(torch.float64, 1500), (torch.float32, 150)])
@pytest.mark.parametrize("form", [retention_parallel, retention_recurrent, "chunk"])
def test_a_decay_of_0_4_stays_finite(form, dtype, length) -> None:
    query, key, value = (draw(1, 1, length, 2, seed=at, dtype=dtype) for at in range(3))
    given = [x.requires_grad_() for x in (query, key, value, torch.tensor([0.4], dtype=dtype))]
    if form == "chunk":
        out, _ = retention_chunk(*given, torch.zeros(1, 1, 2, 2, dtype=dtype))
    else:
        out = form(*given)
    assert out.isfinite().all()
    assert all(x.isfinite().all() for x in torch.autograd.grad(out.sum(), given))


@pytest.mark.parametrize("scan", [selective_scan, chunked_selective_scan])
def test_a_scan_that_forgets_at_once_stays_finite(scan) -> None:
    x, _, _, b, c, D = scan_given(300)
    delta, A = torch.full_like(x, 16.0), -torch.ones(5, 3, dtype=torch.float64)
    given = [one.requires_grad_() for one in (x, delta, A, b, c, D)]
    out = scan(*given)
    assert all(one.isfinite().all() for one in (out, *torch.autograd.grad(out.sum(), given)))
    alone = (delta * x) * (b * c).sum(-1, keepdim=True) + D * x
    torch.testing.assert_close(out, alone, rtol=0, atol=1e-4)  # e^-16 of the one before


@pytest.mark.parametrize("whole", [gated_delta_rule, gated_linear_attention])
def test_a_gate_of_0_forgets_everything(whole) -> None:
    given = list((delta_given if whole is gated_delta_rule else linear_given)(9))
    given[3] = given[3].clone()
    given[3][:, :, 5] = 0.0
    out = whole(*given)
    torch.testing.assert_close(out[:, :, 5:], whole(*(x[:, :, 5:] for x in given)))


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_wkv_is_a_softmax_with_a_fade(scale) -> None:
    key, value = scale * draw(B, 20, D_K), draw(B, 20, D_K, seed=1)
    decay, bonus = draw(D_K).abs(), draw(D_K, seed=2)
    out = wkv(key, value, decay, bonus)
    for t in range(20):
        logits = [key[:, i] - (t - 1 - i) * decay for i in range(t)] + [bonus + key[:, t]]
        weights = torch.stack(logits, 1).softmax(1)
        torch.testing.assert_close(out[:, t], (weights * value[:, : t + 1]).sum(1))


def test_the_state_of_wkv_is_measured_against_its_largest_key() -> None:
    key, value = draw(B, 6, D_K), draw(B, 6, D_K, seed=1)
    decay, bonus = draw(D_K).abs(), draw(D_K, seed=2)
    state = (zeros(B, D_K), zeros(B, D_K), zeros(B, D_K) - torch.inf)
    for t in range(6):
        _, state = wkv_step(key[:, t], value[:, t], decay, bonus, state)
        logits = torch.stack([key[:, i] - (t - i) * decay for i in range(t + 1)])
        top = logits.amax(0)
        terms = (logits - top).exp()
        want = (terms * value[:, : t + 1].transpose(0, 1)).sum(0), terms.sum(0), top
        torch.testing.assert_close(state, want)


@pytest.mark.parametrize("whole", [in_one_chunk, gated_delta_rule])
def test_a_long_sequence_makes_no_larger_table(whole) -> None:
    """A table of 64 × 64 for a head; the output and a copy of the inputs grow with length."""
    make = retention_given if whole is in_one_chunk else delta_given
    with torch.no_grad():
        sizes = [largest_tensor(whole, *make(length)) for length in (256, 512)]
        work = [count_flops(whole, *make(length)) for length in (256, 512)]
    assert sizes == [B * H * 64 * 64] * 2
    assert work[1] == 2 * work[0]


@pytest.mark.parametrize(
    ("call", "given"),
    [
        (retention_chunk, ((2, 3, 0, 4), (2, 3, 0, 4), (2, 3, 0, 5), (3,), (2, 3, 4, 5))),
        (gated_linear_attention, ((1, 1, 0, 4),) * 4),
        (gated_delta_rule, ((1, 1, 0, 4),) * 3 + ((1, 1, 0),) * 2),
        (selective_scan, ((2, 0, 3),) * 2 + ((3, 5), (2, 0, 5), (2, 0, 5), (3,))),
        (wkv, ((2, 0, 3), (2, 0, 3), (3,), (3,))),
    ],
)
def test_no_token_is_refused(call, given) -> None:
    with pytest.raises(ValueError, match="at least one token"):
        call(*(torch.zeros(shape) for shape in given))


def test_the_state_of_wkv_must_fit() -> None:
    key, value, decay, bonus, *state = map(
        torch.zeros, ((2, 3), (2, 3), 3, 3, (2, 3), (2, 4), (2, 3))
    )
    with pytest.raises(ValueError, match=r"denominator must have the shape \(2, 3\)"):
        wkv_step(key, value, decay, bonus, tuple(state))
