"""Exercise: one step of AdamW."""

from typing import Any

import torch
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import other_parts, overwritten, writing
from course_utils.exercises.shared.precision import lower_precision
from course_utils.models import adamw_step
from torch import Tensor

RIGHT = """
def adamw_step(parameter, gradient, m, v, step, rate, betas, eps, weight_decay):
    beta_1 = betas[0]
    beta_2 = betas[1]
    count = step
    slope = gradient
    squares = slope.square()
    new_m = beta_1 * m + (1 - beta_1) * slope
    new_v = beta_2 * v + (1 - beta_2) * squares
    mean = new_m / (1 - beta_1**count)
    square = new_v / (1 - beta_2**count)
    divisor = square.sqrt() + eps
    move = mean / divisor
    kept = parameter * (1 - rate * weight_decay)
    moved = kept - rate * move
    return moved, new_m, new_v
"""
_LATE = "kept = parameter\n"


def _made(*shape: int, step: int = 3, rate: float = 0.1, betas: tuple[float, float] = (0.7, 0.9), eps: float = 0.01,
          decay: float = 0.2, dtype: torch.dtype = torch.float64, still: bool = False, apart: bool = False) -> Make:
    """Return a maker of tensors of one shape; at step 1, or where all is `still`, the moments are zeros."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        parameter, gradient, m, v = (normal(g, *shape, dtype=dtype) for _ in range(4))
        v = v.square() + 0.1
        if step == 1 or still:
            m, v = torch.zeros_like(m), torch.zeros_like(v)
        gradient = torch.zeros_like(gradient) if still else gradient
        tensors = [parameter, gradient, m, v]
        if apart:
            tensors = [strided(one) for one in tensors]
        return (*tensors, step, rate, betas, eps, decay)

    return make


def _walked(fn: Function, parameter: Tensor, gradient: Tensor, m: Tensor, v: Tensor, step: int, *how: Any) -> Any:
    """Take four steps, of which each goes on from the last."""
    for later in range(4):
        parameter, m, v = fn(parameter, (later + 1) * gradient - parameter, m, v, step + later, *how)
    return parameter, m, v


EXERCISE = exercise(
    adamw_step,
    right=RIGHT,
    asks="Take one step of AdamW: two moments, both corrected, and a decay that stays outside of them.",
    minutes=10,
    difficulty=3,
    importance=5,
    parts=("parameter", "m", "v"),
    cases=(
        case("the first step, without decay", _made(3, step=1, eps=0.0, decay=0.0)),
        case("a large eps", _made(7, eps=1.0)),
        case("the first step", _made(4, step=1)),
        case("the third step", _made(3)),
        case("the third step, without decay", _made(5, decay=0.0)),
        case("step 50 of a matrix", _made(2, 3, step=50, rate=0.3)),
        case("betas of Adam as usual, and a small eps", _made(3, 2, betas=(0.9, 0.999), eps=1e-8)),
        case("a strong decay", _made(3, decay=2.0)),
        case("no gradient for long: the decay alone", _made(3, step=7, still=True)),
        case("betas of 0", _made(3, betas=(0.0, 0.0))),
        case("a rate of 0", _made(3, rate=0.0)),
        case("four steps in a row", _made(3, step=1), run=_walked),
        case("a number without axes", _made()),
        case("three axes", _made(2, 3, 2)),
        case("no numbers at all", _made(0)),
        case("every size is 4", _made(4, 4)),
        case("non-contiguous inputs", _made(3, 5, apart=True)),
        case("float32", _made(3, 4, dtype=torch.float32)),
    ),
    mistakes=(
        mistake("decay added to the gradient", "The decay went through both moments, as in Adam with L2. Then weights "
                "with large gradients hardly decay. Where does AdamW apply it?",
                f"{_LATE}slope = gradient + weight_decay * parameter"),
        mistake("decay divided with the rest", "The decay was divided by the root of v, together with the mean. It "
                "should be the same share for all numbers: on which side of the division does it belong?",
                f"{_LATE}move = (mean + weight_decay * parameter) / divisor"),
        mistake("decay not multiplied by the rate", "The parameter shrinks by the whole decay, whatever the rate is. "
                "What happens to the decay while the rate warms up?", "kept = parameter * (1 - weight_decay)"),
        mistake("decay of the new parameter", "The parameter was moved first and shrunk then, so the step shrinks as "
                "well. Which of the two does the formula multiply?",
                f"{_LATE}moved = (parameter - rate * move) * (1 - rate * weight_decay)",
                f"{_LATE}moved = parameter - rate * move\nmoved = moved / (1 + rate * weight_decay)"),
        mistake("no decay", "`weight_decay` changes nothing. Which share of itself does the parameter lose?", _LATE),
        mistake("decay that grows", "The parameter grows by the decay. Which sign has it?",
                "kept = parameter * (1 + rate * weight_decay)"),
        mistake("the same decay for every number", "The decay was subtracted as it is, not as a share of the "
                "parameter.", "kept = parameter - rate * weight_decay",
                "kept = parameter - rate * weight_decay * parameter.sign()"),
        mistake("decay twice", "The parameter loses the decay twice. In which lines does `weight_decay` occur?",
                "kept = parameter * (1 - rate * weight_decay) ** 2",
                "kept = parameter * (1 - 2 * rate * weight_decay)",
                "slope = gradient + weight_decay * parameter"),
        mistake("no bias correction", "Both moments begin at zero and are used as they are, so the first steps have "
                "another length than the rate. What have the weights of m summed to after `step` steps?",
                "mean = new_m\nsquare = new_v"),
        mistake("only m corrected", "m was corrected and v was not. Which of the two begins at zero?",
                "square = new_v"),
        mistake("only v corrected", "v was corrected and m was not. Which of the two begins at zero?", "mean = new_m"),
        mistake("step counted from 0", "The correction takes one step too few: at the first step it divides by zero. "
                "The first step has the number 1.", "count = step - 1", "count = max(step - 1, 1)"),
        mistake("step counted from 2", "The correction takes one step too many. The first step has the number 1, and "
                "is handed over as 1.", "count = step + 1"),
        mistake("beta times step", "The correction has the beta times the number of steps. How much of the very first "
                "zero is left after `step` steps, each of which keeps a share beta?",
                "mean = new_m / (1 - beta_1 * count)\nsquare = new_v / (1 - beta_2 * count)"),
        mistake("corrected by one step", "The correction does not depend on the step. When is it finished?",
                "mean = new_m / (1 - beta_1)\nsquare = new_v / (1 - beta_2)"),
        mistake("multiplied by the correction", "The corrections make the moments smaller still. Which way should they "
                "push what began at zero?",
                "mean = new_m * (1 - beta_1**count)\nsquare = new_v * (1 - beta_2**count)"),
        mistake("v corrected after the root", "v was corrected when its root had been taken. Which of the two does the "
                "correction divide?", "divisor = new_v.sqrt() / (1 - beta_2**count) + eps"),
        mistake("eps inside the root", "eps was added before the root was taken. To what does the formula add it?",
                "divisor = (square + eps).sqrt()", "divisor = (new_v + eps).sqrt() / (1 - beta_2**count) ** 0.5"),
        mistake("eps outside the division", "eps was added to the quotient, or a bracket is missing. What does it keep "
                "away from zero?", "move = mean / square.sqrt() + eps"),
        mistake("eps before the correction", "eps was added to the root of v before the correction, which divides eps "
                "too. To what does the formula add it?",
                "divisor = (new_v.sqrt() + eps) / (1 - beta_2**count) ** 0.5"),
        mistake("eps left out", "A number whose gradients were all zero is divided by zero. What keeps the divisor "
                "away from it?", "divisor = square.sqrt()"),
        mistake("an eps of one's own", "With another eps the result stays what it was. Where is the argument used?",
                "divisor = square.sqrt() + 1e-8"),
        mistake("eps as a lower limit", "eps only holds where the root is smaller. The formula adds it everywhere.",
                "divisor = square.sqrt().clamp_min(eps)"),
        mistake("g for g²", "v is a mean of the gradients themselves, or of their absolute values. Whose mean is under "
                "the root?", "squares = slope", "squares = slope.abs()"),
        mistake("the square of the mean", "v took up the square of m. Of what does v keep the mean?",
                "squares = (beta_1 * m + (1 - beta_1) * slope).square()"),
        mistake("a variance", "v keeps the squares of the gradient's distance from m. Here it keeps the squares of the "
                "gradient itself.", "new_v = beta_2 * v + (1 - beta_2) * (slope - new_m).square()"),
        mistake("the squares summed up", "One mean of squares serves all numbers. Each of them has a v of its own.",
                "squares = slope.square().mean().expand_as(slope)", "squares = slope.square().sum().expand_as(slope)",
                "divisor = square.mean().sqrt() + eps", "divisor = square.sum().sqrt() + eps"),
        mistake("betas swapped", "m has the beta of v, and v that of m. In which order do they come?",
                "beta_1 = betas[1]\nbeta_2 = betas[0]"),
        mistake("one beta for both", "Both moments have the same beta. Two come in: which is whose?",
                "beta_2 = betas[0]", "beta_1 = betas[1]"),
        mistake("old and new exchanged", "What is kept has the share of what is new, and the other way round. At "
                "beta = 0.9, how much of the old moment is left?",
                "new_m = (1 - beta_1) * m + beta_1 * slope\nnew_v = (1 - beta_2) * v + beta_2 * squares",
                "new_m = (1 - beta_1) * m + beta_1 * slope", "new_v = (1 - beta_2) * v + beta_2 * squares"),
        mistake("sums instead of means", "The new part came in whole, without the share that is left for it. What do "
                "both shares of a mean sum to?", "new_m = beta_1 * m + slope\nnew_v = beta_2 * v + squares",
                "new_m = beta_1 * m + slope", "new_v = beta_2 * v + squares"),
        mistake("the past forgotten", "The moments hold the last gradient only. What do they keep from one step to the "
                "next?", "new_m = (1 - beta_1) * slope\nnew_v = (1 - beta_2) * squares",
                "new_m = slope\nnew_v = squares", "new_m = (1 - beta_1) * slope", "new_v = (1 - beta_2) * squares"),
        mistake("no root", "The mean was divided by v itself. Then a gradient ten times as large moves the parameter a "
                "tenth as far: what must be taken of v first?", "divisor = square + eps"),
        mistake("multiplied by the root", "Numbers with large gradients move furthest. Which way should v push them?",
                "move = mean * divisor"),
        mistake("the gradient instead of m", "The step goes along the last gradient, not along their mean. What is m "
                "kept for?", "move = slope / divisor"),
        mistake("not divided", "The step is not divided by anything. What is v kept for?", "move = mean"),
        mistake("the old moments used", "The step was made from the moments as they came in. Which come first, the "
                "means or the step?", "square = v / (1 - beta_2**count)", "mean = m / (1 - beta_1**count)",
                "mean = m / (1 - beta_1**count)\nsquare = v / (1 - beta_2**count)"),
        mistake("corrected moments returned", "The moments came back corrected, and will be corrected again at the "
                "next step. Which ones does that step go on from?", "return moved, mean, square",
                "return moved, mean, new_v", "return moved, new_m, square"),
        mistake("the old moments returned", "The moments came back as they came in. What does the next step need?",
                "return moved, m, v", "return moved, new_m, v", "return moved, m, new_v"),
        mistake("the root of v returned", "The root of v came back, or the divisor. Which of them does the next step "
                "go on from?", "return moved, new_m, new_v.sqrt()", "return moved, new_m, divisor"),
        mistake("the step returned", "What came back is by how much the parameter moves. Where is it then?",
                "return rate * move, new_m, new_v", "return -rate * move, new_m, new_v", "return move, new_m, new_v",
                "return moved - parameter, new_m, new_v"),
        mistake("the rate left out", "The step does not depend on the rate. What is the move multiplied by?",
                "moved = kept - move"),
        mistake("the sign", "The parameter moves along the gradient, where the loss grows.",
                "moved = kept + rate * move"),
        mistake("results in another order", "The three came back in another order: first the parameter, then m, then "
                "v.", "return new_m, new_v, moved", "return moved, new_v, new_m"),
        mistake("not all parts returned", "A part of the result is missing. What does the next step need besides the "
                "parameter?", "return moved", "return moved, new_m"),
        overwritten(*writing(adamw_step, 0, 1, 2, 3)),
        *other_parts("moved", "new_m", "new_v"),
        lower_precision(adamw_step, "slope = gradient.float().to(gradient.dtype)"),
    ),
    hints=(
        "Three things in this order: the two moments, their corrections, the step. Each is one or two lines, and the "
        "first two do not know of the decay.",
        "After `step` steps, how much of the zeros at the start is left in m? The rest, 1 less that, is what the "
        "weights of all gradients sum to.",
        "The corrected numbers are for this step only. What is returned goes into the next call as it is.",
        "Shrink the old parameter by rate · weight_decay of itself, and subtract the rate times the quotient from "
        "that.",
    ),
)
