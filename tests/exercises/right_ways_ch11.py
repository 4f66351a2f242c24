"""Right answers to the exercises of chapter 11 in other styles."""

import heapq
import math

import torch
import torch.nn.functional as F
from torch import nn

# layer_norm


def layer_norm_row_by_row(x, gain, bias, eps=1e-5):
    rows = x.reshape(-1, x.shape[-1])
    out = []
    for row in rows:
        mean = sum(row) / len(row)
        variance = sum((one - mean) ** 2 for one in row) / len(row)
        out.append((row - mean) / torch.sqrt(variance + eps) * gain + bias)
    return torch.stack(out).reshape(x.shape)


def layer_norm_by_var_mean(x, g, b, eps=1e-5):
    var, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return torch.addcmul(b, (x - mean) * (var + eps).rsqrt(), g)


def layer_norm_by_std(x, g, b, eps=1e-5):
    std = x.std(dim=-1, unbiased=False, keepdim=True)
    return g * (x - x.mean(dim=-1, keepdim=True)) / (std * std + eps) ** 0.5 + b


def layer_norm_in_float64(x, g, b, eps=1e-5):
    wide = x.double()
    wide = wide - wide.mean(-1, True)
    return (g * wide / torch.sqrt((wide**2).mean(-1, True) + eps) + b).to(x.dtype)


def layer_norm_by_products(x, g, b, eps=1e-5):
    d = x.shape[-1]
    centre = torch.eye(d, dtype=x.dtype) - 1 / d
    y = x @ centre
    return y / (torch.einsum("...d,...d->...", y, y)[..., None] / d + eps).sqrt() * g + b


def layer_norm_unbiased_corrected(x, g, b, eps=1e-5):
    d = x.shape[-1]
    y = x - x.sum(-1, keepdim=True) / d
    size = torch.linalg.vector_norm(y, dim=-1, keepdim=True).square() / d
    return y * torch.pow(size + eps, -0.5) * g + b


# rms_norm


def rms_norm_as_llama(x, gain, eps=1e-6):
    kind = x.dtype
    y = x.to(torch.float32) if kind.itemsize < 4 else x
    y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + eps)
    return gain * y.to(kind)


def rms_norm_row_by_row(x, gain, eps=1e-6):
    rows = []
    for row in x.reshape(-1, x.shape[-1]).double():
        rows.append(row / math.e ** (0.5 * torch.log((row * row).mean() + eps)) * gain.double())
    return torch.stack(rows).reshape(x.shape).to(x.dtype)


def rms_norm_by_length(x, gain, eps=1e-6):
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (wide * wide).sum(-1, keepdim=True) / x.shape[-1]
    return torch.mul(wide / torch.sqrt(size + eps), gain.to(wide.dtype)).to(x.dtype)


def rms_norm_by_einsum(x, g, eps=1e-6):
    wide = x.double()
    mean = torch.einsum("...d,...d->...", wide, wide) / wide.size(-1)
    return torch.einsum("...d,...,d->...d", wide, (mean + eps) ** -0.5, g.double()).type_as(x)


def rms_norm_narrow_when_needed(x, g, eps=1e-6):
    if x.dtype == torch.float16 or x.dtype == torch.bfloat16:
        return rms_norm_narrow_when_needed(x.float(), g.float(), eps).to(x.dtype)
    return x / (x**2).mean(dim=-1, keepdim=True).add(eps).sqrt() * g


# feed_forward


def feed_forward_by_linear(x, W_1, b_1, W_2, b_2, activation="relu"):
    hidden = F.linear(x, W_1.T, b_1)
    if activation == "relu":
        hidden = F.relu(hidden)
    elif activation == "gelu":
        hidden = F.gelu(hidden)
    elif activation == "gelu_tanh":
        hidden = F.gelu(hidden, approximate="tanh")
    else:
        raise ValueError(f"no activation is called {activation}")
    return F.linear(hidden, W_2.T, b_2)


def feed_forward_by_modules(x, W_1, b_1, W_2, b_2, activation="relu"):
    kinds = {"relu": nn.ReLU(), "gelu": nn.GELU(), "gelu_tanh": nn.GELU("tanh")}
    try:
        bend = kinds[activation]
    except KeyError:
        raise ValueError("relu, gelu or gelu_tanh") from None
    return bend(x.matmul(W_1).add(b_1)).matmul(W_2).add(b_2)


def feed_forward_by_einsum(x, W_1, b_1, W_2, b_2, activation="relu"):
    match activation:
        case "relu":

            def bend(z):
                return (z + z.abs()) / 2
        case "gelu":

            def bend(z):
                return z * torch.distributions.Normal(0.0, 1.0).cdf(z)
        case "gelu_tanh":

            def bend(z):
                return z * torch.sigmoid(2 * (2 / math.pi) ** 0.5 * (z + 0.044715 * z.pow(3)))
        case _:
            raise ValueError(activation)
    hidden = bend(torch.einsum("...i,ij->...j", x, W_1) + b_1)
    return torch.einsum("...j,jk->...k", hidden, W_2) + b_2


def feed_forward_unit_by_unit(x, W_1, b_1, W_2, b_2, activation="relu"):
    if activation not in ("relu", "gelu", "gelu_tanh"):
        raise ValueError("unknown")
    out = b_2
    for j in range(W_1.shape[1]):
        z = (x * W_1[:, j]).sum(-1) + b_1[j]
        if activation == "relu":
            z = torch.where(z > 0, z, torch.zeros_like(z))
        elif activation == "gelu":
            z = z * torch.special.ndtr(z)
        else:
            z = 0.5 * z * (1 + torch.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z * z * z)))
        out = out + z[..., None] * W_2[j]
    return out


# gated_feed_forward


def gated_as_llama(x, W_gate, W_up, W_down):
    return F.linear(F.silu(F.linear(x, W_gate.T)) * F.linear(x, W_up.T), W_down.T)


def gated_in_one_product(x, W_gate, W_up, W_down):
    gate, up = (x @ torch.cat((W_gate, W_up), dim=1)).chunk(2, dim=-1)
    return (up * gate * gate.sigmoid()) @ W_down


def gated_by_einsum(x, V, W, U):
    z = torch.einsum("...i,ij->...j", x, V)
    return torch.einsum("...j,...j,jk->...k", z.sigmoid() * z, x @ W, U)


def gated_unit_by_unit(x, W_gate, W_up, W_down):
    out = 0
    for j in range(W_up.shape[1]):
        z = (x * W_gate[:, j]).sum(-1, keepdim=True)
        out = out + nn.SiLU()(z) * (x * W_up[:, j]).sum(-1, keepdim=True) * W_down[j]
    return out


def gated_by_glu(x, W_gate, W_up, W_down):
    gate = x @ W_gate
    return (F.glu(torch.cat((gate * (x @ W_up), gate), -1), -1)) @ W_down


# encoder_layer


def encoder_layer_in_two_branches(x, attend, feed_forward, norm_1, norm_2, pre_norm):
    if pre_norm:
        x = x + attend(norm_1(x))
        return x + feed_forward(norm_2(x))
    x = norm_1(x + attend(x))
    return norm_2(x + feed_forward(x))


def encoder_layer_by_a_loop(x, attend, feed_forward, norm_1, norm_2, pre_norm):
    for part, norm in ((attend, norm_1), (feed_forward, norm_2)):
        branch = part(norm(x)) if pre_norm else part(x)
        x = torch.add(x, branch)
        if not pre_norm:
            x = norm(x)
    return x


def encoder_layer_as_hugging_face(
    hidden_states, attend, feed_forward, norm_1, norm_2, do_layer_norm_before
):
    residual = hidden_states
    if do_layer_norm_before:
        hidden_states = norm_1(hidden_states)
    hidden_states = attend(hidden_states)
    hidden_states = residual + hidden_states
    if not do_layer_norm_before:
        hidden_states = norm_1(hidden_states)
    residual = hidden_states
    if do_layer_norm_before:
        hidden_states = norm_2(hidden_states)
    hidden_states = feed_forward(hidden_states)
    hidden_states = residual + hidden_states
    return hidden_states if do_layer_norm_before else norm_2(hidden_states)


def encoder_layer_by_a_residual(x, attend, feed_forward, norm_1, norm_2, pre_norm):
    def residual(part, norm):
        if pre_norm:
            return lambda y: y + part(norm(y))
        return lambda y: norm(y + part(y))

    return residual(feed_forward, norm_2)(residual(attend, norm_1)(x))


def encoder_layer_on_a_copy(x, attend, feed_forward, norm_1, norm_2, pre_norm):
    x = x.clone()
    x += attend(norm_1(x.clone())) if pre_norm else attend(x.clone())
    x = x if pre_norm else norm_1(x)
    y = feed_forward(norm_2(x)) if pre_norm else feed_forward(x)
    return x + y if pre_norm else norm_2(x + y)


# decoder_layer


def decoder_layer_in_two_branches(
    x, memory, self_attend, cross_attend, feed_forward, norms, pre_norm
):
    n1, n2, n3 = norms
    if pre_norm:
        x = x + self_attend(n1(x))
        x = x + cross_attend(n2(x), memory)
        x = x + feed_forward(n3(x))
    else:
        x = n1(x + self_attend(x))
        x = n2(x + cross_attend(x, memory))
        x = n3(x + feed_forward(x))
    return x


def decoder_layer_by_a_loop(x, memory, self_attend, cross_attend, feed_forward, norms, pre_norm):
    parts = self_attend, lambda y: cross_attend(y, memory), feed_forward
    for part, norm in zip(parts, norms, strict=True):
        x = x + part(norm(x)) if pre_norm else norm(x + part(x))
    return x


def decoder_layer_by_encoder_layer(x, memory, self_attend, cross_attend, feed_forward, norms, pre):
    def around(part, norm, y):
        return y + part(norm(y)) if pre else norm(y + part(y))

    x = around(self_attend, norms[0], x)
    return encoder_layer_in_two_branches(
        x, lambda y: cross_attend(y, memory), feed_forward, norms[1], norms[2], pre
    )


def decoder_layer_as_torch(tgt, memory, sa, ca, ff, norms, norm_first):
    x = tgt
    if norm_first:
        x = x + sa(norms[0](x))
        x = torch.add(x, ca(norms[1](x), memory))
        return x.add(ff(norms[2](x)))
    x = norms[0](x + sa(x))
    x = norms[1](ca(x, memory) + x)
    return norms[2](ff(x).add(x))


# transformer_masks


def masks_token_by_token(source, target, pad_id):
    count, num_source, num_target = len(source), source.shape[1], target.shape[1]
    encoder = torch.zeros(count, 1, 1, num_source, dtype=torch.bool)
    decoder = torch.zeros(count, 1, num_target, num_target, dtype=torch.bool)
    for b in range(count):
        for k in range(num_source):
            encoder[b, 0, 0, k] = source[b, k].item() != pad_id
        for q in range(num_target):
            for k in range(q + 1):
                decoder[b, 0, q, k] = bool(target[b, k] != pad_id)
    return encoder, decoder, encoder.clone()


def masks_by_tril(source, target, pad_id):
    real = source.ne(pad_id).unsqueeze(1).unsqueeze(2)
    size = target.size(1)
    past = torch.ones((size, size), dtype=torch.bool).tril()
    return real, target.ne(pad_id).unsqueeze(1).unsqueeze(2).logical_and(past), real


def masks_by_indices(src, tgt, pad):
    src_mask = ~(src == pad)[:, None, None]
    position = torch.arange(tgt.shape[-1])
    later = position > position[:, None]
    return [src_mask, ~(later | (tgt == pad)[:, None, None]), src_mask]


def masks_by_triu(src, tgt, pad):
    blocked = torch.triu(torch.full((tgt.shape[1],) * 2, 1.0), diagonal=1) == 0
    src_mask = (src != pad).view(src.shape[0], 1, 1, -1)
    return src_mask, (tgt != pad).view(tgt.shape[0], 1, 1, -1) & blocked[None, None], src_mask


# beam_search


def beam_by_dl4mt(step, start, end, width, max_length, alpha=0.0):
    live, sums, dead = [[start]], torch.zeros(1, dtype=torch.float64), []
    for _ in range(max_length):
        table = sums[:, None] + step(torch.tensor(live))
        room = width - len(dead)
        order = table.flatten().argsort(descending=True)[:room].tolist()
        words, fresh, kept = table.shape[1], [], []
        for at in order:
            total = table.flatten()[at].item()
            if total == -math.inf:
                continue
            text = live[at // words] + [at % words]
            if text[-1] == end:
                dead.append((text, total))
            else:
                fresh.append(text)
                kept.append(total)
        live, sums = fresh, torch.tensor(kept, dtype=torch.float64)
        if not live:
            break
    both = dead + list(zip(live, sums.tolist(), strict=True))
    text, total = max(both, key=lambda one: one[1] / (len(one[0]) - 1) ** alpha)
    return text[1:], total / (len(text) - 1) ** alpha


def beam_one_by_one(step, start, end, width, max_length, alpha=0.0):
    beam = [(0.0, (start,), False)]
    for _ in range(max_length):
        finished = [one for one in beam if one[2]]
        candidates = []
        for total, text, over in beam:
            if over:
                continue
            row = step(torch.tensor([text]))[0]
            for token, log_p in enumerate(row.tolist()):
                if log_p > -math.inf:
                    candidates.append((total + log_p, (*text, token), token == end))
        if not candidates:
            break
        beam = finished + heapq.nlargest(width - len(finished), candidates)
        if all(over for *_, over in beam):
            break
    scores = [total / (len(text) - 1) ** alpha for total, text, _ in beam]
    best = scores.index(max(scores))
    return list(beam[best][1][1:]), scores[best]


def beam_of_tensors(step, start, end, width, max_length, alpha=0.0):
    texts = torch.full((1, 1), start)
    sums = torch.zeros(1, dtype=torch.float64)
    best, best_score, room = None, -math.inf, width

    def offer(text, total):
        nonlocal best, best_score
        score = total / len(text[1:]) ** alpha
        if score > best_score:
            best, best_score = text[1:], score

    for _ in range(max_length):
        log_p = step(texts).double()
        flat = (log_p + sums[:, None]).flatten()
        top, at = torch.topk(flat, min(room, int((flat > -torch.inf).sum())))
        texts = torch.cat((texts[at // log_p.shape[1]], (at % log_p.shape[1])[:, None]), 1)
        over = texts[:, -1] == end
        for text, total in zip(texts[over].tolist(), top[over].tolist(), strict=True):
            offer(text, total)
        room -= int(over.sum())
        texts, sums = texts[~over], top[~over]
        if not len(texts):
            break
    for text, total in zip(texts.tolist(), sums.tolist(), strict=True):
        offer(text, total)
    return best, best_score


def beam_by_recursion(step, start, end, width, max_length, alpha=0.0):
    def score(one):
        return one[1] / (len(one[0]) - 1) ** alpha

    def search(beam, rounds):
        over = [one for one in beam if len(one[0]) > 1 and one[0][-1] == end]
        going = [one for one in beam if one not in over]
        if not going or not rounds:
            return max(beam, key=score)
        table = step(torch.tensor([text for text, _ in going])).tolist()
        grown = [
            ([*text, token], total + log_p)
            for (text, total), row in zip(going, table, strict=True)
            for token, log_p in enumerate(row)
            if log_p != -math.inf
        ]
        grown.sort(key=lambda one: -one[1])
        return search(over + grown[: width - len(over)], rounds - 1)

    text, total = search([([start], 0.0)], max_length)
    return text[1:], total / (len(text) - 1) ** alpha


RIGHT_WAYS_CH11 = {
    "layer_norm": (
        layer_norm_row_by_row,
        layer_norm_by_var_mean,
        layer_norm_by_std,
        layer_norm_in_float64,
        layer_norm_by_products,
        layer_norm_unbiased_corrected,
    ),
    "rms_norm": (
        rms_norm_as_llama,
        rms_norm_row_by_row,
        rms_norm_by_length,
        rms_norm_by_einsum,
        rms_norm_narrow_when_needed,
    ),
    "feed_forward": (
        feed_forward_by_linear,
        feed_forward_by_modules,
        feed_forward_by_einsum,
        feed_forward_unit_by_unit,
    ),
    "gated_feed_forward": (
        gated_as_llama,
        gated_in_one_product,
        gated_by_einsum,
        gated_unit_by_unit,
        gated_by_glu,
    ),
    "encoder_layer": (
        encoder_layer_in_two_branches,
        encoder_layer_by_a_loop,
        encoder_layer_as_hugging_face,
        encoder_layer_by_a_residual,
        encoder_layer_on_a_copy,
    ),
    "decoder_layer": (
        decoder_layer_in_two_branches,
        decoder_layer_by_a_loop,
        decoder_layer_by_encoder_layer,
        decoder_layer_as_torch,
    ),
    "transformer_masks": (
        masks_token_by_token,
        masks_by_tril,
        masks_by_indices,
        masks_by_triu,
    ),
    "beam_search": (
        beam_by_dl4mt,
        beam_one_by_one,
        beam_of_tensors,
        beam_by_recursion,
    ),
}
