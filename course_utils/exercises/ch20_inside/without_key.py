"""Exercise: hide a key from a head whose weights are there already."""

from typing import Any

import torch
from course_utils.checking.exercise import Law, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import (
    cut_off,
    fixed_axes,
    left_in,
    other_kinds,
    overwritten,
    squeezed,
    writing,
)
from course_utils.exercises.shared.precision import rounded_off
from course_utils.interpretability import without_key
from torch import Tensor

RIGHT = """
def without_key(weights, key):
    table = weights
    others = torch.arange(table.shape[-1]) != key
    kept = table * others
    left = kept.sum(-1, keepdim=True)
    divisor = torch.where(left > 0, left, 1.0)
    result = kept / divisor
    return result
"""

_NOT_ITS_ROW = "(torch.arange(table.shape[-2]) != key).unsqueeze(-1)"


def _made(*shape: int, key: int, dtype: torch.dtype = torch.float64) -> Make:
    return lambda g: (normal(g, *shape).softmax(-1).to(dtype), key)


def _causal(key: int) -> Make:
    """Make causal rows: where key is 0, the first query has nothing left."""

    def make(g: torch.Generator) -> tuple[Tensor, int]:
        scores = normal(g, 2, 3, 5, 5)
        return scores.masked_fill(torch.ones(5, 5).triu(1) > 0, -torch.inf).softmax(-1), key

    return make


def _some_empty(key: int) -> Make:
    def make(g: torch.Generator) -> tuple[Tensor, int]:
        weights = normal(g, 2, 4, 3).softmax(-1)
        weights[0, 1] = weights[1, 3] = 0.0
        weights[1, 0] = torch.arange(3) == key
        return weights, key

    return make


def _sink(rest: float, key: int, dtype: torch.dtype = torch.float64) -> Make:
    """Make rows of which a key leaves only this much to the others, and one row of another kind."""

    def make(g: torch.Generator) -> tuple[Tensor, int]:
        weights = normal(g, 2, 3, 5).softmax(-1)
        small = weights * (torch.arange(5) != key)
        small = small / small.sum(-1, keepdim=True) * rest
        small[..., key] = 1 - rest
        small[0, 1] = weights[0, 1]
        return small.to(dtype), key

    return make


def _two(g: torch.Generator) -> tuple[Tensor, int]:
    return torch.tensor([[0.5, 0.2, 0.3], [0.1, 0.6, 0.3]], dtype=torch.float64), 0


def _sums(args: tuple[Any, ...], got: Tensor) -> str | None:
    weights, key = args
    if got.shape != weights.shape or not got.is_floating_point():
        return None
    column = got.detach()[..., key].abs().max().item() if got.numel() else 0.0
    if not column <= 1e-9:
        return f"A query still gives the key {column:.3g}."
    left = (weights.sum(-1) - weights[..., key]) > 1e-6
    sums = got.detach().sum(-1)[left]
    off = (sums - 1).abs().max().item() if sums.numel() else 0.0
    return f"A row that has something left sums to {1 + off:.4g} or {1 - off:.4g}, not to 1." if off > 1e-4 else None


def _floor(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether something small was added to the divisor, or it was lifted to something small."""
    weights, key = args
    kept = weights * (torch.arange(weights.shape[-1]) != key)
    left = kept.sum(-1, keepdim=True)
    sizes = [one * 10.0**power for power in range(-16, 0) for one in (1, 2, 5)]
    sizes += [torch.finfo(kind).eps for kind in (torch.float32, torch.float64)]
    made = (kept / one for size in sizes for one in (left + size, left.clamp(min=size)))
    return any(torch.allclose(one, got, rtol=1e-6, atol=1e-9) for one in made)


_SHIFT = "moved = table[..., key : key + 1]\n"

EXERCISE = exercise(
    without_key,
    right=RIGHT,
    asks="From a head's weights, give those that the same scores would give if no query could see one of the keys.",
    minutes=6,
    difficulty=2,
    importance=4,
    cases=(
        case("2 queries, 3 keys, without the first", _two, gradient="equal"),
        case("the middle key: a batch of shape (2, 3), 4 queries, 5 keys", _made(2, 3, 4, 5, key=2), gradient="equal"),
        case("the last key: 6 queries, 4 keys", _made(2, 6, 4, key=3), gradient="equal"),
        case("the first key: 3 queries, 6 keys", _made(3, 6, key=0), gradient="equal"),
        case("more queries than keys", _made(2, 7, 3, key=1)),
        case("a causal mask, without key 2", _causal(2), gradient="finite"),
        case("a causal mask, without key 0: nothing is left for query 0", _causal(0), gradient="finite"),
        case("rows of zeros, and a row with all on the key", _some_empty(1), gradient="finite"),
        case("the key holds .999999 of most rows", _sink(1e-6, 0)),
        case("the key holds 1 - 1e-10 of most rows", _sink(1e-10, 4), tolerance=1e-6),
        case("the key holds 1 - 1e-13 of most rows", _sink(1e-13, 0), gradient="finite", tolerance=1e-6),
        case("the key holds 1 - 1e-13 of most rows, in the middle", _sink(1e-13, 2), tolerance=1e-6),
        case("two keys", _made(2, 3, 2, key=1)),
        case("one key: nothing is left", _made(2, 3, 1, key=0)),
        case("one query", _made(3, 1, 5, key=3)),
        case("no leading axis", _made(4, 6, key=4)),
        case("one sequence, one head", _made(1, 1, 3, 5, key=2)),
        case("three leading axes", _made(2, 1, 3, 4, 5, key=1)),
        case("every size is 4", _made(4, 4, 4, 4, key=1)),
        case("many keys", _made(2, 3, 50, key=20)),
        case("non-contiguous inputs", lambda g: (strided(_made(2, 4, 6, key=0)(g)[0]), 5)),
        case("float32", _made(2, 3, 7, key=3, dtype=torch.float32), gradient="finite"),
        case("float32, the key holds nearly all", _sink(1e-7, 1, torch.float32)),
        case("float32, rows of zeros", lambda g: (_some_empty(0)(g)[0].float(), 0), gradient="finite"),
    ),
    mistakes=(
        mistake("not divided", "The key's weights are 0, but the others are what they were, so the rows sum to less "
                "than 1. That sets the key's *value* to 0. If the key could not be seen, to whom would its weight go?",
                "result = kept", "left = table.sum(-1, keepdim=True)"),
        mistake("divided by 1 minus the key's weight", "The divisor is 1 minus the weight that was taken out. Where "
                "the key holds nearly all, that is mostly rounding. Of which numbers can what is left be computed "
                "without a subtraction?",
                "left = 1 - table[..., key : key + 1]",
                "left = table.sum(-1, keepdim=True) - table[..., key : key + 1]",
                "divisor = 1 - table[..., key : key + 1]",
                "divisor = table.sum(-1, keepdim=True) - table[..., key : key + 1]",
                "divisor = (1 - table[..., key : key + 1]).clamp(min=1e-12)",
                "divisor = (1 - table[..., key : key + 1]).clamp(min=1e-9)",
                "divisor = 1 - table[..., key : key + 1] + 1e-9", "divisor = 1 - table[..., key : key + 1] + 1e-12",
                "result = (kept / (1 - table[..., key : key + 1])).nan_to_num(0.0)",
                "result = torch.where(others, table / (1 - table[..., key : key + 1]), 0.0)",
                "result = torch.where(others, table / (table.sum(-1, keepdim=True) - table[..., key : key + 1]), 0.0)"),
        mistake("a gradient that is not finite where nothing is left", "The values are right, but the gradient is NaN "
                "in a row that has nothing left, or at a weight of 0: the NaN was replaced after the division, or a "
                "logarithm of 0 is in the graph. What must be safe before it is divided by?",
                "result = (kept / left).nan_to_num(0.0)", "result = torch.where(left > 0, kept / left, 0.0)",
                "result = (kept / left).masked_fill(left == 0, 0.0)",
                *("kept = table.masked_fill(~others, 0.0)\n" + line for line in (
                    "result = (kept / left).nan_to_num(0.0)", "result = torch.where(left > 0, kept / left, 0.0)",
                    "result = (kept / left).masked_fill((kept / left).isnan(), 0.0)")),
                "result = torch.where(others & (left > 0), table / left, 0.0)",
                "result = table.log().masked_fill(~others, -torch.inf).softmax(-1).nan_to_num(0.0)",
                "result = torch.where(left > 0, table.log().masked_fill(~others, -torch.inf).softmax(-1), 0.0)"),
        mistake("NaN where nothing is left", "A row that has nothing left gives NaN: 0 was divided by 0. What does the "
                "exercise ask for there?", "divisor = left", "result = torch.where(others, table / left, 0.0)",
                "result = table.log().masked_fill(~others, -torch.inf).softmax(-1)",
                "result = (table.log() - table.log().masked_fill(~others, -torch.inf).logsumexp(-1, keepdim=True))"
                ".exp() * others"),
        mistake("the query's row", "A row was taken for a column: the query of this number sees nothing now. Which "
                "axis holds the keys?", "kept = table * (torch.arange(table.shape[-2]) != key).unsqueeze(-1)",
                "result = table * (torch.arange(table.shape[-2]) != key).unsqueeze(-1)",
                "kept = table.clone()\nkept[..., key, :] = 0\nleft = kept.sum(-1, keepdim=True)",
                "kept = table.clone()\nkept[..., key, :] = 0\nleft = kept.sum(-1, keepdim=True)\nresult = kept"),
        mistake("the query of this number silenced too", "The key is hidden, but the query of the same number sees "
                "nothing now. It may look at all other keys.",
                f"kept = table * others * {_NOT_ITS_ROW}", f"result = kept / divisor * {_NOT_ITS_ROW}"),
        mistake("spread evenly", "The key's weight was shared out evenly. With the same scores, which of the others "
                "would gain more: those with large weights, or those with small ones?",
                "result = kept + table[..., key : key + 1] * others / max(1, table.shape[-1] - 1)",
                "result = kept + table[..., key : key + 1] / table.shape[-1]",
                "result = kept + table[..., key : key + 1] / max(1, table.shape[-1] - 1)",
                "result = (table + table[..., key : key + 1] / max(1, table.shape[-1] - 1)) * others",
                "result = (table + table[..., key : key + 1] / table.shape[-1]) * others",
                "result = kept + table[..., key : key + 1] * (kept > 0) / (kept > 0).sum(-1, keepdim=True)"
                ".clamp(min=1)",
                "result = kept + (1 - left) * others / max(1, table.shape[-1] - 1)"),
        mistake("softmax of weights", "A softmax was taken of the weights. They have been through one: what is a "
                "score's weight before it is divided by the row's sum?",
                "result = kept.softmax(-1)", "result = table.masked_fill(~others, -torch.inf).softmax(-1)",
                "result = table.masked_fill(~others, -torch.inf).softmax(-1).nan_to_num(0.0)",
                "result = kept.softmax(-1) * others",
                "result = table.masked_fill(~others, -1e9).softmax(-1)",
                "result = table.masked_fill(~others, -1e9).softmax(-1) * others"),
        mistake("column cut out", "The key's column is gone. It stays, with zeros: who comes after counts on the "
                "number of keys.",
                "result = (kept / divisor)[..., others]", "result = kept[..., others]",
                "table = weights[..., torch.arange(weights.shape[-1]) != key]\nothers = torch.tensor(True)"),
        mistake("counted from the end", "The key was counted from the last one. Where does key 0 stand?",
                "others = torch.arange(table.shape[-1]).flip(0) != key"),
        mistake("always key 0", "The first key was hidden, whichever was asked for.",
                "others = torch.arange(table.shape[-1]) != 0",
                "kept = torch.cat([0 * table[..., :1], table[..., 1:]], -1)",
                "others = torch.arange(table.shape[-1]) != 0\nresult = kept"),
        mistake("always the last key", "The last key was hidden, whichever was asked for.",
                "others = torch.arange(table.shape[-1]) != table.shape[-1] - 1"),
        mistake("the strongest key", "The key with the largest weight was hidden, whichever was asked for.",
                "kept = table * (table < table.amax(-1, keepdim=True))"),
        mistake("a neighbour hidden", "The key beside the one that was asked for was hidden. Which number has the "
                "first key?", "others = torch.arange(table.shape[-1]) != key + 1",
                "others = torch.arange(table.shape[-1]) != (key + 1) % table.shape[-1]",
                "others = torch.arange(table.shape[-1]) != key - 1",
                "others = torch.arange(table.shape[-1]) != (key - 1) % table.shape[-1]",
                "others = torch.arange(1, table.shape[-1] + 1) != key"),
        mistake("several keys hidden", "More keys than the one are 0: those before it or behind it, too.",
                "others = torch.arange(table.shape[-1]) > key", "others = torch.arange(table.shape[-1]) < key",
                "others = torch.arange(table.shape[-1]) > key\nresult = kept",
                "others = torch.arange(table.shape[-1]) < key\nresult = kept"),
        mistake("hidden from some queries", "Some queries still see the key. It is hidden from all of them.",
                "rows = torch.arange(table.shape[-2]).unsqueeze(-1)\nkept = table * (others | (rows <= key))",
                "rows = torch.arange(table.shape[-2]).unsqueeze(-1)\nkept = table * (others | (rows < key))",
                "rows = torch.arange(table.shape[-2]).unsqueeze(-1)\nkept = table * (others | (rows > key))",
                "rows = torch.arange(table.shape[-2]).unsqueeze(-1)\nkept = table * (others | (rows != key))",
                "rows = torch.arange(table.shape[-2]).unsqueeze(-1)\nkept = table * (others | (rows == key))",
                "rows = torch.arange(table.shape[-2]).unsqueeze(-1)\n"
                "kept = table * (others | (rows != table.shape[-2] - 1))"),
        mistake("only the key kept", "The key that was to be hidden is the only one left. Which ones stay?",
                "others = torch.arange(table.shape[-1]) == key",
                "others = torch.arange(table.shape[-1]) == key\nresult = kept"),
        mistake("nothing hidden", "The weights came back as they were. Where is `key` used?",
                "result = table", "result = table.clone()", "kept = table",
                "kept = table\ndivisor = left"),
        mistake("the key's weight still there", "The others are divided by what is left, but the key has a weight "
                "still.", "result = table / divisor", "result = torch.where(others, kept / divisor, table)"),
        mistake("over the queries", "The sum runs over the queries. Along which axis does a softmax sum to 1?",
                "left = kept.sum(-2, keepdim=True)", "left = kept.mT.sum(-1, keepdim=True).mT"),
        mistake("an axis counted from the front", "The sum runs over an axis that is the right one for some numbers of "
                "axes only. Which one holds the keys, counted from the end?", "left = kept.sum(0, keepdim=True)",
                "left = kept.sum(1, keepdim=True)", "left = kept.sum(2, keepdim=True)",
                "left = kept.sum(3, keepdim=True)",
                "kept = table.clone()\nkept[:, key] = 0\nleft = kept.sum(-1, keepdim=True)",
                "kept = table.clone()\nkept[:, :, key] = 0\nleft = kept.sum(-1, keepdim=True)",
                "kept = table.clone()\nkept[key] = 0\nleft = kept.sum(-1, keepdim=True)",
                "kept = table.clone()\nkept[:, :, :, key] = 0\nleft = kept.sum(-1, keepdim=True)"),
        mistake("one divisor for all rows", "All rows were divided by one number. How much is left of each row is "
                "its own affair.",
                "left = kept.sum()", "left = kept.sum((-2, -1), keepdim=True)",
                "left = kept.sum(-1, keepdim=True).mean(-2, keepdim=True)",
                "left = kept.sum((*range(kept.dim() - 2), -1), keepdim=True)",
                "left = kept.sum(-1, keepdim=True).mean()", "left = kept.sum(-1, keepdim=True)[..., :1, :]"),
        mistake("divided by the old sum", "The rows were divided by the sum with the key, which is 1. What is left of "
                "a row when the key is gone?", 
                "left = table.sum(-1, keepdim=True)\ndivisor = left", "result = kept / table.sum(-1, keepdim=True)"),
        mistake("divided by another number", "The divisor is not what is left of the row. What must the others sum to?",
                "left = kept.amax(-1, keepdim=True)", "left = kept.norm(dim=-1, keepdim=True)",
                "left = kept.mean(-1, keepdim=True)", "left = table[..., key : key + 1]",
                "left = 1 + table[..., key : key + 1]", "divisor = table[..., key : key + 1]",
                "result = F.normalize(kept, dim=-1)", "left = kept.square().sum(-1, keepdim=True)",
                "left = others.sum().to(table.dtype).view(1)"),
        mistake("multiplied instead of divided", "The others were multiplied by what is left. Do they become larger "
                "or smaller when a key is gone?", "result = kept * left", "result = kept * divisor"),
        mistake("only nearly divided", "The others grew by the key's weight times their own, or the like. That is the "
                "first term of 1 / (1 - w): what is the whole?", "result = kept * (1 + table[..., key : key + 1])",
                "result = kept + kept * (1 - left)",
                "result = kept * (1 + table[..., key : key + 1] + table[..., key : key + 1].square())"),
        mistake("all given to one key", "All of the key's weight went to one other key: a neighbour, the strongest, "
                "the first or the last. All others gain, each in the same ratio.",
                f"{_SHIFT}result = kept + moved * (torch.arange(table.shape[-1]) == (1 if key == 0 else 0))",
                f"{_SHIFT}result = kept + moved * (torch.arange(table.shape[-1]) == (key + 1) % table.shape[-1])",
                f"{_SHIFT}result = kept + moved * (torch.arange(table.shape[-1]) == (key - 1) % table.shape[-1])",
                f"{_SHIFT}result = kept + moved * F.one_hot(kept.argmax(-1), table.shape[-1])",
                f"{_SHIFT}result = kept + moved * (torch.arange(table.shape[-1]) == table.shape[-1] - 1)"),
        mistake("weights moved along", "The keys behind the hidden one moved up. Each key keeps its place.",
                "result = F.pad((kept / divisor)[..., others], (0, 1))",
                "result = F.pad((kept / divisor)[..., others], (1, 0))"),
        mistake("something other than zeros where nothing is left", "A row that has nothing left is to be zeros.",
                "result = torch.where(left > 0, kept / divisor, others / max(1, table.shape[-1] - 1))",
                "result = torch.where(left > 0, kept / divisor, 1 / table.shape[-1])",
                "result = torch.where(left > 0, kept / divisor, table)",
                "result = torch.where(left > 0, kept / divisor, torch.inf)",
                "result = torch.where(left > 0, kept / divisor, 1.0)",
                "result = torch.where((left > 0) | ~table.any(-1, keepdim=True), kept / divisor, table)"),
        mistake("one empty row decides for all", "As soon as one row has nothing left, all rows are treated as it is. "
                "Each row has a sum of its own.",
                *(f"result = kept / left if bool((left > 0).all()) else {what}" for what in (
                    "torch.zeros_like(table)", "kept", "table")),
                "result = kept / left if bool((left > 0).any()) else torch.zeros_like(table)"),
        mistake("a small remainder taken for nothing", "Rows of which little is left became zeros, or were not "
                "divided. However little is left, the scores say how the others share it: which rest alone is nothing?",
                *(f"result = torch.where(left > {size}, kept / divisor, 0.0)" for size in (1e-12, 1e-9, 1e-8, 1e-6)),
                *(f"divisor = torch.where(left > {size}, left, 1.0)" for size in (1e-12, 1e-9, 1e-8, 1e-6)),
                "result = torch.where(table[..., key : key + 1] > 0.999, 0.0, kept / divisor)",
                "result = torch.where(torch.isclose(left, torch.zeros_like(left)), 0.0, kept / divisor)"),
        mistake("an epsilon larger than what is left", "Something small was added to the divisor, or it was lifted to "
                "it. Where the key holds nearly all, even less is left than that. Where alone is a divisor needed that "
                "is not what is left?",
                *(f"divisor = left + {size}" for size in (1e-12, 1e-10, 1e-9, 1e-8, 1e-6)),
                *(f"divisor = left.clamp(min={size})" for size in (1e-12, 1e-9, 1e-8, 1e-6)),
                "result = F.normalize(kept, p=1, dim=-1)", "divisor = left + torch.finfo(table.dtype).eps",
                "divisor = left.clamp(min=torch.finfo(torch.float32).eps)", matches=_floor),
        mistake("the key hidden with a small number", "The key has a small weight still, or a number was taken for "
                "-inf that is not low enough. What does it have where nobody can see it?",
                "kept = torch.where(others, table, 1e-9)", "kept = torch.where(others, table, 1e-6)",
                "kept = torch.where(others, table, 1e-12)", "kept = torch.where(others, table, 1e-4)"),
        mistake("the key's weight made negative", "The key's column is not 0. What is left of it where nobody can see "
                "it?",
                "kept = table - (~others).to(table.dtype)", "kept = torch.where(others, table, -1.0)",
                "kept = table.masked_fill(~others, -torch.inf)", "kept = table.masked_fill(~others, torch.nan)",
                "result = (kept / divisor).masked_fill(~others, -torch.inf)"),
        mistake("one head for all", "All heads or sequences have the weights of one, or of their mean.",
                "table = weights.reshape(-1, *weights.shape[-2:])[0]",
                "table = weights.reshape(-1, *weights.shape[-2:])[:1].expand(weights.shape)",
                "table = weights.mean(0, keepdim=True).expand(weights.shape)", "table = weights.mean(0)",
                "table = weights[:1].expand(weights.shape)", "table = weights[0]"),
        mistake("rows that were zeros filled", "A row of zeros belongs to a query that sees nothing. It stays zeros.",
                "result = torch.where(table.any(-1, keepdim=True), kept / divisor, others / max(1, table.shape[-1] - 1)"
                ")", "result = torch.where(table.any(-1, keepdim=True), kept / divisor, 1 / table.shape[-1])"),
        mistake("output with other axes", "The values are right, but the result must have the axes (..., L, S).",
                "return result.mT", "return result.flatten()", "return result.flatten(0, -2)"),
        mistake("only the row sums", "One number for each query came back. Each query has a weight for each key.",
                "return left", "return left.squeeze(-1)", "return divisor"),
        overwritten("kept = table.mul_(others)", "kept = table\nkept[..., key] = 0\nleft = kept.sum(-1, keepdim=True)",
                    "kept = table\nkept[..., key] = 0\nleft = kept.sum(-1, keepdim=True)\nresult = kept",
                    "kept = table.data.mul_(others)",
                    "kept = table.detach()\nkept[..., key] = 0\nleft = kept.sum(-1, keepdim=True)",
                    *writing(without_key, 0)),
        fixed_axes("left = torch.einsum('bhls->bhl', kept).unsqueeze(-1)",
                   "left = torch.einsum('bls->bl', kept).unsqueeze(-1)",
                   "left = torch.einsum('ls->l', kept).unsqueeze(-1)",
                   "B, H, L, S = weights.shape\ntable = weights"),
        mistake("the sum's axis lost", "The sum has one axis fewer than the rows, so it does not fit, or fits the "
                "wrong ones. How does a sum keep its axis?", "left = kept.sum(-1)"),
        mistake("the divisor cut off from the gradient", "The values are right, but the gradient is that of a division "
                "by a constant. If one of the others rises, what is left rises, too: which call cuts that off?",
                "left = kept.sum(-1, keepdim=True).detach()", "divisor = torch.where(left > 0, left, 1.0).detach()",
                "result = kept.detach() / divisor"),
        mistake("a gradient at the hidden key", "The values are right, but the hidden key still gets a gradient. Does "
                "anything depend on its weight?",
                "kept = table - (table * ~others).detach()", "result = kept / divisor + (table - table.detach())"),
        mistake("computed in float32", "The numbers went through float32, so that only seven digits are right. Which "
                "dtype have the weights?", "result = (kept.float() / divisor.float()).to(table.dtype)",
                "table = weights.float()\nresult = (kept / divisor).to(weights.dtype)",
                "kept = table.float() * others\nresult = (kept / divisor).to(table.dtype)"),
        rounded_off(without_key, "return result.round(decimals=4)", "return result.round(decimals=2)"),
        squeezed("return result{}"), left_in("return result{}"),
        cut_off("return result.detach()", "return torch.from_numpy(result.detach().numpy())"),
        *other_kinds("result"),
    ),
    laws=(Law("nothing on the key, and rows that have something left sum to 1", _sums),),
    hints=(
        "By hand: from (.5, .2, .3) take the first key out. With the same scores, the other two keep their ratio, and "
        "sum to 1.",
        "A weight is exp(score) divided by the row's sum, so without the key only the divisor changes. What is the "
        "new one?",
        "Add up what is left, with `keepdim=True`. A row whose sum is 0 needs another divisor, put there before the "
        "division: `torch.where(left > 0, left, 1.0)`.",
    ),
)
