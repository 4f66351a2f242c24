"""Exercise: count what additive scoring costs."""

from course_utils.checking.exercise import Case, Exercise
from course_utils.checking.inputs import given
from course_utils.exercises.ch02_additive_multiplicative._flops_mistakes import MISCONCEPTIONS
from course_utils.measure.additive_flops import additive_flops

EXERCISE = Exercise(
    name="additive_flops",
    chapter=2,
    signature="additive_flops(num_queries, num_keys, d_q, d_k, d_a, precompute)",
    asks="Count the operations of additive scoring, its projections made once or for every pair.",
    reference=additive_flops,
    minutes=8,
    difficulty=2,
    importance=3,
    cases=(
        Case("once each: 3 queries, 5 keys, widths 2, 7, 11", given(3, 5, 2, 7, 11, True)),
        Case("for every pair: 3 queries, 5 keys, widths 2, 7, 11", given(3, 5, 2, 7, 11, False)),
        Case("more queries than keys", given(13, 4, 6, 9, 5, True)),
        Case("more queries than keys, for every pair", given(13, 4, 6, 9, 5, False)),
        Case("one query and one key", given(1, 1, 3, 4, 2, True)),
        Case("one query and one key, for every pair", given(1, 1, 3, 4, 2, False)),
        Case("one query: a decoder's step", given(1, 50, 512, 256, 128, True)),
        Case("50 queries, 50 keys, widths of 512 and 256", given(50, 50, 512, 512, 256, True)),
        Case("the same for every pair", given(50, 50, 512, 512, 256, False)),
        Case("thousands of keys: more than 32 bits", given(4000, 6000, 1024, 768, 512, False)),
        Case("no key at all", given(4, 0, 3, 5, 2, True)),
    ),
    misconceptions=MISCONCEPTIONS,
    hints=(
        "List the steps first: what happens once for a query, what once for a key, and what can "
        "happen only when both are known?",
        "A vector of width d_in times a matrix (d_in, d_a) is d_in · d_a multiplications and as "
        "many additions.",
        "For one pair, after the projections: d_a additions, d_a tanh, and the product with `v`. "
        "How many are these together?",
        "There are L · S pairs. With `precompute` the projections are counted L and S times; how "
        "many times each without?",
    ),
)
