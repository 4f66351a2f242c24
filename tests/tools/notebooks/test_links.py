"""A chapter leads on and back; papers that it names lead to their addresses."""

from pathlib import Path

import pytest

from tools.notebooks.links import Paper, cite, end_faults, read_papers, with_links
from tools.notebooks.source import Cell, Chapter

NAMES = {"00": "00_start", "01": "01_a", "02": "02_b"}
BIBTEX = r"""
@article{one2014, author = {Cho, Kyunghyun and van M{\"e}rrienboer, Bart and Bahdanau, Dzmitry},
  year = {2014}, url = {https://a.org/1}}
@article{two2014, author = {Cho, Kyunghyun and others}, year = {2014}, url = {https://a.org/2}}
@misc{l{\"a}ubli, author = {L{\"a}ubli, Samuel and Sennrich, Rico}, year = {2018},
  doi = {10.1/x}}
@misc{team, author = {{Kimi Team}}, year = {2025}, url = {https://a.org/3}}
@book{nowhere, author = {Watson, Geoffrey}, year = {1964}}
"""


def chapter(name: str, *cells: tuple[str, str]) -> Chapter:
    made = (Cell(kind, text, {}, line) for line, (kind, text) in enumerate(cells, 1))
    return Chapter(Path("solutions", f"{name}.py"), tuple(made))


def test_the_prose_after_progress_leads_to_the_pages_around_it() -> None:
    first = chapter("01_a", ("code", "progress(1)"), ("markdown", "**Next**: chapter 02 is b."))
    assert with_links(first, NAMES).cells[1].source == (
        "**Next**: [chapter 02](02_b.ipynb) is b.\n\n"
        "Back: [first page](00_start_here.ipynb) · [glossary](../book/glossary.md)"
    )
    last = chapter("02_b", ("code", "progress(2)"), ("markdown", "The end."))
    assert (
        with_links(last, NAMES)
        .cells[1]
        .source.startswith("The end.\n\nBack: [chapter 01](01_a.ipynb) · [first page]")
    )
    assert list(end_faults(first, NAMES)) == list(end_faults(last, NAMES)) == []


@pytest.mark.parametrize("text", ["Then b.", "**Next**: chapter 03", "See **Next**: chapter 02"])
def test_a_chapter_that_does_not_lead_to_the_next_is_a_fault(text: str) -> None:
    wrong = chapter("01_a", ("code", "progress(1)"), ("markdown", text))
    assert list(end_faults(wrong, NAMES)) == [
        (2, "the prose must begin with `**Next**: chapter 02`")
    ]


def test_authors_are_read_as_they_are_printed() -> None:
    first, second, pair, team = read_papers(BIBTEX)
    assert first.named == (
        "Cho, van Mërrienboer and Bahdanau", "Cho et al.", "Cho, van Mërrienboer et al.",
    )  # fmt: skip
    assert second == Paper(("Cho et al.",), "2014", "https://a.org/2")
    assert pair == Paper(("Läubli and Sennrich",), "2018", "https://doi.org/10.1/x")
    assert team.named == ("Kimi Team",)


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("Cho et al. (2014): x.", "[Cho et al. (2014)](https://a.org/1): x."),
        ("Cho et al. (2014b)", "[Cho et al. (2014b)](https://a.org/2)"),
        ("Cho et al. (2014, 2014b)", "Cho et al. ([2014](https://a.org/1), [2014b](https://a.org/2))"),
        ("Kimi Team (2025)", "[Kimi Team (2025)](https://a.org/3)"),
        ("Watson (1964), Cho et al. (2015)", "Watson (1964), Cho et al. (2015)"),
        ("McCho et al. (2014)", "McCho et al. (2014)"),
    ],
)  # fmt: skip
def test_a_paper_that_is_named_leads_to_its_address(text: str, linked: str) -> None:
    assert cite(text, list(read_papers(BIBTEX))) == linked
    assert cite(text, []) == text


def test_only_go_further_is_linked_and_the_chapter_s_own_papers_come_first() -> None:
    own = "```bibtex\n@misc{a, author = {Elman, J}, year = {1990}, url = {https://own.org}}\n```"
    cells = [("markdown", f"{head}Elman (1990)") for head in ("# T\n", "## Go further\n\n")]
    other = "@misc{a, author = {Elman, J}, year = {1990}, url = {https://other.org}}"
    before, further, bibtex = with_links(
        chapter("01_a", *cells, ("markdown", own)), NAMES, other
    ).cells
    assert before.source == "# T\nElman (1990)"
    assert further.source == "## Go further\n\n[Elman (1990)](https://own.org)"
    assert bibtex.source == own
