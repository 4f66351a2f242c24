"""Exercise: the layers as a network of pipes, and how much can pass from a token to a position."""

import math
from itertools import pairwise

import networkx
import torch
import torch.nn.functional as F
from course_utils.checking.exercise import case, exercise
from course_utils.checking.inputs import Make, normal
from course_utils.checking.mistakes import Trace, mistake
from course_utils.exercises.shared.layers import LAYERS, listed
from course_utils.interpretability import attention_flow
from course_utils.interpretability.flow import maximum_flow
from torch import Tensor

RIGHT = """
def attention_flow(layers, source, target):
    length = len(layers[0])
    own = torch.eye(length, dtype=layers[0].dtype)
    order = range(len(layers))
    room = torch.zeros(((len(order) + 1) * length,) * 2, dtype=torch.float64)
    for level, number in enumerate(order):
        weights = layers[number]
        through = 0.5 * weights + 0.5 * own
        pipes = through.mT
        low = level * length
        place = slice(low, low + length), slice(low + length, low + 2 * length)
        room[place] = pipes
    start = source
    end = len(order) * length + target
    total = flow(room, start, end)
    return total
"""


def flow(room: Tensor, start: int, end: int, back: bool = True) -> float:
    """Return the maximum flow of a table of capacities; without `back`, no path is taken back."""
    if start == end:
        return 0.0
    left = [{j: c for j, c in enumerate(row) if c > 0} for row in room.tolist()]
    return maximum_flow(left, start, end) if back else _greedy(left, start, end)


def _greedy(left: list[dict[int, float]], start: int, end: int) -> float:
    """Fill path after path, from the first neighbour on, and never take anything back."""
    total = 0.0
    while path := _first_path(left, start, end):
        pushed = min(left[a][b] for a, b in pairwise(path))
        for a, b in pairwise(path):
            left[a][b] -= pushed
        total += pushed
    return total


def _first_path(left: list[dict[int, float]], node: int, end: int) -> list[int]:
    if node == end:
        return [node]
    for other, room in left[node].items():
        if room > 0 and (rest := _first_path(left, other, end)):
            return [node, *rest]
    return []


def by_networkx(room: Tensor, start: int, end: int, name: str = "capacity") -> float:
    """Return what networkx gives for the entries of the table as they are, tensors, under some attribute's name."""
    graph = networkx.DiGraph()
    for i, j in room.nonzero().tolist():
        graph.add_edge(i, j, **{name: room[i, j]})
    if start not in graph or end not in graph or start == end:
        return 0.0
    return float(networkx.maximum_flow_value(graph, start, end))


def _given_tensors(trace: Trace) -> bool:
    """Return whether networkx calculated with tensors, as an algorithm that somebody wrote for tensors hardly does."""
    return {"ne", "__rsub__", "lt", "mul"} <= trace.calls


def widest(room: Tensor, length: int, source: int, target: int, join: str) -> float:
    """Return the best path's narrowest pipe or the product of its pipes, or the sum over a node's pipes, by levels."""
    best = torch.zeros(length, dtype=torch.float64)
    best[source] = 1.0 if join == "product" else torch.inf
    for low in range(0, len(room) - length, length):
        pipes = room[low : low + length, low + length : low + 2 * length]
        ways = torch.minimum(best.unsqueeze(1), pipes) if join != "product" else best.unsqueeze(1) * pipes
        best = ways.sum(0) if join == "sum" else ways.amax(0)
    return float(best[target])


def paths_added(room: Tensor, start: int, end: int) -> float:
    """Return the sum, over all paths, of the room in a path's narrowest pipe."""
    pipes = [{j: c for j, c in enumerate(row) if c > 0} for row in room.tolist()]

    def onwards(node: int, narrowest: float) -> float:
        if node == end:
            return narrowest
        return sum(onwards(other, min(narrowest, size)) for other, size in pipes[node].items())

    return float(onwards(start, math.inf)) if start != end else 0.0


def _sent(room: Tensor, length: int, start: int) -> float:
    """Return the flow from a node to all positions above the last layer together."""
    wide = F.pad(room, (0, 1, 0, 1))
    wide[-1 - length : -1, -1] = 1e9
    return flow(wide, start, len(room))


def _received(room: Tensor, length: int, end: int) -> float:
    """Return the flow from all input tokens together to a node."""
    wide = F.pad(room, (0, 1, 0, 1))
    wide[-1, :length] = 1.0
    return flow(wide, len(room), end)


def _made(
    n: int, length: int, source: int, target: int, size: float = 2.0, dtype: torch.dtype = torch.float64
) -> Make:
    return lambda g: (normal(g, n, length, length, size=size).softmax(-1).to(dtype), source, target)


def _causal(n: int, length: int, source: int, target: int) -> Make:
    def make(g: torch.Generator) -> tuple[Tensor, int, int]:
        layers = normal(g, n, length, length, size=2.0).softmax(-1).tril()
        return layers / layers.sum(-1, keepdim=True), source, target

    return make


def _small(g: torch.Generator) -> tuple[Tensor, int, int]:
    return torch.tensor([[[1.0, 0.0], [0.4, 0.6]]], dtype=torch.float64), 0, 1


def _taken_back(g: torch.Generator) -> tuple[Tensor, int, int]:
    """Make four layers in which the first path that comes to mind blocks a better one."""
    layers = torch.zeros(4, 5, 5, dtype=torch.float64)
    steps = ((1, 0), (2, 0)), ((3, 1), (4, 1), (3, 2)), ((0, 3), (1, 4)), ((2, 0), (2, 1))
    for layer, pairs in zip(layers, steps, strict=True):
        for above, below in pairs:
            layer[above, below] = 0.8
    return layers, 0, 2


def _sparse(g: torch.Generator) -> tuple[Tensor, int, int]:
    layers = normal(g, 3, 6, 6, size=2.0).softmax(-1)
    return layers * (torch.rand(3, 6, 6, generator=g) < 0.5), 4, 1


_CASES: tuple[tuple[str, Make], ...] = (
    ("two layers, 3 tokens", _made(2, 3, 0, 2)),
    ("one layer, two tokens", _small),
    ("two layers, a token to its own position", _made(2, 4, 1, 1)),
    ("3 layers, 5 tokens", _made(3, 5, 3, 0)),
    ("causal layers", _causal(3, 5, 1, 4)),
    ("causal layers, a later token: nothing arrives", _causal(3, 5, 4, 1)),
    ("a path that has to be taken back", _taken_back),
    ("4 layers, 6 tokens", _made(4, 6, 5, 2)),
    ("6 layers, 4 tokens, sharp", _made(6, 4, 0, 3, size=4.0)),
    ("weights of 0, rows that do not sum to 1", _sparse),
    ("one layer of zeros", lambda g: (torch.zeros(1, 3, 3, dtype=torch.float64), 2, 2)),
    ("even weights", lambda g: (torch.full((2, 4, 4), 0.25, dtype=torch.float64), 2, 0)),
    ("one token", lambda g: (torch.ones(2, 1, 1, dtype=torch.float64), 0, 0)),
    ("non-contiguous inputs", lambda g: (_made(3, 5, 2, 4)(g)[0].mT.contiguous().mT, 2, 4)),
    ("float32", _made(3, 5, 1, 3, dtype=torch.float32)),
    ("what was taken back is taken back again", _made(4, 6, 0, 0, size=3.0)),
)
_TOGETHER = "room = torch.zeros((length,) * 2, dtype=torch.float64)\nplace = slice(None), slice(None)\n"
_NODES = "start = source\nend = target"

EXERCISE = exercise(
    attention_flow,
    right=RIGHT,
    asks="Build the graph of pipes between levels of positions, and give its maximum flow from a token to a position.",
    minutes=20,
    difficulty=4,
    importance=3,
    # An answer may have scaled its capacities to integers.
    cases=tuple(case(name, make, run=listed, tolerance=1e-4, absolute=1e-7) for name, make in _CASES),
    mistakes=(
        mistake("capacities that are tensors", "networkx was given capacities that are tensors. It adds to them and "
                "takes from them in place, so that numbers which it has noted elsewhere change too, and the flow comes "
                "out wrong without an error. What turns an entry of a tensor into Python's float?",
                "total = by_networkx(room, start, end)", detects=_given_tensors, even_if_right=False),
        mistake("no capacity on the edges", "To networkx, an edge without the attribute `capacity` has room for "
                "everything. Under which name did you give the width of a pipe?",
                'total = by_networkx(room, start, end, "weight")'),
        mistake("flow along query → key", "The pipes lead from the query below to the key above. In row i, column j of "
                "a layer's weights: whose value goes where?", "pipes = through"),
        mistake("pipes that lead down", "Nothing arrives, or hardly anything: the edges lead from the position above "
                "to the one below. In which direction does a value travel?",
                "place = slice(low + length, low + 2 * length), slice(low, low + length)\npipes = through"),
        mistake("no residual edges", "A position keeps nothing of itself from level to level, except what it attends "
                "to. What else carries it up?", "through = 0.5 * weights", "through = weights",
                "through = 0.5 * weights\ntotal = flow(room + F.pad(0.5 * own, ((len(order)) * length, 0, 0, "
                "len(order) * length)), start, end)"),
        mistake("no residual edge where a weight is 0", "A position that pays no attention to itself got no edge to "
                "itself. Which half of that edge does not depend on the weight?",
                "through = torch.where(weights > 0, 0.5 * weights + 0.5 * own, 0.0)"),
        mistake("halves missing", "The weights or the residual, or both, have their full width: what leaves a position "
                "in this graph is more than 1. What share does each of the two have?", "through = weights + own",
                "through = weights + 0.5 * own", "through = 0.5 * weights + own",
                "through = 0.5 * weights * (1 - own) + own", "through = weights * (1 - own) + own",
                "through = weights * (1 - own) + 0.5 * own"),
        mistake("layers averaged", "The layers were averaged, so the graph has the same pipes at every level, or one "
                "level alone. Each layer has pipes of its own.", "weights = sum(layers) / len(layers)",
                "order = range(1)\nweights = sum(layers) / len(layers)"),
        mistake("the straight way alone", "Only the edges between this token and this position were taken, layer by "
                "layer. What the token sends may go through other positions.",
                *(f"total = {put}(0.5 * float(one[target, source]) + 0.5 * (source == target) for one in layers)"
                  for put in ("math.prod", "min", "max"))),
        mistake("an edge overwritten", "The edge from a position to itself holds one of its two halves: adding an "
                "edge twice replaces it. Which edge has two parts?",
                "through = torch.where(own > 0, 0.5 * own, 0.5 * weights)"),
        mistake("pipes out of a node counted twice", "Level by level, each pipe got the smaller of its room and "
                "of all that its node holds. What has left a node through one pipe is gone for the next one.",
                "total = widest(room, length, source, target, \"sum\")"),
        mistake("narrowest pipes added up", "Of every path the narrowest pipe was taken, and these were added up. Two "
                "paths may lead through one pipe: how much room does it have for both?",
                "total = paths_added(room, start, end)"),
        mistake("residual edges between all positions", "Every position got a residual edge to every other one. What "
                "does the stream bring from one level to the next?", "through = 0.5 * weights + 0.5"),
        mistake("pipes both ways", "Flow can run down again, too. In which direction do layers pass on what they read?",
                "total = flow(room + room.mT, start, end)"),
        *LAYERS,
        mistake("source and target exchanged", "Flow was sent from the target to the source. Which of the two is an "
                "input token, below the first layer?", "start = target\nend = len(order) * length + source"),
        mistake("the one widest path", "One path was followed, the best one. A flow uses all paths at the same time: "
                "how much fits through together?", 'total = widest(room, length, source, target, "narrowest")'),
        mistake("the likeliest path", "Along one path, the shares were multiplied. A flow uses all paths together, and "
                "a pipe is as good as its narrowest part.", 'total = widest(room, length, source, target, "product")'),
        mistake("rollout for flow", "Shares were multiplied and added up over all paths: that is rollout. Where two "
                "paths share a pipe, how much fits through it?",
                "product = torch.linalg.matrix_power(room, len(order))\ntotal = float(product[start, end])"),
        mistake("one node per token", "All levels share one node for each token, so flow can take shortcuts, and the "
                "layers' pipes fall together. How many nodes does token 0 need with two layers?",
                f"{_TOGETHER}room[place] = room[place] + pipes\n{_NODES}", f"{_TOGETHER}room[place] = pipes\n{_NODES}",
                f"{_TOGETHER}room[place] = torch.maximum(room, pipes)\n{_NODES}",
                f"{_TOGETHER}room[place] = pipes\n{_NODES}\ntotal = flow(room, start, end) if start != end else 1.0",
                f"{_TOGETHER}room[place] = room[place] + pipes\n{_NODES}\n"
                "total = flow(room, start, end) if start != end else 1.0"),
        mistake("two levels share a node", "The last node of a level has the number of another level's first one. How "
                "many nodes does each level need?", "low = level * (length - 1)\nplace = slice(low, low + length), "
                "slice(low + length - 1, low + 2 * length - 1)\nend = len(order) * (length - 1) + target"),
        mistake("a path never taken back", "Paths were filled one after the other, and what a path had taken was never "
                "given back. An early path can block two better ones: what does the residual graph allow?",
                "total = flow(room, start, end, False)"),
        mistake("only the two ends looked at", "This is what can leave the source, or what can enter the target, from "
                "whichever token. How much of what enters can come from the source, and where is the narrowest place "
                "on the way?", "total = float(torch.minimum(room[start].sum(), room[:, end].sum()))",
                "total = float(room[:, end].sum())", "total = float(room[start].sum())",
                "total = _received(room, length, end)"),
        mistake("divided by the other tokens' flows", "The flow was divided by what all tokens send, or by the "
                "largest. That makes a ranking of shares; what is asked for is the flow itself.",
                "total = flow(room, start, end) / sum(flow(room, j, end) for j in range(length))",
                "total = flow(room, start, end) / max(flow(room, j, end) for j in range(length))"),
        mistake("every position receives", "This is what the token can send to all positions together. How much of it "
                "can arrive at the target?", "total = _sent(room, length, start)"),
        mistake("what is left instead of what flows", "This is 1 minus the flow: what does not arrive. How much does?",
                "total = 1 - flow(room, start, end)"),
        mistake("rows made to sum to 1",
                "The rows were divided by their sums. The pipes are as wide as the weights say.",
                "weights = layers[number] / layers[number].sum(-1, keepdim=True).clamp(min=1e-12)",
                "through = (weights + own) / (weights + own).sum(-1, keepdim=True)",
                "weights = torch.softmax(layers[number], -1)"),
        mistake("NaN or infinity where nothing arrives", "Where no path leads from the token to the position, the flow "
                "is a number: which?", "total = flow(room, start, end) or math.inf",
                "total = flow(room, start, end) or math.nan",
                "total = flow(room, start, end) or -1.0"),
        mistake("rounded", "The flow was rounded, or the pipes were. Which line does that?",
                "total = round(flow(room, start, end), 2)", "total = round(flow(room, start, end), 3)",
                "total = float(int(flow(room, start, end)))", "total = float(round(flow(room, start, end)))",
                *(f"room[place] = (pipes.double() * {size}).{way}() / {size}" for size in (100, 1000, 10)
                  for way in ("floor", "round")), "room[place] = pipes.floor()"),
        mistake("small pipes left out", "Narrow pipes were left out of the graph. However narrow one is, a little "
                "flows through it: below which size is a capacity nothing?",
                *(f"room[place] = torch.where(pipes > {least}, pipes, 0.0)" for least in (0.1, 0.05, 0.01, 1e-3)),
                "weights = torch.where(layers[number] > 0.1, layers[number], 0.0)"),
        mistake("divided by a size", "The flow was divided by the number of layers or of tokens. It is a share "
                "already, of at most 1.", "total = flow(room, start, end) / (len(order) + 1)",
                "total = flow(room, start, end) / len(order)",
                "total = flow(room, start, end) / length"),
        mistake("a tensor", "The flow came back as a tensor. What turns a single number into Python's float?",
                "return torch.tensor(total)", "return torch.tensor(total, dtype=layers[0].dtype)",
                "return torch.tensor([total])", "return torch.tensor([total], dtype=layers[0].dtype)"),
    ),
    hints=(
        "One layer, two tokens: draw two nodes below and two above. Which four pipes are there, and how wide is each?",
        "With n layers there are n + 1 levels of L nodes. Node j of level l can be the number l·L + j, or the pair "
        "(l, j).",
        "weights[i, j] is what position i above takes from position j below. From which node to which does that pipe "
        "lead?",
        "Half of each weight, and another half where i = j. For the flow itself, `networkx.maximum_flow_value` takes a "
        "`DiGraph` whose edges have a `capacity`; Python's floats do for it, entries of a tensor do not.",
    ),
)
