import pytest
import torch
from torch import Tensor

from course_utils.interpretability import gradient_attention


def lists(number: int, *shape: int) -> tuple[list[Tensor], list[Tensor]]:
    generator = torch.Generator().manual_seed(number)
    drawn = torch.randn(2, number, *shape, shape[-1], generator=generator, dtype=torch.float64)
    return list(drawn[0].softmax(-1)), list(drawn[1])


def test_it_adds_up_every_way_through_the_layers() -> None:
    """(I + A3)(I + A2)(I + A1), multiplied out."""
    layers, gradients = lists(3, 2, 4, 5)
    a, b, c = (
        torch.stack([(w * g).relu()[:, h] for h in range(4)]).sum(0) / 4
        for w, g in zip(layers, gradients, strict=True)
    )
    ways = torch.eye(5).double() + a + b + c + b @ a + c @ a + c @ b + c @ b @ a
    torch.testing.assert_close(gradient_attention(layers, gradients), ways)


def test_what_speaks_against_leaves_the_identity() -> None:
    layers, gradients = lists(2, 2, 3, 4)
    found = gradient_attention(layers, [-one.abs() for one in gradients])
    torch.testing.assert_close(found, torch.eye(4).double().expand(2, 4, 4))


def test_gradients_are_right() -> None:
    layers, gradients = lists(2, 1, 2, 3)
    given = [one.requires_grad_() for one in (*layers, *gradients)]
    assert torch.autograd.gradcheck(lambda *all_: gradient_attention(all_[:2], all_[2:]), given)


def test_lists_that_do_not_fit_are_refused() -> None:
    layers, gradients = lists(2, 1, 2, 3)
    with pytest.raises(ValueError, match="there must be gradients for each layer, got 1 for 2"):
        gradient_attention(layers, gradients[:1])
    with pytest.raises(ValueError, match=r"gradients\[1\] must have the shape"):
        gradient_attention(layers, [gradients[0], gradients[1][:, :1]])
    with pytest.raises(TypeError, match="gradients must be a list of tensors, got NoneType"):
        gradient_attention(layers, None)
