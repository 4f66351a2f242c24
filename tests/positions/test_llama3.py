import math

import pytest
import torch

from course_utils.positions import llama3_frequencies, rope_frequencies


def test_at_the_numbers_of_llama_3_1_29_pairs_stay_and_29_are_divided() -> None:
    own = rope_frequencies(128, 500_000.0)
    slowed = own / llama3_frequencies(own, 8.0, 1.0, 4.0, 8192)
    assert int((slowed == 1).sum()) == int((slowed > 8 - 1e-9).sum()) == 29


def test_it_is_new_and_continuous_at_both_ends() -> None:
    own = torch.tensor([2 * math.pi / 50, 2 * math.pi / 200], dtype=torch.float64)
    got = llama3_frequencies(own, 8.0, 1.0, 4.0, 200)
    torch.testing.assert_close(got, own / torch.tensor([1.0, 8.0], dtype=torch.float64))
    assert got.data_ptr() != own.data_ptr()
    same = llama3_frequencies(own, 1.0, 1.0, 4.0, 200)
    torch.testing.assert_close(same, own)
    assert same.data_ptr() != own.data_ptr()
    assert llama3_frequencies(torch.zeros(0), 2.0, 1.0, 4.0, 8).shape == (0,)


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"low_freq_factor": 4.0}, ValueError, "high_freq_factor must be above low_freq_factor"),
        ({"low_freq_factor": 0.0}, ValueError, "and that above 0, got 4.0 and 0.0"),
    ],
)
def test_wrong_arguments_are_refused(changed, error, says) -> None:
    given = {
        "frequencies": torch.ones(2), "factor": 2.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "trained_length": 8,
    }  # fmt: skip
    with pytest.raises(error, match=says):
        llama3_frequencies(**(given | changed))
