"""Numbers that are marked in a source and found, or not, in the outputs that are stored."""

import re
from pathlib import Path

import nbformat
import pytest

from tests.tools.small_course import Course
from tools import shown
from tools.notebooks.source import read_chapter

TIMES = """time, SDPA = 1                   512   1024   2048   4096   8192
forward
   written out                  1.37   2.94   7.71   6.82   2.57
   recomputed                   1.30   1.20   1.20   1.19   1.22
forward, causal
   written out                  1.74   2.38   3.75   6.20   6.75
   recomputed                   1.27   1.32   1.29   1.23   1.22
2026-11-21 AMD EPYC, AVX512
"""
BLOCKS = """time at 2048 tokens, SDPA = 1; recomputed, by keys a tile:
queries a tile      32     128     512    1024
            32   11.03    3.56    2.05    1.68
          1024    1.63    1.23    1.14    1.19
"""
PEAKS = """n                         1024    2048    4096    1024    2048    4096
written out               16.0    64.0   256.0    24.5    97.0   386.0
tiled, under autograd      2.3     2.8     3.8    20.8    77.7   300.6
tiled, recomputed          1.9     2.4     3.4     4.3     6.3    10.3
SDPA                       1.1     1.6     2.6     3.5     6.0    11.0
"""
OTHER = "share 0.699\nloss -0.25, 4.5e-05 and 16,384 of 180623 with <Figure size 640x480>\n"


def found(tmp_path: Path, prose: str, *outputs: str, alternative: str = "") -> list[str]:
    """Return what is told of cells with these outputs, a figure's cell, and prose."""
    code = "".join(f"# %%\nprint({n})\n\n" for n in range(len(outputs)))
    figure = f'# %% mystnb={{"image": {{"alt": "{alternative}"}}}}\ndraw()\n\n'
    path = tmp_path / "solutions" / "09_small.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{code}{figure}# %% [markdown]\n# {prose}\n", encoding="utf-8")
    new = nbformat.v4
    data = {"text/plain": "<Figure size 640x480 with 1 Axes>", "image/png": "iVBO"}
    cells = [new.new_code_cell(outputs=[new.new_output("stream", text=text)]) for text in outputs]
    cells.append(new.new_code_cell(outputs=[new.new_output("display_data", data)]))
    nbformat.write(new.new_notebook(cells=cells), path.with_suffix(".ipynb"))
    return shown.check(tmp_path, read_chapter(path))


@pytest.mark.parametrize(
    "mark",
    [
        "shown: 0.699 0.70 70% 70 % 69.9%",
        "shown: 0.25 -0.25 -0.2 0.000045 4.5e-5 16,384 16384",
        "shown: 180,623 1.8e5 1.81e5",
        "shown: share < 0.7; share > 0.69; 0.7",
        "shown 2: 7.71 0.7; written out < 7.8",
    ],
)
def test_what_is_printed_is_found(tmp_path: Path, mark: str) -> None:
    assert found(tmp_path, f"Thus.<!-- {mark} --> So.", TIMES, OTHER) == []


@pytest.mark.parametrize(
    ("mark", "says"),
    [
        ("shown: 0.71", "0.71 is not in the output; nearest: 0.699, -0.25, 0.000045"),
        ("shown: 0.6990", ""),
        ("shown: 0.6991", "0.6991 is not"),
        ("shown: 71%", "71% is not"),
        ("shown: -0.699", "-0.699 is not"),
        ("shown: 7.71", "7.71 is not"),
        ("shown: 1.7e5", "1.7e5 is not"),
        ("shown: 480", "480 is not"),
        ("shown: share < 0.699", "not `share < 0.699`: 0.699"),
        ("shown: nothing < 1", "not `nothing < 1`: none"),
        ("shown: ten", "a mark must name numbers, got `ten`"),
        ("shown 0.699", "a mark must read `<!-- shown: NUMBERS -->`, got `<!-- shown 0.699 -->`"),
    ],
)
def test_what_is_not_printed_is_told_with_its_line(tmp_path: Path, mark: str, says: str) -> None:
    other = OTHER.replace("<Figure size 640x480>", "no figure")
    told = found(tmp_path, f"One.\n# Two.<!-- {mark} -->", TIMES, other)
    assert [line.partition(": ")[0] for line in told] == ["solutions/09_small.py:12"] * bool(says)
    assert all(says in line for line in told)


def test_three_sentences_that_a_new_record_left_behind_are_told(tmp_path: Path) -> None:
    prose = (
        "Worked over, less than 1.3 times on all pairs.<!-- shown 2: recomputed < 1.3 -->\n# The "
        "written-out table takes, with a causal mask, about ten times as long.<!-- shown 2: 10 -->"
    )
    alternative = "Two and a half times apart at 4096 tokens.<!-- shown: 2.5 -->"
    assert found(tmp_path, prose, PEAKS, TIMES, BLOCKS)[0].endswith(
        "not `recomputed < 1.3`: 1.30, 1.32"
    )
    assert found(tmp_path, prose, PEAKS, TIMES, BLOCKS)[1].endswith(
        "10 is not in the output; nearest: 11, 11.03, 7.71"
    )
    (told,) = found(tmp_path, "Prose.", PEAKS, alternative=alternative)
    assert re.fullmatch(r".*:4: 2\.5 is not in the output; nearest: 2\.[46], 2\.[46], 2\.3", told)
    right = prose.replace("1.3 -", "1.4 -").replace("shown 2: 10", "shown 2: 7.71")
    assert found(tmp_path, right, TIMES, BLOCKS) == []


def test_an_alternative_text_also_looks_at_its_own_cell(course: Course) -> None:
    alt = 'mystnb={"image": {"alt": "Half of 8.<!-- shown: 4 8 -->"}}'
    course.write(f"# %%\nprint(8)\n\n# %% {alt}\nprint(4)\n\n# %% [markdown]\n# x\n")
    course.build()
    assert course.build("--check").err == ""
    course.write(f"# %%\nprint(8)\n\n# %% {alt}\nprint(5)\n\n# %% [markdown]\n# x\n")
    course.build()
    assert "solutions/03_small.py:4: 4 is not in the output" in course.build("--check").err


def test_marks_are_in_no_notebook(course: Course) -> None:
    alt = 'mystnb={"image": {"alt": "Rises.<!-- shown: 4 -->"}}'
    course.write(f"# %% {alt}\nprint(4)\n\n# %% [markdown]\n# Four <!-- shown: 4 -->, we see.\n")
    assert course.build().err == ""
    for kind in ("notebooks", "solutions"):
        code, prose = course.cells(kind)
        assert code.metadata.mystnb.image.alt == "Rises."
        assert prose.source == "Four, we see."
        assert "<!--" not in course.path(kind).read_text()
