"""Exercise: count what additive scoring costs."""

from typing import Any

from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import adding, mistake, only, saying
from course_utils.exercises.shared.counts import INTEGER, MULTIPLY_ADD, conditional, flag
from course_utils.measure.additive_flops import additive_flops

RIGHT = """
def additive_flops(num_queries, num_keys, d_q, d_k, d_a, precompute):
    is_once = precompute
    pairs = num_queries * num_keys
    once_q = num_queries
    once_k = num_keys
    again_q = pairs
    again_k = pairs
    times_q = once_q if is_once else again_q
    times_k = once_k if is_once else again_k
    per_multiply_add = 2
    each_q = per_multiply_add * d_q * d_a
    each_k = per_multiply_add * d_k * d_a
    projections = times_q * each_q + times_k * each_k
    pair = 2 * d_a + per_multiply_add * d_a
    scored = pairs
    total = projections + scored * pair
    return total
"""


def _tanh_more(args: tuple[Any, ...], got: int) -> bool:
    """Return whether every tanh counts as a whole number above 1; without `precompute` too much else does the same."""
    extra, each = got - additive_flops(*args), args[0] * args[1] * args[4]
    return bool(args[-1] and each and extra > 0 and extra % each == 0)


EXERCISE = exercise(
    additive_flops,
    right=RIGHT,
    asks="Count the operations of additive scoring, its projections made once or for every pair.",
    minutes=8,
    difficulty=2,
    importance=3,
    # Small, so that loops over all pairs and features end soon.
    cases=(
        case("once each: 3 queries, 5 keys, widths 4, 7, 11", given(3, 5, 4, 7, 11, True)),
        case("for every pair: 3 queries, 5 keys, widths 4, 7, 11", given(3, 5, 4, 7, 11, False)),
        case("more queries than keys", given(13, 4, 6, 9, 5, True)),
        case("more queries than keys, for every pair", given(13, 4, 6, 9, 5, False)),
        case("one query and one key", given(1, 1, 3, 4, 2, True)),
        case("one query and one key, for every pair", given(1, 1, 3, 4, 2, False)),
        case("one query: a decoder's step", given(1, 20, 16, 12, 8, True)),
        case("10 queries, 10 keys, all of width 12", given(10, 10, 12, 12, 8, True)),
        case("the same for every pair", given(10, 10, 12, 12, 8, False)),
        case("no key at all", given(4, 0, 3, 5, 2, True)),
    ),
    mistakes=(
        *saying(
            (
                conditional("total = scored * pair + projections if precompute else projections",
                            "total = projections if precompute else projections + scored * pair",
                            "total = once_q * each_q if precompute else pairs + once_k * each_k if precompute else "
                            "pairs + pairs * pair",
                            "projections = num_queries + num_keys if precompute else pairs * each_q + pairs * each_k",
                            "projections = num_queries * each_q + num_keys * each_k if precompute else pairs + pairs"),
            ),
            {
                "a conditional without brackets": "With one setting of `precompute` a whole term is gone. Either it "
                "was left out there, or a condition reaches too far: `a + b if flag else c` reads as `(a + b) if flag "
                "else c`. Which is it?"
            },
        ),
        *flag(
            "precompute",
            "is_once",
            ignored="Both settings of `precompute` give the same count. How often is a key projected if its projection "
            "is kept?",
            turned="Precomputing came out as the more expensive setting. Which setting projects each key once?",
        ),
        mistake("tanh or the additions left out", "A pair costs more than that. Either a step before the product with "
                "`v` is missing, or only the multiplications of that product were counted. What happens to a hidden "
                "layer on its way to a score?", "pair = 2 * d_a", "pair = 3 * d_a", "pair = d_a", "pair = 3 * d_a + 1",
                "pair = 2 * d_a + 1", "pair = 2 * d_a + 2"),
        mistake("a tanh counted as more than 1", "A tanh costs more than an addition on most machines, but here it "
                "counts as 1.",
                "pair = 6 * d_a", "pair = 5 * d_a", "pair = 8 * d_a", "pair = 13 * d_a", matches=_tanh_more),
        mistake("a pair's work counted once", "The hidden layer's work, or a part of it, is not counted for every "
                "pair. How many pairs are there?", "scored = 1", "scored = num_queries", "scored = num_keys",
                "total = projections + scored * 2 * d_a + 2 * (num_queries + num_keys) * d_a",
                "total = projections + scored * 3 * d_a + (num_queries + num_keys) * d_a"),
        mistake("the hidden layer squared", "A width was counted twice, as if `v` were a square matrix, or a "
                "projection went from the hidden layer to itself. From which width to which does each product go?",
                "pair = 2 * d_a * d_a", "pair = 2 * d_a + 2 * d_a * d_a", "pair = 4 * d_a * d_a", "pair = d_a * d_a",
                "each_q = 2 * d_a * d_a\neach_k = 2 * d_a * d_a"),
        mistake("softmax and average counted too", "More than the scores was counted. What comes after them belongs to "
                "another step.", "total = projections + scored * pair + 3 * pairs",
                "total = projections + scored * pair + 2 * pairs * d_k",
                "total = projections + scored * pair + 3 * pairs + 2 * pairs * d_k",
                "total = projections + scored * pair + 2 * pairs", "total = projections + scored * pair + pairs",
                "total = projections + scored * pair + 5 * pairs"),
        mistake("parameters instead of operations", "The lengths play no part: this counts parameters. How often is "
                "each of them used?", "total = (d_q + d_k + 1) * d_a"),
        mistake("the score of a dot product", "This is the cost of a dot score. What does additive scoring do with a "
                "pair?", "total = 2 * pairs * d_q", "total = 2 * pairs * d_k", "total = 2 * pairs * d_a"),
        *only(INTEGER, "a float", "a tensor"),
        mistake("the parts not added up", "Several numbers came back, or a text. One Python `int` is asked for: the "
                "sum.",
                "return projections, scored * pair", "return projections, scored * pair, total", "return str(total)",
                'return f"{total:,}"'),
        mistake("only the keys precomputed", "One of the projections is still counted for every pair though "
                "`precompute` is set. Does it differ from pair to pair?", "once_q = pairs", "once_k = pairs"),
        mistake("only the keys projected again", "Without `precompute` both projections are made again for every pair; "
                "here one of them is kept.", "again_q = num_queries", "again_k = num_keys"),
        mistake("the projections left out", "Even a precomputed projection is not free: it is made once. What does "
                "each of the two cost?", "projections = 0", "times_k = 0", "times_q = 0"),
        mistake("one hidden feature instead of all", "A projection was counted as one dot product, or its two widths "
                "were added. How many numbers come out of it?",
                "each_q = 2 * d_q\neach_k = 2 * d_k", "each_q = d_q\neach_k = d_k",
                "each_q = 2 * (d_q + d_a)\neach_k = 2 * (d_k + d_a)", "each_q = d_q + d_a\neach_k = d_k + d_a"),
        mistake("both projections for each", "Both projections were made equally often. Which of the two does a query "
                "need, which a key, and how many are there of each?", "once_q = num_queries + num_keys\nonce_k = "
                "num_queries + num_keys",
                "once_k = num_queries", "once_q = num_keys"),
        mistake("everything multiplied", "Steps that follow one another were multiplied. If one thing is done after "
                "the other, are their costs added or multiplied?",
                "total = projections * scored * pair", "total = pairs * (2 * d_q * d_k * d_a + 4 * d_a)"),
        mistake("one projection only", "Each projection was counted a single time in all. How many queries and keys "
                "are there to project?", "times_q = 1\ntimes_k = 1"),
        mistake("queries and keys counted for each other", "The numbers or the widths of queries and keys changed "
                "places. How many queries are projected, and how wide are they?",
                "once_q = num_keys\nonce_k = num_queries"),
        mistake("one width for both", "Query and key may have different widths. Which one projects what?",
                "each_k = 2 * d_q * d_a", "each_q = 2 * d_k * d_a"),
        *adding(MULTIPLY_ADD, {
            "multiplications only": ("each_q = d_q * d_a\neach_k = d_k * d_a", "return total // 2"),
        }),
        mistake("widths multiplied", "The widths of query and key were multiplied with each other. No matrix leads "
                "from one to the other: from which width to which does each projection go?",
                "each_q = 2 * d_q * d_k * d_a\neach_k = 2 * d_q * d_k * d_a", "each_q = 2 * d_q * d_k\neach_k = 2 * "
                "d_q * d_k"),
        mistake("one length for both", "Queries and keys were taken to be equally many. How many of each are there?",
                "num_keys = num_queries\nis_once = precompute", "num_queries = num_keys\nis_once = precompute"),
        mistake("lengths added where they multiply", "The number of pairs is not the sum of the lengths. How many keys "
                "does each query meet?", "scored = num_queries + num_keys",
                "again_q = num_queries + num_keys\nagain_k = num_queries + num_keys", "pairs = num_queries + num_keys"),
        mistake("the work of a pair left out", "Only the projections were counted. What is done for a pair when both "
                "are known?", "pair = 0"),
        mistake("one addition less than agreed", "A sum of n terms has n - 1 additions, but the convention here is 2 "
                "for every multiplication, as everywhere in the course.",
                "each_q = (2 * d_q - 1) * d_a\neach_k = (2 * d_k - 1) * d_a", "pair = 4 * d_a - 1",
                "each_q = (2 * d_q - 1) * d_a\neach_k = (2 * d_k - 1) * d_a\npair = 4 * d_a - 1"),
    ),
    hints=(
        "List the steps first: what happens once for a query, what once for a key, and what can happen only when both "
        "are known?",
        "A vector of width d_in times a matrix (d_in, d_a) is d_in · d_a multiplications and as many additions.",
        "For one pair, after the projections: d_a additions, d_a tanh, and the product with `v`. How many are these "
        "together?",
        "There are L · S pairs. With `precompute` the projections are counted L and S times; how many times each "
        "without?",
    ),
)
