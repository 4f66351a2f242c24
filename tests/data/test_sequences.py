import pytest
import torch

from course_utils.data import END, FIRST_SYMBOL, PAD, START, Pairs, repeat_pairs


def draw(
    lengths: list[int], *, reverse: bool = False, seed: int = 0, num_symbols: int = 7
) -> Pairs:
    generator = torch.Generator().manual_seed(seed)
    symbols = torch.tensor(lengths, dtype=torch.long)
    return repeat_pairs(symbols, generator, num_symbols=num_symbols, reverse=reverse)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_target_says_the_source_again_between_marks(reverse: bool) -> None:
    pairs = draw([3, 6, 1], reverse=reverse)
    assert pairs.source.shape == (3, 6)
    assert pairs.target.shape == (3, 8)
    for source, target, length in zip(pairs.source, pairs.target, (3, 6, 1), strict=True):
        symbols = source[:length].tolist()
        said = symbols[::-1] if reverse else symbols
        assert target.tolist() == [START, *said, END] + [PAD] * (6 - length)
        assert source[length:].tolist() == [PAD] * (6 - length)


def test_symbols_are_those_of_the_alphabet_and_all_of_them() -> None:
    source = draw([200], num_symbols=7).source
    assert sorted(set(source[0].tolist())) == list(range(FIRST_SYMBOL, FIRST_SYMBOL + 7))


def test_the_mask_marks_what_is_real() -> None:
    assert draw([2, 4]).source_mask.tolist() == [[True, True, False, False], [True] * 4]


def test_a_selection_is_cut_to_its_longest() -> None:
    pairs = draw([2, 9, 4])
    some = pairs[torch.tensor([2, 0])]
    assert some.source.shape == (2, 4)
    assert some.target.shape == (2, 6)
    assert torch.equal(some.source[0], pairs.source[2, :4])
    assert len(pairs[:2]) == 2


def test_the_same_seed_draws_the_same_pairs_and_leaves_the_global_one_alone() -> None:
    state = torch.get_rng_state()
    assert torch.equal(draw([5, 8]).target, draw([5, 8]).target)
    assert not torch.equal(draw([5, 8]).target, draw([5, 8], seed=1).target)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("lengths", [[], [3, 0]])
def test_a_source_without_symbols_is_refused(lengths: list[int]) -> None:
    with pytest.raises(ValueError, match="lengths must hold numbers of at least 1, got"):
        draw(lengths)
