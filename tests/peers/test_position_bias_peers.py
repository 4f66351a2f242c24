"""T5's buckets, ALiBi and sinusoids against Hugging Face's: the same numbers and gradients."""

import pytest
import torch
from transformers import T5Config
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.t5.modeling_t5 import T5Attention

from course_utils.positions import (
    T5Positions,
    alibi_bias,
    alibi_slopes,
    sinusoidal_encoding,
    t5_bucket,
    to_split_halves,
)

BUCKETS = [(32, 128), (32, 100), (8, 20), (64, 1000), (16, 512)]


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize(("buckets", "far"), BUCKETS)
def test_t5_buckets_for_every_distance_up_to_512_to_both_sides(both, buckets, far) -> None:
    steps = torch.arange(-512, 513)
    theirs = T5Attention._relative_position_bucket(steps, both, buckets, far)
    assert torch.equal(t5_bucket(steps, buckets, far, both), theirs)


@pytest.mark.parametrize("both", [True, False])
def test_the_t5_scheme_adds_what_t5_adds(both) -> None:
    config = T5Config(d_model=24, d_kv=8, num_heads=3, is_decoder=not both)
    theirs = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    ours = T5Positions(3, bidirectional=both)
    ours.table.weight.data = theirs.relative_attention_bias.weight.data
    places, q = torch.arange(200), torch.zeros(1, 3, 200, 8)
    bias = ours.bias(q, q, places, places).unsqueeze(0)
    wanted = theirs.compute_bias(200, 200)
    torch.testing.assert_close(bias, wanted)
    grad_out = draw(*bias.shape)
    torch.testing.assert_close(
        torch.autograd.grad(bias, ours.table.weight, grad_out),
        torch.autograd.grad(wanted, theirs.relative_attention_bias.weight, grad_out),
    )


@pytest.mark.parametrize("heads", range(1, 41))
def test_bloom_s_slopes(heads) -> None:
    theirs = build_alibi_tensor(torch.ones(1, 2), heads, torch.float32)[:, 0]
    torch.testing.assert_close(alibi_slopes(heads), theirs[:, 1], rtol=1e-6, atol=0)


def test_bloom_s_bias_gives_the_same_weights_under_a_causal_mask() -> None:
    scores = draw(1, 6, 7, 7).requires_grad_()
    hidden = ~torch.ones(7, 7, dtype=torch.bool).tril()

    def weights(bias):
        return torch.softmax((scores + bias).masked_fill(hidden, -torch.inf), dim=-1)

    theirs = build_alibi_tensor(torch.ones(1, 7), 6, torch.float32)
    ours, wanted = weights(alibi_bias(6, 7, 7)), weights(theirs)
    torch.testing.assert_close(ours, wanted)
    grad_out = draw(1, 6, 7, 7)
    torch.testing.assert_close(
        torch.autograd.grad(ours, scores, grad_out), torch.autograd.grad(wanted, scores, grad_out)
    )


def test_marian_s_sinusoids_are_ours_with_all_sines_first() -> None:
    theirs = MarianSinusoidalPositionalEmbedding(50, 16).create_weight()
    torch.testing.assert_close(to_split_halves(sinusoidal_encoding(50, 16)), theirs)
