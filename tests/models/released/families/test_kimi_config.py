"""Files of Kimi Linear, as transformers writes it and as it was published."""

import json

import pytest

from course_utils.models import Llama, from_folder
from course_utils.models.released.families.llama_config import read_design
from course_utils.models.released.layers.delta_layer import DeltaLayerAttention
from course_utils.models.released.layers.latent_layer import LatentLayerAttention
from course_utils.models.released.layers.shared_experts import SharedExperts
from tests.models.released.families.family_folders import saved

WIDTHS = {
    "model_type": "kimi_linear", "num_hidden_layers": 6, "kv_lora_rank": 4, "q_lora_rank": None,
    "qk_rope_head_dim": 2, "qk_nope_head_dim": 4, "v_head_dim": 4, "moe_intermediate_size": 3,
    "num_experts": 4, "num_experts_per_token": 2, "num_shared_experts": 1,
    "routed_scaling_factor": 2.0, "linear_head_dim": 4, "linear_num_heads": 3,
}  # fmt: skip
PUBLISHED = {"num_heads": 5, "head_dim": 6, "short_conv_kernel_size": 2,
             "kda_layers": [1, 2, 4, 5], "full_attn_layers": [3, 6]}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "full", "dense", "heads"),
    [
        ({}, [4], [0], 3),
        ({"linear_attn_config": PUBLISHED, "first_k_dense_replace": 2}, [2, 5], [0, 1], 5),
    ],
)
def test_files_of_both_kinds_say_the_kinds_of_layers(more, full, dense, heads) -> None:
    sizes = {"d_model": 12, "num_heads": 2, "num_layers": 6, "max_length": 8}
    layers = Llama(9, design=read_design(WIDTHS | more), **sizes).layers
    kinds = [type(layer.attention) for layer in layers]
    assert [i for i, kind in enumerate(kinds) if kind is LatentLayerAttention] == full
    assert {*kinds} == {LatentLayerAttention, DeltaLayerAttention}
    experts = [type(layer.feed_forward) is SharedExperts for layer in layers]
    assert [i for i, one in enumerate(experts) if not one] == dense
    assert layers[0].attention.delta.value_heads == heads


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"mla_use_nope": False}, "mla_use_nope must be True for our model, got False"),
        ({"layer_types": ["sliding_attention"] * 4}, "layer_types must hold linear_attention or"),
        ({"linear_num_heads": 3}, "weights must be those that config.json describes"),
    ],
)
def test_settings_that_ours_lacks_are_refused(changed, says, tmp_path) -> None:
    saved("Kimi Linear", tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    with pytest.raises(ValueError, match=says):
        from_folder(tmp_path)
