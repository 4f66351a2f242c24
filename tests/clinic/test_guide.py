"""The field guide: every row says where it comes from, and its figures are the record's."""

import re

import pytest
import torch

from course_utils.clinic import guide, pareto_front
from course_utils.clinic.from_records import kept, pick, recall_models
from course_utils.measure import read_record


@pytest.mark.parametrize("row", guide.choices(), ids=lambda row: row.have)
def test_a_row_names_a_record_with_its_date_and_machine(row: guide.Choice) -> None:
    record = read_record(row.record)
    assert row.where.startswith(record["date"])
    assert len(row.where) > len("2026-11-23, ")
    assert re.search(r"\d", row.measured)


def test_what_is_claimed_of_a_server_was_measured_with_several_texts() -> None:
    served = read_record("chapter_10_serving")
    rows = {row.have: row for row in guide.choices()}
    one, many = (pick(served["runs"], "step_ms_a_token", batch=n) for n in (1, 64))
    assert rows["generation, 64 texts at once"].measured.startswith(
        f"one batch: {one / many:.1f}× less"
    )
    alone = [row for row in rows.values() if row.record == "chapter_10_decode"]
    assert alone
    assert not any("users" in row.have or "texts" in row.have for row in alone)


def test_a_stretched_model_is_told_before_and_after_its_further_steps() -> None:
    runs = read_record("chapter_16_long")["runs"]
    yarn = [run for run in runs if run["scheme"] == "RoPE + YaRN"]
    row = next(row for row in guide.choices() if row.record == "chapter_16_long")
    for when in ("at 256", "further"):
        loss = sum(run[when]["256"] for run in yarn) / len(yarn)
        assert f"{loss:.2f}" in row.measured


def test_symptoms_of_records_are_worse_before_the_repair() -> None:
    for one in guide.recorded():
        is_share = "recalled" in one.measured
        assert (one.before < one.after) == is_share
        assert read_record(one.record)["date"]


@pytest.mark.parametrize(
    ("model", "numbers"),
    [
        ("full, 4 heads", 2 * 128 * 64),
        ("grouped-query, 2 of 4 heads", 128 * 64),
        ("multi-query, 1 of 16 heads", 2 * 128 * 4),
        ("window of 16, 4 heads", 2 * 16 * 64),
        ("linear, 4 heads", 4 * (16 * 16 + 16)),
        ("latent of 8, 4 heads", 128 * 8),
        ("window of 16, then grouped-query", (2 * 16 * 64 + 128 * 64) // 2),
    ],
)
def test_what_a_layer_keeps(model: str, numbers: int) -> None:
    assert kept(model) == numbers


def test_full_attention_keeps_the_most_and_is_beaten() -> None:
    names, numbers, shares = zip(*recall_models(), strict=True)
    full = names.index("full, 4 heads")
    assert numbers[full] == max(numbers)
    assert not pareto_front(torch.tensor(numbers).double(), torch.tensor(shares))[full]
