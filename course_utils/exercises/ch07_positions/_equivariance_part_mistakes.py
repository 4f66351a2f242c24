"""Tests of equivariance that look at a part of the output: each mistake as something to run."""

from collections.abc import Callable

from torch import Tensor

from course_utils.exercises.ch07_positions._equivariance_wrong import build, close, of, reduced


def _by_sequence(layer: Callable[[Tensor], Tensor], x: Tensor, permutation: Tensor) -> bool:
    return all(build()(layer, x[i : i + 1], permutation) for i in range(len(x)))


PART = (
    of(
        "only the first sequence",
        "A layer may treat the first sequence of the batch well and another not.",
        build(same=lambda a, b: close(a[0], b[0])),
        build(batch=lambda x: x[:1]),
        lambda layer, x, p: close(layer(x[:1, p]), layer(x)[:1, p]),
    ),
    of(
        "one sequence at a time",
        "The layer is called with single sequences; then it cannot show what it does to the "
        "second of a batch.",
        _by_sequence,
    ),
    of(
        "only the first token",
        "Only the first place of the sequence is compared. What if the layer changes another one?",
        reduced(lambda out: out[:, 0]),
    ),
    of(
        "only the last token",
        "Only the last place of the sequence is compared. What if the layer changes another one?",
        reduced(lambda out: out[:, -1]),
    ),
    of(
        "only the first feature",
        "Only the first feature of each token is compared. What if the layer changes another one?",
        reduced(lambda out: out[..., 0]),
    ),
    of(
        "the batch averaged",
        "The sequences were averaged before they were compared. What if one is raised and "
        "another lowered?",
        reduced(lambda out: out.mean(0)),
        reduced(lambda out: out.sum(0)),
    ),
)
