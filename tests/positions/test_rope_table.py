import pytest
import torch

from course_utils.positions import (
    RopeTable,
    interpolate_positions,
    rope_frequencies,
    rope_interleaved,
    rope_split_halves,
)
from tests.support import draw

PAIRINGS = [("interleaved", rope_interleaved), ("split halves", rope_split_halves)]


def test_frequencies_fall_from_1_to_nearly_one_over_the_base() -> None:
    wanted = torch.tensor([1.0, 100.0**-0.25, 0.1, 100.0**-0.75], dtype=torch.float64)
    torch.testing.assert_close(rope_frequencies(8, 100.0), wanted)


@pytest.mark.parametrize(("pairing", "rope"), PAIRINGS)
def test_the_table_turns_as_the_function_does_while_it_grows(pairing, rope) -> None:
    table = RopeTable(6, 50.0, pairing=pairing)
    x = draw(2, 3, 4, 6)
    for places in (
        torch.arange(4),
        torch.arange(4) + 2,
        torch.arange(4) + 900,
        torch.tensor([[0, 1, 2, 3], [7, 6, 2000, 4]]),
        torch.tensor([-3, -2, -1, 0]),
        torch.tensor([0.5, 1.25, 2.0, 3.75]),
    ):
        torch.testing.assert_close(table.rotate(x, places), rope(x, places, 50.0))


def test_going_on_by_one_makes_few_tables(monkeypatch) -> None:
    table = RopeTable(4)
    made = []
    original = RopeTable._made
    monkeypatch.setattr(RopeTable, "_made", lambda *a: made.append(1) or original(*a))
    for place in range(1000):
        table.rotate(draw(1, 1, 1, 4), torch.tensor([place]))
    assert len(made) <= 11


def test_no_positions_turn_nothing() -> None:
    assert RopeTable(4).rotate(draw(2, 3, 0, 4), torch.arange(0)).shape == (2, 3, 0, 4)


def test_each_dtype_has_its_own_table() -> None:
    table = RopeTable(4)
    x = draw(1, 2, 3, 4)
    low = table.rotate(x.bfloat16(), torch.arange(3))
    assert low.dtype == torch.bfloat16
    torch.testing.assert_close(
        table.rotate(x, torch.arange(3)), rope_split_halves(x, torch.arange(3))
    )


def test_slower_frequencies_are_interpolated_positions() -> None:
    x, places = draw(2, 3, 8, 6), torch.arange(8)
    slowed = RopeTable(6, frequencies=rope_frequencies(6) / 4).rotate(x, places)
    pressed = interpolate_positions(places.double(), 16, 64)
    torch.testing.assert_close(slowed, rope_split_halves(x, pressed))


def test_magnitude_multiplies_what_is_turned() -> None:
    x, places = draw(2, 3, 5, 6), torch.arange(5)
    torch.testing.assert_close(
        RopeTable(6, magnitude=1.3).rotate(x, places), 1.3 * rope_split_halves(x, places)
    )


def test_wrong_tables_are_refused() -> None:
    with pytest.raises(ValueError, match=r"pairing must be one of .* got 'halves'"):
        RopeTable(4, pairing="halves")


def test_what_does_not_fit_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match=r"axes \(\.\.\., length, 4\)"):
        RopeTable(4).rotate(torch.zeros(3, 6), torch.arange(3))
