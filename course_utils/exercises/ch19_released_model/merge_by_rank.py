"""Exercise: from the characters of a word to its tokens."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make
from course_utils.checking.mistakes import mistake
from course_utils.data import merge_by_rank
from course_utils.data.byte_level import merged
from course_utils.exercises.shared.kinds import NOTHING

RIGHT = """
def merge_by_rank(piece, ranks):
    symbols = list(piece)
    for _ in piece:
        pairs = list(zip(symbols, symbols[1:]))
        known = [pair for pair in pairs if pair in ranks]
        if not known:
            break
        first = min(known, key=lambda pair: ranks[pair])
        at = 0
        joined = []
        while at < len(symbols):
            fits = tuple(symbols[at : at + 2]) == first
            size = 2 if fits else 1
            joined.append("".join(symbols[at : at + size]))
            at += size
        symbols[:] = joined
    result = symbols
    return result
"""

Ranks = dict[tuple[str, str], int]
_TEXT = """low low low low low lower lower newest newest newest newest newest newest widest widest widest
attention attention attention attention position position question questions station stations action actions
nation national nations international normal normalise normalised normalisation concentrate concentrated
concentration communicate communication understand understanding standing interest interested interesting
national rational ration rations stand stands under thunder wonder wander render tender gender"""


def _ranks(*pairs: str) -> Ranks:
    """Return the ranks of pairs that are written with a space, the lowest first."""
    return {(left, right): rank for rank, (left, right) in enumerate(pair.split() for pair in pairs)}


def _learned(text: str, number: int) -> Ranks:
    """Return the merges that a text teaches: of the pairs that it holds now, the most frequent one, again and again."""
    words, ranks, made = [list(word) for word in re.findall(r"\w+", text)], Ranks(), set[str]()
    while len(ranks) < number:
        pairs = Counter(pair for word in words for pair in pairwise(word) if "".join(pair) not in made)
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        ranks[best] = len(ranks)
        made.add("".join(best))
        words = [merged(word, best) for word in words]
    return ranks


def given(piece: str, ranks: Ranks) -> Make:
    """Make a case of this word, with a dict of its own for every call."""
    return lambda generator: (piece, dict(ranks))


_WORDS = _learned(_TEXT, 60)
_LATER = {pair: 256 + 7 * rank for pair, rank in _WORDS.items()}
_LOW = _ranks("l o", "e r", "lo w", "n e", "low er")


def _drawn(letters: str, length: int, number: int) -> Make:
    """Make a word of random letters, and random merges, each of what another such word holds after those before it."""

    def word(g: torch.Generator, size: int) -> list[str]:
        return [letters[int(at)] for at in torch.randint(len(letters), (size,), generator=g)]

    def make(g: torch.Generator) -> tuple[Any, ...]:
        symbols, ranks, made = word(g, 300), Ranks(), set[str]()
        while len(ranks) < number:
            at = int(torch.randint(len(symbols) - 1, (1,), generator=g))
            pair = symbols[at], symbols[at + 1]
            if "".join(pair) not in made:
                ranks[pair] = len(ranks)
                made.add("".join(pair))
                symbols = merged(symbols, pair)
        return "".join(word(g, length)), _mixed(ranks)

    return make


def _mixed(ranks: Ranks) -> Ranks:
    """Return the same ranks in another order of the dict."""
    return dict(sorted(ranks.items(), key=lambda item: item[0][::-1]))


def _kept(fn: Callable[..., Any], piece: str, ranks: Ranks) -> list[Any]:
    """Return the symbols, and whether the ranks are as they were."""
    mine = dict(ranks)
    return [fn(piece, mine), list(mine.items()) == list(ranks.items())]


def _another_word(args: tuple[Any, ...], got: Any) -> str | None:
    text = [one for one in got if isinstance(one, str)]
    return None if "".join(text) == args[0] else "The symbols, joined, do not give the word again."


def _lost(args: tuple[Any, ...], got: Any) -> bool:
    return len("".join(got)) < len(args[0])


def _twice(args: tuple[Any, ...], got: Any) -> bool:
    return len("".join(got)) > len(args[0])


def _no_strings(args: tuple[Any, ...], got: Any) -> bool:
    return not all(isinstance(one, str) for one in got) and not _numbers(args, got)


def _left_over(args: tuple[Any, ...], got: Any) -> bool:
    return "".join(got) == args[0] and any(pair in args[1] for pair in pairwise(got))


def _other_merges(args: tuple[Any, ...], got: Any) -> bool:
    return "".join(got) == args[0] and not _left_over(args, got)


def _numbers(args: tuple[Any, ...], got: Any) -> bool:
    return bool(got) and all(one is None or isinstance(one, int | float) for one in got)


def _more_to_merge(args: tuple[Any, ...], got: Any) -> str | None:
    left = [pair for pair in pairwise(got) if pair in args[1]]
    return f"The neighbours {left[0][0]!r} and {left[0][1]!r} have a rank." if left else None


def longest(piece: str, names: Mapping[str, Any]) -> list[str]:
    """Cut a word from the left into the longest of some strings, or single characters."""
    found = []
    while piece:
        found.append(next((piece[:n] for n in range(len(piece), 1, -1) if piece[:n] in names), piece[:1]))
        piece = piece[len(found[-1]):]
    return found


_NAMES = "names = {left + right: rank for (left, right), rank in ranks.items()}\n"
_ONE_BY_ONE = """
def merge_by_rank(piece, ranks):
    symbols = list(piece)
    for {pair} in {order}:
        {merge}
    return symbols
"""
_ALL = "symbols = merged(symbols, pair)"
_FIRST = """if pair in zip(symbols, symbols[1:]):
            at = list(zip(symbols, symbols[1:])).index(pair)
            symbols[at : at + 2] = ["".join(pair)]"""
_REPLACED = """
def merge_by_rank(piece, ranks):
    text = " ".join(piece)
    for left, right in sorted(ranks, key=lambda pair: ranks[pair]):
        text = text.replace(f"{left} {right}", left + right)
    return text.split()
"""
_ROUNDS = """
def merge_by_rank(piece, ranks):
    symbols = list(piece)
    for _ in range({}):
        known = [(ranks[pair], at) for at, pair in enumerate(zip(symbols, symbols[1:])) if pair in ranks]
        if not known:
            break
        at = min(known)[1]
        symbols[at : at + 2] = ["".join(symbols[at : at + 2])]
    return symbols
"""
_LONGEST = """
def merge_by_rank(piece, ranks):
    symbols = list(piece)
    while True:
        known = [(at, pair) for at, pair in enumerate(zip(symbols, symbols[1:])) if pair in ranks]
        if not known:
            return symbols
        at, pair = min(known, key=lambda one: (-len("".join(one[1])), ranks[one[1]]))
        symbols[at : at + 2] = ["".join(pair)]
"""
_COUNTED = """
def merge_by_rank(piece, ranks):
    symbols = list(piece)
    for left, right in sorted(ranks, key=lambda pair: ranks[pair]):
        for at in range(len(symbols) - 1):
            if symbols[at] == left and symbols[at + 1] == right:
                symbols[at : at + 2] = [left + right]
    return symbols
"""
_AS_READ = """
def merge_by_rank(piece, ranks):
    symbols = []
    for one in piece:
        symbols.append(one)
        while tuple(symbols[-2:]) in ranks:
            symbols[-2:] = ["".join(symbols[-2:])]
    return symbols
"""
_SWEEP = """
def merge_by_rank(piece, ranks):
    {before}
    at = 0
    while at < len(symbols):
        {sweep}
    return symbols
"""
_JOIN = """if tuple(symbols[at : at + 2]) in ranks:
            symbols[at : at + 2] = ["".join(symbols[at : at + 2])]
        {}"""

EXERCISE = exercise(
    merge_by_rank,
    right=RIGHT,
    asks="Merge neighbours, those of the lowest rank first, until none of them has a rank.",
    minutes=12,
    difficulty=3,
    importance=4,
    cases=(
        case("'low', and two merges", given("low", _ranks("l o", "lo w"))),
        case("'lowers', and five merges", given("lowers", _LOW)),
        case("'abc', where b and c come before a and b", given("abc", _ranks("b c", "a b"))),
        case("'aaaaa', where two a merge", given("aaaaa", _ranks("a a"))),
        case("'aaaaaaa', and pairs of pairs", given("aaaaaaa", _ranks("a a", "aa aa"))),
        case("'newlower': one pair that occurs twice", given("newlowerlow", _LOW)),
        case("'abc', whose parts come from another pair", given("abcab", _ranks("b c", "a b", "ab c"))),
        case("'alolo', where a letter goes to the left once", given("alolo", _ranks("a l", "l o"))),
        case("'understanding', merges of a text", given("understanding", _WORDS)),
        case("'concentration', merges of a text", given("concentration", _WORDS)),
        case("'international', merges of a text", given("international", _WORDS)),
        case("'normalisation', merges of a text", given("normalisation", _WORDS)),
        case("'communication', merges of a text", given("communication", _WORDS)),
        case("'widestrenders', merges of a text", given("widestrenders", _WORDS)),
        case("a word of three letters, in any order", _drawn("abc", 13, 12)),
        case("a longer word of three letters", _drawn("abc", 30, 20)),
        case("a word of two letters", _drawn("ab", 20, 12)),
        case("a word of five letters", _drawn("abcde", 40, 40)),
        case("ranks whose dict is in another order", given("understanding", _mixed(_WORDS))),
        case("ranks from 256 on, with gaps", given("concentration", _mixed(_LATER))),
        case("letters that no merge knows", given("zlowzyerx", _LOW)),
        case("nothing to merge", given("xyz", _LOW)),
        case("no merges at all", given("low", {})),
        case("a word that becomes one symbol", given("lower", _LOW)),
        case("one letter", given("l", _LOW)),
        case("the empty word", given("", _LOW)),
        case("signs", given("(...)...", _ranks(". .", ".. .", "( ...", ") ..."))),
        case("characters that take several bytes", given("Ġñañaçã", _ranks("ñ a", "Ġ ña", "ç ã"))),
        case("500 letters", _drawn("abc", 500, 20)),
        case("the ranks, afterwards", given("lowernewestlow", _WORDS), run=_kept,
             says="The call changed `ranks`, which belong to the caller and serve for the next word."),
    ),
    mistakes=(
        NOTHING,
        mistake("the highest rank first", "The pair of the highest rank was merged first. Which of two merges was "
                "learned earlier?", "first = max(known, key=lambda pair: ranks[pair])",
                _ONE_BY_ONE.format(pair="pair", order="sorted(ranks, key=lambda pair: -ranks[pair])", merge=_ALL)),
        mistake("the first pair that has a rank", "The leftmost or rightmost pair that has a rank was merged, whatever "
                "its rank. Which pair of the whole word comes first?", "first = known[0]", "first = known[-1]",
                _AS_READ),
        mistake("the order of the dict", "The pair that comes first in the dict was merged. What do its values say?",
                "first = next(pair for pair in ranks if pair in known)",
                _ONE_BY_ONE.format(pair="pair", order="ranks", merge=_ALL)),
        mistake("the order of the alphabet", "Pairs were compared as strings, not by their ranks. What is `min` to "
                "compare?", "first = min(known)", "first = max(known)"),
        mistake("the most frequent pair", "The pair that the word holds most often was merged, as in training. Here "
                "the ranks are known.", "first = max(known, key=pairs.count)",
                "first = Counter(known).most_common(1)[0][0]"),
        mistake("the longest pair", "Of all pairs the one with the longest, or shortest, result was merged. Which "
                "number decides?", "first = max(known, key=lambda pair: len(''.join(pair)))",
                "first = min(known, key=lambda pair: len(''.join(pair)))",
                "first = max(known, key=lambda pair: (len(''.join(pair)), -ranks[pair]))",
                _LONGEST),
        mistake("longest match", "The word was cut into the longest strings that some merge makes. Other tokenizers do "
                "so; here the order of the merges decides.", _NAMES + "result = longest(piece, names)",
                _NAMES + "result = [one[::-1] for one in longest(piece[::-1], {n[::-1]: 0 for n in names})][::-1]"),
        mistake("one merge", "After one pair the merging stopped. Until when does it go on?",
                "if len(symbols) < len(piece):\n    break\nknown = [pair for pair in pairs if pair in ranks]"),
        mistake("one sweep", "The word was read once from left to right, and what had a rank was joined on the way. "
                "Which pair of the whole word comes first?",
                _SWEEP.format(before="symbols = list(piece)", sweep=_JOIN.format("at += 1")),
                _SWEEP.format(before="symbols = list(piece)", sweep=_JOIN.format("else:\n            at += 1")),
                _SWEEP.format(before="symbols = []", sweep="at += 1")
                .replace("at = 0\n    while at < len(symbols):\n        at += 1",
                         "for one in piece:\n        if symbols and (symbols[-1], one) in ranks:\n"
                         "            symbols[-1] += one\n        else:\n            symbols.append(one)")),
        mistake("all pairs of a sweep", "In each round all neighbours that have any rank were merged, not those of the "
                "lowest rank alone.", "fits = tuple(symbols[at : at + 2]) in ranks"),
        mistake("only the pairs of the first round", "Only pairs of single characters were merged, or only those that "
                "were there at the start. A merge makes new neighbours: when must the pairs be sought again?",
                "known = [pair for pair in pairs if pair in ranks and len(''.join(pair)) == 2]",
                _ONE_BY_ONE.format(pair="pair", merge=_ALL, order=(
                    "sorted({p for p in zip(piece, piece[1:]) if p in ranks}, key=lambda pair: ranks[pair])"))),
        mistake("one occurrence of each pair", "Each pair was merged in one place only. Where else does it stand?",
                _ONE_BY_ONE.format(pair="pair", order="sorted(ranks, key=lambda pair: ranks[pair])", merge=_FIRST)),
        mistake("too few rounds", "The merging stopped while there were pairs left to merge: the number of rounds was "
                "limited. How often can one and the same pair be merged?",
                _ROUNDS.format("len(ranks)"), _ROUNDS.format("len(piece) // 2"), _ROUNDS.format("10")),
        mistake("joined string looked up", "Two neighbours were merged that have no rank as a pair: only their joined "
                "string is what another pair makes. What are the keys of `ranks`?",
                _NAMES + "known = [pair for pair in pairs if ''.join(pair) in names]\n"
                "first = min(known, key=lambda pair: names[''.join(pair)])"),
        mistake("from the right", "Where the same symbol stands three times, the last two were merged. In which order "
                "is a word read?", "rest = list(symbols)\nturned = []\nwhile rest:\n"
                "    many = 2 if tuple(rest[-2:]) == first else 1\n    turned.insert(0, ''.join(rest[-many:]))\n"
                "    del rest[-many:]\nsymbols[:] = turned"),
        mistake("places counted before the merges", "The places were counted once, and then the list became shorter: "
                "the call fails at its end. How many neighbours are left after a merge?", _COUNTED),
        mistake("a symbol used twice", "A symbol went into two merges, or stayed beside what it was merged into, so "
                "the word grew longer. Where does the search go on after a merge?", "at += 1",
                "places = {i for i, pair in enumerate(pairs) if pair == first}\n"
                "symbols[:] = [''.join(symbols[i : i + 2]) if i in places else one\n"
                "    for i, one in enumerate(symbols) if i in places or i - 1 not in places]", matches=_twice),
        mistake("no rank taken for rank 0", "Pairs that have no rank were treated as if they had the lowest: all of "
                "the word was merged, or the merging stopped too soon. Which number comes after all ranks?",
                "known = pairs\nfirst = min(known, key=lambda pair: ranks.get(pair, 0))",
                "known = pairs\nfirst = min(known, key=lambda pair: ranks.get(pair, 0))\n"
                "if first not in ranks:\n    break\nat = 0",
                "known = pairs\nfirst = min(known, key=lambda pair: ranks.get(pair, -1))",
                "known = pairs\nfirst = min(known, key=lambda pair: ranks.get(pair, -1))\n"
                "if first not in ranks:\n    break\nat = 0"),
        mistake("rank 0 taken for no rank", "The pair of rank 0 was never merged. In Python 0 is false: what else "
                "tells that a pair is missing?", "known = [pair for pair in pairs if ranks.get(pair)]"),
        mistake("no rank taken for a small number", "A pair that has no rank was treated as if it had a number, and "
                "there are ranks above it. Which number comes after all ranks?",
                "known = pairs or [('', '')]\nfirst = min(known, key=lambda pair: ranks.get(pair, len(ranks)))\n"
                "if first not in ranks:\n    break\nat = 0",
                "known = pairs or [('', '')]\nfirst = min(known, key=lambda pair: ranks.get(pair, 100))\n"
                "if first not in ranks:\n    break\nat = 0",
                "known = pairs or [('', '')]\nfirst = min(known, key=lambda pair: ranks.get(pair, len(piece)))\n"
                "if first not in ranks:\n    break\nat = 0"),
        mistake("stops at a pair without a rank", "Pairs behind the first one without a rank were not looked at. A "
                "word may begin with letters that no merge knows.",
                "known = [pair for at, pair in enumerate(pairs) if all(one in ranks for one in pairs[: at + 1])]",
                "known = [pairs[0]] if pairs and pairs[0] in ranks else []"),
        mistake("a pair at the edge left out", "The first or the last two symbols were never looked at as a pair. How "
                "many pairs do n symbols have?",
                "known = [pair for pair in pairs[:-1] if pair in ranks]",
                "known = [pair for pair in pairs[1:] if pair in ranks]"),
        mistake("every other pair only", "Symbols were paired off, two by two. A symbol has a neighbour on each side.",
                "pairs = list(zip(symbols[::2], symbols[1::2]))",
                "pairs = list(zip(symbols[::2], symbols[1::2]))\nhalves = [tuple(symbols[i : i + 2]) for i in "
                "range(0, len(symbols), 2)]\nsymbols[:] = [one for half in halves for one in "
                "([''.join(half)] if half == first else half)]"),
        mistake("half of the pair compared", "Symbols were merged of which only one belongs to the pair. What must be "
                "equal?", "fits = symbols[at] == first[0]", "fits = symbols[at + 1 : at + 2] == [first[1]]"),
        mistake("symbols sought inside others", "A pair was found where a symbol ends or begins with the same letters, "
                "as a replacement in a joined text does. Which symbols are compared as a whole?",
                "symbols[:] = ' '.join(symbols).replace(' '.join(first), ''.join(first)).split(' ')",
                "symbols[:] = re.sub(re.escape(' '.join(first)) + '(?!\\\\S)', ''.join(first), "
                "' '.join(symbols)).split(' ')", _REPLACED),
        mistake("signs read as a pattern", "A pattern was made of the symbols as they are, and in a pattern some signs "
                "mean something else: a dot fits any character. What makes them plain text?",
                "symbols[:] = re.sub('(?<!\\\\S)' + ' '.join(first) + '(?!\\\\S)', ''.join(first), "
                "' '.join(symbols)).split(' ')"),
        mistake("joined the wrong way round", "The right symbol came before the left one. In which order do they stand "
                "in the word?",
                "symbols[:] = [first[1] + first[0] if one == first[0] + first[1] else one for one in joined]"),
        mistake("the pair looked up the wrong way round", "The right symbol was looked up before the left one. In "
                "which order are the keys of `ranks`?",
                "known = [(left, right) for left, right in pairs if (right, left) in ranks]\n"
                "first = min(known, key=lambda pair: ranks[pair[::-1]])"),
        mistake("symbols lost", "Symbols of the word are missing. What becomes of those that belong to no merge, and "
                "of the last one?", "symbols[:] = joined if tuple(symbols[-2:]) == first else joined[:-1]",
                "symbols[:] = [one for one in joined if one == ''.join(first)]", "symbols[:] = joined[:-1]",
                "symbols[:] = joined[1:]", "symbols[:] = [''.join(first)]",
                "symbols[:] = [one for one in joined if one != ''.join(first)]", matches=_lost),
        mistake("one symbol has no neighbour", "It fails where one symbol is left, or none at all: there are no pairs "
                "to choose from.",
                "known = [pairs]\nfirst = min(pairs, key=lambda pair: ranks.get(pair, math.inf))\n"
                "if first not in ranks:\n    break\nat = 0",
                "known = [pairs]\nfirst = sorted(pairs, key=lambda pair: ranks.get(pair, math.inf))[0]\n"
                "if first not in ranks:\n    break\nat = 0",
                "known = [pairs]\nscored = [ranks.get(pair, math.inf) for pair in pairs]\n"
                "first = pairs[scored.index(min(scored))]\nif first not in ranks:\n    break\nat = 0"),
        mistake("stops before one symbol is left", "The merging stopped although two symbols with a rank were left. "
                "When is there nothing more to merge?",
                "if len(symbols) < 3:\n    break\nknown = [pair for pair in pairs if pair in ranks]"),
        mistake("the shortest words", "Words of one letter, or of none, are treated differently. Theirs is a list too, "
                "of one symbol or of none.", "if len(piece) < 2:\n    return piece\nsymbols = list(piece)",
                "if len(piece) < 2:\n    return [piece]\nsymbols = list(piece)",
                "if len(piece) < 2:\n    return None\nsymbols = list(piece)",
                "if len(piece) < 2:\n    return []\nsymbols = list(piece)",
                "symbols = list(piece) or ['']", "if not piece:\n    return None\nsymbols = list(piece)",
                "if not piece:\n    return ''\nsymbols = list(piece)", "assert piece\nsymbols = list(piece)",
                "if not piece:\n    raise ValueError\nsymbols = list(piece)", "if not piece:\n    return piece\n"
                "symbols = list(piece)", "piece[0]\nsymbols = list(piece)"),
        mistake("nothing merged", "The characters came back as they are. Are the pairs found in `ranks` at all? Its "
                "keys are tuples of two strings.", "known = []", "known = [pair for pair in pairs if ' '.join(pair) in "
                "ranks]", "known = [list(pair) for pair in pairs if list(pair) in list(ranks)]"),
        mistake("the whole word", "The word came back in one piece. A symbol is a character at the start.",
                "symbols = [piece]"),
        mistake("an end sign added", "A sign for the end of the word was added, as some tokenizers have. Here the "
                "symbols are the characters alone.", "symbols = [*piece, '</w>']",
                "symbols = [*piece[:-1], piece[-1:] + '</w>'] if piece else []"),
        mistake("bytes instead of characters", "The symbols are bytes. Each character of the piece is a symbol.",
                "symbols = [chr(byte) for byte in piece.encode()]",
                "symbols = [bytes([byte]) for byte in piece.encode()]"),
        mistake("another kind than a list of strings", "The symbols came in another form. A list of strings is asked "
                "for.", "result = ' '.join(symbols)", "result = set(symbols)", "result = '|'.join(symbols)",
                "result = [tuple(one) for one in symbols]", "result = [list(one) for one in symbols]",
                "result = dict.fromkeys(symbols)", "result = len(symbols)", "result = [symbols]",
                "result = [one.encode() for one in symbols]", "result = (symbols, ranks)",
                "result = [(one,) for one in symbols]", matches=_no_strings),
        mistake("numbers instead of strings", "Numbers came back instead of strings. The symbols are asked for.",
                _NAMES + "result = [names.get(one, -1) for one in symbols]",
                _NAMES + "result = [names.get(one, one) for one in symbols]",
                "result = [len(one) for one in symbols]", "result = [ranks.get(one) for one in symbols]",
                matches=_numbers),
        mistake("the input changed in place", "The call changed `ranks`, which serve for the next word too. Which line "
                "takes something out of them, or puts something in?",
                "del ranks[first]\nsymbols[:] = joined",
                "first = min(known, key=lambda pair: ranks[pair])\nfor pair in known:\n    ranks.pop(pair, None)\n"
                "at = 0", "ranks.clear()\nreturn result",
                "ranks.update({pair: math.inf for pair in pairs if pair not in ranks})\n"
                "known = [pair for pair in pairs if ranks[pair] < math.inf]"),
        mistake("merges left undone", "Neighbours that have a rank were left as they are. Until when does the merging "
                "go on?", matches=_left_over),
        mistake("other merges", "The word was cut into other symbols. Write down each round for this word: which pairs "
                "have a rank, and which of them has the lowest?", matches=_other_merges),
    ),
    laws=(
        Law("the symbols, joined, are the word", _another_word),
        Law("in the end no two neighbours have a rank", _more_to_merge),
    ),
    hints=(
        "Take 'abc', with rank 0 for b and c, and rank 1 for a and b. Which pair is merged first, and what is left of "
        "the other?",
        "In each round: list the neighbours, `zip(symbols, symbols[1:])`; keep those that are in `ranks`; stop if "
        "there are none; take the one of the lowest rank.",
        "To merge, walk through the symbols with an index. Where two of them are the pair, append both joined and go "
        "on by 2; else append one and go on by 1. Then begin the next round with the new list.",
    ),
)
