"""Links of a chapter: to the pages around it, and from the papers it names to their addresses."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from tools.notebooks.source import Chapter

FIRST, GLOSSARY = "00_start_here.ipynb", "../book/glossary.md"
REFERENCES = "book/references.bib"
_NEXT = re.compile(r"(\*\*Next\*\*: )(chapter (\d\d))")
_LETTER = {'"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "v": "\u030c"}
_ACCENT = re.compile(r"\\([\"'`^~v])\s*\{?(\\?\w)\}?")
_ENTRY = re.compile(r"(?m)^@\w+\{")
_BRACED = r"\b{}\s*=\s*\{{((?:[^{{}}]|\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}})*)\}}"
_LINES = re.compile(r"(?s)```bibtex\n(.*?)```")
_YEARS = r" \((\d{4}[a-z]?(?:, \d{4}[a-z]?)*)\)"


class Paper(NamedTuple):
    """One entry of a bibliography: the ways to name its authors, its year, and its address."""

    named: tuple[str, ...]
    year: str
    address: str


def with_links(chapter: Chapter, names: Mapping[str, str], references: str = "") -> Chapter:
    """Return the chapter with its links.

    Args:
        chapter: The source.
        names: The name of every chapter by its number, such as 03.
        references: BibTeX of papers that the chapter's own does not hold.
    """
    whole = "\n".join(cell.source for cell in chapter.cells)
    papers = [*read_papers("".join(_LINES.findall(whole))), *read_papers(references)]
    end, cells, ends, further = _end(chapter), [], False, False
    for cell in chapter.cells:
        text = cell.source
        if cell.kind == "markdown":
            further = further or "## Go further" in text
            if ends:
                text = f"{_next(text, names)}\n\n{_back(chapter.name[:2], names)}"
            if further and "```" not in text:
                text = cite(text, papers)
        ends = cell.source == end
        cells.append(cell if text == cell.source else replace(cell, source=text))
    return replace(chapter, cells=tuple(cells))


def end_faults(chapter: Chapter, names: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield line and message where a chapter's end does not lead on.

    Args:
        chapter: The source.
        names: The name of every chapter by its number.
    """
    following = f"{int(chapter.name[:2]) + 1:02d}"
    for cell, after in pairwise(chapter.cells):
        found = _NEXT.match(after.source)
        right = following not in names or (found is not None and found[3] == following)
        if cell.source == _end(chapter) and not right:
            yield after.line, f"the prose must begin with `**Next**: chapter {following}`"


def _end(chapter: Chapter) -> str:
    """Return the cell after which a chapter says what is next."""
    return f"progress({int(chapter.name[:2])})"


def _next(text: str, names: Mapping[str, str]) -> str:
    return _NEXT.sub(lambda found: f"{found[1]}[{found[2]}]({names[found[3]]}.ipynb)", text)


def _back(number: str, names: Mapping[str, str]) -> str:
    """Return a line with links to the chapter before, the first page and the glossary."""
    before = f"{int(number) - 1:02d}"
    previous = f"[chapter {before}]({names[before]}.ipynb) · " if int(before) else ""
    return f"Back: {previous}[first page]({FIRST}) · [glossary]({GLOSSARY})"


def cite(text: str, papers: list[Paper]) -> str:
    """Return prose in which a paper named as "Luong et al. (2015)" is a link to its address.

    Of several by the same authors in one year, a letter after the year tells which, in the order
    of the list; without one it is the first.
    """
    ways = sorted({way for paper in papers for way in paper.named}, key=len, reverse=True)
    if not ways:
        return text

    def linked(found: re.Match[str]) -> str:
        shown = found[2].split(", ")
        links = [_address(found[1], year, papers) for year in shown]
        if len(shown) == 1:
            return f"[{found[0]}]({links[0]})" if links[0] else found[0]
        each = (f"[{y}]({to})" if to else y for y, to in zip(shown, links, strict=True))
        return f"{found[1]} ({', '.join(each)})"

    return re.sub(rf"(?<![\w\[])({'|'.join(map(re.escape, ways))}){_YEARS}", linked, text)


def _address(named: str, year: str, papers: list[Paper]) -> str:
    same = [paper for paper in papers if named in paper.named and paper.year == year[:4]]
    known = [paper.address for paper in same]
    at = ord(year[4]) - ord("a") if year[4:] else 0
    return known[at] if at < len(known) else ""


def read_papers(bibtex: str) -> Iterator[Paper]:
    """Yield each entry that has an author, a year and an address."""
    for entry in _ENTRY.split(bibtex)[1:]:
        author, year, url, doi = (_field(entry, name) for name in ("author", "year", "url", "doi"))
        if author and year:
            people = [_plain(one.partition(",")[0]) for one in re.split(r"\s+and\s+", author)]
            address = url or (f"https://doi.org/{doi}" if doi else "")
            if address:
                yield Paper(tuple(_ways(people)), year, address)


def _field(entry: str, name: str) -> str:
    found = re.search(_BRACED.format(name), entry)
    return found[1].strip() if found else ""


def _plain(name: str) -> str:
    """Return a family name of BibTeX as it is printed."""
    accented = _ACCENT.sub(lambda found: found[2].strip("\\") + _LETTER[found[1]], name)
    plain = accented.replace(r"\o", "ø").replace(r"\l", "ł").replace(r"\ss", "ß")
    return unicodedata.normalize("NFC", plain.translate({ord(c): None for c in "{}"})).strip()


def _ways(people: list[str]) -> Iterator[str]:
    """Yield the ways to name the authors of a paper."""
    *first, last = people
    if last != "others":
        yield f"{', '.join(first)} and {last}" if first else last
    if len(people) > 2 or last == "others":
        for count in range(1, min(4, len(people))):
            yield f"{', '.join(people[:count])} et al."
