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

`predictions` makes their inputs.
"""

import torch
from torch import Tensor

from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import cut_off


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
            f"loss = ({_SEQUENCES}).sum() / counts.any(1).sum().clamp(min=1)"),
    mistake("NaN on nothing", "Where no target counts, nothing is divided by nothing. The loss should be 0 then, and "
            "so should its gradient: by what could you divide instead?", "number = counts.sum()",
            "loss = losses[counts].mean()"),
    mistake("no gradient where nothing counts", "Where no target counts, the loss is a new number without a way back "
            "to the logits, and `backward` fails. What gives 0 and still comes from them?",
            "loss = kept.sum() / number if counts.any() else logits.new_zeros(())"),
    mistake("one added to the number", "The sum is divided by a little more than the number of targets. What was only "
            "meant against a division by 0 must change nothing else.", "number = counts.sum() + 1",
            "number = counts.sum() + 1e-8", "number = counts.sum() + 1e-6", "number = counts.sum() + 1e-5"),
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
    mistake("logits cut off", "Large logits were cut off, so that losses above some bound look alike.",
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
    mistake("classes and steps mixed", "The logits were reshaped where two axes should change places: numbers of "
            "different positions are mixed. Torch's cross-entropy wants the classes second: which operation swaps two "
            "axes?", "logs = guesses.reshape(guesses.shape[0], guesses.shape[2], -1).mT.log_softmax(-1)"),
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
            "return loss.double()"),
    mistake("computed in float32", "The digits of float64 were lost on the way. Which line says `.float()`?",
            "logs = guesses.float().log_softmax(-1).to(guesses.dtype)"),
)
