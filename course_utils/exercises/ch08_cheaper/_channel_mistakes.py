"""What goes wrong when features attend to features."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch08_cheaper._channel_temperature_mistakes import TEMPERATURE
from course_utils.exercises.ch08_cheaper._channels import both, build, same, unit


def _tokens(query: Tensor, key: Tensor, value: Tensor, temperature: Any) -> Any:
    return (F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT * temperature).softmax(
        -1
    ) @ value


def _plain(query: Tensor, key: Tensor, value: Tensor, temperature: Any) -> Any:
    return (query @ key.mT * temperature).softmax(-1) @ value


NORMS = (
    Misconception(
        "softmax over tokens",
        _tokens,
        "The weights are L × L: tokens attend to tokens, as anywhere else. Here features attend to "
        "features, d × d: which axis is summed over in the product?",
        also=(
            _plain,
            lambda q, k, v, t: (unit(q) @ unit(k).mT * t).softmax(-1) @ v,
            lambda q, k, v, t: F.scaled_dot_product_attention(q, k, v),
        ),
    ),
    Misconception(
        "lengths over the features",
        both(lambda x: F.normalize(x, dim=-1)),
        "Each token was brought to length 1, as for cosines between tokens. What is compared here "
        "is a feature, all its tokens together: over which axis is its length?",
        also=(
            both(lambda x: F.normalize(x, dim=1)),
            both(lambda x: F.normalize(x, dim=0)),
            both(lambda x: F.normalize(x.flatten(-2), dim=-1).view(x.shape)),
        ),
    ),
    Misconception(
        "lengths kept",
        both(same),
        "Queries and keys were not brought to length 1, so the scores grow with the number of "
        "tokens. What keeps them between -1 and 1?",
        also=(
            build(of_query=same),
            build(of_key=same),
            build(
                of_query=same, of_key=same, sharpen=lambda s, t, q: s * t / math.sqrt(q.shape[-1])
            ),
            build(
                of_query=same, of_key=same, sharpen=lambda s, t, q: s * t / math.sqrt(q.shape[-2])
            ),
            build(of_query=same, of_key=same, sharpen=lambda s, t, q: s * t / q.shape[-2]),
        ),
    ),
    Misconception(
        "another norm",
        both(lambda x: F.normalize(x, p=1, dim=-2)),
        "The columns were divided by something else than their lengths. The length is the root of "
        "the sum of squares.",
        also=(
            both(lambda x: x / x.square().sum(-2, keepdim=True)),
            both(lambda x: x / x.amax(-2, keepdim=True)),
            both(lambda x: x / x.std(-2, keepdim=True)),
            both(lambda x: unit(x - x.mean(-2, keepdim=True))),
            both(lambda x: x.softmax(-2)),
            both(lambda x: (x - x.mean(-2, keepdim=True)) / x.std(-2, keepdim=True)),
            both(lambda x: unit(F.normalize(x, dim=-1))),
            both(lambda x: x / x.norm()),
            both(lambda x: x / x.square().mean(-2, keepdim=True).sqrt()),
        ),
    ),
    Misconception(
        "an epsilon in the length",
        both(lambda x: x / (x.norm(dim=-2, keepdim=True) + 1e-6)),
        "Something was added to the lengths. Short columns feel it: after the division, is their "
        "length 1?",
        also=(
            both(lambda x: x / (x.norm(dim=-2, keepdim=True) + 1e-5)),
            both(lambda x: x / (x.norm(dim=-2, keepdim=True) + 1e-3)),
            both(lambda x: x / (x.square().sum(-2, keepdim=True) + 1e-6).sqrt()),
            both(lambda x: x / (x.square().sum(-2, keepdim=True) + 1e-5).sqrt()),
        ),
    ),
    Misconception(
        "query and key exchanged",
        build(compare=lambda q, k: k.mT @ q),
        "The key's features ask and the query's answer. Whose features own a row of the weights?",
        also=(
            build(compare=lambda q, k: q.mT @ q),
            build(compare=lambda q, k: k.mT @ k),
        ),
    ),
)
WEIGHTS = (
    Misconception(
        "softmax over the query's features",
        build(turn=lambda s: s.softmax(-2)),
        "The columns of the weights sum to 1, not the rows. Feature i of the query shares 1 out "
        "among the key's features: which axis are those?",
        also=(
            build(turn=lambda s: s.softmax(1)),
            build(turn=lambda s: s.softmax(0)),
            build(turn=lambda s: s.flatten(-2).softmax(-1).view(s.shape)),
        ),
    ),
    Misconception(
        "no softmax",
        build(turn=same),
        "The scores themselves were used as weights. What turns a row of scores into shares?",
        also=(
            build(turn=torch.exp),
            build(turn=torch.sigmoid),
            build(turn=torch.relu),
            build(turn=lambda s: s / s.sum(-1, keepdim=True)),
            build(turn=lambda s: s.log_softmax(-1)),
        ),
    ),
    Misconception(
        "weights not transposed",
        build(take=lambda w, v, t: v @ w),
        "The values are mixed by the columns of the weights. Output feature i takes its shares "
        "from row i: over which index of the weights does the sum run?",
    ),
    Misconception(
        "the output turned",
        build(take=lambda w, v, t: w @ v.mT),
        "The output has its axes exchanged: features before tokens. Its shape is that of value.",
        also=(
            build(take=lambda w, v, t: (w @ v.mT).reshape(v.shape)),
            build(take=lambda w, v, t: w),
            build(take=lambda w, v, t: (v @ w.mT).transpose(1, 2)),
        ),
    ),
    Misconception(
        "the values brought to length 1",
        build(take=lambda w, v, t: unit(v) @ w.mT),
        "The values were brought to length 1 too. They are what is mixed, and only queries and "
        "keys are compared.",
        also=(
            build(take=lambda w, v, t: F.normalize(v, dim=-1) @ w.mT),
            build(take=lambda w, v, t: v @ w.mT + v),
        ),
    ),
)

MISCONCEPTIONS = (*NORMS, *TEMPERATURE, *WEIGHTS)
