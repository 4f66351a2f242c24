"""Hold the numbers of a chapter's prose against the outputs that they are quoted from.

    python -m tools.shown [NN ...]    every chapter, or those; exit status 1 when one is not found

A mark in the source comes directly after a sentence; the notebooks do not have it:

    <!-- shown: 6.75 70% -->       each number is in the text output of the nearest code cell above
                                   that has any, rounded to the digits given; 70% is also 0.699
    <!-- shown 2: 1.8e5 -->        in one of the two nearest; 1.8e5 is also 180,623
    <!-- shown: tiled < 1.3 -->    all numbers in the output's lines that begin with `tiled` are
                                   less (or `>`, more); a `;` separates it from other things

In a figure's alternative text a mark looks at the figure's own cell, too.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from nbformat import NotebookNode

from course_utils.environment import ROOT
from tools.notebooks.files import read_stored, sources_by_number
from tools.notebooks.source import SHOWN, Cell, Chapter, read_chapter

_NUMBER = re.compile(r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?")
_MARK = re.compile(r"<!-- shown(?: (\d))?: (\S.*?) -->", re.DOTALL)
_BOUND = re.compile(r"(.*?)\s*([<>])\s*(\S+)", re.DOTALL)


def unfound(chapter: Chapter, notebook: NotebookNode) -> Iterator[tuple[int, str]]:
    """Yield the line and a message for each thing marked that the outputs do not show."""
    outputs = [_text(cell) for cell in notebook.cells if cell.cell_type == "code"]
    if len(outputs) != sum(cell.kind == "code" for cell in chapter.cells):
        return  # stale, and told as such
    count = 0
    for cell in chapter.cells:
        before, own = [text for text in outputs[:count] if text], []
        if cell.kind == "code":
            own, count = [outputs[count]], count + 1
        for line, mark in _marks(cell):
            read = _MARK.fullmatch(mark)
            if read is None:
                yield line, f"a mark must read `<!-- shown: NUMBERS -->`, got `{mark}`"
                continue
            text = "\n".join(before[-int(read[1] or 1) :] + own)
            says = (_missing(thing, text) for thing in _things(read[2]))
            yield from ((line, said) for said in says if said)


def _marks(cell: Cell) -> Iterator[tuple[int, str]]:
    code = cell.kind == "code"
    text = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "") if code else cell.source
    for found in SHOWN.finditer(text):
        yield cell.line + (-1 if code else text.count("\n", 0, found.start())), found[0].strip()


def _text(cell: NotebookNode) -> str:
    """Return what a cell prints; the text of a picture, a widget or a guess is left out."""
    if "guess" in cell.metadata:
        return ""
    return "\n".join(
        str(output.get("text", output.get("data", {}).get("text/plain", "")))
        for output in cell.get("outputs", [])
        if set(output.get("data", {})) <= {"text/plain", "text/html"}
        and output.get("name") != "stderr"
    )


def _things(marked: str) -> Iterator[str]:
    """Yield the numbers and comparisons that a mark names."""
    for part in marked.split(";"):
        yield from [part.strip()] if _BOUND.search(part) else part.replace(" %", "%").split()


def _missing(thing: str, text: str) -> str:
    """Return what is wrong with a number or comparison of a mark, or nothing."""
    bound = _BOUND.fullmatch(thing)
    named = (bound[3] if bound else thing).removesuffix("%")
    if not _NUMBER.fullmatch(named):
        return f"a mark must name numbers, got `{thing}`"
    wanted = Decimal(named.replace(",", ""))
    if bound:
        lines = [line.strip() for line in text.split("\n") if line.strip().startswith(bound[1])]
        numbers = _numbers("\n".join(line.removeprefix(bound[1]) for line in lines))
        wrong = [n for n in numbers if not (n < wanted if bound[2] == "<" else n > wanted)]
        return "" if numbers and not wrong else f"not `{thing}`: {_nearest(wanted, wrong)}"
    numbers = _numbers(text)
    scaled = [n * by for n in numbers for by in ((1, 100) if thing.endswith("%") else (1,))]
    scaled = scaled if named.startswith("-") else [abs(n) for n in scaled]
    half = Decimal(5).scaleb(int(wanted.as_tuple().exponent) - 1)
    found = any(abs(n - wanted) <= half for n in scaled)
    return "" if found else f"{thing} is not in the output; nearest: {_nearest(wanted, numbers)}"


def _numbers(text: str) -> list[Decimal]:
    return [Decimal(found.replace(",", "")) for found in _NUMBER.findall(text)]


def _nearest(wanted: Decimal, numbers: list[Decimal]) -> str:
    near = sorted(set(numbers), key=lambda n: abs(abs(n) - abs(wanted)))[:3]
    return ", ".join(map(str, near)) or "none"


def check(root: Path, chapter: Chapter) -> list[str]:
    """Return file:line and a message for each thing marked that the outputs do not show."""
    notebook = read_stored(root / "solutions" / f"{chapter.name}.ipynb")
    if notebook is None:
        return []  # told by the builder
    return [f"{chapter.file}:{line}: {says}" for line, says in unfound(chapter, notebook)]


if __name__ == "__main__":
    sources = sources_by_number(ROOT)
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("chapters", nargs="*", metavar="NN", help="all if none is named")
    chosen = parser.parse_args().chapters or list(sources)
    if unknown := set(chosen) - set(sources):
        parser.error(f"no chapter {', '.join(sorted(unknown))}; there are {', '.join(sources)}")
    wrong = [line for name in chosen for line in check(ROOT, read_chapter(sources[name]))]
    print("\n".join(wrong) or f"{len(chosen)} chapters: what is marked is in the outputs")
    sys.exit(bool(wrong))
