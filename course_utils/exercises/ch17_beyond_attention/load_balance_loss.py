"""Exercise: the loss that keeps experts busy alike."""

import torch
from course_utils.attention import load_balance_loss
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake, only
from course_utils.exercises.shared.kinds import other_kinds, overwritten, writing
from course_utils.exercises.shared.precision import lower_precision
from torch import Tensor

RIGHT = """
def load_balance_loss(logits, index):
    num_experts = logits.shape[-1]
    probability = logits.softmax(-1)
    mean = probability.mean(0)
    chosen = F.one_hot(index, num_experts).to(logits.dtype)
    counts = chosen.sum((0, 1))
    share = counts / index.numel()
    products = share * mean
    loss = num_experts * products.sum()
    return loss
"""


def _made(N: int, E: int, k: int, *, apart: bool = False, dtype: str = "float64", size: float = 1.5,
          agrees: bool = True) -> Make:
    """Return a maker of logits and of choices, the best ones or, where they are not to agree, any."""
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Tensor, Tensor]:
        logits = normal(g, N, E, size=size, dtype=kind)
        index = (logits.float() if agrees else torch.rand(N, E, generator=g)).argsort(-1, descending=True)[:, :k]
        return (strided(logits), strided(index)) if apart else (logits, index.contiguous())

    return make


def _even(g: torch.Generator) -> tuple[Tensor, Tensor]:
    return torch.eye(4, dtype=torch.float64) * 3, torch.arange(4).unsqueeze(-1)


def _collapsed(g: torch.Generator) -> tuple[Tensor, Tensor]:
    logits = torch.zeros(6, 5, dtype=torch.float64)
    logits[:, 2] = 100.0
    return logits, torch.full((6, 1), 2)


EXERCISE = exercise(
    load_balance_loss,
    right=RIGHT,
    asks="Return E times the sum over experts of their share of the choices times their mean probability.",
    minutes=8,
    difficulty=3,
    importance=3,
    cases=(
        # Shares in 16ths are exact in float32 too, so that whoever counts in it is right.
        case("8 tokens, 5 experts, 2 chosen", _made(8, 5, 2, agrees=False), gradient="equal"),
        case("8 tokens, 3 experts, 1 chosen", _made(8, 3, 1), gradient="equal"),
        case("even use: the loss is 1", _even, tolerance=1e-6),
        case("all tokens to one of 5: the loss is 5", _collapsed, tolerance=1e-6),
        case("7 tokens, 4 experts, 2 chosen", _made(7, 4, 2), tolerance=1e-6),
        case("choices that are not the best", _made(6, 5, 3, agrees=False), tolerance=1e-6, gradient="finite"),
        case("4 tokens, 4 experts, 1 chosen", _made(4, 4, 1, agrees=False), tolerance=1e-6),
        case("one token", _made(1, 4, 2), tolerance=1e-6),
        case("large logits", _made(6, 4, 2, size=2000.0), tolerance=1e-6),
        case("an expert that nobody chose", _made(3, 8, 1), tolerance=1e-6),
        case("non-contiguous inputs", _made(6, 4, 2, apart=True), tolerance=1e-6),
        case("float32", _made(8, 5, 2, dtype="float32"), tolerance=1e-5),
    ),
    mistakes=(
        mistake("factor E missing", "Even use does not give 1. What is Σ f_e P_e where all f and P are 1/E?",
                "loss = products.sum()", "loss = products.mean()"),
        mistake("another factor", "The sum is multiplied by something other than the number of experts. What makes it "
                "1 for even use?", "loss = index.shape[-1] * products.sum()",
                "loss = num_experts ** 2 * products.sum()", "loss = len(logits) * products.sum()",
                "loss = num_experts / index.shape[-1] * products.sum()", "loss = (num_experts - 1) * products.sum()",
                "loss = num_experts / len(logits) * products.sum()", "loss = 0.01 * num_experts * products.sum()"),
        mistake("an expert left out", "The sum leaves out an expert. From which number to which do they go?",
                "loss = num_experts * products[1:].sum()", "loss = num_experts * products[:-1].sum()"),
        mistake("the sign", "The loss falls as use becomes more uneven. Which way should it push?",
                "loss = -num_experts * products.sum()"),
        mistake("the number of experts taken from the choices", "Experts that nobody chose were forgotten: shares or E "
                "come from the numbers that occur in `index`. How many experts have the logits?",
                "loss = (int(index.max()) + 1) * products.sum()", "loss = len(index.unique()) * products.sum()",
                "share = torch.bincount(index.flatten()) / index.numel()",
                "share = torch.bincount(index.flatten()) / index.numel()\nproducts = mean * share"),
        mistake("mean of products for product of means", "Counts and probabilities were multiplied token by token and "
                "then averaged. That rewards a sure choice: which two means are multiplied?",
                "products = (chosen.sum(1) * probability).mean(0) / index.shape[-1]",
                "products = (chosen.sum(1) * probability).mean(0)"),
        mistake("counts twice", "The shares were multiplied with themselves. Counts have no gradient: through which "
                "factor can the router learn?", "products = share * share"),
        mistake("probabilities twice", "The mean probabilities were multiplied with themselves. Where do the choices "
                "that were made come in?", "products = mean * mean"),
        mistake("shares / N for / (N·k)", "The shares sum to k: choices were counted and tokens divided by. How many "
                "choices are there in all?", "share = counts / len(index)"),
        mistake("divided by the wrong number", "A sum stands where a share or a mean is asked for, or another number "
                "divides it. What must shares, and what must mean probabilities sum to?", "mean = probability.sum(0)",
                "share = counts", "share = counts / num_experts", "share = counts / index.shape[-1]",
                "share = counts / counts.max()"),
        mistake("first choice only", "Only each token's first choice was counted. What of the others?",
                "chosen = F.one_hot(index[:, :1], num_experts).to(logits.dtype)\nshare = counts / len(index)",
                "chosen = F.one_hot(index[:, :1], num_experts).to(logits.dtype)"),
        mistake("softmax over tokens", "Tokens compete for an expert here. Over what does a token's softmax run?",
                "probability = logits.softmax(0)", "probability = logits.flatten().softmax(0).view_as(logits)",
                "probability = logits.flatten().softmax(0).view_as(logits)\nmean = probability.sum(0)"),
        mistake("probabilities of the chosen alone", "Experts that a token did not choose have probability 0 here. "
                "Over which experts does the softmax run?",
                "picked = logits.gather(-1, index).softmax(-1)\n"
                "probability = torch.zeros_like(logits).scatter(-1, index, picked)",
                "probability = logits.softmax(-1) * F.one_hot(index, num_experts).sum(1)"),
        mistake("chosen again", "The choices were made anew from the logits. They are given: what if they are not the "
                "best ones?", "chosen = F.one_hot(logits.topk(index.shape[-1], dim=-1).indices, num_experts)."
                "to(logits.dtype)", "chosen = F.one_hot(logits.argmax(-1, keepdim=True), num_experts)."
                "to(logits.dtype)\nshare = counts / len(index)"),
        mistake("raw logits", "The logits, or their exponentials, were averaged. What makes probabilities of them, "
                "with a sum of 1?", "probability = logits", "probability = logits.exp()"),
        mistake("sigmoid instead of softmax", "Each logit went through a sigmoid of its own, as in routers that score "
                "every expert apart. Which function gives the experts of a token a sum of 1 by comparing them?",
                "probability = logits.sigmoid()",
                "probability = logits.sigmoid() / logits.sigmoid().sum(-1, keepdim=True)"),
        mistake("logarithms instead of probabilities", "The logarithms of the probabilities were averaged: they are "
                "below 0. What is the mean of?", "probability = logits.log_softmax(-1)",
                "mean = probability.mean(0).log()"),
        mistake("softmax of the mean", "The logits were averaged first, and the softmax taken of their mean. Which of "
                "the two comes first?", "mean = logits.mean(0).softmax(-1)"),
        mistake("no maximum subtracted", "The exponentials are taken of the logits as they are. What becomes of "
                "exp(1,000)?", "probability = logits.exp() / logits.exp().sum(-1, keepdim=True)"),
        mistake("choices weighed by their probability", "A choice counts more the surer it was. f is a share of "
                "choices: what does each of them count?",
                "counts = (chosen.sum(1) * probability).sum(0)\nshare = counts / counts.sum()",
                "picked = logits.gather(-1, index).softmax(-1)\n"
                "counts = torch.zeros_like(logits).scatter(-1, index, picked).sum(0)\nshare = counts / len(index)",
                "counts = (chosen.sum(1) * probability).sum(0)", "counts = (chosen.sum(1) * probability).sum(0)\n"
                "share = counts / len(index)"),
        mistake("mean over the experts", "The mean was taken over the experts, and so is 1/E for every token. Which "
                "axis holds the tokens?", "mean = probability.mean(-1)", "mean = probability.mean()"),
        mistake("another measure of balance", "This is another loss: a squared difference, an entropy, a coefficient "
                "of variation or the router's z-loss. What is asked for is a sum of products.",
                "loss = logits.logsumexp(-1).square().mean()", "loss = (share - 1 / num_experts).abs().sum()",
                "loss = ((share - 1 / num_experts) * (mean - 1 / num_experts)).sum()",
                "loss = share.var() / share.mean().square()",
                "loss = probability.sum(0).var() / probability.sum(0).mean().square()",
                "loss = num_experts * (share - mean).square().sum()", "loss = (share - 1 / num_experts).square().sum()",
                "loss = -(mean * mean.log()).sum()", "loss = -(share * mean.log()).sum()",
                "loss = num_experts * mean.square().sum() - 1", "loss = mean.var() / mean.mean().square()",
                "loss = (share * (share / mean).clamp(min=1e-9).log()).sum()",
                "loss = (mean * (mean * num_experts).log()).sum()",
                "loss = math.log(num_experts) + (mean * mean.log()).sum()", "loss = ((mean - share) ** 2).sum()",
                "loss = ((mean - share) ** 2).mean()",
                "loss = counts.var() / counts.mean().square()"),
        mistake("1 subtracted", "Even use gives 0 here. Which value is asked for?",
                "loss = num_experts * products.sum() - 1"),
        mistake("one number per expert", "There is a number for each expert. What becomes of them?",
                "loss = num_experts * products", "loss = products"),
        mistake("an axis of size 1 left in", "The loss has an axis of size 1. What is asked for has none.",
                "loss = num_experts * products.sum(-1, keepdim=True)",
                "loss = (num_experts * products.sum()).reshape(1, 1)"),
        mistake("no longer a tensor", "The loss came back as a Python number, so nothing can be learned from it.",
                "loss = float(num_experts * products.sum())"),
        mistake("cut off from the gradient", "The values are right, but no gradient reaches the logits. Which of the "
                "two means carries it?", "mean = probability.mean(0).detach()",
                "probability = logits.detach().softmax(-1)",
                "mean = probability.mean(0).detach() + 0.0 * logits.sum()",
                "loss = (num_experts * products.sum()).detach()",
                "loss = (num_experts * products.sum()).detach().requires_grad_()"),
        mistake("a gradient through the counts", "The values are right, but the shares carry a gradient too, as if "
                "counting could be learned through: a straight-through trick. Which of the two means is meant to?",
                *(f"soft = probability - probability.detach()\n"
                  f"share = (chosen.sum(1) + {times} * soft).sum(0) / index.numel(){also}"
                  for times in ("1", "index.shape[-1]")
                  for also in ("", "\nmean = probability.detach().mean(0)"))),
        mistake("integer division", "The shares were rounded down to whole numbers. Which division keeps fractions?",
                "share = counts // index.numel()"),
        overwritten(*writing(load_balance_loss, 0, 1)),
        mistake("a list", "A list or a tuple came back, where one tensor alone is asked for. Which of several results "
                "is meant?", "return loss, share, mean", "return loss, mean", "return loss, share", "return [loss]",
                "return (loss,)"),
        *only(other_kinds("loss"), "nothing returned", "another dtype"),
        lower_precision(load_balance_loss, "mean = probability.float().mean(0).to(logits.dtype)",
                        "probability = logits.float().softmax(-1).to(logits.dtype)"),
    ),
    hints=(
        "Two vectors with an entry for each expert: how often it was chosen, as a share, and how likely it was on "
        "average. Both sum to 1.",
        "Counting: `F.one_hot(index, E)` summed over tokens and choices, or `torch.bincount(index.flatten(), "
        "minlength=E)`. How many choices are there in all?",
        "The mean probability is over tokens, of the softmax over all experts.",
        "Multiply the two entry by entry, add up, and choose the factor that makes even use 1.",
    ),
)
