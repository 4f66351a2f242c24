"""Make `.venv` and let uv install the pinned packages, or find in a moment that all is there.

Run from the course's folder, with nothing but the standard library: `python -m tools.setup_env`.
"""

from __future__ import annotations  # an old Python has to get as far as the sentence in main()

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from course_utils.environment import NEWEST, OLDEST, ROOT, STAMP, read_pins, read_stamp, venv_python

UV = "uv==0.13.9"  # for a machine that has none
NEEDED_GB = {"cpu": 3, "gpu": 10}
CAUSES = {
    r"No space left|os error 28\b|Errno 28|[Qq]uota exceeded": """\
The disk is full. Make room (the course needs about 3 GB) and start again.""",
    r"Read-only file system|Permission denied|Errno 13|Errno 30": """\
A folder cannot be written. Copy the course to a folder of your own and start again.""",
    r"ensurepip|No module named venv": """\
This Python came without its `venv` module. On Debian and Ubuntu: sudo apt install python3-venv""",
    r"(?i)error sending request|dns error|failed to fetch|network was disabled|in the cache"
    r"|name resolution|NewConnectionError|failed to establish|timed out|ProxyError|SSLError"
    r"|unreachable|connection refused|from versions: none": """\
The packages could not be fetched: there is no way to the package index.
Look at the network (and the proxy settings, HTTPS_PROXY) and start again;
what has been fetched so far is kept.""",
    r"No solution found|No matching distribution|requires a different Python": """\
There is no build of a pinned package for this Python on this system.
Python 3.11 to 3.14 on 64-bit Linux, macOS or Windows should have one;
to name another Python: make learn PYTHON=/path/to/python3.12""",
}
SETTINGS = {  # of pip: what uv calls it, and what stands between two values
    "index-url": ("UV_DEFAULT_INDEX", ""),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "cert": ("SSL_CERT_FILE", ""),
    "proxy": ("ALL_PROXY", ""),
}


def explain(said: str) -> str:
    """Return the sentence for what a tool complains of, or else its last lines."""
    known = (sentence for pattern, sentence in CAUSES.items() if re.search(pattern, said))
    return "\n" + next(known, "\n".join(["The installation failed:", *said.splitlines()[-12:]]))


def run(*command: str, env: dict[str, str] | None = None) -> str:
    """Return what a command says, shown on a terminal meanwhile; where it fails, exit with why."""
    said = ""
    with subprocess.Popen(
        command, cwd=ROOT, env=env, text=True, errors="replace", stdout=-1, stderr=-2
    ) as process:  # -1 is PIPE, -2 is STDOUT
        for line in process.stdout or ():
            said += line
            if sys.stdout.isatty():
                print(f"\r\033[K  {line.strip()[:70]}\r", end="", flush=True)
    if process.returncode:
        sys.exit(explain(said))
    return said


def starts(*command: str) -> str:
    """Return what a program says, nothing where it does not start or fails."""
    with suppress(OSError, SystemExit):
        return run(*command)
    return ""


def pip_settings(python: Path) -> dict[str, str]:
    """Return the environment for uv, which reads none of pip's settings: a mirror, a folder."""
    listed = starts(str(python), "-m", "pip", "config", "list")
    found = {"UV_INDEX_STRATEGY": "unsafe-best-match"}  # as pip chooses between two indexes
    for name, value in re.findall(r"^\S+\.([a-z-]+)=(.+)$", listed, re.MULTILINE)[::-1]:
        if name in SETTINGS:
            variable, between = SETTINGS[name]
            found[variable] = between.join(ast.literal_eval(value).split())
    return {**found, **os.environ}


def install_cpu_torch(install: Callable[..., str], pin: str) -> None:
    """Install the CPU build: from where pip looks, or PyTorch's own index, which uv knows."""
    for build in ([f"{pin}+cpu"], ["--torch-backend=cpu", pin], ["--dry-run", pin]):
        with suppress(SystemExit):
            if "+ nvidia-" not in install(*build):  # the last: any build without CUDA will do
                return
    sys.exit(
        "The CPU build of PyTorch could not be fetched: there is no way to its own index.\n"
        "`make learn TORCH=gpu` takes the ordinary build, which also runs without a GPU\n"
        "but needs about 10 GB."
    )


def prepare(extras: list[str], torch: str = "") -> None:
    """Bring `.venv` to what pyproject.toml asks for; or exit with what the reader has to do."""
    venv, stamp = ROOT / ".venv", read_stamp(ROOT / ".venv")
    python, torch = venv_python(venv), torch or stamp.get("torch", "cpu")
    low, high = [sys.version_info[:2]] * 2 if os.environ.get("PYTHON") else (OLDEST, NEWEST)
    fits = f"import sys; print({low} <= sys.version_info[:2] <= {high})"
    usable = stamp.get("torch") == torch and "True" in starts(str(python), "-c", fits)
    path = shutil.which("uv")
    uv = [path] if path and starts(path, "--version") else [str(python), "-m", "uv"]
    into = ("pip", "install", "--python", str(python), "-c", "requirements.txt")
    wanted = ["-r", "pyproject.toml", *(f"--extra={extra}" for extra in extras)]
    there = usable and stamp.get("course") == str(ROOT)
    if there and "no changes" in starts(*uv, *into, "--offline", "--dry-run", *wanted):
        return
    free, needed = shutil.disk_usage(ROOT).free / 1e9, 1 if usable else NEEDED_GB[torch]
    if free < needed:
        sys.exit(f"The disk is too full: it has {free:.1f} GB free, {needed} are needed.")
    print("Preparing .venv; the first time this takes some minutes.", flush=True)
    if not usable:
        if venv.exists() and any(venv.iterdir()) and not (venv / "pyvenv.cfg").exists():
            sys.exit(f"{venv} is no virtual environment: move it away first.")
        run(sys.executable, "-m", "venv", "--clear", str(venv))
    if len(uv) > 1:
        run(str(python), "-m", "pip", "install", UV)
    install = partial(run, *uv, *into, env=pip_settings(python))
    install("--dry-run", *wanted)  # what cannot be had is said at once
    (venv / STAMP).unlink(missing_ok=True)
    try:
        if torch == "cpu" and sys.platform == "linux":
            install_cpu_torch(install, f"torch=={read_pins(ROOT)['torch']}")
        install(*wanted, "-e", ".")
    except SystemExit as why:
        # uv changes nothing before it has fetched everything. After a full disk, as after an
        # interruption, there is no stamp: the next start makes `.venv` afresh.
        if usable and "disk is full" not in str(why):
            (venv / STAMP).write_text(json.dumps(stamp), encoding="utf-8")
        raise
    done = json.dumps({"torch": torch, "course": str(ROOT)})
    (venv / STAMP).write_text(done, encoding="utf-8")


def main() -> None:
    """Run from the command line; the exit status is 1 where a sentence says what is wrong."""
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        sys.exit("The course needs Python 3.11 to 3.14; this is {}.{}.".format(*sys.version_info))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras", default="", help="groups of pyproject.toml: test,book")
    parser.add_argument("--torch", default="", choices=["", "cpu", "gpu"], help="which build")
    given = parser.parse_args()
    try:
        prepare([extra for extra in given.extras.split(",") if extra], given.torch)
    except OSError as error:
        sys.exit(explain(str(error)))
    except KeyboardInterrupt:
        sys.exit("\nInterrupted; the next start goes on with what has been fetched.")


if __name__ == "__main__":
    main()
