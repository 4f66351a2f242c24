"""Arguments that `scale_explorer` accepts and refuses."""

import pytest

from course_utils.widgets import scale_explorer


def test_it_opens_unscaled_where_nothing_has_saturated() -> None:
    assert repr(scale_explorer()) == (
        "ScaleExplorer(d_k=4, temperature=1, scaled=False, num_keys=16, seed=12)"
    )


@pytest.mark.parametrize("d_k", [2**power for power in range(11)])
def test_every_power_of_two_is_a_width(d_k: int) -> None:
    assert scale_explorer(d_k=d_k).d_k == d_k
