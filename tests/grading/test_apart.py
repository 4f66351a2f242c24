"""An answer that passes in a notebook and would not pass when graded is named at once."""

import sys
from types import SimpleNamespace

import pytest

from course_utils.exercises import find
from course_utils.grading import apart

RIGHT = "def dot_score(query, key):\n    return {}"


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ([], None),
        (["import torch", RIGHT.format("torch.matmul(query, key.mT)")], None),
        (["from torch import *", RIGHT.format("matmul(query, key.mT)")], None),
        ([RIGHT.format("inner(query, key)")], "NameError: name 'inner' is not defined"),
        (["import solved"], "no cell defines `dot_score` by name"),
        ([RIGHT.format("key @ query.mT")], "values differ"),
        (["raise SystemExit", "dot_score = exit()"], "SystemExit"),
    ],
)
def test_the_slice_that_a_grader_would_keep_is_tried(monkeypatch, cells, says) -> None:
    monkeypatch.setattr(apart, "_cells", lambda: cells)
    found = apart.graded_otherwise(find("dot_score"))
    assert found is None if says is None else says in str(found)


def test_nothing_is_said_where_cells_run_without_a_history(monkeypatch) -> None:
    shell = SimpleNamespace(history_manager=SimpleNamespace(input_hist_raw=["", ""]))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert apart.graded_otherwise(find("dot_score")) is None
