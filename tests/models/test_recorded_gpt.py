"""What was recorded for chapter 10 belongs to the models of today and bears the chapter out."""

import pytest

from course_utils.attention import KVCache, QuantizedCache
from course_utils.measure import read_record
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


def test_longer_training_is_better_and_an_int8_cache_hardly_worse() -> None:
    *short, long = TRAINING["runs"]
    assert len({run["seed"] for run in short}) == len(short) >= 3
    assert all(long["loss"] < run["loss"] for run in short)
    assert all(run["bits_a_character"] < 1.8 for run in TRAINING["runs"])
    for run in TRAINING["runs"]:
        through = run["loss_through"]
        assert through["float32"] == pytest.approx(run["loss"], abs=1e-4)
        assert abs(through["int8"] - through["float32"]) < 1e-3
        assert run["bytes"]["int8"] < run["bytes"]["float32"] / 3


def test_beyond_the_trained_length_only_a_rolling_cache_holds_the_loss() -> None:
    for run in TRAINING["runs"]:
        trained, *_, longest = run["loss_at"].values()
        assert trained["all"] == trained["rolling"] == run["loss"]
        assert longest["all"] > trained["all"] + 0.1
        assert longest["rolling"] < trained["rolling"] + 0.02


def test_every_way_was_measured_at_every_position() -> None:
    found = {(run["way"], run["position"]) for run in DECODE["runs"]}
    ways, places = ({run[of] for run in DECODE["runs"]} for of in ("way", "position"))
    assert len(found) == len(DECODE["runs"]) == len(ways) * len(places)
    assert ways == {*DECODE["settings"]["num_kv_heads"], "concatenated", "no cache"}


def test_a_cached_token_costs_a_fraction_that_shared_heads_do_not_change_in_flops() -> None:
    lines = {line["way"]: line for line in DECODE["lines"]}
    assert lines["MHA"]["slope_below_no_cache"] >= 40
    assert lines["concatenated"]["milliseconds_a_1000_positions"] > (
        1.5 * lines["MHA"]["milliseconds_a_1000_positions"]
    )
    assert lines["no cache"]["exponent_of_flops"] > 1 > lines["MHA"]["exponent_of_flops"]
    growth = [lines[way]["flops_a_position"] for way in ("MHA", "GQA", "MQA")]
    assert len(set(growth)) == 1  # they save memory, and the time to read it


def test_generation_wrote_the_same_tokens_in_less_time_most_where_the_model_is_small() -> None:
    alone = [run for run in DECODE["generate"] if run["batch"] == 1]
    assert all(run["same_tokens"] for run in DECODE["generate"])
    # Ours has less around the products, so the gain shrinks as the products grow.
    assert all(run["times_faster"] >= 1.8 for run in alone if run["d_model"] <= 128)
    assert all(run["times_faster"] >= 1.0 for run in alone)
    assert alone[0]["times_faster"] > alone[-1]["times_faster"]


def test_flops_of_a_step_are_those_of_the_model_of_today() -> None:
    settings = DECODE["settings"]
    d_model, layers = settings["d_model"], settings["num_layers"]
    run = next(run for run in DECODE["runs"] if run["way"] == "MHA" and run["position"] == 128)
    matrices = layers * 12 * d_model**2 + settings["vocabulary"] * d_model
    assert run["flops"] == 2 * matrices + layers * 4 * 128 * d_model
