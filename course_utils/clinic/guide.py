"""The field guide's rows: what you have, and what was measured for it, and where.

Nothing is measured here. Every row names the record from which it is read, and says at which size:
a factor without its length, its batch and its machine says nothing.
"""

from dataclasses import dataclass
from functools import partial

from course_utils.clinic.from_records import (
    at_256,
    busiest,
    depth,
    looked_at,
    mean,
    one,
    pick,
    read,
    recall_models,
    recalled,
    where,
)  # fmt: skip

Row = tuple[str, str, str]


@dataclass(frozen=True)
class Choice:
    """A row of the guide.

    Attributes:
        have: What a reader has.
        measured: What was measured for it, with its size.
        record: The record it is read from.
        where: Date and machine of that record.
    """

    have: str
    measured: str
    record: str
    where: str


@dataclass(frozen=True)
class Recorded:
    """A symptom that takes too long to plant: its cause, and a measurement before and after."""

    seen: str
    cause: str
    measured: str
    before: float
    after: float
    record: str


def choices() -> list[Choice]:
    """Return the guide: one row for each case, from the records as they are now."""
    parts = (_whole_texts, _long_texts, _generation, _serving, _training)
    return [
        Choice(have, measured, record, where(record))
        for part in parts
        for have, record, measured in part()
    ]


def recorded() -> list[Recorded]:
    """Return the symptoms that earlier chapters recorded, before and after the repair."""
    behind, before = depth()
    weighed, fused = looked_at()
    raw, bent = (recalled(f"retention, 4 heads, {how}", "16") for how in ("raw", "SiLU"))
    return [
        Recorded("a deep stack learns slowly", "norms after the sub-layers", "loss at rate 0.003",
                 behind, before, "chapter_12_stability"),
        Recorded("attention far slower than SDPA", "need_weights left on", "time over SDPA's",
                 weighed / fused, 1.0, "chapter_05_multi_head"),
        Recorded("a state forgets the list", "no SiLU on query and key", "recalled, 16 pairs",
                 raw, bent, "chapter_17_recall"),
    ]  # fmt: skip


def _whole_texts() -> list[Row]:
    way = {run["way"]: run["over_sdpa"] for run in read("chapter_09_production")["runs"]}
    masked = way["SDPA, causal mask"] / way["SDPA, is_causal"]
    own = {"training": False, "is_causal": False, "length": 2048}
    peaks = [one("chapter_09_tiled", "peak_bytes", what=w, **own) for w in ("written out", "SDPA")]
    weighed, fused = looked_at()
    return [
        ("2,048 tokens, nothing special", "chapter_09_production",
         f"SDPA: {way['written out']:.1f}× faster than written out"),
        ("2,048 tokens, causal", "chapter_09_production",
         f"is_causal: {masked:.1f}× faster than a mask"),
        ("2,048 tokens, little memory", "chapter_09_tiled",
         f"tiles: {peaks[0] / peaks[1]:.0f}× less than written out"),
        ("4,096 tokens, weights looked at", "chapter_05_multi_head",
         f"need_weights: {weighed / fused:.1f}× slower than without"),
    ]  # fmt: skip


def _long_texts() -> list[Row]:
    cheaper = read("chapter_08_cheaper")
    window, linear = (
        {n: pick(cheaper[table], "times_slower", length=n, **more)["causal"] for n in (512, 8192)}
        for table, more in (("window", {"window": 128}), ("causal_linear", {}))
    )
    lost = {name: share for name, _, share in recall_models()}
    fixed, window_only = lost["linear, 4 heads"], lost["window of 16, 4 heads"]
    plain, yarn, further = (
        mean(run[when]["256"] for run in read("chapter_16_long")["runs"] if run["scheme"] == name)
        for name, when in (
            ("RoPE", "at 256"),
            ("RoPE + YaRN", "at 256"),
            ("RoPE + YaRN", "further"),
        )
    )
    alibi, shaw, near = (at_256(name) for name in ("ALiBi", "Shaw", "RoPE + window"))
    return [
        ("near context is enough", "chapter_08_cheaper",
         f"window of 128: {window[512]:.1f}× faster at 512, {window[8192]:.0f}× at 8,192"),
        ("no exact recall needed", "chapter_08_cheaper",
         f"linear: {linear[512]:.1f}× faster at 512, {linear[8192]:.0f}× at 8,192"),
        ("64 pairs to recall", "chapter_08_recall",
         f"full, grouped, latent: 1.00; linear {fixed:.2f}, window {window_only:.2f}"),
        ("four times the trained length", "chapter_07_positions",
         f"loss {alibi:.2f} ALiBi, {shaw:.2f} Shaw, {near:.2f} RoPE in windows of 16"),
        ("the same, and RoPE throughout", "chapter_16_long",
         f"loss {plain:.2f} as it is, {yarn:.2f} by YaRN, {further:.2f} after 30 steps"),
        ("one text, four devices", "chapter_16_speed",
         f"ring, zig-zag: {busiest(4, 8192):.2f} of one's processor time, 8,192 tokens"),
    ]  # fmt: skip


def _generation() -> list[Row]:
    runs = read("chapter_10_decode")["runs"]
    token = {run["way"]: run["milliseconds"] for run in runs if run["position"] == 1024}
    first = read("chapter_10_training")["runs"][0]
    through, size = first["loss_through"], first["bytes"]
    drafted = partial(one, "chapter_10_speculation", "times_faster", draft="bigrams", gamma=1)
    cost = partial(one, "chapter_17_cost", "microseconds")
    a_cache, a_state = cost(mechanism="softmax", position=65536), cost(mechanism="gated delta")
    alone, mixed = (
        recalled(name, "64") for name in ("gated delta, 4 heads", "gated delta, then softmax")
    )
    return [
        ("generation, one text", "chapter_10_decode",
         f"a cache: {token['no cache'] / token['MHA']:.0f}× faster at token 1,024"),
        ("the same, a long cache", "chapter_10_decode",
         f"one key head: {token['MHA'] / token['MQA']:.1f}× faster again at 1,024"),
        ("a cache too large", "chapter_10_training",
         f"int8: {size['float32'] / size['int8']:.1f}× smaller, "
         f"loss {through['int8'] - through['float32']:+.4f}"),
        ("a cheap draft, one text", "chapter_10_speculation",
         f"one token by bigrams: {drafted(greedy=False):.2f}× faster drawn, "
         f"{drafted(greedy=True):.2f}× greedy"),
        ("one text of 65,536 tokens", "chapter_17_cost",
         f"gated delta: {a_cache / a_state:.0f}× faster per token than a cache"),
        ("a state, and 64 pairs to recall", "chapter_17_recall",
         f"gated delta {alone:.2f}, with a softmax layer {mixed:.2f}"),
    ]  # fmt: skip


def _serving() -> list[Row]:
    served = read("chapter_10_serving")
    alone, many = (pick(served["runs"], "step_ms_a_token", batch=size) for size in (1, 64))
    ways = {run["way"]: run for run in served["batching"]}
    fixed, joined = ways["static"], ways["continuous, budget 64"]
    shared = pick(served["prefixes"], "time_to_apart", num_tokens=24, way="shared")
    return [
        ("generation, 64 texts at once", "chapter_10_serving",
         f"one batch: {alone / many:.1f}× less time per token"),
        ("32 requests of all lengths", "chapter_10_serving",
         f"continuous batching: {joined['time_to_static']:.2f} of the time, first token after "
         f"{joined['steps_to_first_token']:.0f} calls, not {fixed['steps_to_first_token']:.0f}"),
        ("16 prompts, one beginning", "chapter_10_serving",
         f"pages shared: {shared:.2f} of the time, 24 tokens each"),
    ]  # fmt: skip


def _training() -> list[Row]:
    behind, before = depth()
    return [
        ("twelve layers, a high rate", "chapter_12_stability",
         f"loss {before:.2f} pre-norm, {behind:.2f} post-norm, two seeds"),
    ]  # fmt: skip
