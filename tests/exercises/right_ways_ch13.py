"""Right answers to the exercises of chapter 13 in other styles than the reference."""

import math
from collections.abc import Callable

import networkx as nx
import numpy as np
import scipy.linalg
import scipy.stats
import torch
import torch.nn.functional as F
from scipy.optimize import linprog
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow
from torch import Tensor

# attention_entropy


def entropy_with_a_clamp(weights: Tensor) -> Tensor:
    return -(weights * torch.log(weights.clamp(min=1e-12))).sum(dim=-1)


def entropy_with_an_epsilon(weights: Tensor) -> Tensor:
    return -torch.sum(weights * torch.log(weights + 1e-9), dim=-1)


def entropy_by_einsum(p: Tensor) -> Tensor:
    logs = torch.where(p == 0, torch.ones_like(p), p).log()
    return -torch.einsum("...s,...s->...", p, logs)


def entropy_by_rows(weights: Tensor) -> Tensor:
    found = []
    for row in weights.reshape(-1, weights.shape[-1]):
        terms = [-w * w.log() for w in row if w > 0]
        found.append(sum(terms, start=0 * row.sum()))
    return torch.stack(found).reshape(weights.shape[:-1])


def entropy_in_bits_turned_to_nats(w: Tensor) -> Tensor:
    zero = w == 0
    bits = w.masked_fill(zero, 1.0).log2() * w
    return -bits.sum(-1) * math.log(2)


# leave_one_out


def left_out_in_one_batch(predict: Callable, tokens: Tensor, mask: Tensor) -> Tensor:
    B, L = tokens.shape
    p = predict(tokens, mask)
    y = p.argmax(1)
    masks = mask[:, None].repeat(1, L, 1)
    masks[:, torch.arange(L), torch.arange(L)] = False
    q = predict(tokens[:, None].expand(B, L, L).reshape(B * L, L), masks.reshape(B * L, L))
    q = q.reshape(B, L, -1)[torch.arange(B), :, y]
    return torch.where(mask, p[torch.arange(B), y][:, None] - q, torch.zeros_like(q))


def left_out_one_by_one(predict: Callable, tokens: Tensor, mask: Tensor) -> Tensor:
    rows = []
    for t, m in zip(tokens, mask, strict=True):
        p = predict(t[None], m[None])[0]
        y = int(p.argmax())
        row = []
        for i in range(len(t)):
            hidden = m.clone()
            hidden[i] = False
            row.append(p[y] - predict(t[None], hidden[None])[0, y] if m[i] else 0 * p[y])
        rows.append(torch.stack(row))
    return torch.stack(rows)


def left_out_by_columns(predict: Callable, tokens: Tensor, mask: Tensor) -> Tensor:
    full, cls = predict(tokens, mask).max(dim=-1)
    columns = []
    for i in range(tokens.size(1)):
        keep = torch.arange(tokens.size(1)) != i
        less = predict(tokens, mask & keep)
        columns.append(full - torch.take_along_dim(less, cls[:, None], 1)[:, 0])
    return torch.stack(columns, dim=1)


def left_out_into_zeros(predict: Callable, tokens: Tensor, mask: Tensor) -> Tensor:
    """Write into a table of torch's default dtype, which is that of the probabilities."""
    whole = predict(tokens, mask)
    chosen = F.one_hot(whole.argmax(-1), whole.shape[-1])
    out = torch.zeros(tokens.shape)
    for i in range(tokens.shape[1]):
        hidden = mask.clone()
        hidden[:, i] = False
        out[:, i] = (chosen * (whole - predict(tokens, hidden))).sum(-1)
    return out * mask


# attention_rollout


def rolled_by_einsum(layers: list[Tensor], residual: float = 0.5) -> Tensor:
    n = layers[0].size(-1)
    result = None
    for layer in layers:
        a = residual * torch.eye(n).to(layer) + (1 - residual) * layer.mean(dim=1)
        sums = a.sum(-1, keepdim=True)
        a = torch.where(sums == 0, torch.zeros_like(a), a / sums.masked_fill(sums == 0, 1))
        result = a if result is None else torch.einsum("bij,bjk->bik", a, result)
    return result


def rolled_from_the_top(layers: list[Tensor], residual: float = 0.5) -> Tensor:
    """Multiply from the last layer down, each new one on the right."""
    mixed = [_mixed(layer, residual) for layer in layers]
    product = mixed[-1]
    for one in reversed(mixed[:-1]):
        product = torch.bmm(product, one)
    return product


def rolled_by_recursion(layers: list[Tensor], residual: float = 0.5) -> Tensor:
    top = _mixed(layers[-1], residual)
    return top @ rolled_by_recursion(layers[:-1], residual) if len(layers) > 1 else top


def rolled_by_multi_dot(layers: list[Tensor], residual: float = 0.5) -> Tensor:
    mixed = torch.stack([_mixed(layer, residual) for layer in layers])
    products = [
        torch.linalg.multi_dot(list(one.flip(0))) if len(layers) > 1 else one[0]
        for one in mixed.transpose(0, 1)
    ]
    return torch.stack(products)


def _mixed(layer: Tensor, residual: float) -> Tensor:
    a = (1 - residual) * layer.sum(1) / layer.shape[1]
    a = a + torch.diag_embed(torch.full_like(a[..., 0], residual))
    total = a.sum(dim=-1, keepdim=True)
    return a / (total + (total == 0))


def rolled_by_numpy(layers: list[Tensor], residual: float = 0.5) -> Tensor:
    result = np.eye(layers[0].shape[-1])
    for layer in layers:
        mixed = (1 - residual) * layer.double().numpy().mean(1)
        mixed += residual * np.eye(mixed.shape[-1])
        total = mixed.sum(-1, keepdims=True)
        result = np.divide(mixed, total, out=np.zeros_like(mixed), where=total != 0) @ result
    return torch.from_numpy(result).to(layers[0].dtype)


# attention_flow


def flow_by_edges_with_room(layers: list[Tensor], source: int, target: int) -> float:
    """Leave out pipes without room: a node may have no edge but its own."""
    graph = nx.DiGraph()
    for level, layer in enumerate(layers):
        pipes = (layer + torch.eye(len(layer), dtype=layer.dtype)) / 2
        for i, j in pipes.nonzero().tolist():
            graph.add_edge(f"{level} {j}", f"{level + 1} {i}", capacity=pipes[i, j].item())
    return nx.maximum_flow(graph, f"0 {source}", f"{len(layers)} {target}")[0]


def flow_by_networkx(layers: list[Tensor], source: int, target: int) -> float:
    graph = nx.DiGraph()
    for level, layer in enumerate(layers):
        for i, row in enumerate(layer.tolist()):
            for j, weight in enumerate(row):
                graph.add_edge((level, j), (level + 1, i), capacity=weight / 2 + (i == j) / 2)
    return float(nx.maximum_flow_value(graph, (0, source), (len(layers), target)))


def flow_by_scipy(layers: list[Tensor], source: int, target: int) -> float:
    scale, length = 2**20, len(layers[0])
    size = length * (len(layers) + 1)
    room = np.zeros((size, size), dtype=np.int32)
    for number, layer in enumerate(layers):
        half = 0.5 * layer.double() + 0.5 * torch.eye(length, dtype=torch.float64)
        at = number * length
        room[at : at + length, at + length : at + 2 * length] = (half.T * scale).round().numpy()
    end = len(layers) * length + target
    return maximum_flow(csr_array(room), source, end).flow_value / scale


def flow_by_linear_programming(layers: list[Tensor], source: int, target: int) -> float:
    length, n = len(layers[0]), len(layers)
    edges = [(k, j, i) for k in range(n) for i in range(length) for j in range(length)]
    room = [float(layers[k][i, j]) / 2 + (i == j) / 2 for k, j, i in edges]
    balance = np.zeros(((n + 1) * length, len(edges)))
    for number, (k, j, i) in enumerate(edges):
        balance[k * length + j, number] -= 1
        balance[(k + 1) * length + i, number] += 1
    end = n * length + target
    inner = [node for node in range(len(balance)) if node not in (source, end)]
    bounds = [(0, c) for c in room]
    rules = {"A_eq": balance[inner], "b_eq": np.zeros(len(inner))} if inner else {}
    return float(-linprog(-balance[end], bounds=bounds, **rules).fun)


def flow_by_minimal_cut(layers: list[Tensor], source: int, target: int) -> float:
    graph = nx.DiGraph()
    own = torch.eye(len(layers[0]))
    for level, layer in enumerate(layers):
        for i, j in (layer + own).nonzero().tolist():
            through = 0.5 * float(layer[i, j]) + 0.5 * (i == j)
            graph.add_edge(f"{level}:{j}", f"{level + 1}:{i}", capacity=through)
    ends = f"0:{source}", f"{len(layers)}:{target}"
    return nx.minimum_cut_value(graph, *ends)


# gradient_attention


def relevance_by_einsum(layers: list[Tensor], gradients: list[Tensor]) -> Tensor:
    R = torch.eye(layers[0].shape[-1], dtype=layers[0].dtype).repeat(len(layers[0]), 1, 1)
    for A, dA in zip(layers, gradients, strict=True):
        positive = torch.relu(A * dA).sum(1) / A.shape[1]
        R = R + torch.einsum("bij,bjk->bik", positive, R)
    return R


def relevance_as_a_product(layers: list[Tensor], gradients: list[Tensor]) -> Tensor:
    result = None
    for A, dA in zip(layers, gradients, strict=True):
        step = (A * dA).clamp(min=0).mean(dim=1) + torch.eye(A.shape[-1], dtype=A.dtype)
        result = step if result is None else torch.matmul(step, result)
    return result


def relevance_with_the_gradient_cut(layers: list[Tensor], gradients: list[Tensor]) -> Tensor:
    """Cut the gradient: weights are never negative."""
    relevance = torch.diag_embed(torch.ones_like(layers[0][:, 0, 0]))
    for layer, gradient in zip(layers, gradients, strict=True):
        relevance = torch.baddbmm(relevance, (F.relu(gradient) * layer).mean(1), relevance)
    return relevance


def relevance_in_place(layers: list[Tensor], gradients: list[Tensor]) -> Tensor:
    """Add to one table in place, through which no gradient could flow."""
    length = layers[0].shape[-1]
    result = torch.eye(length, dtype=layers[0].dtype).repeat(len(layers[0]), 1, 1)
    for layer, gradient in zip(layers, gradients, strict=True):
        result += torch.einsum("bij,bjk->bik", (layer * gradient).relu().mean(1), result)
    return result


def relevance_by_heads(layers: list[Tensor], gradients: list[Tensor]) -> Tensor:
    eye = torch.eye(layers[0].shape[2], dtype=layers[0].dtype)
    relevance = torch.stack([eye] * layers[0].shape[0])
    for layer, gradient in zip(layers, gradients, strict=True):
        heads = [torch.maximum(layer[:, h] * gradient[:, h], torch.zeros_like(eye)) for h in
                 range(layer.shape[1])]  # fmt: skip
        relevance = relevance + torch.stack(heads).mean(0) @ relevance
    return relevance


# induction_score


def score_by_diagonal(weights: Tensor, period: int) -> Tensor:
    stripe = torch.diagonal(weights, offset=1 - period, dim1=-2, dim2=-1)[..., 1:]
    return stripe.mean(-1) if stripe.shape[-1] else torch.zeros(weights.shape[:-2]).to(weights)


def score_by_loop(weights: Tensor, period: int) -> Tensor:
    length = weights.shape[-1]
    entries = [weights[..., i, i - period + 1] for i in range(period, length)]
    return sum(entries) / len(entries) if entries else 0 * weights.sum((-2, -1))


def score_by_mask(weights: Tensor, period: int) -> Tensor:
    place = torch.arange(weights.shape[-1])
    wanted = (place[:, None] - place == period - 1) & (place[:, None] >= period)
    return (weights * wanted).sum((-1, -2)) / wanted.sum().clamp(min=1)


def score_by_gather(weights: Tensor, period: int) -> Tensor:
    L = weights.size(-1)
    if period >= L:
        return weights.new_zeros(weights.shape[:-2])
    rows = weights[..., period:, :]
    keys = torch.arange(1, L - period + 1).view(-1, 1).expand(*rows.shape[:-1], 1)
    return rows.gather(-1, keys).squeeze(-1).mean(dim=-1)


# rank_correlation


def correlated_by_scipys_ranks(a: Tensor, b: Tensor) -> Tensor:
    x, y = (torch.from_numpy(scipy.stats.rankdata(v.numpy(), axis=-1)).to(a.dtype) for v in (a, b))
    x, y = x - x.mean(-1, keepdim=True), y - y.mean(-1, keepdim=True)
    spread = x.norm(dim=-1) * y.norm(dim=-1)
    return ((x * y).sum(-1) / spread).masked_fill(spread == 0, 0.0)


def correlated_row_by_row(a: Tensor, b: Tensor) -> Tensor:
    found = []
    rows = zip(a.reshape(-1, a.shape[-1]), b.reshape(-1, b.shape[-1]), strict=True)
    for one, other in rows:
        x, y = _ranks(one.tolist()), _ranks(other.tolist())
        mx, my = sum(x) / len(x), sum(y) / len(y)
        top = sum((p - mx) * (q - my) for p, q in zip(x, y, strict=True))
        below = sum((p - mx) ** 2 for p in x) * sum((q - my) ** 2 for q in y)
        found.append(top / math.sqrt(below) if below else 0.0)
    return torch.tensor(found, dtype=a.dtype).view(a.shape[:-1])


def _ranks(row: list[float]) -> list[float]:
    order = sorted(row)
    return [order.index(x) + (order.count(x) + 1) / 2 for x in row]


def correlated_by_unique(a: Tensor, b: Tensor) -> Tensor:
    def ranked(values: Tensor) -> Tensor:
        rows = []
        for row in values.reshape(-1, values.shape[-1]):
            _, place, count = row.unique(return_inverse=True, return_counts=True)
            last = count.cumsum(0)
            rows.append((last - (count - 1) / 2)[place])
        return torch.stack(rows).view(values.shape).to(a.dtype)

    x, y = ranked(a), ranked(b)
    x, y = x - x.mean(-1, keepdim=True), y - y.mean(-1, keepdim=True)
    return F.cosine_similarity(x, y, dim=-1, eps=1e-12)


def correlated_by_standard_scores(a: Tensor, b: Tensor) -> Tensor:
    def standard(values: Tensor) -> Tensor:
        below = (values[..., None] > values[..., None, :]).sum(-1)
        at_most = (values[..., None] >= values[..., None, :]).sum(-1)
        ranks = ((below + at_most + 1) / 2).to(a.dtype)
        centred = ranks - ranks.mean(-1, keepdim=True)
        spread = centred.std(-1, correction=0, keepdim=True)
        return centred / torch.where(spread == 0, torch.ones_like(spread), spread)

    return (standard(a) * standard(b)).mean(-1)


# effective_attention


def effective_by_svd(weights: Tensor, value: Tensor) -> Tensor:
    U, S, _ = torch.linalg.svd(value, full_matrices=False)
    keep = 1e-6 * S.amax(-1, keepdim=True) < S
    U = U * keep[..., None, :]
    return weights @ U @ U.transpose(-1, -2)


def effective_by_null_space(weights: Tensor, value: Tensor) -> Tensor:
    """Take away what lies in the left null space."""
    U, S, _ = torch.linalg.svd(value, full_matrices=True)
    room = value.new_zeros(*value.shape[:-2], value.shape[-2])
    room[..., : S.shape[-1]] = S
    lost = U * (room <= 1e-6 * room.amax(-1, keepdim=True)).unsqueeze(-2)
    return weights - (weights @ lost) @ lost.mT


def effective_by_least_squares(weights: Tensor, value: Tensor) -> Tensor:
    """Explain each row by the columns of the values, as well as they can."""
    found = torch.linalg.lstsq(value, weights.mT, driver="gelsd").solution
    return (value @ found).mT


def effective_by_scipys_basis(weights: Tensor, value: Tensor) -> Tensor:
    rows = []
    for w, v in zip(weights.reshape(-1, *weights.shape[-2:]), value.reshape(-1, *value.shape[-2:]),
                    strict=True):  # fmt: skip
        basis = torch.from_numpy(scipy.linalg.orth(v.numpy()))
        rows.append(w @ basis @ basis.T)
    return torch.stack(rows).view(weights.shape)


def effective_by_the_outputs(weights: Tensor, value: Tensor) -> Tensor:
    """Take the shortest row that gives the same output."""
    return (weights @ value) @ torch.linalg.pinv(value)


RIGHT_WAYS_CH13 = {
    "attention_entropy": (
        entropy_with_a_clamp, entropy_with_an_epsilon, entropy_by_einsum, entropy_by_rows,
        entropy_in_bits_turned_to_nats,
    ),
    "leave_one_out": (
        left_out_in_one_batch, left_out_one_by_one, left_out_by_columns,
        left_out_into_zeros,
    ),
    "attention_rollout": (
        rolled_by_einsum, rolled_from_the_top, rolled_by_recursion, rolled_by_multi_dot,
        rolled_by_numpy,
    ),
    "attention_flow": (
        flow_by_networkx, flow_by_scipy, flow_by_linear_programming, flow_by_minimal_cut,
        flow_by_edges_with_room,
    ),
    "gradient_attention": (
        relevance_by_einsum, relevance_as_a_product, relevance_with_the_gradient_cut,
        relevance_by_heads, relevance_in_place,
    ),
    "induction_score": (score_by_diagonal, score_by_loop, score_by_mask, score_by_gather),
    "rank_correlation": (
        correlated_by_scipys_ranks, correlated_row_by_row, correlated_by_unique,
        correlated_by_standard_scores,
    ),
    "effective_attention": (
        effective_by_svd, effective_by_null_space, effective_by_least_squares,
        effective_by_scipys_basis, effective_by_the_outputs,
    ),
}  # fmt: skip
