"""The page of configurations knows what the loader knows; that of schemes says what code does."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from transformers import (
    DeepseekV3Config,
    Gemma2Config,
    Gemma3TextConfig,
    GptOssConfig,
    LlamaConfig,
    MistralConfig,
    Qwen2Config,
    Qwen3Config,
)
from transformers.models.gemma4.configuration_gemma4 import Gemma4TextConfig

from book import configuration, schemes
from course_utils.measure import kv_cache_bytes
from course_utils.models import Llama
from course_utils.models.released.families.llama_config import REQUIRED, SAME_IN_ALL, read_design
from course_utils.models.released.families.llama_rope import configured_rope
from course_utils.models.released.local_weights import _llama
from tests.models.released.families.family_folders import (
    CONFIGS,
    LLAMA_3_ROPE,
    LONGROPE,
    NEWER,
    SIZES,
    TOKENS,
    YARN,
    their_model,
)

LISTED = [field["name"] for group in configuration.load() for field in group["fields"]]
OLDER = [f["older"] for group in configuration.load() for f in group["fields"] if "older" in f]


class Watched(dict[str, Any]):
    """A configuration that notes which of its fields are asked for."""

    def __init__(self, given: dict[str, Any], asked: set[str]) -> None:
        super().__init__(
            {k: Watched(v, asked) if isinstance(v, dict) else v for k, v in given.items()}
        )
        self.asked = asked

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> Any:
        self.asked.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)


def configurations() -> Iterator[dict[str, Any]]:
    """Yield one of each family, as new files have them and as older ones had."""
    for kind, changed in (CONFIGS | NEWER).values():
        config = json.loads(json.dumps(kind(**(SIZES | changed)).to_dict(), default=str))
        yield config
        older = {k: v for k, v in config.items() if k not in ("layer_types", "rope_parameters")}
        older |= {"use_sliding_window": True, "sliding_window": 5, "rope_theta": 500.0}
        if older["model_type"] != "llama":
            yield older


def test_every_field_that_the_loader_knows_is_in_the_table() -> None:
    asked: set[str] = set()
    for config in configurations():
        design = read_design(Watched(config, asked))
        sizes = {"num_heads": 6, "num_layers": 4, "max_length": 8}
        Llama(
            TOKENS, design=design, d_model=config["hidden_size"], **sizes
        )  # widths of experts are asked for here
    for rope in (LLAMA_3_ROPE, YARN, LONGROPE | {"factor": 4.0}):
        configured_rope(Watched({"original_max_position_embeddings": 16} | rope, asked))(6)
    theirs = their_model("Qwen 2")
    _llama(Watched(theirs.config.to_dict(), asked), dict(theirs.state_dict()))
    kinds = {"full_attention", "sliding_attention"}
    assert asked - kinds <= {*LISTED, *OLDER}
    elsewhere = {name for name in LISTED if configuration.required(name) == configuration.ELSEWHERE}
    assert not elsewhere & asked
    unread = {*LISTED} - asked - {*configuration.NOT_LOOKED_AT} - elsewhere
    assert not unread


def test_what_must_hold_is_the_loader_s_own() -> None:
    assert configuration.required("mlp_bias") == "must be `False`"
    assert configuration.required("hidden_act") == "must be `silu`"
    assert configuration.required("attention_bias") == "must be `False` in llama"
    assert configuration.required("head_dim") == "read"
    assert "refused in others" in configuration.required("mscale")
    for name in {*SAME_IN_ALL}.union(*REQUIRED.values()):
        assert "must be" in configuration.required(name)
        assert name in LISTED


def test_the_example_s_answers_are_what_its_fields_say() -> None:
    told = configuration.answers()
    assert (told["full"], told["near"], told["window"]) == ("12", "12", "128")
    assert told["grows"] == f"{12 * 2 * 8 * 64 * 2:,}" == "24,576"
    assert told["fixed"] == "3 MiB"
    assert told["whole"] == "3.00 GiB"
    text = configuration.questions()
    assert text.count("<details>") == text.count("</details>") == 7
    assert not re.search(r"\{[a-z_]+\}", text)


def test_the_code_on_the_page_runs_and_says_the_same(capsys) -> None:
    page = Path(configuration.__file__).with_suffix(".md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(code, {})
    assert configuration.answers()["grows"] in capsys.readouterr().out


def test_widths_of_heads_left_out_are_those_of_their_classes() -> None:
    text = configuration.widths()
    sizes = {"hidden_size": 96, "num_attention_heads": 6}
    for families, kinds in {
        "Llama, Mistral, Qwen 2": (LlamaConfig, MistralConfig, Qwen2Config),
        "Qwen 3": (Qwen3Config,),
        "Gemma 2, 3 and 4": (Gemma2Config, Gemma3TextConfig, Gemma4TextConfig),
        "gpt-oss": (GptOssConfig,),
    }.items():
        row = next(one for one in text.split("<tr>") if f">{families}<" in one)
        first = [kind(**sizes).per_layer_config[0] for kind in kinds]
        widths = {getattr(layer, "head_dim", None) or 96 // 6 for layer in first}
        shown = widths == {16} and "d_model / H" in row
        assert len(widths) == 1
        assert shown or str(widths.pop()) in row
    theirs = DeepseekV3Config()
    assert (theirs.qk_nope_head_dim, theirs.qk_rope_head_dim, theirs.v_head_dim) == (128, 64, 128)
    full = Gemma4TextConfig().per_layer_config[-1]
    assert full.head_dim == 512
    assert "512" in text


def test_every_section_of_the_table_exists() -> None:
    text = configuration.markdown()
    assert text.count("<a href=") >= 40
    assert all(f"<code>{name}</code>" in text for name in LISTED)
    assert len(set(LISTED)) == len(LISTED)


@pytest.mark.parametrize("scheme", schemes.SCHEMES, ids=lambda one: one.name)
def test_exponents_and_bytes_of_each_scheme(scheme) -> None:
    grows = "window $w$" not in scheme.name and "state" not in scheme.name
    added = scheme.bytes(200_000 + schemes.FULL_EVERY) - scheme.bytes(200_000)
    assert (added > 0) == grows
    prefill, step = schemes.exponent(scheme.prefill), schemes.exponent(scheme.step)
    full = grows and "blocks" not in scheme.name
    assert prefill == pytest.approx(2 if full else 1, abs=0.2)
    assert step == pytest.approx(1 if full else 0, abs=0.2)


def test_bytes_are_those_of_the_cache() -> None:
    held = {one.name.split(" (")[0]: one.bytes(1000) for one in schemes.SCHEMES}
    assert held["MHA"] == kv_cache_bytes(1, 32, 128, 1000, 1, 2) == 32 * held["MQA"]
    assert held["latent, MLA"] == 1000 * (512 + 64) * 2
    assert "16,384" in schemes.markdown()
