"""What goes wrong when additive scoring is counted: each mistake as something to run."""

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch02_additive_multiplicative._flops_pair_mistakes import PAIR
from course_utils.exercises.ch02_additive_multiplicative._flops_wrong import build, mistake


def _swapped(L: int, S: int, d_q: int, d_k: int, d_a: int, precompute: bool) -> int:
    return int(build()(L, S, d_k, d_q, d_a, precompute))


def _one_width(L: int, S: int, d_q: int, d_k: int, d_a: int, precompute: bool) -> int:
    return int(build()(L, S, d_q, d_q, d_a, precompute))


def _multiplied(L: int, S: int, d_q: int, d_k: int, d_a: int, precompute: bool) -> int:
    times = (L, S) if precompute else (L * S, L * S)
    return (times[0] * d_q + times[1] * d_k) * 2 * d_a * L * S * 4 * d_a


def _widths_multiplied(L: int, S: int, d_q: int, d_k: int, d_a: int, precompute: bool) -> int:
    return L * S * (2 * d_q * d_k * d_a + 4 * d_a)


PROJECTIONS = (
    mistake(
        "precompute ignored",
        build(precomputes=lambda flag: False),
        "Both settings of `precompute` give the same count. How often is a key projected if its "
        "projection is kept?",
        also=(build(precomputes=lambda flag: True),),
    ),
    Misconception(
        "precompute the wrong way round",
        build(precomputes=lambda flag: not flag),
        "Precomputing came out dearer. Which setting projects each key once?",
    ),
    mistake(
        "only the keys precomputed",
        build(once=lambda L, S: (L * S, S)),
        "One of the projections is still counted for every pair though `precompute` is set. Does "
        "it differ from pair to pair?",
        also=(build(once=lambda L, S: (L, L * S)),),
    ),
    mistake(
        "only the keys projected again",
        build(again=lambda L, S: (L, L * S)),
        "Without `precompute` both projections are made again for every pair; here one of them is "
        "kept.",
        also=(build(again=lambda L, S: (L * S, S)),),
    ),
    mistake(
        "the projections left out",
        build(once=lambda L, S: (0, 0)),
        "A precomputed projection is not free: it is made once. What does it cost?",
        also=(
            build(once=lambda L, S: (0, 0), again=lambda L, S: (0, 0)),
            build(once=lambda L, S: (L, 0)),
            build(once=lambda L, S: (0, S)),
            build(once=lambda L, S: (L, 0), again=lambda L, S: (L * S, 0)),
            build(once=lambda L, S: (0, S), again=lambda L, S: (0, L * S)),
        ),
    ),
    mistake(
        "one hidden feature instead of all",
        build(project=lambda d_in, d_a: 2 * d_in),
        "A projection was counted as one dot product. How many numbers come out of it?",
        also=(
            build(project=lambda d_in, d_a: d_in),
            build(project=lambda d_in, d_a: 2 * (d_in + d_a)),
            build(project=lambda d_in, d_a: d_in + d_a),
        ),
    ),
    mistake(
        "both projections for each",
        build(once=lambda L, S: (L + S, L + S)),
        "Each query and each key was put through both projections. Which of the two does a query "
        "need?",
    ),
    mistake(
        "everything multiplied",
        _multiplied,
        "Steps that follow one another were multiplied. What does doing one thing after the other "
        "cost together?",
        also=(_widths_multiplied,),
    ),
    mistake(
        "one projection only",
        build(once=lambda L, S: (1, 1), again=lambda L, S: (1, 1)),
        "Each projection was counted a single time in all. How many queries and keys are there to "
        "project?",
    ),
    mistake(
        "queries and keys counted for each other",
        build(once=lambda L, S: (S, L)),
        "The numbers or the widths of queries and keys changed places. How many queries are "
        "projected, and how wide are they?",
        also=(_swapped,),
    ),
    mistake(
        "one width for both",
        _one_width,
        "Query and key may have different widths. Which one projects what?",
        also=(lambda L, S, d_q, d_k, d_a, p: build()(L, S, d_k, d_k, d_a, p),),
    ),
    mistake(
        "multiplications only",
        build(project=lambda d_in, d_a: d_in * d_a),
        "A product of a vector and a matrix has as many additions as multiplications. What is "
        "missing?",
        also=(
            build(project=lambda d_in, d_a: d_in * d_a, pair=lambda d_a: 3 * d_a),
            build(project=lambda d_in, d_a: d_in * d_a, pair=lambda d_a: 2 * d_a),
            build(pair=lambda d_a: 3 * d_a),
            build(finish=lambda total: total // 2),
        ),
    ),
    mistake(
        "lengths added where they multiply",
        build(pairs=lambda L, S: L + S),
        "The number of pairs is not the sum of the lengths. How many keys does each query meet?",
        also=(
            build(again=lambda L, S: (L + S, L + S)),
            build(pairs=lambda L, S: L + S, again=lambda L, S: (L + S, L + S)),
        ),
    ),
)

MISCONCEPTIONS = (*PAIR, *PROJECTIONS)
