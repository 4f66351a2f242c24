"""The JSON files here say what Python says; the JavaScript tests hold the widgets to them.

`python -m tests.widgets.test_cases` writes them again.
"""

import importlib
import json
import math
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from course_utils.environment import ROOT
from tests.widgets import widget_cases
from tests.widgets.speculation_explorer import speculation_explorer_cases
from tests.widgets.wiring_explorer import wiring_explorer_cases

HERE = Path(__file__).parent
CASES = {path.stem: path for path in HERE.rglob("*_cases.py") if path.stem != "test_cases"}
NAMES = sorted(CASES)


def text(name: str) -> str:
    """Return a module's cases as JSON, one to a line; what is not finite becomes a word."""
    module = CASES[name].relative_to(ROOT).with_suffix("")
    cases = importlib.import_module(".".join(module.parts)).cases()
    dump = partial(json.dumps, separators=(",", ":"))
    if isinstance(cases, dict):
        lines = [f"{dump(key)}:{dump(case)}" for key, case in cases.items()]
    else:
        lines = [dump(case) for case in cases]
    inside = re.sub("-?Infinity|NaN", r'"\g<0>"', ",\n".join(lines))
    return f"{{\n{inside}\n}}\n" if isinstance(cases, dict) else f"[\n{inside}\n]\n"


def agree(kept: Any, made: Any) -> bool:
    """Return whether both hold the same, but for the last digits of fractions."""
    if isinstance(made, dict):
        return kept.keys() == made.keys() and all(agree(kept[name], made[name]) for name in made)
    if isinstance(made, list):
        return len(kept) == len(made) and all(map(agree, kept, made))
    if isinstance(made, float):
        return math.isclose(kept, made, rel_tol=1e-9, abs_tol=1e-9)
    return bool(kept == made)


@pytest.mark.parametrize("name", NAMES)
def test_the_shared_cases_are_what_python_computes(name: str) -> None:
    stored = json.loads(CASES[name].with_suffix(".json").read_text(encoding="utf-8"))
    assert agree(stored, json.loads(text(name))), "write them again, as said at the top"


def test_the_softmax_cases_hold_what_is_hard() -> None:
    softmax = widget_cases.cases()["softmax"]
    assert any(case["weights"] == [0.0, 0.0] for case in softmax)
    assert any(max(map(abs, case["scores"])) == 1e4 for case in softmax)
    assert any(case["gradient"] < 1e-6 < len(case["weights"]) - 1 for case in softmax)


def test_the_wiring_cases_hold_what_is_hard() -> None:
    views = [case["view"] for case in wiring_explorer_cases.cases()]
    assert {view["wiring"] for view in views} == {"bert", "gpt", "prefix", "t5", "stub"}
    assert any(view["pads"] == view["num_source"] for view in views)
    assert any(view["window"] == 1 for view in views)


def test_the_speculation_cases_hold_what_is_hard() -> None:
    rounds = speculation_explorer_cases.cases()["rounds"]
    alphas = [round(one["longRun"]["alpha"], 9) for one in rounds]
    assert {0, 1} < set(alphas)
    assert {one["state"]["from_target"] for one in rounds} == {True, False}
    assert {1, 6} <= {one["state"]["gamma"] for one in rounds}


if __name__ == "__main__":
    for case in NAMES:
        CASES[case].with_suffix(".json").write_text(text(case), encoding="utf-8")
