"""When a build has nothing to do."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from book import build


def test_build_is_fresh_until_something_is_changed_or_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "ROOT", tmp_path)
    read, made = tmp_path / "course_utils" / "a.css", tmp_path / "_build" / "html" / "a.html"
    for path in (tmp_path / "book.yml", tmp_path / "pyproject.toml", read, made):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a", encoding="utf-8")
    stamps = [build.stamp(made.parent)]
    assert build.stamp(made.parent) == stamps[0]
    for path, text in ((read, "b"), (tmp_path / "book.yml", "b"), (made, "longer")):
        path.write_text(text, encoding="utf-8")
        stamps.append(build.stamp(made.parent))
    for path in (read, made):
        path.unlink()
        stamps.append(build.stamp(made.parent))
    monkeypatch.setattr(build, "distributions", lambda: iter(()))  # another Sphinx, say
    stamps.append(build.stamp(made.parent))
    assert len(set(stamps)) == len(stamps)


def test_each_page_s_kernel_has_a_progress_of_its_own(tmp_path, monkeypatch) -> None:
    for name in ("ATTENTION_COURSE_PROGRESS", "IPYTHONDIR", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "as it was")
    build.prepare_kernels(tmp_path)
    said = []
    for _ in range(2):
        cell = nbformat.v4.new_code_cell(
            "from course_utils.answers import kept; print(kept.folder())"
        )
        page = nbformat.v4.new_notebook(cells=[cell])
        NotebookClient(page, kernel_name="python3").execute()
        said.append(page.cells[0].outputs[0]["text"])
    assert said[0] != said[1]
    assert not any(Path(folder.strip()).parent.exists() for folder in said)
