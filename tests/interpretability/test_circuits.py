import math

import numpy as np
import pytest
import torch
from torch import Tensor

from course_utils.interpretability import composition_score, copying_score
from tests.support import draw


def two_heads(d: int, d_v: int, d_k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return draw(d, d_v), draw(d_v, d), draw(d, d_k), draw(d, d_k, seed=1)


@pytest.mark.parametrize("sizes", [(6, 2, 3), (5, 4, 2), (3, 5, 4), (1, 1, 1)])
@pytest.mark.peer("20", "`composition_score`", "`numpy.linalg.norm`", "float64 1e-12", "scores")
def test_the_composition_score_is_a_ratio_of_numpy_s_norms(sizes: tuple[int, int, int]) -> None:
    given = two_heads(*sizes)
    W_V, W_O, W_in, W_other = (one.numpy() for one in given)
    writes, reads = W_V @ W_O, W_in @ W_other.T
    theirs = np.linalg.norm(writes @ reads) / (np.linalg.norm(writes) * np.linalg.norm(reads))
    ours = torch.tensor(composition_score(*given), dtype=torch.float64)
    torch.testing.assert_close(ours, torch.tensor(theirs), rtol=1e-12, atol=1e-12)


def test_the_composition_score_is_a_loop_s() -> None:
    given = two_heads(4, 2, 3)
    W_V, W_O, W_in, W_other = (one.tolist() for one in given)
    every = range(4)
    writes = [[sum(W_V[i][k] * W_O[k][j] for k in range(2)) for j in every] for i in every]
    reads = [[sum(W_in[i][k] * W_other[j][k] for k in range(3)) for j in every] for i in every]
    both = [[sum(writes[i][k] * reads[k][j] for k in every) for j in every] for i in every]
    top, *below = (math.sqrt(sum(x * x for row in m for x in row)) for m in (both, writes, reads))
    assert composition_score(*given) == pytest.approx(top / (below[0] * below[1]))


def test_a_head_of_width_1_that_is_read_in_full_has_composition_1_and_one_apart_has_0() -> None:
    W_V, W_O, _, W_other = two_heads(5, 1, 1)
    assert composition_score(W_V, W_O, W_O.mT, W_other) == pytest.approx(1.0)
    apart = torch.linalg.svd(W_O).Vh[1:2].mT
    assert composition_score(W_V, W_O, apart, W_other) == pytest.approx(0.0, abs=1e-12)


def test_sizes_of_the_weights_do_not_count() -> None:
    W_V, W_O, W_in, W_other = two_heads(6, 2, 3)
    score = composition_score(W_V, W_O, W_in, W_other)
    assert composition_score(3 * W_V, W_O, -W_in, W_other / 7) == pytest.approx(score)


def test_random_heads_compose_as_one_over_the_root_of_the_width() -> None:
    scores = [
        composition_score(*(draw(*shape, seed=seed + 10 * at) for at, shape in enumerate(shapes)))
        for seed in range(10)
        for shapes in [((64, 8), (8, 64), (64, 8), (64, 8))]
    ]
    assert sum(scores) / len(scores) == pytest.approx(1 / 8, rel=0.2)


@pytest.mark.parametrize("silent", range(4))
def test_a_circuit_of_zeros_has_composition_0(silent: int) -> None:
    given = [x * 0 if i == silent else x for i, x in enumerate(two_heads(5, 2, 3))]
    score = composition_score(*given)
    assert type(score) is float
    assert score == 0.0


def test_matrices_that_do_not_fit_each_other_are_refused() -> None:
    W_V, W_O, W_in, W_other = two_heads(5, 2, 3)
    with pytest.raises(ValueError, match=r"W_O must have shape \(2, 5\), got \(5, 2\)"):
        composition_score(W_V, W_O.mT, W_in, W_other)
    with pytest.raises(ValueError, match=r"W_in must have shape \(5, 3\), got \(3, 3\)"):
        composition_score(W_V, W_O, W_in[:3], W_other)
    with pytest.raises(ValueError, match=r"W_other must have shape \(5, 3\), got \(5, 2\)"):
        composition_score(W_V, W_O, W_in, W_V)


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
