"""What goes wrong when a variance is estimated: each mistake as something to run."""

import math

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception
from course_utils.measure.variance import dot_product_variance


def _draw(
    d_k: int, num_samples: int, g: torch.Generator, draw: Function = torch.randn
) -> tuple[Tensor, Tensor]:
    return draw(num_samples, d_k, generator=g), draw(num_samples, d_k, generator=g)


def _products(d_k: int, num_samples: int, g: torch.Generator) -> Tensor:
    query, key = _draw(d_k, num_samples, g)
    return (query * key).sum(-1)


def _of(number: Function) -> Function:
    """Return a version that makes another number of the sampled products."""

    def wrong(d_k: int, num_samples: int, generator: torch.Generator) -> float:
        return float(number(_products(d_k, num_samples, generator), d_k))

    return wrong


def _drawn(draw: Function) -> Function:
    def wrong(d_k: int, num_samples: int, generator: torch.Generator) -> float:
        query, key = _draw(d_k, num_samples, generator, draw)
        return float((query * key).sum(-1).var())

    return wrong


def _centred(*size: int, generator: torch.Generator) -> Tensor:
    return 2 * torch.rand(*size, generator=generator) - 1


def _same_vector(d_k: int, num_samples: int, generator: torch.Generator) -> float:
    query = torch.randn(num_samples, d_k, generator=generator)
    return float((query * query).sum(-1).var())


def _elementwise(d_k: int, num_samples: int, generator: torch.Generator) -> float:
    query, key = _draw(d_k, num_samples, generator)
    return float((query * key).var())


def _over_samples(d_k: int, num_samples: int, generator: torch.Generator) -> float:
    query, key = _draw(d_k, num_samples, generator)
    return float((query * key).sum(0).var(correction=0)) if d_k > 1 else 0.0


def _all_pairs(d_k: int, num_samples: int, generator: torch.Generator) -> float:
    query, key = _draw(d_k, min(num_samples, 256), generator)
    return float((query @ key.T).var())


def _global_random(d_k: int, num_samples: int, generator: torch.Generator) -> float:
    return float((torch.randn(num_samples, d_k) * torch.randn(num_samples, d_k)).sum(-1).var())


def _reseeded(d_k: int, num_samples: int, generator: torch.Generator) -> float:
    return dot_product_variance(d_k, num_samples, torch.Generator().manual_seed(0))


MISCONCEPTIONS = (
    Misconception(
        "the generator not used",
        _global_random,
        "The numbers come from torch's global random state, so two runs differ and others' runs "
        "are disturbed. Which argument of `torch.randn` names the source?",
        sign=lambda trace: trace.used_global_random,
    ),
    Misconception(
        "d_k itself",
        lambda d_k, num_samples, generator: float(d_k),
        "The answer is d_k to the last digit, whatever the seed. That is the theory; an estimate "
        "from samples scatters around it.",
    ),
    Misconception(
        "a seed of its own",
        _reseeded,
        "The estimate is the same whatever generator is given. Who should choose the seed?",
    ),
    Misconception(
        "standard deviation",
        _of(lambda dots, d_k: dots.std()),
        "This grows like the root of d_k. What is the square of a standard deviation called?",
    ),
    Misconception(
        "scaled already",
        _of(lambda dots, d_k: (dots / math.sqrt(d_k)).var()),
        "The answer is 1 for every width: either the products were divided by √d_k first, or a "
        "single product of two numbers was looked at instead of the sum of d_k of them.",
        also=(_elementwise, _of(lambda dots, d_k: dots.var() / d_k)),
    ),
    Misconception(
        "mean of the features instead of their sum",
        _of(lambda dots, d_k: (dots / d_k).var()),
        "The answer falls as the width grows. A dot product adds its d_k terms; what divides them?",
    ),
    Misconception(
        "mean instead of variance",
        _of(lambda dots, d_k: dots.mean()),
        "The answer is near 0: that is the mean of q·k. Its variance says how far it strays.",
    ),
    Misconception(
        "mean size instead of variance",
        _of(lambda dots, d_k: dots.abs().mean()),
        "This is the mean distance from 0. The variance is the mean of another power of it.",
    ),
    Misconception(
        "key and query the same vector",
        _same_vector,
        "The answer is twice too large: each vector was multiplied with itself. How many "
        "independent vectors does a pair have?",
    ),
    Misconception(
        "uniform instead of normal numbers",
        _drawn(torch.rand),
        "The answer is far too small: the numbers lie between 0 and 1, with a variance of 1/12. "
        "Which function draws unit normals?",
        also=(_drawn(_centred),),
    ),
    Misconception(
        "summed over the samples",
        _over_samples,
        "The answer grows with the number of samples: the sum ran over the pairs, not inside one. "
        "Which axis holds the d_k features?",
        also=(lambda d, n, g: float(torch.stack(_draw(d, n, g)).prod(0).sum(0).var()),),
    ),
    Misconception(
        "sum of squares not divided",
        _of(lambda dots, d_k: dots.square().sum()),
        "The answer grows with the number of samples. What turns a sum of squares into a mean?",
    ),
    Misconception(
        "other pairs than asked for",
        _all_pairs,
        "The estimates scatter less or more than `num_samples` independent pairs can explain. How "
        "many pairs are drawn, and is each vector used once?",
        also=(
            lambda d, n, g: dot_product_variance(d, 4 * n, g),
            lambda d, n, g: dot_product_variance(d, max(2, n // 4), g),
            lambda d, n, g: dot_product_variance(d, 1000, g),
        ),
    ),
)
