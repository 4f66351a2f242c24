import subprocess
import sys

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.measure import peak_memory

MIB = 2**20


def mebibytes(count: int) -> Tensor:
    return torch.empty(count, MIB // 4)


def test_what_is_given_back_no_longer_counts() -> None:
    def one_after_the_other() -> None:
        for _ in range(5):
            mebibytes(3)

    assert peak_memory(one_after_the_other) == 3 * MIB


def test_what_is_held_together_adds_up() -> None:
    def together() -> list[Tensor]:
        first = mebibytes(3)
        mebibytes(5)
        return [first, mebibytes(4)]

    assert peak_memory(together) == 8 * MIB


@pytest.mark.parametrize(
    ("call", "expected"),
    [(torch.exp, 2), (torch.exp_, 0), (lambda x: x[:1].neg(), 1), (lambda x: x.exp().sqrt(), 4)],
    ids=["new", "in place", "view", "two steps"],
)
def test_arguments_and_views_cost_nothing(call, expected) -> None:
    assert peak_memory(call, mebibytes(2)) == expected * MIB


def test_sees_what_an_operation_needs_inside() -> None:
    """SDPA keeps a buffer of its own beside the output, which no tensor of ours shows."""
    x = torch.zeros(1, 8, 512, 64)
    assert 0 < peak_memory(F.scaled_dot_product_attention, x, x, x) - x.nbytes < 3 * MIB


def test_an_exception_of_the_call_comes_through() -> None:
    with pytest.raises(RuntimeError, match="must match"):
        peak_memory(torch.add, torch.zeros(2), torch.zeros(3))


@pytest.mark.thorough
def test_says_nothing_on_stderr() -> None:
    code = "import torch; from course_utils.measure import peak_memory; peak_memory(torch.ones, 9)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
