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
from tools.notebooks.source import read_chapter
from pathlib import Path
from course_utils import measure
def smaller(way, *tensors):  # what a way needs at its full size is not asked here
    way(*(x.detach()[..., :64, :].requires_grad_(x.requires_grad) for x in tensors))
    return 0
measure.peak_memory = smaller
for edition in sys.argv[2:]:
    names = {}
    print("EDITION", edition)
    for cell in read_chapter(Path(sys.argv[1])).cells:
        if cell.kind == "code":
            text = cell.solved() if edition == "solved" else cell.stubbed()
            exec(compile(text, "cell", "exec"), names)
"""


@pytest.mark.thorough
def test_chapter_09_works_and_says_what_is_missing(tmp_path: Path) -> None:
    source = ROOT / "solutions" / "09_flash_attention.py"
    own = {
        "ATTENTION_COURSE_PROGRESS": str(tmp_path / "progress.json"), "MPLBACKEND": "agg",
        "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, source, "solved", "stubbed"],
        capture_output=True, text=True, env=os.environ | own, cwd=tmp_path, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    _, *editions = done.stdout.split("EDITION ")
    assert [said.split("\n")[0] for said in editions] == ["solved", "stubbed"]
    for said in editions:
        assert "The kernel was not run. This needs triton" in said
        assert "The kernel was not traced" in said
