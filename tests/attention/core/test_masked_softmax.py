import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_utils.attention import additive_mask, causal_mask, masked_softmax
from tests.support import LENGTHS, draw


def sdpa_weights(scores: Tensor, mask: Tensor) -> Tensor:
    """Let torch's SDPA show its weights: one-hot queries pick the scores, the values are 1."""
    queries, keys = scores.shape[-2:]
    query = torch.eye(queries, dtype=scores.dtype).expand(*scores.shape[:-2], queries, queries)
    value = torch.eye(keys, dtype=scores.dtype).expand(*scores.shape[:-2], keys, keys)
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(query, scores.mT, value, attn_mask=mask, scale=1.0)


@pytest.mark.parametrize("leading", [(), (2,), (2, 3), (2, 1, 4)])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_the_weights_and_gradients_are_those_inside_torch_s_sdpa(leading, lengths) -> None:
    scores = draw(*leading, *lengths).requires_grad_()
    mask = draw(*leading, *lengths, seed=1) > 0
    mask[..., 0, :] = False
    got, want = masked_softmax(scores, mask), sdpa_weights(scores, mask)
    torch.testing.assert_close(got, want)
    grad_out = draw(*got.shape, seed=2)
    (ours,) = torch.autograd.grad(got, scores, grad_out)
    torch.testing.assert_close(ours, *torch.autograd.grad(want, scores, grad_out))


@pytest.mark.parametrize("shape", [(5, 7), (1, 7), (7,), (5, 1), (2, 1, 1, 7), (3, 1, 7), ()])
def test_masks_broadcast_to_the_scores(shape) -> None:
    scores, mask = draw(2, 3, 5, 7), draw(*shape, seed=3) > -0.5
    want = masked_softmax(scores, mask.expand(2, 3, 5, 7))
    torch.testing.assert_close(masked_softmax(scores, mask), want)


@pytest.mark.parametrize("stranger", [1e4, 1e30, torch.inf, -torch.inf, torch.nan])
def test_what_stands_at_a_masked_place_never_matters(stranger) -> None:
    scores, mask = draw(5, 7), causal_mask(5, 7)
    strange = scores.masked_fill(~mask, stranger).requires_grad_()
    weights = masked_softmax(strange, mask)
    torch.testing.assert_close(weights, masked_softmax(scores, mask))
    (grad,) = torch.autograd.grad(weights, strange, draw(5, 7, seed=2))
    assert grad.isfinite().all()
    assert not grad[~mask].any()


def test_a_row_whose_visible_scores_are_all_minus_inf_is_empty_too() -> None:
    scores, mask = draw(2, 3), torch.tensor([[True, False, True], [True, True, True]])
    scores[0, [0, 2]] = -torch.inf
    assert masked_softmax(scores, mask).sum(-1).round().tolist() == [0.0, 1.0]


def test_the_scores_stay_as_they_were() -> None:
    scores = draw(3, 4)
    kept = scores.clone()
    masked_softmax(scores, causal_mask(3, 4))
    assert torch.equal(scores, kept)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_low_precision_is_as_exact_as_torch_s_own(dtype) -> None:
    scores, mask = draw(2, 33, 65, dtype=dtype), causal_mask(33, 65)
    exact = masked_softmax(scores.double(), mask)
    got = masked_softmax(scores, mask)
    theirs = sdpa_weights(scores, mask)
    assert got.dtype == dtype
    assert (got.double() - exact).abs().max() <= (theirs.double() - exact).abs().max()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_adding_the_additive_mask_says_the_same(dtype) -> None:
    scores, mask = draw(4, 5, dtype=dtype), causal_mask(4, 5)
    numbers = additive_mask(mask, dtype)
    assert numbers.dtype == dtype
    assert (numbers == torch.where(mask, 0.0, -torch.inf)).all()
    torch.testing.assert_close((scores + numbers).softmax(-1), masked_softmax(scores, mask))


SCORES, MASK = torch.zeros(2, 3, 5), torch.ones(3, 5, dtype=torch.bool)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: masked_softmax(SCORES[0, 0], MASK), ValueError, r"at least two axes .* \(5,\)"),
        (lambda: additive_mask(MASK, torch.int64), TypeError, "a floating one, got torch.int64"),
    ],
)
def test_bad_input_is_named(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
