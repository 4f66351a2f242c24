"""What goes wrong in a dot score: each mistake as something to run."""

import torch
import torch.nn.functional as F
from torch import Tensor

from course_utils.attention import dot_score
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch02_additive_multiplicative._score_mistakes import table_mistakes


def _pairs(query: Tensor, key: Tensor) -> Tensor:
    """Multiply every query with every key, feature by feature: (B, L, S, d)."""
    return query.unsqueeze(2) * key.unsqueeze(1)


MISCONCEPTIONS = (
    Misconception(
        "cosine similarity",
        lambda q, k: F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT,
        "The lengths of query and key play no part: these are cosines. Does a dot product divide "
        "by the lengths?",
        also=(
            lambda q, k: F.normalize(q, dim=-1) @ k.mT,
            lambda q, k: q @ F.normalize(k, dim=-1).mT,
            lambda q, k: F.cosine_similarity(q.unsqueeze(2), k.unsqueeze(1), dim=-1),
        ),
    ),
    Misconception(
        "distance instead of product",
        lambda q, k: -torch.cdist(q, k),
        "These are distances. A distance is smallest for the best key; what is a dot product then?",
        also=(
            torch.cdist,
            lambda q, k: -(q.unsqueeze(2) - k.unsqueeze(1)).square().sum(-1),
            lambda q, k: (q.unsqueeze(2) - k.unsqueeze(1)).square().sum(-1),
            lambda q, k: (q.unsqueeze(2) - k.unsqueeze(1)).abs().sum(-1),
        ),
    ),
    Misconception(
        "key not transposed",
        lambda q, k: q @ k,
        "The product ran over the keys instead of the features. Which axis do query and key share?",
    ),
    Misconception(
        "key reshaped instead of transposed",
        lambda q, k: q @ k.reshape(k.mT.shape),
        "The numbers of different keys are mixed. `view` and `reshape` cut memory anew; what swaps "
        "two axes?",
    ),
    Misconception(
        "transposed over the wrong axes",
        lambda q, k: q @ k.permute(2, 1, 0),
        "The batch axis was turned along with the others. Which two axes should swap, counted "
        "from the end?",
        also=(
            lambda q, k: q @ k.transpose(0, 2),
            lambda q, k: q @ k.transpose(0, 1),
            lambda q, k: q @ k.permute(1, 2, 0),
            lambda q, k: q @ k.permute(2, 0, 1),
        ),
    ),
    Misconception(
        "multiplied but never summed",
        _pairs,
        "Every feature of every pair is still there. What does a dot product do after multiplying?",
        also=(lambda q, k: q * k, lambda q, k: q.unsqueeze(1) * k.unsqueeze(2)),
    ),
    Misconception(
        "query and key changed first",
        lambda q, k: q.tanh() @ k.tanh().mT,
        "Something was applied to query and key before the product. They are taken as they are.",
        also=(
            lambda q, k: q.softmax(-1) @ k.softmax(-1).mT,
            lambda q, k: q.softmax(-1) @ k.mT,
            lambda q, k: q @ k.softmax(-1).mT,
            lambda q, k: q.relu() @ k.relu().mT,
            lambda q, k: F.layer_norm(q, q.shape[-1:]) @ F.layer_norm(k, k.shape[-1:]).mT,
            lambda q, k: q.exp() @ k.exp().mT,
        ),
    ),
    Misconception(
        "summed over the wrong axis",
        lambda q, k: _pairs(q, k).sum(1),
        "The sum ran over the queries or the keys. Which axis disappears in a dot product?",
        also=(
            lambda q, k: _pairs(q, k).sum(2),
            lambda q, k: (q * k).sum(1),
            lambda q, k: q.mT @ k,
            lambda q, k: (q.mT @ k).mT,
            lambda q, k: q.mT @ k.mT,
        ),
    ),
    Misconception(
        "another end than a sum",
        lambda q, k: _pairs(q, k).prod(-1),
        "The products of the features were not added up, or the features were added up before. "
        "What is the order in a dot product?",
        also=(
            lambda q, k: _pairs(q, k).amax(-1),
            lambda q, k: _pairs(q, k).amin(-1),
            lambda q, k: _pairs(q, k).norm(dim=-1),
            lambda q, k: q.sum(-1, keepdim=True) @ k.sum(-1, keepdim=True).mT,
            lambda q, k: q.mean(-1, keepdim=True) @ k.mean(-1, keepdim=True).mT,
        ),
    ),
    Misconception(
        "added instead of multiplied",
        lambda q, k: (q.unsqueeze(2) + k.unsqueeze(1)).sum(-1),
        "The features of query and key were added. Then a query shifts all its scores alike, and "
        "cannot prefer a key: what lets it?",
        also=(lambda q, k: (q.unsqueeze(2) + k.unsqueeze(1)).tanh().sum(-1),),
    ),
    Misconception(
        "queries scored against queries",
        lambda q, k: q @ q.mT,
        "One of the two inputs plays no part. What is scored against what?",
        also=(lambda q, k: k @ k.mT,),
    ),
    Misconception(
        "the keys of all sequences together",
        lambda q, k: torch.einsum("bld,csd->blcs", q, k),
        "A key of one sequence was scored by the queries of another. Which letter of an einsum "
        "must appear on both sides and in the result?",
        also=(
            lambda q, k: torch.einsum("bld,csd->ls", q, k),
            lambda q, k: torch.einsum("bld,csd->cls", q, k),
        ),
    ),
    *table_mistakes(dot_score),
)
