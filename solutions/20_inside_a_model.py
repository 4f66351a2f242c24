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
# Look inside a released model

*You will be able to*

1. find the few heads that play a role, over a base rate.

*You need* chapters 13 and 19.

*Core path · further*
"""

# %%
import torch

from course_utils import check, hint, interpretability

# %% [markdown]
r"""
### Exercise: `role_share`

*Difficulty · importance · minutes*

Write `role_share(weights, chosen) -> (share, base)`.

- `weights` is `(..., L, L)` and causal: query $i$ sees keys 0 to $i$. `chosen` is `(L, L)`, bool: `chosen[i, j]` says that key $j$ plays the role for query $i$. Keys behind their query ($j > i$) do not count.
- `share` is `(...)`: each query's weight on its chosen keys, summed, then averaged over the queries that have a chosen key, even of weight 0.
- `base`, a Python float: over the same queries, the mean of (chosen keys seen) / $(i + 1)$, which is what equal weights give.
- Without such a query, `share` is zeros and `base` is 0.0.

Rows need not sum to 1. No gradient is needed.
"""


# %% exercise="role_share"
def role_share(weights, chosen):
    """Return a head's mean weight on the chosen keys, and what equal weights would put there."""
    ### BEGIN SOLUTION: Average over the queries that see a chosen key; of no queries, return 0.
    seen = chosen.tril()
    counted = seen.any(dim=-1)
    if not counted.any():
        return weights.new_zeros(weights.shape[:-2]), 0.0
    share = (weights * seen).sum(dim=-1)[..., counted].mean(dim=-1)
    equal = seen.sum(dim=-1).double() / torch.arange(1, len(seen) + 1)
    return share, equal[counted].mean().item()
    ### END SOLUTION


# %%
check("role_share", role_share)
# hint("role_share")

# %% [markdown]
r"""
### Exercise: `without_key`

*Difficulty · importance · minutes*

Write `without_key(weights, key) -> weights`: the weights that the same scores give where no query may see one key.

- `weights` is `(..., L, S)`; each row comes from a softmax or is all 0. `key` is an int from 0 to $S - 1$. The result has the same shape.
- The key's weights are 0; the others are divided by what is left of their row.
- A row that has nothing left is zeros.
- A key may hold all but $10^{-13}$ of a row in float64; the others count all the same, to six digits.
- The gradient is right where all weights are positive, and finite everywhere, also in rows of zeros.

Leave the given weights as they are.
"""


# %% exercise="without_key"
def without_key(weights, key):
    """Return the weights that the same scores give where no query may see one key."""
    ### BEGIN SOLUTION: Set the key's weights to 0 and divide by the sum of the others, if it is not 0.
    others = torch.arange(weights.shape[-1]) != key
    kept = weights * others
    left = kept.sum(dim=-1, keepdim=True)
    return kept / torch.where(left > 0, left, 1.0)
    ### END SOLUTION


# %%
check("without_key", without_key)
# hint("without_key")

# %% [markdown]
r"""
### Exercise: `mean_ablate`

*Difficulty · importance · minutes*

Write `mean_ablate(outputs, heads, reference) -> outputs`.

- `outputs` is `(B, H, L, d)`, weights times values of $H$ heads; `reference` is `(N, H, M, d)`, the same heads on other texts.
- `heads` is a list of ints from 0 to $H - 1$. It may be empty or name a head twice.
- Each listed head's output becomes, in every text and at every position, that head's mean over the $N$ texts and $M$ positions of `reference`. The other heads stay.
- The result is a new tensor, also where `heads` is empty: writing into it changes neither input.
- The gradient of the other heads is the identity, that of the listed ones 0. None is needed with respect to `reference`.
"""


# %% exercise="mean_ablate"
def mean_ablate(outputs, heads, reference):
    """Return the heads' outputs, with each listed head at its mean over the reference."""
    ### BEGIN SOLUTION: Copy the outputs and write the mean of each listed head into the copy.
    means = reference.mean(dim=(0, 2))
    ablated = outputs.clone()
    for head in heads:
        ablated[:, head] = means[head]
    return ablated
    ### END SOLUTION


# %%
check("mean_ablate", mean_ablate)
# hint("mean_ablate")

# %% [markdown]
r"""
### Exercise: `composition_score`

*Difficulty · importance · minutes*

Write `composition_score(W_V, W_O, W_in, W_other) -> float`.

- `W_V` is $(d, d_v)$ and `W_O` is $(d_v, d)$, of an earlier head, which maps a token's row vector $x$ to $x W_V W_O$. `W_in` and `W_other` are $(d, d_k)$, of a later head: for composition with its keys, its $W_K$ and $W_Q$.
- In Frobenius norms:

$$\frac{\lVert W_V W_O W_\text{in} W_\text{other}^\top \rVert}{\lVert W_V W_O \rVert \cdot \lVert W_\text{in} W_\text{other}^\top \rVert}$$

- The result is a Python float, and 0.0 where either circuit, $W_V W_O$ or $W_\text{in} W_\text{other}^\top$, is 0.
- Weights may be as small as 0.02, so leave no epsilon in the result.

Rotations (RoPE) and norms are left out. No gradient is needed.
"""


# %% exercise="composition_score"
def composition_score(W_V, W_O, W_in, W_other):
    """Return how much of an earlier head's output a later head's circuit can read."""
    ### BEGIN SOLUTION: Multiply the two circuits and compare the norms; look at the divisor first.
    writes, reads = W_V @ W_O, W_in @ W_other.mT
    size = (writes.norm() * reads.norm()).item()
    return (writes @ reads).norm().item() / size if size else 0.0
    ### END SOLUTION


# %%
check("composition_score", composition_score)
# hint("composition_score")

# %% [markdown]
r"""
### Exercise: TODO

*Difficulty · importance · minutes*

TODO: the task of `logit_lens(states, gain, unembed, token, eps)`.
"""

# %% exercise="logit_lens"
def logit_lens(states, gain, unembed, token, eps):
    ### BEGIN SOLUTION: TODO, what to do
    d = states.shape[-1]
    if gain.shape != (d,) or unembed.dim() != 2 or unembed.shape[1] != d:
        raise ValueError(f'gain and unembed must have shapes ({d},) and (V, {d}), got {tuple(gain.shape)} and {tuple(unembed.shape)}')
    if not 0 <= token < len(unembed):
        raise ValueError(f'token must be in 0 … {len(unembed) - 1}, got {token}')
    logits = F.rms_norm(states, (d,), gain, eps) @ unembed.mT
    rank = (logits > logits[..., token, None]).sum(dim=-1)
    return (rank, logits.log_softmax(dim=-1)[..., token])
    ### END SOLUTION


# %%
check("logit_lens", logit_lens)

# %% [markdown]
r"""
### Exercise: TODO

*Difficulty · importance · minutes*

TODO: the task of `direct_attribution(head_outputs, W_O, final_state, gain, direction, eps)`.
"""

# %% exercise="direct_attribution"
def direct_attribution(head_outputs, W_O, final_state, gain, direction, eps):
    ### BEGIN SOLUTION: TODO, what to do
    if head_outputs.dim() != 4 or W_O.dim() != 4 or W_O.shape[:3] != head_outputs.shape[1:]:
        raise ValueError(f'head_outputs and W_O must have shapes (B, n, H, d_k) and (n, H, d_k, d), got {tuple(head_outputs.shape)} and {tuple(W_O.shape)}')
    batch, d = (len(head_outputs), W_O.shape[-1])
    written = torch.einsum('bnhk,nhkd->bnhd', head_outputs, W_O)
    size = (final_state.square().mean(dim=-1) + eps).sqrt()
    return torch.einsum('bnhd,bd->bnh', written * gain, direction) / size.view(-1, 1, 1)
    ### END SOLUTION


# %%
check("direct_attribution", direct_attribution)

# %% [markdown]
r"""
### Exercise: TODO

*Difficulty · importance · minutes*

TODO: the task of `patch_grid(run, clean, corrupt)`.
"""

# %% exercise="patch_grid"
def patch_grid(run, clean, corrupt):
    ### BEGIN SOLUTION: TODO, what to do
    if clean.shape != corrupt.shape:
        raise ValueError(f'clean and corrupt must be equally long, got {len(clean)} and {len(corrupt)} tokens')
    (best, states), (worst, _) = (_ran(run, clean), _ran(run, corrupt))
    grid = states.new_zeros(states.shape[:2])
    if best == worst:
        return grid
    for layer in range(states.shape[0]):
        for position in range(states.shape[1]):
            value, _ = run(corrupt, layer=layer, position=position, state=states[layer, position])
            grid[layer, position] = (value - worst) / (best - worst)
    return grid
    ### END SOLUTION


# %%
check("patch_grid", patch_grid)

# %% [markdown]
r"""
### Exercise: TODO

*Difficulty · importance · minutes*

TODO: the task of `copying_score(source, W_V, W_O, unembed)`.
"""

# %% exercise="copying_score"
def copying_score(source, W_V, W_O, unembed):
    ### BEGIN SOLUTION: TODO, what to do
    (num_tokens, d), d_v = (source.shape, W_V.shape[1])
    wanted = {'W_V': (W_V, (d, d_v)), 'W_O': (W_O, (d_v, d)), 'unembed': (unembed, (num_tokens, d))}
    for name, (matrix, shape) in wanted.items():
        if matrix.shape != shape:
            raise ValueError(f'{name} must have shape {shape}, got {tuple(matrix.shape)}')
    if not num_tokens:
        raise ValueError(f'source must hold a token, got shape {tuple(source.shape)}')
    read = (source - source.mean(dim=0)) @ W_V
    written = W_O @ (unembed - unembed.mean(dim=0)).mT
    values = torch.linalg.eigvals(written @ read)
    size = values.abs().sum().item()
    return values.real.sum().item() / size if size else 0.0
    ### END SOLUTION


# %%
check("copying_score", copying_score)

# %% [markdown]
r"""
## Yours
"""

# %% [markdown]
r"""
## Recap
"""
