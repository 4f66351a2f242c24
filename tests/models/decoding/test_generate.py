from itertools import islice

import pytest
import torch
from torch import Tensor, nn

from course_utils.attention import RollingCache
from course_utils.models import GPT, ModelCache, generate, greedy_decode, left_pad, stream_tokens

TOKENS, LONGEST = 13, 30


def small(**changes) -> GPT:
    torch.manual_seed(0)
    sizes = {"d_model": 16, "num_heads": 2, "num_layers": 2, "max_length": LONGEST, **changes}
    model = GPT(TOKENS, **sizes).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5 if parameter.dim() > 1 else 0.1)
    return model


def draw(*shape: int) -> Tensor:
    return torch.randint(TOKENS, shape, generator=torch.Generator().manual_seed(sum(shape)))


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_temperature_0_always_takes_the_likeliest_token() -> None:
    model, prompt = small(), draw(3, 4)
    slow = prompt
    for _ in range(20):
        slow = torch.cat((slow, model.logits(slow)[:, -1:].argmax(dim=-1)), dim=1)
    assert torch.equal(generate(model, prompt, 20, temperature=0.0), slow[:, 4:])
    assert torch.equal(greedy_decode(model, prompt, 20), slow[:, 4:])
    assert len(slow.unique()) > 2


def test_a_seed_decides_what_is_drawn() -> None:
    model, prompt = small(), draw(2, 4)
    once = generate(model, prompt, 20, generator=seeded(), top_k=5)
    assert torch.equal(once, generate(model, prompt, 20, generator=seeded(), top_k=5))
    assert not torch.equal(once, generate(model, prompt, 20, generator=seeded(1), top_k=5))


def test_every_token_is_read_once() -> None:
    model, prompt = small(), draw(2, 4)
    read = []
    model.token.register_forward_hook(lambda module, given, out: read.append(given[0].shape[1]))
    generate(model, prompt, 9, temperature=0.0)
    assert read == [4] + [1] * 8


def test_a_stream_hands_out_each_token_before_the_next_is_computed() -> None:
    model, prompt = small(), draw(2, 4)
    steps = []
    model.register_forward_hook(lambda *_: steps.append(None))
    stream = stream_tokens(model, prompt, 20, generator=seeded())
    some = list(islice(stream, 3))
    assert len(steps) == 3
    assert torch.equal(torch.stack(some, 1), generate(model, prompt, 3, generator=seeded()))


def test_an_interrupt_keeps_what_was_written() -> None:
    model, prompt = small(), draw(2, 4)
    want = generate(model, prompt, 5, temperature=0.0)
    steps = iter(range(5))

    def interrupt(*_) -> None:
        if next(steps, None) is None:
            raise KeyboardInterrupt

    model.register_forward_pre_hook(interrupt)
    assert torch.equal(generate(model, prompt, 20, temperature=0.0), want)


def test_a_bar_that_is_interrupted_keeps_what_was_written() -> None:
    def bar(places):
        yield from islice(places, 3)
        raise KeyboardInterrupt

    model, prompt = small(), draw(2, 4)
    got = generate(model, prompt, 20, temperature=0.0, progress=bar)
    assert torch.equal(got, generate(model, prompt, 3, temperature=0.0))


def test_a_stop_token_ends_its_sequence_and_the_last_one_all() -> None:
    model, prompt = small(), draw(3, 4)
    free = generate(model, prompt, 20, generator=seeded())
    stop = int(free[0, 2])
    got = generate(model, prompt, 20, generator=seeded(), stop=stop)
    ends = [row.index(stop) if stop in row else 19 for row in free.tolist()]
    assert got.shape[1] == max(ends) + 1
    for row, end in enumerate(ends):
        assert torch.equal(got[row, : end + 1], free[row, : end + 1])
        assert (got[row, end + 1 :] == stop).all()


def test_prompts_of_different_lengths_are_continued_as_each_alone() -> None:
    model, prompts = small(), [draw(5).tolist(), draw(1).tolist(), draw(3).tolist()]
    tokens, first = left_pad(prompts, padding=7)
    assert tokens.tolist() == [prompts[0], [7] * 4 + prompts[1], [7] * 2 + prompts[2]]
    assert first.tolist() == [0, 4, 2]
    together = generate(model, tokens, 20, temperature=0.0, first=first)
    for row, prompt in enumerate(prompts):
        alone = generate(model, torch.tensor([prompt]), 20, temperature=0.0)
        assert torch.equal(together[row], alone[0])


def test_nothing_to_pad_is_no_trouble() -> None:
    tokens, first = left_pad([])
    assert tokens.shape == (0, 0)
    assert tokens.dtype == first.dtype == torch.long


def test_a_text_goes_on_from_the_cache_that_was_handed_over() -> None:
    model, prompt = small(), draw(2, 4)
    cache = model.new_cache(2)
    start = generate(model, prompt, 6, temperature=0.0, cache=cache)
    rest = generate(model, start[:, -1:], 5, temperature=0.0, cache=cache)
    whole = generate(model, prompt, 11, temperature=0.0)
    assert torch.equal(torch.cat((start, rest), dim=1), whole)
    assert cache.length == 4 + 6 + 4


def test_a_rolling_cache_writes_on_beyond_the_model_s_length() -> None:
    model = small(positions="rope")
    layers = [RollingCache(1, 2, 8, window=6, num_sinks=2, dtype=torch.float64) for _ in range(2)]
    cache = ModelCache(layers)
    tokens = generate(model, draw(1, 4), 3 * LONGEST, generator=seeded(), cache=cache)
    assert tokens.shape == (1, 3 * LONGEST)
    assert cache.num_bytes == 2 * 2 * 2 * 8 * 8 * 8
    model(tokens[:, -1:], cache)  # what was written in inference can be read on outside of it


def test_no_new_tokens_are_none() -> None:
    assert generate(small(), draw(2, 4), 0).shape == (2, 0)


@pytest.mark.parametrize(
    ("prompt", "options", "message"),
    [
        ((2, 0), {}, r"with P > 0, got \(2, 0\)"),
        ((2, 4), {"num_tokens": 28}, "must fit in 30 learned positions, got 31"),
        ((2, 4), {"top_p": 0.0}, "top_p must be above 0 and at most 1, got 0.0"),
        ((2, 4), {"temperature": -1.0}, "temperature must be at least 0 and finite, got -1.0"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_read(prompt, options, message) -> None:
    model = small()
    model.register_forward_pre_hook(lambda *_: pytest.fail("the prompt was read"))
    with pytest.raises(ValueError, match=message):
        stream_tokens(model, draw(*prompt), **{"num_tokens": 3, **options})


def test_the_last_token_needs_no_position() -> None:
    assert generate(small(), draw(2, 4), 27).shape == (2, 27)


def test_padding_belongs_to_a_new_cache() -> None:
    model = small()
    with pytest.raises(ValueError, match="first belongs to a new cache, got it with one"):
        generate(model, draw(2, 4), 3, first=torch.tensor([0, 1]), cache=model.new_cache(2))


def test_padded_prompts_in_a_window_are_continued_as_alone() -> None:
    model = small(positions="rope", window=5)
    prompts = [[3, 1, 4, 1, 5, 9, 2, 6], [7], [5, 3, 5]]
    tokens, first = left_pad(prompts)
    got = generate(model, tokens, 14, temperature=0.0, first=first)
    for row, prompt in enumerate(prompts):
        text = torch.tensor([prompt])
        for _ in range(14):
            text = torch.cat([text, model.logits(text)[:, -1:].argmax(-1)], 1)
        assert torch.equal(got[row], text[0, len(prompt) :])
