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
### Exercise: TODO

*Difficulty · importance · minutes*

TODO: the task of `dequantize_q4_1(blocks)`.
"""

# %% exercise="dequantize_q4_1"
def dequantize_q4_1(blocks):
    ### BEGIN SOLUTION: TODO, what to do
    _check_blocks(blocks, Q4_1_BYTES)
    scale, low = _halves(blocks[:, :4]).split(1, dim=1)
    pairs = blocks[:, 4:]
    return torch.cat((pairs & 15, pairs >> 4), dim=1).float() * scale + low
    ### END SOLUTION


# %%
check("dequantize_q4_1", dequantize_q4_1)

# %% [markdown]
r"""
### Exercise: TODO

*Difficulty · importance · minutes*

TODO: the task of `quantize_blocks(x, bits, block)`.
"""

# %% exercise="quantize_blocks"
def quantize_blocks(x, bits, block):
    ### BEGIN SOLUTION: TODO, what to do
    if bits > 8:
        raise ValueError(f'bits must be at most 8, got {bits}')
    if not x.ndim or x.shape[-1] % block:
        raise ValueError(f'block must divide the last axis, got {block} and {tuple(x.shape)}')
    parts = x.unflatten(-1, (-1, block))
    low, high = (parts.amin(-1), parts.amax(-1))
    scale = (high - low) / (2 ** bits - 1)
    scale = torch.where(high > low, scale, 1.0)
    levels = ((parts - low.unsqueeze(-1)) / scale.unsqueeze(-1)).round()
    return (levels.clamp(0, 2 ** bits - 1).to(torch.uint8).flatten(-2), scale, low)
    ### END SOLUTION


# %%
check("quantize_blocks", quantize_blocks)

# %% [markdown]
r"""
## 3. Text to tokens
"""

# %% [markdown]
r"""
### Exercise: TODO

*Difficulty · importance · minutes*

TODO: the task of `merge_by_rank(piece, ranks)`.
"""

# %% exercise="merge_by_rank"
def merge_by_rank(piece, ranks):
    ### BEGIN SOLUTION: TODO, what to do
    symbols = list(piece)
    while len(symbols) > 1:
        first = min(pairwise(symbols), key=lambda pair: ranks.get(pair, len(ranks)))
        if first not in ranks:
            break
        symbols = merged(symbols, first)
    return symbols
    ### END SOLUTION


# %%
check("merge_by_rank", merge_by_rank)

# %% [markdown]
r"""
## 4. Settings, and the faults a loss hides
"""

# %% [markdown]
r"""
### Exercise: TODO

*Difficulty · importance · minutes*

TODO: the task of `to_split_halves(features, num_heads=1, dim=-1)`.
"""

# %% exercise="to_split_halves"
def to_split_halves(features, num_heads=1, dim=-1):
    ### BEGIN SOLUTION: TODO, what to do
    return _reordered(features, num_heads, dim, (-1, 2))
    ### END SOLUTION


# %%
check("to_split_halves", to_split_halves)

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
