import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import cross_covariance_attention
from course_utils.measure import largest_tensor
from tests.support import assert_same_function, draw

B, H, D = 2, 3, 4
TEMPERATURES = {
    "a number": 1.5,
    "an int": 2,
    "one for all": torch.tensor(0.7),
    "one a head": draw(H, 1, 1).exp(),
}
each = pytest.mark.parametrize("temperature", TEMPERATURES.values(), ids=TEMPERATURES)


def inputs(length: int) -> tuple[Tensor, ...]:
    return tuple(draw(B, H, length, D, seed=seed) for seed in range(3))


def as_xcit_s_code(query: Tensor, key: Tensor, value: Tensor, temperature) -> Tensor:
    """Return it with features before tokens, as the paper's code has them."""
    q, k, v = (x.mT for x in (query, key, value))
    q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    weights = (q @ k.mT * temperature).softmax(-1)
    return (weights @ v).mT


@each
@pytest.mark.parametrize("length", [1, 5, 1024, 1100, 2100])
def test_pieces_add_up_to_the_paper_s_code(length, temperature) -> None:
    assert_same_function(
        lambda *x: cross_covariance_attention(*x, temperature),
        lambda *x: as_xcit_s_code(*x, temperature),
        inputs(length),
    )


def test_the_temperature_learns() -> None:
    given, temperature = inputs(6), torch.ones(H, 1, 1, dtype=torch.float64)
    assert_same_function(
        lambda t: cross_covariance_attention(*given, t),
        lambda t: as_xcit_s_code(*given, t),
        (temperature,),
    )


def test_a_feature_that_is_zero_everywhere_mixes_evenly_and_has_a_gradient() -> None:
    query, key, value = inputs(6)
    query[..., 1] = 0.0
    query.requires_grad_()
    out = cross_covariance_attention(query, key, value, 3.0)
    torch.testing.assert_close(out[..., 1], value.mean(-1))
    (grad,) = torch.autograd.grad(out.sum(), query)
    assert grad.isfinite().all()


def test_large_inputs_do_not_overflow_in_low_precision() -> None:
    given = [(300 * x).half() for x in inputs(2000)]
    exact = cross_covariance_attention(*(x.double() for x in given), 1.0)
    got = cross_covariance_attention(*given, 1.0)
    assert got.isfinite().all()
    assert (got - exact).abs().max() < 1e-2 * exact.abs().max()


def test_no_table_of_tokens_and_no_copy_of_them() -> None:
    x = torch.ones(1, 1, 5000, 2)
    assert largest_tensor(cross_covariance_attention, x, x, x, 1.0) == 5000 * 2


Q, V = torch.zeros(2, 3, 5, 4), torch.zeros(2, 3, 5, 4)


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ((Q, Q, V[..., :3], 1.0), ValueError, "value needs the width .* got 3 and 4"),
        ((Q, Q, V, "1"), TypeError, "temperature must be a number or a tensor, got str"),
        ((Q, Q, V, True), TypeError, "got bool"),
        ((Q, Q, V, torch.ones(3)), ValueError, r"shape \(3, 1, 1\), .* got \(3,\)"),
    ],
)
def test_bad_input_is_named(given, kind, message) -> None:
    with pytest.raises(kind, match=message):
        cross_covariance_attention(*given)
