"""A sandbox for a process that runs a stranger's code: what it may use, read, write and start.

Three layers, none of which needs special privileges. Limits of the operating system hold memory,
processor time and file sizes. Landlock (Linux 5.13 and newer) lets it write nowhere but in its own
folder, read nothing else but Python and its libraries, and signal nobody. Python's audit hook
forbids the same, and starting programs, on every system; a hook cannot be removed, but code that
leaves Python can bypass it. If you expect such an attacker, run the grader in a
container. The course itself is not readable: what an answer may import of it is loaded before.

Source: Landlock's system calls and numbers, https://docs.kernel.org/userspace-api/landlock.html
"""

import ctypes
import functools
import os
import site
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

MEMORY = 3 * 2**30  # bytes beyond what the process holds when the sandbox starts
FILE_SIZE = 2**24
_CREATE, _ADD, _RESTRICT = 444, 445, 446
# Write, read, list, remove and make of every kind; in newer kernels, move and truncate.
_RIGHTS = {1: 0b1_1111_1111_1110, 2: 1 << 13, 3: 1 << 14}
OPEN, _LIST = 1 << 2, 1 << 3
READ = OPEN | _LIST
ADD = 1 << 1 | 1 << 7 | 1 << 8 | 1 << 14  # write, make folders and files, empty them
ALL = sum(_RIGHTS.values())
_OF_A_FILE = 1 << 1 | OPEN | 1 << 14
_COURSE = Path(__file__).resolve().parents[1]
_SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/share/zoneinfo", "/etc/localtime", "/dev/null"),
    *("/dev/urandom", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu"),
)
_FORBIDDEN = (
    *("subprocess.", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn"),
    *("os.system", "os.startfile", "os.kill", "os.killpg", "pty.spawn", "signal.pthread_kill"),
    *("socket.", "ctypes.", "os.chown", "os.link", "os.symlink", "os.setxattr", "os.chflags"),
)
_READING = ("open", "os.listdir", "os.scandir")
_PATHS = (str, bytes, os.PathLike)
_CHANGING = ("shutil.", "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.chmod", "os.mkdir")


def limit_resources(seconds: int) -> None:
    """Limit memory, processor time and the size of files, where the system supports that."""
    try:
        import resource
    except ImportError:  # Windows
        return
    held = 0
    if Path("/proc/self/statm").is_file():
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for kind, limit in (
        (resource.RLIMIT_AS, held + MEMORY),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, FILE_SIZE),
        (resource.RLIMIT_CORE, 0),
    ):
        try:
            resource.setrlimit(kind, (limit, limit))
        except (ValueError, OSError):  # a system that has the limit but cannot set it
            continue


@functools.cache
def readable() -> tuple[Path, ...]:
    """List what every answer may read: Python, its libraries, a few of the system's own files."""
    libraries = [
        sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")
    ]
    roots = {*libraries, *site.getsitepackages(), site.getusersitepackages(), *_SYSTEM}
    return tuple(dict.fromkeys(part for root in sorted(roots) for part in _without_course(root)))


def _without_course(root: str | Path) -> Iterator[Path]:
    root = Path(root).resolve()
    if root == _COURSE or not root.exists():
        return
    if _COURSE.is_relative_to(root):
        for child in root.iterdir():
            yield from _without_course(child)
    else:
        yield root


def forbid_files_outside(folder: Path) -> bool:
    """Let the kernel refuse all files but a folder's and, to read, Python's; return if it can."""
    return confine({**dict.fromkeys(readable(), READ), folder: ALL}, network=False)


def landlock() -> int:
    """Return the version of the kernel's Landlock, 0 if it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, int(ctypes.CDLL(None, use_errno=True).syscall(_CREATE, None, 0, 1)))


def confine(places: Mapping[Path, int], network: bool) -> bool:
    """Let the kernel refuse this process, and all that it starts, every file but these.

    Args:
        places: Files and folders with all that is in them, and what may be done there: `READ`,
            `OPEN` (read a file whose name is known), `ADD` (only that), `ALL`.
        network: Whether it may open connections and listen.

    Returns:
        Whether the kernel can.
    """
    version = landlock()
    if not version:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    rights = sum(bits for since, bits in _RIGHTS.items() if since <= version)
    # The three words of the rules: files, network, scopes (sockets, signals).
    words = (ctypes.c_uint64 * 3)(rights, 0 if network else 0b11, 0b11)
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = libc.syscall(_CREATE, ctypes.byref(words), size, 0)
    for path, wanted in places.items():
        allowed = wanted & rights & (ALL if path.is_dir() else _OF_A_FILE)
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = allowed.to_bytes(8, sys.byteorder) + place.to_bytes(4, sys.byteorder, signed=True)
        libc.syscall(_ADD, rules, 1, rule, 0)
        os.close(place)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS, which the kernel requires
    done = bool(libc.syscall(_RESTRICT, rules, 0) == 0)
    os.close(rules)
    return done


def forbid_by_audit(folder: Path) -> None:
    """Make Python refuse to start programs, open sockets, or use files outside a folder."""
    own = (str(folder.resolve()),)
    read = (*own, *map(str, readable()))

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and _writes(args) and not _is_inside(args[0], own):
            raise PermissionError("a file may not be written while an answer is graded")
        if event in _READING and isinstance(args[0], _PATHS) and not _is_inside(args[0], read):
            raise PermissionError("this file may not be read while an answer is graded")
        elsewhere = event.startswith(_CHANGING) and not _is_inside(args[0], own)
        if elsewhere or event.startswith(_FORBIDDEN):
            raise PermissionError(f"{event} is not allowed while an answer is graded")

    sys.addaudithook(hook)


def _writes(args: tuple[Any, ...]) -> bool:
    _, mode, flags = args
    asked = isinstance(mode, str) and any(letter in mode for letter in "wax+")
    changing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    return asked or bool(isinstance(flags, int) and flags & changing)


def _is_inside(path: object, places: tuple[str, ...]) -> bool:
    if not isinstance(path, _PATHS):
        return False
    real = os.path.realpath(os.fsdecode(path))
    return any(real == place or real.startswith(place + os.sep) for place in places)
