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
