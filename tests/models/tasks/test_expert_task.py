"""Experts on data of eight kinds: what is drawn, what a router gives, what is judged."""

import pytest
import torch

from course_utils.models.tasks.expert_task import (
    KINDS,
    SPREAD,
    WIDTH,
    Experts,
    ExpertTask,
    feed_forward,
    judge_experts,
    train_experts,
)


def test_each_kind_is_mapped_by_a_matrix_of_its_own() -> None:
    task = ExpertTask(3)
    x, wanted, kind = task.draw(500, torch.Generator().manual_seed(0))
    assert x.shape == wanted.shape == (500, WIDTH)
    assert set(kind.tolist()) == set(range(KINDS))
    for number in (0, 499):
        torch.testing.assert_close(wanted[number], x[number] @ task.maps[kind[number]])
    assert ((x - task.centres[kind]).std() - SPREAD).abs() < 0.01
    again, _, _ = ExpertTask(3).draw(500, torch.Generator().manual_seed(0))
    assert torch.equal(x, again)


def test_one_expert_is_weighed_by_the_softmax_over_all_and_two_renormalised() -> None:
    torch.manual_seed(0)
    x = torch.randn(5, WIDTH)
    for k in (1, 2):
        model = Experts(k)
        out, logits, index = model(x)
        share = logits.softmax(-1).gather(-1, index)
        share = share if k == 1 else share / share.sum(-1, keepdim=True)
        rows = [
            sum(g * model.experts[e](row) for e, g in zip(chosen, gates, strict=True))
            for row, chosen, gates in zip(x, index.tolist(), share, strict=True)
        ]
        torch.testing.assert_close(out, torch.stack(rows))
        out.square().sum().backward()
        assert model.router.weight.grad.abs().sum() > 0


def test_at_least_one_expert_is_asked_for() -> None:
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        Experts(0)


def test_a_router_that_sends_all_to_one_is_judged_so() -> None:
    torch.manual_seed(0)
    model = Experts(1)
    judged = judge_experts(model, ExpertTask(), 64)
    assert set(judged) == {"error", "balance", "dropped", "idle"}
    with torch.no_grad():
        model.router.weight.zero_()  # ties: the softmax is even, one expert is taken
    judged = judge_experts(model, ExpertTask(), 64)
    assert judged["dropped"] == pytest.approx(1 - 1.25 / KINDS)
    assert judged["idle"] == KINDS - 1
    assert judged["balance"] == pytest.approx(1)


def test_a_dense_layer_is_judged_by_its_error_alone() -> None:
    layer = feed_forward(4)
    for weight in layer.parameters():
        torch.nn.init.zeros_(weight)
    assert judge_experts(layer, ExpertTask(), 32) == {"error": pytest.approx(1)}


def test_training_lowers_the_loss_and_its_seed_decides_it() -> None:
    def losses(balance: float) -> list[float]:
        torch.manual_seed(0)
        return train_experts(Experts(2), ExpertTask(), balance=balance, steps=12)

    plain = losses(0.0)
    assert plain == losses(0.0)
    assert plain[-1] < plain[0]
    assert losses(1.0)[0] == pytest.approx(plain[0] + 1, abs=0.5)
