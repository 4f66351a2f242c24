"""Right answers to the exercises of chapter 06 in other styles than the reference."""

import math
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F

INF = torch.inf

# causal_mask


def causal_by_tril(num_queries, num_keys, offset=0):
    return torch.ones(num_queries, num_keys, dtype=torch.bool).tril(diagonal=offset)


def causal_by_triu_turned_over(L, S, offset=0):
    return torch.triu(torch.ones(L, S), diagonal=1 + offset) == 0


def causal_by_loops(L, S, offset=0):
    mask = torch.zeros(L, S, dtype=torch.bool)
    for i in range(L):
        for j in range(S):
            if j <= i + offset:
                mask[i, j] = True
    return mask


def causal_by_slices(L, S, offset=0):
    mask = torch.zeros((L, S), dtype=torch.bool)
    for i in range(L):
        mask[i, : max(i + offset + 1, 0)] = True
    return mask


def causal_by_lists(L, S, offset=0):
    return torch.tensor([[j - i <= offset for j in range(S)] for i in range(L)])


def causal_by_numpy(L, S, offset=0):
    return torch.from_numpy(np.tri(L, S, offset, dtype=bool))


def causal_by_ge(L, S, offset=0):
    rows = torch.arange(offset, L + offset)[:, None]
    return rows.ge(torch.arange(S)[None, :])


def causal_by_minus_infinity(L, S, offset=0):
    return torch.full((L, S), float("-inf")).triu(offset + 1).eq(0)


# padding_mask


def padding_by_loop(lengths, num_keys):
    mask = torch.zeros(len(lengths), 1, 1, num_keys, dtype=torch.bool)
    for b, length in enumerate(lengths.tolist()):
        mask[b, :, :, :length] = True
    return mask


def padding_by_view(lengths, num_keys):
    return torch.arange(num_keys).view(1, 1, 1, -1) < lengths.view(-1, 1, 1, 1)


def padding_by_lists(lengths, num_keys):
    rows = [[j < int(n) for j in range(num_keys)] for n in lengths]
    return torch.tensor(rows).unsqueeze(1).unsqueeze(2)


def padding_by_cumsum(lengths, num_keys):
    marks = F.one_hot(lengths, num_keys + 1)[:, :num_keys]
    return (marks.cumsum(-1) == 0)[:, None, None]


def padding_turned_over(lengths, num_keys):
    hidden = torch.arange(num_keys).expand(lengths.size(0), num_keys) >= lengths[:, None]
    return hidden.logical_not().reshape(-1, 1, 1, num_keys)


# window_mask


def window_by_two_triangles(L, S, window, offset=0):
    ones = torch.ones(L, S, dtype=torch.bool)
    return ones.tril(offset).triu(offset - window + 1)


def window_as_a_difference(L, S, window, offset=0):
    ones = torch.ones(L, S)
    return (ones.tril(offset) - ones.tril(offset - window)).bool()


def window_by_distance(L, S, window, offset=0):
    back = (torch.arange(L) + offset)[:, None] - torch.arange(S)
    return (back >= 0) & (back < window)


def window_by_loops(L, S, window, offset=0):
    mask = torch.zeros(L, S, dtype=torch.bool)
    for i in range(L):
        for j in range(max(0, i + offset - window + 1), min(S, i + offset + 1)):
            mask[i, j] = True
    return mask


def window_by_exclusion(L, S, window, offset=0):
    own, place = torch.arange(L)[:, None] + offset, torch.arange(S)[None]
    return ~((place > own) | (place <= own - window))


def window_by_range(L, S, window, offset=0):
    return torch.tensor(
        [[j in range(i + offset + 1 - window, i + offset + 1) for j in range(S)] for i in range(L)]
    )


# prefix_mask


def prefix_by_writing_columns(num_positions, prefix_length):
    mask = torch.ones(num_positions, num_positions, dtype=torch.bool).tril()
    mask[:, :prefix_length] = True
    return mask


def prefix_by_writing_a_square(n, p):
    mask = torch.tril(torch.ones(n, n)).bool()
    mask[:p, :p] = 1
    return mask


def prefix_by_loops(n, p):
    return torch.tensor([[j < p or j <= i for j in range(n)] for i in range(n)])


def prefix_by_the_farther_edge(n, p):
    last = torch.arange(n).clamp(min=p - 1)
    return torch.arange(n) <= last.unsqueeze(-1)


def prefix_by_exclusion(n, p):
    i, j = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
    return torch.logical_not((j > i) & (j >= p))


# document_mask


def documents_by_loops(document_ids):
    batch, length = document_ids.shape
    mask = torch.zeros(batch, 1, length, length, dtype=torch.bool)
    for b in range(batch):
        for i in range(length):
            for j in range(i + 1):
                mask[b, 0, i, j] = document_ids[b, i] == document_ids[b, j]
    return mask


def documents_by_tril(document_ids):
    same = document_ids[:, None, :, None] == document_ids[:, None, None, :]
    return same.tril()


def documents_by_difference(ids):
    return ((ids[:, :, None] - ids[:, None, :]) == 0).tril().unsqueeze(1)


def documents_by_multiplying(ids):
    n = ids.shape[1]
    same = torch.eq(ids.unsqueeze(2), ids.unsqueeze(1)).long()
    return (same * torch.ones(n, n, dtype=torch.long).tril()).bool()[:, None]


def documents_by_unique_numbers(ids):
    _, numbers = ids.unique(return_inverse=True)
    member = F.one_hot(numbers).double()
    return (member @ member.mT > 0.5).tril().view(len(ids), 1, ids.shape[1], ids.shape[1])


def documents_sequence_by_sequence(ids):
    tables = [torch.stack([row == one for one in row]).tril() for row in ids]
    return torch.stack(tables)[:, None, :, :]


# masked_softmax


def softmax_by_rows(scores, attn_mask):
    mask = attn_mask.expand(scores.shape)
    rows = []
    flat = mask.reshape(-1, mask.shape[-1])
    for row, seen in zip(scores.reshape(-1, scores.shape[-1]), flat, strict=True):
        weights = torch.zeros_like(row)
        if seen.any():
            weights[seen] = torch.softmax(row[seen], dim=0)
        rows.append(weights)
    return torch.stack(rows).view(scores.shape)


def softmax_with_lowest_number(scores, attn_mask):
    low = torch.where(attn_mask, scores, torch.finfo(scores.dtype).min)
    return F.softmax(low, dim=-1) * attn_mask


def softmax_with_minus_1e9_in_float32(scores, attn_mask):
    wide = scores if scores.dtype == torch.float64 else scores.float()
    weights = wide.masked_fill(~attn_mask, -1e9).softmax(-1)
    return weights.masked_fill(~attn_mask, 0.0).to(scores.dtype)


def softmax_with_minus_1e9_where_it_fits(scores, attn_mask):
    low = max(-1e9, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores.masked_fill(attn_mask.logical_not(), low), -1)
    return torch.where(attn_mask.any(-1, keepdim=True), weights, 0.0)


def softmax_with_added_infinity(scores, attn_mask):
    empty = ~attn_mask.any(dim=-1, keepdim=True)
    bias = torch.zeros(attn_mask.shape, dtype=scores.dtype)
    bias = bias.masked_fill(~(attn_mask | empty), -INF)
    return (scores + bias).softmax(dim=-1).masked_fill(empty, 0.0)


def softmax_repaired_behind_a_fill(scores, attn_mask):
    return scores.masked_fill(~attn_mask, -INF).softmax(-1).nan_to_num(0.0)


def softmax_zeroed_behind_a_fill(scores, attn_mask):
    weights = torch.softmax(scores.masked_fill(~attn_mask, -INF), -1)
    return weights.masked_fill(~attn_mask, 0.0)


def softmax_by_hand(scores, attn_mask):
    hidden = scores.masked_fill(~attn_mask, -INF)
    top = hidden.max(dim=-1, keepdim=True).values
    top = torch.where(top == -INF, torch.zeros_like(top), top)
    powers = (hidden - top).exp()
    return powers / powers.sum(-1, keepdim=True).clamp(min=1e-6 if powers.itemsize < 4 else 1e-30)


def softmax_on_a_changed_copy(scores, attn_mask):
    mask = attn_mask.expand_as(scores)
    copy = scores.clone()
    copy[~mask] = float("-inf")
    copy[~mask.any(-1)] = 0.0
    weights = torch.softmax(copy, dim=-1)
    return weights * mask.to(weights.dtype)


def softmax_through_logarithms(scores, attn_mask):
    hidden = torch.where(attn_mask, scores.double(), -INF)
    empty = (~attn_mask).all(-1, keepdim=True)
    logs = hidden.masked_fill(empty, 0.0).log_softmax(-1)
    return (logs.exp() * ~empty).to(scores.dtype)


# soft_cap


def cap_by_a_stable_quotient(scores, cap):
    down = torch.expm1(-2 * (scores / cap).abs())
    out = -down / (down + 2) * scores.sign() * cap
    return torch.where(scores == -torch.inf, torch.full_like(scores, -torch.inf), out)


def cap_by_where(scores, cap):
    return torch.where(scores == -INF, -INF, cap * torch.tanh(scores / cap))


def cap_by_sigmoid(scores, cap):
    out = cap * (2 * torch.sigmoid(2 * scores / cap) - 1)
    return out.masked_fill(torch.isneginf(scores), float("-inf"))


def cap_in_place_on_its_own(scores, cap):
    out = scores.div(cap).tanh() * cap
    out[scores.isinf()] = -INF
    return out


def cap_with_infinity_added(scores, cap):
    away = torch.zeros_like(scores).masked_fill(scores.isneginf(), -INF)
    return F.tanh(scores / cap) * cap + away


def cap_of_the_finite_ones(scores, cap):
    seen = scores > -INF
    out = torch.full_like(scores, -INF)
    out[seen] = cap * torch.tanh(scores[seen] / cap)
    return out


def cap_through_float64(scores, cap):
    wide = scores.double()
    return (torch.tanh(wide / cap) * cap).to(scores.dtype).where(scores.isfinite(), -INF)


def cap_score_by_score(scores, cap):
    flat = [
        cap * torch.tanh(s / cap) if s > -INF else s.detach() for s in scores.reshape(-1).unbind()
    ]
    return torch.stack(flat).view(scores.shape) if flat else scores.clone()


# packed_attention


def _refuse(query, lengths):
    if int(lengths.sum()) != query.shape[0]:
        raise ValueError(f"{int(lengths.sum())} tokens in documents, {len(query)} given")


def packed_by_split_and_torch(query, key, value, lengths, is_causal=False):
    _refuse(query, lengths)
    parts = [x.split(lengths.tolist()) for x in (query, key, value)]
    outs = []
    for document in zip(*parts, strict=True):
        q, k, v = (x.transpose(0, 1).unsqueeze(0) for x in document)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
        outs.append(out.squeeze(0).transpose(0, 1))
    return torch.cat(outs)


def packed_by_einsum(query, key, value, lengths, is_causal=False):
    _refuse(query, lengths)
    out, start = torch.empty_like(value), 0
    for n in lengths.tolist():
        part = slice(start, start + n)
        scores = torch.einsum("ihd,jhd->hij", query[part], key[part]) / query.shape[-1] ** 0.5
        if is_causal:
            scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), -INF)
        out[part] = torch.einsum("hij,jhd->ihd", scores.softmax(-1), value[part])
        start += n
    return out


def packed_token_by_token(query, key, value, lengths, is_causal=False):
    _refuse(query, lengths)
    ends = lengths.cumsum(0).tolist()
    rows = []
    for end, n in zip(ends, lengths.tolist(), strict=True):
        for i in range(end - n, end):
            last = i + 1 if is_causal else end
            k, v = key[end - n : last], value[end - n : last]
            weights = torch.softmax((query[i] * k).sum(-1) * query.shape[-1] ** -0.5, dim=0)
            rows.append((weights.unsqueeze(-1) * v).sum(0))
    return torch.stack(rows)


def packed_head_by_head(query, key, value, lengths, is_causal=False):
    _refuse(query, lengths)
    heads = []
    for h in range(query.shape[1]):
        pieces = []
        parts = (x[:, h].split(lengths.tolist()) for x in (query, key, value))
        for q, k, v in zip(*parts, strict=True):
            scores = q @ k.T / math.sqrt(q.shape[-1])
            if is_causal:
                scores = scores + torch.full_like(scores, -INF).triu(1)
            pieces.append(F.softmax(scores, dim=-1) @ v)
        heads.append(torch.cat(pieces))
    return torch.stack(heads, dim=1)


def packed_in_batches_of_equal_length(query, key, value, lengths, is_causal=False):
    _refuse(query, lengths)
    starts = lengths.cumsum(0) - lengths
    out = torch.zeros_like(value)
    for n in lengths.unique().tolist():
        if n == 0:
            continue
        places = starts[lengths == n].unsqueeze(-1) + torch.arange(n)
        q, k, v = (x[places].transpose(1, 2) for x in (query, key, value))
        done = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
        out = out.index_put((places,), done.transpose(1, 2))
    return out


def packed_by_cumulative_lengths(query, key, value, lengths, is_causal=False):
    bounds = F.pad(lengths.cumsum(0), (1, 0))
    if bounds[-1] != len(query):
        raise ValueError("the lengths must sum to T")
    outs = []
    for a, b in pairwise(bounds.tolist()):
        q, k, v = (x[a:b].permute(1, 0, 2) for x in (query, key, value))
        scores = torch.bmm(q * q.shape[-1] ** -0.5, k.mT)
        if is_causal:
            late = torch.arange(b - a) > torch.arange(b - a).unsqueeze(-1)
            scores = scores.where(~late, -1e30)
        outs.append(torch.bmm(scores.softmax(-1), v).permute(1, 0, 2))
    return torch.cat(outs, dim=0)


def packed_without_empty_documents(query, key, value, lengths, is_causal=False):
    kept = [n for n in lengths.tolist() if n > 0]
    if sum(kept) != query.size(0):
        raise ValueError
    out = value.clone()
    start = 0
    for n in kept:
        q, k, v = (x[start : start + n].movedim(1, 0) for x in (query, key, value))
        mask = torch.tril(torch.ones(n, n, dtype=torch.bool)) if is_causal else None
        out[start : start + n] = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).movedim(
            0, 1
        )
        start += n
    return out


# leaks_future


def leaks_one_position_at_a_time(attention, num_positions, d_model):
    x = torch.randn(1, num_positions, d_model, generator=torch.Generator().manual_seed(0))
    out = attention(x)
    for t in range(1, num_positions):
        changed = x.clone()
        changed[0, t] += 1.0
        if not torch.allclose(out[:, :t], attention(changed)[:, :t]):
            return True
    return False


def leaks_after_each_cut(attention, num_positions, d_model):
    g = torch.Generator()
    x = torch.rand(1, num_positions, d_model, generator=g)
    room = 1e-6 * attention(x).abs().max()
    for i in range(num_positions - 1):
        other = x.clone()
        other[:, i + 1 :] = torch.randn(other[:, i + 1 :].shape, generator=g)
        if (attention(x)[:, : i + 1] - attention(other)[:, : i + 1]).abs().max() > room:
            return True
    return False


def leaks_by_pairs(attention, num_positions, d_model):
    g = torch.Generator().manual_seed(7)
    x = torch.randn((1, num_positions, d_model), generator=g)
    before = attention(x).clone()
    for j in range(num_positions):
        y = x.clone()
        y[0, j, :] = 10 * torch.randn(d_model, generator=g)
        after = attention(y)
        for i in range(j):
            if not torch.allclose(before[0, i], after[0, i]):
                return True
    return False


def leaks_with_the_future_set_to_zero(attention, num_positions, d_model):
    x = torch.randn(1, num_positions, d_model, generator=torch.Generator().manual_seed(1))
    out = attention(x)
    found = False
    for keep in range(1, num_positions):
        cut = torch.zeros_like(x)
        cut[:, :keep] = x[:, :keep]
        found = found or not attention(cut)[:, :keep].isclose(out[:, :keep]).all().item()
    return found


def leaks_with_a_very_large_change(attention, num_positions, d_model):
    x = torch.randn(1, num_positions, d_model, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        out = attention(x)
        worst = 0.0
        for t in range(num_positions - 1, 0, -1):
            changed = torch.cat([x[:, :t], x[:, t:] + 1000.0], dim=1)
            gap = (attention(changed)[:, :t] - out[:, :t]).abs().max()
            worst = max(worst, float(gap / out[:, :t].abs().max().clamp(min=1e-12)))
    return worst > 1e-5


def leaks_undoing_each_change(attention, num_positions, d_model):
    x = torch.randn(1, num_positions, d_model, generator=torch.Generator().manual_seed(3))
    out = attention(x).clone()
    verdict = False
    for t in range(1, num_positions):
        kept = x[:, t].clone()
        x[:, t] = -kept
        verdict |= not torch.equal(attention(x)[:, :t], out[:, :t])
        x[:, t] = kept
    return verdict


def leaks_from_the_end_without_undoing(attention, num_positions, d_model):
    x = torch.randn(1, num_positions, d_model, generator=torch.Generator().manual_seed(4))
    out = attention(x.clone())
    for t in reversed(range(1, num_positions)):
        x[:, t] += 1.0
        room = 1e-6 * out.abs().max().item()
        if not torch.allclose(attention(x.clone())[:, :t], out[:, :t], rtol=0.0, atol=room):
            return True
    return False


def leaks_into_the_neighbour_of_any_later_change(attention, num_positions, d_model):
    x = torch.randn(1, num_positions, d_model, generator=torch.Generator().manual_seed(5))
    out = attention(x)

    def moves(i):
        changed = x.clone()
        changed[:, i + 1 :] *= 2.0
        return not torch.allclose(attention(changed)[:, i], out[:, i])

    return any(moves(i) for i in range(num_positions - 1))


def leaks_with_the_global_state_put_back(attention, num_positions, d_model):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        x, noise = torch.randn(2, 1, num_positions, d_model)
    out = attention(x)
    place = torch.arange(num_positions)[:, None]
    return any(
        not torch.allclose(out[:, :t], attention(x + noise * (place >= t))[:, :t])
        for t in range(1, num_positions)
    )


def leaks_feature_by_feature(attention, num_positions, d_model):
    x = torch.randn(1, num_positions, d_model, generator=torch.Generator().manual_seed(6))
    out = attention(x)
    for t in range(1, num_positions):
        for f in range(d_model):
            changed = x.clone()
            changed[0, t, f] += 3.0
            if not out[0, :t].allclose(attention(changed)[0, :t]):
                return True
    return False


RIGHT_WAYS_CH06 = {
    "causal_mask": (
        causal_by_tril,
        causal_by_triu_turned_over,
        causal_by_loops,
        causal_by_slices,
        causal_by_lists,
        causal_by_numpy,
        causal_by_ge,
        causal_by_minus_infinity,
    ),
    "padding_mask": (
        padding_by_loop,
        padding_by_view,
        padding_by_lists,
        padding_by_cumsum,
        padding_turned_over,
    ),
    "window_mask": (
        window_by_two_triangles,
        window_as_a_difference,
        window_by_distance,
        window_by_loops,
        window_by_exclusion,
        window_by_range,
    ),
    "prefix_mask": (
        prefix_by_writing_columns,
        prefix_by_writing_a_square,
        prefix_by_loops,
        prefix_by_the_farther_edge,
        prefix_by_exclusion,
    ),
    "document_mask": (
        documents_by_loops,
        documents_by_tril,
        documents_by_difference,
        documents_by_multiplying,
        documents_by_unique_numbers,
        documents_sequence_by_sequence,
    ),
    "masked_softmax": (
        softmax_by_rows,
        softmax_with_lowest_number,
        softmax_with_minus_1e9_in_float32,
        softmax_with_minus_1e9_where_it_fits,
        softmax_with_added_infinity,
        softmax_repaired_behind_a_fill,
        softmax_zeroed_behind_a_fill,
        softmax_by_hand,
        softmax_on_a_changed_copy,
        softmax_through_logarithms,
    ),
    "soft_cap": (
        cap_by_a_stable_quotient,
        cap_by_where,
        cap_by_sigmoid,
        cap_in_place_on_its_own,
        cap_with_infinity_added,
        cap_of_the_finite_ones,
        cap_through_float64,
        cap_score_by_score,
    ),
    "packed_attention": (
        packed_by_split_and_torch,
        packed_by_einsum,
        packed_token_by_token,
        packed_head_by_head,
        packed_in_batches_of_equal_length,
        packed_by_cumulative_lengths,
        packed_without_empty_documents,
    ),
    "leaks_future": (
        leaks_one_position_at_a_time,
        leaks_after_each_cut,
        leaks_by_pairs,
        leaks_with_the_future_set_to_zero,
        leaks_with_a_very_large_change,
        leaks_undoing_each_change,
        leaks_from_the_end_without_undoing,
        leaks_into_the_neighbour_of_any_later_change,
        leaks_with_the_global_state_put_back,
        leaks_feature_by_feature,
    ),
}
