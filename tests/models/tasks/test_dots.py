"""Dots compare themselves with the marked one; what is asked of a network that does."""

import pytest
import torch

from course_utils.models.tasks.dots import DOTS, DotNet, dots_right, draw_dots, train_on_dots


def test_an_image_has_twelve_dots_and_one_mark() -> None:
    images, same, asked = draw_dots(50, torch.Generator().manual_seed(0))
    assert (images[:, :2].sum(dim=(1, 2, 3)) == DOTS).all()
    assert (images[:, 2].sum(dim=(1, 2)) == 1).all()
    assert (asked.sum(dim=(1, 2)) == DOTS - 1).all()
    colour = images[:, :2].argmax(dim=1)
    for picture, mark, told, who in zip(colour, images[:, 2], same, asked, strict=True):
        wanted = picture[mark > 0]
        assert torch.equal(told[who], (picture == wanted)[who])
    assert 0.4 < same[asked].float().mean() < 0.6


@pytest.mark.parametrize("non_local", [True, False])
def test_a_network_trains_and_is_judged(non_local: bool) -> None:
    torch.manual_seed(0)
    model = DotNet(non_local=non_local)
    losses = train_on_dots(model, steps=3, seed=0)
    assert len(losses) == 3
    assert 0.0 <= dots_right(model, 20) <= 1.0


def test_the_block_alone_sees_the_whole_image() -> None:
    for non_local in (True, False):
        torch.manual_seed(0)
        model = DotNet(non_local=non_local)
        x = torch.rand(1, 3, 14, 14, requires_grad=True)
        (slope,) = torch.autograd.grad(model(x)[0, 0, 0], x)
        assert bool(slope[0, :, 7:, 7:].any()) is non_local
