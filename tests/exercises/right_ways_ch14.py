"""Right answers to the exercises of chapter 14 in other styles."""

import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment
from torch import nn

# patchify


def _check_patch(images, patch):
    if images.shape[2] % patch or images.shape[3] % patch:
        raise ValueError(f"{patch} does not divide {tuple(images.shape[2:])}")


def patches_by_loops(images, p):
    _check_patch(images, p)
    found = []
    for i in range(0, images.shape[2], p):
        for j in range(0, images.shape[3], p):
            found.append(images[:, :, i : i + p, j : j + p].flatten(1))
    return torch.stack(found, 1)


def patches_by_unfold(images, patch):
    _check_patch(images, patch)
    return F.unfold(images, patch, stride=patch).transpose(1, 2)


def patches_by_tensor_unfold(images, p):
    _check_patch(images, p)
    windows = images.unfold(2, p, p).unfold(3, p, p)  # B, C, rows, columns, p, p
    return windows.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)


def patches_by_pixel_unshuffle(images, patch):
    _check_patch(images, patch)
    return F.pixel_unshuffle(images, patch).flatten(2).mT


def patches_by_a_convolution(images, patch):
    """The kernel is the identity: each output channel picks one number of the patch."""
    _, c, h, w = images.shape
    if h < patch or w < patch or h % patch != 0 or w % patch != 0:
        raise ValueError("the patch must divide both sides")
    size = c * patch * patch
    kernel = torch.eye(size, dtype=images.dtype).view(size, c, patch, patch)
    return F.conv2d(images, kernel, stride=patch).flatten(2).mT


def patches_by_einsum(images, p):
    if any(side % p for side in images.shape[-2:]):
        raise ValueError("no")
    b, c, h, w = images.shape
    x = images.contiguous().view(b, c, h // p, p, w // p, p)
    return torch.einsum("bcimjn->bijcmn", x).reshape(b, (h // p) * (w // p), c * p * p)


def patches_by_chunks(images, p):
    _check_patch(images, p)
    rows = [band.split(p, dim=3) for band in images.split(p, dim=2)]
    flat = [square.reshape(len(images), -1) for band in rows for square in band]
    return torch.stack(flat, dim=1)


# vit_tokens


def tokens_by_a_convolution(images, patch, W_e, b_e, class_token, positions):
    kernel = W_e.T.reshape(-1, images.shape[1], patch, patch)
    x = F.conv2d(images, kernel, b_e, stride=patch).flatten(2).transpose(1, 2)
    x = torch.cat([class_token.view(1, 1, -1).repeat(x.size(0), 1, 1), x], dim=1)
    return x + positions.unsqueeze(0)


def tokens_in_two_parts(images, patch, W_e, b_e, class_token, positions):
    patches = F.unfold(images, patch, stride=patch).mT
    first = (class_token + positions[0]).expand(len(images), 1, -1)
    return torch.cat((first, torch.baddbmm(
        (b_e + positions[1:]).expand(len(images), -1, -1),
        patches, W_e.expand(len(images), -1, -1),
    )), dim=1)  # fmt: skip


def tokens_image_by_image(images, patch, W_e, b_e, class_token, positions):
    out = []
    for image in images:
        rows = [class_token]
        for i in range(image.shape[1] // patch):
            for j in range(image.shape[2] // patch):
                square = image[:, i * patch : (i + 1) * patch, j * patch : (j + 1) * patch]
                rows.append(square.reshape(-1) @ W_e + b_e)
        out.append(torch.stack(rows) + positions)
    return torch.stack(out)


def tokens_by_linear(images, patch, W_e, b_e, class_token, positions):
    patches = F.pixel_unshuffle(images, patch).flatten(2).mT
    embedded = F.linear(patches, W_e.mT, b_e)
    with_room = F.pad(embedded, (0, 0, 1, 0))
    front = F.one_hot(torch.tensor(0), with_room.shape[1]).to(W_e.dtype).unsqueeze(-1)
    return with_room + front * class_token + positions


# non_local_block


def non_local_by_convolutions(x, W_theta, W_phi, W_g, W_out):
    def conv(x, W):
        return F.conv2d(x, W.mT[:, :, None, None])

    theta, phi, g = (conv(x, W).flatten(2) for W in (W_theta, W_phi, W_g))
    weights = torch.softmax(theta.transpose(1, 2) @ phi, dim=-1)
    y = (weights @ g.transpose(1, 2)).transpose(1, 2).reshape(len(x), -1, *x.shape[2:])
    return x + conv(y, W_out)


def non_local_by_sdpa(x, W_theta, W_phi, W_g, W_out):
    places = x.permute(0, 2, 3, 1).reshape(x.shape[0], -1, x.shape[1])
    y = F.scaled_dot_product_attention(places @ W_theta, places @ W_phi, places @ W_g, scale=1.0)
    return (places + y @ W_out).mT.reshape(x.shape)


def non_local_by_einsum(x, W_theta, W_phi, W_g, W_out):
    theta = torch.einsum("bchw,cd->bhwd", x, W_theta)
    phi = torch.einsum("bchw,cd->bhwd", x, W_phi)
    f = torch.einsum("bhwd,bijd->bhwij", theta, phi).flatten(3)
    weights = f.softmax(-1).unflatten(3, x.shape[2:])
    return x + torch.einsum("bhwij,bcij,cd,de->behw", weights, x, W_g, W_out)


def non_local_place_by_place(x, W_theta, W_phi, W_g, W_out):
    out = []
    for image in x:
        places = image.flatten(1).T
        rows = []
        for place in places:
            scores = torch.stack([(place @ W_theta).dot(other @ W_phi) for other in places])
            shares = (scores - scores.max()).exp()
            shares = shares / shares.sum()
            rows.append(place + shares @ places @ W_g @ W_out)
        out.append(torch.stack(rows).T.reshape(image.shape))
    return torch.stack(out)


# contrastive_loss


def loss_by_cross_entropy(a, b, temperature):
    a, b = F.normalize(a, dim=-1), F.normalize(b, dim=-1)
    logits = a @ b.t() / temperature
    labels = torch.arange(len(a))
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


def loss_by_clip(image, text, temperature):
    """As in CLIP: eps keeps zeros finite, the factor multiplies."""
    image = image / image.norm(dim=-1, keepdim=True).clamp_min(1e-12)
    text = text / text.norm(dim=-1, keepdim=True).clamp_min(1e-12)
    scale = 1.0 / temperature
    per_text = torch.matmul(text, image.t()) * scale
    target = torch.arange(len(per_text), device=per_text.device)
    caption = nn.functional.cross_entropy(per_text, target)
    return (caption + nn.functional.cross_entropy(per_text.t(), target)) / 2.0


def loss_by_logsumexp(a, b, temperature):
    cosines = F.cosine_similarity(a.unsqueeze(1), b.unsqueeze(0), dim=-1)
    logits = cosines / temperature
    rows, columns = torch.logsumexp(logits, 1), torch.logsumexp(logits, 0)
    return 0.5 * (rows + columns - 2 * logits.diagonal()).mean()


def loss_pair_by_pair(a, b, temperature):
    def unit(v):
        return v / v.norm() if v.norm() > 0 else v * 1.0

    a, b = [unit(v) for v in a], [unit(v) for v in b]
    losses = []
    for i in range(len(a)):
        row = torch.stack([a[i].dot(other) / temperature for other in b])
        column = torch.stack([other.dot(b[i]) / temperature for other in a])
        losses += [-row.log_softmax(0)[i], -column.log_softmax(0)[i]]
    return torch.stack(losses).mean()


def loss_with_the_temperature_on_both_sides(a, b, temperature):
    root = math.sqrt(temperature) if not torch.is_tensor(temperature) else temperature.sqrt()
    a, b = F.normalize(a, dim=1) / root, F.normalize(b, dim=1) / root
    logits = torch.einsum("id,jd->ij", a, b)
    eye = torch.eye(len(a), dtype=a.dtype)
    forth = -(F.log_softmax(logits, 1) * eye).sum(1).mean()
    back = -(F.log_softmax(logits, 0) * eye).sum(0).mean()
    return torch.stack([forth, back]).mean()


# siglip_loss


def siglip_by_binary_cross_entropy(images, texts, log_scale, bias):
    images, texts = F.normalize(images, dim=1), F.normalize(texts, dim=1)
    logits = torch.exp(log_scale) * images @ texts.t() + bias
    target = torch.eye(len(logits)).to(logits)
    return F.binary_cross_entropy_with_logits(logits, target, reduction="sum") / len(logits)


def siglip_by_hugging_face(image_embeds, text_embeds, logit_scale, logit_bias):
    """As in transformers: one row for each text."""
    image_embeds = image_embeds / image_embeds.norm(p=2, dim=-1, keepdim=True)
    text_embeds = text_embeds / text_embeds.norm(p=2, dim=-1, keepdim=True)
    logits_per_text = torch.matmul(text_embeds, image_embeds.t())
    logits_per_text = logits_per_text * logit_scale.exp() + logit_bias
    eye = torch.eye(logits_per_text.size(0), device=logits_per_text.device)
    m1_diag1 = -torch.ones_like(logits_per_text) + 2 * eye
    loglik = torch.nn.functional.logsigmoid(m1_diag1 * logits_per_text)
    nll = -torch.sum(loglik, dim=-1)
    return nll.mean()


def siglip_in_chunks(images, texts, log_scale, bias):
    """As on several devices: each holds two texts, and the images pass by."""
    images, texts = F.normalize(images, dim=-1), F.normalize(texts, dim=-1)
    total = 0.0
    for start in range(0, len(texts), 2):
        logits = (images @ texts[start : start + 2].T) * log_scale.exp() + bias
        column = torch.arange(start, start + logits.shape[1])
        own = torch.arange(len(images))[:, None] == column
        total = total + F.softplus(torch.where(own, -logits, logits)).sum()
    return total / len(images)


def siglip_pair_by_pair(images, texts, log_scale, bias):
    terms = []
    for i, image in enumerate(images):
        for j, text in enumerate(texts):
            cosine = image.dot(text) / (image.norm() * text.norm())
            logit = log_scale.exp() * cosine + bias
            terms.append(torch.logaddexp(torch.zeros_like(logit), -logit if i == j else logit))
    return torch.stack(terms).sum() / len(images)


def siglip_by_softplus(images, texts, log_scale, bias):
    """All pairs as strangers, and then the partners' own terms put right: softplus(x) - x."""
    z = F.cosine_similarity(images[:, None], texts[None], dim=-1) * torch.exp(log_scale) + bias
    return F.softplus(z).sum(dim=1).mean() - z.diagonal().mean()


# last_image_mask


def mask_by_loops(marks, num_images, T):
    mask = torch.zeros(*marks.shape, num_images * T, dtype=torch.bool)
    for b, row in enumerate(marks.tolist()):
        image = -1
        for i, is_image in enumerate(row):
            image += is_image
            if image >= 0:
                mask[b, i, image * T : (image + 1) * T] = True
    return mask


def mask_by_flamingo(marks, num_images, T):
    """As in open_flamingo: media and text have times."""
    text_time = marks.cumsum(dim=-1)
    media_time = torch.arange(num_images) + 1
    return text_time[:, :, None] == media_time.repeat_interleave(T)[None, None, :]


def mask_by_division(marks, num_images, T):
    seen = torch.cumsum(marks.int(), dim=1).unsqueeze(-1)
    keys = torch.arange(num_images * T)
    return (seen > 0) & (torch.div(keys, T, rounding_mode="floor") == seen - 1)


def mask_by_one_hot(marks, num_images, T):
    seen = marks.cumsum(1)
    which = F.one_hot(seen, num_images + 1)[..., 1:].bool()
    return which.unsqueeze(-1).expand(-1, -1, -1, T).flatten(2)


def mask_by_bounds(marks, num_images, tokens_per_image):
    start = (marks.long().cumsum(-1)[..., None] - 1) * tokens_per_image
    keys = torch.arange(num_images * tokens_per_image)[None, None]
    return (start >= 0) & (keys >= start) & (keys < start + tokens_per_image)


# gated_cross_attention


def gated_by_sdpa(x, context, W_q, W_k, W_v, W_o, gate, attn_mask=None):
    if attn_mask is None:
        attn_mask = torch.ones(1, dtype=torch.bool)
    mask = attn_mask.expand(len(x), x.shape[1], context.shape[1])
    empty = ~mask.any(-1, keepdim=True)
    q, k, v = x @ W_q, context @ W_k, context @ W_v
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask | empty)
    return x + torch.tanh(gate) * (y.masked_fill(empty, 0.0) @ W_o)


def gated_by_einsum(x, context, W_q, W_k, W_v, W_o, gate, attn_mask=None):
    q = torch.einsum("bld,dk->blk", x, W_q)
    k = torch.einsum("bsc,ck->bsk", context, W_k)
    s = torch.einsum("blk,bsk->bls", q, k) / W_q.shape[1] ** 0.5
    if attn_mask is not None:
        s = s.masked_fill(~attn_mask, -1e30)
    w = s.softmax(-1)
    if attn_mask is not None:
        w = w * attn_mask
    return x + torch.einsum("bls,bsc,cv,vd->bld", w, context, W_v, W_o) * gate.tanh()


def gated_with_nan_put_right(x, context, W_q, W_k, W_v, W_o, gate, attn_mask=None):
    """A row of -inf gives NaN, and its gradient ends at `masked_fill`."""
    s = (x @ W_q) @ (context @ W_k).mT / W_q.shape[1] ** 0.5
    if attn_mask is not None:
        s = s.masked_fill(~attn_mask, -torch.inf)
    return x + gate.tanh() * (s.softmax(-1).nan_to_num() @ (context @ W_v) @ W_o)


def gated_sequence_by_sequence(x, context, W_q, W_k, W_v, W_o, gate, attn_mask=None):
    rows = []
    for b in range(len(x)):
        for i in range(x.shape[1]):
            allowed = torch.ones(context.shape[1], dtype=torch.bool)
            if attn_mask is not None:
                allowed = attn_mask.expand(len(x), x.shape[1], -1)[b, i]
            if not allowed.any():
                rows.append(x[b, i] + 0.0 * gate)
                continue
            read = context[b][allowed]
            scores = read @ W_k @ (x[b, i] @ W_q) / math.sqrt(W_q.shape[1])
            out = torch.softmax(scores, 0) @ (read @ W_v)
            rows.append(x[b, i] + torch.tanh(gate) * (out @ W_o))
    return torch.stack(rows).reshape(x.shape)


def gated_by_two_exponentials(x, context, W_q, W_k, W_v, W_o, gate, attn_mask=None):
    """The tanh as a sigmoid: tanh(g) = 2 sigmoid(2g) - 1."""
    scores = (x @ W_q) @ (context @ W_k).transpose(1, 2) / math.sqrt(W_k.size(-1))
    if attn_mask is not None:
        scores = torch.where(attn_mask, scores, -torch.inf)
        empty = (scores == -torch.inf).all(-1, keepdim=True)
        weights = torch.where(empty, 0.0, torch.where(empty, 0.0, scores).softmax(-1))
    else:
        weights = scores.softmax(-1)
    read = weights @ (context @ (W_v @ W_o))
    return torch.addcmul(x, 2 * torch.sigmoid(2 * gate) - 1, read)


# object_query_attention


def queries_by_sdpa(x, query_position, memory, memory_position, W_q, W_k, W_v):
    q, k = (x + query_position) @ W_q, (memory + memory_position) @ W_k
    return F.scaled_dot_product_attention(q, k, memory @ W_v)


def queries_by_four_products(x, query_position, memory, memory_position, W_q, W_k, W_v):
    """Content and position of each side meet in four products."""
    q, qp = x @ W_q, query_position @ W_q
    k, kp = memory @ W_k, memory_position @ W_k
    scores = q @ k.mT + q @ kp.mT + qp @ k.mT + qp @ kp.mT
    return torch.softmax(scores / math.sqrt(W_q.shape[1]), dim=-1) @ memory @ W_v


def queries_by_detr(tgt, query_pos, memory, pos, W_q, W_k, W_v):
    def with_pos_embed(tensor, pos):
        return tensor if pos is None else tensor + pos

    q = F.linear(with_pos_embed(tgt, query_pos), W_q.T) * W_q.shape[1] ** -0.5
    k = F.linear(with_pos_embed(memory, pos), W_k.T)
    return torch.bmm(torch.bmm(q, k.transpose(1, 2)).softmax(dim=-1), F.linear(memory, W_v.T))


def queries_one_by_one(x, query_position, memory, memory_position, W_q, W_k, W_v):
    rows = []
    for i in range(x.shape[1]):
        q = (x[:, i] + query_position[i]) @ W_q
        scores = ((memory + memory_position) @ W_k @ q.unsqueeze(-1)).squeeze(-1)
        w = (scores * W_q.shape[1] ** -0.5).softmax(1)
        rows.append(torch.einsum("bs,bsd,dv->bv", w, memory, W_v))
    return torch.stack(rows, dim=1)


# match_queries


def matching_by_scipy(cost):
    found = []
    for one in cost.numpy():
        queries, objects = linear_sum_assignment(one)
        order = np.argsort(objects)
        found.append(torch.tensor(queries[order], dtype=torch.long))
    return torch.stack(found)


def matching_by_scipy_transposed(cost):
    rows = [torch.as_tensor(linear_sum_assignment(one.T)[1]) for one in cost]
    return torch.stack(rows).long()


def matching_by_permutations(cost):
    _, Q, T = cost.shape
    best = []
    for one in cost.tolist():
        best.append(min(
            itertools.permutations(range(Q), T),
            key=lambda way, one=one: math.fsum(one[q][t] for t, q in enumerate(way)),
        ))  # fmt: skip
    return torch.tensor(best)


def matching_by_branches(cost):
    """Tries each query for the first object, and the best of the rest for the others."""

    def cheapest(table, free, t):
        if t == len(table[0]):
            return 0.0, []
        tries = []
        for q in free:
            rest, way = cheapest(table, [other for other in free if other != q], t + 1)
            tries.append((table[q][t] + rest, [q, *way]))
        return min(tries)

    return torch.tensor([cheapest(one, range(len(one)), 0)[1] for one in cost.tolist()])


def matching_by_subsets(cost):
    """Dynamic programming over the sets of used queries."""
    out = []
    for table in cost.tolist():
        best = {0: (0.0, ())}
        for t in range(len(table[0])):
            step = {}
            for used, (total, way) in best.items():
                for q in range(len(table)):
                    if not used >> q & 1:
                        key, new = used | 1 << q, (total + table[q][t], (*way, q))
                        step[key] = min(step.get(key, new), new)
            best = step
        out.append(min(best.values())[1])
    return torch.tensor(out, dtype=torch.int64)


RIGHT_WAYS_CH14 = {
    "patchify": (
        patches_by_loops,
        patches_by_unfold,
        patches_by_tensor_unfold,
        patches_by_pixel_unshuffle,
        patches_by_a_convolution,
        patches_by_einsum,
        patches_by_chunks,
    ),
    "vit_tokens": (
        tokens_by_a_convolution,
        tokens_in_two_parts,
        tokens_image_by_image,
        tokens_by_linear,
    ),
    "non_local_block": (
        non_local_by_convolutions,
        non_local_by_sdpa,
        non_local_by_einsum,
        non_local_place_by_place,
    ),
    "contrastive_loss": (
        loss_by_cross_entropy,
        loss_by_clip,
        loss_by_logsumexp,
        loss_pair_by_pair,
        loss_with_the_temperature_on_both_sides,
    ),
    "siglip_loss": (
        siglip_by_binary_cross_entropy,
        siglip_by_hugging_face,
        siglip_in_chunks,
        siglip_pair_by_pair,
        siglip_by_softplus,
    ),
    "last_image_mask": (
        mask_by_loops,
        mask_by_flamingo,
        mask_by_division,
        mask_by_one_hot,
        mask_by_bounds,
    ),
    "gated_cross_attention": (
        gated_by_sdpa,
        gated_by_einsum,
        gated_with_nan_put_right,
        gated_sequence_by_sequence,
        gated_by_two_exponentials,
    ),
    "object_query_attention": (
        queries_by_sdpa,
        queries_by_four_products,
        queries_by_detr,
        queries_one_by_one,
    ),
    "match_queries": (
        matching_by_scipy,
        matching_by_scipy_transposed,
        matching_by_permutations,
        matching_by_branches,
        matching_by_subsets,
    ),
}
