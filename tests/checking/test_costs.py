import dataclasses

import pytest
import torch

from course_utils.attention import additive_score
from course_utils.checking.judge import judge
from course_utils.exercises import find
from course_utils.measure import count_flops
from tests.checking.toy import TOY


def through_all_pairs(x):
    pairs = x.unsqueeze(-1) * torch.ones_like(x).unsqueeze(-2)
    return 2 * pairs.mean(-1)


def test_a_limit_that_names_its_mistake_names_it_however_the_answer_counts() -> None:
    (cost,) = TOY.costs
    named = dataclasses.replace(cost, mistake=TOY.mistakes[0].name)
    report = judge(dataclasses.replace(TOY, costs=(named,)), through_all_pairs)
    assert (report.status, report.misconception) == ("misconception", "squared")
    assert report.says == TOY.mistakes[0].says


def test_a_call_that_fails_at_the_larger_size_is_too_costly_and_has_no_name() -> None:
    def only_small(x):
        if x.numel() > 100:
            raise RuntimeError
        return 2 * x

    (cost,) = TOY.costs
    named = dataclasses.replace(cost, mistake=TOY.mistakes[0].name)
    report = judge(dataclasses.replace(TOY, costs=(named,)), only_small)
    assert (report.status, report.misconception) == ("too_costly", None)
    assert "at size 256 the call failed" in report.says


def test_every_form_of_a_costly_mistake_is_compared() -> None:
    versions = (*TOY.mistakes[0].versions, through_all_pairs)
    mistake = dataclasses.replace(TOY.mistakes[0], versions=versions)
    report = judge(dataclasses.replace(TOY, mistakes=(mistake,)), through_all_pairs)
    assert (report.status, report.misconception) == ("misconception", "squared")


def by_hand(query, key, W_q, W_k, v):
    """Project every key for every query, where no counter of matrix products sees it."""
    every = key.unsqueeze(1).expand(-1, query.shape[1], -1, -1).unsqueeze(-1)
    return torch.tanh((query @ W_q).unsqueeze(2) + (every * W_k).sum(-2)) @ v


def vector_by_vector(query, key, W_q, W_k, v):
    rows = []
    for queries, keys in zip(query, key, strict=True):
        table = [[torch.tanh(W_q.mT @ q + W_k.mT @ k) @ v for k in keys] for q in queries]
        rows.append(torch.stack([torch.stack(row) for row in table]))
    return torch.stack(rows)


@pytest.mark.parametrize("answer", [by_hand, vector_by_vector])
def test_projecting_keys_again_is_seen_by_whatever_way(answer) -> None:
    report = judge(find("additive_score"), answer)
    assert report.misconception == "the keys projected for every query"


def test_the_limits_of_additive_score_leave_room_for_the_right_way() -> None:
    for cost in find("additive_score").costs:
        small, large = (
            cost.count(additive_score, *cost.make(size, torch.Generator())) for size in cost.sizes
        )
        assert large == small * cost.sizes[1] // cost.sizes[0]


def test_products_with_a_vector_are_counted_like_any_other() -> None:
    matrix, vector = torch.ones(3, 5), torch.ones(5)
    assert count_flops(torch.mv, matrix, vector) == 2 * 3 * 5
    assert count_flops(torch.dot, vector, vector) == 2 * 5
    assert count_flops(torch.addmv, torch.ones(3), matrix, vector) == 2 * 3 * 5
    assert count_flops(torch.matmul, torch.ones(2, 3, 5), vector) == 2 * 2 * 3 * 5
