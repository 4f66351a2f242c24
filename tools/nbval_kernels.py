"""pytest plugin: nbval runs a notebook in the surroundings in which the builder executed it.

    python -m pytest -p tools.nbval_kernels --nbval --nbval-current-env solutions/*.ipynb

Every notebook's kernel gets one thread (or NOTEBOOK_THREADS), a progress file of its own that
nobody keeps, and no settings of the person at the machine. Without this, what one notebook records
shows in the next, and the outputs are not those that were stored. The time that a progress bar took
is left out of the comparison, as it is left out of what is stored, and so is the length of the bar,
which gives way to the time. Of figures nothing is compared, neither the light nor the dark picture.
Cells that need the released model are not compared where its file is not, and a warning says so.
The chapter that runs longest comes first, so that no core waits for it at the end.
With `--nbval-lax`, which compares nothing, no training takes more than 20 steps: the kernel
shortens the loop by itself.
"""

import json
import os
import re
import shutil
import tempfile
import warnings
from pathlib import Path

import pytest

from course_utils.dark_figures import MIME
from course_utils.environment import ROOT
from course_utils.model_file import MISSING, model_path
from course_utils.plotting import WANTS_TWINS
from tools.notebooks.outputs import BAR_TIMING
from tools.notebooks.run import kernel_environment

_scratch = pytest.StashKey[Path]()
# Run by a kernel before its first cell: the training loop counts its steps with a shorter `range`.
SHORT_TRAINING = """\
from course_utils.models.training import loop as training
training.range = lambda steps: range(min(steps, 20))
del training
"""


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder that holds what the kernels write, for as long as the tests run."""
    folder = tempfile.mkdtemp(prefix="attention-course-")
    config.stash[_scratch] = Path(folder)
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the notebooks; compare no outputs of the released model where there is none to run."""
    seconds = json.loads((ROOT / "book" / "running.json").read_text(encoding="utf-8"))
    items.sort(key=lambda item: -seconds.get(item.path.stem, 0))
    sources = [(item, getattr(getattr(item, "cell", None), "source", "")) for item in items]
    needing = [item for item, source in sources if re.search("^@with_model", source, re.MULTILINE)]
    if needing and not model_path().exists():
        warnings.warn(f"{len(needing)} cells are not compared. {MISSING}", stacklevel=1)
        for item in needing:
            vars(item)["options"] = {**vars(item)["options"], "check": False}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Set the surroundings before the first cell of a notebook starts its kernel."""
    notebook = item.parent
    if notebook is not None and getattr(notebook, "kernel", notebook) is None:
        own = tempfile.mkdtemp(dir=item.config.stash[_scratch])
        os.environ.update(kernel_environment(Path(own)))
        os.environ[WANTS_TWINS] = ""  # nobody looks at them
        if item.config.option.nbval_lax:
            startup = Path(os.environ["IPYTHONDIR"]) / "profile_default" / "startup"
            startup.mkdir(parents=True)
            (startup / "short_training.py").write_text(SHORT_TRAINING, encoding="utf-8")
        if skipped := getattr(notebook, "skip_compare", ()):
            vars(notebook)["skip_compare"] = (*skipped, MIME)  # as the light picture is
        patterns: dict[str, str] = getattr(notebook, "sanitize_patterns", {})
        patterns |= {BAR_TIMING.pattern: "", "█+": "█"}
