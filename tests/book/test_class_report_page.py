"""The report on a class reads well in light, in the dark and on a phone, and asks nobody."""

from collections.abc import Callable
from pathlib import Path

import pytest

from course_utils.exercises import all_exercises
from course_utils.grading.class_report import Attempt, ClassReport, write
from tests.book.book_axe import AXE, RULES, RUN_AXE
from tests.book.book_support import MODES, Visit


@pytest.mark.browser
def test_report_on_a_class(tmp_path: Path, visit: Callable[..., Visit]) -> None:
    exercises = [one for one in all_exercises() if len(one.mistakes) > 1][:12]
    attempts = [
        Attempt(f"ann_bach {learner}", one.name, again, again > 0, (mistake.name,) * (1 - again))
        for learner in range(4)
        for one in exercises
        for mistake in one.mistakes[learner % 2 : 2]
        for again in range(learner % 2 + 1)
    ]
    page = write(ClassReport(attempts), tmp_path)
    seen = visit(page.as_uri(), unfold=False)
    who = seen.page.get_by_text("A. B. 0. (1)").first
    assert not who.is_visible()
    seen.page.get_by_label("Show initials").check()
    assert who.is_visible()
    seen.page.evaluate(AXE.read_text(encoding="utf-8"))
    for mode in MODES:
        seen.turn(mode)
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= MODES[mode][0]
        assert seen.page.evaluate(RUN_AXE, RULES.get(mode, {})) == [], mode
    assert (seen.outside, seen.errors) == ([], [])
