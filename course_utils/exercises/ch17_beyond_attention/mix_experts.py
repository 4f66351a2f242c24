"""Exercise: send each token to its experts, and add up what they make of it.

The last cases count which rows each expert is given: a table with a row for each expert and a column for each token.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from course_utils.attention import mix_experts
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import cut_off, other_kinds, overwritten, squeezed, writing
from course_utils.exercises.shared.precision import lower_precision
from torch import Tensor

RIGHT = """
def mix_experts(x, experts, index, gates):
    totals = [torch.zeros_like(x)]
    for number in range(len(experts)):
        found = (index == number).nonzero()
        rows = found[:, 0]
        choice = found[:, 1]
        idle = len(rows) == 0
        if idle:
            continue
        given = x[rows]
        share = gates[rows, choice].unsqueeze(-1)
        made = experts[number](given)
        part = share * made
        total = totals[-1].index_add(0, rows, part)
        totals.append(total)
    out = totals[-1]
    return out
"""
_DENSE = """
def mix_experts(x, experts, index, gates):
    table = torch.zeros(len(x), len(experts), dtype=x.dtype).scatter(-1, index, gates)
    return sum(table[:, e : e + 1] * experts[e](x) for e in range(len(experts)))
"""
_DENSE_STACKED = """
def mix_experts(x, experts, index, gates):
    made = torch.stack([expert(x) for expert in experts], 1)
    picked = made.gather(1, index.unsqueeze(-1).expand(-1, -1, x.shape[-1]))
    return (gates.unsqueeze(-1) * picked).sum(1)
"""
_EACH_TIME = """
def mix_experts(x, experts, index, gates):
    rows = []
    for n in range(len(x)):
        rows.append(sum(gates[n, j] * experts[index[n, j]](x)[n] for j in range(index.shape[1])))
    return torch.stack(rows)
"""
_MASKED = """
def mix_experts(x, experts, index, gates):
    parts = []
    for e, expert in enumerate(experts):
        share = ((index == e) * gates).sum(-1, keepdim=True)
        parts.append(share * expert(x * (share != 0)))
    return sum(parts)
"""
_ONE_BY_ONE = """
def mix_experts(x, experts, index, gates):
    rows = []
    for n in range(len(x)):
        rows.append(sum(gates[n, j] * experts[int(index[n, j])](x[n]) for j in range(index.shape[1])))
    return torch.stack(rows)
"""
_BY_PLACE = """
def mix_experts(x, experts, index, gates):
    return sum(gates[:, j : j + 1] * experts[j](x) for j in range(index.shape[1]))
"""
_ALL_AS_THE_FIRST = """
def mix_experts(x, experts, index, gates):
    return sum(gates[:, j : j + 1] * experts[int(index[0, j])](x) for j in range(index.shape[1]))
"""
_PARTS = """
def mix_experts(x, experts, index, gates):
    parts = x.new_zeros(*index.shape, x.shape[1])
    for number in range(len(experts)):
        rows, choice = torch.where(index == number)
        if len(rows):
            parts = parts.index_put((rows, choice), gates[rows, choice].unsqueeze(-1) * experts[number](x[rows]))
    return {}
"""

_SORTED = """
def mix_experts(x, experts, index, gates):
    order = index.flatten().argsort()
    made, start = [], 0
    for expert, count in zip(experts, index.flatten().bincount(minlength=len(experts)).tolist()):
        if count:
            made.append(expert(x[order[start : start + count] // index.shape[1]]))
        start += count
    return (torch.cat(made){}.view(*index.shape, -1) * gates.unsqueeze(-1)).sum(1)
"""
_CHOICE_BY_CHOICE = """
def mix_experts(x, experts, index, gates):
    for j in range(index.shape[1]):
        given, x = x, torch.zeros_like(x)
        for number, expert in enumerate(experts):
            rows = (index[:, j] == number).nonzero().flatten()
            if len(rows):
                x = x.index_put((rows,), gates[rows, j].unsqueeze(-1) * expert(given[rows]))
    return x
"""
_NUMBERED = "found[:, 0] * index.shape[1] + found[:, 1]"


def _layer(W: Tensor, b: Tensor, strict: bool) -> Callable[[Tensor], Tensor]:
    """Return an expert: a layer that takes rows, and nothing but rows if it is strict."""

    def expert(rows: Tensor) -> Tensor:
        if strict and rows.dim() != 2:
            raise ValueError(f"an expert takes rows, (n, d); it was given a tensor of {rows.dim()} axes")
        return torch.tanh(rows @ W + b)

    return expert


def _made(N: int, d: int, E: int, k: int, *, dtype: str = "float64", unused: int = 0, apart: bool = False,
          signed: bool = False, strict: bool = True) -> Make:
    """Return a maker of tokens, experts, choices among all but the last `unused`, and gates whose sums are not 1.

    The gates are above 0.2 or, where they are signed, of any sign and size.
    """
    kind = getattr(torch, dtype)

    def make(g: torch.Generator) -> tuple[Any, ...]:
        experts = [_layer(normal(g, d, d, dtype=kind), normal(g, d, dtype=kind), strict) for _ in range(E)]
        index = torch.rand(N, E - unused, generator=g).argsort(-1)[:, :k]
        gates = (torch.rand(N, k, generator=g, dtype=torch.float64) - (0.5 if signed else -0.2)).to(kind)
        x = normal(g, N, d, dtype=kind)
        if apart:
            x, index, gates = strided(x), strided(index), strided(gates)
        return x, experts, index, gates

    return make


def _filled_up(args: tuple[Any, ...], got: Any) -> bool:
    """Return whether experts were given rows that belong to no token, with a right result."""
    return isinstance(got, tuple) and torch.allclose(got[0], mix_experts(*args)) and bool(got[1][:, -1].any())


def _counted(fn: Function, x: Tensor, experts: Sequence[Function], index: Tensor, gates: Tensor) -> Any:
    """Return the output, and how often each expert was given each token; what is not a token is in the last column."""
    table = torch.zeros(len(experts), len(x) + 1, dtype=torch.long)

    def counting(number: int) -> Function:
        def expert(rows: Tensor) -> Tensor:
            for row in rows.detach().reshape(-1, x.shape[-1]):
                hits = (x == row).all(-1).nonzero().flatten()
                table[number, int(hits[0]) if len(hits) else len(x)] += 1
            return experts[number](rows)

        return expert

    return fn(x, [counting(number) for number in range(len(experts))], index, gates), table


_WRONG_ROWS = (
    "The values are right, but the experts did not get exactly the rows that chose them, each row once. A mixture "
    "saves work only because most experts never see most tokens: what is each of them called with?"
)

EXERCISE = exercise(
    mix_experts,
    right=RIGHT,
    asks="Add up, for each token, its experts' outputs times its gates; an expert sees its own tokens alone.",
    minutes=12,
    difficulty=3,
    importance=4,
    cases=(
        case("5 tokens, 4 experts, 2 chosen", _made(5, 3, 4, 2), gradient="equal"),
        case("one expert each", _made(5, 3, 2, 1), gradient="equal"),
        case("3 tokens, 3 experts, all chosen", _made(3, 3, 3, 3)),
        case("gates of any sign and size: 9 tokens, 5 experts, 3 chosen", _made(9, 4, 5, 3, signed=True)),
        case("one token", _made(1, 4, 3, 2, strict=False)),
        case("width 1", _made(6, 1, 3, 2)),
        case("one expert in all", _made(4, 3, 1, 1)),
        case("two experts that nobody chose", _made(4, 3, 5, 2, unused=2), gradient="finite"),
        case("non-contiguous inputs", _made(6, 4, 4, 2, apart=True)),
        case("float32", _made(7, 5, 4, 2, dtype="float32")),
        case("bfloat16", _made(5, 3, 4, 2, dtype="bfloat16")),
        case("which rows each expert is given", _made(8, 3, 4, 2), run=_counted, says=_WRONG_ROWS),
        case("which rows each of 6 experts is given, where one is chosen", _made(7, 3, 6, 1, unused=1), run=_counted,
             says=_WRONG_ROWS),
    ),
    mistakes=(
        mistake("all experts on all tokens", "The values are right, but experts worked on tokens that had not chosen "
                "them, and what they made of these was multiplied by 0. Which rows does an expert need?", _DENSE,
                _DENSE_STACKED, _MASKED,
                _EACH_TIME, "made = experts[number](x)[rows]"),
        mistake("a row given more than once", "The values are right, but experts were called again for rows they had "
                "had already. How often is each row needed?",
                "made = (experts[number](given) + experts[number](given)) / 2"),
        mistake("an expert given no rows but a vector", "An expert takes rows, (n, d), and was given a tensor with "
                "fewer or more axes. What keeps an axis for the rows, even if there is one of them?", _ONE_BY_ONE,
                "made = experts[number](given.unsqueeze(0)).squeeze(0)",
                "made = experts[number](given.unsqueeze(1)).squeeze(1)"),
        mistake("index not used", "Column j of the gates went to expert j, for every token. Which argument says who "
                "was chosen?", _BY_PLACE),
        mistake("one token's choice for all", "All tokens were sent to the experts of one. Each has a row of `index` "
                "of its own.", _ALL_AS_THE_FIRST, "found = (index[:1].expand_as(index) == number).nonzero()"),
        mistake("not added up", "A token's experts stand side by side, or the largest was taken. What does a sum over "
                "its choices make of them?", _PARTS.format("parts"), _PARTS.format("parts.flatten(1)"),
                _PARTS.format("parts.flatten(0, 1)"), _PARTS.format("parts.transpose(0, 1)"),
                _PARTS.format("list(parts.unbind(1))"),
                _PARTS.format("parts.amax(1)"), _PARTS.format("parts.prod(1)")),
        mistake("an expert left out", "One expert's part is missing, whoever chose it: the loop begins or ends one "
                "off. Which numbers does `range` give?", "idle = len(rows) == 0 or number == len(experts) - 1",
                "idle = len(rows) == 0 or number == 0"),
        mistake("tokens dropped", "Some tokens are missing from their experts, as where each has room for only so many "
                "(a capacity). Who is to be served here?",
                *(f"found = (index == number).nonzero()[: {room}]" for room in (
                    "max(1, int(1.25 * index.numel() / len(experts)))", "-(-index.numel() // len(experts))",
                    "max(1, index.numel() // len(experts))", "max(1, int(1.25 * len(x) / len(experts)))", "1"))),
        mistake("one expert after another", "An expert worked on what those before it had made of the token. What does "
                "each of them get?", "given = (x + totals[-1])[rows]", _CHOICE_BY_CHOICE),
        mistake("assignment for addition", "A token's later expert overwrote the earlier one. How do the two come "
                "together?", "total = totals[-1].index_copy(0, rows, part)"),
        mistake("gate by expert number", "The gate was looked up by the expert's number. In which column of `gates` "
                "does a token's second choice stand, whichever expert it is?",
                "share = gates[rows, number].unsqueeze(-1)",
                "share = gates[rows, number % gates.shape[1]].unsqueeze(-1)",
                "share = gates[rows, min(number, gates.shape[1] - 1)].unsqueeze(-1)"),
        mistake("gate inside the expert", "The token was multiplied by its gate before the expert saw it. Does an "
                "expert of half the token make half the output?", "made = experts[number](share * given)\npart = made",
                "made = experts[number](share * given)"),
        mistake("first choice only", "Each token is sent to its first expert alone. What of the others?",
                "found = (index[:, :1] == number).nonzero()"),
        mistake("last choice only", "Only a token's last expert counts: the others were not called, or what they made "
                "was written over. How do several shares come together in one row?",
                "found = (index == number).nonzero()\nfound = found[found[:, 1] == index.shape[1] - 1]"),
        mistake("gates not used", "All experts of a token count alike. Where do the gates come in?", "part = made",
                "part = made / index.shape[1]"),
        mistake("gates changed", "The gates were normalised, squared, cut off or otherwise changed. They are used as "
                "given, of any sign and size.",
                "share = gates.clamp(min=0)[rows, choice].unsqueeze(-1)", "share = gates.abs()[rows, "
                "choice].unsqueeze(-1)", "share = (gates * (gates > 0.1))[rows, choice].unsqueeze(-1)",
                "share = gates.sigmoid()[rows, choice].unsqueeze(-1)",
                "share = (gates / gates.sum(-1, keepdim=True))[rows, choice].unsqueeze(-1)",
                "share = gates.softmax(-1)[rows, choice].unsqueeze(-1)", "share = gates[rows, "
                "choice].square().unsqueeze(-1)", "out = totals[-1] / gates.sum(-1, keepdim=True)"),
        mistake("one gate for several tokens", "Gates and rows are out of step: a token's output is multiplied by "
                "another one's gate. Which two indices find a gate?",
                "share = gates[rows, choice].flip(0).unsqueeze(-1)",
                "share = gates[rows, choice.flip(0)].unsqueeze(-1)",
                "share = gates.flatten()[: len(rows)].unsqueeze(-1)",
                "share = gates[: len(rows)].gather(1, choice.unsqueeze(-1))",
                f"share = gates.mT.flatten()[{_NUMBERED}].unsqueeze(-1)"),
        mistake("outputs in the experts' order", "The outputs stand in the order in which the experts made them, or "
                "were put back in a wrong one. To which token, and to which of its choices, does each of them belong?",
                _SORTED.format(""), _SORTED.format("[order]")),
        mistake("choices of the wrong tokens", "The choices of all tokens were put in one row, and given to tokens "
                "that had not made them. In such a row, whose choices stand side by side?",
                f"given = x[({_NUMBERED}) % len(x)]",
                f"rows = ({_NUMBERED}) % len(x)\nshare = gates[found[:, 0], choice].unsqueeze(-1)",
                f"rows = ({_NUMBERED}) % len(x)"),
        mistake("zeros of another dtype", "The sums were begun with zeros of torch's own dtype, float32, and what is "
                "added has that of x. What makes zeros like those of another tensor?",
                "totals = [torch.zeros(x.shape)]",
                "totals = [torch.zeros(x.shape)]\ntotal = totals[-1].index_add_(0, rows, part)"),
        mistake("another choice's gate", "A token's experts all count with its first or largest gate, or with all its "
                "gates together. Each of its choices has a gate of its own: in which column?",
                "share = gates[rows, 0].unsqueeze(-1)", "share = gates[rows].sum(-1, keepdim=True)",
                "share = gates[rows].mean(-1, keepdim=True)", "share = gates[rows].amax(-1, keepdim=True)",
                "share = gates[rows, -1].unsqueeze(-1)"),
        mistake("gates in another order than their experts", "The gates were sorted, or turned round, and the experts "
                "were not. Which column of `gates` belongs to which column of `index`?",
                "share = gates.sort(-1).values[rows, choice].unsqueeze(-1)",
                "share = gates.sort(-1, descending=True).values[rows, choice].unsqueeze(-1)",
                "share = gates.flip(-1)[rows, choice].unsqueeze(-1)"),
        mistake("a mean of the experts", "The sum was divided by the number of choices or of experts. The gates say "
                "how much each counts.", "out = totals[-1] / index.shape[1]", "out = totals[-1] / len(experts)"),
        mistake("experts counted from 1", "Each token is sent to the expert after or before its own. From which number "
                "are experts counted?", "found = (index == number + 1).nonzero()", "found = (index == (number + 1) % "
                "len(experts)).nonzero()", "found = (index == number - 1).nonzero()",
                "made = experts[(number + 1) % len(experts)](given)"),
        mistake("outputs put in the first rows", "What an expert made was added to the first rows, and not to the "
                "tokens it came from. Where does each row belong?", "total = totals[-1].index_add(0, "
                "torch.arange(len(rows)), part)"),
        mistake("the token added", "The output is more than the experts' sum: the token itself is in it. A residual "
                "connection goes around the mixture, not inside it.", "out = totals[-1] + x", "totals = [x.clone()]"),
        mistake("the input overwritten", "The sums were written into x. Whoever needs the tokens again, as the "
                "residual connection does, has lost them.",
                "totals = [x]\ntotal = totals[-1].index_add_(0, rows, part)"),
        mistake("the tokens weighed instead of the experts", "The experts' outputs are not used. What do the gates "
                "weigh?", "part = share * given"),
        mistake("rows that belong to no token", "The values are right, but experts were given rows of zeros as well, "
                "as to fill a block. Which rows does an expert need?",
                "made = experts[number](F.pad(given, (0, 0, 0, len(x) - len(rows))))[: len(rows)]",
                "made = experts[number](F.pad(given, (0, 0, 0, 1)))[: len(rows)]", matches=_filled_up),
        mistake("experts called without rows", "The values are right, but an expert that nobody chose was given a row "
                "all the same. What is there to do for it?",
                "idle = False\ngiven = x[rows] if len(rows) else x[:1]\n"
                "made = experts[number](given)[: len(rows)]"),
        cut_off("share = gates[rows, choice].detach().unsqueeze(-1)", "made = experts[number](given.detach())",
                "made = experts[number](given).detach()",
                "share = gates[rows, choice].detach().unsqueeze(-1)\nmade = experts[number](given.detach())"),
        squeezed("return out{}"),
        overwritten(*writing(mix_experts, 0, 3)),
        *other_kinds("out", "index"),
        lower_precision(mix_experts, "part = (share * made).float().to(x.dtype)"),
    ),
    hints=(
        "Go through the experts, not through the tokens: for each one, which tokens chose it, and as which of their "
        "choices?",
        "`(index == number).nonzero()` has a line for each such choice: the token, and the column in which its gate "
        "stands.",
        "Take those rows of x, call the expert once, multiply by the gates with one more axis, and add the result to "
        "the same rows of the output: `index_add`.",
        "An expert without rows is passed over.",
    ),
)
