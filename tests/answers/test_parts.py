"""Test whose functions run, and what is said where the learner's give something else."""

from pathlib import Path

import pytest
import torch

from course_utils import attention, models, yours
from course_utils.answers import kept, trial
from course_utils.answers.sameness import difference
from course_utils.checking import report
from course_utils.exercises import all_exercises, find

RIGHT = (
    "import torch\n\ndef rnn_step(x, h, W_xh, W_hh, b): return (x @ W_xh + h @ W_hh + b).tanh()\n"
)
WRONG = RIGHT.replace(" + b", "")
SOFTMAX = "import torch\n\ndef stable_softmax(scores): return torch.softmax(scores, -1)\n"
FAULTY = SOFTMAX.replace("torch.softmax(scores, -1)", "torch.softmax(scores[:, :9], -1)")
RAISING = "def stable_softmax(scores):\n    return scores.nothing\n"


@pytest.fixture(autouse=True)
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTION_COURSE_PROGRESS", str(tmp_path / "progress.jsonl"))


def keep(**sources: str) -> None:
    for name, text in sources.items():
        kept.kept_path(name).parent.mkdir(exist_ok=True)
        kept.kept_path(name).write_text(text, encoding="utf-8")


def experiment(parts):
    g = torch.Generator().manual_seed(1)
    x, W_xh, W_hh, b = (torch.randn(*s, generator=g) for s in ((3, 4), (4, 10), (10, 10), (10,)))
    h = parts.rnn_step(x, x.new_zeros(3, 10), W_xh, W_hh, b)
    weights = parts.stable_softmax(h)
    return {"h": h, "weights": weights, "mean": weights.mean().item(), "text": "abc"}


def parts():
    return yours("rnn_step", "stable_softmax")


def test_without_answers_the_course_s_functions_run_and_that_is_said() -> None:
    assert parts().rnn_step is models.rnn_step
    assert parts().stable_softmax is attention.stable_softmax
    note = parts().run(experiment)
    assert note.equal
    assert note.result is note.course
    assert "Run with the course's parts alone" in str(note)
    assert "rnn_step        the course's" in str(parts())


def test_what_is_kept_runs_and_the_rest_is_the_course_s() -> None:
    keep(rnn_step=RIGHT)
    assert parts().rnn_step is not models.rnn_step
    assert parts().stable_softmax is attention.stable_softmax
    note = parts().run(experiment)
    assert note.equal
    assert note.result is not note.course
    text = str(note)
    assert "The same result, to rounding" in text
    assert "1 of 2 parts are yours" in text
    assert "rnn_step        yours" in text
    assert "stable_softmax  the course's" in text
    assert "✓" in note._repr_html_()
    assert '<th scope="row"' in parts()._repr_html_()


def test_no_names_are_all_that_are_kept() -> None:
    keep(rnn_step=RIGHT, stable_softmax=SOFTMAX)
    assert "All parts are yours" in str(yours())
    assert "stable_softmax  yours" in str(yours())


def test_the_wrong_part_is_named_and_the_right_one_is_not() -> None:
    keep(rnn_step=WRONG, stable_softmax=SOFTMAX)
    note = parts().run(experiment)
    assert not note.equal
    assert list(note.to_blame) == ["rnn_step"]
    assert "`rnn_step` is to blame" in str(note)
    assert "Its check no longer passes: Not yet: " in str(note)
    assert "`result['h']" in note.differs
    assert "✗ " in note._repr_html_()


def test_two_wrong_parts_are_both_named() -> None:
    keep(rnn_step=WRONG, stable_softmax=RAISING)
    assert list(parts().run(experiment).to_blame) == ["rnn_step", "stable_softmax"]


def test_one_wrong_part_among_many_takes_few_runs() -> None:
    names = [exercise.name for exercise in all_exercises()][:16]
    keep(**{name: f"def {name}(*args): pass\n" for name in names})
    chosen, course, runs = yours(*names), find(names[5]).reference, []

    def wrong_with_the_sixth(parts) -> float:
        runs.append(parts)
        return float(getattr(parts, names[5]) is course)

    assert list(chosen.run(wrong_with_the_sixth).to_blame) == [names[5]]
    assert len(runs) == 2 + 2 * 4  # the course's parts, all of the learner's, and four halvings


def test_an_error_is_shown_with_its_line_and_part() -> None:
    keep(rnn_step=RIGHT, stable_softmax=RAISING)
    note = parts().run(experiment)
    assert note.result is note.course
    assert note.differs == (
        "Your `stable_softmax` stopped at `return scores.nothing` with "
        "`AttributeError: 'Tensor' object has no attribute 'nothing'`. "
        "The numbers below are the course's."
    )
    assert list(note.to_blame) == ["stable_softmax"]


def test_an_error_in_the_experiment_itself_is_told_apart() -> None:
    keep(stable_softmax=FAULTY)
    note = parts().run(lambda p: p.stable_softmax(torch.ones(2, 10))[:, 9])
    assert note.differs.startswith("The experiment stopped with `IndexError")


def test_an_answer_that_passes_its_check_and_breaks_in_the_model_is_shown(monkeypatch) -> None:
    passed = report.Report("stable_softmax", "passed", "Right in all cases.")
    monkeypatch.setattr(trial, "judge", lambda exercise, answer: passed)
    keep(stable_softmax=FAULTY)
    note = parts().run(experiment)
    assert "the shape (3, 9), not (3, 10)" in note.differs
    assert "Its check passes nevertheless" in note.to_blame["stable_softmax"]


def test_parts_that_only_fail_together_are_said_to() -> None:
    keep(rnn_step=RIGHT, stable_softmax=SOFTMAX)
    chosen = parts()
    note = chosen.run(
        lambda p: float(p.rnn_step is chosen.rnn_step and p.stable_softmax is chosen.stable_softmax)
    )
    assert not note.to_blame
    assert "it takes several of them together" in str(note)


def test_a_file_that_no_longer_runs_is_said_and_the_reference_used() -> None:
    keep(rnn_step="import nothing_of_that_name\n")
    assert parts().rnn_step is models.rnn_step
    says = "the course's: your file stops with ModuleNotFoundError: No module named"
    assert says in str(parts())
    assert says in str(parts().run(experiment))


def test_an_error_of_the_experiment_with_the_course_s_parts_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        parts().run(lambda p: 1 / 0)


def test_unknown_names_are_refused_with_the_near_ones() -> None:
    with pytest.raises(KeyError, match="'rnn_stp'; there is rnn_step"):
        yours("rnn_stp")
    with pytest.raises(AttributeError, match='no part "encode" here, only rnn_step, stable_soft'):
        _ = parts().encode


def test_both_runs_start_from_one_random_state_and_leave_it() -> None:
    keep(rnn_step=RIGHT)
    torch.manual_seed(5)
    before = torch.get_rng_state()
    assert parts().run(lambda p: torch.rand(3)).equal
    assert torch.equal(torch.get_rng_state(), before)


def test_time_is_said_as_a_ratio_of_processor_times(monkeypatch) -> None:
    keep(rnn_step=RIGHT)
    clock = iter([0.0, 2.0, 10.0, 14.6, 20.0, 21.0])
    monkeypatch.setattr(trial.time, "process_time", lambda: next(clock))
    note = parts().run(lambda p: 0)
    assert note.ratio == pytest.approx(4.6)
    assert "Your parts took 4.6 times the course's processor time." in str(note)


def test_what_is_too_short_has_no_ratio() -> None:
    keep(rnn_step=RIGHT)
    assert parts().run(lambda p: 0).ratio is None


SAME = [
    (1.0, 1.0 + 1e-6),
    (torch.ones(3), torch.ones(3) + 1e-6),
    (torch.ones(3, dtype=torch.float64), torch.ones(3)),
    (torch.ones(3).bfloat16(), torch.ones(3).bfloat16() * 1.01),
    (torch.tensor([torch.nan, torch.inf]), torch.tensor([torch.nan, torch.inf])),
    (float("nan"), float("nan")),
    ({"a": 1, "b": "x"}, {"b": "x", "a": 1}),
    ([1, (2.0, None)], [1, (2.0, None)]),
    (torch.zeros(0), torch.zeros(0)),
    (torch.zeros(2), torch.full((2,), 1e-12)),
    (torch.tensor([1, 2]), torch.tensor([1, 2])),
]
DIFFERENT = [
    (1.0, 1.001, "`result` is 1.001, not 1."),
    (1, 2, "`result` is 2, not 1."),
    ("abc", "abd", "`result` is 'abd', not 'abc'."),
    (torch.ones(2, 3), torch.ones(3), "`result` has the shape (3,), not (2, 3)."),
    (
        torch.zeros(2, 2, dtype=torch.long), torch.tensor([[0, 0], [0, 5]]),
        "`result[1, 1]` is 5, not 0; 1 of 4 numbers differ.",
    ),
    (
        torch.ones(2, dtype=torch.float64), torch.tensor([1.0, 1.0 + 1e-6], dtype=torch.float64),
        "`result[1]` is 1.000001, not 1; 1 of 2 numbers differ.",
    ),
    (torch.tensor(1.0), torch.tensor(torch.nan), "`result` is nan, not 1."),
    (torch.ones(1), 1.0, "`result` is a float, not a Tensor."),
    ({"a": 1}, {"b": 1}, "`result` has the keys ['b'], not ['a']."),
    ({"a": [1, 2]}, {"a": [1, 3]}, "`result['a'][1]` is 3, not 2."),
    ([1], [1, 2], "`result` has 2 entries, not 1."),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "got"), SAME)
def test_results_that_differ_by_rounding_are_the_same(expected, got) -> None:
    assert difference(expected, got) == ""


@pytest.mark.parametrize(("expected", "got", "says"), DIFFERENT)
def test_results_that_differ_say_where_and_how(expected, got, says) -> None:
    assert difference(expected, got) == says


def test_a_tolerance_replaces_the_dtype_s() -> None:
    assert difference(1.0, 1.05)
    assert not difference({"a": torch.ones(2)}, {"a": torch.full((2,), 1.05)}, 0.1)
