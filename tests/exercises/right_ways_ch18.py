"""Right answers to the exercises of chapter 18 in other styles than the reference."""

import decimal
import math
import random

import numpy as np
import torch
import torch.nn.functional as F

# accepts_attention


def attention_against_sdpa(attention):
    g = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(3, n, d, generator=g).double() for n, d in ((4, 9), (6, 9), (6, 2)))
    mask = torch.rand(3, 4, 6, generator=g) > 0.4
    mask[:, 3] = False
    for m in (None, mask, mask[:1], torch.ones(4, 6, dtype=torch.bool).tril(2)):
        want = F.scaled_dot_product_attention(q, k, v, attn_mask=m).nan_to_num(0.0)
        given = [None if x is None else x.clone() for x in (q, k, v, m)]
        try:
            got = attention(*given)
            torch.testing.assert_close(got, want, rtol=1e-8, atol=1e-8)
        except Exception:
            return False
        for a, b in zip(given, (q, k, v, m), strict=True):
            if a is not None and not torch.equal(a, b):
                return False
    return True


def attention_against_loops(attention):
    rng = np.random.default_rng(5)
    q, k, v = (
        rng.normal(size=(1, 2, 3, 5)),
        rng.normal(size=(1, 2, 8, 5)),
        rng.normal(size=(1, 2, 8, 3)),
    )
    seen = rng.random((3, 8)) < 0.6
    seen[0] = False

    def plain(mask):
        out = np.zeros((1, 2, 3, 3))
        for h in range(2):
            for i in range(3):
                keys = [j for j in range(8) if mask[i, j]]
                e = [math.exp(q[0, h, i] @ k[0, h, j] / math.sqrt(5)) for j in keys]
                for w, j in zip(e, keys, strict=True):
                    out[0, h, i] += w / sum(e) * v[0, h, j]
        return out

    q_, k_, v_ = (torch.from_numpy(x.copy()) for x in (q, k, v))
    try:
        first = attention(q_, k_, v_)
        ok = np.allclose(first.numpy(), plain(np.ones((3, 8), bool)), rtol=1e-8, atol=1e-10)
        m = torch.from_numpy(seen.copy())
        second = attention(q_, k_, v_, m)
        ok = ok and np.allclose(second.numpy(), plain(seen), rtol=1e-8, atol=1e-10)
        ok = ok and bool((m.numpy() == seen).all() and (q_.numpy() == q).all())
    except BaseException:
        ok = False
    return ok


def attention_by_one_helper(attention):
    torch_state = torch.Generator()
    torch_state.manual_seed(11)

    def right(q, k, v, m):
        s = torch.einsum("ld,sd->ls", q, k) / q.size(-1) ** 0.5
        if m is not None:
            s = s.masked_fill(~m, -math.inf)
        return torch.nan_to_num(torch.softmax(s, -1)) @ v

    def same(m):
        q = torch.randn(6, 3, generator=torch_state, dtype=torch.float64)
        k = torch.randn(9, 3, generator=torch_state, dtype=torch.float64)
        v = torch.randn(9, 5, generator=torch_state, dtype=torch.float64)
        copies = q.clone(), k.clone(), v.clone(), None if m is None else m.clone()
        try:
            out = attention(q, k, v) if m is None else attention(q, k, v, m)
        except Exception:
            return False
        if not torch.is_tensor(out) or out.shape != (6, 5):
            return False
        unchanged = torch.equal(q, copies[0]) and (m is None or torch.equal(m, copies[3]))
        return unchanged and torch.allclose(out, right(*copies), rtol=1e-7)

    mask = torch.zeros(6, 9, dtype=torch.bool)
    mask[:4, ::2] = True
    mask[4, 5] = True
    return same(None) and same(mask)


# accepts_tiling


def tiling_against_sdpa(tiled):
    g = torch.Generator().manual_seed(0)
    for factor in (1, 30):
        q = torch.randn(1, 2, 3, 8, generator=g, dtype=torch.double) * factor
        k = torch.randn(1, 2, 11, 8, generator=g, dtype=torch.double) * factor
        v = torch.randn(1, 2, 11, 5, generator=g, dtype=torch.double)
        want = F.scaled_dot_product_attention(q, k, v)
        for block in range(1, 14):
            try:
                if not torch.allclose(tiled(q, k, v, block), want, rtol=1e-7, atol=1e-9):
                    return False
            except Exception:
                return False
    return True


def tiling_in_one_try(tiled):
    try:
        for seed in range(4):
            g = torch.Generator().manual_seed(seed)
            q = torch.randn(2, 1, 4, 3, generator=g, dtype=torch.float64) * 10**seed
            k = torch.randn(2, 1, 9, 3, generator=g, dtype=torch.float64)
            v = torch.randn(2, 1, 9, 7, generator=g, dtype=torch.float64)
            want = torch.softmax(q @ k.transpose(-1, -2) / 3**0.5, -1) @ v
            for block in (2, 4, 5, 20):
                torch.testing.assert_close(tiled(q, k, v, block), want)
    except Exception:
        return False
    return True


def tiling_by_numpy(tiled):
    rng = np.random.default_rng(0)
    verdicts = []
    for spread in (1.0, 25.0):
        q, k, v = (spread * rng.normal(size=(3, 2, n, d)) for n, d in ((2, 6), (10, 6), (10, 4)))
        s = q @ k.swapaxes(-1, -2) / np.sqrt(6)
        p = np.exp(s - s.max(-1, keepdims=True))
        want = p / p.sum(-1, keepdims=True) @ v
        for block in (3, 4, 7):
            try:
                out = tiled(*map(torch.tensor, (q, k, v)), block)
                verdicts.append(bool(np.abs(out.numpy() - want).max() < 1e-8 * np.abs(want).max()))
            except Exception:
                verdicts.append(False)
    return all(verdicts)


# accepts_cache


def cache_by_functions(attend):
    g = torch.Generator().manual_seed(8)

    def text(batch):
        return [torch.randn(batch, 2, 9, d, generator=g, dtype=torch.float64) for d in (5, 5, 3)]

    one, other = text(1), text(3)

    def run():
        kept = {}
        got = {"one": [], "other": []}
        for name, a, b in (("one", 0, 2), ("other", 0, 4), ("one", 2, 3), ("other", 4, 7),
                           ("one", 3, 9), ("other", 7, 8), ("other", 8, 9)):  # fmt: skip
            q, k, v = (x[:, :, a:b].clone() for x in (one if name == "one" else other))
            out, kept[name] = attend(q, k, v, kept.get(name))
            got[name].append(out)
        return torch.cat(got["one"], 2), torch.cat(got["other"], 2)

    try:
        results = run()
        return all(
            torch.allclose(r, F.scaled_dot_product_attention(*t, is_causal=True), rtol=1e-8)
            for r, t in zip(results, (one, other), strict=True)
        )
    except Exception:
        return False


def cache_token_by_token_and_not(attend):
    draw = np.random.default_rng(4)
    try:
        for cuts in ([5], [1] * 5, [2, 3], [1, 4], [3, 1, 1]):
            texts = [
                [torch.from_numpy(draw.normal(size=(b, 1, 5, d))) for d in (4, 4, 2)]
                for b in (2, 2)
            ]
            caches, done = [None, None], 0
            for cut in cuts:
                for t in (0, 1):
                    q, k, v = texts[t]
                    part = slice(done, done + cut)
                    out, caches[t] = attend(
                        q[..., part, :], k[..., part, :], v[..., part, :], caches[t]
                    )
                    for i in range(cut):
                        n = done + i + 1
                        w = (k[..., :n, :] @ q[..., n - 1, :, None]).squeeze(-1).div(2).softmax(-1)
                        want = (w[..., None] * v[..., :n, :]).sum(-2)
                        if (out[..., i, :] - want).abs().max() > 1e-8:
                            return False
                done += cut
    except Exception:
        return False
    return True


def cache_three_texts(attend):
    g = torch.Generator().manual_seed(1)
    batches = (1, 4, 2)
    texts = [
        [torch.randn(b, 2, 6, 3, generator=g, dtype=torch.float64) for _ in range(3)]
        for b in batches
    ]
    caches = [None] * 3
    whole = [F.scaled_dot_product_attention(*t, is_causal=True) for t in texts]
    for start, end in ((0, 3), (3, 5), (5, 6)):
        for i in (2, 0, 1):
            try:
                got, caches[i] = attend(*(x[:, :, start:end] for x in texts[i]), caches[i])
                torch.testing.assert_close(got, whole[i][:, :, start:end])
            except Exception:
                return False
    return True


# accepts_rotation


def _turned(x, positions, halves, base=10000.0):
    d = x.shape[-1]
    out = x.clone()
    for b in range(x.shape[0]):
        p = positions if positions.dim() == 1 else positions[b]
        for i in range(x.shape[2]):
            for j in range(d // 2):
                a, c = (j, j + d // 2) if halves else (2 * j, 2 * j + 1)
                angle = float(p[i]) * base ** (-2 * j / d)
                u, w = x[b, :, i, a], x[b, :, i, c]
                out[b, :, i, a] = u * math.cos(angle) - w * math.sin(angle)
                out[b, :, i, c] = u * math.sin(angle) + w * math.cos(angle)
    return out


def rotation_against_loops(turn):
    x = torch.randn(2, 2, 3, 6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    for halves in (False, True):
        ok = True
        for p in (torch.tensor([7, 3, 20]), torch.tensor([[2, 0, 9], [5, 11, 1]])):
            try:
                ok = ok and torch.allclose(
                    turn(x.clone(), p.clone()), _turned(x, p, halves), rtol=1e-8
                )
            except Exception:
                ok = False
        if ok:
            return True
    return False


def rotation_by_complex_numbers(turn):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3, 1, 4, 8))
    f = 10000.0 ** (-np.arange(4) / 4)
    agreed = [True, True]
    for p in (rng.integers(0, 50, 4), rng.integers(0, 50, (3, 4))):
        phase = np.exp(1j * p[..., None] * f)
        phase = phase if p.ndim == 1 else phase[:, None]
        a = (x[..., ::2] + 1j * x[..., 1::2]) * phase
        b = (x[..., :4] + 1j * x[..., 4:]) * phase
        wanted = (
            np.stack([a.real, a.imag], -1).reshape(x.shape),
            np.concatenate([b.real, b.imag], -1),
        )
        try:
            got = turn(torch.tensor(x), torch.tensor(p)).numpy()
            agreed = [
                one and np.allclose(got, want) for one, want in zip(agreed, wanted, strict=True)
            ]
        except Exception:
            return False
    return any(agreed)


# unit_verdict


def unit_by_decimal(stated, unit, num_bytes):
    with decimal.localcontext() as context:
        context.prec = 200
        number = decimal.Decimal(stated)
        last = decimal.Decimal(1).scaleb(number.as_tuple().exponent)
        power = {"B": 0, "kB": 1, "MB": 2, "GB": 3, "TB": 4}[unit]
        for base, word in ((1000, "confirmed"), (1024, "corrected")):
            size = decimal.Decimal(base) ** power
            if (number - last / 2) * size <= num_bytes < (number + last) * size:
                return word
        return "wrong"


def unit_by_integers(stated, unit, num_bytes):
    places = len(stated) - stated.index(".") - 1 if "." in stated else 0
    digits, ten = int(stated.replace(".", "")), 10**places
    power = ["B", "kB", "MB", "GB", "TB"].index(unit)
    exact = 2 * num_bytes * ten

    def inside(base):
        return (2 * digits - 1) * base**power <= exact < 2 * (digits + 1) * base**power

    if inside(1000):
        return "confirmed"
    return "corrected" if inside(1024) else "wrong"


def unit_by_what_a_text_would_print(stated, unit, num_bytes):
    places = len(stated.partition(".")[2])
    claimed = int(stated.replace(".", ""))
    for base, word in ((1000, "confirmed"), (1024, "corrected")):
        size = base ** ["B", "kB", "MB", "GB", "TB"].index(unit)
        cut, rest = divmod(num_bytes * 10**places, size)
        rounded = cut + (2 * rest >= size)
        if claimed in (cut, rounded):
            return word
    return "wrong"


# pareto_front


def front_by_loops(cost, quality):
    keep = []
    for i in range(len(cost)):
        beaten = False
        for j in range(len(cost)):
            if cost[j] <= cost[i] and quality[j] >= quality[i]:
                beaten = beaten or bool(cost[j] < cost[i] or quality[j] > quality[i])
        keep.append(not beaten)
    return torch.tensor(keep, dtype=torch.bool)


def front_by_numpy(cost, quality):
    points = np.stack([cost.numpy(), -quality.numpy()], -1)
    keep = np.ones(len(points), dtype=bool)
    for i, p in enumerate(points):
        keep[i] = not ((points <= p).all(-1) & (points < p).any(-1)).any()
    return torch.from_numpy(keep)


def front_by_a_walk(cost, quality):
    c, q = cost.tolist(), quality.tolist()
    keep = torch.zeros(len(c), dtype=torch.bool)
    best, best_cost = None, None
    for i in sorted(range(len(c)), key=lambda i: (c[i], -q[i])):
        if best is None or q[i] > best or (q[i] == best and c[i] == best_cost):
            keep[i], best, best_cost = True, q[i], c[i]
    return keep


def front_by_what_stays(cost, quality):
    def no_better(i):
        other = (cost <= cost[i]) & (quality >= quality[i])
        return bool((~other | ((cost == cost[i]) & (quality == quality[i]))).all())

    return torch.tensor([no_better(i) for i in range(cost.numel())]).bool()


def attention_by_python_random(attention):
    """Draw with Python's own generator, from a seed of its own."""
    rng = random.Random(1)

    def table(rows, columns):
        return torch.tensor(
            [[rng.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]
        ).double()

    q, k, v = table(3, 5), table(4, 5), table(4, 2)
    m = torch.tensor([[True, False, True, True], [False] * 4, [False, True, True, False]])
    for mask in (None, m):
        s = q @ k.T / 5**0.5
        s = s if mask is None else torch.where(mask, s, -torch.inf)
        want = torch.where(s.isinf().all(-1, keepdim=True), 0.0, s.softmax(-1)) @ v
        given = (q.clone(), k.clone(), v.clone(), mask if mask is None else mask.clone())
        try:
            out = attention(*given)
        except Exception:
            return False
        far = (out - want).abs().max().item() if out.shape == want.shape else math.inf
        if not far < 1e-8 or not torch.equal(given[0], q):
            return False
        if mask is not None and not torch.equal(given[3], mask):
            return False
    return True


RIGHT_WAYS_CH18 = {
    "accepts_attention": (
        attention_against_sdpa,
        attention_against_loops,
        attention_by_one_helper,
        attention_by_python_random,
    ),
    "accepts_tiling": (tiling_against_sdpa, tiling_in_one_try, tiling_by_numpy),
    "accepts_cache": (cache_by_functions, cache_token_by_token_and_not, cache_three_texts),
    "accepts_rotation": (rotation_against_loops, rotation_by_complex_numbers),
    "unit_verdict": (unit_by_decimal, unit_by_integers, unit_by_what_a_text_would_print),
    "pareto_front": (front_by_loops, front_by_numpy, front_by_a_walk, front_by_what_stays),
}
