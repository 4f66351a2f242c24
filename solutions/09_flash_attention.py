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
# Tile attention: keep it exact, and never store the table

Seven queries meet eight keys: 56 scores. Below, attention is computed exactly, and only a small tile of the scores exists at any time.

Play for one minute: press *Step*. **How can a softmax be right that has not seen its whole row? And what would be moved between the memories if the tiles were single scores?** At the end of the chapter you can explain it.
"""

# %% tags=["remove-input"]
from course_utils.widgets import tile_stepper

opening = tile_stepper()
opening

# %% [markdown]
r"""
*You will be able to*

1. compute an arithmetic intensity, and read from a roofline whether arithmetic or memory sets the limit;
2. compute a softmax over keys that come a tile at a time, and merge results over different keys;
3. tile the forward and the backward pass, exactly, in memory that grows with $n$;
4. count what each order of the loops moves between memory and chip;
5. (further) write the inner loop of a GPU kernel, run it on a CPU, and judge a published measurement.

*You need* chapters 03 (softmax, backward pass) and 06 (causal mask); for section 9 also 08 (grouped heads). No GPU.

*Core path · further*
"""

# %% [markdown]
"""
How to read: each experiment begins with a question. Write down your guess, run the cell, then open the answer.

$L$ queries, $S$ keys, $n$ where both are equal; $d$ is the width of one head.

The kernel of section 9 is written in Triton, which the course installs on Linux (x86-64). For macOS and Windows there is none: one exercise and three cells are skipped there, and say so.

The chapter is about exact attention: every number that it computes is the one that chapter 03 computes, up to rounding. What changes is the order of the work, and what is kept.
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
import math
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from tqdm import tqdm

from course_utils import attention, measure, plotting
from course_utils.attention.tiled.flash import kernels as flash_kernels
from course_utils.attention.tiled.flash import mods as flash_mods
from course_utils.attention.tiled.flash.flash import flash_attention
from course_utils.attention.tiled.flash.launch import gpu_tilings
from course_utils.attention.tiled.flash.spans import count_tiles, visible_spans
from course_utils.guessing import draw_guess, guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.triton_interpreter import tl  # None where Triton does not exist

plotting.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=4, sci_mode=False, linewidth=100)
tiled_record = measure.read_record("chapter_09_tiled")

# %% [markdown]
r"""
## 1. What a GPU waits for

A machine has two limits: how many operations it does per second, and how many bytes it moves per second between memory and arithmetic. Which one binds depends on the **arithmetic intensity**

$$I = \frac{\text{operations}}{\text{bytes moved}}, \qquad \text{attainable} = \min(\text{peak},\ I \cdot \text{bandwidth})$$

That is the **roofline** (Williams et al., 2009). Its two lines meet at the *ridge*. To the left of it the arithmetic waits for memory: the work is *memory-bound*. To the right it is *compute-bound*.

For $QK^\top$: $2LSd_k$ operations. With $b$ bytes per number, the inputs are $b(L + S)d_k$ bytes; the scores are another $b\,LS$, if they are written.
"""

# %% [markdown]
r"""
### Exercise: `matmul_intensity`

*Difficulty · importance · minutes*

Write `matmul_intensity(num_queries, num_keys, d_k, bytes_per_element, count_output) -> float`: operations per byte of $QK^\top$.

- A multiplication with its addition counts 2.
- Each input is read once. The output is written once, if `count_output` says so.
- Return a Python `float`.
"""


# %% exercise="matmul_intensity"
def matmul_intensity(num_queries, num_keys, d_k, bytes_per_element, count_output):
    """Return the operations of the product of queries and keys per byte moved."""
    ### BEGIN SOLUTION: Count operations, count numbers moved, divide.
    moved = num_queries * d_k + num_keys * d_k
    if count_output:
        moved += num_queries * num_keys
    operations = 2 * num_queries * num_keys * d_k
    return operations / (moved * bytes_per_element)
    ### END SOLUTION


# %%
check("matmul_intensity", matmul_intensity)
# hint("matmul_intensity")  # remove the first # for a hint; each call gives one more

# %% [markdown]
r"""
Now a machine. An A100 has a large memory and, on the chip, small ones (figures from its data sheet and from Dao et al., 2022):

| memory | size | bytes per second |
|---|---|---|
| HBM, the large memory | 40 GB | $1.555\cdot10^{12}$ |
| SRAM on the chip: shared memory and first-level cache | 192 KB for each of 108 multiprocessors | about $19\cdot10^{12}$ |

Its arithmetic has two speeds as well: $312\cdot10^{12}$ operations per second for 16-bit matrix products, $19.5\cdot10^{12}$ for everything else in 32 bits.

"Optimize for L1/L2 cache usage", advises text A (A to E are listed on the page *What is measured here*). A cache decides by itself what it keeps. A *kernel*, a program that runs on the GPU, decides what lies in shared memory and in registers.
"""

# %% [markdown]
r"""
**Find the error.** In text C, $QK^\top$ for $Q, K \in \mathbb R^{512\times64}$ in FP16 loads 131 KB and performs $2\cdot512\cdot512\cdot64 = 67$ million operations, 511 per byte: "This high arithmetic intensity keeps the GPU compute units busy". Elsewhere it says 256.

**Predict.** Recompute the product. Then: what leaves the chip besides the inputs? Which of the lines below can use the arithmetic fully?
"""

# %%
PRODUCTS, ELEMENTWISE, HBM, SRAM = 312e12, 19.5e12, 1.555e12, 19e12  # an A100, per second
flops = 2 * 512 * 512 * 64
inputs, scores = 2 * 512 * 64, 512 * 512
intensity = {
    "inputs only": measure.matmul_intensity(512, 512, 64, 2, count_output=False),
    "with 16-bit scores": measure.matmul_intensity(512, 512, 64, 2, count_output=True),
    "with 32-bit scores": flops / (2 * inputs + 4 * scores),
    "one query, 512 keys": measure.matmul_intensity(1, 512, 64, 2, count_output=True),
    "all of attention": 2 * flops / (4 * 2 * 512 * 64),
}
print(f"operations {flops:,}   inputs {2 * inputs:,} bytes   scores {2 * scores:,} bytes")
for name, at in intensity.items():
    bound = measure.attainable_flops(at, PRODUCTS, HBM)
    print(f"{name:20} {at:6.1f} operations per byte: at most {bound / 1e12:5.1f} Tflop/s,", end="")
    print(f" {bound / PRODUCTS:4.0%} of the peak")
print(f"the ridge of an A100: {PRODUCTS / HBM:.0f} operations per byte")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The product is 33.6 million<!-- shown: 33554432 -->, not 67, which is the count for both products of attention together; 511 is twice the correct 256, and 256 counts the inputs only. The scores are four times as many bytes as both inputs. Written in 16 bits they leave 51 operations per byte<!-- shown: 51 -->, below the ridge of 201<!-- shown: 201 -->: $QK^\top$ gets at most a quarter of the peak.

All of attention in one kernel has $4n^2d$ operations on $4nd$ numbers: $n/2$ per byte in 16 bits, 256 at 512 tokens, above the ridge. A single query reads each key for one product: about 1 operation per byte. Chapter 10 has to live with that.

</details>

**Predict.** Would longer sequences help the version that writes its scores?
"""

# %% guess={"name": "09.written", "kind": "curve", "asks": "Heads 64 wide, 16-bit numbers, and the scores are written: how many operations per byte moved does the first product have at these numbers of tokens?", "low": 10, "high": 100000, "log": true, "x": [128, 512, 2048, 8192, 65536], "across": "tokens", "reads": "{x} {_}.{_} {}"}
guess("09.written")

# %%
print("  tokens   scores not written   scores written")
for n in (128, 512, 2048, 8192, 65536):
    kept, written = (measure.matmul_intensity(n, n, 64, 2, count) for count in (False, True))
    print(f"{n:8} {kept:14.1f} {written:18.1f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Never beyond 64. For large $n$ the scores are nearly all that moves: $2n^2d_k / (2n^2) = d_k$. With heads of width 64 no length reaches a ridge of 201.

</details>

The usual attention is three kernels. Each reads its inputs from HBM and writes its output there: scores, then weights, then the average.

**Predict.** $n = 4096$, $d = 64$, 16 bits per number. Which of the three takes longest: the first product, the softmax (6 operations per score, chapter 03), or the second product?
"""


# %%
def kernels(n, d):
    """Return for each kernel: operations of products, other operations, bytes moved."""
    table, matrix = 2 * n * n, 2 * n * d  # bytes of n × n and n × d numbers
    return {
        "QKᵀ": (2 * n * n * d, 0, 2 * matrix + table),
        "softmax": (0, 6 * n * n, table + table),
        "weights · V": (2 * n * n * d, 0, table + matrix + matrix),
        "all in one kernel": (4 * n * n * d, 6 * n * n, 4 * matrix),
    }


# %% guess={"name": "09.kernels", "kind": "choice", "asks": "An ideal A100, 4096 tokens, one head 64 wide, 16-bit numbers: which of these takes longest?", "options": {"the first product alone": "QKᵀ {_}.{_}.{_} {}", "the softmax alone": "softmax {_}.{_}.{_} {}", "one kernel that does all of attention": "one {} µs"}, "take": "largest"}
guess("09.kernels")

# %%
print("n = 4096, d = 64     microseconds, at least, for")
print("                   products   other operations   traffic     operations per byte")
for name, (products, other, moved) in kernels(4096, 64).items():
    times = (products / PRODUCTS, other / ELEMENTWISE, moved / HBM)
    shown = "".join(f"{1e6 * one:13.1f}" for one in times)
    print(f"{name:17} {shown} {(products + other) / moved:17.1f}")
waits = [max(p / PRODUCTS, e / ELEMENTWISE, b / HBM) for p, e, b in kernels(4096, 64).values()]
print(f"three kernels {1e6 * sum(waits[:3]):.0f} µs, one {1e6 * waits[3]:.0f} µs:", end="")
print(f" {sum(waits[:3]) / waits[3]:.1f} times less")
print(f"the softmax is {other / (products + other):.1%} of all operations")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The softmax, with 2% of all operations<!-- shown: 2 -->: it reads and writes the whole table. All three kernels wait for HBM. One kernel that never writes the table waits for arithmetic instead, and on paper takes 6.4 times less<!-- shown: 6.4 -->.

These are bounds of an ideal machine. No kernel reaches them, and the last line supposes that $Q$, $K$ and $V$ are read once. Section 8 counts what really moves.

</details>

The roofline with both ceilings (products, other arithmetic) and both slopes (HBM, SRAM):
"""

# %% mystnb={"image": {"alt": "Roofline of an A100 on logarithmic axes with two slopes and two ceilings. The slope of HBM meets the ceiling of matrix products, 312 teraflops, at 201 operations per byte; that of SRAM at 16. On the HBM slope lie softmax at 1.5 operations per byte, at 2.3 teraflops, and at the same place both products, QKᵀ and weights times V, at 62, at 97 teraflops. One kernel for everything, at 2096, lies on the ceiling."}}
title = "Three kernels wait for memory, one for arithmetic"
axes = plotting.new_figure(title, "operations per byte", "Tflop/s, at most")
for name, slope, at, style in (("HBM", HBM, (7, 5), "-"), ("SRAM", SRAM, (0.6, 90), "--")):
    roof = [0.02, PRODUCTS / slope, 20_000]
    bounds = [measure.attainable_flops(x, PRODUCTS, slope) / 1e12 for x in roof]
    axes.plot(roof, bounds, style, color=plotting.INK)
    axes.text(*at, name)
axes.axhline(ELEMENTWISE / 1e12, color=plotting.QUIET, linestyle=":")
axes.text(400, ELEMENTWISE / 1e12 / 2, "no products", color=plotting.QUIET)
ridge = f"HBM's ridge: {PRODUCTS / HBM:.0f} operations per byte"
axes.text(1.6 * PRODUCTS / HBM, 350, ridge, ha="right", va="bottom")
for name, (products, other, moved) in kernels(4096, 64).items():
    x = (products + other) / moved
    y = measure.attainable_flops(x, PRODUCTS if products else ELEMENTWISE, HBM) / 1e12
    axes.plot(x, y, "o", color=plotting.COLOURS["orange"], markersize=8)
    label = {"QKᵀ": "QKᵀ and weights · V", "weights · V": ""}.get(name, name)  # in one place
    below = {"QKᵀ": (9, -12), "softmax": (9, -14)}
    axes.annotate(label, (x, y), below.get(name, (-58, -18)), textcoords="offset points")
plotting.power_axis(axes, [1, 10, 100, 1000])
plotting.power_axis(axes, [1, 10, 100], "y")
_ = axes.set(xlim=(0.05, 20_000), ylim=(0.3, 700))

# %% [markdown]
"""
**Check yourself.** A GPU with twice the arithmetic and the same HBM is built. What happens to attention in three kernels, for $d = 64$?

- A. it takes half the time
- B. it takes the same time
- C. it takes half the time for long texts only

<details><summary>Answer</summary>

- A is wrong: the three kernels do not wait for arithmetic.
- **B is right.** Traffic decides, and it is unchanged.
- C is wrong: with the table written, operations per byte stay below $d = 64$ at any length.

</details>
"""

# %% [markdown]
r"""
## 2. A softmax that reads its row once

To keep the table on the chip, it must be made in pieces, and each piece must be finished with before the next comes. The softmax stands in the way: its denominator needs the whole row, and so does the maximum that keeps it from overflowing.

Milakov and Gimelshein (2018) keep two numbers per row: the largest score so far, $m$, and $l = \sum_j e^{s_j - m}$. With values, a third (Rabe and Staats, 2021; Dao et al., 2022): $\mathrm{acc} = \sum_j e^{s_j - m}\,v_j$. When a new *tile*, a block of the scores, raises the maximum to $m'$,

$$\sum_j e^{s_j - m'} = e^{m - m'} \sum_j e^{s_j - m},$$

so one factor corrects both sums. At the end the output is $\mathrm{acc} / l$.
"""

# %% [markdown]
r"""
By hand: scores 1, 2 | 4, 0 | 3, 3 in three tiles, values 1 to 6.

After the first tile $m = 2$ and $l = e^{-1} + 1 = 1.3679$.

**Predict.** By what factor does the second tile correct $l$ and acc? And the third?
"""

# %% guess={"name": "09.factor", "kind": "number", "asks": "The largest score so far is {m}, and a tile with the scores {a} and {b} comes: by what are l and acc multiplied before it is added?", "low": 0.01, "high": 10, "log": true, "reads": "tile [3.0, 3.0]: factor {}", "varied": [{"m": 4, "a": 3, "b": 3}, {"m": 1, "a": 3, "b": 0}, {"m": 2, "a": -1, "b": 2}, {"m": 0, "a": 1, "b": 2}], "becomes": "exp(m - max(m, a, b))"}
guess("09.factor")

# %%
scores, value = torch.tensor([[1.0, 2, 4, 0, 3, 3]]), torch.arange(1.0, 7)[:, None]
m, l, acc = torch.tensor([-torch.inf]), torch.zeros(1), torch.zeros(1, 1)
for tile, part in zip(scores.split(2, dim=1), value.split(2), strict=True):
    before = m
    m, l, acc = attention.online_softmax_step(m, l, acc, tile, part)
    factor = (before - m).exp().item()
    print(f"tile {tile[0].tolist()}: factor {factor:.4f}, m {m.item():.0f},", end="")
    print(f" l {l.item():.4f}, acc {acc.item():.4f}, acc / l {(acc / l).item():.4f}")
print(f"softmax(scores) · values = {(scores.softmax(-1) @ value).item():.4f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

By $e^{2 - 4} = 0.1353$<!-- shown: 0.1353 -->, then by $e^0 = 1$: a maximum that stays changes nothing. The first factor is $e^{-\infty} = 0$, and there is nothing yet to multiply.

At every moment acc / l is the exact attention over the keys seen so far.

</details>

The same for a row of 64 keys, in tiles of 4:
"""

# %% mystnb={"image": {"alt": "Three plots over the number of keys seen, in tiles of 4 up to 64. The running maximum m rises twice, at 8 and at 20 keys, and then stays. l grows with the keys, also at 8, and falls once, at 20, where m rises most. The output acc over l moves at every tile and lies on the exact attention over the keys seen so far."}}
generator = torch.Generator().manual_seed(5)
scores, value = torch.randn(2, 64, generator=generator)
scores, value = 1.5 * scores[None], value[:, None]
m, l, acc = torch.tensor([-torch.inf]), torch.zeros(1), torch.zeros(1, 1)
track = []
for start in range(0, 64, 4):
    tile = slice(start, start + 4)
    m, l, acc = attention.online_softmax_step(m, l, acc, scores[:, tile], value[tile])
    exact = scores[:, : start + 4].softmax(-1) @ value[: start + 4]
    track.append([start + 4, m.item(), l.item(), (acc / l).item(), exact.item()])
seen, *lines = zip(*track, strict=True)
panels = plotting.new_panels("Old sums shrink where m rises,\nand acc / l is always exact",
                             "keys seen", ["maximum m", "sum l", "output acc / l"], height=5.4)  # fmt: skip
for panel, values in zip(panels, lines, strict=False):
    plotting.line(panel, seen, values, "online", "blue", style="o-", markersize=4)
name, at = "x: softmax of all so far", (31, 0.8 * min(lines[3]))
plotting.line(panels[2], seen, lines[3], name, "orange", at, "x", markersize=9)

# %% [markdown]
r"""
### Exercise: `online_softmax_step`

*Difficulty · importance · minutes*

Write `online_softmax_step(m, l, acc, scores, value) -> (m, l, acc)`.

- `m` and `l` are `(..., L)`, `acc` is `(..., L, d_v)`; `scores` `(..., L, T)`, scaled and masked; `value` `(..., T, d_v)`.
- The state starts as (-inf, 0, 0). `m` is the exact running maximum; `acc` is not divided by `l`.
- A row of -inf leaves its state as it was, even the state (-inf, 0, 0). No `nan` anywhere.

The check tries many tiles: scores in the thousands, rows that see nothing, half precision.
"""


# %% exercise="online_softmax_step"
def online_softmax_step(m, l, acc, scores, value):
    """Add one more tile of keys to the state of every query."""
    ### BEGIN SOLUTION: Find the new maximum, shrink the old sums to it, add the tile's.
    new_m = torch.maximum(m, scores.max(dim=-1).values)
    safe = torch.where(new_m == -torch.inf, 0.0, new_m)  # -inf - -inf would be nan
    shrink = torch.exp(m - safe)
    powers = torch.exp(scores - safe[..., None])
    return new_m, l * shrink + powers.sum(dim=-1), acc * shrink[..., None] + powers @ value
    ### END SOLUTION


# %%
check("online_softmax_step", online_softmax_step)
# hint("online_softmax_step")

# %% [markdown]
"""
**Check yourself.** Someone leaves the maximum out: $m = 0$ always, and the plain exponentials of the scores are added up. Exact arithmetic gives the same output. What is lost?

- A. nothing, for trained models
- B. large scores overflow, and rows of very low ones divide zero by zero
- C. the result depends on the order of the tiles

<details><summary>Answer</summary>

- A is wrong: trained heads have large scores; that is how they become certain.
- **B is right.** In float32 $e^{89}$ is infinite, and in float16 $e^{12}$ is.
- C is wrong: up to rounding, sums do not depend on the order.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 3. Merge what others have computed

The results of two sets of keys can be merged, whoever computed them. Two things per query are enough: its output and the logarithm of its denominator,

$$\mathrm{lse} = \log \sum_j e^{s_j} = m + \log l .$$

Two outputs are weighted by their denominators: $\text{out} = \sigma\,\text{out}_a + (1 - \sigma)\,\text{out}_b$ with $\sigma = e^{\mathrm{lse}_a} / (e^{\mathrm{lse}_a} + e^{\mathrm{lse}_b})$.

**Predict.** A colleague merges two halves of the keys by the mean of their outputs. When is that right?
"""

# %%
query, key, value = torch.randn(3, 1, 2, 60, 16, generator=generator, dtype=torch.float64).unbind()
exact = F.scaled_dot_product_attention(query, key, value)
for name, factor in (("keys all alike", 1.0), ("second half 8 times as long", 8.0)):
    k = key.clone()
    k[..., 30:, :] *= factor
    halves = [attention.tiled_attention(query, k[..., s, :], value[..., s, :], 60, 30)
              for s in (slice(0, 30), slice(30, 60))]  # fmt: skip
    exact = F.scaled_dot_product_attention(query, k, value)
    merged, _ = attention.merge_partials(*halves[0], *halves[1])
    mean = (halves[0][0] + halves[1][0]) / 2
    print(f"{name:28} error of the mean {(mean - exact).abs().max():.2f},", end="")
    print(f" of the merge below 1e-14: {bool((merged - exact).abs().max() < 1e-14)}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Where both halves have the same denominator, which is hardly ever the case. The mean forgets how much each half mattered.

</details>

Merging lets keys be split: over the processors of one GPU, when a single new token meets a long cache (*flash-decoding*; Dao et al., 2023), or over many GPUs (ring attention, chapter 16).
"""

# %% [markdown]
r"""
### Exercise: `merge_partials`

*Difficulty · importance · minutes*

Write `merge_partials(out_a, lse_a, out_b, lse_b) -> (out, lse)`.

- `out_a` and `out_b` are `(..., L, d_v)`, `lse_a` and `lse_b` `(..., L)`.
- A part that saw no key has `lse = -inf`. Its `out` is ignored, whatever it holds, even `nan`.
- If both are empty: zeros, and -inf.

Large values of `lse` must not overflow. Gradients must be finite in every row of which a part saw a key.
"""


# %% exercise="merge_partials"
def merge_partials(out_a, lse_a, out_b, lse_b):
    """Merge attention over two sets of keys into attention over both."""
    ### BEGIN SOLUTION: Turn both lse into shares, drop what saw nothing, add.
    top = torch.maximum(lse_a, lse_b)
    nothing = top == -torch.inf
    top = torch.where(nothing, 0.0, top)
    power_a, power_b = torch.exp(lse_a - top), torch.exp(lse_b - top)
    total = (power_a + power_b).masked_fill(nothing, 1.0)
    a, b = (
        out.masked_fill((lse == -torch.inf)[..., None], 0.0)
        for out, lse in ((out_a, lse_a), (out_b, lse_b))
    )
    out = (power_a / total)[..., None] * a + (power_b / total)[..., None] * b
    return out, (top + total.log()).masked_fill(nothing, -torch.inf)
    ### END SOLUTION


# %%
check("merge_partials", merge_partials)
# hint("merge_partials")

# %% [markdown]
r"""
## 4. Tiles

Cut the queries into blocks of $B_q$ and the keys into blocks of $B_k$. A tile is the scores of one block of each; it lives on the chip and is then discarded. 
"""

# %% tags=["remove-input"]
from course_utils.diagrams import diagram

diagram("09")

# %% [markdown]
r"""
Two orders of the loops are in use:

- **keys outside**, that is, in the outer loop (FlashAttention; Dao et al., 2022): a block of keys and values is read once, and meets all queries. The state of every query goes to HBM and back for each block.
- **queries outside**, in the outer loop (FlashAttention-2; Dao, 2024): a block of queries keeps its state on the chip and runs over all keys, which are read again for each block. Only out and $\mathrm{lse} = m + \log l$ are written.
"""

# %% [markdown]
"""
Step through it. The scores are multiples of one half, so each step can be checked by hand.

**Predict**, before you press Step: with blocks of 3, how many steps do the 7 × 8 scores take? Which order moves fewer numbers, and is that still so for blocks of 1? Then choose *causal*: which tiles disappear?
"""

# %% guess={"name": "09.blocks", "kind": "order", "asks": "Attention over 7 queries and 8 keys, in blocks of a single query or key: which way moves the fewest numbers, and in which order do the others follow?", "options": {"queries outside": "queries outside {_} blocks of 1: {}", "keys outside": "keys outside {_} blocks of 1: {}", "the table written out": "the table written out: {}"}, "take": "ascending"}
guess("09.blocks")

# %%
opening


# %%
def moved(order, block, L=7, S=8, d_k=4, d_v=2):
    """Return the numbers that the widget's attention reads and writes, without a mask."""
    results = L * d_v + L  # out, and one number per query
    if order == "queries outside":
        return L * d_k + results + math.ceil(L / block) * S * (d_k + d_v)
    if order == "keys outside":  # each block reads all queries; out, m and l go there and back
        return S * (d_k + d_v) + math.ceil(S / block) * (L * d_k + 2 * (results + L))
    return (L + S) * d_k + S * d_v + L * d_v + 4 * L * S


for order in ("queries outside", "keys outside"):
    print(f"{order:16} blocks of 3: {moved(order, 3)}, blocks of 1: {moved(order, 1)}")
print("the table written out:", moved("table", None))

# %% [markdown]
"""
<details><summary>Answer</summary>

Nine tiles, ragged at the right and at the bottom, and with queries outside three more steps, which write the results. Queries outside move 193 numbers<!-- shown: 193 -->, keys outside 300<!-- shown: 300 -->, and the table written out 314<!-- shown: 314 -->. A causal mask drops the tiles whose first key comes after their last query; in tiles on the diagonal it still hides single scores.

Set the keys per block to 1: keys outside then move 720<!-- shown: 720 -->, more than twice as many as the table. With one query per block, queries outside move 385<!-- shown: 385 -->. Large tiles are what saves traffic.

</details>
"""

# %% [markdown]
r"""
### Exercise: `tiled_attention`

*Difficulty · importance · minutes*

Write `tiled_attention(query, key, value, block_q, block_k, is_causal=False) -> (out, lse)`.

- `query` is `(B, H, L, d)`; `key` and `value` have $S$ rows. Scores are scaled by $1/\sqrt d$; `lse` `(B, H, L)` is the logsumexp of the scaled scores.
- Blocks need not divide the lengths, and may exceed them.
- Causal: query `i` sees the keys `j <= i`, also where $L \ne S$.

The check counts: no more than `block_q * block_k` scores of one head and sequence may exist at a time, and tiles wholly in the future must not be computed. Calling an attention function on the whole input is not tiling, and the check says so.
"""


# %% exercise="tiled_attention"
def tiled_attention(query, key, value, block_q, block_k, is_causal=False):
    """Return attention and the logsumexp of the scores, made tile by tile."""
    ### BEGIN SOLUTION: For each block of queries, walk over the visible blocks of keys.
    num_keys, scale, first = key.shape[-2], query.shape[-1] ** -0.5, 0
    outs, lses = [], []
    for q in query.split(block_q, dim=-2):
        rows = torch.arange(first, first + q.shape[-2])[:, None]
        state = (q.new_full(q.shape[:-1], -torch.inf), q.new_zeros(q.shape[:-1]),
                 q.new_zeros(*q.shape[:-1], value.shape[-1]))  # fmt: skip
        for start in range(0, num_keys, block_k):
            columns = torch.arange(start, min(start + block_k, num_keys))
            if is_causal and start > rows[-1]:
                break
            k, v = (x[..., start : start + block_k, :] for x in (key, value))
            scores = scale * q @ k.mT
            if is_causal:
                scores = scores.masked_fill(columns > rows, -torch.inf)
            state = attention.online_softmax_step(*state, scores, v)
        m, l, acc = state
        outs.append(acc / l[..., None])
        lses.append(m + l.log())
        first += q.shape[-2]
    return torch.cat(outs, dim=-2), torch.cat(lses, dim=-1)
    ### END SOLUTION


# %%
check("tiled_attention", tiled_attention)
# hint("tiled_attention")

# %% [markdown]
"""
**How exact is exact?** 100 queries, 130 keys, 32-bit numbers, six sizes of blocks in each direction, causal and not, against SDPA in 64 bits.

**Predict.** Do small tiles, with many more rescalings, lose digits?
"""

# %%
query, key, value = (
    torch.randn(1, 3, n, 32, generator=generator, dtype=torch.float64) for n in (100, 130, 130)
)
single = [x.float() for x in (query, key, value)]
sizes, errors = (3, 7, 16, 50, 128, 200), {}
for is_causal in (False, True):
    exact = F.scaled_dot_product_attention(query, key, value, is_causal=is_causal)
    for block_q in sizes:
        for block_k in sizes:
            out, _ = attention.tiled_attention(*single, block_q, block_k, is_causal)
            errors[is_causal, block_q, block_k] = (out - exact).abs().max().item()
plain = F.scaled_dot_product_attention(*single)
plain = (plain - F.scaled_dot_product_attention(query, key, value)).abs().max().item()
print(f"{len(errors)} cases; all errors below 2e-6: {max(errors.values()) < 2e-6}")
print(f"at most five times the error of SDPA in 32 bits: {max(errors.values()) < 5 * plain}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

No. Every factor $e^{m - m'}$ is at most 1, so earlier rounding errors shrink with it. *Exact* means: the same formula, no approximation, different rounding. Two results need not agree bit for bit, and a test must not ask for that.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 5. Find the bug

Text A explains flash attention with this function. It runs, the shapes are right, and the weights of every tile sum to 1.

**Predict.** Four things are wrong. Before running anything, set all values to 1. What must attention return, and what does this function return?
"""


# %% guess={"name": "09.listing", "kind": "number", "asks": "All values are 1: what does text A's flash_attention_concept, printed in the next cell, return for {n} tokens in blocks of 64?", "low": 0.1, "high": 100, "log": true, "reads": "n = 512: values of 1 become {}", "varied": [{"n": 512}, {"n": 256}, {"n": 1024}, {"n": 64}], "becomes": "n / 64"}
guess("09.listing")


# %%
def flash_attention_concept(q, k, v, block_size=64):
    """Return what a published listing calls flash attention; wrong in four ways."""
    seq_len = q.size(1)
    output = torch.zeros_like(q)
    for i in range(0, seq_len, block_size):
        for j in range(0, seq_len, block_size):
            q_block = q[:, i : i + block_size]
            k_block = k[:, j : j + block_size]
            v_block = v[:, j : j + block_size]
            scores = torch.matmul(q_block, k_block.transpose(-2, -1))
            attn = F.softmax(scores, dim=-1)
            output[:, i : i + block_size] += torch.matmul(attn, v_block)
    return output


for n in (64, 128, 256, 512):
    q, k = torch.randn(2, 1, n, 32, generator=generator).unbind()
    ones = flash_attention_concept(q, k, torch.ones(1, n, 32))
    print(f"n = {n:3}: values of 1 become {ones.mean():.3f}; tiles of keys: {n // 64}")

# %% [markdown]
"""
<details><summary>Answer</summary>

A weighted average of ones is 1. Here it is the number of tiles: each tile is normalised by itself, and then they are added up. The total weight of a query grows with the length of the text.

The function can be right only where all keys fit in one tile, which is where nobody needs it.

</details>

**Predict.** At $n = 64$ there is only one tile. Is the result right then? And what happens to keys beyond the number of queries?
"""

# %%
q, k, v = torch.randn(3, 1, 64, 32, generator=generator).unbind()
one_tile = flash_attention_concept(q, k, v)
for scale in (1.0, 32**-0.5):
    error = (one_tile - F.scaled_dot_product_attention(q, k, v, scale=scale)).abs().max()
    print(f"one tile, compared with attention of scale {scale:.4f}: off by {error:.1f} at most")
k, v = torch.randn(2, 1, 128, 32, generator=generator).unbind()
first = flash_attention_concept(q, k, v)
k[:, 64:] = v[:, 64:] = 1000.0
print("keys 64 to 127 replaced; same output:", torch.equal(flash_attention_concept(q, k, v), first))
try:
    flash_attention_concept(q, k, v[..., :16])
except RuntimeError as error:
    print("values of width 16:", str(error)[:60], "...")

# %% [markdown]
r"""
<details><summary>Answer</summary>

1. Tiles are normalised one by one and summed.
2. The scale $1/\sqrt d$ is missing: with one tile it equals attention with scale 1.
3. Both loops run over the length of the queries, so later keys are never seen.
4. The output is given the shape of the query, so values of another width do not fit.

</details>

There is a test that needs no reference at all. Attention does not care in which order keys and values come, as long as they move together.
"""


# %%
def repaired(q, k, v, block_size=64):
    """Return the same loop with the state carried along."""
    output = q.new_empty(*q.shape[:-1], v.shape[-1])
    for i in range(0, q.shape[1], block_size):
        q_block = q[:, i : i + block_size] * q.shape[-1] ** -0.5
        m, l = q_block.new_full(q_block.shape[:-1], -torch.inf), torch.zeros(q_block.shape[:-1])
        acc = q_block.new_zeros(*m.shape, v.shape[-1])
        for j in range(0, k.shape[1], block_size):
            scores = q_block @ k[:, j : j + block_size].mT
            m, l, acc = attention.online_softmax_step(m, l, acc, scores, v[:, j : j + block_size])
        output[:, i : i + block_size] = acc / l[..., None]
    return output


q, k, v = (torch.randn(1, n, w, generator=generator) for n, w in ((64, 32), (200, 32), (200, 16)))
order = torch.randperm(200, generator=generator)
shuffled = repaired(q, k[:, order], v[:, order])
same = partial(torch.allclose, atol=1e-5)
print("repaired, right:", same(repaired(q, k, v), F.scaled_dot_product_attention(q, k, v)))
print("repaired, keys shuffled, the same:", same(shuffled, repaired(q, k, v)))
q, k, v = torch.randn(3, 1, 200, 32, generator=generator).unbind()
shuffled = flash_attention_concept(q, k[:, order], v[:, order])
print("published, keys shuffled, the same:", same(shuffled, flash_attention_concept(q, k, v)))

# %% [markdown]
"""
The listing's comment says that the real thing needs CUDA kernels. The *algorithm* does not: what you just ran is plain PyTorch, and exact. The *speed* on a GPU does: only a kernel decides what stays on the chip. Section 9 has one.

**Check yourself.** Which single test would have found the first bug at once?

- A. comparing shapes
- B. values of 1
- C. a run at n = 64

<details><summary>Answer</summary>

- A is wrong: all shapes were right.
- **B is right**, at any length above one tile.
- C is wrong: with one tile the bug does not show. A test must be larger than the tile.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 6. Backwards, without the table

Chapter 03 wrote the backward pass with the weights $P$ at hand:

$$dV = P^\top dO, \qquad dP = dO\,V^\top, \qquad dS = P \circ (dP - D), \qquad dQ = dS\,K/\sqrt d, \quad dK = dS^\top Q/\sqrt d$$

with $D_i = \sum_j P_{ij}\,dP_{ij}$, a sum over the whole row. Two things make the table unnecessary:

- $P_{ij} = e^{s_{ij} - \mathrm{lse}_i}$: with lse kept, any tile of weights can be made again, and it comes out normalised;
- $D_i = \sum_j P_{ij}\, dO_i \cdot v_j = dO_i \cdot \sum_j P_{ij} v_j = dO_i \cdot O_i$: the sum of a row of $dO \circ O$, known before the loop begins.

**Predict.** The forward pass costs two matrix products per tile. How many does the backward pass cost?
"""

# %% [markdown]
r"""
<details><summary>Answer</summary>

Five: the scores again, $dP$, and one each for $dV$, $dQ$, $dK$. That is 2.5 times the forward pass, and one product more than with the table stored. Operations are cheap and traffic is not: on a GPU it is faster all the same (Dao et al., 2022).

</details>

### Exercise: `tiled_attention_backward`

*Difficulty · importance · minutes*

Write `tiled_attention_backward(query, key, value, out, lse, grad_out, block_q, block_k, is_causal=False) -> (dq, dk, dv)`.

- `out` and `lse` come from the forward pass, `grad_out` is the gradient of the loss with respect to `out`.
- The limits are those of `tiled_attention`: one tile at a time, none in the future. A visible tile may be computed twice.
"""


# %% exercise="tiled_attention_backward"
def tiled_attention_backward(
    query, key, value, out, lse, grad_out, block_q, block_k, is_causal=False
):
    """Return the gradients of query, key and value, each tile of weights made again."""
    ### BEGIN SOLUTION: Compute D for all rows; per tile: weights from lse, then the five products.
    scale, length = query.shape[-1] ** -0.5, query.shape[-2]
    dq, dk, dv = torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(value)
    D = (grad_out * out).sum(dim=-1, keepdim=True)
    for i in range(0, length, block_q):
        rows = slice(i, min(i + block_q, length))
        q, grad = scale * query[..., rows, :], grad_out[..., rows, :]
        for j in range(0, key.shape[-2], block_k):
            if is_causal and j >= rows.stop:
                break
            keys = slice(j, j + block_k)
            k, v = key[..., keys, :], value[..., keys, :]
            weights = torch.exp(q @ k.mT - lse[..., rows, None])
            if is_causal:
                weights = weights.tril(i - j)  # key j + c is seen by query i + r if c <= r + i - j
            dv[..., keys, :] += weights.mT @ grad
            slope = weights * (grad @ v.mT - D[..., rows, :])
            dq[..., rows, :] += scale * slope @ k
            dk[..., keys, :] += slope.mT @ q
    return dq, dk, dv
    ### END SOLUTION


# %%
check("tiled_attention_backward", tiled_attention_backward)
# hint("tiled_attention_backward")

# %% [markdown]
"""
**Check yourself.** Why is lse kept, and not $m$ and $l$? And why does the backward pass need no maximum?

<details><summary>Answer</summary>

One number does the work of two: the exponent of a normalised weight is s - lse, and it is never above 0, because no weight exceeds 1. So it cannot overflow, and the maximum has nothing left to do.

</details>
"""

# %% [markdown]
r"""
## 7. Memory and time, measured

Four ways to the same result: the table written out; the tiled loop under autograd, like any PyTorch code; the same loop as an autograd function of its own (`recomputed_attention`), which keeps out and lse and makes each tile of weights again when the gradient is computed (section 6 derives it); and SDPA, PyTorch's `F.scaled_dot_product_attention`.

**Predict.** Forward *and backward*: which of the four need memory of order $n^2$?
"""


# %%
def written_out(q, k, v):
    """Return attention with the whole table made."""
    return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1) @ v


def with_backward(fn):
    """Return a function that runs `fn` forward and backward."""
    return lambda *tensors: torch.autograd.grad(fn(*tensors).sum(), tensors)


ways = {
    "written out": written_out,
    "tiled, under autograd": lambda q, k, v: attention.tiled_attention(q, k, v, 256, 256)[0],
    "tiled, recomputed": attention.recomputed_attention,
    "SDPA": F.scaled_dot_product_attention,
}


# %% guess={"name": "09.autograd", "kind": "number", "asks": "Forward and backward, two heads, 4096 tokens: attention written out needs 386 MiB, and how many does a loop over tiles need under autograd?", "low": 1, "high": 1000, "log": true, "unit": "MiB", "reads": "tiled, under autograd {_}.{_}.{_}.{_}.{_}.{_} {}"}
guess("09.autograd")

# %% tags=["nbval-ignore-output"] reason="a progress bar; how much SDPA needs inside depends on the processor"
cases = [(name, n, trains) for name in ways for trains in (0, 1) for n in (1024, 2048, 4096)]
peaks = {}
for name, n, trains in tqdm(cases, "memory", ncols=70, mininterval=1, file=sys.stdout):
    tensors = torch.randn(3, 1, 2, n, 64, generator=generator).unbind()
    tensors = [x.requires_grad_(bool(trains)) for x in tensors]
    fn = with_backward(ways[name]) if trains else ways[name]
    peaks.setdefault(name, []).append(measure.peak_memory(fn, *tensors) / 2**20)
print("MiB above the inputs, 2 heads of width 64")
print(f"{'':24}{'forward':^24}{'forward and backward':^24}")
print(f"{'n':22}" + "".join(f"{n:8}" for n in (1024, 2048, 4096) * 2))
for name, of_way in peaks.items():
    print(f"{name:22}" + "".join(f"{peak:8.1f}" for peak in of_way))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Two: the table written out, as expected, and the tiled loop *under autograd*. Autograd keeps what each operation saw, so it keeps every tile: forward the loop needs little, in training nearly as much as the table. Tiles without recomputation are half of the idea.

The other two grow with $n$. Operations are of order $n^2d$ in all four; memory is what falls.

</details>

The same was recorded beforehand at more lengths, with each way's time as a multiple of SDPA's:
"""


# %% mystnb={"image": {"alt": "Peak memory of forward and backward against the number of tokens, 512 to 8192, both axes logarithmic. The written-out table and the tiled loop under autograd rise with slope two, to 780 and 605 MiB at 4096 tokens. SDPA and recomputed tiles rise with slope one, close together, to 21 and 18 MiB there.<!-- shown: 780 605 21 18 -->"}}
def recorded(what, training, is_causal, quantity):
    """Return a recorded quantity of one way, by length."""
    wanted = (what, training, is_causal)
    keys = ("what", "training", "is_causal")
    runs = [run for run in tiled_record["runs"] if tuple(run[k] for k in keys) == wanted]
    return {run["length"]: run[quantity] for run in runs}


axes = plotting.new_figure("Under autograd, tiles need n² as well", "tokens", "peak MiB, training")
looks = {"written out": ("orange", "o-", 1.35), "tiled": ("pink", "s--", 0.7),
         "SDPA": ("green", "o-", 1.35), "recomputed": ("blue", "s--", 0.7)}  # fmt: skip
for what, (colour, style, shift) in looks.items():
    peaks = {n: peak / 2**20 for n, peak in recorded(what, True, False, "peak_bytes").items()}
    name = {"tiled": "tiled, autograd"}.get(what, what)
    at = (1.08 * max(peaks), shift * peaks[max(peaks)])
    plotting.line(axes, list(peaks), list(peaks.values()), name, colour, at, style)
axes.set(xlim=(450, 30_000))
plotting.power_axis(axes, [512, 1024, 2048, 4096, 8192])
plotting.power_axis(axes, [10, 100, 1000], "y")
at_4096 = {what: recorded(what, True, False, "peak_bytes")[4096] / 2**20 for what in looks}
print("training at 4096 tokens, MiB: ", ", ".join(f"{k} {v:.0f}" for k, v in at_4096.items()))

# %%
print(f"{'exponents from 1024 tokens on':32} time    peak memory")
for law in tiled_record["exponents"]:
    if not law["is_causal"]:
        what = f"{law['what']}, {'training' if law['training'] else 'forward'}"
        print(f"{what:30} {law['milliseconds']:6.2f} {law['peak_bytes']:13.2f}")
peaks = {what: recorded(what, False, False, "peak_bytes")[4096] for what in looks}
output = 4 * 4096 * 64 * 4
print("forward at 4096 tokens, MiB beyond the output:", end="")
print("".join(f"  {what} {(peak - output) / 2**20:.1f}" for what, peak in peaks.items()))

# %% [markdown]
"""
**Predict.** SDPA on a CPU is the same loop, written in C++. How many times as long does the loop in plain PyTorch take? (*recomputed* works in place, one head after the other, in one tile of memory that stays in the processor's cache.)
"""

# %% guess={"name": "09.loop", "kind": "number", "asks": "Forward at 4096 tokens, on one CPU core: how many times as long as SDPA, which is written in C++, does the tiled loop in plain PyTorch take?", "low": 0.5, "high": 200, "log": true, "unit": "times", "reads": {"record": "chapter_09_tiled", "where": {"what": "tiled", "training": false, "is_causal": false, "length": 4096}, "value": "over_sdpa"}}
guess("09.loop")

# %%
print("time, SDPA = 1" + " " * 15 + "".join(f"{n:7}" for n in (512, 1024, 2048, 4096, 8192)))
for training in (False, True):
    for is_causal in (False, True):
        print(f"{'training' if training else 'forward'}{', causal' if is_causal else ''}")
        for what in ("written out", "tiled", "recomputed"):
            ratios = recorded(what, training, is_causal, "over_sdpa").values()
            print(f"   {what:26}" + "".join(f"{one:7.2f}" for one in ratios))
print(tiled_record["date"], tiled_record["settings"]["processor"])

# %%
tiles = {(row["block_q"], row["block_k"]): row for row in tiled_record["tiles"]}
block_ks = sorted({block_k for _, block_k in tiles})
print("time at 2048 tokens, SDPA = 1; recomputed, by keys per tile:")
print("queries per tile" + "".join(f"{block_k:8}" for block_k in block_ks))
for block_q in sorted({block_q for block_q, _ in tiles}):
    print(f"{block_q:16}" + "".join(f"{tiles[block_q, k]['recomputed']:8.2f}" for k in block_ks))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Less than twice as long: at most 1.92 times<!-- shown 2: 1.92 -->. Python's overhead for each tile is small compared with its matrix products. *Recomputed* needs at most 1.32 times SDPA's time<!-- shown 2: 1.32 -->. The written-out table takes 1.37 to 7.71 times as long forward<!-- shown 2: 1.37 7.71 -->, with no clear trend in the length. In training it is close to SDPA over all pairs (at most 1.46<!-- shown 2: 1.46 -->), and far from it with a causal mask (3.96<!-- shown 2: 3.96 --> at 4096 tokens), where it computes the hidden half as well.

Small tiles cost many calls, and a block of few queries reads all keys for little work. From about $256 \times 512$ on (1.23<!-- shown: 1.23 -->) little changes. On a GPU the chip's memory ends this growth: a tile has to fit.

</details>
"""

# %% [markdown]
r"""
**Find the error.** Text A, "Based on production deployments":

| model | length | attention memory | total memory | throughput |
|---|---|---|---|---|
| 125M | 512 | 1.0 MB | 500 MB | 1000 tok/s |
| 350M | 1024 | 4.0 MB | 1.4 GB | 800 tok/s |
| 1.3B | 2048 | 16.0 MB | 5.2 GB | 400 tok/s |
| 6.7B | 4096 | 64.0 MB | 25.0 GB | 200 tok/s |

**Predict.** Which property of the model does the third column depend on? And which formula gives the fourth?

Layers, heads and widths of four models of these sizes are in table 2.1 of GPT-3's paper (Brown et al., 2020):
"""

# %% guess={"name": "09.weights", "kind": "number", "asks": "GPT-3's model of 6.7 billion parameters has 32 layers of 32 heads: how many GiB do all its attention weights over 4096 tokens take, at four bytes each?", "low": 0.01, "high": 1000, "log": true, "unit": "GiB", "reads": "6700M 4096 {_} MiB {_} MiB {} GiB"}
guess("09.weights")

# %%
MODELS = (  # parameters, layers, width, heads, width of a head, as printed; and the text's n
    (125e6, 12, 768, 12, 64, 512), (350e6, 24, 1024, 16, 64, 1024),
    (1.3e9, 24, 2048, 24, 128, 2048), (6.7e9, 32, 4096, 32, 128, 4096),
)  # fmt: skip
print("parameters  n     n² · 4   one layer, all heads   all layers   parameters · 4")
for parameters, layers, width, heads, d_k, n in MODELS:
    one = n * n * 4 / 2**20
    print(f"{parameters / 1e6:6.0f}M {n:6} {one:5.0f} MiB {heads * one:14.0f} MiB", end="")
    print(f" {layers * heads * one / 1024:14.2f} GiB {parameters * 4 / 1e9:10.1f} GB", end="")
    print(f" = {parameters * 4 / 2**30:.1f} GiB")
    if heads * d_k != width:
        print(f"   (as printed: {heads} heads of {d_k} make {heads * d_k}, not {width})")
print(f"batch 32, 12 heads, n = 512, 32 bits: {32 * 12 * 512**2 * 4:,} bytes")

# %% [markdown]
r"""
<details><summary>Answer</summary>

On none. It is $4n^2$ bytes: one head of one layer of one sequence. With the paper's heads and layers, the weights of one layer take 12 to 2048 MiB<!-- shown: 12 2048 -->, those of all layers up to 64 GiB<!-- shown: 64 -->, if they are stored. The fourth column is four bytes per parameter, with no activations, optimiser or cache, and its last row changes the unit: 26.8 GB is 25.0 GiB<!-- shown: 26.8 25.0 -->. The throughputs name no device, batch or precision. Nothing here was measured.

The paper's row for 1.3B does not add up either: 24 heads of 128 are wider than the model. The 384 MiB<!-- shown: 384 --> follow its 24 heads.

A text that prints 402 MB for a batch of 32, 12 heads and 512 tokens is right<!-- shown: 402653184 -->.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 8. Count what moves

Count what is read from HBM and written to it, for one head, if nothing is cached on the way.

- Three kernels: $Q$, $K$, $V$ are read and the output is written ($4nd$); scores and weights are each written and read ($4n^2$).
- Keys outside, algorithm 1 of Dao et al. (2022): the chip holds $M$ numbers, a quarter of them keys: $B_c = \lceil M / 4d \rceil$ keys per block, $T_c = \lceil n / B_c \rceil$ blocks. $K$ and $V$ are read once. For each block, $Q$ is read, the output is read and written, and so are $m$ and $l$.

**Predict.** Double the memory on the chip. By what factor does the traffic of each fall?
"""

# %% [markdown]
r"""
### Exercise: `hbm_traffic`

*Difficulty · importance · minutes*

Write `hbm_traffic(num_tokens, d, sram_elements) -> (standard, flash)`: how many numbers each of the two moves, as Python `int`s.

- `standard` is $4nd + 4n^2$.
- `flash` is algorithm 1 as counted above, with blocks rounded up.
"""


# %% exercise="hbm_traffic"
def hbm_traffic(num_tokens, d, sram_elements):
    """Return the numbers that plain attention and algorithm 1 move between HBM and chip."""
    ### BEGIN SOLUTION: Count the blocks of keys, then what is moved once and what for each block.
    block = math.ceil(sram_elements / (4 * d))
    num_blocks = math.ceil(num_tokens / block)
    matrix = num_tokens * d
    standard = 4 * matrix + 4 * num_tokens * num_tokens
    for_each_block = matrix + 2 * matrix + 2 * (2 * num_tokens)  # Q; output; m and l
    return standard, 2 * matrix + num_blocks * for_each_block
    ### END SOLUTION


# %%
check("hbm_traffic", hbm_traffic)
# hint("hbm_traffic")

# %% [markdown]
r"""
With queries outside the roles change: $Q$ is read once, out and lse are written once, and $K$ and $V$ are read for each block of queries, $2nd + n + T_r \cdot 2nd$.
"""


# %% mystnb={"image": {"alt": "Numbers moved against the size of the chip, for 4096 tokens of width 64, both axes logarithmic. The written-out table stays at 68 million. Keys outside falls from above it to near the floor of one million, roughly in inverse proportion to the size of the chip; queries outside lies below it by a factor of one and a half for most sizes. A vertical line marks the 192 kilobytes of one multiprocessor."}}
def queries_outside(n, d, sram_elements):
    """Return the numbers moved when a block of queries keeps its state on the chip."""
    num_blocks = math.ceil(n / math.ceil(sram_elements / (4 * d)))
    return 2 * n * d + n + num_blocks * 2 * n * d


n, d, chips = 4096, 64, [2**k for k in range(11, 21)]
axes = plotting.new_figure("A larger chip moves less, until all fits",
                           "numbers that the chip holds", "numbers moved")  # fmt: skip
counts = [measure.hbm_traffic(n, d, chip) for chip in chips]
plotting.line(axes, chips, [one for one, _ in counts], "three kernels", "orange", (2**16.8, 9.5e7))
plotting.line(axes, chips, [one for _, one in counts], "keys outside", "blue", (2**17, 2e7), "o-")
plotting.line(axes, chips, [queries_outside(n, d, chip) for chip in chips], "queries outside",
              "green", (2**11, 6e6), "s-")  # fmt: skip
axes.axhline(4 * n * d, color=plotting.QUIET, linestyle=":")
axes.text(2**11, 4 * n * d * 1.15, "inputs and output once", color=plotting.QUIET)
axes.axvline(192 * 1024 // 2, color=plotting.QUIET, linewidth=1)
axes.text(1.05e5, 3.2e8, "192 KB, 16-bit numbers", color=plotting.QUIET, fontsize=10)
axes.set_yscale("log")
plotting.power_axis(axes, chips[::3])

# %%
chip = 192 * 1024 // 2  # numbers of 16 bits
standard, keys_outside = measure.hbm_traffic(n, d, chip)
ours = queries_outside(n, d, chip)
for name, moved in (("three kernels", standard), ("keys outside", keys_outside),
                    ("queries outside", ours), ("inputs and output once", 4 * n * d)):  # fmt: skip
    print(f"{name:23} {moved:12,} numbers, {2 * moved / HBM * 1e6:5.1f} µs on HBM,", end="")
    print(f" {4 * n * n * d / (2 * moved):6.0f} operations per byte")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Plain attention does not benefit. The traffic of algorithm 1 falls to nearly half (on a very small chip it loses, as in section 4), as long as $T_c$ is large: $O(n^2 d^2 / M)$, compared with $O(nd + n^2)$. That is the paper's theorem: less traffic by a factor of about $M/d^2$.

At 192 KB both orders, with 12.0 and 8.1 µs of traffic<!-- shown: 12.0 8.1 -->, wait for arithmetic (13.8 µs, section 1) and no longer for HBM. Queries outside move less, and need no exchange between the processors that work on different queries; FlashAttention-2 and its successors use this order.

</details>

These are formulas. Does the code do what they say? A tracer watches the tensors that `tiled_attention` reads and writes, tile by tile, and counts the bytes.
"""

# %%
n, d = 512, 32
q, k, v = torch.randn(3, 1, 1, n, d, generator=generator).unbind()
traced = partial(measure.trace_torch, sram_elements=4 * 128 * 128)
print("numbers moved                   traced    formula")
for block in (32, 64, 128):
    trace = traced(attention.tiled_attention, q, k, v, block, block)
    print(f"queries outside, {block:3} per block {trace.bytes_moved // 4:8,}", end="")
    print(f" {queries_outside(n, d, 4 * d * block):10,}")
trace = traced(written_out, q, k, v)
print(f"written out {trace.bytes_moved // 4:28,} {measure.hbm_traffic(n, d, 1)[0]:10,}")

# %% [markdown]
r"""
**Predict.** The tiles agree. `written_out` moves more than $4nd + 4n^2$. How many kernels does it run?

<details><summary>Answer</summary>

Four. The division by $\sqrt d$ is a kernel of its own that reads and writes the table once more: $4nd + 6n^2$. Scaling the query first, or *fusing* the scale into a product (one kernel instead of two), saves nearly a third. "Use fused operations", says text A, and this is what it is worth.

</details>

**Check yourself.** Flash attention needs more operations than the written-out table for training (section 6). Why is it faster?

<details><summary>Answer</summary>

Because operations were not what took the time. On the A100 of section 1, one byte of traffic takes as long as 201 operations of a matrix product.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 9. The kernel

On a GPU the loop over queries is not a loop. Each block of queries of each head is a **program** of its own, and hundreds run at the same time. A kernel is the text of one program. Its variables are held in registers and shared memory; only what it loads and stores touches HBM. In Triton (Tillet et al., 2019) such a program is written in Python's syntax, in terms of tiles.

The kernels of this chapter are in `course_utils/attention/tiled/flash/kernels.py`, forward and backward. The same source is compiled on a GPU, and *interpreted* on a CPU: slowly, with every number open to inspection.
"""

# %% [markdown]
r"""
The forward kernel is the loop of section 4. To read it:

- `tl.program_id` says which program this is: which block of queries (axis 0), head (1) and sequence (2).
- `query.load([batch, head, first, 0])` loads a tile from HBM that begins at this index; its shape is fixed when the kernel is launched.
- `tl.constexpr` marks what is known when the kernel is *compiled*, such as the sizes of tiles; a branch on it costs nothing when the kernel runs.
- `GROUP` is how many query heads share one head of keys and values (chapter 08).
- `forward_step` loads a tile of keys and one of values, and hands them to `tile`: the exercise below.
- `extra` and `mod` hold nothing here. Section 12 needs them.
"""

# %% tags=["nbval-ignore-output"] reason="it follows the text of the kernel"
source = Path(flash_kernels.__file__).read_text(encoding="utf-8")
start = source.index("def forward_kernel(")
print(source[start : source.index("\n\n\n", start)])

# %% [markdown]
r"""
New compared with section 4:

- Exponentials are powers of 2: $e^x = 2^{x \log_2 e}$, so the scale carries the factor $\log_2 e$. A GPU has an instruction for $2^x$ only, and few units for it: an H100 does $989\cdot10^{12}$ operations of 16-bit products per second, and $3.9\cdot10^{12}$ exponentials (Shah et al., 2024).
- Two loops: tiles that every query sees whole, and the last ones, where the diagonal or a ragged end needs a comparison.
- Products take 16-bit numbers and add in 32 bits; the state is kept in 32 bits.
"""

# %% [markdown]
r"""
### Exercise: `flash_forward_tile`

*Difficulty · importance · minutes*

Write `flash_forward_tile(m, l, acc, q, k, v, columns, limit, scale_log2) -> (m, l, acc)`, what both loops do with a tile, in Triton's language. No decorator: the check turns it into a kernel.

- `m`, `l`, `acc`: as in section 2, to base 2, in 32 bits. `q`, `k`, `v`: tiles already loaded; rows beyond the end are zeros.
- `columns`: the positions of the keys. Row `i` may see those below `limit[i]`. Both are `None` where every row sees the whole tile.
- `scale_log2`: $\log_2(e)/\sqrt d$.
- You need `tl.dot`, `tl.trans`, `tl.where`, `tl.maximum`, `tl.max`, `tl.sum`, `tl.exp2`. `tl.dot` needs both operands in the same type, and adds to a third argument.
"""


# %% exercise="flash_forward_tile"
def flash_forward_tile(m, l, acc, q, k, v, columns, limit, scale_log2):
    """Add one tile of keys and values to what a tile of queries has seen so far."""
    ### BEGIN SOLUTION: Score the tile, hide what lies beyond limit, rescale what is there, add.
    scores = tl.dot(q, tl.trans(k)) * scale_log2
    if limit is not None:
        scores = tl.where(columns[None, :] < limit[:, None], scores, float("-inf"))
    m_new = tl.maximum(m, tl.max(scores, 1))
    weights = tl.exp2(scores - m_new[:, None])
    shrink = tl.exp2(m - m_new)
    acc = tl.dot(weights.to(v.dtype), v, acc * shrink[:, None])
    return m_new, l * shrink + tl.sum(weights, 1), acc
    ### END SOLUTION


# %%
check("flash_forward_tile", flash_forward_tile)
# hint("flash_forward_tile")

# %% [markdown]
"""
**Now all of it**, forward and backward, as an autograd function. Ragged lengths, fewer queries than keys, four query heads on two heads of keys and values, causal and not, compared with SDPA in 64 bits.

**Predict.** The interpreter computes in 32 bits. Which will be more exact, the output or the gradients?
"""


# %%
def slopes(out, inputs):
    """Return the gradients of the sum of an output."""
    return torch.autograd.grad(out.sum(), inputs)


def worst_errors(fn, dtype, shape=(1, 4, 70), num_keys=101, d=32):
    """Return the largest errors of output and gradients, compared with SDPA in 64 bits."""
    batch, heads, length = shape
    sizes = ((heads, length), (heads // 2, num_keys), (heads // 2, num_keys))
    low = [torch.randn(batch, *s, d, generator=generator).to(dtype).requires_grad_() for s in sizes]
    high = [x.detach().double().requires_grad_() for x in low]
    found = []
    for is_causal in (False, True):
        ours = fn(*low, is_causal)
        exact = F.scaled_dot_product_attention(*high, is_causal=is_causal, enable_gqa=True)
        pairs = [(ours, exact), *zip(slopes(ours, low), slopes(exact, high), strict=True)]
        found.append([(a - b).abs().max().item() for a, b in pairs])
    return [max(column) for column in zip(*found, strict=True)]


# %% tags=["nbval-ignore-output"] reason="Triton may be missing, and the last digits depend on the processor"
try:
    for dtype in (torch.float32, torch.float16):
        errors = worst_errors(flash_attention, dtype)
        names = ("out", "dQ", "dK", "dV")
        print(f"{dtype}:", "  ".join(f"{n} {e:.0e}" for n, e in zip(names, errors, strict=True)))
except ImportError as missing:
    print(f"The kernel was not run. {missing}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The output, though only slightly: the gradients of $K$ and $V$ are sums over all queries. In 32 bits all stay near $10^{-6}$; 16-bit inputs and weights leave about $10^{-3}$.

If the cell says that the kernel was not run, this system has no Triton (it exists for Linux). Nothing else in this chapter needs it.

</details>

And the tracer of section 8, on the kernel this time:
"""

# %% tags=["nbval-ignore-output"] reason="Triton may be missing"
try:
    q, k, v = torch.randn(3, 1, 1, 512, 32, generator=generator).unbind()
    trace = measure.trace_triton(flash_attention, q, k, v)
    print(f"kernel, 512 tokens of width 32: {trace.bytes_moved // 4:,} numbers moved")
    print(f"queries outside, 64 per block:  {queries_outside(512, 32, 4 * 32 * 64):,}")
except ImportError:
    print("The kernel was not traced: it needs Triton.")

# %% [markdown]
r"""
<details><summary>Note</summary>

The two counts are the same: the interpreted kernel really moves what the formula says, so the count on paper is a count of the program.

</details>

**What an interpreter cannot tell** is whether the compiled kernel fits: its tiles into shared memory, its state into registers. The course's tests therefore *compile* the kernels for an H100-class GPU, which needs no GPU. They fail if the kernels use more than 227 KiB of shared memory, if the compiler runs out of registers and keeps even one variable in memory instead (a *spill*), or if it does not use the instructions for matrix products.
"""

# %% [markdown]
r"""
**Check yourself.** Where in the kernel is the $n \times n$ table?

- A. in shared memory
- B. in HBM, but only once
- C. nowhere

<details><summary>Answer</summary>

- A is wrong: at 4096 tokens it takes 32 MiB per head in 16 bits, and a multiprocessor of an A100 has 192 KB of SRAM.
- B is wrong: the only stores are out and lse.
- **C is right.** Tiles of it exist in registers, each for one pass of the loop.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 10. On a GPU

A kernel is written for speed, so the last word is a measurement. This section needs no GPU: it reads two records that `benchmarks/flash/flash_gpu.py` and `benchmarks/flash/flash_tilings.py` made on an H100, with the kernels as they are here. All implementations ran in the same rounds, in 16 bits, always with 16,384 tokens per batch, and with heads × width = 2048. Each output and gradient was compared with 64 bits first.

**Predict.** At 8192 tokens, which is fastest: the kernels of section 9; PyTorch's FlashAttention-2, written in CUDA C++; or cuDNN's, which NVIDIA writes for its own chips? Forward, and backward?
"""


# %%
gpu = measure.read_record("flash_gpu")
sizes = [(width, is_causal) for width in (64, 128) for is_causal in (False, True)]
parts = ("forward", "backward")
names = {"ours": "section 9", "sdpa_cudnn": "SDPA, cuDNN", "sdpa_flash": "SDPA, flash",
         "flex": "FlexAttention", "sdpa_efficient": "SDPA, efficient", "naive": "written out"}  # fmt: skip


def on_gpu(way, quantity, width, is_causal):
    """Return a recorded quantity of one way, by length; nothing where memory did not suffice."""
    wanted = (way, width, is_causal)
    runs = [run for run in gpu["runs"] if (run["what"], run["width"], run["is_causal"]) == wanted]
    return {run["length"]: run[quantity] for run in runs if quantity in run}


def at_8192(way):
    """Return forward and backward Tflop/s at each size."""
    return [on_gpu(way, f"{part}_tflops", *size)[8192] for size in sizes for part in parts]


# %% guess={"name": "09.gpu", "kind": "curve", "asks": "How many Tflop/s does the course's Triton kernel reach forward on an H100 (causal, heads 128 wide, 16,384 tokens in all), for texts of these lengths?", "low": 0, "high": 700, "unit": "Tflop/s", "x": [512, 1024, 2048, 4096, 8192, 16384], "across": "tokens", "reads": {"record": "flash_gpu", "where": {"what": "ours", "width": 128, "is_causal": true}, "value": "forward_tflops", "by": "length"}}
guess("09.gpu")

# %%
print("8192 tokens" + "".join(f"{f'{w}, causal' if c else w:>14}" for w, c in sizes), "  wide")
print("Tflop/s        " + "   forw. backw." * 4)
for way, name in names.items():
    print(f"{name:15}" + "".join(f"{speed:7.0f}" for speed in at_8192(way)))
print("section 9 over")
for way in ("sdpa_cudnn", "sdpa_flash", "naive"):
    ratios = [a / b for a, b in zip(at_8192("ours"), at_8192(way), strict=True)]
    print(f"{names[way]:15}" + "".join(f"{ratio:7.2f}" for ratio in ratios))
for way in ("ours", "naive"):
    print(f"peak GB, width 64: {names[way]} {on_gpu(way, 'peak_bytes', 64, False)[8192] / 1e9:.2f}")
print(gpu["date"], gpu["machine"], gpu["versions"])

# %% mystnb={"image": {"alt": "Two plots of Tflop/s against tokens, 512 to 16,384, causal, heads of width 128. Forward, cuDNN rises from 330 to 624, the kernel of section 9 from 159 to 548, PyTorch's flash backend from 179 to 313; the written-out table stays at or below 26. Backward, the order is the same: at 16,384 tokens 559, 438, 296 and 51.<!-- shown: 330 624 159 548 179 313 26 559 438 296 51 -->"}}
labels = ["forward, Tflop/s", "backward, Tflop/s"]
panels = plotting.new_panels("The course's kernels on an H100, and their rivals", "tokens", labels)
looks = {"ours": ("blue", "o-"), "sdpa_flash": ("green", "s-"), "sdpa_cudnn": ("orange", "^--"),
         "naive": ("pink", "o:")}  # fmt: skip
for axes, part in zip(panels, parts, strict=True):
    for way, (colour, style) in looks.items():
        speeds = on_gpu(way, f"{part}_tflops", 128, True)
        at = (1.15 * max(speeds), speeds[max(speeds)])
        plotting.line(axes, list(speeds), list(speeds.values()), names[way], colour, at, style)
        print(f"{part:9}{names[way]:12}" + "".join(f"{speed:6.0f}" for speed in speeds.values()))
    axes.set(xlim=(450, 80_000), ylim=(0, 700))
    plotting.power_axis(axes, [512, 1024, 2048, 4096, 8192, 16384])
draw_guess(panels[0], "09.gpu")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Forward, cuDNN leads where heads are 128 wide: section 9 has 0.81 and 0.83 of its speed, and for width 64 0.99 and 0.96<!-- shown 2: 0.81 0.83 0.99 0.96 -->. Section 9 is 1.51 to 1.62 times as fast<!-- shown 2: 1.51 1.62 --> as PyTorch's FlashAttention-2, which was written for the chip before this one and uses neither its matrix instructions nor its copy engine; Triton uses both. Backward, it reaches 0.70 to 0.91 of cuDNN's speed<!-- shown 2: 0.70 0.91 -->.

The written-out table takes 7.53 to 39.99 times as long forward, and 34.49 GB where section 9 takes 0.27<!-- shown 2: 7.53 39.99 34.49 0.27 -->. At 16,384 tokens and width 64 it does not fit into 80 GB.

</details>
"""

# %% [markdown]
r"""
A call on a short text may measure something else: the time that Python takes to launch it, while the GPU waits. Replayed from a CUDA graph, nothing is launched from Python.

**Predict.** At 512 tokens a forward call of section 9 takes 0.2 ms. How much of that is launching?
"""

# %%
print("ms forward, width 128, causal      512         1,024         2,048")
for way in ("ours", "sdpa_cudnn", "sdpa_flash"):
    called, replayed = (
        {n: sorted(ms)[len(ms) // 2] for n, ms in on_gpu(way, f"{how}_ms", 128, True).items()}
        for how in ("forward", "replayed")
    )
    said = (f"{called[n]:.2f} – {replayed[n]:.2f}" for n in replayed)
    print(f"{names[way]:12} called – replayed", *said, sep="   ")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Nearly half: 0.22 against 0.13<!-- shown: 0.22 0.13 -->, where a launch from C++ costs next to nothing. From 2048 tokens on it no longer matters. (The first version of this measurement timed cuDNN while it was still looking for its plan, and made it look slow. What is measured must be warm.)

</details>

How large should a tile be? The count of section 8 says: as large as fits. The compiler says what fits. Neither says which is fastest.
"""

# %%
tilings = measure.read_record("flash_tilings")
spread = {}
for run in tilings["runs"]:
    if run["ms"] is not None and not run["is_causal"]:
        spread.setdefault((run["kernel"], run["width"]), []).append(run)
print("the fastest: queries × keys, warps, loads       ms  median   worst")
for (kernel, width), runs in spread.items():
    runs.sort(key=lambda run: run["ms"])
    best, median, worst = runs[0], runs[len(runs) // 2], runs[-1]
    cut = f"{best['block_q']:3} × {best['block_k']:3} {best['num_warps']:7} {best['num_stages']:6}"
    print(
        f"{kernel:10} {width:4} {cut:>28}"
        + "".join(f"{run['ms']:8.2f}" for run in (best, median, worst))
    )
print(tilings["date"], tilings["machine"])

# %% [markdown]
r"""
<details><summary>Answer</summary>

There is no rule: 64 queries or 128, 64 keys or 128, 4 warps or 8. (The two kernels of the backward pass were timed together.) The slowest takes 1.5 to 4 times as long as the fastest, for the same result. Repeats differ by up to a tenth, so the first few of each kernel are a tie, and the course's table, `TILINGS` in `flash_launch.py`, takes one of these. Its first version went by what the compiler reports about registers; this measurement replaced every entry. Another chip needs another table.

</details>
"""

# %% [markdown]
r"""
Published figures with which to compare a measurement:

- FlashAttention (Dao et al., 2022), end to end: 15% faster for BERT-large at 512 tokens, 3 times as fast for GPT-2 at 1024, 2.4 times for texts of 1000 to 4000 tokens.
- FlashAttention-2 (Dao, 2024): 50 to 73% of an A100's peak.
- FlashAttention-3 (Shah et al., 2024): up to 740 Tflop/s in 16 bits on an H100, 75% of its peak, where FlashAttention-2 reaches 35%.

Text D's factor of 2 to 4 "on long sequences" is the authors' figure for A100s, compared with their baselines. On another device, at another length or against another baseline it is another number.
"""

# %% [markdown]
r"""
## 11. In production, call a function

Nobody ships the loop of section 4. `F.scaled_dot_product_attention` chooses among *backends*: flash; memory-efficient and cuDNN's, on a GPU; *math* (the table written out) anywhere. FlexAttention (Dong et al., 2024) compiles a kernel around a mask or score function of yours. `torch.compile` tries to recognise attention in your code.

**Predict.** Which of the ways below write the table (one core, 2048 tokens, 8 heads of width 64)? Does the compiler recognise a written-out attention? And one with a mask?
"""

# %%
production = measure.read_record("chapter_09_production")
print(f"{'time, SDPA = 1':36}          peak MiB   recognised")
for run in production["runs"]:
    asked = run["way"].startswith("written out") and "fused" in run
    fused = ("yes" if run["fused"] else "no") if asked else ""
    print(f"{run['way']:36} {run['over_sdpa']:6.2f} {run['peak_bytes'] / 2**20:10.0f}   {fused}")
print(production["date"], production["versions"], production["settings"]["processor"])

# %% [markdown]
r"""
<details><summary>Answer</summary>

- Those with 132 MiB and more<!-- shown: 132 -->. *Math* is the written-out table under another name; unless it is asked for, it is not taken here.
- `is_causal=True` skips tiles in the future (0.62<!-- shown: 0.62 -->); the same mask as a tensor is read, and nothing is skipped (1.19<!-- shown: 1.19 -->).
- Plain softmax(QKᵀ/√d)V is recognised and becomes SDPA. With `masked_fill` it is not, and the table is back. What a compiler recognises depends on how it is written.
- FlexAttention is given the mask as a function, and skips whole blocks.

So: SDPA with its flag; FlexAttention for other masks; a kernel of your own for what neither can express.

</details>

A backend can be requested. If it does not support the inputs, that is an error, not a silent fallback:
"""


# %%
def selected(backend, *tensors):
    """Return SDPA by the backend that is asked for, or raise."""
    with sdpa_kernel(backend):
        return F.scaled_dot_product_attention(*tensors)


# %%
q, k, v = torch.randn(3, 1, 2, 1024, 64, generator=generator).unbind()
for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.MATH):
    made = measure.largest_tensor(selected, backend, q, k, v)
    print(f"{backend.name:16} largest tensor {made:9,}")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # they say why: this one needs values as wide as the keys
    try:
        selected(SDPBackend.FLASH_ATTENTION, q, k, v[..., :32])
    except RuntimeError as error:
        print("values of another width:", str(error).split(".")[0])

# %% [markdown]
r"""
**Find the error.** A listing of text D prints "Attention Speed Benchmark (1000 forward passes)" and times layers of multi-head, multi-query, grouped-query and linear attention at 512 tokens. Its loop runs 100 times on a GPU and 10 times on a CPU.

**Predict.** The banner is wrong; read the code, not the banner. But what would the times tell you about a model that *generates* text?
"""


# %%
def layer(x, num_kv_heads, attend):
    """Return one attention layer: projections of 8 query heads of width 64, and the output's."""
    widths = [512, 64 * num_kv_heads, 64 * num_kv_heads]
    parts = (x @ torch.zeros(512, sum(widths))).split(widths, dim=-1)
    heads = (part.unflatten(-1, (-1, 64)).transpose(1, 2) for part in parts)
    return attend(*heads).transpose(1, 2).flatten(2) @ torch.zeros(512, 512)


def cpu_milliseconds(calls, rounds=5):
    """Return the median processor time of each call, all of them measured in turns."""
    spent = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.process_time()
            call()
            spent[name].append(1e3 * (time.process_time() - start))
    return {name: sorted(times)[rounds // 2] for name, times in spent.items()}


# %% tags=["nbval-ignore-output"] reason="timings"
x = torch.randn(4, 512, 512, generator=generator)
grouped, linear = attention.grouped_query_attention, attention.linear_attention
times = cpu_milliseconds({
    "MHA": partial(layer, x, 8, grouped), "GQA, 4": partial(layer, x, 4, grouped),
    "MQA": partial(layer, x, 1, grouped), "linear": partial(layer, x, 8, linear),
})  # fmt: skip
print("   ".join(f"{name} {1 / (times['MHA'] / one):.2f}" for name, one in times.items()))

# %% [markdown]
"""
<details><summary>Answer</summary>

Nothing. The loop feeds whole texts, as in training or in reading a prompt. There every query meets every key, whatever the heads share, and sharing only makes two projections smaller. Generating means reading the cache again for every token, and that is where sharing counts (chapters 08 and 10).

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 12. What the kernel leaves out

The kernel of section 9 had one mask. Models ask for more: a window (Mistral), packed documents, a cap on the scores (Gemma 2), slopes (ALiBi), queries that continue a cache.

Each of the masks among them shows a query *one interval* of keys, and its ends never move back from one query to the next. So two numbers per query replace the table, and a tile of queries visits the keys from its first row's beginning to its last row's end, and no others.

**Predict.** 8192 tokens, tiles of 64 queries × 128 keys, as on the H100. What share of the tiles does a causal window of 1024 keys visit? And 32 documents, each of 256?
"""

# %%
n, tile = 8192, gpu_tilings(torch.bfloat16, 64).forward
draws = torch.randn(60, generator=torch.Generator().manual_seed(3))
uneven = (150 * draws.exp()).long().clamp(min=1)
uneven = uneven[uneven.cumsum(0) < n]
asked = {
    "no mask": {}, "causal": {"is_causal": True},
    "causal, window of 1024": {"is_causal": True, "window": (1023, None)},
    "causal, window of 128": {"is_causal": True, "window": (127, None)},
    "128 before, 128 after": {"window": (128, 128)},
    "32 documents, causal": {"is_causal": True, "lengths": torch.full((32,), 256)},
    f"{len(uneven) + 1} uneven documents, causal": {
        "is_causal": True, "lengths": torch.cat((uneven, n - uneven.sum(0, keepdim=True)))},
}  # fmt: skip
print(f"{'':30}tiles visited    of all   compared   pairs computed / seen")
for name, options in asked.items():
    spans = visible_spans(n, n, **options)
    visited, compared, every = count_tiles(spans, tile.block_q, tile.block_k)
    seen = int((spans.queries[1] - spans.queries[0]).clamp(min=0).sum())
    pairs = visited * tile.block_q * tile.block_k / seen
    print(f"{name:30}{visited:13,} {visited / every:9.1%} {compared:10,} {pairs:14.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The window 13.2%, the documents 2.3%<!-- shown: 13.2 2.3 -->; causality alone leaves 50.8%<!-- shown: 50.8 -->.

A tile that some row's interval cuts is compared, number by number; the others are not. The last column is the price of tiles: a window as narrow as a tile computes two pairs for each one that is seen<!-- shown: 2.00 -->; uneven documents 1.56<!-- shown: 1.56 -->, since their ends rarely meet those of tiles.

</details>

A cap and slopes hide nothing: they change scores that are in registers already. Each is a small function that is handed to the kernel, as `tile` was.
"""

# %% tags=["nbval-ignore-output"] reason="it follows the text of the kernel"
source = Path(flash_mods.__file__).read_text(encoding="utf-8")
for name in ("capped", "sloped", "changed"):
    start = source.index(f"def {name}(")
    print(source[start : source.index("\n\n\n", start)], end="\n\n")

# %% [markdown]
r"""
`mod` is known when the kernel is compiled, as in FlexAttention. Where it is `None`, no code is left of it: a call without options compiles to the kernels that section 10 measured, with as many instructions and registers. One of the course's tests makes sure that it stays so.

**Predict.** A mod returns a second result. What is it for? Now all options run in the interpreter, compared with scores written out in 64 bits: `composed_attention` with a mask, a cap and a bias (chapter 06).
"""


# %%
def written(query, key, value, cap=None, slopes=None, offset=0, **options):
    """Return the same with all scores in memory, in the precision of its inputs."""
    length, num_keys = query.shape[2], key.shape[2]
    low, limit = visible_spans(length, num_keys, offset=offset, **options).queries
    steps = (torch.arange(length)[:, None] + offset - torch.arange(num_keys)).abs()
    column = torch.arange(num_keys)
    mask = (column >= low[:, None]) & (column < limit[:, None])

    def score_mod(scores):
        scores = scores if cap is None else attention.soft_cap(scores, cap)
        return scores if slopes is None else scores - slopes.double()[:, None, None] * steps

    return attention.composed_attention(query, key, value, score_mod, mask)


def option_errors(options, length=90, num_keys=130, d=16, d_v=24):
    """Return the largest errors of output and gradients, over their largest entries."""
    sizes = ((4, length, d), (2, num_keys, d), (2, num_keys, d_v))
    low = [torch.randn(1, *size, generator=generator).requires_grad_() for size in sizes]
    high = [x.detach().double().requires_grad_() for x in low]
    ours, exact = flash_attention(*low, **options), written(*high, **options)
    pairs = [(ours, exact), *zip(slopes(ours, low), slopes(exact, high), strict=True)]
    return [((a - b).abs().max() / b.abs().max()).item() for a, b in pairs]


# %% tags=["nbval-ignore-output"] reason="Triton may be missing, and the last digits depend on the processor"
packed = {"lengths": (torch.tensor([20, 1, 69]), torch.tensor([20, 41, 69])), "is_causal": True}
tried = {
    "values wider than keys": {},
    "last query at the last key": {"is_causal": True, "offset": 40},
    "window": {"window": (30, 3), "offset": 40},
    "documents": packed,
    "cap of 2": {"cap": 2.0},
    "slopes": {"slopes": torch.tensor([0.5, 0.25, 0.125, 0.0625]), "offset": 40},
    "cap and documents": packed | {"cap": 2.0},
}
try:
    print(" " * 30 + "out      dQ      dK      dV")
    for name, options in tried.items():
        print(f"{name:26}", "".join(f"{error:8.0e}" for error in option_errors(options)))
except ImportError as missing:
    print(f"The kernel was not run. {missing}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

It is the derivative, for the backward pass: $1 - \tanh^2$ for the cap, 1 for slopes, which only shift a score. Both backward kernels multiply by it; whatever the options, all errors stay near $10^{-6}$.

</details>
"""

# %% [markdown]
r"""
**What is not measured.** No GPU has run these options yet. The interpreter says that their numbers are right. The compiler says that they fit an H100-class GPU: no spill in 16 bits, for heads 64 to 256 wide. For a cap, fitting took smaller tiles or more warps in the backward pass, since its derivative occupies registers.

How fast they are, nobody knows: a third of the tiles need not be a third of the time. `benchmarks/flash/flash_gpu.py` times them where there is a GPU; the records of section 10 do not have them.
"""

# %% [markdown] tags=["further"]
r"""
## 13. What published texts say, once more

Two statements from print are worth checking in full; nine more are folded below them.

**Find the error.** "Memory-efficient implementation with kernel fusion", says text B of flash attention.

<details><summary>Answer</summary>

Half of it is right. *Fusion* puts several steps into one kernel. But without tiles and the online softmax, that kernel would need whole rows of scores, and all keys with them, on the chip at once. And in training the tiles must be recomputed, or autograd keeps them all (section 7).

</details>
"""

# %% [markdown]
r"""
**Find the error.** Text C, "On an NVIDIA A100 GPU", for a batch of 32 with $n = 512$ and $d_k = 64$: scaled dot-product attention takes 0.8 ms, "achieving 250 TFLOPS, 80% of peak"; additive attention takes 15 ms, "achieving 15 TFLOPS, 5% of peak", for 1000 times as many operations: a speed-up of 19.

**Predict.** Check with one multiplication each: operations = speed × time. Which of these figures are consistent with one another?
"""

# %%
work = 32 * 4 * 512 * 512 * 64
print(f"dot product: {work / 1e9:.2f} Gflop, in 0.8 ms {work / 0.8e-3 / 1e12:.1f} Tflop/s;", end="")
ideal = work / 250e12
print(f" at 250 Tflop/s it takes {ideal * 1e6:.1f} µs, {0.8e-3 / ideal:.0f} times less")
print("with 8 or 12 heads", *(f"{h * work / 0.8e-3 / 1e12:.1f} Tflop/s" for h in (8, 12)))
for projected_once in (False, True):
    one = measure.additive_flops(512, 512, 512, 512, 256, projected_once)
    how = "once" if projected_once else "for every pair"
    print(f"additive, projected {how}: {32 * one / 1e9:.1f} Gflop, in 15 ms", end="")
    print(f" {32 * one / 15e-3 / 1e12:.1f} Tflop/s")
print(f"speed × time: {250e12 * 0.8e-3 / 1e9:.0f} and {15e12 * 15e-3 / 1e9:.0f} Gflop")
print(f"shares of the peak {250 / 312:.1%}, {15 / 312:.1%}; 15 / 0.8 = {15 / 0.8}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The shares of the peak and the ratio are right. Nothing else fits. 2.15 Gflop in 0.8 ms are 2.7 Tflop/s<!-- shown: 2.15 2.7 --> (21.5 with 8 heads, 32.2 with 12<!-- shown: 21.5 32.2 -->), and at 250 Tflop/s they would take 8.6 µs, 93 times less<!-- shown: 8.6 93 -->. Neither count of the additive operations gives 15 Tflop/s. And speed × time says that both did nearly the *same* work, 200 and 225 Gflop<!-- shown: 200 225 -->, which contradicts the factor of 1000.

A time without a device, sizes and a command cannot be checked. A time printed together with operations can.

</details>
"""

# %% [markdown]
r"""
<details><summary>Nine more, 1 to 5</summary>

1. Flash attention reduces memory from O(n²) to O(n) (A). *Right*, beyond inputs and output; operations stay $O(n^2d)$.
2. Flash attention: O(n²d) time, O(n) space, exact (D). *Right*; exact up to rounding (section 4).
3. Matrix products reach 80 to 90% of a GPU's peak; element-wise operations have 1 to 5 operations per byte (C). Large square ones can; those of width 64 that write their table cannot. A softmax in 16 bits has 1.5: the second half is right.
4. tanh needs exponentials and is slow beside multiply-adds (C). *Right* on a GPU (section 9). Additive attention's larger cost is moving $n^2 d_a$ numbers.
5. Attention uses 75% of a GPU, an LSTM 5% (C). Without sizes and a device, this says nothing; nor does a table with 15-25, 50-70 or 80-90% for scoring functions.

</details>
"""

# %% [markdown]
r"""
<details><summary>Nine more, 6 to 9</summary>

6. Modern GPUs are often limited by memory bandwidth (C). *Right*: whatever has fewer operations per byte than the ridge, 201 on the A100.
7. On TPUs, use the matrix multiplication units (A). *Right*: a TPU's arithmetic is a large array for matrix products, and needs large tiles too.
8. Profile memory during development (A). *Right*. Section 7 did: under autograd the loop had lost its advantage, and no line of its code shows that.
9. Scaled dot-product attention prevails because its regular products use a GPU well, and allow optimisations such as FlashAttention (C). Written as three kernels it does not use a GPU well; the optimisation is what made it so.

The page *What is measured here* lists them all.

</details>
"""

# %% [markdown]
r"""
## Yours: a head trained through your tiles

So far each of your functions worked alone. Now they work together. An autograd function attends in tiles, forwards and backwards, and a small causal head is trained through it. Then the keys are divided between two workers and the results merged; finally, the keys come tile by tile. Whatever you have not passed yet is the course's.

**Predict.** The loss after 30 steps: will it differ from that of SDPA?
"""


# %%
def trained(attend, steps=30):
    """Train one causal head to imitate another; return its losses, and query, key and value."""
    generator = torch.Generator().manual_seed(9)
    x = torch.randn(1, 2, 50, 12, generator=generator, dtype=torch.float64)
    goal, start = torch.randn(2, 3, 12, 12, generator=generator, dtype=torch.float64) / 12**0.5
    target = F.scaled_dot_product_attention(*(x @ w for w in goal), is_causal=True)
    weights, losses = start.clone().requires_grad_(), []
    for _ in range(steps):
        loss = (attend(*(x @ w for w in weights)) - target).square().mean()
        (slope,) = torch.autograd.grad(loss, weights)
        weights.data -= 2.0 * slope
        losses.append(loss.item())
    return torch.tensor(losses), [(x @ w).detach() for w in weights]


# %%
def in_tiles(parts):
    """Train in tiles, then attend to shares of the keys, and tile by tile."""

    class Tiled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *qkv):
            out, lse = parts.tiled_attention(*qkv, 16, 24, is_causal=True)
            ctx.save_for_backward(*qkv, out, lse)
            return out

        @staticmethod
        def backward(ctx, grad):
            saved = ctx.saved_tensors
            return parts.tiled_attention_backward(*saved, grad, 16, 24, is_causal=True)

    losses, (q, k, v) = trained(Tiled.apply)
    shares = [(k[..., s, :], v[..., s, :]) for s in (slice(0, 20), slice(20, 50))]
    a, b = (parts.tiled_attention(q, *share, 16, 24) for share in shares)
    state = (q.new_full(q.shape[:-1], -torch.inf), q.new_zeros(q.shape[:-1]), torch.zeros_like(v))
    for tile, values in zip(k.split(16, dim=-2), v.split(16, dim=-2), strict=True):
        state = parts.online_softmax_step(*state, q @ tile.mT / 12**0.5, values)
    merged, step_by_step = parts.merge_partials(*a, *b)[0], state[2] / state[1][..., None]
    return {"losses": losses, "merged": merged, "tile by tile": step_by_step}


# %% tags=["nbval-ignore-output"] reason="whose parts run, and how long they take"
parts = yours(
    "online_softmax_step", "merge_partials", "tiled_attention", "tiled_attention_backward"
)
note = parts.run(in_tiles)
note


# %%
def compared(found):
    """Print whether the results are those of SDPA, to rounding."""
    losses, (q, k, v) = trained(partial(F.scaled_dot_product_attention, is_causal=True))
    exact = F.scaled_dot_product_attention(q, k, v)
    first, last = found["losses"][[0, -1]].tolist()
    print(f"loss of the first step {first:.3f}, of the last {last:.3f}")
    for name, wanted in (("losses", losses), ("merged", exact), ("tile by tile", exact)):
        print(f"{name} like SDPA's:", torch.allclose(found[name], wanted, atol=1e-9))


compared(note.result or note.course)

# %% [markdown]
"""
<details><summary>Answer</summary>

No: up to rounding it is the same training, step by step. Nothing in it ever made the table, forwards or backwards.

</details>
"""

# %% [markdown]
r"""
## Recap

1. $QK^\top$ at $512\times64$ has 256 operations per byte if the scores stay on the chip, 51 if they are written; an A100's ridge is at 201. Attention in three kernels waits for HBM, which the table crosses four times. One kernel waits for arithmetic; on paper it takes 6.4 times less.
2. A softmax can be computed over tiles: keep $m$ and $l$ and acc, and multiply the old sums by $e^{m - m'}$ when the maximum rises. Out and lse can be merged with those of other keys.
3. Tiles change no result and no count of operations. Tiles normalised one by one and summed are not attention: values of 1 show it.
"""

# %% [markdown]
r"""
4. The backward pass makes each tile of weights again from lse. Without that, autograd keeps all tiles, and memory grows with $n^2$ as before.
5. Traffic is inversely proportional to the memory on the chip: $O(n^2d^2/M)$. With queries outside, nothing but results is written.
6. A kernel is that loop, as one program for each block of queries. Its speed is a property of a device, a length and a baseline: measure, and record all of it.
"""

# %% tags=["remove-cell"]
progress(9)

# %% [markdown]
"""
**Next**: chapter 10 generates text one token at a time, where one query meets a long cache and no tile of queries is left.
"""

# %% [markdown]
"""
## Go further

- Milakov and Gimelshein (2018): the online softmax. Rabe and Staats (2021): attention in constant extra memory.
- Dao et al. (2022), Dao (2024), Shah et al. (2024): FlashAttention, its second order of loops, and what the next GPU needed.
- Dao et al. (2023): keys split for decoding.
- Tillet et al. (2019): Triton; its tutorial *Fused Attention* is the next kernel to read.
- Dong et al. (2024): FlexAttention. Williams et al. (2009): the roofline.
- Brown et al. (2020): the sizes in section 7's table.
"""

# %% [markdown]
r"""
<details><summary>BibTeX</summary>

```bibtex
@article{milakov2018online,
  title = {Online normalizer calculation for softmax}, author = {Milakov, Maxim and Gimelshein, Natalia},
  journal = {arXiv preprint arXiv:1805.02867}, year = {2018}, url = {https://arxiv.org/abs/1805.02867}}
@article{rabe2021self,
  title = {Self-attention Does Not Need O(n^2) Memory}, author = {Rabe, Markus N. and Staats, Charles},
  journal = {arXiv preprint arXiv:2112.05682}, year = {2021}, url = {https://arxiv.org/abs/2112.05682}}
@inproceedings{dao2022flashattention,
  title = {FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness},
  author = {Dao, Tri and Fu, Daniel Y. and Ermon, Stefano and Rudra, Atri and R{\'e}, Christopher},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2022}, url = {https://arxiv.org/abs/2205.14135}}
@inproceedings{dao2024flashattention2,
  title = {FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning}, author = {Dao, Tri},
  booktitle = {International Conference on Learning Representations}, year = {2024}, url = {https://arxiv.org/abs/2307.08691}}
@inproceedings{shah2024flashattention3,
  title = {FlashAttention-3: Fast and Accurate Attention with Asynchrony and Low-precision},
  author = {Shah, Jay and Bikshandi, Ganesh and Zhang, Ying and Thakkar, Vijay and Ramani, Pradeep and Dao, Tri},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2024}, url = {https://arxiv.org/abs/2407.08608}}
@misc{dao2023flashdecoding,
  title = {Flash-Decoding for long-context inference}, author = {Dao, Tri and Haziza, Daniel and Massa, Francisco and Sizov, Grigory},
  year = {2023}, url = {https://pytorch.org/blog/flash-decoding/}}
@inproceedings{tillet2019triton,
  title = {Triton: An Intermediate Language and Compiler for Tiled Neural Network Computations},
  author = {Tillet, Philippe and Kung, H. T. and Cox, David},
  booktitle = {Machine Learning and Programming Languages}, year = {2019}, doi = {10.1145/3315508.3329973}}
@misc{dong2024flex,
  title = {Flex Attention: A Programming Model for Generating Optimized Attention Kernels},
  author = {Dong, Juechu and Feng, Boyuan and Guessous, Driss and Liang, Yanbo and He, Horace},
  year = {2024}, url = {https://arxiv.org/abs/2412.05496}}
@article{williams2009roofline,
  title = {Roofline: An Insightful Visual Performance Model for Multicore Architectures},
  author = {Williams, Samuel and Waterman, Andrew and Patterson, David},
  journal = {Communications of the ACM}, volume = {52}, number = {4}, pages = {65--76}, year = {2009}, doi = {10.1145/1498765.1498785}}
@inproceedings{brown2020language,
  title = {Language Models are Few-Shot Learners}, author = {Brown, Tom B. and others},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2020}, url = {https://arxiv.org/abs/2005.14165}}
```

</details>
"""
