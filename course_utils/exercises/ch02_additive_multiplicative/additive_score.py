"""Exercise: Bahdanau's additive score, each key projected once."""

from collections.abc import Callable
from typing import Any

import torch
from course_utils.attention import additive_score
from course_utils.checking.exercise import Cost, exercise
from course_utils.checking.mistakes import Mistake, mistake
from course_utils.exercises.shared.kinds import cut_off, overwritten, through_numpy, writing
from course_utils.exercises.shared.scores import HIDDEN, Shapes, score_cases, score_inputs, table
from course_utils.measure import count_flops, largest_tensor

RIGHT = """
def additive_score(query, key, W_q, W_k, v):
    asked = query
    offered = key
    for_query = asked @ W_q
    for_key = offered @ W_k
    pairs = for_query.unsqueeze(-2) + for_key.unsqueeze(-3)
    hidden = torch.tanh(pairs)
    scores = hidden @ v
    return scores
"""

_SHAPES: Shapes = lambda s: ((s.d_q, s.d_a), (s.d_k, s.d_a), (s.d_a,))  # noqa: E731
KEYS_AGAIN = mistake("the keys projected for every query", "The values are right, but each key meets `W_k` once for "
                     "every query, though the result is the same each time. What can be computed before any query is "
                     "known?",
                     "rows = [torch.tanh(for_query[:, i].unsqueeze(1) + key @ W_k) @ v for i in "
                     "range(query.shape[1])]\n"
                     "scores = torch.stack(rows, dim=1)",
                     "pairs = for_query.unsqueeze(2) + key.unsqueeze(1).expand(-1, query.shape[1], -1, -1) @ W_k",
                     "asks = query.unsqueeze(2).expand(-1, -1, key.shape[1], -1)\n"
                     "offers = key.unsqueeze(1).expand(-1, query.shape[1], -1, -1)\n"
                     "pairs = torch.cat([asks, offers], -1) @ torch.cat([W_q, W_k])",
                     "every = key.unsqueeze(1).expand(-1, query.shape[1], -1, -1).unsqueeze(-1)\n"
                     "pairs = for_query.unsqueeze(2) + (every * W_k).sum(-2)")
QUERIES_AGAIN = mistake("the queries projected for every key", "The values are right, but each query meets `W_q` once "
                        "for every key, though the result is the same each time. What does it depend on?",
                        "columns = [torch.tanh(query @ W_q + for_key[:, j].unsqueeze(1)) @ v for j in "
                        "range(key.shape[1])]\n"
                        "scores = torch.stack(columns, dim=2)",
                        "pairs = query.unsqueeze(2).expand(-1, -1, key.shape[1], -1) @ W_q + for_key.unsqueeze(1)")


def _growing(wrong: Mistake) -> tuple[Cost, ...]:
    """Let one length and the other side's width grow together.

    A projection made once costs as much as their sum then, one made for every pair as their product.
    """

    def make(n: int, g: torch.Generator) -> tuple[Any, ...]:
        return score_inputs((2, n, 3, 2, n, 4) if wrong is KEYS_AGAIN else (2, 3, n, n, 2, 4), _SHAPES)(g)

    def limit(name: str, count: Callable[..., int]) -> Cost:
        return Cost(name, count, (16, 64), make, 1.3, wrong.says, wrong.name)

    return limit("the work of the matrix products", count_flops), limit("the largest tensor", largest_tensor)


EXERCISE = exercise(
    additive_score,
    right=RIGHT,
    asks="Score each query against each key by tanh(q W_q + k W_k)·v, each projected once.",
    minutes=10,
    difficulty=3,
    importance=5,
    cases=score_cases("every size is 3: a transpose keeps the shape", (3, 3, 3, 3, 3, 3), _SHAPES),
    mistakes=(
        mistake("W_q and W_k swapped", "Each matrix meets the wrong input. Which of them has a row for each feature of "
                "the query?", "for_query = asked @ W_k\nfor_key = offered @ W_q"),
        mistake("one matrix for both", "Query and key go through the same matrix, and the other one is never used.",
                "for_key = offered @ W_q", "for_query = asked @ W_k"),
        mistake("weight matrix transposed", "A matrix is used with its rows and columns swapped, as `F.linear` would "
                "have it. It has a row for each feature of its input: on which side does the input stand?",
                "for_query = asked @ W_q.mT\nfor_key = offered @ W_k.mT", "for_query = asked @ W_q.mT",
                "for_key = offered @ W_k.mT"),
        mistake("matrix on the left", "With the matrix on the left, the product runs over the positions and mixes "
                "them. Where do the features stand, in the rows or in the columns?",
                "for_query = W_q @ asked\nfor_key = W_k @ offered", "for_query = W_q @ asked",
                "for_key = W_k @ offered"),
        mistake("one of the two not projected", "Query or key was added as it is. What brings both to the width of the "
                "hidden layer?", "for_key = offered", "for_query = asked", "for_query = asked\nfor_key = offered"),
        mistake("projected after the sum", "Query and key were added first and projected together. They need not even "
                "have the same width: what comes first?", "pairs = (query.unsqueeze(2) + key.unsqueeze(1)) @ W_k",
                "pairs = (query.unsqueeze(2) + key.unsqueeze(1)) @ W_q",
                "pairs = (query.unsqueeze(2) + key.unsqueeze(1)) @ (W_q + W_k)"),
        mistake("the matrices multiplied with each other", "An input went through both matrices, or twice through its "
                "own. Each goes through one, once.", "for_query = asked @ W_q @ W_k", "for_query = asked @ W_q @ W_q",
                "for_key = offered @ W_q @ W_k", "scores = asked @ W_q @ W_k @ offered.mT"),
        mistake("softmax inside", "A projection or a score was turned into weights. Nothing but the tanh bends "
                "anything here.", "for_query = (asked @ W_q).softmax(-1)", "for_key = (offered @ W_k).softmax(-1)",
                "scores = (hidden * v).softmax(-1).sum(-1)"),
        cut_off(
            "scores = hidden @ v.detach()",
            "for_query = asked @ W_q.detach()",
            "for_key = offered @ W_k.detach()",
            "for_query = asked @ W_q.detach()\nfor_key = offered @ W_k.detach()\nscores = hidden @ v.detach()",
            "offered = key.detach()",
            "asked = query.detach()",
            "return scores.detach()",
        ),
        overwritten(*writing(additive_score, 0, 1, 2, 3, 4)),
        through_numpy("return torch.from_numpy(scores.detach().numpy())"),
        *HIDDEN,
        *table(additive_score),
        KEYS_AGAIN,
        QUERIES_AGAIN,
    ),
    costs=(*_growing(KEYS_AGAIN), *_growing(QUERIES_AGAIN)),
    hints=(
        "Project first, while there are only L queries and S keys, and not yet L · S pairs.",
        "The hidden layer of all pairs has four axes: (B, L, S, d_a). Which of them does the projected query lack, and "
        "which the projected key?",
        "`unsqueeze` gives each its missing axis, of size 1, and adding broadcasts. What is then applied to the sum?",
        "The last step turns d_a numbers into one for each pair: a product of (B, L, S, d_a) and (d_a,).",
    ),
)
