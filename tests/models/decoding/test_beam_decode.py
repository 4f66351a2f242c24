"""Beam search through a cache, beside the same search with every text read anew."""

import pytest
import torch

from course_utils.models import ModelCache, beam_decode, beam_search, generate
from tests.models.small_gpt import KINDS, draw, small


@pytest.mark.thorough
@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("end", [None, 7])
@pytest.mark.parametrize("kind", KINDS)
def test_the_cache_changes_nothing(kind, end, width) -> None:
    model, prompt = small(**KINDS[kind]), draw(1, 4)

    def anew(texts: torch.Tensor) -> torch.Tensor:
        whole = torch.cat([prompt[:, :-1].expand(len(texts), -1), texts], dim=1)
        return model.logits(whole)[:, -1].log_softmax(-1)

    for alpha in (0.0, 0.8):
        got, score = beam_decode(model, prompt, 9, width=width, end=end, alpha=alpha)
        stop = -1 if end is None else end
        want, other = beam_search(anew, int(prompt[0, -1]), stop, width, 9, alpha)
        assert got.tolist() == [want]
        assert score == pytest.approx(other)


def test_width_1_is_greedy_and_a_prompt_may_be_one_token() -> None:
    model = small()
    got, _ = beam_decode(model, draw(1, 1), 8, width=1)
    assert torch.equal(got, generate(model, draw(1, 1), 8, temperature=0.0))


def test_each_step_reads_one_token_of_each_beam() -> None:
    model, read = small(), []
    model.token.register_forward_hook(lambda module, given, out: read.append(given[0].shape))
    beam_decode(model, draw(1, 4), 5, width=3)
    assert [tuple(shape) for shape in read] == [(1, 3), (1, 1), (3, 1), (3, 1), (3, 1), (3, 1)][:6]


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"prompt": draw(2, 3)}, ValueError, r"axes \(1, P\) with P > 0, got \(2, 3\)"),
        ({"prompt": draw(1, 0)}, ValueError, r"axes \(1, P\) with P > 0, got \(1, 0\)"),
    ],
)
def test_what_does_not_fit_is_refused(changed, error, message) -> None:
    given = {"model": small(), "prompt": draw(1, 3), "num_tokens": 3, "width": 2}
    with pytest.raises(error, match=message):
        beam_decode(**(given | changed))


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_s_cache_moves_as_a_whole(kind) -> None:
    model, tokens = small(**KINDS[kind]), draw(2, 9)
    first = torch.tensor([0, 3])
    cache = model.new_cache(2, first=first)
    model(tokens[:, :4], cache)
    cache.repeat(2)
    cache.reorder(torch.tensor([3, 1, 0, 2]))
    assert (cache.batch, cache.length) == (4, 4)
    assert cache.first.tolist() == [3, 0, 0, 3]
    rows = [1, 0, 0, 1]
    got, _ = model(tokens[rows, 4:], cache)
    torch.testing.assert_close(got, model.logits(tokens, first)[rows, 4:])
    if kind != "window":
        cache.crop(4)
        torch.testing.assert_close(model(tokens[rows, 4:], cache)[0], got)
    with pytest.raises(ValueError, match="beams must name 4 sequences, got 1"):
        cache.reorder(torch.tensor([0]))
    with pytest.raises(ValueError, match="times must be at least 1"):
        cache.repeat(0)


def test_a_crop_that_one_layer_refuses_crops_none() -> None:
    wide, narrow = small(positions="rope"), small(window=3, positions="rope")
    layers = [wide.new_cache(2).layers[0], narrow.new_cache(2).layers[0]]
    cache = ModelCache(layers)
    for layer in layers:
        layer.append(*torch.zeros(2, 2, 4, 8, 6, dtype=torch.float64))
    with pytest.raises(ValueError, match="was displaced"):
        cache.crop(5)
    assert [layer.length for layer in layers] == [8, 8]
