"""Stand for a learner's server or kernel that is forked from what all share.

    python deploy/forked.py server NUMBER         for jupyterhub_config.py
    python deploy/forked.py kernel CONNECTION     for learner/kernels/python3/kernel.json

It hands on its environment, standard files and signals, and ends as the fork ends. Where no fork
server answers, it becomes an ordinary server or kernel.
"""

import json
import os
import select
import signal
import socket
import sys
from pathlib import Path

FOLDER = os.environ["COURSE_HUB"]


def main() -> None:
    """Ask, and wait for the end."""
    what, given = sys.argv[1], sys.argv[2:]
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    asked = {"command": sys.argv[1:], "folder": str(Path.cwd()), "environment": dict(os.environ)}
    try:
        server.connect(f"{FOLDER}/forks")
        socket.send_fds(server, [json.dumps(asked).encode()], [0, 1, 2])
    except OSError:
        ordinary = ["-m", "ipykernel_launcher", "-f", *given]
        if what == "server":
            walled = str(Path(__file__).with_name("walled.py"))
            ordinary = [walled, FOLDER, given[0], "jupyterhub-singleuser", *given[1:]]
        os.execv(sys.executable, [sys.executable, *ordinary])
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: server.send(bytes([number])))
    parent = int(os.environ.get("JPY_PARENT_PID", "0"))  # a kernel ends with its server
    while not select.select([server], [], [], 1)[0]:
        if parent not in (0, os.getppid()):
            sys.exit(1)
    os._exit((server.recv(1) or b"\1")[0])


if __name__ == "__main__":
    main()
