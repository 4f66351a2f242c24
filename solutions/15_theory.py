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
# Run the theory: why attention works, and where it stops

Three patterns are stored in a plane. A walk that begins anywhere runs downhill to one of them, or to a place between them. Each step is one step of attention.

Play for one minute: click where a walk should start, and move $\beta$. **How many valleys are there at $\beta = 0.5$, and from where on has each pattern its own?** At the end of the chapter you can explain it.
"""

# %% tags=["remove-input"]
from course_utils.widgets import hopfield_landscape

opening = hopfield_landscape()
opening

# %% [markdown]
r"""
*You will be able to*

1. read attention as kernel smoothing, as a Hopfield step and, without the softmax, as a recurrent network (further), and say when each is exact;
2. say which paths a gradient takes through a residual attention layer, and write it by hand (further);
3. predict what depth does to tokens and gradients, and what residual connections and the place of the norm change;
4. say what one layer of attention cannot do, and what one token can change;
5. compare a theorem with what is claimed for it.

*You need* chapter 03 for attention, 05 for heads and residual connections; norms and derivatives; for further sections, 07 and 08.

*Core path · further*
"""

# %% tags=["hide-input"] jupyter={"source_hidden": true}
import math
import sys
from functools import partial

import torch
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from torch.nn import functional as F
from tqdm import tqdm

from course_utils import attention, measure, plotting
from course_utils.guessing import guess
from course_utils.learner import check, dispute, hint, mine, progress, review, solution, yours
from course_utils.models.tasks.induction import induction_model, later_copies_right, train_induction
from course_utils.positions import is_permutation_equivariant

plotting.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=3, sci_mode=False, linewidth=100)


# %%
def normal(seed):
    """Return a function that draws standard normals in float64, the same for the same seed."""
    return partial(torch.randn, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def apart(a, b):
    """Say how far two tensors are from each other, rounding aside."""
    far = (a - b).abs().max().item()
    return "equal to rounding" if far < 1e-12 else f"{far:.2f} apart"


# %% [markdown]
r"""
## 1. An average of neighbours

At 0, 1 and 2 someone has measured 1, 3 and 2. What is the true value at 1, if the noise there may have been large? Nadaraya (1964) and, independently, Watson (1964) average all measurements, near ones with more weight. With a **bandwidth** $h$,

$$\hat f(q) = \sum_j w_j\, v_j, \qquad w_j \propto e^{-|q - k_j|^2/2h^2}, \qquad \sum_j w_j = 1$$

Such an average is called **kernel smoothing**.

**Predict.** The estimate at 1 with $h = 0.1$? With $h = 100$? With $h = 1$, is it above or below 2?
"""

# %%
key, value = torch.tensor([0.0, 1.0, 2.0]), torch.tensor([1.0, 3.0, 2.0])
for h in (0.1, 1.0, 100.0):
    weights = torch.softmax(-((1.0 - key) ** 2) / (2 * h**2), dim=0)
    shown = " ".join(f"{w:.2f}" for w in weights)
    print(f"h = {h:5}: weights {shown}, estimate {weights @ value:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

A small bandwidth gives the nearest measurement, 3, noise and all. A large one gives the plain mean, 2, wherever one asks. In between the near ones lead: 2.18<!-- shown: 2.18 -->.

The weights are a softmax of minus half the squared distance, in units of $h$. This is attention with another score.

</details>
"""

# %% [markdown]
r"""
### Exercise: `nadaraya_watson`

*Difficulty · importance · minutes*

Write `nadaraya_watson(query, key, value, bandwidth) -> out`.

- `query` is `(..., L, d)`, `key` `(..., S, d)`, `value` `(..., S, d_v)`; `bandwidth` is a number above 0. The result is `(..., L, d_v)`.
- The weights are as above and sum to 1 over the keys. There is no $\sqrt d$.
- A query a thousand bandwidths away from every key still gets a finite average.

You may use PyTorch's attention inside.
"""


# %% exercise="nadaraya_watson"
def nadaraya_watson(query, key, value, bandwidth):
    """Average the values, each weighted by a Gaussian of its key's distance to the query."""
    ### BEGIN SOLUTION: Squared distances, in units of 2h²; a softmax of minus those; the average.
    apart = (query[..., :, None, :] - key[..., None, :, :]) / bandwidth
    weights = torch.softmax(-apart.square().sum(-1) / 2, dim=-1)
    return weights @ value
    ### END SOLUTION


# %%
check("nadaraya_watson", nadaraya_watson)
# hint("nadaraya_watson")  # remove the first # for a hint; each call gives one more

# %% [markdown]
r"""
How wide should the kernel be? Sixty noisy points of $\sin 2x$, and the squared error of the smoothed curve against the true one.

**Predict.** Five bandwidths from 0.02 to 2. Where is the error smallest, and which of the two ends is worse?
"""

# %% guess={"name": "15.bandwidth", "kind": "curve", "asks": "How large is the mean squared error of the smoothed curve at each bandwidth?", "low": 0.001, "high": 1, "log": true, "x": [0.02, 0.1, 0.2, 0.5, 2], "across": "bandwidth h", "reads": "h = {x}: squared error {}"}
guess("15.bandwidth")

# %% mystnb={"image": {"alt": "Sixty noisy points of sin 2x and three smoothed curves. With h = 0.02 the curve jumps from point to point, with h = 0.2 it follows the sine, with h = 2 it is nearly flat."}}
draw = normal(0)
points = 4 * torch.rand(60, 1, generator=draw.keywords["generator"], dtype=torch.float64)
measured = torch.sin(2 * points) + 0.3 * draw(60, 1)
grid = torch.linspace(0, 4, 200, dtype=torch.float64)[:, None]
axes = plotting.new_figure("Too narrow follows the noise,\ntoo wide forgets the curve", "x", "y")
axes.plot(points[:, 0], measured[:, 0], "o", color=plotting.QUIET, markersize=3)
names = {0.02: ("orange", (1.3, 1.3)), 0.2: ("blue", (2.1, -0.4)), 2.0: ("green", (2.3, 0.18))}
for h in (0.02, 0.1, 0.2, 0.5, 2.0):
    curve = attention.nadaraya_watson(grid, points, measured, h)
    print(f"h = {h:4}: squared error {(curve - torch.sin(2 * grid)).square().mean():.3f}")
    if h in names:
        plotting.line(axes, grid[:, 0], curve[:, 0], f"h = {h}", *names[h])

# %% [markdown]
r"""
<details><summary>Answer</summary>

Both ends are bad: 0.053 at 0.02, where it copies the noise, and 0.47 at 2, where it forgets the curve. In the middle, 0.015<!-- shown: 0.053 0.47 0.015 -->. Nothing in the formula says which $h$ is right. In attention nobody sets it. Queries and keys are learned, and their lengths set the bandwidth: the longer the vectors, the narrower the kernel.

</details>

Attention is kernel smoothing with the kernel $e^{q\cdot k/\sqrt d}$ instead of a Gaussian. That is true as it stands. It is often shortened to "attention averages what is *near*". Is it?

**Predict.** Compare PyTorch's `scaled_dot_product_attention` (SDPA below), at scale $1/h^2$, with `nadaraya_watson`: for keys of equal length, for random keys, and for random keys with $-|k|^2/2h^2$ added to the scores. Which are equal?
"""

# %%
draw, h = normal(1), 0.7
query, key, value = draw(1, 5, 3), draw(1, 9, 3), draw(1, 9, 2)
bias = (-key.square().sum(-1) / (2 * h**2))[:, None].expand(1, 5, 9)
sdpa = partial(F.scaled_dot_product_attention, scale=1 / h**2)
for name, keys, added in (("keys of one length", F.normalize(key, dim=-1), None),
                          ("random keys", key, None), ("with the bias", key, bias)):  # fmt: skip
    smoothed = attention.nadaraya_watson(query, keys, value, h)
    print(f"{name:18}", apart(smoothed, sdpa(query, keys, value, attn_mask=added)))

# %% [markdown]
r"""
<details><summary>Answer</summary>

The first and the third. Expand the square:

$$-\tfrac12|q-k|^2 = q\cdot k - \tfrac12|k|^2 - \tfrac12|q|^2$$

The last term is the same for all keys of a query, so the softmax cancels it. The middle one cancels only where all keys have the same length. Otherwise a **long** key wins although it is far away: a dot product asks "how far along my direction?", not "how near?".

So the reading is exact for keys of equal length, or with an extra bias. QK-norm, which divides every query and key by its own length, makes them so, but only as long as no learned gain for each channel follows.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** A query lies exactly on key 1, which has length 1. Key 2 points the same way and has length 3. Plain attention, no bias. Which key gets more weight?

- A. Key 1: it is at distance 0.
- B. Key 2.
- C. Both the same: they point in one direction.

<details><summary>Answer</summary>

- A is what a Gaussian would do.
- **B is right**: the products are 1 and 3.
- C would hold if keys were normalised.

</details>
"""

# %% [markdown]
r"""
## 2. One step of a memory

Store some patterns $x_1, \dots, x_N$. Show the memory a damaged copy $\xi$, and let it answer with

$$\xi_{\text{new}} = \sum_i w_i\, x_i, \qquad w = \mathrm{softmax}(\beta\, x_1\!\cdot\xi,\ \dots,\ \beta\, x_N\!\cdot\xi)$$

This is the update of a **modern Hopfield network** (Ramsauer et al., 2021). It is attention: $\xi$ is the query, the patterns are keys *and* values, $\beta$ is the scale.

**Predict.** Patterns (1, 0) and (0, 1), damaged copy (0.8, 0.3). What comes out for $\beta = 0$, 1 and 20?
"""

# %%
patterns, damaged = torch.eye(2), torch.tensor([0.8, 0.3])
for beta in (0.0, 1.0, 20.0):
    out = torch.softmax(beta * patterns @ damaged, dim=0) @ patterns
    print(f"beta {beta:4}: {' '.join(f'{x:.2f}' for x in out)}")
same = F.scaled_dot_product_attention(damaged[None], patterns, patterns, scale=20.0)
print("SDPA, scale 20:", " ".join(f"{x:.2f}" for x in same[0]))

# %% [markdown]
r"""
<details><summary>Answer</summary>

With 0 the mean of all patterns, (0.5, 0.5), whatever was shown. With 1 a little more of the first. With 20 the first pattern itself, undamaged<!-- shown: 0.50 0.62 1.00 -->. A large $\beta$ recalls, a small one averages.

</details>

**Find the error.** Text D (A to E are listed on the page *What is measured here*) prints this update as $\mathrm{softmax}(\beta X^\top\xi)\,X$. The product $X^\top\xi$ needs the patterns in the **columns** of $X$, which is then $d \times N$.

**Predict.** What does it give for $d = 3$ and $N = 5$? And for $d = N$?
"""

# %%
for d, N in ((3, 5), (4, 4)):
    X = normal(2)(d, N)
    weights = torch.softmax(8.0 * X.T @ X[:, 1], dim=0)  # the state is pattern 1 itself
    try:
        print(f"d = {d}, N = {N}: softmax · X is", apart(weights @ X, X[:, 1]), "from the pattern")
    except RuntimeError as error:
        print(f"d = {d}, N = {N}:", str(error).split(" (")[0])
    print(f"{'':14} X · softmax is", apart(X @ weights, X[:, 1]), "from the pattern")

# %% [markdown]
r"""
<details><summary>Answer</summary>

For 3 and 5 it cannot be computed: there are five weights, and $X$ has three rows. With a square $X$ it runs, and mixes *features* instead of patterns. The right order is $X\,\mathrm{softmax}(\beta X^\top\xi)$. With patterns as rows, as keys are in this course, $\mathrm{softmax}(\beta X\xi)^\top X$: each convention has its own order.

</details>
"""

# %% [markdown]
r"""
### Exercise: `hopfield_update`

*Difficulty · importance · minutes*

Write `hopfield_update(state, patterns, beta) -> state`.

- `state` is `(..., d)`, also without any leading axis; `patterns` is `(N, d)`, one per row.
- One step: softmax over the patterns of beta · pattern·state, times the patterns. No $1/\sqrt d$, no residual connection.
- `beta` is a number, at least 0. Scores may reach 10,000.

Calling PyTorch's attention inside is a correct answer: that is the point.
"""


# %% exercise="hopfield_update"
def hopfield_update(state, patterns, beta):
    """Return the average of the patterns that one step of the memory makes."""
    ### BEGIN SOLUTION: Compare the state with each pattern, then average the patterns.
    scores = beta * (state @ patterns.mT)
    return torch.softmax(scores, dim=-1) @ patterns
    ### END SOLUTION


# %%
check("hopfield_update", hopfield_update)
# hint("hopfield_update")

# %% [markdown]
r"""
Now pictures. The digits of scikit-learn are 8 × 8 pixels; as patterns they have their common mean subtracted and are scaled to length 1. The lower half of each is erased, which here means set to that mean; one update fills it in.

**Predict.** 200 digits are stored. Which $\beta$ restores more of them exactly, 8 or 128? What will the answers of a small $\beta$ look like?
"""

# %%
order = torch.randperm(1797, generator=torch.Generator().manual_seed(1))
pictures = torch.tensor(load_digits().data)[order]
mean = pictures.mean(dim=0)
length = (pictures - mean).norm(dim=-1, keepdim=True)
digits = (pictures - mean) / length
erased = digits.clone()
erased[:, 32:] = 0
noisy = digits + 0.1 * normal(3)(*digits.shape)


def restored(cue, count, beta, enough=0.999):
    """Return the share of the first patterns that one update restores, up to a cosine."""
    out = attention.hopfield_update(cue[:count], digits[:count], beta)
    return (F.cosine_similarity(out, digits[:count]) > enough).double().mean().item()


# %% mystnb={"image": {"alt": "Five digits in five rows: as stored, with the lower half blank, and after one update with beta 2, 8 and 128. With beta 2 all answers are nearly the same blurred mean of many digits, with 8 they begin to differ. With 128 four look like the stored digit; the third, a 2, gets a lower half that is a blend of two digits."}}
rows = {"stored": digits[:5], "erased": erased[:5]}
for beta in (2, 8, 128):
    rows[f"β = {beta}"] = attention.hopfield_update(erased[:5], digits[:200], float(beta))
figure, panels = plt.subplots(5, 5, figsize=(plotting.WIDTH, 5.4))
plotting.headline(
    figure, "A small β answers with a blur, a large one\nwith the digit, or with a blend of two"
)
for name, line, answers in zip(rows, panels, rows.values(), strict=True):
    for panel, picture in zip(line, answers * length[:5] + mean, strict=True):
        shown = picture[:32] if name == "erased" else picture
        panel.imshow(shown.reshape(-1, 8), cmap="gray_r", vmin=0, vmax=16)
        panel.set(xticks=[], yticks=[], ylim=(7.5, -0.5), facecolor="#DDE6EE")
        panel.spines[:].set_visible(False)
    line[0].set_ylabel(name, rotation=0, ha="right", va="center")

# %%
betas = (8.0, 32.0, 128.0, 512.0)
print("share restored", "".join(f"{f'β {beta:.0f}':>8}" for beta in betas))
for name, cue in (("half erased", erased), ("noise", noisy)):
    for count in (10, 50, 200, 1797):
        shares = "".join(f"{restored(cue, count, beta):8.2f}" for beta in betas)
        print(f"{name if count == 10 else '':12}{count:5}{shares}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

128: with 200 stored and half erased it restores 0.83 of them; 8 restores none<!-- shown: 0.83 0.00 -->. At small $\beta$ many patterns share the weight, and the answer is their blurred mean, nearly the same for all. The more patterns are stored, the larger $\beta$ has to be. Noise of this size is easier here; the next question shows what makes the erased ones hard.

</details>

With all 1,797 stored, not even 512 restores all the half-erased ones.

**Predict.** Let $\beta$ grow without end. What sets apart those that are still not restored?

- A. Another digit has the same upper half: what was erased is gone.
- B. They are drawn badly.
- C. Something else.
"""

# %%
visible = erased.norm(dim=-1)  # the length of the upper half: all that the cue has
winner = (erased @ digits.T).argmax(dim=-1)
lost = winner != torch.arange(1797)
print(f"different upper halves: {len(erased.unique(dim=0))} of 1797")
print(f"restored, however large β is: {(~lost).double().mean():.2f}")
longer = (visible[winner] > visible)[lost]
print(f"failures where the winner's upper half is longer: {longer.sum()} of {len(longer)}")
for beta in (128, 512, 2048):
    for name, bias in (("dot product", 0), ("with the bias", -visible.square() / 2)):
        answer = torch.softmax(beta * (erased @ digits.T + bias), dim=-1) @ digits
        share = (F.cosine_similarity(answer, digits) > 0.999).double().mean()
        print(f"β {beta:4}, {name:13}: restored {share:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

C. No two upper halves are equal, so nothing is lost. Yet however large β is, the plain product restores only 0.72 of them, and in all 508 failures the winner's upper half is *longer* than the right one's<!-- shown: 0.72 508 -->. It is section 1 again: a dot product asks how far a key reaches along the query, not how near it is. The stored digits have length 1, but what a half-erased cue can see of them has not.

The bias of section 1, minus half the squared length of the visible half, turns the score into a distance. Then 512 restores 0.99, and 2048 all<!-- shown: 0.99 1.00 -->.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 3. Downhill

Why does a step bring the state nearer to a pattern? There is an **energy** that no step raises:

$$E(\xi) = -\tfrac1\beta \ln\sum_i e^{\beta\, x_i\cdot\xi} + \tfrac12\,\xi\cdot\xi + \tfrac1\beta\ln N + \tfrac12 M^2, \qquad M = \max_i |x_i|$$

The first term is low near a pattern, the second keeps the state from running away. The last two are constants that keep $E$ from going below 0.

**Predict.** What is the gradient of $E$ with respect to $\xi$? (The gradient of $\ln\sum e^{s_i}$ with respect to $s$ is a softmax.)
"""

# %% [markdown]
r"""
### Exercise: `hopfield_energy`

*Difficulty · importance · minutes*

Write `hopfield_energy(state, patterns, beta) -> energy`.

- `state` is `(..., d)`, `patterns` `(N, d)`, the result `(...)`.
- All four terms count, including both constants. `beta` is above 0.
- It stays finite for scores up to 10,000.
"""


# %% exercise="hopfield_energy"
def hopfield_energy(state, patterns, beta):
    """Return how high a state lies in the landscape that the patterns make."""
    ### BEGIN SOLUTION: A logarithm of a sum of exponentials that cannot overflow, and three terms.
    match = torch.logsumexp(beta * (state @ patterns.mT), dim=-1) / beta
    largest = patterns.square().sum(-1).max()
    return -match + state.square().sum(-1) / 2 + math.log(len(patterns)) / beta + largest / 2
    ### END SOLUTION


# %%
check("hopfield_energy", hopfield_energy)
# hint("hopfield_energy")

# %%
state = erased[:50].clone().requires_grad_()
energy = attention.hopfield_energy(state, digits[:50], 32.0)
(slope,) = torch.autograd.grad(energy.sum(), state)
print("slope and state - update:",
      apart(slope, state - attention.hopfield_update(state, digits[:50], 32.0)))  # fmt: skip
state, falls = state.detach(), []
for _ in range(6):
    falls.append(attention.hopfield_energy(state, digits[:50], 32.0))
    state = attention.hopfield_update(state, digits[:50], 32.0)
print("mean energy, five updates:", " ".join(f"{e.mean():.3f}" for e in falls))
print("any step uphill:", bool((torch.stack(falls).diff(dim=0) > 1e-12).any()))

# %% [markdown]
r"""
<details><summary>Answer</summary>

$\nabla E = \xi - \sum_i w_i x_i$: the state minus its update. So an update is one step of gradient descent with a step size of exactly 1, and a theorem of the paper says that such a step never goes uphill. Nearly all of the descent happens in the first step: 0.386, then 0.126<!-- shown: 0.386 0.126 -->. Attention takes one step, and then another layer, with other matrices, carries on.

</details>
"""

# %% [markdown]
r"""
**Walk.** In the picture the patterns lie in a plane, and the shading shows the energy. Click where a walk should start, or drag any handle. Then tick *call it attention*: nothing changes but the names.

**Predict**, before you move the slider: how many valleys are there at $\beta = 0.5$? And does a pattern that you drag to the middle keep a valley of its own?
"""

# %%
opening

# %% [markdown]
r"""
<details><summary>Answer</summary>

One valley, in the middle of the three: every start ends at their mean. From about $\beta = 1$ on each pattern has its own.


A pattern in the middle has no valley. Its products with any state are small, so a longer pattern always outscores it: the lesson of section 1 again, that a dot product is not a distance. The theorem below assumes patterns of equal length.

</details>
"""

# %% [markdown]
r"""
**Predict.** Between one valley and a valley for each: two patterns lie close together, a third lies opposite. Where does the update come to rest for a small, a medium and a large β?
"""

# %%
stored = F.normalize(torch.tensor([[1.0, 0.25], [1.0, -0.25], [-1.0, 0.0]]), dim=-1)
for beta in (1.0, 8.0, 64.0):
    rests = []
    for state in stored:
        for _ in range(2000):
            state = attention.hopfield_update(state, stored, beta)
        height = round(state[1].item(), 2) + 0.0  # no -0.00
        rests.append(f"({state[0]:.2f}, {height:5.2f})")
    print(f"β {beta:4}, from each of the three:", "  ".join(rests))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Small: all in one place, drawn towards the pair. Large: each in its own. Medium: the pair *shares* a place, its mean (0.97, 0), and the third has its own<!-- shown: 0.97 0.00 -1.00 -->. Such a mean of a few patterns is called a **metastable state**. Ramsauer et al. find that the heads of Transformers "perform in the first layers preferably global averaging and in higher layers partial averaging via metastable states".

</details>
"""

# %% [markdown]
r"""
How many patterns fit? The classical network of Hopfield (1982), with states ±1, holds about $0.14\,d$ random patterns (Amit et al., 1985). For this one the paper proves: exponentially many in $d$, for patterns drawn on a sphere.

**Predict.** 10,000 random patterns of length $\sqrt d$, noise of half their spread, $\beta = 8/\sqrt d$. Which $d$ is enough to restore all?
"""

# %% guess={"name": "15.capacity", "kind": "choice", "asks": "From which width d on are all of the 10,000 patterns restored?", "take": "printed", "options": {"8": "d = 8: restored 1.00", "16": "d = 8: restored 0{_} d = 16: restored 1.00", "32": "d = 16: restored 0{_} d = 32: restored 1.00", "64": "d = 32: restored 0{_} d = 64: restored 1.00"}}
guess("15.capacity")

# %%
for d in (8, 16, 32, 64):
    draw = normal(4)
    stored = d**0.5 * F.normalize(draw(10_000, d), dim=-1)
    cue = stored[:1000] + 0.5 * draw(1000, d)
    out = attention.hopfield_update(cue, stored, 8 / d**0.5)
    right = (F.cosine_similarity(out, stored[:1000]) > 0.99).double().mean()
    print(f"d = {d:2}: restored {right:.2f} of 10,000; the classical network holds {0.14 * d:.0f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

From 32 on: all of the 1,000 that were asked for come back<!-- shown: 1.00 -->, from a store more than two thousand times as large as the classical network's. In few dimensions random directions crowd; each further dimension multiplies the room.

Note what is being compared: this memory *keeps* all patterns, as a cache keeps all keys. The classical one squeezes them into one $d \times d$ matrix.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 4. Without the softmax: a recurrent network

Replace $e^{q\cdot k}$ by a product of features, $\varphi(q)\cdot\varphi(k)$ with $\varphi(x) = \mathrm{elu}(x) + 1 > 0$. Then the sum over the past can be kept in a matrix $S$ and a vector $z$, and one more token changes them by

$$S \leftarrow S + \varphi(k)\,v^\top, \qquad z \leftarrow z + \varphi(k), \qquad \text{out} = \frac{\varphi(q)^\top S}{\varphi(q)\cdot z}$$

Chapter 08 used this to save time. Read it once more: a **state**, updated by each token, and read out. That is a recurrent network.

**Predict.** Why can the same not be done with $e^{q\cdot k}$?
"""

# %% [markdown]
r"""
<details><summary>Answer</summary>

$e^{q\cdot k}$ has features too, but infinitely many: one for every product of powers of the entries. The state would be an infinite matrix. A softmax needs all keys, so a decoder with softmax attention keeps them: a recurrent network whose state grows with every token.

</details>

### Exercise: `linear_attention_step`

*Difficulty · importance · minutes*

Write `linear_attention_step(state, normaliser, query, key, value) -> (state, normaliser, out)`.

- `state` is `(..., d_k, d_v)`, `normaliser`, `query`, `key` are `(..., d_k)`, `value` is `(..., d_v)`.
- First the token is added, then its query reads. $\varphi$ is elu + 1; no scale, and nothing is added to the denominator.
- Do not change the arguments: return new tensors. A sequence starts from zeros.
"""


# %% exercise="linear_attention_step"
def linear_attention_step(state, normaliser, query, key, value):
    """Add one token to the state, and let its query read it."""
    ### BEGIN SOLUTION: Features of both; the outer product is added; then the query reads.
    asked, offered = F.elu(query) + 1, F.elu(key) + 1
    state = state + offered[..., :, None] * value[..., None, :]
    normaliser = normaliser + offered
    above = (asked[..., None, :] @ state)[..., 0, :]
    return state, normaliser, above / (asked * normaliser).sum(-1, keepdim=True)
    ### END SOLUTION


# %%
check("linear_attention_step", linear_attention_step)
# hint("linear_attention_step")

# %%
draw = normal(5)
query, key, value = draw(1, 200, 16), draw(1, 200, 16), draw(1, 200, 8)
state, normaliser, read = query.new_zeros(1, 16, 8), query.new_zeros(1, 16), []
for token in range(200):
    inputs = (query[:, token], key[:, token], value[:, token])
    state, normaliser, out = attention.linear_attention_step(state, normaliser, *inputs)
    read.append(out)
read = torch.stack(read, dim=1)
for other in (attention.causal_linear_attention, attention.recurrent_linear_attention):
    print(f"step by step and {other.__name__}:", apart(read, other(query, key, value)))
print(f"numbers kept: state {16 * 8 + 16}, cache {200 * (16 + 8)} after 200 tokens")

# %% [markdown]
r"""
The same numbers, from a state that does not grow. It cannot hold everything: it has room for $d_k$ directions of keys, and whatever does not fit overlaps. Chapter 08 measured the price on a recall task: with 64 pairs to remember, full attention recalls all, linear attention does not, and it recalls less the smaller its heads are.
"""

# %% [markdown]
r"""
**Check yourself.** "Transformers are RNNs" is the title of a paper. When is it exact?

- A. Always: every decoder works token by token.
- B. For causal attention whose unnormalised weights are dot products of finitely many features.
- C. After training long enough.

<details><summary>Answer</summary>

- A confuses the order of work with a fixed state: a softmax decoder keeps a cache that grows.
- **B is right.** It is an identity, not an approximation.
- C: training plays no part in it.

</details>
"""

# %% [markdown]
r"""
## 5. What flows back

A layer with its residual connection is $y = x + \alpha\, x W_V$, with $\alpha = \mathrm{softmax}(xW_Q (xW_K)^\top/\sqrt{d_k})$. Let $g = \partial\mathcal L/\partial y$ be what arrives from above.

**Find the error.** Two sentences of text D: "Attention provides skip connections for gradient flow: $\frac{\partial\mathcal L}{\partial x_i} = \frac{\partial\mathcal L}{\partial y_i} + \sum_j \alpha_{ji}\frac{\partial\mathcal L}{\partial y_j}$. This mitigates vanishing gradients in deep networks."

**Predict.** In matrices the formula is $g + \alpha^\top g$. Compare it with autograd in four settings: the weights $\alpha$ held fixed or not, $W_V$ the identity or random. In how many of them is it exact?
"""

# %%
draw = normal(0)
x, g = draw(1, 12, 16), draw(1, 12, 16)
W_q, W_k, W_v = (draw(16, 16) / 4 for _ in range(3))
for fixed in (True, False):
    for name, W in (("W_V = I", torch.eye(16, dtype=x.dtype)), ("W_V random", W_v)):
        leaf = x.clone().requires_grad_()
        alpha = attention.attention_weights(leaf @ W_q, leaf @ W_k)
        alpha = alpha.detach() if fixed else alpha
        (true,) = torch.autograd.grad(leaf + alpha @ (leaf @ W), leaf, g)
        error = (g + alpha.detach().mT @ g - true).norm() / true.norm()
        print(f"weights {'fixed' if fixed else 'live ':5}, {name:10}: off by {error:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

In one: weights fixed *and* $W_V = I$. A random $W_V$ alone puts it off by 0.65, live weights alone by 0.48, both by 0.74<!-- shown: 0.65 0.48 0.74 -->. Two things are missing:

- the values went through $W_V$, so the gradient comes back through $W_V^\top$;
- $x$ also makes the *weights*, through queries and keys: two more paths.

And the first term, the skip, is there because of the $x\,+$ in front. It belongs to the **residual connection**. Attention adds direct paths between positions; section 7 shows what becomes of the gradient when these are all there is.

</details>
"""

# %% [markdown]
r"""
The whole gradient has four terms, one for each way in which $x$ enters $y$:

$$\frac{\partial\mathcal L}{\partial x} = \underbrace{g}_{\text{past the layer}} + \underbrace{dQ\,W_Q^\top}_{\text{as query}} + \underbrace{dK\,W_K^\top}_{\text{as key}} + \underbrace{dV\,W_V^\top}_{\text{as value}}$$

where $dQ$, $dK$, $dV$ are attention's own gradients, from chapter 03.
"""

# %% [markdown]
r"""
**Check yourself.** A softmax is saturated: one weight is 1, the others 0. Which of the four terms vanish?

<details><summary>Answer</summary>

The second and the third. With saturated weights a small change of a score changes nothing, so $dQ = dK = 0$: such a head can still learn *what* to hand over, but no longer *where* to look.

This is exact at 0 and 1 only. Near them the slope of a weight, $w(1 - w)$, is small but not 0, and the slope of $W_Q$ carries the factor that makes the queries long. Chapter 13's saturated head, with queries twenty times as long, has a *larger* slope than the healthy one.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 6. The whole gradient, by hand

Chapter 03 derived the parts. With $\lambda = 1/\sqrt{d_k}$, values $V = xW_V$ and output $O = \alpha V$:

1. $dV = \alpha^\top g$, and $d\alpha = g\,V^\top$;
2. $dZ = \alpha \circ (d\alpha - \text{rowsum}(\alpha\circ d\alpha))$: the softmax, whose Jacobian is $\partial\alpha_i/\partial z_j = \alpha_i(\delta_{ij} - \alpha_j)$;
3. $dQ = \lambda\, dZ\, K$, and $dK = \lambda\, dZ^\top Q$.

Text D, which offers the short formula, has an appendix on this, "Softmax Gradient" and "Attention Backward Pass", whose formulas are missing; those above fill the gap. One survives: $\partial\mathcal L/\partial W_Q = x^\top dQ$. It is right.
"""

# %% [markdown]
r"""
### Exercise: `residual_attention_backward`

*Difficulty · importance · minutes*

Write `residual_attention_backward(x, W_q, W_k, W_v, grad_out) -> grad_x` for $y = x + \mathrm{softmax}(xW_Q(xW_K)^\top/\sqrt{d_k})\,xW_V$.

- `x` and `grad_out` are `(B, L, d)`, `W_q` and `W_k` `(d, d_k)`, `W_v` `(d, d)`.
- No mask, and no autograd inside.
"""


# %% exercise="residual_attention_backward"
def residual_attention_backward(x, W_q, W_k, W_v, grad_out):
    """Return the gradient with respect to x: four paths, added."""
    ### BEGIN SOLUTION: Recompute the weights, go back through the softmax, then by every path to x.
    query, key, value = x @ W_q, x @ W_k, x @ W_v
    scale = query.shape[-1] ** -0.5
    weights = torch.softmax(query @ key.mT * scale, dim=-1)
    wish = grad_out @ value.mT
    grad_scores = weights * (wish - (weights * wish).sum(-1, keepdim=True)) * scale
    grad_query, grad_key = grad_scores @ key, grad_scores.mT @ query
    grad_value = weights.mT @ grad_out
    return grad_out + grad_query @ W_q.mT + grad_key @ W_k.mT + grad_value @ W_v.mT
    ### END SOLUTION


# %%
check("residual_attention_backward", residual_attention_backward)
# hint("residual_attention_backward")

# %% [markdown]
r"""
**Predict.** The four terms have different lengths. Which is the longest at random weights, and are the two paths through the weights worth the trouble?
"""

# %%
leaves = [one.clone().requires_grad_() for one in (x, W_q, W_k, W_v)]
q, k, v = (leaves[0] @ W for W in leaves[1:])
out = attention.scaled_dot_product_attention(q, k, v)
true = torch.autograd.grad(leaves[0] + out, leaves, g)
print("grad_x: ", apart(attention.residual_attention_backward(x, W_q, W_k, W_v, g), true[0]))
dq, dk, dv = attention.attention_backward(x @ W_q, x @ W_k, x @ W_v, g)
for name, ours, autograd in zip(("W_Q", "W_K", "W_V"), (dq, dk, dv), true[1:], strict=True):
    print(f"x.T @ d{name[-1]} and autograd's d{name}:", apart((x.mT @ ours)[0], autograd))
terms = {"past": g, "query": dq @ W_q.mT, "key": dk @ W_k.mT, "value": dv @ W_v.mT}
print("lengths:", ", ".join(f"{name} {term.norm():.1f}" for name, term in terms.items()))
weights = attention.attention_weights(q, k)
print("rowsum(α dα) and rowsum(g O):",
      apart((weights * (g @ v.mT)).sum(-1), (g * out).sum(-1)))  # fmt: skip

# %% [markdown]
r"""
<details><summary>Answer</summary>

The residual path, 13.3. Those through queries and keys, 4.4 and 5.3, are nearly as long as the one through values<!-- shown: 13.3 4.4 5.3 -->. They tell the layers *below* what to send so that this head looks elsewhere. The head itself learns where to look by $x^\top dQ$ and $x^\top dK$.

The last line is what FlashAttention's backward pass relies on (chapter 09): the correction of the softmax can be computed from the output, without the table of weights.

</details>
"""

# %% [markdown]
r"""
## 7. Depth, with and without residual connections

Stack random layers, untrained: attention with four heads, pre-LayerNorm, width 64, 32 tokens. Take the gradients of two **different** outputs, at tokens 3 and 20, with respect to all inputs.

**Predict.** If the two gradients point the same way, both outputs answer alike to every small change of the inputs, and nothing learned below can move one without the other. After how many layers does that happen without residual connections? And with them?
"""


# %%
def random_layer(draw, x, norm=lambda x: x):
    """Return what a random attention layer with four heads makes of the normed tokens."""
    d, x = x.shape[-1], norm(x)
    W_q, W_k, W_v, W_o = (draw(d, d) / d**0.5 for _ in range(4))
    heads = (attention.split_heads(x @ W, 4) for W in (W_q, W_k, W_v))
    return attention.merge_heads(attention.scaled_dot_product_attention(*heads)) @ W_o


def alike(depth, residual, seed):
    """Return the cosine between the gradients of two outputs with respect to all inputs."""
    draw, layer_norm = normal(seed), partial(F.layer_norm, normalized_shape=(64,))
    x = draw(1, 32, 64).requires_grad_()
    stream = x
    for _ in range(depth):
        out = random_layer(draw, stream, layer_norm)
        stream = stream + out if residual else out
    chosen = draw(64)
    one, two = ((stream[0, token] @ chosen) for token in (3, 20))
    (first,) = torch.autograd.grad(one, x, retain_graph=True)
    (second,) = torch.autograd.grad(two, x)
    return F.cosine_similarity(first.flatten(), second.flatten(), dim=0).item()


# %% guess={"name": "15.alike", "kind": "curve", "asks": "Random attention layers with residual connections: how large is the cosine between the gradients of two outputs at each depth?", "low": 0, "high": 1, "x": [1, 2, 4, 8, 16], "across": "depth", "reads": "depth {x}: {_}, with residual {}"}
guess("15.alike")

# %%
depths = (1, 2, 4, 8, 16)
print("cosine, mean of three seeds")
for depth in depths:
    without, beside = (
        sum(alike(depth, residual, seed) for seed in range(3)) / 3 for residual in (False, True)
    )
    print(f"depth {depth:2}: without residual {without:.2f}, with residual {beside:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Without them, four layers are enough: cosine 1.00<!-- shown: 1.00 -->. Every output depends on the inputs in the same way. With them the gradients stay different for longer, 0.18 at depth 4 and 0.49 at 8<!-- shown: 0.18 0.49 -->; at 16 even they are mostly alike. So the direct path is the residual connection's. Attention alone does the opposite: it averages.

</details>

The same happens to the tokens on the way forward. Dong et al. (2021) prove: attention alone, layer upon layer, makes all tokens **equal**, and doubly exponentially fast: the exponent itself grows exponentially with depth. Their abstract goes on: "skip connections and MLPs stop the output from degeneration". To see how far each of them does, measure how far the tokens are from their mean.
"""

# %% [markdown]
r"""
### Exercise: `rank_one_distance`

*Difficulty · importance · minutes*

Write `rank_one_distance(x) -> distance`.

- `x` is `(..., L, d)`, the result `(...)`: $\|x - \mathbf 1 m^\top\|_F / \|x\|_F$, with $m$ the mean over the tokens. $\|\cdot\|_F$ is the Frobenius norm, the root of the sum of all squared entries.
- This is how far `x` is from the nearest matrix whose rows are all equal; not from any matrix of rank 1.
- It is between 0 and 1; for a single token, and for zeros, it is 0.
"""


# %% exercise="rank_one_distance"
def rank_one_distance(x):
    """Say how far the tokens are from being all alike: 0 if they are."""
    ### BEGIN SOLUTION: Take the mean token away; compare what is left with what there was.
    rest = x - x.mean(dim=-2, keepdim=True)
    size = torch.linalg.matrix_norm(x)
    return torch.linalg.matrix_norm(rest) / torch.where(size == 0, 1.0, size)
    ### END SOLUTION


# %%
check("rank_one_distance", rank_one_distance)
# hint("rank_one_distance")

# %% [markdown]
r"""
Random stacks of 24 layers, in float64; geometric means over five seeds. An MLP (a feed-forward layer) may have a **gain**: its output is multiplied by it. The norm, LayerNorm, stands *after* the sum of stream and layer ("post-LN", the order of 2017), *before* the layer ("pre-LN", as in GPT-2), or nowhere.

**Predict.** Without a residual connection: does an MLP stop the collapse? Does a gain of 10? With one: which of the three places of the norm, none, after or before, keeps the tokens most different after 24 layers, and which the least?
"""


# %%
def distances(parts, seed, gain=1.0, depth=24, d=64):
    """Return the distance after each layer of a random stack, and how much the last one added."""
    draw, layer_norm = normal(seed), partial(F.layer_norm, normalized_shape=(d,))
    before = layer_norm if "pre-LN" in parts else lambda x: x
    after = layer_norm if "post-LN" in parts else lambda x: x
    x, found = draw(1, 32, d), []
    for _ in range(depth):
        out = random_layer(draw, x, before)
        added = out.norm() / x.norm()
        x = after(x + out if "residual" in parts else out)
        if "MLP" in parts:
            W_in, W_out = draw(d, 4 * d) / d**0.5, draw(4 * d, d) / d**0.5
            out = gain * F.relu(before(x) @ W_in) @ W_out
            x = after(x + out if "residual" in parts else out)
        found.append(measure.rank_one_distance(x)[0])
    return torch.stack(found), added


def written(x):
    """Return a distance as text; below 1e-12 it is mostly rounding."""
    return "0 " if x < 1e-12 else f"{x:.0e}" if x < 0.001 else f"{x:.3f}"


# %% guess={"name": "15.norm", "kind": "order", "asks": "With a residual connection and no MLP: which place of the norm leaves the tokens most different after 24 layers, which second, which least?", "take": "descending", "options": {"after the sum": "residual, post-LN {_} {} {x} residual, pre-LN", "nowhere": "residual {_} {} {x} residual, post-LN", "before the layer": "residual, pre-LN {_} {} {x} residual, MLP"}}
guess("15.norm")

# %%
curves = {}
KINDS = (("attention alone", 1), ("MLP", 1), ("MLP", 3), ("MLP", 10), ("post-LN", 1),
         ("residual", 1), ("residual, post-LN", 1), ("residual, pre-LN", 1), ("residual, MLP", 1),
         ("residual, MLP, post-LN", 1), ("residual, MLP, pre-LN", 1))  # fmt: skip
print(f"{'after layer':24}", "".join(f"{layer:8}" for layer in (1, 2, 3, 4, 8, 24)), " added")
for kind, gain in KINDS:
    name = kind if gain == 1 else f"{kind}, gain {gain}"
    runs = [distances(kind.split(", "), seed, gain) for seed in range(5)]
    curves[name] = torch.stack([found.log() for found, _ in runs]).mean(dim=0).exp()
    row = "".join(f"{written(curves[name][layer - 1]):>8}" for layer in (1, 2, 3, 4, 8, 24))
    added = sum(one for _, one in runs) / 5
    print(f"{name:24}", row, f"{added:6.1f}" if "residual" in kind else "")

# %% mystnb={"image": {"alt": "Two plots, one above the other, of the distance from equal tokens against depth, on logarithmic axes. Without a residual connection all curves, with an MLP of gain 1, 3 or 10 or with LayerNorm, fall to rounding within eight layers; a larger gain only delays it. With a residual connection, the curves without a norm or with the norm after the sum fall steadily to between 0.01 and 0.0004 after 24 layers, those with the norm before the layer stay at 0.3 and 0.5."}}
axes_of = plotting.new_panels(
    "With a residual connection, the place of the norm\ndecides how fast tokens become alike",
    "layer",
    ("distance, no residual", "distance, residual"),
)
colours = {
    "none": "blue",
    "post-LN": "orange",
    "pre-LN": "green",
    "gain 3": "orange",
    "gain 10": "pink",
}
for name, curve in curves.items():
    axes = axes_of[name.startswith("residual")]
    short = name.removeprefix("residual, ")
    colour = plotting.COLOURS[colours.get(short.removeprefix("MLP, "), "blue")]
    style = "--" if "MLP" in name else "-"
    axes.plot(range(1, 25), curve, style, label=short, color=colour)
for axes, lowest in zip(axes_of, (1e-16, 1e-4), strict=True):
    axes.set(yscale="log", ylim=(lowest, 3), xlim=(0, 25))
    axes.legend(fontsize=10, frameon=False, loc="best" if lowest < 1e-9 else "lower left")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Alone, attention is at rounding after four layers. Once one can see it: from 0.019 to 1e-07 the logarithm grows fourfold<!-- shown: 0.019 1e-07 -->, and then float64 ends. An MLP delays the collapse, the more the larger its gain: at layer 3 gain 10 still has 0.31, at layer 8 nothing<!-- shown: 0.31 0 -->. In these stacks it stops nothing: equal tokens stay equal under it, and a gain only scales the tokens, which sharpens the next softmax. LayerNorm delays it, too.

The residual connection alone is not the whole story either: its distance falls steadily, to 0.011. With the norm *after* the sum it falls further, to 0.002, with an MLP to 0.0004. With the norm *before* the layer 0.28 is left, and 0.51 with an MLP<!-- shown: 0.011 0.002 4e-04 0.28 0.51 -->.

</details>
"""

# %% [markdown]
r"""
The last column is the length of what layer 24's attention adds, compared with the stream's. Without a norm, or with the norm after the sum, it is about 1: what a layer adds is as long as the stream itself. With pre-LN it is 0.3, and with an MLP 0.1<!-- shown: 0.3 0.1 -->: the stream grows from layer to layer, the norm keeps what is added from growing with it, and later layers change less and less.

So residual connections do not prevent rank collapse here: without a norm, or in the order of 2017, they slow it; with pre-LN they slow it far more. All of this is about random weights; training can change it.
"""

# %% [markdown]
r"""
**Check yourself.** Chapter 05 measured that each head's scores have rank at most $d_k$. Is this the same as rank collapse?

<details><summary>Answer</summary>

No. That limits the *table of scores* of one head, at any depth. Here it is the *tokens* that become equal, layer by layer, however large $d_k$ is.

</details>
"""

# %% [markdown]
r"""
## 8. What one layer cannot do

Read `a b a c a`. After the last `a`, what comes next? A reader who has nothing but this text says: `b` or `c`, once each so far. This rule is what an **induction circuit** computes (Olsson et al., 2022): find earlier copies of the current token, and predict what followed them.

**Predict.** What does the rule say after the first `a`, after `b`, after the second `a`?
"""

# %% [markdown]
r"""
<details><summary>Answer</summary>

After the first `a` and after `b` nothing: they have not been seen before. After the second `a`: `b`.

</details>

### Exercise: `induction_prediction`

*Difficulty · importance · minutes*

Write `induction_prediction(tokens, num_symbols) -> prediction`.

- `tokens` is `(B, L)`, whole numbers from 0 to `num_symbols` - 1; the result is `(B, L, num_symbols)`, in the default float dtype.
- Row $i$ is the mean, over all $j < i$ with `tokens[j] == tokens[i]`, of the one-hot vector of `tokens[j + 1]`. Here $j + 1 = i$ is allowed.
- Where there is no such $j$, zeros.
"""


# %% exercise="induction_prediction"
def induction_prediction(tokens, num_symbols):
    """Predict by what followed the earlier copies of each token."""
    ### BEGIN SOLUTION: A table of earlier equal tokens, its rows made averages, times the successors.
    same = (tokens[:, :, None] == tokens[:, None, :]).tril(-1)
    weights = same.to(torch.get_default_dtype())
    weights = weights / weights.sum(-1, keepdim=True).clamp(min=1)
    followers = F.one_hot(tokens.roll(-1, dims=1), num_symbols)
    return weights @ followers.to(weights.dtype)
    ### END SOLUTION


# %%
check("induction_prediction", induction_prediction)
# hint("induction_prediction")

# %% [markdown]
r"""
Now the same with attention. The match asks: does the token *before* key $j$ equal mine? But key $j$ is computed from token $j$ alone. So a first layer must bring each token its predecessor; only then can a second layer compare. Two layers, with weights set by hand:

1. each position attends to the one before it, and writes that token into a second part of its stream;
2. the query is the token, the key the second part, the value the token. Position 0 has no predecessor: its key scores half of a match and its value is zero, so a query that finds nothing rests there.

**Predict.** How sharp must the second layer be to equal the rule?
"""

# %%
tokens = torch.randint(6, (4, 40), generator=torch.Generator().manual_seed(6))
token = F.one_hot(tokens, 6).double()
steps = torch.arange(40)
before = torch.where(steps[:, None] - 1 == steps, 1.0, 0.0).double()  # layer 1: hard, one step back
previous = before @ token
previous[:, 0] = 0.5  # half of a match for every query
value = token.clone()
value[:, 0] = 0.0
seen = attention.causal_mask(40, 40)
rule = attention.induction_prediction(tokens, 6).double()
for scale in (2.0, 8.0, 32.0, 128.0):
    out = F.scaled_dot_product_attention(token, previous, value, attn_mask=seen, scale=scale)
    print(f"scale {scale:5}: largest difference from the rule {(out - rule).abs().max():.0e}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

With a finite scale it never equals the rule, but comes as close as you like: the difference falls exponentially with the scale, and at 128 it is float32's rounding. Two layers can do it. One layer *of attention alone* has no way to: its score of a pair depends on those two tokens and their positions, and not on what comes before the key. Sanford, Hsu and Telgarsky (2024) prove it for any one layer: to solve such a task it must be exponentially larger than two layers need to be.

</details>
"""

# %% [markdown]
r"""
Does training find it? The model of chapter 13, attention only, reads random segments that repeat; it is asked for the next token where the current one was seen before. Guessing is right with probability 0.03.

**Predict.** One layer with four heads, two layers with one head: how often is each right?
"""

# %% guess={"name": "15.one_layer", "kind": "number", "asks": "In random segments that repeat: how large a share of the next tokens does one layer with four heads get right after 500 steps, a mean of three seeds?", "low": 0.01, "high": 1, "log": true, "reads": {"record": "chapter_13_induction", "where": {"layers": 1, "heads": 4, "distinct": false}, "value": "right"}}
guess("15.one_layer")

# %% tags=["nbval-ignore-output"] reason="a progress bar; training differs in the last digits between machines"
bar = partial(tqdm, ncols=70, mininterval=1, file=sys.stdout)
for layers, heads, steps in ((1, 4, 500), (2, 1, 400)):
    name = f"{layers} layer{'s' * (layers > 1)}, {heads} head{'s' * (heads > 1)}"
    model = induction_model(0, num_layers=layers, num_heads=heads)
    train_induction(model, steps=steps, seed=0, progress=partial(bar, desc=name))
    print(f"{name}: right {later_copies_right(model):.2f}")

# %%
for run in measure.read_record("chapter_13_induction")["runs"]:
    if not run["distinct"] and run["heads"] == (4 if run["layers"] == 1 else 1):
        sizes = ", ".join(f"{name} {run[name]}" for name in ("layers", "heads", "steps", "seed"))
        print(f"recorded: {sizes}: right {run['right']:.2f}", end="")
        print(f", probability on the segment's 20 symbols {run['in_segment'][0]:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Two layers: 0.91 to 0.98 after 400 steps with three seeds, and 1.00 after 800 with one. One layer, though it has four heads and a hundred steps more: 0.12 to 0.21<!-- shown: 0.91 0.98 1.00 0.12 0.21 -->. It gives the 20 symbols of the segment 0.80 of its probability<!-- shown: 0.80 -->, where even chances would give 20/32. That alone does not explain it: a guess among the 20 would be right once in 20.

Four heads do not replace a second layer here. What one layer lacks is a step in between. Chapter 13 watches the circuit appear and takes it apart.

</details>
"""

# %% [markdown]
r"""
## 9. One token among many

How much can *one* token change the output of *one* head? Roughly in proportion to its weight. Take keys and queries of length $\sqrt d$, so that scores are bounded, and give one token the best key there is: the query itself.

**Predict.** From 128 to 2048 tokens, does its weight stay, fall like $1/\sqrt n$, or like $1/n$? What if the scale grows like $\ln n$? And if all weight goes to the best key ("hard")?
"""


# %%
def best_weight(n, kind, seed, d=16):
    """Return the weight of a key that equals the query, among n - 1 random ones."""
    draw = normal(seed)
    query, *keys = d**0.5 * F.normalize(draw(n, d), dim=-1)
    scores = torch.stack([query, *keys]) @ query / d**0.5
    if kind == "hard":
        return (scores == scores.max()).double()[0]
    return torch.softmax(scores * (math.log(n) if kind == "scale · ln n" else 1), dim=0)[0]


lengths = (128, 256, 512, 1024, 2048)
for kind in ("soft", "scale · ln n", "hard"):
    weights = [sum(best_weight(n, kind, seed) for seed in range(5)) / 5 for n in lengths]
    slope = measure.fit_exponent(lengths, [float(w) for w in weights])
    print(f"{kind:13}", " ".join(f"{w:.3f}" for w in weights), f"  slope {slope + 0.0:.2f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Like $1/n$: from 0.21 to 0.016, slope -0.93<!-- shown: 0.210 0.016 -0.93 -->. With bounded scores, one weight can be at most a constant factor larger than the others, and there are more and more of those. Hahn (2020) makes a theorem of it: in a fixed network of soft attention and **Lipschitz** parts (none magnifies a small change more than a fixed number of times), one token's influence vanishes as the text grows, so the network cannot stay *sure* of an answer that depends on one token.

A scale of $\ln n$ keeps the weight up; Chiang and Cholak (2022) propose it. So does hard attention, but that is no way out: it cannot compute parity, the task that comes next, at all (Hahn's other theorem).

</details>
"""

# %% [markdown]
r"""
Some answers depend on a single token. **Parity**: is the number of ones odd? Flip any one bit, and the answer flips. **Majority** (more ones than zeros?) seldom flips with a single bit.

**Predict.** A Transformer of two layers with feed-forward parts, width 32, is trained on either task, with strings of 4, 8, 12 and 16 bits, for 600 steps each. Where does it succeed?
"""

# %% guess={"name": "15.parity", "kind": "number", "asks": "How large a share of its answers on the parity of 8 bits is right after 600 steps, where a coin is right for 0.5?", "low": 0.4, "high": 1, "reads": {"record": "chapter_15_parity", "where": {"task": "parity", "n": 8, "steps": 600}, "value": "right"}}
guess("15.parity")

# %%
record = measure.read_record("chapter_15_parity")
print("right answers, seeds 0, 1, 2")
for task in ("parity", "majority"):
    for n, steps in ((4, 600), (8, 600), (8, 3000), (12, 600), (16, 600)):
        found = [run["right"] for run in record["runs"]
                 if (run["task"], run["n"], run["steps"]) == (task, n, steps)]  # fmt: skip
        if found:
            print(f"{task:9} {n:3} bits, {steps:4} steps:", " ".join(f"{x:.3f}" for x in found))

# %% [markdown]
r"""
<details><summary>Answer</summary>

Majority everywhere. Parity at 4 bits only; from 8 on it is right about half of the time, with all three seeds. At 8 five times the steps change little: 0.45 to 0.60<!-- shown: 1.000 0.506 0.450 0.601 -->. There are only 256 strings of 8 bits, so 0.60 may be a few strings learnt by heart; but each was seen more than a hundred times, and most were not.

What this shows: *this training, at this budget*, fails. What it does not show: that a Transformer cannot compute parity. For one fixed length the weights are easy:

</details>
"""

# %%
strings = (torch.arange(2**16)[:, None] >> torch.arange(16)) & 1
count = 16 * strings.double().mean(dim=1)  # attention with equal weights, times n
zigzag = count.clone()  # 0, 1, 0, 1, ...: a feed-forward layer with a kink at every whole number
for kink in range(1, 16):
    zigzag += 2 * (-1) ** kink * torch.relu(count - kink)
right = (zigzag.round() == strings.sum(dim=1) % 2).double().mean()
print(f"parity of all 65,536 strings of 16 bits, by hand: right {right:.3f}")

# %% [markdown]
r"""
Equal attention finds the share of ones, in which each token counts $1/n$; times $n$ it is a count, and a feed-forward layer of 16 units turns that into its parity. The factor $n$ is the theorem, seen from the other side: a longer text needs larger weights for the same margin.
"""

# %% [markdown]
r"""
Now one network for **all** lengths, after Chiang and Cholak (2022). Token $i$ of $n$ knows $i/n$, $1/n$ and $(-1)^i$; no weight depends on $n$. Layer 1 takes the share of ones, a feed-forward layer marks the token whose place is that share, and in layer 2 one head looks mostly at odd places, the other at even ones.

**Predict.** How often is it right, and how sure is it: what is its cross-entropy (guessing: $\ln 2 = 0.69$)? And if its two scores go through a LayerNorm, with $\varepsilon = 0$, and with the usual $\varepsilon = 10^{-5}$?
"""


# %%
def odd_minus_even(bits, c=3.0):
    """Return a number above 0 where the ones are odd: the same weights for every length."""
    n = bits.shape[1] + 1  # a 0 is put in front
    place, sign = torch.arange(n) / n, 1.0 - 2 * (torch.arange(n) % 2)
    share = F.pad(bits, (1, 0)).double().mean(dim=1, keepdim=True)  # layer 1: equal weights
    kinks = [torch.relu(share - place + step / n) for step in (1, 0, -1)]
    here = kinks[0] - 2 * kinks[1] + kinks[2]  # 1/n at the place that is the number of ones
    odd, even = (torch.softmax(c * side * sign, dim=0).double() for side in (-1, 1))  # layer 2
    return here @ odd - here @ even


print("  bits  right   margin   no norm   ε = 0   ε = 1e-5   (cross-entropy)")
for n in (8, 32, 128, 512, 2048):
    bits = torch.randint(2, (1000, n), generator=torch.Generator().manual_seed(0))
    margin, odd = odd_minus_even(bits), bits.sum(dim=1) % 2
    scores = torch.stack([-margin, margin], dim=-1)
    normed = [
        scores / (scores.square().mean(dim=-1, keepdim=True) + eps).sqrt() for eps in (0, 1e-5)
    ]
    losses = [F.cross_entropy(5 * one, odd).item() for one in (scores, *normed)]
    right = ((margin > 0) == (odd > 0)).double().mean()
    print(f"{n:6}  {right:.3f}  {margin.abs().mean():.0e}", "".join(f"{x:10.3f}" for x in losses))

# %% [markdown]
r"""
<details><summary>Answer</summary>

It is right on all of the 1,000 strings of each length. Its margin shrinks to 5e-07 at 2048 bits, and without a norm its cross-entropy rises to that of guessing, 0.693, as Hahn's theorem says. A LayerNorm with $\varepsilon = 0$ divides the margin by its own size: the network is as sure at 2048 bits as at 8<!-- shown: 1.000 5e-07 0.693 0.000 -->. This is Chiang and Cholak's second result: with layer normalisation the cross-entropy comes "arbitrarily close to zero". The theorem is not contradicted; such a norm is not Lipschitz.

With $\varepsilon = 10^{-5}$ it is, and doubt returns as soon as the margin is small compared with $\sqrt\varepsilon = 0.003$. A real norm moves the limit, and does not lift it.

</details>
"""

# %% [markdown]
r"""
**Check yourself.** Why does majority survive?

<details><summary>Answer</summary>

One token changes the mean by $1/n$, as before. But the answer asks only on which side of one half the mean lies: a single kink decides it at every length, and most strings lie several bits away from it.

</details>
"""

# %% [markdown]
r"""
Training did not find the parity of 8 bits. A **chain of thought** (Wei et al., 2022) gives a model room to write before it answers, and to read what it has written. Here the model writes the parity of the first bit, of the first two, and so on; each step needs one bit and the last answer. Model, rate and number of steps stay; a causal mask is added.

**Predict.** Does it learn the parity of 8 bits, and of 16? And if it is asked for the same parities, one at each bit, but never reads an answer of its own?
"""

# %% guess={"name": "15.unread", "kind": "number", "asks": "Asked for the parity at each of 16 bits, but never reading an answer of its own: how large a share of its last answers is right, where a coin is right for 0.5?", "low": 0.4, "high": 1, "reads": {"record": "chapter_15_steps", "where": {"how": "asked", "n": 16}, "value": "right"}}
guess("15.unread")

# %%
for run in measure.read_record("chapter_15_steps")["runs"]:
    how = {"written": "written and read", "asked": "asked for only"}[run["how"]]
    print(f"{how:16} {run['n']:3} bits, {run['steps']} steps, seed {run['seed']}: ", end="")
    print(f"last answer right {run['right']:.3f}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Written and read, it is right on all of 1,000 fresh strings, of 8 and of 16 bits, with both seeds. Asked for only, it gets far at 8 bits (0.96 and 0.79) and guesses at 16<!-- shown: 1.000 0.962 0.789 0.517 -->.

So two things helped. Being corrected at each bit and not once per string, with a causal mask, took it most of the way at 8 bits, in the same 600 steps; which of the two did it was not tried. At 16 it also had to read its own answers: then each step is as easy as the first. Nothing here needs a large model; this one was *trained* to write its steps, where Wei et al. only asked for them.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 10. What "universal" promises

One attention layer can follow any smooth curve: put $N$ keys on a grid, give each the curve's value there, and make the kernel about as narrow as the grid.

**Predict.** The curve is $\sin 3t + \tfrac12\cos 7t$ on (0, 2), the bandwidth half of the grid's step. Each time $N$ doubles, by what factor does the largest error fall, once $N$ is large?
"""


# %%
def curve(t):
    """Return something with two frequencies."""
    return torch.sin(3 * t) + 0.5 * torch.cos(7 * t)


t = torch.linspace(0, 2, 2001, dtype=torch.float64)[:, None]
inside = (t > 0.2) & (t < 1.8)
for N in (8, 16, 32, 64, 128, 256, 512):
    key = torch.linspace(0, 2, N, dtype=torch.float64)[:, None]
    error = (attention.nadaraya_watson(t, key, curve(key), 0.5 * 2 / (N - 1)) - curve(t)).abs()
    print(
        f"{N:4} keys: largest error {error.max():.4f}, inside (0.2, 1.8) {error[inside].max():.4f}"
    )

# %% [markdown]
r"""
<details><summary>Answer</summary>

By about 2 in the end: from 0.0027 to 0.0014<!-- shown: 0.0027 0.0014 -->. Inside the grid it halves, too, from 0.0012 to 0.0006<!-- shown: 0.0012 0.0006 -->: a kernel of half a step makes the curve between two keys a soft staircase, whose error is as wide as a step. The ends, with neighbours on one side only, are a little more than twice as bad, not of another order.

</details>

Yun et al. (2020) prove much more: Transformers approximate **every** continuous function of sequences. Text D lists what this requires: "Sufficient depth", "Sufficient dimension", "Appropriate positional encoding".
"""

# %% [markdown]
r"""
The theorem: for every continuous, *permutation-equivariant* function with compact support (it is 0 outside a bounded set) and every ε > 0 there is a Transformer with 2 heads of size 1 and feed-forward width 4 whose distance from it, in $L^p$, is below ε. $L^p$ averages the $p$-th power of the error over all inputs. With learned positions: every continuous function on a compact set, one that is bounded and contains its edge.

**Find the error.** Which of the three requirements is wrong?
"""

# %% [markdown]
r"""
<details><summary>Answer</summary>

"Sufficient dimension": the width is **constant**, and only the depth grows. Positions are needed for functions of order, and only for those. What the theorem does not say:

- how deep: the construction needs about as many layers as there are cells in a fine grid over all inputs, exponentially many in sequence length times width;
- that gradient descent finds the weights: parity, on 16 bits, has weights too;
- that the error is small *everywhere*: $L^p$ lets it be large on a small set;
- anything about lengths that were not in the compact set.

A polynomial is a universal approximator as well. The theorem excludes a reason for failure; it gives no reason for success.

</details>
"""

# %% [markdown]
r"""
**Predict.** A layer without positions and without a causal mask: can it learn to reverse a sequence? To sort it? To add up all tokens so far?
"""

# %%
draw = normal(7)
x, permutation = draw(2, 6, 8), torch.tensor([3, 0, 5, 1, 4, 2])
W_q, W_k, W_v = (draw(8, 8) / 8**0.5 for _ in range(3))
tasks = {
    "attention": lambda x: attention.scaled_dot_product_attention(x @ W_q, x @ W_k, x @ W_v),
    "the mean of all tokens": lambda x: x.mean(dim=1, keepdim=True).expand_as(x),
    "each token's rank": lambda x: x.argsort(dim=1).argsort(dim=1).double(),
    "reversed": lambda x: x.flip(1), "sorted": lambda x: x.sort(dim=1).values,
    "summed up so far": lambda x: x.cumsum(dim=1),
}  # fmt: skip
for name, task in tasks.items():
    print(f"{name:23} equivariant: {is_permutation_equivariant(task, x, permutation)}")

# %% [markdown]
r"""
<details><summary>Answer</summary>

None of the three: they depend on places, and such a layer treats all places alike. (A causal mask would tell places apart: each query sees a different number of keys.) "Sorted" is the surprising one. Its *result* does not depend on the order of the input, and so the first place always gets the smallest; but an equivariant layer must move its outputs along with its inputs. It can give each token its rank, and that is as close as it can get.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 11. How few connections are enough?

Text D: "Full attention: Maximum expressiveness, $O(n^2)$ cost", "Sparse attention: Reduced expressiveness, $O(n)$ cost", and "Result (Alon & Yahav, 2021): Some tasks require $\Omega(n^2)$ attention; sparse patterns insufficient."

**Predict.** Five patterns on 256 tokens, in both directions: all pairs; a window of 8 to each side; the window and one global token; strided by 16 (a window of 15, and every 16th); a star (one global token and nothing else). After how many layers has every token heard from every other?
"""

# %% guess={"name": "15.window", "kind": "number", "asks": "Of {n} tokens, each sees {side} to each side: after how many layers has every token heard from every other?", "low": 1, "high": 256, "log": true, "unit": "layers", "reads": "window {_} connections, {} layers", "varied": [{"n": 256, "side": 8}, {"n": 1024, "side": 16}, {"n": 4096, "side": 128}, {"n": 512, "side": 4}], "becomes": "ceil((n - 1) / side)"}
guess("15.window")

# %%
place = torch.arange(256)
far = (place[:, None] - place).abs()
hub = (place[:, None] == 0) | (place == 0)
masks = {"full": far >= 0, "window": far <= 8, "window, global token": (far <= 8) | hub,
         "strided": (far < 16) | (far % 16 == 0), "star": (far == 0) | hub}  # fmt: skip
for name, mask in masks.items():
    reach, layers = mask.float(), 1
    while not reach.all():
        reach, layers = ((reach @ mask.float()) > 0).float(), layers + 1
    print(f"{name:21} {int(mask.sum()):6} connections, {layers:2} layers")

# %% [markdown]
r"""
<details><summary>Answer</summary>

Two layers with 766 connections, the star, do what 65,536 do in one; a plain window needs 32<!-- shown: 766 65536 32 -->. So *one layer* of a sparse pattern is weaker, and a stack need not be: Zaheer et al. (2020) prove that every pattern that contains a star is still universal, and Yun et al. (2020b) the same for other patterns of $O(n)$ connections. What passes through a hub, though, has to fit into its width.

The paper by Alon and Yahav is about something else. Its abstract: "GNNs are susceptible to a bottleneck when aggregating messages across a long path", GNNs being graph neural networks. It states no lower bound on attention.

</details>
"""

# %% [markdown]
r"""
Such bounds exist. Keles et al. (2023): softmax attention cannot be computed in much less than quadratic time, not even approximately, unless the strong exponential time hypothesis (a conjecture on how hard satisfiability is) fails. Alman and Song (2023): with entries below about $\sqrt{\ln n}$ it *can* be approximated in nearly linear time; above, under the same hypothesis, it cannot.

Both are about computing the **same** softmax faster. Neither says that a *task* needs $n^2$ pairs.

**Check yourself.** Does a bound of the second kind forbid chapter 08's linear attention?

<details><summary>Answer</summary>

No. That computes another function, in linear time. Whether this function is good enough is a question about tasks, and chapter 08 measured it.

</details>
"""

# %% [markdown] tags=["further"]
r"""
## 12. What published texts say, once more

Right, wrong, or right under a condition? 1 and 4 are text D's words, 3, 7 and the first half of 2 its sense; the rest is often said, and in none of the five texts.

1. "Attention can be viewed as kernel regression."
2. Transformers are universal approximators, so they can learn any function.
3. A step of a modern Hopfield network is attention with query $\xi$ and keys and values $X$.
4. "Attention provides skip connections for gradient flow. This mitigates vanishing gradients in deep networks."
5. Transformers cannot compute parity.
6. Deep attention collapses to rank one.
7. Sparse attention trades expressiveness for speed.
"""

# %% [markdown]
r"""
<details><summary>Answers</summary>

1. Right, with the kernel $e^{q\cdot k}$. With a Gaussian: for keys of one length, or with a bias.
2. The first half, under conditions. The second does not follow: approximating is not learning.
3. Right for one update, with keys as values. A Transformer projects them differently.
4. Over *positions* yes. Over *layers* the direct path is the residual connection's.
5. Not so: one fixed network is right at all lengths. To stay *sure* it needs a part that is not Lipschitz. Training found no parity of 8 bits at once, but bit by bit.
6. Without residual connections, within a few layers. With them slowly, and far more slowly with pre-LN.
7. Per layer. In a stack, few connections are universal as well.

</details>
"""

# %% [markdown]
r"""
## Yours: the chapter's experiments, with your functions

A curve smoothed, patterns restored and their energy, a sequence read token by token, a gradient, a collapse and a prediction: each once more with every function that you have passed instead of the course's. Nothing passed yet? Then the course's own run.
"""

# %% tags=["nbval-ignore-output"] reason="whose functions run, and how fast, depends on the reader"
parts = yours(
    "nadaraya_watson",
    "hopfield_update",
    "hopfield_energy",
    "linear_attention_step",
    "residual_attention_backward",
    "rank_one_distance",
    "induction_prediction",
    "scaled_dot_product_attention",
)
parts


# %%
def chapter(parts):
    """Smooth, restore, read token by token, go back, stack, predict."""
    draw = normal(8)
    key, x, g = draw(30, 1), draw(2, 12, 8), draw(2, 12, 8)
    W_q, W_k, W_v = draw(3, 8, 8) / 8**0.5
    stored = F.normalize(draw(20, 8), dim=-1)
    cue = stored + 0.1 * draw(20, 8)
    state, normaliser, read = x.new_zeros(2, 8, 8), x.new_zeros(2, 8), x
    for q, k, v in zip(*((x @ W).unbind(1) for W in (W_q, W_k, W_v)), strict=True):
        state, normaliser, read = parts.linear_attention_step(state, normaliser, q, k, v)
    stream = [x]
    for _ in range(2):
        stream.append(
            parts.scaled_dot_product_attention(*(stream[-1] @ W for W in (W_q, W_k, W_v)))
        )
    tokens = torch.tensor([[0, 1, 0, 2, 0, 1, 1, 2]])
    return {
        "smoothed": parts.nadaraya_watson(key[:3], key, torch.sin(key), 0.4),
        "restored": F.cosine_similarity(parts.hopfield_update(cue, stored, 20.0), stored).mean(),
        "size of the answer": parts.hopfield_update(cue, stored, 20.0).norm(),
        "energy": parts.hopfield_energy(cue, stored, 20.0).mean(),
        "state and what is read": torch.stack([state.norm(), read.norm()]),
        "gradient": parts.residual_attention_backward(x, W_q, W_k, W_v, g).norm(),
        "distance after 0 to 2 layers": torch.stack(
            [parts.rank_one_distance(s)[0] for s in stream]
        ),
        "predicted": parts.induction_prediction(tokens, 3)[0, -2:],
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

1. Attention averages values. It is Gaussian smoothing exactly where keys have equal length; a step of a modern Hopfield network exactly where keys are values; a recurrent network exactly where the unnormalised weights are dot products of finitely many features.
2. $\partial\mathcal L/\partial x$ has four terms: past the layer, and through query, key and value. $g + \alpha^\top g$ is exact for fixed weights and $W_V = I$ only.
3. The direct path over layers is the residual connection's. Without it tokens and gradients become equal within a few layers; MLP and LayerNorm only delay that. With it, the place of the norm decides how fast: before the layer, tokens grow alike far more slowly than elsewhere.
"""

# %% [markdown]
r"""
4. One layer compares pairs; to match what stood *before* a key takes two. One token's weight falls like $1/n$ where scores are bounded; a norm can magnify what is left. What a model cannot learn to answer at once it may learn to write in steps.
5. "Universal" means: constant width, growing depth, continuous functions on a compact set. It says nothing about learning, size or other lengths. Few connections are enough for a stack; it pays to open a citation.
"""

# %% tags=["remove-cell"]
progress(15)

# %% [markdown]
"""
**Next**: chapter 16 turns to long texts.
"""

# %% [markdown]
r"""
## Go further

- Nadaraya (1964), Watson (1964), Tsai et al. (2019): smoothing, and attention as smoothing.
- Hopfield (1982), Amit et al. (1985), Ramsauer et al. (2021): memories, and how much they hold.
- Katharopoulos et al. (2020): Transformers are RNNs.
- Dong et al. (2021): attention is not all you need.
- Elhage et al. (2021), Olsson et al. (2022): induction heads. Sanford, Hsu and Telgarsky (2024): why one layer is not enough.
- Hahn (2020), Chiang and Cholak (2022): what one token can change. Wei et al. (2022): chains of thought.
- Yun et al. (2020, 2020b), Zaheer et al. (2020): universality, full and sparse. Keles et al. (2023), Alman and Song (2023): what the same softmax must cost. Alon and Yahav (2021): over-squashing in graphs.
"""

# %% [markdown]
r"""
<details><summary>BibTeX</summary>

```bibtex
@article{nadaraya1964estimating,
  title = {On Estimating Regression}, author = {Nadaraya, E. A.},
  journal = {Theory of Probability and Its Applications}, volume = {9}, number = {1}, pages = {141--142}, year = {1964}, doi = {10.1137/1109020}}
@article{watson1964smooth,
  title = {Smooth Regression Analysis}, author = {Watson, Geoffrey S.},
  journal = {Sankhy{\=a}: The Indian Journal of Statistics, Series A}, volume = {26}, number = {4}, pages = {359--372}, year = {1964}}
@inproceedings{tsai2019transformer,
  title = {Transformer Dissection: An Unified Understanding for Transformer's Attention via the Lens of Kernel},
  author = {Tsai, Yao-Hung Hubert and Bai, Shaojie and Yamada, Makoto and Morency, Louis-Philippe and Salakhutdinov, Ruslan},
  booktitle = {EMNLP}, year = {2019}, url = {https://arxiv.org/abs/1908.11775}}
@article{hopfield1982neural,
  title = {Neural Networks and Physical Systems with Emergent Collective Computational Abilities}, author = {Hopfield, John J.},
  journal = {Proceedings of the National Academy of Sciences}, volume = {79}, number = {8}, pages = {2554--2558}, year = {1982}, doi = {10.1073/pnas.79.8.2554}}
@article{amit1985storing,
  title = {Storing Infinite Numbers of Patterns in a Spin-Glass Model of Neural Networks}, author = {Amit, Daniel J. and Gutfreund, Hanoch and Sompolinsky, Haim},
  journal = {Physical Review Letters}, volume = {55}, number = {14}, pages = {1530--1533}, year = {1985}, doi = {10.1103/PhysRevLett.55.1530}}
@inproceedings{ramsauer2021hopfield,
  title = {Hopfield Networks is All You Need},
  author = {Ramsauer, Hubert and Sch{\"a}fl, Bernhard and Lehner, Johannes and Seidl, Philipp and Widrich, Michael and Adler, Thomas and Gruber, Lukas and Holzleitner, Markus and Pavlovi{\'c}, Milena and Sandve, Geir Kjetil and Greiff, Victor and Kreil, David and Kopp, Michael and Klambauer, G{\"u}nter and Brandstetter, Johannes and Hochreiter, Sepp},
  booktitle = {ICLR}, year = {2021}, url = {https://arxiv.org/abs/2008.02217}}
@inproceedings{katharopoulos2020transformers,
  title = {Transformers are {RNN}s: Fast Autoregressive Transformers with Linear Attention},
  author = {Katharopoulos, Angelos and Vyas, Apoorv and Pappas, Nikolaos and Fleuret, Fran{\c{c}}ois},
  booktitle = {ICML}, year = {2020}, url = {https://arxiv.org/abs/2006.16236}}
@inproceedings{dong2021attention,
  title = {Attention is Not All You Need: Pure Attention Loses Rank Doubly Exponentially with Depth},
  author = {Dong, Yihe and Cordonnier, Jean-Baptiste and Loukas, Andreas},
  booktitle = {ICML}, year = {2021}, url = {https://arxiv.org/abs/2103.03404}}
```

</details>
"""

# %% [markdown]
r"""
<details><summary>More BibTeX</summary>

```bibtex
@misc{elhage2021mathematical,
  title = {A Mathematical Framework for Transformer Circuits}, author = {Elhage, Nelson and Nanda, Neel and Olsson, Catherine and others},
  year = {2021}, url = {https://transformer-circuits.pub/2021/framework/index.html}}
@misc{olsson2022context,
  title = {In-context Learning and Induction Heads}, author = {Olsson, Catherine and Elhage, Nelson and Nanda, Neel and others},
  year = {2022}, url = {https://arxiv.org/abs/2209.11895}}
@article{hahn2020theoretical,
  title = {Theoretical Limitations of Self-Attention in Neural Sequence Models}, author = {Hahn, Michael},
  journal = {Transactions of the Association for Computational Linguistics}, volume = {8}, pages = {156--171}, year = {2020}, url = {https://arxiv.org/abs/1906.06755}}
@inproceedings{chiang2022overcoming,
  title = {Overcoming a Theoretical Limitation of Self-Attention}, author = {Chiang, David and Cholak, Peter},
  booktitle = {ACL}, year = {2022}, url = {https://arxiv.org/abs/2202.12172}}
@misc{sanford2024onelayer,
  title = {One-layer Transformers Fail to Solve the Induction Heads Task}, author = {Sanford, Clayton and Hsu, Daniel and Telgarsky, Matus},
  year = {2024}, url = {https://arxiv.org/abs/2408.14332}}
@inproceedings{wei2022chain,
  title = {Chain-of-Thought Prompting Elicits Reasoning in Large Language Models},
  author = {Wei, Jason and Wang, Xuezhi and Schuurmans, Dale and Bosma, Maarten and Ichter, Brian and Xia, Fei and Chi, Ed and Le, Quoc and Zhou, Denny},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2022}, url = {https://arxiv.org/abs/2201.11903}}
@inproceedings{yun2020transformers,
  title = {Are Transformers Universal Approximators of Sequence-to-Sequence Functions?},
  author = {Yun, Chulhee and Bhojanapalli, Srinadh and Rawat, Ankit Singh and Reddi, Sashank J. and Kumar, Sanjiv},
  booktitle = {ICLR}, year = {2020}, url = {https://arxiv.org/abs/1912.10077}}
@inproceedings{yun2020connections,
  title = {{$O(n)$} Connections are Expressive Enough: Universal Approximability of Sparse Transformers},
  author = {Yun, Chulhee and Chang, Yin-Wen and Bhojanapalli, Srinadh and Rawat, Ankit Singh and Reddi, Sashank J. and Kumar, Sanjiv},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2020}, url = {https://arxiv.org/abs/2006.04862}}
@inproceedings{zaheer2020big,
  title = {Big Bird: Transformers for Longer Sequences},
  author = {Zaheer, Manzil and Guruganesh, Guru and Dubey, Kumar Avinava and Ainslie, Joshua and Alberti, Chris and Ontanon, Santiago and Pham, Philip and Ravula, Anirudh and Wang, Qifan and Yang, Li and Ahmed, Amr},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2020}, url = {https://arxiv.org/abs/2007.14062}}
@inproceedings{keles2023computational,
  title = {On the Computational Complexity of Self-Attention}, author = {Keles, Feyza Duman and Wijewardena, Pruthuvi Mahesakya and Hegde, Chinmay},
  booktitle = {Algorithmic Learning Theory}, year = {2023}, url = {https://arxiv.org/abs/2209.04881}}
@inproceedings{alman2023fast,
  title = {Fast Attention Requires Bounded Entries}, author = {Alman, Josh and Song, Zhao},
  booktitle = {Advances in Neural Information Processing Systems}, year = {2023}, url = {https://arxiv.org/abs/2302.13214}}
@inproceedings{alon2021bottleneck,
  title = {On the Bottleneck of Graph Neural Networks and its Practical Implications}, author = {Alon, Uri and Yahav, Eran},
  booktitle = {ICLR}, year = {2021}, url = {https://arxiv.org/abs/2006.05205}}
```

</details>
"""
