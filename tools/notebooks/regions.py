"""The solution regions of a code cell.

A region stands inside a function and says what the learner is to do there:

    def twice(x):
        ### BEGIN SOLUTION: double x
        return 2 * x
        ### END SOLUTION

The solution notebook gets the lines between the marks, the learner's a comment and
`raise NotImplementedError` in their place. The marks are nbgrader's: its ClearSolutions looks for
"BEGIN SOLUTION" and "END SOLUTION" anywhere in a line, so it reads these sources too.
"""

import re
from dataclasses import dataclass

from course_utils.sources import MARK

_LOOSE_MARK = re.compile(r"^\s*#.*(BEGIN|END) SOLUTION")


@dataclass(frozen=True)
class Region:
    """A solution region: the indices of its two marks in the cell's lines, and its task."""

    begin: int
    end: int
    indent: str
    task: str

    def stub(self) -> list[str]:
        """Return the lines that the learner finds in place of the region."""
        first, _, rest = self.task.partition(" ")
        if first.isalpha() and first.islower():
            first = first.capitalize()
        sentence = f"{first} {rest}".strip()
        return [f"{self.indent}# {sentence}", f"{self.indent}raise NotImplementedError"]


def find_regions(source: str) -> tuple[list[Region], list[tuple[int, str]]]:
    """Return the well-formed regions of a code cell and, with their line indices, the faults."""
    lines = source.split("\n")
    regions: list[Region] = []
    faults: list[tuple[int, str]] = []
    opened: tuple[int, str, str] | None = None
    for index, line in enumerate(lines):
        mark = MARK.match(line)
        if mark is None:
            if _LOOSE_MARK.match(line):
                faults.append(
                    (index, "a mark must read `### BEGIN SOLUTION: task` or `### END SOLUTION`")
                )
        elif mark["kind"] == "BEGIN":
            if opened is not None:
                faults.append((index, "a region begins inside another; end the first one before"))
                continue
            task = mark["rest"].removeprefix(":").strip()
            if not mark["rest"].startswith(":") or not task:
                faults.append((index, "say after BEGIN SOLUTION and a colon what is to be done"))
            opened = (index, mark["indent"], task)
        elif opened is None:
            faults.append((index, "END SOLUTION without a BEGIN SOLUTION before it"))
        else:
            begin, indent, task = opened
            opened = None
            region = Region(begin, index, indent, task)
            fault = _fault(region, lines)
            if fault is None:
                regions.append(region)
            else:
                faults.append(fault)
    if opened is not None:
        faults.append((opened[0], "the region is not closed: END SOLUTION is missing"))
    return regions, sorted(faults)


def _fault(region: Region, lines: list[str]) -> tuple[int, str] | None:
    body = lines[region.begin + 1 : region.end]
    code = [line for line in body if line.strip() and not line.lstrip().startswith("#")]
    if not code:
        return region.begin, "the region is empty"
    for index in range(region.begin, region.end + 1):
        if "\t" in _indent(lines[index]):
            return index, "indent with spaces, not with tabs"
    columns, ends = len(region.indent), len(_indent(lines[region.end]))
    inner = min(len(_indent(line)) for line in code)
    if columns == inner == ends:
        return None
    says = "both marks and the code between them must begin in one column"
    return region.begin, f"{says}, got BEGIN at {columns}, code at {inner}, END at {ends}"


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
