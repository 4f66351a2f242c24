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
# Run a released model on your own code

A model that others trained and released reads a text and gives each of its 49,152 tokens a probability to come next. Here are 24 places of two texts.

Play for one minute: choose a place, and move the temperature. **How many tokens hold 90 % of the probability: always a handful, or sometimes hundreds?** At the end of the chapter the model runs on functions that you wrote.
"""

# %% tags=["remove-input"]
from course_utils.measure import read_record
from course_utils.widgets import next_token_explorer

record = read_record("chapter_19_next_token")
opening = next_token_explorer(record)
opening

# %% [markdown]
r"""
*You will be able to*

1. read a file of weights down to its bytes, and undo its quantisation;
2. turn text into the model's own tokens;
3. put a released model together from parts of earlier chapters, and prove it equal to another implementation;
4. find, from a loss, which part of a port is wrong, and say which faults a loss does not show;
5. let it chat, with its template and its end token;
6. say what a token costs, and name the roof that bounds it.

*You need* chapters 06 (masks), 07 (RoPE), 08 (grouped queries), 10 (caches) and 11 (the names of the parts); 09 for the roofline.

*Core path · further*
"""

# %% [markdown]
r"""
How to read: each experiment begins with a question. Write down your guess, run the cell, then open the answer.

So far every model was one that the course had trained. This one was not: SmolLM2-135M-Instruct, released by Hugging Face in 2024 under the Apache licence (Allal et al., 2025). It has 135 million parameters, was trained on two trillion tokens, and answers questions, after a fashion. By the end of the chapter it runs on functions that you wrote.

It comes as one file of 98 MB, which `make learn` has fetched; `python -m course_utils model` fetches it otherwise. Without the file you can do all exercises, and the cells that need it show what they printed here.
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
import math
import struct
from functools import partial
from itertools import pairwise
from time import process_time
from types import SimpleNamespace

import jinja2
import torch
from torch.nn import functional as F

from course_utils import chat, data, measure, models, plotting, positions
from course_utils.attention import causal_mask, grouped_query_attention
from course_utils.data import byte_level
from course_utils.guessing import draw_guess, guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.models import generate, released, rms_norm
from course_utils.models.released.gguf import gguf_file, gguf_model
from course_utils.positions import rope_interleaved, rope_split_halves

# %% tags=["nbval-ignore-output"] reason="says whether the model's file is here"
plotting.use_style()
torch.set_num_threads(1)
with_model, path = released.with_model("chapter_19_printed")

# %% [markdown]
r"""
First, what such a model does: the picture at the top shows 24 places, and at each the probabilities of all tokens.

**Predict.** A *nucleus* is the fewest tokens that hold 90 % of the probability (chapter 10). How many tokens is that at a temperature of 0.7, of 1 and of 1.5?
"""

# %% guess={"name": "19.nucleus", "kind": "curve", "asks": "How many tokens hold 90 % of the probability at the place of 24 where they are most, at each temperature?", "low": 1, "high": 100000, "log": true, "unit": "tokens", "x": [0.7, 1, 1.5], "across": "temperature", "reads": "temperature {x}: {_} to {} tokens"}
guess("19.nucleus")

# %%
shares, temperatures = (record["settings"][name] for name in ("shares", "temperatures"))
for temperature in (0.7, 1.0, 1.5):
    row = temperatures.index(temperature)
    sizes = torch.tensor([run["sizes"][row][shares.index(0.9)] for run in record["runs"]])
    few, many = (sizes == 1).sum().item(), (sizes > 50).sum().item()
    print(f"temperature {temperature}: {sizes.min()} to {sizes.max()} tokens,", end=" ")
    print(f"one at {few} places, above 50 at {many}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

From 1 to 977 at temperature 1: one token at 2 places, more than 50 at 9<!-- shown: 977 2 9 -->. No fixed number of tokens fits them all. The temperature moves the nucleus more than top-p does: at 1.5 it holds more than 50 tokens at 23 of the 24 places<!-- shown: 23 -->.

*Draw 1000* shows what lies outside: tokens of hardly any probability each, and together a share that is drawn again and again in a long text. Section 12 has 600 places.

</details>
"""

# %% [markdown]
r"""
## 1. The file

The format is called GGUF. It begins with four letters and a version, says how many tensors and fields there are, and then holds: the *fields*, a name, a type and a value each; a *table* with the name, shape, type and place of each tensor; and the weights, one tensor after another, each of them beginning at a multiple of 32 bytes. Numbers are little-endian, and a text is its length followed by its bytes.

That is all one needs for a reader. `struct` turns bytes into numbers.
"""

# %%
CODES = dict(enumerate("BbHhIif?  Qqd"))  # the type of a number, as struct writes it


class Head:
    """Reads one value after another from the head of a file."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, code):
        (value,) = struct.unpack_from("<" + code, self.data, self.at)
        self.at += struct.calcsize("<" + code)
        return value

    def text(self):
        size = self.number("Q")
        return self.number(f"{size}s").decode()

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:  # a list: what its values are, and how many
            kind, count = self.number("I"), self.number("Q")
            return [self.value(kind) for _ in range(count)]
        return self.number(CODES[kind])


# %%
KINDS = {0: "F32", 3: "Q4_1", 8: "Q8_0"}


def read_head(data):
    """Return the fields, the table of tensors, and the byte at which the weights begin."""
    head = Head(data)
    magic, version = head.number("4s"), head.number("I")
    if magic != b"GGUF" or version not in (2, 3):
        raise ValueError(f"the file must begin with GGUF and 2 or 3, got {magic!r} and {version}")
    num_tensors, num_fields = head.number("Q"), head.number("Q")
    fields = {head.text(): head.value(head.number("I")) for _ in range(num_fields)}
    table = {}
    for _ in range(num_tensors):
        name = head.text()
        shape = [head.number("Q") for _ in range(head.number("I"))]
        table[name] = (KINDS[head.number("I")], shape[::-1], head.number("Q"))
    return fields, table, math.ceil(head.at / 32) * 32


# %% [markdown]
r"""
**Predict.** 135 million parameters. Which part holds most of them: the embedding of 49,152 tokens, the attention, or the feed-forward layers? And of the bytes?
"""

# %% guess={"name": "19.parts", "kind": "order", "asks": "Which part of this model with 135 million parameters holds most of them, which second most, which least?", "take": "descending", "options": {"the attention": "attention {_} {} {x}%", "the embedding of 49,152 tokens": "embedding {_} {} {x}%", "the feed-forward layers": "feed-forward {_} {} {x}%"}}
guess("19.parts")

# %%
file = gguf_file.read_gguf(path) if path else None  # the course's reader, which checks more


@with_model
def what_the_file_holds():
    fields, table, start = read_head(path.read_bytes())
    print(f"{len(fields)} fields, {len(table)} tensors; the weights begin at byte {start:,}")
    for name, value in list(fields.items())[9:17]:
        print(f"  {name:40} {value:.6g}")
    for name, (kind, shape, offset) in list(table.items())[:4]:
        print(f"  {name:24} {kind:5} {shape!s:14} at byte {start + offset:,}")
    same = fields == file.fields and [*table] == [*file.tensors]
    print("the course's own reader finds the same:", same)


# %%
def part_of(name):
    """Return the part of the model to which a tensor belongs."""
    if "norm" in name:
        return "norms"
    words = {"token_embd": "embedding", "ffn": "feed-forward", "attn": "attention"}
    return next(part for word, part in words.items() if word in name)


@with_model
def parameters_and_bytes():
    sums = {part: torch.zeros(3) for part in ("embedding", "feed-forward", "attention", "norms")}
    for name, tensor in file.tensors.items():
        numbers, size = math.prod(tensor.shape), tensor.num_bytes
        sums[part_of(name)] += torch.tensor([1, numbers / 1e6, size / 1e6])
    total = sum(sums.values())
    print(f"{'part':14} tensors  million  share      MB  share  bits per number")
    for part, (count, numbers, size) in [*sums.items(), ("all", total)]:
        shares = f"{numbers / total[1]:6.1%} {size:7.2f} {size / total[2]:6.1%}"
        print(f"{part:14} {count:7.0f} {numbers:8.2f} {shares} {8 * size / numbers:8.2f}")


# %% [markdown]
r"""
<details><summary>Answer</summary>

The feed-forward layers, 59.2 % of the numbers; the attention holds 19.7 %, a little less than the embedding with 21.0 %<!-- shown: 59.2% 19.7% 21.0% -->. Of the bytes the embedding takes 31.1 %<!-- shown: 31.1% -->, since it is stored in more bits. It does double duty: there is no matrix for the output, which uses the embedding's own.

30 layers, 9 query heads that share 3 key/value heads, a RoPE base of 100,000: every line is a word of an earlier chapter.

</details>
"""

# %% [markdown]
r"""
## 2. Four bits that are five

The name of the file ends in Q4_1. A weight would be a number from 0 to 15, which says little by itself. So 32 neighbours share two more numbers of 16 bits each, a scale $d$ and a minimum $m$:

$$w = d\,q + m, \qquad q \in \{0, \dots, 15\}$$

Of the 20 bytes of a block, the first four are $d$ and $m$; each of the other sixteen holds two weights.

**Predict.** How many bits does a weight take, then?
"""


# %%
@with_model
def one_block():
    block = file.tensors["blk.0.attn_q.weight"].data[0]
    d, m = struct.unpack("<2e", bytes(block[:4].tolist()))
    print(*(f"{byte:02x}" for byte in block.tolist()))
    print(f"d = {d:.4f}, m = {m:.4f}")
    for place, byte in enumerate(block[4:7].tolist()):
        low, high = byte % 16, byte // 16
        print(f"byte {byte:02x}: q{place} = {low} and q{place + 16} = {high}, ", end="")
        print(f"weights {d * low + m:+.4f} and {d * high + m:+.4f}")
    print(
        f"{8 * 20 / 32} bits per weight; the whole file {8 * path.stat().st_size / 134_515_008:.2f}"
    )


# %% [markdown]
r"""
<details><summary>Answer</summary>

$20 \cdot 8 / 32 = 5$<!-- shown: 5.0 -->: the scale and the minimum cost one bit per weight. Byte $j$ does not hold neighbours: its low half is weight $j$, its high half weight $16 + j$, so that a processor can take sixteen low halves in one step.

</details>
"""

# %% [markdown]
r"""
### Exercise: `dequantize_q4_1`

*Difficulty · importance · minutes*

Write `dequantize_q4_1(blocks) -> weights`.

- `blocks` is `(n, 20)`, bytes (`torch.uint8`); `weights` is `(n, 32)`, float32. Each row is a block of 32 weights.
- Bytes 0–1 are $d$ and bytes 2–3 are $m$, each a little-endian float16 of any sign.
- Of the 16 bytes behind them, the low four bits of byte $j$ are the level $q_j$, the high four bits $q_{16+j}$.
- $\text{weight} = d \cdot q + m$, computed in float32: in float16, products and sums would be rounded.

The rows may be part of a larger table, for instance every second one. No gradient is needed.
"""


# %% exercise="dequantize_q4_1"
def dequantize_q4_1(blocks):
    """Return the 32 weights of each block."""
    ### BEGIN SOLUTION: Reread the first four bytes as two float16, cut each other byte in two, then multiply and add.
    halves = blocks[:, :4].contiguous().view(torch.float16).float()
    d, m = halves[:, 0:1], halves[:, 1:2]
    packed = blocks[:, 4:]
    levels = torch.cat([packed & 15, packed >> 4], dim=1)
    return d * levels.float() + m
    ### END SOLUTION


# %%
check("dequantize_q4_1", dequantize_q4_1)
# hint("dequantize_q4_1")  # remove the first # for a hint; each call gives one more

# %% [markdown]
r"""
Where do $d$, $m$ and $q$ come from? From rounding. The levels lie between the least and the largest number of a block, and each weight goes to the nearest.
"""

# %% [markdown]
r"""
### Exercise: `quantize_blocks`

*Difficulty · importance · minutes*

Write `quantize_blocks(x, bits, block) -> (q, scale, low)`.

- `x` is `(..., d)`, with any number of leading axes, or none. On the last axis, each `block` neighbours share a scale; `block` divides `d`.
- `q` is `uint8`, of the shape of `x`: levels from 0 to $2^{\text{bits}} - 1$, with 1 to 8 bits.
- `scale` and `low` are `(..., d / block)`, of the dtype of `x`. `low` is the block's least number; `scale` is (largest − least) / ($2^{\text{bits}} - 1$), and **1 where all are equal**.
- `q` counts the steps above `low`, rounded to the nearest: `q * scale + low` is off by half a step at most.

Each level has a byte of its own. No gradient is needed.
"""


# %% exercise="quantize_blocks"
def quantize_blocks(x, bits, block):
    """Round numbers to a few levels between the least and the largest of their block."""
    ### BEGIN SOLUTION: Cut the last axis into blocks, find the range of each, guard a range of 0, divide and round.
    parts = x.unflatten(-1, (-1, block))
    low, high = parts.amin(-1, keepdim=True), parts.amax(-1, keepdim=True)
    scale = torch.where(high > low, (high - low) / (2**bits - 1), 1.0)
    q = ((parts - low) / scale).round().to(torch.uint8)
    return q.flatten(-2), scale.squeeze(-1), low.squeeze(-1)
    ### END SOLUTION


# %%
check("quantize_blocks", quantize_blocks)
# hint("quantize_blocks")

# %% [markdown]
r"""
Now take the file's weights, quantise the layers again with a given number of bits, and measure the loss on text.

**Predict.** The file has 4 bits. Rank 8, 6, 5, 4 and 3 bits by what they *add* to the loss.
"""

# %% guess={"name": "19.bits", "kind": "curve", "asks": "The file's weights have 4 bits and a loss of 2.75 nats: what is the loss on the same text if its layers are quantised again with so many bits?", "low": 2, "high": 6, "unit": "nats", "x": [3, 4, 5, 6, 8], "across": "bits", "reads": "minimum, {x} bits, block 32 0.{_} {}"}
guess("19.bits")

# %%
record = measure.read_record("chapter_19_bits")
plain = record["settings"]["loss of the file"]
rows = [("the file", 0.0, plain)]
for run in record["runs"]:
    parts = "" if len(run["parts"]) == 7 else f" {' '.join(run['parts'])} alone"
    name = f"{run['kind']}, {run['bits']} bits, block {run['block']}{parts}"
    rows.append((name, run["error"], run["loss"]))
print(f"{'loss on':45} error", *(f"{text:>8}" for text in plain))
for name, error, loss in rows:
    print(f"{name:43} {error:7.4f}", *(f"{one:8.3f}" for one in loss.values()))

# %% [markdown]
r"""
<details><summary>Answer</summary>

8 and 4 bits add nothing. **5 bits add more than 4**: 2.855 against 2.751<!-- shown: 2.855 2.751 -->. With 3 bits the loss is more than 1 higher on every text, and 2 bits are worse than guessing, which costs $\ln 49152 = 10.8$. Where a whole row shares one scale, four bits cost 0.8 or more. Of the parts, the values are the most sensitive for their size.

Is it the number of levels? The file's weights lie on 16 levels already: 15 equal steps. Rounding to 15 steps finds them again, and so does $255 = 17 \cdot 15$. But $31$ steps are not a multiple of 15, and nearly every level falls between two new ones.

</details>

**Predict.** If that is the reason, what happens to numbers that lie on no levels?
"""


# %%
def added_error(num_levels, bits):
    """Return what rounding adds to numbers on so many levels, as a share of their spread."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randint(num_levels, (2000, 32), generator=draw).double() / (num_levels - 1)
    x[:, 0], x[:, 1] = 0, 1  # every block uses both ends
    q, scale, low = models.quantize_blocks(x, bits, 32)
    return ((q * scale + low - x).std() / x.std()).item()


print("bits              ", *(f"{bits:8}" for bits in range(3, 9)))
print("steps / 15        ", *(f"{(2**bits - 1) / 15:8.2f}" for bits in range(3, 9)))
for name, levels in {"on 16 levels": 16, "on 14 levels": 14, "on no levels": 1_000_003}.items():
    print(f"error, {name:12}", *(f"{added_error(levels, bits):8.4f}" for bits in range(3, 9)))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Their error halves with each bit, from 4 to 5 too: 0.0610 and 0.0294<!-- shown: 0.0610 0.0294 -->. On 14 levels, 13 steps, neither 4 nor 8 bits are exact. So it is the divisor that counts.

And the table above does not say what four bits cost *this model*. Its unquantised weights are not in the file; the table says only what is added by quantising again.

</details>
"""

# %% [markdown]
r"""
## 3. Text to tokens

The model reads numbers from 0 to 49,151. Its tokenizer is a byte-pair encoding like that of chapter 12, learned on bytes: every byte is written as a visible character first (a space becomes `Ġ`), so that any text in any script has tokens. Text is cut into words, each with the space before it, and single digits; no token spans two of them. Then neighbours are merged, in the order in which the merges were learned.

**Predict.** Which takes more tokens per character: English, Python, German or Japanese?
"""

# %% guess={"name": "19.japanese", "kind": "number", "asks": "How many characters of Japanese text does one token hold, on average?", "low": 0.1, "high": 10, "log": true, "reads": "Japanese {} characters per token"}
guess("19.japanese")

# %%
SAMPLES = {
    "English": "The learner writes a function, and the checker says what is wrong with it.",
    "Python": "def mean(values):\n    return sum(values) / len(values)\n",
    "German": "Die Lernende schreibt eine Funktion; die Prüfung sagt, was daran falsch ist.",
    "Japanese": "学習者は関数を書き、検査は何が間違っているかを言います。",
    "digits": "31415926535897932384",
}
tokenizer = gguf_model.tokenizer(file) if file else None


@with_model
def text_as_tokens():
    for name, text in SAMPLES.items():
        tokens = tokenizer.encode(text)
        shown = " ".join(tokenizer.tokens[token] for token in tokens[:9])
        print(f"{name:9} {len(text) / len(tokens):4.2f} characters per token: {shown} ...")
    every = all(tokenizer.decode(tokenizer.encode(text)) == text for text in SAMPLES.values())
    print("decoded, each is the same text again:", every)


# %% [markdown]
r"""
<details><summary>Answer</summary>

Japanese: 0.54 characters per token, against 4.62 for English<!-- shown: 0.54 4.62 -->. A character of Japanese is three bytes, and most of those above are cut into two or three tokens. German pays too, with 2.62<!-- shown: 2.62 -->. The same context of 8,192 tokens holds far less of some languages than of others, and each token costs the same.

</details>
"""

# %% [markdown]
r"""
### Exercise: `merge_by_rank`

*Difficulty · importance · minutes*

Write `merge_by_rank(piece, ranks) -> list[str]`.

- `piece` is one word; at first, each character is a symbol.
- `ranks` maps pairs `(left, right)` to integers, perhaps with gaps and in any order: the lower, the earlier. Leave it unchanged.
- Of all neighbours that have a rank, merge the pair of the lowest, from left to right and without overlap: `"aaa"` becomes `["aa", "a"]`.
- Repeat until no two neighbours have a rank. `""` gives `[]`.

A merge always ranks above those that made its parts. So merging one occurrence at a time, all at once, or rule by rule gives the same.
"""


# %% exercise="merge_by_rank"
def merge_by_rank(piece, ranks):
    """Return the symbols that are left when nothing can be merged any more."""
    ### BEGIN SOLUTION: Find the known pair of the lowest rank, rebuild the list with it merged, and repeat.
    symbols = list(piece)
    while True:
        pairs = [tuple(symbols[at : at + 2]) for at in range(len(symbols) - 1)]
        known = [pair for pair in pairs if pair in ranks]
        if not known:
            return symbols
        first = min(known, key=ranks.get)
        joined, at = [], 0
        while at < len(symbols):
            size = 2 if tuple(symbols[at : at + 2]) == first else 1
            joined.append("".join(symbols[at : at + size]))
            at += size
        symbols = joined
    ### END SOLUTION


# %%
check("merge_by_rank", merge_by_rank)
# hint("merge_by_rank")

# %% [markdown]
r"""
## 4. Settings, and the faults a loss hides

Now the model, written out on functions of earlier chapters: `rms_norm` (11), `rope_interleaved` (07), `causal_mask` (06), `grouped_query_attention` (08). Every choice that a port can get wrong is an entry of `RIGHT`, so that it can be replaced.
"""

# %%
RIGHT = SimpleNamespace(
    eps=1e-5, base=100_000.0, scale=64**-0.5, start=0, factor=1.0,
    norm=rms_norm, last_norm=rms_norm, rotate=rope_interleaved, mask=causal_mask,
    attention=grouped_query_attention, feed=models.gated_feed_forward,
    share=lambda shared: shared,  # the key/value heads, each of them read by three query heads
    made=lambda name, matrix: matrix,  # what is made of a matrix of the file
)  # fmt: skip


def split(x, matrix, num_heads):
    """Project a stream to heads: (B, T, d_model) to (B, H, T, d_k)."""
    return (x @ matrix.mT).unflatten(-1, (num_heads, -1)).transpose(1, 2)


def attend(x, matrix, port, past):
    """Let the tokens of x look back; return their outputs, and all keys and values."""
    seen = past[0].shape[2] if past else 0
    places = torch.arange(seen, seen + x.shape[1]) + port.start
    query = port.rotate(split(x, matrix("attn_q"), 9), places, port.base)
    key = port.rotate(split(x, matrix("attn_k"), 3), places, port.base)
    value = split(x, matrix("attn_v"), 3)
    if past:
        key, value = torch.cat([past[0], key], dim=2), torch.cat([past[1], value], dim=2)
    mask = port.mask(x.shape[1], key.shape[2], seen)
    query = query * (port.scale * 8)  # the attention divides by √64
    heads = port.attention(query, port.share(key), port.share(value), mask)
    return heads.transpose(1, 2).flatten(2) @ matrix("attn_output").mT, (key, value)


# %%
def read_tokens(tokens, weights, port=RIGHT, past=()):
    """Return the scores of the next token at every place, and each layer's keys and values."""

    def matrix(name, layer=""):
        return port.made(name, weights[f"{layer}{name}.weight"])

    x, kept = matrix("token_embd")[tokens] * port.factor, []
    for number in range(30):
        own = partial(matrix, layer=f"blk.{number}.")
        normed = port.norm(x, own("attn_norm"), port.eps)
        out, both = attend(normed, own, port, past and past[number])
        x = x + out
        normed = port.norm(x, own("ffn_norm"), port.eps)
        x = x + port.feed(normed, *(own(f"ffn_{part}").mT for part in ("gate", "up", "down")))
        kept.append(both)
    return port.last_norm(x, matrix("output_norm"), port.eps) @ matrix("output").mT, kept


def text_loss(tokens, weights, port=RIGHT):
    """Return the mean loss of the tokens (T,) but the first, in nats."""
    with torch.no_grad():
        scores, _ = read_tokens(tokens[None], weights, port)
    return F.cross_entropy(scores[0, :-1].float(), tokens[1:]).item()


# %%
weights = {name: one.weights() for name, one in file.tensors.items()} if file else {}
weights["output.weight"] = weights.get("token_embd.weight")  # one matrix for both

# %% [markdown]
r"""
`made` is where matrices can be changed before they are used, and one change is no fault. RoPE turns pairs of features. The file's rows are ordered for *neighbouring* pairs; most code, Hugging Face's too, pairs feature $i$ with feature $i + d_k/2$ (chapter 07). Both give the same scores if the rows of the two matrices are reordered to match.
"""

# %% [markdown]
r"""
### Exercise: `to_split_halves`

*Difficulty · importance · minutes*

Write `to_split_halves(features, num_heads, dim) -> features`.

- `features` has any shape and dtype: the weight of a projection, its bias, or queries themselves.
- Axis `dim`, counted from the front or from the back, holds the features of `num_heads` heads, head after head. Each head has an even number of them.
- Within each head, change the order to 0, 2, 4, …, 1, 3, 5, …

The result has the same shape. It may be new or a view; the input stays as it is. `positions.to_split_halves` of chapter 07 does the same: here you write it yourself.
"""


# %% exercise="to_split_halves"
def to_split_halves(features, num_heads=1, dim=-1):
    """Reorder the features of each head: those at even places first, then those at odd ones."""
    ### BEGIN SOLUTION: Bring the axis to the end, cut it into heads, and put every second feature first.
    heads = features.movedim(dim, -1).unflatten(-1, (num_heads, -1))
    halves = torch.cat([heads[..., 0::2], heads[..., 1::2]], dim=-1)
    return halves.flatten(-2).movedim(-1, dim)
    ### END SOLUTION


# %%
check("to_split_halves", to_split_halves)
# hint("to_split_halves")


# %% [markdown]
r"""
Below is that change, and two more parts that a port may have by mistake.
"""


# %%
def reordered(*names):
    """Return what reorders the rows of these matrices from neighbouring pairs to halves."""
    heads = {"attn_q": 9, "attn_k": 3}
    return lambda name, w: positions.to_split_halves(w, heads[name], 0) if name in names else w


def layer_norm(x, gain, eps):
    return F.layer_norm(x, gain.shape, gain, None, eps)


def ported(changes):
    """Return the right port with some of its parts replaced."""
    return SimpleNamespace(**{**vars(RIGHT), **changes})


PORTS = {
    "as it should be": {},
    "eps 0": {"eps": 0.0},
    "eps 1e-4": {"eps": 1e-4},
    "positions from 1": {"start": 1},
    "rows reordered, RoPE in halves": {
        "made": reordered("attn_q", "attn_k"), "rotate": rope_split_halves,
    },
    "RoPE base 10,000": {"base": 10_000.0},
    "LayerNorm for RMSNorm": {"norm": layer_norm, "last_norm": layer_norm},
    "GELU for SiLU": {"feed": lambda x, gate, up, down: (F.gelu(x @ gate) * (x @ up)) @ down},
    "RoPE in halves on the file's rows": {"rotate": rope_split_halves},
    "no mask": {"mask": lambda *sizes: None},
}  # fmt: skip

# %% [markdown]
r"""
**Predict.** The right loss on 300 tokens of text is 2.75 nats per token. For each of the nine changes: is it silent (the second decimal stays), does it whisper (less than 0.3), or does it scream?
"""


# %% guess={"name": "19.no_mask", "kind": "number", "asks": "On 300 tokens of text the loss of the right port is 2.75 nats: what is it without a causal mask?", "low": 0.5, "high": 50, "log": true, "unit": "nats", "reads": "no mask {}"}
guess("19.no_mask")


# %%
@with_model
def losses_of_ports():
    tokens = tokenizer.encode(data.installed_texts()["sklearn"])[:300]
    for name, changes in PORTS.items():
        print(f"{name:34} {text_loss(tokens, weights, ported(changes)):5.2f}")


# %% [markdown]
r"""
<details><summary>Answer</summary>

Silent: another eps, and positions from 1, since RoPE sees only differences. Reordered rows under RoPE in halves are the same model. Whispers: the RoPE base of older models, 2.84, and LayerNorm, 2.81<!-- shown: 2.84 2.81 -->. Screams: GELU, and halves on rows that are in pairs.

And one fault *improves* the loss, to 2.30<!-- shown: 2.30 -->: without a mask every token sees the one that it should predict. A loss that is too good is a fault too.

</details>
"""

# %% [markdown]
r"""
LayerNorm differs from RMSNorm by one thing: it subtracts the mean of each vector, which removes the part along one direction, $(1, 1, \dots, 1)$.

**Predict.** Is that direction special? What does it cost to remove a random one out of 576?
"""


# %%
def without(direction):
    """Return RMSNorm of what is left when the part along a direction is removed."""
    unit = direction / direction.norm()
    return lambda x, gain, eps: rms_norm(x - (x @ unit)[..., None] * unit, gain, eps)


@with_model
def one_direction_removed():
    tokens = tokenizer.encode(data.installed_texts()["sklearn"])[:300]
    draws = (torch.randn(576, generator=torch.Generator().manual_seed(seed)) for seed in range(3))
    for name, direction in zip(
        ("the mean", *["random"] * 3), (torch.ones(576), *draws), strict=True
    ):
        norm = without(direction)
        loss = text_loss(tokens, weights, ported({"norm": norm, "last_norm": norm}))
        print(f"without {name:8} {loss:.2f}")


# %% [markdown]
r"""
<details><summary>Answer</summary>

Without the mean 2.81, without a random direction 3.00, 2.81 and 2.76<!-- shown: 2.81 3.00 2.76 -->. It is an ordinary direction. LayerNorm whispers because it takes away one of 576, not because the model keeps its mean at zero.

</details>

The record holds 27 ports on three texts: scikit-learn's descriptions of data, Python's help, and prose of this course, which was written after the model was trained.
"""

# %%
for run in measure.read_record("chapter_19_ports")["runs"]:
    print(f"{run['port']:36}", *(f"{loss:8.2f}" for loss in run["loss"].values()))

# %% [markdown]
r"""
<details><summary>What to see</summary>

The same changes are silent and the same scream on all three texts. The largest losses, 311 to 587, come without a last norm<!-- shown: 310.96 586.64 -->: sure and wrong, where guessing would cost $\ln 49152 = 10.8$. Arithmetic in bfloat16 moves the second decimal at most.

So a loss finds the faults that scream. It does not find an eps that is a hundred times too large, and on a short text it would pass another base for bad luck.

</details>
"""

# %% [markdown]
r"""
## 5. The whole model, equal

A loss cannot prove a port right. Another implementation can: the course's `Llama`, which has its rows in halves, PyTorch's attention and a cache of its own.

**Predict.** The largest score is about 39. By how much do two right implementations differ in float32? And by how much does an eps of 0 move the scores, which the loss does not see?
"""

# %%
scores = {}


@with_model
@torch.inference_mode()
def scores_of_the_written_out_model():
    tokens = tokenizer.encode(data.installed_texts()["sklearn"])[:300]
    scores["ours"], _ = read_tokens(tokens[None], weights)
    for name in ("eps 0", "eps 1e-4", "positions from 1"):
        other, _ = read_tokens(tokens[None], weights, ported(PORTS[name]))
        moved = (other - scores["ours"]).abs().max().item()
        print(f"{name:17} moves scores by more than 1e-3: {moved > 1e-3}")
    cached, past = read_tokens(tokens[None, :40], weights)
    for token in tokens[40:64]:
        one, past = read_tokens(token.view(1, 1), weights, past=past)
        cached = torch.cat([cached, one], dim=1)
    gap = (cached - scores["ours"][:, :64]).abs().max().item()
    print("40 tokens at once, then 24 one by one: within 2e-4 of all at once:", gap < 2e-4)


# %%
weights.clear()  # makes room for the other implementation
released_model = released.model() if path else None


@with_model
@torch.inference_mode()
def equal_to_another():
    tokens = tokenizer.encode(data.installed_texts()["sklearn"])[:300]
    ours, theirs = scores.pop("ours"), released_model.model.logits(tokens[None])
    print("scores within 2e-4:", torch.dist(ours, theirs, torch.inf).item() < 2e-4)
    same = (ours.argmax(-1) == theirs.argmax(-1)).sum().item()
    print("likeliest tokens equal, but for two at most:", same >= 298)


# %%
for run in measure.read_record("chapter_19_equal")["runs"]:
    print(f"{run['text']}: {run['same likeliest']} of {run['tokens']} likeliest tokens equal")
    for name in (name for name in run if name.endswith("to transformers")):
        print(f"   {name:39} {run[name]:.0e}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

By less than $2\cdot 10^{-4}$. A wrong eps moves them by more than $10^{-3}$: equality finds what the loss hides. It does not find positions from 1, and should not, since that model is the same function.

The record has the same against Hugging Face's `LlamaForCausalLM`. In float64 one would expect $10^{-12}$ and finds about $10^{-5}$. The reason is in *their* code, which computes angles and norms in float32 whatever the model's type. When ours does too, in the last line of each text, the two are equal to the last bit.

</details>
"""

# %% [markdown]
r"""
## 6. It speaks

A language model continues text. This one was also trained on conversations, written in one fixed form: the *chat template*. The file carries it as a small program, which `jinja2` runs.

**Predict.** "Hi" is one token. How many does the model read when you say "Hi" in a chat?
"""


# %% guess={"name": "19.hi", "kind": "number", "asks": "How many tokens reach the model if a chat begins with the message \"Hi\"?", "low": 1, "high": 200, "log": true, "unit": "tokens", "reads": "{} tokens"}
guess("19.hi")


# %%
@with_model
def the_template():
    template = jinja2.Template(file.fields["tokenizer.chat_template"])
    text = template.render(messages=[{"role": "user", "content": "Hi"}], add_generation_prompt=True)
    print(text)
    print(len(tokenizer.encode(text)), "tokens")


# %% [markdown]
r"""
<details><summary>Answer</summary>

31<!-- shown: 31 -->. A system line that nobody typed, the roles, and three marks that are tokens of their own. The last line opens the reply, so that what comes next is the assistant's.

</details>
"""

# %% [markdown]
r"""
### Exercise: `chat_prompt`

*Difficulty · importance · minutes*

Write `chat_prompt(messages, default_system, add_generation_prompt=True) -> str`: a conversation as the text that the model continues.

- `messages` is a list of dicts with the strings `"role"` and `"content"`, which are kept as they are. Each message is written `<|im_start|>role\ncontent<|im_end|>\n`, where `\n` is a line end.
- If the *first* message's role is not `"system"`, a system message with the content `default_system`, which may be empty, comes before it.
- With `add_generation_prompt`, the text ends by opening the model's reply: `<|im_start|>assistant\n`.
- Without messages there is no system message either.
- Leave the list and its dicts as they are.
"""


# %% exercise="chat_prompt"
def chat_prompt(messages, default_system, add_generation_prompt=True):
    """Return a conversation in the template of the model."""
    ### BEGIN SOLUTION: Put the default in front where it is needed; then write all messages alike.
    written = list(messages)
    if messages and messages[0]["role"] != "system":
        written.insert(0, {"role": "system", "content": default_system})
    text = ""
    for message in written:
        text += f"<|im_start|>{message['role']}\n{message['content']}<|im_end|>\n"
    if add_generation_prompt:
        text += "<|im_start|>assistant\n"
    return text
    ### END SOLUTION


# %%
check("chat_prompt", chat_prompt)
# hint("chat_prompt")

# %% [markdown]
r"""
**Predict.** Three ways to ask for the capital of Italy: as the beginning of a sentence, under the template, and under the template without its system line. Which answers are right?
"""

# %% guess={"name": "19.capitals", "kind": "choice", "asks": "In which form does the model name the most of ten capitals?", "take": "largest", "options": {"as the beginning of a sentence": "completion {} of", "under its own template": "template {} of", "under the template without its system line": "without the system {} of"}}
guess("19.capitals")

# %%
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"


def continued(text, num_tokens):
    """Return what the model writes greedily, and its least gap between the two likeliest tokens."""
    (end,) = tokenizer.encode("<|im_end|>").tolist()
    prompt = tokenizer.encode(text)[None]
    written = generate(released_model.model, prompt, num_tokens, temperature=0.0, stop=end)[0]
    written = written[: int((written == end).cumsum(0).eq(0).sum()) + 1]  # up to the end token
    scores = released_model.model.logits(torch.cat([prompt[0], written])[None])
    best, second = scores[0, -len(written) - 1 : -1].topk(2).values.T
    return tokenizer.decode(written.tolist()), (best - second).min().item()


@with_model
def three_ways_to_ask():
    asked = models.chat_prompt(
        [{"role": "user", "content": "What is the capital of Italy?"}], SYSTEM
    )
    ways = {
        "a sentence": "The capital of Italy is",
        "the template": asked,
        "no system line": asked.partition("<|im_end|>\n")[2],
        "a sentence, France": "The capital of France is",
    }
    for name, text in ways.items():
        answer, gap = continued(text, 2 if "sentence" in name else 12)
        print(f"{name:18} {answer!r}  smallest gap {gap:.1f}")


# %% [markdown]
r"""
<details><summary>Answer</summary>

Under its own template the model says "Il Coriobella, Italy."; the other two say Rome. The last gap is the smallest difference between the two likeliest tokens on the way: far above the rounding of section 5, so that another machine will write the same.

</details>
"""

# %%
record = measure.read_record("chapter_19_speech")["runs"]
for form in ("completion", "template", "without the system"):
    asked = [run for run in record if run["kind"] == "capital" and run["form"] == form]
    print(f"{form:20} {sum(run['right'] for run in asked)} of {len(asked)} capitals")
ended = [run["tokens"] == 1 for run in record if run["kind"] == "bare"]
print(f"no template: the end token comes at once in {sum(ended)} of {len(ended)} questions")

# %% [markdown]
r"""
<details><summary>What to see</summary>

8 of 10 under its own template, 7 as a sentence, and all 10 without the system line<!-- shown: 8 7 10 -->. Ten questions are few, and why this line hurts is not known here. That it can be measured in a minute is the point: a template is a setting like any other.

Asked without any template, 4 of 7 questions are answered with the end token alone<!-- shown: 4 7 -->.

</details>
"""

# %% [markdown]
r"""
## 7. What a token costs

A product of a matrix and a vector reads every number of the matrix once, and uses it for one multiplication and one addition: in float32, 2 FLOP for 4 bytes. That is far to the left of the ridge (chapter 09), so memory decides.

**Predict.** One token takes some time $t$. What do 64 tokens cost, read at once?
"""

# %%
record = measure.read_record("chapter_19_cost")
taken = {}
for run in record["runs"]:
    taken[run["kind"]] = dict(zip(run["tokens"], run["milliseconds"], strict=True))
known = record["settings"]
ridge = known["GFLOP per second"] / known["GB per second"]
speed = f"{known['GB per second']} GB/s, {known['GFLOP per second']} GFLOP/s"
print(
    f"a token: {known['bytes per token'] / 1e6:.0f} MB, {known['FLOP per token'] / 1e6:.0f} MFLOP"
)
print(f"this machine: {speed}; the ridge is at {ridge:.0f} FLOP per byte")

# %% guess={"name": "19.at_once", "kind": "curve", "asks": "How long does the model take to read so many tokens at once, on the machine of the record?", "low": 10, "high": 10000, "log": true, "unit": "ms", "x": [1, 4, 16, 64, 256, 512], "across": "tokens read at once", "reads": "{x} at once: {} ms"}
guess("19.at_once")

# %% mystnb={"image": {"alt": "Milliseconds against tokens read at once, both logarithmic: a step from one to four, level up to sixteen, then rising in proportion, always above the line of the two roofs."}}
counts, measured = list(taken["at once"]), list(taken["at once"].values())
reading = known["bytes per token"] / known["GB per second"] / 1e6
each = known["FLOP per token"] / known["GFLOP per second"] / 1e6
bounds = [max(reading, count * each) for count in counts]
axes = plotting.new_figure(
    "Read together, tokens share what is read", "tokens read at once", "milliseconds"
)
axes.set(xscale="log", yscale="log")
plotting.line(axes, counts, measured, "measured", "blue", (4, 330), "o-")
plotting.line(axes, counts, bounds, "the two roofs", "orange", (40, 70), "--")
plotting.power_axis(axes, counts)
draw_guess(axes, "19.at_once")

# %%
for count, ms, bound in zip(counts, measured, bounds, strict=True):
    own = f"{ms:7.1f} ms, {ms / count:6.2f} per token"
    print(f"{count:4} at once: {own}; the roofs allow {bound:6.1f} ms")

# %% [markdown]
r"""
<details><summary>Answer</summary>

About five times one: 433.6 ms against 82.0<!-- shown: 433.6 82.0 -->. For one token the roofs allow 41.8 ms, the time to read 538 MB; the measured time is twice that. Each further token adds arithmetic only, until arithmetic is the roof. What the roofs do not explain is the step from 1 to 4 tokens, 82 to 220 ms; it was not looked into.

So a prompt is cheap by the token, and writing is not.

</details>

**Predict.** And what does the cache save, at position 16 and at position 512?
"""

# %%
for place, ms in taken["cached"].items():
    again = taken["again"][place]
    print(
        f"position {place:3}: {ms:6.1f} ms with a cache, {again:7.1f} without: {again / ms:4.1f} times"
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

At position 16 reading all again takes 3.4 times as long, at 512 it takes 27.8 times as long<!-- shown: 3.4 27.8 -->. With a cache a token costs nearly the same everywhere: the cache of 512 tokens is small beside the weights.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 8. Other orders of merging

Merges come in the order in which they were learned. Three others look as sensible: always the longest token that the word begins with; the first pair that can be merged; the pair learned last.

**Predict.** On how many of 228 words of a text does each differ from the right one?
"""


# %%
def longest_match(word, ranks, known):
    parts = []
    while word:
        size = next(n for n in range(len(word), 0, -1) if word[:n] in known)
        parts, word = [*parts, word[:size]], word[size:]
    return parts


def merge_by(choose, word, ranks, known):
    """Merge one pair after another, the one that `choose` takes of those with a rank."""
    parts = list(word)
    while found := [(ranks[pair], at) for at, pair in enumerate(pairwise(parts)) if pair in ranks]:
        _, at = choose(found)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


ORDERS = {
    "lowest rank": partial(merge_by, min),
    "longest match": longest_match,
    "first pair": partial(merge_by, lambda found: found[0]),
    "highest rank": partial(merge_by, max),
}


# %%
@with_model
def merged_in_other_orders():
    merges = (merge.split(" ") for merge in file.fields["tokenizer.ggml.merges"])
    ranks = {tuple(pair): rank for rank, pair in enumerate(merges)}
    text = data.installed_texts()["sklearn"]
    words = sorted({f"Ġ{word}" for word in text.split() if word.isalpha() and word.isascii()})
    right = {word: data.merge_by_rank(word, ranks) for word in words}
    for name, order in ORDERS.items():
        other = {word: order(word, ranks, tokenizer.tokens) for word in words}
        wrong = [word for word in words if other[word] != right[word]]
        example = f": {wrong[-1]} is {' '.join(other[wrong[-1]])}" if wrong else ""
        count = sum(map(len, other.values()))
        print(f"{name:13} {len(wrong):3} of {len(words)} differ, {count} tokens{example}")


# %% [markdown]
r"""
<details><summary>Answer</summary>

The longest match differs on 8 words, and needs as few tokens in all; the other two differ on 190 and 225<!-- shown: 8 190 225 -->, with two and a half to four times as many tokens. A test on a few common words would pass the longest match. A wrong order raises no error. What does it cost the model?

</details>
"""

# %% [markdown]
r"""
Losses per token cannot be compared here, since the tokens differ. Losses per *character* can.

**Predict.** By what factor is the same text less likely, per character, with the first pair merged first?
"""


# %%
@with_model
def losses_of_merge_orders():
    merges = (merge.split(" ") for merge in file.fields["tokenizer.ggml.merges"])
    ranks = {tuple(pair): rank for rank, pair in enumerate(merges)}
    number = {token: place for place, token in enumerate(tokenizer.tokens)}
    text = data.installed_texts()["sklearn"][:600]
    for name, order in ORDERS.items():
        tokens = []
        for piece in byte_level.pieces(text):
            word = "".join(byte_level.BYTE_CHARACTERS[byte] for byte in piece.encode())
            tokens += [number[part] for part in order(word, ranks, number)]
        tokens = torch.tensor(tokens)
        loss = F.cross_entropy(
            released_model.model.logits(tokens[None])[0, :-1], tokens[1:], reduction="sum"
        ).item()
        print(f"{name:13} {len(tokens):4} tokens, {loss / len(text):.2f} nats per character")


# %% [markdown]
r"""
<details><summary>Answer</summary>

By 3.4 in the logarithm: 2.52 nats per character in place of 0.73<!-- shown: 2.52 0.73 -->, not far from 3.04, the highest rank, or from $\ln 20 = 3.0$, a blind choice among twenty letters. Even the longest match, with as many tokens as the right order, costs a little: 0.76<!-- shown: 3.04 0.76 -->. So a tokenizer is tested against the original, token by token.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 9. A character in pieces

A token is a few bytes, and a character may be cut between two tokens. Whoever shows a text while it is written has to wait for the last byte.

**Predict.** 日本語 is three characters of three bytes each. In how many tokens does it come, and what does each of them show if it is decoded alone?
"""


# %%
@with_model
def characters_cut_by_tokens():
    tokens = tokenizer.encode("日本語 ist schön 🙂").tolist()
    pieces = [tokenizer.bytes_of(token) for token in tokens]
    print("alone:   ", *(piece.decode(errors="replace") for piece in pieces), sep="|")
    print("streamed:", *models.stream_text(pieces), sep="|")


# %% [markdown]
r"""
<details><summary>Answer</summary>

In six, of which five show a replacement sign when they are decoded alone; only 本 is a token of its own. Streamed, each character appears with the token that ends it; until then nothing is shown.

</details>
"""

# %% [markdown]
r"""
### Exercise: `stream_text`

*Difficulty · importance · minutes*

A token may hold only part of a character: `日` is three bytes in UTF-8. Write `stream_text(pieces) -> list[str]`: what can be shown as each piece of a text arrives.

- `pieces` is a list of `bytes`; it may be empty, and so may any piece. Together they are UTF-8, but the last character may be cut off.
- Return one string per piece. A character, perhaps spread over several pieces, is shown with the one that holds its last byte: never earlier, never in part.
- What is incomplete at the end becomes one `"\ufffd"`, last in the last string. The text itself may contain that character.
- Leave `pieces` as it is.
"""


# %% exercise="stream_text"
def stream_text(pieces):
    """Return the characters that each piece completes."""
    ### BEGIN SOLUTION: Carry incomplete bytes along; decode what is complete, and see how many bytes that was.
    shown, waiting = [], b""
    for piece in pieces:
        waiting += piece
        text = waiting.decode("utf-8", "ignore")  # only its end can be incomplete
        waiting = waiting[len(text.encode("utf-8")) :]
        shown.append(text)
    if waiting:
        shown[-1] += "\ufffd"
    return shown
    ### END SOLUTION


# %%
check("stream_text", stream_text)
# hint("stream_text")

# %% [markdown] tags=["further"]
r"""
## 10. Drafts from the prompt

Section 7 says that several tokens cost little more than one, if only they are known. Chapter 10 let a small model guess them. Where a model copies, the prompt itself is the guess: look up the last tokens, and draft what followed them there.
"""

# %% [markdown]
r"""
### Exercise: `prompt_lookup`

*Difficulty · importance · minutes*

Write `prompt_lookup(tokens, shortest, longest, num_draft) -> list[int]`: what followed the last tokens where they occurred before.

- `tokens` is `(L,)`, long, $L \ge 1$; $1 \le$ `shortest` $\le$ `longest`, and both may exceed $L$; `num_draft` $\ge 0$.
- For $n$ from `longest` down to `shortest`, find the earliest place before the end where the last $n$ tokens occurred already; it may overlap them.
- At the first $n$ that has one, return the tokens after it: `num_draft` of them, or fewer where the text ends.
- If there is none for any $n$, return `[]`.
- Return a list of Python ints.
"""


# %% exercise="prompt_lookup"
def prompt_lookup(tokens, shortest, longest, num_draft):
    """Return a draft that was copied from the text itself."""
    ### BEGIN SOLUTION: The longest ending first, places from the front; the first match ends the search.
    text = tokens.tolist()
    for n in range(longest, shortest - 1, -1):
        for start in range(len(text) - n):  # none if n is too long
            if text[start : start + n] == text[-n:]:
                return text[start + n : start + n + num_draft]
    return []
    ### END SOLUTION


# %%
check("prompt_lookup", prompt_lookup)
# hint("prompt_lookup")


# %%
def with_drafts(model, prompt, num_tokens, shortest, longest, num_draft):
    """Return the greedy text, several tokens per call where drafts are right, and the calls."""
    tokens, end, calls = prompt, len(prompt) + num_tokens, 0
    cache = model.new_cache(1, end + num_draft)
    while len(tokens) < end:
        guess = models.prompt_lookup(tokens, shortest, longest, num_draft)
        fed = torch.cat([tokens, torch.tensor(guess, dtype=torch.long)])
        scores, _ = model(fed[None, cache.length :], cache)
        best = scores[0, -len(guess) - 1 :].argmax(-1)  # what the model says at each place
        agreed = int((best[:-1] == fed[len(tokens) :]).cumprod(0).sum())
        tokens, calls = torch.cat([tokens, best[: agreed + 1]]), calls + 1
        cache.crop(len(tokens) - 1)
    return tokens[len(prompt) : end].tolist(), calls


def token_by_token(model, prompt, num_tokens):
    return generate(model, prompt[None], num_tokens, temperature=0.0)[0].tolist()


# %% [markdown]
r"""
**Predict.** A prompt holds a paragraph twice, the second time cut off. How many tokens does a call yield? And on a question, where nothing is copied?
"""


# %%
@with_model
@torch.inference_mode()
def drafts_on_a_copy():
    text = data.installed_texts()["sklearn"][300:900]
    prompt = tokenizer.encode(f"{text}\n\nThe same text again:\n\n{text[:120]}")
    plain = token_by_token(released_model.model, prompt, 30)
    drafted, calls = with_drafts(released_model.model, prompt, 30, 2, 3, 8)
    print(f"30 tokens in {calls} calls, the same text: {drafted == plain}")


# %%
for run in measure.read_record("chapter_19_lookup")["runs"]:
    how = f"from {run['shortest']} tokens, {run['drafts']:2} drafts"
    gain = (
        f"{run['tokens per call']:4.1f} tokens per call, {run['times as fast']:.2f} times as fast"
    )
    print(f"{run['prompt']:20} {how}: {gain}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

3.3 tokens per call where the model copies, and one where it does not<!-- shown: 3.3 1.0 -->. The text is the same either way. But calls are not time: on this machine the copy is only 1.20 times as fast<!-- shown: 1.20 -->, since section 7's calls of several tokens cost nearly three single ones here. And hasty drafts, from a single token, make the answer about the sky slower, 0.61<!-- shown: 0.61 -->: a refused draft is not free.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 11. A text longer than the window

A model reads at most so many tokens at once. To judge a longer text one takes windows, and where they do not overlap, each begins with tokens that have no past. Where they do overlap, no token may count twice.
"""

# %% [markdown]
r"""
### Exercise: `windowed_loss`

*Difficulty · importance · minutes*

Write `windowed_loss(model, tokens, window, stride) -> float`: the mean loss of a text that may be too long for the model.

- `model(tokens)` takes `(B, T)`, long, and returns causal logits `(B, T, V)` in float32 or float64; it refuses $T >$ `window`. `tokens` is `(N,)`, $N \ge 2$; $1 \le$ `stride` $<$ `window`.
- Windows begin at 0, `stride`, 2·`stride`, …; the last is the first to reach the end, and may be shorter.
- Every token but the first counts once, in the *first* window that holds it: the negative logarithm of its probability, in nats.
- Return the mean over these $N - 1$ tokens.
"""


# %% exercise="windowed_loss"
def windowed_loss(model, tokens, window, stride):
    """Return the mean loss of all tokens but the first."""
    ### BEGIN SOLUTION: Remember up to where tokens are judged; count the new ones at the end of each window.
    total, judged = 0.0, 1
    for start in range(0, len(tokens), stride):
        part = tokens[start : start + window]
        end = start + len(part)
        log_p = model(part.unsqueeze(0))[0, :-1].log_softmax(-1)  # row i predicts token i + 1
        losses = -log_p.gather(-1, part[1:].unsqueeze(-1)).flatten()
        total += losses[judged - end :].sum().item()  # the last end - judged are new
        judged = end
        if end == len(tokens):
            break
    return total / (len(tokens) - 1)
    ### END SOLUTION


# %%
check("windowed_loss", windowed_loss)
# hint("windowed_loss")

# %% [markdown]
r"""
**Predict.** 1,200 tokens in one pass have a loss of 2.61. In windows of 128 that overlap by half, rightly counted: more or less? And if overlaps are counted again?
"""

# %%
record = measure.read_record("chapter_19_windows")
print(
    f"one pass over {record['settings']['tokens']} tokens: {record['settings']['in one pass']:.2f}"
)
for run in record["runs"]:
    ways = [name for name in run if name not in ("window", "stride")]
    print(
        f"{run['window']:3} by {run['stride']:3}:",
        *(f"{way} {run[way]:.2f}" for way in ways),
        sep="  ",
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

More: 2.92, since every window begins with tokens that have little past. Counted again, the same windows give 3.52<!-- shown: 2.92 3.52 -->. So the mistake in counting, 0.60, is twice as large as what the window costs, 0.31. Windows of 512 come within 0.08 of one pass.

A published loss or perplexity therefore says little without its window and its stride.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 12. How many tokens are likely

Top-p keeps the fewest tokens that hold a share of the probability (chapter 10). On real text, how many are they?

**Predict.** At 600 places of a text: in what share of them is one token enough for 90 %? And how many does the widest take?
"""


# %%
for one in record["nuclei"]:
    sizes = (
        f"median {one['median']}, ninth decile {one['ninth decile']:,}, largest {one['largest']:,}"
    )
    print(f"top_p {one['top_p']}: {sizes}; one token alone in {one['one alone']:.0%}")
known = record["settings"]
right, claimed = known["likeliest is right"], known["likeliest claims"]
print(
    f"the likeliest token is right in {right:.2f} of {known['places']} places, and claims {claimed:.2f}"
)

# %% [markdown]
r"""
<details><summary>What to see</summary>

In 14 % of the places one token is enough; the median is 23, and the widest nucleus holds 2,359<!-- shown: 14% 23 2,359 -->. The likeliest token is right in 0.42 of the places, and claims 0.47<!-- shown: 0.42 0.47 -->: a little too sure of itself.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 13. What it cannot do

A model of this size is fluent, and that hides what it does not know.

**Predict.** Twelve sums of numbers up to 9, twelve of numbers up to 99, as "7 + 5 =". How many are right?
"""

# %%
record = measure.read_record("chapter_19_speech")["runs"]
for kind in ("sum to 9", "sum to 99"):
    asked = [run for run in record if run["kind"] == kind]
    example = f"{asked[0]['asked']}{asked[0]['said'].splitlines()[0]}"
    print(
        f"{kind}: {sum(run['right'] for run in asked)} of {len(asked)} right, for example {example}"
    )
for run in record:
    if run["kind"] in ("other", "reply not opened"):
        print(
            f"\n{run.get('asked', 'Name three fruits. (reply not opened)')}",
            run["said"],
            sep="\n  ",
        )

# %% [markdown]
r"""
<details><summary>Answer</summary>

None of 24: the model says 11 to most sums up to 9. It finds one r in strawberry, gives the 2022 World Cup to the United States, and says so in faultless sentences. Fluency does not measure truth, and a loss of 2.75 on text says little about sums.

The last line is section 6 once more: where the reply is not opened, the model opens one itself, for four tokens.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 14. One file for many

A class of thirty on one server would hold the weights thirty times. Unless they are *mapped*: the operating system then reads the file once, and all processes share the pages. `python -m course_utils model --convert` writes the weights in float32 beside the file for that purpose.

**Predict.** Two processes have the model open at once. How much memory does each hold for itself, with weights restored in each, and mapped?
"""

# %%
for run in measure.read_record("chapter_19_shared")["runs"]:
    print(
        f"{run['how']:10} {run['private MB']} MB private in each of two, opened in {run['seconds']} s"
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

Restored, 672 MB each; mapped, 82 MB<!-- shown: 672 82 -->, The weights, 538 MB in float32, are there once for both. So a hub converts the file once, and every learner's kernel maps it.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 15. Four bits at work

So far the four bits were turned into float32 before they were used. PyTorch has an operator that multiplies by blocks of four bits directly (a private one, which may change with any version). A token then reads far fewer bytes.

**Predict.** How many times fewer bytes does a token read, and how many times as fast is it? And is the text the same?
"""

# %%
for run in measure.read_record("chapter_19_decode")["runs"]:
    print(f"{run['threads']} thread(s), {run['gigabytes_per_second']} GB/s")
    for name in ("theirs", "ours", "four bits"):
        one = run[name]
        size, rate = one["bytes_per_token"] / 1e6, one["tokens_per_second"]
        roof, read = one["share_of_roof"], one["read_tokens_per_second"]
        print(f"  {name:10} {size:4.0f} MB per token, {rate:5.1f} tokens per second", end="")
        print(f" ({roof:.2f} of the roof); reading a prompt {read:4.0f}")
    for name in ("ours", "four bits"):
        print(f"  {name}: products take {run[name]['share_of_products']:.2f} of the time")
    for name in ("theirs / ours", "ours / four bits", "ours / four bits, products"):
        print(f"  time, {name}:", *(f"{kind} {ratio}" for kind, ratio in run[name].items()))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Five times fewer bytes, and 2.03 times as fast in the median of eleven rounds<!-- shown: 2.03 -->, for the share of the roof falls from 0.55 to 0.22<!-- shown: 0.55 0.22 -->. Why? Only in part through what stands around the products, which took a quarter of the time and takes over a third now<!-- shown: 0.75 0.64 -->. The products alone are 2.51 times as fast, not five<!-- shown: 2.51 -->: taking bits apart costs arithmetic.

A prompt is read more *slowly*. And since the operator rounds to bfloat16, the text differs after some tokens; it is not compared here. Faster is not equal.

Hugging Face's model in float32 writes the same text; ours is 1.22 times as fast, between 1.01 and 1.92<!-- shown: 1.22 1.01 1.92 -->.

</details>
"""

# %% [markdown]
r"""
## Yours: the released model on your functions

The whole chain once more, with your functions wherever their checks have passed: the file's bytes become weights, a question becomes a prompt and its words tokens, the tokens become scores, and a loop writes.

**Predict.** Will the text be the same, token for token?
"""


# %%
def weights_read_by(parts):
    """Return the file's weights, restored and reordered by these functions."""
    read, (few, *_) = parts.dequantize_q4_1, (file.tensors["blk.0.attn_q.weight"].data[:100],)
    if min(clocked(read, few) for _ in range(3)) > 3e-3:
        print("This dequantize_q4_1 would take minutes for the file; the course's reads it.")
        read = models.dequantize_q4_1
    made, heads = {}, {"attn_q": 9, "attn_k": 3}
    for name, tensor in file.tensors.items():
        whole = read(tensor.data) if tensor.kind == "Q4_1" else tensor.weights()
        made[name] = whole.reshape(tensor.shape)
        if (role := name.split(".")[-2]) in heads:
            made[name] = parts.to_split_halves(made[name], heads[role], 0)
    made["output.weight"] = made["token_embd.weight"]
    return made


def clocked(read, blocks):
    start = process_time()
    read(blocks)
    return process_time() - start


# %%
QUESTION = "What is the capital of France?"
released_model = None  # makes room for the weights that your functions read


def answered(parts):
    """Return what the model reads, its scores, and what it writes."""
    merges = (merge.split(" ") for merge in file.fields["tokenizer.ggml.merges"])
    ranks = {tuple(pair): rank for rank, pair in enumerate(merges)}
    words = [parts.merge_by_rank(word, ranks) for word in ("What", "Ġcapital", "ĠFrance")]
    text = parts.chat_prompt([{"role": "user", "content": QUESTION}], SYSTEM)
    own, port = weights_read_by(parts), ported({
        "norm": parts.rms_norm, "last_norm": parts.rms_norm, "rotate": parts.rope_split_halves,
        "mask": parts.causal_mask, "attention": parts.grouped_query_attention,
        "feed": parts.gated_feed_forward,
    })  # fmt: skip
    with torch.no_grad():
        prompt = tokenizer.encode(text)[None]
        scores, _ = read_tokens(prompt, own, port)
        written = parts.greedy_decode(
            lambda new, past: read_tokens(new, own, port, past or ()), prompt, 8
        )
    shown = parts.stream_text([tokenizer.bytes_of(token) for token in written[0].tolist()])
    return {
        "words": [len(word) for word in words],
        "scores": scores[0, -1, :100],
        "text": "".join(shown),
    }


# %% tags=["nbval-ignore-output"] reason="whose functions run, and how fast, depends on the reader"
NEW = ("dequantize_q4_1", "merge_by_rank", "to_split_halves", "chat_prompt", "stream_text")
OLD = (
    "rms_norm",
    "gated_feed_forward",
    "rope_split_halves",
    "causal_mask",
    "grouped_query_attention",
    "greedy_decode",
)
parts = yours(*NEW, *OLD)
note = parts.run(answered) if path else parts
note


# %%
@with_model
def the_answer():
    print(note.result["text"])


# %%
# from course_utils import chat; chat()  # remove the first # to talk to it, on your functions


# %% [markdown]
r"""
<details><summary>Answer</summary>

The same, whichever functions are yours. If one of them is wrong, the card names it.

</details>
"""

# %% [markdown]
r"""
## Recap

- A file of weights is a list of fields, a table and blocks of bytes. "Four bits" are five, with the scale and the minimum of each block.
- Tokens are merged in the order in which the merges were learned.
- A loss shows some wrong settings and hides others. Equality to another implementation shows them all, except those that leave the function as it is.
- A chat is a text in a fixed form, and the end token is part of it.
- One token costs what reading all weights costs; several at once cost little more.

Not known here: what rounding to four bits cost this model, since its original weights are not in the file.
"""

# %% tags=["remove-cell"]
progress(19)

# %% [markdown]
"""
**Next**: chapter 20 opens this model and looks at what its heads do.
"""

# %% [markdown]
r"""
## Go further

- Allal et al. (2025) say how the model was trained, and on what.
- The specification of GGUF, and the quantised blocks of ggml, are in the repository of [ggml](https://github.com/ggml-org/ggml).
- `python -m course_utils chat` talks to the model in a terminal, on the functions that you have passed; `chat()` does in a notebook.
- Saxena (2023) introduced prompt lookup; Press et al. (2022) discuss windows and strides.
"""
