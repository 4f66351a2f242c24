"""Works that claims and the timeline rest on, and the bibliography read by a library."""

import re
import sys
import unicodedata
from pathlib import Path

import pytest
from pybtex.database import parse_file

from course_utils.claims import book_file, ledger, timeline, works
from course_utils.claims.ledger import bibliography

CHAPTERS = sorted((Path(__file__).parents[2] / "solutions").glob("*.py"))
_NAME = r"[A-Z][^\W\d_]+(?:-[A-Z][^\W\d_]+)*"
CITED = re.compile(  # Name et al. (year), Name and Name (year), Name (year), (Name, year)
    rf"\b({_NAME})(?:(?:, {_NAME})*(?: et al\.| and {_NAME}),? \(?| \()((?:19|20)\d\d)"
    rf"|\(({_NAME}), ((?:19|20)\d\d)"
)
NO_WORK = {"12-21", "12-27"}  # remembered, and no work of theirs is in the bibliography


def test_our_reading_of_the_bibliography_is_a_librarys() -> None:
    parsed = parse_file(str(book_file("references.bib")), bib_format="bibtex").entries
    ours = bibliography()
    assert set(ours) == set(parsed)
    for key, entry in parsed.items():
        names = [" ".join(person.last_names) for person in entry.persons["author"]]
        assert ours[key]["year"] == entry.fields["year"]
        assert ours[key]["title"] == entry.fields["title"]
        first = ours[key]["author"].split(" and ")[0].partition(",")[0].strip("{}")
        assert first == names[0].strip("{}") or first.endswith(names[0].strip("{}"))


def test_every_work_that_is_cited_stands_in_the_bibliography() -> None:
    cited = {key for claim in ledger() for key in claim.get("cite", ())}
    cited |= {entry["cite"] for entry in timeline()}
    assert cited - bibliography().keys() == set()


def test_a_claim_that_was_looked_up_or_remembered_names_a_work() -> None:
    without = {
        claim["id"]
        for claim in ledger()
        if claim["how"] in ("looked up", "remembered") and not claim.get("cite")
    }
    assert {name for name in without if name[:2] not in ("14", "16", "17")} == NO_WORK
    assert not any(c.get("cite") for c in ledger() if c["how"] in ("run", "computed"))


def test_every_work_of_the_bibliography_is_used_by_a_chapter() -> None:
    root = Path(__file__).parents[2]
    written = "\n".join(
        path.read_text(encoding="utf-8")
        for path in [
            *root.glob("solutions/*.py"),
            *root.glob("book/**/*.md"),
            *root.glob("book/*.py"),
            root / "book/timeline.yml",
        ]
    )
    assert bibliography().keys() - set(re.findall(r"\w+", written)) == set()


def plain(text: str) -> str:
    """Return a name in lower case, without accents, written in LaTeX or not."""
    kept = unicodedata.normalize("NFKD", re.sub(r"\\.|[{}]", "", text)).lower()
    return "".join(letter for letter in kept if not unicodedata.combining(letter))


def test_every_work_of_the_bibliography_has_an_address() -> None:
    assert [key for key, work in bibliography().items() if not {"url", "doi"} & work.keys()] == []


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_every_paper_that_a_chapter_names_stands_in_the_bibliography(path: Path) -> None:
    firsts = (work["author"].split(" and ")[0] for work in bibliography().values())
    names = [plain(name.partition(",")[0]).split()[-1] for name in firsts]
    years = [work["year"] for work in bibliography().values()]
    prose = re.sub(r'(?s)```.*?```|"[^"\n]*"', "", path.read_text(encoding="utf-8"))
    found = [(hit[1] or hit[3], hit[2] or hit[4]) for hit in CITED.finditer(prose)]
    known = set(zip(names, years, strict=True))
    assert [(who, year) for who, year in found if (plain(who), year) not in known] == []


def test_timeline_runs_from_2014_on_in_order_and_names_chapters() -> None:
    entries, chapters = timeline(), {path.name[:2] for path in CHAPTERS}
    dates = [str(entry["date"]) for entry in entries]
    assert dates == sorted(dates)
    assert dates[0].startswith("2014")
    for entry in entries:
        assert re.fullmatch(r"\d{4}(-\d\d)?", entry["date"])
        assert set(entry["chapters"]) <= chapters
        assert re.search(r"\(\d{4}\), \w", entry["citation"])
    assert len({entry["cite"] for entry in entries}) == len(entries)


def test_works_are_cited_by_their_authors() -> None:
    keys = ["shazeer2019fast", "jain2019attention", "vaswani2017attention", "touvron2023llama"]
    assert works(keys) == [
        "Shazeer (2019)",
        "Jain and Wallace (2019)",
        "Vaswani et al. (2017)",
        "Touvron et al. (2023)",
    ]
    with pytest.raises(KeyError):
        works(["nobody1999nothing"])


def test_an_installed_package_has_the_ledger_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["course_utils.claims.ledger"]  # the name in the package is the function
    monkeypatch.setattr(module, "PACKAGE", tmp_path / "course_utils")
    assert book_file("claims.yml") == tmp_path / "course_utils" / "book" / "claims.yml"
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "claims.yml").touch()
    assert book_file("claims.yml") == tmp_path / "book" / "claims.yml"
