"""Files of DeepSeek V3 and V3.2: which are read, which refused, and what their caches hold."""

import json

import pytest
import torch
from torch.nn import functional as F

from course_utils.attention import KVCache
from course_utils.models import from_folder
from course_utils.models.released.families.llama_config import read_design
from course_utils.models.released.llama import Llama
from tests.models.released.families.family_folders import LATENT, LAYERS, SIZES, TOKENS, saved

NAME = "DeepSeek V3"
CONFIG = {"model_type": "deepseek_v3"} | SIZES | LATENT | {"routed_scaling_factor": 2.5}


def made(**more) -> Llama:
    sizes = {"d_model": 24, "num_heads": 6, "num_layers": LAYERS, "max_length": 20}
    return Llama(TOKENS, design=read_design(CONFIG), **sizes, **more).double()


def test_the_cache_holds_one_row_for_each_token() -> None:
    cache = made().new_cache(2)
    assert cache.num_bytes == LAYERS * 2 * 20 * (10 + 4) * 8


def test_padding_changes_nothing_without_a_cache() -> None:
    model, tokens = made(), torch.randint(TOKENS, (1, 7))
    padded = model.logits(F.pad(tokens, (3, 0)), first=torch.tensor([3]))
    torch.testing.assert_close(padded[:, 3:], model.logits(tokens))
    with pytest.raises(ValueError, match="padding needs a KVCache or a RollingCache"):
        model.new_cache(1, first=torch.tensor([3]))


def test_a_cropped_cache_reads_on_as_if_the_rest_had_not_been() -> None:
    model, tokens = made(), torch.randint(TOKENS, (2, 9))
    _, cache = model(tokens)
    cache.crop(5)
    torch.testing.assert_close(model(tokens[:, 5:], cache)[0], model.logits(tokens)[:, 5:])


def test_what_takes_keys_and_values_is_refused() -> None:
    with pytest.raises(ValueError, match="attend must be None in a model with latent attention"):
        made(attend=F.scaled_dot_product_attention)
    with pytest.raises(ValueError, match="cache must be None in a model with latent attention"):
        made(cache=KVCache).new_cache(1)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"q_lora_rank": None}, "q_lora_rank must be a width for our indexer, got None"),
        ({"mlp_bias": True}, "mlp_bias must be False for our model, got True"),
        ({"layer_types": ["full_attention"]}, "layer_types must hold indexed_attention for our"),
    ],
)
def test_what_v32_has_besides_is_refused_too(changed, says) -> None:
    index = {"model_type": "deepseek_v32", "index_n_heads": 2, "index_head_dim": 6, "index_topk": 3}
    read_design(CONFIG | index)
    with pytest.raises(ValueError, match=says):
        read_design(CONFIG | index | changed)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"attention_bias": True}, "attention_bias must be False for our model, got True"),
        ({"scoring_func": "softmax"}, "scoring_func must be 'sigmoid' for our model"),
        ({"quantization_config": {"fmt": "e4m3"}}, "quantization_config must be None"),
        ({"rope_scaling": {"rope_type": "dynamic"}}, "rope_type must be one of"),
        ({"kv_lora_rank": 12}, "weights must be those that config.json describes"),
    ],
)
def test_settings_that_ours_lacks_are_refused(changed, says, tmp_path) -> None:
    saved(NAME, tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    with pytest.raises(ValueError, match=says):
        from_folder(tmp_path)
