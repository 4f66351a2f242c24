"""What goes wrong in attention over real keys: each mistake as something to run."""

from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch02_additive_multiplicative._attend_average_mistakes import AVERAGE
from course_utils.exercises.ch02_additive_multiplicative._attend_softmax_mistakes import SOFTMAX
from course_utils.exercises.ch02_additive_multiplicative._attend_wrong import (
    INF,
    build,
    by_length,
    divided,
    divided_safely,
    divided_with,
    fill,
    hide,
    masked,
    nothing,
    real_rows,
    torch_softmax,
)

MASK = (
    Misconception(
        "mask ignored",
        build(hide=nothing),
        "Padding gets its share like a real token. Where is `key_mask` used?",
        also=(
            build(hide=nothing, prepare=lambda v, m: v * m.unsqueeze(-1)),
            build(hide=nothing, turn=torch_softmax),
        ),
    ),
    Misconception(
        "mask inverted",
        build(hide=lambda s, m: hide(s, ~m)),
        "The padding is attended to and the real tokens are hidden. What does True mean in "
        "`key_mask`, and what does True mean to `masked_fill`?",
        also=(
            build(hide=lambda s, m: hide(s, ~m), turn=torch_softmax),
            build(hide=lambda s, m: fill(-1e9)(s, ~m)),
            build(hide=nothing, after=lambda w, m: masked(w, ~m)),
        ),
    ),
    Misconception(
        "mask after the softmax",
        build(hide=nothing, after=masked),
        "The padding's weights were set to 0 after the softmax, so the others no longer sum to 1. "
        "When must a key be taken out so that the rest share 1?",
    ),
    Misconception(
        "masked afterwards and divided again",
        build(hide=nothing, after=divided),
        "Weights were masked and then divided by what was left. If the padding has by far the best "
        "scores, what is left?",
        also=(
            build(hide=nothing, after=divided_safely),
            *(
                build(hide=nothing, after=divided_with(epsilon))
                for epsilon in (1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5)
            ),
        ),
    ),
    Misconception(
        "epsilon in the denominator",
        build(after=lambda w, m: w / (w.sum(-1, keepdim=True) + 1e-6)),
        "The rows sum to a little less than 1, since something small is added to every "
        "denominator. Which rows need help, and which are safe as they are?",
        also=(
            build(after=divided_with(1e-3)),
            build(after=divided_with(1e-4)),
            build(after=divided_with(1e-5)),
            build(hide=fill(-1e9), after=divided_with(1e-6)),
        ),
    ),
    Misconception(
        "scores multiplied by the mask",
        build(hide=lambda s, m: s * m.unsqueeze(1)),
        "Hidden scores became 0 or another small number, and exp(0) is 1: they still get a share. "
        "Which score gets none?",
        also=(
            build(hide=lambda s, m: s * m.unsqueeze(1), after=masked),
            *(
                build(hide=fill(number), after=after)
                for number in (0.0, -1.0, 1e-9, -1e-9)
                for after in (nothing, masked, real_rows)
            ),
        ),
    ),
    Misconception(
        "mask added as 0 and 1",
        build(hide=lambda s, m: s + m.unsqueeze(1)),
        "True was added to the scores as 1 and False as 0: that hides nothing. How far down must "
        "a score go for its weight to be 0?",
        also=(
            build(hide=lambda s, m: s - (~m).to(s.dtype).unsqueeze(1)),
            build(hide=lambda s, m: s + (~m).to(s.dtype).unsqueeze(1)),
        ),
    ),
    Misconception(
        "fill that is not low enough",
        build(hide=fill(-1e4)),
        "Padding won, because the real scores were lower still than the number that was filled in. "
        "Which number is lower than every score?",
        also=(
            *(
                build(hide=fill(number), after=after)
                for number in (-10.0, -100.0, -1e3, -1e4)
                for after in (nothing, masked, real_rows)
            ),
            build(
                hide=fill(-1e4), turn=torch_softmax, after=lambda w, m: w * m.any(-1)[:, None, None]
            ),
            build(hide=lambda s, m: s + (~m).to(s.dtype).unsqueeze(1) * -1e4),
            build(hide=lambda s, m: s + (~m).to(s.dtype).unsqueeze(1) * -1e3),
            build(hide=lambda s, m: s.masked_fill(~m.unsqueeze(1), s.detach().min().item() - 1)),
        ),
    ),
    Misconception(
        "NaN on an empty row",
        build(turn=torch_softmax),
        "A sequence without any real key got NaN: its maximum is -inf, and -inf - (-inf) is no "
        "number. What should it get?",
        also=(
            build(
                turn=torch_softmax,
                hide=lambda s, m: s + s.new_zeros(s.shape).masked_fill(~m.unsqueeze(1), -INF),
            ),
            build(turn=torch_softmax, finish=lambda c, w: (c.nan_to_num(), w)),
            build(turn=torch_softmax, finish=lambda c, w: (c, w.nan_to_num())),
        ),
    ),
    Misconception(
        "uniform on an empty row",
        build(hide=fill(-1e9)),
        "A sequence without any real key got the mean of its padding: all its scores are equally "
        "low. What should it get?",
        also=(
            build(hide=lambda s, m: s + (~m).to(s.dtype).unsqueeze(1) * -1e9),
            build(turn=torch_softmax, after=lambda w, m: w.nan_to_num(nan=1.0 / w.shape[-1])),
            build(hide=fill(-1e9), prepare=lambda v, m: v * m.unsqueeze(-1)),
        ),
    ),
    Misconception(
        "NaN repaired too late",
        build(
            hide=lambda s, m: s + s.new_zeros(s.shape).masked_fill(~m.unsqueeze(1), -INF),
            turn=lambda s: torch_softmax(s).nan_to_num(),
        ),
        "The values are right, but the gradient of a sequence without real keys is NaN: it was "
        "made on the way and replaced only afterwards. Can it be avoided instead?",
    ),
    Misconception(
        "queries masked instead of keys",
        build(hide=lambda s, m: s.masked_fill(~m.unsqueeze(-1), -INF)),
        "Whole rows were hidden, not single keys. The mask knows of keys: on which side does it "
        "need a new axis?",
        also=(
            build(hide=lambda s, m: s.masked_fill(~m.unsqueeze(-1), -INF), turn=torch_softmax),
            build(hide=lambda s, m: s.masked_fill(~m.unsqueeze(-1), -1e9)),
            build(hide=lambda s, m: s.masked_fill(~(m.unsqueeze(-1) & m.unsqueeze(1)), -INF)),
        ),
    ),
    Misconception(
        "the mask's sequences taken for queries",
        build(hide=lambda s, m: s.masked_fill(~m, -INF)),
        "(B, S) was laid over (B, L, S) from the right, so the mask of sequence i met query i of "
        "every sequence. Where is an axis for the queries missing?",
        also=(
            build(hide=lambda s, m: s.masked_fill(~m, -INF), turn=torch_softmax),
            build(hide=lambda s, m: s.masked_fill(~m, -1e9)),
            build(hide=lambda s, m: s.masked_fill(~m.unsqueeze(0), -INF)),
            build(hide=nothing, after=lambda w, m: w * m),
        ),
    ),
    Misconception(
        "the mask of one sequence for all",
        build(hide=lambda s, m: hide(s, m[:1].expand_as(m))),
        "Every sequence was masked like the first. Each has padding of its own.",
        also=(
            build(hide=lambda s, m: hide(s, m.any(0, keepdim=True).expand_as(m))),
            build(hide=lambda s, m: hide(s, m.all(0, keepdim=True).expand_as(m))),
            build(hide=lambda s, m: hide(s, m.mT if m.shape[0] == m.shape[1] else m)),
        ),
    ),
    Misconception(
        "the mask read as a length",
        build(hide=lambda s, m: hide(s, by_length(m))),
        "The real tokens were counted, and as many taken from the left. Padding may stand "
        "anywhere in the row.",
        also=(
            build(hide=lambda s, m: hide(s, m.cumprod(1).bool())),
            build(hide=lambda s, m: hide(s, m.flip(1).cumsum(1).flip(1) > 0)),
        ),
    ),
)

MISCONCEPTIONS = (*MASK, *SOFTMAX, *AVERAGE)
