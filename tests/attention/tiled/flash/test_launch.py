import pytest
import torch

from course_utils.attention.tiled.flash.flash import flash_attention

X = torch.zeros(1, 2, 3, 16)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ((X.double(), X, X), TypeError, "query must be float16, bfloat16 or float32, got torch.f"),
        (([1.0], X, X), TypeError, "query must be float16, bfloat16 or float32, got list"),
        ((X, X.half(), X), TypeError, "key must have query's dtype and device, torch.float32 on"),
        ((X, X, X[0]), ValueError, r"value must have 4 axes \(B, H, length, d\), got 3"),
        ((X, X, X[:, :, :2]), ValueError, r"value key's B, H and S, got query \(1, 2, 3, 16\)"),
        (
            (X, X[..., :8], X[..., :8]),
            ValueError,
            "key must have query's B and d, value key's B, H",
        ),
        ((*[torch.zeros(1, 1, 2, 257)] * 3,), ValueError, "d must be from 1 to 256, d_v at least"),
        ((X, X, X[..., :0]), ValueError, "d_v at least 1, got query"),
        ((X, *[X[:, :1].expand(1, 3, 3, 16)] * 2), ValueError, "the heads of key and value must d"),
        ((*[X.to("meta")] * 3,), TypeError, "the kernels run on cuda or on the cpu, got tensors o"),
    ],
)
def test_what_does_not_fit_is_said(given: object, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        flash_attention(*given)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        (
            {"slopes": X[0, 0, 0]},
            ValueError,
            r"slopes must have the shape \(2,\) on cpu, got \(16,",
        ),
        ({"slopes": torch.ones(2, requires_grad=True)}, ValueError, "slopes get no gradient from"),
        ({"lengths": torch.tensor([1, 1])}, ValueError, "the queries must be at least 0, one for"),
    ],
)
def test_an_option_that_does_not_fit_is_said(
    options: dict[str, object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        flash_attention(X, X, X, **options)
