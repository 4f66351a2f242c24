"""What goes wrong when the work of Q Kᵀ is divided by the bytes that it moves."""

from collections.abc import Callable
from typing import Any

from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch04_queries_keys_values._counts import counted
from course_utils.measure.roofline import matmul_intensity


def build(
    flops: Callable[..., Any] = lambda L, S, d: 2 * L * S * d,
    inputs: Callable[..., Any] = lambda L, S, d: L * d + S * d,
    output: Callable[..., Any] = lambda L, S, d: L * S,
    bytes_of: Callable[..., Any] = lambda read, written, size: (read + written) * size,
    counts: Callable[[bool], Any] = bool,
    finish: Callable[[Any, Any], Any] = lambda work, moved: work / moved,
) -> Function:
    """Return an intensity with some of its parts exchanged; most are given L, S and d_k.

    Args:
        flops: The operations.
        inputs: How many numbers are read.
        output: How many numbers are written, where they count.
        bytes_of: The bytes, from the numbers read and written and the size of one.
        counts: What is made of the flag.
        finish: What is made of operations and bytes.
    """

    def wrong(L: int, S: int, d: int, size: int, count_output: bool) -> Any:
        written = output(L, S, d) if counts(count_output) else 0
        return finish(flops(L, S, d), bytes_of(inputs(L, S, d), written, size))

    return wrong


mistake = counted(matmul_intensity, (3, 5, 7, 16), float)

WORK = (
    mistake(
        "multiplications only",
        build(flops=lambda L, S, d: L * S * d),
        "The work is half of what it should be. What else is done besides multiplying?",
    ),
    mistake(
        "one addition less than agreed",
        build(flops=lambda L, S, d: L * S * (2 * d - 1)),
        "A sum of d_k terms has one addition less, but the convention here is 2 for every "
        "multiply-add.",
    ),
    mistake(
        "the width left out of the work",
        build(flops=lambda L, S, d: 2 * L * S),
        "Each pair was counted as one multiply-add. How many products does one score sum up?",
        also=(build(flops=lambda L, S, d: L * S), build(flops=lambda L, S, d: 2 * L * d)),
    ),
    mistake(
        "one length for both in the work",
        build(flops=lambda L, S, d: 2 * L * L * d),
        "The work does not depend on one of the two lengths as it should. How many pairs of a "
        "query and a key are there?",
        also=(
            build(flops=lambda L, S, d: 2 * S * S * d),
            build(flops=lambda L, S, d: 2 * L * d * d),
        ),
    ),
    mistake(
        "more than the scores counted",
        build(flops=lambda L, S, d: 4 * L * S * d),
        "More work was counted than Q Kᵀ: the softmax or the product with the values. Those come "
        "after it.",
        also=(
            build(flops=lambda L, S, d: 2 * L * S * d + L * S),
            build(flops=lambda L, S, d: 2 * L * S * d + 2 * L * S),
            build(flops=lambda L, S, d: 2 * L * S * d + 3 * L * S),
            build(flops=lambda L, S, d: 2 * L * S * d + 4 * L * S),
            build(flops=lambda L, S, d: 2 * L * S * d + 5 * L * S),
            build(flops=lambda L, S, d: 3 * L * S * d),
            lambda L, S, d, size, counted: (
                4 * L * S * d / (size * (L * d + 2 * S * d + (L * S if counted else 0)))
            ),
        ),
    ),
)

BYTES = (
    mistake(
        "output bytes forgotten",
        build(counts=lambda flag: False),
        "The bytes of the output are missing under the fraction, though it is counted. How many "
        "scores are written, and how many bytes are they?",
        also=(
            build(output=lambda L, S, d: 1),
            lambda L, S, d, size, counted: (
                (2 * L * S * d + (L * S if counted else 0)) / (size * (L + S) * d)
            ),
            lambda L, S, d, size, counted: (
                (2 * L * S * d + (L * S * size if counted else 0)) / (size * (L + S) * d)
            ),
        ),
    ),
    mistake(
        "output always counted",
        build(counts=lambda flag: True),
        "The output is counted though `count_output` is False: a fused kernel never writes it. "
        "Where is the flag used?",
    ),
    Misconception(
        "the flag the wrong way round",
        build(counts=lambda flag: not flag),
        "Counting the output raises the intensity here. More bytes for the same work: which way "
        "should it go?",
        also=(build(output=lambda L, S, d: -L * S),),
    ),
    mistake(
        "the output's shape wrong",
        build(output=lambda L, S, d: L * d),
        "The output is not as large as was counted. What shape does (L, d_k) times (d_k, S) have?",
        also=(
            build(output=lambda L, S, d: S * d),
            build(output=lambda L, S, d: L * S * d),
            build(output=lambda L, S, d: L * L),
            build(output=lambda L, S, d: S * S),
            build(output=lambda L, S, d: L + S),
            build(output=lambda L, S, d: d * d),
            build(output=lambda L, S, d: L * S / 2),
            build(output=lambda L, S, d: L),
            build(output=lambda L, S, d: S),
        ),
    ),
    mistake(
        "output written and read again",
        build(output=lambda L, S, d: 2 * L * S),
        "The scores count twice. They are written once; who reads them again is another step.",
        also=(
            build(output=lambda L, S, d: 3 * L * S),
            build(output=lambda L, S, d: 4 * L * S),
        ),
    ),
    mistake(
        "only one input read",
        build(inputs=lambda L, S, d: L * d),
        "Bytes are missing: only one of the two inputs is read, or none. What has to come from "
        "memory before the product?",
        also=(build(inputs=lambda L, S, d: S * d), build(inputs=lambda L, S, d: d)),
    ),
    mistake(
        "one length for both inputs",
        build(inputs=lambda L, S, d: 2 * L * d),
        "Query and key were taken as equally long. How many rows has each?",
        also=(build(inputs=lambda L, S, d: 2 * S * d),),
    ),
    mistake(
        "inputs read again for every pair",
        build(inputs=lambda L, S, d: 2 * L * S * d),
        "Each input is read again and again, as without a cache. Here each number is read once.",
        also=(
            build(inputs=lambda L, S, d: L * S * d),
            build(inputs=lambda L, S, d: L * d + L * S * d),
            build(inputs=lambda L, S, d: L * S * d + S * d),
        ),
    ),
    Misconception(
        "the inputs counted twice",
        build(inputs=lambda L, S, d: 2 * (L + S) * d),
        "The bytes of both inputs are twice too many. They are read once, and not written back.",
    ),
    mistake(
        "the width left out of the bytes",
        build(inputs=lambda L, S, d: L + S),
        "A query was counted as one number. How many numbers is it?",
        also=(build(inputs=lambda L, S, d: L + S * d), build(inputs=lambda L, S, d: L * d + S)),
    ),
    mistake(
        "the values read too",
        build(inputs=lambda L, S, d: L * d + 2 * S * d),
        "A third input was read. Q Kᵀ has two: the values come later.",
        also=(build(inputs=lambda L, S, d: 3 * L * d), build(inputs=lambda L, S, d: 3 * S * d)),
    ),
)
