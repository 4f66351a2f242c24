"""Filters at their boundaries, beams, moved caches, speculation and pages beside transformers."""

from itertools import permutations

import pytest
import torch
from torch import Tensor
from transformers import (
    DynamicCache,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)
from transformers.generation.utils import _speculative_sampling

from course_utils.attention import (
    BlockPool,
    KVCache,
    PagedCache,
    RollingCache,
    causal_mask,
    paged_gather,
    reorder_cache,
    soft_cap,
    window_mask,
)
from course_utils.models import (
    beam_decode,
    min_p_filter,
    penalise_repetition,
    speculative_accept,
    speculative_decode,
    token_probabilities,
    top_p_filter,
)
from tests.peers.test_gpt_peers import NAMES, TOKENS, theirs_and_ours
from tests.support import draw

ROWS = torch.tensor(list(permutations((0.3, 0.1, 0.12, 0.48)))).double().log()
DYADIC = torch.tensor(list(permutations((0.5, 0.25, 0.125, 0.125)))).double().log()


@pytest.mark.parametrize("top_p", [0.05, 0.35, 0.6, 0.85, 0.95, 1.0])
@pytest.mark.peer("10", "`top_p_filter`", "transformers' warper of top-p", "equal", "logits")
def test_top_p_leaves_what_theirs_leaves_off_the_boundary(top_p) -> None:
    random = torch.randn(200, 11, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.equal(top_p_filter(random, top_p), TopPLogitsWarper(top_p)(None, random))
    assert torch.equal(top_p_filter(ROWS, top_p), TopPLogitsWarper(top_p)(None, ROWS))


@pytest.mark.parametrize("top_p", [0.5, 0.75, 0.875])
@pytest.mark.peer(
    "10", "`top_p_filter`, `min_p_filter`",
    "transformers' warpers where a share is met exactly, in binary fractions", "equal",
    "number of tokens",
)  # fmt: skip
def test_binary_shares_that_are_met_exactly_leave_as_many_as_theirs(top_p) -> None:
    """Sums of binary fractions do not round, but the softmax of their logarithms may."""
    ours, theirs = top_p_filter(DYADIC, top_p), TopPLogitsWarper(top_p - 1e-9)(None, DYADIC)
    assert torch.equal(ours.isfinite().sum(-1), theirs.isfinite().sum(-1))
    for ratio in (1.0, 0.5, 0.25):
        theirs = MinPLogitsWarper(ratio * (1 - 1e-9))(None, DYADIC)
        assert torch.equal(min_p_filter(DYADIC, ratio), theirs)


@pytest.mark.parametrize("min_p", [0.01, 0.15, 0.3, 0.7])
@pytest.mark.peer("10", "`min_p_filter`", "transformers' `MinPLogitsWarper`", "equal", "logits")
def test_min_p_leaves_what_theirs_leaves(min_p) -> None:
    random = 2 * torch.randn(200, 11, generator=torch.Generator().manual_seed(1))
    random[:, 3] = -torch.inf
    assert torch.equal(min_p_filter(random, min_p), MinPLogitsWarper(min_p)(None, random))


@pytest.mark.parametrize("penalty", [0.8, 1.0, 1.3])
@pytest.mark.peer(
    "10", "`penalise_repetition`", "transformers' `RepetitionPenaltyLogitsProcessor`", "equal",
    "logits",
)  # fmt: skip
def test_the_penalty_is_theirs(penalty) -> None:
    g = torch.Generator().manual_seed(2)
    logits, tokens = torch.randn(5, 13, generator=g), torch.randint(13, (5, 9), generator=g)
    logits[:, 2], logits[:, 4] = 0.0, -torch.inf
    theirs = RepetitionPenaltyLogitsProcessor(penalty)(tokens, logits.clone())
    assert torch.equal(penalise_repetition(logits, tokens, penalty), theirs)


@pytest.mark.parametrize("top_k", [1, 2, 4, 5, 9])
@pytest.mark.parametrize("temperature", [1e-3, 1.0, 50.0])
@pytest.mark.peer(
    "10", "`token_probabilities`",
    "transformers' warpers of temperature and top-k: ties, k above the vocabulary", "float64 1e-7",
    "probabilities",
)  # fmt: skip
def test_temperature_and_top_k_are_theirs_at_their_ends(temperature, top_k) -> None:
    logits = torch.tensor([[2.0, 1.0, 2.0, 0.0, 1.0], [0.0] * 5, [-9.0, 0, 9, 18, 27]]).double()
    theirs = TopKLogitsWarper(top_k)(None, TemperatureLogitsWarper(temperature)(None, logits))
    got = token_probabilities(logits, temperature=temperature, top_k=top_k)
    torch.testing.assert_close(got, theirs.softmax(-1))


@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.peer(
    "10", "`beam_decode`", "Hugging Face's generate with num_beams", "equal", "tokens, scores"
)
def test_a_beam_without_an_end_finds_what_theirs_finds(name, width, monkeypatch) -> None:
    theirs, ours = theirs_and_ours(name, monkeypatch)
    for seed in range(3):
        prompt = torch.randint(TOKENS, (1, 4), generator=torch.Generator().manual_seed(seed))
        made = theirs.generate(
            prompt, max_new_tokens=11, num_beams=width, do_sample=False, length_penalty=1.0,
            pad_token_id=0, attention_mask=torch.ones_like(prompt), output_scores=True,
            return_dict_in_generate=True,
        )  # fmt: skip
        tokens, score = beam_decode(ours, prompt, 11, width=width, alpha=1.0)
        assert torch.equal(tokens, made.sequences[:, 4:])
        if width > 1:
            assert score == pytest.approx(made.sequences_scores.item(), rel=1e-6)


def their_cache(layers: list[tuple[Tensor, Tensor]]) -> DynamicCache:
    cache = DynamicCache()
    for number, (key, value) in enumerate(layers):
        cache.update(key, value, number)
    return cache


@pytest.mark.parametrize("kind", ["plain", "paged", "rolling"])
@pytest.mark.peer(
    "10", "rows and ends of `KVCache`, `PagedCache`, `RollingCache`",
    "`DynamicCache` of transformers", "float64 1e-7", "attention of what is held",
)  # fmt: skip
def test_rows_move_as_in_a_dynamic_cache(kind) -> None:
    key, value = draw(3, 2, 7, 4, seed=1), draw(3, 2, 7, 4, seed=2)
    for ours, theirs in (
        (
            lambda c: c.reorder(torch.tensor([2, 0, 2])),
            lambda c: c.reorder_cache(torch.tensor([2, 0, 2])),
        ),
        (
            lambda c: c.select(torch.tensor([1])),
            lambda c: c.batch_select_indices(torch.tensor([1])),
        ),
        (lambda c: c.repeat(2), lambda c: c.batch_repeat_interleave(2)),
        (lambda c: c.crop(4), lambda c: c.crop(-3)),
    ):
        cache = {
            "plain": lambda: KVCache(3, 2, 9, 4, dtype=torch.float64),
            "paged": lambda: PagedCache(BlockPool(40, 3, 2, 4, dtype=torch.float64), 3),
            "rolling": lambda: RollingCache(3, 2, 4, window=9, dtype=torch.float64),
        }[kind]()
        cache.append(key, value)
        ours(cache)
        held = their_cache([(key, value)])
        theirs(held)
        kept, found = held.layers[0].keys, held.layers[0].values
        assert (cache.batch, cache.length) == (len(kept), kept.shape[2])
        query = draw(len(kept), 2, 1, 4, seed=3)
        want = torch.nn.functional.scaled_dot_product_attention(query, kept, found)
        torch.testing.assert_close(cache.attend(query), want)


@pytest.mark.peer(
    "10", "`reorder_cache`", "`DynamicCache.reorder_cache` of transformers", "equal", "slots"
)
def test_slots_are_reordered_as_theirs() -> None:
    for beams in ([2, 0, 2], [1, 2, 0], [0, 0, 0]):
        key, value = draw(3, 2, 7, 4, seed=1), draw(3, 2, 7, 4, seed=2)
        held = their_cache([(key.clone(), value.clone())])
        held.reorder_cache(torch.tensor(beams))
        reorder_cache(key, value, 7, torch.tensor(beams))
        assert torch.equal(key, held.layers[0].keys)
        assert torch.equal(value, held.layers[0].values)


@pytest.mark.peer(
    "10", "`speculative_accept`, `speculative_decode`",
    "`_speculative_sampling` of transformers, which draws by itself", "float32 4e-2",
    "shares of what 2500 rounds write; greedy tokens equal",
)  # fmt: skip
def test_accepted_texts_are_distributed_as_theirs(monkeypatch) -> None:
    g, draws, size = torch.Generator().manual_seed(0), 2500, 5
    logits = torch.randn(2, 3, size, generator=g)
    q, p = logits[0, :2].softmax(-1), logits[1].softmax(-1)
    guesses = torch.stack([torch.multinomial(row, draws, True, generator=g) for row in q], 1)
    uniforms = torch.rand(draws, 3, generator=g)
    counts = torch.zeros(2, 3, size)  # how many stayed, and which token came first
    torch.manual_seed(0)
    for guess, u in zip(guesses, uniforms, strict=True):
        stayed, token = speculative_accept(guess, q, p, u)
        counts[0, stayed, guess[0] if stayed else token] += 1
        text, matches = _speculative_sampling(
            torch.cat([torch.zeros(1, 1).long(), guess[None]], 1), logits[:1, :2], 2,
            logits[1:], None,
        )  # fmt: skip
        counts[1, int(matches), text[0, 0]] += 1
    torch.testing.assert_close(counts[0] / draws, counts[1] / draws, rtol=0, atol=0.04)
    theirs, ours = theirs_and_ours("GPT-2", monkeypatch)
    prompt = torch.tensor([[5, 3, 8]])
    made = theirs.generate(
        prompt, max_new_tokens=12, do_sample=False, pad_token_id=0,
        attention_mask=torch.ones_like(prompt),
    )  # fmt: skip
    table = torch.eye(TOKENS, dtype=torch.float64).roll(1, 0)
    got = speculative_decode(ours, lambda t: table[t[:, -1]], prompt, 12, gamma=3, greedy=True)
    assert torch.equal(got.tokens, made[:, 3:])


def paged_reference(
    query: Tensor,
    key_pages: Tensor,
    value_pages: Tensor,
    query_lens: list[int],
    kv_lens: list[int],
    tables: Tensor,
    scale: float,
    window: int | None,
    cap: float | None,
) -> Tensor:
    """Follow the published rule of vLLM's paged reference, one sequence after the other.

    The queries of a sequence are its last; a window of w leaves the w keys up to the query's own;
    scores are scaled, capped, masked, then weighted.
    """
    out, start, size = [], 0, key_pages.shape[1]
    for number, (new, length) in enumerate(zip(query_lens, kv_lens, strict=True)):
        q = query[start : start + new] * scale
        blocks = tables[number, : -(-length // size)].tolist()
        k, v = (
            torch.cat([pages[block] for block in blocks])[:length].repeat_interleave(
                q.shape[1] // pages.shape[2], dim=1
            )
            for pages in (key_pages, value_pages)
        )
        scores = torch.einsum("qhd,khd->hqk", q, k)
        scores = cap * torch.tanh(scores / cap) if cap else scores
        own = torch.arange(length - new, length)[:, None]
        hidden = torch.arange(length) > own
        if window is not None:
            hidden |= torch.arange(length) <= own - window
        weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
        out.append(torch.einsum("hqk,khd->qhd", weights, v))
        start += new
    return torch.cat(out)


@pytest.mark.parametrize("heads", [(4, 4), (8, 2), (5, 1)], ids=str)
@pytest.mark.parametrize("size", [3, 16])
@pytest.mark.parametrize("window", [None, 1, 7])
@pytest.mark.parametrize("cap", [None, 2.0, 50.0])
@pytest.mark.peer(
    "10", "`paged_gather`, `PagedCache`, with `window_mask` and `soft_cap`",
    "vLLM's paged reference, written afresh: pages, window, soft cap", "float64 1e-7", "outputs",
)  # fmt: skip
def test_pages_are_attended_as_in_vllm_s_reference(heads, size, window, cap) -> None:
    pairs = [(1, 29), (5, 18), (37, 37)]
    query_lens, kv_lens = [new for new, _ in pairs], [length for _, length in pairs]
    pages = [draw(40, size, heads[1], 6, seed=seed) for seed in (1, 2)]
    needed = [-(-length // size) for length in kv_lens]
    order = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    tables = torch.full((3, max(needed)), -1)
    for row, blocks in enumerate(order[: sum(needed)].split(needed)):
        tables[row, : len(blocks)] = blocks
    query, scale = 2 * draw(sum(query_lens), heads[0], 6), 6**-0.5
    want = paged_reference(query, *pages, query_lens, kv_lens, tables, scale, window, cap)
    start, got = 0, []
    for row, (new, length) in enumerate(pairs):
        q = query[start : start + new].transpose(0, 1)
        k, v = (
            paged_gather(pool, tables[row], length)
            .transpose(0, 1)
            .repeat_interleave(heads[0] // heads[1], dim=0)
            for pool in pages
        )
        scores = q @ k.mT * scale
        scores = scores if cap is None else soft_cap(scores, cap)
        seen = (
            causal_mask(new, length, offset=length - new)
            if window is None
            else window_mask(length, length, window)[length - new :]
        )
        weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
        got.append((weights @ v).transpose(0, 1))
        start += new
        if cap is None and window is None:
            cache = PagedCache(BlockPool(40, size, heads[1], 6, dtype=torch.float64), 1)
            kept = [paged_gather(pool, tables[row], length).transpose(0, 1)[None] for pool in pages]
            cache.append(*kept)
            torch.testing.assert_close(cache.attend(q[None])[0].transpose(0, 1), got[-1])
    torch.testing.assert_close(torch.cat(got), want)
