"""Test merges by rank against merging rule by rule, and any text there and back."""

from itertools import pairwise

import pytest

from course_utils.data.byte_level import (
    BYTE_CHARACTERS,
    ByteLevelTokenizer,
    merge_by_rank,
    pieces,
)

MERGES = [("l", "o"), ("lo", "w"), ("e", "r"), ("a", "a"), ("b", "c"), ("a", "b"), ("aa", "aa")]
RANKS = {pair: rank for rank, pair in enumerate(MERGES)}
SPECIAL = ["<|end|>", "<|end|>s"]


def _rule_by_rule(piece: str) -> list[str]:
    symbols = list(piece)
    for pair in MERGES:
        while pair in list(pairwise(symbols)):
            at = list(pairwise(symbols)).index(pair)
            symbols[at : at + 2] = ["".join(pair)]
    return symbols


@pytest.fixture
def tokenizer() -> ByteLevelTokenizer:
    joined = ("".join(pair) for pair in MERGES)
    return ByteLevelTokenizer([*SPECIAL, *BYTE_CHARACTERS, *joined], MERGES, SPECIAL)


@pytest.mark.parametrize("piece", ["", "a", "low", "lower", "aaaaa", "aaaa", "abc", "abcab", "xyz"])
def test_merging_by_rank_is_merging_rule_by_rule(piece) -> None:
    assert merge_by_rank(piece, RANKS) == _rule_by_rule(piece)


def test_ranks_may_begin_anywhere_and_have_gaps() -> None:
    others = {pair: 256 + 10 * rank for pair, rank in reversed(RANKS.items())}
    assert merge_by_rank("lowerabcaaaaa", others) == _rule_by_rule("lowerabcaaaaa")


def test_every_byte_has_a_character_of_its_own_that_can_be_seen() -> None:
    assert len(set(BYTE_CHARACTERS)) == 256
    assert all(one.isprintable() and not one.isspace() for one in BYTE_CHARACTERS)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Don't  stop", ["Don", "'t", " ", " stop"]),
        ("in 2024", ["in", " ", "2", "0", "2", "4"]),
        ("½ Ⅷ²", ["½", " ", "Ⅷ", "²"]),
        ("a_b, c\n\n d", ["a", "_", "b", ",", " c", "\n\n", " d"]),
        ("", []),
    ],
)
def test_a_text_is_cut_into_words_signs_and_single_digits(text, parts) -> None:
    assert list(pieces(text)) == parts


@pytest.mark.parametrize(
    "text", ["", "low lower", "naïve 日本語 12", "👩\u200d👧", "a<|end|>b", "\x00\t\x7f\xa0"]
)
def test_any_text_comes_back(text, tokenizer) -> None:
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_special_tokens_stand_for_themselves_the_longest_first(tokenizer) -> None:
    assert tokenizer.encode("<|end|>s<|end|>").tolist() == [1, 0]
    assert tokenizer.bytes_of(0) == b"<|end|>"


def test_a_byte_that_is_no_token_is_left_out() -> None:
    tokenizer = ByteLevelTokenizer(["a"], [])
    assert tokenizer.encode("aba").tolist() == [0, 0]


def test_a_cut_character_becomes_the_replacement_sign(tokenizer) -> None:
    assert tokenizer.decode(tokenizer.encode("é")[:1]) == "\N{REPLACEMENT CHARACTER}"


def test_what_cannot_be_is_refused(tokenizer) -> None:
    with pytest.raises(ValueError, match="special must be among the tokens, got 'x'"):
        ByteLevelTokenizer(["a"], [], ["x"])
    with pytest.raises(ValueError, match="tokens must lie between 0 and"):
        tokenizer.decode([10_000])
