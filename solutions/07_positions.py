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
# Tell attention where its tokens stand: positional encodings

A query and a key are turned, pair by pair, by an angle that grows with their position. Each clock shows one pair.

Play for one minute: move the two tokens, then press *Both one later* a few times. **Which numbers change, and which never do?** At the end of the chapter you can explain it.
"""

# %% tags=["remove-input"]
from course_utils.widgets import rope_clock

opening = rope_clock()
opening

# %% [markdown]
r"""
*You will be able to*

1. show that attention alone does not know the order of its tokens, and test any layer for it;
2. write sinusoidal encodings and RoPE and, in the further sections, ALiBi's biases, Shaw's vectors, T5's buckets and RoPE's other pairing;
3. prove that scores under RoPE depend on the distance only, and find a rotation that is wrong;
4. stretch a model with RoPE to longer texts in three ways;
5. say, from a measurement, which schemes still work far beyond the length of training, and for which task.

*You need* chapters 05 and 06: heads, the small Transformer, causal masks; sine, cosine and rotations in the plane.

*Core path · further*
"""

# %% [markdown]
r"""
As before, each experiment begins with a question. Write your guess down, run the cell, then open the answer.

One set of symbols serves the whole chapter, even where the papers use others. A **position** is a whole number counted from 0: $p$ for any token, $m$ for a query, $n$ for a key. The **distance** is $n - m$: negative for a key before its query. $i$ numbers pairs of features, $h$ heads, and $\Delta$ is a shift.
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
import math
import sys
from functools import partial
from statistics import mean

import torch
from matplotlib import pyplot as plt
from torch import nn
from tqdm import tqdm

from course_utils import attention, matrix_plotting, measure, models, plotting, positions
from course_utils.data import character_text
from course_utils.guessing import guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.models.gpt.named_schemes import TRAINED
from course_utils.widgets import extrapolation_explorer

plotting.use_style()
torch.set_num_threads(1)
torch.set_flush_denormal(True)
torch.set_printoptions(precision=3, sci_mode=False, linewidth=110)

# %% [markdown]
r"""
## 1. A bag of words

*The cat sat on the mat. The mat sat on the cat.* The same six words tell two different stories. Each word becomes a vector, and one layer of attention from chapter 05 reads each sentence.

**Predict.** How far apart are the two outputs for *cat*? And the two outputs averaged over the sentence?
"""

# %%
words = {word: number for number, word in enumerate(["the", "cat", "sat", "on", "mat"])}
torch.manual_seed(0)
embedding, layer = nn.Embedding(len(words), 24), attention.MultiHeadAttention(24, 4)
sentences = [line.split() for line in ("the cat sat on the mat", "the mat sat on the cat")]
tokens = torch.tensor([[words[word] for word in sentence] for sentence in sentences])
x = embedding(tokens).detach()
first, second = layer(x).detach()
gap = (first[sentences[0].index("cat")] - second[sentences[1].index("cat")]).abs().max()
print("cat in both sentences, equal to six digits:", bool(gap < 1e-6))
print(
    "means of the sentences, equal to six digits:",
    bool((first.mean(0) - second.mean(0)).abs().max() < 1e-6),
)

# %% [markdown]
r"""
<details><summary>Answer</summary>

Both are equal up to rounding. A query meets every key, and a sum does not depend on the order of its terms. Nothing in $\mathrm{softmax}(QK^\top/\sqrt{d_k})V$ says which row came first.

</details>

So the output *moves with* its tokens. For a permutation matrix $P$ and self-attention $f$:

$$f(PX) = P\,f(X)$$

This is called permutation **equivariance**. **Invariance** would be $f(PX) = f(X)$.
"""

# %%
shuffle = torch.tensor([5, 1, 3, 0, 4, 2])
shuffled = [sentences[0][place] for place in shuffle]
straight = layer(x[:1])[0].detach()
moved = layer(x[:1, shuffle])[0].detach()
print(" ".join(shuffled))
print("f(PX) = P f(X):", torch.allclose(moved, straight[shuffle], atol=1e-6))
print("f(PX) = f(X):  ", torch.allclose(moved, straight, atol=1e-6))

# %% mystnb={"image": {"alt": "Two maps of outputs, six tokens by eight features. On the left the sentence in order, on the right shuffled. Every row of the left map is in the right one too, next to the same word."}}
figure, panels = plt.subplots(1, 2, figsize=(plotting.WIDTH, 3.0))
plotting.headline(figure, "Shuffle the words, and the outputs shuffle with them")
for panel, rows, names, title in zip(
    panels, (straight, moved), (sentences[0], shuffled), ("in order", "shuffled"), strict=True
):
    matrix_plotting.weight_map(
        panel, rows[:, :8], title=title, rows=names, decimals=None, weights=False
    )
    panel.set(xlabel="feature of the output")

# %% [markdown]
r"""
**Find the error.** "Attention is permutation-invariant: swapping input positions doesn't change output", says text D (A to E are listed on the page *What is measured here*); text E says the same.

**Predict.** Four layers, one shuffle. Which are invariant, which equivariant, which neither?

1. self-attention
2. self-attention, then the mean over the tokens
3. cross-attention from a fixed query, where keys and values are shuffled
4. self-attention with a causal mask
"""

# %% guess={"name": "07.causal", "kind": "choice", "asks": "The tokens are shuffled: what happens to the output of self-attention with a causal mask?", "take": "printed", "options": {"nothing (invariant)": "self-attention, causal mask invariant", "its rows are shuffled alike (equivariant)": "self-attention, causal mask equivariant", "neither": "self-attention, causal mask neither"}}
guess("07.causal")

# %%
causal = attention.causal_mask(6, 6)
question = torch.randn(1, 3, 24, generator=torch.Generator().manual_seed(1))
in_order, mixed = x[:1], x[:1, shuffle]
cases = {  # the outputs before and after the shuffle
    "self-attention": [layer(one) for one in (in_order, mixed)],
    "self-attention, then the mean": [layer(one).mean(1) for one in (in_order, mixed)],
    "cross-attention, keys shuffled": [layer(question, one) for one in (in_order, mixed)],
    "self-attention, causal mask": [layer(one, attn_mask=causal) for one in (in_order, mixed)],
}
for name, (before, after) in cases.items():
    fits = before.shape[1] == 6 and torch.allclose(after, before[:, shuffle], atol=1e-6)
    kind = "equivariant" if fits else "neither"
    print(f"{name:31}", "invariant" if torch.allclose(after, before, atol=1e-6) else kind)

# %% [markdown]
r"""
<details><summary>Answer</summary>

Only the first is equivariant, and it is not invariant. The mean is invariant, and so is cross-attention when its keys are shuffled: a set of keys may come in any order.

The causal mask breaks both. The first token sees one key, the last sees six, so a model with a causal mask has *some* knowledge of order without any encoding. Section 11 measures how much that is worth.

</details>
"""

# %% [markdown]
r"""
### Exercise: `is_permutation_equivariant`

*Difficulty · importance · minutes*

Write `is_permutation_equivariant(layer, x, permutation) -> bool`, the test that finds a real bug in section 4.

- `layer` is a function from (B, L, d) to (B, L, d); `x` is (B, L, d); `permutation` holds each of 0 … L−1 once.
- Return whether `layer(x[:, permutation])` equals `layer(x)[:, permutation]` up to rounding.
- Return a Python `bool`. Outputs may be in float32 or float64, and as small as $4\cdot10^{-5}$: leave room for rounding, and hardly for more.
"""


# %% exercise="is_permutation_equivariant"
def is_permutation_equivariant(layer, x, permutation):
    """Say whether shuffling the tokens only shuffles the layer's output."""
    ### BEGIN SOLUTION: Shuffle before and after the layer, and compare up to rounding.
    before = layer(x[:, permutation])
    after = layer(x)[:, permutation]
    room = 1e-4 if x.dtype == torch.float32 else 1e-8
    return bool((before - after).abs().max() <= room * after.abs().max())
    ### END SOLUTION


# %%
check("is_permutation_equivariant", is_permutation_equivariant)
# hint("is_permutation_equivariant")

# %% [markdown]
r"""
**Check yourself.** A layer passes your test with one permutation. What do you know?

- A. it is equivariant
- B. it may be; one permutation can only refute
- C. it has no positions

<details><summary>Answer</summary>

- A is wrong: the identity is a permutation too, and every layer passes with it.
- **B is right.** A difference is a proof, agreement is evidence. Take a shuffle that moves every token.
- C is wrong for two reasons: see B; besides, a layer that adds the same encoding to every token passes although it does add one.

</details>
"""

# %% [markdown]
r"""
## 2. Sines and cosines

The first answer adds to each token a vector that depends on its position alone. Vaswani et al. (2017) use waves of many lengths. For position $p$ and **pair** $i = 0, \dots, d/2 - 1$:

$$\mathrm{pe}[p, 2i] = \sin(p\,\omega_i),\qquad \mathrm{pe}[p, 2i+1] = \cos(p\,\omega_i),\qquad \omega_i = 10000^{-2i/d}$$

Text E calls $i$ the "dimension index". It is the index of the pair: each frequency serves two features.

**Predict.** Width $d = 4$. Which frequencies are there, and what is the row of position 0? At which later position does the first pair come closest to its starting point?
"""

# %%
table = positions.sinusoidal_encoding(8, 4)
print("frequencies", positions.rope_frequencies(4).tolist())
for place, row in enumerate(table):
    print(place, " ".join(f"{number:7.4f}" for number in row.tolist()))

# %% [markdown]
r"""
<details><summary>Answer</summary>

$\omega = (1, 0.01)$. Position 0 is (0, 1, 0, 1): sines are 0, cosines 1. A full turn of the first pair takes $2\pi \approx 6.28$ positions, so position 6 is closest. The second pair moves a hundred times slower and tells 0 from 6: fast pairs say exactly where, slow pairs say roughly where, like the last and the first digits of a number.

</details>
"""

# %% [markdown]
r"""
### Exercise: `sinusoidal_encoding`

*Difficulty · importance · minutes*

Write `sinusoidal_encoding(num_positions, d_model, base=10000.0) -> pe`.

- The result is a tensor of shape `(num_positions, d_model)` in the default float dtype; positions count from 0.
- `pe[p, 2i] = sin(p / base**(2i / d_model))`, and `pe[p, 2i+1]` is the cosine of the same angle.
- Far positions need precise angles: in float32 a number in the thousands has few digits left after the point.
"""


# %% exercise="sinusoidal_encoding"
def sinusoidal_encoding(num_positions, d_model, base=10000.0):
    """Return the sines and cosines of each position, one row per position."""
    ### BEGIN SOLUTION: Angles from positions and frequencies; sines and cosines alternate.
    place = torch.arange(num_positions, dtype=torch.float64)[:, None]
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    turned = place / base ** (even / d_model)
    pe = torch.empty(num_positions, d_model)
    pe[:, 0::2] = torch.sin(turned)
    pe[:, 1::2] = torch.cos(turned)
    return pe
    ### END SOLUTION


# %%
check("sinusoidal_encoding", sinusoidal_encoding)
# hint("sinusoidal_encoding")

# %% [markdown]
r"""
**Predict.** The table is drawn for 64 positions and width 32: one row per position, one column per feature. (Text E's caption swaps the two.) Where do you see fast change, and where none? To the right of it is $\mathrm{pe}[p]\cdot\mathrm{pe}[p']$ for all pairs of positions. What does a line parallel to the diagonal look like?
"""

# %% mystnb={"image": {"alt": "Left: the encoding table, 64 positions by 32 features. Left columns flicker from row to row, right ones hardly change. Right: dot products of all pairs of positions, bright on the diagonal and constant along every line parallel to it."}}
pe = positions.sinusoidal_encoding(64, 32)
figure, (left, right) = plt.subplots(1, 2, figsize=(plotting.WIDTH, 4.0), sharey=True)
plotting.headline(
    figure, "Each position has its own row;\ntheir dot product depends on the distance only"
)
look = {"aspect": "auto", "interpolation": "nearest"}
entries = left.imshow(pe, cmap=matrix_plotting.SIGNED_COLOURS, **look)
left.set(xlabel="feature", ylabel="position")
products = right.imshow(pe @ pe.T, cmap=matrix_plotting.WEIGHT_COLOURS, **look)
right.set_xlabel("position")
for panel, picture, label in ((left, entries, "entry"), (right, products, "dot product")):
    panel.spines[:].set_visible(False)
    figure.colorbar(picture, ax=panel, label=label, orientation="horizontal")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The columns on the left flicker, those on the right hardly change. Along a line parallel to the diagonal the dot product is constant:

$$\mathrm{pe}[p]\cdot\mathrm{pe}[p+\Delta] = \sum_i \big(\sin p\omega_i \sin (p+\Delta)\omega_i + \cos p\omega_i\cos (p+\Delta)\omega_i\big) = \sum_i \cos(\Delta\,\omega_i)$$

</details>

**Predict.** Published texts name three properties: every position is unique, neighbours are alike, and any length can be encoded. At width 512, how alike are neighbours, and distant positions? After how many positions does the slowest pair return to its start?
"""

# %% guess={"name": "07.cosine", "kind": "curve", "asks": "Sines and cosines of width 512: how large is the cosine between the rows of two positions, by how far apart they are?", "low": 0, "high": 1, "x": [1, 10, 100, 1000], "across": "positions apart", "reads": "{x} apart: cosine {}"}
guess("07.cosine")

# %%
wide = positions.sinusoidal_encoding(3000, 512)
for distance in (1, 10, 100, 1000):
    alike = (wide[0] @ wide[distance] / wide[0].norm() ** 2).item()
    print(f"{distance:5} apart: cosine {alike:.3f}")
closest = torch.cdist(wide, wide).fill_diagonal_(math.inf).min()
slowest = 2 * math.pi * 10000 ** (510 / 512)
print(
    f"closest two of 3,000 positions: {closest:.2f} apart; every row has length {wide[0].norm():.0f}"
)
print(f"slowest wavelength: {slowest:,.0f} positions")

# %% [markdown]
r"""
<details><summary>Answer</summary>

0.973, 0.679, 0.437, 0.176: neighbours are alike, distant positions less so. The slowest pair returns after 60,611 positions,<!-- shown: 0.973 0.679 0.437 0.176 60,611 --> so rows are unique at any practical length. And the formula can be evaluated anywhere. Whether a *model* can use a row that it has never seen is another question, which section 11 answers.

Conventions differ: fairseq and tensor2tensor put all sines before all cosines and divide $i$ by $d/2 - 1$. The idea is the same, the table is not.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** A decoder has read 100 tokens and keeps their keys. One more token comes. Which row of the table is added to it?

- A. row 0, because it is the only token in this step
- B. row 100
- C. row 101

<details><summary>Answer</summary>

- A is wrong, and a real mistake: a step with one token looks like a text of length 1. You will meet it again in section 8.
- **B is right**: positions count from 0, and the 100 tokens took rows 0 to 99.
- C is wrong by one: in relative schemes a shift by one would go unnoticed; here it does not.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 3. A shift is a rotation

Because of the two addition theorems

$$\sin(a + b) = \sin a\cos b + \cos a \sin b,\qquad \cos(a+b) = \cos a\cos b - \sin a\sin b,$$

the row of position $p + \Delta$ is the row of $p$ times a matrix $M_\Delta$ that does not depend on $p$. Text E prints the first theorem and leaves the second out. Without it half of the features are left behind.

**Predict.** What does $M_\Delta$ look like: where are its zeros? And what is $M_{-\Delta}$?
"""

# %% mystnb={"image": {"alt": "The shift matrix for width 8 and offset 3. Four blocks of two by two on the diagonal, each a rotation; zeros elsewhere. The last block is nearly the identity."}}
shift = positions.shift_matrix(3, 8)
title = "Shift by 3, width 8:\none rotation for each pair"
figure, axes = plt.subplots(figsize=(5.2, 4.7))
plotting.headline(figure, title)
matrix_plotting.weight_map(axes, shift.round(decimals=2) + 0.0, weights=False)
axes.set(xlabel="feature of position p + 3", ylabel="feature of position p")
table = positions.sinusoidal_encoding(60, 8)
print(
    "largest error over 57 positions below 1e-6:",
    bool((table[3:] - table[:-3] @ shift).abs().max() < 1e-6),
)
print("shift by -3 is the transpose:", torch.allclose(positions.shift_matrix(-3, 8), shift.T))

# %% [markdown]
r"""
<details><summary>Answer</summary>

2×2 blocks on the diagonal, zeros elsewhere: pairs do not mix. Each block rotates its pair by $\Delta\,\omega_i$. The way back is the inverse rotation, the transpose.

So a linear layer *could* learn to look three places back, equally well at every position. This is why the authors chose sines and cosines. A layer has to find it, though; RoPE (section 8) builds it in.

</details>
"""

# %% [markdown]
r"""
### Exercise: `shift_matrix`

*Difficulty · importance · minutes*

Write `shift_matrix(offset, d_model, base=10000.0) -> M` with `pe[p + offset] == pe[p] @ M` for every `p`, where `pe` is the table of `sinusoidal_encoding`.

- `offset` is any whole number, negative and zero too. `M` is a tensor of shape `(d_model, d_model)` in the default float dtype.
- `M` multiplies a row from the right. From the left, on a column, it would be the transpose.
"""


# %% exercise="shift_matrix"
def shift_matrix(offset, d_model, base=10000.0):
    """Return the matrix that moves every row of the table by `offset` positions."""
    ### BEGIN SOLUTION: One block for each pair; its columns are the two addition theorems.
    matrix = torch.zeros(d_model, d_model)
    for even in range(0, d_model, 2):
        turned = offset / base ** (even / d_model)
        c, s = math.cos(turned), math.sin(turned)
        matrix[even : even + 2, even : even + 2] = torch.tensor([[c, -s], [s, c]])
    return matrix
    ### END SOLUTION


# %%
check("shift_matrix", shift_matrix)
# hint("shift_matrix")

# %% [markdown]
r"""
## 4. A bug that ships

This is the class of text E. The model that uses it takes the batch first, (B, L, d), as all models in this course do. The code runs, and the loss falls.

**Predict.** Read the last line of `forward`. What is `x.size(0)`?
"""


# %%
class PublishedPositions(nn.Module):
    """Adds sines and cosines, as printed."""

    def __init__(self, d_model, max_len=5000):
        super().__init__()
        place = torch.arange(max_len).unsqueeze(1)
        speed = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(place * speed)
        pe[:, 0, 1::2] = torch.cos(place * speed)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(0)]


# %% [markdown]
"""
**Predict.** Your test from section 1 is applied to *positions, then attention*. Which answer should a layer with positions give, and which does this one give?
"""

# %% guess={"name": "07.published", "kind": "choice", "asks": "Text E's class adds positions to a batch (B, L, d), attention follows: is the whole permutation equivariant, by the test?", "take": "printed", "options": {"yes, like attention alone": "with published positions: equivariant True", "no, since positions were added": "with published positions: equivariant False"}}
guess("07.published")

# %%
torch.manual_seed(0)
layer, published = attention.MultiHeadAttention(24, 4), PublishedPositions(24)
batch = torch.randn(3, 6, 24)
test = partial(positions.is_permutation_equivariant, x=batch, permutation=shuffle)
print("attention alone:         equivariant", test(layer))
print("with published positions: equivariant", test(lambda x: layer(published(x))))
twice = batch[:1].expand(2, -1, -1)
first, second = layer(published(twice)).detach()
print(f"one sentence twice in a batch: outputs differ by {(first - second).abs().max():.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

With positions the answer must be False. The published class gives True: it indexes the *batch*. Every token of sample $b$ gets the encoding of position $b$, so no token knows its place, and the same sentence comes out differently at different places in the batch. The class was written for the order (L, B, d) of an older tutorial and copied into code with the batch first.

The loss falls all the same: a bag of words predicts a lot. No shape, no error message and no curve shows the bug. A one-line test does.

</details>
"""

# %% [markdown]
r"""
**Repair it.** The tokens are along the second axis.

**Predict.** With room for 8 positions: which class refuses a batch of nine texts, and which a text of nine tokens?
"""


# %%
class RepairedPositions(PublishedPositions):
    """The positions run along the second axis, where the tokens are."""

    def forward(self, x):
        return x + self.pe[: x.size(1), 0]


repaired = RepairedPositions(24, max_len=8)
print("repaired: equivariant", test(lambda x: layer(repaired(x))))
same = repaired(batch) - batch
print(
    "the course's table:", torch.allclose(same[1], positions.sinusoidal_encoding(6, 24), atol=1e-5)
)
for shape in ((9, 6, 24), (3, 9, 24)):
    for fixed in (PublishedPositions(24, max_len=8), repaired):
        try:
            fixed(torch.zeros(shape))
            print(f"{shape} {type(fixed).__name__:18} runs")
        except RuntimeError:
            print(f"{shape} {type(fixed).__name__:18} stops with an error")

# %% [markdown]
r"""
<details><summary>Answer</summary>

`pe[: x.size(1), 0]` has the shape (L, d) and broadcasts over the batch. With room for 8 positions the published class refuses a batch of 9 and accepts a text of 9 tokens: the wrong way round. An error message such as "The size of tensor a (9) must match the size of tensor b (8)" is sometimes the only trace.

</details>

With the repaired class the two sentences about cat and mat are different at last:
"""

# %%
x = embedding(tokens).detach()
first, second = layer(repaired(x)).detach()
gap = (first[sentences[0].index("cat")] - second[sentences[1].index("cat")]).abs().max()
print(f"cat in both sentences: outputs differ by {gap:.2f}")

# %% [markdown] tags=["further"]
r"""
## 5. Learned positions

The simplest encoding is a learned table: one free vector for each position up to a maximum (Gehring et al., 2017; BERT; GPT-2).

**Predict.** The table has 100 rows, the text 101 tokens. What happens? And which of the two, sines or table, is better within the training length?
"""

# %%
learned = positions.LearnedPositions(100, 24)
try:
    learned.embed(torch.zeros(1, 101, 24), torch.arange(101))
except ValueError as error:
    print("our class:   ", error)
try:
    nn.Embedding(100, 24)(torch.arange(101))
except IndexError as error:
    print("nn.Embedding:", error)

# %% [markdown]
r"""
<details><summary>Answer</summary>

There is no row 101, so there is no answer. Enlarging the table does not help: a row that no training text reached keeps its random initial values.

Learned positions are "Better for fixed-length sequences", says text D. Vaswani et al. compared: "nearly identical results" (Table 3, row E). Section 11 measures both, within the trained length and beyond.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 6. Distances instead of positions: ALiBi

In *the cat sat* it matters that *cat* is just before *sat*, and hardly at all whether it is the 2nd or the 702nd word. So give attention distances instead of positions. The simplest way needs no parameters: Press et al. (2022) let head $h$ of $H$ subtract a fixed multiple of the distance from each score, with a **slope** $\lambda_h$ (the paper writes $m$):

$$s_{mn} = \frac{q_m\cdot k_n}{\sqrt{d_k}} - \lambda_h\,(m - n),\qquad \lambda_h = 2^{-8h/H},\quad h = 1, \dots, H .$$

**Predict.** What are the slopes of 8 heads, how many parameters are there, and what are the slopes of 16 heads? How far does the flattest of 8 heads see, if a key counts as seen while its penalty is below 4?
"""

# %%
for heads in (8, 16):
    print(
        f"{heads} heads: 1 /",
        [round(1 / slope, 1) for slope in positions.alibi_slopes(heads).tolist()],
    )
scheme = positions.AlibiPositions(8)  # ALiBi as the model of section 11 takes it
print("parameters:", sum(parameter.numel() for parameter in scheme.parameters()))
print("reach at a penalty of 4:", (4 / positions.alibi_slopes(8)).int().tolist())
print("6 heads: 1 /", [round(1 / slope, 1) for slope in positions.alibi_slopes(6).tolist()])

# %% [markdown]
r"""
<details><summary>Answer</summary>

1/2, 1/4, … 1/256, set before training; no parameters. (Text E speaks of "a learned slope bias". It is not learned.) The steepest head sees 8 places, the flattest 1024.<!-- shown: 8 1024 256.0 --> Sixteen heads start at $1/\sqrt 2$ and also end at 1/256, in steps of $\sqrt 2$. Where $H$ is not a power of two, the slopes of the largest power below come first, then every other slope of twice as many heads: that is the order in the authors' code, and BLOOM uses it.

</details>

**Predict.** All scores are equal, so that only the penalty decides. How do the weights of the last of 40 queries fall with the distance, for a steep and for a flat head?
"""

# %% mystnb={"image": {"alt": "Weights of the last of 40 queries against distance, logarithmic. With equal scores every head gives a straight falling line: steep for slope 1/2, nearly flat for slope 1/256."}}
bias = positions.alibi_bias(8, 40, 40)[:, -1]
weights = torch.softmax(bias, dim=-1)
axes = plotting.new_figure(
    "ALiBi: each head forgets at its own speed", "distance to the key", "weight of the key"
)
axes.set(yscale="log", ylim=(1e-7, 1), xlim=(0, 47))
for head, colour, at in (
    (0, "orange", (18, 1e-4)),
    (2, "green", (27, 6e-4)),
    (7, "blue", (27, 6e-2)),
):
    name = f"slope 1/{2 ** (head + 1)}"
    plotting.line(axes, torch.arange(39, -1, -1), weights[head], name, colour, at)

# %% [markdown]
r"""
<details><summary>Answer</summary>

Exponentially, $e^{-\lambda_h (m - n)}$: straight lines on this axis. A steep head is a soft window, a flat one nearly a plain average. That is why ALiBi can read long texts: far keys are faded out before they can do harm. It also shows what one head cannot do: prefer a key *exactly* three places back to its neighbours, by position alone.

</details>
"""

# %% [markdown]
r"""
### Exercise: `alibi_bias`

*Difficulty · importance · minutes*

Write `alibi_bias(num_heads, num_queries, num_keys) -> bias`, a tensor of shape (H, L, S) in the default float dtype, to be added to the scores. The last query is at the last key, as in a decoder with a cache. A query's own key gets 0, a key $m - n$ places before it $-\lambda_h (m - n)$. Entries for keys after it are not checked: a causal mask hides them. The slopes for any number of heads are `positions.alibi_slopes(num_heads)`.
"""


# %% exercise="alibi_bias"
def alibi_bias(num_heads, num_queries, num_keys):
    """Return the penalty for each head, query and key."""
    ### BEGIN SOLUTION: Positions of queries and keys, their distances, times each head's slope.
    own = torch.arange(num_keys - num_queries, num_keys)
    distance = (own[:, None] - torch.arange(num_keys)).abs()
    return -positions.alibi_slopes(num_heads)[:, None, None] * distance
    ### END SOLUTION


# %%
check("alibi_bias", alibi_bias)
# hint("alibi_bias")

# %% [markdown] tags=["further"]
r"""
## 7. More schemes based on distances: slopes, vectors, buckets

First, ALiBi's slopes for any number of heads. Then three schemes that *learn* what a distance means: Shaw's, T5's and DeBERTa's.
"""

# %% [markdown]
r"""
### Exercise: `alibi_slopes`

*Difficulty · importance · minutes*

Write `alibi_slopes(num_heads) -> slopes`, a tensor of shape (H,) in the default float dtype, positive, for any number of heads: with $P$ the largest power of two not above $H$, $2^{-8h/P}$ for $h = 1 \dots P$, then the 1st, 3rd, 5th … slope of $2P$ heads until there are $H$.
"""


# %% exercise="alibi_slopes"
def alibi_slopes(num_heads):
    """Return the slope of each head."""
    ### BEGIN SOLUTION: A geometric sequence, and every other slope of the next one.
    power = 2 ** int(math.log2(num_heads))
    slopes = [2 ** (-8 * h / power) for h in range(1, power + 1)]
    finer = [2 ** (-8 * h / (2 * power)) for h in range(1, 2 * power + 1, 2)]
    return torch.tensor(slopes + finer[: num_heads - power])
    ### END SOLUTION


# %%
check("alibi_slopes", alibi_slopes)
# hint("alibi_slopes")

# %% [markdown]
r"""
**Vectors.** Shaw et al. (2018) give each distance $n - m$ a learned vector $a$, as wide as a key, and add it to the key:

$$s_{mn} = \frac{q_m\cdot(k_n + a_{\,\mathrm{clip}(n - m)})}{\sqrt{d_k}} = \frac{q_m \cdot k_n + q_m\cdot a_{\,\mathrm{clip}(n-m)}}{\sqrt{d_k}}$$

Distances beyond a maximum, $D$, are clipped to it: $2D + 1$ vectors are enough for any length. The index of the vector is $\mathrm{clip}(n - m, -D, D) + D$. A second table, used in the same way, may be added to the values.

**Predict.** $D = 2$, five queries and keys. Write down the first and last rows of the table of indices.
"""

# %% mystnb={"image": {"alt": "Five by five matrix of indices for a largest distance of 2. Twos on the diagonal, three and four above it, one and zero below it, constant along every diagonal."}}
place = torch.arange(5)
number = positions.relative_positions(place, place).clamp(-2, 2) + 2
figure, axes = plt.subplots(figsize=(3.9, 3.4))
plotting.headline(figure, "Which of the five vectors\neach pair gets")
matrix_plotting.weight_map(axes, number, decimals=0, top=5.0)
axes.set(xlabel="key n", ylabel="query m")
print("first row", number[0].tolist(), " last row", number[-1].tolist())

# %% [markdown]
r"""
<details><summary>Answer</summary>

(2, 3, 4, 4, 4) and (0, 0, 0, 1, 2). Shaw et al. clip at 16 in their smaller model and report that any value from 2 on translates about equally well (their Table 2).

</details>

**Predict.** A straightforward implementation is `table[number]`: a vector for each pair. What does it cost in memory for 1024 tokens and $d_k = 64$?
"""

# %% guess={"name": "07.pairs", "kind": "number", "asks": "How many MiB does one float32 vector for each pair of {tokens} tokens take, if vectors have width {width}?", "low": 0.01, "high": 100000, "log": true, "unit": "MiB", "reads": "gathered at 1,024 tokens: {} MiB", "varied": [{"tokens": 1024, "width": 64}, {"tokens": 4096, "width": 64}, {"tokens": 512, "width": 128}, {"tokens": 256, "width": 32}], "becomes": "tokens * tokens * width * 4 / 2**20"}
guess("07.pairs")

# %%
query, key = torch.randn(2, 1, 2, 256, 64, generator=torch.Generator().manual_seed(0))
table, place = torch.randn(33, 64), torch.arange(256)
number = positions.relative_positions(place, place).clamp(-16, 16) + 16
gathered = measure.largest_tensor(torch.nn.functional.embedding, number, table)  # table[number]
ours = measure.largest_tensor(positions.shaw_scores, query, key, table, 16)
print(f"largest tensor at 256 tokens: gathered {gathered:,}, ours {ours:,} for two heads")
print(f"gathered at 1,024 tokens: {1024 * 1024 * 64 * 4 / 2**20:.0f} MiB")
print(f"all keys of one head at 1,024 tokens: {1024 * 64 * 4 / 2**20:.2f} MiB")

# %% [markdown]
r"""
<details><summary>Answer</summary>

A vector for each *pair* is $L\cdot S\cdot d_k$ numbers: 256 MiB for 1024 tokens,<!-- shown: 256 --> 1024 times what all keys of one head take. Shaw et al. avoid it. Each query is multiplied by the $2D + 1$ vectors once, and then picks: $L\,(2D+1)$ products, and no tensor larger than the scores.

</details>

### Exercise: `shaw_scores`

*Difficulty · importance · minutes*

Write `shaw_scores(query, key, relative_embedding, max_distance, scale=None) -> scores`.

- `query` (B, H, L, d_k), `key` (B, H, S, d_k), `relative_embedding` (2·max_distance + 1, d_k); the result is (B, H, L, S).
- The scores are `scale · (q·k + q·a)`; `None` means $1/\sqrt{d_k}$.
- Queries and keys both count from 0, also when L ≠ S.
- No tensor holds a vector for each pair, not even a one-hot one: the largest has L·S numbers per head.
"""


# %% exercise="shaw_scores"
def shaw_scores(query, key, relative_embedding, max_distance, scale=None):
    """Return scores in which each key also carries the vector of its distance."""
    ### BEGIN SOLUTION: Index the pairs, multiply by the vectors, pick one per pair, add, scale.
    num_queries, num_keys = query.shape[-2], key.shape[-2]
    distance = torch.arange(num_keys)[None, :] - torch.arange(num_queries)[:, None]
    number = distance.clamp(-max_distance, max_distance) + max_distance
    met = query @ relative_embedding.mT
    rows = torch.arange(num_queries)[:, None]
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return scale * (query @ key.mT + met[..., rows, number])
    ### END SOLUTION


# %%
check("shaw_scores", shaw_scores)
# hint("shaw_scores")

# %% [markdown]
r"""
**Check yourself.** `max_distance` is 4. Which of these can one layer with Shaw's vectors tell apart by position?

- A. a key 3 before the query and a key 4 before it
- B. a key 4 before the query and a key 40 before it
- C. positions 10 and 20

<details><summary>Answer</summary>

- **A**: these two have vectors of their own.
- B: no, all keys 4 or more places back share one. So no text, however long, brings anything new; but far keys cannot be told apart.
- C: no, only distances enter. A causal mask still helps: the first tokens see fewer keys.

</details>
"""

# %% [markdown]
r"""
**One number instead of a vector.** T5 (Raffel et al., 2020) simplifies the idea: each head learns one *number* for each distance, added to the score whatever the query asks. Text A calls Shaw's vectors a "relative position bias". What Shaw adds depends on the query, through a product with a vector of width $d_k$; a plain number per distance is T5's bias.
"""

# %% [markdown]
r"""
To cover long distances with few numbers, distances share **buckets**: near ones have a bucket each, far ones share ever wider buckets, on a logarithmic scale up to `max_distance`, beyond which everything falls into the last.

For a decoder with 32 buckets and `max_distance` 128: distances 0–15 are exact, and for $\ell = m - n \ge 16$

$$\mathrm{bucket} = 16 + \left\lfloor \frac{\ln(\ell/16)}{\ln(128/16)}\cdot 16\right\rfloor\quad\text{(at most 31)}.$$

**Predict.** In which buckets are distances 16, 32 and 64? When training texts have 64 tokens, which buckets never get a gradient?
"""

# %% mystnb={"image": {"alt": "Bucket against distance to the past, for a decoder with 32 buckets. A straight line up to distance 16, then steps that get wider, up to bucket 31, reached at distance 113. With max_distance 64 the steps are narrower and end at 59."}}
axes = plotting.new_figure(
    "T5's buckets: exact for near keys, wider for far ones",
    "distance to a key before the query",
    "bucket",
)
far = torch.arange(140)
axes.set_ylim(-1, 36)
for longest, colour, at, style in ((128, "blue", (80, 25), "-"), (64, "orange", (58, 33), "--")):
    bucket = positions.t5_bucket(-far, 32, longest, False)
    name = f"max_distance {longest}"
    plotting.line(axes, far, bucket, name, colour, at, style, drawstyle="steps-post")
    print(name, {d: bucket[d].item() for d in (15, 16, 32, 63, 64, 100, 139)})
print("a key after the query:", positions.t5_bucket(torch.tensor([1, 9]), 32, 128, False).tolist())
print(
    "both ways, ±1, ±9:", positions.t5_bucket(torch.tensor([-1, 1, -9, 9]), 32, 128, True).tolist()
)

# %% [markdown]
r"""
<details><summary>Answer</summary>

16, 21 and 26.<!-- shown: 16 21 26 --> A text of 64 tokens has no distance above 63, which is in bucket 26 (the steps are wide there): buckets 27 to 31 keep their random initial values. A longer text meets them for the first time at test time. With `max_distance` 64 every bucket is trained. Section 11 tries both.

</details>

An encoder looks both ways: half of the buckets are for keys after the query.
"""

# %% [markdown]
r"""
### Exercise: `t5_bucket`

*Difficulty · importance · minutes*

Write `t5_bucket(relative_position, num_buckets, max_distance, bidirectional) -> bucket`.

- `relative_position` is key − query, long, of any shape; so is the result.
- Not `bidirectional`: keys after the query get bucket 0; the others are numbered by their distance to the past. `bidirectional`: the buckets are halved; keys *after* the query use the upper half, all others the lower.
- Of the buckets of one direction, the first half is exact: one distance each. The rest follow the formula above, with the counts of exact buckets and of all buckets of that direction instead of 16 and 32.
"""


# %% exercise="t5_bucket"
def t5_bucket(relative_position, num_buckets, max_distance, bidirectional):
    """Return the bucket of each distance."""
    ### BEGIN SOLUTION: Choose the half, take distances, exact near by and logarithmic beyond.
    bucket = torch.zeros_like(relative_position)
    distance = -relative_position
    if bidirectional:
        num_buckets //= 2
        bucket = bucket + num_buckets * (relative_position > 0)
        distance = distance.abs()
    distance = distance.clamp(min=0)
    exact = num_buckets // 2
    share = torch.log(distance.clamp(min=exact).double() / exact) / math.log(max_distance / exact)
    far = exact + (share * (num_buckets - exact) + 1e-9).long()
    return bucket + torch.where(distance < exact, distance, far.clamp(max=num_buckets - 1))
    ### END SOLUTION


# %%
check("t5_bucket", t5_bucket)
# hint("t5_bucket")

# %% [markdown]
r"""
**Both ask.** With Shaw's vectors a query asks about a distance. DeBERTa (He et al., 2021) lets the key ask as well. A score has three terms:

$$s_{mn} = \frac{q_m\cdot k_n \;+\; q_m\cdot r^K_{\delta} \;+\; k_n\cdot r^Q_{\delta}}{\sqrt{3\,d_k}}$$

content to content, *content to position*, *position to content*. $r^K$ and $r^Q$ are two tables for each head, projections of one table of distances, and $\delta$ is the row of the distance: $m - n + D$, clipped to 0 … $2D - 1$. There is a 3 under the root because the score is a sum of three terms.

**Predict.** *The cat sat on the mat.* One term may say: a verb looks at the word just before it. The other: any word that comes just after *the* looks back at it. Which is which?
"""

# %%
names = ["the", "cat", "sat", "on", "the", "mat"]
kind = torch.eye(4)[torch.tensor([0, 1, 2, 3, 0, 1])][None, None]  # the, noun, verb, on
nothing, no_rows = torch.zeros_like(kind), torch.zeros(1, 6, 4)
one_before = 1 + 3  # the row of m - n = 1, with D = 3
verbs_ask, the_is_asked = no_rows.clone(), no_rows.clone()
verbs_ask[0, one_before, 2] = 1
the_is_asked[0, one_before, 0] = 1
for term, scores in (
    ("content to position", positions.disentangled_scores(kind, nothing, no_rows, verbs_ask, 3)),
    ("position to content", positions.disentangled_scores(nothing, kind, the_is_asked, no_rows, 3)),
):
    pairs = [f"{names[m]} -> {names[n]}" for m, n in scores[0, 0].nonzero().tolist()]
    print(f"{term}: {', '.join(pairs)}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The verb's wish is content to position: it depends on the query's word and on the distance. *The* attracting whatever follows is position to content: it depends on the key's word and on the distance, for every query alike. Shaw's vectors have the first kind only.

(The paper numbers the last term's row by $n - m$, the authors' code by $m - n$; `disentangled_scores` follows the code, whose weights are in use.)

</details>

DeBERTa's own $D$ is 512. What happens to rows that training never reaches? Section 11 tries $D = 512$ and $D = 16$.
"""

# %% [markdown]
r"""
## 8. RoPE: rotate queries and keys

Su et al. (2021) ask for one thing: the score of a query at $m$ and a key at $n$ should depend on both vectors and on $n - m$, and on nothing else. In the plane a rotation $R_\alpha$ by an angle $\alpha$ does it:

$$(R_{m\theta}\,q)\cdot(R_{n\theta}\,k) = q^\top R_{m\theta}^\top R_{n\theta}\,k = q^\top R_{(n-m)\theta}\,k$$

because the transpose of a rotation is its inverse.
"""

# %% [markdown]
r"""
A wider vector is split into pairs, each with its own speed $\theta_i = 10000^{-2i/d_k}$, the frequencies of section 2. **Queries and keys are each rotated by their own positions.** The formula of text E writes $n$ for both, and then nothing is left of the rotation: $R^\top_{n\theta} R_{n\theta} = I$.

By hand, one pair: $q = (1, 0)$ at $m = 1$, $k = (1, 0)$ at $n = 3$, $\theta = 1$.

**Predict.** Where do $q$ and $k$ point, and what is their product? What if $m = 11$, $n = 13$?
"""


# %%
def turned(vector, angle):
    """Turn a pair counter-clockwise."""
    (u, v), cos, sin = vector, math.cos(angle), math.sin(angle)
    return torch.tensor([u * cos - v * sin, u * sin + v * cos])


for m, n in ((1, 3), (11, 13), (3, 1)):
    q, k = turned((1.0, 0.0), m), turned((1.0, 0.0), n)
    print(f"query at {m:2}: {q.tolist()[0]:6.3f} {q.tolist()[1]:6.3f}   key at {n:2}: ", end="")
    print(f"{k.tolist()[0]:6.3f} {k.tolist()[1]:6.3f}   product {q @ k:.3f}")
print(f"cos 2 = {math.cos(2):.3f}")

# %% mystnb={"image": {"alt": "Three dials. A pair (1, 0) at positions 0 to 7, drawn as hands of a clock. The first pair goes once around and a little further, the second covers about 40 degrees, the third hardly moves."}}
figure, panels = plt.subplots(1, 3, figsize=(plotting.WIDTH, 2.5))
plotting.headline(figure, "The same pair at positions 0 to 7")
for pair, panel in enumerate(panels):
    speed = positions.rope_frequencies(8)[pair].item()
    for place in range(8):
        u, v = turned((1.0, 0.0), place * speed).tolist()
        shade = plt.cm.cividis(place / 8)
        panel.plot([0, u], [0, v], color=shade)
        if speed > 0.05 and (speed == 1 or place in (0, 7)):
            panel.text(1.2 * u, 1.2 * v, place, ha="center", va="center", fontsize=10)
    if speed < 0.05:
        panel.text(0.5, 0.2, "0 to 7", fontsize=10)
    panel.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), aspect="equal", title=f"{speed:g} rad per step")
    panel.axis("off")

# %% [markdown]
r"""
<details><summary>Answer</summary>

$q$ points at an angle of 1 radian, $k$ at 3. Both products are $\cos 2 = -0.416$,<!-- shown: -0.416 --> and so is the product with the query *after* the key: a cosine does not see the sign. With two different vectors the sign matters.

</details>

In the picture below, move the query and the key; then press *Both one later* a few times. Which numbers change, and which do not? Which clock tells neighbours apart, and which tells 5 from 60?
"""

# %%
opening

# %% [markdown]
r"""
<details><summary>Answer</summary>

All hands keep turning; the angle between the two hands of a clock, its contribution to $q\cdot k$, and $q\cdot k$ itself stay the same. The fast clock tells neighbours apart and repeats after about six positions; a slow one tells far from near.

</details>

### Exercise: `rope_interleaved`

*Difficulty · importance · minutes*

Write `rope_interleaved(x, positions, base=10000.0) -> x`.

- `x` is (B, H, L, d_k): queries or keys. `positions` is (L,) or (B, L), whole or real numbers, starting anywhere.
- Pair $i$ is features $(2i, 2i+1) = (u, v)$. It is rotated by $+\,\mathrm{position}\cdot\mathrm{base}^{-2i/d_k}$: $(u\cos - v\sin,\ u\sin + v\cos)$.
- The result has the dtype of `x`; the angles need more digits than bfloat16 has, so compute them before you convert.
"""


# %% exercise="rope_interleaved"
def rope_interleaved(x, positions, base=10000.0):
    """Turn neighbouring features by their token's position."""
    ### BEGIN SOLUTION: Angles, one per token and pair; then the rotation of (2i, 2i + 1).
    even = torch.arange(0, x.shape[-1], 2, dtype=torch.float64)
    angle = positions.double()[..., None] * base ** (-even / x.shape[-1])
    if positions.dim() == 2:
        angle = angle[:, None]
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    u, v = x[..., 0::2], x[..., 1::2]
    return torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1).flatten(-2)
    ### END SOLUTION


# %%
check("rope_interleaved", rope_interleaved)
# hint("rope_interleaved")

# %% [markdown]
r"""
**What it promises, checked.** Three properties make a RoPE: lengths are kept, scores depend on the distance alone, and a token's rotation uses nothing but its own position.

**Predict.** Left: *one* query and *one* key, put at all positions. Right: new random vectors at each position, as in text D's figure of the "Position bias with RoPE". What do you see in each?
"""

# %% mystnb={"image": {"alt": "Two 24 by 24 maps of scores under RoPE. Left, one query and one key at all positions: every diagonal has one colour. Right, other vectors at each position: noise without any diagonal."}}
generator = torch.Generator().manual_seed(7)
place = torch.arange(24)
one = torch.randn(2, 1, 1, 1, 32, generator=generator).expand(2, 1, 1, 24, 32).double()
every = torch.randn(2, 1, 1, 24, 32, generator=generator).double()
maps = {}
for title, pair in {"one query, one key": one, "new vectors each": every}.items():
    q, k = (positions.rope_interleaved(vector, place) for vector in pair)
    maps[title] = (q @ k.mT)[0, 0]
top = max(scores.abs().max().item() for scores in maps.values())
names = [str(at) if at % 8 == 0 else "" for at in range(24)]
figure, panels = plt.subplots(1, 2, figsize=(plotting.WIDTH, 3.8))
plotting.headline(figure, "RoPE's pattern shows when the vectors are the same")
how = {"decimals": None, "weights": False, "top": top, "rows": names, "columns": names}
for panel, (title, scores) in zip(panels, maps.items(), strict=True):
    matrix_plotting.weight_map(panel, scores, title=title, **how)
    panel.set(xlabel="position of the key", ylabel="position of the query")
matrix_plotting.colour_key(panels, weights=False, top=round(top, 1), label="score")

# %%
q, k = (positions.rope_interleaved(vector, place)[0, 0] for vector in one)
scores = q @ k.mT
spread = [
    scores.diagonal(offset).max() - scores.diagonal(offset).min() for offset in range(-23, 24)
]
print("largest spread along a diagonal below 1e-12:", bool(max(spread) < 1e-12))
print("lengths kept:", torch.allclose(q.norm(dim=-1), one[0, 0, 0].norm(dim=-1)))
for start in (1, 1000, 100_000):
    q, k = (positions.rope_interleaved(vector, place + start)[0, 0] for vector in one)
    print(
        f"all positions {start:7,} later: scores move by less than 1e-9:",
        bool(((q @ k.mT) - scores).abs().max() < 1e-9),
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

Left, every diagonal has one colour: a **Toeplitz** matrix, $s_{mn} = g(n - m)$. It need not be symmetric, nor fall with the distance. On the right there is noise, because the vectors vary more than the rotation changes them: text D's figure shows its random numbers. To see what a mechanism does, hold everything else still.

</details>

**Find the error.** The class of text D makes tables of cosines for 2048 positions. Its `forward(q, k)` takes as many rows of the table as `q` has.

**Predict.** A model generates token 9 with a cache that holds the nine keys before it. Which position does the query get?
"""

# %%
generator = torch.Generator().manual_seed(8)
q, k, v = torch.randn(3, 1, 2, 10, 16, generator=generator)
place = torch.arange(10)
full = positions.rope_interleaved_attention(q, k, v, place, place)[:, :, 9:]
for name, at in (("its own position, 9", 9), ("position 0, as published", 0)):
    step = positions.rope_interleaved_attention(q[:, :, 9:], k, v, torch.tensor([at]), place)
    print(f"{name:25} largest difference from the full pass {(step - full).abs().max():.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Position 0: it is not rotated at all, and its distances to the cached keys are wrong by 9. (With ten keys and one query in the same call the published class would raise an error first; given one token at a time, it runs.) RoPE needs positions as an argument, here `positions`. The same class declares `base: int`. Llama 3 was trained with 500,000, a whole number, but a base that is *stretched* (section 10) is not whole, and a table that ends at 2048 has to grow.

</details>

**A trap in low precision.** bfloat16 has no whole numbers between 256 and 258, and wider gaps beyond. Neighbouring positions then become one, and so do the rows of a table that is converted together with the model.
"""

# %%
near = torch.tensor([256, 257, 1000, 1001])
print("positions in bfloat16:", near.bfloat16().tolist())
print("cosines of the fast pair: float64", near.double().cos().tolist()[:2], end="  ")
print("bfloat16", near.bfloat16().cos().tolist()[:2])

# %% [markdown] tags=["further"]
r"""
## 9. Two pairings, and how a wrong rotation is found

RoFormer pairs neighbours, $(0, 1), (2, 3), \dots$ GPT-NeoX, and Llama's weights at Hugging Face, pair feature $i$ with $i + d_k/2$: two slices of memory instead of every other number.

**Predict.** Someone loads weights that were trained with one pairing into code with the other. Does anything fail?
"""

# %%
place = torch.arange(10)
neighbours = positions.rope_interleaved(q, place) @ positions.rope_interleaved(k, place).mT
halves = positions.rope_split_halves(q, place) @ positions.rope_split_halves(k, place).mT
print(f"the other pairing: scores differ by up to {(halves - neighbours).abs().max():.1f}")
reordered = [positions.to_split_halves(vector) for vector in (q, k)]
q2, k2 = (positions.rope_split_halves(vector, place) for vector in reordered)
print(
    "features reordered first: equal to six digits:",
    torch.allclose(q2 @ k2.mT, neighbours, atol=1e-5),
)
print("the order for d_k = 8:", positions.to_split_halves(torch.arange(8)).tolist())

# %% [markdown]
r"""
<details><summary>Answer</summary>

Nothing fails; scores are wrong. Even short texts come out as nonsense, although norms are kept and scores depend on the distance only: each pairing is a correct RoPE in its own right. The cure is to reorder the features of each head, once, in the weights of queries and keys: pairs $(2i, 2i+1)$ become $(i, i + d_k/2)$. That is what the conversion scripts for Llama do. Values keep their order.

</details>

### Exercise: `rope_split_halves`

*Difficulty · importance · minutes*

Write `rope_split_halves(x, positions, base=10000.0) -> x`: as before, but pair $i$ is features $(i, i + d_k/2)$. Angles, signs and shapes are the same.
"""


# %% exercise="rope_split_halves"
def rope_split_halves(x, positions, base=10000.0):
    """Turn each feature of the first half with its partner in the second."""
    ### BEGIN SOLUTION: The same angles; the pairs are the two halves.
    half = x.shape[-1] // 2
    speed = base ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = positions.double()[..., None] * speed
    angle = angle if positions.dim() == 1 else angle.unsqueeze(1)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    u, v = x[..., :half], x[..., half:]
    return torch.cat([u * cos - v * sin, v * cos + u * sin], dim=-1)
    ### END SOLUTION


# %%
check("rope_split_halves", rope_split_halves)
# hint("rope_split_halves")

# %% [markdown]
r"""
**How a wrong rotation is found.** Many wrong versions look right. Below are six, and three properties that a test might check: lengths kept; scores constant along diagonals; *token 9 alone equals token 9 of the full pass*. A fourth test compares values with the reference, with the base 500.

**Predict.** Which versions pass the first three?
"""


# %% guess={"name": "07.wrong", "kind": "choice", "asks": "Which of these wrong versions of RoPE fails the test that token 9 alone equals token 9 of the full pass?", "take": "printed", "options": {"no rotation at all": "identity True True False", "the speed of the first pair for all": "one_frequency True True False", "the opposite direction": "negative_angle True True False", "positions always counted from 0": "positions_ignored True True False"}}
guess("07.wrong")

# %%
rope = positions.rope_interleaved


def identity(x, at, base=10000.0):
    """Nothing is turned."""
    return x.clone()


def one_frequency(x, at, base=10000.0):
    """Every pair turns as the first does."""
    return torch.cat([rope(pair, at) for pair in x.split(2, dim=-1)], dim=-1)


def positions_ignored(x, at, base=10000.0):
    """Always counts from 0."""
    return rope(x, torch.arange(len(at)), base)


def negative_angle(x, at, base=10000.0):
    """Turns the other way."""
    return rope(x, -at, base)


def base_ignored(x, at, base=10000.0):
    """The base is hard-coded."""
    return rope(x, at)


# %%
print("                   lengths  diagonals  token 9 alone  values")
place, one64 = torch.arange(10), one[..., :10, :16]
full64 = torch.randn(1, 1, 10, 16, generator=generator).double()
for version in (
    *(identity, one_frequency, positions.rope_split_halves),
    *(positions_ignored, negative_angle, base_ignored),
):
    q, k = (version(vector, place)[0, 0] for vector in one64)
    lengths = torch.allclose(q.norm(dim=-1), one64[0, 0, 0].norm(dim=-1))
    spread = [(q @ k.mT).diagonal(offset) for offset in range(-9, 10)]
    toeplitz = all(bool((line - line[0]).abs().max() < 1e-9) for line in spread)
    alone = torch.allclose(version(full64[:, :, 9:], place[9:]), version(full64, place)[:, :, 9:])
    same = torch.allclose(version(full64, place, 500.0), rope(full64, place, 500.0))
    print(f"{version.__name__:18} {lengths!s:8} {toeplitz!s:10} {alone!s:14} {same}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

All but one pass all three. The identity keeps lengths, and its scores are constant along *every* diagonal; one frequency, the other pairing and the negative angle are rotations too; *base ignored* is right until someone changes the base. Properties say that a function is a rotation by distance. They do not say *which* rotation.

So compare values with known numbers: one vector of ones and zeros, position 1, and the angles by hand. The fourth test does so and finds every version here but *positions ignored*, because its positions start at 0. `check` compares values at positions that do not, and names the mistake that it recognises.

</details>

One more mistake cannot be seen in `rope` itself: turning the *values*.
"""

# %% [markdown]
r"""
### Exercise: `rope_interleaved_attention`

*Difficulty · importance · minutes*

Write `rope_interleaved_attention(query, key, value, query_positions, key_positions, base=10000.0) -> out`: attention (no mask, scale $1/\sqrt{d_k}$) with RoPE.

- `query` (B, H, L, d_k), `key` (B, H, S, d_k), `value` (B, H, S, d_v); positions (L,) or (B, L), and (S,) or (B, S).
- What should not depend on absolute positions: the weights only, or the output too?
"""


# %% exercise="rope_interleaved_attention"
def rope_interleaved_attention(query, key, value, query_positions, key_positions, base=10000.0):
    """Return the average of the values, with queries and keys turned by their positions."""
    ### BEGIN SOLUTION: Turn queries and keys, each by its own positions; then attend.
    query = positions.rope_interleaved(query, query_positions, base)
    key = positions.rope_interleaved(key, key_positions, base)
    weights = torch.softmax(query @ key.mT * query.shape[-1] ** -0.5, dim=-1)
    return weights @ value
    ### END SOLUTION


# %%
check("rope_interleaved_attention", rope_interleaved_attention)
# hint("rope_interleaved_attention")

# %% [markdown]
r"""
**Predict.** A colleague turns the values as well, "for symmetry". Then the whole text is shifted by one position. Do the weights change? Do the outputs?
"""


# %%
def turned_too(query, key, value, query_positions, key_positions, base=10000.0):
    """As the reference, but the values are turned as the keys are."""
    value = positions.rope_interleaved(value, key_positions, base)
    return positions.rope_interleaved_attention(
        query, key, value, query_positions, key_positions, base
    )


q, k, v = torch.randn(3, 1, 2, 10, 16, generator=generator)
for name, attend in (("right", positions.rope_interleaved_attention), ("turned too", turned_too)):
    moved = attend(q, k, v, place + 1, place + 1) - attend(q, k, v, place, place)
    print(f"{name:10} outputs move: {bool(moved.abs().max() > 1e-4)}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The weights stay, since they come from queries and keys. The outputs move: each value arrives rotated by its own position, so the output depends on absolute positions again. Lengths are kept and training works. Only the shift shows it.

</details>
"""

# %% [markdown]
r"""
## 10. Reading beyond the training length

"Better extrapolation to longer sequences" is what text D promises of RoPE. It sees nothing but distances; but beyond the training length there are *new* distances, and with them angles that the model never met.

**Predict.** $d_k = 16$, trained on 64 tokens. How many of the eight pairs make a full turn within 64 positions? What do the others meet at a distance of 512?
"""

# %%
speed = positions.rope_frequencies(16)
print("pair  wavelength   turns in 64   turns in 512")
for pair, one_turn in enumerate((2 * math.pi / speed).tolist()):
    print(f"{pair:4} {one_turn:11,.1f} {64 / one_turn:13.3f} {512 / one_turn:14.3f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Three. The other five saw only part of their circle: at 512 they reach angles that are new.

</details>

Three repairs, for a text $s$ times longer. All change the frequencies:

- **Position interpolation**, PI (Chen et al., 2023): divide all positions by $s$. No angle is new, but neighbours move together.
- **NTK-aware** (posted by bloc97, 2023; see Peng et al., 2023): raise the base to $b\,s^{d_k/(d_k - 2)}$. The last pair slows by $s$, the first not at all.
- **YaRN** (Peng et al., 2023): pairs with less than one turn in training slow by $s$, those with more than 32 stay, with a ramp in between; and scores are multiplied by $(0.1\ln s + 1)^2$.
"""

# %% mystnb={"image": {"alt": "Frequency divided by RoPE's own against the number of the pair, for stretching by eight and width 128. Interpolation is flat at one eighth. NTK-aware falls steadily from one to one eighth. YaRN stays at one for the first pairs, then falls quickly to one eighth."}}
axes = plotting.new_figure(
    "Three ways to stretch RoPE eight times\n(width 128, trained on 4,096)",
    "pair",
    "speed / RoPE's own",
)
own = positions.rope_frequencies(128)
ntk = positions.rope_frequencies(128, positions.ntk_base(1e4, 128, 8))
yarn = positions.yarn_frequencies(128, factor=8, trained_length=4096)
for name, speed, colour, at in (
    ("PI", own / 8, "orange", (3, 0.19)),
    ("NTK-aware", ntk, "green", (2, 0.45)),
    ("YaRN", yarn, "blue", (27, 0.86)),
):
    plotting.line(axes, torch.arange(64), speed / own, name, colour, at)
axes.set(ylim=(0, 1.08))
print(f"YaRN multiplies scores by {positions.yarn_magnitude(8) ** 2:.2f}")

# %% [markdown]
r"""
### Exercise: `interpolate_positions`

*Difficulty · importance · minutes*

Write `interpolate_positions(positions, trained_length, target_length) -> positions`: the positions that PI passes to RoPE.

- Positions times `trained_length / target_length` where the target is longer; the same values otherwise.
- `positions` has any shape, long or real. The result is a tensor of that shape. Where positions change it is real: those between two whole numbers are the point.
- Real positions keep their dtype; long ones become float32 or float64, or stay long where nothing changes.
"""


# %% exercise="interpolate_positions"
def interpolate_positions(positions, trained_length, target_length):
    """Squeeze positions into the trained range."""
    ### BEGIN SOLUTION: One factor, never above 1; the result is real.
    factor = min(1.0, trained_length / target_length)
    return positions * factor
    ### END SOLUTION


# %%
check("interpolate_positions", interpolate_positions)
# hint("interpolate_positions")

# %% [markdown]
r"""
**One interface for all schemes.** The model of the next section calls its scheme in four places, and each scheme acts in one or two of them. In the others it adds or changes nothing. In outline:

```python
x = x + scheme.embed(...)                            # before the first layer
query, key = scheme.rotate(query, key, ...)          # in every layer
scores = query @ key.mT / sqrt(d_k) + scheme.bias(...)
out = softmax(scores) @ value + scheme.value_term(...)
```

| place | what happens there | which schemes act |
|---|---|---|
| `embed` | a vector is added to each token's vector | sinusoidal, learned |
| `rotate` | queries and keys are rotated | RoPE |
| `bias` | a number is added to each score | Shaw, T5, ALiBi, DeBERTa |
| `value_term` | a vector is added to each average of values | Shaw |
"""

# %% [markdown]
r"""
## 11. Train short, test long

All schemes meet on two tasks with the same small model: 2 layers, width 64, 4 heads, causal mask, 600 steps with 16 sequences each.

- **Text**: predict the next character of Python's help texts. Trained on windows of 64, tested on up to 512.
- **Copy**: random symbols; name the one *three places back*. Trained on 32, tested on up to 256.

At every length the loss and the accuracy are taken over the *same last* characters (32 for text, 16 for copying): only the number of tokens before them grows.

**Predict.** Text mostly needs what is near. Copying needs *exactly three back*. Rank *none* (no encoding), sinusoidal, ALiBi and RoPE for each task: at the trained length, and at eight times that.
"""


# %% guess={"name": "07.ranks", "kind": "order", "asks": "Trained on text of 64 tokens, tested on 512: in which order are these four, by their loss (mean of three recorded seeds)?", "take": "ascending", "options": {"none": "none 2.{_} {_} {_} {_} {} ±", "sinusoidal": "sinusoidal 1.{_} {_} {_} {_} {} ±", "ALiBi": "ALiBi 1.{_} {_} {_} {_} {} ±", "RoPE": "RoPE 1.{_} {_} {_} {_} {} ±"}}
guess("07.ranks")


# %%
def train_live(task, scheme):
    """Train one model as the recorded ones were; return it, and loss and accuracy by length."""
    torch.manual_seed(0)
    model = models.PositionedTransformer(
        task.num_tokens,
        d_model=64,
        num_heads=4,
        num_layers=2,
        positions=TRAINED[scheme](task.trained, task.test[0].shape[1]),
    )
    bar = partial(tqdm, desc=scheme, ncols=70, mininterval=1, file=sys.stdout)
    models.train_on_task(model, task, steps=600, seed=0, progress=bar)
    lengths = [int(times * task.trained) for times in (1, 1.5, 2, 4, 8)]
    return model, {length: models.judge_on_task(model, task, length) for length in lengths}


# %% tags=["nbval-ignore-output"] reason="training differs in the last digits between machines"
copy, copy_models, live_copy = models.copy_task(), {}, {}
for scheme in ("RoPE", "ALiBi"):
    copy_models[scheme], live_copy[scheme] = train_live(copy, scheme)
    found = {length: f"{right:.2f}" for length, (_, right) in live_copy[scheme].items()}
    print(f"copy, {scheme:6}", found)

# %% tags=["nbval-ignore-output"] reason="training differs between machines, and the text between Python versions"
text = models.text_task(character_text())
live_text = {"RoPE": train_live(text, "RoPE")[1]}
print("text, RoPE  ", {length: f"{loss:.2f}" for length, (loss, _) in live_text["RoPE"].items()})

# %% tags=["nbval-ignore-output"] reason="training differs between machines, and the text between Python versions"
live_text["ALiBi"] = train_live(text, "ALiBi")[1]
print("text, ALiBi ", {length: f"{loss:.2f}" for length, (loss, _) in live_text["ALiBi"].items()})

# %% [markdown]
r"""
One seed is an anecdote, and two schemes are not all. The script `benchmarks/chapters/ch07/chapter_07_positions.py` ran the same functions for every scheme with three seeds; the cells below read its record.

Sizes are those of the papers: Shaw clips at 16, DeBERTa at 512, and *DeBERTa, 16* at Shaw's 16; T5 has 32 buckets up to distance 128, and *T5, short* up to the trained length; *learned* has a row for each tested position, of which training reaches only the first ones. *RoPE + window* sees only the last 16 tokens, in training too. PI, NTK and YaRN are the *same trained* RoPE models with other frequencies at each length.
"""

# %%
record = measure.read_record("chapter_07_positions")
print(f"recorded {record['date']}, {record['settings']['seeds']} seeds: {record['command']}")
GROUPS = {
    "nothing, or added to the tokens": ["none", "sinusoidal", "learned"],
    "a number added to each score": ["T5", "T5, short", "ALiBi"],
    "vectors met by queries and keys": ["Shaw", "DeBERTa", "DeBERTa, 16"],
    "queries and keys rotated": ["RoPE", "RoPE + window", "RoPE + PI", "RoPE + NTK", "RoPE + YaRN"],
}
SCHEMES = [scheme for schemes in GROUPS.values() for scheme in schemes]


def curves(task, what):
    """Return, for each scheme, the recorded numbers of all seeds at each length."""
    found = {scheme: {} for scheme in SCHEMES}
    for run in record["runs"]:
        if run["task"] == task and run["scheme"] in found:
            for length, number in run[what].items():
                found[run["scheme"]].setdefault(int(length), []).append(number)
    return found


# %%
PANELS = [
    (["none", "sinusoidal", "learned"], "nothing, or added to the tokens"),
    (["T5", "T5, short", "ALiBi"], "a number added to each score"),
    (["Shaw", "DeBERTa", "DeBERTa, 16"], "vectors met by queries and keys"),
    (["RoPE", "RoPE + window"], "queries and keys rotated"),
    (["RoPE + PI", "RoPE + NTK", "RoPE + YaRN"], "rotated, stretched at test time"),
]


def draw_all(title, found, live, y_label, names):
    """Draw every scheme in five panels: bands for three seeds, stars for the live run."""
    panels = plotting.new_panels(title, "tokens read (first: trained)", [y_label] * 5, 8.6)
    highest = max(max(runs) for scheme in found.values() for runs in scheme.values())
    for panel, (schemes, panel_title) in zip(panels, PANELS, strict=True):
        panel.set_title(panel_title)
        for scheme, colour in zip(schemes, plotting.COLOURS, strict=False):
            lengths = list(found[scheme])
            at = (lengths[-1] * 1.07, names.get(scheme, mean(found[scheme][lengths[-1]])))
            plotting.band(panel, lengths, list(found[scheme].values()), scheme, colour, at)
            if scheme in live:
                stars = list(live[scheme].values())
                plotting.line(
                    panel, lengths, stars, "", colour, style="*", markersize=13, mec="white"
                )
        panel.set_ylim(0 if y_label == "accuracy" else 1.2, highest * 1.05)
        panel.grid(axis="y")
    plotting.power_axis(panels[-1], lengths)
    panels[-1].set_xlim(lengths[0] * 0.94, lengths[-1] * 2.9)


# %% mystnb={"image": {"alt": "Loss on help text against tokens read, 64 to 512, in five panels. Sinusoidal and learned jump to above 2.5 at 96; no positions goes from 2.1 to 2.2. T5 rises to 2.6, with short buckets to 2.3; ALiBi is flat near 1.6. Shaw and DeBERTa clipped at 16 are flat near 1.4; DeBERTa clipped at 512 rises to 2.0. RoPE with a window is flat; RoPE is good to 96 and rises to 3.3. Stretched, YaRN ends at 1.9, PI at 2.9, NTK-aware at 3.2."}}
loss = curves("text", "loss")
live = {name: {n: pair[0] for n, pair in found.items()} for name, found in live_text.items()}
names = {"ALiBi": 1.75, "T5": 2.65, "T5, short": 2.25, "Shaw": 1.36, "DeBERTa, 16": 1.7}
names |= {"RoPE + NTK": 3.25, "RoPE + PI": 2.83}
draw_all(
    "Text, trained at 64: loss on the same characters\n(bands: three seeds; stars: the run above)",
    loss,
    live,
    "loss (nats)",
    names,
)

# %% mystnb={"image": {"alt": "Accuracy of copying against tokens read, 32 to 256, in five panels. Sinusoidal and learned fall from 1 to 0.26 and 0.12 at 48. T5 falls to about 0.2 with a wide band; ALiBi is flat at 0.75 to 0.85. Shaw and both kinds of DeBERTa stay at 1, and so does RoPE with a window; RoPE falls to 0.2 with a wide band. Stretched, YaRN ends at 0.76, NTK-aware at 0.37, PI is at 0.1 from 48 on."}}
right = curves("copy", "accuracy")
live = {name: {n: pair[1] for n, pair in found.items()} for name, found in live_copy.items()}
names = {"none": 0.39, "sinusoidal": 0.235, "learned": 0.08, "T5": 0.14, "T5, short": 0.3}
names |= {"DeBERTa": 0.85, "DeBERTa, 16": 0.7}
draw_all(
    "Copy from three places ago, trained at 32\n(bands: three seeds; stars: the run above)",
    right,
    live,
    "accuracy",
    names,
)
_ = plt.gcf().axes[2].set_title(f"{PANELS[2][1]}: all stay at 1.00")


# %%
def ranked(found, length, best):
    """Return the schemes at a length, best first."""
    means = {scheme: mean(runs[length]) for scheme, runs in found.items()}
    return sorted(means, key=means.get, reverse=best is max)


def ranks(found, length, best):
    """Return each scheme's rank at a length; what is equal to two decimals shares a rank."""
    rounded = {scheme: round(mean(runs[length]), 2) for scheme, runs in found.items()}
    order = sorted(rounded.values(), reverse=best is max)
    return {scheme: order.index(number) + 1 for scheme, number in rounded.items()}


def shown(runs, decimals=2):
    """Return the mean and half of the range of the runs."""
    return f"{mean(runs):.{decimals}f} ±{(max(runs) - min(runs)) / 2:.{decimals}f}"


# %%
print("                text: loss                     copy: accuracy")
print("scheme          64          128         512         32          64          256")
for scheme in ranked(loss, 512, min):
    cells = [shown(loss[scheme][n]) for n in (64, 128, 512)]
    cells += [shown(right[scheme][n]) for n in (32, 64, 256)]
    print(f"{scheme:15}", "  ".join(f"{cell:10}" for cell in cells))

# %%
columns = [ranks(loss, n, min) for n in (64, 128, 512)] + [
    ranks(right, n, max) for n in (32, 64, 256)
]
print("rank           text at 64   128   512     copy at 32    64   256")
for scheme in ranked(loss, 512, min):
    places = [column[scheme] for column in columns]
    print("{:15}{:10} {:5} {:5} {:14} {:5} {:5}".format(scheme, *places))
print("copy, RoPE + PI:", {n: f"{mean(runs):.2f}" for n, runs in right["RoPE + PI"].items()})
for name, runs in (("T5", right["T5"][64]), ("RoPE", right["RoPE"][64])):
    print(f"copy at 64, {name}: seeds from {min(runs):.2f} to {max(runs):.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

**At the trained length.** On text the schemes with vectors lead, DeBERTa and Shaw; then RoPE with and without a window, T5, ALiBi, the sines, the learned table, and far behind them the model without positions. All but two learn to copy: ALiBi gets 0.85, and *none* 0.27,<!-- shown 2: 0.85 0.27 --> where guessing gets 0.10. The difference is what the causal mask alone is worth.

**Eight times longer.** On both tasks Shaw, DeBERTa clipped at 16, RoPE with a window and ALiBi stay as they were, or nearly so. On text plain RoPE is worse than the model without positions, and so is NTK-aware; YaRN loses far less, on both tasks. Sines and the learned table fail with the first unseen positions.

</details>
"""

# %% [markdown]
r"""
<details><summary>What is a clip worth?</summary>

*DeBERTa* and *DeBERTa, 16* have the same terms and are equally good at the trained length. At eight times that, the loss on text is 2.05 with a clip of 512 and 1.45 with 16.<!-- shown 2: 2.05 1.45 --> The rows for distances from 64 on were never trained and keep their random initial values, as the end of a learned table does. A clip below the trained length leaves no such row. Copying does not suffer: the far rows did not outweigh "three back".

</details>
"""

# %% [markdown]
r"""
<details><summary>Where do the tasks disagree, and why?</summary>

- **PI** on copying is last, at chance from 48 symbols on:<!-- shown: 48 0.10 --> divided positions turn *three back* into two, or less. Text forgives more.
- **ALiBi** on text is fourth at the end; on copying it loses to RoPE within the trained length and wins at eight times.
- **NTK-aware** on text is nearly as good as in training up to twice the length, and fails at eight times.
- **T5** falls on both. With buckets that end at the trained length it falls later on text.

The spread across seeds is small on text and large on copying: for RoPE at twice the length from 0.51 to 1.00.<!-- shown: 0.51 1.00 --> A star is one seed.

</details>
"""

# %% [markdown]
r"""
**What was measured, and what was not.** One small model, one budget, two tasks, three seeds, nothing tuned for any scheme. The ranking on text holds for *this* text, on which a window of 16 loses nothing. On copying, a scheme that only looks nearby cannot lose. A task that needs something from far away would punish a window and ALiBi; none was run here. And all stretched models could be trained further for some steps, as the authors of these methods do.
"""

# %% [markdown]
r"""
Choose schemes and lengths yourself. Which lines cross? Which scheme is in the better half on text at the trained length, and last at eight times?

<details><summary>Answer</summary>

Plain RoPE: fifth at the trained length, last at eight times.

</details>
"""

# %% tags=["nbval-ignore-output"] reason="a widget has a new id in every run"
extrapolation_explorer(
    {"text, trained at 64": ("loss", loss), "copy, trained at 32": ("accuracy", right)},
    GROUPS,
    chosen=["none", "sinusoidal", "Shaw", "T5", "ALiBi", "RoPE", "RoPE + YaRN"],
)

# %% [markdown]
r"""
**Check yourself.** Your model with RoPE was trained on 4,096 tokens and has to read 16,384, without more training. What do you try first?

- A. nothing: RoPE is relative
- B. divide all positions by 4
- C. slow the slow pairs and leave the fast ones alone

<details><summary>Answer</summary>

- A is wrong: distances beyond 4,096 are new, and they take the slow pairs to new angles.
- B keeps all angles known, yet squeezes neighbours together. Without more training our models lost the exact offset at once; Chen et al. train for up to 1,000 further steps.
- **C is right**: NTK-aware or YaRN. Then measure, on your task.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 12. What released models do: Llama 3's frequencies

Llama 3.1 (2024) reads 131,072 tokens after most of its training on 8,192. Its released code has a fourth way to stretch RoPE. It asks of each pair how many turns it made in training, $t = L/\lambda$, with the wavelength $\lambda = 2\pi/f$ and $L$ trained positions:

- more than `high_freq_factor` (4): the pair keeps its frequency $f$;
- fewer than `low_freq_factor` (1): it gets $f/s$;
- between: $(1 - u)\,f/s + u\,f$, where $u$ rises from 0 at 1 turn to 1 at 4.

**Predict.** Base 500,000, $d_k = 128$, $s = 8$. How many of the 64 pairs stay, and how many are divided?
"""

# %% mystnb={"image": {"alt": "Frequency divided by RoPE's own against the number of the pair, at Llama 3.1's numbers. Interpolation is flat at one eighth, NTK-aware falls steadily. YaRN and Llama 3 stay at one for the first pairs and end at one eighth; YaRN falls from pair 18 on along a straight line, Llama 3 from pair 28 on, more steeply; both are down at pair 35."}}
own = positions.rope_frequencies(128, 5e5)
llama3 = positions.llama3_frequencies(own, 8, 1, 4, 8192)
yarn = positions.yarn_frequencies(128, factor=8, trained_length=8192, base=5e5)
ntk = positions.rope_frequencies(128, positions.ntk_base(5e5, 128, 8))
axes = plotting.new_figure(
    "Four ways to stretch RoPE eight times\n(Llama 3.1: base 500,000, width 128, trained on 8,192)",
    "pair",
    "speed / RoPE's own",
)
for name, speed, colour, at in (
    ("PI", own / 8, "orange", (3, 0.19)),
    ("NTK-aware", ntk, "green", (1, 0.5)),
    ("YaRN", yarn, "blue", (15.5, 0.7)),
    ("Llama 3", llama3, "pink", (33, 0.8)),
):
    plotting.line(axes, torch.arange(64), speed / own, name, colour, at)
axes.set(ylim=(0, 1.08))
slowed = own / llama3
kept, divided = int((slowed == 1).sum()), int((slowed > 8 - 1e-9).sum())
print(f"of 64 pairs {kept} kept, {64 - kept - divided} between, {divided} divided by 8")

# %% [markdown]
r"""
<details><summary>Answer</summary>

29 stay, 29 are divided, and 6 lie between.<!-- shown: 29 6 --> The idea is YaRN's; the ramp is shorter, and it is linear in the number of turns, whereas YaRN's code is linear in the index of the pair. And nothing multiplies the scores.

</details>

### Exercise: `llama3_frequencies`

*Difficulty · importance · minutes*

Write `llama3_frequencies(frequencies, factor, low_freq_factor, high_freq_factor, trained_length) -> frequencies` by the rule above.

- `frequencies` are above 0, of any shape and in any order; the result is a new tensor of that shape and dtype.
- `factor` is at least 1, and `low_freq_factor` below `high_freq_factor`.
- At the two ends both neighbouring rules give the same value, so either is right.
"""


# %% exercise="llama3_frequencies"
def llama3_frequencies(frequencies, factor, low_freq_factor, high_freq_factor, trained_length):
    """Return each pair's frequency for texts `factor` times longer than in training."""
    ### BEGIN SOLUTION: Count the turns of each pair, then keep, divide or mix.
    turns = trained_length * frequencies / (2 * math.pi)
    kept = (turns - low_freq_factor) / (high_freq_factor - low_freq_factor)
    kept = kept.clamp(0, 1)
    return (1 - kept) * frequencies / factor + kept * frequencies
    ### END SOLUTION


# %%
check("llama3_frequencies", llama3_frequencies)
# hint("llama3_frequencies")

# %% [markdown]
r"""
**Predict.** The recorded RoPE models of section 11, read without further training at 2, 4 and 8 times their length: which of the four ways comes first on text, and which on copying? $d_k$ is 16 there: eight pairs, of which three made a full turn in training on text (64 tokens), two on copying (32).
"""

# %%
FOUR_WAYS = ("RoPE", "RoPE + PI", "RoPE + NTK", "RoPE + llama3", "RoPE + YaRN")
stretched = {
    (task, what): {run: [] for run in FOUR_WAYS}
    for task, what in (("text", "loss"), ("copy", "accuracy"))
}
for (task, what), rows in stretched.items():
    first, times = record["settings"]["trained"][task], (1, 2, 4, 8)
    for scheme, row in rows.items():
        runs = [one for one in record["runs"] if (one["task"], one["scheme"]) == (task, scheme)]
        row += [mean(one[what][str(first * longer)] for one in runs) for longer in times]
    print(f"{task + ', ' + what:16}" + "".join(f"{first * longer:8}" for longer in times))
    for scheme, row in rows.items():
        print(f"  {scheme:14}" + "".join(f"{number:8.2f}" for number in row))

# %% [markdown]
r"""
<details><summary>Answer</summary>

YaRN comes first on both from four times on, and Llama 3's rule second: 1.87 and 2.16 on text at eight times, 0.76 and 0.53 on copying.<!-- shown: 1.87 2.16 0.76 0.53 --> At twice the length NTK-aware is better than either on text: 1.44, compared with 1.47 and 1.49.<!-- shown: 1.44 1.47 1.49 --> So the rule that a released model uses is not the best here, without further training and with $d_k = 16$. Of the released model itself this says nothing: its report gives the base, 500,000, and a training in six stages of growing length (Grattafiori et al., 2024, sections 3.2 and 3.4.2); the factor of 8 is in its code alone.

</details>

**Predict.** YaRN has a different ramp, and it also multiplies queries and keys by a factor. Which of the two makes the difference?
"""

# %% tags=["nbval-ignore-output"] reason="training differs in the last digits between machines"
own, model = positions.rope_frequencies(16), copy_models["RoPE"]
ramps = {
    "llama3": positions.llama3_frequencies(own, 8, 1, 4, 32),
    "YaRN": positions.yarn_frequencies(16, factor=8, trained_length=32),
}
for name, speed in ramps.items():
    print(f"{name:7} slows by", " ".join(f"{one:.1f}" for one in own / speed))
for name, speed in ramps.items():
    for magnitude in (1.0, positions.yarn_magnitude(8)):
        model.positions = positions.RotaryPositions(16, frequencies=speed, magnitude=magnitude)
        right8 = models.judge_on_task(model, copy, 256)[1]
        print(f"copy at 256: {name:7} times {magnitude:.2f}: accuracy {right8:.2f}")
model.positions = positions.RotaryPositions(16)

# %% [markdown]
r"""
<details><summary>Answer</summary>

The ramp, and in it a single pair. The second pair made 1.6 turns in training: Llama 3 slows it 3.3 times, YaRN 1.8 times.<!-- shown: 3.3 1.8 --> All others are slowed alike. The factor changes next to nothing here. With 64 pairs the two ramps cover more pairs and are no more alike: look again at the figure.

</details>
"""

# %% [markdown]
r"""
**In a released model.** SmolLM2-135M-Instruct (chapter 20 opens it) has RoPE with $d_k = 64$ and base 100,000: 32 pairs, the fastest with one radian per token. Recorded: what is added to the loss, in nats per token, if some pairs are not rotated at all, in every layer. Three texts of 256 tokens; then two of them read on, at tokens 900 to 1,199.

**Predict.** Which does a text of 256 tokens need: the fastest eight pairs, or the slowest sixteen? And the same text at its thousandth token?
"""

# %% guess={"name": "07.slow", "kind": "choice", "asks": "SmolLM2 reads a text of 256 tokens (on housing): without the rotation of which pairs is its loss higher?", "take": "largest", "options": {"the 8 fastest of 32": "fastest 8 {}", "the 16 slowest of 32": "slowest 16 {}"}}
guess("07.slow")

# %%
inside = measure.read_record("chapter_20_boxes")
print("not rotated    housing classes course    read on: housing course")
for name in ("fastest 8", "slowest 16", "all"):
    print(f"{name:14}", end="")
    for table, where in (("rope", "near"), ("long", "far")):
        costs = [one[f"{name}, {where}"] - one[f"as trained, {where}"] for one in inside[table]]
        print(*(f"{cost:+7.2f}" for cost in costs), end=" " * 12)
    print()
speed = 1e5 ** (-16 / 32)  # of the fastest of the slowest 16
print(f"it rotates by {256 * speed:.1f} radians in 256 tokens, by {1200 * speed:.1f} in 1,200")

# %% [markdown]
r"""
<details><summary>Answer</summary>

At 256 tokens the fastest eight: without them 1.5 to 2.4 nats are added. Without the slowest sixteen, half of all pairs, nothing happens (0.02 at most)<!-- shown: 1.45 2.35 0.02 -->: over so short a text even the fastest of them rotates by only 0.8 radians<!-- shown: 0.8 -->.

Further on in the same texts these sixteen do count: 0.91 and 1.17<!-- shown: 0.91 1.17 -->. So a test on short texts says nothing about the slow pairs, and those are the ones that stretching changes. The fastest cost more there, too (2.8 to 3.9<!-- shown: 2.79 3.85 -->). All of this shows what this model uses, not what it would have learned without these pairs.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 13. Find the error: what published texts say

In short words, each with its text. Right, wrong, or right under a condition? (The page *What is measured here* lists these and more claims of this chapter.)

1. Self-attention is permutation-invariant (D and E).
2. Sinusoids let a model handle sequences longer than in training (D and E).
3. RoPE gives long-context generalisation (E).
4. Learned embeddings cannot extrapolate (D).
5. ALiBi avoids position embeddings, and its slopes are learned (E).
6. T5 and DeBERTa use relative encodings (E).
7. A demonstration prints the shapes of queries before and after RoPE: "Encodes relative positions via rotation" (D).
8. A class `RelativeAttention` makes a table of vectors and the matrix of their numbers, both right; its `forward` ends in `pass` (A).
"""

# %% [markdown]
r"""
<details><summary>Answers</summary>

1. Wrong: equivariant (section 1).
2. Wrong as it stands: the rows are defined, but a model trained with them fails at once beyond the trained length (section 11), as in Press et al.
3. Wrong without a repair; RoPE is relative, which is something else.
4. Right: the rows beyond do not exist, or hold random numbers.
5. Half right: there are no embeddings, but the slopes are fixed, not learned.
6. Right.
7. True, but not shown: the identity has the same shapes.
8. Wrong: it returns `None`. What is left out is the mechanism.

</details>
"""

# %% [markdown]
r"""
**And one to run.** Text E's model multiplies its embeddings by $\sqrt{d}$ before it adds the table, as Vaswani et al. (2017) did, with embeddings from `nn.Embedding`.

**Predict.** $d = 512$. How large (root mean square) are the words, and how large the positions?
"""

# %%
torch.manual_seed(0)
drawn = nn.Embedding(1000, 512).weight.detach()
for name, std in (("std 1, torch's default", 1.0), ("std 1/√d, as the factor presumes", 512**-0.5)):
    size = (drawn * std * math.sqrt(512)).square().mean().sqrt()
    print(f"{name:33} words {size:5.1f}   positions {wide.square().mean().sqrt():.3f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

22.6 against 0.707:<!-- shown: 22.6 0.707 --> words are 32 times larger, and the positions are nearly drowned out. The factor presumes that embeddings start with standard deviation $d^{-1/2}$, which it then undoes.

</details>
"""

# %% [markdown]
r"""
## Yours: your positions in the trained models

The copying models of section 11 are run once more, with your functions. RoPE's model was trained with halves as pairs, so its features are reordered on the way into your `rope_interleaved` and back. What you have not passed yet is the course's.
"""


# %%
def experiment(parts):
    """Return the losses of the trained models, and what the test of section 1 says."""

    def stretched(x, at):
        at = parts.interpolate_positions(at, 32, 48)
        return positions.to_split_halves(parts.rope_interleaved(positions.to_interleaved(x), at))

    def penalty(query, key, query_positions, key_positions):
        return parts.alibi_bias(query.shape[1], query.shape[2], key.shape[2])

    halves, pairs = ({"rotate": turn} for turn in (parts.rope_split_halves, stretched))
    found, slopes = {}, {"bias": penalty}
    for scheme, given, length in (
        *(("RoPE", halves, 32), ("RoPE", halves, 128), ("RoPE", pairs, 48)),
        *(("ALiBi", slopes, 32), ("ALiBi", slopes, 128)),
    ):
        model = copy_models[scheme]
        own, model.positions = model.positions, models.GivenPositions(**given)
        found[f"{scheme} at {length}"] = models.judge_on_task(model, copy, length)[0]
        model.positions = own
    batch = torch.randn(2, 6, 24, generator=torch.Generator().manual_seed(0))
    wave = parts.sinusoidal_encoding(6, 24)
    test = parts.is_permutation_equivariant
    found["equivariant without waves"] = test(layer, batch, shuffle)
    found["equivariant with waves"] = test(lambda x: layer(x + wave), batch, shuffle)
    return found


# %% tags=["nbval-ignore-output"] reason="training differs between machines, and the times in every run"
parts = yours(
    *("is_permutation_equivariant", "sinusoidal_encoding", "alibi_bias"),
    *("rope_interleaved", "rope_split_halves", "interpolate_positions"),
)
note = parts.run(experiment)
note

# %% tags=["nbval-ignore-output"] reason="training differs in the last digits between machines"
for name, found in note.result.items():
    print(f"{name:25}", found if isinstance(found, bool) else f"loss {found:.2f}")

# %% [markdown]
"""
*RoPE at 48* is stretched by your `interpolate_positions`: section 11's result for PI on copying, at chance. If a part of yours passed its check and fails here, the card above names it.
"""

# %% [markdown]
r"""
## Recap

1. Attention without positions is permutation-equivariant: shuffled tokens give shuffled outputs. A causal mask breaks that a little. A one-line test shows whether a layer knows the order, and finds positions that were added along the batch.
2. Schemes act on the stream (sinusoidal, learned), on the scores (Shaw: a vector, T5: a number per bucket, ALiBi: a fixed slope, DeBERTa: vectors that queries and keys meet) or turn queries and keys (RoPE).
3. Under RoPE $q\cdot k$ depends on $n - m$: diagonals are constant, lengths stay, a cache needs the true positions. The identity has these properties too: compare values.
"""

# %% [markdown]
r"""
4. PI slows all pairs, NTK-aware changes the base, YaRN slows only slow pairs and sharpens the scores.
5. Trained short and tested long, vectors clipped below the trained length (Shaw, DeBERTa), a window and ALiBi's fading stay as good as they were, or nearly so; sines and learned tables fail at once, RoPE soon, YaRN late. Copying ranks them differently from text: PI falls to chance, and ALiBi was never exact.
"""

# %% tags=["remove-cell"]
progress(7)

# %% [markdown]
"""
**Next**: chapter 08 asks what attention costs when texts are long, and which pairs can be left out.
"""

# %% [markdown]
"""
## Go further

- Vaswani et al. (2017), section 3.5 and Table 3, row E: sinusoids against a learned table.
- Gehring et al. (2017): learned positions.
- Shaw et al. (2018): vectors for distances; Raffel et al. (2020): buckets; He et al. (2021): content and position apart.
- Su et al. (2021): RoPE.
- Press et al. (2022): ALiBi, and the question of section 11.
- Chen et al. (2023), Peng et al. (2023): position interpolation, NTK-aware scaling, YaRN.
- Grattafiori et al. (2024), section 3.4.2: how Llama 3.1 came to read 131,072 tokens.
- Kazemnejad et al. (2023): decoders without any encoding.
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
@inproceedings{gehring2017convolutional,
  title = {Convolutional Sequence to Sequence Learning},
  author = {Gehring, Jonas and Auli, Michael and Grangier, David and Yarats, Denis and Dauphin, Yann N.},
  booktitle = {International Conference on Machine Learning}, year = {2017}, url = {https://arxiv.org/abs/1705.03122}}
@inproceedings{shaw2018self,
  title = {Self-Attention with Relative Position Representations},
  author = {Shaw, Peter and Uszkoreit, Jakob and Vaswani, Ashish},
  booktitle = {NAACL-HLT}, year = {2018}, url = {https://arxiv.org/abs/1803.02155}}
@article{raffel2020exploring,
  title = {Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer},
  author = {Raffel, Colin and Shazeer, Noam and Roberts, Adam and Lee, Katherine and Narang, Sharan and Matena, Michael and Zhou, Yanqi and Li, Wei and Liu, Peter J.},
  journal = {Journal of Machine Learning Research}, volume = {21}, number = {140}, year = {2020}, url = {https://arxiv.org/abs/1910.10683}}
@inproceedings{he2021deberta,
  title = {{DeBERTa}: Decoding-enhanced {BERT} with Disentangled Attention},
  author = {He, Pengcheng and Liu, Xiaodong and Gao, Jianfeng and Chen, Weizhu},
  booktitle = {ICLR}, year = {2021}, url = {https://arxiv.org/abs/2006.03654}}
@misc{su2021roformer,
  title = {{RoFormer}: Enhanced Transformer with Rotary Position Embedding},
  author = {Su, Jianlin and Lu, Yu and Pan, Shengfeng and Murtadha, Ahmed and Wen, Bo and Liu, Yunfeng},
  year = {2021}, url = {https://arxiv.org/abs/2104.09864}}
@inproceedings{press2022train,
  title = {Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation},
  author = {Press, Ofir and Smith, Noah A. and Lewis, Mike},
  booktitle = {ICLR}, year = {2022}, url = {https://arxiv.org/abs/2108.12409}}
@misc{chen2023extending,
  title = {Extending Context Window of Large Language Models via Positional Interpolation},
  author = {Chen, Shouyuan and Wong, Sherman and Chen, Liangjian and Tian, Yuandong},
  year = {2023}, url = {https://arxiv.org/abs/2306.15595}}
@misc{peng2023yarn,
  title = {{YaRN}: Efficient Context Window Extension of Large Language Models},
  author = {Peng, Bowen and Quesnelle, Jeffrey and Fan, Honglu and Shippole, Enrico},
  year = {2023}, url = {https://arxiv.org/abs/2309.00071}}
@misc{grattafiori2024llama,
  title = {The {Llama} 3 Herd of Models},
  author = {Grattafiori, Aaron and Dubey, Abhimanyu and Jauhri, Abhinav and others},
  year = {2024}, url = {https://arxiv.org/abs/2407.21783}}
@inproceedings{kazemnejad2023impact,
  title = {The Impact of Positional Encoding on Length Generalization in Transformers},
  author = {Kazemnejad, Amirhossein and Padhi, Inkit and Natesan Ramamurthy, Karthikeyan and Das, Payel and Reddy, Siva},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2023}, url = {https://arxiv.org/abs/2305.19466}}
```

</details>
"""
