"""What goes wrong on the way from weights to the context, and in what is returned."""

import torch

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch02_additive_multiplicative._attend_wrong import build, two_tables

AVERAGE = (
    Misconception(
        "weights first",
        build(finish=lambda context, weights: (weights, context)),
        "The two results come back in the other order. Which is asked for first?",
    ),
    Misconception(
        "scores returned instead of weights",
        lambda scores, value, key_mask: (build()(scores, value, key_mask)[0], scores),
        "The second result does not sum to 1: these are scores. What is made of them, and should "
        "come back?",
        also=(
            lambda s, v, m: (build()(s, v, m)[0], s.masked_fill(~m.unsqueeze(1), -torch.inf)),
            lambda s, v, m: (build()(s, v, m)[0], s.masked_fill(~m.unsqueeze(1), -1e9)),
        ),
    ),
    Misconception(
        "one of the two returned twice",
        build(finish=lambda context, weights: (context, context)),
        "The same tensor came back twice. Which two are asked for?",
        also=(build(finish=lambda context, weights: (weights, weights)),),
    ),
    Misconception(
        "context from other weights than are returned",
        two_tables,
        "The weights that come back are right, but the context was made with those before the "
        "mask. Which come into the product?",
    ),
    Misconception(
        "the context alone",
        build(finish=lambda context, weights: context),
        "One tensor came back. The weights are asked for too: they are what one looks at.",
        also=(build(finish=lambda context, weights: weights),),
    ),
    Misconception(
        "the gradient cut off",
        build(turn=lambda s: stable_softmax(s.detach())),
        "The values are right, but the gradient is cut somewhere between scores, weights and "
        "context: attention would not learn where to look. What cuts the thread?",
        also=(
            build(turn=lambda s: stable_softmax(s).detach()),
            build(average=lambda w, v: w.detach() @ v),
            build(finish=lambda c, w: (c, w.detach())),
            build(prepare=lambda v, m: v.detach()),
        ),
    ),
    Misconception(
        "the weights not used",
        build(average=lambda w, v: v.mean(1, keepdim=True).expand(-1, w.shape[1], -1)),
        "Every query gets the same plain mean or sum of the values. Where do the weights come in?",
        also=(
            build(average=lambda w, v: v.sum(1, keepdim=True).expand(-1, w.shape[1], -1)),
            build(average=lambda w, v: v),
        ),
    ),
    Misconception(
        "weights transposed",
        build(average=lambda w, v: w.mT @ v),
        "The product runs over the queries. Which axis do weights and values share?",
        also=(
            build(finish=lambda c, w: (c, w.mT)),
            build(average=lambda w, v: w.mT @ v, finish=lambda c, w: (c, w.mT)),
        ),
    ),
    Misconception(
        "values weighed feature by feature",
        build(average=lambda w, v: w * v),
        "The weights multiplied the values entry by entry. Which product sums over the keys?",
        also=(
            build(average=lambda w, v: (w.unsqueeze(-1) * v.unsqueeze(1)).sum(-1)),
            build(average=lambda w, v: w.unsqueeze(-1) * v.unsqueeze(1)),
            build(average=lambda w, v: (w.unsqueeze(-1) * v.unsqueeze(1)).sum(1)),
            build(average=lambda w, v: w @ v.mT),
        ),
    ),
    Misconception(
        "the context summed over the queries",
        build(average=lambda w, v: (w @ v).sum(1)),
        "The queries were added up or averaged. Each query has a context of its own.",
        also=(
            build(average=lambda w, v: (w @ v).mean(1)),
            build(average=lambda w, v: (w @ v)[:, -1]),
        ),
    ),
    Misconception(
        "the values changed first",
        build(prepare=lambda v, m: v.softmax(-1)),
        "Something was applied to the values. They are averaged as they are.",
        also=(build(prepare=lambda v, m: v.tanh()), build(prepare=lambda v, m: v.relu())),
    ),
    Misconception(
        "the same weights for every query",
        build(after=lambda w, m: w.mean(1, keepdim=True).expand_as(w)),
        "All queries have the same weights: they were averaged, or one stands for all.",
        also=(
            build(after=lambda w, m: w[:, :1].expand_as(w)),
            build(after=lambda w, m: w[:, -1:].expand_as(w)),
        ),
    ),
    Misconception(
        "averaged over the batch",
        build(average=lambda w, v: w.mean(0) @ v),
        "Sequences of the batch were mixed. A query takes only from its own sequence.",
        also=(
            build(average=lambda w, v: w @ v[:1]),
            build(average=lambda w, v: w @ v.mean(0)),
            build(average=lambda w, v: torch.einsum("bls,csd->bld", w, v)),
            build(average=lambda w, v: (w @ v).mean(0)),
        ),
    ),
    Misconception(
        "divided by the number of keys",
        build(average=lambda w, v: w @ v / v.shape[1]),
        "The context is an average divided once more. What do the weights of a row already sum to?",
        also=(build(finish=lambda c, w: (c / w.gt(0).sum(-1, keepdim=True).clamp(min=1), w)),),
    ),
    Misconception(
        "the scores used as values",
        lambda scores, value, key_mask: build()(scores, scores.mT, key_mask),
        "The weights average something else than the values. What does a key hand over?",
    ),
    Misconception(
        "squeeze takes too many axes",
        build(finish=lambda c, w: (c.squeeze(), w.squeeze())),
        "With one query, one key or one sequence, an axis is lost: `squeeze()` without a number "
        "removes every axis of size 1. Which one did you mean?",
        also=(
            build(finish=lambda c, w: (c.squeeze(1), w.squeeze(1))),
            build(finish=lambda c, w: (c.squeeze(1), w)),
            build(finish=lambda c, w: (c.squeeze(), w)),
            build(finish=lambda c, w: (c.squeeze(-1), w)),
        ),
    ),
)
