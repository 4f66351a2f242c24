"""Latent attention beside DeepSeek-V3's at Hugging Face: the functions, and both modules."""

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import DeepseekV3Config, DynamicCache
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention

from course_utils.attention import (
    CompressedLatentAttention,
    LatentAttention,
    absorbed_latent_attention,
    causal_mask,
    latent_attention,
    merge_heads,
    split_heads,
)
from course_utils.positions import rope_interleaved
from tests.peers.peer_support import BATCH, results, seeded
from tests.support import assert_same_function, draw

DEEPSEEK = pytest.mark.peer(
    "08", "`latent_attention`, `absorbed_latent_attention`, `LatentAttention`", "DeepSeek-V3",
    "float64 1e-7", "outputs, gradients",
)  # fmt: skip

HEADS, WIDTH, LATENT, QUERY, ABOUT, TURNED, D_V = 4, 32, 12, 9, 8, 4, 5
BASE = 10000.0
SIZES = {"d_latent": LATENT, "d_rope": TURNED, "d_k": ABOUT, "d_v": D_V}


def deepseek(norm: Callable[..., nn.Module], d_query: int | None = None) -> DeepseekV3Attention:
    """Return their attention in float64 with another norm: their own rounds to float32."""
    config = DeepseekV3Config(
        hidden_size=WIDTH, num_attention_heads=HEADS, num_key_value_heads=HEADS,
        q_lora_rank=d_query, kv_lora_rank=LATENT, qk_nope_head_dim=ABOUT, qk_rope_head_dim=TURNED,
        v_head_dim=D_V, rope_parameters={"rope_type": "default", "rope_theta": BASE},
        attn_implementation="sdpa",
    )  # fmt: skip
    theirs = DeepseekV3Attention(config, layer_idx=0)
    theirs.kv_a_layernorm = norm(LATENT)
    if d_query:
        theirs.q_a_layernorm = norm(d_query)
    return seeded(theirs)


def run(theirs: DeepseekV3Attention, x: Tensor, start: int = 0, **cache: DynamicCache) -> Tensor:
    """Return what theirs makes of a stream from `start` on, causal, with exact angles."""
    stop = start + x.shape[1]
    frequencies = BASE ** -(torch.arange(0, TURNED, 2, dtype=torch.float64) / TURNED)
    angles = (torch.arange(start, stop).unsqueeze(-1) * frequencies).repeat(1, 2).unsqueeze(0)
    seen = causal_mask(x.shape[1], stop, start)[None, None]
    with sdpa_kernel(SDPBackend.MATH):
        out: Tensor = theirs(x, (angles.cos(), angles.sin()), seen, **cache)[0]
    return out


def turned(start: int, stop: int) -> Callable[[Tensor], Tensor]:
    return partial(rope_interleaved, positions=torch.arange(start, stop), base=BASE)


def renamed(named: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return DeepSeek's weights, or their gradients, under our names."""
    up = named["kv_b_proj.weight"].view(HEADS, ABOUT + D_V, LATENT).mT
    ours = {
        "q_down": "q_a_proj", "q_norm": "q_a_layernorm", "down_proj": "kv_a_proj_with_mqa",
        "q_proj": "q_b_proj" if "q_b_proj.weight" in named else "q_proj",
        "latent_norm": "kv_a_layernorm", "out_proj": "o_proj",
    }  # fmt: skip
    there = {f"{name}.weight": named.get(f"{theirs}.weight") for name, theirs in ours.items()}
    moved = {name: weight for name, weight in there.items() if weight is not None}
    return {**moved, "W_uk": up[..., :ABOUT], "W_uv": up[..., ABOUT:]}


def plain() -> tuple[LatentAttention, DeepseekV3Attention]:
    ours, theirs = LatentAttention(WIDTH, HEADS, **SIZES).double(), deepseek(nn.Identity)
    ours.load_state_dict(renamed(theirs.state_dict()))
    return ours, theirs


def compressed(scale: float) -> tuple[CompressedLatentAttention, DeepseekV3Attention]:
    ours = CompressedLatentAttention(WIDTH, HEADS, d_query=QUERY, scale=scale, **SIZES).double()
    theirs = deepseek(partial(nn.RMSNorm, eps=1e-6), QUERY)
    theirs.scaling = scale  # as YaRN sets it
    ours.load_state_dict(renamed(theirs.state_dict()))
    return ours, theirs


def assert_same_module(
    ours: LatentAttention, theirs: DeepseekV3Attention, length: int, read: str
) -> None:
    seen, rotate = causal_mask(length, length), turned(0, length)
    x = draw(BATCH, length, WIDTH).requires_grad_()

    def call(x: Tensor) -> Tensor:
        if read == "at once":
            return ours(x, seen, rotate)
        return ours.decode(x, ours.compress(x, rotate), seen, rotate)

    own, wanted = dict(ours.named_parameters()), dict(theirs.named_parameters())
    out, in_x, *slopes = results(call, (x,), (x, *own.values()))
    want, want_in_x, *their_slopes = results(partial(run, theirs), (x,), (x, *wanted.values()))
    torch.testing.assert_close((out, in_x), (want, want_in_x))
    torch.testing.assert_close(
        dict(zip(own, slopes, strict=True)), renamed(dict(zip(wanted, their_slopes, strict=True)))
    )


@pytest.mark.parametrize("form", [latent_attention, absorbed_latent_attention])
@pytest.mark.parametrize("length", [1, 7])
@DEEPSEEK
def test_latent_attention_is_deepseek_s_between_its_projections(form, length) -> None:
    theirs, places = deepseek(nn.RMSNorm), torch.arange(length)
    W_kv = theirs.kv_b_proj.weight.detach().view(HEADS, ABOUT + D_V, LATENT).mT

    def ours(x: Tensor) -> Tensor:
        query = split_heads(theirs.q_proj(x), HEADS)
        about, turned = query.split((ABOUT, TURNED), dim=-1)
        query = torch.cat((about, rope_interleaved(turned, places, BASE)), dim=-1)
        latent, rotated = theirs.kv_a_proj_with_mqa(x).split((LATENT, TURNED), dim=-1)
        rotated = rope_interleaved(rotated, places, BASE)
        cache = torch.cat((theirs.kv_a_layernorm(latent), rotated), dim=-1)
        heads = form(query, cache, *W_kv.split((ABOUT, D_V), dim=-1), causal_mask(length, length))
        return theirs.o_proj(merge_heads(heads))

    assert_same_function(ours, partial(run, theirs), (draw(BATCH, length, WIDTH),))


@pytest.mark.parametrize("read", ["at once", "from the cache"])
@pytest.mark.parametrize("length", [1, 7])
@DEEPSEEK
def test_the_module_is_deepseek_s_without_its_norms(length, read) -> None:
    assert_same_module(*plain(), length, read)


@pytest.mark.parametrize("read", ["at once", "from the cache"])
@pytest.mark.parametrize("length", [1, 11])
@pytest.mark.parametrize("scale", [1 / math.sqrt(ABOUT + TURNED), 0.41])
@pytest.mark.peer(
    "08", "`CompressedLatentAttention`", "DeepSeek-V3: norms, q-LoRA, scale, cache", "float64 1e-7",
    "outputs, gradients",
)  # fmt: skip
def test_compressed_latent_attention_is_deepseek_s(read, length, scale) -> None:
    assert_same_module(*compressed(scale), length, read)


@pytest.mark.peer(
    "08", "`CompressedLatentAttention`", "DeepSeek-V3: norms, q-LoRA, scale, cache", "float64 1e-7",
    "outputs",
)  # fmt: skip
def test_absorbed_decoding_step_by_step_is_deepseek_s_with_its_cache() -> None:
    ours, theirs = compressed(0.41)
    x, kept = draw(BATCH, 11, WIDTH), torch.zeros(BATCH, 11, LATENT + TURNED).double()
    past = DynamicCache()
    for start, stop in ((0, 5), (5, 6), (6, 7), (7, 11)):
        new, rotate = x[:, start:stop], turned(start, stop)
        with torch.no_grad():
            want = run(theirs, new, start, past_key_values=past)
            kept[:, start:stop] = ours.compress(new, rotate)
            got = ours.decode(new, kept[:, :stop], causal_mask(stop - start, stop, start), rotate)
        torch.testing.assert_close(got, want)
