"""What goes wrong with the temperature of the soft lookup."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.attention import soft_lookup, stable_softmax
from course_utils.checking.exercise import Function, Misconception
from course_utils.exercises.ch03_scaled_dot_product._attention import scale_that_explains
from course_utils.exercises.ch04_queries_keys_values._lookup_steps import build


def _weights(query: Tensor, key: Tensor) -> Tensor:
    return stable_softmax(query @ key.mT)


def _powers(query: Tensor, key: Tensor, value: Tensor, temperature: float) -> Tensor:
    return _weights(query, key) ** (1 / temperature) @ value


def _hard_below(limit: float) -> Function:
    def wrong(query: Tensor, key: Tensor, value: Tensor, temperature: float) -> Tensor:
        if temperature > limit:
            return soft_lookup(query, key, value, temperature)
        return value[(query @ key.mT).argmax(-1)] + 0.0 * query.sum()

    return wrong


def _peak_undivided(query: Tensor, key: Tensor, value: Tensor, temperature: float) -> Tensor:
    scores = query @ key.mT
    powers = torch.exp(scores / temperature - scores.amax(-1, keepdim=True))
    return powers / powers.sum(-1, keepdim=True) @ value


def _hidden_nan(query: Tensor, key: Tensor, value: Tensor, temperature: float) -> Tensor:
    powers = (query @ key.mT / temperature).exp()
    return (powers / powers.sum(-1, keepdim=True)).nan_to_num() @ value


def _clamped(query: Tensor, key: Tensor, value: Tensor, temperature: float) -> Tensor:
    scores = (query @ key.mT / temperature).clamp(-50, 50)
    return stable_softmax(scores) @ value


def _added(query: Tensor, key: Tensor, value: Tensor, temperature: float) -> Tensor:
    return stable_softmax(query @ key.mT + temperature) @ value


def _values_cooled(query: Tensor, key: Tensor, value: Tensor, temperature: float) -> Tensor:
    return _weights(query, key) @ (value / temperature)


def _rooted(power: float) -> Callable[..., float]:
    return lambda query, key, value: float(query.shape[-1] ** power)


def _some_temperature(args: tuple[Any, ...], got: Tensor) -> bool:
    query, key, value, _ = args
    if len(key) < 2:
        return False
    scores = query @ key.mT
    return scale_that_explains(lambda scale: stable_softmax(scores * scale) @ value, got.detach())


TEMPERATURE = (
    Misconception(
        "temperature ignored",
        build(heat=lambda temperature: 1.0),
        "Whatever the temperature, the answer is the same. Where is the argument used?",
        also=(_added,),
    ),
    Misconception(
        "temperature multiplies",
        build(heat=lambda temperature: temperature),
        "A low temperature makes the choice softer here. Should cold scores move apart or "
        "together before the softmax?",
    ),
    Misconception(
        "scores raised to a power",
        lambda q, k, v, temperature: stable_softmax((q @ k.mT) ** (1 / temperature)) @ v,
        "The scores were raised to a power, which is NaN for a negative score. A quotient "
        "of exponents becomes a power only after `exp`.",
        also=(
            lambda q, k, v, temperature: stable_softmax((q @ k.mT) ** temperature) @ v,
            lambda q, k, v, temperature: stable_softmax((q @ k.mT).abs() ** (1 / temperature)) @ v,
        ),
    ),
    Misconception(
        "temperature after the softmax",
        build(turn=stable_softmax, scale_last=True),
        "The temperature acts on the weights, so they no longer sum to 1. At which step does it "
        "change how sharp the choice is?",
        also=(
            lambda q, k, v, temperature: _weights(q, k) @ v * temperature,
            lambda q, k, v, temperature: soft_lookup(q, k, v, temperature) * temperature,
            lambda q, k, v, temperature: soft_lookup(q, k, v, temperature) / temperature,
            _values_cooled,
        ),
    ),
    Misconception(
        "weights raised, not shared out again",
        _powers,
        "A softmax raised to the power 1/temperature no longer sums to 1. Divide by the new sum, "
        "or let the temperature act before the softmax.",
        also=(lambda q, k, v, temperature: _weights(q, k) ** temperature @ v,),
    ),
    Misconception(
        "scaled by √d too",
        build(factor=_rooted(-0.5)),
        "The scores are divided by √d besides. That scale is attention's; here the "
        "temperature alone says how soft the choice is.",
        also=(
            build(factor=_rooted(-0.5), heat=lambda temperature: 1.0),
            build(factor=_rooted(-0.5), heat=lambda temperature: temperature),
            build(factor=_rooted(-1.0)),
            build(factor=_rooted(-1.0), heat=lambda temperature: 1.0),
            build(factor=_rooted(0.5)),
            build(factor=_rooted(0.5), heat=lambda temperature: 1.0),
        ),
    ),
    Misconception(
        "a power of the temperature",
        build(heat=lambda temperature: temperature**-2),
        "The temperature acts twice, or only as its root. If query and key are both divided "
        "by it, by what is their product divided?",
        also=(
            build(heat=lambda temperature: temperature**-0.5),
            build(heat=lambda temperature: temperature**2),
            build(heat=lambda temperature: temperature**0.5),
        ),
    ),
    Misconception(
        "low temperatures held back",
        build(heat=lambda temperature: 1 / max(temperature, 0.1)),
        "Below some temperature the answer stays the same: it is held at a floor. A softmax that "
        "subtracts the row's maximum needs none.",
        also=(
            build(heat=lambda temperature: 1 / max(temperature, 1.0)),
            build(heat=lambda temperature: 1 / max(temperature, 0.05)),
            build(heat=lambda temperature: 1 / max(temperature, 0.02)),
            _clamped,
        ),
    ),
    Misconception(
        "high temperatures held back",
        build(heat=lambda temperature: 1 / min(temperature, 1.0)),
        "Above 1 the temperature no longer softens anything: it is held at a ceiling. What should "
        "a very high temperature give?",
    ),
    Misconception(
        "hard choice at low temperatures",
        _hard_below(0.05),
        "At a low temperature the best entry takes all, even where another comes close. It is a "
        "softmax at every temperature: what should two nearly equal keys share?",
        also=(_hard_below(0.01), _hard_below(0.1), _hard_below(1.0)),
    ),
    Misconception(
        "the maximum taken before the temperature",
        _peak_undivided,
        "Cold scores overflow though a maximum was subtracted: it is that of the scores before "
        "they were divided. The maximum of which numbers keeps every exponent at or below 0?",
    ),
    Misconception(
        "NaN replaced afterwards",
        _hidden_nan,
        "Where exponentials overflow, NaN was replaced by 0, so the best entry lost its weight. "
        "Which shift keeps the overflow from happening?",
    ),
    Misconception(
        "the values compared instead of the keys",
        build(score=lambda q, k, v: q @ v.mT),
        "The queries are compared with the values. An entry is found by its key; the value is what "
        "it holds.",
        also=(build(score=lambda q, k, v: q @ v.mT, take=lambda w, q, k, v: w @ k),),
    ),
    Misconception(
        "the temperature rounded",
        build(heat=lambda temperature: float(1 // temperature)),
        "The temperature, or a score, lost its digits on the way. Which division keeps fractions?",
        also=(
            build(heat=lambda temperature: 1 / max(int(temperature), 1)),
            build(heat=lambda temperature: 1 / max(round(temperature), 1)),
            lambda q, k, v, temperature: stable_softmax(q @ k.mT // temperature) @ v,
        ),
    ),
    Misconception(
        "another temperature than the given one",
        build(heat=lambda temperature: 1 / (temperature + 0.1)),
        "This is a soft lookup at another temperature than the one given. What else divides or "
        "multiplies the scores?",
        also=(build(heat=lambda temperature: math.exp(-temperature)),),
        fits=_some_temperature,
    ),
)
