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
# Train a Transformer, and count what it costs

*You will be able to*

1. write the losses of BERT and GPT without their off-by-ones, and smooth their targets;
2. warm up, clip, accumulate, checkpoint and mix precision, and say what each costs and saves;
3. count the parameters, operations and bytes of a published model, to the last one;
4. fit a scaling law, spend a budget by it, and say what it does not tell.

*You need* chapters 02 (the dates), 03 (softmax and its gradient), 06 (causal masks), 10 (the small GPT) and 11 (the Transformer and the place of its norms).

*Core path · further*
"""

# %% [markdown]
"""
How to read: each experiment begins with a question. Write down your guess, run the cell, then open the answer.

The vocabulary has $V$ tokens, $N$ is the number of parameters, $D$ the number of tokens read in training, $C$ the number of operations. Losses are in nats: natural logarithms.

What takes too long for a notebook was recorded beforehand, by scripts in `benchmarks/`; the cells read those records, and say so.
"""

# %%
import math
import sys
import warnings
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop
from tqdm import tqdm

from course_utils import check, hint, measure, models, plotting, yours
from course_utils.data import DateTokens, character_text, random_windows, sample_dates
from course_utils.live_curve import LiveCurve
from course_utils.models import DeepStack, EncoderLayer, Transformer
from course_utils.widgets import budget_explorer
from course_utils.widgets.budget_explorer.budget_explorer import LAWS

plotting.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=3, sci_mode=False, linewidth=100)
generator = torch.Generator().manual_seed(0)
bar = partial(tqdm, ncols=70, mininterval=1, file=sys.stdout)
dates_record = measure.read_record("chapter_12_dates")["runs"]
stability = measure.read_record("chapter_12_stability")["runs"]

# %% [markdown]
r"""
## 1. What is the model asked?

A text is its own answer sheet: hide something, and ask for it. GPT hides the future: position $t$ is asked for token $t + 1$. BERT hides some tokens anywhere and may look at both sides of them.

**Predict.** Six words between two marks, then padding. How many targets does one pass give GPT, and how many BERT, which asks for 15%?
"""

# %%
words = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "each", "token", "is", "asked", "for", "once"]
PAD, MASK, SPECIAL = 0, 3, [0, 1, 2, 3]
text = torch.tensor([[1, 4, 5, 6, 7, 8, 9, 2, 0, 0]])
draw = torch.Generator().manual_seed(1)
inputs, labels = models.mask_tokens(text, MASK, len(words), SPECIAL, draw)


def row(ids):
    """Return the words side by side; a dash where nothing is asked."""
    return " ".join(f"{'-' if one in (PAD, -100) else words[one]:>6}" for one in ids.tolist())


for what, ids in {
    "GPT reads": text[0], "GPT is asked": text[0, 1:],
    "BERT reads": inputs[0], "BERT is asked": labels[0],
}.items():  # fmt: skip
    print(f"{what:13}", row(ids))

# %% [markdown]
r"""
<details><summary>Answer</summary>

GPT seven: every token but the first is a target, the end mark included. BERT one on average, 15% of six. So BERT reads many tokens for each target: that is the price of looking at both sides.

</details>
"""

# %% [markdown]
r"""
**Find the error.** A training loop compares the scores at each position with the token *at that position*: `F.cross_entropy(logits.flatten(0, 1), tokens.flatten())`. The loss falls to zero in minutes.

**Predict.** Which model gets zero without reading any context?
"""

# %%
copier = 20 * torch.eye(1000)  # it scores highest what it has just read
batch = torch.randint(1000, (8, 64), generator=generator)
logits = copier[batch]
unshifted = F.cross_entropy(logits.flatten(0, 1), batch.flatten())
print(f"without the shift {unshifted:.4f}")
print(f"with the shift    {models.causal_lm_loss(logits, batch, -1):.4f}")
print(f"knowing nothing   {math.log(1000):.4f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The one that repeats its input. A causal mask does not hide the token itself, only what follows. Asked for its successor, the copier is worse than knowing nothing, since it is sure.

A shift in the wrong direction, or by two, gives a loss too. Only one check finds them all: a loss computed by hand, on a text of three tokens.

</details>

Where sequences are padded, a mean over all positions counts padding, and a mean of the sequences' means gives a token in a short text more weight. The loss is the mean over all *targets* that count.
"""

# %% [markdown]
r"""
### Exercise: `causal_lm_loss`

*Difficulty · importance · minutes*

Write `causal_lm_loss(logits, tokens, pad_id) -> loss`.

- `logits` is `(B, T, V)`, `tokens` is `(B, T)`; position $t$ predicts token $t + 1$.
- The mean, in nats, over all targets that are not `pad_id`, whatever the input there is.
- 0, with a zero gradient, where no target counts: $T = 1$, say.
- Logits of $10^4$ must survive, and a class at $-\infty$ that is no target. NaN in the logits gives NaN.
"""


# %% exercise="causal_lm_loss"
def causal_lm_loss(logits, tokens, pad_id):
    """Return the mean cross-entropy of each token given those before it."""
    ### BEGIN SOLUTION: Drop the last scores and the first token, then average what counts.
    logs = logits[:, :-1].log_softmax(dim=-1)
    targets = tokens[:, 1:]
    counts = targets != pad_id
    index = targets.masked_fill(~counts, 0)
    picked = logs.gather(-1, index[..., None])[..., 0]
    return -picked.masked_fill(~counts, 0).sum() / counts.sum().clamp(min=1)
    ### END SOLUTION


# %%
check("causal_lm_loss", causal_lm_loss)
# hint("causal_lm_loss")

# %% [markdown] tags=["further"]
r"""
## 2. Hide some, ask for those

BERT's rule for a **selected** token: with probability 0.8 it becomes `[MASK]`, with 0.1 any token, and with 0.1 it stays. The loss asks for all selected tokens.

**Predict.** "BERT masks 15% of the tokens." What share of all tokens becomes `[MASK]`?
"""

# %%
many = torch.randint(4, 1000, (400, 500), generator=generator)
inputs, labels = models.mask_tokens(many, MASK, 1000, SPECIAL, generator)
selected, hidden = labels != -100, inputs == MASK
shares = {
    "selected": selected,
    "became [MASK]": hidden,
    "became another": (inputs != many) & ~hidden,
    "selected, stayed": selected & (inputs == many),
}
for what, which in shares.items():
    print(f"{what:17} {which.float().mean():6.1%} of all tokens")

# %% [markdown]
r"""
<details><summary>Answer</summary>

12%<!-- shown: 11.9 -->, and 1.5% each for the other two. 15% are *selected*. Why not hide all of them? After pre-training there is no `[MASK]` in any text, so a model that expects something to do only at `[MASK]` would meet texts in which it has nothing to do. The last two tenths make it keep an opinion about every token.

</details>
"""

# %% [markdown]
r"""
### Exercise: `mask_tokens`

*Difficulty · importance · minutes*

Write `mask_tokens(tokens, mask_id, vocab_size, special, generator) -> (inputs, labels)`.

- `tokens` is `(B, L)`, whole numbers; `special` is a list of ids that are never selected. Both may be empty.
- Every other token is selected with probability 0.15, independently. A selected one becomes `mask_id` with probability 0.8, any of the ids 0 to `vocab_size - 1` with 0.1, or stays.
- `labels`: the token where selected, -100 elsewhere.
- All randomness comes from `generator`.
"""


# %% exercise="mask_tokens"
def mask_tokens(tokens, mask_id, vocab_size, special, generator):
    """Return what BERT reads, and what it is asked for."""
    ### BEGIN SOLUTION: One draw selects, a second decides each selected token's fate.
    is_special = torch.isin(tokens, torch.tensor(special, dtype=torch.long))
    selected = (torch.rand(tokens.shape, generator=generator) < 0.15) & ~is_special
    fate = torch.rand(tokens.shape, generator=generator)
    other = torch.randint(vocab_size, tokens.shape, generator=generator)
    inputs = torch.where(selected & (fate < 0.8), mask_id, tokens)
    inputs = torch.where(selected & (fate >= 0.9), other, inputs)
    return inputs, torch.where(selected, tokens, -100)
    ### END SOLUTION


# %%
check("mask_tokens", mask_tokens)
# hint("mask_tokens")  # remove the first # for a hint; each call gives one more

# %% [markdown]
r"""
**A loss that forgets half of its data.** BERT was also asked whether its second sentence follows the first; for half of the pairs it does. A published text gives the loss as $-\log P(\text{IsNext})$.

**Predict.** Train a classifier with that, for all pairs. What will it say?
"""


# %%
def sentence_pairs(count):
    """Return products of two sentence vectors, and 1 where the second follows the first."""
    first, other = torch.randn(2, count, 8, generator=generator)
    follows = (torch.rand(count, generator=generator) < 0.5).float()
    return first * torch.where(follows[:, None] > 0, 0.8 * first + 0.6 * other, other), follows


(train_x, train_y), (test_x, test_y) = sentence_pairs(2000), sentence_pairs(2000)
for name in ("-log P(IsNext)", "both classes"):
    torch.manual_seed(0)
    judge = nn.Linear(8, 1)
    optimiser = torch.optim.Adam(judge.parameters(), lr=0.1)
    for _ in range(150):
        wanted = torch.ones_like(train_y) if name.startswith("-") else train_y
        loss = F.binary_cross_entropy_with_logits(judge(train_x)[:, 0], wanted)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    says = judge(test_x)[:, 0] > 0
    right = (says == (test_y > 0)).float().mean()
    print(f"{name:15} loss {loss:.3f}  IsNext {says.float().mean():.0%}  right {right:.1%}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Always "IsNext", with a loss near zero and half of the answers right. The formula is the positive half of a binary cross-entropy; the pairs that do not follow need $-\log(1 - P)$. A low loss says only that the loss is low.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 3. How sure should it be?

Cross-entropy is never content: a right token at probability 0.99 still asks for more, and logits can grow without end. **Label smoothing** (Szegedy et al., 2016) changes the target: $1 - \varepsilon$ for the right token, and $\varepsilon$ spread over all $V$, the right one included:

$$q_v = (1 - \varepsilon)\,[v = y] + \frac{\varepsilon}{V}$$

**Predict.** $V = 15$ and $\varepsilon = 0.1$. What is the smallest loss that any model can reach? Zero?
"""

# %%
smoothed = torch.full((15,), 0.1 / 15, dtype=torch.float64)
smoothed[0] += 0.9
floor = -(smoothed * smoothed.log()).sum()
gap = 14 / 15 * math.log(smoothed[0] / smoothed[1])
print(f"target: {smoothed[0]:.4f} for the right one, {smoothed[1]:.4f} for each other")
print(f"smallest loss {floor:.3f} nats; there the top logit is {gap:.1f} above the mean of all")
for probability in (0.5, 0.9067, 0.99, 0.9999):
    rest = math.log((1 - probability) / 14)
    loss = -(smoothed[0] * math.log(probability) + smoothed[1:].sum() * rest)
    print(f"right token at {probability}: loss {loss:.3f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The entropy of the target, $-\sum q \ln q = 0.556$<!-- shown: 0.556 -->. Whoever reads a smoothed training loss of 0.6 as "far from zero" misreads it. Past 0.9067 the loss *rises*: more confidence is punished. So the gap between logits has a limit, here 4.6<!-- shown: 4.6 -->.

</details>
"""

# %% [markdown]
r"""
### Exercise: `label_smoothed_loss`

*Difficulty · importance · minutes*

Write `label_smoothed_loss(logits, target, smoothing, pad_id) -> loss`.

- `logits` is `(B, T, V)`, `target` is `(B, T)`: no shift here.
- Cross-entropy against the smoothed target above, over all $V$ classes, the padding's class too.
- The mean over targets that are not `pad_id`, which may be no class at all (-100); 0, with a zero gradient, where none counts.
- The loss has the dtype of `logits`; for 16-bit ones, float32 is as good.

PyTorch's `F.cross_entropy` has an argument `label_smoothing`; do without it.
"""


# %% exercise="label_smoothed_loss"
def label_smoothed_loss(logits, target, smoothing, pad_id):
    """Return the mean cross-entropy against targets of which a share goes to all classes."""
    ### BEGIN SOLUTION: The right token's log-probability and the mean of all, in two shares.
    logs = logits.log_softmax(dim=-1)
    counts = target != pad_id
    index = target.masked_fill(~counts, 0)
    right = logs.gather(-1, index[..., None])[..., 0]
    loss = -((1 - smoothing) * right + smoothing * logs.mean(dim=-1))
    return loss.masked_fill(~counts, 0).sum() / counts.sum().clamp(min=1)
    ### END SOLUTION


# %%
check("label_smoothed_loss", label_smoothed_loss)
# hint("label_smoothed_loss")

# %% [markdown]
r"""
**Trained.** The Transformer of chapter 11 with one layer on each side, on the dates of chapter 02, with $\varepsilon = 0.1$. Live for 200 steps; below it what was recorded after 800, one seed, with and without smoothing.

**Predict.** With smoothing: will accuracy, mean confidence and the loss (unsmoothed, on unseen dates) rise or fall?
"""

# %%
written = sample_dates(20_000, torch.Generator().manual_seed(0))
tokens = DateTokens.of(written)
learnt = tokens.pairs(written)
unseen = tokens.pairs(sample_dates(500, torch.Generator().manual_seed(1), held_out=True))
sizes = len(tokens.source), len(tokens.target)


def smooth(logits, target):
    """Return the smoothed loss of what is written after START."""
    return models.label_smoothed_loss(logits, target[:, 1:], 0.1, PAD)


# %% mystnb={"image": {"alt": "Smoothed training loss against the step, from 0 to 200: it falls steeply at first and then slowly, and stays above the floor of 0.556."}}
torch.manual_seed(0)
reader = Transformer(*sizes, d_model=64, num_heads=4)
plan = {"steps": 200, "seed": 0, "learning_rate": 6e-3}
with LiveCurve("dates, smoothed labels", 200) as curve:
    losses = models.train_seq2seq(reader, learnt, **plan, loss=smooth, progress=bar, watch=curve)
live = models.judge_writing(reader, unseen)

# %% tags=["nbval-ignore-output"] reason="rounding differs between processors, and training enlarges it"
print(f"smoothed training loss at the end {sum(losses[-20:]) / 20:.2f}, floor {floor:.2f}")
print(f"characters right {live.accuracy:.2f}, mean confidence {live.confidence:.2f}")

# %%
print("recorded        exact  characters  confidence  loss  top logit - mean  training loss")
for run in dates_record:
    if run["what"] == "smoothing":
        last = run["curve"][-1]
        print(
            f"smoothing {run['smoothing']:3}  {last['exact']:7.3f} {last['accuracy']:11.4f}", end=""
        )
        print(f" {last['confidence']:11.3f} {last['loss']:5.3f} {last['gap']:17.1f}", end="")
        print(f" {run['training_loss']:14.3f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The accuracy is the same: 0.958 and 0.959 of the dates<!-- shown: 0.958 0.959 -->. Confidence falls from 0.993 to 0.900<!-- shown: 0.993 0.900 -->, towards the target's 0.907; the gap between logits stops at 4.6, as computed above<!-- shown: 4.6 -->; and the unsmoothed loss *rises*: the model has been told not to believe itself. That is a gain where confidence is used, in a beam or in a mixture of models, and a loss where the perplexity is compared.

</details>
"""

# %% [markdown]
r"""
## 4. The first steps

Adam divides each gradient by the running size of its past. In the first steps that past is a handful of noisy numbers, and the weights are random. So training starts small:

$$\text{rate}(s) = d_{model}^{-1/2} \min(s^{-1/2},\; s \cdot w^{-3/2})$$

rises for $w$ steps of **warm-up** and falls as an inverse root (Vaswani et al., 2017). Today a **cosine** is more common; it has to know where training ends.

**Predict.** $d_{model} = 512$, $w = 4000$: how large is the highest rate?
"""

# %% mystnb={"image": {"alt": "Learning rate over 40,000 steps. The inverse root rises to 7.0e-4 at step 4,000 and falls slowly, to 2.2e-4; the cosine rises in the same way and falls to zero."}}
steps = list(range(0, 40_001, 100))
root = [models.warmup_inverse_sqrt(step, 512, 4000) for step in steps]
peak = max(root)
cosine = [models.warmup_cosine(step, peak, 4000, 40_000) for step in steps]
axes = plotting.new_figure("A warm-up, then two ways down", "step", "learning rate")
plotting.line(axes, steps, root, "inverse root", "blue", (29_500, 2.9e-4))
plotting.line(axes, steps, cosine, "cosine", "orange", (13_500, 6.4e-4))
_ = axes.set(xticks=range(0, 40_001, 10_000))
print(f"highest rate {peak:.1e}, at step {steps[root.index(peak)]}; at the end {root[-1]:.1e}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

$7.0 \cdot 10^{-4}$<!-- shown: 7.0e-04 -->: $512^{-1/2} \cdot 4000^{-1/2}$.

</details>

**What warm-up is for.** Recorded: 12 layers, width 32, characters of Python's help, no clipping; norms before each part (**pre**, chapter 11) or after each sum (**post**), with and without 30 steps of warm-up, at three rates (the figure shows one).

**Predict.** Which of the four suffers without warm-up? At the higher rates, which still learn?
"""

# %% mystnb={"image": {"alt": "Loss over 120 steps for four deep stacks at the rate 0.003. With the norm before each part it falls to 2.8 nats, with and without warm-up; with the norm after each sum it stays near 3.2 nats, in both cases.<!-- shown: 2.8 3.2 -->"}}
deep = [run for run in stability if run["what"] == "depth"]
axes = plotting.new_figure("Twelve layers at the rate 0.003", "step", "loss (nats)")
looks = {(True, 30): ("blue", 2.85), (True, 0): ("green", 2.67)}
looks |= {(False, 30): ("orange", 3.17), (False, 0): ("pink", 3.38)}
for run in deep:
    key = run["pre_norm"], run["warmup"]
    label = f"{'pre' if key[0] else 'post'}, {'with' if key[1] else 'no'} warm-up"
    if run["rate"] == 0.003:
        at = [run["every"] * (place + 0.5) for place in range(len(run["losses"]))]
        plotting.line(axes, at, run["losses"], label, looks[key][0], (118, looks[key][1]))
    print(f"rate {run['rate']:5}  {label:18} ends at {run['losses'][-1]:.1f} nats")
_ = axes.set(xlim=(0, 185), xticks=range(0, 121, 30), ylim=(2.55, 4.5))

# %%
help_text = character_text()
shares = torch.bincount(help_text.train) / len(help_text.train)
print(f"knowing only how frequent each character is: {torch.special.entr(shares).sum():.2f} nats")
print("gradient of the first step, layers 1 to 12 (feed-forward, first matrix)")
for run in deep[:4:2]:
    norms = " ".join(f"{norm:.3f}" for norm in run["first_gradients"])
    print(f"{'pre ' if run['pre_norm'] else 'post'}  {norms}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

At 0.001 all four learn, and warm-up only costs steps. From 0.003 on, *post* stays at 3.2 to 3.3 nats, which is the loss of a model that knows only the characters' frequencies (3.25)<!-- shown 2: 3.25 -->: its twelve layers pass nothing on. Thirty steps of warm-up do not help it (a hundred did in chapter 11); the norm's place does. With *pre* the stream is a plain sum, and something always gets through.

So measure before you believe in a ritual. In wider models, with longer warm-ups, post-norm was rescued: Vaswani et al. needed 4,000 steps, and Xiong et al. (2020) trained pre-norm without.

</details>
"""

# %% [markdown]
r"""
**Clipping by the global norm.** All gradients together are one long vector. If it is longer than $c$, all of it is multiplied by $c$ over its length.

**Predict.** Two parameters have the gradients $(3, 0)$ and $(0, 4)$; $c = 1$. What comes out, and what if each *number* were cut at 1 instead?
"""

# %%
pair = [nn.Parameter(torch.zeros(2)) for _ in range(2)]
pair[0].grad, pair[1].grad = torch.tensor([3.0, 0.0]), torch.tensor([0.0, 4.0])
by_value = [parameter.grad.clamp(-1, 1).tolist() for parameter in pair]
length = nn.utils.clip_grad_norm_(pair, 1.0)
print("length before:", length.item())
print("by the global norm:", [[round(x, 3) for x in p.grad.tolist()] for p in pair])
print("by value:          ", by_value)

# %% [markdown]
r"""
<details><summary>Answer</summary>

$(0.6, 0)$ and $(0, 0.8)$: shorter, same direction. Cutting numbers gives $(1, 0)$ and $(0, 1)$, which is another direction. Log the length *before* clipping: a spike there announces a loss that will jump.

</details>

**How to begin.** Twelve linear layers of width 256, without norms: what comes out, if numbers of spread 1 go in?

**Predict.** Xavier draws weights of variance $1/d$, He of $2/d$. Which suits a chain with ReLU, and which one without?
"""

# %%
print("spread after 12 layers   standard  0.02    Xavier   He")
for name, bend in (("linear", nn.Identity()), ("ReLU", nn.ReLU())):
    spreads = []
    for deviation in (1.0, 0.02, 256**-0.5, (2 / 256) ** 0.5):
        x = torch.randn(64, 256, generator=generator)
        for _ in range(12):
            x = bend(x @ torch.randn(256, 256, generator=generator) * deviation)
        spreads.append(x.square().mean().sqrt().item())
    print(f"{name:22}", "  ".join(f"{spread:7.1e}" for spread in spreads))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Xavier keeps the spread where nothing bends, as in attention's projections. ReLU throws half of the square away, so there He's factor of two is needed; with Xavier, twelve layers shrink it to a fiftieth<!-- shown: 2.0e-02 -->. (Xavier's own formula takes the mean of both widths, $2/(d_{in} + d_{out})$.) In a Transformer the norms repair the scale at every layer, so GPT-2 can begin with 0.02 everywhere, and residuals let the gradient pass.

</details>
"""

# %% [markdown]
r"""
**Four optimisers, one budget.** Recorded: the small GPT of chapter 10, 150 steps each, three rates, a factor of ten apart; no clipping.

**Predict.** Which optimiser wins at its best rate? Which is hurt least by a wrong one?
"""

# %%
print("loss after 150 steps    rate and loss, three times")
for name in ("SGD", "momentum", "Adam", "AdamW"):
    runs = [run for run in stability if run["what"] == "optimizer" and run["name"] == name]
    cells = (
        f"{run['rate']:8}: {'diverged' if run['loss'] is None else format(run['loss'], '.3f')}"
        for run in runs
    )
    print(f"{name:10}", "   ".join(cells))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Adam and AdamW at their highest rate, both 2.52<!-- shown: 2.522 2.520 -->; SGD and momentum come close, at rates thirty and three times as high. Here each optimiser's best rate was the highest of its three, so the search has not ended: "Adam is better" needs rates tried for *both*, to beyond their best. A rate a hundred times too low costs Adam and AdamW one nat, and SGD and momentum nearly one and a half.

AdamW differs from Adam in how weights decay: they shrink by a share of themselves, outside of the division by the gradient's size (Loshchilov and Hutter, 2019). In 150 steps the difference does not show.

</details>
"""

# %% [markdown]
r"""
**Dropout** sets a share $p$ of numbers to zero while training and divides the rest by $1 - p$, so that the mean stays. Vaswani et al. used 0.1, on what each part adds to the stream and on the embeddings; many put it on attention weights too. Large models that read each text once use 0.

**Find the error.** A published encoder layer, shortened.

**Predict.** Two passes in training mode: are they equal?
"""


# %%
class PublishedLayer(nn.Module):
    """A layer of a published text, without its masks."""

    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.feed_forward = nn.Linear(d_model, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = self.norm1(x + self.attention(x, x, x)[0])
        return self.norm2(x + self.feed_forward(x))


# %%
layer, x = PublishedLayer(16, 2).train(), torch.randn(1, 5, 16, generator=generator)
print("two passes equal:", torch.equal(layer(x), layer(x)))
dropped = nn.Dropout(0.1)(torch.ones(100_000))
print(f"real dropout: {(dropped == 0).float().mean():.2f} are zero, mean {dropped.mean():.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Equal: `self.dropout` is created and never called. The class reports a dropout of 0.1 when it is printed, and trains with none. The test is the one above: two passes in training mode must differ.

Besides dropout, smoothing and weight decay there is the oldest brake of all, *early stopping*: keep the weights that were best on text not trained on.

</details>
"""

# %% [markdown]
r"""
## 5. A batch that does not fit

A batch is too large for the memory. Take it in parts, add up their gradients, step once: **gradient accumulation**. The result should be the big batch's, to rounding.

**Predict.** Four texts of 37, 19, 24 and 23 tokens. A loop calls `loss.backward()` for each one's *mean* loss, divided by four. Is this the gradient of the mean over all 103 tokens?
"""

# %%
torch.manual_seed(0)
embedding, out = nn.Embedding(50, 16).double(), nn.Linear(16, 50).double()
leaves = [*embedding.parameters(), *out.parameters()]
texts = [torch.randint(50, (n + 1,), generator=generator) for n in (37, 19, 24, 23)]


def summed(text):
    """Return the sum of the tokens' losses, and how many there are."""
    logits = out(embedding(text[:-1]))
    return F.cross_entropy(logits, text[1:], reduction="sum"), len(text) - 1


def flat(gradients):
    """Return all gradients as one vector."""
    return torch.cat([one.flatten() for one in gradients])


# %%
whole = flat(torch.autograd.grad(sum(summed(text)[0] for text in texts) / 103, leaves))
parts = flat(models.accumulated_gradient(summed, leaves, texts))
means = [total / count for total, count in map(summed, texts)]
mean_of_means = flat(torch.autograd.grad(sum(means) / 4, leaves))
print(f"sums over all tokens: off by less than 1e-14: {(parts - whole).norm() < 1e-14}")
print(f"mean of the means:    off by {(mean_of_means - whole).norm() / whole.norm():.0%}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

No: it is off by 25%<!-- shown: 25 -->. In the mean of means, a token of the shortest text weighs twice as much as one of the longest. Published training loops made this mistake for years; it is invisible as long as all parts have equal length. Sum the losses, count the tokens, divide once.

Accumulation saves activations only: it holds one part's graph at a time. Weights, gradients and the optimiser's states stay.

</details>
"""

# %% [markdown]
r"""
### Exercise: `accumulated_gradient`

*Difficulty · importance · minutes*

Write `accumulated_gradient(loss, parameters, micro_batches) -> gradients`.

- `loss(micro)` returns the sum of its tokens' losses, a scalar with a gradient, and the number of tokens (an int, possibly 0). Call it once for each micro-batch.
- Return the gradient of $\sum$ sums $/ \sum$ tokens: one tensor for each parameter, in order, zeros where a parameter has no part or no token counts.
- Leave each parameter's `.grad` as it was. What autograd holds must not grow with the number of parts.
"""


# %% exercise="accumulated_gradient"
def accumulated_gradient(loss, parameters, micro_batches):
    """Return the big batch's gradient, with one part's graph at a time."""
    ### BEGIN SOLUTION: Add up each part's gradients and tokens, and divide once at the end.
    gradients = [torch.zeros_like(parameter) for parameter in parameters]
    num_tokens = 0
    for micro in micro_batches:
        total, count = loss(micro)
        num_tokens += count
        found = torch.autograd.grad(total, parameters, allow_unused=True)
        for gradient, part in zip(gradients, found, strict=True):
            if part is not None:
                gradient += part
    return [gradient / max(num_tokens, 1) for gradient in gradients]
    ### END SOLUTION


# %%
check("accumulated_gradient", accumulated_gradient)
# hint("accumulated_gradient")

# %% [markdown]
r"""
## 6. Keep it, or compute it again

The backward pass needs what the forward pass computed. **Checkpointing** keeps only the input of each *segment* of layers, and computes the rest again when the backward pass arrives there.

**Predict.** 16 layers in 1, 2, 4, 8 or 16 segments. Which needs the least memory? The textbook says $\sqrt{16} = 4$. How many more operations does it take?
"""

# %%
torch.manual_seed(0)
layers = nn.ModuleList(EncoderLayer(64, 4, 128, activation="gelu") for _ in range(16))
x = torch.randn(4, 32, 64, generator=generator)
own = {one.untyped_storage().data_ptr() for one in layers.parameters()}


def forward(segments):
    """Return the stream after all layers, of which only segments' inputs are kept."""
    stack = nn.Sequential(*layers)
    if segments == 0:
        return stack(x)
    stream = x
    for start in range(0, 16, 16 // segments):
        part = stack[start : start + 16 // segments]
        stream = checkpoint(part, stream, use_reentrant=False)
    return stream


# %%
def saved_bytes(fn):
    """Return the bytes that autograd keeps for the backward pass, weights left out."""
    kept = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        _graph = fn()
    return sum(kept.values())


def step(segments):
    """Take gradients, into tensors that are there already."""
    layers.zero_grad(set_to_none=False)
    forward(segments).square().mean().backward()


# %%
step(0)
plain = measure.count_flops(step, 0)
print("segments   saved   peak of a step   more operations   without early stop")
for segments in (0, 1, 2, 4, 8, 16):
    saved, peak = saved_bytes(partial(forward, segments)), measure.peak_memory(step, segments)
    more = measure.count_flops(step, segments) / plain - 1
    with set_checkpoint_early_stop(False):
        all_again = measure.count_flops(step, segments) / plain - 1
    print(f"{segments:8} {saved / 1024:7.0f} {peak / 1024:12.0f} KiB", end="")
    print(f" {more:16.1%} {all_again:20.1%}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The most segments, one for each layer: a layer keeps about twelve times its input (6,208 KiB for 16, and an input has 32)<!-- shown: 6208 32 -->, so keeping one more input is a small price for a finer cut. $\sqrt L$ is the best cut where a layer keeps only its input, and $L$ counts the *layers*, not the tokens. Memory then grows as $\sqrt L$; it is not "reduced by $\sqrt n$".

One forward pass more is a third of a step, since backward costs two: 33% is the upper limit<!-- shown: 32.7 -->. PyTorch computes every segment again, the last too, and stops inside each as soon as it has the last tensor that it needs.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** `checkpoint(fn, q, k, v)`, without `use_reentrant`. What is missing?

- A. Nothing.
- B. `use_reentrant=False`: the old way needs an input that requires a gradient, and warns.
- C. `torch.no_grad()` around it.

<details><summary>Answer</summary>

- A is wrong: PyTorch warns, and with the old default a segment whose inputs need no gradient would silently train nothing.
- **B is right.**
- C is wrong: then there would be no gradient at all.

</details>
"""

# %% [markdown]
r"""
## 7. Fewer bits

A float32 has 8 bits for its range and 23 for its digits. **bfloat16** keeps the 8 for the range and has 7 for digits; **float16** has 10 for digits, and only 5 for the range.

**Predict.** Start at 1 and add 0.001 a thousand times, in bfloat16. What comes out?
"""

# %%
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    one = torch.ones((), dtype=dtype)
    for _ in range(1000):
        one = one + 0.001
    facts = torch.finfo(dtype)
    print(f"{dtype!s:15} 1 + 1000 * 0.001 = {one.item():.3f}", end="")
    print(f"   next after 1: +{facts.eps:.1e}   largest {facts.max:.1e}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Still 1: the next number after 1 is 1.0078, so a step of 0.001 is rounded away, every time. That is what happens to weights of 16 bits under a small learning rate. **Mixed precision** multiplies in 16 bits, but keeps **master weights** in float32 and updates those.

</details>

**Recorded**: the dates, 400 steps at 3e-3, one seed.
"""

# %%
print("recorded             loss (nats)   exact   CPU-seconds")
for run in dates_record:
    if run["what"] == "precision":
        print(f"{run['way']:20} {run['loss']:11.4f} {run['exact']:7.3f} {run['cpu_seconds']:13.0f}")

# %% [markdown]
r"""
<details><summary>What to look at</summary>

Autocast, with its float32 weights, ends where float32 does: 0.192 and 0.191 nats<!-- shown: 0.1919 0.1908 -->. Weights in bfloat16 end at 0.244<!-- shown: 0.2444 -->. And fewer bits are *slower* here, about five times: this processor has no units for them. "1.5 to 2 times faster" holds where there are such units and the matrices are large; it is a statement about hardware.

</details>

**Three lines from published texts.**

**Predict.** What does each do on a machine without a GPU? (1) `with torch.cuda.amp.autocast():` (2) a mask of $-10^9$ under float16 autocast. (3) One autocast block around the whole training loop.
"""

# %%
q = torch.randn(1, 3, 4, generator=generator)
with warnings.catch_warnings(record=True) as raised:
    warnings.simplefilter("always")
    with torch.cuda.amp.autocast():
        print("1. product in", (q @ q.mT).dtype, [one.category.__name__ for one in raised])
with torch.amp.autocast("cpu", dtype=torch.float16):
    try:
        (q @ q.mT).masked_fill(torch.ones(3, 3).tril() == 0, -1e9)
    except RuntimeError as error:
        print("2.", type(error).__name__, error)
line = nn.Linear(4, 4)
with torch.amp.autocast("cpu", dtype=torch.bfloat16):
    before = line(q)
    with torch.no_grad():
        line.weight += 1
    print("3. output unchanged after an update:", torch.equal(before, line(q)))

# %% [markdown]
r"""
<details><summary>Answers</summary>

1. Nothing: it warns twice and computes in float32. Today's form is `torch.amp.autocast("cpu", dtype=torch.bfloat16)`, with `"cuda"` on a GPU.
2. It raises an error: the largest float16 is 65504. Mask with `-inf`.
3. It trains with stale weights. Autocast keeps the 16-bit copy of each weight until its block ends. One block is one forward pass and its loss.

</details>

**float16 needs more help.** A gradient of $10^{-8}$ is below its smallest number. `GradScaler` multiplies the loss by a large factor, divides the gradients by it before the step, skips steps that overflow, and adapts the factor.
"""

# %%
gradient, factor = torch.tensor(1e-8), 2.0**16
print(f"in float16: {gradient.half().item()}   in bfloat16: {gradient.bfloat16().item():.1e}")
print(f"scaled, then back in float32: {((gradient * factor).half().float() / factor).item():.1e}")
for bits in (32, 16):

    def cast_forward(bits=bits):
        with torch.amp.autocast("cpu", dtype=torch.bfloat16, enabled=bits == 16):
            return forward(0)

    print(f"saved for the backward pass, {bits} bits: {saved_bytes(cast_forward) / 1024:.0f} KiB")

# %% [markdown]
r"""
<details><summary>What to look at</summary>

Saved bytes are not halved at this size (4,672 KiB of 6,208)<!-- shown: 4672 6208 -->: norms and the stream stay in float32, and copies of the weights are kept as well. "Mixed precision saves 50% of the memory" is an upper bound for activations; section 10 adds up the rest.

</details>
"""

# %% [markdown]
r"""
## 8. How many parameters?

**Predict.** GPT-2 has 12 layers of width 768, $d_{ff} = 4 \cdot 768$, 50,257 tokens and 1,024 positions; its output matrix is the embedding, used again. How many parameters are in the layers? Count matrices only: what is the rule of thumb in $d_{model}^2$ for one layer?
"""

# %%
d = 768
matrices = {"W_q, W_k, W_v, W_o": 4 * d * d, "feed-forward": 2 * d * 4 * d}
vectors = {"biases": 4 * d + 4 * d + d, "two norms": 2 * 2 * d}
for name, count in (matrices | vectors).items():
    print(f"{name:20} {count:12,}   {count / d**2:6.3f} d²")
layer = sum((matrices | vectors).values())
tables = (50257 + 1024) * d
print(f"{'one layer':20} {layer:12,}   {layer / d**2:6.3f} d²")
print(
    f"{'12 layers':20} {12 * layer:12,}\n{'tables':20} {tables:12,}\n{'last norm':20} {2 * d:12,}"
)
print(f"{'GPT-2':20} {12 * layer + tables + 2 * d:12,}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

$12\,d^2$ for a layer, so $12 \cdot 12 \cdot 768^2 = 85$ million, and 39 million in the tables<!-- shown: 39,383,808 -->. In a small model the vocabulary is a third of everything; in a large one it hardly counts.

</details>
"""

# %% [markdown]
r"""
### Exercise: `transformer_parameters`

*Difficulty · importance · minutes*

Write `transformer_parameters(vocab_size, d_model, num_layers, d_ff, num_heads, num_kv_heads, num_positions, gated, bias, tied) -> int` for one stack:

- a token embedding, and `num_positions` learned positions (0: none);
- in a layer: $W^Q$, $W^O$ `(d_model, d_model)`; $W^K$, $W^V$ `(d_model, d_model / num_heads * num_kv_heads)`; two feed-forward matrices, three if `gated`; two norms;
- a norm after the last layer; an output matrix without bias, unless `tied`.

With `bias`, every matrix of a layer has one, and a norm has gain and bias. Without: no biases, and a norm has a gain only.
"""


# %% exercise="transformer_parameters"
def transformer_parameters(
    vocab_size, d_model, num_layers, d_ff, num_heads, num_kv_heads, num_positions, gated, bias, tied
):
    """Count what one stack of layers learns."""
    ### BEGIN SOLUTION: Count a layer's matrices, its vectors, and what stands around the layers.
    d_kv = d_model // num_heads * num_kv_heads
    into = 2 if gated else 1
    layer = 2 * d_model**2 + 2 * d_model * d_kv + (into + 1) * d_model * d_ff
    if bias:
        layer += 2 * d_model + 2 * d_kv + into * d_ff + d_model
    norm = 2 * d_model if bias else d_model
    tables = (vocab_size + num_positions) * d_model
    output = 0 if tied else vocab_size * d_model
    return tables + num_layers * (layer + 2 * norm) + norm + output
    ### END SOLUTION


# %%
check("transformer_parameters", transformer_parameters)
# hint("transformer_parameters")

# %% [markdown]
r"""
**Published sizes, recomputed**, and two real `state_dict`s of this course.

**Predict.** Llama 2 70B and Llama 7B have the same kind of layer. Which two numbers of its shape move the large one away from $12\,d^2$ per layer, one up and one down?
"""

# %%
gpt, llama = (False, True, True), (True, False, False)  # gated, bias, tied
SHAPES = {
    "GPT-2": (50257, 768, 12, 3072, 12, 12, 1024, *gpt),
    "GPT-2 XL": (50257, 1600, 48, 6400, 25, 25, 1024, *gpt),
    "GPT-3": (50257, 12288, 96, 49152, 96, 96, 2048, *gpt),
    "Llama 7B": (32000, 4096, 32, 11008, 32, 32, 0, *llama),
    "Llama 2 70B": (32000, 8192, 80, 28672, 64, 8, 0, *llama),
    "Mistral 7B": (32000, 4096, 32, 14336, 32, 8, 0, *llama),
    "Llama 3 8B": (128256, 4096, 32, 14336, 32, 8, 0, *llama),
    "Llama 3.1 405B": (128256, 16384, 126, 53248, 128, 8, 0, *llama),
    "Llama 3.2 1B": (128256, 2048, 16, 8192, 32, 8, 0, True, False, True),
}
count = {name: measure.transformer_parameters(*shape) for name, shape in SHAPES.items()}
for name, number in count.items():
    _, width, depth, *_ = SHAPES[name]
    print(f"{name:15} {number:16,}   {number / (depth * width**2):5.2f} d² per layer, all told")

# %%
bert = {"base": (30522, 768, 12, 3072, 12, 12), "large": (30522, 1024, 24, 4096, 16, 16)}
for name, shape in bert.items():
    # Two segments beside 512 positions; the embedding's norm stands in for a last one.
    stack = measure.transformer_parameters(*shape, 514, *gpt)
    print(f"BERT-{name:6} {stack:14,} and its pooler {shape[1] * (shape[1] + 1):10,}", end="")
    print(f" = {stack + shape[1] * (shape[1] + 1):14,}")
gpt1 = measure.transformer_parameters(40478, 768, 12, 3072, 12, 12, 512, *gpt)
print(f"GPT-1       {gpt1:14,} less a last norm {2 * 768:8,}   = {gpt1 - 2 * 768:14,}")
own_gpt = models.GPT(96, d_model=32, num_heads=2, num_layers=3, max_length=64)
own_llama = models.Llama(
    96, d_model=32, num_heads=4, num_kv_heads=2, num_layers=3, d_ff=80, max_length=64
)
formula = {
    "GPT": (own_gpt, (96, 32, 3, 128, 2, 2, 64, False, True, False)),
    "Llama": (own_llama, (96, 32, 3, 80, 4, 2, 0, *llama)),
}
for name, (model, shape) in formula.items():
    real = sum(one.numel() for one in model.state_dict().values())
    print(f"our {name:6} state_dict {real:,}, formula {measure.transformer_parameters(*shape):,}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Up: $d_{ff} = 28672$ is 3.5 widths, and three matrices make $10.5\,d^2$ of it instead of 8. Down: 8 of 64 heads keep keys and values, which leaves $2.25\,d^2$ for attention instead of 4. Together 12.75; the table's 12.85 includes the vocabulary<!-- shown 2: 12.85 -->. T5-small's 60,506,624 is not of this form: an encoder *and* a decoder, cross-attention, and a position bias that the layers share.

"GPT-4: 1.8 T" cannot be checked: no size was ever published, nor was ChatGPT's.

</details>
"""

# %% [markdown]
r"""
## 9. How many operations?

A product of a $(T, a)$ and an $(a, b)$ matrix takes $2\,T a b$ operations: a multiplication and an addition for each of its $T a b$ terms. The backward pass makes two such products for each: one for the input's gradient, one for the weights'.

**Predict.** Each parameter of a matrix meets each token once in the forward pass. So how many operations does training take for each parameter and token? And what does this rule leave out?
"""

# %%
gpt3 = {"d_model": 12288, "num_layers": 96, "d_ff": 49152, "vocab_size": 50257}
print("tokens in a text    counted     6N   attention's two products in the forward pass")
for length in (2048, 8192, 32768):
    token = measure.training_flops(1, length, **gpt3, recompute=False) / length
    layer = 4 * 12288**2 + 2 * 12288 * 49152
    share = 2 * length * 12288 / (layer + 2 * length * 12288)
    print(f"{length:14} {token:12.3e} {6 * count['GPT-3']:9.3e}", end="")
    print(f" {share:12.1%} of the layers'", end="")
    print(f"   scores 19 times as costly: {1 + 18 * share:.2f} times the whole")
print(f"300 B tokens by 6ND: {6 * count['GPT-3'] * 300e9:.2e}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Six: two forward, four backward. $6ND$ leaves out attention's tables, and counts tables that are only looked up. For GPT-3 it is 2.7% low at 2,048 tokens, and its run comes to $3.14 \cdot 10^{23}$<!-- shown: 3.14e+23 -->.

"With additive attention GPT-3 would have trained 19 times longer" multiplies the whole by what happens to 2.7% of it. Amdahl's law: 1.49 times<!-- shown: 1.49 -->; 6.5 at 32,768 tokens.

</details>
"""

# %% [markdown]
r"""
### Exercise: `training_flops`

*Difficulty · importance · minutes*

Write `training_flops(batch, num_tokens, d_model, num_layers, d_ff, vocab_size, recompute) -> int`: the matrix products of one step, 2 operations per multiply-add.

- A layer has four `(d_model, d_model)` projections, two feed-forward matrices, and $QK^\top$ and $PV$ over all pairs of tokens; a causal mask saves nothing here.
- The output layer has `d_model * vocab_size` for each token; looking an embedding up costs nothing.
- Backward is two forwards. `recompute` adds one forward of the layers, not of the output layer.
"""


# %% exercise="training_flops"
def training_flops(batch, num_tokens, d_model, num_layers, d_ff, vocab_size, recompute):
    """Count the operations of one step."""
    ### BEGIN SOLUTION: Multiply-adds of one token, then 2, 3 passes, and what is done again.
    tokens = batch * num_tokens
    layer = 4 * d_model**2 + 2 * d_model * d_ff + 2 * num_tokens * d_model
    layers = 2 * tokens * num_layers * layer
    output = 2 * tokens * d_model * vocab_size
    return 3 * (layers + output) + (layers if recompute else 0)
    ### END SOLUTION


# %%
check("training_flops", training_flops)
# hint("training_flops")

# %% [markdown]
r"""
**Against torch's counter.** A step of a small stack, with attention as explicit products and as one fused call.

**Predict.** Are all three numbers equal?
"""

# %%
torch.manual_seed(0)
stack = DeepStack(96, num_layers=3, pre_norm=True)
batch = torch.randint(96, (2, 32), generator=generator)


def one_step():
    """Take the gradients of one batch."""
    models.causal_lm_loss(stack(batch), batch, -1).backward()


print(f"formula           {measure.training_flops(2, 32, 32, 3, 128, 96, False):,}")
with sdpa_kernel(SDPBackend.MATH):
    print(f"explicit products {measure.count_flops(one_step):,}")
print(f"fused             {measure.count_flops(one_step):,}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The first two, to the last operation. The fused call keeps no table, so its backward pass computes the scores once more (chapter 09): five products instead of four.

</details>
"""

# %% [markdown]
r"""
## 10. How many bytes?

Each parameter has a weight, a gradient and the optimiser's states: Adam keeps two. And the forward pass leaves activations behind.

**Predict.** 7 billion parameters, Adam, float32: how many GiB, before any activation? And in mixed precision?
"""

# %%
torch.manual_seed(0)
small = models.GPT(96, d_model=64, num_heads=2, num_layers=2, max_length=32)
adam = torch.optim.AdamW(small.parameters(), lr=1e-3)
with torch.amp.autocast("cpu", dtype=torch.bfloat16):
    models.causal_lm_loss(small.logits(batch), batch, -1).backward()
adam.step()
numbers = sum(one.numel() for one in small.parameters())
states = [s for one in adam.state.values() for s in one.values() if s.dim()]
held = {
    "weights": small.parameters(),
    "gradients": [one.grad for one in small.parameters()],
    "Adam's states": states,
}
for what, tensors in held.items():
    total = sum(one.numel() * one.element_size() for one in tensors)
    print(f"{what:14} {total / numbers:.0f} bytes per parameter")

# %% [markdown]
r"""
<details><summary>Answer</summary>

4, 4 and 8, under autocast too: its 16-bit copies come on top. Stored in 16 bits, weights and gradients take 2 each, and the master copy 4: again 16 in all. So about 100 GiB either way; only the activations are halved. "Mixed precision saves half of the memory" is true of activations.

</details>
"""

# %% [markdown]
r"""
### Exercise: `training_memory_bytes`

*Difficulty · importance · minutes*

Write `training_memory_bytes(num_parameters, num_trainable, num_activations, optimizer, mixed) -> int`.

- 4 bytes per number. `mixed`: 2 for weights, gradients and saved activations, and a float32 copy of each weight that is trained.
- Gradients and states only for what is trained. States of 4 bytes each: `"sgd"` 0, `"momentum"` 1, `"adam"` 2; any other string is a `ValueError`.
"""


# %% exercise="training_memory_bytes"
def training_memory_bytes(num_parameters, num_trainable, num_activations, optimizer, mixed):
    """Count the bytes that training holds."""
    ### BEGIN SOLUTION: What is wide or narrow, and what stays in float32.
    states = {"sgd": 0, "momentum": 1, "adam": 2}
    if optimizer not in states:
        raise ValueError(f"optimizer must be one of {', '.join(states)}, got {optimizer!r}")
    width = 2 if mixed else 4
    copies = 4 * num_trainable if mixed else 0
    kept = width * (num_parameters + num_trainable + num_activations)
    return kept + copies + 4 * states[optimizer] * num_trainable
    ### END SOLUTION


# %%
check("training_memory_bytes", training_memory_bytes)
# hint("training_memory_bytes")

# %%
seven = count["Llama 7B"]
for what, trained in (("all trained", seven), ("4.2 M trained", 4_200_000)):
    for mixed in (False, True):
        total = measure.training_memory_bytes(seven, trained, 0, "adam", mixed)
        kind = "mixed  " if mixed else "float32"
        print(f"Llama 7B, {what:13} {kind} {total / 2**30:6.1f} GiB without activations")

# %% [markdown]
r"""
## 11. What does a budget buy?

The loss falls with more parameters and with more tokens, and both cost. Hoffmann et al. (2022) fitted

$$L(N, D) = E + \frac{A}{N^\alpha} + \frac{B}{D^\beta}$$

**Live.** Five widths on the characters of Python's help, one seed; each loss is read off at three numbers of tokens. The rate falls as an inverse root, so that it need not know the end.

**Predict.** From the smallest to the largest model (72 times the parameters), by how much does the loss fall?
"""

# %%
WIDTHS, READ_AT = (4, 8, 16, 32, 64), (64, 128, 256)


# %% mystnb={"image": {"alt": "Training loss of five models against the step, one after another: each falls at first steeply and then slowly; the wider ones end lower."}}
sweep = []
with LiveCurve("five widths, one after another", 5 * 256) as curve:
    for width in WIDTHS:
        progress = partial(bar, desc=f"width {width:2}")
        sweep += models.train_at_width(
            help_text, width, READ_AT, seed=0, progress=progress, watch=curve
        )

# %% tags=["nbval-ignore-output"] reason="rounding differs between processors, and training enlarges it"
print("     width   loss after", *(f"{point.num_tokens:8,}" for point in sweep[:3]), "tokens")
for width in WIDTHS:
    runs = [point for point in sweep if point.d_model == width]
    print(f"{width:10}           ", *(f"{one.loss:8.3f}" for one in runs))

# %%
record = measure.read_record("chapter_12_scaling")["runs"]
recorded = [run for run in record if run["seed"] == 0]
largest = max(run["num_tokens"] for run in recorded)
print("recorded, the same with 262,144 and 524,288 tokens; seed 0")
for width in WIDTHS:
    runs = [run for run in recorded if run["d_model"] == width]
    print(f"{runs[0]['num_parameters']:10,}           ", *(f"{run['loss']:8.3f}" for run in runs))

# %% [markdown]
r"""
<details><summary>Answer</summary>

After 262,144 tokens from 2.67 to 1.80 nats<!-- shown: 2.674 1.801 -->: a third less, for 72 times the parameters. Eight times the tokens bring the largest model to the same value from 2.42<!-- shown: 2.422 -->. Both help, and neither alone goes far.

</details>
"""

# %% [markdown]
r"""
**The fit**, in the paper's own form: the sum as a log-sum-exp, Huber's loss of the logarithms (outliers count less), and L-BFGS, which uses curvature, from several starts.

**Predict.** Fitted to the four smaller numbers of tokens, how far off is the law for the largest? And does it matter whether $N$ counts the embeddings?
"""


# %%
def fitted(rows, embeddings=True):
    """Fit the law, with or without the embeddings in N."""
    size = [r["num_parameters"] - (0 if embeddings else r["num_embedding"]) for r in rows]
    data, losses = [[r[what] for r in rows] for what in ("num_tokens", "loss")]
    return measure.fit_scaling_law(size, data, losses)


early_runs = [run for run in recorded if run["num_tokens"] < largest]
asked = [(recorded, True), (recorded, False), (early_runs, True)]
everything, without, early = [fitted(*one) for one in bar(asked, desc="three fits")]

# %%
off = [run["loss"] / everything(run["num_parameters"], run["num_tokens"]) - 1 for run in recorded]
print(f"residuals: {(sum(one**2 for one in off) / len(off)) ** 0.5:.1%}", end="")
print(f" on average (root of the mean square), {max(map(abs, off)):.1%} at worst")
for name, law in (("all parameters", everything), ("without tables", without)):
    print(f"{name}: E {law.E:.2f}  A {law.A:.1f}  B {law.B:.1f}", end="")
    print(f"  alpha {law.alpha:.2f}  beta {law.beta:.2f}")
for run in recorded:
    if run["num_tokens"] == largest:
        said = early(run["num_parameters"], largest)
        print(
            f"{run['num_parameters']:8,} parameters: predicted {said:.3f}, seen {run['loss']:.3f}",
            end="",
        )
        print(f"  ({said / run['loss'] - 1:+.1%})")

# %% mystnb={"image": {"alt": "Loss against the number of tokens, both logarithmic, for five sizes: points are measured, lines the fitted law. Larger models lie lower; the points stray from the lines by a few percent."}}
axes = plotting.new_figure("The fit follows the points to a few percent", "tokens", "loss (nats)")
colours = ["blue", "orange", "green", "pink", "blue"]
places = sorted({run["num_tokens"] for run in recorded})
for width, colour in zip(WIDTHS, colours, strict=True):
    runs = [run for run in recorded if run["d_model"] == width]
    seen = [run["loss"] for run in runs]
    line = [everything(runs[0]["num_parameters"], place) for place in places]
    plotting.line(axes, places, line, f"width {width}", colour, (places[-1] * 1.1, line[-1]))
    plotting.line(axes, places, seen, "", colour, None, "o")
plotting.power_axis(axes, places)
_ = axes.set(yscale="log", xlim=(places[0] * 0.9, places[-1] * 2.2))
axes.set_yticks([1.6, 2.0, 2.4, 2.8, 3.2], ["1.6", "2.0", "2.4", "2.8", "3.2"])
axes.minorticks_off()

# %% [markdown]
r"""
<details><summary>Answer</summary>

The law follows all 25 points to 2.4% on average<!-- shown 2: 2.4 -->, and misses the largest number of tokens by 0.5 to 7%<!-- shown 2: 7.0 -->: good for a plan, not for a proof. Without the tables $\alpha$ is 0.14 instead of 0.26<!-- shown 2: 0.14 0.26 -->: one data set, two laws.

$E$ should be the loss of an infinitely large model with endless text. Here it comes out near zero, but no text has a loss that low: our models are too small to feel the floor, and a fit does not see what the data do not show.

</details>
"""

# %% [markdown]
r"""
### Exercise: `compute_optimal`

*Difficulty · importance · minutes*

Write `compute_optimal(flops, A, B, alpha, beta, E) -> (num_parameters, num_tokens, loss)`: where $E + A/N^\alpha + B/D^\beta$ is smallest among all $N$ and $D$ with $6ND = $ `flops`.

Three floats; $N$ and $D$ need not be whole. The answer is checked to one part in ten thousand, so a search is as good as a formula.
"""


# %% exercise="compute_optimal"
def compute_optimal(flops, A, B, alpha, beta, E):
    """Return the best parameters and tokens for a budget, and the loss there."""
    ### BEGIN SOLUTION: Put D = C/6N into the law and set the derivative to zero.
    ratio = alpha * A / (beta * B)
    num_parameters = (ratio * (flops / 6) ** beta) ** (1 / (alpha + beta))
    num_tokens = flops / 6 / num_parameters
    return (
        num_parameters,
        num_tokens,
        E + A / num_parameters**alpha + B / num_tokens**beta,
    )
    ### END SOLUTION


# %%
check("compute_optimal", compute_optimal)
# hint("compute_optimal")

# %% [markdown]
r"""
**Published laws, one budget.** Chinchilla was trained with $5.76 \cdot 10^{23}$ operations: 70 B parameters, 1.4 T tokens.

**Predict.** Put that budget into the constants printed in the same paper. Does Chinchilla come out?
"""

# %%
for budget, whose in ((5.76e23, "Chinchilla"), (6 * count["GPT-3"] * 300e9, "GPT-3")):
    print(f"{whose}, {budget:.2e} operations")
    for name, law in LAWS.items():
        best, data, loss = measure.compute_optimal(budget, *law)
        print(f"  {name:21} {best / 1e9:5.1f} B  {data / 1e12:4.2f} T tokens", end="")
        print(f"  {data / best:4.1f} per parameter   loss {loss:.3f}")
    rule = (budget / 120) ** 0.5
    print(f"  {'20 tokens / parameter':21} {rule / 1e9:5.1f} B  {20 * rule / 1e12:4.2f} T tokens")
print(f"GPT-3 itself: {count['GPT-3'] / 1e9:.0f} B, {300e9 / count['GPT-3']:.1f} per parameter")

# %% [markdown]
r"""
<details><summary>Answer</summary>

No: 32 B and 93 tokens per parameter<!-- shown: 32.2 92.6 -->, where Chinchilla has 20. The exponents were rounded for print; unrounded ones give 40 B. Besiroglu et al. (2024) fitted the paper's data again and get 72 B and 18, which agrees with the paper's two other methods.

"$N$ and $D$ both grow as $\sqrt C$" holds in all of them, roughly. "20 tokens per parameter" is a rule for one budget's neighbourhood, one data set and one way of counting; GPT-3 saw 1.7. And a law predicts *loss*, not abilities.

</details>
"""

# %% [markdown]
r"""
**Explore.** Above, a model and a step of its training; below, a budget and a law: the published ones, and ours. What is saved for the backward pass is counted for pre-norm layers with fused attention and without dropout.

**Predict**, then try: (1) GPT-3, 8 texts of 2,048: does recomputing the layers lower the bytes by half? (2) At which length do GPT-2's $QK^\top$ and $PV$ cost as much as its feed-forward part? (3) What share of Llama 3 8B's parameters are its two tables?
"""

# %% tags=["nbval-ignore-output"] reason="a widget has a new id in every run"
ours = [everything.A, everything.B, everything.alpha, everything.beta, everything.E]
budget_explorer("GPT-3", budget=23.5, own={"this notebook's": [round(x, 4) for x in ours]})

# %% [markdown]
r"""
<details><summary>Answer</summary>

1. No. What is saved shrinks to a fraction, but most bytes are weights, gradients and Adam's states, and they stay.
2. $4\,n\,d = 16\,d^2$, so $n = 4\,d = 3072$: near 4,096 they pass it.
3. 13%: 128,256 tokens, and the output matrix is not tied.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** A model will be asked a billion questions. Should its size be the compute-optimal one?

- A. Yes, it has the smallest loss for the budget.
- B. No, smaller and trained for longer.
- C. No, larger.

<details><summary>Answer</summary>

- A is wrong: the budget counts training only. Each answer costs $2N$ per token.
- **B is right.** Llama 3 8B read 15 T tokens, almost 1,900 per parameter.
- C is wrong: it makes each answer cost more.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 12. Does ability jump?

"Emergent abilities arise unpredictably at certain scales." Look at one run: the dates without smoothing, judged on the way by two measures. A date has ten characters.

**Predict.** The share of right *characters* climbs smoothly. What does the share of right *dates* do?
"""

# %% mystnb={"image": {"alt": "Two curves over training steps: the share of right characters rises early and smoothly; the share of wholly right dates stays near zero for long and then climbs steeply. The tenth power of the first follows the second."}}
run = next(one for one in dates_record if one["what"] == "smoothing" and one["smoothing"] == 0)
at = [one["step"] for one in run["curve"]]
accuracy, exact = ([one[what] for one in run["curve"]] for what in ("accuracy", "exact"))
powers = [share**10 for share in accuracy]
axes = plotting.new_figure("One run, two measures", "step", "share right")
plotting.line(axes, at, accuracy, "characters", "blue", (at[-1] + 15, accuracy[-1] + 0.03), "o-")
plotting.line(axes, at, exact, "dates", "orange", (at[-1] + 15, exact[-1] - 0.04), "o-")
plotting.line(axes, at, powers, "characters to the tenth", "green", (at[5], 0.5), "--")
_ = axes.set(xlim=(0, at[-1] * 1.3), ylim=(0, 1.08))
for step, p, power, whole in zip(at, accuracy, powers, exact, strict=True):
    print(f"step {step:4}: characters {p:.3f}, to the tenth {power:.3f}, dates {whole:.3f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

It stays near zero, while more than half of the characters are right, and then climbs. $p^{10}$ is sharp where $p$ is smooth, and follows the share of right dates closely: 0.955 and 0.958 at the end<!-- shown: 0.955 0.958 -->. Nothing jumped but the measure.

</details>

Both sides: Wei et al. (2022) list tasks where measured ability leaves chance only at some scale; Schaeffer et al. (2023) show that many such jumps vanish with a smooth measure. A sharp measure may still be the one that matters: half a date is of no use. "Few-shot learning emerges at 1 B parameters" has no support in GPT-3's own figures, which show no threshold: gains grow gradually from 0.1 to 175 B.
"""

# %% [markdown]
r"""
<details><summary>What published texts say, once more: right, wrong, or right under a condition?</summary>

1. "GPT-1: 5 B training tokens; GPT-2: 40 B." The numbers are *gigabytes of text*. GPT-1's corpus holds about a billion words, read about a hundred times; WebText's 40 GB are some ten billion tokens.
2. "GPT-3: 175 B parameters, 300 B tokens." Right.
3. "GPT-4: 1.8 T, 13 T." A rumour.
4. "Constitutional AI is self-supervised alignment." It is feedback: a model criticises its answers by written principles, and reinforcement learning uses an AI's preferences; InstructGPT uses people's.
5. "Chain of thought needs 100 B." For base models of 2022; small ones trained for it do it too.
6. "Dropout of 0.1 on attention and feed-forward." The original's; hardly used where each text is read once.

</details>
"""

# %% [markdown]
r"""
**Named, not built here.** T5 casts every task as text to text and hides *spans* of tokens. UL2 mixes three kinds of hiding. PaLM (540 B) and others split a model over many devices: data, tensors, pipelines; chapter 16 has them. Sparse attention, which trains longer texts, is chapter 08's. Following instructions is taught afterwards, from examples and preferences. The ability to write code grew with the code in the training text, and is measured by running what is written.
"""

# %% [markdown]
r"""
## Yours: a model trained by your functions

The small GPT of chapter 10 on Python's help, with your loss and your accumulation: four micro-batches of different length make one step of plain SGD. Then your masking and your smoothing on the same text. Your counts say what it cost, and your optimum what would have been best.

**Predict.** Will the loss be the same as with one big batch?
"""


# %%
pages = character_text()


def trained_with(parts):
    """Train a small GPT by accumulated gradients of the given loss; return losses and counts."""
    torch.manual_seed(0)
    draw = torch.Generator().manual_seed(0)
    model = models.GPT(96, d_model=16, num_heads=2, num_layers=1, max_length=32).double()
    leaves, losses = list(model.parameters()), []

    def summed(text):
        counts = text[:, 1:].numel()
        return parts.causal_lm_loss(model.logits(text), text, -1) * counts, counts

    for _ in bar(range(25), desc="25 steps of 4 parts"):
        micro = [random_windows(pages.train, n, 8, draw)[0] for n in (32, 9, 21, 14)]
        gradients = parts.accumulated_gradient(summed, leaves, micro)
        with torch.no_grad():
            for leaf, gradient in zip(leaves, gradients, strict=True):
                leaf -= 0.5 * gradient
            losses.append(sum(summed(text)[0] for text in micro).item() / (8 * 72))
    return model, losses


# %%
def experiment(parts):
    """Train, hide tokens, smooth, count, plan."""
    model, losses = trained_with(parts)
    batch = random_windows(pages.train, 32, 64, torch.Generator().manual_seed(1))[0]
    _, labels = parts.mask_tokens(batch, 0, 96, [0], torch.Generator().manual_seed(2))
    with torch.no_grad():
        smoothed = parts.label_smoothed_loss(model.logits(batch), batch, 0.1, -100)
    shape = (96, 16, 1, 64, 2, 2, 32, False, True, False)
    count = parts.transformer_parameters(*shape)
    flops = 25 * parts.training_flops(32, 19, 16, 1, 64, 96, False)
    return {
        "losses": losses,
        "about 15% selected": abs((labels >= 0).double().mean().item() - 0.15) < 0.02,
        "smoothed loss of repeating": smoothed,
        "parameters": count,
        "bytes": parts.training_memory_bytes(count, count, 0, "sgd", False),
        "best for the budget": list(parts.compute_optimal(float(flops), 9.3, 25.6, 0.3, 0.3, 0.5)),
    }


# %% tags=["nbval-ignore-output"] reason="whose functions run, and how fast, depends on the reader"
LOSSES = ("causal_lm_loss", "accumulated_gradient", "mask_tokens", "label_smoothed_loss")
COUNTS = ("transformer_parameters", "training_flops", "training_memory_bytes", "compute_optimal")
note = yours(*LOSSES, *COUNTS).run(experiment)
found = note.course
print(f"loss {found['losses'][0]:.2f} at first, {found['losses'][-1]:.2f} after 25 steps")
print(f"{found['parameters']:,} parameters, {found['bytes']:,} bytes to train them")
note

# %% [markdown]
"""
<details><summary>Answer</summary>

Yes, to rounding. The gradient is the big batch's, so every step is too, and so is every loss after it. A loss that is shifted wrongly, or a mean of means, shows in the second number of the list.

</details>
"""

# %% [markdown]
r"""
## Recap

1. GPT is asked for every next token, BERT for the 15% that are *selected*, of which 80% become `[MASK]`. Shift once, leave padding out, and average over tokens. Smoothing moves the floor of the loss and ends the growth of logits.
2. Pre-norm lets twelve layers learn at rates where post-norm learns nothing; thirty steps of warm-up changed neither. Clipping by the global norm shortens the gradient and keeps its direction. Accumulate sums, not means. Checkpointing saves most of the activations for at most a third more operations. Mixed precision needs float32 weights, and halves activations at best.
"""

# %% [markdown]
r"""
3. $12\,d^2$ parameters per layer, and every published size to the last one. $6ND$ operations, and a few percent more. 16 bytes per parameter with Adam, in either precision.
4. A law fits losses to a few percent and predicts the next budget roughly. Its constants depend on what is counted, on rounding and on who fits; three answers for one budget are normal.

**Next**: chapter 13 asks what attention's weights show, and what they do not.
"""

# %% [markdown]
"""
## Go further

- Devlin et al. (2019): masked tokens and next sentences. Radford et al. (2018, 2019), Brown et al. (2020): GPT-1 to GPT-3.
- Szegedy et al. (2016), Müller et al. (2019): label smoothing, and when it helps.
- Xiong et al. (2020): warm-up and the place of the norm. Loshchilov and Hutter (2019): AdamW.
- Chen et al. (2016): checkpointing and its square root. Micikevicius et al. (2018): mixed precision.
- Korthikanti et al. (2022): what a layer keeps. Rajbhandari et al. (2020): 16 bytes per parameter.
- Kaplan et al. (2020), Hoffmann et al. (2022), Besiroglu et al. (2024): scaling laws.
- Wei et al. (2022), Schaeffer et al. (2023): emergence, and doubt.
- Raffel et al. (2020): T5. Tay et al. (2023): UL2. Ouyang et al. (2022), Bai et al. (2022): feedback.
"""

# %% [markdown]
"""
<details><summary>BibTeX</summary>

```bibtex
@inproceedings{devlin2019bert,
  title = {{BERT}: Pre-training of Deep Bidirectional Transformers for Language Understanding},
  author = {Devlin, Jacob and Chang, Ming-Wei and Lee, Kenton and Toutanova, Kristina},
  booktitle = {NAACL}, year = {2019}, url = {https://arxiv.org/abs/1810.04805}}
@inproceedings{brown2020language,
  title = {Language Models are Few-Shot Learners},
  author = {Brown, Tom and Mann, Benjamin and Ryder, Nick and others},
  booktitle = {NeurIPS}, year = {2020}, url = {https://arxiv.org/abs/2005.14165}}
@inproceedings{szegedy2016rethinking,
  title = {Rethinking the Inception Architecture for Computer Vision},
  author = {Szegedy, Christian and Vanhoucke, Vincent and Ioffe, Sergey and Shlens, Jon and Wojna, Zbigniew},
  booktitle = {CVPR}, year = {2016}, url = {https://arxiv.org/abs/1512.00567}}
@inproceedings{xiong2020layer,
  title = {On Layer Normalization in the Transformer Architecture},
  author = {Xiong, Ruibin and Yang, Yunchang and He, Di and others},
  booktitle = {ICML}, year = {2020}, url = {https://arxiv.org/abs/2002.04745}}
@inproceedings{loshchilov2019decoupled,
  title = {Decoupled Weight Decay Regularization},
  author = {Loshchilov, Ilya and Hutter, Frank},
  booktitle = {ICLR}, year = {2019}, url = {https://arxiv.org/abs/1711.05101}}
@misc{chen2016training,
  title = {Training Deep Nets with Sublinear Memory Cost},
  author = {Chen, Tianqi and Xu, Bing and Zhang, Chiyuan and Guestrin, Carlos},
  year = {2016}, url = {https://arxiv.org/abs/1604.06174}}
@inproceedings{micikevicius2018mixed,
  title = {Mixed Precision Training},
  author = {Micikevicius, Paulius and Narang, Sharan and Alben, Jonah and others},
  booktitle = {ICLR}, year = {2018}, url = {https://arxiv.org/abs/1710.03740}}
@misc{korthikanti2022reducing,
  title = {Reducing Activation Recomputation in Large Transformer Models},
  author = {Korthikanti, Vijay and Casper, Jared and Lym, Sangkug and others},
  year = {2022}, url = {https://arxiv.org/abs/2205.05198}}
@inproceedings{rajbhandari2020zero,
  title = {{ZeRO}: Memory Optimizations Toward Training Trillion Parameter Models},
  author = {Rajbhandari, Samyam and Rasley, Jeff and Ruwase, Olatunji and He, Yuxiong},
  booktitle = {SC}, year = {2020}, url = {https://arxiv.org/abs/1910.02054}}
@misc{kaplan2020scaling,
  title = {Scaling Laws for Neural Language Models},
  author = {Kaplan, Jared and McCandlish, Sam and Henighan, Tom and others},
  year = {2020}, url = {https://arxiv.org/abs/2001.08361}}
@inproceedings{hoffmann2022training,
  title = {Training Compute-Optimal Large Language Models},
  author = {Hoffmann, Jordan and Borgeaud, Sebastian and Mensch, Arthur and others},
  booktitle = {NeurIPS}, year = {2022}, url = {https://arxiv.org/abs/2203.15556}}
@misc{besiroglu2024chinchilla,
  title = {Chinchilla Scaling: A Replication Attempt},
  author = {Besiroglu, Tamay and Erdil, Ege and Barnett, Matthew and You, Josh},
  year = {2024}, url = {https://arxiv.org/abs/2404.10102}}
@article{wei2022emergent,
  title = {Emergent Abilities of Large Language Models},
  author = {Wei, Jason and Tay, Yi and Bommasani, Rishi and others},
  journal = {TMLR}, year = {2022}, url = {https://arxiv.org/abs/2206.07682}}
@inproceedings{schaeffer2023emergent,
  title = {Are Emergent Abilities of Large Language Models a Mirage?},
  author = {Schaeffer, Rylan and Miranda, Brando and Koyejo, Sanmi},
  booktitle = {NeurIPS}, year = {2023}, url = {https://arxiv.org/abs/2304.15004}}
```

</details>
"""
