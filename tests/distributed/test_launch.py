"""Test what `run_ranks` returns, what a failing rank leads to, and that nothing is left behind."""

import multiprocessing
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from course_utils.distributed import run_ranks
from course_utils.distributed.faults import FAULTS, failing_job
from tests.distributed.failure_trials import is_running, slow_to_tell, trials
from tests.distributed.rank_jobs import (
    all_wait,
    lonely,
    noted,
    quiet,
    raised_while_complaining,
    slow_last,
    strange,
    told,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def nothing_left(tmp_path: Path):
    """Yield a folder in which processes leave their numbers; afterwards none may run."""
    yield str(tmp_path)
    numbers = [int(path.name) for path in tmp_path.iterdir()]
    assert numbers
    assert not [number for number in numbers if is_running(number)]
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_results_come_by_rank_from_processes_of_one_thread(world_size) -> None:
    reports = run_ranks(told, world_size, "word", [1, 2])
    assert [report[:3] for report in reports] == [
        (rank, world_size, ("word", [1, 2])) for rank in range(world_size)
    ]
    assert len({report[3] for report in reports} | {os.getpid()}) == world_size + 1
    assert {report[4] for report in reports} == {1}
    assert run_ranks(quiet, world_size) == world_size * [None]


@pytest.mark.thorough
def test_where_nothing_can_be_forked_processes_are_spawned(monkeypatch, nothing_left) -> None:
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    assert len(run_ranks(noted, 2, nothing_left)) == 2


def test_a_function_of_a_notebook_travels_by_value() -> None:
    factor = torch.tensor([3.0])

    def job(rank, world_size, given):
        return {"rank": rank, "made": factor * given["x"]}

    reports = run_ranks(job, 2, {"x": torch.ones(2)})
    assert [report["made"].tolist() for report in reports] == [[3.0, 3.0], [3.0, 3.0]]


def test_processes_end_with_the_call(nothing_left) -> None:
    run_ranks(noted, 3, nothing_left)


def test_nobody_leaves_before_all_are_done(tmp_path) -> None:
    run_ranks(slow_last, 3, str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["all are done"]


@pytest.mark.thorough
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("leaves_first", [False, True])
def test_the_rank_at_fault_is_named_and_nothing_is_left(fault, leaves_first, nothing_left) -> None:
    says = {
        "raise": "rank 1 of 3 raised ValueError: this rank was told to fail",
        "exit": "rank 1 of 3 ended without a report: exit code 3",
        "kill": "rank 1 of 3 ended without a report: signal SIGKILL",
        "hang": "rank 1 of 3 reported nothing in 4 s; it is at faults.py:",
    }
    timeout = 4.0 if fault == "hang" else 60.0
    delays = [0.1, 0.2, 0.0]
    with pytest.raises(RuntimeError, match=f"^{re.escape(says[fault])}") as caught:
        run_ranks(slow_to_tell, 3, nothing_left, fault, 1, 2, delays, leaves_first, timeout=timeout)
    assert "rank 0" not in str(caught.value)
    assert "rank 2" not in str(caught.value)


@pytest.mark.thorough
def test_a_rank_that_is_busy_with_the_loss_of_a_neighbour_is_not_the_one_that_hangs(
    nothing_left,
) -> None:
    delays = [9.0, 0.0, 9.0]
    with pytest.raises(RuntimeError, match=r"^rank 1 of 3 reported nothing in 3 s"):
        run_ranks(slow_to_tell, 3, nothing_left, "hang", 1, 1, delays, False, timeout=3.0)


def test_the_traceback_of_the_rank_is_the_cause() -> None:
    with pytest.raises(RuntimeError) as caught:
        run_ranks(failing_job, 2, "raise", 0, timeout=60.0)
    assert 'raise ValueError("this rank was told to fail")' in str(caught.value.__cause__)


def test_an_error_of_the_job_that_sounds_like_a_lost_connection_is_its_own() -> None:
    with pytest.raises(RuntimeError, match=r"^rank 1 of 3 raised RuntimeError: gloo: connection"):
        run_ranks(raised_while_complaining, 3, timeout=60.0)


@pytest.mark.thorough
def test_ranks_that_wait_for_one_that_is_done_are_said_to_wait(nothing_left) -> None:
    says = r"^rank 1, 2 of 3 waited 3 s for another rank.*; rank 0 was done: every rank must send"
    with pytest.raises(RuntimeError, match=says):
        run_ranks(lonely, 3, nothing_left, timeout=3.0)


@pytest.mark.thorough
def test_ranks_that_wait_for_each_other_are_all_named(nothing_left) -> None:
    with pytest.raises(RuntimeError, match=r"^rank 0, 1 of 2 waited 3 s for another rank"):
        run_ranks(all_wait, 2, nothing_left, timeout=3.0)


def test_a_result_that_cannot_be_sent_is_an_error_of_its_rank() -> None:
    with pytest.raises(RuntimeError, match=r"rank [01] of 2 raised TypeError: cannot pickle"):
        run_ranks(strange, 2, timeout=60.0)


def test_after_a_failure_the_next_call_works(nothing_left) -> None:
    with pytest.raises(RuntimeError):
        run_ranks(failing_job, 2, "kill", 1, timeout=60.0)
    assert len(run_ranks(noted, 2, nothing_left)) == 2


def test_what_cannot_be_started_is_refused() -> None:
    with pytest.raises(TypeError, match="job must be callable, got int"):
        run_ranks(3, 2)
    with pytest.raises(ValueError, match="world_size must be at least 1, got 0"):
        run_ranks(quiet, 0)
    with pytest.raises(ValueError, match="timeout must be a positive number, got 0"):
        run_ranks(quiet, 2, timeout=0)


@pytest.mark.thorough
def test_torchrun_starts_the_same_job_by_one_command() -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*command, "--nproc-per-node", "2", "-m", "course_utils.distributed.jobs"],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = [line.rpartition(" ") for line in sorted(done.stdout.splitlines())]
    assert [what for what, *_ in said] == [
        f"rank {rank} of 2: 32,768 bytes sent, within" for rank in range(2)
    ]
    assert all(float(apart) < 1e-14 for *_, apart in said)


@pytest.mark.thorough
@pytest.mark.parametrize("fault", FAULTS)
def test_whoever_reports_first_the_guilty_rank_is_named(fault) -> None:
    """A few of the trials that `failure_trials.py` makes by the hundred."""
    timeout = 4.0 if fault == "hang" else 60.0
    for one in trials(fault, 3 if fault == "hang" else 10, seed=1, timeout=timeout):
        assert one.is_named(fault), f"rank {one.guilty} of {one.world_size}: {one.said}"
        assert not one.left
