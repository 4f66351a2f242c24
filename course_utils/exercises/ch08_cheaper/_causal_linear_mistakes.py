"""What goes wrong in causal linear attention."""

import torch

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch08_cheaper._causal_dear import ALL_WEIGHTS, EVERY_STATE
from course_utils.exercises.ch08_cheaper._causal_runs_mistakes import RUNS
from course_utils.exercises.ch08_cheaper._linear import Linear, phi, same
from course_utils.exercises.ch08_cheaper._linear_mistakes import feature_mistakes
from course_utils.exercises.ch08_cheaper._linear_total_mistakes import total_mistakes

LINEAR = Linear(torch.tril)
_build = LINEAR.build

ORDER = (
    Misconception(
        "numerator causal but denominator not",
        _build(bottom=same),
        "The values come from the past alone, but the sum below takes all keys, also those to "
        "come. Over which keys do the weights of query i sum to 1?",
    ),
    Misconception(
        "denominator causal but numerator not",
        _build(top=same),
        "The sum below takes the past alone, but the values of all keys are in the sum above. "
        "Which keys does query i see?",
    ),
    Misconception(
        "not causal",
        _build(top=same, bottom=same),
        "Every query sees all keys, the future too. What must the sums for query i leave out?",
    ),
    Misconception(
        "own key left out",
        _build(top=lambda w: w.tril(-1), bottom=lambda w: w.tril(-1)),
        "A query sees only what came before it, and the first one nothing, which is 0/0. Is the "
        "state read before or after the own key is added?",
        also=(
            _build(top=lambda w: w.tril(-1)),
            _build(bottom=lambda w: w.tril(-1)),
            _build(
                top=lambda w: w.tril(-1),
                bottom=lambda w: w.tril(-1),
                divide=lambda t, b, q, k: (t / b).nan_to_num(),
            ),
        ),
    ),
    Misconception(
        "one key of the future seen",
        _build(top=lambda w: w.tril(1), bottom=lambda w: w.tril(1)),
        "Each query sees the next key, the one to be predicted. Where does its past end?",
        also=(_build(top=lambda w: w.tril(1)), _build(bottom=lambda w: w.tril(1))),
    ),
    Misconception(
        "the future instead of the past",
        _build(top=torch.triu, bottom=torch.triu),
        "Each query sees itself and what comes after it. From which end is the sum built up?",
        also=(_build(top=torch.triu), _build(bottom=torch.triu)),
    ),
)
MISCONCEPTIONS = (
    *ORDER,
    *feature_mistakes(LINEAR),
    *total_mistakes(LINEAR),
    *RUNS,
    Misconception(
        "query and key exchanged",
        lambda query, key, value: _build()(key, query, value),
        "The keys ask and the queries answer. Which of the two is summed together with the values?",
        also=(
            lambda query, key, value: _build()(value, key, query),
            lambda query, key, value: _build()(query, value, key),
            lambda query, key, value: _build()(query, query, value),
            lambda query, key, value: _build()(key, key, value),
        ),
    ),
    Misconception(
        "summed over features instead of positions",
        _build(divide=lambda t, b, q, k: t / (phi(q) * phi(k).cumsum(-1)).sum(-1, keepdim=True)),
        "A running sum went along the features. It should go along the positions: which axis is "
        "that, counted from the end?",
        also=(
            _build(divide=lambda t, b, q, k: t / (phi(q) * phi(k).cumsum(0)).sum(-1, keepdim=True)),
        ),
    ),
    ALL_WEIGHTS,
    EVERY_STATE,
)
