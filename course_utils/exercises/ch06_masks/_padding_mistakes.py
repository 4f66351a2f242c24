"""What goes wrong in a padding mask."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.attention import padding_mask
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch06_masks._mask_kinds import wrong_axes, wrong_kinds

Rule = Callable[[Tensor, Tensor, int], Tensor]


def _by(rule: Rule) -> Function:
    """Return a mask made by another rule for the lengths (B, 1), the keys j and their number."""

    def wrong(lengths: Tensor, num_keys: int) -> Tensor:
        mask = rule(lengths.unsqueeze(-1), torch.arange(num_keys), num_keys)
        return mask.expand(len(lengths), num_keys)[:, None, None, :]

    return wrong


def _longest(lengths: Tensor, num_keys: int) -> Tensor:
    return padding_mask(lengths, int(lengths.max()))


def _crossed(lengths: Tensor, num_keys: int) -> Tensor:
    """Compare without a new axis: only where there are as many sequences as keys."""
    mask = torch.arange(num_keys).unsqueeze(-1) < lengths
    return mask[:, None, None, :]


def _one_row(lengths: Tensor, num_keys: int) -> Tensor:
    mask = torch.arange(num_keys) < lengths
    return mask.expand(len(lengths), num_keys)[:, None, None, :]


def _counted_from_the_end(lengths: Tensor, num_keys: int) -> Tensor:
    """Hide the last keys by a slice that begins at -0 where there is nothing to hide."""
    mask = torch.ones(len(lengths), 1, 1, num_keys, dtype=torch.bool)
    for b, length in enumerate(lengths.tolist()):
        mask[b, ..., -(num_keys - length) :] = False
    return mask


def _both_sides(lengths: Tensor, num_keys: int) -> Tensor:
    real = padding_mask(lengths, num_keys)
    return real & real.mT


MISCONCEPTIONS = (
    *wrong_kinds(padding_mask, looped=(0,)),
    Misconception(
        "padded keys marked",
        _by(lambda n, j, S: j > n),
        "True marks padding, all but its first key. Which keys may be attended to, and which "
        "number has the last of them?",
    ),
    Misconception(
        "lengths added up",
        _by(lambda n, j, S: j < n.cumsum(0)),
        "The lengths before a sequence were counted with its own. Does each sequence start a new "
        "row, or go on where the last one ended?",
    ),
    Misconception(
        "one padded key taken for real",
        _by(lambda n, j, S: j <= n),
        "Each sequence has one real key too many. The first key is number 0: which number has the "
        "last one of a sequence of length 3?",
        also=(_by(lambda n, j, S: j <= n + 1),),
    ),
    Misconception(
        "last real key hidden",
        _by(lambda n, j, S: j < n - 1),
        "The last real key of each sequence is called padding. The first key is number 0: which "
        "number has the last one of a sequence of length 3?",
        also=(_by(lambda n, j, S: (j < n) & (j < S - 1)),),
    ),
    Misconception(
        "padding on the left",
        _by(lambda n, j, S: j >= S - n),
        "The real keys stand at the end of the row. Here they come first: key j is real when "
        "j < lengths[b]. From which side is counted?",
        also=(_by(lambda n, j, S: j > S - n), _by(lambda n, j, S: j >= n - 1)),
    ),
    Misconception(
        "queries masked instead of keys",
        lambda lengths, num_keys: padding_mask(lengths, num_keys).mT,
        "The lengths run along the queries' axis, the last but one. A padded query does no harm, a "
        "padded key does: which axis of the scores are the keys?",
        also=(
            lambda lengths, num_keys: padding_mask(lengths, num_keys).mT.expand(
                -1, 1, -1, num_keys
            ),
            _both_sides,
        ),
    ),
    Misconception(
        "as many keys as the longest sequence has",
        _longest,
        "The mask is as wide as the longest sequence. The scores have `num_keys` columns, and "
        "those may be more. Which argument is not used?",
    ),
    Misconception(
        "sequences and keys exchanged",
        _crossed,
        "Row and column are mixed up: the comparison put the lengths along the keys. Which of "
        "the two needs a new axis, and where?",
        also=(_one_row,),
    ),
    Misconception(
        "one length for all",
        _by(lambda n, j, S: j < n[0]),
        "Every sequence got the same row, that of one of them. Which index tells the sequences "
        "apart?",
        also=(
            _by(lambda n, j, S: j < n[-1]),
            _by(lambda n, j, S: j < n.max()),
            _by(lambda n, j, S: j < n.min()),
            _by(lambda n, j, S: j < n.sort(0, descending=True).values),
            _by(lambda n, j, S: j < n.sort(0).values),
        ),
    ),
    Misconception(
        "no sequence may be empty",
        _by(lambda n, j, S: j < n.clamp(min=1)),
        "A sequence of length 0 was given a key, though all of its keys are padding. An empty row "
        "is a legal mask: the softmax has to bear it. Which rule holds for length 0?",
        also=(
            _by(lambda n, j, S: (j < n) | (n == 0)),
            _by(lambda n, j, S: (j < n) | (j == 0)),
        ),
    ),
    Misconception(
        "negative index counted from the end",
        _counted_from_the_end,
        "A sequence without padding was hidden altogether: there are 0 keys to hide, and a slice "
        "from -0 begins at the front. Which slice is empty in that case?",
    ),
    Misconception(
        "only the last real key",
        _by(lambda n, j, S: j == n - 1),
        "One key a sequence is marked. A length counts all that come before: which comparison "
        "marks them too?",
        also=(_by(lambda n, j, S: j == n), _by(lambda n, j, S: j != n)),
    ),
    Misconception(
        "nothing is padding",
        _by(lambda n, j, S: j >= 0),
        "All keys of all sequences are called real. What are the lengths compared with?",
    ),
    wrong_axes(
        padding_mask,
        "The values are right, but the axes are not (B, 1, 1, S). Without the two axes of size 1 "
        "the sequences line up with the heads or the queries, silently where the sizes happen to "
        "be equal. Where do the new axes go?",
        lambda mask: mask[:, 0, 0],
        lambda mask: mask[:, 0],
        lambda mask: mask.movedim(0, 1),
        lambda mask: mask.movedim(0, 2),
        lambda mask: mask.expand(-1, -1, mask.shape[-1], -1),
        lambda mask: mask[:, 0, 0].mT,
        lambda mask: mask.movedim(-1, 1),
        torch.flatten,
    ),
)
