import json
from pathlib import Path

import nbformat
import pytest

from course_utils.guessing.known import digest
from tools.notebooks import guesses
from tools.notebooks.source import Chapter, read_chapter

SOURCE = '''# %% [markdown]
"""
## 1. Rows

**Predict.** How many?
"""

# %% guess={"name": "03.rows", "kind": "number", "asks": "How many?", "high": 9, "reads": "rows {}"}
guess("03.rows")

# %%
rows = 3

# %%
print("rows", rows)
'''
OUTPUTS: list[list[str]] = [[], [], ["rows 3\n"]]


def chapter(tmp_path: Path, source: str = SOURCE) -> Chapter:
    path = tmp_path / "solutions" / "03_small.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(source)
    return read_chapter(path)


def solved(outputs: list[list[str]]) -> nbformat.NotebookNode:
    cells = []
    for texts in outputs:
        cell = nbformat.v4.new_code_cell("")
        cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=one) for one in texts]
        cells.append(cell)
    return nbformat.v4.new_notebook(cells=cells)


def test_the_answer_is_read_off_the_cell_that_prints_it(tmp_path: Path) -> None:
    (row,) = guesses.questions(chapter(tmp_path), solved(OUTPUTS))
    assert (row["truth"], row["cell"]) == (3, digest('print("rows", rows)'))
    (row,) = guesses.questions(chapter(tmp_path), solved([[], [], ["rows 4\n"]]))
    assert row["truth"] == 4, "it follows the output"


@pytest.mark.parametrize(
    ("changed", "outputs", "says"),
    [
        (("", ""), [[], [], ["columns 3"]], "nothing printed looks like 'rows {}'"),
        (('"03.rows", "kind"', '"04.rows", "kind"'), OUTPUTS, "the cell must be guess"),
        (('"number"', '"sum"'), OUTPUTS, "kind must be one of"),
        (('"high"', '"height"'), OUTPUTS, "unexpected keyword argument 'height'"),
        (
            ("# %%\nrows = 3", '# %% [markdown]\n"""\n## 2. Other\n"""\n\n# %%\nrows = 3'),
            OUTPUTS,
            "no c",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, changed: tuple[str, str], outputs: list[list[str]], says: str
) -> None:
    with pytest.raises(ValueError, match=rf"solutions/03_small.py:9: .*{says}"):
        list(guesses.questions(chapter(tmp_path, SOURCE.replace(*changed)), solved(outputs)))


def test_the_file_is_written_once_and_found_stale(tmp_path: Path) -> None:
    own = chapter(tmp_path)
    notebook = tmp_path / "solutions" / "03_small.ipynb"
    nbformat.write(solved(OUTPUTS), notebook)
    file = tmp_path / guesses.FILE
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps([{"name": "02.other", "truth": 1}, {"name": "03.gone"}]))
    assert list(guesses.faults(tmp_path, [own])) == [
        f"{guesses.FILE}: not what the chapters say; run `make notebooks`"
    ]
    assert list(guesses.write(tmp_path, [own])) == [f"{guesses.FILE} written"]
    assert [row["name"] for row in json.loads(file.read_text())] == ["02.other", "03.rows"]
    assert list(guesses.write(tmp_path, [own])) == []
    assert list(guesses.faults(tmp_path, [own])) == []
    twice = chapter(tmp_path, SOURCE + SOURCE)
    nbformat.write(solved(OUTPUTS * 2), notebook)
    assert "two guesses are named 03.rows" in list(guesses.faults(tmp_path, [twice]))
