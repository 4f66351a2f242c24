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
# Keep a state: what comes after attention

A memory of fixed size takes in pairs of a key and a value. Each is written into the same few numbers.

Play for one minute: make it 4 wide, and add pairs one by one. **How many does it read back right, and which memory holds the most?** At the end of the chapter you can explain it.
"""

# %% tags=["remove-input"]
from course_utils.widgets import state_explorer

opening = state_explorer()
opening

# %% [markdown]
r"""
*You will be able to*

1. write retention, the gated delta rule and a selective state space model as "fade, write, read", and say what each forgets;
2. show that the parallel, the recurrent and the chunkwise form are one function, and say which one to run when;
3. say how many pairs a state holds, what else decides how many a trained layer recalls, and what a hybrid buys;
4. route tokens to experts, and keep the experts busy (further);
5. read a published stack and its configuration layer by layer, and ask each claim for its measurement (further).

*You need* chapter 03 for attention, 05 for heads, 08 for its recall task, 10 for the cache.

*Core path · further*
"""

# %% [markdown]
"""
How to read: each experiment begins with a question. Write down your guess, run the cell, then open the answer.

Texts A to E, whose sentences this course checks, are listed on the page *What is measured here*.
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
import math
import re
import sys
from functools import partial
from itertools import product

import torch
from matplotlib import pyplot as plt
from torch.nn import functional as F
from tqdm import tqdm

from course_utils import attention, measure, plotting
from course_utils.guessing import draw_guess, guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.models.tasks import expert_task
from course_utils.models.tasks.expert_task import Experts, ExpertTask
from course_utils.models.tasks.recall import RecallModel, judge_recall, train_recall

plotting.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=3, sci_mode=False, linewidth=100)


# %%
def normal(seed):
    """Return what draws standard normals in float64, the same for the same seed."""
    generator = torch.Generator().manual_seed(seed)
    return partial(torch.randn, generator=generator, dtype=torch.float64)


def apart(a, b):
    """Return how far two tensors are apart, compared with the largest number."""
    far = ((a - b).abs().max() / b.abs().max()).item()
    return "equal up to rounding" if far < 1e-12 else f"{far:.1e} apart"


# %% [markdown]
r"""
## 1. Fade, write, read

A softmax decoder keeps every key and value: its memory grows with the text. What if the memory had a fixed size? Take a matrix $S$ of $d_k \times d_v$ numbers, and for each token
"""

# %% tags=["remove-input"]
from course_utils.diagrams import diagram

diagram("17")

# %% [markdown]
r"""
$$\underbrace{S \leftarrow \gamma\, S}_{\text{fade}}, \qquad \underbrace{S \leftarrow S + k\,v^\top}_{\text{write}}, \qquad \underbrace{\text{out} = q^\top S}_{\text{read}}$$

This is **retention** (Sun et al., 2023), apart from a factor $1/\sqrt{d_k}$. With $\gamma = 1$ it is linear attention without the normaliser (chapter 08).

**Predict.** Keys $(1, 0)$, $(0, 1)$, $(1, 0)$ arrive with the values 10, 20 and 30, and $\gamma = \frac12$. What does the last token read with $(1, 0)$? And with $(0, 1)$?
"""

# %% guess={"name": "17.read", "kind": "number", "asks": "Keys (1, 0), (0, 1), (1, 0) arrive with the values {first}, 20 and {last}, and γ is ½: what does the last token read with (1, 0)?", "low": 0, "high": 100, "reads": "after the value 30 the state is [{}", "varied": [{"first": 10, "last": 30}, {"first": 40, "last": 20}, {"first": 80, "last": 5}, {"first": 60, "last": 60}], "becomes": "last + first / 4"}
guess("17.read")

# %%
state = torch.zeros(2, 1)
for key, value in (((1, 0), 10.0), ((0, 1), 20.0), ((1, 0), 30.0)):
    state = 0.5 * state + torch.tensor(key, dtype=torch.float)[:, None] * value
    print("after the value", int(value), "the state is", state.flatten().tolist())

# %% [markdown]
r"""
<details><summary>Answer</summary>

The keys are the axes, so the state after the last token is the answer itself: $(1, 0)$ reads 32.5, $(0, 1)$ reads 10<!-- shown: 32.5 10.0 -->. The value 10 has faded twice, to a quarter in all, and 30 was **added** to it: writing does not remove what was there. The 20 has faded once.

</details>
"""

# %% [markdown]
r"""
Most successors of attention are this loop with a different fade or a different write:

| mechanism | fade | write | kept per head |
|---|---|---|---|
| softmax | none | append $k$ and $v$ | everything |
| linear | none | $k\,v^\top$ | $d_k \times d_v$, and a normaliser |
| retention | a constant $\gamma$ | $k\,v^\top$ | $d_k \times d_v$ |
| gated linear | a number per key channel, set by the token | $k\,v^\top$ | $d_k \times d_v$ |
| gated delta rule | a number, set by the token | $\beta\,k\,(v - \text{found})^\top$ | $d_k \times d_v$ |
| selective SSM | $e^{\Delta A}$, set by the token | $\Delta\,x\,B^\top$ | $n$ numbers per channel |
| WKV (RWKV-4) | $e^{-w}$ per channel | $e^{k} v$, and $e^{k}$ | 3 numbers per channel |
"""

# %% [markdown]
r"""
**Check yourself.** What is left of attention? Query, key and value are in the first five rows; in an SSM $C$, $B$ and $x$ play their parts. WKV has a key and a value and no query. In which rows do the weights still sum to 1?

- A. All of them.
- B. Softmax, linear and WKV.
- C. Softmax alone.

<details><summary>Answer</summary>

- A: retention and the three below it divide by nothing.
- **B is right.** These three divide by the sum of their weights.
- C forgets the normaliser $z$ of linear attention, and the second number of WKV.

No row needs a mask: a state holds only the past. That is also why none of them can look ahead.

</details>
"""

# %% [markdown]
r"""
## 2. The same without a loop

A loop over tokens is slow to train. Unroll it: what token $m$ wrote has faded $n - m$ times when token $n$ reads, so

$$\text{out}_n = \sum_{m \le n} \gamma^{\,n-m}\, \frac{q_n \cdot k_m}{\sqrt{d_k}}\; v_m$$

A table of scores, times a table of fades, times the values: attention with $\gamma^{n-m}$ instead of the softmax.

**Predict.** Four tokens and $\gamma = \frac12$. What is in the last row of the table of fades? And what is above the diagonal?

<details><summary>Answer</summary>

$\frac18, \frac14, \frac12, 1$: a token's own entry is not faded. Above the diagonal it is 0: tokens that have not come yet are not read.

</details>
"""

# %% [markdown]
r"""
### Exercise: `retention_parallel`

*Difficulty · importance · minutes*

Write `retention_parallel(query, key, value, decay) -> out`.

- `query` and `key` are `(B, H, L, d_k)`, `value` is `(B, H, L, d_v)`, `decay` is `(H,)`, above 0 and at most 1.
- No softmax, no normaliser. A token's own value is not faded.
- The output and its gradients are finite for a decay of 0.4 at L = 1500 in float64.
"""


# %% exercise="retention_parallel"
def retention_parallel(query, key, value, decay):
    """Return what every token reads, from one table of faded scores."""
    ### BEGIN SOLUTION: How old is each key for each query? Fade the scores; mix.
    place = torch.arange(query.shape[-2])
    ages = place[:, None] - place
    faded = (decay[:, None, None] ** ages.clamp(min=0)).tril()
    scores = query @ key.mT / query.shape[-1] ** 0.5
    return scores * faded @ value
    ### END SOLUTION


# %%
check("retention_parallel", retention_parallel)
# hint("retention_parallel")  # remove the first # for a hint; each call gives one more

# %% [markdown]
r"""
**Find the error.** It is tempting to split the power, $\gamma^{n-m} = \gamma^n \cdot \gamma^{-m}$: fade the queries by the one, the keys by the other, and a plain matrix product does the rest.

**Predict.** In float32 with $\gamma = 0.9$: up to which length does that work?
"""

# %% guess={"name": "17.overflow", "kind": "number", "asks": "With the power split in two, γ = 0.9 and float32: which token is the first whose output is wrong?", "low": 10, "high": 1000000, "log": true, "reads": "first token that is off: {}"}
guess("17.overflow")

# %%
draw = normal(0)
q, k, v = (draw(1, 1, 4000, 8).float() for _ in range(3))
decay = torch.tensor([0.9])
right = attention.retention_parallel(q, k, v, decay)
power = decay ** torch.arange(4000)[:, None]
split = ((q * power) @ (k / power).mT / 8**0.5).tril() @ v
close = torch.isclose(split, right, rtol=1e-3, atol=1e-3).all(-1).flatten()
print("first token that is off:", int((~close).int().argmax()))
print("first power that is infinite: 0.9 ** -", int((1 / power).isinf().int().argmax()))
late = torch.exp2(torch.arange(4000) * math.log2(32 / 31)).isinf()  # an age of the wrong sign
print("the power first, the mask second: NaN from", int(late.int().argmax()) + 1, "tokens on")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Up to about 800. $0.9^{-842}$ is $3\cdot 10^{38}$, all that float32 can hold; beyond it one factor is infinite, the other 0, and their product is not a number. The power of the *difference* is never above 1, if the mask comes first. In the library flash-linear-attention, `naive_retention` raises to the power before it masks the upper triangle. At the decay of its first head, $\frac{31}{32}$, the masked entries are infinite from 2,796 tokens on<!-- shown: 2796 -->, and infinity times 0 is NaN.

</details>
"""

# %% [markdown]
r"""
## 3. In chunks

The loop takes $L$ small steps; the table has $L^2$ entries. The third form combines the best of both: cut the text into chunks. Inside a chunk use the table; what came before is in the state.

For token $t$ of a chunk of $T$, counted from 0:

- inside: as in section 2, over the chunk's own tokens;
- from the past: $\gamma^{t+1}\, q_t^\top S/\sqrt{d_k}$;
- afterwards: $S \leftarrow \gamma^{T} S + \sum_t \gamma^{\,T-1-t}\, k_t v_t^\top$.

**Predict.** Why $t + 1$, and not $t$?
"""

# %% mystnb={"image": {"alt": "Three lower triangles of sixteen tokens. Left, the whole table of fades. Middle, the same cut into chunks of four: only the four small triangles on the diagonal are filled. Right, what is left out of them, a staircase below the diagonal: it is read from the state, one state for each chunk."}}
ages = torch.arange(16)[:, None] - torch.arange(16)
whole = 0.9 ** ages.clamp(min=0) * (ages >= 0)
inside = torch.block_diag(*[torch.ones(4, 4)] * 4)
tables = {
    "the whole table": whole,
    "inside the chunks": whole * inside,
    "from the state": whole * (1 - inside),
}
figure, grid = plt.subplots(1, 3, figsize=(plotting.WIDTH, 2.6))
plotting.headline(figure, "Chunks keep the diagonal; the state has the rest")
for axes, (name, table) in zip(grid, tables.items(), strict=True):
    axes.imshow(table, cmap="cividis", vmin=0, vmax=1)
    axes.set(xticks=[], yticks=[], xlabel="token that wrote")
    axes.spines[:].set_visible(True)
    axes.set_title(name, fontsize=11, loc="center")
_ = grid[0].set_ylabel("token that reads")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The state was left by the token *before* the chunk. When the chunk's first token reads, it has faded once.

</details>

### Exercise: `retention_chunk`

*Difficulty · importance · minutes*

Write `retention_chunk(query, key, value, decay, state) -> (out, state)`.

- Shapes and `decay` as before (a decay may be 1), with $T \ge 1$ tokens; `state` is `(B, H, d_k, d_v)`, zeros at the start.
- The factor $1/\sqrt{d_k}$ is in the output, never in the state.
- Return a new state; leave the given one as it was.

$T = 1$ must be the loop's step, and one chunk from zeros `retention_parallel`.
"""


# %% exercise="retention_chunk"
def retention_chunk(query, key, value, decay, state):
    """Return what a chunk reads from itself and from the past, and the state after it."""
    ### BEGIN SOLUTION: The table inside, the faded past, what the chunk leaves.
    length, rate = query.shape[-2], decay[:, None, None]
    place = torch.arange(length)
    query = query / query.shape[-1] ** 0.5
    faded = (rate ** (place[:, None] - place).clamp(min=0)).tril()
    past = rate ** (place + 1)[:, None] * (query @ state)
    out = (query @ key.mT * faded) @ value + past
    until = rate ** (length - 1 - place)[:, None]
    return out, rate**length * state + key.mT @ (until * value)
    ### END SOLUTION


# %%
check("retention_chunk", retention_chunk)
# hint("retention_chunk")

# %% [markdown]
r"""
Three forms, one function? And is the same true of the mechanisms that follow?

- **The gated delta rule.** What a token writes depends on what its key finds, and so on what the tokens before it in the chunk have written. That is linear: the writes of a chunk are the unknowns of one *triangular system*, solved at once (Yang, Wang, Zhang et al., 2024). Without it the delta rule would have to be trained token by token.
- **The selective scan.** All chunks scan their own tokens side by side, each from a state of zeros. Then their last states are handed on.
"""

# %%
draw = normal(1)
q, k, v = draw(2, 3, 256, 16), draw(2, 3, 256, 16), draw(2, 3, 256, 8)
decay = torch.tensor([0.9, 0.97, 1.0], dtype=torch.float64)
whole = attention.retention_parallel(q, k, v, decay)
state, parts = q.new_zeros(2, 3, 16, 8), []
for chunk in zip(*(x.split(32, dim=-2) for x in (q, k, v)), strict=True):
    out, state = attention.retention_chunk(*chunk, decay, state)
    parts.append(out)
by_token = attention.retention_recurrent(q, k, v, decay)
print("retention, recurrent:  ", apart(by_token, whole))
print("retention, chunks of 32:", apart(torch.cat(parts, dim=-2), whole))
short = [x.float() for x in (q, k, v, decay)]
print("in float32:", apart(attention.retention_recurrent(*short).double(), whole))

# %%
k = F.normalize(k, dim=-1)
alpha, beta = (draw(2, 3, 256).sigmoid() for _ in range(2))
state, steps = q.new_zeros(2, 3, 16, 8), []
for t in range(256):
    token = (q[:, :, t], k[:, :, t], v[:, :, t], alpha[..., t], beta[..., t])
    out, state = attention.gated_delta_step(*token, state)
    steps.append(out)
whole = attention.gated_delta_rule(q, k, v, alpha, beta)
print("gated delta rule:", apart(torch.stack(steps, dim=-2), whole))
x, delta, A = draw(2, 256, 5), draw(2, 256, 5).exp(), -draw(5, 4).exp()
scan = (x, delta, A, draw(2, 256, 4), draw(2, 256, 4), draw(5))
print(
    "selective scan:  ",
    apart(attention.chunked_selective_scan(*scan), attention.selective_scan(*scan)),
)

# %% [markdown]
r"""
One function each, up to rounding. What differs is the time. A prompt of 512 to 4,096 tokens at 4 heads of 64, recorded in processor time:

**Predict.** By what factor are chunks faster than the loop at 4,096 tokens? Does it grow with the length?
"""

# %% guess={"name": "17.chunks", "kind": "number", "asks": "How many times as fast as the loop are chunks, for retention and a prompt of 4,096 tokens?", "low": 1, "high": 1000, "log": true, "reads": "retention: chunks are {_}, {} at 4,096"}
guess("17.chunks")

# %%
cost = measure.read_record("chapter_17_cost")
lengths = cost["settings"]["lengths"]
print("milliseconds at  ", *(f"{n:>8,}" for n in lengths), " exponent")
for one in cost["prompts"]:
    taken = " ".join(f"{ms:8.1f}" for ms in one["milliseconds"])
    print(f"{one['form']:27} {taken}  {one['exponent']:.2f}")
spent = {one["form"]: one["milliseconds"] for one in cost["prompts"]}
for name in ("retention", "gated delta", "scan"):
    both = zip(spent[f"{name}, token by token"], spent[f"{name}, in chunks"], strict=True)
    short, *_, long = (loop / chunks for loop, chunks in both)
    print(f"{name}: chunks are {short:.1f} times as fast at 512 tokens, {long:.1f} at 4,096")

# %% [markdown]
r"""
<details><summary>Answer</summary>

8.5 times for retention and 11.8 for the delta rule<!-- shown: 8.5 11.8 -->. At 512 tokens it is 9.4 and 8.7<!-- shown: 9.4 8.7 -->: about ten times at either length, since both forms are linear in it. The selective scan gains less, 1.6 times<!-- shown: 1.6 -->. (Its chunks hold $n$ numbers per channel for *every* token, where the others hold one matrix per chunk. Whether that is the cause was not measured.)

Softmax attention grows with an exponent of 1.74<!-- shown: 1.74 -->. So: chunks for training and for a prompt, one step at a time for generating. The parallel form is a chunk as long as the text, and its table grows with the square.

</details>
"""

# %% [markdown]
r"""
## 4. Correct, do not add

The sum never takes anything away. A key that is written twice finds both values. The **delta rule** first looks up what the key finds, and writes only the difference:

$$S \leftarrow \alpha S, \qquad S \leftarrow S + \beta\, k\,(v - S^\top k)^\top, \qquad \text{out} = S^\top q$$

$\beta$ says how much is corrected, $\alpha$ how much of the past stays; both come from the token. With $\alpha = 1$ it is the rule of Schlag et al. (2021); with a gate it is Gated DeltaNet (Yang et al., 2025).

**Predict.** $|k| = 1$ and $\beta = 1$. What does $k$ find right after it was written?
"""

# %% [markdown]
r"""
<details><summary>Answer</summary>

$S^\top k + (v - S^\top k)(k\cdot k) = v$: exactly its value, whatever was there before. With a longer key it would overshoot, and that is one reason why these models scale keys to length 1.

</details>

### Exercise: `gated_delta_step`

*Difficulty · importance · minutes*

Write `gated_delta_step(query, key, value, alpha, beta, state) -> (out, state)` for one token.

- `query` and `key` are `(B, H, d_k)`, `value` is `(B, H, d_v)`, `alpha` and `beta` are `(B, H)`, `state` is `(B, H, d_k, d_v)`.
- First fade, then find and correct, then read: the token sees its own write.
- No scale; query and key are used as they are given.
"""


# %% exercise="gated_delta_step"
def gated_delta_step(query, key, value, alpha, beta, state):
    """Fade, correct what the key finds, and read."""
    ### BEGIN SOLUTION: Fade; what does the key find? Write the rest; read.
    faded = alpha[..., None, None] * state
    found = (key[..., None, :] @ faded)[..., 0, :]
    change = beta[..., None] * (value - found)
    state = faded + key[..., :, None] * change[..., None, :]
    return (query[..., None, :] @ state)[..., 0, :], state
    ### END SOLUTION


# %%
check("gated_delta_step", gated_delta_step)
# hint("gated_delta_step")

# %% [markdown]
r"""
Nothing is trained in the next experiment: it is the state that succeeds or fails. $N$ random keys of length 1 and $N$ random values go into one 64 × 64 state. Then each key asks, and an answer is right if its own value is the nearest of all.

**Predict.** At $N = 128$, twice the number of rows: which recalls more, the sum or the delta rule?
"""


# %%
def written(kind, key, value, fade=0.97):
    """Return a state after all pairs: the sum, the fading sum, or the delta rule."""
    state = key.new_zeros(key.shape[1], value.shape[1])
    for k, v in zip(key, value, strict=True):
        state = fade * state if kind == "fade" else state
        state = state + torch.outer(k, v - k @ state if kind == "delta" else v)
    return state


def right(read, value):
    """Return for each answer whether its own value is the nearest."""
    nearest = (F.normalize(read, dim=-1) @ F.normalize(value, dim=-1).mT).argmax(-1)
    return (nearest == torch.arange(len(value))).double()


print("right, mean of 4 draws  N = 32   64  128  256   of 128: newest half")
draw = normal(2)
pairs = {
    n: [(F.normalize(draw(n, 64), dim=-1), draw(n, 64)) for _ in range(4)]
    for n in (32, 64, 128, 256)
}
for kind in ("sum", "fade", "delta"):
    found = {n: torch.stack([right(k @ written(kind, k, v), v) for k, v in some]).mean(0)
             for n, some in pairs.items()}  # fmt: skip
    print(
        f"{kind:22}",
        *(f"{one.mean():8.2f}"[3:] for one in found.values()),
        f"{found[128][64:].mean():12.2f}",
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

The sum: 0.96, compared with 0.54<!-- shown: 0.96 0.54 -->. With up to 64 keys in 64 rows both do well. Then the delta rule forgets: of the newest half it still finds 0.89, so nearly all that is lost is old<!-- shown: 0.89 -->. The fading sum is the worst here, since it forgets by the clock even where there is room.

The delta rule does not simply "store more". Only the newest pair is exact: each later correction damages it a little, unless keys are orthogonal. The sum blurs all alike. A state of $d_k$ rows has room for $d_k$ orthogonal keys; of random keys it still names the right value for most, up to about that number.

</details>
"""

# %% [markdown]
r"""
And a cache, which keeps every pair? The same keys, now with softmax over all of them. The usual scale is $1/\sqrt{64} = \frac18$.

**Predict.** At $N = 128$, does softmax recall more than the sum's 0.96, or less? Which scale does it need?
"""

# %% guess={"name": "17.softmax", "kind": "number", "asks": "32 random keys of length 1 and width 64 are stored, and each asks once, with softmax at scale 1/8: what share of the answers is right?", "low": 0.01, "high": 1, "log": true, "reads": "softmax, scale 1/8 {}"}
guess("17.softmax")

# %%
print("right, and weight on the own key  N = 32        64       128       256")
for name, scale, length in (
    ("softmax, scale 1/8", 1 / 8, 1), ("softmax, scale 1", 1, 1), ("softmax, scale 2", 2, 1),
    ("softmax, scale 4", 4, 1), ("scale 1/8, keys of length 8", 1 / 8, 8),
):  # fmt: skip
    told = []
    for some in pairs.values():
        weights = [(scale * (length * k) @ (length * k).mT).softmax(-1) for k, _ in some]
        hits = [right(w @ v, v).mean() for w, (_, v) in zip(weights, some, strict=True)]
        own = torch.stack([w.diagonal().mean() for w in weights]).mean()
        told.append(f"{sum(hits) / 4:.2f} {own:.2f}")
    print(f"{name:29}", *told, sep="  ")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Hardly anything: 0.01, where the sum had 0.96<!-- shown: 0.01 -->. Keys of length 1 have scores between -1 and 1, and times $\frac18$ they are nearly equal: the own key gets 0.01 of the weight, and what comes out is close to the mean of all values. From a scale of 4 on softmax recalls everything, up to 256 pairs<!-- shown: 1.00 -->. So does $\frac18$ with keys of length 8, which is about the length of 64 standard normals.

Keeping everything is not enough: a cache recalls only as well as its softmax is *sharp*. Query-key normalisation (Henry et al., 2020), which scales both to length 1, therefore comes with a learned scale.

</details>

**Predict.** 32 keys, each written twice, with another value the second time. How often does the sum answer with the new value?
"""

# %%
draw = normal(3)
key = F.normalize(draw(32, 64), dim=-1)
old, new = draw(32, 64), draw(32, 64)
for kind in ("sum", "fade", "delta"):
    read = key @ written(kind, key.repeat(2, 1), torch.cat((old, new)))
    answer = right(torch.cat((read, read)), torch.cat((old, new)))
    old_share, new_share = answer.view(2, 32).mean(1)
    print(f"{kind:6} the old value {old_share:.2f}, the new one {new_share:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

About half of the time: 0.47, and the old one 0.53<!-- shown: 0.47 0.53 -->. Both values are in it, equally strong. The delta rule has **overwritten** the old value. The fading sum answers with the new one as well, only because it is newer.

</details>

Now by hand. Add pairs one by one, choose a key to ask for it, and write it again with another value. Change the memory and its width.

**Predict**, before you try: with the delta rule and $d = 4$, how many keys are still right after eight pairs? Which ones?
"""

# %%
opening

# %% [markdown]
r"""
<details><summary>Answer</summary>

Three: d, e and h, about as many as the state has rows. The newest, h, is exact; a, b and c are lost. The sum has four of the eight right, and none of them exactly. The fading sum prefers the newest too, but for another reason: it forgets with every step, the delta rule through interference between keys.

The cache has all of them, until a key is written twice: it then holds both values, and nothing in it says which is newer. That is what positions are for.

</details>
"""

# %% [markdown]
r"""
## 5. The token sets the step

A **state space model** comes from another direction: each channel $x$ drives $n$ numbers $h$, $\dot h = A h + B x$ with $A < 0$. With $x$ held constant for a step $\Delta$, Mamba (Gu and Dao, 2023) turns this into

$$h_t = e^{\Delta_t A} \circ h_{t-1} + (\Delta_t x_t)\, B_t, \qquad y_t = C_t \cdot h_t + D\, x_t$$

Fade, write, read. **Selective** means that $\Delta$, $B$ and $C$ come from the token.

**Predict.** What does a token with a $\Delta$ near 0 do? And one with a large $\Delta$?
"""

# %%
value = torch.tensor([3.0, 5.0, 7.0, 9.0])
for name, steps in (
    ("all 1", (1, 1, 1, 1)),
    ("the 5 small", (1, 0.01, 1, 1)),
    ("the 7 large", (1, 1, 8, 1)),
):
    h, path = 0.0, []
    for x, delta in zip(value, steps, strict=True):
        h = torch.exp(torch.tensor(-0.5 * delta)) * h + delta * x
        path.append(f"{float(h):6.2f}")
    print(f"step {name:12}: state", *path)

# %% [markdown]
r"""
<details><summary>Answer</summary>

With $\Delta \approx 0$ the fade is 1 and nothing is written: the token is **ignored**. The state was 3.00 before the 5 and is 3.04 after it<!-- shown: 3.00 3.04 -->. With a large $\Delta$ the past fades away ($e^{-4} = 0.02$ of it is left) and the token takes its place. So the model chooses, token by token, between keeping and replacing: a gate.

</details>
"""

# %% [markdown]
r"""
### Exercise: `selective_scan`

*Difficulty · importance · minutes*

Write `selective_scan(x, delta, A, B, C, D) -> y`.

- `x` and `delta` are `(batch, L, d)`, `A` is `(d, n)` and negative, `B` and `C` are `(batch, L, n)`, `D` is `(d,)`; the result is `(batch, L, d)`.
- `delta` is positive already. Before the first token $h$ is 0.
- Exact for $A$, Euler for $B$: that is Mamba's own rule. Do not divide by a running product: it reaches 0.
"""


# %% exercise="selective_scan"
def selective_scan(x, delta, A, B, C, D):
    """Return what each channel reads from its own small state."""
    ### BEGIN SOLUTION: What does each channel keep, and what does each token do to it?
    h, out = torch.zeros_like(x[:, 0, :, None] * A), []
    for t in range(x.shape[1]):
        step = delta[:, t, :, None]
        h = torch.exp(step * A) * h + step * x[:, t, :, None] * B[:, t, None, :]
        out.append((h * C[:, t, None, :]).sum(-1))
    return torch.stack(out, dim=1) + D * x
    ### END SOLUTION


# %%
check("selective_scan", selective_scan)
# hint("selective_scan")

# %% [markdown]
r"""
Why the exponential, when $1 + \Delta A$ is so much simpler? $A = -1$, a constant input of 1, 50 steps. The true answer settles at 1.

**Predict.** Above which $\Delta$ does Euler's rule diverge?
"""

# %%
ones = torch.ones(1, 50, 1, dtype=torch.float64)
A, B, D = -torch.ones(1, 1).double(), ones, torch.zeros(1).double()
for delta in (0.1, 1.0, 1.9, 2.1, 3.0):
    mamba = attention.selective_scan(ones, delta * ones, A, B, B, D)[0, -1, 0]
    h = 0.0
    for _ in range(50):
        h = (1 - delta) * h + delta
    print(f"Δ = {delta}: exp(ΔA) settles at {mamba:.2f}, 1 + ΔA is at {h:.3g}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Above 2: there $|1 - \Delta|$ is above 1, and each step makes the error larger<!-- shown: -116 -->. $e^{\Delta A}$ is between 0 and 1 for every $\Delta$. It settles at $\Delta/(1 - e^{-\Delta})$ and not at 1, because only $A$ is treated exactly. Training can make up for that factor, but not for divergence. (Mamba's paper prints the exact rule for $B$ as well; its code has this one.)

</details>

**What selecting costs.** If $\Delta$, $B$ and $C$ are the same for every token, token $t - s$ always reaches token $t$ by the same factor $K_s = C \cdot (e^{s\Delta A} \circ \Delta B)$. The loop is then one long convolution, and S4 (Gu et al., 2022) is trained so. **Predict.** Can a selective model be?
"""

# %%
draw = normal(11)
x, A, B, C = draw(1, 40, 3), -draw(3, 4).exp(), draw(4), draw(4)
fixed = (0.2 * torch.ones(1, 40, 3).double(), A, B.expand(1, 40, 4), C.expand(1, 40, 4))
by_loop = attention.selective_scan(x, *fixed, torch.zeros(3).double())
kernel = ((0.2 * A * torch.arange(40)[:, None, None]).exp() * 0.2 * B * C).sum(-1)
turned = kernel.T.flip(-1)[:, None]
by_convolution = F.conv1d(F.pad(x.mT, (39, 0)), turned, groups=3).mT
print("steps all alike, as one convolution:", apart(by_convolution, by_loop))

# %% [markdown]
r"""
<details><summary>Answer</summary>

No: with a step of its own, each token would need a kernel of its own. That is why Mamba needs the scan.

</details>

What was built here is the scan. A Mamba layer has more around it: linear layers that make $\Delta$, $B$ and $C$ from the token, a convolution over four neighbours before, and a gate after the scan (section 11).
"""

# %% [markdown]
r"""
## 6. Who recalls what

Chapter 08's task: pairs of key and value, then each key once more, and the model must name its value. Two layers of width 64, the same number of parameters for all, 1,000 steps on lists of 2 to 16 pairs. Parameters that a mixer saves go to its feed-forward layer.

Three things to know before comparing with papers. Every layer first blends each token with the one before it, the *short convolution* of Arora et al. (2024): that is where a value meets its key. No model encodes positions. And nothing follows the heads: the published retention layer has a norm and a gate there, so what is judged here is its mixing alone. Section 11 adds both.
"""

# %% [markdown]
r"""
First a small change, live. Gated DeltaNet sends query and key through SiLU, $x\,\sigma(x)$, and then scales them to length 1. Retention in four versions: with neither, with one of the two, and with both.

**Predict.** Which of the two changes makes retention recall, or does it need both?
"""


# %% guess={"name": "17.change", "kind": "choice", "asks": "Which of the two changes, made alone, lets retention recall more of 4 pairs after 400 steps?", "take": "largest", "options": {"query and key scaled to length 1": "length 1 {}", "SiLU on query and key": "SiLU {}"}}
guess("17.change")


# %%
def trained(kind, steps=400):
    """Return a retention model after a short training."""
    torch.manual_seed(0)
    model = RecallModel(kind, 4)
    bar = partial(tqdm, ncols=70, mininterval=1, file=sys.stdout, desc=kind)
    train_recall(model, steps=steps, seed=0, progress=bar)
    return model


# %% tags=["nbval-ignore-output"] reason="the bar shows the time"
live = {"neither": trained("raw retention"), "length 1": trained("unit retention")}

# %% tags=["nbval-ignore-output"] reason="the bar shows the time"
live |= {"SiLU": trained("SiLU retention"), "both": trained("retention")}

# %%
print("400 steps, pairs:   4    16    32")
for kind, model in live.items():
    shares = judge_recall(model, (4, 16, 32)).values()
    print(f"{kind:16}", *(f"{share:5.1f}" for share in shares))

# %% [markdown]
r"""
<details><summary>Answer</summary>

SiLU does: 0.5 of 4 pairs, and 0.8 with both<!-- shown: 0.5 0.8 -->. Length 1 alone changes nothing, 0.3 as without, which is about a guess among the values of the list<!-- shown: 0.3 -->. It is tempting to say that a long key is written strongly and read strongly, and that a state has no softmax to even this out. The run (one seed, 400 steps) says otherwise: the length helps only a model that has SiLU already. The record below has all four after 1,000 steps.

SiLU is hardly ever negative, as the feature map of linear attention is by design (chapter 08). Whether it is the sign that matters was not measured.

</details>
"""

# %% [markdown]
r"""
Now the record: every kind, at 1,000 steps, two or three seeds each. The last column gives the lowest and the highest share of 64 pairs that any seed recalls.

**Predict.** The delta rule keeps 64²/H numbers per layer: 4,096 with one head, 1,024 with 4, 256 with 16. A state of $d_k$ rows has room for $d_k$ orthogonal keys, and 4 heads have 16 rows each. What becomes of lists of 16 pairs, and of 64?
"""


# %%
def rows(record, steps=1000):
    """Return what each model recalls, a row for each of its seeds."""
    runs = {}
    for run in measure.read_record(record)["runs"]:
        if run.get("steps", 1000) == steps:
            runs.setdefault(run["model"], []).append(list(run["recalled"].values()))
    return {name: torch.tensor(found) for name, found in runs.items()}


def kept(name):
    """Return how many numbers a layer keeps: a matrix of d_k × d_v for each head, or other."""
    other = {
        "full, 4 heads": "2 · 64 n",
        "linear, 4 heads": "1,088",
        "linear, 1 head": "4,160",
        "gated delta, then softmax": "1,024 + cache",
        "WKV": "192",
        "SSM, 16 per channel": "1,024",
    }
    heads = re.search(r"(\d+) head", name)
    return other.get(name) or f"{64 * 64 // int(heads[1]):,}"


# %% guess={"name": "17.pairs", "kind": "curve", "asks": "What share of each list does the delta rule with 4 heads recall, each with a state of 16 × 16 numbers, after 1,000 steps on lists of 2 to 16 pairs?", "low": 0, "high": 1, "x": [4, 16, 32, 64], "across": "pairs asked for", "reads": "the delta rule with 4 heads, {x} pairs: {}"}
guess("17.pairs")

# %%
before, now = rows("chapter_08_recall"), rows("chapter_17_recall")
chosen = {name: before[name] for name in ("full, 4 heads", "linear, 4 heads", "linear, 1 head")}
print(f"{'':31}{'state':>10}     4    16    32    64  seeds at 64")
for name, found in (chosen | now).items():
    shares = " ".join(f"{x:5.2f}" for x in found.mean(0))
    least, most = found[:, -1].aminmax()
    print(f"{name:31}{kept(name):>14} {shares}  {least:.2f}–{most:.2f}")
for pairs, share in zip((4, 16, 32, 64), now["delta, 4 heads"].mean(0), strict=True):
    print(f"the delta rule with 4 heads, {pairs} pairs: {share:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Of 16 pairs one head recalls all, four recall 0.95, sixteen 0.11<!-- shown: 1.00 0.95 0.11 -->; of 64 pairs 0.80, 0.44 and 0.05<!-- shown: 0.80 0.44 0.05 -->. More rows per head recall more, but are no ceiling: four heads of 16 name 28 of 64 pairs. Why sixteen heads recall so little: see below. Also:

- One softmax layer of two restores everything, at half the cache.
- SiLU moves retention from 0.12 to 0.91 at 16 pairs; length 1 alone leaves it at 0.12; both together give 0.98<!-- shown: 0.12 0.91 0.98 -->. That is nearly as much as the largest difference between mechanisms.
- The size of the state does not decide alone. With 1,024 numbers the SSM recalls 0.08 of 16 pairs, the delta rule 0.95<!-- shown: 0.08 0.95 -->. And room does not help what has faded: at 64 pairs retention recalls 0.43 with 4 heads, 0.31 with one of 4,096 numbers<!-- shown: 0.43 0.31 -->, whose one decay is the fastest.

</details>
"""

# %% mystnb={"image": {"alt": "Five lines of the share recalled against 4, 16, 32 and 64 pairs. The hybrid stays at 1. The delta rule with one head falls to 0.8, with four heads to 0.44. With sixteen heads it begins at 0.26 after 1,000 steps and at 0.61 after 3,000, and both fall below 0.1."}}
title = "The delta rule: more rows per head, more pairs;\nsixteen heads are still learning"
axes = plotting.new_figure(title, "pairs asked for", "share recalled")
plotting.power_axis(axes, (4, 16, 32, 64))
later = rows("chapter_17_recall", steps=3000)["delta, 16 heads"]
shown = {
    "gated delta, then softmax": ("pink", (13, 1.07)),
    "delta, 1 head": ("blue", (42, 0.72)),
    "delta, 4 heads": ("orange", (8, 0.79)),
    "delta, 16 heads": ("green", (4.3, 0.07)),
}
for name, (color, place) in shown.items():
    plotting.line(axes, (4, 16, 32, 64), now[name].mean(0), name, color, place, "o-")
longer = (4, 16, 32, 64), later.mean(0), "the same, 3,000 steps", "green", (8, 0.53)
plotting.line(axes, *longer, "o--")
_ = axes.set(xlim=(3.6, 100), ylim=(0, 1.15))
draw_guess(axes, "17.pairs")

# %% [markdown]
r"""
The delta rule with 16 heads, WKV and the SSM look hopeless. Is it their state that fails, or their training?

**Predict.** A model that names any of the 64 values at random has a loss of $\ln 64 = 4.16$. One that names any value of the list has $\ln n$, which over lists of 2 to 16 pairs is $\ln(16!)/15 = 2.04$ on average. Which of these do the three reach in 1,000 steps? And what does training for 3,000 change?
"""

# %%
runs = measure.read_record("chapter_17_recall")["runs"]
for name, steps in product(("delta, 16 heads", "WKV", "SSM, 16 per channel"), (1000, 3000)):
    some = [one for one in runs if (one["model"], one["steps"]) == (name, steps)]
    print(f"{name}, {steps:,} steps, seeds", *(one["seed"] for one in some))
    print("  loss, last 50 steps ", *(f"{one['last_loss']:.2f}" for one in some))
    print("  recalled of 4 pairs ", *(f"{one['recalled']['4']:.2f}" for one in some))

# %% [markdown]
r"""
<details><summary>Answer</summary>

After 1,000 steps all three are at the second or above: at best they know which values are in the list, and of 4 pairs they get right about one, as guessing would.

- **The delta rule with 16 heads** has begun after 3,000, with both seeds: a loss of 1.53 and 1.59, 0.65 and 0.57 of 4 pairs instead of 0.27<!-- shown: 1.53 1.59 0.65 0.57 0.27 -->. So its line in the figure shows a training that has only begun, not the limit of a state.
- **WKV** stays at the second even after 3,000, and still guesses<!-- shown: 1.99 1.96 2.03 0.23 0.28 0.25 -->.
- **The SSM** is slower. After 3,000 steps two seeds are where WKV was after 1,000<!-- shown: 2.33 2.29 0.27 -->; one recalls 0.48 of 4 pairs<!-- shown: 0.48 -->.

What another learning rate would do was not tried. A model that has not begun to learn tells nothing about its state.

</details>
"""

# %% [markdown]
r"""
**Find the error.** Text D says of RWKV: "Competitive performance on language tasks", and of Mamba: "Strong results on long-range tasks". What would you have to know to check them?

<details><summary>Answer</summary>

Which tasks, the size, the budget, and competitive with what. On *this* task, at *this* width and *this* budget, WKV and the SSM recall little. That is not a verdict on language models, where the published comparisons are of other sizes and other tasks, nor on later RWKVs, whose state is a matrix; and lists of 64 pairs are short. What is right without a doubt in text D is that both are linear in the length: each token costs the same, however long the text (section 7).

</details>
"""

# %% [markdown]
r"""
## 7. What a token costs

A new token after a long text: a cache must be read from end to end, a state has one size. Recorded: processor time of one layer's mixing, 4 heads of 64.

**Predict.** From how many tokens on is a state smaller than the cache? And faster?
"""

# %% guess={"name": "17.cache", "kind": "curve", "asks": "How long does softmax attention take for one more token, with 4 heads of 64 on one core, after so many tokens?", "low": 1, "high": 1000000, "log": true, "unit": "µs", "x": [16, 64, 256, 1024, 4096, 16384, 65536], "across": "tokens before it", "reads": {"record": "chapter_17_cost", "where": {"mechanism": "softmax"}, "value": "microseconds", "by": "position"}}
guess("17.cache")

# %%
for one in cost["runs"]:
    where = "at any length"
    if "position" in one:
        where = f"after {one['position']:6,} tokens"
    kept = f"{4 * one['numbers'] / 1024:11,.0f} KiB"
    print(f"{one['mechanism']:20} {where:20} {kept} {one['microseconds']:10,.0f} µs")
softmax = [one for one in cost["runs"] if one["mechanism"] == "softmax"]
slope = measure.fit_exponent(
    [s["position"] for s in softmax[-4:]], [s["microseconds"] for s in softmax[-4:]]
)
print(f"softmax, from 1,024 tokens on: time grows as n^{slope:.2f}")

# %% mystnb={"image": {"alt": "Microseconds for one token against the tokens before it, both logarithmic. Softmax over a cache rises from 8 at 16 tokens to about 12,000 at 65,536. Two flat lines, the delta rule and retention, lie at 72 and 42; softmax crosses them between 256 and 1,024 tokens."}}
title = "A cache costs more with every token,\na state does not"
axes = plotting.new_figure(title, "tokens before it", "microseconds for one token")
places = [one["position"] for one in softmax]
plotting.power_axis(axes, places)
taken = [one["microseconds"] for one in softmax]
plotting.line(axes, places, taken, "softmax", "green", (2_000, 4_000), "o-")
shown = {"gated delta": ("orange", 115), "retention": ("blue", 26)}
flat = {one["mechanism"]: one["microseconds"] for one in cost["runs"] if "position" not in one}
for name, (color, height) in shown.items():
    plotting.line(axes, places, [flat[name]] * 7, name, color, (14_000, height))
axes.set_yscale("log")
draw_guess(axes, "17.cache")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Smaller from 32 tokens on. Faster, for retention, between 256 and 1,024; a step of the delta rule takes as long as a cache of 1,024. At 65,536 tokens the cache is 128 MiB per layer, and reading it takes more than a hundred times as long as any state<!-- shown: 131,072 -->. From 4,096 to 16,384 it grows elevenfold: it has probably outgrown the processor's own memory.

Why 32: a cache holds $2\cdot 256$ numbers per token, a state of 4 heads $4\cdot 64\cdot 64$. They are equal at $d_k d_v/(d_k + d_v)$ tokens, for any number of heads.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** A hybrid has one softmax layer in four. How much of a full cache does it hold at a million tokens?

- A. Almost nothing: most layers have a state.
- B. A quarter.
- C. The same: one layer with a cache needs all tokens.

<details><summary>Answer</summary>

- A forgets that the fourth layer's cache grows all the same.
- **B is right**; the states of the other layers hardly count.
- C: *that layer* needs all tokens, the other three keep none.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 8. Experts

A state saves memory per token. A **mixture of experts** saves work per parameter: many feed-forward layers, and a router that sends each token to a few of them,

$$\text{out} = \sum_i g_i(x)\, \mathrm{Expert}_i(x)$$

**Find the error.** Text D gives this formula, for modules of attention, and promises "Conditional computation" and "Increased capacity without proportional cost". What is missing?

<details><summary>Answer</summary>

That $g$ is 0 for all experts but $k$. A softmax over the experts is never 0: with one, every expert runs for every token, and the sum costs as much as a dense layer of all parameters.

</details>
"""

# %% [markdown]
r"""
**Predict.** Logits $(2, 0, 1)$ and $k = 2$. Which experts, and with which gates, if these are a softmax over the chosen ones?

### Exercise: `route_top_k`

*Difficulty · importance · minutes*

Write `route_top_k(logits, k) -> (index, gates)`.

- `logits` is `(N, E)`; both results are `(N, k)`, the largest logit first.
- The gates are the softmax over the chosen logits alone; each row sums to 1.
"""


# %% exercise="route_top_k"
def route_top_k(logits, k):
    """Return the experts of each token, the likeliest first, and their gates."""
    ### BEGIN SOLUTION: Take the k largest; a softmax over those alone.
    chosen, index = logits.topk(k, dim=-1)
    return index, chosen.softmax(dim=-1)
    ### END SOLUTION


# %%
check("route_top_k", route_top_k)
# hint("route_top_k")

# %%
index, gates = attention.route_top_k(torch.tensor([[2.0, 0.0, 1.0]]), 2)
print("experts", index[0].tolist(), "gates", *(f"{gate:.2f}" for gate in gates[0]))

# %% [markdown]
r"""
Experts 0 and 2, with 0.73 and 0.27<!-- shown: 0.73 0.27 -->. With $k = 1$ the only gate is 1, whatever the logit: such a router learns nothing from the task. Switch (Fedus et al., 2022), which chooses one, therefore keeps the probability from the softmax over *all* as its gate.

### Exercise: `mix_experts`

*Difficulty · importance · minutes*

Write `mix_experts(x, experts, index, gates) -> out`.

- `x` is `(N, d)`; `experts` is a list of functions from rows to rows, `(n, d) -> (n, d)`, a single row included; `index` and `gates` are `(N, k)`.
- $\text{out}_n = \sum_j \text{gates}_{nj}\, \mathrm{experts}[\text{index}_{nj}](x_n)$. No expert appears twice in the same row of `index`; the gates are used as given.
- An expert gets exactly the rows that chose it: this is checked too. With no rows it need not be called.
"""


# %% exercise="mix_experts"
def mix_experts(x, experts, index, gates):
    """Send each row to its experts, and add what comes back."""
    ### BEGIN SOLUTION: For each expert: which rows chose it? Add its share.
    out = torch.zeros_like(x)
    for number, expert in enumerate(experts):
        rows, place = (index == number).nonzero(as_tuple=True)
        if len(rows):
            share = gates[rows, place][:, None]
            out = out.index_add(0, rows, share * expert(x[rows]))
    return out
    ### END SOLUTION


# %%
check("mix_experts", mix_experts)
# hint("mix_experts")

# %% [markdown]
r"""
**Predict.** Eight experts of width 32 on 512 rows of 16 numbers. By what factor does top-1 cost less than all eight? And top-2?
"""

# %%
torch.manual_seed(0)
layers = Experts(1)
x = torch.randn(512, 16)
for k in (8, 2, 1):
    index, gates = attention.route_top_k(layers.router(x), k)
    mixed = partial(attention.mix_experts, x, list(layers.experts), index, gates)
    print(f"top-{k}: {measure.count_flops(mixed):>10,} FLOP")

# %% [markdown]
r"""
<details><summary>Answer</summary>

By 8 and by 4, exactly: 1,048,576 compared with 8,388,608<!-- shown: 1,048,576 8,388,608 -->. The parameters are the same. So a mixture takes the memory of all its parameters and the arithmetic of its active ones, and a published size that does not say which of the two it counts says little. Switch uses one expert per token, GLaM (Du et al., 2022) two; PaLM and Chinchilla are dense. Text E lists all four under "Architectural Innovations".

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 9. Keep the experts busy

Points of eight kinds, each mapped by a matrix of its own, and eight experts. Nothing says which expert should take which kind.

**Predict.** Without any further loss, will each expert find a kind of its own?

The usual remedy is the **balance loss** $E\sum_e f_e P_e$: $f_e$ is the share of choices that fell on expert $e$, $P_e$ the mean probability that the router gave it.

### Exercise: `load_balance_loss`

*Difficulty · importance · minutes*

Write `load_balance_loss(logits, index) -> loss`.

- `logits` is `(N, E)`, `index` is `(N, k)`; the result has no axes.
- Shares are of all N·k choices; probabilities are the softmax over all experts.
- Even use gives 1. The gradient flows through $P$ alone: counts have none.
"""


# %% exercise="load_balance_loss"
def load_balance_loss(logits, index):
    """Return 1 for even use of the experts, and more for uneven use."""
    ### BEGIN SOLUTION: Shares, mean probabilities; E times the sum of products.
    num_experts = logits.shape[-1]
    shares = torch.bincount(index.flatten(), minlength=num_experts) / index.numel()
    return num_experts * (shares * logits.softmax(dim=-1).mean(dim=0)).sum()
    ### END SOLUTION


# %%
check("load_balance_loss", load_balance_loss)
# hint("load_balance_loss")

# %% [markdown]
r"""
Recorded: 800 steps, three seeds. *Dropped* is the share of choices that would not fit, if each expert had room for 1.25 times an even share.
"""

# %% guess={"name": "17.idle", "kind": "number", "asks": "One expert per point and no balance loss: how many of the eight experts are idle after 800 steps, a mean of three seeds?", "low": 0, "high": 8, "unit": "experts", "reads": {"record": "chapter_17_experts", "where": {"model": "top-1, no balance loss"}, "value": "idle"}}
guess("17.idle")

# %%
found = {}
for run in measure.read_record("chapter_17_experts")["runs"]:
    found.setdefault(run["model"], []).append(run)
print(f"{'mean of three seeds':24} error  balance dropped  idle experts")
for name, some in found.items():
    mean = {
        key: sum(run[key] for run in some) / len(some)
        for key in some[0]
        if key not in ("model", "seed")
    }
    more = (
        f"{mean['balance']:8.2f} {mean['dropped']:7.0%} {mean['idle']:8.1f}"
        if "idle" in mean
        else ""
    )
    print(f"{name:24} {mean['error']:.3f} {more}")

# %% tags=["nbval-ignore-output"] reason="the bar shows the time"
torch.manual_seed(0)
task, model = ExpertTask(0), Experts(1)
bar = partial(tqdm, ncols=70, mininterval=1, file=sys.stdout)
losses = expert_task.train_experts(model, task, balance=0.01, steps=400, progress=bar)

# %%
judged = expert_task.judge_experts(model, task)
x, _, kind = task.draw(2000, torch.Generator().manual_seed(2))
_, _, index = model(x)
table = torch.bincount(8 * kind + index[:, 0], minlength=64).view(8, 8)
share = table / table.sum(1, keepdim=True)
print(f"error {judged['error']:.3f}, balance {judged['balance']:.2f} after 400 steps")
print("largest share of each kind in one expert:", *(f"{one:.0%}" for one in share.amax(1)))

# %% mystnb={"image": {"alt": "A map of eight kinds of points against eight experts. Most rows have one bright square, a few have two of about a half."}}
figure, axes = plt.subplots(figsize=(4.6, 3.8))
plotting.headline(figure, "Most kinds found one expert")
drawn = axes.imshow(share, cmap="cividis", vmin=0, vmax=1)
axes.set(xlabel="expert", ylabel="kind of point", xticks=range(8), yticks=range(8))
_ = figure.colorbar(drawn, label="share of the kind")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Not without the loss. With one expert per point nearly three of eight stand idle, and 27% of the choices would overflow<!-- shown 3: 2.7 27% -->. With two experts per point none is idle even without it<!-- shown 3: 0.0 -->. What does idleness cost? No error here: 0.038 with the loss and without<!-- shown 3: 0.038 -->. It costs parameters that nobody uses, and where each expert has room for only so many tokens, the 27%. A coefficient of 1 doubles the error<!-- shown 3: 0.078 -->. A dense layer of the active size has three times the error; one of the total size is no better for eight times the work<!-- shown 3: 0.117 0.046 -->.

After 400 steps most kinds have one expert, some are split between two: the loss counts choices, not kinds. Eight experts suit this task by design.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 10. A softmax that fades: WKV

RWKV-4 (Peng et al., 2023) keeps the softmax and drops the query from it. (Its *receptance*, a sigmoid of the token, multiplies the output afterwards: it gates what is read, but does not choose.) In each channel, with $k_i$ and $v_i$ of the tokens so far,

$$\text{out}_t = \frac{\sum_{i<t} e^{\,k_i - (t-1-i)w}\, v_i + e^{\,u + k_t}\, v_t}{\text{the same without } v}$$

$w \ge 0$ is the channel's decay, $u$ a **bonus** for the token itself, which never enters the state. The newest past token is read unfaded.

**Predict.** Two tokens with $k = 0$, values 1 and 3, $u = 0$. What comes out for the second, and does $w$ matter?

Numerator and denominator can overflow, so the state holds them divided by $e^{\text{top}}$, with $\text{top}$ the largest exponent: an online softmax (chapter 09).
"""

# %% [markdown]
r"""
### Exercise: `wkv_step`

*Difficulty · importance · minutes*

Write `wkv_step(key, value, decay, bonus, state) -> (out, state)` for one token.

- `key` and `value` are `(B, d)`, `decay` and `bonus` `(d,)`; `state` is `(numerator, denominator, top)`, each `(B, d)`, at the start (0, 0, -inf).
- Read first. Then the new top is the largest of $k_i - (t-i)w$ over all tokens $i \le t$, the new one included. The state is read as it is, and fades by $w$ only when the next token is written.
- Keys of ±10,000 are safe.

*Mind the fade.* The newest token enters the state with exponent $k_t$, and every older one has lost one more $w$.
"""


# %% exercise="wkv_step"
def wkv_step(key, value, decay, bonus, state):
    """Read the past and the token itself; fade the past, and add the token."""
    ### BEGIN SOLUTION: Read below a common top; fade the past and add the key.
    numerator, denominator, top = state
    largest = torch.maximum(top, bonus + key)
    past, own = (top - largest).exp(), (bonus + key - largest).exp()
    out = (past * numerator + own * value) / (past * denominator + own)
    largest = torch.maximum(top - decay, key)
    past, own = (top - decay - largest).exp(), (key - largest).exp()
    return out, (past * numerator + own * value, past * denominator + own, largest)
    ### END SOLUTION


# %%
check("wkv_step", wkv_step)
# hint("wkv_step")

# %%
draw = normal(4)
key, value, decay, bonus = draw(1, 40, 3), draw(1, 40, 3), draw(3).exp(), draw(3)
state = (
    torch.zeros(1, 3).double(),
    torch.zeros(1, 3).double(),
    torch.full((1, 3), -torch.inf).double(),
)
steps = []
for t in range(40):
    out, state = attention.wkv_step(key[:, t], value[:, t], decay, bonus, state)
    steps.append(out)
ages = torch.arange(40)[:, None] - torch.arange(40) - 1
power = key[:, None] - ages[None, :, :, None] * decay
power = torch.where(ages[None, :, :, None] < 0, bonus + key[:, None], power)
weights = power.masked_fill(ages[None, :, :, None] < -1, -torch.inf).softmax(dim=2)
print(
    "step by step and by the formula:",
    apart(torch.stack(steps, 1), (weights * value[:, None]).sum(2)),
)

# %% [markdown]
r"""
The second token of the question reads $(1 + 3)/2 = 2$, whatever $w$ is: the newest past token is not faded yet.

The weights sum to 1, as attention's do. But they depend on the key alone, not on who asks: every later token reads the past through the same weights. That is what a query is for, and RWKV's later versions, whose state is a matrix, have one.
"""

# %% [markdown] tags=["further"]
r"""
## 11. What stands around a state

Published stacks name a mixer that has not come up yet. **Mamba-2** (Dao and Gu, 2024) has heads, and of Mamba's matrix $A$ it keeps one number for each:

$$S \leftarrow e^{\Delta_t A}\, S + B_t\,(\Delta_t x_t)^\top, \qquad \text{out}_t = S^\top C_t$$

$A < 0$ is the head's number, and $\Delta_t > 0$ the token's step.

**Predict.** Call $B$ the key, $C$ the query and $\Delta x$ the value. Which row of section 1's table is this?
"""

# %%
draw = normal(12)
x, B, C = draw(1, 40, 6), draw(1, 40, 4), draw(1, 40, 4)
step, rate = F.softplus(draw(1, 40, 1)), -1.5 * torch.ones(6, 4).double()
scan = attention.selective_scan(x, step.expand(1, 40, 6), rate, B, C, torch.zeros(6).double())
fade = (-1.5 * step).exp().expand(1, 40, 4)  # the same for all four channels of the key
head = [part[:, None] for part in (C, B, step * x, fade)]
gated = attention.gated_linear_attention(*head)[:, 0]
print("a head of Mamba-2, as a scan and as gated linear attention:", apart(gated, scan))
even = torch.full((1, 40, 1), 0.2).double()  # all steps alike
scan = attention.selective_scan(x, even.expand(1, 40, 6), rate, B, C, torch.zeros(6).double())
head = [part[:, None] for part in (2 * C, B, even * x)]
retained = attention.retention_parallel(*head, (-1.5 * even[0, 0]).exp())[:, 0]
print("the same with equal steps, and as retention:", apart(retained, scan))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Gated linear attention, whose gate is one number per head instead of one per channel of the key. Where all steps are alike, it is retention (whose factor $1/\sqrt{d_k} = \frac12$ is undone in the cell).

Mamba gives each of its $d \cdot n$ numbers a fade of its own, and has to scan. With one fade per head, a chunk is a table of $T \times T$ fades and matrix products, as in section 3. Dao and Gu therefore afford larger states: Granite 4-H has 128 rows per head, Mamba 16 numbers per channel.

</details>
"""

# %% [markdown]
r"""
Three parts stand around nearly every published state:

- a **short convolution**, $\tilde x_t = \sum_{j=0}^{3} w_j \circ x_{t-j}$, over queries, keys and values, then SiLU. In LFM2 it is a layer's only mixing.
- a **norm** of each head's output: RMSNorm, as nothing else sets its size;
- an **output gate**: $\mathrm{norm}(\text{out}) \circ \mathrm{SiLU}(x W_g)$ in Gated DeltaNet and Qwen3-Next, a sigmoid instead in Kimi Linear.

Section 6 had the blend with the token before, and neither of the others. Recorded: the gated delta rule with 4 heads, each part alone, equal parameters, 1,000 steps, two seeds.

**Predict.** Without any neighbour, what does it recall of 4 pairs?
"""

# %% guess={"name": "17.neighbour", "kind": "number", "asks": "What share of 4 pairs does the gated delta rule recall after 1,000 steps, if no layer blends a token with the one before?", "low": 0, "high": 1, "reads": "no neighbour, 4 pairs: {}"}
guess("17.neighbour")

# %%
parts_record = measure.read_record("chapter_17_parts")["runs"]
found = {"gated delta, as in section 6": rows("chapter_17_recall")["gated delta, 4 heads"]}
found["raw retention, as in section 6"] = rows("chapter_17_recall")["retention, 4 heads, raw"]
for run in parts_record:
    name = run["model"] + (", 3,000 steps" if run["steps"] == 3000 else "")
    values = torch.tensor([list(run["recalled"].values())])
    found[name] = torch.cat((found[name], values)) if name in found else values


def show(*words):
    """Print what the models recall whose names end so; the mean of the seeds, and their range."""
    print(f"{'pairs':44}    4    16    64  seeds at 16")
    for name in sorted(name for name in found if name.endswith(words)):
        four, sixteen, _, most = found[name].mean(0)
        low, high = found[name][:, 1].aminmax()
        print(f"{name:44} {four:.2f}  {sixteen:.2f}  {most:.2f}  {low:.2f}–{high:.2f}")


show("delta, as in section 6", "no neighbour", "convolution of 4")
print(f"no neighbour, 4 pairs: {found['gated delta, no neighbour'][:, 0].mean():.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

0.27 of 4 pairs, as guessing would<!-- shown: 0.27 -->. Key and value are two tokens; without a convolution they do not meet here. Width 4 recalls 0.96 of 16 pairs, the blend 0.94<!-- shown: 0.96 0.94 -->; of 64, 0.35 and 0.44<!-- shown: 0.35 0.44 -->.

</details>

**Predict.** And norm and gate: do they help here? Does it matter which gate?
"""

# %% guess={"name": "17.gate", "kind": "number", "asks": "Its output goes through a gate, SiLU of a linear layer of the token. What share of 4 pairs does the gated delta rule recall after 1,000 steps?", "low": 0, "high": 1, "reads": "gated delta, gate {}"}
guess("17.gate")

# %%
show("section 6", "norm", "gate", "steps", "first")

# %% [markdown]
r"""
<details><summary>Answer</summary>

- **Norm**: no difference, 0.94<!-- shown: 0.94 -->. Raw retention stays at a guess with its published norm and gate, 0.13<!-- shown: 0.13 -->.
- **Gate**: with SiLU the model has not begun to learn, even after 3,000 steps<!-- shown: 0.28 -->; with a sigmoid it recalls 0.94, with norm and sigmoid 0.96. At first $x W_g$ is near 0, where SiLU lets nothing through and a sigmoid half. Is that the reason? With a bias that opens the SiLU gate at first, one seed learns, 0.89, and the other has just begun, 0.16<!-- shown: 0.89 0.16 -->: it is part of it.

Large models do train with SiLU gates. This is a verdict on this width, rate and budget alone.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 12. From a configuration to its cache

What a model keeps of each token can be read from its `config.json`, and so can how far each layer sees. Five families, with what they mean by a field that is left out:

| `model_type` | width of a head | `layer_types` |
|---|---|---|
| `llama` | `hidden_size` / `num_attention_heads` | all full, whatever `sliding_window` says |
| `qwen3` | 128 | all full; if `use_sliding_window` is true, the layers from number `max_window_layers` on (28) have the window |
| `gemma3_text` | 256 | the last of every `sliding_window_pattern` (6) is full, the others have the window |
| `gpt_oss` | 64 | window, full, window, full, … |
| `deepseek_v3` | latent attention | all full |
"""

# %% [markdown]
r"""
### Exercise: `cache_plan`

*Difficulty · importance · minutes*

Write `cache_plan(config, bytes_per_element=2) -> (bytes_per_token, reach)`.

- `config` is a dict as in `config.json`, of one of the five families; leave it unchanged. A field left out has its default; so has a null in `layer_types` or in Llama's fields. Layers count from 0.
- `reach` is a list: for each layer the number of tokens that a query sees, its own among them (`sliding_window`), or `None` for every earlier token.
- `bytes_per_token`: the growth of one sequence's cache with *one more* token of a text longer than all windows.
- A layer keeps a key and a value of `head_dim` numbers for each of `num_key_value_heads` (left out: as many as query heads); DeepSeek V3 keeps `kv_lora_rank` + `qk_rope_head_dim` numbers.
"""


# %% exercise="cache_plan"
def cache_plan(config, bytes_per_element=2):
    """Return the bytes by which the cache grows per token, and how many tokens each layer sees."""
    ### BEGIN SOLUTION: What does a layer keep of a token? Which layers have a window? Multiply.
    family, heads = config["model_type"], config["num_attention_heads"]
    own = {"qwen3": 128, "gemma3_text": 256, "gpt_oss": 64}
    width = config.get("head_dim") or own.get(family, config["hidden_size"] // heads)
    kept = 2 * (config.get("num_key_value_heads") or heads) * width
    if family == "deepseek_v3":
        kept = config["kv_lora_rank"] + config["qk_rope_head_dim"]
    layers, kinds = range(config["num_hidden_layers"]), config.get("layer_types")
    near = [False for _ in layers]
    if kinds:
        near = [kind == "sliding_attention" for kind in kinds]
    elif family == "gemma3_text":
        near = [(n + 1) % config.get("sliding_window_pattern", 6) > 0 for n in layers]
    elif family == "gpt_oss":
        near = [n % 2 == 0 for n in layers]
    elif family == "qwen3" and config.get("use_sliding_window"):
        near = [n >= config.get("max_window_layers", 28) for n in layers]
    reach = [config["sliding_window"] if one else None for one in near]
    return near.count(False) * kept * bytes_per_element, reach
    ### END SOLUTION


# %%
check("cache_plan", cache_plan)
# hint("cache_plan")

# %% [markdown]
r"""
**Predict.** gpt-oss-20b has 24 layers, 8 heads of keys and values of width 64, and a window of 128 in every other layer. By how many bytes does its cache grow per token, at 2 bytes per number? And DeepSeek V3's, with 61 layers that keep 512 + 64 numbers?
"""

# %% guess={"name": "17.plan", "kind": "number", "asks": "gpt-oss-20b: 24 layers, 8 heads of keys and values of width 64, a window of 128 in every other layer, 2 bytes per number. By how many bytes does its cache grow with each token of a long text?", "low": 1000, "high": 1000000, "log": true, "unit": "bytes", "reads": "gpt-oss-20b: {} bytes"}
guess("17.plan")

# %%
sizes = ("model_type", "num_hidden_layers", "hidden_size", "num_attention_heads")
files = {
    "gpt-oss-20b": dict(zip(sizes, ("gpt_oss", 24, 2880, 64), strict=True))
    | {"num_key_value_heads": 8, "sliding_window": 128},
    "DeepSeek V3": dict(zip(sizes, ("deepseek_v3", 61, 7168, 128), strict=True))
    | {"kv_lora_rank": 512, "qk_rope_head_dim": 64},
    "the first Llama, 7B": dict(zip(sizes, ("llama", 32, 4096, 32), strict=True)),
}
for name, config in files.items():
    grows, reach = measure.cache_plan(config)
    print(f"{name}: {grows:,} bytes for each token; the first layers see {reach[:2]}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

gpt-oss: 12 full layers keep $2 \cdot 8 \cdot 64$ numbers, 24,576 bytes<!-- shown: 24,576 -->; the other 12 hold 128 tokens and grow no more. DeepSeek V3: 70,272<!-- shown: 70,272 --> in 61 layers, all of them full. The first Llama, with a key and a value for every query head, 524,288<!-- shown: 524,288 -->. The page [Reading a model's configuration](../book/configuration.md) goes through one file from its first line to its last.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 13. The field in 2026

Three changes that published models have made, each with its formula and one measurement of ours; then what their stacks look like. The measurements are small and nothing is trained: they show what a part *can* do, not what a model gains.

**An output gate** (Qiu et al., 2025): $\text{out} \circ \sigma(x W_g)$. Attention weights sum to 1, so a head must always say something. A gate lets it be silent; the price is one more $d \times d$ matrix in each layer.

**Predict.** 64 random values, and all scores are equal. How long is the output, compared with one value? And after a gate of -6?
"""

# %%
draw = normal(5)
query, key, value = torch.zeros(1, 16).double(), draw(64, 16), draw(64, 16)
plain = attention.scaled_dot_product_attention(query, key, value)
closed = torch.full((1, 16), -6.0).double()
silent = attention.gated_attention(query, key, value, closed)
sink_key, sink_value = (
    torch.cat((key, 9 * torch.ones(1, 16).double())),
    torch.cat((value, torch.zeros(1, 16).double())),
)
sink = attention.scaled_dot_product_attention(query + 1, sink_key, sink_value)
for name, out in (
    ("a value", value[:1]),
    ("equal weights", plain),
    ("a sink", sink),
    ("a gate of -6", silent),
):
    print(f"{name:14} length {out.norm():.4f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The mean of 64 random values is still 0.44 long; a gate of -6 leaves 0.0011<!-- shown: 0.4400 0.0011 -->. Without a gate a head can only look at something that says nothing: a **sink**, a key that fits every query and has a value of 0. Large language models build such sinks out of the first token (chapter 10).

</details>

**Differential attention** (Ye et al., 2024): $(\mathrm{softmax}_1 - \lambda\,\mathrm{softmax}_2)V$. What both attend to cancels, as noise does in a balanced cable; a row now sums to $1 - \lambda$, and weights may be negative.

**Predict.** One key fits the first query, and both queries share a preference for ten others. As $\lambda$ grows, does the right key's share of all the weight, ignoring signs, grow or shrink? Can it double?
"""

# %%
draw = normal(6)
key, common = draw(200, 32), draw(32)
key[:10] += common  # what both queries like
both = torch.stack((common + key[50], common)).unsqueeze(1)
value = torch.eye(200, dtype=torch.float64)  # so the output is the weights
first = attention.scaled_dot_product_attention(both[0], key, value)
for balance in (0.0, 0.5, 0.8):
    pair = torch.stack((key, key))
    factor = torch.tensor(balance).double()
    row = attention.differential_attention(both, pair, value, factor)[0]
    share = row[50] / row.abs().sum()
    print(f"λ = {balance}: right key {share:.2f}, the row sums to {row.sum():.1f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

It grows, from 0.14 with one softmax to 0.21 with $\lambda = 0.8$<!-- shown: 0.14 0.21 -->: half as much again. Here, by construction, the second query knows the distraction and not the key. That training finds such pairs is the paper's claim; this cell does not measure it.

</details>
"""

# %% [markdown]
r"""
**Learned block selection** (Lu et al., 2025; as one of three branches in Yuan et al., 2025): keys in blocks, one summary for each, and a query reads only the $k$ blocks $j$ with the largest $q \cdot \bar k_j$, where $\bar k_j$ is the mean of the block's keys. The cost per query falls from $n$ keys to $n/b$ summaries and $k\,b$ keys.

**Predict.** 1,024 tokens in blocks of 32; the query is a noisy copy of one key. How often is its block among the four that are read?
"""

# %%
draw = normal(7)
for alike in (0.0, 0.5, 1.0):
    hits = 0
    for _ in range(100):
        theme = draw(32, 1, 64).expand(32, 32, 64).reshape(1024, 64)
        key = alike * theme + draw(1024, 64)
        query = torch.zeros_like(key)
        query[-1] = key[300] + 0.5 * draw(64)
        hits += int(attention.select_blocks(query, key, 32, 4)[-1, 300])
    print(f"theme {alike}: found {hits} of 100; {32 + 4 * 32} of 1,024 rows read")

# %% [markdown]
r"""
<details><summary>Answer</summary>

In 48 of 100 cases if the keys of a block have nothing in common: a mean of 32 random keys hardly shows one of them. If they share a theme, nearly always<!-- shown: 48 99 100 -->. Selection by a summary relies on texts in which neighbours are alike, and on training, which can make keys so.

</details>

**Stacks.** What do published models put on top of each other? Read from configurations; the words are explained below.
"""

# %%
stacks = measure.read_record("chapter_17_stacks")
for one in stacks["runs"]:
    kinds = "; ".join(f"{count} {kind}" for kind, count in one["counts"].items())
    print(f"{one['model']:25}{one['layers']:3} layers: {kinds}")
print("read on", stacks["date"], "from transformers", stacks["versions"]["transformers"])

# %% [markdown]
r"""
- **latent**: section 3 of chapter 08. **chosen**: a small scorer picks tokens or blocks.
- **gated full**: softmax attention with the output gate of this section.
- **lightning attention**: linear attention with a constant fade per head: retention. **gate per channel**: the delta rule with the fade of gated linear attention.
- **RG-LRU**: one number per channel, with a gated fade (De et al., 2024).
- **pooled by 128**: each stretch of 128 tokens becomes one entry; a window keeps the newest as they are.
- **no positions**: these layers rotate nothing. They see order through the mask, and through the layers between.
"""

# %% [markdown]
r"""
A row is what the class of `transformers` says by default, or a model's own file, card or documentation; the record has the source of each. A default can differ from a released model, whose layers were not compared.
"""

# %% [markdown]
r"""
What each stack keeps, in numbers: a full layer $2H_{kv}d$ per token; a latent one $r + d_\text{rope}$; a scorer its key; a window $2H_{kv}d\,w$ at any length; a delta state $H d_k d_v$, a Mamba-2 head $n\,d$, and each the inputs of its convolution. All at 2 bytes, though libraries keep states in 4.

**Predict.** Which of these keeps the least of a text of 131,072 tokens: LFM2 with 6 full layers of 16, Granite 4-H with 4 of 40, Kimi Linear with 6 latent ones of 27, DeepSeek-V4, which pools?
"""

# %% guess={"name": "17.keeps", "kind": "choice", "asks": "Which of these stacks keeps the fewest bytes of a text of 131,072 tokens?", "take": "smallest", "options": {"LFM2 1.2B: 6 full layers of 16": "LFM2 1.2B {_} {_} {}", "Granite 4-H Micro: 4 of 40": "Granite 4-H Micro {_} {_} {}", "Kimi Linear: 6 latent ones of 27": "Kimi Linear (default) {_} {_} {}", "DeepSeek-V4: 43 layers that pool": "DeepSeek-V4 (default) {_} {_} {}"}}
guess("17.keeps")

# %%
print(f"{'':25} {'KiB per token':>14} {'MiB fixed':>10} {'GiB of 131,072':>15}  experts")
for one in stacks["runs"]:
    grows, fixed = one["bytes_per_token"], one["bytes_fixed"]
    whole = (grows * 131_072 + fixed) / 2**30
    row = f"{one['model']:25} {grows / 1024:14.1f} {fixed / 2**20:10.1f} {whole:15.2f}"
    print(f"{row}  {one['experts']}".rstrip())

# %% [markdown]
r"""
<details><summary>Answer</summary>

DeepSeek-V4, 0.81 GiB; Kimi Linear 0.87, Granite 1.04, LFM2 1.50<!-- shown 4: 0.81 0.87 1.04 1.50 -->: a large model with pooling keeps less than a small one with six plain layers. The range is wide: MiniMax-M2's 62 full layers keep 31 GiB<!-- shown: 31.00 -->. What is *kept* is not what is *read*: DeepSeek-V3.2 keeps more than V3, since its scorer has keys of its own (83.9 KiB per token, 68.6 without<!-- shown: 83.9 68.6 -->), but reads 2,048 tokens instead of all.

</details>
"""

# %% [markdown]
r"""
**One developer went back.** MiniMax-Text-01 (2025) had seven lightning layers to one of softmax. MiniMax-M2 has 62 layers of full attention: six times as much per token, 248 KiB instead of 40<!-- shown: 248.0 40.0 -->. M3 chooses blocks in 57 of 60 layers.

Its developers name as reasons: weaknesses in long chains of reasoning that the usual benchmarks had not shown, states that suffer in low precision, and prefix caching, for which a state would have to be stored at every place where a text may be continued. That is reported here from Raschka's (2026) summary of the M2 report and other summaries; neither the report nor its measurements were checked.
"""

# %% [markdown]
r"""
**Is there a fair comparison?** None of ours: that needs models of equal size, data and budget. Wang, Zhu et al. (2025) trained 72 such models: 340 million parameters on 20 billion tokens and 1.3 billion on 100 billion, six linear mixers, five ratios. By their abstract (the runs were not repeated here):

- the loss on text hardly depends on the ratio;
- recall improves with more full layers, above all below three linear ones to one full;
- the best mixer alone is not always the best one in a hybrid;
- they recommend HGRN-2 or the gated delta rule, at three to six linear layers for each full one.

Section 6 agrees with the second as far as it goes: one full layer of two restored everything.
"""

# %% [markdown]
r"""
**Check yourself.** Which of these stacks has no layer that can read every earlier token by itself?

<details><summary>Answer</summary>

RecurrentGemma, with windows of 2,048 and a recurrence, and DeepSeek-V4, which reads older tokens only in pooled entries of 4 or 128. All others keep layers that can reach every earlier token, from 4 of 52 (feed-forward layers counted) to every one. In DeepSeek-V3.2 and MiniMax-M3 a scorer decides which of them a query reads.

</details>
"""

# %% [markdown]
r"""
**In a released model.** SmolLM2-135M-Instruct (chapter 20 opens it) keeps a cache of everything. Recorded: a list of pairs, "word is word.", then up to 16 of them asked again, with the whole cache and with a window of 60 tokens and the first four; four lists of each length. A window is a state of fixed size.

**Predict.** 4 to 64 pairs of four tokens each. From where on does the window fail? Does the whole cache recall all 64?
"""

# %%
print("pairs  questions  whole cache  window: all  pair still held  pair gone  no list")
for one in measure.read_record("chapter_20_recall")["runs"]:
    print(f"{one['pairs']:5} {one['questions']:10} {one['full']:12.2f}", end="")
    print(f"{one['window']:13.2f} {one['window, held']:>16} {one['window, gone']:>10}", end="")
    print(f"{one['no list']:9.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

From 16 pairs on, when the list is longer than the window: 0.22 instead of 0.64, and of 64 pairs 0.06 instead of 0.39<!-- shown: 0.22 0.64 0.06 0.39 -->. Of the pairs that have left the window it names 4 of 39, 1 of 52, 1 of 57<!-- shown: 39 52 57 -->: what has left the window is all but gone. (Tokens that had read it could still hand something on.)

But the cache holds all 64 pairs, and this model still names only four in ten. So a state's size is a ceiling, not a promise, and a recall below 1 does not by itself show a full state. The shares are of 16 to 64 questions (a standard error of 0.06 to 0.12).

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 14. Experts of attention, and search

Experts need not be feed-forward layers. Zhang et al. (2022) take **heads** as experts: keys and values are shared, each head has its own query and output matrix, and a router chooses $k$ heads for each token. Applied row by row, a head is a function, so `mix_experts` works unchanged.

**Predict.** Eight heads of width 8 over 128 tokens, top-2. How much less do the chosen heads cost than all eight?
"""

# %%
draw = normal(8)
x, W_q, W_o = draw(128, 32), draw(8, 32, 8) / 32**0.5, draw(8, 8, 32) / 8**0.5
key, value = x @ draw(32, 8), x @ draw(32, 8)


def head(number):
    """Return a head as a function of the rows that ask."""
    attend = F.scaled_dot_product_attention
    return lambda rows: attend(rows @ W_q[number], key, value) @ W_o[number]


logits, heads = x @ draw(32, 8), [head(number) for number in range(8)]
for k in (8, 2):
    index, gates = attention.route_top_k(logits, k)
    mixed = partial(attention.mix_experts, x, heads, index, gates)
    print(f"top-{k} of 8 heads: {measure.count_flops(mixed):,} FLOP")

# %% [markdown]
r"""
A quarter of the FLOPs<!-- shown: 5,242,880 1,310,720 -->; the shared keys and values are not even counted. (These tokens see each other in both directions; a causal mask would need each row's place.)

What should be a head, a window or a layer can also be **searched**. A gate that is 0 or 1 has no gradient; the **straight-through** trick (Bengio et al., 2013) uses the hard gate forwards and pretends on the way back that it was the soft one.

**Predict.** Eight heads, of which a target uses two, and a small price for each open gate. Which gates stay open?
"""

# %%
draw = normal(9)
W = draw(3, 8, 32, 4) / 32**0.5
used = torch.tensor([0, 0, 1, 0, 0, 1, 0, 0]).double()
logit = torch.zeros(8, dtype=torch.float64, requires_grad=True)
optimiser = torch.optim.Adam([logit], lr=0.05)
for _ in range(150):
    x = draw(8, 10, 32)
    q, k, v = (torch.einsum("bld,hde->bhle", x, part) for part in W)
    out = F.scaled_dot_product_attention(q, k, v)
    soft = torch.sigmoid(logit)
    gate = (soft > 0.5).double() + soft - soft.detach()  # hard forwards, soft backwards
    loss = ((out * (gate - used)[:, None, None]) ** 2).mean() + 0.001 * gate.sum()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
print("open gates:", (torch.sigmoid(logit) > 0.5).int().tolist())
print("wanted:    ", used.int().tolist())

# %% [markdown]
r"""
Those two. The same trick makes sparsity masks and the number of heads learnable.

A **window's width** can be learned too, with a soft edge instead of a hard gate (Sukhbaatar et al., 2019): a key $a$ tokens back is weighted by $\mathrm{clamp}\big((R + z - a)/R,\, 0,\, 1\big)$, and $z$ is learned. Below, every token wants the one $k$ places back, and $z$ begins at 32. Sukhbaatar et al. put a price on $z$; there is none here.

**Predict.** Without a price, does a window shrink at all? To which width for $k = 3$, and for $k = 12$?
"""

# %%
ages = torch.arange(64)[:, None] - torch.arange(64)
for back in (3, 12):
    z, wanted = torch.full((1,), 32.0, requires_grad=True), ages[48:] == back
    scores = torch.where(ages == back, 4.0, 0.0).masked_fill(ages < 0, -torch.inf)
    optimiser = torch.optim.Adam([z], lr=0.3)
    for _ in range(200):
        soft = ((2 + z - ages) / 2).clamp(0, 1) * scores.exp()
        found = soft[48:] / soft[48:].sum(-1, keepdim=True)
        optimiser.zero_grad()
        (-found[wanted].log().mean()).backward()
        optimiser.step()
    print(f"{back:2} back: z = {z.item():.1f}, weight on the wanted key {found[wanted].mean():.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

It does, to 3 and 12: keys beyond the wanted one take weight from it, and cutting them off lowers the loss. The price is for heads to which far keys make no difference.

</details>


**Find the error.** Text D, under the heading "Neural Architecture Search for Attention": "Automatically discover optimal attention patterns", and then: "Example: HAT (Hardware-Aware Transformers) optimizes for specific hardware."

<details><summary>Answer</summary>

Hardware-Aware Transformers (Wang et al., 2020) search the number of layers and heads, the widths, and which encoder layers a decoder layer looks at, under a measured latency. The *patterns* of attention are left as they are.

</details>
"""

# %% [markdown]
r"""
**Adaptive computation**, where an input decides how many steps or layers it gets, is one of text E's "promising directions for Transformer development". It is a line of work ten years old (Graves, 2016; Raposo et al., 2024), and chapter 14 runs its simplest form in section 13: an image that is sure after one layer leaves. Attention modelled on biology and continual learning, which stand in the same list, are subjects of research without a result that this chapter could measure.
"""

# %% [markdown]
r"""
## Yours: the chapter's experiments, with your functions

A text in one piece, in chunks and token by token; a memory corrected; a scan; a mixture: each once more, with your functions wherever their checks have passed.
"""

# %% tags=["nbval-ignore-output"] reason="whose functions run, and how fast, depends on the reader"
parts = yours(
    "retention_parallel",
    "retention_chunk",
    "gated_delta_step",
    "selective_scan",
    "route_top_k",
    "mix_experts",
    "load_balance_loss",
    "wkv_step",
    "cache_plan",
)
parts


# %%
def chapter(parts):
    """Read in three forms, correct, scan, fade a softmax, and mix experts."""
    draw, size = normal(10), (1, 2, 24, 6)
    q, k, v, decay = draw(size), draw(size), draw(size), draw(2).sigmoid()
    state, past = q.new_zeros(1, 2, 6, 6), (*draw(2, 1, 6) * 0, draw(1, 6) - torch.inf)
    _, behind = parts.retention_chunk(*(x[:, :, :15] for x in (q, k, v)), decay, state)
    last, _ = parts.retention_chunk(*(x[:, :, 15:] for x in (q, k, v)), decay, behind)
    alpha, rate = draw(1, 2).sigmoid(), draw(6).exp()
    for t in range(24):
        token = (q[:, :, t], F.normalize(k[:, :, t], dim=-1), v[:, :, t])
        corrected, state = parts.gated_delta_step(*token, alpha, 1 - alpha, state)
        faded, past = parts.wkv_step(v[:, 0, t], v[:, 1, t], rate, q[0, 0, 0], past)
    scan = (draw(1, 9, 3), draw(1, 9, 3).exp(), -draw(3, 2).exp(), draw(1, 9, 2))
    x, logits = draw(30, 8), draw(30, 4)
    index, gates = parts.route_top_k(logits, 2)
    experts = [lambda rows, n=n: torch.tanh(rows * (n + 1)) for n in range(4)]
    return {
        "whole text": parts.retention_parallel(q, k, v, decay)[0, 0, -1, :3],
        "in two chunks": last[0, 0, -1, :3],
        "corrected": torch.stack([corrected.norm(), state.norm()]),
        "a softmax that fades": faded[0, :3],
        "scanned": parts.selective_scan(*scan, draw(1, 9, 2), draw(3))[0, -1],
        "mixed": parts.mix_experts(x, experts, index, gates)[0, :3],
        "balance": parts.load_balance_loss(logits, index),
        "gpt-oss grows by": parts.cache_plan(files["gpt-oss-20b"])[0],
    }


# %% tags=["nbval-ignore-output"] reason="the times, and whose functions run"
note = parts.run(chapter)
for name, value in note.course.items():
    numbers = torch.as_tensor(value).double().flatten().tolist()
    print(f"{name}:", *(f"{number:.3g}" for number in numbers))
note

# %% [markdown]
r"""
## Recap

1. A state is faded, written and read. Retention fades by a constant, a gate by an amount that the token sets; the delta rule writes what is missing and so overwrites; an SSM's step decides between keeping and replacing.
2. Parallel, recurrent and chunkwise are one function: chunks for training and for a prompt, steps for generating.
3. A state of $d_k$ rows has room for $d_k$ orthogonal keys; of random ones only the newest is exact. What a trained layer recalls also depends on query and key (SiLU above all; length only together with it) and on whether training was long enough to begin. One softmax layer of two restores everything here.
"""

# %% [markdown]
r"""
4. A mixture is sparse only if the gates are. Without a balance loss some experts of a top-1 router stay idle; with too much of it the task suffers.
5. A published stack is a list of layers: count them, and what each keeps. Growth per token is decided by the full layers alone. A claim without task, size and budget cannot be checked.
"""

# %% tags=["remove-cell"]
progress(17)

# %% [markdown]
"""
**Next**: chapter 18 takes claims apart.
"""

# %% [markdown]
r"""
## Go further

- Sun et al. (2023): retention. Yang et al. (2024): gated linear attention. Schlag et al. (2021), Yang, Wang, Zhang et al. (2024), Yang et al. (2025): the delta rule, its chunks, and its gate. [flash-linear-attention](https://github.com/fla-org/flash-linear-attention): GPU kernels for most of them.
- Gu et al. (2022): S4. Gu and Dao (2023): Mamba. Peng et al. (2023): RWKV.
- Arora et al. (2024): recall as a test of states.
"""

# %% [markdown]
r"""
- Shazeer et al. (2017), Fedus et al. (2022), Du et al. (2022), Jiang et al. (2024): experts. Zhang et al. (2022): experts of attention.
- Qiu et al. (2025), Ye et al. (2024), Lu et al. (2025), Yuan et al. (2025): gates, differences, selection.
- Dao and Gu (2024): Mamba-2, and states as attention.
- De et al. (2024), Lieber et al. (2024), MiniMax (2025), Kimi Team (2025): hybrids. Wang, Zhu et al. (2025): hybrids compared. Raschka (2026): why MiniMax went back.
- Wang et al. (2020), Sukhbaatar et al. (2019), Bengio et al. (2013), Graves (2016), Raposo et al. (2024): what is searched or adapted.
"""

# %% [markdown]
r"""
<details><summary>BibTeX</summary>

```bibtex
@misc{sun2023retentive,
  title = {Retentive Network: A Successor to Transformer for Large Language Models},
  author = {Sun, Yutao and Dong, Li and Huang, Shaohan and Ma, Shuming and Xia, Yuqing and Xue, Jilong and Wang, Jianyong and Wei, Furu},
  year = {2023}, url = {https://arxiv.org/abs/2307.08621}}
@inproceedings{yang2024gated,
  title = {Gated Linear Attention Transformers with Hardware-Efficient Training},
  author = {Yang, Songlin and Wang, Bailin and Shen, Yikang and Panda, Rameswar and Kim, Yoon},
  booktitle = {ICML}, year = {2024}, url = {https://arxiv.org/abs/2312.06635}}
@inproceedings{schlag2021linear,
  title = {Linear Transformers Are Secretly Fast Weight Programmers},
  author = {Schlag, Imanol and Irie, Kazuki and Schmidhuber, J{\"u}rgen},
  booktitle = {ICML}, year = {2021}, url = {https://arxiv.org/abs/2102.11174}}
@inproceedings{yang2025gated,
  title = {Gated Delta Networks: Improving Mamba2 with Delta Rule}, author = {Yang, Songlin and Kautz, Jan and Hatamizadeh, Ali},
  booktitle = {ICLR}, year = {2025}, url = {https://arxiv.org/abs/2412.06464}}
@inproceedings{yang2024parallelizing,
  title = {Parallelizing Linear Transformers with the Delta Rule over Sequence Length},
  author = {Yang, Songlin and Wang, Bailin and Zhang, Yu and Shen, Yikang and Kim, Yoon},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2024}, url = {https://arxiv.org/abs/2406.06484}}
@inproceedings{henry2020query,
  title = {Query-Key Normalization for Transformers}, author = {Henry, Alex and Dachapally, Prudhvi Raj and Pawar, Shubham and Chen, Yuxuan},
  booktitle = {Findings of EMNLP}, year = {2020}, url = {https://arxiv.org/abs/2010.04245}}
@inproceedings{gu2022s4,
  title = {Efficiently Modeling Long Sequences with Structured State Spaces}, author = {Gu, Albert and Goel, Karan and R{\'e}, Christopher},
  booktitle = {ICLR}, year = {2022}, url = {https://arxiv.org/abs/2111.00396}}
@misc{gu2023mamba,
  title = {Mamba: Linear-Time Sequence Modeling with Selective State Spaces}, author = {Gu, Albert and Dao, Tri},
  year = {2023}, url = {https://arxiv.org/abs/2312.00752}}
@inproceedings{peng2023rwkv,
  title = {{RWKV}: Reinventing {RNN}s for the Transformer Era}, author = {Peng, Bo and Alcaide, Eric and Anthony, Quentin and others},
  booktitle = {Findings of EMNLP}, year = {2023}, url = {https://arxiv.org/abs/2305.13048}}
@inproceedings{shazeer2017outrageously,
  title = {Outrageously Large Neural Networks: The Sparsely-Gated Mixture-of-Experts Layer},
  author = {Shazeer, Noam and Mirhoseini, Azalia and Maziarz, Krzysztof and Davis, Andy and Le, Quoc and Hinton, Geoffrey and Dean, Jeff},
  booktitle = {ICLR}, year = {2017}, url = {https://arxiv.org/abs/1701.06538}}
@article{fedus2022switch,
  title = {Switch Transformers: Scaling to Trillion Parameter Models with Simple and Efficient Sparsity},
  author = {Fedus, William and Zoph, Barret and Shazeer, Noam},
  journal = {Journal of Machine Learning Research}, volume = {23}, number = {120}, pages = {1--39}, year = {2022}, url = {https://arxiv.org/abs/2101.03961}}
@inproceedings{du2022glam,
  title = {{GLaM}: Efficient Scaling of Language Models with Mixture-of-Experts}, author = {Du, Nan and Huang, Yanping and Dai, Andrew M. and others},
  booktitle = {ICML}, year = {2022}, url = {https://arxiv.org/abs/2112.06905}}
@misc{jiang2024mixtral,
  title = {Mixtral of Experts}, author = {Jiang, Albert Q. and Sablayrolles, Alexandre and Roux, Antoine and others},
  year = {2024}, url = {https://arxiv.org/abs/2401.04088}}
```

</details>
"""

# %% [markdown]
r"""
<details><summary>More BibTeX</summary>

```bibtex
@inproceedings{zhang2022mixture,
  title = {Mixture of Attention Heads: Selecting Attention Heads Per Token},
  author = {Zhang, Xiaofeng and Shen, Yikang and Huang, Zeyu and Zhou, Jie and Rong, Wenge and Xiong, Zhang},
  booktitle = {EMNLP}, year = {2022}, url = {https://arxiv.org/abs/2210.05144}}
@misc{qiu2025gated,
  title = {Gated Attention for Large Language Models: Non-linearity, Sparsity, and Attention-Sink-Free}, author = {Qiu, Zihan and Wang, Zekun and Zheng, Bo and others},
  year = {2025}, url = {https://arxiv.org/abs/2505.06708}}
@misc{ye2024differential,
  title = {Differential Transformer}, author = {Ye, Tianzhu and Dong, Li and Xia, Yuqing and Sun, Yutao and Zhu, Yi and Huang, Gao and Wei, Furu},
  year = {2024}, url = {https://arxiv.org/abs/2410.05258}}
@misc{lu2025moba,
  title = {{MoBA}: Mixture of Block Attention for Long-Context {LLM}s}, author = {Lu, Enzhe and Jiang, Zhejun and Liu, Jingyuan and others},
  year = {2025}, url = {https://arxiv.org/abs/2502.13189}}
@misc{yuan2025native,
  title = {Native Sparse Attention: Hardware-Aligned and Natively Trainable Sparse Attention}, author = {Yuan, Jingyang and Gao, Huazuo and Dai, Damai and others},
  year = {2025}, url = {https://arxiv.org/abs/2502.11089}}
@misc{de2024griffin,
  title = {Griffin: Mixing Gated Linear Recurrences with Local Attention for Efficient Language Models}, author = {De, Soham and Smith, Samuel L. and Fernando, Anushan and others},
  year = {2024}, url = {https://arxiv.org/abs/2402.19427}}
@misc{lieber2024jamba,
  title = {Jamba: A Hybrid Transformer-Mamba Language Model}, author = {Lieber, Opher and Lenz, Barak and Bata, Hofit and others},
  year = {2024}, url = {https://arxiv.org/abs/2403.19887}}
@inproceedings{dao2024transformers,
  title = {Transformers are {SSM}s: Generalized Models and Efficient Algorithms Through Structured State Space Duality},
  author = {Dao, Tri and Gu, Albert},
  booktitle = {ICML}, year = {2024}, url = {https://arxiv.org/abs/2405.21060}}
@misc{minimax2025minimax01,
  title = {{MiniMax-01}: Scaling Foundation Models with Lightning Attention}, author = {{MiniMax}},
  year = {2025}, url = {https://arxiv.org/abs/2501.08313}}
@misc{wang2025systematic,
  title = {A Systematic Analysis of Hybrid Linear Attention}, author = {Wang, Dustin and Zhu, Rui-Jie and Abreu, Steven and others},
  year = {2025}, url = {https://arxiv.org/abs/2507.06457}}
@misc{raschka2026minimax,
  title = {{MiniMax} {M2} Technical Report}, author = {Raschka, Sebastian},
  year = {2026}, url = {https://sebastianraschka.com/blog/2026/minimax-m2-technical-report.html}}
@misc{kimi2025linear,
  title = {Kimi Linear: An Expressive, Efficient Attention Architecture}, author = {{Kimi Team}},
  year = {2025}, url = {https://arxiv.org/abs/2510.26692}}
@inproceedings{wang2020hat,
  title = {{HAT}: Hardware-Aware Transformers for Efficient Natural Language Processing},
  author = {Wang, Hanrui and Wu, Zhanghao and Liu, Zhijian and Cai, Han and Zhu, Ligeng and Gan, Chuang and Han, Song},
  booktitle = {ACL}, year = {2020}, url = {https://arxiv.org/abs/2005.14187}}
@inproceedings{sukhbaatar2019adaptive,
  title = {Adaptive Attention Span in Transformers}, author = {Sukhbaatar, Sainbayar and Grave, Edouard and Bojanowski, Piotr and Joulin, Armand},
  booktitle = {ACL}, year = {2019}, url = {https://arxiv.org/abs/1905.07799}}
@misc{graves2016adaptive,
  title = {Adaptive Computation Time for Recurrent Neural Networks}, author = {Graves, Alex},
  year = {2016}, url = {https://arxiv.org/abs/1603.08983}}
@misc{raposo2024mixture,
  title = {Mixture-of-Depths: Dynamically Allocating Compute in Transformer-Based Language Models}, author = {Raposo, David and Ritter, Sam and Richards, Blake and others},
  year = {2024}, url = {https://arxiv.org/abs/2404.02258}}
@inproceedings{arora2024zoology,
  title = {Zoology: Measuring and Improving Recall in Efficient Language Models},
  author = {Arora, Simran and Eyuboglu, Sabri and Timalsina, Aman and Johnson, Isys and Poli, Michael and Zou, James and Rudra, Atri and R{\'e}, Christopher},
  booktitle = {International Conference on Learning Representations}, year = {2024}, url = {https://arxiv.org/abs/2312.04927}}
@misc{bengio2013estimating,
  title = {Estimating or Propagating Gradients Through Stochastic Neurons for Conditional Computation},
  author = {Bengio, Yoshua and L{\'e}onard, Nicholas and Courville, Aaron},
  year = {2013}, url = {https://arxiv.org/abs/1308.3432}}
```

</details>
"""
