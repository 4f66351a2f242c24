"""Open JupyterLab where the learner stopped, on a copy of their own, and say what is next.

The copies are in `work/` (see `work_copies`). Before the first exercise it is the first page.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import nbformat
from jupyterlab.commands import get_workspaces_dir
from jupyterlab.labapp import LabApp
from jupyterlab_server.workspaces_handler import WorkspacesManager
from nbformat.sign import NotebookNotary

from course_utils.environment import ROOT, is_busy
from course_utils.place import find_place
from tools import work_copies

FIRST_PAGE = "00_start_here"
FIRST_PORT = 8888
WORKSPACE = "default"  # JupyterLab's own name for the one that it opens
SETTINGS = [  # nothing is asked of the network
    "--ServerApp.ip=127.0.0.1", f"--ServerApp.root_dir={ROOT}",
    "--ServerApp.answer_yes=True",
    "--log-level=ERROR", "--LabApp.log_level=ERROR", "--ServerApp.allow_root=True",  # a container
    "--LabApp.extension_manager=readonly", "--KernelManager.transport_encryption=auto",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    # Where nbgrader is installed, its panels would warn that this is not the folder of a class.
    *(f"--ServerApp.jpserver_extensions=nbgrader.server_extensions.{part}=False"
      for part in ("formgrader", "validate_assignment", "assignment_list", "course_list")),
]  # fmt: skip


def port(wanted: str) -> int:
    """Return the port that is asked for, 0 where none is."""
    if wanted and not (wanted.isdecimal() and 1024 <= int(wanted) <= 65535):
        raise argparse.ArgumentTypeError(f"must be from 1024 to 65535, got {wanted}")
    if wanted and is_busy(int(wanted)):
        raise argparse.ArgumentTypeError(
            f"{wanted} is busy: another program listens there.\n"
            "Name another (make learn PORT=9000), or leave PORT out: then a free one is taken."
        )
    return int(wanted or 0)


def put_in_place(token: str) -> None:
    """Set JupyterLab's variables, and sign the course's own executed notebooks.

    Its kernels find the course's `python` first on PATH. Without a signature no stored widget
    is shown.
    """
    jupyter = ROOT / "tools" / "jupyter"
    settings = os.pathsep.join(map(str, (jupyter, jupyter / "without_class")))
    own = str(Path(sys.executable).parent)
    for name, first in (("PATH", own), ("JUPYTER_CONFIG_PATH", settings)):
        os.environ[name] = os.pathsep.join(filter(None, [first, os.environ.get(name)]))
    os.environ["JUPYTER_TOKEN"] = token
    notary = NotebookNotary()
    for path in sorted((ROOT / "solutions").glob("*.ipynb")):
        notary.sign(nbformat.read(path, as_version=4))


def widen_file_list() -> None:
    """Show the chapters' whole names in JupyterLab's file list, where it keeps no layout yet."""
    left = {"visible": True, "collapsed": False, "current": "filebrowser"}
    layout = {"left": {**left, "widgets": ["filebrowser"]}, "relativeSizes": [0.24, 0.76, 0]}
    kept = {"data": {"layout-restorer:data": layout}, "metadata": {"id": WORKSPACE}}
    folder = Path(get_workspaces_dir())
    if not any(folder.glob(f"{WORKSPACE}-*")):
        with suppress(OSError):  # then it is as narrow as JupyterLab makes it
            WorkspacesManager(str(folder)).save(WORKSPACE, json.dumps(kept))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(usage="make learn", description=__doc__)
    parser.add_argument("--browser", default="", help="none: do not open one")
    parser.add_argument("--port", default="", type=port, help="default: a free one")
    given = parser.parse_args()
    if not (ROOT / "notebooks" / f"{FIRST_PAGE}.ipynb").exists():
        sys.exit(f"notebooks/{FIRST_PAGE}.ipynb is missing; `make notebooks` builds it.")
    try:
        changed = work_copies.renew(ROOT)
    except OSError as error:
        sys.exit(f"Your copies of the notebooks cannot be written: {error}")
    place = find_place()
    page = f"{work_copies.FOLDER}/{place.page or FIRST_PAGE}.ipynb"
    token = os.environ.get("JUPYTER_TOKEN") or secrets.token_hex(16)
    put_in_place(token)
    widen_file_list()
    server = LabApp.initialize_server(
        [
            *SETTINGS,
            f"--LabApp.default_url=/lab/tree/{page}",
            f"--ServerApp.port={given.port or FIRST_PORT}",
            f"--ServerApp.port_retries={0 if given.port else 100}",
            f"--ServerApp.open_browser={given.browser.lower() != 'none'}",
        ]
    )
    if server.port != (given.port or FIRST_PORT):
        print(f"Port {FIRST_PORT} is busy; taking {server.port}.")
    address = f"http://127.0.0.1:{server.port}/lab/tree/{page}?token={token}"
    said = [*changed, "", "The course is open at", "", f"    {address}", "", str(place)]
    said.append("Ctrl+C here stops it.")
    server.io_loop.add_callback(partial(print, "\n".join(said), flush=True))
    server.start()


if __name__ == "__main__":
    main()
