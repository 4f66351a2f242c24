"""Serve the course to a class of made-up accounts on this machine, until Ctrl+C.

    python -m tools.hub_demo                         30 learners, in a folder that is thrown away
    python -m tools.hub_demo --accounts 3 --port 9000
    python -m tools.hub_demo --folder DIR            in a folder that is kept, and found again

Chapters 03 and 05 are handed out. The hub listens on this machine only; passwords and keys are
made at the start. All learners read one copy of the released model, if its file is there, and
share its weights in memory, if they have been converted: `python -m course_utils model --convert`.
As root, every learner is a user of the system with a number of its own; else all are you, kept
apart by the kernel's Landlock, and have no terminals.

Exit status: 0 when it was ended, 1 when it could not start.
"""

import argparse
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

from course_utils.environment import ROOT, free_port, is_busy
from course_utils.grading.walls import landlock
from course_utils.model_file import ELSEWHERE, model_path
from tools.grade_demo import DemoError, nbgrader, with_own_programs
from tools.orphans import adopt_orphans, children

CHAPTERS = ("03_scaled_dot_product", "05_multi_head")
LEARNERS = 30
LONGEST_FOLDER = 36  # a kernel's sockets lie in the homes, and their paths have at most 107 bytes
MODES = {  # of the folders that are made
    "": 0o711,
    "homes": 0o711,
    "hub": 0o700,
    "python": 0o755,
    "course": 0o700,
    "exchange": 0o777,
    "exchange/attention": 0o755,
    "exchange/attention/outbound": 0o755,
    "exchange/attention/inbound": 0o733,
    "exchange/attention/feedback": 0o711,
}
SAVING = {  # of memory and processors, in what belongs to learners
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": "4194304",  # a large tensor's memory goes back when it is freed
    "MALLOC_TRIM_THRESHOLD_": "16777216",
    "OMP_NUM_THREADS": "1",  # nobody takes all processors
}
# Milliseconds for which the proxy keeps a connection without requests. After five seconds, Node's
# own limit, a busy proxy closes one that has just brought a request, and the request is lost.
KEPT = "600000"
PROXY = ROOT / "node_modules" / ".bin" / "configurable-http-proxy"


class Hub:
    """A hub in a folder: its accounts, its ports, its process.

    Args:
        folder: Where everything is kept; what is there already stays.
        learners: How many accounts there are besides the instructor's.
        port: Where it listens; 0 means a free one.
    """

    def __init__(self, folder: Path, learners: int, port: int = 0) -> None:
        self.folder = folder
        names = ["instructor", *(f"learner{i:02d}" for i in range(1, learners + 1))]
        self.accounts = {name: secrets.token_urlsafe(9) for name in names}
        self.ports = [port or free_port(), free_port(), free_port()]
        self.address = f"http://127.0.0.1:{self.ports[0]}"
        self.hub: subprocess.Popen[bytes] | None = None
        self.proxy: subprocess.Popen[bytes] | None = None
        self.forks: subprocess.Popen[bytes] | None = None
        self._key = secrets.token_hex(32)

    def make(self) -> None:
        """Fill the folder: accounts, the instructor's course, the exchange."""
        for name, mode in MODES.items():
            (self.folder / name).mkdir(exist_ok=True)
            (self.folder / name).chmod(mode)
        kept = self.folder / "accounts.json"
        if kept.exists():
            self.accounts |= json.loads(kept.read_text(encoding="utf-8"))
        kept.touch(mode=0o600)
        kept.write_text(json.dumps(self.accounts, indent=1), encoding="utf-8")
        package = self.folder / "python" / "course_utils"
        if not package.is_symlink():
            package.symlink_to(ROOT / "course_utils")

    def hand_out(self, chapter: str) -> None:
        """Make an assignment of a chapter, as it is, and release it."""
        source = self.folder / "course" / "source" / chapter
        if source.exists():
            return
        source.mkdir(parents=True)
        shutil.copy(ROOT / "solutions" / f"{chapter}.ipynb", source)
        for step in ("generate_assignment", "release_assignment"):
            nbgrader(self.folder / "course", step, chapter, **self._environment())

    def _environment(self) -> dict[str, str]:
        ports = {f"COURSE_HUB_PORT{i}": str(port) for i, port in enumerate(self.ports)}
        model = {ELSEWHERE: str(model_path().absolute())} if model_path().is_file() else {}
        return (
            ports
            | model
            | SAVING
            | {
                "COURSE_HUB": str(self.folder),
                "CONFIGPROXY_AUTH_TOKEN": self._key,
                "JUPYTER_CONFIG_PATH": str(ROOT / "deploy"),
                "PATH": with_own_programs(),
            }
        )

    def start(self) -> None:
        """Start the proxy, the hub and, as root, the fork server, each where it does not run.

        The proxy is no child of the hub's: what is open stays open while a hub is started again.
        """
        if os.getuid() == 0 and (self.forks is None or self.forks.poll() is not None):
            (self.folder / "forks").unlink(missing_ok=True)
            place = str(ROOT / "deploy" / "fork_server.py")
            # What it holds, learners can read in their forks: no secret of ours or root's.
            known = ("COURSE_HUB", ELSEWHERE, "PATH", *SAVING)
            given = {name: value for name, value in self._environment().items() if name in known}
            given |= {"HOME": "/root", "LANG": "C.UTF-8", "PYTHONPATH": f"{self.folder}/python"}
            self.forks = self._run(sys.executable, place, str(self.folder), env=given)
        public, hub, api = map(str, self.ports)
        if self.proxy is None or self.proxy.poll() is not None:
            self.proxy = self._run(
                str(PROXY), "--ip", "127.0.0.1", "--port", public, "--api-ip", "127.0.0.1",
                "--api-port", api, "--error-target", f"http://127.0.0.1:{hub}/hub/error",
                "--log-level", "warn", "--keep-alive-timeout", KEPT,
            )  # fmt: skip
        config = str(ROOT / "deploy" / "jupyterhub_config.py")
        if self.hub is None or self.hub.poll() is not None:
            self.hub = self._run(sys.executable, "-m", "jupyterhub", "-f", config)

    def wait(self) -> None:
        """Wait until the hub answers, and forks.

        Raises:
            SystemExit: It has ended; the message is what it said last.
        """
        forks = self.folder / "forks"
        while not self.answers() or (self.forks is not None and not forks.exists()):
            for one in (self.hub, self.forks):
                if one is not None and one.poll() is not None:
                    said = (self.folder / "hub" / "log").read_text(errors="replace").splitlines()
                    sys.exit("\n".join(["The hub did not start:", *said[-20:]]))
            time.sleep(0.2)

    def _run(self, *command: str, env: dict[str, str] | None = None) -> "subprocess.Popen[bytes]":
        with (self.folder / "hub" / "log").open("ab") as log:
            return subprocess.Popen(
                command, cwd=self.folder / "hub", env=env or os.environ | self._environment(),
                start_new_session=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def answers(self) -> bool:
        """Return whether the hub can be reached."""
        with suppress(OSError):
            urllib.request.urlopen(f"{self.address}/hub/health", timeout=5).close()
            return True
        return False

    def watch(self) -> None:
        """Start the hub and its proxy again where they were killed; exit where the hub gave up.

        Servers whose hub was killed are our children now: they are waited for, too.
        """
        while self.hub is not None and self.proxy is not None:
            pid, status = os.waitpid(-1, 0)
            if pid == self.hub.pid and os.WIFEXITED(status):
                sys.exit("The hub has ended; see its log.")
            if pid in (self.hub.pid, self.proxy.pid, self.forks.pid if self.forks else None):
                self.start()

    def stop(self) -> None:
        """End the hub, which ends its servers, and then whatever is left of them."""
        if self.hub is not None and self.hub.poll() is None:
            self.hub.terminate()
        patience = time.monotonic() + 60
        while left := set(children(os.getpid())):
            ended = self.hub is None or self.hub.pid not in left
            for pid in left if ended or time.monotonic() > patience else ():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            time.sleep(0.05)


def short(given: str) -> Path:
    """Return the folder, in which kernels can have their sockets."""
    folder = Path(given).resolve()
    if len(bytes(folder)) > LONGEST_FOLDER:
        raise argparse.ArgumentTypeError(f"at most {LONGEST_FOLDER} bytes, got {folder}")
    return folder


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="make hub-demo", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--accounts", type=int, default=LEARNERS, help="learners (%(default)s)")
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    parser.add_argument("--folder", type=short, help="kept, with all work in it")
    parser.add_argument("--chapters", nargs="+", default=CHAPTERS, help="that are handed out")
    given = parser.parse_args(argv)
    if not landlock():
        parser.error("the walls between learners need Linux 5.13 or newer, with Landlock on")
    if not PROXY.exists():
        parser.error("the proxy is missing: npm ci brings it")
    if given.port and is_busy(given.port):
        parser.error(f"port {given.port} is busy: name another, or none")
    adopt_orphans()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with (
        nullcontext(given.folder)
        if given.folder
        else tempfile.TemporaryDirectory(prefix="hub-demo-", ignore_cleanup_errors=True)
    ) as place:
        folder = Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        hub = Hub(folder, given.accounts, given.port)
        try:
            print("Preparing what is handed out ...", flush=True)
            hub.make()
            hub.start()
            for chapter in given.chapters:
                hub.hand_out(chapter)
            hub.wait()
            who = ("instructor", "learner01")
            print(f"\nThe hub is open at\n\n    {hub.address}\n")
            print(*(f"    {name}, password {hub.accounts[name]}" for name in who), sep="\n")
            print(f"\nAll accounts: {folder / 'accounts.json'}. Ctrl+C here ends it.", flush=True)
            hub.watch()
        except DemoError as error:
            sys.exit(str(error))
        except KeyboardInterrupt:
            print("\nEnding the hub and its servers ...", flush=True)
        finally:
            hub.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
