"""Make `.venv` and let uv install the pinned packages, or find in a moment that all is there.

Run from the course's folder, with nothing but the standard library: `python -m tools.setup_env`.
It installs and never takes away, as `uv pip sync` would: pip, uv and what a learner added stay.
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

from course_utils import environment
from course_utils.environment import MODEL_MB, NEEDED_GB, PYTHONS, ROOT, STAMP, VENV

UV = "uv==0.13.9"  # for a machine that has none
PYTHON = str(environment.VENV_PYTHON)
CAUSES = {
    r"No space left|os error 28\b|Errno 28|[Qq]uota exceeded": f"""\
The disk is full. Make room (the course needs about {NEEDED_GB["cpu"]} GB) and start again.""",
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
    r"No solution found|No matching distribution|requires a different Python": f"""\
There is no build of a pinned package for this Python on this system.
{PYTHONS} on 64-bit Linux, macOS or Windows should have one;
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


def pip_settings() -> dict[str, str]:
    """Return the environment for uv, which reads none of pip's settings: a mirror, a folder."""
    listed = starts(PYTHON, "-m", "pip", "config", "list")
    found = {"UV_INDEX_STRATEGY": "unsafe-best-match"}  # as pip chooses between two indexes
    for name, value in re.findall(r"^\S+\.([a-z-]+)=(.+)$", listed, re.MULTILINE)[::-1]:
        if name in SETTINGS:
            variable, between = SETTINGS[name]
            found[variable] = between.join(ast.literal_eval(value).split())
    return {**found, **os.environ}


def uv_into(python: str) -> list[str]:
    """Return how uv, from PATH or else from `.venv`, installs pinned versions for a Python."""
    path = shutil.which("uv")
    uv = [path] if path and starts(path, "--version") else [PYTHON, "-m", "uv"]
    return [*uv, "pip", "install", "--python", python, "-c", "requirements.txt"]


def install_cpu_torch(install: Callable[..., str], pin: str) -> None:
    """Install the CPU build: from where pip looks, a mirror perhaps, else from PyTorch's index."""
    for build in ([f"{pin}+cpu"], ["--torch-backend=cpu", pin], ["--dry-run", pin]):
        with suppress(SystemExit):
            if "+ nvidia-" not in install(*build):  # the last: any build without CUDA will do
                return
    sys.exit(
        "The CPU build of PyTorch could not be fetched: there is no way to its own index.\n"
        "`make learn TORCH=gpu` takes the ordinary build, which also runs without a GPU\n"
        f"but needs about {NEEDED_GB['gpu']} GB."
    )


def install_all(install: Callable[..., str], torch: str, *wanted: str) -> None:
    """Install the wanted build of PyTorch, then all else."""
    if torch == "cpu" and sys.platform == "linux":
        install_cpu_torch(install, f"torch=={environment.read_pins(ROOT)['torch']}")
    install(*wanted)


def prepare(extras: list[str], torch: str = "", model: str = "") -> None:
    """Bring `.venv` to what pyproject.toml asks for; or exit with what the reader has to do.

    Args:
        extras: Groups of pyproject.toml.
        torch: The build of PyTorch; "" is the one that is there.
        model: "none" where the released model is not fetched afterwards.
    """
    stamp = environment.read_stamp()
    torch = torch or stamp.get("torch", "cpu")
    asked = "import sys; from course_utils.environment import FITS; print(FITS, *sys.version_info)"
    version = "{} {} ".format(*sys.version_info) if os.environ.get("PYTHON") else ""
    usable = stamp.get("torch") == torch and f"True {version}" in starts(PYTHON, "-c", asked)
    into = uv_into(PYTHON)
    wanted = ["-r", "pyproject.toml", *(f"--extra={extra}" for extra in extras)]
    there = usable and stamp.get("course") == str(ROOT)
    if there and "no changes" in starts(*into, "--offline", "--dry-run", *wanted):
        return
    free, needed = shutil.disk_usage(ROOT).free / 1e9, 1 if usable else NEEDED_GB[torch]
    if free < needed:
        sys.exit(f"The disk is too full: it has {free:.1f} GB free, {needed} are needed.")
    size = f"{MODEL_MB} MB, once; MODEL=none leaves it out"
    last = "" if model == "none" else f"\nLast, the model of chapter 19 is fetched ({size})."
    print(f"Preparing .venv; the first time this takes some minutes.{last}", flush=True)
    if not usable:
        if VENV.exists() and any(VENV.iterdir()) and not (VENV / "pyvenv.cfg").exists():
            sys.exit(f"{VENV} is not a virtual environment: move it away first.")
        run(sys.executable, "-m", "venv", "--clear", str(VENV))
    if into[0] == PYTHON:
        run(PYTHON, "-m", "pip", "install", UV)
    install = partial(run, *into, env=pip_settings())
    install("--dry-run", *wanted)  # what cannot be had is said at once
    STAMP.unlink(missing_ok=True)
    try:
        install_all(install, torch, *wanted, "-e", ".")
    except SystemExit as why:
        # uv changes nothing before it has fetched everything. After a full disk, as after an
        # interruption, there is no stamp: the next start makes `.venv` afresh.
        if usable and "disk is full" not in str(why):
            STAMP.write_text(json.dumps(stamp), encoding="utf-8")
        raise
    STAMP.write_text(json.dumps({"torch": torch, "course": str(ROOT)}), encoding="utf-8")


def main() -> None:
    """Run from the command line; the exit status is 1 where a sentence says what is wrong."""
    if not environment.FITS:
        sys.exit(f"The course needs {PYTHONS}; this is {sys.version.split()[0]}.")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras", default="", help="groups of pyproject.toml: test,book")
    parser.add_argument("--torch", default="", choices=["", "cpu", "gpu"], help="which build")
    parser.add_argument("--model", default="", choices=["", "none"], help="none: do not fetch it")
    given = parser.parse_args()
    try:
        prepare([extra for extra in given.extras.split(",") if extra], given.torch, given.model)
        if given.model != "none":  # whatever comes of it: the course does without
            subprocess.run([PYTHON, "-m", "course_utils", "model", "--set-up"], cwd=ROOT)
    except OSError as error:
        sys.exit(explain(str(error)))
    except KeyboardInterrupt:
        sys.exit("\nInterrupted; the next start goes on with what has been fetched.")


if __name__ == "__main__":
    main()
