import numpy as np
import pytest
import torch

from course_utils.checking.compare import equal

ONE, TWO = torch.ones(2), torch.zeros(2)


@pytest.mark.parametrize(
    ("got", "want", "same"),
    [
        ((ONE, TWO), (ONE, TWO), True),
        ([ONE, TWO], (ONE, TWO), True),
        (([ONE, TWO], [ONE]), ([ONE, TWO], [ONE]), True),
        (([ONE, TWO], [ONE]), ([ONE, ONE], [ONE]), False),
        (([ONE], [ONE]), ([ONE, ONE], [ONE]), False),
        ([1, 2], [1, 2], True),
        ([1, 3], [1, 2], False),
        ([], [], True),
        (3, 3, True),
        (True, 1, False),
        (float("nan"), float("nan"), True),
        (np.arange(3), np.arange(3), True),
        (np.arange(3), np.arange(4), False),
    ],
)
def test_results_are_compared_part_by_part_however_deep(got, want, same) -> None:
    assert equal(got, want) is same
