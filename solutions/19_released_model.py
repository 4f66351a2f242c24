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
## 7. What a token costs
"""

# %% [markdown] tags=["further"]
r"""
## 8. A character in pieces
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
## 9. Drafts from the prompt
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

# %% [markdown] tags=["further"]
r"""
## 10. A text longer than the window
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
