"""What chapter 09 says of tiles on a CPU, held against the recorded measurement."""

import pytest

from course_utils.measure import read_record

RECORD = read_record("chapter_09_tiled")
SETTINGS = RECORD["settings"]
LONG = [run for run in RECORD["runs"] if run["length"] >= 2048]
MIB = 2**20


def runs(what: str, training: bool, is_causal: bool) -> list[dict]:
    case = {"what": what, "training": training, "is_causal": is_causal}
    return [run for run in LONG if case.items() <= run.items()]


def exponent(what: str, training: bool, is_causal: bool) -> float:
    case = {"what": what, "training": training, "is_causal": is_causal}
    (row,) = (row for row in RECORD["exponents"] if case.items() <= row.items())
    return row["peak_bytes"]


@pytest.mark.parametrize(
    ("what", "training", "is_causal", "most"),
    [
        ("tiled", False, False, 2.0),
        ("tiled", False, True, 2.0),
        ("recomputed", False, False, 1.25),
        ("recomputed", False, True, 1.4),
        ("recomputed", True, False, 1.7),
        ("recomputed", True, True, 1.7),
    ],
)
def test_tiles_take_little_longer_than_sdpa(what, training, is_causal, most) -> None:
    found = runs(what, training, is_causal)
    assert [run["length"] for run in found] == [2048, 4096, 8192]
    assert max(run["over_sdpa"] for run in found) <= most


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("what", ["tiled", "recomputed"])
def test_the_forward_pass_holds_ten_mebibytes_beside_its_output(what, is_causal) -> None:
    for run in runs(what, False, is_causal):
        output = 4 * SETTINGS["heads"] * run["length"] * SETTINGS["d_k"]
        assert run["peak_bytes"] <= output + 10 * MIB
    assert exponent(what, False, is_causal) <= 1.0


@pytest.mark.parametrize("is_causal", [False, True])
def test_recomputing_trains_in_the_memory_of_sdpa_and_autograd_in_that_of_all_scores(
    is_causal,
) -> None:
    ours, theirs = (runs(what, True, is_causal) for what in ("recomputed", "SDPA"))
    for one, other in zip(ours, theirs, strict=True):
        assert one["peak_bytes"] <= 1.1 * other["peak_bytes"]
    assert exponent("recomputed", True, is_causal) <= 1.0
    assert exponent("tiled", True, is_causal) > 1.7
