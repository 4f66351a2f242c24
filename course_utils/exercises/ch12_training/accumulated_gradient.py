"""Exercise: the gradient of a batch that does not fit, part by part."""

from typing import Any

import torch
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import adding, mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import NOTHING
from course_utils.models import accumulated_gradient
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

RIGHT = """
def accumulated_gradient(loss, parameters, micro_batches):
    sums = [torch.zeros_like(one) for one in parameters]
    tokens = 0
    for micro in micro_batches:
        total, number = loss(micro)
        tokens += number
        parts = torch.autograd.grad(total, parameters, allow_unused=True)
        found = [torch.zeros_like(one) if part is None else part for one, part in zip(parameters, parts)]
        sums[:] = [one + other for one, other in zip(sums, found)]
    divisor = max(tokens, 1)
    gradients = [one / divisor for one in sums]
    return gradients
"""
_PLAIN = """
def accumulated_gradient(loss, parameters, micro_batches):
    tokens = 0
    for micro in micro_batches:
        total, number = loss(micro)
        tokens += number
        total.backward()
    return [torch.zeros_like(one) if one.grad is None else one.grad / max(tokens, 1) for one in parameters]
"""
_FIRST = RIGHT.replace("    divisor", "        divisor").replace("    gradients", "        gradients").replace(
    "    return", "        return"
)
_HELD = """
def accumulated_gradient(loss, parameters, micro_batches):
    found = [loss(micro) for micro in micro_batches]
    tokens = max(sum(number for _, number in found), 1)
    whole = sum((total for total, _ in found), parameters[0].new_zeros(()))
    parts = torch.autograd.grad(whole, parameters, allow_unused=True) if found else [None for _ in parameters]
    return [torch.zeros_like(one) if part is None else part / tokens for one, part in zip(parameters, parts)]
"""
_NONE = _PLAIN.replace("torch.zeros_like(one) if one.grad is None else ", "")
_EMPTIED = _PLAIN.replace("    tokens = 0\n", "    for one in parameters:\n        one.grad = None\n    tokens = 0\n")
_WIPED = _EMPTIED.replace("    return [", "    made = [").strip("\n") + (
    "\n    for one in parameters:\n        one.grad = None\n    return made\n"
)
_ZEROED = _EMPTIED.replace("one.grad = None", "one.grad = None if one.grad is None else one.grad.zero_()")
_SHARED = _ZEROED.replace("    tokens = 0\n", "    old = [one.grad for one in parameters]\n    tokens = 0\n").replace(
    "    return [", "    made = ["
).strip("\n") + "\n    for one, part in zip(parameters, old):\n        one.grad = part\n    return made\n"
_STALE = _PLAIN.replace("    tokens = 0\n", "    old = [None if one.grad is None else one.grad.clone() for one in "
                        "parameters]\n    tokens = 0\n").replace("    return [", "    made = [").strip("\n") + (
    "\n    for one, part in zip(parameters, old):\n        one.grad = part\n    return made\n"
)


class Sum:
    """The squared error of a small model, summed over the tokens that count; it knows how often it is called."""

    def __init__(self, parameters: list[Tensor]) -> None:
        self.parameters = parameters
        self.calls = 0
        self.sizes: list[int] = []

    def __call__(self, micro: tuple[Tensor, Tensor]) -> tuple[Tensor, int]:
        """Return the sum over the micro-batch's tokens, and how many there are."""
        self.calls += 1
        x, y = micro
        self.sizes.append(len(x))
        weight, bias = self.parameters[:2]
        error = (torch.tanh(x @ weight + bias) - y).square().sum()
        return error, len(x)


def _made(
    sizes: tuple[int, ...],
    dtype: torch.dtype = torch.float64,
    stale: bool = False,
    width: int = 4,
    late: bool = False,
) -> Make:
    """Return a maker: micro-batches of the given sizes, three parameters, of which the last has no part."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        shapes = ((width, 3), (3,), (2, 5))
        parameters = [normal(g, *shape, dtype=dtype).requires_grad_() for shape in shapes]
        if stale:
            for one in parameters:
                one.grad = normal(g, *one.shape, dtype=dtype)
        micros = [(normal(g, n, width, dtype=dtype), normal(g, n, 3, dtype=dtype)) for n in sizes]
        return (_Late if late else Sum)(parameters), parameters, micros

    return make


class _Late(Sum):
    """Its bias takes part only from the second micro-batch on."""

    def __call__(self, micro: tuple[Tensor, Tensor]) -> tuple[Tensor, int]:
        if self.calls:
            return super().__call__(micro)
        self.calls += 1
        self.sizes.append(len(micro[0]))
        return (micro[0] @ self.parameters[0]).square().sum(), len(micro[0])


def _afterwards(fn: Function, loss: Sum, parameters: list[Tensor], micros: list[Any]) -> tuple[Tensor, ...]:
    """Return what `.grad` holds after the call; NaN where there is none."""
    fn(loss, parameters, micros)
    return tuple(one.new_full((), torch.nan) if one.grad is None else one.grad for one in parameters)


def _parameters(fn: Function, loss: Sum, parameters: list[Tensor], micros: list[Any]) -> tuple[Tensor, ...]:
    fn(loss, parameters, micros)
    return tuple(one.detach() for one in parameters)


def _calls(fn: Function, loss: Sum, parameters: list[Tensor], micros: list[Any]) -> int:
    fn(loss, parameters, micros)
    return loss.calls


def _graphs(fn: Function, *args: Any) -> bool:
    """Return whether a gradient still hangs on a graph, or is a parameter's own `.grad`."""
    got = fn(*args)
    return any(one.requires_grad for one in got) or any(one is p.grad for one, p in zip(got, args[1], strict=True))


class _Saved:
    """A saved tensor that tells a counter when it is let go."""

    def __init__(self, tensor: Tensor, counter: list[int]) -> None:
        self.tensor = tensor
        self.counter = counter
        counter[0] += tensor.numel()
        counter[1] = max(counter)

    def __del__(self) -> None:
        self.counter[0] -= self.tensor.numel()


def _grows(fn: Function, loss: Sum, parameters: list[Tensor], micros: list[Any]) -> bool:
    """Return whether autograd keeps more numbers at once for twelve micro-batches than for three."""

    def held(parts: list[Any]) -> int:
        counter = [0, 0]
        with saved_tensors_hooks(lambda tensor: _Saved(tensor, counter), lambda saved: saved.tensor):
            fn(loss, parameters, parts)
        return counter[1]

    return held(micros) > 1.5 * held(micros[:3])


EXERCISE = exercise(
    accumulated_gradient,
    right=RIGHT,
    asks="Return the gradient of the mean over all tokens, with one micro-batch's graph at a time.",
    minutes=12,
    difficulty=3,
    importance=4,
    inputs=("loss", "parameters", "micro_batches"),
    cases=(
        case("one micro-batch of 5 tokens", _made((5,))),
        case("two of 4 tokens", _made((4, 4))),
        case("7, 2 and 5 tokens", _made((7, 2, 5))),
        case("1, 11, 3 and 6 tokens", _made((1, 11, 3, 6), width=7)),
        case("gradients of an earlier step in `.grad`", _made((3, 6, 4), stale=True)),
        case("a micro-batch without tokens", _made((4, 0, 3))),
        case("no micro-batch has tokens", _made((0, 0))),
        case("no micro-batches", _made(())),
        case("calls of `loss`", _made((3, 2, 4)), run=_calls,
             says="`loss` must be called once for each micro-batch: each call costs a whole forward pass."),
        case("a parameter that takes part only later", _made((3, 5, 2), late=True)),
        case("float32", _made((3, 5), torch.float32)),
        case("bfloat16", _made((3, 2), torch.bfloat16)),
        case("`.grad` afterwards, where there was one", _made((3, 6, 4), stale=True), run=_afterwards,
             says="A parameter's `.grad` is not what it was before the call. Who else may be adding up gradients "
                  "there?"),
        case("`.grad` afterwards, where there was none", _made((3, 6)), run=_afterwards,
             says="A parameter has a `.grad` after the call, and had none before. Who else may be adding up gradients "
                  "there?"),
        case("the parameters afterwards", _made((3, 2)), run=_parameters,
             says="The call changed the parameters themselves. Return their gradient only."),
        case("what the result still holds", _made((3, 2, 4)), run=_graphs,
             says="A gradient that came back is still part of a graph, or is the `.grad` of a parameter."),
        case("what autograd holds at once", _made((6,) * 12), run=_grows,
             says="The values are right, but the more micro-batches there are, the more autograd holds at once."),
    ),
    mistakes=(
        mistake("mean of the micro-batches' means", "Each micro-batch weighs the same, so a token of a short one "
                "weighs more. The mean is over all tokens: what is the earliest point at which you can divide?",
                "found = [torch.zeros_like(one) if part is None else part / max(number, 1) "
                "for one, part in zip(parameters, parts)]\ndivisor = max(len(micro_batches), 1)",
                "total = total / number\n"
                "parts = torch.autograd.grad(total, parameters, allow_unused=True)\n"
                "divisor = max(len(micro_batches), 1)"),
        mistake("sum of the micro-batches' means", "The means of the micro-batches were added up. Four parts then give "
                "four times the gradient.",
                "found = [torch.zeros_like(one) if part is None else part / max(number, 1) "
                "for one, part in zip(parameters, parts)]\ndivisor = 1",
                "total = total / max(number, 1)\n"
                "parts = torch.autograd.grad(total, parameters, allow_unused=True)\ndivisor = 1"),
        mistake("not divided", "This is the gradient of the sum. A batch twice as large would take a step twice as "
                "long: by what is it divided?", "divisor = 1"),
        mistake("divided by the number of micro-batches", "`loss` returns sums over tokens, and their number. Dividing "
                "by how many parts there are suits means of equal parts.", "divisor = max(len(micro_batches), 1)"),
        mistake("divided by the last micro-batch's tokens", "The sum was divided by the tokens of one micro-batch. "
                "What adds up besides the gradients?", "tokens += number - tokens",
                "divisor = max(number, 1) if micro_batches else 1"),
        mistake("divided twice", "The sum was divided by the tokens, and by the number of micro-batches besides. A "
                "mean over all tokens has one divisor: which?", "divisor = max(tokens, 1) * max(len(micro_batches), 1)",
                "divisor = max(tokens, 1) ** 2"),
        mistake("every micro-batch taken for as long as one", "The tokens of one micro-batch, times how many parts "
                "there are, took the place of their sum. Are all parts as long?",
                "divisor = max(len(micro_batches) * (loss.sizes or [0])[0], 1)",
                "divisor = max(len(micro_batches) * (loss.sizes or [0])[-1], 1)",
                "divisor = max(len(micro_batches) * max(loss.sizes or [0]), 1)"),
        mistake("a micro-batch left out or taken twice", "One micro-batch does not count, or counts twice. Where do "
                "your loop, or your slice, begin and end?",
                *(f"micro_batches = {some}\nsums = [torch.zeros_like(one) for one in parameters]" for some in (
                    "micro_batches[:-1]", "micro_batches[1:]", "micro_batches[:1] + micro_batches",
                    "micro_batches + micro_batches[-1:]"))),
        mistake("everything after an empty micro-batch left out", "A micro-batch without tokens ended the loop. What "
                "comes after it still counts: which word leaves out one round alone?",
                "if not number:\n    break\ntokens += number"),
        mistake("divided again and again", "What was added up so far is divided at every micro-batch, so the first "
                "parts hardly count. Which lines belong after the loop?",
                "sums[:] = [(one + other) / max(tokens, 1) for one, other in zip(sums, found)]\ndivisor = 1",
                "found = [torch.zeros_like(one) if part is None else part / max(tokens, 1) "
                "for one, part in zip(parameters, parts)]\ndivisor = 1"),
        mistake("weighed by the tokens twice", "A micro-batch's gradient was multiplied by its tokens. It is a sum "
                "over them already.", "sums[:] = [one + number * other for one, other in zip(sums, found)]"),
        mistake("the last micro-batch only", "Only one micro-batch counts: what was found before is overwritten.",
                "sums[:] = found", "sums[:] = found\ntokens += number - tokens"),
        mistake("the first micro-batch only", "Only the first micro-batch counts. A line inside the loop belongs after "
                "it.", _FIRST, "sums[:] = [one + other * (tokens == number) for one, other in zip(sums, found)]"),
        mistake("stale gradients", "`.grad` still held the gradient of an earlier step, and this one was added to it. "
                "Who clears it, and who may still need it?", _PLAIN, _STALE),
        mistake("`.grad` not left as it was", "The gradient came right, but a parameter's `.grad` is not what it was "
                "before. Can you get the gradients without it, or put it back?", _EMPTIED, _WIPED, _ZEROED,
                _SHARED,
                "for one, part in zip(parameters, sums):\n    one.grad = part / max(tokens, 1)\n"
                "gradients = [one.grad.clone() for one in parameters]",
                "for one in parameters:\n    one.grad = None\nsums = [torch.zeros_like(one) for one in parameters]"),
        mistake("a parameter without a part", "A parameter that takes no part in the loss stops everything, or its "
                "gradient is missing, None or a mere number. What is it, and of which shape?",
                "parts = torch.autograd.grad(total, parameters)",
                "found = parts\nsums[:] = [one if other is None else one + other for one, other in zip(sums, found)]\n"
                "gradients = [None if part is None else one / divisor for one, part in zip(sums, parts)]",
                "gradients = [one / divisor for one in sums if bool(one.any())]", _NONE,
                "sums = [0.0 for _ in parameters]\nfound = [0.0 if part is None else part for part in parts]"),
        mistake("NaN on nothing", "Where no token counts, nothing is divided by nothing. The gradient should be zero "
                "then: by what could you divide instead?", "divisor = torch.tensor(float(tokens))"),
        mistake("a division by zero", "Where no token counts, the call fails. The gradient should be zero then.",
                "scale = 1 / tokens\ngradients = [one * scale for one in sums]"),
        mistake("all graphs held", "The values are right, but the graphs of all micro-batches are held at once: that "
                "is the memory of the large batch. When can the first one go?", _HELD),
        mistake("a graph left in the result", "The gradients are still attached to a graph, which holds everything "
                "they came from. Who asked for second derivatives?",
                "parts = torch.autograd.grad(total, parameters, allow_unused=True, create_graph=True)",
                "gradients = [(one / divisor).requires_grad_() for one in sums]"),
        mistake("loss called more than once", "`loss` was called more often than there are micro-batches: each call is "
                "a whole forward pass.", "number = loss(micro)[1]\ntokens += number",
                "divisor = max(sum(loss(micro)[1] for micro in micro_batches), 1)"),
        mistake("the parameters changed", "The parameters were moved. Return the gradient; the step is the optimizer's "
                "job.", "with torch.no_grad():\n    for one, part in zip(parameters, sums):\n"
                "        one.sub_(0.1 * part / max(tokens, 1))\ngradients = [one / divisor for one in sums]"),
        mistake("the sign", "The gradient points the other way: this is the direction of the step, not the gradient.",
                "gradients = [-one / divisor for one in sums]"),
        mistake("one gradient for all", "One tensor came back. Each parameter has a gradient of its own shape.",
                "return torch.cat([one.flatten() for one in gradients])", "return gradients[0]",
                "return sum(one.sum() for one in gradients)"),
        mistake("in another order", "The gradients came in another order than the parameters.",
                "return gradients[::-1]"),
        mistake("the number of tokens returned too", "More came back than the gradients. Return one tensor for each "
                "parameter.",
                "return gradients, tokens", "return [*gradients, tokens]"),
        mistake("another dtype", "The gradients must keep the dtype of their parameters: with low precision, the dtype "
                "in which they are added up decides.", "sums = [torch.zeros(one.shape) for one in parameters]",
                "return [one.float() for one in gradients]", "return [one.double() for one in gradients]"),
        mistake("clipped", "The gradients were clipped, or brought to one length. That comes after they are added up, "
                "and is not asked for.", "gradients = [one / one.norm().clamp(min=1e-12) for one in sums]",
                "gradients = [(one / divisor).clamp(-1, 1) for one in sums]",
                "length = torch.stack([one.norm() for one in sums]).norm() / divisor\n"
                "gradients = [one / divisor / length.clamp(min=1) for one in sums]"),
        *adding((NOTHING,), {"nothing returned": ("if not tokens:\n    return None\ndivisor = max(tokens, 1)",)}),
    ),
    hints=(
        "The gradient of a sum is the sum of the gradients. Which of the two, sums or means, can be added up over "
        "parts of different length?",
        "For each micro-batch: call `loss` once, take the gradient of its sum at once, add it to what you have, and "
        "count the tokens. Divide when the loop is over.",
        "`torch.autograd.grad` leaves `.grad` alone. With `allow_unused=True` it gives None for a parameter that takes "
        "no part.",
        "Start with a tensor of zeros for each parameter; then whatever has no part, or no tokens, is zero "
        "automatically.",
    ),
)
