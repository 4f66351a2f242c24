import pytest
import torch
from torch import Tensor

from course_utils.attention import stable_softmax
from course_utils.measure import largest_tensor
from course_utils.positions import ShawPositions, shaw_scores, shaw_values
from tests.support import draw

SIZES = [(4, 7, 2), (6, 6, 3), (7, 3, 2), (1, 5, 3), (5, 1, 9), (4, 5, 0)]
each_size = pytest.mark.parametrize(("num_queries", "num_keys", "reach"), SIZES)


def vector(table: Tensor, i: int, j: int, reach: int) -> Tensor:
    return table[max(-reach, min(reach, j - i)) + reach]


@each_size
def test_values_agree_with_a_loop(num_queries, num_keys, reach) -> None:
    weights = stable_softmax(draw(2, 3, num_queries, num_keys))
    table = draw(2 * reach + 1, 5, seed=3)
    wanted = torch.zeros(2, 3, num_queries, 5, dtype=torch.float64)
    for i in range(num_queries):
        for j in range(num_keys):
            wanted[..., i, :] += weights[..., i, j, None] * vector(table, i, j, reach)
    torch.testing.assert_close(shaw_values(weights, table, reach), wanted)


def test_gradients_agree_with_finite_differences() -> None:
    q, k = draw(1, 2, 3, 4, seed=1).requires_grad_(), draw(1, 2, 5, 4, seed=2).requires_grad_()
    table = draw(5, 4, seed=3).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b, c: shaw_scores(a, b, c, 2), (q, k, table))
    assert torch.autograd.gradcheck(
        lambda a, c: shaw_values(a, c, 2), (draw(1, 2, 3, 5).requires_grad_(), table)
    )


def test_no_tensor_of_width_d_k_is_made_for_every_pair() -> None:
    q, k, table = draw(1, 2, 64, 32), draw(1, 2, 64, 32), draw(9, 32)
    assert largest_tensor(lambda: shaw_scores(q, k, table, 4)) <= 2 * 64 * 64


def test_the_scheme_is_the_functions_wherever_the_tokens_stand() -> None:
    scheme = ShawPositions(4, 3).double()
    q, k = draw(2, 3, 5, 4, seed=1), draw(2, 3, 5, 4, seed=2)
    weights, places = stable_softmax(q @ k.mT), torch.arange(5)
    scores = shaw_scores(q, k, scheme.for_keys, 3)
    values = shaw_values(weights, scheme.for_values, 3)
    for at in (places, places + 40, (places + 7).expand(2, 5)):
        torch.testing.assert_close(q @ k.mT / 2 + scheme.bias(q, k, at, at), scores)
        torch.testing.assert_close(scheme.value_term(weights, at, at), values)
    last = scheme.bias(q[..., 4:, :], k, places[4:], places)
    torch.testing.assert_close(q[..., 4:, :] @ k.mT / 2 + last, scores[..., 4:, :])


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="at least two axes"):
        shaw_values(draw(4), draw(5, 4), 2)
