"""Learners' servers and kernels are forks of one process, and behave as any others."""

import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.laws.deploy.classroom import NEEDS, Class, opened, process_numbers, until
from tools.hub_client import Account, Kernel

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(os.getuid() != 0, reason="only a hub of root's forks"),
    *NEEDS,
]
PAGE = "notebooks/05_multi_head.ipynb"
ASK = """\
import json, os, socket
asked = {asked!r}
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect(os.environ["COURSE_HUB"] + "/forks")
    socket.send_fds(server, [asked.encode()], [0, 1, 2])
    print(*server.recv(1))
"""


@pytest.fixture(scope="module")
def hub() -> Iterator[Class]:
    with opened("05_multi_head", SECRET_OF_ROOT="4711") as running:
        yield running


@pytest.fixture(scope="module")
def ada(hub: Class) -> Account:
    return hub.account("learner01")


@pytest.fixture
def kernel(ada: Account) -> Iterator[Kernel]:
    with ada.kernel(PAGE) as one:
        yield one


def fork_server(hub: Class) -> psutil.Process | None:
    ours = psutil.Process(hub.process.pid).children()
    return next((one for one in ours if "fork_server.py" in " ".join(one.cmdline())), None)


@pytest.fixture
def parent(hub: Class) -> psutil.Process:
    found = fork_server(hub)
    assert found is not None
    return found


def test_they_share_what_was_imported(parent: psutil.Process, kernel: Kernel) -> None:
    for number, name in zip(process_numbers(kernel), ("kernel", "server"), strict=True):
        one = psutil.Process(number)
        assert (one.name(), one.ppid(), one.uids().real) == (f"course-{name}", parent.pid, 70_001)
        held_by = Path(f"/proc/{number}/smaps_rollup").read_text()
        rows = [line.split() for line in held_by.splitlines()]
        held = {row[0]: int(row[1]) for row in rows[1:]}
        assert held["Shared_Dirty:"] > 2 * held["Private_Dirty:"]
    told = kernel.run("import sys\nprint('torch' in sys.modules, 'course_utils' in sys.modules)")
    assert told.text == "True True\n"


def test_its_place_is_the_learner_s_and_it_draws(kernel: Kernel) -> None:
    told = kernel.run("import os\nprint(os.environ['JUPYTERHUB_USER'], os.getcwd())")
    home = kernel.run("import os\nprint(os.environ['HOME'])").text.strip()
    assert told.text == f"learner01 {home}/notebooks\n"
    drawn = kernel.run("from matplotlib import pyplot as plt\nfigure = plt.plot([1, 2])")
    assert drawn.text == "<Figure size 640x480 with 1 Axes>"


def test_kernels_draw_different_numbers(ada: Account) -> None:
    ask = "import random, numpy, uuid\nprint(random.random(), numpy.random.rand(), uuid.uuid4())"
    seen: list[str] = []
    for place in range(2):
        with ada.kernel(f"notebooks/drawn{place}.ipynb") as one:
            seen += one.run(ask).text.split()
    assert len({*seen}) == 6


def test_it_is_interrupted_started_again_and_ended(ada: Account, kernel: Kernel) -> None:
    first, _ = process_numbers(kernel)
    assert kernel.run("import os\nos.kill(os.getpid(), 2)").error.startswith("KeyboardInterrupt")
    ada.asked("POST", f"api/kernels/{kernel.name}/restart")
    until(lambda: not psutil.pid_exists(first))
    with ada.kernel(PAGE) as again:
        second, _ = process_numbers(again)
        assert second != first
    for session in ada.asked("GET", "api/sessions"):
        ada.server("DELETE", f"api/sessions/{session['id']}")
    until(lambda: not psutil.pid_exists(second))


def test_a_loop_hears_of_the_interruption(ada: Account, kernel: Kernel) -> None:
    home = kernel.run("print(__import__('os').getcwd())").text.strip()
    begun = Path(home) / "begun"

    def interrupt() -> None:
        until(begun.exists)
        ada.server("POST", f"api/kernels/{kernel.name}/interrupt")

    threading.Thread(target=interrupt).start()
    ran = kernel.run("open('begun', 'w').close()\nwhile True:\n    pass")
    assert ran.error.startswith("KeyboardInterrupt")
    assert kernel.run("print(1)").text == "1\n"


def test_memory_of_a_fork_holds_no_secret(kernel: Kernel) -> None:
    first = kernel.run("print(open('/proc/self/environ').read())").text
    assert "COURSE_HUB=" in first
    assert "4711" not in first
    assert "TOKEN" not in first


def test_a_learner_gets_nobody_else_s_server(parent: psutil.Process, kernel: Kernel) -> None:
    before = {one.pid for one in parent.children()}
    environment = {"HOME": "/", "PATH": "/usr/bin"}
    asked = {"command": ["server", "70002"], "folder": "/", "environment": environment}
    kernel.run(ASK.format(asked=json.dumps(asked)))
    for one in parent.children():
        assert one.pid in before or one.uids().real == 70_001
    until(lambda: {one.pid for one in parent.children()} <= before)


@pytest.mark.parametrize("asked", ["", "{", '{"command": []}', "[1]", "\0" * 9])
def test_a_request_without_sense_harms_nobody(
    hub: Class, parent: psutil.Process, kernel: Kernel, asked: str
) -> None:
    if asked:
        kernel.run(ASK.format(asked=asked))
    else:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
            server.connect(str(hub.folder / "forks"))
    assert fork_server(hub) == parent
    assert kernel.run("print(1)").text == "1\n"


def test_nothing_is_lost_when_the_fork_server_is_killed(hub: Class, parent: psutil.Process) -> None:
    ben = hub.account("learner02")
    notebook = ben.read(PAGE)
    notebook["cells"][0]["source"] = "# mine"
    ben.save(PAGE, notebook)
    place = hub.folder / "forks"
    made = place.stat().st_mtime_ns
    parent.send_signal(signal.SIGKILL)
    until(lambda: place.stat().st_mtime_ns != made)
    until(lambda: not ben.server("GET", "api/status").ok)
    ben = hub.account("learner02")
    assert ben.read(PAGE)["cells"][0]["source"] == "# mine"
    with ben.kernel(PAGE) as one:
        number, _ = process_numbers(one)
    again = fork_server(hub)
    assert again is not None
    assert again != parent
    assert psutil.Process(number).ppid() == again.pid
