import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_utils.attention import causal_mask, leaks_future, masked_softmax, window_mask

LENGTH, WIDTH = 6, 4


def masked(mask: Tensor):
    return lambda x: masked_softmax(x @ x.mT, mask) @ x[..., :3]


def mean_of_the_past(x: Tensor) -> Tensor:
    return x.cumsum(1) / torch.arange(1, x.shape[1] + 1).view(1, -1, 1)


def best_of(mask: Tensor):
    """Take the value of the best key alone, through numpy: no gradient anywhere."""

    def attend(x: Tensor) -> Tensor:
        scores = (x @ x.mT).masked_fill(~mask, -torch.inf)
        return torch.from_numpy(x.numpy()[:, scores[0].argmax(-1).numpy()])

    return attend


def shifted_by_the_largest_of_all(x: Tensor) -> Tensor:
    """Rounds differently when the future changes, and is right."""
    scores = x @ x.mT / 10
    powers = (scores - scores.amax(-1, keepdim=True)).exp() * causal_mask(LENGTH, LENGTH)
    return powers @ x / powers.sum(-1, keepdim=True)


def writes_into_its_input(x: Tensor) -> Tensor:
    return mean_of_the_past(x.mul_(2.0))


CAUSAL = causal_mask(LENGTH, LENGTH)


@pytest.mark.parametrize(
    "attention",
    [
        masked(CAUSAL),
        masked(causal_mask(LENGTH, LENGTH, -1)),
        masked(window_mask(LENGTH, LENGTH, 2)),
        mean_of_the_past,
        best_of(CAUSAL),
        lambda x: 1e6 * masked(CAUSAL)(x),
        lambda x: x,
        lambda x: torch.full((1, LENGTH, 2), torch.inf),
        lambda x: torch.full((1, LENGTH, 2), torch.nan),
        lambda x: torch.zeros(1, LENGTH, 0),
        writes_into_its_input,
        lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    ],
)
def test_a_causal_attention_is_cleared(attention) -> None:
    assert leaks_future(attention, LENGTH, WIDTH) is False


def test_rounding_is_no_leak() -> None:
    x = torch.randn(1, LENGTH, WIDTH, generator=torch.Generator().manual_seed(1))
    longer = x.clone()
    longer[:, -1] *= 3.0
    before, after = (shifted_by_the_largest_of_all(t)[:, :-1] for t in (x, longer))
    assert not torch.equal(before, after)
    torch.testing.assert_close(before, after)
    assert leaks_future(shifted_by_the_largest_of_all, LENGTH, WIDTH) is False


def one_pair(query: int, key: int, size: float = 1.0):
    """Only this output reads only this position, besides its own past."""

    def attend(x: Tensor) -> Tensor:
        out = mean_of_the_past(x)
        out[:, query] += size * x[:, key]
        return out

    return attend


@pytest.mark.parametrize("query", range(LENGTH))
@pytest.mark.parametrize("key", range(LENGTH))
def test_one_output_that_reads_one_position_leaks_if_that_is_later(query, key) -> None:
    assert leaks_future(one_pair(query, key), LENGTH, WIDTH) is (key > query)


@pytest.mark.parametrize("size", [1e3, 1.0, 1e-3, 1e-5, 1e-6])
def test_a_leak_is_found_down_to_a_millionth_of_the_output(size) -> None:
    assert leaks_future(one_pair(3, 4, size), LENGTH, WIDTH)


@pytest.mark.parametrize(
    "attention",
    [
        masked(torch.ones(LENGTH, LENGTH, dtype=torch.bool)),
        masked(causal_mask(LENGTH, LENGTH, 1)),
        lambda x: F.batch_norm(masked(CAUSAL)(x).mT, None, None, training=True).mT,
        lambda x: (x @ x.mT).softmax(-1).tril() @ x,
        best_of(causal_mask(LENGTH, LENGTH, 1)),
        lambda x: x + 0.1 * x.detach().roll(-1, dims=1),
        lambda x: torch.where(x[:, -1:] > 9.0, torch.nan, x),
    ],
)
def test_a_leak_is_found_whatever_way_it_takes(attention) -> None:
    assert leaks_future(attention, LENGTH, WIDTH) is True


def test_one_position_has_no_future() -> None:
    assert leaks_future(lambda x: x.sum() + x, 1, 3) is False


def test_torch_s_own_layers_are_judged_by_their_masks() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).eval()
    mask = ~causal_mask(5, 5)
    assert not leaks_future(lambda x: layer(x, src_mask=mask, is_causal=True), 5, 8)
    assert leaks_future(layer, 5, 8)


def test_the_random_state_stays_and_the_verdict_too() -> None:
    before = torch.get_rng_state()
    assert leaks_future(masked(CAUSAL), LENGTH, WIDTH) is False
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: leaks_future(tuple, 3, 4), TypeError, "return a torch.Tensor, got tuple"),
        (
            lambda: leaks_future(lambda x: x[0], 3, 4),
            ValueError,
            r"attention must return \(1, 3, d_v\), got \(3, 4\)",
        ),
        (lambda: leaks_future(lambda x: x.mT, 3, 4), ValueError, r"got \(1, 4, 3\)"),
    ],
)
def test_bad_input_is_named(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
