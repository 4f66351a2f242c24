from course_utils.data import installed_texts


def test_three_texts_are_long_enough_for_what_is_measured_on_them() -> None:
    texts = installed_texts()
    assert list(texts) == ["sklearn", "help", "course"]
    assert all(len(text) > 4000 for text in texts.values())
    assert "California Housing" in texts["sklearn"]
    assert texts["help"].startswith("Class definitions")
