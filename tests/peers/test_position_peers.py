"""RoPE beside Hugging Face's: the same numbers, and the same gradients."""

import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig
from transformers.models.cohere import modeling_cohere
from transformers.models.llama import modeling_llama

from course_utils.attention import merge_heads, scaled_dot_product_attention, split_heads
from course_utils.positions import (
    RopeTable,
    RotaryPositions,
    rope_frequencies,
    rope_interleaved,
    rope_interleaved_attention,
    rope_split_halves,
    to_interleaved,
    to_split_halves,
    yarn_frequencies,
    yarn_magnitude,
)
from tests.peers.peer_support import sdpa

PLACES = torch.tensor([[0, 1, 2, 3, 4], [7, 3, 300, 5, 11]])


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    g = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=g, dtype=torch.float64).to(dtype).requires_grad_()


def assert_same(ours: Tensor, theirs: Tensor, *given: Tensor, **room: float) -> None:
    """Compare values, and the gradients of a random loss."""
    torch.testing.assert_close(ours, theirs, **room)
    grad_out = draw(*ours.shape, seed=9, dtype=ours.dtype)
    got = torch.autograd.grad(ours, given, grad_out, retain_graph=True)
    torch.testing.assert_close(got, torch.autograd.grad(theirs, given, grad_out), **room)


def llama(rope: dict[str, object], heads: int = 3, d_k: int = 8) -> LlamaConfig:
    rope = {"rope_theta": 10000.0, **rope}
    return LlamaConfig(
        hidden_size=heads * d_k,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=64,
        rope_parameters=rope,
        attn_implementation="eager",
    )


@pytest.mark.parametrize("base", [10000.0, 500.0])
@pytest.mark.peer(
    "07", "`rope_split_halves`", "Llama, whose angles are float32", "float32 1e-4",
    "outputs, gradients",
)  # fmt: skip
def test_split_halves_are_llama_s(base) -> None:
    q, k = draw(2, 3, 5, 8, seed=1, dtype=torch.float32), draw(2, 4, 5, 8, dtype=torch.float32)
    config = llama({"rope_type": "default", "rope_theta": base})
    cos, sin = modeling_llama.LlamaRotaryEmbedding(config)(q, PLACES)
    theirs = modeling_llama.apply_rotary_pos_emb(q, k, cos, sin)
    room = {"rtol": 1e-4, "atol": 1e-4}  # theirs multiplies position and frequency in float32
    assert_same(rope_split_halves(q, PLACES, base), theirs[0], q, **room)
    assert_same(rope_split_halves(k, PLACES, base), theirs[1], k, **room)


@pytest.mark.peer(
    "07", "`rope_split_halves`, `RotaryPositions`, `rope_frequencies`",
    "Llama's rotation, given exact angles", "float64 1e-7", "outputs, gradients",
)  # fmt: skip
def test_given_the_same_angles_the_rotations_agree_to_the_last_digits() -> None:
    q, k = draw(2, 3, 5, 8, seed=1), draw(2, 4, 5, 8)
    angles = PLACES.double().unsqueeze(-1) * rope_frequencies(8)
    both = torch.cat((angles, angles), dim=-1)
    theirs = modeling_llama.apply_rotary_pos_emb(q, k, both.cos(), both.sin())
    assert_same(rope_split_halves(q, PLACES), theirs[0], q)
    assert_same(rope_split_halves(k, PLACES), theirs[1], k)
    torch.testing.assert_close(RotaryPositions(8).rotate(q, k, PLACES, PLACES), theirs)


@pytest.mark.peer(
    "07", "`rope_interleaved`", "Cohere's rotation", "float32 1.3e-6", "outputs, gradients"
)
def test_interleaved_is_cohere_s() -> None:
    q, k = draw(2, 3, 5, 8, seed=1, dtype=torch.float32), draw(2, 4, 5, 8, dtype=torch.float32)
    angles = (PLACES.double().unsqueeze(-1) * rope_frequencies(8)).repeat_interleave(2, dim=-1)
    cos, sin = angles.cos().float(), angles.sin().float()
    theirs = modeling_cohere.apply_rotary_pos_emb(q, k, cos, sin)
    assert_same(rope_interleaved(q, PLACES), theirs[0], q)
    assert_same(rope_interleaved(k, PLACES), theirs[1], k)


@pytest.mark.parametrize(("num_queries", "num_keys"), [(5, 5), (2, 5)])
@pytest.mark.peer(
    "07", "`rope_interleaved_attention`", "SDPA on what Cohere's code turns", "float64 1e-7",
    "outputs, gradients",
)  # fmt: skip
def test_attention_with_rope_is_sdpa_on_what_cohere_turns(num_queries, num_keys) -> None:
    q, k = draw(2, 3, num_queries, 8, seed=1), draw(2, 3, num_keys, 8)
    v, places = draw(2, 3, num_keys, 6, seed=2), PLACES[:, :num_keys]
    own = places[:, -num_queries:]
    out = rope_interleaved_attention(q, k, v, own, places)
    turned = [cohere_s(x, places) for x, places in ((q, own), (k, places))]
    assert_same(out, sdpa(*turned, v), q, k, v)


def cohere_s(x: Tensor, places: Tensor) -> Tensor:
    """Return what their code turns by exact angles; it rounds what it turns to float32."""
    angles = (places.unsqueeze(-1) * rope_frequencies(x.shape[-1])).repeat_interleave(2, dim=-1)
    cos, sin = angles.cos().unsqueeze(1), angles.sin().unsqueeze(1)
    return x * cos + modeling_cohere.rotate_half(x) * sin


@pytest.mark.parametrize("pairing", ["split halves", "interleaved"])
@pytest.mark.peer(
    "07", "`to_interleaved`, `to_split_halves`", "a whole Llama attention, in either pairing",
    "float32 1.3e-6", "outputs, gradients",
)  # fmt: skip
def test_a_whole_llama_attention_in_either_pairing(pairing) -> None:
    config = llama({"rope_type": "default"})
    torch.manual_seed(0)
    theirs = modeling_llama.LlamaAttention(config, 0)
    x, places = draw(2, 5, 24, dtype=torch.float32), torch.arange(5)
    positions = modeling_llama.LlamaRotaryEmbedding(config)(x, places.unsqueeze(0))
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    additive = torch.zeros(1, 1, 5, 5).masked_fill(~causal, -torch.inf)
    wanted = theirs(x, position_embeddings=positions, attention_mask=additive)[0]
    W_q, W_k, W_v, W_o = (
        getattr(theirs, f"{name}_proj").weight.mT for name in ("q", "k", "v", "o")
    )
    if pairing == "interleaved":
        W_q, W_k = to_interleaved(W_q, 3), to_interleaved(W_k, 3)
        torch.testing.assert_close(to_split_halves(W_q, 3), theirs.q_proj.weight.mT)
    rope = rope_interleaved if pairing == "interleaved" else rope_split_halves
    q, k, v = (split_heads(x @ W, 3) for W in (W_q, W_k, W_v))
    heads = scaled_dot_product_attention(rope(q, places), rope(k, places), v, causal)
    assert_same(merge_heads(heads) @ W_o, wanted, x)


@pytest.mark.parametrize("d_k", [8, 64, 128])
@pytest.mark.parametrize("factor", [2.0, 16.0])
@pytest.mark.peer("07", "`RopeTable`", "Llama with YaRN", "float32 1e-4", "outputs, gradients")
def test_yarn_turns_as_llama_does(d_k, factor) -> None:
    rope = {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": 64}
    config, q = llama(rope, d_k=d_k), draw(2, 3, 5, d_k, dtype=torch.float32)
    cos, sin = modeling_llama.LlamaRotaryEmbedding(config)(q, PLACES)
    turned, _ = modeling_llama.apply_rotary_pos_emb(q, q, cos, sin)
    frequencies = yarn_frequencies(d_k, factor=factor, trained_length=64)
    table = RopeTable(d_k, frequencies=frequencies, magnitude=yarn_magnitude(factor))
    assert_same(table.rotate(q, PLACES), turned, q, rtol=1e-4, atol=1e-4)
