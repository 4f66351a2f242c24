"""Test the template of a conversation, and bytes shown as soon as they are characters."""

import pytest

from course_utils.models.chat import chat_prompt, stream_text

ASKED = {"role": "user", "content": " Hi\n"}
SYSTEM = {"role": "system", "content": "Be brief."}


def test_a_system_message_is_written_where_none_comes_first() -> None:
    default = "<|im_start|>system\nyou<|im_end|>\n"
    asked = "<|im_start|>user\n Hi\n<|im_end|>\n"
    own = "<|im_start|>system\nBe brief.<|im_end|>\n"
    opened = "<|im_start|>assistant\n"
    assert chat_prompt([ASKED], "you") == default + asked + opened
    assert chat_prompt([ASKED], "you", False) == default + asked
    assert chat_prompt([SYSTEM, ASKED], "you") == own + asked + opened
    assert chat_prompt([ASKED, SYSTEM], "you", False) == default + asked + own
    assert chat_prompt([], "you") == opened


def test_the_conversation_stays_as_it_was() -> None:
    messages = [dict(ASKED)]
    chat_prompt(messages, "you")
    assert messages == [ASKED]


def test_a_character_is_shown_with_its_last_byte() -> None:
    text = "a\u00e9日👩z"
    whole = text.encode()
    shown = stream_text([whole[at : at + 1] for at in range(len(whole))])
    assert "".join(shown) == text
    assert shown == ["a", "", "\u00e9", "", "", "日", "", "", "", "👩", "z"]


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_what_is_incomplete_at_the_end_is_one_sign(kept) -> None:
    sign = "\N{REPLACEMENT CHARACTER}"
    assert stream_text([b"a", "👩".encode()[:kept]]) == ["a", sign]
    assert stream_text([b"a", "👩".encode()[:kept], b""]) == ["a", "", sign]
    assert stream_text([]) == []


def test_other_things_are_refused() -> None:
    with pytest.raises(TypeError, match="messages must be a Sequence"):
        chat_prompt(7, "you")
    with pytest.raises(TypeError, match="default_system must be a str"):
        chat_prompt([], None)
    with pytest.raises(TypeError, match="pieces must be a Sequence"):
        stream_text(7)
