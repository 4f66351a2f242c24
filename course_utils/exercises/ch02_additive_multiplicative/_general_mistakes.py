"""What goes wrong in a general score: each mistake as something to run."""

import torch
import torch.nn.functional as F
from torch import Tensor

from course_utils.attention import general_score
from course_utils.checking.exercise import Misconception
from course_utils.exercises.ch02_additive_multiplicative._score_mistakes import table_mistakes


def _through_tanh(query: Tensor, key: Tensor, W: Tensor) -> Tensor:
    return (query @ W).tanh() @ key.mT


MISCONCEPTIONS = (
    Misconception(
        "W transposed",
        lambda q, k, W: q @ W.mT @ k.mT,
        "`W` is used with its rows and columns swapped, as `F.linear` would have it. It has a row "
        "for each feature of the query: on which side does the query stand?",
        also=(
            lambda q, k, W: q @ (k @ W).mT,
            lambda q, k, W: F.linear(q, W) @ k.mT,
            lambda q, k, W: torch.bmm(q, (k @ W).transpose(1, 2)),
        ),
    ),
    Misconception(
        "W left out",
        lambda q, k, W: q @ k.mT,
        "The matrix changes nothing: this is the dot score, which needs equal widths. Where does "
        "`W` stand?",
    ),
    Misconception(
        "W applied twice",
        lambda q, k, W: (q @ W) @ (k @ W).mT,
        "Both query and key went through `W`. Only one of the two has to be brought into the "
        "other's space.",
        also=(
            lambda q, k, W: (q @ W) @ (k @ W.mT).mT,
            lambda q, k, W: (q @ W.mT) @ (k @ W.mT).mT,
            lambda q, k, W: q @ W @ W.mT @ k.mT,
        ),
    ),
    Misconception(
        "W made symmetric",
        lambda q, k, W: q @ (W + W.mT) @ k.mT / 2,
        "`W` was averaged with its transpose, so a query scores a key as the key would score it. "
        "May the relation be one-sided?",
        also=(lambda q, k, W: q @ (W + W.mT) @ k.mT,),
    ),
    Misconception(
        "product with W entry by entry",
        lambda q, k, W: (q * W) @ k.mT,
        "`*` multiplies entries in the same place. Which operator sums over the query's features?",
        also=(lambda q, k, W: q @ (W * k).mT, lambda q, k, W: (q @ k.mT) * W),
    ),
    Misconception(
        "W changed first",
        lambda q, k, W: q @ W.softmax(-1) @ k.mT,
        "Something was applied to `W` before it was used. It is used as given.",
        also=(
            lambda q, k, W: q @ W.softmax(0) @ k.mT,
            lambda q, k, W: q @ torch.linalg.pinv(W).mT @ k.mT,
            lambda q, k, W: q @ torch.linalg.pinv(W) @ k.mT,
            lambda q, k, W: q @ W.tanh() @ k.mT,
            lambda q, k, W: q @ W.abs() @ k.mT,
            lambda q, k, W: q @ (W + torch.eye(*W.shape, dtype=W.dtype)) @ k.mT,
        ),
    ),
    Misconception(
        "the diagonal of W alone",
        lambda q, k, W: (q * W.diagonal()) @ k.mT,
        "Only the diagonal of `W` counts. Which entries let feature 1 of a query speak to feature "
        "2 of a key?",
    ),
    Misconception(
        "the matrix in between",
        lambda q, k, W: q @ k.mT @ W,
        "`W` came after the scores and mixed the keys. Between which two does it stand in q W kᵀ?",
        also=(lambda q, k, W: W @ q @ k.mT, lambda q, k, W: W @ (q @ k.mT)),
    ),
    Misconception(
        "tanh inside",
        _through_tanh,
        "A tanh stands between, as in additive scoring. A general score is a plain product of "
        "three: where does it bend?",
        also=(
            lambda q, k, W: (q @ W).relu() @ k.mT,
            lambda q, k, W: q @ (k @ W.mT).tanh().mT,
            lambda q, k, W: (q @ W).tanh() @ k.tanh().mT,
            lambda q, k, W: q.tanh() @ W @ k.tanh().mT,
            lambda q, k, W: (q @ W).sigmoid() @ k.mT,
            lambda q, k, W: (q @ W).softmax(-1) @ k.mT,
        ),
    ),
    Misconception(
        "added instead of multiplied",
        lambda q, k, W: ((q @ W).unsqueeze(2) + k.unsqueeze(1)).sum(-1),
        "The projected query was added to the key. Which operation compares two vectors?",
        also=(
            lambda q, k, W: q @ W + k,
            lambda q, k, W: ((q @ W).unsqueeze(2) + k.unsqueeze(1)).tanh().sum(-1),
        ),
    ),
    Misconception(
        "the keys not used",
        lambda q, k, W: q @ W,
        "One of the two inputs plays no part. What is scored against what?",
        also=(
            lambda q, k, W: k @ W,
            lambda q, k, W: q @ W @ q.mT,
            lambda q, k, W: k @ W @ k.mT,
            lambda q, k, W: k @ W.mT,
        ),
    ),
    Misconception(
        "multiplied but never summed",
        lambda q, k, W: (q @ W).unsqueeze(2) * k.unsqueeze(1),
        "Every feature of every pair is still there. What does a dot product do after multiplying?",
        also=(lambda q, k, W: (q @ W) * k,),
    ),
    Misconception(
        "key not transposed",
        lambda q, k, W: q @ W @ k,
        "The last product ran over the keys instead of the features. Which axis do the projected "
        "query and the key share?",
        also=(
            lambda q, k, W: q @ W @ k.reshape(k.mT.shape),
            lambda q, k, W: q @ W @ k.permute(2, 1, 0),
            lambda q, k, W: q.mT @ W @ k,
        ),
    ),
    Misconception(
        "cosine similarity",
        lambda q, k, W: F.normalize(q @ W, dim=-1) @ F.normalize(k, dim=-1).mT,
        "The lengths of query and key play no part. Does a product divide by the lengths?",
        also=(
            lambda q, k, W: F.normalize(q, dim=-1) @ W @ F.normalize(k, dim=-1).mT,
            lambda q, k, W: q @ F.normalize(W, dim=-1) @ k.mT,
            lambda q, k, W: q @ F.normalize(W, dim=0) @ k.mT,
        ),
    ),
    Misconception(
        "distance instead of product",
        lambda q, k, W: -torch.cdist(q @ W, k),
        "These are distances. A distance is smallest for the best key; what is a dot product then?",
        also=(lambda q, k, W: torch.cdist(q @ W, k), lambda q, k, W: torch.cdist(q @ W, k) ** 2),
    ),
    Misconception(
        "query and key swapped",
        lambda q, k, W: k @ W @ q.mT,
        "Query and key stand on each other's side of `W`. Which of them belongs to its rows, and "
        "which to the rows of the table?",
    ),
    Misconception(
        "the matrix cut off",
        lambda q, k, W: general_score(q, k, W.detach()),
        "The values are right, but no gradient reaches `W`, and it is the one thing to be learned "
        "here. What cuts the thread?",
        also=(
            lambda q, k, W: general_score(q, k, W.data),
            lambda q, k, W: general_score(q, k, torch.nn.Parameter(W)),
        ),
    ),
    *table_mistakes(general_score),
)
