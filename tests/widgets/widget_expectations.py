"""Values that each widget must show once it was driven; see widget_drives.py."""

from typing import Any

import numpy as np
import torch

from course_utils.attention import (
    attention_weights,
    causal_mask,
    masked_softmax,
    project_qkv,
    softmax_jacobian,
    window_mask,
)
from course_utils.measure import compute_optimal, kv_cache_bytes, read_record
from course_utils.positions import rope_interleaved
from course_utils.widgets import look_stepper
from course_utils.widgets.state_explorer.state_explorer import START
from tests.widgets.cost_explorer import cost_explorer_cases
from tests.widgets.date_writer import date_writer_cases
from tests.widgets.explanation_graph import explanation_graph_cases
from tests.widgets.forward_pass import forward_pass_cases
from tests.widgets.hopfield_landscape import hopfield_landscape_cases
from tests.widgets.look_stepper import look_stepper_cases
from tests.widgets.mask_playground import mask_playground_cases
from tests.widgets.next_token_explorer import next_token_explorer_cases
from tests.widgets.patch_explorer import patch_explorer_cases
from tests.widgets.ring_stepper import ring_stepper_cases
from tests.widgets.speculation_explorer import speculation_explorer_cases
from tests.widgets.state_explorer import state_explorer_cases
from tests.widgets.tile_stepper import tile_stepper_cases
from tests.widgets.wiring_explorer import wiring_explorer_cases

_HIDDEN_KEYS, _QUERIES, _PAIRS, _WIDEST = 32, 256, 2000, 1024


def three(x: float) -> str:
    """Three significant digits, as the widgets write them."""
    return f"{x:#.3g}".removesuffix(".").replace("-", "−") if x else "0"


def fixed(x: float, digits: int) -> str:
    return f"{x:.{digits}f}".replace("-", "−")


def values(widget: Any) -> np.ndarray:
    """Return the weights that were sent: the stacks, layers, heads, queries, keys."""
    kind = {"float32": "<f4", "float16": "<f2"}[widget.encoding]
    return np.frombuffer(widget.data, kind).astype(float).reshape(-1, *widget.shape)


def difference_of_maps(widget: Any) -> list[str]:
    maps = values(widget)
    second = maps[1, 0, 0] if widget.pair_names else maps[0, *widget.partner]
    a, b = maps[0, 0, 0, 1, 2], second[1, 2]
    one, two = widget.pair_names or widget.head_names[:2]
    sign = "+" if b > a else ""
    moved = np.abs(second - maps[0, 0, 0]).sum(-1).mean() / 2
    return [
        f"{one} {three(a)}, {two} {three(b)}, difference {sign}{three(b - a)}.",
        f"On average {round(100 * moved)}% of a query's weight",
    ]


def without_the_first_head(widget: Any) -> list[str]:
    heads, queries = widget.shape[1:3]
    kind = {"float32": "<f4", "float16": "<f2"}[widget.parts_encoding]
    parts = np.frombuffer(widget.parts, kind).astype(float).reshape(heads, queries, -1)
    shares = np.linalg.norm(parts[0], axis=-1) / np.linalg.norm(parts.sum(0), axis=-1)
    weight = values(widget)[0, 0, 0, 1, 2]
    return [
        f"Off: {widget.head_names[0]}. The output moves by {round(100 * shares.mean())}% of",
        f"{widget.head_names[0]} {fixed(weight, 3)}",
    ]


def _normal(seed: int, count: int) -> np.ndarray:
    """Draw as the explorer does: mulberry32, all numbers at once, then Box and Muller."""
    steps = np.arange(1, count + 1, dtype=np.uint64) * 0x6D2B79F5 + seed
    state = steps.astype(np.uint32)
    t = (state ^ (state >> 15)) * (state | 1)
    t ^= t + (t ^ (t >> 7)) * (t | 61)
    even, odd = ((t ^ (t >> 14)) / 2**32).reshape(-1, 2).T
    radius, angle = np.sqrt(-2 * np.log(1 - even)), 2 * np.pi * odd
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()


def largest_width_scaled(widget: Any) -> list[str]:
    sequences = 16
    pairs, size = 2 * _PAIRS * _WIDEST, (_HIDDEN_KEYS + _QUERIES // sequences) * _WIDEST
    drawn = _normal(widget.seed, pairs + sequences * size)
    query, key = drawn[:pairs].reshape(_PAIRS, 2, _WIDEST).transpose(1, 0, 2)
    scores = []
    for block in drawn[pairs:].reshape(sequences, -1, _WIDEST):
        keys, queries = block[:_HIDDEN_KEYS], block[_HIDDEN_KEYS:]
        scores.append(queries @ keys[: widget.num_keys].T)
    by = _WIDEST**0.5 * widget.temperature
    weights = torch.tensor(np.concatenate(scores) / by).softmax(-1)
    top = weights.max(-1).values.mean().item()
    slopes = [torch.linalg.matrix_norm(softmax_jacobian(row)).item() for row in weights]
    variance = ((query * key).sum(-1) / by).var()
    return [
        f"the scores have variance {three(variance)}",
        f"largest weight is {three(top)}",
        f"the gradient norm {three(sum(slopes) / len(slopes))}.",
    ]


def longest_copy(widget: Any) -> list[str]:
    source, *copies = max(widget.samples, key=lambda sample: len(sample[0]))
    right = [sum(a == b for a, b in zip(source, copy, strict=False)) for copy in copies]
    counts = ", ".join(f"{name} {n}" for name, n in zip(widget.names, right, strict=True))
    return [f"{len(source)} symbols. Right: {counts}."]


def last_source_read_to_its_end(widget: Any) -> list[str]:
    source, states, named = (one[-1] for one in (widget.sources, widget.states, widget.named))
    moved = np.abs(np.array(states[-1]) - np.array(states[-2])) > 10
    right = sum(a == b for a, b in zip(source, named[-1], strict=True))
    return [
        f"has moved {moved.sum()} of the 64 numbers by more than 0.1.",
        f"names {right} of 20 symbols right; in 2,000 new sources {sum(widget.shares[-1]):.1f}",
    ]


def sixth_character_with_dot(widget: Any) -> list[str]:
    assert widget.scores[0] == "dot"
    text, wrote = widget.sources[0]["text"], widget.written[0][0]
    row = widget.data[5 * len(text) : 6 * len(text)]
    best = sorted(range(len(text)), key=lambda i: (-row[i], i))
    took = [f"{row[i]}% from '{text[i].replace(' ', '␣')}' ({i + 1})" for i in best if row[i]]
    return [f"dot wrote '{wrote[5]}' (character 6, month) with {', '.join(took[:3])}."]


def keys_with_another_row(widget: Any) -> list[str]:
    matrices = [widget.w_query, [[-1.5, 0.5], widget.w_key[1]], widget.w_value]
    points, *matrices = (torch.tensor(one).double() for one in (widget.points, *matrices))
    query, key, _ = project_qkv(points, *matrices)
    weights = attention_weights(query, key)
    return ["\t".join(f"{x:.2f}" for x in row) for row in weights.tolist()]


def causal_window(widget: Any) -> list[str]:
    queries, keys = widget.num_queries, len(widget.tokens)
    mask = window_mask(queries, keys, widget.window, offset=widget.offset)
    weights = masked_softmax(mask_playground_cases.scores_of(queries, keys), mask)
    shown = [f"{x:.2f}" if x else "0" for x in weights[-1].tolist()]
    return [f"{int(mask.sum())} of {mask.numel()} pairs may look", "\t".join(shown)]


def query_at_the_end(widget: Any) -> list[str]:
    at = torch.tensor([widget.last]), torch.tensor([widget.key_position])
    query, key = (
        rope_interleaved(torch.tensor([one]).double(), place, widget.base)
        for one, place in zip((widget.query, widget.key), at, strict=True)
    )
    return [
        f"Query at {widget.last}, key at {widget.key_position}",
        f"q·k = {fixed((query @ key.T).item(), 3)};",
    ]


def longest_text(widget: Any) -> list[str]:
    task = widget.tasks[0]
    means = {name: points[-1][1] for name, points in task["curves"] if name in widget.chosen}
    best = min(means.values()) if task["lower"] else max(means.values())
    worst = max(means.values()) if task["lower"] else min(means.values())
    first, last = ([name for name in means if means[name] == x] for x in (best, worst))
    assert len(first) == len(last) == 1
    return [
        f"{task['lengths'][-1]} tokens read",
        f"Best: {first[0]} with {task['what']} {best:.2f}, worst {last[0]} with {worst:.2f}.",
    ]


def smallest_window(widget: Any) -> list[str]:
    n, heads, d_k = widget.length, widget.num_heads, widget.d_k
    pairs = int(window_mask(n, n, 16).sum())
    kept = kv_cache_bytes(1, heads, d_k, 16, 1, 4)
    return [f"{4 * d_k * heads * pairs / 1e6:.3g} Mflop", f"{kept // 1024} KiB"]


def parameters_of_gpt3(widget: Any) -> list[str]:
    """The presets are of the widget's own; what they come to is counted here."""
    sizes = widget.presets["GPT-3"]
    tables = sizes["vocab_size"] * sizes["d_model"]
    all_of_it = cost_explorer_cases.parameters(sizes)
    return [
        f"{all_of_it / 1e9:.3g} B parameters",
        f"token embedding\t{tables / 1e6:.3g} M\t{100 * tables / all_of_it:.2g}%",
    ]


def largest_budget_beside_chinchilla(widget: Any) -> list[str]:
    best, tokens, loss = compute_optimal(1e27, *widget.laws[widget.law])
    return [
        f"{best / 1e12:.3g} T parameters and {tokens / 1e12:.3g} T tokens",
        f"loss {loss:.3f}",
        "At Chinchilla's 70 B parameters",
    ]


def all_generated_with_one_kept_head(widget: Any) -> list[str]:
    fed = len(widget.tokens) - 1
    kept = kv_cache_bytes(widget.num_layers, 1, widget.d_k, fed, 1, widget.bytes_per_element)
    return [f"{kept / 1024:.3g} KiB", f"position {fed} is predicted"]


def blurred_to_the_end(widget: Any) -> list[str]:
    walk = look_stepper_cases.walk(look_stepper(widget.words, widget.states, factor=0.5))
    written = " ".join(widget.words[step["best"]][1] for step in walk)
    state = ", ".join(fixed(x, 2) for x in walk[-1]["state"])
    return [f"= ({state})", f"Written so far: {written}"]


def last_tile(widget: Any) -> list[str]:
    query, key, value = (
        torch.tensor(one).double() for one in (widget.query, widget.key, widget.value)
    )
    blocks = widget.block_q, widget.block_k
    end = tile_stepper_cases.states(query, key, value, *blocks, True)[-1]
    sizes = (len(query), len(key), query.shape[1], value.shape[1])
    moved = tile_stepper_cases.moved(sizes, blocks, True)[0]
    acc = ", ".join(fixed(x, 2) for x in end["acc"][-1])
    row = "\t".join([fixed(end["m"][-1], 2), fixed(end["l"][-1], 2), acc])
    assert causal_mask(*sizes[:2])[-1].any()
    return [row, f"\t{moved}"]


def last_output_of_gpt(widget: Any) -> list[str]:
    num_source, num_target = len(widget.source), len(widget.target)
    view = {name: getattr(widget, name) for name in ("num_layers", "window")}
    sizes = {"num_source": num_source, "num_target": num_target, "pads": num_source}
    row = wiring_explorer_cases.counts({**view, **sizes, "wiring": "gpt"})[-1]
    return [
        f"The place that writes “{widget.target[-1]}”, after {widget.num_layers} layers: "
        f"{int((row > 0).sum())} of {len(row)} inputs reach it, on {int(row.sum())} paths.",
        "Dark: " + ", ".join(["“pad”"] * num_source),
    ]


def rollout_without_the_residual(widget: Any) -> list[str]:
    name, above = widget.tokens[widget.source], widget.tokens[widget.target[1]]
    said = explanation_graph_cases.explained(widget, 0.0)["rollout"][widget.source]
    rho = explanation_graph_cases.agreement(widget, "rollout", 0.0)["signed"]
    return [
        f"Rollout, from {name} to {above} above layer {widget.target[0]}: {three(said)},",
        f"with leave-one-out: {fixed(rho, 2)};",
    ]


def walk_from_the_left_among_all(widget: Any) -> list[str]:
    walk = hopfield_landscape_cases.walk([-0.7, 0.4], widget.patterns, widget.beta)
    valleys = hopfield_landscape_cases.valleys(widget.patterns, widget.beta)
    state = ", ".join(fixed(x, 2) for x in walk[-1]["state"])
    first, last = (fixed(walk[i]["energy"], 3) for i in (0, -1))
    return [f"{valleys} valleys", f"is ({state})", f"fell from {first} to {last}."]


def shuffled_without_positions(widget: Any) -> list[str]:
    """Before the drive a widget is in order, with positions; the shuffle is its next one."""
    record = read_record(patch_explorer_cases.RECORD)
    view = (widget.image, widget.patch, widget.shuffle + 1, False)
    seen = patch_explorer_cases.read(record, *view)
    row, said = seen["rows"][1][widget.head - 1], max(seen["probabilities"])
    entropy = float(-(torch.tensor(row) * torch.tensor(row).log()).sum())
    return [
        f"Shuffle {widget.shuffle + 1}, without positions: the model reads",
        f"with probability {fixed(said, 2)}; it is a {widget.images[widget.image]['label']}.",
        f"Entropy {fixed(entropy, 2)} of at most {fixed(np.log(len(row)), 2)}.",
    ]


def day_of_a_finnish_date(widget: Any) -> list[str]:
    """The last sign of what the model writes, and the share of the word that it was read from."""
    text = "15. kesäkuuta 1968"
    found = date_writer_cases.read(*date_writer_cases.model(), text)
    day, row = text.partition(".")[0], found["weights"][9]
    assert found["chance"] >= widget.sure
    chance = "more than 0.99" if found["chance"] > 0.995 else fixed(found["chance"], 2)
    share = sum(row[: len(day)])
    share = "all" if share > 0.995 else fixed(share, 2)
    return [
        f"Writing the 5 of day 15, it reads ‘{day}’ with {share} of its weight.",
        f"Sure: probability {chance}.",
    ]


def first_key_written_again(widget: Any) -> list[str]:
    writes = [*([key, value] for key, value in START), [0, 6]]
    read = state_explorer_cases.readings("delta", writes, 32, 1.0)
    right = sum(one["answered"] == one["wanted"] for one in read)
    return [
        f"{right} of {len(read)} keys read back right. Asked for a: {read[0]['answered']}, right "
        f"(cosine {fixed(read[0]['cosine'], 2)}).",
        f"State: {4 * 32 * 32:,} bytes",
        f"{len(writes)} pairs, delta rule.",
    ]


def first_wrong_claim(widget: Any) -> list[str]:
    wrong = [claim for claim in widget.claims if claim["verdict"] == "wrong"]
    return [
        f"{len(wrong)} of {len(widget.claims)} claims: {len(wrong)} wrong.",
        wrong[0]["correct"],
        f"{wrong[0]['check']}(), course_utils.claims",
    ]


def last_step_of_eight_striped_ranks(widget: Any) -> list[str]:
    tokens = 8 * widget.tokens_per_rank
    work = ring_stepper_cases.work("striped", tokens, 8, widget.is_causal)
    slowest = int(work.max(dim=0).values.sum())
    sizes = (widget.num_heads, widget.d_k, widget.bytes_per_element)
    forward, backward = ring_stepper_cases.sent("ring", 8, tokens, sizes)
    share = slowest / (int(work.sum()) / 8)
    return [
        f"the slowest rank multiplies {work[:, -1].max()} pairs.",
        f"Slowest ranks of all steps: {slowest} pairs, {share:.2f} times an even share.",
        f"ring\t{forward:,}\t{forward:,}\t{backward:,}",
    ]


def thousand_calls_of_a_draft_that_says_one_token(widget: Any) -> list[str]:
    state = {
        "target": list(widget.target), "draft": [0, 0, 0, 100, 0, 0, 0, 0], "gamma": 6,
        "seed": widget.seed, "from_target": True,
    }  # fmt: skip
    counted = speculation_explorer_cases.counted(state, 1001)  # one call is played at first
    law = speculation_explorer_cases.long_run(state)
    wrote = np.array(counted["wrote"]) / counted["tokens"]
    apart = [np.abs(shares - np.array(widget.target) / 100).sum() / 2 for shares in
             (wrote, np.array(law["shares"]))]  # fmt: skip
    share, per_call = counted["accepted"] / counted["judged"], counted["tokens"] / 1001
    return [
        "after 1001 calls",
        f"accepted, of those judged\t{share:.3f}\tΣ min(p, q) = {law['alpha']:.2f}",
        f"tokens per call\t{per_call:.3f}\t{law['perCall']:.3f}",
        f"distance from p\t{apart[0]:.3f}\t{apart[1]:.3f}",
        f"{100 * wrote[3]:.1f}%",
    ]


def thousand_tokens_of_the_flattest_class(widget: Any) -> list[str]:
    view = (12, 1.5, 0.5)
    seen = next_token_explorer_cases.seen(widget, *view)
    outside = next_token_explorer_cases.outside(widget, *view, 1000)
    sizes = [
        next_token_explorer_cases.seen(widget, number, 1.5, 0.5)["size"]
        for number in range(len(widget.places))
    ]
    assert seen["size"] > 60  # its share is taken as top-p
    return [
        f"the nucleus holds {seen['size']} of 49,152 tokens, with a share of about 0.5.",
        f"is number {seen['rank']} with probability {fixed(seen['true'], 3)}: inside the nucleus.",
        f"1,000 drawn, {outside} from outside the nucleus (expected: 500).",
        f"at all {len(sizes)} places: {min(sizes)} to {max(sizes):,}",
        "one token is the whole nucleus: place 4;",
    ]


def token_before_in_a_chat_turn(widget: Any) -> list[str]:
    numbers = forward_pass_cases.of_widget(widget, 5)
    layer, head, position = widget.layer + 2, widget.head, 14
    values, base = forward_pass_cases.measured(numbers, "previous", position)
    value = values[layer, head].item()
    words = zip(
        numbers.lens_words[layer + 1][position], numbers.lens_chances[layer + 1, position],
        strict=True,
    )  # fmt: skip
    lens = ", ".join(f"‘{shown(word)}’ {fixed(float(chance), 3)}" for word, chance in words)
    above = int((values > 10 * base).sum())
    assert above > 0
    return [
        "It is layer 3 (as you said)",
        f"Layer {layer}, head {head}, position 14, ‘⏎’: weight on the token before "
        f"{fixed(value, 2)}, {fixed(value / base, 1)} times the base rate {fixed(base, 2)}.",
        f"{above} of 270 heads are above 10 times the base rate {fixed(base, 3)}.",
        "Query 14, ‘⏎’, puts 0.000 on key 0, ‘<|im_start|>’.",
        f"Lens at position 14, ‘⏎’, after layer {layer}: {lens}; entropy",
        "Next word after ‘⏎’",
    ]


def shown(token: str) -> str:
    """Return a token as the page names it."""
    return token.translate({ord("\n"): "⏎", ord("\t"): "⇥", ord(" "): "␣", 0xA0: "␣"})
