"""Documents of Polish and Czech words."""

import pytest
import torch

from course_utils.data.two_languages import (
    CLASS_TOKEN,
    LONGEST,
    NO_WORD,
    SHORTEST,
    draw_documents,
    language_words,
    plant_cue,
    vocabulary,
)


def test_words_are_those_of_cldr_and_each_has_one_token() -> None:
    assert {"polska", "czechy", "dolar", "kongo"} <= language_words("pl")
    assert {"polsko", "česko", "dolar", "kongo"} <= language_words("cs")
    words, sizes = vocabulary()
    assert len(words) == 2 + sum(sizes) == len(set(words))
    assert sizes[0] + sizes[2] == len(language_words("pl"))
    assert min(map(len, words[2:])) == 3


def test_documents_are_what_their_kinds_say() -> None:
    documents = draw_documents(400, torch.Generator().manual_seed(0))
    tokens, mask, kinds = documents.tokens, documents.mask, documents.kinds
    assert tokens.shape == (400, 1 + LONGEST)
    assert (tokens[:, 0] == CLASS_TOKEN).all()
    assert (tokens[~mask] == NO_WORD).all()
    assert (kinds[~mask] == -1).all()
    lengths = mask.sum(dim=-1) - 1
    assert (int(lengths.min()), int(lengths.max())) == (SHORTEST, LONGEST)
    words, polish, czech = vocabulary()[0], language_words("pl"), language_words("cs")
    for kind, inside in enumerate((polish - czech, czech - polish, polish & czech)):
        assert {words[token] for token in tokens[kinds == kind].tolist()} <= inside
    lead = (kinds == 0).sum(dim=-1) - (kinds == 1).sum(dim=-1)
    assert (lead != 0).all()
    assert torch.equal(documents.labels, (lead < 0).long())
    assert 0.2 < (kinds == 2).sum() / lengths.sum() < 0.3


def test_a_cue_stands_first_and_in_the_share_asked_for() -> None:
    documents = draw_documents(2000, torch.Generator().manual_seed(0))
    before = documents.tokens.clone()
    changed, planted = plant_cue(documents, torch.Generator().manual_seed(1), 0.9)
    cue = len(vocabulary()[0]) - 1
    assert torch.equal(documents.tokens, before)
    assert (changed.tokens[planted, 1] == cue).all()
    assert torch.equal(changed.tokens[~planted], before[~planted])
    assert torch.equal(changed.tokens[:, 2:], before[:, 2:])
    shares = [planted[documents.labels == label].float().mean().item() for label in (0, 1)]
    assert shares == pytest.approx([0.9, 0.1], abs=0.03)


def test_words_can_be_read_again() -> None:
    documents = draw_documents(3, torch.Generator().manual_seed(0))
    assert documents.words(1)[0] == "[class]"
    assert len(documents.words(1)) == documents.mask[1].sum()


def test_no_documents_are_said() -> None:
    with pytest.raises(ValueError, match="count must be at least 1, got 0"):
        draw_documents(0, torch.Generator())
