"""Right answers to the exercises of chapter 09 in other styles: the step, and the merge."""

import math

import torch

INF = torch.inf


# online_softmax_step


def step_through_logsumexp(m, l, acc, scores, value):
    m_new = torch.maximum(m, scores.max(dim=-1).values)
    safe = torch.where(m_new == -INF, torch.zeros_like(m_new), m_new)
    p = torch.exp(scores - safe[..., None])
    alpha = torch.exp(m - safe)
    return m_new, alpha * l + p.sum(-1), alpha[..., None] * acc + torch.matmul(p, value)


def step_with_a_maximum_that_carries_no_gradient(m, l, acc, scores, value):
    top = torch.cat([m[..., None], scores], -1).amax(-1).detach()
    shift = top.clamp(min=torch.finfo(top.dtype).min)
    p, fade = (scores - shift[..., None]).exp(), (m - shift).exp()
    return (
        top,
        l.mul(fade).add(p.sum(-1)),
        torch.einsum("...lt,...tv->...lv", p, value) + (acc * fade[..., None]),
    )


def step_key_by_key(m, l, acc, scores, value):
    for t in range(scores.shape[-1]):
        s = scores[..., t]
        top = torch.maximum(m, s)
        low = top.masked_fill(top.isneginf(), 0)
        fade, p = torch.exp(m - low), torch.exp(s - low)
        l = l * fade + p
        acc = acc * fade.unsqueeze(-1) + p.unsqueeze(-1) * value[..., t, :].unsqueeze(-2)
        m = top
    return m, l, acc


def step_of_the_tile_and_then_a_merge(m, l, acc, scores, value):
    """Sum the tile against its own maximum, then bring both sums to the larger one."""
    own = scores.amax(-1)
    p = (scores - own.masked_fill(own == -INF, 0.0).unsqueeze(-1)).exp()
    new = torch.maximum(m, own)
    base = new.masked_fill(new == -INF, 0.0)
    a, b = (m - base).exp(), (own - base).exp()
    return [new, a * l + b * p.sum(-1), a[..., None] * acc + b[..., None] * (p @ value)]


def step_by_powers_of_two(m, l, acc, scores, value):
    log2e = 1 / math.log(2)
    new = torch.fmax(m, scores.amax(-1))
    base = torch.where(new.isinf(), 0.0, new)
    p = torch.exp2((scores - base[..., None]) * log2e)
    fade = torch.exp2((m - base) * log2e)
    return new, torch.addcmul(p.sum(-1), l, fade), acc * fade[..., None] + p @ value


def step_with_one_column_more(m, l, acc, scores, value):
    """Carry l as a column of acc whose values are all 1."""
    both = torch.cat([acc, l.unsqueeze(-1)], -1)
    ones = torch.cat([value, torch.ones_like(value[..., :1])], -1)
    new = torch.maximum(m, scores.amax(-1))
    base = new.masked_fill(new == -INF, 0.0).unsqueeze(-1)
    both = both * (m.unsqueeze(-1) - base).exp() + (scores - base).exp() @ ones
    return new, both[..., -1], both[..., :-1]


def step_in_place_on_its_own(m, l, acc, scores, value):
    new = torch.maximum(m, scores.amax(-1))
    base = new.masked_fill(new == -INF, 0.0)
    fade = (m - base).exp()
    total = fade * l
    total += (scores - base.unsqueeze(-1)).exp().sum(-1)
    out = fade.unsqueeze(-1) * acc
    out += (scores - base.unsqueeze(-1)).exp() @ value
    return new, total, out


# merge_partials


def merge_by_logaddexp(out_a, lse_a, out_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    safe = torch.where(lse == -INF, torch.zeros_like(lse), lse)
    a = torch.where((lse_a == -INF)[..., None], torch.zeros_like(out_a), out_a)
    b = torch.where((lse_b == -INF)[..., None], torch.zeros_like(out_b), out_b)
    return a * (lse_a - safe).exp()[..., None] + b * (lse_b - safe).exp()[..., None], lse


def merge_by_stacking(out_a, lse_a, out_b, lse_b):
    outs, lses = torch.stack([out_a, out_b]), torch.stack([lse_a, lse_b])
    empty = lses.isneginf()
    lse = lses.logsumexp(0)
    weights = torch.exp(lses - lse.masked_fill(lse.isneginf(), 0))
    return (outs.masked_fill(empty[..., None], 0) * weights[..., None]).sum(0), lse


def merge_by_sigmoid(out_a, lse_a, out_b, lse_b):
    gone_a, gone_b = lse_a == -INF, lse_b == -INF
    diff = torch.where(gone_a | gone_b, 0.0, lse_a - lse_b)
    share = torch.sigmoid(diff)
    share = torch.where(gone_b, 1.0, torch.where(gone_a, 0.0, share))
    a, b = out_a.masked_fill(gone_a[..., None], 0), out_b.masked_fill(gone_b[..., None], 0)
    out = share[..., None] * a + (1 - share)[..., None] * b
    return out, torch.logaddexp(lse_a, lse_b)


def merge_by_softmax(oa, la, ob, lb):
    both = torch.stack((la, lb), dim=-1)
    neither = (both == -INF).all(-1, keepdim=True)
    w = both.masked_fill(neither, 0.0).softmax(-1)
    oa, ob = torch.nan_to_num(oa, posinf=0, neginf=0), torch.nan_to_num(ob, posinf=0, neginf=0)
    out = (w[..., :1] * oa + w[..., 1:] * ob).masked_fill(neither, 0.0)
    return [out, torch.logsumexp(both, -1)]


def merge_replaced_afterwards(oa, la, ob, lb):
    """Choose where only one part saw a key, and mend the rest."""
    top = torch.maximum(la, lb)
    safe = torch.where(top == -INF, 0.0, top)
    wa, wb = (la - safe).exp().unsqueeze(-1), (lb - safe).exp().unsqueeze(-1)
    out = (wa * oa + wb * ob) / (wa + wb)
    out = torch.where(wb == 0, oa, torch.where(wa == 0, ob, out))
    out = torch.where((wa == 0) & (wb == 0), torch.zeros_like(out), out)
    return out, safe + (wa + wb).squeeze(-1).log()


def merge_row_by_row(oa, la, ob, lb):
    width = oa.shape[-1]
    outs, lses = [], []
    rows = zip(
        oa.reshape(-1, width), la.flatten(), ob.reshape(-1, width), lb.flatten(), strict=True
    )
    for a, x, b, y in rows:
        if y == -INF and x == -INF:
            outs.append(torch.zeros_like(a))
            lses.append(x)
        elif y == -INF or x == -INF:
            outs.append(a if y == -INF else b)
            lses.append(torch.maximum(x, y))
        else:
            lse = torch.logaddexp(x, y)
            outs.append(a * (x - lse).exp() + b * (y - lse).exp())
            lses.append(lse)
    return torch.stack(outs).view(oa.shape), torch.stack(lses).view(la.shape)


RIGHT_WAYS_ONLINE = {
    "online_softmax_step": (
        step_through_logsumexp,
        step_with_a_maximum_that_carries_no_gradient,
        step_key_by_key,
        step_of_the_tile_and_then_a_merge,
        step_by_powers_of_two,
        step_with_one_column_more,
        step_in_place_on_its_own,
    ),
    "merge_partials": (
        merge_by_logaddexp,
        merge_by_stacking,
        merge_by_sigmoid,
        merge_by_softmax,
        merge_replaced_afterwards,
        merge_row_by_row,
    ),
}
