"""Right answers to the exercises of chapter 12 in other styles."""

import math
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

# mask_tokens


def mask_like_hugging_face(tokens, mask_id, vocab_size, special, generator):
    inputs, labels = tokens.clone(), tokens.clone()
    chances = torch.full(labels.shape, 0.15)
    for one in special:
        chances.masked_fill_(labels == one, value=0.0)
    masked = torch.bernoulli(chances, generator=generator).bool()
    labels[~masked] = -100
    replaced = torch.bernoulli(torch.full(labels.shape, 0.8), generator=generator).bool() & masked
    inputs[replaced] = mask_id
    other = torch.bernoulli(torch.full(labels.shape, 0.5), generator=generator).bool()
    other = other & masked & ~replaced
    words = torch.randint(vocab_size, labels.shape, dtype=torch.long, generator=generator)
    inputs[other] = words[other]
    return inputs, labels


def mask_by_one_draw(tokens, mask_id, vocab_size, special, generator):
    """One number decides both: 0.12 is 0.8 of 0.15, and 0.135 is 0.9 of it."""
    p = torch.rand(tokens.shape, generator=generator)
    for one in special:
        p[tokens == one] = 1.0
    words = torch.randint(0, vocab_size, tokens.shape, generator=generator)
    inputs = torch.where(p < 0.12, torch.full_like(tokens, mask_id), tokens)
    inputs = torch.where((p >= 0.12) & (p < 0.135), words, inputs)
    return inputs, torch.where(p < 0.15, tokens, torch.full_like(tokens, -100))


def mask_token_by_token(tokens, mask_id, vocab_size, special, generator):
    rows, answers = [], []
    seed = int(torch.randint(2**31, (1,), generator=generator))
    draw = random.Random(seed)
    for row in tokens.tolist():
        shown, asked = [], []
        for token in row:
            if token in special or draw.random() >= 0.15:
                shown.append(token)
                asked.append(-100)
                continue
            fate = draw.random()
            shown.append(
                mask_id if fate < 0.8 else draw.randrange(vocab_size) if fate < 0.9 else token
            )
            asked.append(token)
        rows.append(shown)
        answers.append(asked)
    shape = tokens.shape
    return torch.tensor(rows).long().view(shape), torch.tensor(answers).long().view(shape)


def mask_by_multinomial(tokens, mask_id, vocab_size, special, generator):
    if not tokens.numel():
        return tokens.clone(), tokens.clone()
    chances = torch.tensor([0.85, 0.12, 0.015, 0.015])
    fate = torch.multinomial(chances, tokens.numel(), True, generator=generator).view(tokens.shape)
    allowed = torch.tensor([[t not in set(special) for t in row] for row in tokens.tolist()])
    fate = fate * allowed
    inputs = tokens.clone()
    inputs[fate == 1] = mask_id
    places = (fate == 2).nonzero(as_tuple=True)
    inputs[places] = torch.randint(vocab_size, (len(places[0]),), generator=generator)
    labels = torch.full_like(tokens, -100)
    labels[fate > 0] = tokens[fate > 0]
    return inputs, labels


def mask_by_numpy(tokens, mask_id, vocab_size, special, generator):
    draw = np.random.default_rng(int(torch.randint(2**62, (), generator=generator)))
    given = tokens.numpy()
    selected = (draw.random(given.shape) < 0.15) & ~np.isin(given, np.array(special, dtype=int))
    fate = draw.choice(3, given.shape, p=[0.8, 0.1, 0.1])
    words = draw.integers(vocab_size, size=given.shape)
    inputs = np.where(selected & (fate == 0), mask_id, given)
    inputs = np.where(selected & (fate == 1), words, inputs)
    return torch.from_numpy(inputs), torch.from_numpy(np.where(selected, given, -100))


# causal_lm_loss


def causal_by_torch(logits, tokens, pad_id):
    guesses, target = logits[:, :-1].reshape(-1, logits.shape[-1]), tokens[:, 1:].reshape(-1)
    total = F.cross_entropy(guesses, target, ignore_index=pad_id, reduction="sum")
    return total / max(1, int((target != pad_id).sum()))


def causal_classes_second(logits, tokens, pad_id):
    labels = tokens[..., 1:].masked_fill(tokens[..., 1:] == pad_id, -100)
    losses = F.cross_entropy(logits[..., :-1, :].transpose(1, 2), labels, reduction="none")
    return losses.sum() / (labels != -100).sum().clamp(min=1)


def causal_token_by_token(logits, tokens, pad_id):
    total, count = logits[:, :0].sum(), 0
    for b in range(tokens.size(0)):
        for t in range(tokens.size(1) - 1):
            if tokens[b, t + 1] != pad_id:
                row = logits[b, t]
                total = total + torch.logsumexp(row, 0) - row[int(tokens[b, t + 1])]
                count += 1
    return total / count if count else total


def causal_by_padded_labels(logits, tokens, pad_id):
    """Hugging Face's way: labels are padded on the right, so that the logits keep their length."""
    labels = F.pad(tokens, (0, 1), value=pad_id)[:, 1:]
    kept = labels != pad_id
    logs = F.log_softmax(logits, dim=-1)
    picked = logs.gather(2, labels.clamp(0, logits.shape[-1] - 1)[..., None])[..., 0]
    return -torch.where(kept, picked, torch.zeros_like(picked)).sum() / max(kept.sum().item(), 1)


def causal_by_one_hot(logits, tokens, pad_id):
    classes = torch.arange(logits.shape[-1])
    target = tokens[:, 1:, None]
    hot = (target == classes) & (target != pad_id)
    scores = logits[:, :-1]
    logs = scores - scores.logsumexp(-1, keepdim=True)
    return -logs.masked_fill(~hot, 0.0).sum() / hot.sum().clamp(min=1)


def causal_kept_only(logits, tokens, pad_id):
    target = tokens[:, 1:]
    keep = target.ne(pad_id)
    if not keep.any():
        return (logits * 0).sum()
    return F.nll_loss(F.log_softmax(logits[:, :-1][keep], -1), target[keep])


# label_smoothed_loss


def smoothed_by_two_losses(logits, target, smoothing, pad_id):
    keep = target != pad_id
    n = keep.sum().clamp(min=1)
    safe = target.masked_fill(~keep, -100)
    hard = F.cross_entropy(logits.transpose(1, 2), safe, ignore_index=-100, reduction="sum")
    soft = -(logits.log_softmax(-1).mean(-1) * keep).sum()
    return ((1 - smoothing) * hard + smoothing * soft) / n


def smoothed_by_a_table(logits, target, smoothing, pad_id):
    classes = logits.size(-1)
    keep = target != pad_id
    goal = torch.full_like(logits, smoothing / classes)
    goal.scatter_add_(
        -1,
        target.clamp(0, classes - 1).unsqueeze(-1),
        torch.full_like(logits[..., :1], 1 - smoothing),
    )
    losses = -(goal * torch.log_softmax(logits, -1)).sum(-1)
    return losses[keep].sum() / max(keep.sum(), 1)


def smoothed_by_torch_with_probabilities(logits, target, smoothing, pad_id):
    keep = target != pad_id
    classes = logits.shape[-1]
    hot = F.one_hot(target.where(keep, 0), classes).to(logits.dtype)
    goal = (1 - smoothing) * hot + smoothing / classes
    losses = F.cross_entropy(logits.mT, goal.mT, reduction="none")
    return (losses * keep).sum() / keep.sum().clamp(min=1)


def smoothed_by_divergence(logits, target, smoothing, pad_id):
    """The KL divergence, with the entropy of the target added again."""
    keep = (target != pad_id).to(logits.dtype)
    classes = logits.shape[-1]
    hot = F.one_hot(torch.where(target == pad_id, 0, target), classes).to(logits.dtype)
    goal = (1 - smoothing) * hot + smoothing / classes
    divergence = F.kl_div(logits.log_softmax(-1), goal, reduction="none").sum(-1)
    losses = divergence + torch.special.entr(goal).sum(-1)
    return (losses * keep).sum() / keep.sum().clamp(min=1)


def smoothed_position_by_position(logits, target, smoothing, pad_id):
    found = []
    for scores, goals in zip(logits, target, strict=True):
        for row, goal in zip(scores, goals, strict=True):
            if int(goal) == pad_id:
                continue
            norm = row.logsumexp(0)
            found.append(norm - (1 - smoothing) * row[goal] - smoothing * row.mean())
    return sum(found) / len(found) if found else logits.sum() * 0


# accumulated_gradient


def accumulate_by_backward(loss, parameters, micro_batches):
    kept = [p.grad for p in parameters]
    for p in parameters:
        p.grad = None
    n = 0
    for micro in micro_batches:
        total, count = loss(micro)
        total.backward()
        n += count
    found = []
    for p, before in zip(parameters, kept, strict=True):
        found.append(torch.zeros_like(p) if p.grad is None or n == 0 else p.grad / n)
        p.grad = before
    return found


def accumulate_weighted_means(loss, parameters, micro_batches):
    grads, seen = [torch.zeros_like(p, requires_grad=False) for p in parameters], 0
    for micro in micro_batches:
        total, count = loss(micro)
        if not count:
            continue
        seen += count
        new = torch.autograd.grad(total / count, parameters, allow_unused=True)
        for i, g in enumerate(new):
            g = torch.zeros_like(parameters[i]) if g is None else g
            grads[i] = grads[i] + (g - grads[i]) * (count / seen)
    return tuple(grads)


def accumulate_materialized(loss, parameters, micro_batches):
    parts, counts = [], []
    for micro in micro_batches:
        total, count = loss(micro)
        parts.append(
            torch.autograd.grad(total, parameters, allow_unused=True, materialize_grads=True)
        )
        counts.append(count)
    if not sum(counts):
        return [torch.zeros(p.shape, dtype=p.dtype) for p in parameters]
    return [torch.stack(one).sum(0) / sum(counts) for one in zip(*parts, strict=True)]


def accumulate_in_place(loss, parameters, micro_batches):
    with torch.no_grad():
        grads = [p.detach() * 0 for p in parameters]
        n = 0
        for micro in micro_batches:
            with torch.enable_grad():
                total, count = loss(micro)
            n += count
            for grad, new in zip(
                grads, torch.autograd.grad(total, parameters, allow_unused=True), strict=True
            ):
                if new is not None:
                    grad.add_(new)
        for grad in grads:
            grad.div_(n or 1)
    return grads


# adamw_step


def adamw_as_torch_writes_it(parameter, gradient, m, v, step, rate, betas, eps, weight_decay):
    """In place on copies, with the corrections in the length of the step and in the divisor."""
    parameter, m, v = (one.clone() for one in (parameter, m, v))
    parameter.mul_(1 - rate * weight_decay)
    m.lerp_(gradient, 1 - betas[0])
    v.mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
    divisor = (v.sqrt() / math.sqrt(1 - betas[1] ** step)).add_(eps)
    parameter.addcdiv_(m, divisor, value=-rate / (1 - betas[0] ** step))
    return parameter, m, v


def adamw_by_the_optimiser(parameter, gradient, m, v, step, rate, betas, eps, weight_decay):
    leaf = nn.Parameter(parameter.clone())
    leaf.grad = gradient.clone()
    how = {"lr": rate, "betas": betas, "eps": eps, "weight_decay": weight_decay}
    optimiser = torch.optim.AdamW([leaf], **how)
    optimiser.state[leaf] = {
        "step": torch.tensor(step - 1.0),
        "exp_avg": m.clone(),
        "exp_avg_sq": v.clone(),
    }
    optimiser.step()
    state = optimiser.state[leaf]
    return leaf.data, state["exp_avg"], state["exp_avg_sq"]


def adamw_number_by_number(parameter, gradient, m, v, step, rate, betas, eps, weight_decay):
    rows = []
    flat = (one.flatten().tolist() for one in (parameter, gradient, m, v))
    for p, g, old_m, old_v in zip(*flat, strict=True):
        new_m = old_m + (1 - betas[0]) * (g - old_m)
        new_v = old_v + (1 - betas[1]) * (g * g - old_v)
        root = math.sqrt(new_v / (1 - betas[1] ** step))
        p -= rate * (weight_decay * p + new_m / (1 - betas[0] ** step) / (root + eps))
        rows.append((p, new_m, new_v))
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return tuple(
        torch.tensor(list(column), dtype=parameter.dtype).view(parameter.shape)
        for column in columns
    )


def adamw_by_numpy(parameter, gradient, m, v, step, rate, betas, eps, weight_decay):
    p, g, m, v = (np.array(one) for one in (parameter, gradient, m, v))
    m = betas[0] * m + (1 - betas[0]) * g
    v = betas[1] * v + (1 - betas[1]) * g**2
    share = math.sqrt(1 - betas[1] ** step) / (1 - betas[0] ** step)
    scaled_eps = eps * math.sqrt(1 - betas[1] ** step)
    new = p - rate * weight_decay * p - rate * share * m / (np.sqrt(v) + scaled_eps)
    return tuple(torch.from_numpy(np.asarray(one, dtype=p.dtype)) for one in (new, m, v))


# transformer_parameters


def parameters_by_shapes(v, d, layers, ff, heads, kv, positions, gated, bias, tied):
    wide = d // heads * kv
    shapes = [(d, d), (d, wide), (d, wide), (d, d), (d, ff), (ff, d)] + [(d, ff)] * gated
    layer = sum(rows * columns + bias * columns for rows, columns in shapes)
    norm = d + d * bias
    return (v * (2 - tied) + positions) * d + layers * (layer + 2 * norm) + norm


class _Layer(nn.Module):
    def __init__(self, d, ff, wide, gated, bias):
        super().__init__()
        norm = nn.LayerNorm if bias else nn.RMSNorm
        widths = [(d, d), (d, wide), (d, wide), (d, d), (d, ff), (ff, d)]
        self.linear = nn.ModuleList(nn.Linear(*one, bias=bias) for one in widths)
        if gated:
            self.gate = nn.Linear(d, ff, bias=bias)
        self.norms = nn.ModuleList([norm(d), norm(d)])


def parameters_by_modules(v, d, layers, ff, heads, kv, positions, gated, bias, tied):
    with torch.device("meta"):
        one = _Layer(d, ff, d // heads * kv, gated, bias)
        rest = [nn.Embedding(v, d), nn.LayerNorm(d) if bias else nn.RMSNorm(d)]
        rest += [nn.Embedding(positions, d)] * bool(positions)
        rest += [nn.Linear(d, v, bias=False)] * (not tied)
    count = {m: sum(p.numel() for p in m.parameters()) for m in (one, *rest)}
    return layers * count[one] + sum(count[m] for m in rest)


def parameters_term_by_term(v, d, n, f, h, hkv, p, gated, bias, tied):
    total = v * d + p * d
    for _ in range(n):
        total += d * d + d * d
        total += 2 * d * (d * hkv // h)
        total += 3 * d * f if gated else 2 * d * f
        total += 2 * d
        if bias:
            total += d + d * hkv // h * 2 + d
            total += f + f + d if gated else f + d
            total += 2 * d
    total += 2 * d if bias else d
    if not tied:
        total += v * d
    return total


def parameters_as_a_polynomial(v, d, n, f, h, k, p, gated, bias, tied):
    ratio = k / h
    layer = 2 * d * d * (1 + ratio) + (2 + gated) * d * f + 2 * d
    layer += bias * (2 * d * (1 + ratio) + (1 + gated) * f + d + 2 * d)
    return round(layer) * n + d * (v + p + (not tied) * v + 1 + bias)


# training_flops


def flops_by_products(b, t, d, layers, ff, v, recompute):
    def product(rows, inner, columns):
        return 2 * rows * inner * columns

    layer = 4 * product(b * t, d, d) + product(b * t, d, ff) + product(b * t, ff, d)
    layer += b * (product(t, d, t) + product(t, t, d))
    return (3 + recompute) * layers * layer + 3 * product(b * t, d, v)


def flops_per_token(b, t, d, layers, ff, v, recompute):
    passes = 8 if recompute else 6
    token = layers * passes * (4 * d**2 + 2 * d * ff + 2 * t * d) + 6 * d * v
    return b * t * token


def flops_by_6nd(b, t, d, layers, ff, v, recompute):
    weights = layers * (4 * d * d + 2 * d * ff)
    tokens = b * t
    total = 6 * (weights + d * v) * tokens + 12 * layers * b * t * t * d
    if recompute:
        total += 2 * weights * tokens + 4 * layers * b * t * t * d
    return total


def flops_counted(b, t, d, layers, ff, v, recompute):
    """Adds up forward and backward for each product as it is met."""
    total = 0
    for kind, rows, inner, columns in [
        *[("layer", b * t, d, d)] * 4,
        ("layer", b * t, d, ff),
        ("layer", b * t, ff, d),
        *[("layer", t, d, t), ("layer", t, t, d)] * b,
    ]:
        assert kind == "layer"
        forward = 2 * rows * inner * columns * layers
        total += forward + 2 * forward + (forward if recompute else 0)
    return total + 6 * b * t * d * v


# training_memory_bytes


def memory_by_cases(n, trained, activations, optimizer, mixed):
    if optimizer == "sgd":
        states = 0
    elif optimizer == "momentum":
        states = 4
    elif optimizer == "adam":
        states = 8
    else:
        raise ValueError("sgd, momentum or adam")
    if mixed:
        return 2 * n + 2 * trained + 2 * activations + (4 + states) * trained
    return 4 * n + 4 * trained + 4 * activations + states * trained


def memory_by_a_list(n, trained, activations, optimizer, mixed):
    states = ["sgd", "momentum", "adam"].index(optimizer)
    numbers = n + trained + activations
    return numbers * (4 - 2 * mixed) + 4 * trained * (states + mixed)


def memory_by_match(n, trained, activations, optimizer, mixed):
    match optimizer:
        case "sgd" | "momentum" | "adam":
            extra = {"s": 0, "m": 4, "a": 8}[optimizer[0]]
        case _:
            raise ValueError(optimizer)
    per_trained = (2 + 4 if mixed else 4) + extra
    return (2 if mixed else 4) * (n + activations) + per_trained * trained


def memory_by_lookup(n, trained, activations, optimizer, mixed):
    try:
        states = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    except KeyError as error:
        raise ValueError(f"unknown: {optimizer}") from error
    size = torch.tensor([], dtype=torch.bfloat16 if mixed else torch.float32).element_size()
    return sum((size * n, size * trained, size * activations, 4 * states * trained,
                4 * trained * int(mixed)))  # fmt: skip


# compute_optimal


def optimal_by_thirds(flops, A, B, alpha, beta, E):
    def loss(log_n):
        return E + A * math.exp(-alpha * log_n) + B * math.exp(-beta * (log_c - log_n))

    log_c = math.log(flops / 6)
    low, high = log_c - 200, 200.0
    for _ in range(200):
        third = (high - low) / 3
        if loss(low + third) < loss(high - third):
            high -= third
        else:
            low += third
    n = math.exp((low + high) / 2)
    return n, flops / 6 / n, loss(math.log(n))


def optimal_by_bisection(flops, A, B, alpha, beta, E):
    """The place where both slopes are equal."""
    low, high = -100.0, 100.0
    while high - low > 1e-12 * max(1.0, abs(high)):
        n = math.exp((low + high) / 2)
        d = flops / (6 * n)
        if alpha * A / n**alpha > beta * B / d**beta:
            low = math.log(n)
        else:
            high = math.log(n)
        if math.isclose(low, high, abs_tol=1e-11):
            break
    return n, d, E + A / n**alpha + B / d**beta


def optimal_by_hoffmann(C, A, B, alpha, beta, E):
    G = (alpha * A / (beta * B)) ** (1 / (alpha + beta))
    a, b = beta / (alpha + beta), alpha / (alpha + beta)
    N, D = G * (C / 6) ** a, (C / 6) ** b / G
    return [N, D, E + A / N**alpha + B / D**beta]


def optimal_by_a_fine_grid(flops, A, B, alpha, beta, E):
    centre, width = 0.5 * np.log(flops / 6), 120.0
    for _ in range(12):
        logs = centre + np.linspace(-width, width, 4001)
        values = A * np.exp(-alpha * logs) + B * np.exp(-beta * (np.log(flops / 6) - logs))
        centre, width = logs[values.argmin()], width / 20
        if width < 1e-6:
            break
    n = float(np.exp(centre))
    return n, float(flops / 6 / n), float(E + values.min())


RIGHT_WAYS_CH12 = {
    "mask_tokens": (
        mask_like_hugging_face,
        mask_by_one_draw,
        mask_token_by_token,
        mask_by_multinomial,
        mask_by_numpy,
    ),
    "causal_lm_loss": (
        causal_by_torch,
        causal_classes_second,
        causal_token_by_token,
        causal_by_padded_labels,
        causal_by_one_hot,
        causal_kept_only,
    ),
    "label_smoothed_loss": (
        smoothed_by_two_losses,
        smoothed_by_a_table,
        smoothed_by_torch_with_probabilities,
        smoothed_by_divergence,
        smoothed_position_by_position,
    ),
    "accumulated_gradient": (
        accumulate_by_backward,
        accumulate_weighted_means,
        accumulate_materialized,
        accumulate_in_place,
    ),
    "adamw_step": (
        adamw_as_torch_writes_it,
        adamw_by_the_optimiser,
        adamw_number_by_number,
        adamw_by_numpy,
    ),
    "transformer_parameters": (
        parameters_by_shapes,
        parameters_by_modules,
        parameters_term_by_term,
        parameters_as_a_polynomial,
    ),
    "training_flops": (
        flops_by_products,
        flops_per_token,
        flops_by_6nd,
        flops_counted,
    ),
    "training_memory_bytes": (
        memory_by_cases,
        memory_by_a_list,
        memory_by_match,
        memory_by_lookup,
    ),
    "compute_optimal": (
        optimal_by_thirds,
        optimal_by_bisection,
        optimal_by_hoffmann,
        optimal_by_a_fine_grid,
    ),
}
