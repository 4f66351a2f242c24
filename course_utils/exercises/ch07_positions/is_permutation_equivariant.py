"""Exercise: a test that tells whether a layer uses the order of its tokens."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.inputs import normal
from course_utils.checking.mistakes import mistake
from course_utils.exercises.shared.kinds import NOTHING, overwritten
from course_utils.positions import is_permutation_equivariant, sinusoidal_encoding
from torch import Tensor, nn

RIGHT = """
def is_permutation_equivariant(layer, x, permutation):
    batch = x
    order = permutation
    shuffled = batch[:, order]
    got = layer(shuffled)
    wanted = layer(batch)[:, order]
    same = close(got, wanted)
    return bool(same)
"""


def close(got: Tensor, want: Tensor) -> bool:
    """Compare to rounding, as it should be done."""
    room = torch.finfo(want.dtype).eps ** 0.5 * want.abs().max()
    return got.shape == want.shape and bool(((got - want).abs() <= room).all())


def _made_of(fold: str) -> str:
    """Return the line that compares something made of the outputs instead of them."""
    return f"same = close(got{fold}, wanted{fold})"


SHUFFLE = (
    mistake("invariance tested", "The output for shuffled tokens is compared with the output as it was. That is "
            "invariance: a layer that only shuffles fails it. What should happen to the second output?",
            "wanted = layer(batch)", "same = close(got, wanted) or close(got, layer(batch))",
            "wanted = layer(batch)\nsame = not close(got, wanted)"),
    mistake("only the output shuffled", "The layer never sees shuffled tokens: both calls have the same input.",
            "shuffled = batch"),
    mistake("shuffled twice instead of back", "The output was shuffled a second time, or the other one by the inverse. "
            "A permutation undoes itself only if it merely swaps pairs; its `argsort` undoes it.",
            "shuffled = batch[:, order.argsort()]"),
    mistake("the batch shuffled", "The sequences are shuffled, not the tokens. Which axis of (B, L, d) holds the "
            "tokens?", "shuffled = batch[order]\nwanted = layer(batch)[order]",
            "shuffled = batch[order % len(batch)]\nwanted = layer(batch)[order % len(batch)]",
            "order = permutation[permutation < len(x)]\nshuffled = batch[order]\nwanted = layer(batch)[order]"),
    mistake("the sequences joined into one", "The layer was given the tokens of all sequences as one long sequence. In "
            "it tokens of different sequences meet: what does the first axis of (B, L, d) keep apart?",
            "flat = batch.flatten(0, 1)\nshuffled = flat[order][None]\nwanted = layer(flat[None])[:, order]",
            "shuffled = batch[:, order].flatten(0, 1)[None]\nwanted = layer(batch)[:, order].flatten(0, 1)[None]"),
    mistake("the features shuffled", "The features of each token are shuffled. Which axis of (B, L, d) holds the "
            "tokens?",
            "shuffled = batch[..., order % batch.shape[-1]]\nwanted = layer(batch)[..., order % batch.shape[-1]]",
            "shuffled = batch[..., order]\nwanted = layer(batch)[..., order]"),
    mistake("another permutation than the given one", "The test tries an order of its own. A layer may only shuffle "
            "under one permutation and not under another; the question is about the given one.",
            "order = torch.arange(len(permutation)).flip(0)", "order = torch.arange(len(permutation)).roll(1)",
            "order = permutation.flip(0)",
            "several = (order, order.flip(0), order.roll(1))\n"
            "same = all(close(layer(batch[:, one]), layer(batch)[:, one]) for one in several)"),
    mistake("other sequences than x", "The layer is tried on invented sequences, not on x. A layer may use the order "
            "only in sequences like x.", "batch = torch.linspace(-1, 1, x.numel(), dtype=x.dtype).view(x.shape)",
            "batch = torch.ones_like(x)", "batch = torch.zeros_like(x)"),
    mistake("an output compared with tokens", "What goes into the layer is compared with what comes out of it. A layer "
            "may change every token and still only shuffle: which two outputs must agree?",
            "wanted = shuffled", "got = shuffled"),
    mistake("the layer not asked", "The tokens are compared, and the layer is never called. Whose behaviour is in "
            "question?",
            "got = shuffled\nwanted = batch", "got = shuffled\nwanted = batch\nsame = not close(got, wanted)"),
)

COMPARE = (
    mistake("always True", "The test says True of every layer, also of one that adds positions.", "same = True"),
    mistake("always False", "The test says False of every layer, also of one that treats all tokens alike.",
            "same = False"),
    mistake(
        "the answer turned round",
        "The test says True where the layer uses the order, and False where it does not.",
        "same = not close(got, wanted)",
    ),
    mistake("no room for rounding", "Sums in another order differ in their last digits, so a right layer is called "
            "wrong. How are real numbers compared, also close to 0?", "same = torch.equal(got, wanted)",
            "same = torch.allclose(got, wanted, rtol=1e-3, atol=0)",
            "same = torch.allclose(got, wanted, rtol=1e-9, atol=1e-12)", "same = (got - wanted).abs().max() < 1e-12"),
    mistake("too much room", "A layer that uses the order a little is called equivariant: the tolerance is far larger "
            "than rounding, or does not shrink with small outputs.",
            *(f"same = torch.allclose(got, wanted, rtol=0, atol={room})" for room in (1e-3, 1e-2, 1.0)),
            "same = torch.allclose(got, wanted, rtol=0.1)", "same = torch.allclose(got, wanted, rtol=0, atol=1e-4)",
            "same = torch.equal(got.round(decimals=3), wanted.round(decimals=3))",
            "same = torch.equal(got.round(decimals=4), wanted.round(decimals=4))"),
    mistake("one equal value is enough", "One pair of equal values makes the answer True. All of them have to agree.",
            "same = torch.isclose(got, wanted).any()"),
    mistake("differences with a sign", "Differences below zero are small numbers too: without their size a layer that "
            "lowers its outputs passes.", "same = (got - wanted).max() < 1e-6", "same = (wanted - got).max() < 1e-6"),
    mistake("differences that cancel", "The differences are added up before they are compared with the tolerance, and "
            "cancel: some are "
            "positive and others negative.",
            "same = (got - wanted).mean().abs() < 1e-6", "same = (got - wanted).sum() < 1e-5"),
    mistake("tokens added up before they are compared", "The sum or mean over the tokens does not show their "
            "order.", _made_of(".sum(1)")),
    mistake("sorted before they are compared", "The values were sorted before they were compared, so every order looks "
            "right. Which value must be at which place?", _made_of(".flatten().sort().values")),
    mistake("only sizes compared", "Only sizes are compared: two outputs of the same norm need not be the same. What "
            "is compared entry by entry?", _made_of(".norm()"), _made_of(".abs()")),
    mistake("features averaged before they are compared", "The features of each token were added up; one that is too "
            "large hides one that is too small.", _made_of(".sum(-1)")),
)

PART = (
    mistake("only the first sequence", "A layer may treat the first sequence of the batch correctly and another one "
            "wrongly.",
            _made_of("[0]"), "got = layer(shuffled[:1])\nwanted = layer(batch)[:1, order]"),
    mistake("one sequence at a time", "The layer is called with single sequences; then it cannot show what it does to "
            "the second of a batch.",
            "same = all(close(layer(one[None, order]), layer(one[None])[:, order]) for one in x)"),
    mistake("only the first token", "Only the first place of the sequence is compared. What if the layer changes "
            "another one?", _made_of("[:, 0]")),
    mistake("only the last token", "Only the last place of the sequence is compared. What if the layer changes another "
            "one?", _made_of("[:, -1]")),
    mistake("only the first feature", "Only the first feature of each token is compared. What if the layer changes "
            "another one?", _made_of("[..., 0]")),
    mistake("the batch averaged", "The sequences were averaged before they were compared. What if one is raised and "
            "another lowered?", _made_of(".mean(0)")),
)

KIND = (
    mistake("a tensor returned", "The answer is a tensor with one truth value, or an array with several. What makes "
            "one Python `bool` of it?", "return torch.tensor(bool(same))",
            "return (got - wanted).abs() <= torch.finfo(got.dtype).eps ** 0.5 * wanted.abs().max()"),
    mistake("a number returned", "The answer is a number. Python's True and False are asked for: what makes one of it?",
            "return int(same)", "return float(same)", "return (got - wanted).abs().max().item()"),
    NOTHING,
    overwritten("before = layer(batch)[:, order]\nshuffled = batch.copy_(batch[:, order].clone())\nwanted = before",
                "shuffled = batch.copy_(batch[:, order].clone())"),
)

# The layers on which the test is tested: some only shuffle, some use the order in a hidden way.

Function = Callable[[Tensor], Tensor]
Maker = Callable[[torch.Generator, int], Function]
# Cycles of length 5, 4 and 3: none of them undoes itself.
FIVE, FOUR, THREE = (2, 0, 3, 4, 1), (1, 3, 0, 2), (1, 2, 0)
AWAY, STAYS = "uses the order of its tokens", "treats all tokens alike"


class _Layer(nn.Module):
    """A function of a batch of sequences in the form of a module."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def _attention(bias: Function = torch.zeros_like, size: float = 1.0, shift: float = 0.0) -> Maker:
    """Return attention with a bias made of the distances key minus query, its output moved."""

    def make(g: torch.Generator, width: int) -> Function:
        W_q, W_k, W_v = (normal(g, width, width) for _ in range(3))

        def attend(x: Tensor) -> Tensor:
            query, key, value = (x @ W.to(x.dtype) for W in (W_q, W_k, W_v))
            place = torch.arange(x.shape[1], dtype=x.dtype)
            scores = query @ key.mT / math.sqrt(width) + bias(place - place.unsqueeze(-1))
            return torch.softmax(scores, dim=-1) @ value * size + shift

        return attend

    return make


def _with_positions(size: float = 1.0, axis: int = 1) -> Maker:
    """Return attention on tokens with sinusoidal encodings, read along an axis."""

    def make(g: torch.Generator, width: int) -> Function:
        attend = _attention()(g, width)

        def layer(x: Tensor) -> Tensor:
            pe = sinusoidal_encoding(x.shape[axis], width + width % 2)[:, :width].double()
            return attend(x + size * (pe if axis == 1 else pe[:, None]))

        return layer

    return make


def _network(g: torch.Generator, width: int) -> Function:
    W_in, W_out = normal(g, width, 9), normal(g, 9, width)
    return lambda x: torch.relu(x @ W_in) @ W_out


def _causal(steps: Tensor) -> Tensor:
    return torch.zeros_like(steps).masked_fill(steps > 0, -torch.inf)


def _fading(steps: Tensor) -> Tensor:
    return -steps.abs()


def _plain(function: Function) -> Maker:
    """Return a layer without weights."""
    return lambda g, width: function


def _changed_at(place: int) -> Maker:
    """Add 1 at one place of every sequence."""
    return _plain(lambda x: x + (torch.arange(x.shape[1]) == place % x.shape[1]).to(x.dtype).view(1, -1, 1))


def _numbered(share: Function) -> Maker:
    """Add to each token its number times a share."""
    return _plain(lambda x: x + torch.arange(x.shape[1], dtype=x.dtype).view(1, -1, 1) * share(x))


def _signs(axis: int) -> Function:
    """Return 1 and -1 in turn along an axis; they sum to 0 where its size is even."""
    return lambda x: (
        (1 - 2 * (torch.arange(x.shape[axis]) % 2)).to(x.dtype).view(*(-1 if i == axis else 1 for i in range(3)))
    )


def _later(x: Tensor) -> Tensor:
    """Return 0 for the first sequence and 1 for the others."""
    return (torch.arange(x.shape[0]) > 0).to(x.dtype).view(-1, 1, 1)


def _high(x: Tensor) -> Tensor:
    """Return 1 for sequences of high numbers and 0 for the others."""
    return (x.mean((1, 2), keepdim=True) > 2.5).to(x.dtype)


def _last_feature(x: Tensor) -> Tensor:
    return (torch.arange(x.shape[2]) == x.shape[2] - 1).to(x.dtype)


def _nearly_zero(x: Tensor) -> Tensor:
    """Return x, its first feature replaced by what is left of a sum of differences from a mean."""
    first = x[..., :1]
    return torch.cat(((first - first.mean(1, keepdim=True)).sum(1, keepdim=True).expand_as(first), x[..., 1:]), dim=-1)


def _planted(
    name: str,
    made: Maker,
    does: str,
    shape: tuple[int, int, int] = (3, 5, 4),
    order: Sequence[int] = FIVE,
    dtype: str = "float64",
    first: str = "",
) -> Case:
    """Return a case with a planted layer.

    Args:
        name: What the layer is.
        made: Makes it.
        does: What it does with the given permutation, as a learner reads it.
        shape: Of the sequences.
        order: The permutation.
        dtype: Of the sequences.
        first: "number" makes the first feature of each token its number, "low" makes the numbers
            of all sequences but the first high.
    """

    def make(g: torch.Generator) -> tuple[Any, ...]:
        x = normal(g, *shape, dtype=getattr(torch, dtype))
        if first == "number":
            x[..., 0] = torch.arange(shape[1]).to(x.dtype)
        if first == "low":
            x[1:] += 5.0
        return _Layer(made(g, shape[-1])), x, torch.tensor(order)

    says = f"The layer is {name}: with this permutation it {does}. The answer says otherwise."
    return case(name, make, says=says)


CASES = (
    _planted("attention without positions", _attention(), STAYS),
    _planted("attention on tokens with positions", _with_positions(), AWAY),
    _planted("a feed-forward layer", _network, STAYS),
    _planted("attention under a causal mask", _attention(_causal), AWAY),
    _planted("the mean of all tokens, at every place", _plain(lambda x: x.mean(1, keepdim=True).expand_as(x)), STAYS),
    _planted("one that shifts all tokens by one", _plain(lambda x: x.roll(1, 1)), AWAY),
    _planted("one that sorts its tokens", _plain(lambda x: x.sort(1).values), AWAY),
    _planted("a running sum", _plain(lambda x: x.cumsum(1)), AWAY),
    _planted("attention with as many sequences as tokens", _attention(), STAYS, (4, 4, 3), FOUR),
    _planted("attention with positions, as many sequences as tokens", _with_positions(), AWAY, (4, 4, 3), FOUR),
    _planted("attention with positions read along the batch", _with_positions(axis=0), STAYS),
    _planted("positions along the batch, as many sequences as tokens", _with_positions(axis=0), STAYS, (4, 4, 6), FOUR),
    _planted("the difference from the mean of the batch", _plain(lambda x: x - x.mean(0)), STAYS),
    _planted("attention with positions a thousandth as large", _with_positions(1e-3), AWAY),
    _planted("attention in float32", _attention(size=0.2, shift=3.0), STAYS, (2, 5, 8), dtype="float32"),
    _planted("attention that fades to both sides", _attention(_fading), AWAY),
    _planted(
        "attention that fades to both sides, given a reversal", _attention(_fading), STAYS, (3, 4, 5), (3, 2, 1, 0)
    ),
    _planted("one that adds the token before, in a circle", _plain(lambda x: x + 0.5 * x.roll(1, 1)), AWAY),
    _planted(
        "one that adds the token before, given a shift",
        _plain(lambda x: x + 0.5 * x.roll(1, 1)),
        STAYS,
        (2, 5, 3),
        (3, 4, 0, 1, 2),
    ),
    _planted("attention with positions, given the identity", _with_positions(), STAYS, (2, 4, 6), (0, 1, 2, 3)),
    _planted("attention with positions on single tokens", _with_positions(), STAYS, (2, 1, 4), (0,)),
    _planted("one that numbers the tokens of later sequences", _numbered(_later), AWAY),
    _planted("one that numbers the tokens of sequences with high numbers", _numbered(_high), AWAY, first="low"),
    _planted("one that numbers one feature", _numbered(_last_feature), AWAY),
    _planted("one that changes the last token", _changed_at(-1), AWAY),
    _planted("one that changes the first token", _changed_at(0), AWAY),
    _planted("one that changes a token in the middle", _changed_at(2), AWAY, (2, 5, 3), (0, 2, 3, 1, 4)),
    _planted("one that adds the first token", _plain(lambda x: x + x[:, :1, :1]), AWAY, first="number"),
    _planted("one that takes the first token away", _plain(lambda x: x - x[:, :1, :1]), AWAY, first="number"),
    _planted(
        "one that adds the first token to some features and takes it from others",
        _plain(lambda x: x + x[:, :1, :1] * _signs(2)(x)),
        AWAY,
        first="number",
    ),
    _planted("one that flips signs by the place", _plain(lambda x: x * _signs(1)(x)), AWAY),
    _planted("one that moves weight from feature to feature by the place", _numbered(_signs(2)), AWAY),
    _planted("one that raises one sequence by the place and lowers the other", _numbered(_signs(0)), AWAY, (2, 5, 3)),
    _planted("one that reverses, given a cycle", _plain(lambda x: x.flip(1)), AWAY, (2, 3, 4), THREE),
    _planted("one that changes nothing", _plain(torch.clone), STAYS),
    _planted("attention on a single sequence", _attention(), STAYS, (1, 5, 4)),
    _planted("one whose first feature is 0 but for rounding", _plain(_nearly_zero), STAYS, (2, 5, 3)),
    _planted(
        "one that numbers its tokens and makes everything small",
        _plain(lambda x: 4e-5 * (torch.arange(x.shape[1]) == 0).to(x.dtype).view(1, -1, 1).expand_as(x)),
        AWAY,
    ),
)

EXERCISE = exercise(
    is_permutation_equivariant,
    right=RIGHT,
    asks="Return whether shuffling the tokens of x only shuffles the layer's output.",
    minutes=10,
    difficulty=2,
    importance=4,
    cases=CASES,
    mistakes=(*SHUFFLE, *COMPARE, *PART, *KIND),
    hints=(
        "Two outputs are compared: one of shuffled tokens, and one that is shuffled afterwards.",
        "`x[:, permutation]` shuffles the tokens of every sequence. What does `x[permutation]` shuffle?",
        "Sums in another order differ in their last digits: `torch.allclose` forgives those, and hardly more.",
        "The answer is Python's True or False for the given permutation; no other one is tried.",
    ),
)
