"""The records of chapter 12 hold what its text says of them."""

import math

import pytest

from course_utils.measure import read_record

DATES, STABILITY = (read_record(f"chapter_12_{name}")["runs"] for name in ("dates", "stability"))


def test_every_way_of_fewer_bits_stayed_finite_and_was_judged() -> None:
    runs = [run for run in DATES if run["what"] == "precision"]
    assert {run["way"] for run in runs} == {"float32", "autocast", "bfloat16 weights"}
    assert all(run["finite"] for run in runs)


def test_a_smoothed_loss_ends_above_its_floor() -> None:
    share = 0.1 / 15
    floor = -(0.9 + share) * math.log(0.9 + share) - 14 * share * math.log(share)
    (run,) = (run for run in DATES if run.get("smoothing") == 0.1)
    assert run["training_loss"] > floor


def test_the_tenth_power_of_a_characters_share_is_near_the_share_of_dates() -> None:
    (run,) = (run for run in DATES if run.get("smoothing") == 0.0)
    for judged in run["curve"]:
        assert judged["accuracy"] ** 10 == pytest.approx(judged["exact"], abs=0.06)


def test_every_depth_run_and_every_optimiser_is_there_once() -> None:
    deep = [run for run in STABILITY if run["what"] == "depth"]
    assert len(deep) == len({(run["pre_norm"], run["warmup"], run["rate"]) for run in deep}) == 12
    rest = [run for run in STABILITY if run["what"] == "optimizer"]
    assert len(rest) == len({(run["name"], run["rate"]) for run in rest}) == 12
