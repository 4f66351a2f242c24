"""The writer with eyes: a shut gate changes nothing, and what is frozen stays."""

import copy

import torch

from course_utils.models.tasks.captions import (
    END,
    START,
    Captioner,
    caption_loss,
    fed_and_wanted,
    judge_captions,
    train_captions,
)
from course_utils.models.tasks.pair_training import gallery
from course_utils.models.vision.two_towers import caption_tokens


def test_each_letter_is_wanted_once_and_the_end_too() -> None:
    fed, wanted = fed_and_wanted(caption_tokens(["one", "six"]))
    assert fed[:, 0].tolist() == [START, START]
    assert torch.equal(fed[:, 1:4], wanted[:, :3])
    assert wanted[:, 3].tolist() == [END, END]
    assert (wanted[:, 4:] == -1).all()


def test_a_shut_gate_is_the_text_model_to_the_last_bit() -> None:
    torch.manual_seed(0)
    model = Captioner()
    images, captions = gallery()
    fed, _ = fed_and_wanted(captions[:4])
    assert torch.equal(model(fed, images[:4]), model(fed))
    torch.nn.init.ones_(model.gates)
    assert not torch.allclose(model(fed, images[:4]), model(fed))
    assert caption_loss(model, captions[:4]) > 0


def test_training_the_eyes_leaves_the_text_model() -> None:
    torch.manual_seed(0)
    model = Captioner()
    before = copy.deepcopy(model.text.state_dict())
    new = [*model.image.parameters(), model.W, model.gates]
    assert len(train_captions(model, new, steps=2, seed=0, sees=True)) == 2
    assert all(torch.equal(before[name], kept) for name, kept in model.text.state_dict().items())
    assert set(judge_captions(model, sees=True)) == {"loss", "digits"}
