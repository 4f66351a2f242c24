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

Hundreds of sentences from five published texts on attention were checked for this course. Each is in a ledger with its verdict.

Play for one minute: search for a word that you know, and choose *wrong*. **Which of these sentences would you have believed?** At the end of the chapter you can check such a sentence yourself.
"""

# %% tags=["remove-input"]
from course_utils import claims
from course_utils.widgets import claim_ledger

claim_ledger(claims.ledger(), claims.timeline())

# %% [markdown]
r"""
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

This course was written alongside five published texts on attention, called A to E; the page *What is measured here* lists them. Hundreds of their sentences were checked on the way, and each is in a **ledger**: the claim, how it was checked, the verdict, and what holds. This chapter hands you the tools: first for sentences, then for code, then for choices.

"""

# %% [markdown]
r"""
Texts are quoted in order to be checked, not to be blamed. What is in quotation marks is verbatim, and a letter says where it stands. Where there is no letter, the sentence or the code is a common form, and ours.
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
import collections
import pkgutil
import re
from importlib import import_module
from time import process_time

import torch
from torch.nn import functional as F

from course_utils import attention, claims, clinic, measure, plotting, positions
from course_utils.clinic import from_records, guide, published, small_models, symptoms
from course_utils.guessing import guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.widgets import claim_ledger

plotting.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=3, sci_mode=False, linewidth=100)

# %% [markdown]
r"""
## 1. What a claim needs before it can be judged

Five sentences: the first is ours, the others are shortened from texts C, C, D and B.

1. The KV cache of a model of 24 layers and width 2048 takes 402 MB at 2048 tokens in 16 bits.
2. $QK^\top$ with 512 queries and keys of width 64 takes 67 MFLOPs.
3. Attention for a batch of 32 at $n = 512$ and $d_k = 64$ takes 0.8 ms; that is 250 TFLOPS.
4. Attention is permutation-invariant: swapping inputs does not change the output.
5. GPT and BERT today power ChatGPT.

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

"""

# %% [markdown]
r"""
That attention focuses "similar to the human brain" (text B) is of the last kind. So are "GitHub Copilot: Attention over code context and comments" (A) and "In my research [...] I've found" (E), and so are a laboratory's own findings that cite no paper: no observation is named that could decide them. They are neither right nor wrong; they are not claims yet.

When does "402 MB" hold? (Text A has "~500 MB for generation" of such a model.)
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

**Predict.** The ledger has 441 claims. How many can a function recompute? Will one verdict differ from the ledger's?
"""

# %% guess={"name": "18.recomputed", "kind": "number", "asks": "How many of the ledger's 441 claims can a function recompute without looking anything up?", "low": 0, "high": 441, "unit": "claims", "reads": "{} claims recomputed"}
guess("18.recomputed")

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

275<!-- shown 4: 275 -->, in less than twenty seconds: most are arithmetic or a few tensors, and what needs training reads a record. None moved. That is a test of this course as well: if somebody changes the verdict of such a claim, or the package so that a check comes out differently, the last cell stops. (A figure in a claim's wording is not read by it.)

What was only remembered or looked up is not proved by this. It can be no better than its source, and the ledger says which kind it is.

</details>

Here is the same ledger to search. It needs no kernel.
"""

# %% tags=["nbval-ignore-output"] reason="a widget has a new id in every run"
measured = {name: finding.measured for name, finding in found.items()}
claim_ledger(claims.ledger(), claims.timeline(), found=measured)

# %% [markdown]
r"""
Where do texts go wrong? Somebody sorts the wrong and corrected claims by a few words of the claim and of its correction: each lands in the first kind on a list whose words it contains.
"""

# %%
SIEVE = {
    "evidence": r"measured|noise|untrained|drawn|prints|the text says|the code",
    "figure": r"\b[KMGT]i?B\b|gigabytes|FLOP|\d\.\d{3}|sigma|\d ?%|\d\.\d+x",
    "whole": r"head|per layer|a layer\b|sequences?\b|batch|encoder",
    "term": r"leaves? out|left out|factor|missing|\b[Pp]lus|\balso\b|drops",
    "axis": r"ax[ie]s|row|column|shape|mask|causal|position|equivariant|over",
    "source": r"\b(19|20)\d\d\b|et al|paper|[Kk]ernel|BERT|GPT|dditive",
    "condition": r"\b(only|all|never|always|any|every|identical|not|no|needs?)\b",
}


def sieved(claim):
    """Return the first kind whose words occur in the correction or in the claim, and the word."""
    text = claim["correct"] + " " + claim["claim"]
    found = ((name, re.search(words, text)) for name, words in SIEVE.items())
    return next(((name, word[0]) for name, word in found if word), ("other", ""))


amiss = [c for c in ledger.values() if c["verdict"] in ("wrong", "corrected")]
by_words = collections.Counter(sieved(claim)[0] for claim in amiss)
print(
    f"{len(amiss)} claims by words:", ", ".join(f"{n} {name}" for name, n in by_words.most_common())
)

# %% [markdown]
r"""
The largest class is *whole*: one head, layer or sequence taken for all of them. A finding, it seems: "texts go wrong because they do not say what a number is a number *of*".

**Find the error.** Here are ten of that class, with the word that put them there. In how many is one head, layer, sequence or size taken for all?
"""

# %%
whole = [claim for claim in amiss if sieved(claim)[0] == "whole"]
for claim in whole[::3][:10]:
    print(f"{claim['id']} {sieved(claim)[1]:9} {claim['claim'][:76]}")
    print(f"{'':15} -> {claim['correct'][:100]}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

In two: GQA is not in every size of LLaMA 2, and the root is of the number of layers, not of tokens. In the others a word was found and nothing else: *head*, *encoder* and *sequences* occur in any sentence about attention. A word is not a kind of error, and a count is not evidence because it is printed.

</details>

So each of these claims was read, and given one or two of nine kinds by hand; the ledger has them as `kind`.

**Predict.** Which kind is the most frequent? And of what the sieve put into a class, how much belongs there?
"""

# %% guess={"name": "18.kind", "kind": "choice", "asks": "Read by hand: which kind of error is the most frequent among the 181 wrong or corrected claims?", "take": "largest", "options": {"one head, layer or size taken for all": "{} whole one head", "a figure or a unit that does not follow": "{} figure a figure", "a date, a name or a paper": "{} source a date", "a mechanism, or a reason, taken for another": "{} mechanism a mechanism", "true under a condition that is not stated": "{} condition true under"}}
guess("18.kind")

# %%
KINDS = {
    "mechanism": "a mechanism, or a reason, taken for another",
    "condition": "true under a condition that is not stated",
    "figure": "a figure or a unit that does not follow",
    "axis": "an axis, an index, a shape or a mask",
    "term": "a factor, a term or a cost left out",
    "whole": "one head, layer, product or size taken for all",
    "source": "a date, a name or a paper",
    "code": "code that does not do what is said of it",
    "evidence": "nothing measured, or not what is said",
}
by_hand = collections.Counter(kind for claim in amiss for kind in claim["kind"])
print(f"by hand, of {len(amiss)}{'':48} the sieve's, and right")
for name, count in by_hand.most_common():
    caught = [claim for claim in amiss if sieved(claim)[0] == name]
    right = sum(name in claim["kind"] for claim in caught)
    print(f"{count:4}  {name:10} {KINDS[name]:47} {len(caught):4} {right:4}")
number = sum(bool({"figure", "term", "whole"} & set(claim["kind"])) for claim in amiss)
print(f"{number} claims are about a number: a figure, a term left out, or one for all")

# %% [markdown]
r"""
<details><summary>Answer</summary>

A mechanism or a reason taken for another, 45 of 181; then a condition that is not stated, 34<!-- shown: 45 181 34 -->. "Approximates softmax", "because it is parameter-free", "handles longer sequences": no number is in them, and no word of theirs gives the kind away. One in four is about a number: a figure, a term left out, or one head taken for all<!-- shown: 50 -->. Of the sieve's 36, six are of that last kind<!-- shown: 36 6 -->.

</details>
"""

# %% [markdown]
r"""
So there are two questions. Of a number: *of what* is it the number? Of a sentence: *when* does it hold, and what would be different if it did not?

The kinds are one reader's. Another would draw some borders elsewhere; since each claim shows its kinds, they can be disputed one by one.
"""

# %% [markdown]
r"""
## 3. A test instead of a look

Sentences can be recomputed. Code has to be *tested*. This is a common form, and not a quotation:

```python
scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
weights = scores.softmax(dim=-1)
if attn_mask is not None:
    weights = weights * attn_mask
return weights @ value
```

**Find the error.** It runs, its shapes are right, nothing is missing. On which inputs does it differ from attention?

<details><summary>Answer</summary>

On every input with a mask that hides something. The hidden keys are taken out only after the softmax has given them a share of the weight, so the rows no longer sum to 1: the output is the right one times a factor below 1. Nobody would spot this by reading.

</details>
"""

# %% [markdown]
r"""
In the four exercises whose names begin with `accepts` the answer is itself a test. It takes one implementation and returns `True` to accept it, `False` to refuse it. `check` then tries your test on a panel: right implementations of several kinds, and one fault at a time.

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


# %% guess={"name": "18.refused", "kind": "number", "asks": "How many of 8 right implementations does a test refuse that asks for PyTorch's numbers to the last bit?", "low": 0, "high": 8, "reads": "the same, to the last bit {_} of {_} {} of"}
guess("18.refused")


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

With one key every softmax is 1, whatever its scale: fewer than half are caught. With square inputs $\sqrt{d_v}$ and $\sqrt S$ cannot be told from $\sqrt{d_k}$. Sizes that differ and a mask catch most. Asking for the last bit refuses 6 of 8 right ways, which add in another order; that it catches all 17 faults is the same accident, since it refuses nearly everything. A test that is too strict is wrong as well, and is soon switched off. What is still missed needs a *law*: the empty row, unchanged inputs, a call without a mask.

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

# %% [markdown] tags=["further"]
r"""
## 5. An implementation with a memory

A cache makes testing harder: what one call leaves behind, the next one reads. This one is shortened from a listing of text A:

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

Now the other way round. Fifteen faults, at least one for each of chapters 02 to 15, each rebuilt in a few lines of our own (`course_utils/clinic/published.py`). Eight stand as code in one of the five texts, five as a formula; two are common slips that none of the five contains. The course's own `check` judges them, like an answer of yours.

**Predict.** How many are refused? How many by name? And what does it take to tell them from a right implementation: a large input, or a special one?
"""

# %% tags=["nbval-ignore-output"] reason="a verdict may name two mistakes or one within its time"
reports = {fault: check(fault.exercise, fault.wrong) for fault in published.FAULTS}
for fault, report in reports.items():
    case = report.case or "its cost alone"
    print(f"{fault.chapter:02} {fault.says} ({fault.form})")
    print(f"   {report.headline[9:]:36} {case:.44}")

# %%
refused = sum(not report.passed for report in reports.values())
named = sum(report.misconception is not None for report in reports.values())
print(f"{refused} of {len(reports)} refused, {named} of them by name")
print(dict(collections.Counter(fault.form.split()[0] for fault in reports)))

# %% [markdown]
r"""
<details><summary>Answer</summary>

All are refused and all are named<!-- shown: 15 -->. Fourteen need no large input, only a few tokens. For some of them any will do; others need a special one: a row that may see nothing, positions that do not start at 0, two new tokens at once. The fifteenth, the window, gives right numbers at every length; only its cost betrays it, measured at 384 and at 1,536 tokens.

</details>

Text A's sketch of flash attention (chapter 09) has three faults at once; `check` names the first. Corrected one by one:
"""

# %%
for left, wrong in published.CORRECTED.items():
    print(f"{left:34} {check('tiled_attention', wrong).headline}")

# %% [markdown]
r"""
With all three corrected there is a fourth: right numbers, but every query at once, so one tile is as long as the text. The formula is not at fault; the algorithm exists to avoid just this.

For chapters 01, 16 and 17 there are only sentences. For a batch of 32, "the encoder processes $32 \times 50 = 1600$ time steps sequentially" (text C). "Memory: $O(n^2)$ attention matrix" (D). "Automatically discover optimal attention patterns", with HAT as the example (D).

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

Text D has a guide: full attention for "short sequences ($n < 2048$)", sparse for "long sequences ($n > 4096$)", linear for "very long sequences ($n > 16k$)"; quality "Very Good" for MQA and "Fair" for linear; at 2,048 tokens "MQA: 1.3-1.5× faster", "Linear: 2-4× faster". It does not say for which task, on which machine, or when it was measured.

Text C compares scoring functions: 80–90% of a GPU for products, 15–25% for the additive score, the plain product not used, the scaled one in all transformers. Luong et al. (2015) used the plain product, and T5 (Raffel et al., 2020) is a transformer that does not divide by $\sqrt{d_k}$. Luong's concat and location scores are missing.
"""

# %% [markdown]
r"""
A choice has a cost and a quality. One thing is not a matter of taste: a choice is *beaten* (or *dominated*) if another costs no more, is no worse, and is better in one of the two. What nothing beats is the **Pareto front**.
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

# %% guess={"name": "18.kept", "kind": "order", "asks": "Which of these keeps the fewest numbers per layer after 128 tokens, at width 64, which the second fewest, and so on?", "take": "ascending", "options": {"full attention, 4 heads": "full, 4 heads {} kept", "linear attention, 1 head": "linear, 1 head {} kept", "a window of 16, 4 heads": "window of 16, 4 heads {} kept", "one of 16 key/value heads": "multi-query, 1 of 16 heads {} kept"}}
guess("18.kept")

# %%
names, numbers, shares = zip(*from_records.recall_models(), strict=True)
cost, quality = torch.tensor(numbers).double(), torch.tensor(shares)
front = clinic.pareto_front(cost, quality)
for i in cost.argsort(stable=True).tolist():
    mark = "front" if front[i] else ""
    print(f"{names[i]:34} {int(cost[i]):6,} kept {quality[i]:8.4f} recalled {mark}")

# %%
LABELS = {"full, 4 heads": "full", "grouped-query, 2 of 4 heads": "grouped",
          "multi-query, 1 of 4 heads": "multi-query; latent 32",
          "window of 16, then grouped-query": "  window, grouped",
          "multi-query, 1 of 8 heads": "multi-query of 8; latent 16",
          "latent of 8, 4 heads": "latent 8", "linear, 1 head": "linear, 1 head",
          "linear, 4 heads": "linear, 4 heads; multi-query of 16",
          "latent of 8, 16 heads": "latent 8, 16 heads",
          "linear, 16 heads": "linear, 16 heads", "window of 16, 4 heads": "window of 16"}  # fmt: skip

# %% mystnb={"image": {"alt": "Share recalled against numbers kept per layer, on a logarithmic axis. Two blue dots, joined by a staircase, are the front: linear attention with 16 heads at 320 numbers, low, and latent attention of 8 numbers with 4 heads at 1,024, at the top. All others are hollow and named: full attention lies far to the right at the height of the best, the window near the bottom."}}
title = "Nothing beats two of them;\nonly one recalls much"
axes = plotting.new_figure(title, "numbers kept per layer", "share of 64 pairs recalled")
axes.figure.set_size_inches(6.4, 4.4)
plotting.power_axis(axes, (256, 512, 1024, 2048, 4096, 8192, 16384))
axes.plot(cost[~front], quality[~front], "o", color=plotting.QUIET, fillstyle="none")
order = [i for i in cost.argsort(stable=True).tolist() if front[i]]
axes.step(cost[order], quality[order], "o-", where="post", color=plotting.COLOURS["blue"])
for name, label in LABELS.items():
    x, y = (column[names.index(name)].item() for column in (cost, quality))
    if y > 0.9:
        axes.text(x, y + 0.04, label, fontsize="small", rotation=32, va="bottom")
    else:
        above = 0.07 if front[names.index(name)] else 0.0  # its step of the staircase
        axes.text(x * 1.12, y + above, label, fontsize="small", va="center")
_ = axes.set(xlim=(220, 30000), ylim=(-0.05, 1.6), yticks=(0, 0.25, 0.5, 0.75, 1))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Not here, by a hair: several others recall as much to the third digit and keep a quarter or less<!-- shown 2: 1.0000 0.9999 1,024 16,384 -->. The front compares means over three seeds, and differences in the fourth digit are noise: take these models as level, and choose the cheapest.

Note what the picture is a picture *of*: recall of 64 pairs by models of 111,424 weights. On another task the front is different.

</details>

Two more rules name no task: "Smaller heads are faster, larger ones more expressive" and "$h = d_{model}/64$". At a fixed width the matrix products cost the same for any number of heads (chapter 05, further); only the softmax has more tables.
"""

# %% [markdown]
r"""
The guide: what you have, and what was measured for it. Each row names its record, with date and machine, and says at which size.

**Predict.** From which length on is a window of 128 tokens faster than causal attention? The published answer was 4,096.
"""


# %% guess={"name": "18.window", "kind": "number", "asks": "How many times as fast as causal attention is a window of 128 tokens at 512 tokens?", "low": 0.1, "high": 10, "log": true, "reads": "window of 128: {}× faster at 512"}
guess("18.window")

# %%
for row in guide.choices():
    print(f"{row.have:32} {row.measured}")
    print(f"{'':32} {row.record}, {row.where}")

# %% [markdown]
r"""
One more row needs no record, since it is a count: what documents of different lengths cost in one batch (chapter 06).
"""

# %%
generator = torch.Generator().manual_seed(4)
lengths = torch.empty(32).log_normal_(4.0, 1.0, generator=generator).clamp(1, 512).long()
padded, packed = len(lengths) * int(lengths.max()) ** 2, int(lengths.square().sum())
print(f"32 documents of all lengths: packed, {padded / packed:.1f} times fewer pairs than padded")

# %% [markdown]
r"""
<details><summary>Answer</summary>

From 512 on, on that machine, and perhaps earlier: 512 is the shortest length in the record<!-- shown 2: 1.5 -->. The published thresholds were round numbers.

And quality is not a column of stars. Linear attention is not "fair": where full attention recalls all, it recalls 0.81 with one head, 0.54 with four and 0.13 with sixteen, and it may be as good where nothing has to be recalled.

On a GPU the factors differ, and the order may differ too. These rows say where they come from, so that you can measure yours: every record contains the command that made it.

</details>
"""

# %% [markdown]
r"""
Read the rows for what they do *not* say, too. "One key head" was timed with one text at a time; what shared heads save a server with many texts is not in the table. "0.31 of one's processor time" leaves out the link.
"""

# %% [markdown]
r"""
## 8. Fourteen symptoms

Text D's advice for debugging: "Uniform attention → Check initialization, learning rate", "NaN in attention → Gradient clipping, fp16 precision issues". Clipping cannot repair a forward pass.

Better: plant the cause, see the symptom, and find **one measurement** that identifies it. The next cell does that fourteen times, and repairs each. Two of them train small models.

**Predict.** For "loss far below the entropy of the data" and "training good, sampling bad": which single cause would you plant for each?
"""

# %%
found = [plant() for plant in symptoms.SYMPTOMS]
print(f"{'symptom':39} {'measured':32} {'faulty':>6} {'repaired':>9}")
for one in found:
    print(f"{one.seen:39} {one.measured:32} {one.before:6.2f} {one.after:9.2f}")

# %%
for one in found:
    print(f"{one.seen:39} {one.cause}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Without a causal mask the next symbol can be read off: the loss on random symbols falls to nearly 0, below $\ln 8 = 2.08$, which no causal model can. With targets that are not shifted, the model learns to repeat its input: a perfect loss, and samples that stand still.

Read the table from right to left. A measurement is best if a healthy model has a known value: 0, 1, $\ln V$, an exponent. Some here have none (0.87, 0.22, 4.51) and need a healthy model beside them. "The maps look odd" has not even a number.

</details>
"""

# %% [markdown]
r"""
Three more take too long to plant here. Earlier chapters recorded them, before and after the repair.
"""

# %%
for one in guide.recorded():
    print(f"{one.seen:31} {one.cause:27} {one.measured:18} {one.before:4.2f} {one.after:4.2f}")
    print(f"    {one.record}")

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

**Predict.** When did these come: attention for translation, scaled dot products, RoPE, FlashAttention, grouped queries? And when did a text first claim "human parity" for translation?
"""

# %% guess={"name": "18.dates", "kind": "order", "asks": "Which of these was published first, which second, and so on?", "take": "ascending", "options": {"FlashAttention": "{}-{x} exact attention in tiles", "grouped queries": "{}-{x} groups of heads share", "scaled dot products": "{}-{x} scaled dot-product", "RoPE": "{}-{x} rotary positions", "a claim of human parity": "{}-{x} human parity claimed", "attention for translation": "{}-{x} additive attention over"}}
guess("18.dates")

# %%
for entry in claims.timeline():
    print(f"{entry['date']:8} {entry['event']:.76}  [{entry['cite']}]")

# %% [markdown]
r"""
<details><summary>Answer</summary>

The table has the dates, each with a key of the course's bibliography. Text E has "human parity" in 2016, a common mistake: 2016 was Google's GNMT, "bridging the gap". The claim of parity is Microsoft's of March 2018 (Hassan et al.), for one language pair and single news sentences; Läubli et al. (2018) and Toral et al. (2018) contested it: when whole documents were judged, readers preferred the human translations.

A title is part of a citation: text A's "Flash Attention: Fast and Memory-Efficient Exact Attention" lacks its end, "with IO-Awareness", which says what is new.

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

A code model attends to code as to any text. GLUE and SuperGLUE, which Transformers lead, are tasks of the fifth row. A question that finds its answer in a passage is chapter 08's recall: a key is asked, its value answers.
"""

# %% [markdown]
r"""
Typical sizes, then and now. Text E's table of "Typical Values" has 8–16 heads, 6–24 layers, $d_{model}$ 512–1024, $d_{ff} = 4 d_{model}$.

| | year | layers | width | heads | key heads | hidden / width |
|---|---|---|---|---|---|---|
| Transformer, base | 2017 | 6 + 6 | 512 | 8 | 8 | 4 |
| BERT, large | 2018 | 24 | 1024 | 16 | 16 | 4 |
| GPT-2, largest | 2019 | 48 | 1600 | 25 | 25 | 4 |
| GPT-3 | 2020 | 96 | 12,288 | 96 | 96 | 4 |
| Llama 3, 8B | 2024 | 32 | 4096 | 32 | 8 | 3.5, gated |
| Llama 3, 405B | 2024 | 126 | 16,384 | 128 | 8 | 3.25, gated |
| gpt-oss, 20b | 2025 | 24 | 2880 | 64 of 64 | 8 | 1, gated, 4 of 32 experts |

Text E's values were right for 2017 and 2018 (Vaswani et al., 2017; Devlin et al., 2019) and stopped there (Radford et al., 2019; Brown et al., 2020; Grattafiori et al., 2024; OpenAI, 2025). A row of sizes no longer says how a model attends: every other layer of gpt-oss sees a window of 128, and its experts take turns.
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

GPT and BERT "today power ChatGPT", says text B. BERT reads in both directions: its mask hides nothing. What if such a model is trained to name the next token, and then has to write?

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

The second: its loss is near 0, because it copies what is to its right. The causal model must guess the step after one token, and that alone costs $\ln 4$ nats in 16, about 0.09 per token. When the second writes, nothing is to its right yet: about half of its tokens are right, where a guess among eight has one in eight and the causal model has all.

BERT is trained differently, to fill in hidden tokens, and does that well; but it gives no distribution of the next token from the past alone, and every new token would change the reading of all before it, so that no cache could be kept.

</details>
"""

# %% [markdown]
r"""
ChatGPT answers with a decoder (OpenAI says so of the GPT models it is built on; BERT is not mentioned).
"""

# %% [markdown] tags=["further"]
r"""
## 12. What a module promises

The module in text D begins with a list: ten mechanisms and four optimisations. Below are the list, and the names of the classes and functions that the file defines. One of the four, "fused operations where possible", cannot be decided by names.

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

Its last lines call every demonstration and then print "Implementation complete! All attention mechanisms ready for use." They would print it whatever the demonstrations showed, as long as none raises. The same text begins with imports and the choice of a device, which do run. Its reference material, `transformer.pdf` and `deep_nlp.pdf`, has neither author nor address: a reader cannot open it, so it supports nothing.

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

1. "Full solutions for all exercises are available" (text C).
2. Transformers replace recurrence and convolution entirely (E).
3. "GPT-3, PaLM, ChatGPT, and GPT-4 demonstrate emergent capabilities as Transformers scale to hundreds of billions of parameters" (E).
4. LSLM and CoRAG are projects of the author (E).
5. "Quadratic complexity is main bottleneck" (D).
6. "All attention on [CLS] token → Add regularization" (D).
7. Linear attention: "Approximate softmax attention with linear complexity" (D).
8. An example of text E prints the shapes [2, 50], [2, 50, 512], 6 layers and [2, 8, 50, 50].
"""

# %% [markdown]
r"""
<details><summary>Answers</summary>

1. They are, and several are numerically wrong: of one exercise's four scores, none follows from its numbers (chapter 02).
2. Right of the model of 2017: "dispensing with recurrence and convolutions entirely", says the paper's abstract.
3. Right for GPT-3 (175 billion) and PaLM (540). The other two sizes were never published.
4. Unverifiable. Papers of these names exist, by other authors (Ma et al., 2024; Wang et al., 2025).
5. Only beyond a few times the width (chapter 05); below that the projections cost more.
6. A head puts weight there that it has no use for (chapter 13). It may be wanted.
7. It computes another kernel, exactly. Random features approximate softmax (chapter 08).
8. Right: two sentences of 50 tokens, width 512, 8 heads. It was run; right shapes say nothing about right numbers.

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
5. A date has a citation; what has none is not known. A count needs a definition, and a look at what was counted.
"""

# %% tags=["remove-cell"]
progress(18)

# %% [markdown]
"""
**Next**: chapter 19 runs a released model on what you have written. Or take a text on attention that you trust, pick five of its sentences, and start a ledger of your own.
"""

# %% [markdown]
r"""
## Go further

- Britz et al. (2017) and Narang et al. (2021): hundreds of architectures compared at equal cost; most gains do not transfer.
- Sculley et al. (2018): what a claim of progress owes its reader.
- Hassan et al. (2018), Läubli et al. (2018), Toral et al. (2018): a claim of parity, and two answers.
- Claessen and Hughes (2000): tests as laws, with inputs that a machine draws.
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
@inproceedings{laubli2018has,
  title = {Has Machine Translation Achieved Human Parity? A Case for Document-level Evaluation}, author = {L{\"a}ubli, Samuel and Sennrich, Rico and Volk, Martin},
  booktitle = {EMNLP}, year = {2018}, url = {https://arxiv.org/abs/1808.07048}}
@inproceedings{toral2018attaining,
  title = {Attaining the Unattainable? Reassessing Claims of Human Parity in Neural Machine Translation}, author = {Toral, Antonio and Castilho, Sheila and Hu, Ke and Way, Andy},
  booktitle = {WMT}, year = {2018}, url = {https://arxiv.org/abs/1808.10432}}
@inproceedings{claessen2000quickcheck,
  title = {{QuickCheck}: A Lightweight Tool for Random Testing of {Haskell} Programs}, author = {Claessen, Koen and Hughes, John},
  booktitle = {ICFP}, year = {2000}, doi = {10.1145/351240.351266}}
```

</details>
"""
