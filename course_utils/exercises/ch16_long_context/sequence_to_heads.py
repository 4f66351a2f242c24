"""Exercise: from shards of the tokens to shards of the heads."""

from typing import Any

import torch
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.inputs import Make, normal, strided
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.distributed import sequence_to_heads
from course_utils.exercises.shared.kinds import DTYPES, NOTHING, other_dtype, through_numpy
from course_utils.exercises.shared.refusals import SAYS, fitting, refusal
from torch import Tensor

RIGHT = """
def sequence_to_heads(shards):
    ranks = len(shards)
    num_heads = shards[0].shape[1]
    fits = num_heads % ranks == 0
    complaint = ValueError("the ranks must divide the heads")
    if not fits:
        raise complaint
    share = num_heads // ranks
    in_order = list(shards)
    whole = torch.cat(in_order, 2)
    parts = [whole[:, r * share : (r + 1) * share] for r in range(ranks)]
    result = parts
    return result
"""


def _made(
    *lengths: int, batch: int = 2, heads: int = 4, d: int = 3, dtype: str = "float64", apart: bool = False
) -> Make:
    def make(g: torch.Generator) -> tuple[Any, ...]:
        shards = (normal(g, batch, heads, n, d, dtype=getattr(torch, dtype)) for n in lengths)
        return tuple(strided(x) if apart else x for x in shards)

    return make


def _listed(fn: Function, *shards: Tensor) -> Any:
    """Return what comes back as a tuple: a list is as good."""
    made = fitting(fn, list(shards))
    return tuple(made) if isinstance(made, list) else made


def _refused(fn: Function, *shards: Tensor) -> str:
    return refusal(fn, list(shards))


def _case(name: str, make: Make, gradient: str = "") -> Case:
    return case(name, make, run=_listed, gradient=gradient)


def _each(change: str) -> str:
    """Return the line that changes every entry of the result."""
    return f"result = [{change} for x in parts]"


_SHORTEST = "least = min(x.shape[2] for x in shards)\n"

EXERCISE = exercise(
    sequence_to_heads,
    right=RIGHT,
    asks="Give each rank its share of the heads, of all tokens.",
    minutes=10,
    difficulty=2,
    importance=3,
    inputs=("shards[0]", "shards[1]", "shards[2]", "shards[3]"),
    cases=(
        _case("3 ranks, 6 heads, 2 tokens each", _made(2, 2, 2, heads=6, d=4)),
        _case("2 ranks, 4 heads, 3 tokens each", _made(3, 3)),
        _case("as many heads as ranks", _made(2, 2, 2, 2, d=5)),
        _case("shards of 3, 1 and 4 tokens", _made(3, 1, 4, heads=6)),
        _case("shards of 1 and 5 tokens", _made(1, 5, batch=1)),
        _case("one rank", _made(4, heads=3)),
        _case("one rank, one head, one token", _made(1, batch=1, heads=1, d=1)),
        _case("every size is 2", _made(2, 2, heads=2, d=2)),
        _case("every size is 4", _made(4, 4, 4, 4, batch=4, d=4)),
        _case("non-contiguous shards", _made(3, 2, apart=True)),
        _case("gradients", _made(3, 2), gradient="equal"),
        _case("float32", _made(2, 3, dtype="float32")),
        _case("bfloat16", _made(2, 3, dtype="bfloat16")),
        case("3 ranks, 4 heads", _made(2, 2, 2), run=_refused, says=SAYS),
        case("4 ranks, 2 heads", _made(1, 2, 1, 2, heads=2), run=_refused, says=SAYS),
    ),
    mistakes=(
        NOTHING,
        mistake("heads strided", "A rank has every P-th head. Its heads are neighbours: which are rank 0's?",
                "parts = [whole[:, r::ranks] for r in range(ranks)]"),
        mistake("tokens in ring order", "Each rank begins with its own tokens, or the ranks' tokens stand in another "
                "order than in the text. Every rank needs the same order: which?",
                "parts = [torch.cat(in_order[r:] + in_order[:r], 2)[:, r * share : (r + 1) * share] for r in "
                "range(ranks)]",
                "turned = [[in_order[(r - t) % ranks] for t in range(ranks)] for r in range(ranks)]\n"
                "parts = [torch.cat(turned[r], 2)[:, r * share : (r + 1) * share] for r in range(ranks)]",
                "in_order = list(shards)[::-1]",
                "own_first = [[r, *(s for s in range(ranks) if s != r)] for r in range(ranks)]\n"
                "parts = [torch.cat([in_order[s] for s in own_first[r]], 2)[:, r * share : (r + 1) * share] for r in "
                "range(ranks)]"),
        mistake("all-gather for all-to-all", "Every rank was given all heads of all tokens: P times as much as it "
                "needs. Which heads are its own?", "parts = [whole] * ranks"),
        mistake("nothing exchanged", "Each rank still has its own tokens alone. For its heads it needs those of all "
                "ranks.", "parts = in_order", "parts = [x[:, r * share : (r + 1) * share] for r, x in "
                "enumerate(in_order)]"),
        mistake("the tokens cut again", "All heads of some tokens came back. Which axis is cut into shares, and which "
                "is put together?", "parts = list(whole.tensor_split(ranks, 2))"),
        mistake("another axis cut", "The batch or the width was cut into shares. Which axis holds the heads?",
                "parts = list(whole.tensor_split(ranks, 3))", "parts = list(whole.tensor_split(ranks, 0))",
                "parts = list(whole.chunk(ranks, 3))", "parts = list(whole.chunk(ranks, 0))"),
        mistake("a reshape in place of a cut", "The numbers were only counted off anew, so that a rank has heads of "
                "other sequences, or other tokens. Which axis is to be cut, and which stay as they are?",
                "parts = list(whole.reshape(ranks, -1, share, *whole.shape[2:]))",
                "parts = list(whole.transpose(1, 2).reshape(ranks, len(whole), share, -1, whole.shape[3]))",
                "parts = list(whole.mT.reshape(ranks, len(whole), share, -1, whole.shape[3]))"),
        mistake("a list for each head", "There is an entry for each head, or for each P heads. There should be one for "
                "each rank: what does `split` take, and what does `chunk`?",
                "parts = list(whole.split(1, 1))", "parts = list(whole.split(ranks, 1))",
                "parts = list(whole.unbind(1))"),
        mistake("equal lengths assumed", "Where the shards differ in length it fails, or tokens are missing, repeated "
                "or in the wrong place. How long is the text?",
                "whole = torch.cat(list(torch.stack(in_order)), 2)",
                "every = in_order[0].shape[2] * ranks\nwhole = torch.cat(in_order, 2)[:, :, :every]",
                _SHORTEST + "whole = torch.cat([x[:, :, :least] for x in in_order], 2)",
                "longest = max(x.shape[2] for x in shards)\n"
                "whole = torch.cat([F.pad(x, (0, 0, 0, longest - x.shape[2])) for x in in_order], 2)"),
        mistake("tokens dealt out in turn", "The first tokens of all ranks came first, then the second ones. Rank 0's "
                "tokens all stand before rank 1's.",
                _SHORTEST + "whole = torch.stack([x[:, :, :least] for x in in_order], 3).flatten(2, 3)"),
        mistake("joined along another axis", "The shards were joined along the heads, the batch, the width or a new "
                "axis. Which axis holds the tokens?",
                _SHORTEST + "whole = torch.cat([x[:, :, :least] for x in in_order], 1)",
                _SHORTEST + "whole = torch.cat([x[:, :, :least] for x in in_order], 3)",
                _SHORTEST + "whole = torch.cat([x[:, :, :least] for x in in_order], 0)",
                _SHORTEST + "parts = list(torch.cat([x[:, :, :least] for x in in_order], 1).chunk(ranks, 2))",
                *(f"{_SHORTEST}whole = torch.stack([x[:, :, :least] for x in in_order], {axis})" for axis in (2, 3, 0)),
                *(f"{_SHORTEST}parts = [torch.stack([x[:, r * share : (r + 1) * share, :least] for x in in_order], "
                  f"{axis}) for r in range(ranks)]" for axis in (0, 1))),
        mistake("the pieces not joined", "An entry is a list of pieces, one from each rank. A rank has one tensor: "
                "what joins the pieces, and along which axis?",
                "parts = [[x[:, r * share : (r + 1) * share] for x in in_order] for r in range(ranks)]",
                "parts = [tuple(x[:, r * share : (r + 1) * share] for x in in_order) for r in range(ranks)]"),
        mistake("the tokens of one rank", "All entries hold the tokens of one and the same rank. Whose tokens does a "
                "head need?", "whole = in_order[-1]", "whole = in_order[0]"),
        mistake("ranks counted as heads", "Rank r's heads were taken to begin at head r. How many heads have the ranks "
                "before it?", "parts = [whole[:, r : r + share] for r in range(ranks)]"),
        mistake("the same heads for every rank", "All ranks were given the same heads. Where do those of rank r "
                "begin?", "parts = [whole[:, :share] for _ in range(ranks)]", "parts = [whole[:, -share:]] * ranks"),
        mistake("heads in descending order", "The first rank has the last heads. Rank r has heads r·H/P and those "
                "after it.", "result = parts[::-1]"),
        mistake("one head for each rank", "Each rank has a single head. How many has it where there are more heads "
                "than ranks?", "share = 1", "parts = [whole[:, r : r + 1] for r in range(ranks)]",
                "parts = [whole[:, r] for r in range(ranks)]"),
        mistake("an axis lost", "Where a rank has a single head, its axis is gone. An axis of size 1 stays.",
                "result = [x.squeeze(1) for x in parts]"),
        mistake("tokens before heads", "The axes came back as (B, n, H/P, d). Heads stand before tokens here, as in "
                "the shards.", "result = [x.transpose(1, 2) for x in parts]"),
        mistake("an uneven share cut silently", "A number of heads that the ranks do not divide was let through. Some "
                "heads would be in no rank, or some ranks have fewer: with which error is it to be refused?",
                "fits = True", "fits = True\nparts = list(whole.tensor_split(ranks, 1))", "fits = num_heads >= ranks",
                "fits = num_heads % 2 == 0", "fits = num_heads > ranks or ranks % num_heads == 0"),
        mistake("the tokens divided instead of the heads", "Whether the ranks divide the tokens was asked. What is cut "
                "into equal shares here?", "fits = sum(x.shape[2] for x in shards) % ranks == 0",
                "fits = shards[0].shape[2] % ranks == 0"),
        mistake("another error than ValueError", "What does not fit ends in another error. Callers wait for a "
                "ValueError.", 'complaint = AssertionError("")', 'complaint = TypeError("")',
                'complaint = RuntimeError("")', 'fits = num_heads >= ranks\ncomplaint = AssertionError("")'),
        mistake("refused though it fits", "Heads that the ranks do divide are refused.",
                "fits = num_heads % ranks == 0 and num_heads > ranks", "fits = num_heads == ranks",
                "fits = ranks % num_heads == 0"),
        mistake("one tensor instead of a list", "One tensor came back. What is wanted is a list with an entry for each "
                "rank.", "result = torch.stack(parts)", "result = torch.cat(parts, 1)", "result = whole",
                "result = parts[0]", "result = parts[-1]"),
        mistake("cut from the gradient", "The values are right, but no gradient flows through them. What cuts them "
                "off?", "result = [x.detach() for x in parts]", "result = [x.detach().clone() for x in parts]"),
        through_numpy("in_order = [torch.from_numpy(x.detach().numpy()) for x in shards]"),
        other_dtype(*(_each(f"x.to(torch.{kind})") for kind in DTYPES)),
        mistake("an array instead of a tensor", "Arrays or lists of numbers came back. Which kind of thing came in?",
                _each("x.tolist()")),
    ),
    hints=(
        "Draw a table with a row for each token and a column for each head. A shard is some rows. What is an entry of "
        "the result?",
        "Put the rows of all ranks together first. Then each rank takes its columns.",
        "`torch.cat` along the axis of the tokens; rank r's heads are the slice from r·H/P to (r + 1)·H/P.",
    ),
)
