"""Strips and captions: what is padding, what is stored, what is scored."""

import torch
from torch.nn import functional as F

from course_utils.models.vision.two_towers import Fusion, TwoTowers, caption_tokens, mean_of


def test_captions_are_numbers_and_end_in_padding() -> None:
    tokens = caption_tokens(["one two six", "three three three"])
    assert tokens.shape == (2, 17)
    assert (tokens[0] > 0).sum() == len("one two six")
    assert (tokens[1] > 0).all()
    assert tokens[0, 3] == tokens[0, 7] == 1


def test_nothing_reads_what_stands_behind_the_end() -> None:
    torch.manual_seed(0)
    model, fusion = TwoTowers(), Fusion()
    tokens = caption_tokens(["one two six"])
    images = torch.rand(1, 1, 8, 24)
    with torch.no_grad():
        vectors = model.text(tokens)
        model.text.positions[11:] += 1.0
        assert torch.equal(vectors[:, :11], model.text(tokens)[:, :11])
        score = fusion(images, tokens)
        fusion.text.positions[11:] += 1.0
        torch.testing.assert_close(score, fusion(images, tokens))
    torch.testing.assert_close(mean_of(vectors, tokens), vectors[:, :11].mean(dim=1))


def test_the_loss_is_of_cosines_over_the_temperature() -> None:
    torch.manual_seed(0)
    model = TwoTowers()
    images, tokens = torch.rand(3, 1, 8, 24), caption_tokens(["one", "two", "six"])
    a, b = (F.normalize(v, dim=-1) for v in (model.encode_image(images), model.encode_text(tokens)))
    logits, own = a @ b.T / model.log_temperature.exp(), torch.arange(3)
    wanted = (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2
    torch.testing.assert_close(model.loss(images, tokens), wanted)
