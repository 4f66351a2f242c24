"""What goes wrong with what the weights are applied to. `make` is as in `_score_mistakes`."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Function, Misconception


def _all_together(weights: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    rows = (*weights.shape[:-1], value.shape[-1])
    return value.sum(-2, keepdim=True).expand(rows)


def _plain_mean(weights: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return _all_together(weights, query, key, value) / value.shape[-2]


def _keys_meet_values(weights: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return query @ (key.mT @ value)


def value_mistakes(make: Callable[..., Function]) -> tuple[Misconception, ...]:
    """Return the mistakes with what the weights are applied to."""

    def taking(take: Callable[..., Any]) -> Function:
        return make(take=take)

    return (
        Misconception(
            "the values not used",
            taking(lambda w, q, k, v: w),
            "These are the weights. What do they weigh?",
        ),
        Misconception(
            "keys averaged instead of values",
            taking(lambda w, q, k, v: w @ k),
            "The weights average the keys. A key says where to look; what says what is found "
            "there?",
            also=(taking(lambda w, q, k, v: w @ q),),
        ),
        Misconception(
            "the weights not used",
            taking(_plain_mean),
            "Every query gets the same plain mean of the values. Where do the weights come in?",
            also=(taking(_all_together),),
        ),
        Misconception(
            "weights transposed",
            taking(lambda w, q, k, v: w.mT @ v),
            "The values are added up along the wrong axis of the weights: each column was taken "
            "for a query. Which axis of the weights meets the keys of the values?",
        ),
        Misconception(
            "values transposed",
            taking(lambda w, q, k, v: w @ v.mT),
            "Features were averaged where values should be. Which axis of the values has one entry "
            "for each weight of a row?",
            also=(
                taking(lambda w, q, k, v: v @ w),
                taking(lambda w, q, k, v: (w @ v).mT),
            ),
        ),
        Misconception(
            "something added to the average",
            taking(lambda w, q, k, v: w @ v + v),
            "The output is more than an average of the values: something else was added to it. A "
            "residual connection stands around attention, not inside.",
            also=(taking(lambda w, q, k, v: w @ v + q), taking(lambda w, q, k, v: w @ v + k)),
        ),
        Misconception(
            "the values changed",
            taking(lambda w, q, k, v: w @ v.softmax(-1)),
            "The weights average something else than the values as they are: they were bent, "
            "centred or put in another order first.",
            also=(
                taking(lambda w, q, k, v: w @ v.relu()),
                taking(lambda w, q, k, v: w @ v.tanh()),
                taking(lambda w, q, k, v: w @ (v - v.mean(-2, keepdim=True))),
                taking(lambda w, q, k, v: w @ torch.nn.functional.normalize(v, dim=-1)),
                taking(lambda w, q, k, v: w @ torch.nn.functional.layer_norm(v, v.shape[-1:])),
                taking(lambda w, q, k, v: w @ v.flip(-2)),
                taking(lambda w, q, k, v: w @ v.roll(1, -2)),
            ),
        ),
        Misconception(
            "weighted values not summed over the keys",
            taking(lambda w, q, k, v: w.unsqueeze(-1) * v.unsqueeze(-3)),
            "Every value has its weight, but then they were not added over the keys, or over "
            "another axis. The products are (L, S, d_v): which axis goes?",
            also=(
                taking(lambda w, q, k, v: (w.unsqueeze(-1) * v.unsqueeze(-3)).sum(-3)),
                taking(lambda w, q, k, v: (w.unsqueeze(-1) * v.unsqueeze(-3)).sum(-1)),
                taking(lambda w, q, k, v: (w.unsqueeze(-1) * v.unsqueeze(-3)).amax(-2)),
            ),
        ),
        Misconception(
            "divided by the number of keys",
            taking(lambda w, q, k, v: w @ v / k.shape[-2]),
            "The output is an average divided once more. What do the weights of a row already sum "
            "to?",
        ),
        Misconception(
            "no table of weights",
            taking(_keys_meet_values),
            "The product of keys and values was taken first, without a softmax between query and "
            "value. Where do the shares of the keys come from?",
            also=(
                taking(lambda w, q, k, v: q.softmax(-1) @ (k.mT @ v)),
                taking(lambda w, q, k, v: q.softmax(-1) @ (k.softmax(-2).mT @ v)),
            ),
        ),
        Misconception(
            "weights times values entry by entry",
            taking(lambda w, q, k, v: w * v),
            "Each weight met one entry of one value. A weight multiplies a whole value, and the "
            "products are added: which product of (L, S) and (S, d_v) does that?",
        ),
        Misconception(
            "random numbers inside",
            make(turn=lambda s: torch.dropout(stable_softmax(s), 0.1, True)),
            "Two calls with the same inputs differ: something random, such as dropout, happens "
            "inside. Do the weights still sum to 1 after it?",
            sign=lambda trace: trace.used_global_random,
            forbidden=False,
        ),
    )
