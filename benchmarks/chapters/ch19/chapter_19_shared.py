"""Count what a process holds for itself when two have the released model open, mapped or not.

Method: two processes at once, each opens the model, scores eight tokens and waits for the other;
private memory is that of /proc/self/smaps_rollup less what imports took (Linux alone). The weights
in float32 are written first, to a folder that is removed again. A minute:

    python -m benchmarks.chapters.ch19.chapter_19_shared
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from benchmarks.recording import ROOT, Row, Script, module
from course_utils.model_file import ELSEWHERE, NAME, SHA256, required_model
from course_utils.models import released
from course_utils.models.released.gguf import gguf_model


def private() -> int:
    """Return the bytes that this process shares with no other."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def child() -> None:
    """Open the model, print what was measured when the other has done so too."""
    before, start = private(), time.process_time()
    model = released.model().model
    seconds = time.process_time() - start
    with torch.inference_mode():
        model.logits(torch.arange(100, 108)[None])
    print("open", flush=True)
    sys.stdin.readline()
    print(json.dumps({"seconds": seconds, "private": private() - before}), flush=True)
    sys.stdin.readline()  # a page is private as soon as the other process has ended


def said(process: subprocess.Popen[str], given: str = "") -> str:
    """Return the next line that a process prints, after it was given one."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(given)
    process.stdin.flush()
    return process.stdout.readline()


def row(how: str) -> Row:
    """Return what two children measure."""
    command = [sys.executable, "-m", module(__file__), "--child"]
    both = [subprocess.Popen(command, stdin=-1, stdout=-1, text=True, cwd=ROOT) for _ in range(2)]
    lines = [[said(one) for one in both], [said(one, "\n") for one in both]]
    for one in both:
        one.communicate("\n")
    found = [json.loads(line) for line in lines[-1]]
    return {
        "how": how,
        "seconds": round(max(one["seconds"] for one in found), 1),
        "private MB": round(max(one["private"] for one in found) / 1e6),
    }


def main() -> None:
    """Run from the command line."""
    script = Script(__file__, __doc__, child=False)
    if script.options.child:
        child()
        return
    with TemporaryDirectory() as folder:
        link = Path(folder, NAME)
        link.symlink_to(required_model())
        os.environ[ELSEWHERE] = str(link)
        runs = [row("restored")]
        gguf_model.convert()
        runs.append(row("mapped"))
    script.record(
        what="memory that each of two processes holds for itself with the released model open",
        settings={"sha256": SHA256},
        runs=runs,
    )


if __name__ == "__main__":
    main()
