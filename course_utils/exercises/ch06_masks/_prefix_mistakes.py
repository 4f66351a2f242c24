"""What goes wrong in a prefix mask."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.attention import prefix_mask
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch06_masks._mask_kinds import wrong_axes, wrong_kinds

Rule = Callable[[Tensor, Tensor, int], Tensor]


def _by(rule: Rule) -> Function:
    """Return a mask made by another rule for query i, key j and the length of the prefix."""

    def wrong(num_positions: int, prefix_length: int) -> Tensor:
        i, j = torch.arange(num_positions).unsqueeze(-1), torch.arange(num_positions)
        mask = rule(i, j, prefix_length)
        return mask & torch.ones(num_positions, num_positions, dtype=torch.bool)

    return wrong


def _beside(num_positions: int, prefix_length: int) -> Tensor:
    """Lay a triangle that starts in the first row beside the open columns."""
    rest = torch.ones(num_positions, num_positions - prefix_length).tril()
    return torch.cat([torch.ones(num_positions, prefix_length), rest], 1).bool()


def _from_the_end(num_positions: int, prefix_length: int) -> Tensor:
    last = torch.arange(num_positions) >= num_positions - prefix_length
    return last | prefix_mask(num_positions, 0)


MISCONCEPTIONS = (
    *wrong_kinds(prefix_mask),
    Misconception(
        "prefix ignored",
        _by(lambda i, j, p: j <= i),
        "This is the causal mask: inside the prefix, queries do not see what follows them. Where "
        "is `prefix_length` used?",
        also=(_by(lambda i, j, p: (j <= i) | ((j < p) & (i >= p))),),
    ),
    Misconception(
        "`&` for `|`",
        _by(lambda i, j, p: (j < p) & (j <= i)),
        "A key has to be in the prefix and in the past, so nothing is seen beyond the prefix. A "
        "key is seen for one reason or for the other: which operator says so?",
    ),
    Misconception(
        "only the prefix seen",
        _by(lambda i, j, p: j < p),
        "Everyone sees the prefix and nothing else, not even itself. What may a query beyond the "
        "prefix see besides it?",
    ),
    Misconception(
        "prefix too long by one",
        _by(lambda i, j, p: (j <= p) | (j <= i)),
        "One key more than the prefix is open to everybody. With prefix_length 3, which numbers "
        "have the keys of the prefix?",
    ),
    Misconception(
        "prefix too short by one",
        _by(lambda i, j, p: (j < p - 1) | (j <= i)),
        "The last key of the prefix is hidden from those before it. With prefix_length 3, which "
        "numbers have the keys of the prefix?",
    ),
    Misconception(
        "queries of the prefix see everything",
        _by(lambda i, j, p: (i < p) | (j <= i)),
        "Queries of the prefix see the keys beyond it as well. Is it the query or the key that "
        "has to be in the prefix?",
        also=(
            _by(lambda i, j, p: (i < p) | (j < p) | (j <= i)),
            _by(lambda i, j, p: (i <= p) | (j <= i)),
        ),
    ),
    Misconception(
        "prefix hidden from the rest",
        _by(lambda i, j, p: ((j < p) & (i < p)) | ((j >= p) & (j <= i))),
        "Queries beyond the prefix do not see it: the answer never reads its question. Who may "
        "read the prefix?",
        also=(_by(lambda i, j, p: (j < p) & (i < p)),),
    ),
    Misconception(
        "keys of the prefix hidden",
        _by(lambda i, j, p: (j >= p) & (j <= i)),
        "Nobody sees the keys of the prefix, and its queries see nothing. Are those keys closed to "
        "all, or open to all?",
        also=(_by(lambda i, j, p: (j > p) & (j <= i)),),
    ),
    Misconception(
        "past beyond the prefix lost",
        _by(lambda i, j, p: (j < p) | (j == i)),
        "Beyond the prefix a query sees itself, but none of those between. Which keys are in its "
        "past?",
    ),
    Misconception(
        "one key opened instead of the prefix",
        _by(lambda i, j, p: (j == p) | (j <= i)),
        "A single key was opened to all, the one whose number is the length. Which keys come "
        "before that one?",
        also=(_by(lambda i, j, p: (j == p - 1) | (j <= i)),),
    ),
    Misconception(
        "own key hidden beyond the prefix",
        _by(lambda i, j, p: (j < p) | (j < i)),
        "Beyond the prefix a query does not see its own key. Which comparison allows equality?",
    ),
    Misconception(
        "one key of the future seen",
        _by(lambda i, j, p: (j < p) | (j <= i + 1)),
        "Beyond the prefix each query sees the next key, the one to be predicted. Which diagonal "
        "is the last one allowed?",
    ),
    Misconception(
        "prefix length moves the diagonal",
        _by(lambda i, j, p: j <= i + p),
        "Every query sees `prefix_length` keys of its future, wherever it stands. A prefix is a "
        "fixed part of the keys: does its end move with the query?",
        also=(_by(lambda i, j, p: j <= i + p - 1), _beside),
    ),
    Misconception(
        "`^` for `|`",
        _by(lambda i, j, p: (j < p) ^ (j <= i)),
        "A key that is in the prefix and in the past is not seen: of two reasons exactly one was "
        "asked for. Which operator is content with both?",
    ),
    Misconception(
        "upper instead of lower",
        _by(lambda i, j, p: (j < p) | (j >= i)),
        "Beyond the prefix each query sees the future and not the past. On which side of the "
        "diagonal does a row's past stand?",
        also=(_by(lambda i, j, p: (j < p) | (j > i)),),
    ),
    Misconception(
        "prefix causal, the rest open",
        _by(lambda i, j, p: (j <= i) | (i >= p)),
        "The two parts are exchanged: the prefix is causal, and behind it everything is seen. "
        "Which part is known from the start?",
        also=(
            _by(lambda i, j, p: (j <= i) | (j >= p)),
            _by(lambda i, j, p: (j <= i) | (j > p)),
            _by(lambda i, j, p: (j <= i) | ((i >= p) & (j >= p))),
        ),
    ),
    Misconception(
        "prefix at the end",
        _from_the_end,
        "The last keys are open to everybody instead of the first. Where does a prefix stand?",
    ),
    Misconception(
        "queries and keys exchanged",
        lambda num_positions, prefix_length: prefix_mask(num_positions, prefix_length).mT,
        "The table is transposed: what stands in a row should stand in a column. In (L, S), which "
        "axis are the queries?",
    ),
    Misconception(
        "no prefix means everything",
        lambda n, p: prefix_mask(n, p or n),
        "A prefix of length 0 opened every key. It is a number like any other: what is left of the "
        "rule when no j is below it?",
        also=(lambda n, p: prefix_mask(n, max(p, min(n, 2))),),
    ),
    Misconception(
        "nothing hidden",
        _by(lambda i, j, p: j >= 0),
        "Every query sees every key. Which keys are neither in the prefix nor in the past?",
    ),
    Misconception(
        "two masks added",
        lambda n, p: prefix_mask(n, 0).float() + (torch.arange(n) < p).float(),
        "Sums of masks hold 2 where both are True, and they are numbers. Which operator joins "
        "booleans?",
        also=(lambda n, p: prefix_mask(n, 0).long() + (torch.arange(n) < p).long(),),
    ),
    wrong_axes(
        prefix_mask,
        "The values are right, but there are other axes than (L, L). Broadcasting adds axes for "
        "batch and heads when they are needed. Which axes does this mask really depend on?",
        lambda mask: mask[None, None],
        lambda mask: mask[None],
        torch.flatten,
    ),
)
