import pytest

from course_utils.data import END, FIRST_SYMBOL, PAD, START, UNKNOWN, CharacterTokenizer
from course_utils.data.tokenizer import pad


def test_the_marks_are_different_numbers_below_the_symbols() -> None:
    assert sorted({PAD, START, END, UNKNOWN}) == list(range(FIRST_SYMBOL))


def test_decoding_undoes_encoding() -> None:
    tokenizer = CharacterTokenizer("abc")
    assert tokenizer.encode("cab") == [6, 4, 5]
    assert tokenizer.decode(tokenizer.encode("cab", marks=True)) == "cab"


def test_marks_stand_around_the_text() -> None:
    assert CharacterTokenizer("ab").encode("ba", marks=True) == [START, 5, 4, END]


def test_a_character_outside_the_alphabet_is_unknown_and_shown_as_such() -> None:
    tokenizer = CharacterTokenizer("ab")
    assert tokenizer.encode("axb") == [4, UNKNOWN, 5]
    assert tokenizer.decode([4, UNKNOWN, 5]) == "a\ufffdb"


def test_decoding_stops_at_the_end_and_skips_padding() -> None:
    assert CharacterTokenizer("ab").decode([PAD, START, 4, END, 5]) == "a"


def test_the_alphabet_of_texts_is_sorted_and_complete() -> None:
    tokenizer = CharacterTokenizer.of(["ba", "ca"])
    assert tokenizer.alphabet == "abc"
    assert len(tokenizer) == 3 + FIRST_SYMBOL


def test_a_character_twice_in_the_alphabet_is_refused() -> None:
    with pytest.raises(ValueError, match=r"each character once, got twice \['b'\]"):
        CharacterTokenizer("abcb")


def test_padding_fills_on_the_right() -> None:
    assert pad([[7], [5, 6]]).tolist() == [[7, PAD], [5, 6]]
    assert pad([]).shape == (0, 0)
