"""Files of Qwen 3-Next and 3.5: which are read, which refused, and what their caches hold."""

import json

import pytest
import torch
from torch.nn import functional as F

from course_utils.attention import KVCache
from course_utils.models import Llama, from_folder
from course_utils.models.released.families.llama_config import read_design
from course_utils.models.released.layers.delta_layer import DeltaLayerAttention
from course_utils.models.released.layers.gated_layer import GatedLayer
from course_utils.models.released.layers.llama_attention import GatedLlamaAttention
from course_utils.models.released.layers.shared_experts import SharedExperts
from tests.models.released.families.family_folders import DELTA, SIZES, TOKENS, saved

CONFIG = {"model_type": "qwen3_5_text"} | SIZES | DELTA


def made(**more) -> Llama:
    sizes = {"d_model": 24, "num_heads": 6, "num_kv_heads": 3, "num_layers": 4, "max_length": 20}
    torch.manual_seed(0)
    return Llama(TOKENS, design=read_design(CONFIG), **sizes, **more).double()


def test_only_layers_with_keys_grow() -> None:
    model = made()
    state, keys = 4 * 5 * 7 + 2 * (2 * 2 * 5 + 4 * 7), 2 * 3 * 8
    assert model.new_cache(1).num_bytes == (3 * state + 20 * keys) * 8
    assert model.new_cache(1, 50).num_bytes == (3 * state + 50 * keys) * 8


def test_padding_changes_nothing_without_a_cache() -> None:
    model, tokens = made(), torch.randint(TOKENS, (1, 7))
    padded = model.logits(F.pad(tokens, (3, 0), value=5), first=torch.tensor([3]))
    torch.testing.assert_close(padded[:, 3:], model.logits(tokens))


def test_a_cache_with_states_refuses_to_forget_and_stays_as_it_was() -> None:
    model, tokens = made(), torch.randint(TOKENS, (2, 9))
    _, cache = model(tokens[:, :6])
    with pytest.raises(ValueError, match="length must be 0 or 6 for a state, got 5"):
        cache.crop(5)
    assert {layer.length for layer in cache.layers} == {6}
    torch.testing.assert_close(model(tokens[:, 6:], cache)[0], model.logits(tokens)[:, 6:])


def test_what_takes_keys_and_values_is_refused() -> None:
    with pytest.raises(ValueError, match="attend must be None in a model with a state"):
        made(attend=F.scaled_dot_product_attention)
    with pytest.raises(ValueError, match="cache must be None in a model with a state"):
        made(cache=KVCache).new_cache(1)


def test_a_file_without_layer_types_has_a_full_layer_in_four_and_experts_where_it_says() -> None:
    sizes = {"hidden_size": 24, "num_attention_heads": 6, "num_hidden_layers": 8,
             "num_experts": 4, "num_experts_per_tok": 2, "linear_key_head_dim": 4}  # fmt: skip
    config = {"model_type": "qwen3_next", "decoder_sparse_step": 2, "mlp_only_layers": [3]} | sizes
    design = read_design(config)
    model = Llama(9, design=design, d_model=24, num_heads=6, num_layers=8, max_length=4)
    kinds = [type(layer.attention) for layer in model.layers]
    assert kinds == ([DeltaLayerAttention] * 3 + [GatedLlamaAttention]) * 2
    parts = [type(layer.feed_forward) for layer in model.layers]
    assert [part is SharedExperts for part in parts] == [0, 1, 0, 0, 0, 1, 0, 1]
    assert {*parts} == {GatedLayer, SharedExperts}
    assert (design.d_k, design.positions(256).width) == (256, 64)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"norm_topk_prob": False}, "norm_topk_prob must be True for our model, got False"),
        ({"layer_types": ["sliding_attention"] * 4}, "layer_types must hold linear_attention or"),
        ({"hidden_act": "gelu"}, "hidden_act must be 'silu' for our model, got 'gelu'"),
        ({"linear_value_head_dim": 9}, "weights must be those that config.json describes"),
    ],
)
def test_settings_that_ours_lacks_are_refused(changed, says, tmp_path) -> None:
    saved("Qwen 3.5", tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    with pytest.raises(ValueError, match=says):
        from_folder(tmp_path)
