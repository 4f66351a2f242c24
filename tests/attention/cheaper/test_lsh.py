import math

import pytest
import torch
from torch import Tensor

from course_utils.attention import lsh_attention, lsh_buckets
from course_utils.measure import count_flops
from tests.support import assert_same_function, draw, growth

D, DV = 4, 6


def bucket_of(x: Tensor, rotation: Tensor) -> int:
    along = [float(x.detach() @ column) for column in rotation.T]
    along += [-one for one in along]
    return along.index(max(along))


def one_token_at_a_time(query: Tensor, value: Tensor, rotations: Tensor, reach: int) -> Tensor:
    """Let each query pick its keys round by round; weigh the rounds by their sums of exp."""
    rows = []
    for i in range(len(query)):
        outs, sizes = [], []
        for rotation in rotations:
            buckets = [bucket_of(x, rotation) for x in query[: i + 1]]
            seen = [j for j in range(i) if buckets[j] == buckets[i]][-reach:]
            scores = [query[i] @ (query[j] / query[j].norm()) for j in seen]
            powers = [score.exp() for score in scores]
            sizes.append(sum(powers))  # 0 where the query found nobody
            outs.append(sum(p * value[j] for p, j in zip(powers, seen, strict=True)))
        total = sum(sizes)
        rows.append(sum(outs) / total if isinstance(total, Tensor) else value[i])
    return torch.stack(rows)


@pytest.mark.parametrize("reach", [1, 3, 8, 50])
@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("length", [1, 2, 9, 24])
@pytest.mark.peer(
    "08", "`lsh_attention`", "its definition, in a loop", "float64 1e-7", "outputs, gradients"
)
def test_agrees_with_a_loop_over_queries_and_rounds(length, rounds, reach) -> None:
    rotations = draw(rounds, D, 2, seed=4)
    assert_same_function(
        lambda q, v: lsh_attention(q, v, rotations, reach),
        lambda q, v: one_token_at_a_time(q, v, rotations, reach),
        (draw(length, D), draw(length, DV)),
    )


@pytest.mark.parametrize("leading", [(2,), (2, 3), (2, 1, 4)])
def test_each_sequence_is_sorted_alone(leading) -> None:
    query, value, rotations = draw(*leading, 30, D), draw(*leading, 30, DV), draw(2, D, 3)
    out = lsh_attention(query, value, rotations, 5)
    flat = zip(*(x.reshape(-1, *x.shape[-2:]) for x in (query, value, out)), strict=True)
    for q, v, got in flat:
        torch.testing.assert_close(got, lsh_attention(q, v, rotations, 5))


def test_leading_axes_broadcast() -> None:
    query, value, rotations = draw(2, 1, 30, D), draw(3, 30, DV), draw(2, D, 3)
    whole = (x.expand(2, 3, -1, -1) for x in (query, value))
    got = lsh_attention(query, value, rotations, 5)
    torch.testing.assert_close(got, lsh_attention(*whole, rotations, 5))


def test_one_bucket_and_a_long_reach_are_causal_attention_to_unit_keys() -> None:
    query, value = draw(40, D).abs(), draw(40, DV)
    direction = torch.ones(1, D, 1, dtype=torch.float64)
    scores = query @ torch.nn.functional.normalize(query, dim=-1).T
    hidden = torch.ones(40, 40, dtype=torch.bool).triu()  # its own key too
    hidden[0, 0] = False
    want = scores.masked_fill(hidden, -math.inf).softmax(-1) @ value
    torch.testing.assert_close(lsh_attention(query, value, direction, 40), want)


@pytest.mark.parametrize("leading", [(), (2,), (2, 3)])
def test_buckets_are_the_nearest_direction_of_either_sign(leading) -> None:
    x, rotations = draw(*leading, 9, D), draw(D, 3)
    buckets = lsh_buckets(x, rotations)
    assert buckets.dtype == torch.long
    want = [bucket_of(row, rotations) for row in x.reshape(-1, D)]
    assert buckets.shape == (*leading, 9)
    assert buckets.flatten().tolist() == want


def test_the_first_of_equal_directions_wins() -> None:
    x = torch.tensor([[0.0, 0.0], [1.0, 1.0], [-1.0, -1.0], [-1.0, 1.0]])
    assert lsh_buckets(x, torch.eye(2)).tolist() == [0, 0, 2, 1]
    many = torch.ones(2, 500)
    assert lsh_buckets(x[1:3], many).tolist() == [0, 500]


def test_length_does_not_change_a_bucket_and_near_vectors_share_it() -> None:
    x, rotations = draw(2000, 16), draw(16, 8)
    other, noise = draw(2000, 16, seed=1), 0.3 * draw(2000, 16, seed=2)
    buckets = lsh_buckets(x, rotations)
    assert torch.equal(lsh_buckets(7 * x, rotations), buckets)
    near = (lsh_buckets(x + noise, rotations) == buckets).double().mean()
    far = (lsh_buckets(other, rotations) == buckets).double().mean()
    assert near > 0.5
    assert far < 0.1


def test_as_many_buckets_as_chunks_cost_a_hash_that_grows_with_the_square() -> None:
    def hashed(x: Tensor) -> Tensor:
        return lsh_buckets(x, torch.ones(D, len(x) // 64))

    assert growth(count_flops, hashed, lambda n: (torch.ones(n, D),)) == pytest.approx(2)


Q, V, R = torch.zeros(2, 5, D), torch.zeros(2, 5, DV), torch.zeros(2, D, 3)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: lsh_buckets(Q, R[0].mT), ValueError, r"shape \(4, half\), got \(3, 4\)"),
        (lambda: lsh_buckets(Q, R), ValueError, r"shape \(4, half\), got \(2, 4, 3\)"),
        (lambda: lsh_buckets(Q, R[0, :, :0]), ValueError, r"got \(4, 0\)"),
        (lambda: lsh_attention(Q, V, R[0], 4), ValueError, r"\(rounds, 4, half\), got \(4, 3\)"),
        (lambda: lsh_attention(Q, V, R[:0], 4), ValueError, r"got \(0, 4, 3\)"),
    ],
)
def test_bad_input_is_named(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
