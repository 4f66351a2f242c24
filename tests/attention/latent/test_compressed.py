import pytest
import torch
from torch.nn import functional as F

from course_utils.attention import CompressedLatentAttention, causal_mask, latent_attention
from course_utils.positions import rope_interleaved
from tests.support import draw

SIZES = {"d_latent": 5, "d_query": 7, "d_rope": 2, "d_k": 6, "d_v": 3}


def module(**sizes: object) -> CompressedLatentAttention:
    torch.manual_seed(0)
    made = CompressedLatentAttention(11, 4, **{**SIZES, **sizes}).double()
    for norm in (made.q_norm, made.latent_norm):
        norm.weight.data += draw(*norm.weight.shape) / 4
    return made


def rotation(start: int, stop: int):
    return lambda x: rope_interleaved(x, torch.arange(start, stop))


@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize("d_rope", [0, 2])
def test_decoding_step_by_step_from_the_cache_gives_what_all_at_once_gives(d_rope, scale) -> None:
    attend, x = module(d_rope=d_rope, scale=scale), draw(2, 9, 11)
    rotate = rotation if d_rope else lambda start, stop: None
    whole = attend(x, causal_mask(9, 9), rotate(0, 9))
    cache, rows = x.new_zeros(2, 9, 5 + d_rope), []
    for start, stop in ((0, 4), (4, 5), (5, 6), (6, 9)):
        cache[:, start:stop] = attend.compress(x[:, start:stop], rotate(start, stop))
        mask = causal_mask(stop - start, stop, offset=start)
        rows.append(attend.decode(x[:, start:stop], cache[:, :stop], mask, rotate(start, stop)))
    torch.testing.assert_close(torch.cat(rows, dim=1), whole)


def test_is_latent_attention_between_norms() -> None:
    attend, x = module(scale=0.3), draw(2, 9, 11)
    asked = F.rms_norm(x @ attend.q_down.weight.T, (7,), attend.q_norm.weight, 1e-6)
    query = (asked @ attend.q_proj.weight.T).view(2, 9, 4, 8).transpose(1, 2)
    latent, rotated = (x @ attend.down_proj.weight.T).split((5, 2), dim=-1)
    latent = F.rms_norm(latent, (5,), attend.latent_norm.weight, 1e-6)
    cache = torch.cat((latent, rotated), dim=-1)
    heads = latent_attention(query * 0.3 * 8**0.5, cache, attend.W_uk, attend.W_uv)
    want = heads.transpose(1, 2).flatten(2) @ attend.out_proj.weight.T
    torch.testing.assert_close(attend(x), want)


def test_every_parameter_learns_and_a_token_keeps_a_short_vector() -> None:
    attend, x = module(), draw(2, 9, 11)
    attend(x).square().sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in attend.parameters())
    kept = attend.compress(10 * x)
    assert kept.shape == (2, 9, 5 + 2)
    torch.testing.assert_close(kept[..., :5], attend.compress(x)[..., :5], rtol=1e-4, atol=1e-4)
