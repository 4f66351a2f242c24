"""Exercise: a draft without a model: what followed the last tokens where they stood before."""

import re as re
from collections import Counter as Counter
from typing import Any

import torch
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import NOTHING, overwritten, writing
from course_utils.models import prompt_lookup

RIGHT = """
def prompt_lookup(tokens, shortest, longest, num_draft):
    text = tokens.tolist()
    length = len(text)
    sizes = range(longest, shortest - 1, -1)
    starts = []
    for n in sizes:
        last = text[-n:]
        places = range(length - n)
        matches = [place + n for place in places if text[place : place + n] == last]
        chosen = matches[:1]
        starts += chosen
    start = starts[0] if starts else length
    limit = num_draft
    draft = text[start : start + limit]
    return draft
"""


def _told(name: str, tokens: tuple[int, ...], shortest: int, longest: int, num_draft: int) -> Case:
    return case(name, lambda g: (torch.tensor(tokens, dtype=torch.long), shortest, longest, num_draft))


def _drawn(length: int, symbols: int, shortest: int, longest: int, num_draft: int) -> Case:
    return case(f"{length} tokens of {symbols} kinds, {shortest} to {longest} of them looked up, at most {num_draft} "
                "drafted", lambda g: (torch.randint(symbols, (length,), generator=g), shortest, longest, num_draft))


def _agreeing(args: tuple[Any, ...]) -> list[int]:
    """Return for each place before the text's end how many tokens up to it are the last ones, `longest` at most."""
    text, longest = args[0].tolist(), args[2]

    def count(end: int) -> int:
        most = min(longest, end)
        return next((n for n in range(most) if text[end - n - 1] != text[-n - 1]), most)

    return [count(end) for end in range(len(text))]


def _another_place(args: tuple[Any, ...], got: list[int]) -> bool:
    """Return whether the draft is what follows one of the last token's earlier places."""
    text, num_draft = args[0].tolist(), args[3]
    return bool(got) and any(got == text[end : end + num_draft] for end, n in enumerate(_agreeing(args)) if n)


def _elsewhere(args: tuple[Any, ...], got: list[int]) -> bool:
    """Return whether the draft is a piece of the text at all."""
    text = args[0].tolist()
    return bool(got) and any(got == text[end : end + len(got)] for end in range(len(text)))


def _nothing(args: tuple[Any, ...], got: list[int]) -> bool:
    return not got and bool(prompt_lookup(*args))


def _shorter(args: tuple[Any, ...], got: list[int]) -> bool:
    want = prompt_lookup(*args)
    return len(got) < len(want) and got == want[: len(got)]


def _longer(args: tuple[Any, ...], got: list[int]) -> bool:
    want = prompt_lookup(*args)
    return len(got) > len(want) and got[: len(want)] == want


_SUBSTRING = """
def prompt_lookup(tokens, shortest, longest, num_draft):
    text = tokens.tolist()
    written = " ".join(map(str, text))
    for n in range(min(longest, len(text) - 1), shortest - 1, -1):
        sought = " ".join(map(str, text[-n:]))
        at = written.find(sought)
        if at < len(written) - len(sought):
            return [int(one) for one in written[at + len(sought):].split()[:num_draft]]
    return []
"""
_CLAMPED = "sizes = range({}, shortest - 1, -1)"
# How many tokens were found again.
_FOUND = "next((n for n in sizes if any(text[p : p + n] == text[-n:] for p in range(length - n))), 0)"
_FILLED = "draft = (text[start : start + limit] + [{}] * limit)[:limit]"
EXERCISE = exercise(
    prompt_lookup,
    right=RIGHT,
    asks="Draft what followed the last tokens at the earliest place where they stood already.",
    minutes=8,
    difficulty=2,
    importance=3,
    cases=(
        _told("5 8 2 9 5 8", (5, 8, 2, 9, 5, 8), 1, 2, 3),
        _told("two places: 1 2 3 1 2 4 1 2", (1, 2, 3, 1, 2, 4, 1, 2), 1, 2, 2),
        _told("a longer match that comes later", (3, 7, 7, 2, 3, 9, 4, 2, 3), 1, 3, 3),
        _told("a longer match that comes earlier", (4, 2, 3, 9, 5, 3, 7, 4, 2, 3), 1, 3, 2),
        _told("a match of the last token alone", (6, 1, 8, 2, 0, 1), 1, 3, 2),
        _told("a match that is too short", (6, 1, 8, 2, 0, 1), 2, 3, 2),
        _told("a match of `shortest` tokens", (6, 1, 8, 2, 6, 1), 2, 4, 4),
        _told("a match of `longest` tokens, and more before it", (0, 9, 5, 1, 2, 7, 9, 5, 1, 0, 9, 5, 1), 2, 2, 3),
        _told("a match that overlaps the last tokens", (7, 1, 2, 1, 2, 1), 1, 3, 3),
        _told("one token all along", (4, 4, 4, 4, 4, 4), 1, 3, 2),
        _told("one token all along, a long match", (4, 4, 4, 4), 2, 3, 9),
        _told("an overlap at `shortest`", (8, 3, 5, 3, 5, 3), 3, 3, 4),
        _told("nothing twice", (3, 1, 4, 5, 9, 2, 6), 1, 3, 4),
        _told("the match is all but the last token", (2, 2), 1, 5, 3),
        _told("one token", (5,), 1, 1, 3),
        _told("one token, more looked for", (5,), 1, 4, 3),
        _told("`longest` beyond the text", (1, 2, 1, 2), 1, 9, 5),
        _told("`longest` as long as the text", (6, 2, 4, 6, 2), 1, 5, 5),
        _told("`shortest` beyond the text", (1, 2, 1, 2), 7, 9, 5),
        _told("no draft wanted", (5, 8, 2, 9, 5, 8), 1, 2, 0),
        _told("a draft of one", (5, 8, 2, 9, 5, 8), 1, 2, 1),
        _told("a draft that reaches the end", (1, 2, 3, 1), 1, 1, 3),
        _told("a draft longer than the text", (1, 2, 3, 1, 2), 1, 2, 20),
        _told("three places, matches of two lengths", (0, 5, 1, 0, 2, 2, 1, 0, 5, 3, 1, 0, 5), 1, 3, 2),
        _told("the commonest token behind it is not the first", (1, 9, 1, 4, 1, 4, 1, 4, 1), 1, 1, 1),
        _told("the commonest token behind it comes later", (1, 9, 7, 1, 4, 8, 1, 4, 6, 1), 1, 1, 2),
        _told("the same digits, other tokens", (1, 23, 5, 12, 3, 7, 12, 3), 2, 2, 2),
        _told("tokens of several digits", (1, 23, 5, 12, 3, 6, 11, 2, 30, 1, 2, 7, 1, 2), 1, 2, 3),
        _told("large numbers", (49151, 300, 44, 7, 256, 0, 49151, 300, 12, 49151, 44), 1, 2, 2),
        _told("the same tokens in another order", (2, 1, 7, 1, 3, 8, 1, 2), 2, 2, 3),
        _told("the beginning of the last tokens elsewhere", (1, 2, 5, 1, 2, 3, 0, 1, 2, 3), 2, 3, 2),
        _drawn(12, 3, 1, 3, 4),
        _drawn(20, 3, 2, 4, 5),
        _drawn(30, 2, 1, 6, 8),
        _drawn(40, 4, 1, 3, 3),
        _drawn(9, 2, 3, 3, 4),
        _drawn(200, 5, 1, 4, 10),
    ),
    mistakes=(
        NOTHING,
        mistake("the end found itself, or longest only", "Nothing is drafted where `longest` tokens are not found "
                "earlier: shorter ones were never tried, or the end of the text was taken for a match of itself, which "
                "ends the search. Which places are before the end, and what is tried next?",
                "places = range(length - n + 1)", "sizes = [longest]"),
        mistake("the latest place", "The draft comes from the latest place where the last tokens stood. The earliest "
                "is wanted: in which order are the places visited, and when does the search stop?",
                "chosen = matches[-1:]"),
        mistake("shortest first", "A short match was taken although a longer one exists, or longer ones were never "
                "tried. Which number of tokens is looked up first?", "sizes = range(shortest, longest + 1)"),
        mistake("longest only", "Only the largest number of tokens was looked up. What is tried when they are not "
                "found?", "sizes = [min(longest, length - 1)] if length > shortest else []"),
        mistake("some lengths left out", "Not every length from `longest` down to `shortest` was tried. By how much is "
                "it lowered each time?", "sizes = [longest, shortest]", "sizes = range(longest, shortest - 1, -2)"),
        mistake("the match drafted again", "The draft begins with the tokens that were looked up. They are written "
                "already: where does what follows them begin?",
                "matches = [place for place in places if text[place : place + n] == last]",
                "matches = [place for place in places if text[place : place + n] == last]\nlimit = num_draft + longest",
                "start = starts[0] - 1 if starts else length"),
        mistake("one token too far", "The first token behind the match was left out. Where does the match end?",
                "start = starts[0] + 1 if starts else length"),
        mistake("one place after the match's beginning", "The draft begins one token after the match does, however "
                "long the match is. How many tokens does it have?",
                "matches = [place + 1 for place in places if text[place : place + n] == last]"),
        mistake("overlap missed", "A match that overlaps the last tokens was not found. It need only begin before "
                "them.",
                "places = range(length - 2 * n + 1)", "places = range(length - 2 * n)",
                _CLAMPED.format("min(longest, length // 2)"), _CLAMPED.format("min(longest, length // 2)")
                + "\nplaces = range(length - 2 * n + 1)"),
        mistake("no limit", "The draft has more tokens than `num_draft`.", "limit = length"),
        mistake("the limit off by one", "The draft may have `num_draft` tokens: not one more, and not one less.",
                "limit = num_draft + 1", "limit = max(num_draft - 1, 0)"),
        mistake("a draft as long as the match", "The draft has as many tokens as were found again, or stops there. "
                "What limits its length?", f"limit = min(num_draft, {_FOUND})", f"limit = {_FOUND}"),
        mistake("no draft of 0 tokens", "With num_draft=0 there is a draft. How many tokens may it have?",
                "limit = max(num_draft, 1)", "limit = num_draft or length"),
        mistake("short drafts passed over", "A place near the end was passed over because fewer than `num_draft` "
                "tokens follow it. Fewer are fine.",
                "matches = [place + n for place in places if text[place : place + n] == last and place + n + num_draft "
                "<= length]", "matches = [place + n for place in places if text[place : place + n] == last and place + "
                "n + num_draft < length]", "draft = text[start : start + limit] if start + limit <= length else []"),
        mistake("a short draft filled up", "The text ends before the draft is full, and something was added. Fewer "
                "tokens are fine.", _FILLED.format("0"), _FILLED.format("-1"), _FILLED.format("text[-1]"),
                "pool = list(text)\nfor at in range(limit if starts else 0):\n    pool.append(pool[start + at])\n"
                "draft = pool[length:]"),
        mistake("an error where the text ends", "The draft reaches the end of the text, and the call ended in an "
                "error. Fewer tokens are fine.", "draft = [text[start + at] for at in range(limit)] if starts else []"),
        mistake("the draft stops before the last tokens", "The draft ends where the last tokens begin. It may go on "
                "through them: what is behind the match, up to the end of the text?",
                "draft = text[start : min(start + limit, length - shortest)]",
                "draft = text[start : min(start + limit, length - 1)]",
                "matches = [place + n for place in places if text[place : place + n] == last]\n"
                "chosen = matches[:1]\nends = [length - n for n in sizes if any(text[p : p + n] == text[-n:] for p in "
                "range(length - n))] or [length]\ndraft = text[start : min(start + limit, ends[0])]"),
        mistake("`shortest` ignored", "A match shorter than `shortest` was taken. When does the search give up?",
                "sizes = range(longest, 0, -1)", "sizes = range(longest, shortest - 2, -1)",
                "sizes = range(longest, min(shortest, 2) - 1, -1)"),
        mistake("`shortest` excluded", "A match of exactly `shortest` tokens was not looked for. Which is the last "
                "number of the range?", "sizes = range(longest, shortest, -1)"),
        mistake("`longest` excluded", "A match of exactly `longest` tokens was not looked for. Which is the first "
                "number of the range?", "sizes = range(longest - 1, shortest - 1, -1)"),
        mistake("`longest` ignored", "More than `longest` tokens were looked up.",
                "sizes = range(length, shortest - 1, -1)", "sizes = range(longest + 1, shortest - 1, -1)"),
        mistake("shortest and longest exchanged", "The lengths were counted down from `shortest` to `longest`: "
                "there is one at most. Which of the two is larger?", "sizes = range(shortest, longest - 1, -1)"),
        mistake("`longest` beyond the text fails", "Nothing is drafted, or the call fails, where `longest` reaches the "
                "length of the text. How many tokens can have stood before?",
                "sizes = range(longest, shortest - 1, -1) if longest < length else []",
                "sizes = range(longest, shortest - 1, -1) if longest <= length else []",
                "places = range(len(tokens.unfold(0, n, 1)) - 1)",
                "places = range(len(tokens.unfold(0, n, 1)) - 1) if n < length or n == longest else range(0)",
                "sizes = range(longest, shortest - 1, -1)\nlast = [text[at] for at in range(length - n, length)]\n"
                "places = range(length - n) if text[length - n] == text[-n] else []"),
        mistake("one token fails", "The call fails where the text is a single token, or one too short for `shortest`. "
                "Nothing can have stood before: what is returned?",
                "starts = [] if length > shortest else [][0]", "starts = [] if length > 1 else [][0]"),
        mistake("the newest token left out", "What was looked up ends before the newest token. Which tokens are the "
                "last ones?", "last = text[-n - 1 : -1]", "last = text[-n - 1 : -1]\nplaces = range(length - n - 1)"),
        mistake("the first tokens looked up", "The first tokens of the text were looked up. The draft is to follow its "
                "last ones.", "last = text[:n]", "last = text[:n]\nplaces = range(1, length - n)"),
        mistake("the order of the tokens ignored", "The same tokens in another order were taken for a match. What must "
                "agree, place by place?",
                "matches = [place + n for place in places if sorted(text[place : place + n]) == sorted(last)]",
                "matches = [place + n for place in places if set(text[place : place + n]) == set(last)]",
                "matches = [place + n for place in places if text[place : place + n] == last[::-1]]"),
        mistake("one token compared", "A single token of the match was compared. All of the last n must agree.",
                "matches = [place + n for place in places if text[place + n - 1] == text[-1]]",
                "matches = [place + n for place in places if text[place] == last[0]]",
                "matches = [place + n for place in places if (text[place], text[place + n - 1]) == (last[0], "
                "last[-1])]",
                "matches = [place + n for place in places if any(a == b for a, b in zip(text[place:], last))]"),
        mistake("digits for tokens", "Tokens were written as digits and searched in a string: 12 then begins like 1, "
                "and ends like 2. What separates one number from the next?",
                "matches = [place + n for place in places if ' '.join(map(str, text[place:])).startswith(' '.join(map("
                "str, last)))]",
                "matches = [place + n for place in places if ' '.join(map(str, text[: place + n])).endswith(' '.join("
                "map(str, last)))]",
                "matches = [place + n for place in places if ''.join(map(str, text[place : place + n])) == "
                "''.join(map(str, last))]", _SUBSTRING),
        mistake("tokens taken for bytes", "Tokens above 255 were cut down, or the call fails on them. A vocabulary has "
                "tens of thousands.", "text = tokens.to(torch.uint8).tolist()", "text = list(bytes(tokens.tolist()))",
                "text = tokens.to(torch.int8).tolist()"),
        mistake("the commonest continuation", "The draft is what followed most often. What followed at the earliest "
                "place is wanted.",
                "counts = Counter(text[at] for at in matches)\n"
                "chosen = sorted(matches, key=lambda at: -counts[text[at]])[:1]",
                "counts = Counter(tuple(text[at : at + num_draft]) for at in matches)\n"
                "chosen = sorted(matches, key=lambda at: -counts[tuple(text[at : at + num_draft])])[:1]"),
        mistake("the place with most behind it, or least", "Another place than the earliest was chosen: one in the "
                "middle, or the second one.", "chosen = matches[1:2] or matches[:1]",
                "chosen = matches[len(matches) // 2 :][:1]", "chosen = matches[1:2]"),
        mistake("all matches drafted", "What follows several places was put together. One place is enough: which?",
                "draft = [token for at in starts for token in text[at : at + limit]]",
                "chosen = matches\ndraft = [token for at in starts for token in text[at : at + limit]][:limit]",
                "draft = [token for at in starts for token in text[at : at + limit]][:limit]",
                "chosen = matches\ndraft = [text[at : at + limit] for at in starts]", "chosen = matches\n"
                "draft = [text[at] for at in starts][:limit]"),
        mistake("something drafted where nothing is found", "Nothing was found, and still a draft came back, or "
                "something other than an empty list.", "draft = text[start : start + limit] if starts else None",
                "draft = text[start : start + limit] if starts else [text[-1]] * limit",
                "draft = text[start : start + limit] if starts else text[:limit]",
                "draft = text[start : start + limit] if starts else [0] * limit",
                "draft = text[start : start + limit] if starts else [text[-1]]",
                "draft = text[start : start + limit] or None", "draft = text[start : start + limit] if starts else "
                "text[-limit:]", "draft = text[start : start + limit] if starts else [-1]",
                "draft = text[start : start + limit] if starts else [[]]"),
        mistake("an error where nothing is found", "Nothing was found, and the call ended in an error. What is "
                "returned then?", "start = starts[0]", "start = max(starts[0], 0)"),
        mistake("the draft backwards", "The draft runs from the match towards the beginning of the text, or is turned "
                "round.", "draft = text[start : start + limit][::-1]",
                "draft = text[max(start - limit, 0) : start] if starts else []",
                "matches = [place for place in places if text[place : place + n] == last]\n"
                "draft = text[max(start - limit, 0) : start] if starts else []",
                "draft = text[max(start - limit - 1, 0) : start - 1] if starts else []"),
        mistake("the text returned too", "The text, or its last tokens, came back before the draft. Only the draft is "
                "asked for.", "return text + draft", "return text[-1:] + draft",
                "return text[-shortest:] + draft"),
        mistake("places instead of tokens", "Places in the text came back. Which tokens are there?",
                "draft = list(range(start, min(start + limit, length)))", "return starts[:1]"),
        mistake("tensors for numbers", "The draft came as a tensor, or holds tensors. A list of Python's ints is asked "
                "for: which call makes one?", "return torch.tensor(draft)", "return tokens[start : start + limit]",
                "return [torch.tensor(one) for one in draft]", "return list(tokens[start : start + limit])",
                "return tokens[start : start + limit].numpy()", "return tokens[start : start + limit].unsqueeze(0)",
                "return tokens[start : start + limit] if starts else []", "return torch.tensor(draft, "
                "dtype=torch.long)", "return tokens[start : start + limit] if starts else tokens[:0]"),
        mistake("another kind of list", "The draft is right, but a list of Python's ints alone is asked for.",
                "return [float(one) for one in draft]", "return [str(one) for one in draft]", "return str(draft)",
                "return ' '.join(map(str, draft))", "return [draft]", "return draft, len(draft)", "return (draft,)",
                "return set(draft)",
                "return draft, start", "return draft, starts", "return draft[0] if len(draft) == 1 else draft",
                "return dict(enumerate(draft))", "return draft[0] if draft else []", "return draft[0] if draft else "
                "None", "return {'draft': draft}", "return [(one,) for one in draft]"),
        overwritten(*writing(prompt_lookup, 0)),
        mistake("places skipped", "Not every place before the end was looked at: the first or the last one was left "
                "out, or some in between. A match can begin anywhere before the last tokens do.",
                "places = range(1, length - n)", "places = range(length - n - 1)", "places = range(0, length - n, n)",
                "places = range(n, length - n)"),
        mistake("only one place tried", "Only one place was looked at for each length: the first one of a single "
                "token. If the others do not agree there, where else could they stand?",
                "places = [text.index(last[0])] if n < length and text.index(last[0]) < length - n else []",
                "first = text.index(text[-1]) + 1\nplaces = [first - n] if n <= first < length else []"),
        mistake("a match not found", "Nothing is drafted, although at least `shortest` of the last tokens stood "
                "earlier in the text. Which lengths and which places were tried? And was the end of the text taken for "
                "a match of itself, with nothing behind it?", "places = range(length - n, -1, -1)", matches=_nothing),
        mistake("another place", "The draft follows an earlier place of the last token, but not the one that is "
                "wanted. As many of the last tokens as possible must agree there, up to `longest`; of such places, the "
                "earliest.", matches=_another_place),
        mistake("a draft that ends too early", "The draft begins as it should, but it is too short. How many tokens "
                "are behind the match, and how many may be taken?", matches=_shorter),
        mistake("a draft that is too long", "The draft begins as it should, but it goes on too far.", matches=_longer),
        mistake("a piece from elsewhere", "The draft is a piece of the text, but not one that follows an earlier place "
                "of its last token.", matches=_elsewhere),
    ),
    hints=(
        "Underline the last two tokens of `5 8 2 9 5 8`. Where else do they stand, and what follows them there?",
        "Two loops: the outer one over n, from `longest` down, the inner one over the places where a match can begin, "
        "from the front. The first match ends both.",
        "The last match that counts begins one place before the last n tokens do. With n as long as the text, or "
        "longer, no such place is left.",
        "A slice ends by itself where the text does.",
    ),
)  # fmt: skip
