"""Test the loss over windows against judging one token at a time."""

import pytest
import torch

from course_utils.measure import windowed_loss
from course_utils.models import GPT


@pytest.fixture
def model() -> GPT:
    torch.manual_seed(0)
    return GPT(9, d_model=8, num_heads=2, num_layers=1, max_length=6).double()


def _one_by_one(model: GPT, tokens: torch.Tensor, window: int, stride: int) -> float:
    losses = []
    for place in range(1, len(tokens)):
        # The first window that holds the token: they begin at 0, stride, 2 · stride, ...
        start = next(s for s in range(0, len(tokens), stride) if place < s + window)
        seen = tokens[start:place].unsqueeze(0)
        losses.append(-model.logits(seen)[0, -1].log_softmax(-1)[tokens[place]])
    return float(torch.stack(losses).mean())


@pytest.mark.parametrize("length", [2, 5, 6, 7, 13, 16])
@pytest.mark.parametrize(("window", "stride"), [(6, 1), (6, 3), (6, 5), (4, 2), (2, 1)])
def test_each_token_is_judged_once_in_the_first_window_that_holds_it(
    length, window, stride, model
) -> None:
    tokens = torch.randint(0, 9, (length,), generator=torch.Generator().manual_seed(1))
    fed = []

    def watched(part):
        fed.append(part.shape[1])
        return model.logits(part)

    with torch.no_grad():
        want = _one_by_one(model, tokens, window, stride)
        assert windowed_loss(watched, tokens, window, stride) == pytest.approx(want, rel=1e-12)
    assert max(fed) <= window


@pytest.mark.parametrize(
    ("length", "window", "stride", "says"),
    [
        (1, 4, 2, "tokens must hold two tokens at least, got 1"),
        (5, 4, 4, "window must be at least 5, got 4"),
        (5, 4, 0, "stride must be at least 1, got 0"),
    ],
)
def test_windows_that_do_not_overlap_are_refused(length, window, stride, says, model) -> None:
    with pytest.raises(ValueError, match=says):
        windowed_loss(model.logits, torch.zeros(length, dtype=torch.long), window, stride)
