"""Objectives on cases that can be counted by hand."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from course_utils.models import causal_lm_loss, label_smoothed_loss, mask_tokens


def predictions(*shape: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(seed)
    logits = torch.randn(shape, generator=g, dtype=torch.float64).requires_grad_()
    return logits, torch.randint(shape[-1], shape[:2], generator=g)


def test_position_t_predicts_token_t_plus_1() -> None:
    logits, tokens = predictions(2, 6, 5)
    tokens[0, 4:] = 0
    want = label_smoothed_loss(logits[:, :-1], tokens[:, 1:], 0.0, 0)
    torch.testing.assert_close(causal_lm_loss(logits, tokens, 0), want)


def test_a_model_that_knows_the_next_token_loses_nothing() -> None:
    tokens = torch.tensor([[1, 2, 0, 3]])
    logits = 1e4 * torch.nn.functional.one_hot(tokens.roll(-1, 1), 4).double()
    assert causal_lm_loss(logits, tokens, -1).item() == 0.0
    assert causal_lm_loss(torch.zeros(1, 4, 4), tokens, -1).item() == pytest.approx(math.log(4))


@pytest.mark.parametrize("steps", [1, 4])
def test_nothing_to_predict_is_no_loss_and_no_gradient(steps) -> None:
    logits, _ = predictions(2, steps, 5)
    tokens = torch.zeros(2, steps, dtype=torch.long)
    for loss in (causal_lm_loss(logits, tokens, 0), label_smoothed_loss(logits, tokens, 0.1, 0)):
        assert loss.item() == 0.0
        assert not torch.autograd.grad(loss, logits)[0].any()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x, y: causal_lm_loss(x, y + 9, 0), ValueError, "from 0 to 3, or pad_id 0, got"),
        (lambda x, y: label_smoothed_loss(x, y, 1.2, 0), ValueError, "from 0 to 1, got 1.2"),
    ],
)
def test_what_does_not_fit_is_named(call, error, message) -> None:
    logits, target = predictions(2, 3, 4)
    with pytest.raises(error, match=message):
        call(logits, target)


def hidden(tokens: Tensor, special: list[int], seed: int = 0) -> tuple[Tensor, Tensor]:
    return mask_tokens(tokens, 99, 100, special, torch.Generator().manual_seed(seed))


def test_masking_selects_15_percent_and_hides_80_10_10_of_them() -> None:
    tokens = torch.randint(5, 90, (400, 100), generator=torch.Generator().manual_seed(1))
    inputs, labels = hidden(tokens, [0])
    selected = labels != -100
    among = inputs[selected]
    found = [
        selected.double().mean(),
        (among == 99).double().mean(),
        (among == tokens[selected]).double().mean(),
    ]
    # A drawn id is [MASK], or the token itself, once in a hundred times.
    for share, expected, count in zip(
        found, (0.15, 0.801, 0.101), (40000, 6000, 6000), strict=True
    ):
        assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / count)
    assert torch.equal(labels[selected], tokens[selected])
    assert torch.equal(inputs[~selected], tokens[~selected])


def test_special_tokens_are_left_alone_and_the_seed_decides() -> None:
    tokens = torch.randint(0, 6, (30, 40), generator=torch.Generator().manual_seed(2))
    before = tokens.clone()
    inputs, labels = hidden(tokens, [0, 5, 77])
    special = (tokens == 0) | (tokens == 5)
    assert (labels[special] == -100).all()
    assert torch.equal(inputs[special], tokens[special])
    assert all(
        torch.equal(*pair)
        for pair in zip(hidden(tokens, [0, 5, 77]), (inputs, labels), strict=True)
    )
    assert not torch.equal(hidden(tokens, [0, 5, 77], seed=3)[1], labels)
    assert torch.equal(tokens, before)


def test_every_id_replaces_a_token_special_ones_and_itself_too() -> None:
    tokens = torch.ones(300, 100, dtype=torch.long)
    inputs, labels = mask_tokens(tokens, 3, 3, [0], torch.Generator().manual_seed(0))
    shown = inputs[(labels != -100) & (inputs != 3)].bincount(minlength=3).double()
    torch.testing.assert_close(
        shown / shown.sum(), torch.tensor([1, 4, 1]).double() / 6, atol=0.06, rtol=0
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
def test_a_class_that_is_forbidden_is_as_torch_has_it(smoothing) -> None:
    logits, target = predictions(2, 5, 6)
    target = target.clamp(max=4)
    forbidden = logits.detach().clone()
    forbidden[..., 5] = -math.inf
    forbidden.requires_grad_()
    found = label_smoothed_loss(forbidden, target, smoothing, -100)
    peer = F.cross_entropy(forbidden.mT, target, label_smoothing=smoothing)
    torch.testing.assert_close(found, peer)
    if not smoothing:
        torch.testing.assert_close(*(torch.autograd.grad(x, forbidden)[0] for x in (found, peer)))
        shifted = torch.cat([target[:, :1], target], dim=1)[:, :5]
        assert causal_lm_loss(forbidden, shifted, -100).isfinite()
