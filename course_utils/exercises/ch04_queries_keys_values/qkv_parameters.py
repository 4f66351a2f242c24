"""Exercise: count what the three projections learn."""

from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import given
from course_utils.checking.mistakes import mistake, only, without
from course_utils.exercises.shared.counts import BEYOND_32_BITS, INTEGER, conditional, flag
from course_utils.measure.parameters import qkv_parameters

RIGHT = """
def qkv_parameters(d_model, num_heads, d_k, d_v, bias):
    columns = num_heads * (2 * d_k + d_v)
    matrices = d_model * columns
    vectors = columns
    is_biased = bias
    total = matrices + (vectors if is_biased else 0)
    return total
"""

WIDTHS = (
    mistake("d_k per head taken for the total", "The heads play no part: the widths were taken as those of all heads "
            "together. `d_k` and `d_v` are those of one head.",
            "columns = 2 * d_k + d_v", "columns = 2 * d_k // num_heads * num_heads + d_v // num_heads * num_heads",
            "columns = 2 * (d_k // num_heads) + d_v // num_heads",
            "columns = num_heads * (2 * (d_k // num_heads) + d_v // num_heads)", "matrices = d_model * (2 * d_k + d_v)",
            "columns = 2 * d_k * num_heads + d_v", "columns = 2 * d_k + d_v * num_heads"),
    mistake("d_model for the width of all heads", "Each matrix was taken as square, d_model by d_model. That holds "
            "where heads · d_k is d_model; which sizes are given here?", "columns = 3 * d_model",
            "columns = 3 * (d_model // num_heads) * num_heads", "columns = 3 * d_model * num_heads",
            "columns = 3 * (d_model // num_heads)", "columns = 3 * d_model // num_heads",
            "columns = num_heads * (2 * (d_model // num_heads) + d_v)", "columns = 2 * d_model + num_heads * d_v",
            "columns = 2 * d_model + d_v", "vectors = 3 * (d_model // num_heads)"),
    mistake("one width for all three", "Queries, keys and values were taken as equally wide. Which of the three has "
            "which width?", "columns = 3 * num_heads * d_k", "columns = 3 * num_heads * d_v",
            "columns = num_heads * (d_k + 2 * d_v)", "columns = 3 * d_k", "columns = 3 * d_v",
            "columns = d_k + 2 * d_v", "vectors = 3 * num_heads * d_k", "vectors = 3 * d_k"),
    mistake("a projection forgotten", "Only two of the three projections were counted, or one. Queries, keys and "
            "values each have a matrix.",
            "columns = num_heads * (d_k + d_v)", "columns = 2 * num_heads * d_k", "columns = 2 * num_heads * d_v",
            "columns = num_heads * d_k", "columns = num_heads * d_v", "columns = d_k + d_v"),
    mistake("one key and value for all heads", "Only the queries have a matrix for each head here: such models exist, "
            "but these heads share nothing. How many key matrices are there?",
            "columns = num_heads * d_k + d_k + d_v", "columns = d_k + num_heads * (d_k + d_v)"),
    mistake("widths multiplied", "Widths were multiplied where matrices stand side by side. How many numbers do two "
            "matrices hold together?", "columns = num_heads * d_k * d_k * d_v", "columns = num_heads * d_k * d_v",
            "columns = 2 * num_heads * d_k * d_v", "matrices = num_heads * (2 * d_k * d_k + d_v * d_v)",
            "matrices = (d_model * num_heads * d_k) ** 2 * d_model * num_heads * d_v",
            "matrices = d_model * num_heads * (d_k * d_k + d_v)"),
    mistake("sizes added where they multiply", "A matrix was counted as its rows plus its columns. How many numbers "
            "does a table of that shape hold?", "matrices = num_heads * (2 * (d_model + d_k) + (d_model + d_v))",
            "matrices = d_model + columns", "matrices = 3 * d_model + columns",
            "matrices = 3 * (d_model + num_heads * d_k)", "columns = num_heads + 2 * d_k + d_v"),
    mistake("brackets forgotten", "A factor reaches only some of the terms: `a * b + c` is `(a * b) + c`. Which terms "
            "do d_model and the heads multiply?", "matrices = d_model * num_heads * 2 * d_k + d_v",
            "matrices = num_heads * (d_model * 2 * d_k + d_v)", "matrices = d_model * num_heads * d_k + d_k + d_v",
            "total = (d_model + bool(is_biased)) * num_heads * 2 * d_k + d_v"),
    mistake("shared out among the heads", "Something was divided by the number of heads. `d_k` and `d_v` are those of "
            "one head already, and each head sees all of d_model.",
            "columns = (2 * d_k + d_v) / num_heads\nreturn int(total)",
            "matrices = d_model // num_heads * (2 * d_k + d_v)", "matrices = d_model // num_heads * columns"),
    mistake("the heads counted twice", "The number of heads enters twice. One head has three matrices; how many heads "
            "are there?",
            "columns = num_heads * num_heads * (2 * d_k + d_v)", "columns = 3 * num_heads * (2 * d_k + d_v)",
            "matrices = num_heads * d_model * columns", "vectors = num_heads * columns"),
    mistake("W_o counted too", "More than the three projections was counted. The output matrix belongs to "
            "`mha_parameters`.", "return total + num_heads * d_v * d_model", "return total + d_model * d_model",
            "return total + num_heads * d_k * d_model", "return total + d_model * d_model + d_model",
            "return total + num_heads * d_v * d_model + d_model", "return total + d_model", "columns = 4 * d_model",
            "columns = 2 * num_heads * (d_k + d_v)", "columns = 4 * num_heads * d_k"),
    mistake("operations instead of parameters", "The count is twice too high, as for multiplications and additions. A "
            "number that is learned counts once.", "return 2 * total", "matrices = 2 * d_model * columns"),
    mistake("bytes instead of parameters", "The count is a multiple of the parameters, as for bytes. How many numbers "
            "are there?", "return 4 * total", "return 8 * total"),
)

BIASES = (
    mistake("bias counted once", "The biases are too few. A projection adds one number to each feature of its result: "
            "how many features do all results have together?",
            *(f"vectors = {few}" for few in ("1", "3", "num_heads", "3 * num_heads", "d_k", "d_v", "d_k + d_v")),
            "vectors = 2 * d_k + d_v", "vectors = 2 * num_heads * d_k + d_v", "vectors = num_heads * d_k",
            "vectors = num_heads * d_v", "vectors = 2 * num_heads * d_k", "vectors = num_heads * (d_k + d_v)"),
    mistake("bias as wide as the input", "The biases have the width of what goes in. They are added to what comes out: "
            "how wide is that?", "vectors = 3 * d_model", "vectors = d_model", "vectors = 3 * d_model * num_heads",
            "vectors = d_model * num_heads", "vectors = 2 * d_model + d_v", "vectors = 2 * d_model + num_heads * d_v",
            "vectors = num_heads * (2 * d_model + d_v)"),
    *flag("bias", "is_biased",
          ignored="Both settings of `bias` give the same count. What does a bias add to each projection?",
          turned="With a bias there are fewer parameters than without. Which way round is the flag?"),
    mistake("bias subtracted", "With a bias there are fewer parameters than without. A bias is learned as well.",
            "vectors = -columns"),
    mistake("a bias for each weight", "The biases are as many as the weights. A bias is added once the products are "
            "summed: one for each column.", "vectors = d_model * columns"),
    conditional("total = matrices + vectors if is_biased else 0"),
)

EXERCISE = exercise(
    qkv_parameters,
    right=RIGHT,
    asks="Count the parameters of the query, key and value projections of all heads.",
    minutes=6,
    difficulty=1,
    importance=3,
    cases=(
        case("d_model 20, 4 heads of widths 6 and 11", given(20, 4, 6, 11, False)),
        case("the same with biases", given(20, 4, 6, 11, True)),
        case("values narrower than keys", given(13, 5, 8, 3, False)),
        case("the same with biases again", given(13, 5, 8, 3, True)),
        case("one head", given(9, 1, 6, 4, True)),
        case("one head without biases", given(9, 1, 6, 4, False)),
        case("BERT-base: 12 heads of width 64", given(768, 12, 64, 64, False)),
        case("BERT-base with biases", given(768, 12, 64, 64, True)),
        case("heads that do not divide d_model", given(20, 7, 2, 5, True)),
        case("everything 1", given(1, 1, 1, 1, True)),
        # Above 2**24 and odd, so that float32 cannot hold it; small enough to make the layers.
        case("more than float32 counts one by one", given(1000, 33, 127, 255, True)),
    ),
    mistakes=(
        *WIDTHS,
        *without(INTEGER, "overflow"),
        mistake("the parts not added up", "Several numbers came back, or a text. One Python `int` is asked for: the "
                "sum.",
                "return matrices, vectors", "return matrices, vectors, total", "return str(total)",
                'return f"{total:,}"'),
        *BIASES,
        # No count here needs more than 32 bits.
        *without(only(INTEGER, "overflow"), *BEYOND_32_BITS),
    ),
    hints=(
        "Start with one head and no bias. What shapes do its three matrices have?",
        "A matrix of shape (d_model, d_k) holds d_model · d_k numbers. Which two of the three are that wide?",
        "All heads have their own matrices, equally large. A bias has one number for each column of a matrix.",
    ),
)
