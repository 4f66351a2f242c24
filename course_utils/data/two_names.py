"""Sentences in which one of two names must come next: which one, the repeated name decides.

Source: indirect objects: Wang et al. 2022, Interpretability in the Wild: a Circuit for Indirect
    Object Identification in GPT-2 small, section 2, https://arxiv.org/abs/2211.00593
Differs: sixteen names of one token each, in orders ABBA and BABA by turns
"""

import random
from dataclasses import dataclass

from course_utils.validation import check_at_least

NAMES = (
    "Mary", "John", "Tom", "James", "Sarah", "Anna", "Paul", "Peter",
    "David", "Lisa", "Mark", "Kate", "Jack", "Emma", "Lucy", "Alice",
)  # fmt: skip
TEMPLATES = (
    "When {} and {} went to the store, {} gave a drink to",
    "Then, {} and {} were working at the office. {} decided to give a book to",
    "After {} and {} had lunch at the park, {} handed the ball to",
    "While {} and {} were waiting at the school, {} passed a note to",
)


@dataclass(frozen=True)
class TwoNames:
    """A sentence whose next word is one of its two names.

    Attributes:
        text: The sentence up to that word.
        other: The same, with the other name repeated.
        object: The name that is said once, and comes next.
        subject: The name that is said twice.
        first: Whether the object is the first name.
    """

    text: str
    other: str
    object: str
    subject: str
    first: bool


def two_names(template: int, count: int, seed: int = 0) -> list[TwoNames]:
    """Draw sentences of one template, with another pair of names in each.

    Args:
        template: Which of the four, from 0.
        count: How many; 120 at most.
        seed: Of the draws.
    """
    check_at_least(0, template=template, count=count, seed=seed)
    pairs = [(a, b) for a in NAMES for b in NAMES if a < b]
    if template >= len(TEMPLATES) or count > len(pairs):
        raise ValueError(
            f"template must be below {len(TEMPLATES)} and count at most {len(pairs)}, "
            f"got {template} and {count}"
        )
    drawn = random.Random(100 * template + seed)
    made = []
    for number, pair in enumerate(drawn.sample(pairs, count)):
        giver, taker = drawn.sample(pair, 2)
        first = number % 2 == 0
        named = (taker, giver) if first else (giver, taker)
        text, other = (TEMPLATES[template].format(*named, last) for last in (giver, taker))
        made.append(TwoNames(text, other, taker, giver, first))
    return made
