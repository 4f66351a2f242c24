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

from course_utils import check, hint

# %% [markdown]
r"""
### Exercise: TODO

*Difficulty · importance · minutes*

TODO: the task of `role_share(weights, chosen)`.
"""

# %% exercise="role_share"
def role_share(weights, chosen):
    ### BEGIN SOLUTION: TODO, what to do
    length = weights.shape[-1]
    if weights.shape[-2] != length or chosen.shape != (length, length):
        raise ValueError(f'weights must be square in the last two axes, and chosen of their size, got {tuple(weights.shape)} and {tuple(chosen.shape)}')
    seen = chosen.tril()
    counted = seen.any(dim=-1)
    if not counted.any():
        return (weights.new_zeros(weights.shape[:-2]), 0.0)
    share = (weights * seen).sum(dim=-1)[..., counted].mean(dim=-1)
    equal = seen.sum(dim=-1) / torch.arange(1, length + 1, device=seen.device)
    return (share, equal[counted].double().mean().item())
    ### END SOLUTION


# %%
check("role_share", role_share)

# %% [markdown]
r"""
### Exercise: TODO

*Difficulty · importance · minutes*

TODO: the task of `without_key(weights, key)`.
"""

# %% exercise="without_key"
def without_key(weights, key):
    ### BEGIN SOLUTION: TODO, what to do
    if not 0 <= key < weights.shape[-1]:
        raise ValueError(f'key must be in 0 … {weights.shape[-1] - 1}, got {key}')
    others = torch.arange(weights.shape[-1], device=weights.device) != key
    kept = weights * others
    left = kept.sum(dim=-1, keepdim=True)
    return kept / torch.where(left > 0, left, 1.0)
    ### END SOLUTION


# %%
check("without_key", without_key)

# %% [markdown]
r"""
### Exercise: TODO

*Difficulty · importance · minutes*

TODO: the task of `mean_ablate(outputs, heads, reference)`.
"""

# %% exercise="mean_ablate"
def mean_ablate(outputs, heads, reference):
    ### BEGIN SOLUTION: TODO, what to do
    num_heads, d = (outputs.shape[1], outputs.shape[3])
    if (reference.shape[1], reference.shape[3]) != (num_heads, d):
        raise ValueError(f'reference must have {num_heads} heads of width {d}, got shape {tuple(reference.shape)}')
    if not reference.shape[0] * reference.shape[2]:
        raise ValueError(f'reference must hold a token, got shape {tuple(reference.shape)}')
    if (wrong := [head for head in heads if not 0 <= head < num_heads]):
        raise ValueError(f'heads must be in 0 … {num_heads - 1}, got {wrong[0]}')
    ablated = outputs.clone()
    listed = sorted(set(heads))
    ablated[:, listed] = reference.mean(dim=(0, 2))[listed].unsqueeze(1)
    return ablated
    ### END SOLUTION


# %%
check("mean_ablate", mean_ablate)

# %% [markdown]
r"""
### Exercise: TODO

*Difficulty · importance · minutes*

TODO: the task of `composition_score(W_V, W_O, W_in, W_other)`.
"""

# %% exercise="composition_score"
def composition_score(W_V, W_O, W_in, W_other):
    ### BEGIN SOLUTION: TODO, what to do
    (d, d_v), d_k = (W_V.shape, W_in.shape[1])
    wanted = {'W_O': (W_O, (d_v, d)), 'W_in': (W_in, (d, d_k)), 'W_other': (W_other, (d, d_k))}
    for name, (matrix, shape) in wanted.items():
        if matrix.shape != shape:
            raise ValueError(f'{name} must have shape {shape}, got {tuple(matrix.shape)}')
    writes, reads = (W_V @ W_O, W_in @ W_other.mT)
    size = (writes.norm() * reads.norm()).item()
    return (writes @ reads).norm().item() / size if size else 0.0
    ### END SOLUTION


# %%
check("composition_score", composition_score)

# %% [markdown]
r"""
### Exercise: `logit_lens`

*Difficulty · importance · minutes*

Write `logit_lens(states, gain, unembed, token, eps) -> (rank, log_prob)`: read states of any layer as if they were the last.

- `states` is `(..., d)`, the stream before the last norm; `gain` `(d,)`, `unembed` `(V, d)`. `token` is an int, `eps` a float.
- The logits are $W_U \left(\dfrac{h}{\sqrt{\text{mean}(h^2) + \varepsilon}} \odot \text{gain}\right)$.
- `rank` `(...)` has dtype long: how many words have a strictly larger logit. 0 is the best; words with an equal logit do not count.
- `log_prob` `(...)` is the token's log-probability in nats, finite where logits reach $10^4$.
- `states` may have no leading axes: both results are tensors then, too. A gradient flows through `log_prob`.
"""


# %% exercise="logit_lens"
def logit_lens(states, gain, unembed, token, eps):
    """Return a token's rank and log-probability under the model's last norm and unembedding."""
    ### BEGIN SOLUTION: Norm the states, take their logits, count the larger ones.
    size = (states.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    logits = (states / size * gain) @ unembed.mT
    rank = (logits > logits[..., token, None]).sum(dim=-1)
    return rank, logits.log_softmax(dim=-1)[..., token]
    ### END SOLUTION


# %%
check("logit_lens", logit_lens)
# hint("logit_lens")

# %% [markdown]
r"""
### Exercise: `direct_attribution`

*Difficulty · importance · minutes*

Write `direct_attribution(head_outputs, W_O, final_state, gain, direction, eps) -> contributions`: what each head adds to logit $a$ minus logit $b$.

- `head_outputs` `(B, n, H, d_k)`: weights times values at the last position. `W_O` `(n, H, d_k, d)`: what a head writes is the row vector $z W_O$.
- `final_state` `(B, d)`: the whole stream before the last norm, of which the heads wrote a part. `direction` `(B, d)`: row $a$ minus row $b$ of the unembedding. `gain` `(d,)`.
- `contributions` `(B, n, H)`: $\left(\dfrac{z W_O}{r} \odot \text{gain}\right) \cdot \text{direction}$ with $r = \sqrt{\text{mean}(\text{final\_state}^2) + \varepsilon}$, one $r$ for all parts of a prompt.
- No gradient is needed.
"""


# %% exercise="direct_attribution"
def direct_attribution(head_outputs, W_O, final_state, gain, direction, eps):
    """Return what each head adds to a difference of two logits."""
    ### BEGIN SOLUTION: Divide what each head wrote by the size of the whole stream.
    written = torch.einsum("bnhk,nhkd->bnhd", head_outputs, W_O)
    size = (final_state.square().mean(dim=-1) + eps).sqrt()
    return torch.einsum("bnhd,bd->bnh", written * gain, direction) / size[:, None, None]
    ### END SOLUTION


# %%
check("direct_attribution", direct_attribution)
# hint("direct_attribution")

# %% [markdown]
r"""
### Exercise: `patch_grid`

*Difficulty · importance · minutes*

Write `patch_grid(run, clean, corrupt) -> grid`: which share of the clean value each clean state restores in the corrupt run.

- `run(tokens, layer=None, position=None, state=None)` returns `(value, states)`: a Python float, and the states `(n, L, d)` after each layer. Given the last three, it replaces the state after `layer` at `position` by `state` `(d,)`, before the next layer reads it.
- `clean` and `corrupt` are `(L,)`, of dtype long.
- `grid` is `(n, L)`, of any floating dtype: (value of the corrupt run with clean's state at $(l, p)$ − corrupt) / (clean − corrupt). Values below 0 and above 1 stay. Zeros where clean and corrupt have the same value.
- The network need not be causal. Call `run` as often as you like. The grid is judged to $10^{-5}$.
"""


# %% exercise="patch_grid"
def patch_grid(run, clean, corrupt):
    """Return how much of the clean value each clean state restores."""
    ### BEGIN SOLUTION: One corrupt run for each layer and position, with the clean state put in.
    (best, states), (worst, _) = run(clean), run(corrupt)
    grid = torch.zeros(states.shape[:2])
    if best == worst:
        return grid
    for layer in range(grid.shape[0]):
        for position in range(grid.shape[1]):
            value, _ = run(corrupt, layer, position, states[layer, position])
            grid[layer, position] = (value - worst) / (best - worst)
    return grid
    ### END SOLUTION


# %%
check("patch_grid", patch_grid)
# hint("patch_grid")

# %% [markdown]
r"""
### Exercise: `copying_score`

*Difficulty · importance · minutes*

Write `copying_score(source, W_V, W_O, unembed) -> float`: how far a head raises the tokens that it reads.

- `source` and `unembed` are `(N, d)`: the same $N$ tokens as the head sees them and as the output counts them. `W_V` is `(d, d_v)`, `W_O` `(d_v, d)`.
- Centre both over the tokens. With the eigenvalues $\lambda$ of the map $\text{source}\, W_V W_O\, \text{unembed}^\top$ the score is $\sum \operatorname{Re} \lambda \,/ \sum |\lambda|$: a Python float in $[-1, 1]$, and 0.0 where the map is 0.
- The map has $N \times N$ numbers. Make no table of that size: $AB$ and $BA$ have the same eigenvalues, except for zeros.
- No gradient is needed.
"""


# %% exercise="copying_score"
def copying_score(source, W_V, W_O, unembed):
    """Return the eigenvalues' real parts over their sizes, from -1 to 1."""
    ### BEGIN SOLUTION: Multiply in the other order, so that the map is d_v × d_v.
    read = (source - source.mean(dim=0)) @ W_V
    written = W_O @ (unembed - unembed.mean(dim=0)).mT
    values = torch.linalg.eigvals(written @ read)
    size = values.abs().sum()
    return (values.real.sum() / size).item() if size > 0 else 0.0
    ### END SOLUTION


# %%
check("copying_score", copying_score)
# hint("copying_score")

# %% [markdown]
r"""
## Yours
"""

# %% [markdown]
r"""
## Recap
"""
