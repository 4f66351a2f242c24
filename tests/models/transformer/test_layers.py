import pytest
import torch
from torch import Tensor

from course_utils.models import DecoderLayer, EncoderLayer, decoder_layer, encoder_layer, layer_norm


def stream(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def halved(x: Tensor) -> Tensor:
    return x / 2


def squared(x: Tensor) -> Tensor:
    return x * x


def shifted(x: Tensor) -> Tensor:
    return x - 1


def tripled(x: Tensor) -> Tensor:
    return 3 * x


def test_both_orders_of_an_encoder_layer_by_hand() -> None:
    x = torch.full((1, 1, 1), 4.0)
    parts = squared, halved, shifted, tripled
    # before: 4 + (4 - 1)² = 13, then 13 + 3·13 / 2;  after: (4 + 16) - 1 = 19, then 3·(19 + 9.5)
    assert encoder_layer(x, *parts, True).item() == 32.5
    assert encoder_layer(x, *parts, False).item() == 85.5


def test_both_orders_of_a_decoder_layer_by_hand() -> None:
    x, memory = torch.full((1, 1, 1), 4.0), torch.full((1, 2, 1), 10.0)
    parts = squared, lambda y, m: y + m[:, :1], halved, (shifted, tripled, shifted)
    # before: 13, then 13 + (39 + 10) = 62, then 62 + 61 / 2
    assert decoder_layer(x, memory, *parts, True).item() == 92.5
    # after: 19, then 3·(19 + 29) = 144, then 144 + 72 - 1
    assert decoder_layer(x, memory, *parts, False).item() == 215.0


@pytest.mark.parametrize("pre_norm", [True, False])
def test_given_functions_take_the_places_of_the_course_s_own(pre_norm: bool) -> None:
    called = []

    def told(name, function):
        return lambda *args: (called.append(name), function(*args))[1]

    functions = {
        "layer_norm": told("layer_norm", layer_norm),
        "feed_forward": told("feed_forward", lambda x, *parts: torch.zeros_like(x)),
        "encoder_layer": told("encoder_layer", encoder_layer),
        "decoder_layer": told("decoder_layer", decoder_layer),
    }
    torch.manual_seed(0)
    reader = EncoderLayer(4, 2, 6, pre_norm=pre_norm, **functions).double()
    writer = DecoderLayer(4, 2, 6, pre_norm=pre_norm, **functions).double()
    plain = EncoderLayer(4, 2, 6, pre_norm=pre_norm).double()
    plain.load_state_dict(reader.state_dict())
    with torch.no_grad():
        plain.linear2.weight.zero_()
        plain.linear2.bias.zero_()
    x, memory, looks = stream(2, 3, 4), stream(2, 5, 4), []
    torch.testing.assert_close(reader(x), plain(x))
    writer(x, memory, looks=looks)
    assert set(called) == set(functions)
    (weights,) = looks
    assert weights.shape == (2, 2, 3, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 3).double())


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: EncoderLayer(4, 2, 6, norm=shifted), TypeError, "functions must be among"),
        (lambda: EncoderLayer(4, 2, 6, activation="swish"), ValueError, "activation must be one"),
        (
            lambda: decoder_layer(
                stream(1, 2, 3), stream(1, 2, 3), halved, halved, halved, (halved,), True
            ),
            ValueError,
            "norms must be three, got 1",
        ),
        (lambda: EncoderLayer(4, 2, 6, layer_norm=3), TypeError, "layer_norm must be callable"),
    ],
)
def test_what_does_not_fit_is_refused(call, error, says) -> None:
    with pytest.raises(error, match=says):
        call()
