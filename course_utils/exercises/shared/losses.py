"""Mistakes where a cross-entropy is averaged over the targets that count.

`LOSS` speaks of logits (B, T, V) and target (B, T), and of the steps

    guesses = ...
    counts = target != pad_id
    index = target.masked_fill(~counts, 0).unsqueeze(-1)
    logs = guesses.log_softmax(-1)
    right = logs.gather(-1, index).squeeze(-1)
    losses = -right
    kept = losses.masked_fill(~counts, 0.0)
    number = counts.sum().clamp(min=1)
    loss = kept.sum() / number
    return loss

`predictions` makes their inputs; `reached` looks at what comes back from a loss, even if no target counts.
"""

from typing import Any

import torch
from torch import Tensor

from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import NOTHING, cut_off, overwritten


def predictions(
    shape: tuple[int, int, int],
    lengths: tuple[int, ...] = (),
    pad_id: int = 0,
    dtype: torch.dtype = torch.float64,
    size: float = 1.0,
    inside: bool = False,
    spread: bool = False,
) -> Make:
    """Return a maker of logits and tokens, with padding past each of `lengths`, or `inside`."""

    def make(g: torch.Generator) -> tuple[Tensor, Tensor, int]:
        batch, steps, classes = shape
        logits = normal(g, *shape, dtype=dtype, size=size)
        is_class = 0 <= pad_id < classes
        tokens = torch.randint(classes - is_class, (batch, steps), generator=g)
        tokens += is_class * (tokens >= pad_id)  # no token is padding yet
        for row, length in enumerate(lengths):
            tokens[row, length:] = pad_id
        if inside:
            tokens[:, 2::3] = pad_id
        return (strided(logits), strided(tokens), pad_id) if spread else (logits, tokens, pad_id)

    return make


def one_class(value: float, *more: Any) -> Make:
    """Return a maker of logits (2, 3, 5) of which those of class 2 are this value, of tokens, and of `more`."""
    rows = torch.tensor([[4, 1, 0], [3, 0, 1]])
    return lambda g: (normal(g, 2, 3, 5).index_fill(-1, torch.tensor(2), value), rows.clone(), *more)


def reached(fn: Function, logits: Tensor, target: Tensor, *args: Any) -> list[str]:
    """Return what comes back to the logits from a loss, and what does if all targets are padding."""

    def comes_back(target: Tensor) -> str:
        leaf = logits.clone().requires_grad_()
        loss = fn(leaf, target, *args)
        if not isinstance(loss, Tensor) or not loss.requires_grad or loss.numel() != 1:
            return "nothing"
        slope = torch.autograd.grad(loss.sum(), leaf, allow_unused=True)[0]
        if slope is None:
            return "nothing"
        return "NaN" if bool(slope.isnan().any()) else "a gradient" if bool(slope.any()) else "zeros"

    return [comes_back(target), comes_back(torch.full_like(target, args[-1]))]


NOTHING_COUNTS = (
    "A gradient must come back to the logits. Where no target counts, the loss is 0 and so is that gradient: not NaN, "
    "and not None."
)
_SEQUENCES = "kept.sum(1) / counts.sum(1).clamp(min=1)"

LOSS = (
    mistake("padding in the mean", "Padding counts like any other target, so the model is trained to predict it. Which "
            "positions should say nothing?", "kept = losses\nnumber = counts.numel()",
            "counts = torch.ones_like(target, dtype=torch.bool)\nindex = target.clamp(min=0).unsqueeze(-1)",
            "kept = losses"),
    mistake("divided by all positions", "The losses at padding are left out of the sum, but not out of the number by "
            "which it is divided. How many targets count?", "number = counts.numel()", "return kept.mean()"),
    mistake("pad_id not used", "Padding is not always 0, nor -100. Which argument says what it is?",
            "counts = target != 0", "counts = target > 0", "counts = target != -100\nindex = target.clamp(min=0)"
            ".unsqueeze(-1)", "counts = target >= 0\nindex = target.clamp(min=0).unsqueeze(-1)"),
    mistake("only the padding", "The padding is counted, and the real targets are left out. Which of `==` and `!=` "
            "picks what counts?", "counts = target == pad_id\nindex = target.clamp(min=0).unsqueeze(-1)"),
    mistake("everything after the first padding left out", "A target behind a padding does not count. Padding may be "
            "anywhere: position by position, what is the target?", "counts = (target != pad_id).cumprod(1).bool()"),
    mistake("mean of sequence means", "Each sequence weighs the same, so a token of a short one weighs more than one "
            "of a long one. The mean is over all targets at once: what is divided by what?",
            f"loss = ({_SEQUENCES}).mean()", "loss = (kept.sum(1) / counts.sum(1)).mean()",
            f"loss = ({_SEQUENCES}).sum() / counts.any(1).sum().clamp(min=1)", f"loss = ({_SEQUENCES}).sum()",
            f"loss = ({_SEQUENCES})[counts.any(1)].mean()"),
    mistake("NaN on nothing", "Where no target counts, nothing is divided by nothing. The loss should be 0 then, and "
            "so should its gradient: by what could you divide instead?", "number = counts.sum()",
            "loss = losses[counts].mean()"),
    mistake("no gradient where nothing counts", "Where no target counts, the loss is a new number without a way back "
            "to the logits, and `backward` fails. What gives 0 and still comes from them?",
            "loss = kept.sum() / number if counts.any() else logits.new_zeros(())",
            "loss = kept.sum() / number if counts.any() else torch.zeros((), requires_grad=True)"),
    mistake("one added to the number", "The sum is divided by a little more than the number of targets. What was only "
            "meant against a division by 0 must change nothing else.", "number = counts.sum() + 1",
            "number = counts.sum() + 1e-5", "number = counts.sum().double() + 1e-6", "number = counts.sum() + 1e-4",
            "number = counts.sum() + 1e-3"),
    mistake("sum for mean", "This is the sum over all targets. By what must it be divided to compare batches of "
            "different sizes?", "number = 1"),
    mistake("divided by another number", "The sum was divided by the number of sequences, of steps or of classes. How "
            "many targets count?", "number = logits.shape[0]", "number = logits.shape[1]", "number = logits.shape[-1]",
            "number = counts.sum().clamp(min=1) * logits.shape[-1]"),
    mistake("softmax, then log", "Large logits give an infinite loss, NaN or a bound: `exp` became infinite, or a "
            "probability 0, before the logarithm was taken. Which function does both at once?",
            "logs = guesses - guesses.exp().sum(-1, keepdim=True).log()",
            "logs = guesses.softmax(-1).log()", "logs = guesses.softmax(-1).log()\nkept = losses * counts",
            "logs = (guesses.softmax(-1) + 1e-9).log()",
            "logs = (guesses.softmax(-1) + 1e-12).log()", "logs = guesses.softmax(-1).clamp(min=1e-9).log()",
            "logs = (guesses.softmax(-1) + 1e-10).log()", "logs = (guesses.softmax(-1) + 1e-8).log()",
            "logs = guesses.softmax(-1).clamp(min=1e-12).log()", "logs = guesses.softmax(-1).clamp(min=1e-10).log()"),
    mistake("padding looked up as a class", "The number that marks padding was used as a class. It need not be one: "
            "what could be looked up instead, and left out afterwards?", "index = target.unsqueeze(-1)",
            "index = target.masked_fill(~counts, 0).unsqueeze(-1)\n"
            "right = (F.one_hot(target, logits.shape[-1]) * logs).sum(-1)"),
    mistake("0 times infinity", "A class at -inf is not the target, and still the loss became NaN: 0 times infinity is "
            "no number. Which product, or which sum times 0, holds that class?",
            "right = (F.one_hot(index.squeeze(-1), logits.shape[-1]) * logs).sum(-1)",
            "right = torch.einsum('btv,btv->bt', F.one_hot(index.squeeze(-1), logits.shape[-1]).to(logs.dtype), logs)"),
    mistake("NaN hidden", "With NaN in the logits a number came out, as if all were well: a model that has diverged "
            "must not look finished. Which call replaces what is not a number?",
            "return loss.nan_to_num()", "return loss.nan_to_num(0.0, 0.0, 0.0)", "logs = guesses.log_softmax(-1)"
            ".nan_to_num()", "logs = guesses.nan_to_num().log_softmax(-1)", "loss = kept.nansum() / number",
            "number = (counts & ~losses.isnan()).sum().clamp(min=1)\nloss = kept.nansum() / number"),
    mistake("logits cut off",
            "Large logits, or large losses, were cut off, so that losses above some bound look alike.",
            "losses = (-right).clamp(max=100)",
            "logs = guesses.clamp(-50, 50).log_softmax(-1)", "logs = guesses.log_softmax(-1).clamp(min=-100)",
            "logs = guesses.clamp(-100, 100).log_softmax(-1)"),
    mistake("softmax twice", "A softmax was taken of what is a softmax already. What does torch's cross-entropy do "
            "with the logits it is given?", "logs = guesses.softmax(-1).log_softmax(-1)"),
    mistake("no softmax", "The logit itself was taken as the log of a probability. What makes the probabilities of a "
            "position sum to 1?", "logs = guesses", "logs = guesses.sigmoid().log()", "logs = F.logsigmoid(guesses)"),
    mistake("the probability itself", "The probability of the right token was averaged, not its logarithm.",
            "logs = guesses.softmax(-1)"),
    mistake("softmax over another axis", "The probabilities sum to 1 over positions or over sequences. Which axis "
            "holds the classes?", "logs = guesses.log_softmax(1)", "logs = guesses.log_softmax(0)"),
    mistake("classes and steps mixed", "The axes of logits and targets do not meet: numbers of different positions are "
            "mixed, or positions were taken for classes. Torch's cross-entropy wants the classes second: which "
            "operation swaps two axes, and which only rereads them?",
            "logs = guesses.reshape(guesses.shape[0], guesses.shape[2], -1).mT.log_softmax(-1)",
            "mixed = target.mT.reshape(target.shape)\ncounts = mixed != pad_id\n"
            "index = mixed.masked_fill(~counts, 0).unsqueeze(-1)",
            "logs = guesses.transpose(0, 1).reshape(guesses.shape).log_softmax(-1)",
            "loss = F.cross_entropy(guesses, target, ignore_index=pad_id)"),
    mistake("one sequence for all", "Only one sequence of the batch counts. Which axis tells the sequences apart?",
            "counts = (target != pad_id) & (torch.arange(len(target)) == 0).unsqueeze(-1)",
            "counts = (target != pad_id) & (torch.arange(len(target)) == len(target) - 1).unsqueeze(-1)"),
    mistake("another loss", "Something else was averaged than the negative logarithm of the right token's probability: "
            "right answers, squared errors, or what is missing to 1. What is cross-entropy?",
            "losses = (guesses.argmax(-1) == index.squeeze(-1)).to(guesses.dtype)",
            "losses = (guesses.argmax(-1) == index.squeeze(-1)).float()", "losses = 1 - right.exp()",
            "losses = (guesses.argmax(-1) != index.squeeze(-1)).to(guesses.dtype)",
            "losses = (guesses.softmax(-1) - F.one_hot(index.squeeze(-1), logits.shape[-1])).square().sum(-1)",
            "losses = (guesses.softmax(-1) - F.one_hot(index.squeeze(-1), logits.shape[-1])).square().mean(-1)",
            "losses = (1 - right.exp()).square()", "losses = torch.special.entr(logs.exp()).sum(-1)"),
    overwritten("index = target.masked_fill_(~counts, 0).unsqueeze(-1)",
                "index = target.masked_fill_(~counts, -100).clamp(min=0).unsqueeze(-1)",
                "moved = guesses.sub_(guesses.amax(-1, keepdim=True))\nlogs = moved.log_softmax(-1)"),
    NOTHING,
    mistake("the sign", "The loss is negative: it gets smaller as the right token becomes less likely. What is "
            "missing?", "return -loss"),
    mistake("in bits", "The loss is in bits. Nats are asked for: which logarithm is that?",
            "return loss / math.log(2)", "return loss / math.log(10)"),
    mistake("perplexity", "This is the exponential of the loss. What is asked for is the mean itself.",
            "return loss.exp()", "return 2**loss"),
    mistake("not one number", "There is a loss for each position, or each sequence. The mean is asked for, a tensor "
            "without axes.", "return kept", "return kept.sum(1)", f"return {_SEQUENCES}", "return loss.unsqueeze(0)",
            "return losses", "return losses[counts]"),
    mistake("a number of Python's", "The loss came as a number of Python's, through which nothing can be learned. A "
            "tensor without axes is asked for.", "return float(loss)"),
    cut_off("return loss.detach()", "logs = guesses.detach().log_softmax(-1)"),
    mistake("another dtype", "The loss must keep the dtype of the logits.", "return loss.float()",
            "return loss.double()", "return loss.half()", "return loss.bfloat16()"),
    mistake("computed in float32", "The digits of float64 were lost on the way. Which line says `.float()`?",
            "logs = guesses.float().log_softmax(-1).to(guesses.dtype)"),
)
