import json
import time
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from matplotlib import pyplot as plt

from course_utils import guess, progress, review
from course_utils.checking.progress import Journal
from course_utils.guessing import ask, draw_guess
from course_utils.guessing.beliefs import due_guesses
from course_utils.guessing.known import Known, digest, known
from course_utils.guessing.question import Question
from course_utils.guessing.scoring import off

CELL = 'print("rows 64")'
HEAD: dict[str, Any] = {
    "name": "03.rows",
    "kind": "number",
    "asks": "How many?",
    "reads": "rows {}",
}
ROWS = Known(Question(**HEAD, low=1, high=1000, log=True), 64.0, digest(CELL))
CURVE = Known(
    Question(**{**HEAD, "name": "03.curve", "kind": "curve"}, x=[1, 2, 4]), [0.1, 0.2, 0.4], "c"
)
VARIED = Known(
    Question(
        **{**HEAD, "name": "03.bytes", "asks": "Bytes for {n}?"},
        high=99,
        becomes="2 * n",
        varied=[{"n": 32}, {"n": 10}],
    ),
    64.0,
    "v",
)


@pytest.fixture(autouse=True)
def own_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTION_COURSE_PROGRESS", str(tmp_path / "progress.jsonl"))
    rows = {row.question.name: row for row in (ROWS, CURVE, VARIED)}
    for module in ("ask", "beliefs", "figure"):
        monkeypatch.setattr(f"course_utils.guessing.{module}.known", lambda: rows)
    monkeypatch.setattr("course_utils.learner.known_guesses", lambda: rows)
    monkeypatch.delenv(ask.STATIC, raising=False)


def given_days_ago(days: float, name: str = "03.rows", given: Any = 1.0, off: float = 0.6) -> None:
    path = Journal().path
    event = {"time": time.time() - days * 86400, "event": "guess", "exercise": name}
    with path.open("a") as file:
        file.write(json.dumps({**event, "given": given, "truth": 64.0, "off": off}) + "\n")


def test_a_guess_is_kept_with_what_was_measured() -> None:
    card = guess("03.rows")
    card.given = 8
    (event,) = Journal().events()
    about = {"event": "guess", "exercise": "03.rows", "given": 8, "truth": 64.0, "off": 0.301}
    assert about.items() <= event.items()


def test_the_cell_that_measures_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.core.display_functions.display", shown.append)
    shell = InteractiveShell.instance()
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    card = guess("03.rows")
    shell.run_cell("1 + 1", store_history=False)
    shell.run_cell(CELL, store_history=False)
    assert (card.ran, shown) == (True, []), "a cell without a guess shows what it always shows"
    card = guess("03.rows")
    card.given = 8
    shell.run_cell("raise ValueError", store_history=False)
    assert not card.ran
    shell.run_cell(f"{CELL}\n", store_history=False)
    (below,) = shown
    assert (below.given, below.truth, below.ran, card.ran) == (8, 64.0, True, True)
    InteractiveShell.clear_instance()


def test_a_page_without_a_kernel_gets_a_place_for_the_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(ask.STATIC, "1")
    assert repr(guess("03.rows")) == "A guess is asked for here: 03.rows."
    assert guess("03.rows")._repr_html_() == '<div class="guess" data-guess="03.rows"></div>'


@pytest.mark.parametrize("name", ["03.row", None, 3, "nonsense"])
def test_an_unknown_name_is_answered_with_one_that_there_is(name: Any) -> None:
    assert str(guess(name)).startswith('There is no such guess\nName it, for example `guess("03.')


def test_a_guess_is_drawn_into_the_figure() -> None:
    axes = plt.figure().add_subplot()
    draw_guess(axes, "03.rows")
    draw_guess(axes, "03.curve")
    assert not axes.lines, "nothing was guessed"
    guess("03.rows").given = 8
    guess("03.curve").given = [0.3, 0.2, 0.1]
    draw_guess(axes, "03.rows")
    draw_guess(axes, "03.rows", along="x")
    draw_guess(axes, "03.curve")
    across, upright, curve = axes.lines
    assert list(across.get_ydata()) == [8, 8]
    assert list(upright.get_xdata()) == [8, 8]
    assert (list(curve.get_xdata()), list(curve.get_ydata())) == ([1, 2, 4], [0.3, 0.2, 0.1])
    with pytest.raises(ValueError, match='along must be "x" or "y"'):
        draw_guess(axes, "03.rows", along="z")
    with pytest.raises(ValueError, match="a guess of a number or a curve"):
        draw_guess(axes, "03.no")
    plt.close("all")


def test_progress_says_how_well_guesses_fit() -> None:
    assert "guesses" not in str(progress())
    guess("03.rows").given = 8
    guess("03.curve").given = [0.1, 0.2, 0.5]
    said = str(progress(3))
    assert "2 of 3 guesses given; of 1 numbers 0 close, 0 too high, 1 too low" in said
    assert "of 1 curves 1 close" in said


def test_what_was_most_wrong_comes_back_at_growing_distances() -> None:
    given_days_ago(1.5)
    assert due_guesses(Journal().events(), time.time()) == []
    given_days_ago(9, "03.bytes", 90.0, 0.27)
    ((due, days),) = due_guesses(Journal().events(), time.time())
    assert (due.name, days) == ("03.bytes", 9)
    text = str(review())
    assert (
        '`guess("03.bytes")`, given 9 days ago, was off by 27% of the scale: Bytes for 10?' in text
    )
    again = guess("03.bytes")
    assert (again.truth, again.ran) == (20, True), "in other numbers, which no cell measures"
    given_days_ago(3, "03.bytes", 63.0, 0.01)
    assert due_guesses(Journal().events(), time.time()) == [], "it is known now"


def test_a_second_guess_comes_back_after_seven_days() -> None:
    given_days_ago(20)
    given_days_ago(6)
    assert due_guesses(Journal().events(), time.time()) == []
    given_days_ago(5.9)  # on the same day: not counted
    assert due_guesses(Journal().events(), time.time() + 86400 * 2) != []


@pytest.mark.parametrize(
    ("question", "given", "measured", "share"),
    [
        (ROWS.question, 8, 64, 0.301),
        (ROWS.question, 1e9, 64, 0.398),
        (CURVE.question, [0.1, 0.2, 0.4], [0.1, 0.2, 0.1], 0.1),
    ],
)
def test_how_far_a_guess_was_off(question: Question, given: Any, measured: Any, share: Any) -> None:
    assert off(question, given, measured) == pytest.approx(share, abs=1e-3)
    assert off(question, measured, measured) == 0


def test_an_order_is_off_by_its_pairs_and_a_choice_by_all() -> None:
    order = {"kind": "order", "options": dict.fromkeys("abc", "{}"), "take": "ascending"}
    question = Question(**{**HEAD, **order})
    assert off(question, list("acb"), list("abc")) == pytest.approx(1 / 3)
    choice = Question(**{**HEAD, **order, "kind": "choice", "take": "largest"})
    assert (off(choice, "a", "b"), off(choice, "a", "a")) == (1, 0)


def test_all_stored_questions_can_be_asked() -> None:
    assert {row.question.name for row in known().values()} >= {"03.parameters"}
