"""Right answers to the exercises of chapter 01 in other styles than the reference."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

# rnn_step


def step_by_linear(x, h, W_xh, W_hh, b):
    return torch.tanh(F.linear(x, W_xh.T, b) + F.linear(h, W_hh.T))


def step_on_joined_vectors(x, h, W_xh, W_hh, b):
    return torch.tanh(torch.cat([x, h], dim=1) @ torch.cat([W_xh, W_hh], dim=0) + b)


def step_by_einsum(x, h, W_xh, W_hh, b):
    return (torch.einsum("bi,ij->bj", x, W_xh) + torch.einsum("bi,ij->bj", h, W_hh) + b).tanh()


def step_by_addmm(x, h, W_xh, W_hh, b):
    return torch.tanh(torch.addmm(torch.addmm(b, x, W_xh), h, W_hh))


def step_by_loops(x, h, W_xh, W_hh, b):
    rows = []
    for i in range(x.shape[0]):
        row = []
        for j in range(b.shape[0]):
            total = b[j]
            for k in range(x.shape[1]):
                total = total + x[i, k] * W_xh[k, j]
            for k in range(h.shape[1]):
                total = total + h[i, k] * W_hh[k, j]
            row.append(torch.tanh(total))
        rows.append(torch.stack(row))
    return torch.stack(rows)


def step_through_sigmoid(x, h, W_xh, W_hh, b):
    return 2 * torch.sigmoid(2 * (x @ W_xh + h @ W_hh + b)) - 1


def step_of_torch(x, h, W_xh, W_hh, b):
    return torch.rnn_tanh_cell(x, h, W_xh.T, W_hh.T, b, torch.zeros_like(b))


# encode


def _states(x, W_xh, W_hh, b):
    h = torch.zeros(x.shape[0], b.shape[0], dtype=x.dtype)
    out = []
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t, :] @ W_xh + h @ W_hh + b)
        out.append(h)
    return torch.stack(out, dim=1)


def encode_by_gather(x, lengths, W_xh, W_hh, b):
    states = _states(x, W_xh, W_hh, b)
    index = (lengths - 1).view(-1, 1, 1).expand(-1, 1, b.shape[0])
    return [states, states.gather(1, index).squeeze(1)]


def encode_inputs_projected_first(x, lengths, W_xh, W_hh, b):
    projected = x @ W_xh + b
    h = torch.zeros_like(projected[:, 0])
    states = torch.empty_like(projected)
    out = []
    for t in range(x.size(1)):
        h = (projected[:, t] + h @ W_hh).tanh()
        out.append(h[:, None])
    states = torch.cat(out, dim=1)
    return states, torch.stack([states[i, n - 1] for i, n in enumerate(lengths.tolist())])


def encode_by_steps_first(x, lengths, W_xh, W_hh, b):
    hs = [torch.zeros(len(x), len(b)).to(x)]
    for token in x.transpose(0, 1):
        hs.append(torch.tanh(token @ W_xh + hs[-1] @ W_hh + b))
    table = torch.stack(hs)
    return table[1:].permute(1, 0, 2), table[lengths, torch.arange(len(x))]


def encode_by_mask(x, lengths, W_xh, W_hh, b):
    states = _states(x, W_xh, W_hh, b)
    last = F.one_hot(lengths - 1, x.shape[1]).to(x.dtype)
    return states, torch.einsum("bs,bsd->bd", last, states)


def encode_context_kept_on_the_way(x, lengths, W_xh, W_hh, b):
    h = x.new_zeros(x.shape[0], b.shape[0])
    context, states = h, []
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ W_xh + h @ W_hh + b)
        context = torch.where((lengths == t + 1).unsqueeze(1), h, context)
        states.append(h)
    return torch.stack(states, 1), context


def encode_sequence_by_sequence(x, lengths, W_xh, W_hh, b):
    all_states = []
    for sequence in x:
        h, states = torch.zeros_like(b), []
        for token in sequence:
            h = torch.tanh(token @ W_xh + h @ W_hh + b)
            states.append(h)
        all_states.append(torch.stack(states))
    return torch.stack(all_states), torch.stack(
        [states[int(n) - 1] for states, n in zip(all_states, lengths, strict=True)]
    )


def encode_context_by_packing(x, lengths, W_xh, W_hh, b):
    states = _states(x, W_xh, W_hh, b)
    packed = pack_padded_sequence(states, lengths, batch_first=True, enforce_sorted=False)
    padded, kept = pad_packed_sequence(packed, batch_first=True)
    return states, padded[torch.arange(len(x)), kept - 1]


def encode_by_a_layer_of_torch(x, lengths, W_xh, W_hh, b):
    # The layer draws weights when it is made; none of them is used.
    layer = torch.nn.RNN(W_xh.shape[0], W_hh.shape[0], batch_first=True).to(x.dtype)
    given = {"weight_ih_l0": W_xh.mT, "weight_hh_l0": W_hh.mT, "bias_ih_l0": b, "bias_hh_l0": 0 * b}
    states, _ = torch.func.functional_call(layer, given, (x,))
    return states, states[torch.arange(len(x)), lengths - 1]


# context_vector


def context_by_bmm(weights, states):
    return torch.bmm(weights.unsqueeze(1), states).squeeze(1)


def context_by_einsum(a, h):
    return torch.einsum("bs,bsd->bd", a, h)


def context_by_broadcasting(a, h):
    return (a[:, :, None] * h).sum(dim=1)


def context_by_loop(a, h):
    total = torch.zeros_like(h[:, 0])
    for s in range(h.shape[1]):
        total = total + a[:, s : s + 1] * h[:, s]
    return total


def context_turned(a, h):
    return (h.transpose(1, 2) @ a.unsqueeze(-1)).squeeze(-1)


def context_row_by_row(a, h):
    return torch.stack([row @ table for row, table in zip(a, h, strict=True)])


# exact_match


def match_by_loops(predicted, target, pad_id):
    right = 0
    for p, t in zip(predicted.tolist(), target.tolist(), strict=True):
        right += all(a == b for a, b in zip(p, t, strict=True) if b != pad_id)
    return right / len(target)


def match_no_wrong_token(predicted, target, pad_id):
    wrong = (predicted != target) & (target != pad_id)
    return 1 - wrong.any(dim=1).float().mean().item()


def match_by_counting(predicted, target, pad_id):
    real = target != pad_id
    hits = ((predicted == target) & real).sum(-1)
    return (hits == real.sum(-1)).double().mean().item()


def match_after_overwriting(predicted, target, pad_id):
    same = predicted.masked_fill(target.eq(pad_id), pad_id)
    return (same == target).all(-1).sum().item() / target.size(0)


def match_by_product(predicted, target, pad_id):
    right = torch.where(target == pad_id, True, predicted == target)
    return float(right.prod(dim=1).double().mean())


def match_row_by_row(predicted, target, pad_id):
    hits = [
        torch.equal(p[t != pad_id], t[t != pad_id]) for p, t in zip(predicted, target, strict=True)
    ]
    return sum(hits) / len(hits)


class Context(nn.Module):
    def forward(self, weights, states):
        return context_by_bmm(weights, states)


context_module = Context()
context_module.__name__ = "context_module"

RIGHT_WAYS_CH01 = {
    "rnn_step": (
        step_by_linear,
        step_on_joined_vectors,
        step_by_einsum,
        step_by_addmm,
        step_by_loops,
        step_through_sigmoid,
        step_of_torch,
    ),
    "encode": (
        encode_by_gather,
        encode_inputs_projected_first,
        encode_by_steps_first,
        encode_by_mask,
        encode_context_kept_on_the_way,
        encode_sequence_by_sequence,
        encode_context_by_packing,
        encode_by_a_layer_of_torch,
    ),
    "context_vector": (
        context_by_bmm,
        context_by_einsum,
        context_by_broadcasting,
        context_by_loop,
        context_turned,
        context_row_by_row,
        context_module,
    ),
    "exact_match": (
        match_by_loops,
        match_no_wrong_token,
        match_by_counting,
        match_after_overwriting,
        match_by_product,
        match_row_by_row,
    ),
}
