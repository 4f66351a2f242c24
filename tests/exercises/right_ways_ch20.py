"""Right answers to the exercises of chapter 20 in other styles."""

import math
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

# role_share

# without_key

# mean_ablate

# composition_score

# logit_lens


def lens_by_pytorchs_own(states, gain, unembed, token, eps):
    logits = F.linear(F.rms_norm(states, [states.shape[-1]], gain, eps), unembed)
    place = (logits > logits.select(-1, token).unsqueeze(-1)).count_nonzero(-1)
    target = torch.full(states.shape[:-1], token).flatten()
    loss = F.cross_entropy(logits.reshape(-1, len(unembed)), target, reduction="none")
    return place, -loss.view(states.shape[:-1])


def lens_state_by_state(h, gain, W, token, eps):
    ranks, chances = [], []
    for row in h.reshape(-1, h.shape[-1]):
        root = torch.sqrt(sum(x * x for x in row) / len(row) + eps)
        scores = torch.stack([(row * gain * word).sum() / root for word in W])
        ranks.append(sum(bool(score > scores[token]) for score in scores))
        chances.append(scores[token] - torch.logsumexp(scores, 0))
    return torch.tensor(ranks).view(h.shape[:-1]), torch.stack(chances).view(h.shape[:-1])


def lens_with_the_gain_in_the_words(states, gain, unembed, token, eps):
    shortened = states * torch.rsqrt(states.pow(2).mean(-1, keepdim=True) + eps)
    scores = torch.einsum("...d,vd->...v", shortened, unembed * gain)
    shifted = scores - scores.max(-1, keepdim=True).values.detach()
    logs = shifted - shifted.exp().sum(-1, keepdim=True).log()
    return torch.gt(scores, scores[..., token : token + 1]).sum(dim=-1), logs[..., token]


def lens_by_log_probabilities(states, gain, unembed, token, eps):
    logs = torch.log_softmax(
        (states / (states**2).mean(-1, True).add(eps).sqrt() * gain) @ unembed.T, -1
    )
    return (logs > logs[..., token].unsqueeze(-1)).long().sum(-1), logs[..., token]


def lens_by_differences(states, gain, unembed, token, eps):
    """Subtract the token's row first: what is left is how far each word is above it."""
    d = states.shape[-1]
    above = unembed - unembed[token]
    normed = (
        states * gain * math.sqrt(d) / (states.norm(dim=-1, keepdim=True) ** 2 + d * eps) ** 0.5
    )
    gaps = torch.tensordot(normed, above, dims=([-1], [-1]))
    return (gaps > 0).sum(-1), -gaps.logsumexp(-1)


def lens_by_a_sorted_row(states, gain, unembed, token, eps):
    logits = F.rms_norm(states, gain.shape, eps=eps).mul(gain).matmul(unembed.t())
    own = logits[..., token]
    ordered = (-logits).sort(-1).values.contiguous()
    rank = torch.searchsorted(ordered, (-own).unsqueeze(-1).contiguous(), right=False).squeeze(-1)
    return rank, own - torch.logsumexp(logits, dim=-1)


# direct_attribution


def attribution_as_a_gradient(head_outputs, W_O, final_state, gain, direction, eps):
    z = head_outputs.detach().clone().requires_grad_()
    r = (final_state.detach().pow(2).mean(-1, keepdim=True) + eps).sqrt()
    total = (torch.einsum("bnhk,nhkd->bd", z, W_O) / r * gain * direction).sum()
    (slope,) = torch.autograd.grad(total, z)
    return (slope * z).sum(-1).detach()


def attribution_part_by_part(z, W_O, final_state, gain, direction, eps):
    B, n, H, _ = z.shape
    out = torch.empty(B, n, H, dtype=z.dtype)
    for b in range(B):
        r = math.sqrt(float((final_state[b].double() ** 2).mean()) + eps)
        for layer in range(n):
            for head in range(H):
                wrote = z[b, layer, head] @ W_O[layer, head]
                out[b, layer, head] = torch.dot(wrote / r * gain, direction[b])
    return out


def attribution_by_reading_back(z, W_O, final_state, gain, direction, eps):
    """Bring the direction back to each head's own features, and multiply there."""
    wanted = direction * gain * torch.rsqrt(final_state.square().mean(-1, keepdim=True) + eps)
    read = torch.einsum("nhkd,bd->bnhk", W_O, wanted)
    return (z * read).sum(-1)


def attribution_by_matmul(head_outputs, W_O, final_state, gain, direction, eps):
    wrote = (head_outputs.unsqueeze(-2) @ W_O).squeeze(-2)
    r = torch.sqrt(final_state.pow(2).sum(-1) / final_state.size(-1) + eps)
    lifted = wrote * gain[None, None, None] / r.view(-1, 1, 1, 1)
    return (lifted @ direction[:, None, :, None]).squeeze(-1)


def attribution_by_numpy(head_outputs, W_O, final_state, gain, direction, eps):
    z, W, x, g, u = (one.numpy() for one in (head_outputs, W_O, final_state, gain, direction))
    r = np.sqrt(np.mean(x**2, axis=1) + eps)
    return torch.from_numpy(np.einsum("bnhk,nhkd,d,bd,b->bnh", z, W, g, u, 1 / r).astype(z.dtype))


def attribution_by_one_wide_matrix(head_outputs, W_O, final_state, gain, direction, eps):
    B, n, H, k = head_outputs.shape
    blocks = torch.block_diag(*head_outputs.reshape(B * n * H, 1, k))
    wrote = blocks @ W_O.reshape(n * H * k, -1).repeat(B, 1)
    r = (final_state.square().mean(1) + eps).sqrt().reciprocal()
    return (wrote.view(B, n * H, -1) @ (direction * gain * r[:, None])[..., None]).view(B, n, H)


def attribution_by_a_difference(head_outputs, W_O, final_state, gain, direction, eps):
    """Take each part out of the stream, with the norm as it was, and see what is lost."""

    def read(x: Tensor) -> Tensor:
        r = torch.linalg.vector_norm(final_state, dim=-1) ** 2 / final_state.shape[-1] + eps
        return torch.einsum("b...d,d,bd,b->b...", x, gain, direction, r**-0.5)

    wrote = torch.einsum("bnhk,nhkd->bnhd", head_outputs, W_O)
    without = read(0 * final_state)
    return read(wrote) - without[:, None, None]


# patch_grid


def grid_as_lists(run, clean, corrupt):
    full, states = run(clean)
    none, _ = run(corrupt)
    if full == none:
        return torch.zeros(len(states), len(clean))
    return torch.tensor([
        [(run(corrupt, i, p, s)[0] - none) / (full - none) for p, s in enumerate(row)]
        for i, row in enumerate(states)
    ])  # fmt: skip


def grid_without_needless_runs(run, clean, corrupt):
    full, cleans = run(clean)
    none, corrupts = run(corrupt)
    grid = cleans.new_zeros(cleans.shape[:-1])
    if full != none:
        for i, p in (cleans != corrupts).any(-1).nonzero().tolist():
            grid[i, p] = run(corrupt, layer=i, position=p, state=cleans[i, p])[0]
            grid[i, p] = (grid[i, p] - none) / (full - none)
    return grid


def grid_running_the_clean_one_for_each_cell(run, clean, corrupt):
    n, L = run(clean)[1].shape[:2]
    out = np.zeros((n, L))
    for i in np.ndindex(n, L):
        value, states = run(clean)
        low = run(corrupt)[0]
        got = run(corrupt, layer=i[0], position=i[1], state=states[i])[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            out[i] = np.divide(got - low, value - low) if abs(value - low) > 1e-12 else 0
    return torch.from_numpy(out)


def grid_from_the_last_cell(run, clean, corrupt):
    best, states = run(tokens=clean)
    worst, _ = run(tokens=corrupt)
    values, L = [], len(corrupt)
    cell = states.shape[0] * L
    while cell:
        cell -= 1
        layer, position = divmod(cell, L)
        values.insert(0, run(corrupt, layer, position, states[layer][position].clone())[0])
    table = torch.tensor(values, dtype=torch.float64).view(-1, L) - worst
    return table / (best - worst) if best != worst else torch.zeros_like(table)


def grid_by_what_is_missing(run, clean, corrupt):
    (a, kept), (b, _) = run(clean), run(corrupt)
    gap = a - b or math.inf
    grid = torch.full(kept.shape[:2], 0.0, dtype=torch.float64)
    for layer in torch.arange(len(kept)):
        for position in torch.arange(len(clean)):
            missing = (
                a - run(corrupt, layer=layer, position=position, state=kept[layer, position])[0]
            )
            grid[layer, position] = 1 - missing / gap if math.isfinite(gap) else 0.0
    return grid


def grid_with_one_scale(run, clean, corrupt):
    points, states = zip(run(corrupt), run(clean), strict=True)
    effect = lambda i, p: run(corrupt, layer=i, position=p, state=states[1][i, p])[0]  # noqa: E731
    n, L, _ = states[1].shape
    raw = torch.tensor([effect(i, p) for i in range(n) for p in range(L)], dtype=torch.float64)
    shares = torch.nan_to_num(
        (raw - points[0]) / torch.tensor(points[1] - points[0]).double(), 0, 0, 0
    )
    return shares.unflatten(0, (n, L))


# copying_score


def score_from_the_trace(source, W_V, W_O, unembed):
    a = (source - source.mean(0, keepdim=True)) @ W_V
    b = W_O @ (unembed - unembed.mean(0, keepdim=True)).T
    sizes = torch.linalg.eigvals(b @ a).abs().sum().item()
    return 0.0 if sizes == 0 else (b @ a).trace().item() / sizes


def score_over_the_stream(source, W_V, W_O, unembed):
    met = (unembed - unembed.mean(0)).T @ (source - source.mean(0))
    found = np.linalg.eigvals((met @ W_V @ W_O).numpy())
    total = np.abs(found).sum()
    return float(found.real.sum() / total) if total > 0 else 0.0


def score_token_by_token(source, W_V, W_O, unembed):
    low, high = source.sum(0) / len(source), unembed.sum(0) / len(unembed)
    table = torch.zeros(W_V.shape[1], W_V.shape[1], dtype=source.dtype)
    for seen, counted in zip(source, unembed, strict=True):
        table += torch.outer(W_O @ (counted - high), (seen - low) @ W_V)
    real, imag = torch.view_as_real(torch.linalg.eigvals(table).to(torch.complex128)).unbind(-1)
    size = torch.hypot(real, imag).sum()
    return float(real.sum() / size) if size else 0.0


def score_centred_once(source, W_V, W_O, unembed):
    """Centring one of the two is enough: it is a projection, of one side."""
    table = W_O @ unembed.mT @ (source - source.mean(0)) @ W_V
    values = torch.linalg.eig(table).eigenvalues
    if not values.abs().any():
        return 0.0
    return (values.sum() / values.abs().sum()).real.item()


def score_by_covariance(source, W_V, W_O, unembed):
    N = len(source)
    both = unembed.double().T @ source.double() - N * torch.outer(
        unembed.double().mean(0), source.double().mean(0)
    )
    if N == 1 or not W_V.any() or not W_O.any() or not unembed.any():
        return 0.0
    values = torch.linalg.eigvals(W_O.double() @ both @ W_V.double())
    return sum(z.real for z in values.tolist()) / sum(abs(z) for z in values.tolist())


def score_by_angles(source, W_V, W_O, unembed):
    left = F.linear(source - source.mean(0), W_V.T)
    right = F.linear(unembed - unembed.mean(0), W_O)
    values = torch.linalg.eigvals((right.T @ left).double()).numpy()
    sizes, angles = np.abs(values), np.angle(values)
    return np.average(np.cos(angles), weights=sizes) if sizes.sum() else 0.0


RIGHT_WAYS_CH20: dict[str, tuple[Callable, ...]] = {
    "logit_lens": (
        lens_by_pytorchs_own,
        lens_state_by_state,
        lens_with_the_gain_in_the_words,
        lens_by_log_probabilities,
        lens_by_differences,
        lens_by_a_sorted_row,
    ),
    "direct_attribution": (
        attribution_as_a_gradient,
        attribution_part_by_part,
        attribution_by_reading_back,
        attribution_by_matmul,
        attribution_by_numpy,
        attribution_by_one_wide_matrix,
        attribution_by_a_difference,
    ),
    "patch_grid": (
        grid_as_lists,
        grid_without_needless_runs,
        grid_running_the_clean_one_for_each_cell,
        grid_from_the_last_cell,
        grid_by_what_is_missing,
        grid_with_one_scale,
    ),
    "copying_score": (
        score_from_the_trace,
        score_over_the_stream,
        score_token_by_token,
        score_centred_once,
        score_by_covariance,
        score_by_angles,
    ),
}
