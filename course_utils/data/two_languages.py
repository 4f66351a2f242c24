"""Polish or Czech? Bags of words from the Unicode CLDR, with no download.

Source: names of territories, languages, scripts and currencies in the Unicode CLDR, as babel 2.18
    ships them, https://cldr.unicode.org
Differs: names are cut into words of three letters and more, lower-cased; a quarter of a document's
    words are common to both languages, the rest come from the two in a proportion drawn for each
    document, and the language with more words is its label
"""

import functools
import re
from dataclasses import dataclass

import torch
from babel import Locale
from jaxtyping import Bool, Int
from torch import Tensor

from course_utils.validation import check_at_least

LANGUAGES = ("Polish", "Czech")
NO_WORD, CLASS_TOKEN, FIRST_WORD = 0, 1, 2
SHORTEST, LONGEST = 8, 15
SHARED = 0.25
_WORD = re.compile(r"[^\W\d_]{3,}")


@functools.cache
def language_words(locale: str) -> frozenset[str]:
    """Return the words in a language's names for places, languages, scripts and currencies.

    Args:
        locale: For example "pl".
    """
    known = Locale.parse(locale)
    parts = (known.territories, known.languages, known.scripts, known.currencies)
    names = (name.lower() for part in parts for name in part.values())
    return frozenset(word for name in names for word in _WORD.findall(name))


@functools.cache
def vocabulary() -> tuple[tuple[str, ...], tuple[int, int, int]]:
    """Return the words of the tokens, and how many are only Polish, only Czech, and in both."""
    polish, czech = language_words("pl"), language_words("cs")
    groups = [sorted(words) for words in (polish - czech, czech - polish, polish & czech)]
    one, other, both = map(len, groups)
    return ("[pad]", "[class]", *(word for words in groups for word in words)), (one, other, both)


@dataclass(frozen=True)
class Documents:
    """Documents as tokens, each after a class token and padded on the right.

    Attributes:
        tokens: Indices into `vocabulary()`.
        mask: True where a token is real.
        labels: Indices into `LANGUAGES`.
        kinds: 0 for a Polish word, 1 for a Czech one, 2 for one of both, -1 for none.
    """

    tokens: Int[Tensor, "N L"]
    mask: Bool[Tensor, "N L"]
    labels: Int[Tensor, " N"]
    kinds: Int[Tensor, "N L"]

    def words(self, number: int) -> list[str]:
        """Return a document's words, its class token first."""
        known = vocabulary()[0]
        return [known[token] for token in self.tokens[number, self.mask[number]].tolist()]


def draw_documents(count: int, generator: torch.Generator) -> Documents:
    """Draw documents of 8 to 15 words.

    Args:
        count: How many.
        generator: The only source of randomness.
    """
    check_at_least(1, count=count)
    sizes = torch.tensor(vocabulary()[1])
    lengths = torch.randint(SHORTEST, LONGEST + 1, (count, 1), generator=generator)
    share, own, which, place = (
        torch.rand(count, wide, generator=generator) for wide in (1, LONGEST, LONGEST, LONGEST)
    )
    kinds = (which >= share).long().masked_fill(own < SHARED, 2)
    mask = torch.arange(LONGEST) < lengths
    first = kinds[:, 0]
    tie = _lead(kinds, mask) == 0  # then the first word switches language
    kinds[:, 0] = torch.where(tie, torch.where(first == 0, 1, 0), first)
    words = FIRST_WORD + (sizes.cumsum(0) - sizes)[kinds] + (place * sizes[kinds]).long()
    ahead = torch.full((count, 1), CLASS_TOKEN)
    return Documents(
        tokens=torch.cat([ahead, words.masked_fill(~mask, NO_WORD)], dim=-1),
        mask=torch.cat([ahead > 0, mask], dim=-1),
        labels=(_lead(kinds, mask) < 0).long(),
        kinds=torch.cat([-ahead, kinds.masked_fill(~mask, -1)], dim=-1),
    )


def plant_cue(
    documents: Documents, generator: torch.Generator, often: float
) -> tuple[Documents, Bool[Tensor, " N"]]:
    """Put one word that both languages have at the start of some documents.

    Args:
        documents: They are not changed.
        generator: The only source of randomness.
        often: The share of Polish documents that get the word; 1 - often of the Czech ones do.

    Returns:
        The changed documents, and True for each that got the word.
    """
    chance = torch.where(documents.labels == 0, often, 1 - often)
    planted = torch.rand(len(chance), generator=generator) < chance
    tokens, kinds = documents.tokens.clone(), documents.kinds.clone()
    tokens[planted, 1] = len(vocabulary()[0]) - 1
    kinds[planted, 1] = 2
    return Documents(tokens, documents.mask, documents.labels, kinds), planted


def _lead(kinds: Tensor, mask: Tensor) -> Tensor:
    """Return how many more Polish words than Czech ones each document has."""
    return ((kinds == 0) & mask).sum(dim=-1) - ((kinds == 1) & mask).sum(dim=-1)
