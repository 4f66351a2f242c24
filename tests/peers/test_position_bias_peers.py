"""Biases and tables of positions against Hugging Face's: the same numbers and gradients."""

import pytest
import torch
from torch import Tensor, nn
from transformers import DebertaV2Config, GPT2Config, GPT2Model, T5Config, Wav2Vec2BertConfig
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention

from course_utils.attention import merge_heads, split_heads
from course_utils.positions import (
    AlibiPositions,
    DebertaPositions,
    LearnedPositions,
    ShawPositions,
    SinusoidalPositions,
    T5Positions,
    alibi_bias,
    alibi_slopes,
    disentangled_scores,
    shaw_scores,
    shift_matrix,
    sinusoidal_encoding,
    t5_bucket,
    to_interleaved,
    to_split_halves,
)
from tests.peers.peer_support import seeded
from tests.support import assert_same_function
from tests.support import draw as draw_exact

BUCKETS = [(32, 128), (32, 100), (8, 20), (64, 1000), (16, 512)]


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize(("buckets", "far"), BUCKETS)
@pytest.mark.peer("07", "`t5_bucket`", "T5", "equal", "buckets")
def test_t5_buckets_for_every_distance_up_to_512_to_both_sides(both, buckets, far) -> None:
    steps = torch.arange(-512, 513)
    theirs = T5Attention._relative_position_bucket(steps, both, buckets, far)
    assert torch.equal(t5_bucket(steps, buckets, far, both), theirs)


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.peer("07", "`T5Positions`", "T5's bias", "float32 1.3e-6", "biases, gradients")
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
@pytest.mark.peer("07", "`alibi_slopes`", "BLOOM's slopes", "float32 1e-6", "slopes")
def test_bloom_s_slopes(heads) -> None:
    theirs = build_alibi_tensor(torch.ones(1, 2), heads, torch.float32)[:, 0]
    torch.testing.assert_close(alibi_slopes(heads), theirs[:, 1], rtol=1e-6, atol=0)


@pytest.mark.peer(
    "07", "`alibi_bias`", "BLOOM's bias under a causal mask", "float32 1.3e-6", "weights, gradients"
)
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


@pytest.mark.peer(
    "07", "`AlibiPositions`", "BLOOM's bias, from the query's own key", "float32 1.3e-6", "biases"
)
def test_the_alibi_scheme_adds_the_bias() -> None:
    places, q = torch.arange(7), torch.zeros(1, 6, 7, 4)
    theirs = build_alibi_tensor(torch.ones(1, 7), 6, torch.float32).expand(-1, 7, -1)
    ours = AlibiPositions(6).bias(q, q, places, places).tril()
    own = theirs.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)  # theirs counts from the first key
    torch.testing.assert_close(ours, (theirs - own).tril())


@pytest.mark.parametrize("offset", [-7, 0, 1, 20])
@pytest.mark.peer(
    "07", "`sinusoidal_encoding`, `SinusoidalPositions`, `shift_matrix`",
    "Marian's table; shifted rows of it", "float32 1.3e-6", "tables",
)  # fmt: skip
def test_marian_s_sinusoids_are_ours_with_all_sines_first(offset) -> None:
    theirs = MarianSinusoidalPositionalEmbedding(50, 16).create_weight()
    torch.testing.assert_close(to_split_halves(sinusoidal_encoding(50, 16)), theirs)
    stream = SinusoidalPositions().embed(torch.zeros(1, 50, 16), torch.arange(50))
    torch.testing.assert_close(to_split_halves(stream[0]), theirs)
    first, last = max(0, -offset), min(50, 50 - offset)
    moved = to_interleaved(theirs[first:last]) @ shift_matrix(offset, 16)
    torch.testing.assert_close(to_split_halves(moved), theirs[first + offset : last + offset])


@pytest.mark.peer(
    "07", "`LearnedPositions`", "GPT-2's embedding of positions", "float64 1e-7",
    "outputs, gradients",
)  # fmt: skip
def test_learned_positions_are_gpt_2_s() -> None:
    theirs = GPT2Model(GPT2Config(vocab_size=5, n_positions=9, n_embd=6, n_head=1, n_layer=0))
    theirs = seeded(theirs).eval()
    theirs.ln_f = nn.Identity()
    ours = LearnedPositions(9, 6).double()
    ours.table.load_state_dict(theirs.wpe.state_dict())
    places, x = torch.tensor([[0, 1, 2], [6, 8, 7]]), draw_exact(2, 3, 6).requires_grad_()
    out = ours.embed(x, places)
    want = theirs(inputs_embeds=x, position_ids=places).last_hidden_state
    torch.testing.assert_close(out, want)
    slope = draw_exact(2, 3, 6, seed=9)
    torch.testing.assert_close(
        torch.autograd.grad(out, (x, ours.table.weight), slope),
        torch.autograd.grad(want, (x, theirs.wpe.weight), slope),
    )


@pytest.mark.parametrize("reach", [0, 2, 9])
@pytest.mark.parametrize("length", [1, 7])
@pytest.mark.peer(
    "07", "`shaw_scores`, `ShawPositions`", "Wav2Vec2-BERT with relative keys", "float64 1e-7",
    "outputs, weights, gradients",
)  # fmt: skip
def test_shaw_s_scores_are_those_of_wav2vec2_bert(length, reach) -> None:
    config = Wav2Vec2BertConfig(
        hidden_size=24, num_attention_heads=3, position_embeddings_type="relative_key",
        left_max_position_embeddings=reach, right_max_position_embeddings=reach,
        attn_implementation="eager",
    )  # fmt: skip
    theirs = seeded(Wav2Vec2BertSelfAttention(config)).eval()
    places, scheme = torch.arange(length), ShawPositions(8, reach).double()

    def ours(x: Tensor, table: Tensor) -> tuple[Tensor, ...]:
        q, k, v = (
            split_heads(layer(x), 3)
            for layer in (theirs.linear_q, theirs.linear_k, theirs.linear_v)
        )
        weights = shaw_scores(q, k, table, reach).softmax(dim=-1)
        scheme.for_keys.data = table.detach()
        scores = q @ k.mT * 8**-0.5 + scheme.bias(q, k, places, places)
        torch.testing.assert_close(scores.softmax(dim=-1), weights)
        return theirs.linear_out(merge_heads(weights @ v)), weights

    def wav2vec2_bert(x: Tensor, table: Tensor) -> tuple[Tensor, ...]:
        named = {"distance_embedding.weight": table}
        return torch.func.functional_call(theirs, named, (x,))

    given = draw_exact(2, length, 24), draw_exact(2 * reach + 1, 8)
    assert_same_function(ours, wav2vec2_bert, given)


@pytest.mark.parametrize(("length", "reach"), [(1, 3), (7, 2), (7, 9)])
@pytest.mark.peer(
    "07", "`disentangled_scores`, `DebertaPositions`", "DeBERTa-v2's disentangled attention",
    "float64 1e-7", "outputs, weights, gradients",
)  # fmt: skip
def test_deberta_s_terms_are_those_of_deberta_v2(length, reach) -> None:
    config = DebertaV2Config(
        hidden_size=24, num_attention_heads=3, relative_attention=True, pos_att_type=["c2p", "p2c"],
        max_relative_positions=reach, share_att_key=False,
    )  # fmt: skip
    theirs = seeded(DisentangledSelfAttention(config)).eval()
    places, scheme = torch.arange(length), DebertaPositions(3, 8, reach).double()
    mask = torch.ones(1, 1, length, length)

    def ours(x: Tensor, table: Tensor) -> tuple[Tensor, ...]:
        projections = (theirs.query_proj, theirs.key_proj, theirs.value_proj)
        q, k, v = (split_heads(layer(x), 3) for layer in projections)
        asks, offers = (
            split_heads(layer(table[None]), 3)[0]
            for layer in (theirs.pos_query_proj, theirs.pos_key_proj)
        )
        weights = disentangled_scores(q, k, asks, offers, reach).softmax(dim=-1)
        scheme.for_queries.data, scheme.for_keys.data = asks.detach(), offers.detach()
        turned = scheme.rotate(q, k, places, places)
        scores = turned[0] @ k.mT * 8**-0.5 + scheme.bias(*turned, places, places)
        torch.testing.assert_close(scores.softmax(dim=-1), weights)
        return merge_heads(weights @ v), weights

    def deberta(x: Tensor, table: Tensor) -> tuple[Tensor, ...]:
        return theirs(x, mask, output_attentions=True, rel_embeddings=table)  # type: ignore[no-any-return]

    given = draw_exact(2, length, 24), draw_exact(2 * reach, 24)
    assert_same_function(ours, deberta, given)
