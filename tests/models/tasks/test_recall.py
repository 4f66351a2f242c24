"""The recall task is what it says, its models are equal in size, and the record is theirs."""

import pytest
import torch

from course_utils.measure import read_record
from course_utils.models.tasks.recall import (
    SYMBOLS,
    WINDOW,
    RecallModel,
    judge_recall,
    recall_batch,
    train_recall,
)

KINDS: list[tuple[str, int, int] | tuple[str, int, int, int]] = [
    ("full", 4, 4), ("full", 4, 2), ("full", 4, 1), ("window", 4, 4), ("linear", 1, 1),
    ("latent", 4, 4, 16), ("latent", 16, 16, 8),
]  # fmt: skip


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(5)


@pytest.mark.parametrize("num_pairs", [1, 5, SYMBOLS])
def test_every_key_is_asked_once_and_its_value_is_wanted(num_pairs: int) -> None:
    tokens, wanted = recall_batch(num_pairs, 3, seeded())
    assert tokens.shape == (3, 3 * num_pairs)
    for row, values in zip(tokens.tolist(), wanted.tolist(), strict=True):
        keys, offered = row[: 2 * num_pairs : 2], row[1 : 2 * num_pairs : 2]
        asked = row[2 * num_pairs :]
        assert len(set(keys)) == num_pairs
        assert sorted(asked) == sorted(keys)
        assert values == [offered[keys.index(key)] - SYMBOLS for key in asked]


def test_the_order_of_the_questions_is_not_that_of_the_pairs() -> None:
    tokens, _ = recall_batch(20, 1, seeded())
    assert tokens[0, 40:].tolist() != tokens[0, :40:2].tolist()


@pytest.mark.parametrize("num_pairs", [0, SYMBOLS + 1])
def test_more_pairs_than_keys_are_refused(num_pairs: int) -> None:
    with pytest.raises(ValueError, match=f"num_pairs must be from 1 to 64, got {num_pairs}"):
        recall_batch(num_pairs, 1, seeded())


def test_all_models_have_as_many_parameters() -> None:
    sizes = {sum(w.numel() for w in RecallModel(*kind).parameters()) for kind in KINDS}
    assert sizes == {run["parameters"] for run in read_record("chapter_08_recall")["runs"]}
    assert len(sizes) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_no_score_depends_on_later_tokens(
    kind: tuple[str, int, int] | tuple[str, int, int, int],
) -> None:
    torch.manual_seed(0)
    model = RecallModel(*kind)
    tokens, _ = recall_batch(10, 2, seeded())
    changed = tokens.clone()
    changed[:, 20:] = (changed[:, 20:] + 1) % SYMBOLS
    torch.testing.assert_close(model(tokens)[:, :20], model(changed)[:, :20])
    assert not torch.allclose(model(tokens)[:, 20:], model(changed)[:, 20:])


def test_a_window_reaches_no_further_than_its_layers_carry() -> None:
    torch.manual_seed(0)
    model, tokens = RecallModel("window"), torch.arange(60)[None]
    changed = tokens.clone()
    changed[0, 0] += 1
    reach = 2 * WINDOW  # two layers, each WINDOW - 1 back and the neighbour before
    difference = (model(tokens) - model(changed)).abs().amax(dim=-1)[0]
    assert difference[reach] > 0
    assert difference[reach + 1 :].max() == 0


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (("sparse", 4), "kind must be one of full, window, linear, latent, .*WKV, got 'sparse'"),
        (("full", 5), "num_heads must divide 64 and num_kv_heads divide it, got 5 and 5"),
        (("full", 4, 3), "num_heads must divide 64 and num_kv_heads divide it, got 4 and 3"),
        (("linear", 4, 2), "num_kv_heads must be num_heads where the kind is 'linear', got 2"),
        (("latent", 4), "d_latent must be an even number from 2 to 128, got None"),
        (("latent", 4, 4, 7), "d_latent must be an even number from 2 to 128, got 7"),
        (("latent", 4, 2, 8), "num_kv_heads must be num_heads where the kind is 'latent', got 2"),
        (("full", 4, 4, 8), "d_latent must be None where the kind is 'full', got 8"),
    ],
)
def test_what_does_not_fit_is_said(kind: tuple[str, int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        RecallModel(*kind)


def test_a_latent_model_makes_keys_and_values_of_one_vector() -> None:
    torch.manual_seed(0)
    layer = RecallModel("latent", 4, 4, 8).layers[0]
    assert layer.key[0] is layer.value[0]
    assert layer.key[0].out_features == 8


@pytest.mark.thorough
def test_training_learns_and_its_seed_decides_it() -> None:
    def trained() -> tuple[list[float], dict[int, float]]:
        torch.manual_seed(0)
        model = RecallModel("full")
        losses = train_recall(model, steps=30, seed=0, pairs=(1, 2), batch=16)
        return losses, judge_recall(model, (1, 2), 8)

    (losses, found), again = trained(), trained()
    assert (losses, found) == again
    assert sum(losses[-5:]) < sum(losses[:5])
    assert all(0 <= share <= 1 for share in found.values())
