"""Start a learner's server where it sees only what is the learner's: for jupyterhub_config.py.

    python deploy/walled.py FOLDER NUMBER COMMAND...

FOLDER is the class's (tools/hub_demo.py makes it), the home is the one that HOME names. The server
and all that it starts, terminals too, may read the system, Python, the course without its
solutions, what was handed out, and, by names that cannot be guessed, feedback; may write in the
home; and may add to what was handed in. Where the hub is root's, it also goes on as user NUMBER.
"""

import os
import resource
import sys
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


def places(folder: Path, own_number: bool) -> dict[Path, int]:
    """Return what a learner's processes may use, and how.

    Args:
        folder: The class's.
        own_number: Whether the learner is a user of the system's: only then are the terminals of
            others closed, and terminals can be open at all.
    """
    exchange = folder / "exchange" / "attention"
    read = [*SYSTEM, sys.prefix, sys.base_prefix, folder / "python", *(ROOT / name for name in COURSE)]
    write = [os.environ["HOME"], *DEVICES, *(TERMINALS if own_number else ())]
    allowed = {
        **dict.fromkeys(map(Path, read), READ),
        **dict.fromkeys(map(Path, write), ALL),
        exchange / "outbound": READ,
        exchange / "feedback": OPEN,
        exchange / "inbound": ADD,
    }
    return {path: how for path, how in allowed.items() if path.exists()}


def main() -> None:
    """Put up the walls and become the command."""
    folder, number, command = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    allowed = places(folder, own_number=os.getuid() == 0)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(number)
        os.setuid(number)
    if not confine(allowed, network=True):
        sys.exit("A learner's server needs Landlock: Linux 5.13 or newer, with it switched on.")
    os.chdir(os.environ["HOME"])
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
