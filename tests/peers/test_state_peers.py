"""States instead of caches, and experts: beside the models at Hugging Face."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import MixtralConfig
from transformers.models.mamba.modeling_mamba import mamba_selective_scan
from transformers.models.mixtral.modeling_mixtral import (
    MixtralTopKRouter,
    load_balancing_loss_func,
)
from transformers.models.qwen3_next.modeling_qwen3_next import (
    torch_chunk_gated_delta_rule,
    torch_recurrent_gated_delta_rule,
)
from transformers.models.rwkv.modeling_rwkv import rwkv_linear_attention_cpu

from course_utils.attention import (
    chunked_selective_scan,
    gated_delta_rule,
    gated_delta_step,
    load_balance_loss,
    retention_chunk,
    retention_parallel,
    retention_recurrent,
    route_top_k,
    selective_scan,
    wkv,
    wkv_step,
)
from tests.peers.peer_support import BATCH
from tests.support import assert_same_function, draw

HEADS, D_K, D_V = 3, 6, 5


def rounded(*shape: int, seed: int = 0) -> Tensor:
    """Draw numbers of float32, which these peers compute in."""
    return draw(*shape, seed=seed).float()


def slopes(call: Any, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    leaves = tuple(one.detach().requires_grad_() for one in given)
    out = call(*leaves)
    return out.detach(), *torch.autograd.grad((out * rounded(*out.shape, seed=9)).sum(), leaves)


def assert_alike_in_float32(ours: Any, theirs: Any, given: tuple[Tensor, ...]) -> None:
    """Compare outputs and all gradients, to float32's rounding."""
    for one, other in zip(slopes(ours, given), slopes(theirs, given), strict=True):
        size = other.abs().max() or 1.0  # one token leaves nothing to fade
        torch.testing.assert_close(one / size, other / size, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", [1, 9])
@pytest.mark.peer(
    "17", "`wkv`, `wkv_step`", "RWKV's attention on the CPU", "float32 1e-4", "outputs, state"
)
def test_wkv_is_rwkv_s(length) -> None:
    key, value = rounded(BATCH, length, D_K), rounded(BATCH, length, D_K, seed=1)
    decay, bonus = rounded(D_K).abs(), rounded(D_K, seed=2)
    theirs, left = rwkv_linear_attention_cpu(decay.log(), bonus, key, value, return_state=True)
    torch.testing.assert_close(wkv(key, value, decay, bonus), theirs, rtol=1e-4, atol=1e-5)
    zeros = torch.zeros(BATCH, D_K)
    state = (zeros, zeros, zeros - torch.inf)
    for k, v in zip(key.unbind(1), value.unbind(1), strict=True):
        _, state = wkv_step(k, v, decay, bonus, state)
    torch.testing.assert_close(list(state), left, rtol=1e-4, atol=1e-5)


@pytest.mark.peer(
    "17", "`wkv`", "the averages that RWKV-4 defines, by softmax", "float64 1e-7", "gradients"
)
def test_gradients_of_wkv_are_those_of_the_softmax_it_is() -> None:
    def by_softmax(key: Tensor, value: Tensor, decay: Tensor, bonus: Tensor) -> Tensor:
        place = torch.arange(key.shape[1])
        ages = (place[:, None] - 1 - place).clamp(min=0).unsqueeze(-1)
        logits = key.unsqueeze(1) - ages * decay + bonus * (place[:, None] == place).unsqueeze(-1)
        logits = logits.masked_fill(place[:, None, None] < place[:, None], -torch.inf)
        return (logits.softmax(2) * value.unsqueeze(1)).sum(2)

    given = draw(BATCH, 8, D_K), draw(BATCH, 8, D_K, seed=1), draw(D_K).abs(), draw(D_K, seed=2)
    assert_same_function(wkv, by_softmax, given)


def delta_given(length: int) -> tuple[Tensor, ...]:
    query, key, value = (
        rounded(BATCH, HEADS, length, width, seed=at) for at, width in enumerate((D_K, D_K, D_V))
    )
    gates = (rounded(BATCH, HEADS, length, seed=at).sigmoid() for at in (3, 4))
    return query, F.normalize(key, dim=-1), value, *gates


def delta_theirs(function: Any, **more: Any) -> Any:
    def run(query: Tensor, key: Tensor, value: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
        given = (x.transpose(1, 2) for x in (query, key, value, alpha.log(), beta))
        out = function(*given, output_final_state=True, **more)[0]
        return out.transpose(1, 2) * D_K**0.5  # theirs divides the query

    return run


def delta_walk(query: Tensor, key: Tensor, value: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    state, read = query.new_zeros(BATCH, HEADS, D_K, D_V), []
    for token in zip(*(x.unbind(2) for x in (query, key, value, alpha, beta)), strict=True):
        out, state = gated_delta_step(*token, state)
        read.append(out)
    return torch.stack(read, 2)


@pytest.mark.parametrize("ours", [gated_delta_rule, delta_walk])
@pytest.mark.parametrize("length", [1, 11, 70])
@pytest.mark.peer(
    "17", "`gated_delta_step`, `gated_delta_rule`",
    "Qwen3-Next's gated delta rule, recurrent and in chunks", "float32 1e-4", "outputs, gradients",
)  # fmt: skip
def test_the_gated_delta_rule_is_qwen3_next_s(length, ours) -> None:
    given = delta_given(length)
    assert_alike_in_float32(ours, delta_theirs(torch_recurrent_gated_delta_rule), given)
    assert_alike_in_float32(ours, delta_theirs(torch_chunk_gated_delta_rule, chunk_size=8), given)


@pytest.mark.parametrize("ours", [selective_scan, chunked_selective_scan])
@pytest.mark.parametrize("length", [1, 10])
@pytest.mark.peer(
    "17", "`selective_scan`, `chunked_selective_scan`", "Mamba's selective scan", "float32 1e-4",
    "outputs, gradients",
)  # fmt: skip
def test_the_scan_is_mamba_s(length, ours) -> None:
    def theirs(x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor) -> Tensor:
        out = mamba_selective_scan(*(y.mT for y in (x, delta)), A, B.mT, C.mT, D)
        return (out[0] if isinstance(out, tuple) else out).mT

    d, n = 4, 3
    x, delta = rounded(BATCH, length, d), rounded(BATCH, length, d, seed=1).exp()
    B, C = (rounded(BATCH, length, n, seed=at) for at in (2, 3))
    assert_alike_in_float32(ours, theirs, (x, delta, -rounded(d, n).exp(), B, C, rounded(d)))


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.peer("17", "`route_top_k`", "Mixtral's router", "float32 1e-5", "indices, gates")
def test_the_router_is_mixtral_s(k) -> None:
    config = MixtralConfig(hidden_size=8, num_local_experts=5, num_experts_per_tok=k)
    theirs, x = MixtralTopKRouter(config), rounded(9, 8)
    with torch.no_grad():
        theirs.weight.copy_(rounded(5, 8, seed=1))
    logits, gates, index = theirs(x)
    found, ours = route_top_k(logits, k)
    assert torch.equal(found, index)
    torch.testing.assert_close(ours, gates, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.peer(
    "17", "`load_balance_loss`", "Mixtral's, which is k times ours", "float32 1e-5",
    "loss, gradients",
)  # fmt: skip
def test_the_balance_loss_times_k_is_mixtral_s(k) -> None:
    logits = rounded(11, 5).requires_grad_()
    theirs = load_balancing_loss_func((logits,), 5, k)
    ours = k * load_balance_loss(logits, route_top_k(logits, k)[0])
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    pulled = (torch.autograd.grad(loss, logits)[0] for loss in (ours, theirs))
    torch.testing.assert_close(*pulled, rtol=1e-5, atol=1e-5)


def naive_retention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return what flash-linear-attention's test compares its kernels with.

    From its fla/ops/retention/naive.py, MIT licence, copyright Songlin Yang and Yu Zhang; in double
    precision here where theirs goes to float32.
    """
    s = (1 - q.new_tensor(2.0).pow(-5.0 - q.new_tensor(range(q.shape[1])))).log2()
    n = q.new_tensor(range(q.shape[2]))
    n = torch.exp2((n.unsqueeze(-1) - n) * s.view(-1, 1, 1)) * n.unsqueeze(-1).ge(n)
    s = torch.einsum("bhqd,bhkd,hqk->bhqk", q * q.shape[-1] ** -0.5, k, n.to(q.dtype))
    return torch.einsum("bhqk,bhkd->bhqd", s, v)


@pytest.mark.parametrize("form", ["parallel", "recurrent", "in one chunk"])
@pytest.mark.parametrize("length", [1, 70])
@pytest.mark.peer(
    "17", "`retention_parallel`, `retention_recurrent`, `retention_chunk`",
    "flash-linear-attention's plain retention", "float64 1e-7", "outputs, gradients",
)  # fmt: skip
def test_retention_is_flash_linear_attention_s(length, form) -> None:
    decay = 1 - 2.0 ** (-5.0 - torch.arange(HEADS, dtype=torch.float64))
    state = torch.zeros(BATCH, HEADS, D_K, D_V, dtype=torch.float64)
    ours = {
        "parallel": lambda *qkv: retention_parallel(*qkv, decay),
        "recurrent": lambda *qkv: retention_recurrent(*qkv, decay),
        "in one chunk": lambda *qkv: retention_chunk(*qkv, decay, state)[0],
    }[form]
    widths = enumerate((D_K, D_K, D_V))
    given = tuple(draw(BATCH, HEADS, length, width, seed=at) for at, width in widths)
    assert_same_function(ours, naive_retention, given)
