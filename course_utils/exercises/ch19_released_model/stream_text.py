"""Exercise: show what can be shown of a text whose bytes arrive in pieces."""

import codecs as codecs
import unicodedata as unicodedata
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import torch
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.inputs import Make
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import NOTHING
from course_utils.models import stream_text

RIGHT = """
def stream_text(pieces):
    shown, waiting = [], b""
    for piece in pieces:
        arrived = waiting + piece
        text = arrived.decode("utf-8", "ignore")
        used = len(text.encode("utf-8"))
        waiting = arrived[used:]
        entry = text
        shown.append(entry)
    is_cut = len(waiting) > 0
    sign = "\\ufffd"
    tail = sign if is_cut else ""
    entries = [*shown[:-1], *(one + tail for one in shown[-1:])]
    return entries
"""
_SIGN = "\N{REPLACEMENT CHARACTER}"
_MIXED = "Grüße, 日本語! 👩‍🚀 für 3 € — \u0080\u07ff\u0800\uffff\U00010000\U0010ffff."


def _pieces(name: str, *pieces: bytes) -> Case:
    return case(name, lambda g: (list(pieces),))


def _single(name: str, text: str, size: int = 1, lost: int = 0) -> Case:
    """Make a text cut into pieces of a few bytes, without its last ones."""
    whole = text.encode()[: len(text.encode()) - lost]
    return _pieces(name, *(whole[at : at + size] for at in range(0, len(whole), size)))


def _drawn(text: str, cuts: int, lost: int = 0) -> Make:
    """Make a text cut anywhere, now and then at the same place twice: an empty piece."""

    def make(g: torch.Generator) -> tuple[list[bytes]]:
        whole = text.encode()[: len(text.encode()) - lost]
        at = torch.randint(len(whole) + 1, (cuts,), generator=g).sort().values.tolist()
        return ([whole[i:j] for i, j in zip([0, *at], [*at, len(whole)], strict=True)],)

    return make


def _left(fn: Function, pieces: Any) -> Any:
    """Return the pieces as they are after a call."""
    fn(pieces)
    return pieces


def _again(fn: Function, pieces: Any) -> Any:
    """Return what is shown of a text that follows another one, whose end was cut off."""
    fn([b"a\xe6\x97", b"\xa5", b"\xf0\x9f"])
    return fn(pieces)


def _moved(apart: Callable[[int, int], bool]) -> Callable[..., bool]:
    """Return whether an answer shows the right text in as many entries, and first goes wrong in this direction."""

    def matches(args: tuple[Any, ...], got: list[str]) -> bool:
        want = stream_text(*args)
        if len(got) != len(want) or "".join(got) != "".join(want):
            return False
        reached = zip(accumulate(map(len, got)), accumulate(map(len, want)), strict=True)
        return next((apart(one, other) for one, other in reached if one != other), False)

    return matches


def _fewer(args: tuple[Any, ...], got: list[str]) -> bool:
    return all(isinstance(one, str) for one in got) and len(got) < len(args[0])


def _more(args: tuple[Any, ...], got: list[str]) -> bool:
    return all(isinstance(one, str) for one in got) and len(got) > len(args[0])


def _another_tail(args: tuple[Any, ...], got: list[str]) -> bool:
    """Return whether all is right but for what shows that the last character was cut off."""
    want = stream_text(*args)
    *others, last = want
    return last.endswith(_SIGN) and [*others] == [*got[:-1]] and got[-1].startswith(last[:-1])


def _no_tail(args: tuple[Any, ...], got: list[str]) -> bool:
    """Return whether all is right but that nothing shows that the last character was cut off."""
    *others, last = stream_text(*args)
    return last.endswith(_SIGN) and got == [*others, last.removesuffix(_SIGN)]


def _inside(short: str, long: str) -> bool:
    """Return whether a text is what is left of another one when some of its characters are taken out."""
    left = iter(long)
    return all(one in left for one in short)


def _both(args: tuple[Any, ...], got: list[str]) -> tuple[str, str]:
    return "".join(got), "".join(stream_text(*args))


def _signs(args: tuple[Any, ...], got: list[str]) -> bool:
    one, other = _both(args, got)
    return one.count(_SIGN) > other.count(_SIGN) and _inside(one.replace(_SIGN, ""), other)


def _lost(args: tuple[Any, ...], got: list[str]) -> bool:
    one, other = _both(args, got)
    return one != other and _inside(one, other)


def _twice(args: tuple[Any, ...], got: list[str]) -> bool:
    one, other = _both(args, got)
    return one != other and _inside(other, one)


# Everything that has arrived, decoded anew at each piece; what was not shown before is the entry.
_SO_FAR = """
def stream_text(pieces):
    shown, count = [], 0
    for at in range(len(pieces)):
        text = b"".join(pieces[:at + 1]).decode("utf-8", "replace"){}
        shown.append(text[count:]{})
        count = {}
    return shown
"""
_BY_FIRST_BYTE = """
def stream_text(pieces):
    whole = b"".join(pieces).decode("utf-8", "replace")
    starts = [number for number, piece in enumerate(pieces) for byte in piece if not 128 <= byte < 192]
    entries = [""] * len(pieces)
    for number, character in zip(starts, whole):
        entries[number] += character
    return entries
"""
# The codec's own decoder, told of the end, without leave to replace anything.
_STRICT = """
def stream_text(pieces):
    decode = codecs.getincrementaldecoder("utf-8")().decode
    return [decode(piece, number == len(pieces)) for number, piece in enumerate(pieces, 1)]
"""
_AFRESH = """
def stream_text(pieces):
    return [codecs.getincrementaldecoder("utf-8")("replace").decode(piece) for piece in pieces]
"""
_BY_NEXT_BYTE = """
def stream_text(pieces):
    shown, waiting = [], b""
    for number, piece in enumerate(pieces):
        text = ""
        for byte in piece:
            if not 128 <= byte < 192 {}:
                text += waiting.decode("utf-8")
                waiting = b""
            waiting += bytes([byte])
            if byte < 128 and {}:
                text += waiting.decode("utf-8")
                waiting = b""
        if number == len(pieces) - 1:
            text += waiting.decode("utf-8", "replace")
        shown.append(text)
    return shown
"""
_WHOLE_OR_NOTHING = """
def stream_text(pieces):
    shown, waiting = [], b""
    for piece in pieces:
        waiting = waiting + piece
        try:
            shown.append(waiting.decode("utf-8"))
            waiting = b""
        except UnicodeDecodeError:
            shown.append("")
    if waiting:
        shown[-1] += {}
    return shown
"""
_TAKEN_OUT = """
def stream_text(pieces):
    shown, arrived, before = [], b"", ""
    for piece in pieces:
        arrived += piece
        text = arrived.decode("utf-8", "ignore")
        shown.append(text.replace(before, ""))
        before = text
    if len(before.encode("utf-8")) < len(arrived):
        shown[-1] += "\\ufffd"
    return shown
"""
# Up to the last byte that begins a character of several, if the last byte belongs to one.
_LAST = """
begins = [at for at, byte in enumerate(arrived) if byte >= 192] if arrived[-1:] >= b"\\x80" else []
text = arrived[:begins[-1] if begins else len(arrived)].decode("utf-8")
"""
_ALONE = 'entry = piece.decode("utf-8", "{}")\nis_cut = False'

EXERCISE = exercise(
    stream_text,
    right=RIGHT,
    asks="Say for each piece of a text's bytes what can be shown as it arrives.",
    minutes=10,
    difficulty=2,
    importance=3,
    cases=(
        _pieces("plain letters", b"Hel", b"lo, ", b"you"),
        _pieces("a character of two bytes over two pieces", b"caf\xc3", b"\xa9 au lait"),
        _single("three bytes, three pieces", "日"),
        _single("four bytes, four pieces", "a👩b"),
        _pieces("four bytes as 3 and 1", b"a \xf0\x9f\x91", b"\xa9 b"),
        _pieces("four bytes as 2 and 2, then 1 and 3", b"\xf0\x9f", b"\x91\xa9\xf0", b"\x9f\x9a\x80"),
        _pieces("whole characters before one that is cut", "日本".encode() + b"\xe8", b"\xaa\x9e!"),
        _pieces("pieces that end one character and begin the next", b"\xe6\x97", b"\xa5\xe6\x9c", b"\xac\xc3", b"\xa9"),
        _pieces("empty pieces inside a character", b"x\xe6", b"", b"\x97", b"", b"\xa5", b""),
        _pieces("cut off at the end, one byte left", b"ab", b"c\xf0"),
        _pieces("cut off at the end, two bytes in two pieces", b"ab", b"c\xe6", b"\x97"),
        _pieces("cut off at the end, three bytes in one piece", b"ab", b"\xf0\x9f\x91"),
        _pieces("cut off at the end, three bytes in three pieces", b"a\xf0", b"\x9f", b"\x91"),
        _pieces("cut off at the end behind whole characters", b"a", "b日é".encode() + b"\xf0\x9f"),
        _pieces("cut off, and empty pieces behind it", b"a\xf0\x9f", b"", b""),
        _pieces("only a part of one character", b"\xe6"),
        _pieces("no pieces"),
        _pieces("one empty piece", b""),
        _pieces("empty pieces", b"", b"", b"a", b""),
        _pieces("a text that repeats itself", b"ha", b"ha", b"ha\xc3", b"\xa9\xc3", b"\xa9"),
        _pieces("the whole text in one piece", _MIXED.encode()),
        _single("byte by byte", _MIXED),
        _single("two bytes at a time", _MIXED, 2),
        _single("three bytes at a time, cut off at the end", _MIXED[:-1], 3, lost=1),
        _single("without a plain letter, byte by byte", "日本語のテキスト👩🚀"),
        _single("a replacement character that the text itself holds", f"a{_SIGN}b{_SIGN}", 2),
        _pieces("a replacement character at the end of pieces", f"a{_SIGN}".encode(), b"b\xef\xbf", b"\xbdc\xf0"),
        _pieces("line ends, tabs and zeros", b"\n a\r", b"\n\tb\r\nc \x00", b" \xc3", b"\xa9\n"),
        _pieces("an accent that is a character of its own", "e\u0301 n".encode() + b"\xcc", b"\x83 \xc2", b"\xbd"),
        case("cut anywhere", _drawn(_MIXED, 25)),
        case("cut anywhere, and off at the end", _drawn("für 日本 👩👩", 12, lost=2)),
        case("the pieces after the call", lambda g: ([b"a\xe6", b"\x97", b"\xa5", b"\xf0"],), run=_left,
             says="The caller's list of pieces is no longer what it was."),
        case("the second of two texts", lambda g: ([b"b\xc3", b"\xa9", b"c"],), run=_again,
             says="A text begins with what was left of the one before it. Where is it kept between two calls?"),
    ),
    mistakes=(
        NOTHING,
        mistake("each piece decoded alone", "Each piece was decoded by itself. A character whose bytes lie in two "
                "pieces is whole in neither: what must be kept of a piece until the next one arrives?",
                *map(_ALONE.format, ("replace", "ignore", "strict", "backslashreplace", "surrogateescape")), _AFRESH),
        mistake("Latin-1", "Every byte was taken for a character. In UTF-8 a character has one to four bytes.",
                'entry = piece.decode("latin-1")\nis_cut = False', 'entry = "".join(map(chr, piece))\nis_cut = False\n'
                'tail = ""', 'entry = piece.decode("cp1252", "replace")\nis_cut = False'),
        mistake("ASCII only", "Only plain letters are shown. Which encoding has a place for all characters?",
                'entry = piece.decode("ascii", "ignore")\nis_cut = False',
                'entry = piece.decode("ascii", "replace")\nis_cut = False',
                'entry = text.encode("ascii", "ignore").decode()'),
        mistake("the replacement sign counted as shown", "A U+FFFD that stood for an incomplete character was counted "
                "as shown, and the character that took its place later never was. What counts as shown?",
                _SO_FAR.format("", "", "len(text)"), _SO_FAR.format("", '.replace("\\ufffd", "")', "len(text)"),
                _SO_FAR.format("", '.rstrip("\\ufffd")', "len(text)"),
                _SO_FAR.format("", '.rstrip("\\ufffd") if at < len(pieces) - 1 else text[count:]', "len(text)"),
                _SO_FAR.format("", '.replace("\\ufffd", "") if at < len(pieces) - 1 else text[count:]', "len(text)")),
        mistake("shown before it is complete", "A U+FFFD, or a part of a character, is shown before its last byte has "
                "arrived. What should be shown until then?",
                'entry = text + "\\ufffd" if used < len(arrived) else text\nis_cut = False',
                'entry = text + "\\ufffd" * (len(arrived) - used)\nis_cut = False',
                _SO_FAR.format("", "", 'len(text.rstrip("\\ufffd"))'),
                'entry = text + arrived[used:].decode("latin-1")\nis_cut = False'),
        mistake("shown with its first byte", "A character is shown with the piece that brings its first byte, before "
                "the others are there. When is it known which one it is?", _BY_FIRST_BYTE),
        mistake("held until the next character", "A character is held back although its last byte is there: it "
                "is shown only when the next one begins. How does its first byte tell how many there will be?",
                *(f"{_LAST}\n{line}" for line in ('sign = "\\ufffd"', 'sign = waiting.decode("utf-8", "replace")')),
                _BY_NEXT_BYTE.format("", "False"), _BY_NEXT_BYTE.format("", "True"),
                _BY_NEXT_BYTE.format("and waiting[:1] >= b'\\x80'", "True")),
        mistake("complete characters held back", "A piece that ends inside a character was held back as a whole, with "
                "the complete characters in it. How much of it has to wait?",
                *map(_WHOLE_OR_NOTHING.format, ('"\\ufffd"', 'waiting.decode("utf-8", "replace")', '""',
                                                'waiting.decode("utf-8", "ignore")')),
                'text = arrived[:len(arrived.rstrip(bytes(range(128, 256))))].decode("utf-8")',
                'text = arrived[:len(arrived.rstrip(bytes(range(128, 256))))].decode("utf-8")\n'
                'sign = waiting.decode("utf-8", "replace")'),
        mistake("only a first byte held back", "A character is held back when only its first byte has arrived, and not "
                "when two or three have. How many bytes can be missing?",
                'text = arrived[:len(arrived) - (arrived[-1:] >= b"\\xc0")].decode("utf-8", "replace")\n'
                'used = len(arrived) - (arrived[-1:] >= b"\\xc0")',
                'text = arrived[:len(arrived) - (arrived[-1:] >= b"\\xc0")].decode("utf-8", "ignore")\n'
                'used = len(arrived) - (arrived[-1:] >= b"\\xc0")'),
        mistake("only one piece remembered", "What waits is forgotten after one more piece. A character of four bytes "
                "can lie in four pieces, and empty ones between them.",
                'waiting = arrived[used:] if not waiting else b""', 'rest = arrived[used:]\n'
                'waiting = rest[-len(piece):] if piece else b""',
                'rest = arrived[used:]\nwaiting = rest[-len(piece):] if piece else rest',
                'waiting = arrived[used:] if piece else b""'),
        mistake("what waits is never let go", "Bytes that were shown already were kept and shown once more. What "
                "is left to wait when a character is complete?",
                "waiting = arrived", 'waiting = arrived[max(used - 1, 0):]\nentry = text',
                'waiting = waiting + arrived[used:]'),
        mistake("all so far in each entry", "Each entry holds the whole text so far. What is new with this piece?",
                'entry = "".join(shown[-1:]) + text'),
        mistake("what was shown is taken out everywhere", "What was shown before was taken out of the text wherever it "
                "stands. It was shown once, at the front: how long was it?",
                _TAKEN_OUT),
        mistake("four bytes not thought of", "Characters of four bytes are lost, or shown as signs. How many bytes of "
                "one can be waiting?", 'waiting = arrived[max(used, len(arrived) - 2):]',
                'used = max(len(text.encode("utf-8")), len(arrived) - 2)\n'
                'entry = arrived[:used].decode("utf-8", "replace")', 'entry = "".join(one for one in text if one < '
                '"\\U00010000")'),
        mistake("an empty piece taken for the end", "An empty piece was taken for the end of the text, and what was "
                "waiting was given up. When is the end reached?",
                'entry = text + "\\ufffd" * (not piece and used < len(arrived))\n'
                'waiting = arrived[used:] if piece else b""',
                'rest = arrived[used:] if piece else b""\nwaiting = rest\nis_cut = len(rest) > 0'),
        mistake("the end lost", "The text was cut off inside its last character, and nothing shows it. What is left "
                "over when no further piece comes?", "is_cut = False",
                "is_cut = bool(waiting and pieces[-1])", "is_cut = bool(waiting and not entry)", matches=_no_tail),
        mistake("the end as an entry of its own", "The sign for the cut-off character is an entry of its own, or "
                "there is one entry more for it. There are as many entries as pieces.",
                "entries = [*shown, sign] if is_cut else shown", "entries = [*shown, tail]"),
        mistake("the sign in another entry", "The sign for the cut-off character is not in the last entry. When is it "
                "known that the rest will not come?",
                'last = max((at for at, one in enumerate(pieces) if one), default=0)\n'
                'entries = [one + tail * (at == last) for at, one in enumerate(shown)]',
                'last = max((at for at, one in enumerate(pieces) if max(one, default=0) >= 192), default=0)\n'
                'entries = [one + tail * (at == last) for at, one in enumerate(shown)]',
                "entries = [*(tail + one for one in shown[:1]), *shown[1:]]"),
        mistake("the sign before the text", "The sign for the cut-off character comes before the last entry's other "
                "characters. Where are the bytes that it stands for?",
                "entries = [*shown[:-1], *(tail + one for one in shown[-1:])]",
                "entries = [*shown[:-1], *(tail or one for one in shown[-1:])]"),
        mistake("a sign for each byte", "Each byte of the cut-off character has a sign of its own. It is one "
                "character: how many signs are needed?", 'sign = "\\ufffd" * len(waiting)', 'sign = "\\ufffd\\ufffd"'),
        mistake("another sign for the end", "What is left of the cut-off character is not shown as one U+FFFD.",
                'sign = "?"', 'sign = waiting.decode("latin-1")', 'sign = waiting.decode("utf-8", "backslashreplace")',
                'sign = "\\\\ufffd"', 'sign = repr(waiting)', 'sign = "..."', 'sign = " "',
                'sign = waiting.decode("utf-8", "surrogateescape")', 'sign = "U+FFFD"', matches=_another_tail),
        mistake("always a sign at the end", "A U+FFFD is shown although the text is complete. When is there something "
                "left over?", "is_cut = True", "is_cut = bool(pieces) and not pieces[-1]",
                "is_cut = bool(waiting or pieces and not pieces[-1])"),
        mistake("an error at the end", "A text that is cut off ends in an error. What is left over is to be shown "
                "as one U+FFFD.", 'sign = waiting.decode("utf-8")', _STRICT),
        mistake("a U+FFFD of the text lost", "The text itself may hold a U+FFFD: it is a character like any other, and "
                "was dropped or held back. Which bytes, and not which signs, tell that a character is incomplete?",
                'entry = text.replace("\\ufffd", "")', 'text = arrived.decode("utf-8", "replace").rstrip("\\ufffd")',
                'entry = text.rstrip("\\ufffd")',
                _SO_FAR.format('.rstrip("\\ufffd" * (at < len(pieces) - 1))', "", "len(text)"),
                'entry = text.strip("\\ufffd")'),
        mistake("empty pieces left out", "There are fewer entries than pieces. Nothing to show is an empty string.",
                "entries = [one + tail * (at == len(shown) - 1) for at, one in enumerate(shown) if pieces[at]]",
                "entries = [one for one in [*shown[:-1], *(one + tail for one in shown[-1:])] if one]"),
        mistake("no pieces is a special case", "Without pieces there is no last entry, and the call fails or "
                "returns something other than an empty list.",
                "tail = sign if is_cut else ''\nshown[-1] += tail\nentries = shown",
                'entries = [*shown[:-1], *(one + tail for one in shown[-1:])] or [""]',
                'entries = [*shown[:-1], *(one + tail for one in shown[-1:])] or None',
                'entries = [*shown[:-1], *(one + tail for one in shown[-1:])] or ""'),
        mistake("characters joined or taken apart", "Characters were joined, split or replaced by others: an "
                "accent may be a character of its own. Show what the bytes say.",
                'entry = unicodedata.normalize("NFC", text)', 'entry = unicodedata.normalize("NFKC", text)',
                'entry = "".join(one for one in text if one.isprintable())'),
        mistake("spaces or line ends lost", "Spaces or line ends at the edge of a piece are gone. Show what the bytes "
                "say.", "entry = text.strip()", 'entry = text.rstrip("\\n")', 'entry = text.replace("\\r\\n", "\\n")',
                'entry = text.strip("\\x00")', "entry = text.rstrip()", "entry = text.lstrip()",
                'entry = text.replace("\\r", "")'),
        mistake("the first piece lost", "What the first piece shows is missing. Nothing is waiting before it.",
                "entries = ['', *shown[1:-1], *(one + tail for one in shown[1:][-1:])] if shown else []"),
        mistake("the input changed in place", "The call changed the caller's list of pieces. Which line writes into "
                "it?", "pieces.append(b'')\nis_cut = len(waiting) > 0", "pieces[len(shown)] = waiting + piece\n"
                "arrived = pieces[len(shown)]", "entries = [*shown[:-1], *(one + tail for one in shown[-1:])]\n"
                "pieces.clear()\nreturn entries", "pieces[:] = entries\nreturn pieces", "pieces[:] = shown\n"
                "entries = [*shown[:-1], *(one + tail for one in shown[-1:])]"),
        mistake("one string", "One string came back. There is one for each piece, even if it is empty.",
                'return "".join(entries)', 'return ["".join(entries)]'),
        mistake("a list of characters", "There is an entry for each character. One is wanted for each piece.",
                'return list("".join(entries))'),
        mistake("another kind of list", "The entries are right, but a list of strings is wanted. What came "
                "back?", "return [one.encode() for one in entries]",
                "return dict(enumerate(entries))",
                "return list(enumerate(entries))", "return [one or None for one in "
                "entries]", "return [[one] for one in entries]", "return list(zip(pieces, entries))",
                "return [list(one) for one in entries]", "return entries, waiting", "return str(entries)",
                "return set(entries)"),
        mistake("signs instead of characters", "A U+FFFD is shown for a character that is whole, or too many of them. "
                "What was lost of it on the way?", matches=_signs),
        mistake("characters lost", "Characters of the text are never shown. Which line drops their bytes?",
                matches=_lost),
        mistake("characters shown twice", "Something is shown that the text does not hold, or more than once.",
                matches=_twice),
        mistake("characters too early", "A character is shown before the piece with its last byte has arrived.",
                matches=_moved(lambda one, other: one > other)),
        mistake("characters too late", "A character is shown later than with the piece that brings its last byte. "
                "Which bytes have to wait, and which do not?", matches=_moved(lambda one, other: one < other)),
        mistake("fewer entries than pieces", "There are fewer entries than pieces. Nothing to show is an empty string.",
                matches=_fewer),
        mistake("more entries than pieces", "There are more entries than pieces. What comes last belongs to the last "
                "piece.", matches=_more),
    ),
    hints=(
        "Take `日` in three pieces of one byte each. What is known after the first, what after the third, and what "
        "must be carried along in between?",
        "Put what is waiting before each new piece. The complete characters at its front can be shown; at most three "
        "bytes at its end go on waiting.",
        "`decode` can be told what to do with bytes that are not a whole character: its second argument. Encoding the "
        "text again tells how many bytes it took.",
        "When the last piece has been read and bytes are still waiting, the last string gets one U+FFFD more. Is there "
        "a last string?",
    ),
)  # fmt: skip
