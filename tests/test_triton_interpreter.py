import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from course_utils.triton_interpreter import interpreted, interpreter, jit, tl

triton = pytest.importorskip("triton", reason="the interpreter is triton's")
ROOT = Path(__file__).resolve().parents[1]

ATTEND = """
import torch
from course_utils.attention.tiled.flash.flash import flash_attention
query = torch.randn(1, 1, 70, 16, generator=torch.Generator().manual_seed(0), requires_grad=True)
out = flash_attention(query, query, query, True)
out.sum().backward()
print(out.sum().item(), query.grad.sum().item(), flush=True)
"""
# Triton reads the variable when it is imported: each world is a fork, in which it was not yet.
WORLDS = """
import os, sys, torch
assert "triton" not in sys.modules
for first in ("", "import triton", "import torch.utils.flop_counter"):
    for variable in (None, "1"):
        if os.fork():
            if os.wait()[1]:
                sys.exit(f"{first!r}, {variable!r} failed")
            continue
        if variable:
            os.environ["TRITON_INTERPRET"] = variable
        exec(first)
        exec(ATTEND)
        os._exit(0)
"""


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a Python of its own, with TRITON_INTERPRET only where it is given."""
    kept = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**kept, **environment}, text=True,
        capture_output=True,
    )  # fmt: skip


@jit
def double_kernel(given, made, count, BLOCK: tl.constexpr):
    place = tl.arange(0, BLOCK)
    x = tl.load(given + place, mask=place < count, other=0.0)
    tl.store(made + place, x * 2 + x.sum(0) * 0, mask=place < count)


@jit
def failing_kernel(made):
    raise ZeroDivisionError("from within")


@jit
def apply_kernel(given, made, fn: tl.constexpr):
    tl.store(made, fn(tl.load(given)))


def test_a_kernel_runs_whatever_triton_was_imported_for() -> None:
    given, made = torch.arange(5.0), torch.zeros(6)
    with interpreter():
        double_kernel[(1,)](given, made, 5, 8)
    assert made.tolist() == [0, 2, 4, 6, 8, 0]


def test_an_error_in_a_kernel_comes_out_as_it_was_raised() -> None:
    with pytest.raises(ZeroDivisionError, match="from within"), interpreter():
        failing_kernel[(1,)](torch.zeros(1))


def test_all_that_was_replaced_is_put_back() -> None:
    owners = (triton.JITFunction, tl, tl.core, tl.math, tl.tensor, tl.dtype)
    before = [dict(vars(owner)) for owner in owners]
    with interpreter():
        double_kernel[(1,)](torch.zeros(5), torch.zeros(5), 5, 8)
        assert vars(tl.tensor) != before[4]
    assert [dict(vars(owner)) for owner in owners] == before


def test_a_function_s_own_module_gets_no_new_names() -> None:
    before = set(globals())
    with interpreter():
        double_kernel[(1,)](torch.zeros(5), torch.zeros(5), 5, 8)
    assert set(globals()) == before


def test_functions_with_and_without_the_decorator_are_interpreted_alike() -> None:
    def third(x):
        y = 3
        return x / y

    for fn in (third, jit(third), lambda x: x / 3):
        made = torch.zeros(1)
        with interpreter():
            apply_kernel[(1,)](torch.ones(1), made, interpreted(fn))
        assert made.item() == pytest.approx(1 / 3)


@pytest.mark.thorough
def test_the_environment_variable_changes_nothing_whatever_was_imported_first() -> None:
    done = run(f"ATTEND = {ATTEND!r}{WORLDS}")
    assert done.returncode == 0, done.stderr
    results = done.stdout.splitlines()
    assert len(results) == 6
    assert len(set(results)) == 1


@pytest.mark.thorough
def test_without_triton_it_is_said_what_is_missing() -> None:
    done = run("import sys\nsys.modules['triton'] = None\n" + ATTEND)
    assert "ImportError: This needs triton, which is not installed" in done.stderr


@pytest.mark.thorough
def test_without_triton_the_exercise_says_so_and_the_rest_goes_on() -> None:
    done = run(
        "import sys\nsys.modules['triton'] = None\n"
        "from course_utils.checking.judge import judge\n"
        "from course_utils.exercises import find\n"
        "def flash_forward_tile(m, l, acc, q, k, v, columns, limit, scale_log2):\n"
        "    return tl.exp2(m), l, acc\n"
        "print(judge(find('flash_forward_tile'), flash_forward_tile))\n"
        "exercise = find('merge_partials')\n"
        "print(judge(exercise, exercise.reference))\n"
    )
    assert done.returncode == 0, done.stderr
    assert "This exercise needs Triton, which is not installed here. On Linux" in done.stdout
    assert "merge_partials: Passed" in done.stdout
