"""The parts of chapter 14 beside those of Hugging Face, with their weights."""

import pytest
import torch
from torch import Tensor, nn
from transformers import DetrConfig, IdeficsConfig, SiglipConfig, SiglipModel, ViTConfig
from transformers.models.clip.modeling_clip import image_text_contrastive_loss
from transformers.models.detr.modeling_detr import DetrCrossAttention, DetrDecoderLayer
from transformers.models.idefics.modeling_idefics import IdeficsGatedCrossAttentionLayer
from transformers.models.vit.modeling_vit import ViTEmbeddings, ViTModel

from course_utils.attention import gated_cross_attention, object_query_attention
from course_utils.models import VisionTransformer, contrastive_loss, siglip_loss, vit_tokens
from tests.support import assert_same_function, draw

D = 6


def random(module: nn.Module) -> nn.Module:
    """Return the module in float64 with all its parameters random."""
    torch.manual_seed(0)
    module = module.double().eval()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.4)
    return module


def vit(**more: int) -> ViTConfig:
    return ViTConfig(
        hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20,
        image_size=6, patch_size=3, num_channels=2, layer_norm_eps=1e-5,
        attn_implementation="sdpa", **more,
    )  # fmt: skip


@pytest.mark.peer(
    "14", "`vit_tokens`", "Hugging Face's `ViTEmbeddings`", "float64 1e-7", "outputs, gradients"
)
def test_tokens_are_those_of_vit_embeddings() -> None:
    theirs = random(ViTEmbeddings(vit()))
    kernel = theirs.patch_embeddings.projection
    given = (
        draw(3, 2, 6, 6), kernel.weight.flatten(1).mT, kernel.bias,
        theirs.cls_token[0, 0], theirs.position_embeddings[0],
    )  # fmt: skip

    def their_tokens(images, W_e, b_e, class_token, positions):
        swapped = {
            "patch_embeddings.projection.weight": W_e.mT.reshape(kernel.weight.shape),
            "patch_embeddings.projection.bias": b_e,
            "cls_token": class_token[None, None],
            "position_embeddings": positions[None],
        }
        return torch.func.functional_call(theirs, swapped, (images,))

    assert_same_function(lambda images, *rest: vit_tokens(images, 3, *rest), their_tokens, given)


def copied(theirs: ViTModel) -> VisionTransformer:
    """Return our model with their weights; it has a head of its own."""
    ours = VisionTransformer(
        6, patch=3, num_classes=4, d_model=8, num_heads=2, num_layers=2, d_ff=20, channels=2
    ).double()
    named = theirs.state_dict()
    to_them = {
        "embed.bias": "embeddings.patch_embeddings.projection.bias",
        "norm.weight": "layernorm.weight",
        "norm.bias": "layernorm.bias",
    }
    state = {
        "embed.weight": named["embeddings.patch_embeddings.projection.weight"].flatten(1),
        "class_token": named["embeddings.cls_token"][0, 0],
        "positions": named["embeddings.position_embeddings"][0],
        **{name: named[other] for name, other in to_them.items()},
    }
    for i in range(2):
        at, to = f"blocks.{i}", f"layers.{i}"
        for kind in ("weight", "bias"):
            parts = [named[f"{to}.attention.{role}_proj.{kind}"] for role in "qkv"]
            state[f"{at}.attention.in_proj_{kind}"] = torch.cat(parts)
            for mine, other in (
                ("attention.out_proj", "attention.o_proj"),
                ("attention_norm", "layernorm_before"),
                ("feed_forward.0", "layernorm_after"),
                ("feed_forward.1", "mlp.fc1"),
                ("feed_forward.3", "mlp.fc2"),
            ):
                state[f"{at}.{mine}.{kind}"] = named[f"{to}.{other}.{kind}"]
    missing, unknown = ours.load_state_dict(state, strict=False)
    assert sorted(missing) == ["out.bias", "out.weight"]
    assert not unknown
    return ours


@pytest.mark.peer(
    "14", "`VisionTransformer`", "Hugging Face's `ViTModel`", "float64 1e-7", "outputs, gradients"
)
def test_a_model_is_vit_model_with_its_weights() -> None:
    theirs = random(ViTModel(vit(), add_pooling_layer=False))
    ours = copied(theirs)
    assert_same_function(
        ours.states, lambda images: theirs(images).last_hidden_state, (draw(3, 2, 6, 6),)
    )


@pytest.mark.parametrize("temperature", [0.07, 1.0])
@pytest.mark.peer(
    "14", "`contrastive_loss`", "Hugging Face's `image_text_contrastive_loss` of CLIP",
    "float64 1e-7", "outputs, gradients",
)  # fmt: skip
def test_the_loss_is_clip_s(temperature) -> None:
    def clip(a: Tensor, b: Tensor) -> Tensor:
        a, b = (one / one.norm(dim=-1, keepdim=True) for one in (a, b))
        return image_text_contrastive_loss(b @ a.T / temperature)

    given = (draw(5, 3), draw(5, 3, seed=1))
    assert_same_function(lambda a, b: contrastive_loss(a, b, temperature), clip, given)


@pytest.mark.peer(
    "14", "`siglip_loss`", "Hugging Face's `SiglipModel` with random weights", "float64 1e-7",
    "outputs",
)  # fmt: skip
def test_the_sigmoid_loss_is_siglip_s() -> None:
    sizes = {
        "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2,
    }  # fmt: skip
    text = sizes | {"vocab_size": 11, "max_position_embeddings": 5, "projection_size": 8}
    vision = sizes | {"image_size": 6, "patch_size": 3}
    theirs = random(SiglipModel(SiglipConfig(text_config=text, vision_config=vision)))
    ids = torch.arange(20).reshape(4, 5) % 11
    out = theirs(input_ids=ids, pixel_values=draw(4, 3, 6, 6), return_loss=True)
    numbers = theirs.logit_scale.squeeze(), theirs.logit_bias.squeeze()
    encoded = out.vision_model_output.pooler_output, out.text_model_output.pooler_output
    torch.testing.assert_close(siglip_loss(*encoded, *numbers), out.loss)


def detr(**more: int) -> DetrConfig:
    return DetrConfig(
        d_model=D, decoder_attention_heads=1, decoder_ffn_dim=10, dropout=0.0,
        attention_dropout=0.0, attn_implementation="sdpa", use_timm_backbone=False,
        use_pretrained_backbone=False, backbone=None, **more,
    )  # fmt: skip


def matrices(attention: nn.Module) -> tuple[Tensor, ...]:
    return tuple(getattr(attention, f"{role}_proj").weight.mT for role in "qkv")


@pytest.mark.peer(
    "14", "`object_query_attention`", "Hugging Face's `DetrCrossAttention` with one head",
    "float64 1e-7", "outputs, gradients",
)  # fmt: skip
def test_object_queries_are_detr_s() -> None:
    theirs = random(DetrCrossAttention(detr(), D, 1, bias=False))

    def attend(x, query_position, memory, memory_position):
        return theirs(
            x,
            memory,
            position_embeddings=query_position,
            encoder_position_embeddings=memory_position,
        )[0]

    def ours(*streams):
        return object_query_attention(*streams, *matrices(theirs)) @ theirs.o_proj.weight.mT

    streams = (draw(2, 3, D), draw(3, D, seed=1), draw(2, 5, D, seed=2), draw(5, D, seed=3))
    assert_same_function(ours, attend, streams)


@pytest.mark.peer(
    "14", "`object_query_attention`", "Hugging Face's `DetrDecoderLayer`: among the queries, then "
    "over the image", "float64 1e-7", "outputs, gradients",
)  # fmt: skip
def test_a_whole_decoder_layer_is_two_of_them() -> None:
    layer = random(DetrDecoderLayer(detr()))
    for attention in (layer.self_attn, layer.encoder_attn):
        for role in "qkvo":
            nn.init.zeros_(getattr(attention, f"{role}_proj").bias)

    def ours(x, query_position, memory, memory_position):
        for attention, norm, read, where in (
            (layer.self_attn, layer.self_attn_layer_norm, None, query_position),
            (layer.encoder_attn, layer.encoder_attn_layer_norm, memory, memory_position),
        ):
            read = x if read is None else read
            found = object_query_attention(x, query_position, read, where, *matrices(attention))
            x = norm(x + found @ attention.o_proj.weight.mT)
        return layer.final_layer_norm(x + layer.mlp(x))

    def theirs(x, query_position, memory, memory_position):
        return layer(
            x, encoder_hidden_states=memory, spatial_position_embeddings=memory_position,
            object_queries_position_embeddings=query_position,
        )  # fmt: skip

    streams = (draw(2, 3, D), draw(3, D, seed=1), draw(2, 5, D, seed=2), draw(5, D, seed=3))
    assert_same_function(ours, theirs, streams)


@pytest.mark.parametrize("gate", [0.0, 0.6])
@pytest.mark.peer(
    "14", "`gated_cross_attention`", "Hugging Face's `IdeficsGatedCrossAttentionLayer`, its norm "
    "and its feed-forward layer taken out", "float64 1e-7", "outputs, gradients",
)  # fmt: skip
def test_the_gate_is_idefics_s(gate) -> None:
    config = IdeficsConfig(
        hidden_size=D, num_attention_heads=1, intermediate_size=9, alpha_type="float", dropout=0.0,
        vision_config={"embed_dim": 4}, attn_implementation="sdpa",
    )  # fmt: skip
    layer = random(IdeficsGatedCrossAttentionLayer(config, layer_idx=0))
    layer.input_layernorm = nn.Identity()
    nn.init.zeros_(layer.alpha_dense)
    nn.init.constant_(layer.alpha_cross_attn, gate)
    mask = draw(2, 3, 5, seed=7) > 0
    mask[..., 0] = True
    mask[0, 1] = False
    bias = torch.zeros(2, 1, 3, 5, dtype=torch.float64).masked_fill(~mask.unsqueeze(1), -1e30)

    def theirs(x, context):
        return layer(x, image_hidden_states=context, image_attention_mask=bias,
                     cross_attention_gate=mask.any(-1).double())  # fmt: skip

    def ours(x, context):
        W_o = layer.cross_attn.o_proj.weight.mT
        alpha = layer.alpha_cross_attn[0]
        return gated_cross_attention(x, context, *matrices(layer.cross_attn), W_o, alpha, mask)

    assert_same_function(ours, theirs, (draw(2, 3, D), draw(2, 5, 4, seed=1)))
