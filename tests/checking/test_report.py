from course_utils.checking.report import STATUSES, Report


def test_plain_text_says_verdict_case_and_note_in_words() -> None:
    report = Report("f", "misconception", "Why?", ("no scale",), "two rows", "The call printed: 1")
    assert str(report) == "f: Not yet: no scale\nWhy?\nSeen with: two rows.\nThe call printed: 1"
    assert repr(report) == str(report)


def test_two_mistakes_at_once_are_both_named() -> None:
    report = Report("f", "misconception", "First.\n\nSecond.", ("no scale", "no softmax"))
    assert report.headline == "Not yet: no scale, and no softmax"
    assert report.misconception == "no scale"
    assert report._repr_html_().count("<p ") == 3


def test_every_status_has_words() -> None:
    for status in STATUSES:
        assert Report("f", status, "text").headline == STATUSES[status]


def test_what_a_learner_wrote_is_shown_and_not_run() -> None:
    report = Report("f", "crashed", "ValueError: <script>alert(1)</script> in `a < b`")
    page = report._repr_html_()
    assert "<script>" not in page
    assert "<code>a &lt; b</code>" in page


def test_the_card_takes_its_colours_from_the_page() -> None:
    page = Report("f", "passed", "Right.")._repr_html_()
    assert "background" not in page
    assert ";color:" not in page
    assert "Passed" in page
