"""Exercise: one step of the online softmax."""

from typing import Any

import torch
from course_utils.attention import online_softmax_step
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import adding, mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import left_in, other_parts
from course_utils.exercises.shared.online import FACTORS, SUMS
from torch import Tensor

RIGHT = """
def online_softmax_step(m, l, acc, scores, value):
    top = scores.amax(-1)
    m_new = torch.maximum(m, top)
    shift = m_new.masked_fill(m_new == -torch.inf, 0.0)
    correction = (m - shift).exp()
    powers = (scores - shift.unsqueeze(-1)).exp()
    l_new = l * correction + powers.sum(-1)
    acc_new = acc * correction.unsqueeze(-1) + powers @ value
    state = m_new, l_new, acc_new
    return state
"""


def _made(
    *leading: int,
    sizes: tuple[int, int, int],
    before: float | None = 0.0,
    size: float = 1.0,
    level: float = 0.0,
    slope: float = 0.0,
    dtype: str = "float64",
    empty: tuple[int, ...] = (),
    hidden: float = 0.0,
    apart: bool = False,
) -> Make:
    """Make a state whose maxima are near `before` (None: nothing seen), and a tile of the sizes (L, T, d_v).

    Its scores rise by `slope` after every third key; a share of them is `hidden`, and all of the rows in `empty`;
    `level` is added to old maxima and scores.
    """
    length, tile, d_v = sizes
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Tensor, ...]:
        m = normal(g, *leading, length, dtype=kind) + (-torch.inf if before is None else before)
        l = normal(g, *leading, length, dtype=kind).abs() + 1.0
        acc = normal(g, *leading, length, d_v, dtype=kind)
        if before is None:
            l, acc = torch.zeros_like(l), torch.zeros_like(acc)
        scores = normal(g, *leading, length, tile, size=size, dtype=kind)
        away = torch.rand(scores.shape, generator=g) < hidden
        scores = scores.masked_fill(away, -torch.inf)
        scores[..., list(empty), :] = -torch.inf
        value = normal(g, *leading, tile, d_v, dtype=kind)
        if apart:
            acc, scores, value = strided(acc), strided(scores), strided(value)
        rise = (slope * (torch.arange(tile) // 3)).to(kind)
        return m + level, l, acc, scores + level + rise, value

    return make


def _walked(step: Function, *args: Tensor) -> tuple[Tensor, ...]:
    *state, scores, value = args
    for start in range(0, scores.shape[-1], 3):
        near = slice(start, start + 3)
        state = step(*state, scores[..., near], value[..., near, :])
    return tuple(state)


def _walk(step: Function, *args: Tensor) -> Tensor:
    """Walk over the keys in tiles of three; return the output, and the logsumexp next to it."""
    m, l, acc = _walked(step, *args)
    return torch.cat([acc / l.unsqueeze(-1), (m + l.log()).unsqueeze(-1)], dim=-1)


def _walk_past_empty(step: Function, *args: Tensor) -> Tensor:
    """Return the output alone, zeros in a row that saw no key."""
    _, l, acc = _walked(step, *args)
    return acc / l.masked_fill(l == 0.0, 1.0).unsqueeze(-1)


def _clamped(low: str) -> str:
    """Let what is hidden count as a very low score."""
    low_powers = "powers = (low - shift.unsqueeze(-1)).exp()"
    return f"low = scores.clamp(min={low})\ntop = low.amax(-1)\n{low_powers}"


def _more_in_l(args: tuple[Any, ...], got: tuple[Tensor, ...]) -> bool:
    """Return whether some small number was added to every l, and nothing else differs."""
    want = online_softmax_step(*args)
    more = got[1].double() - want[1].double()
    rest = all(torch.allclose(got[i], want[i], rtol=1e-9, atol=0.0) for i in (0, 2))
    return rest and bool((more - more.mean()).abs().max() < 1e-3 * more.mean() < 1e-5)


def _scaled(factor: str) -> str:
    return f"scores = scores * {factor}\ntop = scores.amax(-1)"


_KEY_BY_KEY = (  # a loop over the keys of a tile, in which l alone follows the maximum
    "running = torch.cat((m.unsqueeze(-1), scores), -1).cummax(-1).values[..., 1:]\n"
    "acc_new = acc + (scores - running.masked_fill(running == -torch.inf, 0.0)).exp() @ value"
)

MAXIMA = (
    mistake("m stays the old one", "m comes back as it went in, although the tile had a higher score. What does the "
            "next step, and the logsumexp at the end, take m to be?",
            "m_new = m", "state = m, l_new, acc_new", "m_new = m\ncorrection = torch.ones_like(m)"),
    mistake("the smaller maximum", "Of the old maximum and the tile's, the smaller was kept. Which of the two keeps "
            "every exponential at or below 1?",
            "m_new = torch.minimum(m, top)", "m_new = torch.maximum(m, scores.amin(-1))"),
    mistake("the mean instead of the maximum", "The running number is not the maximum of the scores. The exercise asks "
            "for the exact one, over the old maximum and every score of the tile.",
            "m_new = torch.maximum(m, scores.mean(-1))", "m_new = torch.maximum(m, scores.detach().logsumexp(-1))",
            "m_new = m + top", "m_new = (m + top) / 2", "m_new = torch.maximum(m, scores.abs().amax(-1))",
            "m_new = torch.maximum(m, scores[..., 0])", "m_new = torch.maximum(m, scores[..., -1])",
            "m_new = torch.logaddexp(m, scores.logsumexp(-1)).detach()"),
)

EMPTY = (
    mistake("NaN on an empty row", "A row that has seen no key yet subtracts -inf from -inf, and NaN spreads through l "
            "and acc. What could be subtracted there instead, since exp(-inf) is 0 anyway?",
            "shift = m_new", "state = m_new, l_new, acc_new / acc_new * acc_new",
            "state = m_new, l_new.masked_fill(l_new == 0, torch.nan), acc_new"),
    mistake("NaN repaired too late", "The values are right, but a NaN is made on the way and replaced: its gradient is "
            "still NaN. How can the subtraction itself be kept from infinities?",
            "shift = m_new\ncorrection = (m - shift).exp().nan_to_num()\n"
            "powers = (scores - shift.unsqueeze(-1)).exp().nan_to_num()"),
    mistake("a row started over", "A row that sees nothing of this tile lost what it had gathered before. What should "
            "a tile without a key for a row do to that row?",
            "empty = top == -torch.inf\ngone = empty.unsqueeze(-1)\n"
            "state = m_new.masked_fill(empty, -torch.inf), l_new.masked_fill(empty, 0.0), acc_new.masked_fill(gone, "
            "0.0)",
            "empty = top == -torch.inf\ngone = empty.unsqueeze(-1)\n"
            "state = m_new, l_new.masked_fill(empty, 0.0), acc_new.masked_fill(gone, 0.0)"),
    mistake("hidden keys counted", "A row of -inf counted every hidden key: -inf became a large negative number, and "
            "against itself that is exp(0) = 1. What must exp of a hidden score be, whatever else is in the row?",
            _clamped("-1e9"),
            "nothing = (m_new == -torch.inf).unsqueeze(-1)\n"
            "powers = (scores.masked_fill(nothing, 0.0) - shift.unsqueeze(-1)).exp()", _clamped("-1e4"),
            _clamped("torch.finfo(torch.float32).min"), _clamped("-100.0")),
    mistake("m made finite", "A row that has seen nothing came back with a finite m. What replaces -inf while "
            "something is subtracted is not a maximum: the next tile's scores may all be below it.",
            "state = shift, l_new, acc_new", "state = m_new.clamp(min=-1e4), l_new, acc_new",
            "state = m_new.nan_to_num(), l_new, acc_new", "state = m_new.clamp(min=-1e9), l_new, acc_new",
            "state = m_new.clamp(min=-1e30), l_new, acc_new"),
)

RETURNED = (
    mistake("a softmax inside the tile", "The tile's weights sum to 1 before they are added. A tile's share of the "
            "whole is known only at the end: what must its terms be instead?",
            "powers = scores.softmax(-1)", "correction = torch.ones_like(m)\npowers = scores.softmax(-1)",
            "acc_new = acc * correction.unsqueeze(-1) + powers / powers.sum(-1, keepdim=True) @ value"),
    mistake("a logarithm in l", "A logarithm got into l. The sum itself is carried from tile to tile; the logarithm is "
            "taken once, at the end.", "l_new = l * correction + powers.sum(-1).log()",
            "state = m_new, l_new.log(), acc_new", "state = m_new, m_new + l_new.log(), acc_new",
            "state = m_new, torch.logaddexp(l, scores.logsumexp(-1)), acc_new"),
    mistake("the sum over the queries", "The exponentials of different queries were added together. Each row has its "
            "own sum: which axis holds the keys?",
            "square = powers.shape[-2] == powers.shape[-1]\n"
            "l_new = l * correction + (powers.sum(-2) if square else powers.sum((-2, -1)).unsqueeze(-1))"),
    mistake("acc times the sum", "acc grew by the tile's output times its sum, or times l. The product of the "
            "exponentials and the values is all that joins it.",
            "acc_new = acc * correction.unsqueeze(-1) + powers.sum(-1, keepdim=True) * (powers @ value)",
            "acc_new = acc * (l * correction).unsqueeze(-1) + powers @ value"),
    mistake("the old state returned", "The state came back as it went in. What has this tile added to it?",
            "state = m.clone(), l.clone(), acc.clone()"),
    mistake("the tile alone", "What comes back is the state after this tile alone, as if none had come before. What "
            "are the three arguments m, l and acc for?",
            "m, l, acc = torch.full_like(m, -torch.inf), torch.zeros_like(l), torch.zeros_like(acc)\n"
            "top = scores.amax(-1)"),
    mistake("m and l swapped", "l came back first and m second. The order is that of the arguments.",
            "state = l_new, m_new, acc_new"),
    mistake("acc not last", "acc does not come back as the last of the three. The order is that of the arguments.",
            "state = m_new, acc_new, l_new", "state = acc_new, m_new, l_new", "state = acc_new, l_new, m_new"),
    mistake("part of the state alone", "Something of the state is missing in what comes back. The next step needs all "
            "three: which of m, l and acc was left out?", "state = acc_new", "state = l_new, acc_new",
            "state = m_new, acc_new", "state = m_new, l_new"),
    left_in("state = m_new{}, l_new{}, acc_new"),
    mistake("epsilon in the denominator", "Something small was added to l. It is a sum of exponentials, from tile to "
            "tile: what would many tiles make of it, and what is l of a row that saw nothing?",
            *(f"l_new = l * correction + powers.sum(-1) + {one}" for one in (1e-6, 1e-8, 1e-5, 1e-4)),
            matches=_more_in_l),
    *adding(other_parts("m_new", "l_new", "acc_new"), {"another dtype": (
        "m, l, acc, scores, value = (x.float() for x in (m, l, acc, scores, value))\ntop = scores.amax(-1)",)}),
    mistake("written into the state", "The state that was passed in was overwritten. A caller that still needs it, for "
            "another branch or for the gradient, loses it: which line writes in place?",
            "state = m.copy_(m_new), l.copy_(l_new), acc.copy_(acc_new)", "state = m_new, l_new, acc.copy_(acc_new)",
            "state = m_new, l.copy_(l_new), acc.copy_(acc_new)", "scores.copy_(powers)\nstate = m_new, l_new, acc_new"),
    mistake("cut from the gradient", "The values are right, but no gradient flows through them. What cuts them off? "
            "Only the maximum may be detached, since it cancels in the end.",
            "state = m_new.detach(), l_new.detach(), acc_new.detach()"),
    mistake("scaled once more", "The scores were multiplied by a factor once more. What does the exercise say about "
            "the scores that it passes?", _scaled("value.shape[-1] ** -0.5"), _scaled("scores.shape[-1] ** -0.5"),
            _scaled("(1 / value.shape[-1])"), _scaled("(1 / 8)"), _scaled("value.shape[-1] ** 0.5")),
    mistake("in lower precision", "The state was carried in float32, although float64 came in. Sums of many tiles "
            "gather rounding: which line changes the type?",
            "kind = m.dtype\nm, l, acc, scores, value = (x.float() for x in (m, l, acc, scores, value))\n"
            "top = scores.amax(-1)\nstate = m_new.to(kind), l_new.to(kind), acc_new.to(kind)"),
)

EXERCISE = exercise(
    online_softmax_step,
    right=RIGHT,
    asks="Add one more tile of keys to the running maximum, the running sum and the output.",
    minutes=15,
    difficulty=3,
    importance=5,
    parts=("m", "l", "acc"),
    cases=(
        case("the first tile: from (-inf, 0, 0)", _made(sizes=(3, 4, 5), before=None)),
        case("a later tile with higher scores", _made(sizes=(3, 4, 5), before=-3.0)),
        case("a later tile with lower scores", _made(sizes=(4, 3, 2), before=3.0)),
        case("a later tile: some maxima rise, some stay", _made(sizes=(7, 3, 4), before=1.0)),
        case("leading axes (2, 3)", _made(2, 3, sizes=(5, 4, 6), before=0.5)),
        case("every size is 4: a transpose keeps the shape", _made(4, sizes=(4, 4, 4), before=0.5)),
        case("a tile of one key", _made(3, sizes=(5, 1, 2))),
        case("one query", _made(2, 3, sizes=(1, 4, 5))),
        case("every size is 1", _made(1, 1, sizes=(1, 1, 1))),
        case("some keys hidden", _made(2, sizes=(6, 5, 3), hidden=0.4)),
        case("a row that sees nothing of this tile", _made(2, sizes=(4, 3, 5), empty=(0, 2))),
        case("a row that has seen nothing yet", _made(2, sizes=(4, 3, 5), before=None, empty=(1,))),
        case("a tile that nobody sees", _made(sizes=(3, 4, 2), empty=(0, 1, 2))),
        case("scores of tens", _made(2, sizes=(5, 6, 3), size=6.0)),
        case("scores of thousands", _made(2, sizes=(5, 4, 3), size=2000.0)),
        case("maxima of -3,000 before", _made(2, sizes=(5, 4, 3), before=-3000.0)),
        case("maxima of 3,000 before", _made(2, sizes=(5, 4, 3), before=3000.0)),
        case("all scores near -2,000", _made(2, sizes=(4, 6, 3), level=-2000.0)),
        case("non-contiguous inputs", _made(2, sizes=(3, 5, 4), apart=True)),
        case("all tiles, one after another", _made(2, sizes=(4, 8, 5), before=None), gradient="equal", run=_walk),
        case("tiles whose scores rise by 300", _made(2, sizes=(4, 9, 5), before=None, slope=300.0), run=_walk),
        case("all tiles, with a row that sees nothing", _made(2, sizes=(4, 7, 3), before=None, empty=(2,), hidden=0.3),
             gradient="finite", run=_walk_past_empty),
        case("float32", _made(2, sizes=(5, 7, 6), dtype="float32"), tolerance=1e-4),
        case("bfloat16", _made(2, sizes=(3, 5, 4), dtype="bfloat16")),
    ),
    mistakes=(
        *adding(FACTORS, {"acc not rescaled": (_KEY_BY_KEY,)}),
        *MAXIMA, *EMPTY, *SUMS, *RETURNED,
    ),
    hints=(
        "l is a sum of exp(score - m) over the keys so far. A new tile brings a higher "
        "maximum: by which factor is each old term wrong now?",
        "The same factor corrects l and acc, since both are sums of the same exponentials. It is "
        "1 where the maximum stays.",
        "The new maximum is the larger of the old one and the tile's. Take the tile's "
        "exponentials against the new one: their sum joins l, their product with the values acc.",
        "A row of -inf whose old maximum is -inf too would subtract an infinity from itself. What "
        "may replace that maximum, as long as m itself is returned as it is?",
    ),
)
