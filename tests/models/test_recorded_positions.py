"""The recorded curves of chapter 07 belong to the schemes, the tasks and the lengths of today."""

import itertools

from course_utils.measure import read_record
from course_utils.models import copy_task
from course_utils.models.named_schemes import RESCALED, TRAINED

RECORD = read_record("chapter_07_positions")


def test_every_scheme_has_every_seed_of_both_tasks_once() -> None:
    found = [(run["task"], run["scheme"], run["seed"]) for run in RECORD["runs"]]
    seeds = range(RECORD["settings"]["seeds"])
    wanted = itertools.product(("text", "copy"), (*TRAINED, *RESCALED), seeds)
    assert len(seeds) >= 3
    assert sorted(found) == sorted(wanted)


def test_each_run_is_judged_up_to_eight_times_the_trained_length() -> None:
    trained = RECORD["settings"]["trained"]
    assert trained["copy"] == copy_task().trained
    for run in RECORD["runs"]:
        lengths = [str(int(times * trained[run["task"]])) for times in (1, 1.5, 2, 4, 8)]
        assert list(run["loss"]) == list(run["accuracy"]) == lengths
        assert all(0 <= share <= 1 for share in run["accuracy"].values())


def test_stretching_starts_from_the_trained_model() -> None:
    at_first = {
        (run["task"], run["seed"], run["scheme"]): next(iter(run["loss"].values()))
        for run in RECORD["runs"]
    }
    for (task, seed, scheme), loss in at_first.items():
        if scheme in RESCALED:
            assert loss == at_first[task, seed, "RoPE"]
