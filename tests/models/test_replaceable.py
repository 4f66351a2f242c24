"""A GPT that is handed its functions gives the numbers of one with the course's own."""

from functools import partial

import pytest
import torch

from course_utils import models
from course_utils.attention import causal_mask, masked_softmax, window_mask
from course_utils.attention.caches.plain import KVCache, append_kv, decode_step
from course_utils.positions import rope_split_halves
from tests.models.small_gpt import LENGTH, SPLITS, TOKENS, B, draw, read, small


def attend(query, key, value, mask):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    return masked_softmax(scores, mask) @ value


FUNCTIONS = {
    "positions": models.GivenPositions(rotate=rope_split_halves),
    "mask": lambda length: causal_mask(length, length),
    "attend": attend,
    "cache": partial(models.GivenCache, append=append_kv, decode=decode_step),
}


@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_a_gpt_made_of_functions_is_the_course_s(split) -> None:
    ours, theirs, tokens = small(positions="rope"), small(**FUNCTIONS), draw(B, LENGTH)
    theirs.load_state_dict(ours.state_dict())
    torch.testing.assert_close(read(theirs, tokens, split, None), ours.logits(tokens))
    written = models.generate(theirs, tokens[:, :4], 8, temperature=0)
    assert torch.equal(written, models.generate(ours, tokens[:, :4], 8, temperature=0))


def test_each_function_is_the_one_that_runs() -> None:
    called = []

    def counted(name, function):
        def call(*args, **kwargs):
            called.append(name)
            return function(*args, **kwargs)

        return call

    cache = partial(
        models.GivenCache,
        append=counted("append", append_kv),
        decode=counted("decode", decode_step),
    )
    model = small(
        positions=models.GivenPositions(
            embed=counted("embed", lambda x, positions: x),
            rotate=counted("rotate", rope_split_halves),
        ),
        mask=counted("mask", FUNCTIONS["mask"]),
        attend=counted("attend", attend),
        cache=cache,
        num_layers=1,
    )
    _, kept = model(draw(1, 3))
    assert called == ["embed", "rotate", "rotate", "append", "mask", "attend"]
    called.clear()
    model(draw(1, 1), kept)
    assert called == ["embed", "rotate", "rotate", "append", "decode"]


def test_a_bias_reaches_the_scores() -> None:
    bias = torch.zeros(1, 1, 5, 5).masked_fill(~causal_mask(5, 5), -torch.inf)
    scheme = models.GivenPositions(bias=lambda query, key, *positions: bias)
    sizes = {"d_model": 8, "num_heads": 2, "num_layers": 1}
    torch.manual_seed(0)
    model = models.PositionedTransformer(TOKENS, positions=scheme, **sizes)
    tokens = draw(2, 5)
    biased = model(tokens)
    model.positions = models.GivenPositions()
    torch.testing.assert_close(biased, model(tokens, causal_mask(5, 5)))


def test_an_attention_without_a_mask_of_its_own_gets_the_model_s() -> None:
    tokens = draw(B, LENGTH)
    for window in (None, 5):
        ours = small(positions="rope", window=window)
        theirs = small(positions="rope", window=window, attend=attend)
        torch.testing.assert_close(theirs.logits(tokens), ours.logits(tokens))
    first = torch.tensor([0, 3])
    torch.testing.assert_close(theirs.logits(tokens, first), ours.logits(tokens, first))
    masked = small(positions="rope", mask=lambda length: window_mask(length, length, 5))
    torch.testing.assert_close(masked.logits(tokens), ours.logits(tokens))


def test_padding_is_refused_by_a_decode_step_that_knows_of_none() -> None:
    cache = models.GivenCache(1, 2, 4, 6)
    assert isinstance(cache, KVCache)
    cache.append(torch.zeros(1, 2, 1, 6), torch.zeros(1, 2, 1, 6))
    with pytest.raises(ValueError, match="first must be None where a decode step was handed in"):
        cache.attend(torch.zeros(1, 2, 1, 6), torch.tensor([0]))
