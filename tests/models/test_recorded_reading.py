"""What the records of chapter 13 hold, and what the chapter says of them."""

import pytest

from course_utils.measure import read_record

INDUCTION, RANKINGS, HEADS = (
    read_record(f"chapter_13_{name}") for name in ("induction", "rankings", "heads")
)


def models(layers: int, heads: int, distinct: bool = False) -> list[dict]:
    kind = layers, heads, distinct
    runs = INDUCTION["runs"]
    return [run for run in runs if (run["layers"], run["heads"], run["distinct"]) == kind]


def test_each_kind_of_model_has_three_seeds() -> None:
    for kind in ((2, 1, False), (2, 4, False), (1, 4, False), (2, 1, True)):
        assert {run["seed"] for run in models(*kind)} == {0, 1, 2}
    assert [len(RANKINGS[part]) for part in ("pooled", "cues", "runs")] == [6, 3, 3]
    assert [run["seed"] for run in HEADS["runs"]] == [0, 1, 2]


@pytest.mark.parametrize("heads", [1, 4])
def test_two_layers_make_a_circuit_that_needs_both(heads: int) -> None:
    for run in models(2, heads):
        assert run["right"] > 0.85
        assert run["above_half_from"] <= 250
        assert max(run["without_layer"]) < 0.15
        assert min(run["induction"][1]) > 0.4
        assert max(run["induction"][0]) < 0.1
        assert max(run["previous"][0]) > 0.25
        assert min(run["start_first_copy"][1]) > 5 * max(run["start_later"][1])
        assert run["value_lengths"][0] > 1.5 * run["value_lengths"][1]


def test_one_head_of_four_hardly_shows() -> None:
    for run in models(2, 4):
        assert min(run["without_head"]) > run["right"] - 0.1


def test_scores_and_accuracy_rise_together() -> None:
    for run in models(2, 1):
        last = run["curve"][-1]
        halfway = [
            next(row["step"] for row in run["curve"] if value(row) > value(last) / 2)
            for value in (
                lambda row: row["right"],
                lambda row: row["induction"][1][0],
                lambda row: row["previous"][0][0],
            )
        ]
        assert max(halfway) - min(halfway) <= 50


def test_neither_one_layer_nor_distinct_segments_make_one() -> None:
    assert all(run["right"] < 0.25 for run in models(1, 4))
    assert all(run["right"] < 0.4 for run in models(2, 1, distinct=True))


def test_the_gap_to_gradient_attention_is_not_closed_by_adding_layers() -> None:
    for run in RANKINGS["runs"]:
        assert 0.8 < run["right"] < 0.95
        signed = {name: pair[0] for name, pair in run["rankings"].items()}
        assert signed["gradient attention"] > 0.6
        others = ("raw weights", "rollout", "flow", "weights × |gradient|", "random")
        assert max(signed[name] for name in others) < 0.3
        assert all(0.75 < share < 0.9 for share in run["effective_share"])


def test_the_encoder_decides() -> None:
    words, lstm = (
        [run for run in RANKINGS["pooled"] if run["encoder"] == encoder]
        for encoder in ("words", "lstm")
    )
    assert min(run["with_gradient"] for run in words) > 0.6
    assert max(run["with_gradient"] for run in lstm) < 0.2
    assert min(run["shuffled"] for run in words) > 3 * max(run["shuffled"] for run in lstm)
    assert min(run["adversarial"] for run in (*words, *lstm)) > 0.3


def test_a_planted_cue_takes_the_weight_and_misleads() -> None:
    for run in RANKINGS["cues"]:
        assert run["cue tells the truth"]["weight_over_even"] > 5
        assert run["cue misleads"]["right"] < 0.1


def test_previous_token_heads_are_there_and_rare_word_heads_are_not() -> None:
    (base,) = HEADS["base"]
    for run in HEADS["runs"]:
        most = {name: max(head[name] for head in run["heads"]) / base[name] for name in base}
        assert most["previous"] > 8
        assert most["blanks"] > 2.5
        assert most["rarest"] < 1.3
        assert most["first"] < 1
