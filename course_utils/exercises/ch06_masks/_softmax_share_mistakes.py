"""What goes wrong in a masked softmax with the softmax itself and with the dtype."""

import math

import torch

from course_utils.attention import stable_softmax
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch06_masks._masked_softmaxes import (
    INF,
    add,
    build,
    fill,
    hide,
    masked,
    one_hot,
    over_columns,
    over_pairs,
    plain,
)

SHARES = (
    Misconception(
        "softmax over the wrong axis",
        build(turn=over_columns(stable_softmax)),
        "The columns sum to 1, not the rows. Over which axis does one query divide its attention?",
        also=(
            build(turn=over_columns(plain)),
            build(turn=lambda s: torch.softmax(s, 0)),
            build(turn=lambda s: torch.softmax(s, 1)),
            build(hide=fill(-1e9), turn=over_columns(plain)),
            build(turn=lambda s: torch.softmax(s, 0).nan_to_num()),
            build(turn=lambda s: torch.softmax(s, 1).nan_to_num()),
            build(turn=lambda s: torch.softmax(s, 2).nan_to_num()),
        ),
    ),
    Misconception(
        "hidden scores raised",
        build(hide=fill(INF), turn=plain),
        "A large number was put in the place of hidden scores, and it has no minus: they win. "
        "Towards which end must a score go for its weight to be 0?",
        also=(build(hide=fill(1e9), turn=plain), build(hide=add(INF), turn=plain)),
    ),
    Misconception(
        "logarithm of the sum rounded",
        lambda scores, attn_mask: (
            (scores - hide(scores, attn_mask).logsumexp(-1, keepdim=True))
            .exp()
            .masked_fill(~attn_mask, 0.0)
        ),
        "It is right until the scores are large: next to a score of ten thousand, half precision "
        "cannot hold the logarithm of a sum. What can be taken from the scores that it holds "
        "exactly?",
    ),
    Misconception(
        "one softmax over everything",
        build(turn=over_pairs),
        "All entries of a table together sum to 1. Each row should: what must the sum run over?",
    ),
    Misconception(
        "the scores returned",
        hide,
        "These are the scores with the hidden ones taken out. What turns a row of numbers into "
        "shares of a whole?",
        also=(fill(-1e9), fill(0.0)),
    ),
    Misconception(
        "logarithm of the weights",
        build(turn=lambda s: torch.log_softmax(s, -1)),
        "These are logarithms of weights: they are negative. What is still to be done?",
        also=(
            build(
                hide=lambda s, m: hide(s, m).masked_fill(~m.any(-1, True), 0.0),
                turn=lambda s: torch.log_softmax(s, -1),
                after=masked,
            ),
        ),
    ),
    Misconception(
        "all weight on the largest score",
        build(turn=one_hot),
        "The largest visible score takes everything. A softmax is soft: how much should the second "
        "largest get?",
    ),
    Misconception(
        "sigmoid instead of softmax",
        build(turn=torch.sigmoid),
        "Each score is squashed on its own, so the row does not share 1 out. What must one "
        "weight know of the other scores?",
    ),
    Misconception(
        "scores scaled first",
        build(turn=lambda s: stable_softmax(s / math.sqrt(s.shape[-1]))),
        "The weights are those of other scores. A softmax takes its scores as they are: what "
        "was divided before exp?",
        also=(build(turn=lambda s: stable_softmax(s / s.shape[-1])),),
    ),
    Misconception(
        "another dtype than the scores'",
        build(turn=lambda s: stable_softmax(s.float())),
        "The weights come back in another dtype than the scores. Computing in float32 is fine, "
        "and wise in half precision. What is the last step then?",
        also=(
            build(turn=lambda s: stable_softmax(s.float() if s.dtype.itemsize < 4 else s)),
            build(turn=lambda s: stable_softmax(s.double())),
            build(turn=lambda s: torch.softmax(s, -1, dtype=torch.float32), after=masked),
            build(hide=lambda s, m: s + torch.where(m, 0.0, -INF).double(), turn=stable_softmax),
        ),
    ),
    Misconception(
        "random numbers inside",
        build(turn=lambda s: torch.dropout(stable_softmax(s), 0.1, True)),
        "Two calls with the same scores differ: something random, such as dropout, happens inside. "
        "Do the rows still sum to 1 after it?",
        sign=lambda trace: trace.used_global_random,
        forbidden=False,
    ),
)
