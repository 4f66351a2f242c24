"""Attentions that a leak test has to clear."""

import torch

from course_utils.attention import window_mask
from course_utils.exercises.ch06_masks._leak_case import case

FALSE_ALARM = "No output of this attention depends on a later position, and the test says True. "

CAUSAL = (
    case(
        "causal attention",
        (6, 4, 5),
        lambda layer: layer.masked(layer.causal()),
        FALSE_ALARM + "Which inputs did you change, and which outputs did you look at?",
    ),
    case(
        "each output a mean of what stands before it",
        (6, 5, 4),
        lambda layer: lambda x: torch.nn.functional.pad(layer.mean(x), (0, 0, 1, 0))[:, :-1],
        FALSE_ALARM + "No output depends on its own position, and the first one on nothing.",
    ),
    case(
        "a causal window of 2",
        (8, 3, 4),
        lambda layer: layer.masked(window_mask(layer.n, layer.n, 2)),
        FALSE_ALARM + "Each query sees itself and the position before.",
    ),
    case(
        "each position for itself",
        (5, 4, 3),
        lambda layer: lambda x: x[..., :3],
        FALSE_ALARM + "Each output is made of its own position alone.",
    ),
    case(
        "the mean of the past",
        (6, 3, 5),
        lambda layer: layer.mean,
        FALSE_ALARM + "It is a running mean and knows no softmax.",
    ),
    case(
        "the mean of the past, by numpy",
        (5, 3, 4),
        lambda layer: lambda x: torch.from_numpy(layer.mean(x.detach()).numpy()),
        FALSE_ALARM + "It computes outside torch, so no gradient can be taken.",
    ),
    case(
        "the best visible key alone",
        (6, 4, 3),
        lambda layer: layer.hardest(layer.causal()),
        FALSE_ALARM + "It chooses one key of the past and has no useful gradient.",
    ),
    case(
        "outputs in the millions",
        (6, 4, 5),
        lambda layer: lambda x: 1e6 * layer.masked(layer.causal())(x),
        FALSE_ALARM + "Its outputs are large, and the same for the same past.",
    ),
    case(
        "one position has no future",
        (1, 4, 3),
        lambda layer: layer.masked(layer.causal(1)),
        FALSE_ALARM + "There is one position, and nothing later.",
    ),
    case(
        "two positions, causal",
        (2, 4, 3),
        lambda layer: layer.masked(layer.causal()),
        FALSE_ALARM + "There are two positions, and the first output depends on the first alone.",
    ),
)
