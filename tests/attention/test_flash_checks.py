import pytest
import torch

from course_utils.attention.flash_triton import flash_attention

X = torch.zeros(1, 2, 3, 16)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ((X.double(), X, X), TypeError, "query must be float16, bfloat16 or float32, got torch.f"),
        (([1.0], X, X), TypeError, "query must be float16, bfloat16 or float32, got list"),
        ((X, X.half(), X), TypeError, "key must have query's dtype and device, torch.float32 on"),
        ((X, X, X[0]), ValueError, r"value must have 4 axes \(B, H, length, d\), got 3"),
        ((X, X, X[:, :, :2]), ValueError, r"one shape, got query \(1, 2, 3, 16\), key \(1, 2, 3"),
        ((X, X[..., :8], X[..., :8]), ValueError, "must have query's B and d, and one shape, got"),
        ((*[torch.zeros(1, 1, 2, 129)] * 3,), ValueError, "d must be from 1 to 128, got 129"),
        ((X, *[X[:, :1].expand(1, 3, 3, 16)] * 2), ValueError, "the heads of key and value must d"),
        ((*[X.to("meta")] * 3,), TypeError, "the kernels run on cuda or on the cpu, got tensors o"),
    ],
)
def test_what_does_not_fit_is_said(given: object, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        flash_attention(*given)
