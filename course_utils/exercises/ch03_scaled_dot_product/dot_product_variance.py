"""Exercise: estimate the variance of q·k from samples.

A right answer may loop over the pairs one by one, so all cases together ask for 15,000 pairs at
most. Estimates from other draws scatter; each tolerance is 4 standard deviations or more of that.
"""

from typing import Any

import torch
from course_utils.checking.exercise import Case, case, exercise
from course_utils.checking.mistakes import mistake
from course_utils.checking.recipe import Function
from course_utils.measure.variance import dot_product_variance
from torch import Tensor

RIGHT = """
def dot_product_variance(d_k, num_samples, generator):
    query = torch.randn(num_samples, d_k, generator=generator)
    key = torch.randn(num_samples, d_k, generator=generator)
    dots = (query * key).sum(-1)
    variance = float(dots.var())
    return variance
"""
_DRAWN = "torch.randn(num_samples, d_k, generator=generator)"
_UNIFORM = "torch.rand(num_samples, d_k, generator=generator)"
_CENTRED = f"2 * {_UNIFORM} - 1"


def _case(name: str, d_k: int, num_samples: int, **more: Any) -> Case:
    return case(name, lambda g: (d_k, num_samples, g), **more)


def _estimates(fn: Function, d_k: int, num_samples: int, count: int) -> Tensor:
    seeds = (torch.Generator().manual_seed(seed) for seed in range(count))
    return torch.tensor([float(fn(d_k, num_samples, g)) for g in seeds], dtype=torch.float64)


def _same_seed(fn: Function, d_k: int, num_samples: int, g: torch.Generator) -> float:
    one, other = (torch.Generator().manual_seed(g.initial_seed()) for _ in range(2))
    return abs(float(fn(d_k, num_samples, one)) - float(fn(d_k, num_samples, other)))


def _moves_on(fn: Function, d_k: int, num_samples: int, g: torch.Generator) -> bool:
    """A generator that was drawn from gives other numbers the next time."""
    return float(fn(d_k, num_samples, g)) != float(fn(d_k, num_samples, g))


def _scatter(fn: Function, d_k: int, num_samples: int, g: torch.Generator) -> float:
    """How much the estimates scatter shows how many pairs they used, and of which kind.

    Logarithms, since a few large estimates would decide otherwise.
    """
    return float(_estimates(fn, d_k, num_samples, 300).abs().clamp(min=1e-30).log().std())


def _whole_numbers(fn: Function, d_k: int, num_samples: int, g: torch.Generator) -> bool:
    estimates = _estimates(fn, d_k, num_samples, 20)
    return bool((estimates == estimates.round()).all())


EXERCISE = exercise(
    dot_product_variance,
    right=RIGHT,
    asks="Estimate Var(q·k) from num_samples pairs of unit normal vectors of width d_k.",
    minutes=8,
    difficulty=1,
    importance=4,
    cases=(
        _case("width 64, 2000 samples", 64, 2000, tolerance=0.19, absolute=0.4),
        _case("width 3, 1500 samples", 3, 1500, tolerance=0.32, absolute=0.05),
        _case("width 1, 1500 samples", 1, 1500, tolerance=0.45, absolute=0.05),
        _case("width 1000, 500 samples", 1000, 500, tolerance=0.4, absolute=4.0),
        _case("two generators of one seed", 5, 40, run=_same_seed, tolerance=0.0,
              says="Two calls with generators of the same seed give different numbers. What do they draw from besides "
                   "the generator?"),
        _case("one generator used twice", 5, 40, run=_moves_on,
              says="Two calls with the same generator, one after the other, give the same number: the generator was "
                   "not drawn from, but rewound or passed over."),
        _case("20 seeds, seen together", 7, 10, run=_whole_numbers,
              says="The estimates are whole numbers for every seed. Where do the digits go?"),
        _case("how 300 estimates from 10 samples scatter", 32, 10, run=_scatter, tolerance=0.28,
              says="The estimates scatter less or more from seed to seed than `num_samples` independent pairs explain. "
                   "How many pairs are drawn, and how?"),
        _case("how 300 estimates at width 1 scatter", 1, 20, run=_scatter, tolerance=0.25,
              says="At width 1 the estimates scatter differently from those made with products of two unit normals. Is "
                   "a product of two normals really drawn?"),
    ),
    mistakes=(
        mistake("the generator not used", "The numbers come from a global random state, so two runs differ and others' "
                "runs are disturbed. Which argument of `torch.randn` names the source?",
                "query = torch.randn(num_samples, d_k)\nkey = torch.randn(num_samples, d_k)",
                detects=lambda trace: trace.used_global_random),
        mistake("d_k itself", "The answer is d_k to the last digit, whatever the seed. That is the theory; an estimate "
                "from samples scatters around it.", "variance = float(d_k)"),
        mistake(
            "a seed of its own",
            "The estimate is the same whatever generator is given. Who should choose the seed?",
            f"generator = torch.Generator().manual_seed(0)\nquery = {_DRAWN}",
        ),
        mistake("standard deviation", "This grows like the root of d_k. What is the square of a standard deviation "
                "called?", "variance = float(dots.std())"),
        mistake("scaled already", "The answer is 1 for every width: either the products were divided by √d_k first, or "
                "a single product of two numbers was looked at instead of the sum of d_k of them.",
                "dots = (query * key).sum(-1) / math.sqrt(d_k)", "dots = query * key"),
        mistake("mean of the features instead of their sum", "The answer falls as the width grows. A dot product adds "
                "its d_k terms; what divides them?", "dots = (query * key).mean(-1)"),
        mistake("mean instead of variance", "The answer is near 0: that is the mean of q·k. Its variance says how far "
                "it strays.", "variance = float(dots.mean())"),
        mistake("mean size instead of variance", "This is the mean distance from 0. The variance is the mean of "
                "another power of it.", "variance = float(dots.abs().mean())"),
        mistake("the sign of the products lost", "The variance is that of sizes: a product below 0 counts like one "
                "above. Which operation lost the "
                "sign?", "dots = (query * key).sum(-1).abs()", "dots = (query * key).abs().sum(-1)"),
        mistake("key and query the same vector", "The answer is twice what it should be: each vector was multiplied by "
                "itself. How many independent vectors does a pair have?", "key = query"),
        mistake("uniform instead of normal numbers", "The answer is too small: the numbers are drawn from an interval, "
                "not from a normal distribution. Which function draws unit normals?",
                f"query = {_UNIFORM}\nkey = {_UNIFORM}", f"query = {_CENTRED}\nkey = {_CENTRED}"),
        mistake("summed over the samples", "The sum ran over the pairs, not within one. Which axis holds the d_k "
                "features?", "dots = (query * key).sum(0)"),
        mistake("sum of squares not divided", "The answer grows with the number of samples. What turns a sum of "
                "squares into a mean?", "variance = float(dots.square().sum())"),
        mistake("num_samples ignored", "The number of pairs is the same whatever `num_samples` says. Where is the "
                "argument used?", f"num_samples = 1000\nquery = {_DRAWN}", f"num_samples = 100\nquery = {_DRAWN}",
                f"num_samples = 10\nquery = {_DRAWN}"),
        mistake("other pairs than asked for", "The estimates scatter less or more from seed to seed than `num_samples` "
                "independent dot products can explain. How many are taken, and is each vector used in one of them "
                "only?", "dots = query @ key.T", "dots = query * key * math.sqrt(d_k)",
                f"num_samples = 4 * num_samples\nquery = {_DRAWN}",
                f"num_samples = max(2, num_samples // 4)\nquery = {_DRAWN}",
                f"num_samples = max(2, num_samples // 2)\nquery = {_DRAWN}"),
        mistake("the wrong distribution", "At width 1 the estimates scatter too little for products of two unit "
                "normals. Either other numbers were drawn, or the theory was put in where the product should be.",
                "dots = torch.randn(num_samples, generator=generator) * math.sqrt(d_k)",
                f"query = math.sqrt(3) * ({_CENTRED})\nkey = math.sqrt(3) * ({_CENTRED})",
                f"query = ({_CENTRED}).sign()\nkey = ({_CENTRED}).sign()"),
        mistake("no dot product taken", "The answer is near d_k, but no dot product of two vectors went into it. What "
                "does one pair give, and over what is the variance taken?",
                "variance = float(query.square().sum(-1).mean())",
                "variance = d_k * (1 + 0.01 * float(torch.randn((), generator=generator)))",
                "variance = float((query * key).var(-1, correction=0).mean() * d_k)",
                "variance = float(query.var() * key.var() * d_k)"),
        mistake("the generator rewound", "The same generator gives the same number again and again: another one was "
                "made from its seed, or its state was put back. Draw from the generator that is given.",
                f"generator = torch.Generator().manual_seed(generator.initial_seed())\nquery = {_DRAWN}"),
        mistake("one query for all keys", "One query was compared with all keys, so the answer depends on that query's "
                "length. How many vectors does each pair need?",
                "query = torch.randn(d_k, generator=generator)", "key = torch.randn(d_k, generator=generator)"),
        mistake("estimate rounded", "The estimates are whole numbers for every seed. Where do the digits go?",
                "variance = float(round(dots.var().item()))", "variance = float(int(dots.var()))"),
        mistake("divided once more", "The answer shrinks as the number of samples grows: that is the variance of the "
                "mean. Which one is asked for, of one product or of their mean?",
                "variance = float(dots.var() / num_samples)"),
        mistake("numbers of another variance drawn", "The answer grows much faster than the width: the numbers that "
                "were drawn do not have variance 1. What do the arguments of the drawing function mean?",
                f"query = d_k * {_DRAWN}", f"query = math.sqrt(d_k) * {_DRAWN}"),
        mistake("a tensor", "The variance came as a tensor, where Python's `float` is asked for. What takes the one "
                "number out?",
                "return torch.tensor(variance)", "return torch.tensor([variance])"),
        mistake("one answer for each sample", "A list or a table came back, with a number for each pair. One number is "
                "asked for: how far do they stray?", "return dots.tolist()", "return dots"),
        mistake("vectors of length 1", "The answer falls as the width grows: the vectors were divided by their length "
                "first. Does a unit normal vector have length 1?",
                f"query = F.normalize({_DRAWN}, dim=-1)\nkey = F.normalize({_DRAWN}, dim=-1)"),
    ),
    hints=(
        "Draw first: what shape holds num_samples vectors of width d_k?",
        "`torch.randn` takes `generator=`. You need two independent draws, one for the queries and one for the keys.",
        "Multiply entry by entry and sum over the features: one number per pair. Its variance over the pairs is asked "
        "for, as Python's float.",
    ),
)
