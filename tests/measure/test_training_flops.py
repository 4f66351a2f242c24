"""Test the cost of a training step: operations and bytes, by hand and at published sizes."""

import pytest

from course_utils.measure import training_flops, training_memory_bytes, transformer_parameters

LLAMA = 6_738_415_616
GPT3 = {"d_model": 12288, "num_layers": 96, "d_ff": 49152, "vocab_size": 50257}


def test_flops_by_hand() -> None:
    # 2 tokens of width 3: four 3·3 and two 3·5; 4 pairs, 3 each, twice; 7 scores for a token
    layer = 2 * (4 * 9 + 2 * 15) + 2 * 4 * 3
    assert training_flops(1, 2, 3, 1, 5, 7, False) == 3 * 2 * (layer + 2 * 3 * 7)
    assert training_flops(1, 2, 3, 1, 5, 7, True) == 2 * (4 * layer + 3 * 2 * 3 * 7)
    assert training_flops(4, 2, 3, 0, 5, 7, True) == 4 * 3 * 2 * 2 * 3 * 7
    assert type(training_flops(1, 2, 3, 1, 5, 7, False)) is int


def test_gpt3_beside_six_times_its_parameters() -> None:
    parameters = transformer_parameters(50257, 12288, 96, 49152, 96, 96, 2048, False, True, True)
    per_token = training_flops(1, 2048, **GPT3, recompute=False) / 2048
    assert per_token == pytest.approx(1.076e12, rel=1e-3)
    assert per_token / (6 * parameters) == pytest.approx(1.027, abs=1e-3)
    assert 6 * parameters * 300e9 == pytest.approx(3.14e23, rel=2e-3)


@pytest.mark.parametrize(("length", "share"), [(2048, 0.027), (8192, 0.10), (32768, 0.31)])
def test_attention_s_share_of_gpt3_grows_with_the_text(length, share) -> None:
    whole = training_flops(1, length, **GPT3, recompute=False)
    products = 3 * 96 * 4 * length**2 * 12288
    assert products / whole == pytest.approx(share, rel=0.03)


@pytest.mark.parametrize(
    ("trained", "mixed", "gib"),
    [
        (LLAMA, False, 100.4),
        (LLAMA, True, 100.4),
        (4_200_000, False, 25.1),
        (4_200_000, True, 12.6),
    ],
)
def test_the_bytes_of_a_model_of_7_billion_with_adam(trained, mixed, gib) -> None:
    found = training_memory_bytes(LLAMA, trained, 0, "adam", mixed)
    assert found / 2**30 == pytest.approx(gib, abs=0.06)


def test_bytes_by_hand() -> None:
    assert training_memory_bytes(10, 10, 3, "sgd", False) == 40 + 40 + 12
    assert training_memory_bytes(10, 4, 3, "momentum", False) == 40 + 16 + 12 + 16
    assert training_memory_bytes(10, 4, 3, "adam", True) == 20 + 8 + 6 + 32 + 16


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"optimizer": "lion"}, ValueError, "one of sgd, momentum, adam, got 'lion'"),
        ({"num_trainable": 11}, ValueError, "at most num_parameters 10, got 11"),
    ],
)
def test_bad_numbers_are_named(changed, error, message) -> None:
    given = {"num_parameters": 10, "num_trainable": 10, "num_activations": 0}
    given |= {"optimizer": "adam", "mixed": False}
    with pytest.raises(error, match=message):
        training_memory_bytes(**given | changed)
