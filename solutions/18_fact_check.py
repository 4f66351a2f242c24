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
# Check what you read: a fact-check clinic and a field guide

*You will be able to*

1. take a claim about attention apart: what can be computed, run, looked up, or not known;
2. recompute it, units and rounding included;
3. write a test that catches real published faults and accepts every right implementation;
4. choose a mechanism from measurements, and find a fault from its symptom;
5. date and cite what this course is built on.

*You need* chapters 03 (attention), 06 (masks), 07 (RoPE, further), 09 (tiles), 10 (caches). The bug hunt visits every chapter; each line of it can be read without having read that chapter.

*Core path · further*
"""

# %% [markdown]
r"""
How to read: each experiment begins with a question. Write down your guess, run the cell, then open the answer.

This course was written alongside published texts on attention. Hundreds of their sentences were checked on the way. This last chapter hands you the tools: first for sentences, then for code, then for choices.
"""

# %%
import collections
import pkgutil
import re
from importlib import import_module
from time import process_time

import torch
from torch.nn import functional as F

from course_utils import attention, check, claims, clinic, hint, measure, plotting, positions, yours
from course_utils.clinic import published, small_models, symptoms
from course_utils.widgets import claim_ledger

plotting.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=3, sci_mode=False, linewidth=100)

# %% [markdown]
r"""
## 1. What a claim needs before it can be judged

Five sentences that were published in some form:

1. "The KV cache of a model of 24 layers and width 2048 takes 402 MB at 2048 tokens in 16 bits."
2. "$QK^\top$ with 512 queries and keys of width 64 takes 67 MFLOPs."
3. "Attention for a batch of 32 at $n = 512$ and $d_k = 64$ takes 0.8 ms; that is 250 TFLOPS."
4. "Attention is permutation-invariant: swapping inputs does not change the output."
5. "GPT and BERT today power ChatGPT."

**Predict.** Which can be settled with a pencil, which with a few lines of code, which only with a machine, and which with none of them?
"""

# %%
cache = 2 * 24 * 2048 * 2048 * 2  # keys and values, layers, tokens, width, bytes
print(f"1. {cache:,} bytes: {cache / 1e6:.1f} MB, {cache / 2**20:.0f} MiB")
product = 2 * 512 * 512 * 64
print(f"2. one product {product / 1e6:.1f} MFLOP, both {2 * product / 1e6:.1f}")
flops = 32 * 4 * 512 * 512 * 64
print(f"3. {flops / 1e9:.2f} GFLOP in 0.8 ms: {flops / 0.8e-3 / 1e12:.1f} TFLOPS, one head")
x = torch.randn(1, 5, 4, generator=torch.Generator().manual_seed(0))
order = torch.tensor([3, 0, 4, 1, 2])


def layer(x):
    return attention.scaled_dot_product_attention(x, x, x)


print("4. output unchanged by a shuffle:", torch.allclose(layer(x[:, order]), layer(x)))
print("   output shuffled alike:        ", positions.is_permutation_equivariant(layer, x, order))

# %% [markdown]
r"""
<details><summary>Answer</summary>

1. **Holds** for one sequence, and if MB means $10^6$: 402.7, cut off<!-- shown: 402.7 -->. A text that writes 384 for the same number means MiB.
2. **Wrong**: 33.6. The 67 is both products<!-- shown: 33.6 67.1 -->. A pencil is enough.
3. **Wrong** as arithmetic: 2.7 TFLOPS for one head<!-- shown: 2.7 -->. How long it takes *depends on the machine*, so a text must name one.
4. **Wrong**, in one word: equi*variant*. The output is shuffled along with the input. It would hold for a mean over the tokens.
5. Two claims in one. ChatGPT is built on GPT models, as its maker said; BERT is an encoder, and section 11 shows why such a model cannot write. None of this can be run from outside: it is **looked up**, and cited.

</details>
"""

# %% [markdown]
r"""
So there are four ways to check: **computed** (arithmetic), **run** (code), **looked up** (the cited work), **read** (the sentence contradicts itself or says nothing). (Some claims of the ledger are only **remembered** from the literature, and say so.) And there are five verdicts: confirmed, corrected (true with a condition), wrong, hardware-dependent, unverifiable.

"Attention works similarly to the human brain" is of the last kind. So are "Copilot attends to your comments" and "in my research I have found": no observation is named that could decide them. They are neither right nor wrong; they are not claims yet.

Published figures fail at their units more often than at their sums. When does "402 MB" hold?
"""

# %% [markdown]
r"""
### Exercise: `unit_verdict`

*Difficulty · importance · minutes*

Write `unit_verdict(stated, unit, num_bytes) -> str`: what a ledger says of "`stated` `unit`".

- `stated` is a decimal string as printed, without sign or exponent: `"402"`, `"1.50"`. `unit` is one of B, kB, MB, GB, TB; `num_bytes` is the exact size, an int of at least 0.
- Let $u$ be one in the last written digit (1 for 402, 0.01 for 1.50) and $x$ the size in powers of 1000. `"confirmed"` if $\text{stated} - u/2 \le x < \text{stated} + u$: rounded or cut off.
- Otherwise `"corrected"` if the same holds in powers of 1024; otherwise `"wrong"`.
- Compare exactly: do not use floats.
"""


# %% exercise="unit_verdict"
def unit_verdict(stated, unit, num_bytes):
    """Return "confirmed", "corrected" or "wrong" for a size stated in a unit."""
    ### BEGIN SOLUTION: One in the last digit; the size in powers of 1000, then of 1024; exact numbers.
    places = len(stated.partition(".")[2])
    digits = int(stated.replace(".", ""))
    power = ["B", "kB", "MB", "GB", "TB"].index(unit)
    for base, verdict in ((1000, "confirmed"), (1024, "corrected")):
        one = base**power  # times 2 and 10**places, everything is an integer
        if (2 * digits - 1) * one <= 2 * num_bytes * 10**places < 2 * (digits + 1) * one:
            return verdict
    return "wrong"
    ### END SOLUTION


# %%
check("unit_verdict", unit_verdict)
# hint("unit_verdict")  # remove the first # for a hint; each call gives one more

# %%
for size in ("402 MB", "402.7 MB", "384 MB", "400 MB", "0.4 GB"):
    print(f"{size:>8}: {clinic.unit_verdict(*size.split(), cache)}")

# %% [markdown]
r"""
**Check yourself.** A text says "about 500 MB" of these 402,653,184 bytes. What does `unit_verdict` say, and is it fair?

<details><summary>Answer</summary>

Wrong. It reads "500" as three digits. "About" withdraws the last digits, and no rule can tell how many. The ledger therefore calls such a sentence *corrected* and gives the number. A text that writes "0.5 GB" claims one digit, and is judged by one.

</details>
"""

# %% [markdown]
r"""
## 2. The whole ledger, once more

Every claim that was checked is in a ledger. Those that were run or computed have a function that repeats the check, using only the package: `claims.recompute("07-14")`.

**Predict.** How long will it take to recompute all of them, and will one verdict differ from the ledger's?
"""

# %%
ledger = {claim["id"]: claim for claim in claims.ledger()}
found, moved = {}, []
start = process_time()
for chapter in sorted({claim["chapter"] for claim in ledger.values()}):
    how = {claim["how"] for claim in ledger.values() if claim["chapter"] == chapter}
    if how & {"run", "computed"}:
        found |= dict(claims.recompute_all(chapter))
moved = [name for name, one in found.items() if one.verdict != ledger[name]["verdict"]]
seconds = process_time() - start
print(f"{len(found)} claims recomputed; verdicts that moved: {moved or 'none'}")

# %% tags=["nbval-ignore-output"] reason="a time"
print(f"{seconds:.1f} CPU-seconds")

# %%
for name in ("02-06", "03-07", "03-31", "07-14", "09-14"):
    print(f"{name} {ledger[name]['claim'][:76]}")
    print(f"      {found[name].measured.split(';')[0]}\n      {found[name].verdict}\n")

# %%
verdicts = ["confirmed", "corrected", "wrong", "hardware-dependent", "unverifiable"]
ways = ["run", "computed", "looked up", "read", "remembered"]
counted = collections.Counter((c["how"], c["verdict"]) for c in ledger.values())
print(f"{'':18}" + "".join(f"{way:>12}" for way in ways))
for verdict in verdicts:
    print(f"{verdict:18}" + "".join(f"{counted[way, verdict]:>12}" for way in ways))
if moved:
    raise ValueError(f"every verdict must be the ledger's, got others for {moved}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Less than twenty seconds: most are arithmetic or a few tensors, and what needs training reads a record. None moved. That is a test of this course as well: if somebody changes one figure of the ledger, or one function of the package, the last cell stops.

What was only remembered or looked up is not proved by this. It can be no better than its source, and the ledger says which kind it is.

</details>

Here is the same ledger to search. It needs no kernel.
"""

# %% tags=["nbval-ignore-output"] reason="a widget has a new id in every run"
measured = {name: finding.measured for name, finding in found.items()}
claim_ledger(claims.ledger(), claims.timeline(), found=measured)

# %% [markdown]
r"""
Where do texts go wrong? The next cell sorts the wrong and corrected claims by a few words of the correction. It is a rough sieve: a claim lands in the first kind on the list whose words it contains.

**Predict.** Which is most frequent: a wrong unit, a forgotten factor, one head taken for the whole model, a wrong axis, a word like "always", or a wrong date or paper?
"""

# %%
KINDS = {
    "never measured": r"measured|noise|untrained|drawn|prints|the text says|the code",
    "figure or unit": r"\b[KMGT]i?B\b|gigabytes|FLOP|\d\.\d{3}|sigma|\d ?%|\d\.\d+x",
    "one head, layer or text for all": r"head|per layer|a layer\b|sequences?\b|batch|encoder",
    "factor or term left out": r"leaves? out|left out|factor|missing|\b[Pp]lus|\balso\b|drops",
    "axis, mask or position": r"ax[ie]s|row|column|shape|mask|causal|position|equivariant|over",
    "date, name or paper": r"\b(19|20)\d\d\b|et al|paper|[Kk]ernel|BERT|GPT|dditive",
    "absolute word": r"\b(only|all|never|always|any|every|identical|not|no|needs?)\b",
}


def kind(claim):
    """Return the first kind whose words occur in the correction or in the claim."""
    text = claim["correct"] + " " + claim["claim"]
    kinds = [name for name, words in KINDS.items() if re.search(words, text)]
    return kinds[0] if kinds else "other"


amiss = [c for c in ledger.values() if c["verdict"] in ("wrong", "corrected")]
for name, count in collections.Counter(map(kind, amiss)).most_common():
    print(f"{count:4}  {name}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Figures and units, axes and masks, and one head or layer taken for the whole: these three make up more than half. What they have in common is a missing *of what*: one product or both, one head or the model, one sequence or a batch, along which axis. Most wrong sentences about cost become right when they say what they count.

That is the whole method: before you ask whether a number is right, ask what it is the number *of*.

</details>
"""

# %% [markdown]
r"""
## 3. A test instead of a look

Sentences can be recomputed. Code has to be *tested*. This attention was published, in a different layout:

```python
scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
weights = scores.softmax(dim=-1)
if attn_mask is not None:
    weights = weights * attn_mask
return weights @ value
```

**Find the error.** It runs, its shapes are right, it forgets nothing. On which inputs does it differ from attention?

<details><summary>Answer</summary>

On every input with a mask that hides something. The hidden keys are taken out only after the softmax has given them a share of the weight, so the rows no longer sum to 1: the output points the right way and is too short. Nobody sees this by looking.

</details>
"""

# %% [markdown]
r"""
In the next four exercises the answer is itself a test. It takes one implementation and returns `True` to accept it, `False` to refuse it. `check` then tries your test on a panel: right implementations of several kinds, and one published fault at a time.

- It must accept **every** implementation that keeps the contract: loops, einsum, PyTorch's own, tiles or none; equal to rounding ($10^{-8}$ relative), not to the last bit.
- It must refuse each fault, and an implementation that raises. No exception escapes the test.
- Asked twice, it says the same; it leaves global random states alone.
- Implementations are called positionally, with float64 tensors of at most 64 tokens. The package may be used.
"""

# %% [markdown]
r"""
### Exercise: `accepts_attention`

*Difficulty · importance · minutes*

Write `accepts_attention(attention) -> bool`, where `attention(query, key, value, attn_mask=None)` should be chapter 03's: `(..., L, d_k)`, `(..., S, d_k)`, `(..., S, d_v)` with zero to two leading axes; a boolean mask, True = may attend; zeros for a query that may see nothing; inputs unchanged.

Faults on the panel: no scale, or $1/d_k$, $1/\sqrt{d_v}$, $1/\sqrt S$; a softmax over the queries; the mask ignored, inverted, or applied after the softmax; NaN or the mean on an empty row; the query or the mask changed; dropout left on; weights rounded to bfloat16; errors.
"""


# %% exercise="accepts_attention"
def accepts_attention(attention):
    """Return whether an implementation is attention: True accepts it."""
    ### BEGIN SOLUTION: Sizes that differ, with and without a mask, an empty row; copies go in.
    generator = torch.Generator().manual_seed(0)
    shapes = ((2, 5, 4), (2, 7, 4), (2, 7, 6))
    given = [torch.randn(*s, generator=generator, dtype=torch.float64) for s in shapes]
    mask = torch.rand(5, 7, generator=generator) < 0.5
    mask[1] = False
    for inputs in (given, [*given, mask]):
        want = F.scaled_dot_product_attention(*inputs).nan_to_num(0.0)
        handed = [x.clone() for x in inputs]
        try:
            right = torch.allclose(attention(*handed), want, rtol=1e-8)
        except Exception:
            return False
        if not right or not all(map(torch.equal, handed, inputs)):
            return False
    return True
    ### END SOLUTION


# %%
check("accepts_attention", accepts_attention)
# hint("accepts_attention")

# %% [markdown]
r"""
## 4. What a good test needs

Five tests of attention. The first looks at one input with one key, the second at square random inputs, the third at random sizes and a mask, the fourth at the same, to the last bit; the fifth is the course's own.

**Predict.** Of the faults on the panel, how many does each catch? Does one of them refuse a right implementation?
"""


# %%
def differs(attention, shapes, mask=None, exact=False):
    """Return whether an implementation differs from plain attention on one random input."""
    generator = torch.Generator().manual_seed(1)
    given = [torch.randn(*s, generator=generator, dtype=torch.float64) for s in shapes]
    want = F.scaled_dot_product_attention(*given, attn_mask=mask)
    try:
        out = attention(*given) if mask is None else attention(*given, mask)
        return not (torch.equal(out, want) if exact else torch.allclose(out, want, rtol=1e-8))
    except (RuntimeError, TypeError, AttributeError):
        return True


some = torch.ones(5, 7, dtype=torch.bool).tril(2)
sizes = ((5, 4), (7, 4), (7, 6))
tests = {
    "one input": lambda a: not differs(a, ((2, 4), (1, 4), (1, 4))),
    "square sizes": lambda a: not differs(a, [(6, 6)] * 3),
    "random sizes and a mask": lambda a: not differs(a, sizes, some),
    "the same, to the last bit": lambda a: not differs(a, sizes, some, exact=True),
    "the whole contract": clinic.accepts_attention,
}

# %%
panel = clinic.PANELS["accepts_attention"]
faults = [one for one in panel if not one.is_right]
ways = [one for one in panel if one.is_right]
print(f"{'':24} {'faults caught':>14} {'right ways refused':>20}")
for name, test in tests.items():
    caught = [one.name for one in faults if not test(one.make())]
    refused = [one.name for one in ways if not test(one.make())]
    print(f"{name:24} {len(caught):>8} of {len(faults)} {len(refused):>15} of {len(ways)}")
missed = [one.name for one in faults if tests["random sizes and a mask"](one.make())]
print("missed by random sizes and a mask:")
print("", *missed, sep="\n  ")

# %% [markdown]
r"""
<details><summary>Answer</summary>

With one key every softmax is 1, whatever its scale: fewer than half are caught. With square inputs $\sqrt{d_v}$ and $\sqrt S$ cannot be told from $\sqrt{d_k}$. Sizes that differ and a mask catch most. Asking for the last bit refuses right ways that add in another order: a test that is too strict is wrong as well, and is soon switched off. What is still missed needs a *law*: the empty row, unchanged inputs, a call without a mask.

A test is good if it fails for one reason only: the contract is broken.

</details>
"""

# %% [markdown]
r"""
### Exercise: `accepts_tiling`

*Difficulty · importance · minutes*

Write `accepts_tiling(tiled) -> bool`, where `tiled(query, key, value, block)` should be plain attention, scaled and without a mask, of `(B, H, L, d_k)`, `(B, H, S, d_k)`, `(B, H, S, d_v)`, the same whatever `block` ≥ 1 is; it may exceed S. Scores may reach ±1000. One that takes all keys at once is right too.

Faults: a softmax in each tile, summed or averaged; no scale; the keys that do not fill a block dropped; keys counted by the number of queries; an output as wide as the query; no running maximum; the sum, or the output, not rescaled when the maximum rises; weights rounded to bfloat16.
"""


# %% exercise="accepts_tiling"
def accepts_tiling(tiled):
    """Return whether an implementation gives plain attention for every size of its tiles."""
    ### BEGIN SOLUTION: Small and large scores; blocks that divide, that do not, and that exceed S.
    generator = torch.Generator().manual_seed(0)
    shapes = ((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6))
    for size in (1, 20):
        given = [size * torch.randn(*s, generator=generator, dtype=torch.float64) for s in shapes]
        want = F.scaled_dot_product_attention(*given)
        for block in (1, 2, 3, 7, 10):
            try:
                if not torch.allclose(tiled(*given, block), want, rtol=1e-8):
                    return False
            except Exception:
                return False
    return True
    ### END SOLUTION


# %%
check("accepts_tiling", accepts_tiling)
# hint("accepts_tiling")

# %% [markdown]
r"""
## 5. An implementation with a memory

A cache makes testing harder: what one call leaves behind, the next one reads. This one was published as a layer for generation:

```python
if self.kv_cache is not None:
    x = x[:, -1:]
q, k, v = self.project(x)
if self.kv_cache is not None:
    k = torch.cat([self.kv_cache[0], k], dim=1)
    v = torch.cat([self.kv_cache[1], v], dim=1)
self.kv_cache = (k, v)
return softmax(q @ k.transpose(-2, -1) / math.sqrt(d)) @ v
```

**Find the error.** There are three. Which of them would a test that reads one text, token by token, catch?
"""

# %% [markdown]
r"""
<details><summary>Answer</summary>

- The first call has no causal mask. Token by token, it is never needed: not seen.
- Of several new tokens, only the last is used. Token by token there is only one: not seen.
- The cache is never emptied: the second text reads the first. With one text: not seen.

None of the three. A test of state needs several tokens in first *and* later calls, single ones between them, and two texts in progress.

</details>
"""

# %% [markdown]
r"""
The panel of the next exercise has these and more: no causal mask in the first call, in later ones, or in any; a mask aligned top-left; only the newest of several tokens used, or kept; the past forgotten; nothing kept; the query's own key missing; no scale; another text's cache read; a cache that is not accepted; keys kept in bfloat16.
"""

# %% [markdown]
r"""
### Exercise: `accepts_cache`

*Difficulty · importance · minutes*

Write `accepts_cache(attend) -> bool`, where `attend(query, key, value, cache) -> (out, cache)` reads the next T ≥ 1 tokens of a text: `(B, H, T, d_k)`, `(B, H, T, d_k)`, `(B, H, T, d_v)`. `cache` is `None` at the start of a text, otherwise what the last call for *that* text returned: any object, changed in place or not. So hand each cache in once, and never look inside.

The outputs of a text must be those of one causal pass, however it is cut. Several texts, also with different batch sizes, may be in progress at the same time.
"""


# %% exercise="accepts_cache"
def accepts_cache(attend):
    """Return whether an implementation gives one causal pass, however texts are cut."""
    ### BEGIN SOLUTION: Two texts in turns, pieces of one token and of several; compare with one pass.
    generator = torch.Generator().manual_seed(0)
    for cuts in (((0, 1, 4, 5, 7), (0, 3, 4, 6, 7)), ((0, 3, 4, 6, 7), (0, 1, 4, 5, 7))):
        texts = [[torch.randn(b, 3, 7, d, generator=generator, dtype=torch.float64)
                  for d in (4, 4, 6)] for b in (2, 1)]  # fmt: skip
        caches = [None, None]
        for turn in range(4):
            for i, text in enumerate(texts):
                piece = slice(cuts[i][turn], cuts[i][turn + 1])
                want = F.scaled_dot_product_attention(*text, is_causal=True)[:, :, piece]
                try:
                    out, caches[i] = attend(*(x[:, :, piece] for x in text), caches[i])
                    if not torch.allclose(out, want, rtol=1e-8):
                        return False
                except Exception:
                    return False
    return True
    ### END SOLUTION


# %%
check("accepts_cache", accepts_cache)
# hint("accepts_cache")

# %% [markdown]
r"""
## 6. Bug hunt

Now the other way round. Fifteen faults that were published as code, rebuilt here in a few lines of our own (`course_utils/clinic/published.py`), at least one for each of chapters 02 to 15. The course's own `check` judges them, like an answer of yours.

**Predict.** How many are refused? How many by name? And what does it take to tell them from a right implementation: a large input, or a special one?
"""

# %% tags=["nbval-ignore-output"] reason="a verdict may name two mistakes or one within its time"
reports = {fault: check(fault.exercise, fault.wrong) for fault in published.FAULTS}
for fault, report in reports.items():
    case = report.case or "its cost alone"
    print(f"{fault.chapter:02} {fault.says}\n   {report.headline[9:]:36} {case:.44}")

# %%
refused = sum(not report.passed for report in reports.values())
named = sum(report.misconception is not None for report in reports.values())
print(f"{refused} of {len(reports)} refused, {named} of them by name")

# %% [markdown]
r"""
<details><summary>Answer</summary>

All are refused and all are named<!-- shown: 15 -->. None needs a large input: three tokens are enough, if they are the right three. Values of another width than the keys, a row that may see nothing, positions that do not start at 0, two new tokens at once. One gives right numbers, and only its cost betrays it.

</details>

Chapter 09's sketch of flash attention has three faults at once; `check` names the first. Corrected one by one:
"""

# %%
for left, wrong in published.CORRECTED.items():
    print(f"{left:34} {check('tiled_attention', wrong).headline}")

# %% [markdown]
r"""
With all three corrected there is a fourth: right numbers, but every query at once, so one tile is as long as the text. The formula is not at fault; the algorithm exists to avoid just this.

For chapters 01, 16 and 17 no such code was published, only sentences. A batch of 32 sequences of 50 tokens "runs 1600 time steps one after another". "The $O(n^2)$ attention matrix must be held in memory." "HAT finds attention patterns for hardware."

**Predict.** Which of the three can be run?
"""

# %%
record = measure.read_record("chapter_08_cheaper")
long = [row for row in record["exponents"] if row["lengths"] == "1024 on"]
grows = {row["what"]: row["largest_tensor"] for row in long}
cell = torch.nn.RNNCell(4, 4)
state, steps = torch.zeros(32, 4), 0
for token in torch.zeros(50, 32, 4):  # all sequences of the batch advance together
    state, steps = cell(token, state), steps + 1
print(f"01: {steps} steps, {steps * 32} token updates")
plain, tiles = grows["softmax, written out"], grows["SDPA"]
print(f"16: largest tensor grows as n^{plain:.0f} written out, n^{tiles:.0f} by tiles")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The first two. There are 50 steps; 1600 counts updates that run side by side<!-- shown: 50 1600 -->. The matrix is needed only by code that writes it out. The third can only be looked up: HAT (Wang et al., 2020) searches for sizes of layers and heads, not for patterns of attention.

</details>
"""

# %% [markdown]
r"""
## 7. Which mechanism?

Published guides say: "full attention below 2,048 tokens, sparse above 4,096, linear above 16k"; "MQA: very good; linear: fair"; "at 2,048 tokens, MQA is 1.3 to 1.5 times as fast, linear 2 to 4 times". None says for which task, on which machine, or when it was measured.

A table of scoring functions goes further: 80–90% of a GPU for products, 15–25% for the additive score, the plain product "not used", the scaled one "all transformers". Luong et al. (2015) used the plain product, and T5 (Raffel et al., 2020) is a transformer that does not divide by $\sqrt{d_k}$. Luong's concat and location scores are missing.
"""

# %% [markdown]
r"""
A choice has a cost and a quality. One thing is not a matter of taste: a choice is *beaten* if another costs no more, is no worse, and is better in one of the two. What nothing beats is the **Pareto front**.
"""

# %% [markdown]
r"""
### Exercise: `pareto_front`

*Difficulty · importance · minutes*

Write `pareto_front(cost, quality) -> keep`, float `(n,)`, `(n,)` to bool `(n,)`.

- Less cost and more quality are better.
- A point is dropped when another is at least as good in both and better in one. Equal points stay together.
- n may be 0. There is no NaN. Numbers are compared as they are, without rounding.
"""


# %% exercise="pareto_front"
def pareto_front(cost, quality):
    """Return for each point whether no other point beats it."""
    ### BEGIN SOLUTION: Compare every point with every other: no worse in both, and better in one.
    no_worse = (cost[:, None] <= cost) & (quality[:, None] >= quality)
    better = (cost[:, None] < cost) | (quality[:, None] > quality)
    return ~(no_worse & better).any(dim=0)
    ### END SOLUTION


# %%
check("pareto_front", pareto_front)
# hint("pareto_front")

# %% [markdown]
r"""
Chapter 08 trained small models of the same size to recall values by their keys, with three seeds for each mechanism. Its record says how many of 64 pairs each recalls. What a mechanism must *keep* per layer to read a text of 128 tokens is arithmetic.

**Predict.** Full attention keeps the most and recalls everything. Is it on the front?
"""


# %%
def kept(model, tokens=128, d_model=64):
    """Return how many numbers a layer keeps for a text of so many tokens."""
    numbers = [int(n) for n in re.findall(r"\d+", model)]
    if model.startswith("linear"):
        width = d_model // numbers[0]
        return numbers[0] * (width * width + width)
    if model.startswith("latent"):
        return tokens * numbers[0]
    if model.startswith("window of 16, then"):  # a layer of each kind: their mean
        return (kept("window of 16, 4 heads") + kept("grouped-query, 2 of 4 heads")) // 2
    if model.startswith("window"):
        return 2 * numbers[0] * d_model
    share = 1 if model.startswith("full") else numbers[0] / numbers[1]
    return int(2 * tokens * d_model * share)


runs = collections.defaultdict(list)
for run in measure.read_record("chapter_08_recall")["runs"]:
    runs[run["model"]].append(run["recalled"]["64"])

# %%
names = list(runs)
cost = torch.tensor([float(kept(name)) for name in names])
quality = torch.tensor([sum(seeds) / len(seeds) for seeds in runs.values()])
front = clinic.pareto_front(cost, quality)
for i in cost.argsort(stable=True).tolist():
    mark = "front" if front[i] else ""
    print(f"{names[i]:34} {int(cost[i]):6,} kept {quality[i]:8.4f} recalled {mark}")

# %% mystnb={"image": {"alt": "Share recalled against numbers kept per layer, on a logarithmic axis. Two blue dots, joined by a line, are the front: linear attention with 16 heads at 320 numbers, low, and latent attention at 1,024, at the top. All others are hollow: full attention lies far to the right at the height of the best, the window near the bottom."}}
axes = plotting.new_figure(
    "What nothing beats: little kept, much recalled",
    "numbers kept per layer",
    "share of 64 pairs recalled",
)
plotting.power_axis(axes, (256, 512, 1024, 2048, 4096, 8192, 16384))
axes.plot(cost[~front], quality[~front], "o", color=plotting.QUIET, fillstyle="none")
order = [i for i in cost.argsort(stable=True).tolist() if front[i]]
axes.plot(cost[order], quality[order], "o-", color=plotting.COLOURS["blue"])
labels = {"full, 4 heads": ("right", -0.06), "window of 16, 4 heads": ("left", 0.05),
          "linear, 16 heads": ("left", 0.0), "latent of 8, 4 heads": ("left", -0.06)}  # fmt: skip
for name, (side, above) in labels.items():
    i = names.index(name)
    place = cost[i] * {"left": 1.1, "right": 0.9}[side]
    axes.text(place, quality[i] + above, name, ha=side, va="center")
_ = axes.set(xlim=(220, 21000), ylim=(-0.05, 1.08))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Not here, by a hair: several others recall as much to the third digit and keep a quarter or less<!-- shown 2: 1.0000 0.9999 1,024 16,384 -->. The front compares means over three seeds, and differences in the fourth digit are noise: take these models as level, and choose the cheapest.

Note what the picture is a picture *of*: recall of 64 pairs by models of 111,424 weights. On another task the front is different.

</details>

"Smaller heads are faster, larger ones more expressive" and "$h = d_{model}/64$" are of the same kind: at a fixed width the operations do not change with the number of heads (chapter 05).
"""

# %% [markdown]
r"""
The guide: what you have, what to do, and the measurement behind it. Each row names its record, with date and machine.

**Predict.** From which length on is a window of 128 tokens faster than causal attention? The published answer was 4,096.
"""


# %%
records = {
    name: measure.read_record(name)
    for name in (
        *("chapter_05_multi_head", "chapter_07_positions", "chapter_08_cheaper"),
        *("chapter_08_recall", "chapter_09_production", "chapter_09_tiled"),
        *("chapter_10_decode", "chapter_10_training", "chapter_12_stability"),
        *("chapter_17_cost", "chapter_17_recall"),
    )
}


def pick(rows, value, **wanted):
    """Return one value of the one row that has these others."""
    (row,) = [row for row in rows if all(row.get(k) == v for k, v in wanted.items())]
    return row[value]


def mean(rows, length, scheme):
    """Return the mean loss on text at a length, over the seeds, of a scheme of positions."""
    own = [r["loss"][length] for r in rows if (r["task"], r["scheme"]) == ("text", scheme)]
    return sum(own) / len(own)


at = {name: records[name]["runs"] for name in records}


def recalls(model, pairs):
    """Return the mean share that a model of chapter 17 recalls after 1,000 steps."""
    own = [r for r in at["chapter_17_recall"] if (r["model"], r["steps"]) == (model, 1000)]
    return sum(r["recalled"][pairs] for r in own) / len(own)


# %%
cheaper = records["chapter_08_cheaper"]
short, chunks = (
    {n: pick(rows, "times_slower", length=n, **more)["causal"] for n in (512, 8192)}
    for rows, more in ((cheaper["window"], {"window": 128}), (cheaper["causal_linear"], {}))
)

# %%
way = {r["way"]: r["over_sdpa"] for r in at["chapter_09_production"]}
token = {r["way"]: r["milliseconds"] for r in at["chapter_10_decode"] if r["position"] == 1024}
first = at["chapter_10_training"][0]
through, size = first["loss_through"], first["bytes"]
worse = through["int8"] - through["float32"]
smaller = size["float32"] / size["int8"]
recalled = dict(zip(names, quality.tolist(), strict=True))
lost = recalled["linear, 4 heads"], recalled["window of 16, 4 heads"]
own = {"what": "SDPA", "training": False, "is_causal": False, "length": 2048}
peak = [
    pick(at["chapter_09_tiled"], "peak_bytes", **own | {"what": w}) for w in ("written out", "SDPA")
]
far = [mean(at["chapter_07_positions"], "256", name) for name in ("ALiBi", "Shaw", "RoPE")]

# %%
own = {"length": 4096, "mask": "causal", "pass": "forward"}
weighed, fused = (
    torch.tensor(pick(at["chapter_05_multi_head"], "milliseconds", **own | {"what": what})).median()
    for what in (f"nn.MultiheadAttention, need_weights={wanted}" for wanted in (True, False))
)
own = {"what": "depth", "warmup": 0, "rate": 0.01}
behind, before = (
    pick(at["chapter_12_stability"], "losses", **own | {"pre_norm": is_pre})[-1]
    for is_pre in (False, True)
)
a_state = pick(at["chapter_17_cost"], "microseconds", mechanism="gated delta")
a_cache = pick(at["chapter_17_cost"], "microseconds", mechanism="softmax", position=65536)
alone, mixed = (
    recalls(name, "64") for name in ("gated delta, 4 heads", "gated delta, then softmax")
)

# %%
guide = [
    ("any length, nothing special", "chapter_09_production",
     f"SDPA: {way['written out']:.1f}× faster than written out"),
    ("a causal text", "chapter_09_production",
     f"is_causal: {way['SDPA, causal mask'] / way['SDPA, is_causal']:.1f}× faster than a mask"),
    ("2,048 tokens, little memory", "chapter_09_tiled",
     f"tiles: {peak[0] / peak[1]:.0f}× less than written out"),
    ("near context is enough", "chapter_08_cheaper",
     f"window of 128: {short[512]:.1f}× faster at 512, {short[8192]:.0f}× at 8,192"),
    ("long texts, no exact recall", "chapter_08_cheaper",
     f"linear: {chunks[512]:.1f}× faster at 512, {chunks[8192]:.0f}× at 8,192"),
    ("exact recall", "chapter_08_recall",
     f"full, grouped, latent: 1.00; linear {lost[0]:.2f}, window {lost[1]:.2f}"),
    ("generation", "chapter_10_decode",
     f"a cache: {token['no cache'] / token['MHA']:.0f}× faster at token 1,024"),
    ("generation, many users", "chapter_10_decode",
     f"one key head: {token['MHA'] / token['MQA']:.1f}× faster again"),
    ("a cache too large", "chapter_10_training",
     f"int8: {smaller:.1f}× smaller, loss {worse:+.4f}"),
    ("longer than trained, 4×", "chapter_07_positions",
     f"loss {far[0]:.2f} ALiBi, {far[1]:.2f} Shaw, {far[2]:.2f} RoPE"),
    ("the weights are looked at", "chapter_05_multi_head",
     f"need_weights: {weighed / fused:.1f}× slower, 4,096 causal tokens"),
    ("twelve layers, a high rate", "chapter_12_stability",
     f"loss {before:.2f} pre-norm, {behind:.2f} post-norm, one seed"),
    ("one text of 65,536 tokens", "chapter_17_cost",
     f"gated delta: {a_cache / a_state:.0f}× faster per token than a cache"),
    ("a state, and exact recall", "chapter_17_recall",
     f"gated delta {alone:.2f}, with a softmax layer {mixed:.2f}"),
]  # fmt: skip

# %%
for case, name, then in guide:
    print(f"{case:28} {then}")
    r = records[name]
    processor = r["settings"].get("processor", r["machine"])
    print(f"{'':28} {name}, {r['date']}, {processor}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

From 512 on, on that machine, and perhaps earlier: 512 is the shortest length in the record<!-- shown: 1.5 -->. The published thresholds were round numbers.

And quality is not a column of stars. Linear attention is not "fair": it recalls about half where full attention recalls all, and may be as good where nothing has to be recalled.

On a GPU the factors differ, and the order may differ too. These rows say where they come from, so that you can measure yours: every record contains the command that made it.

</details>
"""

# %% [markdown]
r"""
## 8. Fourteen symptoms

Published advice for debugging: "Uniform attention: check initialization, learning rate. NaN in attention: gradient clipping." Clipping cannot repair a forward pass.

Better: plant the cause, see the symptom, and find **one measurement** that identifies it. The next cell does that fourteen times, and repairs each. Two of them train small models.

**Predict.** For "loss far below the entropy of the data" and "training good, sampling bad": which single cause would you plant for each?
"""

# %%
found = [plant() for plant in symptoms.SYMPTOMS]
print(f"{'symptom':39} {'measured':32} {'ill':>6} {'repaired':>9}")
for one in found:
    print(f"{one.seen:39} {one.measured:32} {one.before:6.2f} {one.after:9.2f}")

# %%
for one in found:
    print(f"{one.seen:39} {one.cause}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Without a causal mask the next symbol can be read off: the loss on random symbols falls to nearly 0, below $\ln 8 = 2.08$, which no honest model can. With targets that are not shifted, the model learns to repeat its input: a perfect loss, and samples that stand still.

Read the table from right to left. A measurement is good if it has a known value for a healthy model: 0, 1, $\ln V$, an exponent. "The maps look odd" has none.

</details>
"""

# %% [markdown]
r"""
Three more take too long to plant here. Earlier chapters recorded them, before and after the repair.
"""

# %%
raw, unit = (recalls(name, "16") for name in ("retention, 4 heads, raw", "retention, 4 heads"))
recorded = [
    ("a deep stack learns slowly", "norms after the sub-layers", "loss at rate 0.01",
     behind, before, "chapter_12_stability"),
    ("attention far slower than SDPA", "need_weights left on", "time over SDPA's",
     weighed / fused, 1.0, "chapter_05_multi_head"),
    ("a state forgets the list", "query and key not of length 1", "recalled, 16 pairs",
     raw, unit, "chapter_17_recall"),
]  # fmt: skip
for seen, cause, what, ill, repaired, name in recorded:
    print(f"{seen:31} {cause:30} {what:18} {ill:4.2f} {repaired:4.2f}\n    {name}")

# %% [markdown]
r"""
**Check yourself.** Training loss falls normally. Generated with a cache, a text repeats one word; generated without, it is fine. Which measurement first?

- A. The entropy of the weights.
- B. The largest difference between cached and uncached outputs, on one text cut in two.
- C. The norm of the gradients.

<details><summary>Answer</summary>

- A may look odd, but does not say where.
- **B**: the two must be equal to rounding. The first position where they differ names the fault: position, mask offset, or a cache not passed on.
- C: nothing is trained here.

</details>
"""

# %% [markdown]
r"""
## 9. Where it came from, and what it is used for

**Predict.** Put in order: scaled dot-product attention, the first use of the word for translation, RoPE, FlashAttention, grouped queries. And when did a text first claim "human parity" for translation?
"""

# %%
for entry in claims.timeline():
    print(f"{entry['date']:8} {entry['event']:.76}  [{entry['cite']}]")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The table has the dates, each with a key of the course's bibliography. "Human parity in 2016" is a common mistake: 2016 was Google's GNMT, "bridging the gap". The claim of parity is Microsoft's of March 2018 (Hassan et al.), for one language pair and single news sentences; Läubli et al. (2018) and Toral et al. (2018) contested it: when whole documents were judged, readers preferred the human translations.

A title is part of a citation: "Flash Attention: Fast and Memory-Efficient Exact Attention" lacks its end, "with IO-Awareness", which says what is new.

</details>
"""

# %% [markdown]
r"""
What attention is used for is best described by what asks what:

| task | queries | keys and values |
|---|---|---|
| translation, encoder–decoder | target so far | source |
| summarisation, encoder–decoder | summary so far | document |
| question answering, one stream | every token | question and passage |
| language and code models, dialogue | each token | all before it |
| classification, extraction | each token | all tokens |
| captioning | text so far | parts of the image |
| speech recognition | text so far | frames of sound |
| retrieval | none: vectors are compared outside of attention | |

A code model attends to code as to any text. GLUE and SuperGLUE tasks are the fifth row.
"""

# %% [markdown]
r"""
Typical sizes, then and now. A published table of "typical values" said 8–16 heads, 6–24 layers, $d_{model}$ 512–1024, $d_{ff} = 4 d_{model}$.

| | year | layers | width | heads | key heads | hidden / width |
|---|---|---|---|---|---|---|
| Transformer, base | 2017 | 6 + 6 | 512 | 8 | 8 | 4 |
| BERT, large | 2018 | 24 | 1024 | 16 | 16 | 4 |
| GPT-3 | 2020 | 96 | 12,288 | 96 | 96 | 4 |
| Llama 3, 8B | 2024 | 32 | 4096 | 32 | 8 | 3.5, gated |
| Llama 3, 405B | 2024 | 126 | 16,384 | 128 | 8 | 3.25, gated |

The table was right for 2017–2019 (Vaswani et al., 2017; Devlin et al., 2019) and stopped there (Brown et al., 2020; Grattafiori et al., 2024).
"""

# %% [markdown] tags=["further"]
r"""
## 10. A test that accepts two answers

Some contracts allow more than one outcome. RoPE rotates pairs of features, and two pairings are in use: neighbours (the paper), and split halves (Llama). Neither is wrong.

**Predict.** A test asks only that scores depend on the distance of two positions. Which wrong rotations pass it?
"""

# %%
generator = torch.Generator().manual_seed(0)
q, k = torch.randn(2, 1, 1, 5, 8, generator=generator, dtype=torch.float64)
for name, base in (("base 10,000", 1e4), ("base 500,000", 5e5), ("nothing rotated", None)):
    scores = []
    for shift in (0, 3):
        p = torch.arange(5) + shift
        turned = [x if base is None else positions.rope_interleaved(x, p, base) for x in (q, k)]
        scores.append(turned[0] @ turned[1].mT)
    print(f"{name:15} unchanged by a shift: {torch.allclose(*scores)}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Another base passes, and no rotation at all. A *law* alone may hold for faulty code. It needs the numbers of either reference as well.

</details>

### Exercise: `accepts_rotation`

*Difficulty · importance · minutes*

Write `accepts_rotation(turn) -> bool`, where `turn(x, positions)` should be chapter 07's `rope_interleaved` *or* `rope_split_halves`, one of them throughout, at base 10000; `x` `(B, H, L, d_k)`, `positions` `(L,)` or `(B, L)`, long.

Faults: nothing rotated; positions ignored, counted from 1, or the first sentence's for all; rotated along the batch or the heads; the exponent $i/d_k$; one frequency; base 500,000; the other direction; half of the features only; frequencies rounded to bfloat16; a length that changes; one pairing for `(L,)`, the other for `(B, L)`; an error for one of these shapes.
"""


# %% exercise="accepts_rotation"
def accepts_rotation(turn):
    """Return whether an implementation is RoPE in either pairing."""
    ### BEGIN SOLUTION: Several pairs; each sentence its own positions; one pairing throughout.
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, 5, 8, generator=generator, dtype=torch.float64)
    own = torch.randint(0, 40, (2, 5), generator=generator)
    agrees = {positions.rope_interleaved: True, positions.rope_split_halves: True}
    for places in (own, own[1]):
        try:
            out = turn(x.clone(), places)
            for rope in agrees:
                right = torch.allclose(out, rope(x, places), rtol=1e-8)
                agrees[rope] = agrees[rope] and right
        except Exception:
            return False
    return any(agrees.values())
    ### END SOLUTION


# %%
check("accepts_rotation", accepts_rotation)
# hint("accepts_rotation")

# %% [markdown] tags=["further"]
r"""
## 11. Why BERT cannot write

"GPT and BERT power ChatGPT." BERT reads in both directions: its mask hides nothing. What if such a model is trained to name the next token, and then has to write?

Texts count up in steps of 1, 3, 5 or 7, modulo 8, from a random start. One model is trained with a causal mask, one without. Then both continue four tokens of each kind.

**Predict.** Which has the lower training loss? Which continues correctly?
"""

# %% tags=["nbval-ignore-output"] reason="training differs in the last digits between machines"
for name, masked in (("causal", True), ("both directions", False)):
    model = small_models.striding(masked=masked, steps=300)
    right = sum(small_models.follows(model, stride, masked) for stride in (1, 3, 5, 7)) / 4
    text = torch.arange(17) * torch.tensor([[1], [3], [5], [7]]) % 8
    scores = model(text[:, :16], attention.causal_mask(16, 16) if masked else None)
    loss = F.cross_entropy(scores.flatten(0, 1), text[:, 1:].flatten())
    print(f"{name:16} loss on whole texts {loss:.2f}; right next tokens when it writes {right:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The second: its loss is near 0, because it copies what is to its right. The causal model must guess the step after one token, and that alone costs $\ln 4$ nats in 16, about 0.09 per token. When the second writes, nothing is to its right yet, and what it learned helps little.

BERT is trained differently, to fill in hidden tokens, and does that well; but it gives no distribution of the next token from the past alone, and every new token would change the reading of all before it, so that no cache could be kept. ChatGPT answers with a decoder (OpenAI says so of the GPT models it is built on; BERT is not mentioned).

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 12. What a module promises

A published module began with a list: ten mechanisms and four optimisations. Below are the list, and the names of the classes and functions that the file defines. One of the four, "fused operations where possible", cannot be decided by names.

**Predict.** How many of the ten are there? How many of the other three?
"""

# %%
promised = {"scaled dot-product": "ScaledDotProductAttention", "multi-head": "MultiHeadAttention",
            "multi-query": "MultiQueryAttention", "grouped-query": "GroupedQueryAttention",
            "cross-attention": "CrossAttention", "flash": "Flash", "sliding window": "SlidingWindowAttention",
            "linear": "LinearAttention", "relative positions (Shaw)": "Relative|Shaw",
            "rotary": "RotaryPositionalEmbedding"}  # fmt: skip
optimised = {
    "KV caching": "cache",
    "checkpointing": "checkpoint",
    "mixed precision": "autocast|float16",
}
defined = """ScaledDotProductAttention MultiHeadAttention MultiQueryAttention GroupedQueryAttention
SinusoidalPositionalEncoding LearnedPositionalEmbedding RotaryPositionalEmbedding rotate_half
SlidingWindowAttention LinearAttention feature_map CrossAttention create_padding_mask create_causal_mask
combine_masks TransformerEncoderLayer TransformerDecoderLayer demo_attention_variants
benchmark_attention_speed visualize_attention_patterns print_performance_comparison"""
for kind_of, promises in (("mechanisms", promised), ("optimisations", optimised)):
    absent = [name for name, words in promises.items() if not re.search(words, defined)]
    print(
        f"{len(promises) - len(absent)} of {len(promises)} {kind_of}; absent: {', '.join(absent)}"
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

Eight of ten, and none of three<!-- shown: 8 10 0 3 -->. Rotary embeddings are defined, and no attention of that file uses them. Its layers say "pre-norm" in their docstrings and are post-norm.

Its last lines call every demonstration and then print "Implementation complete! All attention mechanisms ready for use." They would print it whatever the demonstrations showed, as long as none raises. The same text begins with imports and the choice of a device, which do run. Its reference material, `transformer.pdf` and `deep_nlp.pdf`, does not come with it: nobody can open such a reference, so it supports nothing.

</details>
"""

# %% [markdown]
r"""
The same audit of this course's package: does every public name have a docstring? Does every mechanism's file name its source?
"""

# %%
for name in ("attention", "positions", "interpretability", "models", "measure", "clinic"):
    package = import_module(f"course_utils.{name}")
    silent = [one for one in package.__all__ if not (getattr(package, one).__doc__ or "").strip()]
    inside = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    files = [found.name for found in inside if not found.ispkg]
    cited = [one for one in files if "Source:" in (import_module(one).__doc__ or "")]
    print(f"{name:16} {len(package.__all__):3} public names, {len(silent)} without a docstring; "
          f"{len(cited):2} of {len(files)} files name a source")  # fmt: skip

# %% [markdown]
r"""
Helpers without a paper have no source to name. An audit by names sees only that something is *there*. Whether it does what its name says is a question for tests, which is why the rest of this chapter is about those.
"""

# %% [markdown] tags=["further"]
r"""
## 13. What published texts say, for the last time

Right, wrong, or right under a condition? Decide before you open the answers.

1. "Full solutions are available at the linked site."
2. "In 2017 Vaswani et al. replaced recurrence and convolution entirely."
3. "Transformers scale to hundreds of billions of parameters: GPT-3, PaLM, ChatGPT, GPT-4."
4. "LSLM and CoRAG are projects of our laboratory."
5. "Quadratic complexity is the main bottleneck."
6. "All attention on [CLS]: add regularization."
7. "Linear attention: approximate softmax for long sequences."
"""

# %% [markdown]
r"""
<details><summary>Answers</summary>

1. They are, and several are numerically wrong: of one exercise's four scores, none follows from the numbers that it gives (chapter 02 recomputes them). A solution is a claim as well.
2. Right: "dispensing with recurrence and convolutions entirely", says the paper's abstract.
3. Right for GPT-3 (175 billion) and PaLM (540 billion). The other two sizes were never published.
4. Unverifiable. Papers of these names exist, by other authors (Ma et al., 2024; Wang et al., 2025).
5. Only beyond a length of a few times the width (chapter 05); below that the projections cost more.
6. A sink is where a head puts the weight that it has no use for (chapter 13). It may be wanted.
7. It computes another kernel, exactly. Random features approximate softmax (chapter 08).

</details>
"""

# %% [markdown]
r"""
## Yours: the chapter's experiments, with your functions

Your tests judge the panels, your verdicts the sizes, and your front the choices: each once more, with your functions wherever their checks have passed, and the course's everywhere else.
"""

# %% tags=["nbval-ignore-output"] reason="whose functions run, and how fast, depends on the reader"
parts = yours(
    "unit_verdict", "accepts_attention", "accepts_tiling", "accepts_cache", "accepts_rotation", "pareto_front"
)  # fmt: skip
parts


# %%
def chapter(parts):
    """Judge the panels, sizes and choices; count what was accepted, and in which places."""
    tests = (
        parts.accepts_attention,
        parts.accepts_tiling,
        parts.accepts_cache,
        parts.accepts_rotation,
    )
    judged = {
        name: torch.tensor([float(test(one.make())) for one in panel])
        for test, (name, panel) in zip(tests, clinic.PANELS.items(), strict=True)
    }
    sizes = [("402", "MB"), ("402.7", "MB"), ("384", "MB"), ("500", "MB"), ("0.4", "GB")]
    said = [parts.unit_verdict(*size, cache) for size in sizes]
    keep = parts.pareto_front(cost, quality)
    return {
        **judged,
        "sizes": torch.tensor([float(["wrong", "corrected", "confirmed"].index(s)) for s in said]),
        "front": keep.double(),
    }


# %% tags=["nbval-ignore-output"] reason="the times, and whose functions run"
note = parts.run(chapter)
for name, value in note.course.items():
    print(f"{name:18} {''.join(str(int(v)) for v in value.tolist())}")
note

# %% [markdown]
r"""
## Recap

1. Ask what a number is the number *of* before you ask whether it is right. Then it can be computed, run, looked up, or it says nothing.
2. Units: 402 MB and 384 MiB are the same size. The last written digit says how much a number claims.
3. A test needs sizes that differ, special rows, state, laws *and* numbers; it accepts every correct implementation, to rounding.
4. Choose from a front, with the record beside it. Find a fault by a measurement whose healthy value is known.
5. A date has a citation; what has none is not known.
"""

# %% [markdown]
r"""
## Go further

- Britz et al. (2017) and Narang et al. (2021): hundreds of architectures compared at equal cost; most gains do not transfer.
- Sculley et al. (2018): what a claim of progress owes its reader.
- Hassan et al. (2018), Läubli et al. (2018), Toral et al. (2018): a claim of parity, and two answers.
- Claessen and Hughes (2000): tests as laws, with inputs that a machine draws.

There is no next chapter. Take a text on attention that you trust, pick five of its sentences, and start a ledger of your own.
"""

# %% [markdown]
r"""
<details><summary>BibTeX</summary>

```bibtex
@inproceedings{narang2021transformer,
  title = {Do Transformer Modifications Transfer Across Implementations and Applications?},
  author = {Narang, Sharan and Chung, Hyung Won and Tay, Yi and Fedus, William and Fevry, Thibault and Matena, Michael and others},
  booktitle = {EMNLP}, year = {2021}, url = {https://arxiv.org/abs/2102.11972}}
@inproceedings{sculley2018winner,
  title = {Winner's Curse? On Pace, Progress, and Empirical Rigor}, author = {Sculley, D. and Snoek, Jasper and Rahimi, Ali and Wiltschko, Alex},
  booktitle = {ICLR Workshop}, year = {2018}, url = {https://openreview.net/forum?id=rJWF0Fywf}}
@article{hassan2018achieving,
  title = {Achieving Human Parity on Automatic {Chinese} to {English} News Translation}, author = {Hassan, Hany and Aue, Anthony and Chen, Chang and others},
  journal = {arXiv preprint arXiv:1803.05567}, year = {2018}, url = {https://arxiv.org/abs/1803.05567}}
@inproceedings{claessen2000quickcheck,
  title = {{QuickCheck}: A Lightweight Tool for Random Testing of {Haskell} Programs}, author = {Claessen, Koen and Hughes, John},
  booktitle = {ICFP}, year = {2000}, doi = {10.1145/351240.351266}}
```

</details>
"""
