"""Attention without a softmax over tokens: beside MiniMax's at Hugging Face, and beside SDPA."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import MiniMaxConfig
from transformers.models.minimax.modeling_minimax import MiniMaxLightningAttention

from course_utils.attention import (
    causal_linear_attention,
    cross_covariance_attention,
    linear_attention,
    recurrent_linear_attention,
)
from tests.peers.peer_support import BATCH, sdpa
from tests.support import assert_same_function, draw

MINIMAX = pytest.mark.peer(
    "08", "`linear_attention`, `causal_linear_attention`, `recurrent_linear_attention`",
    "MiniMax without decay, in blocks and token by token", "float64 1e-7", "outputs, gradients",
)  # fmt: skip

HEADS, D_K, BLOCK = 3, 6, 4  # theirs has one width for all: five features of a value, and a 1


class Each(nn.Module):
    """A part of their layer, instead of what ours does not have."""

    def __init__(self, apply=lambda x: x) -> None:
        super().__init__()
        self.forward = apply


class Empty:
    """A cache before the first token: theirs then goes token by token, as a recurrence."""

    def get_linear_cache(self, layer: int) -> Tensor:
        return torch.zeros(BATCH, HEADS, D_K, D_K, dtype=torch.float64)

    def set_linear_cache(self, layer: int, state: Tensor) -> None: ...


def features(joined: Tensor) -> Tensor:
    """Return φ of queries and keys, and values as they are."""
    query, key, value = joined.unflatten(-1, (HEADS, 3 * D_K)).split(D_K, dim=-1)
    return torch.cat((F.elu(query) + 1.0, F.elu(key) + 1.0, value), dim=-1).flatten(-2)


def minimax() -> MiniMaxLightningAttention:
    """Return their layer with our φ and without decay, projections, norm and gate."""
    config = MiniMaxConfig(
        hidden_size=HEADS * D_K, num_attention_heads=HEADS, head_dim=D_K, block_size=BLOCK,
        num_hidden_layers=2, layer_types=["linear_attention"] * 2,
    )  # fmt: skip
    theirs = MiniMaxLightningAttention(config, layer_idx=0)
    theirs.act_fn = Each(features)
    theirs.qkv_proj, theirs.norm, theirs.out_proj = Each(), Each(), Each()
    theirs.output_gate = Each(lambda x: x.new_tensor(torch.inf))  # whose sigmoid is 1
    # So slow a decay that it changes no digit; 0 would hide nothing of the future in their rule.
    theirs.slope_rate = torch.full((HEADS, 1, 1), 1e-30, dtype=torch.float64)
    decays = theirs.decay_factors(theirs.slope_rate)
    theirs.query_decay, theirs.key_decay, theirs.diagonal_decay = decays
    return theirs


def run(query: Tensor, key: Tensor, value: Tensor, cache: Empty | None) -> tuple[Tensor, Tensor]:
    """Return what their layer sums for each query, divided as ours, and its state at the end."""
    ones = torch.ones_like(value[..., :1])
    joined = torch.cat((query, key, value, ones), dim=-1).transpose(1, 2).flatten(-2)
    out, state = minimax()(joined, None, None, past_key_values=cache)
    out = out.unflatten(-1, (HEADS, D_K)).transpose(1, 2)
    return out[..., :-1] / out[..., -1:], state


def given(length: int) -> tuple[Tensor, ...]:
    query, key = (draw(BATCH, HEADS, length, D_K, seed=seed) for seed in (0, 1))
    return query, key, draw(BATCH, HEADS, length, D_K - 1)


@pytest.mark.parametrize("cache", [None, Empty()], ids=["in blocks", "token by token"])
@pytest.mark.parametrize("attend", [causal_linear_attention, recurrent_linear_attention])
@pytest.mark.parametrize("length", [1, 4, 11])
@MINIMAX
def test_causal_linear_attention_is_minimax_s_without_decay(length, attend, cache) -> None:
    assert_same_function(attend, lambda *x: run(*x, cache)[0], given(length))


@pytest.mark.parametrize("length", [1, 11])
@MINIMAX
def test_linear_attention_reads_the_state_that_minimax_ends_with(length) -> None:
    def theirs(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        out = (F.elu(query) + 1.0) @ run(query, key, value, None)[1]
        return out[..., :-1] / out[..., -1:]

    assert_same_function(linear_attention, theirs, given(length))


@pytest.mark.parametrize("temperature", [0.5, 7.0])
@pytest.mark.parametrize("length", [1, 11])
@pytest.mark.peer(
    "08", "`cross_covariance_attention`", "SDPA over features instead of tokens", "float64 1e-7",
    "outputs, gradients",
)  # fmt: skip
def test_cross_covariance_is_sdpa_over_features(length, temperature) -> None:
    def theirs(*qkv: Tensor) -> Tensor:
        query, key, value = (x.mT for x in qkv)
        query, key = F.normalize(query, dim=-1), F.normalize(key, dim=-1)
        return sdpa(query, key, value, scale=temperature).mT

    qkv = tuple(draw(BATCH, HEADS, length, D_K, seed=seed) for seed in range(3))
    assert_same_function(lambda *x: cross_covariance_attention(*x, temperature), theirs, qkv)
