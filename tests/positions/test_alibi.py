import pytest
import torch

from course_utils.positions import AlibiPositions, alibi_bias, alibi_slopes


@pytest.mark.parametrize(
    ("heads", "wanted"),
    [
        (1, [2**-8]),
        (2, [2**-4, 2**-8]),
        (8, [2**-i for i in range(1, 9)]),
        (3, [2**-4, 2**-8, 2**-2]),
        (6, [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]),
        (12, [*(2**-i for i in range(1, 9)), 2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]),
    ],
)
def test_slopes_by_hand(heads, wanted) -> None:
    torch.testing.assert_close(alibi_slopes(heads), torch.tensor(wanted), rtol=1e-6, atol=0)


@pytest.mark.parametrize("heads", range(1, 41))
def test_every_number_of_heads_has_as_many_different_slopes_below_1(heads) -> None:
    slopes = alibi_slopes(heads)
    assert slopes.shape == (heads,)
    assert len(slopes.unique()) == heads
    assert bool(((slopes > 0) & (slopes < 1)).all())


def test_the_last_query_sees_the_same_bias_alone() -> None:
    torch.testing.assert_close(alibi_bias(5, 1, 9), alibi_bias(5, 9, 9)[:, -1:])


def test_the_scheme_s_bias_is_the_function_s() -> None:
    scheme = AlibiPositions(3)
    q, at, of = torch.zeros(2, 3, 4, 5), torch.arange(6, 10), torch.arange(10)
    torch.testing.assert_close(scheme.bias(q, q, at, of), alibi_bias(3, 4, 10))
    each = scheme.bias(q, q, at.expand(2, 4), of.expand(2, 10))
    torch.testing.assert_close(each, alibi_bias(3, 4, 10).expand(2, 3, 4, 10))
    low = q.bfloat16()
    assert scheme.bias(low, low, at, of).dtype == torch.bfloat16


def test_nothing_is_learned_and_nothing_is_saved() -> None:
    scheme = AlibiPositions(4)
    assert list(scheme.parameters()) == []
    assert scheme.state_dict() == {}
