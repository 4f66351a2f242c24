"""The record of chapter 10 belongs to the models of today, and its figures follow from it."""

import pytest

from course_utils.attention import KVCache, QuantizedCache
from course_utils.measure import fit_power_law, read_record
from course_utils.models import GPT

TRAINING, DECODE = read_record("chapter_10_training"), read_record("chapter_10_decode")


def test_the_trained_model_has_the_parameters_and_the_caches_of_today() -> None:
    settings = TRAINING["settings"]
    sizes = {name: settings[name] for name in ("d_model", "num_heads", "num_layers", "max_length")}
    model = GPT(settings["vocabulary"], positions=settings["positions"], **sizes)
    layers, heads, d_k = sizes["num_layers"], sizes["num_heads"], 96 // sizes["num_heads"]
    kinds = {"float32": KVCache, "int8": QuantizedCache}
    for run in TRAINING["runs"]:
        assert run["parameters"] == sum(one.numel() for one in model.parameters())
        for name, kind in kinds.items():
            one = kind(1, heads, settings["length"], d_k)
            assert run["bytes"][name] == layers * one.num_bytes


def test_every_run_is_another_training_and_its_losses_agree() -> None:
    runs = TRAINING["runs"]
    assert len({(run["steps"], run["seed"]) for run in runs}) == len(runs)
    for run in runs:
        assert run["loss_through"]["float32"] == pytest.approx(run["loss"], abs=1e-4)
        trained, *_ = run["loss_at"].values()
        assert trained["all"] == trained["rolling"] == run["loss"]


def test_every_way_was_measured_at_every_position() -> None:
    found = {(run["way"], run["position"]) for run in DECODE["runs"]}
    ways, places = ({run[of] for run in DECODE["runs"]} for of in ("way", "position"))
    assert len(found) == len(DECODE["runs"]) == len(ways) * len(places)
    assert ways == {*DECODE["settings"]["num_kv_heads"], "concatenated", "no cache"}


def test_what_is_fitted_follows_from_the_runs() -> None:
    for line in DECODE["lines"]:
        own = [run for run in DECODE["runs"] if run["way"] == line["way"]]
        places, flops = ([run[of] for run in own] for of in ("position", "flops"))
        law = fit_power_law(places, flops)
        assert law.exponent == pytest.approx(line["exponent_of_flops"], abs=1e-3)
    for run in DECODE["generate"]:
        ours, *theirs = run["tokens_a_second"].values()
        assert run["same_tokens"]
        assert run["tokens_a_second"][run["faster_of_theirs"]] == max(theirs)
        # The ratio is a median of rounds, not a ratio of medians.
        assert run["times_faster"] == pytest.approx(ours / max(theirs), rel=0.2)


def test_flops_of_a_step_are_those_of_the_model_of_today() -> None:
    settings = DECODE["settings"]
    d_model, layers = settings["d_model"], settings["num_layers"]
    run = next(run for run in DECODE["runs"] if run["way"] == "MHA" and run["position"] == 128)
    matrices = layers * 12 * d_model**2 + settings["vocabulary"] * d_model
    assert run["flops"] == 2 * matrices + layers * 4 * 128 * d_model
