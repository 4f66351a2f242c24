"""Exercise: cross-entropy against a target that is not quite sure."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import adding, mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.losses import LOSS, NOTHING_COUNTS, one_class, predictions, reached
from course_utils.models import label_smoothed_loss
from torch import Tensor
from torch.overrides import TorchFunctionMode

RIGHT = """
def label_smoothed_loss(logits, target, smoothing, pad_id):
    guesses = logits
    share = smoothing
    counts = target != pad_id
    index = target.masked_fill(~counts, 0).unsqueeze(-1)
    logs = guesses.log_softmax(-1)
    right = logs.gather(-1, index).squeeze(-1)
    spread = logs.mean(-1)
    losses = -((1 - share) * right + share * spread)
    kept = losses.masked_fill(~counts, 0.0)
    number = counts.sum().clamp(min=1)
    loss = kept.sum() / number
    return loss
"""
_TORCHS = "own = F.cross_entropy(logits.mT, target, ignore_index=pad_id, label_smoothing=smoothing)\n"
_HARD = "hard = F.cross_entropy(logits.mT, target, ignore_index=pad_id)\n"


class _Watch(TorchFunctionMode):
    """Notes whether a cross-entropy was asked to smooth by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.smoothed = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        self.smoothed |= func is F.cross_entropy and bool(kwargs.get("label_smoothing"))
        return func(*args, **kwargs)


def _who(fn: Function, *args: Any) -> tuple[Any, bool]:
    """Return the loss, and whether torch did the smoothing."""
    with _Watch() as watch:
        loss = fn(*args)
    return loss, watch.smoothed


def _smoothed(maker: Make, smoothing: float) -> Make:
    def make(g: torch.Generator) -> tuple[Tensor, Tensor, float, int]:
        logits, target, pad_id = maker(g)
        return logits, target, smoothing, pad_id

    return make


def _case(name: str, smoothing: float, *shape_and_lengths: Any, gradient: str = "", **more: Any) -> Case:
    run: Callable[..., Any] | None = more.pop("run", None)
    return case(name, _smoothed(predictions(*shape_and_lengths, **more), smoothing), gradient=gradient, run=run)


def _by_hand(generator: torch.Generator) -> tuple[Any, ...]:
    logits = torch.tensor([[[0.0, 2.0, 1.0, -1.0], [1.0, 0.0, 3.0, 0.5]]], dtype=torch.float64)
    return logits, torch.tensor([[1, 2]]), 0.2, -100


def _no_classes(generator: torch.Generator) -> tuple[Any, ...]:
    target = torch.tensor([[-100, 2, 0, -100], [1, -100, -100, 3]])
    return normal(generator, 2, 4, 5), target, 0.3, -100


def _divergence(args: tuple[Any, ...], got: Tensor) -> bool:
    """Whether the target's entropy was subtracted, also with a target made in float32."""
    logits, target, smoothing, pad_id = args
    low = smoothing / logits.shape[-1]
    goal = torch.full(logits.shape[-1:], low, dtype=torch.float64)
    goal[0] += 1 - smoothing
    floor = torch.special.entr(goal).sum() * bool((target != pad_id).any())
    return bool(floor) and torch.allclose((got + floor).double(), label_smoothed_loss(*args).double(), rtol=1e-5)


EXERCISE = exercise(
    label_smoothed_loss,
    right=RIGHT,
    asks="Average the cross-entropy against (1 - smoothing) · one-hot + smoothing / V.",
    minutes=10,
    difficulty=3,
    importance=3,
    cases=(
        case("2 positions, four classes, smoothing=0.2", _by_hand, gradient="equal"),
        _case("who smooths", 0.1, (2, 5, 4), (3, 5), run=_who),
        _case("smoothing=0: plain cross-entropy", 0.0, (2, 5, 7), gradient="equal"),
        _case("smoothing=0.1, no padding", 0.1, (3, 4, 6), gradient="equal"),
        _case("3 sequences of 4, 6 and 2 tokens", 0.1, (3, 6, 5), (4, 6, 2), gradient="equal"),
        _case("smoothing=0.4, padding is token 3", 0.4, (4, 5, 6), (3, 5, 2, 4), pad_id=3),
        case("padding is -100, at the front and inside", _no_classes, gradient="equal"),
        _case("padding inside the sequences", 0.2, (3, 8, 5), (8, 6, 7), pad_id=2, inside=True),
        _case("smoothing=1: all classes equal", 1.0, (2, 4, 5), (3, 4), gradient="equal"),
        _case("smoothing=1, a whole number", 1, (3, 4, 5), (2, 1, 3)),
        _case("a sequence of padding alone", 0.1, (3, 5, 6), (0, 5, 3)),
        _case("every size is 4", 0.1, (4, 4, 4), (2, 4, 3, 4)),
        _case("logits of 10⁴", 0.1, (2, 4, 5), (3, 4), size=1e4, gradient="equal"),
        _case("one class", 0.1, (2, 3, 1), pad_id=-1),
        case("one class, which is padding",
             lambda g: (normal(g, 2, 3, 1), torch.zeros(2, 3, dtype=torch.long), 0.1, 0)),
        _case("one position that counts", 0.1, (2, 5, 6), (1, 0)),
        _case("two classes, one of them padding", 0.2, (2, 6, 2), (4, 5)),
        _case("one position", 0.3, (3, 1, 5)),
        case("what comes back, even if nothing counts", _smoothed(predictions((2, 4, 5), (3, 4)), 0.1), run=reached,
             says=NOTHING_COUNTS),
        _case("nothing but padding", 0.1, (2, 4, 5), (0, 0), gradient="equal"),
        _case("nothing but padding, whose id is not a class", 0.1, (2, 4, 5), (0, 0), pad_id=-100),
        _case("non-contiguous inputs", 0.1, (3, 5, 4), (5, 2, 4), spread=True, gradient="equal"),
        _case("float32", 0.1, (2, 9, 11), (5, 9), dtype=torch.float32),
        case("a class at -inf", one_class(-torch.inf, 0.1, -1)),
        case("NaN in the logits", one_class(torch.nan, 0.1, -1)),
    ),
    mistakes=(
        mistake("torch's own smoothing inside", "`label_smoothing` of torch's cross-entropy did the work. The point is "
                "to write it: which two terms does it add?", f"{_TORCHS}loss = own if counts.any() else kept.sum()"),
        mistake("smoothing ignored", "`smoothing` changes nothing. How much of the target do the other classes get?",
                "share = 0.0"),
        mistake("smoothing the wrong way round", "The right class gets the small share. What is left at smoothing = 0?",
                "share = 1 - smoothing"),
        mistake("a smoothing of one's own", "The share is a fixed number. Which argument gives it?", "share = 0.1"),
        mistake("spread over the other classes", "The smoothed part leaves out the right class, or is shared out "
                "among one class less than there are. Here it goes to all V classes alike, the right one too.",
                "spread = (logs.sum(-1) - right) / max(logs.shape[-1] - 1, 1)",
                "spread = (logs.sum(-1) - right) / (logs.shape[-1] - 1)",
                "spread = (logs.sum(-1) - right) / logs.shape[-1]", "spread = logs.sum(-1) / (logs.shape[-1] - 1)"),
        mistake("another number of classes", "The smoothed part is shared out among another number of classes than the "
                "logits have. Which axis says how many there are, and what do the targets say?",
                "spread = logs.sum(-1) / (target.max() + 1)", "spread = logs.sum(-1) / target.max()",
                "spread = logs.sum(-1) / logits.shape[1]", "spread = logs.sum(-1) / (logits.shape[-1] + 1)",
                "spread = logs.sum(-1) / logits.shape[0]", "spread = logs.sum(-1) / target.unique().numel()"),
        mistake("the padding's class left out", "The smoothed part leaves out the class of the padding. Among all V "
                "classes, it is one like any other.",
                "classes = (torch.arange(logs.shape[-1]) != pad_id).to(logs.dtype)\n"
                "spread = (logs * classes).sum(-1) / classes.sum().clamp(min=1)",
                "classes = (torch.arange(logs.shape[-1]) != pad_id).to(logs.dtype)\n"
                "spread = (logs * classes).sum(-1) / logs.shape[-1]"),
        mistake("right class and padding left out", "The smoothed part leaves out the right class and that of the "
                "padding and is divided by V - 2. How many classes are there?",
                "classes = (torch.arange(logs.shape[-1]) != pad_id).to(logs.dtype)\n"
                "spread = ((logs * classes).sum(-1) - right) / (logs.shape[-1] - 2)",
                "spread = ((logs * (torch.arange(logs.shape[-1]) != pad_id).to(logs.dtype)).sum(-1) - right) / "
                "max(logs.shape[-1] - 2, 1)",
                "share_of = smoothing / (logits.shape[-1] - 2)\n"
                "others = (torch.arange(logs.shape[-1]) != pad_id).to(logs.dtype)\n"
                "losses = -((1 - share) * right + share_of * ((logs * others).sum(-1) - right))"),
        mistake("the smoothed part at padding", "At padding the right class is left out, but the smoothed part is not. "
                "Which positions should contribute nothing at all?",
                "kept = -(1 - share) * right.masked_fill(~counts, 0.0) - share * spread",
                "loss = (-(1 - share) * right * counts).sum() / number - share * spread.mean()"),
        mistake("the probability smoothed", "The model's probability was smoothed, and then its logarithm taken. The "
                "target is what should be smoothed: of what does it weight the logarithms?",
                "losses = -((1 - share) * right.exp() + share / logs.shape[-1]).log()",
                "mixed = (1 - share) * guesses.softmax(-1) + share / guesses.shape[-1]\nlogs = mixed.log()\n"
                "spread = right"),
        mistake("probabilities for their logarithms", "The smoothed part averages probabilities: they always sum to 1, "
                "so nothing is learned from it. Which average of the logarithms is meant?",
                "spread = logs.exp().mean(-1)", "spread = logs.exp().mean(-1).log()", "spread = -logs.exp().mean(-1)"),
        mistake("logits for their logarithms", "The smoothed part averages the logits themselves, so it changes when "
                "all of them grow by the same. Of what is a cross-entropy the average?", "spread = guesses.mean(-1)",
                "spread = guesses.sum(-1)"),
        mistake("a part cut off from the gradient", "The values are right, but one of the two parts counts as a "
                "constant: nothing is learned from it. What cuts the thread?", "spread = logs.mean(-1).detach()",
                "right = logs.gather(-1, index).squeeze(-1).detach()"),
        mistake("summed over the classes", "The smoothed part grows with the number of classes. Each gets smoothing / "
                "V: is that a sum or a mean?", "spread = logs.sum(-1)"),
        mistake("the right class not lowered", "The target sums to more or less than 1. What the other classes get is "
                "taken from the right one.", "losses = -(right + share * spread)",
                "losses = -((1 - share) * right + spread)", "losses = -(1 - share) * right",
                "losses = -share * spread"),
        mistake("the smoothed part subtracted", "The smoothed part has the wrong sign: it rewards the model for being "
                "sure. Both parts are cross-entropies, and neither is negative.",
                "losses = -((1 - share) * right - share * spread)"),
        mistake("the entropy of the target subtracted", "This is the distance of the two distributions (KL), not the "
                "cross-entropy: the target's own entropy was subtracted. Their gradients are equal; their values?",
                "low = share / logs.shape[-1]\nhigh = 1 - share + low\n"
                "floor = torch.special.entr(torch.tensor([high] + [low] * (logs.shape[-1] - 1), dtype=logs.dtype))\n"
                "losses = -((1 - share) * right + share * spread) - floor.sum()", matches=_divergence),
        mistake("logits smoothed", "The logits were made smaller, or mixed with their mean. What is mixed with the "
                "same share for each class is the target.", "logs = ((1 - share) * guesses).log_softmax(-1)\n"
                "spread = right", "logs = ((1 - share) * guesses + share * guesses.mean(-1, keepdim=True))"
                ".log_softmax(-1)\nspread = right"),
        mistake("the entropy of the guess", "The smoothed part is the entropy of the model's own guess. The target "
                "does not depend on the model.", "spread = (logs.exp() * logs).sum(-1)"),
        mistake("a shift", "The targets were shifted against the logits. Here each position already has its own "
                "target: the shift belongs to the loss of a language model.",
                "guesses = logits[:, :-1]\ntarget = target[:, 1:]\ncounts = target != pad_id"),
        mistake("the mean over other axes", "The smoothed part is an average over positions or sequences, too. It "
                "belongs to one position: which axis holds its classes?", "spread = logs.mean()",
                "spread = logs.mean((1, 2)).unsqueeze(-1)"),
        *adding(LOSS, {"NaN on nothing": (
            f"{_TORCHS}loss = own", f"{_HARD}loss = (1 - share) * hard - share * spread[counts].mean()",
        ), "padding looked up as a class": (
            "goal = (1 - share) * F.one_hot(target, logits.shape[-1]) + share / logits.shape[-1]\n"
            "losses = -(goal * logs).sum(-1)",
        )}),
    ),
    hints=(
        "Three classes, the second is right, smoothing 0.3: write down the target, a number for each class. What does "
        "it sum to?",
        "A cross-entropy is minus the sum of target times log-probability. Split the sum in two: what the right class "
        "gets in addition, and what all classes get alike.",
        "The first part is the usual loss, times what is left for it. The second needs no index: an average over the "
        "classes.",
        "At padding neither part counts. Then add up and divide by the number of targets that do, but at least by 1.",
    ),
)
