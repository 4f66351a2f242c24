"""What goes wrong when the parameters of multi-head attention are counted."""

import torch

from course_utils.exercises.ch05_multi_head._parameter_bias_mistakes import BIASES
from course_utils.exercises.ch05_multi_head._parameter_wrong import (
    biases_by,
    build,
    matrices_by,
    mistake,
)

MATRICES = (
    mistake(
        "every head as wide as the model",
        "The count grows with the number of heads: each was given matrices of its own of the full "
        "width. The heads share d_model; how many columns does one of them have?",
        matrices_by(lambda d, h, d_k: 4 * h * d * d),
        matrices_by(lambda d, h, d_k: 3 * h * d * d + d * d),
        matrices_by(lambda d, h, d_k: 3 * h * d * d + h * d * d),
        matrices_by(lambda d, h, d_k: 3 * h * d * d),
    ),
    mistake(
        "no output projection",
        "There are as many numbers as in the projections of query, key and value alone. What mixes "
        "the heads afterwards?",
        matrices_by(lambda d, h, d_k: 3 * d * d),
    ),
    mistake(
        "fewer projections than four",
        "Some projections are missing. Query, key and value have one each, and one comes after "
        "the heads.",
        matrices_by(lambda d, h, d_k: 2 * d * d),
        matrices_by(lambda d, h, d_k: d * d),
    ),
    mistake(
        "more than the four projections",
        "More was counted than the four projections. What else is in a transformer's layer is not "
        "part of attention.",
        matrices_by(lambda d, h, d_k: 12 * d * d),
        matrices_by(lambda d, h, d_k: 5 * d * d),
        matrices_by(lambda d, h, d_k: 6 * d * d),
        matrices_by(lambda d, h, d_k: 8 * d * d),
        matrices_by(lambda d, h, d_k: 4 * d * d + 2 * d),
        biases_by(lambda d, h, d_k: 6 * d),
        (build(finish=lambda total: 2 * total),),
    ),
    mistake(
        "one head only",
        "One head's matrices were counted, or matrices that read only one head's width. How many "
        "heads have their own, and how wide is the stream that each of them reads?",
        matrices_by(lambda d, h, d_k: 4 * d * d_k),
        matrices_by(lambda d, h, d_k: 3 * d * d_k + d * d),
        matrices_by(lambda d, h, d_k: 3 * d * d_k),
        matrices_by(lambda d, h, d_k: 4 * d_k * d_k),
        matrices_by(lambda d, h, d_k: 3 * d_k * d_k + d * d),
    ),
    mistake(
        "an output projection of one head's width",
        "The output projection was counted with d_k rows or columns. It reads all heads side by "
        "side, and writes the stream: how wide are both?",
        matrices_by(lambda d, h, d_k: 3 * d * d + d_k * d),
        matrices_by(lambda d, h, d_k: 3 * d * d + d_k * d_k),
    ),
    mistake(
        "an output projection for every head",
        "The output projection was counted once for each head, as wide as all of them. How many "
        "rows of it belong to one head?",
        matrices_by(lambda d, h, d_k: 3 * d * d + h * d * d),
    ),
    mistake(
        "a width counted once",
        "A matrix was counted as one row of numbers, or its two sizes were added. How many numbers "
        "does a matrix with d_model rows and d_model columns hold?",
        matrices_by(lambda d, h, d_k: 4 * d),
        matrices_by(lambda d, h, d_k: 4 * 2 * d),
        matrices_by(lambda d, h, d_k: 4 * (d + d_k)),
        matrices_by(lambda d, h, d_k: 4 * d * h),
    ),
    mistake(
        "more numbers with more heads",
        "The count depends on the number of heads. Twice as many heads are half as wide: what "
        "happens to the product?",
        matrices_by(lambda d, h, d_k: 4 * d * d * h // 2),
        matrices_by(lambda d, h, d_k: 4 * d * d + h),
        matrices_by(lambda d, h, d_k: 4 * (d + h) * d),
        matrices_by(lambda d, h, d_k: 4 * d * d + h * d_k),
        matrices_by(lambda d, h, d_k: 4 * d * d + h * d),
    ),
    mistake(
        "a float",
        "The count is no whole number of Python's: `/` gives a float. Which division keeps an int?",
        (
            build(finish=float),
            build(finish=lambda total: total / 1e6),
            build(finish=lambda total: total // 1000),
        ),
    ),
    mistake(
        "a tensor",
        "The count came as a tensor. Python's `int` is asked for: what takes the one number out?",
        (build(finish=torch.tensor),),
    ),
)

MISCONCEPTIONS = (*MATRICES, *BIASES)
