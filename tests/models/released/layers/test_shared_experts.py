"""Experts that a router with a bias chooses in groups, beside a part that all tokens share."""

import pytest
import torch
from torch import nn

from course_utils.models.released.layers.shared_experts import SharedExperts, SigmoidRouter


def made(**more) -> SigmoidRouter:
    torch.manual_seed(0)
    router = SigmoidRouter(4, 6, 3, **more).double()
    nn.init.normal_(router.weight)
    nn.init.normal_(router.e_score_correction_bias)
    return router


@pytest.mark.parametrize("shared_out", [True, False])
def test_the_router_is_a_loop_over_tokens(shared_out) -> None:
    router = made(groups=3, kept_groups=2, factor=1.7, shared_out=shared_out)
    x = torch.randn(9, 4, dtype=torch.float64)
    index, gates = router(x)
    for row, chosen, shares in zip(x, index.tolist(), gates.tolist(), strict=True):
        scores = [1 / (1 + (-(row @ w)).exp().item()) for w in router.weight]
        biased = [
            s + b for s, b in zip(scores, router.e_score_correction_bias.tolist(), strict=True)
        ]
        worth = [sum(biased[2 * group : 2 * group + 2]) for group in range(3)]
        lost = worth.index(min(worth))
        allowed = [e for e in range(6) if e // 2 != lost]
        best = sorted(allowed, key=lambda e: -biased[e])[:3]
        assert set(chosen) == set(best)
        total = sum(scores[e] for e in best) if shared_out else 1.0
        wanted = [1.7 * scores[e] / total for e in chosen]
        assert shares == pytest.approx(wanted)


def test_the_bias_chooses_and_does_not_weigh() -> None:
    router, x = made(), torch.randn(5, 4, dtype=torch.float64)
    with torch.no_grad():
        router.e_score_correction_bias += 100.0
        index, gates = router(x)
        router.e_score_correction_bias -= 100.0
        same, wanted = router(x)
    assert torch.equal(index, same)
    torch.testing.assert_close(gates, wanted)
    assert not any(name == "e_score_correction_bias" for name, _ in router.named_parameters())


def test_the_shared_part_is_added_for_all_tokens() -> None:
    layer, x = SharedExperts(4, 3, made(), 5).double(), torch.randn(2, 3, 4, dtype=torch.float64)
    wanted = layer.shared(x)
    index, gates = layer.router(x.flatten(0, 1))
    for place in range(6):
        for expert, share in zip(index[place].tolist(), gates[place], strict=True):
            wanted.view(6, 4)[place] += share * layer.experts[expert](x.view(6, 4)[place])
    torch.testing.assert_close(layer(x), wanted)


@pytest.mark.parametrize("groups", [4, 6])
def test_groups_that_are_unequal_or_of_one_are_refused(groups) -> None:
    with pytest.raises(ValueError, match=f"at least two of the 6 experts, got {groups} groups"):
        made(groups=groups)
