import pytest
import torch
from torch import Tensor, nn

from course_utils.attention import additive_score, concat_score, dot_score, general_score
from course_utils.measure import count_flops
from course_utils.models import (
    AdditiveScore,
    AttentionContext,
    ConcatScore,
    Encoded,
    FixedContext,
    GeneralScore,
    LocalMonotonicContext,
    LocalPredictiveContext,
)

WIDTH = 6


def encoded(batch: int = 2, length: int = 5) -> Encoded:
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(batch, length, WIDTH, generator=generator)
    summary = torch.randn(batch, WIDTH, generator=generator)
    mask = torch.ones(batch, length, dtype=torch.bool)
    mask[0, 3:] = False
    return Encoded(states, summary, mask)


def state(batch: int = 2) -> Tensor:
    return torch.randn(batch, WIDTH, generator=torch.Generator().manual_seed(1))


def scored(*, kind: str) -> nn.Module:
    torch.manual_seed(0)
    return {
        "dot": lambda: AttentionContext(dot_score),
        "general": lambda: AttentionContext(GeneralScore(WIDTH, WIDTH)),
        "concat": lambda: AttentionContext(ConcatScore(WIDTH, WIDTH, 4)),
        "additive": lambda: AttentionContext(AdditiveScore(WIDTH, WIDTH, 4)),
        "local-m": lambda: LocalMonotonicContext(dot_score, half_width=1),
        "local-p": lambda: LocalPredictiveContext(dot_score, WIDTH, half_width=2),
    }[kind]()


KINDS = ("dot", "general", "concat", "additive", "local-m", "local-p")


def test_a_fixed_context_is_the_summary_at_every_step() -> None:
    context, read = FixedContext(), encoded()
    memory = context.remember(read)
    for number in range(3):
        vector, weights = context(state() * number, memory, number)
        assert torch.equal(vector, read.summary)
        assert weights is None


@pytest.mark.parametrize("kind", KINDS)
def test_the_context_is_the_weighted_average_and_padding_has_no_part(kind: str) -> None:
    context, read = scored(kind=kind), encoded()
    vector, weights = context(state(), context.remember(read), 2)
    assert weights.shape == (2, 5)
    torch.testing.assert_close(vector, torch.einsum("bs,bsd->bd", weights, read.states))
    assert torch.equal(weights[0, 3:], torch.zeros(2))
    if kind != "local-p":
        torch.testing.assert_close(weights.sum(dim=1), torch.ones(2))


@pytest.mark.parametrize("kind", KINDS)
def test_what_padding_holds_changes_nothing(kind: str) -> None:
    context, read = scored(kind=kind), encoded()
    changed = read.states.masked_fill(~read.mask.unsqueeze(-1), 50.0)
    before, _ = context(state(), context.remember(read), 1)
    after, _ = context(state(), context.remember(read._replace(states=changed)), 1)
    torch.testing.assert_close(before, after)


def test_local_monotonic_sees_the_window_around_its_step() -> None:
    context = scored(kind="local-m")
    for number, seen in ((0, [0, 1]), (3, [2, 3, 4])):
        _, weights = context(state(), context.remember(encoded()), number)
        assert weights[1].nonzero().flatten().tolist() == seen


def test_local_predictive_trains_its_centre() -> None:
    context = scored(kind="local-p")
    vector, weights = context(state(), context.remember(encoded()), 0)
    assert bool((weights.sum(dim=1) < 1).all())
    vector.sum().backward()
    assert float(context.W_p.grad.norm()) > 0
    assert float(context.v_p.grad.norm()) > 0


def test_scores_with_parameters_are_the_functions_of_the_course() -> None:
    query, key = state().unsqueeze(1), encoded().states
    general, concat = GeneralScore(WIDTH, WIDTH), ConcatScore(WIDTH, WIDTH, 4)
    additive = AdditiveScore(WIDTH, WIDTH, 4)
    torch.testing.assert_close(general(query, key), general_score(query, key, general.W))
    torch.testing.assert_close(concat(query, key), concat_score(query, key, concat.W, concat.v))
    torch.testing.assert_close(
        additive(query, additive.project(key)),
        additive_score(query, key, additive.W_q, additive.W_k, additive.v),
    )


def test_additive_projects_the_keys_once_a_sentence_and_concat_at_every_step() -> None:
    read, steps = encoded(), 7

    def flops(kind: str) -> int:
        context = scored(kind=kind)

        def sentence() -> None:
            memory = context.remember(read)
            for number in range(steps):
                context(state(), memory, number)

        return count_flops(sentence)

    one_projection_of_the_keys = 2 * 2 * 5 * WIDTH * 4
    assert flops("concat") - flops("additive") == (steps - 1) * one_projection_of_the_keys


def test_any_function_plugs_in_as_a_score() -> None:
    context = AttentionContext(lambda query, key: query.new_zeros(2, 1, key.shape[1]))
    _, weights = context(state(), context.remember(encoded()), 0)
    torch.testing.assert_close(weights[1], torch.full((5,), 0.2))
