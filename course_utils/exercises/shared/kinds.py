"""Mistakes with results of any kind: axes of size 1, the axis of the batch, the gradient, the kind itself.

The functions take the lines that go wrong; in `squeezed` and `left_in`, `{}` stands where the axis
is lost or added: `squeezed("return scores{}")`, `squeezed("return out{}, weights{}")`.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from course_utils.checking.compare import equal
from course_utils.checking.mistakes import Mistake, mistake
from course_utils.checking.recipe import Function

DTYPES = ("float32", "float64", "float16", "bfloat16")
NOTHING = mistake("nothing returned", "The function returned nothing. Is a `return` missing, at its end or in one of "
                  "its branches?", "return None")


def squeezed(*lines: str) -> Mistake:
    """Return the mistake of a `squeeze` too many."""
    calls = (".squeeze()", ".squeeze(0)", ".squeeze(1)", ".squeeze(-1)")
    return mistake("squeeze takes too many axes", "With one query, one key or one sequence, an axis is lost: "
                   "`squeeze()` without a number removes every axis of size 1, and with a number an axis that is not "
                   "always of size 1. Which one did you mean?",
                   *(line.replace("{}", call) for line in lines for call in calls))


def left_in(*lines: str) -> Mistake:
    """Return the mistake of an axis too many."""
    calls = (".unsqueeze(-1)", ".unsqueeze(1)", ".unsqueeze(0)")
    return mistake("an axis of size 1 left in", "There is an axis of size 1 too many. Which operation ends with a "
                   "number, and not with a vector of one?",
                   *(line.replace("{}", call) for line in lines for call in calls))


def batch_mixed(*versions: str) -> Mistake:
    """Return the mistake of letting sequences of a batch meet."""
    return mistake("the sequences of a batch mixed", "Sequences of the batch were mixed, or one was used for all. A "
                   "query meets only the keys of its own sequence.", *versions)


def cut_off(*versions: str) -> Mistake:
    """Return the mistake of right values through which nothing can be learned."""
    return mistake("cut off from the gradient", "The values are right, but at least one of the inputs gets no "
                   "gradient, so nothing would be learned through it. What cuts the thread?", *versions)


def overwritten(*versions: str | Function) -> Mistake:
    """Return the mistake of writing into an argument."""
    return mistake("the input changed in place", "The call changed its input in place, so the caller's data are lost. "
                   "Which line writes into a tensor instead of making a new one?", *versions)


def writing(right: Function, *inputs: int) -> tuple[Function, ...]:
    """Return versions, for `overwritten`, that write into each of these inputs, or into all, and are right otherwise.

    They are functions: lines would be tried together with every other line, for nothing.
    """

    def into(places: tuple[int, ...]) -> Function:
        def version(*args: Any) -> Any:
            got = tree_map_only(Tensor, Tensor.clone, right(*args))
            for place in places:
                given = args[place].data
                given.copy_(~given if given.dtype == torch.bool else given + 1)
            return got

        return version

    return tuple(map(into, dict.fromkeys((*((place,) for place in inputs), inputs))))


def fixed_axes(*versions: str) -> Mistake:
    """Return the mistake of an answer that fits one number of axes, as these lines do."""
    return mistake("a fixed number of axes", "It fits one number of axes, and fails where there are others. Any "
                   "leading axes may stand before the last two: what takes them all, in an einsum, a product or a "
                   "shape?",
                   *versions)


def through_numpy(*versions: str) -> Mistake:
    """Return the mistake of leaving torch for numpy, which shows first where numpy lacks the dtype."""
    return mistake("through numpy", "numpy has no bfloat16, and no gradient can flow through it. torch has the same "
                   "operations under nearly the same names: which of them is needed here?", *versions)


def viewed(*versions: str) -> Mistake:
    """Return the mistake of `view` on memory that is not contiguous."""
    return mistake("view without contiguous memory", "`view` cannot join two axes that are not adjacent in memory, and "
                   "after `transpose` they are not. What copies the numbers into the new order first, or does both at "
                   "once?", *versions)


def other_dtype(*versions: str) -> Mistake:
    """Return the mistake of a right result in another dtype."""
    return mistake("another dtype", "The numbers are right, but not their dtype: it should be that of the inputs. "
                   "Which dtype has a tensor that is made inside a function, and what else on the way changes one?",
                   *versions)


def other_kinds(result: str, *beside: str) -> tuple[Mistake, ...]:
    """Return the mistakes of a result, called so in the lines, that is right but no tensor or of another dtype.

    Args:
        result: What it is called.
        beside: What else may be returned with it, as the weights are.
    """
    return (
        NOTHING,
        mistake("a list", "A list or a tuple came back, where one tensor alone is asked for. What joins equal parts, "
                "or which of several results is meant?",
                f"return list({result})", f"return {result}.tolist()", f"return [{result}]",
                *(f"return {result}, {other}" for other in ("None", *beside))),
        other_dtype(*(f"return {result}.to(torch.{kind})" for kind in DTYPES)),
    )


def other_parts(*results: str) -> tuple[Mistake, ...]:
    """Return the mistakes of several results, called so in the lines, of which some have another dtype, or of none."""
    every = ([f"{one}.to(torch.{kind})" for one in results] for kind in ("float32", "float64", "bfloat16"))
    alone = ([f"{one}.float()" if one == other else other for other in results] for one in results)
    return NOTHING, other_dtype(*(f"return {', '.join(one)}" for one in (*every, *alone)))


def multiplied(right: Callable[..., Tensor], *versions: str) -> Mistake:
    """Return the mistake of any factor, the same for all numbers of the result."""

    def is_multiple(args: tuple[Any, ...], got: Tensor) -> bool:
        want = right(*args)
        large = want.abs() > 0.01 * want.abs().max()
        factor = float((got[large] / want[large]).median()) if int(large.sum()) > 2 else 1.0
        return abs(factor - 1) > 1e-4 and factor != 0 and equal(got / factor, want)

    return mistake("multiplied at the end", "Every value is the same multiple of what it should be. Which factor, or "
                   "which division, is one too many, or missing?", *versions, matches=is_multiple)


def random_inside(*versions: str) -> Mistake:
    """Return the mistake of a draw, such as dropout, where nothing should be drawn."""
    return mistake("random numbers inside", "Two calls with the same inputs differ: something random, such as dropout, "
                   "happens inside. What is left of it where nobody trains?", *versions,
                   detects=lambda trace: trace.used_global_random, even_if_right=False)


# Of a layer that treats each token by itself, and returns `out`.
TOKENS = (
    mistake("one token for all", "All tokens of a sequence, or all sequences, come out the same: one was used for all, "
            "or their average. Whose vector does a token get?", "return out[..., :1, :].expand_as(out)",
            "return out[..., -1:, :].expand_as(out)", "return out.mean(-2, keepdim=True).expand_as(out)",
            "return out[:1].expand_as(out)"),
    mistake("the tokens summed up", "The tokens of a sequence were added up, or averaged, and their axis is gone. How "
            "many vectors come out of a layer for as many as go in?", "return out.mean(-2)", "return out.sum(-2)",
            "return out.mean(1)", "return out.sum(1)", "return out.mean(0)", "return out[0]", "return out[:, 0]",
            "return out.flatten(0, -2)"),
)
