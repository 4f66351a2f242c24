"""The ledger against what its checks find: one law for all claims that are run or computed."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import course_utils.claims
from course_utils.claims import Finding, check_of, ledger, recompute, recompute_all
from course_utils.claims.finding import Check, by_machine, checks, recomputes, undecided, weigh

RUN = [claim for claim in ledger() if claim["how"] in ("run", "computed")]
NAMES = [claim["id"] for claim in RUN]


@cache
def found_by(check: Check) -> Finding:
    """Return what a check finds; claims that say the same share one."""
    return check()


def sources() -> dict[str, str]:
    """Return the source of each claim's check, a function or a row, in the file of its chapter."""
    found = {}
    for path in Path(course_utils.claims.__path__[0]).glob("ch*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            heads = getattr(node, "decorator_list", [getattr(node, "value", node)])
            ids = re.findall(r"'((?: ?\d\d-\d\d)+)'", " ".join(map(ast.unparse, heads)))
            start = min(head.lineno for head in heads) if heads else node.lineno
            source = "\n".join(text.split("\n")[start - 1 : node.end_lineno])
            found |= dict.fromkeys(" ".join(ids).split(), source)
    return found


SOURCES = sources()


def figures(text: str) -> set[str]:
    """Return the numbers of a text as they are written, without separators of thousands."""
    plain = re.sub(r"(?<=\d)[,_](?=\d{3})", "", text)
    return set(re.findall(r"\d+(?:\.\d+)?", plain))


@pytest.mark.thorough
@pytest.mark.parametrize("claim", RUN, ids=NAMES)
def test_verdict_and_figures_of_the_ledger_are_those_of_the_check(claim: dict[str, str]) -> None:
    """Whoever changes a figure of the ledger has to change what is computed."""
    check = check_of(claim["id"])
    found = found_by(check)
    assert found.verdict == claim["verdict"], found.measured
    assert found.measured
    known = figures(found.measured) | figures(SOURCES[claim["id"]])
    assert figures(claim["claim"] + " " + claim["correct"]) - known == set()


@pytest.mark.thorough
def test_a_figure_that_is_changed_is_noticed() -> None:
    """Of all figures with three digits or more, each made larger by one in its last digit."""
    missed, count = [], 0
    for claim in RUN:
        check = check_of(claim["id"])
        known = figures(found_by(check).measured) | figures(SOURCES[claim["id"]])
        for figure in figures(claim["claim"] + " " + claim["correct"]):
            if len(figure.replace(".", "")) >= 3:
                count += 1
                changed = figure[:-1] + str((int(figure[-1]) + 1) % 10)
                missed += [(claim["id"], figure)] * (changed in known)
    assert count > 200
    assert len(missed) <= 0.05 * count, missed


def test_what_is_wrong_has_a_kind_and_nothing_else_has() -> None:
    kinds = {
        "axis", "code", "condition", "evidence", "figure", "mechanism", "source", "term", "whole",
    }  # fmt: skip
    for claim in ledger():
        is_amiss = claim["verdict"] in ("wrong", "corrected")
        own = claim.get("kind", [])
        assert 1 <= len(own) <= 2 if is_amiss else not own, claim["id"]
        assert set(own) <= kinds


@pytest.mark.parametrize("name", [name for name in NAMES if name[:2] in ("02", "06", "13")])
def test_asked_twice_it_says_the_same(name: str) -> None:
    assert recompute(name) == found_by(check_of(name))


def test_what_is_run_has_a_check_in_the_file_of_its_chapter_and_the_ledger_names_it() -> None:
    assert set(NAMES) == checks().keys() == SOURCES.keys()
    listed = {claim["id"]: claim["check"] for claim in ledger() if "check" in claim}
    assert listed == {name: check.__name__ for name, check in checks().items()}


def test_what_was_not_run_says_so() -> None:
    other = next(claim for claim in ledger() if claim["how"] == "read")
    with pytest.raises(ValueError, match=f"got '{other['id']}': read"):
        recompute(other["id"])
    with pytest.raises(ValueError, match="got '99-01': not in the ledger"):
        check_of("99-01")
    with pytest.raises(ValueError, match="chapter must have claims that are run"):
        recompute_all("99")
    with pytest.raises(TypeError, match="claim must be a str"):
        recompute(3)  # type: ignore[arg-type]


def test_a_claim_has_one_check() -> None:
    checks("01")
    with pytest.raises(ValueError, match="a claim must have one check"):
        recomputes("01-07")(lambda: weigh("nothing", holds=True))


def test_all_of_a_chapter_in_the_order_of_the_ledger() -> None:
    found = recompute_all("04")
    assert [name for name, _ in found] == [name for name in NAMES if name.startswith("04-")]
    assert all(isinstance(finding, Finding) for _, finding in found)


def test_verdicts_follow_from_what_holds() -> None:
    assert weigh("", holds=True, amended=False).verdict == "confirmed"
    assert weigh("", holds=False, amended=True).verdict == "corrected"
    assert weigh("", holds=False).verdict == "wrong"
    assert undecided("", for_it=True, against=True).verdict == "unverifiable"
    assert undecided("", for_it=True, against=False).verdict == "confirmed"
    assert undecided("", for_it=False, against=True).verdict == "wrong"
    found = by_machine("twice", "chapter_08_cheaper")
    assert found.verdict == "hardware-dependent"
    assert re.fullmatch(r"twice \(.+, \d{4}-\d\d-\d\d\)", found.measured)
