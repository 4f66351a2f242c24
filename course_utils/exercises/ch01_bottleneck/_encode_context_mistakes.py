"""What goes wrong when the context is picked from the states."""

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch01_bottleneck._encode_wrong import (
    at_lengths,
    build,
    mean_of_real,
    plus_first,
    zeroed,
)

CONTEXT = (
    Misconception(
        "state at the last padded step",
        build(pick=lambda s, n: s[:, -1]),
        "The context was read after the padding, so it hangs on tokens that are not there. After "
        "which step has sequence b been read to its end?",
        also=(
            build(pick=lambda s, n: s[:, -1:]),
            build(pick=lambda s, n: s[-1]),
            build(pick=lambda s, n: s[:, -1].unsqueeze(0)),
        ),
    ),
    Misconception(
        "one step too far",
        build(pick=lambda s, n: at_lengths(s, n)),
        "The context is the state one step after the last real token. Steps count from 0: at which "
        "index does a sequence of length 1 end?",
        also=(
            build(pick=lambda s, n: at_lengths(s, n.clamp(max=s.shape[1] - 1))),
            build(pick=lambda s, n: at_lengths(plus_first(s), n + 1)),
        ),
    ),
    Misconception(
        "one step too early",
        build(pick=lambda s, n: at_lengths(s, n - 2)),
        "The context is the state before the last real token was read. At which index does a "
        "sequence of length 2 end?",
        also=(
            build(pick=lambda s, n: at_lengths(s, (n - 2).clamp(min=0))),
            build(pick=lambda s, n: at_lengths(plus_first(s), n - 1)),
        ),
    ),
    Misconception(
        "length counted from the end",
        build(pick=lambda s, n: at_lengths(s, -n)),
        "The length was used as an index from the end. Where does the padding lie, before the "
        "tokens or after them?",
        also=(
            build(pick=lambda s, n: at_lengths(s, s.shape[1] - n)),
            build(pick=lambda s, n: at_lengths(s, s.shape[1] - n - 1)),
            build(pick=lambda s, n: at_lengths(s, n // 2)),
        ),
    ),
    Misconception(
        "one length for the whole batch",
        build(pick=lambda s, n: s[:, int(n.max()) - 1]),
        "All sequences were read at the same step. Each has a length of its own: how does one "
        "pick another step for each row?",
        also=(
            build(pick=lambda s, n: s[:, int(n[0]) - 1]),
            build(pick=lambda s, n: s[:, int(n.min()) - 1]),
            build(pick=lambda s, n: s[:, int(n[-1]) - 1]),
            build(pick=lambda s, n: s[:, 0]),
        ),
    ),
    Misconception(
        "every length for every sequence",
        build(pick=lambda s, n: s[:, n - 1]),
        "`states[:, lengths - 1]` takes all of the steps from all of the sequences. What must "
        "stand in place of the colon, so that rows and steps are paired?",
        also=(
            build(pick=lambda s, n: s[:, n - 1].mean(1)),
            build(pick=lambda s, n: s[:, n - 1].sum(1)),
            build(pick=lambda s, n: s[:, n - 1].diagonal(dim1=0, dim2=1)),
        ),
    ),
    Misconception(
        "the lengths pick sequences",
        build(pick=lambda s, n: s[n - 1]),
        "The lengths were used as indices of the first axis, which holds the sequences. Which axis "
        "holds the steps?",
        also=(build(pick=lambda s, n: s[n - 1, -1]), build(pick=lambda s, n: s[n - 1, 0])),
    ),
    Misconception(
        "the contexts of the batch mixed",
        build(finish=lambda s, c: (s, c.mean(0))),
        "The contexts of all sequences were averaged or summed. How many sequences are there, and "
        "how many contexts?",
        also=(
            build(finish=lambda s, c: (s, c.sum(0))),
            build(finish=lambda s, c: (s, c.mean(0).expand_as(c))),
            build(finish=lambda s, c: (s, c[-1])),
        ),
    ),
    Misconception(
        "one feature instead of a state",
        build(pick=lambda s, n: s.gather(1, (n - 1)[:, None, None]).squeeze(1)),
        "Only one number of each state came back. `gather` takes as many as its index has entries: "
        "which axis must the index have been expanded along?",
        also=(build(pick=lambda s, n: s.gather(1, (n - 1)[:, None, None])),),
    ),
    Misconception(
        "one result alone",
        build(finish=lambda s, c: s),
        "One tensor came back. Attention needs all states, the fixed context only one of them: "
        "both are asked for.",
        also=(build(finish=lambda s, c: c),),
    ),
    Misconception(
        "mean of the states",
        build(pick=lambda s, n: s.mean(1)),
        "The context is an average or a sum over steps. It should be one state, the last that "
        "belongs to the sequence.",
        also=(
            build(pick=mean_of_real),
            build(pick=lambda s, n: s.sum(1)),
            build(pick=lambda s, n: s.amax(1)),
            build(pick=lambda s, n: s.max(1)),
            build(pick=lambda s, n: (s[:, 0] + s[:, -1]) / 2),
            build(pick=lambda s, n: s[:, 0] + s[:, -1]),
            build(pick=lambda s, n: (s[:, 0] + at_lengths(s, n - 1)) / 2),
            build(pick=lambda s, n: s.softmax(1).mul(s).sum(1)),
            build(pick=lambda s, n: zeroed(s, n).sum(1)),
            build(pick=lambda s, n: zeroed(s, n).mean(1)),
            build(pick=lambda s, n: zeroed(s, n).amax(1)),
        ),
    ),
    Misconception(
        "context first",
        build(finish=lambda s, c: (c, s)),
        "The two results come back in the other order. Which is asked for first?",
    ),
    Misconception(
        "the axis of the step left in",
        build(finish=lambda s, c: (s, c.unsqueeze(1))),
        "The context still has an axis for the step, of size 1. How many axes has one vector for "
        "each sequence?",
        also=(build(finish=lambda s, c: (s, c.unsqueeze(0))),),
    ),
)
