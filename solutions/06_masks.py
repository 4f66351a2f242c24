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
# Say who may look where: masks

A mask says which key each query may look at. Rules are combined, and the table of weights follows.

Play for one minute: choose an example from the list, then rules of your own. **Which of them leaves a query that may look at nothing, and what does that query return?** At the end of the chapter you can explain it.
"""

# %% tags=["remove-input"]
from course_utils.widgets import mask_playground

opening = mask_playground()
opening

# %% [markdown]
r"""
*You will be able to*

1. build causal and padding masks (further: window, prefix and document masks), combine them, and say where L ≠ S needs an offset;
2. recognise a leak from a loss that is too good, and write a test that finds it;
3. say what $-\infty$, $-10^9$ and booleans do to a query with no visible key, in float32 and in float16;
4. (further) trace a NaN from one empty row through a second layer;
5. (further) say what a mask saves: nothing, by itself.

*You need* chapter 03 for attention and the softmax, chapter 05 for heads and the small Transformer. Its positions are *learned*: one vector for each place, added to the token's (chapter 07).

*Core path · further*
"""

# %% [markdown]
"""
How to read: each experiment begins with a question. Write your guess down, run the cell, then open the answer.

$L$ queries and $S$ keys, as before. A mask is boolean, has one row for each query and one column for each key, and **True means: may look**. Query $i$ and key $j$ are counted from 0.
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
import copy
import itertools
import math
import sys
import time
from functools import partial
from statistics import mean, median

import torch
from matplotlib import pyplot as plt
from torch import nn
from torch.nn import functional as F
from torch.nn.attention.bias import causal_lower_right
from torch.nn.attention.flex_attention import create_block_mask, create_mask
from tqdm import tqdm

from course_utils import attention, matrix_plotting, measure, plotting
from course_utils.data import character_text, decode, random_windows
from course_utils.guessing import draw_guess, guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.models import SmallTransformer
from course_utils.models.training import descend
from course_utils.positions import alibi_bias

plotting.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=2, sci_mode=False)

# %% [markdown]
r"""
## 1. A table of who may look

A model that writes text predicts the next token from the ones before it. In training all positions are computed at once, so the later tokens are in the same tensor. A **causal** mask hides them: query $i$ may look at key $j$ only if $j \le i$.

Hidden scores become $-\infty$ before the softmax, and $e^{-\infty} = 0$: a hidden key gets the weight 0, and the weights of the others still sum to 1.

**Predict.** Four tokens, all scores 0. What does the third query give to each key?
"""

# %%
causal = attention.causal_mask(4, 4)
print(causal.int())
print(attention.masked_softmax(torch.zeros(4, 4), causal))

# %% [markdown]
"""
<details><summary>Answer</summary>

A third to itself and to each of the two before it, nothing to the last.<!-- shown: 0.33 --> The first query has no choice: it gives everything to itself.

</details>

Published code writes the same table in two other ways. And `nn.MultiheadAttention` wants the opposite table: there True means *blocked*.

**Predict.** Which of the three lines print True?
"""

# %%
ones = torch.ones(4, 4)
print("lower triangle         ", torch.equal(torch.tril(ones).bool(), causal))
print("no entry above diagonal", torch.equal(torch.triu(ones, diagonal=1) == 0, causal))
blocked = nn.Transformer.generate_square_subsequent_mask(4) == -torch.inf
print("torch's own, as boolean", torch.equal(blocked, causal))

# %% [markdown]
"""
<details><summary>Answer</summary>

The first two. The third is the same table inverted, which is right where True means *blocked*. A mask handed to the wrong one of the two functions runs without an error, and shows each query exactly what it must not see. `~mask` translates.

</details>
"""

# %% [markdown]
r"""
## 2. What a leak looks like

Data with nothing to learn: sequences of random digits. Each next digit is one of ten, all equally likely, so no model that sees the past alone can have a mean loss below $\ln 10 = 2.303$ nats. (The loss is $-\ln$ of the probability given to what came; a *nat* is its unit.) That floor is the **entropy** of the data.

A small Transformer is trained twice on such digits, 16 positions at a time. One mask is right. The other has its diagonal one too high: query $i$ sees key $i + 1$, which is the digit that it must predict.
"""

# %% [markdown]
r"""
First the tools: the loss under a mask, and training with it. `descend` is the course's training loop: in each step it asks for the loss of a fresh batch and lets Adam, an optimiser, change the parameters.
"""


# %%
def next_token_loss(model, tokens, offset):
    """Return the mean loss of predicting each token from what the mask shows of its row."""
    length = tokens.shape[1] - 1
    logits = model(tokens[:, :-1], attention.causal_mask(length, length, offset))
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def trained(draw, length, offset, steps, tokens=10, d_model=32, heads=2, layers=1, batch=32):
    """Train a small Transformer on what `draw` returns; return it and the loss of each step."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    model = SmallTransformer(
        tokens, max_length=length, d_model=d_model, num_heads=heads, num_layers=layers
    )
    optimiser = torch.optim.Adam(model.parameters())

    def batch_loss():
        return next_token_loss(model, draw(batch, length + 1, generator), offset)

    def bar(steps):
        return tqdm(steps, f"offset {offset}", ncols=70, mininterval=1, file=sys.stdout)

    losses = descend(model, batch_loss, optimiser, steps=steps, learning_rate=3e-3, progress=bar)
    return model, losses


# %% [markdown]
r"""
A second loss is **honest**: it predicts each token from a sequence that ends just before it. What is not in the tensor cannot leak. For a causal model both are the same number.
"""


# %%
@torch.no_grad()
def honest_loss(model, tokens, offset):
    """Return the mean loss when the model is given only what comes before each token."""
    losses = []
    for n in range(1, tokens.shape[1]):
        logits = model(tokens[:, :n], attention.causal_mask(n, n, offset))
        losses.append(F.cross_entropy(logits[:, -1], tokens[:, n]).item())
    return mean(losses)


def random_digits(count, length, generator):
    """Return digits without any rule."""
    return torch.randint(10, (count, length), generator=generator)


# %% tags=["nbval-ignore-output"] reason="a progress bar"
digit_models = {offset: trained(random_digits, 16, offset, steps=200) for offset in (0, 1)}

# %% [markdown]
"""
**Predict.** The training loss with the diagonal one too high: 2.303, a little less, or near 0? And what is the honest loss of that model?
"""

# %% guess={"name": "06.honest", "kind": "number", "asks": "Random digits, where a blind guess has a loss of 2.30 nats: what is the honest loss of the model trained with the diagonal one too high?", "low": 0.1, "high": 20, "log": true, "unit": "nats", "reads": "offset 1: {_}, honest {}"}
guess("06.honest")

# %%
fresh = random_digits(256, 17, torch.Generator().manual_seed(1))
print(f"the floor: ln 10 = {math.log(10):.2f}")
for offset, (model, losses) in digit_models.items():
    with torch.no_grad():
        batch_loss = next_token_loss(model, fresh, offset)
    print(f"offset {offset}: training {mean(losses[-20:]):.2f}, new data {batch_loss:.2f}", end="")
    print(f", honest {honest_loss(model, fresh, offset):.2f}")
print(f"one place in 16 without a neighbour to copy: ln 10 / 16 = {math.log(10) / 16:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

0.17 on random digits: impossible, hence a leak. New data show the same 0.17, because a validation set measured under the same mask leaks in the same way. Nearly all that remains comes from one place: the last query has no key to its right.

The honest loss is 4.5, far *above* the floor. The model is sure of a digit that it copied from the wrong place; guessing blindly would give 2.3.<!-- shown: 0.17 4.5 2.3 -->

</details>
"""

# %% [markdown]
"""
**Check yourself.** A colleague shows a loss below the entropy of the data and says that the model is large enough to memorise. When is that possible?

<details><summary>Answer</summary>

On the training set, after seeing it many times: the text is then no longer random to the model. It is never possible on fresh data, and here every batch is fresh. A loss that is too good on fresh data is a leak until the opposite is proved.

</details>
"""

# %% [markdown]
r"""
**Now the models write.** Digits with a rule: the first eight are random, and each further row of eight repeats the row before with every digit one higher (after 9 comes 0):

`5948 3311 · 6059 4422 · 7160 5533 · …`

With 32 predicted digits the floor is $7 \ln 10 / 32 = 0.50$, for the seven random ones. Three models, one with no mask at all (an offset of 32 hides nothing).
"""


# %%
def counting_rows(count, length, generator):
    """Return rows of eight digits, each row one higher than the last."""
    first = torch.randint(10, (count, 1, 8), generator=generator)
    return ((first + torch.arange(length // 8 + 1)[:, None]) % 10).flatten(1)[:, :length]


@torch.no_grad()
def generate(model, tokens, length, offset):
    """Write the likeliest token again and again."""
    while (n := tokens.shape[1]) < length:
        logits = model(tokens, attention.causal_mask(n, n, offset))
        tokens = torch.cat([tokens, logits[:, -1:].argmax(dim=-1)], dim=1)
    return tokens


# %% tags=["nbval-ignore-output"] reason="a progress bar"
row_models = {offset: trained(counting_rows, 32, offset, steps=500) for offset in (0, 1, 32)}

# %% [markdown]
"""
**Predict.** Each model gets two rows of eight and continues. Guess the share of right digits for each mask.
"""

# %%
names = {0: "causal", 1: "one too high", 32: "no mask"}
tokens = counting_rows(256, 33, torch.Generator().manual_seed(1))
print(f"floor {7 * math.log(10) / 32:.2f}   training  honest   right   given, then written")
for offset, (model, losses) in row_models.items():
    written = generate(model, tokens[:, :16], 32, offset)
    right = (written[:, 16:] == tokens[:, 16:32]).float().mean()
    row = "".join(map(str, written[0].tolist()))
    honest = honest_loss(model, tokens, offset)
    print(f"{names[offset]:12} {mean(losses[-20:]):8.2f} {honest:8.2f} {right:8.0%}   ", end="")
    print(f"{row[:8]} {row[8:16]} | {row[16:24]} {row[24:]}")

# %% [markdown]
"""
<details><summary>Answer</summary>

The causal model comes to the floor and writes every digit right. The two others have a training loss near 0, far below the floor, and write rubbish: 9% right (a blind guess gets 10%) and 22%.<!-- shown: 9% 22% --> The better the loss, the worse the text.

Both had one honest place in each sequence to learn the rule from: the last, which has nothing to its right. That was not enough.

</details>
"""

# %% mystnb={"image": {"alt": "Training loss against step, logarithmic. The causal model levels off at the floor of 0.5; the models with a leak fall straight through it, to below 0.01."}}
axes = plotting.new_figure(
    "A loss below the floor is not a success", "step", "training loss (nats)"
)
looks = [("blue", (330, 0.75), "-"), ("orange", (10, 0.005), "-"), ("pink", (330, 0.05), "--")]
for offset, (colour, at, style) in zip(row_models, looks, strict=True):
    curve = torch.tensor(row_models[offset][1]).unfold(0, 10, 10).mean(dim=-1)
    plotting.line(axes, 10 * torch.arange(len(curve)) + 5, curve, names[offset], colour, at, style)
axes.axhline(7 * math.log(10) / 32, color=plotting.QUIET, linewidth=1)
axes.text(262, 0.33, "floor: entropy of the data", color=plotting.QUIET)
_ = axes.set(yscale="log")

# %% [markdown]
"""
**On real text** nobody knows the floor. Characters of Python's help texts, 64 at a time, two layers.

**Predict.** Which sign in the output gives the leak away, if you may look at only one: training loss, validation loss, honest loss, or the text?
"""

# %%
text = character_text()


def windows(count, length, generator, tokens=text.train):
    """Return pieces of the text."""
    start, follow = random_windows(tokens, length - 1, count, generator)
    return torch.cat([start, follow[:, -1:]], dim=1)


# %% tags=["nbval-ignore-output"] reason="training differs in the last digits between machines, and the text between Python versions"
held_out = windows(64, 65, torch.Generator().manual_seed(1), text.validation)
for offset in (0, 1):
    model, losses = trained(windows, 64, offset, 300, text.num_characters, 64, 4, 2, batch=16)
    with torch.no_grad():
        validation = next_token_loss(model, held_out, offset)
    print(f"{names[offset]}: training {mean(losses[-20:]):.2f}, ", end="")
    print(f"validation {validation:.2f}, honest {honest_loss(model, held_out, offset):.2f}")
    print(repr(decode(generate(model, held_out[:1, :32], 64, offset)[0])))

# %% [markdown]
"""
<details><summary>Answer</summary>

Training and validation loss both look like a breakthrough: about 0.14, where the causal model has about 2.3 after so short a training.<!-- shown: 0.14 2.32 --> The honest loss is the one sure sign; it should equal the validation loss and is more than twice the causal model's. The text is a sign too, though a weak causal model also writes poor text.

So: **compute the loss position by position once** before you believe it. Section 9 has a test that needs no training.

</details>
"""

# %% [markdown]
r"""
## 3. Where does the first query stand?

With as many queries as keys, the causal mask is a triangle. With fewer queries than keys, one number is missing: which key is query 0's own? That number is the **offset**: query $i$ sees keys $j \le i + \text{offset}$.

When a model writes, the keys of earlier tokens are kept (chapter 10) and only the new tokens ask. With $L$ new tokens among $S$ keys, the first one is at place $S - L$.

**Predict.** Two new tokens, five keys. Write both tables: offset 0, and offset $S - L = 3$. Which of them is SDPA's `is_causal=True`?
"""

# %% guess={"name": "06.causal", "kind": "choice", "asks": "Two new tokens, five keys, all scores equal: how many keys does the second one see under SDPA's is_causal=True?", "take": "printed", "options": {"one": "SDPA, is_causal=True tensor([[{_}], [1.00", "two": "SDPA, is_causal=True tensor([[{_}], [0.50", "four": "SDPA, is_causal=True tensor([[{_}], [0.25", "all five": "SDPA, is_causal=True tensor([[{_}], [0.20"}}
guess("06.causal")

# %%
L, S = 2, 5
print("offset 0\n", attention.causal_mask(L, S).int())
print("offset S - L\n", attention.causal_mask(L, S, offset=S - L).int())
query, key = torch.zeros(L, 4), torch.zeros(S, 4)
show_weights = torch.eye(S)  # values that make the output equal to the weights
weights = F.scaled_dot_product_attention(query[None], key[None], show_weights[None], is_causal=True)
print("SDPA, is_causal=True\n", weights[0])
bias = causal_lower_right(L, S)
weights = F.scaled_dot_product_attention(query[None], key[None], show_weights[None], bias)
print("SDPA, causal_lower_right\n", weights[0])

# %% [markdown]
r"""
<details><summary>Answer</summary>

Offset 0. `is_causal=True` aligns the table at its **upper left**: the newest tokens see the oldest keys and nothing else. PyTorch names the other alignment `causal_lower_right`. Libraries differ: FlashAttention has aligned at the lower right since version 2.1 (its README says so), and at the upper left before. A function that guesses the alignment from the shapes cannot be right for everyone, so in this course the offset is always stated.

</details>

Its effect during generation: take ten tokens, and let the last $L$ of them be queries against all ten keys. The right output is the last $L$ rows of the causal attention over all ten.

**Predict.** One new token: which of the three ways are right? And three new tokens?
"""

# %%
generator = torch.Generator().manual_seed(6)
query, key, value = torch.randn(3, 1, 10, 8, generator=generator)
whole = F.scaled_dot_product_attention(query, key, value, is_causal=True)
print("new tokens   is_causal=True   no mask   offset S - L     (largest error)")
for new in (1, 3):
    attend = partial(F.scaled_dot_product_attention, query[:, -new:], key, value)
    mask = attention.causal_mask(new, 10, offset=10 - new)
    outs = attend(is_causal=True), attend(), attend(attn_mask=mask)
    errors = [(out - whole[:, -new:]).abs().max().item() for out in outs]
    print("{:10} {:16.2f} {:9.2f} {:14.2f}".format(new, *errors))

# %% [markdown]
"""
<details><summary>Answer</summary>

One token: no mask at all is right, because every kept key is in its past, and `is_causal=True` is wrong: the token sees only the first key. Three tokens at once (a prompt that continues a conversation, or several guesses checked together): no mask leaks, `is_causal=True` forgets nearly everything, only the offset is right.

</details>

An offset may also be negative. Then the first queries see nothing at all; section 7 says what becomes of them.
"""

# %% [markdown]
r"""
### Exercise: `causal_mask`

*Difficulty · importance · minutes*

Write `causal_mask(num_queries, num_keys, offset=0) -> mask`.

- The result is a boolean tensor of shape `(num_queries, num_keys)`, True = may look.
- Query $i$ sees key $j$ when $j \le i + \text{offset}$.
- The offset may be negative, or larger than the number of keys.

The check uses more queries than keys, fewer, and offsets of both signs.
"""


# %% exercise="causal_mask"
def causal_mask(num_queries, num_keys, offset=0):
    """Say which keys each query may see: its own and the earlier ones."""
    ### BEGIN SOLUTION: Compare the place of each key with the place of each query.
    mask = torch.ones(num_queries, num_keys, dtype=torch.bool)
    return mask.tril(diagonal=offset)
    ### END SOLUTION


# %%
check("causal_mask", causal_mask)
# hint("causal_mask")  # remove the first # for a hint; each call gives one more

# %% [markdown]
r"""
## 4. Padding

A batch is one tensor, so shorter sequences are filled up. The filler, *padding*, has vectors like any other token. Unless it is hidden, it is attended to.

One attention layer, a sequence of four tokens, and more and more padding after it.

**Predict.** By how much do the outputs of the four real tokens move when padding is added? Does the amount of padding matter?
"""

# %%
torch.manual_seed(0)
layer = attention.MultiHeadAttention(16, num_heads=2)
real, pad = torch.randn(1, 4, 16, generator=generator), torch.randn(16, generator=generator)
alone = layer(real).detach()
print("pads   moved, no mask   moved, masked")
for pads in (0, 1, 3, 8):
    padded = torch.cat([real, pad.expand(1, pads, 16)], dim=1)
    mask = attention.padding_mask(torch.tensor([4]), 4 + pads)
    outs = layer(padded), layer(padded, attn_mask=mask)
    moved = [(out[:, :4] - alone).abs().max().item() for out in outs]
    print("{:4} {:16.2f} {:15.2f}".format(pads, *moved))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Every pad takes a share of every token's weight, so the outputs move further with each. The same sentence gets a different answer when a longer one is in its batch. With the mask nothing moves at all.

</details>

**Find the error.** "Padding mask for efficiency", says text D (A to E are listed on the page *What is measured here*).

**Predict.** Count the operations of the layer with and without the mask.
"""

# %%
padded = torch.cat([real, pad.expand(1, 8, 16)], dim=1)
query, key, value = padded, padded, padded
mask = attention.padding_mask(torch.tensor([4]), 12)[:, 0]
plain = partial(attention.scaled_dot_product_attention, query, key, value)
print("without a mask", measure.count_flops(plain), "operations")
print("with the mask ", measure.count_flops(plain, mask), "operations")

# %% [markdown]
"""
<details><summary>Answer</summary>

The same. The mask is there so that the result is *right*; it saves nothing. Efficiency is what sorting by length or packing (section 5) is for.

</details>
"""

# %% [markdown]
"""
**Check yourself.** A padding mask hides columns. What of the *rows* of padded positions: must they be hidden as well?

- A. yes, or padding reads real tokens
- B. no: they compute something that nobody reads
- C. yes, and the columns then need no mask

<details><summary>Answer</summary>

- A is wrong: what padding reads harms nobody; what is read from padding does.
- **B is right**, if the loss ignores those positions. Hiding such a row altogether makes it empty, which is the trouble of sections 7 and 8.
- C is wrong: masking queries instead of keys is a common slip. Real tokens then still read the padding.

</details>
"""

# %% [markdown]
r"""
### Exercise: `padding_mask`

*Difficulty · importance · minutes*

Write `padding_mask(lengths, num_keys) -> mask`.

- `lengths` is `(B,)`, whole numbers from 0 to `num_keys`. Key $j$ of sequence $b$ is real when $j <$ `lengths[b]`.
- The result is boolean, of shape `(B, 1, 1, num_keys)`. The two axes of size 1 are those of heads and queries: the same keys are hidden for all of them.
"""


# %% exercise="padding_mask"
def padding_mask(lengths, num_keys):
    """Say which keys of each sequence are real."""
    ### BEGIN SOLUTION: Number the keys, compare with each length, make room for heads and queries.
    keys = torch.arange(num_keys, device=lengths.device)
    return (keys < lengths.reshape(-1, 1)).unflatten(0, (-1, 1, 1))
    ### END SOLUTION


# %%
check("padding_mask", padding_mask)
# hint("padding_mask")

# %% [markdown]
"""
Lengths are not always at hand. Published helpers compare tokens with a padding number: `(tokens != pad_id).unsqueeze(1)`.

**Predict.** The letters are numbered from 0, a = 0, and padding is 0 too. What does the mask of "a cab" (blank = 3) hide?
"""

# %%
tokens = torch.tensor([[0, 3, 2, 0, 1, 0, 0]])  # a, blank, c, a, b, and two pads
print("by number:", (tokens != 0).int().tolist())
print("by length:", attention.padding_mask(torch.tensor([5]), 7)[0, 0].int().tolist())

# %% [markdown]
"""
<details><summary>Answer</summary>

Every "a" as well. The number for padding must be reserved: no token may have it. The helper's shape `(B, 1, S)` has a trap of its own, shown in section 6.

</details>

**Left or right?** For writing, batches are often padded on the *left*, so that all sequences end at the same place and the next token is the last row of each. Then the causal rows of the pads see nothing but pads, which are hidden: they are empty. And positions must be counted from the first real token, or the sentence seems to start later.
"""

# %% [markdown] tags=["further"]
r"""
## 5. Windows, prefixes, documents

Three more rules, all made of comparisons:

- a **window** keeps the past short: query $i$ sees the last $w$ keys, counting the one at $i + \text{offset}$. Models for long texts use it in some or all layers (Longformer, Mistral 7B);
- a **prefix** is read in both directions, the rest causally: $j < p$ *or* $j \le i$ (T5's paper compares such models; section 11);
- **documents** packed into one row stay apart: same document *and* causal.

**Predict.** For eight positions, how many pairs does each leave: causal, window of 3, prefix of 3, documents of 3 and 5 tokens?
"""

# %%
ids = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1]])
kinds = {
    "causal": attention.causal_mask(8, 8),
    "causal, offset 1: a leak": attention.causal_mask(8, 8, offset=1),
    "window of 3": attention.window_mask(8, 8, 3),
    "prefix of 3": attention.prefix_mask(8, 3),
    "two documents": attention.document_mask(ids)[0, 0],
    "padding, 5 real": attention.padding_mask(torch.tensor([5]), 8)[0, 0].expand(8, 8),
}
for name, mask in kinds.items():
    print(f"{name:24} {mask.sum().item():2} of {mask.numel()} pairs")

# %% mystnb={"image": {"alt": "Six masks of eight queries and eight keys. Causal: a triangle. Offset 1: a triangle one diagonal too wide. Window of 3: a band. Prefix of 3: a triangle and three full columns. Two documents: two small triangles. Padding: five full columns."}}
figure, panels = plt.subplots(2, 3, figsize=(plotting.WIDTH, 4.4))
plotting.headline(figure, "Six masks: blue = may look")
for panel, (name, mask) in zip(panels.flat, kinds.items(), strict=True):
    matrix_plotting.weight_map(panel, mask.float(), decimals=None, mask=True)
    panel.set_title(name, loc="center", fontsize=10)
for panel in panels[:, 0]:
    panel.set_ylabel("query")
for panel in panels[1]:
    panel.set_xlabel("key")

# %% [markdown]
r"""
<details><summary>Answer</summary>

36, 21, 39 and 21.<!-- shown: 36 21 39 --> A window of $w$ costs each query at most $w$ pairs: $1 + 2 + 6\cdot 3 = 21$. The prefix adds the three pairs above the diagonal inside it. Documents of 3 and 5 leave $6 + 15$.

</details>

**One model, three sources, two counts.** Mistral 7B has a window of $W = 4096$. How many keys may a query see? The paper's text says positions "between $i - W$ and $i$". Its authors' first code keeps a band of a triangle, `triu(tril(ones), diagonal=-W)`. Hugging Face's code for the same model asks for `j > i - W`.

**Predict.** $W = 3$: which of the three agree?
"""

# %%
i, j = torch.arange(8)[:, None], torch.arange(8)
windows_of_3 = {
    "the paper's text    ": (i - 3 <= j) & (j <= i),
    "the authors' code   ": torch.triu(torch.tril(torch.ones(8, 8)), diagonal=-3).bool(),
    "Hugging Face's code ": (j > i - 3) & (j <= i),
    "window_mask(8, 8, 3)": attention.window_mask(8, 8, 3),
}
for name, mask in windows_of_3.items():
    print(name, "keys seen by each query:", mask.sum(dim=1).tolist())

# %% [markdown]
r"""
<details><summary>Answer</summary>

The text and the authors' code give each query its own key and $W$ before it, $W + 1$ in all; Hugging Face's code gives $W$ in all, as does this course. The paper itself counts both ways: the caption of its first figure and its cache have $W$ (Jiang et al., 2023, section 2; `one_file_ref.py` in mistralai/mistral-inference). One key in 4,097 harms nobody. It does harm a test that compares two libraries to the last digit, so say whether a window counts the query's own key.

</details>
"""

# %% [markdown]
r"""
### Exercise: `window_mask`

*Difficulty · importance · minutes*

Write `window_mask(num_queries, num_keys, window, offset=0) -> mask`.

- Boolean, `(num_queries, num_keys)`.
- Query $i$ is at place $p = i + \text{offset}$ and sees the keys $p - w + 1, \dots, p$: at most `window` of them, its own counted, none later than $p$.
- `window` is at least 1, and may be larger than the number of keys.
"""


# %% exercise="window_mask"
def window_mask(num_queries, num_keys, window, offset=0):
    """Say which keys each query may see: the last few, its own among them."""
    ### BEGIN SOLUTION: Count how far each key is behind its query, and keep a range of that.
    place = torch.arange(num_queries)[:, None] + offset
    behind = place - torch.arange(num_keys)[None, :]
    return torch.logical_and(behind >= 0, behind <= window - 1)
    ### END SOLUTION


# %%
check("window_mask", window_mask)
# hint("window_mask")

# %% [markdown]
"""
**Check yourself.** A model has 6 layers with a window of 4. From how far back can information reach the last position?

- A. 3 positions
- B. 18 positions
- C. 24 positions

<details><summary>Answer</summary>

- A is wrong: that is one layer.
- **B is right.** Each layer reaches 3 positions further back: 6 · 3.
- C is wrong: it counts the position itself again in every layer.

</details>
"""

# %% [markdown]
r"""
**Packing.** Instead of padding, put several documents into one row. Nothing is wasted, but a causal mask alone lets the second document read the first.

The causal model of section 2 reads two documents of 16 digits in one row of 32. The first eight digits of the second are random again: nobody can predict them with a mean loss below $\ln 10 = 2.30$. The model has a learned vector for each of 32 places; in a copy of it the places of the second document get the vectors of the first 16 again.

**Predict.** Which equals the loss of the document alone: that under a causal mask, under a document mask, or with positions that start again?
"""

# %% guess={"name": "06.packed", "kind": "number", "asks": "The counting model reads the random first row of a second packed document, under a document mask, positions counted on: what is its mean loss, where a blind guess has 2.30 nats?", "low": 1, "high": 20, "log": true, "unit": "nats", "reads": "documents 0.00 {_} {}"}
guess("06.packed")

# %%
generator = torch.Generator().manual_seed(6)
first, second = counting_rows(256, 16, generator), counting_rows(256, 17, generator)
packed = torch.cat([first, second], dim=1)
documents = torch.tensor([[0] * 16 + [1] * 16])
apart = attention.document_mask(documents)
model = row_models[0][0]
restarted = copy.deepcopy(model)
restarted.position.weight.data[16:] = model.position.weight[:16]


@torch.no_grad()
def losses_by_place(model, tokens, mask):
    """Return the mean loss at each place of a row."""
    logits = model(tokens[:, :-1], mask)
    return F.cross_entropy(logits.mT, tokens[:, 1:], reduction="none").mean(dim=0)


# %%
print(f"{'':26} weight across   loss at the seam   in the row after it")
for name, reader, mask in (
    ("causal", model, attention.causal_mask(32, 32)),
    ("documents", model, apart),
    ("documents, places restart", restarted, apart),
):
    across = reader.weights(packed[:, :32], mask)[0][:, :, 16:, :16].sum(dim=-1).mean()
    losses = losses_by_place(reader, packed, mask)
    print(f"{name:26} {across:13.2f} {losses[15]:18.2f} {losses[16:23].mean():21.2f}")
alone = losses_by_place(model, second, attention.causal_mask(16, 16))
print(f"{'the document alone':26} {'':13} {'':18} {alone[:7].mean():21.2f}")

# %% [markdown]
"""
<details><summary>Answer</summary>

Under the causal mask half of the second document's weight goes to the first, and the model is sure that the count goes on: a loss of more than three times the floor.<!-- shown: 0.51 7.71 --> The document mask stops the reading, but the positions still say "not the first row". Only mask and positions together give the loss of the document alone.<!-- shown: 2.31 -->

The *seam* is a third matter. There the last token of one document is asked to predict the first of the next. No mask helps: that target must be left out of the loss.

</details>
"""

# %% [markdown]
r"""
### Exercise: `document_mask`

*Difficulty · importance · minutes*

Write `document_mask(document_ids) -> mask`.

- `document_ids` is `(B, L)`, whole numbers; equal numbers mean the same document, wherever it appears in the row. Any number may occur; no number is reserved for padding.
- The result is boolean, `(B, 1, L, L)`: query $i$ sees key $j$ of its own document with $j \le i$.
"""


# %% exercise="document_mask"
def document_mask(document_ids):
    """Say which keys each query may see: those of its own document, not later than itself."""
    ### BEGIN SOLUTION: Compare each id with each other one, keep the lower triangle, add the heads.
    same = document_ids[:, None, :, None] == document_ids[:, None, None, :]
    return same.tril()
    ### END SOLUTION


# %%
check("document_mask", document_mask)
# hint("document_mask")

# %% [markdown]
r"""
## 6. Combine them, in the right shape

Rules that must *all* hold combine with `&`: causal **and** real **and** same document. Only a rule that opens something, such as a prefix, enters with `|`, and before the others.

**Predict.** A batch of two sequences, lengths 4 and 2, causal and padded. What is the shape of the combined mask? What goes wrong with `|` instead of `&`?
"""

# %%
lengths = torch.tensor([4, 2])
causal, padding = attention.causal_mask(4, 4), attention.padding_mask(lengths, 4)
both = attention.combine_masks(causal, padding)
print("shapes", tuple(causal.shape), tuple(padding.shape), "->", tuple(both.shape))
print("and, second sequence\n", both[1, 0].int())
print("or, second sequence\n", (causal | padding)[1, 0].int())
try:
    attention.combine_masks()
except ValueError as error:
    print("nothing to combine:", error)

# %% [markdown]
"""
<details><summary>Answer</summary>

`(2, 1, 4, 4)`. With `|` the future is visible wherever the key is real, and padding is visible wherever it is in the past: both rules are lost.

Text D's `combine_masks`, without this check, raises an `IndexError` when it gets no arguments. Otherwise it is right, for padding on the right; on the left it makes empty rows (section 8).

</details>

Try the rules yourself. Choose a query's row with the mouse or the arrow keys.

**Predict** first: which of the examples in the list contain a query that sees nothing?
"""

# %%
opening

# %% [markdown]
r"""
<details><summary>Answer</summary>

Only the decoder padded on the left: its first rows are pads, which may see nothing but pads. Padded on the right, every row still sees the first real token.

</details>

**The shape.** A mask is broadcast to the scores, `(B, H, L, S)`: axes are matched from the right. Text B's module (one fused projection; $-\infty$ filled in place; weights returned after dropout, see chapter 03) promises a mask "for padding, causal attention, etc." and broadcasts whatever it gets.

**Predict.** Four sequences, four heads, six queries and keys; two keys of the second sequence are padding. Which of the three shapes below hide the right keys?
"""

# %%
B, H, L = 4, 4, 6
scores = torch.zeros(B, H, L, L)
lengths = torch.tensor([6, 4, 6, 6])
right = attention.padding_mask(lengths, L)
wrong = ~right.expand(B, H, L, L)  # what nobody may look at
shapes = {"(B, 1, 1, S)": right, "(B, 1, S)": right[:, 0], "(B, L, S)": right[:, 0].expand(B, L, L)}
for name, mask in shapes.items():
    weights = attention.masked_softmax(scores, mask)
    seen = (weights * wrong)[1].sum(dim=-1).mean(dim=-1)
    print(f"{name:13} weight on padding, by head of sequence 1: {seen}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Only `(B, 1, 1, S)`. With $B = H$ the two others run without an error: the batch axis is matched with the heads. Now head 1 of *every* sequence hides two keys, and the other heads hide nothing. If $B$ is neither 1 nor $H$, the same line raises an error, so whether the mistake is noticed depends on the size of the batch. `(B, S)` is worse: whenever $B = L$ it broadcasts as a table of queries and keys, and row $i$ of every sequence gets the mask of sequence $i$.

Always insert the axes yourself. `mask.unsqueeze(0).unsqueeze(1)`, as a module of text D does for every mask, is right for a table `(L, S)` only.

</details>
"""

# %%
for name, mask in (
    ("(B, 1, S), B = 3", right[:3, 0]),
    ("(B, S), B = 6", right[[0, 1, 2, 3, 0, 1], 0, 0]),
):
    batch = len(mask)
    try:
        weights = attention.masked_softmax(torch.zeros(batch, H, L, L), mask)
        rows = weights[0, 0, :, 4:].sum(dim=-1)
        print(f"{name}: runs; rows of sequence 0 give keys 4 and 5: {rows}")
    except ValueError as error:
        print(f"{name}: {error}")

# %% [markdown]
r"""
**Additive or boolean?** Papers add a matrix to the scores, $M_{ij} = 0$ where query $i$ may see key $j$ and $-\infty$ elsewhere; code often takes booleans. Both say the same, and SDPA takes both. An additive mask can also hold other numbers, such as a penalty for distance (chapter 07).

Booleans have one advantage: they cannot be mistaken for numbers to add. **Predict.** A float mask of ones and zeros, "1 = may look", is handed to SDPA. What happens? And an integer one?
"""

# %% guess={"name": "06.ones", "kind": "number", "asks": "Four keys with equal scores, a float mask of 1, 1, 0, 0 for SDPA: what weight does each key marked 0 get?", "low": 0, "high": 0.5, "reads": "ones and zeros tensor([{_}, {_}, {}, "}
guess("06.ones")

# %%
mask = torch.tensor([[True, True, False, False]])
query, key, value = torch.zeros(1, 1, 8), torch.zeros(1, 4, 8), torch.eye(4)[None]
attend = partial(F.scaled_dot_product_attention, query, key, value)
print("boolean          ", attend(attn_mask=mask)[0, 0])
print("0 and -inf       ", attend(attn_mask=attention.additive_mask(mask, torch.float32))[0, 0])
print("ones and zeros   ", attend(attn_mask=mask.float())[0, 0])
try:
    attend(attn_mask=mask.int())
except RuntimeError as error:
    print("integers:", str(error).partition(",")[0])

# %% [markdown]
"""
<details><summary>Answer</summary>

Ones and zeros are *added*: what may be seen gets a factor of e, and nothing is hidden. No error. Integers are refused.

</details>
"""

# %% [markdown]
r"""
## 7. What to put in a hidden place

Six ways to hide a score. Where a query sees at least one key they agree, if they run at all. They differ where it sees none. One row of four keys, in three number formats:

**Predict.** For each way: zeros, a quarter for each key, `nan`, or an error? Which ways change in float16?
"""


# %% guess={"name": "06.added", "kind": "choice", "asks": "In float16, -1e9 is added to all four scores of a row that sees no key: what are its weights?", "take": "printed", "options": {"zeros": "add -1e9 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.00 0.00 0.00 0.00", "a quarter each": "add -1e9 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25", "nan": "add -1e9 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25 nan", "none: an error": "add -1e9 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25 error"}}
guess("06.added")


# %%
def fill(number):
    """Return a softmax that puts `number` into hidden places."""

    def hidden_softmax(scores, mask):
        return torch.softmax(scores.masked_fill(~mask, number), dim=-1)

    return hidden_softmax


def add_number(scores, mask):
    """Return the softmax after adding -1e9 in hidden places."""
    return torch.softmax(scores + (~mask).to(scores.dtype) * -1e9, dim=-1)


def fill_smallest(scores, mask):
    """Return a softmax that puts the smallest finite number into hidden places."""
    return fill(torch.finfo(scores.dtype).min)(scores, mask)


def sdpa(scores, mask):
    """Return SDPA's own weights for these scores."""
    key = torch.eye(scores.shape[-1], dtype=scores.dtype)  # the scores are the query's coordinates
    attend = F.scaled_dot_product_attention
    return attend(scores[None], key[None], key[None], attn_mask=mask[None], scale=1.0)[0]


# %%
ways = {
    "fill -inf": fill(-torch.inf),
    "fill -1e9": fill(-1e9),
    "add -1e9": add_number,
    "fill finfo.min": fill_smallest,
    "masked_softmax": attention.masked_softmax,
    "SDPA, boolean": sdpa,
}


# %%
def outcome(way, dtype, mask):
    """Say in a word what a way of masking makes of one row of scores."""
    scores = torch.tensor([[0.5, 1.0, -0.5, 0.0]], dtype=dtype)
    try:
        row = way(scores, mask)[0].float()
    except RuntimeError:
        return "error: overflow"
    return "nan" if row.isnan().any() else " ".join(f"{weight:.2f}" for weight in row.tolist())


# %%
dtypes = (torch.float32, torch.bfloat16, torch.float16)
for title, mask in (
    ("two keys visible", torch.tensor([[True, True, False, False]])),
    ("no key visible", torch.zeros(1, 4, dtype=torch.bool)),
):
    print(f"{title:16} float32              bfloat16             float16")
    for name, way in ways.items():
        row = [outcome(way, dtype, mask) for dtype in dtypes]
        print("  {:14} {:20} {:20} {}".format(name, *row))
print("smallest number  {:<20.2g} {:<20.2g} {:.0f}".format(*(torch.finfo(d).min for d in dtypes)))

# %% [markdown]
r"""
<details><summary>Answer</summary>

- $-\infty$ gives `nan`: $-\infty - (-\infty)$ has no value.
- $-10^9$ gives a quarter to each: an average over keys that it must not see, the future included. float16 has no such number; its smallest is -65504.<!-- shown: 0.25 -65504 --> Filling raises an error. *Adding* silently turns it into $-\infty$, and `nan` is back.
- The smallest finite number never fails, and an empty row always leaks.
- `masked_softmax` is guarded: it gives an empty row zeros. So does SDPA, in every format: nothing to read, nothing read. (Older versions of PyTorch gave `nan` here.)

bfloat16 has the range of float32 and behaves like it.

</details>
"""

# %% [markdown]
r"""
**Large scores.** Finite numbers have a second fault: a larger score outweighs them.

**Predict.** A hidden key has a score of 20,000 and -10,000 is *added*. Who gets the weight? And if the mask is added before the division by $\sqrt{d_k}$, as it is sometimes written: does it matter for $-\infty$, and for -10,000 with $d_k = 64$?
"""

# %%
scores = torch.tensor([[1.0, 20_000.0]])
mask = torch.tensor([[True, False]])
print("added, then softmax ", torch.softmax(scores + ~mask * -1e4, dim=-1))
print("masked_softmax      ", attention.masked_softmax(scores, mask))
for number in (-torch.inf, -1e4):
    raw = torch.tensor([8.0, 0.0]) + torch.tensor([0.0, number])
    print(f"{number:8} added before dividing by 8: scores {(raw / 8).tolist()}")

# %% [markdown]
"""
<details><summary>Answer</summary>

The hidden key gets all of it. Hidden scores must not matter, and here they decide. -inf divided by 8 is -inf; -10,000 becomes -1250, which still hides an ordinary score, but with less margin.<!-- shown: -1250 -->

</details>

**In place or not.** Published modules write `scores.masked_fill_(...)`, which overwrites the scores.

**Predict.** Is the gradient still right? And what will you see if you plot `scores` afterwards?
"""

# %%
x = torch.randn(3, 4, generator=generator, requires_grad=True)
mask = attention.causal_mask(3, 4, offset=1)
gradients = []
for hide in (torch.Tensor.masked_fill, torch.Tensor.masked_fill_):
    scores = x @ x.mT @ x / 2
    weights = torch.softmax(hide(scores, ~mask, -torch.inf), dim=-1)
    gradients.append(torch.autograd.grad(weights.square().sum(), x)[0])
    print(f"{hide.__name__:13} gradient size {gradients[-1].norm():.3f}, scores kept:", end=" ")
    print(bool(scores.isfinite().all()))
print("the same gradient:", torch.equal(*gradients))

# %% [markdown]
"""
<details><summary>Answer</summary>

It is right: neither the product before nor the softmax after needs the old scores. But whoever plots `scores` later finds -inf in them. Never fill a caller's argument in place.

</details>
"""

# %% [markdown]
r"""
### Exercise: `masked_softmax`

*Difficulty · importance · minutes*

Write `masked_softmax(scores, attn_mask) -> weights`.

- `scores` is `(..., L, S)`; `attn_mask` is boolean, True = may look, and broadcasts to it.
- Each row sums to 1 over what it may see. A hidden score never matters, however large.
- A row with no visible key gives zeros, and gradients stay finite.
- Half precision works; the dtype stays; neither input is changed.
"""


# %% exercise="masked_softmax"
def masked_softmax(scores, attn_mask):
    """Turn each row of scores into weights over the keys that it may see."""
    ### BEGIN SOLUTION: Hide with -inf, but give rows that see nothing a harmless score; then zeros.
    sees_nothing = ~attn_mask.any(dim=-1, keepdim=True)
    hidden = ~attn_mask.expand(scores.shape)
    safe = scores.masked_fill(hidden, -torch.inf).masked_fill(sees_nothing, 0.0)
    return safe.softmax(dim=-1).masked_fill(hidden, 0.0)
    ### END SOLUTION


# %%
check("masked_softmax", masked_softmax)
# hint("masked_softmax")

# %% [markdown] tags=["further"]
r"""
## 8. One empty row, and a model full of NaN

Ten positions, two attention layers without any safeguard ($-\infty$, plain softmax). In the first layer position 4 sees no key; all other rows are causal. The second layer is causal, and no row of it is empty.

**Predict.** Which of the ten outputs are `nan` after the first layer? And after the second: only row 4, rows 4 to 9, or all?
"""


# %% guess={"name": "06.nan", "kind": "choice", "asks": "Row 4 of 10 sees no key in layer 1, unguarded; both layers are causal otherwise: which outputs of layer 2 are nan?", "take": "printed", "options": {"only row 4": "unguarded rows that are nan: {_}, layer 2 1 guarded", "rows 4 to 9": "unguarded rows that are nan: {_}, layer 2 6 guarded", "all ten": "unguarded rows that are nan: {_}, layer 2 10 guarded", "none": "unguarded rows that are nan: {_}, layer 2 0 guarded"}}
guess("06.nan")


# %%
def unguarded(x, mask):
    """Return attention of a sequence over itself, with -inf and the plain softmax."""
    scores = x @ x.mT / math.sqrt(x.shape[-1])
    return torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1) @ x


def guarded(x, mask):
    """Return the same with zeros where nothing may be seen."""
    return attention.scaled_dot_product_attention(x, x, x, mask)


x = torch.randn(10, 8, generator=generator)
causal = attention.causal_mask(10, 10)
hole = causal & (torch.arange(10) != 4)[:, None]  # row 4 sees nothing
states = {}
for name, layer_of in (("unguarded", unguarded), ("guarded", guarded)):
    once = layer_of(x, hole)
    states[name] = [x, once, layer_of(once, causal)]
    lost = [int(state.isnan().any(dim=-1).sum()) for state in states[name]]
    print(f"{name:10} rows that are nan: input {lost[0]}, layer 1 {lost[1]}, layer 2 {lost[2]}")


# %%
def show_states(panel, layers):
    """Draw which positions are numbers, layer by layer."""
    broken = torch.stack([state.isnan().any(dim=-1) for state in layers], dim=1)
    zeros = torch.stack([(state == 0).all(dim=-1) for state in layers], dim=1)
    rows, columns = [str(i) for i in range(10)], ["input", "layer 1", "layer 2"]
    matrix_plotting.weight_map(panel, ~broken, rows=rows, columns=columns, decimals=None)
    panel.set(aspect="auto", ylabel="position")
    panel.tick_params(axis="x", labelrotation=0, labelsize=10)
    for i, j in itertools.product(range(10), range(3)):
        word = "nan" if broken[i, j] else "zeros" if zeros[i, j] else "ok"
        colour = "white" if broken[i, j] else "black"
        panel.text(j + 0.5, i + 0.5, word, ha="center", va="center", fontsize=10, color=colour)


# %% mystnb={"image": {"alt": "Ten positions as rows; columns input, layer 1, layer 2. Without the guard row 4 is nan after layer 1 and all ten rows after layer 2. With the guard no row is nan; row 4 is zeros after layer 1."}}
figure, panels = plt.subplots(1, 2, figsize=(plotting.WIDTH, 4.4))
plotting.headline(
    figure, "One empty row in layer 1; without a guard\nnothing is left after layer 2"
)
for panel, (name, layers) in zip(panels, states.items(), strict=True):
    show_states(panel, layers)
    panel.set_title(name, loc="center")

# %% [markdown]
r"""
<details><summary>Answer</summary>

One, then **all ten**.<!-- shown 2: 1 10 --> Positions 0 to 3 may not even look at position 4: its weight in their rows is exactly 0. But the output is a sum over *all* values, and $0 \cdot \text{nan} = \text{nan}$. The mask protects the weights. It does not protect the product.

With the guard, row 4 is a row of zeros, and no other row is harmed.

</details>

**Backwards** it is no better. **Predict.** One layer, a weight matrix before it, and a loss over the nine good rows only. The loss is a number. What are the gradients, and does clipping help?
"""

# %%
good = torch.arange(10) != 4
for name, layer_of in (("unguarded", unguarded), ("guarded", guarded)):
    matrix = nn.Parameter(torch.eye(8))
    loss = layer_of(x @ matrix, hole)[good].square().mean()
    loss.backward()
    nans = int(matrix.grad.isnan().sum())
    nn.utils.clip_grad_norm_([matrix], 1.0)
    after = int(matrix.grad.isnan().sum())
    print(
        f"{name:10} loss {loss:.3f}; gradients that are nan: {nans} of 64, after clipping {after}"
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

All 64, and all 64 after clipping: the norm is `nan`, and dividing by it makes everything `nan`.<!-- shown: 64 -->

</details>

**Find the error.** A list of symptoms in text D answers "NaN in attention" with "Gradient clipping, fp16 precision issues". When the NaN appears in the *forward* pass, before any gradient exists, look for empty rows first. The usual culprit: a batch padded on the left, under a causal mask.

**Predict.** Three sequences of 6, 4 and 1 real tokens among 6, padded on the left, two unguarded layers. How many of the 18 rows are lost after each?
"""

# %%
lengths = torch.tensor([6, 4, 1])
is_real = torch.arange(6) >= 6 - lengths[:, None]
left_padded = attention.causal_mask(6, 6) & is_real[:, None, :]
own = left_padded | torch.eye(6, dtype=torch.bool)
batch = torch.randn(3, 6, 8, generator=generator)
outs = {}
for name, layer_of, mask in (
    ("unguarded", unguarded, left_padded),
    ("guarded", guarded, left_padded),
    ("pads see themselves", unguarded, own),
):
    once = layer_of(batch, mask)
    outs[name] = layer_of(once, mask)
    lost = [state.isnan().any(dim=-1).sum(dim=-1).tolist() for state in (once, outs[name])]
    print(f"{name:20} rows lost in each sequence: layer 1 {lost[0]}, layer 2 {lost[1]}")
same = torch.allclose(outs["guarded"][is_real], outs["pads see themselves"][is_real])
print("the two repairs agree on real tokens:", same)

# %% [markdown]
"""
<details><summary>Answer</summary>

Two and five rows in the first layer: the pads. In the second, both padded sequences are lost entirely, real tokens too.<!-- shown: 2 5 6 --> Only the sequence without padding survives; nothing passes between sequences.

There are two repairs: zeros for empty rows, or every pad sees itself, so that no row is empty. Both leave the real tokens exactly as they should be.

</details>

**And PyTorch?** SDPA gives zeros (section 7). `nn.MultiheadAttention` has three ways through its code.

**Predict.** The same left padding in `nn.MultiheadAttention`: when does it return `nan`?
"""

# %%
torch.manual_seed(0)
module = nn.MultiheadAttention(8, 2, batch_first=True)
ask = partial(module, batch, batch, batch, key_padding_mask=~is_real, attn_mask=~causal[:6, :6])
for training, need_weights in itertools.product((True, False), (True, False)):
    module.train(training)
    with torch.no_grad():
        out = ask(need_weights=need_weights)[0]
    mode = "train" if training else "eval"
    rows = int(out.isnan().any(dim=-1).sum())
    print(f"{mode:5} need_weights={need_weights!s:5}  rows that are nan: {rows}")

# %% [markdown]
"""
<details><summary>Answer</summary>

Whenever the weights are asked for, and in `eval` without gradients even when they are not, because a third, faster path is taken there. Only the path through SDPA, in training without weights, gives zeros. So the same module on the same data can work in training and fail in use.

</details>

Text D's list names two more symptoms: all weight on the first token, and uniform weights. Neither need be an error; chapter 13 comes back to both.
"""

# %% [markdown]
r"""
## 9. Find the leak

"Verify causality", says text D, like many checklists, without a word on how. The definition says how: output $i$ may depend on inputs $0 \dots i$ only. So change the input *after* $i$ in any way, and see whether output $i$ moves.

A hasty test changes the last position and looks at the first output. **Predict.** Five attentions with a leak, three without. Which of the leaks does the hasty test miss?
"""


# %%
def masked_by(mask):
    """Return self-attention under a fixed mask."""

    def attend(x):
        return attention.scaled_dot_product_attention(x, x, x, mask)

    return attend


def batch_normed(x):
    """Return causal attention after shifting by the mean over batch and positions."""
    return masked_by(causal)(x - x.mean(dim=(0, 1)))


late = causal | (torch.arange(10)[:, None] >= 7)
whole = masked_by(torch.ones(10, 10, dtype=torch.bool))

# %%
subjects = {
    "leak: one step ahead": masked_by(attention.causal_mask(10, 10, offset=1)),
    "leak: everything": whole,
    "leak: through a mean": batch_normed,
    "leak: late positions only": masked_by(late),
    "leak: a ten-thousandth": lambda x: masked_by(causal)(x) + 1e-4 * whole(x),
    "causal": masked_by(causal),
    "window of 3": masked_by(attention.window_mask(10, 10, 3)),
    "mean of the past": lambda x: x.cumsum(1) / torch.arange(1, 11)[:, None],
}


# %%
def hasty(attend, num_positions, d_model):
    """Change the last position, look at the first output."""
    x = torch.randn(1, num_positions, d_model, generator=torch.Generator().manual_seed(0))
    changed = x.clone()
    changed[:, -1] += 1
    return not torch.allclose(attend(x)[:, 0], attend(changed)[:, 0], atol=1e-3)


print(f"{'':27} hasty   leaks_future")
for name, attend in subjects.items():
    verdicts = hasty(attend, 10, 4), attention.leaks_future(attend, 10, 4)
    print(f"{name:27} {verdicts[0]!s:7} {verdicts[1]}")

# %% [markdown]
"""
<details><summary>Answer</summary>

It misses the single step (only neighbours are affected), the late positions (the first output does not move) and the ten-thousandth (below its tolerance). A test must change what comes after *every* position in turn, look at *every* earlier output, and allow no more than rounding. That is still cheap: one run per position.

It must not change the past, nor look at the changed position itself: those outputs are allowed to move.

</details>
"""

# %% [markdown]
r"""
### Exercise: `leaks_future`

*Difficulty · importance · minutes*

Write the test: `leaks_future(attention, num_positions, d_model) -> bool`.

- `attention(x) -> out` takes float32 `(1, num_positions, d_model)` and returns `(1, num_positions, d_v)`. The same input gives the same output. It need not be differentiable, so do not rely on gradients.
- Return the Python value `True` if any output depends on any later position, else `False`.
- Draw your own inputs, from a `torch.Generator` of your own. The check insists on it: a test must leave the global random state as it was.
- Outputs that should not move may still move by rounding. Allow that much, relative to their size, and no more.

The check passes several leaking attentions to your test, and correct ones that must be cleared.
"""


# %% exercise="leaks_future"
def leaks_future(attention, num_positions, d_model):
    """Say whether any output moves when only later positions are changed."""
    ### BEGIN SOLUTION: For each position, change all later ones and compare what came before.
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(1, num_positions, d_model, generator=generator)
    out = attention(x.clone()).clone()
    for size in (1.0, 100.0):
        for place in range(num_positions - 1):
            other = x.clone()
            noise = torch.randn(1, num_positions, d_model, generator=generator)
            other[:, place + 1 :] += size * noise[:, place + 1 :]
            moved = (attention(other)[:, : place + 1] - out[:, : place + 1]).abs()
            room = 2e-6 * out[:, : place + 1].abs().amax(dim=-1, keepdim=True)
            if bool((moved > room).any()):
                return True
    return False
    ### END SOLUTION


# %%
check("leaks_future", leaks_future)
# hint("leaks_future")

# %% [markdown]
"""
Now test the models of section 2 without any training data: the attention of their only layer, under each mask.

**Predict.** Does the test need the trained weights?
"""

# %%
for offset in (0, 1, 32):
    block = row_models[offset][0].blocks[0]
    mask = attention.causal_mask(32, 32, offset)
    untrained = SmallTransformer(10, d_model=32, num_heads=2, num_layers=1, max_length=32).blocks[0]
    leaks = [attention.leaks_future(partial(b, attn_mask=mask), 32, 32) for b in (block, untrained)]
    print(f"{names[offset]:12} leaks: trained {leaks[0]}, untrained {leaks[1]}")

# %% [markdown]
"""
<details><summary>Answer</summary>

No. A leak is in the code, not in what was learned, so it shows before the first step of training. This test belongs in the tests of every causal model.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 10. What a mask costs, and what it does not save

**Predict.** 4096 tokens, heads of width 64. A causal mask hides nearly half of all pairs, a window of 64 hides more than 98%. What share of the operations does each save?
"""

# %%
n, d_k = 4096, 64
query, key, value = (torch.empty(n, d_k, device="meta") for _ in range(3))
attend = partial(attention.scaled_dot_product_attention, query, key, value)
print("            pairs      operations")
for name, mask in (
    ("no mask", None),
    ("causal", attention.causal_mask(n, n)),
    ("window 64", attention.window_mask(n, n, 64)),
):
    share = 1.0 if mask is None else mask.float().mean().item()
    flops = measure.count_flops(attend, None if mask is None else mask.to("meta"))
    print(f"{name:10} {share:6.1%} {flops:15,}")
print(f"the mask itself: {n * n / 2**20:.0f} MiB; a causal flag: one bit")

# %% [markdown]
r"""
<details><summary>Answer</summary>

None. All scores are computed, then most are thrown away, and a dense mask even adds $L \cdot S$ bytes to be read. To save work, code must know the *rule* and never compute the hidden blocks. `is_causal=True` is such a rule: SDPA's fast kernels skip the blocks above the diagonal. FlexAttention (Dong et al., 2024) takes any rule as a function of $i$ and $j$: section 12. Chapter 08 writes a window that really costs $O(n\,w)$.

</details>
"""

# %% [markdown]
"""
**Check yourself.** Which of these changes the number of operations of an ordinary dense attention?

- A. a padding mask
- B. packing two half-filled rows into one
- C. a window mask

<details><summary>Answer</summary>

- A is wrong: see section 4.
- **B is right**: one row is computed instead of two.
- C is wrong, as long as the mask is applied to scores that have been computed.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 11. A prefix is read in both directions

The one rule of section 5 that opens something. A question and its answer in one row: the question is given whole, so its tokens may read each other in both directions; the answer is written from left to right.
"""

# %% [markdown]
r"""
### Exercise: `prefix_mask`

*Difficulty · importance · minutes*

Write `prefix_mask(num_positions, prefix_length) -> mask`.

- Boolean, `(num_positions, num_positions)`.
- Key $j$ is seen by query $i$ when $j <$ `prefix_length` **or** $j \le i$.
- A prefix of 0 gives the causal mask, a full one hides nothing.
"""


# %% exercise="prefix_mask"
def prefix_mask(num_positions, prefix_length):
    """Say which keys each query may see: the prefix, its own and the earlier ones."""
    ### BEGIN SOLUTION: Two rules, and either of them is enough.
    mask = torch.ones(num_positions, num_positions, dtype=torch.bool).tril()
    mask[:, :prefix_length] = True
    return mask
    ### END SOLUTION


# %%
check("prefix_mask", prefix_mask)
# hint("prefix_mask")

# %% [markdown] tags=["further"]
r"""
## 12. The same masks as rules: `mask_mod`

FlexAttention takes a function instead of a table, a **`mask_mod`**: it is given four indices, `(batch, head, query, key)`, each a tensor, and returns True where the query may look. Here is one for each mask of section 5.

**Predict.** `create_mask` writes such a rule out as a table. Which rule needs the batch index?
"""


# %%
def causal_rule(batch, head, query, key):
    """The query's own key and all before it."""
    return key <= query


def window_rule(batch, head, query, key):
    """The last three keys, the query's own among them."""
    return (key <= query) & (key > query - 3)


def prefix_rule(batch, head, query, key):
    """The first three keys, and all up to the query's own."""
    return (key < 3) | (key <= query)


def document_rule(batch, head, query, key):
    """Keys of the query's own document, up to its own."""
    return (ids[batch, query] == ids[batch, key]) & (key <= query)


def padding_rule(batch, head, query, key):
    """The first five keys, which are real."""
    return key < real_keys[batch]


# %%
real_keys = torch.tensor([5])
rules = {
    "causal": causal_rule,
    "window of 3": window_rule,
    "prefix of 3": prefix_rule,
    "two documents": document_rule,
    "padding, 5 real": padding_rule,
}
for name, rule in rules.items():
    table = create_mask(rule, 1, 1, 8, 8, device="cpu")[0, 0]
    print(f"{name:16} the same table: {torch.equal(table, kinds[name])}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Those that differ from sequence to sequence: documents and padding. Rules combine as tables do, with `&` and `|`. The offset of section 3 is one more addend: `key <= query + offset`.

</details>

A rule alone saves nothing either. What saves is a **BlockMask**: for each block of 128 queries, the list of those blocks of 128 keys in which the rule allows any pair, and a note where it allows all of them. A kernel goes through the listed blocks only, and asks the rule only in blocks that are partly filled.

**Predict.** 1,024 tokens make 8 × 8 blocks. How many of the 64 are listed for a causal rule, for a window of 128, and for two documents of 300 and 724 tokens?
"""


# %% guess={"name": "06.blocks", "kind": "number", "asks": "{tokens} tokens in blocks of 128: how many pairs of blocks does a BlockMask list for a causal window of 128 keys?", "low": 1, "high": 10000, "log": true, "reads": "window {} 0", "varied": [{"tokens": 1024}, {"tokens": 4096}, {"tokens": 512}, {"tokens": 16384}], "becomes": "2 * tokens / 128 - 1"}
guess("06.blocks")


# %%
def window_128(batch, head, query, key):
    """The last 128 keys, the query's own among them."""
    return (key <= query) & (key > query - 128)


ids = torch.tensor([[0] * 300 + [1] * 724])
blocks = {}
print("           listed  full  partly   of all blocks   pairs allowed")
for name, rule in (("causal", causal_rule), ("window", window_128), ("documents", document_rule)):
    blocks[name] = create_block_mask(rule, 1, 1, 1024, 1024, device="cpu")
    full = int(blocks[name].full_kv_num_blocks.sum())
    partly = int(blocks[name].kv_num_blocks.sum())
    allowed = create_mask(rule, 1, 1, 1024, 1024, device="cpu").float().mean().item()
    print(f"{name:10} {full + partly:6} {full:5} {partly:7}", end=" ")
    print(f"{(full + partly) / 64:15.0%} {allowed:15.0%}")

# %% mystnb={"image": {"alt": "Three tables of eight by eight blocks: full dark blue, partly filled light blue, skipped pale. Causal: the diagonal is partly filled, everything below it full. A window of 128: the diagonal and the one below it are partly filled, nothing is full. Two documents: two triangles, with partly filled blocks on the diagonal and in the rows and columns that the border between the documents cuts."}}
figure, panels = plt.subplots(1, 3, figsize=(plotting.WIDTH, 2.6))
plotting.headline(figure, "Pale blocks are skipped, light blue ones ask the rule")
for panel, (name, block_mask) in zip(panels, blocks.items(), strict=True):
    share = torch.zeros(8, 8)
    for count, index, fill_with in (
        (block_mask.kv_num_blocks, block_mask.kv_indices, 0.5),
        (block_mask.full_kv_num_blocks, block_mask.full_kv_indices, 1.0),
    ):
        for row in range(8):
            share[row, index[0, 0, row, : count[0, 0, row]].long()] = fill_with
    matrix_plotting.weight_map(panel, share, decimals=None, mask=True)
    panel.set_title(name, loc="center", fontsize=10)
    panel.set_xlabel("block of keys")
_ = panels[0].set_ylabel("block of queries")

# %% [markdown]
r"""
<details><summary>Answer</summary>

36, 15 and 26.<!-- shown: 36 15 26 --> A window as wide as a block touches two blocks per row, though it allows the pairs of one. What a block mask can save depends on how well a rule fills its blocks. Where the mask is fixed, the list is made once and used in every layer and step; FlexAttention compiles a kernel for it on a GPU.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 13. Find the error: two more published claims

**A language model's weights?** Text C shows five positions and these weights: "This pattern might emerge in a language model" (claim 06-05).

**Predict.** Row by row: how much weight is on the future? Can a causal model produce this table?
"""

# %%
printed = torch.tensor([
    [0.45, 0.25, 0.15, 0.10, 0.05],
    [0.10, 0.50, 0.25, 0.10, 0.05],
    [0.05, 0.15, 0.40, 0.30, 0.10],
    [0.05, 0.10, 0.20, 0.50, 0.15],
    [0.05, 0.05, 0.10, 0.25, 0.55],
])  # fmt: skip
print("rows sum to     ", printed.sum(dim=-1))
print("on the future   ", printed.triu(diagonal=1).sum(dim=-1))
past = printed.tril()
print("the same, causal:\n", past / past.sum(dim=-1, keepdim=True))

# %% [markdown]
"""
<details><summary>Answer</summary>

More than half of the first row, 0.40 of the second and third, 0.15 of the fourth.<!-- shown: 0.40 0.15 --> The rows are valid weights, but of a model that reads in both directions. In a causal one the first position has 1 on itself, always.

Masking a score with -inf and dropping the weight afterwards are the same thing *if* the row is divided by its new sum, as above. Without the division the row no longer sums to 1.

</details>
"""

# %% [markdown]
"""
**Three masks for one model?** Text D, "For masked language modeling": "Padding mask for efficiency", "Causal mask for autoregression", "Random mask for BERT-style pre-training" (claim 06-09).

<details><summary>Answer</summary>

Three masks, three jobs. Padding masks are for correctness (section 4). Masked language modelling reads in *both* directions, so it has no causal mask; that one belongs to models that write from left to right. And BERT's random mask is not an attention mask: it replaces input *tokens* by a special token, and the model must guess what was there. Every position may still look at the special token.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 14. Documents end to end, without padding

Section 5 packed two documents into one row, and section 10 showed that the mask saves nothing. What does attention over a batch of documents cost, in pairs of tokens multiplied?

- *padded*: every document filled up to the longest, and a padding mask;
- $T \times T$: all in one row of $T$ tokens, and a document mask;
- *each on its own*: one row, cut where documents end, and no mask between them.

**Predict.** 32 documents, first all of 64 tokens, then of very different lengths. Which way needs the most pairs, and by what factor? Is one of the three always the best?
"""

# %%
generator = torch.Generator().manual_seed(4)
uneven = torch.empty(32).log_normal_(4.0, 1.0, generator=generator).clamp(1, 512).long()
packings = {"all of 64": torch.full((32,), 64), "lognormal": uneven}
print(f"{'32 documents':12} tokens  longest  padding   pairs: padded, T × T, each on its own")
for name, lengths in packings.items():
    tokens, longest = int(lengths.sum()), int(lengths.max())
    pairs = [32 * longest**2, tokens**2, int(lengths.square().sum())]
    factors = ", ".join(f"{count / pairs[2]:.1f}" for count in pairs)
    print(f"{name:12} {tokens:6} {longest:8} {1 - tokens / (32 * longest):8.0%}   {factors}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Equal lengths need no padding, so padding costs nothing; one row costs 32 times as much, 31 of 32 pairs being hidden. With lengths from a few tokens to 512, four fifths of the padded batch are padding, and both tables multiply over 13 times the pairs.<!-- shown: 32.0 81% 13.8 15.6 512 -->

$\sum n^2$ is the least: no way that multiplies all the pairs needed multiplies fewer.

</details>

That counts pairs on paper. Now by the operations that run, with `packed_attention(query, key, value, lengths)`; its tensors are `(T, H, d)`, without a batch axis.

**Predict.** Which of the three is quickest on equal lengths, the one with the fewest pairs?
"""

# %%
H, d = 4, 32


def three_ways(lengths):
    """Return attention of the same documents in each of the three layouts, ready to be called."""
    g = torch.Generator().manual_seed(0)
    filled = attention.padding_mask(lengths, int(lengths.max()))
    ids = attention.packed_ids(lengths).unsqueeze(0)
    layouts = {
        "padded": ((32, H, filled.shape[-1], d), filled),
        "T × T": ((1, H, ids.shape[1], d), attention.same_document_mask(ids, ids)),
    }
    calls = {}
    for name, (shape, mask) in layouts.items():
        rows = torch.randn(3, *shape, generator=g)
        calls[name] = partial(attention.composed_attention, *rows, attn_mask=mask)
    packed = torch.randn(3, ids.shape[1], H, d, generator=g)
    calls["each on its own"] = partial(attention.packed_attention, *packed, lengths)
    return calls


# %%
print(f"{'counted FLOPs / (2 · H · (d_k + d_v))':>40}   sum of squares of the lengths")
ways = {name: three_ways(lengths) for name, lengths in packings.items()}
for name, calls in ways.items():
    for way, call in calls.items():
        counted = measure.count_flops(call) // (2 * H * (d + d))
        print(f"{name:10} {way:16} {counted:12,}", end="")
        print(f"{int(packings[name].square().sum()):30,}" if way == "each on its own" else "")

# %% tags=["nbval-ignore-output"] reason="a timing"
print("processor time, each on its own = 1")
for name, calls in ways.items():
    spent = {way: [] for way in calls}
    for _, (way, call) in itertools.product(range(3), calls.items()):
        start = time.process_time()
        with torch.inference_mode():
            call()
        spent[way].append(time.process_time() - start)
    times = {way: median(seconds) for way, seconds in spent.items()}
    line = ", ".join(f"{way} {one / times['each on its own']:.1f}" for way, one in times.items())
    print(f"{name:10} {line}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The operations of the packed form are $\sum n^2$ times $2H(d_k + d_v)$, to the last one. On lengths that differ it is many times as fast as either table.

On equal lengths the padded batch is the quickest, though it multiplies as many pairs: it is one large product, where the loop makes 32 small ones. That is a cost of our loop, not of the layout. GPU libraries take the row and the places where documents begin, `cu_seqlens` (here `cumulative_lengths(lengths)`), and go through all documents in one kernel; PyTorch's nested tensors of layout `torch.jagged` hold the same.

</details>

The playground of section 6 counts the three ways, for documents of your choice.
"""

# %% [markdown]
r"""
### Exercise: `packed_attention`

*Difficulty · importance · minutes*

Write `packed_attention(query, key, value, lengths, is_causal=False) -> out`.

- `query`, `key` are `(T, H, d_k)`, `value` is `(T, H, d_v)`; the documents follow one another. `lengths` is `(n,)`, whole numbers of 0 or more; a document may be empty, at any place.
- A token attends to its own document, with `is_causal` only up to itself; the scale is $1/\sqrt{d_k}$. The result is `(T, H, d_v)`.
- `ValueError` where the lengths do not sum to $T$.
- Neither a table of $T \times T$ nor padding. The check counts the largest tensor and all products. A loop over documents is fine, and so is SDPA on each of them.
"""


# %% exercise="packed_attention"
def packed_attention(query, key, value, lengths, is_causal=False):
    """Let each document attend to itself alone."""
    ### BEGIN SOLUTION: Cut the row where documents end, attend to each piece, join the pieces again.
    if int(lengths.sum()) != len(query):
        raise ValueError(f"lengths must sum to {len(query)} tokens, got {int(lengths.sum())}")
    outs = []
    for document in zip(*(x.split(lengths.tolist()) for x in (query, key, value)), strict=True):
        rows = (x.transpose(0, 1) for x in document)  # heads first: (H, n, d)
        outs.append(F.scaled_dot_product_attention(*rows, is_causal=is_causal).transpose(0, 1))
    return torch.cat(outs)
    ### END SOLUTION


# %%
check("packed_attention", packed_attention)
# hint("packed_attention")

# %% [markdown]
r"""
**The same masks under other names.** What a configuration or a library calls it, and what it is here; $o = S - L$ aligns at the lower right.

| elsewhere | here |
|---|---|
| `window_size=(l, r)`, flash-attn | `band_mask(L, S, l, r, offset=o)`; their -1 is our `None` |
| `sliding_window` $= w$, Hugging Face | `window_mask(L, S, w, offset=o)`, which is `band_mask(L, S, w - 1, 0, o)` |
| `attention_chunk_size`, Llama 4 | `chunk_mask(L, S, chunk, offset=o)` |
| `BlockDiagonalMask`, xformers | `same_document_mask(query_ids, key_ids)` |
| `valid_lens` for each query, D2L | `query_lengths_mask(lengths, S)` |

**Predict.** Eight tokens: what does the last of them see under a window of 4, and what in chunks of 4? And the fifth?
"""

# %%
practice = {
    "window of 4": attention.window_mask(8, 8, 4),
    "chunks of 4": attention.chunk_mask(8, 8, 4),
    "2 before, 1 after": attention.band_mask(8, 8, 2, 1),
}
for name, mask in practice.items():
    rows = "   ".join("".join("·█"[int(seen)] for seen in mask[i]) for i in (4, 7))
    print(f"{name:18} query 4: {rows[:8]}   query 7: {rows[11:]}")

# %% [markdown]
"""
<details><summary>Answer</summary>

The last one sees the same four keys. The fifth sees four under a window and one in chunks: itself, the first of its chunk. A window moves along with the query, a chunk stays. So with chunks alone nothing passes from one chunk to the next, in any layer; Llama 4 therefore has layers without chunks between.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 15. A cap on the scores

A mask changes which scores count. Gemma 2 also changes how large they may become: it squashes each score into the range from $-c$ to $c$,

$$\text{capped} = c \cdot \tanh(\text{score} / c),$$

with $c = 50$ in attention and $c = 30$ for the final logits. The report states the range but gives no reason; the one often heard is saturation: a softmax that is nearly 0 or 1 passes little back.

**Predict.** 64 random scores with a spread (standard deviation) of 50. What does a cap of 50 do to the largest weight? And does the gradient that reaches the scores grow, since the softmax is less saturated?
"""

# %% guess={"name": "06.cap", "kind": "curve", "asks": "64 random scores under a cap of 50, a random key as target: how large is the gradient's norm at the scores, for each spread?", "low": 0, "high": 1.6, "x": [1, 10, 50, 200], "across": "spread (standard deviation) of the scores", "reads": "{} at spread {x}"}
guess("06.cap")

# %%
scores = torch.randn(500, 64, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
target = torch.randint(64, (500,), generator=torch.Generator().manual_seed(1))


def under_cap(spread, cap):
    """Return the top weight, the entropy, and the gradient of -ln(a random key's weight)."""
    raw = (spread * scores).requires_grad_()
    capped = raw if cap is None else attention.soft_cap(raw, cap)
    weights = capped.softmax(dim=-1)
    entropy = -torch.xlogy(weights, weights).sum(dim=-1)
    (slope,) = torch.autograd.grad(F.cross_entropy(capped, target, reduction="sum"), raw)
    return [x.mean().item() for x in (weights.amax(dim=-1), entropy, slope.norm(dim=-1))]


# %%
spreads, caps = (1, 10, 50, 200), (None, 50.0, 20.0)
found = {cap: [under_cap(spread, cap) for spread in spreads] for cap in caps}
print("spread of scores " + "".join(f"{spread:>8}" for spread in spreads))
for number, measured in enumerate(("top weight", "entropy", "gradient norm")):
    for cap, rows in found.items():
        label = f"{measured}, {'no cap' if cap is None else f'cap {cap:.0f}'}"
        print(f"{label:22}" + "".join(f"{row[number]:8.2f}" for row in rows))
cap50 = (
    f"{row[2]:.2f} at spread {spread}" for spread, row in zip(spreads, found[50.0], strict=True)
)
print("gradient norm under a cap of 50:", ", ".join(cap50))

# %% mystnb={"image": {"alt": "Left: three curves of the score after the cap against the score before it, from -200 to 200. Without a cap a straight line; with 50 and 20 the curves leave the line and level off at 50 and 20. Right: the gradient norm against the spread of the scores from 1 to 200. Without a cap it rises from 1.0 to 1.4; with a cap of 50 it falls to 0.2, with 20 to below 0.1."}}
figure, (left, right) = plt.subplots(1, 2, figsize=(plotting.WIDTH, 3.2))
plotting.headline(figure, "The cap bounds the scores and the gradient")
before, many = torch.linspace(-200, 200, 401), torch.logspace(0, math.log10(200), 12)
looks = {
    None: ("no cap", "green", (-80, 85), (20, 1.45), ":"),
    50.0: ("cap 50", "blue", (80, 62), (40, 0.85), "-"),
    20.0: ("cap 20", "orange", (80, -2), (1.6, 0.6), "--"),
}
for cap, (name, colour, at, there, style) in looks.items():
    after = before if cap is None else attention.soft_cap(before, cap)
    slopes = [under_cap(spread, cap)[2] for spread in many.tolist()]
    plotting.line(left, before, after, name, colour, at, style)
    plotting.line(right, many, torch.tensor(slopes), name, colour, there, style)
left.set(xlabel="score before the cap", ylabel="score after it", ylim=(-110, 110))
right.set(
    xlabel="spread of the scores", ylabel="gradient at the scores", xscale="log", ylim=(0, 1.6)
)
draw_guess(right, "06.cap")

# %% [markdown]
r"""
<details><summary>Answer</summary>

At spread 50 the top weight falls from nearly 1 to about a half with a cap of 50, and below a tenth with 20. So the weights are less saturated.<!-- shown: 0.97 0.58 0.08 -->

But the gradient does *not* grow. Without a cap it stays near $\sqrt{2}$ when the wrong key wins; with one it shrinks, by the factor $1 - \tanh^2$ of each score. A cap does not cure saturation for free: it moves the flat part from the softmax into the tanh. What it guarantees is a bound. At ordinary spreads (the first column) it changes next to nothing.

</details>
"""

# %% [markdown]
r"""
**Before the mask, or after it?** Two orders of the same two steps.

**Predict.** Four scores, the last one hidden, and a cap of 2. With plain $\tanh$: what does the hidden key get when the cap comes *after* the mask?
"""

# %%
scores, mask = torch.tensor([[1.0, 0.0, -1.0, 3.0]]), torch.tensor([[True, True, True, False]])
hidden = scores.masked_fill(~mask, -torch.inf)
for name, capped in (
    ("cap, then mask", (2 * torch.tanh(scores / 2)).masked_fill(~mask, -torch.inf)),
    ("mask, then plain tanh", 2 * torch.tanh(hidden / 2)),
    ("mask, then soft_cap", attention.soft_cap(hidden, 2.0)),
):
    print(f"{name:22} scores {capped[0]}   weights {capped.softmax(dim=-1)[0]}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

It is back, with the score $-2$, since $\tanh(-\infty) = -1$, and takes 0.03 of the weight.<!-- shown: 0.03 --> No error, no `nan`: a leak. Two repairs: cap first, as Gemma 2's code does, or a cap that leaves $-\infty$ alone, like the exercise below.

</details>
"""

# %% [markdown]
r"""
### Exercise: `soft_cap`

*Difficulty · importance · minutes*

Write `soft_cap(scores, cap) -> capped`.

- `scores` has any shape, including a single number or none at all; its entries are finite or $-\infty$. `cap` is a number above 0.
- Each score becomes $\text{cap} \cdot \tanh(\text{score}/\text{cap})$.
- What is $-\infty$ stays $-\infty$, and its gradient is 0: so the cap may come before a mask or after it.
- The dtype stays, half precision included, and the input is not changed.
"""


# %% exercise="soft_cap"
def soft_cap(scores, cap):
    """Squash scores into the range from -cap to cap, and leave hidden ones hidden."""
    ### BEGIN SOLUTION: Squash everything, then put -inf, a constant, where it was.
    squashed = cap * (scores / cap).tanh()
    return torch.where(torch.isneginf(scores), -torch.inf, squashed)
    ### END SOLUTION


# %%
check("soft_cap", soft_cap)
# hint("soft_cap")

# %% [markdown]
r"""
**One attention, many variants.** A cap, a bias for distance (chapter 07), a mask: each is a function of the scores. FlexAttention takes such a function, the **`score_mod`**, beside its `mask_mod`; the course's `composed_attention` takes one of all scores at once. None of the variants needs an attention of its own, and dropout of the weights comes after the softmax in the same way.

**Predict.** Do ALiBi's bias and the cap commute?
"""

# %%
query, key, value = torch.randn(3, 1, 4, 6, 8, generator=generator)
bias = alibi_bias(4, 6, 6)
orders = {
    "bias, then cap": lambda scores: attention.soft_cap(attention.add_bias(scores, bias), 2.0),
    "cap, then bias": lambda scores: attention.add_bias(attention.soft_cap(scores, 2.0), bias),
}
attend = partial(
    attention.composed_attention, query, key, value, attn_mask=attention.causal_mask(6, 6)
)
outs = [attend(score_mod) for score_mod in orders.values()]
print(f"largest difference between the orders: {(outs[0] - outs[1]).abs().max():.2f}")
weights = torch.full((100_000, 1), 0.25)
dropped = attention.attention_dropout(weights, 0.5, generator)
print(f"dropout of 0.5: values {dropped.unique().tolist()}, mean {dropped.mean():.2f}")

# %% [markdown]
"""
<details><summary>Answer</summary>

No: capped last, no distance can hide a key; capped first, the bias goes on falling. Libraries must choose; flash-attn caps first. Dropout keeps the mean, since the weights that are left are divided by the share that is kept; the sum of a row is 1 only on average.<!-- shown: 0.25 -->

</details>
"""

# %% [markdown]
r"""
## Yours: your masks in the trained model

The packed documents of section 5 once more, read by a twin of the causal model of section 2 that has its weights and your parts: your masks, your `masked_softmax` inside its attention, your `leaks_future` as the judge. What you have not passed yet is the course's. In *padded on the left* the first document is declared padding, so half of all rows see nothing.
"""

# %%
generator = torch.Generator().manual_seed(6)
packed = torch.cat([counting_rows(256, length, generator) for length in (16, 17)], dim=1)
documents = torch.tensor([[0] * 16 + [1] * 16])
model = row_models[0][0]
restarted = copy.deepcopy(model)  # the second document's places begin again
restarted.position.weight.data[16:] = model.position.weight[:16]


# %%
@torch.no_grad()
def experiment(parts):
    """Return the losses on the second document, and what leaks, with the masks of `parts`."""

    def attend(query, key, value, mask):
        return parts.masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), mask) @ value

    sizes = {"d_model": 32, "num_heads": 2, "num_layers": 1, "max_length": 32}
    twin, found = SmallTransformer(10, **sizes, attend=attend), {}
    causal, real = parts.causal_mask(32, 32), parts.padding_mask(torch.tensor([16]), 32).flip(-1)
    for name, trained_model, mask in (
        ("causal", model, causal),
        ("window of 8", model, parts.window_mask(32, 32, 8)),
        ("documents, places restart", restarted, parts.document_mask(documents)),
        ("padded on the left", restarted, causal & real),
    ):
        twin.load_state_dict(trained_model.state_dict())
        logits = twin(packed[:, :-1], mask)
        found[name] = F.cross_entropy(logits[:, 16:23].mT, packed[:, 17:24])
    for offset in (0, 1):
        attention_only = partial(twin.blocks[0], attn_mask=parts.causal_mask(32, 32, offset))
        found[f"offset {offset} leaks"] = parts.leaks_future(attention_only, 32, 32)
    return found


# %% tags=["nbval-ignore-output"] reason="the times are others in every run"
parts = yours(
    *("causal_mask", "window_mask", "padding_mask", "document_mask"),
    *("masked_softmax", "leaks_future"),
)
note = parts.run(experiment)
note

# %%
for name, found in note.result.items():
    print(f"{name:26}", found if isinstance(found, bool) else f"loss {found:.2f}")

# %% [markdown]
"""
The last two losses equal that of the document alone (section 5), each under a different mask.<!-- shown: 2.31 --> If a part of yours passed its check and fails here, the card above names it: compare what it got here with what the check gave it.
"""

# %% [markdown]
r"""
## Recap

1. A mask is a boolean table, True = may look. Causal: $j \le i + \text{offset}$. Padding hides keys, not queries. Rules combine with `&`; a prefix opens with `|`, before the rest. With $L \ne S$ the offset must be stated: SDPA's `is_causal` means 0, a cache needs $S - L$.
2. A loss below the entropy of the data is a leak. Validation under the same mask leaks too; the honest loss does not. `leaks_future` finds it before training: change what comes later, look at what came before.
3. A query that sees nothing: $-\infty$ gives `nan`, $-10^9$ a uniform leak, in float16 an error or `nan` again. A guarded softmax and SDPA give zeros.
"""

# %% [markdown]
r"""
4. One `nan` row becomes all rows in the next layer, whatever the mask, because $0 \cdot \text{nan} = \text{nan}$; the gradients follow, and clipping does not help. Look for empty rows: left padding under a causal mask.
5. A dense mask saves no operation. Rules do, if code skips what they hide: `mask_mod` and BlockMask.

Shapes: `(L, S)`, `(H, L, S)`, or `(B, 1, 1, S)` and `(B, 1, L, S)` with the axis for heads. A mask for each sequence without that axis runs for some batch sizes and is wrong.
"""

# %% tags=["remove-cell"]
progress(6)

# %% [markdown]
"""
**Next**: chapter 07 asks how a model knows where a token stands. A causal mask already tells it a little.
"""

# %% [markdown]
"""
## Go further

- Vaswani et al. (2017), section 3.2.3: hidden connections are set to -inf inside the softmax.
- Devlin et al. (2019): BERT, whose "masks" replace input tokens.
- Raffel et al. (2020), section 3.2.1: causal, full and prefix masks compared.
- Beltagy et al. (2020) and Jiang et al. (2023): sliding windows, Longformer and Mistral 7B.
- Krell et al. (2021): packing without contamination between documents.
- Dong et al. (2024): FlexAttention, masks and scores as functions of two places.
- Gemma Team (2024), section 2: the soft cap, in attention and on the last logits.
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
@inproceedings{devlin2019bert,
  title = {{BERT}: Pre-training of Deep Bidirectional Transformers for Language Understanding},
  author = {Devlin, Jacob and Chang, Ming-Wei and Lee, Kenton and Toutanova, Kristina},
  booktitle = {NAACL-HLT}, year = {2019}, url = {https://arxiv.org/abs/1810.04805}}
@article{raffel2020exploring,
  title = {Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer},
  author = {Raffel, Colin and Shazeer, Noam and Roberts, Adam and Lee, Katherine and Narang, Sharan and Matena, Michael and Zhou, Yanqi and Li, Wei and Liu, Peter J.},
  journal = {Journal of Machine Learning Research}, volume = {21}, number = {140}, year = {2020}, url = {https://arxiv.org/abs/1910.10683}}
@misc{beltagy2020longformer,
  title = {Longformer: The Long-Document Transformer},
  author = {Beltagy, Iz and Peters, Matthew E. and Cohan, Arman},
  year = {2020}, url = {https://arxiv.org/abs/2004.05150}}
@misc{jiang2023mistral,
  title = {Mistral 7B},
  author = {Jiang, Albert Q. and Sablayrolles, Alexandre and Mensch, Arthur and others},
  year = {2023}, url = {https://arxiv.org/abs/2310.06825}}
@misc{krell2021efficient,
  title = {Efficient Sequence Packing without Cross-contamination: Accelerating Large Language Models without Impacting Performance},
  author = {Krell, Mario Michael and Kosec, Matej and Perez, Sergio P. and Fitzgibbon, Andrew},
  year = {2021}, url = {https://arxiv.org/abs/2107.02027}}
@misc{dong2024flex,
  title = {Flex Attention: A Programming Model for Generating Optimized Attention Kernels},
  author = {Dong, Juechu and Feng, Boyuan and Guessous, Driss and Liang, Yanbo and He, Horace},
  year = {2024}, url = {https://arxiv.org/abs/2412.05496}}
@misc{gemma2024gemma2,
  title = {Gemma 2: Improving Open Language Models at a Practical Size},
  author = {{Gemma Team}},
  year = {2024}, url = {https://arxiv.org/abs/2408.00118}}
```

</details>
"""
