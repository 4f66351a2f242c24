"""Exercise: a conversation as the one text that a model was trained to continue."""

import re
from collections import Counter
from typing import Any

from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.inputs import Make
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import NOTHING
from course_utils.models import chat_prompt

RIGHT = """
def chat_prompt(messages, default_system, add_generation_prompt=True):
    begin = "<|im_start|>"
    end = "<|im_end|>"
    lacks = bool(messages) and messages[0]["role"] != "system"
    default = {"role": "system", "content": default_system}
    first = [default] if lacks else []
    rest = list(messages)
    written = first + rest
    parts = []
    for message in written:
        role = message["role"]
        content = message["content"]
        head = f"{begin}{role}\\n"
        part = f"{head}{content}{end}\\n"
        parts.append(part)
    body = "".join(parts)
    is_open = add_generation_prompt
    opening = f"{begin}assistant\\n"
    tail = opening if is_open else ""
    text = body + tail
    return text
"""
_HELP = "You are a helpful assistant."


def _talk(*said: tuple[str, str], default: str = _HELP, more: tuple[bool, ...] = (), turned: bool = False) -> Make:
    """Make messages from roles and contents, the default, and the flag where one is given."""

    def make(generator: Any) -> tuple[Any, ...]:
        messages = [{"role": role, "content": content} for role, content in said]
        if turned:
            messages = [dict(reversed(one.items())) for one in messages]
        return (messages, default, *more)

    return make


def _case(name: str, *said: tuple[str, str], **how: Any) -> Case:
    return case(name, _talk(*said, **how))


def _left(fn: Function, messages: Any, *rest: Any) -> Any:
    """Return the messages as they are after a call."""
    fn(messages, *rest)
    return messages


_ASKED = (("user", "What is 2 + 3?"), ("assistant", "5"), ("user", "And 5 + 7?"))
_OWN = ("system", "Answer in one word.")
_BEGIN = "<|im_start|>"
_DEFAULT = """
def chat_prompt(messages, default_system, add_generation_prompt=False):
    return EXERCISE.recipe.function()(messages, default_system, add_generation_prompt)
"""

_INSIDE = """
first = []
content = (default_system + "{}") * (lacks and message is messages[0]) + message["content"]
"""

_JOINED = """
joined = []
for one in messages:
    if joined and joined[-1]["role"] == one["role"]:
        joined[-1] = {{**one, "content": joined[-1]["content"] + "{}" + one["content"]}}
    else:
        joined.append(one)
rest = joined
"""
_GAP = 'head = f"{{begin}}{{role}}{0}"\nopening = f"{{begin}}assistant{0}"'


def _blocks(text: str) -> Counter[str]:
    return Counter(text.split(_BEGIN)[1:])


def _reordered(args: tuple[Any, ...], got: str) -> bool:
    return _blocks(got) == _blocks(chat_prompt(*args))


def _too_few(args: tuple[Any, ...], got: str) -> bool:
    return Counter() < _blocks(got) < _blocks(chat_prompt(*args))


def _too_many(args: tuple[Any, ...], got: str) -> bool:
    return _blocks(got) > _blocks(chat_prompt(*args))


def _other_marks(args: tuple[Any, ...], got: str) -> bool:
    """Return whether the text is right but for what stands for the two marks, the same all along."""
    parts = re.split(r"(<\|im_(?:start|end)\|>)", chat_prompt(*args))
    named: dict[str, str] = {}
    pattern = ""
    for part in parts:
        if part not in (_BEGIN, "<|im_end|>"):
            pattern += re.escape(part)
        elif part in named:
            pattern += f"(?P={named[part]})"
        else:
            named[part] = f"mark{len(named)}"
            pattern += rf"(?P<{named[part]}>\S(?:.*?\S)?)"
    return re.fullmatch(pattern, got, re.DOTALL) is not None


def _other_roles(args: tuple[Any, ...], got: str) -> bool:
    pattern = re.escape(chat_prompt(*args))
    return re.fullmatch(re.sub(r"(?<=<\\\|im_start\\\|>)\w+", r"[^\\n<|>]*", pattern), got) is not None


def _escaped(args: tuple[Any, ...], got: str) -> bool:
    return got.replace("\\n", "\n") == chat_prompt(*args)


def _other_gaps(args: tuple[Any, ...], got: str) -> bool:
    return "".join(got.split()) == "".join(chat_prompt(*args).split())


EXERCISE = exercise(
    chat_prompt,
    right=RIGHT,
    asks="Write a conversation as one text, in the model's template, with a system message at its head.",
    minutes=6,
    difficulty=1,
    importance=4,
    cases=(
        _case("one question", ("user", "What is 2 + 3?")),
        _case("question, answer, question", *_ASKED),
        _case("a system message of its own", _OWN, *_ASKED),
        _case("add_generation_prompt=False", *_ASKED[:2], more=(False,)),
        _case("add_generation_prompt=True", _OWN, *_ASKED[:1], more=(True,)),
        _case("a system message that is not the first", _ASKED[0], _OWN, *_ASKED[1:]),
        _case("two system messages, the reply not opened", _OWN, _ASKED[0], ("system", "Now in French."), _ASKED[2],
              more=(False,)),
        _case("the last message is the assistant's", _OWN, *_ASKED[:2]),
        _case("no messages", default="Be brief."),
        _case("no messages, the reply not opened", default="Be brief.", more=(False,)),
        _case("spaces and line ends around the contents", ("system", "\n Be brief. "), ("user", "  x = 1\n"),
              ("assistant", "\tyes\r\n\n"), ("user", " \n"), default=" a\n"),
        _case("spaces around the default", ("user", "\n  Hi  "), default="  Be kind. \n"),
        _case("line ends inside the contents", ("user", "def f(x):\n\n    return x\n\n\nWhat does  f do?"),
              ("assistant", "one\ntwo")),
        _case("an empty content", ("user", ""), ("assistant", ""), ("user", "Hello?")),
        _case("an empty default", ("user", "Hi"), default=""),
        _case("braces, percent signs, backslashes and quotes",
              ("user", "f'{x:>5}' % 7, {0}, {content} \\1 \\n \"<b>\" &"), default="{system} {} %s \\g<0>"),
        _case("marks inside a content", ("user", "What does <|im_end|>\n<|im_start|>user mean?")),
        _case("other roles", ("tool", "42"), ("Critic", "Too short."), ("user", "So?")),
        _case("the content before the role in each dict", _OWN, *_ASKED, turned=True),
        _case("the first message once more", _ASKED[0], _ASKED[1], _ASKED[0]),
        _case("a system message alone", _OWN),
        _case("two messages of one role, one behind the other", _OWN, _ASKED[0], ("user", "In one word."),
              ("assistant", "5"), ("assistant", "Five.")),
        _case("the assistant speaks first", ("assistant", "How can I help?"), ("user", "Not at all.")),
        case("the messages after the call", _talk(*_ASKED), run=_left,
             says="The caller's list of messages, or a dict in it, is no longer what it was."),
        case("the messages after the call, with a system message", _talk(_OWN, *_ASKED), run=_left,
             says="The caller's list of messages, or a dict in it, is no longer what it was."),
    ),
    mistakes=(
        NOTHING,
        mistake("the default never written", "The conversation begins without a system message, although its first "
                "message is not the system's. What is `default_system` for?", "lacks = False"),
        mistake("the default always written", "There are two system messages at the head of a conversation that "
                "brought its own. When is the default needed?", "lacks = bool(messages)", "lacks = True"),
        mistake("a system message anywhere counts", "The default is missing where a system message comes later in the "
                "conversation. Which message decides?",
                'lacks = bool(messages) and all(one["role"] != "system" for one in messages)',
                'lacks = all(one["role"] != "system" for one in messages)'),
        mistake("the condition the wrong way round", "The default was written before a system message, and not where "
                "there is none. When is it needed?", 'lacks = bool(messages) and messages[0]["role"] == "system"'),
        mistake("the default before a user's message alone", "Where the assistant, or a tool, speaks first, the "
                "default is missing. Before which role alone is none needed?",
                'lacks = bool(messages) and messages[0]["role"] == "user"',
                'lacks = bool(messages) and messages[0]["role"] in ("user", "assistant")'),
        mistake("the default without any messages", "A system message was written although there are no messages at "
                "all. What should be left then?", 'lacks = not messages or messages[0]["role"] != "system"'),
        mistake("no first message to look at", "The call fails where there are no messages. What does an empty list "
                "have at index 0?", 'lacks = messages[0]["role"] != "system"'),
        mistake("nothing opened without messages", "Without messages the text is empty. The reply is opened all the "
                "same: what is left of the template then?", "is_open = add_generation_prompt and bool(messages)"),
        mistake("the conversation's own system message replaced", "The conversation brought a system message, and the "
                "default was written over it. Which of the two wins?",
                'first = [default] if messages else []\nrest = messages if lacks else messages[1:]',
                'first = [default] if messages else []\nrest = [one for one in messages if one["role"] != "system"]',
                "content = default_system if role == 'system' else message['content']"),
        mistake("only the first system message kept", "A system message later in the conversation was left out. Only "
                "the first message decides about the default; what happens to all the others?",
                'rest = [one for at, one in enumerate(messages) if at == 0 or one["role"] != "system"]',
                'rest = [one for one in messages if one["role"] != "system"]\n'
                'first = [one for one in messages if one["role"] == "system"][:1] or [default] * bool(messages)'),
        mistake("system messages moved to the front", "A system message was moved to the head of the text. The "
                "messages stay in their order.",
                'rest = sorted(messages, key=lambda one: one["role"] != "system")',
                'rest = sorted(messages, key=lambda one: one["role"] != "system")\n'
                'first = [default] if messages and all(one["role"] != "system" for one in messages) else []'),
        mistake("the default in another place", "The default system message is not the first one. What does the model "
                "read before anything else?", "written = rest + first", "written = rest[:1] + first + rest[1:]"),
        mistake("the default under another role", "The default was written, but not as a system message.",
                'default = {"role": "user", "content": default_system}',
                'default = {"role": "default_system", "content": default_system}',
                'default = {"role": "assistant", "content": default_system}'),
        mistake("the default without its marks", "The default stands bare at the head of the text. It is a message "
                "like any other: what is around one?", 'first = []\nbody = (default_system + "\\n") * lacks + '
                '"".join(parts)', 'first = []\nbody = default_system * lacks + "".join(parts)'),
        mistake("the default inside the first message", "The default was put in front of the first message's content, "
                "inside the same marks. It is a message of its own.", *map(_INSIDE.format, ("\\n\\n", "\\n", " ", "")),
                "if lacks:\n    messages[0]['content'] = default_system + '\\n\\n' + messages[0]['content']\n"
                "first = []",
                "if lacks:\n    messages[0]['content'] = default_system + '\\n' + messages[0]['content']\nfirst = []"),
        mistake("a default taken for granted", "The system message is not the default that was given. Which argument "
                "holds it?", 'default = {"role": "system", "content": "You are a helpful AI assistant named SmolLM, '
                'trained by Hugging Face"}', 'default = {"role": "system", "content": "You are a helpful assistant."}',
                'default = {"role": "system", "content": ""}'),
        mistake("an empty text skipped", "An empty content, or an empty default, was left out with its whole message. "
                "What does the template say of one?", "lacks = bool(messages) and messages[0]['role'] != 'system' and "
                "bool(default_system)", 'part = f"{head}{content}{end}\\n" if content else ""',
                'part = f"{head}{content}{end}\\n" if content.strip() else ""'),
        mistake("another default than True", "Without its last argument the function does not open the reply. What "
                "does the signature say?", _DEFAULT),
        mistake("the reply always opened", "With add_generation_prompt=False the reply is opened all the same.",
                "is_open = True"),
        mistake("the reply never opened", "The text ends before the assistant's next message begins. Which line tells "
                "the model that it is its turn?", "is_open = False"),
        mistake("something left at the end", "Where no reply is opened, something comes behind the last message. What "
                "does the text end with then?", *(f"tail = opening if is_open else {more}" for more in (
                "begin", "end", 'end + "\\n"', '"\\n"', '"<|endoftext|>"'))),
        mistake("add_generation_prompt the wrong way round", "The reply is opened where it should not be, and the "
                "other way round. Which of the two does True ask for?", "is_open = not add_generation_prompt"),
        mistake("the reply opened only after a question", "Whether the reply was opened depends on the last message. "
                "Which argument decides it?",
                'is_open = add_generation_prompt and (not messages or messages[-1]["role"] == "user")',
                'is_open = add_generation_prompt and (not messages or messages[-1]["role"] != "assistant")',
                'is_open = add_generation_prompt and bool(messages) and messages[-1]["role"] == "user"'),
        mistake("the last answer left open", "The assistant's last message was not closed: that continues an old "
                "reply. Every message has its end mark.",
                'body = "".join(parts).removesuffix(f"{end}\\n") if messages and messages[-1]["role"] == "assistant" '
                'else "".join(parts)\nis_open = add_generation_prompt and (not messages or messages[-1]["role"] != '
                '"assistant")', 'body = "".join(parts).removesuffix(f"{end}\\n") if not add_generation_prompt else '
                '"".join(parts)'),
        mistake("a conditional without brackets", "With add_generation_prompt=False the whole text is gone, or another "
                "part of it. `a + b if flag else c` reads as `(a + b) if flag else c`: how far does the condition "
                "reach, and how far should it?", 'text = body + tail if is_open else ""',
                "text = body + tail if is_open else None"),
        mistake("the opened reply closed again", "The assistant's reply was opened and closed: the model would find it "
                "finished. What is left for the model to write?", 'opening = f"{begin}assistant\\n{end}\\n"',
                'opening = f"{begin}assistant\\n{end}"'),
        mistake("the reply opened for somebody else", "The reply that is opened is not the assistant's, or has no role "
                "at all. Who speaks next?", 'opening = f"{begin}user\\n"', "opening = begin",
                'opening = f"{begin}system\\n"', 'opening = f"{begin}Assistant\\n"', 'opening = "assistant\\n"',
                'opening = "Assistant: "', 'opening = f"{begin}model\\n"', 'opening = f"{begin}\\n"'),
        mistake("no line end behind the end mark", "The next message follows its neighbour's end mark directly. What "
                "stands between two messages?", 'part = f"{head}{content}{end}"', 'part = f"{head}{content}{end} "'),
        mistake("no line end behind the role", "The content follows the role on the same line. What separates the two?",
                'head = f"{begin}{role}"', 'head = f"{begin}{role} "', 'head = f"{begin}{role}: "',
                'head = f"{begin}{role}:\\n"', *map(_GAP.format, ("", " ", ":", ": ")),
                'head = f"{begin}{role}\\n\\n"'),
        mistake("no line end at the end", "The line end behind the last mark, or behind the opened reply, is missing: "
                "it was stripped, or written only between the messages. Which piece of the template does it belong "
                "to?", 'body = "".join(parts).removesuffix("\\n")', 'opening = f"{begin}assistant"',
                'text = (body + tail).rstrip()', 'text = (body + tail).strip("\\n")',
                'text = (body + tail).removesuffix("\\n")',
                'text = body + tail if is_open else body.removesuffix("\\n")', 'text = body.rstrip() + tail',
                'body = "".join(parts).removesuffix("\\n")\nopening = f"{begin}assistant"'),
        mistake("a line end without messages", "Without messages the text begins with a line end. To which message "
                "would it belong?", 'body = "\\n".join(one.removesuffix("\\n") for one in parts) + "\\n"'),
        mistake("a line end before the end mark", "There is a line end, or a space, between a content and its end "
                "mark. The content is followed by the mark itself.", 'part = f"{head}{content}\\n{end}\\n"',
                'part = f"{head}{content} {end}\\n"', 'part = f"{head}{content}\\n{end}"'),
        mistake("empty lines between messages", "There is an empty line between two messages.",
                'part = f"{head}{content}{end}\\n\\n"', 'body = "\\n".join(parts)'),
        mistake("a backslash for a line end", "There is a backslash and an n where a line end should be. In which kind "
                "of string are they one character?",
                'head = f"{begin}{role}\\\\n"\npart = f"{head}{content}{end}\\\\n"\nopening = f"{begin}assistant\\\\n"',
                'head = f"{begin}{role}\\\\n"', 'part = f"{head}{content}{end}\\\\n"', matches=_escaped),
        mistake("no end mark", "The messages have no end mark, or all share one. How does the model learn where one "
                "ends?", 'part = f"{head}{content}\\n"', 'part = f"{head}{content}\\n"\n'
                'body = "".join(parts) + f"{end}\\n" * bool(parts)',
                'part = f"{head}{content}{end}\\n" if role != "assistant" else f"{head}{content}\\n"'),
        mistake("the end mark carries the role", "Each end mark repeats the role. What does a message end with?",
                'part = f"{head}{content}{end}{role}\\n"'),
        mistake("no begin mark", "The messages have no begin mark. What is before the role?",
                'head = f"{role}\\n"', 'head = f"{role}: "\npart = f"{head}{content}\\n"\nopening = "assistant: "'),
        mistake("other marks", "The marks are not those of the template. How are the two spelt, with their brackets "
                "and bars?", 'begin = "<|im_begin|>"', 'begin = "<im_start>"\nend = "<im_end>"',
                'begin = "<|start|>"\nend = "<|end|>"', 'end = "<|endoftext|>"', 'begin = "|im_start|"',
                'begin = "<|im_start|> "', 'end = "</|im_end|>"', 'end = "<|im_start|>"', 'begin = "<|im_end|>"\n'
                'end = "<|im_start|>"', 'end = "</s>"\nhead = f"<|{role}|>\\n"\nopening = "<|assistant|>\\n"',
                matches=_other_marks),
        mistake("a beginning of the whole text", "There is something before the first message. What does the template "
                "begin with?", 'text = "<|endoftext|>" + body + tail', 'text = "<s>" + body + tail',
                'text = "\\n" + body + tail', "text = begin + body + tail"),
        mistake("content stripped", "Spaces or line ends around a content are gone. Contents are kept as they are.",
                "content = message['content'].strip()", "content = message['content'].rstrip()",
                "content = message['content'].strip('\\n')", "content = message['content'].lstrip()",
                "content = message['content'].strip() if role != 'system' else message['content']",
                "content = message['content'].rstrip('\\n')",
                'default = {"role": "system", "content": default_system.strip()}'),
        mistake("content changed", "A content was changed: its lines were joined, its case, its signs or its spaces "
                "replaced. Contents are kept as they are.",
                "content = message['content'].replace('\\n', ' ')", "content = ' '.join(message['content'].split())",
                "content = message['content'].lower()", "content = message['content'].replace('\\n\\n', '\\n')",
                "content = message['content'].replace('\\n', '\\\\n')", "content = repr(message['content'])",
                "content = message['content'].replace('<', '&lt;').replace('>', '&gt;')"),
        mistake("marks taken out of a content", "A content that mentions a mark was changed, or cut off there. "
                "Contents are kept as they are.", "content = message['content'].replace(end, '').replace(begin, '')",
                "content = message['content'].replace(end, '')", "content = message['content'].split(end)[0]"),
        mistake("a content read as a format", "Braces, percent signs or backslashes in a content were taken for a "
                "format, and the call failed or changed them. How often is each text formatted?",
                'part = f"{head}{content}{end}\\n".format()',
                'part = "{head}{content}{end}\\n".replace("{content}", content).format(head=head, end=end, content="")',
                'part = (head.replace("%", "%%") + content + "%s\\n") % end', 'part = re.sub("X", content, f"{head}X'
                '{end}\\n", count=1)'),
        mistake("roles changed", "A role was changed, left out or taken for another. Roles are kept as they are: what "
                "does the dict say?",
                "role = message['role'].capitalize()", "role = message['role'].lower()",
                "role = message['role'].upper()", "role = 'user' if message['role'] not in ('system', 'assistant') "
                "else message['role']", "role = 'assistant' if message['role'] not in ('system', 'user') else "
                "message['role']", "role = {'user': 'human', 'assistant': 'gpt'}.get(message['role'], "
                "message['role'])", "role = 'user'", matches=_other_roles),
        mistake("unknown roles refused", "A message of another role than system, user and assistant was left out or "
                "refused. Roles are strings, kept as they are.",
                "rest = [one for one in messages if one['role'] in ('system', 'user', 'assistant')]",
                "role = {name: name for name in ('system', 'user', 'assistant')}[message['role']]"),
        mistake("role and content by their order", "Role and content were taken by their places in the dict. A dict "
                "has names: which?", "role = list(message.values())[0]\ncontent = list(message.values())[1]"),
        mistake("role and content exchanged", "The role is where the content should be. Which of the two follows the "
                "begin mark?", 'head = f"{begin}{content}\\n"\npart = f"{head}{role}{end}\\n"'),
        mistake("an equal message taken for the first", "The first message comes again later, and was taken for the "
                "first one once more. What tells the first message from an equal one?",
                'first = []\nwritten = [part for one in rest for part in ([default] if lacks and one == messages[0] '
                'else []) + [one]]'),
        mistake("messages left out", "Not every message was written: some of the conversation is missing. What does "
                "the model know of earlier messages besides this text?", "rest = list(messages[-1:])",
                "rest = [one for one in messages if one['role'] != 'assistant']",
                "rest = list(messages[:-1])", "rest = list(messages[1:])",
                "rest = [one for at, one in enumerate(messages) if one not in messages[:at]]",
                "rest = list(messages[:1])",
                "rest = [one for one in messages if one['role'] == 'user']", matches=_too_few),
        mistake("a message written twice", "A message was written that the conversation does not have, or one was "
                "written twice.", "rest = [*messages, *messages[-1:]]", matches=_too_many),
        mistake("messages of one role joined", "Two messages of the same role, one behind the other, became one. "
                "Each has marks of its own.",
                *(_JOINED.format(gap) for gap in ("\\n", "\\n\\n", " ", ""))),
        mistake("messages in another order", "The messages are not in the order of the conversation.",
                "rest = list(messages[::-1])", "written = [*first, *rest][::-1]",
                'rest = sorted(messages, key=lambda one: one["role"])', matches=_reordered),
        mistake("the opened reply first", "The reply is opened at the head of the text. Where does the model go on "
                "writing?", "text = tail + body"),
        mistake("the reply opened after every message", "A reply is opened behind each message. How many does the "
                "model write next?", 'part = f"{head}{content}{end}\\n" + f"{begin}assistant\\n" * '
                '(add_generation_prompt and message is not written[-1])',
                'part = f"{head}{content}{end}\\n" + f"{begin}assistant\\n" * '
                '(add_generation_prompt and message is not default)\nis_open = False',
                'part = f"{head}{content}{end}\\n" + f"{begin}assistant\\n" * (add_generation_prompt and '
                'role == "user")\nis_open = False'),
        mistake("the input changed in place", "The call changed the caller's list, or a dict in it: the next call "
                "would see another conversation. Which line writes into what it was given?",
                "if lacks:\n    messages.insert(0, default)\nfirst = []",
                "rest = [messages.pop(0) for _ in range(len(messages))]", "role = message.pop('role')",
                "content = message.pop('content')", "messages.reverse()\nrest = messages[::-1]",
                "role = message.pop('role')\ncontent = message.pop('content')",
                "if lacks:\n    messages[0] = {'role': messages[0]['role'], 'content': messages[0]['content'] + ' '}\n"
                "rest = [{**one} for one in messages]"),
        mistake("another kind than one string", "One string is asked for, and another kind of object came back. What "
                "joins the parts of a list, and what turns bytes into text?", "return written", "return parts",
                "return [text]", "return text.encode()", "return text.split('\\n')", "return [*parts, tail]",
                "return text, len(text)", "return str(written)"),
        mistake("line ends or spaces elsewhere", "Words and marks are right, but spaces or line ends differ from the "
                "template. Compare character by character: what is behind the role, the end mark and the opened "
                "reply?", matches=_other_gaps),
    ),
    hints=(
        "Write down the text for a single question first, with every line end. How many messages does it hold?",
        "Build a new list of what is to be written: the default in front of it, if there are messages and the first "
        "of them is not the system's. After that, no message is special.",
        "Each message gives one string that ends with a line end of its own, so the strings are joined with nothing "
        "between them; the opened reply is a begin mark, the role and a line end.",
    ),
)  # fmt: skip
