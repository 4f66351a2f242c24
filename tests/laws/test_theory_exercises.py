"""Distinctions of chapter 15's exercises that no line of a mistake says."""

import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.checking.judge import judge
from course_utils.exercises import find


def named(exercise: str, answer: object) -> tuple[str, ...]:
    return judge(find(exercise), answer).misconceptions


def test_an_answer_in_float32_is_not_taken_for_another_bandwidth() -> None:
    def single(query: Tensor, key: Tensor, value: Tensor, bandwidth: float) -> Tensor:
        apart = torch.cdist(query.float(), key.float()).square()
        weights = torch.softmax(-apart / (2 * bandwidth**2), -1)
        return (weights @ value.float()).to(value.dtype)

    assert named("nadaraya_watson", single) == ("in lower precision",)


def test_an_update_in_float32_is_not_taken_for_another_beta() -> None:
    def single(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
        stored = patterns.float()
        return (torch.softmax(beta * state.float() @ stored.mT, -1) @ stored).to(state.dtype)

    assert named("hopfield_update", single) == ("in lower precision",)


def test_any_other_width_of_the_kernel_is_named() -> None:
    def wider(query: Tensor, key: Tensor, value: Tensor, bandwidth: float) -> Tensor:
        return torch.softmax(-torch.cdist(query, key).square() / (3.7 * bandwidth), -1) @ value

    assert named("nadaraya_watson", wider) == ("another width than 2h²",)


def test_any_small_number_added_below_is_named() -> None:
    def held_up(state: Tensor, normaliser: Tensor, query: Tensor, key: Tensor, value: Tensor):
        asked, offered = F.elu(query) + 1, F.elu(key) + 1
        state = state + offered.unsqueeze(-1) * value.unsqueeze(-2)
        normaliser = normaliser + offered
        above = (asked.unsqueeze(-2) @ state).squeeze(-2)
        return state, normaliser, above / ((asked * normaliser).sum(-1, keepdim=True) + 3e-5)

    assert named("linear_attention_step", held_up) == ("epsilon in the denominator",)
