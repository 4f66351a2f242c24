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
# Generate one token at a time, and keep what was computed

A model writes one token after another. What it computed for the earlier ones is kept: a column of keys and values for each.

Play for one minute: press *Step*, then change what is kept. **Which choice keeps the fewest bytes, and what does *nothing* cost instead?** At the end of the chapter you can explain it.
"""

# %% tags=["remove-input"]
from course_utils.widgets import decode_stepper

opening = decode_stepper(kind="mha", prompt=8)
opening

# %% [markdown]
r"""
*You will be able to*

1. write prefill and decoding with a cache, and prove that they equal a model without one;
2. say what one more token costs, in operations and in time, and how that grows (further);
3. work out how large a cache is, and what shared heads, windows and fewer bits save;
4. roll a cache, page it, round it, and measure what each gives up;
5. find the faults of a cache by running it.

*You need* chapters 03 (attention), 05 (heads), 06 (causal masks), 07 (rotary positions, RoPE) and the first two sections of 08 (shared heads and what a cache weighs).

*Core path · further*
"""

# %% [markdown]
"""
How to read: each experiment begins with a question. Write down your guess, run the cell, then open the answer.

$B$ sequences, $H$ query heads, $H_{kv}$ heads of keys and values, $T$ new tokens in a step, $n$ tokens so far, width $d_k$ of one head and $d$ of the stream.

Times that need a quiet machine were recorded beforehand, by a script in `benchmarks/`. The cells below read that record and repeat a small part of it live.
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
import math
import sys
import time
from functools import partial
from statistics import mean, median

import torch
from torch import nn
from torch.nn import functional as F
from tqdm import tqdm

from course_utils import attention, measure, models, plotting
from course_utils.attention import BlockPool, KVCache, PagedCache, QuantizedCache, RollingCache
from course_utils.data import character_text
from course_utils.guessing import draw_guess, guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.models import GPT, GivenCache, GivenPositions, ModelCache, generate, left_pad
from course_utils.positions import rope_interleaved
from course_utils.widgets import speculation_explorer

plotting.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=3, sci_mode=False, linewidth=100)
record = measure.read_record("chapter_10_decode")

# %% [markdown]
r"""
## 1. What does the next token change?

A language model reads tokens and scores what comes next. To write a text it is called again and again: choose a token, append it, read the whole text once more. Nearly all of that work has been done before.

**Predict.** A causal model of two layers has read ten tokens. Now an eleventh is appended, and all eleven are read. In the second layer, how many of the first ten rows of keys differ from before? And in a model without a causal mask?
"""

# %%
torch.manual_seed(0)
generator = torch.Generator().manual_seed(0)
sizes = {"d_model": 64, "num_heads": 4, "num_layers": 2, "max_length": 96}
toy = GPT(50, **sizes, num_kv_heads=2, positions="rope").double()
tokens = torch.randint(50, (1, 11), generator=generator)
_, ten = toy(tokens[:, :10])
_, eleven = toy(tokens)
for number in range(2):
    before, after = (cache.layers[number].key[0, 0] for cache in (ten, eleven))
    changed = (before[:10] - after[:10]).abs().amax(dim=-1) > 1e-12
    print(f"causal, layer {number + 1}: {changed.sum()} of 10 rows of keys changed")

# %%
x = torch.randn(11, 8, dtype=torch.float64, generator=generator)
read = [attention.scaled_dot_product_attention(part, part, part) for part in (x[:10], x)]
changed = (read[0] - read[1][:10]).abs().amax(dim=-1) > 1e-12
print(f"no mask, the input of layer 2: {changed.sum()} of 10 rows changed")

# %% [markdown]
r"""
<details><summary>Answer</summary>

None in the causal model: no row has ever looked at a later one, so nothing that comes later can change it. All of them without the mask.

So the past can be kept. The new token needs one row: its own query compared with all keys, its own among them. What is kept is the **KV cache**, and it is not an approximation.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** Keys and values of earlier tokens are kept. Why not their queries?

- A. They would take too much memory.
- B. They change when a token is appended.
- C. They are never needed again.

<details><summary>Answer</summary>

- A is wrong: a query is as large as a key.
- B is wrong: a query is a row like any other, and depends only on the past.
- **C is right.** A token's query finds what that token takes from others. That was done when the token was read; later tokens have queries of their own.

</details>
"""

# %% [markdown]
r"""
There are two phases. **Prefill** reads the prompt: many tokens at once, large matrix products. **Decoding** adds one token after another, and each step multiplies every weight matrix of the model by a single row.
"""

# %% tags=["remove-input"]
from course_utils.diagrams import diagram

diagram("10")

# %% [markdown]
r"""
**Step through it** once more. Each row of blocks is a head of keys and values, each column a slot, which is room for one token. Change what is kept, and watch which positions are held, how many bytes they take, and how many operations a step needs.

**Predict**, before you choose *nothing*: after the prompt of 8, how many tokens will the model have read in all when position 22 has been written? And with a cache?
"""

# %% guess={"name": "10.read", "kind": "number", "asks": "A prompt of {prompt} tokens, and nothing is kept: how many tokens has the model read in all when position {last} has been written (positions count from 0)?", "low": 10, "high": 10000, "log": true, "unit": "tokens", "reads": "without one {}", "varied": [{"prompt": 8, "last": 22}, {"prompt": 4, "last": 13}, {"prompt": 20, "last": 99}], "becomes": "(prompt + last) * (last - prompt + 1) / 2"}
guess("10.read")

# %%
opening

# %%
print(f"tokens read: with a cache {8 + 22 - 8}, without one {sum(range(8, 22 + 1))}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

With a cache 22<!-- shown: 22 -->: each token once, and the last one is never read, since nothing follows it. Without one, $8 + 9 + \dots + 22 = 225$<!-- shown: 225 -->.

Shared heads lower the bytes a lot and the operations a little. A window lowers both once it is full: its oldest column is overwritten, while the *sinks* (the first tokens, section 8) stay. Reading the prompt in pieces costs as much as reading it at once.

</details>
"""

# %% [markdown]
r"""
## 2. Append in place

The simplest cache appends with `torch.cat`. That makes a new tensor for every token and copies all that was kept. The other way is to allocate the memory once, with room for $S_{max}$ tokens, and to write into it.

**Predict.** Width 64, one head, room for 1024 tokens, and all of them come. What does each way write in all?
"""

# %% guess={"name": "10.cat", "kind": "number", "asks": "{n} tokens come one by one: how many times as many numbers does torch.cat write as a cache that is filled in place?", "low": 1, "high": 100000, "log": true, "unit": "times", "reads": "ratio {}", "varied": [{"n": 1024}, {"n": 100}, {"n": 32768}], "becomes": "(n + 1) / 2"}
guess("10.cat")

# %%
room, width = 1024, 64
by_cat = sum(length * width for length in range(1, room + 1))
in_place = room * width
print(f"with cat {by_cat:,}   in place {in_place:,}   ratio {by_cat / in_place}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

$\tfrac{n(n+1)}{2}$ rows compared with $n$: 512.5 times as many<!-- shown: 512.5 --> at 1024 tokens. Copying brings back the quadratic work that the cache was meant to avoid. It is cheap work, so the clock notices it late; section 5 has the slope.

</details>

Writing in place has its price: the caller must know how many slots are filled, and the slots after them hold garbage that must not be read.
"""

# %% [markdown]
r"""
### Exercise: `append_kv`

*Difficulty · importance · minutes*

Write `append_kv(cache_key, cache_value, length, key, value) -> int`.

- `cache_key` and `cache_value` are `(B, H, S_max, d)`; their first `length` slots are filled.
- `key` and `value` are `(B, H, T, d)`, of any number of new tokens. Write them after those, in place, and touch no other slot.
- Return the new length. An exact fill is allowed.
- If the new tokens do not fit, raise `ValueError` and leave the cache as it was.
"""


# %% exercise="append_kv"
def append_kv(cache_key, cache_value, length, key, value):
    """Write the keys and values of new tokens after those that are kept."""
    ### BEGIN SOLUTION: Check the room first, then write one slice of each cache.
    end = length + key.shape[2]
    if end > cache_key.shape[2]:
        raise ValueError(f"the cache has {cache_key.shape[2]} slots, got {end} tokens")
    cache_key[:, :, length:end] = key.detach()
    cache_value[:, :, length:end] = value.detach()
    return end
    ### END SOLUTION


# %%
check("append_kv", append_kv)
# hint("append_kv")  # remove the first # for a hint; each call gives one more

# %% [markdown]
r"""
**Check yourself.** A cache does not check for room. It wraps around: `slot = position % S_max`. What happens at token $S_{max} + 1$?

- A. An `IndexError`.
- B. The model goes on, with its first token forgotten and its mask wrong.
- C. The same as with a check.

<details><summary>Answer</summary>

- A is wrong: the index is valid, and that is the trouble.
- **B is right.** Text keeps coming, and it gets worse. A ring may be intended: then the mask must know which slot holds which position (section 8).
- C is wrong: only the caller can decide what to do with a full cache, so it must be an error.

</details>
"""

# %% [markdown]
r"""
## 3. Attend from the end

$T$ queries belong to the last $T$ of $n$ positions. The query in row $i$ has position $n - T + i$, and sees the keys $j \le n - T + i$.

**Predict.** PyTorch's `is_causal=True` aligns the triangle to the top left. With 3 queries and 8 keys, what does the last query see? What should it see?
"""

# %% guess={"name": "10.aligned", "kind": "number", "asks": "is_causal=True, {queries} new queries and {keys} keys: how many keys does the last query see?", "low": 0, "high": 10, "unit": "keys", "reads": "is_causal: [{_}, {_}, {}] keys", "varied": [{"queries": 3, "keys": 8}, {"queries": 2, "keys": 9}, {"queries": 6, "keys": 7}], "becomes": "queries"}
guess("10.aligned")

# %%
query, key, value = (torch.randn(1, 1, n, 4, generator=generator) for n in (3, 8, 8))
one_hot = torch.eye(8).expand(1, 1, 8, 8)
top_left = F.scaled_dot_product_attention(query, key, one_hot, is_causal=True)
print("is_causal:", (top_left > 0).sum(dim=-1).flatten().tolist(), "keys seen")
last = attention.causal_mask(3, 8, offset=5)
right = F.scaled_dot_product_attention(query, key, one_hot, last)
print("offset 5: ", (right > 0).sum(dim=-1).flatten().tolist())
print(last.int())

# %% [markdown]
r"""
<details><summary>Answer</summary>

3, and it should see 8. With a single new token no mask is needed at all, since the last position sees everything. So a cache that uses a mask aligned to the top left for several tokens passes every test that adds one token at a time, and fails on the first prompt that comes in two pieces.

</details>
"""

# %% [markdown]
r"""
### Exercise: `decode_step`

*Difficulty · importance · minutes*

Write `decode_step(query, cache_key, cache_value, length) -> out`.

- `query` is `(B, H, T, d)`; its rows are the positions `length - T` to `length - 1`, with $1 \le T \le$ `length`.
- The caches are `(B, H, S_max, d)`. Keys and values of all `length` tokens are in them already.
- Causal, scaled by $1/\sqrt d$; the result is `(B, H, T, d)`.
- Slots past `length` may hold anything, `nan` too. A mask does not help there: $0 \cdot$ `nan` is `nan`.
"""


# %% exercise="decode_step"
def decode_step(query, cache_key, cache_value, length):
    """Attend from the newest positions to all that is filled."""
    ### BEGIN SOLUTION: Cut the filled slots out, and shift the triangle to the last rows.
    num_new = query.shape[2]
    key, value = cache_key[:, :, :length], cache_value[:, :, :length]
    place = torch.arange(length, device=query.device)
    seen = place <= place[length - num_new :, None]
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return torch.softmax(scores.masked_fill(~seen, -torch.inf), dim=-1) @ value
    ### END SOLUTION


# %%
check("decode_step", decode_step)
# hint("decode_step")

# %% [markdown]
r"""
**The proof that matters.** A prompt may be read at once or in pieces; serving systems cut long prompts so that other users need not wait (*chunked prefill*). Whatever the split, the result must be that of the model without a cache, up to rounding.

**Predict.** 24 tokens, float64, four kinds of cache: preallocated (section 2), paged (section 10), a window with sinks (section 8), and rounded to int8 (section 11). Which of them must agree with the model without a cache, and with what must the others agree?
"""


# %%
def caches_of(model, kind):
    """Return an empty cache of one kind for each layer of `model`."""
    heads, d_k = model.layers[0].attention.num_kv_heads, model.layers[0].attention.d_k
    like = {"dtype": model.token.weight.dtype}
    make = {
        "preallocated": lambda: KVCache(1, heads, 96, d_k, **like),
        "paged": lambda: PagedCache(BlockPool(24, 4, heads, d_k, **like), 1),
        "window 7, 2 sinks": lambda: RollingCache(1, heads, d_k, window=7, num_sinks=2, **like),
        "int8": lambda: QuantizedCache(1, heads, 96, d_k, **like),
    }[kind]
    return ModelCache([make() for _ in model.layers])


def read_in_pieces(model, tokens, pieces, cache):
    """Return the logits of all tokens, read piece by piece."""
    return torch.cat([model(part, cache)[0] for part in tokens.split(pieces, dim=1)], dim=1)


# %%
tokens = torch.randint(50, (1, 24), generator=generator)
whole = toy.logits(tokens)
splits = [[24], [1] * 24, [5, 1, 9, 9], [23, 1], [2, 22]]
for kind in ("preallocated", "paged", "window 7, 2 sinks", "int8"):
    read = [read_in_pieces(toy, tokens, split, caches_of(toy, kind)) for split in splits]
    among = max((one - read[0]).abs().max().item() for one in read)
    away = max((one - whole).abs().max().item() for one in read)
    print(f"{kind:18} any split = one prefill: {among < 1e-12}", end="   ")
    print(f"= no cache: {away < 1e-12}", "" if away < 1e-12 else f"({away:.2g} away)")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Preallocated and paged caches agree with the model. The window and int8 change what is read, so they agree only with themselves: any split of the same text gives the same result. A window's own reference is attention with a window mask; the tests of this course compare with that too.

</details>

**Find the error.** "The cache holds 20 tokens. For the next one I call the model with it, at position 0, since it is the only row." This model rotates queries and keys by position (chapter 07).
"""

# %%
same = torch.ones(1, 1, 21, 16, dtype=torch.float64)  # one content everywhere: position decides
keys = rope_interleaved(same, torch.arange(21))
for name, position in (("position 20", 20), ("restarted at 0", 0)):
    query = rope_interleaved(same[:, :, :1], torch.tensor([position]))
    scores = (query @ keys.mT).flatten()
    print(f"{name:15} best match: key {scores.argmax().item():2}", end="   ")
    print("last three scores", [round(score, 1) for score in scores[-3:].tolist()])

# %% [markdown]
r"""
<details><summary>Answer</summary>

A token matches its own place best. At position 0 the new query takes the *first* key for its own, and its true neighbours for tokens 18, 19 and 20 places ahead. Nothing fails: shapes fit, text comes out. The new token's position is the number of tokens kept, which the cache knows.

</details>
"""

# %% [markdown]
r"""
## 4. The loop, and a published cache

With a model that takes a cache and returns it, generating greedily takes four lines: read the prompt, take the likeliest token, feed that one alone, repeat.
"""

# %% [markdown]
r"""
### Exercise: `greedy_decode`

*Difficulty · importance · minutes*

Write `greedy_decode(model, prompt, num_tokens) -> tokens`.

- `model(tokens, cache)` takes tokens `(B, T)` and a cache, or `None` at the start. It returns scores `(B, T, V)` and the cache.
- `prompt` is `(B, P)`; return the `(B, num_tokens)` *new* tokens, each the likeliest given all before it.
- `num_tokens` may be 0.

The check counts: each token may be fed only once. Whether the last new one is fed does not matter.
"""


# %% exercise="greedy_decode"
def greedy_decode(model, prompt, num_tokens):
    """Return the tokens that follow the prompt if each is the likeliest."""
    ### BEGIN SOLUTION: Feed the prompt, then only ever the token that was written last.
    written, cache, fed = [prompt[:, :0]], None, prompt
    for _ in range(num_tokens):
        scores, cache = model(fed, cache)
        fed = scores[:, -1].argmax(dim=-1, keepdim=True)
        written.append(fed)
    return torch.cat(written, dim=1)
    ### END SOLUTION


# %%
check("greedy_decode", greedy_decode)
# hint("greedy_decode")

# %% [markdown]
r"""
**Find the faults.** This cache comes from text A (A to E are listed on the page *What is measured here*), under the heading "Production Optimizations". The first cell is the listing, with names shortened; the second is what it should equal: causal attention with several heads and the same weights.

**Predict.** There are five faults. Which do you see before running anything?
"""


# %%
class PublishedCache(nn.Module):
    """The listing of text A."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))
        self.kv_cache = None

    def forward(self, x, use_cache=False):
        if use_cache and self.kv_cache is not None:
            cached_k, cached_v = self.kv_cache
            q = self.w_q(x[:, -1:])
            k = torch.cat([cached_k, self.w_k(x[:, -1:])], dim=1)
            v = torch.cat([cached_v, self.w_v(x[:, -1:])], dim=1)
            self.kv_cache = (k, v)
        else:
            q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
            if use_cache:
                self.kv_cache = (k, v)
        weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1)
        return weights @ v, weights


# %%
def in_heads(published, x):
    """Return queries, keys and values (B, H, L, d_k), with the weights of the listing."""
    parts = (published.w_q(x), published.w_k(x), published.w_v(x))
    return [attention.split_heads(part, published.num_heads) for part in parts]


def as_it_should_be(published, x):
    """Return causal attention of all heads, and the output projection."""
    found = F.scaled_dot_product_attention(*in_heads(published, x), is_causal=True)
    return published.w_o(attention.merge_heads(found))


# %%
torch.manual_seed(1)
published = PublishedCache(64, 8).double()
x = torch.randn(1, 6, 64, dtype=torch.float64, generator=generator)
with torch.no_grad():
    wanted = as_it_should_be(published, x)
    out, weights = published(x[:, :3], use_cache=True)
    away = (out - wanted[:, :3]).abs().max()
    print("1. weights", tuple(weights.shape), "for 8 heads")
    future = weights.triu(1).sum().item() / 3
    print(f"2. share of the future in the prompt's weights {future:.2f}")
print(f"away from what it should be: {away:.2f}; largest number there {wanted.abs().max():.2f}")

# %%
with torch.no_grad():
    step, _ = published(x[:, 3:], use_cache=True)
    kept = published.kv_cache[0].shape[1]
    print("3. three more tokens:", step.shape[1], "row out,", kept, "positions kept")
    published(x[:, :3], use_cache=True)
    print("4. another prompt of three:", published.kv_cache[0].shape[1], "positions kept")
    try:
        published(torch.cat([x, x]), use_cache=True)
    except RuntimeError as error:
        print("   two texts at once:", type(error).__name__)

# %% [markdown]
r"""
<details><summary>Answers</summary>

1. *No heads.* `num_heads` is never used; the scale becomes $1/\sqrt d$ instead of $1/\sqrt{d_k}$.
2. *No causal mask in the prompt.* Rows see the future, so what deeper layers keep of them is wrong.
3. *Tokens are dropped.* `x[:, -1:]` keeps only the last of the new tokens. It works for one at a time.
4. *State leaks.* The cache is kept in the module, so the next user's prompt is read as a continuation of the last one's. A prompt with another batch size crashes.
5. *No output projection*: `w_o` is never used. And a tuple comes back where one tensor is expected.

The idea is right: a cache does avoid computing the same things twice. The listing gets it wrong.

</details>
"""

# %% [markdown]
r"""
**The repair** takes the state out of the module, splits heads before it keeps anything, feeds all new tokens, and masks by position.
"""


# %%
def attend_with_cache(published, x, cache):
    """Append all of x to the cache, and attend from there."""
    query, key, value = in_heads(published, x)
    cache.append(key, value)
    return published.w_o(attention.merge_heads(cache.attend(query)))


# %%
with torch.no_grad():
    for split in ([6], [3, 3], [3, 2, 1], [1] * 6):
        cache = KVCache(1, 8, 6, 8, dtype=torch.float64)
        pieces = [attend_with_cache(published, part, cache) for part in x.split(split, dim=1)]
        away = (torch.cat(pieces, dim=1) - wanted).abs().max()
        print(split, f"away by less than 1e-14: {away < 1e-14}")

# %% [markdown]
r"""
**What a cache must refuse.** A full cache, another number of heads, another dtype, a negative length: each must be an error that says so, and leave the cache as it was. A step that fails halfway, with the keys written and the length not, would be worse than a crash.
"""

# %%
cache = KVCache(1, 8, 6, 8)
new = torch.randn(1, 8, 4, 8, generator=generator)
cache.append(new, new)
attempts = {
    "full": lambda: cache.append(new, new),
    "heads": lambda: cache.append(new[:, :2], new[:, :2]),
    "dtype": lambda: cache.append(new, new.double()),
    "length": lambda: attention.append_kv(cache.key, cache.value, -1, new, new),
}

# %%
before = cache.key.clone(), cache.value.clone(), cache.length
for name, attempt in attempts.items():
    try:
        attempt()
    except (ValueError, TypeError) as error:
        print(f"{name}: {type(error).__name__}: {error}")
same = torch.equal(cache.key, before[0]) and torch.equal(cache.value, before[1])
print("as it was:", same and cache.length == before[2])

# %% [markdown] tags=["further"]
r"""
## 5. What one more token costs

Count first, on a model of width 256 with four layers.

**Predict.** From position 64 to 1024: by what factor do the operations for one more token grow, with a cache and without?
"""

# %%
torch.manual_seed(0)
POSITIONS = (64, 128, 256, 512, 1024)
model = GPT(512, d_model=256, num_heads=8, num_layers=4, max_length=1024)
counted = {"cache": [], "no cache": []}
for n in POSITIONS:
    written = torch.zeros(1, n, dtype=torch.long)
    _, cache = model(written[:, 1:])
    counted["cache"].append(measure.count_flops(model, written[:, :1], cache))
    counted["no cache"].append(measure.count_flops(model.logits, written))
for name, flops in counted.items():
    print(f"{name:9}", "  ".join(f"{one / 1e6:8.1f}" for one in flops), "Mflop", end="   ")
    print(f"exponent {measure.fit_exponent(POSITIONS, flops):.2f}", end="   ")
    print(f"{flops[-1] / flops[0]:.1f} times as many")

# %% [markdown]
r"""
<details><summary>Answer</summary>

By 1.6 with the cache<!-- shown: 1.6 -->: one row through all weights is most of it, and attention to the past, which does grow, is a smaller part. By 25 without<!-- shown: 25 -->: sixteen times as many rows, and the table of scores on top.

</details>

**Predict.** Text E says that a cache costs "O(n) per new token instead of O(n²)". Look at attention alone. And what is the exponent for a whole text?
"""


# %%
def attention_flops(n, cached):
    """Count one layer's scores and averages for the token at position n."""
    key = torch.empty(1, 8, n, 32, device="meta")
    query = key[:, :, -1:] if cached else key
    return measure.count_flops(F.scaled_dot_product_attention, query, key, key)


counting = partial(tqdm, desc="counting", ncols=70, mininterval=1, file=sys.stdout)
each = [(attention_flops(n, True), attention_flops(n, False)) for n in counting(range(1, 513))]

# %%
for cached, flops in zip((True, False), zip(*each, strict=True), strict=True):
    one = [flops[n - 1] for n in POSITIONS[:4]]
    texts = [sum(flops[:n]) for n in POSITIONS[:4]]
    exponents = (measure.fit_exponent(POSITIONS[:4], found) for found in (one, texts))
    print(f"cache: {cached!s:5}  exponent of one token {next(exponents):.2f}", end="")
    print(f", of a whole text {next(exponents):.2f}")
without, kept = sum(n * n for n in range(1, 1001)), sum(range(1, 1001))
print(f"1000 tokens: {without:,} pairs, or {kept:,}: {without / kept:.0f} times")

# %% [markdown]
r"""
<details><summary>Answer</summary>

One token: exponent 1 with the cache, 2 without. The statement is right for one token. A whole text stays quadratic *with* the cache, and would be cubic without it; at 1000 tokens that is a factor of 667<!-- shown: 667 -->. And memory must now be kept from token to token, and grows with the text.

</details>
"""

# %% [markdown]
r"""
**And the clock?** Recorded on one thread, with the same model: one more token at each position. MHA is the preallocated cache; *concatenated* is the same with `torch.cat` for every token; GQA has 2 heads of keys and values, MQA one.

**Predict.** From position 128 to 4096, by what factor does a token get slower: with nothing kept, concatenated, preallocated?
"""


# %% guess={"name": "10.rate", "kind": "curve", "asks": "Without a cache a small GPT writes 69 tokens per second at position 128: how many does it write with a preallocated cache, at these positions?", "low": 1, "high": 10000, "log": true, "unit": "per second", "x": [128, 256, 512, 1024, 2048, 4096], "across": "position", "reads": {"record": "chapter_10_decode", "where": {"way": "MHA"}, "value": "tokens_a_second", "by": "position"}}
guess("10.rate")


# %%
def recorded(way, what="milliseconds"):
    """Return what was recorded of one way, by position."""
    return [run[what] for run in record["runs"] if run["way"] == way]


WAYS = ("no cache", "concatenated", "MHA", "GQA", "MQA")
places = recorded("MHA", "position")
print("ms at position", "".join(f"{place:9}" for place in places), "  slowed by")
for way in WAYS:
    times = recorded(way)
    print(f"{way:14}", "".join(f"{one:9.2f}" for one in times), f"{times[-1] / times[0]:10.1f}")

# %% mystnb={"image": {"alt": "Two panels over position, both logarithmic. Tokens per second: without a cache it falls steeply from the first position on; with a cache it stays nearly level and falls only at the far end, for shared heads last. Operations for one more token: a steep line without a cache, a nearly level line with one."}}
panels = plotting.new_panels(
    "Without a cache, every further token costs more",
    "position", ["tokens per second", "Mflop per token"], height=5.0,
)  # fmt: skip
looks = {"no cache": "orange", "concatenated": "pink", "MHA": "blue", "MQA": "green"}
for way, colour in looks.items():
    rates = recorded(way, "tokens_a_second")
    height = rates[-1] * {"MQA": 1.25, "concatenated": 0.8}.get(way, 1.0)
    plotting.line(panels[0], places, rates, way, colour, (4700, height), "o-")
for way, colour, name in (("no cache", "orange", "no cache"), ("MHA", "blue", "any cache")):
    mflop = [flops / 1e6 for flops in recorded(way, "flops")]
    plotting.line(panels[1], places, mflop, name, colour, (4700, mflop[-1]), "o-")
for panel in panels:
    panel.set(yscale="log", xlim=(110, 13000))
    plotting.power_axis(panel, places)
draw_guess(panels[0], "10.rate")

# %%
lines = {row["way"]: row for row in record["lines"]}
print("               ms per 1000 positions  below no cache   exponents: time   operations")
for way in WAYS:
    row = lines[way]
    print(f"{way:14} {row['milliseconds_a_1000_positions']:19.2f}", end="")
    print(f" {row['slope_below_no_cache']:14.0f} x", end="")
    print(f" {row['exponent_of_time']:17.2f} {row['exponent_of_flops']:12.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

- *No cache*: about 74 times slower<!-- shown 2: 74 -->, in proportion to the position and worse at the end, where the table of scores grows with its square.
- *Preallocated*: 2.5 times<!-- shown 2: 2.5 -->. It hardly slows down until attention to the past costs as much as the rest of the model. With shared heads that happens later.
- *Concatenated*: 4.3 times<!-- shown 2: 4.3 -->, with the same operations. Copying does not count as an operation, so only the clock sees it.

So the answer to "how much faster is MQA?" depends on the position: near the start not at all, far out a lot. Text D gives one number for each, without batch, device or phase (section 17).

</details>
"""

# %% [markdown]
r"""
**Compared with a library.** The same weights in Hugging Face's GPT-2 and in ours, a prompt of 16, greedy, one thread; theirs with the faster of its two caches.

**Predict.** Both multiply the same matrices. Can either be much faster? At which size?
"""

# %%
print("width  layers  batch   tokens per second: ours, theirs   times   same tokens")
for row in record["generate"]:
    rates = row["tokens_a_second"]
    print(f"{row['d_model']:5} {row['layers']:7} {row['batch']:6}", end="")
    print(f" {rates['ours']:24} {rates[row['faster_of_theirs']]:7}", end="")
    print(f" {row['times_faster']:7.2f}   {row['same_tokens']}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Ours is well ahead at small widths (1.88 times<!-- shown: 1.88 -->), and less so at the size of GPT-2 small (1.25, the last line<!-- shown: 1.25 -->). The products are the same. But a step of a small model is a long series of calls to small functions, and a library that can do far more has more code around each call. That is overhead, and it fades as the matrices grow. Part of what remains is the order of numbers in memory: a product with a single row takes as long as reading the matrix, so ours are stored in the order in which such a product reads them. Nobody should choose a library by the first lines of this table.

</details>
"""


# %% [markdown]
r"""
**Prefill and decoding do the same work.** 256 tokens, read at once or one after another with a cache. The numbers that come out are equal (section 3).

**Predict.** Are the operations equal too? And the time?
"""

# %%
written = torch.randint(512, (1, 256), generator=generator)


def one_by_one(bar=iter):
    """Read all tokens, one at a time."""
    cache = model.new_cache(1)
    for token in bar(written.unbind(dim=1)):
        model(token[:, None], cache)


at_once = measure.count_flops(model.logits, written)
alone = measure.count_flops(one_by_one, counting)

# %%
print(f"at once {at_once / 1e9:.2f} Gflop, one by one {alone / 1e9:.2f} Gflop")


# %% tags=["nbval-ignore-output"] reason="timings"
def seconds(fn):
    """Return the processor time of one call, the median of three."""
    spent = []
    with torch.inference_mode():
        for _ in range(3):
            start = time.process_time()
            fn()
            spent.append(time.process_time() - start)
    return median(spent)


ratio = seconds(one_by_one) / seconds(lambda: model.logits(written))
print(f"one by one takes {ratio:.1f} times as long")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Nearly equal: at once, the scores above the diagonal are counted too. The times are far apart. At once, each weight is read from memory once for 256 rows; one by one, it is read 256 times for one row each, and every small call has its overhead. Decoding is limited by reading, not by computing (chapter 09, section 1). Reading less makes it faster, or leaves room for more texts at once.

</details>
"""

# %% [markdown]
r"""
**Copying shared heads.** A common listing of grouped-query attention, text D's among them, repeats each key and value head for all queries that read it. The result is right.

**Predict.** 16 query heads share 2 heads of keys and values; 4096 tokens are kept, and one is new. How large is the largest tensor that each way makes?
"""


# %%
def repeated(query, key, value, length):
    """Attend as most listings do: copy each head of keys and values eight times."""
    copies = (part[:, :, :length].repeat_interleave(8, dim=1) for part in (key, value))
    return F.scaled_dot_product_attention(query, *copies)


# %%
query = torch.randn(1, 16, 1, 64, generator=generator)
key, value = torch.randn(2, 1, 2, 4096, 64, generator=generator)
given = (query, key, value, 4096)
print("same result:", torch.allclose(repeated(*given), attention.decode_step(*given), atol=1e-6))
print(f"numbers in the keys that are kept: {key.numel():,}")
for name, way in (("repeated", repeated), ("grouped", attention.decode_step)):
    print(f"largest tensor made, {name}: {measure.largest_tensor(way, *given):,}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The copy makes a tensor eight times as large as the keys that are kept, for every token. A step that adds one row is limited by what it must read and write, so the gain of shared heads is lost. As rows of one product, the eight queries of a group read each key once. Chapter 08 has the times.

</details>
"""

# %% [markdown]
r"""
## 6. What the cache weighs

Chapter 08 counted $2 \cdot \text{layers} \cdot H_{kv} \cdot d_k$ numbers per token. Text D gives, per token and layer, $2 H d_k$ for MHA, $2 d_k$ for MQA and $8 d_k$ for GQA with four groups. The numbers are right. Its heading, "Parameter Efficiency (KV cache size for generation)", is not: these are not parameters.

**Find the error.** Text A gives, for a model with a billion parameters and 2048 tokens: parameters 4 GB (2 GB at 16 bits), attention weights 16 MB per layer, activations 1 to 3 GB, cache about 500 MB. Take 24 layers, 16 heads and a width of 2048.
"""

# %%
layers, heads, width, n = 24, 16, 2048, 2048
print(f"parameters: {1e9 * 4 / 1e9:.0f} GB, {1e9 * 2 / 1e9:.0f} GB at 16 bits")
table = n * n * 4 / 2**20
print(f"weights of a layer: {table:.0f} MiB for one head, {heads * table:.0f} MiB for all {heads}")
for bytes_per_element in (4, 2):
    for kv_heads in (16, 2):
        size = measure.kv_cache_bytes(layers, kv_heads, width // heads, n, 1, bytes_per_element)
        print(f"cache, {kv_heads:2} heads kept, {bytes_per_element} bytes: {size / 2**20:.0f} MiB")

# %% [markdown]
r"""
<details><summary>Answer</summary>

- Parameters: right.
- Attention weights: 16 MiB is one head of one sequence. It is 256 MiB<!-- shown: 16 256 --> for 16 heads, times the number of sequences; or nothing at all, where a fused kernel never stores them (chapter 09).
- Activations: cannot be checked. They depend on width, layers and batch, and on what is recomputed.
- Cache: 384 MiB at 16 bits or 768 at 32<!-- shown: 384 768 -->, so the order of magnitude is right, *for one sequence*. The text does not say that it grows with the batch, nor that two shared heads divide it by 8.

</details>
"""

# %% [markdown]
r"""
### Exercise: `cache_fits`

*Difficulty · importance · minutes*

Write `cache_fits(gib, num_layers, num_kv_heads, d_k, bytes_per_element, batch) -> int`.

- How many whole tokens of *each* sequence fit into `gib` GiB ($2^{30}$ bytes each), if `batch` sequences are kept?
- Keys and values are kept, both of width `d_k`, in every layer. `gib` may be a fraction.
"""


# %% exercise="cache_fits"
def cache_fits(gib, num_layers, num_kv_heads, d_k, bytes_per_element, batch):
    """Return how many tokens of each sequence have room."""
    ### BEGIN SOLUTION: Work out what one token of every sequence takes, divide, and round down.
    per_token = 2 * num_layers * num_kv_heads * d_k * bytes_per_element * batch
    return int(gib * 2**30 // per_token)
    ### END SOLUTION


# %%
check("cache_fits", cache_fits)
# hint("cache_fits")

# %% [markdown]
r"""
**Predict.** Llama 2 70B has 80 layers, 8 heads of keys and values of width 128, and 64 query heads. The weights leave 16 GiB free; a number has 16 bits. How long may one text become, and how long if every query head had its own keys and values?
"""

# %% guess={"name": "10.room", "kind": "number", "asks": "80 layers, {heads} heads of keys and values 128 wide, 16-bit numbers: for how many tokens of one text do {gib} GiB have room?", "low": 100, "high": 10000000, "log": true, "unit": "tokens", "reads": " 8 heads: {_} room for {};", "varied": [{"heads": 8, "gib": 16}, {"heads": 1, "gib": 2}, {"heads": 64, "gib": 40}], "becomes": "floor(gib * 2**30 / (80 * 2 * heads * 128 * 2))"}
guess("10.room")

# %%
for kv_heads in (64, 8, 1):
    one = measure.kv_cache_bytes(80, kv_heads, 128, 1, 1, 2)
    room = measure.cache_fits(16, 80, kv_heads, 128, 2, 1)
    users = measure.cache_fits(16, 80, kv_heads, 128, 2, 8)
    print(f"{kv_heads:2} heads: {one / 2**10:6.0f} KiB per token, room for {room:7,}", end="")
    print(f"; for 8 users {users:6,} each")

# %% [markdown]
r"""
<details><summary>Answer</summary>

52,428, and 6,553 with all 64 heads<!-- shown: 52428 6553 -->. The model keeps its query heads and gives its users eight times as much room.

</details>
"""

# %% [markdown]
r"""
## 7. A model that writes, and how to choose its tokens

Now a model that has learned something: two layers of width 96, four heads, RoPE. It reads Python's own help pages, cut into 512 kinds of pieces by *byte-pair encoding*, which merges pieces that often occur together (Sennrich et al., 2016). It trains for about half a minute.

Its loss is the mean of $-\ln$ of the probability that it gave to the true next token. With the natural logarithm the unit is the *nat*; a bit is $\ln 2$ nats.

**Predict.** A model that knows nothing has a loss of $\ln 512 = 6.24$ nats per token. How far down does half a minute bring it? And will the text consist of words?
"""

# %% guess={"name": "10.nats", "kind": "number", "asks": "Knowing nothing costs 6.24 nats per token: how many does the model need after 500 steps, half a minute, on pages that it has not read?", "low": 0, "high": 6.5, "unit": "nats", "reads": {"record": "chapter_10_training", "where": {"steps": 500}, "value": "loss"}}
guess("10.nats")

# %% tags=["nbval-ignore-output"] reason="the text differs a little between Python versions"
text = models.token_text(character_text())
torch.manual_seed(0)
gpt = GPT(512, d_model=96, num_heads=4, num_layers=2, max_length=256, positions="rope")
bar = partial(tqdm, desc="training", ncols=70, mininterval=2, file=sys.stdout)
losses = models.train_gpt(gpt, text.train, steps=500, seed=0, progress=bar)
loss = models.next_token_loss(gpt, text.validation)
bits = loss / math.log(2) / text.characters_per_token
print(f"\nlast steps {mean(losses[-20:]):.2f} nats per token; pages not seen {loss:.2f}", end="")
print(f", or {bits:.2f} bits per character (knowing nothing: {math.log(512):.2f} nats)")

# %% [markdown]
r"""
<details><summary>Answer</summary>

About 3 on pages that it has not seen: about 1.7 bits per character, where the text itself takes 8. Other seeds, and a training of more than twice the length, were recorded:

</details>
"""

# %%
trained = measure.read_record("chapter_10_training")["runs"]
for run in trained:
    print(f"{run['steps']:5} steps, seed {run['seed']}:", end=" ")
    print(f"{run['loss']:.2f} nats per token, {run['bits_a_character']:.2f} bits per character")
print("\n" + trained[-1]["sample"])

# %% [markdown]
r"""
Mostly words, and sentences that begin and end, but they mean nothing. The text is longer than the 64 tokens that the model read at a time in training; it was generated through a window, and section 8 says why.

### How to choose a token

The scores become probabilities, and a token is drawn from them (*sampling*). Three settings change the draw. The **temperature** $\tau$ divides the scores: below 1 the likely become likelier, and at 0 only the likeliest is left (*greedy*). **Top-k** keeps the $k$ likeliest, **top-p** as few as are needed to hold a share $p$ of the probability (Holtzman et al., 2020).

**Predict.** Five tokens have the probabilities 0.5, 0.25, 0.15, 0.07, 0.03. Which survive top-k with $k = 2$? And top-p with $p = 0.8$?
"""

# %%
scores = torch.tensor([[0.5, 0.25, 0.15, 0.07, 0.03]]).log()
choices = [{}, {"temperature": 0.5}, {"temperature": 2.0}, {"temperature": 0}]
for choice in [*choices, {"top_k": 2}, {"top_p": 0.8}]:
    kept = models.token_probabilities(scores, **choice)
    print(f"{choice!s:22}", [round(share, 2) for share in kept[0].tolist()])

# %% [markdown]
r"""
<details><summary>Answer</summary>

Two, and three: the first two hold 0.75, less than 0.8, so the third is needed. What survives is divided by its sum. Top-k keeps the same number whether the model is certain or not; top-p keeps few where it is certain.

</details>

**Run it.** The text appears token by token, as it is generated; each step feeds one token. (An interrupt ends it and keeps what was written.)
"""

# %% tags=["nbval-ignore-output"] reason="the text differs a little between Python versions"
prompt = text.tokenizer.encode("The statement")[None]
draw = {"temperature": 0.5, "top_p": 0.9, "generator": torch.Generator().manual_seed(4)}
print("The statement", end="")
with torch.no_grad():
    for token in models.stream_tokens(gpt, prompt, 60, **draw):
        print(text.tokenizer.decode(token.tolist()), end="", flush=True)
print("\n\n--- greedy ---")
likeliest = generate(gpt, prompt, 40, temperature=0)
print("The statement" + text.tokenizer.decode(likeliest[0].tolist()))

# %% [markdown]
r"""
<details><summary>What to look at</summary>

Greedy text tends to run in circles: once it repeats a phrase, the phrase's next word is the likeliest again. Drawing breaks the circle. Neither is more correct; the model is the same.

Try `temperature=1.5`, or another prompt. The same generator gives the same text: all randomness comes from it.

</details>

**An interrupt keeps what was written.** The stop button of a notebook raises `KeyboardInterrupt`; here a progress bar raises it after five tokens.
"""


# %%
def impatient(places):
    """Pass five places on, then do what the stop button does."""
    yield from list(places)[:5]
    raise KeyboardInterrupt


start = torch.tensor([[3, 1, 4]])
stopped = generate(toy, start, 12, temperature=0, progress=impatient)
whole = generate(toy, start, 12, temperature=0)
print(stopped.shape[1], "tokens, the first of", whole.shape[1], end=": ")
print(torch.equal(stopped, whole[:, :5]))

# %% [markdown] tags=["further"]
r"""
## 8. A window, and what it forgets

A cache that grows with the text must end somewhere. A **rolling cache** keeps the last $w$ positions, each new one in the slot of the oldest, so that it never grows. Xiao et al. (2024) saw large models break down as soon as the *first* tokens left the cache: many heads put their spare weight there; the authors call this an **attention sink**. Keeping those few tokens permanently repaired it.
"""

# %% [markdown]
r"""
### Exercise: `rolling_cache_positions`

*Difficulty · importance · minutes*

Write `rolling_cache_positions(num_seen, window, num_sinks) -> list[int]`.

- Of the positions 0 to `num_seen - 1`, the first `num_sinks` and the last `window` are held.
- In ascending order, and none twice. Both numbers may exceed `num_seen`, and both may be 0.
"""


# %% exercise="rolling_cache_positions"
def rolling_cache_positions(num_seen, window, num_sinks):
    """List the positions that a rolling cache holds."""
    ### BEGIN SOLUTION: Ask of each position whether it is among the first or the last.
    oldest = num_seen - window
    return [place for place in range(num_seen) if place < num_sinks or place >= oldest]
    ### END SOLUTION


# %%
check("rolling_cache_positions", rolling_cache_positions)
# hint("rolling_cache_positions")

# %% [markdown]
r"""
**Which slot holds what?** The ring is out of order: its slots hold the positions 8, 9, 6, 7, say.

**Predict.** Does this matter to one new query? And to three new ones, read at once?
"""

# %%
cache = RollingCache(1, 1, 1, window=4, num_sinks=1, dtype=torch.float64)
for position in range(10):
    number = torch.full((1, 1, 1, 1), float(position), dtype=torch.float64)
    cache.append(number, number)
print("values in the slots", cache.value.flatten().int().tolist())
print("positions held     ", attention.rolling_cache_positions(10, 4, 1))
even = torch.zeros(1, 1, 1, 1, dtype=torch.float64)
print("even weights on them give", cache.attend(even).item(), "=", mean([0, 6, 7, 8, 9]))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Not to one query: it sees all that is held, and a softmax does not depend on the order, so the ring can be used as it is. Rotated keys carry their position with them. To several new queries it does: the first of them still sees a key that the last one's key overwrites. They must attend before the old keys are gone.

</details>

**A text longer than any in training.** Our model read 64 tokens at a time. Now 20 texts of 512, fed through three caches.

**Predict.** The full cache forgets nothing. Is it the best? And do sinks help this model?
"""

# %%
inputs, targets = (text.validation[start:][: 20 * 512].view(20, 512) for start in (0, 1))


def loss_by_position(layer):
    """Return the loss of each run of 64 positions, read through one cache per layer."""
    cache = ModelCache([layer() for _ in gpt.layers])
    with torch.no_grad():
        logits = torch.cat([gpt(part, cache)[0] for part in inputs.split(64, dim=1)], dim=1)
    each = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return each.view(20, 8, 64).mean(dim=(0, 2)).tolist(), cache.num_bytes


ways = {
    "full": partial(KVCache, 20, 4, 512, 24),
    "window 32": partial(RollingCache, 20, 4, 24, window=32),
    "window 28, 4 sinks": partial(RollingCache, 20, 4, 24, window=28, num_sinks=4),
}


# %% tags=["nbval-ignore-output"] reason="the text differs a little between Python versions" mystnb={"image": {"alt": "Loss against position, from 64 to 512, for three caches. All three begin at 3.2 nats. The full cache rises from the third point on, to 4.2 nats; the two windows stay between 2.9 and 3.2. With sinks the loss is a little higher than without.<!-- shown: 3.2 4.2 2.9 -->"}}
found = {name: loss_by_position(way) for name, way in ways.items()}
axes = plotting.new_figure(
    "Beyond the length of training,\na window beats the full cache", "position", "loss (nats)"
)
for (name, (each, size)), colour in zip(found.items(), plotting.COLOURS, strict=False):
    print(f"{name:20} {size / 2**10:6.0f} KiB ", [round(one, 2) for one in each])
    height = each[-1] + {"full": 0, "window 32": -0.06, "window 28, 4 sinks": 0.06}[name]
    plotting.line(axes, range(64, 513, 64), each, name, colour, (524, height), "o-")
_ = axes.set(xlim=(40, 720), xticks=range(64, 513, 64))

# %%
for run in trained:
    print(f"recorded, {run['steps']:4} steps, seed {run['seed']}, texts of", end="")
    for length, loss in run["loss_at"].items():
        print(f"  {length}: full {loss['all']:.2f}, window {loss['rolling']:.2f}", end="")
    print()

# %% [markdown]
r"""
<details><summary>Answer</summary>

The full cache is the worst. The model was never trained on distances beyond 63, and chapter 07 showed what RoPE does there. A window keeps every distance as in training, and could go on for ever in a sixteenth of the memory.

Sinks do *not* help here; they cost a little. Even inside the first 64 positions it makes no difference whether the first tokens are kept. This small model has learned no sink, and the tokens that are kept as sinks are at distances that it never saw. (The paper rotates keys again, by their place in the cache.) What large models need is a fact about large models: measure yours.

</details>
"""

# %% [markdown]
r"""
**The same model, generating without end.** 160 tokens, drawn with the same generator: once with everything kept, once with the last 48.
"""

# %% tags=["nbval-ignore-output"] reason="the text differs a little between Python versions"
window = ModelCache([RollingCache(1, 4, 24, window=48) for _ in gpt.layers])
for name, cache in (("everything kept", None), ("the last 48 kept", window)):
    draw = {"temperature": 0.5, "top_p": 0.9, "generator": torch.Generator().manual_seed(2)}
    written = generate(gpt, prompt, 160, cache=cache, **draw)[0].tolist()
    print(f"--- {name}: tokens 100 to 160 ---\n{text.tokenizer.decode(written[100:])}\n")

# %% [markdown]
r"""
## 9. Several texts at once

A step multiplies every weight matrix of the model by one row. With eight texts there are eight rows, and each weight is read once for all of them. That is why servers batch.

Prompts differ in length. They are padded on the *left*, so that all of them end together and the next token of each goes into the same column. Then three things must be right: no query sees padding, positions count from the first real token, and the padding is not part of the result.

**Predict.** Three prompts of 5, 9 and 2 tokens, together and each alone. Which of the three texts come out the same, with the mask and without?
"""

# %% guess={"name": "10.padding", "kind": "choice", "asks": "Prompts of 5, 9 and 2 tokens are padded on the left and read together, and the model is not told what is padding: which texts come out as they do alone?", "options": {"all three": "5 tokens, 4 padded: {_} without True 9 tokens, 0 padded: {_} without True 2 tokens, 7 padded: {_} without True", "only that of 9 tokens": "5 tokens, 4 padded: {_} without False 9 tokens, 0 padded: {_} without True 2 tokens, 7 padded: {_} without False", "none": "5 tokens, 4 padded: {_} without False 9 tokens, 0 padded: {_} without False 2 tokens, 7 padded: {_} without False"}, "take": "printed"}
guess("10.padding")

# %%
prompts = [torch.randint(50, (length,), generator=generator).tolist() for length in (5, 9, 2)]
padded, first = left_pad(prompts)
together = generate(toy, padded, 12, temperature=0, first=first)
careless = generate(toy, padded, 12, temperature=0)
for row, read in enumerate(prompts):
    alone = generate(toy, torch.tensor([read]), 12, temperature=0)[0]
    print(f"{len(read)} tokens, {first[row]} padded: with `first`", end=" ")
    print(torch.equal(together[row], alone), " without", torch.equal(careless[row], alone))

# %% [markdown]
r"""
<details><summary>Answer</summary>

With it all three; without it only the longest, which has no padding. The model attends to the padding as to any token, and nothing fails.

</details>

**Predict.** Eight texts at once instead of one: how many times as many tokens per second, on one core?
"""


# %% tags=["nbval-ignore-output"] reason="timings"
def tokens_a_second(batch, num_tokens=64):
    """Return how many tokens are written per second of processor time."""
    start = time.process_time()
    generate(gpt, prompt.expand(batch, -1), num_tokens, temperature=0)
    return batch * num_tokens / (time.process_time() - start)


rates = {batch: median(tokens_a_second(batch) for _ in range(3)) for batch in (1, 8)}
print(f"8 at once write {rates[8] / rates[1]:.1f} times as many tokens per second as one")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Several times as many. At this size most of a step is the overhead of calling many small functions, which eight rows share. In a large model it is the reading of the weights. The cache, however, is eight times as large, and that sets the limit.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 10. Pages

A preallocated cache takes memory for the longest text that *might* come. Kwon et al. (2023) cut the memory into blocks of a few tokens. A sequence takes a block when it needs one; its **block table** lists its blocks in the order of the text.

**Predict.** Three texts of 37, 5 and 100 tokens; each might have grown to 256. Blocks hold 16 tokens. What share of the memory holds a token, in each way?
"""

# %%
pool = BlockPool(64, 16, 2, 8)
lengths = (37, 5, 100)
texts = []
for length in lengths:
    texts.append(PagedCache(pool, 1))
    part = torch.randn(1, 2, length, 8, generator=generator)
    texts[-1].append(part, part)
blocks = 64 - pool.num_free
for way, slots in (("preallocated", 3 * 256), (f"{blocks} blocks", blocks * 16)):
    print(f"{way:13} {sum(lengths) / slots:.0%} of {slots} slots hold a token")
print("tables", [one.tables[0] for one in texts])

# %% [markdown]
r"""
<details><summary>Answer</summary>

18%, and 81%<!-- shown: 18 81 -->. Only the last block of a text has empty slots: at most 15 per text, however long it might have grown. A text that is finished returns its blocks, and whichever text comes next takes them, wherever they are.

</details>

A kernel for pages reads the blocks where they are, by way of the table. Ours gathers them first: one more copy, and the same result.
"""

# %% [markdown]
r"""
### Exercise: `paged_gather`

*Difficulty · importance · minutes*

Write `paged_gather(pool, block_table, length) -> keys`.

- `pool` is `(num_blocks, block_size, H, d)`, `block_table` is `(n,)`, whole numbers; the result is `(length, H, d)`.
- Token `i` is in block `block_table[i // block_size]`, in slot `i % block_size`.
- The table may be longer than needed; entries that are not needed may be -1. A block may occur twice. `length` may be 0.
- The pool holds the tokens of everybody: a copy of all of it costs too much.
"""


# %% exercise="paged_gather"
def paged_gather(pool, block_table, length):
    """Return the tokens of one sequence, side by side."""
    ### BEGIN SOLUTION: Name the block and the slot of every token, and index once.
    place = torch.arange(length, device=pool.device)
    block_size = pool.shape[1]
    return pool[block_table[place // block_size], place % block_size]
    ### END SOLUTION


# %%
check("paged_gather", paged_gather)
# hint("paged_gather")

# %% [markdown]
r"""
**One prompt, many answers.** Four answers to a prompt of 40 tokens share its keys and values: their tables name the same blocks. Each block counts its users. An answer that has to write into a shared block copies it first (**copy on write**).

**Predict.** 40 tokens fill two blocks and half of a third. How many blocks do four forks hold together? And after each has written one token?
"""

# %% guess={"name": "10.forks", "kind": "number", "asks": "A prompt of 40 tokens is forked into four answers that share its blocks of 16 slots, and each answer writes one token: how many blocks are then in use?", "low": 1, "high": 20, "unit": "blocks", "reads": "one token each: {} blocks"}
guess("10.forks")

# %%
pool = BlockPool(64, 16, 2, 8)
prompt_cache = PagedCache(pool, 1)
part = torch.randn(1, 2, 40, 8, generator=generator)
prompt_cache.append(part, part)
print("the prompt:       ", 64 - pool.num_free, "blocks")
answers = prompt_cache.fork(4)
print("four forks:       ", 64 - pool.num_free, "blocks", answers.tables)
prompt_cache.release()
new = torch.randn(4, 2, 1, 8, generator=generator)
answers.append(new, new)
print("one token each:   ", 64 - pool.num_free, "blocks", answers.tables)
print("four caches apart:", 4 * math.ceil(41 / 16), "blocks")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Three, as many as the prompt alone; then six: the two full ones stay shared, and each answer has a last block of its own. Three of them were copied; the last user had no one left to share with, and wrote in place. Separate caches would hold twelve.

</details>

**Live.** Four answers of the trained model to one prompt. The prompt is read once.
"""

# %%
given = (
    "The class statement is used to define a new class. When a function is called, its "
    "arguments are evaluated first, and the body of the function is executed. The object"
)
prompt = text.tokenizer.encode(given)[None]
shared = ModelCache([PagedCache(BlockPool(64, 8, 4, 24), 1) for _ in gpt.layers])
with torch.no_grad():
    gpt(prompt[:, :-1], shared)
answers = ModelCache([layer.fork(4) for layer in shared.layers])

# %% tags=["nbval-ignore-output"] reason="the text differs a little between Python versions"
draw = {"temperature": 0.7, "top_p": 0.9, "generator": torch.Generator().manual_seed(1)}
written = generate(gpt, prompt[:, -1:].expand(4, -1), 24, cache=answers, **draw)
for row in written:
    print("The object" + text.tokenizer.decode(row.tolist()).replace("\n", " "))
used = 64 - answers.layers[0].pool.num_free
apart = 4 * math.ceil(answers.length / 8)
print(f"blocks of a layer: {used}, the prompt's own among them; four caches apart {apart}")

# %% [markdown] tags=["further"]
r"""
## 11. One byte per number

A cache can be rounded. **int8** keeps whole numbers from -127 to 127, and a scale that turns them into keys and values again. Which numbers share a scale is the whole question: one number far from the others makes the steps coarse for all that share its scale.
"""

# %% [markdown]
r"""
### Exercise: `quantize_kv`

*Difficulty · importance · minutes*

Write `quantize_kv(x) -> (q, scale)`.

- `x` is `(B, H, S, d)`. Each token has a scale of its own in each head: `scale` is `(B, H, S, 1)`, the largest $|x|$ of the row divided by 127, and 1 where the row is all zero.
- `q` is `int8`, the whole number nearest to the exact quotient `x / scale`, from -127 to 127, also where `x` has 16 bits.
"""


# %% exercise="quantize_kv"
def quantize_kv(x):
    """Return x in whole steps, and the size of a step for each token and head."""
    ### BEGIN SOLUTION: Find the largest of each row, and round the rest in 127 steps of it.
    scale = x.abs().amax(dim=-1, keepdim=True) / 127
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)
    q = torch.round(x.double() / scale.double()).clamp(-127, 127).to(torch.int8)
    return q, scale
    ### END SOLUTION


# %%
check("quantize_kv", quantize_kv)
# hint("quantize_kv")

# %% [markdown]
r"""
**Predict.** Keys of variance 1; one token of 256 is 50 times as large. By how much are the *others* off, with one scale for the whole tensor and with one per token?
"""

# %%
keys = torch.randn(1, 4, 256, 64, generator=generator)
keys[:, :, 7] *= 50
others = torch.arange(256) != 7
for name, axes in (("one scale for all", (0, 1, 2, 3)), ("one per token and head", 3)):
    step = keys.abs().amax(dim=axes, keepdim=True) / 127
    off = (torch.round(keys / step) * step - keys)[:, :, others].abs()
    print(f"{name:23} mean error {off.mean():.4f}", end="")
    zeros = (torch.round(keys / step)[:, :, others] == 0).float().mean()
    print(f"   rounded to zero {zeros:.0%}")
for d_k in (24, 64, 128):
    print(f"width {d_k:3}: {(d_k + 4) / (4 * d_k):.0%} of the bytes of float32", end="")
    print(f", {(d_k + 2) / (2 * d_k):.0%} of float16 (with a scale as wide as the input)")

# %% [markdown]
r"""
<details><summary>Answer</summary>

With one scale for all, the others are off by 0.3162 on average, with one per token by 0.0050.<!-- shown: 0.3162 0.0050 --> The outlier makes the step so large that nearly half of the other numbers become zero (47%<!-- shown: 47 -->). A scale of its own for each token confines the damage, at the price of one more number per row: a quarter of float32 becomes 27% at width 64<!-- shown: 27 -->.

For keys, whose large numbers are in a few channels, a scale for each *channel* across tokens is finer still (Liu et al., 2024). But a channel's range is not known until its last token has come, so the newest tokens must wait unrounded.

</details>

**Predict.** What does the trained model lose, in nats per token?
"""


# %% tags=["nbval-ignore-output"] reason="the text differs a little between Python versions"
def cached_loss(kind):
    """Return the loss on pages not seen, read through a cache, and the cache's bytes."""
    made = []

    def caches(windows):
        made.append(ModelCache([kind(windows, 4, 64, 24) for _ in gpt.layers]))
        return made[0]

    return models.next_token_loss(gpt, text.validation, caches=caches), made[0].num_bytes


(plain, plain_bytes), (rounded, rounded_bytes) = map(cached_loss, (KVCache, QuantizedCache))
print(f"float32 {plain:.4f} nats, int8 {rounded:.4f}: {rounded - plain:+.5f}", end="")
print(f" with {rounded_bytes / plain_bytes:.0%} of the bytes")

# %%
for run in trained:
    plain, rounded = (run["loss_through"][kind] for kind in ("float32", "int8"))
    print(f"recorded, {run['steps']:4} steps, seed {run['seed']}: {rounded - plain:+.5f} nats")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Next to nothing: at most 0.00011 nats<!-- shown 2: 0.00011 -->, up or down, of a loss near 3. The cache takes 29% of the bytes<!-- shown 2: 29 -->; at width 24 the scales weigh more than in large models.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** int8 keeps a quarter of the bytes. Is a step four times as fast?

- A. Yes: a quarter of the bytes is read.
- B. It depends on where the whole numbers are turned back into floats.
- C. No: int8 products are slower.

<details><summary>Answer</summary>

- A is wrong for this cache: for every token it turns all kept keys into floats, which reads and writes more than the plain cache does. It saves memory, so there is room for more users.
- **B is right.** A fused kernel reads the bytes and turns them into floats where they are used; then a long text gains.
- C is wrong: the products here are still of floats.

</details>
"""

# %% [markdown]
r"""
**In a released model.** SmolLM2-135M-Instruct (chapter 20 opens it) has 30 layers and 3 key/value heads of width 64. Recorded, on three texts of 256 tokens: what is added to the loss, in nats per token, if kept keys and values are rounded to 8, 4 or 2 bits. *Per token* is `quantize_kv`'s rule with fewer steps; a *zero point* spans the steps from least to largest; *keys per channel* does that for each channel of the keys, over all tokens.

**Predict.** How few bits will do? At 2 bits, which are more fragile, keys or values?
"""

# %% guess={"name": "10.bits", "kind": "order", "asks": "With one scale per token, which rounding of what SmolLM2 keeps adds least to its loss, and in which order do the others follow?", "options": {"keys and values to 4 bits": {"record": "chapter_20_boxes", "value": "4 bits, per token"}, "keys alone to 2 bits": {"record": "chapter_20_boxes", "value": "2 bits, keys"}, "values alone to 2 bits": {"record": "chapter_20_boxes", "value": "2 bits, values"}, "keys and values to 8 bits": {"record": "chapter_20_boxes", "value": "8 bits, per token"}}, "take": "ascending"}
guess("10.bits")

# %%
boxes = measure.read_record("chapter_20_boxes")
layers, kv_heads, width = boxes["settings"]["cache"]
size = 2 * layers * kv_heads * width * 2
print(f"in 16 bits {size / 1024} KiB per token, {size * 8192 / 2**20:.0f} MiB for 8,192 tokens")
for name in boxes["runs"][0]:
    if name != "text":
        print(f"{name:24}", *(f"{one[name]:+7.3f}" for one in boxes["runs"]))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Eight bits cost nothing (0.002 at most<!-- shown: 0.002 -->). Four cost 0.2 to 0.5, with a zero point 0.08 to 0.18, with the keys' scales per channel 0.02 to 0.04<!-- shown: 0.2 0.5 0.08 0.18 0.02 0.04 -->: keys have their large numbers in a few channels (Liu et al., 2024). Two bits ruin the text, per token as well as with a zero point; per channel they cost 1.4 to 1.8<!-- shown: 1.37 1.80 -->.

Keys are the fragile part: rounded to 2 bits alone they cost 3.6 to 4.3, values alone 0.6 to 0.9<!-- shown: 3.615 4.33 0.63 0.91 -->. An error in a value is averaged; an error in a key goes through the exponential and moves the weights. The scale per channel was taken over the whole text, so it is a little better than a cache could do.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 12. A share that is met exactly

Section 7 cut a distribution at a share. Now the cut becomes a function of its own, from logits to logits, so that others may come before and after it: what goes gets $-\infty$, what stays keeps its score.

**Predict.** Four tokens have the probabilities 0.3, 0.1, 0.1 and 0.5. How many does top-p keep at 0.8? Will a computer agree?

Below are three ways to count, on 198 cases for which whole numbers give the right answer: sums of the likelier tokens; sums from the unlikely end, as Hugging Face takes them; and the course's function.
"""


# %%
def likelier_first(logits, top_p):
    """Count by the sum of all likelier tokens."""
    chances = logits.softmax(-1).sort(descending=True).values
    return (F.pad(chances.cumsum(-1)[:-1], (1, 0)) < top_p).sum().item()


def from_the_tail(logits, top_p):
    """Count by the sum of all less likely tokens, its own included."""
    tail = logits.sort().values.softmax(-1).cumsum(-1)
    return max((tail > 1 - top_p).sum().item(), 1)


def reference(logits, top_p):
    """Count what the course's function keeps."""
    return models.top_p_filter(logits, top_p).isfinite().sum().item()


# %%
WEIGHTS = ["3115", "127", "2116", "11116", "4321", "1234", "1" * 10, "631", "532", "1135", "22222"]


def wrong_counts(count, dtype):
    """Return how many of 198 cases a way of counting gets wrong."""
    wrong = 0
    for weights in (list(map(int, digits)) for digits in WEIGHTS):
        sums = torch.tensor(sorted(weights, reverse=True)).cumsum(0)
        for tenth in range(1, 10):
            right = (10 * sums < tenth * sums[-1]).sum().item() + 1
            for offset in (0.0, 3.7):
                chances = torch.tensor(weights, dtype=torch.float64) / sum(weights)
                wrong += count((chances.log() + offset).to(dtype), tenth / 10) != right
    return wrong


# %% tags=["nbval-ignore-output"] reason="how a sum is rounded differs between processors"
for name, count in (
    ("likelier first", likelier_first), ("from the tail", from_the_tail), ("reference", reference),
):  # fmt: skip
    wrong = [wrong_counts(count, dtype) for dtype in (torch.float32, torch.float64)]
    print(f"{name:15} wrong in float32: {wrong[0]:2}, in float64: {wrong[1]:2}, of 198")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Two tokens: $0.5 + 0.3 = 0.8$. But none of these numbers is exact in a computer. Whether their sum reaches 0.8 is decided by rounding, and float64 is no cure: there the ways disagree more often. The reference counts the share as reached if the sum misses it by less than $10^{-6}$, and is right in every case.

A token more or less matters little to a text. It matters where two programs should write the same one.

</details>
"""

# %% [markdown]
r"""
### Exercise: `top_p_filter`

*Difficulty · importance · minutes*

Write `top_p_filter(logits, top_p) -> logits`.

- `logits` is `(..., V)`, finite or $-\infty$; $0 <$ `top_p` $\le 1$. The fewest likeliest tokens whose probabilities sum to at least `top_p` keep their logits, in their places; all others become $-\infty$.
- Of equal logits the lower index counts as likelier. The likeliest always stays, and at 1 all do.
- A sum that misses `top_p` by less than $10^{-6}$ counts as having reached it.
"""


# %% exercise="top_p_filter"
def top_p_filter(logits, top_p):
    """Leave the likeliest tokens that hold the share, and set the others to -inf."""
    ### BEGIN SOLUTION: Sort the probabilities, sum those before each, and bring the mask back.
    if top_p == 1:
        return logits.clone()
    chances, order = logits.softmax(dim=-1).sort(dim=-1, descending=True, stable=True)
    before = F.pad(chances.cumsum(dim=-1)[..., :-1], (1, 0))
    gone = before >= top_p - 1e-6
    return logits.masked_fill(gone.scatter(-1, order, gone), -torch.inf)
    ### END SOLUTION


# %%
check("top_p_filter", top_p_filter)
# hint("top_p_filter")

# %% [markdown]
r"""
Two more functions from logits to logits. **Min-p** keeps the tokens that have at least the share $p$ of the *likeliest* one's probability (Nguyen et al., 2024). The **repetition penalty** makes every token that has already occurred less likely: it divides a positive score and multiplies a negative one (Keskar et al., 2019).

**Predict.** Two models: one is sure, one has no idea among twenty tokens. How many tokens do top-p at 0.9 and min-p at 0.1 keep of each? And will a penalty of 1.3 break the circle of section 7's greedy text?
"""

# %%
unsure = torch.linspace(0, -1, 20).softmax(-1)
sure = torch.cat([torch.tensor([0.85]), torch.full((19,), 0.15 / 19)])
for name, chances in (("sure", sure), ("unsure", unsure)):
    kept = [
        way(chances.log(), p).isfinite().sum().item()
        for way, p in ((models.top_p_filter, 0.9), (models.min_p_filter, 0.1))
    ]
    print(f"{name:7} top-p keeps {kept[0]:2}, min-p {kept[1]:2} of 20")


# %%
def penalised(penalty, num_tokens=60):
    """Return the likeliest tokens, where what occurred becomes less likely."""
    cache, read, fed = gpt.new_cache(1), prompt, prompt
    for _ in range(num_tokens):
        logits, _ = gpt(fed, cache)
        fed = models.penalise_repetition(logits[:, -1], read, penalty).argmax(-1, keepdim=True)
        read = torch.cat([read, fed], dim=1)
    return read[0, prompt.shape[1] :].tolist()


# %%
prompt = text.tokenizer.encode("The statement")[None]
different = [len(set(penalised(penalty))) for penalty in (1.0, 1.3)]
print("more different tokens with the penalty:", different[1] > different[0])

# %% [markdown]
r"""
<details><summary>Answer</summary>

Of the sure model top-p keeps 8 tokens<!-- shown 2: 8 -->: it must reach 0.9, and takes in tokens that the model all but excludes. Min-p keeps one. Of the unsure model both keep nearly all. So min-p follows how sure the model is.

The penalty brings in more different tokens, at least. It also punishes *the* and the comma, which a text needs; that is its price.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 13. A beam goes on from another's past

Chapter 01 searched with a beam: several beginnings stay alive, and the best continuations of all of them survive. Without a cache, every beginning is read anew at each step. With one, each row of the cache belongs to a beginning, and beginnings die.

**Predict.** Three rows. After a step, the survivors come from the rows 1, 1 and 0, in this order. What must each row of the cache hold? What goes wrong if row 0 is copied first, in place?
"""

# %%
rows = torch.tensor([10.0, 11.0, 12.0])
beams = [1, 1, 0]
careless = rows.clone()
for row, came_from in enumerate(beams):
    careless[row] = careless[came_from]
print("should be       ", rows[beams].tolist())
print("one by one gives", careless.tolist())

# %% [markdown]
r"""
<details><summary>Answer</summary>

Row `n` takes what row `beams[n]` held. Copied one after the other, row 2 gets what row 0 holds by then, and the past of row 0 is lost. All must be read before the first is written. The memory stays where it is: `cache[beams]` with a new tensor for every token would bring section 2's copying back, and leave whoever holds the old tensor with the old order.

</details>
"""

# %% [markdown]
r"""
### Exercise: `reorder_cache`

*Difficulty · importance · minutes*

Write `reorder_cache(cache_key, cache_value, length, beams) -> None`.

- Both caches are `(N, H, S_max, d)` and are changed in place; `beams` is `(N,)`, whole numbers from 0 to `N - 1`, each of them once, several times or not at all.
- Afterwards row `n` holds, in its first `length` slots, what row `beams[n]` held before, keys and values.
- Slots from `length` on are not written, whatever they hold; `beams` does not change.
"""


# %% exercise="reorder_cache"
def reorder_cache(cache_key, cache_value, length, beams):
    """Let each row go on from what the row named by its beam held."""
    ### BEGIN SOLUTION: Read the filled slots of all rows by indexing, then write them back.
    for cache in (cache_key, cache_value):
        cache[:, :, :length] = cache[beams, :, :length]
    ### END SOLUTION


# %%
check("reorder_cache", reorder_cache)
# hint("reorder_cache")

# %% [markdown]
r"""
**Run it.** The course's caches can all do this: `reorder(beams)`, `select(rows)` for fewer or more rows, `repeat(times)`, `crop(length)`. A paged cache moves no number: its tables change places, and blocks that nobody names are free again.

**Predict.** Beams of width 1 to 16, twelve tokens after a prompt, with section 1's untrained model. Is the text of a wider beam always likelier? How many tokens does the model read, with the cache and without?
"""


# %%
def fed_by(search):
    """Return a search's result, and how many tokens the model read for it."""
    fed = []
    hook = toy.token.register_forward_hook(lambda module, given, out: fed.append(given[0].numel()))
    found = search()
    hook.remove()
    return found, sum(fed)


def read_anew(texts):
    """Score the next token without a cache: all texts are read from their first token."""
    whole = torch.cat([start[:, :-1].expand(len(texts), -1), texts], dim=1)
    return toy.logits(whole)[:, -1].log_softmax(-1)


# %%
start = torch.tensor([[3, 1, 4]])
for width in (1, 2, 4, 8, 16):
    (found, score), fed = fed_by(partial(models.beam_decode, toy, start, 12, width=width))
    (slow, _), anew = fed_by(partial(models.beam_search, read_anew, 4, -1, width, 12))
    print(
        f"width {width:2}: {score:6.2f} nats, tokens read {fed:3}, without a cache {anew:4}", end=""
    )
    print(", same text:", found[0].tolist() == slow)

# %% [markdown]
r"""
<details><summary>Answer</summary>

With the cache, the model reads one token per beam and step; without it the whole text of every beam is read each time, which grows with the square of its length. The text is the same.

A wider beam usually finds a likelier text, but nothing guarantees it. Here width 2 ends at -33.99 nats, below the -33.21 of width 1<!-- shown: -33.99 -33.21 -->: what a narrow beam keeps, a wide one may crowd out. And likelier is not better: the likeliest open text is dull and repeats itself (Holtzman et al., 2020). Beams are for translation, where the source leaves little choice.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 14. Guess, and check several at once

Decoding is slow because each token needs a call of its own. But five tokens in one call cost far less than five calls (section 5). If something cheap *guesses* four tokens, the large model, the **target**, can judge them all in one call (Leviathan et al., 2023; Chen et al., 2023). Whatever it would not have said is cut off, with `crop`.

The text must be distributed like the target's. The **draft** drew its guess $x$ from $q$; the target has $p$. Keep $x$ with the probability $\min(1, p(x)/q(x))$. Otherwise draw from the **residual**, $\max(0, p - q)$, normalised.

**Predict.** Why not draw from $p$ itself when a guess has been refused?
"""

# %%
g = torch.Generator().manual_seed(0)
q, p = (1.5 * torch.randn(2, 8, generator=g)).softmax(-1)
drafted = torch.multinomial(q, 20_000, replacement=True, generator=g)
kept = torch.rand(20_000, generator=g) < p[drafted] / q[drafted]
for name, rest in (("the residual", (p - q).clamp_min(0)), ("p itself", p)):
    other = torch.multinomial(rest, 20_000, replacement=True, generator=g)
    share = torch.where(kept, drafted, other).bincount(minlength=8) / 20_000
    print(f"refused: from {name:13} total variation to p {(share - p).abs().sum() / 2:.3f}")
print(
    f"kept {kept.float().mean():.3f}, and the sum of min(p, q) is {torch.minimum(p, q).sum():.3f}"
)

# %% [markdown]
r"""
<details><summary>Answer</summary>

Kept guesses have written $\min(p, q)$ of each token already: all of $p$ where $q$ is larger. Drawing from $p$ again would say those tokens too often; the distance to $p$ is 0.16<!-- shown: 0.160 -->. What is missing is exactly $\max(0, p - q)$, and with it only the distance due to chance is left.

The share that is kept is $\sum \min(p, q)$: how alike the two are decides what is gained.

</details>
"""

# %% [markdown]
r"""
**Step by step.** Eight tokens, the same two distributions at every place. *Step* looks at one guess at a time; *Run 1000* fills the counters. The bars of both can be dragged; what one gains the others lose.

**Predict.** Move the draft's bars onto the target's. What value does each number in the table reach, and which bars of the residual are left? Then drag one of the draft's bars to the end: is the text still the target's? And with the box ticked?
"""

# %%
speculation_explorer()

# %% [markdown]
r"""
<details><summary>Answer</summary>

With equal bars every guess is kept, a call writes $\gamma + 1$ tokens, and no residual is left; it is never drawn from. A draft that always says one token is refused nearly always, and a call writes little more than one token. The text is the target's all the same: the draft decides the speed, never the distribution. With the box ticked, the output drifts away from $p$, and more calls do not help.

</details>
"""

# %% [markdown]
r"""
### Exercise: `speculative_accept`

*Difficulty · importance · minutes*

Write `speculative_accept(draft_tokens, draft_probs, target_probs, uniforms) -> (num_accepted, token)`.

- `draft_tokens` is `(K,)`, $K \ge 0$; `draft_probs` is `(K, V)`, `target_probs` is `(K + 1, V)`, `uniforms` is `(K + 1,)` in $[0, 1)$.
- Token $x_t$ is accepted while `uniforms[t]` $< p_t(x_t)/q_t(x_t)$, strictly; the first that is not ends it.
- One more token follows: from $\max(0, p - q)$ at the refused place, or from the last row of $p$ if all were accepted. It is the first whose cumulative sum is above `uniforms[K]` times the total, wherever it is drawn.
- Return two Python ints.
"""


# %% exercise="speculative_accept"
def speculative_accept(draft_tokens, draft_probs, target_probs, uniforms):
    """Return how many guesses stay, and the token after them."""
    ### BEGIN SOLUTION: Stop at the first refusal; then draw from what is missing to the target.
    accepted, rest = len(draft_tokens), target_probs[-1]
    for t, token in enumerate(draft_tokens.tolist()):
        if uniforms[t] * draft_probs[t, token] >= target_probs[t, token]:
            accepted, rest = t, (target_probs[t] - draft_probs[t]).clamp_min(0)
            break
    sums = rest.cumsum(0)
    return accepted, int((sums > uniforms[-1] * sums[-1]).int().argmax())
    ### END SOLUTION


# %%
check("speculative_accept", speculative_accept)
# hint("speculative_accept")

# %% [markdown]
r"""
**The cheapest draft** is a table: how often each token followed each other one in the training text. It needs no model at all.

**Predict.** The trained model of section 7 as target, that table as draft, $\gamma = 4$ guesses per call. At temperature 0, will the text be the same? What share of the guesses is kept?
"""

# %% tags=["nbval-ignore-output"] reason="the text differs a little between Python versions"
table = models.bigram_scores(text.train, 512)


def bigrams(tokens):
    """Score the next token by the last one alone."""
    return table[tokens[:, -1]]


plain = generate(gpt, prompt, 60, temperature=0)
g = torch.Generator().manual_seed(0)
for greedy in (True, False):
    choice = {"gamma": 4, "greedy": greedy, "generator": g}
    found = models.speculative_decode(gpt, bigrams, prompt, 60, **choice)
    print(f"{'greedy' if greedy else 'drawn':6} {found.num_calls} calls for 60 tokens", end=", ")
    print(f"{found.acceptance:.0%} of the guesses judged kept", end="")
    print("; same text:", torch.equal(found.tokens, plain) if greedy else "drawn anew")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The same text, token for token: at temperature 0 both distributions have all their weight on one token, so a guess is kept exactly if it is the target's own. A table that knows nothing but the last token is right surprisingly often; texts are full of halves of words, brackets and *of the*.

</details>

**Predict.** If each guess is kept with the probability $\alpha$, a call brings $1 + \alpha + \dots + \alpha^\gamma = \frac{1 - \alpha^{\gamma + 1}}{1 - \alpha}$ tokens. With $\alpha = 0.6$ and $\gamma = 4$: how many? Recorded below: a target of four layers, and as drafts the table and a GPT of one layer. Which of them is faster than plain decoding?
"""

# %%
speculation = measure.read_record("chapter_10_speculation")
calls = speculation["settings"]["calls"]
print("tokens fed in one call of the target:", "".join(f"{fed:>7}" for fed in calls))
print("milliseconds                         ", "".join(f"{ms:7.2f}" for ms in calls.values()))
print("compared with one token              ", end="")
print("".join(f"{ms / calls['1']:7.2f}" for ms in calls.values()))
plain_ms = {row["greedy"]: row["milliseconds"] for row in speculation["runs"] if not row["gamma"]}
print(f"plain decoding, per token: greedy {plain_ms[True]:.2f} ms, drawn {plain_ms[False]:.2f} ms")

# %% [markdown]
r"""
<details><summary>Answer to the first question</summary>

2.3 tokens: $(1 - 0.6^5)/0.4$.

</details>

A call that judges $\gamma$ guesses is fed $\gamma + 1$ tokens, and takes longer than a call with one. So no draft, not even one that costs nothing, can be faster than *tokens per call · time of a plain token / time of the call*. That ceiling is a column below.

**Predict.** The GPT is the better guesser. Which draft comes nearer to its ceiling?
"""

# %% guess={"name": "10.drafts", "kind": "order", "asks": "Speculative decoding, tokens drawn, four guesses per call of the target: which way writes fastest, and in which order do the others follow?", "options": {"no draft at all": {"record": "chapter_10_speculation", "where": {"draft": "none", "gamma": 0, "greedy": false}, "value": "times_faster"}, "the GPT of one layer as draft": {"record": "chapter_10_speculation", "where": {"draft": "GPT", "gamma": 4, "greedy": false}, "value": "times_faster"}, "the table as draft": {"record": "chapter_10_speculation", "where": {"draft": "bigrams", "gamma": 4, "greedy": false}, "value": "times_faster"}}, "take": "descending"}
guess("10.drafts")

# %%
for greedy in (True, False):
    name = "greedy" if greedy else "drawn"
    print(f"{name:8} γ    kept tokens per call  formula  ceiling  times faster")
    for row in speculation["runs"]:
        if row["greedy"] == greedy and row["gamma"]:
            print(f"{row['draft']:8} {row['gamma']} {row['acceptance']:7.2f}", end="")
            print(f" {row['tokens_per_call']:15.2f} {row['formula']:8.2f}", end="")
            print(f" {row['ceiling']:8.2f} {row['times_faster']:13.2f}")
drafted = [row for row in speculation["runs"] if row["gamma"]]
print("below its ceiling in every row:", all(r["times_faster"] <= r["ceiling"] for r in drafted))
same = [row["same_tokens"] for row in speculation["runs"] if "same_tokens" in row]
print("greedy text equal in every run:", all(same))

# %% [markdown]
r"""
<details><summary>Answer</summary>

The table: a guess of its own costs hardly anything.

- Greedy, nothing is gained, 0.90 times at best<!-- shown: 0.90 -->: the ceiling itself is no higher than 1.60<!-- shown: 1.60 -->.
- Drawn, the table gains 1.41 times with four guesses, of at most 1.90<!-- shown: 1.41 1.90 -->.
- The GPT draft brings more tokens per call, 2.23, and loses, 0.81<!-- shown: 2.23 0.81 -->: each of its guesses is a call, too.

Plain decoding and each way took turns within a round, and so did the calls behind the ceiling: times from different minutes of a busy machine can break a law of arithmetic. In a large model, where reading the weights is all of the time, five tokens in one call cost the same as one. Here they cost 1.41 times as much<!-- shown 2: 1.41 -->.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 15. A server for many readers

Section 9 read several texts at once. There, all began together, were padded to the longest prompt, and went on until the longest answer was written. A server's readers do not arrive together, and their answers end at different times.

**Continuous batching** (Yu et al., 2022) decides anew before each call of the model who takes part: those who are done leave, others join. Prompts are read in pieces, and a **budget** says how many tokens a call may read in all (Agrawal et al., 2024).

**Predict.** Twelve readers, with prompts and answers of 2 to 23 tokens. What share of the rows of a static batch of four is read for nobody? And of a server's rows?
"""


# %%
from course_utils.serving import Prefixes, Request, Server, static_batches


def crowd(model_tokens=50, count=12):
    """Return requests whose prompts and answers are of many lengths."""
    draw = torch.Generator().manual_seed(4)
    sizes = torch.randint(2, 24, (count, 2), generator=draw).tolist()
    prompts = [torch.randint(model_tokens, (size[0],), generator=draw).tolist() for size in sizes]
    return [Request(prompt, size[1]) for prompt, size in zip(prompts, sizes, strict=True)]


padded, joining = crowd(), crowd()
static = list(static_batches(toy, padded, 4))
server = Server(toy, num_pages=48, page_size=4, budget=12)
for reader in joining:
    server.submit(reader)
continuous = server.run()
needed = sum(len(one.prompt) - 1 + len(one.written) for one in joining)
for name, steps in (("static", static), ("continuous", continuous)):
    rows = sum(one.fed for one in steps)
    print(f"{name:10} {len(steps):3} calls, {rows} rows, {1 - needed / rows:.0%} for nobody")
print("same answers:", [one.written for one in padded] == [one.written for one in joining])

# %% mystnb={"image": {"alt": "Two panels of bars, one bar per call. Static: three tall bars, where a group's prompts are read, each followed by a row of low bars; large parts of both are for nobody. Continuous: bars that nearly all reach the budget of 12 rows, fewer of them, and none for nobody; the last ones are lower."}}
panels = plotting.new_panels(
    "Who is done leaves; the budget stays full",
    "number of the call  (each panel has its own scale)",
    ["rows per call, static", "rows per call, continuous"],
)
for panel, steps in zip(panels, (static, continuous), strict=True):
    calls = range(1, len(steps) + 1)
    useful = [getattr(one, "useful", one.fed) for one in steps]
    spare = [one.fed - use for one, use in zip(steps, useful, strict=True)]
    panel.bar(calls, useful, color=plotting.COLOURS["blue"])
    panel.bar(calls, spare, bottom=useful, color=plotting.COLOURS["orange"])
for name, colour, top in (("needed", "blue", 70), ("for nobody", "orange", 54)):
    panels[0].text(36, top, name, color=plotting.COLOURS[colour], fontweight="bold")

# %% [markdown]
r"""
<details><summary>Answer</summary>

29%, and none.<!-- shown 2: 29% 0% --> A static group has two kinds of spare rows: padding beside shorter prompts, and answers that ended while others went on. The server has neither, and answers everyone in fewer calls.

A call of the server is one batch of rows, wherever they stand in their texts: only attention asks whose they are (`course_utils/serving/ragged.py`). So the answers are those of each reader alone. The scores differ in their last digits, since a matrix product of more rows adds in another order; a tie to that many digits could fall either way.

</details>
"""

# %% [markdown]
r"""
**Recorded, with a larger model**: 32 readers, most of them short, some of up to 96 tokens. Groups of eight, against a server with the memory of one such group.

**Predict.** What does a small budget cost, and what does a large one?
"""

# %%
served = measure.read_record("chapter_10_serving")
print("                          calls   rows   spare  at most  calls before   time, of")
print("                                               at once   1st token     static's")
for row in served["batching"]:
    print(f"{row['way']:24} {row['steps']:6} {row['fed']:6} {row['wasted']:7.0%}", end="")
    print(f" {row['most_in_a_step']:8} {row['steps_to_first_token']:11.0f}", end="")
    print(f" {row['time_to_static']:11.2f}")
print("same answers:", all(row["same_tokens"] for row in served["batching"]))

# %% [markdown]
r"""
<details><summary>Answer</summary>

With budget 8, a call reads at most eight tokens. That wastes nothing, and helps nobody: about as many calls as static<!-- shown: 311 301 -->, and more time (1.33 times<!-- shown: 1.33 -->), since attention here is a Python loop over readers. Its gain is the shortest call: whoever is writing never waits for a long prompt.

With 64, a third of the calls, 0.70 of the time<!-- shown: 103 0.70 -->, and the first token after 11 calls, not 131<!-- shown: 11 131 -->. Part of that is memory: pages have room for 29 of these readers, a padded batch for eight. With 256 little is gained in time, and a call may take as long as reading 256 tokens takes.

The time falls less than the rows: padding comes in large products, and those are cheap per row.

</details>
"""

# %% [markdown]
r"""
**Who gets no page.** A server lets readers in while pages last, and does not know how long their answers will be. When pages run out, the reader that came last loses its pages, goes back to the head of the queue and is read again, with what it has written.

**Predict.** The same readers with a half, a third and a quarter of the memory: how many rows are read twice?
"""

# %% guess={"name": "10.evicted", "kind": "order", "asks": "A server has a half, a third or a quarter of the memory, and readers that lose their pages are read again: where are most rows read again, and in which order do the others follow?", "options": {"a half": {"record": "chapter_10_serving", "rows": "pages", "where": {"pages": 48}, "value": "fed"}, "a third": {"record": "chapter_10_serving", "rows": "pages", "where": {"pages": 32}, "value": "fed"}, "a quarter": {"record": "chapter_10_serving", "rows": "pages", "where": {"pages": 24}, "value": "fed"}}, "take": "descending"}
guess("10.evicted")

# %%
print("pages   calls   rows  read again  lost their pages  most at once")
for row in served["pages"]:
    again = row["fed"] - row["needed"]
    print(f"{row['pages']:5} {row['steps']:7} {row['fed']:6} {again:11}", end="")
    print(f" {row['preempted']:17} {row['most_running']:13}   {row['same_tokens']}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

With half of it, 299 rows are read again, an eighth of all; with a third 681; with a quarter 576<!-- shown: 299 681 576 -->, fewer again: more readers lost their pages (20 instead of 18), but each had read less by then. Every answer is the same: a reader who lost its pages keeps what it wrote and the state of its generator.

Memory decides how many write at once (29, 15, 11<!-- shown: 29 15 11 -->), and so how many calls there are. A request that would not fit into all pages together is refused when it comes; waiting would not help it.

</details>
"""

# %% [markdown]
r"""
**One beginning for many.** Prompts of one application often begin alike, with the same instructions. Section 10 shared the pages of one prompt among its answers. A server can find shared beginnings by itself: it keeps the pages of prompts that it has read, under their tokens.

**Predict.** Sixteen prompts begin with the same 96 tokens; each goes on with 8 to 23 of its own. What share of the operations of reading them is saved? And of reading and answering, with 24 tokens each?
"""

# %%
print("tokens written   beginnings   rows   Gflop   pages   time, of apart")
for row in served["prefixes"]:
    print(f"{row['num_tokens']:14}   {row['way']:10} {row['fed']:6}", end="")
    print(f" {row['flops'] / 1e9:7.1f} {row['pages']:7} {row['time_to_apart']:16.2f}")

# %%
talk = torch.randint(50, (12,), generator=torch.Generator().manual_seed(5)).tolist()
server = Server(toy, num_pages=48, page_size=4, budget=24, prefixes=Prefixes(4))
for last in range(3):
    server.submit(Request([*talk, last], 4))
for _ in range(2):
    did = server.step()
    print(f"{did.fed} tokens read, {did.running} readers, {did.waiting} waiting, {did.pages} pages")
for reader in server.schedule.running:
    print("shared", reader.num_shared, " table", reader.sequence[0].tables[0])

# %% [markdown]
r"""
<details><summary>Answer</summary>

Of reading alone, 80% (2.5 of 12.7 Gflop<!-- shown 2: 12.7 2.5 -->); with answers, two thirds (5.2 of 15.4<!-- shown 2: 15.4 5.2 -->), and half of the pages. The time falls less, to 0.66<!-- shown 2: 0.66 -->: each answer still takes its own steps. One thing counts against sharing: where only prompts are read, it holds 17 pages, not 12<!-- shown 2: 12 17 -->, since they are kept after their readers have left, until the room is needed.

Below the table, three prompts of 13 tokens with one beginning of 12, in pages of four. Two wait for one call: the first is reading what they need. Then each reads its last token alone, and all three tables name the same three pages.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 16. How many rows are free

A step reads every weight once, for however many rows. A row needs two operations for each weight. So a step of few rows waits for the memory, and one of many for the arithmetic: the **roofline** of chapter 09, with the batch size instead of the tile.

**Predict.** A machine can do five operations in the time it takes to read one byte. A weight in float32 has four bytes. From which batch size on does a token stop getting cheaper? And does all of a step behave like this?
"""

# %% guess={"name": "10.batch", "kind": "curve", "asks": "A GPT on one core takes 14 ms for a step of one text: how many milliseconds per token does it take if this many texts share a step?", "low": 0.1, "high": 100, "log": true, "unit": "ms per token", "x": [1, 2, 4, 8, 16, 32, 64], "across": "batch size", "reads": {"record": "chapter_10_serving", "value": "step_ms_a_token", "by": "batch"}}
guess("10.batch")

# %%
(roof,) = served["roofs"]
peak, speed = roof["gflops_a_second"], roof["gigabytes_a_second"]
print(f"{peak:.0f} Gflop/s, {speed:.0f} GB/s: {roof['flop_per_byte']:.1f} flop per byte", end="; ")
print(f"the roofs meet at batch {roof['ridge']:.0f}")
print("        ms per token      weights'   MB per token")
print("batch   step   weights    Gflop/s   weights   cache")
for row in served["runs"]:
    times = (row["step_ms_a_token"], row["products_ms_a_token"], row["products_gflops_a_second"])
    print(f"{row['batch']:5} {times[0]:6.2f} {times[1]:9.2f} {times[2]:10.1f}", end="")
    print(f" {row['weight_bytes_a_token'] / 1e6:9.1f} {row['cache_bytes_a_token'] / 1e6:7.1f}")

# %% mystnb={"image": {"alt": "Milliseconds per token against batch size from 1 to 64, both logarithmic. A falling straight line, the time of reading the weights, crosses a level one, the time of arithmetic, near batch 10. The measured products with weights start on the first, fall more slowly from batch 2 on, and come near the second at 64. The whole step lies above them throughout, about twice as high at both ends."}}
batches = [row["batch"] for row in served["runs"]]
axes = plotting.new_figure(
    "More rows make a token cheaper,\ndown to the arithmetic", "batch size", "ms per token"
)
axes.set_yscale("log")
for name, key, colour in (("step", "step", "green"), ("weights", "products", "blue")):
    times = [row[f"{key}_ms_a_token"] for row in served["runs"]]
    plotting.line(axes, batches, times, name, colour, (70, times[-1]), "o-")
read = [row["weight_bytes_a_token"] / speed / 1e6 for row in served["runs"]]
sums = [row["weight_flops_a_token"] / peak / 1e6 for row in served["runs"]]
for name, times, colour in (("reading", read, "orange"), ("arithmetic", sums, "pink")):
    height = times[-1] * (0.8 if name == "arithmetic" else 1.0)
    plotting.line(axes, batches, times, name, colour, (70, height), "--")
plotting.power_axis(axes, batches)
draw_guess(axes, "10.batch")
_ = axes.set(xlim=(0.9, 280))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Each weight, four bytes, gives two operations per row: at five operations per byte the roofs meet near batch ten; here at 11<!-- shown 2: 11 -->.

The measured products leave that line at once. A second row is not free on this processor: the routines for a few rows read the weights at half the speed. At 64 they reach 56 of 79 Gflop/s<!-- shown 2: 79 56.4 -->, and a token costs an eighth of what it costs alone<!-- shown 2: 7.61 0.91 -->.

The cache does not behave like this. Every row reads its own: 4.2 MB per token at any batch, with only 128 tokens in it; from batch 32 on, more than its share of the weights. Long texts are bound by memory at any batch size; so chapter 08 shrinks the cache.

</details>
"""

# %% [markdown]
r"""
## 17. What published texts say, once more

Right, wrong, or right under a condition?

- Text D: "Inference Speed (relative, seq_len=2048)", MQA "1.3-1.5× faster" than MHA, GQA "1.1-1.3×", linear and Flash "2-4×".
- A comment in text D's grouped-query attention: "Repeat each group to match number of query heads".

<details><summary>Answers</summary>

- Cannot be checked: no batch, device or phase is given. Section 5 has ours, and they depend on the position.
- The result is right; the copy loses what sharing had saved (section 5).

</details>
"""

# %% [markdown]
r"""
<details><summary>Four more</summary>

1. Text A: "During inference, cache keys and values to avoid recomputation". Right, for causal models (section 1). The class printed below that sentence is the one in section 4.
2. Text D, for inference: "KV caching", "Batch processing", "Quantization (8-bit attention)", "Operator fusion". Right under conditions: the cache saves operations, a batch shares the reading of the weights (section 9), 8 bits save memory first (section 11), and fusing is chapter 09.
3. Text E: "O(n) per new token instead of O(n²)". Right for attention, for one token (section 5).
4. Text A: "Key-Value cache: ~500 MB for generation", with a billion parameters. The right order of magnitude for one sequence at 16 bits and 2048 tokens (section 6).

The site's page of published claims lists them all.

</details>
"""

# %% [markdown]
r"""
## Yours: a text written by your functions

The trained model of section 7 once more, with every mechanism supplied by you: the rotations (chapter 07), the causal mask and its softmax (06), the cache and its steps, and the loop that writes. Its weights stay; the functions are yours wherever their exercises are passed, and the course's where they are not.

The prompt is read under your mask and softmax, each further token by `decode_step`. Then the same text is read again: whole, without a cache, and in pieces of several tokens.

**Predict.** Will the text be the same, token for token?
"""


# %%
def written_with(parts):
    """Return what the trained model writes, and its scores read at once and in pieces."""

    def attend(query, key, value, mask):
        scores = query @ key.mT / query.shape[-1] ** 0.5
        return parts.masked_softmax(scores, mask) @ value

    own = GPT(
        512, d_model=96, num_heads=4, num_layers=2, max_length=256,
        positions=GivenPositions(rotate=parts.rope_split_halves),
        mask=lambda length: parts.causal_mask(length, length), attend=attend,
        cache=partial(GivenCache, append=parts.append_kv, decode=parts.decode_step),
    ).double()  # fmt: skip
    own.load_state_dict(gpt.state_dict())
    with torch.no_grad():
        tokens = torch.cat([opening, parts.greedy_decode(own, opening, 40)], dim=1)
        pieces = read_in_pieces(own, tokens, [9, 1, 20, tokens.shape[1] - 30], own.new_cache(1))
        whole = own.logits(tokens)
    return {"text": text.tokenizer.decode(tokens[0].tolist()), "whole": whole, "pieces": pieces}


# %% tags=["nbval-ignore-output"] reason="whose parts run, and a text that differs a little between Python versions"
opening = text.tokenizer.encode("The statement")[None]
CACHED = ("append_kv", "decode_step", "greedy_decode")
parts = yours("causal_mask", "masked_softmax", "rope_split_halves", *CACHED)
note = parts.run(written_with)
print(note.result["text"], "\n")
note

# %%
greedy = "The statement" + text.tokenizer.decode(likeliest[0].tolist())
print("the text is section 7's greedy one:", note.result["text"] == greedy)

# %% [markdown]
"""
<details><summary>Answer</summary>

Token for token. A model is its weights and a handful of functions, and all of these functions can be yours. One that is almost right, a mask aligned to the top left, say, shows in the scores at once, and the card above names it.

</details>
"""

# %% [markdown]
r"""
## Recap

1. A causal model never changes its past, so keys and values can be kept. Prefill writes many, decoding one; queries are the last positions, and the mask's offset says so. Any split of a text gives the same result, up to rounding.
2. One token costs attention $O(n)$ instead of $O(n^2)$, and everything else a constant. A whole text stays quadratic.
3. The cache holds $2 \cdot \text{layers} \cdot H_{kv} \cdot d_k$ numbers per token of each sequence. Shared heads divide it, a window bounds it, fewer bits shrink it.
"""

# %% [markdown]
r"""
4. A window forgets, and works beyond the length of training. Pages waste less than one block per text, and share prompts. int8 with a scale per token hardly changes the loss here, and its gain is memory.
5. Caches fail silently: dropped tokens, a mask aligned to the top left, positions that start again, state from another prompt. One test finds them all: read in pieces, and compare with no cache.
"""

# %% tags=["remove-cell"]
progress(10)

# %% [markdown]
"""
**Next**: chapter 11 builds the whole Transformer.
"""

# %% [markdown]
"""
## Go further

- Shazeer (2019): why decoding is slow, and one head of keys and values.
- Pope et al. (2023): prefill and decoding at scale.
- Kwon et al. (2023): pages, sharing, and a server around them.
- Xiao et al. (2024): windows with sinks. (The preprint is from 2023.)
- Dettmers et al. (2022): int8, and the outliers.
- Liu et al. (2024): two bits, keys by channel and values by token.
- Holtzman et al. (2020): top-p, and why the likeliest text is a bad one.
- Nguyen et al. (2024): min-p; Keskar et al. (2019): the repetition penalty.
- Leviathan et al. (2023) and Chen et al. (2023): speculative decoding, found twice.
- Agrawal et al. (2024): prompts in pieces, so that other users need not wait.
- Yu et al. (2022): readers join and leave. Zheng et al. (2024): shared beginnings.
"""

# %% [markdown]
"""
<details><summary>BibTeX</summary>

```bibtex
@misc{shazeer2019fast,
  title = {Fast Transformer Decoding: One Write-Head is All You Need},
  author = {Shazeer, Noam}, year = {2019}, url = {https://arxiv.org/abs/1911.02150}}
@inproceedings{pope2023efficiently,
  title = {Efficiently Scaling Transformer Inference},
  author = {Pope, Reiner and Douglas, Sholto and Chowdhery, Aakanksha and Devlin, Jacob and Bradbury, James and Heek, Jonathan and Xiao, Kefan and Agrawal, Shivani and Dean, Jeff},
  booktitle = {Proceedings of Machine Learning and Systems}, year = {2023}, url = {https://arxiv.org/abs/2211.05102}}
@inproceedings{kwon2023efficient,
  title = {Efficient Memory Management for Large Language Model Serving with PagedAttention},
  author = {Kwon, Woosuk and Li, Zhuohan and Zhuang, Siyuan and Sheng, Ying and Zheng, Lianmin and Yu, Cody Hao and Gonzalez, Joseph E. and Zhang, Hao and Stoica, Ion},
  booktitle = {Symposium on Operating Systems Principles}, year = {2023}, url = {https://arxiv.org/abs/2309.06180}}
@inproceedings{xiao2024efficient,
  title = {Efficient Streaming Language Models with Attention Sinks},
  author = {Xiao, Guangxuan and Tian, Yuandong and Chen, Beidi and Han, Song and Lewis, Mike},
  booktitle = {ICLR}, year = {2024}, url = {https://arxiv.org/abs/2309.17453}}
@inproceedings{dettmers2022llm,
  title = {LLM.int8(): 8-bit Matrix Multiplication for Transformers at Scale},
  author = {Dettmers, Tim and Lewis, Mike and Belkada, Younes and Zettlemoyer, Luke},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2022}, url = {https://arxiv.org/abs/2208.07339}}
@inproceedings{liu2024kivi,
  title = {{KIVI}: A Tuning-Free Asymmetric 2bit Quantization for {KV} Cache},
  author = {Liu, Zirui and Yuan, Jiayi and Jin, Hongye and Zhong, Shaochen and Xu, Zhaozhuo and Braverman, Vladimir and Chen, Beidi and Hu, Xia},
  booktitle = {ICML}, year = {2024}, url = {https://arxiv.org/abs/2402.02750}}
@inproceedings{holtzman2020curious,
  title = {The Curious Case of Neural Text Degeneration},
  author = {Holtzman, Ari and Buys, Jan and Du, Li and Forbes, Maxwell and Choi, Yejin},
  booktitle = {ICLR}, year = {2020}, url = {https://arxiv.org/abs/1904.09751}}
@misc{keskar2019ctrl,
  title = {{CTRL}: A Conditional Transformer Language Model for Controllable Generation},
  author = {Keskar, Nitish Shirish and McCann, Bryan and Varshney, Lav R. and Xiong, Caiming and Socher, Richard},
  year = {2019}, url = {https://arxiv.org/abs/1909.05858}}
@misc{nguyen2024turning,
  title = {Turning Up the Heat: Min-p Sampling for Creative and Coherent {LLM} Outputs},
  author = {Nguyen, Minh Nhat and Baker, Andrew and Neo, Clement and Roush, Allen and Kirsch, Andreas and Shwartz-Ziv, Ravid},
  year = {2024}, url = {https://arxiv.org/abs/2407.01082}}
@misc{chen2023accelerating,
  title = {Accelerating Large Language Model Decoding with Speculative Sampling},
  author = {Chen, Charlie and Borgeaud, Sebastian and Irving, Geoffrey and Lespiau, Jean-Baptiste and Sifre, Laurent and Jumper, John},
  year = {2023}, url = {https://arxiv.org/abs/2302.01318}}
@inproceedings{sennrich2016neural,
  title = {Neural Machine Translation of Rare Words with Subword Units},
  author = {Sennrich, Rico and Haddow, Barry and Birch, Alexandra},
  booktitle = {ACL}, year = {2016}, url = {https://arxiv.org/abs/1508.07909}}
@inproceedings{leviathan2023fast,
  title = {Fast Inference from Transformers via Speculative Decoding},
  author = {Leviathan, Yaniv and Kalman, Matan and Matias, Yossi},
  booktitle = {ICML}, year = {2023}, url = {https://arxiv.org/abs/2211.17192}}
@inproceedings{yu2022orca,
  title = {Orca: A Distributed Serving System for Transformer-Based Generative Models},
  author = {Yu, Gyeong-In and Jeong, Joo Seong and Kim, Geon-Woo and Kim, Soojeong and Chun, Byung-Gon},
  booktitle = {OSDI}, year = {2022}, url = {https://www.usenix.org/conference/osdi22/presentation/yu}}
@inproceedings{zheng2024sglang,
  title = {{SGLang}: Efficient Execution of Structured Language Model Programs},
  author = {Zheng, Lianmin and Yin, Liangsheng and Xie, Zhiqiang and Sun, Chuyue and Huang, Jeff and Yu, Cody Hao and Cao, Shiyi and Kozyrakis, Christos and Stoica, Ion and Gonzalez, Joseph E. and Barrett, Clark and Sheng, Ying},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2024}, url = {https://arxiv.org/abs/2312.07104}}
@inproceedings{agrawal2024taming,
  title = {Taming Throughput-Latency Tradeoff in LLM Inference with Sarathi-Serve},
  author = {Agrawal, Amey and Kedia, Nitin and Panwar, Ashish and Mohan, Jayashree and Kwatra, Nipun and Gulavani, Bhargav S. and Tumanov, Alexey and Ramjee, Ramachandran},
  booktitle = {OSDI}, year = {2024}, url = {https://arxiv.org/abs/2403.02310}}
```

</details>
"""
