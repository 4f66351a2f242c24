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
# Split attention across devices, and read long texts

Four devices share one long text. The queries stay, and keys and values travel round a ring.

Play for one minute: go through the steps, first with the *contiguous* layout, then with *zig-zag*. **Which rank has the least to multiply in the first, and which in the second?** At the end of the chapter you can explain it.
"""

# %% tags=["remove-input"]
from course_utils.widgets import ring_stepper

opening = ring_stepper()
opening

# %% [markdown]
r"""
*You will be able to*

1. let queries stay and keys travel: write ring attention, and show that it gives what one process gives, forward and backward;
2. balance a causal mask over ranks, and say who multiplies what at which step;
3. tell the two kinds of parallel attention apart, by sequence and by heads, and count what each sends;
4. work out from formulas what a million tokens need, and generate from a cache that is split over ranks;
5. stream without end, mix local with global layers, and read from a memory (further).

*You need* chapter 06 for masks, 09 for the online softmax, 10 for the cache; the further sections use 07 and 08.

*Core path · further*
"""

# %% [markdown]
"""
How to read: each experiment begins with a question. Write down your guess, run the cell, then open the answer.

Texts A to E, whose sentences this course checks, are listed on the page *What is measured here*.
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
from functools import partial
from time import perf_counter, sleep

import torch
from torch.nn import functional as F

from course_utils import attention, data, distributed, measure, models, plotting
from course_utils.distributed import faults, head_jobs, jobs
from course_utils.guessing import draw_guess, guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.positions import RotaryPositions

plotting.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=3, sci_mode=False, linewidth=100)


# %%
def normal(seed):
    """Return what draws standard normals in float64, the same for the same seed."""
    generator = torch.Generator().manual_seed(seed)
    return partial(torch.randn, generator=generator, dtype=torch.float64)


def apart(a, b):
    """Say how far two tensors are from each other, rounding aside."""
    far = ((a - b).abs().max() / b.abs().max()).item()
    return "equal to rounding" if far < 1e-12 else f"{far:.2f} apart"


# %% [markdown]
r"""
## 1. Pass the keys on

A long text does not fit on one device. Cut it into $P$ runs of $n/P$ tokens and give one run to each of $P$ processes, the **ranks** $0, \dots, P-1$. Norms, projections and feed-forward layers treat each token on its own, so for these no rank needs another. Attention is different: a query needs the keys and values of all tokens.
"""

# %% [markdown]
r"""
So let the queries stay and the keys and values travel. The ranks form a **ring**. In one **rotation** (of the ring; it has nothing to do with RoPE's) every rank hands the block that it holds to rank $r + 1$, and is handed what rank $r - 1$ held; after the last rank comes rank 0.
"""

# %% tags=["remove-input"]
from course_utils.diagrams import diagram

diagram("16")

# %% [markdown]
r"""
**Predict.** There are 4 ranks. Whose block does rank 1 hold after two rotations? And after how many has it held all of them?
"""

# %%
held = [0, 1, 2, 3]  # whose block each rank holds
for step in range(4):
    print(f"step {step}:", *(f"rank {rank} has block {held[rank]};" for rank in range(4)))
    held = [held[rank - 1] for rank in range(4)]  # from the rank before; -1 is the last

# %% [markdown]
r"""
<details><summary>Answer</summary>

Block 3: it was handed on by rank 3 to rank 0, and by rank 0 to rank 1. After three rotations every rank has held every block: $P$ steps, $P - 1$ rotations between them. Step 0 comes before the first rotation.

</details>

### Exercise: `ring_schedule`

*Difficulty · importance · minutes*

Write `ring_schedule(world_size, rank) -> list`.

- Entry $t$, for $t = 0, \dots, P - 1$ with $P$ = `world_size`: the rank whose block `rank` holds at step $t$.
- Its own block comes first. `0 <= rank < world_size`.
"""


# %% exercise="ring_schedule"
def ring_schedule(world_size, rank):
    """Return whose block a rank holds at each step."""
    ### BEGIN SOLUTION: Whose block has arrived after t rotations?
    blocks = []
    for rotations in range(world_size):
        blocks.append((rank - rotations) % world_size)
    return blocks
    ### END SOLUTION


# %%
check("ring_schedule", ring_schedule)
# hint("ring_schedule")  # remove the first # for a hint; each call gives one more

# %% [markdown]
r"""
**Check yourself.** Why do the ring's keys and values travel, and not its queries?

- A. Queries are larger.
- B. Either could, but if the queries travel, the unfinished outputs must travel with them or be collected at the end.
- C. A query needs its own key first.

<details><summary>Answer</summary>

- A: a token's query and key are equally wide. With fewer key/value heads than query heads, keys and values together are the smaller load, which helps.
- **B is right.** An output belongs to its query. It travels along and comes home, or its parts stay where they were made and are collected at the end. Section 7 does that for a single query.
- C: attention sums over the keys, in any order.

</details>
"""

# %% [markdown]
r"""
## 2. Join what the blocks say

A rank sees one block at a time, and softmax divides by a sum over *all* keys. Chapter 09 had the same problem with tiles, and its answer works here: keep the largest score $m$, the sum $l$ and the unfinished output, and correct them when a larger score comes.

**Predict.** Rank 1 of 4 holds 4 queries of 16 tokens, and there is no mask. How close is its output to the right one after two of the four blocks, if you divide by $l$ then?
"""

# %%
draw = normal(0)
q, k, v = (draw(1, 2, 16, 8) for _ in range(3))
right = F.scaled_dot_product_attention(q, k, v)[:, :, 4:8]
query, blocks = q[:, :, 4:8], list(zip(k.chunk(4, dim=2), v.chunk(4, dim=2), strict=True))
m, l, acc = torch.full((1, 2, 4), -torch.inf), torch.zeros(1, 2, 4), torch.zeros(1, 2, 4, 8)
m, l, acc = m.double(), l.double(), acc.double()
for step, source in enumerate(distributed.ring_schedule(4, 1)):
    scores = query @ blocks[source][0].mT / 8**0.5
    m, l, acc = attention.online_softmax_step(m, l, acc, scores, blocks[source][1])
    print(f"step {step}, block {source}: {apart(acc / l[..., None], right)}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

It is far off until the last block, and then it is right, to rounding. Nothing was approximated on the way: after each step this is exact attention over the keys *so far*.

</details>
"""

# %% [markdown]
r"""
Two things per query are enough between the blocks: the output over the keys so far, divided by $l$, and $\text{lse} = m + \ln l$, the logarithm of the sum of all exponentials. Two parts $a$ and $b$ then join as

$$\text{lse} = \ln\left(e^{\text{lse}_a} + e^{\text{lse}_b}\right), \qquad \text{out} = e^{\text{lse}_a - \text{lse}}\,\text{out}_a + e^{\text{lse}_b - \text{lse}}\,\text{out}_b .$$

This form has an advantage: any kernel that returns its lse can process a block.
"""

# %% [markdown]
r"""
Now the mask. A block of keys may lie before all of a rank's queries, after all of them, or overlap them. The place of a key *in its block* says nothing. What counts is where query and key are in the text, so both carry their **positions**: key $j$ is seen by query $i$ when `key_positions[j] <= query_positions[i]`.

**Predict.** A query sees no key of the first block that arrives: its lse is $-\infty$, and so is the block's. What does the formula for `out` give?
"""

# %%
nothing = torch.tensor(-torch.inf)
total = torch.logaddexp(nothing, nothing)
print("lse:", total.item(), " share of the old part:", (nothing - total).exp().item())

# %% [markdown]
r"""
<details><summary>Answer</summary>

$e^{-\infty - (-\infty)}$ is not a number, and neither is any later sum that includes it. Such rows must be left as they are.

</details>
"""

# %% [markdown]
r"""
### Exercise: `ring_attention_step`

*Difficulty · importance · minutes*

Write `ring_attention_step(out, lse, query, key, value, query_positions, key_positions) -> (out, lse)`.

- `query` is `(B, H, L, d_k)`, `key` is `(B, H, S, d_k)`, `value` is `(B, H, S, d_v)`; positions are `(L,)` and `(S,)`, in any order.
- `out` `(B, H, L, d_v)` and `lse` `(B, H, L)` are the results for the blocks so far, at the start zeros and $-\infty$. Scores are scaled.
- A query that sees no key of the block keeps its row. Scores of hundreds are safe, and gradients flow through both results.
- Multiply only the queries that see some key of the block, and only by the keys that some query sees: a block of the future costs nothing.
"""


# %% exercise="ring_attention_step"
def ring_attention_step(out, lse, query, key, value, query_positions, key_positions):
    """Add a block of keys and values to attention so far."""
    ### BEGIN SOLUTION: Who sees whom? Multiply those alone, and join by lse.
    seen = key_positions <= query_positions[:, None]
    rows, keys = (seen.any(dim).nonzero().flatten() for dim in (1, 0))
    if len(rows) == 0:
        return out, lse
    products = query[:, :, rows] @ key[:, :, keys].mT
    logits = products * query.shape[-1] ** -0.5
    logits = logits.masked_fill(~seen[rows][:, keys], -torch.inf)
    old, new = lse[:, :, rows], logits.logsumexp(-1)
    both = torch.logaddexp(old, new)
    block = logits.softmax(-1) @ value[:, :, keys]
    before = (old - both).exp()[..., None] * out[:, :, rows]
    joined = before + (new - both).exp()[..., None] * block
    return out.index_copy(2, rows, joined), lse.index_copy(2, rows, both)
    ### END SOLUTION


# %%
check("ring_attention_step", ring_attention_step)
# hint("ring_attention_step")

# %% [markdown]
r"""
## 3. Real processes

So far one process played all ranks. Now they are processes of their own, which share nothing and talk through `torch.distributed`: on a CPU by its backend gloo, on GPUs by nccl. `run_ranks(job, world_size, *args)` starts them, gives each its rank, and returns what the jobs returned:

- a job is a function in a module: a fresh process cannot import a notebook. A function that you wrote here can be an *argument*: it is sent by value, with `cloudpickle`;
- each rank computes with one thread; tensors are made contiguous before they are handed over, as gloo requires;
- there is a barrier at the end: a rank that left early would break its neighbours' last sends.
"""

# %% [markdown]
r"""
**Predict.** Forward, each of 4 ranks sends 3 blocks: keys and values make $P - 1$ rotations. How many blocks does it send backward, where the gradients of keys and values have to get home as well?
"""

# %% guess={"name": "16.backward", "kind": "number", "asks": "How many blocks, of the size of its keys and values, does each of {ranks} ranks send in the backward pass?", "low": 1, "high": 100, "log": true, "unit": "blocks", "reads": "causal: True 4 ranks, contiguous {_} blocks sent by a rank: {_} forward, {} backward", "varied": [{"ranks": 4}, {"ranks": 8}, {"ranks": 16}, {"ranks": 6}], "becomes": "2 * ranks - 1"}
guess("16.backward")

# %%
draw = normal(1)
given = [draw(1, 4, 64, 8) for _ in range(4)]  # query, key, value, the output's gradient
for is_causal in (True, False):
    whole, whole_grads = jobs.single_process(*given, is_causal=is_causal)
    for ranks, layout in ((2, "contiguous"), (4, "contiguous"), (4, "zigzag")):
        made = jobs.attend_on_ranks(*given, ranks, layout, is_causal)
        pairs = zip((made.out, *made.grads), (whole, *whole_grads), strict=True)
        said = {apart(a, b) for a, b in pairs}
        blocks = [sent * ranks // (2 * given[0].nbytes) for sent in made.sent[0]]
        print(f"causal: {is_causal!s:5} {ranks} ranks, {layout:10} out, gradients:", *said)
        print(f"    blocks sent by a rank: {blocks[0]} forward, {blocks[1]} backward")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Seven<!-- shown: 7 -->: the blocks go round once more, 3, and their gradients travel with them, each rank adding its share; after the last step one more rotation brings them home, which makes $P = 4$.

All results are equal to those of one process, to rounding. Ring attention approximates nothing; it changes the order of the sums. (What "zigzag" means comes in the next section.)

PyTorch has a ring of its own, still marked as experimental. The course's tests hand both the same tensors, and outputs and gradients agree to rounding. So do the logits of a Llama from Hugging Face whose heads are split over two ranks.

</details>
"""

# %% [markdown]
r"""
The same job can be started without a notebook, with the command that a cluster would use:

```sh
torchrun --standalone --nproc-per-node 4 -m course_utils.distributed.jobs
```
"""

# %% [markdown]
r"""
**Predict.** Under a causal mask rank 0 needs no block but its own. May it leave after step 0, or at least stop passing blocks on?

<details><summary>Answer</summary>

Neither. Rank 1 gets its blocks *through* rank 0, and rank 3 hands its block to rank 0 and waits until that is taken. Every rank makes all $P - 1$ rotations, whether it uses what comes or not. One that skips a rotation leaves the others waiting for ever or, worse, pairs the wrong blocks with the wrong steps.

</details>
"""

# %% [markdown]
r"""
### Exercise: `ring_attention`

*Difficulty · importance · minutes*

Write `ring_attention(query, key, value, begin, rank, world_size) -> out`: all that one rank does.

- `query`, `key`, `value` are its own: tokens $r L$ to $r L + L - 1$ of the text; causal.
- `finish = begin(key, value)` starts to hand on what you give it, and returns at once. `finish()` waits, and returns what the rank before handed on. Begin exactly $P - 1$ rotations, each with what you hold, and finish each one before you begin the next.
- **Overlap**: multiply a block while it is on its way, between `begin` and `finish`. Do not write to it.
- Keep one block at a time; no work for blocks of the future.
"""


# %% exercise="ring_attention"
def ring_attention(query, key, value, begin, rank, world_size):
    """Return a rank's rows of causal attention over the tokens of all ranks."""
    ### BEGIN SOLUTION: For each block: begin to hand it on, say where it stands, add it, finish.
    place = torch.arange(query.shape[2])
    own = rank * len(place) + place
    found = torch.zeros_like(value), query.new_full(query.shape[:3], -torch.inf)
    for step in range(world_size):
        if step < world_size - 1:
            finish = begin(key, value)
        theirs = (rank - step) % world_size * len(place) + place
        block = (query, key, value, own, theirs)
        found = distributed.ring_attention_step(*found, *block)
        if step < world_size - 1:
            key, value = finish()
    return found[0]
    ### END SOLUTION


# %%
check("ring_attention", ring_attention)
# hint("ring_attention")

# %% [markdown]
r"""
What does the order save? Here is a link of which the time is known. A block of one rank takes some time to multiply, and the link is given exactly as long for each hand-over.

**Predict.** Rank 3 of 4 multiplies four blocks and waits for three. By the clock, how much longer does it take if it waits for each block before it multiplies the next?
"""


# %%
def slow_link(seconds, arriving):
    """Return a `begin` for one rank: each block arrives so many seconds after it was sent."""

    def begin(key, value):
        due = perf_counter() + seconds

        def finish():
            sleep(max(0.0, due - perf_counter()))
            return next(arriving)

        return finish

    return begin


def waiting(begin):
    """Return a `begin` that waits at once, so that nothing is computed on the way."""

    def begin_and_wait(key, value):
        came = begin(key, value)()
        return lambda: came

    return begin_and_wait


# %%
draw = normal(7)
query, *blocks = (draw(1, 8, 512, 64).float() for _ in range(9))
blocks = list(zip(blocks[::2], blocks[1::2], strict=True))  # keys and values of ranks 3, 2, 1, 0


def seconds_of(order, link):
    """Return the clock time of rank 3 of 4, and its output."""
    start = perf_counter()
    begin = order(slow_link(link, iter(blocks[1:])))
    out = distributed.ring_attention(query, *blocks[0], begin, 3, 4)
    return perf_counter() - start, out


# %% tags=["nbval-ignore-output"] reason="times"
alone = min(seconds_of(lambda begin: begin, 0.0)[0] for _ in range(3))
for name, order in (("begin, multiply, finish", lambda begin: begin), ("wait, multiply", waiting)):
    took = min(seconds_of(order, alone / 4)[0] for _ in range(3))
    print(f"{name:24} {took / alone:.2f} times the arithmetic alone")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Three quarters longer: $4 + 3 = 7$ times the time of a block instead of 4. In the right order the link works while the rank multiplies, and a hand-over that takes no longer than a block costs nothing. The package's ring does the same in real processes. (The figures above change with the load of the machine; 1.00 and 1.75 are what they approach.)

</details>
"""

# %% [markdown]
r"""
## 4. Who works when

A causal mask hides nearly half of all pairs. One process that skips hidden tiles finishes in about half the time.

**Predict.** Each of four ranks holds neighbouring tokens, and blocks of the future are skipped. How much does the ring gain by that?
"""

# %% guess={"name": "16.causal", "kind": "number", "asks": "With neighbouring tokens on each of four ranks, how long does a causal ring take, as a share of the time of a ring without a mask?", "low": 0.1, "high": 2, "log": true, "reads": "in all 1024 the slowest rank of each step, summed: {} n²/P"}
guess("16.causal")

# %%
for layout, split in jobs.LAYOUTS.items():
    positions = split(64, 4)
    work = distributed.ring_work(positions)  # pairs multiplied: rank by step
    slowest = work.amax(dim=0).sum().item() / (64 * 64 / 4)
    print(f"{layout}: rank 1 holds {positions[1].tolist()}")
    for rank in range(4):
        print(f"  rank {rank}, by step: {work[rank].tolist()}, in all {work[rank].sum()}")
    print(f"  the slowest rank of each step, summed: {slowest:.3f} n²/P")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Not at all: 1.000 n²/P, as without a mask<!-- shown: 1.000 -->. At every step some rank has a full block, and the next rotation waits for it. Rank 3 is busy throughout, rank 0 has nothing to do after step 0.

**Striped** (Brandon et al., 2023), every fourth token: the pairs that are *visible* are shared out evenly, yet whole blocks are multiplied, so 1.000 again; a kernel that skips hidden tiles inside the block is needed to gain from it<!-- shown: 1.000 -->.

**Zig-zag**, one run from the front and the mirrored one from the back: 0.625 n²/P, and all ranks equal<!-- shown: 0.625 -->. In general it is $(1 + 1/P)/2$.

</details>
"""

# %% [markdown]
r"""
### Exercise: `zigzag_split`

*Difficulty · importance · minutes*

Write `zigzag_split(num_tokens, world_size) -> positions`, long `(world_size, num_tokens / world_size)`.

- Cut the text into $2P$ equal runs of neighbouring tokens. Rank $r$ gets run $r$ and run $2P - 1 - r$.
- Each row ascends.
- `ValueError` where $2P$ does not divide the number of tokens.
"""


# %% exercise="zigzag_split"
def zigzag_split(num_tokens, world_size):
    """Return the positions of each rank's tokens."""
    ### BEGIN SOLUTION: Twice as many runs as ranks; the back half mirrored.
    if num_tokens % (2 * world_size) != 0:
        raise ValueError(f"2 * {world_size} must divide {num_tokens}")
    front, back = torch.arange(num_tokens).reshape(2, world_size, -1)
    return torch.cat((front, back.flip(0)), dim=1)
    ### END SOLUTION


# %%
check("zigzag_split", zigzag_split)
# hint("zigzag_split")

# %% [markdown]
r"""
Now turn the ring yourself. Each rank's colour and pattern marks the pairs that it multiplies at this step.

**Predict**, before you try: with the zig-zag layout, which of its own queries does rank 0 multiply by a block from rank 3? And which keys does rank 3 use of a block from rank 0?
"""

# %%
opening

# %% [markdown]
r"""
<details><summary>Answer</summary>

Rank 0 multiplies its *late* run by both runs of rank 3; its early run sees none of them. Rank 3 multiplies all its queries with the *early* run of rank 0; the late one is hidden from all of them. Either way it is half of a block, and that is why all ranks have the same work at every step after the first.

</details>

Every rank knows the positions of all ranks' tokens, so they need not be sent.
"""

# %% [markdown]
r"""
## 5. Heads instead of tokens

There is another way to split one attention: by **heads**. Heads are independent until the output projection. Two schemes use that.

*Ulysses* (Jacobs et al., 2023) keeps the text split between layers. Before attention an **all-to-all** trades shards of the tokens with all heads for shards of the heads with all tokens; then each rank runs plain attention; then another all-to-all undoes the exchange.
"""

# %% [markdown]
r"""
*Tensor parallelism* (Megatron-LM; Shoeybi et al., 2019) splits the weights: a rank has the columns of $W_q$, $W_k$, $W_v$ that make its heads, and the rows of $W_o$ that read them. Every rank has all tokens. The outputs are partial sums, which an **all-reduce** adds up: afterwards every rank has the sum. As a ring it has two halves. A *reduce-scatter* leaves each rank with the sum of one share, and an *all-gather* hands the shares round until everyone has all of them.
"""

# %% [markdown]
r"""
**Predict.** 4 ranks, 12 heads. How many heads can each rank compute? What if there are 2 key/value heads?
"""

# %% [markdown]
r"""
<details><summary>Answer</summary>

Three each. With 2 key/value heads only two ranks find work without copying keys: the number of key/value heads limits both schemes. The ring has no such limit.

</details>
"""

# %% [markdown]
r"""
What does each way send? A formula can be wrong, so count: every tensor that a rank hands to the backend, in bytes, in 4 real processes. (Megatron's all-reduce is written with the same rotation here, so that it can be counted; it is compared with the backend's own.)

**Predict.** One sequence of 64 tokens, 4 heads of width 8, as many key/value heads, 8 bytes per number. Which of ring, Ulysses and tensor parallelism sends least?
"""

# %% guess={"name": "16.sent", "kind": "order", "asks": "Which of the three sends most bytes in the backward pass, with as many key/value heads as query heads, and which least?", "take": "descending", "options": {"Ulysses": "ulysses backward {}", "tensor parallelism": "tensor backward {}", "ring": "ring backward {}"}}
guess("16.sent")

# %%
draw = normal(2)
given = [draw(1, 4, 64, 8) for _ in range(4)]
x, grad = draw(2, 1, 64, 32)
weights = tuple(draw(4, 32, 32) / 32**0.5)
sent = {
    "ring": jobs.attend_on_ranks(*given, 4, "contiguous").sent,
    "ulysses": jobs.attend_on_ranks(*given, 4, "contiguous", scheme="ulysses").sent,
    "tensor": (summed := head_jobs.attend_by_heads(x, weights, grad, 4, 4, 4)).sent,
}
print("sent by each rank, in bytes: counted and by formula")
for scheme, counted in sent.items():
    formula = partial(distributed.communication_bytes, scheme, 4, 1, 64, 4, 4, 8, 8)
    for way, which in (("forward", 0), ("backward", 1)):
        found = {each[which] for each in counted}
        print(f"{scheme:8}{way:9}", *(f"{n:,}" for n in found), f"{formula(which == 1):,}")

# %%
one = head_jobs.attend_by_heads(x, weights, grad, 4, 4, 1)
print(
    "heads on 4 ranks, out and gradient:", apart(summed.out, one.out), apart(summed.grad, one.grad)
)
print(
    "all-reduce of the ring and the backend's own:", "equal" if summed.apart < 1e-12 else "differ"
)

# %% [markdown]
r"""
<details><summary>Answer</summary>

Ulysses, 12,288 bytes each way<!-- shown 2: 12,288 -->; the ring sends twice that forward, and more than four times that backward, where gradients travel too<!-- shown 2: 24,576 57,344 -->. All counts equal the formula, to the byte. The ranking does not hold for all sizes: with few key/value heads the ring's blocks shrink, what Ulysses sends falls by at most half, and tensor parallelism sends the same. Section 8 works that out.

</details>

**Find the error.** Text D lists "Distributed attention (model parallelism)" among its ways to train.

<details><summary>Answer</summary>

There are two kinds, and only one of them splits the model. Tensor parallelism splits heads and their weights. Sequence (or context) parallelism, that is ring and Ulysses, splits the *text*; every rank has all weights. Real runs combine both.

</details>
"""

# %% [markdown]
r"""
## 6. A million tokens on paper

What does a text of a million tokens need? Take one published shape, that of Llama 3 8B (Grattafiori et al., 2024): 32 layers, $d_\text{model}$ 4096, 32 query heads and 8 key/value heads of width 128, two bytes per number.

**Predict.** How many gigabytes is its cache? And what share of all floating-point operations of one causal pass over the text goes to attention's two matrix products: 6, 50 or 95%?
"""

# %% guess={"name": "16.cache", "kind": "number", "asks": "How large is the cache of {n} tokens in a model of {layers} layers with {heads} key/value heads of width {width}, at two bytes per number?", "low": 1, "high": 100000, "log": true, "unit": "GB", "reads": "cache: {} GB; the parameters", "varied": [{"n": 1000000, "layers": 32, "heads": 8, "width": 128}, {"n": 128000, "layers": 80, "heads": 8, "width": 128}, {"n": 1000000, "layers": 30, "heads": 3, "width": 64}, {"n": 200000, "layers": 32, "heads": 32, "width": 128}], "becomes": "2 * layers * heads * width * n * 2 / 1e9"}
guess("16.cache")

# %%
n, layers, heads, kv_heads, d = 1_000_000, 32, 32, 8, 128
parameters = measure.transformer_parameters(
    128_256, 4096, layers, 14_336, heads, kv_heads, 0, True, False, False
)
cache = measure.kv_cache_bytes(layers, kv_heads, d, n, 1, 2)
tables = layers * measure.attention_flops(1, heads, n, n, d, d) / 2  # half is masked
weights = 2 * (parameters - 128_256 * 4096) * n  # an embedding is looked up
print(f"cache: {cache / 1e9:.0f} GB; the parameters: {parameters * 2 / 1e9:.0f} GB")
print(f"one n × n table of scores: {2 * n * n / 1e9:,.0f} GB")
print(f"attention {tables:.1e} FLOP, {tables / weights:.1f} times the weights' {weights:.1e}")
print(f"of all: {tables / (tables + weights):.0%}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

131 GB, eight times the model itself<!-- shown: 131 16 -->; and attention takes 95% of the operations, 17.5 times the weights' share<!-- shown: 95% 17.5 -->. At the few thousand tokens of chapter 12 it was the other way round.

</details>

**Find the error.** Text D names three challenges of long contexts: "Memory: $O(n^2)$ attention matrix", "Computation: Quadratic operations", "Training: Gradient instability".

<details><summary>Answer</summary>

One such table would take 2,000 GB<!-- shown: 2,000 -->, but since flash kernels (chapter 09) nobody stores it. What remains: the *operations* grow with $n^2$, and the cache with $n$. The third says neither which gradient, nor at which length; section 12 (further) measures one gradient at three lengths.

</details>
"""

# %% [markdown]
r"""
Now split it over ranks. At each step of a ring a rank multiplies its $n/P$ queries by a block of $n/P$ keys, and meanwhile hands that block on. Overlap hides the hand-over as long as the arithmetic takes longer:

$$\frac{4\,(n/P)^2\,H\,d_k}{F} \;\ge\; \frac{2\,(n/P)\,H_{kv}\,d_k\,b}{B} \quad\Longleftrightarrow\quad \frac nP \ge \frac{b\,H_{kv}\,F}{2\,H\,B}$$

for $F$ operations and $B$ bytes per second, and $b$ bytes per number. Take $F = 400 \cdot 10^{12}$ and $B = 50 \cdot 10^9$ for a device and its link; substitute your own.

**Predict.** From how many tokens per rank is the hand-over hidden: 200, 2,000, or 200,000?
"""

# %%
F_rate, B_rate = 400e12, 50e9
for shared, kind in ((kv_heads, "8 of 32 heads"), (heads, "all heads")):
    least = 2 * shared * F_rate / (2 * heads * B_rate)
    print(f"hidden from {least:,.0f} tokens per rank, {kind}")
print("GB per rank, a million tokens: cache, and sent per layer by each scheme")
for ranks in (1, 8, 64):
    schemes = ("ring", "ulysses", "tensor") if kv_heads % ranks == 0 else ("ring",)
    sizes = (heads, kv_heads, d, 2)
    gb = [distributed.communication_bytes(s, ranks, 1, n, *sizes) / 1e9 for s in schemes]
    said = ", ".join(f"{s} {one:.1f}" for s, one in zip(schemes, gb, strict=True))
    print(f"{ranks:2} ranks: cache {cache / ranks / 1e9:5.1f}; {said}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

From 2,000<!-- shown: 2,000 -->: at a million tokens on 64 ranks each has nearly eight times as many. A causal zig-zag multiplies half of each block, so it needs 4,000. With a key/value head for each query head it would be four times as much, 8,000<!-- shown: 8,000 -->.

With 8 ranks tensor parallelism sends 14.3 GB in every layer, the ring 3.6, Ulysses 2.2<!-- shown: 14.3 3.6 2.2 -->. At 64 ranks only the ring is left: 8 key/value heads are not enough for the others. The cache shrinks to 2.0 GB per rank<!-- shown: 2.0 -->.

These are formulas. Nobody here has a million tokens on 64 devices.

</details>
"""

# %% [markdown]
r"""
There is a third way between ring and heads: gather the keys and values of all ranks first, by an *all-gather*, and multiply afterwards. It sends what the ring sends, hides nothing and holds a whole layer's keys, but any kernel and any mask will do. Llama 3's training does so, since its few key/value heads are small beside the queries and its masks keep documents apart (Grattafiori et al., 2024, section 3.3.2); PyTorch's context parallelism has both ways.
"""

# %% [markdown]
r"""
**Check yourself.** A ring of 8 ranks holds 16,000 tokens in all on such devices, contiguous and without a mask. What limits its speed?

<details><summary>Answer</summary>

Arithmetic and link alike: 2,000 tokens per rank is just where the two take equally long. With a slower link, or a causal mask with zig-zag, each step waits for the hand-over. A shorter text is better off on fewer ranks.

</details>
"""

# %% [markdown]
r"""
## 7. Generate from a split cache

That was reading. To *write* after a million tokens, each new token asks the whole cache, and no rank has it. A ring would send all keys and values round for a single query.

So let the answers travel. Every rank has all weights and computes the new token's query. It attends to the part of the cache that it holds, and sends what section 2 needs: the output and its lse. After an all-gather every rank joins the parts.

**Predict.** The shape of section 6, a million tokens on 8 ranks. How much does a rank send for each new token? And what if the outputs were simply averaged?
"""


# %%
def ask_the_cache(query, key, value, begin, rank, world_size):
    """Return a new token's attention over a cache of which this rank holds a part."""
    scores = query @ key.mT / query.shape[-1] ** 0.5
    held = scores.softmax(-1) @ value, scores.logsumexp(-1)
    parts = {rank: held}
    for source in distributed.ring_schedule(world_size, rank)[1:]:
        held = parts[source] = begin(*held)()  # an all-gather, by rotations
    out, lse = parts[0]
    for source in range(1, world_size):  # in the same order on all ranks
        out, lse = attention.merge_partials(out, lse, *parts[source])
    return out


def average(query, key, value, begin, rank, world_size):
    """Return the mean of what the ranks find, without their lse."""
    held = F.scaled_dot_product_attention(query, key, value), query[..., 0]
    total = held[0].clone()
    for _ in range(world_size - 1):
        held = begin(*held)()
        total += held[0]
    return total / world_size


# %%
draw = normal(8)
query, key, value = draw(1, 4, 1, 8), draw(1, 4, 64, 8), draw(1, 4, 64, 8)
right = F.scaled_dot_product_attention(query, key, value)
for shares in ((16, 16, 16, 16), (3, 9, 4, 48)):
    parts = key.split(shares, 2), value.split(shares, 2)
    for name, way in (("joined by lse", ask_the_cache), ("averaged", average)):
        made = distributed.run_ranks(jobs.decoding_job, 4, way, query, *parts)
        alike = all(torch.equal(out, made[0][0]) for out, _ in made)
        print(f"{shares} {name:14}", apart(made[0][0], right), f"; ranks alike: {alike};",
              f"{made[0][1]} bytes sent, {3 * 4 * (8 + 1) * 8} by formula")  # fmt: skip

# %% guess={"name": "16.answers", "kind": "number", "asks": "How much does each of 8 ranks send per layer for one new token, if it has 32 query heads of width 128, two bytes per number and a cache of a million tokens?", "low": 1, "high": 100000000, "log": true, "unit": "KB", "reads": "8 ranks: {} KB per layer"}
guess("16.answers")

# %%
for ranks in (8, 64):
    asked = (ranks - 1) * heads * (d + 1) * 2
    ring = distributed.communication_bytes("ring", ranks, 1, n, heads, kv_heads, d, 2)
    print(f"{ranks:2} ranks: {asked / 1e3:.0f} KB per layer, a ring {ring / 1e9:.1f} GB;",
          f"a rank reads {cache / layers / ranks / 1e6:.0f} MB of cache")  # fmt: skip

# %% [markdown]
r"""
<details><summary>Answer</summary>

58 KB, where a ring would send 3.6 GB<!-- shown: 58 3.6 -->: $(P - 1)\,H\,(d_v + 1)$ numbers, whatever the length. Joined by lse it is exact, and each rank may hold as much of the cache as it likes. Averaged, it is wrong even with equal shares, since equal numbers of keys do not have equal weight.

All ranks join in the same order, so they agree to the last bit and choose the same token.

Serving engines call this *decode context parallelism*; flash-decoding (chapter 09) does the same inside one GPU. Yang et al. (2024) pass the queries round ("pass-Q") or the keys ("pass-KV"), whichever is smaller.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 8. Count what is sent

Ulysses trades tokens for heads. Seen from above, with the shards of all ranks in one list, its all-to-all is a function.
"""

# %% [markdown]
r"""
### Exercise: `sequence_to_heads`

*Difficulty · importance · minutes*

Write `sequence_to_heads(shards) -> list`: Ulysses' all-to-all, as one function over all ranks.

- `shards[r]` is `(B, H, n_r, d)`: all heads of rank $r$'s tokens; the $n_r$ may differ. Ranks are in the order of the text.
- Entry $r$ of the result is `(B, H / P, n, d)`: heads $rH/P$ to $(r + 1)H/P - 1$ of all $n = \sum_r n_r$ tokens, in the order of the text.
- `ValueError` where $P$ does not divide $H$.
"""


# %% exercise="sequence_to_heads"
def sequence_to_heads(shards):
    """Return each rank's heads, of all tokens."""
    ### BEGIN SOLUTION: All tokens side by side, then a share of the heads for each.
    ranks, heads = len(shards), shards[0].shape[1]
    if heads % ranks != 0:
        raise ValueError(f"{ranks} ranks must divide {heads} heads")
    together = torch.cat(list(shards), dim=2)
    return list(together.split(heads // ranks, dim=1))
    ### END SOLUTION


# %%
check("sequence_to_heads", sequence_to_heads)
# hint("sequence_to_heads")

# %% [markdown]
r"""
Section 5 compared counts with `communication_bytes`. Now derive it. Let $u$ be the bytes of one head of one rank's tokens, $B \cdot n/P \cdot d_k \cdot b$. Then the keys and values of a rank are $2 H_{kv} u$.

**Predict.** Of the queries, keys, values and outputs, Ulysses sends what the other ranks need. A rank has all heads of its tokens and keeps one share in $P$. What is left to send, forward?
"""

# %% [markdown]
r"""
<details><summary>Answer</summary>

$\frac{P-1}{P}\,(2 H + 2 H_{kv})\,u$: queries and outputs are $H$ heads wide each, keys and values $H_{kv}$.

</details>

### Exercise: `communication_bytes`

*Difficulty · importance · minutes*

Write `communication_bytes(scheme, world_size, batch, num_tokens, num_heads, num_kv_heads, d_k, bytes_per_element, backward=False) -> int`: what *one* rank sends for one layer, $d_v = d_k$. `backward=True` is the backward pass *alone*. One rank sends 0.

- `"ring"`: keys and values, $P - 1$ rotations. Backward the same again, and their gradients, which make $P$ rotations.
- `"ulysses"`: as above. Backward as much.
- `"tensor"`: an all-reduce of `(B, n, H · d_k)` numbers: $2(P - 1)/P$ of it. Backward one more.
- Another scheme: `ValueError`. $P$ divides all that it has to.
"""


# %% exercise="communication_bytes"
def communication_bytes(
    scheme,
    world_size,
    batch,
    num_tokens,
    num_heads,
    num_kv_heads,
    d_k,
    bytes_per_element,
    backward=False,
):
    """Return how many bytes one rank sends for one layer's attention."""
    ### BEGIN SOLUTION: One head of a rank's tokens is the unit; the last way is home.
    if scheme not in ("ring", "ulysses", "tensor"):
        raise ValueError(f"no such scheme: {scheme!r}")
    unit = batch * (num_tokens // world_size) * d_k * bytes_per_element
    others, both = world_size - 1, 2 * num_kv_heads * unit
    if scheme == "tensor":
        return 2 * others * num_heads * unit
    if scheme == "ulysses":
        return others * (both + 2 * num_heads * unit) // world_size
    home = world_size * both if backward and others else 0
    return others * both + home
    ### END SOLUTION


# %%
check("communication_bytes", communication_bytes)
# hint("communication_bytes")

# %% [markdown]
r"""
**Predict.** 64 query heads and 8 key/value heads. Forward, does the ring or Ulysses send less on 2, 4, 8 ranks? Divide one formula by the other before you look.
"""

# %% mystnb={"image": {"alt": "Bytes that one rank sends per layer and P tokens of text, forward, against 2, 4, 8 and 16 ranks P. Tensor parallelism rises steepest. The ring stays below Ulysses, which ends at 8 ranks, and goes on alone to 16."}}
ranks = (2, 4, 8, 16)
title = "64 query heads, 8 of keys and values: Ulysses\nruns out of heads before it becomes cheaper"
axes = plotting.new_figure(title, "ranks P", "KB sent per P tokens")
plotting.power_axis(axes, ranks)
shown = {
    "ring": ("blue", (10, 18)),
    "Ulysses": ("orange", (3.2, 44)),
    "tensor": ("green", (3.0, 150)),
}
for scheme, (colour, at) in shown.items():
    usable = [P for P in ranks if scheme == "ring" or P <= 8]
    of = partial(distributed.communication_bytes, scheme.lower())
    sizes = [of(P, 1, P, 64, 8, 128, 2) / 1e3 for P in usable]
    plotting.line(axes, usable, sizes, scheme, colour, at, "o-")
    print(f"{scheme:8}", *(f"{P} ranks: {kb:.1f} KB;" for P, kb in zip(usable, sizes, strict=True)))

# %% [markdown]
r"""
<details><summary>Answer</summary>

The ring, as long as $P < 1 + H/H_{kv}$, which is 9 here; above it Ulysses. But Ulysses without copied keys ends at $P = H_{kv}$, which is 8. With as many key/value heads as query heads the crossing is at 2 ranks already: then Ulysses sends less from 3 on. Grouped queries (chapter 05) are what keeps rings cheap. Tensor parallelism sends most, but is alone in splitting the weights.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 9. How much work is left for a rank?

Equal results are not the purpose; less work for each rank is. Recorded: processor time of the rank that has *most* to do, over that of one process that calls SDPA with `is_causal`; 4 heads of 64, float32. (Against a dense masked table every ring looks good.) Processor time leaves out waiting, for the slowest and for the link: it says how much there is to do, and not how soon it is done.

**Predict.** From which length on does a ring of 2 save a fifth: 512, 1,024, 2,048, 8,192? How close to $1/P$ do 2 and 4 ranks come at 8,192? And what do four ranks without balance do?
"""

# %% guess={"name": "16.share", "kind": "curve", "asks": "Four ranks, zig-zag, forward: what share of one process's processor time does the slowest rank need at each length?", "low": 0, "high": 1.1, "x": [512, 1024, 2048, 4096, 8192], "across": "tokens", "reads": "forward, slowest of 4 zigzag ranks at {x}: {}"}
guess("16.share")

# %%
record = measure.read_record("chapter_16_speed")
alone = {run["length"]: run for run in record["runs"] if run["ranks"] == 1}
part = {}
for run in record["runs"]:
    for way in ("forward", "backward"):
        slowest = max(run[way]) / alone[run["length"]][way][0]
        part.setdefault((run["ranks"], run["layout"], way), []).append(slowest)
lengths = record["settings"]["lengths"]
print("slowest rank / one process  ", *(f"{n:>6,}" for n in lengths))
for (ranks, layout, way), ratios in part.items():
    if ranks > 1:
        print(f"{ranks} ranks, {layout:10} {way:8}", *(f"{one:6.2f}" for one in ratios))
for run in record["runs"]:
    if run["length"] == 4096 and run["ranks"] > 1:
        most = max(run["forward"]) / min(run["forward"])
        print(f"4,096, {run['ranks']} ranks, {run['layout']}: busiest / least busy {most:.2f}")
for n, one in zip(lengths, part[4, "zigzag", "forward"], strict=True):
    print(f"forward, slowest of 4 zigzag ranks at {n:,}: {one:.2f}")

# %% mystnb={"image": {"alt": "Processor time of the slowest rank over that of one process, against the length of the text from 512 to 8192. All lines begin just below 1. Two ranks with zig-zag fall to 0.53, close to a line at one half. Four contiguous ranks fall to 0.50, the same line. Four with zig-zag fall to 0.31, towards a line at one quarter."}}
title = "Longer texts come close to 1/P;\nfour ranks without balance do the work of two"
axes = plotting.new_figure(title, "tokens", "slowest rank / one process")
plotting.power_axis(axes, lengths)
for share, name in ((1, ""), (1 / 2, "1/2"), (1 / 4, "1/4")):
    axes.axhline(share, color=plotting.QUIET, linewidth=1)
    axes.text(460, share - 0.02, name, va="top", color=plotting.QUIET)
shown = {
    (2, "zigzag"): ("blue", (8900, 0.57)),
    (4, "zigzag"): ("green", (8900, 0.33)),
    (4, "contiguous"): ("orange", (8900, 0.45)),
}
for (ranks, layout), (colour, at) in shown.items():
    name = f"{ranks}, {layout}"
    plotting.line(axes, lengths, part[ranks, layout, "forward"], name, colour, at, "o-")
_ = axes.set(xlim=(430, 34_000), ylim=(0, 1.1))
draw_guess(axes, "16.share")

# %% [markdown]
r"""
<details><summary>Answer</summary>

At 512 a ring of 2 saves hardly anything, 0.94: handing over, joining and a step that is written out, where the one process has a fused kernel, cost nearly what is saved; how much each costs was not measured. At 1,024 it saves a fifth, 0.79, and at 8,192 it has reached 0.53 where $1/P$ is 0.50; four ranks reach 0.31 where $1/P$ is 0.25<!-- shown 2: 0.94 0.79 0.53 0.31 -->. What is handed over grows with $n$, the arithmetic with $n^2$.

Contiguous, four ranks come to 0.50, no better than a balanced two. At 4,096 tokens the busiest of them takes 3.93 times the time of the least busy; with zig-zag, 1.07 times<!-- shown 2: 0.50 3.93 1.07 -->.

By the clock a ring does worse than this: nothing here was timed with a link between devices.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 10. When a rank fails

In a ring of thousands of devices some device fails every day. The neighbours notice first, and what they report is *their* trouble: that they have lost a connection to someone.

**Predict.** Rank 2 of 4 raises an error, ends, is killed, or hangs. Which of the four can its neighbours tell from a slow rank, without waiting for a timeout?
"""

# %% tags=["nbval-ignore-output"] reason="gloo may write a line of its own to stderr"
for fault in faults.FAULTS:
    try:
        distributed.run_ranks(faults.failing_job, 4, fault, 2, timeout=2.0)
    except RuntimeError as error:
        print(f"{fault}: {str(error).split(';')[0]}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The first three: the connection breaks. A rank that hangs keeps it open, and only time will tell; so every group needs a timeout. `run_ranks` names the rank at fault and not the one that complained first: the one that raised something other than a lost connection, or ended without a report, or reported nothing in time. Then it ends all the others; no process is left.

</details>

**Check yourself.** Rank 3 leaves a loop one rotation early. Who hangs?

<details><summary>Answer</summary>

Rank 0, which waits for what rank 3 should send, and rank 2, whose block nobody takes; in time, every rank still in the loop. Rank 3 itself looks healthy. Count rotations first when a ring hangs.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 11. A stream without end

Many devices are one answer. The other is to forget. A rolling cache (chapter 10) keeps the last `window` keys and a few **sinks**, the first tokens of the text. Two questions remain: do sinks matter, and which positions should RoPE rotate by?

After 1,000 tokens a window of 60 holds keys 941 to 1,000. If keys are rotated by their positions *in the text*, a sink is 1,000 steps away, farther than any distance seen in training. StreamingLLM (Xiao et al., 2024) rotates by the *place in the cache*.

**Predict.** A window of 3 and 2 sinks. Query 5 has just been appended; tokens count from 0. Which keys are held, at which places?
"""

# %%
print(attention.streaming_positions(7, window=3, num_sinks=2))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Keys 0, 1, 3, 4, 5, at places 0 to 4; key 2 is gone (-1). No distance exceeds `num_sinks + window - 1`.

</details>

### Exercise: `streaming_positions`

*Difficulty · importance · minutes*

Write `streaming_positions(num_tokens, window, num_sinks) -> places`, long `(num_tokens, num_tokens)`.

- Entry `[i, j]`: the place in the cache, from 0, of key $j$ when query $i$ has just been appended; -1 where it is not held.
- The first `num_sinks` keys and the last `window >= 1` keys are held, the query's own among the latter, and none twice.
- Places follow the text's order, without gaps.
"""


# %% exercise="streaming_positions"
def streaming_positions(num_tokens, window, num_sinks):
    """Return where each key is in the cache, for each query."""
    ### BEGIN SOLUTION: Which keys are held? A place counts the held keys before it.
    asked = torch.arange(num_tokens)
    age = asked[:, None] - asked
    kept = (age >= 0) & ((age < window) | (asked < num_sinks))
    return torch.where(kept, kept.cumsum(dim=1) - 1, -1)
    ### END SOLUTION


# %%
check("streaming_positions", streaming_positions)
# hint("streaming_positions")

# %% [markdown]
r"""
Now two models, each of two layers with RoPE, trained on 64 tokens and run up to 1,024 with caches of 64 keys. One learned plain text. The other learned segments of random symbols that repeat after a start token; it reads segments of 16, each given twice. The second copy can be predicted, and only it is judged here. Recorded for three seeds, as perplexity, $e^\text{loss}$: 1 is perfect, and a blind guess among the 32 symbols has 32.

**Predict.** For which model does evicting the first tokens matter, and how much? And which is worse: evicting them, or keeping everything, positions and all?
"""

# %% guess={"name": "16.kept", "kind": "curve", "asks": "What is the perplexity of the text model, trained on 64 tokens, if its cache keeps everything up to each length?", "low": 1, "high": 100, "log": true, "x": [64, 128, 256, 512, 1024], "across": "tokens", "reads": "text, everything kept up to {x}: {}"}
guess("16.kept")

# %%
record = measure.read_record("chapter_16_long")
found = {}
for run in record["streams"]:
    name = {"text": "all", "segments": "second copy"}[run["model"]]
    losses = list(run["loss"][name].values())
    found.setdefault((run["model"], run["cache"]), []).append(losses)
print("perplexity up to, mean of 3 seeds                64   128   256   512 1,024")
for (name, cache), losses in found.items():
    mean = torch.tensor(losses).exp().mean(0)
    said = (f"{one:5.2f}" if one < 100 else f"{one:5.0f}" for one in mean)
    print(f"{name:12}{cache:35}", *said)
kept = torch.tensor(found["text", "everything, by position"]).exp().mean(0)
for n, one in zip((64, 128, 256, 512, 1024), kept, strict=True):
    print(f"text, everything kept up to {n:,}: {one:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

For the second, a little: its copies are at 1.13 without the first tokens and at 1.10 with them, in each of three seeds the same way. The text model does not notice: 4.17 with sinks and without<!-- shown: 1.13 1.10 4.17 -->.

Keeping everything is far worse: 27.49 and 222, seven times the blind guess<!-- shown: 27.49 222 -->; the distances were never trained. And sinks rotated by their positions in the text do harm: 6.13<!-- shown: 6.13 -->.

</details>
"""

# %% [markdown]
r"""
Why does one model need its first token and the other not? A tempting answer: because one was trained with a start token, and the texts of the other began anywhere. That can be tried: both kinds of text, each with a start token and without, two seeds. `on first` is the weight on the first token, in the head of the last layer that puts most there: of queries 2 to 15, in segments the first copy of all, and of queries 33 to 47, the first copy of a fresh segment.

**Predict.** Text model *with* a start token: will it rest there? Segments *without* one: will eviction be free?
"""

# %%
record = measure.read_record("chapter_16_sinks")
with_sinks, without = "window of 60, 4 sinks", "window of 64"
print("texts     start token  on first, later   loss with sinks, without   cost")
for run in record["runs"]:
    judged = {"text": "all", "segments": "second copy"}[run["text"]]
    kept, lost = (run[cache][judged]["loss"] for cache in (with_sinks, without))
    early, later = (max(run["on_first"][span][-1]) for span in ("2 to 15", "33 to 47"))
    cost = abs(lost - kept) if round(lost - kept, 3) == 0 else lost - kept  # no minus before 0
    print(f"{run['text']:10}{run['start token']!s:13}{early:8.2f} {later:6.2f}",
          f"{kept:17.3f} {lost:8.3f} {cost:6.3f}")  # fmt: skip

# %% [markdown]
r"""
<details><summary>Answer</summary>

Neither. Even with a start token the text model does not rest on it, and evicting it costs 0.004 nats at most; segments without one put little weight on their first token, and its eviction costs 0.002 and 0.010<!-- shown: 0.004 0.002 0.010 -->. Only with both, a token that stands for "nothing yet" *and* a text in which there is often nothing to look up, do the heads of the last layer rest on it, with up to 0.76 and 0.79 of their weight; there eviction costs most, 0.015 and 0.045 nats<!-- shown: 0.76 0.79 0.015 0.045 -->. Two seeds each.

</details>
"""

# %% [markdown]
r"""
They rest there only in the very first copy; in the first copy of the next segment the start token has no weight at all. Eviction happens later still, so what makes it cost something was not measured. These models are small, and so is what eviction costs. Xiao et al. report that large language models break down without their first tokens.
"""

# %% [markdown]
r"""
**Find the error.** A cache is judged by all that it reads. In these records, the perplexity of *first* copies, which nobody can predict: 223 up to 64 tokens, then 972 with sinks by place, 2,145 with the window alone. "Evicting the first tokens more than doubles the perplexity."
"""

# %%
found = {}
for run in measure.read_record("chapter_16_long")["streams"]:
    if run["model"] == "segments":
        found.setdefault(run["cache"], []).append(list(run["loss"]["first copy"].values()))
for cache, losses in found.items():
    print(f"{cache:35}", *(f"{one:6,.0f}" for one in torch.tensor(losses).exp().mean(0)))
for run in record["runs"]:
    if run["text"] == "segments" and run["start token"]:
        sure = (run[cache]["first copy"] for cache in (with_sinks, without))
        print("probability of its best guess, and how often it is right, with sinks and without:",
              *(f"{one['sure']:.2f} {one['right']:.2f};" for one in sure))  # fmt: skip

# %% [markdown]
r"""
<details><summary>Answer</summary>

A blind guess has a perplexity of 32, so 223 is not what "knowing nothing" costs, and a model that keeps everything does better on this count than one with sinks. The number measures confidence: in the second record (two models of the same recipe, texts of 512) the model takes a fresh segment for an old one, is 0.80 to 0.86 sure of its best guess, and right in 0.03 of the cases, which is 1 in 32<!-- shown: 0.80 0.86 0.03 -->. Without the sinks it is a little surer, and that is all that "more than doubles" says.

A measurement is worth something if a healthy model has a known value there. Loss where nothing can be predicted has one, $\ln 32$, and it should be printed beside the model's.

</details>
"""

# %% [markdown]
r"""
**Find the error.** Text D, under "Solutions (2024)": "Ring Attention: Distribute attention across devices", "Streaming Attention: Process incrementally", "Sparse + Dense hybrid: Local sparse + global dense".

<details><summary>Answer</summary>

Ring Attention and StreamingLLM came in 2023. "Incremental" is what any cache does; what StreamingLLM added is the finding that a window alone breaks models that rely on their first tokens, and that a few sinks, rotated by place, repair them.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 12. Stretch what was trained

Chapter 07 stretched RoPE without training: positions interpolated, the NTK-aware base, YaRN. Published models do one thing more: they train a little further, at the new length. Here are the models of chapter 07, trained on 64 characters, stretched to 256, and given 30 further steps on texts of 256. The first training took 600.

**Predict.** Which gains most from the 30 steps? Which is best after them?
"""

# %%
table = {}
for run in measure.read_record("chapter_16_long")["runs"]:
    for when in ("at 256", "further"):
        table.setdefault((run["scheme"], when), []).append(list(run[when].values()))
print("loss at                              64   128   256   512   range at 256")
for (scheme, when), losses in table.items():
    runs = torch.tensor(losses)
    said = {"at 256": "stretched to 256", "further": "and 30 steps"}[when]
    spread = f"{runs[:, 2].min():.2f} to {runs[:, 2].max():.2f}"
    print(f"{scheme:12}{said:20}", *(f"{one:5.2f}" for one in runs.mean(0)), "", spread)

# %% [markdown]
r"""
<details><summary>Answer</summary>

RoPE left as it was gains most, from 3.13 to 2.12, and stays the worst<!-- shown: 3.13 2.12 -->. YaRN is best at 256 before and after: 1.60, then 1.44. At 64 characters it loses almost nothing, 1.43 where the model had 1.42 before it was stretched<!-- shown: 1.60 1.44 1.43 1.42 -->. Interpolation loses at short lengths: 1.42 has become 1.93<!-- shown: 1.42 1.93 -->.

At 512 all of them fail again: what is stretched to 256 is trained for 256. And a window of 16 (chapter 07) reads any length without stretching: to predict characters of this text, no more is needed.

</details>
"""

# %% [markdown]
r"""
Section 6 left the third challenge of text D's list: "Training: Gradient instability". The claim names no gradient, so take the simplest: its norm at the start of training.

**Predict.** The same 2,048 characters as 32 texts of 64, 8 of 256 or 2 of 1,024. Does the norm of the gradient grow with the length?
"""

# %%
text = data.character_text()
for seed in (0, 1):
    norms = []
    for length in (64, 256, 1024):
        torch.manual_seed(seed)
        sizes = {"d_model": 64, "num_heads": 4, "num_layers": 2, "positions": RotaryPositions(16)}
        model = models.PositionedTransformer(text.num_characters, **sizes)
        generator = torch.Generator().manual_seed(seed)
        given, targets = data.random_windows(text.train, length, 2048 // length, generator)
        scores = model(given, attention.causal_mask(length, length))
        F.cross_entropy(scores.mT, targets).backward()
        norms.append(torch.stack([p.grad.norm() for p in model.parameters()]).norm().item())
    print(f"seed {seed}, texts of 64, 256, 1,024:", *(f"{norm:.1f}" for norm in norms))

# %% [markdown]
r"""
<details><summary>Answer</summary>

No: between 1.1 and 1.6 at all three lengths<!-- shown 2: 1.1 1.6 -->. That is no proof of stability: it is the first step of a model with two layers. Whether long texts make the training of a large model unstable would have to be seen in its loss, and neither the text nor this chapter shows such a run.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 13. One layer that sees everything

A layer with a window costs linear time and a cache of fixed size. Published models mix: a few layers see the whole text, the others a window. Chapter 08's recall asks for the value of a key somewhere in a list; a window of 16 does not reach far.

**Predict.** Two layers, trained on lists of 2 to 16 pairs, asked for 4 to 64: two windows; a window, then full attention; full, then a window. Which of the three recall 64 pairs?
"""

# %%
rows = {}
for name in ("chapter_08_recall", "chapter_16_recall"):
    for run in measure.read_record(name)["runs"]:
        kinds = run.get("layers") or {"window of 16, 4 heads": ["window"] * 2}.get(run["model"])
        if kinds:
            shares = list(run["recalled"].values())
            rows.setdefault(", then ".join(kinds), []).append(shares)
print("recalled, mean of 3 seeds   4    16    32    64 pairs")
for name, shares in rows.items():
    print(f"{name:22}", *(f"{one:5.2f}" for one in torch.tensor(shares).mean(0)))
for every in (1, 2, 4, 6):
    held = sum(100_000 if layer % every == 0 else 1_024 for layer in range(24))
    print(
        f"24 layers, 1 global in {every}: {held / 24 / 100_000:.0%} of the cache at 100,000 tokens"
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

Both mixed stacks, in either order; two windows fall to 0.03<!-- shown: 0.03 -->. One global layer of two is enough here, and with windows of 1,024 one in six leaves 18% of the cache<!-- shown: 18% -->.

What this cannot show: each answer needs one look at one place. A task that needs several looks, one after another, at distant places may need several global layers; and whether a real model loses by it is a question about real texts.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 14. Read from a memory

What has left the window can still be looked up. Memorizing Transformers (Wu et al., 2022) set old keys and values aside; each query *searches* them for the `top_k` that score highest, attends to these, and a learned gate $g$ per head mixes that with the text nearby:

$$\text{out} = g\cdot\text{far} + (1 - g)\cdot\text{near}, \qquad g = \sigma(\text{gate})$$

**Predict.** A fact is stored in a memory of 4,096 keys, and the query is close to its key. Is it read better with `top_k` 1, 32 or 4,096?
"""

# %%
draw = normal(4)
memory_key, memory_value = draw(1, 1, 4096, 32), draw(1, 1, 4096, 32)
query = memory_key[:, :, 1234:1235] + 0.3 * draw(1, 1, 1, 32)
key, value, fact = draw(1, 1, 1, 32), draw(1, 1, 1, 32), memory_value[0, 0, 1234]
for gate, top_k in ((-20.0, 1), (20.0, 1), (20.0, 4), (20.0, 32), (20.0, 4096)):
    given = (query, key, value, memory_key, memory_value, top_k)
    out = attention.memory_attention(*given, torch.tensor([gate]).double())[0, 0, 0]
    like = F.cosine_similarity(out, fact, dim=0).item()
    where = "nearby only" if gate < 0 else f"top_k {top_k:5,}"
    print(f"{where}: cosine with the fact {like:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

With few: 1.00 for one, 0.78 for 32, 0.49 for all<!-- shown: 1.00 0.78 0.49 -->. Thousands of keys with small scores outweigh one with a large score. But the one that scores highest may be the wrong one; then a few more help.

</details>

### Exercise: `memory_attention`

*Difficulty · importance · minutes*

Write `memory_attention(query, key, value, memory_key, memory_value, top_k, gate) -> out`.

- `query`, `key` `(B, H, L, d_k)`, `value` `(B, H, L, d_v)`: near is causal attention over them.
- `memory_key` `(B, H, M, d_k)`, `memory_value` `(B, H, M, d_v)`: far is attention over those `top_k` (all, if there are fewer) that score highest for this query and head, normalised over them alone.
- `gate` is `(H,)`. Both are scaled.
"""


# %% exercise="memory_attention"
def memory_attention(query, key, value, memory_key, memory_value, top_k, gate):
    """Mix attention nearby with attention to the few best memories."""
    ### BEGIN SOLUTION: Near; choose, then softmax over the chosen; mix by the gate.
    nearby = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    match = query @ memory_key.mT * query.shape[-1] ** -0.5
    count = min(top_k, memory_key.shape[2])
    best, place = match.topk(count, dim=-1)
    table = torch.zeros_like(match).scatter(-1, place, best.softmax(-1))
    share = torch.sigmoid(gate)[:, None, None]
    return share * (table @ memory_value) + (1 - share) * nearby
    ### END SOLUTION


# %%
check("memory_attention", memory_attention)
# hint("memory_attention")

# %% [markdown]
r"""
The search compares each query with the whole memory: exact, and linear in its size. Chapter 08's buckets (LSH) look only at keys that share a bucket with the query.

**Predict.** For 16,384 memories: how often is the fact among the best 1, 8, 32 of an exact search? And among what 1, 4 or 8 rounds of 16 buckets find, looking at how much of the memory?
"""

# %%
draw = normal(5)
rotations = draw(8, 32, 8)
for size in (1_024, 16_384):
    stored = F.normalize(draw(size, 32), dim=-1)
    asked = torch.arange(256)
    noisy = F.normalize(stored[asked] + 0.15 * draw(256, 32), dim=-1)
    scores = noisy @ stored.mT
    ranks = (scores > scores[asked, asked][:, None]).sum(-1)
    exact = [f"top {k} {(ranks < k).double().mean():.3f}" for k in (1, 8, 32)]
    print(f"{size:,} memories, exact:", ", ".join(exact))
    buckets = torch.stack([attention.lsh_buckets(stored, one) for one in rotations])
    theirs = torch.stack([attention.lsh_buckets(noisy, one) for one in rotations])
    shared = theirs[:, :, None] == buckets[:, None]
    for rounds in (1, 4, 8):
        seen = shared[:rounds].any(0)
        hit = seen[asked, asked].double().mean()
        print(f"  {rounds} rounds: found {hit:.2f}, looked at {seen.double().mean():.0%}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The exact search has it among the best eight nearly always. One round of buckets finds it in two cases of five; eight rounds find 0.98 of all facts, and have by then looked at 42% of the memory<!-- shown: 0.98 42% -->. Published systems use indexes that are better than these; the trade between recall and work remains.

</details>

**Find the error.** Among the uses of cross-attention text D lists "Retrieval-augmented generation (query attends to documents)".

<details><summary>Answer</summary>

Retrieval is a *search*, outside attention: nearest neighbours among documents. What reads the result differs. RAG (Lewis et al., 2020) puts the text in front of the question, for plain self-attention; RETRO (Borgeaud et al., 2022) reads it by cross-attention; here it is one more softmax.

</details>
"""

# %% [markdown]
r"""
Mentioned here without a measurement:

- *LSLM* (Ma et al., 2024), "Language Model Can Listen While Speaking": a decoder that generates speech while a second stream brings in what it hears; the two streams are fused inside the layers, and the paper compares early, middle and late fusion. It is about when to stop talking, not about long texts.
- *CoRAG* (Wang et al., 2025), chain-of-retrieval augmented generation: a model trained to search several times, each query made from what was found before, and only then to answer. Attention is left as it is; the search is what is chained.
"""

# %% [markdown]
r"""
Text E describes projects of these two names, with "Cross-attention: Coordinates both streams" in one and "Context integration: Cross-attention" in the other. The two papers do without it: the one adds what it hears to the stream of the decoder, the other puts what it found into the prompt.
"""

# %% [markdown]
r"""
## Yours: a ring of processes, with your functions

Your step, in your order, in four real processes; your layout under the balance of work; your all-to-all, your count of bytes, your cache and your memory. What is not passed yet is the course's.
"""

# %% tags=["nbval-ignore-output"] reason="whose functions run, and how fast, depends on the reader"
parts = yours(
    "ring_schedule",
    "ring_attention_step",
    "ring_attention",
    "zigzag_split",
    "sequence_to_heads",
    "communication_bytes",
    "streaming_positions",
    "memory_attention",
)
parts


# %%
def ring_of(schedule, step):
    """Return what one rank does, made of a given order and a given step."""

    def attend(query, key, value, begin, rank, world_size):
        place = torch.arange(query.shape[2])
        out, lse = torch.zeros_like(value), query.new_full(query.shape[:3], -torch.inf)
        for turn, source in enumerate(schedule(world_size, rank), 1):
            finish = begin(key, value) if turn < world_size else lambda: (None, None)
            where = rank * len(place) + place, source * len(place) + place
            out, lse = step(out, lse, query, key, value, *where)
            key, value = finish()
        return out

    return attend


def on_ranks(attend, given):
    """Send a ring attention to four processes; return the whole text's output."""
    return torch.cat(distributed.run_ranks(jobs.learner_job, 4, attend, given), dim=2)


# %%
def chapter(parts):
    """Share a text out over real processes; balance, trade, count, stream and remember."""
    draw = normal(6)
    given = draw(3, 1, 4, 32, 8).unbind()
    own = ring_of(parts.ring_schedule, parts.ring_attention_step)
    shards = given[0].split([3, 9, 4, 16], dim=2)
    work = distributed.ring_work(parts.zigzag_split(32, 4)).sum(1)
    memory = draw(2, 1, 4, 50, 8).unbind()
    mixed = parts.memory_attention(*given, *memory, 5, draw(4))
    schemes = ("ring", "ulysses", "tensor")
    sizes = (4, 1, 4096, 32, 8, 128, 2, True)
    return {
        "a ring of your step": on_ranks(own, given)[0, 0, -1, :3],
        "your ring": on_ranks(parts.ring_attention, given)[0, 0, -1, :3],
        "one process": F.scaled_dot_product_attention(*given, is_causal=True)[0, 0, -1, :3],
        "pairs by rank": work,
        "heads of rank 2": parts.sequence_to_heads(list(shards))[2][0, 0, -1, :3],
        "bytes, backward": torch.tensor([parts.communication_bytes(s, *sizes) for s in schemes]),
        "places": parts.streaming_positions(12, 3, 2)[11],
        "remembered": mixed[0, 0, -1, :3],
    }


# %% tags=["nbval-ignore-output"] reason="the times, and whose functions run"
note = parts.run(chapter)
for name, value in note.course.items():
    numbers = torch.as_tensor(value).double().flatten().tolist()
    print(f"{name}:", *(f"{number:.3g}" for number in numbers))
note

# %% [markdown]
r"""
## Recap

1. Queries stay, keys and values go round; parts join by their lse. Forward and backward it is attention, to rounding; the gradients of a block make one more rotation, home. A block is multiplied while it is on its way.
2. A causal mask makes contiguous ranks idle in turn, and the ring as slow as without it. Zig-zag gives all ranks the same work.
3. Sequence parallelism (ring, Ulysses) splits the text, tensor parallelism the heads and their weights. What each sends is a formula, and counts agree with it.
"""

# %% [markdown]
r"""
4. At a million tokens attention is nearly all of the arithmetic, and the cache is larger than the model. No table of $n^2$ is stored. A new token asks a split cache: one output and one lse per head come from each rank.
5. A stream keeps a window and sinks, rotated by place. One global layer among local ones restores recall here. A memory is first searched, then read.
"""

# %% tags=["remove-cell"]
progress(16)

# %% [markdown]
"""
**Next**: chapter 17 replaces the cache with a state.
"""

# %% [markdown]
r"""
## Go further

- Liu et al. (2023): Ring Attention. Brandon et al. (2023): stripes. Jacobs et al. (2023): Ulysses. Shoeybi et al. (2019): Megatron-LM.
- Grattafiori et al. (2024): Llama 3, whose training on long texts balances ranks as zig-zag does, and gathers keys and values where a ring hands them on. Yang et al. (2024): a million tokens read and continued, keys or queries passed round.
- Xiao et al. (2024): sinks and streams. Chen et al. (2023), Peng et al. (2023): stretched RoPE.
- Wu et al. (2022), Lewis et al. (2020), Borgeaud et al. (2022): memories, and what reads them.
- Ma et al. (2024), Wang et al. (2025): named above.
"""

# %% [markdown]
r"""
<details><summary>BibTeX</summary>

```bibtex
@misc{liu2023ring,
  title = {Ring Attention with Blockwise Transformers for Near-Infinite Context}, author = {Liu, Hao and Zaharia, Matei and Abbeel, Pieter},
  year = {2023}, url = {https://arxiv.org/abs/2310.01889}}
@misc{brandon2023striped,
  title = {Striped Attention: Faster Ring Attention for Causal Transformers},
  author = {Brandon, William and Nrusimha, Aniruddha and Qian, Kevin and Ankner, Zachary and Jin, Tian and Song, Zhiye and Ragan-Kelley, Jonathan},
  year = {2023}, url = {https://arxiv.org/abs/2311.09431}}
@misc{jacobs2023deepspeed,
  title = {{DeepSpeed} {Ulysses}: System Optimizations for Enabling Training of Extreme Long Sequence Transformer Models},
  author = {Jacobs, Sam Ade and Tanaka, Masahiro and Zhang, Chengming and Zhang, Minjia and Song, Shuaiwen Leon and Rajbhandari, Samyam and He, Yuxiong},
  year = {2023}, url = {https://arxiv.org/abs/2309.14509}}
@misc{shoeybi2019megatron,
  title = {{Megatron-LM}: Training Multi-Billion Parameter Language Models Using Model Parallelism},
  author = {Shoeybi, Mohammad and Patwary, Mostofa and Puri, Raul and LeGresley, Patrick and Casper, Jared and Catanzaro, Bryan},
  year = {2019}, url = {https://arxiv.org/abs/1909.08053}}
@misc{grattafiori2024llama,
  title = {The {Llama} 3 Herd of Models}, author = {Grattafiori, Aaron and Dubey, Abhimanyu and Jauhri, Abhinav and others},
  year = {2024}, url = {https://arxiv.org/abs/2407.21783}}
@misc{yang2024context,
  title = {Context Parallelism for Scalable Million-Token Inference},
  author = {Yang, Amy and Yang, Jingyi and Ibrahim, Aya and Xie, Xinfeng and Tang, Bangsheng and Sizov, Grigory and Reizenstein, Jeremy and Park, Jongsoo and Huang, Jianyu},
  year = {2024}, url = {https://arxiv.org/abs/2411.01783}}
@inproceedings{xiao2024efficient,
  title = {Efficient Streaming Language Models with Attention Sinks}, author = {Xiao, Guangxuan and Tian, Yuandong and Chen, Beidi and Han, Song and Lewis, Mike},
  booktitle = {ICLR}, year = {2024}, url = {https://arxiv.org/abs/2309.17453}}
@misc{chen2023extending,
  title = {Extending Context Window of Large Language Models via Positional Interpolation},
  author = {Chen, Shouyuan and Wong, Sherman and Chen, Liangjian and Tian, Yuandong},
  year = {2023}, url = {https://arxiv.org/abs/2306.15595}}
@misc{peng2023yarn,
  title = {{YaRN}: Efficient Context Window Extension of Large Language Models},
  author = {Peng, Bowen and Quesnelle, Jeffrey and Fan, Honglu and Shippole, Enrico},
  year = {2023}, url = {https://arxiv.org/abs/2309.00071}}
@inproceedings{wu2022memorizing,
  title = {Memorizing Transformers}, author = {Wu, Yuhuai and Rabe, Markus N. and Hutchins, DeLesley and Szegedy, Christian},
  booktitle = {ICLR}, year = {2022}, url = {https://arxiv.org/abs/2203.08913}}
@inproceedings{lewis2020retrieval,
  title = {Retrieval-Augmented Generation for Knowledge-Intensive {NLP} Tasks},
  author = {Lewis, Patrick and Perez, Ethan and Piktus, Aleksandra and others},
  booktitle = {NeurIPS}, year = {2020}, url = {https://arxiv.org/abs/2005.11401}}
@inproceedings{borgeaud2022improving,
  title = {Improving Language Models by Retrieving from Trillions of Tokens}, author = {Borgeaud, Sebastian and Mensch, Arthur and Hoffmann, Jordan and others},
  booktitle = {ICML}, year = {2022}, url = {https://arxiv.org/abs/2112.04426}}
@misc{ma2024language,
  title = {Language Model Can Listen While Speaking}, author = {Ma, Ziyang and Song, Yakun and Du, Chenpeng and Cong, Jian and Chen, Zhuo and Wang, Yuping and Wang, Yuxuan and Chen, Xie},
  year = {2024}, url = {https://arxiv.org/abs/2408.02622}}
@misc{wang2025chain,
  title = {Chain-of-Retrieval Augmented Generation}, author = {Wang, Liang and Chen, Haonan and Yang, Nan and Huang, Xiaolong and Dou, Zhicheng and Wei, Furu},
  year = {2025}, url = {https://arxiv.org/abs/2501.14342}}
```

</details>
"""
