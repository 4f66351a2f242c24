import math

import pytest

from course_utils.models import warmup_cosine, warmup_inverse_sqrt


def test_the_peak_of_2017_is_at_the_end_of_the_warm_up() -> None:
    rates = [warmup_inverse_sqrt(step, 512, 4000) for step in range(8001)]
    assert max(range(8001), key=rates.__getitem__) == 4000
    assert rates[4000] == pytest.approx(7.0e-4, rel=0.01)
    assert rates[0] == 0.0
    assert rates[2000] == pytest.approx(rates[4000] / 2)  # a straight line up
    assert warmup_inverse_sqrt(16000, 512, 4000) == pytest.approx(rates[4000] / 2)  # a root down


def test_the_formula_as_printed() -> None:
    for step in (1, 7, 50, 3000):
        want = 64**-0.5 * min(step**-0.5, step * 50**-1.5)
        assert warmup_inverse_sqrt(step, 64, 50) == pytest.approx(want)


def test_the_cosine_rises_and_falls_to_nothing() -> None:
    rates = [warmup_cosine(step, 0.3, 10, 110) for step in range(131)]
    assert rates[0] == 0.0
    assert rates[5] == pytest.approx(0.15)
    assert rates[10] == pytest.approx(max(rates)) == pytest.approx(0.3)
    assert rates[60] == pytest.approx(0.15)
    assert rates[35] == pytest.approx(0.15 * (1 + math.cos(math.pi / 4)))
    assert rates[110:] == [0.0] * 21
    assert warmup_cosine(0, 0.3, 0, 1) == 0.3
