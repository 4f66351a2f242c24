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
# Build the whole Transformer, and find out what each part does

Chapter 02's model reads a date from left to right and from right to left, one character after another. Attention only joins its two halves.

Play for one minute: type a date, and point at the written digits. **If every character could read every other at once, which part of this model would no longer be needed, and what would then tell 2021 from 1202?** At the end of the chapter you have built the model that needs no recurrence, and trained it on these dates.
"""

# %% tags=["hide-input"]
from course_utils.widgets import date_writer

date_writer()

# %% [markdown]
r"""
*You will be able to*

1. make the three masks of an encoder and a decoder, and say who reads whom;
2. write LayerNorm and the feed-forward layer and, further, RMSNorm and the gated one;
3. wire a layer before and after the norm, and tell from its outputs which one a published code is;
4. find a decoder that leaks, by gradients and by a test;
5. put the whole model together;
6. (further) train it on dates, search with a beam, and make BERT, GPT and a prefix model of its layers.

*You need* chapters 03 (attention), 05 (heads), 06 (masks), 07 (positions) and 10 (greedy decoding); 02 for the dates and the GRU.

*Core path · further*
"""

# %% [markdown]
"""
How to read: each experiment begins with a question. Write down your guess, run the cell, then open the answer.

The **stream** (residual stream, hidden states) is one vector for each position, of width $d$ or $d_{model}$ (the hidden size); every layer reads it and adds to it. The encoder's output is called **memory**. $S$ tokens are read, $T$ are written, $H$ heads share the width, $d_{ff}$ is the width inside the feed-forward layer. A **spread** is a standard deviation.
"""

# %% [markdown]
"""
Runs of several seeds were recorded beforehand, by scripts in `benchmarks/`; the cells read those records and train small models live. Sentences and listings that are judged come from five published texts, A to E, which the site's page *What is measured here* lists by title.
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
import itertools
import math
import sys
from functools import partial
from statistics import mean
from types import SimpleNamespace

import torch
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle
from torch import nn
from torch.nn import functional as F
from tqdm import tqdm

from course_utils import attention, data, measure, models, plotting
from course_utils.data import END, PAD, START
from course_utils.guessing import draw_guess, guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.matrix_plotting import weight_map
from course_utils.models import EncoderLayer, Written
from course_utils.positions import sinusoidal_encoding
from course_utils.widgets import wiring_explorer

plotting.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=3, sci_mode=False, linewidth=100)
record = measure.read_record("chapter_11_dates")
more_steps = measure.read_record("chapter_11_steps")
bar = partial(tqdm, ncols=70, mininterval=1, file=sys.stdout)

# %% [markdown]
r"""
## 1. Three attentions, three masks

A Transformer uses one mechanism three times. In the **encoder**, every position of the source reads every other. In the **decoder**, each position reads itself and what was written before it. In **cross-attention** the decoder's positions ask, and the encoder's output answers: queries from one sequence, keys and values from another.
"""

# %% tags=["remove-input"]
from course_utils.diagrams import diagram

diagram("11")

# %% [markdown]
r"""
**Predict.** The encoder has read 7 tokens, the decoder has written 5. What are the shapes of the three tables of weights? And of the three outputs? Which of the three has more parameters than the others?
"""

# %% guess={"name": "11.cross", "kind": "number", "asks": "An encoder has read {read} tokens and a decoder has written {written}: how many rows does the output of the cross-attention have?", "low": 0, "high": 20, "unit": "rows", "reads": "cross-attention weights {_} output (1, {}, 64)", "varied": [{"read": 7, "written": 5}, {"read": 4, "written": 12}, {"read": 18, "written": 1}], "becomes": "written"}
guess("11.cross")

# %%
generator = torch.Generator().manual_seed(0)
look = attention.MultiHeadAttention(64, 4)
x, memory = (torch.randn(1, length, 64, generator=generator) for length in (5, 7))
uses = {"encoder": (memory, memory), "decoder": (x, x), "cross-attention": (x, memory)}
for name, (asks, answers) in uses.items():
    shapes = tuple(look.weights(asks, answers).shape), tuple(look(asks, answers).shape)
    print(f"{name:15}  weights {shapes[0]}  output {shapes[1]}")
print("parameters of each:", f"{sum(part.numel() for part in look.parameters()):,}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The table is (queries, keys): $7\times7$, $5\times5$ and $5\times7$ in each head. The output has a row for each query, so cross-attention gives 5 rows, whatever the encoder has read. Its cost is $O(n_q\, n_{kv}\, d)$.

All three have the same parameters: four matrices and their biases. Only what is handed in differs. (If the memory had another width, as in many models of images and text, the key and value matrices would have as many rows as that width.)

</details>
"""

# %% [markdown]
r"""
**Step through it.** The picture wires the same layers in five ways: first as blocks, then as masks. Under *Paths*, choose an output at the top: every input that can reach it through all layers lights up, which is a product of the masks as boolean matrices.

**Predict**, before you touch it:

1. In the encoder–decoder, how many of the 10 inputs reach the place that writes "sleeps"?
2. Does a third layer add any? Does it add *paths*, which the picture counts?
3. Choose GPT and set *window* to 2. How many inputs reach the last output through 1, 2 and 3 layers?
"""

# %% tags=["nbval-ignore-output"] reason="a widget has a new id in every run"
wiring_explorer(wiring="t5", pads=0)

# %% [markdown]
r"""
<details><summary>Answer</summary>

1. Eight: the whole source, and *start*, "the", "cat".
2. It adds none: under a full mask one layer already connects everything that will ever be connected. It adds *paths*, more ways to combine what is seen; the picture counts them.
3. Two, three, four: with a window of 2 each layer reaches one token further back.

BERT's masks hide nothing but padding. The *prefix* model is a GPT whose source is seen whole. The faulty decoder is that of text B: section 5 finds out what is wrong with it.

</details>
"""

# %% [markdown]
r"""
### Exercise: `transformer_masks`

*Difficulty · importance · minutes*

Write `transformer_masks(source, target, pad_id) -> (encoder, decoder, cross)`.

- `source` is `(B, S)` and `target` `(B, T)`, both token ids; `pad_id` is padding, wherever it occurs.
- Three boolean masks, True = may attend: `(B, 1, 1, S)`, `(B, 1, T, T)`, `(B, 1, 1, S)`.
- A key is seen when it is not padding; in the decoder also only up to the query's own position.
- Queries that are padding are treated like all others. In a sequence that is all padding, no query sees anything.
"""


# %% exercise="transformer_masks"
def transformer_masks(source, target, pad_id):
    """Return who sees whom in the encoder, in the decoder, and from the decoder to the encoder."""
    ### BEGIN SOLUTION: Real keys of each side; a lower triangle for the decoder; memory is the source.
    encoder = (source != pad_id)[:, None, None, :]
    length = target.shape[1]
    past = torch.ones(length, length, dtype=torch.bool, device=target.device).tril()
    decoder = (target != pad_id)[:, None, None, :] & past
    return encoder, decoder, encoder
    ### END SOLUTION


# %%
check("transformer_masks", transformer_masks)
# hint("transformer_masks")  # remove the first # for a hint; each call gives one more

# %% [markdown]
r"""
**Check yourself.** From which tokens is the mask of the cross-attention made?

- A. From the target's, because the target asks.
- B. From the source's, because its positions are the keys.
- C. From both.

<details><summary>Answer</summary>

- A is wrong: a mask hides *keys*. The shapes would even fit whenever $S = T$.
- **B is right.**
- C is wrong: hiding a padded *query* changes nothing that is used, since its output is not counted in the loss. It only makes rows that see nothing.

</details>
"""

# %% [markdown]
r"""
## 2. One size for every vector: LayerNorm

Each part of a layer adds to the stream. What the next part *reads* should have one size, whatever has been added before. A **norm** brings a position's vector to that size: subtract its mean, divide by its **spread** (the standard deviation), then multiply by a learned gain and add a learned bias. It looks at one position alone: not at the batch, not at other tokens. Whether the stream itself is normed, or only what is read from it, is section 4's question.

By hand, for $(1, 3)$: the mean is 2, the variance 1, so the result is $(-1, 1)$ times gain plus bias.
"""

# %% [markdown]
r"""
### Exercise: `layer_norm`

*Difficulty · importance · minutes*

Write `layer_norm(x, gain, bias, eps=1e-5) -> out`.

- `x` is `(..., d)`, `gain` and `bias` are `(d,)`: $\dfrac{x - \text{mean}}{\sqrt{\text{var} + \varepsilon}} \cdot \text{gain} + \text{bias}$, over the last axis.
- The variance is divided by $d$, and $\varepsilon$ is under the root.
- A row of equal numbers gives `bias`. In float32, rows whose mean lies 1000 standard deviations from zero must still be right to three digits.
- Write it out: torch's own `layer_norm` is recognised and not accepted.
"""


# %% exercise="layer_norm"
def layer_norm(x, gain, bias, eps=1e-5):
    """Bring each row to mean 0 and spread 1, then stretch and shift it."""
    ### BEGIN SOLUTION: Centre each row first, then its mean square is the variance.
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return centred / torch.sqrt(variance + eps) * gain + bias
    ### END SOLUTION


# %%
check("layer_norm", layer_norm)
# hint("layer_norm")

# %% [markdown]
r"""
**Predict.** Three variations that look harmless: $\varepsilon$ added outside the root, the variance divided by $d - 1$, and the variance as $E[x^2] - E[x]^2$ in float32. At $d = 64$ and outputs of spread 1, the largest of which is about 2.8: how far do they move that one? When does each matter?
"""


# %%
def normed(x, variance, eps=1e-5, outside=0.0):
    """Return x without its mean, over a root of this variance."""
    return (x - x.mean(-1, keepdim=True)) / (torch.sqrt(variance + eps) + outside)


def apart(x, *wrong, **how):
    """Return the largest difference from the right norm."""
    right = normed(x.double(), x.double().var(-1, correction=0, keepdim=True))
    return (normed(x, *wrong, **how).double() - right).abs().max().item()


# %% guess={"name": "11.norm", "kind": "choice", "asks": "Inputs 64 wide with mean 0 and spread 1: which of the three variations moves a LayerNorm's output most?", "options": {"eps added outside the root": "spread 1.0: eps outside {}", "the variance divided by d - 1": "spread 1.0: {_} d - 1 {}", "the variance as E[x²] - E[x]² in float32": "mean 0.0: E[x²] - E[x]² in float32 {}"}, "take": "largest"}
guess("11.norm")

# %%
row = torch.randn(4, 64, generator=generator, dtype=torch.float64)
right = normed(row, row.var(-1, correction=0, keepdim=True), 0.0)
print(f"the largest output is {right.abs().max():.1f}")
for spread in (1.0, 0.01, 0.001):
    x = spread * row
    var = x.var(-1, correction=0, keepdim=True)
    print(f"spread {spread:5}: eps outside {apart(x, var, 0.0, outside=1e-5):.5f}", end="   ")
    print(f"d - 1 {apart(x, x.var(-1, keepdim=True)):.3f}")
for middle in (0.0, 30.0, 1000.0):
    x = (row + middle).float()
    var = x.square().mean(-1, keepdim=True) - x.mean(-1, keepdim=True).square()
    print(f"mean {middle:6}: E[x²] - E[x]² in float32 {apart(x, var.clamp_min(0)):.5f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Outside the root, $\varepsilon$ moves nothing at spread 1, and everything at 0.001<!-- shown: 0.001 -->: there $\varepsilon = 10^{-5}$ is ten times the variance; under the root it shrinks the outputs to a third, which is what it is for, while outside, beside a spread of $10^{-3}$, it takes off 1%. $d - 1$ divides by a spread that is $\sqrt{64/63}$ too large, so every output is 0.8% too small: 0.022 of the largest, 2.8<!-- shown: 0.022 2.8 -->. That is little, and never equal to another library's. $E[x^2] - E[x]^2$ subtracts two numbers near $10^6$ to find 1, and float32 keeps seven digits. So centre first.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** A batch norm divides by statistics of the batch. Why does a Transformer normalise each token alone?

- A. It is faster.
- B. Batch statistics would mix sequences and padding, and differ between training and generating.
- C. Because attention needs mean 0.

<details><summary>Answer</summary>

- A is wrong: both read every number once.
- **B is right.** One token's output would depend on its neighbours in the batch, and, across positions, on the future.
- C is wrong: attention runs without any norm.

</details>
"""

# %% [markdown]
r"""
## 3. What a position does by itself: the feed-forward layer

Attention moves vectors between positions and averages them. What happens *at* a position is the work of the **feed-forward layer**: into a wider space, through an **activation** (a nonlinear function of each number), and back.

$$\mathrm{FFN}(x) = \mathrm{act}(xW_1 + b_1)\,W_2 + b_2, \qquad d \to d_{ff} \to d,\quad d_{ff} = 4d$$
"""

# %% [markdown]
r"""
### Exercise: `feed_forward`

*Difficulty · importance · minutes*

Write `feed_forward(x, W_1, b_1, W_2, b_2, activation="relu") -> out`.

- `x` is `(..., d_model)`, `W_1` `(d_model, d_ff)`, `W_2` `(d_ff, d_model)`. No residual is added here.
- `"relu"`; `"gelu"`: $x\,\Phi(x)$, with $\Phi$ the distribution function of the standard normal; `"gelu_tanh"`, as in GPT-2: $\tfrac12 x\,(1 + \tanh(\sqrt{2/\pi}\,(x + 0.044715\,x^3)))$.
- Any other name is a `ValueError`.
"""


# %% exercise="feed_forward"
def feed_forward(x, W_1, b_1, W_2, b_2, activation="relu"):
    """Widen each token's vector, bend it, and bring it back."""
    ### BEGIN SOLUTION: One line for each activation, an error for any other, then two products.
    bends = {
        "relu": torch.relu,
        "gelu": lambda z: z * 0.5 * (1 + torch.erf(z / math.sqrt(2))),
        "gelu_tanh": lambda z: F.gelu(z, approximate="tanh"),
    }
    if activation not in bends:
        raise ValueError(f"activation must be one of {', '.join(bends)}, got {activation!r}")
    return bends[activation](x @ W_1 + b_1) @ W_2 + b_2
    ### END SOLUTION


# %%
check("feed_forward", feed_forward)
# hint("feed_forward")

# %% [markdown]
r"""
**Predict.** How far is GELU from its form with tanh, at most? And where are the parameters and the operations of one layer, at 16 tokens and at 4096, for $d = 512$, $d_{ff} = 2048$: in attention or in the feed-forward layer?
"""

# %% guess={"name": "11.feed", "kind": "curve", "asks": "An encoder's layer of width 512, widened to 2048 inside: what share of its operations is in the feed-forward layer, in per cent, for texts of these lengths?", "low": 0, "high": 100, "unit": "%", "x": [16, 512, 4096], "across": "tokens", "reads": "{x} tokens: feed-forward {}% of"}
guess("11.feed")

# %%
z = torch.linspace(-8, 8, 100_001, dtype=torch.float64)
far = (F.gelu(z) - F.gelu(z, approximate="tanh")).abs()
print(f"GELU and its tanh form differ by at most {far.max():.1e}, at {z[far.argmax()].abs():.1f}")
with torch.device("meta"):
    layer = EncoderLayer(512, 8, 2048)
size = {name: sum(p.numel() for p in part.parameters()) for name, part in layer.named_children()}
inside = size["linear1"] + size["linear2"]
print(f"parameters {sum(size.values()):,}, feed-forward {inside / sum(size.values()):.1%}")
for n in (16, 512, 4096):
    stream = torch.empty(1, n, 512, device="meta")
    bend = measure.count_flops(lambda x: layer.linear2(layer.linear1(x)), stream)
    share = bend / measure.count_flops(layer, stream)
    print(f"{n:5} tokens: feed-forward {share:.1%} of the operations")

# %% [markdown]
r"""
<details><summary>Answer</summary>

At most $4.7\cdot10^{-4}$<!-- shown: 4.7e-04 -->: too little to see in a plot, and enough that the logits of a model which was trained with one are not *equal* under the other.

Two thirds of the parameters are in the feed-forward layer: $8d^2$ of $12d^2$. It has two thirds of the operations of a short text, too. Only attention's scores and averages, $4n^2d$, grow with the square: from $n = 6d$ on they are more than all the rest, and at 4096 tokens the feed-forward layer is left with 28.6%<!-- shown: 28.6% -->.

</details>

**Find the error.** A layer of text D takes `activation: str = 'relu'` and builds `nn.ReLU() if activation == 'relu' else nn.GELU()`. What does a user of `activation="swish"` get?
"""


# %%
def published_activation(name):
    """The line of text D's layer."""
    return nn.ReLU() if name == "relu" else nn.GELU()


z = torch.tensor([-1.0, 1.0])
for name in ("relu", "gelu", "swish", "ReLU"):
    print(f"{name:6} {published_activation(name)(z)}")
print(f"what swish is: {F.silu(z)}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

GELU, without a warning; and so does anyone who writes "ReLU". The model trains, and its author writes "Swish" into a table. A name that is not known must be an error.

</details>
"""

# %% [markdown]
r"""
## 4. Which order is it?

Around each part go a **residual** (the input is added to the output) and a norm. There are two orders:

- **post-norm** (Vaswani et al., 2017): $x \leftarrow \mathrm{norm}(x + \mathrm{part}(x))$
- **pre-norm** (GPT-2, and nearly all decoders up to Llama 3): $x \leftarrow x + \mathrm{part}(\mathrm{norm}(x))$, and one more norm after the last layer.

Under pre-norm the stream runs from bottom to top with nothing but additions in its way. Newer models norm what a part *gives*: $x \leftarrow x + \mathrm{norm}(\mathrm{part}(x))$ in OLMo 2, and before as well as after in Gemma 2 and 3. There, too, the stream itself is left alone.
"""

# %% [markdown]
r"""
### Exercise: `encoder_layer`

*Difficulty · importance · minutes*

Write `encoder_layer(x, attend, feed_forward, norm_1, norm_2, pre_norm) -> out`.

- `x` is `(B, L, d_model)`; the four parts are functions that keep its shape. Use each once.
- `pre_norm` True: $x + \mathrm{attend}(\mathrm{norm}_1(x))$, then the same with `feed_forward` and `norm_2`.
- `pre_norm` False: $\mathrm{norm}_1(x + \mathrm{attend}(x))$, then the same with `feed_forward` and `norm_2`.
"""


# %% exercise="encoder_layer"
def encoder_layer(x, attend, feed_forward, norm_1, norm_2, pre_norm):
    """Return the stream after attention and feed-forward, each added to it and normed."""
    ### BEGIN SOLUTION: Two sums in turn; the second reads what the first gave.
    if pre_norm:
        x = x + attend(norm_1(x))
        return x + feed_forward(norm_2(x))
    x = norm_1(x + attend(x))
    return norm_2(x + feed_forward(x))
    ### END SOLUTION


# %%
check("encoder_layer", encoder_layer)
# hint("encoder_layer")

# %% [markdown]
r"""
**Find the error.** Two layers of text D carry the same picture in their docstrings: `x -> LayerNorm -> MultiHeadAttention -> Residual`, and so on. Here is the encoder's, without its dropout. Does its code do what its docstring says?

**Predict.** Without reading the code, how could outputs decide?
"""


# %%
class PublishedLayer(nn.Module):
    """x -> LayerNorm -> MultiHeadAttention -> Residual -> LayerNorm -> FeedForward -> Residual."""

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.self_attn = attention.MultiHeadAttention(d_model, num_heads)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)
        )
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x):
        x = self.norm1(x + self.self_attn(x))
        return self.norm2(x + self.feed_forward(x))


# %%
torch.manual_seed(0)
layer = PublishedLayer(32, 4, 128).double()
x = 3 * torch.randn(2, 6, 32, generator=generator, dtype=torch.float64)
parts = layer.self_attn, layer.feed_forward, layer.norm1, layer.norm2
for order, pre_norm in (("pre-norm, as its docstring says", True), ("post-norm", False)):
    same = torch.allclose(layer(x), models.encoder_layer(x, *parts, pre_norm))
    print(f"{order:32} equal: {same}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Write both orders, give them the same parts, and let `allclose` decide: the code is post-norm. The decoder layer below it in the same text has the same docstring and the same order. Words about code are not code; a comparison of outputs takes six lines.

</details>

**Predict.** Text E puts a last LayerNorm after six post-norm blocks. What does it change, at the start of training? And after six pre-norm blocks?
"""

# %% guess={"name": "11.stream", "kind": "number", "asks": "A stream of spread 1 goes through six untrained layers with the norm before each part: what spread does it have afterwards?", "low": 0.1, "high": 30, "log": true, "reads": "pre-norm spread {};"}
guess("11.stream")

# %%
x = torch.randn(2, 10, 64, generator=generator)
for name, pre_norm in (("post-norm", False), ("pre-norm", True)):
    torch.manual_seed(0)
    stream = x
    for _ in range(6):
        stream = EncoderLayer(64, 4, 256, pre_norm=pre_norm)(stream)
    moved = (F.layer_norm(stream, (64,)) - stream).abs().max().item()
    far = f"{moved:.1f}" if moved > 1e-4 else "nothing but rounding"
    size = stream.std(-1, correction=0).mean()
    print(f"{name:9} spread {size:.2f}; a last norm moves it by {far}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

After post-norm, nothing: the stream leaves each layer with mean 0 and spread 1 already, so the last norm is redundant (in training its gain and bias duplicate the layer's own). After pre-norm it is needed: nothing has normalised the stream itself, and the scores would be computed from a vector whose size depends on the depth.

</details>
"""

# %% [markdown]
r"""
## 5. The decoder's layer, and one that leaks

A decoder's layer has three parts: it reads what was written, then it asks the memory, then the feed-forward layer. This one is text B's; the comment is the author's.

**Find the faults.** There are two, both in one line. What would the loss on the training text look like? (Section 8 trains it.)
"""


# %%
class PublishedDecoder(nn.Module):
    """The layer of text B, with this course's attention in it."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.self_attention = attention.MultiHeadAttention(d_model, num_heads)
        self.cross_attention = attention.MultiHeadAttention(d_model, num_heads)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, 4 * d_model), nn.ReLU(), nn.Linear(4 * d_model, d_model)
        )
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))

    def forward(self, x, encoder_output, causal_mask=None):
        x = self.norm1(x + self.self_attention(x, attn_mask=causal_mask))
        x = self.norm2(x + self.cross_attention(x))  # Implementation shortened
        return self.norm3(x + self.feed_forward(x))


# %% [markdown]
r"""
### Exercise: `decoder_layer`

*Difficulty · importance · minutes*

Write `decoder_layer(x, memory, self_attend, cross_attend, feed_forward, norms, pre_norm) -> out`.

- `x` is `(B, L, d_model)`, `memory` `(B, S, d_model)`. `self_attend(x)` is causal already; `cross_attend(x, memory)` asks with its first argument.
- `norms` holds three functions, for self-attention, cross-attention and feed-forward; `pre_norm` as above.
- Each part is used once, and the memory is never normed here.
"""


# %% exercise="decoder_layer"
def decoder_layer(x, memory, self_attend, cross_attend, feed_forward, norms, pre_norm):
    """Return the stream after a look at itself, one at the memory, and the feed-forward layer."""
    ### BEGIN SOLUTION: Three sums in turn, each with its own norm.
    norm_1, norm_2, norm_3 = norms
    if pre_norm:
        x = x + self_attend(norm_1(x))
        x = x + cross_attend(norm_2(x), memory)
        return x + feed_forward(norm_3(x))
    x = norm_1(x + self_attend(x))
    x = norm_2(x + cross_attend(x, memory))
    return norm_3(x + feed_forward(x))
    ### END SOLUTION


# %%
check("decoder_layer", decoder_layer)
# hint("decoder_layer")

# %% [markdown]
r"""
Two questions settle the matter for any decoder, published or your own: does a gradient reach the memory, and does output $t$ move when token $t + 1$ does? The same parts, once in the published order of calls and once in `decoder_layer`'s:
"""

# %%
torch.manual_seed(0)
stub = PublishedDecoder(32, 4)
causal = attention.causal_mask(5, 5)


def repaired(x, memory):
    """The same parts, with the memory asked."""
    parts = (
        lambda x: stub.self_attention(x, attn_mask=causal),
        stub.cross_attention,
        stub.feed_forward,
        (stub.norm1, stub.norm2, stub.norm3),
    )
    return models.decoder_layer(x, memory, *parts, pre_norm=False)


# %%
for name, layer in (("published", partial(stub, causal_mask=causal)), ("repaired", repaired)):
    x, memory = (torch.randn(1, n, 32, generator=generator).requires_grad_() for n in (5, 7))
    toward = torch.randn(32, generator=generator)
    layer(x, memory)[0, 1].mul(toward).sum().backward()
    reached = "None" if memory.grad is None else f"{memory.grad.norm():.2f}"
    print(f"{name:10} gradient to the memory: {reached:5}", end="   ")
    future = [f"{norm:.2f}" for norm in x.grad[0, 2:].norm(dim=-1).tolist()]
    leaks = attention.leaks_future(lambda x, f=layer, m=memory: f(x, m), 5, 32)
    print("|dy₁/dx_t|, t = 2, 3, 4:", *future, "  leaks:", leaks)

# %% [markdown]
r"""
<details><summary>Answer</summary>

`cross_attention(x)` is a second self-attention. First, the memory is never read: the gradient to it is `None`, and whatever the encoder learns, the decoder cannot know. Second, this attention has no mask, so the future passes through it, after the causal one: $y_1$ moves with every later token. In training, on given texts, the next token can simply be read; in generation there is none yet. Section 8 shows what that does to the loss and to the dates. A default of `causal_mask=None` adds a third trap; and text B's attention drops weights, but nothing drops the sums or the feed-forward layer.

Repaired, the same test passes: gradients of exactly 0, and `leaks_future` says False.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 6. Depth: why the order matters

**Predict.** Twelve untrained layers. How does the spread of the stream grow from layer to layer, before and after the norm? Which layers get larger gradients?
"""

# %%
text = data.character_text()
windows, targets = data.random_windows(text.train, 32, 8, torch.Generator().manual_seed(0))
for name, pre_norm in (("pre", True), ("post", False)):
    torch.manual_seed(0)
    deep = models.DeepStack(text.num_characters, num_layers=12, pre_norm=pre_norm, d_model=64)
    F.cross_entropy(deep(windows).flatten(0, 1), targets.flatten()).backward()
    spreads = [x.std(-1, correction=0).mean().item() for x in deep.streams(windows)]
    norms = [layer.linear2.weight.grad.norm().item() for layer in deep.layers]
    print(f"{name:4} spread after 1, 4, 7, 10:", *(f"{spreads[i]:.2f}" for i in (1, 4, 7, 10)))
    print("     gradient of W₂, layers 1, 4, 8, 12:", *(f"{norms[i]:.2f}" for i in (0, 3, 7, 11)))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Under pre-norm the stream grows slowly, since every layer adds to it; under post-norm it is 1 after each. Under pre-norm the first layers get the larger gradients, under post-norm the last, but nowhere by orders of magnitude: a hint, not a reason. The claim that pre-norm trains more stably (Xiong et al., 2020) can only be tested by training.

</details>

**Predict.** Twelve layers, Adam at its full rate from the first step, on Python's help: live for 80 steps, recorded for 150. The record has the same with 100 steps of **warm-up**, in which the rate rises from 0. Which of the four runs will stand out?
"""

# %% tags=["nbval-ignore-output"] reason="training differs in the last digits between machines"
losses = {}
for name, pre_norm in (("pre-norm", True), ("post-norm", False)):
    torch.manual_seed(0)
    deep = models.DeepStack(text.num_characters, num_layers=12, pre_norm=pre_norm)
    how = {"steps": 80, "warm_up": 0, "learning_rate": 3e-3, "seed": 0}
    losses[name] = models.train_deep_stack(deep, text, **how, progress=partial(bar, desc=name))
for name, loss in losses.items():
    print(f"{name:9} without warm-up, mean loss of the last 30 steps: {mean(loss[-30:]):.2f}")

# %% tags=["nbval-ignore-output"] reason="training differs in the last digits between machines" mystnb={"image": {"alt": "Loss over 80 steps of two stacks of twelve layers, without warm-up at the rate 0.003, and a dashed line at the loss of guessing by frequency. Pre-norm falls below the line; post-norm comes down to it and stays there."}}
shares = torch.bincount(text.train).double() / len(text.train)
naive = torch.special.entr(shares).sum().item()
axes = plotting.new_figure(
    "At the rate 0.003, without warm-up,\npost-norm stays at frequencies", "step", "loss (nats)"
)
for name, colour in {"pre-norm": "blue", "post-norm": "orange"}.items():
    smooth = [mean(losses[name][max(0, i - 5) : i + 1]) for i in range(len(losses[name]))]
    plotting.line(axes, range(1, len(smooth) + 1), smooth, name, colour, (81, smooth[-1]))
plotting.line(axes, [1, 80], [naive, naive], "frequency alone", "green", (2, naive - 0.09), "--")
_ = axes.set(xlim=(0, 102), xticks=range(0, 81, 20))

# %%
print("recorded, mean loss of the last 30 steps    at 0.003          at 0.001")
for order, warm_up in itertools.product(("pre-norm", "post-norm"), (0, 100)):
    print(f"{order:9} warm-up of {warm_up:3} steps", end="")
    for rate in (3e-3, 1e-3):
        same = {"order": order, "warm_up": warm_up, "learning_rate": rate}
        rows = [row for row in record["warm_up"] if same.items() <= row.items()]
        print("      ", "  ".join(f"{row['loss']:.2f}" for row in rows), end="")
    print()
print(f"guessing by frequency alone: {naive:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Post-norm without warm-up at the high rate: 3.22 and 3.29<!-- shown: 3.22 3.29 -->, no better than guessing by frequency (3.25)<!-- shown: 3.25 -->, while pre-norm learns at once. With warm-up post-norm follows; for pre-norm the warm-up only costs time. At a third of the rate nothing stands out. So the order decides which learning rates work without care, and not which model is better: two seeds, one small task.

</details>
"""

# %% [markdown]
r"""
## 7. The whole model, on one page

Everything so far, put together: attention in heads, the feed-forward layer, norms, a layer that reads and one that writes, and the model. It takes all functions from `parts`, so that the section *Yours* can hand in your own. (`bend` is the kind of feed-forward layer; `places` begin as waves, the sinusoidal positional encoding of chapter 07.)
"""


# %%
class Attention(nn.Module):
    """x asks, memory answers; in self-attention they are the same."""

    def __init__(self, parts, d_model, num_heads):
        super().__init__()
        self.parts, self.num_heads = parts, num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x, memory, mask):
        streams = self.q(x), self.k(memory), self.v(memory)
        query, key, value = (self.parts.split_heads(one, self.num_heads) for one in streams)
        self.compared = query.detach(), key.detach(), mask
        heads = self.parts.scaled_dot_product_attention(query, key, value, mask)
        return self.o(self.parts.merge_heads(heads))

    def weights(self):
        """Return the weights of the last call, for drawing."""
        query, key, mask = self.compared
        return self.parts.masked_softmax(query @ key.mT / query.shape[-1] ** 0.5, mask)


# %%
class FeedForward(nn.Module):
    """Each position by itself: wider, bent, and back."""

    def __init__(self, parts, d_model, d_ff):
        super().__init__()
        self.parts, self.up, self.down = parts, nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        up, down = self.up, self.down
        return self.parts.feed_forward(x, up.weight.mT, up.bias, down.weight.mT, down.bias)


class Norm(nn.Module):
    """Mean 0 and spread 1 at each position, then a gain and a bias."""

    def __init__(self, parts, d_model):
        super().__init__()
        self.parts = parts
        self.gain, self.bias = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return self.parts.layer_norm(x, self.gain, self.bias)


# %%
class Reader(nn.Module):
    """A layer of the encoder."""

    def __init__(self, parts, d_model, num_heads, d_ff, norm=Norm, bend=FeedForward):
        super().__init__()
        self.parts, self.attention = parts, Attention(parts, d_model, num_heads)
        self.feed_forward = bend(parts, d_model, d_ff)
        self.norms = nn.ModuleList(norm(parts, d_model) for _ in range(2))

    def forward(self, x, mask):
        attend = partial(self.itself, mask)
        return self.parts.encoder_layer(x, attend, self.feed_forward, *self.norms, True)

    def itself(self, mask, x):
        return self.attention(x, x, mask)


class Writer(Reader):
    """A layer of the decoder: one attention more, and its norm."""

    def __init__(self, parts, d_model, num_heads, d_ff, norm=Norm, bend=FeedForward):
        super().__init__(parts, d_model, num_heads, d_ff, norm, bend)
        self.cross = Attention(parts, d_model, num_heads)
        self.norms.append(norm(parts, d_model))

    def forward(self, x, memory, own, across):
        attends = partial(self.itself, own), partial(self.cross, mask=across)
        norms = tuple(self.norms)
        return self.parts.decoder_layer(x, memory, *attends, self.feed_forward, norms, True)


# %%
class Transformer(nn.Module):
    """An encoder and a decoder, from tokens to scores."""

    def __init__(self, parts, num_source, num_target, d_model=64, num_heads=4, layers=1, **kinds):
        super().__init__()
        self.parts, sizes = parts, (parts, d_model, num_heads, 4 * d_model)
        self.source = nn.Embedding(num_source, d_model)
        self.target = nn.Embedding(num_target, d_model)
        waves = parts.sinusoidal_encoding(64, d_model)
        self.places = nn.ParameterList([waves.clone(), waves.clone()])
        self.readers = nn.ModuleList(Reader(*sizes, **kinds) for _ in range(layers))
        self.writers = nn.ModuleList(Writer(*sizes, **kinds) for _ in range(layers))
        norm = kinds.get("norm", Norm)
        self.last = nn.ModuleList([norm(parts, d_model), norm(parts, d_model)])
        self.out = nn.Linear(d_model, num_target)

    def encode(self, source, mask):
        x = self.source(source) + self.places[0][: source.shape[1]]
        for layer in self.readers:
            x = layer(x, mask)
        return self.last[0](x)

    def decode(self, target, memory, own, across):
        x = self.target(target) + self.places[1][: target.shape[1]]
        for layer in self.writers:
            x = layer(x, memory, own, across)
        return self.out(self.last[1](x))


# %%
class DateTransformer(Transformer):
    """The same, as it is trained and as it writes."""

    def forward(self, source, target):
        encoder, own, across = self.parts.transformer_masks(source, target[:, :-1], PAD)
        return self.decode(target[:, :-1], self.encode(source, encoder), own, across)

    @torch.no_grad()
    def write(self, source, max_length):
        start = torch.full((len(source), 1), START)
        mask = self.parts.transformer_masks(source, start, PAD)[0]
        memory = self.encode(source, mask)

        def next_scores(new, past):
            tokens = new if past is None else torch.cat([past, new], dim=1)
            _, own, across = self.parts.transformer_masks(source, tokens, PAD)
            return self.decode(tokens, memory, own, across), tokens

        tokens = self.parts.greedy_decode(next_scores, start, max_length)
        return Written(tokens, self.writers[-1].cross.weights().mean(dim=1))


# %% [markdown]
r"""
In training the decoder is given the right tokens before each position, so all positions are learnt at once (*teacher forcing*). In writing it is given its own: from what is written so far come the logarithms of the next token's probabilities.
"""


# %%
def next_scores(model, source):
    """Return what gives each prefix the log-probabilities of its next token, for one source."""
    with torch.no_grad():
        memory = model.encode(source, (source != PAD)[:, None, None, :])

    @torch.no_grad()
    def step(prefixes):
        _, own, across = models.transformer_masks(source.expand(len(prefixes), -1), prefixes, PAD)
        spread = memory.expand(len(prefixes), -1, -1)
        return model.decode(prefixes, spread, own, across)[:, -1].log_softmax(dim=-1)

    return step


# %% [markdown]
r"""
The package has the same model, as `models.Transformer`, with the parameters of torch's layers. **Predict.** Given the same weights, how far apart are the scores of the two?
"""


# %%
def copy_layer(own, other):
    """Give a layer of this page the weights of one of the package."""
    pairs = [(own.attention, other.self_attn)]
    if hasattr(own, "cross"):
        pairs.append((own.cross, other.multihead_attn))
    for ours, theirs in pairs:
        weights, biases = theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)
        for part, weight, bias in zip((ours.q, ours.k, ours.v), weights, biases, strict=True):
            part.weight.data, part.bias.data = weight.detach(), bias.detach()
        ours.o.load_state_dict(theirs.out_proj.state_dict())
    own.feed_forward.up.load_state_dict(other.linear1.state_dict())
    own.feed_forward.down.load_state_dict(other.linear2.state_dict())


# %%
course = SimpleNamespace(**vars(attention) | vars(models), sinusoidal_encoding=sinusoidal_encoding)
torch.manual_seed(0)
theirs = models.Transformer(20, 14, d_model=64, num_heads=4, num_layers=(2, 2)).double()
ours = DateTransformer(course, 20, 14, layers=2).double()
stacks = (ours.readers, theirs.encoder["layers"]), (ours.writers, theirs.decoder["layers"])
for stack in stacks:
    for own, other in zip(*stack, strict=True):
        copy_layer(own, other)
tables = theirs.source_positions.table, theirs.target_positions.table
ours.places = nn.ParameterList([table.weight for table in tables])
ours.source, ours.target, ours.out = theirs.source_token, theirs.target_token, theirs.out

# %%
source, target = (torch.randint(3, 14, (3, n), generator=generator) for n in (9, 6))
source[0, 6:], target[1, 4:] = PAD, PAD
with torch.no_grad():
    away = (ours(source, target) - theirs(source, target)).abs().max()
print(f"scores apart by less than 1e-13: {away < 1e-13}")
for name, both in (("this page", ours), ("the package", theirs)):
    print(f"{name:11} {sum(part.numel() for part in both.parameters()):,} parameters")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Not at all, to rounding. The package's layers are in turn compared with those of PyTorch, BERT, GPT-2, T5 and Llama, with copied weights: the page *Tested against whom* says how closely.

</details>

**Initialisation.** The model of text E multiplies its embeddings by $\sqrt d$ and adds sines. Its embeddings are `nn.Embedding(10000, 512)`. **Predict.** How large are tokens and positions, compared with each other? From what size would the factor bring tokens to 1?
"""

# %% guess={"name": "11.start", "kind": "number", "asks": "Embeddings {d} wide start with spread 1 and are multiplied by the root of {d}, and sines are added: how many times as large as the positions are the tokens?", "low": 0.01, "high": 1000, "log": true, "unit": "times", "reads": "torch's start, 1 {_} ratio {}", "varied": [{"d": 512}, {"d": 64}, {"d": 4096}], "becomes": "sqrt(2 * d)"}
guess("11.start")

# %%
torch.manual_seed(0)
table = nn.Embedding(10_000, 512).weight.detach()
size = sinusoidal_encoding(50, 512).square().mean().sqrt()
for name, start in (("torch's start, 1", table), ("1/√d", table / 512**0.5)):
    scaled = start * 512**0.5
    print(f"{name:17} times √d {scaled.std():5.2f}, positions {size:.2f}", end="")
    print(f", ratio {scaled.std() / size:4.1f}", end="   ")
    scores = F.layer_norm(scaled[:64], (512,)) @ start.T
    print(f"tied scores: spread {scores.std():4.1f}")
linear = nn.Linear(512, 2048).weight
print(f"Xavier {(2 / (512 + 2048)) ** 0.5:.4f}, nn.Linear's own start {linear.std():.4f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

32 to 1<!-- shown: 32.0 -->: at the start the model hardly hears the order. The factor $\sqrt d$ belongs to embeddings that start at $1/\sqrt d$; then tokens have size 1. (Vaswani et al. print the factor and no initialisation; $1/\sqrt d$ is in the code that they published, tensor2tensor.) They start so small because the same table also makes the scores (**weight tying**): with a table of size 1 the first scores have a spread of more than 20, a confident guess of nothing. Copying the factor without the initialisation is a mistake.

Xavier's start (Glorot and Bengio, 2010) balances sizes forward and backward; torch's own `nn.Linear` starts smaller.

</details>
"""

# %% [markdown]
r"""
**Find what is missing.** Text E calls this class `Transformer`: embeddings times $\sqrt d$, sines, six post-norm blocks with GELU, a last LayerNorm. It returns states of width 512, and the weights. What does it lack to be a language model, and to match the picture of an encoder and a decoder that is printed above it?

**Predict** its size, at 10,000 tokens and $d_{ff} = 2048$.
"""

# %% guess={"name": "11.size", "kind": "number", "asks": "Six blocks of width 512, widened to 2048 inside, and embeddings of 10,000 tokens: how many parameters do they have together?", "low": 100000, "high": 1000000000, "log": true, "unit": "parameters", "reads": "in all {}"}
guess("11.size")

# %%
with torch.device("meta"):
    block = EncoderLayer(512, 8, 2048, pre_norm=False, activation="gelu")
per_block = sum(part.numel() for part in block.parameters())
print(f"6 blocks of {per_block:,}, embeddings {10_000 * 512:,}, last norm {2 * 512:,}")
print(f"in all {6 * per_block + 10_000 * 512 + 2 * 512:,}")
print(f"a head of its own would add {10_000 * 512 + 10_000:,}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

24,035,328 parameters<!-- shown: 24,035,328 -->, and no head: states come out, not scores of tokens. Its mask is `None` unless the caller makes one, so every position sees every other. Its positions are added along the batch, as chapter 07 found. And it is one stack: an encoder, printed under a picture of an encoder and a decoder. The blocks are right, and the whole cannot write a word.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 8. Dates, once more

The task of chapter 02: a date as people of 32 locales write it, to YYYY-MM-DD. There a GRU with additive attention read one character after another. Here one layer reads and one writes, 64 wide with 4 heads, under that chapter's loss and schedule. (The learning rate was chosen on dates that are not tested here.)

First the promise of section 5: text B's decoder, in this page's model. Its second attention reads the decoder's own stream, without a mask. It is trained beside the right one: same start, same dates, 300 steps each.

**Predict.** Which of the two has the smaller loss, and how much smaller? Which writes more of 500 unseen dates without a mistake?
"""

# %%
learnt = data.sample_dates(20_000, torch.Generator().manual_seed(0))
tokens = data.DateTokens.of(learnt)
training = tokens.pairs(learnt)
tested = data.sample_dates(500, torch.Generator().manual_seed(1), held_out=True)
test = tokens.pairs(tested)
alphabets = len(tokens.source), len(tokens.target)


def second_of_b(x, memory, self_attend, cross_attend, *others):
    """A decoder's layer whose second attention reads what asks, as text B's does."""
    return models.decoder_layer(x, memory, self_attend, lambda x, _: cross_attend(x, x), *others)


def masks_of_b(source, target, pad_id):
    """The masks that go with it: the third one hides nothing."""
    encoder, own, _ = models.transformer_masks(source, target, pad_id)
    return encoder, own, torch.ones_like(own)


# %% guess={"name": "11.leak", "kind": "number", "asks": "After 100 steps a decoder that reads the date has a loss of about 0.7 nats per character: what is that of text B's decoder, which reads its own stream instead, without a mask?", "low": 0.0001, "high": 10, "log": true, "unit": "nats", "reads": "loss after 100, 200, 300: {}"}
guess("11.leak")

# %% tags=["nbval-ignore-output"] reason="training differs in the last digits between machines"
text_b = {"decoder_layer": second_of_b, "transformer_masks": masks_of_b}
for name, wiring in (("text B's", text_b), ("right", {})):
    torch.manual_seed(0)
    model = DateTransformer(SimpleNamespace(**vars(course) | wiring), *alphabets)
    for table in model.places:
        nn.init.normal_(table)
    how = {"steps": 300, "learning_rate": 6e-3, "progress": partial(bar, desc=name)}
    losses = models.train_seq2seq(model, training, seed=0, **how)
    written = models.write_all(model, test)
    exact = measure.exact_match(written.tokens, test.target[:, 1:], PAD)
    print("loss after 100, 200, 300:", *(f"{loss:.3f}" for loss in losses[99::100]), end="  ")
    print(f"exact {exact:.3f}, writes {tokens.target.decode(written.tokens[0])}")

# %%
print("recorded    seed  loss after 100, 200, 300   exact  first date")
for run in more_steps["runs"]:
    if run["what"] == "leak":
        losses = "  ".join(f"{loss:.3f}" for loss in run["losses"])
        print(f"{run['decoder']:11} {run['seed']:4}  {losses:25} {run['exact_match']:6.3f}", end="")
        print(f"  {run['writes']}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Text B's: 0.001 after 100 steps<!-- shown: 0.001 -->, where the right one still has 0.51 to 0.77<!-- shown: 0.509 0.770 -->. Its second attention looks at the next token and copies it; the date is never read. When it writes, there is no next token, and not one of 500 dates is right, with either seed; the right decoder has 0.44 and 0.54 of them<!-- shown: 0.442 0.542 -->.

The better loss is the broken model's. So ask section 5's two questions before you train; the loss will not ask them.

</details>
"""

# %% [markdown]
r"""
**Predict.** Now longer. After 1000 steps the GRU of chapter 02 gets more than 99 of 100 dates exactly right. Will the Transformer, with twice the parameters, be better after as many steps? And after 3000?
"""

# %% guess={"name": "11.longer", "kind": "order", "asks": "Which of these writes most of 2,000 unseen dates without a mistake, and in which order do the others follow?", "options": {"Transformer, 1 + 1 layers, 1000 steps": {"record": "chapter_11_dates", "where": {"model": "1 + 1", "positions": 1.0}, "value": "exact_match"}, "Transformer, 2 + 2 layers, 1000 steps": {"record": "chapter_11_dates", "where": {"model": "2 + 2", "positions": 1.0}, "value": "exact_match"}, "Transformer, 1 + 1 layers, 3000 steps": {"record": "chapter_11_steps", "where": {"model": "1 + 1"}, "value": "exact_match"}, "GRU with attention, 1000 steps": {"record": "chapter_11_steps", "where": {"model": "GRU"}, "value": "exact_match"}}, "take": "descending"}
guess("11.longer")

# %%
gru = [run for run in more_steps["runs"] if run.get("model") == "GRU"]
older = measure.read_record("chapter_02_dates")["runs"]
(flops,) = {
    run["flops_forward"] for run in older if (run["context"], run["width"]) == ("additive", 64)
}


def recorded(name, what, spread=1.0):
    """Return a recorded quantity of a model, one number a seed."""
    runs = [run for run in record["runs"] if run["positions"] == spread]
    return [run[what] for run in runs if run["model"] == name]


def line(name, steps, parameters, flops, right):
    right = "  ".join(f"{share:.4f}" for share in right)
    print(f"{name:13}{steps:6}{parameters:12,}{flops / 1e6:7.0f}   {right}")


print("recorded      steps  parameters  Mflop   exact match of 2,000, seed by seed")
line("GRU, additive", 1000, gru[0]["parameters"], flops, [run["exact_match"] for run in gru])
for name in ("1 + 1", "2 + 2"):
    size, work = (recorded(name, what)[0] for what in ("parameters", "flops_forward"))
    line(f"{name} layers", 1000, size, work, recorded(name, "exact_match"))
long = [run for run in more_steps["runs"] if run.get("model") == "1 + 1"]
size, work = (recorded("1 + 1", what)[0] for what in ("parameters", "flops_forward"))
line("1 + 1 layers", long[0]["steps"], size, work, [run["exact_match"] for run in long])
print("1 + 1, 1000 steps, positions started at 0.02:", *recorded("1 + 1", "exact_match", 0.02))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Worse after as many steps: 98.4 and 97.65 of 100 dates against 99.9 and 100<!-- shown: 0.9840 0.9765 0.9990 1.0000 -->, with more parameters and more operations; a second layer hardly helps. After 3000 steps it writes 99.35 and 99.75<!-- shown: 0.9935 0.9975 -->: most of the gap was training. The GRU's built-in assumption (its *inductive bias*), to read in order and carry a state along, may be what saves it those steps; nothing here isolates it. The Transformer won for another reason: its positions do not wait for each other.

And look at the last row (one seed): the same model after 1000 steps, its positions started at 0.02 beside tokens of size 1. That one number costs more than a quarter of the dates.

</details>
"""

# %% [markdown]
r"""
**Predict.** So is it faster? A training step on 16 sequences, one thread: how does the GRU's time grow from 16 to 256 characters, and the Transformer's?
"""

# %% guess={"name": "11.step", "kind": "curve", "asks": "A training step of the GRU takes 38 ms at 16 characters: how many does one of the Transformer with one layer on each side take, at these lengths?", "low": 1, "high": 10000, "log": true, "unit": "ms", "x": [16, 64, 256], "across": "characters read and written", "reads": {"record": "chapter_11_dates", "rows": "steps", "where": {"model": "1 + 1"}, "value": "milliseconds", "by": "length"}}
guess("11.step")

# %% mystnb={"image": {"alt": "Milliseconds of a training step against length, both axes logarithmic. The line of the GRU with additive attention lies highest and rises most steeply; those of the two Transformers lie below it, the smaller model lowest."}}
lengths = sorted({row["length"] for row in record["steps"]})
axes = plotting.new_figure(
    "A training step, by length", "characters read and written", "ms per step"
)
times = {}
for name, colour in {"GRU, additive": "orange", "2 + 2": "green", "1 + 1": "blue"}.items():
    times[name] = [row["milliseconds"] for row in record["steps"] if row["model"] == name]
    label = name if name.startswith("GRU") else f"{name} layers"
    plotting.line(axes, lengths, times[name], label, colour, (280, times[name][-1]), "o-")
axes.set(yscale="log", xlim=(13, 1100))
plotting.power_axis(axes, lengths)
draw_guess(axes, "11.step")
for name in ("1 + 1", "2 + 2"):
    ratios = (a / b for a, b in zip(times["GRU, additive"], times[name], strict=True))
    ratios = "  ".join(f"{ratio:.1f}" for ratio in ratios)
    print(f"GRU's time over that of {name}, at {lengths}: {ratios}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The GRU makes a step for each character, a small product that cannot begin before the last has ended; the Transformer makes the same few large products at any length. So even on one thread its training step is faster: with one layer each, 2.1 times at 16 characters and 8.1 times at 256<!-- shown: 2.1 8.1 -->; with two, 1.2 and 4.2<!-- shown: 1.2 4.2 -->. The score counts as well: an additive one takes a tanh of 64 numbers for each pair of characters, which is a large part of the GRU's time at 256. That positions need not wait, and not accuracy on dates, is what 2017 was about.

</details>
"""

# %% [markdown]
r"""
**Predict.** Chapter 02's GRU looked inside the boxed field. Here are its maps after 1300 steps, and those of the Transformer after 3000, its four heads averaged. Will they be as crisp?
"""

# %% mystnb={"image": {"alt": "Six maps of weights, from dark for 0 to yellow for 1. Three dates; on the left what chapter 02's GRU looked at, on the right the Transformer. Rows are the characters written, columns those read; boxes mark the field that belongs to year, month and day. Both look mostly inside the boxes."}}
pictures = measure.read_record("chapter_02_alignments")
(additive,) = (run["written"] for run in pictures["runs"] if run["context"] == "additive")
looked = {row["locale"]: row["percent"] for row in more_steps["pictures"]}
locales = [source["locale"] for source in pictures["sources"]]
figure, panels = plt.subplots(3, 2, figsize=(plotting.WIDTH, 7.4))
plotting.headline(
    figure, "Who looks where: GRU (left), Transformer (right);\nboxes: year, month and day"
)
for row, name in enumerate(("en_US", "pl_PL", "zh_CN")):
    source = pictures["sources"][locales.index(name)]
    signs = [sign.replace(" ", "␣") for sign in source["text"]]
    both = additive[locales.index(name)]["percent"], looked[name]
    for axes, percent in zip(panels[row], both, strict=True):
        weights = torch.tensor(percent)[:10] / 100
        weight_map(axes, weights, rows=list(source["iso"]), columns=signs, decimals=None)
        axes.tick_params(axis="x", labelrotation=0)
        axes.set_aspect("auto")
        axes.set(xlabel="read", ylabel="written")
        for part, (top, bottom) in {"year": (0, 4), "month": (5, 7), "day": (8, 10)}.items():
            left, right = source["spans"][part]
            box = Rectangle((left, top), right - left, bottom - top, fill=False, clip_on=False)
            box.set(edgecolor=plotting.COLOURS["orange"], linewidth=2)
            axes.add_patch(box)
_ = figure.colorbar(
    panels[0, 0].collections[0], ax=panels, location="bottom", shrink=0.6, aspect=30, label="weight"
)

# %%
print("mass on the right field, seed by seed")
print("GRU, additive, 1000 steps", [run["field_mass"] for run in gru])
for name in ("1 + 1", "2 + 2"):
    print(f"{name} layers, 1000 steps ", recorded(name, "field_mass"))
print("1 + 1 layers, 3000 steps ", [run["field_mass"] for run in long])

# %% [markdown]
r"""
<details><summary>Answer</summary>

Less crisp, and mostly right: the right field gets 75 to 81% of the weight after 1000 steps and 82 to 86% after 3000<!-- shown: 0.7549 0.8064 0.821 0.8634 -->; the GRU's has about 94%<!-- shown: 0.947 0.9393 -->. Outside of the boxes lies what no field needs: where the GRU writes the month's "0" of the Chinese date, which is not in the source, it looks at the "/". The memory of a reading layer already knows what is next to a character, and four heads may share the work or look elsewhere; their average is what you see. It is a weaker sign than the GRU's alignment, which was one look and the only one. Chapter 13 asks what such maps are worth.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 9. One stack, three wirings: BERT, GPT, prefix

So far two stacks, joined by cross-attention: this is T5's wiring too. Put source and target into *one* stream, and the mask alone decides which model it is:

- **BERT** (October 2018): nothing hidden but padding. All ten characters of the date are mask tokens in the input, and are predicted *at once*.
- **GPT** (June 2018): each position sees itself and what came before, the source too.
- **prefix**: the source is seen whole, the target left to right. T5's paper compares it.

**Predict.** Same layers, same parameters, same 1000 steps: which writes dates best? What can BERT's way not do?
"""

# %%
source = torch.tensor([[5, 6, 7, PAD]])
for kind in ("bert", "gpt", "prefix"):
    mask = models.stream_mask(source, 3, kind, PAD)[0, 0]
    print(f"{kind}: a row for each position that asks; ■ it sees, · it does not")
    print("\n".join("  " + " ".join("·■"[seen] for seen in row) for row in mask.int().tolist()))

# %%
prefix = models.OneStream(*alphabets, "prefix", d_model=64, num_heads=4)
logits = prefix(test.source[:2], test.target[:2])
print(
    f"{sum(one.numel() for one in prefix.parameters()):,} parameters; logits {tuple(logits.shape)}"
)

# %% guess={"name": "11.wiring", "kind": "order", "asks": "One stack, wired in three ways and trained alike: which writes most dates without a mistake, and in which order do the others follow?", "options": {"BERT": {"record": "chapter_11_dates", "where": {"model": "bert", "positions": 1.0}, "value": "exact_match"}, "GPT": {"record": "chapter_11_dates", "where": {"model": "gpt", "positions": 1.0}, "value": "exact_match"}, "prefix": {"record": "chapter_11_dates", "where": {"model": "prefix", "positions": 1.0}, "value": "exact_match"}}, "take": "descending"}
guess("11.wiring")

# %%
print(f"recorded, {record['settings']['steps']} steps, seed by seed")
for name in ("bert", "gpt", "prefix", "2 + 2"):
    size, flops = recorded(name, "parameters")[0], recorded(name, "flops_forward")[0]
    print(f"{name:7} {size:8,} parameters {flops / 1e6:5.0f} Mflop  ", end="")
    print("exact", *recorded(name, "exact_match"), " digits", *recorded(name, "token_accuracy"))

# %% [markdown]
r"""
<details><summary>Answer</summary>

GPT, with 0.9675 and 0.977 of the dates<!-- shown: 0.9675 0.977 -->; the prefix model has 0.9425 and 0.914<!-- shown: 0.9425 0.914 -->, BERT 0.892 and 0.866<!-- shown: 0.892 0.866 -->. When one character is written after another, each depends on what was decided before it. BERT's ten places decide *at once*, each for itself: where two answers are possible, it can mix them (not counted here). That is a price of seeing both sides, and a reason why BERT is used to understand texts.

Two seeds at one learning rate are no ranking of families. Encoder and decoder are ahead of all three, with twice the parameters. On long texts every position of a GPT is a lesson, and of a prefix model only the target's: one reason why today's large models are GPTs.

</details>
"""

# %% [markdown]
r"""
| family | wiring | made for | also |
|---|---|---|---|
| BERT, 2018 | encoder alone | classifying, tagging, retrieving | post-norm, GELU, learned positions |
| GPT, 2018; GPT-2, 2019 | decoder alone, no cross-attention | writing | from GPT-2 on pre-norm |
| T5, 2019; CodeT5, 2021 | encoder and decoder | translating, summarising, code from text | RMSNorm, no $1/\sqrt{d_k}$, relative positions |

A sequence that attends to itself is older than 2017: *intra-attention* appeared in 2016 (Cheng et al.; Parikh et al.), and Vaswani et al. cite both. What was new was a model with nothing else.

Cross-attention is for two sequences: to align them (translation), or to let one condition the other (captions from images, images from text). Retrieval-augmented generation is often listed too, but mostly the documents are put into the prompt and read by *self*-attention.
"""

# %% [markdown] tags=["further"]
r"""
## 10. Two newer parts: RMSNorm and a gate

Is the mean worth subtracting? RMSNorm (Zhang and Sennrich, 2019) leaves it out, and the bias with it.
"""

# %% [markdown]
r"""
### Exercise: `rms_norm`

*Difficulty · importance · minutes*

Write `rms_norm(x, gain, eps=1e-6) -> out`.

- `x` is `(..., d)`, `gain` `(d,)`, of the same dtype: $x / \sqrt{\mathrm{mean}(x^2) + \varepsilon} \cdot \text{gain}$. No mean is subtracted.
- float16 and bfloat16 are computed in float32 and rounded at the end; or, as in Llama, before the product with `gain`.
- A row of zeros gives zeros. torch's own `rms_norm` is recognised and not accepted.
"""


# %% exercise="rms_norm"
def rms_norm(x, gain, eps=1e-6):
    """Divide each row by the root of its mean square, then stretch each feature."""
    ### BEGIN SOLUTION: Widen 16-bit numbers before squaring, and go back at the very end.
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    size = torch.sqrt(wide.square().mean(dim=-1, keepdim=True) + eps)
    return (wide / size * gain).to(x.dtype)
    ### END SOLUTION


# %%
check("rms_norm", rms_norm)
# hint("rms_norm")

# %% [markdown]
r"""
**Predict.** A row of 400s in float16, squared there: what comes out of the norm? And how different are RMSNorm and LayerNorm on a stream whose mean is 0, and on one whose mean is as large as its spread?
"""

# %%
loud = 400 * torch.ones(4, dtype=torch.float16)
print("squares in float16:", loud.square().tolist())
print("norm without float32:", (loud * torch.rsqrt(loud.square().mean() + 1e-6)).tolist())
print("norm with it:        ", models.rms_norm(loud, torch.ones_like(loud)).tolist())
row, one = torch.randn(1000, 64, generator=generator), torch.ones(64)
for middle in (0.0, 1.0):
    x = row - row.mean(-1, keepdim=True) + middle
    both = models.rms_norm(x, one), models.layer_norm(x, one, torch.zeros(64))
    print(f"mean {middle:.0f}: the two differ by at most {(both[0] - both[1]).abs().max():.1e}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The squares, 160,000, are beyond float16's 65,504 and become infinite; a number divided by infinity is 0, and the row is *lost without an error*. Llama's code squares in float32 for this reason.

On rows of mean 0 the two are equal, except for their $\varepsilon$. Elsewhere they differ, and a model trained with one cannot run with the other.

</details>

**The gate.** SwiGLU (Shazeer, 2020) makes two hidden vectors, and lets one decide how much of the other passes. Three matrices, so $d_{ff}$ is cut to $\tfrac23$ of $4d$ for equal parameters.
"""

# %% [markdown]
r"""
### Exercise: `gated_feed_forward`

*Difficulty · importance · minutes*

Write `gated_feed_forward(x, W_gate, W_up, W_down) -> out`.

- `x` is `(..., d_model)`; `W_gate` and `W_up` are `(d_model, d_ff)`, `W_down` is `(d_ff, d_model)`; no biases.
- $(\mathrm{silu}(xW_{gate}) \circ xW_{up})\,W_{down}$, with $\mathrm{silu}(z) = z\,\sigma(z)$ and the sigmoid $\sigma(z) = 1 / (1 + e^{-z})$.
- In float32 and at $|z| = 100$ both the output and its gradient are finite.
"""


# %% exercise="gated_feed_forward"
def gated_feed_forward(x, W_gate, W_up, W_down):
    """Widen twice, let one half gate the other, and bring it back."""
    ### BEGIN SOLUTION: The activation is on the gate alone.
    gate = x @ W_gate
    return (gate * torch.sigmoid(gate) * (x @ W_up)) @ W_down
    ### END SOLUTION


# %%
check("gated_feed_forward", gated_feed_forward)
# hint("gated_feed_forward")

# %% [markdown]
r"""
**Predict.** At $d = 512$: how wide must the gated layer be to have as many parameters as the plain one with $d_{ff} = 2048$? Which of the two takes more operations?
"""

# %%
d, d_ff = 512, 2048
gated = round(2 * d_ff / 3)
x = torch.empty(16, d, device="meta")
matrices = [torch.empty(shape, device="meta") for shape in ((d, gated), (d, gated), (gated, d))]
plain = [torch.empty(s, device="meta") for s in ((d, d_ff), (d_ff,), (d_ff, d), (d,))]
for name, fn, given in (
    ("plain", models.feed_forward, plain), ("gated", models.gated_feed_forward, matrices),
):  # fmt: skip
    print(f"{name}: {sum(one.numel() for one in given):,} parameters", end=", ")
    print(f"{measure.count_flops(fn, x, *given):,} flops in products")

# %% [markdown]
r"""
<details><summary>Answer</summary>

1365 wide: a width that nobody would choose, so Llama rounds up, to 11008 instead of 10923 at $d = 4096$. Operations follow parameters, so they are equal as well. That gates are *better* is a finding of Shazeer's tables, at equal cost. His paper offers no explanation, and attributes it to "divine benevolence".

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 11. Searching: greedy and beam

Greedy writing takes the likeliest token each time. The likeliest *text* may begin with another one. A **beam** keeps a few beginnings alive.

By hand: after *start*, the token *a* has probability 0.6 and *b* 0.4. After *a*, two tokens have 0.5 each; after *b*, one has 0.9. Greedy goes to *a* and ends with 0.30; the best text begins with *b*: 0.36.
"""

# %% [markdown]
r"""
### Exercise: `beam_search`

*Difficulty · importance · minutes*

Write `beam_search(step, start, end, width, max_length, alpha=0.0) -> (tokens, score)`.

- `step(prefixes)` takes `(n, t)` tokens, each row beginning with `start`, and returns log-probabilities `(n, V)`.
- The beam has `width` places and begins with `[start]` alone. In a round every unfinished hypothesis is extended by every token; the largest sums fill the places that no finished one holds, but none of $-\infty$.
- What ends with `end` is finished: it keeps its place and is not extended. `step` is asked for unfinished texts only.
- After `max_length` rounds, or when none is unfinished, the largest $\text{sum}/\text{length}^\alpha$ of *all* in the beam wins. The length counts `end`, not `start`.
- Return a list of ints without `start`, and that quotient.
"""


# %% exercise="beam_search"
def beam_search(step, start, end, width, max_length, alpha=0.0):
    """Return the best text that a beam finds, and its score."""
    ### BEGIN SOLUTION: Score all extensions together, and let the finished ones keep their places.
    alive, finished = [([start], 0.0)], []
    for _ in range(max_length):
        sums = step(torch.tensor([tokens for tokens, _ in alive])).double()
        sums = sums + torch.tensor([[score] for _, score in alive], dtype=torch.float64)
        places = min(width - len(finished), sums.numel())
        best, index = sums.flatten().topk(places)
        kept = [
            ([*alive[at // sums.shape[1]][0], at % sums.shape[1]], score)
            for score, at in zip(best.tolist(), index.tolist(), strict=True)
            if score > -math.inf
        ]
        finished += [one for one in kept if one[0][-1] == end]
        alive = [one for one in kept if one[0][-1] != end]
        if not alive:
            break
    scored = [(score / (len(tokens) - 1) ** alpha, tokens) for tokens, score in finished + alive]
    score, tokens = max(scored)
    return tokens[1:], score
    ### END SOLUTION


# %%
check("beam_search", beam_search)
# hint("beam_search")

# %% [markdown]
r"""
A toy that can be searched exhaustively: four words and an end, at most four tokens, and the next token depends on the last one alone. Forty random tables.

**Predict.** How often does greedy writing find the likeliest text, and how often does a beam of 2? With $\alpha = 1$, a mean instead of a sum, which texts win?
"""


# %%
def random_step(seed):
    """Return a step over 0 = start, 1 to 4 = words, 5 = end."""
    logits = 2 * torch.randn(6, 6, generator=torch.Generator().manual_seed(seed))
    logits[:, 0] = -torch.inf
    table = logits.log_softmax(dim=-1)
    return lambda prefixes: table[prefixes[:, -1]]


def exhaustive(step, max_length, alpha):
    """Try every text: those that end, and those that are cut off."""
    middles = (m for n in range(max_length) for m in itertools.product((1, 2, 3, 4), repeat=n))
    texts = [[*middle, 5] for middle in middles]
    texts += map(list, itertools.product((1, 2, 3, 4), repeat=max_length))
    table = step(torch.arange(6)[:, None])
    return max(
        (sum(table[a, b].item() for a, b in zip([0, *t], t, strict=False)) / len(t) ** alpha, t)
        for t in texts
    )


# %% guess={"name": "11.beam", "kind": "curve", "asks": "Four words, at most four tokens, random tables: how often, in per cent, does a beam of each width find the likeliest text (by the sum)?", "low": 0, "high": 100, "unit": "%", "x": [1, 2, 4, 8], "across": "width of the beam", "reads": "{x}: {}%"}
guess("11.beam")

# %%
found = {(width, alpha): [] for alpha in (0.0, 1.0) for width in (1, 2, 4, 8)}
lengths = {0.0: [], 1.0: []}
for seed in range(40):
    step = random_step(seed)
    for alpha, kept in lengths.items():
        best, text = exhaustive(step, 4, alpha)
        kept.append(len(text))
        for width in (1, 2, 4, 8):
            score = models.beam_search(step, 0, 5, width, 4, alpha)[1]
            found[width, alpha].append(score > best - 1e-5)
for alpha, kept in lengths.items():
    shares = "  ".join(f"{width}: {mean(found[width, alpha]):.0%}" for width in (1, 2, 4, 8))
    print(f"alpha {alpha:.0f}: best text {mean(kept):.1f} tokens; found by width {shares}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Greedy writing finds 65% of the likeliest texts, a beam of 2 finds 88%<!-- shown: 65% 88% -->. What a search misses is a **search error**, and a wider beam makes fewer. With $\alpha = 1$ longer texts win: every further token lowers a sum, and may raise a mean. The beam *keeps* by sums whatever $\alpha$ is; only in the end quotients are compared.

</details>

**Predict.** Now the dates. Take those that section 8's model, after its 300 steps, writes wrongly. Does the model find the *right* answer less likely than its own (a **model error**), or did greedy writing only miss it?
"""


# %% tags=["nbval-ignore-output"] reason="which dates are wrong comes from the training above"
wrong = (written.tokens != test.target[:, 1:]).any(dim=1).nonzero().flatten()[:20].tolist()
errors = {"model": 0, "search": 0}
helped = {2: 0, 8: 0}
for i in wrong:
    source, wanted = test.source[i : i + 1], test.target[i, 1:].tolist()
    step = next_scores(model, source)
    score = models.beam_search(step, START, END, 1, 11)[1]
    told = sum(
        step(test.target[i : i + 1, : t + 1])[0, token].item() for t, token in enumerate(wanted)
    )
    errors["model" if told < score else "search"] += 1
    for width in helped:
        helped[width] += models.beam_search(step, START, END, width, 11)[0] == wanted
print(f"of {len(wrong)} wrong dates:", errors, " right with a beam of", helped)

# %% [markdown]
r"""
<details><summary>Answer</summary>

Most are model errors: the right date is *less* likely to the model than what it wrote, so no search can help. In the run that is stored here 3 of the 20 are search errors (the training differs between processors); a beam of 2 corrects all three, and one of 8 nothing more. A date leaves little to search. In translation, with many ways to say a thing, small beams do help; but an *exact* search there finds likelier and worse texts, often the empty one (Stahlberg and Byrne, 2019).

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 12. Published shapes

Text E's table of "typical values" says: 6 to 24 layers, $d_{model}$ 512 to 1024, $d_{ff} = 4\,d_{model}$, 8 to 16 heads.

**Predict.** Which of the four still hold for the models below?
"""

# %%
SHAPES = {
    "Transformer, base (2017)": (6, 512, 2048, 8), "BERT, large (2018)": (24, 1024, 4096, 16),
    "GPT-2 (2019)": (48, 1600, 6400, 25), "T5, 11B (2019)": (24, 1024, 65536, 128),
    "GPT-3 (2020)": (96, 12288, 49152, 96), "Llama 2, 70B (2023)": (80, 8192, 28672, 64),
    "Llama 3, 405B (2024)": (126, 16384, 53248, 128),
}  # fmt: skip
print(f"{'':26}layers      d    d_ff  d_ff/d  heads  d/heads")
for name, (layers, d, d_ff, heads) in SHAPES.items():
    print(f"{name:26}{layers:6}{d:7}{d_ff:8}{d_ff / d:8.2f}{heads:7}{d / heads:9.0f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

They describe 2017 to 2019. Depth is now up to 126, width up to 16,384, heads up to 128. The factor 4 holds for plain layers; gated ones have $\tfrac83$ at equal parameters, and Llama's largest have more, 3.50 and 3.25<!-- shown: 3.50 3.25 -->. T5's largest widens by a factor of 64, and its 128 heads of 128 are wider together than its stream. What has not changed is the width of a head, 64 to 128 (8 in that row of T5 is $d$ over heads, not its $d_k$).

The figures are those of the papers (Vaswani et al., 2017; Devlin et al., 2019; Radford et al., 2019; Raffel et al., 2020; Brown et al., 2020; Touvron et al., 2023; Grattafiori et al., 2024). Decoder and encoder layers are counted once for T5 and 2017, which have as many of both.

</details>
"""

# %% [markdown]
r"""
**Real weights.** No chapter needs them. If you have a folder in Hugging Face's format (`config.json` and files of safetensors), `models.from_folder("path/to/it")` reads GPT-2 or a small Llama into the course's own model, and everything in this course that takes a model accepts it. Nothing is fetched, and a setting that the course's models lack is refused, not ignored.
"""

# %% [markdown] tags=["further"]
r"""
## 13. What published texts say, once more

Right, wrong, or right under a condition?

- Text D: "Self-Attention (2017): Attention within the same sequence".
- Text A, under *Numerical Stability*: "Apply layer normalization before attention".

<details><summary>Answers</summary>

- The Transformer dates from 2017; attention of a sequence to itself dates from 2016 (section 9).
- Right as practice, and measured in section 6: without warm-up and at a high rate. It is not the only way: post-norm with warm-up trained BERT.

</details>
"""

# %% [markdown]
r"""
<details><summary>Three more, on the parts</summary>

1. Text C, of $Q$, $K$ and $V$ in self-attention: "all from same source". Right of $X$; each has a matrix of its own (chapter 04).
2. Text E's code ends with a LayerNorm after its blocks. Redundant after post-norm, needed after pre-norm (section 4).
3. Text A calls GPT causal and BERT bidirectional, gives T5 cross-attention, and names CodeT5 for code. Right (section 9).

</details>
"""

# %% [markdown]
r"""
<details><summary>Three more, on norms</summary>

4. Text E, of residuals and LayerNorm: "This helps with gradient flow in deep networks". A residual is a way around every layer; whether a norm helps depends on where it is (section 6).
5. Text E: "the order of layer normalization and residual connections, can significantly impact training dynamics". Right, and with the schedule: the order decides how much care that needs (section 6).
6. Text E says that its listing leaves out "pre-layer normalization, different activation functions". Right, but it does use GELU.

The site's page of published claims lists them all.

</details>
"""

# %% [markdown]
r"""
## Yours: a Transformer of your functions

The model of section 7 once more, with every function supplied by you: heads (chapter 05), masked weights (03, 06), waves (07), greedy writing (10), and this chapter's norms, layers, masks and beam. Wherever an exercise is not passed yet, the course's own function is used.

A small model of English dates: it reads with LayerNorm and the plain feed-forward layer, and writes with RMSNorm and the gate. It is trained from one seed, in float64, with the course's parts and then with yours.

**Predict.** How many dates will the two runs of the same seed decide differently? After 200 steps, about how many of 200 unseen dates will be right?
"""


# %%
class RootNorm(Norm):
    """RMSNorm: a gain, no mean, no bias."""

    def forward(self, x):
        return self.parts.rms_norm(x, self.gain)


class Gate(nn.Module):
    """The gated feed-forward layer, two thirds as wide."""

    def __init__(self, parts, d_model, d_ff):
        super().__init__()
        self.parts, wide = parts, 2 * d_ff // 3
        shapes = (d_model, wide), (d_model, wide), (wide, d_model)
        self.matrices = nn.ParameterList(torch.randn(s) * s[0] ** -0.5 for s in shapes)

    def forward(self, x):
        return self.parts.gated_feed_forward(x, *self.matrices)


draw = partial(data.sample_dates, locales=["en_US"])
english = draw(3840, torch.Generator().manual_seed(0))
unseen = draw(200, torch.Generator().manual_seed(1), held_out=True)
letters = data.DateTokens.of(english)
english, unseen = letters.pairs(english), letters.pairs(unseen)


# %%
def reading_dates(parts):
    """Train on English dates; return what was learnt, and the share that is written right."""
    torch.manual_seed(0)
    own = DateTransformer(parts, len(letters.source), len(letters.target), 32, 2)
    own.writers = nn.ModuleList([Writer(parts, 32, 2, 128, RootNorm, Gate)])
    own.last[1] = RootNorm(parts, 32)
    train = partial(models.train_seq2seq, seed=0, batch=32, learning_rate=1e-2)
    losses = train(own.double(), english, steps=200)
    text = models.write_all(own, unseen)
    step = next_scores(own, unseen.source[:1])
    return {
        "last loss": losses[-1],
        "dates right": measure.exact_match(text.tokens, unseen.target[:, 1:], PAD),
        "sharpest look": text.weights.max().item(),
        "a beam of 3": parts.beam_search(step, START, END, 3, 11, 0.5)[1],
    }


# %% tags=["nbval-ignore-output"] reason="says whose parts ran and how long they took"
OWN = ("split_heads", "merge_heads", "scaled_dot_product_attention", "masked_softmax")
OWN += ("sinusoidal_encoding", "greedy_decode", "transformer_masks", "layer_norm", "feed_forward")
OWN += ("encoder_layer", "decoder_layer", "rms_norm", "gated_feed_forward", "beam_search")
parts = yours(*OWN)
note = parts.run(reading_dates)
note

# %%
for name, number in note.result.items():
    print(f"{name:14} {number:7.2f}")

# %% [markdown]
"""
<details><summary>Answer</summary>

None: the same seed, the same order of dates, and functions that agree to rounding make the same model. After 200 steps it writes a fifth of the dates right<!-- shown: 0.21 -->. What counts here is that the two runs do not diverge. A part that is almost right (a norm with $d - 1$, a mask one place off) gives another number, and the card above names it.

</details>
"""

# %% [markdown]
r"""
## Recap

1. Three attentions differ in who asks and who answers: $S\times S$, $T\times T$ causal, $T\times S$. Masks hide keys: padding everywhere, the future in the decoder alone. Depth adds paths, not reach, unless a window limits each layer.
2. A norm works on one position: centre, then square; $\varepsilon$ under the root; 16-bit numbers in float32. The feed-forward layer holds two thirds of a layer's parameters.
3. Pre-norm adds to a stream that no norm touches, and needs one at the end. Post-norm normalises each sum. Outputs tell which one a piece of code is; so does training twelve layers at a high rate without warm-up.
"""

# %% [markdown]
r"""
4. A decoder needs two tests: does a gradient reach the memory, and does the future not reach the past? A leak makes the training loss *better*, and the writing useless.
5. On dates a GRU is ahead after as many steps, and after three times as many the Transformer is nearly level. Its training step is faster, up to eight times on long texts: positions do not wait, and its scores are cheaper. One stack becomes BERT, GPT or a prefix model by its mask. A beam corrects search errors, and most errors are the model's.
"""

# %% tags=["remove-cell"]
progress(11)

# %% [markdown]
"""
**Next**: chapter 12 asks how it is trained, and counts what that costs.
"""

# %% [markdown]
"""
## Go further

- Vaswani et al. (2017): the model, sections 3 and 5.4.
- Xiong et al. (2020): where the norm stands, and why warm-up was needed.
- Ba et al. (2016): LayerNorm. Zhang and Sennrich (2019): RMSNorm.
- Hendrycks and Gimpel (2016): GELU. Shazeer (2020): gates. OLMo Team (2024), Gemma Team (2024): norms of what a part gives.
- Press and Wolf (2017): tying. Glorot and Bengio (2010): a balanced start.
- Cheng et al. (2016), Parikh et al. (2016): intra-attention.
- Radford et al. (2018, 2019), Devlin et al. (2019), Raffel et al. (2020), Wang et al. (2021): GPT, GPT-2, BERT, T5, CodeT5.
- Brown et al. (2020), Touvron et al. (2023), Grattafiori et al. (2024): the shapes of GPT-3, Llama 2 and Llama 3.
- Wu et al. (2016): beams and lengths in practice. Stahlberg and Byrne (2019): what an exact search finds.
"""

# %% [markdown]
"""
<details><summary>BibTeX</summary>

```bibtex
@inproceedings{vaswani2017attention,
  title = {Attention Is All You Need},
  author = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and Uszkoreit, Jakob and Jones, Llion and Gomez, Aidan N. and Kaiser, {\L}ukasz and Polosukhin, Illia},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2017}, url = {https://arxiv.org/abs/1706.03762}}
@inproceedings{xiong2020layer,
  title = {On Layer Normalization in the Transformer Architecture},
  author = {Xiong, Ruibin and Yang, Yunchang and He, Di and Zheng, Kai and Zheng, Shuxin and Xing, Chen and Zhang, Huishuai and Lan, Yanyan and Wang, Liwei and Liu, Tie-Yan},
  booktitle = {ICML}, year = {2020}, url = {https://arxiv.org/abs/2002.04745}}
@misc{ba2016layer,
  title = {Layer Normalization},
  author = {Ba, Jimmy Lei and Kiros, Jamie Ryan and Hinton, Geoffrey E.}, year = {2016}, url = {https://arxiv.org/abs/1607.06450}}
@inproceedings{zhang2019root,
  title = {Root Mean Square Layer Normalization},
  author = {Zhang, Biao and Sennrich, Rico},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2019}, url = {https://arxiv.org/abs/1910.07467}}
@misc{hendrycks2016gaussian,
  title = {Gaussian Error Linear Units ({GELUs})},
  author = {Hendrycks, Dan and Gimpel, Kevin}, year = {2016}, url = {https://arxiv.org/abs/1606.08415}}
@misc{shazeer2020glu,
  title = {{GLU} Variants Improve Transformer},
  author = {Shazeer, Noam}, year = {2020}, url = {https://arxiv.org/abs/2002.05202}}
@inproceedings{press2017using,
  title = {Using the Output Embedding to Improve Language Models},
  author = {Press, Ofir and Wolf, Lior},
  booktitle = {EACL}, year = {2017}, url = {https://arxiv.org/abs/1608.05859}}
@inproceedings{glorot2010understanding,
  title = {Understanding the Difficulty of Training Deep Feedforward Neural Networks},
  author = {Glorot, Xavier and Bengio, Yoshua},
  booktitle = {AISTATS}, year = {2010}, url = {https://proceedings.mlr.press/v9/glorot10a.html}}
@inproceedings{cheng2016long,
  title = {Long Short-Term Memory-Networks for Machine Reading},
  author = {Cheng, Jianpeng and Dong, Li and Lapata, Mirella},
  booktitle = {EMNLP}, year = {2016}, url = {https://arxiv.org/abs/1601.06733}}
@inproceedings{parikh2016decomposable,
  title = {A Decomposable Attention Model for Natural Language Inference},
  author = {Parikh, Ankur P. and T{\"a}ckstr{\"o}m, Oscar and Das, Dipanjan and Uszkoreit, Jakob},
  booktitle = {EMNLP}, year = {2016}, url = {https://arxiv.org/abs/1606.01933}}
@misc{radford2018improving,
  title = {Improving Language Understanding by Generative Pre-Training},
  author = {Radford, Alec and Narasimhan, Karthik and Salimans, Tim and Sutskever, Ilya}, year = {2018}, howpublished = {OpenAI}}
@inproceedings{devlin2019bert,
  title = {{BERT}: Pre-training of Deep Bidirectional Transformers for Language Understanding},
  author = {Devlin, Jacob and Chang, Ming-Wei and Lee, Kenton and Toutanova, Kristina},
  booktitle = {NAACL}, year = {2019}, url = {https://arxiv.org/abs/1810.04805}}
@article{raffel2020exploring,
  title = {Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer},
  author = {Raffel, Colin and Shazeer, Noam and Roberts, Adam and Lee, Katherine and Narang, Sharan and Matena, Michael and Zhou, Yanqi and Li, Wei and Liu, Peter J.},
  journal = {Journal of Machine Learning Research}, year = {2020}, url = {https://arxiv.org/abs/1910.10683}}
@inproceedings{wang2021codet5,
  title = {{CodeT5}: Identifier-aware Unified Pre-trained Encoder-Decoder Models for Code Understanding and Generation},
  author = {Wang, Yue and Wang, Weishi and Joty, Shafiq and Hoi, Steven C. H.},
  booktitle = {EMNLP}, year = {2021}, url = {https://arxiv.org/abs/2109.00859}}
@misc{wu2016googles,
  title = {Google's Neural Machine Translation System: Bridging the Gap between Human and Machine Translation},
  author = {Wu, Yonghui and Schuster, Mike and Chen, Zhifeng and Le, Quoc V. and Norouzi, Mohammad and others}, year = {2016}, url = {https://arxiv.org/abs/1609.08144}}
@inproceedings{stahlberg2019nmt,
  title = {On {NMT} Search Errors and Model Errors: Cat Got Your Tongue?},
  author = {Stahlberg, Felix and Byrne, Bill},
  booktitle = {EMNLP}, year = {2019}, url = {https://arxiv.org/abs/1908.10090}}
@misc{radford2019language,
  title = {Language Models are Unsupervised Multitask Learners},
  author = {Radford, Alec and Wu, Jeffrey and Child, Rewon and Luan, David and Amodei, Dario and Sutskever, Ilya}, year = {2019}, howpublished = {OpenAI}}
@inproceedings{brown2020language,
  title = {Language Models are Few-Shot Learners},
  author = {Brown, Tom and Mann, Benjamin and Ryder, Nick and others},
  booktitle = {NeurIPS}, year = {2020}, url = {https://arxiv.org/abs/2005.14165}}
@misc{touvron2023llama2,
  title = {Llama 2: Open Foundation and Fine-Tuned Chat Models},
  author = {Touvron, Hugo and Martin, Louis and Stone, Kevin and others}, year = {2023}, url = {https://arxiv.org/abs/2307.09288}}
@misc{olmo2024olmo2,
  title = {2 {OLMo} 2 Furious},
  author = {{OLMo Team}}, year = {2024}, url = {https://arxiv.org/abs/2501.00656}}
@misc{gemma2024gemma2,
  title = {Gemma 2: Improving Open Language Models at a Practical Size},
  author = {{Gemma Team}}, year = {2024}, url = {https://arxiv.org/abs/2408.00118}}
@misc{grattafiori2024llama,
  title = {The {Llama} 3 Herd of Models},
  author = {Grattafiori, Aaron and Dubey, Abhimanyu and Jauhri, Abhinav and others}, year = {2024}, url = {https://arxiv.org/abs/2407.21783}}
```

</details>
"""
