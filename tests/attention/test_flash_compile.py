import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tools.compile_flash import SHARED_LIMIT, WIDTHS

pytest.importorskip("triton", reason="the compiler is triton's")
ROOT = Path(__file__).resolve().parents[2]
DTYPES = [str(dtype).removeprefix("torch.") for dtype in WIDTHS]


def compiled(*arguments: str) -> list[dict[str, Any]]:
    """Compile in a Python of its own: triton compiles or interprets, for as long as it lives."""
    kept = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-m", "tools.compile_flash", "--json", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=kept, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_kernel_that_a_call_may_take_compiles_for_hopper(dtype: str) -> None:
    kernels = compiled("--dtype", dtype)
    widths = next(widths for d, widths in WIDTHS.items() if str(d) == f"torch.{dtype}")
    assert {k["width"] for k in kernels} == set(widths)
    assert len(kernels) == 3 * 4 * len(widths)
    assert {k["kernel"] for k in kernels} == {
        "forward_kernel", "backward_query_kernel", "backward_key_value_kernel",
    }  # fmt: skip
    assert [k for k in kernels if k["spilled"] or k["shared"] > SHARED_LIMIT] == []
    assert all(k["tma"] for k in kernels)
    if dtype != "float32":
        # ptxas says so where it cannot let the matrix products run beside the rest.
        assert [k for k in kernels if not k["wgmma"] or k["serialized"]] == []


@pytest.mark.thorough
def test_the_compiler_refuses_to_run_where_triton_would_interpret() -> None:
    command = [sys.executable, "-m", "tools.compile_flash"]
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True)
    assert done.returncode == 2
    assert "TRITON_INTERPRET must not be set" in done.stderr


@pytest.mark.thorough
def test_a_kernel_still_compiles_after_the_interpreter_has_run_and_so_do_other_tiles() -> None:
    code = """
import torch
from course_utils.attention.flash_launch import Tiling, Tilings, flash_forward
from tests.exercises.right_ways_ch09_kernel import RIGHT_WAYS_CH09_KERNEL
from tools.compile_flash import compiling
import triton
query = torch.zeros(1, 1, 40, 16)
flash_forward(query, query, query, 0.25)
cut = Tilings(*[Tiling(16, 16, 4, 1)] * 3)
for way in RIGHT_WAYS_CH09_KERNEL["flash_forward_tile"]:
    tile = way if hasattr(way, "fn") else triton.jit(way)
    with compiling() as kernels:
        flash_forward(query, query, query, 0.25, True, cut, tile)
    print(way.__name__, len(kernels[0][1].asm["ptx"]) > 1000)
"""
    kept = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=kept, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("True") == 8
