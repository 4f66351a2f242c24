"""Patches, tokens and a small Vision Transformer."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.models import VisionTransformer, patchify, vit_tokens
from tests.support import draw


def small(**more: object) -> VisionTransformer:
    torch.manual_seed(0)
    sizes = {"patch": 2, "num_classes": 5, "d_model": 8, "num_heads": 2, "num_layers": 2}
    return VisionTransformer(6, **{**sizes, **more})


def test_patches_of_a_picture_of_numbers() -> None:
    image = torch.arange(24.0).view(1, 1, 4, 6)
    assert patchify(image, 2)[0].tolist() == [
        [0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11],
        [12, 13, 18, 19], [14, 15, 20, 21], [16, 17, 22, 23],
    ]  # fmt: skip


@pytest.mark.parametrize(("h", "w", "patch"), [(4, 6, 2), (6, 3, 3), (5, 4, 1), (4, 4, 4)])
@pytest.mark.peer("14", "`patchify`", "`F.unfold` with a stride", "equal", "outputs, gradients")
def test_patches_are_unfold_s_columns(h, w, patch) -> None:
    images = draw(2, 3, h, w).requires_grad_()
    out, want = patchify(images, patch), F.unfold(images, patch, stride=patch).mT
    assert torch.equal(out, want)
    slope = draw(*out.shape, seed=1)
    got = torch.autograd.grad(out, images, slope)[0]
    assert torch.equal(got, torch.autograd.grad(want, images, slope)[0])


@pytest.mark.peer(
    "14", "`vit_tokens`", "`F.conv2d` with a stride, a class token in front", "float64 1e-7",
    "outputs, gradients",
)  # fmt: skip
def test_the_embedding_is_a_convolution() -> None:
    shapes = ((2, 3, 4, 6), (12, 5), (5,), (5,), (7, 5))
    given = tuple(draw(*shape).requires_grad_() for shape in shapes)
    images, W_e, b_e, class_token, positions = given
    kernel = W_e.mT.reshape(5, 3, 2, 2)
    patches = F.conv2d(images, kernel, b_e, stride=2).flatten(2).mT
    want = torch.cat([class_token.expand(2, 1, 5), patches], 1) + positions
    out = vit_tokens(images, 2, W_e, b_e, class_token, positions)
    torch.testing.assert_close(out, want)
    slope = draw(*out.shape, seed=1)
    got = torch.autograd.grad(out, given, slope)
    torch.testing.assert_close(got, torch.autograd.grad(want, given, slope))


def test_a_class_token_and_positions_belong_to_their_rows() -> None:
    zeros = torch.zeros(1, 1, 4, 4)
    positions = torch.arange(10.0).view(5, 2)
    tokens = vit_tokens(
        zeros, 2, torch.ones(4, 2), torch.ones(2), torch.tensor([7.0, 8.0]), positions
    )
    assert tokens[0].tolist() == [[7, 9], [3, 4], [5, 6], [7, 8], [9, 10]]


def test_a_model_s_scores_weights_and_states_fit_together() -> None:
    model, images = small(), draw(3, 1, 6, 6).float()
    weights = model.weights(images)
    assert [tuple(one.shape) for one in weights] == [(3, 2, 10, 10)] * 2
    torch.testing.assert_close(weights[0].sum(-1), torch.ones(3, 2, 10))
    states = model.states(images)
    torch.testing.assert_close(model.out(states[:, 0]), model(images))
    assert not weights[0].requires_grad


def test_without_positions_patches_are_a_set() -> None:
    model, image = small(channels=3), draw(1, 3, 6, 6).float()
    columns = torch.tensor([4, 5, 0, 1, 2, 3])  # whole patches change places
    shuffled = image[..., columns]
    assert (model(image) - model(shuffled)).abs().max() > 1e-3
    with torch.no_grad():
        model.positions.zero_()
    torch.testing.assert_close(model(image), model(shuffled))


def test_other_functions_can_attend() -> None:
    def nothing(query: Tensor, key: Tensor, value: Tensor, *mask: object) -> Tensor:
        return torch.zeros_like(value)

    model, images = small(attend=nothing), draw(2, 1, 6, 6).float()
    # The class token reads nothing, so it is the same for every image.
    torch.testing.assert_close(model(images)[0], model(images)[1])


IMAGES = torch.zeros(2, 1, 4, 6)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: patchify(IMAGES, 3), ValueError, "patch must divide 4 and 6, got 3"),
        (lambda: patchify(IMAGES, 4), ValueError, "patch must divide 4 and 6, got 4"),
        (lambda: patchify(IMAGES, 8), ValueError, "patch must divide 4 and 6, got 8"),
        (lambda: small(patch=4), ValueError, "patch must divide the image size 6, got 4"),
    ],
)
def test_bad_images_are_named(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
