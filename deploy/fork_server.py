"""Start learners' servers and kernels as forks of one process that has imported what all need.

    python deploy/fork_server.py FOLDER

A fork shares with all others the memory that it does not change, and imports nothing again. Whoever
connects to FOLDER/forks (deploy/forked.py does) is told apart by the system's number of its user: a
learner gets kernels, behind that learner's own walls; root also gets a learner's server. Signals
come by the connection, the exit status goes back; where it is closed, the fork is killed, and all
of them where this process ends. Only for a hub of root's: others' learners share one number.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Any

import numpy
from walled import enclose

SOCKET = "forks"
LONGEST = 2**18  # bytes of a request
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NAME = 1, 4, 15
IMPORTED = (
    *("debugpy", "ipykernel.kernelapp", "ipywidgets", "jedi", "jupyterhub.singleuser.extension"),
    *("jupyterlab.labapp", "jupyterlab_jupytext", "matplotlib.pyplot", "seaborn"),
    *("nbgrader.server_extensions.assignment_list", "torch", "torch._dynamo"),
)


def import_all() -> None:
    """Import the course and what it stands on, and keep it out of the way of garbage collection."""
    import course_utils

    for name in IMPORTED:
        importlib.import_module(name)
    for one in pkgutil.walk_packages(course_utils.__path__, "course_utils."):
        if not one.name.endswith("__main__"):
            importlib.import_module(one.name)
    gc.collect()
    gc.freeze()


def user(connection: socket.socket) -> int:
    """Return the number of the user at the other end."""
    given = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", given)[1])


def next_fork(place: Path) -> tuple[int, bytes, list[int]]:
    """Listen, and fork for each request: only the forks return.

    Returns:
        The number of the user who asks, the request, and its standard files.
    """
    place.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(place))
    place.chmod(0o666)
    listener.listen(128)
    waiting: set[socket.socket] = set()
    forks: dict[int, socket.socket] = {}
    while True:
        ready = select.select([listener, *waiting, *forks.values()], [], [], 0.2)[0]
        for fork, connection in forks.items():
            if connection in ready:
                with contextlib.suppress(OSError):  # it has ended, or is no group yet
                    os.killpg(fork, (connection.recv(1) or bytes([signal.SIGKILL]))[0])
        for connection in waiting.intersection(ready):
            waiting.remove(connection)
            try:
                request, files, *_ = socket.recv_fds(connection, LONGEST, 3)
            except OSError:
                request = b""
            if not request:
                connection.close()
            elif fork := os.fork():
                forks[fork] = connection
                for file in files:
                    os.close(file)
            else:
                asker = user(connection)
                for other in (listener, connection, *waiting, *forks.values()):
                    other.close()
                return asker, request, files
        if listener in ready:
            waiting.add(listener.accept()[0])
        while forks and (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with contextlib.suppress(OSError):
                forks[ended[0]].send(bytes([os.waitstatus_to_exitcode(ended[1]) % 256]))
            forks.pop(ended[0]).close()


def become(folder: Path, asker: int, asked: dict[str, Any], files: list[int]) -> None:
    """Go on as what was asked for, behind the walls of the learner whose it is."""
    what, given = asked["command"][0], asked["command"][1:]
    number = int(given.pop(0)) if (asker, what) == (0, "server") else asker
    (home,) = (one for one in (folder / "homes").iterdir() if one.stat().st_uid == number)
    os.setsid()
    for place, file in enumerate(files):
        os.dup2(file, place)
        os.close(file)
    enclose(folder, number, home)
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_NAME, f"course-{what}".encode())
    libc.prctl(PR_SET_DUMPABLE, 1)  # its own files below /proc are its own again
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a hub in the background ignores it
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    if what == "kernel":
        from ipykernel.kernelapp import IPKernelApp

        numpy.random.seed()  # noqa: NPY002  (nobody draws what another draws)
        app = IPKernelApp.instance()
        # Not a parent to watch, 1: the connection is.
        app.initialize(["-f", given[0], "--IPKernelApp.parent_handle=1"])
        # What a cell has freed goes back to the system at once: hundreds of MiB in some chapters.
        app.shell.events.register("post_run_cell", lambda _: libc.malloc_trim(0))
        app.start()
    else:
        from jupyterhub.singleuser import main

        sys.argv = ["jupyterhub-singleuser", *given]
        main()


if __name__ == "__main__":
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # read when imported
    folder = Path(sys.argv[1])
    import_all()
    asker, request, files = next_fork(folder / SOCKET)
    become(folder, asker, json.loads(request), files)
