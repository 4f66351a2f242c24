"""What goes wrong when the work of a pair is counted, and in what is counted at all."""

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch02_additive_multiplicative._flops_wrong import build, mistake

PAIR = (
    mistake(
        "tanh or the additions left out",
        build(pair=lambda d_a: 2 * d_a),
        "A pair costs more than the product with `v`. What happens to its hidden layer before?",
        also=(
            build(pair=lambda d_a: d_a),
            build(pair=lambda d_a: 3 * d_a + 1),
            build(pair=lambda d_a: 2 * d_a + 1),
            build(pair=lambda d_a: 2 * d_a + 2),
        ),
    ),
    Misconception(
        "one addition less than agreed",
        build(project=lambda d_in, d_a: (2 * d_in - 1) * d_a),
        "A sum of n terms has n - 1 additions, but the convention here is 2 for every "
        "multiplication, as everywhere in the course.",
        also=(
            build(pair=lambda d_a: 4 * d_a - 1),
            build(project=lambda d_in, d_a: (2 * d_in - 1) * d_a, pair=lambda d_a: 4 * d_a - 1),
        ),
    ),
    mistake(
        "the work of a pair left out",
        build(pair=lambda d_a: 0),
        "Only the projections were counted. What is done for a pair when both are known?",
    ),
    mistake(
        "a tanh counted as more than 1",
        build(pair=lambda d_a: 6 * d_a),
        "A tanh is dearer than an addition on most machines, but here it counts as 1.",
        also=(
            build(pair=lambda d_a: 5 * d_a),
            build(pair=lambda d_a: 8 * d_a),
            build(pair=lambda d_a: 13 * d_a),
        ),
    ),
    mistake(
        "a pair's work counted once",
        build(pairs=lambda L, S: 1),
        "The hidden layer's work is that of a single pair. How many pairs are there?",
        also=(
            build(pairs=lambda L, S: L),
            build(pairs=lambda L, S: S),
            build(pair=lambda d_a: 2 * d_a, more=lambda L, S, d_q, d_k, d_a: 2 * (L + S) * d_a),
            build(pair=lambda d_a: 3 * d_a, more=lambda L, S, d_q, d_k, d_a: (L + S) * d_a),
        ),
    ),
    mistake(
        "the hidden layer squared",
        build(pair=lambda d_a: 2 * d_a * d_a),
        "The product with `v` was counted as if `v` were a matrix. It is a vector: how many "
        "multiplications is that?",
        also=(
            build(pair=lambda d_a: 2 * d_a + 2 * d_a * d_a),
            build(pair=lambda d_a: 4 * d_a * d_a),
            build(pair=lambda d_a: d_a * d_a),
            build(project=lambda d_in, d_a: 2 * d_a * d_a),
        ),
    ),
    mistake(
        "softmax and average counted too",
        build(more=lambda L, S, d_q, d_k, d_a: 3 * L * S),
        "More than the scores was counted. What comes after them belongs to another step.",
        also=(
            build(more=lambda L, S, d_q, d_k, d_a: 2 * L * S * d_k),
            build(more=lambda L, S, d_q, d_k, d_a: 3 * L * S + 2 * L * S * d_k),
            build(more=lambda L, S, d_q, d_k, d_a: 2 * L * S),
            build(more=lambda L, S, d_q, d_k, d_a: L * S),
            build(more=lambda L, S, d_q, d_k, d_a: 5 * L * S),
        ),
    ),
    mistake(
        "parameters instead of operations",
        lambda L, S, d_q, d_k, d_a, precompute: (d_q + d_k + 1) * d_a,
        "The lengths play no part: this counts parameters. How often is each of them used?",
    ),
    mistake(
        "the score of a dot product",
        lambda L, S, d_q, d_k, d_a, precompute: 2 * L * S * d_q,
        "This is the cost of a dot score. What does additive scoring do with a pair?",
        also=(
            lambda L, S, d_q, d_k, d_a, precompute: 2 * L * S * d_k,
            lambda L, S, d_q, d_k, d_a, precompute: 2 * L * S * d_a,
        ),
    ),
    mistake(
        "a float",
        build(finish=float),
        "The count is a float, as `/` gives it. A count is a whole number: which division, or "
        "which order, keeps it one?",
        also=(
            build(finish=lambda total: total / 1e9),
            build(finish=lambda total: total / 1e6),
        ),
    ),
)
