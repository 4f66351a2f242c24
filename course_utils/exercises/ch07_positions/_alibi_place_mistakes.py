"""What goes wrong with the distances of ALiBi's bias: each mistake as something to run."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.exercises.ch07_positions._alibi_wrong import build, fell, of
from course_utils.positions import alibi_slopes


def _hidden_from(last: float) -> Callable[[Tensor, int], Tensor]:
    """Return the penalty that hides all keys up to this distance, which is negative ahead."""
    return lambda distance, keys: torch.where(distance <= last, -torch.inf, -distance)


PLACE = (
    of(
        "bias positive",
        "Far keys gain instead of losing. Which sign makes a penalty of a distance?",
        fell(lambda d: d),
        fell(lambda d: d.abs()),
    ),
    of(
        "queries and keys counted from the same start",
        "Right only with as many queries as keys. After a cache the last query stands at the last "
        "key: where does the first one stand?",
        build(first=lambda queries, keys: 0),
        build(first=lambda queries, keys: 0, penalty=lambda d, k: -d.abs()),
        build(first=lambda queries, keys: 0, penalty=lambda d, k: -d.clamp(min=0)),
        build(first=lambda queries, keys: 0, penalty=_hidden_from(-1.0)),
    ),
    of(
        "queries and keys exchanged",
        "Rows and columns changed places: a row belongs to a query, a column to a key.",
        lambda h, q, k: build()(h, q, k).mT,
        lambda h, q, k: build()(h, k, q),
    ),
    of(
        "as many rows as columns",
        "The table is a square of one of the two lengths. Rows belong to queries, columns to keys.",
        lambda h, q, k: build()(h, k, k),
        lambda h, q, k: build()(h, q, q),
    ),
    of(
        "the query's own key hidden",
        "A query's own key holds -inf, so the first query sees nothing. Where does the future "
        "begin: at the diagonal, or one behind it?",
        build(penalty=_hidden_from(0.0)),
        build(first=lambda queries, keys: 0, penalty=_hidden_from(0.0)),
    ),
    of(
        "aligned by queries less keys",
        "The first query is put before the first key. The last query and the last key stand "
        "together: which difference moves the queries?",
        build(first=lambda queries, keys: queries - keys),
    ),
    of(
        "the query's own key penalised",
        "The entry of a query's own key should be 0. Is 1 too much added to the distance?",
        fell(lambda d: -(d + 1)),
        fell(lambda d: -(d - 1)),
        build(first=lambda queries, keys: keys - 1),
        build(first=lambda queries, keys: keys),
    ),
    of(
        "BLOOM's form",
        "Each row differs from what is asked by a constant, which the softmax would take away: "
        "BLOOM adds slope · position of the key. Here the query's own key gets 0.",
        lambda h, q, k: alibi_slopes(h)[:, None, None] * torch.arange(float(k)).expand(h, q, k),
        lambda h, q, k: (
            alibi_slopes(h)[:, None, None] * (torch.arange(float(k)) - (k - 1)).expand(h, q, k)
        ),
        lambda h, q, k: alibi_slopes(h)[:, None, None] * torch.arange(float(k)),
    ),
    of(
        "keys' positions as a penalty",
        "The penalty grows with the position of the key, not with its distance from the query.",
        lambda h, q, k: -alibi_slopes(h)[:, None, None] * torch.arange(float(k)).expand(h, q, k),
        lambda h, q, k: (
            -alibi_slopes(h)[:, None, None] * torch.arange(float(q))[:, None].expand(h, q, k)
        ),
    ),
    of(
        "the past hidden instead of the future",
        "Keys before the query hold -inf. Which side of the diagonal is the past?",
        build(penalty=lambda d, k: torch.where(d > 0, -torch.inf, -d)),
        build(penalty=lambda d, k: torch.full_like(d, -torch.inf)),
    ),
    of(
        "cut off by the diagonal of a square",
        "With more keys than queries `tril` without an offset takes the past away too. At which "
        "diagonal do the queries' own keys lie?",
        build(penalty=lambda d, k: (-d).tril()),
        build(penalty=lambda d, k: -d + torch.full_like(d, -torch.inf).triu(1)),
    ),
    of(
        "the past left alone",
        "Only keys after the query are penalised; for keys before it the bias is 0.",
        fell(lambda d: d.clamp(max=0)),
        fell(lambda d: 0 * d),
    ),
)
