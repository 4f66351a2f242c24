"""The record of speculation belongs to the models of today, and its figures follow from it."""

import pytest

from course_utils.measure import read_record
from course_utils.models import GPT

RECORD = read_record("chapter_10_speculation")
SETTINGS, RUNS = RECORD["settings"], RECORD["runs"]


@pytest.mark.parametrize("name", ["target", "GPT"])
def test_the_models_have_the_parameters_of_today(name) -> None:
    about = SETTINGS[name]
    sizes = {size: about[size] for size in ("d_model", "num_heads", "num_layers")}
    model = GPT(SETTINGS["vocabulary"], positions="rope", max_length=256, **sizes)
    assert about["parameters"] == sum(one.numel() for one in model.parameters())


def test_greedy_text_was_the_target_s_in_every_run() -> None:
    greedy = [run for run in RUNS if run["greedy"] and run["gamma"]]
    assert len(greedy) == 8
    assert all(run["same_tokens"] for run in greedy)


def test_tokens_per_call_follow_from_the_acceptance() -> None:
    """Four texts end in the middle of a round, so that a little less is written than allowed."""
    for run in RUNS:
        if run["gamma"]:
            alpha, gamma = run["acceptance"], run["gamma"]
            want = (1 - alpha ** (gamma + 1)) / (1 - alpha)
            assert run["formula"] == pytest.approx(want, abs=2e-3)
            assert run["tokens_per_call"] == pytest.approx(run["formula"], abs=0.1)


def test_the_law_is_chance_with_the_residual_and_is_not_without() -> None:
    law = SETTINGS["law"]
    assert law["residual"] < 0.02 < 0.1 < law["target"]


def test_a_table_costs_so_little_that_half_of_its_guesses_are_enough() -> None:
    faster = {(run["draft"], run["gamma"], run["greedy"]): run["times_faster"] for run in RUNS}
    assert max(faster["bigrams", gamma, False] for gamma in (1, 2, 4, 8)) >= 1.5
    assert max(value for (name, *_), value in faster.items() if name == "GPT") < 1.5
