"""Turns of phrase that are not English stay out; CONTRIBUTING has the better forms."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("book", "course_utils", "solutions", "tools", "tests", "benchmarks")
NOUNS = "int|bool|float|tensor|string|number|function|module|notebook|parameter|port|Python|token"
TICS = {
    "is no int": rf"(?<!here )\b(is|are)~no~({NOUNS})s?\b",
    "lie in memory": r"\b(lie|lies|lying)~in~memory\b",
    "the dear way": r"\bthe~dear~way\b|\bgrows?~dear\b|\bdearer\b|\bdearest\b",
    "order of chance": r"\border~of~chance\b",
    "any way round": r"\bfits?~any~way~round\b",
    "belongs into": r"\bbelongs?~into\b",
    "worked over": r"\b[Ww]orked~over,",
    "get to know": r"\bgets?~to~know\b",
    "some 2d tokens": r"\bsome~2d\b",
    "share out": r"\bshares?~1~out\b",
    "say whether": r'"""Say~whether',
    "mend": r"\b[Mm]end(s|ed|ing)?\b",
    "noun clause": r'"""(What|How|Whether|Which|Whose)~',
}
OWN = {"tests/laws/test_language.py", "tests/tools/test_shown.py"}  # they quote
# A docstring in a learner's cell is changed with its chapter.
IN_CELLS = ("solutions/", "course_utils/exercises/ch")
NOT_IN = {"say whether": IN_CELLS, "mend": IN_CELLS, "noun clause": IN_CELLS}


def files() -> list[Path]:
    found = [ROOT / "README.md"]
    for folder in FOLDERS:
        kinds = ("*.py",) if folder != "book" else ("*.py", "*.md", "*.yml")
        found += [path for kind in kinds for path in sorted((ROOT / folder).rglob(kind))]
    return [path for path in found if path.relative_to(ROOT).as_posix() not in OWN]


def uses(tic: str, name: str, text: str) -> list[str]:
    """Return where a text has a turn of phrase."""
    if name.startswith(NOT_IN.get(tic, ("\0",))):
        return []
    pattern = TICS[tic].replace("~", r"\s+(?:#\s+)?")  # a gap, also at the end of a line
    return [
        f"{name}:{text.count(chr(10), 0, hit.start()) + 1}: {hit[0]}"
        for hit in re.finditer(pattern, text)
    ]


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in files()}


@pytest.mark.parametrize("tic", TICS)
def test_a_turn_of_phrase_is_nowhere(texts: dict[str, str], tic: str) -> None:
    assert [hit for name, text in texts.items() for hit in uses(tic, name, text)] == []


@pytest.mark.parametrize(
    ("tic", "text", "found"),
    [
        ("is no int", "x is no int", True),
        ("is no int", "it is no\n# int", True),
        ("is no int", "There is no number of heads", False),
        ("lie in memory", "as they lie in\nmemory", True),
        ("say whether", '"""Say whether it does."""', True),
        ("noun clause", '"""What it does."""', True),
        ("mend", "Recommended", False),
    ],
)
def test_a_turn_of_phrase_is_seen(tic: str, text: str, found: bool) -> None:
    assert bool(uses(tic, "a.py", text)) == found
