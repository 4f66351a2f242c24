"""The models of chapter 13, and what is measured of them."""

import math

import pytest
import torch

from course_utils.attention import causal_mask
from course_utils.data.two_languages import draw_documents
from course_utils.interpretability import gradient_attention, rank_correlation
from course_utils.models import SmallTransformer
from course_utils.models.tasks import induction
from course_utils.models.tasks.head_values import head_values
from course_utils.models.tasks.other_weights import (
    adversarial_weights,
    divergence,
    even_weights,
    shuffled_weights,
    total_variation,
)
from course_utils.models.tasks.pooled_classifier import PooledClassifier
from course_utils.models.tasks.rankings import added_up, mean_agreement, slopes, token_rankings
from course_utils.models.tasks.text_classifier import TextClassifier, train_classifier

DOCUMENTS = draw_documents(6, torch.Generator().manual_seed(0))


@pytest.fixture
def classifier() -> TextClassifier:
    torch.manual_seed(0)
    return TextClassifier()


def test_training_is_watched_before_every_step_and_after_the_last() -> None:
    seen: list[int] = []
    model = induction.induction_model(0)
    losses = induction.train_induction(model, steps=3, seed=0, watch=seen.append)
    assert (len(losses), seen) == (3, [0, 1, 2, 3])


@pytest.mark.parametrize("heads", [1, 4])
def test_scores_are_those_of_the_weights_without_the_start_token(heads: int) -> None:
    model = induction.induction_model(1, num_heads=heads)
    scores = induction.circuit_scores(model, sequences=5)
    tokens = induction.judged_segments(5)[:, :-1]
    for layer, weights in enumerate(model.weights(tokens, causal_mask(48, 48))):
        places = range(21, 48)  # query 1 + i looks at 1 + i - 20 + 1
        matched = torch.stack([weights[:, :, i, i - 19] for i in places]).mean(dim=(0, 1))
        torch.testing.assert_close(scores["induction"][layer], matched)
        before = torch.stack([weights[:, :, i, i - 1] for i in range(2, 48)]).mean(dim=(0, 1))
        torch.testing.assert_close(scores["previous"][layer], before)
        rest = weights[:, :, 2:21, 0].mean(dim=(0, 2))
        torch.testing.assert_close(scores["start, first copy"][layer], rest)


def test_the_judged_symbols_are_those_whose_one_before_was_seen() -> None:
    class Copy(SmallTransformer):
        """Knows the answer wherever the symbol that it reads stood a period before."""

        def forward(self, tokens, attn_mask=None, keep=None):
            wanted = torch.zeros_like(tokens)
            wanted[:, 21:] = tokens[:, 2:-19]
            return torch.nn.functional.one_hot(wanted, 33).float()

    assert (
        induction.later_copies_right(Copy(33, d_model=2, num_heads=1, num_layers=1, max_length=49))
        == 1.0
    )


def test_a_row_is_read_by_itself_and_padding_changes_nothing(classifier: TextClassifier) -> None:
    tokens, mask = DOCUMENTS.tokens, DOCUMENTS.mask
    whole = classifier.predict(tokens, mask)
    other = tokens.masked_fill(~mask, 5)
    torch.testing.assert_close(classifier.predict(other, mask), whole)
    torch.testing.assert_close(classifier.predict(tokens[2:3], mask[2:3]), whole[2:3])
    assert classifier.predict(tokens, torch.zeros_like(mask)).isfinite().all()


def test_slopes_are_those_of_the_predicted_score(classifier: TextClassifier) -> None:
    classifier.double()
    layers, gradients, with_input = slopes(classifier, DOCUMENTS)
    scores, graph = classifier.explain(DOCUMENTS.tokens, DOCUMENTS.mask)
    wanted = torch.autograd.grad(scores.amax(dim=-1).sum(), graph)
    torch.testing.assert_close(layers, [one.detach() for one in graph])
    torch.testing.assert_close(gradients, list(wanted))
    assert with_input.shape == DOCUMENTS.tokens.shape
    torch.testing.assert_close(
        with_input[~DOCUMENTS.mask], torch.zeros(int((~DOCUMENTS.mask).sum())).double()
    )


def test_rankings_agree_with_themselves_over_the_words_alone(classifier: TextClassifier) -> None:
    said = token_rankings(classifier, DOCUMENTS, flows=2)
    left = said["leave-one-out"]
    assert len(said["flow"]) == 2
    assert mean_agreement(left, left, DOCUMENTS.mask) == pytest.approx(1)
    first = rank_correlation(
        said["rollout"][0, 1:][DOCUMENTS.mask[0, 1:]].double(),
        left[0, 1:][DOCUMENTS.mask[0, 1:]].double(),
    )
    assert mean_agreement(said["rollout"][:1], left, DOCUMENTS.mask) == pytest.approx(first.item())


def test_added_up_is_gradient_attention_where_nothing_is_below_0(
    classifier: TextClassifier,
) -> None:
    layers, gradients, _ = slopes(classifier, DOCUMENTS)
    above = [one.abs() for one in gradients]
    torch.testing.assert_close(added_up(layers, above), gradient_attention(layers, above))
    signed = added_up(layers, gradients)
    assert (signed < 0).any()
    assert not torch.allclose(signed, gradient_attention(layers, gradients))


def test_values_are_what_the_heads_average(classifier: TextClassifier) -> None:
    x: list[torch.Tensor] = []
    hook = classifier.blocks[1].attention.out_proj.register_forward_pre_hook(
        lambda module, given: x.append(given[0])
    )
    values = head_values(classifier, DOCUMENTS.tokens, DOCUMENTS.mask[:, None, None])
    hook.remove()
    weights = classifier.weights(DOCUMENTS.tokens, DOCUMENTS.mask[:, None, None])
    found = (weights[1] @ values[1]).transpose(1, 2).flatten(-2)
    torch.testing.assert_close(found, x[0])
    assert not classifier.blocks[0].attention_norm._forward_hooks


@pytest.mark.parametrize("encoder", ["words", "lstm"])
def test_pooled_models_average_with_their_weights_and_ignore_padding(encoder: str) -> None:
    torch.manual_seed(0)
    model = PooledClassifier(encoder)
    tokens, mask = DOCUMENTS.tokens[:, 1:], DOCUMENTS.mask[:, 1:]
    vectors = model.encode(model.embed(tokens), mask)
    weights = model.weights(vectors, mask)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(6))
    assert (weights[~mask] == 0).all()
    torch.testing.assert_close(model.classify(weights, vectors), model(tokens, mask))
    torch.testing.assert_close(model(tokens.masked_fill(~mask, 9), mask), model(tokens, mask))


def test_another_encoder_is_said() -> None:
    with pytest.raises(ValueError, match='encoder must be "words" or "lstm", got \'gru\''):
        PooledClassifier("gru")


def test_divergence_is_symmetric_and_at_most_ln_2() -> None:
    p, q = torch.eye(3)[:2]
    assert divergence(p, q).item() == pytest.approx(math.log(2))
    assert divergence(p, p).item() == 0
    a, b = torch.rand(2, 5, 4).softmax(dim=-1)
    torch.testing.assert_close(divergence(a, b), divergence(b, a))
    assert total_variation(p, q).item() == 1


def test_even_weights_are_equal_on_real_words_and_sum_to_1() -> None:
    mask = DOCUMENTS.mask[:, 1:]
    weights = even_weights(mask)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(6))
    assert (weights[~mask] == 0).all()
    torch.testing.assert_close(
        weights[0][mask[0]], torch.full((int(mask[0].sum()),), 1.0) / mask[0].sum()
    )


def test_shuffled_weights_are_the_same_ones_on_real_words() -> None:
    mask = DOCUMENTS.mask[:, 1:]
    weights = torch.rand(mask.shape).masked_fill(~mask, 0.0)
    shuffled = shuffled_weights(weights, mask, torch.Generator().manual_seed(0))
    assert (shuffled[~mask] == 0).all()
    assert not torch.equal(shuffled, weights)
    torch.testing.assert_close(shuffled.sort(dim=-1)[0], weights.sort(dim=-1)[0])


def test_adversarial_weights_are_far_valid_and_change_nothing() -> None:
    torch.manual_seed(0)
    model = PooledClassifier("words")
    train_classifier(model, lambda t, m: model(t[:, 1:], m[:, 1:]), steps=5, seed=0)
    tokens, mask = DOCUMENTS.tokens[:, 1:], DOCUMENTS.mask[:, 1:]
    with torch.no_grad():
        vectors = model.encode(model.embed(tokens), mask)
        weights = model.weights(vectors, mask)
    other = adversarial_weights(model, vectors, weights, mask, steps=60)
    torch.testing.assert_close(other.sum(dim=-1), torch.ones(6))
    assert (other[~mask] == 0).all()
    outputs = [model.classify(one, vectors).softmax(dim=-1) for one in (weights, other)]
    assert total_variation(*outputs).max() < 0.01
    assert divergence(other, weights).median() > 0.1
