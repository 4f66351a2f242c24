import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from course_utils.measure import read_record

pytest.importorskip("triton", reason="the kernels need triton, which exists for Linux")
ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "benchmarks" / "flash_gpu.py"
PARTS = {"what", "width", "length", "is_causal", "batch", "heads", "peak_bytes", "forward_ms",
         "backward_ms", "forward_tflops", "backward_tflops"}  # fmt: skip


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import flash_ways

    return flash_ways


def test_flops_are_those_of_the_two_products(ways: ModuleType) -> None:
    full, causal = (ways.Case(128, 8192, is_causal) for is_causal in (False, True))
    assert full.shape == (2, 16, 8192, 128)
    assert full.flops == 2 * (2 * 2 * 16 * 8192 * 8192 * 128)
    assert causal.flops == full.flops / 2


def test_every_size_has_as_many_tokens_and_as_wide_a_stream(ways: ModuleType) -> None:
    found = ways.cases((512, 16384))
    assert len(found) == len(set(found)) == 8
    for batch, heads, length, width in (case.shape for case in found):
        assert (batch * length, heads * width) == (16384, 2048)


def test_the_record_says_that_nothing_was_measured_or_holds_every_repeat() -> None:
    record = read_record("flash_gpu")
    if not record["runs"]:
        assert record["status"] == "not yet measured on a GPU"
        return
    assert {"date", "command", "machine", "versions", "errors"} <= set(record)
    for run in record["runs"]:
        assert "cannot" in run or set(run) >= PARTS


@pytest.mark.thorough
def test_the_script_runs_from_end_to_end_at_a_tiny_size() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--dry-run"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert max(row["out"] for row in rows if row.get("dtype") == "torch.float32") <= 1e-6
    ours = next(row for row in rows if "forward_ms" in row)
    assert ours["what"] == "ours"
    assert set(ours) >= PARTS
    assert all("cannot" in row for row in rows if row["what"] in ("sdpa_cudnn", "sdpa_efficient"))


@pytest.mark.thorough
def test_without_a_gpu_nothing_is_measured_and_it_is_said() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--quick"], cwd=ROOT, capture_output=True, text=True,
        env={"CUDA_VISIBLE_DEVICES": "", "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 1
    assert "This needs a CUDA device, and torch sees none" in done.stderr
