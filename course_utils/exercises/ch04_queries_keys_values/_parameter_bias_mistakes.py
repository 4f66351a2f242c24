"""What goes wrong with the biases of the projections, and with what is counted at all."""

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch04_queries_keys_values._parameter_mistakes import build, mistake

BIASES = (
    mistake(
        "bias counted once",
        build(biases=lambda D, H, k, v: 1),
        "The biases are too few. A projection adds one number to each feature of its result: how "
        "many features do all results have together?",
        also=(
            build(biases=lambda D, H, k, v: 3),
            build(biases=lambda D, H, k, v: H),
            build(biases=lambda D, H, k, v: 3 * H),
            build(biases=lambda D, H, k, v: 2 * k + v),
            build(biases=lambda D, H, k, v: k + v),
            build(biases=lambda D, H, k, v: 2 * H * k + v),
            build(biases=lambda D, H, k, v: H * k),
            build(biases=lambda D, H, k, v: H * v),
            build(biases=lambda D, H, k, v: 2 * H * k),
            build(biases=lambda D, H, k, v: H * (k + v)),
            build(biases=lambda D, H, k, v: k),
            build(biases=lambda D, H, k, v: v),
        ),
    ),
    mistake(
        "bias as wide as the input",
        build(biases=lambda D, H, k, v: 3 * D),
        "The biases have the width of what goes in. They are added to what comes out: how wide is "
        "that?",
        also=(
            build(biases=lambda D, H, k, v: D),
            build(biases=lambda D, H, k, v: 3 * D * H),
            build(biases=lambda D, H, k, v: D * H),
            build(biases=lambda D, H, k, v: 2 * D + v),
            build(biases=lambda D, H, k, v: 2 * D + H * v),
            build(biases=lambda D, H, k, v: H * (2 * D + v)),
        ),
    ),
    mistake(
        "bias ignored",
        build(biased=lambda bias: False),
        "Both settings of `bias` give the same count. What does a bias add to each projection?",
        also=(build(biased=lambda bias: True),),
    ),
    Misconception(
        "bias the wrong way round",
        build(biased=lambda bias: not bias),
        "With a bias there are fewer parameters than without. Which way round is the flag?",
    ),
    mistake(
        "bias subtracted",
        build(biases=lambda D, H, k, v: -H * (2 * k + v)),
        "With a bias there are fewer parameters than without. A bias is learned as well.",
    ),
    mistake(
        "a bias for each weight",
        build(biases=lambda D, H, k, v: D * H * (2 * k + v)),
        "The biases are as many as the weights. A bias is added once the products are summed: one "
        "for each column.",
    ),
)

WHAT = (
    mistake(
        "W_o counted too",
        build(more=lambda D, H, k, v: H * v * D),
        "More than the three projections was counted. The output matrix belongs to "
        "`mha_parameters`.",
        also=(
            build(more=lambda D, H, k, v: D * D),
            build(more=lambda D, H, k, v: H * k * D),
            build(more=lambda D, H, k, v: D * D + D),
            build(more=lambda D, H, k, v: H * v * D + D),
            build(columns=lambda D, H, k, v: 4 * D),
            build(columns=lambda D, H, k, v: 2 * H * (k + v)),
            build(columns=lambda D, H, k, v: 4 * H * k),
            build(more=lambda D, H, k, v: D),
        ),
    ),
    mistake(
        "operations instead of parameters",
        build(columns=lambda D, H, k, v: 2 * H * (2 * k + v)),
        "The count is twice too high, as for multiplications and additions. A number that is "
        "learned counts once.",
        also=(build(weights=lambda D, H, k, v: 2 * D * H * (2 * k + v)),),
    ),
    mistake(
        "bytes instead of parameters",
        build(finish=lambda total: 4 * total),
        "The count is a multiple of the parameters, as for bytes. How many numbers are there?",
        also=(build(finish=lambda total: 8 * total),),
    ),
    mistake(
        "a float",
        build(finish=float),
        "The count is a float, as `/` gives it. A count is a whole number: which division, or "
        "which order, keeps it one?",
        also=(
            build(finish=lambda total: total / 1e6),
            build(finish=lambda total: total / 1e3),
        ),
    ),
)
