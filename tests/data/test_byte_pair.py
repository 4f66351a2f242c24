from collections import Counter
from itertools import pairwise

import pytest

from course_utils.data import ALPHABET, BytePairs, character_text, decode

TEXT = "the cat sat on the mat, the cat ate.\n    the hat is on the cat; aaaa aaaa"


def slow_merges(text: str, number: int) -> list[str]:
    """Return the merged tokens of words parted by single spaces, as slowly as can be read."""
    words = [[" ", *word] if place else list(word) for place, word in enumerate(text.split(" "))]
    found = []
    for _ in range(number):
        counts = Counter(pair for word in words for pair in pairwise(word))
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        found.append("".join(best))
        for word in words:
            place = 0
            while place < len(word) - 1:
                if tuple(word[place : place + 2]) == best:
                    word[place : place + 2] = ["".join(best)]
                place += 1
    return found


def test_merges_are_those_of_a_slow_loop() -> None:
    text = "low low low lower newest newest newest widest widest aaaaa aaa"
    learnt = BytePairs.learn(text, len(ALPHABET) + 14)
    assert learnt.tokens[len(ALPHABET) :] == slow_merges(text, 14)


def test_text_comes_back_as_it_was() -> None:
    learnt = BytePairs.learn(TEXT, len(ALPHABET) + 12)
    for text in (TEXT, "", "Unseen words: 3.14!\n\n  x", ALPHABET):
        assert learnt.decode(learnt.encode(text)) == text


def test_what_is_not_in_the_alphabet_becomes_a_question_mark() -> None:
    learnt = BytePairs.learn(TEXT, len(ALPHABET) + 12)
    assert learnt.decode(learnt.encode("caf\u00e9 \u2713 the")) == "caf? ? the"


def test_no_token_reaches_over_the_end_of_a_word() -> None:
    learnt = BytePairs.learn(TEXT, len(ALPHABET) + 24)
    assert not [token for token in learnt.tokens if token.strip() and " " in token.lstrip(" ")]
    assert " the" in learnt.tokens


def test_more_tokens_make_shorter_texts() -> None:
    text = decode(character_text().validation.tolist())[:6000]
    lengths = [len(BytePairs.learn(text, size).encode(text)) for size in (len(ALPHABET), 150, 300)]
    assert lengths[0] == len(text)
    assert lengths[0] > 1.2 * lengths[1] > 1.4 * lengths[2]


def test_the_length_is_the_number_of_tokens() -> None:
    assert len(BytePairs.learn(TEXT, 103)) == 103
    assert BytePairs([]).tokens == list(ALPHABET)


def test_sizes_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match=f"num_tokens must be at least {len(ALPHABET)}, got 5"):
        BytePairs.learn(TEXT, 5)
    message = f"the text must have pairs for 200 tokens, got {len(ALPHABET) + 1}"
    with pytest.raises(ValueError, match=message):
        BytePairs.learn("ab", 200)
