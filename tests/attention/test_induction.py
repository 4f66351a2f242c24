from collections import Counter

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.attention import induction_prediction


def draw(batch: int, length: int, num_symbols: int) -> Tensor:
    g = torch.Generator().manual_seed(length)
    return torch.randint(num_symbols, (batch, length), generator=g)


@pytest.mark.parametrize(("batch", "length", "symbols"), [(1, 1, 1), (3, 20, 4), (2, 33, 7)])
@pytest.mark.peer(
    "15", "`induction_prediction`", "`collections.Counter` of followers", "float32 1.3e-6", "shares"
)
def test_agrees_with_a_counter_of_followers(batch, length, symbols) -> None:
    tokens = draw(batch, length, symbols)
    want = torch.zeros(batch, length, symbols)
    for b, row in enumerate(tokens.tolist()):
        followers: dict[int, Counter[int]] = {symbol: Counter() for symbol in row}
        for i, token in enumerate(row):
            if i:
                followers[row[i - 1]][token] += 1
            for symbol, count in followers[token].items():
                want[b, i, symbol] = count / followers[token].total()
    torch.testing.assert_close(induction_prediction(tokens, symbols), want)


def test_two_layers_of_attention_do_it_by_hand() -> None:
    tokens = draw(2, 30, 5)
    x = F.one_hot(tokens, 5).double()
    # Layer 1: each position attends to the one before it, and so comes to know its token.
    previous = torch.eye(30, dtype=torch.float64).roll(-1, 1).tril(-1)
    before = previous @ x
    # Layer 2: each token asks, the token before answers, and sharp scores leave only matches.
    earlier = torch.ones(30, 30).tril().bool()
    scores = (1e3 * x @ before.mT).masked_fill(~earlier, -torch.inf)
    by_hand = torch.softmax(scores, -1) @ x
    want = induction_prediction(tokens, 5).double()
    met = want.sum(-1) > 0
    torch.testing.assert_close(by_hand[met], want[met], rtol=1e-6, atol=1e-6)


def test_a_token_that_comes_for_the_first_time_predicts_nothing() -> None:
    prediction = induction_prediction(torch.tensor([[2, 0, 1, 0]]), 4)
    assert not prediction[0, :3].any()
    assert prediction[0, 3].tolist() == [0.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8])
def test_other_whole_numbers_will_do(dtype) -> None:
    tokens = draw(2, 9, 3)
    prediction = induction_prediction(tokens.to(dtype), 3)
    assert torch.equal(prediction, induction_prediction(tokens, 3))


@pytest.mark.parametrize(
    ("tokens", "num_symbols", "says"),
    [
        (torch.tensor([[0, 3]]), 3, "tokens must be from 0 to 2, got 0 to 3"),
        (torch.tensor([[-1, 1]]), 3, "tokens must be from 0 to 2, got -1 to 1"),
    ],
)
def test_tokens_are_whole_numbers_below_the_number_of_symbols(tokens, num_symbols, says) -> None:
    with pytest.raises(ValueError, match=says):
        induction_prediction(tokens, num_symbols)
