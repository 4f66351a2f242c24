"""The page that holds the course against its peers says what its record says."""

import math
import re
from html import unescape
from typing import Any

import pytest

from book import compared
from course_utils.measure import read_record

OTHERS = {"verdicts": read_record("verdicts")}


def rows(html: str) -> list[list[str]]:
    """Return the cells of a table."""
    lines = re.findall(r"<tr>(.*?)</tr>", html.partition("<tbody>")[2], re.S)
    cells = (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.S) for line in lines)
    return [[unescape(re.sub(r"<.*?>", "", cell)) for cell in row] for row in cells]


def test_every_comparison_of_the_record_is_a_row() -> None:
    found, runs = rows(compared.markdown()), read_record("bench")["runs"]
    assert len(found) == len(runs) > 20
    for cells, run in zip(found, runs, strict=True):
        assert cells[1] == run["says"]
        assert cells[2].startswith(f"{run['median']:.2f} (")
        assert cells[3] == run["peer"]


def test_a_missed_aim_is_called_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    record: dict[str, Any] = read_record("bench")
    first = record["runs"][0]
    record["runs"] = [{**first, "aim": first["median"] + by} for by in (0.1, -0.1)]
    record["runs"].append({**first, "aim": None})
    monkeypatch.setattr(compared, "read_record", {"bench": record, **OTHERS}.__getitem__)
    page = compared.markdown()
    assert [cells[-1].split(", ")[-1] for cells in rows(page)] == ["missed", "reached", ""]
    assert page.count(f"Missed: {first['says']} ({first['median']:.2f}, aimed at ") == 1
    record["runs"] = record["runs"][1:]
    assert "No aim was missed." in compared.markdown()


def test_an_import_that_costs_nothing_takes_no_negative_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record: dict[str, Any] = read_record("bench")
    for one in record["imports"]:
        one["seconds"] = {"sys": 0.03, "course_utils": 0.028}.get(one["import"], 1.5)
    monkeypatch.setattr(compared, "read_record", {"bench": record, **OTHERS}.__getitem__)
    said = dict(rows(compared.elsewhere()))
    assert said["import course_utils"] == "under 0.01 s"
    assert said["import course_utils.attention"].startswith("1.47 s")


def test_ratios_are_drawn_in_order_on_a_logarithmic_axis() -> None:
    picture = compared.drawn()
    runs = read_record("bench")["runs"]
    shown = [float(at) for at in re.findall(r'class="median" style="left:([\d.]+)%"', picture)]
    assert len(shown) == len(runs)
    logs = [math.log(run["median"]) for run in runs]
    (one,) = {float(at) for at in re.findall(r'<i style="left:([\d.]+)%">1</i>', picture)}
    (ten,) = {float(at) for at in re.findall(r'<i style="left:([\d.]+)%">10</i>', picture)}
    wanted = [one + (ten - one) * log / math.log(10) for log in logs]
    assert shown == pytest.approx(wanted, abs=0.2)
    assert 'role="img" aria-label="' in picture
    assert f"{sum(run['median'] < 1 for run in runs)} below" in picture
