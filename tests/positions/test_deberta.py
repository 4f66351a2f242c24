import pytest
import torch
from torch import Tensor

from course_utils.measure import largest_tensor
from course_utils.positions import DebertaPositions, disentangled_scores
from tests.support import draw

SIZES = [(4, 7, 2), (6, 6, 3), (7, 3, 2), (1, 5, 4), (5, 1, 9), (4, 5, 1)]
D_K = 5


def tables(reach: int, heads: int = 3) -> tuple[Tensor, Tensor]:
    return draw(heads, 2 * reach, D_K, seed=3), draw(heads, 2 * reach, D_K, seed=4)


@pytest.mark.parametrize(("num_queries", "num_keys", "reach"), SIZES)
@pytest.mark.parametrize("scale", [None, 0.3, 0.0])
def test_agrees_with_a_loop(num_queries, num_keys, reach, scale) -> None:
    q, k = draw(2, 3, num_queries, D_K, seed=1), draw(2, 3, num_keys, D_K, seed=2)
    asks, offers = tables(reach)
    wanted = torch.empty(2, 3, num_queries, num_keys, dtype=torch.float64)
    for i in range(num_queries):
        for j in range(num_keys):
            row = max(0, min(2 * reach - 1, i - j + reach))
            content = (q[:, :, i] * k[:, :, j]).sum(-1)
            to_position = (q[:, :, i] * offers[:, row]).sum(-1)
            to_content = (k[:, :, j] * asks[:, row]).sum(-1)
            factor = 15**-0.5 if scale is None else scale
            wanted[:, :, i, j] = factor * (content + to_position + to_content)
    torch.testing.assert_close(disentangled_scores(q, k, asks, offers, reach, scale), wanted)


def test_gradients_agree_with_finite_differences() -> None:
    given = [draw(1, 2, 3, D_K, seed=1), draw(1, 2, 4, D_K, seed=2), *tables(2, heads=2)]
    given = [one.requires_grad_() for one in given]
    assert torch.autograd.gradcheck(lambda *x: disentangled_scores(*x, 2), given)


def test_no_tensor_of_width_d_k_is_made_for_every_pair_nor_for_unused_rows() -> None:
    q, k = draw(1, 2, 32, D_K), draw(1, 2, 32, D_K)
    table = draw(2, 2 * 512, D_K)
    assert largest_tensor(disentangled_scores, q, k, table, table, 512) <= 2 * 32 * 64


def test_the_scheme_is_the_function_wherever_the_tokens_stand() -> None:
    scheme, places = DebertaPositions(3, D_K, 3).double(), torch.arange(5)
    q, k = draw(2, 3, 5, D_K, seed=1), draw(2, 3, 5, D_K, seed=2)
    wanted = disentangled_scores(q, k, scheme.for_queries, scheme.for_keys, 3)

    def scores(q: Tensor, at: Tensor, of: Tensor) -> Tensor:
        q, key = scheme.rotate(q, k, at, of)
        return q @ key.mT / D_K**0.5 + scheme.bias(q, key, at, of)

    for at in (places, places + 40, (places + 7).expand(2, 5)):
        torch.testing.assert_close(scores(q, at, at), wanted)
    torch.testing.assert_close(scores(q[:, :, 4:], places[4:], places), wanted[:, :, 4:])
