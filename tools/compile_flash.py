"""Compile the flash kernels for a Hopper GPU, on a machine without one, and say what came out.

Triton compiles for any target; only launching takes a driver. So a stand-in names the target, and
every kernel goes the way of a real call up to its launch, with the tilings that a real call takes.

    .venv/bin/python -m tools.compile_flash     one JSON object for each kernel, line by line
        [--short]   of a short list that holds each choice once
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch

SHARED_LIMIT = 232_448  # bytes of shared memory that one program may have on an H100 or H200
INSTRUCTION = re.compile(r"^\s+(?:@!?%p\d+ )?[a-z][\w.:]*(?<!:)\s", re.MULTILINE)
WIDTHS = {
    torch.bfloat16: (16, 32, 64, 128, 256),
    torch.float16: (64, 128, 256),
    torch.float32: (16, 32, 64, 128, 256),
}
# What a call may ask for besides, and whether it is causal by itself: spans hold the causality.
OPTIONS = (
    ("spans", False), ("cap", False), ("cap", True), ("slopes", True), ("spans cap", False),
    ("spans slopes", False), ("spans cap slopes", False),
)  # fmt: skip
OPTION_WIDTHS = {torch.bfloat16: (64, 128, 256), torch.float16: (64, 128), torch.float32: (64, 128)}
MEASURED_WIDTHS = (64, 128)
UNEQUAL = ((64, 128), (128, 64), (192, 128), (64, 256))  # of a key, of a value; bfloat16


@contextmanager
def compiling() -> Iterator[list[tuple[str, Any]]]:
    """Compile what is launched in place of launching it; yield the list of names and kernels."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.runtime.jit import JITFunction

    launch, kernels = JITFunction.run, []
    hopper = SimpleNamespace(
        get_current_target=lambda: GPUTarget("cuda", 90, 32),
        get_current_device=lambda: 0,
        get_current_stream=lambda device: 0,
    )

    def warm_up(self: Any, *args: Any, **options: Any) -> None:
        kernels.append((self.fn.__name__, launch(self, *args, **{**options, "warmup": True})))

    triton.runtime.driver.set_active(hopper)
    with (
        mock.patch.object(JITFunction, "run", warm_up),
        mock.patch("course_utils.attention.tiled.flash.launch._on", return_value=nullcontext()),
    ):
        yield kernels


def compile_all(
    dtype: torch.dtype, width: int, is_causal: bool, length: int, num_kv_heads: int,
    options: str = "", value_width: int = 0,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Compile all three kernels as a call with these arguments and two heads would.

    Yields for each the call's arguments, and what the compiler said.
    """
    from course_utils.attention.tiled.flash.launch import flash_backward, flash_forward, gpu_tilings
    from course_utils.attention.tiled.flash.mods import Extras

    query = torch.zeros(1, 2, length, width, dtype=dtype)
    key = query[:, :num_kv_heads]
    value = torch.zeros(*key.shape[:3], value_width or width, dtype=dtype)
    ends = torch.zeros(2, length, dtype=torch.int32)
    made = {"spans": ends, "places": ends[0], "cap": 50.0, "slopes": torch.zeros(2)}
    asked = options.replace("spans", "spans places").split()
    extras = Extras(**{name: made[name] for name in asked})
    cut = gpu_tilings(dtype, max(width, value_width), extras.cap is not None)
    with compiling() as kernels:
        given = 0.1, is_causal, cut
        out, lse = flash_forward(query, key, value, *given, extras=extras)
        flash_backward(query, key, value, out, lse, out, *given, extras, extras.spans)
    call = {
        "dtype": str(dtype).removeprefix("torch."),
        "width": width,
        "is_causal": is_causal,
        "length": length,
        "value_width": value.shape[-1],
        "options": options,
    }
    for name, kernel in kernels:
        yield {"kernel": name, **call, **_facts(kernel)}


def calls(short: bool = False) -> Iterator[tuple[Any, ...]]:
    """Yield what `compile_all` is given, for every kernel that a call may take.

    A short list has each dtype with each width, each option, and each pair of unequal widths once,
    and the kernels that were measured.
    """
    for dtype, widths in WIDTHS.items():
        for width, is_causal in product(widths, (False, True)):
            if not short or (dtype is torch.bfloat16 and width in MEASURED_WIDTHS):
                yield dtype, width, is_causal, 1024, 2
            if not short or is_causal:
                yield dtype, width, is_causal, 1000, 1
    for dtype, widths in OPTION_WIDTHS.items():
        for width, (options, is_causal) in product(widths, OPTIONS):
            if not short or (dtype is torch.bfloat16 and width == 128):
                yield dtype, width, is_causal, 1000, 1, options
    for width, value_width in UNEQUAL:
        yield torch.bfloat16, width, True, 1000, 1, "", value_width


def _facts(kernel: Any) -> dict[str, Any]:
    ptx: str = kernel.asm["ptx"]
    said = _assemble(ptx)
    registers = re.search(r"Used (\d+) registers", said)
    spills = re.findall(r"(\d+) bytes spill (?:stores|loads)", said)
    if registers is None or not spills:
        raise ValueError(f"ptxas must say how many registers it used, got {said!r}")
    return {
        "instructions": len(INSTRUCTION.findall(ptx)),
        "registers": int(registers[1]),
        "spilled": sum(map(int, spills)),
        "shared": int(kernel.metadata.shared),
        "wgmma": "wgmma.mma_async" in ptx,
        "tma": "cp.async.bulk.tensor" in ptx,
        "serialized": "serialized" in said,
    }


def _assemble(ptx: str) -> str:
    """Return what ptxas says of a kernel; Triton's cache, which keeps the kernel, keeps it too."""
    import triton
    from triton.runtime.cache import get_cache_manager

    key = hashlib.sha256(f"{triton.__version__} {ptx}".encode()).hexdigest()
    cache = get_cache_manager(key)
    kept = cache.get_file("ptxas.txt")
    if kept is not None:
        return Path(kept).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.ptx"
        source.write_text(ptx, encoding="utf-8")
        ptxas = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas"
        command = [str(ptxas), "-v", "--gpu-name", "sm_90a", str(source), "-o", f"{source}.cubin"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    cache.put(said, "ptxas.txt", binary=False)
    return said


def main() -> None:
    """Print what the compiler says of every kernel that a call may take."""
    if os.environ.get("TRITON_INTERPRET"):
        sys.exit("TRITON_INTERPRET must not be set: it makes triton interpret, not compile")
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true", help="each choice once, not all together")
    for call in calls(parser.parse_args().short):
        for one in compile_all(*call):
            print(json.dumps(one), flush=True)


if __name__ == "__main__":
    main()
