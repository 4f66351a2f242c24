"""What goes wrong with the length that positive random features take off."""

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch08_cheaper._features import build

LENGTHS = (
    Misconception(
        "the length not taken off",
        build(half=lambda x, w, given: 0.0),
        "|x'|²/2 is missing, so long vectors get features that are far too large. The mean of "
        "exp(w·x') over normal w is not 1: what is it?",
    ),
    Misconception(
        "half of the length wrong",
        build(half=lambda x, w, given: x.square().sum(-1, keepdim=True)),
        "Something else than half of the squared length was taken off. Is it halved once, squared, "
        "and summed over the features?",
        also=(
            build(half=lambda x, w, given: 0.5 * x.norm(dim=-1, keepdim=True)),
            build(half=lambda x, w, given: x.norm(dim=-1, keepdim=True)),
            build(half=lambda x, w, given: 0.5 * x.square().mean(-1, keepdim=True)),
            build(half=lambda x, w, given: 0.25 * x.square().sum(-1, keepdim=True)),
            build(half=lambda x, w, given: x.square().sum(-1, keepdim=True) / 2**0.5),
            build(half=lambda x, w, given: 2 * x.square().sum(-1, keepdim=True)),
            build(half=lambda x, w, given: 0.5 * x.sum(-1, keepdim=True)),
            build(half=lambda x, w, given: 0.5 * x.abs().sum(-1, keepdim=True)),
        ),
    ),
    Misconception(
        "the length of something else",
        build(half=lambda x, w, given: 0.5 * x.square().sum(-2, keepdim=True).mean(-1, True)),
        "What was taken off is not the length of each vector of its own. Each row of x has one: "
        "which axis is summed over?",
        also=(
            build(half=lambda x, w, given: 0.5 * w.square().sum(-1)),
            build(half=lambda x, w, given: 0.5 * x.square().sum()),
            build(half=lambda x, w, given: 0.5 * x.square().sum((-2, -1), keepdim=True)),
            build(
                half=lambda x, w, given: (
                    0.5 * x.square().sum(-1, keepdim=True) + 0.5 * w.square().sum(-1)
                )
            ),
            build(half=lambda x, w, given: 0.5 * (x @ w.mT).square()),
        ),
    ),
    Misconception(
        "the length added",
        build(half=lambda x, w, given: -0.5 * x.square().sum(-1, keepdim=True)),
        "The squared length was added, as sines and cosines need it. Here the mean of exp(w·x') is "
        "exp(|x'|²/2) too large: which sign mends it?",
    ),
)
