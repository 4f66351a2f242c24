"""What goes wrong in one step of the online softmax: the factors and the exponentials."""

import torch
from torch import Tensor

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch09_flash._online import build, fading, finite, kept, powers, top
from course_utils.exercises.ch09_flash._online_row_mistakes import ROWS
from course_utils.exercises.ch09_flash._online_state_mistakes import STATE


def _upside_down(old: Tensor, new: Tensor, scores: Tensor) -> Tensor:
    return (finite(new) - finite(old)).exp()


def _by_tile(old: Tensor, new: Tensor, scores: Tensor) -> Tensor:
    """Measure the old sums against the tile's maximum alone."""
    return (old - finite(top(scores))).exp()


def _own_powers(old: Tensor, new: Tensor, scores: Tensor) -> Tensor:
    return powers(old, top(scores), scores)


def _old_powers(old: Tensor, new: Tensor, scores: Tensor) -> Tensor:
    return (scores - finite(old).unsqueeze(-1)).exp()


def _bare_powers(old: Tensor, new: Tensor, scores: Tensor) -> Tensor:
    return scores.exp()


def _softmaxed(old: Tensor, new: Tensor, scores: Tensor) -> Tensor:
    return scores.softmax(-1)


def _linear(old: Tensor, new: Tensor, scores: Tensor) -> Tensor:
    return finite(old) - finite(new)


def _ratio(old: Tensor, new: Tensor, scores: Tensor) -> Tensor:
    return finite(old) / finite(new)


def _twos(old: Tensor, new: Tensor, scores: Tensor) -> Tensor:
    return torch.exp2(old - finite(new))


def _powers_of_two(old: Tensor, new: Tensor, scores: Tensor) -> Tensor:
    return torch.exp2(scores - finite(new).unsqueeze(-1))


def _over_everything(m: Tensor, scores: Tensor) -> Tensor:
    return torch.maximum(m.amax(), scores.amax()).expand_as(m)


FACTORS = (
    Misconception(
        "acc not rescaled",
        build(fade_acc=kept),
        "The running maximum moved and l followed it, but acc is still measured against the old "
        "one. What do the two sums have in common?",
    ),
    Misconception(
        "l not rescaled",
        build(fade_l=kept),
        "acc followed the new maximum, but l is still measured against the old one. Both are sums "
        "of the same exponentials: what happens to each term?",
    ),
    Misconception(
        "nothing rescaled",
        build(fade_l=kept, fade_acc=kept),
        "The new terms are measured against the new maximum, the old ones against the old one, and "
        "they are added as if they were alike. By which factor do they differ?",
    ),
    Misconception(
        "the maximum of the tile alone",
        build(highest=lambda m, scores: top(scores), fade_l=kept, fade_acc=kept),
        "Each tile is measured against its own maximum, and the sums are added. A sum over all "
        "tiles needs one measure: which maximum holds for all that was seen?",
        also=(
            build(weigh=_own_powers, fade_l=kept, fade_acc=kept),
            build(weigh=_own_powers),
            build(highest=lambda m, scores: top(scores)),
            build(weigh=_own_powers, fade_l=_by_tile, fade_acc=_by_tile),
        ),
    ),
    Misconception(
        "the factor upside down",
        build(fade_l=_upside_down, fade_acc=_upside_down),
        "Where the maximum rises, the old sums grow. They were measured against a smaller number, "
        "so each of their terms was too large: which way does the factor go?",
        also=(
            build(fade_acc=_upside_down),
            build(fade_l=_upside_down),
            build(fade_acc=lambda m, n, s: 1 / fading(m, n, s)),
            build(fade_l=lambda m, n, s: (n - m).exp(), fade_acc=lambda m, n, s: (n - m).exp()),
        ),
    ),
    Misconception(
        "the factor applied twice",
        build(fade_acc=lambda m, n, s: fading(m, n, s).square()),
        "The old sums shrink by the square of the factor: it was applied twice. Once the maximum "
        "has moved, each old term needs one correction.",
        also=(
            build(fade_l=lambda m, n, s: fading(m, n, s).square()),
            build(
                fade_l=lambda m, n, s: fading(m, n, s).square(),
                fade_acc=lambda m, n, s: fading(m, n, s).square(),
            ),
        ),
    ),
    Misconception(
        "no exponential in the factor",
        build(fade_l=_linear, fade_acc=_linear),
        "The old sums were multiplied by a difference or a ratio of the maxima. They hold "
        "exponentials of scores: what does a shift of a score do to its exponential?",
        also=(build(fade_acc=_linear), build(fade_l=_ratio, fade_acc=_ratio)),
    ),
    Misconception(
        "the factor on the new terms",
        build(
            fade_l=kept,
            fade_acc=kept,
            weigh=lambda m, n, s: powers(m, n, s) * fading(m, n, s).unsqueeze(-1),
        ),
        "The factor was applied to the tile that comes in. The new terms are measured against the "
        "new maximum already: which are not?",
    ),
    Misconception(
        "the new terms against the old maximum",
        build(weigh=_old_powers),
        "The tile's exponentials are taken against the maximum from before the tile. Which maximum "
        "are l and acc measured against once the step is done?",
        also=(build(weigh=_old_powers, fade_l=kept, fade_acc=kept),),
    ),
    Misconception(
        "no maximum subtracted",
        build(weigh=_bare_powers, fade_l=kept, fade_acc=kept),
        "The exponentials are taken of the scores as they are. What becomes of exp(1000), and of "
        "exp(-1000) in a row where every score is as low?",
        also=(build(weigh=_bare_powers),),
    ),
    Misconception(
        "powers of another base",
        build(fade_l=_twos, fade_acc=_twos, weigh=_powers_of_two),
        "Powers of 2 were taken where powers of e are meant. They are the same only if the scores "
        "were multiplied by log₂ e before, and m is then in another unit too.",
        also=(build(weigh=_powers_of_two), build(fade_l=_twos, fade_acc=_twos)),
    ),
    Misconception(
        "a softmax inside the tile",
        build(weigh=_softmaxed),
        "The tile's weights sum to 1 before they are added. How large a share of the whole a tile "
        "has is known only at the end: what must its terms be instead?",
        also=(
            build(weigh=_softmaxed, fade_l=kept, fade_acc=kept),
            build(take=lambda p, value: p / p.sum(-1, keepdim=True) @ value),
        ),
    ),
    Misconception(
        "one maximum for all rows",
        build(highest=_over_everything),
        "All rows carry the same maximum. A row whose scores are far below it would be lost to "
        "rounding: over which axis is the maximum taken?",
        also=(
            build(highest=lambda m, s: torch.maximum(m, s.amax())),
            build(highest=lambda m, s: torch.maximum(m, top(s).amax(-1, keepdim=True))),
        ),
    ),
)
MISCONCEPTIONS = (*FACTORS, *ROWS, *STATE)
