"""Exercise: where in a run the answer is carried, by putting in states of another run."""

from typing import Any

import torch
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.exercises.shared.kinds import NOTHING, left_in, overwritten, squeezed, writing
from course_utils.interpretability import patch_grid
from torch import Tensor

RIGHT = """
def patch_grid(run, clean, corrupt):
    good, bad = clean, corrupt
    best, states = run(good)
    worst, others = run(bad)
    gap = best - worst
    same = gap == 0
    base = worst
    number, length = states.shape[:2]
    grid = torch.zeros(number, length, dtype=torch.float64)
    given = states
    layers = range(number)
    for layer in layers:
        places = range(length)
        for position in places:
            put = given[layer, position]
            read = bad
            at = layer
            where = position
            value, left = run(read, layer=at, position=where, state=put)
            change = value - base
            below = gap
            part = 0.0 if same else change / below
            grid[layer, position] = part
    result = grid
    return result
"""
WORDS = 12


class Network:
    """A small network whose positions mix; any state can be replaced on the way.

    Attributes:
        mixes: For each layer the table by which its positions read each other.
        scale: What the value is multiplied by.
    """

    def __init__(
        self, g: torch.Generator, layers: int, length: int, d: int, *, causal: bool = False, reads: int | None = -1,
        alike: bool = False, dtype: torch.dtype = torch.float64, scale: float = 1.0,
    ) -> None:
        """Draw the weights.

        Args:
            g: Draws them.
            layers: How many layers.
            length: How many tokens.
            d: Width of a state.
            causal: Whether a position reads only itself and those before it.
            reads: Position whose state gives the value; None is all of them.
            alike: Whether all positions read and are read in the same way.
            dtype: Of the states.
            scale: What the value is multiplied by.
        """

        def draw(*shape: int) -> Tensor:
            return torch.randn(shape, generator=g, dtype=torch.float64).to(dtype)

        self.words, self.places, self.out = draw(WORDS, d), draw(length, d), draw(d)
        self.mixes, self.inner = draw(layers, length, length), draw(layers, d, d)
        if causal:
            self.mixes = self.mixes.tril()
        if alike:
            self.places, self.mixes = 0 * self.places, torch.ones_like(self.mixes)
        self.reads, self.scale = reads, scale

    def __call__(
        self, tokens: Tensor, layer: Any = None, position: Any = None, state: Any = None
    ) -> tuple[float, Tensor]:
        """Return the value and the states (n, L, d); if a state is given, it takes the place of the layer's own."""
        length, layers = len(self.places), len(self.mixes)
        if not isinstance(tokens, Tensor) or tokens.dtype != torch.long or tokens.shape != (length,):
            raise TypeError(f"run takes {length} tokens, as one tensor of dtype long")
        told = [one is not None for one in (layer, position, state)]
        if any(told):
            if not all(told):
                raise TypeError("run takes layer, position and state together, or none of them")
            layer, position = int(layer), int(position)
            if not (0 <= layer < layers and 0 <= position < length):
                raise IndexError(f"run has the layers 0 to {layers - 1} and the positions 0 to {length - 1}, "
                                 f"got layer {layer} and position {position}")
            if not isinstance(state, Tensor) or state.shape != self.out.shape:
                raise ValueError(f"run puts in one state, of shape ({len(self.out)},)")
        x = self.words[tokens] + 0.5 * self.places
        states = []
        for number, (mix, inner) in enumerate(zip(self.mixes, self.inner, strict=True)):
            x = x + (mix @ x @ inner).tanh()
            if number == layer:
                x = x.clone()
                x[position] = state.to(x.dtype)
            states.append(x)
        read = x.sum(0) if self.reads is None else x[self.reads]
        value = self.scale * float(read.double().square() @ self.out.double() + read.double() @ self.out.double())
        return round(value, 9), torch.stack(states)


def _in_float32(fn: Function, *args: Any) -> Any:
    """Judge to 1e-5, in whatever floating dtype the grid comes."""
    got = fn(*args)
    return got.detach().float() if isinstance(got, Tensor) and got.is_floating_point() else got


def _case(
    name: str, layers: int, length: int, d: int = 3, *, changed: tuple[int, ...] | None = None, swapped: bool = False,
    **more: Any,
) -> Case:  # fmt: skip
    """Make a case in which the tokens differ at these places, or at all, or are in the other order."""

    def make(g: torch.Generator) -> tuple[Any, ...]:
        network = Network(g, layers, length, d, **more)
        clean = torch.randint(WORDS, (length,), generator=g)
        corrupt = (clean + torch.randint(1, WORDS, (length,), generator=g)) % WORDS
        if changed is not None:
            kept = [place for place in range(length) if place not in changed]
            corrupt[kept] = clean[kept]
        if swapped:
            clean[0] = (clean[1] + 3) % WORDS
            corrupt = clean.flip(0)
        return network, clean, corrupt

    return case(name, make, run=_in_float32)


def _nothing_changed(args: tuple[Any, ...], got: Tensor) -> bool:
    """Return whether a grid holds 0 alone, or 1 alone."""
    return any(bool(((got - number).abs() < 1e-6).all()) for number in (0.0, 1.0))


_NOISING = "read = good\ngiven = others"

EXERCISE = exercise(
    patch_grid,
    right=RIGHT,
    asks="Put each state of a clean run into the corrupt one, and give the share of the difference that it restores.",
    minutes=10,
    difficulty=3,
    importance=5,
    inputs=("run", "clean", "corrupt"),
    cases=(
        _case("one layer, 2 tokens", 1, 2),
        _case("2 layers, 3 tokens", 2, 3),
        _case("3 layers, 5 tokens, one of them different", 3, 5, changed=(1,)),
        _case("a causal network", 3, 4, causal=True),
        _case("a causal network, the third token different", 2, 5, causal=True, changed=(2,)),
        _case("the value read at the first position", 3, 4, reads=0),
        _case("the value read at all positions", 2, 4, reads=None),
        _case("the same tokens in both runs", 2, 3, changed=()),
        _case("other tokens, the same value", 2, 4, causal=True, reads=0, changed=(2, 3)),
        _case("the same value, though states matter", 2, 2, reads=None, alike=True, swapped=True),
        _case("a small difference of the values", 3, 4, scale=0.001),
        _case("values of thousands", 2, 4, scale=1e3),
        _case("as many layers as tokens", 3, 3),
        _case("one token", 4, 1),
        _case("one layer", 1, 5),
        _case("one layer, one token", 1, 1),
        _case("every size is 4", 4, 4, d=4),
        _case("more layers than tokens", 6, 3, d=2),
        _case("float32", 3, 4, dtype=torch.float32),
    ),
    mistakes=(
        NOTHING,
        mistake("noising", "Corrupt states were put into the clean run: that asks what breaks the answer. Which run "
                "is to be restored, and whose states restore it?", _NOISING,
                f"{_NOISING}\nbase = best", f"{_NOISING}\nbase = best\nbelow = worst - best",
                "good, bad = corrupt, clean", f"{_NOISING}\nchange = best - value\nbelow = gap",
                f"{_NOISING}\npart = 1 - (value - worst) / gap if not same else 0.0",
                "good, bad = corrupt, clean\npart = 0.0 if same else 1 - change / below"),
        mistake("own states", "Each state was put into the run it came from, so nothing changed. Whose states, and "
                "whose tokens?", "given = others", "read = good", "put = others[layer, position]",
                "put = given[layer, position]\nvalue, left = run(read)",
                "read = good\nchange = best - value", "given = others\npart = 1 - (value - base) / gap if not same "
                "else 0",
                matches=_nothing_changed),
        mistake("not normalised", "These are values, or differences of values. What is the whole difference, of which "
                "a "
                "share is asked for?", "part = change", "part = value", "part = 0.0 if same else change",
                "part = best - value", "part = value - best"),
        mistake("divided by the clean value", "The change was divided by the value of one run. Which difference counts "
                "as 1?", "below = best", "below = worst", "below = abs(best)", "below = abs(worst)",
                "below = best + worst", "part = 0.0 if same else value / best", "part = 0.0 if same else value / gap",
                "part = value / best", "part = change / best", "part = value / worst", "part = change / worst",
                "below = abs(best) + abs(worst)", "below = max(abs(best), abs(worst))"),
        mistake("1 - recovery", "This is what is still missing. What is 1 where all is restored?",
                "part = 0.0 if same else 1 - change / below", "part = 0.0 if same else (best - value) / below",
                "result = 1 - grid"),
        mistake("the sign of the difference lost", "The change was divided by the size of the difference: where the "
                "corrupt value is the larger one, every sign is wrong.", "gap = abs(best - worst)"),
        mistake("sign", "Every sign is the opposite one. What is subtracted from what, above and below?",
                "change = base - value", "below = worst - best", "gap = worst - best"),
        mistake("clipped", "Values above 1 or below 0 were cut off. A state can restore more than all, and can harm: "
                "they stay.", "result = grid.clamp(0, 1)", "result = grid.clamp(min=0)", "result = grid.clamp(max=1)",
                "part = 0.0 if same else min(max(change / below, 0.0), 1.0)", "result = grid.clamp(-1, 1)"),
        mistake("the sign lost", "A state that makes it worse has a negative share.", "result = grid.abs()",
                "result = grid.square()", "change = abs(value - base)", "part = 0.0 if same else 1 - abs(best - value)"
                " / abs(gap)"),
        mistake("transposed", "Rows and columns are exchanged: a row of the grid is a layer.", "result = grid.mT",
                "result = grid.reshape(length, number)", "result = grid.mT.reshape(number, length)",
                "result = grid.flatten().reshape(length, number).mT"),
        mistake("NaN where both values are equal", "Where clean and corrupt have the same value, there is nothing to "
                "restore, and 0 / 0 is NaN. What should stand there?", "same = False",
                "part = torch.tensor(change) / gap", "part = change / torch.tensor(gap)",
                "part = float('nan') if same else change / below", "part = math.inf if same else change / below"),
        mistake("ones where both values are equal", "Where clean and corrupt have the same value, zeros are asked for.",
                "part = 1.0 if same else change / below", "part = change if same else change / below",
                "part = 0.5 if same else change / below"),
        mistake("something added to the difference", "Something small was added to what is divided by: where both "
                "values are equal the shares are huge, or every share is a little too small.",
                *(f"part = change / (gap + {one})" for one in ("1e-12", "1e-9", "1e-8", "1e-6", "1e-4", "1e-3"))),
        mistake("a small difference taken for none", "The values differ, by little, and the grid is 0. When are they "
                "the same?", "same = abs(gap) < 0.1", "same = abs(gap) < 0.05", "same = abs(gap) < 0.01",
                "same = round(best, 1) == round(worst, 1)", "same = abs(gap) < 1"),
        mistake("the state of the layer below", "The state was taken from another layer than the one it was put "
                "behind.", "put = given[layer - 1, position]", "put = given[max(layer - 1, 0), position]",
                "put = given[min(layer + 1, number - 1), position]", "put = given[-1, position]",
                "put = given[0, position]", "put = given[number - 1 - layer, position]",
                "put = given[(layer + 1) % number, position]"),
        mistake("put behind another layer", "The state was put behind another layer than its own.",
                "at = max(layer - 1, 0)", "at = min(layer + 1, number - 1)",
                "at = layer + (not same)", "at = layer - (not same)",
                "at = 0", "at = number - 1", "at = number - 1 - layer", "at = (layer + 1) % number"),
        mistake("the state of the last position", "The state was taken from another position than the one it was put "
                "at.", "put = given[layer, -1]", "put = given[layer, 0]", "put = given[layer, position - 1]",
                "put = given[layer, (position + 1) % length]", "put = given[layer, length - 1 - position]"),
        mistake("put at another position", "The state was put at another position than its own.",
                "where = length - 1", "where = 0", "where = length - 1 - position", "where = (position + 1) % length",
                "where = max(position - 1, 0)",
                "where = position - (not same)"),
        mistake("rows in the wrong order", "A layer's row, or a position's column, holds the shares of another one.",
                "result = grid.flip(0)", "result = grid.flip(1)", "result = grid.roll(1, 0)",
                "result = grid.roll(1, 1)",
                "result = grid.roll(-1, 0)", "result = grid.roll(-1, 1)", "result = grid.flip(0).flip(1)"),
        mistake("a layer left out", "One layer has no shares: the first, or the last. Which numbers does your range "
                "give?", "layers = range(1, number)", "layers = range(number - 1)",
                "layers = range(1, number)\nresult = grid[1:]", "result = torch.tensor(grid[1:].tolist())",
                "layers = range(number - 1)\nresult = grid[:-1]"),
        mistake("a position left out", "One position has no shares: the first, or the last. Which numbers does your "
                "range give?", "places = range(1, length)", "places = range(length - 1)",
                "places = range(length - 1)\nresult = grid[:, :-1]", "places = range(1, length)\nresult = grid[:, 1:]"),
        mistake("the patched run's states put in", "After the first cell, the states came from a changed corrupt run, "
                "not from the clean one. Which line writes over them?",
                "given.copy_(left)\nchange = value - base"),
        mistake("one position only", "Only one position was looked at, such as the last.",
                "places = [length - 1]", "places = [0]"),
        mistake("one layer only", "Only one layer was looked at. Each layer has a row.",
                "layers = [number - 1]", "layers = [0]",
                "layers = [number - 1]\nresult = grid[-1]"),
        mistake("places with equal tokens skipped", "Where both runs have the same token, the share is 0 here. Their "
                "states may differ all the same: what have they read?",
                "places = [one for one in range(length) if clean[one] != corrupt[one]]",
                "part = 0.0 if same or clean[position] == corrupt[position] else change / below"),
        mistake("places before the change skipped", "Places before the first token that differs have the share 0 here. "
                "That holds in a causal network only.",
                "first = next((one for one in range(length) if clean[one] != corrupt[one]), length)\n"
                "places = range(first, length)"),
        mistake("base changed on the way", "Each cell was compared with the one before it. With which run is it "
                "compared?", "change = value - base + 0 * (base := value)",
                "change = value - base\nbelow = (best - base or math.inf) + 0 * (base := value)",),
        mistake("a zero state", "Zeros, or a mean, were put in: that is an ablation. Whose state restores what is "
                "missing?", "put = torch.zeros_like(given[layer, position])", "put = given[layer].mean(0)",
                "put = given.mean((0, 1))", "put = given[:, position].mean(0)",
                "put = torch.randn_like(given[layer, position])", "put = torch.ones_like(given[layer, position])",
                "put = others[layer].mean(0)"),
        mistake("the two states mixed", "The state that was put in is a sum, a difference or a mean of the two runs'.",
                "put = given[layer, position] - others[layer, position]",
                "put = given[layer, position] + others[layer, position]",
                "put = (given[layer, position] + others[layer, position]) / 2"),
        mistake("tokens exchanged instead of states", "The clean token was put in, not the clean state: every layer "
                "has the same row.", "swapped = corrupt.clone()\nswapped[position] = clean[position]\n"
                "value, left = run(swapped)", "swapped = clean.clone()\nswapped[position] = corrupt[position]\n"
                "value, left = run(swapped)", "swapped = corrupt.clone()\nswapped[position] = clean[position]\n"
                "value, left = run(swapped)\nresult = grid[0]"),
        mistake("states compared, not values", "The states of the two runs were compared. What counts is what a state "
                "does to the value.", "part = (states[layer, position] - others[layer, position]).norm()",
                "part = F.cosine_similarity(states[layer, position], others[layer, position], dim=0)",
                "part = (states[layer, position] - others[layer, position]).norm() / gap"),
        mistake("the pair that `run` returns", "`run` returns a number and the states. Which of the two is compared?",
                "change = 0.0 if same else (value, left) - base",
                "change = left - base"),
        mistake("layer and position exchanged", "The two numbers were given to `run`, or to the states, in the wrong "
                "order.", "at = position\nwhere = layer", "at = layer if same else position\n"
                "where = position if same else layer", "put = given[position, layer]",
                "put = given[layer, position] if same else given[position, layer]"),
        mistake("made to sum to 1", "The grid was divided by its sum or its largest entry, or by those of a row. A "
                "share is of the difference between the two runs.",
                "result = grid / grid.sum().clamp(min=1e-9)", "result = grid / grid.sum()",
                "result = grid / grid.abs().max().clamp(min=1e-9)", "result = grid / grid.max()",
                "result = grid / grid.sum(-1, keepdim=True)", "result = grid / grid.sum(0, keepdim=True)",
                "result = (grid - grid.min()) / (grid.max() - grid.min())", "result = grid.softmax(-1)",
                "result = grid / grid.abs().sum()", "part = change\nresult = grid / grid.max()",
                "part = change\nresult = grid / grid.abs().max()", "result = grid / grid.abs().max()",
                "result = grid / grid.abs().sum().clamp(min=1e-9)", "result = grid.flatten().softmax(0).view_as(grid)"),
        mistake("not the grid", "Layers or positions were added up. Each pair of them has a share of its own.",
                "result = grid.sum(0)", "result = grid.mean(0)", "result = grid.sum(1)", "result = grid.mean(1)",
                "result = grid.mean()", "result = grid.sum()", "result = grid.flatten()", "result = grid.amax(0)"),
        mistake("running sums", "The shares were added up along the layers or the positions, or are what a layer adds.",
                "result = grid.cumsum(0)", "result = grid.cumsum(1)", "result = grid.diff(dim=0, prepend=grid[:1] * 0)",
                "result = grid.diff(dim=1, prepend=grid[:, :1] * 0)"),
        mistake("percent", "The shares are in percent. 1 is all of it.", "result = 100 * grid"),
        mistake("ratios or logarithms", "Values were divided, or their logarithms taken. A share is a difference over "
                "a difference.", "part = 0.0 if same else math.log(abs(value / worst)) / math.log(abs(best / worst))",
                "part = 0.0 if same else math.exp(change / below)",
                "part = 0.0 if same else math.tanh(change / below)"),
        mistake("whole numbers", "The shares were rounded, or cut to whole numbers. Which dtype has a grid?",
                "result = grid.long()", "result = grid.round()", "result = grid.bool()", "result = grid.int()",
                "result = grid.round(decimals=1)", "result = grid.round(decimals=2)", "result = grid > 0.5",
                "result = grid.round(decimals=3)", "result = grid.long().double()",
                "result = grid.half()", "result = grid.bfloat16()"),
        mistake("a list", "A list, or an array, came back, where one tensor is asked for.",
                "return result.tolist()", "return list(result)", "return result.numpy()", "return result, states",
                "return [result]", "return result, best, worst", "return result, best", "return best, result"),
        overwritten(*writing(patch_grid, 1, 2), "swapped = corrupt\nswapped[position] = clean[position]\n"
                    "value, left = run(swapped)"),
        squeezed("return result{}"), left_in("return result{}"),
    ),
    hints=(
        "Two runs come first: the clean one gives its value and all its states, the corrupt one its value.",
        "One cell: run the corrupt tokens once more, with the clean state of this layer and position put in at the "
        "same place. How far has the value come from corrupt to clean?",
        "The share is 0 where the value is still that of the corrupt run, and 1 where it is that of the clean one. "
        "What do you do where these two are equal?",
    ),
)
