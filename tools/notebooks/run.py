"""Execute a solutions notebook in a kernel of its own, and say where it fails."""

import os
import re
import tempfile
from pathlib import Path

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from tools.notebooks.outputs import describe
from tools.notebooks.source import Chapter

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_FRAME = re.compile(r"Cell In\[(\d+)\], line (\d+)")
_TRACEBACK_LINES = 12


class NotebookError(RuntimeError):
    """A cell failed, did not end, or took the kernel with it."""


def execute(notebook: NotebookNode, chapter: Chapter, folder: Path, timeout: int) -> None:
    """Run every cell in order and leave the outputs in the notebook.

    Args:
        notebook: The solutions notebook made from `chapter`, changed in place.
        chapter: The source, for the lines that a failure is told with.
        folder: Where the notebook lies; its kernel starts there.
        timeout: Seconds that one cell may take.

    Raises:
        NotebookError: A cell raised, took too long, or the kernel died.
    """
    current = [0]
    with tempfile.TemporaryDirectory() as scratch:
        client = NotebookClient(
            notebook,
            timeout=timeout,
            kernel_name="python3",
            record_timing=False,
            extra_arguments=["--log-level=CRITICAL"],
            resources={"metadata": {"path": str(folder)}},
            on_cell_start=lambda cell, cell_index: current.__setitem__(0, cell_index),
        )
        try:
            client.execute(env={**os.environ, **kernel_environment(Path(scratch))})
        except (CellTimeoutError, DeadKernelError, CellExecutionError) as error:
            cell = chapter.cells[current[0]]
            says, line = "ended the kernel: memory, a crash, or os._exit", cell.line
            if isinstance(error, CellTimeoutError):
                says = f"did not end within {timeout} s"
            elif isinstance(error, CellExecutionError):
                traceback = _ANSI.sub("", error.traceback)
                says = f"raised {error.ename}: {error.evalue}\n{_ending(traceback)}"
                line = _failing_line(chapter, traceback) or line
            where = describe(notebook, current[0])
            raise NotebookError(f"{chapter.file}:{line}: {where} {says}") from error


def kernel_environment(scratch: Path) -> dict[str, str]:
    """Return what is set for the kernel of a notebook, so that it runs alike everywhere.

    It starts with one thread, or with as many as the variable NOTEBOOK_THREADS says.

    Args:
        scratch: An empty folder for what the kernel writes.
    """
    return {
        "OMP_NUM_THREADS": os.environ.get("NOTEBOOK_THREADS", "1"),
        "ATTENTION_COURSE_PROGRESS": str(scratch / "progress.json"),
        "ATTENTION_COURSE_DARK_FIGURES": "1",
        "IPYTHONDIR": str(scratch / "ipython"),
        "ATTENTION_COURSE_STATIC": "1",  # no kernel will serve what is shown: see guessing/ask.py
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }


def _ending(traceback: str) -> str:
    lines = traceback.strip().splitlines()
    return "\n".join(f"    {line}" for line in lines[-_TRACEBACK_LINES:])


def _failing_line(chapter: Chapter, traceback: str) -> int | None:
    """Return the line of the source that the innermost frame in a cell stands for."""
    frames = _FRAME.findall(traceback)
    cells = [cell for cell in chapter.cells if cell.kind == "code"]
    count, line = map(int, frames[-1]) if frames else (0, 0)
    if not 0 < count <= len(cells):
        return None
    cell = cells[count - 1]
    return cell.line + line - 1 if 0 < line <= cell.source.count("\n") + 1 else None
