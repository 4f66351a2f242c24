"""cases.json says what Python says; the JavaScript tests hold the widgets to cases.json."""

import json

import widget_cases


def test_the_shared_cases_are_what_python_computes() -> None:
    stored = json.loads(widget_cases.PATH.read_text(encoding="utf-8"))
    fresh = json.loads(widget_cases.text())
    assert stored.keys() == fresh.keys()
    for kept, made in zip(stored["softmax"], fresh["softmax"], strict=True):
        assert kept["scores"] == made["scores"]
        for name in ("entropy", "gradient"):
            assert abs(kept[name] - made[name]) <= 1e-12
        for a, b in zip(kept["weights"], made["weights"], strict=True):
            assert abs(a - b) <= 1e-15
    for name in ("variance", "uniform", "half", "viridis", "puor", "pair"):
        assert stored[name] == fresh[name], f"{name}: run tests/widgets/widget_cases.py"


def test_the_cases_hold_what_is_hard() -> None:
    softmax = widget_cases.cases()["softmax"]
    assert any(case["weights"] == [0.0, 0.0] for case in softmax)
    assert any(max(map(abs, map(float, case["scores"]))) == 1e4 for case in softmax)
    assert any(case["gradient"] < 1e-6 < len(case["weights"]) - 1 for case in softmax)
