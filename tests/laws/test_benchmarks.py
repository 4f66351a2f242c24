"""Each benchmark is run from end to end, so small that its figures mean nothing.

The chapters' take a minute and a half of processor time, so they are left to `make repeat`.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers import bench
from benchmarks.peers.pairs import PAIRS
from benchmarks.recording import apart, module
from course_utils import model_file
from course_utils.environment import ROOT
from course_utils.exercises import places
from course_utils.measure import read_record
from course_utils.measure.record import RESULTS

FILES = {path.stem: module(str(path)) for path in (ROOT / "benchmarks").rglob("*.py")}
RUN = """
import importlib, json, sys
import torch
from benchmarks import timing
torch.compile = lambda fn, **options: fn  # what is compiled is tested where it belongs
timing.in_rounds.__defaults__ = (0.0,)  # each call is timed once
name, small, *arguments = sys.argv[1:]
module = importlib.import_module(name)
for constant, value in json.loads(small).items():
    assert hasattr(module, constant), f"{name} has no {constant} any more"
    setattr(module, constant, value)
sys.argv = [name, *arguments]
module.main()
"""
STEPS: dict[str, Any] = {"steps": 2, "batch": 4, "learning_rate": 3e-3}
TINY = {"d_model": 8, "num_heads": 2, "num_layers": 1, "max_length": 256}
# The constants of each script that say how much work it does, and its arguments.
SMALL: dict[str, tuple[dict[str, Any], list[str]]] = {
    "bench": ({"IMPORTS": ["course_utils"]}, ["--pair", "one-query", "--rounds", "1"]),
    "verdicts": ({}, ["--names", "exact_match"]),
    "chapter_01_bottleneck": (
        {"SIZES": [["fixed", 8], ["attention", 8]], "LENGTHS": [2, 3], "SETTINGS": STEPS,
         "TESTED": 4, "LONG_STEPS": 3},
        ["--seeds", "1", "--long"],
    ),
    "chapter_01_copies": ({}, []),
    "chapter_01_overwriting": (
        {"SETTINGS": STEPS, "LENGTH": 3, "FITTED": 8, "TESTED": 4, "SHOWN": 2}, []
    ),
    "chapter_02_dates": ({"PAIRS": 600, "TESTED": 64, "SETTINGS": STEPS}, ["--seeds", "1"]),
    "chapter_02_writer": ({"PAIRS": 600, "EACH": 2, "OTHER": 12, "SETTINGS": STEPS}, []),
    "chapter_03_scaling": (
        {"STEPS": 1, "WIDTHS": [16], "RATES": [0.01], "WINDOWS": 4}, ["--seeds", "1"]
    ),
    "chapter_05_heads": ({}, []),
    "chapter_05_multi_head": ({"FORWARD": [[2, 8]], "BACKWARD": [[2, 8]]}, ["--rounds", "1"]),
    "chapter_07_positions": ({"STEPS": 1, "TIMES": [1, 1.5]}, ["--seeds", "1"]),
    "chapter_08_cheaper": (
        {"LENGTHS": [128, 256, 512], "FROM": {"all": [128, 512]}, "LINEAR_LENGTHS": [256],
         "DECODE_LENGTHS": [64]},
        ["--rounds", "1"],
    ),
    "chapter_08_indexer": (
        {"STEPS": 1, "LEARNT": 1, "PAIRS": 6, "LISTS": 2, "TOP_K": 2}, ["--seeds", "1"]
    ),
    "chapter_08_practice": (
        {"TOKENS": [16], "TEXTS": [64], "STEPS": 1, "WINDOWS": 1}, ["--rounds", "1"]
    ),
    "chapter_08_practice_recall": ({"STEPS": 25}, ["--seeds", "1"]),
    "chapter_08_practice_sinks": ({"STEPS": 1}, ["--seeds", "1"]),
    "chapter_08_recall": ({"STEPS": 1, "ASKED": [4], "SEQUENCES": 4}, ["--seeds", "1"]),
    "chapter_09_production": ({}, ["--length", "128", "--rounds", "1"]),
    "chapter_09_tiled": (
        {"HEADS": 1, "D_K": 4, "LENGTHS": [1024, 1100, 1200], "TILES": [[512, 512]]},
        ["--rounds", "1"],
    ),
    "chapter_10_decode": (
        {"POSITIONS": [16, 24, 32], "TOKENS": 50, "GENERATED": [[32, 1, 2, 50, 1, 4]]},
        ["--rounds", "1"],
    ),
    "chapter_10_serving": (
        {"BATCHES": [1, 2], "LARGE": TINY, "SMALL": TINY, "PAST": 8, "ROOF": 16, "REQUESTS": 3,
         "ROWS": 2, "BEGINNING": 20, "READERS": 2},
        ["--rounds", "1"],
    ),
    "chapter_10_speculation": (
        {"TARGET": {"d_model": 8, "num_heads": 2, "num_layers": 2}, "PROMPTS": 1, "WRITTEN": 4,
         "GAMMAS": [1], "FED": [1, 2], "DRAWS": 20},
        ["--steps", "12", "--rounds", "1"],
    ),
    "chapter_10_training": ({"SHORT": 1, "LONG": 2, "READ_AT": [64]}, ["--seeds", "1"]),
    "chapter_11_dates": (
        {"PAIRS": 600, "TESTED": 64, "SETTINGS": STEPS, "LENGTHS": [4, 8], "ROUNDS": 1,
         "DEEP_STEPS": 1},
        ["--seeds", "1"],
    ),
    "chapter_11_steps": (
        {"PAIRS": 600, "TESTED": 64, "SETTINGS": STEPS, "LONG": 2, "LEAK": 3, "FEW": 8},
        ["--seeds", "1"],
    ),
    "chapter_12_dates": (
        {"STEPS": 2, "READ_AT": [1], "SHORT": 2, "DATES": 600, "JUDGED": 16}, ["--seeds", "1"]
    ),
    "chapter_12_scaling": ({"WIDTHS": [4], "READ_AT": [1]}, ["--seeds", "1"]),
    "chapter_12_stability": ({"STEPS": 2, "WARMUP": 1, "DEEP_WARMUPS": [0]}, ["--seeds", "1"]),
    "chapter_13_document": ({}, []),
    "chapter_13_heads": ({"STEPS": 1, "WINDOWS": 2}, ["--seeds", "1"]),
    "chapter_13_induction": ({"MODELS": [[2, 1, 2, False, 1], [1, 2, 2, True, 1]]}, []),
    "chapter_13_rankings": (
        {"STEPS": 1, "POOLED_STEPS": 1, "JUDGED": 40, "EXPLAINED": 4, "FLOWS": 1, "SHUFFLES": 1},
        ["--seeds", "1"],
    ),
    "chapter_14_detection": ({"STEPS": 2, "SHOWN": 1}, ["--seeds", "1"]),
    "chapter_14_digits": ({"STEPS": 2}, ["--seeds", "1"]),
    "chapter_14_dots": ({"STEPS": [2]}, ["--seeds", "1"]),
    "chapter_14_explorer": ({"STEPS": 2}, []),
    "chapter_14_pairs": ({"MATCHED": 2, "TEXT": 2, "EYES": 2}, ["--seeds", "1"]),
    "chapter_14_siglip": ({"STEPS": 25}, ["--seeds", "1"]),
    "chapter_15_parity": ({"RUNS": [["parity", 4, 2]]}, ["--seeds", "1"]),
    "chapter_15_steps": ({"STEPS": 2, "BITS": [3]}, ["--seeds", "1"]),
    "chapter_16_long": (
        {"STEPS": 2, "FURTHER": 1, "READ_AT": [64], "STREAMED": 64}, ["--seeds", "1"]
    ),
    "chapter_16_recall": ({"STEPS": 2}, ["--seeds", "1"]),
    "chapter_16_sinks": ({"STEPS": 2, "STREAMED": 128, "TEXTS": 2}, ["--seeds", "1"]),
    "chapter_16_speed": ({"LENGTHS": [64]}, ["--runs", "2"]),
    "chapter_17_cost": ({"POSITIONS": [16], "LENGTHS": [8, 16, 32]}, ["--seconds", "0.001"]),
    "chapter_17_experts": ({"STEPS": 2}, ["--seeds", "1"]),
    "chapter_17_parts": ({"STEPS": 2}, ["--seeds", "1", "--models", "gated delta, gate"]),
    "chapter_17_recall": ({"STEPS": 2}, ["--seeds", "1", "--models", "WKV"]),
    "chapter_17_stacks": ({}, []),
    "chapter_18_claims": ({}, ["--rounds", "1", "--lengths", "8"]),
    "chapter_19_bits": ({"NUM_TOKENS": 8, "CASES": [["minimum", 4, 32, ["attn_v"]]]}, []),
    "chapter_19_cost": ({"SIZES": [1], "PLACES": [16], "ROUNDS": 1}, []),
    "chapter_19_decode": ({}, ["--rounds", "1", "--written", "2", "--read", "8"]),
    "chapter_19_equal": ({"NUM_TOKENS": 66}, []),
    "chapter_19_lookup": (
        {"NUM_TOKENS": 2, "PROMPTS": {"copy": "one two one two"}, "HASTY": ["copy"]}, []
    ),
    "chapter_19_next_token": ({"LENGTH": 50, "TEMPERATURES": [1.0], "SHARES": [0.9]}, []),
    "chapter_19_ports": ({"NUM_TOKENS": 8, "MORE_PORTS": {}}, []),
    "chapter_19_printed": ({}, []),
    "chapter_19_shared": ({}, []),
    "chapter_19_speech": (
        {"CAPITALS": {"France": "Paris"}, "BARE": ["How are you?"], "ASKED": ["Who are you?"]}, []
    ),
    "chapter_19_windows": ({"NUM_TOKENS": 40, "NUM_PLACES": 8, "WINDOWS": [[32, 16]]}, []),
    "chapter_20_atlas": ({"FIRST": ["a"]}, []),
    "chapter_20_copying": ({"SOURCES": ["embedding"]}, []),
    "chapter_20_induction": ({"LENGTH": 4}, []),
    "chapter_20_lens": ({"LAYERS": [29], "TRIED": ["housing"]}, []),
    "chapter_20_names": ({"COUNT": 1}, []),
    "chapter_20_printed": ({}, []),
    "chapter_20_rankings": ({"FACTS": []}, []),
    "chapter_20_sink": ({}, []),
    "chapter_20_steering": (
        {"LAYERS": [6], "FACTORS": [1.0], "DRAWS": 1, "OPENINGS": ["It is"]}, []
    ),
    "chapter_20_forward_pass": ({"REPEATED": 2}, []),
    "chapter_20_boxes": (
        {"TEXTS": ["housing"], "SCALES": {}, "LAYERS": 1, "NUM_TOKENS": 300, "LONG": ["course"]}, []
    ),
    "chapter_20_recall": ({"COUNTS": [4], "LISTS": 1}, []),
}  # fmt: skip
# They read the released model.
MODEL = {name for name in SMALL if name.startswith(("chapter_19", "chapter_20"))}
LATER = {name for name in SMALL if name.startswith("chapter_")}


def test_every_benchmark_of_a_chapter_stands_in_the_table() -> None:
    assert {name for name in FILES if name.startswith("chapter_")} == LATER


def skip_without_extra(name: str) -> None:
    needs_it = name in ("chapter_05_multi_head", "gpt2-attention")
    if needs_it and not importlib.util.find_spec("x_transformers"):
        pytest.skip("x_transformers comes with the extra [bench]")
    if name in MODEL and model_file.released_model() is None:
        pytest.skip(model_file.MISSING)


def test_the_records_of_make_bench_are_complete() -> None:
    bench, verdicts = (read_record(name)["runs"] for name in ("bench", "verdicts"))
    assert {run["pair"] for run in bench} == {pair.name for pair in PAIRS}
    assert {run["exercise"] for run in verdicts} == set(places())


@pytest.mark.thorough
@pytest.mark.benchmark
@pytest.mark.parametrize("pair", dict.fromkeys(run["pair"] for run in read_record("bench")["runs"]))
def test_a_pair_still_has_the_peers_of_its_record(pair: str) -> None:
    skip_without_extra(pair)
    found = [row["peer"] for row in apart(bench.__file__, "--inside", pair, "--rounds", "1")]
    runs = read_record("bench")["runs"]
    assert found == [run["peer"] for run in runs if run["pair"] == pair]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.benchmark] * (n in LATER)) for n in SMALL]
)
def test_it_runs_from_end_to_end_and_writes_what_its_record_holds(
    name: str, tmp_path: Path
) -> None:
    skip_without_extra(name)
    small, arguments = SMALL[name]
    done = subprocess.run(
        [sys.executable, "-c", RUN, FILES[name], json.dumps(small), *arguments,
         "--out", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    got, recorded = (read_record(name, folder) for folder in (tmp_path, RESULTS))
    assert list(got) == list(recorded)
    assert _parts(got) == _parts(recorded)


def _parts(record: dict[str, Any]) -> dict[str, set[str]]:
    """Return what stands in the rows of each table of a record."""
    return {
        table: {name for row in rows for name in row}
        for table, rows in record.items() if isinstance(rows, list)
    }  # fmt: skip
