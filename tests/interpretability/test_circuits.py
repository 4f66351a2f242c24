import numpy as np
import pytest
import torch
from torch import Tensor

from course_utils.interpretability import copying_score
from tests.support import draw


def weights(num_tokens: int, d: int = 5, d_v: int = 3) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draw a head that copies more than it does the opposite, and tokens that are not centred."""
    source = draw(num_tokens, d) + 2
    W_V, unembed = draw(d, d_v, seed=1), source + draw(num_tokens, d, seed=2)
    return source, W_V, W_V.mT + draw(d_v, d, seed=3), unembed


@pytest.mark.parametrize("num_tokens", [2, 4, 12])
@pytest.mark.peer("20", "`copying_score`", "`numpy.linalg.eigvals`", "float64 1e-9", "score")
def test_it_is_that_of_the_table_of_tokens_by_tokens(num_tokens: int) -> None:
    source, W_V, W_O, unembed = weights(num_tokens)
    seen, counted = (part.numpy() - part.numpy().mean(axis=0) for part in (source, unembed))
    values = np.linalg.eigvals(seen @ W_V.numpy() @ W_O.numpy() @ counted.T)
    wanted = values.real.sum() / np.abs(values).sum()
    found = copying_score(source, W_V, W_O, unembed)
    torch.testing.assert_close(found, float(wanted), rtol=1e-9, atol=1e-9)


def test_a_head_of_width_1_raises_its_tokens_or_lowers_them() -> None:
    source, W_V, _, _ = weights(7, d_v=1)
    assert copying_score(source, W_V, W_V.mT, source) == pytest.approx(1.0)
    assert copying_score(source, W_V, -W_V.mT, source) == pytest.approx(-1.0)


def test_the_copying_score_does_not_see_what_is_the_same_for_all_tokens() -> None:
    source, W_V, W_O, unembed = weights(9)
    score = copying_score(source, W_V, W_O, unembed)
    assert copying_score(source + 3, W_V, W_O, unembed - draw(5)) == pytest.approx(score)
    assert 0 < score < 1


def test_a_map_of_0_copies_nothing() -> None:
    source, W_V, W_O, unembed = weights(6)
    assert copying_score(source, 0 * W_V, W_O, unembed) == 0.0
    assert copying_score(source[:1], W_V, W_O, unembed[:1]) == 0.0


def test_matrices_of_a_head_that_do_not_fit_the_tokens_are_refused() -> None:
    source, W_V, W_O, unembed = weights(6)
    with pytest.raises(ValueError, match=r"W_V must have shape \(5, 3\), got \(4, 3\)"):
        copying_score(source, W_V[:4], W_O, unembed)
    with pytest.raises(ValueError, match=r"W_O must have shape \(3, 5\), got \(5, 3\)"):
        copying_score(source, W_V, W_O.mT, unembed)
    with pytest.raises(ValueError, match=r"unembed must have shape \(6, 5\), got \(5, 5\)"):
        copying_score(source, W_V, W_O, unembed[:5])
    with pytest.raises(ValueError, match=r"source must hold a token, got shape \(0, 5\)"):
        copying_score(source[:0], W_V, W_O, unembed[:0])
