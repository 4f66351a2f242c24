"""Walls around a process that runs a stranger's code: what it may use, write and start.

Three layers, none of which needs special rights. Limits of the operating system hold memory,
processor time and file sizes. Landlock (Linux 5.13 and newer) lets it write nowhere but in its own
folder, and signal nobody. Python's audit hook forbids the same, and starting programs, on every
system; a hook cannot be taken off, but code that leaves Python can go around it. Who expects an
attacker with such means runs the grader in a container.

Source: Landlock's system calls and numbers, https://docs.kernel.org/userspace-api/landlock.html
"""

import ctypes
import os
import sys
from pathlib import Path
from typing import Any

MEMORY = 3 * 2**30  # bytes beyond what the process holds when the walls go up
FILE_SIZE = 2**24
_CREATE, _ADD, _RESTRICT = 444, 445, 446
# Write, remove, make of every kind; then, as newer kernels know them, move and truncate.
_WRITING = {1: 0b1_1111_1111_0010, 2: 1 << 13, 3: 1 << 14}
_FORBIDDEN = (
    *("subprocess.", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn"),
    *("os.system", "os.startfile", "os.kill", "os.killpg", "pty.spawn", "signal.pthread_kill"),
    *("socket.", "ctypes.", "os.chown", "os.link", "os.symlink", "os.setxattr", "os.chflags"),
)
_CHANGING = ("shutil.", "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.chmod", "os.mkdir")


def limit_resources(seconds: int) -> None:
    """Limit memory, processor time and the size of files, where the system knows such limits."""
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
        except (ValueError, OSError):  # a system that knows the limit and does not set it
            continue


def forbid_writing_outside(folder: Path) -> bool:
    """Let the kernel refuse every change of files outside a folder; say if it can."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE, None, 0, 1)
    if version < 1:
        return False
    rights = sum(bits for since, bits in _WRITING.items() if since <= version)
    # The three words of the rules: files, network (none is opened), scopes (sockets, signals).
    words = (ctypes.c_uint64 * 3)(rights, 0b11, 0b11)
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = libc.syscall(_CREATE, ctypes.byref(words), size, 0)
    place = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    allowed = rights.to_bytes(8, sys.byteorder) + place.to_bytes(4, sys.byteorder, signed=True)
    libc.syscall(_ADD, rules, 1, allowed, 0)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS, which the kernel asks for
    done = bool(libc.syscall(_RESTRICT, rules, 0) == 0)
    os.close(rules)
    os.close(place)
    return done


def forbid_by_audit(folder: Path) -> None:
    """Let Python refuse to start programs, open sockets, and write outside a folder."""
    inside = str(folder.resolve()) + os.sep

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and _writes(args) and not _is_inside(args[0], inside):
            raise PermissionError("a file may not be written while an answer is graded")
        elsewhere = event.startswith(_CHANGING) and not _is_inside(args[0], inside)
        if elsewhere or event.startswith(_FORBIDDEN):
            raise PermissionError(f"{event} is not allowed while an answer is graded")

    sys.addaudithook(hook)


def _writes(args: tuple[Any, ...]) -> bool:
    _, mode, flags = args
    asked = isinstance(mode, str) and any(letter in mode for letter in "wax+")
    changing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    return asked or bool(isinstance(flags, int) and flags & changing)


def _is_inside(path: object, folder: str) -> bool:
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    return os.path.realpath(os.fsdecode(path)).startswith(folder)
