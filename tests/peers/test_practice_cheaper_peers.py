"""Sinks, compressed latent attention and selected blocks beside gpt-oss, DeepSeek-V3 and torch."""

import math
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from peer_support import BATCH, HEADS, assert_same_function, draw, draw_mask, results, seeded
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, flex_attention, sdpa_kernel
from transformers import DeepseekV3Config, DynamicCache
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention
from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

from course_utils.attention import (
    CompressedLatentAttention,
    block_selected_attention,
    causal_mask,
    sink_attention,
)
from course_utils.positions import rope_interleaved

D_K, D_V, MODEL, QUERY, LATENT, TURNED, BASE = 6, 7, 20, 9, 12, 8, 10000.0


def inputs(kv_heads: int, lengths: tuple[int, int]) -> tuple[Tensor, ...]:
    sizes = ((HEADS, lengths[0], D_K), (kv_heads, lengths[1], D_K), (kv_heads, lengths[1], D_V))
    return *(draw(BATCH, *size, seed=i) for i, size in enumerate(sizes)), draw(HEADS)


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("lengths", [(3, 5), (5, 3), (1, 8), (1, 1)])
@pytest.mark.peer(
    "08", "`sink_attention`", "gpt-oss's `eager_attention_forward`", "float64 1e-7",
    "outputs, gradients",
)  # fmt: skip
def test_sinks_are_gpt_oss_s(kv_heads, masked, lengths) -> None:
    mask = draw_mask(BATCH, HEADS, *lengths) if masked else None
    if mask is not None:
        mask[0, 1, 0] = False
    added = (
        None if mask is None else torch.zeros(mask.shape).double().masked_fill(~mask, -torch.inf)
    )

    def theirs(query: Tensor, key: Tensor, value: Tensor, sink: Tensor) -> Tensor:
        module = SimpleNamespace(num_key_value_groups=HEADS // kv_heads, sinks=sink, training=False)
        out = eager_attention_forward(module, query, key, value, added, 1 / math.sqrt(D_K))[0]
        return out.transpose(1, 2)

    assert_same_function(lambda *x: sink_attention(*x, mask), theirs, inputs(kv_heads, lengths))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.peer(
    "08", "`sink_attention`", "`flex_attention` with its lse: out · sigmoid(lse - sink)",
    "float32 1.3e-6", "outputs",
)  # fmt: skip
def test_a_sink_is_a_sigmoid_of_what_flex_attention_divides_by(causal) -> None:
    query, key, value, sink = (x.float() for x in inputs(HEADS, (32, 32)))
    mask, pattern = None, None
    if causal:
        mask = causal_mask(32, 32)
        rule = lambda b, h, i, j: i >= j  # noqa: E731
        pattern = flex_attention.create_block_mask(rule, None, None, 32, 32, device="cpu")
    asked = flex_attention.AuxRequest(lse=True)
    out, aux = flex_attention.flex_attention(
        query, key, value, block_mask=pattern, return_aux=asked
    )
    want = out * (aux.lse - sink[:, None]).sigmoid().unsqueeze(-1)
    torch.testing.assert_close(sink_attention(query, key, value, sink, mask), want)


@pytest.mark.parametrize(("length", "block", "top_k"), [(40, 8, 1), (37, 5, 2), (33, 16, 3)])
@pytest.mark.peer(
    "08", "`block_selected_attention`", "`flex_attention` under MoBA's rule, written afresh",
    "float32 1.3e-6", "outputs",
)  # fmt: skip
def test_selected_blocks_are_what_flex_attention_reads_under_the_rule(length, block, top_k) -> None:
    query, key, value = (
        draw(BATCH, HEADS, length, d, seed=i).float() for i, d in enumerate((6, 6, 7))
    )
    count = -(-length // block)
    chosen = torch.zeros(BATCH, HEADS, length, count, dtype=torch.bool)
    for b, h, i in torch.cartesian_prod(*map(torch.arange, (BATCH, HEADS, length))).tolist():
        fits = {
            n: float(query[b, h, i] @ key[b, h, n * block : (n + 1) * block].mean(0))
            for n in range(i // block)
        }
        for n in (*sorted(fits, key=lambda n: fits[n])[-top_k:], i // block):
            chosen[b, h, i, n] = True
    pattern = flex_attention.create_block_mask(
        lambda b, h, i, j: chosen[b, h, i, j // block] & (i >= j),
        *(BATCH, HEADS, length, length),
        device="cpu",
    )
    want = flex_attention.flex_attention(query, key, value, block_mask=pattern)
    torch.testing.assert_close(block_selected_attention(query, key, value, block, top_k), want)


def deepseek(scale: float) -> DeepseekV3Attention:
    """Return theirs in float64; their own norms round to float32."""
    config = DeepseekV3Config(
        hidden_size=MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        q_lora_rank=QUERY,
        kv_lora_rank=LATENT,
        qk_nope_head_dim=D_K,
        qk_rope_head_dim=TURNED,
        v_head_dim=D_V,
        rope_parameters={"rope_type": "default", "rope_theta": BASE},
        attn_implementation="sdpa",
    )
    theirs = DeepseekV3Attention(config, layer_idx=0)
    theirs.q_a_layernorm, theirs.kv_a_layernorm = nn.RMSNorm(QUERY, 1e-6), nn.RMSNorm(LATENT, 1e-6)
    theirs.scaling = scale  # as YaRN sets it
    return seeded(theirs)


def angles(start: int, stop: int) -> tuple[Tensor, Tensor]:
    """Return the cosines and sines that theirs is handed, exact."""
    frequencies = BASE ** -(torch.arange(0, TURNED, 2, dtype=torch.float64) / TURNED)
    turned = torch.arange(start, stop).unsqueeze(-1) * frequencies
    return turned.repeat(1, 2).unsqueeze(0).cos(), turned.repeat(1, 2).unsqueeze(0).sin()


def renamed(named: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return DeepSeek's weights, or their gradients, under our names."""
    up = named["kv_b_proj.weight"].view(HEADS, D_K + D_V, LATENT).mT
    ours = {
        "q_down": "q_a_proj", "q_norm": "q_a_layernorm", "q_proj": "q_b_proj",
        "down_proj": "kv_a_proj_with_mqa", "latent_norm": "kv_a_layernorm", "out_proj": "o_proj",
    }  # fmt: skip
    moved = {f"{name}.weight": named[f"{theirs}.weight"] for name, theirs in ours.items()}
    return {**moved, "W_uk": up[..., :D_K], "W_uv": up[..., D_K:]}


def pair(scale: float) -> tuple[CompressedLatentAttention, DeepseekV3Attention]:
    theirs = deepseek(scale)
    ours = CompressedLatentAttention(
        MODEL, HEADS, d_latent=LATENT, d_query=QUERY, d_rope=TURNED, d_k=D_K, d_v=D_V, scale=scale
    ).double()
    ours.load_state_dict(renamed({name: p.detach() for name, p in theirs.named_parameters()}))
    return ours, theirs


@pytest.mark.parametrize("read", ["at once", "from the cache"])
@pytest.mark.parametrize("length", [1, 11])
@pytest.mark.parametrize("scale", [1 / math.sqrt(D_K + TURNED), 0.41])
@pytest.mark.peer(
    "08", "`CompressedLatentAttention`", "DeepSeek-V3: norms, q-LoRA, scale, cache", "float64 1e-7",
    "outputs, gradients",
)  # fmt: skip
def test_compressed_latent_attention_is_deepseek_s(read, length, scale) -> None:
    ours, theirs = pair(scale)
    seen = causal_mask(length, length)
    rotate = partial(rope_interleaved, positions=torch.arange(length), base=BASE)
    x = draw(BATCH, length, MODEL).requires_grad_()

    def call(x: Tensor) -> Tensor:
        if read == "at once":
            return ours(x, seen, rotate)
        return ours.decode(x, ours.compress(x, rotate), seen, rotate)

    def called(x: Tensor) -> Tensor:
        with sdpa_kernel(SDPBackend.MATH):
            return theirs(x, angles(0, length), seen[None, None])[0]

    own, wanted = dict(ours.named_parameters()), dict(theirs.named_parameters())
    out, in_x, *slopes = results(call, (x,), (x, *own.values()))
    want, want_in_x, *their_slopes = results(called, (x,), (x, *wanted.values()))
    torch.testing.assert_close((out, in_x), (want, want_in_x))
    torch.testing.assert_close(
        dict(zip(own, slopes, strict=True)), renamed(dict(zip(wanted, their_slopes, strict=True)))
    )


@pytest.mark.peer(
    "08", "`CompressedLatentAttention`", "DeepSeek-V3: norms, q-LoRA, scale, cache", "float64 1e-7",
    "outputs",
)  # fmt: skip
def test_absorbed_decoding_step_by_step_is_deepseek_s_with_its_cache() -> None:
    ours, theirs = pair(0.41)
    x, kept = draw(BATCH, 11, MODEL), torch.zeros(BATCH, 11, LATENT + TURNED).double()
    past = DynamicCache()
    for start, stop in ((0, 5), (5, 6), (6, 7), (7, 11)):
        seen = causal_mask(stop - start, stop, offset=start)
        rotate = partial(rope_interleaved, positions=torch.arange(start, stop), base=BASE)
        new = x[:, start:stop]
        with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
            want = theirs(new, angles(start, stop), seen[None, None], past_key_values=past)[0]
            kept[:, start:stop] = ours.compress(new, rotate)
            got = ours.decode(new, kept[:, :stop], seen, rotate)
        torch.testing.assert_close(got, want)
