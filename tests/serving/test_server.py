"""Every request is answered as if it were alone, whoever joins, leaves, shares or fails."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from course_utils.attention import BlockPool, PagedCache
from course_utils.models import GPT, Llama, draw_tokens, from_gpt2, generate
from course_utils.serving import Prefixes, Request, Server, Step, feed, likeliest, static_batches

VOCABULARY, PAGE = 37, 4


def model_of(kind: type[GPT] = GPT, **more: Any) -> GPT:
    torch.manual_seed(0)
    sizes = {"d_model": 24, "num_heads": 4, "num_layers": 2, "max_length": 64, "num_kv_heads": 2}
    return kind(VOCABULARY, **{**sizes, **more}).double()


def server_of(model: GPT, *, shared: bool = True, **more: Any) -> Server:
    settings = {"num_pages": 40, "page_size": PAGE, "budget": 7, **more}
    return Server(model, prefixes=Prefixes(PAGE) if shared else None, **settings)


def drawn_by(seed: int) -> Callable[[Tensor], Tensor]:
    return partial(draw_tokens, generator=torch.Generator().manual_seed(seed), top_k=9)


def crowd(seed: int, count: int = 9) -> tuple[list[Request], list[Request]]:
    """Requests of many lengths, half of them sampled, most with one of two beginnings; twice."""
    choose = random.Random(seed)
    beginnings = [[choose.randrange(VOCABULARY) for _ in range(n)] for n in (11, 6)] + [[]]
    both: tuple[list[Request], list[Request]] = [], []
    for number in range(count):
        rest = [choose.randrange(VOCABULARY) for _ in range(choose.randrange(1, 12))]
        prompt = [*choose.choice(beginnings), *rest]
        length, stop = choose.randrange(1, 12), choose.choice([None, 3])
        for requests in both:
            draw = drawn_by(number) if number % 2 else likeliest
            requests.append(Request(prompt, length, draw, stop))
    return both


def alone(model: GPT, request: Request) -> list[int]:
    """Answer one request with a plain cache, token by token."""
    cache, fed = None, torch.tensor([list(request.prompt)])
    while not request.ended:
        logits, cache = model(fed, cache)
        request.write(logits[:, -1])
        fed = torch.tensor([request.written[-1:]])
    return request.written


def assert_nothing_is_held(server: Server) -> None:
    assert not server.schedule.running
    if server.schedule.prefixes is not None:
        server.schedule.prefixes.clear()
    for pool in server.schedule.pools:
        assert pool.num_users == [0] * len(pool.num_users)
        assert pool.num_free == len(pool.num_users)


@pytest.mark.thorough
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("num_pages", "budget"), [(40, 1), (40, 7), (40, 200), (9, 5), (8, 64)])
@pytest.mark.parametrize("kind", [GPT, Llama])
def test_every_answer_is_that_of_the_request_alone(
    kind: type[GPT], num_pages: int, budget: int, shared: bool
) -> None:
    model, seed = model_of(kind), num_pages + budget
    server = server_of(model, shared=shared, num_pages=num_pages, budget=budget)
    requests, same = crowd(seed)
    late = random.Random(seed).sample(range(4, 9), 5)
    for request in requests[:4]:
        server.submit(request)
    for number in late:
        server.step()
        server.submit(requests[number])
    steps = server.run()
    assert [one.written for one in requests] == [alone(model, one) for one in same]
    assert max(one.fed for one in steps) <= budget
    assert max(one.pages for one in steps) <= num_pages
    assert_nothing_is_held(server)


def test_a_call_scores_every_sequence_as_if_it_came_alone() -> None:
    model = model_of()
    pools = [BlockPool(30, PAGE, 2, 6, dtype=torch.float64) for _ in range(2)]
    sequences = [[PagedCache(pool, 1) for pool in pools] for _ in range(3)]
    texts = [torch.randint(VOCABULARY, (length,)).tolist() for length in (13, 6, 20)]
    for pieces in ((5, 1, 9), (1, 4, 1), (7, 1, 10)):
        done = [sequence[0].length for sequence in sequences]
        new = [text[a : a + n] for text, a, n in zip(texts, done, pieces, strict=True)]
        got = feed(model, sequences, new)
        for row, text, a, n in zip(got, texts, done, pieces, strict=True):
            want = model.logits(torch.tensor([text[: a + n]]))[0, -1]
            torch.testing.assert_close(row, want, rtol=1e-12, atol=1e-12)


@pytest.mark.peer(
    "10", "`Server`", "`generate` of transformers' GPT-2, each prompt alone", "equal", "tokens"
)
def test_the_answers_are_transformers() -> None:
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=VOCABULARY, n_embd=24, n_head=4, n_layer=2, n_positions=64,
        tie_word_embeddings=False, bos_token_id=None, eos_token_id=None, initializer_range=0.3,
    )  # fmt: skip
    theirs = GPT2LMHeadModel(config).double().eval()
    ours = model_of(num_kv_heads=4)
    ours.load_state_dict(from_gpt2(theirs.state_dict()))
    requests, _ = crowd(3)
    greedy = [Request(one.prompt, 10) for one in requests]
    server = server_of(ours)
    for request in greedy:
        server.submit(request)
    server.run()
    for request in greedy:
        prompt = torch.tensor([list(request.prompt)])
        want = theirs.generate(
            prompt, max_new_tokens=10, do_sample=False, pad_token_id=0,
            attention_mask=torch.ones_like(prompt),
        )  # fmt: skip
        assert request.written == want[0, len(request.prompt) :].tolist()
    assert len({token for one in greedy for token in one.written}) > 5


def test_ours_alone_is_generate() -> None:
    model, (requests, _) = model_of(), crowd(0)
    for request in requests:
        if request.draw is likeliest:
            prompt = torch.tensor([list(request.prompt)])
            want = generate(model, prompt, request.num_tokens, temperature=0.0, stop=request.stop)
            assert alone(model, request) == want[0].tolist()


def test_who_loses_pages_reads_again_and_writes_on() -> None:
    model = model_of()
    requests, same = crowd(1)
    server = server_of(model, shared=False, num_pages=9, budget=64)
    for request in requests:
        server.submit(request)
    steps = server.run()
    assert sum(one.preempted for one in steps) > 0
    assert [one.written for one in requests] == [alone(model, one) for one in same]
    assert_nothing_is_held(server)


def test_a_long_prompt_does_not_stop_those_that_write() -> None:
    model = model_of()
    server = server_of(model, budget=5)
    writer, reader = Request([1, 2], 12), Request(list(range(30)), 1)
    server.submit(writer)
    server.step()
    server.submit(reader)
    written = [(server.step().fed, len(writer.written), len(reader.written)) for _ in range(8)]
    assert [fed for fed, _, _ in written] == [5] * 7 + [3]
    assert [count for _, count, _ in written] == list(range(2, 10))
    assert [count for _, _, count in written] == [0] * 7 + [1]


def test_a_beginning_that_two_share_is_read_and_held_once() -> None:
    model, beginning = model_of(), list(range(2 * PAGE))
    requests = [Request([*beginning, 20 + number], 3) for number in range(5)]
    server = server_of(model, budget=200)
    for request in requests:
        server.submit(request)
    first = server.step()
    assert (first.fed, first.running, first.waiting) == (9, 1, 4)  # the others wait for its pages
    second = server.step()
    assert (second.fed, second.running, second.pages) == (1 + 4, 5, 2 + 5)
    assert [one.num_shared for one in requests] == [0, 8, 8, 8, 8]
    tables = [one.sequence[0].tables[0][:2] for one in requests if one.sequence]
    assert len(tables) == 5
    assert all(table == tables[0] for table in tables)
    assert server.schedule.pools[0].num_users[tables[0][0]] == 5 + 1  # and the kept prompt
    server.run()
    assert_nothing_is_held(server)


def test_the_same_prompt_again_reads_only_its_last_piece() -> None:
    server = server_of(model_of(), budget=200)
    for want in (12, 4):  # of three whole pages, the last one holds the token that must be read
        server.submit(Request(list(range(12)), 1))
        assert [one.fed for one in server.run()] == [want]


def test_kept_prompts_go_where_pages_are_needed() -> None:
    server = server_of(model_of(), num_pages=6, budget=200)
    for start in (0, 10, 20):
        server.submit(Request(list(range(start, start + 9)), 1))
    steps = server.run()
    assert [one.preempted for one in steps] == [0] * len(steps)
    assert server.schedule.prefixes is not None
    assert len(server.schedule.prefixes) >= 1
    server.submit(Request([30] * 24, 1))
    assert server.run()[-1].pages == 6
    assert_nothing_is_held(server)


def broken(logits: Tensor) -> Tensor:
    raise RuntimeError("this reader's own fault")


def breaks_at(count: int) -> Callable[[Tensor], Tensor]:
    calls = iter(range(count))

    def draw(logits: Tensor) -> Tensor:
        if next(calls, None) is None:
            broken(logits)
        return likeliest(logits)

    return draw


@pytest.mark.parametrize("after", [0, 3])
def test_a_request_that_fails_harms_no_other(after: int) -> None:
    model = model_of()
    requests, same = crowd(2)
    server = server_of(model, num_pages=14)
    bad = Request(requests[0].prompt, 9, breaks_at(after))
    for request in (requests[0], bad, *requests[1:]):
        server.submit(request)
    server.run()
    assert str(bad.error) == "this reader's own fault"
    assert bad.ended
    assert len(bad.written) == after
    assert [one.written for one in requests] == [alone(model, one) for one in same]
    assert_nothing_is_held(server)


def test_a_reader_may_leave_between_two_steps() -> None:
    model = model_of()
    requests, same = crowd(0)
    server = server_of(model)
    for request in requests:
        server.submit(request)
    for _ in range(3):
        server.step()
    gone = [server.schedule.running[0], server.schedule.waiting[-1]]
    for request in gone:
        server.cancel(request)
    server.run()
    for request, other in zip(requests, same, strict=True):
        assert (request.written == alone(model, other)) == (request not in gone)
    assert_nothing_is_held(server)
    with pytest.raises(ValueError, match="request must be waiting or running, got one that is nei"):
        server.cancel(gone[0])


def test_what_a_step_did_adds_up() -> None:
    requests, _ = crowd(0)
    server = server_of(model_of(), shared=False)
    for request in requests:
        server.submit(request)
    steps = server.run()
    assert isinstance(steps[0], Step)
    written = sum(len(one.written) for one in requests)
    assert sum(one.drawn for one in steps) == written
    assert not any(one.preempted for one in steps)
    assert sum(one.fed for one in steps) == written + sum(len(one.prompt) - 1 for one in requests)


@pytest.mark.parametrize("batch_size", [1, 4, 9])
def test_static_batches_write_the_same_and_feed_more(batch_size: int) -> None:
    model = model_of()
    requests, same = crowd(1)
    steps = list(static_batches(model, requests, batch_size))
    assert [one.written for one in requests] == [alone(model, one) for one in same]
    written = sum(len(one.written) for one in requests)
    useful = written + sum(len(one.prompt) - 1 for one in requests)
    assert sum(one.drawn for one in steps) == written
    assert sum(one.useful for one in steps) == useful
    assert (sum(one.fed for one in steps) == useful) == (batch_size == 1)


@pytest.mark.parametrize(
    ("request_", "error", "says"),
    [
        (3, TypeError, "request must be a Request, got int"),
        (Request([37], 1), ValueError, "prompt must hold tokens from 0 to 36, got 37"),
        (Request([-1], 1), ValueError, "prompt must hold tokens from 0 to 36, got -1"),
        (Request([1] * 60, 6), ValueError, "must fit in 64 learned positions, got 65"),
        (Request([1] * 20, 6), ValueError, "request must fit in 6 pages, got 7"),
    ],
)
def test_requests_that_cannot_be_served_are_refused(
    request_: Any, error: type[Exception], says: str
) -> None:
    server = server_of(model_of(), num_pages=6)
    with pytest.raises(error, match=says):
        server.submit(request_)
    with pytest.raises(ValueError, match="a step needs a request that waits or runs, got none"):
        server.step()


def test_a_request_is_submitted_once() -> None:
    server, request = server_of(model_of()), Request([1], 2)
    server.submit(request)
    for _ in range(2):
        with pytest.raises(ValueError, match="request must be new, got one that was submitted"):
            server.submit(request)
        server.run()


@pytest.mark.parametrize(
    ("prompt", "more", "error", "says"),
    [
        ([], {}, ValueError, "prompt must hold at least one token, got none"),
        ([1.0], {}, TypeError, r"prompt must be a sequence of ints, got \[1.0\]"),
        ([1], {"num_tokens": 0}, ValueError, "num_tokens must be at least 1, got 0"),
        ([1], {"draw": 3}, TypeError, "draw must be "),
        ([1], {"stop": 1.0}, TypeError, "stop must be an int, got float"),
    ],
)
def test_requests_that_make_no_sense_are_refused(
    prompt: Any, more: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        Request(prompt, **{"num_tokens": 2, **more})


@pytest.mark.parametrize(
    ("more", "error", "says"),
    [
        ({"model": 3}, TypeError, "model must be a GPT, got int"),
        ({"num_pages": 0}, ValueError, "num_pages must be at least 1, got 0"),
        ({"page_size": 0}, ValueError, "page_size must be at least 1, got 0"),
        ({"budget": 0}, ValueError, "budget must be at least 1, got 0"),
        ({"budget": 2.0}, TypeError, "budget must be an int, got float"),
        ({"prefixes": 3}, TypeError, "prefixes must be a Prefixes, got int"),
        ({"prefixes": Prefixes(8)}, ValueError, "prefixes must have pages of 4 tokens, got 8"),
        ({"model": model_of(window=4)}, ValueError, "model must have no window, got one of 4"),
    ],
)
def test_servers_that_make_no_sense_are_refused(
    more: Any, error: type[Exception], says: str
) -> None:
    settings = {"model": model_of(), "num_pages": 6, "page_size": 4, "budget": 3, **more}
    with pytest.raises(error, match=says):
        Server(**settings)


def test_sizes_of_other_parts_are_checked() -> None:
    with pytest.raises(ValueError, match="page_size must be at least 1, got 0"):
        Prefixes(0)
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        list(static_batches(model_of(), [], 0))
