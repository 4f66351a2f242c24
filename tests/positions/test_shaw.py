import pytest
import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.measure import largest_tensor
from course_utils.positions import ShawPositions, shaw_scores
from tests.support import assert_same_function, draw


def scheme(reach: int) -> ShawPositions:
    made = ShawPositions(4, reach).double()
    made.for_values.data = draw(2 * reach + 1, 4, seed=3)
    return made


@pytest.mark.parametrize(
    ("num_queries", "num_keys", "reach"),
    [(4, 7, 2), (6, 6, 3), (7, 3, 2), (1, 5, 3), (5, 1, 9), (4, 5, 0)],
)
def test_values_agree_with_a_loop(num_queries, num_keys, reach) -> None:
    table = scheme(reach).for_values

    def loop(weights: Tensor) -> Tensor:
        rows = [
            sum(
                weights[..., i, j, None] * table[max(-reach, min(reach, j - i)) + reach]
                for j in range(num_keys)
            )
            for i in range(num_queries)
        ]
        return torch.stack(rows, dim=-2)

    at, of = torch.arange(num_queries), torch.arange(num_keys)
    assert_same_function(
        lambda weights: scheme(reach).value_term(weights, at, of),
        loop,
        (draw(2, 3, num_queries, num_keys),),
    )


def test_gradients_agree_with_finite_differences() -> None:
    q, k = draw(1, 2, 3, 4, seed=1).requires_grad_(), draw(1, 2, 5, 4, seed=2).requires_grad_()
    table = draw(5, 4, seed=3).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b, c: shaw_scores(a, b, c, 2), (q, k, table))


def test_no_tensor_of_width_d_k_is_made_for_every_pair() -> None:
    q, k, table = draw(1, 2, 64, 32), draw(1, 2, 64, 32), draw(9, 32)
    assert largest_tensor(lambda: shaw_scores(q, k, table, 4)) <= 2 * 64 * 64


def test_the_scheme_is_the_functions_wherever_the_tokens_stand() -> None:
    own, places = scheme(3), torch.arange(5)
    q, k = draw(2, 3, 5, 4, seed=1), draw(2, 3, 5, 4, seed=2)
    weights, scores = stable_softmax(q @ k.mT), shaw_scores(q, k, own.for_keys, 3)
    values = own.value_term(weights, places, places)
    for at in (places + 40, (places + 7).expand(2, 5)):
        torch.testing.assert_close(q @ k.mT / 2 + own.bias(q, k, at, at), scores)
        torch.testing.assert_close(own.value_term(weights, at, at), values)
    last = own.bias(q[..., 4:, :], k, places[4:], places)
    torch.testing.assert_close(q[..., 4:, :] @ k.mT / 2 + last, scores[..., 4:, :])
