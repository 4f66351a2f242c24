"""The notebooks that a page gives away, and the addresses where one opens in somebody's cloud.

Beside each chapter's page lies the learner's notebook. `colab/` holds the same notebooks for
Google Colab, which opens a file without the repository it belongs to: their first cell installs
the course. Colab reads them from the branch of the repository that holds the published site.
"""

import copy
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbformat
from nbformat import NotebookNode

from book import contents

# What the course needs and Colab lacks. Its own torch, Jupyter and the like stay as they are: to
# replace them takes minutes and a new kernel.
LACKING = ("anywidget", "babel", "cloudpickle", "filelock", "jaxtyping", "platformdirs")
FIRST_CELL = """\
# In Google Colab this installs the course; elsewhere it does nothing.
import sys

if "google.colab" in sys.modules:
    %pip install --quiet {pins}
    %pip install --quiet --no-deps "git+{repository}@{branch}"
    from google.colab import output

    output.enable_custom_widget_manager()"""


def put(root: Path, out: Path, edition: str) -> None:
    """Put the notebooks to download beside the pages of a built site.

    Args:
        root: The repository.
        out: The site.
        edition: What a page's own download is: the learner's notebook, or the solved one.
    """
    settings = contents.project(root)
    solved = root / ("solutions" if edition == "instructor" else "notebooks")
    for file in filter(contents.is_notebook, contents.files(settings["toc"])):
        name = Path(file).name
        shutil.copyfile(root / file, out / file)
        shutil.copyfile(solved / name, out / "_sources" / file)
        if "colab_url" in _launch(settings):
            (out / "colab").mkdir(exist_ok=True)
            notebook = for_colab(nbformat.read(root / file, as_version=4), root)
            nbformat.write(notebook, out / "colab" / name)


def for_colab(notebook: NotebookNode, root: Path) -> NotebookNode:
    """Return a notebook with one more cell before its first code, which installs the course."""
    from course_utils.environment import read_pins

    settings, pins = contents.project(root), read_pins(root)
    source = FIRST_CELL.format(
        pins=" ".join(f"{name}=={pins[name]}" for name in LACKING),
        repository=settings["github"],
        branch=branch(settings),
    )
    shown: NotebookNode = copy.deepcopy(notebook)
    for cell in shown.cells:
        if cell.cell_type == "markdown":
            cell.source = _with_addresses(cell.source, settings)
    code = (i for i, cell in enumerate(shown.cells) if cell.cell_type == "code")
    first = next(code, len(shown.cells))
    shown.cells.insert(first, nbformat.v4.new_code_cell(source, id="install-the-course"))
    return shown


def _with_addresses(prose: str, settings: dict[str, Any]) -> str:
    """Return prose whose links to other notebooks and pages lead to where Colab finds them."""
    prose = re.sub(
        r"\]\((\d\d_\w+)\.ipynb\)",
        lambda found: f"]({colab_address(settings, f'notebooks/{found[1]}')})",
        prose,
    )
    source = f"{settings['github'].rstrip('/')}/blob/{branch(settings)}"
    return prose.replace("](../book/", f"]({source}/book/")


def branch(settings: dict[str, Any]) -> str:
    """Return the repository's branch that holds the course."""
    return str(_launch(settings).get("branch", "main"))


def _launch(settings: dict[str, Any]) -> dict[str, Any]:
    return settings.get("options", {}).get("launch", {})


def colab_address(settings: dict[str, Any], page: str) -> str:
    """Return where Colab opens a page's notebook: in the branch that holds the published site."""
    launch = _launch(settings)
    owner_and_name = settings["github"].rstrip("/").removeprefix("https://github.com/")
    site = quote(str(launch.get("site_branch", "gh-pages")))
    name = page.removeprefix("notebooks/")
    return (
        f"{launch['colab_url'].rstrip('/')}/github/{owner_and_name}/blob/{site}/colab/{name}.ipynb"
    )


def edit_address(settings: dict[str, Any], page: str) -> str | None:
    """Return where a page's source can be edited; a chapter's source is a script of `solutions/`.

    None where the page has none, such as the search.
    """
    files = {contents.docname(file): file for file in contents.files(settings["toc"])}
    if page not in files:
        return None
    file = files[page]
    if contents.is_notebook(file):
        file = f"solutions/{Path(file).stem}.py"
    return f"{settings['github'].rstrip('/')}/edit/{branch(settings)}/{file}"
