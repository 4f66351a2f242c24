"""What goes wrong in a tile of the flash kernel: the scores, the softmax over one tile."""

from typing import Any

from course_utils.attention.triton_interpreter import tl
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch09_flash._kernel_tile import LOG2_E, build


def _normalised(m: Any, m_new: Any, l: Any, acc: Any) -> Any:
    return m_new, l, acc / l[:, None]


def _divided(weights: Any) -> Any:
    return weights / tl.sum(weights, 1)[:, None]


def _own_average(acc: Any, weights: Any, v: Any, shrink: Any) -> Any:
    return acc + tl.dot(_divided(weights).to(v.dtype), v)


def _one_for_all(m: Any, scores: Any, scale: Any) -> Any:
    return tl.maximum(m, tl.max(tl.max(scores, 1), 0))


def _keys_for_values(m: Any, l: Any, acc: Any, q: Any, k: Any, v: Any, *rest: Any) -> Any:
    return build()(m, l, acc, q, k, k, *rest)


SOFTMAXES = (
    Misconception(
        "scale forgotten",
        build(factor=lambda scores, scale: scores),
        "The weights are those of unscaled scores. Which factor is handed in for them?",
        also=(build(factor=lambda scores, scale: scores * LOG2_E),),
    ),
    Misconception(
        "scale applied twice",
        build(factor=lambda scores, scale: scores * scale * scale),
        "The scores are scaled twice. The query comes unscaled: once is enough.",
    ),
    Misconception(
        "another scale",
        build(factor=lambda scores, scale: scores / scale),
        "The scores are multiplied by something else than scale_log2, which is log2(e)/√d as it "
        "comes: nothing is to be made of it first.",
        also=(
            build(factor=lambda scores, scale: scores * tl.sqrt(scale)),
            build(factor=lambda scores, scale: scores * scale * scale / LOG2_E),
        ),
    ),
    Misconception(
        "powers of e where the scale is for powers of 2",
        build(power=lambda x: tl.exp(x), shrink=lambda m, m_new: tl.exp(m - m_new)),
        "The weights are too sharp: e was raised to scores that were scaled for powers of 2. "
        "Which of the two factors, log2(e) or 1, belongs to `tl.exp`?",
        also=(
            build(power=lambda x: tl.exp(x)),
            build(shrink=lambda m, m_new: tl.exp(m - m_new)),
        ),
    ),
    Misconception(
        "powers of 2 where the scale is for powers of e",
        build(factor=lambda scores, scale: scores * (scale / LOG2_E)),
        "The weights are too flat: 2 was raised to scores that were scaled for powers of e. The "
        "factor log2(e) is in scale_log2: was it taken out again?",
    ),
    Misconception(
        "the keys not transposed",
        build(score=lambda q, k: tl.dot(q, k)),
        "The tile of keys was multiplied as it lies. A score is a row of q times a row of k: which "
        "of the two tiles has to be turned?",
        also=(build(score=lambda q, k: tl.dot(k, tl.trans(q))),),
    ),
    Misconception(
        "a tile in place of another",
        _keys_for_values,
        "One of the three tiles is used in the place of another. Scores come from q and k, and "
        "what is gathered is v.",
        also=(
            build(score=lambda q, k: tl.dot(q, tl.trans(q))),
            build(score=lambda q, k: tl.dot(k, tl.trans(k))),
        ),
    ),
    Misconception(
        "no sum in l",
        build(total=lambda l, weights, shrink: l * shrink + tl.max(weights, 1)),
        "l does not hold the sum of the weights, so acc / l is no average. What is to be divided "
        "by at the end?",
        also=(
            build(total=lambda l, weights, shrink: l * shrink + tl.sum(weights, 1) / 16),
            build(total=lambda l, weights, shrink: l * shrink + 1.0),
        ),
    ),
    Misconception(
        "reduced over the queries",
        build(
            top=lambda m, scores, scale: tl.maximum(m, tl.max(scores, 0)),
            total=lambda l, weights, shrink: l * shrink + tl.sum(weights, 0),
        ),
        "Maximum and sum run down the columns, over the queries. Each query has its own softmax: "
        "over which axis of (queries, keys)?",
        also=(
            build(top=lambda m, scores, scale: tl.maximum(m, tl.max(scores, 0))),
            build(total=lambda l, weights, shrink: l * shrink + tl.sum(weights, 0)),
        ),
    ),
    Misconception(
        "no maximum",
        build(top=lambda m, scores, scale: tl.zeros_like(m), shrink=lambda m, m_new: m_new + 1.0),
        "No maximum is taken out: powers of large scores overflow, and those of very low ones all "
        "vanish. What may be taken off all scores of a row?",
    ),
    Misconception(
        "one maximum for all rows",
        build(top=_one_for_all),
        "All rows of the tile share one maximum. It is right while the rows are alike; a row far "
        "below it loses all its weights. Which axis must stay?",
    ),
    Misconception(
        "the maximum of unscaled scores",
        build(top=lambda m, scores, scale: tl.maximum(m, tl.max(scores, 1) / scale)),
        "The maximum is that of the scores before the scale, the powers are of those after it. "
        "While scores are small nothing shows; then the powers all vanish. Whose maximum is it?",
    ),
    Misconception(
        "each tile's softmax summed",
        build(
            top=lambda m, scores, scale: tl.max(scores, 1),
            gather=_own_average,
            total=lambda l, weights, shrink: tl.zeros_like(l) + 1.0,
        ),
        "Each tile has a softmax of its own, and the results are added: with n tiles the weights "
        "of a row sum to n. What must a tile know of the others before it may divide?",
        also=(
            build(gather=_own_average, total=lambda l, weights, shrink: l * 0.0 + 1.0),
            build(gather=_own_average),
            build(
                gather=_own_average,
                total=lambda l, weights, shrink: l + 1.0,
                finish=lambda m, m_new, l, acc: (m, l, acc),
            ),
            build(gather=_own_average, total=lambda l, weights, shrink: l + 1.0),
            build(
                gather=lambda acc, weights, v, shrink: (
                    acc * shrink[:, None] + tl.dot(_divided(weights).to(v.dtype), v)
                )
            ),
        ),
    ),
    Misconception(
        "divided in every tile",
        build(finish=_normalised),
        "acc comes out divided by l, and the kernel divides again at its end. In between acc is a "
        "plain sum: who divides, and how often?",
    ),
)
