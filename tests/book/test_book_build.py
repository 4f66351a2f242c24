"""Test what the build does with book.yml, and what it refuses."""

import json
from pathlib import Path

import pytest
import yaml

from book import contents, facts, front
from tests.book.book_support import NOTEBOOK, ROOT, TOC, build, small_course


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A course of two pages with the real site's settings."""
    small_course(tmp_path)
    return tmp_path


def test_toc_is_translated() -> None:
    toc = [
        {"file": "book/index.md"},
        {"title": "Chapters", "children": [{"file": "notebooks/03_a.ipynb", "title": "03 A"}]},
        {"file": "book/glossary.md", "children": [{"url": "https://a.org", "title": "Away"}]},
    ]
    assert contents.external_toc(toc) == {
        "format": "jb-book",
        "root": "index",
        "parts": [
            {"caption": "Chapters", "chapters": [{"file": "notebooks/03_a", "title": "03 A"}]},
            {
                "chapters": [
                    {"file": "glossary", "sections": [{"url": "https://a.org", "title": "Away"}]}
                ]
            },
        ],
    }
    assert contents.files(toc) == ["book/index.md", "notebooks/03_a.ipynb", "book/glossary.md"]


def test_pages_for_instructors_are_in_their_edition_alone() -> None:
    toc = [
        {"file": "book/index.md"},
        {"title": "Reference", "children": [{"file": "a.md"}, {"file": "book/instructor/b.md"}]},
        {"title": "For instructors", "children": [{"file": "book/instructor/c.md"}]},
    ]
    assert contents.of_edition(toc, "instructor") == toc
    kept = {"title": "Reference", "children": [{"file": "a.md"}]}
    assert contents.of_edition(toc, "learner") == [toc[0], kept]


@pytest.mark.parametrize(
    "toc",
    [
        [],
        [{"title": "No page first"}],
        [{"file": "a.md"}, {"title": "Empty"}],
        [{"file": "a.md"}, {"title": "Nested", "children": [{"title": "caption below a caption"}]}],
    ],
)
def test_toc_without_pages_is_refused(toc: list[dict[str, object]]) -> None:
    with pytest.raises(ValueError, match=r"^book\.yml: "):
        contents.external_toc(toc)


def test_book_yml_has_the_form_that_jupyter_book_reads() -> None:
    whole = yaml.safe_load((ROOT / "book.yml").read_text(encoding="utf-8"))
    assert yaml.safe_load((ROOT / "myst.yml").read_text(encoding="utf-8")) == {
        "version": 1,
        "extends": "book.yml",
    }
    assert (whole["version"], set(whole)) == (1, {"version", "project", "site"})
    known = "title description authors copyright license bibliography toc github options"
    assert set(whole["project"]) <= set(known.split())
    assert set(whole["site"]) <= {"options", "template", "nav", "actions"}


def test_every_notebook_is_in_the_contents_and_on_the_map() -> None:
    notebooks = {f"notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert notebooks == {file for file in contents.files(TOC) if file.startswith("notebooks/")}
    about = {Path(name).name[:2]: facts.Facts(1, 1) for name in notebooks}
    way = front.begin(about, "learner") + front.path(about, TOC)
    links = {f'href="{contents.docname(name)}.html"' for name in notebooks}
    assert {link for link in links if link not in way} == set()


def test_learner_s_edition_shows_its_own_notebooks_and_writes_them_once(small: Path) -> None:
    assert build(small).returncode == 0
    page = small / "_build/html/notebooks/a.html"
    assert "Text." in page.read_text()
    assert "Solved." not in page.read_text()
    assert "fa-rocket" not in page.read_text()  # no repository to launch from
    written = page.stat().st_mtime_ns
    assert build(small).returncode == 0
    assert page.stat().st_mtime_ns == written


def test_faults_stop_the_build_again_and_again(small: Path) -> None:
    with (small / "book" / "index.md").open("a") as front:
        front.write("\n[nowhere](/notebooks/b.ipynb)\n\n```{code-cell} ipython3\n1 / 0\n```\n")
    for _ in range(2):
        done = build(small)
        assert done.returncode == 1
        assert "notebooks/b.ipynb" in done.stderr
        assert "ZeroDivisionError" in done.stderr


def test_learner_s_cell_without_stored_outputs_is_named(small: Path) -> None:
    cell = {"cell_type": "code", "id": "b", "metadata": {}, "source": "1 + 1"}
    cell |= {"outputs": [], "execution_count": None}
    changed = NOTEBOOK | {"cells": [*NOTEBOOK["cells"], cell]}
    (small / "notebooks" / "a.ipynb").write_text(json.dumps(changed), encoding="utf-8")
    done = build(small)
    assert done.returncode == 2
    assert done.stderr.startswith("notebooks/a.ipynb: no executed cell of its solutions is")
    assert "`1 + 1`: run `make notebooks`" in done.stderr


def test_absent_page_is_named(small: Path) -> None:
    (small / "notebooks" / "a.ipynb").unlink()
    done = build(small)
    assert done.returncode == 2
    assert done.stderr == "book.yml names files that are not there: notebooks/a.ipynb\n"


def test_instructor_s_edition_is_solved_and_launches_where_book_yml_says(small: Path) -> None:
    config = small / "book.yml"
    launch = """  github: https://github.com/owner/name
  options:
    launch:
      binderhub_url: "https://mybinder.org"
      colab_url: "https://colab.org"
      jupyterhub_url: "https://hub.org"
"""
    config.write_text(config.read_text().replace("project:\n", f"project:\n{launch}", 1))
    assert build(small, "--edition", "instructor").returncode == 0
    site = small / "_build/html-instructor"
    shown = (site / "notebooks/a.html").read_text()
    assert "Solved." in shown
    assert "https://mybinder.org/v2/gh/owner/name/main?urlpath=lab/tree/notebooks/a.ipynb" in shown
    assert "https://colab.org/github/owner/name/blob/gh-pages/colab/a.ipynb" in shown
    assert (site / "colab/a.ipynb").is_file()
    assert "https://hub.org/hub/user-redirect/git-pull?" in shown
    assert "urlpath=lab/tree/name/notebooks/a.ipynb" in shown
    assert "https://github.com/owner/name/edit/main/solutions/a.py" in shown
    assert "https://github.com/owner/name/issues/new?" in shown
    front = (site / "index.html").read_text()
    assert "https://github.com/owner/name/edit/main/book/index.md" in front
    assert "fa-rocket" not in front
