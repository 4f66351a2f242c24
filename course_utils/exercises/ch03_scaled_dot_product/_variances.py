"""Estimates of a variance that are wrong, one way each."""

import math

import torch
from torch import Tensor

from course_utils.checking.exercise import Function
from course_utils.measure.variance import dot_product_variance


def draw(
    d_k: int, num_samples: int, g: torch.Generator, source: Function = torch.randn
) -> tuple[Tensor, Tensor]:
    """Draw queries and keys."""
    return source(num_samples, d_k, generator=g), source(num_samples, d_k, generator=g)


def products(d_k: int, num_samples: int, g: torch.Generator) -> Tensor:
    """The dot products of the pairs."""
    query, key = draw(d_k, num_samples, g)
    return (query * key).sum(-1)


def of(number: Function) -> Function:
    """Return a version that makes another number of the sampled products."""

    def wrong(d_k: int, num_samples: int, generator: torch.Generator) -> float:
        return float(number(products(d_k, num_samples, generator), d_k))

    return wrong


def drawn(source: Function) -> Function:
    """Draw from another distribution."""

    def wrong(d_k: int, num_samples: int, generator: torch.Generator) -> float:
        query, key = draw(d_k, num_samples, generator, source)
        return float((query * key).sum(-1).var())

    return wrong


def centred(*size: int, generator: torch.Generator) -> Tensor:
    """Numbers from -1 to 1."""
    return 2 * torch.rand(*size, generator=generator) - 1


def uniform_of_variance_one(*size: int, generator: torch.Generator) -> Tensor:
    """Numbers of variance 1 from an interval."""
    return centred(*size, generator=generator) * math.sqrt(3)


def signs(*size: int, generator: torch.Generator) -> Tensor:
    """Plus and minus 1."""
    return centred(*size, generator=generator).sign()


def of_samples(number: Function) -> Function:
    """Make another number of the products and how many there are."""

    def wrong(d_k: int, num_samples: int, generator: torch.Generator) -> float:
        return float(number(products(d_k, num_samples, generator), num_samples))

    return wrong


def row_variances(d_k: int, num_samples: int, generator: torch.Generator) -> float:
    """The variance inside each pair."""
    query, key = draw(d_k, num_samples, generator)
    return float((query * key).var(-1, correction=0).mean() * d_k)


def one_query(
    d_k: int, num_samples: int, generator: torch.Generator, key_first: bool = False
) -> float:
    """One vector against all others."""
    sizes = ((num_samples, d_k), (d_k,)) if key_first else ((d_k,), (num_samples, d_k))
    one, other = (torch.randn(size, generator=generator) for size in sizes)
    return float((one * other).sum(-1).var())


def unit_vectors(d_k: int, num_samples: int, generator: torch.Generator) -> float:
    """Cosines."""
    query, key = draw(d_k, num_samples, generator)
    unit = torch.nn.functional.normalize
    return float((unit(query, dim=-1) * unit(key, dim=-1)).sum(-1).var())


def same_vector(d_k: int, num_samples: int, generator: torch.Generator) -> float:
    """Each vector with itself."""
    query = torch.randn(num_samples, d_k, generator=generator)
    return float((query * query).sum(-1).var())


def elementwise(d_k: int, num_samples: int, generator: torch.Generator) -> float:
    """Single products."""
    query, key = draw(d_k, num_samples, generator)
    return float((query * key).var())


def over_samples(d_k: int, num_samples: int, generator: torch.Generator) -> float:
    """Sums over the pairs."""
    query, key = draw(d_k, num_samples, generator)
    return float((query * key).sum(0).var(correction=0)) if d_k > 1 else 0.0


def all_pairs(d_k: int, num_samples: int, generator: torch.Generator) -> float:
    """Each query with each key."""
    query, key = draw(d_k, min(num_samples, 256), generator)
    return float((query @ key.T).var())


def global_random(d_k: int, num_samples: int, generator: torch.Generator) -> float:
    """Numbers from the global state."""
    return float((torch.randn(num_samples, d_k) * torch.randn(num_samples, d_k)).sum(-1).var())


def reseeded(d_k: int, num_samples: int, generator: torch.Generator) -> float:
    """A seed of one's own."""
    return dot_product_variance(d_k, num_samples, torch.Generator().manual_seed(0))
