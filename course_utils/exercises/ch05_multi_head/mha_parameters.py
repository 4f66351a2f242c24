"""Exercise: count what multi-head attention learns."""

from typing import Any

from course_utils.checking.exercise import case, exercise
from course_utils.checking.mistakes import mistake, without
from course_utils.exercises.shared.counts import INTEGER, conditional, flag
from course_utils.exercises.shared.kinds import NOTHING
from course_utils.measure import mha_parameters

RIGHT = """
def mha_parameters(d_model, num_heads, bias):
    d_k = d_model // num_heads
    is_biased = bias
    matrices = 4 * d_model * d_model
    vectors = 4 * d_model
    total = matrices + (vectors if is_biased else 0)
    return total
"""


def _more(args: tuple[Any, ...], got: int) -> bool:
    """Return whether more square matrices than four were counted, with or without a bias each."""
    d_model = args[0]
    squares = (d_model * d_model, d_model * (d_model + 1))
    return got > mha_parameters(*args) and any(got % square == 0 for square in squares)


EXERCISE = exercise(
    mha_parameters,
    right=RIGHT,
    asks="Count the numbers in the four projections of multi-head attention.",
    minutes=5,
    difficulty=1,
    importance=3,
    cases=(
        case("width 35, 5 heads, no bias", d_model=35, num_heads=5, bias=False),
        case("width 35, 5 heads, with bias", d_model=35, num_heads=5, bias=True),
        case("width 42, 7 heads, no bias", d_model=42, num_heads=7, bias=False),
        case("width 22, 11 heads, with bias", d_model=22, num_heads=11, bias=True),
        case("one head, no bias", d_model=7, num_heads=1, bias=False),
        case("one head, with bias", d_model=6, num_heads=1, bias=True),
        case("heads of width 1", d_model=5, num_heads=5, bias=True),
        case("the base size of 2017: width 512, 8 heads", d_model=512, num_heads=8, bias=False),
        case("width 768, 12 heads, with bias", d_model=768, num_heads=12, bias=True),
        case("width 768, 6 heads, with bias", d_model=768, num_heads=6, bias=True),
        case("one of everything", d_model=1, num_heads=1, bias=False),
    ),
    mistakes=(
        mistake("every head as wide as the model", "The count grows with the number of heads: each was given matrices "
                "of its own of the full width. The heads share d_model; how many columns does one of them have?",
                "matrices = 4 * num_heads * d_model * d_model",
                "matrices = 3 * num_heads * d_model * d_model + d_model * d_model",
                "matrices = 3 * num_heads * d_model * d_model"),
        mistake("no output projection", "There are as many numbers as in the projections of query, key and value "
                "alone. What mixes the heads afterwards?", "matrices = 3 * d_model * d_model"),
        mistake("fewer projections than four", "Some projections are missing. Query, key and value have one each, and "
                "one comes after the heads.", "matrices = 2 * d_model * d_model", "matrices = d_model * d_model"),
        mistake("more than the four projections", "More was counted than the numbers in the four projections. What "
                "else is in a transformer's layer is not part of attention, and a number is held once, whatever is "
                "computed with it.",
                *(f"matrices = {count} * d_model * d_model" for count in (12, 5, 6, 8)),
                "matrices = 4 * d_model * d_model + 2 * d_model", "vectors = 6 * d_model", "return 2 * total",
                matches=_more),
        mistake("one head only", "One head's matrices were counted, or matrices that read only one head's width. How "
                "many heads have their own, and how wide is the stream that each of them reads?",
                "matrices = 4 * d_model * d_k", "matrices = 3 * d_model * d_k + d_model * d_model",
                "matrices = 3 * d_model * d_k", "matrices = 4 * d_k * d_k",
                "matrices = 3 * d_k * d_k + d_model * d_model"),
        mistake("keys and values of one head", "The keys and values were counted for one head, which all others "
                "share. Here each head has keys and values of its own: how wide are all of them together?",
                "matrices = 2 * d_model * d_model + 2 * d_model * d_k",
                "matrices = 2 * d_model * d_model + 2 * d_model * d_k\nvectors = 2 * d_model + 2 * d_k",
                "vectors = 2 * d_model + 2 * d_k"),
        mistake("tensors counted instead of numbers", "Matrices and vectors were counted, not the numbers in them. How "
                "many numbers does one matrix hold?",
                *(f"matrices = {n}\nvectors = {n}" for n in (4, 2, 3)), "matrices = 4\nvectors = 0"),
        mistake("an output projection of one head's width", "The output projection was counted with d_k rows or "
                "columns. It reads all heads side by side, and writes the stream: how wide are both?",
                "matrices = 3 * d_model * d_model + d_k * d_model", "matrices = 3 * d_model * d_model + d_k * d_k"),
        mistake("an output projection for every head", "The output projection was counted once for each head, as wide "
                "as all of them. How many rows of it belong to one head?",
                "matrices = 3 * d_model * d_model + num_heads * d_model * d_model"),
        mistake("a width counted once", "A matrix was counted as one row of numbers, or its two sizes were added. How "
                "many numbers does a matrix with d_model rows and d_model columns hold?", "matrices = 4 * d_model",
                "matrices = 4 * 2 * d_model", "matrices = 4 * (d_model + d_k)", "matrices = 4 * d_model * num_heads"),
        mistake("more numbers with more heads", "The count depends on the number of heads. Twice as many heads are "
                "half as wide: what happens to the product?",
                "matrices = 4 * d_model * d_model * num_heads // 2", "matrices = 4 * d_model * d_model + num_heads",
                "matrices = 4 * (d_model + num_heads) * d_model", "matrices = 4 * d_model * d_model + num_heads * d_k",
                "matrices = 4 * d_model * d_model + num_heads * d_model"),
        *without(INTEGER, "overflow"),
        NOTHING,
        mistake("counted in thousands", "The count was divided by a thousand. How many numbers are there, one by one?",
                "return total // 1000"),
        *flag("bias", "is_biased",
              ignored="`bias` changes nothing. What does each projection add to its product if it has one?",
              turned="There are more parameters without a bias than with one. What does True mean?"),
        conditional("total = matrices + vectors if is_biased else 0"),
        mistake("bias counted once", "There is one bias in all. How many projections have one?",
                "vectors = d_model", "vectors = d_k"),
        mistake("no bias on the output projection", "Three biases were counted. `bias` asks for one on each "
                "projection: how many are there?", "vectors = 3 * d_model", "vectors = 2 * d_model"),
        mistake("a bias of one head's width", "The biases were counted for one head. A bias has one number for each "
                "column of its matrix: how many columns are there?",
                "vectors = 4 * d_k", "vectors = 3 * d_k + d_model", "vectors = 3 * d_model + d_k", "vectors = 3 * d_k"),
        mistake("a bias of the full width for every head", "Each head was given biases of the full width. One number "
                "for each column of a matrix: how many columns does a head have?", "vectors = 4 * num_heads * d_model",
                "vectors = 3 * num_heads * d_model + d_model", "vectors = 3 * num_heads * d_model"),
        mistake("a bias on both sides of a matrix", "A matrix was counted with a row and a column more. A bias is "
                "added to what comes out of the product: is it a row or a column?",
                "total = 4 * (d_model + is_biased) ** 2",
                "vectors = 8 * d_model"),
        mistake("a bias that is one number", "Each bias was counted as one number. It is a vector: one number for each "
                "column.", "vectors = 4", "vectors = 1", "vectors = num_heads", "vectors = 4 * num_heads",
                "vectors = 3 * num_heads + 1", "vectors = 3 * d_model + 1", "vectors = 3 * d_model + num_heads"),
        mistake("a bias as large as a matrix", "A bias was counted as a matrix. It is added to every position alike: "
                "how many numbers is that?", "vectors = 4 * d_model * d_model", "vectors = d_model * d_model"),
    ),
    hints=(
        "Name the four projections first. Which of them come before the heads, which after?",
        "Each of the four is a matrix that is as wide as the stream on both sides, whatever the number of heads: a "
        "head only owns some of its columns.",
        "A bias adds one number to each column of a product. How many columns do all four matrices have together?",
    ),
)
