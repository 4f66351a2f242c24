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
# Write scaled dot-product attention, and see why the scale is 1/√dₖ

A query is compared with 16 keys, and the softmax turns the scores into weights. How wide queries and keys are, $d_k$, decides how sure it is.

Play for one minute: make $d_k$ large without the scale, then divide by $\sqrt{d_k}$. **From which width on does one key get nearly all the weight, and what does the scale change?** At the end of the chapter you can explain it.
"""

# %% tags=["remove-input"]
from course_utils.widgets import scale_explorer

opening = scale_explorer()
opening

# %% [markdown]
r"""
*You will be able to*

1. write attention from four lines of algebra, with masks, for any shape, and check it against PyTorch;
2. derive $\mathrm{Var}(q\cdot k) = d_k$, and say which assumption fails where it does not hold;
3. predict, from $d_k$ and the scale, whether a softmax is saturated and what reaches the scores through it;
4. say when the scale matters for training;
5. (further) count what attention costs; write the backward pass by hand and agree with autograd.

*You need* matrix products, exponential and logarithm, partial derivatives, mean and variance, and PyTorch's `autograd`; chapter 02 for where dot-product scores come from. Section 11 trains a model, as chapter 01 did.

*Core path · further*
"""

# %% [markdown]
"""
How to read: a question comes before each experiment. Write your guess down, run the cell, then open the answer. A guess that was wrong is worth more than one that was right.

All shapes are written with the same letters: $L$ queries, $S$ keys (and as many values), width $d_k$ of a query or key, width $d_v$ of a value. $L$ and $S$ stay two letters even where they are equal. In code, `@` is the matrix product and `x.mT` is `x` with its last two axes swapped.
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
import itertools
import math
import sys
from functools import partial
from statistics import mean

import torch
from matplotlib import pyplot as plt
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from tqdm import tqdm

from course_utils import attention, heatmap, matrix_plotting, measure, plotting
from course_utils.data import character_text, encode
from course_utils.guessing import draw_guess, guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.models import next_character_loss, train_character_model

plotting.use_style()
torch.set_num_threads(1)
torch.set_flush_denormal(True)  # unscaled wide scores underflow, and denormals are slow
torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
r"""
## 1. One query, three keys, by hand

A query says what one position looks for. Each key says what a position offers. Each value is what that position hands over. One query, three keys and three values are enough to see the whole mechanism:

$$q = (1,\ 0.5,\ -0.3,\ 0.8)$$

Here $L = 1$, $S = 3$, $d_k = 4$ and $d_v = 5$: four sizes, all different, so that no product can be written the wrong way round by luck.
"""

# %%
query = torch.tensor([[1.0, 0.5, -0.3, 0.8]])
key = torch.tensor([[0.8, 0.2, -0.1, 0.5], [0.3, 0.7, 0.4, -0.2], [-0.5, 0.1, 0.9, 0.6]])
value = torch.tensor(
    [[0.5, 0.8, -0.2, 0.6, 0.3], [0.2, -0.4, 0.7, 0.1, 0.9], [-0.3, 0.5, 0.4, -0.6, 0.2]]
)
example = query, key, value
print("query", tuple(query.shape), " key", tuple(key.shape), " value", tuple(value.shape))

# %% [markdown]
r"""
**Step 1: score each key.** The score is the dot product of the query with the key. The first one by hand:

$$1\cdot 0.8 + 0.5\cdot 0.2 + (-0.3)(-0.1) + 0.8\cdot 0.5 = 0.8 + 0.1 + 0.03 + 0.4 = 1.33$$

**Predict.** Work out the score of the third key. Which sign does it have?
"""

# %%
scores = query @ key.mT
print("scores", scores)

# %% [markdown]
r"""
<details><summary>Answer</summary>

$-0.5 + 0.05 - 0.27 + 0.48 = -0.24$. A negative score does not mean a negative weight: only differences between scores will count.

</details>

**Step 2: scale** by $1/\sqrt{d_k} = 1/\sqrt 4 = 1/2$. **Step 3: softmax**, $w_j = e^{s_j} / \sum_{m} e^{s_m}$.

**Predict.** Does the first key get more or less than half of the weight? And without step 2?
"""

# %%
scaled = scores / math.sqrt(query.shape[-1])
weights = torch.softmax(scaled, dim=-1)
print("scaled          ", scaled)
print("weights         ", weights, " sum", round(weights.sum().item(), 4))
print("without the scale", torch.softmax(scores, dim=-1))

# %% [markdown]
"""
<details><summary>Answer</summary>

With the scale the first key gets 0.4820, less than half. Without it 0.6286<!-- shown: 0.4820 0.6286 -->. At this small width the scale makes a modest difference; the chapter is about why it does not stay modest.

</details>

**Step 4: average the values** with these weights. Each entry of the output is a weighted mean of one column of the values, so it can never leave the range of that column.
"""

# %%
out = weights @ value
print("output", out)
print("largest value of each column ", value.amax(dim=0))
print("smallest value of each column", value.amin(dim=0))

# %% [markdown]
r"""
## 2. The whole formula, and its shapes

Many queries at once turn the four steps into two matrix products:
"""

# %% tags=["remove-input"]
from course_utils.diagrams import diagram

diagram("03")

# %% [markdown]
r"""
$$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right) V \tag{1}$$

| | shape | row $i$ is |
|---|---|---|
| $Q$, query | $L \times d_k$ | what position $i$ looks for |
| $K$, key | $S \times d_k$ | what position $i$ offers |
| $V$, value | $S \times d_v$ | what position $i$ hands over |
| $QK^\top$, scores | $L \times S$ | how query $i$ matches each key |
| softmax, weights | $L \times S$ | what share query $i$ takes of each value |
| output | $L \times d_v$ | the average that query $i$ gets |

The softmax runs along the row. Keys and values come in pairs, so both have $S$ rows. Queries may be fewer or more.
"""

# %% mystnb={"image": {"alt": "Query times transposed key gives a 3 by 5 matrix of scores; scaling and softmax turn it into a 3 by 5 matrix of weights; weights times value give a 3 by 2 output. Every square holds its number."}}
generator = torch.Generator().manual_seed(11)
small = [torch.randn(*shape, generator=generator) for shape in [(3, 4), (5, 4), (5, 2)]]
flow_weights = attention.attention_weights(small[0], small[1])
matrix_plotting.matrix_flow(
    [
        [("Q", small[0]), ("Kᵀ", small[1].mT), ("scores", small[0] @ small[1].mT)],
        [("weights", flow_weights), ("V", small[2]), ("output", flow_weights @ small[2])],
    ],
    joins=[["·", "="], ["·", "="]],
    between="divide by √d_k = 2, then softmax along each row",
    title="Two products with a softmax between them",
)

# %% [markdown]
"""
Follow one row of numbers through the figure: its scores, halved, make its weights, and those its output.

**Check yourself.** Q is 10×64, K is 20×64, V is 20×128. What shape does the output have?

- A. 10×64
- B. 10×128
- C. 20×128

<details><summary>Answer</summary>

- A is wrong: 64 is the width that queries and keys are compared in. It disappears in the product.
- **B is right.** One row for each query, as wide as a value. The weights are 10×20.
- C is wrong: 20 counts the keys. They are averaged over, so no output row belongs to one of them.

</details>
"""

# %%
shapes = [(10, 64), (20, 64), (20, 128)]
q, k, v = (torch.randn(*shape, generator=generator) for shape in shapes)
print("output ", tuple(attention.scaled_dot_product_attention(q, k, v).shape))
print("weights", tuple(attention.attention_weights(q, k).shape))
print(f"operations in QKᵀ: {measure.count_flops(lambda: q @ k.mT):,}")

# %% [markdown]
r"""
**Where the parameters are.** Formula (1) has nothing to learn, and text C (A to E are listed on the page *What is measured here*) calls the mechanism "parameter-free". In a model it is not. A model keeps one row of numbers for each position and adds to it layer by layer: the **stream**, of width $d_{model}$. Queries and keys are products of its rows, $q = xW_Q$ and $k = yW_K$, so

$$q\cdot k = x\, W_Q W_K^\top\, y^\top,$$

the *general* score of Luong et al. (2015) with a matrix of rank at most $d_k$. One attention with its own matrices is a **head**; chapter 05 runs several of them side by side. Dot-product scores are from Luong et al.; the scale is from Vaswani et al. (2017).
"""

# %% [markdown]
"""
**Predict.** For a stream of width 512 and a head of width 64: how many numbers do the two matrices hold, and how many would a full 512×512 matrix?
"""

# %% guess={"name": "03.parameters", "kind": "number", "asks": "How many numbers do two projections from width 512 to width 64 hold, one for queries and one for keys?", "low": 1000, "high": 1000000, "log": true, "reads": "two projections {}"}
guess("03.parameters")

# %%
w_query, w_key = (torch.randn(512, 64, generator=generator) for _ in range(2))
product = w_query @ w_key.T
print(f"two projections {w_query.numel() + w_key.numel():,}   full matrix {product.numel():,}")
print("rank of the product", torch.linalg.matrix_rank(product).item(), "of", len(product))

# %% [markdown]
r"""
## 3. A softmax that survives

The definition, typed as it stands, fails on input that a model really meets: large scores overflow, and a row of $-\infty$ (a query with no visible key, section 5) divides zero by zero.

**Predict.** Which of the three rows below come out right?
"""

# %%
rows = torch.tensor([[2.0, 1.0, 0.0], [10_000.0, 9_999.0, 0.0], [-torch.inf] * 3])
powers = rows.exp()
print("as typed        ", powers / powers.sum(dim=-1, keepdim=True))
print("torch.softmax   ", torch.softmax(rows, dim=-1))
print("what we want    ", attention.stable_softmax(rows))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Typed as defined, only the first. $e^{10000}$ is more than a float can hold: it becomes `inf`, and `inf / inf` is `nan`. `torch.softmax` repairs that row with one idea: a shift of the whole row cancels,

$$\frac{e^{s_j - c}}{\sum_m e^{s_m - c}} = \frac{e^{-c}\,e^{s_j}}{e^{-c}\sum_m e^{s_m}},$$

and with $c = \max_m s_m$ no exponent is above 0. The third row defeats it too, because $-\infty - (-\infty)$ is `nan`. Such a query should take nothing from anyone: zeros.

</details>
"""

# %% [markdown]
"""
### Exercise: `stable_softmax`

*Difficulty · importance · minutes*

Write `stable_softmax(scores) -> weights`.

- `scores` has any number of axes; the softmax runs over the last. The result has the same shape and dtype.
- Scores of 10,000 give numbers, not `nan`.
- A row that is -inf everywhere gives zeros, and gradients of exactly zero.
- The input is not changed, and the result carries gradients.

The check looks at the values, at row sums, at empty rows and at the gradient.
"""


# %% exercise="stable_softmax"
def stable_softmax(scores):
    """Turn each row of scores into weights that are not negative and sum to 1."""
    ### BEGIN SOLUTION: Shift each row, take powers, divide by their sum; mind rows of -inf.
    empty = (scores == -torch.inf).all(dim=-1, keepdim=True)
    scores = scores.masked_fill(empty, 0.0)  # any finite row will do: its weights are not used
    shifted = scores - scores.max(dim=-1, keepdim=True).values
    weights = shifted.exp() / shifted.exp().sum(dim=-1, keepdim=True)
    return weights.masked_fill(empty, 0.0)
    ### END SOLUTION


# %%
check("stable_softmax", stable_softmax)
# hint("stable_softmax")  # remove the first # for a hint; each call gives one more

# %% [markdown]
"""
**Find the error.** Three vectors that text C prints as the result of a softmax:

1. softmax of (10, 0) is (0.9999, 0.0001);
2. a softmax over ten keys is (0.9997, 0.0001, 0.0001, 0.0001, …), all the others equal;
3. softmax of (2.5, 2.25, -1.875, -2.25) is (0.476, 0.378, 0.061, 0.085).

**Predict.** Two of them can be refused without computing one exponential. Which, and by which property of a softmax?
"""

# %%
for name, gap in (("1.", 10.0), ("   neighbour example:", 20.0)):
    large, small = attention.stable_softmax(torch.tensor([gap, 0.0], dtype=torch.float64))
    print(f"{name} softmax({gap:.0f}, 0) = {large:.6f}, {small:.3g}")
print("2. sum:", round(0.9997 + 9 * 0.0001, 4))
logits = torch.tensor([2.5, 2.25, -1.875, -2.25])
right = attention.stable_softmax(logits)
print("3. weights", [round(w, 4) for w in right.tolist()])
print("   w(1 - w)", [round(w, 4) for w in (right * (1 - right)).tolist()])

# %% [markdown]
r"""
<details><summary>Answer</summary>

The second sums to 1.0006<!-- shown: 1.0006 -->; weights sum to 1. The third gives its lowest score 0.085 and a higher one 0.061: softmax keeps the order. The right weights are 0.5555, 0.4327, 0.0070 and 0.0048<!-- shown: 0.5555 0.4327 0.0070 0.0048 -->.

The first needs the exponential. The two weights are 0.999955 and 0.0000454, so the small one is less than half of what is printed, and neither printed number is the right rounding. The neighbour example in that text, $2\times 10^{-9}$ for scores 20 apart, is right.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** Add 7 to every score of one row. Its weights

- A. grow by the factor $e^7$
- B. stay as they are
- C. become flatter

<details><summary>Answer</summary>

- A is wrong: the numerator grows by $e^7$, and so does the sum below it.
- **B is right**, and it is what `stable_softmax` is built on.
- C is wrong: adding moves all scores alike. *Multiplying* by a number below 1 flattens.

</details>
"""

# %% [markdown]
r"""
## 4. From queries and keys to weights

The scores of all pairs are one product, $QK^\top$. Two choices can go wrong here, and both give output of the right shape:

- **the axis.** Each query divides its attention among the keys, so each *row* sums to 1;
- **the scale.** It multiplies the scores before the softmax. By default it is $1/\sqrt{d_k}$, with the width of a key, not the number of keys and not the width of a value.

`scale` is a number like any other. `scale=0.0` is a legitimate choice: all scores become 0 and each key gets $1/S$.

`math.sqrt(d_k)` is enough; text C's `torch.sqrt(torch.tensor(d_k))` is right too, and makes a tensor for nothing.
"""

# %% [markdown]
r"""
### Exercise: `attention_weights`

*Difficulty · importance · minutes*

Write `attention_weights(query, key, scale=None) -> weights`.

- `query` is `(..., L, d_k)`, `key` is `(..., S, d_k)`, the result `(..., L, S)`. There may be any number of leading axes, including none.
- `scale` multiplies the scores; `None` means $1/\sqrt{d_k}$.
- Every row sums to 1, also for large scores. You may use your `stable_softmax` or `torch.softmax`.

The check uses sizes that are all different, scales other than the default (0.0 among them), and the gradient.
"""


# %% exercise="attention_weights"
def attention_weights(query, key, scale=None):
    """Return the share that each query takes of each key."""
    ### BEGIN SOLUTION: Score all pairs with one product, scale, softmax over the keys.
    if scale is None:
        scale = query.shape[-1] ** -0.5
    scores = torch.einsum("...ld,...sd->...ls", query, key)
    return torch.softmax(scores * scale, dim=-1)
    ### END SOLUTION


# %%
check("attention_weights", attention_weights)
# hint("attention_weights")

# %% [markdown]
"""
**Check yourself.** Someone writes `softmax(scores, dim=-2)`. For L = S the shapes are right and the loss falls. What has each query lost?

<details><summary>Answer</summary>

Its own sum. Each *key* now divides one unit among the queries. A query's weights may sum to 0.1 or to 3, so its output is no longer an average: it can leave the range of the values. Row sums show this immediately, which is why the checker looks at them.

</details>
"""

# %% [markdown]
r"""
## 5. Output, masks, and queries that see nothing

A mask says who may look at whom. Here it is boolean; **True means: may attend**. A hidden pair gets the score $-\infty$ before the softmax, so its weight is exactly 0 and the row still sums to 1.

A query may have no key at all, as padding does. Implementations differ:

| hidden pairs get | a row with nothing to see becomes |
|---|---|
| -1e9, in place or not | uniform: an average over keys that it must not see |
| $-\infty$, plain softmax | `nan` |
| $-\infty$, guarded softmax | zeros (PyTorch's SDPA, and this course) |

**Predict.** One of three queries sees nothing; the loss ignores its row. Is the gradient of the *values* affected? And that of the keys?
"""

# %% guess={"name": "03.empty", "kind": "choice", "asks": "With the plain softmax, which gradients become nan if a query that sees no key is left out of the loss?", "take": "printed", "options": {"none: the loss ignores that row": "plain {_}keys 0.{_}, values 1.", "those of the keys": "plain {_}keys nan, values 1.", "those of the values": "plain {_}keys 0.{_}, values nan", "both": "plain {_}keys nan, values nan"}}
guess("03.empty")

# %%
shapes = [(3, 4), (5, 4), (5, 2)]
q, k, v = (torch.randn(*shape, generator=generator).requires_grad_() for shape in shapes)
mask = torch.ones(3, 5, dtype=torch.bool)
mask[1] = False
scores = (q @ k.mT / 2).masked_fill(~mask, -torch.inf)
for name, weights in (
    ("plain", torch.softmax(scores, dim=-1)),
    ("guarded", attention.stable_softmax(scores)),
):
    loss = (weights @ v)[[0, 2]].sum()  # row 1 plays no part
    grad_key, grad_value = torch.autograd.grad(loss, (k, v), retain_graph=True)
    print(f"{name:8} loss {loss.item():.3f}   size of the gradients: ", end="")
    print(f"keys {grad_key.norm():.3f}, values {grad_value.norm():.3f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The loss is a number in both cases, yet with the plain softmax *all* values get the gradient `nan`. In the backward pass a value collects (weight) × (gradient of the row), and the ignored row contributes `nan` · 0 = `nan`. The keys escape here, because `masked_fill` cuts hidden pairs out of their gradient; with an *additive* mask (0 where a query may look, $-\infty$ elsewhere, added to the scores) they would not. One empty row therefore poisons the model at the next step. The zero must have a zero gradient too.

</details>

The other choice, -1e9, never gives `nan`. It has two faults of its own.
"""

# %%
scores = torch.zeros(2, 5).masked_fill(torch.tensor([[False], [True]]), -1e9)
print("row 1 sees nothing, and takes", torch.softmax(scores, dim=-1)[1])
try:
    torch.zeros(2, 5, dtype=torch.float16).masked_fill(torch.tensor([[False], [True]]), -1e9)
except RuntimeError as error:
    print("in float16:", error)

# %% [markdown]
r"""
### Exercise: `scaled_dot_product_attention`

*Difficulty · importance · minutes*

Write `scaled_dot_product_attention(query, key, value, attn_mask=None, scale=None) -> out`.

- `(..., L, d_k)`, `(..., S, d_k)`, `(..., S, d_v)` give `(..., L, d_v)`; `scale` as before.
- `attn_mask` is boolean, True = may attend, and broadcasts to `(..., L, S)`.
- A query with no visible key gives zeros, and all gradients stay finite.
- Neither inputs nor mask are changed.

Write the steps yourself. An answer that calls `F.scaled_dot_product_attention` is recognised and named, and does not pass. A fill of -1e9 passes if empty rows end as zeros.
"""


# %% exercise="scaled_dot_product_attention"
def scaled_dot_product_attention(query, key, value, attn_mask=None, scale=None):
    """Return, for each query, the weighted average of the values."""
    ### BEGIN SOLUTION: Score, scale, hide, softmax, average; zeros where nothing may be seen.
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = query @ key.transpose(-2, -1) * scale
    if attn_mask is None:
        return torch.softmax(scores, dim=-1) @ value
    visible = attn_mask.expand(scores.shape)
    sees_something = visible.any(dim=-1, keepdim=True)
    scores = scores.masked_fill(~visible & sees_something, -torch.inf)
    weights = torch.softmax(scores, dim=-1).masked_fill(~visible, 0.0)
    return weights @ value
    ### END SOLUTION


# %%
check("scaled_dot_product_attention", scaled_dot_product_attention)
# hint("scaled_dot_product_attention")

# %% [markdown]
"""
**The oracle.** PyTorch's plain implementation (`SDPBackend.MATH`) in float64 is the judge of ours: outputs and gradients, two leading axes, L ≠ S, a mask with an empty row.
"""

# %%
shapes = [(2, 3, 4, 6), (2, 3, 7, 6), (2, 3, 7, 5)]
tensors = [torch.randn(*s, generator=generator, dtype=torch.float64) for s in shapes]
tensors = [tensor.requires_grad_() for tensor in tensors]
mask = torch.rand(4, 7, generator=generator) < 0.5
mask[2] = False
ours = attention.scaled_dot_product_attention(*tensors, mask)
with sdpa_kernel(SDPBackend.MATH):
    theirs = F.scaled_dot_product_attention(*tensors, mask)
ours_grad, theirs_grad = (torch.autograd.grad(out.sin().sum(), tensors) for out in (ours, theirs))
torch.testing.assert_close((ours, *ours_grad), (theirs, *theirs_grad))
print("equal, outputs and gradients; row 2 is all zeros:", bool((ours[:, :, 2] == 0).all()))

# %% [markdown]
"""
Any number of leading axes works, because `@` and `softmax(dim=-1)` look at the last two. `torch.bmm`, in a listing of text D, needs exactly one and fails with heads.

Two lengths with $d_k = 32$ and $d_v = 48$, then one wider batch.

**Predict.** Queries and keys are random. Do the maps look flat?
"""

# %% mystnb={"image": {"alt": "Two heat maps of attention weights, 5 by 5 and 10 by 10, from random queries and keys. Both are uneven; the largest weight of each is a little below one half.<!-- shown: 0.47 0.46 -->"}}
figure, panels = plt.subplots(1, 2, figsize=(plotting.WIDTH, 3.9))
plotting.headline(figure, "Untrained heads look uneven too")
for panel, length, decimals in zip(panels, (5, 10), (2, None), strict=True):
    q, k, v = (torch.randn(1, length, width, generator=generator) for width in (32, 32, 48))
    weights = attention.attention_weights(q, k)
    out = attention.scaled_dot_product_attention(q, k, v)
    print(f"output {tuple(out.shape)}  weights {tuple(weights.shape)}  top {weights.amax():.2f}")
    matrix_plotting.weight_map(
        panel, weights[0], title=f"{length} keys", top=0.6, decimals=decimals
    )
    panel.set(xlabel="key", ylabel="query")
matrix_plotting.colour_key(panels, top=0.6, label="weight")
q, k, v = (torch.randn(2, 10, 512, generator=generator) for _ in range(3))
out = attention.scaled_dot_product_attention(q, k, v)
print(f"output {tuple(out.shape)}  weights {tuple(attention.attention_weights(q, k).shape)}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

No. Scaled scores of random vectors still have standard deviation 1. Two scores that lie 2 apart are common, and that is a factor of $e^2$ between the weights. A heat map of an *untrained* head already looks as if it meant something. Remember it when reading maps (chapter 13).

</details>

**Check yourself.** A float mask of zeros and ones is added to the scores. What does it hide?

- A. what is 0
- B. what is 1
- C. nothing

<details><summary>Answer</summary>

- A is wrong: adding 0 changes nothing.
- B is wrong: adding 1 multiplies that key's share by *e*; it is preferred, not hidden.
- **C is right.** An additive mask needs -inf. A boolean mask cannot be misread this way.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 6. A weighted average, and how wide it looks

Averages with weights that fall with distance are much older than attention: Nadaraya and Watson, 1964, estimate a curve at $x$ by averaging the measured $y_j$ with weights $e^{-(x - x_j)^2 / 2h^2}$. The **bandwidth** $h$ says how far to look.

This is attention. Expand the square: $-\tfrac12(x - x_j)^2 = x\,x_j - \tfrac12x_j^2 - \tfrac12x^2$. The last term is the same for every key, so the softmax cancels it. The rest is a dot product of the query $(x, 1)$ and the key $(x_j, -\tfrac12 x_j^2)$, and the scale is $1/h^2$.
"""

# %%
x = torch.rand(40, generator=generator).sort().values * 6
y = x.sin() + 0.3 * torch.randn(40, generator=generator)
grid = torch.linspace(0, 6, 200)
query = torch.stack([grid, torch.ones(200)], dim=-1)
key = torch.stack([x, -0.5 * x**2], dim=-1)
curves = {
    h: attention.scaled_dot_product_attention(query, key, y[:, None], scale=1 / h**2)[:, 0]
    for h in (0.05, 0.4, 5.0)
}
by_hand = torch.exp(-((grid[:, None] - x) ** 2) / (2 * 0.4**2))
by_hand = by_hand @ y / by_hand.sum(dim=-1)
print("the same as Nadaraya–Watson:", torch.allclose(curves[0.4], by_hand, atol=1e-4))

# %% [markdown]
"""
**Predict.** Three bandwidths: 0.05, 0.4 and 5. Which curve follows the noise, which the sine, and what does the third do?
"""

# %% mystnb={"image": {"alt": "Forty noisy points of a sine and three averages. Bandwidth 0.05 jumps from point to point, 0.4 follows the sine, 5 is nearly a flat line at the mean."}}
axes = plotting.new_figure(
    "Attention is a weighted average;\nthe scale decides how local it is",
    "x: query and keys",
    "y: values",
)
axes.plot(x, y, "o", color="#9A9A9A", markersize=4)
for h, name, colour, at, style in (
    (0.05, "h = 0.05: copies its neighbour", "orange", (2.3, 1.35), "-"),
    (0.4, "h = 0.4: follows the sine", "blue", (0.2, -1.05), "-"),
    (5.0, "h = 5: the mean of all", "green", (3.55, 0.42), "--"),
):
    plotting.line(axes, grid, curves[h], name, colour, at, style, linewidth=1.2 if h < 0.1 else 2.5)

# %% [markdown]
r"""
<details><summary>Answer</summary>

At 0.05 a query takes nearly everything from its nearest point: the noise comes through. At 5 all weights are about equal: the mean of everything. The useful estimate lies in between. In a model nobody sets $h$ by hand: learned queries and keys can grow or shrink, which does the same.

</details>

The inverse of the scale is called **temperature**, $T$: cold picks, hot spreads. How far the weights are spread is measured by their **entropy**, $-\sum_j w_j \ln w_j$: 0 for a single choice, $\ln 3$ for three equal weights. On the three keys of section 1:
"""

# %%
scores = torch.tensor([1.33, 0.37, -0.24])
print("temperature   weights                     entropy")
for temperature in (0.01, 0.25, 1.0, 2.0, 10.0, 1000.0):
    weights = torch.softmax(scores / temperature, dim=-1)
    entropy = -torch.xlogy(weights, weights).sum()
    shown = "  ".join(f"{weight:.4f}" for weight in weights)
    print(f"{temperature:11}   {shown}   {abs(entropy):.3f}")
print(f"entropy of three equal weights: {math.log(3):.3f}")

# %% [markdown]
r"""
The order never changes, only the contrast. $T = 2$ is the $1/\sqrt{d_k}$ of the worked example.

**Check yourself.** At which temperature does attention become a plain lookup, and at which a plain mean?

<details><summary>Answer</summary>

$T \to 0$ gives the value of the best key: a lookup. $T \to \infty$ gives $1/S$ to each: the mean, with nothing learned from the query. The second is `scale=0.0`. Everything between is a soft lookup, and only there do gradients flow to queries and keys. Section 9 measures that.

</details>
"""

# %% [markdown]
r"""
## 7. How large is a dot product?

Let the components of $q$ and $k$ have mean 0 and variance 1, and let all of them be independent. One product has mean $\mathbb{E}[q_i]\,\mathbb{E}[k_i] = 0$ and variance

$$\mathrm{Var}(q_i k_i) = \mathbb{E}[q_i^2]\,\mathbb{E}[k_i^2] - 0 = 1 .$$

The dot product is a sum of $d_k$ of them, and variances of independent terms add:

$$\mathrm{Var}(q\cdot k) = \sum_{i=1}^{d_k} \mathrm{Var}(q_ik_i) = d_k, \qquad \mathrm{Var}\!\left(\frac{q\cdot k}{\sqrt{d_k}}\right) = \frac{d_k}{d_k} = 1 .$$

So the typical size of a score is $\sqrt{d_k}$, and dividing by $d_k$ instead would leave scores of size $1/\sqrt{d_k}$: ever flatter attention as heads get wider.
"""

# %% [markdown]
r"""
### Exercise: `dot_product_variance`

*Difficulty · importance · minutes*

Write `dot_product_variance(d_k, num_samples, generator) -> float`: an estimate of $\mathrm{Var}(q\cdot k)$ from `num_samples` independent pairs of unit normal vectors of width `d_k`.

- Draw from `generator` alone (`torch.randn(..., generator=generator)`): the same seed must give the same number, and the global random state stays as it was.
- Return a Python `float`.
- `return d_k` is the theory, not an estimate, and is recognised.

The check is statistical: it runs several seeds and widths.
"""


# %% exercise="dot_product_variance"
def dot_product_variance(d_k, num_samples, generator):
    """Estimate the variance of the dot product of two random vectors."""
    ### BEGIN SOLUTION: Draw the pairs, take their dot products, return the variance of those.
    pairs = torch.randn(2, num_samples, d_k, generator=generator)
    dots = torch.einsum("nd,nd->n", pairs[0], pairs[1])
    return torch.var(dots).item()
    ### END SOLUTION


# %%
check("dot_product_variance", dot_product_variance)
# hint("dot_product_variance")

# %% [markdown]
r"""
**Predict.** Plot the variance against $d_k$ with both axes logarithmic. A law $y = c\,x^a$ is a straight line of slope $a$ there. Which slope, and how far from it will a fit to random samples land?
"""

# %%
widths = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
generator = torch.Generator().manual_seed(0)
variances = [measure.dot_product_variance(d_k, 4000, generator) for d_k in widths]
law = measure.fit_power_law(widths, variances)
print("Var(q·k) against d_k:", law)

# %% mystnb={"image": {"alt": "Variance of q·k against width d_k, 16 to 4096, both axes logarithmic. The measured variances of q·k lie on a straight line of slope one, equal to the width. Divided by the root of d_k, the scores have variance one at every width."}}
axes = plotting.new_figure(
    f"Twice the width, twice the variance\n({law}); the scale undoes it",
    "width d_k",
    "variance of a score",
)
plotting.power_axis(axes, widths[::2])
plotting.power_axis(axes, [1, *widths[::2]], "y")
plotting.line(axes, widths, widths, "line: theory", "orange", (330, 130), linewidth=1)
plotting.line(axes, widths, variances, "q·k, measured", "orange", (17, 900), "o")
divided = [variance / d_k for variance, d_k in zip(variances, widths, strict=True)]
plotting.line(axes, widths, divided, "q·k / √d_k, measured", "blue", (16, 2.3), "o-")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Slope 1, because the variance is $d_k$ itself. The fit gives 0.999 ± 0.003<!-- shown: 0.999 0.003 -->, where 0.003 is the standard error of the slope: the theoretical slope is well within it.

</details>

**Break it.** The usual assumption is mean 0 and variance 1. Text E's derivation leaves out that $q$ and $k$, *and* their components, must be independent, although the sum of variances rests on it. The proof above shows where each enters.

**Predict**, for $d_k = 64$: the mean and the variance of $q\cdot k$ if $q = k$; if all components of a vector are one and the same number; if each component has mean 1.
"""

# %% guess={"name": "03.same", "kind": "number", "asks": "All {d_k} components of q are one number with mean 0 and variance 1, all of k another: what is the variance of q·k?", "low": 1, "high": 1000000, "log": true, "reads": "all components the same {_} {_} {_} {}", "varied": [{"d_k": 64}, {"d_k": 16}, {"d_k": 128}, {"d_k": 256}], "becomes": "d_k**2"}
guess("03.same")

# %%
d_k, pairs = 64, 50_000
normal = partial(torch.randn, generator=generator)
q, k = normal(pairs, d_k), normal(pairs, d_k)
uniform_q, uniform_k = ((torch.rand(2, pairs, d_k, generator=generator) * 2 - 1) * 3**0.5).unbind()
cases = {
    "all independent": (q, k, 0, d_k),
    "uniform instead of normal": (uniform_q, uniform_k, 0, d_k),
    "q = k": (q, q, d_k, 2 * d_k),
    "q, k correlated by 0.5": (q, 0.5 * q + 0.75**0.5 * k, d_k / 2, 1.25 * d_k),
    "all components the same": (q[:, :1].expand(-1, d_k), k[:, :1].expand(-1, d_k), 0, d_k**2),
    "mean 1 instead of 0": (q + 1, k + 1, d_k, 3 * d_k),
}
print(f"{'':26} {'mean':>6} {'theory':>7} {'variance':>9} {'theory':>7}")
for name, (left, right, centre, variance) in cases.items():
    dots = (left * right).sum(dim=-1)
    print(f"{name:26} {dots.mean():6.1f} {centre:7.1f} {dots.var():9.0f} {variance:7.0f}")
del q, k, uniform_q, uniform_k, cases, left, right, dots  # 90 MB

# %% [markdown]
r"""
<details><summary>Answer</summary>

- $q = k$: the dot product is a squared length. Mean $d_k$, variance $2d_k$ for normal components.
- One number repeated: $q\cdot k = d_k\,q_1k_1$, so the variance is $d_k^2$. Dividing by $\sqrt{d_k}$ is not enough then.
- Mean 1: $\mathbb{E}[q_i^2]\,\mathbb{E}[k_i^2] - 1 = 2\cdot2 - 1 = 3$ for each component.

The shape of the distribution plays no part: uniform components give $d_k$ too. The correct statement therefore has three conditions: mean 0, variance 1, independence. A trained model meets none of them exactly; a freshly drawn one meets them well.

</details>
"""

# %%
curves = {"independent": [], "correlated by 0.3": [], "identical": []}
for width in widths[:7]:
    shared, own = normal(2, 4000, 1), normal(2, 4000, width)
    mixed = 0.3**0.5 * shared + 0.7**0.5 * own
    for curve, (left, right) in zip(
        curves.values(), (own, mixed, shared.expand_as(own)), strict=True
    ):
        curve.append((left * right).sum(dim=-1).var().item())
del shared, own, mixed, left, right  # 80 MB
for name, curve in curves.items():
    print(f"{name:18} {measure.fit_power_law(widths[:7], curve)}")

# %% mystnb={"image": {"alt": "Variance of q·k against width on log axes for three kinds of vectors. Independent components follow slope one, identical components slope two, and components correlated by 0.3 bend from the first towards the second."}}
axes = plotting.new_figure(
    "Correlated components break the law:\nthe variance grows up to d_k²",
    "width d_k",
    "variance of q·k",
)
plotting.power_axis(axes, widths[:7:2])
axes.set(yscale="log", xlim=(12, 9000))
for (name, curve), colour in zip(curves.items(), ("blue", "green", "orange"), strict=True):
    plotting.line(axes, widths[:7], curve, name, colour, (1150, curve[-1]), "o-")

# %% [markdown]
r"""
The middle curve is no power law: its variance is $d_k + d_k(d_k - 1)\cdot 0.3^2$. It starts near slope 1 and ends near slope 2, and the printed exponent only averages the two. A fit always returns a number. Look at the points first.
"""

# %% [markdown]
r"""
**Check yourself.** Which scale keeps the score variance at 1 if $q$ and $k$ have components of variance 4?

- A. $1/\sqrt{d_k}$
- B. $1/(4\sqrt{d_k})$
- C. $1/(16\sqrt{d_k})$

<details><summary>Answer</summary>

- A is wrong: it leaves $4\cdot4 = 16$, a standard deviation of 4.
- **B is right**: the variance of a score is $16 d_k$, its root $4\sqrt{d_k}$.
- C is wrong: that divides by the variance instead of its root.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 8. What the softmax lets through

The slope of weight $i$ with respect to score $j$, from the quotient rule:

$$\frac{\partial w_i}{\partial s_j} = \frac{\partial}{\partial s_j}\frac{e^{s_i}}{\sum_m e^{s_m}} = \begin{cases} w_i - w_i w_i & i = j\\ \phantom{w_i} - w_i w_j & i \ne j\end{cases} \qquad J = \mathrm{diag}(w) - w w^\top$$

Nothing but the weights is needed. On the weights of section 1, rounded to (0.48, 0.30, 0.22): the slope of the first weight with respect to its own score is $0.48\cdot0.52 \approx 0.25$; with respect to the second score, $-0.48\cdot0.30 \approx -0.14$.

**Predict.** What is the sum of each row of $J$? What is $J$ if one weight is 1 and the others 0?
"""

# %%
weights = torch.softmax(torch.tensor([0.665, 0.185, -0.12]), dim=-1)
jacobian = attention.softmax_jacobian(weights)
print(jacobian)
print("row sums", [round(total, 3) + 0.0 for total in jacobian.sum(dim=-1).tolist()])
print("one weight is 1:\n", attention.softmax_jacobian(torch.tensor([1.0, 0.0, 0.0])) + 0.0)

# %% [markdown]
r"""
<details><summary>Answer</summary>

Rows sum to 0: adding a constant to all scores changes no weight. With one weight at 1, $J$ is zero: no score can move anything. That is what *saturated* means. The slope $w(1-w)$ of a weight with respect to its own score is at most 1/4, reached at 1/2.

</details>
"""

# %% [markdown]
r"""
### Exercise: `softmax_jacobian`

*Difficulty · importance · minutes*

Write `softmax_jacobian(weights) -> jacobian`.

- `weights` is `(..., S)`: what a softmax over the last axis gave. The result is `(..., S, S)`.
- Row $i$, column $j$ is $\partial w_i/\partial s_j$.
- Any number of leading axes. The result carries gradients.
- A row of zeros gives a matrix of zeros.

Derive the formula yourself: an answer that calls autograd is recognised and does not pass. `torch.diag_embed` makes diagonal matrices from rows.
"""


# %% exercise="softmax_jacobian"
def softmax_jacobian(weights):
    """Return the slope of each weight in each score, from the weights alone."""
    ### BEGIN SOLUTION: A diagonal matrix of the weights, less the product of each two weights.
    outer = torch.einsum("...i,...j->...ij", weights, weights)
    return torch.diag_embed(weights) - outer
    ### END SOLUTION


# %%
check("softmax_jacobian", softmax_jacobian)
# hint("softmax_jacobian")

# %% [markdown]
r"""
**Check yourself.** A learner keeps only the diagonal of $J$, the $w_i(1 - w_i)$. Which of these tests does the answer still pass?

- A. a weight's slope in its own score, against a text that quotes $w(1 - w)$
- B. every row of $J$ sums to 0
- C. the gradient of a loss, against autograd's

<details><summary>Answer</summary>

- **A is right**: this one number is correct, which is why the slip reads well in print.
- B fails: without the rest of the row, raising one score would create weight from nothing.
- C fails: raising one score lowers every other weight, and the loss feels that.

</details>
"""

# %% [markdown]
r"""
## 9. Saturation, measured

64 random keys, unit normal queries and keys, $d_k$ from 4 to 1024. For each we draw 1000 queries and look at three things:

- the **entropy** of the weights, $-\sum_j w_j \ln w_j$: $\ln 64$ for equal weights, 0 for a single choice. Its unit is the **nat**;
- the **top weight**;
- the **norm of the Jacobian** $\|J\|$, $J_{ij} = \partial w_i/\partial s_j$ (the root of the sum of all squared entries; the median over queries): how strongly the weights respond to the scores.

**Predict.** Sketch all three with and without the scale. Which unscaled one is *not* monotone?
"""


# %% guess={"name": "03.jacobian", "kind": "curve", "asks": "64 random keys, unit normal vectors, no scale: how large is the norm of the softmax's Jacobian (median) at each width?", "low": 0, "high": 0.4, "x": [4, 16, 64, 256, 1024], "across": "width d_k", "reads": "{x} {_} {_} {_} {_} {} 0.{_} "}
guess("03.jacobian")


# %%
def saturation(d_k, scale, num_keys=64, samples=1000):
    """Return mean entropy, mean top weight and median Jacobian norm for random vectors."""
    generator = torch.Generator().manual_seed(d_k)
    query = torch.randn(samples, 1, d_k, generator=generator)
    key = torch.randn(samples, num_keys, d_k, generator=generator)
    weights = attention.attention_weights(query, key, scale)[:, 0]
    entropy = -torch.xlogy(weights, weights).sum(dim=-1)
    slope = torch.linalg.matrix_norm(attention.softmax_jacobian(weights))
    return entropy.mean().item(), weights.amax(dim=-1).mean().item(), slope.median().item()


# %%
widths = [4, 16, 64, 256, 1024]
unscaled = [saturation(d_k, 1.0) for d_k in widths]
scaled = [saturation(d_k, None) for d_k in widths]
print("        entropy            top weight         norm of J")
print(" d_k    unscaled scaled    unscaled scaled    unscaled scaled")
for d_k, without, with_scale in zip(widths, unscaled, scaled, strict=True):
    entropies, tops, norms = zip(without, with_scale, strict=True)
    print(f"{d_k:4}    {entropies[0]:8.2f} {entropies[1]:6.2f}", end="")
    print(f"    {tops[0]:8.2f} {tops[1]:6.2f}    {norms[0]:8.4f} {norms[1]:6.4f}")
print(f"entropy of 64 equal weights: {math.log(64):.2f}")

# %% mystnb={"image": {"alt": "Three panels against width. With the scale, entropy stays near 3.7, top weight near 0.11 and the Jacobian's norm near 0.18. Without it entropy falls to 0.13, the top weight rises to 0.95, and the norm first rises, then falls to almost zero.<!-- shown: 3.7 0.11 0.18 0.13 0.95 -->"}}
names = ("entropy (nats)", "top weight", "norm of J")
panels = plotting.new_panels(
    "Without the scale, wide heads saturate;\nwith it, the width plays no part", "width d_k", names
)
for index, (panel, top) in enumerate(zip(panels, (4.4, 1.05, 0.38), strict=True)):
    first = index == 0  # names in one panel only
    line = partial(plotting.line, panel, widths)
    line(
        [row[index] for row in scaled], "with the scale", "blue", (64, 3.2) if first else None, "o-"
    )
    line([row[index] for row in unscaled], "without", "orange", (64, 1.3) if first else None, "s--")
    panel.set_ylim(0, top)
plotting.power_axis(panels[-1], widths)
draw_guess(panels[-1], "03.jacobian")

# %% [markdown]
r"""
<details><summary>Answer</summary>

With the scale all three are flat: the width plays no part. Without it the entropy falls towards 0 and the top weight rises towards 1. The Jacobian's norm is the one that is not monotone: at $d_k = 16$ it is *larger* unscaled (0.33, compared with 0.18)<!-- shown: 0.33 0.18 -->, because a weight near 1/2 responds most. It has collapsed at 1024.

That gradients vanish without the scale is true of wide heads only. At width 4 or 16 there is nothing to repair.

</details>

Try it yourself: change the width, switch the scale on and off, and change the **temperature** (under *More settings*; the scores are divided by it) until an unscaled wide head looks like a scaled one. Which temperature do you need?
"""

# %%
opening

# %% [markdown]
r"""
<details><summary>Answer</summary>

$T = \sqrt{d_k}$. Scaling is nothing but a temperature that grows with the width, so that nobody has to tune one for each width.

</details>
"""

# %% [markdown]
r"""
**Find the error.** In text C, unscaled and at $d_k = 64$, a softmax over ten keys "might be" (0.45, 0.18, 0.12, 0.08, 0.06, 0.04, 0.03, 0.02, 0.01, 0.01), "reasonably distributed"; at $d_k = 512$ it is "completely saturated", and the gradient "800 times smaller".

**Predict.** The logarithm turns weights back into scores, up to a constant. What standard deviation do the scores of the printed row have, and what should it be?
"""

# %%
printed = torch.tensor([0.45, 0.18, 0.12, 0.08, 0.06, 0.04, 0.03, 0.02, 0.01, 0.01])
print(f"spread of its scores: {printed.log().std(correction=0):.2f}; at 64: {math.sqrt(64):.0f}")
print("10 keys, 4,000 draws     top weight   above 0.99   mean w(1 - w)")
for d_k, scale in ((64, 1.0), (512, 1.0), (64, None), (512, None)):
    query = torch.randn(4000, 1, d_k, generator=generator)
    key = torch.randn(4000, 10, d_k, generator=generator)
    top = attention.attention_weights(query, key, scale).amax(dim=-1)
    name = f"d_k {d_k}, {'scaled' if scale is None else 'unscaled'}"
    slope, sure = (top * (1 - top)).mean(), (top > 0.99).float().mean()
    print(f"{name:24} {top.mean():10.2f} {sure:12.0%} {slope:15.3f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

1.18, where unscaled scores have 8<!-- shown: 1.18 8 -->. The printed row is what *scaled* scores look like. Unscaled heads of width 64 are saturated already: the top weight averages 0.86<!-- shown: 0.86 -->. There is no contrast between a healthy 64 and a broken 512.

The factor of 800 is the ratio of two picked examples, $0.45\cdot0.55$ to $0.9997\cdot0.0003$. On average the slope falls from about 0.205 to 0.087 (width 64) and 0.034 (512)<!-- shown: 0.205 0.087 0.034 -->: to less than a half, and to a sixth.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 10. The backward pass, step by step

Let $G = \partial \mathcal L/\partial O$ be what arrives from above, of the output's shape. Walk back through the scores $Z = \lambda QK^\top$ (with $\lambda = 1/\sqrt{d_k}$), the weights $W = \mathrm{softmax}(Z)$ and the output $O = WV$:

1. $dV = W^\top G$: a value gets back what it gave, in the same shares.
2. $dW = G V^\top$: how much the loss wants each weight to grow.
3. $dZ = J\,dW$ for each row. With $J = \mathrm{diag}(w) - ww^\top$ this is $w \circ (dw - \langle w, dw\rangle)$: each weight times how far its wish exceeds the average wish. The matrix $J$ is never built.
4. $dQ = \lambda\, dZ\, K$ and $dK = \lambda\, dZ^\top Q$.
"""

# %% [markdown]
r"""
**Predict.** On the example of section 1 with $G = (1, 0, 0, 0, 0)$, the loss is the first entry of the output. $dW$ is then the first column of the values, (0.5, 0.2, -0.3). Which score should grow, which should shrink, and what do the three changes sum to?
"""

# %%
query = torch.tensor([[1.0, 0.5, -0.3, 0.8]], requires_grad=True)
key = torch.tensor([[0.8, 0.2, -0.1, 0.5], [0.3, 0.7, 0.4, -0.2], [-0.5, 0.1, 0.9, 0.6]])
scores = query @ key.mT / 2
scores.retain_grad()
weights = torch.softmax(scores, dim=-1)
(weights @ torch.tensor([0.5, 0.2, -0.3])).sum().backward()
wish = torch.tensor([[0.5, 0.2, -0.3]])
by_hand = weights * (wish - (weights * wish).sum(dim=-1, keepdim=True))
print("autograd: dZ", scores.grad, " sum", round(scores.grad.sum().item(), 4) + 0.0)
print("by hand:  dZ", by_hand.detach())
print("autograd: dQ", query.grad, "\nby hand:  dQ", (by_hand @ key / 2).detach())

# %% [markdown]
"""
<details><summary>Answer</summary>

The average wish is 0.2347, the output itself. The first score should grow (0.5 is above the average), the other two shrink, the third most. The changes sum to 0: a softmax only moves weight around.

</details>
"""

# %% [markdown]
r"""
### Exercise: `attention_backward`

*Difficulty · importance · minutes*

Write `attention_backward(query, key, value, grad_out) -> (grad_query, grad_key, grad_value)`.

- Shapes `(..., L, d_k)`, `(..., S, d_k)`, `(..., S, d_v)`, `(..., L, d_v)`; each gradient has the shape of its tensor. No mask; the scale is $1/\sqrt{d_k}$.
- Do the algebra yourself: an answer that calls autograd is recognised and does not pass.
- Keep the results connected to the inputs (no `torch.no_grad()`, no `.detach()`): a backward pass is a function, and can be differentiated again.

The check compares with autograd, at sizes that are all different.
"""


# %% exercise="attention_backward"
def attention_backward(query, key, value, grad_out):
    """Return the gradients of query, key and value by the four steps above."""
    ### BEGIN SOLUTION: Recompute the weights, then walk back through the four steps.
    scale = query.shape[-1] ** -0.5
    weights = torch.softmax(query @ key.mT * scale, dim=-1)
    grad_value = weights.mT @ grad_out
    wish = grad_out @ value.mT
    # The average wish of a query: no larger than L numbers, whatever S is.
    average = torch.einsum("...ls,...ls->...l", weights, wish)
    grad_scores = weights * (wish - average[..., None])
    return scale * grad_scores @ key, scale * grad_scores.mT @ query, grad_value
    ### END SOLUTION


# %%
check("attention_backward", attention_backward)
# hint("attention_backward")

# %% [markdown]
r"""
**The oracle** again, now on the reference and two leading axes.
"""

# %%
shapes = [(2, 3, 4, 6), (2, 3, 7, 6), (2, 3, 7, 5), (2, 3, 4, 5)]
*tensors, grad_out = (torch.randn(*s, generator=generator, dtype=torch.float64) for s in shapes)
tensors = [tensor.requires_grad_() for tensor in tensors]
out = attention.scaled_dot_product_attention(*tensors)
expected = torch.autograd.grad(out, tensors, grad_out)
ours = attention.attention_backward(*tensors, grad_out)
torch.testing.assert_close(ours, expected)
print("all three gradients agree with autograd")

# %% [markdown]
"""
**Check yourself.** You forget the scale in the backward pass, though the forward pass has it. What happens in training?

- A. nothing: the optimiser's step size absorbs it
- B. gradients of queries and keys are too large by the square root of the width; those of the values are right
- C. all three are too large by that factor

<details><summary>Answer</summary>

- A is wrong, though tempting: it would hold if *all* gradients were off by one factor. Here the balance between queries, keys and everything else is off.
- **B is right.** Only step 4 contains the scale.
- C is wrong: the value's gradient needs the weights alone.

</details>
"""

# %% [markdown]
r"""
## 11. Does it matter in training?

Saturation at the start is a fact about random vectors. Whether it hurts is a question for an experiment, on the smallest language model with attention: it reads up to 16 characters and predicts the next.

Each character and each place has a learned row, an **embedding**; their sum is the stream. One head reads it, then a **feed-forward block**: two matrices with a smooth bend between them (GELU), applied to each position separately. Both see the stream through a **LayerNorm**, which brings a row to mean 0 and variance 1, and *add* what they find to it: a **residual connection**.
"""


# %%
class Head(nn.Module):
    """One head of causal attention; `attend` is the function that it attends with."""

    def __init__(self, width, d_k, scale, attend):
        super().__init__()
        self.norm, self.scale, self.attend = nn.LayerNorm(width), scale, attend
        self.query, self.key = (nn.Linear(width, d_k, bias=False) for _ in range(2))
        self.value = nn.Linear(width, width, bias=False)

    def forward(self, stream, value=None):
        x, length = self.norm(stream), stream.shape[1]
        earlier = torch.ones(length, length, dtype=torch.bool).tril()
        value = self.value(x) if value is None else value
        return self.attend(self.query(x), self.key(x), value, earlier, self.scale)


# %%
class CharacterModel(nn.Module):
    """Predict the next character: embeddings, one head, one feed-forward block."""

    def __init__(self, characters, length, d_k, attend, start="gpt", scale=None, width=64):
        super().__init__()
        self.length = length
        self.character, self.position = nn.Embedding(characters, width), nn.Embedding(length, width)
        self.head = Head(width, d_k, scale, attend)
        layers = nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        self.feed_forward = nn.Sequential(nn.LayerNorm(width), *layers)
        self.out = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, characters, bias=False))
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=layer.in_features**-0.5)
        for layer in (self.head.query, self.head.key) if start == "gpt" else ():
            nn.init.normal_(layer.weight, std=0.02)

    def read(self, tokens):
        return self.character(tokens) + self.position.weight[: tokens.shape[1]]

    def forward(self, tokens):
        stream = self.read(tokens)
        stream = stream + self.head(stream)
        return self.out(stream + self.feed_forward(stream))


# %%
text = character_text()
sizes = {"characters": text.num_characters, "length": 16, "d_k": 256}


def map_of_weights(model, tokens):
    """Return the weights: what the head hands over if each value is a single 1 in its own place."""
    stream = model.read(tokens)
    own = torch.eye(tokens.shape[1], dtype=stream.dtype)
    return model.head(stream, own.expand(len(tokens), -1, -1)).detach()


# %% [markdown]
r"""
All runs last 300 steps on Python's own help texts. The **loss** is $-\ln$ of the probability that the model gave to the right character, on average, in nats. **Adam** changes the matrices: it moves each entry by about the learning rate, however large or small its gradient. Everything is the same in all runs except

- the scale: $1/\sqrt{d_k}$ or 1;
- the **start** of the query and key matrices: so that queries and keys have *unit variance*, or GPT's *small start* (`gpt`; standard deviation 0.02, as in GPT-2's code), where all scores begin near 0.

**Predict.** $d_k = 256$. How do the four runs end, on text that they have not seen?
"""

# %% guess={"name": "03.runs", "kind": "order", "asks": "Character models of width d_k = 256, learning rate 0.01: in which order are these three by their loss on unseen text (mean of five seeds)?", "take": "ascending", "options": {"small start, no scale": {"record": "chapter_03_scaling", "where": {"learning_rate": 0.01, "start": "gpt", "d_k": 256, "scaled": false}, "value": "validation_loss"}, "unit variance, with the scale": {"record": "chapter_03_scaling", "where": {"learning_rate": 0.01, "start": "unit variance", "d_k": 256, "scaled": true}, "value": "validation_loss"}, "unit variance, no scale": {"record": "chapter_03_scaling", "where": {"learning_rate": 0.01, "start": "unit variance", "d_k": 256, "scaled": false}, "value": "validation_loss"}}}
guess("03.runs")

# %% tags=["nbval-ignore-output"] reason="training differs in the last digits between machines, and the text between Python versions"
models, live = {}, {}
attend = attention.scaled_dot_product_attention
for start, scaled in itertools.product(("unit variance", "gpt"), (True, False)):
    torch.manual_seed(0)
    model = CharacterModel(**sizes, attend=attend, start=start, scale=None if scaled else 1.0)
    name = f"{start}, {'scaled' if scaled else 'unscaled'}"
    bar = partial(tqdm, desc=name, ncols=70, mininterval=1, file=sys.stdout)
    train_character_model(model, text=text, steps=300, seed=0, progress=bar)
    models[start, scaled] = model
    live[start, scaled] = next_character_loss(model, text.validation, 512)
for (start, scaled), loss in live.items():
    print(f"{start:14} {'scaled' if scaled else 'unscaled':9} loss {loss:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The two runs with the scale come first, both at about 2.1. Without it, the unit-variance start is far behind, at 2.4 or 2.5. The small start loses much less<!-- shown: 2.1; unit variance  unscaled  loss > 2.35; gpt            unscaled  loss < 2.25 -->, with this seed.

</details>
"""

# %% [markdown]
r"""
One run is an anecdote. A script in the repository (`benchmarks/chapters/ch03/chapter_03_scaling.py`) trained the same model, `course_utils.models.CharacterModel`, with five seeds, four widths and two learning rates; its record is read here. What counts is the **extra loss** of a run without the scale over its twin with it: same seed, same start, same data.

**Predict.** From which start, and at which widths, does leaving out the scale cost anything? Do larger steps make it better or worse?
"""

# %% guess={"name": "03.extra", "kind": "curve", "asks": "A character model from the small start, learning rate 0.003: how much loss does leaving out the scale add at each width?", "low": -0.05, "high": 0.5, "unit": "nats", "x": [16, 64, 256, 1024], "across": "width d_k", "reads": "0.003 gpt {x} {_} {_} {_} {_} {_} {}"}
guess("03.extra")

# %%
record = measure.read_record("chapter_03_scaling")
print(f"recorded {record['date']}, {record['settings']['seeds']} seeds: {record['command']}")


def twins(rate, start, d_k, what):
    """Return, for each seed, a recorded quantity with the scale and without it."""
    wanted = {"learning_rate": rate, "start": start, "d_k": d_k}
    runs = [run for run in record["runs"] if wanted.items() <= run.items()]
    by_seed = {(run["seed"], run["scaled"]): run[what] for run in runs}
    seeds = sorted({seed for seed, _ in by_seed})
    return [(by_seed[seed, True], by_seed[seed, False]) for seed in seeds]


def extra_loss(rate, start, d_k):
    """Return, for each seed, the loss without the scale less the loss with it."""
    pairs = twins(rate, start, d_k, "validation_loss")
    return [without - scaled for scaled, without in pairs]


# %%
print("                   top weight before   on the previous      loss")
print("rate   start  d_k     (unscaled)       scaled unscaled    scaled unscaled  extra")
rates, starts, widths = (0.003, 0.01), ("unit variance", "gpt"), (16, 64, 256, 1024)
for rate, start, d_k in itertools.product(rates, starts, widths):
    _, before = map(mean, zip(*twins(rate, start, d_k, "top_weight_before"), strict=True))
    previous = map(mean, zip(*twins(rate, start, d_k, "weight_on_previous_after"), strict=True))
    loss = map(mean, zip(*twins(rate, start, d_k, "validation_loss"), strict=True))
    print(f"{rate:<6} {start.split()[0]:5} {d_k:4} {before:11.2f}        ", end="")
    print("{:8.2f} {:8.2f}    {:6.2f} {:8.2f}".format(*previous, *loss), end="")
    print(f" {round(mean(extra_loss(rate, start, d_k)), 2) + 0.0:6.2f}")
for start in starts:
    after = map(mean, zip(*twins(0.01, start, 256, "top_weight_after"), strict=True))
    print(f"top weight after (0.01, {start}, 256): " + "{:.2f} and {:.2f}".format(*after))

# %% mystnb={"image": {"alt": "Extra loss without the scale against width. At learning rate 0.003 it rises to 0.23 nats from a unit variance start; from the small start it is about zero up to width 64 and 0.16 at 1024. At learning rate 0.01 both starts rise to about 0.4.<!-- shown: 0.23 0.16 0.4 -->"}}
x_label = "width d_k   (bands: five seeds; stars: the live runs)"
panels = plotting.new_panels(
    "Without the scale: a cost that grows with width,\nunless start and steps are small",
    x_label,
    ["extra loss (nats)"] * 2,
)
styles = {"unit variance": ("orange", (16, 0.28)), "gpt": ("blue", (150, -0.045))}
for panel, rate in zip(panels, rates, strict=True):
    panel.set(title=f"learning rate {rate}", ylim=(-0.08, 0.5))
    for start, (colour, at) in styles.items():
        extra = [extra_loss(rate, start, d_k) for d_k in widths]
        plotting.band(panel, widths, extra, f"{start} start", colour, at if rate < 0.01 else None)
        star = live[start, False] - live[start, True] if rate == 0.01 else math.nan
        plotting.line(panel, 256, star, "", colour, style="*", markersize=16, mec="white")
plotting.power_axis(panels[1], widths)
draw_guess(panels[0], "03.extra")

# %% [markdown]
r"""
<details><summary>Answer</summary>

- **From unit variance** a model without the scale is behind at every width, by 0.06 nats at width 16 and by 0.23 at 1024 with small steps<!-- shown: 0.06 0.23 -->.
- **From the small start, with small steps,** it is not behind at all up to width 64, and clearly only at 1024, by 0.16<!-- shown: 0.16 -->. It is the *start* that must not saturate, and with small matrices it does not.
- **From the small start, with large steps,** the cost is back: 0.28 at width 256, 0.40 at 1024<!-- shown: 0.28 0.40 -->. Adam's step does not shrink with the gradient, and it moves unscaled scores $\sqrt{d_k}$ times as far: they saturate early all the same.

One seed would have misled us: in the record, seed 0 is the lowest of its blue band.

</details>
"""

# %% [markdown]
r"""
**Why saturation hurts here.** Models with the scale end just as sure of themselves: the last two lines above give their top weights after training. The column *on the previous* shows the difference. It is the weight that a position gives to the character just before it, the most useful place for this task. With the scale most of it ends there. Without the scale, from unit variance at the larger widths, much of it stays where the first random scores had put it, because a saturated softmax lets no gradient through to move it.

**Predict.** Of the five runs behind the blue band at learning rate 0.01 and width 256, one paid almost nothing. What did it find?
"""

# %%
places = twins(0.01, "gpt", 256, "weight_on_previous_after")
extra = extra_loss(0.01, "gpt", 256)
for seed, ((_, previous), paid) in enumerate(zip(places, extra, strict=True)):
    print(f"seed {seed}: weight on the previous {previous:.2f}, extra loss {paid:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The previous character: a weight of 1.00, and an extra loss of only 0.06<!-- shown: 1.00 0.06 -->. The four others were as sure of a worse place. Being sure does no harm. Being sure *before having learned where to look* does.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 12. What it costs

Each of the two products costs $2\,L S\,d$ operations (a multiplication and an addition): together $2LS(d_k + d_v)$. A listing of text A prints $n^2 d$ as "Time Operations" of a model of width $d = 512$, and $4n^2$ bytes as "Memory for attention weights".

**Predict.** By what factor is the first off? Which part of the layer does it leave out, and up to what length is that part the larger one?
"""

# %%
print("          table:           measured (Gflop):")
print("     n    n²d     MiB      attention  projections")
width = 512
for n in (128, 256, 512, 1024, 2048, 4096):
    tokens = torch.empty(n, width, device="meta")  # shapes without numbers: enough for counting
    square = torch.empty(width, width, device="meta")
    core = measure.count_flops(attention.scaled_dot_product_attention, tokens, tokens, tokens)
    layer = 4 * measure.count_flops(torch.matmul, tokens, square)
    print(f"{n:6} {n * n * width / 1e9:6.3f} {n * n * 4 / 2**20:7.2f}", end="")
    print(f" {core / 1e9:14.3f} {layer / 1e9:12.3f}")

# %%
query, key, value = (torch.empty(512, 64, device="meta") for _ in range(3))
core = measure.count_flops(attention.scaled_dot_product_attention, query, key, value)
print(f"L = S = 512, d_k = d_v = 64: {core:,} operations")
print(f"with 6 for each score (scale, maximum, shift, exp, sum, divide): {core + 6 * 512 * 512:,}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The table lacks a factor of 4: two products, two operations each. It also leaves out the four projections ($Q$, $K$, $V$ and output), $8nd^2$ in all. They cost more than attention as long as $n < 2d$, here up to 1024: at that length both columns are equal. Attention is quadratic, and yet at moderate lengths the linear layers cost more.

The table's last entry, 8.590 Gflop at 4096<!-- shown 2: 8.590 -->, is by coincidence exactly the projections.

</details>

**Predict.** And how much memory do the weights take with batch 2, 8 heads and 4096 tokens? The table says 64 MiB.
"""


# %%
def saved_bytes(fn, *tensors):
    """Return the bytes that autograd keeps for the backward pass of `fn`, inputs not counted."""
    given = {tensor.untyped_storage().data_ptr() for tensor in tensors}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = fn(*tensors)
    del out
    return sum(size for where, size in kept.items() if where not in given)


# %%
def with_dropout(q, k, v, p=0.1):
    """Return attention as most listings write it."""
    return F.dropout(torch.softmax(q @ k.mT / 8.0, dim=-1), p) @ v


# %%
mib, copies = 2**20, 2 * 8  # batch 2, 8 heads each
for n in (512, 4096):
    one = n * n * 4 / mib
    print(f"{n:4} tokens: {one:2.0f} MiB for one head, {copies * one:4.0f} MiB for all of them")
tensors = [torch.randn(2, 8, 512, 64, generator=generator).requires_grad_() for _ in range(3)]
for p in (0.0, 0.1):
    kept = saved_bytes(partial(with_dropout, p=p), *tensors)
    print(f" 512 tokens, dropout {p}: kept for the backward pass {kept / mib:.0f} MiB")

# %% [markdown]
r"""
<details><summary>Answer</summary>

1024 MiB, a GiB, for one layer<!-- shown: 1024 -->: the table's figure is for one head of one sequence. Training keeps more than the weights. In the measurement at 512 tokens dropout keeps its own mask and a second copy of the weights. Chapter 09 computes attention without ever storing the matrix.

</details>

**Why this score won.** Because it is "parameter-free", says text C. Section 2 found the parameters. What the dot product does save is *memory for each pair*: it sums over the width inside a matrix product, while the additive score of chapter 02 needs a vector for each pair before it can apply tanh.
"""


# %%
def additive(q, k):
    """Score each pair through tanh, as additive attention does; projections left out."""
    return torch.tanh(q[:, None, :] + k[None, :, :]).sum(dim=-1)


q, k = torch.randn(2, 128, 64, generator=generator)
print(f"pairs {128 * 128:,}")
print(f"largest tensor, dot product: {measure.largest_tensor(lambda: q @ k.mT):,}")
print(f"largest tensor, additive:    {measure.largest_tensor(lambda: additive(q, k)):,}")

# %% [markdown]
"""
**Check yourself.** You double the number of tokens at a fixed width. Attention's operations, the projections' operations and the weights' memory grow by

- A. 2, 2, 4
- B. 4, 2, 4
- C. 4, 4, 2

<details><summary>Answer</summary>

- A is wrong: both of attention's products run over all pairs.
- **B is right.** Pairs grow by 4, tokens by 2.
- C is wrong twice: a projection sees one token at a time, and the weights hold one number for each pair.

</details>
"""

# %% [markdown] tags=["further"]
"""
## 13. Weights of a trained head

The two models of section 11 that began with unit variance, one scaled and one not, read the same sixteen characters. Row: the character that asks. Column: where it looks; the future is masked.

**Predict.** Both are sure of themselves. How will you see which of them learned with the scale?
"""

# %% tags=["nbval-ignore-output"] reason="a widget has a new id in every run, and its weights come from the training above"
sentence = "for each element"
tokens = [character.replace(" ", "␣") for character in sentence]
both = (models["unit variance", scaled] for scaled in (True, False))
pair = [map_of_weights(model, encode(sentence)[None]) for model in both]
names = ["scaled", "unscaled"]
heatmap(torch.cat(pair), tokens, tokens, title="One head, trained", head_names=names)

# %% [markdown]
"""
<details><summary>Answer</summary>

The scaled head shows one line just below the diagonal: every character looks at the one before it. The unscaled head is as sharp, but many rows point somewhere else, at places that a random start chose. A sharp map says that a head is sure; it does not say that it is right.

</details>
"""

# %% [markdown]
r"""
**In a released model.** SmolLM2-135M-Instruct (chapter 20 opens it) was trained with $d_k = 64$ and the usual scale of 1/8. Recorded, on three texts of 256 tokens: how the products vary within a row, how long queries and keys are (the first token left out, which is special), and what another scale in every layer adds to the loss, in nats per token, without further training.

**Predict.** Section 7 gives $q \cdot k$ a variance of 64 and vectors a length of 8, if entries are independent with variance 1. What are they after training? And what does a scale half or twice as large cost, or $1/d_k$?
"""

# %% guess={"name": "03.variance", "kind": "number", "asks": "SmolLM2 has heads of width 64: after training, what is the variance of q·k (before the scale) within a row, in its median head?", "low": 1, "high": 10000, "log": true, "reads": {"record": "chapter_20_boxes", "rows": "scale", "value": "variance"}}
guess("03.variance")

# %%
inside = measure.read_record("chapter_20_boxes")["scale"]
print("text     variance of q·k (80% of heads)   lengths of q, k   largest weight, unscaled")
for one in inside:
    print(f"{one['text']:8} {one['variance']:9} ({one['tenth']}–{one['nine tenths']})", end="")
    print(f"{one['query']:20} {one['key']:5}", end="")
    print(f"{one['top']['as trained']:14.2f} {one['top']['none']:9.2f}")
for name in inside[0]["scale"]:
    print(f"scale {name:10}", *(f"{one['scale'][name]:+6.2f}" for one in inside))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Four to five times 64: 276 to 338<!-- shown: 276 338 --> for the median head, from longer vectors (14.3 to 17.0<!-- shown: 14.3 17.0 -->). Training does not keep the variance at 1 that the scale was made for; the scale has become part of what was learned. Without any, 3.6 to 4.9 nats are added, with $1/d_k$ 3.3 to 5.2<!-- shown: 3.56 4.94 3.34 5.16 -->. But its exact value is not sharp. With 0.8 or 1.25 times the scale the loss rises by 0.03 to 0.19<!-- shown: 0.03 0.19 -->, with half by 1.1 to 1.5<!-- shown: 1.11 1.54 -->, with twice by 0.7 to 0.8<!-- shown: 0.65 0.78 -->.

</details>
"""

# %% [markdown] tags=["further"]
"""
## 14. What published texts say, once more

In short words, each with its text. Decide before you open the answers: right, wrong, or right under a condition?

1. The first listing runs (B). It uses `torch` and `math`; the imports follow one listing later.
2. Zero mean and unit variance imply Var(q·k) = d_k (E).
3. Q, K and V have n rows each (A).
4. Softmax turns scores into the returned weights, a probability distribution (A).
5. After scaling, dot products lie between -3 and 3 (C).
6. Additive models stayed below a billion parameters because their attention was expensive (C).
"""

# %%
listing = "def weigh(query, key):\n    return torch.softmax(query @ key.mT, dim=-1)"
fresh = {}  # as in a notebook just opened: nothing has been imported yet
exec(listing, fresh)
try:
    fresh["weigh"](q, k)
except NameError as error:
    print("1.", error)

# %% [markdown]
r"""
<details><summary>Answers</summary>

1. Wrong: run in order it stops with a `NameError`. Restarting and running all cells is the only test of a notebook.
2. Right under a condition: independence (section 7).
3. Right for self-attention; in general only keys and values share their number (section 2).
4. Wrong where dropout comes between: the third slip below.
5. Right for 99.7% of pairs of a normal distribution, and at the start of training. A trained model leaves that range: growing scores is how it becomes sure.
6. Cannot be checked: the recurrent networks around them did not scale either, and no experiment separates the two.

</details>
"""

# %% [markdown]
"""
Now five passages, each with what you need to judge it and the number of the section that it belongs to.
"""

# %% [markdown]
r"""
**Find the error** (section 1). Text C works out the example of section 1 and prints the output as (0.235, 0.377, 0.201, 0.187, 0.457). An earlier edition prints the second and third scores as 0.43 and -0.22. Which of these numbers are right to three digits?
"""

# %%
print("scores", example[0] @ example[1].mT)
print("output", attention.scaled_dot_product_attention(*example))

# %% [markdown]
"""
<details><summary>Answer</summary>

The output's second and third entries are one unit off: 0.3762 and 0.2003<!-- shown: 0.3762 0.2003 --> round to 0.376 and 0.200. The likely cause is a sum of products that had been rounded first. Both scores of the earlier edition are wrong; they are 0.37 and -0.24<!-- shown: 0.37 -0.24 -->. Nobody would spot such a slip by reading. Running the example takes one line.

</details>
"""

# %% [markdown]
r"""
**Find the error** (section 7). Unscaled, a head of width 64 has scores of size 8. Text C: "for $d_k = 64$, a typical attention score might be" 12.3; for 512 "the same query-key pair might produce" 35.2.

**Predict.** How typical is 12.3? And what can "the same query-key pair" mean?
"""

# %%
for d_k, score in ((64, 12.3), (512, 35.2)):
    sigma = math.sqrt(d_k)
    beyond = math.erfc(score / sigma / math.sqrt(2))
    print(f"d_k {d_k:3}: sigma {sigma:5.2f}, score {score} is {score / sigma:.2f} sigma, ", end="")
    print(f"exceeded by {beyond:.0%} of pairs; mean size {sigma * math.sqrt(2 / math.pi):.1f}")
print(f"{math.sqrt(64 / 4):.0f} and {math.sqrt(512 / 4):.1f} times the size of scores at d_k = 4")
print(f"within three sigma: {math.erf(3 / math.sqrt(2)):.1%}")
print(f"unscaled range for 64: ±{3 * math.sqrt(64):.0f}   scaled, for any width: ±3")

# %% [markdown]
r"""
<details><summary>Answer</summary>

12.3 is 1.54 standard deviations; 12% of pairs exceed it in size, and the mean size is 6.4<!-- shown: 1.54 12 6.4 -->. A pair cannot change its dimension, but 35.2 is about the same number of standard deviations at 512. Read that way the example is sound: scaled, both give about 1.5.

</details>
"""

# %% [markdown]
"""
**Find the error** (section 5). Classes of texts A, B, D and E apply dropout to the weights and return what is left as the attention weights; text A calls them "a probability distribution".

**Predict.** With dropout 0.1 in training mode, what do the rows of the returned weights sum to?
"""

# %%
torch.manual_seed(0)
weights = attention.attention_weights(torch.randn(2, 10, 512), torch.randn(2, 10, 512))
dropped = F.dropout(weights, p=0.1, training=True)
sums = dropped.sum(dim=-1)
print(f"before dropout: {weights.sum(dim=-1).min():.4f} to {weights.sum(dim=-1).max():.4f}")
print(f"after dropout:  {sums.min():.4f} to {sums.max():.4f}, mean {sums.mean():.4f}")

# %% [markdown]
"""
<details><summary>Answer</summary>

Anything around 1: some weights are set to 0 and the others divided by 0.9, which keeps the expected value of each weight, but not the sum of the row. A test that rows sum to 1 passes in `eval()` and fails in `train()`. Return the weights from *before* the dropout if people are going to look at them.

</details>
"""

# %% [markdown]
r"""
**Find the error** (section 9). To show vanishing gradients, an exercise of text C takes the scores (20, 18, -15, -18) and finds a gradient of 0.105 for the top weight. The arithmetic is right.

**Predict.** Is 0.105 small? Change one of the four scores so that the example shows what it wants to show.
"""

# %%
for scores in ([20.0, 18.0, -15.0, -18.0], [20.0, 8.0, -15.0, -18.0]):
    weights = attention.stable_softmax(torch.tensor(scores, dtype=torch.float64))
    slope = attention.softmax_jacobian(weights)[0, 0].item()
    print(f"{scores}: top weight {weights[0]:.6f}, slope {slope:.3g}, of 0.25: {slope / 0.25:.2g}")

# %% [markdown]
"""
<details><summary>Answer</summary>

The largest possible slope is 0.25, so 0.105 is two fifths of it: healthy. What counts is the distance between the *two highest* scores, here 2; the size of the others is beside the point. With 8 instead of 18 the slope falls to about six millionths.

</details>
"""

# %% [markdown]
r"""
**Find the error** (section 11). Scaled dot-product attention is used in "All transformers", says a table of text C. T5 (Raffel et al., 2020) is a Transformer without the factor. Its published code draws the query matrix with standard deviation $(d_{model}\,d_k)^{-1/2}$ instead of $d_{model}^{-1/2}$; the comment in the Hugging Face port says "to avoid scaling before softmax".

**Predict.** What is the variance of its unscaled scores at the start?
"""

# %%
d_model, d_k = 512, 64
x, y = torch.randn(2, 4000, d_model, generator=generator)
w_key = torch.randn(d_model, d_k, generator=generator) * d_model**-0.5
w_query = torch.randn(d_model, d_k, generator=generator)
for name, std in (("usual start", d_model**-0.5), ("T5's start", (d_model * d_k) ** -0.5)):
    scores = ((x @ (w_query * std)) * (y @ w_key)).sum(dim=-1)
    print(f"{name}: variance of the unscaled scores {scores.var():.1f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

About 1. The factor has moved into the initial query matrix. Other models divide queries and keys by their norms and learn the temperature (Henry et al., 2020): no dot product can then grow with the width at all.

**And a claim that no one tested.** "Over many layers, these tiny gradients compound, making training extremely difficult or impossible", says text C. Around each attention block runs a residual connection, which carries gradients past it whatever the softmax does. Our own runs without the scale learn too, only worse.

</details>
"""

# %% [markdown]
r"""
## Yours: the chapter's experiments, with your functions

The model of section 11 once more, and the saturation of section 9, with every function that you have passed instead of the course's. Steps and batches are few, so that slow code has a chance; float64 is used, so that two right ways agree up to rounding. If you have passed nothing yet, the course's own functions run.
"""

# %% tags=["nbval-ignore-output"] reason="whose functions run, and how fast, depends on the reader"
parts = yours(
    "stable_softmax",
    "attention_weights",
    "scaled_dot_product_attention",
    "softmax_jacobian",
    "attention_backward",
)
parts


# %%
def chapter(parts):
    """Train with and without the scale; measure the saturation; walk back once."""
    found = {}
    for name, scale in (("scaled", None), ("unscaled", 1.0)):
        torch.manual_seed(0)
        own = parts.scaled_dot_product_attention
        model = CharacterModel(**sizes, attend=own, start="unit variance", scale=scale).double()
        train_character_model(model, text, steps=40, seed=0, batch=16)
        found[f"loss, {name}"] = next_character_loss(model, text.validation, 64)
    draw = partial(torch.randn, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    query, key, value, grad_out = draw(50, 256), draw(8, 256), draw(8, 3), draw(50, 3)
    weights = parts.attention_weights(query, key, 1.0)
    found["top weight, unscaled"] = parts.stable_softmax(query @ key.mT).amax(dim=-1).mean()
    found["norm of J, unscaled"] = torch.linalg.matrix_norm(parts.softmax_jacobian(weights)).mean()
    grads = parts.attention_backward(query, key, value, grad_out)
    found["norms of the gradients"] = torch.stack([grad.norm() for grad in grads])
    return found


# %% tags=["nbval-ignore-output"] reason="the times, and whose functions run"
note = parts.run(chapter)
for name, value in note.course.items():
    numbers = torch.as_tensor(value).double().flatten().tolist()
    print(f"{name}:", *(f"{number:.4g}" for number in numbers[:8]))
note

# %% [markdown]
r"""
## Recap

1. Attention is $\mathrm{softmax}(QK^\top/\sqrt{d_k})\,V$: each query takes an average of the values, with weights from its match with the keys. A query with no visible key takes nothing, and gets zero gradient.
2. For independent components of mean 0 and variance 1, $\mathrm{Var}(q\cdot k) = d_k$. If $q = k$ the variance doubles; identical components make it $d_k^2$.
3. The softmax lets $\mathrm{diag}(w) - ww^\top$ through. Unscaled wide heads put nearly all weight on one key, and that matrix is nearly zero."""

# %% [markdown]
r"""
4. Training suffers when a head is sure before it has learned where to look: with scores that start large, or that large steps make large. A small start with small steps needs no scale at moderate widths; wide heads need it anyway, and it costs nothing. Attention takes $2LS(d_k + d_v)$ operations and $LS$ weights per head, sequence and layer; the projections cost more until $n = 2d$.
5. The backward pass is four lines; only the last contains the scale.
"""

# %% tags=["remove-cell"]
progress(3)

# %% [markdown]
"""
**Next**: chapter 04 asks where queries, keys and values come from, and why there are three of them.
"""

# %% [markdown]
"""
## Go further

- Vaswani et al. (2017): Eq. 1, and footnote 4 with the variance argument.
- Luong et al. (2015): the dot and general scores, before the scale.
- Henry et al. (2020): queries and keys of fixed length, and a learned temperature.
- Raffel et al. (2020): T5.
- Nadaraya (1964), Watson (1964): the weighted average of section 6. Tsai et al. (2019): attention seen as such a smoother.
- Dao et al. (2022), appendix B: the same backward pass, in tiles.
- Blanchard, Higham and Higham (2021): what rounding does to a shifted softmax.
"""

# %% [markdown]
"""
<details><summary>BibTeX</summary>

```bibtex
@inproceedings{vaswani2017attention,
  title = {Attention Is All You Need},
  author = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and Uszkoreit, Jakob and Jones, Llion and Gomez, Aidan N. and Kaiser, Lukasz and Polosukhin, Illia},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2017}, url = {https://arxiv.org/abs/1706.03762}}
@inproceedings{luong2015effective,
  title = {Effective Approaches to Attention-based Neural Machine Translation},
  author = {Luong, Minh-Thang and Pham, Hieu and Manning, Christopher D.},
  booktitle = {EMNLP}, year = {2015}, url = {https://arxiv.org/abs/1508.04025}}
@inproceedings{henry2020query,
  title = {Query-Key Normalization for Transformers},
  author = {Henry, Alex and Dachapally, Prudhvi Raj and Pawar, Shubham Shantaram and Chen, Yuxuan},
  booktitle = {Findings of EMNLP}, year = {2020}, url = {https://arxiv.org/abs/2010.04245}}
@article{raffel2020exploring,
  title = {Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer},
  author = {Raffel, Colin and Shazeer, Noam and Roberts, Adam and Lee, Katherine and Narang, Sharan and Matena, Michael and Zhou, Yanqi and Li, Wei and Liu, Peter J.},
  journal = {Journal of Machine Learning Research}, volume = {21}, number = {140}, year = {2020}, url = {https://arxiv.org/abs/1910.10683}}
@inproceedings{tsai2019transformer,
  title = {Transformer Dissection: An Unified Understanding for Transformer's Attention via the Lens of Kernel},
  author = {Tsai, Yao-Hung Hubert and Bai, Shaojie and Yamada, Makoto and Morency, Louis-Philippe and Salakhutdinov, Ruslan},
  booktitle = {EMNLP}, year = {2019}, url = {https://arxiv.org/abs/1908.11775}}
@inproceedings{dao2022flashattention,
  title = {FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness},
  author = {Dao, Tri and Fu, Daniel Y. and Ermon, Stefano and Rudra, Atri and R{\'e}, Christopher},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2022}, url = {https://arxiv.org/abs/2205.14135}}
@article{blanchard2021accurately,
  title = {Accurately Computing the Log-Sum-Exp and Softmax Functions},
  author = {Blanchard, Pierre and Higham, Desmond J. and Higham, Nicholas J.},
  journal = {IMA Journal of Numerical Analysis}, volume = {41}, number = {4}, pages = {2311--2330}, year = {2021}, doi = {10.1093/imanum/draa038}}
@article{nadaraya1964estimating,
  title = {On Estimating Regression}, author = {Nadaraya, Elizbar A.},
  journal = {Theory of Probability and Its Applications}, volume = {9}, number = {1}, pages = {141--142}, year = {1964}}
@article{watson1964smooth,
  title = {Smooth Regression Analysis}, author = {Watson, Geoffrey S.},
  journal = {Sankhya A}, volume = {26}, pages = {359--372}, year = {1964}}
```

</details>
"""
