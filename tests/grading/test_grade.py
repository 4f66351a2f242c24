"""A submission earns what its answers deserve, and harms nobody but itself."""

from pathlib import Path

import pytest
import torch

from course_utils.checking import compare
from course_utils.exercises import find
from course_utils.grading.grade import grade
from course_utils.grading.untouched import Untouched
from course_utils.measure import cost
from tests.grading.hostile import HOSTILE, RIGHT_MERGE, STUB, WRONG
from tools.grade_demo import answers_of

pytestmark = pytest.mark.thorough  # every test starts processes

RIGHT = (
    "def split_heads(x, num_heads):\n    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)\n"
)


def test_right_wrong_untouched_and_absent_answers_get_their_own_verdicts() -> None:
    assert grade("split_heads", [RIGHT]).passed
    wrong = grade("split_heads", [WRONG])
    assert (wrong.status, bool(wrong.misconception)) == ("misconception", True)
    assert grade("split_heads", [STUB]).status == "not_attempted"
    assert grade("split_heads", ["x = 1"]).status == "not_attempted"
    assert grade("split_heads", ["split_heads = 1 / 0"]).says.endswith(
        "ZeroDivisionError: division by zero"
    )


def test_answers_that_call_back_chain_write_in_place_or_are_no_python_are_graded_too() -> None:
    answers = {
        name: answer
        for chapter in ("09_flash_attention", "10_kv_cache")
        for name, answer in answers_of(chapter).items()
    }
    cells = ["import math\nimport torch\nfrom torch.nn import functional as F", *answers.values()]
    cells.append("from course_utils.triton_interpreter import tl")
    for name in ("greedy_decode", "online_softmax_step", "append_kv", "flash_forward_tile"):
        assert grade(name, cells).passed


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_submissions_get_nothing_and_honest_answers_beside_them_all(
    name: str, tmp_path: Path
) -> None:
    victim = tmp_path / "grades" / "grades.txt"
    victim.parent.mkdir()
    victim.write_text("mine")
    course = str(Path(__file__).parents[2])
    cells = [f"VICTIM = {str(victim)!r}", f"COURSE = {course!r}", *HOSTILE[name], RIGHT_MERGE]
    patience = 3 if name.startswith("never ends") else 20
    assert not grade("split_heads", cells, patience).passed
    assert victim.read_text() == "mine"
    assert grade("merge_heads", cells).passed


def test_a_quadratic_answer_that_blinds_the_counter_earns_nothing() -> None:
    report = grade(
        "linear_attention",
        [
            "import torch\nfrom course_utils.measure import cost",
            "def linear_attention(query, key, value):\n"
            "    cost._LargestTensor.__torch_dispatch__ = (\n"
            "        lambda self, f, t, args=(), kwargs=None: f(*args, **(kwargs or {})))\n"
            "    cost._Flops.__torch_dispatch__ = cost._LargestTensor.__torch_dispatch__\n"
            "    q, k = (torch.nn.functional.elu(x) + 1 for x in (query, key))\n"
            "    weights = q @ k.mT\n"
            "    return (weights / weights.sum(-1, keepdim=True)) @ value\n",
        ],
    )
    assert not report.passed


def test_what_judges_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    untouched = Untouched(find("linear_attention"))
    assert untouched.changes() == []
    with monkeypatch.context() as patch:
        patch.setattr(torch, "equal", lambda *args: True)
        patch.setattr(cost._LargestTensor, "__init__", lambda self, args: None)
        assert sorted(untouched.changes()) == [
            "course_utils.measure.cost._LargestTensor.__init__",
            "torch.equal",
        ]
    code = compare.equal.__code__
    compare.equal.__code__ = (lambda got, want, tolerance=None, absolute=0: True).__code__
    try:
        assert "course_utils.checking.compare.equal" in untouched.changes()
    finally:
        compare.equal.__code__ = code
