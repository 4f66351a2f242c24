"""Exercise: a rank's whole part of ring attention."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake, without
from course_utils.checking.recipe import Function
from course_utils.distributed import ring_attention
from course_utils.distributed import ring_attention_step as ring_attention_step
from course_utils.exercises.shared.kinds import batch_mixed, other_kinds
from course_utils.exercises.shared.precision import lower_precision
from course_utils.exercises.shared.scale import DEFAULT
from course_utils.exercises.shared.values import average_law
from course_utils.measure import count_flops, largest_tensor
from course_utils.measure.cost import Watching, storage_of
from torch import Tensor
from torch.utils._pytree import tree_leaves

RIGHT = """
def ring_attention(query, key, value, begin, rank, world_size):
    default = 1 / math.sqrt(query.shape[-1])
    length = query.shape[2]
    places = torch.arange(length)
    asking = (rank * length + places).unsqueeze(1)
    out = query.new_zeros(*query.shape[:3], value.shape[-1])
    lse = query.new_full(query.shape[:3], -torch.inf)
    held = key, value
    rotations = world_size - 1
    for step in range(rotations + 1):
        k, v = held
        source = (rank - step) % world_size
        asked = (source * length + places).unsqueeze(0)
        visible = asked <= asking
        is_seen = bool(visible.any())
        goes_on = step < rotations
        handed = held
        finish = begin(*handed) if goes_on else None
        if is_seen:
            products = query @ k.mT
            scaled = products * default
            scores = scaled.masked_fill(~visible, -torch.inf)
            part = stable_softmax(scores) @ v
            lse_b = scores.logsumexp(-1)
            together = torch.logaddexp(lse, lse_b)
            share_a, share_b = (lse - together).exp(), (lse_b - together).exp()
            joined = share_a.unsqueeze(-1) * out + share_b.unsqueeze(-1) * part
            out = joined
            total = together
            lse = total
        if goes_on:
            came = finish()
            held = came
    result = out
    return result
"""
# Every number below is of all ranks, on a first axis; a case says whose part is asked for.
_SIZES = {"B": 2, "H": 3, "L": 4, "d_k": 5, "d_v": 3}


def _made(
    rank: int, world_size: int, *, size: float = 1.0, dtype: str = "float64", apart: bool = False, low: bool = False,
    **sizes: int,
) -> Make:  # fmt: skip
    """Make the queries, keys and values of all ranks, the rank, and how many ranks there are."""
    B, H, L, d_k, d_v = ({**_SIZES, **sizes}[name] for name in ("B", "H", "L", "d_k", "d_v"))

    def make(g: torch.Generator) -> tuple[Any, ...]:
        wide = (size, size, 1.0)
        given = [
            normal(g, world_size, B, H, L, d, size=one, dtype=getattr(torch, dtype))
            for d, one in zip((d_k, d_k, d_v), wide, strict=True)
        ]
        if low:
            given[:2] = given[0].abs(), -given[1].abs()
        return (*(strided(x) if apart else x for x in given), rank, world_size)

    return make


class _Work(Watching):
    """Counts the numbers that are computed: the elements of new tensors made from floats."""

    def note(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        given = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor) and x.is_floating_point()]
        held = {storage_of(x) for x in given}
        made = (x for x in tree_leaves(out) if isinstance(x, Tensor) and storage_of(x) not in held)
        self.total += sum(x.numel() for x in made) if given else 0


class _Ring:
    """The other ranks, as one of them sees them: they do what they should."""

    def __init__(self, keys: Tensor, values: Tensor, rank: int, world_size: int) -> None:
        self.keys, self.values, self.rank, self.world_size = keys, values, rank, world_size
        self.handed: list[int] = []
        self.work = _Work()
        self.meanwhile = 0

    def begin(self, key: Tensor, value: Tensor) -> Callable[[], tuple[Tensor, Tensor]]:
        """Note whose block is handed on, and return what waits for that of the previous rank.

        -1 is nobody's block, or one not waited for, and -2 one that was changed on its way.
        """
        if len(self.handed) > 2 * self.world_size:
            raise RuntimeError("the other ranks stopped rotating long ago")
        turn, before, owner = len(self.handed), self.work.total, self._owner(key, value)
        self.handed.append(-1)
        source = (self.rank - turn - 1) % self.world_size

        def finish() -> tuple[Tensor, Tensor]:
            self.meanwhile += self.work.total - before
            self.handed[turn] = owner if self._owner(key, value) == owner else -2
            return self.keys[source].clone(), self.values[source].clone()

        return finish

    def _owner(self, key: Tensor, value: Tensor) -> int:
        owners = (r for r in range(self.world_size) if self._is(r, key, value))
        return next(owners, -1)

    def _is(self, owner: int, key: Tensor, value: Tensor) -> bool:
        return torch.equal(key, self.keys[owner]) and torch.equal(value, self.values[owner])


def _part(fn: Function, queries: Tensor, keys: Tensor, values: Tensor, rank: int, world_size: int) -> Any:
    """Return one rank's rows."""
    ring = _Ring(keys, values, rank, world_size)
    return fn(queries[rank], keys[rank], values[rank], ring.begin, rank, world_size)


def _handed_on(fn: Function, queries: Tensor, keys: Tensor, values: Tensor, rank: int, world_size: int) -> Any:
    """Return whose block was handed on at each rotation."""
    ring = _Ring(keys, values, rank, world_size)
    fn(queries[rank], keys[rank], values[rank], ring.begin, rank, world_size)
    return torch.tensor(ring.handed)


def _wastes(fn: Function, queries: Tensor, keys: Tensor, values: Tensor, rank: int, world_size: int) -> bool:
    """Return whether more is multiplied than rank + 1 blocks.

    There is room for an operator that gives no logsumexp, beside the scores from which it comes.
    """
    _, B, H, L, d_k = queries.shape
    needed = (rank + 1) * 2 * B * H * L * L * (d_k + values.shape[-1])
    return count_flops(_part, fn, queries, keys, values, rank, world_size) > 1.8 * needed


def _surplus(fn: Function, queries: Tensor, keys: Tensor, values: Tensor, rank: int, world_size: int) -> int:
    """Return by how many elements the largest new tensor exceeds two blocks."""
    _, B, H, L, d_k = queries.shape
    limit = 2 * B * H * L * max(L, d_k, values.shape[-1])
    return max(0, largest_tensor(_part, fn, queries, keys, values, rank, world_size) - limit)


def _waits(fn: Function, queries: Tensor, keys: Tensor, values: Tensor, rank: int, world_size: int) -> bool:
    """Return whether less than half of the work is done while a block is on its way.

    Whoever collects the blocks can multiply nothing meanwhile; that is told by what is held.
    """
    if _surplus(fn, queries, keys, values, rank, world_size):
        return False
    ring = _Ring(keys, values, rank, world_size)
    with ring.work:
        fn(queries[rank], keys[rank], values[rank], ring.begin, rank, world_size)
    return 2 * ring.meanwhile < ring.work.total


def _case(name: str, *ranks: int, tolerance: float | None = None, **sizes: Any) -> Case:
    return case(name, _made(*ranks, **sizes), run=_part, tolerance=tolerance)


def _rotations(name: str, rank: int, world_size: int) -> Case:
    return case(f"the rotations of {name}", _made(rank, world_size, B=1, H=2), run=_handed_on, says=_HANDED)


def _order(name: str, rank: int, world_size: int) -> Case:
    return case(f"the order of {name}", _made(rank, world_size, B=1, H=2, L=8), run=_waits, says=_WAITED)


def _work(name: str, rank: int, world_size: int) -> Case:
    return case(f"the work of {name}", _made(rank, world_size, B=1, H=2, d_v=4), run=_wastes, says=_MULTIPLIED)


_HANDED = ("The values are right, but not what is handed on: each rank must call `begin` one time less than there are "
           "ranks, first with its own block, then each time with what it was handed, and wait with `finish` each time. "
           "What would the next rank be given, and who would wait for whom?")
_WAITED = ("The values are right, but this rank sits idle while a block is on its way: little is computed between "
           "`begin` and its `finish`. Which block could be multiplied while it is being sent?")
_MULTIPLIED = ("The values are right, but more blocks are multiplied than this rank sees. Which blocks lie wholly in "
               "its future?")
_COLLECTED = ("The values are right, but a tensor is made that is much larger than a block. What is the most that a "
              "rank of a ring has to hold at once?")
_EVEN = "share_a, share_b = torch.full_like(lse, 0.5), torch.full_like(lse, 0.5)"
_GATHERED = """
def ring_attention(query, key, value, begin, rank, world_size):
    keys, values = {rank: key}, {rank: value}
    for step in range(1, world_size):
        key, value = begin(key, value)()
        keys[(rank - step) % world_size], values[(rank - step) % world_size] = key, value
    every = range(EVERY)
    all_keys, all_values = torch.cat([keys[r] for r in every], 2), torch.cat([values[r] for r in every], 2)
    scores = query @ all_keys.mT / math.sqrt(query.shape[-1])
    i = rank * query.shape[2] + torch.arange(query.shape[2])
    visible = torch.arange(all_keys.shape[2]) <= i.unsqueeze(1)
    return scores.masked_fill(~visible, -torch.inf).softmax(-1) @ all_values
"""
_WHOLE_STEP = """
def ring_attention(query, key, value, begin, rank, world_size):
    place = torch.arange(query.shape[2])
    out, lse = OUT, torch.full(query.shape[:3], -torch.inf, dtype=query.dtype)
    for step in range(world_size):
        source = (rank - step) % world_size
        where = rank * len(place) + place, source * len(place) + place
        finish = begin(key, value) if step < world_size - 1 else None
        out, lse = ring_attention_step(out, lse, query, key, value, *where)
        if finish:
            key, value = finish()
    return out
"""
_ONLINE = """
def ring_attention(query, key, value, begin, rank, world_size):
    length = query.shape[2]
    m = query.new_full((*query.shape[:3], 1), -torch.inf)
    l, acc = torch.zeros_like(m), query.new_zeros(*query.shape[:3], value.shape[-1])
    for step in range(world_size):
        finish = begin(key, value) if step < world_size - 1 else None
        if step <= rank:
            scores = query @ key.mT / math.sqrt(query.shape[-1])
            hidden = torch.ones(length, length, dtype=torch.bool).triu(1) & (step == 0)
            scores = scores.masked_fill(hidden, -torch.inf)
            own = scores.amax(-1, keepdim=True)
            top = torch.maximum(m, own)
            powers, shrink = (scores - top).exp(), (m - top).exp()
            l_new = l * shrink + powers.sum(-1, keepdim=True)
            acc_new = acc * shrink + powers @ value
            l, acc, m = l_new, acc_new, top
        if finish:
            key, value = finish()
    result = acc / l
    return result
"""


def _indented(line: str, old: re.Match[str]) -> str:
    return old[1] + line


def _online(*lines: str) -> str:
    """Return the answer that keeps a maximum, a sum and an unfinished output, with these lines in it."""
    text = _ONLINE
    for line in lines:
        name = line.split(" = ")[0]
        text = re.sub(rf"^( +){re.escape(name)} = .*$", partial(_indented, line), text, flags=re.MULTILINE)
    return text


_BARE_LSE = "lse_b = scores.exp().sum(-1).log()"
_BARE_PART = "part = scores.exp() @ v / scores.exp().sum(-1, keepdim=True)"
_BARE = "bare = lse.exp() + lse_b.exp()\n"
_BY_PLACE = "visible = (places.unsqueeze(0) <= places.unsqueeze(1))"

EXERCISE = exercise(
    ring_attention,
    right=RIGHT,
    asks="Do one rank's whole job: attend to each block that comes round while it is handed on.",
    minutes=15,
    difficulty=4,
    importance=5,
    inputs=("the queries of all ranks", "the keys of all ranks", "the values of all ranks", "rank", "world_size"),
    cases=(
        _case("one rank alone", 0, 1),
        _case("rank 2 of 4, which sees three blocks", 2, 4, L=3),
        _case("rank 3 of 4, which sees every block", 3, 4),
        _case("rank 0 of 4, which sees its own", 0, 4),
        _case("rank 1 of 2", 1, 2),
        _case("rank 2 of 3, one token a rank", 2, 3, L=1),
        _case("rank 2 of 4, every size is 3", 2, 4, B=3, H=3, L=3, d_k=3, d_v=3),
        _case("scores of hundreds", 2, 4, size=20.0),
        _case("every score far below 0", 2, 3, size=20.0, low=True),
        _case("non-contiguous blocks", 1, 3, apart=True),
        _case("float32", 2, 3, dtype="float32", tolerance=1e-4),
        _rotations("rank 1 of 2", 1, 2),
        _rotations("rank 0 of 3", 0, 3),
        _rotations("rank 1 of 4", 1, 4),
        _rotations("rank 3 of 4", 3, 4),
        _rotations("one rank alone", 0, 1),
        _order("rank 2 of 4", 2, 4),
        _work("rank 0 of 4", 0, 4),
        _work("rank 1 of 4", 1, 4),
        _work("rank 3 of 4", 3, 4),
        case("what rank 4 of 5 holds", _made(4, 5, B=1, H=2, L=3, d_k=8, d_v=7), run=_surplus, says=_COLLECTED),
    ),
    mistakes=(
        mistake("future blocks multiplied", "The values are right, but blocks of which this rank sees nothing were "
                "multiplied. Whose blocks lie wholly in its future?", "is_seen = True",
                "is_seen = True\nscores = scaled.masked_fill(~visible, -1e30)"),
        mistake("rotation skipped where nothing is seen", "The values are right, but this rank stops rotating when it "
                "has seen enough, and its neighbours wait for ever. Who still needs the block that it holds?",
                "goes_on = is_seen and step < rotations", "goes_on = step < rank",
                "goes_on = step < rotations and (rank - step - 1) % world_size < rank"),
        mistake("nothing computed while a block is on its way", "The values are right, but a rotation has ended before "
                "anything is multiplied, or begins when all is multiplied: the link and the rank wait for each other. "
                "Which block may be multiplied while it is being sent?",
                "finish = None\ncame = begin(*handed)()",
                "finish = begin(*handed)() if goes_on else None\ncame = finish"),
        mistake("a rotation that nobody waits for", "The values are right, but a rotation was begun and its `finish` "
                "left out. What is in the block that should have come, and may the one that was sent be changed?",
                "came = finish() if step < rank else handed"),
        mistake("a block changed on its way", "The values are right, but a block was written to while it was being "
                "sent. From when on does its memory belong to the rank again?",
                "handed = k.clone(), v.clone()\ncame = (handed[0].zero_(), finish())[1]",
                "handed = k.clone(), v.clone()\ncame = (handed[1].zero_(), finish())[1]"),
        mistake("own block handed on each time", "The rank hands on its own block at every rotation. Then the next one "
                "is given the same block again and again: which one does it wait for?", "handed = key, value"),
        mistake("a P-th rotation", "There is one rotation too many: after it every rank would have its own block back. "
                "How many does it take until each rank has held each block?", "goes_on = True"),
        mistake("too few rotations", "The last block never comes. How many rotations does it take until each rank has "
                "held each block?", "rotations = max(world_size - 2, 0)", "rotations = min(1, world_size - 1)",
                "goes_on = step < rotations - 1"),
        mistake("no rotation", "The rank's own block is multiplied at every step, or only once. How does it get those "
                "of the others?", "goes_on = False", "rotations = 0"),
        mistake("keys and values swapped on the way", "What is handed on, or what comes, has keys and values the wrong "
                "way round. In which order does `begin` take them, and `finish` return them?", "handed = v, k",
                "came = finish()[::-1]"),
        mistake("the old block kept", "`begin` was called, but the block that came was not used. What does "
                "`finish` return?", "k, v = key, value", "k, v = held[0], value", "k, v = key, held[1]"),
        mistake("all keys gathered", "The values are right, but keys of all ranks were collected before they were "
                "used, so that each rank holds the whole text. What can be done with a block as soon as it is there?",
                _GATHERED.replace("EVERY", "rank + 1"), _GATHERED.replace("EVERY", "world_size")),
        mistake("rank + t", "The blocks were taken for those of the ranks after it: the source goes up where it should "
                "go down. A rank is given what the one before it held: whose block comes first?",
                "source = (rank + step) % world_size"),
        mistake("no modulo", "The number of a block's owner went below 0, and a block of the future was taken for one "
                "of the far past. The ranks form a ring: who stands before rank 0?", "source = rank - step"),
        mistake("the source off by one", "Each block was taken for the one that comes next, or came just before. Whose "
                "block is held before the first rotation?", "source = (rank - step - 1) % world_size",
                "source = (rank - step + 1) % world_size"),
        mistake("the same order for every rank", "Each block was taken for that of the rank with the step's number, "
                "whichever rank is asked. Whose block does rank r hold first?", "source = step",
                "source = rotations - step"),
        mistake("the difference the wrong way round", "Rank and step were subtracted the wrong way round, so that the "
                "blocks were taken for those of other ranks. Whose block does rank 1 hold after one rotation?",
                "source = (step - rank) % world_size"),
        mistake("the mask by place in the block", "Places inside of the blocks were compared, not positions in the "
                "text. Where in the text is a block's first key?",
                "visible = places.unsqueeze(0) <= places.unsqueeze(1)", "asked = places.unsqueeze(0)",
                "asking = places.unsqueeze(1)", f"{_BY_PLACE} & (step <= rank)"),
        mistake("striped positions", "A rank's tokens were taken to stand P places apart. Which tokens of the text "
                "does rank 1 hold here?", "asking = (rank + world_size * places).unsqueeze(1)\n"
                "asked = (source + world_size * places).unsqueeze(0)",
                "asking = (rank + 4 * places).unsqueeze(1)\nasked = (source + 4 * places).unsqueeze(0)"),
        mistake("ranks counted as tokens", "A block was taken to begin at its rank's number. How many tokens stand "
                "before rank r's first?",
                "asking = (rank + places).unsqueeze(1)\nasked = (source + places).unsqueeze(0)",
                "asking = (rank + places).unsqueeze(1)", "asked = (source + places).unsqueeze(0)"),
        mistake("a strict mask", "A query does not see the key at its own position. Is a key of position j seen from "
                "position j?", "visible = asked < asking", "visible = asked < asking\nresult = out.nan_to_num(0.0)",
                "visible = asked < asking\npart = torch.softmax(scores, -1) @ v",
                "visible = asked < asking\npart = torch.softmax(scores, -1).nan_to_num(0.0) @ v\n"
                "result = out.nan_to_num(0.0)"),
        mistake("the mask off by one", "A query sees the key that comes right after it. Is that key in its past?",
                "visible = asked <= asking + 1"),
        mistake("the mask the wrong way", "The past is hidden and the future seen. Which of two positions must be the "
                "larger?", "visible = asked >= asking", "visible = asked > asking",
                "visible = asked >= asking if step == 0 else asked <= asking"),
        mistake("no mask", "Every query sees every block whole. What do the positions say?",
                "visible = torch.ones(length, length, dtype=torch.bool)"),
        mistake("no mask inside its own block", "Blocks are seen whole or not at all. Inside its own block a query has "
                "a limit, too.", "visible = (asked.min() <= asking.max()).expand(length, length)"),
        mistake("own block left out", "The rank's own block takes no part. What does it hold at the first step?",
                "is_seen = step > 0 and bool(visible.any())", "visible = (asked <= asking) & (asked < rank * length)",
                "is_seen = source < rank or rank == 0 and step == 0"),
        mistake("only its own block", "The blocks of the others change nothing. Which of them does this rank see?",
                "is_seen = step == 0"),
        mistake("the first block of the text left out", "The block at the beginning of the text takes no part, where "
                "it is not the rank's own. Which is the last block of the past?",
                "is_seen = step == 0 or 0 < source < rank", "is_seen = 0 < source <= rank", "is_seen = step < rank"),
        mistake("only the last block", "Only the block that comes last is read. Which blocks does this rank see?",
                f"{_BY_PLACE}\nis_seen = step == rotations", "is_seen = step == rotations"),
        mistake("NaN where nothing was seen", "A block of the future has only scores of -inf, and their softmax is "
                "NaN: that spoils what was right before. Which blocks need no step at all?",
                "is_seen = True\npart = torch.softmax(scores, -1) @ v"),
        mistake("the two averaged", "What was before and what the block gives count alike. Which number says how much "
                "each of them saw?", _EVEN, "joined = part if step == 0 else (out + part) / 2"),
        mistake("the two added", "The outputs of the blocks were added as they are. Each is an average already: what "
                "do the weights of the sum add up to?", "joined = out + part"),
        mistake("each block alike", "The outputs of the blocks were averaged, each block the same. Which number says "
                "how much of its softmax each of them holds?", "joined = (out * step + part) / (step + 1)",
                "joined = out + part / (rank + 1)", "joined = out + part / world_size"),
        mistake("the weights swapped", "Each part got the weight of the other. Which of the two should count more "
                "where its logsumexp is the larger?",
                "share_a, share_b = (lse_b - together).exp(), (lse - together).exp()"),
        mistake("weighted by lse itself", "The logsumexps were taken for weights as they are. They are logarithms: "
                "what "
                "can be added instead?", "safe = lse.masked_fill(lse == -torch.inf, 0.0)\n"
                "share_a, share_b = safe / (safe + lse_b), lse_b / (safe + lse_b)"),
        mistake("the part with the larger lse alone", "Only the part with the larger logsumexp is left. The other saw "
                "keys too.", "share_a, share_b = (lse >= lse_b).to(lse), (lse < lse_b).to(lse)"),
        mistake("not divided by the total", "The weights of the two parts do not add up to 1. By what are they "
                "divided?", "shift = torch.maximum(lse, lse_b)\n"
                "share_a, share_b = (lse - shift).exp(), (lse_b - shift).exp()",
                "share_a, share_b = lse.exp(), lse_b.exp()"),
        mistake("the block alone", "What was seen before is gone. How does it come into the result?",
                "joined = part", "joined = part\ntotal = lse_b"),
        mistake("the two lse added", "The logsumexps were added, which multiplies the sums behind them. What has to be "
                "added?", "total = lse_b if step == 0 else lse + lse_b"),
        mistake("the larger lse", "The new lse is one of the two as it was. The sum of both is larger than either.",
                "total = torch.maximum(lse, lse_b)", "total = lse_b", "total = lse_b if step == 0 else lse"),
        mistake("the sum instead of its logarithm", "A block's lse is a sum of exponentials. What is its logarithm?",
                "lse_b = scores.logsumexp(-1).exp()"),
        mistake("the maximum of the block alone", "Each block was measured against its own largest score, and the sums "
                "were joined as if they were alike. Which maximum holds for all that was seen so far, or what has to "
                "come back into a block's lse?", "lse_b = scores.logsumexp(-1) - scores.amax(-1)",
                _online("top = own", "l_new = l + powers.sum(-1, keepdim=True)", "acc_new = acc + powers @ value")),
        mistake("no shift before exp", "Scores in the hundreds give NaN: exponentials of scores, or of their "
                "logsumexps, are infinite, or all 0. What can be subtracted before?", _BARE_LSE, _BARE_PART,
                f"{_BARE_PART}\n{_BARE_LSE}", _online("top = torch.zeros_like(m)"),
                f"{_BARE}share_a, share_b = lse.exp() / bare, lse_b.exp() / bare",
                f"{_BARE}share_a, share_b = lse.exp() / bare, lse_b.exp() / bare\ntotal = bare.log()",
                f"{_BARE}together = bare.log()", f"{_BARE}total = bare.log()"),
        mistake("the largest score for lse", "A block's lse is the largest of its scores. What do the exponentials of "
                "the others add?", "lse_b = scores.amax(-1)"),
        mistake("one maximum for all rows", "The exponentials of all rows were measured against one maximum. A row "
                "whose scores are far below it is lost to rounding: over which axis is the maximum taken?",
                _online("own = scores.amax().expand(m.shape)"),
                _online("own = scores.amax((-2, -1), keepdim=True).expand(m.shape)")),
        mistake("acc not rescaled", "The running maximum moved and the sum followed it, but the output is still "
                "measured against the old one. What do the two have in common?", _online("acc_new = acc + powers @ "
                "value")),
        mistake("l not rescaled", "The output followed the new maximum, but the sum is still measured against the old "
                "one. Both are sums of the same exponentials: what happens to each term?",
                _online("l_new = l + powers.sum(-1, keepdim=True)")),
        mistake("nothing rescaled", "The new terms are measured against the new maximum, the old ones against the old "
                "one, and they are added as if they were alike. By which factor do they differ?",
                _online("l_new = l + powers.sum(-1, keepdim=True)", "acc_new = acc + powers @ value")),
        mistake("the factor upside down", "Where the maximum rises, the old sums grow. They were measured against a "
                "smaller number: which way does the factor go?",
                _online("powers, shrink = (scores - top).exp(), (top - m.where(m > -torch.inf, top)).exp()")),
        mistake("hidden keys with a score of 0", "Hidden keys got the score 0, whose exponential is 1. Which score has "
                "none?", "scores = scaled.masked_fill(~visible, 0.0)", "scores = scaled * visible"),
        mistake("fill that is not low enough", "Hidden keys got a low score, but visible ones may be lower still.",
                "scores = scaled.masked_fill(~visible, -100.0)", "scores = scaled.masked_fill(~visible, -10.0)"),
        mistake("out not normalised", "out came back as a sum of exponentials times values. What is left to be "
                "divided by?", "result = out * lse.exp().unsqueeze(-1)", _online("result = acc"),
                "part = scores.exp() @ v", "part = (scores - scores.amax(-1, keepdim=True)).exp() @ v"),
        mistake("divided at each block", "The output was divided by the sum after every block, and multiplied on as it "
                "was. When is the division due?", _online("acc_new = (acc * shrink + powers @ value) / l_new")),
        mistake("softmax over the queries", "In a block, keys choose among queries: the columns of the weights sum to "
                "1, not the rows. Who shares its attention out among whom?", "part = stable_softmax(scores.mT).mT @ v"),
        mistake("out as wide as the query", "The output has the width of the queries. What is averaged, and how wide "
                "is that?", _WHOLE_STEP.replace("OUT", "torch.zeros_like(query)")),
        *without(DEFAULT, "scale after softmax"),
        mistake("keys averaged instead of values", "The weights average the keys. A key says where to look; what says "
                "what is found there?", "part = stable_softmax(scores) @ k"),
        batch_mixed("products = query[:1] @ k.mT", "result = out[:1].expand_as(out)"),
        mistake("tokens before heads", "The axes came back as (B, L, H, d_v), or with the heads joined. Heads stand "
                "before tokens here.", "result = out.transpose(1, 2)", "result = out.transpose(1, 2).flatten(2)"),
        *other_kinds("result", "lse"),
        lower_precision(partial(_part, ring_attention), "kind = query.dtype\n"
                        "query, key, value = (x.float() for x in (query, key, value))\n"
                        "default = 1 / math.sqrt(query.shape[-1])\nreturn result.to(kind)"),
    ),
    laws=(average_law(lambda args: torch.cat(list(args[2][: args[3] + 1]), 2)),),
    hints=(
        "Write down what each of three ranks holds at each step, and at which of the steps rank 0 has nothing to "
        "multiply. May it leave?",
        "There is one step more than there are rotations. Whose block it is at step t, `ring_schedule` says; where "
        "its tokens stand follows from that.",
        "Start with zeros and -inf. At each step, except the last, call `begin` with the block that is held; "
        "`ring_attention_step` adds that block while it is on its way; then `finish` gives the next one. All of it "
        "whether the block is seen or not.",
    ),
)
