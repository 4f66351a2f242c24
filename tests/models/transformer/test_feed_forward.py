import math

import pytest
import torch

from course_utils.models import feed_forward, gated_feed_forward
from tests.support import draw


def gelu_tanh(z: float) -> float:
    return 0.5 * z * (1 + math.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))


BENT = {
    "relu": lambda z: max(z, 0.0),
    "gelu": lambda z: z * 0.5 * (1 + math.erf(z / math.sqrt(2))),
    "gelu_tanh": gelu_tanh,
}


@pytest.mark.parametrize("activation", BENT)
def test_it_is_a_loop_over_tokens_and_units(activation: str) -> None:
    x, W_1, b_1, W_2, b_2 = draw(2, 3), draw(3, 5), draw(5), draw(5, 3), draw(3)
    got = feed_forward(x, W_1, b_1, W_2, b_2, activation)
    for i in range(2):
        hidden = [
            BENT[activation](sum(float(x[i, k] * W_1[k, j]) for k in range(3)) + float(b_1[j]))
            for j in range(5)
        ]
        for k in range(3):
            wanted = sum(hidden[j] * float(W_2[j, k]) for j in range(5)) + float(b_2[k])
            assert float(got[i, k]) == pytest.approx(wanted, rel=1e-12)


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
