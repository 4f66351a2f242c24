"""Install the pinned packages with pip, and turn what may go wrong into one clear sentence."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from course_utils.environment import read_pins

CAUSES = (
    (
        r"No space left on device|Errno 28|Disk quota exceeded",
        "The disk is full. Make room (the course needs about 3 GB) and start again.",
    ),
    (
        r"Read-only file system|Permission denied|Errno 13|Errno 30",
        "A folder cannot be written. Copy the course to a folder of your own and start again.",
    ),
    (
        r"NewConnectionError|NameResolutionError|name resolution|Failed to establish|timed out"
        r"|ProxyError|SSLError|unreachable|Connection refused|ConnectTimeout|ReadTimeout"
        r"|dns error|error sending request|ConnectError|Could not connect",
        "The packages could not be fetched: there is no way to the package index.\n"
        "Look at the network (and the proxy settings, HTTPS_PROXY) and start again;\n"
        "what has been fetched so far is kept.",
    ),
    (
        r"No matching distribution found for (?P<what>\S+)|Could not find a version"
        r"|requires a different Python|No solution found",
        "There is no build of a pinned package for this Python on this system.\n"
        "Python 3.11 to 3.14 on 64-bit Linux, macOS or Windows should have one;\n"
        "to name another Python: make learn PYTHON=/path/to/python3.12",
    ),
)


class SetupError(Exception):
    """Something that the reader has to mend; the message is all that is shown."""


def explain(said: str) -> str | None:
    """Return the sentence for the cause that a tool's output shows, None for an unknown one."""
    return next((sentence for pattern, sentence in CAUSES if re.search(pattern, said)), None)


class Installer:
    """Runs pip (and uv) for one environment and keeps their output in a log file."""

    def __init__(self, root: Path, python: Path) -> None:
        self.root = root
        self.python = str(python)
        self.log = python.parents[1] / "course-setup.log"
        self.log.write_text("", encoding="utf-8")

    def run(self, *command: str) -> None:
        """Run one command; on a terminal, show in one line what it is doing."""
        said = []
        with (
            subprocess.Popen(
                command, cwd=self.root, text=True, errors="replace", encoding="utf-8",
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            ) as process,
            self.log.open("a", encoding="utf-8") as log,
        ):  # fmt: skip
            for line in process.stdout or ():
                said.append(line)
                log.write(line)
                self._show(line.strip())
        self._show("")
        if process.returncode:
            raise SetupError(self._sentence("".join(said)))

    def pip(self, *arguments: str) -> None:
        """Run `pip install` under the course's constraints."""
        self.run(self.python, "-m", "pip", "install", "-c", "constraints.txt", *arguments)

    def _show(self, line: str) -> None:
        if sys.stdout.isatty():
            print(f"\r\033[K  {line[:70]}" if line else "\r\033[K", end="", flush=True)

    def _sentence(self, said: str) -> str:
        reason = explain(said)
        if reason is None:
            errors = [line for line in said.splitlines() if line.lower().startswith("error")]
            shown = [f"    {line}" for line in errors[-3:]]
            reason = "\n".join(["Installing the packages failed:", *shown])
        return f"{reason}\nAll output: {self.log}"


def brings_cuda(report: str) -> bool:
    """Return whether pip's report on torch lists packages for NVIDIA cards among its needs."""
    needs = [
        need
        for chosen in json.loads(report)["install"]
        for need in chosen["metadata"].get("requires_dist", ())
    ]
    return any(re.match(r"(nvidia|cuda)-", need) for need in needs)


def install(root: Path, python: Path, extras: tuple[str, ...], torch: str) -> None:
    """Install the course and the packages that it pins.

    Args:
        root: The folder of the course.
        python: The interpreter of the environment to fill.
        extras: The optional groups wanted besides the learner's packages.
        torch: "cpu", or "gpu" for the build that the package index gives by itself.

    Raises:
        SetupError: With a sentence that says what to do.
    """
    installer = Installer(root, python)
    installer.pip("pip")
    if torch == "cpu" and sys.platform == "linux":
        install_cpu_torch(installer, f"torch=={read_pins(root)['torch']}")
    installer.pip("-e", f".[{','.join(extras)}]" if extras else ".")


def install_cpu_torch(installer: Installer, torch: str) -> None:
    """Install torch from its own index of CPU builds where pip's choice would bring CUDA.

    uv knows that index. Without this step an ordinary Linux machine gets several gigabytes of
    packages for NVIDIA cards.
    """
    report = installer.log.with_name("torch-report.json")
    alone = ("--dry-run", "--ignore-installed", "--no-deps", "--report", str(report))
    installer.pip(*alone, torch)
    if not brings_cuda(report.read_text(encoding="utf-8")):
        return
    installer.pip("uv")
    uv_pip = (installer.python, "-m", "uv", "pip", "install", "--python", installer.python)
    build = ("--torch-backend", "cpu", "--reinstall-package", "torch")
    try:
        installer.run(*uv_pip, "--constraints", "constraints.txt", *build, torch)
    except SetupError as error:
        raise SetupError(
            f"The CPU build of PyTorch could not be fetched.\n{error}\n"
            "`make learn TORCH=gpu` takes the ordinary build instead; it also runs without a GPU\n"
            "but needs about 10 GB."
        ) from error
