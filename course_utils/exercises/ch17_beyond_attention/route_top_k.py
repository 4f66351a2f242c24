"""Exercise: choose each token's experts, and how much each of them counts."""

from dataclasses import replace
from typing import Any

import torch
from course_utils.attention import route_top_k
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import NOTHING, cut_off, overwritten, squeezed, writing
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.softmax import RANDOM
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


def _sharpened(args: tuple[Any, ...], got: tuple[Tensor, Tensor]) -> bool:
    """Return whether the gates are a softmax of the chosen logits times some number."""
    index, want = route_top_k(*args)
    if not torch.equal(got[0], index) or want.shape[-1] < 2 or bool((got[1] <= 0).any()):
        return False
    one, other = (x.detach().log() - x.detach().log().mean(-1, keepdim=True) for x in (got[1], want))
    factor = float((one * other).sum() / other.square().sum())
    sums = got[1].detach().sum(-1)
    return torch.allclose(one, factor * other, atol=1e-6) and torch.allclose(sums, torch.ones_like(sums), atol=1e-4)


EXERCISE = exercise(
    route_top_k,
    right=RIGHT,
    asks="Return the k likeliest experts of each token, the likeliest first, and their gates.",
    minutes=5,
    difficulty=2,
    importance=4,
    parts=("index", "gates"),
    cases=(
        case("4 tokens, 5 experts, 3 of them chosen", N=4, E=5, k=3, gradient="equal"),
        case("7 tokens, 6 experts, 2 chosen", N=7, E=6, k=2, gradient="equal"),
        case("4 tokens, 4 experts, 4 chosen", N=4, E=4, k=4, gradient="equal"),
        case("one chosen: its gate is 1", N=6, E=4, k=1),
        case("one token", N=1, E=6, k=2),
        case("one expert", N=5, E=1, k=1),
        case("every logit far below 0", N=4, E=5, k=3, gradient="finite",
             logits=lambda g: torch.randn(4, 5, generator=g, dtype=torch.float64) - 2000),
        case("every logit far above 0", N=4, E=5, k=2,
             logits=lambda g: torch.randn(4, 5, generator=g, dtype=torch.float64) + 2000),
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
                "best = wanted.mT.topk(k, dim=-1)",
                "best = logits.topk(min(k, len(logits)), dim=0)\nindex = best.indices.mT\nchosen = best.values.mT",
                "best = logits.topk(min(k, len(logits)), dim=0)\nindex = best.indices\nchosen = best.values",
                "best = logits.topk(min(k, len(logits)), dim=0)\nindex = best.indices\nchosen = best.values\n"
                "gates = chosen.softmax(0)"),
        mistake("the best of all tokens together", "The k largest logits of all tokens were chosen, and not k for each "
                "token. How many rows are asked for?", "best = wanted.flatten().topk(k)\nindex = best.indices\n"
                "chosen = best.values"),
        mistake("one token's row alone", "The experts of one token came back. Each token is to have a row.",
                "return index[0], gates[0]", "return index[:1], gates[:1]", "return index[-1], gates[-1]"),
        mistake("the best one alone", "Only the likeliest expert came back, whatever k says. How many does each token "
                "get?", "best = wanted.topk(1, dim=-1)", "index = logits.argmax(-1, keepdim=True)",
                "index = logits.argmax(-1)\nchosen = logits.amax(-1)"),
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
                "gates = chosen.abs() / chosen.abs().sum(-1, keepdim=True)",
                "gates = chosen / chosen.norm(dim=-1, keepdim=True)",
                "gates = chosen.relu() / (chosen.relu().sum(-1, keepdim=True) + 1e-9)"),
        mistake("sigmoid as gate", "Each chosen logit went through a sigmoid of its own. Which function compares the "
                "chosen with each other?", "gates = chosen.sigmoid()",
                "gates = chosen.sigmoid() / chosen.sigmoid().sum(-1, keepdim=True)"),
        mistake("divided by another number than the row's sum", "The exponentials are there, but the gates of a token "
                "do not sum to 1. By what is each of them divided?",
                "gates = (chosen - chosen.amax(-1, keepdim=True)).exp()", "gates = chosen.exp()",
                "gates = chosen.softmax(-1) / k", "gates = chosen.softmax(-1) * k",
                "gates = chosen.exp() / chosen.exp().sum()", "gates = chosen.exp() / chosen.exp().sum(0)"),
        mistake("logarithms of the gates", "These are logarithms: they are below 0. What is still to be done?",
                "gates = chosen.log_softmax(-1)", "gates = logits.log_softmax(-1).gather(-1, index)"),
        mistake("epsilon in the denominator", "The gates of a token sum to a little less than 1, since something small "
                "is added to every denominator. Can that sum be 0 here?",
                *(f"p = {given}.softmax(-1){cut}\ngates = p / (p.sum(-1, keepdim=True) + {size})"
                  for given, cut in (("logits", ".gather(-1, index)"), ("chosen", ""))
                  for size in ("1e-3", "1e-5", "1e-6"))),
        mistake("the others masked with 0", "The logits of the others were set to 0, and exp(0) is 1: they still get a "
                "share. Which logit gets none?",
                "gates = torch.zeros_like(logits).scatter(-1, index, chosen).softmax(-1).gather(-1, index)"),
        mistake("one expert too many in the softmax", "The gates share 1 with an expert that was not chosen. Among how "
                "many logits does the softmax run?",
                "more = logits.topk(min(k + 1, logits.shape[-1]), dim=-1).values\ngates = more.softmax(-1)[:, :k]"),
        mistake("another rule where one is chosen", "With k = 1 the gate is the probability among all, as in Switch. "
                "The rule is the same for every k: a softmax over how many logits is it there?",
                "gates = logits.softmax(-1).gather(-1, index) if k == 1 else chosen.softmax(-1)"),
        mistake("always two", "k plays no part, or none above two. How many experts does each token get?",
                "best = wanted.topk(2, dim=-1)", "best = wanted.topk(min(k, 2), dim=-1)"),
        mistake("the best one every time", "The same expert was chosen k times. How does the second choice leave out "
                "the first?", "index = logits.argmax(-1, keepdim=True).expand(-1, k)"),
        mistake("one token's choice for all", "All tokens were sent to the experts of one. Each has logits of its own.",
                "index = best.indices[:1].expand(len(logits), -1)", "index = logits.mean(0).topk(k).indices."
                "expand(len(logits), -1)"),
        replace(RANDOM, says="Two calls with the same inputs differ: noise was added, as some routers do in training. "
                "What decides here?", versions=("best = (wanted + 0.1 * torch.randn_like(logits)).topk(k, dim=-1)\n"
                                                "chosen = best.values",)),
        mistake("equal gates", "All chosen experts count alike. What do the logits say beyond the choice?",
                "gates = torch.full_like(chosen, 1 / k)", "gates = torch.ones_like(chosen)"),
        mistake("a scale or temperature", "The logits were divided or multiplied by something before the softmax. "
                "Nobody asked for that.", "gates = (chosen / k).softmax(-1)",
                "gates = (chosen / math.sqrt(logits.shape[-1])).softmax(-1)",
                "gates = (chosen / math.sqrt(k)).softmax(-1)", matches=_sharpened),
        mistake("no maximum subtracted", "The exponentials are taken of the logits as they are. What becomes of "
                "exp(2,000), and what of exp(-2,000) where all are so low?",
                "gates = chosen.exp() / chosen.exp().sum(-1, keepdim=True)",
                "wanted = logits.exp()\nchosen = best.values\ngates = chosen / chosen.sum(-1, keepdim=True)",
                "p = logits.exp() / logits.exp().sum(-1, keepdim=True)\ngates = p.gather(-1, index)\n"
                "gates = gates / gates.sum(-1, keepdim=True)"),
        cut_off("gates = chosen.detach().softmax(-1)", "gates = chosen.softmax(-1).detach()"),
        mistake("a row for all experts", "There is a gate for every expert, 0 where it was not chosen. What is asked "
                "for has k columns.", "return index, torch.zeros_like(logits).scatter(-1, index, gates)",
                "return index, logits.softmax(-1)",
                "return (torch.zeros_like(logits).scatter(-1, index, 1.0) > 0).long(), gates",
                "return F.one_hot(index, logits.shape[-1]), gates",
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
        mistake("experts counted from 1", "The numbers are one too large. The first expert has number 0.",
                "return index + 1, gates"),
        mistake("lists", "Lists came back. Two tensors are asked for: what makes one of equal rows?",
                "return index.tolist(), gates.tolist()", "return list(index), list(gates)",
                "return list(zip(index, gates))", "return list(zip(index.tolist(), gates.tolist()))"),
        mistake("another dtype", "The gates must keep the dtype of the logits: what else has another one here?",
                *(f"return index, gates.to(torch.{dtype})" for dtype in ("float32", "float64", "bfloat16"))),
        NOTHING,
        overwritten(*writing(route_top_k, 0)),
        squeezed("return index, gates{}", "return index{}, gates{}"),
        lower_precision(route_top_k, "gates = chosen.float().softmax(-1).to(logits.dtype)"),
    ),
    laws=(Law("the gates of a token sum to 1", _sums),),
    hints=(
        "`topk` returns two tensors. Which of them are experts, and what is the other one good for?",
        "The gates of a token must sum to 1 over the k that were chosen.",
        "The softmax over all, cut down to k and divided by its sum, is the softmax of the k logits alone: the "
        "denominators cancel. Which of the two ways is one call?",
    ),
)
