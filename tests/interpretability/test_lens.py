import pytest
import torch
from torch.nn import functional as F

from course_utils.interpretability import logit_lens
from tests.support import draw

EPS = 1e-5


@pytest.mark.parametrize("leading", [(), (4,), (2, 3)])
@pytest.mark.peer(
    "20",
    "`logit_lens`",
    "`torch.nn.functional.rms_norm` + `cross_entropy`",
    "float64 1e-7",
    "ranks, log-probabilities",
)
def test_it_is_the_last_norm_and_the_loss_of_the_token(leading: tuple[int, ...]) -> None:
    states, gain, unembed = draw(*leading, 6), draw(6, seed=1), 3 * draw(9, 6, seed=2)
    rank, log_prob = logit_lens(states, gain, unembed, 4, EPS)
    logits = (F.rms_norm(states, (6,), gain, EPS) @ unembed.mT).view(-1, 9)
    losses = F.cross_entropy(logits, torch.full((len(logits),), 4), reduction="none")
    torch.testing.assert_close(log_prob, -losses.view(leading))
    places = logits.argsort(descending=True).eq(4).nonzero()[:, 1]  # no two logits are equal
    assert torch.equal(rank, places.view(leading))


def test_it_is_a_loop_over_the_words() -> None:
    state, gain, unembed = draw(5), draw(5, seed=1), draw(7, 5, seed=2)
    size = (sum(x * x for x in state) / 5 + EPS) ** 0.5
    scores = [sum(h / size * g * w for h, g, w in zip(state, gain, row)) for row in unembed]  # noqa: B905
    for token, own in enumerate(scores):
        rank, log_prob = logit_lens(state, gain, unembed, token, EPS)
        assert rank.item() == sum(one > own for one in scores)
        total = sum(one.exp() for one in scores)
        assert log_prob.item() == pytest.approx((own.exp() / total).log().item())


def test_equal_scores_share_a_rank_and_large_ones_have_a_logarithm() -> None:
    unembed = torch.tensor([[1.0, 0.0], [2.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 0.0]])
    state, gain = torch.tensor([1.0, 1.0]), torch.tensor([1e4, 1.0])
    found = [logit_lens(state, gain, unembed, token, EPS) for token in range(5)]
    assert [rank.item() for rank, _ in found] == [2, 0, 2, 0, 4]
    assert found[0][0].dtype == torch.long
    logs = torch.stack([log_prob for _, log_prob in found])
    torch.testing.assert_close(logs[[1, 3]], -torch.tensor([2.0, 2.0]).log())
    assert logs[4].item() == pytest.approx(-2e4, rel=1e-3)


def test_what_does_not_fit_is_refused() -> None:
    states, gain, unembed = draw(3, 4), draw(4), draw(5, 4)
    for wrong in ((draw(3), unembed), (gain, draw(5, 3)), (gain, draw(4))):
        with pytest.raises(
            ValueError, match=r"gain and unembed must have shapes \(4,\) and \(V, 4"
        ):
            logit_lens(states, *wrong, 0, EPS)
    for token in (-1, 5):
        with pytest.raises(ValueError, match=rf"token must be in 0 … 4, got {token}"):
            logit_lens(states, gain, unembed, token, EPS)
