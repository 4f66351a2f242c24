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
# Read attention: what the weights say, and what they do not

A small classifier has called this document Polish. Which word decided it? Four rankings answer from its weights, and one by leaving each word out.

Play for one minute: choose a ranking and a word. **Which ranking agrees with leaving words out, and which ones praise words that hardly matter?** At the end of the chapter you can explain it.
"""

# %% tags=["remove-input"]
from course_utils.measure import read_record
from course_utils.widgets import explanation_graph

document = read_record("chapter_13_document")
explanation_graph(
    [one["word"] for one in document["runs"]],
    *([layer[name] for layer in document["layers"]] for name in ("weights", "gradients")),
    [one["left_out"] for one in document["runs"]],
    title=f"Predicted: {document['settings']['predicted']}",
)

# %% [markdown]
r"""
*You will be able to*

1. measure a head (entropy, an induction score; further, distance and roles), and say what to compare it with;
2. find an induction head, watch it appear, read its matrices, and ablate it in two ways;
3. add attention up over layers in three ways, and say which question each of them answers (further);
4. measure importance without weights, and say why weights are not unique;
5. (further) run the debugging checklist, and say what it cannot find.

*You need* chapters 03 (softmax, its slope), 05 (heads, ablation), 06 (masks, `leaks_future`), 10 (its small GPT appears in a table).

*Core path · further*
"""

# %% [markdown]
r"""
How to read: each experiment begins with a question. Write down your guess, run the cell, then open the answer.

Weights have the axes $(B, H, L, S)$: rows are queries, columns keys. A list of layers begins with the first one.

Seven small models are trained in this notebook, one seed each. Experiments that need more seeds were recorded beforehand by scripts in `benchmarks/`, with the same functions.

Texts A to E are five published introductions to attention, whose sentences this course checks; the page *What is measured here* names them.
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
import math
import sys
from functools import partial

import torch
from matplotlib import pyplot as plt
from scipy.stats import kendalltau, spearmanr
from torch import nn
from torch.nn import functional as F
from tqdm import tqdm

from course_utils import attention, interpretability, measure, plotting
from course_utils.data.repeated import repeated_segments
from course_utils.data.two_languages import Documents, draw_documents, plant_cue
from course_utils.guessing import draw_guess, guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.matrix_plotting import colour_key, weight_map
from course_utils.models.tasks import induction, other_weights
from course_utils.models.tasks.head_values import head_values
from course_utils.models.tasks.pooled_classifier import PooledClassifier
from course_utils.models.tasks.rankings import mean_agreement, slopes, token_rankings
from course_utils.models.tasks.text_classifier import TextClassifier, train_classifier
from course_utils.positions import rope_interleaved
from course_utils.widgets import explanation_graph

plotting.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=3, sci_mode=False, linewidth=100)
bar = partial(tqdm, ncols=70, mininterval=1, file=sys.stdout)

# %%
recorded = ("chapter_13_heads", "chapter_13_induction", "chapter_13_rankings")
heads_record, induction_record, rankings_record = map(measure.read_record, recorded)

# %% [markdown]
r"""
## 1. Pictures of nothing

Text C ends an example with this picture: five random vectors attend to each other, and "the heatmap shows which positions each query attends to, with brighter colors indicating higher attention weights".

**Predict.** The projections are untrained, the vectors random. How far from 1/5 will the brightest square be?
"""

# %% guess={"name": "13.brightest", "kind": "number", "asks": "Untrained projections, five random vectors: how large is the largest of the 25 weights, where an even spread has 0.2?", "low": 0, "high": 1, "reads": "from {_} to {};"}
guess("13.brightest")

# %% mystnb={"image": {"alt": "A 5 by 5 map of weights of an untrained layer. One square has 0.75, the others 0.01 to 0.42, in no order."}}
torch.manual_seed(0)
x = torch.randn(1, 5, 16)
layer = attention.MultiHeadAttention(16, 1)
weights = layer.weights(x)[0, 0].detach()
figure, axes = plt.subplots(figsize=(plotting.WIDTH, 4))
plotting.headline(figure, "Untrained, and it looks like a finding")
names = [f"x{i}" for i in range(1, 6)]
weight_map(axes, weights, rows=names, columns=names)
axes.set(xlabel="key", ylabel="query")
print(f"from {weights.min():.2f} to {weights.max():.2f}; an even spread is {1 / 5}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

It is 0.75<!-- shown: 0.75 -->, not 0.2: a strong "link" from x4 to itself. The sentence about the picture is right, and the picture says nothing: random numbers went in, and their softmax came out.

</details>

Two figures of text D do the same on a larger scale. The first shows the weights of an additive layer, a Luong layer and one head of multi-head attention; such heatmaps, says the text, are "exposing patterns like local context focus, syntactic dependencies, or global aggregation". None of the three was trained. (Below, brighter yellow means a larger weight.)

**Predict.** What do you expect to stay the same when only the seed changes?
"""


# %%
def untrained(seed, length=32, d_model=64):
    """Return additive weights, Luong's, and those of four heads: all untrained, on random input."""
    generator = torch.Generator().manual_seed(seed)
    draw = partial(torch.randn, generator=generator)
    states, query = draw(length, d_model), draw(d_model)
    W, U, v = draw(d_model, d_model) / 8, draw(d_model, d_model) / 8, draw(d_model) / 8
    additive = torch.softmax(torch.tanh(query @ W + states @ U) @ v, dim=-1)
    luong = torch.softmax(states @ (W @ query) / 8, dim=-1)
    q, k = (draw(4, d_model, 16) / 8 for _ in range(2))
    scores = (states @ q) @ (states @ k).mT / 4
    return additive, luong, torch.softmax(scores, dim=-1), scores


# %% mystnb={"image": {"alt": "For five seeds, two strips and a square map of weights. The bright spots are in different places for every seed."}}
figure, grid = plt.subplots(3, 5, figsize=(plotting.WIDTH, 3.6), height_ratios=(1, 1, 5))
plotting.headline(figure, "Untrained: the pattern is the seed's")
for seed, column in enumerate(grid.T):
    additive, luong, heads, _ = untrained(seed)
    panels = (
        ("additive", additive[None]),
        ("Luong", luong[None]),
        ("head 1,\n32 queries", heads[0]),
    )
    for axes, (name, found) in zip(column, panels, strict=True):
        axes.imshow(found, aspect="auto", cmap="cividis", vmin=0)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
        if seed == 0:
            axes.set_ylabel(name, rotation=0, ha="right", va="center")
    column[0].set_title(f"seed {seed}", loc="center")
_ = grid[2, 2].set_xlabel("32 keys; the brightest is the panel's largest weight")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Nothing. Nothing in an untrained layer can know about syntax. A pattern that changes with the seed comes from the seed.

</details>

The second figure has six panels, among them "Causal", "Different Head Patterns" and "RoPE Effect".

**Predict.** Which of these three will show anything that is the same for all seeds?
"""

# %% mystnb={"image": {"alt": "For five seeds, maps of weights and of scores over 32 keys. The causal map always has an empty upper triangle, and random values below it. The weights of four heads for one query are bright at different keys for every head and seed. The scores of one query are random stripes, of which rotary positions change some."}}
figure, grid = plt.subplots(3, 5, figsize=(plotting.WIDTH, 5.2), height_ratios=(7, 4, 2))
plotting.headline(figure, "Only what was put in by hand stays:\nthe triangle of the mask")
place = torch.arange(32)
for seed, column in enumerate(grid.T):
    *_, heads, scores = untrained(seed)
    causal = attention.masked_softmax(scores[0], attention.causal_mask(32, 32))
    q, k = torch.randn(2, 32, 16, generator=torch.Generator().manual_seed(seed))
    turned = rope_interleaved(q, place) @ rope_interleaved(k, place).T
    rope = torch.stack([(q @ k.T)[16], turned[16]])
    for axes, found in zip(column, (causal, heads[:, 0], rope), strict=True):
        colours, low, high = ("RdBu_r", -15, 15) if found is rope else ("cividis", 0, 0.2)
        axes.imshow(found, aspect="auto", cmap=colours, vmin=low, vmax=high)
        axes.set(xticks=[], yticks=[])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    column[0].set_title(f"seed {seed}", loc="center")
grid[0, 0].set_ylabel("causal,\n32 queries,\n32 keys", rotation=0, ha="right", va="center")
grid[1, 0].set_yticks(range(4), [f"query 0, head {n}" for n in range(1, 5)], fontsize=10)
grid[2, 0].set_yticks(range(2), ["query 16, score", "with RoPE"], fontsize=10)
colour_key(grid.flat, top=0.2, label="weight (yellow: 0.2 or more)")
colour_key(grid.flat, weights=False, top=15, label="score")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The triangle, which is the mask and not a finding. That four untrained heads differ is not specialisation: they were drawn independently. RoPE changes the scores, as it should, but one random query cannot show how.

</details>

Another panel is called "Attention Entropy by Layer". The **entropy** of a row of weights, $-\sum_j w_j \ln w_j$, says how widely it spreads; section 2 has more. The code runs one layer six times on one input and draws six values.

**Predict.** Six identical "layers", one input: why is the published curve not flat?
"""

# %%
torch.manual_seed(0)
layer = nn.MultiheadAttention(64, 4, dropout=0.1, batch_first=True)
x = torch.randn(1, 32, 64)
for mode in (layer.train, layer.eval):
    mode()
    runs = [layer(x, x, x, average_attn_weights=False)[1][0, 0].detach() for _ in range(6)]
    sums = torch.cat([run.sum(dim=-1) for run in runs])
    print("train()" if layer.training else "eval() ", end="  entropy of 'layers' 1 to 6: ")
    print(*(f"{interpretability.attention_entropy(run).mean():.3f}" for run in runs))
    print(f"         row sums {sums.min():.2f} to {sums.max():.2f}", end="   ")
    print(f"entries that are 0: {torch.stack(runs).eq(0).float().mean():.0%}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The layer is in training mode. Dropout knocks a tenth of the entries out of every heatmap and scales up the rest, so that rows no longer sum to 1, and each run drops different ones. With `eval()` the six "layers" are one number, printed six times.

Two rules come out of this section. Call `eval()` before you look. And before you believe a pattern, draw it again with another seed.

</details>
"""

# %% [markdown]
r"""
## 2. How much is a lot?

A legend of text E sorts weights into four colours: High (0.7–1.0), Medium (0.4–0.7), Low (0.1–0.4), Minimal (below 0.1).

**Predict.** All keys are equally important. Which colour do they get with 4 keys? And with 50?
"""

# %%
bins = ((0.7, "High"), (0.4, "Medium"), (0.1, "Low"), (0.0, "Minimal"))
for n in (1, 2, 4, 12, 50, 1000):
    name = next(word for least, word in bins if 1 / n >= least)
    print(f"{n:4} keys, even spread {1 / n:.3f}: {name:8}", end="")
    print(f"ten times as much {min(1, 10 / n):.2f}, entropy of the even spread {math.log(n):.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

With 4 keys "Low", with 50 "Minimal": 1/50 is 0.02. In a window of 1000, a key with ten times its share is still "Minimal". A weight is large when it is much larger than $1/n$, so divide by that, or measure the spread.

</details>

**Entropy** is that measure. It is 0 where one key has everything and $\ln n$ where all have the same weight. $e^{\text{entropy}}$ is easier to picture: it is the number of keys with equal weights that would be spread as widely. By hand, for the row (0.5, 0.25, 0.25, 0): $0.5 \ln 2 + 2 \cdot 0.25 \ln 4 + 0 = 1.04$, which is as wide as 2.83 equal keys.
"""

# %%
rows = torch.tensor([[1, 0, 0, 0], [0.5, 0.25, 0.25, 0], [0.25] * 4, [0.0] * 4])
for row, entropy in zip(rows, interpretability.attention_entropy(rows), strict=True):
    entropy = entropy + 0.0  # no -0.00
    print(f"{row.tolist()}: {entropy:.2f} nats, like {entropy.exp():.2f} equal keys", end="")
    print(f", {entropy / math.log(4):.2f} of the maximum")

# %% [markdown]
r"""
The last row belongs to a query that may see nothing. It is not a distribution and so has no entropy; 0 is a convention, and its "1.00 equal keys" shows why you have to know that.

### Exercise: `attention_entropy`

*Difficulty · importance · minutes*

Write `attention_entropy(weights) -> entropy`.

- `weights` is `(..., L, S)`, the result `(..., L)`: $-\sum w \ln w$ over the keys, in nats.
- Take the weights as they are given; do not renormalise.
- It may be a penalty in training: a weight of 0 adds 0 and has a finite gradient. A row of zeros gives 0.
"""


# %% exercise="attention_entropy"
def attention_entropy(weights):
    """Return the entropy of each row of weights."""
    ### BEGIN SOLUTION: Keep every logarithm of 0 out of the graph, then sum over the keys.
    seen = torch.where(weights > 0, weights, 1.0)
    return -(weights * seen.log()).sum(dim=-1)
    ### END SOLUTION


# %%
check("attention_entropy", attention_entropy)
# hint("attention_entropy")  # remove the first # for a hint; each call gives one more

# %% [markdown]
r"""
**Check yourself.** A head has an entropy of 3.3 over 32 keys. What can you say about it?

- A. It is broad: 3.3 is a large number.
- B. It is nearly even: the maximum is $\ln 32 = 3.47$.
- C. It looks at everything, so it is of no use.

<details><summary>Answer</summary>

- A is wrong: over 1000 keys 3.3 would be narrow.
- **B is right.**
- C is wrong: an average of all keys is a fine thing to compute, for a count or a topic. Entropy says how a head looks, not whether it is needed.

</details>
"""

# %% [markdown]
r"""
## 3. A head with a job: induction

A segment of random symbols, repeated again and again: `c a b d | c a b d | c a …`. Nothing in the first copy can be predicted. In the later copies, everything after their first symbol can: look for the place where the symbol that you are reading occurred before, and take **what came after it**. A head that looks there is an **induction head** (Olsson et al., 2022).

Two heads of different layers can share such a job only through the stream:
"""

# %% tags=["remove-input"]
from course_utils.diagrams import diagram

diagram("13")

# %% [markdown]
r"""
**Predict.** You read `… c a` in the second copy. In one layer, a query knows its own symbol and the keys know theirs. Can a head find "the symbol *after* an earlier `a`"?
"""

# %%
segment = ["c", "a", "b", "d"]
text = segment * 2
for i in (4, 5, 6):
    j = i - len(segment) + 1
    print(
        f"query {i} reads {text[i]}; {text[i]} was at {i - 4}; wanted: key {j}, which is {text[j]}"
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

Not by content: key 2 is a `b`, and nothing in `b` says that an `a` came before it. Two layers can. In the first, a **previous-token head** writes into each position which symbol comes before it. In the second, a query looks for positions that say "before me was `a`".

</details>

The score of an induction head is the mean weight on that key: with a period $p$, query $i$ should look at $i - p + 1$.
"""

# %% [markdown]
r"""
### Exercise: `induction_score`

*Difficulty · importance · minutes*

Write `induction_score(weights, period) -> score`.

- `weights` is `(..., L, L)` over a segment that repeats with this period, from its first token on; the result is `(...)`.
- The mean over $i = \text{period}, \dots, L - 1$ of `weights[..., i, i - period + 1]`; 0 where there is no such $i$.
- Query period − 1 does not count: it stands in the first copy.
"""


# %% exercise="induction_score"
def induction_score(weights, period):
    """Return how much of each head goes to the token after the same one."""
    ### BEGIN SOLUTION: Take the diagonal just right of the matching symbols, less its first entry.
    entries = weights.diagonal(1 - period, -2, -1)[..., 1:]
    return entries.sum(dim=-1) / max(1, entries.shape[-1])
    ### END SOLUTION


# %%
check("induction_score", induction_score)
# hint("induction_score")

# %% [markdown]
r"""
Now train. Two layers of attention with one head each, and nothing else: no feed-forward layers. 32 symbols, a start token, segments drawn with repetition, and a **new period for every batch**, from 8 to 24. Every 25 steps the scores and the accuracy on later copies are recorded.

**Predict.** Three curves: the previous-token score of layer 1, the induction score of layer 2, the accuracy. Does one wait for the other? Do they rise slowly?
"""

# %% guess={"name": "13.rise", "kind": "curve", "asks": "Two attention layers train on segments of random symbols that repeat: what share of the symbols in later copies do they predict at these steps?", "low": 0, "high": 1, "x": [25, 100, 150, 200, 300, 400], "across": "step", "reads": "step {x}: {_} right {}"}
guess("13.rise")

# %%
curve = []


def note(model, step):
    """Write down the scores and the accuracy on the later copies, every 25 steps."""
    if step % 25 == 0:
        scores = induction.circuit_scores(model)
        previous, matching = scores["previous"][0].max(), scores["induction"][-1].max()
        right = induction.later_copies_right(model, sequences=64)
        curve.append((step, previous.item(), matching.item(), right))


# %%
def average(layer, weights, value):
    """Return what the heads of a layer do: average."""
    return weights @ value


def in_the_open(model, x, mask, read=average):
    """Return the stream after all layers, and the weights of each: the whole of both models."""
    found = []
    for block in model.blocks:
        part = block.attention
        in_proj = F.linear(block.attention_norm(x), part.in_proj_weight, part.in_proj_bias)
        split = partial(attention.split_heads, num_heads=part.num_heads)
        query, key, value = map(split, in_proj.chunk(3, dim=-1))
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        found.append(attention.masked_softmax(scores, mask))
        heads = read(len(found) - 1, found[-1], value)
        x = x + part.out_proj(attention.merge_heads(heads))
        if block.feed_forward is not None:
            x = x + block.feed_forward(x)
    return x, found


two_layers = induction.induction_model(seed=0)
tokens = induction.judged_segments(64)[:, :-1]
causal = attention.causal_mask(48, 48)
stream = two_layers.token(tokens) + two_layers.position.weight[:48]
stream, _ = in_the_open(two_layers, stream, causal)
by_hand = two_layers.out(two_layers.norm(stream))
print("this is the model:", torch.allclose(by_hand, two_layers(tokens, causal), atol=1e-5))

# %% tags=["nbval-ignore-output"] reason="the bar's speed"
_ = induction.train_induction(
    two_layers, steps=400, seed=0, watch=partial(note, two_layers), progress=bar
)

# %% mystnb={"image": {"alt": "Three curves over 400 steps. Accuracy, induction score and previous-token score stay near zero for 100 steps and rise together between 125 and 200."}}
axes = plotting.new_figure(
    "Nothing for a hundred steps, then all three together", "step", "share, or mean weight"
)
steps, previous, matching, right = zip(*curve, strict=True)
axes.set(xlim=(-10, 410), ylim=(-0.03, 1.03))
plotting.line(axes, steps, right, "right on later copies", "blue", (230, 0.90), "o-")
plotting.line(axes, steps, matching, "induction score, layer 2", "orange", (205, 0.60), "s-")
plotting.line(axes, steps, previous, "previous-token score, layer 1", "green", (205, 0.29), "^-")
draw_guess(axes, "13.rise")
for row in [row for at, row in enumerate(curve) if at in (1, *range(4, 9), 12, 16)]:
    print("step {:3}: previous {:.2f}, induction {:.2f}, right {:.2f}".format(*row))
even = attention.masked_softmax(torch.zeros(48, 48), causal)[1:, 1:]
print(f"even weights: previous {interpretability.previous_token_score(even):.2f}", end="")
print(f", induction {interpretability.induction_score(even, 20):.2f}, guessing {1 / 32:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

They rise together, within about 50 steps; at step 100 all three are hardly above what even weights and guessing give. It is tempting to say that the first layer learns its part and the second one builds on it. These curves do not show that: each half of the circuit is useless without the other, and neither leads by more than the 25 steps between two measurements.

</details>

The map of layer 2 shows this without a score.
"""

# %% mystnb={"image": {"alt": "The weights of both layers for one sequence with period 20. Layer 1: a bright diagonal one position to the left of the query's own, in the first copy only. Layer 2: the first copy rests on the start token; then bright diagonals over the keys of the first copy, 19 and 39 positions back."}}
maps = two_layers.weights(tokens, causal)
figure, grid = plt.subplots(1, 2, figsize=(plotting.WIDTH, 3.9))
plotting.headline(figure, "Layer 1 looks one back, layer 2\nto the token after the match")
for number, (axes, found) in enumerate(zip(grid, maps, strict=True), start=1):
    axes.imshow(found[0, 0], cmap="cividis", vmin=0, vmax=1)
    axes.set(
        title=f"layer {number}",
        xlabel="key",
        ylabel="query",
        xticks=(0, 20, 40),
        yticks=(0, 20, 40),
    )
colour_key(grid, label="weight")
symbols = [found[..., 1:, 1:].mean(dim=0) for found in maps]
for number, found in enumerate(symbols, start=1):
    print(
        f"layer {number}: induction {interpretability.induction_score(found, 20).item():.2f}",
        end="",
    )
    print(f"   previous token {interpretability.previous_token_score(found).item():.2f}")

# %% [markdown]
r"""
The start token is cut off before scoring, so that the segment begins at 0. The test is stricter than the training: period 20, no symbol twice in a segment.

The map shows more than the scores. Layer 1 looks back in the *first copy* only, where its notes are needed; so its score is 0.38<!-- shown: 0.38 --> and not 1. And the third copy looks at the first one too, 39 back, where the score does not count it. A score asks one question; a low one may mean that the head answers a different one.
"""

# %% [markdown]
r"""
Where a head looks is in its weights. *Why*, is in its matrices. Layer 2's query and key matrices together say which symbol looks for which note: its **QK circuit**. Its value and output matrices, with the model's last layer, say what a symbol that is looked at makes the model predict: its **OV circuit** (Elhage et al., 2021). Both are tables with a row and a column for each symbol.

**Predict.** What must the two tables look like, for a head that finds "the token after the same one" and copies it?
"""


# %%
@torch.no_grad()
def circuits(model, position=24):
    """Return how each symbol scores each note, and each symbol itself; and what it predicts.

    All symbols are put at one position; biases are left out, and of keys the norm.
    """
    one, two = model.blocks
    symbols = model.token.weight[:32] + model.position.weight[position]
    _, _, V1 = one.attention.in_proj_weight.chunk(3)
    Q2, K2, V2 = two.attention.in_proj_weight.chunk(3)
    note = one.attention_norm(symbols) @ V1.T @ one.attention.out_proj.weight.T  # "before me was"
    normed = two.attention_norm(symbols)
    query = normed @ Q2.T / math.sqrt(Q2.shape[0])
    written = normed @ V2.T @ two.attention.out_proj.weight.T
    return query @ (note @ K2.T).T, query @ (symbols @ K2.T).T, written @ model.out.weight[:32].T


# %% mystnb={"image": {"alt": "Two 32 by 32 maps. In both the diagonal is bright and the rest an irregular pattern of lower values: a symbol's query scores the note of the same symbol highest, and a symbol that is looked at raises its own score most."}}
noted, itself, written = circuits(two_layers)
figure, grid = plt.subplots(1, 2, figsize=(plotting.WIDTH, 3.4))
plotting.headline(
    figure, "Layer 2 looks for a note of its own symbol,\nand predicts the symbol it finds there"
)
panels = (
    ("QK: score", noted, "symbol before the key", "symbol of the query"),
    ("OV: score added", written, "symbol predicted", "symbol looked at"),
)
for axes, (title, table, x_label, y_label) in zip(grid, panels, strict=True):
    axes.imshow(table, cmap="cividis")
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
for name, table in (("QK", noted), ("QK, own symbol as key", itself), ("OV", written)):
    best = (table.argmax(dim=-1) == torch.arange(32)).sum()
    others = (table.sum() - table.trace()) / (32 * 31)
    print(f"{name:22}: diagonal {table.trace() / 32:5.1f}, elsewhere {others:4.1f}", end="")
    print(f"; the largest of its row in {best} of 32")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Both are diagonals, for all 32 symbols<!-- shown: 32 -->. A query scores highest where layer 1 has noted its own symbol; that is the match. Whatever symbol is there gets the highest score; that is the copy. The line in the middle is the control: a key that *is* the query's symbol, without the note, is never the best. So the model does by its weights what the drawing at the start of this section asks for.

</details>
"""

# %% [markdown]
r"""

**Check yourself.** Why a new period for every batch?

- A. To see more data.
- B. With one period, "look 19 back" would do, and no symbol would have to be matched.
- C. So that the positions are used evenly.

<details><summary>Answer</summary>

- A is wrong: the symbols are random anyway.
- **B is right.** A score cannot tell a head that matches from one that counts. The data must.
- C is wrong: it is a side effect at most.

</details>
"""

# %% [markdown]
r"""
**Few-shot.** A large model is often given examples of a task in its context, "sea → mer, house → maison, tree →", and goes on, with no weight changed: *few-shot learning* (Brown et al., 2020). An induction head can do the simplest case. Six symbols stand for six others; pairs come in random order, so no period helps. Nothing is trained.

**Predict.** How often is the second symbol of a pair right, if the pair was seen 0, 1, 2 and 5 times before?
"""

# %% guess={"name": "13.few", "kind": "curve", "asks": "A model that was trained on repeating segments reads pairs of a symbol and its partner: how often is the partner right if the pair was seen this often before?", "low": 0, "high": 1, "x": [0, 1, 2, 5], "across": "examples of the pair", "reads": "{x} examples: right {}"}
guess("13.few")

# %%
generator = torch.Generator().manual_seed(7)
mapped = torch.rand(500, 32, generator=generator).argsort(dim=-1)[:, :12].view(500, 2, 6)
which = torch.randint(6, (500, 24), generator=generator)
pairs = torch.stack([part.gather(1, which) for part in mapped.unbind(1)], dim=-1).flatten(1)
start = torch.full((500, 1), 32)
with torch.no_grad():
    scores = two_layers(torch.cat([start, pairs[:, :-1]], dim=-1), causal)
right = (scores.argmax(dim=-1) == pairs)[:, 1::2]
seen = torch.stack([(which[:, :n] == which[:, n : n + 1]).sum(dim=-1) for n in range(24)], dim=-1)
for times in (0, 1, 2, 5):
    print(f"{times} examples: right {right[seen == times].float().mean():.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Without an example it can only guess; after one it is right in 0.68 of the cases, after five in 0.99<!-- shown: 0.68 0.99 -->. The model was trained on something else, segments with a period; the circuit matches all the same. How much of the few-shot learning of large models such heads explain is a question of its own: Olsson et al. (2022) argue for a large part.

</details>
"""

# %% [markdown]
r"""
## 4. Take it away

A score shows where a head looks. Whether the model needs it is another question, and **ablation** asks it: silence the head, and measure. There are two ways to be silent. **Zero ablation** makes the head's output 0. **Mean ablation** makes it the mean over many texts, at each position: then only what differs from text to text is gone.

**Predict.** What is left of the accuracy without layer 1? Without layer 2? (Chance is 1/32.) And the loss: a model that knows nothing has $\ln 32 = 3.47$ nats. What does a silent layer leave, by zero and by mean?
"""

# %%
texts = induction.judged_segments()


@torch.no_grad()
def judged_with(read):
    """Return the share right in later copies, and the losses in those and in the first copy."""
    stream = two_layers.token(texts[:, :-1]) + two_layers.position.weight[:48]
    stream, _ = in_the_open(two_layers, stream, causal, read)
    scores, wanted = two_layers.out(two_layers.norm(stream)), texts[:, 1:]
    loss = F.cross_entropy(scores.mT, wanted, reduction="none")
    right = (scores.argmax(dim=-1) == wanted)[:, 21:].float()
    return tuple(part.mean().item() for part in (right, loss[:, 21:], loss[:, 1:20]))


# %%
def silent(layer, silence):
    """Return how to read the model with one layer silenced: these are the three lines."""

    def read(number, weights, value):
        heads = weights @ value
        if number == layer:
            heads = silence(heads)
        return heads

    return read


def zero(heads):
    """Silence by zeros."""
    return torch.zeros_like(heads)


def mean(heads):
    """Silence by the mean over the texts, at each position."""
    return heads.mean(dim=0, keepdim=True).expand_as(heads)


# %% guess={"name": "13.zero", "kind": "number", "asks": "Two attention layers predict segments that repeat, and knowing nothing costs 3.47 nats: what is the loss in the first copy if layer 2 puts out zeros?", "low": 0, "high": 7, "unit": "nats", "reads": "layer 2 by zero {_}.{_}.{_} {}"}
guess("13.zero")

# %%
print(f"{'':20} right   loss later   first copy")
print("{:20} {:5.2f} {:10.2f} {:12.2f}".format("all heads", *judged_with(average)))
for layer in range(2):
    for how in (zero, mean):
        name = f"layer {layer + 1} by {how.__name__}"
        print("{:20} {:5.2f} {:10.2f} {:12.2f}".format(name, *judged_with(silent(layer, how))))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Next to nothing is left of the accuracy, either way. The losses differ. By zero they are above 3.47, worse than knowing nothing, and even in the first copy, where there is nothing to know: from 3.59 to 4.08 and 4.32<!-- shown: 3.59 4.08 4.32 -->. The rest of the model counts on what a layer adds in every text, and zero takes that away, too. By mean the first copy loses nothing, and the later copies go to about 3.5<!-- shown: 3.40 3.59 -->: that is what the layer's *looking* is worth. So say which ablation you made.

</details>

**Predict.** If each layer has four heads, what does losing one of the eight cost?
"""

# %%
for run in induction_record["runs"]:
    if run["distinct"] or (run["layers"], run["heads"]) == (2, 1):
        continue
    print(
        f"{run['layers']} layers of {run['heads']} heads, seed {run['seed']}: {run['right']:.2f}",
        end="",
    )
    print(
        "; without one head",
        f"{min(run['without_head']):.2f} to {max(run['without_head']):.2f}",
        f"(by mean {min(run['mean_without_head']):.2f} to {max(run['mean_without_head']):.2f})",
        end="",
    )
    print("; without a layer", *(f"{one:.2f}" for one in run["without_layer"]))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Losing one costs little, at most 0.09, and by mean 0.06<!-- shown: 0.97 0.88 0.91 -->: the others do much of the same work. "Ablated, and nothing happened" shows that a part is replaceable, not that it does nothing. Ablate groups too.

One layer never gets far, as section 3 argued: at most 0.21<!-- shown: 0.21 --> in three seeds.

</details>

How reliable is the appearance itself? Here is every recorded seed, and models in whose training segments **no symbol occurs twice**.

**Predict.** Distinct symbols make every match unique. Will the circuit come sooner?
"""

# %% guess={"name": "13.distinct", "kind": "number", "asks": "An induction model predicts more than 0.9 of the later copies after 400 steps if segments may hold a symbol twice: what share after 600 steps if they may not?", "low": 0, "high": 1, "reads": {"record": "chapter_13_induction", "where": {"distinct": true}, "value": "right"}}
guess("13.distinct")

# %%
for run in induction_record["runs"]:
    if (run["layers"], run["heads"]) == (2, 1):
        kind = "distinct  " if run["distinct"] else "repetition"
        print(f"{kind} {run['steps']} steps, seed {run['seed']}: right {run['right']:.2f}", end="")
        print(f", above half from step {run['above_half_from']}", end="")
        scores = run["induction"][1][0], run["previous"][0][0]
        print(", induction {:.2f}, previous {:.2f}".format(*scores))
        print(f"{'':11} first copy: the symbols seen so far get {run['seen'][0]:.2f}", end="")
        print(f" of the probability, their share is {run['seen'][1]:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

No; at least not in 600 steps: between 0.13 and 0.33 right<!-- shown: 0.13 0.33 -->. Why not? It is tempting to say that distinct symbols teach another rule, which pays off at once: predict what has *not been seen yet*. The models do not follow it: in the first copy they give the symbols seen so far 0.48 to 0.52 of the probability, more than their share of 0.45<!-- shown: 0.48 0.52 0.45 -->. So we do not know. One seed shows the beginning of a circuit (induction score 0.17<!-- shown: 0.17 -->). Details of the data decide which algorithm is learnt first.

With repetition all three seeds get there, at steps 150, 175 and 200<!-- shown: 150 175 200 -->.

</details>
"""

# %% [markdown]
r"""
## 5. Where a head rests

In the first copy there is nothing to match. But the softmax must give its total weight of 1 to some key.

**Predict.** Where does layer 2 look in the first copy? What should the value vector there look like, for a head that wants to say nothing?
"""

# %% guess={"name": "13.rest", "kind": "order", "asks": "Late in the first copy (queries 9 to 20) an induction head has nothing to match: which of these keys gets most of its weight, and in which order do the others follow?", "options": {"the start token": "queries 9 to 20: start {}", "the first symbol": "queries 9 to 20: {_} key 1 {}", "all others together": "queries 9 to 20: {_} all others {}"}, "take": "descending"}
guess("13.rest")

# %% mystnb={"image": {"alt": "Three curves of the weight of layer 2 for each query. On the start token it falls from nearly 1 to 0.2 through the first copy; on key 1, the first symbol, it rises to 0.5 and falls to 0.35; on all others together it rises from 0 to 0.5. From query 21 on all weight is on the others, but for query 40, where 0.18 and 0.13 are on the first two."}}
resting = two_layers.weights(texts[:, :-1], causal)[1][:, 0].mean(dim=0)
axes = plotting.new_figure(
    "In the first copy layer 2 rests mostly\non the start token and on key 1",
    "query",
    "weight",
)
parts = (("start token", resting[1:, 0], "blue", (8, 0.93)), ("key 1", resting[1:, 1], "orange", (13, 0.63)),
         ("all others", resting[1:, 2:].sum(dim=-1), "green", (26, 0.88)))  # fmt: skip
for name, curve_of, colour, at in parts:
    plotting.line(axes, range(1, 48), curve_of, name, colour, at, "o-", markersize=3)
axes.axvline(20.5, color=plotting.QUIET, linewidth=1)
_ = axes.text(21, 0.5, "second copy", color=plotting.INK)

# %%
early = resting[9:21]
print(f"queries 9 to 20: start {early[:, 0].mean():.2f}, key 1 {early[:, 1].mean():.2f}", end="")
print(f", all others {early[:, 2:].sum(dim=-1).mean():.2f}")
values = head_values(two_layers, texts[:, :-1], causal)[1][:, 0]
for key, name in enumerate(("start", "key 1", "key 2")):
    lengths = values[:, key].norm(dim=-1).mean(), values[:, key].mean(dim=0).norm()
    print("{:5}: length of its value {:4.1f}, of the mean value {:4.1f}".format(name, *lengths))
steps_back = two_layers.weights(texts[:, :-1], causal)[0][:, 0].mean(dim=0).diagonal(-1)
print(f"layer 1, weight one back: from key 1 {steps_back[0]:.2f}", end="")
print(f", 2 to 20 {steps_back[1:20].mean():.2f}, 21 {steps_back[20]:.2f}")
for run in induction_record["runs"][:3]:
    rest = [run["resting"][key] for key in ("start", "first_symbol", "others")]
    print(f"recorded, seed {run['seed']}: start {rest[0]:.2f}, key 1 {rest[1]:.2f}", end="")
    print(
        ", all others {:.2f}; values {:.0f}, others {:.0f}".format(rest[2], *run["value_lengths"])
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

On *two* keys: first on the start token, then also on key 1, the first symbol<!-- shown: 0.35 0.43 -->; other keys gain slowly, to nearly half at query 20, and take all at the first match. Such a place is called an attention **sink**, and resting there a *no-op*. Key 1 is the only symbol before which layer 1 finds the start token, so its note is the same in every text, and most of its value, too (21.7 of 23.8<!-- shown: 21.7 23.8 -->); key 2's value is not. "No-op" means here not "adds zero" but "adds the same in every text".

The dent at query 40: it reads the last symbol of the second copy. What follows the same symbol is key 21, of which layer 1 took hardly any note (0.13<!-- shown: 0.13 -->).

</details>
"""

# %% [markdown]
r"""
These values are *longer* than the others. **In a released model** the record has the first value's length over the mean of the others, for heads with more than half of their weight there (SmolLM2-135M-Instruct, five texts; chapter 20):
"""

# %%
for one in measure.read_record("chapter_20_atlas")["runs"]:
    length = torch.tensor(one["first value's length"]).repeat_interleave(3, dim=1)
    print(f"{one['text']:12} median {length[torch.tensor(one['first']) > 0.5].median():.2f}")

# %% [markdown]
r"""
About 0.15<!-- shown: 0.15 -->: the toy's long value is not the rule. Gu et al. (2025), of released models: the sink "acts more like key biases".

Does the toy need that value?

**Predict.** In layer 2 the start token's value is set to 0; then the sink is cut, and the other weights are scaled up to sum to 1. What happens to the accuracy, and to the two losses?
"""


# %%
def without_sink(keys, cut):
    """Return how to read layer 2 with the values of some keys at 0, or with no weight on them."""

    def read(number, weights, value):
        if number == 1 and cut:
            weights = weights.index_fill(-1, keys, 0.0)
            weights = weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-9)
        if number == 1 and not cut:
            value = value.index_fill(-2, keys, 0.0)
        return weights @ value

    return read


print(f"{'':28} right   loss later   first copy")
print("{:28} {:5.2f} {:10.2f} {:12.2f}".format("as it is", *judged_with(average)))
for name, keys in (("start", [0]), ("start and key 1", [0, 1])):
    for how, cut in (("value 0", False), ("cut", True)):
        found = judged_with(without_sink(torch.tensor(keys), cut))
        print("{:28} {:5.2f} {:10.2f} {:12.2f}".format(f"{name}: {how}", *found))
for run in induction_record["runs"][:3]:
    found = run["resting"]["silent_start"]
    print(
        "{:28} {:5.2f} {:10.2f} {:12.2f}".format(f"recorded, value 0, seed {run['seed']}", *found)
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

Where the model has work to do, nothing: as many right as before, with the recorded seeds too (0.91<!-- shown: 0.91 --> in section 4), and 0.18 instead of 0.19 nats in the later copies. Only in the first copy, where nothing can be predicted, the loss rises, from 3.59 to 4.01<!-- shown: 0.98 0.18 0.19 3.59 4.01 -->. The *head* is needed (section 4), its *rest* hardly.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** Text D, in a list of common issues: "All attention on [CLS] token → Add regularization". What do you answer?

- A. Right: a head that looks at one token is broken.
- B. First ablate the head, and see when it leaves the token. It may be at rest.
- C. Make the token's value zero; then it cannot harm.

<details><summary>Answer</summary>

- A is wrong: this section's head rests on two keys, and without it the model does not work.
- **B is right.** We know of no measurement in which regularisation helps. Clark et al. (2019) read BERT's large weights on separators as a no-op.
- C changes little here, and cures no head that rests where it should look.

</details>
"""

# %% [markdown]
r"""
## 6. How much does a word count? Hide it

"High attention weight = high importance" is how weights are usually read. To test that, importance must be measured without them. **Leave-one-out** does: hide a token, ask again, and see what the prediction has lost.

The task: is a document Polish or Czech? Its 8 to 15 words are from names of places, languages, scripts and currencies in CLDR, the Unicode Consortium's data on languages. A quarter of them are words of both languages; the rest are Polish or Czech, and the majority gives the label. The model has two layers, four heads, and a class token in front, whose last state is classified.
"""

# %% [markdown]
r"""
**Predict.** A document has seven Polish words and five Czech ones. What sign will leave-one-out have for a Polish word? For a Czech one? For a word of both languages?
"""

# %%
torch.manual_seed(0)
classifier = TextClassifier()
documents = draw_documents(150, torch.Generator().manual_seed(1_001))
seen = documents.mask[:, None, None]
stream = classifier.token(documents.tokens) + classifier.positions.table.weight
stream, _ = in_the_open(classifier, stream, seen)
by_hand = classifier.out(classifier.norm(stream))[:, 0]
same = classifier.explain(documents.tokens, documents.mask)[0]
print("this is the model:", torch.allclose(by_hand, same, atol=1e-5))

# %% tags=["nbval-ignore-output"] reason="the bar's speed"
score = lambda tokens, mask: classifier.explain(tokens, mask)[0]  # noqa: E731
_ = train_classifier(classifier, score, steps=500, seed=0, progress=bar)

# %%
judged = draw_documents(1000, torch.Generator().manual_seed(1_000))
named = classifier.predict(judged.tokens, judged.mask).argmax(dim=-1)
print(f"right: {(named == judged.labels).float().mean():.2f}")
left_out = interpretability.leave_one_out(classifier.predict, documents.tokens, documents.mask)
named = classifier.predict(documents.tokens, documents.mask).argmax(dim=-1, keepdim=True)
kinds = torch.where(documents.kinds < 2, (documents.kinds == named).long(), 2)
for number, name in enumerate(("the other language", "the predicted language", "both languages")):
    found = left_out[(kinds == number) & (documents.kinds >= 0)]
    print(
        f"words of {name:22}: mean {found.mean():+.3f}, positive {found.gt(0).float().mean():.0%}"
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

Mostly positive for words of the predicted language, **negative** for the others: the model is surer without them. Words of both are near 0. So importance has a sign. A weight has none, and can at best agree with the size of the importance.

</details>
"""

# %% [markdown]
r"""
### Exercise: `leave_one_out`

*Difficulty · importance · minutes*

Write `leave_one_out(predict, tokens, mask) -> importance`.

- `predict(tokens, mask)` returns probabilities `(B, C)`; `tokens` and `mask` are `(B, L)`, True = real.
- `importance` is `(B, L)`: $p_y$ with all tokens minus $p_y$ without token $i$. $y$ is the most probable class when all tokens are seen.
- A token is left out by its mask; tokens stay as they are. 0 where the mask is False, anywhere in the row.
- Keep the sign, and leave the caller's mask as it was.
"""


# %% exercise="leave_one_out"
def leave_one_out(predict, tokens, mask):
    """Return what the prediction loses without each token."""
    ### BEGIN SOLUTION: Choose the class once, then hide one token after another in a copy of the mask.
    whole = predict(tokens, mask)
    chosen = whole.argmax(dim=-1, keepdim=True)
    importance = torch.zeros(tokens.shape, dtype=whole.dtype)
    for i in range(tokens.shape[1]):
        hidden = mask.clone()
        hidden[:, i] = False
        lost = whole - predict(tokens, hidden)
        importance[:, i] = lost.gather(-1, chosen).squeeze(-1)
    return importance.masked_fill(~mask, 0.0)
    ### END SOLUTION


# %%
check("leave_one_out", leave_one_out)
# hint("leave_one_out")

# %% [markdown]
r"""
**Check yourself.** Why hide a token by its mask, and not by putting another token in its place?

- A. It is faster.
- B. Whatever is put in its place says something too.
- C. The mask also removes its position.

<details><summary>Answer</summary>

- A is wrong: both take one run of the model for each token.
- **B is right.** Token 0 is a word like any other, or a padding token that the model has never attended to.
- C is wrong: the other tokens keep their places.

Leave-one-out has a blind spot of its own: of two words that say the same, each looks dispensable while the other is there. It is a yardstick, not the truth.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 7. Adding layers up: rollout

The weights of the last layer say from which *positions* the class token reads. But those positions hold mixtures of words, since the first layer has mixed them. **Attention rollout** (Abnar and Zuidema, 2020) multiplies the layers, and gives the residual connection a share in each:

$$\tilde A_l = \tfrac12 I + \tfrac12 A_l, \qquad R = \tilde A_n \cdots \tilde A_2\,\tilde A_1$$

Text D writes the product the other way round: $\tilde A_1 \times \tilde A_2 \times \dots \times \tilde A_L$.

**Predict.** Rows are queries. Build a stack of layers that do nothing but average, feed it one-hot tokens, and compare: which order gives what the stack gives? And by how much is the other one off?
"""

# %%
generator = torch.Generator().manual_seed(0)
shape = (500, 6, 8, 8)  # stacks, layers, queries, keys
stacks = torch.softmax(2 * torch.randn(shape, generator=generator, dtype=torch.float64), dim=-1)
stream = torch.eye(8, dtype=torch.float64).expand(500, -1, -1)
for layer in range(6):
    stream = 0.5 * stream + 0.5 * stacks[:, layer] @ stream
layers = [stacks[:, layer, None] for layer in range(6)]
orders = {"last layer on the left": layers, "as published": layers[::-1]}
for name, order in orders.items():
    rollout = interpretability.attention_rollout(order)
    off = (rollout - stream).abs()
    other = (rollout.argmax(dim=-1) != stream.argmax(dim=-1)).double().mean()
    mean = "0 to rounding" if off.max() < 1e-14 else f"{off.mean():.2f} on average"
    print(f"{name:22}: off by {mean}; a different top source for {other:.0%} of the tokens")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The last layer is on the left: the stream of the first layer goes *into* the second. For a stack that only averages, rollout is not an estimate; it is exactly what the stack computes. The published order gives most tokens a different top source.

Real layers do more than average: values are projected, heads have different output projections, norms and feed-forward layers come in between. Rollout knows nothing of them, and all heads count the same.

</details>
"""

# %% [markdown]
r"""
### Exercise: `attention_rollout`

*Difficulty · importance · minutes*

Write `attention_rollout(layers, residual=0.5) -> rollout`.

- `layers` is a list of at least one tensor `(B, H, L, L)`, the first layer first; rows are queries.
- Average the heads. Each layer becomes $r\,I + (1 - r)\,A$, with its rows divided by their sum; a row of zeros stays zeros.
- Multiply, the last layer on the left. The result is `(B, L, L)`: row = position above the last layer, column = input token.
"""


# %% exercise="attention_rollout"
def attention_rollout(layers, residual=0.5):
    """Return how much of each input token is in each position above the last layer."""
    ### BEGIN SOLUTION: Mix the residual into every layer, divide the rows, multiply from the left.
    own = torch.eye(layers[0].shape[-1], dtype=layers[0].dtype)
    rollout = own.expand(len(layers[0]), -1, -1)
    for weights in layers:
        mixed = residual * own + (1 - residual) * weights.mean(dim=1)
        total = mixed.sum(dim=-1, keepdim=True)
        rollout = mixed / torch.where(total == 0, 1.0, total) @ rollout
    return rollout
    ### END SOLUTION


# %%
check("attention_rollout", attention_rollout)
# hint("attention_rollout")

# %% [markdown] tags=["further"]
r"""
## 8. Weights have no sign: gradient attention, and four rankings

Section 6 needs a method that tells *for* from *against*. The gradient of the predicted class's score can. Under "Attention Flow" text D has the formula $A \cdot |\partial \mathcal L / \partial A|$.

**Find the error.** There are two: one in the name, one in the formula.

<details><summary>Answer</summary>

*Attention flow* is a maximum flow through a graph (section 12), and uses no gradient. And the bars around the gradient throw its sign away: a weight that speaks *against* the class counts as much as one that speaks for it.

</details>

**Gradient attention** (Chefer et al., 2021) keeps what speaks for the class, cuts off what speaks against it, and adds up over the layers:

$$\bar A_l = \operatorname{mean}_h \max(0,\ \nabla A_l \circ A_l), \qquad R \leftarrow R + \bar A_l R, \quad R = I \text{ at the start}$$
"""

# %% [markdown]
r"""
### Exercise: `gradient_attention`

*Difficulty · importance · minutes*

Write `gradient_attention(layers, gradients) -> relevance`.

- Both are lists of tensors `(B, H, L, L)`, the first layer first; `gradients` holds the gradient of a score with respect to each weight.
- $\bar A_l$ is the mean over the heads of $\max(0, \text{gradient} \circ \text{weights})$; then apply the update above, layer by layer.
- The result is `(B, L, L)`, rows = queries, and the identity stays in.
"""


# %% exercise="gradient_attention"
def gradient_attention(layers, gradients):
    """Return how relevant each input token is for each position above the last layer."""
    ### BEGIN SOLUTION: Cut each product at 0 before the mean over the heads; add what passes on.
    own = torch.eye(layers[0].shape[-1], dtype=layers[0].dtype)
    relevance = own.expand(len(layers[0]), -1, -1)
    for weights, gradient in zip(layers, gradients, strict=True):
        speaking = (gradient * weights).clamp(min=0).mean(dim=1)
        relevance = relevance + speaking @ relevance
    return relevance
    ### END SOLUTION


# %%
check("gradient_attention", gradient_attention)
# hint("gradient_attention")

# %% [markdown]
r"""
**Explore** one document. Each row is a word. On the left is the graph: input tokens, then the positions above layer 1 and layer 2; a wide edge is a large weight. On the right is the value that a ranking gives each word, next to leave-one-out, each with its rank.

Choose a word and a ranking; with *maximum flow*, dashes mark the smallest cut, the edges that hold the flow back.

**Predict.** Go through the four rankings. Which will agree with leave-one-out? Which of them can rank a word of the *other* language low?
"""

# %% tags=["nbval-ignore-output"] reason="a widget has a new id in every run"
chosen = int((left_out.amax(dim=-1) - left_out.amin(dim=-1)).argmax())  # the model was undecided
length = int(documents.mask[chosen].sum())
layers, gradients, _ = slopes(classifier, documents)
cut = [
    torch.stack([part[chosen, :, :length, :length] for part in parts])
    for parts in (layers, gradients)
]
explanation_graph(
    documents.words(chosen), *cut, left_out[chosen, :length].tolist(),
    title=f"Predicted: {('Polish', 'Czech')[int(named[chosen])]}",
)  # fmt: skip

# %%
one = Documents(*(part[chosen : chosen + 1] for part in vars(documents).values()))
for name, found in token_rankings(classifier, one, flows=1).items():
    if name in ("raw weights", "rollout", "flow", "gradient attention"):
        agree = mean_agreement(found, left_out[chosen : chosen + 1], one.mask)
        print(f"this document, {name:18}: rank correlation with leave-one-out {agree:+.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Gradient attention, by far. The other three use the weights alone. They rank a word low only if it gets little weight, and a model has good reason to look at words of the other language.

</details>

One document proves nothing. Here are all 150 documents, and recorded results of three models. The number is Spearman's **rank correlation**, the correlation of the words' places in two rankings (section 11): 1 where they agree, −1 where one is the other upside down, 0 for no relation. In brackets: for *sizes*, both signs left out.
"""

# %% [markdown]
r"""
Two rows use the update of gradient attention with something else than $\max(0, \nabla A \circ A)$: *weights × |gradient|* with text D's formula, *weights × gradient* with the product as it is, **without the cut at 0**.

**Predict.** Is the cut a gain? And by size: who is best, who is no better than random?
"""

# %% guess={"name": "13.signed", "kind": "choice", "asks": "Over 150 documents, which ranking of their words agrees best with leave-one-out, signs included?", "options": {"rollout": "rollout live {} (", "weights × |gradient|": "weights × |gradient| live {} (", "weights × gradient": "weights × gradient live {} (", "gradient attention": "gradient attention live {} ("}, "take": "largest"}
guess("13.signed")

# %%
said = token_rankings(classifier, documents)
for name, one in list(said.items())[1:]:
    live = "recorded only"
    if len(one):  # the flows take too long for a notebook
        pairs = (one, left_out), (one.abs(), left_out.abs())
        live = "{:+.2f} ({:+.2f})".format(*(mean_agreement(*p, documents.mask) for p in pairs))
    runs = [run["rankings"][name] for run in rankings_record["runs"]]
    recorded = "   ".join(f"{a:+.2f} ({b:+.2f})" for a, b in runs)
    print(f"{name:20} live {live}   recorded {recorded}")

# %% mystnb={"image": {"alt": "For each of eight rankings, three filled dots for agreement by value and three open ones by size, one per seed. By value, weights times gradient is at 0.8 and gradient attention above 0.7; the others are between 0 and 0.31, and gradient times input is below 0. By size, weights times gradient is at 0.6, weights times absolute gradient at 0.5, gradient attention and rollout near 0.4, but for one seed of rollout at 0.2; raw weights, flow and gradient times input are between 0.1 and 0.35, random at 0."}}
runs = [run["rankings"] for run in rankings_record["runs"]]
means = {name: sum(run[name][0] for run in runs) / len(runs) for name in runs[0]}
names = sorted(means, key=means.get)
figure, axes = plt.subplots(figsize=(plotting.WIDTH, 3.9))
plotting.headline(
    figure,
    "With the sign, two gradient methods stand apart;\nwith the size, rollout is level with one of them",
)
for name, height in zip(names, range(len(names)), strict=True):
    signed, size = zip(*(run[name] for run in runs), strict=True)
    axes.plot(signed, [height + 0.13] * 3, "o", color=plotting.COLOURS["blue"])
    axes.plot(size, [height - 0.13] * 3, "o", color=plotting.COLOURS["orange"], mfc="none")
axes.axvline(0, color=plotting.QUIET, linewidth=1)
axes.set(yticks=range(len(names)), yticklabels=names, xlim=(-0.5, 1))
_ = axes.set_xlabel(
    "rank correlation with leave-one-out; three seeds\nfilled: its value, open: its size"
)

# %% [markdown]
r"""
<details><summary>Answer</summary>

The cut is no gain. Without it, agreement rises from between 0.72 and 0.76 to between 0.80 and 0.82 by value, and from at most 0.41 to about 0.6 by size, in all three seeds<!-- shown 2: 0.72 0.76 0.80 0.82 0.41 0.62 0.58 -->. Leave-one-out has negative values; the cut throws them away.

By value the two stand apart: what uses weights alone cannot know the sign. By *size* rollout is about level with gradient attention (0.42, 0.41, 0.20 against 0.37, 0.41, 0.34), and text D's formula is ahead of both<!-- shown 2: 0.42 0.20 0.37 0.34 0.55 0.49 -->. Adding up the layers helps, too: rollout and flow are above the raw weights in every seed, by value and by size.

</details>
"""

# %%
word = torch.randn(32, generator=torch.Generator().manual_seed(0), requires_grad=True)
probe = torch.randn(32, generator=torch.Generator().manual_seed(1))
for name, function in (("linear", lambda x: x), ("LayerNorm", lambda x: F.layer_norm(x, (32,)))):
    (slope,) = torch.autograd.grad(function(word) @ probe, word)
    print(f"{name:9}: gradient × input {(slope @ word).item() + 0.0:+.3f}")

# %% [markdown]
r"""
Gradient × input is *below* 0 in the table. It asks what would happen if a word's vector were longer. A LayerNorm's output does not depend on its input's length, so layer 1's norm lets little of this through (nothing, were no position added to the word). What is left goes along the residual connection, where a longer word vector drowns out, before layer 2's norm, what layer 1 has added at its place. That this turns the sum negative is our guess. A method can fail for reasons of the architecture.
"""

# %% [markdown]
r"""
**Check yourself.** Gradient attention agrees with leave-one-out. Is it therefore *the* explanation?

- A. Yes, for this model.
- B. It agrees with one yardstick, on this task.
- C. No, since gradients are always unreliable.

<details><summary>Answer</summary>

- A is wrong: leave-one-out has blind spots (section 6), and another yardstick may rank the methods differently.
- **B is right.** Both measure a change of the same score, so it is no surprise that they agree. The finding is that the weights do not.
- C is wrong: here one gradient method agrees well and another not at all. Measure.

</details>
"""

# %% [markdown]
r"""
## 9. "Attention is not explanation", and "is not not"

Jain and Wallace (2019) asked about the simplest case: *one* attention layer, whose weighted average is classified. They reported that the weights agree poorly with gradients, and that very different weights give the same prediction. Wiegreffe and Pinter (2019) replied that this "depends on one's definition of explanation", and that a test must "take into account all elements of the model". They propose four tests. The first is the simplest: does the model need its weights at all?
"""

# %% [markdown]
r"""
Two models of our documents. In one, the layer averages projected **words**. In the other, the states of an **LSTM**, a recurrent network that has read the document in both directions.

**Predict.** Each is trained once more with *even* weights: what does it lose? And in which of the two do the weights agree with the gradient? (Agreement is a rank correlation over a document's words: 1 for the same order, 0 for no relation. *Gradient × input* is the slope of the prediction times the word's vector, *deletion* is leave-one-out; of both only the size is ranked.)
"""


# %%
def pooled_in_the_open(model, tokens, mask):
    """Return the scores of a model that averages words or LSTM states, and its weights."""
    words = model.token(tokens)
    if model.lstm is None:
        vectors = model.project(words)
    else:
        vectors, _ = model.lstm(words * mask[..., None])
    weights = attention.masked_softmax(model.score(vectors)[..., 0], mask)
    return model.out((weights[:, None] @ vectors)[:, 0]), weights


def evenly(model, tokens, mask):
    """Return a model's scores when every word has the same weight."""
    return model.classify(
        mask / mask.sum(dim=-1, keepdim=True), model.encode(model.embed(tokens), mask)
    )


# %%
def train_pooled(encoder, seed=0, draw=draw_documents, run=PooledClassifier.forward):
    """Train one attention layer over words or LSTM states."""
    torch.manual_seed(seed)
    model = PooledClassifier(encoder)
    score = lambda tokens, mask: run(model, tokens[:, 1:], mask[:, 1:])  # noqa: E731
    train_classifier(model, score, steps=300, seed=seed, draw=draw, progress=bar)
    return model


def without_class(one, other, mask):
    """Return the mean rank correlation over the words of all documents."""
    each = [
        interpretability.rank_correlation(a[real].double(), b[real].double())
        for a, b, real in zip(one, other, mask, strict=True)
    ]
    return torch.stack(each).mean().item()


# %% tags=["nbval-ignore-output"] reason="the bars' speed"
pooled = {encoder: train_pooled(encoder) for encoder in ("words", "lstm")}
even = {encoder: train_pooled(encoder, run=evenly) for encoder in ("words", "lstm")}

# %%
words, mask = documents.tokens[:, 1:], documents.mask[:, 1:]
for encoder, model in pooled.items():
    same = torch.allclose(pooled_in_the_open(model, words, mask)[0], model(words, mask), atol=1e-5)
    print(f"{encoder:5}: this is the model: {same}", end="")
    asked = judged.tokens[:, 1:], judged.mask[:, 1:]
    with torch.no_grad():
        for name, scores in (("own", model(*asked)), ("even", evenly(even[encoder], *asked))):
            right = (scores.argmax(dim=-1) == judged.labels).float().mean()
            print(f"   right with {name} weights {right:.2f}", end="\n" if name == "even" else "")

# %% guess={"name": "13.lstm", "kind": "number", "asks": "One attention layer averages the states of an LSTM: how strongly do its weights rank the words as the size of gradient × input does (rank correlation)?", "low": 0, "high": 1, "reads": "lstm with |gradient × input| {}"}
guess("13.lstm")

# %%
generator = torch.Generator().manual_seed(2)
for encoder, model in pooled.items():
    x = model.embed(words).detach().requires_grad_()
    vectors = model.encode(x, mask)
    weights = model.weights(vectors, mask)
    output = model.classify(weights, vectors).softmax(dim=-1)
    (slope,) = torch.autograd.grad(output.amax(dim=-1).sum(), x)
    agree = without_class(weights.detach(), (slope * x).sum(dim=-1).abs(), mask)
    shuffled = model.classify(other_weights.shuffled_weights(weights, mask, generator), vectors)
    moved = other_weights.total_variation(shuffled.softmax(dim=-1), output).mean().item()
    print(
        f"{encoder:6} with |gradient × input| {agree:.2f}   shuffled weights move the output by {moved:.2f}"
    )

# %%
for run in rankings_record["pooled"]:
    print(f"{run['encoder']:6} seed {run['seed']}: right {run['right']:.2f}", end="")
    print(f", even {run['right_even']:.2f}   gradient {run['with_gradient']:.2f}", end="")
    print(f", deletion {run['with_deletion']:.2f}   shuffled {run['shuffled']:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Even weights lose nothing over LSTM states, and over words they are *better*, by 0.02 to 0.03 in all three seeds<!-- shown: 0.87 0.84 0.89 0.86 0.90 0.88 -->: a majority is a plain count. By this test the task says nothing about attention as explanation, whatever the other columns hold.

They hold this. Over words, the weights agree well with the gradient (0.67 to 0.76<!-- shown: 0.67 0.76 -->), and fairly with deletion. Over LSTM states they barely agree (0.09 to 0.12<!-- shown: 0.09 0.12 -->), and shuffling them changes almost nothing: each state has already read the whole document. A weight belongs to a state, and a state is not a word.

</details>
"""

# %% [markdown]
r"""
The stronger claim: *other* weights with the *same* output. Adam moves the weights as far from the model's as it can, while the output stays within 0.01. The distance is the **Jensen–Shannon divergence**: how far two distributions are, on average, from their middle; 0 if they are equal, $\ln 2 = 0.69$ if no word has weight in both.

**Predict.** How far does it get? Two yardsticks: the same model trained with another seed, and even weights.
"""

# %% guess={"name": "13.other", "kind": "order", "asks": "Which weights are farthest from those that a classifier of words gives, and in which order do the others follow?", "options": {"another seed's": {"record": "chapter_13_rankings", "rows": "pooled", "where": {"encoder": "words"}, "value": "between_seeds"}, "even weights": {"record": "chapter_13_rankings", "rows": "pooled", "where": {"encoder": "words"}, "value": "from_even"}, "those sought out for the same output": {"record": "chapter_13_rankings", "rows": "pooled", "where": {"encoder": "words"}, "value": "adversarial"}}, "take": "descending"}
guess("13.other")

# %%
for encoder, model in pooled.items():
    with torch.no_grad():
        vectors = model.encode(model.embed(words), mask)
        weights = model.weights(vectors, mask)
    other = other_weights.adversarial_weights(model, vectors, weights, mask)
    far = other_weights.divergence(other, weights)
    moved = other_weights.total_variation(
        *(model.classify(w, vectors).softmax(dim=-1) for w in (other, weights))
    )
    same = (other.argmax(dim=-1) == weights.argmax(dim=-1)).float().mean()
    print(f"{encoder:6} median divergence {far.median():.2f} of at most {math.log(2):.2f}", end="")
    print(f", output moved by at most {moved.max():.3f}, same top word {same:.0%}")
for run in rankings_record["pooled"]:
    print(f"{run['encoder']:6} seed {run['seed']}: sought out {run['adversarial']:.2f}", end="")
    print(f"; another seed {run['between_seeds']:.2f}, even weights {run['from_even']:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

A long way, in both models: more than six times as far as the weights of another seed are from the model's own (0.05 to 0.06), or even weights (0.02 to 0.04)<!-- shown: 0.05 0.06 0.02 0.04 -->. With two classes only one number matters, and 8 to 15 weights can produce it in many ways. So weights are not *the* reason for an output.

And the reply? The yardsticks are two of its four tests: training comes nowhere near such weights; they were sought out. Its fourth test trains a whole model towards them; such distributions can be found, says the abstract, but "they don't perform well on the simple diagnostic", its third. "Another explanation exists" does not make the given one false.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 10. The checklist

Text D's checklist is a good one: "Visualize attention maps", "Verify causality", "Check for degenerate patterns"; monitor "Attention entropy", "Gradient norms", "Attention weight statistics". What does each line find?

Eight faults are planted into layer 2 of the trained model of section 3, whose texts now begin with six padding tokens:

no causal mask · inverted mask · softmax over the queries · no scale at $d_k$ = 64 · a row that sees nothing, under −∞ · padding attended · a dead head (its values are 0) · a saturated head (queries twenty times as long)

Five columns: entropy / $\ln n$ (alarming below 0.05 and above 0.95), mean top weight (above 0.95), row sums (not 1), `leaks_future`, gradient norm of $W_Q$ (0).
"""

# %% [markdown]
r"""
**Predict** three: which column finds the dead head, which the saturated head, and which the attended padding?
"""


# %%
def masks(fault, length, padding=6):
    """Return who may look at whom: causal, and no padding, unless the fault says otherwise."""
    mask = attention.causal_mask(length, length)
    if fault == "no causal mask":
        mask = torch.ones_like(mask)
    if fault != "padding attended":
        real = torch.arange(length) >= padding
        mask = mask & (real | torch.eye(length, dtype=torch.bool))
    if fault == "inverted mask":
        mask = ~mask
    if fault == "empty row":
        mask[length // 2] = False
    return mask


def weights_with(fault, query, key, mask):
    """Return layer 2's weights with a fault in them."""
    factor = {"no scale": 1.0, "saturated head": 20 / 8}.get(fault, 1 / 8)
    scores = (query @ key.mT * factor).masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, dim=-2 if fault == "over the queries" else -1)


# %%
def layer_with(fault, x):
    """Return layer 2's weights and output for a stream."""
    block = two_layers.blocks[1]
    W, b = block.attention.in_proj_weight.chunk(3), block.attention.in_proj_bias.chunk(3)
    normed = block.attention_norm(x)
    query, key, value = (F.linear(normed, w, c) for w, c in zip(W, b, strict=True))
    if fault == "dead head":
        value = torch.zeros_like(value)
    weights = weights_with(fault, query, key, masks(fault, x.shape[1]))
    return weights, x + block.attention.out_proj(weights @ value)


# %%
def checked(fault):
    """Return the five columns of the checklist for layer 2 with a fault."""
    text = repeated_segments(14, 42, 32, torch.Generator().manual_seed(0), distinct=True)
    text = torch.cat([text[:, :1].expand(-1, 6), text], dim=1)
    x = two_layers.token(text) + two_layers.position.weight[: text.shape[1]]
    x = two_layers.blocks[0](x, masks("", x.shape[1]))
    weights, out = layer_with(fault, x)
    scores = two_layers.out(two_layers.norm(out))[:, 6:-1]
    loss = F.cross_entropy(scores.flatten(0, 1), text[:, 7:].flatten())
    (slope,) = torch.autograd.grad(loss, two_layers.blocks[1].attention.in_proj_weight)
    rows = weights[:, 8:].detach()  # the queries that may see 3 keys or more
    many = torch.arange(3, 44).log()
    sums = rows.sum(dim=-1)
    return {
        "entropy": (interpretability.attention_entropy(rows) / many).mean().item(),
        "top": rows.amax(dim=-1).mean().item(),
        "least sum": sums.min().item(),
        "most": sums.max().item(),
        "leaks": attention.leaks_future(lambda x: layer_with(fault, x)[1], 12, 64),
        "slope": slope[:64].norm().item(),
    }


# %%
FAULTS = (
    "none", "no causal mask", "inverted mask", "over the queries", "no scale",
    "empty row", "padding attended", "dead head", "saturated head",
)  # fmt: skip
print(f"{'fault':17} entropy/ln n  top weight   row sums    leaks  slope of W_q    (* = alarming)")
for fault in FAULTS:
    c = checked(fault)
    odd = [
        not 0.05 < c["entropy"] < 0.95, not c["top"] < 0.95,
        not abs(c["least sum"] - 1) + abs(c["most"] - 1) < 1e-3, c["leaks"], not c["slope"] > 1e-6,
    ]  # fmt: skip
    star = ["*" if one else " " for one in odd]
    print(f"{fault:17}     {c['entropy']:4.2f}{star[0]}        {c['top']:4.2f}{star[1]}", end="")
    print(f"   {c['least sum']:4.1f}–{c['most']:.1f} {star[2]}", end="")
    print(f"  {c['leaks']!s:5}{star[3]}    {c['slope']:4.2f}{star[4]}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

- `leaks_future` finds the missing and the inverted mask and the softmax over the queries.
- Row sums find that softmax too; a NaN reveals the empty row.
- Entropy and top weight find saturation, from either of two causes: no scale, or queries that are too long. The gradient does *not* vanish here: the weights are nearly 1 and 0, not exactly, and the slope of $W_Q$ carries the factor of twenty.
- Only the gradient of $W_Q$ finds the dead head: its map is perfect, and nothing depends on it.
- **Nothing finds the attended padding.** It needs its own test: change the padding; does the output move?

The first row raises no alarm. One healthy head is no measure of false alarms.

</details>
"""

# %% [markdown]
r"""
In full the last line is "Attention weight statistics (mean, std, sparsity)". The *mean* of a row that sums to 1 is $1/n$, whatever the head does: it finds nothing that the row sums do not.
"""

# %% [markdown]
r"""
**Check yourself.** The map of your head looks sensible, causal and neither flat nor peaked. What do you know?

- A. The head works.
- B. Its softmax and its mask work.
- C. Nothing.

<details><summary>Answer</summary>

- A is wrong: the dead head's map is the healthy one.
- **B is right**, as far as a picture can show it. Ablation and gradients say whether anything depends on it.
- C is too strict: several faults would have shown.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** Text E's model returns the weights of every layer, which is "particularly useful for understanding what the model has learned". A fused kernel (chapter 09) cannot. How do you get the weights of a model that runs one?

<details><summary>Answer</summary>

A fused kernel never stores a whole row of weights. Compute them separately, from the same queries and keys, with the same mask and scale, and test once that weights · values equals the kernel's output. The `weights` methods of this course do that.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 11. Do two rankings agree?

Weights and leave-one-out have different units; only their *order* can be compared. **Spearman's** rank correlation is Pearson's correlation of the ranks. **Kendall's** $\tau$ counts pairs: those that both put in the same order minus those that they do not, divided by the number of pairs.

**Predict.** In the second line below one value is a hundred times as large as the rest. What does it do to Pearson's correlation, and to Spearman's? And what should the correlation with a constant be?
"""

# %%
a = torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5])
for b in ([1.0, 3.0, 2.0, 4.0, 5.0], [1.0, 3.0, 2.0, 4.0, 500.0], [5.0, 4.0, 3.0, 2.0, 1.0]):
    b = torch.tensor(b)
    pearson = torch.corrcoef(torch.stack([a, b]))[0, 1]
    ours, peer = interpretability.rank_correlation(a, b), spearmanr(a, b).statistic
    print(f"{b.tolist()}: Pearson {pearson:+.2f}, Spearman {ours:+.2f} (scipy {peer:+.2f})", end="")
    print(f", Kendall {kendalltau(a, b).statistic:+.2f}")
print(
    f"with a constant: ours {interpretability.rank_correlation(a, torch.ones(5)):.0f}, scipy's is nan"
)

# %% [markdown]
r"""
<details><summary>Answer</summary>

Pearson's falls from 0.90 to 0.71<!-- shown: 0.90 0.71 -->, Spearman's does not move: only the order counts. Kendall's is usually smaller in size, so do not compare one with the other. A constant ranks nothing; Pearson's formula divides 0 by 0 there. Ours says 0, "agrees with nothing", so that a mean over documents survives.

</details>
"""

# %% [markdown]
r"""
### Exercise: `rank_correlation`

*Difficulty · importance · minutes*

Write `rank_correlation(a, b) -> rho`.

- Both are `(..., n)`, the result is `(...)`: Pearson's correlation of the ranks along the last axis.
- Equal values share the mean of their ranks.
- 0 where all values of either are equal, which includes `n` = 1.
"""


# %% exercise="rank_correlation"
def rank_correlation(a, b):
    """Return Spearman's rank correlation along the last axis."""

    ### BEGIN SOLUTION: Rank by counting who is below and who is equal, centre, then correlate.
    def centred_ranks(values):
        one, other = values.unsqueeze(-1), values.unsqueeze(-2)
        return ((one > other).sum(dim=-1) - (one < other).sum(dim=-1)).to(values.dtype) / 2

    first, second = centred_ranks(a), centred_ranks(b)
    together = (first * second).sum(dim=-1)
    size = (first.square().sum(dim=-1) * second.square().sum(dim=-1)).sqrt()
    return together / torch.where(size > 0, size, 1.0)
    ### END SOLUTION


# %%
check("rank_correlation", rank_correlation)
# hint("rank_correlation")

# %% [markdown] tags=["further"]
r"""
## 12. How much could pass? Maximum flow

Rollout multiplies: two layers in a row that each let half through pass a quarter. Abnar and Zuidema's **attention flow** sees pipes instead. The edge from position $j$ below a layer to $i$ above has the **capacity** $\tfrac12 A_{ij} + \tfrac12 [i = j]$, and the question is how much can flow from an input token to a position at the top. The answer equals the smallest **cut**: the smallest total capacity of edges whose removal separates the two.

**Predict.** Three tokens, two layers; every query reads all three evenly. Flow from token 0 to position 0 at the top, and from token 1 to position 0: which is larger, and do the three flows add up to 1?
"""

# %%
even = torch.full((3, 3), 1 / 3)
rollout = interpretability.attention_rollout([even[None, None]] * 2)[0, 0]
for token in range(3):
    flow = interpretability.attention_flow([even, even], token, 0)
    print(f"from token {token}: flow {flow:.3f}, rollout {rollout[token]:.3f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Token 0: through position 0 in the middle 0.667, through the other two 0.167 each, which makes 1. Token 1: 0.167 through position 0, 0.167 through position 1, where only the last edge is narrow, and 0.167 through position 2: one half. The flows do not add up to 1, and need not: each has all pipes to itself.

So flow answers "how much *could* pass", rollout "how much of the mixture *is*". The widget of section 8 draws the cuts.

</details>

**Predict.** Which of the two tells the words of a document apart more clearly: how many times the smallest is the largest?
"""

# %%
ratios = {"flow": [], "rollout": []}
for number in range(10):
    real = documents.mask[number].nonzero()[1:, 0]  # the words, without the class token
    means = [one[number].mean(dim=0) for one in layers]
    flows = torch.tensor([interpretability.attention_flow(means, int(one), 0) for one in real])
    mixed = interpretability.attention_rollout([one[number : number + 1] for one in layers])[0, 0]
    for name, found in (("flow", flows), ("rollout", mixed[real])):
        ratios[name].append(found.max() / found.min())
for name, found in ratios.items():
    print(
        f"{name:8}: largest over smallest, median of ten documents {torch.stack(found).median():.1f}"
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

Rollout. On each way only the narrower of two pipes counts, so a large weight before or behind a small one adds nothing to a flow; rollout multiplies the two.

</details>
"""

# %% [markdown]
r"""
### Exercise: `attention_flow`

*Difficulty · importance · minutes*

Write `attention_flow(layers, source, target) -> float`.

- `layers` is a list of at least one `(L, L)`, heads averaged already, the first layer first.
- The maximum flow from input token `source` to position `target` above the last layer. A position is a separate node at each level.
- Capacity: half of the weight, plus one half on the diagonal. Do not renormalise; where nothing is reachable, 0.0.
- Any algorithm will do; the graph is the point. `networkx` comes with torch, and has one; hand it capacities as Python floats, not as tensors.
"""


# %% exercise="attention_flow"
def attention_flow(layers, source, target):
    """Return the maximum flow from an input token to a position above the last layer."""
    ### BEGIN SOLUTION: Draw one node for each level and position, and hand the graph to networkx.
    import networkx as nx

    graph = nx.DiGraph()
    start, end = (0, source), (len(layers), target)
    graph.add_nodes_from([start, end])
    for level, weights in enumerate(layers):
        for above, row in enumerate(weights.double().tolist()):
            for below, weight in enumerate(row):
                room = 0.5 * weight + 0.5 * (above == below)
                graph.add_edge((level, below), (level + 1, above), capacity=room)
    return float(nx.maximum_flow_value(graph, start, end))
    ### END SOLUTION


# %%
check("attention_flow", attention_flow)
# hint("attention_flow")

# %% [markdown] tags=["further"]
r"""
## 13. Other weights, the same output, exactly

The other weights of section 9 were found by search. In some models there is an exact reason why such weights exist. The output is $w V$, and $V$ has $S$ rows of width $d_v$. If $S > d_v$, some directions $n \ne 0$ have $n V = 0$; then $w + n$ gives the same output as $w$. What is left when these directions are removed is **effective attention** (Brunner et al., 2020): $w\,V V^+$, with the pseudo-inverse $V^+$; the product $V V^+$ projects onto what $V$ can carry.

**Predict.** The classifier's heads have $d_v = 8$, and documents up to 16 tokens. How much of a row's length is effective? And in section 9, where at most 15 words have values 48 wide?
"""

# %%
values = head_values(classifier, documents.tokens, documents.mask[:, None, None])
layers = [one.detach() for one in classifier.explain(documents.tokens, documents.mask)[1]]
for number, (weights, value) in enumerate(zip(layers, values, strict=True), start=1):
    value = value * documents.mask[:, None, :, None]
    row, kept = weights[:, :, :1], interpretability.effective_attention(weights[:, :, :1], value)
    share = (kept.norm(dim=-1) / row.norm(dim=-1)).mean()
    same = (kept @ value - row @ value).abs().max() < 1e-5
    print(
        f"layer {number}: effective share of a row's length {share:.2f}, same output {same}", end=""
    )
    print(f", negative entries {kept[kept != 0].lt(0).float().mean():.0%}")
with torch.no_grad():
    vectors = pooled["words"].encode(pooled["words"].embed(words), mask)
ranks = torch.linalg.matrix_rank((vectors * mask[..., None]).double(), rtol=1e-6)
short = int((ranks < mask.sum(dim=-1)).sum())
twice = sum(
    len(set(row[real].tolist())) < real.sum() for row, real in zip(words, mask, strict=True)
)
print(
    f"section 9, words: rank below the number of words in {short} of 150; a word twice in {twice}"
)

# %% [markdown]
r"""
Effective weights may be negative. For a *valid* alternative, walk along a lost direction until an entry would fall below 0: all rows on the way sum to 1 and give the same output.
"""


# %%
def another_valid_row(row, value):
    """Return the farthest valid row found with the same output: along lost directions to an edge."""
    columns = torch.cat([value, torch.ones(len(value), 1, dtype=value.dtype)], dim=-1)
    basis, sizes, _ = torch.linalg.svd(columns)
    lost = basis[:, int((sizes > 1e-10).sum()) :]  # they change neither the output nor the sum
    steps = torch.cat([lost @ lost.mT, -lost @ lost.mT])  # towards and away from each key
    room = torch.where(steps < -1e-12, row / -steps, torch.inf).amin(dim=-1, keepdim=True)
    edges = torch.where(room.isfinite(), row + steps * room, row)
    return edges[other_weights.divergence(edges.clamp(min=0), row).argmax()]


# %%
found, moved = [], []
for number in range(150):
    real = documents.mask[number]
    for head in range(4):
        row = layers[1][number, head, 0, real].double()
        value = values[1][number, head, real].double()
        other = another_valid_row(row, value)
        found.append(other_weights.divergence(other.clamp(min=0), row))
        moved.append(((other - row) @ value).abs().max())
same = (torch.stack(moved).max() < 1e-12).item()
print(
    f"divergence: mean {torch.stack(found).mean():.2f}, most {torch.stack(found).max():.2f}", end=""
)
print(f"; the output moves by less than 1e-12: {same}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

About 0.82 of the length<!-- shown 2: 0.82 -->. The lost part is at right angles to it, so by Pythagoras it has nearly 0.6 of the length. Exact alternatives exist, though not far away: the divergence is 0.03 on average and 0.21 at most<!-- shown: 0.03 0.21 -->. The longer the text, the more is lost, since $d_v$ stays.

In section 9 nothing is lost by algebra in 143 documents, and section 9's other weights work because a classifier reads one number off the output. In 7 documents a word occurs twice<!-- shown 2: 7 -->: two equal rows of $V$, and weight can move between the two at will.

Two reasons, then: what $V$ cannot carry, and what the rest of the model does not read.

</details>
"""

# %% [markdown]
r"""
### Exercise: `effective_attention`

*Difficulty · importance · minutes*

Write `effective_attention(weights, value) -> effective`.

- `weights` is `(..., L, S)`, `value` is `(..., S, d_v)`; the result is `(..., L, S)`.
- Each row projected onto the column space of `value`, which may have any rank, including 0, and fewer rows than columns.
- Entries may be negative, rows need not sum to 1. No gradient is needed.
"""


# %% exercise="effective_attention"
def effective_attention(weights, value):
    """Return the part of each row that reaches the output."""
    ### BEGIN SOLUTION: The value times its pseudo-inverse is the projection.
    return weights @ (value @ torch.linalg.pinv(value))
    ### END SOLUTION


# %%
check("effective_attention", effective_attention)
# hint("effective_attention")

# %% [markdown] tags=["further"]
r"""
## 14. Early broad, late narrow?

Text D: "Early layers: Higher entropy (broad attention)", "Late layers: Lower entropy (focused attention)". Three trained models can be asked: the small GPT of chapter 10 (recorded), the induction model, and the classifier.

**Predict.** In how many of the three does entropy clearly fall from layer 1 to layer 2?
"""


# %%
def spread(weights, seen):
    """Return a layer's entropy as a share of the most, for queries that see several keys."""
    many = seen.sum(dim=-1)
    entropy = interpretability.attention_entropy(weights) / many.log()
    return torch.where(many > 2, entropy, torch.nan).nanmean().item()


for name, found, seen in (
    ("induction ", maps, causal),
    ("classifier", layers, documents.mask[:, None, None].expand(-1, -1, 16, -1)),
):
    print(
        name,
        *(f"  layer {n}: entropy {spread(one, seen):.2f}" for n, one in enumerate(found, 1)),
        end="",
    )
    far = [interpretability.attention_distance(one).mean() for one in found]
    print("   distance", *(f"{one:.1f}" for one in far))
for run in heads_record["runs"]:
    rows = [[head for head in run["heads"] if head["layer"] == layer] for layer in (1, 2)]
    print(f"GPT seed {run['seed']}", end="")
    for number, row in enumerate(rows, start=1):
        print(f"  layer {number}: {min(h['entropy'] for h in row):.2f} to", end=" ")
        print(f"{max(h['entropy'] for h in row):.2f}", end="")
    print("   distance", *(f"{sum(h['distance'] for h in row) / 4:.1f}" for row in rows))

# %% [markdown]
r"""
<details><summary>Answer</summary>

In two. The GPT's second layer is narrower and looks less far back in all three seeds; the induction model's is narrower because it matches, and looks *farther*. The classifier's layers are as good as equally broad (0.91 and 0.90<!-- shown: 0.91 0.90 -->). So "early broad, late narrow" is an observation about some models, not a law. Clark et al. (2019) found very broad heads "especially in lower layers" of BERT. Where a later head rests on a sink (section 5), it counts as narrow, whatever it looks for.

And narrow is not near: entropy and distance are two measures.

</details>
"""

# %% [markdown]
r"""
**In a released model.** SmolLM2-135M-Instruct (chapter 20 opens it) has 30 layers of nine heads, and many of them rest on the first token. Recorded, on five texts: entropy as a share of the most, as above, as it is and with the first token left out of the rows. And on four of them: the loss, in nats per token, if the heads with the highest induction scores are replaced by their means.

**Predict.** Are late layers narrower than early ones, without the first token too? And do induction heads matter on plain text?
"""

# %%
atlas = measure.read_record("chapter_20_atlas")["runs"]
for name in ("entropy", "entropy without token 0"):
    shares = torch.tensor([one[name] for one in atlas]).mean(dim=(0, 2))
    spans = (shares[2:12], shares[12:23], shares[23:27])
    print(f"{name:24} layers 2–11, 12–22, 23–26:", *(f"{x.mean():.2f}" for x in spans))
split = measure.read_record("chapter_20_induction")["texts"]
for name in ("eight best", *(f"random late {n}" for n in range(5))):
    costs = ([one[name][which] for one in split] for which in ("pairs", "others"))
    pairs, others = (sum(x) / 4 for x in costs)
    print(f"{name:14} where a pair of tokens returns {pairs:+.2f}, elsewhere {others:+.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Narrower only because they rest: entropy falls from 0.50 to 0.41 and 0.33, and without the first token it *rises*, from 0.49 to 0.56 and 0.59<!-- shown: 0.50 0.41 0.33 0.49 0.56 0.59 -->.

The eight heads with the highest induction scores on random words matter where a pair of tokens returns: +0.91, and +0.02 elsewhere<!-- shown: 0.91 0.02 -->. Five draws of eight other heads of layers 15 to 24 cost at most 0.14 and 0.08<!-- shown: 0.14 0.08 -->. The split is what shows it; the texts differ, from 0.5 to 1.9 (chapter 20).

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 15. Do heads have roles?

Text D: "Positional heads: Attend to specific relative positions", "Syntactic heads: Focus on grammatical relationships", "Rare word heads: Handle out-of-distribution tokens", "Delimiter heads: Attend to sentence boundaries". The first three are the categories of Voita et al. (2019), for a translation encoder; the last is from Clark et al. (2019), for BERT.

**Find the error** in the third.

<details><summary>Answer</summary>

Voita's heads look at the *least frequent token of the sentence*. Rare is not out-of-distribution: a rare token was seen in training, and every sentence has a rarest one.

</details>
"""

# %% [markdown]
r"""
**Predict.** Chapter 10's GPT has eight heads. For each: the weight on the previous token, on its own, on blanks and line ends, on the rarest token so far and on the first one. Which of these roles will you find, and when would you call it one?
"""

# %% mystnb={"image": {"alt": "For each role, the weights of the eight heads of three models as a multiple of the base rate, on a logarithmic axis. Previous token: 2 to 13 times, layer 2 highest. Own token: 1 to 3.5 times. Blanks: one head of each model at 3 to 4 times, the others near 1. Rarest token: 0.6 to 1.1 times. First token: 0.1 to 0.7 times."}}
base = heads_record["base"][0]
figure, axes = plt.subplots(figsize=(plotting.WIDTH, 3.6))
plotting.headline(figure, "Previous-token and blank heads are there,\nrare-word heads are not")
for column, name in enumerate(base):
    for run, colour in zip(heads_record["runs"], ("blue", "orange", "green"), strict=True):
        for number, head in enumerate(run["heads"]):
            at = column + 0.24 * (run["seed"] - 1) + 0.02 * (number % 4 - 1.5)
            style = {"mfc": "none"} if head["layer"] == 1 else {}
            axes.plot(
                at,
                head[name] / base[name],
                "o",
                color=plotting.COLOURS[colour],
                markersize=5,
                **style,
            )
axes.axhline(1, color=plotting.INK, linewidth=1)
ticks = (0.1, 0.3, 1, 3, 10)
axes.set(
    xticks=range(len(base)), xticklabels=base, yscale="log", yticks=ticks, ylabel="times base rate"
)
axes.set_yticklabels(map(str, ticks))
axes.minorticks_off()
_ = axes.set_xlabel("open: layer 1, filled: layer 2; a colour is a seed")

# %%
print("times the base rate, largest of 8 heads (its weight)")
for name, rate in base.items():
    best = [max(run["heads"], key=lambda head: head[name]) for run in heads_record["runs"]]
    told = "   ".join(
        f"layer {head['layer']}: {head[name] / rate:4.1f} ({head[name]:.2f})" for head in best
    )
    print(f"{name:9} base {rate:.2f}   {told}")
rarest = [head["rarest"] / base["rarest"] for run in heads_record["runs"] for head in run["heads"]]
print(f"rarest, all 24 heads: {min(rarest):.1f} to {max(rarest):.1f} times")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Every model has previous-token heads in its second layer (10 to 13 times the base rate), and one head that likes blanks and line ends (3 to 4 times). The token itself gets up to 3.5 times its rate, but at most 0.13 of the weight<!-- shown: 3.5 0.13 -->. The rarest token gets 0.6 to 1.1 times its base rate<!-- shown: 0.6 1.1 -->: that role is not there. The first token gets less than its share: no sink, in so small a model with rotary positions.

The base rate makes the difference. "0.28 on blanks" sounds like much, "0.04 on the rarest" like little; the second is what even weights give. And these are positional and lexical roles; nothing here tests syntax.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** An illustration of text E has "multiple 'experts'": head 1 for syntactic relations, head 2 for meaning, head 3 for positions. What would it take to say that of a head?

<details><summary>Answer</summary>

A measure of the role, a base rate to compare it with, the same in other texts and other seeds, and an ablation that shows what is lost. That heads "consistently specialize", as text E says elsewhere, has been shown for some heads of some models; Voita et al. could prune most of the rest.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 16. A planted cue

Text D attributes "Attention may capture spurious correlations" to Jain and Wallace, who did not test that. It can be tested. One word of both languages comes first in nine of ten Polish training documents, and in one of ten Czech ones. It says nothing about the words; it is a habit of the collection.

**Predict.** How much weight will the cue get, compared with an even share? And what becomes of Czech documents that carry it?
"""

# %% guess={"name": "13.cue", "kind": "number", "asks": "A word without meaning stood first in nine of ten Polish training documents and one of ten Czech ones: how many times its even share of the weight does it get?", "low": 0.1, "high": 15, "log": true, "unit": "times", "reads": "cue on Polish documents: {} times"}
guess("13.cue")

# %% tags=["nbval-ignore-output"] reason="the bar's speed"
cued = train_pooled("words", draw=lambda n, g: plant_cue(draw_documents(n, g), g, 0.9)[0])

# %%
for name, often in (("on Polish documents", 1.0), ("on Czech documents", 0.0)):
    found, planted = plant_cue(judged, torch.Generator().manual_seed(3), often)
    read, real = found.tokens[planted, 1:], found.mask[planted, 1:]
    with torch.no_grad():
        weights = cued.weights(cued.encode(cued.embed(read), real), real)
        right = cued(read, real).argmax(dim=-1) == found.labels[planted]
    times = (weights[:, 0] * real.sum(dim=-1)).mean()
    print(
        f"cue {name}: {times:.1f} times its share of the weight; right {right.float().mean():.2f}"
    )
for run in rankings_record["cues"]:
    told, misled = run["cue tells the truth"], run["cue misleads"]
    print(
        f"recorded, {run['encoder']:5} seed {run['seed']}: {told['weight_over_even']:.1f} times",
        end="",
    )
    print(f"; right {told['right']:.2f}, and {misled['right']:.2f} where it misleads")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The cue gets most of the weight, and where it misleads nearly every document is judged wrong. So the weights *can* follow a spurious cue, and here they even show it: the model's fault was visible in them. That is a use of weights that survives this chapter. A suspicious weight is a good reason to hide the token and look.

It is one cue. Over LSTM states, whose weights hardly agreed with anything in section 9, the cue gets even more: 9.6 to 10.5 times its share, over words 7.6 to 8.8<!-- shown: 9.6 10.5 7.6 8.8 -->. Where it misleads, some more documents are judged right, 0.13 to 0.24<!-- shown: 0.13 0.24 -->.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 17. What published texts say, once more

Right, wrong, or right under a condition? Numbers 1 to 5 are text D's, 6 is text E's; 2 and 4 are quoted, the others put in our words.

1. Heatmaps reveal syntactic, local and long-range specialisation of heads.
2. "Low entropy: Peaked distribution (one token dominates) High entropy: Uniform distribution (attends equally to all)".
3. Attention rollout: $0.5\,I + 0.5\,A$ for each layer.
4. "Attention weights may not correlate with gradient-based importance", and "Multiple attention patterns can produce similar outputs" (Jain and Wallace, 2019).
5. Uniform attention: check initialisation and learning rate. NaN: gradient clipping, fp16.
6. Heads are experts: syntax, semantics, position.
"""

# %% [markdown]
r"""
<details><summary>Answers</summary>

1. Some heatmaps of trained models do; the figure printed with the sentence shows noise (section 1).
2. Right, from 0 to $\ln n$ (section 2).
3. Right, as the authors do it. The product printed after it is reversed (section 7).
4. Right, and the reply of Wiegreffe and Pinter (2019) belongs beside it: even weights, and other seeds (section 9).
5. Good first looks. A NaN in *attention* can be an empty row (section 10), which clipping does not cure.
6. An illustration. Roles have to be measured (section 15).

</details>
"""

# %% [markdown]
r"""
## Yours: the readings, with your functions

The trained models once more, read with the functions that you have passed: entropy and induction score of the two layers, then the classifier's rollout, gradient attention and, for one document, flow, each compared with leave-one-out by your rank correlation; and its effective attention.
"""


# %%
def readings(parts):
    """Read the induction model and the classifier with the given functions."""
    few = draw_documents(12, torch.Generator().manual_seed(5))
    real = few.mask
    layers, gradients, _ = slopes(classifier, few)
    left = parts.leave_one_out(classifier.predict, few.tokens, real)
    means = [one.mean(dim=1) for one in layers]
    said = {
        "rollout": parts.attention_rollout(layers)[:, 0],
        "gradient attention": parts.gradient_attention(layers, gradients)[:, 0],
        "flow": torch.tensor(
            [[parts.attention_flow([m[0] for m in means], i, 0) for i in range(real.shape[1])]]
        ),
    }
    values = head_values(classifier, few.tokens, real[:, None, None])[1]
    symbols = torch.stack(maps)[..., 1:, 1:].mean(dim=1)
    return {
        "entropy": parts.attention_entropy(torch.stack(maps)[:, 0]).mean(dim=-1),
        "induction": parts.induction_score(symbols, 20),
        "left out": left,
        **said,
        "agreement": torch.stack([
            parts.rank_correlation(a[r][1:], b[r][1:])
            for one in said.values() for a, b, r in zip(one, left, real, strict=False)
        ]),
        "effective": parts.effective_attention(layers[1], values).norm(dim=-1),
    }  # fmt: skip


# %% tags=["nbval-ignore-output"] reason="the times, and whose functions run"
READING = ("attention_entropy", "induction_score", "leave_one_out", "attention_rollout")
ADDING = ("gradient_attention", "rank_correlation", "attention_flow", "effective_attention")
note = yours(*READING, *ADDING).run(readings, tolerance=1e-4)
for name, value in note.course.items():
    numbers = value.double().flatten()[:6].tolist()
    print(f"{name}:", *(f"{number:.2f}" for number in numbers))
note

# %% [markdown]
r"""
## Recap

1. Compare a weight with $1/n$, an entropy with $\ln n$, a role with its base rate, and every picture with one from another seed. `eval()` first.
2. An induction head looks at the token after the one that matched; it needs a previous-token head below it, and both appear together. Its matrices show why: QK matches, OV copies. Ablate groups, and by the mean as well as by zero. What rests on a sink may not need it.
"""

# %% [markdown]
r"""
3. Rollout says what a stack that only averages would mix, flow how much could pass, gradient attention what speaks for a class.
4. Leave-one-out needs no weights. Weights have no sign; a gradient has, if it is not cut off. Before you ask what weights explain, ask whether even weights do as well, and how far two seeds differ.
5. Row sums, entropy, `leaks_future` and gradients each find some faults. Attended padding escapes all of them.
"""

# %% tags=["remove-cell"]
progress(13)

# %% [markdown]
"""
**Next**: chapter 14 lets pictures attend, and one sequence read another.
"""

# %% [markdown]
r"""
## Go further

- Abnar and Zuidema (2020): rollout and flow.
- Jain and Wallace (2019), Wiegreffe and Pinter (2019): the dispute.
- Brown et al. (2020): few-shot learning. Gu et al. (2025): sinks in language models.
- Brunner et al. (2020): effective attention.
- Chefer et al. (2021): gradient attention.
- Elhage et al. (2021), Olsson et al. (2022): circuits, and induction heads.
- Voita et al. (2019), Clark et al. (2019): heads whose roles were measured.
- Serrano and Smith (2019), Pruthi et al. (2020): weights erased by rank, and weights trained to deceive.
- Li et al. (2016): leaving words out.
"""

# %% [markdown]
"""
<details><summary>BibTeX</summary>

```bibtex
@inproceedings{abnar2020quantifying,
  title = {Quantifying Attention Flow in Transformers},
  author = {Abnar, Samira and Zuidema, Willem},
  booktitle = {ACL}, year = {2020}, url = {https://arxiv.org/abs/2005.00928}}
@inproceedings{jain2019attention,
  title = {Attention is not Explanation},
  author = {Jain, Sarthak and Wallace, Byron C.},
  booktitle = {NAACL}, year = {2019}, url = {https://arxiv.org/abs/1902.10186}}
@inproceedings{wiegreffe2019attention,
  title = {Attention is not not Explanation},
  author = {Wiegreffe, Sarah and Pinter, Yuval},
  booktitle = {EMNLP}, year = {2019}, url = {https://arxiv.org/abs/1908.04626}}
@inproceedings{brunner2020identifiability,
  title = {On Identifiability in Transformers},
  author = {Brunner, Gino and Liu, Yang and Pascual, Dami{\'a}n and Richter, Oliver and Ciaramita, Massimiliano and Wattenhofer, Roger},
  booktitle = {ICLR}, year = {2020}, url = {https://arxiv.org/abs/1908.04211}}
@inproceedings{chefer2021generic,
  title = {Generic Attention-model Explainability for Interpreting Bi-Modal and Encoder-Decoder Transformers},
  author = {Chefer, Hila and Gur, Shir and Wolf, Lior},
  booktitle = {ICCV}, year = {2021}, url = {https://arxiv.org/abs/2103.15679}}
@misc{elhage2021mathematical,
  title = {A Mathematical Framework for Transformer Circuits},
  author = {Elhage, Nelson and others},
  howpublished = {Transformer Circuits Thread}, year = {2021}, url = {https://transformer-circuits.pub/2021/framework}}
@misc{olsson2022context,
  title = {In-context Learning and Induction Heads},
  author = {Olsson, Catherine and others}, year = {2022}, url = {https://arxiv.org/abs/2209.11895}}
@inproceedings{voita2019analyzing,
  title = {Analyzing Multi-Head Self-Attention: Specialized Heads Do the Heavy Lifting, the Rest Can Be Pruned},
  author = {Voita, Elena and Talbot, David and Moiseev, Fedor and Sennrich, Rico and Titov, Ivan},
  booktitle = {ACL}, year = {2019}, url = {https://arxiv.org/abs/1905.09418}}
@inproceedings{clark2019what,
  title = {What Does {BERT} Look At? An Analysis of {BERT}'s Attention},
  author = {Clark, Kevin and Khandelwal, Urvashi and Levy, Omer and Manning, Christopher D.},
  booktitle = {BlackboxNLP}, year = {2019}, url = {https://arxiv.org/abs/1906.04341}}
@inproceedings{brown2020language,
  title = {Language Models are Few-Shot Learners},
  author = {Brown, Tom B. and Mann, Benjamin and Ryder, Nick and Subbiah, Melanie and others},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2020}, url = {https://arxiv.org/abs/2005.14165}}
@inproceedings{gu2025attention,
  title = {When Attention Sink Emerges in Language Models: An Empirical View},
  author = {Gu, Xiangming and Pang, Tianyu and Du, Chao and Liu, Qian and Zhang, Fengzhuo and Du, Cunxiao and Wang, Ye and Lin, Min},
  booktitle = {ICLR}, year = {2025}, url = {https://arxiv.org/abs/2410.10781}}
@inproceedings{serrano2019attention,
  title = {Is Attention Interpretable?}, author = {Serrano, Sofia and Smith, Noah A.},
  booktitle = {ACL}, year = {2019}, url = {https://arxiv.org/abs/1906.03731}}
@inproceedings{pruthi2020learning,
  title = {Learning to Deceive with Attention-Based Explanations},
  author = {Pruthi, Danish and Gupta, Mansi and Dhingra, Bhuwan and Neubig, Graham and Lipton, Zachary C.},
  booktitle = {ACL}, year = {2020}, url = {https://arxiv.org/abs/1909.07913}}
@misc{li2016understanding,
  title = {Understanding Neural Networks through Representation Erasure},
  author = {Li, Jiwei and Monroe, Will and Jurafsky, Dan}, year = {2016}, url = {https://arxiv.org/abs/1612.08220}}
```

</details>
"""
