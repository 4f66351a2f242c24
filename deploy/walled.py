"""Start a learner's server where it sees only what is the learner's: for jupyterhub_config.py.

    python deploy/walled.py FOLDER NUMBER COMMAND...

FOLDER is the class's (tools/hub_demo.py makes it), the home is the one that HOME names. The server
and all that it starts, terminals too, may read the system, Python, the course without its
solutions, what was handed out, the released model that ATTENTION_COURSE_MODEL names, and, by names
that cannot be guessed, feedback; may write in the home; and may add to what was handed in. Where
the hub is root's, it also goes on as user NUMBER.
"""

import ctypes
import os
import resource
import sys
from collections.abc import Iterable
from pathlib import Path

from course_utils.environment import ROOT
from course_utils.grading.walls import ADD, ALL, OPEN, READ, confine

MEMORY = 4 * 2**30  # bytes of its own that any one process of a learner's may have
SYSTEM = ("/bin", "/etc", "/lib", "/lib64", "/opt", "/proc", "/sbin", "/sys", "/usr")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/dev/random")
TERMINALS = ("/dev/ptmx", "/dev/pts", "/dev/tty")
COURSE = (
    *("course_utils", "deploy", "tools/jupyter", "tools/nbgrader_config.py"),
    *("book/claims.yml", "book/timeline.yml", "book/references.bib"),
)


def places(folder: Path, home: Path, own_number: bool) -> dict[Path, int]:
    """Return what a learner's processes may use, and how.

    Args:
        folder: The class's.
        home: The learner's.
        own_number: Whether the learner is a user of the system's: only then are the terminals of
            others closed, and terminals can be open at all.
    """
    exchange = folder / "exchange" / "attention"
    python = (sys.prefix, sys.base_prefix, folder / "python")
    read = [*SYSTEM, *python, *(ROOT / name for name in COURSE), *released_model()]
    write = [home, *DEVICES, *(TERMINALS if own_number else ())]
    allowed = {
        **dict.fromkeys(map(Path, read), READ),
        **dict.fromkeys(map(Path, write), ALL),
        exchange / "outbound": READ,
        exchange / "feedback": OPEN,
        exchange / "inbound": ADD,
    }
    return {path: how for path, how in allowed.items() if path.exists()}


def released_model() -> list[Path]:
    """Return the file of the released model and what was converted beside it; none is no fault."""
    path = Path(os.environ.get("ATTENTION_COURSE_MODEL", ""))
    return [*path.parent.glob(f"{path.stem}.*")] if path.is_file() else []


def bring_within_reach(needed: Iterable[Path]) -> None:
    """Keep what is needed within reach where a folder above it, such as /root, is closed to others.

    That folder is replaced by one that holds nothing else, for this process and its children only.
    """
    closed: dict[Path, list[Path]] = {}
    for path in needed:
        above = [one for one in reversed(path.parents) if not one.stat().st_mode & 0o001]
        if above:
            closed.setdefault(above[0], []).append(path)
    if not closed:
        return
    libc = ctypes.CDLL(None, use_errno=True)

    def mount(source: str, target: Path, kind: str, flags: int) -> None:
        given = (source.encode(), bytes(target), kind.encode(), flags, b"mode=755")
        if libc.mount(*given[:4], given[4] if kind else None):
            sys.exit(f"{target} is closed to learners: use a course and a Python outside of it.")

    libc.unshare(0x20000)  # CLONE_NEWNS: mounts of one's own
    mount("none", Path("/"), "", 0x44000)  # MS_REC | MS_PRIVATE
    for folder, paths in closed.items():
        held = {path: os.open(path, os.O_PATH) for path in paths}
        mount("none", folder, "tmpfs", 0)
        for path, number in held.items():
            if Path(f"/proc/self/fd/{number}").is_dir():
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            mount(f"/proc/self/fd/{number}", path, "", 0x5000)  # MS_REC | MS_BIND
            os.close(number)


def enclose(folder: Path, number: int, home: Path) -> None:
    """Put up the walls around this process, and go to the home.

    Args:
        folder: The class's.
        number: Of the learner as a user of the system, which this process becomes if it is root's.
        home: The learner's.
    """
    allowed = places(folder, home, own_number=os.getuid() == 0)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if os.getuid() == 0:
        bring_within_reach([folder / "exchange", *allowed])
        os.setgroups([])
        os.setgid(number)
        os.setuid(number)
    if not confine(allowed, network=True):
        sys.exit("A learner's server needs Landlock: Linux 5.13 or newer, with it switched on.")
    os.chdir(home)


if __name__ == "__main__":
    enclose(Path(sys.argv[1]), int(sys.argv[2]), Path(os.environ["HOME"]))
    os.execvp(sys.argv[3], sys.argv[3:])
