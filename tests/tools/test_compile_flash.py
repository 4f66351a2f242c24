import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tools.compile_flash import SHARED_LIMIT, calls, main

pytest.importorskip("triton", reason="the compiler is triton's")
# Instructions and registers of the kernels that records/flash_gpu.json and flash_tilings.json
# measured: bfloat16, by width and causality, as Triton 3.7.1 compiles them.
MEASURED = {
    (64, False): [(1296, 155), (1255, 220), (905, 244)],
    (64, True): [(1387, 156), (1341, 229), (1165, 249)],
    (128, False): [(1208, 144), (1117, 157), (908, 228)],
    (128, True): [(1259, 138), (1163, 155), (990, 236)],
}
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(True, id="each choice once", marks=pytest.mark.thorough),
        pytest.param(False, id="all", marks=pytest.mark.benchmark),
    ],
)
def kernels(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """Compile in a Python of its own: triton compiles or interprets, for as long as it lives."""
    kept = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-m", "tools.compile_flash", *["--short"] * request.param]
    done = subprocess.run(command, cwd=ROOT, env=kept, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    made = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(made) == 3 * len([*calls(request.param)])
    return made


def test_a_call_without_options_is_the_kernel_that_was_measured(kernels) -> None:
    for (width, is_causal), expected in MEASURED.items():
        of = {"dtype": "bfloat16", "width": width, "value_width": width, "is_causal": is_causal}
        of |= {"length": 1024, "options": ""}
        found = [k for k in kernels if of.items() <= k.items()]
        assert [(k["instructions"], k["registers"]) for k in found] == expected


def test_every_kernel_that_a_call_may_take_compiles_for_hopper(kernels) -> None:
    names = ("forward_kernel", "backward_query_kernel", "backward_key_value_kernel")
    assert Counter(k["kernel"] for k in kernels) == dict.fromkeys(names, len(kernels) // 3)
    assert all(k["shared"] <= SHARED_LIMIT for k in kernels)
    assert {(k["dtype"], k["width"]) for k in kernels if k["spilled"]} <= {("float32", 256)}
    assert all(k["tma"] for k in kernels)
    # ptxas says so where it cannot let the matrix products run beside the rest.
    halves = [k for k in kernels if k["dtype"] != "float32"]
    assert [k for k in halves if not k["wgmma"] or k["serialized"]] == []


def test_the_compiler_refuses_to_run_where_triton_would_interpret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    with pytest.raises(SystemExit, match="TRITON_INTERPRET must not be set"):
        main()


@pytest.mark.thorough
def test_a_kernel_still_compiles_after_the_interpreter_has_run_and_so_do_other_tiles() -> None:
    code = """
import torch
from course_utils.attention.tiled.flash.launch import Tiling, Tilings, flash_forward
from tests.exercises.right_ways_ch09 import RIGHT_WAYS_CH09
from tools.compile_flash import compiling
import triton
query = torch.zeros(1, 1, 40, 16)
flash_forward(query, query, query, 0.25)
cut = Tilings(*[Tiling(16, 16, 4, 1)] * 3)
for way in RIGHT_WAYS_CH09["flash_forward_tile"]:
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
