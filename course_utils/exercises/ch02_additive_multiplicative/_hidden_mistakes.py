"""What goes wrong in the hidden layer of a pair: additive and concat scoring share these."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.checking.exercise import Function, Misconception


def _none(hidden: Tensor) -> Tensor:
    return hidden


def _paired(combine: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda q, k: combine(q.unsqueeze(2), k.unsqueeze(1))


def _cosines(q: Tensor, k: Tensor) -> Tensor:
    unit = torch.nn.functional.normalize
    return unit(q, dim=-1) @ unit(k, dim=-1).mT


def _keys_in_rows(q: Tensor, k: Tensor) -> Tensor:
    return q.unsqueeze(1) + k.unsqueeze(2)


def _queries_tiled(q: Tensor, k: Tensor) -> Tensor:
    """Tile where repeating each was meant: the pairs come in another order."""
    batch, num_queries, num_keys = q.shape[0], q.shape[1], k.shape[1]
    tiled = q.repeat(1, num_keys, 1).view(batch, num_queries, num_keys, -1)
    return tiled + k.unsqueeze(1)


def _keys_repeated(q: Tensor, k: Tensor) -> Tensor:
    batch, num_queries, num_keys = q.shape[0], q.shape[1], k.shape[1]
    repeated = k.repeat_interleave(num_queries, dim=1).view(batch, num_queries, num_keys, -1)
    return q.unsqueeze(2) + repeated


def hidden_mistakes(make: Callable[..., Function]) -> tuple[Misconception, ...]:
    """Return the mistakes between the projections and the scores; `make` exchanges a part."""

    def read(number: Callable[[Tensor, Tensor], Any], **more: Any) -> Function:
        return make(read=number, **more)

    return (
        Misconception(
            "no tanh",
            make(squash=_none),
            "Without tanh the score is a sum of a number for the query and one for the key: every "
            "query prefers the same keys. What bends the hidden layer?",
        ),
        Misconception(
            "another function than tanh",
            make(squash=torch.relu),
            "The hidden layer is bent, but not by tanh. What does tanh give for a large negative "
            "number, and for zero?",
            also=(
                make(squash=torch.sigmoid),
                make(squash=torch.nn.functional.leaky_relu),
                make(squash=torch.nn.functional.gelu),
                make(squash=torch.nn.functional.silu),
                make(squash=torch.exp),
                make(squash=lambda h: h.softmax(-1)),
            ),
        ),
        Misconception(
            "tanh twice",
            make(squash=lambda h: h.tanh().tanh()),
            "There is one tanh too many. How often does it stand in the formula?",
        ),
        Misconception(
            "tanh of each part",
            make(join=_paired(lambda q, k: q.tanh() + k.tanh()), squash=_none),
            "Query and key were bent apart and then added, so every query prefers the same keys. "
            "Which comes first, the sum or the tanh?",
            also=(
                make(join=_paired(lambda q, k: q.tanh() + k.tanh())),
                make(join=_paired(lambda q, k: q.tanh() + k), squash=_none),
                make(join=_paired(lambda q, k: q + k.tanh()), squash=_none),
                make(join=_paired(lambda q, k: q.tanh() * k.tanh()), squash=_none),
            ),
        ),
        Misconception(
            "tanh before the matrices",
            make(
                on_query=lambda a, m: a.tanh() @ m, on_key=lambda a, m: a.tanh() @ m, squash=_none
            ),
            "Query and key were bent before they met their matrices. Which comes first, the "
            "matrices or the tanh?",
            also=(make(on_query=lambda a, m: a.tanh() @ m, on_key=lambda a, m: a.tanh() @ m),),
        ),
        Misconception(
            "multiplied instead of added",
            make(join=_paired(lambda q, k: q * k)),
            "The projections were multiplied. What gives this score its name?",
            also=(
                make(join=_paired(lambda q, k: q * k), squash=_none),
                make(join=_paired(lambda q, k: q * k), read=lambda h, v: h.sum(-1)),
            ),
        ),
        Misconception(
            "subtracted instead of added",
            make(join=_paired(lambda q, k: q - k)),
            "One projection was subtracted from the other. What gives this score its name?",
            also=(
                make(join=_paired(lambda q, k: k - q)),
                make(join=_paired(lambda q, k: (q + k) / 2)),
            ),
        ),
        Misconception(
            "dot product instead of a hidden layer",
            make(join=lambda q, k: q @ k.mT, squash=_none, read=lambda scores, v: scores),
            "The projections were compared by a dot product. Here they make a hidden layer "
            "together first: which operation joins them?",
            also=(
                make(join=lambda q, k: q @ k.mT, read=lambda scores, v: scores),
                make(
                    join=lambda q, k: q.tanh() @ k.tanh().mT,
                    squash=_none,
                    read=lambda scores, v: scores,
                ),
                make(
                    join=lambda q, k: q @ k.mT,
                    squash=lambda scores: scores.softmax(-1),
                    read=lambda scores, v: scores,
                ),
                make(join=_cosines, squash=_none, read=lambda scores, v: scores),
                make(join=_paired(lambda q, k: q * k), squash=_none, read=lambda h, v: h.sum(-1)),
            ),
        ),
        Misconception(
            "the key plays no part",
            make(join=_paired(lambda q, k: q + 0 * k)),
            "The scores of a query are the same for all keys. Where does the key come in?",
        ),
        Misconception(
            "the query plays no part",
            make(join=_paired(lambda q, k: 0 * q + k)),
            "Every query has the same scores. Where does the query come in?",
        ),
        Misconception(
            "pairs added without a new axis",
            make(join=lambda q, k: q + k),
            "Query i was added to key i, and to no other. Both have three axes, and four are "
            "needed: (B, L, S, d_a). Where does each of them get its new one?",
            also=(
                make(join=lambda q, k: k + q),
                make(join=lambda q, k: q.unsqueeze(1) + k.unsqueeze(1)),
                make(join=lambda q, k: q.unsqueeze(2) + k.unsqueeze(2)),
                make(join=lambda q, k: q + k, read=lambda h, v: (h @ v).unsqueeze(-1)),
                make(join=lambda q, k: q.unsqueeze(1) + k),
                make(join=lambda q, k: q.unsqueeze(2) + k),
                make(join=lambda q, k: q + k.unsqueeze(1)),
                make(join=lambda q, k: q + k.unsqueeze(2)),
            ),
        ),
        Misconception(
            "pairs in another order",
            make(join=_queries_tiled),
            "The wrong queries and keys were paired: `repeat` and `repeat_interleave` give other "
            "orders. Which index should change fastest after the `view`?",
            also=(
                make(join=_keys_repeated),
                make(
                    join=lambda q, k: _keys_in_rows(q, k).reshape(
                        len(q), q.shape[1], k.shape[1], -1
                    )
                ),
            ),
        ),
    )
