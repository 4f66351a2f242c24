"""Arguments that `mask_playground` accepts and refuses."""

import json
import shutil
import subprocess
from typing import Any

import pytest
import torch

from course_utils.widgets import mask_playground
from tests.widgets.mask_playground import mask_playground_cases as shared
from tests.widgets.widget_page import ROOT


def test_it_opens_as_a_decoder() -> None:
    assert repr(mask_playground()) == "MaskPlayground(8 queries, 8 keys: causal)"
    assert repr(mask_playground(["a", "b"], on=(), num_queries=1)) == (
        "MaskPlayground(1 queries, 2 keys: no rule)"
    )


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_code_that_is_shown_makes_the_mask_that_is_shown() -> None:
    folder = ROOT / "course_utils" / "widgets" / "mask_playground"
    rules = folder / "mask_playground_rules.js"
    program = f"""
        import {{ code }} from {json.dumps(str(rules))};
        const cases = JSON.parse(process.argv[1]);
        console.log(JSON.stringify(cases.map((one) => code(one.view))));
    """
    cases = shared.cases()
    done = subprocess.run(
        ["node", "--input-type=module", "-e", program, json.dumps(cases)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    for case, code in zip(cases, json.loads(done.stdout), strict=True):
        mask = torch.tensor(case["mask"], dtype=torch.bool)
        assert torch.equal(shared.run(code, (mask.shape[0], mask.shape[1])), mask), code


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"tokens": "the cat"}, TypeError, "tokens must be a sequence of strings, got 'the cat'"),
        ({"tokens": [1, 2]}, TypeError, r"tokens must be a sequence of strings, got \[1, 2\]"),
        ({"tokens": ["one"]}, ValueError, "tokens must be 2 to 12 words, got 1"),
        ({"on": "causal"}, TypeError, "on must be a sequence of strings, got 'causal'"),
        ({"on": ["local"]}, ValueError, r"on must hold names from causal, .*, got \['local'\]"),
    ],
)
def test_wrong_arguments_are_said(
    arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        mask_playground(**arguments)


@pytest.mark.parametrize(
    ("name", "low", "high"), [("window", 1, 8), ("pads", 0, 8), ("second", 1, 7), ("third", 1, 8)]
)
def test_numbers_keep_to_the_tokens(name: str, low: int, high: int) -> None:
    widget = mask_playground()
    setattr(widget, name, high)
    with pytest.raises(ValueError, match=f"{name} must be from {low} to {high}, got {high + 1}"):
        setattr(widget, name, high + 1)
