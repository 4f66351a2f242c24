"""Right ways to test for leaks."""

import torch


def leaks_one_position_at_a_time(attention, num_positions, d_model):
    torch.manual_seed(0)
    x = torch.randn(1, num_positions, d_model)
    out = attention(x)
    for t in range(1, num_positions):
        changed = x.clone()
        changed[0, t] += 1.0
        if not torch.equal(out[:, :t], attention(changed)[:, :t]):
            return True
    return False


def leaks_after_each_cut(attention, num_positions, d_model):
    x = torch.rand(1, num_positions, d_model)
    for i in range(num_positions - 1):
        other = x.clone()
        other[:, i + 1 :] = torch.randn_like(other[:, i + 1 :])
        if (attention(x)[:, : i + 1] - attention(other)[:, : i + 1]).abs().max() > 1e-6:
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
        found = found or bool((attention(cut)[:, :keep] != out[:, :keep]).any().item())
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
        if not torch.allclose(attention(x.clone())[:, :t], out[:, :t], rtol=0.0, atol=1e-6):
            return True
    return False


def leaks_into_the_neighbour_of_any_later_change(attention, num_positions, d_model):
    x = torch.randn(1, num_positions, d_model, generator=torch.Generator().manual_seed(5))
    out = attention(x)

    def moves(i):
        changed = x.clone()
        changed[:, i + 1 :] *= 2.0
        return not torch.equal(attention(changed)[:, i], out[:, i])

    return any(moves(i) for i in range(num_positions - 1))


def leaks_feature_by_feature(attention, num_positions, d_model):
    x = torch.randn(1, num_positions, d_model, generator=torch.Generator().manual_seed(6))
    out = attention(x)
    for t in range(1, num_positions):
        for f in range(d_model):
            changed = x.clone()
            changed[0, t, f] += 3.0
            if not out[0, :t].equal(attention(changed)[0, :t]):
                return True
    return False


RIGHT_WAYS_LEAKS = {
    "leaks_future": (
        leaks_one_position_at_a_time,
        leaks_after_each_cut,
        leaks_by_pairs,
        leaks_with_the_future_set_to_zero,
        leaks_with_a_very_large_change,
        leaks_undoing_each_change,
        leaks_from_the_end_without_undoing,
        leaks_into_the_neighbour_of_any_later_change,
        leaks_feature_by_feature,
    ),
}
