"""Exercise: choose each token's experts, and how much each of them counts."""

from typing import Any

import torch
from course_utils.attention import route_top_k
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import cut_off, squeezed
from torch import Tensor

RIGHT = """
def route_top_k(logits, k):
    wanted = logits
    best = wanted.topk(k, dim=-1)
    index = best.indices
    chosen = logits.gather(-1, index)
    gates = chosen.softmax(-1)
    return index, gates
"""


def _sums(args: tuple[Any, ...], got: tuple[Tensor, Tensor]) -> str | None:
    sums = got[1].detach().double().sum(-1)
    wrong = (~((sums - 1).abs() < 1e-3)).nonzero()
    if not len(wrong):
        return None
    return f"The gates of token {int(wrong[0])} sum to {sums[int(wrong[0])].item():.4g}, not to 1."


EXERCISE = exercise(
    route_top_k,
    right=RIGHT,
    asks="Return the k likeliest experts of each token, the likeliest first, and their gates.",
    minutes=5,
    difficulty=2,
    importance=4,
    parts=("index", "gates"),
    cases=(
        case("2 tokens, 3 experts, 2 of them chosen", N=2, E=3, k=2, gradient="equal"),
        case("7 tokens, 5 experts, 3 chosen", N=7, E=5, k=3, gradient="equal"),
        case("4 tokens, 4 experts, 4 chosen", N=4, E=4, k=4, gradient="equal"),
        case("one chosen: its gate is 1", N=6, E=4, k=1),
        case("one token", N=1, E=6, k=2),
        case("one expert", N=5, E=1, k=1),
        case("logits of ±10,000", N=6, E=5, k=2, size=1e4, gradient="finite"),
        case("every logit far below 0", N=4, E=5, k=3,
             logits=lambda g: torch.randn(4, 5, generator=g, dtype=torch.float64) - 2000),
        case("non-contiguous logits", N=6, E=4, k=2, strided=True),
        case("float32", N=5, E=8, k=2, dtype="float32"),
    ),
    mistakes=(
        mistake("gates not renormalised", "The gates are probabilities among all experts, so those of a token sum to "
                "less than 1. Among which experts is the choice made now?",
                "gates = logits.softmax(-1).gather(-1, index)"),
        mistake("softmax twice", "A softmax was taken of probabilities. What are the gates a softmax of?",
                "gates = logits.softmax(-1).gather(-1, index).softmax(-1)", "gates = chosen.softmax(-1).softmax(-1)"),
        mistake("softmax over tokens", "Tokens compete for an expert here. Who competes for what in a token's row?",
                "gates = chosen.softmax(0)", "gates = logits.softmax(0).gather(-1, index)",
                "wanted = logits.softmax(0)", "wanted = logits.softmax(0)\ngates = wanted.gather(-1, index)"),
        mistake("experts chosen over the tokens", "Each expert chose its tokens. Along which axis are the experts?",
                "index = logits.topk(min(k, len(logits)), dim=0).indices.mT", "index = logits.argsort(0, True)[:, :k]",
                "best = wanted.mT.topk(k, dim=-1)"),
        mistake("order by expert number", "The chosen experts are in the order of their numbers. Which comes first?",
                "index = best.indices.sort(-1).values"),
        mistake("gates in another order than their experts", "Indices and gates were sorted apart, so the gates belong "
                "to other experts. Which of the two was reordered?",
                "return index.sort(-1).values, gates", "return index, gates.flip(-1)", "return index.flip(-1), gates"),
        mistake("the likeliest last", "The order is the other way round: the likeliest should come first.",
                "index = best.indices.flip(-1)", "index = logits.argsort(-1)[:, -k:]"),
        mistake("the least likely", "The smallest logits were chosen. Which end of the order is wanted?",
                "best = wanted.topk(k, dim=-1, largest=False)", "index = logits.argsort(-1)[:, :k]"),
        mistake("chosen by size", "The logits were compared without their sign. Is -9 a good score?",
                "wanted = logits.abs()", "wanted = logits.square()"),
        mistake("raw logits as gates", "The gates are logits, or logits divided by their sum. They can be negative: "
                "what makes shares of them?", "gates = chosen", "gates = chosen / chosen.sum(-1, keepdim=True)",
                "gates = chosen / chosen.abs().sum(-1, keepdim=True)",
                "gates = chosen / chosen.norm(dim=-1, keepdim=True)",
                "gates = chosen.relu() / (chosen.relu().sum(-1, keepdim=True) + 1e-9)"),
        mistake("sigmoid as gate", "Each gate was computed separately, so they need not sum to 1. What compares the "
                "chosen with each other?", "gates = chosen.sigmoid()",
                "gates = chosen.sigmoid() / chosen.sigmoid().sum(-1, keepdim=True)"),
        mistake("equal gates", "All chosen experts count alike. What do the logits say beyond the choice?",
                "gates = torch.full_like(chosen, 1 / k)", "gates = torch.ones_like(chosen)"),
        mistake("a scale or temperature", "The logits were divided by something before the softmax. Nobody asked for "
                "that.", "gates = (chosen / k).softmax(-1)",
                "gates = (chosen / math.sqrt(logits.shape[-1])).softmax(-1)",
                "gates = (chosen / math.sqrt(k)).softmax(-1)"),
        mistake("no maximum subtracted", "The exponentials are taken of the logits as they are. What becomes of "
                "exp(10,000), and what of exp(-2,000) where all are so low?",
                "gates = chosen.exp() / chosen.exp().sum(-1, keepdim=True)",
                "p = logits.exp() / logits.exp().sum(-1, keepdim=True)\ngates = p.gather(-1, index)\n"
                "gates = gates / gates.sum(-1, keepdim=True)"),
        mistake("chosen by rounded probabilities", "The choice was made among probabilities, and where the logits are "
                "large these are 0 for most experts, all alike. What still tells those experts apart?",
                "wanted = logits.softmax(-1)"),
        cut_off("gates = chosen.detach().softmax(-1)", "gates = chosen.softmax(-1).detach()"),
        mistake("a row for all experts", "There is a gate for every expert, 0 where it was not chosen. What is asked "
                "for has k columns.", "return index, torch.zeros_like(logits).scatter(-1, index, gates)",
                "return index, logits.softmax(-1)",
                "return (torch.zeros_like(logits).scatter(-1, index, 1.0) > 0).long(), gates",
                "return torch.zeros_like(logits).scatter(-1, index, 1.0).long(), torch.zeros_like(logits).scatter(-1, "
                "index, gates)"),
        mistake("values instead of indices", "The logits came back where their places are asked for. What else does "
                "`topk` return?", "return chosen, gates", "return chosen, index"),
        mistake("results in another order", "The results come back in another order. In which order are they asked "
                "for?", "return gates, index"),
        mistake("not all parts returned", "A part of the result is missing. What does a mixture need besides?",
                "return gates", "return index"),
        mistake("another kind of whole number", "The indices are not of the dtype long. Only long indexes everywhere.",
                "return index.int(), gates", "return index.to(gates.dtype), gates"),
        squeezed("return index, gates{}", "return index{}, gates{}"),
    ),
    laws=(Law("the gates of a token sum to 1", _sums),),
    hints=(
        "`topk` returns two tensors. Which of them are experts, and what is the other one good for?",
        "The gates of a token must sum to 1 over the k that were chosen.",
        "The softmax over all, cut down to k and divided by its sum, is the softmax of the k logits alone: the "
        "denominators cancel. Which of the two ways is one call?",
    ),
)
