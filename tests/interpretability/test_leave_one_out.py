import pytest
import torch
from torch import Tensor

from course_utils.interpretability import leave_one_out

WORTH = torch.tensor([0.5, -1.0, 2.0, 0.0, 1.5], dtype=torch.float64)
TOKENS = torch.tensor([[2, 1, 3, 0], [1, 1, 2, 4]])
MASK = torch.tensor([[True, True, True, False], [False, True, True, True]])


def predict(tokens: Tensor, mask: Tensor) -> Tensor:
    """Return the probabilities of two classes, from a sum over the words that are seen."""
    total = (WORTH[tokens] * mask).sum(-1)
    return torch.stack([total, -total], -1).softmax(-1)


def test_it_is_the_difference_that_hiding_one_token_makes() -> None:
    found = leave_one_out(predict, TOKENS, MASK)
    for row, (words, seen) in enumerate(zip(TOKENS, MASK, strict=True)):
        chosen = predict(words[None], seen[None])[0].argmax()
        for i in range(4):
            less = seen.clone()
            less[i] = False
            change = predict(words[None], seen[None]) - predict(words[None], less[None])
            assert found[row, i].item() == pytest.approx(change[0, chosen].item())


def test_a_word_against_the_class_has_a_negative_importance_and_padding_has_none() -> None:
    found = leave_one_out(predict, TOKENS, MASK)
    assert (found[0] > 0).tolist() == [True, False, False, False]
    assert found[0, 1] < 0
    assert found[0, 2:].tolist() == [0.0, 0.0]
    assert found[1, 0] == 0


def test_nothing_is_changed_and_no_gradient_is_kept() -> None:
    tokens, mask = TOKENS.clone(), MASK.clone()
    assert not leave_one_out(predict, tokens, mask).requires_grad
    assert torch.equal(tokens, TOKENS)
    assert torch.equal(mask, MASK)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(TypeError, match="predict must be callable, got int"):
        leave_one_out(3, TOKENS, MASK)
    with pytest.raises(TypeError, match=r"mask must be boolean \(True = real\)"):
        leave_one_out(predict, TOKENS, MASK.long())
    with pytest.raises(ValueError, match=r"mask must have the tokens' shape \(2, 4\), got \(4,\)"):
        leave_one_out(predict, TOKENS, MASK[0])
    with pytest.raises(ValueError, match="predict must return a row of probabilities for each of"):
        leave_one_out(lambda tokens, mask: predict(tokens, mask)[:1], TOKENS, MASK)
