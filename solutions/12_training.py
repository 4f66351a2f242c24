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

A budget of operations can buy a large model that reads little, or a small one that reads much. Between them lies the lowest loss that a fitted law promises.

Play for one minute: change the budget and the law. **For what GPT-3 cost, is its size of 175 billion parameters on the right, the left, or at the lowest point?** At the end of the chapter you can explain it, and count the cost yourself.
"""

# %% tags=["remove-input"]
from course_utils.widgets import budget_explorer

budget_explorer("GPT-3", budget=23.5)

# %% [markdown]
r"""
*You will be able to*

1. write GPT's loss without its off-by-one and, further, BERT's masking and smoothed targets;
2. write AdamW and a training loop around it; warm up, clip, accumulate, checkpoint and, further, mix precision, and say what each costs and saves;
3. count the parameters of a published model to the last one, and, further, its operations and bytes;
4. (further) fit a scaling law, spend a budget by it, and say what it does not tell.

*You need* chapters 02 (the dates), 03 (softmax and its gradient), 06 (causal masks), 10 (the small GPT) and 11 (the Transformer and the place of its norms).

*Core path · further*
"""

# %% [markdown]
"""
How to read: each experiment begins with a question. Write down your guess, run the cell, then open the answer.

The vocabulary has $V$ tokens, $N$ is the number of parameters, $D$ the number of tokens read in training, $C$ the number of operations. Losses are in nats: natural logarithms.

What takes too long for a notebook was recorded beforehand, by scripts in `benchmarks/`; the cells read those records, and say so. Sentences and listings that are judged come from five published texts, A to E, which the site's page *What is measured here* lists by title.
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
import math
import sys
import warnings
from functools import partial

import torch
from matplotlib.lines import Line2D
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop
from tqdm import tqdm

from course_utils import attention, measure, models, plotting
from course_utils.data import DateTokens, character_text, random_windows, sample_dates
from course_utils.guessing import draw_guess, guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.live_curve import LiveCurve
from course_utils.models import DeepStack, EncoderLayer, Transformer
from course_utils.widgets import budget_explorer, cost_explorer
from course_utils.widgets.budget_explorer.budget_explorer import LAWS

plotting.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=3, sci_mode=False, linewidth=100)
generator = torch.Generator().manual_seed(0)
bar = partial(tqdm, ncols=70, mininterval=1, file=sys.stdout)

# %%
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
**Find the error.** A training loop compares the scores at each position with the token *at that position*: `F.cross_entropy(logits.flatten(0, 1), tokens.flatten())`. (A common slip; in none of the five texts.)

**Predict.** Which model gets a loss of zero, without reading any context?
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

# %% guess={"name": "12.mask", "kind": "number", "asks": "BERT selects 15% of the tokens: what share of all tokens becomes [MASK], in per cent?", "low": 0, "high": 30, "unit": "%", "reads": "became [MASK] {}% of all"}
guess("12.mask")

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
**A loss that forgets half of its data.** BERT was also asked whether the second sentence followed the first, which was true of half of the pairs. Text E gives the loss as $-\log P(\text{IsNext})$.

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

# %% [markdown]
r"""
**Whole spans, and text to text.** T5 (Raffel et al., 2020) hides *spans* of about three tokens, 15% in all. Each span becomes one **sentinel** in the input; the decoder writes each sentinel and the tokens behind it. Every task has this form for T5, text in and text out. UL2 (Tay et al., 2023) mixes three kinds of hiding: short spans, many or long ones, and the whole end of the text.

**Predict.** 512 tokens. How many does the model read, and how many is it asked for: GPT, BERT, T5?
"""


# %%
def hide_spans(tokens, share, mean, generator):
    """Return what is read and what is asked, with a sentinel for each span."""
    hidden = max(1, round(share * len(tokens)))
    spans = max(1, round(hidden / mean))
    cuts = torch.randperm(hidden - 1, generator=generator)[: spans - 1].sort().values + 1
    ends = [*cuts.tolist(), hidden]
    gaps = torch.randperm(len(tokens) - hidden, generator=generator)[:spans].sort().values
    read, asked, at, before = [], [], 0, 0
    for number, (gap, end) in enumerate(zip(gaps.tolist(), ends, strict=True)):
        start, stop = gap + before, gap + end
        read += [*tokens[at:start], f"<{number}>"]
        asked += [f"<{number}>", *tokens[start:stop]]
        at, before = stop, end
    return read + tokens[at:], asked


# %%
draw = torch.Generator().manual_seed(3)
sentence = ["a", "text", "of", "ten", "words", "of", "which", "some", "are", "hidden"]
for what, words in zip(("read", "asked"), hide_spans(sentence, 0.4, 2, draw), strict=True):
    print(f"{what:6}", *words)
long = list(range(512))
rows = {"GPT": (512, 511), "BERT, 15% selected": (512, round(0.15 * 512))}
for name, share, mean in (
    ("T5: 15% in spans of 3", 0.15, 3), ("UL2: 15%, spans of 8", 0.15, 8),
    ("UL2: 50%, spans of 3", 0.5, 3), ("UL2: 15%, spans of 64", 0.15, 64),
):  # fmt: skip
    rows[name] = tuple(map(len, hide_spans(long, share, mean, draw)))
rows["UL2: the last quarter"] = (384 + 1, 128 + 1)
for name, (read, asked) in rows.items():
    print(f"{name:23} reads {read}, is asked {asked}: {asked / read:.2f} for each that it reads")

# %% [markdown]
r"""
<details><summary>Answer</summary>

GPT 512 and 511, BERT 512 and 77, T5 461 and 103<!-- shown 2: 512 511 77 461 103 -->: its 77 hidden tokens lie in 26 spans, and each span is one sentinel on either side. So T5 reads less than BERT for as many hidden tokens, and writes them one after the other, in an order, as GPT does. UL2's kinds differ in how much is asked for each token read, from 0.18 to 1.00<!-- shown 2: 0.18 1.00 -->; its last kind, the end of the text, is the prefix model of chapter 11.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 3. How sure should it be?

Cross-entropy is never satisfied: a right token at probability 0.99 still asks for more, and logits can grow without end. **Label smoothing** (Szegedy et al., 2016) changes the target: $1 - \varepsilon$ for the right token, and $\varepsilon$ spread over all $V$, the right one included:

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


# %% mystnb={"image": {"alt": "Smoothed training loss against the step, from 0 to 200: it falls steeply at first and then slowly, and stays above the dashed line of the floor, 0.556."}}
torch.manual_seed(0)
reader = Transformer(*sizes, d_model=64, num_heads=4)
plan = {"steps": 200, "seed": 0, "learning_rate": 6e-3}
with LiveCurve("Dates: the smoothed loss stays above its floor", 200) as curve:
    plotting.line(curve.figure.axes[0], [0, 200], [floor] * 2, "floor", "orange", (3, 0.8), "--")
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

The accuracy is the same: 0.958 and 0.959 of the dates<!-- shown: 0.958 0.959 -->. Confidence falls from 0.993 to 0.900<!-- shown: 0.993 0.900 -->, towards the target's 0.907; the gap between logits stops at 4.6, as computed above<!-- shown: 4.6 -->; and the unsmoothed loss *rises*: the model has been told not to believe itself. Vaswani et al. (2017) report the same of translation: a worse perplexity, and better accuracy and BLEU.

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

**What warm-up is for.** Recorded: 12 layers, width 32, characters of Python's help, 150 steps at the rate 0.003, no clipping; norms before each part (**pre**, chapter 11) or after each sum (**post**); without warm-up, and with 30 and 100 steps of it. (Chapter 11 has a third of the rate, at which nothing stands out.)

**Predict.** Which of the six suffer? Does a short warm-up help them as well as a long one?
"""

# %% guess={"name": "12.stuck", "kind": "curve", "asks": "Twelve layers with the norm after each sum train at the rate 0.003 from the first step: what is the loss, in nats per character, at these steps?", "low": 2.5, "high": 4.5, "unit": "nats", "x": [5, 25, 55, 85, 115, 145], "across": "step", "reads": "step {x}: {}"}
guess("12.stuck")

# %% mystnb={"image": {"alt": "Loss over 150 steps of six stacks of twelve layers at the rate 0.003. With the norm before each part all three fall to 2.7 nats. With the norm after each sum and no warm-up the loss stays at the line of frequencies, 3.25; with 30 and 100 steps of warm-up it falls below it, late."}}
help_text = character_text()
shares = torch.bincount(help_text.train) / len(help_text.train)
naive = torch.special.entr(shares).sum().item()
deep = [run for run in stability if run["what"] == "depth"]
axes = plotting.new_figure("Twelve layers at the rate 0.003, seed 0", "step", "loss (nats)")
looks = {0: ":", 30: "--", 100: "-"}
for run in deep:
    if run["seed"] == 0:
        at = [run["every"] * (place + 0.5) for place in range(len(run["losses"]))]
        colour = "blue" if run["pre_norm"] else "orange"
        plotting.line(axes, at, run["losses"], "", colour, None, looks[run["warmup"]])
plotting.line(axes, [0, 150], [naive, naive], "frequency alone", "green", (90, naive + 0.23), "-.")
for name, colour, height in (("pre", "blue", 2.72), ("post", "orange", 3.0)):
    axes.text(152, height, name, color=plotting.COLOURS[colour], fontweight="bold", va="center")
styles = [Line2D([], [], color=plotting.QUIET, linestyle=look) for look in looks.values()]
axes.legend(styles, ["no warm-up", "30 steps", "100 steps"], frameon=False)
axes.set(xlim=(0, 168), xticks=range(0, 151, 30), ylim=(2.5, 4.5))
draw_guess(axes, "12.stuck")
stuck = next(run["losses"] for run in deep if not (run["pre_norm"] or run["warmup"] or run["seed"]))
print("post, no warm-up ", *(f" step {10 * i + 5}: {stuck[i]:.2f}" for i in (0, 2, 5, 8, 11, 14)))

# %%
print("mean loss of the last 10 steps, seed by seed")
for pre_norm in (True, False):
    print("pre " if pre_norm else "post", end="")
    for warmup in looks:
        same = {"pre_norm": pre_norm, "warmup": warmup}
        ends = [f"{run['losses'][-1]:.2f}" for run in deep if same.items() <= run.items()]
        print(f"   warm-up of {warmup}: {' '.join(ends)}", end="")
    print()
print(f"knowing only how frequent each character is: {naive:.2f} nats")

# %% [markdown]
r"""
**Predict.** A loss of 3.25 can be had without reading anything. Read 1,024 positions of a text that was not trained on: how much does the answer vary from one to the next, in a stack that learns and in one that is stuck? Which of its layers still get a gradient?
"""

# %%
print("trained without warm-up; 1,024 positions of unseen text")
for run in deep:
    if run["warmup"] == 0:
        norms = " ".join(f"{run['gradients'][i]:.4f}" for i in (0, 3, 7, 10, 11))
        print(
            f"{'pre ' if run['pre_norm'] else 'post'} seed {run['seed']}: log-probabilities vary by",
            end="",
        )
        print(f" {run['spread']:.3f}; gradient of layers 1, 4, 8, 11, 12: {norms}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

*Post* without warm-up stays near the loss of frequencies alone, with both seeds, and it does answer with frequencies: over 1,024 positions its log-probabilities do not vary at all, where *pre* has 0.93 and 0.98<!-- shown: 0.000 0.93 0.98 -->. Forwards its twelve layers pass nothing on; backwards the gradient shrinks from 0.03 in the last layer to less than 0.0001 in the first<!-- shown: 0.03 0.0000 -->. With *pre* the stream is a plain sum, and here every layer still gets a gradient.

A warm-up lets *post* out: 2.97 with 30 steps of it, 2.84 with 100<!-- shown 2: 2.97 2.84 -->, one seed each. *Pre* gains nothing by it. Vaswani et al. used post-norm and 4,000 steps of warm-up; Xiong et al. (2020) trained pre-norm without.

</details>
"""

# %% [markdown]
r"""
**Clipping by the global norm.** All gradients together are one long vector. If it is longer than $c$, all of it is multiplied by $c$ over its length.

**Predict.** Two parameters have the gradients $(3, 0)$ and $(0, 4)$; $c = 1$. What comes out, and what if each *number* were cut at 1 instead?
"""

# %% guess={"name": "12.clip", "kind": "number", "asks": "Two parameters have the gradients ({a}, 0) and (0, {b}), and both are clipped to a global norm of 1: what becomes of the {a}?", "low": 0, "high": 5, "reads": "by the global norm: [[{}, ", "varied": [{"a": 3, "b": 4}, {"a": 8, "b": 6}, {"a": 5, "b": 12}], "becomes": "a / max(1, sqrt(a * a + b * b))"}
guess("12.clip")

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

# %% guess={"name": "12.start", "kind": "number", "asks": "Twelve layers with ReLU, 256 wide, weights of variance 1/256: numbers of spread 1 go in, and what size (root of the mean square) comes out?", "low": 0.0001, "high": 100, "log": true, "reads": "ReLU {_}e{_}e{_} {}"}
guess("12.start")

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

Xavier keeps the spread where nothing bends, as in attention's projections. ReLU throws half of the square away, so there He's factor of two is needed; with Xavier, twelve layers shrink it to a fiftieth<!-- shown: 2.0e-02 -->. (Xavier's own formula takes the mean of both widths, $2/(d_{in} + d_{out})$.) In a Transformer the norms repair the scale at every layer, and residuals let the gradient pass. So GPT-2 can begin with 0.02, and with 0.02 over the root of the number of sums for the matrices that end in one, lest the stream grow with the depth (Radford et al., 2019).

</details>
"""

# %% [markdown]
r"""
## 5. The step itself: AdamW, and a loop around it

Adam (Kingma and Ba, 2015) keeps two running means for each number that is learnt: $m$ of its gradients $g$, and $v$ of their squares. Both begin at zero and are *corrected* for it; then each number moves by its mean gradient over the root of its mean square. AdamW (Loshchilov and Hutter, 2019) lets the weights **decay** besides, outside of that division. At step $s = 1, 2, \dots$:

$$m \leftarrow \beta_1 m + (1 - \beta_1)\,g, \quad v \leftarrow \beta_2 v + (1 - \beta_2)\,g^2, \quad \hat m = \frac{m}{1 - \beta_1^s}, \quad \hat v = \frac{v}{1 - \beta_2^s}$$

$$\theta \leftarrow \theta\,(1 - \eta\lambda) - \eta\,\frac{\hat m}{\sqrt{\hat v} + \varepsilon}$$

**Predict.** The very first step, $\varepsilon = 0$ and no decay: by how much does a number move whose gradient is 1000? One whose gradient is 0.001?
"""

# %% guess={"name": "12.adam", "kind": "number", "asks": "Adam's very first step at the rate {rate}, with epsilon 0 and no decay: how far does a number move whose gradient is {gradient}?", "low": 1e-06, "high": 10, "log": true, "reads": "betas 0.9, 0.98: moved by {_} -{};", "varied": [{"gradient": 0.001, "rate": 0.01}, {"gradient": 1000, "rate": 0.01}, {"gradient": 0.5, "rate": 0.003}], "becomes": "rate"}
guess("12.adam")

# %%
zeros, gradient = torch.zeros(2), torch.tensor([1000.0, 0.001])
for beta_2 in (0.98, 0.999):
    how = {"rate": 0.01, "betas": (0.9, beta_2), "eps": 0.0, "weight_decay": 0.0}
    moved, m, v = models.adamw_step(zeros, gradient, zeros, zeros, 1, **how)
    print(f"betas 0.9, {beta_2}: moved by", *(f"{number:.4f}" for number in moved.tolist()), end="")
    print(f"; uncorrected it would be {(m / v.sqrt())[0]:.2f} times that")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Both by the rate, 0.01, against their signs: a first step knows nothing else. Without the corrections it would be 0.71 times that<!-- shown: 0.71 -->, and 3.16 times with torch's own betas<!-- shown: 3.16 -->. After many steps of the same sign both corrections are gone and the step has again the length of the rate; where signs alternate, $m$ is small beside $\sqrt v$, and so is the step.

</details>
"""

# %% [markdown]
r"""
### Exercise: `adamw_step`

*Difficulty · importance · minutes*

Write `adamw_step(parameter, gradient, m, v, step, rate, betas, eps, weight_decay) -> (parameter, m, v)`.

- Four tensors of one shape, whatever the axes; `step` is 1 at the first update; `betas` is $(\beta_1, \beta_2)$, `rate` $\eta$, `weight_decay` $\lambda$.
- The formulas above. Return three new tensors, and the moments as they go into the next step: not corrected.
- Nothing is changed in place, and no gradient is asked of you.
"""


# %% exercise="adamw_step"
def adamw_step(parameter, gradient, m, v, step, rate, betas, eps, weight_decay):
    """Return the parameter after one step, and its two moments."""
    ### BEGIN SOLUTION: Two means, their corrections, then the decay and the step.
    beta_1, beta_2 = betas
    m = beta_1 * m + (1 - beta_1) * gradient
    v = beta_2 * v + (1 - beta_2) * gradient**2
    mean = m / (1 - beta_1**step)
    square = v / (1 - beta_2**step)
    kept = parameter * (1 - rate * weight_decay)
    return kept - rate * mean / (square.sqrt() + eps), m, v
    ### END SOLUTION


# %%
check("adamw_step", adamw_step)
# hint("adamw_step")

# %% [markdown]
r"""
**A whole training loop.** A small GPT as in chapter 10, on the byte pairs of Python's help: windows of text, the loss of section 1, clipping, the cosine of section 4, and a step of AdamW for each parameter. Matrices and tables decay, gains and biases do not, as in much training code since GPT-2.

**Predict.** 200 steps, a few seconds. What will the model write before, and what after: noise, words, sentences? Will it do as well on topics that it has not read?
"""


# %%
def train_by_hand(model, tokens, steps, peak):
    """Train in place on windows of 64 tokens, eight at a time."""
    draw, leaves = torch.Generator().manual_seed(0), list(model.parameters())
    moments = [(torch.zeros_like(leaf), torch.zeros_like(leaf)) for leaf in leaves]
    for step in bar(range(1, steps + 1), desc="by hand"):
        inputs, targets = random_windows(tokens, 64, 8, draw)
        loss = F.cross_entropy(model.logits(inputs).flatten(0, 1), targets.flatten())
        for leaf, gradient in zip(leaves, torch.autograd.grad(loss, leaves), strict=True):
            leaf.grad = gradient
        nn.utils.clip_grad_norm_(leaves, 1.0)
        rate = models.warmup_cosine(step, peak, steps // 10, steps + 1)
        for i, leaf in enumerate(leaves):
            decay = 0.1 if leaf.dim() > 1 else 0.0
            how = {"rate": rate, "betas": (0.9, 0.98), "eps": 1e-8, "weight_decay": decay}
            leaf.data, m, v = models.adamw_step(leaf.data, leaf.grad, *moments[i], step, **how)
            moments[i] = m, v


def written_by(model, tokenizer):
    """Return what the model draws after three beginnings, at a temperature of 0.7."""
    draw, lines = torch.Generator().manual_seed(1), []
    for prompt in ("The ", "If a ", "class "):
        start = tokenizer.encode(prompt)[None]
        tokens = models.generate(model, start, 30, temperature=0.7, generator=draw)
        lines.append(f"  {prompt}|{tokenizer.decode(tokens[0])}".replace("\n", "⏎"))
    return "\n".join(lines)


# %% tags=["nbval-ignore-output"] reason="training differs in the last digits between machines"
torch.manual_seed(0)
pieces = models.token_text(help_text)
writer = models.GPT(512, d_model=64, num_heads=4, num_layers=2, max_length=64)
print("before", written_by(writer, pieces.tokenizer), sep="\n")
train_by_hand(writer, pieces.train, steps=200, peak=1e-2)
print("after", written_by(writer, pieces.tokenizer), sep="\n")
for name, part in {"the text": pieces.train[:20_000], "other topics": pieces.validation}.items():
    loss = models.next_token_loss(writer, part)
    print(f"loss per token on {name}: {loss:.2f} (knowing nothing: {math.log(512):.2f})")

# %% [markdown]
r"""
<details><summary>What to look at</summary>

Before, byte pairs in random order. After 200 steps there are words, some of them invented, line breaks and quotation marks in likely places, and no meaning: the loss per token is more than two nats below $\ln 512 = 6.24$<!-- shown: 6.24 -->, which knowing nothing costs. It is a little lower on the text than on other topics; that can hardly be memory yet, since 200 steps have not read half of the text. A gap from memory grows when a small text is read again and again (*overfitting*); only the loss on unread text says when to stop.

</details>
"""

# %% [markdown]
r"""
**Four optimisers, one budget.** Recorded: the small GPT of chapter 10, 150 steps each, no clipping; rates up to beyond the best one, which has two seeds.

**Predict.** Which optimiser wins at its best rate, and by how much? Which is hurt least by a wrong one?
"""

# %%
print("loss after 150 steps, by rate; where there are two, of two seeds")
for name in ("SGD", "momentum", "Adam", "AdamW"):
    runs = [run for run in stability if run["what"] == "optimizer" and run["name"] == name]
    print(f"{name:9}", end="")
    for rate in dict.fromkeys(run["rate"] for run in runs):
        ends = [run["loss"] for run in runs if run["rate"] == rate]
        losses = " ".join("diverged" if one is None else f"{one:.3f}" for one in ends)
        print(f"  {rate:g}: {losses}", end="")
    print()

# %% [markdown]
r"""
<details><summary>Answer</summary>

Adam and AdamW, at 0.03: 2.52 with the first seed, 2.49 with the second<!-- shown: 2.522 2.520 2.487 2.493 -->. Momentum at 0.3 is 0.05 and 0.04 behind<!-- shown: 2.572 2.526 -->, plain SGD at 1 is 0.10 and 0.07<!-- shown: 2.627 2.555 -->. Had the search for momentum ended at 0.1, the lead would look like 0.12: "Adam is better" needs rates tried for *both*, to beyond their best.

What a wrong rate costs depends on the side. Three times too high: SGD diverges, Adam and AdamW lose 0.08, momentum next to nothing. Ten times too low: SGD loses 0.40, Adam and AdamW 0.11<!-- shown: 3.026 2.631 2.636 -->. In 150 steps the decay, which AdamW has and Adam has not, does not show.

</details>
"""

# %% [markdown]
r"""
**Dropout** (Srivastava et al., 2014) sets a share $p$ of numbers to zero while training and divides the rest by $1 - p$, so that the mean stays. Vaswani et al. used 0.1, on what each part adds to the stream and on the embeddings; many put it on attention weights too. Large models that read each text once use 0.

**Find the error.** The encoder layer of text D, with its attention written out. Its class takes a dropout of 0.1.

**Predict.** Five modules drop something. Which one never does?
"""


# %%
class PublishedAttention(nn.Module):
    """Text D's attention, without masks: it drops weights, and what it gives."""

    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        self.heads = attention.MultiHeadAttention(d_model, num_heads)
        self.drop_weights, self.drop_output = nn.Dropout(dropout), nn.Dropout(dropout)

    def forward(self, x):
        query, key, value = self.heads.project(x, x, x)
        weights = self.drop_weights(attention.attention_weights(query, key))
        out = self.heads.out_proj(attention.merge_heads(weights @ value))
        return self.drop_output(out)


# %%
class PublishedLayer(nn.Module):
    """Text D's encoder layer, without masks."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = PublishedAttention(d_model, num_heads, dropout)
        wide, narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.feed_forward = nn.Sequential(
            wide, nn.ReLU(), nn.Dropout(dropout), narrow, nn.Dropout(dropout)
        )
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = self.norm1(x + self.self_attn(x))
        return self.norm2(x + self.feed_forward(x))


# %% guess={"name": "12.dropout", "kind": "choice", "asks": "Which of the five dropout modules of text D's encoder layer never drops anything?", "options": {"self_attn.drop_weights": "self_attn.drop_weights moves the output: False", "self_attn.drop_output": "self_attn.drop_output moves the output: False", "feed_forward.2": "feed_forward.2 moves the output: False", "feed_forward.4": "feed_forward.4 moves the output: False", "dropout": "dropout moves the output: False"}, "take": "printed"}
guess("12.dropout")

# %%
layer, x = PublishedLayer(16, 2, 64), torch.randn(1, 5, 16, generator=generator)
print("two passes in training mode are equal:", torch.equal(layer(x), layer(x)))
drops = {name: one for name, one in layer.named_modules() if isinstance(one, nn.Dropout)}
expected = layer.eval()(x)
layer.train()
for name in drops:
    for other, one in drops.items():
        one.p = float(other == name)  # it alone drops, and drops everything
    print(f"{name:22} moves the output: {not torch.allclose(layer(x), expected)}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

`self.dropout` is created and never called: with $p = 1$ there the output is what it is without any dropout. The other four work, so two passes in training mode do differ; whoever looks only at that test, or at the printed class, misses it. What the author meant to drop, the sums' new parts, is dropped inside of both parts.

Besides dropout, smoothing and weight decay there is the oldest safeguard of all, *early stopping*: keep the weights that were best on text not trained on.

</details>
"""

# %% [markdown]
r"""
## 6. A batch that does not fit

A batch is too large for the memory. Take it in parts, add up their gradients, step once: **gradient accumulation**. The result should be the big batch's, to rounding.

**Predict.** Four texts of 37, 19, 24 and 23 tokens. A loop calls `loss.backward()` for each one's *mean* loss, divided by four. Is this the gradient of the mean over all 103 tokens?
"""

# %% guess={"name": "12.means", "kind": "number", "asks": "Four texts of 37, 19, 24 and 23 tokens: by how many per cent is the gradient of the mean of their mean losses off that of the mean over all tokens?", "low": 0, "high": 100, "unit": "%", "reads": "mean of the means: off by {}%"}
guess("12.means")

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

No: it is off by 25%<!-- shown: 25 -->. In the mean of means, a token of the shortest text weighs twice as much as one of the longest. The Trainer of Hugging Face's transformers made this mistake until October 2024 (pull request 34191); it is invisible as long as all parts have equal length. Sum the losses, count the tokens, divide once.

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
## 7. Keep it, or compute it again

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


# %% guess={"name": "12.segments", "kind": "curve", "asks": "16 layers train without checkpoints at a peak of 6336 KiB: at what peak do they train if only the inputs of this many segments are kept?", "low": 0, "high": 7000, "unit": "KiB", "x": [1, 2, 4, 8, 16], "across": "segments", "reads": "{x} {_} {} KiB"}
guess("12.segments")

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

The most segments, one for each layer: a layer keeps about twelve times its input (6,208 KiB for 16, and an input has 32)<!-- shown: 6208 32 -->, so keeping one more input is a small price for a finer cut. $\sqrt L$ is the best cut where a layer keeps only its input, and $L$ counts the *layers*, not the tokens. Memory then grows as $\sqrt L$: text E's "Memory reduction: O(√n)", beside a table in which $n$ is the length, has the wrong letter. One segment for all saves nothing at the peak: when the backward pass arrives, it holds all layers again.

</details>
"""

# %% [markdown]
r"""
<details><summary>And the operations</summary>

One forward pass more is a third of a step, since backward costs two: 33% is the upper limit<!-- shown: 32.7 -->. PyTorch computes every segment again, the last too, and stops inside each as soon as it has the last tensor that it needs.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** Text A calls `torch.utils.checkpoint.checkpoint(attention_fn, q, k, v)`, without `use_reentrant`. What is missing?

- A. Nothing.
- B. `use_reentrant=False`: the old way needs an input that requires a gradient, and warns.
- C. `torch.no_grad()` around it.

<details><summary>Answer</summary>

- A is wrong: PyTorch warns that the argument will have to be given, and with the old default a segment whose inputs need no gradient trains nothing, with no more than a second warning.
- **B is right.**
- C is wrong: then there would be no gradient at all.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 8. Fewer bits

A float32 has 8 bits for its range and 23 for its digits. **bfloat16** keeps the 8 for the range and has 7 for digits; **float16** has 10 for digits, and only 5 for the range.

**Predict.** Start at 1 and add 0.001 a thousand times, in bfloat16. What comes out?
"""

# %% guess={"name": "12.bits", "kind": "number", "asks": "Start at 1 and add 0.001 a thousand times, rounding each sum to bfloat16: what comes out?", "low": 0, "high": 4, "reads": "torch.bfloat16 1 + 1000 * 0.001 = {}"}
guess("12.bits")

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

Autocast, with its float32 weights, ends where float32 does: 0.192 and 0.191 nats<!-- shown: 0.1919 0.1908 -->. Weights in bfloat16 end at 0.244<!-- shown: 0.2444 -->. And fewer bits are *slower* here, about five times: this processor has no units for them. Text E's "Speed increase: 1.5-2×" holds where there are such units and the matrices are large; it is a statement about hardware.

</details>

**Three lines.** The first is text A's, and so is the mask of the second (text E has it too); the third is a common slip, and in none of the five.

**Predict.** What does each do on a machine without a GPU? (1) `with torch.cuda.amp.autocast():` (2) a mask of `-1e9` under float16 autocast. (3) One autocast block around the whole training loop.
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

Saved bytes are not halved at this size (4,672 KiB of 6,208)<!-- shown: 4672 6208 -->: norms and the stream stay in float32, and copies of the weights are kept as well. Text E's "Memory reduction: ~50%" is an upper bound for activations; section 11 adds up the rest.

</details>
"""

# %% [markdown]
r"""
## 9. How many parameters?

**Predict.** GPT-2 has 12 layers of width 768, $d_{ff} = 4 \cdot 768$, 50,257 tokens and 1,024 positions; its output matrix is the embedding, used again. How many parameters are in the layers? Count matrices only: what is the rule of thumb in $d_{model}^2$ for one layer?
"""

# %% guess={"name": "12.layer", "kind": "number", "asks": "A layer of GPT-2 has the width d, and its feed-forward part the width 4d: how many times d² parameters does the layer have?", "low": 1, "high": 100, "log": true, "unit": "d²", "reads": "one layer {_} {} d²"}
guess("12.layer")

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
# PaLM: 48 heads of 256 are not as wide as the stream; one head of keys and values; a gated part.
width, heads, depth = 18_432, 48 * 256, 118
palm = depth * (2 * width * heads + 2 * width * 256 + 3 * width * 4 * width) + 256_000 * width
print(f"{'PaLM, by hand':15} {palm:16,}   {palm / (depth * width**2):5.2f} d² (norms left out)")

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

Up: $d_{ff} = 28672$ is 3.5 widths, and three matrices make $10.5\,d^2$ of it instead of 8. Down: 8 of 64 heads keep keys and values, which leaves $2.25\,d^2$ for attention instead of 4. Together 12.75; the table's 12.85 includes the vocabulary<!-- shown 2: 12.85 -->. T5-small's 60,506,624 is not of this form: an encoder *and* a decoder, cross-attention, and a position bias that the layers share. Nor is PaLM's, whose heads are together two thirds as wide as its stream; its paper says 540.35 B (Chowdhery et al., 2022).

Text E: "GPT-3, PaLM, ChatGPT, and GPT-4 demonstrate emergent capabilities as Transformers scale to hundreds of billions of parameters". True of the first two; no size of ChatGPT or GPT-4 was ever published, so its "~1.8T" cannot be checked.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 10. How many operations?

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

Six: two forward, four backward. $6ND$ leaves out attention's tables, and counts tables that are only looked up. For GPT-3 it is 2.7% too low at 2,048 tokens, and its run comes to $3.14 \cdot 10^{23}$<!-- shown: 3.14e+23 -->.

Text C: "With Bahdanau attention, training would take 19× longer". That multiplies the whole by what happens to the scores and averages, and their share of the layers' forward pass is 2.7% as well (by coincidence). Amdahl's law: 1.49 times<!-- shown: 1.49 -->; 6.5 at 32,768 tokens.

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

# %% [markdown] tags=["further"]
r"""
## 11. How many bytes?

Each parameter has a weight, a gradient and the optimiser's states: Adam keeps two. And the forward pass leaves activations behind.

**Predict.** Llama 7B has 6.74 billion parameters. Adam, float32: how many GiB, before any activation? And in mixed precision?
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

4, 4 and 8, under autocast too: its 16-bit copies come on top. Stored in 16 bits, weights and gradients take 2 each, and the master copy 4: again 16 in all. So 16 bytes for each of 6.74 billion, about 100 GiB, either way (the last cell of this section prints it); only the activations are halved.

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

# %% [markdown] tags=["further"]
r"""
## 12. What does a budget buy?

The loss falls with more parameters and with more tokens, and both cost. Hoffmann et al. (2022) fitted

$$L(N, D) = E + \frac{A}{N^\alpha} + \frac{B}{D^\beta}$$

**Live.** Five widths on the characters of Python's help, one seed; each loss is read off at three numbers of tokens. The rate falls as an inverse root, so that it need not know the end; its peak is the same for all widths.

**Predict.** From the smallest to the largest model (72 times the parameters), by how much does the loss fall?
"""

# %%
WIDTHS, READ_AT = (4, 8, 16, 32, 64), (64, 128, 256)
SHADES = dict(zip(WIDTHS, [*plotting.COLOURS.values(), plotting.INK], strict=True))


def draw_width(axes, x, y, width, at, style="-"):
    """Draw a line or dots in the colour of a width, and its name at a place."""
    axes.plot(x, y, style, color=SHADES[width])
    if at:
        axes.text(*at, f"width {width}", color=SHADES[width], va="center", fontweight="bold")


# %% tags=["nbval-ignore-output"] reason="rounding differs between processors, and training enlarges it" mystnb={"image": {"alt": "Training loss of five models over 256 steps: each curve falls at first steeply and then slowly; the wider the model, the lower it ends."}}
sweep = []
curves = {}
for width in WIDTHS:
    its_bar = partial(bar, desc=f"width {width:2}")
    curves[width] = []
    sweep += models.train_at_width(
        help_text, width, READ_AT, seed=0, progress=its_bar, watch=curves[width].append
    )
axes = plotting.new_figure("Wider models end lower", "step", "training loss (nats)")
for width, losses in curves.items():
    smooth = [sum(losses[max(0, i - 15) : i + 1]) / min(i + 1, 16) for i in range(256)]
    draw_width(axes, range(1, 257), smooth, width, (260, smooth[-1]))
_ = axes.set(xlim=(0, 320), xticks=range(0, 257, 64), ylim=(1.8, 4))

# %% tags=["nbval-ignore-output"] reason="rounding differs between processors, and training enlarges it"
print("     width   loss after", *(f"{point.num_tokens:8,}" for point in sweep[:3]), "tokens")
for width in WIDTHS:
    runs = [point for point in sweep if point.d_model == width]
    print(f"{width:10}           ", *(f"{one.loss:8.3f}" for one in runs))

# %%
record = measure.read_record("chapter_12_scaling")["runs"]
recorded = [run for run in record if run["seed"] == 0]
largest = max(run["num_tokens"] for run in recorded)
print("recorded, the same with 262,144 and 524,288 tokens; seed 0;", end=" ")
print(f"the text has {len(help_text.train):,}")
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

**Predict.** If it is fitted to the four smaller numbers of tokens, how far off is the law for the largest? And does it matter whether $N$ counts the embeddings?
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

# %% mystnb={"image": {"alt": "Loss against the number of tokens, both logarithmic, for five sizes: points are measured, lines the fitted law. Larger models lie lower; the points bend across the lines, those of width 64 more steeply down than the law."}}
axes = plotting.new_figure("The law misses by up to six percent", "tokens", "loss (nats)")
places = sorted({run["num_tokens"] for run in recorded})
for width in WIDTHS:
    runs = [run for run in recorded if run["d_model"] == width]
    law = [everything(runs[0]["num_parameters"], place) for place in places]
    draw_width(axes, places, law, width, (places[-1] * 1.1, law[-1]))
    draw_width(axes, places, [run["loss"] for run in runs], width, None, "o")
plotting.power_axis(axes, places)
axes.text(places[0], 1.62, "dots: measured; lines: the law", color=plotting.QUIET)
_ = axes.set(yscale="log", xlim=(places[0] * 0.9, places[-1] * 2.2))
axes.set_yticks([1.6, 2.0, 2.4, 2.8, 3.2], ["1.6", "2.0", "2.4", "2.8", "3.2"])
axes.minorticks_off()

# %% [markdown]
r"""
<details><summary>Answer</summary>

The law follows all 25 points to 2.4% on average<!-- shown 2: 2.4 -->, and misses the largest number of tokens by 0.5 to 7%<!-- shown 2: 7.0 -->: good for a plan, not for a proof. Without the tables $\alpha$ is 0.14 instead of 0.26<!-- shown 2: 0.14 0.26 -->: one data set, two laws.

</details>
"""

# %% [markdown]
r"""
<details><summary>What is missed</summary>

The points of one width bend across their line; they are five readings of one run, so noise is not excluded. Four things differ from the paper, and each may move the exponents: one peak rate serves five widths; losses are read off in the middle of a schedule; the test is 8,192 characters, with one seed; and the largest $D$, 524,288, is more than the 434,035 characters of the text<!-- shown 4: 434,035 -->.

$E$ should be the loss of an infinitely large model with endless text. Here it comes out near zero, but no text has a loss that low: small models on short runs do not show a floor.

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
**Published laws, one budget.** Chinchilla was given the budget of Gopher, $5.76 \cdot 10^{23}$ operations: 70 B parameters, 1.4 T tokens ($6ND$ of these is 5.88, not quite the same).

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

No: 32 B and 93 tokens per parameter<!-- shown: 32.2 92.6 -->, where Chinchilla has 20. The exponents were rounded for print; unrounded ones give 40 B. Besiroglu et al. (2024) read the data off the paper's figure and fitted them again: 72 B and 18, which agrees with the paper's two other methods. Rounding is one of the causes that they name; the other, for the way from 40 to 72 B, is that the paper's optimiser had stopped before its minimum.

"$N$ and $D$ both grow as $\sqrt C$" holds in all of them, roughly. "20 tokens per parameter" is a rule for one budget's neighbourhood, one data set and one way of counting; GPT-3 saw 1.7. And a law predicts *loss*, not abilities.

</details>
"""

# %% [markdown]
r"""
**Explore.** A budget and a law: the published ones, and ours. A button takes a published run's size and its own budget.
"""

# %% tags=["nbval-ignore-output"] reason="a widget has a new id in every run"
ours = [everything.A, everything.B, everything.alpha, everything.beta, everything.E]
budget_explorer("GPT-3", budget=23.5, own={"this notebook's": [round(x, 4) for x in ours]})

# %% [markdown]
r"""
**Explore.** A model and one step of its training, by part. What is saved for the backward pass is counted for pre-norm layers with fused attention and without dropout.

**Predict**, then try: (1) GPT-3, 8 texts of 2,048: does recomputing the layers lower the bytes by half? (2) At which length do GPT-2's $QK^\top$ and $PV$ cost as much as its feed-forward part? (3) What share of Llama 3 8B's parameters are its two tables?
"""

# %% tags=["nbval-ignore-output"] reason="a widget has a new id in every run"
cost_explorer("GPT-3")

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
## 13. Does ability jump?

Text E speaks of "emergent capabilities that arise unpredictably at certain scales". That is about the sizes of models; here is one model, and the scale is its training. Look at one run: the dates without smoothing, judged on the way by two measures. A date has ten characters.

**Predict.** The share of right *characters* climbs smoothly. What does the share of right *dates* do?
"""

# %% guess={"name": "12.jump", "kind": "curve", "asks": "At these steps the share of right characters is 0.57, 0.72, 0.90, 0.98 and 0.995: what share of the dates, ten characters each, is wholly right?", "low": 0, "high": 1, "x": [50, 100, 200, 400, 800], "across": "step", "reads": "step {x}: {_} dates {}"}
guess("12.jump")

# %% mystnb={"image": {"alt": "Two curves over training steps: the share of right characters rises early and smoothly; the share of wholly right dates stays near zero for long and then climbs steeply. The tenth power of the first follows the second."}}
run = next(one for one in dates_record if one["what"] == "smoothing" and one["smoothing"] == 0)
at = [one["step"] for one in run["curve"]]
accuracy, exact = ([one[what] for one in run["curve"]] for what in ("accuracy", "exact"))
powers = [share**10 for share in accuracy]
axes = plotting.new_figure("One run, two measures", "step (logarithmic)", "share right")
plotting.line(axes, at, accuracy, "characters", "blue", (at[0], 0.9), "o-")
plotting.line(axes, at, exact, "dates", "orange", (at[-1] * 1.06, exact[-1]), "o-")
plotting.line(axes, at, powers, "characters to the tenth", "green", (at[0], 0.47), "--")
axes.set(xscale="log", xlim=(at[0] * 0.9, at[-1] * 1.5), ylim=(0, 1.08))
axes.set_xticks([50, 100, 200, 400, 800], ["50", "100", "200", "400", "800"])
axes.minorticks_off()
draw_guess(axes, "12.jump")
for step, p, power, whole in zip(at, accuracy, powers, exact, strict=True):
    print(f"step {step:4}: characters {p:.3f}, to the tenth {power:.3f}, dates {whole:.3f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

It stays near zero, while more than half of the characters are right, and then climbs. $p^{10}$ is sharp where $p$ is smooth, and follows the share of right dates closely: 0.955 and 0.958 at the end<!-- shown: 0.955 0.958 -->. In this run, nothing jumped but the measure; over sizes, that has to be asked of every task anew.

</details>
"""

# %% [markdown]
r"""
Both sides: Wei et al. (2022) list tasks where measured ability leaves chance only at some scale; Schaeffer et al. (2023) show that many such jumps vanish with a smooth measure. A sharp measure may still be the one that matters: half a date is of no use.
"""

# %% [markdown]
r"""
Two abilities that text E lists. **Few-shot learning**: a task is shown by a few solved examples in the prompt, and no weight changes. Text E has it "emerging around 1B parameters"; GPT-3's own figures show no threshold, its gains grow gradually from 0.1 to 175 B. **Chain of thought**: the model is led to write the steps before the answer, so that each step can be read again. Text E: "prominent in models with 100B+ parameters"; true of base models of 2022, and small ones trained for it do it too.
"""

# %% [markdown]
r"""
<details><summary>What text E says, once more: right, wrong, or right under a condition?</summary>

1. GPT-1 with "~5B" training tokens, GPT-2 with "~40B". The numbers are *gigabytes of text*. GPT-1's corpus holds about a billion words, read about a hundred times; WebText's 40 GB are some ten billion tokens.
2. GPT-3: "175B", "~300B". Right.
3. GPT-4: "~1.8T (estimated)", "~13T". A rumour.
4. "Dropout in attention and FF". The original's; hardly used where each text is read once.

</details>
"""

# %% [markdown]
r"""
**Who teaches a model.** Text E lists these as "Training Innovations":

| | what is asked | who says what is right | what is trained |
|---|---|---|---|
| T5, UL2 (section 2) | hidden spans; tasks as text | the text; people, for the tasks | a new model |
| InstructGPT (Ouyang et al., 2022) | answers like the shown ones, then preferred ones | people write and rank; a model learns their ranking | GPT-3: examples, then reinforcement |
| Constitutional AI (Bai et al., 2022) | answers that keep written principles | people write the principles; a model rewrites and ranks by them | a chat model, in the same two stages |
"""

# %% [markdown]
r"""
So "Self-supervised alignment", text E's words for the last, leaves out principles and preferences. Following instructions is taught in this way; writing code grew with the code in the text, and is measured by running what is written.
"""

# %% [markdown]
r"""
## Yours: a model trained by your functions

The small GPT of chapter 10 on Python's help, with your loss, your accumulation and your AdamW: four micro-batches of different length make one step. Then your masking and your smoothing on the same text. Your counts say what it cost, and your optimum what would have been best.

**Predict.** Will the loss be the same as with one big batch?
"""


# %%
pages = character_text()


def trained_with(parts):
    """Train a small GPT by accumulated gradients of the given loss; return it and the losses."""
    torch.manual_seed(0)
    draw = torch.Generator().manual_seed(0)
    model = models.GPT(96, d_model=16, num_heads=2, num_layers=1, max_length=32).double()
    leaves, losses = list(model.parameters()), []
    moments = [(torch.zeros_like(leaf), torch.zeros_like(leaf)) for leaf in leaves]
    how = 0.03, (0.9, 0.98), 0.01, 0.1  # rate, betas, eps and decay

    def summed(text):
        counts = text[:, 1:].numel()
        return parts.causal_lm_loss(model.logits(text), text, -1) * counts, counts

    for step in bar(range(1, 26), desc="25 steps of 4 parts"):
        micro = [random_windows(pages.train, n, 8, draw)[0] for n in (32, 9, 21, 14)]
        gradients = parts.accumulated_gradient(summed, leaves, micro)
        with torch.no_grad():
            for i, (leaf, gradient) in enumerate(zip(leaves, gradients, strict=True)):
                new, m, v = parts.adamw_step(leaf.clone(), gradient, *moments[i], step, *how)
                moments[i] = m, v
                leaf.copy_(new)
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
        "bytes": parts.training_memory_bytes(count, count, 0, "adam", False),
        "best for the budget": list(parts.compute_optimal(float(flops), 9.3, 25.6, 0.3, 0.3, 0.5)),
    }


# %% tags=["nbval-ignore-output"] reason="whose functions run, and how fast, depends on the reader"
LOSSES = ("causal_lm_loss", "accumulated_gradient", "mask_tokens", "label_smoothed_loss")
LOSSES += ("adamw_step",)
COUNTS = ("transformer_parameters", "training_flops", "training_memory_bytes", "compute_optimal")
note = yours(*LOSSES, *COUNTS).run(experiment)
found = note.course
print(f"loss {found['losses'][0]:.2f} at first, {found['losses'][-1]:.2f} after 25 steps")
print(f"{found['parameters']:,} parameters, {found['bytes']:,} bytes to train them")
note

# %% [markdown]
"""
<details><summary>Answer</summary>

Yes, to rounding: section 6 compared one such gradient, and a step depends on nothing else. (No big batch is run here; your parts are compared with the course's.) A loss that is shifted wrongly, or a mean of means, shows in the first number of the list, which is taken after the first step.

</details>
"""

# %% [markdown]
r"""
## Recap

1. GPT is asked for every next token, BERT for the 15% that are *selected*, of which 80% become `[MASK]`. Shift once, leave padding out, and average over tokens. Smoothing moves the floor of the loss and ends the growth of logits.
2. Pre-norm lets twelve layers learn at a rate where post-norm, without warm-up, gives the same answer whatever it reads; 30 steps of warm-up let it out. Clipping by the global norm shortens the gradient and keeps its direction. AdamW corrects its moments for their start at zero, and decays weights outside of the division. Accumulate sums, not means. Checkpointing saves most of the activations for at most a third more operations. Mixed precision needs float32 weights, and halves activations at best.
"""

# %% [markdown]
r"""
3. $12\,d^2$ parameters per plain layer, and nearly every published size to the last one. $6ND$ operations, and a few percent more. 16 bytes per parameter with Adam, in either precision.
4. A law fits losses to a few percent and predicts the next budget roughly. Its constants depend on what is counted, on rounding and on who fits; three answers for one budget are normal.
"""

# %% tags=["remove-cell"]
progress(12)

# %% [markdown]
"""
**Next**: chapter 13 asks what attention's weights show, and what they do not.
"""

# %% [markdown]
"""
## Go further

- Vaswani et al. (2017), section 5: warm-up, dropout and smoothing as they were used first.
- Devlin et al. (2019): masked tokens and next sentences. Radford et al. (2018, 2019), Brown et al. (2020): GPT-1 to GPT-3.
- Szegedy et al. (2016), Müller et al. (2019): label smoothing, and when it helps.
- Xiong et al. (2020): warm-up and the place of the norm. Glorot and Bengio (2010), He et al. (2015): a start that keeps sizes.
- Kingma and Ba (2015): Adam. Loshchilov and Hutter (2019): AdamW. Srivastava et al. (2014): dropout.
- Chen et al. (2016): checkpointing and its square root. Micikevicius et al. (2018): mixed precision.
- Korthikanti et al. (2022): what a layer keeps. Rajbhandari et al. (2020): 16 bytes per parameter.
"""

# %% [markdown]
"""
- Kaplan et al. (2020), Hoffmann et al. (2022), Besiroglu et al. (2024): scaling laws.
- Wei et al. (2022), Schaeffer et al. (2023): emergence, and doubt.
- Raffel et al. (2020): T5. Tay et al. (2023): UL2. Ouyang et al. (2022), Bai et al. (2022): feedback. Chowdhery et al. (2022): PaLM.
"""

# %% [markdown]
"""
<details><summary>BibTeX</summary>

```bibtex
@inproceedings{vaswani2017attention,
  title = {Attention Is All You Need},
  author = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and others},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2017}, url = {https://arxiv.org/abs/1706.03762}}
@misc{radford2018improving,
  title = {Improving Language Understanding by Generative Pre-Training},
  author = {Radford, Alec and Narasimhan, Karthik and Salimans, Tim and Sutskever, Ilya}, year = {2018}, howpublished = {OpenAI}}
@misc{radford2019language,
  title = {Language Models are Unsupervised Multitask Learners},
  author = {Radford, Alec and Wu, Jeffrey and Child, Rewon and Luan, David and Amodei, Dario and Sutskever, Ilya}, year = {2019}, howpublished = {OpenAI}}
@inproceedings{muller2019when,
  title = {When Does Label Smoothing Help?},
  author = {M{\"u}ller, Rafael and Kornblith, Simon and Hinton, Geoffrey},
  booktitle = {NeurIPS}, year = {2019}, url = {https://arxiv.org/abs/1906.02629}}
@inproceedings{glorot2010understanding,
  title = {Understanding the Difficulty of Training Deep Feedforward Neural Networks},
  author = {Glorot, Xavier and Bengio, Yoshua},
  booktitle = {AISTATS}, year = {2010}, url = {https://proceedings.mlr.press/v9/glorot10a.html}}
@inproceedings{he2015delving,
  title = {Delving Deep into Rectifiers: Surpassing Human-Level Performance on {ImageNet} Classification},
  author = {He, Kaiming and Zhang, Xiangyu and Ren, Shaoqing and Sun, Jian},
  booktitle = {ICCV}, year = {2015}, url = {https://arxiv.org/abs/1502.01852}}
@inproceedings{kingma2015adam,
  title = {Adam: A Method for Stochastic Optimization},
  author = {Kingma, Diederik P. and Ba, Jimmy},
  booktitle = {ICLR}, year = {2015}, url = {https://arxiv.org/abs/1412.6980}}
@article{srivastava2014dropout,
  title = {Dropout: A Simple Way to Prevent Neural Networks from Overfitting},
  author = {Srivastava, Nitish and Hinton, Geoffrey and Krizhevsky, Alex and Sutskever, Ilya and Salakhutdinov, Ruslan},
  journal = {Journal of Machine Learning Research}, year = {2014}, url = {https://jmlr.org/papers/v15/srivastava14a.html}}
@article{raffel2020exploring,
  title = {Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer},
  author = {Raffel, Colin and Shazeer, Noam and Roberts, Adam and Lee, Katherine and others},
  journal = {Journal of Machine Learning Research}, year = {2020}, url = {https://arxiv.org/abs/1910.10683}}
@inproceedings{tay2023ul2,
  title = {{UL2}: Unifying Language Learning Paradigms},
  author = {Tay, Yi and Dehghani, Mostafa and Tran, Vinh Q. and others},
  booktitle = {ICLR}, year = {2023}, url = {https://arxiv.org/abs/2205.05131}}
@inproceedings{ouyang2022training,
  title = {Training Language Models to Follow Instructions with Human Feedback},
  author = {Ouyang, Long and Wu, Jeff and Jiang, Xu and others},
  booktitle = {NeurIPS}, year = {2022}, url = {https://arxiv.org/abs/2203.02155}}
@misc{bai2022constitutional,
  title = {Constitutional {AI}: Harmlessness from {AI} Feedback},
  author = {Bai, Yuntao and Kadavath, Saurav and Kundu, Sandipan and others},
  year = {2022}, url = {https://arxiv.org/abs/2212.08073}}
@misc{chowdhery2022palm,
  title = {{PaLM}: Scaling Language Modeling with Pathways},
  author = {Chowdhery, Aakanksha and Narang, Sharan and Devlin, Jacob and others},
  year = {2022}, url = {https://arxiv.org/abs/2204.02311}}
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
