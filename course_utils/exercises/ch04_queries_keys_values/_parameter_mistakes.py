"""What goes wrong when the parameters of the projections are counted."""

from collections.abc import Callable
from typing import Any

from course_utils.checking.exercise import Function
from course_utils.exercises.ch04_queries_keys_values._counts import counted
from course_utils.measure.parameters import qkv_parameters


def _columns(D: int, H: int, k: int, v: int) -> int:
    return H * (2 * k + v)


def build(
    columns: Callable[..., Any] = _columns,
    weights: Callable[..., Any] | None = None,
    biases: Callable[..., Any] | None = None,
    more: Callable[..., Any] = lambda D, H, k, v: 0,
    biased: Callable[[bool], Any] = bool,
    finish: Callable[[Any], Any] = lambda total: total,
) -> Function:
    """Return a count with some of its parts exchanged; each is given d_model, heads, d_k, d_v.

    Args:
        columns: How many columns the matrices have together.
        weights: How many numbers they hold; None is d_model for each column.
        biases: How many numbers the biases hold; None is one for each column.
        more: What is counted besides.
        biased: What is made of the flag.
        finish: What is made of the total.
    """

    def wrong(D: int, H: int, k: int, v: int, bias: bool) -> Any:
        sizes = (D, H, k, v)
        matrices = weights(*sizes) if weights else D * columns(*sizes)
        vectors = biases(*sizes) if biases else columns(*sizes)
        return finish(matrices + (vectors if biased(bias) else 0) + more(*sizes))

    return wrong


mistake = counted(qkv_parameters, (10, 3, 4, 7), int)

WIDTHS = (
    mistake(
        "d_k per head taken for the total",
        build(columns=lambda D, H, k, v: 2 * k + v),
        "The heads play no part: the widths were taken as those of all heads together. `d_k` and "
        "`d_v` are those of one head.",
        also=(
            build(columns=lambda D, H, k, v: 2 * k // H * H + v // H * H),
            build(columns=lambda D, H, k, v: 2 * (k // H) + v // H),
            build(columns=lambda D, H, k, v: H * (2 * (k // H) + v // H)),
            build(weights=lambda D, H, k, v: D * (2 * k + v)),
            build(columns=lambda D, H, k, v: 2 * k * H + v),
            build(columns=lambda D, H, k, v: 2 * k + v * H),
        ),
    ),
    mistake(
        "d_model for the width of all heads",
        build(columns=lambda D, H, k, v: 3 * D),
        "Each matrix was taken as square, d_model by d_model. That holds where heads · d_k is "
        "d_model; which sizes are given here?",
        also=(
            build(columns=lambda D, H, k, v: 3 * (D // H) * H),
            build(columns=lambda D, H, k, v: 3 * D * H),
            build(columns=lambda D, H, k, v: 3 * (D // H)),
            build(biases=lambda D, H, k, v: 3 * (D // H)),
            build(columns=lambda D, H, k, v: 3 * D // H),
            build(columns=lambda D, H, k, v: H * (2 * (D // H) + v)),
            build(columns=lambda D, H, k, v: 2 * D + H * v),
            build(columns=lambda D, H, k, v: 2 * D + v),
        ),
    ),
    mistake(
        "one width for all three",
        build(columns=lambda D, H, k, v: 3 * H * k),
        "Queries, keys and values were taken as equally wide. Which of the three has which width?",
        also=(
            build(columns=lambda D, H, k, v: 3 * H * v),
            build(columns=lambda D, H, k, v: H * (k + 2 * v)),
            build(columns=lambda D, H, k, v: 3 * k),
            build(columns=lambda D, H, k, v: 3 * v),
            build(columns=lambda D, H, k, v: k + 2 * v),
            build(biases=lambda D, H, k, v: 3 * H * k),
            build(biases=lambda D, H, k, v: 3 * k),
        ),
    ),
    mistake(
        "a projection forgotten",
        build(columns=lambda D, H, k, v: H * (k + v)),
        "Only two of the three projections were counted, or one. Queries, keys and values each "
        "have a matrix.",
        also=(
            build(columns=lambda D, H, k, v: 2 * H * k),
            build(columns=lambda D, H, k, v: 2 * H * v),
            build(columns=lambda D, H, k, v: H * k),
            build(columns=lambda D, H, k, v: H * v),
            build(columns=lambda D, H, k, v: k + v),
        ),
    ),
    mistake(
        "one key and value for all heads",
        build(columns=lambda D, H, k, v: H * k + k + v),
        "Only the queries have a matrix for each head here: such models exist, but these heads "
        "share nothing. How many key matrices are there?",
        also=(build(columns=lambda D, H, k, v: k + H * (k + v)),),
    ),
    mistake(
        "widths multiplied",
        build(columns=lambda D, H, k, v: H * k * k * v),
        "Widths were multiplied where matrices stand side by side. What do two matrices hold "
        "together?",
        also=(
            build(columns=lambda D, H, k, v: H * k * v),
            build(weights=lambda D, H, k, v: H * (2 * k * k + v * v)),
            build(weights=lambda D, H, k, v: (D * H * k) ** 2 * D * H * v),
            build(columns=lambda D, H, k, v: 2 * H * k * v),
            build(weights=lambda D, H, k, v: D * H * (k * k + v)),
        ),
    ),
    mistake(
        "sizes added where they multiply",
        build(weights=lambda D, H, k, v: H * (2 * (D + k) + (D + v))),
        "A matrix was counted as its rows plus its columns. How many numbers does a table of that "
        "shape hold?",
        also=(
            build(columns=lambda D, H, k, v: H + 2 * k + v),
            build(weights=lambda D, H, k, v: D + H * (2 * k + v)),
            build(weights=lambda D, H, k, v: 2 * (D + H * k) + D + H * v),
            build(weights=lambda D, H, k, v: 3 * (D + H * k)),
        ),
    ),
    mistake(
        "brackets forgotten",
        build(weights=lambda D, H, k, v: D * H * 2 * k + v),
        "A factor reaches only some of the terms: `a * b + c` is `(a * b) + c`. Which "
        "terms do d_model and the heads multiply?",
        also=(
            build(weights=lambda D, H, k, v: H * (D * 2 * k + v)),
            build(weights=lambda D, H, k, v: D * H * k + k + v),
            lambda D, H, k, v, bias: (D + bool(bias)) * H * 2 * k + v,
        ),
    ),
    mistake(
        "shared out among the heads",
        build(columns=lambda D, H, k, v: (2 * k + v) / H, finish=int),
        "Something was divided by the number of heads. `d_k` and `d_v` are those of one head "
        "already, and each head sees all of d_model.",
        also=(
            build(weights=lambda D, H, k, v: D // H * (2 * k + v)),
            build(weights=lambda D, H, k, v: D // H * H * (2 * k + v)),
            build(weights=lambda D, H, k, v: H * (D // H) * (2 * k + v) // H),
            lambda D, H, k, v, bias: (D + bool(bias)) * (2 * k + v) // H,
        ),
    ),
    mistake(
        "the heads counted twice",
        build(columns=lambda D, H, k, v: H * H * (2 * k + v)),
        "The number of heads enters twice. One head has three matrices; how many heads are there?",
        also=(
            build(biases=lambda D, H, k, v: H * H * (2 * k + v)),
            build(columns=lambda D, H, k, v: 3 * H * (2 * k + v)),
            build(weights=lambda D, H, k, v: H * H * D * (2 * k + v)),
        ),
    ),
)
