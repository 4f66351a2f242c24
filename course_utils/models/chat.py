"""Talking to a released model: the text that it was trained to answer, and its bytes as text.

Source: the template ChatML, as the field tokenizer.chat_template of SmolLM2-135M-Instruct's file
    writes it; UTF-8: RFC 3629, section 3, https://www.rfc-editor.org/rfc/rfc3629
Ours / theirs: default_system = the system message that the template itself holds
Same contract as: the file's template rendered by jinja2; codecs' incremental decoder of UTF-8
"""

import codecs
from collections.abc import Mapping, Sequence

from course_utils.plain_validation import check_instance

BEGIN, END = "<|im_start|>", "<|im_end|>"
Message = Mapping[str, str]


def chat_prompt(
    messages: Sequence[Message], default_system: str, add_generation_prompt: bool = True
) -> str:
    """Return a conversation as the one text that the model continues.

    Args:
        messages: Each has a role ("system", "user" or "assistant") and its content.
        default_system: What the system says where the first message is not the system's.
        add_generation_prompt: Whether the assistant's next message is begun.

    Raises:
        TypeError: The messages are not a sequence of mappings, or the system's default is not a
            string.
    """
    check_instance(Sequence, messages=messages)
    for number, one in enumerate(messages):
        check_instance(Mapping, **{f"message {number} of messages": one})
    check_instance(str, default_system=default_system)
    check_instance(bool, add_generation_prompt=add_generation_prompt)
    written = list(messages)
    if written and written[0]["role"] != "system":
        written.insert(0, {"role": "system", "content": default_system})
    text = "".join(f"{BEGIN}{one['role']}\n{one['content']}{END}\n" for one in written)
    return text + f"{BEGIN}assistant\n" * add_generation_prompt


def stream_text(pieces: Sequence[bytes]) -> list[str]:
    """Return what can be shown as each piece of a text arrives.

    Args:
        pieces: Together UTF-8, except that the last character may be cut off.

    Returns:
        As many strings: each character with the piece that holds its last byte. What is incomplete
        at the end is one U+FFFD in the last of them.

    Raises:
        TypeError: The pieces are not a sequence of bytes.
    """
    check_instance(Sequence, pieces=pieces)
    for number, one in enumerate(pieces):
        check_instance(bytes, **{f"piece {number} of pieces": one})
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    last = len(pieces) - 1
    return [decoder.decode(piece, number == last) for number, piece in enumerate(pieces)]
