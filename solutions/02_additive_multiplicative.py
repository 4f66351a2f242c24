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
# Write additive and multiplicative attention, and read where a model looks

A model of this chapter writes a date as people write it, in any of 31 languages, as year, month and day. It reads with one GRU and writes with another; between them stands attention.

Play for one minute: type a date, then point at what was written. **From which letters does it read the month, and what does it read when it writes a hyphen?** At the end of the chapter you can explain it, and you have written the part that looks.
"""

# %% tags=["hide-input"]
from course_utils.widgets import date_writer

date_writer()

# %% [markdown]
r"""
*You will be able to*

1. write the four scores of Bahdanau and Luong, and say what each costs in parameters, operations and memory;
2. turn scores into a context over real tokens only, and say what padding does if nobody hides it;
3. explain why Bahdanau asks with the old state $s_{t-1}$ and Luong with the new one, $s_t$;
4. read an alignment, and measure whether it is where it should be;
5. (further) count what computing the key projection once saves, and correct a factor of 1000.

*You need* chapter 01: encoder, decoder and fixed context, and its words softmax, embedding, loss, GRU and seed.

*Core path · further*
"""

# %% [markdown]
r"""
How to read: a question comes before each experiment. Write your guess down, run the cell, then open the answer.

Letters:

- $h_i$ is the *encoder's* state at source position $i$, $s_t$ the *decoder's* at step $t$. (Luong's paper writes $\bar h_s$ and $h_t$ for these two; here $h$ is always the encoder's.)
- $L$ queries (decoder states) meet $S$ keys (encoder states, one for each source character). Their widths are $d_q$ and $d_k$; $d_a$ is that of a score's hidden layer.
- Papers write vectors as columns, $W^\top q$; code keeps them as rows, `q @ W`. The numbers are the same.
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
import datetime
import math
import sys
import time
from functools import partial
from statistics import mean

import torch
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from tqdm import tqdm

from course_utils import attention, data, matrix_plotting, measure, models, plotting
from course_utils.guessing import guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.widgets import alignment_explorer, look_stepper

plotting.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
r"""
## 1. Three states, one question, by hand

A decoder is about to write its second word. The encoder has left three states. Some score (section 2 says which) has rated how well each answers the decoder's question:

$$e = (0.8,\ 2.1,\ 0.5)$$

The **weights** are the softmax of the scores, $\alpha_i = \exp(e_i) / \sum_j \exp(e_j)$. The **context** is the average of the states with these weights, $c = \sum_i \alpha_i h_i$.

**Predict.** More or less than half for the second state? Which states can you see in the context?
"""

# %%
states = torch.tensor([[1.0, 0.5, -0.3, 0.8], [0.3, 0.9, 0.6, -0.2], [-0.4, 0.2, 0.7, 0.5]])
scores = torch.tensor([[0.8, 2.1, 0.5]])
weights = torch.softmax(scores, dim=-1)
print("exponentials", scores.exp(), " sum", round(scores.exp().sum().item(), 4))
print("weights     ", weights)
print("context     ", weights @ states)

# %% [markdown]
r"""
<details><summary>Answer</summary>

More: 0.6782<!-- shown: 0.6782 -->. You can see all three states in the context, the second best. It is a *convex combination*: weights are not negative and sum to 1, so no entry leaves the range of its column of states.

</details>

How sharp is such a distribution? Its **entropy**, $-\sum_i \alpha_i \ln \alpha_i$, is 0 when one weight is 1 and $\ln 3$ when three are equal. With the natural logarithm its unit is the **nat**.

**Find the error.** Text C (A to E are listed on the page *What is measured here*) works out this example, prints the sum of exponentials as 12.05, and concludes: "This sharp distribution indicates high confidence". What would you correct?
"""

# %%
entropy = -(weights * weights.log()).sum()
print(f"entropy {entropy:.3f} of at most ln 3 = {math.log(3):.3f}: {entropy / math.log(3):.0%}")

# %% [markdown]
"""
<details><summary>Answer</summary>

The sum is 12.04<!-- shown 2: 12.04 -->; 12.05 comes from adding terms that were rounded first. And nothing here is sharp: the entropy is 77% of that of equal weights<!-- shown: 77% -->. Nor is a weight a confidence: it says how much of a state went into an average, not how likely the output is to be right. Section 12 shows weights in the right place and wrong outputs.

</details>
"""

# %% [markdown]
r"""
## 2. Additive: a small network rates each pair

Bahdanau, Cho and Bengio (arXiv 2014, ICLR 2015) let a small network with one hidden layer do the rating:
"""

# %% tags=["remove-input"]
from course_utils.diagrams import diagram

diagram("02")

# %% [markdown]
r"""
$$e_{ti} = v^\top \tanh(W_q^\top q_t + W_k^\top k_i)$$

| | shape | |
|---|---|---|
| $q_t$, query | $d_q$ | the decoder's state |
| $k_i$, key | $d_k$ | the encoder's state at source position $i$ |
| $W_q$, $W_k$ | $d_q\times d_a$, $d_k\times d_a$ | bring both to one width |
| $v$ | $d_a$ | makes one number of the hidden layer |

Query and key may have different widths. They meet only in a **sum**, hence the name. The softmax runs over the *keys* $i$, for each $t$ on its own.
"""

# %% [markdown]
r"""
### Exercise: `additive_score`

*Difficulty · importance · minutes*

Write `additive_score(query, key, W_q, W_k, v) -> scores`.

- `query` is `(B, L, d_q)`, `key` is `(B, S, d_k)`, the matrices are `(d_q, d_a)` and `(d_k, d_a)`, `v` is `(d_a,)`.
- The result is `(B, L, S)`: tanh(q W_q + k W_k)·v for each pair, without any scale.
- **Project each query and each key once**, not once for each pair. The check counts.

A loop over pairs is right and fails the cost check. The hints lead to the broadcast.
"""


# %% exercise="additive_score"
def additive_score(query, key, W_q, W_k, v):
    """Score each query against each key with a small network."""
    ### BEGIN SOLUTION: Project queries and keys, add every pair by broadcasting, tanh, then v.
    per_query = (query @ W_q)[:, :, None, :]
    per_key = (key @ W_k)[:, None, :, :]
    return torch.tanh(per_query + per_key) @ v
    ### END SOLUTION


# %%
check("additive_score", additive_score)
# hint("additive_score")  # remove the first # for a hint; each call gives one more

# %% [markdown]
r"""
**Which index is summed?** A tutorial prints $\alpha_{ij} = e^{e_{ij}} / \sum_k e^{e_{ik}}$ with $e_{ij} = v^\top\tanh(W_1h_i + W_2s_j)$: encoder position first, decoder step second.

**Predict.** If you compute exactly that, what do the weights of one decoder step sum to?
"""

# %%
generator = torch.Generator().manual_seed(2)
normal = partial(torch.randn, generator=generator)
table = attention.additive_score(normal(5, 4), normal(3, 4), normal(4, 6), normal(4, 6), normal(6))
as_printed = torch.softmax(table, dim=1)  # rows: encoder positions i; columns: decoder steps j
print("sum over the encoder, as printed:", as_printed.sum(dim=0))
corrected = torch.softmax(table, dim=0)
print("sum over the encoder, corrected: ", corrected.sum(dim=0).round(decimals=4))

# %% [markdown]
"""
<details><summary>Answer</summary>

To anything<!-- shown: 3.9986 -->. The sum in the denominator runs over decoder steps, so the steps compete for a position. In Bahdanau's paper the first index is the decoder's step; with the tutorial's letters the sum must run over the first index. Checking that each step's weights sum to 1 finds this mistake, whatever the letters.

</details>
"""

# %% [markdown]
r"""
## 3. Which state asks?

Text C, like many others, lists four steps: (1) scores from the decoder's state $s_t$ and each $h_i$; (2) softmax; (3) context $c_t$; (4) $s_t = \mathrm{RNN}([y_{t-1}; c_t], s_{t-1})$.

**Predict.** Write these steps as a program. On which line does it stop?
"""


# %%
def literal_step(symbol, state_before, states, rnn):
    """Follow the four steps to the letter."""
    scores = states @ state_now  # noqa: F821
    context = torch.softmax(scores, dim=-1) @ states
    state_now = rnn(torch.cat([symbol, context]), state_before)
    return state_now


try:
    literal_step(None, None, states, None)
except UnboundLocalError as error:
    print(error)

# %% [markdown]
r"""
<details><summary>Answer</summary>

On the first: step 1 needs $s_t$, which step 4 makes from $c_t$, which needs step 1. The list is circular.

</details>

The circle has been broken in two ways:

| | Bahdanau 2014 | Luong 2015 |
|---|---|---|
| 1 | look with the *old* state: scores from $s_{t-1}$ | move: $s_t = \mathrm{RNN}([y_{t-1}; \tilde s_{t-1}], s_{t-1})$ |
| 2 | context $c_t$ | look with the *new* state: scores from $s_t$, context $c_t$ |
| 3 | move: $s_t = \mathrm{RNN}([y_{t-1}; c_t], s_{t-1})$ | $\tilde s_t = \tanh(W_c[c_t; s_t])$ |
| 4 | predict from $y_{t-1}$, $s_t$ and $c_t$ | predict from $\tilde s_t$ |

Bahdanau's context goes *into* the step. Luong's comes after it, in the **attentional vector** $\tilde s_t$ (his $\tilde h_t$).
"""

# %% [markdown]
r"""
Luong's state knows which symbols were written, but not where they were read. So $\tilde s_{t-1}$ is handed to the next step together with the symbol: **input feeding**, in row 1 of the table.

Section 6 writes Bahdanau's order as code; `LuongDecoder` in `course_utils/models/recurrent/seq2seq.py` is the other one. Section 8 compares the two.

Was this the first attention? For translation, yes. Before that, Graves (2013) had moved a learned window over a text, for handwriting.

**Check yourself.** At $t = 1$ there is no state $s_0$ that has written anything. What does Bahdanau ask with?

<details><summary>Answer</summary>

With a state made from one of the encoder's: $s_0 = \tanh(W h)$. It can depend on the whole source, but on nothing that was written.

</details>
"""

# %% [markdown]
r"""
## 4. Multiplicative: dot and general, and two that are not

Luong, Pham and Manning compare scores that are cheaper to compute:

$$\text{dot: } q^\top k \qquad \text{general: } q^\top W k \qquad \text{concat: } v^\top\tanh(W[q; k]) \qquad \text{location: } (W q)_i$$

- *dot* has no parameters and needs $d_q = d_k$.
- *general* changes the basis first; $W$ is $d_q\times d_k$ and may be rectangular.
- *concat* joins both vectors and is, as you will show, the additive score.
- *location* rates a position from the query alone, without looking at any key.

Dot and general are **multiplicative**: all pairs are one matrix product. Text C announces "the four major attention scoring functions", gives general and dot one line of a table each, and leaves out concat and location. Here you write three of the four and run the last.
"""

# %% [markdown]
"""
### Exercise: `dot_score`

*Difficulty · importance · minutes*

Write `dot_score(query, key) -> scores`: `(B, L, d)` and `(B, S, d)` give `(B, L, S)`, without scale. (`x.mT` transposes the last two axes of a tensor.)
"""


# %% exercise="dot_score"
def dot_score(query, key):
    """Score each query against each key by their dot product."""
    ### BEGIN SOLUTION: One matrix product with the keys transposed.
    return query @ key.mT
    ### END SOLUTION


# %%
check("dot_score", dot_score)
# hint("dot_score")

# %% [markdown]
r"""
### Exercise: `general_score`

*Difficulty · importance · minutes*

Write `general_score(query, key, W) -> scores`: q W kᵀ, where `query` is `(B, L, d_q)`, `key` is `(B, S, d_k)` and `W` is `(d_q, d_k)`. The result is `(B, L, S)`, without scale.

Luong writes $h_t^\top W \bar h_s$ with column vectors; here vectors are rows, and the query is still on the left.
"""


# %% exercise="general_score"
def general_score(query, key, W):
    """Score each query against each key through a learned matrix."""
    ### BEGIN SOLUTION: Bring the query to the key's width, then take dot products.
    return query @ W @ key.mT
    ### END SOLUTION


# %%
check("general_score", general_score)
# hint("general_score")

# %% [markdown]
"""
### Exercise: `concat_score`

*Difficulty · importance · minutes*

Write `concat_score(query, key, W, v) -> scores`: tanh([q; k] W)·v, the query first. `W` is `(d_q + d_k, d_a)`, `v` is `(d_a,)`, the result is `(B, L, S)`, without scale.

There is a way with `torch.cat` over all pairs and a way without any `cat`. Both pass.
"""


# %% exercise="concat_score"
def concat_score(query, key, W, v):
    """Score each query joined with each key by a small network."""
    ### BEGIN SOLUTION: Join every query to every key, query first, then W, tanh and v.
    every_query = query[:, :, None].expand(-1, -1, key.shape[1], -1)
    every_key = key[:, None].expand(-1, query.shape[1], -1, -1)
    return torch.tanh(torch.cat([every_query, every_key], dim=-1) @ W) @ v
    ### END SOLUTION


# %%
check("concat_score", concat_score)
# hint("concat_score")

# %% [markdown]
r"""
**Predict.** You cut `W` into its upper $d_q$ rows and its lower $d_k$ rows and call them $W_q$ and $W_k$. How far apart are concat and additive? And does concat, written as `nn.Linear(2 * d, d)`, have fewer parameters than additive, as text D's summary has it?
"""

# %%
q, k, W, v = normal(2, 3, 4), normal(2, 5, 6), normal(10, 8), normal(8)
joined = attention.concat_score(q, k, W, v)
summed = attention.additive_score(q, k, W[:4], W[4:], v)
print("largest difference:", (joined - summed).abs().max().item())
modules = {"general": models.GeneralScore(64, 64), "additive": models.AdditiveScore(64, 64, 64)}
modules |= {"concat": models.ConcatScore(64, 64, 64)}
counts = {name: sum(p.numel() for p in m.parameters()) for name, m in modules.items()}
print("parameters at width 64: dot 0,", ", ".join(f"{n} {c:,}" for n, c in counts.items()))
print(f"concat as nn.Linear(128, 64), which adds a bias: {counts['concat'] + 64:,}")
print(f"additive at d_a = 256, d_q = d_k = 512: {256 * 512 + 256 * 512 + 256:,}")
print("general with d_q = 4, d_k = 6:", tuple(attention.general_score(q, k, normal(4, 6)).shape))

# %% [markdown]
r"""
<details><summary>Answer</summary>

They are one function: $[q; k]\,W = q\,W_q + k\,W_k$. So concat is *additive*, though text D counts it among the multiplicative scores. With the same width it has as many parameters as additive, and with a bias 64 more; "More parameters", text D's note on Bahdanau, is true compared with dot and general only. In general: additive $d_a(d_q + d_k + 1)$, general $d_q d_k$, dot none.

That additive attention "Can handle different dimensionalities", its advantage in text D, is one over dot alone; general does it too.

</details>
"""

# %%
query, W = normal(1, 2, 4), normal(4, 6)
by_place = attention.location_score(query, W, num_keys=8)
print("location scores of 8 keys, W with 6 columns:\n", by_place[0])

# %% [markdown]
"""
Location scores do not depend on any key: two sources of the same length get the same weights. Keys beyond the last column of `W` cannot be reached. The idea returns in chapter 07, as a bias on positions *added* to a score that does look.
"""

# %% [markdown]
r"""
## 5. From scores to a context

Softmax and average are the same for every score. One thing remains: sources in a batch differ in length, and the shorter ones are filled up with padding. A padded key has a state (often zeros), so it has a score (often 0), so it gets weight.

**Predict.** Three real keys with the scores of section 1, then 1, 5, 20 and 50 padded keys with score 0. How much does the padding take?
"""

# %% guess={"name": "02.padding", "kind": "curve", "asks": "Three real keys have the scores 0.8, 2.1 and 0.5, every padded key has 0: what share of the attention goes to padding?", "low": 0, "high": 1, "x": [1, 5, 20, 50], "across": "padded keys", "reads": "{x} pads: best key {_}, padding {}"}
guess("02.padding")

# %%
for pads in (0, 1, 5, 20, 50):
    padded = torch.cat([torch.tensor([0.8, 2.1, 0.5]), torch.zeros(pads)])
    weights = torch.softmax(padded, dim=-1)
    print(f"{pads:2} pads: best key {weights[1]:.3f}, padding {weights[3:].sum():.3f}")

# %% [markdown]
"""
<details><summary>Answer</summary>

8%, 29% and 81%<!-- shown: 8% 29% 81% -->. The result for a sentence then depends on its *neighbours in the batch*. Padding must get -inf **before** the softmax. Multiplying weights by the mask afterwards leaves rows that no longer sum to 1.

</details>
"""

# %% [markdown]
r"""
### Exercise: `attend`

*Difficulty · importance · minutes*

Write `attend(scores, value, key_mask) -> (context, weights)`.

- `scores` is `(B, L, S)`, `value` is `(B, S, d_v)`, `key_mask` is `(B, S)` and boolean: **True is a real token**. Padding may stand anywhere in the row.
- Padding gets weight 0, whatever its score. The weights of the real keys sum to 1.
- A row with no real token gives zeros in both results, and finite gradients.

You may call `attention.stable_softmax`, which you write in chapter 03: it gives zeros for a row of -inf.
"""


# %% exercise="attend"
def attend(scores, value, key_mask):
    """Return the average of the real values, and the weights that made it."""
    ### BEGIN SOLUTION: Hide the padding with -inf, take the softmax, average the values.
    hidden = ~key_mask[:, None, :]
    weights = attention.stable_softmax(scores.masked_fill(hidden, -torch.inf))
    return weights @ value, weights
    ### END SOLUTION


# %%
check("attend", attend)
# hint("attend")

# %% [markdown]
r"""
**One step, slowly.** Scores, weights, context, next state: here is a decoder of width 2, small enough to draw completely. It translates "la voiture rouge". The score is the dot product times a factor; $W_c$ and $W_s$ were chosen by hand so that the context of one word leads to a state that asks for the next. The symbol written before is left out.

**Predict.** In which order are the three words read? And with the factor at 0.5 instead of 2, what becomes of the context, and of the next state?
"""

# %% tags=["nbval-ignore-output"] reason="a widget has a new id in every run"
look_stepper()

# %% [markdown]
"""
<details><summary>Answer</summary>

*la*, *rouge*, *voiture*: in the order of the English words that are written. With a factor of 0.5 the weights are nearly equal, so the context lies near the middle of the triangle, wherever the query points. The state made from it is close to zero, and so are all its scores: the decoder has lost its way, and writes "the red red".

</details>
"""

# %% [markdown]
"""
**Check yourself.** When decoding one step at a time, which of these can be computed once for the whole sentence?

- A. the scores
- B. the key projection k W_k
- C. the query projection q W_q

<details><summary>Answer</summary>

- A is wrong: a score needs a query, and the next query does not exist yet.
- **B is right.** Keys are the encoder's states; all of them exist before the first step.
- C is wrong for the same reason as A. Each query is projected when it comes.

</details>
"""

# %% [markdown]
"""
## 6. Real dates

The task of the course: a date as people write it in one of 32 locales, to be written as YYYY-MM-DD. Patterns, names and digits come from the Unicode CLDR.

**Predict.** One day, eleven locales. In how many of them does the year stand last? Which have digits of their own?
"""

# %%
fourth = datetime.date(2021, 3, 4)
languages = "en_US de_DE fr_FR hu_HU lv_LV ru_RU hi_IN bn_BD ar_EG fa_IR ja_JP"
for locale in languages.split():
    style = "full" if "full" in data.date_styles(locale) else "long"
    date = data.write_date(fourth, locale, style)
    order = sorted(date.spans, key=date.spans.get)
    print(f"{locale}  {' '.join(order):24} {date.text}")
formats = sum(len(data.date_styles(locale)) for locale in data.LOCALES)
print(f"{len(data.LOCALES)} locales, {formats} formats; wanted: {date.iso}; spans: {date.spans}")

# %% [markdown]
"""
<details><summary>Answer</summary>

In eight of the eleven. Bengali, Arabic and Persian have digits of their own here (so has Marathi). The weekday moves too. The *spans* say where each part stands in the text; section 7 uses them to judge where a model looks. Dates that only a convention decides, such as 3/4/2021, are left out: no model could know.

</details>

**Splits.** A test date must never have been seen, not even in another language. So the *day* is held out, in every locale and format: a tenth of all days, chosen by an integer hash. Eight more locales are kept for section 12.

**Predict.** 20,000 training dates and 2,000 test dates. How many days do they share?
"""

# %%
learnt = data.sample_dates(20_000, torch.Generator().manual_seed(0))
tested = data.sample_dates(2000, torch.Generator().manual_seed(1), held_out=True)
tokens = data.DateTokens.of(learnt)
training, test = tokens.pairs(learnt), tokens.pairs(tested)
print("days in both:", len({date.date for date in learnt} & {date.date for date in tested}))
lengths = test.source_mask.sum(dim=1)
print(f"{lengths.min()} to {lengths.max()} characters; {len(tokens.source.alphabet)} are known")
print("unknown characters in the test:", int((test.source == data.UNKNOWN).sum()))

# %% [markdown]
"""
<details><summary>Answer</summary>

None. A split by *text* would have put "4 March 2021" into training and "4. März 2021" into the test: a leak of the day.

</details>

**The model** is that of chapter 01 with two changes: the encoder reads both ways, and the score is additive. First, the part that looks. `project` is the part that needs no query, so it runs once per sentence.
"""


# %%
class Additive(nn.Module):
    """Score every state of the source with a small network, and average the states."""

    def __init__(self, width):
        super().__init__()
        matrix, vector = (width, width), (width,)
        self.W_q, self.W_k, self.v = (
            nn.Parameter(torch.randn(shape) * width**-0.5) for shape in (matrix, matrix, vector)
        )

    def project(self, states):
        return states @ self.W_k

    def forward(self, s, keys, states, real):
        scores = torch.tanh((s @ self.W_q)[:, None] + keys) @ self.v
        context, weights = attention.attend(scores[:, None], states, real)
        return context[:, 0], weights[:, 0]


# %%
class Layers(nn.Module):
    """What is learned, and how a source is read."""

    def __init__(self, num_read, num_written, look, width=64, embedding=32):
        super().__init__()
        self.read_symbol = nn.Embedding(num_read, embedding)
        self.reader = nn.GRU(embedding, width // 2, batch_first=True, bidirectional=True)
        self.written_symbol = nn.Embedding(num_written, embedding)
        self.look = look
        self.first = nn.Linear(width, width)
        self.writer = nn.GRUCell(embedding + width, width)
        self.predict = nn.Linear(2 * width, num_written)

    def start(self, source):
        """Return the decoder's first state, and what `look` may see."""
        x, real = self.read_symbol(source), source != data.PAD
        packed = pack_padded_sequence(x, real.sum(dim=1), batch_first=True, enforce_sorted=False)
        states, last = self.reader(packed)
        states = pad_packed_sequence(states, True, total_length=x.shape[1])[0]
        s = torch.tanh(self.first(torch.cat(tuple(last), dim=-1)))
        return s, (self.look.project(states), states, real)


# %%
class Seq2Seq(Layers):
    """Write with the right symbols in training, with its own afterwards."""

    def step(self, y, s, encoded):
        """Look with the old state, then move on: the left column of section 3."""
        context, weights = self.look(s, *encoded)
        s = self.writer(torch.cat([y, context], dim=-1), s)
        return s, torch.cat([s, context], dim=-1), weights

    def forward(self, source, target):
        (s, encoded), seen = self.start(source), []
        for y in self.written_symbol(target[:, :-1]).unbind(dim=1):
            s, features, _ = self.step(y, s, encoded)
            seen.append(features)
        return self.predict(torch.stack(seen, dim=1))

    @torch.no_grad()
    def write(self, source, length):
        (s, encoded), rows = self.start(source), []
        written = [torch.full((len(source),), data.START)]
        for _ in range(length):
            s, features, weights = self.step(self.written_symbol(written[-1]), s, encoded)
            written.append(self.predict(features).argmax(dim=-1))
            rows.append(weights)
        return models.Written(torch.stack(written[1:], dim=1), torch.stack(rows, dim=1))


# %% [markdown]
"""
All states are 64 wide; the bar counts 1000 training steps. (Bahdanau also predicts from $y_{t-1}$; here $s_t$ has read it already.)

**Predict.** With one fixed vector instead of attention, the same model gets 89 to 92 of 100 dates from unseen days exactly right (three recorded seeds). With attention?
"""

# %% tags=["nbval-ignore-output"] reason="training differs in the last digits between machines"
torch.manual_seed(0)
model = Seq2Seq(look=Additive(64), num_read=len(tokens.source), num_written=len(tokens.target))
bar = partial(tqdm, desc="additive", ncols=70, mininterval=1, file=sys.stdout)
losses = models.train_seq2seq(model, training, steps=1000, seed=0, learning_rate=6e-3, progress=bar)
written = models.write_all(model, test)
live = measure.exact_match(written.tokens, test.target[:, 1:], data.PAD)
print(f"exact match on 2,000 held-out dates: {live:.4f}")

# %%
record = measure.read_record("chapter_02_dates")
print(f"recorded {record['date']}: {record['command']}, {record['settings']['steps']} steps")


def seeds(context, what, width=64):
    """Return a recorded quantity, one number a seed."""
    runs = (run for run in record["runs"] if run["width"] == width)
    return [run[what] for run in runs if run["context"] == context]


# %%
for name, width in (("fixed", 64), ("additive", 64), ("fixed", 128)):
    size = seeds(name, "parameters", width)[0]
    print(f"{name:9} width {width:3} {size:8,} parameters", seeds(name, "exact_match", width))
print("parameters of the score:", f"{sum(part.numel() for part in model.look.parameters()):,}")

# %% [markdown]
"""
<details><summary>Answer</summary>

More than 99 of 100. The recorded runs, a little longer than the live one, get 0.9995 to 1.0<!-- shown: 0.9995 1.0 -->. The two models differ only in what the decoder sees at each step (and in the score's 8,256 parameters<!-- shown: 8,256 -->). A fixed vector of twice the width needs 180,623 parameters instead of 69,391, and gets 0.979 to 0.990<!-- shown: 180,623 69,391 0.979 0.990 -->.

</details>
"""

# %% [markdown]
"""
## 7. Reading an alignment

An **alignment** is the table of weights: a row for each written character, a column for each source character. Dark is a weight of 0, yellow a weight of 1; each row sums to 1. The orange boxes mark where the same field stands in the source, as the locale's pattern says. The model never saw these boxes.

**Predict.** Three dates with their fields in three orders. What do you expect in the rows of the two hyphens, which correspond to nothing?
"""

# %% tags=["nbval-ignore-output"] reason="the weights come from the training above" mystnb={"image": {"alt": "Three alignments, from dark for weight 0 to yellow for weight 1; rows are the written characters of the date, columns those that were read. In each, year, month and day look inside the boxed field, though the fields stand in three different orders."}}
shown = [("en_US", "yMMMEd", 1906, 2, 27), ("pl_PL", "long", 1979, 2, 17)]
shown += [("lv_LV", "long", 2010, 1, 10)]


def day(locale, style, *numbers):
    """Return a date as one locale writes it."""
    return data.write_date(datetime.date(*numbers), locale, style)


three = [day(*one) for one in shown]
looked = model.write(tokens.pairs(three).source, 11).weights
figure, panels = plt.subplots(3, 1, figsize=(plotting.WIDTH, 10.4))
plotting.headline(figure, "The model finds year, month and day\nwherever they stand")
for axes, date, weights in zip(panels, three, looked, strict=True):
    names = [sign.replace(" ", "␣") for sign in date.text]
    matrix_plotting.weight_map(
        axes, weights[:10, : len(names)], rows=list(date.iso), columns=names, decimals=None
    )
    axes.tick_params(axis="x", labelrotation=0)
    axes.set(xlabel=f"read ({date.locale})", ylabel="written")
    for part, (top, bottom) in {"year": (0, 4), "month": (5, 7), "day": (8, 10)}.items():
        left, right = date.spans[part]
        box = Rectangle((left, top), right - left, bottom - top, fill=False)
        box.set(edgecolor=plotting.COLOURS["orange"], linewidth=2.5, clip_on=False)
        axes.add_patch(box)
colours = panels[0].collections[0]
_ = figure.colorbar(colours, ax=panels, location="bottom", shrink=0.6, aspect=30, label="weight")

# %% [markdown]
"""
<details><summary>Answer</summary>

Nearly all of each row's weight falls inside its box: the year is read digit by digit, the month mostly from the letters that tell it apart from the others, the day from its digits. A hyphen must be written whatever stands in the source, so its row may look anywhere, and does.

One picture proves little. **Mass on the right field** is a number for all 2,000 dates: the share of attention inside the boxes, over the eight rows that have one.

</details>
"""

# %%
mask = data.field_mask(tested, test.source.shape[1])
print("additive, three recorded seeds:", seeds("additive", "field_mass"))
share = mask.sum(dim=-1) / lengths[:, None]
print(f"equal weights on all characters: {share[mask.any(dim=-1)].mean():.4f}")

# %% [markdown]
"""
The explorer shows recorded alignments of dates from held-out days. Choose a score and a date, then point at a written character, or walk through them with the arrow keys.

**Predict.** "17 lutego 1979" is the 17th of February. From which letters will a model read the month? Compare additive with general, then look at a hyphen. The last two dates are in languages that no model was trained on.
"""

# %% tags=["nbval-ignore-output"] reason="a widget has a new id in every run"
pictures = measure.read_record("chapter_02_alignments")
chosen = ["en_US", "en_GB", "de_DE", "sv_SE", "lv_LV", "lt_LT", "fr_FR", "es_ES", "pl_PL", "cs_CZ"]
chosen += ["hu_HU", "tr_TR", "vi_VN", "ru_RU", "el_GR", "he_IL", "ar_EG", "ja_JP", "eu_ES", "ne_NP"]
alignment_explorer(pictures, locales=chosen)

# %% [markdown]
"""
<details><summary>Answer</summary>

Additive reads the month mostly from *l* and *t*. General writes the month's first digit from the *space before it*, with all of its weight, and is right. Its hyphens look at the same space.

</details>

**Predict.** Is that one odd date, or a habit of the general model? The next cell gives, for each of the ten written characters, the mass on the right field in percent, averaged over the recorded dates of trained languages.
"""

# %% guess={"name": "02.space", "kind": "number", "asks": "When the date model with the general score writes the first digit of the month, how much of its weight is on the month?", "low": 0, "high": 100, "unit": "%", "reads": "general {_} - {} "}
guess("02.space")

# %%
parts = ["year"] * 4 + [None] + ["month"] * 2 + [None] + ["day"] * 2
shares = {run["context"]: run["written"] for run in pictures["runs"]}
sources = [source for source in pictures["sources"] if source["locale"] in data.LOCALES]
print("written  ", "".join(f"{sign:>5}" for sign in "YYYY-MM-DD"))
for name in ("dot", "general", "additive", "concat"):
    print(f"{name:9}", end=" ")
    for place, part in enumerate(parts):
        inside = [
            sum(one["percent"][place][slice(*source["spans"][part])])
            for one, source in zip(shares[name], pictures["sources"], strict=True)
            if part and source in sources
        ]
        print(f"{mean(inside):5.0f}" if part else "    -", end="")
    print()

# %% [markdown]
"""
<details><summary>Answer</summary>

It is a habit. This general model writes the first digit of the month with 8% of its weight on the month, that of the day with none on the day<!-- shown: 8 0 -->, and it is right. The encoder reads both ways: the *state* at a space knows what stands next to it. A key is a state, not a character. An alignment shows which states were averaged, which is less than which characters were used.

And its weights are the *sharpest* of all: section 8 prints their entropy. A crisp picture says that a model is sure where to look. Whether a human reader would look there is another question; chapter 13 returns to it.

</details>
"""

# %% [markdown]
"""
## 8. The scores compared

Each score was trained from three seeds, with everything else the same. All numbers of the table are read from the record. *Looking* is what scores and averages cost for one sentence.

**Predict.** Dot has no parameters of its own. How accurate will it be, compared with the others? Concat *is* additive: in which columns may the two differ at all?
"""


# %% guess={"name": "02.scores", "kind": "order", "asks": "A date model without attention (fixed context) and three with it: in which order are they, the worst first, by the share of dates exactly right (lowest of three seeds)?", "take": "ascending", "options": {"dot": "dot {} to", "fixed context": "fixed {} to", "additive": "additive {} to", "general": "general {} to"}}
guess("02.scores")


# %%
def mean_entropy(name):
    """Return the mean entropy of the recorded weights, in nats; percentages are rounded."""
    rows = [row for one in shares.get(name, ()) for row in one.get("percent", ())]
    table = [torch.tensor(row, dtype=torch.float64) for row in rows if sum(row)]
    return mean((-torch.xlogy(row / row.sum(), row / row.sum())).sum().item() for row in table)


# %%
names = ["fixed", "dot", "general", "additive", "concat", "general, Luong's step"]
names += ["local-m", "local-p"]
print("                         exact match     mass on             para-   CPU looking entropy")
print("                       (three seeds)     the field          meters     s   Mflop    nats")
for name in names:
    right, flops = sorted(seeds(name, "exact_match")), seeds(name, "flops_context")[0]
    mass = [] if name == "fixed" else sorted(seeds(name, "field_mass"))
    spread = f"{mass[0]:.2f} to {mass[-1]:.2f}" if mass else "-"
    nats = f"{mean_entropy(name):.2f}" if "percent" in shares.get(name, [{}])[0] else "-"
    print(f"{name:21} {right[0]:.4f} to {right[-1]:.4f}  {spread:12}", end="")
    print(f"{seeds(name, 'parameters')[0]:10,} {mean(seeds(name, 'cpu_seconds')):5.1f}", end="")
    print(f"{flops / 1e6:8.1f} {nats:>7}")
general = [
    f"{match:.4f}, {2000 * (1 - match):.0f} dates" for match in seeds("general", "exact_match")
]
print("general, seed by seed, and what it misses:", "; ".join(general))

# %% [markdown]
r"""
<details><summary>Answer</summary>

- Every global score beats the fixed context, with every seed, by at least 6 points<!-- shown: 0.9855 0.9175 -->.
- Dot is *not* behind: 0.9985 to 0.999<!-- shown: 0.9985 0.999 -->. It needs no parameters because the encoder is trained with it.
- General has the widest spread: 0.9855, 0.9955 and 0.997. Its lowest seed misses 29 dates of 2,000<!-- shown: 0.9855 0.9955 0.997 29 -->, more than any other global score, and is the only one below 99%. With Luong's step it gets 0.9945 to 0.999<!-- shown: 0.9945 0.999 -->.
- Additive and concat agree in accuracy within their spread, and in parameters. Looking takes concat seven times as many operations<!-- shown: 31.1 219.9 -->: it projects its keys again at every step.
- General has the sharpest weights, and of the global scores the least weight on the right field.

</details>
"""

# %% [markdown]
r"""
What the comparison does *not* say: that additive is better than dot. They differ by one to three dates of 2,000, on one small task. Nor that general is worse everywhere: steps and learning rate are the same for all, and other settings may order them differently. The one clear gap is that between a fixed context and any attention.

Luong (2015), the first to measure the error rate of alignments, found dot better for global attention and general better for local. "Not used (unstable)", as a table of text C says of the unscaled dot product, is wrong twice: Luong's models used it, and T5 uses unscaled scores (chapter 03).
"""

# %% [markdown]
"""
**Predict.** 128 queries, 128 keys, width 64, one core. How much longer than dot does additive scoring take, its projections included?
"""

# %% tags=["nbval-ignore-output"] reason="times vary from run to run"
q, k = normal(8, 128, 64), normal(8, 128, 64)
W_q, W_k, v = normal(64, 64), normal(64, 64), normal(64)


def seconds(fn, repeats=15):
    """Return the median time of a call."""
    fn()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        fn()
        times.append(time.perf_counter() - start)
    return sorted(times)[repeats // 2]


base = seconds(lambda: attention.dot_score(q, k))
for name, fn in {
    "general": lambda: attention.general_score(q, k, W_q),
    "additive": lambda: attention.additive_score(q, k, W_q, W_k, v),
    "concat": lambda: attention.concat_score(q, k, torch.cat([W_q, W_k]), v),
}.items():
    print(f"{name:8} {seconds(fn) / base:6.1f} times as long as dot")
size = measure.largest_tensor(lambda: attention.additive_score(q, k, W_q, W_k, v))
print(f"largest tensor: additive {size:,}, dot {8 * 128 * 128:,} elements")

# %% [markdown]
"""
<details><summary>Answer</summary>

Tens to hundreds of times longer, depending on the machine, though it has only three times the operations: 4 for each pair and hidden unit, and here 2 more for the projections, compared with 2. The hidden layer of all pairs, (B, L, S, d_a), has to be written to memory, passed through tanh and read again; the dot product sums over the width inside a matrix product and never stores it. Operations are not the story here. Memory is.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 9. What an additive score costs

For one pair: $d_a$ additions, $d_a$ times tanh, $2d_a$ for the product with $v$. A projection costs $2\,d_{in}\,d_a$. The question is how often it happens. $W_q^\top q_t$ does not depend on $i$, and $W_k^\top k_i$ does not depend on $t$: a loop over pairs that computes both inside repeats work that its earlier rounds have done.
"""

# %% [markdown]
"""
### Exercise: `additive_flops`

*Difficulty · importance · minutes*

Write `additive_flops(num_queries, num_keys, d_q, d_k, d_a, precompute) -> int`.

- A pair costs d_a additions, d_a tanh (1 each) and 2·d_a for the product with v.
- A projection of width d_in costs 2·d_in·d_a.
- With `precompute` each query and each key is projected once; without it both are projected again for every pair.

Return a Python `int`.
"""


# %% exercise="additive_flops"
def additive_flops(num_queries, num_keys, d_q, d_k, d_a, precompute):
    """Count the operations of additive scoring."""
    ### BEGIN SOLUTION: Count pairs, then how often each projection is made, and add up.
    pairs = num_queries * num_keys
    of_queries, of_keys = (num_queries, num_keys) if precompute else (pairs, pairs)
    return 2 * d_a * (of_queries * d_q + of_keys * d_k) + 4 * d_a * pairs
    ### END SOLUTION


# %%
check("additive_flops", additive_flops)
# hint("additive_flops")

# %% [markdown]
r"""
A formula can be wrong, so a counter watches the matrix products that are really computed. It sees nothing else, so additions and tanh, $2d_a$ for each pair, are subtracted from the formula's total.

**Predict.** $d_q = d_k = 512$, $d_a = 256$. What does projecting once save at $L = S = 50$? And at 512?
"""


# %% guess={"name": "02.once", "kind": "number", "asks": "{tokens} queries and {tokens} keys of width 512, hidden width 256: how many times fewer operations are needed if each vector is projected once?", "low": 1, "high": 1000, "log": true, "unit": "times", "reads": "{} times fewer; with", "varied": [{"tokens": 50}, {"tokens": 512}, {"tokens": 8}, {"tokens": 2000}], "becomes": "(tokens * 4 * 512 + 4 * tokens) / (4 * 512 + 4 * tokens)"}
guess("02.once")


# %%
def every_time(query, key, W_q, W_k, v):
    """Score each pair with its own two projections, as a plain double loop does."""
    pairs = (len(query), len(key), -1)
    every_query, every_key = query[:, None].expand(pairs), key[None].expand(pairs)
    return torch.tanh(every_query @ W_q + every_key @ W_k) @ v


def empty(*shape):
    """Return a tensor of shape and no numbers: enough for counting."""
    return torch.empty(*shape, device="meta")


# %%
d_in, d_a = 512, 256
for n in (50, 512):
    sizes = (n, n, d_in, d_in, d_a)
    inputs = [empty(n, d_in), empty(n, d_in), empty(d_in, d_a), empty(d_in, d_a), empty(d_a)]
    totals = {}
    for once, fn in ((True, attention.additive_score), (False, every_time)):
        counted = measure.count_flops(fn, *inputs)
        totals[once] = measure.additive_flops(*sizes, once)
        products = totals[once] - 2 * d_a * n * n
        print(f"{n:3} {'once' if once else 'every time':10} {totals[once]:16,} in all", end="")
        print(f", products {counted:16,}, equal {counted == products}")
    print(f"    {totals[False] / totals[True]:.1f} times fewer", end="; with 3 for a tanh ")
    every, once = (totals[key] + 2 * d_a * n * n for key in (False, True))
    print(f"{every / 1e9:.2f} and {once / 1e9:.3f} Gflop, {every / once:.1f} times fewer")

# %% [markdown]
r"""
<details><summary>Answer</summary>

46 times at 50, 257 times at 512<!-- shown: 46 257 -->; products counted and computed agree to the last one. Text C, which charges 3 operations for a tanh, would get 1.31 and 0.030 Gflop at 50, a factor of 43.7<!-- shown: 1.31 0.030 43.7 -->. Bahdanau's appendix says it in one sentence: $U_a h_j$ does not depend on the step, so compute it in advance.

</details>

**Find the error.** Text C compares at $L = S = 512$, $d_a = 256$: additive attention needs 69 billion operations, scaled dot-product ($d_k = d_v = 64$) 67 million, "approximately 1000× fewer … The difference grows with sequence length".
"""

# %%
n, d_k, tanh = 512, 64, 3  # the text's own sizes, and its own charge for a tanh


def additive_total(n, precompute, d_in=512, d_a=256):
    """Return the operations of additive scoring, a tanh charged as in the text."""
    return measure.additive_flops(n, n, d_in, d_in, d_a, precompute) + (tanh - 1) * d_a * n * n


dot_total = 4 * n * n * d_k  # scores and average, as in the text
naive, once = additive_total(n, False), additive_total(n, True)
print(f"its own formula: {naive:,}, not 69 billion")
print(f"against {dot_total:,}:          {naive / dot_total:,.0f} times")
print(f"keys and queries projected once: {once / dot_total:.1f} times")
fair = 2 * n * 512 * 256 * 2 + 2 * n * n * 256
print(f"the same projections and inner width for both: {once / fair:.2f} times")

# %% mystnb={"image": {"alt": "Ratio of additive to scaled dot-product operations against length on log axes. With every pair projected anew it is 2054 at every length. Projected once it falls from 134 at length 16 towards 6."}}
lengths_shown = [2**power for power in range(4, 16)]
axes = plotting.new_figure(
    "Projected once, the factor falls to 6;\nprojected anew, it is 2054 at any length",
    "queries and keys, n",
    "operations, additive / dot",
)
for once_each, name, colour, at in (
    (False, "projected for every pair: 2054", "orange", (16, 1100)),
    (True, "projected once: falls towards 6", "blue", (120, 45)),
):
    ratio = [additive_total(n, once_each) / (4 * n * n * d_k) for n in lengths_shown]
    plotting.line(axes, lengths_shown, ratio, name, colour, at, "o-")
plotting.power_axis(axes, lengths_shown[::3])
axes.set(yscale="log", ylim=(3, 4000))
axes.set_yticks([6, 10, 100, 1000, 2054], ["6", "10", "100", "1000", "2054"], minor=False)
axes.minorticks_off()

# %% [markdown]
r"""
<details><summary>Answer</summary>

The text's formula gives 137.8 billion; 69 is half of it. Compared with 67 million that is 2054 times<!-- shown: 2,054 -->, not 1000. But nobody repeats the projection for each pair: projected once, the factor is **10**<!-- shown: 10.0 -->. And the dot product was not charged for any projection: with the same two projections and the same inner width it is **1.67**<!-- shown: 1.67 -->.

Nor does it grow. Computed naively it is the same at every length; computed properly it *falls* towards $6d_a / 4d_k = 6$. "Bahdanau's cost scales with the attention dimension $d_a$ while scaled dot-product depends only on $d_k$": both are inner widths, at 6 and 2 operations for each pair and unit.

</details>
"""

# %% [markdown]
r"""
**Memory.** At $L = S = 50$, $d_k = 512$, $d_a = 256$ in float32 an additive score needs the encoder's states, the scores, the weights, and the tanh values of all pairs.

**Predict.** Which of these is the largest? Which does the dot product not have?
"""

# %%
L = S = 50
for what, elements in (
    ("encoder states", S * 512),
    ("scores", L * S),
    ("weights", L * S),
    ("hidden layer of all pairs", L * S * 256),
    ("the same for 32 sequences", 32 * L * S * 256),
):
    print(f"{what:26} {elements * 4:>12,} bytes")

# %% [markdown]
"""
<details><summary>Answer</summary>

The hidden layer, in both cases: 2.56 MB for one sequence<!-- shown: 2,560,000 -->, compared with 0.12 MB for all the rest. It grows with L · S · d_a, everything else with L · S or S.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 10. Local attention

Why look at a hundred characters to copy one? Luong restricts the view to a window around a place $p_t$:

- **monotonic** (local-m): $p_t = t$. The softmax runs over keys with $|i - p_t| \le D$.
- **predictive** (local-p): $p_t = S\cdot\mathrm{sigmoid}(v_p^\top\tanh(W_p s_t))$, a real number that the decoder learns to choose. The softmax's weights are multiplied by $\exp(-(i - p_t)^2 / 2\sigma^2)$ with $\sigma = D/2$.

The Gaussian has a slope in $p_t$, so the place can be learned; the edges of a window have none. Luong's local-p has both: a window from $p_t - D$ to $p_t + D$, and the Gaussian in it. Ours leaves the window out: at its edge, $2\sigma$ from the centre, the factor is down to $e^{-2}$, 0.14.
"""

# %% [markdown]
r"""
### Exercise: `local_predictive_weights`

*Difficulty · importance · minutes*

Write `local_predictive_weights(scores, centre, sigma) -> weights`.

- `scores` is `(B, L, S)`, `centre` is `(B, L)` and real, `sigma` is a number. Positions count from 0.
- The result is the softmax over **all** keys, times $\exp(-(i - \text{centre})^2 / 2\sigma^2)$ for key $i$.
- It is *not* divided by its sum again, and, unlike in Luong's, there is no cut-off.
- The centre may lie outside the keys, and gets a gradient.
"""


# %% exercise="local_predictive_weights"
def local_predictive_weights(scores, centre, sigma):
    """Damp a softmax by a Gaussian around each query's centre."""
    ### BEGIN SOLUTION: Softmax, times a factor that falls with the distance from the centre.
    place = torch.arange(scores.shape[-1], dtype=scores.dtype)
    distance = place - centre[..., None]
    return attention.stable_softmax(scores) * torch.exp(-(distance**2) / (2 * sigma**2))
    ### END SOLUTION


# %%
check("local_predictive_weights", local_predictive_weights)
# hint("local_predictive_weights")

# %% [markdown]
"""
**Predict.** Nine keys with equal scores. Global, a window of half-width 2 around position 4, a Gaussian around 4 with σ = 1, and one around 12, beyond the end. Which of the four rows still sum to 1?
"""

# %%
equal = torch.zeros(1, 1, 9)
around = partial(attention.local_predictive_weights, equal, sigma=1.0)
rows = {
    "global": torch.softmax(equal, dim=-1),
    "local-m at 4": attention.local_monotonic_weights(equal, half_width=2, offset=4),
    "local-p at 4.0": around(torch.tensor([[4.0]])),
    "local-p at 12.0": around(torch.tensor([[12.0]])),
}
for name, row in rows.items():
    print(f"{name:16}", " ".join(f"{weight:.2f}" for weight in row[0, 0]), end="")
    print(f"   sum {row.sum():.4f}")

# %% [markdown]
"""
<details><summary>Answer</summary>

The first two; the others sum to 0.28 and nearly 0<!-- shown: 0.2785 0.0000 -->. The Gaussian takes away and gives nothing back: a badly placed centre costs signal, and that is how training notices it.

</details>

In the table of section 8, local-m and local-p have D = 10 and general scores. The window of local-m is centred on the written position, and in many dates some field lies wholly outside its window.

**Predict.** Can a model write such a field correctly without ever looking at it?
"""

# %%
starts = {"year": 0, "month": 5, "day": 8}
out_of_sight = right = 0
for source, row in zip(pictures["sources"], shares["local-m"], strict=True):
    far = [source["spans"][part][0] > place + 10 for part, place in starts.items()]
    behind = [source["spans"][part][1] <= place - 10 for part, place in starts.items()]
    if any(far + behind):
        out_of_sight += 1
        right += row["text"] == source["iso"]
print(f"{out_of_sight} of {len(pictures['sources'])} dates, of which {right} are written right")
sums = [sum(row) for one in shares["local-p"] for row in one["percent"]]
print(f"local-p keeps {min(sums)} to {max(sums)}% of its weight, {mean(sums):.0f}% on average")

# %% [markdown]
r"""
<details><summary>Answer</summary>

It can: 27 dates have such a field, and all 27 are right<!-- shown: 27 27 -->. What is out of sight is not lost: the encoder's other states have read it, and so has the decoder's first. Still, local-m is the weakest attention in the table of section 8, 0.9595 to 0.9735, where the same general score without a window gets 0.9855 to 0.9970. Local-p gets 0.9965 to 0.9975.

At these lengths there is no cost to save: both compute all scores, and neither is faster than general. Local attention is made for long sources, the subject of chapter 08.

</details>
"""

# %% [markdown] tags=["further"]
"""
## 11. If nobody hides the padding

The trained model of section 6, tested again. Each source gets 20 or 200 more pads at its end. The encoder stops at the real end in both cases; only the attention changes.

**Predict.** With the mask nothing should move. Without it, what will accuracy be?
"""

# %% tags=["nbval-ignore-output"] reason="the weights come from the training above"
some = test[:500]


def with_pads(pads, hide):
    """Return accuracy and the weight on padding, the mask on or off inside the attention."""
    source = torch.nn.functional.pad(some.source, (0, pads), value=data.PAD)
    real = (source != data.PAD)[:, None]
    unless = model.look.register_forward_pre_hook(lambda _, seen: (*seen[:3], seen[3] | (not hide)))
    out = model.write(source, some.target.shape[1] - 1)
    unless.remove()
    lost = (out.weights * ~real).sum(dim=-1).mean()
    return measure.exact_match(out.tokens, some.target[:, 1:], data.PAD), lost


for pads in (0, 20, 200):
    for hide in (True, False):
        match, lost = with_pads(pads, hide)
        print(f"{pads:3} pads, mask {'on ' if hide else 'off'}: ", end="")
        print(f"exact match {match:.3f}, weight on padding {lost:.3f}")

# %% [markdown]
"""
<details><summary>Answer</summary>

With the mask, nothing moves. Without it a tenth of the weight is lost even with no extra pads, because the shorter texts are padded to the longest in the batch. The more pads, the more weight they take. This model is forgiving: 20 pads cost hardly a date, 200 cost a few in 100<!-- shown: 0.998; 200 pads, mask off: exact match < 0.98 -->. That is what makes the mistake hard to find. Nothing fails; whether a date is right depends on its neighbours in the batch.

</details>
"""

# %% [markdown]
"""
## 12. Languages it has never seen

Eight locales were kept from training altogether. Norwegian, Galician, Slovak and Bulgarian are close to languages that it was trained on. Nepali shares its script with Hindi, Basque its alphabet with Spanish; Georgian and Burmese have scripts of their own.

**Predict.** In which of the eight will fewer than half of the dates come out right? And can attention be in the right place where they do not?
"""

# %% guess={"name": "02.field", "kind": "choice", "asks": "In which of these languages, none seen in training, does the additive date model put most of its attention on the right field?", "take": "largest", "options": {"Basque": "eu_ES {_} {_} {} ", "Georgian": "ka_GE {_} {_} {} ", "Burmese": "my_MM {_} {_} {} "}}
guess("02.field")

# %%
judged = {row["locale"]: row for row in record["by_locale"]}
print("         exact   symbols   mass on   characters not")
print("locale   match   right     the field  in the alphabet")
for locale in data.HELD_OUT_LOCALES:
    row, texts = judged[locale], []
    for style in data.date_styles(locale):
        texts += [day(locale, style, 2024, month, 15).text for month in range(1, 13)]
    numbers = [number for text in texts for number in tokens.source.encode(text)]
    unknown = numbers.count(data.UNKNOWN) / len(numbers)
    print(f"{locale}  {row['exact_match']:6.3f}  {row['token_accuracy']:6.3f}", end="")
    print(f"  {row['field_mass']:8.2f} {unknown:10.0%}")
trained = [row["exact_match"] for row in record["by_locale"] if row["trained"]]
print(f"{len(trained)} trained locales: lowest exact match {min(trained)} (200 dates each)")

# %% [markdown]
"""
<details><summary>Answer</summary>

In Basque, Georgian and Burmese. The close relatives come through, Norwegian and Slovak without an error. Georgian is the instructive one: 96% of the attention lies in the right field, and three quarters of the dates are wrong<!-- shown: 0.96 0.250 -->. Its letters are not in the alphabet, so a month is a row of unknown signs, and only its length is left. In Burmese the digits are unknown too, and attention finds nothing to go by. This is one model, seed 0 of the record.

</details>

**Predict.** If attention finds the field and the word cannot be read, which part of the date is wrong? The live model answers.
"""

# %% tags=["nbval-ignore-output"] reason="what is written comes from the training above"
print("locale  wrong  only month  for example")
for locale in ("gl_ES", "eu_ES", "ka_GE"):
    draw = torch.Generator().manual_seed(2)
    strangers = data.sample_dates(200, draw, held_out=True, locales=[locale])
    wrote = models.write_all(model, tokens.pairs(strangers)).tokens
    pairs = [(date, tokens.target.decode(row)) for date, row in zip(strangers, wrote, strict=True)]
    wrong = [(date, text) for date, text in pairs if text != date.iso]
    month = sum((text[:5], text[7:]) == (d.iso[:5], d.iso[7:]) for d, text in wrong)
    date, text = wrong[0]
    print(f"{locale} {len(wrong):7} {month:11}  {text} for {date.iso}")
    print(f"{'':28}{date.text}")

# %% [markdown]
"""
<details><summary>Answer</summary>

The month, nearly always; year and day are copied digit by digit from where they stand. Galician fails on few words, among them *xuño*, which looks unlike June in any of the training languages. The model does not say that it cannot read a word. It writes some month, with its attention in the right place. **Looking in the right place is not knowing the answer.**

</details>
"""

# %% [markdown] tags=["further"]
"""
## 13. What published texts say, once more

In short words, each with its text. Decide before you open the answers: right, wrong, or right under a condition?

1. Bahdanau attention was introduced in 2015 (C).
2. Attention weights come from the current decoder state (C).
3. Additive attention has the same O(n²d) complexity as dot-product attention (D).
4. Luong's variants are multiplicative and computationally efficient (D).
5. A `LuongAttention(method='generel')` is built without an error (a listing of D: if, elif, elif).
6. Additive attention reaches 15 to 25% of a GPU's peak (C).
"""


# %%
def luong_score(method, query, key):
    """Choose a score as the listing does."""
    if method == "dot":
        scores = query @ key.mT
    elif method == "general":
        scores = query @ torch.eye(query.shape[-1]) @ key.mT
    return scores


try:
    luong_score("generel", q, k)
except UnboundLocalError as error:
    print("5.", error)

# %% [markdown]
"""
<details><summary>Answers</summary>

1. The paper appeared on arXiv in September 2014 and at ICLR in 2015. Luong's is from 2015.
2. Right for Luong's step. In Bahdanau's it is the previous state; with the current one the step is circular (section 3).
3. Right if each key is projected once (section 9), with two to three times the operations for each pair and unit, and a tensor of L · S · d_a.
4. Dot and general are. Concat is the additive score and costs as much (section 4).
5. Right; it fails at its first use, as above. Refuse an unknown name where it is given.
6. Nobody can check it: device, sizes and program are missing, and some lines later it is 5%.

</details>
"""

# %% [markdown]
"""
Text D's listing has the scores right, but its general needs equal widths. It leaves out padding, the attentional vector, input feeding, location and local windows.
"""

# %% [markdown]
r"""
**Find the error.** An exercise of text C gives four keys, a query $s = (0.5, 0.5, 0.5)$,

$$W_1 = \begin{pmatrix}0.5 & -0.3 & 0.2\\ 0.4 & 0.6 & -0.1\end{pmatrix},\quad W_2 = \begin{pmatrix}0.3 & 0.5 & 0.2\\ -0.2 & 0.4 & 0.6\end{pmatrix},\quad v = (1, 0.8),$$

and prints as its solution $e = (1.147, 1.089, 1.118, 0.856)$ with weights $(0.268, 0.252, 0.260, 0.220)$. Its definition is $W_1 s + W_2 h$; its solution computes $W_1 h + W_2 s$.

**Predict.** With a correct sum, which key wins? Can you refuse the printed *weights* without knowing any matrix?
"""

# %%
W_1 = torch.tensor([[0.5, -0.3, 0.2], [0.4, 0.6, -0.1]])
W_2 = torch.tensor([[0.3, 0.5, 0.2], [-0.2, 0.4, 0.6]])
keys = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
asking, v = torch.full((1, 3), 0.5), torch.tensor([1.0, 0.8])
for name, of_query, of_key in (("W1 s + W2 h", W_1, W_2), ("W1 h + W2 s", W_2, W_1)):
    scores = attention.additive_score(asking, keys, of_query.mT, of_key.mT, v)
    print(f"{name}: scores {scores[0].numpy().round(3)}", end="  ")
    print(f"weights {torch.softmax(scores, dim=-1)[0].numpy().round(3)}")
printed = torch.tensor([1.147, 1.089, 1.118, 0.856])
print("softmax of the printed scores:", torch.softmax(printed, dim=-1).numpy().round(3))
print("W1 applied to the first key:  ", (keys[0] @ W_1.mT).numpy().round(1))
differ = (math.log(0.268 / 0.220), 1.147 - 0.856)
print("first from last, in log weights {:.3f}, in scores {:.3f}".format(*differ))

# %% [markdown]
r"""
<details><summary>Answer</summary>

No printed number is right, in either reading. As defined, $e = (1.157, 1.433, 1.219, 1.005)$ and the weights are $(0.236, 0.311, 0.251, 0.203)$: the *second* key wins. With the roles swapped, $(1.317, 0.953, 1.313, 0.837)$ and $(0.302, 0.210, 0.301, 0.187)$: first and third nearly tie. The printed first score goes back to $W_1h_1 = (0.5 - 0.2, 0.4 - 0.1)$; the product is $(0.7, 0.3)$: a sign slipped.

The printed weights are not even the softmax of the printed scores, which is $(0.273, 0.258, 0.265, 0.204)$. A softmax keeps differences: $\ln(0.268/0.220) = 0.197$, but $1.147 - 0.856 = 0.291$<!-- shown: 0.197 0.291 -->.

</details>
"""

# %% [markdown]
"""
## Yours: a translator of English dates, built from your parts

Your `attend` works first with your `dot_score`, then with your `additive_score`; each model is trained for 120 steps. Two results of section 4 come for free: general with the identity for W is the dot product, so your `general_score` must write what the first model writes; and concat is additive, so your `concat_score`, given both matrices of the second model as one, must write what that writes. (Scores that loop over pairs are right, but take minutes here.)
"""


# %%
class YourLook(nn.Module):
    """Any score with its matrices, and `attend`, from the parts."""

    def __init__(self, parts, name, *shapes):
        super().__init__()
        self.parts, self.name = parts, name
        self.matrices = nn.ParameterList(torch.randn(shape) * shape[0] ** -0.5 for shape in shapes)

    def project(self, states):
        return states

    def forward(self, s, keys, states, real):
        score = getattr(self.parts, self.name)
        scores = score(s[:, None], keys, *self.matrices)
        context, weights = self.parts.attend(scores, states, real)
        return context[:, 0], weights[:, 0]


draw = partial(data.sample_dates, locales=["en_US"])
english = draw(3840, torch.Generator().manual_seed(0))
unseen = draw(200, torch.Generator().manual_seed(1), held_out=True)
letters = data.DateTokens.of(english)
english, unseen = letters.pairs(english), letters.pairs(unseen)


# %%
def translating(parts):
    """Train with two scores, then put each one's equal in its place; return shares of right dates."""
    shapes = {"dot_score": (), "additive_score": ((32, 32), (32, 32), (32,))}
    result = {}
    for name, twin in (("dot_score", "general_score"), ("additive_score", "concat_score")):
        torch.manual_seed(0)
        look = YourLook(parts, name, *shapes[name])
        model = Seq2Seq(len(letters.source), len(letters.target), look, width=32).double()
        train = partial(models.train_seq2seq, seed=0, batch=32, learning_rate=2e-2)
        result[f"last loss, {name}"] = train(model, english, steps=120)[-1]
        joined = torch.cat([*look.matrices[:2]]) if shapes[name] else torch.eye(32).double()
        for score, matrices in ((name, look.matrices), (twin, [joined, *look.matrices[2:]])):
            look.name, look.matrices = score, nn.ParameterList(matrices)
            text = models.write_all(model, unseen).tokens
            result[score] = measure.exact_match(text, unseen.target[:, 1:], data.PAD)
    return result


# %% tags=["nbval-ignore-output"] reason="says whose parts ran and how long they took"
parts = yours("attend", "dot_score", "general_score", "additive_score", "concat_score")
note = parts.run(translating)
note

# %%
for name, number in note.result.items():
    print(f"{name:28} {number:.2f}")

# %% [markdown]
r"""
## Recap

1. Attention is a score, a softmax over real keys, and an average. Only the score differs: additive $v^\top\tanh(W_q^\top q + W_k^\top k)$, dot $q^\top k$, general $q^\top Wk$. Concat is additive by another name; location does not look at keys.
2. Bahdanau looks with $s_{t-1}$ and then moves; Luong moves and then looks with $s_t$, and hands $\tilde s_t$ on.
3. On dates every global score beats the fixed context, and finds the fields in each locale's order. Three seeds of one task say little about which score is best.
"""

# %% [markdown]
r"""
4. Keys are projected once. That saves a factor of 46 at 50 positions and 257 at 512. After it the additive score costs 10 times the dot product at text C's sizes, 1.67 times on equal terms, and the ratio falls with length. What remains is the hidden layer of all pairs in memory.
5. Padding that is not hidden takes weight, and the longer the longest text in the batch, the more it takes.
6. Attention in the right place is no proof of a right answer.
"""

# %% tags=["remove-cell"]
progress(2)

# %% [markdown]
"""
**Next**: chapter 03 keeps the cheapest of these scores and asks what goes wrong when it gets wide.
"""

# %% [markdown]
"""
## Go further

- Bahdanau, Cho and Bengio (2015): section 3.1, and appendix A.1.2 for the precomputed keys.
- Luong, Pham and Manning (2015): dot, general and concat appear unnumbered between Eqs. 7 and 8, location is Eq. 8, local-p Eqs. 9 and 10; section 3.3 for input feeding.
- Graves (2013): a differentiable window, before.
- Sutskever, Vinyals and Le (2014): the fixed context that all this replaces.
"""

# %% [markdown]
"""
<details><summary>BibTeX</summary>

```bibtex
@inproceedings{bahdanau2015neural,
  title = {Neural Machine Translation by Jointly Learning to Align and Translate},
  author = {Bahdanau, Dzmitry and Cho, Kyunghyun and Bengio, Yoshua},
  booktitle = {ICLR}, year = {2015}, url = {https://arxiv.org/abs/1409.0473}}
@inproceedings{luong2015effective,
  title = {Effective Approaches to Attention-based Neural Machine Translation},
  author = {Luong, Minh-Thang and Pham, Hieu and Manning, Christopher D.},
  booktitle = {EMNLP}, year = {2015}, url = {https://arxiv.org/abs/1508.04025}}
@misc{graves2013generating,
  title = {Generating Sequences With Recurrent Neural Networks},
  author = {Graves, Alex}, year = {2013}, url = {https://arxiv.org/abs/1308.0850}}
@inproceedings{sutskever2014sequence,
  title = {Sequence to Sequence Learning with Neural Networks},
  author = {Sutskever, Ilya and Vinyals, Oriol and Le, Quoc V.},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2014}, url = {https://arxiv.org/abs/1409.3215}}
```

</details>
"""
