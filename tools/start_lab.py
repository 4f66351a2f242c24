"""Open JupyterLab on the course's first page, and say in one line where it is."""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import FrameType

import nbformat
from nbformat.sign import NotebookNotary

from course_utils.environment import ROOT

FIRST_PAGE = "notebooks/00_start_here.ipynb"
SETTINGS = ROOT / "tools" / "jupyter"
FIRST_PORT = 8888
PATIENCE_SECONDS = 120


class StartError(Exception):
    """Something that the reader has to mend; the message is all that is shown."""


def is_free(port: int) -> bool:
    """Return whether a server may listen on this port of this machine."""
    with socket.socket() as probe:
        if os.name != "nt":  # as the server itself does; on Windows it would take busy ports
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def choose_port(wanted: str) -> int:
    """Return the port to serve on: the one that is wanted, or the first free one from 8888.

    Raises:
        StartError: The wanted one is not a port or is busy, or a hundred in a row are busy.
    """
    if wanted:
        if not wanted.isdecimal() or not 1024 <= int(wanted) <= 65535:
            raise StartError(f"PORT must be a number from 1024 to 65535, got {wanted}.")
        if not is_free(int(wanted)):
            raise StartError(
                f"Port {wanted} is busy: another program listens there.\n"
                "Name another (make learn PORT=9000), or leave PORT out: then a free one is taken."
            )
        return int(wanted)
    for port in range(FIRST_PORT, FIRST_PORT + 100):
        if is_free(port):
            if port != FIRST_PORT:
                print(f"Port {FIRST_PORT} is busy; taking {port}.")
            return port
    raise StartError("No port from 8888 to 8987 is free. Name one: make learn PORT=9000")


def lab_command(port: int, browser: bool) -> list[str]:
    """Return the command that serves the course without asking anything of the network."""
    command = [
        sys.executable, "-m", "jupyterlab",
        "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={ROOT}", f"--LabApp.default_url=/lab/tree/{FIRST_PAGE}",
        "--ServerApp.answer_yes=True", "--log-level=ERROR", "--LabApp.log_level=ERROR",
        "--LabApp.extension_manager=readonly", "--KernelManager.transport_encryption=auto",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        # Where nbgrader is installed, its panels would warn that this is not the folder of a class.
        *(f"--ServerApp.jpserver_extensions=nbgrader.server_extensions.{part}=False"
          for part in ("formgrader", "validate_assignment", "assignment_list", "course_list")),
    ]  # fmt: skip
    if not browser:
        command.append("--ServerApp.open_browser=False")
    if os.name != "nt" and os.geteuid() == 0:  # in a container
        command.append("--ServerApp.allow_root=True")
    return command


def wait_until_up(server: subprocess.Popen[bytes], port: int) -> None:
    """Return as soon as the server answers; StartError where it stops or stays silent."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise StartError(
                f"JupyterLab stopped at once (exit status {server.returncode}); what it said is "
                "above.\nTo see what is missing: .venv/bin/python -m course_utils doctor"
            )
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise StartError(f"JupyterLab did not answer within {PATIENCE_SECONDS} seconds.")


def lab_environment(token: str) -> dict[str, str]:
    """Return JupyterLab's variables: its own `python` first on PATH, the course's settings."""
    own, given = str(Path(sys.executable).parent), os.environ
    settings = os.pathsep.join(filter(None, [str(SETTINGS), given.get("JUPYTER_CONFIG_PATH")]))
    return {
        **given,
        "PATH": os.pathsep.join([own, given.get("PATH", "")]),
        "JUPYTER_CONFIG_PATH": settings,
        "JUPYTER_TOKEN": token,
    }


def trust_solutions() -> None:
    """Sign the course's own executed notebooks: JupyterLab shows no stored widget without it."""
    notary = NotebookNotary()
    for path in sorted((ROOT / "solutions").glob("*.ipynb")):
        notary.sign(nbformat.read(path, as_version=4))


def serve(port: int, browser: bool) -> None:
    """Run JupyterLab until it is stopped."""
    trust_solutions()
    token = os.environ.get("JUPYTER_TOKEN") or secrets.token_hex(16)
    command = lab_command(port, browser)
    with subprocess.Popen(command, env=lab_environment(token)) as server:
        try:
            wait_until_up(server, port)
            page = f"http://127.0.0.1:{port}/lab/tree/{FIRST_PAGE}?token={token}"
            print(f"\nThe course is open at\n\n    {page}\n\nCtrl+C here stops it.", flush=True)
            server.wait()
        except KeyboardInterrupt:
            print("\nStopping.", flush=True)
        finally:
            if server.poll() is None:
                server.terminate()


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; the exit status is 1 where a sentence says what is wrong."""
    parser = argparse.ArgumentParser(description="Open JupyterLab on the course's first page.")
    parser.add_argument("--browser", default="", help="none: do not open one")
    parser.add_argument("--port", default="", help="the port to serve on; default: a free one")
    given = parser.parse_args(arguments)

    def stop(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    try:
        if not (ROOT / FIRST_PAGE).exists():
            raise StartError(f"{FIRST_PAGE} is missing; `make notebooks` builds it.")
        serve(choose_port(given.port), browser=given.browser.lower() != "none")
    except StartError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
