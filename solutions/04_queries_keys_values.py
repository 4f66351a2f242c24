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
# Give one input three roles: queries, keys, values

Seven days look at each other. What each asks, offers and hands over is made from one vector by three matrices, whose rows you can drag.

Play for one minute. **Can you make Monday look at Sunday, and which matrices must you move for it? Which one never changes whom anybody looks at?** At the end of the chapter you can explain it.
"""

# %% tags=["remove-input"]
from course_utils.widgets import projection_toy

opening = projection_toy()
opening

# %% [markdown]
r"""
*You will be able to*

1. explain query, key and value as a dictionary that answers every question, and say where the analogy breaks down;
2. write the projections, separate and fused, and attention from one sequence to another;
3. say what attention without projections cannot express and, in a further section, read $W_Q W_K^\top$ as one bilinear form;
4. count the parameters and operations of the projections, and check published shares.

*You need* chapter 03: scores, softmax, $1/\sqrt{d_k}$, stream and head; matrix inverse and rank. Section 3 trains a few matrices with Adam, as chapter 03 did.

*Core path · further*
"""

# %% [markdown]
"""
As before: a question comes before each experiment. Write your guess down, run the cell, then open the answer.

The letters of chapter 03 stay: $L$ queries, $S$ keys and values, widths $d_k$ and $d_v$. So does $d_{model}$, the width of the stream; here queries, keys and values are made from it. Positions are rows, so a matrix $W$ is multiplied from the right: $x W$.
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
import math
import statistics
import time

import torch
from matplotlib import pyplot as plt
from torch import nn
from torch.nn import functional as F

from course_utils import attention, matrix_plotting, measure, plotting
from course_utils.guessing import draw_guess, guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.models.training import descend

plotting.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
r"""
## 1. A dictionary that answers every question

A Python dictionary holds pairs of key and value. A **query** that equals a key gets that key's value. Any other query gets an error.

Our dictionary stores how high the land is in four directions, in metres.

**Predict.** What comes back for "north-east"?
"""

# %%
heights = {"east": 20.0, "north": 90.0, "west": 50.0, "south": 10.0}
print("north:", heights["north"])
try:
    heights["north-east"]
except KeyError as error:
    print("KeyError:", error)

# %% [markdown]
r"""
<details><summary>Answer</summary>

Nothing. A lookup knows *equal* and *not equal*; it does not know *close*. It also has no slope: no small change of the query changes the answer a little, so no gradient could teach it to ask better.

</details>

A **soft lookup** solves both problems. Queries and keys become vectors. Every entry answers, in proportion to how well its key matches:

$$\mathrm{out}(q) = \sum_{j=1}^{S} w_j\, v_j, \qquad w = \mathrm{softmax}\big(q\cdot k_1/T,\ \dots,\ q\cdot k_S/T\big)$$

The **temperature** $T$ says how soft. Here keys and queries are directions, $(\cos\alpha, \sin\alpha)$.
"""


# %%
def direction(degrees):
    """Return the unit vectors of some directions, one per row."""
    angle = torch.deg2rad(torch.as_tensor(degrees, dtype=torch.float64))
    return torch.stack([angle.cos(), angle.sin()], dim=-1)


keys = direction([0.0, 90.0, 180.0, 270.0])  # east, north, west, south
values = torch.tensor([[20.0], [90.0], [50.0], [10.0]], dtype=torch.float64)

# %% [markdown]
"""
**Predict.** The query points to 30°, between east (20 m) and north (90 m), nearer to east. What is the answer for a very low temperature, and what for a very high one?
"""

# %%
query = direction([30.0])
print("temperature    east   north  west   south    answer")
for temperature in (100.0, 1.0, 0.25, 0.1, 0.01):
    weights = torch.softmax(query @ keys.mT / temperature, dim=-1)[0]
    answer = attention.soft_lookup(query, keys, values, temperature).item()
    shown = "  ".join(f"{weight:.3f}" for weight in weights)
    print(f"{temperature:11}   {shown}   {answer:7.2f}")
print("mean of the values:", values.mean().item())

# %% [markdown]
"""
<details><summary>Answer</summary>

Low: 20, the value of the best key, as a dictionary of nearest keys would say. High: 42.5, the plain mean<!-- shown: 20 42.5 -->, whatever was asked. Only between the two does the answer depend on the query *and* change smoothly with it.

</details>

Now let the query turn once around.

**Predict.** Sketch the answer against the angle for T = 1 and for T = 0.02. What happens at 45°, where two keys match equally well?
"""

# %% guess={"name": "04.angles", "kind": "curve", "asks": "East 20 m, north 90 m, west 50 m, south 10 m: what does the soft lookup answer at temperature 1, for each angle of the query?", "low": 0, "high": 100, "unit": "m", "x": [0, 45, 90, 135, 180, 225, 270, 315], "across": "angle of the query (degrees; 0 is east, 90 north)", "reads": "T = 1, {x} degrees: {} m"}
guess("04.angles")

# %% mystnb={"image": {"alt": "Answer in metres against the query's angle, for three temperatures. At 1 it is a smooth wave between about 25 and 63. At 0.2 it has rounded steps. At 0.02 it is a staircase that jumps halfway between two keys, with a dot on each of the four stored values."}}
title = "A soft dictionary hardens\nas the temperature falls"
axes = plotting.new_figure(title, "angle of the query (degrees)", "answer (metres)")
angles = torch.linspace(-45, 315, 361)
styles = {
    1.0: ("blue", (-42, 42), "-"),
    0.2: ("green", (67, 74), "-"),
    0.02: ("orange", (140, 86), "--"),
}
for temperature, (colour, at, style) in styles.items():
    curve = attention.soft_lookup(direction(angles), keys, values, temperature)[:, 0]
    plotting.line(axes, angles, curve, f"T = {temperature:g}", colour, at, style)
axes.plot([0, 90, 180, 270], values[:, 0], "o", color=plotting.INK)
axes.set_xticks([0, 90, 180, 270], ["0\neast", "90\nnorth", "180\nwest", "270\nsouth"])
draw_guess(axes, "04.angles")
for angle in range(0, 316, 45):
    height = attention.soft_lookup(direction([angle]), keys, values, 1.0).item()
    print(f"T = 1, {angle} degrees: {height:.1f} m")

# %% [markdown]
r"""
<details><summary>Answer</summary>

At 1 the steps are gone: each answer mixes all four. At 0.02 it is a staircase. At exactly 45° both keys score the same, so at *every* temperature they share equally: no temperature can decide between equals.

</details>

**Find the error.** Text C (A to E are listed on the page *What is measured here*) describes a lookup in a database, and goes on: "Attention mechanisms operate identically".

<details><summary>Answer</summary>

Only in the limit $T \to 0$, and only if "matching" means "the nearest key" instead of "the equal key". A database can also answer *nothing*. A softmax cannot: its weights sum to 1, so the best of four poor matches is still served.

</details>
"""

# %% [markdown]
r"""
### Exercise: `soft_lookup`

*Difficulty · importance · minutes*

Write `soft_lookup(query, key, value, temperature) -> out`.

- `query` is `(L, d)`, `key` is `(S, d)`, `value` is `(S, d_v)`; the result is `(L, d_v)`.
- Weights are the softmax of query·key divided by the temperature. There is no $\sqrt d$ here: the temperature is the whole scale.
- Temperatures down to 0.01 must not give `nan`, also where scores are large.
- The result carries gradients; no input is changed.
"""


# %% exercise="soft_lookup"
def soft_lookup(query, key, value, temperature):
    """Return, for each query, the values mixed in proportion to how well their keys match."""
    ### BEGIN SOLUTION: Compare all pairs, turn each row into shares, mix the values.
    matches = torch.einsum("ld,sd->ls", query, key)
    shares = torch.softmax(matches / temperature, dim=-1)
    return torch.einsum("ls,sv->lv", shares, value)
    ### END SOLUTION


# %%
check("soft_lookup", soft_lookup)
# hint("soft_lookup")  # remove the first # for a hint; each call gives one more

# %% [markdown]
r"""
**The general form.** Attention is a function from a query and a set of key–value pairs to an output, a weighted combination of the values:

$$\mathrm{out}_i = \sum_{j} \mathrm{softmax}_j\big(f(q_i, k_j)\big)\; v_j$$

| | asks |
|---|---|
| query $q_i$ | what is position $i$ looking for? |
| key $k_j$ | what can be found at position $j$? |
| value $v_j$ | what does position $j$ hand over? |
| $f$, compatibility | how well do the two match? |

$f$ may be any score of chapter 02. In most models it is $q\cdot k/\sqrt{d_k}$. The pairs are a *set*: nothing in the formula knows their order.
"""

# %% [markdown]
"""
**Check yourself.** In a soft lookup you double every vector, queries and keys. To get the old answers, the temperature must be

- A. the same
- B. doubled
- C. four times as high

<details><summary>Answer</summary>

- A is wrong: the scores grew, so the choice hardens.
- B is wrong: that would repair one of the two.
- **C is right**: a score is a product of two vectors. Long vectors act as a low temperature; that is how a trained model sets its own.

</details>
"""

# %% [markdown]
r"""
## 2. One input, three roles

In a Transformer nobody hands over queries, keys and values. There is one sequence $X$, a row of width $d_{model}$ for each position, and three learned matrices:
"""

# %% tags=["remove-input"]
from course_utils.diagrams import diagram

diagram("04")

# %% [markdown]
r"""
$$Q = X W_Q, \qquad K = X W_K, \qquad V = X W_V \tag{1}$$

| | shape |
|---|---|
| $X$ | $L \times d_{model}$ |
| $W_Q$, $W_K$ | $d_{model} \times d_k$ |
| $W_V$ | $d_{model} \times d_v$ |

$Q$ and $K$ share $d_k$, because they meet in a dot product. $d_v$ is free. When all three come from the same $X$, this is **self-attention**, and every position can reach every other in one step.

**Predict**, for 5 positions, $d_{model} = 512$ and width 64: how many numbers does one matrix hold, and how many operations do the three products take?
"""

# %%
x = torch.empty(5, 512, device="meta")  # shapes without numbers: enough for counting
w_q, w_k, w_v = (torch.empty(512, 64, device="meta") for _ in range(3))
print("numbers in one matrix:", f"{w_q.numel():,}")
print("one product:          ", f"{measure.count_flops(torch.matmul, x, w_q):,}")
print("all three:            ", f"{measure.count_flops(attention.project_qkv, x, w_q, w_k, w_v):,}")
print("shapes:", [tuple(out.shape) for out in attention.project_qkv(x, w_q, w_k, w_v)])

# %% [markdown]
r"""
<details><summary>Answer</summary>

$512\cdot64 = 32{,}768$; $2\cdot5\cdot512\cdot64 = 327{,}680$; three times that, $983{,}040$. Text C has exactly these numbers.

</details>

**Three pictures of one input.** The seven days of the week, as points in the plane, pass through three matrices. With two dimensions everything can be drawn.

**Predict.** Row 1 of a matrix is where $(1, 0)$ goes, row 2 where $(0, 1)$ goes. Below, $W_Q$ enlarges, $W_K$ rotates by a seventh of a circle, $W_V$ slants. Where does each picture put Monday?
"""

# %%
days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
turn = 2 * math.pi / 7
angle = turn * torch.arange(7)
x = 1.5 * torch.stack([angle.sin(), angle.cos()], dim=-1)  # a circle, clockwise from the top
w_q = 1.9 * torch.eye(2)
w_k = 1.9 * torch.tensor([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
w_v = torch.tensor([[1.2, 0.5], [-0.6, 1.1]])
views = attention.project_qkv(x, w_q, w_k, w_v)
for name, view in zip(("query", "key", "value"), views, strict=True):
    print(f"{name:5} of mon", view[0], "  of tue", view[1])

# %% mystnb={"image": {"alt": "Three scatter plots of the seven days, from the same seven points on a circle. Queries: the circle enlarged. Keys: the circle rotated by one seventh, so that Tuesday's key stands where Monday's query is. Values: a smaller, slanted ellipse."}}
figure, panels = plt.subplots(1, 3, figsize=(plotting.WIDTH, 2.5), sharex=True, sharey=True)
plotting.headline(figure, "One input, three pictures on one scale")
for panel, view, name in zip(panels, views, ("queries", "keys", "values"), strict=True):
    panel.scatter(*view.T, color=plotting.COLOURS["blue"], s=16)
    panel.set_title(name, loc="center")
    panel.set(xlim=(-4.4, 4.4), ylim=(-4.4, 4.4), aspect="equal", xticks=[0], yticks=[0])
    panel.grid()
    for day, point in zip(days, view, strict=True):
        label = (point * (1 + 0.95 / point.norm())).tolist()
        panel.text(*label, day, ha="center", va="center", fontsize=9)

# %% [markdown]
"""
**Predict.** Each query takes the keys that point in its own direction. Which day does Monday look at? And which day's *value* does it get?
"""

# %% mystnb={"image": {"alt": "Seven by seven weights: each day gives 0.81 to the next day and 0.09 to itself and to the day after next."}}
figure, axes = plt.subplots(figsize=(plotting.WIDTH, 4.3))
plotting.headline(figure, "Rotated keys: each day looks at the next")
weights = attention.attention_weights(views[0], views[1])
matrix_plotting.weight_map(axes, weights, rows=days, columns=days)
axes.set(xlabel="key: the day looked at", ylabel="query: the day that looks")
print("weights of mon:", dict(zip(days, (round(w, 2) for w in weights[0].tolist()), strict=True)))
print("values: mon", views[2][0], " tue", views[2][1])
print("output of mon:", (weights @ views[2])[0])

# %% [markdown]
"""
<details><summary>Answer</summary>

Tuesday: its *key* was rotated to where Monday's query points. The output of Monday is near Tuesday's *value*, which is somewhere else again. One input, and the three roles of a day need not resemble each other.

</details>
"""

# %% [markdown]
"""
### Exercise: `project_qkv`

*Difficulty · importance · minutes*

Write `project_qkv(x, W_q, W_k, W_v) -> (query, key, value)`.

- `x` is `(B, L, d_model)`; `W_q` and `W_k` are `(d_model, d_k)`, `W_v` is `(d_model, d_v)`.
- Each matrix is applied as `x @ W`.
- The three results come back as a tuple in this order, and carry gradients.
"""


# %% exercise="project_qkv"
def project_qkv(x, W_q, W_k, W_v):
    """Return the queries, keys and values of one sequence."""
    ### BEGIN SOLUTION: One product for each role.
    return tuple(x @ matrix for matrix in (W_q, W_k, W_v))
    ### END SOLUTION


# %%
check("project_qkv", project_qkv)
# hint("project_qkv")

# %% [markdown]
"""
Drag the rows of the matrices yourself. Try, in this order:

1. *No projections*. Whom does each day look at? Drag $W_V$: which numbers of the table change?
2. *W_Q = W_K*. Open the two parts below and drag any row of W_Q. Watch the antisymmetric part.
3. From *No projections*, make Monday look at Sunday by moving $W_K$ alone.
4. *Rank 1*. How many different favourites are left in the table?
"""

# %%
opening

# %% [markdown]
"""
<details><summary>Answer</summary>

1. At itself: nothing points more in a day's direction than the day. $W_V$ changes no weight; it decides *what* is handed over, never *whom* one looks at.
2. It is zero as long as the two are equal, and appears with the first step.
3. Turn the keys the other way: row 1 to about (0.6, -0.8), row 2 to about (0.8, 0.6).
4. Two at most. All keys lie on one line, and only its two ends can be the farthest in any direction. Section 4 meets this again.

</details>
"""

# %% [markdown]
r"""
## 3. What attention without projections cannot say

Why not compare the inputs themselves, $x_i\cdot x_j$? Two things go wrong. The first shows in random data.

**Predict.** How much of its weight does a token give to *itself* with no projections, with one shared matrix $W_Q = W_K$, and with two?
"""

# %% guess={"name": "04.itself", "kind": "number", "asks": "32 random tokens of width 64, one random matrix for queries and keys, scores scaled: what weight does a token give to itself, on average?", "low": 0, "high": 1, "reads": "W_Q = W_K {_} {_} {}"}
guess("04.itself")

# %%
generator = torch.Generator().manual_seed(0)
tokens = torch.randn(500, 32, 64, generator=generator)
w_q, w_k = torch.randn(2, 500, 64, 64, generator=generator) / 8  # new matrices for each sequence
ways = {"no projections": (tokens, tokens), "W_Q = W_K": (tokens @ w_q, tokens @ w_q)}
ways["two matrices"] = (tokens @ w_q, tokens @ w_k)
own = torch.eye(32, dtype=torch.bool)
print("                mean score           weight on")
print("                itself   another     itself")
for name, (q, k) in ways.items():
    scores = q @ k.mT / 8
    means = (round(scores[:, pairs].mean().item(), 1) + 0.0 for pairs in (own, ~own))
    share = attention.attention_weights(q, k)[:, own].mean()
    print("{:15} {:6.1f} {:9.1f} {:11.2f}".format(name, *means, share))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Nearly all of it. $x\cdot x$ is a squared length, $64$ on average, 8 after the scale; another token scores 0. Its weight is 0.97, and 0.93 with a shared matrix. With two matrices a token is one of 32: $1/32 \approx 0.03$<!-- shown: 8 0.97 0.93 0.03 -->, and a little more where chance favours it.

</details>
"""

# %% [markdown]
r"""
**The second fault is worse.** $x_i\cdot x_j = x_j\cdot x_i$: the score is symmetric. Many relations are not. *Tomorrow*: Monday should look at Tuesday, and Tuesday at Wednesday, not back.

**Predict.** Suppose each day scored tomorrow higher than yesterday, and all scores were symmetric. Start with $s(\text{mon}, \text{tue})$ and walk through the week. What do you meet on Sunday?

<details><summary>Answer</summary>

$s(\text{mon},\text{tue})$ is also Tuesday's score for yesterday, so $s(\text{tue},\text{wed})$ must be higher; $s(\text{wed},\text{thu})$ higher still; and so on. After seven steps $s(\text{mon},\text{tue})$ must be higher than itself. So *no* symmetric score gets all seven days right, whatever the embeddings are.

</details>
"""

# %% [markdown]
r"""
The proof says what cannot be. Training says what happens instead. Seven fixed random embeddings of width 16, one head that must put its weight on tomorrow, five ways to score:

| | score of $i$ for $j$ |
|---|---|
| no projections | $x_i\cdot x_j$, nothing to train |
| shared | $x_iW\cdot x_jW$ |
| symmetric | the mean of $x_iW_Q\cdot x_jW_K$ and $x_jW_Q\cdot x_iW_K$ |
| one-sided | $x_iW_Q\cdot x_j$ |
| separate | $x_iW_Q\cdot x_jW_K$ |
"""

# %%
WAYS = {
    "no projections": lambda x, w_q, w_k: x @ x.T,
    "shared": lambda x, w_q, w_k: (x @ w_q) @ (x @ w_q).T,
    "symmetric": lambda x, w_q, w_k: ((x @ w_q) @ (x @ w_k).T + (x @ w_k) @ (x @ w_q).T) / 2,
    "one-sided": lambda x, w_q, w_k: (x @ w_q) @ x.T,
    "separate": lambda x, w_q, w_k: (x @ w_q) @ (x @ w_k).T,
}
tomorrow = (torch.arange(7) + 1) % 7


# %%
def learn_tomorrow(way, d_k=16, seed=0):
    """Train one way to score; return the embeddings, the two matrices and the scaled scores."""
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(7, 16, generator=draw, dtype=torch.float64)
    matrices = torch.randn(2, 16, d_k, generator=draw, dtype=torch.float64) / 4
    head = nn.ParameterList(matrices.unbind())

    def score():
        return WAYS[way](x, *head) / math.sqrt(d_k)

    def loss():
        return F.cross_entropy(score(), tomorrow)

    if way != "no projections":
        optimiser = torch.optim.Adam(head.parameters())
        descend(head, loss, optimiser, steps=400, learning_rate=0.05)
    return x, *(matrix.detach() for matrix in head), score().detach()


# %% [markdown]
r"""
**Predict.** What is the order of their losses, and how large is that of *symmetric*? Hint: tomorrow and yesterday are bound to look alike on average, and everything else can be shut out.
"""

# %% guess={"name": "04.ways", "kind": "order", "asks": "A head must put each day's weight on the next day: in which order are these ways to score by their loss after training (seed 0)?", "take": "ascending", "options": {"no projections": "no projections {}", "shared": "shared {}", "symmetric": "symmetric {}", "separate": "separate {}"}}
guess("04.ways")

# %%
learned = {}
print("                 loss   weight on tomorrow   days right (of 7)")
for way in WAYS:
    for seed in range(3):
        learned[way, seed] = learn_tomorrow(way, seed=seed)
        scores = learned[way, seed][-1]
        weight = scores.softmax(dim=-1)[range(7), tomorrow]
        right = (weight > 0.51).sum().item()  # more than half, so that a tie does not count
        loss = F.cross_entropy(scores, tomorrow).item()
        print(f"{way:15} {loss:6.3f} {weight.mean():14.3f} {right:16}")
print(f"ln 2 = {math.log(2):.3f}")

# %% mystnb={"image": {"alt": "Four 7 by 7 maps of weights. No projections: bright diagonal, uneven rest. Shared: diagonal 0.41, both neighbours 0.22. Symmetric: 0.50 on tomorrow and 0.50 on yesterday. Separate: 1.00 on tomorrow."}}
figure, panels = plt.subplots(2, 2, figsize=(plotting.WIDTH, 6.2), sharex=True, sharey=True)
initials = [day[:2] for day in days]
plotting.headline(figure, "A symmetric score cannot tell\ntomorrow from yesterday")
figure.supxlabel("key: the day looked at", fontsize=12)
figure.supylabel("query: the day that looks", fontsize=12)
for panel, way in zip(
    panels.flat, ("no projections", "shared", "symmetric", "separate"), strict=True
):
    weights = learned[way, 0][-1].softmax(dim=-1)
    matrix_plotting.weight_map(
        panel, weights, title=way, rows=initials, columns=initials, decimals=1
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

- *No projections* is worst: most of the weight stays on the day itself.
- *Symmetric* ends at 0.693, which is $\ln 2$<!-- shown: 0.693 -->: half of the weight on tomorrow, half on yesterday, in every run.
- *Shared* lies in between. Its score is a squared length on the diagonal, so a day cannot be kept from looking at itself either.
- *Separate* and *one-sided* learn it completely.

</details>
"""

# %% [markdown]
r"""
<details><summary>Why no symmetric score does better than ln 2</summary>

Let $a_i$ be the score between day $i$ and its tomorrow. By symmetry $a_{i-1}$ is its score for yesterday. At best all other days get nothing; then the weight on tomorrow is a softmax of two,

$$\frac{e^{a_i}}{e^{a_i} + e^{a_{i-1}}} = \frac{1}{1 + e^{-\Delta_i}}, \qquad \Delta_i = a_i - a_{i-1},$$

and the loss of day $i$ is $\ln(1 + e^{-\Delta_i})$. Around the week the seven $\Delta_i$ sum to 0. The function is convex, so by Jensen's inequality the mean loss is at least its value at the mean of the $\Delta_i$, which is 0: $\ln(1 + 1) = \ln 2$.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** *One-sided* has one matrix and learned the relation. Why do models have two?

- A. two matrices can express more relations than one full matrix
- B. two narrow matrices are cheaper and can serve many heads
- C. without the second the score stays symmetric

<details><summary>Answer</summary>

- A is the wrong way round: $W_Q W_K^\top$ has rank at most $d_k$; one full matrix has no such limit.
- **B is right.** A head of width 64 in a stream of 512 holds $2\cdot512\cdot64$ numbers instead of $512^2$, and compares vectors of width 64 instead of 512.
- C is wrong: $x_iW\cdot x_j$ is symmetric only if $W$ is.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** Under a causal mask each position sees only earlier ones. Reformer (Kitaev et al., 2020) shares queries and keys, and reports no loss of quality. Does that contradict the proof?

<details><summary>Answer</summary>

No. The proof uses both $s(i, j)$ and $s(j, i)$. Under a causal mask one of the two is always hidden, so each score is used by one query only and the chain of inequalities breaks. Reformer also divides keys by their length and keeps a position from looking at itself unless there is nothing else to look at. A statement about expressiveness is a statement about all its conditions.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 4. Two matrices, one form

Write a score out: the two matrices meet without anything between them.

$$s_{ij} = \frac{(x_i W_Q)(x_j W_K)^\top}{\sqrt{d_k}} = \frac{x_i\, \overbrace{W_Q W_K^\top}^{M}\, x_j^\top}{\sqrt{d_k}}, \qquad M = \underbrace{\tfrac12(M + M^\top)}_{\text{symmetric}} + \underbrace{\tfrac12(M - M^\top)}_{\text{antisymmetric}}$$

$M$ is a **bilinear form** (the *QK circuit* of Elhage et al., 2021; with $\sqrt{d_k}$ left out, the *general* score of Luong et al., 2015). Its symmetric part scores a pair the same in both directions. Its antisymmetric part says which of the two looks more at the other.

**Predict.** For each day take $s(\text{today}, \text{tomorrow}) - s(\text{tomorrow}, \text{today})$. Which part keeps this difference? And what does that part add to a token's score for itself?
"""

# %% mystnb={"image": {"alt": "Scores of the trained separate head and their two parts as 7 by 7 maps with their numbers, red positive, blue negative, on one scale. The symmetric part is mirrored at the diagonal; the antisymmetric part is red above the diagonal where it is blue below, and white on it."}}
x, w_q, w_k, scores = learned["separate", 0]
form = w_q @ w_k.T
halves = {"scores": form, "symmetric": (form + form.T) / 2, "antisymmetric": (form - form.T) / 2}
figure, panels = plt.subplots(1, 3, figsize=(plotting.WIDTH, 3.0))
plotting.headline(figure, "Scores = a symmetric + an antisymmetric part")
look = {"columns": initials, "decimals": 0, "weights": False, "top": 28.0, "fontsize": 8}
for panel, sign, (name, part) in zip(panels, ("", "=", "+"), halves.items(), strict=True):
    pairs = x @ part @ x.T / 4  # √d_k is 4
    rows = None if sign else initials
    matrix_plotting.weight_map(panel, pairs, title=name, rows=rows, **look)
    panel.set_xlabel("key")
    panel.tick_params(labelsize=8, labelrotation=0)
    panel.text(-0.12, 0.5, sign, transform=panel.transAxes, ha="center", va="center", fontsize=18)
    lead = round((pairs - pairs.T)[range(7), tomorrow].min().item(), 1) + 0.0
    own = pairs.diag().abs().max()
    print(f"{name:13} smallest s(today, tomorrow) - s(tomorrow, today): {lead:4.1f}", end="")
    print(f"; largest own score: {own:4.1f}")
panels[0].set_ylabel("query")
matrix_plotting.colour_key(panels, weights=False, top=28.0, label="scaled score")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The antisymmetric part: it changes sign with the direction, so it holds the whole difference. In the symmetric part both directions score the same. For a token with itself the antisymmetric part is 0, because $s_{ii} = -s_{ii}$.

</details>

**Rank.** $M$ is $d_{model}\times d_{model}$, yet a product through width $d_k$ has rank at most $d_k$.

**Predict.** How narrow may the head be?
"""

# %% guess={"name": "04.narrow", "kind": "choice", "asks": "What is the smallest width of queries and keys with which a head learns tomorrow for all seven days, in all five seeds?", "take": "printed", "options": {"1": "1 1 [7, 7, 7, 7, 7]", "2": "1 1 [2, {_} 2 2 [7, 7, 7, 7, 7]", "4": "2 2 [2, {_} 4 4 [7, 7, 7, 7, 7]", "7": "4 4 [2, {_} 7 7 [7, 7, 7, 7, 7]"}}
guess("04.narrow")

# %%
print("d_k   rank   days right (of 7), five seeds")
for d_k in (1, 2, 4, 7):
    runs = [learn_tomorrow("separate", d_k=d_k, seed=seed) for seed in range(5)]
    rank = {torch.linalg.matrix_rank(run[1] @ run[2].T).item() for run in runs}
    weights = [run[3].softmax(dim=-1)[range(7), tomorrow] for run in runs]
    print(f"{d_k:3} {min(rank):6}  ", [(weight > 0.51).sum().item() for weight in weights])

# %% mystnb={"image": {"alt": "The seven trained keys of a head of width 2, spread around the origin as corners of a polygon. A dashed ray is the direction of Monday's query; Tuesday's key is farthest along it."}}
x, w_q, w_k, _ = learn_tomorrow("separate", d_k=2, seed=2)
query, key, _ = attention.project_qkv(x, w_q, w_k, w_k)
ray = query[0] / query[0].norm()
title = "Every key is a corner, so each can be\nthe farthest in some direction"
axes = plotting.new_figure(title, "", "")
axes.scatter(*key.T, color=plotting.COLOURS["blue"], zorder=3)
for day, place in zip(days, key, strict=True):
    axes.text(*(place * (1 + 1.2 / place.norm())).tolist(), day, ha="center", va="center")
    shadow = torch.stack([place, (place @ ray) * ray])  # how far the key is along the ray
    axes.plot(*shadow.T, ":", color="#9A9A9A", linewidth=1)
ends = torch.stack([-6.5 * ray, 9 * ray])
plotting.line(axes, *ends.T, "where mon's\nquery points", "orange", (9.4 * ray).tolist(), "--")
_ = axes.set(xlim=(-8, 15), ylim=(-7.5, 8), aspect="equal")
axes.set_axis_off()

# %% [markdown]
r"""
<details><summary>Answer</summary>

Two are enough. A query picks the key that is farthest in its direction. On a line ($d_k = 1$) only the two ends can ever be farthest, hence 2 of 7. In the plane all seven keys can be corners of a polygon, and each query points to the corner that it wants. The keys are not in the order of the week: training only needed corners.

</details>
"""

# %% [markdown]
r"""
**How much of $W_Q$ is real?** Take any invertible matrix $R$ and replace $W_Q$ by $W_Q R$ and $W_K$ by $W_K R^{-\top}$.

**Predict.** Which of these change: the queries, the keys, the scores, the output?
"""

# %%
x, w_q, w_k, _ = learned["separate", 0]
mix = torch.randn(16, 16, generator=generator, dtype=torch.float64)
other_q, other_k = w_q @ mix, w_k @ torch.linalg.inv(mix).T
print("queries equal:", torch.allclose(x @ w_q, x @ other_q))
print("keys equal:   ", torch.allclose(x @ w_k, x @ other_k))
before, after = ((x @ q) @ (x @ k).T for q, k in ((w_q, w_k), (other_q, other_k)))
print("scores equal: ", torch.allclose(before, after))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Queries and keys change, scores and output do not: $W_Q R\,(W_K R^{-\top})^\top = W_Q W_K^\top$. Only the product does anything. So a sentence such as text C's "The query projection learns to emphasize features relevant for determining what to attend to" says nothing that could be checked in $W_Q$ alone; look at $M$, or at the weights.

</details>
"""

# %% [markdown]
r"""
## 5. One product instead of three

$XW_Q$, $XW_K$ and $XW_V$ read the same $X$. Glue the matrices side by side and one product makes all three, **fused**: $X\,[\,W_Q\,|\,W_K\,|\,W_V\,]$. GPT-2's `c_attn` and the `in_proj_weight` of `nn.MultiheadAttention` are such matrices.

**Predict.** Is the result the same to the last bit? Are there fewer operations? Is it faster?
"""

# %%
x = torch.randn(8, 256, 512, generator=generator)
matrices = torch.randn(3, 512, 512, generator=generator) / 512**0.5
fused = torch.cat(list(matrices), dim=-1)
separate = attention.project_qkv(x, *matrices)
thirds = (x @ fused).chunk(3, dim=-1)
print("equal:", all(torch.allclose(a, b, atol=1e-5) for a, b in zip(separate, thirds, strict=True)))
print(f"operations, separate {measure.count_flops(attention.project_qkv, x, *matrices):,}")
print(f"operations, fused    {measure.count_flops(torch.matmul, x, fused):,}")


# %% tags=["nbval-ignore-output"] reason="times differ between machines and runs"
def seconds(fn, repeats=15):
    """Return the median time of a call, after one that does not count."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        fn()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def times_slower(x):
    """Return how many times as long as the fused product three separate ones take."""
    separate = seconds(lambda: [x @ matrix for matrix in matrices])
    return separate / seconds(lambda: x @ fused)


print(f"8 × 256 tokens: {times_slower(x):.2f} times as long")
print(f"1 token:        {times_slower(x[0, :1]):.2f} times as long")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The same numbers up to rounding, and exactly as many operations. The fused form saves starting two products and reading $X$ two more times. On one thread of a CPU the ratio for long inputs is near 1, on either side; for a single token the start-up cost counts for more. Whether fused is faster depends on the machine: measure on yours.

</details>

**The price of gluing** is that someone must cut. The width of $3\,d_{model}$ holds query, key, value, and each of them holds all heads. In this course, in GPT-2 and in PyTorch the order is q | k | v, with the heads inside each third. GPT-NeoX stores q, k, v of head 0, then of head 1, and so on.
"""

# %%
qkv = x[:1] @ fused  # one sequence, 8 heads of width 64
query, key, value = attention.split_fused_qkv(qkv, num_heads=8)
wrong = qkv.view(1, 256, 8, 3, 64).permute(3, 0, 2, 1, 4)  # reads the other layout
print("shapes", tuple(query.shape), tuple(wrong[0].shape))
print("head 0 queries equal:", torch.equal(query[:, 0], wrong[0][:, 0]))
print("head 1 queries equal:", torch.equal(query[:, 1], wrong[0][:, 1]))
print(
    "its 'queries' of head 1 are the queries of head 3:", torch.equal(wrong[0][:, 1], query[:, 3])
)

# %% [markdown]
"""
Every shape is right, head 0 is right, no error is raised, and the model is broken. Converting weights between libraries fails in this way.

### Exercise: `split_fused_qkv`

*Difficulty · importance · minutes*

Write `split_fused_qkv(qkv, num_heads) -> (query, key, value)`.

- `qkv` is `(B, L, 3 * d_model)`, laid out q | k | v; inside each third head 0 comes first.
- Each result is `(B, H, L, d_k)`: every head has its own L rows.
- Cutting the last axis into heads is one step, bringing the heads forward is another. A `view` to the final shape does only the first, and mixes positions with heads.
"""


# %% exercise="split_fused_qkv"
def split_fused_qkv(qkv, num_heads):
    """Return the queries, keys and values of each head."""
    ### BEGIN SOLUTION: Name the parts of the last axis one by one, then order the axes.
    batch, length, width = qkv.shape
    d_k = width // (3 * num_heads)
    parts = qkv.reshape(batch, length, 3, num_heads, d_k)
    query, key, value = torch.einsum("blrhd->rbhld", parts)
    return query, key, value
    ### END SOLUTION


# %%
check("split_fused_qkv", split_fused_qkv)
# hint("split_fused_qkv")

# %% [markdown]
r"""
## 6. One sequence asks, another answers

Nothing in the formula asks for one source. In **cross-attention** queries come from one sequence, keys and values from another:

$$Q = X W_Q, \qquad K = C W_K, \qquad V = C W_V$$

| | self-attention | cross-attention |
|---|---|---|
| queries from | $X$ | $X$ |
| keys, values from | $X$ | the context $C$ |
| used in | encoder layers, language models | a decoder that reads an encoder; text that reads an image |
| for | how parts of one sequence depend on each other | taking what is needed from elsewhere |

$X$ and $C$ may differ in length *and* width; $W_Q$ and $W_K$ bring both to width $d_k$. The output has a row for each query.
"""

# %% [markdown]
r"""
**An example that can be read.** A translator writes *le chat s'assit* and reads *the cat sat on the mat*. The matrices are set by hand. What a French word *wants* has four entries (determiner, noun, verb, about the subject). What an English word *has* has eight: the same four, then preposition, then three for meaning (animal, rest, cloth).

**Predict.** $W_K$ passes on grammar only, $W_V$ meaning only. Which English word does *chat* find, through which features, and what does it get?
"""

# %%
english = ["the", "cat", "sat", "on", "the", "mat"]
french = ["le", "chat", "s'assit"]


def translator():
    """Return what French words want, what English words have, and the three matrices."""
    #    det  noun verb subj prep animal rest cloth
    context = torch.tensor(
        [[1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],  # the
         [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0],  # cat
         [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0],  # sat
         [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],  # on
         [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # the
         [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.2, 1.0]]  # mat
    )  # fmt: skip
    x = torch.tensor([[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]])
    return x, context, 8 * torch.eye(4), torch.eye(8)[:, :4], torch.eye(8)[:, 5:]


x, context, w_q, w_k, w_v = translator()

# %% mystnb={"image": {"alt": "Weights of three French words over six English words. Le looks at the first the with 0.96, chat at cat with 0.96, s'assit at sat with 0.92."}}
weights = attention.attention_weights(x @ w_q, context @ w_k)
figure, axes = plt.subplots(figsize=(plotting.WIDTH, 2.8))
plotting.headline(figure, "Found by grammar, read for meaning")
matrix_plotting.weight_map(axes, weights, rows=french, columns=english)
axes.set(xlabel="key", ylabel="query")
out = attention.cross_attention(x, context, w_q, w_k, w_v)
print("          animal   rest  cloth")
for word, row in zip(french, out.tolist(), strict=True):
    print(f"{word:8} " + "".join(f"{entry:7.2f}" for entry in row))

# %% [markdown]
"""
<details><summary>Answer</summary>

*cat*: it is a noun and belongs to the subject; *mat* is only a noun. The key of *cat* holds nothing but grammar, its value nothing but meaning, and *chat* gets *animal*. That is why there are both keys and values: one is for being found, the other for being used. A trained model makes such matrices itself, and they are rarely so readable.

</details>

**Predict.** Shuffle the English words. What happens to the weights, what to the output? And if you shuffle the French ones?
"""

# %%
order = torch.tensor([3, 0, 5, 1, 4, 2])
shuffled = attention.cross_attention(x, context[order], w_q, w_k, w_v)
print("English shuffled, output the same:", torch.allclose(out, shuffled))
order = torch.tensor([2, 0, 1])
shuffled = attention.cross_attention(x[order], context, w_q, w_k, w_v)
print("French shuffled, rows of the output shuffled alike:", torch.allclose(out[order], shuffled))

# %% [markdown]
"""
<details><summary>Answer</summary>

The pairs are a set: the columns of the weights move, the output stays. Queries do not know of each other: their rows move along. Word order has to be added; chapter 07 does that.

</details>

### Exercise: `cross_attention`

*Difficulty · importance · minutes*

Write `cross_attention(x, context, W_q, W_k, W_v) -> out` for one head, without a mask.

- `x` is `(B, L, d)`, `context` is `(B, S, d_c)`; `W_q` `(d, d_k)`, `W_k` `(d_c, d_k)`, `W_v` `(d_c, d_v)`. The result is `(B, L, d_v)`.
- Scores are divided by the square root of the width of a *query*.
- Gradients reach both sequences and all three matrices.
"""


# %% exercise="cross_attention"
def cross_attention(x, context, W_q, W_k, W_v):
    """Return what each position of x reads from the context."""
    ### BEGIN SOLUTION: Project each sequence into its roles, score, softmax, average.
    query, key, value = x @ W_q, context @ W_k, context @ W_v
    scores = query @ key.mT / math.sqrt(W_q.shape[-1])
    return torch.softmax(scores, dim=-1) @ value
    ### END SOLUTION


# %%
check("cross_attention", cross_attention)
# hint("cross_attention")

# %% [markdown]
"""
**Check yourself.** A decoder of 20 tokens reads an encoder of 300. You swap the two arguments by mistake, and both have width 512. What do you notice?

- A. an error about shapes
- B. an output of 300 rows
- C. nothing, until the loss stays high

<details><summary>Answer</summary>

- A is wrong: with equal widths every product is defined.
- **B is right**: there is a row for each query, and the queries now come from the encoder.
- C would be right if the lengths were equal too. That is why tests use sizes that all differ.

</details>
"""

# %% [markdown]
r"""
## 7. Counting the projections

A model runs $H$ heads side by side, each with three matrices of its own (chapter 05). Together they hold $H\,d_{model}(2d_k + d_v)$ numbers, and, with a bias, one more for each column: $H(2d_k + d_v)$. If $H d_k = H d_v = d_{model}$, that is $3\,d_{model}^2$: the number of heads cancels.

### Exercise: `qkv_parameters`

*Difficulty · importance · minutes*

Write `qkv_parameters(d_model, num_heads, d_k, d_v, bias) -> int`: the numbers in the three projections of all heads, without the output projection.

- `d_k` and `d_v` are widths of *one* head, and need not be `d_model / num_heads`.
- `bias` says whether each projection adds a vector.
- Return a Python `int`.
"""


# %% exercise="qkv_parameters"
def qkv_parameters(d_model, num_heads, d_k, d_v, bias):
    """Count the numbers in the query, key and value projections of all heads."""
    ### BEGIN SOLUTION: Count for each role its matrix and its bias, then all heads.
    total = 0
    for width in (d_k, d_k, d_v):
        total += d_model * width
        if bias:
            total += width
    return num_heads * total
    ### END SOLUTION


# %%
check("qkv_parameters", qkv_parameters)
# hint("qkv_parameters")

# %% [markdown]
"""
**BERT-base** (Devlin et al., 2019): 12 layers, width 768, 12 heads of width 64, 30,522 word pieces, 512 positions. A layer also holds an *output projection* (a square matrix that mixes the heads), a *feed-forward block* (two matrices, to width 3072 and back) and two *LayerNorms* (a factor and a shift for each channel). Above the last layer there is one more square matrix, the *pooler*.

**Predict.** Text C says: 1,769,472 numbers in the three projections of a layer, 21.2 million in all layers, 19% of the model. Which of the three numbers is wrong, if any?
"""

# %%
d, heads, layers, hidden = 768, 12, 12, 3072
qkv = measure.qkv_parameters(d, heads, 64, 64, bias=False)
layer_norm = 2 * d
feed_forward = d * hidden + hidden + hidden * d + d
layer = measure.mha_parameters(d, heads, bias=True) + feed_forward + 2 * layer_norm
embeddings = (30_522 + 512 + 2) * d + layer_norm  # words, positions, two kinds of sentence
pooler = d * d + d
total = embeddings + layers * layer + pooler
print(
    f"Q, K, V of a layer {qkv:,}   with biases {measure.qkv_parameters(d, heads, 64, 64, True):,}"
)
print(f"of all layers {layers * qkv:,}   model {total:,}   share {layers * qkv / total:.1%}")
print(f"one head of width 64 instead of 12: {measure.qkv_parameters(d, 1, 64, 64, False):,}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

None: all three hold, 19.4% of 109,482,240<!-- shown: 19.4 109,482,240 -->, biases not counted. The feed-forward blocks are the largest part, more than half of the model; the embeddings are slightly larger than the projections.

</details>

**Find the error.** Text C goes on: the projections cost $6nd^2$ operations, 1.8 billion at $n = 512$, "only about 20% of the total attention computation"; scores and output "dominate for longer sequences".

**Predict.** Attention of a layer: three projections, $QK^\top$, weights times values, output projection. How much of it are the three projections at 512 tokens?
"""


# %% guess={"name": "04.share", "kind": "number", "asks": "{tokens} tokens, width 768: what percentage of attention's operations go into the projections to queries, keys and values?", "low": 0, "high": 100, "unit": "%", "reads": "of the layer {}% of attention", "varied": [{"tokens": 512}, {"tokens": 2048}, {"tokens": 128}, {"tokens": 8192}], "becomes": "100 * 6 * 768 / (8 * 768 + 4 * tokens)"}
guess("04.share")


# %%
def layer_flops(n, d=768, heads=12, hidden=3072):
    """Count the operations of one BERT layer by running it without numbers."""

    def product(rows, columns):
        factors = (torch.empty(*s, device="meta") for s in ((n, rows), (rows, columns)))
        return measure.count_flops(torch.matmul, *factors)

    head = [torch.empty(heads, n, d // heads, device="meta")] * 3
    return {
        "Q, K, V": 3 * product(d, d),
        "QKᵀ and AV": measure.count_flops(attention.scaled_dot_product_attention, *head),
        "output": product(d, d),
        "feed-forward": product(d, hidden) + product(hidden, d),
    }


# %%
flops = layer_flops(512)
attention_only = sum(flops.values()) - flops["feed-forward"]
for name, count in flops.items():
    of_attention = "" if name == "feed-forward" else f"{count / attention_only:8.1%} of attention"
    print(
        f"{name:13} {count / 1e9:6.2f} Gflop  {count / sum(flops.values()):6.1%} of the layer{of_attention}"
    )
print(f"Q, K, V: {flops['Q, K, V']:,}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

56% of attention<!-- shown: 56 -->. The 20% fits another denominator: 22.5%<!-- shown: 22.5 --> is their share of the *whole layer*, feed-forward block included. And $QK^\top$ with $AV$ do not dominate at 512: they are a quarter of attention, a tenth of the layer.

</details>

**Predict.** $QK^\top$ and $AV$ cost $4n^2d$, the three projections $6nd^2$, and the rest of the layer, projections included, $24nd^2$. At what length do the two products overtake the projections, and at what length the whole rest?
"""

# %% guess={"name": "04.quadratic", "kind": "curve", "asks": "Of all operations of a layer of width 768, what percentage do QKᵀ and AV take at each number of tokens?", "low": 0, "high": 100, "unit": "%", "x": [128, 512, 2048, 4096, 8192, 16384], "across": "tokens n", "reads": "{x} Q, K, V {_} QKᵀ and AV {}%"}
guess("04.quadratic")

# %% mystnb={"image": {"alt": "Share of a layer's operations against the number of tokens, 128 to 16,384. Feed-forward falls from 65 to 15 percent, the three projections from 24 to 5, while QKᵀ and AV rise from 3 to 78. Dashed lines mark 1,152 tokens, where they cross the projections, and 4,608, where they reach one half of the layer.<!-- shown: 65 15 24 5 3 78 -->"}}
lengths = [128 * 2**i for i in range(8)]
shares = []
for n in lengths:
    counts = layer_flops(n)
    shares.append({name: count / sum(counts.values()) for name, count in counts.items()})
title = "Attention's own products pass the projections\nat 1.5 d tokens, half of the layer at 6 d"
axes = plotting.new_figure(title, "tokens n (d = 768)", "% of a layer's\noperations")
plotting.power_axis(axes, lengths[::2])
colours = {"feed-forward": "green", "Q, K, V": "blue", "QKᵀ and AV": "orange"}
for name, at in zip(colours, ((135, 71), (135, 31), (1230, 68)), strict=True):
    percent = [100 * share[name] for share in shares]
    plotting.line(axes, lengths, percent, name, colours[name], at, "o-")
for n, name in ((1152, "1.5 d"), (4608, "6 d")):
    axes.axvline(n, color=plotting.QUIET, linewidth=1, linestyle="--")
    axes.text(n * 1.05, 2, name, color=plotting.QUIET)
axes.axhline(50, color=plotting.QUIET, linewidth=1, linestyle=":")
draw_guess(axes, "04.quadratic")
for n, share in zip(lengths, shares, strict=True):
    print(f"{n:6}", "  ".join(f"{name} {part:.0%}" for name, part in share.items()))

# %%
d = 768
for n in (3 * d // 2, 6 * d):
    counts = layer_flops(n)
    own = counts.pop("QKᵀ and AV")
    print(f"n = {n:5}: QKᵀ and AV {own / 1e9:6.2f} Gflop, ", end="")
    print(
        f"Q, K, V {counts['Q, K, V'] / 1e9:6.2f}, the whole rest {sum(counts.values()) / 1e9:6.2f}"
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

At $n = \tfrac32 d = 1152$ and at $n = 6d = 4608$<!-- shown: 1152 4608 -->, exactly. That attention is quadratic starts to matter for the cost at thousands of tokens, not at hundreds.

</details>

**Check yourself.** A model doubles its heads and keeps $d_{model}$. What happens to the operations of $QK^\top$?

- A. they double
- B. they stay the same
- C. they halve

<details><summary>Answer</summary>

- A is wrong: there are twice as many products, each half as wide.
- **B is right**: $2n^2 d_k H = 2n^2 d_{model}$. What doubles is the number of *weights*, $Hn^2$, and so the memory.
- C is wrong: it forgets the second half of the heads.

</details>
"""

# %% [markdown] tags=["further"]
"""
## 8. What published texts say, once more

In short words, each with its text (the first is a common form). Right, wrong, or right under a condition?

1. Keys and values of the same token are the same vector.
2. Queries and keys must have the same width; values may have another (C).
3. In self-attention every token can reach every other token (B).
4. A separate projection lets the query learn to emphasise what is looked for (C).
5. Cross-attention: K = V = X_enc W (C).
6. "Position 1 attends most strongly to itself (45%)", about an untrained example of five tokens (C).
7. For each element we compute scores for all *other* elements (B).
8. Self-attention: Q = K = V = X (D), Q = K = V = XW (C).
"""

# %%
generator = torch.Generator().manual_seed(2)
x = torch.randn(2000, 5, 64, generator=generator)
w_q, w_k = torch.randn(2, 2000, 64, 64, generator=generator) / 8
weights = attention.attention_weights(x @ w_q, x @ w_k)
print(f"5 random tokens: largest weight of a row, on average {weights.amax(-1).mean():.2f}")
print(f"weight on itself, on average {weights.diagonal(dim1=-2, dim2=-1).mean():.2f}")

# %% [markdown]
"""
<details><summary>Answers</summary>

1. Wrong in general: two matrices (section 6 shows them with nothing in common).
2. Right.
3. Right without a mask. A causal mask hides what comes later (chapter 06).
4. Half right: the *product* of both projections learns it; neither can be read alone (section 4).
5. Wrong: one source, two matrices, as in 1.
6. A single head may look like this, but it proves nothing: with independent random projections a token gives itself 0.20 on average, no more than any other of the five, and the largest weight in a row is 0.46 on average anyway<!-- shown: 0.20 0.46 -->.
7. Wrong: $QK^\top$ has a diagonal, and without projections an element's score for itself wins (section 3).
8. One *source* $X$, yes; one matrix, no: queries equal to keys look at themselves (section 3).

</details>
"""

# %% [markdown]
r"""
## Yours: the chapter's experiments, with your functions

Tomorrow is learned once more, the translator reads once more, and the land is asked for its height, with every function that you have passed instead of the course's. If you have passed nothing yet, the course's own functions run.
"""

# %% tags=["nbval-ignore-output"] reason="whose functions run, and how fast, depends on the reader"
parts = yours("soft_lookup", "project_qkv", "split_fused_qkv", "cross_attention", "qkv_parameters")
parts


# %%
def chapter(parts):
    """Learn tomorrow, translate, look up, cut a fused product."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(1, 7, 16, generator=draw, dtype=torch.float64)
    head = nn.ParameterList((torch.randn(3, 16, 16, generator=draw, dtype=x.dtype) / 4).unbind())

    def score():
        query, key, _ = parts.project_qkv(x, *head)
        return (query @ key.mT)[0] / 4

    def loss():
        return F.cross_entropy(score(), tomorrow)

    optimiser = torch.optim.Adam(head.parameters())
    descend(head, loss, optimiser, steps=200, learning_rate=0.05)
    french, english, *matrices = (part.double() for part in translator())
    fused = x @ torch.cat([matrix.detach() for matrix in head], dim=-1)
    return {
        "weight on tomorrow": score().softmax(dim=-1)[range(7), tomorrow].detach(),
        "translation": parts.cross_attention(french[None], english[None], *matrices),
        "heights": parts.soft_lookup(direction([30.0, 45.0]), keys, values, 0.25)[:, 0],
        "queries of head 1": parts.split_fused_qkv(fused, 4)[0][0, 1],
        "numbers in BERT's projections": parts.qkv_parameters(768, 12, 64, 64, False),
    }


# %% tags=["nbval-ignore-output"] reason="the times, and whose functions run"
note = parts.run(chapter)
for name, value in note.course.items():
    numbers = torch.as_tensor(value).double().flatten().tolist()
    print(f"{name}:", *(f"{number:.4g}" for number in numbers[:8]))
note

# %% [markdown]
r"""
## Recap

1. A query asks, a key is compared, a value is handed over. Attention is a soft dictionary: it always answers with a mix, and equals a lookup of the nearest key only as the temperature goes to 0.
2. $Q = XW_Q$, $K = CW_K$, $V = CW_V$; with $C = X$ it is self-attention. A fused matrix gives the same numbers; it must be cut in the order in which it was glued.
3. A score is $x_i W_Q W_K^\top x_j^\top$. Without projections, or with shared ones, it is symmetric: no such score gets a cyclic relation right, and the loss stays at $\ln 2$ or above. Rank $d_k$ limits what a head can tell apart; only the product of the two matrices is real.
"""

# %% [markdown]
r"""
4. The projections hold $H d_{model}(2d_k + d_v)$ numbers: in BERT-base 1,769,472 per layer, 19.4% of the model. At 512 tokens they are 56% of attention's operations and 22.5% of the layer's; $QK^\top$ and $AV$ pass them at $1.5\,d$ tokens.
"""

# %% tags=["remove-cell"]
progress(4)

# %% [markdown]
"""
**Next**: chapter 05 puts several heads side by side.
"""

# %% [markdown]
"""
## Go further

- Vaswani et al. (2017), sections 3.2.2 and 3.2.3: projections, self- and cross-attention.
- Graves et al. (2014): a memory addressed by content, sharpened by a learned β.
- Miller et al. (2016): memories whose keys and values differ.
- Luong et al. (2015): the general score, a bilinear form.
- Elhage et al. (2021): what the QK circuit of a trained model does.
- Kitaev et al. (2020): Reformer, with shared queries and keys.
- Devlin et al. (2019): BERT.
"""

# %% [markdown]
r"""
<details><summary>BibTeX</summary>

```bibtex
@inproceedings{vaswani2017attention,
  title = {Attention Is All You Need},
  author = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and Uszkoreit, Jakob and Jones, Llion and Gomez, Aidan N. and Kaiser, Lukasz and Polosukhin, Illia},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2017}, url = {https://arxiv.org/abs/1706.03762}}
@misc{graves2014neural,
  title = {Neural Turing Machines},
  author = {Graves, Alex and Wayne, Greg and Danihelka, Ivo},
  year = {2014}, url = {https://arxiv.org/abs/1410.5401}}
@inproceedings{miller2016key,
  title = {Key-Value Memory Networks for Directly Reading Documents},
  author = {Miller, Alexander and Fisch, Adam and Dodge, Jesse and Karimi, Amir-Hossein and Bordes, Antoine and Weston, Jason},
  booktitle = {EMNLP}, year = {2016}, url = {https://arxiv.org/abs/1606.03126}}
@inproceedings{luong2015effective,
  title = {Effective Approaches to Attention-based Neural Machine Translation},
  author = {Luong, Minh-Thang and Pham, Hieu and Manning, Christopher D.},
  booktitle = {EMNLP}, year = {2015}, url = {https://arxiv.org/abs/1508.04025}}
@misc{elhage2021mathematical,
  title = {A Mathematical Framework for Transformer Circuits},
  author = {Elhage, Nelson and Nanda, Neel and Olsson, Catherine and others},
  year = {2021}, url = {https://transformer-circuits.pub/2021/framework/index.html}}
@inproceedings{kitaev2020reformer,
  title = {Reformer: The Efficient Transformer},
  author = {Kitaev, Nikita and Kaiser, {\L}ukasz and Levskaya, Anselm},
  booktitle = {ICLR}, year = {2020}, url = {https://arxiv.org/abs/2001.04451}}
@inproceedings{devlin2019bert,
  title = {{BERT}: Pre-training of Deep Bidirectional Transformers for Language Understanding},
  author = {Devlin, Jacob and Chang, Ming-Wei and Lee, Kenton and Toutanova, Kristina},
  booktitle = {NAACL}, year = {2019}, url = {https://arxiv.org/abs/1810.04805}}
```

</details>
"""
