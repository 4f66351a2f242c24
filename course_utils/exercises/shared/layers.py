"""Mistakes with a list of layers, the first layer first, and with their heads.

`listed` and `side_by_side` call an answer with lists. The lines of `LAYERS` speak of the step

    order = range(len(layers))

and those of `HEADS` of the tensors `each` (B, H, L, L), of the list `found` of tables so far, and of the steps

    averaged = each.mean(1)
    return result
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import batch_mixed, left_in, other_kinds, squeezed


def listed(fn: Callable[..., Any], layers: Tensor, *others: Any) -> Any:
    """Call an answer with the layers of one tensor as a list, in which a change would be seen."""
    return _called(fn, (layers,), others)


def side_by_side(fn: Callable[..., Any], layers: Tensor, gradients: Tensor) -> Any:
    """Call an answer with two lists."""
    return _called(fn, (layers, gradients), ())


def _called(fn: Callable[..., Any], stacks: tuple[Tensor, ...], others: tuple[Any, ...]) -> Any:
    lists = [list(stack.unbind()) for stack in stacks]
    kept = [list(one) for one in lists]
    result = fn(*lists, *others)
    for stack, now, before in zip(stacks, lists, kept, strict=True):
        if len(now) != len(before) or any(a is not b for a, b in zip(now, before, strict=True)):
            stack.detach().zero_()  # a list that was changed counts as an input that was
    return result


LAYERS = (
    mistake("layers in reverse", "The layers were taken from the last to the first, or their tables multiplied in that "
            "order. What a token brings has to pass the first layer first: in a product that acts on columns, on "
            "which side does the first factor stand?", "order = range(len(layers))[::-1]"),
    mistake("layers left out", "Not all layers count. Where does your loop begin, and where does it end?",
            "order = range(len(layers))[-1:]", "order = range(len(layers))[:1]", "order = range(len(layers))[1:]",
            "order = range(len(layers))[:-1]", "order = range(len(layers))[::2]"),
    mistake("the caller's layers changed", "The layers are not what they were before the call: one of the tensors was "
            "written into, or something was taken out of the list, put in or turned round. The caller still needs "
            "them: what makes something new instead?",
            "layers.reverse()\norder = range(len(layers))[::-1]",
            "layers.append(layers[0])\norder = range(len(layers) - 1)",
            "layers.pop()\norder = range(len(layers))", "layers = [layers.pop(0) for _ in list(layers)]\n"
            "order = range(len(layers))",
            "layers[0].mul_(1.0)\nlayers[0].add_(0.5)\norder = range(len(layers))"),
)

HEADS = (
    mistake("heads added up", "The heads were added up. Layers with more heads would carry more: how are they to be "
            "combined?", "averaged = each.sum(1)", "averaged = each.sum(1) / each.shape[1] ** 0.5"),
    mistake("the largest of the heads", "For each entry, the largest or smallest of the heads was kept. How are "
            "heads to be combined?", "averaged = each.amax(1)", "averaged = each.amin(1)",
            "averaged = each.median(1).values"),
    mistake("one head for all", "Only one head counts. What becomes of the others?",
            "averaged = each[:, 0]", "averaged = each[:, -1]"),
    batch_mixed("averaged = each.mean((0, 1)).expand(len(each), -1, -1)", "averaged = each.mean(0)",
                "averaged = each[:1].mean(1).expand(len(each), -1, -1)", "averaged = each.mean((0, 1))",
                "return result.mean(0)", "return result[0]"),
    mistake("transposed", "Rows and columns are exchanged. Which of the two is the position above the last layer, and "
            "which the input token?", "return result.mT"),
    mistake("one row alone", "One position's row came back, such as that of a class token. The whole table is asked "
            "for: who reads off a row of it?", "return result[:, 0]", "return result[:, -1]",
            "return result[:, 0, 1:]"),
    mistake("every layer's table returned", "A table for each layer came back. Which one holds what is in the "
            "positions above the last?", "return found", "return found[1:]", "return torch.stack(found)",
            "return torch.stack(found[1:])", "return torch.stack(found, 1)", "return torch.stack(found[1:], 1)"),
    squeezed("return result{}"), left_in("return result{}"),
    *other_kinds("result"),
)
