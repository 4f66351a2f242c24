"""Arguments that `alignment_explorer` accepts and refuses."""

import json
from typing import Any

import pytest

from course_utils.measure import read_record
from course_utils.widgets import alignment_explorer
from tests.widgets.widget_page import saved


def record(**changes: Any) -> dict[str, Any]:
    source = {
        "text": "3 v 42", "iso": "42-05-03", "locale": "xx_XX", "style": "long",
        "spans": {"day": [0, 1], "month": [2, 3], "year": [4, 6]},
    }  # fmt: skip
    run = {
        "context": "dot",
        "seed": 0,
        "written": [{"text": "42", "percent": [[100, *[0] * 5]] * 2}],
    }
    fixed = {"context": "fixed", "seed": 0, "written": [{"text": "42"}]}
    return {"sources": [source], "runs": [fixed, run], **changes}


def test_runs_without_weights_are_left_out() -> None:
    widget = alignment_explorer(record(), score="dot")
    assert repr(widget) == "AlignmentExplorer(1 scores, 1 dates)"
    assert (widget.scores, widget.written) == (["dot"], [["42"]])
    assert widget.data == bytes([100, 0, 0, 0, 0, 0] * 2)


def test_one_byte_a_weight_and_no_more() -> None:
    widget = alignment_explorer(read_record("chapter_02_alignments"))
    lengths = [len(source["text"]) for source in widget.sources]
    wrote = [[len(text) for text in run] for run in widget.written]
    assert len(widget.data) == sum(
        rows * length for run in wrote for rows, length in zip(run, lengths, strict=True)
    )


def test_twenty_dates_stay_small_in_a_notebook() -> None:
    known = read_record("chapter_02_alignments")
    locales = [source["locale"] for source in known["sources"][:20]]
    widget = alignment_explorer(known, locales=locales)
    state = saved([widget])
    assert len(json.dumps(state.get("state", state)[widget.model_id])) < 60_000


def above() -> dict[str, Any]:
    wrong = record()
    wrong["runs"][1]["written"][0]["percent"][0] = [101] * 6
    return wrong


@pytest.mark.parametrize(
    ("given", "options", "error", "says"),
    [
        ([], {}, TypeError, r"record must be a Mapping, got list"),
        ({"runs": []}, {}, ValueError, r"record must hold sources and runs, got \['runs'\]"),
        (record(), {}, ValueError, "score must be one of dot, got 'additive'"),
        (record(), {"score": "fixed"}, ValueError, "score must be one of dot, got 'fixed'"),
        (record(), {"locales": ["yy"]}, ValueError, r"locales must be in the record, got \['yy'\]"),
        (record(), {"locales": "xx_XX"}, TypeError, "locales must be a sequence of strings"),
        (above(), {"score": "dot"}, ValueError, "percentages must lie between 0 and 100"),
    ],
)
def test_wrong_arguments_are_said(
    given: Any, options: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        alignment_explorer(given, **options)
