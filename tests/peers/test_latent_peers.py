"""Latent attention beside DeepSeek-V3's at Hugging Face: the functions, and the module."""

from functools import partial

import pytest
import torch
from peer_support import BATCH, assert_same_function, draw, results, seeded
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import DeepseekV3Config
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention

from course_utils.attention import (
    LatentAttention,
    absorbed_latent_attention,
    causal_mask,
    latent_attention,
    merge_heads,
    split_heads,
)
from course_utils.positions import rope_interleaved

HEADS, WIDTH, LATENT, ABOUT, TURNED = 4, 32, 12, 8, 4
BASE = 10000.0


def attention_of_deepseek(d_v: int, norm: nn.Module) -> DeepseekV3Attention:
    """Return their attention in float64; their own norm of the latent rounds to float32."""
    config = DeepseekV3Config(
        hidden_size=WIDTH,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        q_lora_rank=None,
        kv_lora_rank=LATENT,
        qk_nope_head_dim=ABOUT,
        qk_rope_head_dim=TURNED,
        v_head_dim=d_v,
        rope_parameters={"rope_type": "default", "rope_theta": BASE},
        attn_implementation="sdpa",
    )
    theirs = DeepseekV3Attention(config, layer_idx=0)
    theirs.kv_a_layernorm = norm
    return seeded(theirs)


def run(theirs: DeepseekV3Attention, x: Tensor) -> Tensor:
    """Return what theirs makes of the stream, under a causal mask, with exact angles."""
    frequencies = BASE ** -torch.tensor([0.0, 0.5], dtype=torch.float64)
    angles = (torch.arange(x.shape[1]).unsqueeze(-1) * frequencies).repeat(1, 2).unsqueeze(0)
    seen = causal_mask(x.shape[1], x.shape[1])[None, None]
    with sdpa_kernel(SDPBackend.MATH):
        out: Tensor = theirs(x, (angles.cos(), angles.sin()), seen)[0]
    return out


@pytest.mark.parametrize("form", [latent_attention, absorbed_latent_attention])
@pytest.mark.parametrize("length", [1, 7])
@pytest.mark.peer(
    "08", "`latent_attention`, `absorbed_latent_attention`, `LatentAttention`", "DeepSeek-V3",
    "float64 1e-7", "outputs, gradients",
)  # fmt: skip
def test_latent_attention_is_deepseek_s_between_its_projections(form, length) -> None:
    theirs, places = attention_of_deepseek(5, nn.RMSNorm(LATENT)), torch.arange(length)
    W_kv = theirs.kv_b_proj.weight.detach().view(HEADS, ABOUT + 5, LATENT).mT

    def ours(x: Tensor) -> Tensor:
        query = split_heads(theirs.q_proj(x), HEADS)
        about, turned = query.split((ABOUT, TURNED), dim=-1)
        query = torch.cat((about, rope_interleaved(turned, places, BASE)), dim=-1)
        latent, rotated = theirs.kv_a_proj_with_mqa(x).split((LATENT, TURNED), dim=-1)
        rotated = rope_interleaved(rotated, places, BASE)
        cache = torch.cat((theirs.kv_a_layernorm(latent), rotated), dim=-1)
        heads = form(query, cache, *W_kv.split((ABOUT, 5), dim=-1), causal_mask(length, length))
        return theirs.o_proj(merge_heads(heads))

    assert_same_function(ours, partial(run, theirs), (draw(BATCH, length, WIDTH),))


@pytest.mark.parametrize("read", ["at once", "from the cache"])
@pytest.mark.parametrize("length", [1, 7])
@pytest.mark.peer(
    "08", "`latent_attention`, `absorbed_latent_attention`, `LatentAttention`", "DeepSeek-V3",
    "float64 1e-7", "outputs, gradients",
)  # fmt: skip
def test_the_module_is_deepseek_s_without_its_norms(length, read) -> None:
    theirs = attention_of_deepseek(ABOUT, nn.Identity())
    ours = LatentAttention(WIDTH, HEADS, d_latent=LATENT, d_rope=TURNED).double()
    ours.load_state_dict(renamed({name: p.detach() for name, p in theirs.named_parameters()}))
    places, seen = torch.arange(length), causal_mask(length, length)
    rotate = partial(rope_interleaved, positions=places, base=BASE)
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
        dict(zip(own, slopes, strict=True)),
        renamed(dict(zip(wanted, their_slopes, strict=True))),
    )


def renamed(named: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return DeepSeek's weights, or their gradients, under our names."""
    up = named["kv_b_proj.weight"].view(HEADS, 2 * ABOUT, LATENT).mT
    return {
        "W_uk": up[..., :ABOUT],
        "W_uv": up[..., ABOUT:],
        "q_proj.weight": named["q_proj.weight"],
        "down_proj.weight": named["kv_a_proj_with_mqa.weight"],
        "out_proj.weight": named["o_proj.weight"],
    }
