"""Chapter 09 on a machine without triton: every cell runs, and the kernel's say what is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
sys.modules["triton"] = None  # from here on `import triton` raises ImportError
from tools.notebook_source import read_chapter
from pathlib import Path
names = {}
solved = sys.argv[2] == "solved"
for cell in read_chapter(Path(sys.argv[1])).cells:
    if cell.kind == "code":
        exec(compile(cell.solved() if solved else cell.stubbed(), "cell", "exec"), names)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("edition", ["solved", "stubbed"])
def test_chapter_09_works_and_says_what_is_missing(edition: str, tmp_path: Path) -> None:
    source = ROOT / "solutions" / "09_flash_attention.py"
    own = {
        "ATTENTION_COURSE_PROGRESS": str(tmp_path / "progress.json"), "MPLBACKEND": "agg",
        "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, source, edition],
        capture_output=True, text=True, env=os.environ | own, cwd=tmp_path, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "The kernel was not run. This needs triton" in done.stdout
    assert "The kernel was not traced" in done.stdout
