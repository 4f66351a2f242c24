"""The record of chapter 11 belongs to the models of today, and says what its pages say."""

from statistics import mean

import pytest
import torch

from course_utils.data import DateTokens, sample_dates
from course_utils.measure import read_record
from course_utils.models import OneStream, Transformer

RECORD = read_record("chapter_11_dates")
SETTINGS, RUNS = RECORD["settings"], RECORD["runs"]
WIDE = [run for run in RUNS if run["positions"] == 1.0]


def exact(name: str) -> list[float]:
    return [run["exact_match"] for run in WIDE if run["model"] == name]


@pytest.mark.thorough
def test_the_trained_models_have_the_parameters_of_today() -> None:
    dates = sample_dates(SETTINGS["pairs"], torch.Generator().manual_seed(0))
    tokens = DateTokens.of(dates)
    alphabets = len(tokens.source), len(tokens.target)
    sizes = {name: SETTINGS[name] for name in ("d_model", "num_heads", "d_ff")}
    for run in RUNS:
        name = run["model"]
        if "+" in name:
            layers = tuple(map(int, name.split(" + ")))
            model = Transformer(*alphabets, **sizes, num_layers=layers)
        else:
            model = OneStream(*alphabets, name, **sizes, num_layers=2)
        assert run["parameters"] == sum(one.numel() for one in model.parameters()), name


def test_every_run_is_another_training_and_every_model_has_as_many_seeds() -> None:
    keys = {(run["model"], run["positions"], run["seed"]) for run in RUNS}
    assert len(keys) == len(RUNS)
    counts = {run["model"]: len(exact(run["model"])) for run in WIDE}
    assert len(set(counts.values())) == 1, counts


def test_what_the_pages_say_of_the_runs() -> None:
    assert min(exact("1 + 1") + exact("2 + 2")) >= 0.96
    assert max(exact("bert")) < min(exact("gpt") + exact("prefix") + exact("2 + 2"))
    (small,) = (run["exact_match"] for run in RUNS if run["positions"] == 0.02)
    assert small < min(exact("1 + 1")) - 0.1
    gru = read_record("chapter_02_dates")["runs"]
    additive = [run for run in gru if run["context"] == "additive" and run["width"] == 64]
    assert min(run["exact_match"] for run in additive) > mean(exact("1 + 1") + exact("2 + 2"))


def test_the_gru_takes_longer_and_the_longer_the_text_the_more() -> None:
    times = {(row["model"], row["length"]): row["milliseconds"] for row in RECORD["steps"]}
    lengths = sorted({length for _, length in times})
    ratios = [times["GRU, additive", n] / times["1 + 1", n] for n in lengths]
    assert ratios == sorted(ratios)
    assert ratios[0] > 1
