"""Files of Gemma 4's text model: the widths that they give, and the fields that are refused."""

import pytest
import torch
from torch.nn import functional as F

from course_utils.models import Llama
from course_utils.models.released.families.llama_config import read_design
from course_utils.models.released.families.llama_design import Design, LayerKind
from course_utils.models.released.layers.gemma4_parts import Gemma4Attention

CONFIG = {
    "model_type": "gemma4_text", "num_hidden_layers": 7, "num_key_value_heads": 4,
    "hidden_size_per_layer_input": 0, "head_dim": 4, "global_head_dim": 8, "sliding_window": 3,
}  # fmt: skip


def layers(**more) -> list[Gemma4Attention]:
    sizes = {"d_model": 12, "num_heads": 4, "num_layers": 7, "max_length": 8}
    model = Llama(9, design=read_design(CONFIG | more), **sizes)
    return [layer.attention for layer in model.layers]


@pytest.mark.parametrize(
    ("more", "heads"),
    [
        ({}, 4),
        ({"num_global_key_value_heads": 2}, 4),
        ({"num_global_key_value_heads": 2, "attention_k_eq_v": True}, 2),
        ({"per_layer_config": {"5": {"head_dim": 8, "num_key_value_heads": 1},
                               "6": {"head_dim": 8, "num_key_value_heads": 1}}}, 1),
    ],
)  # fmt: skip
def test_layers_that_see_everything_have_widths_of_their_own(more, heads) -> None:
    found = layers(**more)
    assert [one.window for one in found] == [3] * 5 + [None] * 2  # the last one always
    assert [one.d_k for one in found] == [4] * 5 + [8] * 2
    assert [one.num_kv_heads for one in found] == [4] * 5 + [heads] * 2
    parts = 1 if "attention_k_eq_v" in more else 2
    assert found[6].in_proj.out_features == 8 * (4 + parts * heads)


def test_only_the_fastest_pairs_of_those_layers_turn() -> None:
    table = layers()[5].positions.table
    assert table.frequencies.tolist() == [1.0, 0.0, 0.0, 0.0]  # a quarter of four pairs
    assert layers()[0].positions is None


@pytest.mark.parametrize("keys_as_values", [True, False])
def test_values_are_normalised_and_may_be_the_keys_before_their_norm(keys_as_values) -> None:
    torch.manual_seed(0)
    design = Design(head_norm=torch.nn.RMSNorm, eps=1e-3, d_k=99)
    part = Gemma4Attention(
        (6, 4, 4), design=design, kind=LayerKind(), d_k=5, num_kv_heads=2,
        keys_as_values=keys_as_values,
    ).double()  # fmt: skip
    x = torch.randn(2, 3, 6, dtype=torch.float64)
    _, key, value = part._heads(x)
    rows = part.in_proj(x).view(2, 3, -1, 5).transpose(1, 2)
    raw = rows[:, 4:6] if keys_as_values else rows[:, 6:]
    torch.testing.assert_close(value, F.rms_norm(raw, (5,), eps=1e-3))
    torch.testing.assert_close(key, part.key_norm(rows[:, 4:6]))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"hidden_size_per_layer_input": 16}, "hidden_size_per_layer_input must be 0 for our"),
        ({"num_kv_shared_layers": 2}, "num_kv_shared_layers must be 0 for our model, got 2"),
        ({"enable_moe_block": True}, "enable_moe_block must be False for our model, got True"),
        ({"use_bidirectional_attention": "all"}, "use_bidirectional_attention must be None"),
        ({"layer_types": ["linear_attention"]}, "layer_types must hold sliding_attention or"),
    ],
)
def test_settings_that_ours_lacks_are_refused(changed, says) -> None:
    with pytest.raises(ValueError, match=says):
        read_design(CONFIG | changed)


def test_left_out_embeddings_for_each_layer_mean_that_there_are_some() -> None:
    config = {name: value for name, value in CONFIG.items() if "per_layer" not in name}
    with pytest.raises(ValueError, match=r"hidden_size_per_layer_input must be 0 .* got 256"):
        read_design(config)
