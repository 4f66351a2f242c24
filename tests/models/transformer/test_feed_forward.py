import pytest
import torch

from course_utils.models import feed_forward, gated_feed_forward
from tests.support import draw


def test_the_gate_lets_through_what_silu_says() -> None:
    x, W_gate, W_up, W_down = draw(2, 3), draw(3, 5), draw(3, 5) + 1, draw(5, 3)
    z = x @ W_gate
    wanted = (z / (1 + torch.exp(-z)) * (x @ W_up)) @ W_down
    torch.testing.assert_close(gated_feed_forward(x, W_gate, W_up, W_down), wanted)


@pytest.mark.parametrize("name", ["swish", "GELU", "", None, 3])
def test_an_unknown_activation_is_refused(name: object) -> None:
    parts = draw(2, 3), draw(3, 5), draw(5), draw(5, 3), draw(3)
    with pytest.raises(ValueError, match="activation must be one of relu, gelu, gelu_tanh, got"):
        feed_forward(*parts, name)  # type: ignore[arg-type]


def test_a_stream_without_an_axis_is_refused() -> None:
    with pytest.raises(ValueError, match="x needs at least one axis"):
        feed_forward(draw(1)[0], draw(3, 5), draw(5), draw(5, 3), draw(3))
