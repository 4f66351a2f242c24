# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
r"""
# Make attention cheaper, and measure what it costs

Plain attention compares every query with every key. Each variant in the list reads less, keeps less, or computes in another order.

Play for one minute: choose a variant and let $n$ grow. **Which of the three costs in the table stop growing, and for which variants?** At the end of the chapter you can explain it.
"""

# %% tags=["remove-input"]
from course_utils.measure import read_record
from course_utils.widgets import variant_explorer

opening = variant_explorer(read_record("chapter_08_cheaper")["runs"])
opening

# %% [markdown]
r"""
*You will be able to*

1. say of each cheaper attention which cost it lowers: parameters, operations, memory, or the bytes kept while generating;
2. write it so that it really costs less, and prove that by counting;
3. fit the exponent of a measured cost, and read off the length from which a variant is faster (further);
4. say what each variant gives up, and measure that too;
5. judge a published comparison table.

*You need* chapters 05 (heads) and 06 (masks). What is used of chapters 07, 09 and 10 (rotations, tiles, the cache) is explained where it comes up.

*Core path · further*
"""

# %% [markdown]
"""
How to read: before each experiment there is a question. Write your guess down, run the cell, then open the answer.

The core path, *keep and read less*, is about what language models use today. *The zoo, measured* comes after it and is further reading.

$n$ tokens, $H$ query heads, $H_{kv}$ heads of keys and values, width $d_k$ of one head. $d$ is the width of the *stream*: the vectors, one per token, that run through all layers ($d_{model}$ in papers).

Numbers that take long to measure were recorded beforehand by the scripts in `benchmarks/`. The cells below read those records, and repeat a small part of them live.
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
import math
import sys
import time
from copy import deepcopy
from functools import partial
from statistics import mean, median

import torch
from matplotlib import pyplot as plt
from torch.nn import functional as F
from tqdm import tqdm

from course_utils import attention, measure, plotting, positions
from course_utils.guessing import draw_guess, guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.models import RecallModel, judge_recall, recall_batch, train_recall
from course_utils.positions import rope_interleaved

plotting.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=3, sci_mode=False, linewidth=100)
costs = measure.read_record("chapter_08_cheaper")
recalls = measure.read_record("chapter_08_recall")

# %% [markdown]
r"""
## 1. Which cost?

"The quadratic attention complexity is often the first bottleneck", says text E (A to E are listed on the page *What is measured here*). Whether it is depends on what else the layer does: four projections take $8nd^2$ operations and a feed-forward layer $16nd^2$, against $4n^2d$ for scores and averages.

Text E's table of costs lists only attention and feed-forward; it leaves out the projections, and gives the memory as $n^2$ where $H$ heads hold $Hn^2$ numbers.

**Predict.** At a width of 512, from which length on does attention cost more than its own projections? And more than everything else together?
"""

# %% guess={"name": "08.share", "kind": "curve", "asks": "At a width of 512, what share of all operations of a layer does attention itself take, in per cent, for texts of these lengths?", "low": 0, "high": 100, "unit": "%", "x": [256, 1024, 2048, 3072, 8192, 32768], "across": "tokens", "reads": "{x} {_}.{_}.{_}.{_} {}%"}
guess("08.share")

# %%
d = 512
stream, square, wide = (torch.empty(*s, device="meta") for s in ((1, d), (d, d), (d, 4 * d)))
print("     n   attention   projections   feed-forward   (Gflop)   share of attention")
for n in (256, 1024, 2048, 3072, 8192, 32768):
    x = stream.expand(n, d)
    core = measure.count_flops(attention.scaled_dot_product_attention, x, x, x)
    projections = 4 * measure.count_flops(torch.matmul, x, square)
    feed_forward = 2 * measure.count_flops(torch.matmul, x, wide)
    share = core / (core + projections + feed_forward)
    print(f"{n:6} {core / 1e9:11.2f} {projections / 1e9:13.2f} {feed_forward / 1e9:14.2f}", end="")
    print(f" {share:30.0%}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

$4n^2d = 8nd^2$ at $n = 2d = 1024$; $4n^2d = 24nd^2$ at $n = 6d = 3072$. Below a few thousand tokens, cheaper attention leaves most of the cost as it is. Far above, attention is nearly the whole cost: 91% at 32,768.<!-- shown: 91 -->

</details>

There are four different costs, and each family in this chapter lowers some of them:

| cost | grows with | lowered by |
|---|---|---|
| parameters | $d^2$ | shared heads, latent vectors |
| operations | $n^2$ | windows, patterns, kernels, hashing |
| numbers held at once | $n^2$ | the same, and tiles: small pieces of the table, one at a time (chapter 09) |
| keys and values kept while generating | $n H_{kv}$ | shared heads, latent vectors, windows, kernels |
"""

# %% [markdown]
"""
**Check yourself.** A model answers one user at a time, with texts of 500 tokens. Its attention is replaced by one of linear cost. What does the user notice?

- A. answers come many times faster
- B. hardly anything
- C. the model needs far less memory for its parameters

<details><summary>Answer</summary>

- A is wrong: at 500 tokens attention is a small share of the operations.
- **B is right.** The section's table has the share: 8% at 256 tokens, 25% at 1024.<!-- shown: 8 25 -->
- C is wrong: the projections are the same.

</details>
"""

# %% [markdown]
"""
Before the parts, a map: what each query may read and, last, what heads may share.
"""

# %% tags=["remove-input"]
from course_utils.diagrams import diagram

diagram("08")

# %% [markdown]
r"""
## 2. Share keys and values

While a model generates, the keys and values of all earlier tokens are kept in a **cache**, so that they need not be computed again (chapter 10). Every new token reads all of them. **Multi-query attention** (MQA; Shazeer, 2019) keeps one head of keys and values for all query heads. **Grouped-query attention** (GQA; Ainslie et al., 2023) keeps $H_{kv}$ of them: 1 is MQA, $H$ is multi-head attention (MHA). Query head $h$ reads head $\lfloor h / (H/H_{kv}) \rfloor$: neighbours share.

**Predict.** Width 512, 8 heads, biases everywhere. MQA drops 7 of 8 key and value heads. What does that save: of the parameters, and of the operations?
"""


# %% guess={"name": "08.parameters", "kind": "number", "asks": "By how many per cent do the parameters of the four projections fall if {heads} heads share a single head of keys and values?", "low": 0, "high": 100, "unit": "%", "reads": " 1 {_} {}%", "varied": [{"heads": 8}, {"heads": 4}, {"heads": 32}, {"heads": 2}], "becomes": "50 * (heads - 1) / heads"}
guess("08.parameters")


# %%
def shared_parameters(num_kv_heads, d_model=512, num_heads=8):
    """Return how many numbers the four projections learn, biases included."""
    d_kv = d_model // num_heads * num_kv_heads
    return 2 * (d_model + 1) * (d_model + d_kv)


shared = partial(torch.empty, device="meta")
print("heads of keys and values   parameters   fewer   Gflop at 1024 tokens")
for num_kv_heads in (8, 4, 2, 1):
    key = shared(1, num_kv_heads, 1024, 64)
    call = partial(attention.grouped_query_attention, shared(1, 8, 1024, 64), key, key)
    count = shared_parameters(num_kv_heads)
    print(f"{num_kv_heads:24} {count:12,} {1 - count / shared_parameters(8):7.2%}", end="")
    print(f" {measure.count_flops(call) / 1e9:21.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

43.75% fewer parameters<!-- shown: 43.75 -->: the query and output projections stay as they are. The operations of attention itself do not change at all (only the key and value projections become cheaper): every query still meets every key, and a published table that gives MHA, GQA and MQA the same $O(n^2d)$ is right. What is saved is *reading*: the cache.

</details>

The cache holds keys *and* values of every layer, $2 \cdot \text{layers} \cdot H_{kv} \cdot d_k$ numbers per token.
"""

# %% [markdown]
r"""
### Exercise: `kv_cache_bytes`

*Difficulty · importance · minutes*

Write `kv_cache_bytes(num_layers, num_kv_heads, d_k, num_tokens, batch, bytes_per_element) -> int`.

- Keys and values are kept, both of width `d_k`, in every layer.
- `num_tokens` is the number of tokens of one sequence, `batch` the number of sequences.

The check uses sizes that are all different.
"""


# %% exercise="kv_cache_bytes"
def kv_cache_bytes(num_layers, num_kv_heads, d_k, num_tokens, batch, bytes_per_element):
    """Count the bytes of all keys and values that are kept."""
    ### BEGIN SOLUTION: Count the numbers kept of one token, then all tokens of all sequences.
    numbers_per_token = num_layers * num_kv_heads * (d_k + d_k)
    return numbers_per_token * num_tokens * batch * bytes_per_element
    ### END SOLUTION


# %%
check("kv_cache_bytes", kv_cache_bytes)
# hint("kv_cache_bytes")  # remove the first # for a hint; each call gives one more

# %% [markdown]
r"""
**Find the error.** Text D on grouped-query attention: "Used in LLaMA-2, Mistral"; on multi-query attention: "Used in: PaLM, StarCoder, Falcon". The sizes below are those of the published configurations and papers: layers, key/value heads, width of a head.

**Predict.** The 70-billion-parameter Llama 2 is ten times as large as the 7-billion one. Whose cache is larger, per token?
"""

# %% guess={"name": "08.cache", "kind": "order", "asks": "Llama 2 7B has 32 layers with 32 key/value heads each, 13B has 40 with 40, and 70B has 80 with 8: whose cache is largest per token, and in which order do the others follow?", "options": {"7B": "Llama 2 7B {}", "13B": "Llama 2 13B {}", "70B": "Llama 2 70B {}"}, "take": "descending"}
guess("08.cache")

# %%
models = {
    "Llama 2 7B": (32, 32, 128), "Llama 2 13B": (40, 40, 128), "Llama 2 70B": (80, 8, 128),
    "Mistral 7B": (32, 8, 128), "PaLM 540B": (118, 1, 256), "StarCoder 15B": (40, 1, 128),
    "Falcon 7B": (32, 1, 64), "Falcon 40B": (60, 8, 64),
}  # fmt: skip
print("16 bits each      KiB per token   GiB for 8 texts of 4096")
for name, sizes in models.items():
    one = measure.kv_cache_bytes(*sizes, num_tokens=1, batch=1, bytes_per_element=2)
    many = measure.kv_cache_bytes(*sizes, num_tokens=4096, batch=8, bytes_per_element=2)
    print(f"{name:14} {one / 2**10:16.0f} {many / 2**30:22.2f}")

# %% [markdown]
"""
<details><summary>Answer</summary>

The smaller model's: 512 KiB against 320.<!-- shown: 512 320 --> In the Llama 2 family only the 34B and 70B models group their heads; 7B and 13B are plain multi-head. And of the Falcons only the 7B shares a single head; the 40B has 8 groups.

</details>

Now the function. The usual listing copies each shared head for every query head that reads it, with `repeat_interleave`, and calls ordinary attention. The result is right, and the saving is gone: the copies are as large as the cache that was to be avoided. `expand` itself copies nothing, but the matrix product that follows it does, without saying so.
"""

# %% [markdown]
r"""
### Exercise: `grouped_query_attention`

*Difficulty · importance · minutes*

Write `grouped_query_attention(query, key, value, attn_mask=None) -> out`.

- `query` is `(B, H, L, d_k)`, `key` is `(B, H_kv, S, d_k)`, `value` is `(B, H_kv, S, d_v)`; the result is `(B, H, L, d_v)`.
- Query head `h` reads key/value head `h // (H / H_kv)`.
- `attn_mask` is boolean and broadcasts to `(B, H, L, S)`; a query that may see nothing gives zeros.
- No new tensor may hold keys or values once for each query head. Views are free; a broadcast inside a matrix product makes a hidden copy.

The check counts. SDPA may be used, but not its flag `enable_gqa`, which is the exercise itself.
"""


# %% exercise="grouped_query_attention"
def grouped_query_attention(query, key, value, attn_mask=None):
    """Attend with fewer heads of keys and values than of queries."""
    ### BEGIN SOLUTION: Give the queries an axis for the group, and fold it into their rows.
    batch, num_heads, length, d_k = query.shape
    num_kv_heads, num_keys = key.shape[1], key.shape[2]
    rows = query.reshape(batch, num_kv_heads, -1, d_k)  # (B, H_kv, group * L, d_k)
    scores = rows @ key.transpose(-2, -1) / math.sqrt(d_k)
    scores = scores.reshape(batch, num_heads, length, num_keys)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf)
    weights = attention.stable_softmax(scores).reshape(batch, num_kv_heads, -1, num_keys)
    return (weights @ value).reshape(batch, num_heads, length, -1)
    ### END SOLUTION


# %%
check("grouped_query_attention", grouped_query_attention)
# hint("grouped_query_attention")

# %% [markdown]
r"""
**What it gains while generating.** One new token, 16 query heads of width 64, recorded on one processor core. Three ways: the queries of a group as rows of one product (*ours*), SDPA's `enable_gqa`, and copies.

**Predict.** With 4 of 16 heads the cache is a quarter. Which of the three ways takes a quarter of the time?
"""

# %% guess={"name": "08.copies", "kind": "curve", "asks": "At 8192 tokens, how long does one new token take if shared heads are copied for all 16 query heads, in units of plain SDPA with 16 heads of keys and values?", "low": 0, "high": 4, "x": [1, 2, 4, 8, 16], "across": "heads of keys and values", "reads": {"record": "chapter_08_cheaper", "rows": "decoding", "where": {"length": 8192, "way": "repeated"}, "value": "over_sdpa_16", "by": "kv_heads"}}
guess("08.copies")

# %%
for length in (2048, 8192):
    quarter = measure.kv_cache_bytes(1, 4, 64, length, batch=1, bytes_per_element=4) / 2**20
    print(f"{length} tokens kept, in 4 heads {quarter:.0f} MiB; time, SDPA with 16 heads = 1")
    for way in ("ours", "enable_gqa", "repeated"):
        rows = [r for r in costs["decoding"] if (r["length"], r["way"]) == (length, way)]
        shown = "  ".join(f"{r['kv_heads']:2}: {r['over_sdpa_16']:.2f}" for r in rows)
        print(f"   {way:11} {shown}")

# %% mystnb={"image": {"alt": "Time for one new token against the number of key and value heads, 16 down to 1, at 8192 tokens, in units of plain SDPA with 16 heads. Ours falls to a fraction; enable_gqa falls and levels off; copies stay at about twice the time."}}
axes = plotting.new_figure(
    "Fewer heads to read take less time,\nunless they are copied first",
    "heads of keys and values, for 16 query heads",
    "time, plain SDPA = 1",
)
for way, colour in (("repeated", "orange"), ("enable_gqa", "pink"), ("ours", "blue")):
    rows = [r for r in costs["decoding"] if (r["length"], r["way"]) == (8192, way)]
    heads, share = ([r[name] for r in rows] for name in ("kv_heads", "over_sdpa_16"))
    shift = {"enable_gqa": 0.1, "ours": 0.0}.get(way, 0)
    plotting.line(axes, heads, share, way, colour, (0.9, share[-1] + shift), "o-")
plotting.power_axis(axes, [1, 2, 4, 8, 16])
draw_guess(axes, "08.copies")
_ = axes.set(xlim=(18, 0.3), ylim=(0, None))

# %% [markdown]
r"""
<details><summary>Answer</summary>

None exactly: with 4 heads ours takes 0.29 at 2048 tokens and 0.48 at 8192<!-- shown: 0.29 0.48 -->, and it alone keeps falling down to a single head: what is read once serves a whole group, as rows of one matrix product. `enable_gqa` soon levels off. Copying never gains: it writes the large tensor that was to be avoided. Quartering the cache helps most when the quarter fits into the processor's own cache: it is 4 MiB at 2048 tokens, but 16 MiB at 8192.<!-- shown: 4 16 -->

</details>
"""

# %% [markdown]
r"""
So text D's "2-4x speedup" of multi-query attention and, further down, 1.3 to 1.5 times can each be right or wrong: it depends on the code, on the length, and on whether one new token or a whole text is meant. A whole text costs the same operations as before.

What of the promised "minimal quality loss"? Sections 3 and 5 measure it.
"""

# %% [markdown]
r"""
## 3. Keep one short vector

**Multi-head latent attention** (MLA; DeepSeek-AI, 2024) keeps neither keys nor values, but one short vector $c$ of width $r$ per token, the **latent** vector. Every head makes its own key and value from it: $k = W_{uk}^\top c$, $v = W_{uv}^\top c$. While generating, neither has to be made:

$$q\cdot(W_{uk}^\top c) = (W_{uk}\,q)\cdot c .$$

The matrix moves to the query, of which there is one, instead of to all the keys. In the same way the average of the values is $W_{uv}^\top$ times the average of the $c$. So the cache itself serves as the keys and values of a multi-query attention.
"""

# %% [markdown]
r"""
**Positions get in the way.** RoPE (chapter 07) rotates queries and keys by angles that grow with their positions: the score is $q\cdot R_t W_{uk}^\top c$, with a rotation $R_t$ for the distance $t$. The matrix cannot move past a rotation that is different for every pair; each key would have to be made and rotated after all.

**Decoupled RoPE** divides the work. The scores through $c$ have no rotation at all. Besides $c$, each token keeps one short key for all heads; this key is rotated, and each query has as many rotated features of its own. The score is the sum of the two dot products: one says *what*, the other *where*.
"""

# %% [markdown]
r"""
**Predict.** Width 512, 8 heads, $r = 128$, 32 rotated features. What does a token keep, compared with MHA and MQA?
"""

# %% guess={"name": "08.latent", "kind": "number", "asks": "Latent attention with 8 heads, latent vectors of {r} numbers and {rotated} rotated features: how many numbers does one layer keep per token?", "low": 10, "high": 10000, "log": true, "unit": "numbers", "reads": "latent: kept per token {}", "varied": [{"r": 128, "rotated": 32}, {"r": 256, "rotated": 32}, {"r": 512, "rotated": 64}], "becomes": "r + rotated"}
guess("08.latent")

# %%
torch.manual_seed(0)
latent = attention.LatentAttention(512, 8, d_latent=128, d_rope=32).double()
x = torch.randn(1, 300, 512, dtype=torch.float64)
made = latent(x, attention.causal_mask(300, 300))
cache = latent.compress(x)
absorbed = latent.decode(x[:, -1:], cache)
print("the two forms agree:", torch.allclose(made[:, -1:], absorbed))
numbers = sum(weight.numel() for weight in latent.parameters())
print("latent: kept per token", cache.shape[-1], f"   parameters {numbers:,}")
for name, kv_heads in (("MHA", 8), ("2 of 8", 2), ("MQA", 1)):
    without_bias = 2 * 512 * 512 * (8 + kv_heads) // 8
    print(f"{name:6}: kept per token {2 * 64 * kv_heads:4}   parameters {without_bias:,}")
deepseek = {"latent": 512 + 64, "as many heads without it": 2 * 128 * 128}  # numbers per layer
for name, kept in deepseek.items():
    print(f"DeepSeek-V2, {name}: {kept * 60 * 2 / 2**10:,.1f} KiB per token")

# %% [markdown]
r"""
<details><summary>Answer</summary>

160, against 1024 for MHA and 128 for MQA.<!-- shown: 160 1024 128 --> But unlike in MQA, every head has keys and values of its own. DeepSeek-V2 keeps $512 + 64$ numbers per layer, which is 67.5 KiB per token in its 60 layers at 16 bits; keys and values for its 128 heads would need 3,840 KiB.<!-- shown: 67.5 3840 -->

</details>

**Predict.** One new token, 4096 tokens kept: which is quickest, and what happens if keys and values are made from the latent vectors at every step? (Sixteen heads of width 64; a latent vector of 256 numbers.)
"""


# %%
def cpu_milliseconds(calls, rounds=5):
    """Return the median processor time of each call; the calls take turns in every round."""
    spent = {name: [] for name in calls}
    with torch.inference_mode():
        for _ in range(rounds):
            for name, call in calls.items():
                start = time.process_time()
                call()
                spent[name].append(1e3 * (time.process_time() - start))
    return {name: median(times) for name, times in spent.items()}


# %%
generator = torch.Generator().manual_seed(0)
draw = partial(torch.randn, generator=generator)
query, key, value = draw(1, 16, 1, 64), draw(1, 16, 4096, 64), draw(1, 16, 4096, 64)
cache, W_uk, W_uv = draw(1, 4096, 256), draw(16, 256, 64) / 16, draw(16, 256, 64) / 16
grouped, made = attention.grouped_query_attention, (query, cache, W_uk, W_uv)
calls = {
    f"{kv} of 16": partial(grouped, query, key[:, :kv].clone(), value[:, :kv].clone())
    for kv in (16, 4, 1)
} | {
    "latent": partial(attention.absorbed_latent_attention, *made),
    "latent, keys made": partial(attention.latent_attention, *made),
}
for name, kept in zip(calls, (2048, 512, 128, 256, 256), strict=True):
    print(f"{name:18} kept per token {kept:5}", end="")
    print(f"   Mflop {measure.count_flops(calls[name]) / 1e6:7.1f}")

# %% tags=["nbval-ignore-output"] reason="a timing"
times = cpu_milliseconds(calls)
print("time, MHA = 1")
print("   ".join(f"{name}: {one / times['16 of 16']:.2f}" for name, one in times.items()))

# %% [markdown]
"""
<details><summary>Answer</summary>

MQA. Shared heads save reading, not operations; the latent form even needs four times as many<!-- shown 2: 68.2 16.8 -->, but reads far fewer numbers than plain MHA does. Making keys and values of the whole past for one new token costs many times what plain MHA does: what makes the latent form cheap is not the short vector alone, but that it is never unfolded.

</details>

More bytes than MQA, and slower: why latent attention, then? Its promise is quality.
"""

# %% [markdown]
r"""
**A task that has one right answer**: a list of pairs, key and value, then the keys in a new order. *Which value came with this key?*

`k₁ v₁ k₂ v₂ k₃ v₃ · k₃ → v₃, k₁ → v₁, …`

It is called associative recall, and language models do it whenever a name comes back (Arora et al., 2024). Small models of two layers learn it on lists of 2 to 16 pairs. All have the same number of parameters: what narrow keys and values save goes into the feed-forward layers. Each token is also given its predecessor, so that a value knows its key.
"""

# %%
tokens, wanted = recall_batch(3, 1, torch.Generator().manual_seed(3))
pairs, asked = tokens[0, :6].view(3, 2).tolist(), tokens[0, 6:].tolist()
print("pairs ", "  ".join(f"k{key} v{value - 64}" for key, value in pairs))
answers = zip(asked, wanted[0].tolist(), strict=True)
print("asked ", "  ".join(f"k{key} → v{value}" for key, value in answers))

# %% [markdown]
"""
**Predict.** MQA keeps one key and one value of width $d/H$; to keep less, it needs more and narrower heads. Latent attention keeps 4 heads of full width and shortens $c$. Which of them recalls more of 64 pairs, four times as many as in training, at the same number of bytes per token?
"""


# %%
def recalled(model):
    """Return what each of a model's seeds recalls, by number of pairs."""
    runs = [run["recalled"] for run in recalls["runs"] if run["model"] == model]
    return {int(pairs): [run[pairs] for run in runs] for pairs in runs[0]}


def spread(samples):
    """Write the mean of several runs, and their range."""
    return f"{mean(samples):.2f} ({min(samples):.2f}-{max(samples):.2f})"


kept = {  # numbers per token and layer
    "full, 4 heads": 128, "grouped-query, 2 of 4 heads": 64, "multi-query, 1 of 4 heads": 32,
    "multi-query, 1 of 8 heads": 16, "multi-query, 1 of 16 heads": 8,
    "latent of 32, 4 heads": 32, "latent of 16, 4 heads": 16, "latent of 8, 4 heads": 8,
    "latent of 8, 16 heads": 8,
}  # fmt: skip
print("two layers, 16 bits each      bytes per token   recalled of 16 pairs     of 64 pairs")
for name, numbers in kept.items():
    few, many = recalled(name)[16], recalled(name)[64]
    print(f"{name:28} {2 * 2 * numbers:14} {spread(few):>23} {spread(many):>19}")

# %% mystnb={"image": {"alt": "Share recalled of 64 pairs against bytes kept per token, 32, 64 and 128. Latent attention with four heads stays at one. Multi-query attention equals it at 128 and 64 bytes and falls to 0.54 at 32, where its seeds differ widely.<!-- shown: 0.54 -->"}}
axes = plotting.new_figure(
    "At 32 bytes per token a latent vector still recalls,\nnarrow shared heads no longer do",
    "bytes kept per token", "share recalled of 64 pairs",
)  # fmt: skip
for name, colour, style, at in (
    ("latent", "blue", "o-", (36, 0.94)), ("multi-query", "orange", "s--", (45, 0.55)),
):  # fmt: skip
    models = [model for model in list(kept)[:-1] if model.startswith(name)]
    samples = [recalled(model)[64] for model in models]
    plotting.band(axes, [4 * kept[model] for model in models], samples, name, colour, at, style)
plotting.power_axis(axes, [32, 64, 128])
_ = axes.set(ylim=(0, 1.08), xlim=(28, 150))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Both recall everything, or nearly so, at 128 and 64 bytes. At 32 bytes multi-query attention, whose heads are now 4 wide, falls to 0.54, with a wide range; latent attention still recalls everything.<!-- shown: 128 64 32 0.54 -->

The vector alone does not do it: with 16 heads of width 4, eight latent numbers recall only 0.37.<!-- shown: 0.37 --> What latent attention gains is that the bytes kept no longer set the width of a head: all of its 4 heads make keys of width 16 from the same 8 numbers.

The task is a toy, and one head would be enough for it. On language models DeepSeek-AI (2024) report that multi-query heads lose quality, and that latent attention does better than full multi-head attention.

</details>
"""

# %% [markdown]
r"""
## 4. A window

Most of what a token needs is near it. A **window** lets each query see only the last $w$ keys, its own among them (Child et al., 2019; Jiang et al., 2023). A listing of text D builds the mask of such a window, fills the full table of scores with it, and prints that this costs $O(n\cdot w)$ instead of $O(n^2)$. The line is a string constant in the program.

Count instead: a mask on all scores, and a *banded* computation, which only ever makes the scores near the diagonal.

**Predict.** As $n$ doubles, how do the operations and the largest tensor of each grow?
"""

# %%
window = 128
print("           mask on all scores         banded                  (width 64, window 128)")
print("     n   Mflop   largest tensor   Mflop   largest tensor")
for n in (512, 1024, 2048, 4096):
    tensors = torch.zeros(3, 1, 1, n, 64).unbind()
    dense = (attention.scaled_dot_product_attention, *tensors, attention.window_mask(n, n, window))
    banded = (attention.sliding_window_attention, *tensors, window)
    print(f"{n:6}", end="")
    for call in (dense, banded):
        flops, largest = measure.count_flops(*call) / 1e6, measure.largest_tensor(*call)
        print(f" {flops:7.0f} {largest:16,}", end="" if call is dense else "\n")

# %% [markdown]
"""
<details><summary>Answer</summary>

With the mask, both numbers grow by a factor of 4 at each doubling: it computes every score and then hides most of them. A mask saves nothing by itself (chapter 06). The operations of the banded computation double, and its largest tensor is the output.

</details>

How the band is computed: in runs of 64 queries. Each run needs the keys from the first query's window up to its own last key, $64 + w - 1$ of them, and the same small mask serves every run.

An alternative gathers $w$ keys for *each* query into a tensor of $n \cdot w \cdot d_k$ numbers. It is linear in $n$ too, but copies each key $w$ times: right complexity, poor constant.
"""

# %% [markdown]
r"""
### Exercise: `sliding_window_attention`

*Difficulty · importance · minutes*

Write `sliding_window_attention(query, key, value, window) -> out`.

- All are `(B, H, L, d)`; the result has the shape of `value`.
- Query `i` sees the keys `j` with `i - window < j <= i`: causal, and its own key counts.
- `window` may exceed `L`; then this is causal attention.
- At a fixed window, neither the largest tensor nor the operations may grow faster than `L`.

The check compares values at lengths that the runs do not divide, and counts at two lengths. Blocks handed to SDPA are welcome.
"""


# %% exercise="sliding_window_attention"
def sliding_window_attention(query, key, value, window):
    """Attend to the last `window` keys, without ever making a table of all pairs."""
    ### BEGIN SOLUTION: Walk in runs of queries; give each run only the keys that it may see.
    length, run, outs = query.shape[-2], 64, []
    for start in range(0, length, run):
        stop, first = min(start + run, length), max(0, start - window + 1)
        place = torch.arange(first, stop, device=query.device)
        own = torch.arange(start, stop, device=query.device)[:, None]
        seen = (place <= own) & (place > own - window)
        near = (part[..., first:stop, :] for part in (key, value))
        outs.append(attention.scaled_dot_product_attention(query[..., start:stop, :], *near, seen))
    return torch.cat(outs, dim=-2)
    ### END SOLUTION


# %%
check("sliding_window_attention", sliding_window_attention)
# hint("sliding_window_attention")

# %% [markdown]
r"""
**How many keys is a window of 256?** Four conventions are in print: half of $w$ to each side (Longformer; in text B's code `w // 2`); $w$ to each side (text D); the last $w$ keys, the query's own included (Hugging Face's Mistral); and the $w$ keys before the query's own (Mistral's own code; chapter 06 compares the two).

**Predict.** How many keys does an inner query see under each, and which of the masks suit a model that generates text?
"""

# %%
back = torch.arange(2048)[:, None] - torch.arange(2048)
conventions = {
    "w // 2 to each side": back.abs() <= 256 // 2,
    "w to each side": back.abs() <= 256,
    "the last w, causal": (back >= 0) & (back < 256),
    "its own and w before": (back >= 0) & (back <= 256),
}
for name, mask in conventions.items():
    print(f"{name:20} {mask[1024].sum():4} keys; sees the future: {bool(mask.triu(1).any())}")

# %% [markdown]
"""
<details><summary>Answer</summary>

257, 513, 256 and 257.<!-- shown: 257 513 256 257 --> Only the last two are causal. The first, `create_local_attention_mask` in text B, lets every token see 128 of its successors; in a language model it must be combined with a causal mask. The text's example also calls a `model` that is never defined.

</details>

**Does a window forget everything before it?** One layer does. But the next layer reads tokens that have read their own windows.

**Predict.** How far back does the last token reach through eight layers with a window of 4?
"""

# %% guess={"name": "08.reach", "kind": "number", "asks": "With a window of {window}, its own key counted, how many tokens can influence the last one after {layers} layers?", "low": 1, "high": 1000, "log": true, "unit": "tokens", "reads": "layers 8: {} keys", "varied": [{"window": 4, "layers": 8}, {"window": 16, "layers": 4}, {"window": 128, "layers": 3}], "becomes": "layers * (window - 1) + 1"}
guess("08.reach")

# %%
mask = attention.window_mask(64, 64, 4).float()
reach = mask.clone()
for layer in range(1, 9):
    print(f"layers {layer}: {int((reach[-1] > 0).sum()):2} keys reach the last token")
    reach = reach @ mask

# %% [markdown]
r"""
<details><summary>Answer</summary>

25: each layer adds $w - 1 = 3$. So $\ell$ layers reach $\ell(w-1) + 1$ tokens. Reaching is not recalling: what comes from afar has passed through every layer's vectors on the way. Section 5 shows how little of it may survive.

</details>

**Longformer** (Beltagy et al., 2020) adds $g$ **global** tokens, which see everything and are seen by all: any two tokens are then two steps apart, at a cost of $n \cdot (w + g)$. Section 8 has this and other patterns.

The record compares the time of the banded computation with that of PyTorch's own functions.

**Predict.** SDPA with a window mask hides far more than SDPA with `is_causal=True`. Is it faster?
"""

# %% guess={"name": "08.masked", "kind": "order", "asks": "Attention over 16,384 tokens, with a window of 128: in which order are these three done, fastest first?", "options": {"SDPA with the window as a mask": "window 128, 16384 tokens {_}.{_} {}", "SDPA with is_causal=True, no window": "window 128, 16384 tokens {}", "the banded window": "banded window = {}"}, "take": "ascending"}
guess("08.masked")

# %%
print("time, banded window = 1           causal SDPA   SDPA with mask   compiled FlexAttention")
for row in costs["window"]:
    slower = row["times_slower"]
    flex = f"{slower['flex']:.1f}" if "flex" in slower else "-"
    print(f"window {row['window']:4}, {row['length']:6} tokens {slower['causal']:16.1f}", end="")
    print(f" {slower['masked']:14.1f} {flex:>16}")
laws = {row["lengths"]: row for row in costs["exponents"] if row["what"] == "sliding window"}
law, runs = laws["4096 on"], [run for run in costs["runs"] if run["what"] == "sliding window"]
print(f"window from 4096 on: exponent of time {law['milliseconds']:.2f},", end="")
print(f" of peak memory {law['peak_bytes']:.2f}; peak at {runs[-1]['length']} tokens", end="")
print(f" {runs[-1]['peak_bytes'] / 2**20:.0f} MiB, of which the output takes 16")

# %% [markdown]
"""
<details><summary>Answer</summary>

No, it is slower at every length. A flag lets the function skip what is hidden: half of all pairs. A mask is data: every score is computed and every entry of the mask is read, and the mask is as large as the table of scores that SDPA avoids.

With the narrow window the banded computation is 26.9 times as fast as causal SDPA at 16,384 tokens<!-- shown: 26.9 -->, and with a window of 512 it is faster from 2048 tokens on.

</details>
"""

# %% [markdown]
r"""
## 5. What was given up

The recall task of section 3 again, now with the window, and with a hybrid of the kind that many language models use: a window in the first layer, shared heads that see everything in the second.

**Predict**, for 16 pairs and for 64, four times as many as in training: how much do full attention, shared heads, a window of 16 tokens, and the hybrid recall?
"""

# %% guess={"name": "08.forgets", "kind": "curve", "asks": "Two layers with windows of 16 tokens have learned from lists of 2 to 16 pairs: what share of the values do they recall from lists of these lengths?", "low": 0, "high": 1, "x": [4, 16, 32, 64], "across": "pairs in the list", "reads": "{x} pairs: {}"}
guess("08.forgets")

# %%
names = ("full, 4 heads", "grouped-query, 2 of 4 heads", "multi-query, 1 of 4 heads",
         "latent of 32, 4 heads", "window of 16, 4 heads", "window of 16, then grouped-query")  # fmt: skip
parameters = {run["parameters"] for run in recalls["runs"]}
print(f"parameters of every model: {parameters}; mean and range of three seeds")
print(f"{'share recalled of':34}" + "".join(f"{n:9} pairs" for n in (4, 16, 32, 64)))
for name in names:
    print(f"{name:34}", "  ".join(spread(seeds) for seeds in recalled(name).values()))

# %% mystnb={"image": {"alt": "Share of values recalled against the number of pairs, 4 to 64. Full attention, and a window followed by a layer of shared heads, stay at one. Two layers of windows of 16 fall from one at 4 pairs almost to chance at 64."}}
axes = plotting.new_figure(
    "Sharing heads costs nothing here;\na window forgets, unless one layer sees all", "pairs in the list",
    "share recalled",
)  # fmt: skip
for model, name, colour, at, style in (
    ("full, 4 heads", "full, shared,\nor a hybrid", "orange", (71, 1.0), "s--"),
    ("window of 16, 4 heads", "window of 16", "blue", (71, 0.04), "o-"),
):
    samples = recalled(model)
    plotting.band(axes, list(samples), list(samples.values()), name, colour, at, style)
axes.axvline(16, color=plotting.QUIET, linewidth=1)
axes.text(16.6, 1.08, "longest list in training", color=plotting.QUIET, fontsize=10)
plotting.power_axis(axes, [4, 16, 32, 64])
draw_guess(axes, "08.forgets")
_ = axes.set(ylim=(0, 1.14), xlim=(3.6, 190))
print("window of 16  ", *(f"{n} pairs: {mean(seeds):.2f}  " for n, seeds in samples.items()))

# %% [markdown]
r"""
<details><summary>Answer</summary>

- Full attention, grouped and multi-query recall everything, from lists four times as long as in training. On this task the minimal loss is none; the papers report a small one on real text, and groups were introduced to make up for it.
- The window knows what it still sees. Two layers of it reach $2 \cdot 15$ tokens back, and most of a longer list lies before that.
- One layer that sees everything is enough here, and the hybrid recalls everything.

</details>

The same training live, for one seed of the hybrid:
"""

# %% tags=["nbval-ignore-output"] reason="training differs in the last digits between machines"
torch.manual_seed(0)
hybrid = RecallModel("full", num_heads=4, num_kv_heads=2)
hybrid.layers[0] = RecallModel("window").layers[0]
bar = partial(tqdm, desc="hybrid", ncols=70, mininterval=2, file=sys.stdout)
train_recall(hybrid, steps=1000, seed=0, progress=bar)
found = judge_recall(hybrid, (4, 16, 32, 64))
print("live    ", {pairs: round(share, 2) for pairs, share in found.items()})
print("recorded", {pairs: round(s[0], 2) for pairs, s in recalled(names[-1]).items()})

# %% [markdown]
r"""
**Check yourself.** Why does the window's recall fall as the list grows, though its two layers reach as far as before?

<details><summary>Answer</summary>

Because they do not reach farther. The number of pairs within reach of a question stays about the same; their share of all pairs shrinks.

</details>
"""

# %% [markdown]
r"""
**In a released model.** SmolLM2-135M-Instruct (chapter 20 opens it) was trained with full attention. Recorded: its loss on five texts, at tokens 96 to 255, if every layer sees a window only.

**Predict.** 64 keys: the last 64, or the last 63 and the first token of the text. Which is better, and does any other token do?
"""

# %% guess={"name": "08.first", "kind": "choice", "asks": "A model was trained with full attention and may now see only 64 keys: with which is its loss lowest?", "options": {"the last 64": {"record": "chapter_20_sink", "rows": "windows", "value": "64"}, "the last 63 and the first of the text": {"record": "chapter_20_sink", "rows": "windows", "value": "63 and the first"}, "the last 63 and another early token": {"record": "chapter_20_sink", "rows": "windows", "value": "63 and token 5"}}, "take": "smallest"}
guess("08.first")

# %%
inside = measure.read_record("chapter_20_sink")["windows"]
print(f"{'':18}", *(f"{one['text']:>12}" for one in inside), "   mean")
for keys in ("all", "64", "63 and the first", "63 and token 5"):
    found = [one[keys] for one in inside]
    print(f"{keys:18}", *(f"{loss:12.2f}" for loss in found), f"{sum(found) / 5:8.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The last 64 cost 1.4 nats: 4.26 instead of 2.86; with the first token instead of the oldest of them it is 3.48, with token 5 4.46<!-- shown: 4.26 2.86 3.48 4.46 -->. In four of the five texts the first token takes back two thirds of the loss or more, in "network" only a fifth. So most of what is lost here is not text: it is the one key on which many heads rest while they have nothing to say (section 22, and chapter 20). A window with such a token is a cheap repair for a model that was trained without a window. It brings no forgotten word back.

</details>
"""

# %% [markdown]
r"""
## 6. A published table, measured again

The table is text D's. Its columns: time and space as formulas; quality as *Excellent* (MHA, Flash), *Very good* (MQA, GQA), *Good* (window, learned sparsity), *Fair* (linear); and speeds at 2048 tokens. The last two come without an experiment.

*Flash* is exact attention computed in tiles, as PyTorch's SDPA does it here (chapter 09). *Linear* replaces the softmax so that the whole past fits into one table of fixed size (section 10).

**Predict.** Which of its four speeds survive? MQA 1.3 to 1.5 times faster, GQA 1.1 to 1.3, linear 2 to 4, Flash 2 to 4.
"""


# %%
def milliseconds(what):
    """Return the recorded times of a variant, by length."""
    return {run["length"]: run["milliseconds"] for run in costs["runs"] if run["what"] == what}


# %%
decode = {(r["kv_heads"], r["way"]): r["over_sdpa_16"] for r in costs["decoding"]
          if r["length"] == 2048}  # fmt: skip
written, sdpa, linear = (
    milliseconds(name)[2048] for name in ("softmax, written out", "SDPA", "linear")
)
print("2048 tokens; times faster            printed     measured")
print(f"MQA, one new token                   1.3-1.5     {1 / decode[1, 'ours']:.1f}")
print(f"GQA, 4 of 16 heads, one new token    1.1-1.3     {1 / decode[4, 'ours']:.1f}")
print(f"MQA, keys copied for every head      1.3-1.5     {1 / decode[1, 'repeated']:.1f}")
print(f"linear, against written-out softmax  2-4         {written / linear:.1f}")
print(f"linear, against SDPA                 2-4         {sdpa / linear:.1f}")
print(f"tiles (SDPA), against written out    2-4         {written / sdpa:.1f}")

# %%
rows = {row["what"]: row for row in costs["exponents"] if row["lengths"] == "512 to 8192"}
table = {  # model of the recall task, its kin among the timed variants, numbers kept
    "full, 4 heads": ("SDPA, causal", "512 n"),
    "multi-query, 1 of 4 heads": ("grouped-query, 1 of 4 heads", "128 n"),
    "latent of 32, 4 heads": ("latent, absorbed, width 128", "128 n"),
    "window of 16, 4 heads": ("sliding window", "512 x 128"),
    "linear, 4 heads": ("causal linear, chunks", "4 x 64 x 65"),
}
print("4 heads of 64  exponent of    kept while      recalled of")
print("               time           generating      16    64 pairs")
for model, (twin, numbers) in table.items():
    share, exponent = recalled(model), rows[twin]["milliseconds"]
    print(f"{model.split(',')[0]:18} {exponent:4.2f} {numbers:>16}", end="")
    print(f" {mean(share[16]):11.2f} {mean(share[64]):6.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

None of the four is a property of the mechanism. Each depends on what is compared (a new token or a whole text), with what (a written-out softmax or PyTorch's own), how it is written, and how long the text is. Quality depends on the task: *Good* is 0.03 for a window where the answer is far back<!-- shown: 0.03 -->, and would be 1 where it is near.

The table's $O(nwd)$ for the sliding window is right for a banded computation; the class printed below it is quadratic. Its $O(nd)$ of space for linear attention leaves out the state, which is constant in $n$.

</details>
"""

# %% [markdown]
r"""
Two more answers to long texts are not variants of attention at all: look up passages in a store and read only those (retrieval, chapter 16), and keep fewer activations in training (checkpointing, chapter 12).
"""

# %% [markdown]
r"""
## 7. Which one?

| you need | take | you give up |
|---|---|---|
| texts of a few thousand tokens | exact attention, tiled (chapter 09) | nothing |
| many users, long answers | grouped-query heads | nothing seen in section 5 |
| a small cache per token | a latent vector, or multi-query heads | operations, or narrow heads |
| long texts in which nearby tokens matter | windows, with a few full layers | recall beyond their reach |
| constant memory | a causal kernel, few wide heads (section 10) | recall beyond its state |
| flat weights, not causal | random features (11), projected keys (12) | sharp attention |
| large images | cross-covariance (14) | tokens looking at tokens |

And measure: your lengths, your machine, a task that shows what is lost.
"""

# %% [markdown]
"""
## Yours: the hybrid with your window and your heads

The hybrid of section 5, trained there with the course's functions, reads its lists with yours: your window in the first layer, your shared heads in the second. Then it is trained for a dozen more steps, so that your gradients count too. In float64, right functions give the same numbers to rounding.
"""


# %%
def reread(parts):
    """Return what the trained hybrid keeps, recalls and learns with other functions inside."""
    model = deepcopy(hybrid).double()
    first, second = model.layers
    first.attend = lambda q, k, v: parts.sliding_window_attention(q, k, v, 16)
    second.attend = lambda q, k, v: parts.grouped_query_attention(
        q, k, v, attention.causal_mask(q.shape[-2], q.shape[-2])
    )
    found = judge_recall(model, (4, 16, 64), sequences=16)
    bytes_kept = parts.kv_cache_bytes(1, 2, 16, 192, 1, 8)
    losses = train_recall(model, steps=12, seed=1, learning_rate=1e-3)
    return {"recalled": torch.tensor([*found.values()]), "bytes of layer 2": bytes_kept,
            "losses": torch.tensor(losses)}  # fmt: skip


# %% tags=["nbval-ignore-output"] reason="a timing, and a model trained above"
parts = yours("kv_cache_bytes", "sliding_window_attention", "grouped_query_attention")
note = parts.run(reread)
note

# %% tags=["nbval-ignore-output"] reason="a model trained above"
print("recalled of 4, 16 and 64 pairs", note.result["recalled"])
print(f"loss of a dozen more steps {note.result['losses'].mean():.4f};", end="")
print(f" kept by layer 2 for 192 tokens: {note.result['bytes of layer 2']:,} bytes")

# %% [markdown] tags=["further"]
"""
## The zoo, measured

Further reading: attention that leaves pairs out, replaces the softmax, or summarises the keys. Few of these are in today's language models; each has an idea that comes back elsewhere, and a published claim to measure. The sections can be read in any order; 15 and 16 compare them all.
"""

# %% [markdown] tags=["further"]
r"""
## 8. Fixed patterns

Child et al. (2019) keep long range without keeping all pairs. Of two heads, one looks at the last $s$ keys and one at every $s$-th key before: the **strided** pattern. Or one looks at its own block and one at the last keys of every earlier block, which have to summarise their block: the **fixed** pattern. One head can also *combine* both sets, as below. In two steps every token reaches every earlier one. With $s \approx \sqrt n$, each query sees about $2\sqrt n$ keys, hence $O(n\sqrt n)$.
"""

# %% [markdown]
r"""
### Exercise: `strided_mask`

*Difficulty · importance · minutes*

Write `strided_mask(num_positions, stride) -> mask`, boolean, True = may attend.

- Causal.
- Query `i` sees key `j` where `i - j < stride`, or where `i - j` is a multiple of `stride`.
"""


# %% exercise="strided_mask"
def strided_mask(num_positions, stride):
    """Return who sees whom: the last keys, and every stride-th one before them."""
    ### BEGIN SOLUTION: Look at how far back each key lies, and join the two heads' sets.
    positions = torch.arange(num_positions)
    distance = positions[:, None] - positions[None, :]
    near, far = distance < stride, distance.remainder(stride) == 0
    return torch.logical_and(distance >= 0, torch.logical_or(near, far))
    ### END SOLUTION


# %%
check("strided_mask", strided_mask)
# hint("strided_mask")

# %% [markdown]
r"""
### Exercise: `fixed_mask`

*Difficulty · importance · minutes*

Write `fixed_mask(num_positions, block, summary) -> mask`, boolean, True = may attend.

- Causal.
- Query `i` sees key `j` of its own block (`i // block == j // block`), and the last `summary` keys of every block.
"""


# %% exercise="fixed_mask"
def fixed_mask(num_positions, block, summary):
    """Return who sees whom: a query's own block, and the summaries of all blocks."""
    ### BEGIN SOLUTION: Compare block numbers, and find each key's place in its block.
    positions = torch.arange(num_positions)
    number, place = positions // block, positions % block
    own_block = number[:, None] == number[None, :]
    sums_up = (place >= block - summary)[None, :]
    return (own_block | sums_up).tril()
    ### END SOLUTION


# %%
check("fixed_mask", fixed_mask)
# hint("fixed_mask")

# %% mystnb={"image": {"alt": "Six tables of who sees whom among 32 tokens, a row per query, blue where it may look. Window: a band below the diagonal. Longformer: a band to both sides, two full rows and columns. BigBird: the same with scattered blocks. Strided: a band, and lines parallel to it. Fixed: triangles along the diagonal, and vertical lines. Hash buckets: scattered entries below the diagonal."}}
generator = torch.Generator().manual_seed(2)
back = torch.arange(32)[:, None] - torch.arange(32)
both_ways = (back.abs() <= 3) | (torch.arange(32) < 2) | (torch.arange(32) < 2)[:, None]
scattered = (torch.rand(8, 8, generator=generator) < 0.12).repeat_interleave(4, 0)
vectors = torch.randn(32, 8, generator=generator)
bucket = attention.lsh_buckets(vectors, torch.randn(8, 2, generator=generator))
patterns = {
    "window": attention.window_mask(32, 32, 6), "window + global": both_ways,
    "... + random": both_ways | scattered.repeat_interleave(4, 1),
    "strided": attention.strided_mask(32, 6), "fixed": attention.fixed_mask(32, 6, 1),
    "hash buckets": (bucket[:, None] == bucket) & (back >= 0),
}  # fmt: skip
figure, panels = plt.subplots(2, 3, figsize=(plotting.WIDTH, 4.4))
plotting.headline(figure, "Six patterns: blue = may look")
for panel, (name, mask) in zip(panels.flat, patterns.items(), strict=True):
    panel.imshow(mask, cmap=plotting.MASK_COLOURS, vmin=0, vmax=1)
    panel.set(xticks=[], yticks=[], title=f"{name}\n{mask.float().mean():.0%} of all pairs")
figure.supxlabel("key", fontsize=12)
_ = figure.supylabel("query", fontsize=12)

# %% [markdown]
r"""
**Predict.** Set the stride to $\sqrt n$. Which exponent does the number of pairs have? And if the machine computes whole blocks of $16 \times 16$, touched or not at all: what share of the blocks does each pattern touch?
"""

# %%
lengths = [256, 576, 1024, 2304, 4096]
made = {
    "strided": lambda n: attention.strided_mask(n, math.isqrt(n)),
    "fixed": lambda n: attention.fixed_mask(n, math.isqrt(n), 1),
}
for name, make in made.items():
    law = measure.fit_power_law(lengths, [make(n).sum().item() for n in lengths])
    mask = make(4096)
    touched = mask.view(256, 16, 256, 16).any(dim=3).any(dim=1)
    print(f"{name:8} pairs: {law}; of 4096: {mask.float().mean():.1%} of the pairs,", end="")
    print(f" {touched.float().mean():.1%} of the blocks")
wider = attention.fixed_mask(4096, 64, 16)
touched = wider.view(256, 16, 256, 16).any(dim=3).any(dim=1)
print(f"fixed, 16 summaries per block, not 1: {wider.float().mean():.1%} of the pairs,", end="")
print(f" {touched.float().mean():.1%} of the blocks")

# %% [markdown]
r"""
<details><summary>Answer</summary>

1.5, as $n\sqrt n$ says.<!-- shown: 1.5 --> But hardware works in blocks, and thin lines touch many of them: both patterns cost six to eight times what they use. The columns of the fixed pattern stay in place, so sixteen summaries side by side touch no more blocks than one does. The lines of the strided pattern run diagonally and leave no such room.

</details>

`block_sparse_attention` computes only the touched blocks. The mask itself, $n^2$ booleans, is given to both computations below.
"""

# %%
n, block = 1024, 8
mask = attention.fixed_mask(n, 32, 8)
q, k, v = torch.randn(3, 1, 2, n, 64, generator=generator).unbind()
dense = (attention.scaled_dot_product_attention, q, k, v, mask)
sparse = (attention.block_sparse_attention, q, k, v, mask, block)
print("the same:", torch.allclose(*(call[0](*call[1:]) for call in (dense, sparse)), atol=1e-5))
for name, call in (("mask on all scores", dense), ("touched blocks", sparse)):
    print(f"{name:18} {measure.count_flops(*call) / 1e6:6.0f} Mflop", end="")
    print(f"   largest new tensor {measure.largest_tensor(*call):,}")

# %% [markdown]
r"""
**BigBird** (Zaheer et al., 2020) draws its pattern in whole blocks from the start. Each block of queries sees its neighbours, $w$ keys; the global tokens, $g$ keys; and blocks drawn at random, $r$ keys: $n\cdot(w + g + r)$ in all. (The global tokens themselves see everything.)

**Predict.** 64 blocks of 64 tokens; a block sees itself and one neighbour to each side, one global block, two random ones. After how many layers has every block heard from every other, with the neighbours alone, and with each of the additions?
"""


# %% guess={"name": "08.bigbird", "kind": "number", "asks": "Each of 64 blocks sees itself, its two neighbours and two random blocks: after how many layers has every block heard from every other?", "low": 1, "high": 100, "log": true, "unit": "layers", "reads": "near, random {_} {}, "}
guess("08.bigbird")


# %%
def bigbird_blocks(count, near=1, everywhere=1, drawn=2, seed=0):
    """Return which blocks of keys each block of queries sees."""
    place, generator = torch.arange(count), torch.Generator().manual_seed(seed)
    seen = (place[:, None] - place).abs() <= near
    seen[:, :everywhere] = seen[:everywhere] = True
    chances = torch.rand(count, count, generator=generator).masked_fill(seen, -1)
    return seen.scatter(1, chances.topk(drawn).indices, True)


def layers_until_all(seen):
    """Count the layers after which every block has heard of every other."""
    reach, layers = seen.float(), 1
    while not reach.all():
        reach, layers = (reach @ seen.float()).clamp(max=1), layers + 1
    return layers


print(
    "blocks seen                keys per query: 4096, 8192 tokens    layers until all are reached"
)
for name, kinds in {
    "near": (1, 0, 0), "near, random": (1, 0, 2), "near, global": (1, 1, 0), "all three": (1, 1, 2),
}.items():  # fmt: skip
    short, long = (bigbird_blocks(count, *kinds) for count in (64, 128))
    keys = (64 * seen.float().sum(dim=1).mean() for seen in (short, long))
    print("{:27} {:20.0f} {:5.0f}".format(name, *keys), end="")
    print(f" {layers_until_all(short):19}, {layers_until_all(long)}")

# %% [markdown]
r"""
Now the blocks are computed, and nothing else: the pattern goes to `block_sparse_attention`.
"""

# %%
n, block = 4096, 64
mask = bigbird_blocks(n // block).repeat_interleave(block, 0).repeat_interleave(block, 1)
q, k, v = torch.randn(3, 1, 2, n, 64, generator=torch.Generator().manual_seed(8)).unbind()
calls = {
    "SDPA, all pairs": partial(F.scaled_dot_product_attention, q, k, v),
    "SDPA under the mask": partial(F.scaled_dot_product_attention, q, k, v, mask),
    "touched blocks": partial(attention.block_sparse_attention, q, k, v, mask, block),
}
same = torch.allclose(calls["SDPA under the mask"](), calls["touched blocks"](), atol=1e-5)
print("the same:", same)
for name, call in calls.items():
    print(f"{name:20} {measure.count_flops(call) / 1e9:5.2f} Gflop")

# %% tags=["nbval-ignore-output"] reason="a timing"
times = cpu_milliseconds(calls)
print("time, SDPA over all pairs = 1")
print("   ".join(f"{name}: {one / times['SDPA, all pairs']:.2f}" for name, one in times.items()))

# %% [markdown]
r"""
<details><summary>Answer</summary>

63 with the neighbours alone: each layer reaches one more block on each side. Two random blocks bring it down to 6, and to 8 for twice as many blocks: the number grows like a logarithm. A global block makes it 2 at once, but everything then passes through its 64 tokens; random blocks offer other paths.<!-- shown 3: 63 6 8 2 -->

The keys per query hardly change when $n$ doubles, so the cost is linear: $n(w + g + r)$. As the pattern is one of whole blocks, no operation is wasted: 0.92 Gflop instead of 8.59. Time falls less: the blocks have to be found in a mask of $n^2$ entries, and scattered keys gathered. The same mask on all scores costs more time than no mask.<!-- shown 2: 0.92 8.59 -->

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 9. Sparse weights are not cheap weights

"Use attention weights to predict sparsity mask", says text D of Correia et al. (2019). That is not what they do. They replace the softmax by **entmax**, whose weights can be exactly 0. Its shape α is learned for each head: α = 1 is softmax, α = 2 is **sparsemax**, which takes those weights (none negative, sum 1) that are nearest to the scores (Martins and Astudillo, 2016).

**Predict.** Scores 1.2, 1.0 and -1. Sparsemax subtracts a threshold and cuts off at 0, and the rest must sum to 1. Work it out by hand. How much cheaper than softmax is it?
"""

# %%
scores = torch.tensor([1.2, 1.0, -1.0])
print("softmax   ", torch.softmax(scores, dim=-1))
for alpha in (1.2, 1.5):
    print("entmax", alpha, attention.entmax(scores, alpha))
print("sparsemax ", attention.sparsemax(scores))
rows = 2 * torch.randn(200, 512, generator=generator)
for alpha in (1.2, 1.5, 2.0):
    kept = (attention.entmax(rows, alpha) > 0).float().mean()
    print(f"alpha {alpha}: {kept:.1%} of 512 keys get any weight")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The threshold is 0.6: $1.2 - 0.6 = 0.6$ and $1.0 - 0.6 = 0.4$<!-- shown: 0.6 0.4 -->; -1 falls below it. And it saves nothing: every one of the $n^2$ scores is computed before one knows which are cut off. Such weights are easier to read, not cheaper. The $O(nkd)$ of text D's table for "Sparse (Learned)" would need an oracle that names the $k$ keys beforehand; section 13 gambles on one.

</details>

α gets a gradient like any other parameter, so a head can learn how sharply to look.
"""

# %%
alpha = torch.tensor(1.5, requires_grad=True)
target = torch.tensor([0.5, 0.3, 0.2])
for _ in range(200):
    loss = (attention.entmax(scores, alpha) - target).square().sum()
    (slope,) = torch.autograd.grad(loss, alpha)
    alpha = (alpha - 0.5 * slope).clamp(min=1.01).detach().requires_grad_()
print(f"alpha learned: {alpha:.2f}, weights", attention.entmax(scores, alpha).detach())

# %% [markdown] tags=["further"]
r"""
## 10. Another kernel, and the matrix products the other way round

The weight of a key is $e^{q\cdot k/\sqrt{d_k}}$, divided by the sum of this over all keys. The function $e^{q\cdot k/\sqrt{d_k}}$ of query and key is called a **kernel**. Replace it by a dot product of features, $\varphi(q)\cdot\varphi(k)$ (Katharopoulos et al., 2020):

$$\text{out}_i = \frac{\sum_j \varphi(q_i)\cdot\varphi(k_j)\; v_j}{\sum_j \varphi(q_i)\cdot\varphi(k_j)} = \frac{\varphi(q_i)^\top \bigl(\sum_j \varphi(k_j)\,v_j^\top\bigr)}{\varphi(q_i)^\top \sum_j \varphi(k_j)} .$$

The sum in brackets is one table of $d_k \times d_v$ numbers, the same for all queries. $Q(K^\top V)$ instead of $(QK^\top)V$: no $n \times n$ weights. Here $\varphi(x) = \mathrm{elu}(x) + 1$: that is $x + 1$ above 0 and $e^x$ below, so always positive.

**Predict.** For which $n$ does this take fewer operations than $4n^2d_k$?
"""

# %%
n, d_k = 200, 64
q, k, v = torch.randn(3, n, d_k, dtype=torch.float64, generator=generator).unbind()
fq, fk = F.elu(q) + 1, F.elu(k) + 1
weights = fq @ fk.mT
by_weights = weights / weights.sum(dim=-1, keepdim=True) @ v
ours = attention.linear_attention(q, k, v)
print("the same as with n x n weights:", torch.allclose(by_weights, ours))
print("   n   softmax   linear   (Mflop)")
for n in (32, 64, 128, 1024):
    q, k, v = torch.zeros(3, n, d_k).unbind()
    counts = (
        measure.count_flops(fn, q, k, v) / 1e6
        for fn in (attention.scaled_dot_product_attention, attention.linear_attention)
    )
    print("{:4} {:9.2f} {:8.2f}".format(n, *counts))

# %% [markdown]
r"""
<details><summary>Answer</summary>

For $n > d_k$: $4n^2d_k$ against about $4nd_k^2$. The normaliser costs a little more. Text D's table says $O(nd^2)$; with $H$ heads it is $H n d_k^2 = n\,d\,d_k$, a factor of $H$ less.

</details>
"""

# %% [markdown]
r"""
### Exercise: `linear_attention`

*Difficulty · importance · minutes*

Write `linear_attention(query, key, value) -> out`.

- `(..., L, d_k)`, `(..., S, d_k)`, `(..., S, d_v)` give `(..., L, d_v)`.
- $\varphi = \mathrm{elu} + 1$; no scale, nothing added to the denominator, all keys are seen.
- Cost: nothing of size $L \times S$, and operations that grow with $L$ and $S$ only linearly.
"""


# %% exercise="linear_attention"
def linear_attention(query, key, value):
    """Average the values with weights φ(q)·φ(k), without making the weights."""
    ### BEGIN SOLUTION: Sum up keys with values once, then let every query read the sum.
    asked, offered = (F.elu(part) + 1 for part in (query, key))
    state = offered.transpose(-2, -1) @ value
    total = offered.sum(dim=-2, keepdim=True).transpose(-2, -1)
    return (asked @ state) / (asked @ total)
    ### END SOLUTION


# %%
check("linear_attention", linear_attention)
# hint("linear_attention")

# %% [markdown]
r"""
**Find the error.** "Approximate softmax attention with linear complexity" is the goal of linear attention in text D. Make the same queries and keys four times as large, and the softmax becomes sharp. Does the other kernel follow?

**Predict.** The largest weight in a row of 64, on average: softmax and elu + 1, before and after.
"""

# %%
q, k = torch.randn(2, 64, 64, generator=generator).unbind()
for factor in (1, 4):
    soft = attention.attention_weights(factor * q, factor * k)
    kernel = (F.elu(factor * q) + 1) @ (F.elu(factor * k) + 1).mT
    kernel = kernel / kernel.sum(dim=-1, keepdim=True)
    tops = (weights.amax(dim=-1).mean() for weights in (soft, kernel))
    print("times {}: largest weight, softmax {:.2f}   elu + 1 {:.3f}".format(factor, *tops))
print(f"64 equal weights: {1 / 64:.3f} each")

# %% [markdown]
r"""
<details><summary>Answer</summary>

It does not: 0.026, where 64 equal weights would be 0.016 each.<!-- shown: 0.026 0.016 --> This kernel is exact *for itself*. It is no approximation of the softmax, and it cannot point at one key among many. Section 11 has one that does approximate.

</details>

**Causal.** The two sums now run over $j \le i$: they are a running state. The **recurrent** form adds one token at a time, which makes this Transformer an RNN with a state of $d_k \times d_v$ numbers. The textbook form computes **all states** at once, by `cumsum`, and holds $n$ of them. The form in **chunks** of 64 uses weights inside a chunk, and one state for everything before it.
"""


# %%
def all_states(query, key, value):
    """Return causal linear attention from a running sum of every state, as textbooks write it."""
    query, key = F.elu(query) + 1, F.elu(key) + 1
    states = (key[..., None] * value[..., None, :]).cumsum(dim=-3)
    total = (query * key.cumsum(dim=-2)).sum(dim=-1, keepdim=True)
    return (query[..., None, :] @ states)[..., 0, :] / total


q, k, v = torch.randn(3, 1, 4, 500, 64, dtype=torch.float64, generator=generator).unbind()
chunks = attention.causal_linear_attention(q, k, v)
forms = {"recurrent": attention.recurrent_linear_attention, "all states": all_states}
for name, form in forms.items():
    print(f"{name:10} equals chunks: {torch.allclose(form(q, k, v), chunks)}", end="")
    print(f"   largest tensor {measure.largest_tensor(form, q, k, v):,}")
print(f"chunks {'':20} largest tensor", end="")
print(f" {measure.largest_tensor(attention.causal_linear_attention, q, k, v):,}")

# %% [markdown]
"""
**Predict.** All three are linear in the number of tokens. By how much do their times differ at 8192 tokens, and which of them beat causal SDPA, which is quadratic?
"""

# %%
print("time, chunks = 1      recurrent   all states   causal SDPA")
for row in costs["causal_linear"]:
    slower = row["times_slower"]
    print(f"{row['length']:11} tokens", end="")
    print("".join(f"{slower[name]:13.1f}" for name in ("recurrent", "states", "causal")))

# %% [markdown]
r"""
<details><summary>Answer</summary>

By a factor of 73.9<!-- shown: 73.9 -->: the same complexity class, with constants far apart. The textbook form moves $n \cdot d_k \cdot d_v$ numbers through memory and is slower than quadratic SDPA at every length. A recurrence of $n$ tiny steps pays for every call, and overtakes SDPA only at 8192 tokens. Chunks are faster throughout. An exponent is a statement about the far end; where it begins to matter, the constants decide.

</details>
"""

# %% [markdown]
r"""
### Exercise: `causal_linear_attention`

*Difficulty · importance · minutes*

Write `causal_linear_attention(query, key, value) -> out`.

- As before, but query `i` sees keys `j ≤ i` only, in numerator *and* denominator.
- In the forward pass no single tensor may hold more than 64 states of $d_k \times d_v$, or weights of $64 \times 64$, for each batch entry and head.

A loop over tokens passes, and one over chunks is many times faster.
"""


# %% exercise="causal_linear_attention"
def causal_linear_attention(query, key, value):
    """Let each query read the running sums of its past and itself."""
    ### BEGIN SOLUTION: Small causal weights inside a chunk, a state for all before it.
    asked, offered = F.elu(query) + 1, F.elu(key) + 1
    carried = torch.cat([value, torch.ones_like(value[..., :1])], dim=-1)  # a column for the total
    state, outs = 0.0, []
    chunks = (part.split(64, dim=-2) for part in (asked, offered, carried))
    for q, k, v in zip(*chunks, strict=True):
        before = q @ state if outs else 0.0
        outs.append(before + (q @ k.transpose(-2, -1)).tril() @ v)
        state = state + k.transpose(-2, -1) @ v
    sums = torch.cat(outs, dim=-2)
    return sums[..., :-1] / sums[..., -1:]
    ### END SOLUTION


# %%
check("causal_linear_attention", causal_linear_attention)
# hint("causal_linear_attention")

# %% [markdown]
"""
**Check yourself.** Text D's class of linear attention takes no mask and sums over all keys; the text recommends it for "Real-time inference". What does the test for leaks (chapter 06) say, and can a mask be added?

<details><summary>Answer</summary>

It leaks: each output depends on all keys, the later ones too. A mask cannot be added, because there are no weights to hide. The causal form is another algorithm. Its reward is the constant state while generating.

</details>
"""

# %%
for name in ("linear_attention", "causal_linear_attention"):
    fn = getattr(attention, name)
    leaks = attention.leaks_future(lambda x, fn=fn: fn(x, x, x), 9, 8)
    print(f"{name}: leaks the future: {leaks}")

# %% [markdown]
"""
**What does a state of fixed size remember?** The recall task of sections 3 and 5, with the causal kernel in place of the softmax.

**Predict.** One head of width 64, four of width 16, sixteen of width 4: the parameters are the same. Is the recall?
"""

# %%
for heads, width in (("1 head", 64), ("4 heads", 16), ("16 heads", 4)):
    shown = "  ".join(f"{n}: {spread(seeds)}" for n, seeds in recalled(f"linear, {heads}").items())
    print(f"{heads:8} {64 * width:4} numbers per layer; recalled of {shown}")

# %% mystnb={"image": {"alt": "Share of values recalled against the number of pairs, 4 to 64. Full attention stays at one. The causal kernel with one head falls slowly, with four heads faster, with sixteen steeply."}}
axes = plotting.new_figure(
    "A state of fixed size forgets,\nand more heads make it smaller", "pairs in the list",
    "share recalled",
)  # fmt: skip
for model, colour, at, style in (
    ("full, 4 heads", "orange", (71, 1.0), "s--"), ("linear, 1 head", "green", (71, 0.81), "o-"),
    ("linear, 4 heads", "green", (71, 0.54), "s--"), ("linear, 16 heads", "green", (71, 0.13), "^:"),
):  # fmt: skip
    samples = recalled(model)
    plotting.band(axes, list(samples), list(samples.values()), model, colour, at, style)
plotting.power_axis(axes, [4, 16, 32, 64])
_ = axes.set(ylim=(0, 1.08), xlim=(3.6, 230))

# %% [markdown]
r"""
<details><summary>Answer</summary>

No: more heads recall less. The kernel has one table of $d_k \times d_v$ numbers per head for all pairs. One head of width 64 holds 4096 numbers per layer, 16 heads of width 4 hold 256.<!-- shown: 4096 256 --> *The state is the memory*: cut it into heads and it shrinks.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** Multi-query attention has one head of keys and values, and linear attention here has one head too. Both keep less. Why does only the second forget?

<details><summary>Answer</summary>

Multi-query attention still keeps one key and one value *per token*; its memory grows with the list. The linear state has the same size after 4 pairs and after 64: all pairs are added up in it, and a kernel that cannot point at one of them reads them all at once.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 11. Random features: an approximation of the softmax

For a standard normal random vector $\omega$, $\;\mathbb E\,[e^{\omega\cdot x}\,e^{\omega\cdot y}] = e^{|x+y|^2/2}$. Therefore

$$e^{x\cdot y} = \mathbb E\bigl[\,e^{\omega\cdot x - |x|^2/2}\;\, e^{\omega\cdot y - |y|^2/2}\,\bigr].$$

The mean over $m$ random $\omega$ is a dot product of $m$ features: the **Performer** (Choromanski et al., 2021) estimates softmax attention at the cost of linear attention. The features are positive, so no weight can be negative and no sum can cancel to nothing, as sines and cosines would allow.

The scale: $q\cdot k/\sqrt{d_k}$ is $x\cdot y$ with $x = q/d_k^{1/4}$ and $y = k/d_k^{1/4}$.
"""

# %% [markdown]
r"""
### Exercise: `positive_random_features`

*Difficulty · importance · minutes*

Write `positive_random_features(x, projection) -> features`.

- `x` is `(..., L, d)`, `projection` is `(m, d)`, the result `(..., L, m)`.
- Feature $j$ is $\exp(w_j\cdot x' - |x'|^2/2)/\sqrt m$ with $x' = x/d^{1/4}$ and $w_j$ row $j$ of the projection.
- Nothing is subtracted to keep the exponents small.
"""


# %% exercise="positive_random_features"
def positive_random_features(x, projection):
    """Return features whose products estimate exp(q·k/√d)."""
    ### BEGIN SOLUTION: Shrink x, project it, subtract half its squared length, exponentiate.
    num_features, d = projection.shape
    small = x * d**-0.25
    along = torch.einsum("...d,md->...m", small, projection)
    return (along - (small**2).sum(-1, keepdim=True) / 2).exp() * num_features**-0.5
    ### END SOLUTION


# %%
check("positive_random_features", positive_random_features)
# hint("positive_random_features")

# %% [markdown]
r"""
**Predict.** The error of an average falls as $m^{-1/2}$: four times the features, half the error. Does that hold for queries and keys of any length? (128 tokens of width 64; the components of queries and keys have standard deviation 1, then a half, then a quarter.)
"""

# %%
features, trials = (16, 64, 256, 1024, 4096), 8
q, k, v = torch.randn(3, 128, 64, generator=generator).unbind()
errors = {}
for size in (0.25, 0.5, 1.0):
    exact = attention.scaled_dot_product_attention(size * q, size * k, v)
    errors[size] = [
        median(
            ((attention.performer_attention(size * q, size * k, v, rows) - exact).norm()
             / exact.norm()).item()
            for rows in (attention.orthogonal_projection(m, 64, generator) for _ in range(trials))
        )
        for m in features
    ]  # fmt: skip
    law = measure.fit_power_law(features, errors[size])
    print(f"queries and keys times {size}: exponent {law.exponent:.1f},", end="")
    print(f" error with 256 features {errors[size][2]:.1f}")

# %% mystnb={"image": {"alt": "Relative error of the output against the number of random features, log axes, 16 to 4096. Short queries and keys: a straight fall to a few per cent. Twice as long: a slower fall. Of unit variance: the error stays above one and hardly falls."}}
axes = plotting.new_figure(
    "Random features estimate a flat softmax well,\nand a sharp one hardly at all",
    "random features",
    "relative error of the output",
)
plotting.power_axis(axes, features)
axes.set(yscale="log")
for (size, line), colour in zip(errors.items(), ("blue", "green", "orange"), strict=True):
    name = f"q, k × {size:g}"
    plotting.line(axes, features, line, name, colour, (16, line[0] * 1.35), "o-")
axes.axhline(1, color=plotting.QUIET, linewidth=1)
_ = axes.set_ylim(top=4)

# %% [markdown]
r"""
<details><summary>Answer</summary>

Only for short ones. The estimate of a single exponential is unbiased (right on average) at every $m$, but its variance grows exponentially with $|x + y|^2$: the mean is carried by rare, huge terms. Where the softmax is sharp, as it often is in trained heads, thousands of features do not help. The exponent of -0.5 is promised only in the limit of many features; for the longest vectors here it is -0.1.<!-- shown: -0.1 -->

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 12. Summarise the keys before they are asked

**Linformer** (Wang et al., 2020) projects the $n$ keys to $r$ *mixtures* (weighted sums) of them, and the values likewise, with learned matrices $E, F$ of $n \times r$. The softmax then has $r$ entries per query: $O(nr)$.

**Predict.** Text D writes $K' = KE$ with $E \in \mathbb R^{n\times k}$. With $K$ of shape $n \times d$, is the product defined? How should it read?
"""

# %%
K, E = torch.zeros(200, 64), torch.zeros(200, 16)
try:
    K @ E
except RuntimeError as error:
    print(error)
print("Eᵀ K", tuple((E.mT @ K).shape), "  a square K (200 x 200) hides it:", end=" ")
print(tuple((torch.zeros(200, 200) @ E).shape))

# %% [markdown]
r"""
<details><summary>Answer</summary>

$K' = E^\top K$: each mixture is a sum over tokens. $E$ has a row for each position, so it belongs to one length $n$; and each mixture holds later tokens too, so a causal model cannot use it.

</details>
"""

# %% [markdown]
r"""
### Exercise: `linformer_attention`

*Difficulty · importance · minutes*

Write `linformer_attention(query, key, value, E, F) -> out`.

- `query` is `(..., L, d_k)`, `key` `(..., S, d_k)`, `value` `(..., S, d_v)`, `E` and `F` are `(S, r)`.
- Keys become $E^\top K$, values $F^\top V$; then scaled attention over the `r` mixtures.
- Cost: nothing of size $L \times S$.

Here `F` is the second matrix, and hides `torch.nn.functional`.
"""


# %% exercise="linformer_attention"
def linformer_attention(query, key, value, E, F):
    """Attend to mixtures of the keys and values."""
    ### BEGIN SOLUTION: Mix over the tokens, then attend to the mixtures as usual.
    mixed_keys = E.transpose(0, 1) @ key
    mixed_values = F.transpose(0, 1) @ value
    scores = query @ mixed_keys.transpose(-2, -1) * query.shape[-1] ** -0.5
    return scores.softmax(dim=-1) @ mixed_values
    ### END SOLUTION


# %%
check("linformer_attention", linformer_attention)
# hint("linformer_attention")

# %% [markdown]
"""
**Predict.** Without any training, let each mixture be the mean of 8 neighbours. For which sequence is that a good summary: for random tokens, or for tokens that change slowly?
"""

# %%
n, r = 512, 64
average = torch.eye(r).repeat_interleave(n // r, dim=0) / (n // r)
random = torch.randn(3, n, 32, generator=generator)
steps = torch.randn(3, n, 32, generator=generator).cumsum(dim=1)
slow = steps / steps.std(dim=1, keepdim=True)
for name, (q, k, v) in {"random": random, "slow": slow}.items():
    exact = attention.scaled_dot_product_attention(q, k, v)
    mixed = attention.linformer_attention(q, k, v, average, average)
    print(f"{name:6} tokens: relative error {(mixed - exact).norm() / exact.norm():.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

For the slowly changing ones, where neighbours say nearly the same thing. That is the bet of a low-rank summary: $n$ keys hold less than $n$ keys' worth of information.

</details>
"""

# %% [markdown]
r"""
**Funnel** (Dai et al., 2020) makes the sequence itself shorter with depth. At the border between two blocks of layers, the *queries* are pooled, here as the mean of two neighbours; keys and values are not, so every pooled query still reads all tokens. From then on there are half as many. A task that needs an answer per token repeats each vector at the end, and adds the first block's vectors, one per token.

**Predict.** What do the pooled layer and the layers after it cost, compared with a full one? What would the repeated vectors lack without the sum?
"""

# %%
x = steps[:1] / steps.std()
pooled = x.unflatten(1, (n // 2, 2)).mean(dim=2)
half = attention.scaled_dot_product_attention(pooled, x, x)  # 256 queries, 512 keys
again = half.repeat_interleave(2, dim=1)
for name, q, k in (("full", x, x), ("pooled queries", pooled, x), ("the layers after", half, half)):
    flops = measure.count_flops(attention.scaled_dot_product_attention, q, k, k)
    print(f"{name:17} {q.shape[1]} queries, {k.shape[1]} keys: {flops / 1e6:5.1f} Mflop")
for name, out in (("repeated", again), ("repeated + first block", again + x)):
    apart = (out[:, ::2] - out[:, 1::2]).norm() / out.norm()
    print(f"{name:23} neighbours differ by {apart:.3f} of the whole")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Half, and then a quarter.<!-- shown: 33.6 16.8 8.4 --> Repeated alone, the two tokens of a pair are the same: what told them apart is gone. It comes back with the vectors of the first block, which were never pooled. Like Linformer this looks ahead, since a pooled query holds two tokens; Funnel is made for encoders.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 13. Ask only where it will be worth it

A sharp softmax gives nearly everything to the few keys nearest to the query. **Reformer** (Kitaev et al., 2020) looks for them by **locality-sensitive hashing** (LSH): nearby vectors often fall into the same bucket, and a query meets only its bucket. For a random matrix $R$ of $d \times n_b/2$, the bucket is the place of the largest entry of $[xR;\,-xR]$: which of $n_b$ random directions is nearest.
"""

# %% [markdown]
r"""
### Exercise: `lsh_buckets`

*Difficulty · importance · minutes*

Write `lsh_buckets(x, rotations) -> bucket`.

- `x` is `(..., L, d)`, `rotations` is `(d, n/2)` for `n` buckets; the result is long, `(..., L)`.
- The bucket is the place of the largest entry of $[xR;\,-xR]$, the smallest place on ties.
"""


# %% exercise="lsh_buckets"
def lsh_buckets(x, rotations):
    """Return the number of each vector's bucket."""
    ### BEGIN SOLUTION: Project, append the negatives, take the place of the largest.
    projected = torch.einsum("...d,dh->...h", x, rotations)
    both_signs = torch.cat([projected, projected.neg()], dim=-1)
    return both_signs.argmax(dim=-1)
    ### END SOLUTION


# %%
check("lsh_buckets", lsh_buckets)
# hint("lsh_buckets")

# %% [markdown]
r"""
**Predict.** Text D gives the hash as $\arg\max(x;\,-x)\cdot R$. In which order must the two steps be done? And with 16 buckets, how much more often do near vectors share one than random vectors do?
"""

# %%
generator = torch.Generator().manual_seed(10)
x, noise = torch.randn(2, 20_000, 64, generator=generator).unbind()
rotations = torch.randn(64, 8, generator=generator)
ours = attention.lsh_buckets(x, rotations)
largest = torch.cat([x, -x], dim=-1).argmax(dim=-1)  # what the printed formula computes first
print("buckets:", ours.unique().numel(), "  by the printed formula:", largest.unique().numel())
print("cosine of two vectors    in the same bucket")
for cosine in (0.0, 0.5, 0.8, 0.9, 0.99):
    near = cosine * x + (1 - cosine**2) ** 0.5 * noise
    same = (attention.lsh_buckets(near, rotations) == ours).float().mean()
    print(f"{cosine:21} {same:21.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Project first. As printed, the largest entry of $(x; -x)$ depends on no random matrix: 128 fixed buckets for width 64<!-- shown: 128 -->, and multiplying the *index* by $R$ makes no sense.

Random pairs share a bucket one time in sixteen, near ones (cosine 0.9) ten times as often.<!-- shown: 0.06 0.60 --> That is still not always, so Reformer hashes in several rounds. It also makes queries and keys the same vectors: each bucket then holds as many keys as queries, where otherwise some would hold queries and no keys. Sorting makes the buckets cheap to find, $O(n\log n)$; the hashing itself takes $n \cdot n_b$ dot products, so with $n_b \propto n$ buckets it is quadratic again, with a small constant.

</details>
"""

# %%
q, v = torch.randn(2, 1, 1, 1024, 64, generator=generator).unbind()
centres = torch.randn(64, 64, generator=generator)
q = centres[torch.randint(64, (1024,), generator=generator)] + 0.3 * q  # tokens of 64 kinds
back = torch.ones(1024, 1024).tril(-1).bool()
exact = attention.scaled_dot_product_attention(q * 8, F.normalize(q, dim=-1), v, back)
for rounds in (1, 2, 4, 8):
    rotations = torch.randn(rounds, 64, 16, generator=generator)
    found = attention.lsh_attention(q, v, rotations, reach=64)
    error = (found - exact)[..., 64:, :].norm() / exact[..., 64:, :].norm()
    print(f"{rounds} rounds: relative error {error:.1f}")

# %% [markdown]
r"""
<details><summary>What the rounds buy</summary>

The tokens are of 64 kinds, and each query's weight is on those of its own kind: each further round finds some of the keys that the others missed. On tokens without such groups there is nothing to find, and the error stays large.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 14. Features attend to features

**Cross-covariance attention** (XCA; El-Nouby et al., 2021) lets features attend to features, so its weights are $d_k \times d_k$. Feature $i$ of the output is a weighted sum of the value's features; the weights say how alike two features are over all tokens:

$$A = \mathrm{softmax}(\hat Q^\top \hat K \cdot \text{temperature}),\qquad \text{out} = V A^\top .$$

The columns of $\hat Q$ and $\hat K$ have length 1 over the tokens. The cost is $4nd_k^2$ per head, linear in $n$. No token looks at another one: a token knows of the others only through $A$.
"""

# %% [markdown]
r"""
### Exercise: `cross_covariance_attention`

*Difficulty · importance · minutes*

Write `cross_covariance_attention(query, key, value, temperature) -> out`.

- All are `(B, H, L, d)`. Queries and keys are L2-normalised over the tokens.
- The weights, `(d, d)`, are a softmax over the key's features of $\hat q^\top\hat k\,\cdot$ temperature. The temperature multiplies; it is a number or has the shape `(H, 1, 1)`.
- `out[l, i]` is the sum over `j` of `weights[i, j] * value[l, j]`.
"""


# %% exercise="cross_covariance_attention"
def cross_covariance_attention(query, key, value, temperature):
    """Mix the features of each token's value by how alike features are over all tokens."""
    ### BEGIN SOLUTION: Normalise over the tokens, compare features, mix the value's features.
    unit_query, unit_key = (F.normalize(part, dim=-2) for part in (query, key))
    alike = torch.einsum("bhli,bhlj->bhij", unit_query, unit_key)
    weights = torch.softmax(alike * temperature, dim=-1)
    return torch.einsum("bhij,bhlj->bhli", weights, value)
    ### END SOLUTION


# %%
check("cross_covariance_attention", cross_covariance_attention)
# hint("cross_covariance_attention")

# %% [markdown]
"""
**Check yourself.** The tokens are reordered. What happens to the output of XCA, and to its weights?

<details><summary>Answer</summary>

The weights stay as they are: a sum over tokens does not depend on their order. The output rows move along with their tokens. And since every weight depends on every token, the later ones too, XCA does not suit a causal model.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 15. How far from the softmax?

Some variants promise another function (a window, another kernel), some an estimate of the same one. All of them can be compared with exact softmax attention on the same tokens, and with the simplest guess of all: the mean of all values. The tokens here change slowly, and have nothing in common with those more than 64 places away.

**Predict.** As queries and keys grow, the softmax gets sharp. Which variants become better, which worse?
"""

# %%
generator = torch.Generator().manual_seed(12)
walk = torch.randn(2, 1, 1, 576, 64, generator=generator).cumsum(dim=-2)
walk = walk[..., 64:, :] - walk[..., :-64, :]
q, v = (walk / walk.std(dim=-2, keepdim=True)).unbind()  # and k = q: like looks for like
rows = attention.orthogonal_projection(256, 64, generator)
average = torch.eye(16).repeat_interleave(32, dim=0) / 32
guesses = {
    "window of 65": lambda q, k: attention.global_window_attention(q, k, v, 32, 0),
    "16 mixtures": lambda q, k: attention.linformer_attention(q, k, v, average, average),
    "256 random features": lambda q, k: attention.performer_attention(q, k, v, rows),
    "elu + 1": lambda q, k: attention.linear_attention(q, k, v),
    "mean of all values": lambda q, k: v.mean(dim=-2, keepdim=True).expand_as(v),
}
sizes, errors = (0.125, 0.25, 0.5, 1.0, 2.0), {name: [] for name in guesses}
for size in sizes:
    exact = attention.scaled_dot_product_attention(size * q, size * q, v)
    for name, approximate in guesses.items():
        error = (approximate(size * q, size * q) - exact).norm() / exact.norm()
        errors[name].append(error.item())

# %% mystnb={"image": {"alt": "Relative error against exact softmax attention, as queries and keys grow. The window is wrong by about twice the output at first, above the plot's edge, and falls to nothing at factors 1 and 2. The 16 mixtures rise from 0 to 0.37, the random features from 0.02 to 0.70. Elu plus one and the mean of all values rise together to about 0.9. <!-- shown: 0.37 0.02 0.70 -->"}}
axes = plotting.new_figure(
    "A window suits sharp attention,\nrandom features and mixtures flat attention",
    "factor on queries and keys",
    "relative error",
)
colours, styles = ("blue", "pink", "green", "orange", "orange"), ("o-", "s-", "^-", "v-", "--")
for (name, line), colour, style in zip(errors.items(), colours, styles, strict=True):
    shift = {"mean of all values": 0.04, "elu + 1": -0.04, "window of 65": 0.04}.get(name, 0)
    plotting.line(axes, sizes, line, name, colour, (2.15, line[-1] + shift), style)
    print(f"{name:20}", "  ".join(f"{error:.2f}" for error in line))
axes.set(ylim=(0, 1.15), xscale="log", xlim=(0.115, 7))
axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
_ = axes.set_xticks([], minor=True)

# %% [markdown]
r"""
<details><summary>Answer</summary>

Here similar tokens are near each other. The sharper the softmax, the more of it is inside the window: its error falls from 2.05, beyond the plot's edge, to 0.00.<!-- shown: 2.05 0.00 --> Random features and mixtures are good while the softmax is flat, when the mean of all values is a fair guess too, and get worse as it sharpens. Elu + 1 is hardly better than that mean throughout, which supports section 10: it approximates something else.

"Approximate" in a column of a table, as in text D, says little. *How* wrong depends on the data.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 16. What it costs, measured

Each variant at up to six lengths, 4 heads of width 64, one processor thread, time as processor time, window 128, 256 features or mixtures. A law $c\,n^a$ is a straight line of slope $a$ on logarithmic axes.

**Predict.** The theory says 1 for the kernels, windows and mixtures, 2 for the softmax. Which variants' measured *time* will miss this exponent, although their operations match it?
"""

# %%
print(f"{'exponents, 512 to 8192 tokens':36} theory   time   FLOPs   largest tensor")
for row in costs["exponents"]:
    if row["lengths"] == "512 to 8192":
        print(f"{row['what']:36} {row['theory']:6}", end="")
        print(f"{row['milliseconds']:7.2f} {row['flops']:7.2f} {row['largest_tensor']:16.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Those with large tensors. What outgrows the processor's caches costs more per number, so the written-out softmax grows faster than its operations: 2.24. A fixed cost per call does the reverse: causal SDPA has 1.78. The control is plain *SDPA*, which should come out at 2: 1.99.<!-- shown: 2.24 1.78 1.99 -->

Three more lines need a second look. *SDPA under a mask* makes a copy of it, of $n^2$ numbers; without a mask its largest tensor is the output. *Performer*'s is a table of features that at first outweighs everything else. *LSH* with $n/64$ buckets is of order $n^2$ because of its hash, yet its measured exponent is near 1: the quadratic part is still small at 8192.

An exponent must be given with its range of lengths.

</details>
"""


# %% mystnb={"image": {"alt": "Two plots against the number of tokens, 512 to 16384, all axes logarithmic: milliseconds, and numbers in the largest tensor. Written-out softmax is the steepest line in both. Causal SDPA is nearly as steep in time, but its largest tensor is the output, as for the window and for linear attention in chunks, which are flatter and lowest. Linear attention with all states is as flat as those two, yet takes the most time and memory at nearly every length."}}
panels = plotting.new_panels(
    "The exponent decides far away,\nthe constant nearby", "tokens",
    ("milliseconds", "largest tensor, numbers"), height=7,
)  # fmt: skip
for what, colour, style, shift in (
    ("softmax, written out", "orange", "o-", 1.3), ("SDPA, causal", "pink", "s--", 1),
    ("causal linear, all states", "green", "^:", 1.2), ("Performer", "blue", "v-.", 1.2),
    ("causal linear, chunks", "green", "o-", 0.72), ("sliding window", "blue", "s--", 1.15),
):  # fmt: skip
    runs = [run for run in costs["runs"] if run["what"] == what]
    n, y, numbers = ([run[x] for run in runs] for x in ("length", "milliseconds", "largest_tensor"))
    name = what.replace(", written out", "").replace("causal linear", "linear")
    plotting.line(panels[0], n, y, name, colour, (1.15 * n[-1], shift * y[-1]), style)
    at = (1.15 * n[-1], numbers[-1]) if numbers[-1] > 1e7 else None
    plotting.line(panels[1], n, numbers, name, colour, at, style)
panels[1].text(1.15 * 16384, 4.2e6, "SDPA, window,\nchunks", va="center", color=plotting.QUIET)
panels[1].text(1100, 1.5e6, "Performer", color=plotting.COLOURS["blue"], fontweight="bold")
for panel in panels:
    panel.set(yscale="log", xlim=(450, 120000))
    plotting.power_axis(panel, [512, 1024, 2048, 4096, 8192, 16384])
_ = panels[-1].set_xticklabels(["512", "1k", "2k", "4k", "8k", "16k"])

# %% [markdown]
"""
**From which length on is it faster?** Compare with PyTorch's own exact attention: causal variants with causal SDPA, the others with SDPA over all pairs. Between two measured lengths the lines are taken to be straight on logarithmic axes.
"""


# %%
def crossover(what, against):
    """Return from which length on a variant is faster than another."""
    ours, theirs = milliseconds(what), milliseconds(against)
    lengths = [n for n in ours if n in theirs]
    lead = [math.log(ours[n] / theirs[n]) for n in lengths]
    last = max((i for i, gap in enumerate(lead) if gap > 0), default=-1)
    if last == len(lengths) - 1:
        return f"not up to {lengths[-1]}"
    if last == -1:
        return f"below {lengths[0]}"
    share = lead[last] / (lead[last] - lead[last + 1])
    return f"about {lengths[last] * (lengths[last + 1] / lengths[last]) ** share:.0f}"


causal = ("sliding window", "strided pattern, stride √n", "fixed pattern, blocks of √n",
          "causal linear, chunks", "causal linear, recurrent", "causal linear, all states",
          "Performer, causal", "LSH, n/64 buckets, 2 rounds", "LSH, 64 buckets, 2 rounds",
)  # fmt: skip
full = ("window and 16 global tokens", "linear", "Performer", "Linformer", "cross-covariance")

# %%
for against, names in (("SDPA, causal", causal), ("SDPA", full)):
    print(f"faster than {against} from")
    for what in names:
        print(f"   {what:30} {crossover(what, against)}")

# %% [markdown]
"""
Text D draws its lines by length alone: full attention below 2048 tokens, sparse above 4096, linear above 16,000. The table above has no such lines: each variant has its own, and it moves with the machine. On a GPU, exact attention in tiles (chapter 09) moves them all to the right.

Your own machine, a few variants and lengths:
"""

# %% tags=["nbval-ignore-output"] reason="timings"
lengths, live = (1024, 2048, 4096, 8192), {}
for n in lengths:
    q, k, v = torch.randn(3, 1, 4, n, 64, generator=generator).unbind()
    times = cpu_milliseconds({
        "SDPA, causal": partial(F.scaled_dot_product_attention, q, k, v, is_causal=True),
        "sliding window": partial(attention.sliding_window_attention, q, k, v, 128),
        "causal linear, chunks": partial(attention.causal_linear_attention, q, k, v),
        "linear": partial(attention.linear_attention, q, k, v),
    }, rounds=3)  # fmt: skip
    for name, one in times.items():
        live.setdefault(name, []).append(one)
for name, points in live.items():
    print(f"{name:22}", "  ".join(f"{one:6.1f}" for one in points), "ms  ", end="")
    print(measure.fit_power_law(lengths, points))

# %% [markdown] tags=["further"]
r"""
## 17. Try it

Choose a variant and the sizes: who sees whom (drawn for 24 tokens), what it costs compared with plain multi-head attention, and the recorded times.

**Predict.** Take the window, then the linear kernel, and let $n$ grow: which of the three costs (operations, table of weights or states, cache) stop growing?
"""

# %%
opening

# %% [markdown]
"""
<details><summary>Answer</summary>

With a window the cache stops at $w$ keys; operations and weights keep growing with $n$. With the kernel the table of weights is a state of fixed size, and the state is all that is kept; only the operations grow. Operations never stop growing: every token has to be read once.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 18. Judge what is printed

In short words, each with its text (the third is a common form). Right, wrong, or right under a condition?

1. Local attention reduces $O(n^2)$ to $O(nw)$ (D).
2. Linear attention: $O(n)$, but with approximations (A).
3. Grouped and multi-query attention make attention itself cheaper.
4. Attention is the first bottleneck of real systems (E).
5. Reformer: $O(n\log n)$ (D).
6. *Sparse*: Longformer, BigBird; *linear*: Performer, Linformer; *hierarchical*: Reformer, Funnel Transformer (E). Which of the six are in the wrong place? Text D lists "Kernelized" next to "Linear", as a method of its own.
"""

# %% [markdown]
r"""
<details><summary>Answers</summary>

1. Right if only the band is computed. As a mask it saves nothing (section 4).
2. $O(n d_k^2)$ per head; elu + 1 approximates nothing, Performer does (sections 10, 11).
3. Wrong for operations, which stay the same; right for the bytes to read (section 2).
4. From about $2d$ to $6d$ tokens on; below, the projections and feed-forward layers are (section 1). While generating, reading weights and cache counts most.
5. Right for the sorting, with few enough buckets; not for the hashing (section 13).
6. Reformer is sparse, with a pattern chosen by hashing (section 13). Funnel is hierarchical (section 12). Linformer has linear cost but is not a kernel: it is a low-rank summary (section 12). And "kernelized" *is* "linear".

</details>
"""

# %% [markdown] tags=["further"]
"""
## What practice uses, measured

Further reading: five things that published models and servers of 2024 to 2026 do to attention. Three of them save something here that can be measured. The other two promise a better model. Our small models do not show that; the sections say what they do show.
"""

# %% [markdown] tags=["further"]
r"""
## 19. A decoding step that never unfolds its cache

Section 3 had latent attention as a module. What a server runs is one step of it: a new token, and the latent vectors of all earlier tokens. Sixteen heads, 64 features and 32 rotated ones each, $r = 128$, in float32. For comparison there is a plain cache of the same heads: keys of width 96, values of width 64.

**Predict.** The absorbed form, which makes neither keys nor values: does it take fewer operations than the plain cache, or more? And which of the two is faster at 8192 tokens?
"""

# %%
practice = measure.read_record("chapter_08_practice")
print("tokens   way        bytes per token    Mflop   milliseconds   expanded takes")
for row in practice["steps"]:
    print(f"{row['length']:6}   {row['way']:9} {row['bytes']:16,} {row['mflop']:8.1f}", end="")
    print(f" {row['milliseconds']:14.2f} {row['expanded_over_this']:13.1f} times")

# %% [markdown]
r"""
<details><summary>Answer</summary>

More operations, and less time. At 8192 tokens the absorbed step has 84.4 Mflop against 41.9<!-- shown: 84.4 41.9 -->, since every head meets rows of 160 numbers twice instead of 96 and 64. (What is timed averages whole rows. The average needs only the first 128 numbers of each; your function below can leave out the rest.) But these rows are read once for all heads: 640 bytes per token instead of 10,240.<!-- shown: 640 10,240 --> A step of decoding waits for memory.

Making keys and values anew at each step is the slowest of the three at every length, and the gap to the absorbed form widens.

</details>

The product with $W_{uk}$ may be on either side. Which side has one row, and which has thousands?
"""

# %% [markdown]
r"""
### Exercise: `absorbed_latent_attention`

*Difficulty · importance · minutes*

Write `absorbed_latent_attention(query, cache, W_uk, W_uv, attn_mask=None) -> out`.

- `query` is `(B, H, L, d_k + d_rope)`: its content part, then its rotated part.
- `cache` is `(B, S, r + d_rope)`: the latent vector, then one rotated key for all heads. `d_rope` may be 0.
- `W_uk` is `(H, r, d_k)`, `W_uv` is `(H, r, d_v)`. Head `h` has the keys `[latent @ W_uk[h], rotated]` and the values `latent @ W_uv[h]`; scores are scaled by $1/\sqrt{d_k + d_{rope}}$.
- Make no keys and no values, and do not copy the cache for every head, as a product that broadcasts does.
- A query that may see nothing gives zeros. The result is `(B, H, L, d_v)`.

The check counts.
"""


# %% exercise="absorbed_latent_attention"
def absorbed_latent_attention(query, cache, W_uk, W_uv, attn_mask=None):
    """Attend to latent vectors without making keys or values of them."""
    ### BEGIN SOLUTION: Let each head's query ask in the latent vectors' own language, all heads as rows.
    d_latent, d_k = W_uk.shape[1:]
    num_heads, length, width = query.shape[1:]
    asked = torch.cat((query[..., :d_k] @ W_uk.mT, query[..., d_k:]), dim=-1)
    rows = asked.flatten(1, 2) / math.sqrt(width)  # (B, H * L, r + d_rope)
    scores = (rows @ cache.mT).unflatten(1, (num_heads, length))
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf)
    weights = attention.stable_softmax(scores).flatten(1, 2)
    latent = (weights @ cache[..., :d_latent]).unflatten(1, (num_heads, length))
    return latent @ W_uv
    ### END SOLUTION


# %%
check("absorbed_latent_attention", absorbed_latent_attention)
# hint("absorbed_latent_attention")

# %% [markdown]
r"""
**The layer of DeepSeek-V2 and V3** (DeepSeek-AI, 2024, 2024b) has two more things: the latent vector goes through a norm, and queries come from a short vector, too, which has a norm of its own (configurations call its width `q_lora_rank`).

**Predict.** A norm is not linear. Does it spoil the absorbed form, which moves a matrix past the latent vector? And what do compressed queries save in the cache?
"""

# %%
torch.manual_seed(0)
sizes = {"d_latent": 32, "d_query": 48, "d_rope": 8, "d_k": 16, "d_v": 24}
layer = attention.CompressedLatentAttention(96, 6, **sizes).double()
x, kept = torch.randn(2, 40, 96).double(), torch.zeros(2, 40, 32 + 8).double()
turn = partial(rope_interleaved, positions=torch.arange(40))
whole, worst = layer(x, attention.causal_mask(40, 40), turn), 0.0
for t in range(40):
    turn = partial(rope_interleaved, positions=torch.arange(t, t + 1))
    kept[:, t] = layer.compress(x[:, t : t + 1], turn)[:, 0]
    step = layer.decode(x[:, t : t + 1], kept[:, : t + 1], rotate=turn)
    worst = max(worst, (step[:, 0] - whole[:, t]).abs().max().item())
print("token by token from the latent cache, as all at once:", worst < 1e-12)
print(f"kept per token {kept.shape[-1]} numbers; keys and values would be {6 * (16 + 8 + 24)}")

# %% [markdown]
"""
<details><summary>Answer</summary>

It does not: the norm acts once, when a token is kept. The cache holds what came out of it, and from there on everything is linear. Compressed queries save nothing in the cache; they save parameters, and memory in training.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 20. Choose which blocks to read

A window reads what is near. **Mixture of block attention** (Lu et al., 2025) lets each query choose: keys are grouped into blocks, a block is judged by its mean key, and a query reads its own block and those `top_k` earlier ones whose mean has the largest product with it. Native sparse attention (Yuan et al., 2025) chooses in a similar way and adds a window and a compressed branch.

**Predict.** Blocks of 32, three chosen. The operations grow more slowly than those of causal SDPA. From which length on is it faster, written with PyTorch's own functions?
"""

# %%
print("tokens   Mflop, blocks   causal SDPA   ms, blocks   causal SDPA   blocks / SDPA")
for row in practice["blocks"]:
    print(f"{row['length']:6} {row['mflop_blocks']:15,.0f} {row['mflop_sdpa']:13,.0f}", end="")
    print(f" {row['milliseconds_blocks']:12.1f} {row['milliseconds_sdpa']:13.1f}", end="")
    print(f" {row['over_sdpa']:15.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Not up to 8192, and at 16,384 the two are level: 1.02.<!-- shown: 1.02 --> There the blocks take 2,142 Mflop against 137,439<!-- shown: 2,142 137,439 -->, of which the causal flag skips half. So there are thirty times fewer operations, and the time is the same: keys gathered for each query are copied first, and each copy serves one query. Published kernels choose once for a whole block of queries, or for a group of heads, so that what is fetched is used many times.

</details>
"""

# %% [markdown]
"""
Is the choice a good one? Chapter 10's small GPT was trained with full attention. Its heads read windows of 64 tokens, here in blocks of 8.

**Predict.** How much of the full attention weight falls in the query's own block and two chosen ones? In two random ones? In the last two?
"""

# %%
print("earlier blocks   which    full weights, layers 1 and 2   loss, reading these alone")
for row in practice["runs"]:
    held = "   ".join(f"{one:.2f}" for one in row["share"])
    print(f"{row['top_k']:14}   {row['blocks']:7} {held:>28} {row['loss']:26.2f}")
print(f"all of them{practice['settings']['full_loss']:69.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

In the first layer 0.77 in the chosen ones and 0.57 in random ones; but the last two hold 0.72<!-- shown: 0.77 0.57 0.72 -->, and the loss is the same with either: 3.01, as with all blocks.<!-- shown: 3.01 --> At this size the choice is hardly better than a window. The model was not trained to read this way, and most of what it needs is near. What choosing is meant for, one passage far back in a long text, is not in this test.

</details>
"""

# %% [markdown]
r"""
### Exercise: `block_selected_attention`

*Difficulty · importance · minutes*

Write `block_selected_attention(query, key, value, block, top_k) -> out`.

- `query` and `key` are `(B, H, L, d)`, `value` is `(B, H, L, d_v)`. Token `i` is in block `i // block`; the last block may be short, and `block` may exceed `L`.
- A query sees its own block up to itself, and `top_k` earlier blocks, or all, if there are fewer: those whose mean key has the largest product with it. Each query of each head chooses for itself.
- One softmax over all keys that it sees, scaled by $1/\sqrt d$. The choice has no gradient.
- Neither tensors nor operations may grow as $L^2$ where `block` grows as $\sqrt L$.

The check counts at two lengths.
"""


# %% exercise="block_selected_attention"
def block_selected_attention(query, key, value, block, top_k):
    """Attend to a query's own block and to the earlier ones that suit it best."""
    ### BEGIN SOLUTION: Walk block by block; gather the chosen past of each query, join its own block.
    whole, outs = query.shape[2] // block, []
    past = [x[:, :, : whole * block].unflatten(2, (whole, block)) for x in (key, value)]
    batch, heads = torch.arange(len(query)), torch.arange(query.shape[1])[:, None, None]
    for n, start in enumerate(range(0, query.shape[2], block)):
        rows = slice(start, start + block)
        asked = query[:, :, rows] / math.sqrt(query.shape[-1])
        fit = asked @ past[0][:, :, :n].mean(3).mT
        best = fit.topk(min(top_k, n), dim=-1).indices
        keys, values = (x[batch[:, None, None, None], heads, best].flatten(3, 4) for x in past)
        far = (keys @ asked.unsqueeze(-1)).squeeze(-1)
        near = asked @ key[:, :, rows].mT
        near = near.masked_fill(torch.ones_like(near).triu(1) > 0, -torch.inf)
        weights = torch.cat((far, near), dim=-1).softmax(dim=-1)
        taken, own = weights.tensor_split((far.shape[-1],), dim=-1)
        outs.append((taken.unsqueeze(-2) @ values).squeeze(-2) + own @ value[:, :, rows])
    return torch.cat(outs, dim=2)
    ### END SOLUTION


# %%
check("block_selected_attention", block_selected_attention)
# hint("block_selected_attention")

# %% [markdown] tags=["further"]
r"""
## 21. Choose single keys by a cheap score

A block is judged by the mean of its keys, in which one key that fits is lost among others that do not. DeepSeek-V3.2 (DeepSeek-AI, 2025) judges every key, cheaply. Its **indexer** is a small attention without a softmax: a few narrow queries per token, one key per token for all of them, a weight for each of its heads $h$, and

$$I_{ts} = \sum_h w_{th}\,\max(0,\; q_{th}\cdot k_s)$$

with queries and keys rotated by their positions. Query $t$ attends to the $k$ keys $s \le t$ with the largest $I_{ts}$, with all its heads and the ordinary softmax.
"""

# %% [markdown]
r"""
The choice has no gradient. So the indexer is trained by itself: a softmax of its scores is to be like the mean of the attention tables that it stands for, by the Kullback–Leibler divergence, while the model is frozen. DeepSeek then trains the whole model on.
"""

# %% [markdown]
r"""
Section 3's recall model, with full attention, is given lists of 64 pairs: 192 tokens. Then each query may read 16 keys, in both layers: chosen by an indexer of two heads of width 16 for each layer, trained for 600 steps, or untrained; or eight blocks of 2 keys, three blocks of 8 (up to 24 keys, its own block included), or 16 random ones. Equal is the number of keys, nearly; not what it costs to choose them.

**Predict.** With all keys, the model recalls every value. How many in each of these ways?
"""

# %% guess={"name": "08.chosen", "kind": "order", "asks": "A model that recalls all of 64 pairs may read only about 16 keys for each query: with which choice of keys does it recall most, and in which order do the others follow?", "take": "descending", "options": {"a trained indexer": {"record": "chapter_08_indexer", "where": {"way": "indexer"}, "value": "recalled"}, "an untrained indexer": {"record": "chapter_08_indexer", "where": {"way": "indexer, untrained"}, "value": "recalled"}, "eight blocks of 2": {"record": "chapter_08_indexer", "where": {"way": "8 blocks of 2"}, "value": "recalled"}, "three blocks of 8": {"record": "chapter_08_indexer", "where": {"way": "3 blocks of 8"}, "value": "recalled"}}}
guess("08.chosen")

# %%
indexed = measure.read_record("chapter_08_indexer")
print("mean and range of three seeds; the weights are the second layer's")
print(f"{'keys':>27}  weight read          strongest key read values recalled")
for way in dict.fromkeys(run["way"] for run in indexed["runs"]):
    runs = [run for run in indexed["runs"] if run["way"] == way]
    held, top = ([run[name][1] for run in runs] for name in ("held", "top"))
    print(f"{way:20} {runs[0]['keys']:6.1f}  {spread(held)}     {spread(top)}", end="")
    print(f"   {spread([run['recalled'] for run in runs])}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

With the trained indexer all of them, 1.00; with eight blocks of two 0.88; with three blocks of eight 0.42, though these read more keys.<!-- shown: 1.00 0.88 0.42 --> Untrained, the indexer is as good as chance, 0.12 and 0.11.<!-- shown: 0.12 0.11 --> The values hang on one key each, in the second layer: the trained indexer finds it, and the mean of eight keys hides it. No choice could do better: *own scores* takes the best by the layer's own weights. This is the test that section 20 lacked, and it is made for single keys: where weights are spread over neighbours, blocks lose less.

</details>
"""

# %% [markdown]
r"""
**What does the choice cost?** Every query still meets every key; only the meeting is cheap. The multiplications for one query among $n$ keys, from the sizes of the experiment and of DeepSeek-V3.2, whose attention is section 3's in its absorbed form.

**Predict.** At 131,072 tokens DeepSeek-V3.2 attends to 2,048 keys. What is then the larger part of the work, the attention or the indexer?
"""

# %% guess={"name": "08.indexer", "kind": "number", "asks": "DeepSeek-V3.2 at 131,072 tokens: what share of the multiplications of a query's attention and choice is the indexer's, in per cent?", "low": 0, "high": 100, "unit": "%", "reads": "131,072 {_} indexer {}%"}
guess("08.indexer")

# %%
sizes, v32 = indexed["settings"], indexed["settings"]["DeepSeek-V3.2"]
small = sizes["index_heads"] * sizes["index_width"]
print("recall model, n = 192:", f"all keys {2 * 64 * 192:,};", end="")
print(f" indexer {small * 192:,} + {2 * 64 * 16:,};", end="")
print(f" blocks of 8 {64 * 192 // 8:,} + {2 * 64 * 24:,}; of 2 {64 * 192 // 2:,} + {2 * 64 * 16:,}")
latent = v32["kv_lora_rank"]
pair = v32["num_attention_heads"] * (2 * latent + v32["qk_rope_head_dim"])
score = v32["index_n_heads"] * v32["index_head_dim"]
print(f"DeepSeek-V3.2, a pair: attention {pair:,}, indexer {score:,}")
for n in (2_048, 8_192, 32_768, 131_072):
    choose, attend = score * n, pair * min(n, v32["index_topk"])
    print(f"{n:7,} tokens: all keys {pair * n / 1e9:5.2f} G, chosen {attend / 1e9:.2f} G", end="")
    print(f" + indexer {choose / (choose + attend):.0%}, ratio {pair * n / (choose + attend):4.1f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The indexer: 79% of it.<!-- shown: 79% --> A pair costs it 8,192 multiplications instead of 139,264, a seventeenth<!-- shown: 8,192 139,264 -->, and it runs in 8-bit numbers; but it is quadratic like what it replaces, and from some length on it is all there is. At 131,072 tokens the sum is 13.4 times smaller<!-- shown: 13.4 -->, at 2,048 it is larger than before. In the recall model it chooses for as much as blocks of 2 do, and four times as much as blocks of 8<!-- shown: 6,144 1,536 -->. And all keys stay in the cache, with the indexer's own in addition.

</details>
"""

# %% [markdown]
r"""
### Exercise: `choose_keys`

*Difficulty · importance · minutes*

Write `choose_keys(query, key, head_weights, top_k, base=10000.0) -> mask`.

- `query` is `(B, H, L, d)`, `key` is `(B, L, d)`, one for all heads, `head_weights` is `(B, H, L)`; `d` is even, `top_k` ≥ 1.
- Token `t` is rotated by position `t`, in pairs `(i, i + d/2)` with the angles `t · base^(-2i/d)`: `positions.rope_split_halves` (chapter 07) may be used.
- $I_{ts} = \sum_h w_{th} \max(0, q_{th}\cdot k_s)$. The weight is that of the query's token, and may be negative.
- `mask` is boolean, `(B, L, L)`: query `t` sees the `top_k` keys `s ≤ t` with the largest scores, or all, if there are fewer. Ties are not given.

DeepSeek's attention rotates neighbouring features; the indexer does not.
"""


# %% exercise="choose_keys"
def choose_keys(query, key, head_weights, top_k, base=10000.0):
    """Return the mask of the keys that each query may attend to."""
    ### BEGIN SOLUTION: Rotate, multiply, cut off, add over heads; hide the future; scatter the best.
    length = key.shape[1]
    at = torch.arange(length)
    asked = positions.rope_split_halves(query, at, base)
    offered = positions.rope_split_halves(key.unsqueeze(1), at, base)
    scores = (head_weights.unsqueeze(-1) * (asked @ offered.mT).relu()).sum(dim=1)
    past = attention.causal_mask(length, length)
    best = scores.masked_fill(~past, -torch.inf).topk(min(top_k, length), dim=-1).indices
    return torch.zeros_like(scores, dtype=torch.bool).scatter(-1, best, True) & past
    ### END SOLUTION


# %%
check("choose_keys", choose_keys)
# hint("choose_keys")

# %% [markdown] tags=["further"]
r"""
## 22. Let a head attend to nothing

The weights of a row sum to 1, so a head that finds nothing must still put them somewhere. Trained models often put them on the first token, an **attention sink** (Xiao et al., 2024; chapter 16 keeps it in the cache). gpt-oss (OpenAI, 2025) gives each head a logit of its own instead, which joins the softmax and has no value:

$$\mathrm{out}_i = \frac{\sum_j e^{s_{ij}} v_j}{e^{\mathrm{sink}} + \sum_j e^{s_{ij}}}$$

**Predict.** A query's scores are about $-2$, or about 2, with the same differences. Does the softmax notice the difference? Does a sink of 3?
"""

# %% mystnb={"image": {"alt": "Total weight of 16 keys against the logit of the sink, from -4 to 12, for scores around -2, 0 and 2. Each is a falling sigmoid: near 1 for a low sink, one half where the sink equals the logarithm of the sum of the exponentials, near 0 for a high one. Lower scores fall earlier."}}
sinks = torch.linspace(-4, 12, 33)
axes = plotting.new_figure(
    "Scores around -2, 0 and 2:\nthe lower they are, the more the sink takes",
    "the sink's logit", "total weight of the keys",
)  # fmt: skip
noise, one = draw(16), torch.ones(1, 33, 16, 1)
for level, colour, style in ((-2, "orange", "o"), (0, "blue", "s"), (2, "green", "^")):
    key = (noise + level).view(1, 1, 16, 1).expand(1, 33, 16, 1)
    total = attention.sink_attention(torch.ones(1, 33, 1, 1), key, one, sinks)[0, :, 0, 0]
    lse = (noise + level).logsumexp(0)
    plotting.line(axes, sinks, (lse - sinks).sigmoid(), f"{level}", colour, (lse - 0.75, 0.4))
    axes.plot(sinks, total, style, color=plotting.COLOURS[colour], markersize=4)
    at_three = (lse - 3).sigmoid()
    print(f"scores around {level:2}: lse {lse:5.2f}, total beside a sink of 3 {at_three:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The softmax does not: adding a number to all scores changes no weight. With a sink the level matters. The marks are `sink_attention`, the lines $\sigma(\mathrm{lse} - \mathrm{sink})$, where $\mathrm{lse}$ is the logarithm of the sum of the exponentials: a sink is a gate on the head's output that opens when something matches. Kernels that return $\mathrm{lse}$ (chapter 09) need no change.

</details>
"""

# %% [markdown]
r"""
### Exercise: `sink_attention`

*Difficulty · importance · minutes*

Write `sink_attention(query, key, value, sink, attn_mask=None) -> out`.

- `query` is `(B, H, L, d_k)`, `key` is `(B, H, S, d_k)`, `value` is `(B, H, S, d_v)`.
- `sink` is `(H,)`, finite: one more logit for each head, the same for all queries. It is not scaled and never masked.
- Scores and sinks up to $\pm 10^4$ neither overflow nor give NaN, gradients included; gradients reach the sinks.
- A query that may see nothing gives zeros.

The check tries sinks far below and far above all scores.
"""


# %% exercise="sink_attention"
def sink_attention(query, key, value, sink, attn_mask=None):
    """Attend, with one more logit for each head, which has no value."""
    ### BEGIN SOLUTION: Put the sink beside the scores as one more column, and drop it afterwards.
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf)
    column = sink[:, None, None].expand(*scores.shape[:-1], 1)
    return torch.cat((scores, column), dim=-1).softmax(dim=-1)[..., :-1] @ value
    ### END SOLUTION


# %%
check("sink_attention", sink_attention)
# hint("sink_attention")

# %% [markdown]
r"""
**Does it free the first token?** Chapter 13 trains a model of two layers on symbols that repeat. After a start token the first copy is random: nothing matches yet, and the second layer puts most of its weight on the start token. The same model, three seeds each, with a sink in both layers, learned like any parameter; with ten times the learning rate; initialised at 4; and with a gate on the output (section 23).

**Predict.** How much of the second layer's weight stays on the start token, and how much goes to the sink?
"""

# %%
rests = measure.read_record("chapter_08_practice_sinks")["runs"]
print("layer 2, nothing matches yet   on the first position      left to the sink     right later")
for kind in dict.fromkeys(run["kind"] for run in rests):
    runs = [run for run in rests if run["kind"] == kind]
    first, left = ([run["first copy"][name][1] for run in runs] for name in ("start", "sink"))
    shown = f"{spread(first)}   {spread(left)}   {spread([run['right'] for run in runs])}"
    print(f"{kind:28} {shown}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The start token keeps its weight: 0.58 of the second layer's total with a learned sink, 0.57 without, and the sink gets less than 0.01.<!-- shown: 0.58 0.57 --> Initialised at 4, the sink gets more, and the model learns less or, with one seed, hardly anything. Where no start token is shown, the first symbol takes even more with a sink than without.

So a sink did not free the first position here. It is not that the model needs the value of the token there: chapter 13 sets that value to zero in the second layer, at hardly any cost. The gains that papers report are for large models.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 23. Two softmaxes, or a gate

Two more changes aim at weights that land where they should not. **Differential attention** (Ye et al., 2024) subtracts $\lambda$ times a second softmax from the first, so that what both weigh alike cancels; its queries and keys are half as wide. **Gated attention** (Qiu et al., 2025) multiplies a head's output by the sigmoid of a gate computed from the query's token.

Both on section 3's recall task: four heads, 600 steps, three seeds; one learned $\lambda$ per layer, without the paper's norm of each head; the gates have 4,096 more parameters per layer.

**Predict.** Which of the three learns fastest, and which recalls most of 64 pairs?
"""

# %% mystnb={"image": {"alt": "Loss against step on a logarithmic axis, mean and range of three seeds. All three fall from 4 to below 0.1 between steps 100 and 225, and to about 0.01 or less at 600. Full attention falls first; differential and gated attention follow within fifty steps, and gated attention ends slightly above the others."}}
tried = measure.read_record("chapter_08_practice_recall")["runs"]
axes = plotting.new_figure(
    "On a task that full attention solves,\nneither change learns faster", "step", "loss, mean of 25 steps"
)  # fmt: skip
print("mean and range of three seeds   loss at 200 steps         at 600    recalled of 64")
for kind, colour, style, at in (
    ("full", "blue", "o-", (60, 0.5)), ("differential", "orange", "s--", (215, 0.6)),
    ("gated", "green", "^:", (300, 0.09)),
):  # fmt: skip
    runs = [run for run in tried if run["kind"] == kind]
    steps = [int(step) for step in runs[0]["loss_at"]]
    losses = [[run["loss_at"][str(step)] for run in runs] for step in steps]
    plotting.band(axes, steps, losses, kind, colour, at, style)
    late = [run["recalled"]["64"] for run in runs]
    print(f"{kind:28} {spread(losses[7]):>21} {spread(losses[-1]):>14} {spread(late):>17}")
_ = axes.set(yscale="log")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Full attention is first by a few steps, and all three end at the same place, except for one seed of the gated model, which recalls 0.97 of 64 pairs.<!-- shown: 0.97 --> No gain.

What such a task cannot show: full attention already recalls everything, so nothing is left to gain; the lists hold no noise to be cancelled; and sinks, which gates are meant to prevent, cost nothing here. The gains that papers report are lower losses of language models that were trained on billions of tokens.

</details>
"""

# %% [markdown]
r"""
## Recap

1. Shared heads and latent vectors lower what is *kept and read*; windows, patterns, kernels and hashing lower *operations and memory*. Below about $2d$ tokens, attention itself takes fewer operations than its projections.
2. A mask on all scores saves nothing. Count FLOPs and the largest tensor at several lengths: the exponent shows whether a variant is what it says.
3. An exponent holds for a range of lengths and says nothing about the constant: keeping all states is linear, yet slower than the quadratic form at every length we measured.
"""

# %% [markdown]
"""
4. Shared heads recalled everything; with very few bytes per token a latent vector recalled more than narrow shared heads. A window forgets what lies before it; a kernel what exceeds its state; random features and mixtures fail where attention is sharp.
5. A table without an experiment is an opinion.
"""

# %% tags=["remove-cell"]
progress(8)

# %% [markdown]
"""
**Next**: chapter 09 keeps attention exact, and makes it cheap by never storing the table.
"""

# %% [markdown]
"""
## Go further

- Shazeer (2019), Ainslie et al. (2023): shared keys and values. DeepSeek-AI (2024, 2024b): latent vectors.
- Child et al. (2019), Beltagy et al. (2020), Zaheer et al. (2020), Jiang et al. (2023): patterns and windows.
- Martins and Astudillo (2016), Correia et al. (2019): sparse weights.
- Katharopoulos et al. (2020), Choromanski et al. (2021): kernels. Wang et al. (2020): projected keys.
- Kitaev et al. (2020): hashing. El-Nouby et al. (2021): features that attend to features. Dai et al. (2020): fewer tokens with depth.
- Arora et al. (2024): recall, and the trade between it and the size of the state.
- Lu et al. (2025), Yuan et al. (2025): blocks that a query chooses. DeepSeek-AI (2025): single keys. Xiao et al. (2024), OpenAI (2025): sinks. Ye et al. (2024), Qiu et al. (2025): differences and gates.
- Tay et al. (2022): a survey of the others.
"""

# %% [markdown]
"""
<details><summary>BibTeX</summary>

```bibtex
@misc{shazeer2019fast, title = {Fast Transformer Decoding: One Write-Head is All You Need}, author = {Shazeer, Noam}, year = {2019}, url = {https://arxiv.org/abs/1911.02150}}
@inproceedings{ainslie2023gqa, title = {GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints}, author = {Ainslie, Joshua and Lee-Thorp, James and de Jong, Michiel and Zemlyanskiy, Yury and Lebr{\'o}n, Federico and Sanghai, Sumit}, booktitle = {EMNLP}, year = {2023}, url = {https://arxiv.org/abs/2305.13245}}
@misc{deepseek2024v2, title = {DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language Model}, author = {{DeepSeek-AI}}, year = {2024}, url = {https://arxiv.org/abs/2405.04434}}
@misc{child2019generating, title = {Generating Long Sequences with Sparse Transformers}, author = {Child, Rewon and Gray, Scott and Radford, Alec and Sutskever, Ilya}, year = {2019}, url = {https://arxiv.org/abs/1904.10509}}
@misc{beltagy2020longformer, title = {Longformer: The Long-Document Transformer}, author = {Beltagy, Iz and Peters, Matthew E. and Cohan, Arman}, year = {2020}, url = {https://arxiv.org/abs/2004.05150}}
@inproceedings{zaheer2020big, title = {Big Bird: Transformers for Longer Sequences}, author = {Zaheer, Manzil and Guruganesh, Guru and Dubey, Kumar Avinava and Ainslie, Joshua and Alberti, Chris and Ontanon, Santiago and Pham, Philip and Ravula, Anirudh and Wang, Qifan and Yang, Li and Ahmed, Amr}, booktitle = {NeurIPS}, year = {2020}, url = {https://arxiv.org/abs/2007.14062}}
@misc{jiang2023mistral, title = {Mistral 7B}, author = {Jiang, Albert Q. and others}, year = {2023}, url = {https://arxiv.org/abs/2310.06825}}
@inproceedings{martins2016sparsemax, title = {From Softmax to Sparsemax: A Sparse Model of Attention and Multi-Label Classification}, author = {Martins, Andr{\'e} F. T. and Astudillo, Ram{\'o}n Fernandez}, booktitle = {ICML}, year = {2016}, url = {https://arxiv.org/abs/1602.02068}}
@inproceedings{correia2019adaptively, title = {Adaptively Sparse Transformers}, author = {Correia, Gon{\c{c}}alo M. and Niculae, Vlad and Martins, Andr{\'e} F. T.}, booktitle = {EMNLP}, year = {2019}, url = {https://arxiv.org/abs/1909.00015}}
@inproceedings{katharopoulos2020transformers, title = {Transformers are RNNs: Fast Autoregressive Transformers with Linear Attention}, author = {Katharopoulos, Angelos and Vyas, Apoorv and Pappas, Nikolaos and Fleuret, Fran{\c{c}}ois}, booktitle = {ICML}, year = {2020}, url = {https://arxiv.org/abs/2006.16236}}
@inproceedings{choromanski2021rethinking, title = {Rethinking Attention with Performers}, author = {Choromanski, Krzysztof and others}, booktitle = {ICLR}, year = {2021}, url = {https://arxiv.org/abs/2009.14794}}
@misc{wang2020linformer, title = {Linformer: Self-Attention with Linear Complexity}, author = {Wang, Sinong and Li, Belinda Z. and Khabsa, Madian and Fang, Han and Ma, Hao}, year = {2020}, url = {https://arxiv.org/abs/2006.04768}}
@inproceedings{kitaev2020reformer, title = {Reformer: The Efficient Transformer}, author = {Kitaev, Nikita and Kaiser, {\L}ukasz and Levskaya, Anselm}, booktitle = {ICLR}, year = {2020}, url = {https://arxiv.org/abs/2001.04451}}
@inproceedings{elnouby2021xcit, title = {XCiT: Cross-Covariance Image Transformers}, author = {El-Nouby, Alaaeldin and others}, booktitle = {NeurIPS}, year = {2021}, url = {https://arxiv.org/abs/2106.09681}}
@inproceedings{dai2020funnel, title = {Funnel-Transformer: Filtering out Sequential Redundancy for Efficient Language Processing}, author = {Dai, Zihang and Lai, Guokun and Yang, Yiming and Le, Quoc V.}, booktitle = {NeurIPS}, year = {2020}, url = {https://arxiv.org/abs/2006.03236}}
@inproceedings{arora2024zoology, title = {Zoology: Measuring and Improving Recall in Efficient Language Models}, author = {Arora, Simran and Eyuboglu, Sabri and Timalsina, Aman and Johnson, Isys and Poli, Michael and Zou, James and Rudra, Atri and R{\'e}, Christopher}, booktitle = {ICLR}, year = {2024}, url = {https://arxiv.org/abs/2312.04927}}
@misc{deepseek2025v32, title = {{DeepSeek-V3.2}: Pushing the Frontier of Open Large Language Models}, author = {{DeepSeek-AI}}, year = {2025}, url = {https://arxiv.org/abs/2512.02556}}
@misc{deepseek2024v3, title = {{DeepSeek-V3} Technical Report}, author = {{DeepSeek-AI}}, year = {2024}, url = {https://arxiv.org/abs/2412.19437}}
@misc{lu2025moba, title = {{MoBA}: Mixture of Block Attention for Long-Context {LLM}s}, author = {Lu, Enzhe and Jiang, Zhejun and Liu, Jingyuan and others}, year = {2025}, url = {https://arxiv.org/abs/2502.13189}}
@misc{yuan2025native, title = {Native Sparse Attention: Hardware-Aligned and Natively Trainable Sparse Attention}, author = {Yuan, Jingyang and Gao, Huazuo and Dai, Damai and others}, year = {2025}, url = {https://arxiv.org/abs/2502.11089}}
@inproceedings{xiao2024efficient, title = {Efficient Streaming Language Models with Attention Sinks}, author = {Xiao, Guangxuan and Tian, Yuandong and Chen, Beidi and Han, Song and Lewis, Mike}, booktitle = {ICLR}, year = {2024}, url = {https://arxiv.org/abs/2309.17453}}
@misc{openai2025gptoss, title = {gpt-oss-120b \& gpt-oss-20b Model Card}, author = {{OpenAI}}, year = {2025}, url = {https://arxiv.org/abs/2508.10925}}
@misc{ye2024differential, title = {Differential Transformer}, author = {Ye, Tianzhu and Dong, Li and Xia, Yuqing and Sun, Yutao and Zhu, Yi and Huang, Gao and Wei, Furu}, year = {2024}, url = {https://arxiv.org/abs/2410.05258}}
@misc{qiu2025gated, title = {Gated Attention for Large Language Models: Non-linearity, Sparsity, and Attention-Sink-Free}, author = {Qiu, Zihan and Wang, Zekun and Zheng, Bo and others}, year = {2025}, url = {https://arxiv.org/abs/2505.06708}}
@article{tay2022efficient, title = {Efficient Transformers: A Survey}, author = {Tay, Yi and Dehghani, Mostafa and Bahri, Dara and Metzler, Donald}, journal = {ACM Computing Surveys}, year = {2022}, url = {https://arxiv.org/abs/2009.06732}}
```

</details>
"""
