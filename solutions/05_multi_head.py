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
# Run many attentions side by side: multi-head attention

One layer has learned four relations between letters, one in each of its four heads. A row shows where that position looks.

Play for one minute: point at a cell, then switch heads off. **Which head looks at the capital letter, and what did each of the others learn?** At the end of the chapter you can explain it.
"""

# %% tags=["remove-input"]
from course_utils.measure import read_record
from course_utils.widgets import head_grid

recorded = read_record("chapter_05_heads")
letters, heads = recorded["settings"]["letters"], recorded["runs"]
head_grid(
    [one["weights"] for one in heads],
    letters,
    letters,
    contributions=[one["contribution"] for one in heads],
    title="One layer, four heads",
)

# %% [markdown]
r"""
*You will be able to*

1. split a stream into heads and merge them again without shuffling a number;
2. write multi-head attention three ways that agree, with one mask for all, per head or per sequence, and check it against PyTorch;
3. (further) count its parameters and operations, and say what the number of heads changes and what it does not;
4. say what several heads can do that one cannot, and what limits each;
5. switch off heads of a trained model and measure what each was for.

*You need* chapter 03 for attention and for embedding, LayerNorm, residual connection and Adam; chapter 04 for queries, keys and values.

*Core path · further*
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
import itertools
import math
import sys
from functools import partial

import torch
from matplotlib import pyplot as plt
from torch import nn
from torch.nn import functional as F
from torch.utils.benchmark import Timer
from tqdm import tqdm

from course_utils import attention, matrix_plotting, measure, plotting
from course_utils.guessing import draw_guess, guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.models.training import descend
from course_utils.widgets import head_grid

plotting.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
r"""
## 1. What one average forgets

Attention gives each query *one* weighted average of the values. Suppose a position must know the letter on its left **and** the letter on its right. Let a letter's value be (1, 0) for *a* and (0, 1) for *b*, and let one head look half to the left and half to the right.

**Predict.** What does the position get between *a* and *b*? And between *b* and *a*? Then give it two heads, one for each side.
"""

# %%
a, b = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
for left, right, name in ((a, b, "a ? b"), (b, a, "b ? a")):
    value = torch.stack([left, right])
    one_head = torch.tensor([[0.5, 0.5]]) @ value
    two_heads = torch.cat([torch.tensor([[1.0, 0.0]]) @ value, torch.tensor([[0.0, 1.0]]) @ value])
    print(f"{name}   one head {one_head.flatten().tolist()}   ", end="")
    print(f"two heads {two_heads.flatten().tolist()}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

One head gives (0.5, 0.5) both times: the average has forgotten which letter stood where. Two heads, each with an average of its own, keep both.

Unequal weights, say 0.7 and 0.3, would leave a trace of the order, but then one side speaks louder for no good reason, and everything downstream has to decode it. Section 10 trains models with one head and with several, and shows what becomes of this.

</details>

So let several attentions run side by side. Each has its own small queries, keys and values; their outputs are laid side by side in one wider vector. Each of these attentions is a **head**.
"""

# %% [markdown]
r"""
## 2. Cut the width, not the sequence

With $H$ heads, a stream of width $d_{model}$ is cut into $H$ slices of width $d_k = d_{model}/H$. Head $h$ owns the channels $h\,d_k$ to $(h+1)\,d_k - 1$ of **every** position. Nothing is computed; the same numbers get one more axis, and the axes change places:

$$(B,\ L,\ d_{model}) \;\xrightarrow{\text{cut}}\; (B,\ L,\ H,\ d_k) \;\xrightarrow{\text{transpose}}\; (B,\ H,\ L,\ d_k)$$

In the stream below, 3 positions of 4 channels, the tens are the position and the ones the channel.

**Predict.** Which numbers does head 0 of 2 own? What comes out if someone goes to $(B, H, L, d_k)$ in one step, with `view`?
"""

# %%
position, channel = torch.arange(3.0), torch.arange(4.0)
x = (10 * position[:, None] + channel)[None]
heads = x.view(1, 3, 2, 2).transpose(1, 2)
shuffled = x.view(1, 2, 3, 2)
print("the stream\n", x[0])
print("head 0, cut and transposed\n", heads[0, 0])
print("head 0, by view alone\n", shuffled[0, 0])

# %% mystnb={"image": {"alt": "A stream of 3 positions by 4 channels. Cut and transposed, head 0 holds channels 0 and 1 of all three positions and head 1 channels 2 and 3. By view alone, head 0 holds both halves of position 0 and one half of position 1."}}
widths = {"width_ratios": (4, 2, 2)}
figure, grid = plt.subplots(2, 3, figsize=(plotting.WIDTH, 3.9), gridspec_kw=widths)
plotting.headline(
    figure,
    "One colour is one position: cut, each head has\nall three; by view alone, a head is half of them",
)
names = [f"position {i}" for i in range(3)]
for row, (halves, how) in zip(grid, ((heads, "cut"), (shuffled, "view")), strict=True):
    panels = (("stream", x[0]), (f"head 0, {how}", halves[0, 0]), (f"head 1, {how}", halves[0, 1]))
    for panel, (title, matrix) in zip(row, panels, strict=True):
        rows = names if panel is row[0] else None
        matrix_plotting.weight_map(panel, matrix, title=title, rows=rows, top=26.0, decimals=0)

# %% [markdown]
r"""
<details><summary>Answer</summary>

Head 0 owns channels 0 and 1: the numbers 0, 1, 10, 11, 20, 21. `view` alone keeps the order in memory, where the channels of one position are next to each other. Its "head 0" is all of position 0 and half of position 1. All shapes are right, nothing fails, the loss even falls: a mistake that only a look at the numbers finds.

</details>

On the way back there is a second trap, and it is the kinder one.

**Predict.** `heads.view(1, 3, 4)` on the transposed tensor: which of three things happens, the right stream, a shuffled one, or an error? And `heads.reshape(1, 3, 4)`?
"""

# %%
try:
    heads.view(1, 3, 4)
except RuntimeError as error:
    print("view:", str(error).split(" (")[0])
print("reshape alone:\n", heads.reshape(1, 3, 4)[0])
print("transpose back, then reshape:\n", heads.transpose(1, 2).reshape(1, 3, 4)[0])

# %% [markdown]
r"""
<details><summary>Answer</summary>

`view` refuses, because a transposed tensor is *non-contiguous*: in memory its numbers are in another order. `reshape` copies them into the order of the *axes*, head after head: no error, and the stream is shuffled. Transpose back first; then both the order and the shape are right.

</details>
"""

# %% [markdown]
r"""
### Exercise: `split_heads`

*Difficulty · importance · minutes*

Write `split_heads(x, num_heads) -> heads`.

- `x` is `(B, L, d_model)`, the result `(B, H, L, d_k)` with $d_k$ = d_model / num_heads.
- Head $h$ owns the channels $h\,d_k$ to $(h+1)\,d_k - 1$ of every position.
- Any sizes, including `num_heads` = 1. `x` may be non-contiguous.
- The result has the dtype of `x`, whichever that is, and carries gradients.

The check sends numbers that say where they came from.
"""


# %% exercise="split_heads"
def split_heads(x, num_heads):
    """Give each head its own slice of the width."""
    ### BEGIN SOLUTION: Cut the last axis in two, then bring the heads before the positions.
    apart = x.unflatten(-1, (num_heads, -1))
    return apart.permute(0, 2, 1, 3)
    ### END SOLUTION


# %%
check("split_heads", split_heads)
# hint("split_heads")  # remove the first # for a hint; each call gives one more

# %% [markdown]
r"""
### Exercise: `merge_heads`

*Difficulty · importance · minutes*

Write `merge_heads(heads) -> x`: the way back, from `(B, H, L, d_k)` to `(B, L, H·d_k)`.

- `merge_heads(split_heads(x, num_heads))` is `x`, for every number of heads.
"""


# %% exercise="merge_heads"
def merge_heads(heads):
    """Lay the heads side by side again."""
    ### BEGIN SOLUTION: Undo the two steps of the split, the last one first.
    apart = heads.permute(0, 2, 1, 3)
    return apart.reshape(*apart.shape[:2], -1)
    ### END SOLUTION


# %%
check("merge_heads", merge_heads)
# hint("merge_heads")

# %% [markdown]
r"""
**Find the error.** A class of text E (A to E are listed on the page *What is measured here*) takes a query of one length and keys of another, and splits all three with the sizes of the *query*: `K.view(B, L, H, d_k)`, where $B, L$ come from `query.shape`.

**Predict.** 5 queries and 9 keys: what happens? And a query batch of 4 × 6 with a memory of 2 × 12?
"""


# %%
def split_as_published(key, query, num_heads):
    """Cut the keys with the sizes of the query."""
    batch, length, d_model = query.shape
    return key.view(batch, length, num_heads, d_model // num_heads).transpose(1, 2)


memory = torch.arange(2 * 12.0)[:, None].expand(24, 8).reshape(2, 12, 8).clone()
try:
    split_as_published(torch.zeros(2, 9, 8), torch.zeros(2, 5, 8), 2)
except RuntimeError as error:
    print("5 queries, 9 keys:", error)
wrong = split_as_published(memory, torch.zeros(4, 6, 8), 2)
print("4 x 6 queries, 2 x 12 keys: no error, shape", tuple(wrong.shape))
print("rows of the memory that query batch 1 sees:", wrong[1, 0, :, 0].int().tolist())

# %% [markdown]
r"""
<details><summary>Answer</summary>

The first fails, with a message about sizes. The second runs, because $4\cdot6 = 2\cdot12$: batch 1 of the queries silently gets the second half of the *first* memory. Cut every tensor with its own sizes. `split_heads` cannot make this mistake, because it sees one tensor.

</details>

**Check yourself.** Which line gives head 1 of 2 from a stream `x` of width 8?

- A. `x[:, 1::2]`
- B. `x[..., 1::2]`
- C. `x[..., 4:]`

<details><summary>Answer</summary>

- A is wrong: it takes every second *position*.
- B is wrong: these are the odd channels, an interleaved layout. A model could live with it, but no weights of another library would fit.
- **C is right**: the second half of the channels, of every position.

</details>
"""

# %% [markdown]
r"""
## 3. The whole formula

Project, cut, attend, merge and mix:
"""

# %% tags=["remove-input"]
from course_utils.diagrams import diagram

diagram("05")

# %% [markdown]
r"""
$$\mathrm{head}_h = \mathrm{Attention}(QW_h^Q,\ KW_h^K,\ VW_h^V), \qquad \mathrm{MultiHead}(Q, K, V) = [\mathrm{head}_1 \,\cdots\, \mathrm{head}_H]\; W^O$$

| | shape | |
|---|---|---|
| $W_h^Q$, $W_h^K$ | $d_{model} \times d_k$ | what head $h$ compares |
| $W_h^V$ | $d_{model} \times d_v$ | what head $h$ hands over |
| $\mathrm{head}_h$ | $L \times d_v$ | what head $h$ found |
| $W^O$ | $H d_v \times d_{model}$ | how the heads' findings are used |

Usually $d_k = d_v = d_{model}/H$. Then the $H$ small matrices $W_h^Q$, side by side, are one square matrix $W^Q$, and head $h$ owns $d_k$ of its **columns**. In $W^O$ it owns $d_v$ of the **rows**.
"""

# %% [markdown]
r"""
Putting the heads side by side and applying one matrix is the same as applying a matrix to each head and summing:

$$[\mathrm{head}_1 \cdots \mathrm{head}_H]\,W^O = \sum_h \mathrm{head}_h\, W^O_{\text{rows of } h}$$

**Predict.** Up to which step are the heads independent of each other? What would be lost if the heads were simply added, without $W^O$?
"""

# %% mystnb={"image": {"alt": "Head 0 and head 1, each 3 by 2, side by side make a 3 by 4 matrix; times the 4 by 4 matrix W_o this gives the 3 by 4 output. Every square holds its number."}}
generator = torch.Generator().manual_seed(5)
one, two = torch.randn(2, 3, 2, generator=generator)
W_o = torch.randn(4, 4, generator=generator)
merged = torch.cat([one, two], dim=-1)
matrix_plotting.matrix_flow(
    [
        [("head 0", one), ("head 1", two), ("side by side", merged)],
        [("side by side", merged), ("W_o", W_o), ("output", merged @ W_o)],
    ],
    joins=[["|", "="], ["·", "="]],
    between="then mixed by the output projection",
    title="Heads meet only in the output projection",
)
torch.testing.assert_close(merged @ W_o, one @ W_o[:2] + two @ W_o[2:])

# %% [markdown]
r"""
<details><summary>Answer</summary>

Up to $W^O$: no head sees what another does, so all of them can be computed at the same time. $W^O$ mixes them. Added without it, the heads would have to agree on what each channel means, and the sum would forget who said what; $W^O$ gives every head its own way into the stream.

</details>

The paper's formula is a loop over heads. To a matrix product a head is one more leading axis: no loop is needed. The three projections of a self-attention can be one product with $[W^Q\ W^K\ W^V]$. Three ways, one function:
"""


# %%
def mha_loop(x, W_q, W_k, W_v, W_o, num_heads):
    """Return self-attention one head after another, as the paper writes it."""
    heads = []
    for q, k, v in zip(*(W.chunk(num_heads, dim=1) for W in (W_q, W_k, W_v)), strict=True):
        heads.append(attention.scaled_dot_product_attention(x @ q, x @ k, x @ v))
    return torch.cat(heads, dim=-1) @ W_o


def mha_batched(x, W_q, W_k, W_v, W_o, num_heads):
    """Return the same with the heads as an axis."""
    split = partial(attention.split_heads, num_heads=num_heads)
    heads = attention.scaled_dot_product_attention(split(x @ W_q), split(x @ W_k), split(x @ W_v))
    return attention.merge_heads(heads) @ W_o


def mha_fused(x, W_qkv, W_o, num_heads):
    """Return the same with one projection, and PyTorch's attention."""
    parts = (x @ W_qkv).chunk(3, dim=-1)
    q, k, v = (attention.split_heads(part, num_heads) for part in parts)
    return attention.merge_heads(F.scaled_dot_product_attention(q, k, v)) @ W_o


# %% [markdown]
"""
**Predict.** In float64, how far apart are the three? And does one of the wrong versions below come close to them?
"""

# %% guess={"name": "05.closest", "kind": "choice", "asks": "Which wrong version of multi-head attention comes closest to the right output?", "take": "smallest", "options": {"the split by view alone": "view alone off by {}%", "the scale of the whole width": "scale of the whole width off by {}%", "no output projection": "no W_o off by {}%"}}
guess("05.closest")

# %%
x = torch.randn(2, 5, 12, generator=generator, dtype=torch.float64)
weights = [torch.randn(12, 12, generator=generator, dtype=x.dtype) / 12**0.5 for _ in range(4)]
loop = mha_loop(x, *weights, num_heads=3)
rest = {
    "batched": mha_batched(x, *weights, num_heads=3),
    "fused": mha_fused(x, torch.cat(weights[:3], dim=1), weights[3], num_heads=3),
}
for name, out in rest.items():
    difference = (out - loop).abs().max().item()
    print(f"{name:8} and loop: {'equal up to rounding' if difference < 1e-12 else difference}")

# %%
q, k, v = (x @ W for W in weights[:3])
right, viewed = ([t.view(2, 5, 3, 4).transpose(1, 2) for t in (q, k, v)],
                 [t.view(2, 3, 5, 4) for t in (q, k, v)])  # fmt: skip
attend, W_o = attention.scaled_dot_product_attention, weights[3]
wrong = {
    "view alone": attend(*viewed).reshape(2, 5, 12) @ W_o,
    "merge by reshape alone": attend(*right).reshape(2, 5, 12) @ W_o,
    "scale of the whole width": attention.merge_heads(attend(*right, scale=12**-0.5)) @ W_o,
    "no W_o": attention.merge_heads(attend(*right)),
}
for name, out in wrong.items():
    print(f"{name:25} off by {((out - loop).norm() / loop.norm()):.0%} of the output")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The three forms differ by rounding alone. Of the wrong ones, the scale $1/\sqrt{d_{model}}$ is the closest, off by 30%<!-- shown: 30 -->, and the most dangerous: weights that are a little too flat look like weights. The scale belongs to one head, $1/\sqrt{d_k}$, because its scores are sums of $d_k$ products.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** In text A a class with a single fused projection (no biases except on the output, no mask argument) is to replace one with four separate projections with biases, at width 512. By how many parameters do the two differ, and where can it not be dropped in?

<details><summary>Answer</summary>

$3\cdot512 = 1536$: the biases of $Q$, $K$ and $V$. Without a mask it cannot serve in a decoder. The fused *projection* is not to blame: it computes the same function. Section 6 prints the counts.

</details>
"""

# %% [markdown]
r"""
## 4. One mask, three shapes

The scores are $(B, H, L, S)$. A mask broadcasts to them, and shapes line up from the right:

| mask | who shares it | lines up as |
|---|---|---|
| $(L, S)$ | all sequences, all heads | $(1, 1, L, S)$ |
| $(H, L, S)$ | all sequences; each head has its own | $(1, H, L, S)$ |
| $(B, 1, L, S)$ | all heads; each sequence has its own | as written |
| $(B, L, S)$ | *nobody: a trap* | $(1, B, L, S)$, an error or worse |

**Predict.** Someone has a mask for each of 3 sequences, shape (3, L, S), and a layer of 2 heads. What happens? And with 3 heads?
"""

# %% guess={"name": "05.mask", "kind": "choice", "asks": "Masks for 3 sequences, of shape (3, L, S), go to a layer of 3 heads: what happens?", "take": "printed", "options": {"each sequence gets its own mask": "3 heads: no error; as meant? True", "each head gets the mask of one sequence": "3 heads: no error; as meant? False", "an error": "3 heads: attn_mask must"}}
guess("05.mask")

# %%
B, L, S, d_model = 3, 4, 4, 12
x = torch.randn(B, L, d_model, generator=generator)
weights = [torch.randn(d_model, d_model, generator=generator) / d_model**0.5 for _ in range(4)]
mask = torch.rand(B, L, S, generator=generator) < 0.6
mask[..., 0] = True
mha = attention.multi_head_attention
try:
    mha(x, x, x, *weights, 2, mask)
except ValueError as error:
    print("2 heads:", error)
silent, meant = mha(x, x, x, *weights, 3, mask), mha(x, x, x, *weights, 3, mask[:, None])
print("3 heads: no error; as meant?", torch.allclose(silent, meant))

# %% [markdown]
r"""
<details><summary>Answer</summary>

With 2 heads it fails, and says so. With 3 heads it runs: each *head* silently gets the mask of one *sequence*. Always give a mask of sequences its axis of heads: `mask[:, None]`.

</details>
"""

# %% [markdown]
r"""
### Exercise: `multi_head_attention`

*Difficulty · importance · minutes*

Write `multi_head_attention(query, key, value, W_q, W_k, W_v, W_o, num_heads, attn_mask=None) -> out`.

- `query` is `(B, L, d_model)`, `key` and `value` `(B, S, d_model)`; all four matrices are `(d_model, d_model)`, applied as `x @ W`. The result is `(B, L, d_model)`.
- Head $h$ owns columns $h\,d_k$ to $(h+1)\,d_k - 1$ of the first three, and those rows of `W_o`.
- `attn_mask` is boolean, True = may attend: `(L, S)`, `(H, L, S)` or `(B, 1, L, S)`.
- A query that may see nothing gets zeros from its head, before `W_o`.

You may use your own functions and `F.scaled_dot_product_attention`; the check refuses PyTorch's whole `nn.MultiheadAttention`.
"""


# %% exercise="multi_head_attention"
def multi_head_attention(query, key, value, W_q, W_k, W_v, W_o, num_heads, attn_mask=None):
    """Return what all heads found, mixed by the output projection."""

    ### BEGIN SOLUTION: Project, cut into heads, attend with the mask, lay side by side, mix.
    def cut(x):
        return x.unflatten(-1, (num_heads, -1)).permute(0, 2, 1, 3)

    heads = F.scaled_dot_product_attention(
        cut(query @ W_q), cut(key @ W_k), cut(value @ W_v), attn_mask=attn_mask
    )
    return torch.einsum("bhld,hdm->blm", heads, W_o.unflatten(0, (num_heads, -1)))
    ### END SOLUTION


# %%
check("multi_head_attention", multi_head_attention)
# hint("multi_head_attention")

# %% [markdown]
"""
**Check yourself.** Someone forgets the heads' axis in the softmax and writes `softmax(scores, dim=1)` on scores of shape (B, H, L, S). What do the weights of one query and one key sum to, and over what?

<details><summary>Answer</summary>

To 1 over the *heads*. The heads now compete for each pair, and a query's weights over its keys sum to anything. With one head every weight is exactly 1. Row sums show it, as in chapter 03.

</details>
"""

# %% [markdown]
r"""
## 5. PyTorch's own, with the same weights

`nn.MultiheadAttention` is PyTorch's own module for this. The course's module `MultiHeadAttention` gives its parameters the same names and layout, so a `state_dict` of one loads into the other. Two things differ:

- **its masks are inverted**: True means *may not* attend;
- a mask for each head has the shape $(B\cdot H, L, S)$, without a separate axis for the heads.

**Predict.** Same weights, same input. Do outputs and weights agree without a mask, with one for all, and with one for each head?
"""

# %%
torch.manual_seed(0)
theirs = nn.MultiheadAttention(12, 3, batch_first=True, dtype=torch.float64)
ours = attention.MultiHeadAttention(12, 3).double()
ours.load_state_dict(theirs.state_dict())
x = torch.randn(2, 4, 12, dtype=torch.float64)
context = torch.randn(2, 7, 12, dtype=torch.float64)
for_all, for_each = torch.rand(4, 7) < 0.6, torch.rand(3, 4, 7) < 0.6
for_all[:, 0] = for_each[..., 0] = True
masks = {"none": (None, None), "(L, S)": (for_all, ~for_all)}
masks["(H, L, S)"] = (for_each, (~for_each).repeat(2, 1, 1))

# %%
for name, (mask, inverted) in masks.items():
    out, weights = theirs(x, context, context, attn_mask=inverted, average_attn_weights=False)
    torch.testing.assert_close(ours(x, context, attn_mask=mask), out)
    torch.testing.assert_close(ours.weights(x, context, attn_mask=mask), weights)
    print(f"mask {name:10} outputs and weights agree; weights {tuple(weights.shape)}")
theirs.load_state_dict(ours.state_dict())
print("and the weights load back into theirs")

# %% [markdown]
r"""
<details><summary>Answer</summary>

They agree, all three. Without `average_attn_weights=False` theirs would return the *mean* over heads, (2, 4, 7): the one picture in which the difference between heads cannot be seen.

</details>

**Predict.** Now query 2 has no visible key. What does PyTorch's module return for it? Does it depend on whether you ask for the weights?
"""

# %% guess={"name": "05.empty", "kind": "choice", "asks": "When does nn.MultiheadAttention return numbers for a query without a visible key, in self-attention with 4 heads?", "take": "printed", "options": {"always": "need_weights=True : row 2 is numbers", "never": "training=True need_weights=False: row 2 is nan", "whenever the weights are not asked for": "training=False need_weights=False: row 2 is numbers", "only in training, without the weights": "training=True need_weights=False: row 2 is numbers theirs, training=False need_weights=True : row 2 is nan theirs, training=False need_weights=False: row 2 is nan"}}
guess("05.empty")

# %%
for_all[2] = False
out = ours(x, context, attn_mask=for_all)
bias = ours.out_proj.bias.expand(2, -1)
print("ours: row 2 is the output projection's bias:", torch.equal(out[:, 2], bias))
module = nn.MultiheadAttention(12, 4, batch_first=True, dtype=torch.float64)
mask = torch.ones(4, 4, dtype=torch.bool)
mask[2] = False
for training, need_weights in itertools.product((True, False), (True, False)):
    with torch.no_grad():
        out, _ = module.train(training)(x, x, x, attn_mask=~mask, need_weights=need_weights)
    kind = "nan" if out[:, 2].isnan().all() else "numbers"
    print(f"theirs, training={training!s:5} need_weights={need_weights!s:5}: row 2 is {kind}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Always `nan` when the weights are wanted. When they are not, it depends on the mode as well: numbers in training, `nan` in `eval` without gradients, where self-attention with an even number of heads takes a third, faster path. Of three ways to compute the same thing only one guards the empty row; chapter 06 returns to it. Ours gives zeros from every head, and the output projection adds its bias.

</details>

A few shapes that texts A, D and E show for their own modules, on this one:
"""

# %%
print("sequences, length, width, heads     output         weights")
for shape, num_heads in (((2, 10, 512), 8), ((2, 10, 64), 4), ((2, 50, 512), 8)):
    module = attention.MultiHeadAttention(shape[-1], num_heads)
    x = torch.randn(shape)
    sizes = (tuple(module(x).shape), tuple(module.weights(x).shape))
    print(f"{(*shape, num_heads)!s:35} {sizes[0]!s:14} {sizes[1]}")
out = module(torch.randn(2, 10, 512), torch.randn(2, 7, 512))
print("10 queries, 7 keys:", tuple(out.shape))
try:
    attention.MultiHeadAttention(512, 7)
except ValueError as error:
    print("7 heads:", error)

# %% [markdown]
r"""
The last line comes from the constructor. The first class of text B, without that check, accepts 7 heads for a width of 512, trains nothing, and fails at the first call with a message about shapes.

Must the heads divide the width? For $d_k = d_{model}/H$, yes. In general $d_k$ is free: T5's largest model has 128 heads of width 128 on a stream of width 1024 (Raffel et al., 2020), and its $W^O$ is $16384 \times 1024$.

Dropout also differs between the texts: on the weights (A, B and E), or on weights and output (the second class of D); 0.1 is the common rate. In `eval()` none of it matters, and there they agree.
"""

# %% [markdown] tags=["further"]
r"""
## 6. What it costs

**Predict.** A layer of width 512 with biases and 1, 8 or 16 heads. How do its parameters grow with the heads, and how its operations?
"""

# %% guess={"name": "05.parameters", "kind": "number", "asks": "How many parameters does an attention layer of width {width} with biases have, if it has {heads} heads?", "low": 100000, "high": 100000000, "log": true, "reads": "16 32 {_} {} ", "varied": [{"width": 512, "heads": 16}, {"width": 256, "heads": 8}, {"width": 1024, "heads": 1}, {"width": 768, "heads": 12}], "becomes": "4 * (width * width + width)"}
guess("05.parameters")

# %%
print("heads   d_k   width 64   width 512, biases   operations, width 512, 100 positions")
x = torch.empty(1, 100, 512, device="meta")  # shapes without numbers: enough for counting
square = torch.empty(512, 512, device="meta")
for num_heads in (1, 2, 4, 8, 16):
    narrow = measure.mha_parameters(64, num_heads, True)
    module = attention.MultiHeadAttention(512, num_heads)
    wide = sum(parameter.numel() for parameter in module.parameters())
    flops = measure.count_flops(mha, x, x, x, *[square] * 4, num_heads)
    print(f"{num_heads:5} {512 // num_heads:5} {narrow:10,} {wide:19,} {flops:14,}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The number of heads cancels: more heads are narrower heads. Both the parameters, $4\,(d_{model}^2 + d_{model})$, and the operations stay what they were. Heads are free in both.

</details>

**Find the error.** Text E counts $3d^2$ parameters for a single head and $4d^2$ for several: "The additional W^O matrix adds only 33% more parameters while providing h times more representational capacity".

**Predict.** There are two slips: in what is compared, and in what is promised. Find both before you go on.
"""

# %%
d = 512
print(f"Q, K, V alone: {3 * d * d:,}   with W_o: {4 * d * d:,}")
print(f"W_o is {1 / 3:.0%} of the others, {1 / 4:.0%} of the layer")
fused = 4 * d * d + d  # a bias on the output projection only
print(f"with four biases {measure.mha_parameters(d, 8, True):,}; fused, one bias {fused:,}", end="")
print(f"; difference {measure.mha_parameters(d, 8, True) - fused:,}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The 33% is the price of $W^O$, which a single head may have too: the table above has it with one head. And no measure of capacity is multiplied by $h$. There are $h$ patterns instead of one, each with scores of a lower rank. Section 7 looks at that.

</details>
"""

# %% [markdown]
r"""
### Exercise: `mha_parameters`

*Difficulty · importance · minutes*

Write `mha_parameters(d_model, num_heads, bias) -> int`: how many numbers the four projections hold, with $d_k = d_v$ = d_model / num_heads. With `bias`, each projection adds a learned vector.
"""


# %% exercise="mha_parameters"
def mha_parameters(d_model, num_heads, bias):
    """Count the parameters of multi-head attention."""
    ### BEGIN SOLUTION: Four square matrices; with biases, one more row in each.
    rows = d_model + 1 if bias else d_model
    return 4 * rows * d_model
    ### END SOLUTION


# %%
check("mha_parameters", mha_parameters)
# hint("mha_parameters")

# %% [markdown]
r"""
**Are the three equally fast?** Operations count what is computed, not what is read and started. A loop starts three small products for each head; the batched form starts three large ones; the fused form reads the input once. Very narrow heads make long rows of short sums.

**Predict.** For 4 sequences of 128 positions, width 256: which of the three forms is fastest and which slowest, at 8 heads and at 64? These are ratios on the machine that ran this cell; on yours they will differ, and on a GPU much more.
"""

# %% tags=["nbval-ignore-output"] reason="times differ between machines and runs"
x = torch.randn(4, 128, 256, generator=generator)
weights = [torch.randn(256, 256, generator=generator) / 16 for _ in range(4)]
fused = torch.cat(weights[:3], dim=1).contiguous()
print("heads     loop   batched   fused     (time of fused with 8 heads = 1)")
unit = None
for num_heads in (8, 1, 64):
    calls = (partial(mha_loop, x, *weights, num_heads), partial(mha_batched, x, *weights, num_heads),
             partial(mha_fused, x, fused, weights[3], num_heads))  # fmt: skip
    times = [
        Timer("f()", globals={"f": f}).blocked_autorange(min_run_time=0.3).median for f in calls
    ]
    unit = unit or times[-1]
    print(f"{num_heads:5}", *(f"{time / unit:8.2f}" for time in times))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Look at your own table. The three forms compute the same numbers with the same operations; what differs is overhead, and how often memory is read. Compare two claims with it. Text A fuses the projections "For efficiency": by how much depends on the machine. Text D says of the width of a head "Smaller = faster": at a fixed $d_{model}$ the operations are the same, and very small heads tend to be *slower*.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 7. What one narrow head cannot do

The scores of a head are $QK^\top$ with $Q$ and $K$ of width $d_k$: a matrix of rank at most $d_k$, however long the sequence.

**Predict.** 64 positions, width 64. What is the rank of one head's score matrix for 1, 2, 4 and 8 heads?
"""

# %%
x = torch.randn(1, 64, 64, generator=generator, dtype=torch.float64)
W_q, W_k = torch.randn(2, 64, 64, generator=generator, dtype=torch.float64)
for num_heads in (1, 2, 4, 8):
    q, k = (attention.split_heads(x @ W, num_heads) for W in (W_q, W_k))
    ranks = torch.linalg.matrix_rank(q @ k.mT)[0]
    print(f"{num_heads} heads of width {64 // num_heads:2}: ranks {ranks.tolist()}")

# %% [markdown]
r"""
So with more heads there are more score matrices, and each is simpler (Bhojanapalli et al., 2020, call it the low-rank bottleneck). How much simpler? Take a random 64×64 matrix of scores that somebody wants.

Every matrix is a sum of matrices of rank 1, each with a size $\sigma_1 \ge \sigma_2 \ge \dots$; these sizes are its **singular values**. The best that rank $d_k$ can do is to keep the $d_k$ largest (Eckart and Young, 1936). No training can do better. What is missed is measured by the **relative error**: the root of the sum of squares (Frobenius norm) of the difference, divided by that of the matrix.
"""

# %% [markdown]
"""
**Predict.** How much of a random matrix does a narrow head miss? And is every *pattern of attention* as hard as a random matrix?
"""

# %% guess={"name": "05.rank", "kind": "curve", "asks": "A random 64×64 matrix is approximated by the best matrix of a lower rank: how large is the relative error (Frobenius norm)?", "low": 0, "high": 1, "x": [2, 8, 16, 32, 48], "across": "rank", "reads": "{} at rank {x}"}
guess("05.rank")

# %%
wanted = torch.randn(64, 64, generator=generator, dtype=torch.float64)
singular = torch.linalg.svdvals(wanted)
missed = [math.sqrt((singular[r:] ** 2).sum() / (singular**2).sum()) for r in range(65)]
angle = torch.arange(64, dtype=torch.float64) * (2 * math.pi / 64)
circle = torch.stack([angle.cos(), angle.sin()], dim=-1)  # width 2: a point of a circle
turned = circle.roll(1, dims=0)  # position i asks for the point of position i - 1
sharp = attention.attention_weights(60 * turned, 60 * circle)
print("relative error:", ", ".join(f"{missed[r]:.2f} at rank {r}" for r in (2, 8, 16, 32, 48)))
on_previous = sharp.diagonal(offset=-1).min().item()
print(f"a head of width 2 puts at least {on_previous:.3f} on the previous of 64 positions")

# %% mystnb={"image": {"alt": "Relative error of the best matrix of a given rank for a random 64 by 64 matrix: 100 percent at rank 0, falling smoothly to 0 at rank 64, with about 78 percent at rank 8.<!-- shown: 78% -->"}}
axes = plotting.new_figure(
    "Heads of width 8 miss most of a random\n64×64 matrix of scores, however trained",
    "rank = width d_k of the head",
    "relative error\n(Frobenius norm)",
)
plotting.line(axes, range(65), missed, "best possible", "blue", (30, 0.52))
for num_heads in (16, 8, 4, 2):
    width = 64 // num_heads
    axes.plot(width, missed[width], "o", color=plotting.COLOURS["orange"])
    axes.text(
        width + 1.2, missed[width] + 0.03, f"{num_heads} heads", color=plotting.COLOURS["orange"]
    )
axes.set(ylim=(0, 1.05), xticks=range(0, 65, 8))
draw_guess(axes, "05.rank")

# %% [markdown]
r"""
<details><summary>Answer</summary>

78%<!-- shown: 78% -->. A random matrix is the hardest case, though. "The previous position" needs width 2 only: put the positions on a circle, and let each ask for the point one step back; the softmax makes a soft preference as sharp as the vectors are long. Rank limits how many unrelated wishes one head can hold, not how sharp a simple one is. So neither "many heads" nor "wide heads" wins by itself: published models settle near widths of 64 to 128.

</details>
"""

# %% [markdown]
r"""
## 8. A task with four questions

Do heads really come to do different things? Take sequences of 12 letters *a* to *d*, one of them a capital. Every inner position must answer four questions at once:

| question | what answers it |
|---|---|
| which letter is before me? | a place relative to mine |
| which letter is after me? | the same, other side |
| which letter comes first? | a fixed place |
| which letter is the capital? | a content, wherever it is |

The model is a Transformer with one layer: learned rows for tokens and places, one multi-head attention with LayerNorm and residual connection, a linear readout. The feed-forward block is left out, so that what the heads find can be read off directly. Chance is 25%.
"""


# %%
QUESTIONS = ("before", "after", "first", "capital")
LETTERS, LENGTH = 4, 12


def draw(count, generator):
    """Draw sequences with one capital, and the four answers at each inner position."""
    letters = torch.randint(LETTERS, (count, LENGTH), generator=generator)
    place = torch.randint(1, LENGTH - 1, (count, 1), generator=generator)
    tokens = letters.scatter_add(1, place, torch.full_like(place, LETTERS))
    everywhere = torch.ones(1, LENGTH, dtype=torch.long)
    first, capital = letters[:, :1] * everywhere, letters.gather(1, place) * everywhere
    answers = torch.stack([letters.roll(1, 1), letters.roll(-1, 1), first, capital], dim=-1)
    return tokens, answers[:, 1:-1]


def written(tokens):
    """Return the letters of one sequence."""
    return ["abcdABCD"[token] for token in tokens.tolist()]


# %% [markdown]
r"""
The attention is the one of section 3, with biases. `parts` is where its functions come from: the course's `attention`, or, at the end of the chapter, yours. `keep` says which heads may speak; section 9 uses it.
"""


# %%
class Heads(nn.Module):
    """Self-attention with several heads, made of the functions in `parts`."""

    def __init__(self, num_heads, parts, d_model):
        super().__init__()
        self.num_heads, self.parts = num_heads, parts
        start = nn.init.xavier_uniform_(torch.empty(3 * d_model, d_model))
        self.W_qkv = nn.Parameter(start.T.contiguous())  # W_q, W_k and W_v side by side
        self.b_qkv = nn.Parameter(torch.zeros(3 * d_model))
        self.W_o = nn.Parameter(nn.Linear(d_model, d_model).weight.detach().T.contiguous())
        self.b_o = nn.Parameter(torch.zeros(d_model))

    def project(self, x):
        thirds = (x @ self.W_qkv + self.b_qkv).chunk(3, dim=-1)
        return [self.parts.split_heads(third, self.num_heads) for third in thirds]

    def forward(self, x, keep=None):
        found = self.parts.scaled_dot_product_attention(*self.project(x))
        if keep is not None:
            return self.parts.ablate_heads(found, self.W_o, keep) + self.b_o
        return self.parts.merge_heads(found) @ self.W_o + self.b_o


# %%
class SmallTransformer(nn.Module):
    """Tokens and places, one layer of attention, a score for each question and letter."""

    def __init__(self, num_heads, parts=attention, d_model=64):
        super().__init__()
        scores = len(QUESTIONS) * LETTERS
        self.token, self.position = nn.Embedding(scores, d_model), nn.Embedding(LENGTH, d_model)
        self.norm, self.heads = nn.LayerNorm(d_model), Heads(num_heads, parts, d_model)
        self.out = nn.Sequential(nn.LayerNorm(d_model), nn.Linear(d_model, scores))

    def read(self, tokens):
        return self.token(tokens) + self.position.weight

    def forward(self, tokens, keep=None):
        stream = self.read(tokens)
        return self.out(stream + self.heads(self.norm(stream), keep))


# %%
@torch.no_grad()
def weights_of(model, tokens):
    """Return the weights of each head."""
    query, key, _ = model.heads.project(model.norm(model.read(tokens)))
    return attention.attention_weights(query, key)


def answer_scores(model, tokens, keep=None):
    """Return a score for each letter, question and inner position."""
    return model(tokens, keep)[:, 1:-1].unflatten(-1, (len(QUESTIONS), LETTERS))


@torch.no_grad()
def accuracy(model, keep=None, count=1000):
    """Return the share of right answers to each question, on sequences never trained on."""
    tokens, answers = draw(count, torch.Generator().manual_seed(99))
    return (answer_scores(model, tokens, keep).argmax(dim=-1) == answers).float().mean(dim=(0, 1))


# %%
def train(model, seed, name=None, steps=600):
    """Train in place on sequences drawn from the seed, with a bar if it has a name."""
    generator = torch.Generator().manual_seed(seed)

    def draw_loss():
        tokens, answers = draw(64, generator)
        return F.cross_entropy(answer_scores(model, tokens).flatten(0, 2), answers.flatten())

    rate = 3e-3
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate)
    look = "{desc}: {percentage:3.0f}%|{bar:20}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}]"
    bar = partial(tqdm, desc=name, bar_format=look, mininterval=1, file=sys.stdout)
    bar = bar if name else iter
    descend(model, draw_loss, optimiser, steps=steps, learning_rate=rate, progress=bar)
    return model


def new_model(num_heads, seed, parts=attention):
    """Return an untrained model; its number of parameters is the same for all."""
    torch.manual_seed(seed)
    return SmallTransformer(num_heads, parts)


# %%
tokens, answers = draw(1, torch.Generator().manual_seed(8))
print("sequence  ", *written(tokens[0]))
for question, column in zip(QUESTIONS, answers[0].T, strict=True):
    print(f"{question:10}", " ", *written(column))

# %% [markdown]
"""
**Predict.** Four heads, four questions. Will each head take one question, will each take part in all, or will it differ from seed to seed? Nothing in the loss asks heads to differ.
"""

# %%
trained = {}
for seed in (0, 1, 2):
    trained[4, seed] = train(new_model(4, seed), seed, f"4 heads, seed {seed}")
for (_, seed), model in trained.items():
    answered = int((accuracy(model) > 0.99).sum())
    print(f"seed {seed}: {answered} of 4 questions answered at more than 99% of positions")

# %% [markdown]
r"""
## 9. Switch heads off

To learn what a head is for, take it away: set its output to zero, leave everything else as it is, and measure again. This is an **ablation** (for heads: Michel et al., 2019). Before $W^O$ the heads are still side by side, so this is where one can be taken out.
"""

# %% [markdown]
"""
### Exercise: `ablate_heads`

*Difficulty · importance · minutes*

Write `ablate_heads(head_outputs, W_o, keep) -> out`.

- `head_outputs` is `(B, H, L, d_k)`, `W_o` is `(H·d_k, d_model)`, `keep` is boolean `(H,)`: True = this head speaks.
- Silence the others, merge, and apply `W_o` as `merged @ W_o`. The result is `(B, L, d_model)`.
- No head kept gives zeros.
"""


# %% exercise="ablate_heads"
def ablate_heads(head_outputs, W_o, keep):
    """Return the output in which only the kept heads speak."""
    ### BEGIN SOLUTION: Zeros for the silent heads, the rest side by side, then the output matrix.
    heard = torch.where(keep[:, None, None], head_outputs, torch.zeros_like(head_outputs))
    batch, _, length, _ = heard.shape
    return heard.permute(0, 2, 1, 3).reshape(batch, length, -1) @ W_o
    ### END SOLUTION


# %%
check("ablate_heads", ablate_heads)
# hint("ablate_heads")

# %% [markdown]
r"""
**Check yourself.** Instead of the head's output you could zero a part of $W^O$. Which part, and what would the other choice do?

<details><summary>Answer</summary>

The head's $d_k$ **rows**: row $c$ of $W^O$ says where channel $c$ of the merged heads goes. Zeroing $d_k$ *columns* instead silences $d_k$ channels of the output, of all heads together.

</details>
"""

# %%
outputs = torch.randn(2, 4, 5, 3, generator=generator)
W_o = torch.randn(12, 12, generator=generator)
kept = torch.tensor([True, False, True, True])
without_rows, without_columns = W_o.clone(), W_o.clone()
without_rows[3:6], without_columns[:, 3:6] = 0.0, 0.0
ablated = attention.ablate_heads(outputs, W_o, kept)
merged = attention.merge_heads(outputs)
print(
    "rows of head 1 zeroed:   the same", torch.allclose(merged @ without_rows, ablated, atol=1e-5)
)
print(
    "columns zeroed instead:  the same",
    torch.allclose(merged @ without_columns, ablated, atol=1e-5),
)

# %% [markdown]
"""
Now the trained models. For each seed and head: how many percentage points does each question lose when this head alone is off? The last line of each block switches all of them off.

**Predict.** Which pattern do you expect in each block of four lines? And what is left with no head at all: 25% for every question?
"""

# %% tags=["nbval-ignore-output"] reason="training differs in the last digits between machines"
everyone = torch.ones(4, dtype=torch.bool)
lost = {}
for (_, seed), model in trained.items():
    full = accuracy(model)
    alone = torch.eye(4, dtype=torch.bool)
    lost[seed] = torch.stack([full - accuracy(model, everyone & ~off) for off in alone])
    print(f"seed {seed}     " + "".join(f"{question:>9}" for question in QUESTIONS))
    for head, row in enumerate(lost[seed].clamp(min=0)):
        print(f"  head {head} off" + "".join(f"{100 * share:9.0f}" for share in row))
    rest = accuracy(model, ~everyone)
    print("  all off, %" + "".join(f"{100 * share:9.0f}" for share in rest))

# %% mystnb={"image": {"alt": "Four groups of bars, one for each head switched off. In each group one of the four questions falls to chance or a little above it, a different one in each group; the other three stay at 100 percent."}}
full, chance = accuracy(trained[4, 0]), 1 / LETTERS
figure, panels = plt.subplots(1, 4, figsize=(plotting.WIDTH, 3.2), sharey=True)
plotting.headline(figure, "Take a head away and one question\nis lost: its own")
colours = list(plotting.COLOURS.values())
for head, panel in enumerate(panels):
    panel.bar(range(4), 100 * (full - lost[0][head]), color=colours)
    panel.axhline(100 * chance, color=plotting.QUIET, linewidth=1, linestyle="--")
    panel.set_xticks(range(4), QUESTIONS, rotation=60, ha="right", rotation_mode="anchor")
    panel.set_title(f"no head {head}", loc="center")
panels[0].set(ylabel="right answers (%)", ylim=(0, 104))
_ = figure.supxlabel("dashed: chance", fontsize=11, color=plotting.QUIET)

# %% [markdown]
r"""
<details><summary>Answer</summary>

Each head took one question for itself, in each of the three seeds; which head takes which depends on the seed alone. Without its head a question falls to chance or a little above it, and the others hardly notice.

With no head at all nothing passes between positions, and three questions are at chance. *capital* keeps a little more: the capital itself knows that it is one. One inner position of ten is right for sure and the others guess: $0.1 + 0.9\cdot0.25 \approx 0.33$.

</details>

**Predict.** Sketch the four maps of weights of one sequence, row = who asks: *before*, *after*, *first*, *capital*.
"""

# %% mystnb={"image": {"alt": "Four heat maps of one sequence of twelve letters, one a capital. One head looks at the letter before (a line below the diagonal), one at the letter after (a line above it), one at the first position and one at the capital (vertical lines)."}}
tokens, _ = draw(1, torch.Generator().manual_seed(8))
letters = written(tokens[0])
maps = weights_of(trained[4, 0], tokens)[0]
names = [f"head {head}: {QUESTIONS[row.argmax()]}" for head, row in enumerate(lost[0])]
figure, grid = plt.subplots(2, 2, figsize=(plotting.WIDTH, 6.8))
plotting.headline(figure, "Each head learned one relation")
for panel, weights, name in zip(grid.flat, maps, names, strict=True):
    matrix_plotting.weight_map(
        panel, weights, title=name, rows=letters, columns=letters, decimals=None
    )
    panel.set(xlabel="key", ylabel="query")
matrix_plotting.colour_key(grid.flat, label="weight")

# %% [markdown]
"""
<details><summary>Answer</summary>

A line below the diagonal, a line above it, and two vertical stripes: the first column, and the column of the capital. The stripe of the capital moves with every sequence; the others do not. The outermost rows are not trained, because those positions answer no question.

</details>

Now by hand. Point at a cell, or walk with the arrow keys: it is marked in all heads. Switch a head off, and the bars show how far the output of each position moves. A head's contribution is its output times its own rows of $W^O$; the bars compare what is missing with the sum of all.
"""

# %% tags=["nbval-ignore-output"] reason="a widget has a new id in every run, and its weights come from the training above"
model = trained[4, 0]
with torch.no_grad():
    stream = model.norm(model.read(tokens))
    alone = torch.eye(4, dtype=torch.bool)
    spoken = [model.heads(stream, one) - model.heads.b_o for one in alone]
head_grid(
    maps,
    letters,
    letters,
    contributions=torch.cat(spoken),
    title="One layer, four heads",
    head_names=names,
)

# %% [markdown]
"""
**Predict**, then try: switch off the head for *first*. Does the output of every position move equally far? Which positions hardly move? Then leave only one head on.

<details><summary>Answer</summary>

About equally far at all inner positions: each of them answers all the questions and needs every head. No position stays put. The bars say how far the output *moves*, not how much accuracy is lost: both outermost positions move too, and nobody asks them anything. An ablation in the task's own currency, as in the table above, is the stronger evidence.

</details>
"""

# %% [markdown]
r"""
## 10. One wide head, several narrow ones

All models of this size have the same number of parameters. Only the cut differs: one head of width 64, two of 32, eight of 8.

**Predict.** Section 1 said that one average forgets which neighbour was which. How many of the four questions does a single head of width 64 answer? And two heads?
"""

# %% tags=["nbval-ignore-output"] reason="training differs in the last digits between machines"
for num_heads, seed in ((1, 0), (1, 1), (2, 0), (2, 1), (8, 0)):
    name = f"{num_heads} heads, seed {seed}"
    trained[num_heads, seed] = train(new_model(num_heads, seed), seed, name)
print("heads  seed  parameters" + "".join(f"{question:>9}" for question in QUESTIONS))
for (num_heads, seed), model in sorted(trained.items()):
    size = sum(parameter.numel() for parameter in model.parameters())
    shares = "".join(f"{share:9.0%}" for share in accuracy(model))
    print(f"{num_heads:5}  {seed:4}  {size:10,}{shares}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

One wide head answers *first*, *capital* and **one** of the two neighbours. The capital and the first place are marked, by a token and a place of their own, so a head can average them in and the readout can still tell them apart. The neighbours carry no such mark. Two heads can do all four, one neighbour each, and did so in one of the two seeds. Four and eight always did.

More width did not help; one more average did. The limit is that of one average with a linear readout: a feed-forward layer could decode unequal weights.

</details>
"""

# %% [markdown]
r"""
**Why do heads differ at all?** All heads compute the same formula, and the loss treats them alike. What makes them different?

**Predict.** Start a model of four heads with all heads *equal*: head 0's columns of $W^Q, W^K, W^V$ and rows of $W^O$, four times. After training, how many questions does it answer?
"""

# %% guess={"name": "05.equal", "kind": "choice", "asks": "The model of four heads starts with four equal heads: how many of its four questions does it answer after training (above 90%)?", "take": "printed", "options": {"none": "answered above 90%: 0 of 4", "one": "answered above 90%: 1 of 4", "two": "answered above 90%: 2 of 4", "three": "answered above 90%: 3 of 4", "four": "answered above 90%: 4 of 4"}}
guess("05.equal")

# %%
clones = new_model(4, 0)
with torch.no_grad():
    columns = clones.heads.W_qkv.view(64, 3, 4, 16)  # rows; W_q, W_k, W_v; heads; their columns
    columns.copy_(columns[:, :, :1].clone().expand_as(columns))
    rows = clones.heads.W_o.view(4, 16, 64)  # heads; their rows; columns
    rows.copy_(rows[:1].clone().expand_as(rows))
train(clones, 0, "4 equal heads")
maps = weights_of(clones, tokens)[0]
print("answered above 90%:", int((accuracy(clones) > 0.9).sum()), "of 4")
print("largest difference between the heads' weights:", f"{(maps - maps[0]).abs().max():.3f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

As many as one head: three. Equal heads get equal gradients, so they stay equal, and four equal heads are one. Nothing but the random start makes them differ, and then each step makes them differ more, because a question that one head answers no longer pulls at the others.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 11. How many heads are needed?

The model with eight heads has more of them than questions.

**Predict.** Switch its heads off one after another, always the one that costs least *now*. How many can go before the accuracy falls? Do the same for the model with four heads.
"""


# %%
def prune(model, num_heads):
    """Switch heads off one by one, always the least needed; return the accuracy after each."""
    keep = torch.ones(num_heads, dtype=torch.bool)
    curve = [accuracy(model).mean().item()]
    while keep.any():
        choices = {}
        for head in keep.nonzero()[:, 0].tolist():
            rest = keep.clone()
            rest[head] = False
            choices[head] = accuracy(model, rest, count=300).mean().item()
        keep[max(choices, key=choices.get)] = False
        curve.append(accuracy(model, keep).mean().item())
    return curve


# %% mystnb={"image": {"alt": "Mean accuracy against the number of heads switched off. With eight heads it stays at 100 percent until four are off and then falls by 15 to 20 points with each. With four heads it falls from the first."}}
axes = plotting.new_figure(
    "Eight heads, four questions: four can go\nat no cost, then each one counts",
    "heads switched off, the least needed first",
    "right answers (%)",
)
for num_heads, colour, at in ((8, "blue", (4.6, 99)), (4, "orange", (0.15, 60))):
    curve = [100 * share for share in prune(trained[num_heads, 0], num_heads)]
    plotting.line(axes, range(num_heads + 1), curve, f"{num_heads} heads", colour, at, "o-")
    free = sum(share > 99 for share in curve) - 1
    print(f"{num_heads} heads: {free} can go while more than 99% of the answers stay right")
axes.axhline(100 * chance, color=plotting.QUIET, linewidth=1, linestyle="--")
axes.text(0.1, 100 * chance + 3, "chance", color=plotting.INK)
_ = axes.set_ylim(0, 106)

# %% [markdown]
r"""
<details><summary>Answer</summary>

Of eight, four<!-- shown: 4 -->; of four, none<!-- shown: 0 -->. Redundant heads are the rule in larger models too. Michel et al. (2019) removed a large share of the heads of trained models at test time, and in some layers all but one, with little loss. Voita et al. (2019) pruned 38 of the 48 heads of a translation encoder at a cost of 0.15 BLEU (a score of translations, from 0 to 100); those that stay longest have roles that can be named: neighbouring positions, syntax, rare words. Clark et al. (2019) found such roles in BERT.

</details>
"""

# %% [markdown]
"""
**Check yourself.** Each single head of the eight costs almost nothing. Can you conclude that none of them matters?

<details><summary>Answer</summary>

No. Two heads that do the same work each look useless while the other is there; without both the work is not done. Ablating one at a time measures what is not backed up, not what is used.

</details>
"""

# %% [markdown]
r"""
**In a released model.** SmolLM2-135M-Instruct (chapter 20 opens it) has 30 layers of nine heads. Recorded, on three texts of 256 tokens: what is added to the loss, in nats per token, where the nine heads of a layer all use the mean of their nine patterns (each with its own values), and where heads are set to 0.

**Predict.** One pattern per layer, in all 30: does the model still write? Only in layer 17? And one head at a time, drawn at random in each layer: how many of the 30 are missed?
"""

# %% guess={"name": "05.together", "kind": "number", "asks": "SmolLM2: one random head of each of the 30 layers, each alone set to 0, adds 0.55 nats in sum; how many nats do all 30 together add (mean of three texts)?", "low": 0.05, "high": 50, "log": true, "unit": "nats", "reads": {"record": "chapter_20_boxes", "rows": "heads", "value": "a random head of each layer"}}
guess("05.together")

# %%
inside = measure.read_record("chapter_20_boxes")["heads"]
for name in ("one pattern", "one pattern in layer 17", "uniform in layer 17",
             "a random head of each layer"):  # fmt: skip
    print(f"{name:28}", *(f"{one[name]:+6.2f}" for one in inside))
alone = torch.tensor([one["single"] for one in inside]).mean(dim=0)
print(f"each of these 30 alone: median {alone.median():+.3f}, below 0.01 for", end="")
print(f" {int((alone < 0.01).sum())}, sum {alone.sum():+.2f},", end="")
print(f" most {alone.max():+.2f} (layer {int(alone.argmax())})")

# %% [markdown]
r"""
<details><summary>Answer</summary>

With one pattern per layer 3.3 to 5.4 nats are added<!-- shown: 3.26 5.42 -->: hardly anything is left. In layer 17 alone it costs at most 0.02, less than equal weights (0.04 to 0.12)<!-- shown: 0.02 0.04 0.12 -->: the other 29 layers still have nine patterns each.

A single head is hardly missed. The median costs 0.007, 19 of the 30 below 0.01, and the most is 0.13, in layer 1<!-- shown: 0.007 19 30 0.13 1 -->. But the 30 together cost 0.75 to 1.30, twice the sum of what each costs alone (0.55)<!-- shown: 0.75 1.30 0.55 -->. So "removable one at a time" says little: what one head no longer does, others may still do.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 12. How many do models have?

| model | width | heads | width of a head |
|---|---|---|---|
| Transformer, base (Vaswani et al., 2017) | 512 | 8 | 64 |
| BERT-base (Devlin et al., 2019) | 768 | 12 | 64 |
| GPT-3 175B (Brown et al., 2020) | 12288 | 96 | 128 |
| LLaMA 7B (Touvron et al., 2023a) | 4096 | 32 | 128 |
| LLaMA-2 70B (Touvron et al., 2023b) | 8192 | 64 | 128 |
| T5-11B (Raffel et al., 2020) | 1024 | 128 | 128, independent of the width |

"""

# %% [markdown]
r"""
**Find the error.** Two rules of text D for the number of heads: "8-16 for large models", and $h = d_{model}/64$.

**Predict.** Which rows obey the second? From which year on does it fail?
"""

# %%
table = {"base": (512, 8), "BERT": (768, 12), "GPT-3": (12288, 96), "LLaMA 7B": (4096, 32)}
table |= {"LLaMA-2 70B": (8192, 64), "T5-11B": (1024, 128)}
for name, (d_model, num_heads) in table.items():
    rule = d_model // 64
    print(
        f"{name:12} {num_heads:4} heads; d_model / 64 = {rule:4}",
        "" if rule == num_heads else " no",
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

Only the first two. 8 to 16 was the scale of 2017 to 2019; large models have 32 to 128 heads. Heads of width 128 have been common since 2020. What holds up is weaker: the number of heads grows about in proportion to the width, with heads of 64 to 128.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 13. What published texts say, once more

In short words, each with its text. Right, wrong, or right under a condition? Decide before you open the answers.

1. Heads run in parallel, on different representation subspaces (A).
2. Different heads capture distinct patterns (B).
3. More expressive without dramatic growth in parameters (B).
4. The ensemble of heads makes the model robust (D).
5. The cost of all heads is similar to one head of full width (E).
6. The number of heads should divide the width (E).
7. A class with a loop over heads computes multi-head attention (D).
"""

# %% [markdown]
r"""
<details><summary>Answers</summary>

1. Right for the computation, up to $W^O$. The subspaces *may* differ; nothing makes them (section 10, equal heads).
2. Seen in trained models, also here; not guaranteed, and many heads repeat each other.
3. Right, and too modest: no growth at all (section 6).
4. Not shown. Redundancy was observed; that it is the cause of robustness was not.
5. Right; the operations are identical.
6. Right if $d_k = d_{model}/H$; a choice, not a law (T5).
7. Right, up to rounding. Which of the two is faster depends on the machine (section 6).

</details>
"""

# %% [markdown]
r"""
**Find the error** (section 4). The class of text A takes a mask, writes `mask.unsqueeze(1).repeat(1, h, 1, 1)`, and then fills scores where the result is 0.

**Predict.** It gets the causal mask of every textbook, $(S, S)$, with $S = 10$ and $h = 8$. What shape does `repeat` make, and what replaces the line so that masks with 2, 3 and 4 axes work?
"""

# %%
scores = torch.zeros(2, 8, 10, 10)
causal = torch.ones(10, 10).tril()
repeated = causal.unsqueeze(1).repeat(1, 8, 1, 1)
print("repeat makes", tuple(repeated.shape))
try:
    scores.masked_fill(repeated == 0, -torch.inf)
except RuntimeError as error:
    print("error:", error)
for shape in ((10, 10), (8, 10, 10), (2, 1, 10, 10)):
    print(
        shape,
        "needs no line at all:",
        tuple(scores.masked_fill(torch.zeros(shape) == 0, 0.0).shape),
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

$(1, 80, 1, 10)$: without an axis for sequences, the ten rows of the mask end up where the heads should be, eight times over. With a mask $(B, S, S)$ the line works, and copies the mask $h$ times for nothing. Delete the line. Broadcasting does it, as long as callers put the axis where it belongs.

</details>
"""

# %% [markdown]
r"""
## Yours: the chapter's experiment, with your functions

The layer of section 8 once more, trained for fewer steps and then robbed of one head after another, with every function that you have passed instead of the course's: those of this chapter, and the attention of chapter 03. If you have passed nothing yet, the course's own functions run.
"""

# %% tags=["nbval-ignore-output"] reason="whose functions run, and how fast, depends on the reader"
parts = yours(
    "scaled_dot_product_attention",
    "split_heads",
    "merge_heads",
    "multi_head_attention",
    "mha_parameters",
    "ablate_heads",
)
parts


# %%
def chapter(parts):
    """Train on the four questions, switch each head off, attend once without biases."""
    model = train(new_model(4, 0, parts).double(), 0, steps=200)
    right, everyone = accuracy(model), torch.ones(4, dtype=torch.bool)
    off = torch.eye(4, dtype=torch.bool)
    tokens, _ = draw(1, torch.Generator().manual_seed(8))
    with torch.no_grad():
        stream, (W_q, W_k, W_v) = model.read(tokens), model.heads.W_qkv.chunk(3, dim=1)
        inputs = stream, stream, stream, W_q, W_k, W_v, model.heads.W_o
        mixed = parts.multi_head_attention(*inputs, 4)
    return {
        "right answers": right,
        "lost without each head": torch.stack(
            [right - accuracy(model, everyone & ~o) for o in off]
        ),
        "size of the output without biases": mixed.norm(),
        "parameters of the attention": parts.mha_parameters(64, 4, True),
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

1. Cut the width into heads, then transpose: $(B, L, d_{model}) \to (B, L, H, d_k) \to (B, H, L, d_k)$. `view` alone shuffles, silently. Back: transpose, then reshape.
2. Loop, batched and fused are one function. Masks broadcast to $(B, H, L, S)$: $(L, S)$ for all, $(H, L, S)$ one per head, $(B, 1, L, S)$ one per sequence. PyTorch's module inverts its masks.
3. $4\,d_{model}^2$ parameters and the same operations, whatever the number of heads.
4. An average forgets who said what; several heads keep several things. Each head's scores have rank at most $d_k$.
5. Ablation: zero a head before $W^O$ and measure. Ours took one question each; of eight, four could go.
"""

# %% tags=["remove-cell"]
progress(5)

# %% [markdown]
"""
**Next**: chapter 06 builds the masks, and finds out what happens when one leaks.
"""

# %% [markdown]
r"""
## Go further

- Vaswani et al. (2017), section 3.2.2: multi-head attention.
- Michel et al. (2019): are sixteen heads really better than one?
- Voita et al. (2019): which heads stay when most are pruned.
- Clark et al. (2019): what the heads of BERT look at.
- Bhojanapalli et al. (2020): the low-rank bottleneck. Eckart and Young (1936): the best matrix of a given rank.
- Raffel et al. (2020): T5, heads whose width is free.
- Devlin et al. (2019), Brown et al. (2020), Touvron et al. (2023a, 2023b): the sizes in section 12.
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
@inproceedings{michel2019sixteen,
  title = {Are Sixteen Heads Really Better than One?},
  author = {Michel, Paul and Levy, Omer and Neubig, Graham},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2019}, url = {https://arxiv.org/abs/1905.10650}}
@inproceedings{voita2019analyzing,
  title = {Analyzing Multi-Head Self-Attention: Specialized Heads Do the Heavy Lifting, the Rest Can Be Pruned},
  author = {Voita, Elena and Talbot, David and Moiseev, Fedor and Sennrich, Rico and Titov, Ivan},
  booktitle = {ACL}, year = {2019}, url = {https://arxiv.org/abs/1905.09418}}
@inproceedings{clark2019what,
  title = {What Does {BERT} Look At? An Analysis of {BERT}'s Attention},
  author = {Clark, Kevin and Khandelwal, Urvashi and Levy, Omer and Manning, Christopher D.},
  booktitle = {BlackboxNLP}, year = {2019}, url = {https://arxiv.org/abs/1906.04341}}
@inproceedings{bhojanapalli2020lowrank,
  title = {Low-Rank Bottleneck in Multi-head Attention Models},
  author = {Bhojanapalli, Srinadh and Yun, Chulhee and Rawat, Ankit Singh and Reddi, Sashank J. and Kumar, Sanjiv},
  booktitle = {ICML}, year = {2020}, url = {https://arxiv.org/abs/2002.07028}}
@article{eckart1936approximation,
  title = {The Approximation of One Matrix by Another of Lower Rank},
  author = {Eckart, Carl and Young, Gale},
  journal = {Psychometrika}, volume = {1}, number = {3}, pages = {211--218}, year = {1936}, doi = {10.1007/BF02288367}}
@article{raffel2020exploring,
  title = {Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer},
  author = {Raffel, Colin and Shazeer, Noam and Roberts, Adam and Lee, Katherine and Narang, Sharan and Matena, Michael and Zhou, Yanqi and Li, Wei and Liu, Peter J.},
  journal = {Journal of Machine Learning Research}, volume = {21}, number = {140}, year = {2020}, url = {https://arxiv.org/abs/1910.10683}}
@inproceedings{devlin2019bert,
  title = {{BERT}: Pre-training of Deep Bidirectional Transformers for Language Understanding},
  author = {Devlin, Jacob and Chang, Ming-Wei and Lee, Kenton and Toutanova, Kristina},
  booktitle = {NAACL}, year = {2019}, url = {https://arxiv.org/abs/1810.04805}}
@inproceedings{brown2020language,
  title = {Language Models are Few-Shot Learners},
  author = {Brown, Tom B. and others},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2020}, url = {https://arxiv.org/abs/2005.14165}}
@misc{touvron2023llama,
  title = {{LLaMA}: Open and Efficient Foundation Language Models},
  author = {Touvron, Hugo and others}, year = {2023}, url = {https://arxiv.org/abs/2302.13971}}
@misc{touvron2023llama2,
  title = {Llama 2: Open Foundation and Fine-Tuned Chat Models},
  author = {Touvron, Hugo and others}, year = {2023}, url = {https://arxiv.org/abs/2307.09288}}
```

</details>
"""
