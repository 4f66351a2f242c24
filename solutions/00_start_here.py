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
"""
# Start here

Attention is the part of a Transformer that decides what looks at what. In this course you run every kind of attention, measure what it costs and does, and then write it yourself. Nothing needs a graphics card or a network.

*You will be able to*

1. run a notebook and find your way around it;
2. give a guess, have an answer judged, ask for a hint, and see your progress;
3. find the answers that you have passed, and put them to work.

*You need* some Python, some practice with PyTorch tensors, and ten minutes.
"""

# %% [markdown]
"""
## Run a cell

Click the cell below and press **Shift+Enter**: it runs, and the next one is selected. Do the same with every cell from here on.

Without a mouse: **Esc**, then the arrow keys, moves between cells; **Enter** goes into one; **Ctrl+Enter** runs it and stays. In a picture, **Tab** moves between its controls and the arrow keys change them.
"""

# %%
import torch

from course_utils.guessing import guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.place import first_page

first_page()

# %% [markdown]
"""
That is where you are in the course, and what is due to be written again; `make learn` opens there, too. Of what you do below, nothing is kept as your progress.
"""

# %% [markdown]
"""
## How an exercise works

An exercise is a function with a hole in it, and `check` judges what you put there. This one is the first of chapter 03: turn each row of scores into weights that sum to 1.
"""


# %%
def stable_softmax(scores):
    """Turn each row of scores into weights that are not negative and sum to 1."""
    raise NotImplementedError


check("stable_softmax", stable_softmax)


# %% [markdown]
"""
Now an answer. It is the formula as most books print it, and it divides each row by its sum. Will it pass? Before what is measured surprises, a chapter asks for your **guess**; it is kept, drawn beside the measurement, and asked again after some days if it was far off. Nothing waits for it.
"""

# %% guess={"name": "00.formula", "kind": "choice", "asks": "What will the checker say to the formula as most books print it?", "options": {"It passes": "Passed", "It is refused, and the mistake has a name": "Not yet: no shift before exp", "It is refused without a name": "Not yet: the values differ"}, "take": "printed"}
guess("00.formula")


# %%
def stable_softmax(scores):
    weights = torch.exp(scores)
    return weights / weights.sum(dim=-1, keepdim=True)


check("stable_softmax", stable_softmax)

# %% [markdown]
"""
The checker has seen this mistake before: it names it, says on which input it shows, and leaves you with a question. When the question is not enough, ask for a hint; each call goes one step further.
"""

# %%
hint("stable_softmax")


# %% [markdown]
r"""
PyTorch has a softmax that survives large scores. A row with nothing in it but $-\infty$ still needs care: it should give zeros. In chapter 03 you write all of it yourself; here we let PyTorch do the first part.
"""


# %%
def stable_softmax(scores):
    empty = (scores == -torch.inf).all(dim=-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(empty, 0.0), dim=-1)
    return weights.masked_fill(empty, 0.0)


check("stable_softmax", stable_softmax)

# %% [markdown]
"""
Any right way passes: loops, library calls, one line or twenty. After a real attempt of your own, `solution("stable_softmax")` shows one way among several. If you think that a verdict is wrong, `dispute("stable_softmax", "why")` writes what is needed to judge it again into one file, to send. And this is how far you are (on this page; your own progress begins with the first exercise of a chapter):
"""

# %%
progress(3)

# %% [markdown]
"""
## Your answers stay yours

An answer that passes is kept as a separate file beside your progress, which you can open, change and import. `mine()` lists these files, and `mine("stable_softmax")` shows one. A later answer never replaces an earlier one without a copy.
"""

# %% tags=["nbval-ignore-output"] reason="a folder of its own in every run"
mine("stable_softmax")

# %% [markdown]
"""
What you have written once is easily forgotten. After 2, 7, 21 and 60 days `review()` proposes what was hardest for you, to be written again from memory, and the guesses that were far off (on this page there is nothing yet):
"""

# %%
review()

# %% [markdown]
"""
Near its end each chapter has a section called *Yours*: its experiment once more, with your functions instead of the course's. What you have not passed yet is the course's own, and the table says which is whose.
"""

# %%
parts = yours("stable_softmax", "attention_weights")
parts

# %% [markdown]
"""
`run` does an experiment with the course's functions and again with yours, and compares. Where the numbers differ, it tries each of your functions alone and names the one to blame.
"""


# %%
def experiment(parts):
    """Return the weights of three large scores."""
    return parts.stable_softmax(torch.tensor([1000.0, 1001.0, -torch.inf]))


note = parts.run(experiment)
note

# %% [markdown]
"""
## What to read

Each chapter has a *core path*: at most ten sections and two hours, of which at most one is for exercises. Sections marked *further* are folded, to be read now, later or not at all. Below each heading is the time that its section takes, in minutes.
"""

# %% [markdown]
"""
## The chapters

| | chapter |
|---|---|
| 01 | [The bottleneck: why one vector is not enough](01_bottleneck.ipynb) |
| 02 | [Additive and multiplicative attention](02_additive_multiplicative.ipynb) |
| 03 | [Scaled dot-product attention, and why √d_k](03_scaled_dot_product.ipynb) |
| 04 | [Queries, keys, values](04_queries_keys_values.ipynb) |
| 05 | [Multi-head attention](05_multi_head.ipynb) |
| 06 | [Masks](06_masks.ipynb) |
| 07 | [Where am I? Positional encodings](07_positions.ipynb) |
| 08 | [Cheaper attention](08_cheaper_attention.ipynb) |
| 09 | [Flash attention: tiling on the GPU](09_flash_attention.ipynb) |
| 10 | [The KV cache: generating one token at a time](10_kv_cache.ipynb) |
| 11 | [The whole Transformer](11_transformer.ipynb) |
| 12 | [Training it, and what it costs](12_training.ipynb) |
| 13 | [Reading attention: what the weights say, and what they do not](13_reading_attention.ipynb) |
| 14 | [Seeing and crossing: vision and cross-modal attention](14_vision.ipynb) |
| 15 | [Why it works: theory you can run](15_theory.ipynb) |
| 16 | [Long context, many devices](16_long_context.ipynb) |
| 17 | [Beyond attention: keep a state](17_beyond_attention.ipynb) |
| 18 | [Fact-check clinic and field guide](18_fact_check.ipynb) |
| 19 | [A released model on your own code](19_released_model.ipynb) |
| 20 | [Look inside a released model](20_inside_a_model.ipynb) |

**Go on with [chapter 01](01_bottleneck.ipynb).**
"""

# %% [markdown]
"""
## If something does not work

Run `%run -m course_utils doctor` in a new cell: it says what is installed, what is missing and how to fix it. If a notebook behaves oddly, *Kernel*, *Restart Kernel and Run All Cells* often helps.
"""
