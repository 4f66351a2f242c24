"""What goes wrong when sequences are read: each mistake as something to run."""

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch01_bottleneck._encode_context_mistakes import CONTEXT
from course_utils.exercises.ch01_bottleneck._encode_wrong import (
    at_lengths,
    batch_first_lost,
    build,
    carried_over,
    cut_to_the_longest,
    detached,
    from_ones,
    frozen,
    over_the_batch,
    plus_first,
    random_start,
    reversed_time,
    sorted_by_length,
    step_with,
    without_memory,
    zeroed,
)

STATES = (
    Misconception(
        "random first state",
        build(start=random_start),
        "Two calls with the same inputs differ: the first state is drawn at random. With what "
        "does the recurrence start?",
        sign=lambda trace: trace.used_global_random,
    ),
    Misconception(
        "states zeroed in the padding",
        build(after=zeroed),
        "The states past each length are zeros. That hides the padding, as packed sequences do; "
        "here the recurrence simply goes on. Which result alone knows of the lengths?",
        also=(
            build(after=zeroed, pick=lambda s, n: s[:, -1]),
            build(after=zeroed, pick=lambda s, n: s.sum(1)),
            build(after=zeroed, pick=lambda s, n: s.mean(1)),
        ),
    ),
    Misconception(
        "states frozen in the padding",
        build(after=frozen),
        "The state stands still past each length. Here the recurrence runs over the padding too. "
        "Which result alone knows of the lengths?",
    ),
    Misconception(
        "padding inputs zeroed",
        build(before=zeroed),
        "The inputs past each length were replaced by zeros, so the states there are others. "
        "Take the padding as it comes: which result alone knows of the lengths?",
        also=(build(before=zeroed, pick=lambda s, n: s[:, -1]),),
    ),
    Misconception(
        "the first state is not zero",
        build(start=from_ones),
        "The recurrence starts from something else than zeros. What does the network remember "
        "before it has read anything?",
        also=(
            build(start=lambda x, b: b.expand(x.shape[0], -1)),
            build(start=lambda x, b: b.tanh().expand(x.shape[0], -1)),
            build(start=lambda x, b: x[:, 0]),
        ),
    ),
    Misconception(
        "the state before each step",
        build(collect="before"),
        "The list holds the state that went into each step, the first of them zero. Does the "
        "state at step t know the token at step t?",
        also=(
            build(collect="before", pick_from="after"),
            build(finish=lambda s, c: (plus_first(s), c)),
        ),
    ),
    Misconception(
        "the state is not carried on",
        without_memory,
        "Every step starts from the same state, so each knows its own token alone. What must the "
        "loop do with the state that a step gives?",
    ),
    Misconception(
        "the same input at every step",
        build(before=lambda x, n: x[:, :1].expand_as(x)),
        "Every step reads the same token. Which index of `x` changes from step to step?",
        also=(
            build(before=lambda x, n: x.mean(1, keepdim=True).expand_as(x)),
            build(before=lambda x, n: x[:, -1:].expand_as(x)),
        ),
    ),
    Misconception(
        "read backwards",
        reversed_time,
        "The sequences were read from the end to the beginning. Which token comes first?",
        also=(build(before=lambda x, n: x.flip(1)), build(finish=lambda s, c: (s.flip(1), c))),
    ),
    Misconception(
        "the state wanders from sequence to sequence",
        carried_over,
        "A sequence starts with what the one before it left behind. What does the state start "
        "from, for each of them?",
    ),
    Misconception(
        "stopped at the longest sequence",
        build(finish=lambda s, c: (s[:, :-1], c), after=lambda s, n: s),
        "There are fewer states than steps: the loop ended early. All S steps are run, padding "
        "included.",
        also=(cut_to_the_longest,),
    ),
    Misconception(
        "sequences in another order",
        sorted_by_length,
        "The sequences came back in the order of their lengths, as for packing. In which order "
        "were they given?",
    ),
    Misconception(
        "loop over the batch instead of the steps",
        over_the_batch,
        "The state wandered from one sequence to the next: the loop runs over the first axis. "
        "Which axis of `x` holds the steps?",
    ),
    Misconception(
        "steps before the batch",
        batch_first_lost,
        "The states have the steps first and the sequences second. Along which axis should the "
        "list of states be stacked?",
        also=(
            build(finish=lambda s, c: (s.transpose(0, 1), c)),
            build(finish=lambda s, c: (s.mT, c)),
        ),
    ),
    Misconception(
        "reshaped instead of stacked",
        build(finish=lambda s, c: (s.transpose(0, 1).reshape(s.shape), c)),
        "The numbers of different sequences are mixed: `view` and `reshape` cut memory anew. "
        "Which axis should the new one of `torch.stack` be?",
        also=(
            build(
                after=lambda s, n: s.transpose(0, 1).reshape(s.shape),
                pick=lambda s, n: at_lengths(s, n - 1),
            ),
        ),
    ),
    Misconception(
        "a wrong step inside",
        build(step=step_with(squash=lambda t: t)),
        "The loop may be right, but one step is not: compare it with `rnn_step`. Are tanh, the "
        "bias and both matrices in their places?",
        also=(
            build(step=step_with(bias=lambda t, b: t)),
            build(step=step_with(bias=lambda t, b: t + 2 * b)),
            build(step=step_with(inward=lambda a, m: a @ m.mT, onward=lambda a, m: a @ m.mT)),
            build(step=step_with(inward=lambda a, m: a @ m.mT)),
            build(step=step_with(onward=lambda a, m: a @ m.mT)),
            build(step=lambda x, h, W, U, b: (x @ U + h @ W + b).tanh()),
            build(step=lambda x, h, W, U, b: (x @ W + h @ U).tanh() + b),
            build(step=step_with(join=lambda new, old: old)),
            build(step=step_with(squash=lambda t: t.sigmoid())),
            build(step=step_with(squash=lambda t: t.relu())),
            build(step=step_with(finish=lambda out, x, h: out + h)),
            build(step=step_with(finish=lambda out, x, h: (out + h) / 2)),
            build(step=step_with(join=lambda new, old: new * old)),
            build(step=step_with(bias=lambda t, b: t - b)),
            build(step=step_with(onward=lambda h, m: h)),
        ),
    ),
    Misconception(
        "each step cut off from the one before",
        detached,
        "The values are right, but the gradient stops after one step: nothing could be learned "
        "about earlier tokens. What cuts the thread between two states?",
    ),
)

MISCONCEPTIONS = (*CONTEXT, *STATES)
