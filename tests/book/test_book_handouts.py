"""Test what a page hands out, and where it says that one can launch, edit or complain."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from zipfile import ZipFile

import nbformat
import pytest

from book import handouts
from course_utils.environment import read_pins
from tests.book.book_support import ROOT, TOC
from tools.alone import build_wheel

# Colab as far as the first cell knows it: its module, and a pip that brings the course's wheel.
COLAB = """
import json, sys, types
from IPython.core.interactiveshell import InteractiveShell

wheel, *cells = json.load(sys.stdin)
shell = InteractiveShell.instance()
shell.register_magic_function(
    lambda line: sys.path.append(wheel) if "git+https:" in line else None, "line", "pip"
)
colab = types.ModuleType("google.colab")
colab.output = types.SimpleNamespace(enable_custom_widget_manager=lambda: print("widgets enabled"))
sys.modules |= {"google": types.ModuleType("google"), "google.colab": colab}
for cell in cells:
    shell.run_cell(cell).raise_error()
print(sys.modules["course_utils"].__file__)
"""
LAUNCH = {
    "binderhub_url": "https://mybinder.org",
    "colab_url": "https://colab.research.google.com/",
    "jupyterhub_url": "https://hub.example.org",
}
SETTINGS = {
    "github": "https://github.com/owner/name",
    "options": {"launch": LAUNCH},
    "toc": TOC,
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository that says where it is, with one chapter."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "book.yml").write_text(
        "project:\n  github: https://github.com/owner/name\n"
        "  options: {launch: {colab_url: https://colab.org, branch: 2026}}\n"
        "  toc: [{file: notebooks/03_scaled_dot_product.ipynb}]\n",
        encoding="utf-8",
    )
    for folder in ("notebooks", "solutions"):
        (tmp_path / folder).mkdir()
        shutil.copy(ROOT / folder / "03_scaled_dot_product.ipynb", tmp_path / folder)
    return tmp_path


def test_colab_installs_the_course_before_the_first_code(repository: Path) -> None:
    notebook = nbformat.read(repository / "notebooks" / "03_scaled_dot_product.ipynb", 4)
    shown = handouts.for_colab(notebook, repository)
    code = [cell.source for cell in shown.cells if cell.cell_type == "code"]
    assert code[1:] == [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert '"git+https://github.com/owner/name@2026"' in code[0]
    assert f"anywidget=={read_pins(ROOT)['anywidget']}" in code[0]
    assert "torch==" not in code[0]
    nbformat.validate(shown)


def test_colab_s_links_lead_to_its_own_notebooks_and_to_the_repository(repository: Path) -> None:
    notebook = nbformat.read(repository / "notebooks" / "03_scaled_dot_product.ipynb", 4)
    shown = handouts.for_colab(notebook, repository)
    prose = "\n".join(cell.source for cell in shown.cells if cell.cell_type == "markdown")
    own = "https://colab.org/github/owner/name/blob/gh-pages/colab"
    assert f"**Next**: [chapter 04]({own}/04_queries_keys_values.ipynb) " in prose
    assert "[glossary](https://github.com/owner/name/blob/2026/book/glossary.md)" in prose
    assert not re.search(r"\]\((?!https?:)[\w./]+\.(ipynb|md)\)", prose)


def test_colab_s_cell_does_nothing_elsewhere(repository: Path) -> None:
    from IPython.core.inputtransformer2 import TransformerManager

    notebook = nbformat.read(repository / "notebooks" / "03_scaled_dot_product.ipynb", 4)
    shown = handouts.for_colab(notebook, repository)
    cell = next(cell for cell in shown.cells if cell.cell_type == "code")
    names: dict[str, object] = {}
    exec(compile(TransformerManager().transform_cell(cell.source), "cell", "exec"), names)
    assert set(names) == {"__builtins__", "sys"}


@pytest.mark.thorough
def test_in_colab_the_first_cell_brings_the_course(repository: Path) -> None:
    notebook = nbformat.read(repository / "notebooks" / "03_scaled_dot_product.ipynb", 4)
    shown = handouts.for_colab(notebook, repository)
    cells = [cell.source for cell in shown.cells if cell.cell_type == "code"][:2]
    wheel = repository / "wheel"
    ZipFile(build_wheel(repository)).extractall(wheel)
    # No .pth file is read of a folder on PYTHONPATH: packages are found, the course is not.
    packages = os.environ | {"PYTHONPATH": sysconfig.get_path("purelib")}
    done = subprocess.run(
        [sys._base_executable, "-c", COLAB], cwd=repository, env=packages,
        input=json.dumps([str(wheel), *cells]), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "widgets enabled" in done.stdout
    assert done.stdout.splitlines()[-1] == str(wheel / "course_utils" / "__init__.py")


def test_colab_s_cell_brings_what_the_course_imports() -> None:
    # Colab has torch, numpy and what else data scientists use; the rest must be named.
    there = {"torch", "numpy", "matplotlib", "seaborn", "tqdm", "ipykernel", "ipywidgets"}
    there |= {"scipy", "scikit-learn", "jinja2", "pyyaml", "safetensors", "triton"}
    only_tools = {"jupyterlab", "jupytext"}
    assert set(handouts.LACKING) == set(read_pins(ROOT)) - there - only_tools


@pytest.mark.parametrize("edition", ["learner", "instructor"])
def test_downloads_are_the_notebooks_as_they_lie_there(repository: Path, edition: str) -> None:
    out = repository / "out"
    (out / "notebooks").mkdir(parents=True)
    (out / "_sources" / "notebooks").mkdir(parents=True)
    handouts.put(repository, out, edition)
    name = "notebooks/03_scaled_dot_product.ipynb"
    own = name if edition == "learner" else name.replace("notebooks", "solutions")
    assert (out / name).read_bytes() == (repository / name).read_bytes()
    assert (out / "_sources" / name).read_bytes() == (repository / own).read_bytes()
    assert (out / "colab" / "03_scaled_dot_product.ipynb").is_file()


def test_addresses_of_colab_and_of_the_source() -> None:
    chapter = "notebooks/03_scaled_dot_product"
    assert handouts.colab_address(SETTINGS, chapter) == (
        "https://colab.research.google.com/github/owner/name/blob/gh-pages/colab/"
        "03_scaled_dot_product.ipynb"
    )
    edit = "https://github.com/owner/name/edit/main"
    assert handouts.edit_address(SETTINGS, chapter) == f"{edit}/solutions/03_scaled_dot_product.py"
    assert handouts.edit_address(SETTINGS, "glossary") == f"{edit}/book/glossary.md"
    assert handouts.edit_address(SETTINGS, "search") is None
