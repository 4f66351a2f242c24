import pytest
import torch

from course_utils.interpretability import without_key
from tests.support import LEADING, assert_same_function, draw


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("key", [0, 2, 4])
@pytest.mark.peer(
    "20", "`without_key`", "`torch.softmax` with the key masked", "float64 1e-12", "weights"
)
def test_the_weights_are_a_masked_softmax_s(leading: tuple[int, ...], key: int) -> None:
    scores = 3 * draw(*leading, 4, 5)
    hidden = torch.arange(5) == key
    theirs = torch.softmax(scores.masked_fill(hidden, -torch.inf), -1)
    ours = without_key(torch.softmax(scores, -1), key)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def test_its_gradient_is_that_of_the_masked_softmax() -> None:
    hidden = torch.arange(5) == 2
    assert_same_function(
        lambda scores: without_key(scores.softmax(-1), 2),
        lambda scores: scores.masked_fill(hidden, -torch.inf).softmax(-1),
        (draw(2, 3, 5),),
    )


@pytest.mark.parametrize("key", [0, 3])
def test_a_loop_divides_row_by_row_by_what_is_left(key: int) -> None:
    weights = draw(6, 4).softmax(-1)
    weights[2] = 0.0
    weights[4] = torch.arange(4) == key
    for row, ours in zip(weights.tolist(), without_key(weights, key).tolist(), strict=True):
        left = sum(w for j, w in enumerate(row) if j != key)
        wanted = [w / left if j != key and left else 0.0 for j, w in enumerate(row)]
        assert ours == pytest.approx(wanted)


def test_what_a_sink_leaves_is_divided_to_the_last_digits() -> None:
    rest = torch.tensor([3e-14, 5e-14, 2e-14], dtype=torch.float64)
    weights = torch.cat([1 - rest.sum(0, keepdim=True), rest]).unsqueeze(0)
    assert without_key(weights, 0)[0].tolist() == pytest.approx([0.0, 0.3, 0.5, 0.2], rel=1e-12)


def test_a_row_of_which_nothing_is_left_has_a_finite_gradient() -> None:
    weights = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]], requires_grad=True)
    found = without_key(weights, 1)
    assert found.tolist() == [[0.0] * 3] * 2
    found.square().sum().backward()
    assert weights.grad is not None
    assert bool(weights.grad.isfinite().all())


def test_a_key_that_is_not_there_is_refused() -> None:
    for key in (-1, 3):
        with pytest.raises(ValueError, match=rf"key must be in 0 … 2, got {key}"):
            without_key(draw(2, 3).softmax(-1), key)
    with pytest.raises(TypeError, match="key must be an int, got float"):
        without_key(draw(2, 3).softmax(-1), 1.0)  # type: ignore[arg-type]
