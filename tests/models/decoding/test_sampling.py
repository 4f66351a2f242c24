import pytest
import torch

from course_utils.models import draw_tokens, token_probabilities

LOGITS = torch.tensor([[2.0, 0.0, 1.0, -1.0], [0.0, 3.0, 0.5, 0.4]], dtype=torch.float64)


def test_temperature_divides_the_scores() -> None:
    torch.testing.assert_close(
        token_probabilities(LOGITS, temperature=0.5), (2 * LOGITS).softmax(dim=-1)
    )


def test_temperature_0_leaves_the_first_of_the_likeliest() -> None:
    logits = torch.tensor([[1.0, 4.0, 4.0], [0.0, -1.0, 0.0]])
    assert token_probabilities(logits, temperature=0.0).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert draw_tokens(logits, temperature=0.0).tolist() == [1, 0]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("temperature", [1e-5, 1e-40, 1e-300])
def test_a_temperature_near_0_leaves_the_likeliest(temperature, dtype) -> None:
    logits = torch.tensor([[1.0, 2.0, 3.0], [-9.0, 0.5, 0.5]], dtype=dtype)
    found = token_probabilities(logits, temperature=temperature, top_k=2, top_p=0.9)
    assert found.tolist() == [[0, 0, 1], [0, 0.5, 0.5]]
    g = torch.Generator().manual_seed(0)
    assert draw_tokens(logits[:1], g, temperature=temperature).tolist() == [2]


def test_top_k_keeps_the_likeliest_in_their_proportions() -> None:
    kept = token_probabilities(LOGITS, top_k=2)
    assert (kept > 0).tolist() == [[True, False, True, False], [False, True, True, False]]
    torch.testing.assert_close(kept[0, 0] / kept[0, 2], torch.tensor(1.0).double().exp())
    torch.testing.assert_close(kept.sum(dim=-1), torch.ones(2).double())
    torch.testing.assert_close(token_probabilities(LOGITS, top_k=9), LOGITS.softmax(dim=-1))


def test_top_p_keeps_the_fewest_that_reach_the_share() -> None:
    chances = torch.tensor([[0.15, 0.5, 0.3, 0.05]], dtype=torch.float64)
    for share, kept in ((0.4, 1), (0.6, 2), (0.79, 2), (0.81, 3), (1.0, 4)):
        found = token_probabilities(chances.log(), top_p=share)
        assert int((found > 0).sum()) == kept
        assert found.argmax() == 1
    torch.testing.assert_close(found, chances)


def test_a_tiny_share_still_leaves_one_token() -> None:
    assert (token_probabilities(LOGITS, top_p=1e-9) > 0).sum(dim=-1).tolist() == [1, 1]


def test_top_p_counts_its_share_among_the_top_k() -> None:
    chances = torch.tensor([[0.4, 0.3, 0.2, 0.1]])
    kept = token_probabilities(chances.log(), top_k=2, top_p=0.5)
    assert (kept > 0).tolist() == [[True, False, False, False]]  # 0.4 of 0.7 is above a half


def test_draws_have_the_probabilities() -> None:
    generator = torch.Generator().manual_seed(0)
    many = LOGITS[:1].expand(20000, -1)
    drawn = draw_tokens(many, generator, temperature=1.3, top_k=3).bincount(minlength=4) / 20000
    want = token_probabilities(LOGITS[0:1], temperature=1.3, top_k=3)[0].float()
    assert (drawn - want).abs().max() < 4 * (0.25 / 20000) ** 0.5


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"temperature": -0.1}, "temperature must be at least 0 and finite, got -0.1"),
        ({"temperature": float("nan")}, "temperature must be at least 0 and finite, got nan"),
        ({"temperature": float("inf")}, "temperature must be at least 0 and finite, got inf"),
        ({"top_p": 0.0}, "top_p must be above 0 and at most 1, got 0.0"),
        ({"top_p": 1.1}, "top_p must be above 0 and at most 1, got 1.1"),
    ],
)
def test_impossible_choices_are_refused(choice, message) -> None:
    with pytest.raises(ValueError, match=message):
        token_probabilities(LOGITS, **choice)
