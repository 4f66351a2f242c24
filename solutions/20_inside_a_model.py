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
# Look inside a released model

One pass through a released model: 30 layers of 9 heads, the weights of one of them, what comes next according to every layer.

Play for one minute: choose a prompt, a layer, a head and a position. **From which layer on do most heads *rest*, with more than half of their weight on the first token? And from which layer on does the last column make sense?** At the end of the chapter you can explain it.
"""

# %% tags=["remove-input"]
from course_utils.measure import read_record
from course_utils.widgets import forward_pass

opening = forward_pass(read_record("chapter_20_forward_pass"))
opening

# %% [markdown]
r"""
*You will be able to*

1. find, among 270 heads, the few that play a role, and say over which base rate;
2. take an attention sink away in a way that takes only it away;
3. ablate heads with zero, with a mean and at random, and say what each shows;
4. read the stream with a logit lens, and say where it misleads;
5. split a difference of scores into parts that add up, and find by patching where a name is carried;
6. (further) predict from weights which heads feed each other and which copy, and hold it against a run.

*You need* chapters 13 (entropy, induction, ablation) and 19 (the model).

*Core path · further*
"""

# %% [markdown]
r"""
How to read: each experiment begins with a question. Write down your guess, run the cell, then open the answer.

The model is that of chapter 19, SmolLM2-135M-Instruct: 30 layers of 9 query heads, which share 3 heads of keys and values, and a stream of 576 channels. Layers and heads count from 0; (16, 0) is head 0 of layer 16.

What is found in one text may be luck. So each finding is held against three things: an *ablation*, a *base rate* and a *random choice*. One text is live; the others were recorded with the functions of this notebook. Without the model's file, cells show what they printed.
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
from collections import defaultdict
from functools import cache
from types import SimpleNamespace

import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F

from course_utils import chat, data, interpretability, measure, models, plotting
from course_utils.attention import causal_mask, masked_softmax, merge_heads
from course_utils.guessing import draw_guess, guess
from course_utils.interpretability import (
    effective_attention,
    induction_score,
    rank_correlation,
)
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.models import released
from course_utils.widgets import forward_pass, head_grid

# %% tags=["nbval-ignore-output"] reason="says whether the model's file is here"
plotting.use_style()
torch.set_num_threads(1)
with_model, path = released.with_model("chapter_20_printed")

# %%
made = released.model() if path else SimpleNamespace(model=None, tokenizer=None)
model, tokenizer = made.model, made.tokenizer
EPS = 1e-5  # what the norms of this model add under their roots
records = {
    name: measure.read_record(f"chapter_20_{name}")
    for name in ("atlas", "sink", "induction", "lens", "names", "copying", "rankings")
}


# %% [markdown]
r"""
First, a picture of one pass through it. Choose a prompt, a layer, a head and a position.

**Predict.** The picture asks before it shows: from which layer on do most heads *rest*, with more than half of their weight on the first token?
"""

# %% tags=["nbval-ignore-output"] reason="a widget has a new id in every run"
if path:  # with the model one can write a text, and take a head out
    opening = forward_pass(measure.read_record("chapter_20_forward_pass"), model=made)
opening

# %% [markdown]
r"""
<details><summary>What to try</summary>

On the prompt with two names, look at layer 23 and the last position: which head looks at which name? Take the first token out: where does the weight of a resting head go? Then read the lens from below: in which layer does the last column begin to make sense, and what stands there before? Every one of these questions gets a section, and a control.

The picture's prompts have 15 tokens at most, and its answer is layer 3. With 256 tokens, in section 2, heads rest from layer 12 on. Among few keys half of the weight is less of a feat: hold a share against its base rate.

</details>
"""

# %% [markdown]
r"""
## 1. Open it

To look inside one needs a forward pass in the open, one that keeps what each part returns and lets us change it. It is chapter 11's layer with chapter 08's heads, and 22 lines long. `edit(part, layer, x)` sees every part before the next one does: queries, keys, values, weights, what the heads return, and the stream behind the layer, which we call the *state*.

It can also begin in the middle, at a layer and a position, over the keys and values of an earlier run. Section 8 needs that.
"""


# %%
def rows_of(layer, x, places):
    """Return the rotated queries and keys, and the values, of a layer's heads (B, heads, T, 64)."""
    rows = layer.attention.in_proj(layer.attention_norm(x)).unflatten(-1, (15, 64))
    query, key, value = rows.transpose(1, 2).split([9, 3, 3], dim=1)
    return *model.positions.rotate(query, key, places, places), value


def behind(past, start, new):
    """Return the first `start` rows of `past`, then the new ones, each for three query heads."""
    before = past[..., :start, :].expand(len(new), -1, -1, -1) if start else new[..., :0, :]
    return torch.cat([before, new], dim=2).repeat_interleave(3, dim=1)


# %%
def unchanged(part, layer, x):
    return x


def taps(x, edit=unchanged, layer=0, start=0, past=None):
    """Run streams (B, T, 576) from a layer on; return the scores, and what each part returned.

    The tokens are at positions `start` and later; `past` is what an earlier run has kept.
    """
    kept, end = defaultdict(dict), start + x.shape[1]
    places, visible = torch.arange(start, end), causal_mask(x.shape[1], end, start)

    def part(name, number, x):
        kept[name][number] = edit(name, number, x)
        return kept[name][number]

    for number, one in enumerate(model.layers[layer:], layer):
        rows = zip(("queries", "keys", "values"), rows_of(one, x, places), strict=True)
        query, key, value = (part(name, number, x) for name, x in rows)
        key = behind(past and past["keys"][number], start, key)
        value = behind(past and past["values"][number], start, value)
        weights = part("weights", number, masked_softmax(query @ key.mT / 8, visible))
        heads = part("heads", number, weights @ value)
        x = x + one.attention.out_proj(merge_heads(heads))
        x = part("state", number, x + one.feed_forward(one.feed_forward_norm(x)))
    return model.out(model.last_norm(x)), kept


# %%
def read(tokens, edit=unchanged):
    """Run the model on tokens (B, T)."""
    with torch.no_grad():
        return taps(model.token(tokens), edit)


def stacked(kept, name):
    """Return a part of all layers as one tensor (B, 30, …)."""
    return torch.stack(list(kept[name].values()), dim=1)


def token_losses(tokens, scores):
    """Return the loss at each position (T - 1,) of one text."""
    return F.cross_entropy(scores[0, :-1], tokens[1:], reduction="none")


def five_texts():
    """Return the first 256 tokens of five texts by name."""
    text = {name: tokenizer.encode(one) for name, one in data.installed_texts().items()}
    begins = {
        "housing": ("sklearn", 0), "network": ("sklearn", 700), "classes": ("help", 0),
        "course": ("course", 0), "more course": ("course", 600),
    }  # fmt: skip
    return {name: text[one][begin : begin + 256] for name, (one, begin) in begins.items()}


# %%
texts = five_texts() if path else {}


@with_model
def equal_to_the_course_s_llama():
    tokens = texts["housing"][None]
    scores, kept = read(tokens)
    gap = (scores - model.logits(tokens)).abs().max().item()
    print("scores within 2e-4:", gap < 2e-4)
    again, _ = taps(kept["state"][9][:, 200:], layer=10, start=200, past=kept)
    gap = (again - scores[:, 200:]).abs().max().item()
    print("begun at layer 10 and position 200, within 2e-4:", gap < 2e-4)
    print(f"loss {token_losses(tokens[0], scores).mean():.2f}")


# %% [markdown]
r"""
## 2. An atlas of 270 heads

What does a head look at? Three roles are easy to state: the first token, the token just before, and the token that followed the last time this one was read (induction, chapter 13). A share alone says little: with 256 keys, equal weights would put 0.4 % on one of them, but 25 % if there are only four. So a share needs its **base rate**: what equal weights over the visible keys would give, in the same rows.
"""

# %% [markdown]
r"""
### Exercise: `role_share`

*Difficulty · importance · minutes*

Write `role_share(weights, chosen) -> (share, base)`.

- `weights` is `(..., L, L)` and causal: query $i$ sees keys 0 to $i$. `chosen` is `(L, L)`, bool: `chosen[i, j]` says that key $j$ plays the role for query $i$. Keys after their query ($j > i$) do not count.
- `share` is `(...)`: each query's weight on its chosen keys, summed, then averaged over the queries that have a chosen key, even of weight 0.
- `base`, a Python float: over the same queries, the mean of (chosen keys seen) / $(i + 1)$, which is what equal weights give.
- Without such a query, `share` is zeros and `base` is 0.0.

Rows need not sum to 1. No gradient is needed.
"""


# %% exercise="role_share"
def role_share(weights, chosen):
    """Return a head's mean weight on the chosen keys, and what equal weights would put there."""
    ### BEGIN SOLUTION: Average over the queries that see a chosen key; of no queries, return 0.
    seen = chosen.tril()
    counted = seen.any(dim=-1)
    if not counted.any():
        return weights.new_zeros(weights.shape[:-2]), 0.0
    share = (weights * seen).sum(dim=-1)[..., counted].mean(dim=-1)
    equal = seen.sum(dim=-1).double() / torch.arange(1, len(seen) + 1)
    return share, equal[counted].mean().item()
    ### END SOLUTION


# %%
check("role_share", role_share)
# hint("role_share")


# %%
def roles(weights, tokens):
    """Return each head's share (..., 30, 9) on keys of three roles, and its base rate."""
    rows, columns = torch.arange(len(tokens))[:, None], torch.arange(len(tokens))
    followed = F.pad(tokens[:, None] == tokens[:-1], (1, 0))
    chosen = {
        "first": columns == 0,
        "previous": columns == rows - 1,
        "induction": followed & (columns <= rows),
    }
    return {
        name: interpretability.role_share(weights, which & (rows >= 32))
        for name, which in chosen.items()
    }


# %% [markdown]
r"""
Rows 0 to 31 are left out, where every key has a large share anyway. In the figure dark blue is 0, and yellow 1.

**Predict.** Of the 270 heads, how many rest on the first token, with more than half of their weight? How many look at the token just before?
"""


# %% guess={"name": "20.rest", "kind": "number", "asks": "How many of the 270 heads put more than half of their weight on the first token of a text of 256 tokens?", "low": 0, "high": 270, "unit": "heads", "reads": "first {} heads above 0.5"}
guess("20.rest")


# %%
def some_heads(shares, at_least=0.5):
    """Return the heads above a share, the largest first."""
    order = shares.flatten().argsort(descending=True).tolist()
    pairs = [divmod(one, 9) for one in order]
    return [(layer, head) for layer, head in pairs if shares[layer, head] > at_least]


@with_model
def heads_with_a_role():
    _, kept = read(texts["housing"][None])
    for role, (share, base) in roles(stacked(kept, "weights")[0], texts["housing"]).items():
        found = some_heads(share)
        print(f"{role:10} {len(found):3} heads above 0.5, base rate {base:.3f};", end=" ")
        print(*(f"({a}, {b}) {share[a, b]:.2f}" for a, b in some_heads(share, 0.0)[:4]))


# %% mystnb={"image": {"alt": "Four maps of 30 layers by 9 heads. On the first token most heads from layer 12 on are bright. On the previous token only five single heads are. Induction: about eight heads of layers 17 to 23 glow weakly. Entropy is high in the first layers and low in most later ones, with single exceptions everywhere."}}
atlas = records["atlas"]["runs"]
figure, panels = plt.subplots(1, 4, figsize=(plotting.WIDTH, 4.6), sharey=True)
plotting.headline(
    figure, "Half of the late heads rest on the first token;\nother roles belong to single heads"
)
for axes, name in zip(panels, ("first", "previous", "induction", "entropy"), strict=True):
    axes.imshow(atlas[0][name], aspect="auto", cmap="cividis", vmin=0, vmax=1, origin="lower")
    axes.set_title(name, loc="center")
    axes.set(xticks=[0, 8], xlabel="head")
_ = panels[0].set_ylabel("layer")

# %%
print(f"{'text':12} first > 0.5  > 0.9   previous > 0.5  the best three")
for run in atlas:
    first, previous = (torch.tensor(run[name]) for name in ("first", "previous"))
    print(f"{run['text']:12} {(first > 0.5).sum():11} {(first > 0.9).sum():6}", end="")
    print(f" {(previous > 0.5).sum():16}  ", *some_heads(previous, 0.0)[:3])
print("\nleast rank correlation of the 270 shares between two of the five texts")
for name in ("first", "previous", "induction", "entropy", "entropy without token 0"):
    shares = torch.tensor([run[name] for run in atlas]).flatten(1)
    pairs = [rank_correlation(shares[a], shares[b]) for a in range(5) for b in range(a)]
    moved = (shares.amax(0) - shares.amin(0)).max()
    print(f"  {name:24} {min(pairs):.2f}; one head's share differs by at most {moved:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

86 of 270 rest on the first token, where equal weights would put 0.9 %; five look mainly one token back<!-- shown: 86 -->, and in all five texts the same two are the best, (16, 0) and (11, 1). The roles differ in kind: how many heads rest depends on the text, 62 to 86<!-- shown: 62 86 -->, and induction needs something that returns; who looks back is the same everywhere.

The brightest colours of the first panel begin at layer 12. Why there?

</details>
"""

# %% [markdown]
r"""
## 3. The first token

Chapter 13's toy had a start token, and its value was *longer* than the others. This text starts with "..", a token like any other.

**Predict.** How long is the stream at the first token, compared with the mean of all others: about as long, twice, ten times, more? And its value vectors, in heads that rest there: longer or shorter?
"""

# %% guess={"name": "20.length", "kind": "number", "asks": "How many times as long as the other tokens' streams is the first token's, behind the layer where it is longest?", "low": 0.1, "high": 1000, "log": true, "reads": "housing length at its largest {} times"}
guess("20.length")

# %% mystnb={"image": {"alt": "Above, the share on the first token by layer, mean of nine heads: 0 to 0.2 up to layer 11, 0.3 to 0.7 from layer 12 on. Below, on a logarithmic scale, the length of the first token's stream over the others' mean: below 10 in layers 0 and 1, rising to about 5, at layer 11 jumping to more than 100, and falling at the last two layers."}}
above, below = plotting.new_panels(
    "Behind layer 11 the first token's stream is over\na hundred times as long, and from 12 on heads rest",
    "layer", ["share on token 0", "length over\nthe others' mean"], height=4.2,
)  # fmt: skip
for run in atlas:
    shares, lengths = torch.tensor(run["first"]).mean(1), run["first state's length"]
    plotting.line(above, range(30), shares, run["text"], "blue", linewidth=1)
    plotting.line(below, range(30), lengths, run["text"], "blue", linewidth=1)
above.set(ylim=(0, 1))
below.set(yscale="log")
_ = below.axhline(1, color=plotting.QUIET)
draw_guess(below, "20.length")

# %%
for run in atlas:
    rest, value = (torch.tensor(run[name]) for name in ("first", "first value's length"))
    value = value.repeat_interleave(3, dim=1) if value.shape[1] == 3 else value
    at_rest, late = value[rest > 0.5], torch.tensor(run["rest and length written"])[12:]
    length = max(run["first state's length"])
    print(f"{run['text']:12} length at its largest {length:4.0f} times;", end="")
    print(f" value in resting heads {at_rest.median():.2f} times the others', at most", end="")
    print(f" {at_rest.max():.2f}; rests more, writes less: {(late < 0).sum()} of 162 heads")
print("\nchannel 507 of the first token, behind each layer:")
print(*atlas[0]["channels"]["507"])
for one in records["atlas"]["neurons"]:
    print(f"layer 11, neuron {one['neuron']:4} writes {one['writes']:6} there,", end="")
    print(f" active {one['active']}, elsewhere at most {one['active elsewhere']}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

About 180 times as long<!-- shown: 182 -->, from layer 11 on. One channel of 576 holds nearly all of it: at layer 11, two neurons of the feed-forward layer write 25,000 into channel 507, and are silent at all other tokens<!-- shown: 18452 6950 -->. Sun et al. (2024) call such entries *massive activations*. The norm divides the whole stream by that length, so behind it the first token looks nearly the same whatever was said: a fixed key, and a value that is *short*, 0.15 of the others' in the median<!-- shown: 0.15 -->.

So a head that rests writes little: in 159 of 162 late heads, a query that rests more writes less<!-- shown: 159 -->. Chapter 13's toy did the opposite.

</details>

Is it this token? Eight others, put in its place:
"""

# %%
for one in records["atlas"]["first"]:
    name = repr(one["first"])
    print(f"{name:15} channel 507 {one['channel 507']:6}, {one['heads']:2} heads rest on it")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Each of the eight gets the entry: it is the *place* that makes it. The row of "The" looks like an exception, with 2 heads<!-- shown: 2 -->. The next cell looks closer.

</details>
"""


# %%
@with_model
def two_places_to_rest():
    for word in (" the", "The"):
        tokens = torch.cat([tokenizer.encode(word), texts["housing"][1:]])
        _, kept = read(tokens[None])
        entries = kept["state"][11][0, :3, 507]
        rest = (stacked(kept, "weights")[0][..., 32:, :2].sum(-1).mean(-1) > 0.5).sum()
        print(
            f"{word!r:6} channel 507 of tokens 0, 1, 2:",
            *(f"{one:6.0f}" for one in entries),
            end="",
        )
        print(f"; {rest} heads put more than half on tokens 0 and 1 together")


# %% [markdown]
r"""
<details><summary>What to see</summary>

After "The" the second token has a massive entry as well, 15,754<!-- shown: 15754 -->, and the heads divide their rest between two places. Counted together, as many rest as before.

</details>
"""

# %% [markdown]
r"""
## 4. Take it away, in many ways

Does the model need its first token? Several experiments could answer: hide it, or set its value to 0, or cut the massive channel. To hide a key from a head that has already attended, its weight must go *and the others must grow*.
"""

# %% [markdown]
r"""
### Exercise: `without_key`

*Difficulty · importance · minutes*

Write `without_key(weights, key) -> weights`: the weights that the same scores give where no query may see one key.

- `weights` is `(..., L, S)`; each row comes from a softmax or is all 0. `key` is an int from 0 to $S - 1$. The result has the same shape.
- The key's weights are 0; the others are divided by what is left of their row.
- A row that has nothing left is zeros.
- A key may hold all but $10^{-13}$ of a row in float64; the others count all the same, to six digits.
- The gradient is right where all weights are positive, and finite everywhere, also in rows of zeros.

Leave the given weights as they are.
"""


# %% exercise="without_key"
def without_key(weights, key):
    """Return the weights that the same scores give where no query may see one key."""
    ### BEGIN SOLUTION: Set the key's weights to 0 and divide by the sum of the others, if it is not 0.
    others = torch.arange(weights.shape[-1]) != key
    kept = weights * others
    left = kept.sum(dim=-1, keepdim=True)
    return kept / torch.where(left > 0, left, 1.0)
    ### END SOLUTION


# %%
check("without_key", without_key)
# hint("without_key")


# %%
def hidden(key, first_layer=0):
    """Hide a token from all later queries, from a layer on."""

    def edit(part, layer, x):
        if part != "weights" or layer < first_layer:
            return x
        later = interpretability.without_key(x[..., key + 1 :, :], key)
        return torch.cat([x[..., : key + 1, :], later], dim=-2)

    return edit


# %% [markdown]
r"""
**Predict.** The model's loss on the text is 2.75 nats. What is it when the first token is hidden from all others, in all layers? And only from layer 12 on, where heads rest?
"""


# %% guess={"name": "20.hidden", "kind": "choice", "asks": "In which case is the loss larger: the first token hidden from all others in all 30 layers, or only from layer 12 on?", "take": "largest", "options": {"hidden in all layers": "hidden in all layers loss {};", "hidden from layer 12 on": "hidden from layer 12 on loss {};"}}
guess("20.hidden")


# %%
@with_model
def the_first_token_hidden():
    tokens = texts["housing"]
    for name, edit in (
        ("as it is", unchanged), ("hidden in all layers", hidden(0)),
        ("hidden from layer 12 on", hidden(0, 12)), ("token 5 hidden from 12 on", hidden(5, 12)),
    ):  # fmt: skip
        scores, kept = read(tokens[None], edit)
        resting = (stacked(kept, "weights")[0][..., 32:, :2].mean(-2) > 0.5).sum((0, 1))
        loss = token_losses(tokens, scores)[15:].mean()
        print(f"{name:26} loss {loss:.2f}; {resting[0]:2} heads rest on token 0,", end="")
        print(f" {resting[1]:2} on token 1")


# %%
sink = records["sink"]["runs"]
print(f"{'change of the loss':48}", *(f"{run['text'][:7]:>7}" for run in sink), "  heads")
for how in sink[0]["removed"]:
    rows = [run["removed"][how] for run in sink]
    heads = [row["heads"] for row in rows]
    print(f"{how:48}", *(f"{row['loss']:+7.2f}" for row in rows), end="")
    print(f"  {min(heads)}–{max(heads)}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Hidden from the beginning: nothing, on any of the five texts. The second token becomes the sink instead, and as many heads rest on it. Hidden from layer 12 on, when it is too late to make another: +0.52 to +0.75<!-- shown: 0.52 0.75 -->. The control, token 5, costs nothing.

</details>
"""

# %% [markdown]
r"""
<details><summary>And what is read there?</summary>

So "the model needs its first token" is wrong, and "it needs a place to rest" is right. What it reads there is a constant: with the value that the *other* texts have there, the loss stays, and with the other texts' three channels too. A value of 0 is not "nothing" but a change, +0.54 to +0.68<!-- shown: 0.54 0.68 -->; in *all* layers it is useless as a test, since it may or may not destroy what makes the sink: 0 to 55 heads are left<!-- shown: 55 -->. Channel 507 at 0 wrecks the model, +9.87 and more<!-- shown: 9.87 -->, though halved it costs 0.35 at most<!-- shown: 0.35 -->.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** Which of these results says that the model needs what the first token *says*?

- A. Channel 507 at 0 costs 10 nats and more.
- B. Hidden from layer 12 on, it costs half a nat.
- C. None of them.

<details><summary>Answer</summary>

- A breaks more than the sink: without that entry the norm divides by a far smaller length, so that all other channels of the first token grow. Three random channels at 0 cost nothing.
- B says that heads have nowhere to rest.
- **C is right.** The value of other texts does as well, to two decimals.

</details>

"""

# %% [markdown]
r"""
Chapter 08's window drops the first token like all old ones.

Which costs less: a window of 64 keys, or one of 63 and the first token? And 63 and token 5?
"""

# %%
names = (
    "all",
    "64",
    "63 and the first",
    "63 and token 5",
    "60 and the first four",
    "32",
    "31 and the first",
)
print(
    f"{'loss, positions 96 to 255':26}",
    *(f"{run['text'][:7]:>7}" for run in records["sink"]["windows"]),
)
for name in names:
    print(f"{name:26}", *(f"{run[name]:7.2f}" for run in records["sink"]["windows"]))

# %% [markdown]
r"""
<details><summary>Answer</summary>

On the first text, 63 and the first: 2.80 instead of 3.94, where all keys give 2.38<!-- shown: 2.80 3.94 2.38 -->. With token 5 instead nothing is gained. Four first tokens, as Xiao et al. (2024) keep, are no better than one here: the two rows differ by less than 0.1.

</details>
"""

# %% [markdown]
r"""
## 5. Induction at scale

Chapter 13 found an induction head in a model of two layers. Here are 50 random words, said twice.

To take heads out, their output must become *something*. Zero is one choice, but no head returns zero on any text. Its mean over other texts is another: then what a head always says stays, and what it says about this text goes.
"""

# %% [markdown]
r"""
### Exercise: `mean_ablate`

*Difficulty · importance · minutes*

Write `mean_ablate(outputs, heads, reference) -> outputs`.

- `outputs` is `(B, H, L, d)`, weights times values of $H$ heads; `reference` is `(N, H, M, d)`, the same heads on other texts.
- `heads` is a list of ints from 0 to $H - 1$. It may be empty or name a head twice.
- Each listed head's output becomes, in every text and at every position, that head's mean over the $N$ texts and $M$ positions of `reference`. The other heads stay.
- The result is a new tensor, also where `heads` is empty: writing into it changes neither input.
- The gradient of the other heads is the identity, that of the listed ones 0. None is needed with respect to `reference`.
"""


# %% exercise="mean_ablate"
def mean_ablate(outputs, heads, reference):
    """Return the heads' outputs, with each listed head at its mean over the reference."""
    ### BEGIN SOLUTION: Copy the outputs and write the mean of each listed head into the copy.
    means = reference.mean(dim=(0, 2))
    ablated = outputs.clone()
    for head in heads:
        ablated[:, head] = means[head]
    return ablated
    ### END SOLUTION


# %%
check("mean_ablate", mean_ablate)
# hint("mean_ablate")


# %%
@cache
def words():
    """Return the tokens that are a space and a lower-case word of three letters or more."""
    pieces = ((token, tokenizer.decode([token])) for token in range(1000, 20000))
    return [
        token
        for token, text in pieces
        if text[:1] == " " and len(text) > 3 and text[1:].isalpha() and text.islower()
    ]


def repeated_words(length, seed):
    """Return a line end and then random words (1 + 2 length,), the second half like the first."""
    known = torch.tensor(words())
    drawn = torch.randperm(len(known), generator=torch.Generator().manual_seed(seed))[:length]
    return torch.cat([tokenizer.encode("\n"), known[drawn], known[drawn]])


def heads_set_to(means, heads):
    """Return an edit that sets heads, pairs (layer, head), to their rows of means (30, 9, 64)."""
    listed = defaultdict(list)
    for layer, head in heads:
        listed[layer].append(head)

    def edit(part, layer, x):
        if part == "heads" and layer in listed:
            return interpretability.mean_ablate(x, listed[layer], means[layer][None, :, None])
        return x

    return edit


# %% [markdown]
r"""
**Predict.** A random word costs about 11.5 nats. What does a word of the second copy cost? And how many of the 270 heads must go before it costs as much as one of the first?
"""


# %% guess={"name": "20.out", "kind": "curve", "asks": "50 random words, said twice: what does a word of the second copy cost if so many of the best induction heads are set to their means?", "low": 0.1, "high": 20, "log": true, "unit": "nats", "x": [0, 1, 4, 8], "across": "heads taken out, of 270", "reads": "heads out: {x} first copy {_}, second {}"}
guess("20.out")


# %%
@with_model
def copying_without_some_heads():
    tokens = repeated_words(50, 0)
    _, kept = read(tokens[None])
    induction = induction_score(stacked(kept, "weights")[0, ..., 1:, 1:], 50)
    eight = some_heads(induction, 0.0)[:8]
    print("induction scores:", *(f"({a}, {b}) {induction[a, b]:.2f}" for a, b in eight))
    _, other = read(texts["housing"][None])
    means = stacked(other, "heads")[0].mean(2)
    for name, heads in (
        ("heads out: 0", []), ("heads out: 1", eight[:1]), ("heads out: 4", eight[:4]),
        ("heads out: 8", eight), ("without (16, 0)", [(16, 0)]),
    ):  # fmt: skip
        losses = token_losses(tokens, read(tokens[None], heads_set_to(means, heads))[0])
        print(f"{name:17} first copy {losses[:50].mean():5.1f}, second {losses[51:].mean():5.1f}")
    for start in ("\n", " of", ""):
        begun = torch.cat([tokenizer.encode(start), tokens[1:]]) if start else tokens[1:]
        losses = token_losses(begun, read(begun[None])[0])[-49:]
        print(f"all heads, the text begins with {start!r:5}: second {losses.mean():4.1f}")


# %%
copies = records["induction"]["runs"]
print(f"{'loss of the second copy, six seeds':32}", " zero                    mean")
for name in records["induction"]["settings"]["heads"]:
    print(f"{name:32}", end="")
    for how in ("zero", "mean"):
        found = torch.tensor([run[f"{name}, {how}"]["second"] for run in copies])
        print(f" {found.mean():5.1f} ({found.min():4.1f} to {found.max():4.1f})", end="    ")
    print()

# %% [markdown]
r"""
<details><summary>Answer</summary>

1.0 to 1.9 nats with all heads<!-- shown: 1.0 1.9 -->. Without eight of 270 heads it is 10.4, nearly as much as in the first copy<!-- shown: 10.4 -->. Without *one* previous-token head, (16, 0), it is 7.1; the second best, (11, 1), is not missed<!-- shown: 7.1 -->.

The random draws are the yardstick, and not all of them are harmless: of five draws of eight heads from all layers, one leads to 4.6 by zero, and to 8.2 by the mean, the gentler method<!-- shown: 4.6 8.2 -->. It holds a head of layer 0. A single draw could have told any story.

</details>
"""

# %% [markdown]
r"""
A repetition of random words is no text. Without the eight best induction heads, does the loss of a text rise by more or by less than without eight random ones?

"""

# %%
print("change of the loss where a token completes a pair that the text has had / elsewhere / all")
for name in ("best induction head", "four best", "eight best", "best previous-token head"):
    print(f"{name:26}", end="")
    for run in records["induction"]["texts"]:
        print("  {pairs:+.2f} {others:+.2f} {all:+.2f}".format(**run[name]), end="")
    print()
for kind in ("pairs", "others", "all"):
    found = torch.tensor([
        run[name][kind] for run in records["induction"]["texts"] for name in run
        if name.startswith("random")
    ])  # fmt: skip
    print(
        f"ten random draws, {kind:6}: {found.mean():+.2f}, from {found.min():+.2f} to {found.max():+.2f}"
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

Where a pair of tokens returns, by 0.52 to 1.89<!-- shown: 0.52 1.89 -->, far above the random draws; elsewhere by 0.04 at most, which is inside them. The mean over all tokens mixes the two: without four heads, on the text with the fewest returning pairs, it rises by 0.02<!-- shown: 0.02 -->, and there is nothing to find. The effect is there once the question is asked where it can appear.

</details>
"""

# %% [markdown]
r"""
## 6. A lens, and what it does to what you see

The last layer reads words out of the stream: a norm, then the unembedding. Nothing forbids to do so earlier. This is the **logit lens** (nostalgebraist, 2020).
"""

# %% [markdown]
r"""
### Exercise: `logit_lens`

*Difficulty · importance · minutes*

Write `logit_lens(states, gain, unembed, token, eps) -> (rank, log_prob)`: read states of any layer as if they were the last.

- `states` is `(..., d)`, the stream before the last norm; `gain` `(d,)`, `unembed` `(V, d)`. `token` is an int, `eps` a float.
- The logits are $W_U \left(\dfrac{h}{\sqrt{\text{mean}(h^2) + \varepsilon}} \odot \text{gain}\right)$.
- `rank` `(...)` has dtype long: how many words have a strictly larger logit. 0 is the best; words with an equal logit do not count.
- `log_prob` `(...)` is the token's log-probability in nats, finite where logits reach $10^4$.
- `states` may have no leading axes: both results are tensors then, too. A gradient flows through `log_prob`.
"""


# %% exercise="logit_lens"
def logit_lens(states, gain, unembed, token, eps):
    """Return a token's rank and log-probability under the model's last norm and unembedding."""
    ### BEGIN SOLUTION: Norm the states, take their logits, count the larger ones.
    size = (states.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    logits = (states / size * gain) @ unembed.mT
    rank = (logits > logits[..., token, None]).sum(dim=-1)
    return rank, logits.log_softmax(dim=-1)[..., token]
    ### END SOLUTION


# %%
check("logit_lens", logit_lens)
# hint("logit_lens")

# %% [markdown]
r"""
**Predict.** "The capital of France is": behind which of the 30 layers is " Paris" the likeliest word for the first time? Half-way, or near the end?
"""


# %%
FACTS = (
    ("The capital of France is", " Paris"), ("The capital of Italy is", " Rome"),
    ("The capital of Germany is", " Berlin"), ("The opposite of hot is", " cold"),
    ("The sun rises in the", " east"), ("The author of Hamlet is William", " Shakespeare"),
    ("Monday, Tuesday, Wednesday,", " Thursday"), ("One, two, three,", " four"),
)  # fmt: skip


def lens(states, word):
    """Return rank and log-probability of a word in states (..., 576)."""
    token = int(tokenizer.encode(word)[0])
    return interpretability.logit_lens(states, model.last_norm.weight, model.out.weight, token, EPS)


@with_model
def facts_through_the_lens():
    at = (0, 8, 16, 20, 22, 23, 24, 25, 26, 27, 28, 29)
    print("rank behind layer", *(f"{layer:6}" for layer in at))
    for text, word in FACTS:
        _, kept = read(tokenizer.encode(text)[None])
        ranks, _ = lens(stacked(kept, "state")[0, :, -1], word)
        print(f"{word:17}", *(f"{ranks[layer]:6}" for layer in at))


# %% [markdown]
r"""
<details><summary>Answer</summary>

At the very end: behind layer 28 or 29. Two words, " Thursday" and " east", never come first. Up to layer 22 nearly all ranks are in the hundreds and thousands, and that is where one is tempted to write: "the model decides late".

</details>

But is it the model that is undecided, or the lens that cannot read? A control: how far is what the lens says from what the model finally says, and how far would *equal probabilities* be?

**Predict.** In layer 16, which is nearer to the final distribution: the lens, or equal probabilities for all 49,152 tokens?
"""

# %% guess={"name": "20.lens", "kind": "curve", "asks": "Read by the logit lens behind each layer, how far is the distribution of the next token from the final one, as a KL divergence?", "low": 0, "high": 30, "unit": "nats", "x": [0, 8, 16, 20, 24, 28], "across": "behind layer", "reads": "layer {x}: lens {}, entropy"}
guess("20.lens")

# %% mystnb={"image": {"alt": "KL divergence from the final distribution by layer. The bare lens starts high, stays at 13 to 19 nats up to layer 22, above the line of equal probabilities at about 8, and falls to 0 at the last layer. The translated lens starts at about 7 and falls steadily."}}
axes = plotting.new_figure(
    "Up to layer 23 the lens is worse than knowing nothing", "behind layer", "KL to the end, nats"
)
rows = records["lens"]["runs"][0]
layers = [one["layer"] for one in rows["layers"]][1:]
for name, colour, at in (("lens", "blue", (10, 17)), ("translated", "orange", (10, 6))):
    found = [one[name]["kl"] for one in rows["layers"]][1:]
    plotting.line(axes, layers, found, name, colour, at, "o-", markersize=3)
axes.axhline(rows["equal"], color=plotting.QUIET)
_ = axes.text(0, rows["equal"] + 0.3, "equal probabilities", color=plotting.INK)
draw_guess(axes, "20.lens")

# %%
for run in records["lens"]["runs"]:
    print(f"{run['text']}: equal probabilities {run['equal']:.1f} nats")
    for one in run["layers"]:
        bare, moved = one["lens"], one["translated"]
        print(
            f"  layer {one['layer']:2}: lens {bare['kl']:5.1f}, entropy {bare['entropy']:4.1f},",
            end="",
        )
        print(
            f" same word {bare['same word']:.2f} (shifted {bare['same word, shifted']:.2f});",
            end="",
        )
        print(f" translated {moved['kl']:4.1f}, same word {moved['same word']:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Equal probabilities: 8.3 nats against 18.0<!-- shown: 8.3 18.0 -->. Up to layer 23 the lens is sure of itself, with an entropy of about one nat, and further off than knowing nothing.

A *translation* takes the normed stream of a layer to that of the last one: a ridge regression, fitted on two other texts, with 480 positions for 576 unknowns an output. It is a poor one, and still brings layer 16 from 18.0 down to 4.0<!-- shown: 18.0 4.0 -->. Belrose et al. (2023) train such a translation, the *tuned lens*, on much more text. So a good part of "decided late" is the lens's own: what stands there, it cannot read.

</details>
"""

# %% [markdown]
r"""
## 7. Who said Mary?

"When Mary and John went to the store, John gave a drink to": the model says "Mary". Wang et al. (2022) asked how GPT-2 does it. Here are 48 such sentences, with 16 names in four templates; below, "Mary" is the name said once, and "John" the one said twice, whatever they are.

We measure one number: the score of the name said once, minus that of the name said twice. It is a product of the normed stream with a *direction*, the difference of two rows of the unembedding. The stream is a sum of what every head, every feed-forward layer and the embedding have written. So the number is a sum of parts.
"""

# %% [markdown]
r"""
### Exercise: `direct_attribution`

*Difficulty · importance · minutes*

Write `direct_attribution(head_outputs, W_O, final_state, gain, direction, eps) -> contributions`: what each head adds to logit $a$ minus logit $b$.

- `head_outputs` `(B, n, H, d_k)`: weights times values at the last position. `W_O` `(n, H, d_k, d)`: what a head writes is the row vector $z W_O$.
- `final_state` `(B, d)`: the whole stream before the last norm, of which the heads wrote a part. `direction` `(B, d)`: row $a$ minus row $b$ of the unembedding. `gain` `(d,)`.
- `contributions` `(B, n, H)`: $\left(\dfrac{z W_O}{r} \odot \text{gain}\right) \cdot \text{direction}$ with $r = \sqrt{\text{mean}(\text{final\_state}^2) + \varepsilon}$, one $r$ for all parts of a prompt.
- No gradient is needed.
"""


# %% exercise="direct_attribution"
def direct_attribution(head_outputs, W_O, final_state, gain, direction, eps):
    """Return what each head adds to a difference of two logits."""
    ### BEGIN SOLUTION: Divide what each head wrote by the size of the whole stream.
    written = torch.einsum("bnhk,nhkd->bnhd", head_outputs, W_O)
    size = (final_state.square().mean(dim=-1) + eps).sqrt()
    return torch.einsum("bnhd,bd->bnh", written * gain, direction) / size[:, None, None]
    ### END SOLUTION


# %%
check("direct_attribution", direct_attribution)
# hint("direct_attribution")


# %%
def two_runs(template, count, seed=0):
    """Return sentences (N, T), the same with the other name repeated, and where the names are."""
    drawn = data.two_names(template, count, seed)
    tokens, other = (
        torch.stack([tokenizer.encode(getattr(one, kind)) for one in drawn])
        for kind in ("text", "other")
    )
    once, twice = (
        torch.cat([tokenizer.encode(" " + getattr(one, kind)) for one in drawn])
        for kind in ("object", "subject")
    )
    repeated, end = (tokens == twice[:, None]).int(), tokens.shape[1] - 1
    return SimpleNamespace(
        tokens=tokens, other=other, object=once, subject=twice, end=end,
        first=repeated.argmax(1), second=end - repeated.flip(1).argmax(1),
        named=(tokens == once[:, None]).int().argmax(1),
    )  # fmt: skip


def difference(scores, runs):
    """Return how much more the object's name scores than the subject's, at the end (N,)."""
    last = scores[:, -1]
    both = (last.gather(1, one[:, None])[:, 0] for one in (runs.object, runs.subject))
    return next(both) - next(both)


# %%
def output_matrices():
    """Return W_O (30, 9, 64, 576) of all heads."""
    return torch.stack([one.attention.out_proj.weight.mT for one in model.layers]).unflatten(
        1, (9, 64)
    )


def attributed(kept, runs):
    """Return the parts of the difference: heads (N, 30, 9), feed-forward (N, 30), embedding (N,)."""
    heads, state = stacked(kept, "heads")[..., -1, :], stacked(kept, "state")[:, :, -1]
    W_O, gain, final = output_matrices(), model.last_norm.weight, state[:, -1]
    direction = model.out.weight[runs.object] - model.out.weight[runs.subject]
    found = interpretability.direct_attribution(heads, W_O, final, gain, direction, EPS)
    embedding = model.token(runs.tokens[:, -1:])
    fed = torch.cat([embedding, state], dim=1).diff(dim=1)
    fed = fed - torch.einsum("bnhk,nhkd->bnd", heads, W_O)
    size = (final.square().mean(-1) + EPS).sqrt()[:, None]
    others = ((torch.cat([fed, embedding], dim=1) * gain) * direction[:, None]).sum(-1) / size
    return found, others[:, :-1], others[:, -1]


# %% [markdown]
r"""
**Predict.** Some head must add most to "Mary". At which of the names does it look?
"""


# %% guess={"name": "20.mary", "kind": "choice", "asks": "Where does the head that adds most to \"Mary\" look from the last token?", "take": "largest", "options": {"at Mary": "(23, 3) {_}; looks at Mary {},", "at the first John": "(23, 3) {_}, first John {},", "at the second John": "(23, 3) {_}, second John {}"}}
guess("20.mary")


# %%
@with_model
def parts_of_the_difference():
    runs = two_runs(0, 12)
    scores, kept = read(runs.tokens)
    heads, fed, embedding = attributed(kept, runs)
    total = difference(scores, runs)
    error = (heads.sum((1, 2)) + fed.sum(1) + embedding - total).abs().max()
    print(f"Mary - John {total.mean():.1f}, right in {(total > 0).sum()} of {len(total)};", end=" ")
    print("the parts sum to it within 1e-4:", bool(error < 1e-4))
    print(f"heads {heads.sum((1, 2)).mean():.1f}, feed-forward {fed.sum(1).mean():.1f}")
    mean = heads.mean(0)
    for layer, head in [*some_heads(mean, 0.2)[:4], *some_heads(-mean, 0.5)[:2]]:
        weights = kept["weights"][layer][:, head, -1]
        looks = (
            weights[torch.arange(12), at].mean() for at in (runs.named, runs.first, runs.second)
        )
        print(
            f"({layer}, {head}) {mean[layer, head]:+.2f}; looks at Mary {next(looks):.2f},", end=""
        )
        print(f" first John {next(looks):.2f}, second John {next(looks):.2f}")


# %%
named = records["names"]["runs"]
for run in named:
    print(f"template {run['template']}: Mary - John {run['difference'][0]:.1f} ±", end="")
    print(f" {run['difference'][1]:.1f}, right in {run['right']} of 12;", end="")
    print(f" with the other name repeated {run['other']:.1f}")
    for name in ("23, 3", "24, 4", "23, 0", "29, 1"):
        looks, writes = run["looks"][name], run["writes"][name]
        print(
            f"  ({name}) looks at Mary {looks['object']:.2f}, second John {looks['repeated']:.2f},",
            end="",
        )
        print(
            f" itself {looks['itself']:.2f}; writes Mary {writes['object']:+.1f}, John {writes['subject']:+.1f}"
        )

# %% [markdown]
r"""
<details><summary>Answer</summary>

At the second John. (23, 3) writes hardly anything for Mary and -2.6 *against John*<!-- shown: -2.6 -->: the loudest voice for Mary says "not John". (23, 0) looks at Mary and writes Mary: a *name mover*. (24, 4) looks at Mary, too, and writes *against* her; Wang et al. found such negative heads in GPT-2. The last layer's (29, 1) looks at its own token, and (29, 0) takes most of what it adds away again.

</details>
"""

# %% [markdown]
r"""
Attribution counts what a head writes straight into the output. What does it miss?

**Predict.** Take one head at a time, at the last position only, to its mean over other texts. Will the order of the heads be that of their attributions?
"""

# %%
for run in named:
    parts, effect = (torch.tensor(run[name]).flatten() for name in ("attributed", "mean"))
    pearson = torch.corrcoef(torch.stack([parts, effect]))[0, 1]
    print(f"template {run['template']}: correlation {pearson:.2f},", end="")
    print(f" of ranks {rank_correlation(parts, effect):.2f}; (20, 0) attributed", end="")
    print(f" {run['attributed'][20][0]:+.2f}, effect {run['mean'][20][0]:+.2f}")
    left = run["without"]
    drawn = [one["difference"] for name, one in left.items() if "drawn" in name]
    both = left["(20, 0) and (19, 2) at the end"]
    print(f"   Mary - John {left['none']['difference']:.1f}, without (20, 0) and (19, 2)", end="")
    print(
        f" {both['difference']:.1f}, without drawn pairs {min(drawn):.1f} to {max(drawn):.1f};",
        end="",
    )
    looks = (left["none"], both)
    print(" (23, 0) on Mary", " → ".join(f"{one['(23, 0) looks']['object']:.2f}" for one in looks))

# %% [markdown]
r"""
<details><summary>Answer</summary>

No. The few large ones agree; the ranks of all 270 hardly do. (20, 0) has an attribution of about 0, and taking it out costs 1.53 to 2.26<!-- shown: 1.53 2.26 -->. It writes nothing for the output and steers later heads: without it and (19, 2), the name mover (23, 0) puts 0.38 on Mary instead of 0.68<!-- shown: 0.38 0.68 -->. Six pairs drawn from the same two layers do nothing of the kind. Wang et al. call this S-inhibition.

</details>
"""

# %% [markdown]
r"""
## 8. Where the name is carried

Two runs differ in one token, the name in the middle. At the end they say different names. Somewhere in between, the difference has moved from the middle to the end. **Patching** finds out where: put one state of the first run into the second, and see how much of the answer comes back.
"""

# %% [markdown]
r"""
### Exercise: `patch_grid`

*Difficulty · importance · minutes*

Write `patch_grid(run, clean, corrupt) -> grid`: which share of the clean value each clean state restores in the corrupt run.

- `run(tokens, layer=None, position=None, state=None)` returns `(value, states)`: a Python float, and the states `(n, L, d)` after each layer. Given the last three, it replaces the state after `layer` at `position` by `state` `(d,)`, before the next layer reads it.
- `clean` and `corrupt` are `(L,)`, of dtype long.
- `grid` is `(n, L)`, of any floating dtype: (value of the corrupt run with clean's state at $(l, p)$ − corrupt) / (clean − corrupt). Values below 0 and above 1 stay. Zeros where clean and corrupt have the same value.
- The network need not be causal. Call `run` at will; judged to $10^{-5}$.
"""


# %% exercise="patch_grid"
def patch_grid(run, clean, corrupt):
    """Return how much of the clean value each clean state restores."""
    ### BEGIN SOLUTION: One corrupt run for each layer and position, with the clean state put in.
    (best, states), (worst, _) = run(clean), run(corrupt)
    grid = torch.zeros(states.shape[:2])
    if best == worst:
        return grid
    for layer in range(grid.shape[0]):
        for position in range(grid.shape[1]):
            value, _ = run(corrupt, layer, position, states[layer, position])
            grid[layer, position] = (value - worst) / (best - worst)
    return grid
    ### END SOLUTION


# %%
check("patch_grid", patch_grid)
# hint("patch_grid")


# %%
def resuming(taker, giver, layers):
    """Return `run` for patch_grid over some layers, which computes only what a patch can change."""
    first = {}

    def run(tokens, layer=None, position=None, state=None):
        key = tuple(tokens.tolist())
        if layer is None:
            first[key] = read(tokens[None])
        scores, kept = first[key]
        states = torch.stack([kept["state"][one][0] for one in layers])
        if layer is not None and not torch.equal(state, states[layer, position]):
            stream = states[layer : layer + 1, position:].clone()
            stream[0, 0] = state
            with torch.no_grad():
                scores, _ = taps(stream, layer=layers[layer] + 1, start=position, past=kept)
        last = scores[0, -1]
        return (last[taker] - last[giver]).item(), states

    return run


# %% [markdown]
r"""
**Predict.** From the second name to the end there are five tokens. In which layers does the name move? Does it pass through the tokens in between?
"""


# %%
@with_model
def one_sentence_patched():
    runs = two_runs(0, 1)
    layers = (0, 10, 16, 18, 19, 20, 21, 22, 23, 24, 29)
    run = resuming(runs.object[0], runs.subject[0], layers)
    grid = interpretability.patch_grid(run, runs.tokens[0], runs.other[0])
    places = range(int(runs.second[0]), runs.end + 1)
    shown = [tokenizer.decode([token]) for token in runs.tokens[0].tolist()]
    print("behind layer", *(f"{shown[place]:>7}" for place in places))
    for layer, row in zip(layers, grid.round(decimals=2) + 0.0, strict=True):
        print(f"{layer:12}", *(f"{row[place]:7.2f}" for place in places))
    print("before the second name nothing changes:", not grid[:, : places[0]].any())


# %% mystnb={"image": {"alt": "A map of layers by positions. In the column of the second name the restored share is 1 up to layer 18, falls in two steps at layers 19 to 20 and at 23; in the last column it rises in the same two steps. The columns between stay near 0."}}
axes = plotting.new_figure(
    "The name travels in two steps,\nat layers 19 to 20 and at layer 23",
    "state patched behind layer", "share of the answer restored",
)  # fmt: skip
for run in named:
    grid = torch.tensor(run["grid"])
    last = run is named[-1]
    for name, column, colour, at in (
        ("at the second name", grid[:, 0], "blue", (1, 0.88)),
        ("at the end", grid[:, -1], "orange", (24.5, 0.75)),
        ("largest in between", grid[:, 1:-1].amax(1), "green", (1, 0.12)),
    ):
        plotting.line(axes, range(30), column, name, colour, at if last else None, linewidth=1)

# %%
for run in named:
    grid = torch.tensor(run["grid"])
    print(f"template {run['template']}, second name / end:", end="")
    print(
        *(f" {layer}: {grid[layer, 0]:.2f}/{grid[layer, -1]:.2f}" for layer in (18, 19, 21, 23, 28))
    )
noised = torch.tensor(named[0]["noised"])
print("the other way round:  ", end="")
print(
    *(f" {layer}: {noised[layer, 0]:.2f}/{noised[layer, -1]:.2f}" for layer in (18, 19, 21, 23, 28))
)

# %% [markdown]
r"""
<details><summary>Answer</summary>

In two steps: about half at layers 19 and 20, where the two S-inhibition heads are, the rest at 23, where (23, 3) and the name movers are. The tokens in between carry hardly anything. The other way round, with states of the second run in the first, the picture is the same.

</details>

"When is Mary decided?" Three tools, three answers. The rank of Mary under the lens, the sign of Mary - John under the lens, and the patch:
"""

# %%
for run, patched in zip(records["lens"]["names"], named, strict=True):
    end = torch.tensor(patched["grid"])[:, -1]
    best = next(layer for layer, rank in enumerate(run["rank"]) if rank == 0)
    ahead = next(layer for layer in range(30) if min(run["object ahead"][layer:]) >= 0.75)
    print(
        f"template {run['template']}: likeliest word under the lens from layer {best} on,", end=""
    )
    print(f" ahead of John in most sentences from {ahead} on;", end="")
    print(f" 0.4 restored at the end from {next(n for n in range(30) if end[n] > 0.4)} on")

# %% [markdown]
r"""
<details><summary>Why?</summary>

The lens shows what is already written in the language of the *output*. The patch shows what is *there*, in whatever form later heads read. Behind layer 20 the end holds about half of what decides; only at 23 is it written as names.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 9. Who feeds whom, from the weights

An induction head needs to know, at each key, which token came before: a previous-token head writes that into the stream, and the induction head's *keys* read it. Can one see from the weights alone who writes for whom?

What head A writes passes through its $W_V W_O$; what head B's scores read of it, through $W_K W_Q^\top$. If the one writes into directions that the other reads, their product is large (Elhage et al., 2021). Rotations and norms are left out.
"""

# %% [markdown]
r"""
### Exercise: `composition_score`

*Difficulty · importance · minutes*

Write `composition_score(W_V, W_O, W_in, W_other) -> float`.

- `W_V` is $(d, d_v)$ and `W_O` is $(d_v, d)$, of an earlier head, which maps a token's row vector $x$ to $x W_V W_O$. `W_in` and `W_other` are $(d, d_k)$, of a later head: for composition with its keys, its $W_K$ and $W_Q$.
- In Frobenius norms:

$$\frac{\lVert W_V W_O W_\text{in} W_\text{other}^\top \rVert}{\lVert W_V W_O \rVert \cdot \lVert W_\text{in} W_\text{other}^\top \rVert}$$

- The result is a Python float, and 0.0 where either circuit, $W_V W_O$ or $W_\text{in} W_\text{other}^\top$, is 0.
- Weights may be as small as 0.02, so leave no epsilon in the result.

Rotations (RoPE) and norms are left out. No gradient is needed.
"""


# %% exercise="composition_score"
def composition_score(W_V, W_O, W_in, W_other):
    """Return how much of an earlier head's output a later head's circuit can read."""
    ### BEGIN SOLUTION: Multiply the two circuits and compare the norms; look at the divisor first.
    writes, reads = W_V @ W_O, W_in @ W_other.mT
    size = (writes.norm() * reads.norm()).item()
    return (writes @ reads).norm().item() / size if size else 0.0
    ### END SOLUTION


# %%
check("composition_score", composition_score)
# hint("composition_score")


# %%
def circuits(layer):
    """Return W_Q, W_K, W_V (576, 64) and W_O (64, 576) of a layer's nine heads, gains folded in."""
    block = model.layers[layer]
    gain = block.attention_norm.weight
    rows = (block.attention.in_proj.weight * gain).view(15, 64, 576).mT
    query, key, value = rows.split([9, 3, 3])
    W_O = block.attention.out_proj.weight.mT.view(9, 64, 576)
    return query, key.repeat_interleave(3, 0), value.repeat_interleave(3, 0), W_O


# %% [markdown]
r"""
**Predict.** 162 heads come before layer 18. For random matrices the score is $1/\sqrt{576} = 0.042$. Will one of the 162 stand out for the induction head (18, 6)?
"""


# %%
def feeders(layer, head):
    """Return the composition score of all earlier heads with a head's keys (layer, 9)."""
    W_Q, W_K, _, _ = circuits(layer)
    found = torch.zeros(layer, 9)
    for earlier in range(layer):
        _, _, W_V, W_O = circuits(earlier)
        for one in range(9):
            found[earlier, one] = interpretability.composition_score(
                W_V[one], W_O[one], W_K[head], W_Q[head]
            )
    return found


@with_model
def who_feeds_the_induction_heads():
    _, kept = read(repeated_words(50, 0)[None])
    induction = induction_score(stacked(kept, "weights")[0, ..., 1:, 1:], 50)
    for layer, head in ((17, 3), (17, 5), (18, 6), (18, 8), (20, 6)):
        found = feeders(layer, head)
        best = some_heads(found, 0.0)[:2]
        print(f"({layer}, {head}), induction {induction[layer, head]:.2f}: median", end="")
        print(f" {found.median():.3f};", *(f"{one} {found[one]:.3f}" for one in best))


# %% [markdown]
r"""
<details><summary>Answer</summary>

Two do: (17, 8), and (16, 0), the previous-token head, which also stands out for the two heads of layer 17, with more than three times the median. And not only for induction heads: (18, 8) shares its keys with (18, 6), gives the same two, and has an induction score of 0.00<!-- shown: 0.00 -->. Three heads that share a key matrix are one confirmation, not three.

A score says that a head *could* read what another writes. Whether it does, a run must say.

</details>

**Predict.** Ablate (17, 8), the first by its score for (18, 6), and (16, 0), the second. Whose absence does (18, 6) notice more?
"""


# %% guess={"name": "20.feeder", "kind": "choice", "asks": "Without which of the two heads does the induction score of (18, 6) fall further?", "take": "smallest", "options": {"(17, 8), the first by its composition score": "without (17, 8) {_} {} {x} without (19, 3)", "(16, 0), the second": "without (16, 0) {_} {} {x} without (17, 8)"}}
guess("20.feeder")


# %%
@with_model
def feeders_ablated():
    tokens = repeated_words(50, 0)
    _, other = read(texts["housing"][None])
    means = stacked(other, "heads")[0].mean(2)
    heads = ((17, 3), (17, 5), (18, 6), (20, 6))
    print("induction score of   ", *heads)
    for name, out in (
        ("all heads", []), ("without (16, 0)", [(16, 0)]), ("without (17, 8)", [(17, 8)]),
        ("without (19, 3)", [(19, 3)]), ("without (11, 1)", [(11, 1)]),
    ):  # fmt: skip
        _, kept = read(tokens[None], heads_set_to(means, out))
        found = induction_score(stacked(kept, "weights")[0, ..., 1:, 1:], 50)
        print(f"{name:18}", *(f"{found[one]:8.2f}" for one in heads))


# %% [markdown]
r"""
<details><summary>Answer</summary>

Without (16, 0), the two heads of layer 17 stop, and (18, 6) falls from 0.95 to 0.32<!-- shown: 0.95 0.32 -->. Without (17, 8), whose score was higher, it falls to 0.79<!-- shown: 0.79 -->. Without (19, 3), only (20, 6) loses, whose keys it feeds by its score; without (11, 1), the other head that looks back, none does. The weights proposed, and the run put the two candidates in another order.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 10. Who copies, from the weights?

A head that reads a token and raises the same token's score *copies*. In its weights this is a table of tokens × tokens: what the head reads of each, times what it writes for each. A large diagonal is copying; Elhage et al. (2021) sum it up by eigenvalues, which do not depend on the choice of a basis.
"""

# %% [markdown]
r"""
### Exercise: `copying_score`

*Difficulty · importance · minutes*

Write `copying_score(source, W_V, W_O, unembed) -> float`: how far a head raises the tokens that it reads.

- `source` and `unembed` are `(N, d)`: the same $N$ tokens as the head sees them and as the output counts them. `W_V` is `(d, d_v)`, `W_O` `(d_v, d)`.
- Centre both over the tokens. With the eigenvalues $\lambda$ of the map $\text{source}\, W_V W_O\, \text{unembed}^\top$ the score is $\sum \operatorname{Re} \lambda \,/ \sum |\lambda|$: a Python float in $[-1, 1]$, and 0.0 where the map is 0.
- The map has $N \times N$ numbers. Make no table of that size: $AB$ and $BA$ have the same eigenvalues, except for zeros.
- No gradient is needed.
"""


# %% exercise="copying_score"
def copying_score(source, W_V, W_O, unembed):
    """Return the eigenvalues' real parts over their sizes, from -1 to 1."""
    ### BEGIN SOLUTION: Multiply in the other order, so that the map is d_v × d_v.
    read = (source - source.mean(dim=0)) @ W_V
    written = W_O @ (unembed - unembed.mean(dim=0)).mT
    values = torch.linalg.eigvals(written @ read)
    size = values.abs().sum()
    return (values.real.sum() / size).item() if size > 0 else 0.0
    ### END SOLUTION


# %%
check("copying_score", copying_score)
# hint("copying_score")


# %%
def sources(tokens):
    """Return what heads may read of words (N,): the embedding, or the stream behind layer 0."""
    line = tokenizer.encode("\n").expand(len(tokens), 1)
    embedded, first = model.token(tokens), model.layers[0]
    pairs = model.token(torch.cat([line, tokens[:, None]], dim=1))
    with torch.no_grad():
        layered = first(pairs, model.positions, torch.arange(2))[:, 1]
        fed = first.feed_forward(first.feed_forward_norm(embedded))
    return {
        "embedding": embedded,
        "behind layer 0": layered,
        "behind layer 0, without its attention": embedded + fed,
    }


# %%
def copying_scores(source, seed=0, shift=0, num_words=1500):
    """Return the copying score of each head (30, 9); with a shift, of mismatched W_V and W_O."""
    known, drawn = torch.tensor(words()), torch.Generator().manual_seed(seed)
    tokens = known[torch.randperm(len(known), generator=drawn)[:num_words]]
    unembed = model.out.weight[tokens] * model.last_norm.weight
    read_from = sources(tokens)[source]
    found = torch.zeros(30, 9)
    for number in range(30):
        normed = F.rms_norm(read_from, (576,), None, EPS)
        _, _, W_V, W_O = circuits(number)
        for head in range(9):
            other = (head + 3 * shift) % 9
            found[number, head] = interpretability.copying_score(
                normed, W_V[head], W_O[other], unembed
            )
    return found


# %% [markdown]
r"""
**Predict.** With the embeddings as what a head reads: how many of the 270 heads will have a score above 0.5? And what will the "not John" head (23, 3) have?
"""


# %%
@with_model
def copying_of_single_heads():
    for source in ("embedding", "behind layer 0"):
        found, control = (copying_scores(source, shift=shift, num_words=600) for shift in (0, 1))
        print(f"{source:15} {(found > 0.5).sum():3} heads above 0.5,", end="")
        print(
            f" {(found < -0.5).sum():3} below -0.5; mismatched {(control > 0.5).sum():3};", end=" "
        )
        heads = ((23, 3), (24, 4), (23, 0), (18, 6), (29, 1))
        print(*(f"({a}, {b}) {found[a, b]:+.1f}" for a, b in heads))


# %% [markdown]
r"""
<details><summary>Answer</summary>

With raw embeddings 106, two heads in five<!-- shown: 106 -->, and for (23, 3) it says nothing. With the stream behind layer 0, 42 are left<!-- shown: 42 -->, and (23, 3) and (24, 4), which wrote *against* the names they read, have -1.0.

</details>

Which of the two is right? The run decides. *Effect*: how much a head's output from the token that it attends to most raises that token's score, over a random token of the text.
"""

# %%
for one in records["copying"]["correlations"]:
    print(f"{one['source']:38} draw {one['seed']}: above 0.5 {one['above 0.5']:3},", end="")
    print(f" rank correlation with the effect {one['all']:+.2f},", end="")
    print(
        f" layers 16 to 29 {one['layers 16 to 29']:+.2f}; mismatched ±{one['mismatched, deviation']:.2f}"
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

The scores behind layer 0 do, with a rank correlation of 0.65 in the late layers; those of raw embeddings do not, with -0.03<!-- shown: 0.65 -0.03 -->. A later head does not read embeddings: layer 0 has rewritten them. The last rows say which part of it: its feed-forward layer alone does nearly as well.

One warning. Several sources were tried, and the one that works was kept. Three draws of words confirm it; no other model has.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 11. Chapter 13 again

Chapter 13 asked its questions of toys. Asked here:

**Predict.** "Early layers look broadly, late ones narrowly." Is that true here? And without the first token, over which late heads rest?
"""

# %%
print("entropy over that of equal weights, mean of nine heads and five texts")
for name in ("entropy", "entropy without token 0"):
    table = torch.tensor([run[name] for run in atlas]).mean((0, 2))
    print(
        f"{name:24}", *(f"{layer}: {table[layer]:.2f} " for layer in (0, 4, 8, 12, 16, 20, 24, 28))
    )


@with_model
def effective_share():
    _, kept = read(texts["housing"][None])
    for length in (64, 100, 150, 200, 256):
        rows = stacked(kept, "weights")[0, ..., length - 1 : length, :length]
        values = stacked(kept, "values")[0].repeat_interleave(3, 1)[..., :length, :]
        left = effective_attention(rows, values).norm(dim=-1) / rows.norm(dim=-1)
        print(f"{length} keys: effective share of a row's length {left.mean():.2f}")


# %% [markdown]
r"""
<details><summary>Answer</summary>

By the plain entropy, yes: 0.86 in layer 0, 0.34 in layer 20<!-- shown: 0.86 0.34 -->. Without the first token, layers 24 and 28 spread more than layer 4: late is not narrow, late is *resting*. And the more keys there are beyond the 64 numbers of a value, the more of a row cannot matter (chapter 13, section 13): of 256 keys' rows 0.42 is left<!-- shown: 0.42 -->.

</details>

**Predict.** Which ranking of a prompt's tokens agrees best with hiding each of them: the last layer's weights, their mean, rollout, or gradient attention? Twenty prompts; random ranks and the distance to the end are the floor.
"""

# %%
for run in records["rankings"]["runs"]:
    print(
        f"{run['agreement']:7} {run['ranking']:30} {run['mean']:+.2f} ± {run['standard error']:.2f}"
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

The last layer's weights and gradient attention agree a little, around 0.35; the mean of layers and rollout are no better than random ranks. Their spread over prompts is wide: ± is the standard error over twenty, so that the order of the first two is open. Chapter 13's toy had another order.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 12. Four rankings of 270 heads

Four numbers claim to say how much a head matters for Mary: its attribution, its effect at zero, at its mean, and what patching it restores.

**Predict.** Do they rank the heads alike?
"""

# %%
kinds = ("attributed", "zero", "mean", "patch")
for run in named:
    tables = {kind: torch.tensor(run[kind]).flatten() for kind in kinds}
    print(f"template {run['template']}:", end="")
    pairs = [(a, b) for a in kinds for b in kinds if a < b]
    print(*(f" {a}–{b} {rank_correlation(tables[a], tables[b]):.2f}" for a, b in pairs))
    best = [{*table.abs().topk(8).indices.tolist()} for table in tables.values()]
    shared = sorted(divmod(one, 9) for one in set.intersection(*best))
    middle = (f"{kind} {tables[kind].abs().median():.3f}" for kind in ("zero", "mean"))
    print("   in all four lists of the best eight:", *shared, "; median effect:", *middle)

# %% [markdown]
r"""
<details><summary>Answer</summary>

On three or four heads, and on little else. Zero and mean agree with each other, at about 0.7; neither agrees with attribution or with the patch. They ask different things: what a head adds at all, what it writes straight into the output, and what in it depends on the name.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 13. Your own model

`models.all_weights(model, tokens)` returns the weights of all heads on one text: of a model of the course, of one that `models.from_folder` reads from a folder on your disk, or of one from the library transformers that was made with `attn_implementation="eager"`. Remove the first `#` below to see all heads of three layers of this chapter's model.

**Predict.** Which head of layers 16 to 18 looks one token back? Which rests hardest?
"""


# %%
def all_heads(of_model, text, layers):
    """Return the picture of all heads of some layers on a text."""
    ids = tokenizer.encode(text)
    shown = [tokenizer.decode([token]) for token in ids.tolist()]
    names = [f"Layer {layer}" for layer in layers]
    weights = models.all_weights(of_model, ids)[layers]
    return head_grid(weights, shown, shown, layer_names=names)


@with_model
def three_layers():
    ids = tokenizer.encode("When Mary and John met, John gave a drink to")
    for layer, weights in enumerate(models.all_weights(model, ids)[16:19], 16):
        back, rest = weights.diagonal(-1, -2, -1).mean(-1), weights[:, 1:, 0].mean(-1)
        print(f"layer {layer}: head {back.argmax()} looks back with {back.max():.2f},", end="")
        print(f" head {rest.argmax()} rests with {rest.max():.2f}")


# all_heads(model, "When Mary and John met, John gave a drink to", [16, 17, 18])
# all_heads(models.from_folder("path/to/a/model"), "your text", [0, 1])

# %% [markdown]
r"""
<details><summary>Answer</summary>

(16, 0) looks one token back. In layer 18 heads 7 and 8, which section 2 listed first, rest hardest.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 14. Steering

Take the mean stream at the end of three glad sentences, subtract that of three sad ones, and add the difference behind one layer while the model reads "The film was". The number is the log-odds of eight glad words against eight sad ones, minus those of the unchanged model, over four openings.

**Predict.** Behind layer 22, how far does the difference move the log-odds? And a random vector that is four times as long?
"""

# %%
steering = measure.read_record("chapter_20_steering")
for run in steering["runs"]:
    moved = (f"{factor}: {one:+.1f} " for factor, one in run["difference of means"].items())
    print(f"layer {run['layer']:2}, difference of means times", *moved, end="")
    drawn = run["random"]["4.0"]
    print(f" random, four times as long: {min(drawn):+.1f} to {max(drawn):+.1f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

By +3.8, and -2.7 the other way<!-- shown: 3.8 -2.7 -->; the five random vectors by 0.1 to 0.6. Behind layer 18 one of the random ones moves it by -3.2<!-- shown: -3.2 -->, more than the difference itself does. So a steering that is shown without random vectors of the same length has shown little.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 15. Three heads, one key

Three query heads share their keys and values (chapter 08).

**Predict.** Are their patterns nearer to each other than to other heads' patterns? And what does it cost to give the three one pattern, their mean?
"""

# %%
for run in steering["shared"]:
    within, across = (sum(run[name]) / 30 for name in ("within", "across"))
    print(
        f"{run['text']:12} total variation within a group {within:.2f}, across {across:.2f};",
        end="",
    )
    print(f" nearer within in {run['nearer within']} of 30 layers;", end="")
    print(f" loss {run['loss']:.2f}, with one pattern for three {run['one pattern for three']:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Nearer, in 28 to 30 of the 30 layers, but not near: 0.42 to 0.44, of at most 1<!-- shown: 0.42 0.44 -->. One pattern for three costs 2.9 nats and more. (18, 6) and (18, 7) look for what followed, (18, 8) with the same keys rests: what differs is the query.

</details>
"""

# %% [markdown]
r"""
## Yours: your eight functions on your own prompt

Write a prompt with two names, the second of them repeated, and the other one as the expected word. The readings of this chapter are made again, with your functions where their checks have passed.

**Predict.** Will (23, 3) say "not" to your name, too?
"""

# %%
PROMPT, EXPECTED, AGAINST = (
    "When Lucy and Peter met at the station, Peter gave a book to",
    " Lucy",
    " Peter",
)


def on_the_run(parts):
    """Return the readings that need a run of the prompt."""
    tokens, gain, unembed = tokenizer.encode(PROMPT), model.last_norm.weight, model.out.weight
    taker, giver = (int(tokenizer.encode(one)[0]) for one in (EXPECTED, AGAINST))
    _, kept = read(tokens[None])
    weights, state = stacked(kept, "weights")[0], stacked(kept, "state")[0, :, -1]
    first = torch.arange(len(tokens)).expand(len(tokens), -1) == 0
    share, base = parts.role_share(weights, first)
    rank, told = parts.logit_lens(state, gain, unembed, taker, EPS)
    heads, direction = stacked(kept, "heads")[:, :, :, -1], unembed[[taker]] - unembed[[giver]]
    written = parts.direct_attribution(heads, output_matrices(), state[-1:], gain, direction, EPS)
    swapped = tokens.clone()
    swapped[(tokens == giver).nonzero()[-1]] = taker
    grid = parts.patch_grid(resuming(taker, giver, (16, 21, 28)), tokens, swapped)
    return {
        "resting heads": int((share > 0.5).sum()), "base": base, "rank": rank[-4:], "lens": told,
        "attributed": written[0, [23, 29, 24, 23], [3, 1, 4, 0]], "patched": grid,
        "hidden": parts.without_key(weights[29], 0)[..., -1, :],
        "ablated": parts.mean_ablate(kept["heads"][23], [3], kept["heads"][23])[0, 3, -1],
    }  # fmt: skip


# %%
def readings(parts):
    """Return the readings of this chapter on the prompt, through these functions."""
    W_Q, W_K, _, _ = circuits(18)
    _, _, W_V, W_O = circuits(16)
    _, _, values, outputs = circuits(23)
    few = torch.tensor(words())[:200]
    seen = F.rms_norm(sources(few)["behind layer 0"], (576,), None, EPS)
    counted = model.out.weight[few] * model.last_norm.weight
    return {
        **on_the_run(parts),
        "copying": parts.copying_score(seen, values[3], outputs[3], counted),
        "composition": parts.composition_score(W_V[0], W_O[0], W_K[6], W_Q[6]),
    }


# %% tags=["nbval-ignore-output"] reason="whose functions run, and how fast, depends on the reader"
parts = yours(
    "role_share", "without_key", "mean_ablate", "logit_lens", "direct_attribution", "patch_grid",
    "copying_score", "composition_score",
)  # fmt: skip
note = parts.run(readings) if path else parts
note


# %%
@with_model
def your_prompt():
    result = note.result
    print(f"{result['resting heads']} heads rest, base rate {result['base']:.2f};", end=" ")
    print("rank of the expected word behind the last four layers:", *result["rank"].tolist())
    names = ("(23, 3)", "(29, 1)", "(24, 4)", "(23, 0)")
    print(
        "attributed:", *(f"{a} {b:+.1f}" for a, b in zip(names, result["attributed"], strict=True))
    )
    print(f"copying (23, 3) {result['copying']:+.1f}, composition {result['composition']:.2f}")


# %% [markdown]
r"""
**An open question**, with no answer in this text. The last lines of section 5: when the sequence begins with one of its own words, the second copy costs about three times as much. What would convince you that the sink is the reason?
"""

# %% [markdown]
r"""
## Recap

- A share needs a base rate, an ablation needs random choices, a lens needs equal probabilities beside it.
- 62 to 86 of 270 heads rest on the first token. The model does not need what it says, only a place to rest.
- Copying hangs on one previous-token head and eight induction heads. In text it shows where pairs return.
- Direct attribution adds up and still misses heads that steer others; patching finds them.
- Weights propose, runs decide. Composition scores found the head that feeds induction, and one that hardly does; copying scores are right only with what heads really read.

Not shown here: that any of this holds in another model.
"""

# %% tags=["remove-cell"]
progress(20)

# %% [markdown]
"""
**That was the last chapter.** Talk to the model with `chat()`, or write again from memory what `review()` proposes.
"""

# %% [markdown]
r"""
## Go further

- Elhage et al. (2021) write attention as circuits; Olsson et al. (2022) find induction heads in large models.
- Wang et al. (2022) trace a circuit head by head; Zhang and Nanda (2024) say how patching can mislead.
- Xiao et al. (2024) and Sun et al. (2024) measure sinks and massive activations; Gu et al. (2025) ask when they arise.
- nostalgebraist (2020) drew the first logit lens; Belrose et al. (2023) tune it.
"""
