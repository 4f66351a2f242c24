"""The tables of the page "Reading a model's configuration": each field, and where it is explained.

What a field must be for `from_folder` comes from the loader's own tables and text; the addresses of
sections come from the chapters' headings, so that a section that is gone fails the build. The
answers about the file on the page are computed from it.
"""

import json
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import yaml

from book.blocks import block, code_words, table
from book.claims import sections
from course_utils.environment import ROOT
from course_utils.measure import cache_plan
from course_utils.models.released.families import deepseek_config, gemma4_config, kimi_config
from course_utils.models.released.families.llama_config import REQUIRED, SAME_IN_ALL
from course_utils.models.released.families.llama_rope import FREQUENCIES

NOT_LOOKED_AT = ("attention_dropout", "use_cache")
SOME_FAMILIES = ("mscale", "mscale_all_dim", "partial_rotary_factor")
OWN_REQUIRED = (deepseek_config.REQUIRED, gemma4_config.REQUIRED, kimi_config.REQUIRED)
ELSEWHERE = "no family of ours has it"
LOADER = ROOT / "course_utils" / "models" / "released"


def required(name: str) -> str:
    """Return what `from_folder` asks of a field, as text: a value, a list of them, or nothing."""
    if name in NOT_LOOKED_AT:
        return "not looked at"
    if name in SOME_FAMILIES:
        return "read in families that have it, refused in others"
    if name == "rope_type":
        return " or ".join(f"`{kind}`" for kind in FREQUENCIES)
    found: dict[str, list[str]] = {}
    for family, fields in (("", SAME_IN_ALL), *REQUIRED.items()):
        if name in fields:
            found.setdefault(_shown(fields[name]), []).append(family)
    if len(found) == 1:
        value, families = found.popitem()
        everywhere = families == [""] or len(families) > 1
        return f"must be {value}" if everywhere else f"must be {value} in {families[0]}"
    for fields in OWN_REQUIRED:
        if name in fields:
            return f"must be {_shown(fields[name])}"
    return "read" if re.search(rf'"{name}"(?!:)', _loader()) else ELSEWHERE


@cache
def _loader() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(LOADER.rglob("*.py")))


def _shown(values: tuple[Any, ...]) -> str:
    return " or ".join(f"`{value}`" for value in values)


def _data() -> dict[str, Any]:
    text = Path(__file__).with_suffix(".yml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


def load() -> list[dict[str, Any]]:
    """Return the groups of fields, in the order of the page."""
    return _data()["groups"]


def example() -> dict[str, Any]:
    """Return the configuration that the page shows, its list of layers written out."""
    text = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
    config = json.loads(re.findall(r"```json\n(.*?)```", text, re.DOTALL)[0])
    kinds = [one for one in config["layer_types"] if one != "..."]
    config["layer_types"] = kinds * (config["num_hidden_layers"] // len(kinds))
    return config


def answers() -> dict[str, str]:
    """Return what the answers to the questions about the file say in numbers."""
    config = example()
    grows, reach = cache_plan(config)
    near = [one for one in reach if one is not None]
    per_layer = grows // reach.count(None)
    length = config["max_position_embeddings"]
    heads, width = config["num_attention_heads"], config["head_dim"]
    return {
        "full": str(reach.count(None)),
        "near": str(len(near)),
        "window": str(near[0]),
        "per_layer": f"{per_layer:,}",
        "grows": f"{grows:,}",
        "every": f"{per_layer * len(reach):,}",
        "fixed": f"{per_layer * sum(near) / 2**20:.0f} MiB",
        "length": f"{length:,}",
        "whole": f"{(grows * length + per_layer * sum(near)) / 2**30:.2f} GiB",
        "all_full": f"{per_layer * len(reach) * length / 2**30:.2f} GiB",
        "joined": f"{heads * width:,}",
        "group": str(heads // config["num_key_value_heads"]),
        "divided": str(config["hidden_size"] // heads),
        "trained": f"{config['rope_scaling']['original_max_position_embeddings']:,}",
        "experts": str(config["num_local_experts"] // config["num_experts_per_tok"]),
    }


def questions() -> str:
    """Return the questions about the file, each with its folded answer."""
    numbers = answers()
    parts = [
        f"**{one['asks'].format_map(numbers)}**\n\n<details><summary>Answer</summary>\n\n"
        f"{one['answer'].format_map(numbers)}\n\n</details>"
        for one in _data()["questions"]
    ]
    return "\n\n".join(parts)


def unsaid() -> str:
    """Return the table of what is in no field."""
    rows = [
        (code_words(one["part"]), code_words(one["families"]), _link(one.get("section")))
        for one in _data()["unsaid"]
    ]
    return block(table(("Part", "Families", "Explained in"), rows))


def widths() -> str:
    """Return the table of the width of a head where the file has none."""
    rows = [(code_words(one["families"]), code_words(one["width"])) for one in _data()["widths"]]
    return block(table(("Families", "<code>head_dim</code> left out"), rows))


def markdown() -> str:
    """Return the tables, one for each group.

    Raises:
        KeyError: A chapter has no such section.
    """
    head = ("Field", "What it says", "Explained in", "<code>from_folder</code>")
    parts = []
    for group in load():
        rows = [
            (_name(one), code_words(one["says"]), _link(one.get("section")),
             code_words(required(one["name"])))
            for one in group["fields"]
        ]  # fmt: skip
        parts.append(f"## {group['title']}\n\n{block(table(head, rows))}")
    return "\n\n".join(parts)


def _name(field: dict[str, Any]) -> str:
    older = f" (older: <code>{field['older']}</code>)" if "older" in field else ""
    return f"<code>{escape(field['name'])}</code>{older}"


def _link(section: str | None) -> str:
    if section is None:
        return ""
    chapter, anchor = section.split("#")
    number, address = sections(chapter)[anchor]
    return f'<a href="{address}">{chapter}, section {number}</a>'
