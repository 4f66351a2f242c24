import math

import pytest
import torch

from course_utils.positions import SinusoidalPositions, shift_matrix, sinusoidal_encoding


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(("length", "width", "base"), [(7, 6, 1e4), (1, 2, 1e4), (40, 10, 50)])
def test_agrees_with_a_loop_over_positions_and_pairs(length, width, base) -> None:
    wanted = torch.empty(length, width)
    for p in range(length):
        for i in range(width // 2):
            angle = p / base ** (2 * i / width)
            wanted[p, 2 * i], wanted[p, 2 * i + 1] = math.sin(angle), math.cos(angle)
    torch.testing.assert_close(sinusoidal_encoding(length, width, base), wanted)


def test_the_table_has_the_default_dtype_and_is_exact_in_it() -> None:
    pe = sinusoidal_encoding(5000, 64)
    assert pe.dtype == torch.float32
    exact = math.sin(4999 / 10000 ** (2 / 64))
    assert float(pe[4999, 2]) == pytest.approx(exact, abs=1e-7)


@pytest.mark.usefixtures("double")
def test_the_dot_product_of_two_positions_depends_on_their_distance_only() -> None:
    pe = sinusoidal_encoding(50, 16)
    gram = pe @ pe.mT
    for offset in range(-20, 21):
        line = gram.diagonal(offset)
        torch.testing.assert_close(line, line[:1].expand_as(line))


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("offset", [0, 1, 7, -4, 5000])
@pytest.mark.parametrize("base", [1e4, 30])
def test_the_shift_matrix_shifts_every_position(offset, base) -> None:
    place = torch.arange(-20, 40).double().unsqueeze(-1)
    scheme = SinusoidalPositions(base)
    zeros = torch.zeros(1, 60, 8)
    here = scheme.embed(zeros, place.squeeze(-1))
    there = scheme.embed(zeros, place.squeeze(-1) + offset)
    torch.testing.assert_close(here @ shift_matrix(offset, 8, base), there)


@pytest.mark.usefixtures("double")
def test_shifts_compose_and_are_undone_by_their_transposes() -> None:
    one, two = shift_matrix(3, 10), shift_matrix(5, 10)
    torch.testing.assert_close(one @ two, shift_matrix(8, 10))
    torch.testing.assert_close(one.mT, shift_matrix(-3, 10))


def test_the_scheme_adds_the_rows_of_the_table() -> None:
    x = torch.randn(2, 5, 6)
    scheme = SinusoidalPositions()
    pe = sinusoidal_encoding(9, 6)
    torch.testing.assert_close(scheme.embed(x, torch.arange(5) + 4), x + pe[4:])
    each = torch.tensor([[0, 1, 2, 3, 4], [8, 7, 6, 5, 4]])
    torch.testing.assert_close(scheme.embed(x, each), x + pe[each])
    assert scheme.embed(x.bfloat16(), torch.arange(5)).dtype == torch.bfloat16
    assert list(scheme.parameters()) == []
