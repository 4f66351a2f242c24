import json
import sys
from pathlib import Path

import pytest

from course_utils.attention import padding_mask, stable_softmax
from course_utils.exercises import all_exercises, find
from tools.mutation.generate import mutations
from tools.mutation.run import (
    Row,
    Survivor,
    explained,
    main,
    rate,
    reasons,
    row,
    summary,
    troubles,
)
from tools.mutation.sites import sites
from tools.mutation.unseen_inputs import Inputs

# One a chapter, of those that take least time.
QUICK = (
    "context_vector", "dot_score", "softmax_jacobian", "soft_lookup", "merge_heads",
    "padding_mask", "interpolate_positions", "lsh_buckets", "merge_partials", "cache_fits",
)  # fmt: skip


def survivor(line: str = "", differs: str = "", reason: str = "") -> Survivor:
    return Survivor("a -> b in c", line, differs, reason)


def found(*survivors: Survivor, caught: int = 9) -> Row:
    return Row("an_exercise", 1, caught + len(survivors), caught, survivors)


def test_an_axis_a_number_and_a_call_are_changed() -> None:
    made = {change.name for change in mutations(stable_softmax)}
    line = "peak = scores.detach().amax(dim=-1, keepdim=True)"
    assert f"scores.detach() -> scores in {line}" in made
    assert any("dim=-2" in name for name in made)
    assert any("0.0 -> 1.0" in name for name in made)


def test_a_changed_function_is_one_that_runs_and_the_own_one_stays_as_it_is() -> None:
    changed = [change.function for change in mutations(padding_mask)]
    assert all(callable(function) for function in changed)
    assert padding_mask not in changed


def test_what_only_checks_arguments_is_left_alone() -> None:
    for exercise in all_exercises():
        if not (exercise.lacks and exercise.lacks()):
            home = sys.modules[exercise.reference.__module__]
            changed = {p.statement: p for p in sites(home, exercise.reference.__name__)}
            lines = [site.line for site in changed.values()]
            assert lines
            assert not [line for line in lines if line.startswith(("check_", "raise"))]


def test_an_input_that_the_checker_never_sees_tells_a_change_apart() -> None:
    inputs = Inputs(find("stable_softmax"))
    assert inputs.difference(stable_softmax) is None
    assert inputs.difference(lambda scores: scores.softmax(-1)) is not None


def test_a_survivor_needs_a_reason() -> None:
    assert list(troubles([found(survivor())])) == ["an_exercise: survives: a -> b in c"]
    differs = list(troubles([found(survivor(differs="case 2"), caught=99)]))
    assert differs == ["an_exercise: survives: a -> b in c; differs on: case 2"]
    never = list(troubles([found(survivor(line="c"))]))
    assert never == ["an_exercise: never runs: c"]
    assert not list(troubles([found(survivor(reason="the same number"))]))


def test_a_reason_needs_a_survivor() -> None:
    known = reasons()["leaks_future"]
    stale = list(troubles([Row("leaks_future", 6, 3, 3, ())]))
    assert sum("does not survive" in trouble for trouble in stale) == len(known.changes) > 0
    assert sum(": 0 survive, not" in trouble for trouble in stale) == len(known.statements) > 0


def test_a_statement_explains_its_changes_and_a_pattern_only_what_differs_nowhere() -> None:
    change = "-2 -> 2 in b = a.mean(-2)"
    assert explained("merge_heads", change, "")[1] == "Both numbers name one axis."
    assert explained("merge_heads", change, "case 2") == ("", "")
    statement = next(iter(reasons()["leaks_future"].statements))
    assert explained("leaks_future", f"a -> b in {statement}", "case 2")[0] == statement


def test_every_reason_belongs_to_an_exercise() -> None:
    assert reasons().keys() - {"any"} <= {exercise.name for exercise in all_exercises()}


def test_too_low_a_rate_is_a_trouble_even_with_reasons() -> None:
    rows = [found(survivor(differs="case 2", reason="it is allowed"), caught=9)]
    assert rate(rows) == 0.9
    assert list(troubles(rows)) == ["90.00% of the changes are caught, below 99%"]
    assert "9 caught, 1 missed (90.00% caught), 0 equal" in summary(rows)


def test_the_command_writes_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "found.json"
    assert main(["dot_score", "--json", str(file)]) == 0
    (one,) = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert (one["exercise"], one["caught"]) == ("dot_score", one["made"])
    assert "dot_score" in capsys.readouterr().out
    assert main(["context_vector", "--json", str(file)]) == 0
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert [row["exercise"] for row in rows] == ["context_vector", "dot_score"]


def test_an_unknown_name_is_answered_with_those_that_come_near(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["dot_scor"])
    assert "dot_score" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.parametrize("name", QUICK)
def test_no_change_survives_without_a_reason(name: str) -> None:
    assert not list(troubles([row(name)]))
