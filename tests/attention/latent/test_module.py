import pytest
import torch

from course_utils.attention import LatentAttention, causal_mask, latent_attention
from course_utils.positions import rope_split_halves
from tests.support import draw

SIZES = {"d_latent": 5, "d_rope": 2}


def module(**sizes: int) -> LatentAttention:
    torch.manual_seed(0)
    return LatentAttention(12, 3, **{**SIZES, **sizes}).double()


def rotation(start: int, stop: int):
    return lambda x: rope_split_halves(x, torch.arange(start, stop))


@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize("d_rope", [0, 2])
def test_decoding_step_by_step_from_the_cache_gives_what_all_at_once_gives(d_rope, rotated) -> None:
    attend, x = module(d_rope=d_rope), draw(2, 7, 12)
    rotated = rotated and d_rope > 0
    whole = attend(x, causal_mask(7, 7), rotation(0, 7) if rotated else None)
    cache, rows = x.new_zeros(2, 0, 5 + d_rope), []
    for start, stop in ((0, 3), (3, 4), (4, 7)):
        rotate = rotation(start, stop) if rotated else None
        cache = torch.cat((cache, attend.compress(x[:, start:stop], rotate)), dim=1)
        mask = causal_mask(stop - start, stop, offset=start)
        rows.append(attend.decode(x[:, start:stop], cache, mask, rotate))
    torch.testing.assert_close(torch.cat(rows, dim=1), whole)


def test_positions_count_from_anywhere() -> None:
    attend, x = module(), draw(2, 5, 12)
    here, there = (attend(x, rotate=rotation(start, start + 5)) for start in (0, 40))
    torch.testing.assert_close(here, there)
    assert (attend(x) - here).abs().max() > 1e-3


def test_is_latent_attention_between_its_projections() -> None:
    attend, x = module(), draw(2, 5, 12)
    query = attend.q_proj(x).view(2, 5, 3, 6).transpose(1, 2)
    heads = latent_attention(query, attend.down_proj(x), attend.W_uk, attend.W_uv)
    want = attend.out_proj(heads.transpose(1, 2).reshape(2, 5, 12))
    torch.testing.assert_close(attend(x), want)


def test_every_parameter_learns_and_a_token_keeps_a_short_vector() -> None:
    attend, x = module(), draw(2, 5, 12)
    attend(x).square().sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in attend.parameters())
    assert attend.compress(x).shape == (2, 5, 5 + 2)


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="got widths 6 and 6"):
        module().decode(draw(2, 1, 12), draw(2, 4, 6))
