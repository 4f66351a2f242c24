"""Exercise: the loss that keeps experts busy alike."""

import torch
from course_utils.attention import load_balance_loss
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
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
        case("even use: the loss is 1", _even, tolerance=1e-6),
        case("all tokens to one of 5: the loss is 5", _collapsed, tolerance=1e-6),
        case("5 tokens, 3 experts, 1 chosen", _made(5, 3, 1), tolerance=1e-6, gradient="finite"),
        case("7 tokens, 4 experts, 2 chosen", _made(7, 4, 2), tolerance=1e-6, gradient="finite"),
        case("choices that are not the best", _made(6, 5, 3, agrees=False), tolerance=1e-6, gradient="finite"),
        case("4 tokens, 4 experts, 1 chosen", _made(4, 4, 1, agrees=False), tolerance=1e-6),
        case("one token", _made(1, 4, 2), tolerance=1e-6),
        case("large logits", _made(6, 4, 2, size=300.0), tolerance=1e-6),
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
                "loss = num_experts / index.shape[-1] * products.sum()"),
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
                "probability = logits.softmax(0)"),
        mistake("probabilities of the chosen alone", "Experts that a token did not choose have probability 0 here. "
                "Over which experts does the softmax run?",
                "picked = logits.gather(-1, index).softmax(-1)\n"
                "probability = torch.zeros_like(logits).scatter(-1, index, picked)",
                "probability = logits.softmax(-1) * F.one_hot(index, num_experts).sum(1)"),
        mistake("chosen again", "The choices were made anew from the logits. They are given: what if they are not the "
                "best ones?", "chosen = F.one_hot(logits.topk(index.shape[-1], dim=-1).indices, num_experts)."
                "to(logits.dtype)", "chosen = F.one_hot(logits.argmax(-1, keepdim=True), num_experts)."
                "to(logits.dtype)\nshare = counts / len(index)"),
        mistake("raw logits", "The logits themselves were averaged. What makes probabilities of them?",
                "probability = logits", "probability = logits.sigmoid()", "probability = logits.log_softmax(-1)",
                "probability = logits.exp()"),
        mistake("mean over the experts", "The mean was taken over the experts, and so is 1/E for every token. Which "
                "axis holds the tokens?", "mean = probability.mean(-1)", "mean = probability.mean()"),
        mistake("another measure of balance", "This is another loss: a squared difference, an entropy or a coefficient "
                "of variation. What is asked for is a sum of products.",
                "loss = num_experts * (share - mean).square().sum()", "loss = (share - 1 / num_experts).square().sum()",
                "loss = -(mean * mean.log()).sum()", "loss = -(share * mean.log()).sum()",
                "loss = num_experts * mean.square().sum() - 1", "loss = mean.var() / mean.mean().square()"),
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
                "probability = logits.detach().softmax(-1)"),
        mistake("integer division", "The shares were rounded down to whole numbers. Which division keeps fractions?",
                "share = counts // index.numel()"),
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
