import math

import pytest
import torch
from torch import Tensor

from course_utils.models import beam_search

START, END, A, B = range(4)
# After the start A is likelier than B, but after A nothing is likely, and after B the end is sure.
AFTER = {
    START: (0.0, 0.0, 0.6, 0.4),
    A: (0.4, 0.2, 0.2, 0.2),
    B: (0.0, 1.0, 0.0, 0.0),
}


def step(prefixes: Tensor) -> Tensor:
    return torch.tensor([AFTER[int(one[-1])] for one in prefixes]).log()


def test_a_wider_beam_finds_the_likelier_text() -> None:
    tokens, score = beam_search(step, START, END, 1, 3)
    assert tokens[:1] == [A]
    assert score < math.log(0.2)
    tokens, score = beam_search(step, START, END, 2, 3)
    assert tokens == [B, END]
    assert score == pytest.approx(math.log(0.4), rel=1e-6)


def test_the_length_divides_the_sum() -> None:
    assert beam_search(step, START, END, 2, 3, 1.0)[1] == pytest.approx(math.log(0.4) / 2, rel=1e-6)


def test_a_finished_text_keeps_its_place_and_is_not_asked_about() -> None:
    asked = []

    def watched(prefixes: Tensor) -> Tensor:
        asked.extend(prefixes.tolist())
        return step(prefixes)

    beam_search(watched, START, END, 2, 4)
    assert all(END not in text[1:] for text in asked)
    assert [len(text) for text in asked].count(3) == 1  # one place left after [B, END]


def test_what_is_cut_off_competes() -> None:
    tokens, score = beam_search(step, START, END, 2, 1)
    assert tokens == [A]
    assert score == pytest.approx(math.log(0.6), rel=1e-6)


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"step": lambda x: torch.zeros(3, 4)}, ValueError, "a row for each of 1 texts, got 3"),
        (
            {"step": lambda x: torch.full((len(x), 4), -torch.inf)},
            ValueError,
            "at least one text possible",
        ),
        ({"step": lambda x: torch.zeros(4)}, ValueError, "log_p must have the axes"),
        ({"step": lambda x: x.sum(-1)}, TypeError, "log_p must have a floating dtype"),
    ],
)
def test_what_does_not_fit_is_refused(changed, error, says) -> None:
    given = {"step": step, "start": START, "end": END, "width": 2, "max_length": 3} | changed
    with pytest.raises(error, match=says):
        beam_search(**given)
