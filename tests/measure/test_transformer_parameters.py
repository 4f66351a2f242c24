import pytest

from course_utils.measure import transformer_parameters as count

GATED = {"gated": True, "bias": False, "tied": False}
GPT = {"gated": False, "bias": True, "tied": True}
PUBLISHED = {
    "GPT-2": (124_439_808, (50257, 768, 12, 3072, 12, 12, 1024), GPT),
    "GPT-2 XL": (1_557_611_200, (50257, 1600, 48, 6400, 25, 25, 1024), GPT),
    "GPT-3": (174_604_259_328, (50257, 12288, 96, 49152, 96, 96, 2048), GPT),
    "Llama 7B": (6_738_415_616, (32000, 4096, 32, 11008, 32, 32, 0), GATED),
    "Llama 2 70B": (68_976_648_192, (32000, 8192, 80, 28672, 64, 8, 0), GATED),
    "Mistral 7B": (7_241_732_096, (32000, 4096, 32, 14336, 32, 8, 0), GATED),
    "Llama 3 8B": (8_030_261_248, (128256, 4096, 32, 14336, 32, 8, 0), GATED),
    "Llama 3.1 405B": (405_853_388_800, (128256, 16384, 126, 53248, 128, 8, 0), GATED),
    "Llama 3.2 1B": (1_235_814_400, (128256, 2048, 16, 8192, 32, 8, 0), GATED | {"tied": True}),
    # 512 positions and 2 segments; the embedding's norm stands for a last one; no pooler
    "BERT-base": (109_482_240 - 768 * 769, (30522, 768, 12, 3072, 12, 12, 514), GPT),
    "BERT-large": (335_141_888 - 1024 * 1025, (30522, 1024, 24, 4096, 16, 16, 514), GPT),
    # which has no last norm
    "GPT-1": (116_534_784 + 2 * 768, (40478, 768, 12, 3072, 12, 12, 512), GPT),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_sizes_to_the_parameter(name) -> None:
    published, sizes, flags = PUBLISHED[name]
    assert count(*sizes, **flags) == published


def test_a_count_by_hand() -> None:
    # 3·2 tokens and 5·2 positions; W_q 4, W_k and W_v 2 each, W_o 4, biases 6; 2·7 twice and 7 + 2;
    # three norms of 4
    assert count(3, 2, 1, 7, 2, 1, 5, False, True, True) == 16 + 12 + 6 + 28 + 9 + 12
    assert count(3, 2, 0, 7, 2, 1, 0, True, False, False) == 12 + 2
    assert type(count(3, 2, 1, 7, 2, 1, 5, False, True, True)) is int


def test_bad_sizes_are_named() -> None:
    sizes = {"vocab_size": 9, "d_model": 8, "num_layers": 1, "d_ff": 5, "num_heads": 4}
    sizes |= {"num_kv_heads": 3, "num_positions": 0, **GATED}
    with pytest.raises(ValueError, match="must divide the query heads, got 3 for 4"):
        count(**sizes)
