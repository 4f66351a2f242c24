"""What goes wrong when the biases of multi-head attention are counted."""

from course_utils.exercises.ch05_multi_head._parameter_wrong import biases_by, build, mistake


def _nothing_without(d_model: int, num_heads: int, bias: bool) -> int:
    return 4 * d_model * d_model + 4 * d_model if bias else 0


BIASES = (
    mistake(
        "bias ignored",
        "`bias` changes nothing. What does each projection add to its product if it has one?",
        (build(reads=lambda bias: False), build(reads=lambda bias: True)),
    ),
    mistake(
        "bias the wrong way round",
        "There are more parameters without a bias than with one. What does True mean?",
        (build(reads=lambda bias: not bias),),
    ),
    mistake(
        "nothing without a bias",
        "Without a bias the count is 0. `a + b if bias else 0` reads as `(a + b) if bias else 0`: "
        "what belongs inside parentheses?",
        (_nothing_without,),
    ),
    mistake(
        "bias counted once",
        "There is one bias in all. How many projections have one?",
        biases_by(lambda d, h, d_k: d),
        biases_by(lambda d, h, d_k: d_k),
    ),
    mistake(
        "no bias on the output projection",
        "Three biases were counted. `bias` asks for one on each projection: how many are there?",
        biases_by(lambda d, h, d_k: 3 * d),
        biases_by(lambda d, h, d_k: 2 * d),
    ),
    mistake(
        "a bias of one head's width",
        "The biases were counted for one head. A bias has one number for each column of its "
        "matrix: how many columns are there?",
        biases_by(lambda d, h, d_k: 4 * d_k),
        biases_by(lambda d, h, d_k: 3 * d_k + d),
        biases_by(lambda d, h, d_k: 3 * d + d_k),
        biases_by(lambda d, h, d_k: 3 * d_k),
    ),
    mistake(
        "a bias of the full width for every head",
        "Each head was given biases of the full width. One number for each column of a matrix: how "
        "many columns has a head?",
        biases_by(lambda d, h, d_k: 4 * h * d),
        biases_by(lambda d, h, d_k: 3 * h * d + d),
        biases_by(lambda d, h, d_k: 3 * h * d),
    ),
    mistake(
        "a bias that is one number",
        "Each bias was counted as one number. It is a vector: one number for each column.",
        biases_by(lambda d, h, d_k: 4),
        biases_by(lambda d, h, d_k: 1),
        biases_by(lambda d, h, d_k: h),
        biases_by(lambda d, h, d_k: 4 * h),
        biases_by(lambda d, h, d_k: 3 * h + 1),
        biases_by(lambda d, h, d_k: 3 * d + 1),
        biases_by(lambda d, h, d_k: 3 * d + h),
    ),
    mistake(
        "a bias as large as a matrix",
        "A bias was counted as a matrix. It is added to every position alike: how many numbers is "
        "that?",
        biases_by(lambda d, h, d_k: 4 * d * d),
        biases_by(lambda d, h, d_k: d * d),
    ),
)
