"""What goes wrong with the features of linear attention, with and without a causal order."""

import math

import torch
from torch.nn import functional as F

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch08_cheaper._linear import Linear, phi, same


def feature_mistakes(linear: Linear) -> tuple[Misconception, ...]:
    """Return the mistakes with the features."""
    features, build = linear.features, linear.build
    return (
        Misconception(
            "softmax kept",
            linear.softmax(lambda q: q.shape[-1] ** -0.5),
            "This is softmax attention. exp(q·k) does not come apart into a part of the query and "
            "a part of the key: what stands in its place here?",
            also=(linear.softmax(lambda q: 1.0),),
        ),
        Misconception(
            "the + 1 missing",
            features(F.elu),
            "The features can be negative, so the weights can be too, and their sum can vanish. "
            "elu never goes below -1: what makes a feature of it?",
            also=(build(of_query=F.elu), build(of_key=F.elu)),
        ),
        Misconception(
            "no features",
            features(same),
            "Queries and keys are used as they are. q·k can be negative, a weight cannot: what is "
            "applied to each of them first?",
            also=(
                build(of_query=same, of_key=same, divide=lambda t, b, q, k: t),
                build(
                    of_query=same, of_key=same, divide=lambda t, b, q, k: t / math.sqrt(q.shape[-1])
                ),
            ),
        ),
        Misconception(
            "features of one side only",
            build(of_key=same),
            "Only queries or only keys went through φ. A weight is φ(q)·φ(k): which factor is "
            "still raw?",
            also=(build(of_query=same),),
        ),
        Misconception(
            "other features",
            features(F.relu),
            "The features come from another function than elu(x) + 1. What is that for x = -1, "
            "for 0 and for 2?",
            also=(
                features(lambda x: F.relu(x) + 1),
                features(torch.exp),
                features(torch.sigmoid),
                features(F.softplus),
                features(lambda x: F.elu(x + 1)),
                features(lambda x: F.elu(x) + 2),
                features(lambda x: F.leaky_relu(x) + 1),
                features(lambda x: F.selu(x) + 1),
                features(lambda x: F.gelu(x) + 1),
                features(lambda x: F.silu(x) + 1),
                features(lambda x: F.celu(x, 2.0) + 1),
                features(lambda x: x.tanh() + 1),
                features(lambda x: x.square()),
                features(lambda x: x.abs()),
                features(lambda x: F.relu(x) + 1e-6),
                features(lambda x: (F.elu(x) + 1).square()),
                features(lambda x: F.elu(F.elu(x) + 1) + 1),
            ),
        ),
        Misconception(
            "softmax as features",
            build(of_query=lambda x: x.softmax(-1), of_key=lambda x: x.softmax(-2)),
            "A softmax was taken of queries or keys one by one. That is another efficient "
            "attention: here the features are elu(x) + 1.",
            also=(
                features(lambda x: x.softmax(-1)),
                build(
                    of_query=lambda x: x.softmax(-1),
                    of_key=lambda x: x.softmax(-2),
                    divide=lambda t, b, q, k: t,
                ),
                features(lambda x: phi(x).softmax(-1)),
            ),
        ),
        Misconception(
            "scaled",
            build(of_query=lambda x: phi(x / math.sqrt(x.shape[-1]))),
            "Queries or keys are divided by a root of d_k before φ. Which scale does the exercise "
            "ask for?",
            also=(
                features(lambda x: phi(x / math.sqrt(x.shape[-1]))),
                features(lambda x: phi(x * x.shape[-1] ** -0.25)),
                build(of_key=lambda x: phi(x / math.sqrt(x.shape[-1]))),
            ),
        ),
        Misconception(
            "features of length 1",
            features(lambda x: F.normalize(phi(x), dim=-1)),
            "Queries or keys were brought to length 1. The lengths take part in the weights: what "
            "asks for that step?",
            also=(
                features(lambda x: phi(F.normalize(x, dim=-1))),
                build(of_key=lambda x: F.normalize(phi(x), dim=-1)),
            ),
        ),
        Misconception(
            "values through φ",
            build(of_value=phi),
            "The values went through φ too. They are what is averaged: who compares them with "
            "anything?",
        ),
    )
