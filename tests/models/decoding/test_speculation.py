"""Speculative decoding: the law of one round, greedy text token by token, and what it refuses."""

import math

import pytest
import torch
from torch import Tensor

from course_utils.models import (
    bigram_scores,
    generate,
    speculative_accept,
    speculative_decode,
)
from tests.models.small_gpt import TOKENS, draw, small

DRAWS = 20_000
# The values that a chi-square variable exceeds once in a thousand times, by degrees of freedom.
ONCE_IN_1000 = {4: 18.47, 15: 37.70}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def two_distributions(count: int, size: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    g = seeded(seed)
    drawn = torch.randn(2 * count + 1, size, generator=g, dtype=torch.float64).softmax(-1)
    return drawn[:count], drawn[count:]


def chi_square(counts: Tensor, chances: Tensor) -> float:
    expected = chances.flatten() * counts.sum()
    assert expected.min() > 5
    return ((counts.flatten() - expected).square() / expected).sum().item()


def rounds(q: Tensor, p: Tensor, seed: int) -> list[list[int]]:
    """Return the first tokens of many rounds, as many as are always written."""
    g, count, texts = seeded(seed), len(q), []
    guesses = torch.stack([torch.multinomial(row, DRAWS, True, generator=g) for row in q], 1)
    uniforms = torch.rand(DRAWS, count + 1, generator=g, dtype=p.dtype)
    for guess, u in zip(guesses, uniforms, strict=True):
        accepted, token = speculative_accept(guess, q, p, u)
        texts.append([*guess[:accepted].tolist(), token])
    return texts


@pytest.mark.thorough
def test_one_round_writes_the_target_s_token_whatever_the_draft() -> None:
    q, p = two_distributions(1, 5)
    texts = rounds(q, p, seed=1)
    first = torch.tensor([text[0] for text in texts]).bincount(minlength=5)
    assert chi_square(first, p[0]) < ONCE_IN_1000[4]
    share = sum(len(text) == 2 for text in texts) / DRAWS
    assert abs(share - torch.minimum(p[0], q[0]).sum()) < 4 * math.sqrt(0.25 / DRAWS)
    assert chi_square(first, q[0]) > 10 * ONCE_IN_1000[4]  # and a draft's text would be noticed


@pytest.mark.thorough
def test_two_guesses_leave_pairs_as_the_target_has_them() -> None:
    q, p = two_distributions(2, 4, seed=3)
    pairs = torch.zeros(4, 4)
    for text in rounds(q, p, seed=2):
        if len(text) > 1:
            pairs[text[0], text[1]] += 1
    # Where the first guess stayed, its share is min(p, q); the second token is then the target's.
    stayed = torch.minimum(p[0], q[0])
    joint = (stayed / stayed.sum())[:, None] * p[1]
    assert chi_square(pairs, joint) < ONCE_IN_1000[15]


def test_a_decoded_text_has_the_target_s_law() -> None:
    model = small(num_layers=1)
    table = torch.randn(TOKENS, TOKENS, generator=seeded(5), dtype=torch.float64)
    prompt = torch.tensor([[3, 7]])
    g, counts = seeded(4), torch.zeros(TOKENS, TOKENS)
    first = model.logits(prompt)[0, -1].softmax(-1)
    both = torch.stack([prompt[0].new_tensor([3, 7, token]) for token in range(TOKENS)])
    then = model.logits(both)[:, -1].softmax(-1)
    want = (first[:, None] * then).detach()
    draws = 600
    for _ in range(draws):
        text = speculative_decode(
            model, lambda tokens: table[tokens[:, -1]], prompt, 2, gamma=2, generator=g
        ).tokens[0]
        counts[text[0], text[1]] += 1
    # Pairs too rare to be judged alone are judged together.
    rare = (want * draws < 8).flatten()
    expected = torch.cat([want.flatten()[~rare], want.flatten()[rare].sum()[None]]) * draws
    seen = torch.cat([counts.flatten()[~rare], counts.flatten()[rare].sum()[None]])
    statistic = ((seen - expected).square() / expected).sum().item()
    freedom = len(seen) - 1
    # Wilson and Hilferty's approximation of the same quantile.
    bound = freedom * (1 - 2 / (9 * freedom) + 3.09 * math.sqrt(2 / (9 * freedom))) ** 3
    assert statistic < bound


@pytest.mark.parametrize("gamma", [1, 2, 3, 7])
@pytest.mark.parametrize("length", [1, 4])
@pytest.mark.parametrize("kind", ["itself", "another", "a table"])
def test_greedy_text_is_the_target_s_own_token_by_token(kind, length, gamma) -> None:
    target, prompt = small(positions="rope"), draw(1, length)
    table = torch.randn(TOKENS, TOKENS, generator=seeded(1))
    other = small(positions="rope", num_layers=1)
    draft = {"itself": target, "another": other, "a table": lambda t: table[t[:, -1]]}[kind]
    want = generate(target, prompt, 14, temperature=0.0)
    got = speculative_decode(target, draft, prompt, 14, gamma=gamma, greedy=True)
    assert torch.equal(got.tokens, want)
    assert 14 <= got.num_accepted + got.num_calls <= 14
    if kind == "itself":
        assert got.acceptance == 1
        assert got.num_calls == math.ceil(14 / (gamma + 1))


def test_every_token_is_read_once_by_both_apart_from_those_refused() -> None:
    target, draft = small(positions="rope"), small(positions="rope", num_layers=1)
    read: dict[str, int] = {"target": 0, "draft": 0}
    for name, model in (("target", target), ("draft", draft)):
        model.token.register_forward_hook(
            lambda module, given, out, name=name: read.__setitem__(
                name, read[name] + given[0].shape[1]
            )
        )
    got = speculative_decode(target, draft, draw(1, 3), 12, gamma=3, generator=seeded())
    assert got.num_calls < 12
    assert read["target"] <= 3 + 12 + 3 * got.num_calls
    assert read["draft"] <= 3 + 12 + 3 * got.num_calls


def test_a_seed_decides_the_text_and_no_tokens_are_allowed() -> None:
    target, prompt = small(), draw(1, 4)
    once = speculative_decode(target, target, prompt, 9, gamma=2, generator=seeded())
    again = speculative_decode(target, target, prompt, 9, gamma=2, generator=seeded())
    assert torch.equal(once.tokens, again.tokens)
    none = speculative_decode(target, target, prompt, 0, gamma=2)
    assert none.tokens.shape == (1, 0)
    assert math.isnan(none.acceptance)


def test_a_window_serves_until_it_has_forgotten() -> None:
    wide, narrow = small(window=18, positions="rope"), small(window=4, positions="rope")
    table = torch.zeros(1, TOKENS)
    want = generate(wide, draw(1, 3), 12, temperature=0.0)
    got = speculative_decode(wide, lambda t: table, draw(1, 3), 12, gamma=2, greedy=True)
    assert torch.equal(got.tokens, want)
    with pytest.raises(ValueError, match="was displaced"):
        speculative_decode(narrow, lambda t: table, draw(1, 3), 12, gamma=2, greedy=True)


HALVES, OTHER = torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[0.125, 0.375, 0.5]])


@pytest.mark.parametrize(
    ("uniforms", "want"),
    [
        ((0.25, 0.0), (0, 1)),  # 0.25 = p/q refuses; the residual is (0, .125, .25)
        ((0.2490234375, 0.0), (1, 0)),
        ((0.75, 0.25), (0, 1)),
        ((0.75, 0.34375), (0, 2)),
        ((0.0, 0.9990234375), (1, 2)),
    ],
)
def test_equalities_are_decided_as_written(uniforms, want) -> None:
    p = torch.cat([OTHER, HALVES])
    got = speculative_accept(torch.tensor([0]), HALVES, p, torch.tensor(uniforms))
    assert got == want
    assert all(type(one) is int for one in got)


def test_what_can_never_be_never_is() -> None:
    p = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert speculative_accept(torch.tensor([0]), HALVES, p, torch.zeros(2)) == (0, 1)
    assert speculative_accept(torch.tensor([1]), HALVES, p, torch.zeros(2)) == (1, 2)
    same = torch.tensor([[0.3, 0.7]])
    less = same - torch.tensor([[1e-7, 0.0]])
    almost = torch.tensor([0.99999997, 0.5])
    assert speculative_accept(torch.tensor([0]), same, torch.cat([less, same]), almost)[1] in (0, 1)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"prompt": torch.zeros(2, 3).long()}, ValueError, r"axes \(1, P\) with P > 0, got"),
        ({"prompt": torch.zeros(1, 0).long()}, ValueError, r"axes \(1, P\) with P > 0, got"),
    ],
)
def test_a_loop_that_cannot_be_is_refused(changed, error, message) -> None:
    given = {"target": small(), "draft": small(), "prompt": draw(1, 3), "num_tokens": 3, "gamma": 2}
    with pytest.raises(error, match=message):
        speculative_decode(**(given | changed))


def test_bigrams_are_counted() -> None:
    table = bigram_scores(torch.tensor([0, 1, 0, 1, 2]), 4, unseen=0.5).exp()
    torch.testing.assert_close(table[0], torch.tensor([0.5, 2.5, 0.5, 0.5]) / 4)
    torch.testing.assert_close(table[1], torch.tensor([1.5, 0.5, 1.5, 0.5]) / 4)
    torch.testing.assert_close(table[3], torch.full((4,), 0.25))
    with pytest.raises(ValueError, match="unseen must be a positive number"):
        bigram_scores(torch.tensor([0, 1]), 4, unseen=0)
