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

*You will be able to*

1. read a file of weights down to its bytes, and undo its quantisation;
2. turn text into the model's own tokens;
3. put a released model together from parts of earlier chapters, and prove it equal to another implementation;
4. find, from a loss, which part of a port is wrong, and say which faults a loss does not show;
5. let it chat, with its template and its end token;
6. measure what a token costs, and name the roof that bounds it.

*You need* chapters 06 (masks), 07 (RoPE), 08 (grouped queries), 10 (caches), 11 (the parts' names); 09 for the roofline.

*Core path · further*
"""

# %%
import torch

from course_utils import check, hint, plotting

plotting.use_style()
torch.set_num_threads(1)

# %% [markdown]
r"""
## 1. The file
"""

# %% [markdown]
r"""
## 2. Four bits that are five
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
## 3. Text to tokens
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
def to_split_halves(features, num_heads, dim):
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
## 5. The whole model, equal
"""

# %% [markdown]
r"""
## 6. It speaks
"""

# %% [markdown]
r"""
### Exercise: TODO

*Difficulty · importance · minutes*

TODO: the task of `chat_prompt(messages, default_system, add_generation_prompt=True)`.
"""

# %% exercise="chat_prompt"
def chat_prompt(messages, default_system, add_generation_prompt=True):
    ### BEGIN SOLUTION: TODO, what to do
    for number, one in enumerate(messages):
        check_instance(Mapping, **{f'message {number} of messages': one})
    written = list(messages)
    if written and written[0]['role'] != 'system':
        written.insert(0, {'role': 'system', 'content': default_system})
    text = ''.join((f"{BEGIN}{one['role']}\n{one['content']}{END}\n" for one in written))
    return text + f'{BEGIN}assistant\n' * add_generation_prompt
    ### END SOLUTION


# %%
check("chat_prompt", chat_prompt)

# %% [markdown]
r"""
## 7. What a token costs
"""

# %% [markdown] tags=["further"]
r"""
## 8. A character in pieces
"""

# %% [markdown]
r"""
### Exercise: TODO

*Difficulty · importance · minutes*

TODO: the task of `stream_text(pieces)`.
"""

# %% exercise="stream_text"
def stream_text(pieces):
    ### BEGIN SOLUTION: TODO, what to do
    for number, one in enumerate(pieces):
        check_instance(bytes, **{f'piece {number} of pieces': one})
    decoder = codecs.getincrementaldecoder('utf-8')('replace')
    last = len(pieces) - 1
    return [decoder.decode(piece, number == last) for number, piece in enumerate(pieces)]
    ### END SOLUTION


# %%
check("stream_text", stream_text)

# %% [markdown] tags=["further"]
r"""
## 9. Drafts from the prompt
"""

# %% [markdown]
r"""
### Exercise: TODO

*Difficulty · importance · minutes*

TODO: the task of `prompt_lookup(tokens, shortest, longest, num_draft)`.
"""

# %% exercise="prompt_lookup"
def prompt_lookup(tokens, shortest, longest, num_draft):
    ### BEGIN SOLUTION: TODO, what to do
    if not len(tokens):
        raise ValueError('tokens must hold one token at least, got none')
    for length in range(min(longest, len(tokens) - 1), shortest - 1, -1):
        places = tokens.unfold(0, length, 1)[:-1]
        found = (places == tokens[-length:]).all(-1).nonzero()
        if len(found):
            after = int(found[0]) + length
            return tokens[after:after + num_draft].tolist()
    return []
    ### END SOLUTION


# %%
check("prompt_lookup", prompt_lookup)

# %% [markdown] tags=["further"]
r"""
## 10. A text longer than the window
"""

# %% [markdown]
r"""
### Exercise: TODO

*Difficulty · importance · minutes*

TODO: the task of `windowed_loss(model, tokens, window, stride)`.
"""

# %% exercise="windowed_loss"
def windowed_loss(model, tokens, window, stride):
    ### BEGIN SOLUTION: TODO, what to do
    if len(tokens) < 2:
        raise ValueError(f'tokens must hold two tokens at least, got {len(tokens)}')
    total, judged = (0.0, 1)
    for start in range(0, len(tokens), stride):
        part = tokens[start:start + window]
        new = start + len(part) - judged
        logits = model(part.unsqueeze(0))[0, -1 - new:-1]
        total += cross_entropy(logits.double(), part[-new:], reduction='sum').item()
        judged = start + len(part)
        if judged == len(tokens):
            break
    return total / (len(tokens) - 1)
    ### END SOLUTION


# %%
check("windowed_loss", windowed_loss)

# %% [markdown] tags=["further"]
r"""
## 11. How many tokens are likely
"""

# %% [markdown] tags=["further"]
r"""
## 12. What it cannot do
"""

# %% [markdown] tags=["further"]
r"""
## 13. One file for many
"""

# %% [markdown]
r"""
## Yours: the released model on your functions
"""

# %% [markdown]
r"""
## Recap
"""

# %% [markdown]
r"""
## Go further
"""
