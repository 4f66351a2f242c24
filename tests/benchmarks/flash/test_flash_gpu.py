import json
import subprocess
import sys

import pytest
import torch

from benchmarks.flash.flash_ways import Case, cases
from course_utils.attention.tiled.flash.launch import Tiling, gpu_tilings
from course_utils.environment import ROOT
from course_utils.measure import read_record

pytest.importorskip("triton", reason="the kernels need triton, which exists for Linux")
SCRIPT, TILINGS = "benchmarks.flash.flash_gpu", "benchmarks.flash.flash_tilings"
PARTS = {"what", "width", "length", "is_causal", "batch", "heads", "peak_bytes", "forward_ms",
         "backward_ms", "forward_tflops", "backward_tflops"}  # fmt: skip


def test_flops_are_those_of_the_two_products() -> None:
    full, causal = (Case(128, 8192, is_causal) for is_causal in (False, True))
    assert full.shape == (2, 16, 8192, 128)
    assert full.flops == 2 * (2 * 2 * 16 * 8192 * 8192 * 128)
    assert causal.flops == full.flops / 2


def test_every_size_has_as_many_tokens_and_as_wide_a_stream() -> None:
    found = cases((512, 16384))
    assert len(found) == len(set(found)) == 8
    for batch, heads, length, width in (case.shape for case in found):
        assert (batch * length, heads * width) == (16384, 2048)


def test_every_run_of_the_record_has_its_repeats_or_says_why_not() -> None:
    record = read_record("flash_gpu")
    assert {"date", "command", "machine", "versions", "errors"} <= set(record)
    for run in record["runs"]:
        assert "cannot" in run or set(run) >= PARTS


def test_the_tilings_in_use_are_among_those_that_were_timed() -> None:
    runs = read_record("flash_tilings")["runs"]
    timed = {tuple(run[part] for part in ("kernel", "width", *Tiling._fields))
             for run in runs if run["ms"] is not None}  # fmt: skip
    for width in (64, 128):
        for kernel, cut in gpu_tilings(torch.bfloat16, width)._asdict().items():
            assert (kernel, width, *cut) in timed


@pytest.mark.thorough
def test_the_script_runs_from_end_to_end_at_a_tiny_size() -> None:
    done = subprocess.run(
        [sys.executable, "-m", SCRIPT, "--dry-run"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert max(row["out"] for row in rows if row.get("dtype") == "torch.float32") <= 1e-6
    ours = next(row for row in rows if "forward_ms" in row)
    assert ours["what"] == "ours"
    assert set(ours) >= PARTS
    asked = [row["option"] for row in rows if "option" in row and set(row) >= PARTS]
    assert asked == 2 * ["window", "documents", "cap", "slopes", "all"]
    assert all("cannot" in row for row in rows if row["what"] in ("sdpa_cudnn", "sdpa_efficient"))


@pytest.mark.thorough
def test_every_kernel_is_timed_with_a_tiling_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-m", TILINGS, "--dry-run"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["kernel"] for row in rows] == ["forward", "query", "key_value"]


@pytest.mark.thorough
@pytest.mark.parametrize("script", [SCRIPT, TILINGS])
def test_without_a_gpu_nothing_is_measured_and_it_is_said(script: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", script], cwd=ROOT, capture_output=True, text=True,
        env={"CUDA_VISIBLE_DEVICES": "", "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 1
    assert "This needs a CUDA device, and torch sees none" in done.stderr
