import pytest
import torch
from torch import Tensor

from course_utils.attention import (
    absorbed_latent_attention,
    grouped_query_attention,
    latent_attention,
)
from course_utils.measure import largest_tensor
from tests.support import assert_same_function, draw

B, H, L, S, D_K, D_V, R = 2, 3, 4, 5, 6, 7, 8
FORMS = (latent_attention, absorbed_latent_attention)


def inputs(d_rope: int, num_queries: int = L, num_keys: int = S) -> tuple[Tensor, ...]:
    query, cache = draw(B, H, num_queries, D_K + d_rope), draw(B, num_keys, R + d_rope)
    return query, cache, draw(H, R, D_K) / 3, draw(H, R, D_V)


def draw_mask(*shape: int) -> Tensor:
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(2)) > 0.4
    mask[..., 0, :] = False
    return mask


@pytest.mark.parametrize("d_rope", [0, 2])
@pytest.mark.parametrize("shape", [None, (L, S), (H, L, S), (B, 1, L, S), (B, H, L, S)], ids=str)
def test_absorbing_the_matrices_changes_neither_outputs_nor_gradients(d_rope, shape) -> None:
    mask = None if shape is None else draw_mask(*shape)
    expanded, absorbed = ((lambda *x, form=form: form(*x, mask)) for form in FORMS)
    assert_same_function(absorbed, expanded, inputs(d_rope))


def test_the_absorbed_form_is_attention_with_one_key_head_for_all() -> None:
    _, cache, _, W_uv = inputs(0)
    same = torch.eye(R, dtype=torch.float64).expand(H, R, R)
    asked = draw(B, H, L, R)
    want = grouped_query_attention(asked, cache[:, None], cache[:, None]) @ W_uv
    torch.testing.assert_close(latent_attention(asked, cache, same, W_uv), want)


def test_the_absorbed_form_makes_no_keys_and_no_values() -> None:
    query, cache, W_uk, W_uv = inputs(2, 1, 1000)
    assert largest_tensor(absorbed_latent_attention, query, cache, W_uk, W_uv) < 1000
    expanded = B * H * 1000 * (D_K + 2)
    assert largest_tensor(latent_attention, query, cache, W_uk, W_uv) == expanded


QUERY, CACHE, W_UK, W_UV = inputs(2)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ((QUERY, CACHE[0], W_UK, W_UV), ValueError, r"cache must have the axes \(2, S, width\)"),
        ((QUERY, CACHE[:1], W_UK, W_UV), ValueError, r"got \(1, 5, 10\)"),
        ((QUERY, CACHE, W_UK[0], W_UV), ValueError, "W_uk must have a matrix .* each of the 3"),
        ((QUERY, CACHE, W_UK, W_UV[:2]), ValueError, r"W_uv must have .* got \(2, 8, 7\)"),
        ((QUERY, CACHE, W_UK, W_UV[:, 1:]), ValueError, r"W_uv must have .* got \(3, 7, 7\)"),
        ((QUERY[..., 1:], CACHE, W_UK, W_UV), ValueError, "got widths 7 and 10"),
        ((QUERY, CACHE[..., :7], W_UK, W_UV), ValueError, "the 6 and 8 numbers of W_uk"),
    ],
)
def test_bad_input_is_named(form, given, kind, message) -> None:
    with pytest.raises(kind, match=message):
        form(*given)
