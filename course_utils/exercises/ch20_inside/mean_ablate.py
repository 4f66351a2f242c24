"""Exercise: take heads out by putting their mean output in place of what they say."""

from typing import Any

import torch
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import (
    cut_off,
    left_in,
    other_kinds,
    overwritten,
    random_inside,
    squeezed,
    writing,
)
from course_utils.exercises.shared.precision import rounded_off
from course_utils.interpretability import mean_ablate
from torch import Tensor

RIGHT = """
def mean_ablate(outputs, heads, reference):
    texts = reference
    listed = list(heads)
    means = texts.mean((0, 2))
    ablated = outputs.clone()
    for head in listed:
        filling = means[head]
        place = (slice(None), head)
        ablated[place] = filling
    return ablated
"""

Three = tuple[Tensor, list[int], Tensor]


def _made(
    B: int, H: int, L: int, d: int, N: int, M: int, heads: tuple[int, ...], dtype: torch.dtype = torch.float64
) -> Make:
    """Make outputs and a reference whose mean is not 0, and different for each head."""

    def make(g: torch.Generator) -> Three:
        middle = normal(g, H, 1, d, size=2.0)
        return normal(g, B, H, L, d).to(dtype), list(heads), (middle + normal(g, N, H, M, d)).to(dtype)

    return make


def _numbered(g: torch.Generator) -> Three:
    outputs = torch.arange(4.0, dtype=torch.float64).view(1, 2, 2, 1)
    return outputs, [1], torch.tensor([[[[10.0], [20.0], [30.0]], [[1.0], [2.0], [6.0]]]], dtype=torch.float64)


def _fixed_reference(fn: Function, outputs: Tensor, heads: list[int], reference: Tensor) -> Any:
    """Ask for the gradient of the outputs alone."""
    return fn(outputs, heads, reference.detach())


def _written(fn: Function, outputs: Tensor, heads: list[int], reference: Tensor) -> Any:
    """Return the result, and write into it as its owner may: outputs and reference must stay as they are."""
    result = fn(outputs, heads, reference)
    if not isinstance(result, Tensor):
        return result
    kept = result.clone()
    try:
        result.fill_(7.0)
    except RuntimeError:  # a view that cannot be written into harms nobody
        return kept
    return kept


def _returned(outputs: Tensor, heads: list[int], reference: Tensor) -> Tensor:
    """Return the outputs themselves if there is nothing to ablate."""
    return mean_ablate(outputs, heads, reference) if heads else outputs


_OTHER = "listed = [head for head in range(outputs.shape[1]) if head not in heads]"
_INDEXED = """
def mean_ablate(outputs, heads, reference):
    ablated = outputs.clone()
    index = {}
    ablated[:, index] = reference.mean((0, 2))[index].unsqueeze(1)
    return ablated
"""
_LISTED = _INDEXED.replace("reference.mean((0, 2))[index].unsqueeze(1)", "{}").replace("{}", "heads", 1)
_CHOSEN = """
def mean_ablate(outputs, heads, reference):
    chosen = torch.zeros(outputs.shape[1], dtype=torch.bool)
    chosen[heads] = True
    return torch.where(chosen[:, None, None], {}, outputs)
"""
_STACKED = """
def mean_ablate(outputs, heads, reference):
    parts = list(outputs.unbind(1))
    for head in heads:
        parts[head] = {}
    return torch.stack(parts, {})
"""
_SET = "ablated[place] = {}"

EXERCISE = exercise(
    mean_ablate,
    right=RIGHT,
    asks="Set each listed head's output, everywhere, to that head's mean over other texts.",
    minutes=6,
    difficulty=2,
    importance=4,
    cases=(
        case("2 heads of width 1, the second ablated", _numbered),
        case("4 heads, one ablated", _made(2, 4, 3, 5, 6, 7, (2,))),
        case("5 heads, three ablated, in any order", _made(3, 5, 4, 2, 2, 6, (4, 0, 3)), run=_fixed_reference,
             gradient="equal"),
        case("no head", _made(2, 3, 4, 5, 3, 6, ()), run=_fixed_reference, gradient="equal"),
        case("a head listed twice", _made(2, 4, 3, 5, 3, 6, (1, 3, 1)), run=_fixed_reference, gradient="equal"),
        case("a head listed three times", _made(2, 4, 5, 3, 3, 6, (2, 2, 2))),
        case("all heads", _made(2, 3, 4, 5, 3, 6, (0, 1, 2))),
        case("the first head", _made(2, 3, 5, 4, 4, 2, (0,))),
        case("the last two heads", _made(2, 4, 5, 3, 1, 6, (3, 2))),
        case("one text to run, one position", _made(1, 3, 1, 4, 5, 6, (1,))),
        case("a reference of one text", _made(3, 4, 2, 5, 1, 6, (0, 2))),
        case("a reference of one token", _made(3, 4, 2, 5, 1, 1, (1,))),
        case("as many reference texts and positions as run", _made(3, 2, 5, 4, 3, 5, (1,))),
        case("every size is 4", _made(4, 4, 4, 4, 4, 4, (1, 3))),
        case("one head", _made(2, 1, 3, 4, 5, 2, (0,))),
        case("more heads than positions", _made(2, 7, 3, 4, 3, 2, (5, 6))),
        case("more positions than heads", _made(5, 3, 8, 2, 3, 9, (2,))),
        case("the result is written into afterwards, no head", _made(2, 3, 4, 5, 3, 6, ()), run=_written),
        case("the result is written into afterwards", _made(2, 3, 4, 5, 3, 6, (1,)), run=_written),
        case("non-contiguous inputs", lambda g: tuple(strided(x) if isinstance(x, Tensor) else x for x in
                                                      _made(2, 4, 3, 5, 6, 7, (1, 2))(g))),
        case("float32", _made(2, 4, 3, 5, 6, 7, (3, 0), torch.float32)),
        case("float32, no head", _made(2, 4, 3, 5, 6, 7, (), torch.float32)),
    ),
    mistakes=(
        mistake("zero instead of the mean", "The heads were set to 0. For the layers behind them 0 is something that "
                "no text gives. What would they expect from a head that says nothing in particular?",
                _SET.format("0"), "means = torch.zeros_like(texts.mean((0, 2)))"),
        mistake("mean of the texts being run", "The mean is that of the outputs which are ablated. It still tells what "
                "is special about these texts: whose mean says nothing about them?",
                "texts = outputs", "filling = outputs[:, head].mean((0, 1))",
                "filling = outputs[:, head].mean(1, keepdim=True)", "filling = outputs[:, head].mean(0)",
                "filling = outputs[:, head].mean(0, keepdim=True)"),
        mistake("both kinds of text averaged", "The texts that are run went into the mean with the reference. Which "
                "texts are to be averaged?",
                "means = (texts.sum((0, 2)) + outputs.sum((0, 2))) / (texts[:, 0, :, 0].numel() + outputs[:, 0, :, 0]"
                ".numel())",
                "means = (texts.mean((0, 2)) + outputs.mean((0, 2))) / 2"),
        mistake("one number per head", "All features of a head got the same number. A head writes a vector: over which "
                "axes does its mean run?",
                "filling = texts[:, head].mean()", "means = texts.mean((0, 2, 3))",
                "filling = means[head].mean()", "filling = texts[:, head].mean((0, 1)).mean(-1, keepdim=True)",
                "filling = outputs[:, head].mean()", "filling = outputs[:, head].mean(-1, keepdim=True)"),
        mistake("one reference text", "One of the reference texts was used, not all of them. Over which axes does the "
                "mean run?", "texts = reference[:1]", "texts = reference[-1:]", "means = texts[0].mean(1)",
                "filling = texts[0, head].mean(0)"),
        mistake("one position of the reference", "One position of the reference was used, not all of them. Over which "
                "axes does the mean run?", "texts = reference[:, :, :1]", "texts = reference[:, :, -1:]",
                "texts = reference[:1, :, :1]", "texts = reference[-1:, :, -1:]",
                "filling = texts[0, head, 0]", "filling = texts[-1, head, -1]"),
        mistake("one mean for all heads", "All heads got the same vector. Each head has a mean of its own.",
                "filling = means.mean(0)", "means = texts.mean((0, 1, 2)).expand(texts.shape[1], -1)",
                "filling = means[listed].mean(0)", "means = texts.mean((0, 1, 2))\nfilling = means",
                "filling = means[0]", "filling = means[listed[0]]", "filling = means[listed[-1]]"),
        mistake("the place in the list for the head", "A head got the mean of another: that of its place in the list, "
                "or of its neighbour. Which number of the list is that of a head?",
                "filling = means[listed.index(head)]",
                "place = (slice(None), listed.index(head))", "filling = means[head - 1]",
                "filling = means[(head + 1) % len(means)]", "filling = means[len(means) - 1 - head]",
                "listed = list(heads)\nfilling = means.flip(0)[listed.index(head)]"),
        mistake("all others", "The heads that are listed stay, and the others are ablated. Which ones are to be taken "
                "out?", _OTHER, f"{_OTHER}\nfilling = 0"),
        mistake("all heads", "Every head was ablated, listed or not. Which ones does the list name?",
                "listed = range(outputs.shape[1])",
                "return means.unsqueeze(1).expand(outputs.shape).clone() if len(listed) else ablated",
                "listed = list(heads) or range(outputs.shape[1])",
                "ablated = texts.mean((0, 2)).unsqueeze(1).expand(outputs.shape).clone()"),
        mistake("positions for heads", "A position was replaced instead of a head. Which of the four axes counts the "
                "heads?", "place = (slice(None), slice(None), head)",
                "place = (slice(None), slice(None), head)\nablated[place] = means"),
        mistake("texts for heads", "A text was replaced instead of a head. Which of the four axes counts the heads?",
                "place = (head,)", "place = (head,)\nablated[place] = means.unsqueeze(1)"),
        mistake("features for heads", "A feature was replaced instead of a head. Which of the four axes counts the "
                "heads?", "place = (..., head)", "place = (..., head)\nablated[place] = means[..., head].unsqueeze(-1)",
                "place = (..., head)\nablated[place] = texts[..., head].mean()"),
        mistake("mean subtracted", "The mean was taken out of the head, which is the opposite: it leaves what is "
                "special about each text.",
                _SET.format("outputs[:, head] - filling"), "ablated[place] -= filling"),
        mistake("mean added", "The mean was added to what the head says. What is left of that when the head is taken "
                "out?",
                _SET.format("outputs[:, head] + filling"), "ablated[place] += filling",
                _SET.format("(outputs[:, head] + filling) / 2")),
        mistake("multiplied by the mean", "The head's output was multiplied by the mean. What is left of it when the "
                "head is taken out?", "ablated[place] *= filling", _SET.format("outputs[:, head] * filling")),
        mistake("shifted to the mean", "The head's mean is that of the reference now, but what it says of each token "
                "is still there.", _SET.format("outputs[:, head] - outputs[:, head].mean((0, 1)) + filling"),
                _SET.format("outputs[:, head] - outputs[:, head].mean(1, keepdim=True) + filling")),
        mistake("first of the list", "Only one of the listed heads was ablated.", "listed = list(heads)[:1]",
                "listed = list(heads)[-1:]", "place = (slice(None), listed[0])", "listed = list(heads)[:-1]",
                "listed = list(heads)[1:]", "listed = sorted(set(heads))[:1]",
                "ablated[:] = outputs\nablated[place] = filling"),
        mistake("a range from the list", "The heads between the first and the last of the list were ablated, too. "
                "The list names each by its number.", "listed = range(min(heads), max(heads) + 1) if heads else []",
                "listed = range(len(heads))", "listed = range(max(heads) + 1) if heads else []"),
        mistake("a repeated head counted again", "A head that is listed twice was treated twice, or put back. It is "
                "either ablated or not.", "listed = [head for head in heads if list(heads).count(head) == 1]",
                "listed = [head for head in heads if list(heads).count(head) % 2]",
                "filling = means[head] * listed.count(head)", "filling = means[head] / listed.count(head)",
                "ablated[place] += filling - outputs[:, head]"),
        mistake("an error without heads", "The list may be empty. Then nothing is to be done: which line fails there?",
                *(_INDEXED.format(made) for made in ("torch.tensor(heads)", "torch.tensor(heads).unique()",
                                                     "torch.as_tensor(sorted(set(heads)))")),
                "means = torch.stack([texts[:, head].mean((0, 1)) for head in heads])\n"
                "filling = means[listed.index(head)]",
                "listed = [heads[0], *heads]", "listed = range(min(heads), max(heads) + 1)"),
        mistake("nothing ablated", "The outputs came back as they were. Which line writes into the result?",
                _SET.format("outputs[:, head]"), "listed = []", "return outputs.clone()", "return outputs",
                "filling = outputs[:, head]"),
        mistake("the input itself returned", "Without heads the result is the given tensor itself, so that whoever "
                "writes into the one changes the other. A new tensor is asked for.", _returned),
        mistake("a mean for each position", "The mean runs over the texts alone, so that each position has one of its "
                "own. The reference may have another length: over which axes does the mean run?",
                "filling = texts[:, head].mean(0)", "means = texts.mean(0)",
                "filling = texts[:, head].mean(0)[: outputs.shape[2]]", _CHOSEN.format("reference.mean(0)"),
                _CHOSEN.format("reference.mean(0, keepdim=True)"), _STACKED.format("reference[:, head].mean(0)", 1)),
        mistake("a mean for each text", "The mean runs over the positions alone, so that each text has one of its own. "
                "The reference may be other texts: over which axes does the mean run?",
                "filling = texts[:, head].mean(1, keepdim=True)", "filling = texts[:, head].mean(1)",
                "filling = texts.mean(2)[:, head].unsqueeze(1)",
                _CHOSEN.format("reference.mean(2, keepdim=True)")),
        mistake("no mean", "The reference's outputs were put in as they are. What is its *mean*?",
                "filling = texts[:, head]", "filling = texts[0, head]"),
        mistake("axes that do not fit", "Each listed head has one vector, and it goes to all texts and positions. "
                "Which axes of size 1 must the means have, so that they stand beside (B, heads, L, d)?",
                *(_LISTED.format(made) for made in (
                    "reference.mean((0, 2))[index]", "reference.mean((0, 2))", "reference[:, index].mean((0, 2))",
                    "reference.mean((0, 2), keepdim=True)", "reference.mean((0, 2))[index].unsqueeze(-1)",
                    "reference.mean((0, 2)).unsqueeze(1)", "reference.mean(0)[index]", "reference.mean(2)[:, index]")),
                *(_CHOSEN.format(made) for made in (
                    "reference.mean((0, 2))", "reference.mean((0, 2))[heads]", "reference.mean((0, 2)).unsqueeze(-1)")),
                *(_STACKED.format(made, 1) for made in ("reference[:, head].mean((0, 1))",
                                                        "reference.mean((0, 2))[head]"))),
        mistake("mean over the heads", "The mean runs over the heads. Which axes count texts and positions?",
                "means = texts.mean((0, 1))", "means = texts.mean((1, 2))", "means = texts.mean(1)",
                "means = texts.mean((0, 1))\nfilling = means", _CHOSEN.format("reference.mean((0, 1))"),
                _CHOSEN.format("reference.mean((0, 1))[None, None]"),
                _CHOSEN.format("reference.mean(1, keepdim=True)")),
        mistake("sum instead of mean", "The reference's outputs were added up, or divided by another number. How many "
                "are there?", "means = texts.sum((0, 2))", "means = texts.sum(0).mean(1)",
                "means = texts.mean(0).sum(1)",
                "means = texts.sum((0, 2)) / (texts.shape[0] + texts.shape[2])",
                "means = texts.sum((0, 2)) / (texts.shape[0] * texts.shape[2] - 1)",
                "means = texts.sum((0, 2)) / outputs.shape[0] / outputs.shape[2]"),
        mistake("the median", "The middle of the reference's outputs was taken, not their mean.",
                "means = texts.movedim(1, 0).flatten(1, 2).median(1).values", "means = texts.amax((0, 2))",
                "means = texts.movedim(1, 0).flatten(1, 2).quantile(0.5, 1)"),
        mistake("the mean of other heads", "The mean runs over the heads that are not listed. Whose mean does a head "
                "get?", "filling = means[[h for h in range(len(means)) if h != head]].mean(0)",
                "filling = means[[h for h in range(len(means)) if h not in listed]].mean(0)"),
        mistake("only some positions", "The head was ablated at one position, or at all but one. It is taken out "
                "everywhere.", "place = (slice(None), head, -1)", "place = (slice(None), head, 0)",
                "place = (slice(None), head, slice(1, None))", "place = (slice(None), head, slice(-1))",
                "place = (slice(None), head, slice(texts.shape[2]))"),
        mistake("only some texts", "The head was ablated in one text, or in as many as the reference has. It is taken "
                "out everywhere.", "place = (0, head)", "place = (-1, head)",
                "place = (slice(len(texts)), head)", "place = (slice(1, None), head)"),
        mistake("only the ablated heads returned", "Only the listed heads came back. The others stay in the result as "
                "they are.", "return ablated[:, listed]", "return ablated[:, listed[0]]", "return means[listed]",
                "return means"),
        mistake("ablated heads left out", "The listed heads are gone from the result. They stay, with another output.",
                "return ablated[:, [head for head in range(outputs.shape[1]) if head not in listed]]"),
        mistake("output with other axes", "The values are right, but the result must have the axes (B, H, L, d).",
                "return ablated.transpose(0, 1)",
                _STACKED.format("reference[:, head].mean((0, 1)).expand_as(parts[head])", -1),
                _STACKED.format("reference[:, head].mean((0, 1)).expand_as(parts[head])", 2),
                "return ablated.transpose(1, 2)",
                "return ablated.transpose(1, 2).flatten(2)",
                "return ablated.flatten(2)", "return ablated.mT", "return ablated.sum(1)"),
        mistake("a gradient through the ablated heads", "The values are right, but the gradient runs through the heads "
                "that were taken out. Nothing depends on what they said: was something added to it, and not put in its "
                "place?", _SET.format("outputs[:, head] + (filling - outputs[:, head]).detach()"),
                _SET.format("filling + outputs[:, head] - outputs[:, head].detach()")),
        random_inside(_SET.format("texts[torch.randint(len(texts), (1,)).item(), head].mean(0)"),
                      _SET.format("texts[torch.randint(len(texts), (1,)).item(), head, torch.randint(texts.shape[2], "
                                  "(1,)).item()]")),
        overwritten("ablated = outputs", "ablated = outputs.detach()", "ablated = outputs.view(outputs.shape)",
                    "ablated = outputs[:]", *writing(mean_ablate, 0, 2)),
        rounded_off(mean_ablate, "return ablated.round(decimals=4)", "return ablated.round(decimals=2)"),
        squeezed("return ablated{}"), left_in("return ablated{}"),
        cut_off("return ablated.detach()", "return torch.from_numpy(ablated.detach().numpy())",
                "ablated = outputs.detach().clone()", "ablated = torch.tensor(outputs.tolist(), dtype=outputs.dtype)"),
        *other_kinds("ablated"),
    ),
    hints=(
        "Which of the four axes of `reference` are left when it is averaged over its texts and its positions?",
        "`reference.mean(dim=(0, 2))` has a row for each head. A row broadcasts over texts and positions.",
        "Copy `outputs` with `clone()` and write `copy[:, head] = …` for each listed head: what happens if the list "
        "is empty, or names a head twice?",
    ),
)
