"""Mixers that keep a state: causal, as many parameters as the others, and the references inside."""

import pytest
import torch
from torch.nn import functional as F

from course_utils.attention import (
    gated_delta_step,
    merge_heads,
    retention_recurrent,
    selective_scan,
    split_heads,
    wkv_step,
)
from course_utils.models.tasks.recall import D_MODEL, SYMBOLS, RecallModel
from course_utils.models.tasks.state_mixers import MIXERS, PREPARED

WIDTH = 12


def made(kind: str, num_heads: int = 3) -> torch.nn.Module:
    torch.manual_seed(0)
    return MIXERS[kind](WIDTH, num_heads).double()


def tokens(length: int = 7) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(2, length, WIDTH, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("kind", MIXERS)
def test_no_token_reads_what_comes_after_it(kind: str) -> None:
    mixer, x = made(kind), tokens()
    changed = x.clone()
    changed[:, 4:] += 1
    ours, theirs = mixer(x), mixer(changed)
    assert ours.shape == x.shape
    torch.testing.assert_close(ours[:, :4], theirs[:, :4])
    assert not torch.allclose(ours[:, 4:], theirs[:, 4:])


@pytest.mark.parametrize("kind", MIXERS)
def test_every_parameter_learns(kind: str) -> None:
    mixer = made(kind)
    mixer(tokens()).square().sum().backward()
    for name, weight in mixer.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.isfinite().all(), name
        assert weight.grad.abs().sum() > 0, name


@pytest.mark.parametrize("num_heads", [1, 4, 16])
@pytest.mark.parametrize("kind", MIXERS)
def test_all_models_have_the_same_number_of_parameters(kind: str, num_heads: int) -> None:
    ours, full = (
        sum(weight.numel() for weight in model.parameters())
        for model in (RecallModel(kind, num_heads), RecallModel("full"))
    )
    assert abs(ours - full) <= 2 * D_MODEL  # half a unit of two layers
    scores = RecallModel(kind, num_heads)(torch.arange(6).expand(2, 6))
    assert scores.shape == (2, 6, SYMBOLS)


@pytest.mark.parametrize(("prefix", "prepared"), PREPARED.items())
def test_retention_fades_by_its_papers_decays(prefix: str, prepared: tuple[bool, bool]) -> None:
    mixer, x = made(f"{prefix}retention"), tokens()
    query, key, value = (split_heads(part(x), 3) for part in (mixer.query, mixer.key, mixer.value))
    silu, unit = prepared
    if silu:
        query, key = (one * one.sigmoid() for one in (query, key))
    if unit:
        query, key = (one / one.norm(dim=-1, keepdim=True) for one in (query, key))
    decay = torch.tensor([31 / 32, 63 / 64, 127 / 128], dtype=torch.float64)
    wanted = merge_heads(retention_recurrent(query, key, value, decay))
    torch.testing.assert_close(mixer(x), wanted)


@pytest.mark.parametrize("kind", ["delta", "gated delta"])
def test_the_delta_rule_is_a_loop_of_steps(kind: str) -> None:
    mixer, x = made(kind), tokens()
    query, key, value = (split_heads(part(x), 3) for part in (mixer.query, mixer.key, mixer.value))
    query, key = (F.normalize(F.silu(one), dim=-1) for one in (query, key))
    alpha = torch.ones(2, 7, 3, dtype=torch.float64)
    if kind == "gated delta":
        alpha = torch.sigmoid(mixer.alpha(x) + 4)
    beta = torch.sigmoid(mixer.beta(x))
    state, out = x.new_zeros(2, 3, 4, 4), []
    for t in range(7):
        read, state = gated_delta_step(
            query[:, :, t], key[:, :, t], value[:, :, t], alpha[:, t], beta[:, t], state
        )
        out.append(read.flatten(1))
    torch.testing.assert_close(mixer(x), torch.stack(out, dim=1))


def test_a_gate_of_the_linear_kind_begins_near_one() -> None:
    mixer, x = made("gated linear"), tokens()
    gate = torch.sigmoid(mixer.gate(x)) ** (1 / 16)
    assert 0.9 < gate.min() < gate.max() < 1


def test_the_state_space_model_scans_and_its_steps_begin_small() -> None:
    mixer, x = made("SSM"), tokens()
    steps = F.softplus(mixer.delta.bias)
    assert 0.0009 < steps.min() < steps.max() < 0.11
    u = F.silu(mixer.value(x))
    write, read, low = mixer.select(u).split((16, 16, 4), dim=-1)
    scanned = selective_scan(
        u, F.softplus(mixer.delta(low)), -mixer.log_A.exp(), write, read, mixer.D
    )
    torch.testing.assert_close(mixer(x), scanned * F.silu(mixer.gate(x)))


def test_wkv_is_a_loop_of_steps() -> None:
    mixer, x = made("WKV"), tokens()
    key, value = mixer.key(x), mixer.value(x)
    state = (x.new_zeros(2, WIDTH), x.new_zeros(2, WIDTH), x.new_full((2, WIDTH), -torch.inf))
    out = []
    for t in range(7):
        read, state = wkv_step(key[:, t], value[:, t], mixer.log_decay.exp(), mixer.bonus, state)
        out.append(read)
    wanted = torch.stack(out, dim=1) * torch.sigmoid(mixer.receptance(x))
    torch.testing.assert_close(mixer(x), wanted)
