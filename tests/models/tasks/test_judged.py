"""Test `judge_writing` on logits that are known."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.data import END, FIRST_SYMBOL, START, Pairs
from course_utils.models import judge_writing


class Answers(nn.Module):
    """Gives the right token the logit `sure`, except where it is told to be wrong."""

    def __init__(self, sure: float, wrong: list[tuple[int, int]]) -> None:
        super().__init__()
        self.sure, self.wrong = sure, wrong

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        wanted = target[:, 1:].clone()
        for row, place in self.wrong:
            wanted[row, place] = FIRST_SYMBOL + 5
        return self.sure * F.one_hot(wanted, 15).float()


def pairs() -> Pairs:
    digits = torch.arange(12).view(4, 3) % 5 + FIRST_SYMBOL
    marks = torch.tensor([[START], [END]]).expand(2, 4).unsqueeze(-1)
    return Pairs(torch.ones(4, 2, dtype=torch.long), torch.cat([marks[0], digits, marks[1]], dim=1))


def test_characters_and_whole_answers_are_counted_apart() -> None:
    found = judge_writing(Answers(3.0, [(0, 1), (0, 2), (2, 0)]), pairs())
    assert (found.accuracy, found.exact) == (pytest.approx(9 / 12), 0.5)


def test_a_wrong_end_mark_is_in_the_loss_alone() -> None:
    right, wrong = (judge_writing(Answers(3.0, where), pairs()) for where in ([], [(1, 3)]))
    assert (right.accuracy, right.exact) == (wrong.accuracy, wrong.exact) == (1.0, 1.0)
    assert wrong.loss == pytest.approx(right.loss + 3.0 / 16)


def test_confidence_and_gap_are_those_of_one_logit_among_zeros() -> None:
    found = judge_writing(Answers(2.0, []), pairs())
    power = torch.tensor(2.0).exp().item()
    assert found.confidence == pytest.approx(power / (power + 14))
    assert found.gap == pytest.approx(2.0 * 14 / 15)
