import pytest
import torch

from course_utils.data import ALPHABET, character_text, decode, encode, random_windows


def test_the_alphabet_has_each_printable_character_once() -> None:
    assert len(ALPHABET) == len(set(ALPHABET)) == 96
    assert all(character == "\n" or character.isprintable() for character in ALPHABET)


def test_decoding_undoes_encoding() -> None:
    assert decode(encode("for x in range(3):\n    print(x)").tolist()) == (
        "for x in range(3):\n    print(x)"
    )


def test_a_character_outside_the_alphabet_becomes_a_question_mark() -> None:
    assert decode(encode("a–b\tc")) == "a?b?c"


def test_the_split_is_the_same_every_time_and_loses_nothing() -> None:
    from pydoc_data.topics import topics

    first, second = character_text(), character_text()
    assert torch.equal(first.train, second.train)
    assert torch.equal(first.validation, second.validation)
    assert len(first.train) + len(first.validation) == sum(map(len, topics.values()))


def test_there_is_enough_of_both_parts_to_learn_and_to_judge() -> None:
    text = character_text()
    assert len(text.train) > 200_000
    assert len(text.validation) > 20_000
    assert int(text.train.max()) < text.num_characters == len(ALPHABET)


def test_no_validation_topic_stands_in_the_training_part() -> None:
    from pydoc_data.topics import topics

    text = character_text(held_out=4)
    learnt = decode(text.train.tolist())
    for name in sorted(topics)[3::4]:
        opening = decode(encode(topics[name]).tolist())
        assert opening not in learnt


def test_targets_are_the_inputs_one_character_later() -> None:
    tokens = torch.arange(100)
    inputs, targets = random_windows(tokens, 7, 5, torch.Generator().manual_seed(0))
    assert inputs.shape == (5, 7)
    assert torch.equal(targets, inputs + 1)


def test_windows_reach_both_ends_of_the_text() -> None:
    inputs, targets = random_windows(torch.arange(6), 3, 200, torch.Generator().manual_seed(0))
    assert int(inputs.min()) == 0
    assert int(targets.max()) == 5


def test_the_same_seed_draws_the_same_windows() -> None:
    drawn = [
        random_windows(torch.arange(1000), 3, 4, torch.Generator().manual_seed(1))[0]
        for _ in range(2)
    ]
    assert torch.equal(*drawn)


def test_a_text_too_short_for_a_window_is_refused() -> None:
    with pytest.raises(ValueError, match="longer than a window of 8, got 8"):
        random_windows(torch.arange(8), 8, 1, torch.Generator())


def test_a_split_without_training_topics_is_refused() -> None:
    with pytest.raises(ValueError, match="held_out must be at least 2, got 1"):
        character_text(held_out=1)
